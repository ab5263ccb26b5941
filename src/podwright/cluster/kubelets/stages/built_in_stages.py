"""The built-in stages: KWOK's fast stages, which have no delay, and those of annotations.

A node becomes ready immediately. A pod runs as soon as it is bound, a pod of a Job succeeds as
soon as it runs, and a deleted pod is removed immediately. The stages are functions that produce
the patches of KWOK's templates, whose rendering would take half of a simulation's time. A test
compares them with the templates.

Upstream: KWOK kustomize/stage/node/fast and kustomize/stage/pod/fast;
pkg/kubelet/kuberuntime/kuberuntime_manager.go, doBackOff; pkg/kubelet/status/generate.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any, Final

from podwright.apimachinery.objects import SECOND_NS, Document, Pod, timestamp_ns
from podwright.cluster.kubelets.pod_statuses import (
    DELETION_TIME,
    RUN_DELAY,
    RUN_JITTER,
    START_CONDITIONS,
    STOP_DELAY,
    back_off_message,
    completed_statuses,
    container_names,
    container_status,
    ended_pod,
    exit_patch,
    read_exit_code,
    readiness_patch,
    ready_conditions,
    running_statuses,
    started_at,
    started_pod,
    terminated_state,
)
from podwright.cluster.kubelets.stages.stage import (
    KWOK_VERSION,
    NODE_CONDITIONS,
    Bound,
    Delay,
    DeleteStep,
    FastPath,
    FinalizersStep,
    PatchStep,
    Requirement,
    Stage,
    StageContext,
)
from podwright.cluster.kubelets.templates.jq import Query, query

_SOURCE: Final = "fast stages"
_ANNOTATION_SOURCE: Final = "annotation stages"
_SOURCES: Final = (_SOURCE, _ANNOTATION_SOURCE)


@cache
def fast_stages() -> tuple[Stage, ...]:
    """Return KWOK's fast stages.

    Pods with a delay annotation are excluded from `pod-complete` and `pod-delete`; the annotation
    stages handle them.
    """
    exists = Requirement(query(".metadata.deletionTimestamp"), "Exists")
    stays = Requirement(query(".metadata.deletionTimestamp"), "DoesNotExist")
    ready = query('.status.conditions.[] | select(.type == "Ready") | .status')
    phase, owners = query(".status.phase"), query(".metadata.ownerReferences.[].kind")
    no_run_delay = Requirement(annotation_query(RUN_DELAY), "DoesNotExist")
    no_stop_delay = Requirement(annotation_query(STOP_DELAY), "DoesNotExist")
    return (
        Stage(
            name="node-initialize",
            kind="Node",
            requirements=(Requirement(ready, "NotIn", ("True",)),),
            steps=(status_step(_node_initialize_patch),),
            source=_SOURCE,
        ),
        Stage(
            name="pod-ready",
            kind="Pod",
            requirements=(stays, Requirement(phase, "NotIn", ("Running", "Succeeded", "Failed"))),
            steps=(status_step(_pod_ready_patch, fast_path=started_pod),),
            source=_SOURCE,
        ),
        Stage(
            name="pod-complete",
            kind="Pod",
            requirements=(
                stays,
                Requirement(phase, "In", ("Running",)),
                Requirement(owners, "In", ("Job",)),
                no_run_delay,
            ),
            steps=(status_step(_pod_complete_patch),),
            source=_SOURCE,
        ),
        Stage(
            name="pod-delete",
            kind="Pod",
            requirements=(exists, no_stop_delay),
            steps=(FinalizersStep(is_empty=True), DeleteStep()),
            source=_SOURCE,
        ),
    )


def annotation_query(name: str) -> Query:
    """Return the query of an annotation."""
    return query(f'.metadata.annotations["{name}"]')


def status_step(
    render: Callable[[Document, StageContext], Any], *, fast_path: FastPath | None = None
) -> PatchStep:
    """Return a step that patches the status with the result of `render`."""
    return PatchStep(
        render,
        root="status",
        subresource="status",
        type="strategic",
        is_plain=True,
        fast_path=fast_path,
    )


def _node_initialize_patch(document: Document, context: StageContext) -> Any:
    status = document.get("status") or {}
    now, version = context.now, f"kwok-{KWOK_VERSION}"
    default = {"cpu": "1k", "memory": "1Ti", "pods": "1M"}
    info = status.get("nodeInfo") or {}
    patch: dict[str, Any] = {
        "phase": "Running",
        "conditions": [
            {**condition, "lastHeartbeatTime": now, "lastTransitionTime": now}
            for condition in NODE_CONDITIONS
        ],
        "allocatable": status.get("allocatable") or default,
        "capacity": status.get("capacity") or default,
        "nodeInfo": {
            name: info.get(name) or fallback
            for name, fallback in (
                ("architecture", "amd64"),
                ("bootID", ""),
                ("containerRuntimeVersion", version),
                ("kernelVersion", version),
                ("kubeProxyVersion", version),
                ("kubeletVersion", version),
                ("machineID", ""),
                ("operatingSystem", "linux"),
                ("osImage", ""),
                ("systemUUID", ""),
            )
        },
    }
    if not status.get("addresses"):
        patch["addresses"] = [
            {"type": "InternalIP", "address": context.node_ip(document)},
            {"type": "Hostname", "address": document["metadata"].get("name", "")},
        ]
    return patch


def _pod_ready_patch(document: Document, context: StageContext) -> Any:
    spec, now = document.get("spec") or {}, context.now
    gates = [gate["conditionType"] for gate in spec.get("readinessGates") or ()]
    patch: dict[str, Any] = {
        "phase": "Running",
        "hostIP": context.addresses.of_node(spec.get("nodeName") or ""),
        "podIP": context.pod_ip(document),
        "startTime": now,
        "conditions": ready_conditions((*START_CONDITIONS, *gates), now),
    }
    if containers := spec.get("containers"):
        patch["containerStatuses"] = running_statuses(container_names(containers), now)
    running = {"running": {"startedAt": now}}
    if containers := spec.get("initContainers"):
        patch["initContainerStatuses"] = [
            container_status(entry, is_ready=True)
            | (
                {"started": True, "state": running}
                if entry.get("restartPolicy") == "Always"
                else {"state": terminated_state(0, now, now)}
            )
            for entry in containers
        ]
    return patch


def _pod_complete_patch(document: Document, context: StageContext) -> Any:
    now = context.now
    patch: dict[str, Any] = {"phase": "Succeeded"}
    if containers := (document.get("spec") or {}).get("containers"):
        patch["containerStatuses"] = completed_statuses(container_names(containers), now)
    return patch


# The stages for pods whose annotations define how long they run and how they end.
#
# They extend KWOK, whose stages complete only pods of Jobs and do not restart containers.
#
# | annotation | meaning |
# |---|---|
# | `pod-complete.stage.kwok.x-k8s.io/delay` | the containers exit after this Go duration |
# | `pod-complete.stage.kwok.x-k8s.io/jitter-delay` | the exit is drawn between the two durations |
# | `pod-complete.stage.kwok.x-k8s.io/exit-code` | the exit code of the containers; default 0 |
# | `pod-delete.stage.kwok.x-k8s.io/delay` | the least time that a deleted pod takes to stop |
# | `alibabacloud.com/deletion-time` | the second of the trace at which the pod has succeeded |
#
# The restart policy then applies: Never ends the pod, OnFailure ends it if the exit code is 0, and
# Always restarts the containers. The restart backoff is the kubelet's: the first restart is
# immediate, the next ones follow after 10 s, 20 s, and so on up to five minutes. A container that
# ran for ten minutes restarts immediately.

_KEPT_BESIDE_KUBELET = "pod-finish"
_BACKOFF_NS = 10 * SECOND_NS
_BACKOFF_MAX_NS = 300 * SECOND_NS
_BACKOFF_RESET_NS = 600 * SECOND_NS


def default_stages(*, trace_start_ns: int = 0) -> tuple[Stage, ...]:
    """Return the stages that a world uses by default.

    Parameters
    ----------
    trace_start_ns : int
        The time of second 0 of `alibabacloud.com/deletion-time`.
    """
    return (*fast_stages(), *_annotation_stages(trace_start_ns))


def with_own_stages(given: Iterable[Stage], own: Sequence[Stage]) -> tuple[Stage, ...]:
    """Return the stages of a user, and the built-in ones of all other kinds.

    Parameters
    ----------
    given : iterable of Stage
        Built-in ones, and those of a user that stay unless one of `own` has the same name.
    own : sequence of Stage
    """
    names = {(stage.group, stage.kind, stage.name) for stage in own}
    replaced = {(stage.group, stage.kind) for stage in own}
    kept = [
        stage
        for stage in given
        if (stage.group, stage.kind, stage.name) not in names
        and not (stage.source in _SOURCES and (stage.group, stage.kind) in replaced)
    ]
    return (*kept, *own)


def stages_beside_kubelet(stages: Iterable[Stage] | None = None) -> tuple[Stage, ...]:
    """Return the stages without the built-in ones that the simulated kubelet replaces.

    Parameters
    ----------
    stages : iterable of Stage, optional
        The built-in ones if left out.
    """
    given = default_stages() if stages is None else stages
    replaced = {(stage.name, stage.source) for stage in default_stages() if stage.kind == "Pod"}
    return tuple(
        stage
        for stage in given
        if (stage.name, stage.source) not in replaced or stage.name == _KEPT_BESIDE_KUBELET
    )


def _annotation_stages(trace_start_ns: int) -> tuple[Stage, ...]:
    is_running = (
        Requirement(query(".metadata.deletionTimestamp"), "DoesNotExist"),
        Requirement(query(".status.phase"), "In", ("Running",)),
    )
    run_delay, deletion_time = annotation_query(RUN_DELAY), annotation_query(DELETION_TIME)
    return (
        Stage(
            name="pod-exit",
            kind="Pod",
            requirements=(
                *is_running,
                Requirement(query(".status.containerStatuses.[].state.running"), "Exists"),
                Requirement(run_delay, "Exists"),
                Requirement(deletion_time, "DoesNotExist"),
            ),
            delay=Delay(Bound(0, run_delay), Bound(None, annotation_query(RUN_JITTER))),
            steps=(status_step(_exit_patch, fast_path=_exit_fast),),
            source=_ANNOTATION_SOURCE,
        ),
        Stage(
            name="pod-restart",
            kind="Pod",
            requirements=(
                *is_running,
                Requirement(
                    query(".status.containerStatuses.[].state.waiting.reason"),
                    "In",
                    ("CrashLoopBackOff",),
                ),
            ),
            delay=Delay(Bound(None, query(".status.containerStatuses"), _backoff_left)),
            steps=(status_step(_restart_patch),),
            source=_ANNOTATION_SOURCE,
        ),
        Stage(
            name="pod-finish",
            kind="Pod",
            requirements=(*is_running, Requirement(deletion_time, "Exists")),
            delay=Delay(Bound(None, deletion_time, partial(_delay_until_second, trace_start_ns))),
            steps=(status_step(_finish_patch, fast_path=_finish_fast),),
            source=_ANNOTATION_SOURCE,
        ),
        Stage(
            name="pod-stop",
            kind="Pod",
            requirements=(
                Requirement(query(".metadata.deletionTimestamp"), "Exists"),
                Requirement(annotation_query(STOP_DELAY), "Exists"),
            ),
            # As in KWOK's general pod stages: at the latest when the grace period ends.
            delay=Delay(
                Bound(0, annotation_query(STOP_DELAY)),
                Bound(None, query(".metadata.deletionTimestamp")),
            ),
            steps=(FinalizersStep(is_empty=True), DeleteStep()),
            source=_ANNOTATION_SOURCE,
        ),
    )


def _delay_until_second(trace_start_ns: int, value: Any, now_ns: int) -> int:
    if not (isinstance(value, str) and value.isascii() and value.isdigit()):
        raise ValueError(f'{DELETION_TIME}: invalid number of seconds "{value}"')
    return trace_start_ns + int(value) * SECOND_NS - now_ns


# --------------------------------------------------------------------- exits and restarts


def backoff_ns(restart_count: int, ran_ns: int) -> int:
    """Return the restart backoff of a container that has exited.

    Parameters
    ----------
    restart_count : int
        The number of earlier restarts.
    ran_ns : int
        The duration of the last run.

    Notes
    -----
    The kubelet resets its backoff when a container ran for ten minutes. Here only that restart is
    immediate, and the next one continues with the restart count.
    """
    if not restart_count or ran_ns >= _BACKOFF_RESET_NS:
        return 0
    # The limit applies from the sixth restart on; the shift is capped to keep the number small.
    return min(_BACKOFF_NS << min(restart_count - 1, 5), _BACKOFF_MAX_NS)


def _exit_patch(document: Document, context: StageContext) -> Any:
    """Return the patch for a pod whose containers exit: its end, a restart, or a backoff."""
    metadata, spec = document["metadata"], document.get("spec") or {}
    exit_code = read_exit_code(metadata.get("annotations") or {})
    policy = spec.get("restartPolicy")
    if policy == "Never" or (policy == "OnFailure" and not exit_code):
        return exit_patch(_running_statuses(document), exit_code, context.now)
    statuses = []
    for status in _running_statuses(document):
        terminated = terminated_state(exit_code, started_at(status, context.now), context.now)
        wait_ns = _backoff_of(status.get("restartCount", 0), terminated["terminated"])
        message = back_off_message(wait_ns // SECOND_NS, status["name"], metadata)
        waiting = {"reason": "CrashLoopBackOff", "message": message}
        changes = (
            {"ready": False, "started": False, "state": {"waiting": waiting}}
            if wait_ns
            else _running_again(status, context)
        )
        statuses.append({**status, **changes, "lastState": terminated})
    if all(status["ready"] for status in statuses):
        return {"containerStatuses": statuses}
    unready = " ".join(status["name"] for status in statuses if not status["ready"])
    reason = "ContainersNotReady", f"containers with unready status: [{unready}]"
    return {
        "containerStatuses": statuses,
        "conditions": readiness_patch("False", context.now, *reason),
    }


def _restart_patch(document: Document, context: StageContext) -> Any:
    statuses = [
        {**status, **_running_again(status, context)} if _is_waiting(status) else status
        for status in document["status"]["containerStatuses"]
    ]
    return {"containerStatuses": statuses, "conditions": readiness_patch("True", context.now)}


def _finish_patch(document: Document, context: StageContext) -> Any:
    return exit_patch(_running_statuses(document), 0, context.now)


def _exit_fast(pod: Pod, context: StageContext) -> Pod | None:
    if pod.spec.restart_policy != "Never":
        return None
    return ended_pod(pod, read_exit_code(pod.metadata.annotations), context)


def _finish_fast(pod: Pod, context: StageContext) -> Pod | None:
    return ended_pod(pod, 0, context)


def _running_statuses(document: Document) -> list[dict[str, Any]]:
    """Return the container statuses; they are generated if the pod's status has none."""
    statuses = (document.get("status") or {}).get("containerStatuses")
    containers = (document.get("spec") or {}).get("containers") or ()
    return statuses or [container_status(entry, is_ready=True) for entry in containers]


def _running_again(status: dict[str, Any], context: StageContext) -> dict[str, Any]:
    return {
        "ready": True,
        "started": True,
        "restartCount": status.get("restartCount", 0) + 1,
        "state": {"running": {"startedAt": context.now}},
    }


def _backoff_of(restart_count: int, terminated: dict[str, Any]) -> int:
    finished_ns = timestamp_ns(terminated["finishedAt"]) or 0
    started_ns = timestamp_ns(terminated["startedAt"]) or 0
    return backoff_ns(restart_count, finished_ns - started_ns)


def _is_waiting(status: dict[str, Any]) -> bool:
    return (status.get("state") or {}).get("waiting") is not None


def _backoff_left(statuses: Any, now_ns: int) -> int:
    """Return the time until the last backoff ends; all waiting containers start together."""
    left_ns = 0
    for status in statuses:
        terminated = (status.get("lastState") or {}).get("terminated")
        if terminated and _is_waiting(status):
            finished_ns = timestamp_ns(terminated["finishedAt"]) or now_ns
            wait_ns = _backoff_of(status.get("restartCount", 0), terminated)
            left_ns = max(left_ns, finished_ns + wait_ns - now_ns)
    return left_ns
