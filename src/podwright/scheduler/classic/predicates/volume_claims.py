"""NoVolumeZoneConflict and CheckVolumeBinding: the nodes that can use a pod's claims.

The volume of a bound claim must be accessible from the node: by the zone labels of the volume, and
by its node affinity. A claim that waits for its first consumer needs an available volume there, or
a class that can provision one there. An immediate claim that is not yet bound ends the cycle with
an error.

Upstream: pkg/scheduler/algorithm/predicates/predicates.go , VolumeZoneChecker,
VolumeBindingChecker; pkg/controller/volume/scheduling/scheduler_binder.go, FindPodVolumes;
pkg/controller/volume/persistentvolume/util/util.go, FindMatchingVolume;
pkg/scheduler/algorithm/predicates/predicates.go, NoDiskConflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from podwright.apimachinery.objects import (
    BETA_REGION,
    BETA_ZONE,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    Volume,
    label_selector,
    node_selector,
)
from podwright.scheduler.classic.cluster import ClassicCluster
from podwright.scheduler.classic.failure import FITS, Failure, Failures, SchedulingError
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.predicates.predicate import Predicate, PredicateMetadata
from podwright.scheduler.columns import (
    SELECTED_NODE,
    class_of,
    is_bound_to,
    is_fully_bound,
    storage_nano,
)

_ZONE: Final = (Failure("NoVolumeZoneConflict", "node(s) had no available volume zone"),)
_NODE_AFFINITY: Final = Failure(
    "VolumeNodeAffinityConflict", "node(s) had volume node affinity conflict"
)
_NO_MATCH: Final = Failure(
    "VolumeBindingNoMatch", "node(s) didn't find available persistent volumes to bind"
)
_ZONE_LABELS: Final = (BETA_ZONE, BETA_REGION)
_NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


def check_claims_exist(pod: Pod, cluster: ClassicCluster) -> None:
    """Raise if a claim of the pod is missing or being deleted.

    Raises
    ------
    SchedulingError
        With upstream's text (podPassesBasicChecks).
    """
    for name, claim in _claims(pod, cluster):
        if claim.metadata.deletion_timestamp is not None:
            raise SchedulingError(f'persistentvolumeclaim "{name}" is being deleted')


def _claims(pod: Pod, cluster: ClassicCluster) -> Iterator[tuple[str, PersistentVolumeClaim]]:
    """Yield the claims of a pod; raise at the first one that is missing."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            name = volume.persistent_volume_claim.claim_name
            claim = cluster.claims.get(f"{pod.namespace}/{name}")
            if claim is None:
                raise SchedulingError(f'persistentvolumeclaim "{name}" not found')
            yield name, claim


def _concerns(meta: PredicateMetadata) -> bool:
    return any(volume.persistent_volume_claim is not None for volume in meta.pod.spec.volumes)


def _waits(claim: PersistentVolumeClaim, cluster: ClassicCluster) -> bool:
    """Whether the binding mode of the claim is WaitForFirstConsumer."""
    storage_class = cluster.storage_classes.get(class_of(claim))
    return storage_class is not None and storage_class.volume_binding_mode == "WaitForFirstConsumer"


# ------------------------------------------------------------------------------ zones


def check_zone(meta: PredicateMetadata, node: NodeInfo) -> Failures:
    """Reject a node outside the zones of a bound volume; a node without zone labels passes."""
    cluster = meta.cluster
    if not any(label in node.labels for label in _ZONE_LABELS):
        return FITS
    for name, claim in _claims(meta.pod, cluster):
        if not claim.spec.volume_name:
            if _waits(claim, cluster):
                continue
            raise SchedulingError(f'PersistentVolumeClaim was not found: "{name}"')
        volume = cluster.volumes.get(claim.spec.volume_name)
        if volume is None:
            raise SchedulingError(f'persistentvolume "{claim.spec.volume_name}" not found')
        for label in _ZONE_LABELS:
            # A volume in several zones joins them with "__"; upstream ignores one without a name.
            zones = volume.metadata.labels.get(label, "").split("__")
            if "" not in zones and node.labels.get(label, "") not in zones:
                return _ZONE
    return FITS


ZONE: Final = Predicate("NoVolumeZoneConflict", _concerns, check_zone)


# ---------------------------------------------------------------------------- binding


def check_binding(meta: PredicateMetadata, node: NodeInfo) -> Failures:
    """Reject a node without access to a bound volume, or without a volume for a claim."""
    cluster = meta.cluster
    claims = [claim for _, claim in _claims(meta.pod, cluster)]
    bound = [claim for claim in claims if is_fully_bound(claim)]
    waiting = [claim for claim in claims if not is_fully_bound(claim)]
    if any(claim.spec.volume_name or not _waits(claim, cluster) for claim in waiting):
        raise SchedulingError("pod has unbound immediate PersistentVolumeClaims")
    failures = []
    for claim in bound:
        volume = cluster.volumes.get(claim.spec.volume_name)
        if volume is None:
            raise SchedulingError(f'could not find v1.PersistentVolume "{claim.spec.volume_name}"')
        if not _is_reachable(volume, node):
            failures.append(_NODE_AFFINITY)
            break
    if not _can_be_had(waiting, cluster, node):
        failures.append(_NO_MATCH)
    return failures


