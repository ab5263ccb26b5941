"""The sandbox of a pod: its volumes, its devices and its network, before any container starts.

Upstream: pkg/kubelet/kubelet.go, SyncPod; pkg/kubelet/volumemanager/volume_manager.go;
pkg/kubelet/volumemanager/volume_manager.go, WaitForAttachAndMount;
pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go, createVolumeSpec;
pkg/volume/util/operationexecutor/operation_generator.go,
GenerateVerifyControllerAttachedVolumeFunc; pkg/kubelet/cm/dra/manager.go, prepareResources.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

import msgspec

from podwright.apimachinery.devices import (
    PREPARE_DELAY,
    generated_claims,
    is_reserved_for,
    slice_name,
)
from podwright.apimachinery.objects import (
    SECOND_NS,
    CSIDriver,
    Document,
    KubernetesObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ResourceClaim,
    condition_of,
    parse_duration,
    timestamp_ns,
    timestamp_text,
)
from podwright.cluster.api import RecordEvent, UpdateObject, patched, section
from podwright.cluster.kubelets.kubelet.kubelet_node import KubeletNode
from podwright.cluster.kubelets.kubelet.pod_records import (
    ContainerKind,
    ContainerRecord,
    PodRecord,
    containers_of,
)
from podwright.cluster.kubelets.kubelet.references import ObjectReader, used_volumes, volume_errors
from podwright.cluster.store import GroupKind

_SYNC_RETRY_NS: Final = 10 * SECOND_NS
_MOUNT_BACK_OFF_NS: Final = SECOND_NS // 2
_MOUNT_BACK_OFF_MAX_NS: Final = 122 * SECOND_NS


def start_sandbox(sync: SyncContext) -> bool:
    """Mount the volumes and set up the network; False if the volumes cannot be mounted yet."""
    record, now_ns = sync.record, sync.now_ns
    if now_ns < record.mount_retry_ns:
        sync.sync_at(record.mount_retry_ns)
        return False
    reader = sync.node.reader
    errors = dict(volume_errors(sync.document, reader)) if reader is not None else {}
    for name, text in errors.items():
        note = f'MountVolume.SetUp failed for volume "{name}" : {text}'
        sync.event("Warning", "FailedMount", note)
    if errors:
        return _retry_mount(sync)
    if reader is not None and not (
        _has_claimed_volumes(sync, reader) and _prepare_devices(sync, reader)
    ):
        return False
    record.has_sandbox = True
    if sync.spec.get("hostNetwork"):
        record.pod_ip = sync.node.address
    elif not record.pod_ip:
        record.pod_ip = sync.node.new_pod_address(sync.pod)
    return True


def _has_claimed_volumes(sync: SyncContext, reader: ObjectReader) -> bool:
    """Whether the volumes of the claims are bound, and attached to the node."""
    waiting = waiting_volumes(sync.document, sync.node.read(), reader)
    if waiting.errors:
        sync.event("Warning", "FailedMount", waiting.note)
        return _retry_mount(sync, _SYNC_RETRY_NS)
    return not waiting.unattached or _retry_mount(sync)


def _retry_mount(sync: SyncContext, delay_ns: int | None = None) -> Literal[False]:
    """Mount later: after a delay, or after a back-off that doubles."""
    record = sync.record
    if delay_ns is None:
        back_off_ns = min(2 * record.mount_back_off_ns, _MOUNT_BACK_OFF_MAX_NS)
        delay_ns = record.mount_back_off_ns = back_off_ns or _MOUNT_BACK_OFF_NS
    record.mount_retry_ns = sync.now_ns + delay_ns
    sync.sync_at(record.mount_retry_ns)
    return False


def _prepare_devices(sync: SyncContext, reader: ObjectReader) -> bool:
    """Let the drivers prepare the resource claims; return whether they did."""
    try:
        preparation = prepared_claims(sync.pod, reader, sync.now_ns)
    except PrepareError as error:
        note = f"Failed to prepare dynamic resources: {error}"
        sync.event("Warning", "FailedPrepareDynamicResources", note)
        return _retry_mount(sync, _SYNC_RETRY_NS)
    if preparation.due_ns > sync.now_ns:
        return _retry_mount(sync, preparation.due_ns - sync.now_ns)
    sync.writes += preparation.writes
    return True


# The volumes of a pod's claims: which cannot be used yet, and why.
#
# A claim that is not bound, or that is being deleted without protection, is an error. A CSI volume
# is mounted when the node's status lists it as attached, unless its driver attaches nothing.
# Nothing is reported while a volume is not attached: the controller that attaches it reports why.

_CLAIM: Final[GroupKind] = ("", "PersistentVolumeClaim")
_VOLUME: Final[GroupKind] = ("", "PersistentVolume")
_PROTECTION: Final = "kubernetes.io/pvc-protection"
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
        owner = pod["metadata"] if "ephemeral" in volume else None
        found = _volume_of(pod["metadata"].get("namespace") or "", claim_name, reader, owner)
        if isinstance(found, str):
            errors[name] = found
        elif error := _mode_error(pod, name, found):
            errors[name] = error
        elif _is_attachable(found, reader):
            assert found.spec.csi is not None
            if found.spec.csi.unique_name not in attached:
                unattached.append(name)
    return ClaimedVolumes(sorted(unattached), errors)


def _volume_of(
    namespace: str, name: str, reader: ObjectReader, owner: Document | None
) -> PersistentVolume | str:
    """Return the volume of a bound claim, which the owner has to control if there is one.

    Otherwise the error is returned.

    Upstream: desired_state_of_world_populator.go, getPVCExtractPV, getPVSpec
    """
    place = f"error processing PVC {namespace}/{name}: "
    claim = reader.get(_CLAIM, f"{namespace}/{name}")
    if not isinstance(claim, PersistentVolumeClaim):
        missing = f'persistentvolumeclaims "{name}" not found'
        return f"{place}failed to fetch PVC from API server: {missing}"
    is_deleted = claim.metadata.deletion_timestamp is not None
    if is_deleted and _PROTECTION not in claim.metadata.finalizers:
        return f"{place}PVC is being deleted"
    if claim.status.phase != "Bound":
        return f"{place}PVC is not bound"
    volume_name = claim.spec.volume_name
    if not volume_name:
        return f"{place}PVC has empty pvc.Spec.VolumeName"
    if owner is not None:
        control = claim.metadata.controller
        if control is None or control.uid != owner.get("uid"):
            user = f"{namespace}/{owner['name']}"
            return f"PVC {claim.key} was not created for pod {user} (pod is not owner)"
    volume = reader.get(_VOLUME, volume_name)
    if not isinstance(volume, PersistentVolume):
        missing = f'persistentvolumes "{volume_name}" not found'
        return f"{place}failed to fetch PV {volume_name} from API server: {missing}"
    return volume


def _mode_error(pod: Document, name: str, volume: PersistentVolume) -> str | None:
    mode = volume.spec.volume_mode or "Filesystem"
    field = "volumeMounts" if mode == "Block" else "volumeDevices"
    for _, container in containers_of(pod["spec"]):
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


# The resource claims of a pod, which the drivers of its node prepare before its sandbox starts.
#
# A driver reports a prepared device in `status.devices` of the claim, with the condition Ready.
# The devices are cleaned up with the allocation, which ends with the last pod that uses the claim.

PREPARE_ERROR: Final = "podwright.dev/prepare-error"
"""The annotation of a claim whose devices cannot be prepared: the error of the driver."""

_RESOURCE_CLAIM: Final[GroupKind] = ("resource.k8s.io", "ResourceClaim")
_RESOURCE_SLICE: Final[GroupKind] = ("resource.k8s.io", "ResourceSlice")
_READY: Final = "Ready"


class PrepareError(Exception):
    """The claims cannot be prepared; the message is upstream's."""


