"""Server-side apply, and the tracking of fields in other writes.

An apply merges a configuration into the live object, removes what only this manager owned and no
longer sets, and fails if it would change fields of others, unless it is forced. Any other write
makes its manager the owner of the fields that it changes.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/*.go,
sigs.k8s.io/structured-merge-diff/merge/update.go;
staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch/smd.go;
staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/lastappliedmanager.go,
lastappliedupdater.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.apimachinery.patching.errors import (
    ApplyConflictError,
    Conflict,
    PatchError,
    unclassified,
)
from podwright.apimachinery.patching.field_sets import (
    FieldSet,
    contains,
    difference,
    intersection,
    paths,
    union,
)
from podwright.apimachinery.patching.managed_fields import (
    EntriesError,
    Manager,
    Managers,
    Owned,
    capped,
    is_reset,
    read_entries,
    with_entries,
    written_entries,
)
from podwright.apimachinery.patching.object_types import (
    Convert,
    ObjectType,
    gvk_text,
    owned,
)
from podwright.apimachinery.patching.typed_values import (
    Difference,
    difference_of,
    field_set,
    joined_errors,
    merged,
    removed_from,
    type_errors,
    with_named_fields,
)
from podwright.apimachinery.patching.value_types import UntypedError, ValueType

_BEFORE_FIRST_APPLY: Final = "before-first-apply"
_UNKNOWN: Final = "unknown"
_KUBECTL: Final = "kubectl"
_UNCONVERTED: Final = "failed to convert new object: "
_UNPRUNED: Final = "failed to prune fields: "
_NOT_LAST: Final = f"{_UNPRUNED}failed to convert merged object to last applied version: "
_NOT_ADDED_BACK: Final = (
    f"{_UNPRUNED}failed add back owned items: failed to convert merged object at version"
)
_SELF: Final = Manager("", "", "", "")
"""The write itself, before its fields are joined with those of its manager."""


def applied(
    of: ObjectType,
    live: Document | None,
    configuration: Document,
    manager: str,
    *,
    force: bool = False,
    now: str,
    subresource: str = "",
    convert: Convert | None = None,
) -> Document:
    """Return an object after server-side apply, with its `managedFields`.

    Parameters
    ----------
    of : ObjectType
        The type of the object.
    live : dict or None
        The stored object; None if the apply creates it.
    configuration : dict
        What the manager sets.
    manager : str
        Its name.
    force : bool
        Whether the manager takes fields from others.
    now : str
        The time of the request in RFC 3339, in seconds.
    subresource : str
    convert : callable, optional
        Converts the object to the version of another entry. Entries of versions to which it does
        not convert are dropped.

    Returns
    -------
    document : dict
        `live` itself if nothing changes. Defaults are not set, and fields that the server sets
        have the values of the configuration if it has them.

    Raises
    ------
    ApplyConflictError
        Other managers own fields with other values.
    PatchError
        The configuration is of another kind, or has fields of a wrong type.
    """
    _check(of, configuration)
    fields, errors = of.applied_fields(configuration)
    metadata = configuration.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    if isinstance(entries, list) and not any(map(_is_of_managed_fields, errors)):
        raise PatchError("metadata.managedFields must be nil")
    if errors:
        text = joined_errors(errors)
        place = _place(of, configuration)
        raise unclassified(f"failed to create typed patch object ({place}): {text}")
    request = _Apply(of, of.tracked(fields, subresource), subresource, convert)
    if live is None:
        return request.created(configuration, manager, now)
    stored = (live.get("metadata") or {}).get("managedFields")
    managers = read_entries(stored)
    if not managers:
        before = of.tracked(
            _existing_fields(of, with_entries(live, None), subresource), subresource
        )
        if before:
            first = Manager(_BEFORE_FIRST_APPLY, "Update", of.api_version, subresource)
            managers = {first: Owned(before, of.api_version, now)}
    applier = Manager(manager, "Apply", "", subresource)
    try:
        found, after = request.applied(live, configuration, managers, applier, force=force)
    except ApplyConflictError as conflicts:
        if manager != _KUBECTL or not _are_of_last_applied(of, live, conflicts):
            raise
        found, after = request.applied(live, configuration, managers, applier, force=True)
    except UntypedError as error:
        raise unclassified(str(error)) from None
    if found is not live and applier in after:
        after[applier] = after[applier]._replace(time=now, entry=None)
    if manager == _KUBECTL:
        found = with_last_applied(found, configuration)
    entries = written_entries(after)
    return live if found is live and entries == stored else with_entries(found, entries)


def _is_of_managed_fields(error: str) -> bool:
    """Return whether a type error is in what upstream cannot read as managed fields."""
    return error.startswith(".metadata.managedFields")


def _check(of: ObjectType, configuration: Document) -> None:
    version, kind = _text(configuration.get("apiVersion")), _text(configuration.get("kind"))
    if version.count("/") > 1:
        version = kind = ""
    if (version, kind) != (of.api_version, of.kind):
        raise PatchError(f"invalid object type: {gvk_text(version, kind)}")


def _place(of: ObjectType, document: Document) -> str:
    metadata = document.get("metadata")
    name = metadata if isinstance(metadata, dict) else {}
    return f"{_text(name.get('namespace'))}/{_text(name.get('name'))}; {of.gvk}"


def _existing_fields(of: ObjectType, live: Document, subresource: str) -> FieldSet:
    """Return the fields of an object without managers.

    Raises
    ------
    PatchError
        It does not have the types of its kind.
    """
    try:
        return of.created_fields(live, subresource)
    except UntypedError:
        text = joined_errors(of.applied_fields(live)[1])
        raise unclassified(
            "failed to create manager for existing fields: failed to convert new object"
            f" ({_place(of, live)}) to smd typed: {text}"
        ) from None


def _text(value: object) -> str:
    """Return a string; anything else is read as an absent one."""
    return value if isinstance(value, str) else ""


def _are_of_last_applied(of: ObjectType, live: Document, conflicts: ApplyConflictError) -> bool:
    """Whether all conflicts are with fields that client-side apply set last.

    Raises
    ------
    ApplyConflictError
        The conflicts that are with others, if the object has that annotation.
    """
    allowed = allowed_conflicts(of, live)
    if allowed is None:
        return False
    rest = [each for each in conflicts.conflicts if each.field not in allowed]
    if rest:
        raise ApplyConflictError(rest)
    return True


class _Apply:
    """One apply of a configuration with known fields."""

    def __init__(
        self, of: ObjectType, configured: FieldSet, subresource: str, convert: Convert | None
    ) -> None:
        self._of = of
        self._configured = configured
        self._fields = owned(configured)
        self._subresource = subresource
        self._convert = convert

    def created(self, configuration: Document, manager: str, now: str) -> Document:
        applier = Manager(manager, "Apply", "", self._subresource)
        entries = written_entries({applier: Owned(self._fields, self._of.api_version, now)})
        return with_entries(configuration, entries if self._fields else None)

    def applied(
        self,
        live: Document,
        configuration: Document,
        managers: Managers,
        applier: Manager,
        *,
        force: bool,
    ) -> tuple[Document, Managers]:
        """Return the object without changes of `managedFields`, and its managers."""
        of = self._of
        for one in managers.values():
            self._converted(live, one.api_version)
        found: Document = merged(live, configuration, of.root)
        last = managers.get(applier)
        after = dict(managers)
        if last is None or last.fields != self._fields or last.api_version != of.api_version:
            time = None if last is None else last.time
            after[applier] = Owned(self._fields, of.api_version, time)
        if last is not None and not self._keeps_all(last, managers):
            pruned = self._pruned(found, after, last)
            # A conversion and its reverse make another object of what stays the same.
            found = live if pruned == live else pruned
        changes = _Changes(of, live, found, self._subresource, self._convert)
        after = _without_changed(after, applier, changes, force=force)
        if not self._fields:
            after.pop(applier, None)
        return found, after

    def _keeps_all(self, last: Owned, managers: Managers) -> bool:
        """Whether the manager gives nothing up, and no version has to be converted."""
        if any(one.api_version != self._of.api_version for one in managers.values()):
            return False
        return last.fields == self._fields or contains(self._fields, last.fields)

    def _pruned(self, found: Document, managers: Managers, last: Owned) -> Document:
        """Return an object without what the manager owned and nobody owns now."""
        source = self._converted(found, last.api_version, problem=_NOT_LAST)
        if source is None:
            return found
        document, of = source
        was_owned = with_named_fields(last.fields, of.root)
        rest = removed_from(document, was_owned, of.root) or {}
        # The name has no manager; with it, the metadata stays.
        by_version = {self._of.api_version: self._configured}
        for one in managers.values():
            by_version[one.api_version] = union(by_version.get(one.api_version, {}), one.fields)
        # The version of the last apply comes first: conversion may need fields that were removed.
        versions = sorted(by_version, key=lambda version: (version != last.api_version, version))
        for version in versions:
            rest = self._with_owned(document, rest, of, version, by_version[version])
        all_fields = with_named_fields(field_set(document, of.root), of.root)
        rest_fields = with_named_fields(field_set(rest, of.root), of.root)
        gone = intersection(difference(all_fields, rest_fields), was_owned)
        if not gone and of is self._of:
            return found
        left: Document = removed_from(document, gone, of.root) or {}
        if of is not self._of:
            converted = self._converted(left, self._of.api_version, source=of)
            left = left if converted is None else converted[0]
        return left

    def _with_owned(
        self, document: Document, rest: Document, of: ObjectType, version: str, fields: FieldSet
    ) -> Document:
        """Return an object again with the removed fields that have owners in a version."""
        if version != of.api_version:
            problem = f"{_NOT_ADDED_BACK} {version}: "
            whole = self._converted(document, version, source=of, problem=problem)
            part = self._converted(rest, version, source=of)
            if whole is None or part is None:
                return rest
            kept = self._with_owned(whole[0], part[0], whole[1], version, fields)
            back = self._converted(kept, of.api_version, source=whole[1])
            return rest if back is None else back[0]
        root = of.root
        all_fields = with_named_fields(field_set(document, root), root)
        rest_fields = with_named_fields(field_set(rest, root), root)
        kept_fields = union(rest_fields, with_named_fields(fields, root))
        return removed_from(document, difference(all_fields, kept_fields), root) or {}

    def _converted(
        self,
        document: Document,
        api_version: str,
        *,
        source: ObjectType | None = None,
        problem: str = "",
    ) -> tuple[Document, ObjectType] | None:
        """Return a document of one version (the request's by default) in another one."""
        return _in_version(self._convert, source or self._of, document, api_version, problem)


def _in_version(
    convert: Convert | None, of: ObjectType, document: Document, api_version: str, problem: str
) -> tuple[Document, ObjectType] | None:
    """Return a document in another version; None if there is no such version.

    Raises
    ------
    UntypedError
        A custom resource has fields that the version does not have. The text begins with `problem`.
    """
    if api_version == of.api_version:
        return document, of
    converted = None if convert is None else convert(document, api_version)
    if converted is not None and converted[1].is_custom:
        errors = converted[1].applied_fields(converted[0])[1]
        if errors:
            raise UntypedError(f"{problem}{joined_errors(errors)}")
    return converted


# ------------------------------------------------------------------------ other writes


def with_managed_fields(
    of: ObjectType,
    old: Document | None,
    new: Document,
    manager: str,
    *,
    now: str,
    subresource: str = "",
    convert: Convert | None = None,
) -> Document:
    """Return an object of a create, update or patch with its `managedFields`.

    Parameters
    ----------
    of : ObjectType
        The type of the object.
    old : dict or None
        The stored object; None if the write creates it.
    new : dict
        The object of the request with its defaults, before admission.
    manager : str
        Who writes; "" is `unknown`.
    now : str
        The time of the request in RFC 3339, in seconds.
    subresource : str
    convert : callable, optional
        Converts the object to the version of another entry. Entries of versions to which it does
        not convert are dropped.

    Notes
    -----
    An object without entries is not tracked until it is applied, unless the write creates it.
    `managedFields` of a request replace those of the object, except on subresources; an empty
    list or a list of one empty entry clears them, and so does a custom resource that has fields
    which the version of an entry does not have.
    """
    given = (new.get("metadata") or {}).get("managedFields")
    stored = None if old is None else (old.get("metadata") or {}).get("managedFields")
    managers = _managers_of(given, stored, is_subresource=bool(subresource))
    if not managers and old is not None:
        return with_entries(new, None)
    updater = Manager(manager or _UNKNOWN, "Update", of.api_version, subresource)
    # Upstream: staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/fieldmanager.go,
    # UpdateNoErrors
    if not managers:
        try:
            fields = of.created_fields(with_entries(new, None), subresource)
        except UntypedError:
            return with_entries(new, None)
        created = {updater: Owned(fields, of.api_version, now)} if fields else {}
        return with_entries(new, written_entries(created))
    before, written = of.empty if old is None else old, new
    if given is not stored:
        # Otherwise the comparison finds one and the same list.
        before, written = with_entries(before, None), with_entries(new, None)
    changes = _Changes(of, before, written, subresource, convert)
    try:
        after = capped(_after_update(managers, updater, changes, now))
    except UntypedError:
        return with_entries(new, None)
    if after == managers and given is stored:
        return new
    entries = written_entries(after)
    return with_entries(new, stored if entries == stored else entries)


def _after_update(managers: Managers, updater: Manager, changes: _Changes, now: str) -> Managers:
    """Return the managers after a write that makes its manager the owner of what it changes."""
    changed, removed = changes.in_version(updater.api_version)
    fields = owned(changed)
    previous = managers.get(updater)
    if previous is not None and not removed and contains(previous.fields, fields):
        # The usual write of a component: its manager owned all that it changes.
        others = {one: each for one, each in managers.items() if one != updater}
        after = _without_changed(others, _SELF, changes, force=True)
        after[updater] = previous._replace(time=now, entry=None) if fields else previous
        return after
    after = _without_changed(managers, _SELF, changes, force=True)
    if fields:
        previous = after.get(updater)
        joined = fields if previous is None else union(fields, previous.fields)
        after[updater] = Owned(joined, updater.api_version, now)
    return after


def _managers_of(given: Any, stored: Any, *, is_subresource: bool) -> Managers:
    if is_subresource or given is stored or given == stored:
        return read_entries(stored)
    if is_reset(given):
        return {}
    try:
        managers = read_entries(given, is_stored=False)
    except EntriesError:
        managers = {}
    return managers or read_entries(stored)


class _Changes:
    """What a write changes, in each version in which managers have fields."""

    def __init__(
        self,
        of: ObjectType,
        old: Document,
        new: Document,
        subresource: str,
        convert: Convert | None,
    ) -> None:
        self._of = of
        self._old, self._new = old, new
        self._subresource = subresource
        self._convert = convert
        self._known: dict[str, Difference | None] = {}

    def in_version(self, api_version: str) -> Difference:
        found = self.find(api_version)
        assert found is not None, api_version
        return found

    def find(self, api_version: str) -> Difference | None:
        """Return the changes in a version; None if there is no such version."""
        if api_version not in self._known:
            self._known[api_version] = self._compared(api_version)
        return self._known[api_version]

    def _compared(self, api_version: str) -> Difference | None:
        of, old, new = self._of, self._old, self._new
        if api_version != of.api_version:
            before = _in_version(self._convert, of, old, api_version, "")
            after = _in_version(self._convert, of, new, api_version, _UNCONVERTED)
            if before is None or after is None:
                return None
            (old, of), (new, _) = before, after
        changed, removed = difference_of(of.completed(old), of.completed(new), of.root)
        return Difference(
            of.tracked(changed, self._subresource), of.tracked(removed, self._subresource)
        )


def _without_changed(
    managers: Managers, writer: Manager, changes: _Changes, *, force: bool
) -> Managers:
    """Return managers without the fields that a writer changes or removes.

    Raises
    ------
    ApplyConflictError
        Others own changed fields, and the write is not forced.
    """
    found: Managers = {}
    conflicts: dict[Manager, FieldSet] = {}
    for manager, one in managers.items():
        if manager == writer:
            found[manager] = one
            continue
        difference_there = changes.find(one.api_version)
        if difference_there is None:
            continue
        changed, removed = difference_there
        lost = intersection(one.fields, changed) if changed else {}
        if lost:
            conflicts[manager] = lost
        fields = difference(difference(one.fields, lost), removed)
        if fields:
            found[manager] = (
                one if fields is one.fields else Owned(fields, one.api_version, one.time)
            )
    if conflicts and not force:
        raise ApplyConflictError(
            [
                Conflict(manager=manager.printed, field=field)
                for manager in sorted(conflicts, key=lambda one: one.order)
                for field in paths(conflicts[manager])
            ]
        )
    return found


# Apply configurations without owners, as admission policies set them.


def configured(of: ObjectType, document: Document, configuration: Document) -> Document:
    """Return a document with what a configuration sets; nothing is removed.

    Parameters
    ----------
    of : ObjectType
    document : dict
        An object of the type.
    configuration : dict
        Fields of the same kind.

    Raises
    ------
    PatchError
        The configuration has other fields, or sets values that can only be replaced as a whole.
    """
    _, errors = of.applied_fields(configuration)
    if errors:
        raise PatchError(
            "failed to convert patch object to typed object: failed to create typed patch object"
            f" (/; {of.gvk}): {joined_errors(errors)}"
        )
    atomic = list(_atomic_paths(configuration, of.root, ""))
    if atomic:
        raise PatchError(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs:"
            f" {', '.join(atomic)}"
        )
    found: Document = merged(document, configuration, of.root)
    return found


def _atomic_paths(value: Any, of: ValueType, path: str) -> Iterator[str]:
    if isinstance(value, dict) and of.form == "map":
        if of.is_atomic:
            yield path
        for name, part in value.items():
            child = of.fields.get(name)
            if child is not None:
                yield from _atomic_paths(part, child, f"{path}.{name}")
    elif isinstance(value, list) and of.form == "list":
        if of.is_atomic:
            yield path
        if of.element is not None:
            for index, part in enumerate(value):
                yield from _atomic_paths(part, of.element, f"{path}[{index}]")


# The move of an object from client-side apply to server-side apply.
#
# `kubectl apply` without `--server-side` keeps the configuration in an annotation. When kubectl
# applies the same object at the server, fields of that configuration are not conflicts, and the
# annotation is kept up to date.

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation with the configuration of client-side apply."""
_MOST_ANNOTATION_BYTES: Final = 256 * 1024


def allowed_conflicts(of: ObjectType, live: Document) -> frozenset[str] | None:
    """Return the fields that client-side apply set and that have these values still.

    None if the object was not applied by the client, or in another version.
    """
    text = _annotations(live).get(LAST_APPLIED)
    if not text:
        return None
    try:
        last = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    if not isinstance(last, dict) or last.get("apiVersion") != of.api_version:
        return None
    if type_errors(last, of.root):
        return None
    changed, removed = difference_of(last, live, of.root)
    fields = difference(difference(field_set(last, of.root), changed), removed)
    return frozenset(paths(fields))


def with_last_applied(document: Document, configuration: Document) -> Document:
    """Return an object with the configuration in its annotation, if it has that annotation."""
    annotations = _annotations(document)
    if not annotations.get(LAST_APPLIED):
        return document
    metadata = configuration.get("metadata") or {}
    own = metadata.get("annotations")
    if isinstance(own, dict):
        kept = {key: one for key, one in own.items() if key != LAST_APPLIED}
        configuration = {**configuration, "metadata": {**metadata, "annotations": kept}}
    text = msgspec.json.encode(configuration, order="sorted").decode() + "\n"
    changed = {**annotations, LAST_APPLIED: text}
    size = sum(len(key.encode()) + len(one.encode()) for key, one in changed.items())
    if size > _MOST_ANNOTATION_BYTES:
        del changed[LAST_APPLIED]
    if changed == annotations:
        return document
    return {**document, "metadata": {**document["metadata"], "annotations": changed}}


def _annotations(document: Document) -> dict[str, Any]:
    return (document.get("metadata") or {}).get("annotations") or {}
