"""Bodies of requests: from bytes to documents, within limits, with field validation.

A body is JSON, YAML or protobuf. Unknown and duplicate fields are errors, warnings or ignored, as
the query parameter `fieldValidation` says. Values of a wrong type are always errors.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,rest}.go;
staging/src/k8s.io/apimachinery/pkg/runtime/serializer/json/json.go
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from podwright.api.endpoints.json_in_yaml import json_object_in_yaml
from podwright.api.endpoints.negotiation import JSON, MEDIA_TYPES, PROTOBUF, YAML, body_media_type
from podwright.api.endpoints.protobuf import (
    ProtobufError,
    ProtobufObjectError,
    decode_protobuf,
)
from podwright.api.endpoints.request import HttpRequest
from podwright.api.endpoints.resources import ObjectKind
from podwright.api.endpoints.spec_texts import SpecTexts
from podwright.api.endpoints.status_errors import (
    bad_request,
    too_large,
    unsupported_media_type,
)
from podwright.objects import Document, YamlError, api_group, read_yaml
from podwright.schema import BOOLEAN_OR_SCHEMA, UNKNOWN_FIELD, Problem, built_in
from podwright.schema.structural import CustomKind

BODY_MAX_BYTES: Final = 3 * 1024 * 1024
"""The largest body; upstream's limit for writes."""

NESTING_MAX: Final = 200
"""The deepest nesting of objects and lists."""

YAML_VALUES_MAX: Final = 1_000_000
"""The most values of one YAML document, with every alias counted as what it stands for."""

FieldValidation: TypeAlias = Literal["Strict", "Warn", "Ignore"]

_SPACED_KEY: Final = re.compile(rb'"[ \t\r\n]+:')
_SUMMARY_LENGTH: Final = 30
_PATH_INDEX: Final = re.compile(r"\[[^\]]*\]")
_TYPE_META: Final = {"apiversion": "apiVersion", "kind": "kind"}
_MAP_KEY: Final = re.compile(r"\[([^\]]*)\]")
_YAML_ERRORS: Final = "yaml: unmarshal errors:\n"
_DUPLICATE: Final = 'duplicate field "{}"'
_NAMES: Final = {dict: "object", list: "array", str: "string", bool: "bool"}
_SELF_DECODING: Final = frozenset({"quantity", "time", "micro-time", "int-or-string"})
_QUANTITY: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


class Decoded(msgspec.Struct, frozen=True):
    """A decoded body.

    Attributes
    ----------
    document : Any
        The value of the body.
    duplicates : list of str
        The errors about fields that occur twice; the last value applies.
    order : mapping, optional
        The place in the text of each field, by path, and of each of these errors; only of JSON
        with duplicates.
    shares_spec : bool
        Whether the spec is that of an earlier body.
    has_new_spec : bool
        Whether no earlier body had the text of the spec; tables of specs would not find it.
    """

    document: Any
    duplicates: list[str]
    shares_spec: bool = False
    has_new_spec: bool = False
    order: Mapping[str, int] | None = None


# ---------------------------------------------------------------------------- reading


def check_size(request: HttpRequest) -> None:
    """Reject a body that is too large.

    Raises
    ------
    ApiError
        The body is larger than `BODY_MAX_BYTES`.
    """
    if len(request.body) > BODY_MAX_BYTES:
        raise too_large(BODY_MAX_BYTES)


def read_object(
    request: HttpRequest,
    kind: str,
    types: Sequence[str] = MEDIA_TYPES,
    *,
    api_version: str = "v1",
    texts: SpecTexts | None = None,
) -> Decoded:
    """Return the body of a request whose media type says how it is encoded.

    Parameters
    ----------
    request : HttpRequest
    kind : str
        The expected kind, for errors.
    types : sequence of str
        The accepted media types.
    api_version : str
        The expected `apiVersion`, for a body in protobuf that names none.
    texts : SpecTexts, optional
        The specs of earlier bodies, which are not decoded again.

    Raises
    ------
    ApiError
        The media type is unknown, or the body is not of that type.
    """
    check_size(request)
    media_type = body_media_type(request.header("content-type"))
    if media_type not in types:
        raise unsupported_media_type(types)
    if media_type == PROTOBUF:
        try:
            return Decoded(decode_protobuf(request.body, api_version, kind), [])
        except ProtobufObjectError as error:
            version = error.api_version.rpartition("/")[2]
            raise bad_request(
                f'{error.kind} in version "{version}" cannot be handled as a {kind}: {error}'
            ) from None
        except ProtobufError as error:
            raise unrecognized(kind, str(error), request.body) from None
    if texts is not None and media_type == JSON:
        return _read_shared(request.body, kind, texts)
    return read_text(request.body, kind, is_yaml=media_type == YAML)


