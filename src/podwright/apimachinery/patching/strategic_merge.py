"""Strategic merge patches: merge patches that know which lists have keys.

Directives of a patch: `$patch: replace` and `$patch: delete` in an object or in an item of a
merged list, `$deleteFromPrimitiveList/<list>`, `$setElementOrder/<list>` and `$retainKeys`.

A merged list has the items of the patch in the order of `$setElementOrder` or of the patch. Other
items keep their order, and stand before those items of the patch that they preceded in the stored
list. New items stand first.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/strategicpatch/patch.go;
staging/src/k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, CreateTwoWayMergePatch. Here the
patch sets no order of lists, so that a person can read it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Final, NamedTuple

from podwright.apimachinery.objects import Document, without_nulls
from podwright.apimachinery.patching.errors import (
    GO_TYPE,
    PatchError,
    printed,
    rejected,
    unclassified,
    wrong_json,
)
from podwright.apimachinery.schema import Field, Kind, StructType, TypeRef, built_in

_DIRECTIVE: Final = "$patch"
_RETAIN_KEYS: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_ORDER: Final = "$setElementOrder"
_ABSENT: Any = object()


def strategic_merged(kind: Kind, document: Document, patch: Any) -> Document:
    """Return a document after a strategic merge patch; it shares what did not change.

    Parameters
    ----------
    kind : Kind
        The kind of the document; custom resources have no strategic merge patches.
    document : dict
    patch : dict
        The patch as decoded from JSON.

    Raises
    ------
    PatchError
        The patch is not an object, or its directives are wrong.
    """
    if patch is None:
        return document
    if not isinstance(patch, dict):
        raise PatchError(wrong_json(patch, "value of type map[string]interface {}"))
    return _merged_map(document, patch, TypeRef("", kind.row.type))


class ListField(NamedTuple):
    """How a list is merged, if it is."""

    element: TypeRef
    key: str = ""
    is_merged: bool = False


# --------------------------------------------------------------------------------- maps


def _merged_map(original: Document, patch: Document, of: TypeRef) -> Document:
    if _DIRECTIVE in patch:
        return _replaced_map(patch)
    found = _retained(original, patch)
    done: set[str] = set()
    for key in patch:
        if key.startswith(_ORDER):
            found = _with_ordered_list(found, patch, key, of, done)
    for key, value in patch.items():
        if key == _RETAIN_KEYS or key in done or key.startswith(_ORDER):
            continue
        if key.startswith(_DELETE_FROM):
            name = _list_of(key, _DELETE_FROM, "invalid patch format of primitive list")
            left = _ABSENT if value is None else _without_items(found, name, value, of)
            found = _with(found, name, left)
        elif value is None:
            found = _with(found, key, _ABSENT)
        else:
            found = _with(found, key, _merged_value(found.get(key, _ABSENT), value, of, key))
    return found


def _replaced_map(patch: Document) -> Document:
    directive = patch[_DIRECTIVE]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    raise _unknown_directive(directive, patch)


def _unknown_directive(directive: Any, patch: Document) -> PatchError:
    return unclassified(f"unknown patch type: {_as_string(directive)} in map: {printed(patch)}")


def _as_string(value: Any) -> str:
    """Return a value as `fmt.Sprintf("%s", value)` prints it."""
    match value:
        case None:
            return "%!s(<nil>)"
        case bool() | int() | float():
            return f"%!s({GO_TYPE[type(value)]}={printed(value)})"
        case _:
            return printed(value)


def applied_rest(kind: Kind, document: Document, patch: Any) -> Any:
    """Return what upstream leaves of a patch when it applies it to a document.

    It removes directives that it has followed, lists that it has ordered, and nulls that delete
    nothing; messages about the patched object show the rest.
    """
    return _rest_of_map(document, patch, TypeRef("", kind.row.type))


def _rest_of_map(original: Document, patch: Any, of: TypeRef) -> Any:
    if not isinstance(patch, dict):
        return patch
    if _DIRECTIVE in patch:
        return _replaced_map(patch) if patch[_DIRECTIVE] == "replace" else patch
    done = {key.partition("/")[2] for key in patch if key.startswith(_ORDER)} | {_RETAIN_KEYS}
    return {
        key: _rest_of_value(original.get(key, _ABSENT), value, of, key)
        for key, value in patch.items()
        if key not in done and not key.startswith(_ORDER)
    }


def _rest_of_value(present: Any, value: Any, of: TypeRef, name: str) -> Any:
    if value is None:
        return value
    if not _are_alike(present, value):
        return _without_inner_directives(without_nulls(value))
    if isinstance(value, dict):
        if _is_replaced(of, name):
            return value
        return _rest_of_map(present, value, field_type(of, name))
    if isinstance(value, list) and (field := list_field(of, name)).key:
        items = {_key_of(item, field.key): item for item in present}
        return [_rest_of_map(items.get(_key_of(item, field.key), {}), item, field.element)
                if _key_of(item, field.key) in items else item for item in value]  # fmt: skip
    return value


def _without_inner_directives(value: Any) -> Any:
    """Return a value whose directives were removed in place, which keeps those of the outermost."""
    if isinstance(value, list):
        return [_without_inner_directives(item) for item in value]
    return value if isinstance(value, dict) and _DIRECTIVE in value else _plain(value)


def _with(document: Document, key: str, value: Any) -> Document:
    """Return a document with another value; it is the document itself if nothing changes."""
    if document.get(key, _ABSENT) is value:
        return document
    if value is _ABSENT:
        return {name: one for name, one in document.items() if name != key}
    return {**document, key: value}


def _merged_value(present: Any, value: Any, of: TypeRef, name: str) -> Any:
    if not _are_alike(present, value):
        # The field is not set, or has a value of another form.
        return _plain(without_nulls(value))
    if isinstance(value, dict):
        if _is_replaced(of, name):
            return value
        return _merged_map(present, value, field_type(of, name))
    if isinstance(value, list):
        field = list_field(of, name)
        return _merged_list(present, value, field) if field.is_merged else value
    return present if present == value else value


def _are_alike(present: Any, value: Any) -> bool:
    # A free part that knows its text is a map as well.
    return type(present) is type(value) or (isinstance(present, dict) and isinstance(value, dict))


def _retained(original: Document, patch: Document) -> Document:
    """Return an object with the fields that `$retainKeys` lists, if the patch has it."""
    keys = patch.get(_RETAIN_KEYS, _ABSENT)
    if keys is _ABSENT:
        return original
    wrong = PatchError("invalid patch format of retainKeys")
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise wrong
    for name, value in patch.items():
        is_directive = name == _RETAIN_KEYS or name.startswith((_DELETE_FROM, _ORDER))
        if value is not None and not is_directive and name not in keys:
            raise wrong
    if all(name in keys for name in original):
        return original
    return {name: value for name, value in original.items() if name in keys}


def _plain(value: Any) -> Any:
    """Return a value of a patch without directives; absent if it is one."""
    if isinstance(value, dict):
        if _DIRECTIVE in value:
            return _ABSENT
        kept = ((name, _plain(one)) for name, one in value.items())
        return {name: one for name, one in kept if one is not _ABSENT}
    if isinstance(value, list):
        return [one for one in map(_plain, value) if one is not _ABSENT]
    return value


# -------------------------------------------------------------------------------- lists


def _without_items(document: Document, name: str, items: Any, of: TypeRef) -> Any:
    """Return a list of scalars without those that `$deleteFromPrimitiveList` names."""
    present = document.get(name, _ABSENT)
    if not isinstance(present, list) or not isinstance(items, list):
        return present
    field = list_field(of, name)
    if not field.is_merged:
        return items
    if _is_of_maps(present, items):
        return _merged_list(present, items, field)
    gone = {_identity(item) for item in items}
    left = [item for item in present if _identity(item) not in gone]
    return left if len(left) < len(present) else present


def _merged_list(original: list[Any], patch: list[Any], field: ListField) -> list[Any]:
    if not original and not patch:
        return original
    if not _is_of_maps(original, patch):
        merged = list({_identity(item): item for item in (*original, *patch)}.values())
        return _ordered(merged, patch, original, "")
    key = field.key
    if not key:
        raise unclassified("cannot merge lists without merge key for type struct")
    original, patch = _without_special_items(original, patch, key)
    merged = _merged_items(original, patch, key, field.element)
    return _ordered(merged, patch, original, key)


def _without_special_items(
    original: list[Any], patch: list[Any], key: str
) -> tuple[list[Any], list[Any]]:
    """Do what items with `$patch` say; return the list, and the patch without these items."""
    plain: list[Any] = []
    gone: set[Hashable] = set()
    is_replaced = False
    for item in patch:
        directive = item.get(_DIRECTIVE, _ABSENT)
        if directive is _ABSENT:
            plain.append(item)
        elif directive == "delete":
            if key not in item:
                raise _no_key(item, key)
            gone.add(_identity(item[key]))
        elif directive == "replace":
            is_replaced = True
        elif directive == "merge":
            raise unclassified("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(directive, item)
    if gone:
        original = [one for one in original if _key_of(one, key) not in gone]
    return (plain, []) if is_replaced else (original, plain)


def _merged_items(original: list[Any], patch: list[Any], key: str, element: TypeRef) -> list[Any]:
    merged = list(original)
    places: dict[Hashable, int] = {}
    for index, item in enumerate(merged):
        places.setdefault(_key_of(item, key), index)
    for item in patch:
        if key not in item:
            raise _no_key(item, key)
        identity = _identity(item[key])
        place = places.setdefault(identity, len(merged))
        if place == len(merged):
            merged.append(item)
        else:
            merged[place] = _merged_map(merged[place], item, element)
    return merged


def _with_ordered_list(
    document: Document, patch: Document, directive: str, of: TypeRef, done: set[str]
) -> Document:
    """Return an object with a list in the order of `$setElementOrder`."""
    order = patch[directive]
    if not isinstance(order, list):
        raise _wrong_type("[]interface {}", order)
    message = "invalid patch format of setElementOrder list"
    name = _list_of(directive, _ORDER, message)
    present, changes = document.get(name, _ABSENT), patch.get(name, _ABSENT)
    for value in (present, changes):
        if value is not _ABSENT and not isinstance(value, list):
            raise _wrong_type("[]interface {}", value)
    field = list_field(of, name)
    if changes is not _ABSENT:
        done.add(name)
        _check_order(changes, order, field.key)
    if present is _ABSENT and changes is _ABSENT:
        return document
    if present is _ABSENT:
        plain = [_plain(item) for item in changes]
        merged, present = [item for item in plain if item is not _ABSENT], []
    elif changes is _ABSENT:
        merged, changes = present, []
    else:
        merged = _merged_list(present, changes, field) if field.is_merged else changes
    if not present and not changes:
        raise unclassified("no elements in any of the given slices")
    _is_of_maps(present, changes)
    return _with(document, name, _ordered(merged, order, present, field.key))


def _check_order(changes: list[Any], order: list[Any], key: str) -> None:
    """Check that the items of a patch are in its `$setElementOrder`, in the same order."""
    if not order:
        return
    if key:
        for item in changes:
            if not isinstance(item, dict):
                raise _wrong_type("map[string]interface {}", item)
    rest = iter(order)
    for item in changes:
        if isinstance(item, dict) and _DIRECTIVE in item:
            continue
        identity = _checked_key(item, key)
        if not any(_checked_key(one, key) == identity for one in rest):
            raise unclassified(
                f"The order in patch list:\n{printed(changes)}\n doesn't match {_ORDER} list:\n"
                f"{printed(order)}\n"
            )


def _checked_key(item: Any, key: str) -> Hashable:
    if not key:
        return _identity(item)
    if not isinstance(item, dict):
        raise _wrong_type("map[string]interface {}", item)
    if key not in item:
        raise _no_key(item, key)
    return _identity(item[key])


def _ordered(
    merged: list[Any], patch_order: list[Any], live_order: list[Any], key: str
) -> list[Any]:
    """Return the items of a merged list in their order.

    Parameters
    ----------
    merged : list
        The items.
    patch_order : list
        Items, or objects with their keys, in the order of the patch.
    live_order : list
        The stored items.
    key : str
        The merge key; "" for scalars.
    """
    patch_places = _places(patch_order, key)
    stored = _places(live_order, key)
    identities = [(item, _checked_key(item, key)) for item in merged]
    of_patch = sorted(
        (one for one in identities if one[1] in patch_places), key=lambda one: patch_places[one[1]]
    )
    others = sorted(
        (one for one in identities if one[1] not in patch_places),
        key=lambda one: stored.get(one[1], len(stored)),
    )
    found: list[Any] = []
    index = 0
    for item, identity in others:
        place = stored.get(identity)
        while index < len(of_patch):
            against = stored.get(of_patch[index][1])
            if place is not None and against is not None and place < against:
                break
            found.append(of_patch[index][0])
            index += 1
        found.append(item)
    found += [item for item, _ in of_patch[index:]]
    return found


def _places(items: Iterable[Any], key: str) -> dict[Hashable, int]:
    places: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        places.setdefault(_checked_key(item, key), index)
    return places


def _is_of_maps(*lists: list[Any]) -> bool:
    """Whether the items are objects; all must have one type."""
    types = {type(item) for items in lists for item in items}
    if types and isinstance(next(item for items in lists for item in items), list):
        raise rejected()
    if len(types) > 1 or type(None) in types:
        raise unclassified(f"list element types are not identical: {printed(list(lists))}")
    return dict in types


def _key_of(item: Any, key: str) -> Hashable:
    """Return what identifies an item; an item without the key is like no other."""
    return _identity(item[key]) if key in item else (_ABSENT, id(item))


def _identity(value: Any) -> Hashable:
    """Return a value of JSON such that only equal values of one type are equal."""
    if isinstance(value, dict | list):
        raise unclassified(f"must be a value without parts, got {printed(value)}")
    return type(value), value


def _no_key(item: Document, key: str) -> PatchError:
    return unclassified(f"map: {printed(item)} does not contain declared merge key: {key}")


def _wrong_type(expected: str, actual: Any) -> PatchError:
    return unclassified(f"expected a {expected}, but received a {GO_TYPE[type(actual)]}")


def _list_of(directive: str, prefix: str, message: str) -> str:
    """Return the list that a directive names: `finalizers` of `$setElementOrder/finalizers`."""
    found, slash, name = directive.partition("/")
    if found != prefix or not slash:
        raise PatchError(message)
    return name


# -------------------------------------------------------------------------------- types


def _field(of: TypeRef, name: str) -> Field:
    if of.name == "object":
        found, title = None, "RawExtension"
    else:
        struct = _struct(of)
        found, title = struct.fields.get(name), struct.name.rpartition(".")[2]
    if found is None:
        raise unclassified(
            f'unable to find api field in struct {title} for the json field "{name}"'
        )
    return found


def _is_replaced(of: TypeRef, name: str) -> bool:
    return (
        of.is_struct and (field := _struct(of).fields.get(name)) is not None and field.is_replaced
    )


def _struct(of: TypeRef) -> StructType:
    if not of.is_struct:
        raise unclassified("merging an object in json but data type is not struct")
    return built_in().type(of.name)


def field_type(of: TypeRef, name: str) -> TypeRef:
    """Return the type of a field of a struct, or of the values of a map."""
    if of.container == "map":
        assert of.element is not None
        return of.element
    if not of.is_struct and of.name != "object":
        return of  # an opaque map
    return _field(of, name).type


def list_field(of: TypeRef, name: str) -> ListField:
    """Return how a list of a struct is merged."""
    if not of.is_struct:
        return ListField(of)
    field = _field(of, name)
    element = field.type.element if field.type.container == "list" else None
    return ListField(element or field.type, field.merge_key, field.is_merged)


# The strategic merge patch between two documents: what `kubectl edit` sends.


def strategic_difference(kind: Kind, before: Document, after: Document) -> Document | None:
    """Return a strategic merge patch that makes one document of another.

    Parameters
    ----------
    before, after : dict
        Without nulls as values.

    Returns
    -------
    dict, optional
        None if no such patch does it, for example because the order of a merged list differs, or
        several of its items have one key.
    """
    patch = _of_maps(before, after, TypeRef("", kind.row.type))
    return patch if strategic_merged(kind, before, patch) == after else None


def _of_maps(before: Document, after: Document, of: TypeRef) -> Document:
    patch: Document = {name: None for name in before if name not in after}
    for name, value in after.items():
        present = before.get(name)
        if value == present:
            continue
        if isinstance(value, dict) and isinstance(present, dict):
            patch[name] = _of_maps(present, value, field_type(of, name))
        elif isinstance(value, list) and isinstance(present, list):
            field = list_field(of, name)
            is_keyed = field.is_merged and field.key
            patch[name] = _of_lists(present, value, field.key, field.element) if is_keyed else value
        else:
            patch[name] = value
    return patch


def _of_lists(before: list[Any], after: list[Any], key: str, of: TypeRef) -> list[Any]:
    present = {each.get(key): each for each in before}
    kept = {each.get(key) for each in after}
    patch: list[Any] = [{"$patch": "delete", key: name} for name in present if name not in kept]
    for each in after:
        name = each.get(key)
        old = present.get(name)
        if old is None:
            patch.append(each)
        elif old != each:
            patch.append({key: name, **_of_maps(old, each, of)})
    return patch
