"""Lifecycle hooks of containers: how long they run, and whether they fail.

A hook that sleeps takes its time. A command that can be interpreted is executed. All other hooks
succeed at once.

Upstream: pkg/kubelet/lifecycle/handlers.go
"""

from __future__ import annotations

import json
from typing import Literal, TypeAlias

from podwright.apimachinery.objects import SECOND_NS, Document
from podwright.cluster.kubelets.kubelet.containers.container_programs import Execute
from podwright.cluster.kubelets.kubelet.pod_records import Hook

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
    metadata = pod["metadata"]
    pod_text = f"{metadata['name']}_{metadata.get('namespace', '')}({metadata.get('uid', '')})"
    error = (
        f'Exec lifecycle hook ([{" ".join(command)}]) for Container "{container["name"]}" in Pod '
        f"\"{pod_text}\" failed - error: command '{' '.join(command)}' exited with "
        f"{run.exit_code}: , message: {json.dumps(run.output)}"
    )
    return Hook(ends_ns, error)
