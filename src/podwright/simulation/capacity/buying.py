"""Which nodes a load needs: the cheapest mix of types that was found, each mix tried by scheduling.

A mix is found by adding nodes, then by removing and exchanging them, and in small cases by trying
all cheaper mixes. The lower bound is that of fractions of nodes, from sums of requests.
"""

from __future__ import annotations

import heapq
import math
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import count, product
from typing import Any, Final, NamedTuple, TypeAlias, Unpack

import msgspec
import numpy as np

from podwright._arrays import I64Matrix
from podwright.apimachinery.documents import (
    struct_errors,
)
from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    NamespacedName,
    Node,
    Object,
    Pod,
    pending_requests,
)
from podwright.cluster.controllers import expand
from podwright.scheduler.advice import edited
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import KubeSchedulerConfiguration
from podwright.scheduler.framework import CallExtender, Decision
from podwright.scheduler.machine import DecisionKeywords, SchedulerOptions, names_decision_keywords
from podwright.simulation.autoscaling import (
    Companions,
    new_node,
)
from podwright.simulation.capacity.device_counts import device_rows, extended_names
from podwright.simulation.capacity.filling import (
    Advance,
    CapacityStop,
    forked,
    settle,
    stop_of,
    unwatched,
)
from podwright.simulation.capacity.node_types import NodeType, NodeTypes

MOST_MIXES: Final = 400
"""How many mixes cheaper than the found one are tried at most."""

_MOST_DECISIONS: Final = 40_000
"""How many pods are scheduled at most to try them."""

_UNHELPED: Final = frozenset(
    {
        "NodeAffinity", "NodeName", "NodePorts", "NodeResourcesFit", "NodeUnschedulable",
        "TaintToleration",
    }
)  # fmt: skip
"""The plugins that reject a node for a pod no less after other pods were placed."""

_MOST_PIVOTS: Final = 1000
_ROUNDING: Final = 1e-12

_Counts: TypeAlias = tuple[int, ...]


class NodePurchase(msgspec.Struct, frozen=True, kw_only=True):
    """The cheapest mix of nodes that was found.

    Attributes
    ----------
    nodes : dict of str to int
        How many nodes of each type; types that are not needed are left out.
    price : float
    bound : float
        No mix is cheaper than this: fractions of nodes with enough of all resources.
    is_cheapest : bool
        Whether all cheaper mixes were tried.
    pending : int
        How many pods were pending.
    scheduled : int
        How many of them have a node in the cluster with these nodes.
    unplaced : tuple of CapacityStop
        Why the others have none, not even on one more node of each type.
    mixes : int
        How many mixes were tried.
    added : tuple of Node
        The nodes of the mix.
    placed : dict of str to str
        The node of each pod that was pending and has one then.
    """

    nodes: dict[str, int]
    price: float
    bound: float
    is_cheapest: bool
    pending: int
    scheduled: int
    unplaced: tuple[CapacityStop, ...]
    mixes: int
    added: tuple[Node, ...] = ()
    placed: dict[NamespacedName, str] = {}

    @property
    def gap(self) -> float:
        """By which share of the price the bound is lower; 0 to 1."""
        return (self.price - self.bound) / self.price if self.price > 0 else 0.0

    def __repr__(self) -> str:
        return f"<NodePurchase: {sum(self.nodes.values())} nodes for {self.price:g}>"