class Preparation(NamedTuple):
    """What the drivers of a node do for a pod.

    Attributes
    ----------
    writes : list of UpdateObject
    due_ns : int
        When they are done; nothing is written before.
    """

    writes: list[UpdateObject]
    due_ns: int


def prepared_claims(pod: Pod, reader: ObjectReader, now_ns: int) -> Preparation:
    """Prepare the claims of a pod, and return the writes of the drivers.

    Drivers start when the pod is bound, and all at once.

    Raises
    ------
    PrepareError
        For the first claim that cannot be prepared; then none is.
    """
    claims = [_usable_claim(pod, name, reader) for name in _claim_names(pod)]
    for claim in claims:
        error = claim.metadata.annotations.get(PREPARE_ERROR)
        if error is not None:
            raise PrepareError(
                f"NodePrepareResources failed for ResourceClaim {claim.name}: {error}"
            )
    writes = []
    due_ns = now_ns
    for claim in claims:
        devices = _device_statuses(claim, now_ns)
        if devices is not None:
            driver = devices[0]["driver"]
            writes.append(
                UpdateObject(patched(claim, status={"devices": devices}), "status", driver)
            )
            delay_ns = _delay_ns(claim, reader)
            if delay_ns:
                due_ns = max(due_ns, _bound_ns(pod, now_ns) + delay_ns)
    return Preparation(writes if due_ns <= now_ns else [], due_ns)


