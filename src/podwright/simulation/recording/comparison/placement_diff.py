"""The comparison of two placements of the same pods, such as those of two configurations.

Each side schedules its pods on its own. A pod that is placed differently changes the cluster for
the pods after it, so one difference can cause others; `PodDifference.follows` marks those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec
import numpy as np

from podwright._arrays import I64Matrix
from podwright._html import facts, paragraphs, section, table
from podwright.apimachinery.objects import NamespacedName
from podwright.scheduler.assembly import Because
from podwright.simulation.recording.comparison.placements import (
    ClusterUse,
    Placements,
    PodPlacement,
)
from podwright.simulation.recording.folders.tables import library

Change: TypeAlias = Literal[
    "moved", "newly pending", "no longer pending", "nominated elsewhere", "added", "removed"
]
"""How the placement of a pod differs; a pod is added or removed if only one side has it."""

CHANGES: tuple[Change, ...] = (
    "moved", "newly pending", "no longer pending", "nominated elsewhere", "added", "removed",
)  # fmt: skip

Reasons: TypeAlias = tuple[Because | None, Because | None]
NO_REASONS: Reasons = (None, None)
NO_COUNTERPARTS: Final[Mapping[NamespacedName, NamespacedName]] = {}


class PodDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One pod whose placement differs.

    Parameters
    ----------
    pod : str
        `namespace/name`.
    counterpart : str
        The pod of the second side, if it has another name; "" if not. See `counterparts`.
    change : str
        See `Change`.
    before, after : PodPlacement, optional
        None if that side does not have the pod.
    reasons : tuple of Because or None
        Per side, the reason against the node of the other side; None if the side has none, or
        if it did not schedule the pod.
    follows : bool
        Whether another pod was placed differently before this one on one of the sides, so that
        the clusters differed.
    """

    pod: NamespacedName
    counterpart: NamespacedName = ""
    change: Change
    before: PodPlacement | None = None
    after: PodPlacement | None = None
    reasons: Reasons = NO_REASONS
    follows: bool = False

    def __repr__(self) -> str:
        before, after = (_node_name(side) or "no node" for side in (self.before, self.after))
        return f"<PodDifference: {self.pod} {self.change}, from {before} to {after}>"


class ResourceUse(msgspec.Struct, frozen=True, kw_only=True):
    """The use of one resource on both sides.

    Parameters
    ----------
    resource : str
        Its name, such as `cpu`.
    requested, allocatable : tuple of int
        The sums over all nodes, in base units (milli-CPU, bytes).
    share : tuple of float or None
        `requested` divided by `allocatable`; None if no node has the resource.
    spread : tuple of float or None
        The standard deviation of the shares of the nodes that have the resource.
    """

    resource: str
    requested: tuple[int, int]
    allocatable: tuple[int, int]
    share: tuple[float | None, float | None]
    spread: tuple[float | None, float | None]


class NodeChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes whose use differs in kind.

    Parameters
    ----------
    used : tuple of int
        Per side, the number of nodes with pods, except pods of daemon sets and mirror pods.
    emptied, newly_used : tuple of str
        Nodes of both sides that have such pods on the first or the second side only.
    added, removed : tuple of str
        Nodes that only the second or the first side has.
    """

    used: tuple[int, int]
    emptied: tuple[str, ...]
    newly_used: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]


class PlacementDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The differences between two placements of pods.

    Parameters
    ----------
    differences : tuple of PodDifference
        The pods whose placement differs, in the order of scheduling.
    placements : dict of str to tuple of PodPlacement or None
        Every pod with both placements.
    nodes : NodeChanges
    resources : tuple of ResourceUse
        CPU, memory, pods, and every other resource that a pod on a node requests.
    zones : dict of str to tuple of int
        The number of pods on nodes, by zone, per side; "" are nodes without a zone.
    tried_counts : tuple of int
        Per side, the number of pods with a scheduling attempt.
    is_same : bool
        Whether all pods are placed equally and the nodes are used equally.
    """

    differences: tuple[PodDifference, ...]
    placements: Mapping[NamespacedName, tuple[PodPlacement | None, PodPlacement | None]]
    nodes: NodeChanges
    resources: tuple[ResourceUse, ...]
    zones: Mapping[str, tuple[int, int]]
    tried_counts: tuple[int, int]
    is_same: bool

    @property
    def counts(self) -> dict[str, int]:
        """The number of pods per change; changes without pods are left out."""
        found = Counter(difference.change for difference in self.differences)
        return {change: found[change] for change in CHANGES if found[change]}

    @property
    def moved(self) -> tuple[PodDifference, ...]:
        """The pods that are on another node."""
        return self._of("moved")

    @property
    def newly_pending(self) -> tuple[PodDifference, ...]:
        """The pods that have a node on the first side only."""
        return self._of("newly pending")

    @property
    def no_longer_pending(self) -> tuple[PodDifference, ...]:
        """The pods that have a node on the second side only."""
        return self._of("no longer pending")

    def _of(self, change: Change) -> tuple[PodDifference, ...]:
        return tuple(one for one in self.differences if one.change == change)

    @property
    def tables(self) -> dict[str, Any]:
        """The differences as tables, each a `pyarrow.Table`.

        `pods` has a row per pod that differs, `scores` a row per pod, side and score that
        differs, `resources`, `zones` and `nodes` a row per resource, zone and changed node.

        Raises
        ------
        MissingExtra
            If pyarrow is not installed.
        """
        arrow = library("pyarrow", "pip install 'podwright[tables]'")
        return {
            name: arrow.table(
                {head: [row[i] for row in rows] for i, head in enumerate(types)},
                schema=arrow.schema(
                    [(head, getattr(arrow, kind)()) for head, kind in types.items()]
                ),
            )
            for name, (types, rows) in _tables(self).items()
        }

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {change}" for change, count in self.counts.items())
        return f"<PlacementDiff: {len(self.placements)} pods, {counts or 'no difference'}>"

    def _repr_html_(self) -> str:
        pods = [
            (one.pod, one.change, _node_name(one.before), _node_name(one.after))
            for one in self.differences
        ]
        uses = [
            (use.resource, *("" if share is None else f"{share:.2%}" for share in use.share))
            for use in self.resources
        ]
        return section(
            f"Differences of {len(self.placements):,} pods",
            facts(self.counts) or paragraphs(["No pod is placed differently."]),
            table(("Pod", "Change", "Before", "After"), pods),
            table(("Resource", "Before", "After"), uses),
        )


def _node_name(placement: PodPlacement | None) -> str:
    return "" if placement is None else placement.node


def changes_of(before: Placements, after: Placements) -> dict[NamespacedName, Change]:
    """Return the pods whose placement differs, in the order of scheduling."""
    found: dict[NamespacedName, Change] = {}
    for key in {**before.pods, **after.pods}:
        change = _change(before.pods.get(key), after.pods.get(key))
        if change is not None:
            found[key] = change
    return found


def _change(before: PodPlacement | None, after: PodPlacement | None) -> Change | None:
    if before is None:
        return "added"
    if after is None:
        return "removed"
    if before.node and after.node:
        return None if before.node == after.node else "moved"
    if before.node:
        return "newly pending"
    if after.node:
        return "no longer pending"
    return None if before.nominated == after.nominated else "nominated elsewhere"


def compare(
    before: Placements,
    after: Placements,
    reasons: Mapping[NamespacedName, Reasons],
    counterparts: Mapping[NamespacedName, NamespacedName] = NO_COUNTERPARTS,
) -> PlacementDiff:
    """Compare two placements.

    Parameters
    ----------
    after : Placements
        By the names of the first side.
    reasons : dict of str to tuple of Because or None
        The reasons of pods that differ.
    counterparts : dict of str to str
        The names of pods on the second side that differ from those on the first side.
    """
    changes = changes_of(before, after)
    first = [next((key for key in side.pods if key in changes), "") for side in (before, after)]
    differences = tuple(
        PodDifference(
            pod=key,
            counterpart=counterparts.get(key, ""),
            change=change,
            before=before.pods.get(key),
            after=after.pods.get(key),
            reasons=reasons.get(key, NO_REASONS),
            # The first pod that differs on each side that has it follows no other.
            follows=any(
                key in side.pods and key != first_key
                for side, first_key in zip((before, after), first, strict=True)
            ),
        )
        for key, change in changes.items()
    )
    return PlacementDiff(
        differences=differences,
        placements={
            key: (before.pods.get(key), after.pods.get(key))
            for key in {**before.pods, **after.pods}
        },
        nodes=_node_changes(before.use, after.use),
        resources=_resources(before.use, after.use),
        zones=_zones(before.use, after.use),
        tried_counts=(before.tried_count, after.tried_count),
        is_same=not differences and before.use.equals(after.use),
    )


# ------------------------------------------------------------------------------- use of nodes

_ALWAYS = ("cpu", "memory", "pods")


