"""YAML bodies: from text to a document, with the errors about its duplicate keys.

The body of an apply request is YAML, and clients as kubectl write JSON, which is read
faster. Not every JSON text has
the same value as YAML, so a body with anything that YAML reads in another way, or rejects, is left
to the reader of YAML:

- escaped characters, and characters outside of ASCII;
- fractions and exponents: `1e3` is text in YAML;
- the key `<<`, which merges, repeated keys, and keys that are long or apart from their colon;
- tabs, and texts whose size or nesting comes near a limit.

Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/serializer/json/json.go
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import YamlError, read_yaml
from podwright.cluster.api.endpoints.decoding.json_bodies import NESTING_MAX, Decoded, nesting_depth
from podwright.cluster.api.rejections import bad_request, unrecognized

_YAML_ERRORS: Final = "yaml: unmarshal errors:\n"


def read_yaml_value(body: bytes, kind: str, *, is_applied: bool) -> Decoded:
    """Return a YAML text as a document.

    Parameters
    ----------
    body : bytes
    kind : str
        The expected kind, for errors.
    is_applied : bool
        Whether the body is a configuration to apply.

    Raises
    ------
    Rejection
        The text is not YAML, or has too many aliases.
    """
    if (document := json_object_in_yaml(body)) is not None:
        return Decoded(document, [])
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise unrecognized(kind, f"yaml: {error.reason}", body) from None
    if _yaml_depth(text) > NESTING_MAX:
        raise bad_request("yaml: exceeded max depth")
    try:
        documents = list(read_yaml(text, allow_duplicates=True, reads_one_letter=True))
    except (YamlError, RecursionError) as error:
        text = error.go_message if isinstance(error, YamlError) else str(error)
        if not text.startswith("json: "):
            text = f"yaml: {text}"
        if is_applied:
            # Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go,
            # applyPatcher.createNewObject
            message = f"error decoding YAML: error converting YAML to JSON: {text}"
            raise bad_request(message) from None
        raise unrecognized(kind, text, body) from None
    found = next((each for each in documents if each.value is not None), None)
    if found is None:
        return Decoded(None, [])
    return Decoded(found.value, yaml_errors(found.duplicates))


def yaml_errors(duplicates: Sequence[tuple[int, str]]) -> list[str]:
    """Return the error about the duplicate keys of a YAML text, given their lines; none without.

    Upstream: go.yaml.in/yaml/v2 decode.go, setMapIndex
    """
    lines = [f"  line {line}: key {json.dumps(key)} already set in map" for line, key in duplicates]
    return [_YAML_ERRORS + "\n".join(lines)] if lines else []


def field_warnings(errors: Iterable[str]) -> list[str]:
    """Return the warnings for errors about fields: one for each line of an error about YAML.

    Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/rest.go, parseYAMLWarnings
    """
    found: list[str] = []
    for error in errors:
        rest = error.removeprefix(_YAML_ERRORS)
        found += [line.strip() for line in rest.split("\n")] if rest != error else [error]
    return found


def _yaml_depth(text: str) -> int:
    """Return a bound of the nesting: flow brackets, and the levels of indentation."""
    flow = min(text.count("[") + text.count("{"), len(text))
    indents = {len(line) - len(line.lstrip(" -")) for line in text.splitlines()}
    return len(indents) + (flow if flow <= NESTING_MAX else nesting_depth(text.encode()))


# ----------------------------------------------------------------------------- bodies that are JSON

_SIZE_MAX: Final = 100_000
_BRACKETS_AND_LINES_MAX: Final = 150
"""Less than the least nesting for which the reader of YAML rejects a body."""

_LONG: Final = re.compile(rb'"[^"]{1000}|[0-9]{1000}')
"""Texts and numbers that are examined: a key in YAML has at most 1,024 bytes, and an integer 1,000
digits."""

_SPACED_KEY: Final = re.compile(rb'"[ \n]+:')


def _fraction(text: str) -> Any:
    raise ValueError(text)


_DECODER: Final = msgspec.json.Decoder(float_hook=_fraction)


def json_object_in_yaml(body: bytes) -> dict[str, Any] | None:
    """Return the object that a text is both as JSON and as YAML; None if this is not certain."""
    if (
        body[:1] != b"{"
        or len(body) > _SIZE_MAX
        or not body.isascii()
        or b"\\" in body
        or b"\t" in body
        or b"\r" in body
        or b"\x7f" in body
        or b'"<<"' in body
        or body.count(b"[") + body.count(b"{") + body.count(b"\n") > _BRACKETS_AND_LINES_MAX
        or _SPACED_KEY.search(body)
        or _LONG.search(body)
    ):
        return None
    try:
        document: dict[str, Any] = _DECODER.decode(body)
    except msgspec.DecodeError:
        return None
    # Without escapes each key is followed by its colon at once, so that a lost key changes the sum.
    is_repeated = body.count(b'":') != msgspec.json.encode(document).count(b'":')
    return None if is_repeated else document
