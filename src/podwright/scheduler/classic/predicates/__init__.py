"""Predicates: rules that a node must satisfy, one module each.

They run in the fixed order of `ORDER`, and the first that fails ends the evaluation of the node. A
predicate whose name is not in the order never runs, even if a policy configures it.
"""

from collections.abc import Mapping
from typing import Final

from podwright.scheduler.classic.predicates import (
    general,
    host_name,
    host_ports,
    inter_pod_affinity,
    node_selector,
    node_unschedulable,
    resources,
    taints,
    volume_claims,
    volume_counts,
)
from podwright.scheduler.classic.predicates.predicate import (
    Check as Check,
    Predicate as Predicate,
    PredicateMetadata as PredicateMetadata,
)

ORDER: Final = (
    "CheckNodeCondition",
    "CheckNodeUnschedulable",
    "GeneralPredicates",
    "HostName",
    "PodFitsHostPorts",
    "MatchNodeSelector",
    "PodFitsResources",
    "NoDiskConflict",
    "PodToleratesNodeTaints",
    "PodToleratesNodeNoExecuteTaints",
    "CheckNodeLabelPresence",
    "CheckServiceAffinity",
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxCSIVolumeCountPred",
    "MaxAzureDiskVolumeCount",
    "MaxCinderVolumeCount",
    "CheckVolumeBinding",
    "NoVolumeZoneConflict",
    "CheckNodeMemoryPressure",
    "CheckNodePIDPressure",
    "CheckNodeDiskPressure",
    "EvenPodsSpread",
    "MatchInterPodAffinity",
)
"""The order of upstream's `predicatesOrdering`, including names of disabled features."""

MANDATORY: Final = ("CheckNodeUnschedulable", "PodToleratesNodeTaints")
"""These run even if a policy does not list them: taints stand for the nodes' conditions."""

REGISTERED: Final[Mapping[str, Predicate]] = {
    predicate.name: predicate
    for predicate in (
        volume_claims.PREDICATE,
        general.PREDICATE,
        host_name.PREDICATE,
        host_ports.PREDICATE,
        host_ports.PREDICATE._replace(name="PodFitsPorts"),  # its name before 1.1; never runs
        inter_pod_affinity.PREDICATE,
        node_selector.PREDICATE,
        node_unschedulable.PREDICATE,
        resources.PREDICATE,
        taints.PREDICATE,
        volume_claims.BINDING,
        volume_claims.ZONE,
        volume_counts.AZURE,
        volume_counts.CINDER,
        volume_counts.CSI,
        volume_counts.EBS,
        volume_counts.GCE,
    )
}
"""The names that a policy may use without an argument. The predicates on node conditions are
excluded: upstream removes them with the gate TaintNodesByCondition, which is on by default."""