def _delay_ns(claim: ResourceClaim, reader: ObjectReader) -> int:
    """Return how long the drivers of a claim take.

    That is the annotation of the claim, or of the slices that a simulated driver publishes.
    """
    texts = [claim.metadata.annotations.get(PREPARE_DELAY)]
    if texts[0] is None and claim.status.allocation is not None:
        for each in claim.status.allocation.devices.results:
            of = reader.get(_RESOURCE_SLICE, slice_name(each.pool, each.driver, 0))
            texts.append(None if of is None else of.metadata.annotations.get(PREPARE_DELAY))
    return max((_duration_ns(claim, text) for text in texts if text is not None), default=0)


def _duration_ns(claim: ResourceClaim, text: str) -> int:
    try:
        return max(parse_duration(text), 0)
    except ValueError:
        raise PrepareError(
            f"NodePrepareResources failed for ResourceClaim {claim.name}: {PREPARE_DELAY}:"
            f' "{text}" is not a duration such as 5s'
        ) from None


def _bound_ns(pod: Pod, now_ns: int) -> int:
    """Return when a pod was bound, in whole seconds."""
    condition = condition_of(pod, "PodScheduled")
    known = None if condition is None else timestamp_ns(condition.last_transition_time)
    return now_ns if known is None else known


def _claim_names(pod: Pod) -> list[tuple[str, bool]]:
    """Return the names of the pod's claims, and whether each was made for the pod."""
    generated = generated_claims(pod)
    names: list[tuple[str, bool]] = []
    for entry in pod.spec.resource_claims:
        if entry.resource_claim_name is not None:
            names.append((entry.resource_claim_name, False))
        elif entry.resource_claim_template_name is None:
            raise PrepareError(
                f'pod "{pod.namespace}/{pod.name}", spec.resourceClaim "{entry.name}": none of the'
                " supported fields are set"
            )
        elif entry.name not in generated:
            raise PrepareError(f'pod "{pod.namespace}/{pod.name}": ResourceClaim not created yet')
        else:
            name = generated[entry.name]
            if name is not None:
                names.append((name, True))
    extended = section(pod, "status").get("extendedResourceClaimStatus") or {}
    if extended.get("resourceClaimName"):
        names.append((extended["resourceClaimName"], False))
    return names


