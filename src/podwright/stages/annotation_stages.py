"""The stages for pods that say in annotations how long they run and how they end.

They go beyond KWOK, which completes pods of Jobs only and knows no restarts.

| annotation | meaning |
|---|---|
| `pod-complete.stage.kwok.x-k8s.io/delay` | the containers exit after it (a Go duration) |
| `pod-complete.stage.kwok.x-k8s.io/jitter-delay` | drawn between the two |
| `pod-complete.stage.kwok.x-k8s.io/exit-code` | how they exit; 0 without it |
| `pod-delete.stage.kwok.x-k8s.io/delay` | a deleted pod takes at least so long to stop |
| `alibabacloud.com/deletion-time` | the second of the trace at which the pod has succeeded |

The restart policy then decides: Never ends the pod, OnFailure ends it unless it failed,
Always never does. Restarts are backed off as by the kubelet: the first is at once, then after
10 s, 20 s, and so on up to five minutes, and at once again after ten minutes without trouble.

Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, doBackOff;
pkg/kubelet/status/generate.go
"""

from __future__ import annotations

from typing import Any

from podwright.objects import Document, Pod, timestamp_ns
from podwright.stages.fast_stages import fast_stages, status_step
from podwright.stages.jq import Query, query
from podwright.stages.pod_fast_path import ended
from podwright.stages.pod_statuses import (
    container_status,
    ended_patch,
    readiness,
    started_at,
    terminated,
)
from podwright.stages.stage import (
    Bound,
    Delay,
    DeleteStep,
    FinalizersStep,
    Requirement,
    Stage,
    StageContext,
)

RUN_DELAY = "pod-complete.stage.kwok.x-k8s.io/delay"
RUN_JITTER = "pod-complete.stage.kwok.x-k8s.io/jitter-delay"
EXIT_CODE = "pod-complete.stage.kwok.x-k8s.io/exit-code"
STOP_DELAY = "pod-delete.stage.kwok.x-k8s.io/delay"
DELETION_TIME = "alibabacloud.com/deletion-time"

_SECOND_NS = 1_000_000_000
_BACK_OFF_NS = 10 * _SECOND_NS
_BACK_OFF_MAX_NS = 300 * _SECOND_NS
_BACK_OFF_RESET_NS = 600 * _SECOND_NS


def default_stages(*, trace_start_ns: int = 0) -> tuple[Stage, ...]:
    """Return the stages that a world has unless it is told otherwise.

    Parameters
    ----------
    trace_start_ns : int
        The moment that is second 0 of `alibabacloud.com/deletion-time`.
    """
    return (*fast_stages(), *_run_stages(trace_start_ns))


def _run_stages(trace_start_ns: int) -> tuple[Stage, ...]:
    def read_second(value: Any, now_ns: int) -> int:
        if not (isinstance(value, str) and value.isascii() and value.isdigit()):
            raise ValueError(f'{DELETION_TIME}: "{value}" is no number of seconds')
        return trace_start_ns + int(value) * _SECOND_NS - now_ns

    is_running = (
        Requirement(query(".metadata.deletionTimestamp"), "DoesNotExist"),
        Requirement(query(".status.phase"), "In", ("Running",)),
    )
    run_delay, deletion_time = _annotation(RUN_DELAY), _annotation(DELETION_TIME)
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
            delay=Delay(Bound(0, run_delay), Bound(None, _annotation(RUN_JITTER))),
            steps=(status_step(_exited, fast_path=_exited_quickly),),
            source="run stages",
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
            delay=Delay(Bound(0, query(".status.containerStatuses"), _back_off_left)),
            steps=(status_step(_restarted),),
            source="run stages",
        ),
        Stage(
            name="pod-finish",
            kind="Pod",
            requirements=(*is_running, Requirement(deletion_time, "Exists")),
            delay=Delay(Bound(0, deletion_time, read_second)),
            steps=(status_step(_finished, fast_path=_finished_quickly),),
            source="run stages",
        ),
        Stage(
            name="pod-stop",
            kind="Pod",
            requirements=(
                Requirement(query(".metadata.deletionTimestamp"), "Exists"),
                Requirement(_annotation(STOP_DELAY), "Exists"),
            ),
            # As KWOK's general pods: at the latest when the grace period ends.
            delay=Delay(
                Bound(0, _annotation(STOP_DELAY)), Bound(None, query(".metadata.deletionTimestamp"))
            ),
            steps=(FinalizersStep(is_empty=True), DeleteStep()),
            source="run stages",
        ),
    )


def _annotation(name: str) -> Query:
    return query(f'.metadata.annotations["{name}"]')


# --------------------------------------------------------------------- exits and restarts


