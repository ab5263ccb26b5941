"""Whole sets of stages, as KWOK's users write them, with scheduler and controllers.

They have the behavior of such stages and use the same constructs.
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import InputError
from podwright.apimachinery.schema import decode
from podwright.cluster.api import UpdateObject
from podwright.cluster.controllers.tests.test_persistent_volume import a_claim, a_volume
from podwright.cluster.kubelets import read_stages
from podwright.cluster.kubelets.stages.built_in_stages import fast_stages
from podwright.cluster.kubelets.tests.test_general_stages import GENERAL, a_stage
from podwright.simulation.world.world import World
from podwright.testing import make_node

SECOND = 1_000_000_000
VOLUME = ("", "PersistentVolume")
CLAIM = ("", "PersistentVolumeClaim")

# The heartbeat without a field for the transition: all conditions at a new time.
PLAIN_HEARTBEAT = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: node-heartbeat}
spec:
  resourceRef: {apiGroup: v1, kind: Node}
  selector:
    matchExpressions:
    - {key: '.status.phase', operator: 'In', values: ['Running']}
    - key: '.status.conditions.[] | select( .type == "Ready" ) | .status'
      operator: 'In'
      values: ['True']
  delay: {durationMilliseconds: 20000, jitterDurationMilliseconds: 25000}
  next:
    statusTemplate: |
      {{ $time := Now }}
      {{ $since := or .creationTimestamp $time }}
      conditions:
      {{ range NodeConditions }}
      - type: {{ .type | Quote }}
        status: {{ .status | Quote }}
        reason: {{ .reason | Quote }}
        message: {{ .message | Quote }}
        lastHeartbeatTime: {{ $time | Quote }}
        lastTransitionTime: {{ $since | Quote }}
      {{ end }}
  immediateNextStage: true
"""


def a_volume_stage(name: str, kind: str, phase: str, text: str) -> str:
    return f"""
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {{name: {name}}}
spec:
  resourceRef: {{apiGroup: v1, kind: {kind}}}
  selector:
    matchExpressions:
    - jq: {{key: .spec.storageClassName, operator: In, values: [kwok-volume]}}
    - jq: {{key: .status.phase, {phase}}}
{text}"""


BIND = a_volume_stage(
    "pv-bind",
    "PersistentVolume",
    "operator: NotIn, values: [Bound, Released, Failed]",
    """
    - jq: {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - jq: {key: .spec.claimRef.name, operator: Exists}
  steps:
  - patch:
      root: status
      subresource: status
      template: |
        phase: Bound
        lastPhaseTransitionTime: {{ Now | Quote }}
""",
)
RELEASED = a_volume_stage(
    "pv-delete",
    "PersistentVolume",
    "operator: In, values: [Released]",
    """
    - jq: {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - jq: {key: .spec.persistentVolumeReclaimPolicy, operator: In, values: [Delete]}
  steps:
  - delete: true
""",
)
CLAIMED = a_volume_stage(
    "pvc-bind",
    "PersistentVolumeClaim",
    "operator: NotIn, values: [Bound]",
    """
    - jq: {key: .spec.volumeName, operator: DoesNotExist}
  steps:
  - patch:
      root: metadata
      template: |
        annotations:
          pv.kubernetes.io/bind-completed: "yes"
  - patch:
      root: spec
      template: |
        volumeName: pvc-{{ .metadata.uid }}
  - patch:
      root: status
      subresource: status
      template: |
        phase: Bound
        accessModes:
        {{ YAML .spec.accessModes 1 }}
        capacity:
        {{ YAML .spec.resources.requests 1 }}
        volumeMode: {{ default "Filesystem" .spec.volumeMode | Quote }}
""",
)


def stages(*texts: str) -> Any:
    return read_stages("---".join(texts), source="stages.yaml")


def a_template(**spec: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "app:1"}]} | spec
    return {"metadata": {"labels": {"app": "web"}}, "spec": spec}


