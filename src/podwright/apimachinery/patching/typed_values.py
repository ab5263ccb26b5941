"""Values with their types: field sets, merging, comparison, removal.

An absent value is `ABSENT`; None is a null that is present. Results share what did not change
with the arguments, and are the argument itself if nothing did.

Upstream: sigs.k8s.io/structured-merge-diff/typed/validate.go, tofieldset.go, merge.go,
compare.go, remove.go
"""

from __future__ import annotations

import operator
from collections.abc import Hashable
from typing import Any, Final, NamedTuple

import msgspec

from podwright.apimachinery.patching.errors import GO_TYPE, printed, printed_in_full
from podwright.apimachinery.patching.field_sets import (
    LEAF,
    SELF,
    FieldSet,
    Node,
    is_member,
    printed_element,
)
from podwright.apimachinery.patching.value_types import DEDUCED, ValueType

ABSENT: Final[Any] = object()
"""The value of a field that is not set."""


# --------------------------------------------------------------------------- validation


def type_errors(value: Any, of: ValueType, path: str = "") -> list[str]:
    """Return why a value does not have its type, each with its path; empty if it has."""
    if value is None or of.form == "deduced":
        return []
    match of.form:
        case "scalar":
            message = _scalar_error(value, of.scalar)
            return [_located(path, message)] if message else []
        case "list":
            return _list_errors(value, of, path)
        case _:
            return _map_errors(value, of, path)


