"""Text to plain values, and plain values to structs, with every problem collected.

`parse_document` reads YAML or JSON and records duplicate keys. `decode`
compares a value with a struct type and collects every unknown or duplicate key and every value
of a wrong type; msgspec's own conversion stops at the first problem.
"""

import base64
import binascii
import json
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any, TypeVar

import msgspec
import yaml
from msgspec import inspect

from podwright.config.field import did_you_mean, invalid, join, not_supported, problem, required
from podwright.objects import FieldError, parse_duration

_T = TypeVar("_T", bound=msgspec.Struct)


class Keys(dict[str, Any]):
    """A mapping of the document, with its duplicate keys."""

    repeated: tuple[str, ...] = ()


class _Loader(yaml.SafeLoader):
    """YAML as Kubernetes reads it: dates stay text, duplicate keys are recorded."""

    # The table of SafeLoader without timestamps; a copy, since all loaders share the original.
    yaml_implicit_resolvers = {  # noqa: RUF012 - the attribute PyYAML looks for
        first: [(tag, rule) for tag, rule in rules if tag != "tag:yaml.org,2002:timestamp"]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _construct_mapping(loader: _Loader, node: yaml.MappingNode) -> Keys:
    loader.flatten_mapping(node)
    pairs = []
    for key_node, value_node in node.value:
        key: Hashable = loader.construct_object(key_node, deep=True)
        pairs.append((str(key), loader.construct_object(value_node, deep=True)))
    return _mapping(pairs)


_Loader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)


def _mapping(pairs: list[tuple[str, Any]]) -> Keys:
    mapping = Keys(pairs)
    if len(mapping) < len(pairs):
        names = [name for name, _ in pairs]
        mapping.repeated = tuple(n for n in mapping if names.count(n) > 1)
    return mapping


def parse_document(text: str | bytes) -> object:
    """Read one YAML or JSON document.

    Raises
    ------
    ValueError
        If the text is invalid, or contains several documents; with line and column.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    try:
        return _parse(text)
    except yaml.MarkedYAMLError as error:
        words = ", ".join(part for part in (error.context, error.problem) if part)
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ValueError(f"{where}{words}") from error
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _parse(text: str) -> object:
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text, object_pairs_hook=_mapping)
        except json.JSONDecodeError:
            pass  # a flow mapping of YAML begins with a brace too
    return yaml.load(text, Loader=_Loader)


def decode(value: object, cls: type[_T], path: str, errors: list[FieldError]) -> _T | None:
    """Convert a plain value to a struct; return None after adding errors if that fails.

    Absent keys and nulls have the struct's default, or Go's zero value for a required field, so
    that validation reports it with upstream's message.
    """
    before = len(errors)
    plain = _walk(value, _type_of(cls), path, errors)
    if len(errors) > before:
        return None
    return msgspec.convert(plain, cls)


_Walker = Callable[[Any, Any, str, list[FieldError]], object]


@cache
def _type_of(cls: type) -> inspect.Type:
    return inspect.type_info(cls)


def _walk(value: object, kind: inspect.Type, path: str, errors: list[FieldError]) -> object:
    """Check one value against its type; return the value that msgspec converts."""
    if isinstance(kind, inspect.Metadata):
        if (kind.extra or {}).get("format") == "duration":
            return _walk_duration(value, path, errors)
        kind = kind.type
    if isinstance(kind, inspect.UnionType):
        if value is None and kind.includes_none:
            return None
        # Every union here consists of one type and None.
        kind = next(t for t in kind.types if not isinstance(t, inspect.NoneType))
        return _walk(value, kind, path, errors)
    walker = _WALKERS[type(kind)]
    return walker(value, kind, path, errors)


def _walk_struct(
    value: object, kind: inspect.StructType, path: str, errors: list[FieldError]
) -> object:
    if not isinstance(value, dict):
        return _wrong(value, "an object", path, errors)
    fields = {field.encode_name: field for field in kind.fields}
    repeated: tuple[str, ...] = getattr(value, "repeated", ())
    errors.extend(problem(join(path, n), f'duplicate field "{n}"') for n in repeated)
    plain: dict[str, object] = {}
    for name, item in value.items():
        field = fields.get(name)
        if field is None:
            hint = did_you_mean(name, fields)
            errors.append(problem(join(path, name), f'unknown field "{name}"{hint}'))
        elif item is not None:
            plain[name] = _walk(item, field.type, join(path, name), errors)
    for name, field in fields.items():
        if field.required and name not in plain:
            zero = _ZEROS.get(type(field.type))
            if zero is None:
                errors.append(required(join(path, name), "can not be empty"))
            plain[name] = zero
    return plain


def _walk_items(
    value: object, kind: inspect.VarTupleType, path: str, errors: list[FieldError]
) -> object:
    if not isinstance(value, list):
        return _wrong(value, "a list", path, errors)
    return [
        _walk(item, kind.item_type, f"{path}[{index}]", errors) for index, item in enumerate(value)
    ]


def _walk_dict(
    value: object, kind: inspect.DictType, path: str, errors: list[FieldError]
) -> object:
    if not isinstance(value, dict):
        return _wrong(value, "an object", path, errors)
    return {
        name: _walk(item, kind.value_type, f"{path}[{name}]", errors)
        for name, item in value.items()
    }


def _walk_int(value: object, kind: inspect.IntType, path: str, errors: list[FieldError]) -> object:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return _wrong(value, "an integer", path, errors)
    low, high = kind.ge, kind.le
    if (low is not None and value < low) or (high is not None and value > high):
        errors.append(invalid(path, value, f"must be between {low} and {high}"))
    return value


def _walk_literal(
    value: object, kind: inspect.LiteralType, path: str, errors: list[FieldError]
) -> object:
    if not isinstance(value, str):
        return _wrong(value, "a string", path, errors)
    if value not in kind.values:
        errors.append(not_supported(path, value, [str(v) for v in kind.values]))
    return value


def _walk_bytes(value: object, _: object, path: str, errors: list[FieldError]) -> object:
    if not isinstance(value, str):
        return _wrong(value, "a string in base64", path, errors)
    try:
        base64.b64decode(value, validate=True)
    except binascii.Error:
        errors.append(problem(path, "Invalid value: must be base64"))
    return value


def _walk_duration(value: object, path: str, errors: list[FieldError]) -> object:
    if not isinstance(value, str):
        return _wrong(value, 'a duration such as "15s"', path, errors)
    try:
        return parse_duration(value)
    except ValueError as error:
        errors.append(invalid(path, value, str(error)))
        return 0


def _scalar(*types: type, what: str) -> _Walker:
    def walk(value: object, _: object, path: str, errors: list[FieldError]) -> object:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            return _wrong(value, what, path, errors)
        return value

    return walk


def _wrong(value: object, expected: str, path: str, errors: list[FieldError]) -> object:
    errors.append(invalid(path, value, f"must be {expected}"))
    return value


_WALKERS: dict[type[inspect.Type], _Walker] = {
    inspect.StructType: _walk_struct,
    inspect.VarTupleType: _walk_items,
    inspect.DictType: _walk_dict,
    inspect.IntType: _walk_int,
    inspect.LiteralType: _walk_literal,
    inspect.BytesType: _walk_bytes,
    inspect.StrType: _scalar(str, what="a string"),
    inspect.BoolType: _scalar(bool, what="true or false"),
    inspect.FloatType: _scalar(int, float, what="a number"),
    inspect.AnyType: lambda value, _kind, _path, _errors: value,
}
_ZEROS: dict[type[inspect.Type], object] = {inspect.StrType: "", inspect.IntType: 0}
