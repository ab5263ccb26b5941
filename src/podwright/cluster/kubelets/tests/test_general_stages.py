"""Sets of stages as KWOK's users write them: general pods, faults, heartbeats.

They have the behavior of such stages and use the same constructs: `jq` in
selectors and delays, weights and delays from annotations, templates with `define`, `template`,
`range`, `break` and `add1`, strategic patches with an order.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from podwright.cluster.kubelets import Lifecycle, read_stages
from podwright.cluster.kubelets.tests.lifecycle_driver import (
    NOW,
    SECOND,
    LifecycleDriver,
    a_node,
    a_pod,
    at,
)

DELAY = """
  delay:
    durationMilliseconds: 1000
    durationFrom: {jq: {expression: '.metadata.annotations["NAME.stage.kwok.x-k8s.io/delay"]'}}
    jitterDurationMilliseconds: 5000
    jitterDurationFrom:
      jq: {expression: '.metadata.annotations["NAME.stage.kwok.x-k8s.io/jitter-delay"]'}
  weight: 1
  weightFrom: {jq: {expression: '.metadata.annotations["NAME.stage.kwok.x-k8s.io/weight"]'}}
"""


def a_stage(name: str, text: str, *, kind: str = "Pod") -> str:
    """Return a Stage document: a name, then a selector and what follows."""
    head = f"""
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {{name: {name}}}
spec:
  resourceRef: {{apiGroup: v1, kind: {kind}}}"""
    return head + DELAY.replace("NAME", name).rstrip() + text


CREATE = a_stage(
    "pod-create",
    """
  selector:
    matchExpressions:
    - jq: {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - jq: {key: .status.containerStatuses, operator: DoesNotExist}
  steps:
  - event: {type: Normal, reason: Created, message: "created a pod"}
  - patch:
      root: status
      subresource: status
      type: strategic
      template: |
        {{ $generation := add1 ( or .status.observedGeneration 0 ) }}
        {{ $scheduled := 0 }}
        {{ range .status.conditions }}
          {{ if eq .type "PodScheduled" }}
            {{ $scheduled = 1 }}
            {{ break }}
          {{ end }}
        {{ end }}
        {{ define "waiting" }}
        {{ with .container }}
          name: {{ .name | Quote }}
          ready: false
          state: {waiting: {reason: {{ $.reason }}}}
        {{ end }}
        {{ end }}
        $setElementOrder/conditions:
        - type: Initialized
        - type: PodScheduled
        conditions:
        - type: Initialized
          status: {{ if .spec.initContainers }}"False"{{ else }}"True"{{ end }}
          lastTransitionTime: {{ Now | Quote }}
        {{ if $scheduled }}
        - {type: PodScheduled, observedGeneration: {{ $generation }}}
        {{ end }}
        {{ with .spec.initContainers }}
        initContainerStatuses:
        {{ range . }}
        -
        {{ template "waiting" dict "container" . "reason" "PodInitializing" }}
        {{ end }}
        {{ end }}
        containerStatuses:
        {{ range .spec.containers }}
        -
        {{ template "waiting" dict "container" . "reason" "ContainerCreating" }}
        {{ end }}
        hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
        observedGeneration: {{ $generation }}
        startTime: {{ Now | Quote }}
""",
)

INIT_RUNNING = a_stage(
    "pod-init-container-running",
    """
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.phase, operator: In, values: [Pending]}
    - {key: '.status.initContainerStatuses.[].state.waiting.reason', operator: Exists}
  next:
    statusTemplate: |
      initContainerStatuses:
      {{ range .spec.initContainers }}
      - name: {{ .name | Quote }}
        state: {running: {startedAt: {{ Now | Quote }}}}
      {{ end }}
""",
)

INIT_COMPLETED = a_stage(
    "pod-init-container-completed",
    """
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: '.status.initContainerStatuses.[].state.running.startedAt', operator: Exists}
  next:
    statusTemplate: |
      conditions:
      - {type: Initialized, status: "True", lastTransitionTime: {{ Now | Quote }}}
      initContainerStatuses:
      {{ range .spec.initContainers }}
      - name: {{ .name | Quote }}
        state: {terminated: {exitCode: 0, reason: Completed}}
      {{ end }}
""",
)

READY = a_stage(
    "pod-ready",
    """
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - key: '.status.conditions.[] | select( .type == "Initialized" ) | .status'
      operator: In
      values: ["True"]
    - {key: '.status.containerStatuses.[].state.running.startedAt', operator: DoesNotExist}
    - {key: .status.phase, operator: In, values: [Pending]}
  next:
    statusTemplate: |
      {{ $root := . }}
      conditions:
      - {type: Ready, status: "True", lastTransitionTime: {{ Now | Quote }}}
      containerStatuses:
      {{ range $index, $item := .spec.containers }}
      {{ $origin := index $root.status.containerStatuses $index }}
      - name: {{ $origin.name | Quote }}
        ready: true
        state: {running: {startedAt: {{ Now | Quote }}}}
      {{ end }}
      phase: Running
