"""Indexes fail and succeed separately, and pods are adopted and released."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.objects import Pod
from podwright.apimachinery.schema import decode
from podwright.cluster.controllers.batch.job_counts import (
    FAILURES,
    IGNORED_FAILURES,
    matching_success_rule,
)
from podwright.cluster.controllers.batch.job_spec import COMPLETION_INDEX, TRACKING, JobSpec
from podwright.cluster.controllers.kinds import JOB
from podwright.cluster.controllers.tests.staged_cluster import Cluster
from podwright.cluster.controllers.tests.test_job import (
    a_job,
    cluster_with,
    conditions,
    end,
)
from podwright.cluster.store import POD
from podwright.simulation.world.world import World
from podwright.testing import make_node


def an_indexed_job(completions: int, **spec: Any) -> Any:
    spec = {"parallelism": completions} | spec
    return a_job(completions=completions, completionMode="Indexed", **spec)


def running(cluster: Cluster, index: int) -> Pod:
    (pod,) = [
        pod
        for pod in cluster.pods()
        if pod.metadata.annotations[COMPLETION_INDEX] == str(index)
        and not pod.is_terminal
        and not pod.is_terminating
    ]
    return pod


def status(cluster: Cluster) -> dict[str, Any]:
    return cluster.status(JOB, "default/j")


def test_every_index_has_its_own_backoff_and_retries():
    cluster = cluster_with(an_indexed_job(3, backoffLimitPerIndex=2))
    assert cluster.raw(JOB, "default/j")["spec"]["backoffLimit"] == 2**31 - 1
    cluster.run(1)
    assert running(cluster, 0).metadata.annotations[FAILURES] == "0"
    end(cluster, running(cluster, 0), "Failed", 1)
    cluster.run(3)
    # The last failed pod of an index keeps its finalizer, uncounted, until its replacement exists.
    (failed,) = [pod for pod in cluster.pods() if pod.status.phase == "Failed"]
    assert failed.metadata.finalizers == (TRACKING,)
    assert "failed" not in status(cluster)
    end(cluster, running(cluster, 1), "Succeeded")
    cluster.run(10)
    assert len([pod for pod in cluster.pods() if not pod.is_terminal]) == 1
    cluster.run(13)
    assert running(cluster, 0).metadata.annotations[FAILURES] == "1"
    assert (status(cluster)["failed"], status(cluster)["failedIndexes"]) == (1, "")
    end(cluster, running(cluster, 0), "Failed", 1)
    cluster.replace_controllers()
    cluster.run(30)
    assert [pod.status.phase for pod in cluster.pods()].count("Running") == 1
    cluster.run(36)
    assert running(cluster, 0).metadata.annotations[FAILURES] == "2"
    end(cluster, running(cluster, 0), "Failed", 1)
    cluster.run(38)
    assert (status(cluster)["failed"], status(cluster)["failedIndexes"]) == (3, "0")
    end(cluster, running(cluster, 2), "Succeeded")
    cluster.run(41)
    assert conditions(cluster) == [("FailureTarget", "FailedIndexes"), ("Failed", "FailedIndexes")]
    assert cluster.event_notes("FailedIndexes") == ["Job has failed indexes"]
    assert status(cluster)["completedIndexes"] == "1,2"
    assert not [pod.name for pod in cluster.pods() if pod.metadata.finalizers]


def test_too_many_failed_indexes_fail_a_job():
    cluster = cluster_with(an_indexed_job(4, backoffLimitPerIndex=0, maxFailedIndexes=1))
    cluster.run(1)
    end(cluster, running(cluster, 3), "Failed", 1)
    cluster.run(3)
    assert (status(cluster)["failedIndexes"], conditions(cluster)) == ("3", [])
    end(cluster, running(cluster, 0), "Failed", 1)
    cluster.run(10)
    assert status(cluster)["failedIndexes"] == "0,3"
    assert conditions(cluster)[-1] == ("Failed", "MaxFailedIndexesExceeded")
    (note,) = cluster.event_notes("MaxFailedIndexesExceeded")
    assert note == "Job has exceeded the specified maximal number of failed indexes"
    # As in any failed job, the deleted active pods count as failed.
    assert status(cluster)["failed"] == 4


@pytest.mark.parametrize(
    ("action", "annotations", "failed"),
    [
        ("FailIndex", None, "0"),
        ("Ignore", {FAILURES: "0", IGNORED_FAILURES: "1"}, ""),
        ("Count", {FAILURES: "1"}, ""),
    ],
)
def test_a_failure_policy_decides_about_an_index(action, annotations, failed):
    rule = {"action": action, "onExitCodes": {"operator": "In", "values": [42]}}
    cluster = cluster_with(
        an_indexed_job(2, backoffLimitPerIndex=1, podFailurePolicy={"rules": [rule]})
    )
    cluster.run(1)
    end(cluster, running(cluster, 0), "Failed", 42)
    cluster.run(20)
    assert status(cluster)["failedIndexes"] == failed
    if annotations is not None:
        written = running(cluster, 0).metadata.annotations
        counts = {name: written[name] for name in (FAILURES, IGNORED_FAILURES) if name in written}
        assert counts == annotations


@pytest.mark.parametrize(
    ("rules", "succeeded", "met"),
    [
        pytest.param([], {0}, None, id="no rule"),
        pytest.param([{"succeededCount": 2}], {0}, None, id="too few"),
        pytest.param([{"succeededCount": 2}], {0, 3}, 0, id="enough"),
        pytest.param([{"succeededIndexes": "0,4-6"}], {0, 4, 5}, None, id="not all of them"),
        pytest.param([{"succeededIndexes": "0,4-6"}], {0, 1, 4, 5, 6}, 0, id="all of them"),
        pytest.param(
            [{"succeededIndexes": "0,4-6", "succeededCount": 2}], {0, 3}, None, id="too few of them"
        ),
        pytest.param(
            [{"succeededIndexes": "0,4-6", "succeededCount": 2}], {0, 4}, 0, id="enough of them"
        ),
        pytest.param(
            [{"succeededIndexes": "9"}, {"succeededCount": 1}], {3}, 1, id="the second rule"
        ),
        pytest.param([{"succeededIndexes": "x"}], {0, 1}, None, id="unreadable"),
        pytest.param([{"succeededCount": 1}], set(), None, id="nothing yet"),
    ],
)
def test_a_success_policy_is_met(rules, succeeded, met):
    spec = JobSpec(completions=8, completion_mode="Indexed", success_policy={"rules": rules})
    assert matching_success_rule(spec, succeeded) == met


def test_a_success_policy_completes_a_job_without_counting_active_pods_as_failed():
    policy = {"rules": [{"succeededIndexes": "0"}]}
    cluster = cluster_with(an_indexed_job(3, successPolicy=policy))
    cluster.run(1)
    end(cluster, running(cluster, 0), "Succeeded")
    cluster.run(10)
    assert conditions(cluster) == [
        ("SuccessCriteriaMet", "SuccessPolicy"),
        ("Complete", "SuccessPolicy"),
    ]
    (condition, _) = status(cluster)["conditions"]
    assert condition["message"] == "Matched rules at index 0"
    assert [pod.status.phase for pod in cluster.pods()] == ["Succeeded"]
    assert (status(cluster)["succeeded"], status(cluster).get("failed", 0)) == (1, 0)


# ---------------------------------------------------------------------------- ownership of pods


def with_selector(**spec: Any) -> Any:
    return a_job(
        manualSelector=True,
        selector={"matchLabels": {"app": "j"}},
        completions=2,
        parallelism=2,
        **spec,
    )


def test_a_matching_orphan_is_adopted_and_an_unmatched_pod_is_released():
    cluster = cluster_with(with_selector())
    cluster.run(1)
    first, second = cluster.pods()
    cluster.edit(POD, first.key, "metadata", labels={"app": "other"})
    cluster.run(5)
    let_go = cluster.get(POD, first.key)
    assert (let_go.metadata.owner_references, let_go.metadata.finalizers) == ((), ())
    assert len(cluster.pods()) == 3
    cluster.delete(JOB, "default/j", propagation="Orphan")
    cluster.edit(POD, second.key, "metadata", ownerReferences=None)
    cluster.edit(JOB, "default/j", "metadata", finalizers=None)
    before = {pod.name for pod in cluster.pods()}
    cluster.add(with_selector())
    cluster.run(10)
    adopted = cluster.get(POD, second.key)
    (owner,) = adopted.metadata.owner_references
    assert (owner.controller, owner.uid) == (True, cluster.get(JOB, "default/j").uid)
    assert adopted.metadata.finalizers == (TRACKING,)
    assert len({pod.name for pod in cluster.pods()} - before) == 1
    assert status(cluster)["active"] == 2


def test_a_created_job_has_its_defaults():
    world = World()
    world.add(make_node("n1", cpu="4"))
    document = dict(a_job(seconds=5).raw)
    world.add(decode(document))
    (made,) = world.store.list(JOB).objects
    assert made.raw["spec"]["selector"]["matchLabels"] == {
        "batch.kubernetes.io/controller-uid": made.uid
    }
    assert made.metadata.labels["job-name"] == "j"
    world.run()
    (over,) = world.store.list(JOB).objects
    assert over.metadata.generation == 1
    assert over.raw["status"]["succeeded"] == 1


# --------------------------------------------------------------------------------- laws


@effort(40)
@given(data=st.data())
def test_no_index_is_retried_beyond_its_limit(data):
    limit = data.draw(st.integers(0, 2))
    completions = data.draw(st.integers(1, 3))
    cluster = cluster_with(an_indexed_job(completions, backoffLimitPerIndex=limit))
    failures = dict.fromkeys(range(completions), 0)
    for _ in range(30):
        alive = [pod for pod in cluster.pods() if pod.status.phase == "Running"]
        if data.draw(st.booleans()):
            cluster.replace_controllers()
        if not alive:
            cluster.run(cluster.now + 700)
            continue
        pod = alive[data.draw(st.integers(0, len(alive) - 1))]
        index = int(pod.metadata.annotations[COMPLETION_INDEX])
        assert int(pod.metadata.annotations[FAILURES]) == failures[index]
        fails = data.draw(st.booleans())
        failures[index] += fails
        end(cluster, pod, "Failed" if fails else "Succeeded", int(fails))
        cluster.run(cluster.now + data.draw(st.sampled_from([0, 1, 5])))
    cluster.run(cluster.now + 5)
    is_over = [type_ for type_, _ in conditions(cluster)][-1:]
    given_up = [index for index, count in failures.items() if count > limit]
    assert max(failures.values()) <= limit + 1
    assert is_over == (["Failed"] if given_up else ["Complete"])
    assert status(cluster).get("failed", 0) == sum(failures.values())


# The failed job deletes its other pod, which fails with it.
@pytest.mark.parametrize(("index", "failed"), [("1", 2), ("7", None)])
def test_a_failed_pod_of_no_index_of_the_job_does_not_count(index, failed):
    cluster = cluster_with(an_indexed_job(2, backoffLimit=0))
    pod = running(cluster, 1)
    annotations = pod.metadata.annotations | {COMPLETION_INDEX: index}
    cluster.edit(POD, pod.key, "metadata", annotations=annotations)
    end(cluster, pod, "Failed", 1)
    cluster.run(5)
    assert cluster.status(JOB, "default/j").get("failed") == failed
