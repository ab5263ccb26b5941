"""Parts of inputs that are null are read as parts that are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest

from podwright.apimachinery.objects import Pod, encode
from podwright.apimachinery.schema import decode
from podwright.cluster.store import ObjectStore
from podwright.simulation.world.inputs.conditions import Condition
from podwright.simulation.world.inputs.event_lines import _finished_ns
from podwright.simulation.world.inputs.input_review import (
    jobs_without_duration,
    load_estimate,
    with_job_duration,
)
from podwright.simulation.world.runs.workload_health import WorkloadHealth
from podwright.testing import make_node

RUNS = {"annotations": {"other": "x"}, "labels": {"a": "b"}}
CONTAINERS = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
TEMPLATE = {"metadata": RUNS, "spec": {"restartPolicy": "Never", "containers": CONTAINERS}}
DONE = {"conditions": [{"type": "Complete", "status": "True"}]}


def an_object(kind: str, api: str, **parts: Any) -> dict[str, Any]:
    metadata = {"name": "x", "namespace": "n", "uid": "u"}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **parts}


JOB = an_object("Job", "batch/v1", spec={"template": TEMPLATE}, status=DONE)
CRON_JOB = an_object(
    "CronJob", "batch/v1",
    spec={"schedule": "* * * * *", "jobTemplate": {"metadata": {}, "spec": {"template": TEMPLATE}}},
)  # fmt: skip
SET = an_object("ReplicaSet", "apps/v1", spec={"replicas": 9, "template": TEMPLATE})
POD = an_object(
    "Pod", "v1", spec={"containers": CONTAINERS},
    status={"conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [
        {"name": "c", "state": {"terminated": {"exitCode": 0,
                                               "finishedAt": "2026-03-02T10:00:25Z"}}}]},
)  # fmt: skip
DEPLOYMENT = an_object(
    "Deployment", "apps/v1", spec={"replicas": 3, "template": TEMPLATE},
    status={"availableReplicas": 1, "updatedReplicas": 1, "replicas": 2},
)  # fmt: skip


def finished(document: Any) -> int:
    pod = decode(document)
    assert isinstance(pod, Pod)
    return _finished_ns(pod, 7)


def unmet(document: Any) -> str:
    store = ObjectStore()
    store.put(decode(document))
    condition = Condition(object="pod/x", namespace="n", condition="Ready")
    return condition.unmet(store, (), is_settled=False, now_ns=0)


def health(document: Any) -> Any:
    found = WorkloadHealth()
    obj = decode(document)
    found.changed(None, obj, 10**9)
    found.changed(obj, decode(DEPLOYMENT), 5 * 10**9)
    return found.availability(9 * 10**9), found.rollouts(9 * 10**9)


def of_jobs(document: Any) -> Any:
    job = decode(document)
    changed = encode(with_job_duration(job, 10**9))
    return jobs_without_duration([job]), changed.get("spec")


READ: list[Any] = [
    pytest.param(of_jobs, JOB, id="a job"),
    pytest.param(of_jobs, CRON_JOB, id="a cron job"),
    pytest.param(lambda each: load_estimate([make_node("n1", cpu="2"), decode(each)]), SET,
                 id="a load"),
    pytest.param(finished, POD, id="the end of a pod"),
    pytest.param(unmet, POD, id="a condition"),
    pytest.param(health, DEPLOYMENT, id="the health of a workload"),
]  # fmt: skip


def places(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of structs and lists, but for the names that each object has."""
    for name, each in part.items() if isinstance(part, dict) else enumerate(part):
        if isinstance(each, dict | list):
            if isinstance(part, dict) and (*path, name) != ("metadata",):
                yield (*path, name)
            yield from places(each, (*path, name))


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return list(map(without_nulls, value)) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(("read", "document"), READ)
def test_a_null_is_as_good_as_nothing(read: Callable[[Any], Any], document: Any) -> None:
    for path in places(document):
        with_null, without = deepcopy(document), deepcopy(document)
        for each in (with_null, without):
            parent = each
            for name in path[:-1]:
                parent = parent[name]
            if each is with_null:
                parent[path[-1]] = None
            else:
                del parent[path[-1]]
        assert without_nulls(read(with_null)) == without_nulls(read(without)), path
