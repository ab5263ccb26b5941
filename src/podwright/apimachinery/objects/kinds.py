"""The typed kinds, `Unknown` for all others, and changes of objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias, get_args

import msgspec

from podwright.apimachinery.objects.devices import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)
from podwright.apimachinery.objects.errors import ArgumentError, described_type
from podwright.apimachinery.objects.meta import KubernetesObject
from podwright.apimachinery.objects.node import Node
from podwright.apimachinery.objects.pods.pod import Pod
from podwright.apimachinery.objects.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from podwright.apimachinery.objects.workload import (
    CoschedulingPodGroup,
    Namespace,
    PodDisruptionBudget,
    PodGroup,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    Workload,
)


class Unknown(KubernetesObject, frozen=True, kw_only=True):
    """An object of an untyped kind: its metadata, and the document in `raw`."""

    api_version: str = ""  # type: ignore[misc]  # differs per object, unlike the typed kinds
    kind: str = ""  # type: ignore[misc]  # as above

    @property
    def resource(self) -> str:
        """The kind with its group, ``NodeMetric.slo.koordinator.sh``, as plugins name it."""
        return f"{self.kind}.{api_group(self.api_version)}".removesuffix(".")


Object: TypeAlias = (
    Pod
    | Node
    | Namespace
    | PersistentVolume
    | PersistentVolumeClaim
    | StorageClass
    | CSINode
    | CSIDriver
    | CSIStorageCapacity
    | VolumeAttachment
    | Service
    | ReplicationController
    | ReplicaSet
    | StatefulSet
    | PodDisruptionBudget
    | PriorityClass
    | PodGroup
    | CoschedulingPodGroup
    | Workload
    | ResourceClaim
    | DeviceClass
    | ResourceSlice
    | DeviceTaintRule
    | Unknown
)
"""Any object; `match` on the class."""

TYPES: tuple[type[KubernetesObject], ...] = tuple(
    cls for cls in get_args(Object) if cls is not Unknown
)
"""The typed kinds, in the order of `Object`."""


def api_group(api_version: str) -> str:
    """Return the group of an `apiVersion`, empty for the core group."""
    return api_version.rpartition("/")[0]


TYPE_OF: dict[tuple[str, str], type[KubernetesObject]] = {
    (api_group(cls.api_version), cls.kind): cls for cls in TYPES
}
"""(group, kind) to struct; versions of a kind share their struct."""


def require_objects(objects: Iterable[object], what: str = "objects") -> None:
    """Raise an error if a value is not a Kubernetes object.

    Raises
    ------
    ArgumentError
        Naming the first such value.
    """
    for index, obj in enumerate(objects):
        if isinstance(obj, KubernetesObject):
            continue
        advice = ""
        if isinstance(obj, list | tuple):
            advice = "; pass the objects as separate arguments: *objects"
        elif isinstance(obj, Mapping | str):
            advice = "; podwright.load reads manifests"
        raise ArgumentError(
            f"{what}[{index}]: must be a Kubernetes object, not {described_type(obj)}{advice}"
        )


# Changes of objects, as those who watch them receive them.


class ObjectPut(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """An object was created or updated; the machine finds out which.

    Parameters
    ----------
    obj : object
        The object as it is now.
    """

    obj: Object


class ObjectDeleted(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """An object was deleted.

    Parameters
    ----------
    obj : object
        The last known version of the object.
    """

    obj: Object
