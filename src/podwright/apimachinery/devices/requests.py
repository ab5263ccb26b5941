"""Claims in the form that allocation reads.

A request has choices: one, or the alternatives of `firstAvailable` in order.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/
allocator_incubating.go, `requestAccessor`;
staging/src/k8s.io/dynamic-resource-allocation/resourceclaim/resourceclaim.go;
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, `foreachPodResourceClaim`;
staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/
allocator_incubating.go and constraint.go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeAlias

from podwright.apimachinery.devices.slices import SliceDevice
from podwright.apimachinery.objects import (
    DeviceConstraint,
    DeviceSelector,
    DeviceSubRequest,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
    Pod,
    Quantity,
    ResourceClaim,
    ResourceClaimSpec,
    parse_quantity,
    with_fields,
)

MOST_RESULTS = 32
"""The most devices of one claim."""

MOST_ALTERNATIVES = 8
"""The most alternatives of one request."""

ALL_DEVICES = "All"
EXACT_COUNT = "ExactCount"


class Choice:
    """What one device request, or one alternative of it, requests.

    Attributes
    ----------
    request : str
        The name of the request.
    alternative : str
        The name of the alternative; "" for a request without alternatives.
    class_name, mode : str
    count : int
    is_admin : bool
        The request has admin access.
    selectors : tuple of DeviceSelector
    tolerations : tuple of DeviceToleration
    capacities : dict of str to Quantity
    """

    __slots__ = (
        "alternative",
        "capacities",
        "class_name",
        "count",
        "has_admin_field",
        "is_admin",
        "mode",
        "request",
        "selectors",
        "tolerations",
    )

    def __init__(
        self, request: str, alternative: str, of: ExactDeviceRequest | DeviceSubRequest
    ) -> None:
        self.request = request
        self.alternative = alternative
        self.class_name = of.device_class_name
        self.mode = of.allocation_mode
        self.count = of.count
        admin = of.admin_access if isinstance(of, ExactDeviceRequest) else None
        self.has_admin_field = admin is not None
        self.is_admin = bool(admin)
        self.selectors: tuple[DeviceSelector, ...] = of.selectors
        self.tolerations: tuple[DeviceToleration, ...] = of.tolerations
        self.capacities: dict[str, Quantity] = (
            {}
            if of.capacity is None
            else {name: parse_quantity(text) for name, text in of.capacity.requests.items()}
        )

    @property
    def own_name(self) -> str:
        """The name of the alternative, or of the request if it has none."""
        return self.alternative or self.request

    @property
    def full_name(self) -> str:
        """The name as results have it: ``request`` or ``request/alternative``."""
        return f"{self.request}/{self.alternative}" if self.alternative else self.request

    def tolerates(self, taints: tuple[DeviceTaint, ...]) -> bool:
        """Return whether no taint keeps the request from a device."""
        return all(
            taint.effect not in ("NoSchedule", "NoExecute")
            or any(tolerates_taint(toleration, taint) for toleration in self.tolerations)
            for taint in taints
        )


def tolerates_taint(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Return whether a toleration covers a taint of a device.

    Notes
    -----
    Upstream: staging/src/k8s.io/dynamic-resource-allocation/resourceclaim/devicetoleration.go
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


class Request:
    """One request of a claim.

    Attributes
    ----------
    name : str
    choices : tuple of Choice
        Empty if the request is of an unknown type.
    has_alternatives : bool
    """

    __slots__ = ("choices", "has_alternatives", "name")

    def __init__(self, name: str, choices: tuple[Choice, ...], *, has_alternatives: bool) -> None:
        self.name = name
        self.choices = choices
        self.has_alternatives = has_alternatives


def requests_of(spec: ResourceClaimSpec) -> tuple[Request, ...]:
    """Return the requests of a claim, in order."""
    known = _known.get(id(spec))
    if known is not None and known[0] is spec:
        return known[1]
    requests = tuple(_requests(spec))
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    # The entry keeps its spec alive, so that its id is not given again.
    _known[id(spec)] = spec, requests
    return requests


_known: dict[int, tuple[ResourceClaimSpec, tuple[Request, ...]]] = {}
_MOST_KNOWN = 4_096


def _requests(spec: ResourceClaimSpec) -> list[Request]:
    found = []
    for request in spec.devices.requests:
        choices: tuple[Choice, ...] = ()
        if request.exactly is not None:
            choices = (Choice(request.name, "", request.exactly),)
        elif request.first_available:
            choices = tuple(
                Choice(request.name, each.name, each) for each in request.first_available
            )
        found.append(
            Request(
                request.name,
                choices,
                has_alternatives=request.exactly is None and bool(request.first_available),
            )
        )
    return found


def claim_name(claim: ResourceClaim) -> str:
    """Return ``namespace/name``, as messages have it."""
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


def preference_score(claim: ResourceClaim) -> int:
    """Return how good the allocated alternatives of a claim are; 0 without an allocation.

    8 for each request with its first alternative, 7 for each with its second, and so on.

    Notes
    -----
    Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, `computeScore`
    """
    allocation = claim.status.allocation
    if allocation is None:
        return 0
    allocated = {result.request for result in allocation.devices.results}
    return sum(
        MOST_ALTERNATIVES - place
        for request in requests_of(claim.spec)
        if request.has_alternatives
        for place, choice in enumerate(request.choices)
        if choice.full_name in allocated
    )


# The claims of a pod.

EXTENDED_RESOURCE_CLAIM = "resource.kubernetes.io/extended-resource-claim"
"""The annotation of claims that the scheduler creates for extended resources."""

FindClaim: TypeAlias = Callable[[str], ResourceClaim | None]
"""Returns a claim by `namespace/name`."""


class MissingClaimError(Exception):
    """A claim of the pod cannot be used; the message is upstream's."""


