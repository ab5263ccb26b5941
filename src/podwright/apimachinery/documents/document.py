"""Text to plain values, and plain values to structs, with every problem collected.

`parse_document` reads YAML or JSON and records duplicate keys. `decode`
compares a value with a struct type and collects every unknown or duplicate key and every value
of a wrong type; msgspec's own conversion stops at the first problem.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any, Final, TypeVar

import msgspec
import yaml
from msgspec import inspect

from podwright.apimachinery.documents.declared import Check
from podwright.apimachinery.documents.field import (
    EmptyList,
    did_you_mean,
    first_names,
    invalid,
    is_required,
    join,
    not_supported,
    problem,
    required,
)
from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    bytes_of_base64,
    format_duration,
    go_json_error,
    parse_duration,
)

_T = TypeVar("_T", bound=msgspec.Struct)


class Keys(dict[str, Any]):
    """A mapping of the document, with its duplicate keys, and whether it is YAML."""

    repeated: tuple[str, ...] = ()
    is_yaml = False


# The parser in C is libyaml, which upstream's is a translation of.
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_SafeLoader):  # type: ignore[misc]  # one of two classes
    """YAML with the scalars of kube-scheduler's parser; duplicate keys are recorded."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - the attribute PyYAML looks for


# Dates stay text; unlike PyYAML's, numbers have no base 60, and 1e2 is a number.
# Upstream: go.yaml.in/yaml/v2 resolve.go
for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    (
        "bool",
        r"y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|n|N|no|No|NO|false|False|FALSE|off|Off|OFF",
        list("yYtToOnNfF"),
    ),
    (
        "int",
        r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|[0-9][0-9_]*)",
        list("-+0123456789"),
    ),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+0123456789."),
    ),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _first
    )

_BOOLEANS = frozenset({"y", "yes", "true", "on"})


def _construct_str(loader: _Loader, node: yaml.ScalarNode) -> str:
    text: str = loader.construct_scalar(node)
    if not text.isascii() and _SURROGATE.search(text):
        # As upstream, of two surrogates, too.
        problem = "found invalid Unicode character escape code"
        raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
    return text


_SURROGATE = re.compile("[\ud800-\udfff]")
_HEX: Final = "[0-9a-fA-F]"
_JSON_ESCAPE = re.compile(
    rf"\\(?:\\|u[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}|(u[dD][89a-fA-F]{_HEX}{{2}}))"
)
"""A backslash or a character, in a group if it is half of one, which Go replaces."""


def _construct_bool(loader: _Loader, node: yaml.ScalarNode) -> bool:
    return loader.construct_scalar(node).lower() in _BOOLEANS


def _construct_int(loader: _Loader, node: yaml.ScalarNode) -> int | float:
    text = loader.construct_scalar(node).replace("_", "")
    digits = text.lstrip("+-")
    is_octal = digits.isdecimal() and digits.startswith("0")
    try:
        value = int(digits, 8) if is_octal else int(digits, 0)
    except ValueError:  # 08 is not octal
        value = int(digits)
    return -value if text.startswith("-") else value


def _construct_float(loader: _Loader, node: yaml.ScalarNode) -> int | float:
    text = loader.construct_scalar(node).replace("_", "").lower()
    number = float(text.replace(".inf", "inf").replace(".nan", "nan"))
    # Upstream converts YAML to JSON, in which 2.0 and 1e2 become integers; JSON keeps its own.
    return int(number) if number.is_integer() and abs(number) < _MAX_PLAIN else number


_MAX_PLAIN = 10**21


def _construct_timestamp(loader: _Loader, node: yaml.ScalarNode) -> str:
    """Return the text of a timestamp, which upstream keeps as it is, if it can be read."""
    text: str = loader.construct_scalar(node)
    try:
        loader.construct_yaml_timestamp(node)
    except (AttributeError, ValueError):
        problem = f"cannot decode !!str `{text}` as a !!timestamp"
        raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from None
    return text


