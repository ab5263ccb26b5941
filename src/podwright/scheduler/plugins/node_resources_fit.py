"""NodeResourcesFit: nodes must have free resources for the pod's requests.

**What it does.** Rejects nodes whose free resources do not cover the pod's requests, or that
have the maximum number of pods. Scores nodes by the requested share of their resources: low
(LeastAllocated), high (MostAllocated), or by a shape (RequestedToCapacityRatio).

**Why it matters.** It prevents overcommitted nodes, and spreads or packs the load.

**Configuration.** ``ignoredResources`` and ``ignoredResourceGroups`` name extended resources,
or the part before their slash, that are not checked. ``scoringStrategy`` has the ``type``,
the ``resources`` with their weights, and the shape.

An extended resource that a DeviceClass backs (``spec.extendedResourceName``, or the name
``deviceclass.resource.kubernetes.io/<class>``; feature gate DRAExtendedResource) is not checked
on nodes that do not have it: DynamicResources allocates devices there.

**Example.** A node with 1 free CPU rejects a pod that requests 2 CPUs with ``Insufficient
cpu``. The rejection is unresolvable (preemption is not tried) if the node's allocatable CPU is
less than 2.

Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go, resource_allocation.go,
least_allocated.go, most_allocated.go, requested_to_capacity_ratio.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

import msgspec
import numpy as np

from podwright._arrays import I32Array, I64Array, I64Matrix
from podwright.apimachinery.objects import (
    NamespacedName,
    Pod,
    PodStatus,
    is_extended_resource,
    is_scalar_resource,
    pending_requests,
    request_key,
    score_requests_fit,
    status_changes_requests,
)
from podwright.scheduler.columns import CPU, EPHEMERAL_STORAGE, MEMORY, Cluster, device_totals
from podwright.scheduler.config import (
    DEFAULT_GATES,
    Gates,
    NodeResourcesFitArgs,
    ResourceSpec,
    ScoringStrategy,
)
from podwright.scheduler.framework import (
    Code,
    Cycle,
    EventHint,
    KeyReads,
    NodeColumns,
    Placement,
    Plugin,
    Reads,
    RequestScore,
    Scores,
    StateKey,
    Status,
    Verdicts,
    extended_requests,
    resources_fragment,
    shape_table,
)
from podwright.scheduler.kernels import fit as fit_kernels, pair_scores, resource_scores
from podwright.scheduler.kernels.fit import (
    FIRST_RESOURCE_BIT,
    MOST_RESOURCE_BITS,
    TOO_MANY_PODS,
    UNRESOLVABLE,
)
from podwright.scheduler.kernels.pair_scores import FEWEST
from podwright.scheduler.kernels.resource_scores import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    NON_ZERO,
    PLAN_WIDTH,
    REQUESTED,
)
from podwright.scheduler.plugins import hints

_STRATEGIES = {"LeastAllocated": LEAST_ALLOCATED, "MostAllocated": MOST_ALLOCATED}
_DEFAULT_STRATEGY = ScoringStrategy(
    type="LeastAllocated",
    resources=(ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1)),
)
_FIXED = {"cpu": CPU, "memory": MEMORY, "ephemeral-storage": EPHEMERAL_STORAGE}


class _Request:
    """The requests of a pod, and the status of its verdict codes.

    Attributes
    ----------
    pairs : (2 * n,) int64
        Resource column and amount, in the order in which upstream reports them.
    """

    __slots__ = ("_names", "_statuses", "pairs")

    def __init__(self, amounts: Mapping[str, int], nodes: NodeColumns) -> None:
        scalars = sorted(name for name in amounts if name not in _FIXED)
        self._names = [name for name in (*_FIXED, *scalars) if amounts.get(name, 0) > 0]
        nodes.add_resources(self._names)
        pairs: list[int] = []
        for name in self._names:
            pairs += (nodes.resource_index(name), amounts[name])
        self.pairs: I64Array = np.array(pairs, dtype=np.int64)
        self._statuses: dict[int, Status] = {}

    def status_of(self, code: int) -> Status:
        """Return the status of a code of `fit_codes`."""
        status = self._statuses.get(code)
        if status is None:
            status = self._statuses[code] = self._read(code)
        return status

    def _read(self, code: int) -> Status:
        reasons = ["Too many pods"] if code & TOO_MANY_PODS else []
        for i, name in enumerate(self._names):
            if code >> min(FIRST_RESOURCE_BIT + i, MOST_RESOURCE_BITS) & 1:
                reasons.append(f"Insufficient {name}")
        is_final = bool(code & UNRESOLVABLE)
        answer = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if is_final else Code.UNSCHEDULABLE
        return Status(answer, tuple(reasons))


_NOT_CHECKED = -(2**62)
"""A request that fits every node, also where more than the node has is requested already."""
_MOST_POINTS: Final = 100
_EXTENDED = "extended resources"
"""Marks the key of a pod that requests extended resources."""
_REQUEST: StateKey[_Request] = StateKey(
    "PreFilterNodeResourcesFit", "error reading {} from cycleState: not found"
)
_PLAN: StateKey[I64Array] = StateKey("PreScoreNodeResourcesFit")


class NodeResourcesFit(Plugin):
    """Reject nodes without room, and score the others by how full they are."""

    name = "NodeResourcesFit"
    key_reads_all_labels = False
    Args: ClassVar[type[NodeResourcesFitArgs]] = NodeResourcesFitArgs
    pre_filter_reads = Reads.NOTHING
    filter_reads = Reads.NODE | Reads.PODS
    pre_score_reads = Reads.NOTHING
    score_reads = Reads.NODE | Reads.PODS
    scores_in_range = True
    key_varies = True
    takes_gates = True

    def __init__(
        self, args: NodeResourcesFitArgs | None = None, *, gates: Gates = DEFAULT_GATES
    ) -> None:
        self._maps_device_classes = "DRAExtendedResource" in gates
        args = NodeResourcesFitArgs() if args is None else args
        strategy = args.scoring_strategy or _DEFAULT_STRATEGY
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._resources = strategy.resources
        self._strategy = _STRATEGIES.get(strategy.type)
        self._shape: I64Array = np.zeros(0, dtype=np.int64)
        if self._strategy is None:
            ratio = strategy.requested_to_capacity_ratio
            assert ratio is not None, f"strategy {strategy.type!r} has no shape"
            self._shape = shape_table(ratio.shape)
        # Most forms of pods have a key of their own, and operations on flags take long.
        of_requests = self.preparation_reads(None)
        self._usual_reads = KeyReads(of_requests, self.filter_reads, self.score_reads)

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return the events that could undo a rejection, with their hint functions."""
        return hints.node_resources_fit.events_to_register(
            self._class_of, dra_extended_resource=self._maps_device_classes
        )

    def _class_of(self, resource: str) -> str:
        return "" if self.handle is None else self.handle.device_class_of(resource)

    def sign_pod(self, pod: Pod) -> Mapping[str, object]:
        """Return the requests of the pod."""
        return resources_fragment(pod)

    def pod_key(self, pod: Pod) -> Hashable:
        """Return what decides the pod's requests."""
        key = request_key(pod)
        if self._maps_device_classes and (extended := extended_requests(pod)):
            return (_EXTENDED, extended, key)
        return key

    def key_is_of_template(self, pod: Pod) -> bool:
        """Return whether the key depends on the spec alone: the pod has not been resized."""
        return not status_changes_requests(pod)

    def reads_for(self, key: Hashable, cluster: Cluster) -> KeyReads:
        """Return the devices for pods with extended resources that classes back, too."""
        if isinstance(key, tuple) and key[:1] == (_EXTENDED,):
            backed = any(map(cluster.device_classes.class_of, key[1]))
            if backed:
                return KeyReads(
                    Reads.DEVICE_CLASSES, self.filter_reads, self.score_reads | Reads.DEVICES
                )
        return super().reads_for(key, cluster) if key == () else self._usual_reads

    def _backed(self, cycle: Cycle) -> dict[str, str]:
        """Return the classes of the pod's extended resources, by resource."""
        if not self._maps_device_classes or not cycle.cluster.devices.classes:
            return {}
        class_of = cycle.cluster.device_classes.class_of
        found = {name: class_of(name) for name in extended_requests(cycle.pod)}
        return {name: class_name for name, class_name in found.items() if class_name}

    def pre_filter(self, cycle: Cycle) -> Status:
        """Sum the requests of the pod."""
        amounts = pending_requests(cycle.pod)
        checked = {name: n for name, n in amounts.items() if self._is_checked(name)}
        cycle.write(_REQUEST, _Request(checked, cycle.cluster.nodes))
        return Status.OK

    def _is_checked(self, name: str) -> bool:
        if name in _FIXED:
            return True
        # Upstream ignores configured names only if they are extended resources.
        if is_extended_resource(name):
            return name not in self._ignored and name.partition("/")[0] not in self._ignored_groups
        return is_scalar_resource(name)

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Reject nodes that lack something."""
        request = cycle.read(_REQUEST)
        out.decode = request.status_of
        backed = self._backed(cycle)
        for rows, pairs in _delegated(request.pairs, backed, nodes, out.rows):
            fit_kernels.fit_codes(nodes.allocatable, nodes.requested, pairs, rows, out.codes)

    def filter_as_sums(self, cycle: Cycle) -> I64Array | None:
        """Return the requests of the pod; None without PreFilter, or with devices among them."""
        request = cycle.find(_REQUEST)
        return None if request is None or self._backed(cycle) else request.pairs

    def pre_score(self, cycle: Cycle) -> Status:
        """Plan which resources to score, and with how much of the pod's."""
        cycle.write(_PLAN, self._plan(cycle))
        return Status.OK

    def _plan(self, cycle: Cycle) -> I64Array:
        amounts = score_requests_fit(_as_scored(cycle.pod))
        cycle.cluster.nodes.note_amounts(amounts.values())
        return score_plan(self._resources, amounts, cycle.cluster.nodes)

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        """Score by the requested amounts with the pod.

        Notes
        -----
        Without its PreScore it plans here. Upstream: fit.go, `Score`
        """
        plan = cycle.find(_PLAN)
        if plan is None:
            plan = self._plan(cycle)
        allocatable, requested = nodes.allocatable, nodes.requested
        non_zero = nodes.non_zero_requested
        backed = self._backed(cycle)
        scored = {resource.name for resource in self._resources}
        if not scored.isdisjoint(backed):
            allocatable, requested = _with_devices(
                allocatable, requested, backed, cycle.cluster, out.rows
            )
        if len(out.rows) >= FEWEST and self._strategy is not None and is_pair(plan):
            used = non_zero if plan[0] == NON_ZERO else requested
            if pair_scores.pair_allocation_scores(
                allocatable, used, plan, self._strategy, out.rows, out.values
            ):
                return
        if self._strategy is None:
            resource_scores.shaped_scores(
                allocatable, requested, non_zero, plan, self._shape, out.rows, out.values
            )
        else:
            resource_scores.allocation_scores(
                allocatable, requested, non_zero, plan, self._strategy, out.rows, out.values
            )

    def score_placement(self, cluster: Cluster, group: NamespacedName, placement: Placement) -> int:
        """Return how full the nodes of a placement are together, whatever the strategy.

        Notes
        -----
        Upstream: fit.go, `ScorePlacement`; resource_allocation.go, scorePlacement
        """
        del group
        amounts: Counter[str] = Counter()
        for pod in placement.pods:
            amounts.update(score_requests_fit(_as_scored(pod)))
        nodes, slots = cluster.nodes, placement.slots
        total = weights = 0
        plan = score_plan(self._resources, amounts, nodes).reshape(-1, PLAN_WIDTH)
        for source, column, amount, weight in plan.tolist():
            used = nodes.non_zero_requested if source == NON_ZERO else nodes.requested
            there = slots[nodes.allocatable[slots, column] != 0]
            capacity = nodes.allocatable[there, column].sum().item()
            if capacity:
                requested = min(amount + used[there, column].sum().item(), capacity)
                total += requested * _MOST_POINTS // capacity * weight
                weights += weight
        return total // weights if weights else 0

    def score_as_requests(self, cycle: Cycle) -> RequestScore | None:
        """Return the plan; None without its PreScore, and if the score has a shape."""
        plan = cycle.find(_PLAN)
        if plan is None or self._strategy is None or self._backed(cycle):
            return None
        return RequestScore(plan, strategy=self._strategy)