def _read_shared(body: bytes, kind: str, texts: SpecTexts) -> Decoded:
    """Return a JSON body as a document that has the spec of an earlier body, if it is the same."""
    parts = texts.split(body)
    if parts is not None:
        rest, spec = parts
        found = read_text(rest, kind)
        # The text may occur earlier than in the field, or the field may be there twice.
        if found.document.get("spec", spec) is None and not found.duplicates:
            found.document["spec"] = spec
            return Decoded(found.document, [], shares_spec=True)
    found = read_text(body, kind)
    if found.duplicates:
        return found
    return Decoded(found.document, [], has_new_spec=texts.keep(body, found.document))


def read_text(body: bytes, kind: str, *, is_yaml: bool = False) -> Decoded:
    """Return a JSON or YAML body as a document with its duplicate fields.

    Raises
    ------
    ApiError
        The text is not an object.
    """
    if is_yaml:
        found = read_yaml_value(body, kind)
    else:
        try:
            found = read_json(body)
        except JsonError as error:
            text = f"couldn't get version/kind; json parse error: {error}"
            raise unrecognized(kind, text, body) from None
    if not isinstance(found.document, dict):
        go_type = (
            'Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\"";'
            ' Kind string "json:\\"kind,omitempty\\"" }'
        )
        text = (
            "couldn't get version/kind; json parse error: json: cannot unmarshal"
            f" {go_kind(found.document)} into {go_type}"
        )
        raise unrecognized(kind, text, body)
    return found


class JsonError(ValueError):
    """A text that is not JSON; the message is that of Go's decoder."""


def read_json(body: bytes) -> Decoded:
    """Return a JSON text as a document with its duplicate fields.

    Raises
    ------
    JsonError
        The text is not JSON, or is nested too deeply.
    """
    if body.count(b"[") + body.count(b"{") > NESTING_MAX and _depth(body) > NESTING_MAX:
        raise JsonError("exceeded max depth")
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise JsonError(_json_error(body, error)) from None
    duplicates, order = _duplicates(body, document)
    return Decoded(document, duplicates, order=order)


def _duplicates(body: bytes, document: Any) -> tuple[list[str], Mapping[str, int] | None]:
    """Return the errors about duplicate fields, and `Decoded.order`.

    The count of key tokens decides in almost all cases that there are none: encoding the document
    again gives the same number, unless a key was lost or a text has an escaped quotation mark.
    """
    if (
        b"\\u" not in body
        and not _SPACED_KEY.search(body)
        and body.count(b'":') == msgspec.json.encode(document).count(b'":')
    ):
        return [], None
    found: list[str] = []
    order: dict[str, int] = {}
    for path, is_duplicate in _field_paths(json.loads(body, object_pairs_hook=_Pairs), ""):
        name = _DUPLICATE.format(path) if is_duplicate else path
        if is_duplicate:
            found.append(name)
        order.setdefault(name, len(order))
    return (found, order) if found else ([], None)


class _Pairs(list[tuple[str, Any]]):
    """The fields of an object in order, duplicates included."""


def _field_paths(value: Any, path: str) -> Iterator[tuple[str, bool]]:
    """Yield the path of each field of a value in order, and whether it occurred before."""
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for name, inner in value:
            here = f"{path}.{name}" if path else name
            yield here, name in seen
            seen.add(name)
            yield from _field_paths(inner, here)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _field_paths(inner, f"{path}[{index}]")


