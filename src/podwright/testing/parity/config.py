"""Configuration files: acceptance, the effective configuration, and error texts.

A case has the text of a file, the value of `--feature-gates`, and what kube-scheduler made of them:
the configuration that it wrote, or its error. kube-scheduler stops at the first layer with errors
(gates, decoding, validation, extenders, profiles); podwright reports all layers. So the texts of
kube-scheduler's layer are compared. Decoding errors are in Go's terms; of those, the fields that
they name are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from errno import ENOENT
from typing import Any

import msgspec

from podwright.apimachinery.objects import FieldError, InputError, aggregated
from podwright.scheduler.assembly import Registry, assemble
from podwright.scheduler.config import (
    DEFAULT_GATES,
    DID_YOU_MEAN,
    EffectiveConfiguration,
    Gates,
    KubeSchedulerConfiguration,
    PartialConfiguration,
    effective,
    parse_gates,
    read_configuration,
    set_defaults,
    tls_errors,
    to_document,
    validate,
)
from podwright.testing.parity.comparison import Case, Check, Comparison, LeftOut, equal

_SOURCE = "FILE"
_DECODING = re.compile(
    r"(<\n\t)?(strict decoding error|decoding \.profiles|json: |yaml: |error converting YAML"
    r"|couldn't get version/kind|couldn't decode as|no kind |time: |illegal base64|Object '|unable)"
)
_PROFILE_ERRORS = ("initializing profiles: ", "couldn't build extenders: ")
_UNKNOWN_GATE = "the recorder did not pass an unknown feature gate, which kube-scheduler rejects"


class _Result(msgspec.Struct, kw_only=True):
    """What podwright makes of a case.

    Attributes
    ----------
    gate_errors, errors : tuple of FieldError
        The errors of the feature gates; all others.
    validation : list of str
        The texts of the validation layer.
    output : dict, optional
        The effective configuration, if there are no errors.
    """

    gate_errors: tuple[FieldError, ...] = ()
    errors: tuple[FieldError, ...] = ()
    validation: list[str] = []
    output: dict[str, Any] | None = None


def check_config(case: Case) -> Check:
    """Compare acceptance and, depending on it, the output or the error."""
    result = _result_of(case)
    if case["accepted"] and any("unrecognized" in e.message for e in result.gate_errors):
        yield LeftOut(_UNKNOWN_GATE)
        return
    yield equal("accepted", case["accepted"], result.output is not None)
    if case["accepted"]:
        found = result.output and _comparable(result.output)
        yield equal("output", _comparable(case["output"]), found)
        return
    expected: str = case["error"].strip()
    if _DECODING.match(expected):
        named = sorted(_fields_in(expected))
        paths = {_without_indexes(error.path) for error in result.errors}
        missing = [field for field in named if _without_indexes(field) not in paths]
        # An error about a duplicate key of YAML has the last name of its path only.
        names = {path.rpartition(".")[2] for path in paths}
        missing += [key for key in _REPEATED_KEY.findall(expected) if key not in names]
        yield Comparison("error.fields", named, sorted(paths), agrees=not missing)
    elif expected.startswith(_PROFILE_ERRORS):
        texts = [_text(error.message) for error in result.errors]
        yield Comparison("error", expected, texts, agrees=expected in texts)
    elif result.gate_errors:
        texts = [_text(error.message) for error in result.gate_errors]
        # kube-scheduler reports the first malformed value, or all gates that cannot be set, in the
        # order of a Go map.
        agrees = expected in texts or _is_same_set(expected, texts)
        yield Comparison("error", expected, texts, agrees)
    else:
        actual = aggregated(result.validation)
        # Upstream visits the extension points of a profile in random order.
        agrees = _is_same_set(expected, result.validation)
        yield Comparison("error", expected, actual, agrees)


def _result_of(case: Case) -> _Result:
    gates, result = DEFAULT_GATES, _Result()
    try:
        gates = parse_gates(case["gates"] or "")
    except InputError as error:
        result.gate_errors = error.errors
    try:
        result.output = to_document(_effective(case["file"], gates, result).configuration)
    except InputError as error:
        result.errors = error.errors
    if result.gate_errors:
        result.output = None
    return result


def _effective(text: str, gates: Gates, result: _Result) -> EffectiveConfiguration:
    decoding: tuple[FieldError, ...] = ()
    configuration: KubeSchedulerConfiguration
    try:
        configuration = read_configuration(text, source=_SOURCE)
    except PartialConfiguration as error:
        configuration, decoding = error.configuration, error.errors
    except InputError as error:
        result.validation = _texts(error.errors)
        raise
    found = validate(set_defaults(configuration, gates), gates)
    result.validation = _texts(found)
    registry = Registry()
    made = effective(
        configuration,
        gates,
        implements=registry.points_of,
        source=_SOURCE,
        earlier_errors=(*decoding, *tls_errors(configuration.extenders, _no_file)),
    )
    assemble(made, registry)
    return made


def _no_file(name: str) -> bytes:
    """Fail to read a file: cases have only the configuration itself."""
    raise FileNotFoundError(ENOENT, "No such file or directory", name)


# -------------------------------------------------------------------- texts


def _text(message: str) -> str:
    """Return a text without podwright's suggestion."""
    return message.partition(DID_YOU_MEAN)[0]


def _texts(errors: Iterable[FieldError]) -> list[str]:
    """Return errors as kube-scheduler writes them; one of the whole document has no path."""
    return [_text(f"{error.path}: {error.message}".removeprefix(": ")) for error in errors]


def _is_same_set(expected: str, texts: list[str]) -> bool:
    """Whether an aggregate has exactly some texts, in any order."""
    distinct = dict.fromkeys(texts)
    rest = expected
    # A text may be a part of another one.
    for text in sorted(distinct, key=len, reverse=True):
        rest = rest.replace(text, "", 1)
    return rest == ("" if len(distinct) == 1 else f"[{', ' * (len(distinct) - 1)}]")


_STRICT_FIELD = re.compile(
    r"decoding (\.profiles\[\d+\]\.pluginConfig\[\d+\]):"
    r'|(?:unknown|duplicate) field "([^"]*)"'
)
_GO_FIELD = re.compile(r"into Go struct field (\w+)\.([\w.]+) of type")
_REPEATED_KEY = re.compile(r'key "([^"]*)" already set in map')


def _fields_in(error: str) -> Iterator[str]:
    """Yield the paths of the fields that a decoding error of Go names."""
    place = ""
    for found in _STRICT_FIELD.finditer(error):
        entry, field = found.groups()
        if entry:
            place = f"{entry.removeprefix('.')}.args."
        else:
            yield place + field
    go_field = _GO_FIELD.search(error)
    if go_field:
        # The names of embedded structs are capitalized.
        names = [name for name in go_field[2].split(".") if not name[0].isupper()]
        yield place + ".".join(names)


def _without_indexes(path: str) -> str:
    return re.sub(r"\[[^]]*\]", "", path)


# -------------------------------------------------------------------- output


def _comparable(document: dict[str, Any]) -> dict[str, Any]:
    """Return an effective configuration without what differs by design.

    The order of `pluginConfig` has no meaning, and podwright leaves percentageOfNodesToScore out
    where kube-scheduler's 0 selects its adaptive percentage.
    """
    plain = dict(document)
    if plain.get("percentageOfNodesToScore") == 0:
        del plain["percentageOfNodesToScore"]
    plain["profiles"] = [
        profile
        | {"pluginConfig": sorted(profile.get("pluginConfig", ()), key=lambda e: str(e["name"]))}
        for profile in plain["profiles"]
    ]
    return plain
