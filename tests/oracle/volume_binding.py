"""VolumeBinding: the node can access or provision the volumes of the pod.

Upstream: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go, binder.go
(GetPodVolumeClaims, FindPodVolumes, checkVolumeProvisions, hasEnoughCapacity) and
component-helpers/storage/volume/pv_helpers.go (FindMatchingVolume).
"""

from __future__ import annotations

from typing import Any

from tests.oracle import quantity
from tests.oracle.cluster import Node, labels_of, namespace_of
from tests.oracle.plugin import (
    SKIP_FILTER,
    SKIP_SCORE,
    Document,
    Plugin,
    PluginError,
    PreFilter,
    PreScore,
    Rejection,
    unresolvable,
)
from tests.oracle.selectors import LabelSelector
from tests.oracle.volumes import claims_of, class_of, foreign_ephemeral_claim, get_claim, reaches

_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
_NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
_NO_SPACE = "node(s) did not have enough free storage"
_NO_SUCH_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


def _annotations(document: Document) -> dict[str, str]:
    found: dict[str, str] = document["metadata"].get("annotations") or {}
    return found


def _requested(claim: Document) -> str:
    return str(((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0"))


def _is_bound_to(volume: Document, claim: Document) -> bool:
    """Whether the volume refers to the claim (IsVolumeBoundToClaim)."""
    reference = volume["spec"].get("claimRef")
    if not reference:
        return False
    if reference.get("name") != claim["metadata"]["name"]:
        return False
    if reference.get("namespace") != namespace_of(claim):
        return False
    return not reference.get("uid") or reference["uid"] == claim["metadata"].get("uid")


class Claims:
    """The PreFilter state: the pod's claims by their binding state."""

    def __init__(self) -> None:
        self.bound: list[Document] = []
        self.delayed: list[Document] = []
        self.immediate: list[Document] = []


class VolumeBinding(Plugin):
    """Check bound claims, find volumes for unbound ones, and check provisioning of the rest."""

    name = "VolumeBinding"

    def _check_claims(self, pod: Document) -> str | None:
        """Return the reason for which the pod's claims cannot be used (podHasPVCs)."""
        for claim in claims_of(pod):
            document = get_claim(self.cluster, pod, claim.name)
            if document is None:
                if claim.is_ephemeral:
                    return (
                        "waiting for ephemeral volume controller to create the "
                        f'persistentvolumeclaim "{claim.name}"'
                    )
                return f'persistentvolumeclaim "{claim.name}" not found'
            if (document.get("status") or {}).get("phase") == "Lost":
                volume = document["spec"].get("volumeName", "")
                return (
                    f'persistentvolumeclaim "{claim.name}" bound to non-existent '
                    f'persistentvolume "{volume}"'
                )
            if document["metadata"].get("deletionTimestamp"):
                return f'persistentvolumeclaim "{claim.name}" is being deleted'
            if claim.is_ephemeral and (error := foreign_ephemeral_claim(pod, document)):
                return error
        return None

    def _waits_for_consumer(self, claim: Document) -> bool:
        storage_class = self.cluster.get("StorageClass", class_of(claim) or "?")
        if storage_class is None:
            return False
        mode = storage_class.get("volumeBindingMode")
        if mode is None:
            name = storage_class["metadata"]["name"]
            raise PluginError(f'VolumeBindingMode not set for StorageClass "{name}"')
        return bool(mode == "WaitForFirstConsumer")

    def pre_filter(self, pod: Document) -> PreFilter:
        """Sort the claims; the volume controller binds unbound immediate ones first."""
        if error := self._check_claims(pod):
            return PreFilter(rejection=unresolvable(error))
        if not claims_of(pod):
            return SKIP_FILTER
        state = Claims()
        for claim in claims_of(pod):
            document = get_claim(self.cluster, pod, claim.name)
            assert document is not None, claim.name
            volume_name = document["spec"].get("volumeName")
            if volume_name and _BIND_COMPLETED in _annotations(document):
                state.bound.append(document)
            elif self._waits_for_consumer(document) and not volume_name:
                state.delayed.append(document)
            else:
                state.immediate.append(document)
        if state.immediate:
            return PreFilter(
                rejection=unresolvable("pod has unbound immediate PersistentVolumeClaims")
            )
        return PreFilter(state=state)

    def _bound_reason(self, claims: list[Document], node: Node) -> str | None:
        for claim in claims:
            volume = self.cluster.get("PersistentVolume", claim["spec"]["volumeName"])
            if volume is None:
                return _NO_SUCH_VOLUME
            if not reaches(volume, node):
                return _AFFINITY
        return None

    def _matching_volume(self, claim: Document, node: Node, taken: set[str]) -> Document | None:
        """Choose the smallest volume that fits; a volume with a reference to the claim has
        precedence."""
        requested = quantity.exact(_requested(claim))
        selector = claim["spec"].get("selector")
        best: Document | None = None
        for volume in self.cluster.all_of("PersistentVolume"):
            spec = volume["spec"]
            size = quantity.exact((spec.get("capacity") or {}).get("storage", "0"))
            is_reserved = _is_bound_to(volume, claim)
            if (
                class_of(volume) != class_of(claim)
                or volume["metadata"]["name"] in taken
                or (spec.get("claimRef") and not is_reserved)
                or size < requested
                or (spec.get("volumeMode") or "Filesystem")
                != (claim["spec"].get("volumeMode") or "Filesystem")
                or (spec.get("volumeAttributesClassName") or "")
                != (claim["spec"].get("volumeAttributesClassName") or "")
                or volume["metadata"].get("deletionTimestamp")
            ):
                continue
            if is_reserved:
                return volume if reaches(volume, node) else None
            if (
                (volume.get("status") or {}).get("phase") != "Available"
                or (selector and not LabelSelector(selector).matches(labels_of(volume)))
                or not reaches(volume, node)
                or not set(claim["spec"].get("accessModes") or [])
                <= set(spec.get("accessModes") or [])
            ):
                continue
            if best is None or size < quantity.exact(best["spec"]["capacity"]["storage"]):
                best = volume
        return best

    def _has_capacity(self, claim: Document, storage_class: Document, node: Node) -> bool:
        """Whether a driver that reports capacity has enough of it for the node."""
        driver = self.cluster.get("CSIDriver", storage_class.get("provisioner", ""))
        if driver is None or not (driver.get("spec") or {}).get("storageCapacity"):
            return True
        requested = quantity.value(_requested(claim))
        for capacity in self.cluster.all_of("CSIStorageCapacity"):
            limit = capacity.get("maximumVolumeSize") or capacity.get("capacity")
            if (
                capacity["storageClassName"] == storage_class["metadata"]["name"]
                and limit is not None
                and quantity.value(limit) >= requested
                and LabelSelector(capacity.get("nodeTopology")).matches(node.labels)
            ):
                return True
        return False

    def _provision_reason(self, claims: list[Document], node: Node) -> str | None:
        """Return why a claim cannot be provisioned here (checkVolumeProvisions)."""
        for claim in claims:
            storage_class = self.cluster.get("StorageClass", class_of(claim))
            if storage_class is None:
                raise PluginError(f'failed to find storage class "{class_of(claim)}"')
            if storage_class.get("provisioner") in {None, "", _NO_PROVISIONER}:
                return _NO_VOLUME
            topologies = storage_class.get("allowedTopologies") or []
            if topologies and not any(_matches_topology(term, node) for term in topologies):
                return _NO_VOLUME
            if not self._has_capacity(claim, storage_class, node):
                return _NO_SPACE
        return None

    def _unbound_reason(self, state: Claims, node: Node) -> str | None:
        to_match, to_provision = [], []
        for claim in state.delayed:
            selected = _annotations(claim).get(_SELECTED_NODE)
            if selected is None:
                to_match.append(claim)
            elif selected == node.name:
                to_provision.append(claim)
            else:
                return _NO_VOLUME
        # Smallest claim first, so that a small claim does not use a large volume.
        taken: set[str] = set()
        for claim in sorted(to_match, key=lambda one: quantity.exact(_requested(one))):
            volume = self._matching_volume(claim, node, taken)
            if volume is None:
                to_provision.append(claim)
            else:
                taken.add(volume["metadata"]["name"])
        return self._provision_reason(to_provision, node)

    def filter(self, state: Any, pod: Document, node: Node) -> Rejection | None:
        """Filter one node; bound and unbound claims can both cause rejections."""
        bound_reason = self._bound_reason(state.bound, node)
        unbound_reason = self._unbound_reason(state, node)
        reasons = [
            reason
            for reason in (_AFFINITY, _NO_VOLUME, _NO_SPACE, _NO_SUCH_VOLUME)
            if reason in {bound_reason, unbound_reason}
        ]
        return unresolvable(*reasons) if reasons else None

    def pre_score(self, pod: Document, feasible: list[Node], state: Any) -> PreScore:
        """Skip: without StorageCapacityScoring there is no score."""
        return SKIP_SCORE


def _matches_topology(term: Document, node: Node) -> bool:
    """Evaluate one allowedTopologies entry (MatchTopologySelectorTerms)."""
    return all(
        node.labels.get(requirement["key"]) in (requirement.get("values") or [])
        for requirement in term.get("matchLabelExpressions") or []
    )
