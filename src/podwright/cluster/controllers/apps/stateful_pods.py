"""The pods of stateful sets: their names, labels and claims, and the owners of the claims.

Upstream: pkg/controller/statefulset/stateful_set_utils.go, stateful_pod_control.go
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    OwnerReference,
    PersistentVolumeClaim,
    PersistentVolumeClaimVolumeSource,
    Pod,
    Volume,
    decode_as,
    with_fields,
)
from podwright.cluster.controllers.adoption import controller_reference
from podwright.cluster.controllers.apps.controller_revisions import REVISION_LABEL
from podwright.cluster.controllers.apps.rollout import scaled_value
from podwright.cluster.controllers.workload_fields import number

POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX: Final = "apps.kubernetes.io/pod-index"

_NAME: Final = re.compile("(.*)-([0-9]+)", re.DOTALL)


class StatefulSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The spec of a stateful set, with the defaults of the API.

    Attributes
    ----------
    start : int
        The first ordinal.
    is_ordered : bool
        Whether the pod management policy is OrderedReady; otherwise it is Parallel.
    partition : int
        The number of lowest ordinals that keep the current revision.
    max_unavailable : int, optional
        How many pods may be unavailable during an update.
    deletes_claims, deletes_scaled_claims : bool
        Whether claims are deleted with the set, and with the pods that scaling down removes.
    """

    replicas: int
    start: int
    is_ordered: bool
    is_on_delete: bool
    partition: int
    max_unavailable: int | None
    min_ready_seconds: int
    revision_history_limit: int
    deletes_claims: bool
    deletes_scaled_claims: bool
    service_name: str
    template: Document
    claim_templates: tuple[Document, ...]
    match_labels: dict[str, str]

    def includes(self, ordinal: int) -> bool:
        """Whether an ordinal belongs to the replicas of the set."""
        return self.start <= ordinal < self.start + self.replicas

    def is_below_partition(self, ordinal: int) -> bool:
        """Whether an ordinal is below the partition, and so has the current revision."""
        return ordinal - self.start < self.partition


def stateful_spec(spec: Document) -> StatefulSpec:
    """Read the spec of a stateful set.

    Notes
    -----
    Upstream: pkg/apis/apps/v1/defaults.go; stateful_set_utils.go, getStatefulSetMaxUnavailable
    """
    strategy: Document = spec.get("updateStrategy") or {}
    rolling: Document = strategy.get("rollingUpdate") or {}
    retention: Document = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    replicas = number(spec.get("replicas"), 1)
    unavailable = rolling.get("maxUnavailable")
    if unavailable is not None:
        unavailable = max(scaled_value(unavailable, replicas, round_up=False), 1)
    return StatefulSpec(
        replicas=replicas,
        start=number((spec.get("ordinals") or {}).get("start"), 0),
        is_ordered=spec.get("podManagementPolicy") != "Parallel",
        is_on_delete=strategy.get("type") == "OnDelete",
        partition=number(rolling.get("partition"), 0),
        max_unavailable=unavailable,
        min_ready_seconds=number(spec.get("minReadySeconds"), 0),
        revision_history_limit=number(spec.get("revisionHistoryLimit"), 10),
        deletes_claims=retention.get("whenDeleted") == "Delete",
        deletes_scaled_claims=retention.get("whenScaled") == "Delete",
        service_name=spec.get("serviceName") or "",
        template=spec.get("template") or {},
        claim_templates=tuple(spec.get("volumeClaimTemplates") or ()),
        match_labels=(spec.get("selector") or {}).get("matchLabels") or {},
    )


def parent_and_ordinal(name: str) -> tuple[str, int]:
    """Return the set's name and the ordinal in a pod's name; the ordinal is -1 without one."""
    match = _NAME.fullmatch(name)
    return (match[1], int(match[2])) if match else ("", -1)


def ordinal_of(pod: Pod) -> int:
    """Return the ordinal of a pod, -1 if it has none."""
    return parent_and_ordinal(pod.name)[1]


def revision_of(pod: Pod) -> str:
    """Return the name of the revision that a pod was created from."""
    return pod.metadata.labels.get(REVISION_LABEL, "")


def identity_labels(name: str, ordinal: int) -> dict[str, str]:
    """Return the labels that identify a pod within its set."""
    return {POD_NAME: name, POD_INDEX: str(ordinal)}


# --------------------------------------------------------------------------------- pods


