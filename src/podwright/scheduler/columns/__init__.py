"""The cluster as arrays over slots.

The room owns the node columns, the interned keys of pods, the selector counters, the indexes of
storage and workloads, and the journals of changes. It decides nothing: plugins and kernels read
its arrays, and must not write them. Start with `cluster`, then `nodes`.

Words of this room:

- *slot*: a row of the node columns, which is one node. Slots are in order of arrival.
- *journal*: the slots that changed, with a growing version (`journal`). A cached result has
  the version for which it is valid, and catches up with the slots that the journal names.
- *placed pod*: a pod that has a node and counts on its slot (`placement`).
- *interned*: a value that is represented by a small integer (`interning`).
- *label class*: all pods with one namespace and one set of labels (`matching`).
- *counter*, *presence*: the number of matching pods per topology domain, and whether there are
  any (`counters`); *domains* are the values of a topology key (`domains`).
- *term*: an inter-pod affinity or anti-affinity term, compiled (`terms`).
- *dry run*: a temporary change of the pods of one slot (`cluster.SlotDryRun`).
- *ranked pods*: the pods of a slot, most important first (`ranked_pods`).
"""

from podwright.scheduler.columns.affinity.counters import NO_WEIGHTED_TERMS, Counter, WeightedTerms
from podwright.scheduler.columns.affinity.default_selector import conjunction, default_selector
from podwright.scheduler.columns.affinity.domains import DomainRule, LabelKeys
from podwright.scheduler.columns.affinity.kept_selector import SPREAD_SELECTOR, kept_selector
from podwright.scheduler.columns.affinity.matching import PodSelector
from podwright.scheduler.columns.affinity.selected_labels import SelectedLabels, own_label_keys
from podwright.scheduler.columns.affinity.selectors import Counted, SelectorCounters
from podwright.scheduler.columns.affinity.terms import (
    NO_TERMS,
    AffinityTerm,
    AffinityTerms,
    TermKind,
    affinity_terms,
)
from podwright.scheduler.columns.cluster import Cluster, Reads, SlotDryRun
from podwright.scheduler.columns.device_classes import DEVICE_CLASS_PREFIX, DeviceClassIndex
from podwright.scheduler.columns.device_fits import (
    FAILS,
    FITS,
    INVALID_POOLS,
    NO_DEVICES,
    DeviceFits,
    FitColumn,
    SearchSettings,
)
from podwright.scheduler.columns.device_totals import device_totals
from podwright.scheduler.columns.images import image_names, locality_scores
from podwright.scheduler.columns.importance import NOT_STARTED, priority_of, start_ns
from podwright.scheduler.columns.interning import Interner
from podwright.scheduler.columns.journal import Journal
from podwright.scheduler.columns.node_selector import (
    any_of,
    compile_node_selector,
    node_selector_mask,
    node_term_mask,
    node_terms_mask,
)
from podwright.scheduler.columns.nodes import (
    ABSENT,
    CPU,
    EPHEMERAL_STORAGE,
    FIXED_RESOURCES,
    MEMORY,
    PODS,
    NodeColumns,
)
from podwright.scheduler.columns.placement import PlacedPod, PodKeys
from podwright.scheduler.columns.ports import HostPort, PortUse, host_ports
from podwright.scheduler.columns.volumes.class_volumes import is_bound_to
from podwright.scheduler.columns.volumes.csi_migration import (
    BETA_REGION,
    BETA_ZONE,
    MULTI_ZONE_DELIMITER,
    REGION,
    ZONE,
    CSIVolume,
    migration_of,
)
from podwright.scheduler.columns.volumes.pod_volumes import (
    DiskUse,
    claim_names,
    claim_uses,
    disk_uses,
    has_ephemeral_claims,
    inline_volumes,
    ownership_error,
    uses_volumes,
)
from podwright.scheduler.columns.volumes.storage import READ_WRITE_ONCE_POD, StorageIndex, class_of
from podwright.scheduler.columns.volumes.volume_decisions import (
    BIND_CONFLICT,
    FAILED,
    NODE_CONFLICT,
    NOT_ENOUGH_SPACE,
    SELECTED_NODE,
    VOLUME_MISSING,
    PodClaims,
    decide,
)
from podwright.scheduler.columns.volumes.volume_use import csi_volumes
from podwright.scheduler.columns.volumes.volume_utilization import utilization
from podwright.scheduler.columns.workloads import WorkloadIndex

__all__ = [
    "ABSENT",
    "BETA_REGION",
    "BETA_ZONE",
    "BIND_CONFLICT",
    "CPU",
    "DEVICE_CLASS_PREFIX",
    "EPHEMERAL_STORAGE",
    "FAILED",
    "FAILS",
    "FITS",
    "FIXED_RESOURCES",
    "INVALID_POOLS",
    "MEMORY",
    "MULTI_ZONE_DELIMITER",
    "NODE_CONFLICT",
    "NOT_ENOUGH_SPACE",
    "NOT_STARTED",
    "NO_DEVICES",
    "NO_TERMS",
    "NO_WEIGHTED_TERMS",
    "PODS",
    "READ_WRITE_ONCE_POD",
    "REGION",
    "SELECTED_NODE",
    "SPREAD_SELECTOR",
    "VOLUME_MISSING",
    "ZONE",
    "AffinityTerm",
    "AffinityTerms",
    "CSIVolume",
    "Cluster",
    "Counted",
    "Counter",
    "DeviceClassIndex",
    "DeviceFits",
    "DiskUse",
    "DomainRule",
    "FitColumn",
    "HostPort",
    "Interner",
    "Journal",
    "LabelKeys",
    "NodeColumns",
    "PlacedPod",
    "PodClaims",
    "PodKeys",
    "PodSelector",
    "PortUse",
    "Reads",
    "SearchSettings",
    "SelectedLabels",
    "SelectorCounters",
    "SlotDryRun",
    "StorageIndex",
    "TermKind",
    "WeightedTerms",
    "WorkloadIndex",
    "affinity_terms",
    "any_of",
    "claim_names",
    "claim_uses",
    "class_of",
    "compile_node_selector",
    "conjunction",
    "csi_volumes",
    "decide",
    "default_selector",
    "device_totals",
    "disk_uses",
    "has_ephemeral_claims",
    "host_ports",
    "image_names",
    "inline_volumes",
    "is_bound_to",
    "kept_selector",
    "locality_scores",
    "migration_of",
    "node_selector_mask",
    "node_term_mask",
    "node_terms_mask",
    "own_label_keys",
    "ownership_error",
    "priority_of",
    "start_ns",
    "uses_volumes",
    "utilization",
]
