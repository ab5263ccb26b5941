"""Volumes, claims, classes and CSI objects.

Upstream: staging/src/k8s.io/api/core/v1/types.go, staging/src/k8s.io/api/storage/v1/types.go
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects.meta import (
    Condition,
    KubernetesObject,
    LabelSelector,
    QuantityText,
    ResourceList,
    Struct,
)
from podwright.apimachinery.objects.selecting.node_selector import NodeSelector

VolumeMode: TypeAlias = Literal["", "Filesystem", "Block"]
VolumeBindingMode: TypeAlias = Literal["", "Immediate", "WaitForFirstConsumer"]
AccessMode: TypeAlias = Literal[
    "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"
]


class ObjectReference(Struct, frozen=True, kw_only=True):
    """A reference to another object."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


# ---------------------------------------------------------------------------- claims


class VolumeResourceRequirements(Struct, frozen=True, kw_only=True):
    """The requested size of a claim's volume."""

    requests: ResourceList = msgspec.field(default_factory=dict)
    limits: ResourceList = msgspec.field(default_factory=dict)


class PersistentVolumeClaimSpec(Struct, frozen=True, kw_only=True):
    """The spec of a claim."""

    access_modes: tuple[AccessMode, ...] = ()
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_mode: VolumeMode | None = None
    volume_name: str = ""
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(Struct, frozen=True, kw_only=True):
    """The status of a claim."""

    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: ResourceList = msgspec.field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()


class PersistentVolumeClaim(KubernetesObject, frozen=True, kw_only=True):
    """A claim."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "PersistentVolumeClaim"

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


# --------------------------------------------------------------------------- volumes


class CSIPersistentVolumeSource(Struct, frozen=True, kw_only=True):
    """A volume of a CSI driver."""

    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False

    @property
    def unique_name(self) -> str:
        """The name of the volume in the status of nodes.

        Upstream: pkg/volume/util/util.go, GetUniqueVolumeName
        """
        return f"kubernetes.io/csi/{self.driver}^{self.volume_handle}"


class NamedDisk(Struct, frozen=True, kw_only=True):
    """A cloud disk that CSI migration translates; only its name is read."""

    pd_name: str = ""
    volume_id: str = msgspec.field(default="", name="volumeID")
    disk_name: str = ""
    disk_uri: str = msgspec.field(default="", name="diskURI")
    share_name: str = ""
    volume_path: str = ""
    read_only: bool | None = None


class LocalVolumeSource(Struct, frozen=True, kw_only=True):
    """A directory or device of one node."""

    path: str = ""


class VolumeNodeAffinity(Struct, frozen=True, kw_only=True):
    """The nodes that can access the volume."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Struct, frozen=True, kw_only=True):
    """The spec of a volume."""

    capacity: ResourceList = msgspec.field(default_factory=dict)
    access_modes: tuple[AccessMode, ...] = ()
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: VolumeMode | None = None
    node_affinity: VolumeNodeAffinity | None = None
    persistent_volume_reclaim_policy: str = ""
    mount_options: tuple[str, ...] = ()
    volume_attributes_class_name: str | None = None
    csi: CSIPersistentVolumeSource | None = None
    local: LocalVolumeSource | None = None
    host_path: LocalVolumeSource | None = None
    gce_persistent_disk: NamedDisk | None = None
    aws_elastic_block_store: NamedDisk | None = None
    azure_disk: NamedDisk | None = None
    azure_file: NamedDisk | None = None
    cinder: NamedDisk | None = None
    portworx_volume: NamedDisk | None = None
    vsphere_volume: NamedDisk | None = None


class PersistentVolumeStatus(Struct, frozen=True, kw_only=True):
    """The status of a volume."""

    phase: str = ""
    reason: str = ""
    message: str = ""


class PersistentVolume(KubernetesObject, frozen=True, kw_only=True):
    """A volume."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "PersistentVolume"
    namespaced: ClassVar[bool] = False

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


# --------------------------------------------------------------------------- classes


class TopologySelectorLabelRequirement(Struct, frozen=True, kw_only=True):
    """A label and its allowed values."""

    key: str
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Struct, frozen=True, kw_only=True):
    """Labels that must all have one of their allowed values."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(KubernetesObject, frozen=True, kw_only=True):
    """A storage class: how volumes are provisioned."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "StorageClass"
    namespaced: ClassVar[bool] = False

    provisioner: str = ""
    parameters: dict[str, str] = msgspec.field(default_factory=dict)
    reclaim_policy: str | None = None
    mount_options: tuple[str, ...] = ()
    allow_volume_expansion: bool | None = None
    volume_binding_mode: VolumeBindingMode | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


# ------------------------------------------------------------------------------- CSI


class VolumeNodeResources(Struct, frozen=True, kw_only=True):
    """The limit of a driver's volumes on a node."""

    count: int | None = None


class CSINodeDriver(Struct, frozen=True, kw_only=True):
    """One driver on one node."""

    name: str = ""
    node_id: str = msgspec.field(default="", name="nodeID")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Struct, frozen=True, kw_only=True):
    """The drivers of a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(KubernetesObject, frozen=True, kw_only=True):
    """The CSI drivers of the node of the same name."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "CSINode"
    namespaced: ClassVar[bool] = False

    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Struct, frozen=True, kw_only=True):
    """The spec of a CSI driver."""

    attach_required: bool | None = None
    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(KubernetesObject, frozen=True, kw_only=True):
    """A CSI driver."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "CSIDriver"
    namespaced: ClassVar[bool] = False

    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(KubernetesObject, frozen=True, kw_only=True):
    """The available capacity of a storage class in one topology segment."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "CSIStorageCapacity"

    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: QuantityText | None = None
    maximum_volume_size: QuantityText | None = None


class VolumeAttachmentSource(Struct, frozen=True, kw_only=True):
    """The volume to attach."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Struct, frozen=True, kw_only=True):
    """The volume to attach, and the node."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachmentStatus(Struct, frozen=True, kw_only=True):
    """The status of an attachment."""

    attached: bool = False


class VolumeAttachment(KubernetesObject, frozen=True, kw_only=True):
    """The attachment of a volume to a node."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "VolumeAttachment"
    namespaced: ClassVar[bool] = False

    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
