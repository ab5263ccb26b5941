"""Objects that are added again, as `kubectl apply` of a manifest does, and rejected writes."""

from __future__ import annotations

import textwrap
from datetime import timedelta
from typing import Any

import pytest
import yaml

from podwright.apimachinery.objects import Document, KubernetesObject, encode
from podwright.apimachinery.schema import decode
from podwright.cluster.api import PatchObject
from podwright.cluster.controllers.interface import Controller
from podwright.cluster.kubelets.stages.stage_reader import read_stages
from podwright.cluster.store import kind_of
from podwright.simulation.world.observers import KubernetesEvent
from podwright.simulation.world.world import World
from podwright.testing import make_node

POD = "{containers: [{name: c, image: x}]}"
JOB = "{spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}"
LABELED_JOB = f"{{metadata: {{labels: {{a: b}}}}, {JOB[1:]}"
CLAIM = "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}"


def objects_of(text: str) -> list[KubernetesObject]:
    return [decode(each) for each in yaml.safe_load_all(textwrap.dedent(text))]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            f"""
            apiVersion: batch/v1
            kind: Job
            metadata: {{name: j, namespace: default}}
            spec: {{completions: 40, template: {template}}}
            """,
            id=name,
        )
        for name, template in (("a job", JOB), ("a job with labels", LABELED_JOB))
    ]
    + [
        pytest.param(
            f"""
            apiVersion: batch/v1
            kind: Job
            metadata: {{name: j, namespace: default, labels: {{a: b}}}}
            spec:
              completions: 2
              completionMode: Indexed
              suspend: true
              template: {LABELED_JOB}
            """,
            id="a job with the labels of its template",
        ),
        pytest.param(
            f"""
            apiVersion: apps/v1
            kind: Deployment
            metadata: {{name: d, namespace: default}}
            spec:
              selector: {{matchLabels: {{a: b}}}}
              template: {{metadata: {{labels: {{a: b}}}}, spec: {POD}}}
            """,
            id="a deployment, with the revision of its controller",
        ),
        pytest.param(
            f"""
            apiVersion: v1
            kind: PersistentVolumeClaim
            metadata: {{name: c, namespace: default}}
            spec: {CLAIM}}}
            ---
            apiVersion: storage.k8s.io/v1
            kind: StorageClass
            metadata:
              name: standard
              annotations: {{storageclass.kubernetes.io/is-default-class: "true"}}
            provisioner: example.com/disks
            """,
            id="a claim, with the default class and the marks of its binding",
        ),
        pytest.param(
            f"""
            apiVersion: v1
            kind: PersistentVolume
            metadata: {{name: v}}
            spec:
              capacity: {{storage: 1Gi}}
              accessModes: [ReadWriteOnce]
              hostPath: {{path: /x}}
            ---
            apiVersion: v1
            kind: PersistentVolumeClaim
            metadata: {{name: c, namespace: default}}
            spec: {CLAIM}, storageClassName: ""}}
            """,
            id="a volume, with its claim",
        ),
        pytest.param(
            f"""
            apiVersion: v1
            kind: Pod
            metadata: {{name: p, namespace: default}}
            spec: {POD}
            ---
            apiVersion: v1
            kind: LimitRange
            metadata: {{name: limits, namespace: default}}
            spec: {{limits: [{{type: Container, default: {{cpu: "1"}}}}]}}
            """,
            id="a pod, with its node and the amounts of a LimitRange",
        ),
        pytest.param(
            "{apiVersion: v1, kind: Namespace, metadata: {name: other}}",
            id="a namespace, with its finalizer",
        ),
        pytest.param(
            """
            apiVersion: resource.k8s.io/v1
            kind: ResourceClaim
            metadata: {name: c, namespace: default}
            spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpus}}]}}
            ---
            apiVersion: resource.k8s.io/v1
            kind: DeviceClass
            metadata: {name: gpus}
            spec: {}
            ---
            apiVersion: resource.k8s.io/v1
            kind: ResourceSlice
            metadata: {name: s}
            spec:
              driver: gpu.example.com
              nodeName: n1
              pool: {name: n1, generation: 1, resourceSliceCount: 1}
              devices: [{name: gpu-0}]
            ---
            apiVersion: v1
            kind: Pod
            metadata: {name: p, namespace: default}
            spec:
              containers: [{name: c, image: x}]
              resourceClaims: [{name: gpu, resourceClaimName: c}]
            """,
            id="a resource claim, with its protection",
        ),
    ],
)
def test_an_object_that_is_added_again_keeps_what_others_set(text: str):
    first, *others = objects_of(text)
    world = World(has_kubelet=True)
    world.add(make_node("n1", cpu="64", pods=200), *reversed(others), first)
    world.run_until(timedelta(seconds=5))
    before = stored(world, first)
    world.add(first)
    assert stored(world, first) == before
    world.run_until(timedelta(minutes=2))