def _map_errors(value: Any, of: ValueType, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [_located(path, f"expected map, got &{{{printed(value)}}}")]
    errors: list[str] = []
    fields, element = of.fields, of.element
    for name, one in value.items():
        child = fields.get(name, element)
        if child is None:
            # Upstream ends with the first unknown field of an object.
            errors.append(_located(f"{path}.{name}", "field not declared in schema"))
            break
        errors += type_errors(one, child, f"{path}.{name}")
    return errors


def _list_errors(value: Any, of: ValueType, path: str) -> list[str]:
    if not isinstance(value, list):
        return [_located(path, f"expected list, got &{{{printed(value)}}}")]
    assert of.element is not None
    errors: list[str] = []
    seen: set[str] = set()
    for index, item in enumerate(value):
        if of.is_atomic:
            errors += type_errors(item, of.element, f"{path}[{index}]")
            continue
        message = _item_error(item, of)
        if message:
            errors.append(_located(path, f"element {index}: {message}"))
            break
        element = of.item_element(item)
        place = printed_element(element)
        if element in seen:
            errors.append(_located(path, f"duplicate entries for key {place}"))
        seen.add(element)
        errors += type_errors(item, of.element, f"{path}{place}")
    return errors


def _item_error(item: Any, of: ValueType) -> str:
    if not of.keys:
        if isinstance(item, dict):
            return "associative list without keys has an element that's a map type"
        if isinstance(item, list):
            return "not supported: associative list with lists as elements"
        return (
            ""
            if item is not None
            else ("associative list without keys has an element that's an explicit null")
        )
    if item is None:
        return "associative list with keys may not have a null element"
    if not isinstance(item, dict):
        return "associative list with keys may not have non-map elements"
    if not any(key in item or key in of.key_defaults for key in of.keys):
        listed = " ".join(f'"{key}"' for key in of.keys)
        return (
            f"associative list with keys has an element that omits all key fields [{listed}] "
            "(and doesn't have default values for any key fields)"
        )
    return ""


def _scalar_error(value: Any, scalar: str) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match scalar:
        case "string" if not isinstance(value, str):
            return (
                f"expected string, got &value.valueUnstructured{{Value:{printed_in_full(value)}}}"
            )
        case "number" if not is_number:
            return f"expected numeric (int or float), got {GO_TYPE[type(value)]}"
        case "bool" if not isinstance(value, bool):
            return f"expected boolean, got &{{{printed(value)}}}"
        case "any" if isinstance(value, dict | list):
            return f"expected any scalar, got &{{{printed(value)}}}"
        case _:
            return ""


def _located(path: str, message: str) -> str:
    return f"{path}: {message}" if path else message


def joined_errors(errors: list[str]) -> str:
    """Return type errors as one message."""
    return errors[0] if len(errors) == 1 else "\n  ".join(["errors:", *errors])


# ------------------------------------------------------------------------- path elements


def _items(value: Any, of: ValueType) -> dict[str, list[Any]]:
    """Return the items of a list by their path elements; an element can be there twice."""
    found: dict[str, list[Any]] = {}
    element_of = of.item_element
    for item in value or ():
        found.setdefault(element_of(item), []).append(item)
    found.pop("", None)
    return found


# ---------------------------------------------------------------------------- field sets


def field_set(value: Any, of: ValueType) -> FieldSet:
    """Return the fields that a value sets.

    Parameters
    ----------
    value : Any
        An object or a part of one.
    of : ValueType
        Its type.
    """
    if not value:
        return LEAF
    if isinstance(value, list):
        return LEAF if of.form != "list" or of.is_atomic else _list_fields(value, of)
    if not isinstance(value, dict) or of.is_leaf:
        return LEAF
    fields, element = (of.fields, of.element) if of.form == "map" else ({}, of)
    found: FieldSet = {}
    for name in sorted(value):
        one = value[name]
        child = fields.get(name)
        if child is not None:
            if child.is_leaf:
                found["f:" + name] = LEAF
                continue
            inside = field_set(one, child)
            # An empty list whose items have owners is not set, nor an object of such lists.
            if inside or child.form == "deduced" or one is None or one == {}:
                found["f:" + name] = inside
        elif element is not None:
            inside = field_set(one, element)
            found["f:" + name] = {SELF: LEAF, **inside} if inside else LEAF
    return found


def _list_fields(value: list[Any], of: ValueType) -> FieldSet:
    assert of.element is not None
    found: FieldSet = {}
    for element, items in sorted(_items(value, of).items()):
        inside = LEAF if len(items) > 1 else field_set(items[0], of.element)
        found[element] = {SELF: LEAF, **inside} if inside else LEAF
    return found


def _all_fields(value: Any, of: ValueType) -> Node:
    """Return the node of a value that is added or removed: all its parts, and itself."""
    if not value or of.is_leaf:
        return LEAF
    if isinstance(value, dict):
        node, parts = of.node(tuple(value))
        if not parts:
            return node
        found = node.copy()
        for name, key, child in parts:
            if one := value[name]:
                found[key] = _all_fields(one, child)
        return found
    if not isinstance(value, list) or of.form != "list":
        return LEAF
    assert of.element is not None
    found = {SELF: LEAF}
    element_of, element = of.item_element, of.element
    items = [(key, item) for item in value if (key := element_of(item))]
    for key, item in sorted(items, key=_first) if len(items) > 1 else items:
        found[key] = LEAF if key in found else _all_fields(item, element)
    return found if len(found) > 1 else LEAF


_first: Final = operator.itemgetter(0)


# ----------------------------------------------------------------------------- comparison


class Difference(NamedTuple):
    """What differs between two values.

    Attributes
    ----------
    changed : dict
        The fields that the new value adds or that have another value in it.
    removed : dict
        The fields that the new value does not have.
    """

    changed: FieldSet
    removed: FieldSet


_SAME: Final = Difference(LEAF, LEAF)


def difference_of(old: Any, new: Any, of: ValueType) -> Difference:
    """Return what differs between two objects of a type."""
    changed: FieldSet = {}
    removed: FieldSet = {}
    if not _same(old, new):
        _compare_parts(old, new, of, changed, removed)
    return Difference(changed, removed) if changed or removed else _SAME


def _compare_parts(old: Any, new: Any, of: ValueType, changed: Node, removed: Node) -> None:
    """Write the differences below two values that are present."""
    if isinstance(old, dict) or isinstance(new, dict):
        _compare_maps(old, new, of, changed, removed)
    else:
        _compare_lists(old, new, of, changed, removed)


def _compare_maps(old: Any, new: Any, of: ValueType, changed: Node, removed: Node) -> None:
    before: dict[str, Any] = old if isinstance(old, dict) else {}
    after: dict[str, Any] = new if isinstance(new, dict) else {}
    # Versions of an object share most parts.
    names = [name for name, one in before.items() if after.get(name, ABSENT) is not one]
    names += [name for name in after if name not in before] if before else after
    for name, key, child in of.parts(tuple(names)) if names else ():
        if name in before:
            _compare(key, before[name], after.get(name, ABSENT), child, changed, removed)
        else:
            changed[key] = _all_fields(after[name], child)


def _compare_lists(old: Any, new: Any, of: ValueType, changed: Node, removed: Node) -> None:
    assert of.element is not None
    before = _items(old, of) if isinstance(old, list) else {}
    after = _items(new, of) if isinstance(new, list) else {}
    for key in sorted(before.keys() | after.keys()):
        ones, others = before.get(key, []), after.get(key, [])
        if len(ones) > 1 or len(others) > 1:
            _compare_duplicates(key, ones, others, of.element, changed, removed)
            continue
        one, other = next(iter(ones), ABSENT), next(iter(others), ABSENT)
        _compare(key, one, other, of.element, changed, removed)


def _compare_duplicates(
    key: str, ones: list[Any], others: list[Any], of: ValueType, changed: Node, removed: Node
) -> None:
    """Compare items of which there are several with one key: they have one owner together."""
    if len(ones) > 1 and len(others) > 1:
        if not _same(ones, others):
            changed[key] = LEAF
    elif len(ones) > 1:
        for other in others:
            _compare(key, ABSENT, other, of, changed, removed)
        removed[key] = LEAF
    else:
        for one in ones:
            _compare(key, one, ABSENT, of, changed, removed)
        changed[key] = LEAF


def _compare(key: str, old: Any, new: Any, of: ValueType, changed: Node, removed: Node) -> None:
    """Write the differences between two values, either of which can be absent."""
    if old is ABSENT:
        changed[key] = _all_fields(new, of)
        return
    if new is ABSENT:
        removed[key] = _all_fields(old, of)
        return
    if _same(old, new):
        return
    if of.is_leaf or not _have_parts(old, new, of):
        changed[key] = LEAF
        return
    if of.keys == _TYPE:
        inside_changed, inside_removed = _compared_conditions(old, new, of)
    else:
        inside_changed, inside_removed = {}, {}
        if of.form == "deduced" and not (_is_map(old) and _is_map(new)):
            inside_changed[SELF] = LEAF
        _compare_parts(old, new, of, inside_changed, inside_removed)
    if inside_changed:
        changed[key] = LEAF if inside_changed.keys() == {SELF} else inside_changed
    if inside_removed:
        removed[key] = inside_removed


def _compared_conditions(old: Any, new: Any, of: ValueType) -> tuple[Node, Node]:
    """Return the differences between two lists whose items have types, such as conditions.

    Pods that start in one second have equal conditions, so the last results are kept. The fields
    that they set are the same at any time, so those are one set.
    """
    key = of, msgspec.json.encode((old, new))
    known = _known_conditions.get(key)
    if known is None:
        changed: Node = {}
        removed: Node = {}
        _compare_parts(old, new, of, changed, removed)
        if len(_known_conditions) >= _CONDITIONS_MAX:
            _known_conditions.clear()
            _known_sets.clear()
        known = _known_conditions[key] = _shared(changed), _shared(removed)
    return known


def _shared(node: Node) -> Node:
    return _known_sets.setdefault(msgspec.json.encode(node), node)


_CONDITIONS_MAX: Final = 1_024
_TYPE: Final = ("type",)
_known_conditions: dict[tuple[ValueType, bytes], tuple[Node, Node]] = {}
"""By the type, and the two lists."""
_known_sets: dict[bytes, Node] = {}


def _have_parts(old: Any, new: Any, of: ValueType) -> bool:
    """Whether the parts of two values are compared; empty values are compared as a whole."""
    if of.form == "deduced":
        return (bool(old) and isinstance(old, dict)) or (bool(new) and isinstance(new, dict))
    expected = dict if of.form == "map" else list
    return (bool(old) and isinstance(old, expected)) or (bool(new) and isinstance(new, expected))


def _is_map(value: Any) -> bool:
    return value is None or isinstance(value, dict)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal; true and 1 differ, and 1 and 1.0 do not."""
    if one is other:
        return True
    if one != other:
        return False
    if isinstance(one, dict | list):
        # Equal text is the usual case, and costs less than the comparison of every boolean.
        return msgspec.json.encode(one) == msgspec.json.encode(other) or _have_same_booleans(
            one, other
        )
    return isinstance(one, bool) is isinstance(other, bool)


def _have_same_booleans(one: Any, other: Any) -> bool:
    """Whether two equal values have booleans at the same places."""
    if isinstance(one, dict):
        return all(_have_same_booleans(inside, other[key]) for key, inside in one.items())
    if isinstance(one, list):
        return all(map(_have_same_booleans, one, other))
    return isinstance(one, bool) is isinstance(other, bool)


# -------------------------------------------------------------------------------- merging


def merged(live: Any, configuration: Any, of: ValueType) -> Any:
    """Return a value with what a configuration sets; nothing is removed.

    Parameters
    ----------
    live, configuration : Any
        The values; both are present.
    of : ValueType
        Their type. The configuration must have it.

    Returns
    -------
    value : Any
        `live` itself if the configuration sets nothing else.
    """
    if live is configuration:
        return live
    if of.form == "map" and not of.is_atomic and not _is_wrong(live, dict):
        return _merged_maps(live, configuration, of.fields, of.element)
    if of.form == "list" and not of.is_atomic and not _is_wrong(live, list):
        return _merged_lists(live, configuration, of)
    if (
        of.form == "deduced"
        and not of.is_atomic
        and isinstance(live, dict)
        and _is_map(configuration)
    ):
        return _merged_maps(live, configuration, {}, of)
    return live if _same(live, configuration) else configuration


def _is_wrong(value: Any, expected: type) -> bool:
    return value is not None and not isinstance(value, expected)


def _merged_maps(
    live: Any,
    configuration: Any,
    fields: dict[str, ValueType],
    element: ValueType | None,
) -> Any:
    if not configuration:
        # Null and {} set no fields; between empty values the configuration wins.
        return live if live or live == configuration else configuration
    if not live:
        return configuration
    found = live
    for name, value in configuration.items():
        present, made = live.get(name, ABSENT), value
        if present is not ABSENT:
            if present is value:
                continue
            child = fields.get(name) or element or DEDUCED
            if child.form == "scalar":
                if present == value and type(present) is type(value):
                    continue
            else:
                made = merged(present, value, child)
                if made is present:
                    continue
        if found is live:
            found = dict(live)
        found[name] = made
    return found


def _merged_lists(live: Any, configuration: Any, of: ValueType) -> Any:
    if not configuration:
        return live if live or live == configuration else configuration
    if not live:
        return configuration
    element = of.element
    assert element is not None
    before = [_item_key(item, of) for item in live]
    after = [_item_key(item, of) for item in configuration]
    set_items = dict(zip(after, configuration, strict=True))
    live_items: dict[Hashable, Any] = {}
    for key, item in zip(before, live, strict=True):
        # An item that is there twice is not merged but replaced.
        live_items[key] = item if key not in live_items else ABSENT
    if before == after and len(live_items) == len(before):
        found = [merged(live_items[key], set_items[key], element) for key in before]
    else:
        found = [
            _merged_item(key, index, live, live_items, set_items, element)
            for key, index in _merged_order(before, after)
        ]
    is_same = len(found) == len(live) and all(map(operator.is_, found, live))
    return live if is_same else found


def _merged_item(
    key: Hashable,
    index: int,
    live: list[Any],
    live_items: dict[Hashable, Any],
    set_items: dict[Hashable, Any],
    of: ValueType,
) -> Any:
    value = set_items.get(key, ABSENT)
    if value is ABSENT:
        return live[index]
    present = live_items.get(key, ABSENT)
    return value if present is ABSENT else merged(present, value, of)


def _item_key(item: Any, of: ValueType) -> Hashable:
    """Return what identifies an item of a list, as values; None for one of a wrong form."""
    if not of.keys:
        return None if isinstance(item, dict | list) else item
    if not isinstance(item, dict):
        return None
    if len(of.keys) == 1:
        value = item.get(of.keys[0], of.key_defaults.get(of.keys[0]))
        return None if isinstance(value, dict | list) else value
    found = [item.get(key, of.key_defaults.get(key)) for key in of.keys]
    return None if any(isinstance(one, dict | list) for one in found) else tuple(found)


def _merged_order(before: list[Hashable], after: list[Hashable]) -> list[tuple[Hashable, int]]:
    """Return the order of the items of a merged list, each with its index among the live ones.

    Items of the configuration keep its order. Other items stay where they are relative to those
    that both lists have.
    """
    in_live, in_configuration = set(before), set(after)
    shared = [element for element in after if element in in_live]
    next_shared = 0
    done: set[Hashable] = set()
    order: list[tuple[Hashable, int]] = []
    left = right = 0
    while left < len(before) or right < len(after):
        if left < len(before) and right < len(after):
            element = before[left]
            if element == after[right]:
                done.add(element)
                order.append((element, left))
                left += 1
                right += 1
                next_shared += 1
                continue
            if (
                element in in_configuration
                and next_shared < len(shared)
                and shared[next_shared] != element
            ):
                left += 1
                continue
        if left < len(before):
            element = before[left]
            if element not in in_configuration:
                order.append((element, left))
                left += 1
                continue
            if element in done:
                left += 1
        if right < len(after):
            element = after[right]
            done.add(element)
            order.append((element, -1))
            right += 1
            if next_shared < len(shared) and shared[next_shared] == element:
                next_shared += 1
    return order


# -------------------------------------------------------------------------------- removal


def removed_from(value: Any, items: FieldSet, of: ValueType) -> Any:
    """Return a value without the fields of a set and what is below them.

    A map or list of which nothing is left becomes None; one inside another stays, empty, unless it
    is in the set itself.
    """
    if not items:
        return value
    if isinstance(value, dict) and of.form != "list":
        if of.is_atomic:
            return None
        fields, element = (of.fields, of.element) if of.form == "map" else ({}, of)
        kept: dict[str, Any] = {}
        for name, one in value.items():
            node = items.get("f:" + name)
            if node is None:
                kept[name] = one
            elif not is_member(node):
                kept[name] = _left_of(one, node, fields.get(name) or element or DEDUCED)
        return kept or None
    if isinstance(value, list):
        if of.is_atomic or of.form != "list" or of.element is None:
            return None
        left = []
        for item in value:
            node = items.get(of.item_element(item))
            if node is None:
                left.append(item)
            elif not is_member(node):
                left.append(_left_of(item, node, of.element))
        return left or None
    return value


def _left_of(value: Any, items: FieldSet, of: ValueType) -> Any:
    left = removed_from(value, items, of)
    return value.__class__() if left is None and isinstance(value, dict | list) else left


def with_named_fields(found: FieldSet, of: ValueType) -> FieldSet:
    """Return a set with the named fields on the way to its members as members.

    The keys of maps and the items of lists are not added.
    """
    made: FieldSet = {}
    for key, node in found.items():
        if key == SELF or not node:
            made[key] = node
            continue
        child = _child(key, of)
        below = with_named_fields(node, child or DEDUCED)
        is_named = key[0] == "f" and key[2:] in of.fields
        made[key] = {SELF: LEAF, **below} if is_named else below
    return made


def _child(key: str, of: ValueType) -> ValueType | None:
    if key[0] == "f":
        return of.fields.get(key[2:]) or of.element if of.form == "map" else of
    return of.element
