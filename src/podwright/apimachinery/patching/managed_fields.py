"""`metadata.managedFields`: who set which fields of an object.

An entry is identified by its manager, operation and subresource, and by its version unless it is
an apply. Entries are read into `Managers`, changed as a copy, and written in upstream's order.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/managedfields.go,
capmanagers.go; staging/src/k8s.io/apimachinery/pkg/util/managedfields/scalehandler.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from podwright.apimachinery.objects import Document, timestamp_ns
from podwright.apimachinery.patching.field_sets import (
    LEAF,
    ElementError,
    FieldSet,
    canonical,
    difference,
    is_member,
    union,
)

MOST_UPDATERS: Final = 10
"""The most entries of updates; the oldest are joined beyond it."""
_ANCIENT: Final = "ancient-changes"
_NANOSECONDS: Final = 1_000_000_000


class Manager(NamedTuple):
    """What identifies an entry.

    Attributes
    ----------
    name : str
    operation : str
        `Apply` or `Update`.
    api_version : str
        "" for an apply.
    subresource : str
    """

    name: str
    operation: str
    api_version: str
    subresource: str

    @property
    def printed(self) -> str:
        """The manager as messages name it."""
        text = quoted(self.name)
        if self.subresource:
            text = f"{text} with subresource {quoted(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == "Update" else text

    @property
    def order(self) -> str:
        """The text by which managers are sorted."""
        version = f',"apiVersion":"{self.api_version}"' if self.api_version else ""
        last = f',"subresource":"{self.subresource}"' if self.subresource else ""
        return f'{{"manager":"{self.name}","operation":"{self.operation}"{version}{last}}}'


class Owned(NamedTuple):
    """What a manager owns.

    Attributes
    ----------
    fields : dict
    api_version : str
        The version of the fields.
    time : str or None
        When the entry changed last, in RFC 3339.
    entry : dict or None
        The entry as it was read, if it has not changed.
    """

    fields: FieldSet
    api_version: str
    time: str | None
    entry: Document | None = None


Managers: TypeAlias = dict[Manager, Owned]


class EntriesError(ValueError):
    """Entries that do not follow the format."""


def quoted(text: str) -> str:
    """Return a string in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def read_entries(entries: Any, *, is_stored: bool = True) -> Managers:
    """Return the managers of an object.

    Parameters
    ----------
    entries : list of dict
        The value of `metadata.managedFields`.
    is_stored : bool
        Whether the server wrote them; others are checked and brought into its form.

    Raises
    ------
    EntriesError
        Entries that the server did not write have a wrong form.
    """
    managers: Managers = {}
    for index, given in enumerate(entries or ()):
        entry = given if is_stored else _checked(given, index)
        operation, api_version = entry["operation"], entry["apiVersion"]
        manager = Manager(
            entry.get("manager") or "",
            operation,
            "" if operation == "Apply" else api_version,
            entry.get("subresource") or "",
        )
        fields = entry.get("fieldsV1") or {}
        managers[manager] = Owned(fields, api_version, entry.get("time"), entry)
    return managers


def _checked(entry: Any, index: int) -> Document:
    if not isinstance(entry, dict):
        raise EntriesError("must be an object")
    if entry.get("operation") not in ("Apply", "Update"):
        raise EntriesError("operation must be `Apply` or `Update`")
    if not entry.get("apiVersion"):
        raise EntriesError("apiVersion must not be empty")
    fields_type = entry.get("fieldsType")
    if not fields_type:
        raise EntriesError(f"missing fieldsType in managed fields entry {index}")
    if fields_type != "FieldsV1":
        raise EntriesError(
            f"invalid fieldsType {quoted(str(fields_type))} in managed fields entry {index}"
        )
    try:
        fields = canonical(entry.get("fieldsV1") or {})
    except ElementError as error:
        raise EntriesError(f"error decoding set: {error}") from None
    return {**entry, "fieldsV1": fields}


def written_entries(managers: Managers) -> list[Document]:
    """Return the entries of managers: applies first, then by time, name and version."""
    return [
        owned.entry or _entry(manager, owned)
        for manager, owned in sorted(managers.items(), key=_order)
    ]


def _order(item: tuple[Manager, Owned]) -> tuple[str, int, str, str, str]:
    manager, owned = item
    return (
        manager.operation,
        seconds(owned.time),
        manager.name,
        owned.api_version,
        manager.subresource,
    )


def _entry(manager: Manager, owned: Owned) -> Document:
    entry: Document = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": owned.api_version,
    }
    if owned.time is not None:
        entry["time"] = owned.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = owned.fields
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def seconds(time: str | None) -> int:
    """Return a time in seconds since 1970; 0 for none."""
    found = None if time is None else timestamp_ns(time)
    return 0 if found is None else found // _NANOSECONDS


def is_reset(entries: Any) -> bool:
    """Whether a request clears the entries: an empty list, or a list of one empty entry."""
    return isinstance(entries, list) and (not entries or (len(entries) == 1 and not entries[0]))