@names_decision_keywords
def buy_nodes(
    objects: Iterable[Object],
    types: Iterable[NodeType],
    configuration: KubeSchedulerConfiguration | SchedulerOptions | None = None,
    *,
    pool_label: str = "",
    expands_workloads: bool = True,
    call_extender: CallExtender | None = None,
    **keywords: Unpack[DecisionKeywords],
) -> NodePurchase:
    """Find the cheapest nodes that the pending pods of a cluster need.

    Parameters
    ----------
    objects : iterable of object
        The cluster and the load, as for `Scheduler.add`. New nodes get the pods of its DaemonSets,
        the devices that its DeviceCards describe, and other devices and a CSINode like an existing
        node of the pool.
    types : iterable of NodeType
        What can be bought.
    configuration : KubeSchedulerConfiguration or SchedulerOptions, optional
        The default profile if left out.
    pool_label : str
        The label that names a node's pool; by default those of known providers.
    expands_workloads : bool
        Whether workloads are expanded into the pods that their controllers would create.
    call_extender, plugins, gates, seed, tie_rule, draws_preemption_offset
        As for `Scheduler`.

    Raises
    ------
    InputError
        If a type is wrong, or no pod is pending.

    Examples
    --------
    >>> import podwright as pw
    >>> small = pw.NodeType(name="small", price=1.0, allocatable={"cpu": "2", "memory": "4Gi"})
    >>> large = pw.NodeType(name="large", price=1.5, allocatable={"cpu": "4", "memory": "8Gi"})
    >>> pods = [pw.testing.make_pod(f"web-{i}", cpu="1") for i in range(5)]
    >>> found = pw.buy_nodes(pods, [small, large])
    >>> found.nodes, found.price, found.bound, found.is_cheapest
    ({'small': 1, 'large': 1}, 2.5, 1.875, True)
    """
    given = list(objects)
    if expands_workloads:
        given = expand(given).with_objects(given)
    scheduler = Scheduler(configuration, call_extender=call_extender, **keywords)
    scheduler.add(*given)
    return purchase_in(scheduler, given, types, pool_label=pool_label)


def purchase_in(
    scheduler: Scheduler,
    objects: Sequence[Object],
    types: Iterable[NodeType],
    advance: Advance = unwatched,
    *,
    pool_label: str = "",
) -> NodePurchase:
    """Find the cheapest nodes for the pending pods of a scheduler.

    Parameters
    ----------
    scheduler : Scheduler
    objects : sequence of Object
        What it was given.
    types : iterable of NodeType
    advance : callable
        Receives how many mixes were tried, and 0: how many there are is not known.
    pool_label : str
        As for `buy_nodes`.
    """
    offered = tuple(types)
    errors = struct_errors(NodeTypes(offered), "")
    if errors:
        raise InputError(errors)
    if not scheduler.pending:
        raise InputError([FieldError(source="", path="", message="no pod is pending")])
    return _Search(scheduler, objects, offered, advance, pool_label).purchase()


def purchase_document(found: NodePurchase, types: Iterable[NodeType]) -> dict[str, Any]:
    """Return `found`, a purchase among `types`, as a document with camelCase keys."""
    prices = {each.name: each.price for each in types}
    return {
        "nodes": [
            {"type": name, "count": count, "price": prices[name]}
            for name, count in found.nodes.items()
        ],
        "price": found.price,
        "bound": found.bound,
        "gap": found.gap,
        "isCheapest": found.is_cheapest,
        "pending": found.pending,
        "scheduled": found.scheduled,
        "unplaced": [{"pod": each.pod, "failMessage": each.message} for each in found.unplaced],
        "mixes": found.mixes,
    }


class _NewNode(NamedTuple):
    node: Node
    objects: list[Object]  # the node and its companions
    pods: list[Pod]  # of DaemonSets