def _depth(body: bytes) -> int:
    """Return the deepest nesting of a JSON text, without decoding it."""
    depth = deepest = 0
    is_text = is_escaped = False
    for byte in body:
        if is_text:
            if is_escaped:
                is_escaped = False
            elif byte == 0x5C:
                is_escaped = True
            elif byte == 0x22:
                is_text = False
        elif byte == 0x22:
            is_text = True
        elif byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def _json_error(body: bytes, error: Exception) -> str:
    """Return the message of Go's decoder for a text that is not JSON."""
    try:
        json.loads(body)
    except json.JSONDecodeError as found:
        text, position = found.doc, found.pos
        rest = text[position:].lstrip()
        if not rest or found.msg.startswith("Unterminated"):
            return "unexpected end of JSON input"
        for literal in ("null", "true", "false"):
            if rest[0] == literal[0]:
                for index, letter in enumerate(literal):
                    if index >= len(rest):
                        return "unexpected end of JSON input"
                    if rest[index] != letter:
                        return (
                            f"invalid character {rest[index]!r} in literal {literal}"
                            f" (expecting {letter!r})"
                        )
        places = {
            "Expecting value": "looking for beginning of value",
            "Extra data": "after top-level value",
            "Expecting ',' delimiter": "after object key:value pair",
            "Expecting ':' delimiter": "after object key",
        }
        place = places.get(found.msg, "looking for beginning of object key string")
        return f"invalid character {rest[0]!r} {place}"
    except (UnicodeDecodeError, RecursionError, ValueError):
        pass
    return str(error)


def read_yaml_value(body: bytes, kind: str) -> Decoded:
    """Return a YAML text as a document.

    Raises
    ------
    ApiError
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
        raise unrecognized(kind, f"error converting YAML to JSON: yaml: {error}", body) from None
    found = next((each for each in documents if each.value is not None), None)
    if found is None:
        return Decoded(None, [])
    if "*" in text and _value_count(found.value, {}) > YAML_VALUES_MAX:
        raise bad_request("yaml: document contains excessive aliasing")
    return Decoded(found.value, yaml_errors(found.duplicates))


def yaml_errors(duplicates: Sequence[tuple[int, str]]) -> list[str]:
    """Return the error about the duplicate keys of a YAML text, given their lines; none without.

    Upstream: go.yaml.in/yaml/v2, decode.go, setMapIndex
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


def _value_count(value: Any, known: dict[int, int]) -> int:
    """Return the number of values in a value; shared parts are examined once."""
    if not isinstance(value, dict | list):
        return 1
    count = known.get(id(value))
    if count is None:
        parts = value.values() if isinstance(value, dict) else value
        count = known[id(value)] = 1 + sum(_value_count(each, known) for each in parts)
    return count


def _yaml_depth(text: str) -> int:
    """Return a bound of the nesting: flow brackets, and the levels of indentation."""
    flow = min(text.count("[") + text.count("{"), len(text))
    indents = {len(line) - len(line.lstrip(" -")) for line in text.splitlines()}
    return len(indents) + (flow if flow <= NESTING_MAX else _depth(text.encode()))


def unrecognized(kind: str, message: str, body: bytes) -> Exception:
    """Return the error of a body that is not recognized as an object."""
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): {message}"
        f" ({_summary(body)})"
    )


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    text = body[:_SUMMARY_LENGTH]
    shown = text.decode(errors="replace") if body[:1] == b"{" else text.hex()
    return f"{shown} ..." if len(body) > _SUMMARY_LENGTH else shown


# --------------------------------------------------------------------- types and fields


def go_kind(value: Any) -> str:
    """Return what Go's decoder calls a JSON value."""
    if value is None:
        return "null"
    return _NAMES.get(type(value), "number")


