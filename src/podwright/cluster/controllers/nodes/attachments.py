"""Attached volumes: a VolumeAttachment for each CSI volume that pods of a node use.

The controller attaches the volumes of bound claims when their pods are on a node, and detaches
them when no pod needs them there. A volume that only one node can use is attached to another node
when it is detached from the first. The driver, which confirms an attachment in a real cluster, is
simulated by the controller: an attachment is confirmed at once. So is what kubelets report: the
volumes that containers on a node use. A volume that no container uses is attached, but not in use.

Attachments with other names, which users have created, are left alone.

Upstream: pkg/controller/volume/attachdetach/reconciler/reconciler.go;
pkg/volume/csi/csi_attacher.go; pkg/kubelet/volumemanager/volume_manager.go, GetVolumesInUse
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Final

from podwright.apimachinery.objects import (
    CSIDriver,
    CSIPersistentVolumeSource,
    KubernetesObject,
    NamespacedName,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    VolumeAttachment,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import UpdateObject, patched, section
from podwright.cluster.controllers.interface import Actions, Controller, Keys, PodChange, Version
from podwright.cluster.controllers.kinds import NODE, PV, PVC, VOLUME_ATTACHMENT
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.storage.pvc_users import PvcUsers, claims_of, mounted_claims_of
from podwright.cluster.store import POD

DRIVER_USER: Final = "csi-attacher"
"""The user that confirms attachments; the sidecar of drivers has this name."""

KUBELET_USER: Final = "kubelet"

_DRIVER: Final = ("storage.k8s.io", "CSIDriver")
_OWN_NAME: Final = re.compile(r"csi-[0-9a-f]{64}")
_SHARED_MODES: Final = frozenset({"ReadWriteMany", "ReadOnlyMany"})
_ELSEWHERE: Final = (
    "Volume is already exclusively attached to one node and can't be attached to another"
)


class AttachDetachController(Controller):
    """Attaches and detaches the volumes of nodes; the keys are the names of nodes.

    Parameters
    ----------
    lister : Lister
        The objects of the cluster.
    has_kubelets : bool
        Whether the volumes in use are written for simulated kubelets; others write them.
    """

    name = "attachdetach-controller"
    kinds = (POD, PVC, NODE, VOLUME_ATTACHMENT)
    pod_changes = PodChange.SPEC | PodChange.TERMINAL | PodChange.ADDED | PodChange.DELETED
    only_with_volumes = True

    def __init__(self, lister: Lister, *, has_kubelets: bool = True) -> None:
        super().__init__(lister)
        self._has_kubelets = has_kubelets
        self._users = PvcUsers(lister)
        # The names of the attachments to each node.
        self._attached: dict[str, dict[str, None]] = {}
        # The nodes that wait for a volume, by its name.
        self._waiting: dict[str, dict[str, None]] = {}

    def observe(self, old: Version, new: Version) -> Keys:
        """Return the nodes whose volumes may have to be attached or detached."""
        present = self.latest_of(old, new)
        if isinstance(present, Pod):
            self._users.observe(old, new)
            node = present.spec.node_name
            return (node,) if node and any(True for _ in claims_of(present)) else ()
        if isinstance(present, PersistentVolumeClaim):
            is_bound = isinstance(new, PersistentVolumeClaim) and new.spec.volume_name
            was_bound = isinstance(old, PersistentVolumeClaim) and old.spec.volume_name
            if not is_bound or was_bound:
                return ()
            return [pod.spec.node_name for pod in self._users.of(present.key) if pod.spec.node_name]
        if isinstance(present, VolumeAttachment):
            return self._observe_attachment(present, is_gone=new is None)
        # A node of another cluster gets its status from there, whatever is attached here.
        if isinstance(old, Node) and (new is None or _attached_to(old) == _attached_to(new)):
            return ()
        return (present.name,)

    def _observe_attachment(self, attachment: VolumeAttachment, *, is_gone: bool) -> Keys:
        node = attachment.spec.node_name
        names = self._attached.setdefault(node, {})
        if not is_gone:
            names[attachment.name] = None
            return (node,)
        names.pop(attachment.name, None)
        if not names:
            del self._attached[node]
        return (node, *self._waiting.pop(attachment.spec.source.persistent_volume_name or "", ()))

    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Attach and detach the volumes of a node."""
        desired = dict(self._desired(key))
        in_use = self._in_use(desired) if self._has_kubelets else None
        actions: Actions = []
        attached: list[str] = []
        for name in self._attached.get(key, ()):
            present = self._lister.get(VOLUME_ATTACHMENT, name)
            if not isinstance(present, VolumeAttachment) or not _OWN_NAME.fullmatch(name):
                continue
            volume_name = present.spec.source.persistent_volume_name or ""
            source, pods = self._attachable(volume_name), desired.pop(volume_name, None)
            if source is None or pods is None:
                if present.metadata.deletion_timestamp is None:
                    actions.append(self.delete(present))
                continue
            attached.append(source.unique_name)
            if not present.status.attached:
                actions.append(
                    UpdateObject(patched(present, status={"attached": True}), "status", DRIVER_USER)
                )
                note = f'AttachVolume.Attach succeeded for volume "{volume_name}" '
                actions += [self.event(pod, "SuccessfulAttachVolume", note) for pod in pods]
        node = self._lister.get(NODE, key)
        if node is None:
            return actions
        for volume_name, pods in desired.items():
            actions += self._attach(key, volume_name, pods)
        if in_use is not None and (section(node, "status").get("volumesInUse") or []) != in_use:
            new = patched(node, status={"volumesInUse": in_use or None})
            actions.append(UpdateObject(new, "status", KUBELET_USER))
            # Another component writes the attached volumes, to the changed node.
            return [*actions, self.sync_at(key, now_ns)]
        written = [{"name": each, "devicePath": ""} for each in sorted(attached)] or None
        if _attached_to(node) != written:
            new = patched(node, status={"volumesAttached": written})
            actions.append(self.update(new, "status"))
        return actions

    def _desired(self, node: str) -> Iterator[tuple[str, list[Pod]]]:
        """Yield the names of the volumes that pods of a node use, with the pods."""
        users: dict[str, list[Pod]] = {}
        for _, pod in sorted(self._lister.pods_on(node).items()):
            if pod.is_terminal:
                continue
            for name in self._volumes(claims_of(pod)):
                users.setdefault(name, []).append(pod)
        for name, pods in users.items():
            if self._attachable(name) is not None:
                yield name, pods

    def _in_use(self, desired: dict[str, list[Pod]]) -> list[str]:
        """Return the unique names of the volumes that containers use, sorted."""
        found = [
            self._attachable(volume)
            for volume, pods in desired.items()
            if any(volume in self._volumes(mounted_claims_of(pod)) for pod in pods)
        ]
        return sorted(source.unique_name for source in found if source is not None)

    def _volumes(self, claims: Keys) -> Iterator[str]:
        """Yield the names of the volumes of bound claims."""
        for key in claims:
            claim = self._lister.get(PVC, key)
            if isinstance(claim, PersistentVolumeClaim) and claim.spec.volume_name:
                yield claim.spec.volume_name

    def _attachable(self, name: str) -> CSIPersistentVolumeSource | None:
        """Return the source of a volume if it has to be attached."""
        volume = self._lister.get(PV, name)
        source = volume.spec.csi if isinstance(volume, PersistentVolume) else None
        if source is None:
            return None
        # Upstream attaches the volumes of a driver that has no object.
        driver = self._lister.get(_DRIVER, source.driver)
        is_required = not isinstance(driver, CSIDriver) or driver.spec.attach_required is not False
        return source if is_required else None

    def _attach(self, node: str, name: str, pods: list[Pod]) -> Actions:
        volume = self._lister.get(PV, name)
        assert isinstance(volume, PersistentVolume), "a volume that pods use"
        if not _SHARED_MODES.intersection(volume.spec.access_modes):
            elsewhere = {
                each.spec.node_name
                for each in self._lister.all(VOLUME_ATTACHMENT).values()
                if isinstance(each, VolumeAttachment)
                and each.spec.source.persistent_volume_name == name
                and each.spec.node_name != node
            }
            if elsewhere:
                return self._wait(node, volume, pods, sorted(elsewhere))
        source = volume.spec.csi
        assert source is not None, "a volume that is attached"
        digest = sha256(f"{source.volume_handle}{source.driver}{node}".encode()).hexdigest()
        attachment = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttachment",
            "metadata": {"name": f"csi-{digest}"},
            "spec": {
                "attacher": source.driver,
                "nodeName": node,
                "source": {"persistentVolumeName": name},
            },
            "status": {"attached": False},
        }
        return [self.create(decode(attachment))]

    def _wait(
        self, node: str, volume: PersistentVolume, pods: list[Pod], elsewhere: list[str]
    ) -> Actions:
        """Report that a volume is attached to other nodes, once for each wait.

        Upstream: reconciler.go, reportMultiAttachError. All pods of a claim are in its namespace.
        """
        nodes = self._waiting.setdefault(volume.name, {})
        if node in nodes:
            return []
        nodes[node] = None
        users = [
            pod.name
            for other in elsewhere
            for pod in dict(self._desired(other)).get(volume.name, ())
        ]
        why = f"Volume is already used by pod(s) {', '.join(users)}" if users else _ELSEWHERE
        note = f'Multi-Attach error for volume "{volume.name}" {why}'
        return [self.warning(pod, "FailedAttachVolume", note) for pod in pods]


def _attached_to(node: KubernetesObject) -> list[dict[str, str]] | None:
    """Return the attached volumes in the status of a node."""
    found: list[dict[str, str]] | None = section(node, "status").get("volumesAttached")
    return found