class _Search:
    """The search for the cheapest mix; a mix is how many nodes of each type."""

    def __init__(
        self,
        scheduler: Scheduler,
        objects: Sequence[Object],
        types: Sequence[NodeType],
        advance: Advance,
        pool_label: str = "",
    ) -> None:
        self._scheduler = scheduler
        self._advance = advance
        self._types = types
        self._companions = Companions(scheduler.cluster, pool_label)
        self._companions.put(objects)
        self._daemons = [each for each in objects if each.kind == "DaemonSet"]
        self._names = set(scheduler.cluster.nodes.slot_of)
        self._known: dict[_Counts, dict[NamespacedName, CapacityStop]] = {}
        self._new: dict[tuple[int, int], _NewNode] = {}
        prices = [Fraction(repr(each.price)) for each in types]
        unit = math.lcm(*(each.denominator for each in prices))
        self._whole_prices = [int(each * unit) for each in prices]
        self._demand = {key: _demand(pod) for key, pod in scheduler.pending.items()}
        self._accepted: frozenset[str] = frozenset()

    def purchase(self) -> NodePurchase:
        """Return the cheapest mix that is found."""
        size = len(self._types)
        zero = (0,) * size
        best = self._grown(zero, range(size))
        self._accepted = frozenset(self._unplaced(best))
        bound = self._bound()
        starts = [best, *(self._grown(zero, [index]) for index in range(size))]
        fitting = filter(self._fits, starts)
        best = min((self._reduced(each, bound) for each in fitting), key=self._order)
        best, is_cheapest = self._cheaper(best, bound)
        stops = self._unplaced(best) | self._stops_on_more(best)
        placed = {key: each.node for key, each in self._decided(best).items() if each.slot >= 0}
        price = self._price(best)
        return NodePurchase(
            nodes={t.name: n for t, n in zip(self._types, best, strict=True) if n},
            price=price,
            bound=min(bound, price),
            is_cheapest=is_cheapest,
            pending=len(self._demand),
            scheduled=len(self._demand) - len(stops),
            unplaced=tuple(stops.values()),
            mixes=len(self._known),
            added=tuple(each.node for each in self._new_nodes(best)),
            placed={key: node for key, node in placed.items() if key in self._demand},
        )

    def _price(self, counts: _Counts) -> float:
        return math.fsum(t.price * n for t, n in zip(self._types, counts, strict=True))

    def _order(self, counts: _Counts) -> tuple[int, int, _Counts]:
        # Without rounding: two nodes cost as much as one of twice the size and price.
        price = sum(map(operator.mul, self._whole_prices, counts))
        return price, sum(counts), counts

    def _fits(self, counts: _Counts) -> bool:
        return self._accepted.issuperset(self._unplaced(counts))

    def _is_offered(self, counts: _Counts) -> bool:
        pairs = zip(self._types, counts, strict=True)
        return all(n >= 0 and (t.max is None or n <= t.max) for t, n in pairs)

    def _stops_on_more(self, counts: _Counts) -> dict[NamespacedName, CapacityStop]:
        """Return why pods without a node do not get one with one more node of each type."""
        left = self._unplaced(counts)
        if not left:
            return {}
        pairs = zip(self._types, counts, strict=True)
        stops = self._unplaced(tuple(n + (t.max is None or n < t.max) for t, n in pairs))
        return {key: stop for key, stop in stops.items() if key in left}

    # ------------------------------------------------------------------------ trying

    def _unplaced(self, counts: _Counts) -> dict[str, CapacityStop]:
        """Return why pods have no node with some new nodes, by pod."""
        if counts not in self._known:
            decisions = self._decided(counts)
            self._known[counts] = {
                key: stop_of(each) for key, each in decisions.items() if each.slot < 0
            }
            self._advance(len(self._known), 0)
        return self._known[counts]

    def _decided(self, counts: _Counts) -> dict[NamespacedName, Decision]:
        """Schedule the pods with some new nodes."""
        scheduler, new = self._scheduler, self._new_nodes(counts)
        added = [obj for each in new for obj in each.objects]
        with forked(scheduler), edited(scheduler.cluster, put=added):
            scheduler.add(*(pod for each in new for pod in each.pods))
            return settle(scheduler, preemption=False, post_filter=False)

    def _new_nodes(self, counts: _Counts) -> list[_NewNode]:
        return [self._node(i, k) for i, n in enumerate(counts) for k in range(n)]

    def _node(self, index: int, number: int) -> _NewNode:
        if (index, number) not in self._new:
            kind = self._types[index]
            names = (f"{kind.name}-new-{k}" for k in count(number))
            name = next(name for name in names if name not in self._names)
            self._names.add(name)
            node, pods = new_node(kind, name, self._daemons)
            self._new[index, number] = _NewNode(node, [node, *self._companions.of(node)], pods)
        return self._new[index, number]

    # ------------------------------------------------------------------------ searching

    def _grown(self, counts: _Counts, indices: Iterable[int]) -> _Counts:
        """Add nodes of some types, those that place most for their price, while that helps."""
        indices = tuple(indices)
        while left := self._unplaced(counts):
            # One more node may spread the pods so that none of those left fits: then try more.
            sizes = (1, *(2**power for power in range(1, 7) if 2**power <= len(self._demand)))
            steps: list[tuple[float, int, int]] = []
            for size in sizes:
                steps = [
                    (value, -index, gain)
                    for index in indices
                    for more in [_plus(counts, index, size)]
                    if self._is_offered(more) and len(self._unplaced(more)) < len(left)
                    for gain, value in [self._gain(left, more, index)]
                ]
                if steps:
                    break
            if not steps:
                return counts
            _, negative, gain = max(steps)
            more = _plus(counts, -negative, max(size, len(left) // max(1, gain) // 2))
            counts = more if self._is_offered(more) else _plus(counts, -negative, size)
        return counts

    def _gain(self, left: dict[str, CapacityStop], more: _Counts, index: int) -> tuple[int, float]:
        """Return how many pods more nodes place, and their share of requests for the price."""
        total = _sum(self._demand.get(key, {}) for key in left)
        placed = left.keys() - self._unplaced(more).keys()
        part = _sum(self._demand.get(key, {}) for key in placed)
        share = sum(part[name] / total[name] for name in part)
        return len(placed), share / max(self._types[index].price, 1e-9)

    def _reduced(self, counts: _Counts, bound: float) -> _Counts:
        """Remove and exchange nodes while that is cheaper; a step that fits is doubled."""
        while True:
            cheaper = filter(lambda each: self._is_cheaper(each, counts, bound), _near(counts))
            better = next(filter(self._fits, sorted(cheaper, key=self._order)), None)
            if better is None:
                return counts
            while better is not None:
                step = [2 * (new - old) for old, new in zip(counts, better, strict=True)]
                counts = better
                further = tuple(n + more for n, more in zip(counts, step, strict=True))
                is_better = self._is_cheaper(further, counts, bound) and self._fits(further)
                better = further if is_better else None

    def _is_cheaper(self, counts: _Counts, than: _Counts, bound: float) -> bool:
        return self._is_possible(counts, bound) and self._order(counts) < self._order(than)

    def _is_possible(self, counts: _Counts, bound: float) -> bool:
        return self._is_offered(counts) and self._price(counts) >= bound * (1 - 1e-9)

    def _cheaper(self, best: _Counts, bound: float) -> tuple[_Counts, bool]:
        """Try all cheaper mixes from the cheapest one on; return whether all were tried."""
        queue = [self._order((0,) * len(best))]
        seen = {queue[0][2]}
        tried = 0
        most = min(MOST_MIXES, _MOST_DECISIONS // max(1, len(self._demand)))
        while queue and queue[0] < self._order(best):
            counts = heapq.heappop(queue)[2]
            if self._is_possible(counts, bound):
                tried += 1
                if tried > most:
                    return best, False
                if self._fits(counts):
                    return counts, True
            for index in range(len(counts)):
                more = _plus(counts, index, 1)
                if more not in seen and self._is_offered(more):
                    seen.add(more)
                    heapq.heappush(queue, self._order(more))
            if len(seen) > 100 * MOST_MIXES:
                return best, False
        return best, True

    # ------------------------------------------------------------------------ bound

    def _bound(self) -> float:
        """Return a price below which no mix places the pods.

        Fractions of nodes have enough of all resources and of the devices of each class together
        (`least_price`): new nodes for pods that no existing node takes, and for all pods together
        less what existing nodes have.
        """
        cluster = self._scheduler.cluster
        placeable = [key for key in self._demand if key not in self._accepted]
        demands = [self._demand[key] for key in placeable]
        # What a class of devices offers, too, nodes may have without an allocatable amount.
        classes = cluster.devices.classes.values()
        offered = {name for each in classes for name in extended_names(each)}
        resources = [name for name in _sum(demands) if name not in offered]
        requests = np.array([[each.get(name, 0) for name in resources] for each in demands])
        helped, helping = self._existing(placeable)
        is_helped = np.array([key in helped for key in placeable], bool)
        columns = [cluster.nodes.resource_index(name) for name in resources]

        def amounts(of: I64Matrix, names: Iterable[str]) -> I64Matrix:
            return of[np.ix_([cluster.nodes.slot_of[name] for name in names], columns)]

        free = amounts(cluster.nodes.free, helping)
        pods = [self._scheduler.pending[key] for key in placeable]
        new = [self._node(i, 0) for i in self._indices()]
        old = list(cluster.nodes.slot_of)
        with edited(cluster, put=[obj for each in new for obj in each.objects]):
            names = [each.node.name for each in new]
            bought = amounts(cluster.nodes.allocatable, names)
            of_helped = [pod for pod in pods if pod.key in helped]
            others = [pod for pod in pods if pod.key not in helped]
            of_devices = list(device_rows(cluster.devices, old, names, of_helped, others))
        room = _usable(free, requests[is_helped]).sum(axis=0)
        rows = [
            (column.tolist(), int(need))
            for of, less in ((requests[~is_helped], 0 * room), (requests, room))
            for column, need in zip(_usable(bought, of).T, of.sum(axis=0) - less, strict=True)
            if need > 0
        ]
        return least_price(self._types, [*rows, *of_devices])

    def _existing(self, keys: Iterable[NamespacedName]) -> tuple[set[NamespacedName], list[str]]:
        """Return the pods that existing nodes might take, were each the only one, and the nodes."""
        scheduler, nodes = self._scheduler, self._scheduler.cluster.nodes
        of_spec: dict[int, set[str]] = {}  # which is all that these plugins read
        helped = set()
        for key in keys:
            pod = scheduler.pending[key]
            if id(pod.spec) not in of_spec:
                rejected = scheduler.explain(key).rejected
                of_spec[id(pod.spec)] = {
                    name
                    for name in nodes.slot_of
                    if name not in rejected or rejected[name].plugin not in _UNHELPED
                }
            if of_spec[id(pod.spec)]:
                helped.add(key)
        helping = set().union(*of_spec.values())
        return helped, [name for name in nodes.slot_of if name in helping]

    def _indices(self) -> range:
        return range(len(self._types))


def _usable(amounts: I64Matrix, requests: I64Matrix) -> I64Matrix:
    """Return how much of each resource of nodes whole pods can use at most; nodes by resources.

    A node takes no more pods than fit if each had the least request of all in each resource, and
    these use no more than if each had the greatest one. `requests` is pods by resources; each pod
    has a request for `pods`.
    """
    if not len(requests):
        return np.zeros_like(amounts)
    least, amounts = requests.min(axis=0), np.maximum(amounts, 0)
    counts = (amounts[:, least > 0] // least[least > 0]).min(axis=1)
    usable: I64Matrix = np.minimum(amounts, counts[:, np.newaxis] * requests.max(axis=0))
    return usable


def least_price(types: Sequence[NodeType], rows: Sequence[tuple[Sequence[int], int]]) -> float:
    """Return the least price of fractions of nodes that have enough of each resource.

    Parameters
    ----------
    types : sequence of NodeType
    rows : sequence of (sequence of int, int)
        How much of a resource a node of each type has, and how much is needed.

    Notes
    -----
    The dual linear program, by the simplex method: each resource gets a price, such that no node
    costs less than what it has, and what is needed costs most. Any such prices are a bound, so
    rounding errors and an early end do not make it wrong. Bland's rule avoids cycles.
    """
    limited = [index for index, each in enumerate(types) if each.max is not None]
    # One column per resource, in parts of what is needed, and one per limit on a type.
    table = np.zeros((len(types) + 1, len(rows) + len(limited) + len(types) + 1))
    for column, (amounts, need) in enumerate(rows):
        table[:-1, column] = np.array(amounts) / need
        table[-1, column] = 1.0
    for column, index in enumerate(limited, len(rows)):
        table[index, column] = -1.0
        table[-1, column] = -float(types[index].max or 0)
    table[:-1, -1 - len(types) : -1] = np.eye(len(types))
    table[:-1, -1] = [each.price for each in types]
    for _ in range(_MOST_PIVOTS):
        gains = np.flatnonzero(table[-1, :-1] > _ROUNDING)
        if not len(gains):
            break
        column = int(gains[0])
        ratios = [
            (row[-1] / row[column], index)
            for index, row in enumerate(table[:-1])
            if row[column] > _ROUNDING
        ]
        if not ratios:
            break
        pivot = min(ratios)[1]
        table[pivot] /= table[pivot, column]
        for index in range(len(table)):
            if index != pivot:
                table[index] -= table[index, column] * table[pivot]
    return max(0.0, -float(table[-1, -1]))


def _demand(pod: Pod) -> dict[str, int]:
    return {**pending_requests(pod), "pods": 1}


def _sum(demand: Iterable[dict[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for each in demand:
        total.update(each)
    return total


def _plus(counts: _Counts, index: int, number: int) -> _Counts:
    return (*counts[:index], counts[index] + number, *counts[index + 1 :])


def _near(counts: _Counts) -> Iterator[_Counts]:
    """Yield mixes with up to half of a type removed, and with one or two exchanged."""
    for index, number in enumerate(counts):
        for less in {1, 2, number // 2} - {0}:
            yield _plus(counts, index, -less)
    for old, new in product(range(len(counts)), repeat=2):
        if old != new:
            for less, more in product((1, 2, 3), (1, 2)):
                yield _plus(_plus(counts, old, -less), new, more)
