"""Devices: what drivers publish, what claims request, and the search that brings them together.

The room knows nodes by name and labels only. It does not know pods, columns or cycles.

- `slices`: what drivers publish, which pools a node can reach, and what selectors select.
- `requests`: what a claim requests of a device.
- `allocator`: the search for devices of all claims of a pod, on one node.
- `solutions`: what searches found, for all nodes with the same devices in the same state.
- `results`: what a solution writes into the claims, and when the pod can be bound.
- `index`: what is allocated already, kept up with the objects.
- `cards`: what simulated drivers publish.

Start with `index.py`, then `allocator.py`.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.apimachinery.devices.allocator import (
        CONSTRAINT as CONSTRAINT,
        IN_USE as IN_USE,
        NO_CAPACITY as NO_CAPACITY,
        NO_COUNTERS as NO_COUNTERS,
        NOT_SELECTED as NOT_SELECTED,
        TAINTED as TAINTED,
        Devices as Devices,
        Features as Features,
        NodeDevices as NodeDevices,
        Refused as Refused,
        Search as Search,
        Solution as Solution,
    )
    from podwright.apimachinery.devices.cards import (
        BINDING_DELAY as BINDING_DELAY,
        BINDING_FAILURE as BINDING_FAILURE,
        CARDS as CARDS,
        CARDS_HASH as CARDS_HASH,
        CARDS_KIND as CARDS_KIND,
        PREPARE_DELAY as PREPARE_DELAY,
        CardSpec as CardSpec,
        copied_slices as copied_slices,
        hash_of as hash_of,
        is_cards as is_cards,
        read_cards as read_cards,
        slice_name as slice_name,
        slices_of_cards as slices_of_cards,
    )
    from podwright.apimachinery.devices.index import DeviceIndex as DeviceIndex
    from podwright.apimachinery.devices.requests import (
        ALL_DEVICES as ALL_DEVICES,
        EXACT_COUNT as EXACT_COUNT,
        EXTENDED_RESOURCE_CLAIM as EXTENDED_RESOURCE_CLAIM,
        Choice as Choice,
        FindClaim as FindClaim,
        MissingClaimError as MissingClaimError,
        claim_name as claim_name,
        claim_without_users as claim_without_users,
        claims_of_pod as claims_of_pod,
        generated_claims as generated_claims,
        is_reserved_for as is_reserved_for,
        preference_score as preference_score,
        released_claim as released_claim,
        requests_of as requests_of,
        tolerates_taint as tolerates_taint,
    )
    from podwright.apimachinery.devices.results import (
        UnsupportedSelectorError as UnsupportedSelectorError,
        allocation_results as allocation_results,
        has_binding_conditions as has_binding_conditions,
        has_timed_out as has_timed_out,
        readiness as readiness,
    )
    from podwright.apimachinery.devices.slices import (
        AllocationError as AllocationError,
        DeviceId as DeviceId,
        Pool as Pool,
        PoolId as PoolId,
        SliceDevice as SliceDevice,
    )
    from podwright.apimachinery.devices.solutions import (
        NodeState as NodeState,
        Solutions as Solutions,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