def _is_reachable(volume: PersistentVolume, node: NodeInfo) -> bool:
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    return node_selector(affinity.required).matches(node.name, node.labels)


def _can_be_had(
    claims: Iterable[PersistentVolumeClaim], cluster: ClassicCluster, node: NodeInfo
) -> bool:
    """Whether each claim can get a volume on a node; the smallest claims choose first."""
    chosen: set[str] = set()
    for claim in sorted(claims, key=lambda claim: storage_nano(claim.spec.resources.requests)):
        selected = claim.metadata.annotations.get(SELECTED_NODE)
        if selected is None:
            volume = _match(claim, cluster, node, chosen)
            if volume is not None:
                chosen.add(volume.name)
                continue
        elif selected != node.name:
            return False
        storage_class = cluster.storage_classes.get(class_of(claim))
        if storage_class is None or not _can_provision(storage_class, node):
            return False
    return True


def _match(
    claim: PersistentVolumeClaim, cluster: ClassicCluster, node: NodeInfo, chosen: set[str]
) -> PersistentVolume | None:
    """Return the volume that is reserved for a claim, or the smallest free one."""
    found = [
        volume
        for volume in cluster.volumes.values()
        if volume.name not in chosen and _may_have(volume, claim)
    ]
    reserved = next((volume for volume in found if is_bound_to(volume, claim)), None)
    if reserved is not None:
        return reserved if _is_reachable(reserved, node) else None
    free = [each for each in found if _is_free_for(each, claim) and _is_reachable(each, node)]
    return min(free, key=lambda each: (storage_nano(each.spec.capacity), each.name), default=None)


def _may_have(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    spec, requested = volume.spec, claim.spec
    return (
        volume.metadata.deletion_timestamp is None
        and class_of(volume) == class_of(claim)
        and (spec.volume_mode or "Filesystem") == (requested.volume_mode or "Filesystem")
        and storage_nano(spec.capacity) >= storage_nano(requested.resources.requests)
    )


def _is_free_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    selector = claim.spec.selector
    return (
        volume.status.phase == "Available"
        and volume.spec.claim_ref is None
        and (selector is None or label_selector(selector).matches(volume.metadata.labels))
        and set(claim.spec.access_modes) <= set(volume.spec.access_modes)
    )


def _can_provision(storage_class: StorageClass, node: NodeInfo) -> bool:
    if storage_class.provisioner in ("", _NO_PROVISIONER):
        return False
    terms = storage_class.allowed_topologies
    return not terms or any(
        all(node.labels.get(e.key) in e.values for e in term.match_label_expressions)
        for term in terms
    )


BINDING: Final = Predicate("CheckVolumeBinding", _concerns, check_binding)


# NoDiskConflict: some disks can be used by one pod of a node only, or by readers only.

_FAILURES: Final = (Failure("NoDiskConflict", "node(s) had no available disk"),)


def concerns(meta: PredicateMetadata) -> bool:
    """Whether the pod has a disk that may conflict."""
    return any(map(_may_conflict, meta.pod.spec.volumes))


def check(meta: PredicateMetadata, node: NodeInfo) -> Failures:
    """Reject a node with a pod that uses one of the pod's disks."""
    for volume in filter(_may_conflict, meta.pod.spec.volumes):
        for existing in node.pods.values():
            if any(_conflict(volume, other) for other in existing.spec.volumes):
                return _FAILURES
    return FITS


def _may_conflict(volume: Volume) -> bool:
    return any(
        source is not None
        for source in (
            volume.gce_persistent_disk,
            volume.aws_elastic_block_store,
            volume.rbd,
            volume.iscsi,
        )
    )


def _conflict(mine: Volume, other: Volume) -> bool:
    gce, other_gce = mine.gce_persistent_disk, other.gce_persistent_disk
    if gce and other_gce and gce.pd_name == other_gce.pd_name:
        return not (gce.read_only and other_gce.read_only)
    ebs, other_ebs = mine.aws_elastic_block_store, other.aws_elastic_block_store
    if ebs and other_ebs and ebs.volume_id == other_ebs.volume_id:
        return True  # an EBS volume cannot be shared by readers either
    iscsi, other_iscsi = mine.iscsi, other.iscsi
    if iscsi and other_iscsi and iscsi.iqn == other_iscsi.iqn:
        return not (iscsi.read_only and other_iscsi.read_only)
    rbd, other_rbd = mine.rbd, other.rbd
    if (
        rbd
        and other_rbd
        and set(rbd.monitors) & set(other_rbd.monitors)
        and (rbd.pool, rbd.image) == (other_rbd.pool, other_rbd.image)
    ):
        return not (rbd.read_only and other_rbd.read_only)
    return False


PREDICATE: Final = Predicate("NoDiskConflict", concerns, check)
