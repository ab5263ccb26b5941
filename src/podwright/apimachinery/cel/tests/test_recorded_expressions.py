"""Expressions from a seed and at limits: values, errors and costs of kube-apiserver's libraries.

`python -m tests.real_parts.expressions` wrote the record.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import struct
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.real_parts.expressions import VARIABLES

from podwright.apimachinery.cel.environment import KUBERNETES_BASE
from podwright.apimachinery.cel.estimate import UNBOUNDED
from podwright.apimachinery.cel.functions.addresses import CIDRValue, IPValue, URLValue
from podwright.apimachinery.cel.functions.quantities import QuantityValue, SemverValue
from podwright.apimachinery.cel.types import DYN, INT, STRING, checker_name, list_of, map_of
from podwright.apimachinery.cel.values import (
    CompileError,
    Duration,
    ErrorValue,
    Optional,
    ProgramError,
    Timestamp,
    TypeValue,
    Uint,
    type_name,
)

RECORD = Path(__file__).parent / "recorded_expressions.jsonl.gz"
CASES = [json.loads(line) for line in gzip.decompress(RECORD.read_bytes()).splitlines()]
ENVIRONMENT = KUBERNETES_BASE.extended(
    variables={
        "x": DYN, "n": INT, "zero": INT, "s": STRING, "l": list_of(INT), "m": map_of(STRING, INT),
    },
)  # fmt: skip
PARTS = 60
TEXT = (Path(__file__).parent / "different.txt").read_text(encoding="utf-8")
DIFFERENT = {line for line in TEXT.splitlines() if line and not line.startswith("#")}


def outcome(case: dict[str, Any]) -> dict[str, Any]:
    """Return what a case has in the record."""
    try:
        compiled = ENVIRONMENT.compile(case["expression"])
    except CompileError as error:
        return {"problem": str(error)}
    cost = compiled.cost()
    found: dict[str, Any] = {
        "type": re.sub("duration|timestamp|null", _full_name, checker_name(compiled.output_type)),
        "bounds": ["max" if bound >= UNBOUNDED else str(bound) for bound in cost],
    }
    try:
        program = compiled.program()
    except ProgramError as error:
        return found | {"error": f"program: {error}"}
    value, spent = program.run(dict(VARIABLES), case.get("limit", 1 << 40))
    text = {"error": value.message} if isinstance(value, ErrorValue) else {"value": text_of(value)}
    return found | text | {"cost": spent}


def _full_name(match: re.Match[str]) -> str:
    return "null_type" if match[0] == "null" else f"google.protobuf.{match[0].capitalize()}"


def text_of(value: Any) -> str:
    """Write a value as `text` of `tests/real_parts/expressions/main.go` does."""
    write = TEXTS.get(value.__class__)
    return f"type {type_name(value)}" if write is None else write(value)


def _map(value: dict[Any, Any]) -> str:
    pairs = sorted(f"{text_of(key)}: {text_of(item)}" for key, item in value.items())
    return f"{{{', '.join(pairs)}}}"


def _quantity(value: QuantityValue) -> str:
    number = value.quantity
    return f"quantity {number.unscaled * Fraction(10) ** number.exponent}"


def _semver(value: SemverValue) -> str:
    core, tail = ".".join(map(str, value.core)), ".".join(map(str, value.prerelease))
    return f"semver {core}{f'-{tail}' if tail else ''}"


TEXTS: dict[type, Callable[[Any], str]] = {
    type(None): "null".format,
    bool: lambda value: str(value).lower(),
    Uint: lambda value: f"{int(value)}u",
    int: str,
    float: lambda value: (
        "double nan" if math.isnan(value) else f"double {struct.pack('>d', value).hex()}"
    ),
    str: lambda value: f"string {value.encode().hex()}",
    bytes: lambda value: f"bytes {value.hex()}",
    Duration: lambda value: f"duration {value.ns}",
    Timestamp: lambda value: f"timestamp {value.ns // 10**9} {value.ns % 10**9}",
    Optional: lambda value: f"optional({text_of(value.value)})" if value.is_present else "none",
    list: lambda value: f"[{', '.join(map(text_of, value))}]",
    dict: _map,
    TypeValue: lambda value: f"type {value.name}",
    QuantityValue: _quantity,
    SemverValue: _semver,
    IPValue: lambda value: f"ip {value.address}",
    CIDRValue: lambda value: f"cidr {value.address}/{value.prefix}",
    URLValue: lambda value: f"url {value.text}",
}


@pytest.mark.parametrize("part", range(PARTS))
def test_expressions_are_as_upstream_evaluates_them(part: int) -> None:
    for case in CASES[part::PARTS]:
        expected = {key: case[key] for key in case if key not in ("expression", "limit")}
        is_equal = outcome(case) == expected
        assert is_equal == (case["expression"] not in DIFFERENT), (case["expression"], expected)