""",
)

COMPLETE = a_stage(
    "pod-complete",
    """
  selector:
    matchExpressions:
    - {key: .status.phase, operator: In, values: [Running]}
    - {key: '.metadata.ownerReferences.[].kind', operator: In, values: [Job]}
    - {key: .spec.restartPolicy, operator: In, values: [Never, OnFailure]}
  next:
    statusTemplate: |
      phase: Succeeded
""",
)

DELETE = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-delete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - jq: {key: .metadata.deletionTimestamp, operator: Exists}
    - jq: {key: .metadata.finalizers, operator: DoesNotExist}
  delay:
    durationMilliseconds: 1000
    jitterDurationFrom: {jq: {expression: .metadata.deletionTimestamp}}
  steps:
  - event:
      type: Normal
      reason: Killing
      message: Stopping container
  - delete: true
"""

FAILED = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-container-running-failed}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - key: '.metadata.labels["pod-container-running-failed.stage.kwok.x-k8s.io"]'
      operator: In
      values: ["true"]
    - {key: .status.phase, operator: In, values: [Running]}
  delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 1000}
  weight: 10000
  next:
    statusTemplate: |
      {{ $annotations := or .metadata.annotations dict }}
      {{ $name := or ( index $annotations "NAME/container-name" ) "" }}
      {{ $code := or ( index $annotations "NAME/exit-code" ) 1 }}
      containerStatuses:
      {{ range $index, $item := .spec.containers }}
      {{ if or ( not $name ) ( eq $item.name $name ) }}
      - name: {{ $item.name | Quote }}
        state: {terminated: {exitCode: {{ $code }}, reason: containerFailed}}
      {{ else }}
      - {name: {{ $item.name | Quote }}}
      {{ end }}
      {{ end }}
      phase: Failed
""".replace("NAME/", "pod-container-running-failed.stage.kwok.x-k8s.io/")

NOT_READY = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: node-not-ready}
spec:
  resourceRef: {apiGroup: v1, kind: Node}
  selector:
    matchExpressions:
    - {key: '.metadata.labels["fails"]', operator: In, values: ["true"]}
    - key: '.status.conditions.[] | select( .type == "Ready" ) | .status'
      operator: In
      values: ["True"]
  delay: {durationMilliseconds: 1000}
  next:
    statusTemplate: |
      {{ $annotations := or .metadata.annotations dict }}
      {{ $type := or ( index $annotations "node-not-ready.stage.kwok.x-k8s.io/type" ) "" }}
      conditions:
      {{ range NodeConditions }}
      {{ if eq .type "Ready" }}
      - {type: Ready, status: "False", reason: nodeFailed, message: "node failed"}
      {{ else if eq .type $type }}
      - {type: {{ .type | Quote }}, status: "True", reason: nodeFailed}
      {{ else }}
      - {type: {{ .type | Quote }}, status: {{ .status | Quote }}}
      {{ end }}
      {{ end }}
"""

HEARTBEAT = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: node-heartbeat}
spec:
  resourceRef: {apiGroup: v1, kind: Node}
  selector:
    matchExpressions:
    - {key: .status.phase, operator: In, values: [Running]}
  delay: {durationMilliseconds: 20000, jitterDurationMilliseconds: 25000}
  next:
    statusTemplate: |
      {{ $now := Now }}
      conditions:
      {{ range NodeConditions }}
      - type: {{ .type | Quote }}
        status: {{ .status | Quote }}
        lastHeartbeatTime: {{ $now | Quote }}
      {{ end }}
      addresses:
      {{ with .status.addresses }}
      {{ YAML . 1 }}
      {{ else }}
      {{ with NodeIP }}
      - {type: InternalIP, address: {{ . | Quote }}}
      {{ end }}
      {{ end }}
  immediateNextStage: true