def claims_of_pod(pod: Pod, find: FindClaim) -> list[ResourceClaim]:
    """Return the claims in `spec.resourceClaims`, in order.

    Raises
    ------
    MissingClaimError
        For the first claim that does not exist, is being deleted, or belongs to another pod.
    """
    found = []
    namespace, name = pod.metadata.namespace, pod.metadata.name
    generated: dict[str, str | None] | None = None
    for entry in pod.spec.resource_claims:
        claim_name: str | None = entry.resource_claim_name
        is_generated = False
        if claim_name is None:
            if entry.resource_claim_template_name is None:
                raise MissingClaimError(
                    f'pod "{namespace}/{name}", spec.resourceClaim "{entry.name}":'
                    " none of the supported fields are set"
                )
            if generated is None:
                generated = generated_claims(pod)
            if entry.name not in generated:
                raise MissingClaimError(f'pod "{namespace}/{name}": ResourceClaim not created yet')
            claim_name, is_generated = generated[entry.name], True
            if claim_name is None:
                # No claim is needed for this entry.
                continue
        claim = find(f"{namespace}/{claim_name}")
        if claim is None:
            raise MissingClaimError(f'could not find ResourceClaim "{namespace}/{claim_name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise MissingClaimError(f'resourceclaim "{claim_name}" is being deleted')
        if is_generated:
            owner = claim.metadata.controller
            if owner is None or owner.uid != pod.metadata.uid:
                raise MissingClaimError(
                    f"ResourceClaim {namespace}/{claim_name} was not created for Pod"
                    f" {namespace}/{name} (Pod is not owner)"
                )
        found.append(claim)
    return found


def generated_claims(pod: Pod) -> dict[str, str | None]:
    """Return the claims that were created from templates, by the name of the pod's entry.

    None: no claim is needed.
    """
    status = pod.raw.get("status") or {}
    return {
        entry.get("name", ""): entry.get("resourceClaimName")
        for entry in status.get("resourceClaimStatuses") or ()
    }


def claim_without_users(claim: ResourceClaim, uids: Collection[str]) -> ResourceClaim | None:
    """Return a claim as `released_claim` does.

    None if the scheduler made the claim for the extended resources of one of the pods: it makes
    another one.
    """
    owner = claim.metadata.controller
    is_special = claim.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM) == "true"
    if is_special and owner is not None and owner.uid in uids:
        return None
    return released_claim(claim, uids)