def _delegated(
    pairs: I64Array, backed: Mapping[str, str], nodes: NodeColumns, rows: I32Array
) -> Iterator[tuple[I32Array, I64Array]]:
    """Yield groups of slots, with the requests that count there.

    Parameters
    ----------
    pairs : (2 * n,) int64
        Resource column and amount.
    backed : mapping of str to str
        Resources that device classes back. A node without any of such a resource provides it
        through DynamicResources, so that the request is not checked there.

    Notes
    -----
    Upstream: fit.go, `shouldDelegateResourceToDRA`
    """
    places = [
        place
        for name in backed
        for place in np.flatnonzero(pairs[::2] == nodes.resource_index(name)).tolist()
    ]
    if not places:
        yield rows, pairs
        return
    pattern: I64Array = np.zeros(len(rows), dtype=np.int64)
    for bit, place in enumerate(places):
        is_absent = nodes.allocatable[rows, pairs[2 * place]] == 0
        pattern += is_absent.astype(np.int64) << bit
    for bits in np.unique(pattern).tolist():
        counted = pairs.copy()
        for bit, place in enumerate(places):
            if bits >> bit & 1:
                counted[2 * place + 1] = _NOT_CHECKED
        yield rows[pattern == bits], counted


def _with_devices(
    allocatable: I64Matrix,
    requested: I64Matrix,
    backed: Mapping[str, str],
    cluster: Cluster,
    rows: I32Array,
) -> tuple[I64Matrix, I64Matrix]:
    """Return copies in which nodes without a backed resource have their devices instead."""
    allocatable, requested = allocatable.copy(), requested.copy()
    for name, class_name in backed.items():
        column = cluster.nodes.resource_index(name)
        absent = rows[allocatable[rows, column] == 0]
        capacity, used = device_totals(cluster, class_name, absent)
        has_devices = capacity > 0
        allocatable[absent[has_devices], column] = capacity[has_devices]
        requested[absent[has_devices], column] = used[has_devices]
    return allocatable, requested