def _construct_mapping(loader: _Loader, node: yaml.MappingNode) -> Keys:
    written = [_key(loader, key) for key, _ in node.value if key.tag != _MERGE]
    loader.flatten_mapping(node)
    pairs = [
        (_key(loader, key), loader.construct_object(value, deep=True)) for key, value in node.value
    ]
    mapping = Keys(pairs)
    mapping.is_yaml = True
    # Upstream also rejects a key that overrides one of a merged mapping.
    counts = Counter(name for name, _ in pairs)
    mapping.repeated = tuple(name for name in dict.fromkeys(written) if counts[name] > 1)
    return mapping


_MERGE = "tag:yaml.org,2002:merge"


def _key(loader: _Loader, node: yaml.Node) -> str:
    key: Hashable = loader.construct_object(node, deep=True)
    return str(key).lower() if isinstance(key, bool) else str(key)


_Loader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)
_Loader.add_constructor("tag:yaml.org,2002:str", _construct_str)
_Loader.add_constructor("tag:yaml.org,2002:bool", _construct_bool)
_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _construct_float)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _construct_timestamp)


def _mapping(pairs: list[tuple[str, Any]]) -> Keys:
    mapping = Keys(pairs)
    if len(mapping) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        mapping.repeated = tuple(name for name in mapping if counts[name] > 1)
    return mapping


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def read_document(text: str | bytes, *, source: str) -> object:
    """Read a document as `parse_document` does; an invalid text is an `InputError`."""
    try:
        return parse_document(text)
    except ValueError as error:
        raise InputError.of(source, str(error)) from error


