"""Field validation: unknown and duplicate fields, and values of a wrong type, of a decoded body.

Unknown and duplicate fields are errors, warnings or ignored, as the query parameter
`fieldValidation` says. Values of a wrong type are always errors.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/rest.go
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import UNKNOWN_FIELD, Problem
from podwright.apimachinery.schema.structural import CustomKind
from podwright.cluster.api.endpoints.decoding.go_type_errors import type_error, value_type_at
from podwright.cluster.api.endpoints.decoding.json_bodies import Decoded
from podwright.cluster.api.endpoints.decoding.yaml_bodies import field_warnings
from podwright.cluster.api.rejections import bad_request
from podwright.cluster.api.versions.resources import ObjectKind

FieldValidation: TypeAlias = Literal["Strict", "Warn", "Ignore"]

_MAP_KEY: Final = re.compile(r"\[([^\]]*)\]")
_LAST_INDEX: Final = re.compile(r"(?:\[\d+\])+$")
_SELF_DECODING: Final = frozenset({"quantity", "time", "micro-time", "int-or-string"})
_SCHEMA_OR_OTHER: Final = re.compile(
    r"\.openAPIV3Schema\b.*\.(?:items\b|additionalItems\b|additionalProperties\b|dependencies\[)"
)
"""Values in a schema that may be a schema or something else; keys of maps are left out."""


def check_fields(
    document: Document,
    kind: ObjectKind,
    decoded: Decoded | None = None,
    *,
    validation: FieldValidation = "Warn",
    is_converted: bool = False,
) -> list[str]:
    """Check the fields of a body and return the warnings.

    Parameters
    ----------
    document : Document
    kind : ObjectKind
    decoded : Decoded, optional
        Where the document comes from: its duplicate fields.
    validation : str
    is_converted : bool
        Whether upstream converts the document, and does not decode it: then its paths have no
        keys of maps.

    Raises
    ------
    TypeMismatchError
        A value has a wrong type.
    StrictDecodingError
        There are unknown or duplicate fields, and the validation is strict.
    """
    decoded = decoded or Decoded(document, [])
    found = list(decoded.duplicates)
    mismatches: list[Problem] = []
    places = dict(decoded.order or {})
    for problem in kind.decoding_problems(document):
        if problem[1].startswith(UNKNOWN_FIELD):
            path = _MAP_KEY.sub(_without_key if is_converted else _dotted, problem[0])
            found.append(f'unknown field "{path}"')
            places[found[-1]] = places.get(path, len(places))
        else:
            mismatches.append(problem)
    overwritten = () if isinstance(kind, CustomKind) else decoded.overwritten
    for each in overwritten:
        # Go decodes each value of a field, one after the other.
        problems = kind.decoding_problems(each)
        mismatches += (problem for problem in problems if not problem[1].startswith(UNKNOWN_FIELD))
    if mismatches:
        if overwritten:
            mismatches.sort(key=lambda each: places.get(_field_path(each[0]), len(places)))
        ending = (each for each in mismatches if _ends_decoding(kind, each))
        raise TypeMismatchError(kind, next(ending, mismatches[0]))
    if not found or validation == "Ignore":
        return []
    if decoded.order is not None:
        # The decoder of the API server finds both in the order of the text.
        found.sort(key=lambda error: places[error])
    if validation == "Strict":
        raise StrictDecodingError(found)
    return field_warnings(found)


def _field_path(path: str) -> str:
    """Return the path of the field that has the value at a path."""
    return _MAP_KEY.sub(_dotted, _LAST_INDEX.sub("", path))


def _dotted(key: re.Match[str]) -> str:
    """Return the key of a map as strict decoding writes it in a path; indexes keep brackets."""
    return key[0] if key[1].isdigit() else f".{key[1]}"


def _without_key(key: re.Match[str]) -> str:
    """Return nothing for the key of a map; indexes keep brackets.

    Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/converter.go, mapFromUnstructured
    """
    return key[0] if key[1].isdigit() else ""


def _ends_decoding(kind: ObjectKind, problem: Problem) -> bool:
    """Whether a value is of a type that decodes itself: its error ends Go's decoding at once.

    After other errors the decoder continues, and returns the first of them at the end.
    """
    path = problem[0]
    return value_type_at(kind, path) in _SELF_DECODING or bool(
        _SCHEMA_OR_OTHER.search(_MAP_KEY.sub("[]", path))
    )


class TypeMismatchError(ValueError):
    """A value of a wrong type; the message is that of Go's decoder.

    Attributes
    ----------
    problem : Problem
    """

    def __init__(self, kind: ObjectKind, problem: Problem) -> None:
        super().__init__(type_error(kind, problem))
        self.problem = problem


class StrictDecodingError(ValueError):
    """Unknown or duplicate fields in a strict request.

    Attributes
    ----------
    found : list of str
        The errors.
    """

    def __init__(self, found: list[str]) -> None:
        super().__init__(f"strict decoding error: {', '.join(found)}")
        self.found = found


def cannot_be_handled(kind: ObjectKind, error: ValueError) -> Exception:
    """Return the error of a body whose values do not fit the kind."""
    row = kind.row
    return bad_request(
        f'{row.kind} in version "{row.version}" cannot be handled as a {row.kind}: {error}'
    )
