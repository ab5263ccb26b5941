"""Quotas in a simulation: what exceeds one is reported, and tried again when there is room."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import decode
from podwright.simulation.world import FailedCreations
from podwright.testing import make_node, make_pod

QUOTA = ("", "ResourceQuota")
NODES = [make_node(f"n{number}", cpu="8") for number in range(4)]
KINDS = (
    "apps/v1 Deployment", "apps/v1 ReplicaSet", "apps/v1 StatefulSet", "apps/v1 DaemonSet",
    "v1 ReplicationController", "batch/v1 Job",
)  # fmt: skip


def an_object(kind: str, name: str, **parts: Any) -> Any:
    version, _, kind = kind.partition(" ")
    metadata = {"name": name, "namespace": "default"}
    return decode({"apiVersion": version, "kind": kind, "metadata": metadata, **parts})


def quota(**hard: str) -> Any:
    return an_object("v1 ResourceQuota", "team", spec={"hard": hard})


def template(cpu: str = "1", **labels: str) -> Any:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]
    return {"metadata": {"labels": {"app": "web"} | labels}, "spec": {"containers": containers}}


def a_pod(name: str, cpu: str = "1") -> Any:
    """Return a pod as of a file; one with a uid was admitted by another server."""
    return an_object("v1 Pod", name, spec=template(cpu)["spec"])


def a_job(name: str, pods: int) -> Any:
    made = template()
    made["metadata"]["annotations"] = {"pod-complete.stage.kwok.x-k8s.io/delay": "1m"}
    made["spec"]["restartPolicy"] = "Never"
    spec = {"parallelism": pods, "completions": pods, "template": made}
    return an_object("batch/v1 Job", name, spec=spec)


def workload(kind: str, replicas: int, **labels: str) -> Any:
    if kind == "batch/v1 Job":
        return a_job("web", replicas)
    selector = {"app": "web"} if kind.startswith("v1") else {"matchLabels": {"app": "web"}}
    count = {} if kind == "apps/v1 DaemonSet" else {"replicas": replicas}
    spec = {**count, "selector": selector, "template": template(**labels)}
    return an_object(kind, "web", spec=spec)


def used(world: pw.World) -> Any:
    found = world.store.get(QUOTA, "default/team")
    assert found is not None
    return found.raw["status"]["used"]


def failed(run: Any) -> list[tuple[str, int, str]]:
    return [
        (one.owner, one.count, one.message.partition("exceeded quota: ")[2])
        for one in run.summary.report.failed_creations
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_workload_gets_no_more_pods_than_its_quota_allows(kind: str) -> None:
    world = pw.World()
    world.add(*NODES, quota(pods="2"), workload(kind, 4))
    ((owner, _, message),) = failed(world.run(until="30s"))
    assert len(world.pods) == 2
    assert used(world) == {"pods": "2"}
    assert message == "team, requested: pods=1, used: pods=2, limited: pods=2"
    if kind == "apps/v1 Deployment":
        owner, kind = owner.rpartition("-")[0], "apps/v1 ReplicaSet"
    assert owner == f"{kind.split()[1].lower()}/default/web"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", ["removed", "raised", "deleted"])
def test_the_rest_is_created_when_the_quota_has_room(kind: str, change: str) -> None:
    world = pw.World()
    other = a_pod("other")
    world.add(*NODES, quota(**{"requests.cpu": "4"}), other, workload(kind, 4))
    world.run(until="10s")
    assert len(world.pods) == 4
    if change == "removed":
        world.remove(other)
    elif change == "deleted":
        world.remove(quota())
    else:
        world.add(quota(**{"requests.cpu": "5"}))
    world.run(until="20s")
    assert len(world.pods) == 5 - (change == "removed")
    assert all(pod.spec.node_name for pod in world.pods)


def test_the_pods_of_a_job_end_and_make_room_for_the_others() -> None:
    world = pw.World()
    world.add(*NODES, quota(pods="2"), a_job("train", 6))
    run = world.run()
    (job,) = world.store.list(("batch", "Job")).objects
    assert job.raw["status"]["succeeded"] == 6
    assert used(world) == {"pods": "0"}
    assert run.summary.counts.created == 6
    assert failed(run)[0][0] == "job/default/train"


def test_a_rollout_waits_for_room_above_the_replicas() -> None:
    """A surge of one pod exceeds the quota; upstream's rollout is stuck too."""
    world = pw.World()
    spare, kind = a_pod("spare"), "apps/v1 Deployment"
    world.add(*NODES, quota(**{"requests.cpu": "4"}), spare, workload(kind, 3))
    world.run(until="1m")
    world.add(workload(kind, 3, version="2"))

    def last_rollout(until: str) -> tuple[str, int]:
        report = world.run(until=until).summary.report
        assert report is not None
        return report.rollouts[-1].status, report.rollouts[-1].updated

    assert last_rollout("6m") == ("in progress", 0)
    world.remove(spare)
    assert last_rollout("7m") == ("complete", 3)
    assert used(world) == {"requests.cpu": "3"}