def parse_document(text: str | bytes) -> object:
    """Read the first YAML or JSON document of a text.

    Raises
    ------
    ValueError
        If the text is invalid; with line and column.

    Notes
    -----
    kube-scheduler reads the first document only; see `has_more_documents`.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    try:
        return _parse(text)
    except yaml.MarkedYAMLError as error:
        words = ", ".join(part for part in (error.context, error.problem) if part)
        mark = error.problem_mark
        assert mark is not None, words
        raise ValueError(f"line {mark.line + 1}, column {mark.column + 1}: {words}") from error
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _parse(text: str) -> object:
    if text.lstrip().startswith("{"):
        text = _JSON_ESCAPE.sub(lambda found: r"\ufffd" if found[1] else found[0], text)
        try:
            return json.loads(
                text,
                object_pairs_hook=_mapping,
                parse_constant=_reject_constant,
            )
        except json.JSONDecodeError as error:
            # Upstream takes what starts with a brace for JSON, and never for a flow mapping of
            # YAML: apimachinery pkg/runtime/serializer/json/json.go, RecognizesData.
            message = f"json parse error: {go_json_error(text.encode(), error)}"
            where = f"line {error.lineno}, column {error.colno}"
            raise ValueError(f"{where}: couldn't get version/kind; {message}") from error
    loader = _Loader(text)
    try:
        # As upstream, nothing is read after the first document.
        return loader.get_data()
    finally:
        loader.dispose()


_DOCUMENT_START = re.compile(r"^(?:---|\.\.\.)(?:\s|$)", re.MULTILINE)
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)


def has_more_documents(text: str) -> bool:
    """Report whether documents follow the first one, which is the only one that is read."""
    parts = _DOCUMENT_START.split(_COMMENT.sub("", text))
    return sum(bool(part.strip()) for part in parts) > 1


def decode(value: object, cls: type[_T], path: str, errors: list[FieldError]) -> _T:
    """Convert a plain value to a struct, and add its errors to a list.

    Absent keys, nulls and wrong values have the struct's default, or Go's zero value for a required
    field, so that the rest of the document can be validated. A struct may declare bounds of its
    numbers, what `documents.declared` has, and a method `problems(path)`, which yields errors.
    """
    decoded = _walk(value, _type_of(cls), path, errors)
    return cls() if decoded is _WRONG else decoded  # type: ignore[return-value]  # _walk_struct


def struct_errors(struct: msgspec.Struct, path: str) -> list[FieldError]:
    """Return what is wrong in a struct that no document was decoded to; `path` is its field."""
    errors: list[FieldError] = []
    decode(as_document(struct), type(struct), path, errors)
    return errors


def as_document(value: Any) -> Any:
    """Return a struct, or what fields of it hold, as written: without defaults of fields."""
    if isinstance(value, msgspec.Struct):
        return {name: as_document(present) for name, present in given_fields(value).items()}
    if isinstance(value, tuple | list):
        return [as_document(each) for each in value]
    return {k: as_document(v) for k, v in value.items()} if isinstance(value, dict) else value


def given_fields(struct: msgspec.Struct) -> dict[str, Any]:
    """Return the values of a struct by the names of their fields in a document, without defaults.

    Durations are as written, and fields that are needed are there.
    """
    found = {}
    for field in _form_of(type(struct)).values():
        present = getattr(struct, field.name)
        if field.needed is not None or present != field.default:
            is_text = field.is_duration and present is not None
            found[field.encode_name] = format_duration(present) if is_text else present
    return found


class _Field(msgspec.Struct, frozen=True, kw_only=True):
    """What a field of a struct declares; `needed` says what it is, if it may not be absent."""

    name: str
    encode_name: str
    type: inspect.Type
    default: Any
    is_required: bool
    is_duration: bool
    needed: str | None


@cache
def _form_of(cls: type[msgspec.Struct]) -> dict[str, _Field]:
    """Return the fields of a struct by their names in a document."""
    kind = _type_of(cls)
    assert isinstance(kind, inspect.StructType), kind
    type_in = _as_in_core if cls.__module__.startswith(_CORE_TYPES) else _as_declared
    return {
        field.encode_name: _Field(
            name=field.name,
            encode_name=field.encode_name,
            type=type_in(field.type),
            default=field.default
            if field.default_factory is msgspec.NODEFAULT
            else field.default_factory(),
            is_required=field.required,
            is_duration=_is_duration(field.type),
            needed=_extra(field.type).get("needed"),
        )
        for field in kind.fields
    }


_WRONG: Final = object()
"""The result of a value of a wrong type."""
_NAMED_MAX: Final = 12
"""How many fields are named beside one that is unknown and not like any of them."""

_Walker = Callable[[Any, Any, str, list[FieldError]], object]


@cache
def _type_of(cls: type) -> inspect.Type:
    return inspect.type_info(cls)


def _walk(value: object, kind: inspect.Type, path: str, errors: list[FieldError]) -> object:
    """Check one value against its type; return the value of a struct's field, or `_WRONG`."""
    if isinstance(kind, inspect.Metadata):
        return _walk_declared(value, kind, path, errors)
    if isinstance(kind, inspect.UnionType):
        if value is None and kind.includes_none:
            return None
        kinds = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
        if len(kinds) == 1:
            return _walk(value, kinds[0], path, errors)
        # Last, because the errors inside of an object say more than that it is no text.
        kinds.sort(key=lambda each: isinstance(each, inspect.StructType))
        walked: object = _WRONG
        attempts: list[list[FieldError]] = []
        for each in kinds:
            attempts.append([])
            walked = _walk(value, each, path, attempts[-1])
            if not attempts[-1]:
                return walked
        start = invalid(path, value, "must be ").message
        if all(found[0].message.startswith(start) for found in attempts):  # of no type at all
            expected = [found[0].message.removeprefix(start) for found in attempts]
            return _wrong(value, " or ".join(dict.fromkeys(expected)), path, errors)
        errors.extend(attempts[-1])
        return walked
    walker = _WALKERS[type(kind)]
    return walker(value, kind, path, errors)


def _walk_declared(
    value: object, kind: inspect.Metadata, path: str, errors: list[FieldError]
) -> object:
    if _is_duration(kind):
        return _walk_duration(value, kind.type, path, errors)
    walked = _walk(value, kind.type, path, errors)
    check: Check | None = _extra(kind).get("check")
    if check is None or walked is _WRONG:
        return walked
    found = list(check(walked, path))
    errors += found
    return _WRONG if found else walked


