"""Edited copies of objects of any kind, typed or not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from podwright.apimachinery import patching
from podwright.apimachinery.objects import Document, KubernetesObject, Unknown, encode
from podwright.apimachinery.schema import UNKNOWN_FIELD, Problem, built_in, decode
from podwright.cluster.api.rejections import Invalid
from podwright.cluster.api.versions.resources import ObjectKind
from podwright.cluster.store import kind_of

T = TypeVar("T", bound=KubernetesObject)


def section(obj: KubernetesObject, name: str) -> Document:
    """Return the `metadata`, `spec` or `status` of an object as a document, or an empty one.

    Custom resources may have other values there, which nothing reads.
    """
    found = encode(obj).get(name)
    return found if isinstance(found, dict) else {}


def patched(obj: T, **sections: Mapping[str, Any]) -> T:
    """Return a copy with some fields of sections replaced; None removes a field.

    Examples
    --------
    >>> from podwright.testing import make_pod
    >>> patched(make_pod("web"), status={"phase": "Failed"}).status.phase
    'Failed'
    """
    document = dict(encode(obj))
    for name, fields in sections.items():
        merged = {**(document.get(name) or {}), **fields}
        document[name] = {key: value for key, value in merged.items() if value is not None}
    if type(obj) is Unknown and "metadata" not in sections:
        # An untyped object has no parsed fields but its metadata.
        return msgspec.structs.replace(obj, raw=document)
    return edited(obj, document)


def edited(obj: T, document: Document, before: Document | None = None) -> T:
    """Return an object with another document; the object itself if that is the one `before`."""
    if document is before:
        return obj
    return cast(T, decode(document, source=f"{obj.kind} {obj.key}"))


def with_fields_of_others(obj: T, current: KubernetesObject) -> T:
    """Return an object with the fields of the current one that others set and it does not.

    With server-side apply the other clients own these fields, and applying an object without them
    does not remove them.
    """
    kind = built_in().of(*kind_of(current))
    document, stored = encode(obj), encode(current)
    kept: Any = document
    for path in () if kind is None else kind.row.set_by_others:
        kept = _with_kept(kept, stored, _steps_of(path))
    return edited(obj, kept, document)


@cache
def _steps_of(path: str) -> tuple[str, ...]:
    return tuple(key or name for key, name in re.findall(r"\[([^]]+)\]|([^.[]+)", path))


def _with_kept(value: Any, stored: Any, path: Sequence[str]) -> Any:
    """Return a value with what the stored one has at a path; the same value if it has its own."""
    name, *rest = path
    if isinstance(stored, list):
        items = value or []
        if name != "*":
            return [*items, name] if name in stored and name not in items else value
        by_name = {each.get("name"): each for each in stored}
        made = [_with_kept(each, by_name.get(each.get("name")) or {}, rest) for each in items]
        is_same = all(new is old for new, old in zip(made, items, strict=True))
        return value if is_same else made
    if name not in stored:
        return value
    own = (value or {}).get(name)
    if rest:
        kept = _with_kept(own, stored[name], rest)
    else:
        # Defaults make an empty map of one that is absent.
        kept = stored[name] if own in (None, {}) else own
    return value if kept is own else {**(value or {}), name: kept}


def with_defaults(obj: T) -> T:
    """Return an object with upstream's defaults; a custom object has none.

    Raises
    ------
    Invalid
        Values have a wrong type, so that defaults cannot be set.
    """
    kind = built_in().find(obj.api_version, obj.kind)
    if kind is None:
        return obj
    document = encode(obj)
    return edited(obj, completed(kind, obj, document), document)


def completed(kind: ObjectKind, obj: KubernetesObject, document: Document) -> Document:
    """Return the document of an object with upstream's defaults.

    Raises
    ------
    Invalid
        Values have a wrong type, so that defaults cannot be set.
    """
    if problems := wrong_types(kind, document):
        raise Invalid(obj, problems)
    return kind.with_defaults(document)


def wrong_types(kind: ObjectKind, document: Document) -> list[Problem]:
    """Return the values of a wrong type; unknown fields are reported when files are read."""
    found = kind.decoding_problems(document)
    return [each for each in found if not each[1].startswith(UNKNOWN_FIELD)]


def merge_patched(obj: T, patch: Document) -> T:
    """Return an object after a JSON merge patch (RFC 7386) of its document.

    Notes
    -----
    The patch type is `application/merge-patch+json`.
    """
    return edited(obj, patching.merge_patched(encode(obj), patch))


def annotations_patch(obj: KubernetesObject, **changes: str | None) -> Document:
    """Return a patch of `metadata` that changes annotations; None removes one."""
    merged = {**(section(obj, "metadata").get("annotations") or {}), **changes}
    kept = {key: value for key, value in merged.items() if value is not None}
    return {"annotations": kept or None}


def finalizers_without(obj: KubernetesObject, finalizer: str) -> Document:
    """Return a patch of `metadata` that removes a finalizer."""
    kept = [each for each in obj.metadata.finalizers if each != finalizer]
    return {"finalizers": kept or None}


def conditions_with(conditions: Iterable[Document], condition: Document) -> list[Document]:
    """Return conditions with one set; its transition time is kept if its status is the same."""
    written = list(conditions)
    for index, present in enumerate(written):
        if present.get("type") == condition["type"]:
            if present.get("status") == condition["status"]:
                condition = condition | {"lastTransitionTime": present.get("lastTransitionTime")}
            written[index] = condition
            return written
    return [*written, condition]
