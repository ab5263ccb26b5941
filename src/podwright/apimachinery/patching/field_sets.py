"""Sets of fields, in the form in which `managedFields` has them.

A set is a tree of dictionaries. A key is a path element: `f:name` is a field or the key of a map,
`k:{...}` an item of a list that is identified by some of its fields, `v:...` an item that is
identified by its value. A node without children is a member. A node with children is a member if
it has the key `.`. Sets are never changed; operations share the nodes that they do not change.

Upstream: sigs.k8s.io/structured-merge-diff/fieldpath/set.go, serialize.go, element.go
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import integer_error, parse_int64

FieldSet: TypeAlias = dict[str, Any]
"""Path elements to the nodes below them; {} is the empty set."""

Node: TypeAlias = dict[str, Any]
"""What is below a path element; {} is a member without children."""

SELF: Final = "."
"""The key that makes a node with children a member."""
LEAF: Final[Node] = {}


def is_member(node: Node) -> bool:
    """Whether the path of a node is in the set, besides what is below it."""
    return not node or SELF in node


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the fields of either set."""
    if not one or one is other:
        return other
    if not other:
        return one
    found: FieldSet | None = None
    for key, node in other.items():
        present = one.get(key)
        joined = node if present is None else _union(present, node)
        if joined is not present:
            if found is None:
                found = dict(one)
            found[key] = joined
    return one if found is None else _sorted(found)


def _union(one: Node, other: Node) -> Node:
    if one is other or one == other:
        return one
    if not one:
        return other if SELF in other else {SELF: LEAF, **other}
    if not other:
        return one if SELF in one else {SELF: LEAF, **one}
    return union(one, other)


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the fields of both sets."""
    found: FieldSet = {}
    for key, node in one.items():
        against = other.get(key)
        if against is not None and key != SELF:
            shared = _intersection(node, against)
            if shared is not None:
                found[key] = shared
    return found


def _intersection(one: Node, other: Node) -> Node | None:
    return _node(intersection(one, other), in_set=is_member(one) and is_member(other))


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the fields of one set that are not in the other.

    A field below one of the other set stays: each path counts by itself.
    """
    if not other:
        return one
    found: FieldSet = {}
    is_same = True
    for key, node in one.items():
        against = other.get(key)
        rest = node if against is None or key == SELF else _difference(node, against)
        is_same = is_same and rest is node
        if rest is not None:
            found[key] = rest
    return one if is_same else found


def _difference(one: Node, other: Node) -> Node | None:
    in_set = is_member(one) and not is_member(other)
    children = difference(one, other) if one else LEAF
    if children is one and in_set == is_member(one):
        return one
    return _node(children, in_set=in_set)


