"""Predicates: rules that a node must satisfy, one module each.

They run in the fixed order of `ORDER`, cheap and telling ones first, and the first that fails
ends the node. A predicate whose name is not in the order never runs, whoever configured it.
"""

from collections.abc import Mapping
from typing import Final

from podwright.classic.predicates import (
    disk_conflict,
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
from podwright.classic.predicates.metadata import PredicateMetadata
from podwright.classic.predicates.predicate import Check, Predicate

__all__ = [
    "MANDATORY",
    "ORDER",
    "REGISTERED",
    "Check",
    "Predicate",
    "PredicateMetadata",
]

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
"""The order of upstream's `predicatesOrdering`, with names whose features are off."""

MANDATORY: Final = ("CheckNodeUnschedulable", "PodToleratesNodeTaints")
"""They run even if a policy does not list them: taints stand for the nodes' conditions."""

REGISTERED: Final[Mapping[str, Predicate]] = {
    predicate.name: predicate
    for predicate in (
        disk_conflict.PREDICATE,
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
"""What a policy may name without an argument. The predicates on node conditions are not among
it: with TaintNodesByCondition on, as it is by default, upstream takes them out."""
