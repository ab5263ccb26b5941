"""Why a node's devices do not satisfy the claims of a pod: device by device, and in short.

The search for devices is repeated on the node, and each device that it refuses is recorded. It
ends after fewer steps than the scheduler's, so that an explanation never takes long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from podwright.apimachinery.devices import (
    ALL_DEVICES,
    CONSTRAINT,
    IN_USE,
    NO_CAPACITY,
    NO_COUNTERS,
    NOT_SELECTED,
    TAINTED,
    AllocationError,
    DeviceId,
    Features,
    MissingClaimError,
    claim_name,
    claims_of_pod,
    readiness,
    requests_of,
)
from podwright.apimachinery.objects import DeviceTaint, node_selector, pending_requests
from podwright.scheduler.columns import Cluster, SearchSettings
from podwright.scheduler.framework import (
    RequestMapping,
    claim_for_node,
    extended_requests,
    in_memory_claim,
)

if TYPE_CHECKING:
    from podwright.apimachinery.devices import Choice, Pool, SliceDevice
    from podwright.apimachinery.objects import NodeSelector, Pod, ResourceClaim
    from podwright.scheduler.config import Gates

_MOST_STEPS = 20_000
_ORDER = (NOT_SELECTED, TAINTED, CONSTRAINT, NO_COUNTERS, NO_CAPACITY, IN_USE)
"""Of several reasons for one device, the first counts: a later one may depend on a choice."""


class DeviceRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """A device that was tried for a request and refused.

    Parameters
    ----------
    claim : str
        `namespace/name`.
    request : str
        With the alternative, if it has any: ``request/alternative``.
    driver, pool, device : str
        What identifies the device.
    reason : str
    """

    claim: str
    request: str
    driver: str
    pool: str
    device: str
    reason: str


class RefusedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that the devices of a node do not satisfy.

    Parameters
    ----------
    claim : ResourceClaim
    choice : Choice
        The request, or an alternative of it.
    device_count : int
        How many devices there are on the node.
    refusals : dict of DeviceId to (str, SliceDevice, int)
        Per refused device the reason, the device, and which selector or constraint refuses it: a
        selector of the class counts from -1 down; 0 for other reasons.
    mapping : RequestMapping, optional
        The container and the extended resource that the request is for, if a class backs it.
    """

    claim: ResourceClaim
    choice: Choice
    device_count: int
    refusals: dict[DeviceId, tuple[str, SliceDevice, int]]
    mapping: RequestMapping | None = None

    @property
    def usable_count(self) -> int:
        """How many devices were not refused."""
        return self.device_count - len(self.refusals)


class NodeRefusals(msgspec.Struct, frozen=True, kw_only=True):
    """What the search on one node found.

    Parameters
    ----------
    requests : tuple of RefusedRequest
        In the order in which they were reached.
    problems : tuple of str
        Why pools were not tried, and why the search ended early.
    """

    requests: tuple[RefusedRequest, ...] = ()
    problems: tuple[str, ...] = ()


