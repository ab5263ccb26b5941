"""The arguments of hint functions: the objects of an event, converted to the expected kind.

The queue passes the changed objects. A hint function raises for a kind that it did not register
for, which the queue treats as `QUEUE`, as upstream does.

Upstream: pkg/scheduler/util/utils.go (As);
staging/src/k8s.io/component-helpers/storage/ephemeral/ephemeral.go,
staging/src/k8s.io/csi-translation-lib/translate.go.
"""

from __future__ import annotations

from typing import TypeVar

from podwright.apimachinery.objects import KubernetesObject, PersistentVolumeClaim, Pod, Volume
from podwright.scheduler.framework import Hint

Kind = TypeVar("Kind", bound=KubernetesObject)


def changed(kind: type[Kind], old: object | None, new: object | None) -> tuple[Kind | None, Kind]:
    """Return the object before (None if added) and after.

    Raises
    ------
    TypeError
        If there is no new object, or either is not of that kind.
    """
    return None if old is None else only(kind, old), only(kind, new)


def only(kind: type[Kind], obj: object | None) -> Kind:
    """Return the object as that kind.

    Raises
    ------
    TypeError
        If it is not of that kind, or missing.
    """
    if not isinstance(obj, kind):
        raise TypeError(f"expected a {kind.__name__}, got {type(obj).__name__}")
    return obj


def queue_if(condition: object) -> Hint:
    """Return `QUEUE` if the condition holds, else `SKIP`."""
    return Hint.QUEUE if condition else Hint.SKIP


# The claims of a pod, and the CSI drivers of its inline volumes.


def claim_name(pod: Pod, volume: Volume) -> str | None:
    """Return the claim behind a volume, also of a generic ephemeral one; None if none is."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    if volume.ephemeral is not None:
        return f"{pod.metadata.name}-{volume.name}"
    return None


def uses_claim(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Return whether a volume of the pod uses the claim."""
    return pod.metadata.namespace == claim.metadata.namespace and any(
        claim_name(pod, volume) == claim.metadata.name for volume in pod.spec.volumes
    )


def names_claim(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Return whether the pod names the claim; claims of ephemeral volumes do not count."""
    return pod.metadata.namespace == claim.metadata.namespace and any(
        volume.persistent_volume_claim is not None
        and volume.persistent_volume_claim.claim_name == claim.metadata.name
        for volume in pod.spec.volumes
    )


def after_used_claim(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the pod uses the claim."""
    _, claim = changed(PersistentVolumeClaim, old, new)
    return queue_if(uses_claim(pod, claim))


def after_named_claim(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the pod names the claim."""
    _, claim = changed(PersistentVolumeClaim, old, new)
    return queue_if(names_claim(pod, claim))


def migrated_driver(volume: Volume) -> str | None:
    """Return the CSI driver that serves an inline volume of an old kind; None if none does."""
    sources = (
        (volume.gce_persistent_disk, "pd.csi.storage.gke.io"),
        (volume.aws_elastic_block_store, "ebs.csi.aws.com"),
        (volume.azure_disk, "disk.csi.azure.com"),
        (volume.azure_file, "file.csi.azure.com"),
        (volume.cinder, "cinder.csi.openstack.org"),
        (volume.portworx_volume, "pxd.portworx.com"),
        (volume.vsphere_volume, "csi.vsphere.vmware.com"),
    )
    return next((driver for source, driver in sources if source is not None), None)