def _walk_struct(
    value: object, kind: inspect.StructType, path: str, errors: list[FieldError]
) -> object:
    if not isinstance(value, dict):
        return _wrong(value, "an object", path, errors)
    before = len(errors)
    fields = _form_of(kind.cls)
    repeated: tuple[str, ...] = getattr(value, "repeated", ())
    errors.extend(problem(join(path, n), f'duplicate field "{n}"') for n in repeated)
    values: dict[str, object] = {}
    for name, item in value.items():
        field = fields.get(name)
        if field is None:
            hint = (
                did_you_mean(name, fields) or f"; known here: {first_names([*fields], _NAMED_MAX)}"
            )
            errors.append(problem(join(path, name), f'unknown field "{name}"{hint}'))
        elif item is not None or field.is_duration:
            walked = _walk(item, field.type, join(path, name), errors)
            if walked is not _WRONG:
                values[field.name] = walked
    own = []
    for name, field in fields.items():
        if field.is_required:
            values.setdefault(field.name, _zero(field.type))
        if field.needed is not None and not value.get(name):
            own.append(required(join(path, name), field.needed))
    made = kind.cls(**values)
    if hasattr(made, "problems"):
        own += made.problems(path)
    if own and not value.keys() <= fields.keys():
        # What a misspelled field may have been meant for is not a second mistake.
        places = {path, *(join(path, name) for name in fields)}
        own = [one for one in own if one.path not in places or not is_required(one)]
    wrong = [one.path for one in errors[before:]]
    errors += [one for one in own if not any(_is_within(each, one.path) for each in wrong)]
    return made


def _is_within(path: str, outer: str) -> bool:
    """Whether a field is another one, or inside of it."""
    return not outer or path == outer or path.startswith(f"{outer}.")


_CORE_TYPES = "podwright.apimachinery.objects"


def _as_declared(kind: inspect.Type) -> inspect.Type:
    return kind


def _as_in_core(kind: inspect.Type) -> inspect.Type:
    """Return the type of a field of core/v1 in Go: a number of 32 bits, or any string.

    kube-scheduler validates enumerations, or uses any value; it does not decode them.
    """
    if isinstance(kind, inspect.UnionType):
        return inspect.UnionType(tuple(map(_as_in_core, kind.types)))
    if isinstance(kind, inspect.LiteralType):
        return inspect.StrType()
    if isinstance(kind, inspect.IntType):
        return inspect.IntType(ge=-(2**31), le=2**31 - 1)
    return kind


def _is_duration(kind: inspect.Type) -> bool:
    """Report whether a null is decoded, as Go decodes it into a duration that is not a pointer."""
    return _extra(kind).get("format") == "duration"


def _extra(kind: inspect.Type) -> dict[str, Any]:
    """Return what a type declares beside itself."""
    return (isinstance(kind, inspect.Metadata) and kind.extra) or {}


def _declared(kind: inspect.Type) -> inspect.Type:
    return _declared(kind.type) if isinstance(kind, inspect.Metadata) else kind


def _zero(kind: inspect.Type) -> object:
    kind = _declared(kind)
    if isinstance(kind, inspect.StructType):
        return kind.cls(**{f.name: _zero(f.type) for f in kind.fields if f.required})
    return _ZEROS.get(type(kind))


def _with_zero(item: object, kind: inspect.Type) -> object:
    """Return an item, or for a null what Go decodes it into: no text, or no fields."""
    if item is not None:
        return item
    declared = _declared(kind)
    if isinstance(declared, inspect.StructType):
        return {}
    return "" if isinstance(declared, inspect.StrType) else None


def _walk_items(
    value: object, kind: inspect.VarTupleType, path: str, errors: list[FieldError]
) -> object:
    if not isinstance(value, list):
        return _wrong(value, "a list", path, errors)
    items = []
    for index, given in enumerate(value):
        item = _with_zero(given, kind.item_type)
        walked = _WRONG
        if item is not None:
            walked = _walk(item, kind.item_type, f"{path}[{index}]", errors)
        # A placeholder keeps the paths of the items that follow.
        items.append(_zero(kind.item_type) if walked is _WRONG else walked)
    return tuple(items) or EmptyList()