"""

GENERAL = "---".join((CREATE, INIT_RUNNING, INIT_COMPLETED, READY, COMPLETE, DELETE))
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}


def played(text: str, *objects: Any, seconds: float = 600) -> LifecycleDriver:
    driver = LifecycleDriver(Lifecycle(read_stages(text, source="stages.yaml"), seed=3))
    for obj in objects:
        driver.put(obj)
    driver.run(seconds)
    return driver


def stages_of(driver: LifecycleDriver) -> list[str]:
    return [stage for _, stage, _ in driver.story]


PENDING = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}


def test_a_general_pod_of_a_job_passes_all_its_stages():
    init = [{"name": "first", "image": "init:1"}]
    spec = {"initContainers": init, "restartPolicy": "Never"}
    pod = a_pod(spec=spec, status=PENDING, ownerReferences=[OWNER])
    driver = played(GENERAL, pod)
    assert stages_of(driver) == [
        "pod-create",
        "pod-init-container-running",
        "pod-init-container-completed",
        "pod-ready",
        "pod-complete",
    ]
    times = [0.0, *(when for when, _, _ in driver.story)]
    assert all(1 <= after - before <= 5 for before, after in pairwise(times))
    status = driver.status()
    assert status["phase"] == "Succeeded"
    assert status["initContainerStatuses"][0]["state"] == {
        "terminated": {"exitCode": 0, "reason": "Completed"}
    }
    kept = {each["type"]: each for each in status["conditions"]}
    assert kept["PodScheduled"]["observedGeneration"] == 1
    assert kept["Initialized"]["status"] == kept["Ready"]["status"] == "True"
    assert driver.notes == ["Normal Created: created a pod"]


def test_annotations_set_the_delays_of_the_stages_of_a_pod():
    annotations = {
        "pod-create.stage.kwok.x-k8s.io/delay": "10s",
        "pod-create.stage.kwok.x-k8s.io/jitter-delay": "10s",
        "pod-ready.stage.kwok.x-k8s.io/delay": "20s",
        "pod-ready.stage.kwok.x-k8s.io/jitter-delay": "20s",
    }
    driver = played(GENERAL, a_pod(status=PENDING, annotations=annotations))
    assert [(when, stage) for when, stage, _ in driver.story] == [
        (10, "pod-create"),
        (30, "pod-ready"),
    ]


def test_events_after_the_deletion_of_an_object_are_recorded_and_its_changes_are_not():
    event = DELETE[DELETE.index("  - event:") : DELETE.index("  - delete:")]
    patch = "  - patch: {root: status, template: 'phase: Failed'}\n"
    later = DELETE.replace(event, "") + patch + event
    driver = played(later, a_pod(deletionTimestamp=at(30)))
    assert driver.objects == {}
    assert driver.notes == ["Normal Killing: Stopping container"]


def test_a_general_pod_is_deleted_within_its_grace_period_and_after_its_finalizers():
    driver = played(GENERAL, a_pod(deletionTimestamp=at(30)), a_pod("held", finalizers=["x/y"]))
    assert "default/web" not in driver.objects
    ((when, _, _),) = [entry for entry in driver.story if entry[1] == "pod-delete"]
    assert 1 <= when <= 30
    assert driver.notes[-1] == "Normal Killing: Stopping container"
    assert "default/held" in driver.objects


def test_a_label_makes_containers_fail():
    label = {"pod-container-running-failed.stage.kwok.x-k8s.io": "true"}
    chosen = {"pod-container-running-failed.stage.kwok.x-k8s.io/container-name": "main"}
    chosen |= {"pod-container-running-failed.stage.kwok.x-k8s.io/exit-code": "42"}
    containers = [{"name": "main"}, {"name": "side"}]
    running = {"phase": "Running", "containerStatuses": [{"name": "main"}, {"name": "side"}]}
    pods = [
        a_pod("all", spec={"containers": containers}, status=running, labels=label),
        a_pod(
            "one",
            spec={"containers": containers},
            status=running,
            labels=label,
            annotations=chosen,
        ),
        a_pod("none", status=running),
    ]
    driver = played(FAILED, *pods)
    codes = {
        key: [
            each.get("state", {}).get("terminated", {}).get("exitCode")
            for each in driver.status(f"default/{key}")["containerStatuses"]
        ]
        for key in ("all", "one")
    }
    assert codes == {"all": [1, 1], "one": [42, None]}
    assert driver.status("default/none")["phase"] == "Running"


def test_a_label_makes_a_node_fail_with_a_condition_of_its_choice():
    chosen = {"node-not-ready.stage.kwok.x-k8s.io/type": "DiskPressure"}
    node = a_node(
        metadata={"labels": {"fails": "true"}, "annotations": chosen},
        status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    )
    driver = played(NOT_READY, node)
    error = {each["type"]: each["status"] for each in driver.status("n1")["conditions"]}
    assert (error["Ready"], error["DiskPressure"], error["PIDPressure"]) == (
        "False",
        "True",
        "False",
    )
    assert stages_of(driver) == ["node-not-ready"]


def test_heartbeats_repeat():
    node = a_node(status={"phase": "Running"})
    driver = played(HEARTBEAT, node, seconds=200)
    assert 8 <= len(driver.story) <= 10
    last = int(driver.story[-1][0])
    (beat,) = {each["lastHeartbeatTime"] for each in driver.status("n1")["conditions"]}
    assert beat == at(last)
    assert driver.status("n1")["addresses"][0]["type"] == "InternalIP"
    assert driver.heap.now_ns <= NOW + 200 * SECOND
