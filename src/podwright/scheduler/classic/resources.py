"""The requests of a pod, and the resources that it occupies, by the v1.16 rules.

The requests include init containers (the largest one, if it exceeds the sum of the containers); the
occupied resources do not. Neither includes overhead. Scoring assumes 100m and 200 MiB for a
container without a request for the resource; an explicit zero is a request.

Upstream: pkg/scheduler/nodeinfo/node_info.go (Resource, calculateResource),
pkg/scheduler/algorithm/predicates/predicates.go (GetResourceRequest),
pkg/scheduler/algorithm/priorities/util/non_zero.go
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from podwright.apimachinery.objects import (
    DEFAULT_MEMORY_REQUEST_BYTES,
    DEFAULT_MILLI_CPU_REQUEST,
    Container,
    Pod,
    ResourceList,
    is_scalar_resource,
    quantity_milli_value,
    quantity_value,
)


class Resources(msgspec.Struct):
    """Amounts of the fixed resources, and of the others by name.

    Attributes
    ----------
    milli_cpu, memory_bytes, ephemeral_bytes : int
        The fixed ones.
    scalars : dict of str to int
        Extended resources, huge pages and other scalar resources. A request of 0 has an entry.
    """

    milli_cpu: int = 0
    memory_bytes: int = 0
    ephemeral_bytes: int = 0
    scalars: dict[str, int] = msgspec.field(default_factory=dict)

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is requested."""
        return not (self.milli_cpu or self.memory_bytes or self.ephemeral_bytes or self.scalars)

    def add(self, other: Resources) -> None:
        """Add other amounts to these."""
        self.milli_cpu += other.milli_cpu
        self.memory_bytes += other.memory_bytes
        self.ephemeral_bytes += other.ephemeral_bytes
        for name, amount in other.scalars.items():
            self.scalars[name] = self.scalars.get(name, 0) + amount

    def subtract(self, other: Resources) -> None:
        """Subtract other amounts from these."""
        self.milli_cpu -= other.milli_cpu
        self.memory_bytes -= other.memory_bytes
        self.ephemeral_bytes -= other.ephemeral_bytes
        for name, amount in other.scalars.items():
            self.scalars[name] = self.scalars.get(name, 0) - amount

    def copy(self) -> Resources:
        """Return an independent copy."""
        return Resources(
            self.milli_cpu, self.memory_bytes, self.ephemeral_bytes, dict(self.scalars)
        )


def occupied(pod: Pod) -> Resources:
    """Return the resources that the pod occupies: the sum over its containers."""
    return _sum(pod.spec.containers)


def requested_by(pod: Pod) -> Resources:
    """Return the requests of the pod: the sum, or an init container that needs more."""
    result = occupied(pod)
    for container in pod.spec.init_containers:
        single = _sum((container,))
        result.milli_cpu = max(result.milli_cpu, single.milli_cpu)
        result.memory_bytes = max(result.memory_bytes, single.memory_bytes)
        result.ephemeral_bytes = max(result.ephemeral_bytes, single.ephemeral_bytes)
        for name, amount in single.scalars.items():
            if amount > result.scalars.get(name, 0):
                result.scalars[name] = amount
    return result


def allocatable(resources: ResourceList) -> Resources:
    """Return the allocatable resources of a node, without `pods`."""
    result = Resources()
    _add_list(result, resources)
    return result


def scoring_request(pod: Pod) -> tuple[int, int]:
    """Return milli-CPU and memory bytes for scoring, with defaults for missing requests."""
    milli_cpu = memory_bytes = 0
    for container in pod.spec.containers:
        requests = container.resources.requests
        cpu, memory = requests.get("cpu"), requests.get("memory")
        milli_cpu += DEFAULT_MILLI_CPU_REQUEST if cpu is None else quantity_milli_value(cpu)
        memory_bytes += DEFAULT_MEMORY_REQUEST_BYTES if memory is None else quantity_value(memory)
    return milli_cpu, memory_bytes


def _sum(containers: Iterable[Container]) -> Resources:
    result = Resources()
    for container in containers:
        if container.resources.requests:
            _add_list(result, container.resources.requests)
    return result


def _add_list(result: Resources, resources: ResourceList) -> None:
    for name, quantity in resources.items():
        match name:
            case "cpu":
                result.milli_cpu += quantity_milli_value(quantity)
            case "memory":
                result.memory_bytes += quantity_value(quantity)
            case "ephemeral-storage":
                result.ephemeral_bytes += quantity_value(quantity)
            case "pods":
                pass  # counted separately
            case _ if is_scalar_resource(name):
                result.scalars[name] = result.scalars.get(name, 0) + quantity_value(quantity)
            case _:
                pass  # a resource that scheduling ignores