def is_pair(plan: I64Array) -> bool:
    """Return whether a plan has two resources that are counted in the same place."""
    return len(plan) == 2 * PLAN_WIDTH and plan[0] == plan[PLAN_WIDTH]


def _as_scored(pod: Pod) -> Pod:
    """Return the pod as this plugin's scores see it: containers and overhead only.

    Notes
    -----
    Upstream's strategies are made without the gates PodLevelResources and
    InPlacePodVerticalScaling, so they pass over the requests of the pod as a whole, which
    the filter counts (fit.go, `nodeResourceStrategyTypeMap`; golden case resources-t-0010).
    """
    if pod.spec.resources is None and not status_changes_requests(pod):
        return pod
    spec = msgspec.structs.replace(pod.spec, resources=None)
    return msgspec.structs.replace(pod, spec=spec, status=PodStatus(), raw=pod.raw)


def score_plan(
    resources: Sequence[ResourceSpec], amounts: Mapping[str, int], nodes: NodeColumns
) -> I64Array:
    """Return which resources `kernels.resource_scores` scores.

    Returns
    -------
    (4 * k,) int64
        For each resource its source, its column, the request in base units, and its weight.

    Notes
    -----
    A scalar resource that the pod does not request is omitted, and so are resources that nodes
    do not count, such as `pods`. Upstream: resource_allocation.go,
    calculateResourceAllocatableRequest
    """
    plan: list[int] = []
    for resource in resources:
        name, amount = resource.name, amounts.get(resource.name, 0)
        if name not in _FIXED and not (amount and is_scalar_resource(name)):
            continue
        # Pods without requests count in scores as if they requested 100m CPU and 200Mi of memory,
        # so that they do not all land on one node (pkg/scheduler/util/pod_resources.go).
        source = NON_ZERO if name in ("cpu", "memory") else REQUESTED
        plan += (source, nodes.resource_index(name), amount, resource.weight)
    return np.array(plan, dtype=np.int64)