def check_kind(document: Document, kind: ObjectKind, body: bytes = b"") -> Document:
    """Return a document with its apiVersion and kind, which must be those of the path.

    Parameters
    ----------
    body : bytes
        The encoded document, for errors.

    Raises
    ------
    ApiError
        The body is one of another kind or version.
    """
    row = kind.row
    own = (kind.api_version, row.kind)
    if (document.get("apiVersion"), document.get("kind")) == own:
        return document
    sent = type_meta(document, row.kind, body)
    api_version, name = sent["apiVersion"] or kind.api_version, sent["kind"] or row.kind
    if (api_version, name) == own:
        return document | {"apiVersion": api_version, "kind": name}
    group, _, version = api_version.rpartition("/")
    start = f'{name} in version "{version}" cannot be handled as a {row.kind}'
    schema = built_in()
    if schema.find(api_version, name) is None:
        raise bad_request(
            f'{start}: no kind "{name}" is registered for version "{api_version}" in scheme'
            ' "pkg/api/legacyscheme/scheme.go:30"'
        )
    if (api_group(api_version), name) != (row.group, row.kind):
        raise bad_request(
            f"{start}: converting ({_package(group, version)}.{name}) to"
            f" ({internal_package(row.group)}.{row.kind}): unknown conversion"
        )
    raise bad_request(
        f"the API version in the data ({api_version}) does not match the expected API version"
        f" ({kind.api_version})"
    )


def type_meta(document: Document, kind: str, body: bytes) -> dict[str, str]:
    """Return the `apiVersion` and `kind` of a document, "" where they are absent.

    Parameters
    ----------
    kind : str
        The expected kind, for errors.

    Raises
    ------
    ApiError
        A value is not a string, or the version has more than one slash.

    Notes
    -----
    Go's decoder, which reads only these two, ignores the case of names, and the last value applies.
    Upstream: apimachinery pkg/runtime/serializer/json/meta.go
    """
    found = {"apiVersion": "", "kind": ""}
    mistakes: list[str] = []
    for key, value in document.items():
        name = _TYPE_META.get(key.lower())
        if name is None or value is None:
            continue
        if isinstance(value, str):
            found[name] = value
            continue
        mistakes.append(
            f"json: cannot unmarshal {go_kind(value)} into Go struct field .{name} of type string"
        )
    if mistakes:
        text = f"couldn't get version/kind; json parse error: {mistakes[0]}"
        raise unrecognized(kind, text, body)
    if found["apiVersion"].count("/") > 1:
        text = f"unexpected GroupVersion string: {found['apiVersion']}"
        raise unrecognized(kind, text, body)
    return found


def _package(group: str, version: str) -> str:
    del group
    return version


def internal_package(group: str) -> str:
    """Return the package of upstream's internal types of a group."""
    if group in ("", "events.k8s.io"):
        return "core"
    return group.partition(".")[0]


def check_fields(
    document: Document,
    kind: ObjectKind,
    duplicates: Sequence[str] = (),
    *,
    order: Mapping[str, int] | None = None,
    validation: FieldValidation = "Warn",
) -> list[str]:
    """Check the fields of a body and return the warnings.

    Parameters
    ----------
    document : Document
    kind : ObjectKind
    duplicates, order
        Of the `Decoded` body.
    validation : str

    Raises
    ------
    TypeMismatchError
        A value has a wrong type.
    StrictDecodingError
        There are unknown or duplicate fields, and the validation is strict.
    """
    found = list(duplicates)
    mismatches: list[Problem] = []
    places = {} if order is None else dict(order)
    for problem in kind.decoding_problems(document):
        if problem[1].startswith(UNKNOWN_FIELD):
            path = _MAP_KEY.sub(_dotted, problem[0])
            found.append(f'unknown field "{path}"')
            places[found[-1]] = places.get(path, len(places))
        else:
            mismatches.append(problem)
    if mismatches:
        ending = (each for each in mismatches if _ends_decoding(kind, each))
        raise TypeMismatchError(kind, next(ending, mismatches[0]))
    if not found or validation == "Ignore":
        return []
    if order is not None:
        # The decoder of the API server finds both in the order of the text.
        found.sort(key=lambda error: places[error])
    if validation == "Strict":
        raise StrictDecodingError(found)
    return field_warnings(found)


def _dotted(key: re.Match[str]) -> str:
    """Return the key of a map as strict decoding writes it in a path; indexes keep brackets."""
    return key[0] if key[1].isdigit() else f".{key[1]}"


def _ends_decoding(kind: ObjectKind, problem: Problem) -> bool:
    """Whether a value is of a type that decodes itself: its error ends Go's decoding at once.

    After other errors the decoder goes on, and returns the first of them at the end.
    """
    return _go_type_at(kind, _PATH_INDEX.sub("", problem[0])) in _SELF_DECODING


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


