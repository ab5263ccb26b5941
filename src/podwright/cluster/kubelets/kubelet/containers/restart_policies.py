"""Whether and when a container that has ended is started again.

Upstream: pkg/api/v1/pod/util.go, ContainerShouldRestart; pkg/kubelet/kuberuntime/
kuberuntime_manager.go, doBackOff; staging/src/k8s.io/client-go/util/flowcontrol/backoff.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.cluster.kubelets.kubelet.pod_records import ContainerRecord

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
    """Return when a container that has ended may start again."""
    assert record.ended is not None
    finished_ns = record.ended.finished_ns
    if not record.back_off_ns or finished_ns - record.back_off_at_ns > 2 * MAX_NS:
        return finished_ns
    return finished_ns + record.back_off_ns


def count_restart(record: ContainerRecord, now_ns: int) -> None:
    """Increase the back-off of a container that starts again."""
    assert record.ended is not None
    is_over = record.ended.finished_ns - record.back_off_at_ns > 2 * MAX_NS
    if not record.back_off_ns or is_over:
        record.back_off_ns = INITIAL_NS
    else:
        record.back_off_ns = min(2 * record.back_off_ns, MAX_NS)
    record.back_off_at_ns = now_ns