def with_entries(document: Document, entries: list[Document] | None) -> Document:
    """Return an object with other `managedFields`; None or [] for none."""
    metadata = document.get("metadata") or {}
    if entries:
        if metadata.get("managedFields") is entries:
            return document
    elif "managedFields" not in metadata:
        return document
    kept = {key: one for key, one in metadata.items() if key != "managedFields"}
    if entries:
        kept["managedFields"] = entries
    return {**document, "metadata": kept}


def with_update_as_apply(document: Document, manager: str) -> Document:
    """Return an object with the fields that a manager has updated as applied by it.

    For a writer that applies the same fields each time, such as a controller.
    """
    managers = read_entries((document.get("metadata") or {}).get("managedFields"))
    for one in [one for one in managers if one.name == manager and one.operation == "Update"]:
        updated = managers.pop(one)
        applier = Manager(manager, "Apply", "", one.subresource)
        before = managers.get(applier)
        fields = updated.fields if before is None else union(before.fields, updated.fields)
        managers[applier] = Owned(fields, updated.api_version, updated.time)
    return with_entries(document, written_entries(managers))


def capped(managers: Managers) -> Managers:
    """Return managers with at most `MOST_UPDATERS` updates; the oldest are joined by version."""
    updaters = [manager for manager in managers if manager.operation == "Update"]
    excess = len(updaters) - MOST_UPDATERS
    if excess <= 0:
        return managers
    updaters.sort(key=lambda one: (seconds(managers[one].time), one.order))
    found = dict(managers)
    first_of: dict[str, Manager] = {}
    for manager in updaters:
        if excess <= 0:
            break
        oldest = found[manager]
        version = oldest.api_version
        bucket = Manager(_ANCIENT, "Update", version, "")
        first = first_of.setdefault(version, manager)
        if first is manager:
            continue
        if bucket not in found:
            found[bucket] = found.pop(first)
        fields = union(found[bucket].fields, oldest.fields)
        del found[manager]
        found[bucket] = Owned(fields, version, oldest.time)
        excess -= 1
    return found


def with_unchanged_times(old: Document, new: Document) -> Document:
    """Return the new object with the times of the old one if nothing but these differs.

    Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager/equality.go
    """
    before = (old.get("metadata") or {}).get("managedFields") or []
    after = (new.get("metadata") or {}).get("managedFields")
    if not after or len(before) != len(after) or before == after:
        return new
    if any(
        _without_time(one) != _without_time(two) for one, two in zip(before, after, strict=True)
    ):
        return new
    restored = with_entries(new, before)
    return old if restored == old else new


def _without_time(entry: Document) -> Document:
    return {key: value for key, value in entry.items() if key != "time"}


# The managers of `spec.replicas`, as the subresource `scale` has them.
#
# A Scale is a separate object, with entries only of those who set the replicas of the object.
# After a write of the Scale, its entries become entries of the object again.

SCALE_API_VERSION: Final = "autoscaling/v1"
_REPLICAS: Final[FieldSet] = {"f:spec": {"f:replicas": LEAF}}


def scale_entries(entries: Any, paths: Mapping[str, tuple[str, ...]]) -> list[Document]:
    """Return the entries of a Scale.

    Parameters
    ----------
    entries : list of dict
        `managedFields` of the object.
    paths : mapping
        By `apiVersion` of the object, the field names on the path of its replicas.
    """
    found: Managers = {}
    for manager, one in read_entries(entries).items():
        path = paths.get(one.api_version)
        if path and _has(one.fields, path):
            found[_of_scale(manager)] = Owned(_REPLICAS, SCALE_API_VERSION, one.time)
    return written_entries(found)


def object_entries(
    entries: Any,
    scale: Any,
    api_version: str,
    paths: Mapping[str, tuple[str, ...]],
) -> list[Document]:
    """Return the entries of an object after a write of its Scale.

    Parameters
    ----------
    entries : list of dict
        `managedFields` of the object before the write.
    scale : list of dict
        `managedFields` of the Scale after it.
    api_version : str
        The version of the object.
    paths : mapping
        As for `scale_entries`.
    """
    parents, of_scale = read_entries(entries), read_entries(scale)
    found: Managers = {}
    for manager, one in parents.items():
        path = paths.get(one.api_version)
        if path is None:
            continue
        if not path or not _has(one.fields, path):
            found[manager] = one
        elif manager in of_scale:
            # Only one that applies: the others of the Scale have its version in their key.
            found[manager] = one
            del of_scale[manager]
        else:
            fields = difference(one.fields, _path_set(path))
            if fields:
                found[manager] = Owned(fields, one.api_version, one.time)
    for manager, one in of_scale.items():
        if not _has(one.fields, ("spec", "replicas")):
            continue
        time = parents[manager].time if manager in parents else None
        found[manager] = Owned(_path_set(paths[api_version]), api_version, time)
    return written_entries(found)


def _of_scale(manager: Manager) -> Manager:
    return manager if not manager.api_version else manager._replace(api_version=SCALE_API_VERSION)


def _path_set(path: tuple[str, ...]) -> FieldSet:
    found: FieldSet = LEAF
    for name in reversed(path):
        found = {f"f:{name}": found}
    return found


def _has(fields: FieldSet, path: tuple[str, ...]) -> bool:
    node: Any = fields
    for name in path:
        node = node.get(f"f:{name}")
        if node is None:
            return False
    return is_member(node)
