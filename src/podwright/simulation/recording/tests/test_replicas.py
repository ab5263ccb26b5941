"""Remedies are tried for all replicas of a workload, by the steps of its strategy."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.controllers import expand
from podwright.cluster.store import kind_of
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.recording import ExplanationView, explanation_document, view_of_pod
from podwright.simulation.recording.explanations import replicas
from podwright.testing import make_node, make_pod

REDUCE, TOLERATE = "reduce the cpu", "add a toleration"
UNTAINT = "remove taint gpu=yes:NoSchedule"


def workload(kind: str = "Deployment", **spec: Any) -> dict[str, Any]:
    """Return a workload of four pods, each of which requests 3 CPUs."""
    resources = {"requests": {"cpu": "3"}}
    containers = [{"name": "a", "image": "x", "resources": resources}]
    restart = "Never" if kind == "Job" else "Always"
    template = {
        "metadata": {"labels": {"app": "w"}},
        "spec": {"restartPolicy": restart, "containers": containers},
    }
    own: dict[str, Any] = {"parallelism": 4, "completions": 4} if kind == "Job" else {"replicas": 4}
    own |= {} if kind == "Job" else {"selector": {"matchLabels": {"app": "w"}}}
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": "w", "namespace": "shop"},
        "spec": {**own, "template": template, **spec},
    }


def view(owner: dict[str, Any], placed: int = 2) -> ExplanationView:
    """Explain the first pending pod; each of two nodes has room for one, a tainted one for one."""
    objects = [
        decode(owner), make_node("n1", cpu="4"), make_node("n2", cpu="4"),
        make_node("tainted", cpu="5", taints=["gpu=yes:NoSchedule"]),
    ]  # fmt: skip
    objects = expand(objects).with_objects(objects)
    scheduler = Scheduler(SchedulerOptions())
    scheduler.add(*objects)
    for pod in scheduler.in_queue_order()[:placed]:
        scheduler.schedule(pod.key)
    before = (set(scheduler.pending), set(scheduler.cluster.pods))
    by_key = {(kind_of(obj), obj.key): obj for obj in objects}
    pending = scheduler.in_queue_order()[0].key
    found = view_of_pod(scheduler, pending, present=lambda *each: by_key.get(each))
    assert before == (set(scheduler.pending), set(scheduler.cluster.pods)), "not reverted"
    return found


def outcomes(found: ExplanationView) -> dict[str, str]:
    """Return what is known of the replicas, by the begin of the remedy."""
    return {
        " ".join(remedy.text.split()[:3]): str(outcome)
        for remedy, outcome in zip(found.advice.remedies, found.replicas, strict=True)
    }


@pytest.mark.parametrize(
    ("kind", "spec", "fit"),
    [
        pytest.param("Deployment", {}, 1, id="the old pods stay until new ones are available"),
        pytest.param(
            "Deployment",
            {"strategy": {"rollingUpdate": {"maxUnavailable": "75%"}}},
            3,
            id="the old pods make room",
        ),
        pytest.param("Deployment", {"strategy": {"type": "Recreate"}}, 3, id="all old pods first"),
        pytest.param("Job", {}, 3, id="a job is created again with its pods"),
        pytest.param("StatefulSet", {"serviceName": "w"}, 1, id="the first that waits stops it"),
    ],
)
def test_a_change_of_the_template_is_tried_by_the_steps_of_the_strategy(kind, spec, fit):
    found = view(workload(kind, **spec))
    sentence = f"only {fit} of 4 replicas of {kind} shop/w fit with it"
    assert outcomes(found)[TOLERATE] == sentence


def test_a_change_that_suffices_for_all_comes_first():
    found = view(workload())
    texts = outcomes(found)
    assert next(iter(texts)) == REDUCE
    assert texts[REDUCE] == "4 of 4 replicas of Deployment shop/w fit with it"
    first, *others = explanation_document(found)["remedies"]
    assert first["replicas"] == {
        "workload": "Deployment shop/w", "fit": 4, "total": 4, "isRollout": True,
    }  # fmt: skip
    shares = [each["replicas"]["fit"] / each["replicas"]["total"] for each in others]
    assert shares == sorted(shares, reverse=True)


def test_a_change_of_a_node_is_tried_for_the_pending_replicas():
    sentence = "only 1 of 2 pending replicas of Deployment shop/w fit then"
    assert outcomes(view(workload()))[UNTAINT] == sentence


def test_one_replica_has_no_others():
    owner = workload(replicas=1)
    owner["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "9"
    found = view(owner, placed=0)
    assert set(found.replicas) == {None}
    assert all("replicas" not in each for each in explanation_document(found)["remedies"])


def test_the_pod_with_the_highest_ordinal_is_replaced_first():
    pods = [make_pod(name) for name in ("w-9", "w-x", "w-10", "w-0", "v-x")]
    ordered = sorted(pods, key=replicas._ordinal, reverse=True)
    assert [pod.name for pod in ordered] == ["w-10", "w-9", "w-0", "w-x", "v-x"]


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("Deployment", {}, True),
        ("Job", {}, True),
        ("StatefulSet", {}, True),
        ("StatefulSet", {"updateStrategy": {"type": "OnDelete"}}, False),
        ("StatefulSet", {"updateStrategy": {"type": "RollingUpdate"}}, True),
        ("DaemonSet", {"updateStrategy": {"type": "OnDelete"}}, False),
        ("ReplicaSet", {}, False),
    ],
)
def test_pods_are_replaced_by_owners_that_roll_out_their_templates(kind, spec, expected):
    owner = workload(kind, **spec)
    if kind == "DaemonSet":
        del owner["spec"]["replicas"]
    assert replicas._replaces(decode(owner)) is expected