def test_general_pods_of_workloads_pass_their_stages_in_order():
    nodes = tuple(stage for stage in fast_stages() if stage.kind == "Node")
    world = World(stages=(*nodes, *stages(GENERAL)), seed=5)
    world.add(make_node("n1", cpu="4"), make_node("n2", cpu="4"))
    init = [{"name": "first", "image": "init:1"}]
    for kind, api, spec in (
        (
            "Deployment",
            "apps/v1",
            {
                "replicas": 3,
                "selector": {"matchLabels": {"app": "web"}},
                "template": a_template(initContainers=init),
            },
        ),
        ("Job", "batch/v1", {"completions": 2, "template": a_template(restartPolicy="Never")}),
    ):
        metadata = {"name": kind.lower(), "namespace": "default"}
        world.add(decode({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}))
    world.run()
    (deployment,) = world.store.list(("apps", "Deployment")).objects
    assert deployment.raw["status"]["availableReplicas"] == 3
    (job,) = world.store.list(("batch", "Job")).objects
    assert job.raw["status"]["succeeded"] == 2
    phases = sorted(pod.status.phase for pod in world.pods)
    assert phases == ["Running", "Running", "Running", "Succeeded", "Succeeded"]
    world.remove(deployment)
    world.run()
    assert len(world.pods) == 2


def test_a_plain_heartbeat_preserves_conditions():
    nodes = tuple(
        stage for stage in fast_stages() if stage.kind == "Node" and "heartbeat" not in stage.name
    )
    world = World(stages=(*nodes, *stages(PLAIN_HEARTBEAT)))
    world.add(make_node("n1"))
    world.run_until_ns(world.now_ns + SECOND)
    (before,) = world.nodes
    world.run_until_ns(world.now_ns + 300 * SECOND)
    (after,) = world.nodes
    assert [each.status for each in after.status.conditions] == [
        each.status for each in before.status.conditions
    ]
    beats = [each.last_heartbeat_time or "" for each in after.status.conditions]
    assert min(beats) > max(each.last_heartbeat_time or "" for each in before.status.conditions)


def test_volumes_and_claims_have_stages():
    world = World(stages=(*fast_stages(), *stages(BIND, RELEASED, CLAIMED)), controllers=())
    reference = {"namespace": "default", "name": "c"}
    common: dict[str, Any] = {"storageClassName": "kwok-volume"}
    world.add(
        a_claim(**common),
        a_volume("bound", **common, claimRef=reference),
        a_volume("kept", **common),
        a_volume("gone", **common, persistentVolumeReclaimPolicy="Delete"),
    )
    for name in ("kept", "gone"):
        volume = world.store.get(VOLUME, name)
        assert volume is not None
        released = decode(volume.raw | {"status": {"phase": "Released"}})
        world.api.handle(
            UpdateObject(released, "status", "test"), "test", world.now_ns
        ).raise_for_error()
    world.run()
    phases = {each.name: each.raw["status"]["phase"] for each in world.store.list(VOLUME).objects}
    left = world.store.get(VOLUME, "gone")
    assert phases | {"gone": ""} == {"bound": "Bound", "kept": "Released", "gone": ""}
    # A controller would remove its finalizer; this world has none.
    assert left is None or left.metadata.deletion_timestamp is not None
    claim = world.store.get(CLAIM, "default/c")
    assert claim is not None
    assert claim.raw["spec"]["volumeName"] == f"pvc-{claim.uid}"
    assert claim.raw["status"] == {
        "phase": "Bound",
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "10Gi"},
        "volumeMode": "Filesystem",
    }


def test_all_errors_of_volume_stages_are_reported_together():
    text = a_stage(
        "pvc-provision",
        """
  selector:
    matchExpressions:
    - cel: {expression: "self.spec.storageClassName == 'kwok-volume'"}
    - cel: {expression: "!has(self.spec['volumeName'])"}
  steps:
  - apply: {template: "kind: PersistentVolume", subresource: scale}
""",
        kind="PersistentVolumeClaim",
    )
    with pytest.raises(InputError) as refused:
        read_stages(text, source="stages.yaml")
    error = str(refused.value)
    assert "matchExpressions[1].cel.expression" in error
    assert "invalid argument to has() macro" in error
    assert "steps[0].apply.subresource" in error