def back_off_ns(restart_count: int, ran_ns: int) -> int:
    """Return how long a container waits that has exited.

    Parameters
    ----------
    restart_count : int
        How often it has been restarted.
    ran_ns : int
        How long it ran last.

    Notes
    -----
    The kubelet forgets how often it has backed off when a container ran for ten minutes; here
    only that one restart is at once, and the next goes on where the count is.
    """
    if not restart_count or ran_ns >= _BACK_OFF_RESET_NS:
        return 0
    # Beyond the fifth the limit holds, and nobody needs numbers of a thousand digits.
    return min(_BACK_OFF_NS << min(restart_count - 1, 5), _BACK_OFF_MAX_NS)


def _exited(document: Document, moment: StageContext) -> Any:
    """Return what becomes of a pod whose containers exit: its end, a restart, or a wait."""
    metadata, spec = document["metadata"], document.get("spec") or {}
    exit_code = _exit_code(metadata.get("annotations") or {})
    policy = spec.get("restartPolicy") or "Always"
    if policy == "Never" or (policy == "OnFailure" and not exit_code):
        return ended_patch(_running_statuses(document), exit_code, moment.now)
    statuses = []
    for status in _running_statuses(document):
        ended = terminated(exit_code, started_at(status, moment.now), moment.now)
        wait_ns = _back_off_of(status.get("restartCount", 0), ended["terminated"])
        waiting = {
            "reason": "CrashLoopBackOff",
            "message": (
                f"back-off {wait_ns // _SECOND_NS}s restarting failed container={status['name']} "
                f"pod={metadata['name']}_{metadata.get('namespace', '')}({metadata.get('uid', '')})"
            ),
        }
        changes = (
            {"ready": False, "started": False, "state": {"waiting": waiting}}
            if wait_ns
            else _running_again(status, moment)
        )
        statuses.append({**status, **changes, "lastState": ended})
    if all(status["ready"] for status in statuses):
        return {"containerStatuses": statuses}
    unready = " ".join(status["name"] for status in statuses if not status["ready"])
    reason = "ContainersNotReady", f"containers with unready status: [{unready}]"
    return {
        "containerStatuses": statuses,
        "conditions": readiness("False", moment.now, *reason),
    }


def _restarted(document: Document, moment: StageContext) -> Any:
    statuses = [
        {**status, **_running_again(status, moment)} if "waiting" in status["state"] else status
        for status in document["status"]["containerStatuses"]
    ]
    return {"containerStatuses": statuses, "conditions": readiness("True", moment.now)}


def _finished(document: Document, moment: StageContext) -> Any:
    return ended_patch(_running_statuses(document), 0, moment.now)


def _exited_quickly(pod: Pod, moment: StageContext) -> Pod | None:
    if pod.spec.restart_policy != "Never":
        return None
    return ended(pod, _exit_code(pod.metadata.annotations), moment)


def _finished_quickly(pod: Pod, moment: StageContext) -> Pod | None:
    return ended(pod, 0, moment)


def _running_statuses(document: Document) -> list[dict[str, Any]]:
    """Return the statuses of the containers, made up where somebody else started the pod."""
    statuses = (document.get("status") or {}).get("containerStatuses")
    containers = (document.get("spec") or {}).get("containers") or ()
    return statuses or [container_status(entry, is_ready=True) for entry in containers]


def _running_again(status: dict[str, Any], moment: StageContext) -> dict[str, Any]:
    return {
        "ready": True,
        "started": True,
        "restartCount": status.get("restartCount", 0) + 1,
        "state": {"running": {"startedAt": moment.now}},
    }


def _exit_code(annotations: dict[str, str]) -> int:
    text = annotations.get(EXIT_CODE, "0")
    if not (text.isascii() and text.isdigit() and int(text) < 256):
        raise ValueError(f'{EXIT_CODE}: "{text}" is no exit code: a number below 256 is expected')
    return int(text)


def _back_off_of(restart_count: int, terminated: dict[str, Any]) -> int:
    finished_ns = timestamp_ns(terminated["finishedAt"]) or 0
    started_ns = timestamp_ns(terminated["startedAt"]) or 0
    return back_off_ns(restart_count, finished_ns - started_ns)


def _back_off_left(statuses: Any, now_ns: int) -> int:
    """Return when the last of the waiting containers may start; they start together."""
    left_ns = 0
    for status in statuses:
        ended = (status.get("lastState") or {}).get("terminated")
        if ended and "waiting" in (status.get("state") or {}):
            finished_ns = timestamp_ns(ended["finishedAt"]) or now_ns
            wait_ns = _back_off_of(status.get("restartCount", 0), ended)
            left_ns = max(left_ns, finished_ns + wait_ns - now_ns)
    return left_ns
