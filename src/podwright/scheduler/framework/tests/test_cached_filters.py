"""Filters whose results are kept: when they are called again, and what a failure leaves."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

import podwright as pw
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import Profile
from podwright.scheduler.framework.rankings.ranking_cache import RankingCache


class Named(pw.Plugin):
    """Rejects nodes with a label, counts the calls, and fails on demand."""

    name = "Named"
    filter_reads = pw.Reads.NODE
    calls: ClassVar[list[str]] = []
    is_broken: ClassVar[bool] = False

    def pod_key(self, pod):
        return ()

    def filter(self, cycle, node):
        if Named.is_broken:
            raise ValueError("broken")
        Named.calls.append(node.name)
        return pw.Status.unschedulable("no") if "no" in node.labels else pw.Status.OK


class ReadsPods(Named):
    filter_reads = pw.Reads.NODE | pw.Reads.PODS


class ByImage(pw.Plugin):
    """Tells pods of different images apart, and rejects nothing."""

    name = "ByImage"
    filter_reads = pw.Reads.NODE

    def pod_key(self, pod):
        return pod.spec.containers[0].image

    def filter(self, cycle, node):
        return pw.Status.OK


def scheduler_with(plugin):
    Named.calls.clear()
    Named.is_broken = False
    scheduler = pw.Scheduler(plugins=[plugin])
    scheduler.add(*(pw.testing.make_node(f"n{i}") for i in range(2)))
    scheduler.add(pw.testing.make_node("n2", labels={"no": ""}))
    return scheduler


@pytest.mark.parametrize("plugin", [Named, ReadsPods])
@pytest.mark.parametrize("before", [0, 1, 2, 3])
def test_a_filter_that_failed_is_called_again(plugin, before, monkeypatch):
    scheduler = scheduler_with(plugin)
    for number in range(before):
        scheduler.schedule(pw.testing.make_pod(f"before-{number}", cpu="1m"))
        scheduler.add(pw.testing.make_node("n1", labels={"change": str(number)}))
    monkeypatch.setattr(Named, "is_broken", True)
    failed = scheduler.schedule(pw.testing.make_pod("failed", cpu="1m"))
    assert failed.error is not None
    monkeypatch.setattr(Named, "is_broken", False)
    for number in range(2):
        decision = scheduler.schedule(pw.testing.make_pod(f"after-{number}", cpu="1m"))
        assert (decision.error, decision.feasible_count) == (None, 2)


@pytest.mark.parametrize("changed", [(0,), (2,), (0, 1), (0, 1, 2)])
def test_nodes_that_change_together_are_rejected_if_one_of_them_is(changed):
    Named.calls.clear()
    scheduler = pw.Scheduler(plugins=[Named])
    scheduler.add(*(pw.testing.make_node(f"n{i}") for i in range(4)))
    for number in range(3):
        assert scheduler.schedule(pw.testing.make_pod(f"p{number}")).feasible_count == 4
    scheduler.add(
        *(pw.testing.make_node(f"n{i}", labels={"change": ""}) for i in changed),
        pw.testing.make_node("n3", labels={"no": ""}),
    )
    Named.calls.clear()
    assert scheduler.schedule(pw.testing.make_pod("q")).feasible_count == 3
    assert sorted(Named.calls) == [*(f"n{i}" for i in changed), "n3"]


@pytest.mark.parametrize(
    ("plugin", "calls"),
    [
        pytest.param(Named, [], id="not for a placed pod if it reads nodes only"),
        pytest.param(ReadsPods, ["n1"], id="once for the node of a placed pod"),
    ],
)
def test_pods_of_two_kinds_share_the_results_of_a_filter(plugin, calls):
    cluster = Cluster()
    for name in ("n0", "n1"):
        cluster.put(pw.testing.make_node(name))
    instance = plugin()
    profile = Profile(scheduler_name="s", filter=(instance, ByImage()))
    rankings = RankingCache(profile, cluster)
    kinds = [pw.testing.make_pod(f"p-{image}", image=image) for image in ("a", "b")]
    for kind in kinds * 3:
        rankings.of(kind)
    placed = pw.testing.make_pod("placed", node="n1")
    cluster.place(placed, cluster.nodes.slot_of["n1"])
    Named.calls.clear()
    for kind in kinds:
        rankings.of(kind)
    assert Named.calls == calls


class ReadsStorage(Named):
    filter_reads = pw.Reads.NODE | pw.Reads.STORAGE


def test_all_nodes_are_filtered_again_only_for_a_change_of_other_objects_that_are_read():
    cluster = Cluster()
    for name in ("n0", "n1"):
        cluster.put(pw.testing.make_node(name))
    rankings = RankingCache(Profile(scheduler_name="s", filter=(ReadsStorage(),)), cluster)
    for number in range(3):
        rankings.of(pw.testing.make_pod(f"p{number}"))
    storage_class: dict[str, Any] = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}
    namespace: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace"}
    counts = []
    for number, kind in enumerate([namespace, namespace, storage_class, namespace]):
        metadata: dict[str, Any] = {"metadata": {"name": f"o{number}"}}
        provisioner: dict[str, Any] = {"provisioner": "p"} if kind is storage_class else {}
        cluster.put(decode({**kind, **metadata, **provisioner}))
        cluster.put(pw.testing.make_node("n1", labels={"change": str(number)}))
        Named.calls.clear()
        rankings.of(pw.testing.make_pod("next"))
        counts.append(len(Named.calls))
    assert counts == [1, 1, 2, 1]


class WithClass(pw.Plugin):
    """Rejects and scores nodes by whether there is a StorageClass of the name of the pod's app."""

    name = "WithClass"
    filter_reads = score_reads = pw.Reads.NODE | pw.Reads.STORAGE

    def pod_key(self, pod):
        return pod.metadata.labels.get("app", "")

    def filter(self, cycle, node):
        known = cycle.cluster.storage.classes
        app = cycle.pod.metadata.labels.get("app", "")
        return pw.Status.OK if app in known else pw.Status.unschedulable("no class")

    def score(self, cycle, node):
        return 100 if node.name == "n0" and "fast" in cycle.cluster.storage.classes else 0


def storage_class(name):
    return decode(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": "p",
        }
    )


@pytest.mark.parametrize("before", [1, 2, 3])
def test_a_filter_without_a_pre_filter_sees_other_objects_that_it_reads(before):
    scheduler = pw.Scheduler(plugins=[WithClass])
    scheduler.add(*(pw.testing.make_node(f"n{i}") for i in range(3)))

    def feasible_count(name, app):
        pod = pw.testing.make_pod(name, cpu="1m", labels={"app": app})
        return scheduler.schedule(pod).feasible_count

    # Two keys share no ranking, and both see what the other one has brought up to date.
    for number in range(before):
        assert feasible_count(f"a{number}", "a") == feasible_count(f"b{number}", "b") == 0
    scheduler.add(storage_class("b"))
    assert [feasible_count("a-then", "a"), feasible_count("b-then", "b")] == [0, 3]
    scheduler.add(storage_class("a"))
    assert [feasible_count("b-last", "b"), feasible_count("a-last", "a")] == [3, 3]
    scheduler.add(storage_class("fast"))
    pod = pw.testing.make_pod("scored", cpu="1m", labels={"app": "a"})
    assert scheduler.schedule(pod).node == "n0"
