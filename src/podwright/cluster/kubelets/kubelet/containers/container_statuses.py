"""The statuses of a pod's containers, from the record of the pod.

Upstream: pkg/kubelet/kubelet_pods.go, convertToAPIContainerStatuses; pkg/kubelet/prober/
prober_manager.go, UpdatePodStatus; pkg/api/v1/pod/util.go, ContainerShouldRestart;
pkg/kubelet/kuberuntime/ kuberuntime_manager.go, doBackOff;
staging/src/k8s.io/client-go/util/flowcontrol/backoff.go.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import Document, timestamp_text
from podwright.cluster.kubelets.kubelet.containers.container_creation import read_image
from podwright.cluster.kubelets.kubelet.pod_records import (
    STATUS_FIELDS,
    ContainerRecord,
    Ended,
    PodRecord,
    container_id,
    containers_of,
)

_SHARED_MAX: Final = 1_024
_MESSAGES_MAX: Final = 12 * 1024
"""The size of the termination messages of a pod; each container has an equal share."""

_NO_STATE: Final[Document] = {}

_Mount: TypeAlias = tuple[str, str, str, str | None]
"""Volume, path, whether all below is read-only if the path is, and the image of the volume."""


def container_statuses(pod: Document, record: PodRecord) -> dict[str, list[Document]]:
    """Return the statuses of all containers, by the field of the pod's status.

    Those of init containers have the order of the spec, the others that of their names.

    Upstream: pkg/kubelet/status/status_manager.go, normalizeStatus
    """
    spec = pod.get("spec") or {}
    waiting = "PodInitializing" if spec.get("initContainers") else "ContainerCreating"
    found: dict[str, list[Document]] = {}
    containers = containers_of(spec)
    message_max = _MESSAGES_MAX // max(len(containers), 1)
    for kind, container in containers:
        known = record.containers.get(container["name"])
        if known is not None:
            status = _status(spec, container, known, record, waiting, message_max)
            if kind == "ephemeral":  # it has no probes
                status["ready"] = False
                del status["started"]
            found.setdefault(STATUS_FIELDS[kind], []).append(status)
    for kind in ("app", "ephemeral"):
        found.get(STATUS_FIELDS[kind], []).sort(key=lambda status: str(status["name"]))
    return found


def _status(
    spec: Document,
    container: Document,
    known: ContainerRecord,
    record: PodRecord,
    waiting: str,
    message_max: int,
) -> Document:
    run, ended, last = known.running, known.ended, known.last
    is_ready = run is not None and run.is_ready
    if known.kind == "init":
        is_ready = known.has_succeeded
    state: Document
    if run is not None:
        state = _running(timestamp_text(run.started_ns))
    elif known.waiting is not None:
        reason, message = known.waiting
        state = {"waiting": {"reason": reason} | ({"message": message} if message else {})}
        last = ended or last
    elif ended is not None:
        state = {"terminated": terminated_state(ended, message_max)}
    else:
        state = {"waiting": {"reason": waiting}}
    image = container.get("image") or ""
    status: Document = {
        "name": known.name,
        "state": state,
        "lastState": {"terminated": terminated_state(last, message_max)}
        if last is not None
        else _NO_STATE,
        "ready": is_ready,
        "restartCount": known.restart_count,
        "image": image,
        "imageID": "",
    }
    if run is not None or ended is not None:
        found = read_image(run.spec.get("image") or "" if run is not None else image)
        if found is not None:
            status["image"], status["imageID"] = found.name, found.image_id
        status["containerID"] = (
            run.container_id
            if run is not None
            else ended.container_id
            if ended is not None and ended.container_id
            else container_id(record.uid, known.name, known.restart_count)
        )
    status["started"] = run is not None and run.is_started
    if run is not None or ended is not None:
        resources = record.allocated.get(known.name) or {}
        if resources.get("requests"):
            status["allocatedResources"] = resources["requests"]
        if "claims" in resources:
            resources = {name: part for name, part in resources.items() if name != "claims"}
        status["resources"] = resources
    mounts = container.get("volumeMounts")
    if mounts:
        images = _volume_images(spec) if run is not None or ended is not None else {}
        status["volumeMounts"] = _mounts(tuple([_mount(mount, images) for mount in mounts]))
    if run is not None or ended is not None:
        status["user"] = _user(spec, container)
    return status


def terminated_state(ended: Ended, message_max: int) -> Document:
    """Return the state of a container that has ended."""
    state: Document = {"exitCode": ended.exit_code, "reason": ended.reason}
    if ended.message:
        state["message"] = ended.message[:message_max]
    state["startedAt"] = timestamp_text(ended.started_ns)
    state["finishedAt"] = timestamp_text(ended.finished_ns)
    if ended.container_id:
        state["containerID"] = ended.container_id
    return state


def _mount(mount: Document, images: dict[str, str]) -> _Mount:
    is_recursive = mount.get("recursiveReadOnly") in ("Enabled", "IfPossible")
    recursive = "Enabled" if is_recursive else "Disabled"
    name = mount["name"]
    return name, mount["mountPath"], recursive if mount.get("readOnly") else "", images.get(name)


def _volume_images(spec: Document) -> dict[str, str]:
    """Return the references of the images that are volumes, by volume."""
    images = {
        volume["name"]: read_image(volume["image"].get("reference") or "")
        for volume in spec.get("volumes") or ()
        if "image" in volume
    }
    return {
        name: image.image_id.partition("@")[2]
        for name, image in images.items()
        if image is not None
    }


def _user(spec: Document, container: Document) -> dict[str, Any]:
    """Return the identity of the first process, as a runtime reports it; images use root."""
    of_pod, own = spec.get("securityContext") or {}, container.get("securityContext") or {}
    uid = own.get("runAsUser", of_pod.get("runAsUser", 0))
    gid = own.get("runAsGroup", of_pod.get("runAsGroup", 0))
    groups = {gid, *(of_pod.get("supplementalGroups") or ())}
    if of_pod.get("fsGroup") is not None:
        groups.add(of_pod["fsGroup"])
    return _linux_user(uid, gid, tuple(sorted(groups)))


# Documents are immutable by convention, so equal parts of many pods can be one.


@lru_cache(maxsize=_SHARED_MAX)
def _linux_user(uid: int, gid: int, groups: tuple[int, ...]) -> dict[str, Any]:
    return {"linux": {"uid": uid, "gid": gid, "supplementalGroups": list(groups)}}


@lru_cache(maxsize=_SHARED_MAX)
def _mounts(mounts: tuple[_Mount, ...]) -> list[Document]:
    return [
        {"name": name, "mountPath": path}
        | ({"readOnly": True, "recursiveReadOnly": recursive} if recursive else {})
        | ({"volumeStatus": {"image": {"imageRef": image}}} if image is not None else {})
        for name, path, recursive, image in mounts
    ]


@lru_cache(maxsize=_SHARED_MAX)
def _running(started_at: str) -> Document:
    return {"running": {"startedAt": started_at}}


# Whether and when a container that has ended is started again.

INITIAL_NS: Final = 10_000_000_000
MAX_NS: Final = 300_000_000_000


def should_restart(kind: str, container: Document, spec: Document, exit_code: int) -> bool:
    """Whether a container starts again after an exit code."""
    if kind == "ephemeral":
        return False
    policy = container.get("restartPolicy")
    if policy:
        for rule in container.get("restartPolicyRules") or ():
            if _matches(rule, exit_code):
                return True
    elif kind == "init":
        # An init container that has succeeded is never started again.
        policy = "Never" if spec.get("restartPolicy") == "Never" else "OnFailure"
    else:
        policy = spec.get("restartPolicy") or "Always"
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def _matches(rule: Document, exit_code: int) -> bool:
    codes = rule.get("exitCodes") or {}
    is_listed = exit_code in (codes.get("values") or ())
    return is_listed if codes.get("operator") == "In" else not is_listed


def restart_ns(record: ContainerRecord) -> int:
    """Return when a container that has ended may start again.

    Notes
    -----
    Upstream: kuberuntime_manager.go, doBackOff. The sync that stops a container knows only of the
    end of its run before.
    """
    assert record.ended is not None
    finished_ns = since_ns = record.ended.finished_ns
    if record.must_restart:
        if record.last is None:
            return finished_ns
        since_ns = record.last.finished_ns
    is_over = since_ns - record.back_off_at_ns > 2 * MAX_NS
    if is_over or since_ns + record.back_off_ns <= finished_ns:
        return finished_ns
    return finished_ns + record.back_off_ns


def count_restart(record: ContainerRecord, now_ns: int) -> None:
    """Increase the back-off of a container that starts again."""
    ended = record.last if record.must_restart else record.ended
    if ended is None:
        return
    is_over = ended.finished_ns - record.back_off_at_ns > 2 * MAX_NS
    if not record.back_off_ns or is_over:
        record.back_off_ns = INITIAL_NS
    else:
        record.back_off_ns = min(2 * record.back_off_ns, MAX_NS)
    record.back_off_at_ns = now_ns
