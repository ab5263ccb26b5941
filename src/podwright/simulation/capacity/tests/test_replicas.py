"""The pods of a template, one after the other: their names, labels, claims and groups."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import Object
from podwright.scheduler.config import parse_gates
from podwright.simulation.capacity.templates import Replicas, Template
from podwright.simulation.capacity.tests.test_counting import GANGS, gang_of, member
from podwright.simulation.capacity.tests.test_stand_ins import owner
from podwright.testing import make_pod

SIZE = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
DISK: dict[str, Any] = {"volumeClaimTemplates": [{"metadata": {"name": "disk"}, "spec": SIZE}]}
INDEX = "batch.kubernetes.io/job-completion-index"


def replicas(obj: Object, *known: str) -> tuple[pw.Scheduler, Replicas]:
    scheduler = pw.Scheduler()
    scheduler.add(*(make_pod(name) for name in known))
    return scheduler, Replicas(scheduler, Template(obj=obj))


def of_set(*numbers: int) -> list[tuple[str, dict[str, str]]]:
    return [
        (f"default/data-{number}", {
            "app": "data", "statefulset.kubernetes.io/pod-name": f"data-{number}",
            "apps.kubernetes.io/pod-index": str(number),
            "controller-revision-hash": "data-7c69668576",
        })
        for number in numbers
    ]  # fmt: skip


def of_web(*numbers: int) -> list[tuple[str, dict[str, str]]]:
    labels = {"app": "web", "pod-template-hash": "668dd9c596"}
    return [(f"default/web-668dd9c596-{number}", labels) for number in numbers]


@pytest.mark.parametrize(
    ("obj", "known", "expected"),
    [
        pytest.param(owner("Deployment", "web"), (), of_web(0, 1, 2), id="of a Deployment"),
        pytest.param(owner("Deployment", "web"), ("web-668dd9c596-1",), of_web(0, 2, 3),
                     id="a name that is taken"),
        pytest.param(owner("StatefulSet", "data"), (), of_set(0, 1, 2), id="of a StatefulSet"),
        pytest.param(owner("StatefulSet", "data", ordinals={"start": 2}), (), of_set(2, 3, 4),
                     id="whose ordinals begin at 2"),
        pytest.param(owner("StatefulSet", "data"), ("data-1",), of_set(0, 2, 3),
                     id="of which one is there"),
        pytest.param(owner("Job", "batch", "batch/v1"), (),
                     [(f"default/batch-{n}", {"app": "batch"}) for n in range(3)], id="of a Job"),
        pytest.param(owner("Job", "batch", "batch/v1", completionMode="Indexed"), (),
                     [(f"default/batch-{n}-0", {"app": "batch", INDEX: str(n)}) for n in range(3)],
                     id="of an indexed Job"),
        pytest.param(owner("ReplicationController", "old", "v1"), (),
                     [(f"default/old-{n}", {"app": "old"}) for n in range(3)],
                     id="of a ReplicationController"),
        pytest.param(make_pod("solo"), ("solo-0",),
                     [(f"default/solo-{n}", {}) for n in (1, 2, 3)], id="of a pod"),
    ],
)  # fmt: skip
def test_pods_have_the_names_and_labels_that_their_controller_gives(
    obj: Object, known: tuple[str, ...], expected: list[tuple[str, dict[str, str]]]
) -> None:
    scheduler, found = replicas(obj, *known)
    pods = list(islice(found, 3))
    assert [(pod.key, dict(pod.metadata.labels)) for pod in pods] == expected
    assert [scheduler.pending[pod.key] for pod in pods] == pods


def test_pods_that_differ_in_the_name_only_share_a_spec_and_have_a_uid_each() -> None:
    _, found = replicas(owner("Deployment", "web"))
    pods = list(islice(found, 20))
    assert len({id(pod.spec) for pod in pods}) == 1
    assert len({pod.uid for pod in pods}) == 20


def test_the_claims_of_a_set_are_added_before_its_pods_and_taken_back() -> None:
    scheduler, found = replicas(owner("StatefulSet", "data", **DISK))
    pods = list(islice(found, 3))
    assert [[volume.name for volume in pod.spec.volumes] for pod in pods] == [["disk"]] * 3
    claims = {f"default/disk-data-{number}" for number in range(16)}
    assert set(scheduler.cluster.storage.claims) == claims
    found.remove_objects()
    assert not scheduler.cluster.storage.claims
    assert list(scheduler.pending) == [pod.key for pod in pods]


def test_more_pods_than_the_first_part_are_made_in_order() -> None:
    _, found = replicas(owner("StatefulSet", "data"))
    assert [pod.name for pod in islice(found, 40)] == [f"data-{n}" for n in range(40)]


def test_each_set_of_a_gang_has_a_group_of_its_own() -> None:
    scheduler = pw.Scheduler(gates=parse_gates(GANGS))
    scheduler.add(gang_of(2))
    found = Replicas(scheduler, Template(obj=member("w"), weight=2))
    pods = list(islice(found, 5))
    groups = [pod.spec.scheduling_group for pod in pods]
    assert [group and group.pod_group_name for group in groups] == [
        "training-0", "training-0", "training-1", "training-1", "training-2",
    ]  # fmt: skip
    assert all(scheduler.gang_of(pod) is not None for pod in pods)