def _usable_claim(pod: Pod, named: tuple[str, bool], reader: ObjectReader) -> ResourceClaim:
    """Return a claim whose devices the pod may use."""
    name, is_generated = named
    claim: KubernetesObject | None = reader.get(_RESOURCE_CLAIM, f"{pod.namespace}/{name}")
    if not isinstance(claim, ResourceClaim):
        raise PrepareError(
            f'fetch ResourceClaim {name}: resourceclaims.resource.k8s.io "{name}" not found'
        )
    owner = claim.metadata.controller
    if is_generated and (owner is None or owner.uid != pod.uid):
        raise PrepareError(
            f"ResourceClaim {claim.namespace}/{name} was not created for Pod"
            f" {pod.namespace}/{pod.name} (Pod is not owner)"
        )
    if not is_reserved_for(claim, pod):
        raise PrepareError(
            f"pod {pod.name} ({pod.uid}) is not allowed to use ResourceClaim {name} ({claim.uid})"
        )
    if claim.status.allocation is None:
        raise PrepareError(f"ResourceClaim {name}: not allocated")
    return claim


def _device_statuses(claim: ResourceClaim, now_ns: int) -> list[Document] | None:
    """Return `status.devices` with every device ready; None if it says so already."""
    given = section(claim, "status")
    statuses: list[Document] = [dict(each) for each in given.get("devices") or ()]
    known = {_identity(each): each for each in statuses}
    has_changed = False
    for result in given["allocation"]["devices"].get("results") or ():
        status = known.get(_identity(result))
        if status is None:
            status = {field: result.get(field) or "" for field in ("driver", "pool", "device")}
            if result.get("shareID"):
                status["shareID"] = result["shareID"]
            known[_identity(result)] = status
            statuses.append(status)
        conditions = status.get("conditions") or []
        if any(each.get("type") == _READY for each in conditions):
            continue
        ready = {
            "type": _READY,
            "status": "True",
            "reason": "Prepared",
            "message": "",
            "lastTransitionTime": timestamp_text(now_ns),
        }
        status["conditions"] = [*conditions, ready]
        has_changed = True
    return statuses if has_changed else None


def _identity(of: Document) -> tuple[Any, ...]:
    return of.get("driver"), of.get("pool"), of.get("device"), of.get("shareID")


# What the parts of a sync share: the pod, its record and the time, and what the sync collects.

_LISTS: Final[dict[ContainerKind, str]] = {
    "init": "initContainers",
    "sidecar": "initContainers",
    "app": "containers",
    "ephemeral": "ephemeralContainers",
}


class SyncContext:
    """The context of a sync of one pod at one time.

    Parameters
    ----------
    pod : Pod
    record : PodRecord
        Is changed.
    node : KubeletNode
        The node of the pod.
    now_ns : int

    Attributes
    ----------
    document, metadata, spec : dict
        Of the pod.
    containers : list of (ContainerKind, dict)
        Of the pod, in the order in which they start.
    events : list of RecordEvent
    writes : list of UpdateObject
        Of the claims that were prepared.
    due_ns : int, optional
        When the pod has to be synced again; None for not before it changes.
    """

    def __init__(self, pod: Pod, record: PodRecord, node: KubeletNode, now_ns: int) -> None:
        self.pod = pod
        self.document: Document = pod.raw
        self.metadata: Document = pod.raw["metadata"]
        self.spec: Document = pod.raw.get("spec") or {}
        self.containers = containers_of(self.spec)
        self.record = record
        self.node = node
        self.now_ns = now_ns
        self.events: list[RecordEvent] = []
        self.writes: list[UpdateObject] = []
        self.due_ns: int | None = None

    def sync_at(self, due_ns: int) -> None:
        """Sync the pod again at a time, or earlier."""
        if self.due_ns is None or due_ns < self.due_ns:
            self.due_ns = due_ns

    def event(self, event_type: str, reason: str, note: str, field_path: str = "") -> None:
        """Record an Event of the pod."""
        self.events.append(self.node.event_of(self.pod, event_type, reason, note, field_path))

    def container_event(
        self, known: ContainerRecord, event_type: str, reason: str, note: str
    ) -> None:
        """Record an Event of a container."""
        self.event(event_type, reason, note, f"spec.{_LISTS[known.kind]}{{{known.name}}}")
