"""Which changes of a record matter to a scheduler: the others make no further possible state."""

from __future__ import annotations

import pytest

from podwright.simulation.shadow.attempts import nearest_positions
from podwright.simulation.shadow.tests.test_shadow import Cluster, node, pod, with_status


def with_labels(document, **labels):
    return document | {"metadata": document["metadata"] | {"labels": labels}}


def claim(**status):
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "a", "uid": "uid-data"},
        "spec": {"accessModes": ["ReadWriteOnce"]},
        "status": status,
    }


PLACED = pod("web", on="one")
ONE = node("one", images={"app:1": 5})
SIZES = ONE["status"]["allocatable"]
SMALL = {"requests": {"cpu": "100m"}}
CONDITION = {"type": "Ready", "status": "True"}


def annotated(kind, **parts):
    """Return an object of the storage group without and with an annotation."""
    head = {"apiVersion": "storage.k8s.io/v1", "kind": kind, **parts}
    return [
        head | {"metadata": {"name": "x", "uid": "uid-x", "annotations": notes}}
        for notes in ({}, {"a": "b"})
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(PLACED, with_status(PLACED, conditions=[CONDITION]), id="condition of a pod"),
        pytest.param(ONE, with_status(ONE, conditions=[CONDITION]), id="condition of a node"),
        pytest.param(*annotated("CSINode", spec={"drivers": []}), id="what is beside a spec"),
    ],
)
def test_a_change_that_no_plugin_reads_makes_no_state(before, after):
    cluster = Cluster(before)
    cluster.update(10, after)
    lines = cluster.record().lines
    assert nearest_positions(range(1, 3), 1, list(lines)) == []
    assert nearest_positions(range(1, 3), 2, list(lines)) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(PLACED, with_labels(PLACED, a="b"), id="labels"),
        pytest.param(pod("web"), PLACED, id="node of a pod"),
        pytest.param(
            PLACED,
            PLACED
            | {"metadata": PLACED["metadata"] | {"deletionTimestamp": "2026-03-02T10:01:00Z"}},
            id="deletion of a pod",
        ),
        pytest.param(PLACED, with_status(PLACED, phase="Succeeded"), id="end of a pod"),
        pytest.param(
            PLACED, with_status(PLACED, startTime="2026-03-02T09:30:00Z"), id="start of a pod"
        ),
        pytest.param(PLACED, with_status(PLACED, nominatedNodeName="two"), id="nomination"),
        pytest.param(PLACED, with_status(PLACED, resources=SMALL), id="resources of a pod"),
        pytest.param(with_status(PLACED, resources=SMALL), PLACED, id="resources of before"),
        pytest.param(
            ONE, with_status(ONE, allocatable=SIZES | {"cpu": "8"}), id="allocatable of a node"
        ),
        pytest.param(ONE, with_status(ONE, images=[]), id="images of a node"),
        pytest.param(ONE, with_status(ONE, declaredFeatures=["A"]), id="features of a node"),
        pytest.param(ONE, ONE | {"spec": {"unschedulable": True}}, id="spec of a node"),
        pytest.param(claim(), claim(phase="Bound"), id="phase of a claim"),
        pytest.param(*annotated("StorageClass", provisioner="p"), id="an object without a spec"),
    ],
)
def test_a_change_that_a_plugin_reads_makes_a_state(before, after):
    cluster = Cluster(before)
    cluster.update(10, after)
    lines = cluster.record().lines
    assert nearest_positions(range(1, 3), 1, list(lines)) == [2]
    assert nearest_positions(range(1, 3), 2, list(lines)) == [1]


def test_additions_and_deletions_make_states_and_the_nearest_comes_first():
    cluster = Cluster(ONE)
    cluster.add(10, PLACED)
    cluster.update(20, with_status(PLACED, conditions=[CONDITION]))
    cluster.delete(30, PLACED)
    lines = list(cluster.record().lines)
    assert nearest_positions(range(5), 2, lines) == [1, 0, 4]
    assert nearest_positions(range(5), 4, lines) == [3, 1, 0]