def type_error(kind: ObjectKind, problem: Problem) -> str:
    """Return the message of Go's decoder for a value of a wrong type."""
    path, message, value = problem
    if message == BOOLEAN_OR_SCHEMA:
        return message
    is_custom = isinstance(kind, CustomKind)
    if is_custom and message.startswith("Invalid value: ") and not path.startswith("metadata"):
        return f"{path}: {message}"
    plain = _PATH_INDEX.sub("", path)
    type_name = _go_type_at(kind, plain)
    if type_name == "quantity":
        return _QUANTITY
    if type_name in ("time", "micro-time") and isinstance(value, str):
        layout = "2006-01-02T15:04:05Z07:00"
        if type_name == "micro-time":
            layout = "2006-01-02T15:04:05.000000Z07:00"
        return f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"'
    if type_name == "bytes" and isinstance(value, str):
        return f"illegal base64 data at input byte {_base64_error(value)}"
    del message
    shown = go_kind(value)
    if shown == "number" and type_name in ("int32", "int64"):
        shown = f"number {json.dumps(value)}"
    struct, go_type = _struct_and_type(kind, plain, is_element=path.endswith("]"))
    return f"json: cannot unmarshal {shown} into Go struct field {struct}.{plain} of type {go_type}"


def _base64_error(text: str) -> int:
    found = re.match(r"[A-Za-z0-9+/]*", text)
    return min(len(found[0]) if found else 0, len(text))


def _go_type_at(kind: ObjectKind, path: str) -> str:
    find = getattr(kind, "field", None)
    field = find(path) if find is not None and path else None
    return field.type.innermost if field is not None else ""


def _struct_and_type(kind: ObjectKind, path: str, *, is_element: bool) -> tuple[str, str]:
    """Return the names of Go's struct and type of a field, or of an element of it."""
    find = getattr(kind, "field", None)
    field = find(path) if find is not None and path else None
    outer = find(path.rpartition(".")[0]) if find is not None and "." in path else None
    struct = kind.row.kind if outer is None else outer.type.innermost.rpartition(".")[2]
    if field is None:
        return struct, "string"
    names = {"double": "float64", "quantity": "resource.Quantity", "any": "interface {}"}
    inner = field.type.innermost
    go_type = names.get(inner, inner)
    if "." in inner:
        go_type = f"v1.{inner.rpartition('.')[2]}"
    if is_element:
        return struct, go_type
    return struct, {"list": f"[]{go_type}", "map": f"map[string]{go_type}"}.get(
        field.type.container, go_type
    )


def conversion_error(kind: ObjectKind, problem: Problem) -> str:
    """Return the message of upstream's converter for a value of a wrong type.

    Upstream: apimachinery pkg/runtime/converter.go, fromUnstructured
    """
    path, _, value = problem
    plain = _PATH_INDEX.sub("", path)
    find = getattr(kind, "field", None)
    field = find(plain) if find is not None and plain else None
    if field is None:
        return type_error(kind, problem)
    ref = field.type
    kinds = {dict: "map", list: "slice", str: "string", bool: "bool", float: "float64"}
    given = kinds.get(type(value), "int64")
    if ref.container and not path.endswith("]"):
        return f"cannot restore {'slice' if ref.container == 'list' else 'map'} from {given}"
    inner = ref.innermost
    if inner == "bytes" and not isinstance(value, str):
        return f"cannot restore slice from {given}"
    if inner in ("quantity", "time", "micro-time", "bytes", "int-or-string"):
        decoding = "error decoding from json: " if inner == "bytes" else ""
        return decoding + type_error(kind, problem)
    if "." in inner:
        return f"cannot restore struct from: {given}"
    names = {"double": "float64", "any": "interface"}
    if inner == "string" and given == "int64" and isinstance(value, int):
        return "cannot convert int64 to string"
    if inner in ("int32", "int64") and isinstance(value, float):
        return f"cannot convert float64 to {inner}"
    return f"unrecognized type: {names.get(inner, inner)}"