def released_claim(claim: ResourceClaim, uids: Collection[str]) -> ResourceClaim:
    """Return a claim without some pods that use it; the last one gives the devices back."""
    users = claim.status.reserved_for
    kept = tuple(user for user in users if user.uid not in uids)
    if len(kept) == len(users):
        return claim
    if kept:
        return with_fields(claim, "status", reserved_for=kept)
    return with_fields(claim, "status", reserved_for=(), allocation=None, devices=())


def is_reserved_for(claim: ResourceClaim, pod: Pod) -> bool:
    """Return whether a claim is reserved for a pod."""
    return any(user.uid == pod.metadata.uid for user in claim.status.reserved_for)


# Constraints over the attributes of the devices of a claim.

AttributeValue: TypeAlias = tuple[str, str | int | bool | None]
"""The type of an attribute ("" if it is unknown), and its value."""


def attribute_of(device: SliceDevice, name: str) -> AttributeValue | None:
    """Return an attribute by its fully qualified name; None if the device does not have it."""
    attributes = device.device.attributes
    found = attributes.get(name)
    if found is None:
        domain, slash, rest = name.partition("/")
        if not slash or domain != device.id.driver:
            return None
        found = attributes.get(rest)
        if found is None:
            return None
    if found.string_value is not None:
        return "string", found.string_value
    if found.int_value is not None:
        return "int", found.int_value
    if found.bool_value is not None:
        return "bool", found.bool_value
    # Versions are compared as text: semver 2.0.0 requires them to be minimal.
    return ("", None) if found.version_value is None else ("version", found.version_value)


class Constraint:
    """What the devices chosen so far require of the next one.

    Attributes
    ----------
    attribute : str
        The fully qualified name.
    """

    __slots__ = ("_count", "_requests", "attribute")

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        self.attribute = attribute
        self._requests = frozenset(requests)
        self._count = 0

    def concerns(self, request: str, choice: str) -> bool:
        """Return whether a constraint applies to a request, or to one of its alternatives."""
        names = self._requests
        return not names or request in names or (bool(choice) and f"{request}/{choice}" in names)

    def add(self, request: str, choice: str, device: SliceDevice) -> bool:
        """Count a device, if it satisfies the constraint; return whether it does."""
        if not self.concerns(request, choice):
            return True
        value = attribute_of(device, self.attribute)
        if value is None or (self._count and not self._accepts(value)):
            return False
        self._remember(request, value)
        self._count += 1
        return True

    def remove(self, request: str, choice: str) -> None:
        """Undo `add` of a device that was accepted."""
        if self.concerns(request, choice):
            self._forget(request)
            self._count -= 1

    def _accepts(self, value: AttributeValue) -> bool:
        raise NotImplementedError

    def _remember(self, request: str, value: AttributeValue) -> None:
        raise NotImplementedError

    def _forget(self, request: str) -> None:
        raise NotImplementedError


class MatchAttribute(Constraint):
    """All devices have the value of the first one."""

    __slots__ = ("_value",)

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        super().__init__(attribute, requests)
        self._value: AttributeValue = ("", None)

    def _accepts(self, value: AttributeValue) -> bool:
        return bool(value[0]) and value == self._value

    def _remember(self, request: str, value: AttributeValue) -> None:
        if not self._count:
            self._value = value

    def _forget(self, request: str) -> None:
        pass


class DistinctAttribute(Constraint):
    """No device has the value of another one.

    Notes
    -----
    Upstream keeps one value per request name, that of the last device: two devices of one
    request can have the same value if another was chosen between them, and a device that is
    given up takes the value of its request with it.
    """

    __slots__ = ("_values",)

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        super().__init__(attribute, requests)
        self._values: dict[str, AttributeValue] = {}

    def _accepts(self, value: AttributeValue) -> bool:
        if not value[0]:
            return not self._values
        return value not in self._values.values()

    def _remember(self, request: str, value: AttributeValue) -> None:
        self._values[request] = value

    def _forget(self, request: str) -> None:
        self._values.pop(request, None)


def constraint_of(constraint: DeviceConstraint) -> Constraint | None:
    """Return a constraint before the first device; None if its type is unknown."""
    if constraint.match_attribute is not None:
        return MatchAttribute(constraint.match_attribute, constraint.requests)
    if constraint.distinct_attribute is not None:
        return DistinctAttribute(constraint.distinct_attribute, constraint.requests)
    return None
