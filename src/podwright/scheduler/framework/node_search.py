"""The search for feasible nodes: which nodes are evaluated, in which order, and when it ends.

Upstream: pkg/scheduler/schedule_one.go, `findNodesThatPassFilters`, `numFeasibleNodesToFind`.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework.extenders.extender_calls import CalledExtender
from podwright.scheduler.framework.prepare import PreFilterOutcome
from podwright.scheduler.framework.profile import Profile, TieRule
from podwright.scheduler.framework.status import Code, Status
from podwright.scheduler.kernels import select


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes that a search evaluated.

    Parameters
    ----------
    examined : (k,) int32 array
        Slots, in the order in which they were visited; every one was accepted or rejected.
    start, next_start : int
        Position in the visiting order where the search started, and where the next one starts.
    target_count : int
        The number of feasible nodes that ends the search.
    """

    examined: I32Array
    start: int
    next_start: int
    target_count: int


class SearchPosition:
    """Where the next search for nodes starts; the profiles of a scheduler share it.

    Attributes
    ----------
    next_start : int
        Position in the visiting order.

    Notes
    -----
    Upstream: pkg/scheduler/scheduler.go, `Scheduler.nextStartNodeIndex`
    """

    __slots__ = ("next_start",)

    def __init__(self) -> None:
        self.next_start = 0


class NodeSearch:
    """Searches the nodes of a cluster for the pods of one profile, one search after the other.

    Parameters
    ----------
    profile : Profile
    cluster : Cluster
        Read.
    extenders : tuple of CalledExtender
        All extenders of the configuration.
    position : SearchPosition, optional
        That of all profiles of a scheduler; by default the search's own.

    Attributes
    ----------
    next_start : int
        Position in the visiting order at which the next search starts; of `position`.
    stops_at_one : bool
        Whether the first feasible node ends the search.
    placement : (k,) int32 array, optional
        The slots to which the search is confined, in visiting order; None: all.
    """

    def __init__(
        self,
        profile: Profile,
        cluster: Cluster,
        extenders: tuple[CalledExtender, ...],
        position: SearchPosition | None = None,
    ) -> None:
        self._profile = profile
        self._cluster = cluster
        self._position = position or SearchPosition()
        self.stops_at_one = not _has_scoring(profile, extenders)
        self.placement: I32Array | None = None

    @property
    def next_start(self) -> int:
        """Return where the next search starts."""
        return self._position.next_start

    @next_start.setter
    def next_start(self, next_start: int) -> None:
        self._position.next_start = next_start

    @property
    def node_count(self) -> int:
        """The number of nodes to which the search is confined."""
        return self._cluster.nodes.n_alive if self.placement is None else len(self.placement)

    def covers(self, name: str) -> bool:
        """Tell whether a search may reach a node that exists."""
        slot = self._cluster.nodes.slot_of.get(name)
        return self.placement is None or slot is None or slot in self.placement

    def run(self, totals: I64Array, outcome: PreFilterOutcome) -> Search:
        """Walk the nodes as upstream does, and return the evaluated ones.

        Parameters
        ----------
        totals : (n_slots,) int64
            -1 where a filter rejects.
        outcome : PreFilterOutcome
            May restrict the walk to named nodes.

        Notes
        -----
        Where no plugin and no extender scores, and no extender filters, the first feasible
        node ends the search. Upstream: pkg/scheduler/schedule_one.go,
        `findNodesThatPassFilters`.
        """
        cluster = self._cluster
        percentage = self._profile.percentage_of_nodes_to_score
        node_count = self.node_count
        depends_on_order = self._profile.tie_rule is TieRule.HEAP or self.stops_at_one
        if self.placement is not None:
            order = self.placement
            start = self.next_start % node_count
        elif percentage is None and not depends_on_order:
            # Every node is evaluated, and nothing depends on the order.
            order = cluster.live_slots()
            start = 0
        else:
            order = cluster.nodes.visiting_order()
            start = self.next_start % node_count
        if outcome.node_names is not None:
            order, start = self._restricted(outcome.node_names)
        target_count = 1 if self.stops_at_one else nodes_to_find(len(order), percentage)
        if len(order) == 0:
            return Search(examined=order, start=start, next_start=start, target_count=target_count)
        start_here, visited = start % len(order), len(order)
        if target_count < len(order):
            _, visited = select.find_in_order(totals >= 0, order, start_here, target_count)
        examined: I32Array = (
            np.roll(order, -start_here)[:visited] if start_here else order[:visited]
        )
        # A restricted search moves the start too, although it walks other nodes.
        next_start = (self.next_start + visited) % node_count
        return Search(
            examined=examined, start=start, next_start=next_start, target_count=target_count
        )

    def may_leave_out(self, pod: Pod, outcome: PreFilterOutcome) -> bool:
        """Tell whether there may be nodes that a cycle of this pod does not evaluate."""
        return (
            outcome.node_names is not None
            or self.placement is not None
            or self.stops_at_one
            or bool(pod.status.nominated_node_name)
            or self._profile.percentage_of_nodes_to_score is not None
        )

    def evaluated_slots(
        self, first: str, search: Search, status_of: Callable[[int], Status]
    ) -> I32Array:
        """Return the slots that have a verdict: (k,) int32.

        The first node (where the pod is nominated) is evaluated before the search, even if
        PreFilter excludes it; if a filter fails there, it has no verdict. Its verdict also moves
        the start of the next search. Upstream: pkg/scheduler/schedule_one.go,
        `evaluateNominatedNode`, `findNodesThatFitPod`.

        Parameters
        ----------
        first : str
            "" for none.
        search : Search
            The one after it.
        status_of : callable
            Returns the status of a slot.
        """
        slot = self._cluster.nodes.slot_of.get(first)
        if slot is None or slot in search.examined or status_of(slot).code == Code.ERROR:
            return search.examined
        own: I32Array = np.array([slot], dtype=np.int32)
        return np.concatenate([search.examined, own])

    def _restricted(self, names: frozenset[str]) -> tuple[I32Array, int]:
        """Return the named nodes that exist, in a fixed order.

        Upstream iterates a set here, so its order is not determined; ours is by name.
        """
        nodes = self._cluster.nodes
        found = [nodes.slot_of[name] for name in names & nodes.slot_of.keys()]
        slots = np.array(found, dtype=np.int32)
        if len(slots) > 1:
            slots = slots[np.argsort(nodes.name_ranks()[slots])]
        if self.placement is not None:
            slots = slots[np.isin(slots, self.placement)]
        return slots, self.next_start % self.node_count


def nodes_to_find(node_count: int, percentage: int | None) -> int:
    """Return how many feasible nodes end the search.

    Parameters
    ----------
    node_count : int
        The number of nodes that may be filtered: all, or those that PreFilter leaves.
    percentage : int, optional
        As in `Profile`.

    Notes
    -----
    Upstream: pkg/scheduler/schedule_one.go, `numFeasibleNodesToFind`.
    """
    least = 100
    if percentage is None or node_count < least:
        return node_count
    if percentage == 0:
        # Upstream's adaptive percentage: one point less per 125 nodes, with integer division.
        percentage = max(50 - node_count // 125, 5)
    if percentage >= 100:
        return node_count
    return max(node_count * percentage // 100, least)


def _has_scoring(profile: Profile, extenders: tuple[CalledExtender, ...]) -> bool:
    """Return whether more than one feasible node is useful, to an extender's filter or a score.

    All extenders count, also those that are not interested in a pod.
    """
    return bool(profile.score) or any(
        extender.settings.filter_verb or extender.settings.prioritize_verb for extender in extenders
    )
