"""Persistent volumes: binding to claims, dynamic provisioning, and reclaiming.

Theory of operation
-------------------
A claim is bound to the smallest available volume of its class that fits. If the binding mode of
the class is WaitForFirstConsumer, the controller waits for the scheduler. The scheduler either
binds a volume, and the controller completes the binding, or annotates the claim with the selected
node, and a volume is provisioned there. A class without a provisioner never provisions. A volume
whose claim was removed is released, and deleted if it was provisioned and the reclaim policy is
Delete.

Pending claims and available volumes are indexed by class, so that a sync of a claim does not
iterate over all volumes. The key of a claim contains a namespace, the key of a volume does not.

Upstream: pkg/controller/volume/persistentvolume/pv_controller.go, index.go;
staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, cast

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    label_selector,
    quantity_value,
    timestamp_text,
)
from podwright.cluster.api import UpdateObject, annotations_patch, patched, section
from podwright.cluster.controllers.interface import (
    Actions,
    Controller,
    ControllerAction,
    Keys,
    PodChange,
    Version,
    event_by,
)
from podwright.cluster.controllers.kinds import PV, PVC, STORAGE_CLASS
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.storage.provisioning import (
    NO_PROVISIONER,
    PROVISIONED_BY,
    SELECTED_NODE,
    default_class,
    provisioned,
    reference_to,
    volume_name,
)
from podwright.cluster.controllers.storage.pvc_users import PvcUsers, claims_of
from podwright.cluster.store import POD

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
BETA_PROVISIONER: Final = "volume.beta.kubernetes.io/storage-provisioner"

_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_RECYCLABLE: Final = frozenset({"hostPath", "nfs"})


class PersistentVolumeController(Controller):
    """Binds claims to volumes, provisions volumes, and reclaims them."""

    name = "persistentvolume-controller"
    kinds = (PVC, PV, STORAGE_CLASS, POD)
    pod_changes = PodChange.ADDED | PodChange.DELETED
    only_with_volumes = True

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self._users = PvcUsers(lister)
        # Available volumes and pending claims by class; "" for no class.
        self._available: dict[str, dict[str, None]] = {}
        self._waiting: dict[str, dict[NamespacedName, None]] = {}
        # The volumes with a claimRef to a claim, by the key of the claim.
        self._by_claim: dict[NamespacedName, dict[str, None]] = {}

    # ---------------------------------------------------------------------------- changes

    def observe(self, old: Version, new: Version) -> Keys:
        """Return a claim or volume that changed, and the claims and volumes it affects."""
        match self.latest_of(old, new):
            case PersistentVolumeClaim() as claim:
                self._index_claim(cast(PersistentVolumeClaim | None, old), is_present=False)
                self._index_claim(cast(PersistentVolumeClaim | None, new), is_present=True)
                if not _is_relevant_change(old, new):
                    return ()
                volumes = dict.fromkeys(sorted(self._by_claim.get(claim.key, ())))
                if claim.spec.volume_name:
                    volumes[claim.spec.volume_name] = None
                return (claim.key, *volumes)
            case PersistentVolume() as volume:
                self._index_volume(cast(PersistentVolume | None, old), is_present=False)
                self._index_volume(cast(PersistentVolume | None, new), is_present=True)
                return (volume.name, *self._claims_for(volume))
            case StorageClass() as storage_class:
                waiting = self._waiting
                return sorted({**waiting.get(storage_class.name, {}), **waiting.get("", {})})
            case Pod() as pod:
                return self._observe_pod(old, new, pod)
            case _:
                return ()

    def _observe_pod(self, old: Version, new: Version, pod: Pod) -> Keys:
        if not pod.spec.volumes or (old is not None and new is not None):
            return ()
        self._users.observe(old, new)
        if new is None or not self._waiting:
            return ()
        return [key for key in claims_of(pod) if self._is_unbound(key)]

    def _is_unbound(self, key: NamespacedName) -> bool:
        claim = self._lister.get(PVC, key)
        return isinstance(claim, PersistentVolumeClaim) and not _is_bound(claim)

    def _index_claim(self, claim: PersistentVolumeClaim | None, *, is_present: bool) -> None:
        if claim is None or _is_bound(claim):
            return
        _index(self._waiting, claim.spec.storage_class_name or "", claim.key, is_present=is_present)

    def _index_volume(self, volume: PersistentVolume | None, *, is_present: bool) -> None:
        if volume is None:
            return
        reference = volume.spec.claim_ref
        if reference is not None:
            key = f"{reference.namespace}/{reference.name}"
            _index(self._by_claim, key, volume.name, is_present=is_present)
        elif volume.status.phase == "Available" and volume.metadata.deletion_timestamp is None:
            name = volume.spec.storage_class_name
            _index(self._available, name, volume.name, is_present=is_present)

    def _claims_for(self, volume: PersistentVolume) -> Iterator[NamespacedName]:
        """Yield the claim that a volume refers to, or the claims that may bind to it."""
        reference = volume.spec.claim_ref
        if reference is not None:
            yield f"{reference.namespace}/{reference.name}"
        elif volume.name in self._available.get(volume.spec.storage_class_name, ()):
            storage_class = self._class(volume.spec.storage_class_name)
            if storage_class is None or not _waits_for_consumer(storage_class):
                yield from sorted(self._waiting.get(volume.spec.storage_class_name, ()))

    # ------------------------------------------------------------------------------- sync

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Bind or provision for a claim, or update and reclaim a volume."""
        if "/" not in key:
            volume = self._lister.get(PV, key)
            return self._sync_volume(volume, now_ns) if isinstance(volume, PersistentVolume) else []
        claim = self._lister.get(PVC, key)
        if not isinstance(claim, PersistentVolumeClaim):
            return []
        if _is_bound(claim):
            return self._sync_bound(claim, now_ns)
        if claim.metadata.deletion_timestamp is not None:
            return []
        actions = self._sync_unbound(claim, now_ns)
        if not claim.status.phase and not any(isinstance(a, UpdateObject) for a in actions):
            pending = patched(claim, status={"phase": "Pending"})
            actions.append(self.update(pending, "status"))
        return actions

    def _sync_bound(self, claim: PersistentVolumeClaim, now_ns: int) -> Actions:
        """Check that the volume of a bound claim exists and refers to it.

        Upstream: syncBoundClaim
        """
        volume = self._volume(claim.spec.volume_name)
        if not claim.spec.volume_name:
            note = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
            return self._lost(claim, "ClaimLost", note)
        if volume is None:
            note = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            return self._lost(claim, "ClaimLost", note)
        if volume.spec.claim_ref is None or volume.spec.claim_ref.uid == claim.uid:
            return self._expanded(volume, claim) or self._bound(volume, claim, now_ns)
        note = "Two claims are bound to the same volume, this one is bound incorrectly"
        return self._lost(claim, "ClaimMisbound", note)

    def _expanded(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> Actions:
        """Expand a volume, if its claim requests more and the class allows it.

        This replaces the external resizer and the kubelet in one step; the change of the volume
        requeues the claim, whose status then gets the new capacity.

        Upstream: github.com/kubernetes-csi/external-resizer pkg/controller/controller.go
        """
        requested = claim.spec.resources.requests.get("storage", 0)
        if quantity_value(requested) <= _capacity(volume):
            return []
        storage_class = self._class(claim.spec.storage_class_name or "")
        if storage_class is None or not storage_class.allow_volume_expansion:
            return []
        capacity = {**(section(volume, "spec").get("capacity") or {}), "storage": requested}
        resizer = f"external-resizer {storage_class.provisioner}"
        return [
            event_by(
                resizer, claim, "Resizing", f"External resizer is resizing volume {volume.name}"
            ),
            self.update(patched(volume, spec={"capacity": capacity})),
            event_by(resizer, claim, "VolumeResizeSuccessful", "Resize volume succeeded"),
        ]

    def _lost(self, claim: PersistentVolumeClaim, reason: str, note: str) -> Actions:
        if claim.status.phase == "Lost":
            return []
        # Upstream: updateClaimStatus, which takes what the claim has of a volume.
        fields = ("accessModes", "capacity", "currentVolumeAttributesClassName")
        new = patched(claim, status={"phase": "Lost", **dict.fromkeys(fields)})
        return [
            self.update(new, "status"),
            self.warning(claim, reason, note),
        ]

    def _sync_unbound(self, claim: PersistentVolumeClaim, now_ns: int) -> Actions:
        """Find a volume for a claim, or provision one.

        Upstream: syncUnboundClaim
        """
        if claim.spec.volume_name:
            volume = self._volume(claim.spec.volume_name)
            return [] if volume is None else self._requested(volume, claim, now_ns)
        name = claim.spec.storage_class_name or ""
        storage_class = self._class(name)
        waits = (
            storage_class is not None
            and _waits_for_consumer(storage_class)
            and SELECTED_NODE not in claim.metadata.annotations
        )
        volume = self._best_volume(claim, waits=waits)
        if volume is not None:
            return [*self._succeeded(volume, claim), *self._bound(volume, claim, now_ns)]
        default = None if _has_class(claim) else self._default_class()
        if default is not None:
            new = patched(claim, spec={"storageClassName": default})
            return [self.update(new)]
        if waits:
            return [self._waiting_event(claim)]
        if not name:
            note = "no persistent volumes available for this claim and no storage class is set"
            return [self.event(claim, "FailedBinding", note)]
        if storage_class is None:
            note = f'storageclass.storage.k8s.io "{name}" not found'
            return [self.warning(claim, "ProvisioningFailed", note)]
        return self._provisioned(claim, storage_class, now_ns)

    def _requested(
        self, volume: PersistentVolume, claim: PersistentVolumeClaim, now_ns: int
    ) -> Actions:
        """Bind a claim to the volume that it names, if that is free and satisfies the claim.

        Upstream: syncUnboundClaim, checkVolumeSatisfyClaim
        """
        if volume.spec.claim_ref is None:
            mismatch = _mismatch(volume, claim)
            if mismatch:
                note = f'Cannot bind to requested volume "{volume.name}": {mismatch}'
                return [self.warning(claim, "VolumeMismatch", note)]
        elif not _is_bound_to_claim(volume, claim):
            note = f'volume "{volume.name}" already bound to a different claim.'
            return [self.warning(claim, "FailedBinding", note)]
        return self._bound(volume, claim, now_ns)

    def _waiting_event(self, claim: PersistentVolumeClaim) -> ControllerAction:
        users = self._users.of(claim.key)
        names = [
            pod.name
            for pod in users
            if not pod.spec.node_name and not pod.is_terminal and not pod.is_terminating
        ]
        if names:
            pods = f"pods {','.join(names)}" if len(names) > 1 else f"pod {names[0]}"
            return self.event(claim, "WaitForPodScheduled", f"waiting for {pods} to be scheduled")
        note = "waiting for first consumer to be created before binding"
        return self.event(claim, "WaitForFirstConsumer", note)

    # ------------------------------------------------------------------------- matching

    def _best_volume(self, claim: PersistentVolumeClaim, *, waits: bool) -> PersistentVolume | None:
        """Return the volume that fits the claim best, None without one.

        Those with the fewest access modes come first; of these one that refers to the claim,
        whatever its class and labels, and then the smallest one.

        Upstream: index.go, findByClaim; FindMatchingVolume
        """
        selector = None
        if claim.spec.selector is not None:
            selector = label_selector(claim.spec.selector)
        free = () if waits else self._available.get(claim.spec.storage_class_name or "", ())
        fitting: list[tuple[int, bool, int, str]] = []
        for name in (*self._by_claim.get(claim.key, ()), *free):
            volume = self._volume(name)
            if volume is None or _mismatch(volume, claim, any_class=True):
                continue
            is_free = volume.spec.claim_ref is None
            if is_free:
                if selector is not None and not selector.matches(volume.metadata.labels):
                    continue
            elif not _is_bound_to_claim(volume, claim):
                continue
            modes = len(set(volume.spec.access_modes))
            fitting.append((modes, is_free, _capacity(volume), name))
        return self._volume(min(fitting)[-1]) if fitting else None

    def _bound(
        self, volume: PersistentVolume, claim: PersistentVolumeClaim, now_ns: int
    ) -> Actions:
        """Complete the references between a volume and a claim, in both directions.

        Upstream: bind
        """
        actions: Actions = []
        reference = volume.spec.claim_ref
        metadata: Document = {}
        spec: Document = {}
        if reference is None:
            metadata = annotations_patch(volume, **{BOUND_BY_CONTROLLER: "yes"})
        if reference is None or reference.uid != claim.uid:
            spec = {"claimRef": reference_to(claim)}
        status = _phase(volume, "Bound", now_ns)
        # Upstream: bind writes the volume first, which reserves it for the claim.
        if metadata or spec or status:
            new_volume = patched(volume, metadata=metadata, spec=spec, status=status)
            actions.append(self.update(new_volume, "whole"))
        notes = {BIND_COMPLETED: "yes"}
        spec = {}
        if claim.spec.volume_name != volume.name:
            notes[BOUND_BY_CONTROLLER] = "yes"
            spec = {"volumeName": volume.name}
        written = section(volume, "spec")
        status = {
            "phase": "Bound",
            "accessModes": written.get("accessModes"),
            "capacity": written.get("capacity"),
            "currentVolumeAttributesClassName": written.get("volumeAttributesClassName"),
        }
        new = patched(claim, metadata=annotations_patch(claim, **notes), spec=spec, status=status)
        if new != claim:
            actions.append(self.update(new, "whole"))
        return actions

    # --------------------------------------------------------------------- provisioning

    def _provisioned(
        self, claim: PersistentVolumeClaim, storage_class: StorageClass, now_ns: int
    ) -> Actions:
        """Annotate the claim for its provisioner, then create the volume in its place.

        Upstream: provisionClaimOperationExternal
        """
        provisioner = storage_class.provisioner
        if provisioner == NO_PROVISIONER:
            note = f"no volume plugin matched name: {provisioner}"
            return [self.warning(claim, "ProvisioningFailed", note)]
        if claim.metadata.annotations.get(PROVISIONER) != provisioner:
            notes = {BETA_PROVISIONER: provisioner, PROVISIONER: provisioner}
            note = (
                "Waiting for a volume to be created either by the external provisioner"
                f" '{provisioner}' or manually by the system administrator. If volume creation is"
                " delayed, please verify that the provisioner is running and correctly registered."
            )
            return [
                self.update(patched(claim, metadata=annotations_patch(claim, **notes))),
                self.event(claim, "ExternalProvisioning", note),
            ]
        if self._volume(volume_name(claim)) is not None:
            return []
        begun = f'External provisioner is provisioning volume for claim "{claim.key}"'
        return [
            event_by(provisioner, claim, "Provisioning", begun),
            self.create(provisioned(self._lister, claim, storage_class, now_ns)),
        ]

    def _succeeded(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> Actions:
        """Return the Event about a volume that was provisioned for an unbound claim."""
        provisioner = volume.metadata.annotations.get(PROVISIONED_BY)
        if provisioner is None or volume.name != volume_name(claim):
            return []
        note = f"Successfully provisioned volume {volume.name}"
        return [event_by(provisioner, claim, "ProvisioningSucceeded", note)]

    def report_rejected(self, obj: KubernetesObject, message: str) -> Actions:
        """Return the Event about a provisioned volume that the API server rejected.

        Upstream: sigs.k8s.io/sig-storage-lib-external-provisioner controller/volume_store.go,
        doSaveVolume
        """
        provisioner = obj.metadata.annotations.get(PROVISIONED_BY)
        if provisioner is None or not isinstance(obj, PersistentVolume):
            return []
        reference = obj.spec.claim_ref
        assert reference is not None, "a provisioned volume is for a claim"
        key = f"{reference.namespace}/{reference.name}"
        claim = self._lister.get(PVC, key)
        if claim is None:
            return []
        note = f"Error creating provisioned PV object for claim {key}: {message}."
        note += " Deleting the volume."
        return [event_by(provisioner, claim, "ProvisioningFailed", note, is_warning=True)]

    # -------------------------------------------------------------------------- volumes

    def _sync_volume(self, volume: PersistentVolume, now_ns: int) -> Actions:
        """Update the phase of a volume, and release it if its claim was removed.

        Upstream: syncVolume
        """
        reference = volume.spec.claim_ref
        if reference is None:
            return self._in_phase(volume, "Available", now_ns)
        claim = self._lister.get(PVC, f"{reference.namespace}/{reference.name}")
        if not reference.uid:
            # Upstream does so also where the sync of the claim, which is next, binds it.
            if isinstance(claim, PersistentVolumeClaim) and _may_bind(volume, claim):
                return []
            return self._in_phase(volume, "Available", now_ns)
        if not isinstance(claim, PersistentVolumeClaim) or claim.uid != reference.uid:
            return self._released(volume, now_ns)
        if claim.spec.volume_name == volume.name:
            return self._in_phase(volume, "Bound", now_ns)
        if not claim.spec.volume_name:
            # The sync of the claim binds it, unless the modes differ.
            return self._mode_warnings(volume, claim)
        is_provisioned = PROVISIONED_BY in volume.metadata.annotations
        if is_provisioned and volume.spec.persistent_volume_reclaim_policy == "Delete":
            return self._released(volume, now_ns)
        # The claim was bound to another volume.
        return [self.update(_unbound(volume, now_ns), "whole")]

    def _mode_warnings(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> Actions:
        """Return the Events about a volume and its claim whose modes differ.

        Upstream: syncVolume
        """
        if _mode(volume) == _mode(claim):
            return []
        start, end = "Cannot bind PersistentVolume", "due to incompatible volumeMode."
        asked = "to requested PersistentVolumeClaim"
        return [
            self.warning(volume, "VolumeMismatch", f'{start} {asked} "{claim.name}" {end}'),
            self.warning(claim, "VolumeMismatch", f'{start} "{volume.name}" {asked} {end}'),
        ]

    def _in_phase(self, volume: PersistentVolume, phase: str, now_ns: int) -> Actions:
        status = _phase(volume, phase, now_ns)
        if not status:
            return []
        return [self.update(patched(volume, status=status), "status")]

    def _released(self, volume: PersistentVolume, now_ns: int) -> Actions:
        """Release a volume, and reclaim it.

        Upstream: reclaimVolume
        """
        if volume.status.phase == "Failed":
            return []
        actions = self._in_phase(volume, "Released", now_ns)
        if volume.spec.persistent_volume_reclaim_policy == "Recycle":
            return self._recycled(volume, now_ns)
        if volume.spec.persistent_volume_reclaim_policy != "Delete":
            return actions
        if PROVISIONED_BY in volume.metadata.annotations:
            if volume.metadata.deletion_timestamp is None:
                actions.append(self.delete(volume))
            return actions
        note = f'error getting deleter volume plugin for volume "{volume.name}":'
        note += " no deletable volume plugin matched"
        return self._failed(volume, "VolumeFailedDelete", note, now_ns)

    def _failed(self, volume: PersistentVolume, reason: str, note: str, now_ns: int) -> Actions:
        failed = patched(volume, status={**_phase(volume, "Failed", now_ns), "message": note})
        return [
            self.update(failed, "status"),
            self.warning(volume, reason, note),
        ]

    def _recycled(self, volume: PersistentVolume, now_ns: int) -> Actions:
        """Recycle a volume of a type that upstream still supports, and make it available.

        Upstream: recycleVolumeOperation
        """
        if not _RECYCLABLE & section(volume, "spec").keys():
            note = "No recycler plugin found for the volume!"
            return self._failed(volume, "VolumeFailedRecycle", note, now_ns)
        return [
            self.event(volume, "VolumeRecycled", "Volume recycled"),
            self.update(_unbound(volume, now_ns), "whole"),
        ]

    # ------------------------------------------------------------------------- look-ups

    def _volume(self, name: str) -> PersistentVolume | None:
        return cast(PersistentVolume | None, self._lister.get(PV, name))

    def _class(self, name: str) -> StorageClass | None:
        return cast(StorageClass | None, self._lister.get(STORAGE_CLASS, name))

    def _default_class(self) -> str | None:
        classes = self._lister.all(STORAGE_CLASS).values()
        return default_class(cast(Iterable[StorageClass], classes))


def _has_class(claim: PersistentVolumeClaim) -> bool:
    """Whether a claim names a class, if only the empty one.

    Upstream: PersistentVolumeClaimHasClass
    """
    return claim.spec.storage_class_name is not None or _BETA_CLASS in claim.metadata.annotations


def _index(index: dict[str, dict[str, None]], key: str, entry: str, *, is_present: bool) -> None:
    if is_present:
        index.setdefault(key, {})[entry] = None
        return
    entries = index.get(key, {})
    entries.pop(entry, None)
    if not entries:
        index.pop(key, None)


def _is_relevant_change(old: Version, new: Version) -> bool:
    """Whether a change of a claim affects more than its status and finalizers."""
    if old is None or new is None:
        return True
    was, now = old.metadata, new.metadata
    return (
        getattr(old, "spec", None) != getattr(new, "spec", None)
        or was.annotations != now.annotations
        or was.deletion_timestamp != now.deletion_timestamp
        or was.uid != now.uid
    )


def _is_bound(claim: PersistentVolumeClaim) -> bool:
    return BIND_COMPLETED in claim.metadata.annotations


def _waits_for_consumer(storage_class: StorageClass) -> bool:
    return storage_class.volume_binding_mode == "WaitForFirstConsumer"


def _is_bound_to_claim(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume refers to a claim.

    Upstream: IsVolumeBoundToClaim
    """
    reference = volume.spec.claim_ref
    return (
        reference is not None
        and (reference.namespace, reference.name) == (claim.namespace, claim.name)
        and reference.uid in {"", claim.uid}
    )


def _may_bind(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether a claim can be bound to a volume that is reserved for it."""
    if claim.spec.volume_name:
        return claim.spec.volume_name == volume.name
    return not _mismatch(volume, claim, any_class=True)


def _unbound(volume: PersistentVolume, now_ns: int) -> PersistentVolume:
    """Return a volume without its claim, available again.

    Upstream: unbindVolume
    """
    free: Document = {"claimRef": None}
    if BOUND_BY_CONTROLLER not in volume.metadata.annotations:
        # A user reserved the volume for this claim; the reservation is kept.
        reference = section(volume, "spec")["claimRef"]
        free = {"claimRef": {k: v for k, v in reference.items() if k != "uid"}}
    return patched(
        volume,
        metadata=annotations_patch(volume, **{BOUND_BY_CONTROLLER: None}),
        spec=free,
        status=_phase(volume, "Available", now_ns),
    )


def _mismatch(
    volume: PersistentVolume, claim: PersistentVolumeClaim, *, any_class: bool = False
) -> str:
    """Return why a volume does not satisfy a claim, empty if it does.

    Upstream: checkVolumeSatisfyClaim
    """
    if volume.metadata.deletion_timestamp is not None:
        return f'the volume is marked for deletion "{volume.name}"'
    if _capacity(volume) < quantity_value(claim.spec.resources.requests.get("storage", 0)):
        return "requested PV is too small"
    name = claim.spec.storage_class_name or ""
    if not any_class and volume.spec.storage_class_name != name:
        return "storageClassName does not match"
    attributes = claim.spec.volume_attributes_class_name or ""
    if (volume.spec.volume_attributes_class_name or "") != attributes:
        return "volumeAttributesClassName does not match"
    if _mode(volume) != _mode(claim):
        return "incompatible volumeMode"
    if any(mode not in volume.spec.access_modes for mode in claim.spec.access_modes):
        return "incompatible accessMode"
    return ""


def _mode(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    return obj.spec.volume_mode or "Filesystem"


def _capacity(volume: PersistentVolume) -> int:
    return quantity_value(volume.spec.capacity.get("storage", 0))


def _phase(volume: PersistentVolume, phase: str, now_ns: int) -> Document:
    """Return the fields of the status that a new phase changes, empty if it is the same.

    Upstream: updateVolumePhaseWithEvent, updateVolumePhase
    """
    if volume.status.phase == phase:
        return {}
    now = timestamp_text(now_ns)
    return {"phase": phase, "lastPhaseTransitionTime": now, "message": None}
