"""The cluster as arrays over slots.

The room owns the node columns, the interned keys of pods, the selector counters, the indexes of
storage and workloads, and the journals of changes. It decides nothing: plugins and kernels read
its arrays, and must not write them. Start with `cluster`, then `nodes`.

Words of this room:

- *slot*: a row of the node columns, which is one node. Slots are in order of arrival.
- *journal*: the slots that changed, with a growing version (`nodes`). A cached result has
  the version for which it is valid, and catches up with the slots that the journal names.
- *placed pod*: a pod that has a node and counts on its slot (`placement`).
- *interned*: a value that is represented by a small integer (`nodes`).
- *label class*: all pods with one namespace and one set of labels (`matching`).
- *counter*, *presence*: the number of matching pods per topology domain, and whether there are
  any (`counters`); *domains* are the values of a topology key (`domains`).
- *term*: an inter-pod affinity or anti-affinity term, compiled (`term_index`).
- *dry run*: a temporary change of the pods of one slot (`cluster.SlotDryRun`).
- *ranked pods*: the pods of a slot, most important first (`ranked_pods`).
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use
from podwright.scheduler.columns.device_totals import device_totals as device_totals

if TYPE_CHECKING:
    from podwright.scheduler.columns.affinity.counted_groups import (
        CountedGroups as CountedGroups,
        Digits as Digits,
    )
    from podwright.scheduler.columns.affinity.counters import (
        NO_WEIGHTED_TERMS as NO_WEIGHTED_TERMS,
        Counter as Counter,
        WeightedTerms as WeightedTerms,
    )
    from podwright.scheduler.columns.affinity.domains import (
        DomainRule as DomainRule,
        LabelKeys as LabelKeys,
    )
    from podwright.scheduler.columns.affinity.matching import PodSelector as PodSelector
    from podwright.scheduler.columns.affinity.selectors import (
        Counted as Counted,
        SelectorCounters as SelectorCounters,
        conjunction as conjunction,
        default_selector as default_selector,
    )
    from podwright.scheduler.columns.affinity.term_index import (
        NO_TERMS as NO_TERMS,
        SPREAD_SELECTOR as SPREAD_SELECTOR,
        AffinityTerm as AffinityTerm,
        AffinityTerms as AffinityTerms,
        SelectedLabels as SelectedLabels,
        TermKind as TermKind,
        affinity_terms as affinity_terms,
        kept_selector as kept_selector,
        own_label_keys as own_label_keys,
    )
    from podwright.scheduler.columns.cluster import (
        Cluster as Cluster,
        Reads as Reads,
        SlotDryRun as SlotDryRun,
        TriedSlots as TriedSlots,
    )
    from podwright.scheduler.columns.device_fits import (
        DEVICE_CLASS_PREFIX as DEVICE_CLASS_PREFIX,
        FAILS as FAILS,
        FITS as FITS,
        INVALID_POOLS as INVALID_POOLS,
        NO_DEVICES as NO_DEVICES,
        DeviceClassIndex as DeviceClassIndex,
        DeviceFits as DeviceFits,
        FitColumn as FitColumn,
        SearchSettings as SearchSettings,
    )
    from podwright.scheduler.columns.images import (
        image_names as image_names,
        locality_scores as locality_scores,
    )
    from podwright.scheduler.columns.node_selector import (
        any_of as any_of,
        compile_node_selector as compile_node_selector,
        node_selector_mask as node_selector_mask,
        node_term_mask as node_term_mask,
        node_terms_mask as node_terms_mask,
    )
    from podwright.scheduler.columns.nodes import (
        ABSENT as ABSENT,
        CPU as CPU,
        EPHEMERAL_STORAGE as EPHEMERAL_STORAGE,
        FIXED_RESOURCES as FIXED_RESOURCES,
        MEMORY as MEMORY,
        PODS as PODS,
        Interner as Interner,
        Journal as Journal,
        NodeColumns as NodeColumns,
    )
    from podwright.scheduler.columns.placement import (
        NOT_STARTED as NOT_STARTED,
        PlacedPod as PlacedPod,
        PodKeys as PodKeys,
        importance as importance,
        priority_of as priority_of,
        start_ns as start_ns,
    )
    from podwright.scheduler.columns.ports import (
        HostPort as HostPort,
        PortUse as PortUse,
        host_ports as host_ports,
    )
    from podwright.scheduler.columns.volumes.class_volumes import (
        is_bound_to as is_bound_to,
        is_fully_bound as is_fully_bound,
        storage_nano as storage_nano,
    )
    from podwright.scheduler.columns.volumes.csi_migration import (
        MULTI_ZONE_DELIMITER as MULTI_ZONE_DELIMITER,
        CSIVolume as CSIVolume,
        migration_of as migration_of,
    )
    from podwright.scheduler.columns.volumes.storage import (
        READ_WRITE_ONCE_POD as READ_WRITE_ONCE_POD,
        StorageIndex as StorageIndex,
        class_of as class_of,
    )
    from podwright.scheduler.columns.volumes.volume_decisions import (
        BIND_CONFLICT as BIND_CONFLICT,
        FAILED as FAILED,
        NODE_CONFLICT as NODE_CONFLICT,
        NOT_ENOUGH_SPACE as NOT_ENOUGH_SPACE,
        SELECTED_NODE as SELECTED_NODE,
        VOLUME_MISSING as VOLUME_MISSING,
        PodClaims as PodClaims,
        decide as decide,
        utilization as utilization,
    )
    from podwright.scheduler.columns.volumes.volume_use import (
        DiskUse as DiskUse,
        claim_names as claim_names,
        claim_uses as claim_uses,
        csi_volumes as csi_volumes,
        disk_uses as disk_uses,
        has_ephemeral_claims as has_ephemeral_claims,
        inline_volumes as inline_volumes,
        ownership_error as ownership_error,
        uses_volumes as uses_volumes,
    )
    from podwright.scheduler.columns.workloads import WorkloadIndex as WorkloadIndex
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
