"""KWOK's fast stages, which have no delay.

A node becomes ready immediately. A pod runs as soon as it is bound, a pod of a Job succeeds as
soon as it runs, and a deleted pod is removed immediately. The stages exist twice: as Stage
documents (`FAST_STAGES`), and as functions that produce the same patches without templates,
because rendering templates would take half of a simulation's time. A test compares the two.

Upstream: KWOK kustomize/stage/node/fast and kustomize/stage/pod/fast
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.kubelets.pod_statuses import (
    START_CONDITIONS,
    completed_statuses,
    container_names,
    container_status,
    ready_conditions,
    running_statuses,
    started_pod,
    terminated_state,
)
from podwright.cluster.kubelets.stages.stage import (
    KWOK_VERSION,
    NODE_CONDITIONS,
    FastPath,
    PatchStep,
    Stage,
    StageContext,
)
from podwright.cluster.kubelets.stages.stage_reader import read_stages

FAST_STAGES = """\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: node-initialize}
spec:
  resourceRef: {apiGroup: v1, kind: Node}
  selector:
    matchExpressions:
    - key: '.status.conditions.[] | select(.type == "Ready") | .status'
      operator: NotIn
      values: ["True"]
  next:
    statusTemplate: |
      {{- $now := Now }}
      {{- $version := printf "kwok-%s" Version }}
      {{- $info := or .status.nodeInfo dict }}
      {{- $default := dict "cpu" "1k" "memory" "1Ti" "pods" "1M" }}
      phase: Running
      conditions:
      {{- range NodeConditions }}
      - type: {{ .type | Quote }}
        status: {{ .status | Quote }}
        reason: {{ .reason | Quote }}
        message: {{ .message | Quote }}
        lastHeartbeatTime: {{ $now | Quote }}
        lastTransitionTime: {{ $now | Quote }}
      {{- end }}
      {{- if not .status.addresses }}
      addresses:
      - {type: InternalIP, address: {{ NodeIP | Quote }}}
      - {type: Hostname, address: {{ NodeName | Quote }}}
      {{- end }}
      allocatable: {{ YAML (or .status.allocatable $default) 1 }}
      capacity: {{ YAML (or .status.capacity $default) 1 }}
      nodeInfo:
        architecture: {{ or $info.architecture "amd64" | Quote }}
        bootID: {{ or $info.bootID "" | Quote }}
        containerRuntimeVersion: {{ or $info.containerRuntimeVersion $version | Quote }}
        kernelVersion: {{ or $info.kernelVersion $version | Quote }}
        kubeProxyVersion: {{ or $info.kubeProxyVersion $version | Quote }}
        kubeletVersion: {{ or $info.kubeletVersion $version | Quote }}
        machineID: {{ or $info.machineID "" | Quote }}
        operatingSystem: {{ or $info.operatingSystem "linux" | Quote }}
        osImage: {{ or $info.osImage "" | Quote }}
        systemUUID: {{ or $info.systemUUID "" | Quote }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-ready}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.phase, operator: NotIn, values: [Running, Succeeded, Failed]}
  next:
    statusTemplate: |
      {{- $now := Now }}
      phase: Running
      hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
      podIP: {{ PodIP | Quote }}
      startTime: {{ $now | Quote }}
      conditions:
      - {type: Initialized, status: "True", lastTransitionTime: {{ $now | Quote }}}
      - {type: Ready, status: "True", lastTransitionTime: {{ $now | Quote }}}
      - {type: ContainersReady, status: "True", lastTransitionTime: {{ $now | Quote }}}
      {{- range .spec.readinessGates }}
      - {type: {{ .conditionType | Quote }}, status: "True", lastTransitionTime: {{ $now | Quote }}}
      {{- end }}
      {{- with .spec.containers }}
      containerStatuses:
      {{- range . }}
      - name: {{ .name | Quote }}
        image: {{ or .image "" | Quote }}
        ready: true
        restartCount: 0
        state: {running: {startedAt: {{ $now | Quote }}}}
      {{- end }}
      {{- end }}
      {{- with .spec.initContainers }}
      initContainerStatuses:
      {{- range . }}
      - name: {{ .name | Quote }}
        image: {{ or .image "" | Quote }}
        ready: true
        restartCount: 0
        {{- if eq .restartPolicy "Always" }}
        started: true
        state: {running: {startedAt: {{ $now | Quote }}}}
        {{- else }}
        state:
          terminated:
            exitCode: 0
            reason: Completed
            startedAt: {{ $now | Quote }}
            finishedAt: {{ $now | Quote }}
        {{- end }}
      {{- end }}
      {{- end }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-complete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.phase, operator: In, values: [Running]}
    - {key: '.metadata.ownerReferences.[].kind', operator: In, values: [Job]}
    - key: .metadata.annotations["pod-complete.stage.kwok.x-k8s.io/delay"]
      operator: DoesNotExist
  next:
    statusTemplate: |
      {{- $now := Now }}
      phase: Succeeded
      {{- with .spec.containers }}
      containerStatuses:
      {{- range . }}
      - name: {{ .name | Quote }}
        image: {{ or .image "" | Quote }}
        ready: false
        restartCount: 0
        started: false
        state:
          terminated:
            exitCode: 0
            reason: Completed
            startedAt: {{ $now | Quote }}
            finishedAt: {{ $now | Quote }}
      {{- end }}
      {{- end }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-delete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
    - key: .metadata.annotations["pod-delete.stage.kwok.x-k8s.io/delay"]
      operator: DoesNotExist
  next:
    finalizers: {empty: true}
    delete: true
"""
"""The fast stages as documents. Pods with a delay annotation are excluded from `pod-complete` and
`pod-delete`; the annotation stages handle them."""


@cache
def fast_stages() -> tuple[Stage, ...]:
    """Return KWOK's fast stages, rendered without templates."""
    return tuple(
        msgspec.structs.replace(
            stage,
            steps=(
                status_step(
                    _WITHOUT_TEMPLATE[stage.name],
                    fast_path=started_pod if stage.name == "pod-ready" else None,
                ),
            ),
        )
        if stage.name in _WITHOUT_TEMPLATE
        else stage
        for stage in read_stages(FAST_STAGES, source="fast stages")
    )


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


# -------------------------------------------------------------------- without templates


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


_WITHOUT_TEMPLATE: dict[str, Callable[[Document, StageContext], Any]] = {
    "node-initialize": _node_initialize_patch,
    "pod-ready": _pod_ready_patch,
    "pod-complete": _pod_complete_patch,
}
