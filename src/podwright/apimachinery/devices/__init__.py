"""Devices: what drivers publish, what claims request, and the search that brings them together.

The room knows nodes by name and labels only. It does not know pods, columns or cycles.

- `slices`, `pools`: what drivers publish, and which pools a node can reach.
- `requests`, `constraints`, `capacity`, `selection`: what a claim requests of a device.
- `allocator`: the search for devices of all claims of a pod, on one node.
- `solutions`: what searches found, for all nodes with the same devices in the same state.
- `results`: what a solution writes into the claims.
- `allocated`, `index`: what is allocated already, kept up with the objects.
- `cards`: what simulated drivers publish.
- `conditions`: whether allocated devices are ready for the pod to be bound.

Start with `index.py`, then `allocator.py`.
"""

from podwright.apimachinery.devices.allocated import AllocatedDevices
from podwright.apimachinery.devices.allocator import (
    CONSTRAINT,
    IN_USE,
    NO_CAPACITY,
    NO_COUNTERS,
    NOT_SELECTED,
    TAINTED,
    Chosen,
    Devices,
    Features,
    NodeDevices,
    Refused,
    Search,
    SearchTimeoutError,
    Solution,
)
from podwright.apimachinery.devices.cards import (
    BINDING_DELAY,
    BINDING_FAILURE,
    CARDS,
    CARDS_HASH,
    CARDS_KIND,
    MIRRORED,
    PREPARE_DELAY,
    CardSpec,
    hash_of,
    is_cards,
    read_cards,
    slice_name,
    slices_of_cards,
)
from podwright.apimachinery.devices.conditions import (
    Readiness,
    has_binding_conditions,
    has_timed_out,
    readiness,
)
from podwright.apimachinery.devices.index import DeviceIndex
from podwright.apimachinery.devices.pod_claims import (
    EXTENDED_RESOURCE_CLAIM,
    FindClaim,
    MissingClaimError,
    claim_without_users,
    claims_of_pod,
    generated_claims,
    is_reserved_for,
)
from podwright.apimachinery.devices.pools import Pool
from podwright.apimachinery.devices.requests import (
    ALL_DEVICES,
    EXACT_COUNT,
    Choice,
    claim_name,
    preference_score,
    requests_of,
    tolerates_taint,
)
from podwright.apimachinery.devices.results import (
    UnsupportedSelectorError,
    allocation_results,
)
from podwright.apimachinery.devices.selection import AllocationError, Selection
from podwright.apimachinery.devices.slices import DeviceId, PoolId, SliceDevice
from podwright.apimachinery.devices.solutions import NodeState, Solutions

__all__ = [
    "ALL_DEVICES",
    "BINDING_DELAY",
    "BINDING_FAILURE",
    "CARDS",
    "CARDS_HASH",
    "CARDS_KIND",
    "CONSTRAINT",
    "EXACT_COUNT",
    "EXTENDED_RESOURCE_CLAIM",
    "IN_USE",
    "MIRRORED",
    "NOT_SELECTED",
    "NO_CAPACITY",
    "NO_COUNTERS",
    "PREPARE_DELAY",
    "TAINTED",
    "AllocatedDevices",
    "AllocationError",
    "CardSpec",
    "Choice",
    "Chosen",
    "DeviceId",
    "DeviceIndex",
    "Devices",
    "Features",
    "FindClaim",
    "MissingClaimError",
    "NodeDevices",
    "NodeState",
    "Pool",
    "PoolId",
    "Readiness",
    "Refused",
    "Search",
    "SearchTimeoutError",
    "Selection",
    "SliceDevice",
    "Solution",
    "Solutions",
    "UnsupportedSelectorError",
    "allocation_results",
    "claim_name",
    "claim_without_users",
    "claims_of_pod",
    "generated_claims",
    "has_binding_conditions",
    "has_timed_out",
    "hash_of",
    "is_cards",
    "is_reserved_for",
    "preference_score",
    "read_cards",
    "readiness",
    "requests_of",
    "slice_name",
    "slices_of_cards",
    "tolerates_taint",
]