def _walk_dict(
    value: object, kind: inspect.DictType, path: str, errors: list[FieldError]
) -> object:
    if not isinstance(value, dict):
        return _wrong(value, "an object", path, errors)
    if isinstance(kind.value_type, inspect.AnyType):
        return value
    walked = {
        name: _walk(_with_zero(item, kind.value_type), kind.value_type, f"{path}[{name}]", errors)
        for name, item in value.items()
    }
    return {name: item for name, item in walked.items() if item is not _WRONG}


def _walk_int(value: object, kind: inspect.IntType, path: str, errors: list[FieldError]) -> object:
    if not isinstance(value, int) or isinstance(value, bool):
        return _wrong(value, "an integer", path, errors)
    return _bounded(value, value, kind, path, errors)


def _bounded(
    value: float, shown: object, kind: inspect.IntType | inspect.FloatType, path: str,
    errors: list[FieldError],
) -> object:  # fmt: skip
    low, above, high = kind.ge, kind.gt, kind.le
    is_low = (low is not None and value < low) or (above is not None and value <= above)
    if not is_low and (high is None or value <= high):
        return value
    rule = f"must be between {low} and {high}"
    if high is None:
        rule = f"must be at least {low}" if low else "must not be negative"
        rule = rule if above is None else f"must be greater than {above}"
    errors.append(invalid(path, shown, rule))
    return _WRONG


def _walk_float(
    value: object, kind: inspect.FloatType, path: str, errors: list[FieldError]
) -> object:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return _wrong(value, "a number", path, errors)
    if not abs(value) <= _MAX_FLOAT32:
        errors.append(invalid(path, str(value), "must be a 32-bit number"))
        return _WRONG
    return _bounded(float(value), value, kind, path, errors)


_MAX_FLOAT32 = 2**128 - 2**103
"""The greatest number that is rounded to a finite one."""


def _walk_literal(
    value: object, kind: inspect.LiteralType, path: str, errors: list[FieldError]
) -> object:
    if not isinstance(value, str):
        return _wrong(value, "a string", path, errors)
    if value not in kind.values:
        errors.append(not_supported(path, value, [str(v) for v in kind.values]))
        return _WRONG
    return value


def _walk_bytes(value: object, _: object, path: str, errors: list[FieldError]) -> object:
    if not isinstance(value, str):
        return _wrong(value, "a string in base64", path, errors)
    try:
        return bytes_of_base64(value)
    except ValueError:
        errors.append(problem(path, "Invalid value: must be base64"))
        return _WRONG


def _walk_duration(
    value: object, kind: inspect.Type, path: str, errors: list[FieldError]
) -> object:
    if not isinstance(value, str | None):
        return _wrong(value, 'a duration such as "15s"', path, errors)
    assert isinstance(kind, inspect.IntType), "nanoseconds"
    try:
        return _bounded(parse_duration(value or ""), value, kind, path, errors)
    except ValueError as error:
        errors.append(invalid(path, value, error))
        return _WRONG


def _scalar(kind: type, what: str) -> _Walker:
    def walk(value: object, _: object, path: str, errors: list[FieldError]) -> object:
        return value if isinstance(value, kind) else _wrong(value, what, path, errors)

    return walk


def _wrong(value: object, expected: str, path: str, errors: list[FieldError]) -> object:
    errors.append(invalid(path, value, f"must be {expected}"))
    return _WRONG


_WALKERS: dict[type[inspect.Type], _Walker] = {
    inspect.StructType: _walk_struct,
    inspect.VarTupleType: _walk_items,
    inspect.DictType: _walk_dict,
    inspect.IntType: _walk_int,
    inspect.BytesType: _walk_bytes,
    inspect.StrType: _scalar(str, "a string"),
    inspect.LiteralType: _walk_literal,
    inspect.BoolType: _scalar(bool, "true or false"),
    inspect.FloatType: _walk_float,
    inspect.AnyType: lambda value, _kind, _path, _errors: value,
}
_ZEROS: dict[type[inspect.Type], object] = {
    inspect.StrType: "",
    inspect.LiteralType: "",
    inspect.IntType: 0,
    inspect.FloatType: 0.0,
    inspect.BoolType: False,
    inspect.VarTupleType: (),
}
