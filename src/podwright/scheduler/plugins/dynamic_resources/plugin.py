"""DynamicResources: nodes must have the devices that the claims of the pod request.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from podwright._arrays import I32Array, Mask
from podwright.apimachinery.devices import (
    AllocationError,
    Features,
    MissingClaimError,
    UnsupportedSelectorError,
    allocation_results,
    claim_name,
    claims_of_pod,
    has_timed_out,
    is_reserved_for,
    preference_score,
    readiness,
    requests_of,
)
from podwright.apimachinery.objects import (
    SECOND_NS,
    Pod,
    PodSpec,
    ResourceClaim,
    pending_requests,
    request_key,
    status_changes_requests,
    with_fields,
)
from podwright.scheduler.columns import (
    FAILS,
    FITS,
    INVALID_POOLS,
    NO_DEVICES,
    Cluster,
    FitColumn,
    NodeColumns,
    Reads,
    SearchSettings,
    compile_node_selector,
    node_terms_mask,
)
from podwright.scheduler.config import DEFAULT_GATES, DynamicResourcesArgs, Gates
from podwright.scheduler.framework import (
    Cycle,
    EventHint,
    FailedCycle,
    KeyReads,
    Normalization,
    Pending,
    Plugin,
    PostFilterResult,
    Progress,
    ResourceClaimWrite,
    Scores,
    Status,
    Verdicts,
    extended_requests,
    in_memory_claim,
    is_in_memory,
)
from podwright.scheduler.plugins import hints
from podwright.scheduler.plugins.dynamic_resources.claim_writes import WORK, ClaimWrites, with_user
from podwright.scheduler.plugins.dynamic_resources.pod_devices import (
    NO_ROWS,
    RESERVED,
    STATE,
    NodeAllocation,
    NodeGroup,
    PodDevices,
    Reserved,
    node_groups,
)

STEPS_PER_SECOND = 100_000
"""How many steps of a search stand for a second of `filterTimeout`."""

_FILTER_TIMEOUT_NS = 10 * SECOND_NS
_BINDING_TIMEOUT_NS = 600 * SECOND_NS
_MOST_TEXTS = 64

NOT_ALLOCATED = Status.unresolvable("cannot allocate all claims")
INVALID = Status.unresolvable("invalid resource pools were encountered")
NOT_AVAILABLE = Status.unresolvable("resourceclaim not available on the node")
STALE = Status.unresolvable("cannot schedule extended resource claim")
UNFIT = Status.unresolvable("cannot fit resource")

_NOT_FOUND = Status.error("claim allocation not found for node")
_NOTHING = KeyReads(Reads.NOTHING, Reads.NOTHING, Reads.NODE)
_EVERYTHING = KeyReads(Reads.CLUSTER, Reads.CLUSTER, Reads.CLUSTER)
# Changes of devices are recorded as changes of pods; see `Cluster.record_device_changes`.
_PER_NODE = KeyReads(Reads.NOTHING, Reads.NODE | Reads.PODS, Reads.NODE)


class _NewClaims(NamedTuple):
    """The key of pods whose claims are all to be allocated.

    Attributes
    ----------
    specs : tuple of int
        The numbers of the claims' specs, in order.
    """

    specs: tuple[int, ...]


class DynamicResources(Plugin):
    """Allocate devices to the claims of pods."""

    name = "DynamicResources"
    key_reads_all_labels = False
    Args: ClassVar[type[DynamicResourcesArgs]] = DynamicResourcesArgs
    pre_filter_reads = Reads.CLUSTER
    filter_reads = Reads.CLUSTER
    score_reads = Reads.NODE
    normalization = Normalization.DEFAULT
    scores_in_range = True
    rests_when_skipped = True
    takes_gates = True

    def __init__(
        self, args: DynamicResourcesArgs | None = None, *, gates: Gates = DEFAULT_GATES
    ) -> None:
        self.args = DynamicResourcesArgs() if args is None else args
        self._is_enabled = "DynamicResourceAllocation" in gates
        self._maps_device_classes = "DRAExtendedResource" in gates
        features = Features.of(gates)
        self._waits_for_conditions = features.binding_conditions
        timeout_ns = self.args.filter_timeout_ns
        if timeout_ns is None:
            timeout_ns = _FILTER_TIMEOUT_NS
        most_steps = -(-timeout_ns * STEPS_PER_SECOND // SECOND_NS)
        if "DRASchedulerFilterTimeout" not in gates:
            most_steps = 0
        self._latest_names: tuple[PodSpec | None, tuple[str, ...]] = (None, ())
        self.settings = SearchSettings(features=features, most_steps=most_steps)
        binding_ns = self.args.binding_timeout_ns
        self._binding_timeout_ns = _BINDING_TIMEOUT_NS if binding_ns is None else binding_ns

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return the events that could undo a rejection, with their hint functions."""
        return (
            hints.dynamic_resources.events_to_register(self._find_claim) if self._is_enabled else ()
        )

    def _find_claim(self, key: str) -> ResourceClaim | None:
        return None if self.handle is None else self.handle.find(ResourceClaim, key)

    # ------------------------------------------------------------ keys

    def sign_pod(self, pod: Pod) -> Mapping[str, object] | None:
        """Return nothing; pods with claims are like no other."""
        if pod.spec.resource_claims:
            return None
        return {}

    def pod_key(self, pod: Pod) -> Hashable:
        """Return whether there are claims, and what decides the extended resources.

        The claims are read in every cycle, so pods with any claims share a key.
        """
        if not self._is_enabled:
            return ()
        has_claims = bool(pod.spec.resource_claims)
        extended = extended_requests(pod) if self._maps_device_classes else ()
        if not has_claims and not extended:
            return ()
        # Whether the amount of a resource is 0 depends on all requests.
        return (has_claims, extended, request_key(pod) if extended else ())

    def key_is_of_template(self, pod: Pod) -> bool:
        """Return whether the key depends on the spec alone: the pod has not been resized."""
        return not status_changes_requests(pod)

    def reads_for(self, key: Hashable, cluster: Cluster) -> KeyReads:
        """Return the cluster for pods with claims, and nothing for others."""
        if isinstance(key, _NewClaims):
            return _PER_NODE
        if isinstance(key, tuple) and key:
            has_claims, extended, _ = key
            if has_claims or any(map(cluster.device_classes.class_of, extended)):
                return _EVERYTHING
        return _NOTHING

    def key_in_cluster(self, cycle: Cycle) -> Hashable | None:
        """Return the specs of the claims, if all of them are to be allocated.

        Then the nodes that pass depend on the specs and on each node's devices alone. None if
        the score is not 0 on all nodes: prioritized lists have different scores.
        """
        if not self.pre_filter(cycle).is_success:
            return None
        state = cycle.read(STATE)
        if state.special is not None or len(state.unallocated) != len(state.claims):
            return None
        for claim in state.claims:
            for request in requests_of(claim.spec):
                if request.has_alternatives:
                    return None
        return _NewClaims(tuple(map(cycle.cluster.devices.spec_number, state.claims)))

    # ------------------------------------------------------------ before filtering

    def pre_enqueue(self, pod: Pod) -> Status:
        """Hold pods back until all their claims exist."""
        if not self._is_enabled or not pod.spec.resource_claims or self.handle is None:
            return Status.OK
        try:
            claims_of_pod(pod, self._find_claim)
        except MissingClaimError as missing:
            return Status.unresolvable(str(missing))
        return Status.OK

    def pre_filter(self, cycle: Cycle) -> Status:
        """Find the claims; reject pods whose claims cannot be allocated on any node."""
        pod, cluster = cycle.pod, cycle.cluster
        if not self._is_enabled:
            return Status.SKIPPED
        claims: list[ResourceClaim] = []
        if pod.spec.resource_claims:
            try:
                claims = claims_of_pod(pod, cluster.devices.claim)
            except MissingClaimError as missing:
                cycle.write(STATE, PodDevices(pod, [], None))
                return Status.unresolvable(str(missing))
        extended = self._extended(pod, cluster)
        special = None
        if extended:
            special = cluster.devices.special_claim_of(pod) or in_memory_claim(pod)
        state = PodDevices(pod, claims, special)
        state.extended = extended
        if not state.claims:
            cycle.write(STATE, state)
            return Status.SKIPPED
        status = self._check(state, cluster)
        cycle.write(STATE, state if status.is_success else PodDevices(pod, [], None))
        return status

    def _extended(self, pod: Pod, cluster: Cluster) -> dict[str, int]:
        """Return the pod's extended resources, if a class backs one of them."""
        names = self._extended_names(pod)
        if not names:
            return {}
        amounts = pending_requests(pod)
        requested = {name: amounts[name] for name in names if amounts.get(name)}
        return requested if any(map(cluster.device_classes.class_of, requested)) else {}

    def _extended_names(self, pod: Pod) -> tuple[str, ...]:
        """Return the extended resources in the spec; pods of one template share their spec."""
        if not self._maps_device_classes:
            return ()
        spec = pod.spec
        if self._latest_names[0] is not spec:
            self._latest_names = spec, extended_requests(pod)
        return self._latest_names[1]

    def _check(self, state: PodDevices, cluster: Cluster) -> Status:
        devices = cluster.devices
        unallocated = []
        for index, claim in enumerate(state.claims):
            allocation = claim.status.allocation
            if allocation is not None:
                if allocation.node_selector is not None:
                    terms = compile_node_selector(allocation.node_selector)
                    if terms.errors:
                        return Status.error(", ".join(terms.errors))
                    state.nodes[index] = terms
                continue
            unallocated.append(index)
            if devices.pending(claim.metadata.uid) is not None:
                return Status.unresolvable(
                    f"resource claim {claim_name(claim)} is in the process of being allocated"
                )
            if claim is not state.special:
                status = self._check_requests(claim, cluster)
                if not status.is_success:
                    return status
        state.unallocated = tuple(unallocated)
        return Status.OK

    def _check_requests(self, claim: ResourceClaim, cluster: Cluster) -> Status:
        """Reject requests without a class."""
        for request in requests_of(claim.spec):
            if not request.choices:
                return Status.unresolvable(
                    f"resource claim {claim_name(claim)}, request {request.name}:"
                    " unknown request type"
                )
            if request.has_alternatives and not self.settings.features.prioritized_list:
                return Status.unresolvable(
                    f"resource claim {claim_name(claim)}, request {request.name}: has"
                    " subrequests, but the DRAPrioritizedList feature is disabled"
                )
            for choice in request.choices:
                if not choice.class_name:
                    return Status.error(f"request {choice.full_name}: unsupported request type")
                if choice.class_name not in cluster.devices.classes:
                    return Status.unresolvable(
                        f"request {choice.full_name}: device class {choice.class_name}"
                        " does not exist"
                    )
        return Status.OK

    # ------------------------------------------------------------ filtering

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Reject nodes without devices for the claims, and nodes that allocations exclude."""
        state, cluster = cycle.read(STATE), cycle.cluster
        if not state.claims:
            return
        rows, codes = out.rows, out.codes
        if state.is_new:
            self._filter_group(cluster, NodeGroup(rows, tuple(state.claims)), out)
            return
        if state.is_stale:
            codes[rows] = out.code_of(STALE)
            return
        groups, unfit = node_groups(state, cluster, rows)
        if len(unfit):
            codes[unfit] = out.code_of(UNFIT)
        unavailable = self._unavailable(state, nodes, rows)
        if unavailable is not None:
            in_group: Mask = np.zeros(nodes.n_slots, dtype=np.bool_)
            for group in groups:
                # A pod that needs nothing but what the node has passes.
                if group.claims or not state.has_only_special:
                    in_group[group.rows] = True
            codes[rows[unavailable & in_group[rows]]] = out.code_of(NOT_AVAILABLE)
        for group in groups:
            if group.claims:
                self._filter_group(cluster, group, out)

    def _filter_group(self, cluster: Cluster, group: NodeGroup, out: Verdicts) -> None:
        column = self._column(cluster, group)
        rows, codes = group.rows, out.codes
        if len(rows) == 1 and column.codes[rows[0]] == FITS:
            # Mostly one node has changed, and operations on arrays have a high fixed cost.
            return
        found = column.codes[rows]
        if not found.any():
            return
        # What the search finds counts before unavailable claims.
        for code, status in ((NO_DEVICES, NOT_ALLOCATED), (INVALID_POOLS, INVALID)):
            rejected = rows[found == code]
            if len(rejected):
                codes[rejected] = out.code_of(status)
        failing = rows[found == FAILS].tolist()
        text = ""
        for place, slot in enumerate(failing):
            if place < _MOST_TEXTS:
                text = self.failure_text(cluster, slot, group)
            out.reject_slot(slot, Status.error(text))

    def _column(self, cluster: Cluster, group: NodeGroup) -> FitColumn:
        return cluster.device_fits.column(group.claims, self.settings, cluster.live_slots())

    def failure_text(self, cluster: Cluster, slot: int, group: NodeGroup) -> str:
        """Return the error with which the search ends on a node."""
        try:
            cluster.device_fits.search(slot, group.claims, self.settings).run()
        except AllocationError as error:
            return str(error)
        raise AssertionError(f"the search on slot {slot} failed before")

    def _unavailable(self, state: PodDevices, nodes: NodeColumns, rows: I32Array) -> Mask | None:
        """Return the nodes that cannot use an allocated claim; None if there are none."""
        found: Mask | None = None
        for index, claim in enumerate(state.claims):
            mask = self._unavailable_for(state, index, claim, nodes, rows)
            if mask is not None:
                found = mask if found is None else found | mask
        return found

    def _unavailable_for(
        self,
        state: PodDevices,
        index: int,
        claim: ResourceClaim,
        nodes: NodeColumns,
        rows: I32Array,
    ) -> Mask | None:
        if claim.status.allocation is None:
            return None
        if self._waits_for_conditions:
            ready = readiness(claim)
            if ready.failure or (not ready.is_ready and self._is_late(claim)):
                everywhere: Mask = np.ones(len(rows), dtype=np.bool_)
                return everywhere
        terms = state.nodes[index]
        if terms is None:
            return None
        mask: Mask = ~node_terms_mask(terms, nodes, rows)
        return mask

    def _is_late(self, claim: ResourceClaim) -> bool:
        now_ns = 0 if self.handle is None else self.handle.now_ns
        return has_timed_out(claim, self._binding_timeout_ns, now_ns)

    # ------------------------------------------------------------ making room

    def post_filter(self, cycle: Cycle, failed: FailedCycle) -> PostFilterResult:
        """Free the devices of a claim that no node can use.

        Notes
        -----
        Of several claims, upstream chooses one at random; here it is the first. If another
        plugin rejected the pod before this one's PreFilter ran, upstream misses the state that
        PreFilter leaves, and fails.
        """
        if not self._is_enabled:
            return PostFilterResult(status=Status.unschedulable("plugin disabled"))
        state = cycle.find(STATE)
        if state is None:
            return PostFilterResult(status=Status.error("not found"))
        if not state.claims:
            return PostFilterResult(status=Status.unschedulable("no new claims to deallocate"))
        uid = state.pod.metadata.uid
        for claim in self.unavailable_claims(cycle, failed):
            if claim is state.special:
                continue
            users = claim.status.reserved_for
            if not users or (len(users) == 1 and users[0].uid == uid):
                freed = with_fields(claim, "status", allocation=None, reserved_for=(), devices=())
                return PostFilterResult(
                    status=Status.unschedulable("deallocation of ResourceClaim completed"),
                    calls=(ResourceClaimWrite("updateStatus", freed),),
                )
        if state.special is not None and not is_in_memory(state.special):
            return PostFilterResult(
                status=Status.unschedulable("deletion of ResourceClaim completed"),
                calls=(ResourceClaimWrite("delete", state.special),),
            )
        return PostFilterResult(status=Status.unschedulable("still not schedulable"))

    def unavailable_claims(self, cycle: Cycle, failed: FailedCycle) -> list[ResourceClaim]:
        """Return the allocated claims because of which a node was rejected, in order."""
        state, cluster = cycle.read(STATE), cycle.cluster
        live = cluster.live_slots()
        rejected = [
            slot
            for slot in live.tolist()
            if failed.status_of(cluster.nodes.names[slot]) == NOT_AVAILABLE.by(self.name)
        ]
        rows: I32Array = np.array(rejected, dtype=np.int32)
        found = []
        for index, claim in enumerate(state.claims):
            mask = self._unavailable_for(state, index, claim, cluster.nodes, rows)
            if mask is not None and mask.any():
                found.append(claim)
        return found

    # ------------------------------------------------------------ scoring

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        """Score the alternatives of prioritized lists that were chosen; 0 without any."""
        out.values[out.rows] = 0
        state = cycle.find(STATE)
        if state is None:
            if self._is_enabled:
                cycle.read(STATE)
            return
        if not state.unallocated:
            return
        allocated = sum(map(preference_score, state.claims))
        for group in node_groups(state, cycle.cluster, out.rows).groups:
            if group.claims:
                column = self._column(cycle.cluster, group)
                out.values[group.rows] = column.scores[group.rows] + allocated

    # ------------------------------------------------------------ placing

    def allocate_on(self, cycle: Cycle, node_name: str) -> NodeAllocation | Status | None:
        """Return what would be allocated on a node.

        Returns
        -------
        NodeAllocation, Status or None
            None: nothing needs to be allocated there. A Status: why it is not possible.
        """
        state, cluster = cycle.read(STATE), cycle.cluster
        slot = cluster.nodes.slot_of.get(node_name, -1)
        if not state.unallocated or slot < 0:
            return None if not state.unallocated else _NOT_FOUND
        if state.is_new:
            group = NodeGroup(NO_ROWS, tuple(state.claims))
        else:
            groups = node_groups(state, cluster, np.array([slot], dtype=np.int32)).groups
            if not groups:
                return _NOT_FOUND
            (group,) = groups
        claims = group.claims
        if not claims:
            return None
        try:
            solution = cluster.device_fits.solve(slot, claims, self.settings)
            if solution is None:
                return _NOT_FOUND
            results = allocation_results(solution, claims, cluster.devices.classes, node_name)
        except AllocationError as error:
            return Status.error(str(error))
        except UnsupportedSelectorError as error:
            return Status.error(f"create NodeSelector: {error}")
        return NodeAllocation(claims, results, group.special, group.mappings)

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        """Count the devices of the chosen node as allocated.

        Notes
        -----
        Nothing that the filter read has changed since, so the solution is the filter's.
        """
        state = cycle.read(STATE)
        if not state.claims:
            return Status.OK
        reserved = Reserved(list(state.claims))
        cycle.write(RESERVED, reserved)
        found = self.allocate_on(cycle, node_name)
        if found is None:
            if self.handle is not None and not self.handle.binds:
                self._assume(cycle, state, reserved)
            return Status.OK
        if isinstance(found, Status):
            return found
        reserved.special, reserved.mappings = found.special, found.mappings
        for index, allocation in zip(state.unallocated, found.results, strict=True):
            uid = state.claims[index].metadata.uid
            reserved.allocations[index] = allocation
            reserved.pending[index] = uid
            cycle.cluster.devices.set_pending(uid, allocation)
        if self.handle is not None and not self.handle.binds:
            self._assume(cycle, state, reserved)
        return Status.OK

    def _assume(self, cycle: Cycle, state: PodDevices, reserved: Reserved) -> None:
        """Count the claims as written: nothing will write them.

        The claim for extended resources stays pending, because nothing else can use it.
        """
        devices = cycle.cluster.devices
        for index, claim in enumerate(state.claims):
            if claim is state.special or claim.key not in devices.claims:
                continue
            allocation = reserved.allocations.get(index, claim.status.allocation)
            written = with_user(claim, cycle.pod, allocation)
            devices.assume(written)
            uid = reserved.pending.pop(index, None)
            if uid is not None:
                devices.remove_pending(uid)
            reserved.claims[index] = written

    def _forget(self, cycle: Cycle, claim: ResourceClaim) -> None:
        """Undo `_assume` for one claim: the last pod that uses it frees its devices."""
        devices = cycle.cluster.devices
        present = devices.claim(claim.key)
        if present is None or not is_reserved_for(present, cycle.pod):
            return
        left = tuple(
            user for user in present.status.reserved_for if user.uid != cycle.pod.metadata.uid
        )
        if left:
            devices.assume(with_fields(present, "status", reserved_for=left))
        else:
            devices.restore(claim.key)

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        """Stop counting the devices, and remove the pod from the claims."""
        state, reserved = cycle.find(STATE), cycle.find(RESERVED)
        if state is None or reserved is None:
            return
        devices, pod = cycle.cluster.devices, cycle.pod
        for index, claim in enumerate(reserved.claims):
            uid = reserved.pending.get(index)
            if uid is not None and devices.remove_pending(uid):
                devices.restore(claim.key)
            if self.handle is None:
                continue
            if not self.handle.binds:
                self._forget(cycle, claim)
                continue
            if state.special is not None and index == len(reserved.claims) - 1:
                if not is_in_memory(claim):
                    self.handle.request(ResourceClaimWrite("delete", claim))
            elif claim.status.allocation is not None and is_reserved_for(claim, pod):
                self.handle.request(ResourceClaimWrite("release", claim, pod.metadata.uid))

    def pre_bind_pre_flight(self, cycle: Cycle, node_name: str) -> Status:
        """Skip pods without claims."""
        if not self._is_enabled:
            return Status.SKIPPED
        return Status.OK if cycle.read(STATE).claims else Status.SKIPPED

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        """Write the allocations, and reserve the claims for the pod."""
        state = cycle.read(STATE)
        if not self._is_enabled or not state.claims:
            return Status.OK
        now_ns = 0 if self.handle is None else self.handle.now_ns
        reserved = cycle.find(RESERVED)
        if reserved is None:
            reserved = Reserved(list(state.claims))
            cycle.write(RESERVED, reserved)
        work = ClaimWrites(
            cycle,
            state,
            reserved,
            node_name=node_name,
            binding_timeout_ns=self._binding_timeout_ns if self._waits_for_conditions else None,
            handle=self.handle,
        )
        cycle.write(WORK, work)
        return work.begin(now_ns)

    def continue_pre_bind(
        self, cycle: Cycle, node_name: str, progress: Progress
    ) -> Status | Pending:
        """Continue with the answers to the writes, or look at the binding conditions again."""
        return cycle.read(WORK).go_on(progress)