def test_labels_of_the_manifest_replace_those_of_a_job_that_is_added_again():
    text = """
        apiVersion: batch/v1
        kind: Job
        metadata: {{name: j, namespace: default, labels: {{team: {team}}}}}
        spec: {{parallelism: {parallelism}, completions: 9, template: {template}}}
    """
    world = World()
    world.add(make_node("n1"), *objects_of(text.format(team="x", parallelism=1, template=JOB)))
    world.run_until(timedelta(seconds=1))
    (changed,) = objects_of(text.format(team="y", parallelism=3, template=JOB))
    world.add(changed)
    job = stored(world, changed)
    assert job["metadata"]["labels"] == {"team": "y"}
    assert job["spec"]["parallelism"] == 3
    assert job["spec"]["selector"]["matchLabels"]


def stored(world: World, obj: KubernetesObject) -> Document:
    found = world.store.get(kind_of(obj), obj.key)
    assert found is not None
    return encode(found)


# ------------------------------------------------------------------------- rejected writes

WRITES_AN_INVALID_LABEL = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: labels}
spec:
  resourceRef: {apiGroup: v1, kind: ConfigMap}
  selector: {matchLabels: {a: b}}
  next:
    patches:
    - {root: metadata, type: merge, template: "labels: {-x-: y}"}
"""
CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "m", "namespace": "default", "labels": {"a": "b"}},
}


class Notes:
    """Keeps the Events."""

    def __init__(self) -> None:
        self.events: list[KubernetesEvent] = []

    def event_recorded(self, event: KubernetesEvent, now_ns: int) -> None:
        del now_ns
        self.events.append(event)


def test_a_rejected_write_of_a_stage_is_an_event_and_the_simulation_goes_on():
    notes = Notes()
    world = World(stages=read_stages(WRITES_AN_INVALID_LABEL, source="s.yaml"), observers=[notes])
    world.add(make_node("n1", cpu="4"))
    with pytest.warns(UserWarning, match='stages: ConfigMap "m" is invalid: metadata.labels'):
        world.add(decode(CONFIG_MAP))
    world.run(timedelta(seconds=5))
    assert [event.reason for event in notes.events] == ["StageFailed"]


class Labels(Controller):
    """Writes a label that the API rejects."""

    name: Any = "labels"
    kinds: Any = (("", "ConfigMap"),)

    def observe(self, old, new):
        return (new.key,)

    def sync(self, key, now_ns):
        patch = {"metadata": {"labels": {"-x-": "y"}}}
        return [PatchObject(("", "ConfigMap"), key, patch, self.name)]


def test_a_rejected_write_of_a_controller_is_a_warning_and_the_simulation_goes_on():
    world = World(controllers=[Labels])
    world.add(make_node("n1", cpu="4"))
    world.add(decode(CONFIG_MAP))
    with pytest.warns(UserWarning, match='labels: ConfigMap "m" is invalid: metadata.labels'):
        world.run(timedelta(seconds=5))
