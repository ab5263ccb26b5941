"""YAML bodies: from text to a document, with the errors about its duplicate keys.

Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/serializer/json/json.go
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

from podwright.apimachinery.objects import YamlError, read_yaml
from podwright.cluster.api.endpoints.decoding.json_bodies import NESTING_MAX, Decoded, nesting_depth
from podwright.cluster.api.endpoints.decoding.json_in_yaml import json_object_in_yaml
from podwright.cluster.api.rejections import bad_request, unrecognized

_YAML_ERRORS: Final = "yaml: unmarshal errors:\n"


def read_yaml_value(body: bytes, kind: str, *, is_applied: bool = False) -> Decoded:
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
        if is_applied:
            # Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go,
            # applyPatcher.createNewObject
            message = f"error decoding YAML: error converting YAML to JSON: yaml: {text}"
            raise bad_request(message) from None
        raise unrecognized(kind, f"yaml: {text}", body) from None
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