def _node_changes(before: ClusterUse, after: ClusterUse) -> NodeChanges:
    used = tuple(
        {name for name, count in zip(use.nodes, use.movable_pods.tolist(), strict=True) if count}
        for use in (before, after)
    )
    # A node that only one side has is added or removed, not emptied or newly used.
    common = set(before.nodes) & set(after.nodes)
    return NodeChanges(
        used=(len(used[0]), len(used[1])),
        emptied=tuple(sorted((used[0] - used[1]) & common)),
        newly_used=tuple(sorted((used[1] - used[0]) & common)),
        added=tuple(sorted(set(after.nodes) - common)),
        removed=tuple(sorted(set(before.nodes) - common)),
    )


def _resources(before: ClusterUse, after: ClusterUse) -> tuple[ResourceUse, ...]:
    found = []
    for resource in dict.fromkeys((*_ALWAYS, *before.resources, *after.resources)):
        sides = [_amounts(use, resource) for use in (before, after)]
        requested = [int(side[1].sum()) for side in sides]
        if resource not in _ALWAYS and not any(requested):
            continue
        shares = [_share_and_spread(*side) for side in sides]
        found.append(
            ResourceUse(
                resource=resource,
                requested=(requested[0], requested[1]),
                allocatable=(int(sides[0][0].sum()), int(sides[1][0].sum())),
                share=(shares[0][0], shares[1][0]),
                spread=(shares[0][1], shares[1][1]),
            )
        )
    return tuple(found)


def _amounts(use: ClusterUse, resource: str) -> tuple[I64Matrix, I64Matrix]:
    """Return allocatable and requested of one resource, one value per node."""
    if resource not in use.resources:
        nothing = np.zeros(len(use.nodes), dtype=np.int64)
        return nothing, nothing
    column = use.resources.index(resource)
    return use.allocatable[:, column], use.requested[:, column]


def _share_and_spread(
    allocatable: I64Matrix, requested: I64Matrix
) -> tuple[float | None, float | None]:
    has_any = allocatable > 0
    if not has_any.any():
        return None, None
    shares = requested[has_any] / allocatable[has_any]
    return float(requested.sum() / allocatable.sum()), float(shares.std())


def _zones(before: ClusterUse, after: ClusterUse) -> dict[str, tuple[int, int]]:
    counts = [Counter[str](), Counter[str]()]
    for counted, use in zip(counts, (before, after), strict=True):
        for zone, pods in zip(use.zones, use.pods.tolist(), strict=True):
            counted[zone] += pods
    return {zone: (counts[0][zone], counts[1][zone]) for zone in sorted({*counts[0], *counts[1]})}


# ------------------------------------------------------------------------------- tables

_Table: TypeAlias = tuple[dict[str, str], list[tuple[Any, ...]]]


def _tables(diff: PlacementDiff) -> dict[str, _Table]:
    text, number, share = "string", "int64", "float64"
    pods = [
        (
            *one.pod.split("/", 1),
            one.counterpart.partition("/")[2] or None,
            one.change,
            _node(one.before),
            _node(one.after),
            *(None if because is None else because.kind for because in one.reasons),
            *(None if because is None else because.rule or None for because in one.reasons),
            one.follows,
        )
        for one in diff.differences
    ]
    scores = [
        (*one.pod.split("/", 1), side, score.rule, score.weighted)
        for one in diff.differences
        for side, because in zip(("before", "after"), one.reasons, strict=True)
        if because is not None
        for score in because.scores
    ]
    nodes = [
        (name, change)
        for change, names in (
            ("emptied", diff.nodes.emptied),
            ("newly used", diff.nodes.newly_used),
            ("added", diff.nodes.added),
            ("removed", diff.nodes.removed),
        )
        for name in names
    ]
    return {
        "pods": (
            {
                "namespace": text, "pod": text, "counterpart": text, "change": text,
                "before": text, "after": text,
                "kind_before": text, "kind_after": text, "rule_before": text, "rule_after": text,
                "follows": "bool_",
            },
            pods,
        ),
        "scores": (
            {"namespace": text, "pod": text, "side": text, "plugin": text, "weighted": number},
            scores,
        ),
        "resources": (
            {
                "resource": text, "requested_before": number, "requested_after": number,
                "allocatable_before": number, "allocatable_after": number, "share_before": share,
                "share_after": share, "spread_before": share, "spread_after": share,
            },
            [
                (use.resource, *use.requested, *use.allocatable, *use.share, *use.spread)
                for use in diff.resources
            ],
        ),
        "zones": (
            {"zone": text, "pods_before": number, "pods_after": number},
            [(zone, *counts) for zone, counts in diff.zones.items()],
        ),
        "nodes": ({"node": text, "change": text}, nodes),
    }  # fmt: skip


def _node(placement: PodPlacement | None) -> str | None:
    return None if placement is None else placement.node or None
