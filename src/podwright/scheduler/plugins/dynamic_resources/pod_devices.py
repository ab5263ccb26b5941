"""The state of one cycle: the claims of the pod, and what was reserved for it."""

from __future__ import annotations

from typing import NamedTuple

from podwright.apimachinery.objects import AllocationResult, NodeTerms, Pod, ResourceClaim
from podwright.scheduler.framework import RequestMapping, StateKey


class PodDevices:
    """The claims of a pod, from PreFilter.

    Attributes
    ----------
    pod : Pod
    claims : list of ResourceClaim
        The user's claims in order; the claim for extended resources is the last. PreBind
        replaces claims by what it wrote.
    special : ResourceClaim or None
        The claim for extended resources.
    nodes : list of NodeTerms or None
        Per claim, the nodes that can use its allocation; None: all.
    unallocated : tuple of int
        The indexes of the claims without an allocation.
    extended : dict of str to int
        The extended resources that the pod requests, if there is a special claim.
    """

    __slots__ = ("claims", "extended", "nodes", "pod", "special", "unallocated")

    def __init__(self, pod: Pod, claims: list[ResourceClaim], special: ResourceClaim | None):
        self.pod = pod
        self.claims = claims if special is None else [*claims, special]
        self.special = special
        self.nodes: list[NodeTerms | None] = [None] * len(self.claims)
        self.unallocated: tuple[int, ...] = ()
        self.extended: dict[str, int] = {}

    @property
    def to_allocate(self) -> tuple[ResourceClaim, ...]:
        """The claims without an allocation, in order."""
        claims = self.claims
        return tuple([claims[index] for index in self.unallocated])

    @property
    def is_new(self) -> bool:
        """Whether every claim is the user's and is to be allocated, so all nodes need the same."""
        return self.special is None and len(self.unallocated) == len(self.claims)

    @property
    def has_only_special(self) -> bool:
        """Whether there is no claim of the user."""
        return self.special is not None and len(self.claims) == 1

    @property
    def is_stale(self) -> bool:
        """Whether the special claim is left over from an earlier attempt."""
        return self.special is not None and bool(self.special.spec.devices.requests)


class NodeAllocation(NamedTuple):
    """What is allocated on one node.

    Attributes
    ----------
    claims : tuple of ResourceClaim
        The unallocated claims as the node needs them.
    results : tuple of AllocationResult
        One per claim.
    special : ResourceClaim or None
        The claim for extended resources among the claims.
    mappings : tuple of RequestMapping
    """

    claims: tuple[ResourceClaim, ...]
    results: tuple[AllocationResult, ...]
    special: ResourceClaim | None
    mappings: tuple[RequestMapping, ...]


class Reserved:
    """What Reserve set aside on the chosen node.

    Attributes
    ----------
    allocations : dict of int to AllocationResult
        By the index of the claim.
    special : ResourceClaim or None
        The claim for extended resources as the node needs it.
    mappings : tuple of RequestMapping
    pending : dict of int to str
        The uids under which the allocations are pending.
    """

    __slots__ = ("allocations", "claims", "mappings", "pending", "special")

    def __init__(self, claims: list[ResourceClaim]) -> None:
        self.claims = claims
        self.allocations: dict[int, AllocationResult] = {}
        self.special: ResourceClaim | None = None
        self.mappings: tuple[RequestMapping, ...] = ()
        self.pending: dict[int, str] = {}


STATE: StateKey[PodDevices] = StateKey("DynamicResources", "not found")
RESERVED: StateKey[Reserved] = StateKey("DynamicResources/Reserved")