class DeviceRefusals:
    """Finds the refused devices of nodes.

    Parameters
    ----------
    pod : Pod
    cluster : Cluster
    gates : Gates
    changed : mapping of str to ResourceClaim
        Claims that replace those of the cluster, by `namespace/name`.
    """

    def __init__(
        self,
        pod: Pod,
        cluster: Cluster,
        gates: Gates,
        changed: Mapping[str, ResourceClaim] | None = None,
    ) -> None:
        self._cluster = cluster
        self._settings = SearchSettings(features=Features.of(gates), most_steps=_MOST_STEPS)
        find = cluster.devices.claim
        replaced = changed or {}
        try:
            claims = claims_of_pod(pod, lambda key: replaced.get(key) or find(key))
        except MissingClaimError:
            claims = []
        self.claims: Final = [claim for claim in claims if claim.status.allocation is None]
        """The claims without devices yet; empty if one of the pod's claims does not exist."""
        self._allocated_claims = [claim for claim in claims if claim.status.allocation is not None]
        self._pod = pod
        self._extended = _backed_resources(pod, cluster) if "DRAExtendedResource" in gates else ()
        # By the extended resources that devices provide: the claim, and its mappings by request.
        self._special: dict[tuple[str, ...], tuple[ResourceClaim, dict[str, RequestMapping]]] = {}
        self._users: dict[DeviceId, str] | None = None

    def choices(self) -> Iterator[tuple[ResourceClaim, Choice]]:
        """Yield the requests of the claims, and their alternatives, with their claims."""
        for claim in self.claims:
            for request in requests_of(claim.spec):
                for choice in request.choices:
                    yield claim, choice

    def without_class(self) -> Iterator[tuple[ResourceClaim, Choice]]:
        """Yield the requests whose DeviceClass does not exist, with their claims."""
        known = self._cluster.devices.classes
        return (entry for entry in self.choices() if entry[1].class_name not in known)

    def backing_classes(self) -> list[str]:
        """Return the classes that back the extended resources that the pod requests."""
        return [self._cluster.device_classes.class_of(name) for name in self._extended]

    def unavailable(self, name: str) -> list[str]:
        """Return why a node cannot use the claims that have devices already."""
        nodes = self._cluster.nodes
        node = nodes.objects[nodes.slot_of[name]] if name in nodes.slot_of else None
        labels = {} if node is None else node.metadata.labels
        texts = []
        for claim in self._allocated_claims:
            allocation = claim.status.allocation
            assert allocation is not None, "claims without devices are not among them"
            failure = readiness(claim).failure if self._settings.features.binding_conditions else ""
            selector = allocation.node_selector
            if failure:
                texts.append(f"claim {claim_name(claim)}: {failure}")
            elif selector is not None and not node_selector(selector).matches(name, labels):
                texts.append(f"claim {claim_name(claim)} has devices {_where(selector)}")
        return texts

    def of_node(self, name: str) -> NodeRefusals:
        """Return what a search on a node refuses; nothing if all claims are satisfied."""
        slot = self._cluster.nodes.slot_of.get(name)
        if slot is None:
            return NodeRefusals()
        special, mappings = self._special_of(slot)
        claims = [*self.claims, *special]
        if not claims:
            return NodeRefusals()
        by_choice: dict[Choice, dict[DeviceId, tuple[str, SliceDevice, int]]] = {}

        def note(choice: Choice, device: SliceDevice, reason: str) -> None:
            known = by_choice.setdefault(choice, {})
            old = known.get(device.id)
            if old is None or _rank(reason) < _rank(old[0]):
                known[device.id] = reason, device, 0

        search = self._cluster.device_fits.search(slot, claims, self._settings, note)
        problems = [
            f"resource pool {pool.id} is {_state_of(pool)}"
            for pool in search.pools
            if not pool.is_usable
        ]
        try:
            if search.run() is not None:
                return NodeRefusals()
        except AllocationError as error:
            problems.append(str(error))
        count = sum(len(pool.devices) for pool in search.pools if pool.is_usable)
        return NodeRefusals(
            requests=tuple(self._requests(claims, mappings, by_choice, count)),
            problems=tuple(problems),
        )

    def _special_of(self, slot: int) -> tuple[tuple[ResourceClaim, ...], dict[str, RequestMapping]]:
        """Return the claim for extended resources that devices provide on a node, and mappings."""
        cluster = self._cluster
        nodes = cluster.nodes
        names = tuple(
            name
            for name in self._extended
            if (index := nodes.resources.get(name)) is None or not nodes.allocatable[slot, index]
        )
        if not names:
            return (), {}
        known = self._special.get(names)
        if known is None:
            claim, mappings = claim_for_node(
                in_memory_claim(self._pod), self._pod, names, cluster.device_classes
            )
            by_request: dict[str, RequestMapping] = {}
            for mapping in mappings:
                by_request.setdefault(mapping.request, mapping)
            known = self._special[names] = claim, by_request
        return (known[0],), known[1]

    def _requests(
        self,
        claims: Sequence[ResourceClaim],
        mappings: Mapping[str, RequestMapping],
        by_choice: Mapping[Choice, dict[DeviceId, tuple[str, SliceDevice, int]]],
        device_count: int,
    ) -> list[RefusedRequest]:
        found = []
        for claim in claims:
            is_special = claim not in self.claims
            for request in requests_of(claim.spec):
                for choice in request.choices:
                    refusals = by_choice.get(choice, {})
                    if _is_satisfied(choice, device_count, [each[0] for each in refusals.values()]):
                        continue
                    located = {
                        device: (reason, of, self._place(choice, of, reason))
                        for device, (reason, of, _) in refusals.items()
                    }
                    found.append(
                        RefusedRequest(
                            claim=claim,
                            choice=choice,
                            device_count=device_count,
                            refusals=located,
                            mapping=mappings.get(choice.request) if is_special else None,
                        )
                    )
        return found

    def _place(self, choice: Choice, device: SliceDevice, reason: str) -> int:
        """Return which selector or constraint refuses a device."""
        if reason.startswith(CONSTRAINT):
            return int(reason.removeprefix(CONSTRAINT))
        devices = self._cluster.devices
        device_class = devices.classes.get(choice.class_name)
        of_class = () if device_class is None else device_class.spec.selectors
        examined = ((of_class, -1), (choice.selectors, 1)) if reason == NOT_SELECTED else ()
        for selectors, sign in examined:
            for index, selector in enumerate(selectors, 1):
                if not devices.selection.matches((selector,), device, ""):
                    return sign * index
        return 0

    # ------------------------------------------------------------ in words

    def refusals_in_words(self, found: NodeRefusals) -> tuple[DeviceRefusal, ...]:
        """Return every refused device with its reason."""
        return tuple(
            DeviceRefusal(
                claim=claim_name(each.claim),
                request=each.choice.full_name,
                driver=device.driver,
                pool=device.pool,
                device=device.device,
                reason=self._text(each, device, *refusal, with_user=True),
            )
            for each in found.requests
            for device, refusal in each.refusals.items()
        )

    def summary(self, found: NodeRefusals) -> list[str]:
        """Return a sentence per request that is not satisfied, and the problems."""
        texts = []
        for each in found.requests:
            where = f"claim {claim_name(each.claim)}, request {each.choice.full_name}"
            if each.mapping is not None:
                where = (
                    f"resource {each.mapping.resource} of container {each.mapping.container}"
                    f" (DeviceClass {each.choice.class_name})"
                )
            if not each.device_count:
                texts.append(f"{where}: the node has no devices")
                continue
            counts: dict[str, int] = {}
            for device, refusal in each.refusals.items():
                text = self._text(each, device, *refusal, with_user=False)
                counts[text] = counts.get(text, 0) + 1
            reasons = ", ".join(f"{count} {text}" for text, count in counts.items())
            devices = f"{each.device_count} device{'s' * (each.device_count != 1)}"
            usable = each.usable_count or "none"
            needed = f"needs {each.choice.count}, " if each.choice.count > 1 else ""
            if each.choice.mode == ALL_DEVICES:
                needed = "needs all that are selected, "
            ending = f": {reasons}" if reasons else ""
            texts.append(f"{where}: {needed}{usable} of {devices} can be used{ending}")
        return [*texts, *found.problems]

    def _text(
        self,
        request: RefusedRequest,
        device: DeviceId,
        reason: str,
        of: SliceDevice,
        place: int,
        *,
        with_user: bool,
    ) -> str:
        choice = request.choice
        if reason == TAINTED:
            texts = [
                taint_text(taint) + (f" of DeviceTaintRule {rule}" if rule else "")
                for taint, rule in untolerated_taints(choice, of)
            ]
            return f"with untolerated taint {', '.join(texts)}"
        if reason == IN_USE:
            if device not in self._allocated():
                return "chosen for another request"
            user = self._allocated()[device]
            return f"in use by claim {user}" if with_user and user else IN_USE
        if reason.startswith(CONSTRAINT):
            return f"excluded by {constraint_text(request.claim, place)}"
        if reason != NOT_SELECTED:
            return f"without enough {reason.removeprefix('not enough ')} left"
        if place == 0:
            return "for other nodes"
        expression = selector_of(request, place, self._cluster)
        owner = f"DeviceClass {choice.class_name}" if place < 0 else "the request"
        return f"not selected by {expression} of {owner}"

    def _allocated(self) -> dict[DeviceId, str]:
        """Return the allocated devices, with the claim of each; "" if it is pending."""
        if self._users is None:
            devices = self._cluster.devices
            self._users = dict.fromkeys(devices.allocated.all_used(), "")
            for key in devices.claims:
                claim = devices.claim(key)
                allocation = None if claim is None else claim.status.allocation
                for result in () if allocation is None else allocation.devices.results:
                    if not result.admin_access:
                        self._users[DeviceId(result.driver, result.pool, result.device)] = key
        return self._users