def test_what_users_create_beyond_a_quota_is_reported_and_the_run_continues() -> None:
    pods = [a_pod(f"p{number}", "2") for number in range(3)]
    late = {"at": "10m", "apply": a_pod("late", "3").raw}
    more = {"at": "20m", "apply": a_pod("more").raw}
    removed = {"at": "15m", "delete": "pod/p0"}
    objects = [*NODES, quota(**{"requests.cpu": "4"}), *pods]
    run = pw.simulate(objects, events=[late, removed, more])
    assert sorted(run.node_of) == ["default/more", "default/p1"]
    amounts = "used: requests.cpu=4, limited: requests.cpu=4"
    assert failed(run) == [
        ("pod/default/p2", 1, f"team, requested: requests.cpu=2, {amounts}"),
        ("pod/default/late", 1, f"team, requested: requests.cpu=3, {amounts}"),
    ]
    report = run.summary.report
    assert report is not None
    first, second = report.failed_creations
    assert (first.created_kind, first.first) == ("Pod", first.last)
    assert second.first == "2026-01-01T00:10:00.000000000Z"


def test_other_rejections_of_what_users_create_are_errors() -> None:
    limit = {"type": "Pod", "max": {"cpu": "1"}}
    limits = an_object("v1 LimitRange", "l", spec={"limits": [limit]})
    late = {"at": "1m", "apply": a_pod("p", "2").raw}
    with pytest.raises(pw.PodwrightError, match="maximum cpu usage per Pod is 1"):
        pw.simulate([*NODES, quota(pods="9"), limits], events=[late])
    world = pw.World()
    world.add(quota(pods="0"))
    with pytest.raises(pw.PodwrightError, match="exceeded quota: team"):
        world.add(a_pod("p"))


def test_the_pods_of_a_dump_count_and_are_not_rejected() -> None:
    dumped = [make_pod(f"p{number}", node="n0") for number in range(3)]
    assert all(pod.uid for pod in dumped)
    run = pw.simulate(
        [*NODES, quota(pods="2"), *dumped], events=[{"at": "1m", "apply": a_pod("new").raw}]
    )
    assert len(run.node_of) == 3
    message = "team, requested: pods=1, used: pods=3, limited: pods=2"
    assert failed(run) == [("pod/default/new", 1, message)]


def test_a_copy_of_a_world_tries_again_too() -> None:
    world = pw.World()
    other = a_pod("other")
    world.add(*NODES, quota(pods="3"), other, workload("apps/v1 ReplicaSet", 4))
    world.run(until="1m")
    for copied in (world.fork(), pickle.loads(pickle.dumps(world))):
        copied.remove(other)
        copied.run(until="2m")
        assert [pod.name[:3] for pod in copied.pods] == ["web"] * 3
    assert len([pod for pod in world.pods if pod.name == "other"]) == 1


def test_without_controllers_nothing_counts_what_ends() -> None:
    world = pw.World(controllers=())
    world.add(*NODES, quota(pods="1"), a_pod("p"))
    world.remove(a_pod("p"))
    world.run()
    with pytest.raises(pw.PodwrightError, match="used: pods=1, limited: pods=1"):
        world.add(a_pod("q"))
    assert used(world) == {"pods": "1"}


def test_the_last_rejection_of_an_owner_has_its_message() -> None:
    failed = FailedCreations()
    failed.creation_rejected(a_pod("p"), "first", 1)
    failed.creation_rejected(a_pod("p"), "second", 2)
    assert {each.owner: each.message for each in failed.all} == {"pod/default/p": "second"}
