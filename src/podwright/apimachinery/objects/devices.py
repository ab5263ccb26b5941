"""Dynamic resources: claims, device classes and slices.

Upstream: staging/src/k8s.io/api/resource/v1/types.go
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from podwright.apimachinery.objects.meta import Condition, KubernetesObject, QuantityText, Struct
from podwright.apimachinery.objects.selecting.node_selector import NodeSelector

DELETE_PROTECTION: Final = "resource.kubernetes.io/delete-protection"
"""The finalizer of allocated claims."""

# ---------------------------------------------------------------------------- selecting


class CELDeviceSelector(Struct, frozen=True, kw_only=True):
    """An expression over `device`."""

    expression: str = ""


class DeviceSelector(Struct, frozen=True, kw_only=True):
    """A condition on devices; without `cel` it is of an unknown type."""

    cel: CELDeviceSelector | None = None


class DeviceToleration(Struct, frozen=True, kw_only=True):
    """The taints of devices that a request tolerates."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class CapacityRequirements(Struct, frozen=True, kw_only=True):
    """The requested amounts of a device's capacity."""

    requests: dict[str, QuantityText] = msgspec.field(default_factory=dict)


class OpaqueDeviceConfiguration(Struct, frozen=True, kw_only=True):
    """Parameters that only the driver reads."""

    driver: str = ""
    parameters: Any = None


class DeviceClassConfiguration(Struct, frozen=True, kw_only=True):
    """A configuration of a class."""

    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(Struct, frozen=True, kw_only=True):
    """The spec of a class."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(KubernetesObject, frozen=True, kw_only=True):
    """A class of devices."""

    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "DeviceClass"
    namespaced: ClassVar[bool] = False

    spec: DeviceClassSpec = DeviceClassSpec()


# ------------------------------------------------------------------------------- claims


class ExactDeviceRequest(Struct, frozen=True, kw_only=True):
    """A request without alternatives."""

    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceSubRequest(Struct, frozen=True, kw_only=True):
    """One of the alternatives of a request."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(Struct, frozen=True, kw_only=True):
    """A request for devices: exactly one, or the first available of several."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(Struct, frozen=True, kw_only=True):
    """A condition on all devices of some requests."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaimConfiguration(Struct, frozen=True, kw_only=True):
    """A configuration of a claim, for some requests."""

    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaim(Struct, frozen=True, kw_only=True):
    """What a claim requests."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class ResourceClaimSpec(Struct, frozen=True):
    """The spec of a claim."""

    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(Struct, frozen=True, kw_only=True):
    """One allocated device."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: dict[str, QuantityText] = msgspec.field(default_factory=dict)


class DeviceAllocationConfiguration(Struct, frozen=True, kw_only=True):
    """A configuration of an allocation: of a class or of the claim."""

    source: str = ""
    requests: tuple[str, ...] = ()
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceAllocationResult(Struct, frozen=True, kw_only=True):
    """The allocated devices, in the order in which they were chosen."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


class AllocationResult(Struct, frozen=True, kw_only=True):
    """What was allocated to a claim."""

    devices: DeviceAllocationResult
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(Struct, frozen=True, kw_only=True):
    """A user of a claim, usually a pod."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(Struct, frozen=True, kw_only=True):
    """The status of an allocated device, as its driver reports it."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = msgspec.field(default=None, name="shareID")
    conditions: tuple[Condition, ...] = ()
    data: Any = None
    network_data: Any = None


class ResourceClaimStatus(Struct, frozen=True, kw_only=True):
    """The status of a claim."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(KubernetesObject, frozen=True, kw_only=True):
    """A claim: devices that pods request, and what was allocated."""

    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "ResourceClaim"

    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


# ------------------------------------------------------------------------------- slices


class DeviceAttribute(Struct, frozen=True, kw_only=True):
    """An attribute of a device; one field is set."""

    int_value: int | None = msgspec.field(default=None, name="int")
    bool_value: bool | None = msgspec.field(default=None, name="bool")
    string_value: str | None = msgspec.field(default=None, name="string")
    version_value: str | None = msgspec.field(default=None, name="version")


class CapacityRequestPolicyRange(Struct, frozen=True, kw_only=True):
    """The amounts that can be requested, as a range."""

    min: QuantityText | None = None
    max: QuantityText | None = None
    step: QuantityText | None = None


class CapacityRequestPolicy(Struct, frozen=True, kw_only=True):
    """How requests consume a capacity."""

    default: QuantityText | None = None
    valid_values: tuple[QuantityText, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(Struct, frozen=True, kw_only=True):
    """A capacity of a device."""

    value: QuantityText
    request_policy: CapacityRequestPolicy | None = None


class Counter(Struct, frozen=True, kw_only=True):
    """An amount that devices share."""

    value: QuantityText


class DeviceCounterConsumption(Struct, frozen=True, kw_only=True):
    """What a device takes from a counter set."""

    counter_set: str = ""
    counters: dict[str, Counter] = msgspec.field(default_factory=dict)


class DeviceTaint(Struct, frozen=True, kw_only=True):
    """A taint of a device."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class Device(Struct, frozen=True, kw_only=True):
    """One device of a slice."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] = msgspec.field(default_factory=dict)
    capacity: dict[str, DeviceCapacity] = msgspec.field(default_factory=dict)
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool | None = None


class CounterSet(Struct, frozen=True, kw_only=True):
    """Counters that the devices of a pool share."""

    name: str = ""
    counters: dict[str, Counter] = msgspec.field(default_factory=dict)


class ResourcePool(Struct, frozen=True, kw_only=True):
    """The pool of a slice."""

    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class ResourceSliceSpec(Struct, frozen=True, kw_only=True):
    """The spec of a slice."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    devices: tuple[Device, ...] = ()
    per_device_node_selection: bool | None = None
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(KubernetesObject, frozen=True, kw_only=True):
    """Devices, or counters, that a driver publishes."""

    api_version: ClassVar[str] = "resource.k8s.io/v1"
    kind: ClassVar[str] = "ResourceSlice"
    namespaced: ClassVar[bool] = False

    spec: ResourceSliceSpec = ResourceSliceSpec()


class DeviceTaintSelector(Struct, frozen=True, kw_only=True):
    """The devices that a DeviceTaintRule taints; an absent field allows every name."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None

    def matches(self, driver: str, pool: str, device: str) -> bool:
        """Return whether a device is selected."""
        return (
            self.driver in (None, driver)
            and self.pool in (None, pool)
            and self.device in (None, device)
        )


class DeviceTaintRuleSpec(Struct, frozen=True, kw_only=True):
    """A taint, and the devices that have it."""

    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(KubernetesObject, frozen=True, kw_only=True):
    """A taint that an administrator adds to published devices."""

    api_version: ClassVar[str] = "resource.k8s.io/v1beta2"
    kind: ClassVar[str] = "DeviceTaintRule"
    namespaced: ClassVar[bool] = False

    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