def _backed_resources(pod: Pod, cluster: Cluster) -> tuple[str, ...]:
    """Return the extended resources that a pod requests and device classes back, sorted."""
    names = extended_requests(pod)
    if not names:
        return ()
    special = cluster.devices.special_claim_of(pod)
    if special is not None and special.status.allocation is not None:
        return ()
    amounts = pending_requests(pod)
    return tuple(
        name for name in names if amounts.get(name) and cluster.device_classes.class_of(name)
    )


def selector_of(request: RefusedRequest, place: int, cluster: Cluster) -> str:
    """Return the expression at the place of a refusal."""
    selectors = request.choice.selectors
    if place < 0:
        selectors = cluster.devices.classes[request.choice.class_name].spec.selectors
    cel = selectors[abs(place) - 1].cel
    return "" if cel is None else cel.expression


def constraint_text(claim: ResourceClaim, index: int) -> str:
    """Return a constraint of a claim in words."""
    constraint = claim.spec.devices.constraints[index]
    if constraint.match_attribute is not None:
        return f"matchAttribute {constraint.match_attribute}"
    return f"distinctAttribute {constraint.distinct_attribute}"


def untolerated_taints(choice: Choice, of: SliceDevice) -> list[tuple[DeviceTaint, str]]:
    """Return the taints that a request does not tolerate, with the rule of each or ""."""
    own_count = len(of.device.taints) - len(of.rules)
    names = ("",) * own_count + of.rules
    return [
        (taint, name)
        for taint, name in zip(of.device.taints, names, strict=True)
        if not choice.tolerates((taint,))
    ]


def taint_text(taint: DeviceTaint) -> str:
    """Return a taint as kubectl writes it."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _where(selector: NodeSelector) -> str:
    """Return the nodes of an allocation in words."""
    match [[field.values for field in term.match_fields] for term in selector.node_selector_terms]:
        case [[(name,)]]:
            return f"of node {name}"
        case _:
            return "for other nodes"


def _is_satisfied(choice: Choice, device_count: int, reasons: Sequence[str]) -> bool:
    """Return whether enough devices are left after the refusals of some."""
    usable_count = device_count - len(reasons)
    if choice.mode == ALL_DEVICES:
        # What is not selected is not among all devices. The search ends at the first of them that
        # cannot be used.
        return usable_count > 0 and all(reason == NOT_SELECTED for reason in reasons)
    return usable_count >= max(choice.count, 1)


def _rank(reason: str) -> int:
    return next(rank for rank, start in enumerate(_ORDER) if reason.startswith(start))


def _state_of(pool: Pool) -> str:
    return "incomplete" if pool.is_incomplete else f"invalid: {pool.invalid_reason}"
