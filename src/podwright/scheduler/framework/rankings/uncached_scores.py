"""Scores of given nodes, computed by every plugin without cached rows.

Explanations use it, and cycles in which an extender replaced the nodes: an extender without
`nodeCacheCapable` returns Node objects, and upstream scores these, each as a node without pods,
whether or not the scheduler's cache contains it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from podwright._arrays import I32Array, I64Array, Mask
from podwright.apimachinery.objects import Node, Pod
from podwright.scheduler.columns import Cluster, PodKeys
from podwright.scheduler.framework.adapter import PluginFailure, run_score
from podwright.scheduler.framework.cycle import Cycle
from podwright.scheduler.framework.prepare import call_pre_filter, run_pre_scores
from podwright.scheduler.framework.profile import Profile
from podwright.scheduler.framework.rankings.node_values import NodeNames, NodeValues
from podwright.scheduler.framework.rankings.ranking import normalize
from podwright.scheduler.framework.rankings.scores import Scores
from podwright.scheduler.framework.status import Status

_SET_ASIDE = "\0"
"""Prefix of temporary names for nodes that are replaced by others of the same name."""


class PluginScores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one plugin for each of the nodes.

    Parameters
    ----------
    raw, normalized : mapping of str to int
        Per node name.
    """

    plugin: str
    weight: int
    raw: Mapping[str, int]
    normalized: Mapping[str, int]


class UncachedScores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of all plugins.

    Parameters
    ----------
    skipped : frozenset of str
        Plugins that PreScore skips for the pod.
    plugins : tuple of PluginScores
        In run order.
    totals : NodeValues
        The weighted sums.
    pre_scores : dict of str to Status
        The result of each PreScore plugin.
    """

    skipped: frozenset[str]
    plugins: tuple[PluginScores, ...]
    totals: NodeValues
    pre_scores: dict[str, Status] = {}


def uncached_scores(
    profile: Profile,
    cycle: Cycle,
    rows: I32Array,
    names: NodeNames | None = None,
    *,
    shown: I32Array | None = None,
    pre_scores: dict[str, Status] | None = None,
) -> UncachedScores:
    """Run every score plugin on the slots in `rows`.

    Parameters
    ----------
    cycle : Cycle
        As PreFilter left it.
    rows : (k,) int32
        The feasible slots.
    names : NodeNames, optional
        Names of the nodes in the result; by default their own.
    shown : (n,) int32, optional
        The slots of `names`; by default `rows`.
    pre_scores : dict of str to Status, written
        The result of each PreScore plugin, also if one of them failed.

    Raises
    ------
    PluginFailure
        If a plugin fails.
    """
    nodes = cycle.cluster.nodes
    if names is None:
        names = NodeNames(names_of(nodes.names, rows))
    shown = rows if shown is None else shown
    # A slice takes a tenth of the time of an index.
    places = slice(None) if np.array_equal(shown, np.arange(nodes.n_slots)) else shown
    mask: Mask = np.zeros(nodes.n_slots, dtype=np.bool_)
    mask[rows] = True
    weighted: I64Array = np.zeros(nodes.n_slots, dtype=np.int64)
    results = {} if pre_scores is None else pre_scores
    skipped = run_pre_scores(profile, cycle, results)
    found: list[PluginScores] = []
    for plugin, weight in profile.score:
        if plugin.name in skipped:
            continue
        scores = Scores(np.zeros(nodes.n_slots, dtype=np.int64), rows, mask)
        run_score(plugin, cycle, scores)
        raw = NodeValues(names, scores.values[places].copy())
        normalize(plugin, cycle, scores)
        normalized = NodeValues(names, scores.values[places])
        weighted += weight * scores.values
        found.append(
            PluginScores(plugin=plugin.name, weight=weight, raw=raw, normalized=normalized)
        )
    totals = NodeValues(names, weighted[places])
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
    # A node that an extender returned twice has the scores of the second one.
    by_name: dict[str, int] = {}
    for number, node in enumerate(nodes):
        name = node.metadata.name
        if name in together.nodes.slot_of:
            # Returned twice: it counts twice as a node to spread over.
            name = f"{_SET_ASIDE}{number}{_SET_ASIDE}{name}"
        # The scheduler's cache keeps the images of nodes, and these nodes are not in it.
        status = msgspec.structs.replace(node.status, images=())
        metadata = msgspec.structs.replace(node.metadata, name=name)
        together.put(msgspec.structs.replace(node, metadata=metadata, status=status, raw={}))
        slot = by_name[node.metadata.name] = together.nodes.slot_of[name]
        slots.append(slot)
    cycle = Cycle(pod, together)
    for plugin in profile.pre_filter:
        try:
            call_pre_filter(plugin, cycle)
        except PluginFailure:
            # The pod passed PreFilter where it counted; here it only leaves what scores need.
            continue
    rows: I32Array = np.array(slots, dtype=np.int32)
    shown: I32Array = np.array(list(by_name.values()), dtype=np.int32)
    return uncached_scores(profile, cycle, rows, NodeNames(tuple(by_name)), shown=shown)


def _copy_with_names_set_aside(cluster: Cluster) -> Cluster:
    copy = Cluster()
    copy.namespaces = dict(cluster.namespaces)
    copy.workloads = cluster.workloads
    copy.storage.put_all_of(cluster.storage)
    pods: list[tuple[Pod, int, PodKeys]] = []
    for slot in cluster.live_slots().tolist():
        node = cluster.nodes.objects[slot]
        assert node is not None, f"slot {slot} is alive and has no node"
        name = _SET_ASIDE + node.metadata.name
        metadata = msgspec.structs.replace(node.metadata, name=name)
        copy.put(msgspec.structs.replace(node, metadata=metadata, raw={}))
        place = copy.nodes.slot_of[name]
        pods += [
            (each.pod, place, copy.keys_of(each.pod)) for each in cluster.pods_on[slot].values()
        ]
    copy.place_all(pods)
    return copy


def names_of(names: Sequence[str], slots: I32Array) -> tuple[str, ...]:
    """Return the names of some slots."""
    return tuple(map(names.__getitem__, slots.tolist()))