def without(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the fields of one set that are neither in the other nor below one of its fields."""
    if not other:
        return one
    found: FieldSet = {}
    is_same = True
    for key, node in one.items():
        against = other.get(key)
        rest: Node | None = node
        if against is not None and key != SELF:
            if is_member(against):
                rest = None
            else:
                rest = _node(without(node, against), in_set=is_member(node)) if node else node
                rest = node if rest == node else rest
        is_same = is_same and rest is node
        if rest is not None:
            found[key] = rest
    return one if is_same else found


def _node(children: Node, *, in_set: bool) -> Node | None:
    """Return a node; None if nothing of it is in the set."""
    below = {key: node for key, node in children.items() if key != SELF}
    if not below:
        return LEAF if in_set else None
    return {SELF: LEAF, **below} if in_set else below


def contains(one: FieldSet, other: FieldSet) -> bool:
    """Whether all fields of the other set are in the first."""
    if one is other:
        return True
    for key, node in other.items():
        present = one.get(key)
        if present is None:
            return False
        if present is node or key == SELF:
            continue
        if is_member(node) and not is_member(present):
            return False
        if node and not contains(present, node):
            return False
    return True


def _sorted(found: FieldSet) -> FieldSet:
    return dict(sorted(found.items()))


# ------------------------------------------------------------------------ path elements


def value_element(value: Any) -> str:
    """Return the path element of an item of a set."""
    return f"v:{key_value(value)}"


def key_element(keys: dict[str, Any]) -> str:
    """Return the path element of an item with keys, which are sorted by their names."""
    inside = ",".join([f"{_string(name)}:{key_value(value)}" for name, value in keys.items()])
    return f"k:{{{inside}}}"


def key_name(name: str) -> str:
    """Return the name of a key in a path element, up to its value."""
    return f"{_string(name)}:"


def key_value(value: Any) -> str:
    """Return the value of a key in a path element."""
    if type(value) is str:
        return _string(value)
    return msgspec.json.encode(value).decode()


@lru_cache(maxsize=4096)
def _string(value: str) -> str:
    """Return a string in JSON as Go writes it, safe for HTML."""
    text = msgspec.json.encode(value).decode()
    for plain, escaped in _ESCAPES:
        text = text.replace(plain, escaped)
    return text


_ESCAPES: Final = tuple(
    (character, f"\\u{ord(character):04x}") for character in ("<", ">", "&", "\u2028", "\u2029")
)


class ElementError(ValueError):
    """A path element that does not follow the format."""


def canonical(found: Any) -> FieldSet:
    """Return a set as the server writes it; elements of unknown types are left out.

    Raises
    ------
    ElementError
        The set is not a tree of objects, or a path element is malformed.
    """
    if not isinstance(found, dict):
        raise ElementError("must be an object")
    made: FieldSet = {}
    for key, inside in found.items():
        if key == SELF:
            continue
        element = _canonical_element(key)
        if element:
            below = canonical(inside)
            in_set = not below or SELF in inside
            made[element] = {SELF: LEAF, **below} if in_set and below else below
    return _sorted(made)


def _canonical_element(key: str) -> str:
    if len(key) < 2:
        raise ElementError("key must be 2 characters long:")
    if key[1] != ":":
        raise ElementError(f"missing colon: {key}")
    text = key[2:]
    match key[0]:
        case "f":
            return key
        case "i":
            index = parse_int64(text)
            if index is None:
                raise ElementError(integer_error("Atoi", text))
            return f"i:{index}"
        case "v" | "k":
            try:
                value = msgspec.json.decode(text)
            except msgspec.DecodeError as error:
                raise ElementError(str(error)) from None
            if key[0] == "v":
                return value_element(value)
            if not isinstance(value, dict):
                raise ElementError(f"not an object: {key}")
            return key_element(dict(sorted(value.items())))
        case _:
            return ""


# -------------------------------------------------------------------------------- paths


def paths(found: FieldSet, prefix: str = "") -> Iterator[str]:
    """Yield the fields of a set as messages name them, such as `.spec.ports[name="http"].port`.

    The members of a node come before those below its children, as upstream lists them.
    """
    ordered = sorted((key for key in found if key != SELF), key=_order)
    for key in ordered:
        if is_member(found[key]):
            yield prefix + printed_element(key)
    for key in ordered:
        if found[key]:
            yield from paths(found[key], prefix + printed_element(key))


def printed_element(key: str) -> str:
    """Return a path element as messages name it."""
    text = key[2:]
    match key[0]:
        case "f":
            return f".{text}"
        case "k":
            keys: dict[str, Any] = msgspec.json.decode(text)
            return f"[{','.join(f'{name}={_text(value)}' for name, value in keys.items())}]"
        case "v":
            return f"[={_text(msgspec.json.decode(text))}]"
        case _:
            return f"[{text}]"


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _order(key: str) -> tuple[Any, ...]:
    """Return the order of path elements: fields, keys, values, indexes."""
    text = key[2:]
    match key[0]:
        case "f":
            return 0, text
        case "k":
            keys: dict[str, Any] = msgspec.json.decode(text)
            return 1, [(name, _value_order(value)) for name, value in keys.items()]
        case "v":
            return 2, _value_order(msgspec.json.decode(text))
        case _:
            return 3, int(text)


def _value_order(value: Any) -> tuple[int, Any]:
    """Return the order of values: numbers before strings before booleans before others."""
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, int | float):
        return 0, value
    if isinstance(value, str):
        return 1, value
    return 3, key_value(value)
