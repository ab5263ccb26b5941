"""VolumeRestrictions: disks that only one pod may write.

Upstream: pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go.
"""

from __future__ import annotations

from typing import Any

from tests.oracle.cluster import Node, key_of, namespace_of
from tests.oracle.plugin import (
    SKIP_FILTER,
    Document,
    Plugin,
    PreFilter,
    Rejection,
    unresolvable,
    unschedulable,
)
from tests.oracle.volumes import claims_of, get_claim

_INLINE = ("gcePersistentDisk", "awsElasticBlockStore", "rbd", "iscsi")


def _conflicts(one: Document, other: Document) -> bool:
    """Whether two volumes are the same disk and one of them is writable (isVolumeConflict)."""

    def both(kind: str) -> tuple[Document, Document] | None:
        return (one[kind], other[kind]) if one.get(kind) and other.get(kind) else None

    def one_writes(pair: tuple[Document, Document]) -> bool:
        return not (pair[0].get("readOnly") and pair[1].get("readOnly"))

    if (pair := both("gcePersistentDisk")) and pair[0]["pdName"] == pair[1]["pdName"]:
        return one_writes(pair)
    if pair := both("awsElasticBlockStore"):
        return bool(pair[0]["volumeID"] == pair[1]["volumeID"])
    if (pair := both("iscsi")) and pair[0]["iqn"] == pair[1]["iqn"]:
        return one_writes(pair)
    if pair := both("rbd"):
        same_image = all(pair[0].get(f, "") == pair[1].get(f, "") for f in ("pool", "image"))
        shares_monitor = bool(set(pair[0]["monitors"]) & set(pair[1]["monitors"]))
        return same_image and shares_monitor and one_writes(pair)
    return False


class Conflicts:
    """The PreFilter state: claims that only one pod may use, and their numbers of users."""

    def __init__(self, exclusive: set[str], users: int) -> None:
        self.exclusive = exclusive
        self.users = users

    def copy(self) -> Conflicts:
        """Return an independent copy."""
        return Conflicts(self.exclusive, self.users)


class VolumeRestrictions(Plugin):
    """Reject nodes with a conflicting disk, and all nodes if an exclusive claim is in use."""

    name = "VolumeRestrictions"

    def pre_filter(self, pod: Document) -> PreFilter:
        """Find ReadWriteOncePod claims that are in use."""
        exclusive = set()
        for claim in claims_of(pod, with_ephemeral=False):
            found = get_claim(self.cluster, pod, claim.name)
            if found is None:
                return PreFilter(
                    rejection=unresolvable(f'persistentvolumeclaim "{claim.name}" not found')
                )
            if "ReadWriteOncePod" in (found["spec"].get("accessModes") or []):
                exclusive.add(key_of(found))
        used = {
            f"{namespace_of(other)}/{claim.name}"
            for node in self.cluster.nodes.values()
            for other in node.pods
            for claim in claims_of(other, with_ephemeral=False)
        }
        state = Conflicts(exclusive, len(exclusive & used))
        has_inline = any(
            volume.get(kind) for volume in pod["spec"].get("volumes") or [] for kind in _INLINE
        )
        return PreFilter(state=state) if has_inline or state.users else SKIP_FILTER

    def copy_state(self, state: Any) -> Any:
        """Copy the number of users."""
        return state.copy()

    def _change(self, state: Any, other: Document, delta: int) -> None:
        for claim in claims_of(other, with_ephemeral=False):
            if f"{namespace_of(other)}/{claim.name}" in state.exclusive:
                state.users += delta

    def add_pod(self, state: Any, pod: Document, other: Document, node: Node) -> None:
        """Add a user to the counts."""
        self._change(state, other, 1)

    def remove_pod(self, state: Any, pod: Document, other: Document, node: Node) -> None:
        """Remove a user from the counts."""
        self._change(state, other, -1)

    def filter(self, state: Any, pod: Document, node: Node) -> Rejection | None:
        """Filter one node."""
        for volume in pod["spec"].get("volumes") or []:
            for other in node.pods:
                if any(_conflicts(volume, have) for have in other["spec"].get("volumes") or []):
                    return unschedulable("node(s) had no available disk")
        if state is not None and state.users > 0:
            return unschedulable(
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access "
                "mode already in-use by another pod"
            )
        return None
