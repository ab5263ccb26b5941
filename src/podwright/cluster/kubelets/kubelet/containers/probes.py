"""Probes of containers: when they are executed, and what they find.

A command that can be interpreted is executed. The annotations `podwright.dev/
readiness-probe`, `podwright.dev/liveness-probe` and `podwright.dev/startup-probe` of the pod decide
the result of all other probes; their values are `success` and `failure`. Without them, probes
succeed. A probe of a port that no port of the container has as its name is not executed.

Upstream: pkg/kubelet/prober/worker.go; pkg/probe/util.go, ResolveContainerPort;
pkg/kubelet/lifecycle/handlers.go.
"""

from __future__ import annotations

import json
from typing import Final, Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import SECOND_NS, Document
from podwright.cluster.kubelets.kubelet.containers.container_programs import Execute
from podwright.cluster.kubelets.kubelet.pod_records import Hook, ProbeRecord
from podwright.cluster.kubelets.pod_statuses import pod_text

ProbeType: TypeAlias = Literal["startup", "readiness", "liveness"]
FIELDS: Final = {
    "startup": "startupProbe",
    "readiness": "readinessProbe",
    "liveness": "livenessProbe",
}


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one execution.

    Attributes
    ----------
    is_success : bool
    output : str
    is_lasting : bool
        Whether after this success the next execution succeeds too, if no annotation changes.
    error : str
        Why it could not be executed. Such a result does not count.
    """

    is_success: bool
    output: str = ""
    is_lasting: bool = True
    error: str = ""


def new_probe(
    probe_type: ProbeType, container: Document, started_ns: int, now_ns: int
) -> ProbeRecord | None:
    """Return the state of a probe that may be executed from now on; None if there is none.

    The initial delay is that since the start of the container, also for the probes that wait for a
    startup probe.

    Upstream: pkg/kubelet/prober/worker.go, doProbe
    """
    probe = container.get(FIELDS[probe_type])
    if probe is None:
        return None
    delay_ns = int(probe.get("initialDelaySeconds") or 0) * SECOND_NS
    return ProbeRecord(max(started_ns + delay_ns, now_ns), probe_type == "liveness")


def execute_probe(
    probe_type: ProbeType,
    container: Document,
    pod: Document,
    execute: Execute,
) -> ProbeResult:
    """Execute a probe."""
    probe = container[FIELDS[probe_type]]
    command = (probe.get("exec") or {}).get("command")
    if command:
        run = execute(command)
        if run is not None:
            timeout_ns = int(probe.get("timeoutSeconds") or 1) * SECOND_NS
            if run.duration_ns is None or run.duration_ns > timeout_ns:
                text = f'command timed out: "{" ".join(command)}" timed out after '
                output = f"{text}{timeout_ns // SECOND_NS}s"
                return ProbeResult(is_success=False, output=output)
            return ProbeResult(
                is_success=run.exit_code == 0,
                output=run.output,
                is_lasting=not run.reads_files,
            )
    error = _port_error(probe, container)
    if error:
        return ProbeResult(is_success=False, error=error)
    annotations = pod["metadata"].get("annotations") or {}
    if annotations.get(f"podwright.dev/{probe_type}-probe") == "failure":
        return ProbeResult(is_success=False, output=_refusal(probe))
    return ProbeResult(is_success=True)


def count_result(state: ProbeRecord, result: ProbeResult, probe: Document, now_ns: int) -> None:
    """Count a result.

    The probe is due again after its period, unless its result can no longer change.
    """
    if result.is_success:
        state.successes, state.failures = state.successes + 1, 0
        is_decided = state.successes >= int(probe.get("successThreshold") or 1)
    else:
        state.successes, state.failures = 0, state.failures + 1
        is_decided = state.failures >= int(probe.get("failureThreshold") or 3)
    period_ns = int(probe.get("periodSeconds") or 10) * SECOND_NS
    is_final = is_decided and result.is_lasting and result.is_success
    state.next_ns = None if is_final else now_ns + period_ns
    if is_decided:
        state.is_success = result.is_success


def _port_error(probe: Document, container: Document) -> str:
    """Return why the port of a probe is not known; empty if it is."""
    port = (probe.get("httpGet") or probe.get("tcpSocket") or {}).get("port")
    names = [each.get("name") for each in container.get("ports") or ()]
    if not isinstance(port, str) or port in names or port.isdecimal():
        return ""
    return f'strconv.Atoi: parsing "{port}": invalid syntax'


def _refusal(probe: Document) -> str:
    if "httpGet" in probe:
        return "HTTP probe failed with statuscode: 500"
    if "grpc" in probe:
        return 'service unhealthy (responded with "NOT_SERVING")'
    return "connection refused" if "tcpSocket" in probe else ""


# Lifecycle hooks of containers: how long they run, and whether they fail.
#
# A hook that sleeps takes its time. A command that can be interpreted is executed. All other hooks
# succeed at once.

HookType: TypeAlias = Literal["postStart", "preStop"]


def start_hook(
    hook_type: HookType,
    container: Document,
    pod: Document,
    execute: Execute,
    now_ns: int,
) -> Hook:
    """Start a hook of a container; one that the container does not have ends at once."""
    hook = (container.get("lifecycle") or {}).get(hook_type) or {}
    if "sleep" in hook:
        return Hook(now_ns + int(hook["sleep"].get("seconds") or 0) * SECOND_NS)
    command = (hook.get("exec") or {}).get("command")
    if not command:
        return Hook(now_ns)
    run = execute(command)
    if run is None:
        return Hook(now_ns)
    ends_ns = None if run.duration_ns is None else now_ns + run.duration_ns
    if not run.exit_code:
        return Hook(ends_ns)
    name = pod_text(pod["metadata"])
    error = (
        f'Exec lifecycle hook ([{" ".join(command)}]) for Container "{container["name"]}" in Pod '
        f"\"{name}\" failed - error: command '{' '.join(command)}' exited with "
        f"{run.exit_code}: , message: {json.dumps(run.output)}"
    )
    return Hook(ends_ns, error)
