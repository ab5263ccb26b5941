"""The volumes of a pod's claims: which cannot be used yet, and why.

A claim that is not bound, or that is being deleted, is an error. A CSI volume is mounted when the
node's status lists it as attached, unless its driver attaches nothing. Nothing is reported while a
volume is not attached: the controller that attaches it reports why.

Upstream: pkg/kubelet/volumemanager/volume_manager.go, WaitForAttachAndMount;
pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go, createVolumeSpec;
pkg/volume/util/operationexecutor/operation_generator.go, GenerateVerifyControllerAttachedVolumeFunc
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    CSIDriver,
    Document,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
)
from podwright.cluster.kubelets.kubelet.pod_records import containers_of
from podwright.cluster.kubelets.kubelet.references import ObjectReader, used_volumes
from podwright.cluster.store import GroupKind

_CLAIM: Final[GroupKind] = ("", "PersistentVolumeClaim")
_VOLUME: Final[GroupKind] = ("", "PersistentVolume")
_DRIVER: Final[GroupKind] = ("storage.k8s.io", "CSIDriver")


class ClaimedVolumes(msgspec.Struct, frozen=True):
    """The volumes that cannot be mounted yet; all are names of the pod's spec.

    Attributes
    ----------
    unattached : list of str
        Sorted.
    errors : dict of str to str
        By volume, in the order of the spec.
    """

    unattached: list[str]
    errors: dict[str, str]

    @property
    def note(self) -> str:
        """The text of the Event for the errors."""
        unmounted = sorted({*self.unattached, *self.errors})
        return (
            f"Unable to attach or mount volumes: unmounted volumes={_go_list(unmounted)}, "
            f"unattached volumes={_go_list(self.unattached)}, "
            f"failed to process volumes={_go_list(sorted(self.errors))}: "
            f"{'; '.join(self.errors.values())}"
        )


def waiting_volumes(pod: Document, node: Node | None, reader: ObjectReader) -> ClaimedVolumes:
    """Return the volumes of claims for which a pod has to wait."""
    attached = {
        entry["name"]
        for entry in ((node.raw.get("status") or {}) if node else {}).get("volumesAttached") or ()
    }
    unattached: list[str] = []
    errors: dict[str, str] = {}
    for volume in used_volumes(pod):
        name = volume["name"]
        if claim_source := volume.get("persistentVolumeClaim"):
            claim_name = claim_source["claimName"]
        elif "ephemeral" in volume:
            claim_name = f"{pod['metadata']['name']}-{name}"
        else:
            continue
        found = _volume_of(pod["metadata"].get("namespace") or "", claim_name, reader)
        error = found if isinstance(found, str) else _mode_error(pod, name, found)
        if error is not None:
            errors[name] = error
        elif isinstance(found, PersistentVolume) and _is_attachable(found, reader):
            assert found.spec.csi is not None
            if found.spec.csi.unique_name not in attached:
                unattached.append(name)
    return ClaimedVolumes(sorted(unattached), errors)


def _volume_of(namespace: str, name: str, reader: ObjectReader) -> PersistentVolume | str:
    """Return the volume of a bound claim, or the error."""
    place = f"error processing PVC {namespace}/{name}: "
    claim = reader.get(_CLAIM, f"{namespace}/{name}")
    if not isinstance(claim, PersistentVolumeClaim):
        missing = f'persistentvolumeclaims "{name}" not found'
        return f"{place}failed to fetch PVC from API server: {missing}"
    if claim.metadata.deletion_timestamp is not None:
        return f"{place}PVC is being deleted"
    if claim.status.phase != "Bound" or not claim.spec.volume_name:
        return f"{place}PVC is not bound"
    volume_name = claim.spec.volume_name
    volume = reader.get(_VOLUME, volume_name)
    if not isinstance(volume, PersistentVolume):
        missing = f'persistentvolumes "{volume_name}" not found'
        return f"{place}failed to fetch PV {volume_name} from API server: {missing}"
    return volume


def _mode_error(pod: Document, name: str, volume: PersistentVolume) -> str | None:
    mode = volume.spec.volume_mode or "Filesystem"
    field = "volumeMounts" if mode == "Block" else "volumeDevices"
    for _, container in containers_of(pod.get("spec") or {}):
        if any(entry["name"] == name for entry in container.get(field) or ()):
            return f"volume {name} has volumeMode {mode}, but is specified in {field}"
    return None


def _is_attachable(volume: PersistentVolume, reader: ObjectReader) -> bool:
    if volume.spec.csi is None:
        return False
    driver = reader.get(_DRIVER, volume.spec.csi.driver)
    return not isinstance(driver, CSIDriver) or driver.spec.attach_required is not False


def _go_list(names: list[str]) -> str:
    """Return names as Go prints a slice."""
    return f"[{' '.join(names)}]"
