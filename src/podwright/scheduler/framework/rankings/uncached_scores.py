"""Scores of given nodes, computed by every plugin without cached rows.

Explanations use it, and cycles in which an extender replaced the nodes: an extender without
`nodeCacheCapable` returns Node objects, and upstream scores these, each as a node without pods,
whether or not the scheduler's cache contains it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from podwright._arrays import I32Array, I64Array, Mask
from podwright.apimachinery.objects import Node, Pod
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework.adapter import PluginFailure, run_score
from podwright.scheduler.framework.cycle import Cycle
from podwright.scheduler.framework.prepare import call_pre_filter, run_pre_scores
from podwright.scheduler.framework.profile import Profile
from podwright.scheduler.framework.rankings.ranking import normalize
from podwright.scheduler.framework.rankings.scores import Scores
from podwright.scheduler.framework.status import Status

_SET_ASIDE = "\0"
"""Prefix of temporary names for nodes that are replaced by others of the same name."""


class PluginScores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one plugin for each of the nodes.

    Parameters
    ----------
    raw, normalized : dict of str to int
        Per node name.
    """

    plugin: str
    weight: int
    raw: dict[str, int]
    normalized: dict[str, int]


class UncachedScores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of all plugins.

    Parameters
    ----------
    skipped : frozenset of str
        Plugins that PreScore skips for the pod.
    plugins : tuple of PluginScores
        In run order.
    totals : dict of str to int
        The weighted sums.
    pre_scores : dict of str to Status
        The result of each PreScore plugin.
    """

    skipped: frozenset[str]
    plugins: tuple[PluginScores, ...]
    totals: dict[str, int]
    pre_scores: dict[str, Status] = {}


def uncached_scores(
    profile: Profile,
    cycle: Cycle,
    rows: I32Array,
    names: Sequence[str] | None = None,
    *,
    pre_scores: dict[str, Status] | None = None,
) -> UncachedScores:
    """Run every score plugin on the slots in `rows`.

    Parameters
    ----------
    cycle : Cycle
        As PreFilter left it.
    rows : (k,) int32
        The feasible slots.
    names : sequence of str, optional
        Names of the nodes in `rows` for the result; by default their own.
    pre_scores : dict of str to Status, written
        The result of each PreScore plugin, also if one of them failed.

    Raises
    ------
    PluginFailure
        If a plugin fails.
    """
    nodes = cycle.cluster.nodes
    if names is None:
        names = names_of(nodes.names, rows)
    mask: Mask = np.zeros(nodes.n_slots, dtype=np.bool_)
    mask[rows] = True
    weighted: I64Array = np.zeros(nodes.n_slots, dtype=np.int64)
    results = {} if pre_scores is None else pre_scores
    skipped = run_pre_scores(profile, cycle, results)
    found: list[PluginScores] = []
    named = _Named(names)
    for plugin, weight in profile.score:
        if plugin.name in skipped:
            continue
        scores = Scores(np.zeros(nodes.n_slots, dtype=np.int64), rows, mask)
        run_score(plugin, cycle, scores)
        before = scores.values[rows]
        raw = named.of(before)
        normalize(plugin, cycle, scores)
        after = scores.values[rows]
        # Most scores need no normalization, and a copy is quicker than a new dictionary.
        normalized = raw.copy() if np.array_equal(before, after) else named.of(after)
        weighted += weight * scores.values
        found.append(
            PluginScores(plugin=plugin.name, weight=weight, raw=raw, normalized=normalized)
        )
    # A node that an extender returned twice has the scores of the second one.
    totals = named.of(weighted[rows])
    return UncachedScores(skipped=skipped, plugins=tuple(found), totals=totals, pre_scores=results)


def scores_of_replaced(
    profile: Profile, pod: Pod, cluster: Cluster, nodes: Sequence[Node]
) -> UncachedScores:
    """Score Node objects that an extender returned.

    They are put, empty, into a cluster beside all others. So pods that are counted per
    domain (spreading, affinity) count as they do for the scheduler, while the returned nodes
    themselves have none.

    Raises
    ------
    PluginFailure
        If a plugin fails.

    Notes
    -----
    The scheduler's own nodes have another name meanwhile, so that a field selector on
    `metadata.name` misses them where it decides which nodes count for spreading.
    """
    together = _copy_with_names_set_aside(cluster)
    slots: list[int] = []
    for number, node in enumerate(nodes):
        name = node.metadata.name
        if name in together.nodes.slot_of:
            # Returned twice: it counts twice as a node to spread over.
            name = f"{_SET_ASIDE}{number}{_SET_ASIDE}{name}"
        # The scheduler's cache keeps the images of nodes, and these nodes are not in it.
        status = msgspec.structs.replace(node.status, images=())
        metadata = msgspec.structs.replace(node.metadata, name=name)
        together.put(msgspec.structs.replace(node, metadata=metadata, status=status, raw={}))
        slots.append(together.nodes.slot_of[name])
    cycle = Cycle(pod, together)
    for plugin in profile.pre_filter:
        try:
            call_pre_filter(plugin, cycle)
        except PluginFailure:
            # The pod passed PreFilter where it counted; here it only leaves what scores need.
            continue
    rows: I32Array = np.array(slots, dtype=np.int32)
    return uncached_scores(profile, cycle, rows, [node.metadata.name for node in nodes])


def _copy_with_names_set_aside(cluster: Cluster) -> Cluster:
    copy = Cluster()
    copy.namespaces = dict(cluster.namespaces)
    copy.workloads = cluster.workloads
    storage = cluster.storage
    for kept in (storage.claims, storage.volumes, storage.classes, storage.csi_drivers):
        for obj in kept.values():
            copy.storage.put(obj)
    for slot in cluster.live_slots().tolist():
        node = cluster.nodes.objects[slot]
        assert node is not None, f"slot {slot} is alive and has no node"
        name = _SET_ASIDE + node.metadata.name
        metadata = msgspec.structs.replace(node.metadata, name=name)
        copy.put(msgspec.structs.replace(node, metadata=metadata, raw={}))
        place = copy.nodes.slot_of[name]
        for placed in cluster.pods_on[slot].values():
            copy.place(placed.pod, place)
    return copy


def names_of(names: Sequence[str], slots: I32Array) -> tuple[str, ...]:
    """Return the names of some slots."""
    return tuple(map(names.__getitem__, slots.tolist()))


class _Named:
    """Makes dictionaries by name, on which explanations spend most of their time."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        # Many plugins score all nodes equally, and a copy is quicker than a new dictionary.
        self._equal: dict[int, dict[str, int]] = {}

    def of(self, values: I64Array) -> dict[str, int]:
        """Return the values by name."""
        if not len(values) or (values != values[0]).any():
            return dict(zip(self._names, values.tolist(), strict=True))
        value = int(values[0])
        if value not in self._equal:
            self._equal[value] = dict.fromkeys(self._names, value)
        return self._equal[value].copy()