def stateful_pod(
    base: Pod, owner: KubernetesObject, spec: StatefulSpec, ordinal: int, revision: str
) -> Pod:
    """Return the pod of an ordinal.

    Notes
    -----
    Upstream: stateful_set_utils.go, newVersionedStatefulSetPod, initIdentity, updateStorage
    """
    name = f"{owner.name}-{ordinal}"
    labels = {
        **base.metadata.labels,
        **identity_labels(name, ordinal),
        REVISION_LABEL: revision,
    }
    metadata = msgspec.structs.replace(base.metadata, name=name, labels=labels)
    document = base.raw["spec"] | {"hostname": name}
    document.pop("subdomain", None)
    if spec.service_name:
        document["subdomain"] = spec.service_name
    typed = base.spec
    if spec.claim_templates:
        names = {_name_of(t): claim_name(t, owner, ordinal) for t in spec.claim_templates}
        written = [each for each in document.get("volumes") or () if each.get("name") not in names]
        document["volumes"] = [
            *({"name": n, "persistentVolumeClaim": {"claimName": c}} for n, c in names.items()),
            *written,
        ]
        volumes = [
            Volume(name=n, persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=c))
            for n, c in names.items()
        ]
        kept = [each for each in typed.volumes if each.name not in names]
        typed = msgspec.structs.replace(typed, volumes=(*volumes, *kept))
    raw = base.raw | {
        "metadata": base.raw["metadata"] | {"name": name, "labels": labels},
        "spec": document,
    }
    return msgspec.structs.replace(base, metadata=metadata, spec=typed, raw=raw)


# ------------------------------------------------------------------------------- claims


def _name_of(template: Document) -> str:
    return str((template.get("metadata") or {}).get("name") or "")


def claim_name(template: Document, owner: KubernetesObject, ordinal: int) -> str:
    """Return the name of an ordinal's claim."""
    return f"{_name_of(template)}-{owner.name}-{ordinal}"


def stateful_claim(
    template: Document, owner: KubernetesObject, spec: StatefulSpec, ordinal: int
) -> PersistentVolumeClaim:
    """Return an ordinal's claim of a template.

    Notes
    -----
    Upstream: stateful_set_utils.go, getPersistentVolumeClaims
    """
    written: Document = template.get("metadata") or {}
    metadata: Document = {
        **{name: value for name, value in written.items() if name in ("labels", "annotations")},
        "name": claim_name(template, owner, ordinal),
        "namespace": owner.namespace,
    }
    labels = {**(metadata.get("labels") or {}), **spec.match_labels}
    if labels:
        metadata["labels"] = labels
    document = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": template.get("spec") or {},
        "status": {"phase": "Pending"},
    }
    return decode_as(document, PersistentVolumeClaim, source=f"StatefulSet {owner.key}")


def is_stale(claim: PersistentVolumeClaim, pod: str) -> bool:
    """Whether a claim will be deleted with an earlier pod of the name, which owns it.

    Notes
    -----
    Upstream: stateful_set_utils.go, hasStaleOwnerRef; stateful_pod_control.go, PodClaimIsStale
    """
    return any((each.kind, each.name) == ("Pod", pod) for each in claim.metadata.owner_references)


def has_other_controller(
    claim: PersistentVolumeClaim, owner: KubernetesObject, pod: Pod, spec: StatefulSpec
) -> bool:
    """Whether something else controls a claim whose owner the retention policy decides.

    Notes
    -----
    Upstream: stateful_set_utils.go, hasUnexpectedController
    """
    if not (spec.deletes_claims or spec.deletes_scaled_claims):
        return False
    mine = {("StatefulSet", owner.name): owner.uid, ("Pod", pod.name): pod.uid}
    for each in claim.metadata.owner_references:
        uid = mine.get((each.kind, each.name))
        if each.uid != uid if uid is not None else each.controller:
            return True
    return False


def with_retention(
    claim: PersistentVolumeClaim, owner: KubernetesObject, pod: Pod, spec: StatefulSpec
) -> PersistentVolumeClaim:
    """Return a claim with the owner references of the retention policy; the same if it has them.

    Notes
    -----
    Upstream: stateful_set_utils.go, updateClaimOwnerRefForSetAndPod
    """
    is_scaled_away = not spec.includes(ordinal_of(pod))
    desired: list[OwnerReference] = []
    if spec.deletes_scaled_claims and is_scaled_away:
        desired = [controller_reference(pod)]
    elif spec.deletes_claims:
        desired = [controller_reference(owner)]
    mine = {owner.uid, pod.uid}
    present = claim.metadata.owner_references
    if [each for each in present if each.uid in mine] == desired:
        return claim
    if desired and any(each.controller and each.uid not in mine for each in present):
        return claim  # another controller owns it
    kept = [each for each in present if each.uid not in mine]
    return with_fields(claim, "metadata", owner_references=(*kept, *desired))
