"""The pods of a job, the indexes and times of its pods, and the rules for failures, in tables."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.controllers.batch.job_spec import (
    FailureVerdict,
    failure_verdict,
    finish_time_ns,
    finished_condition,
    index_of,
    indexes_text,
    job_spec,
    lacks_pods,
    parse_indexes,
    pods_of,
)
from podwright.cluster.controllers.tests.staged_cluster import NOW, SECOND, at, document

TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"


def a_job(name: str = "j", *, status: Any = None, template: Any = None, **spec: Any) -> Any:
    return document(
        "Job", name, api="batch/v1", namespace="shop", metadata={"uid": "ju"},
        spec={"template": template or {}, **spec}, status=status or {},
    )  # fmt: skip


def a_pod(status: Any = None, *, spec: Any = None, **metadata: Any) -> Any:
    spec = {"containers": [{"name": "c"}], **(spec or {})}
    return document(
        "Pod", "p", namespace="shop", metadata=metadata, spec=spec, status=status or {}
    )  # fmt: skip


def made(job: Any, *indexes: int | None, **annotations: Any) -> list[Any]:
    return [each.raw for each in pods_of(job, job_spec(job), indexes, **annotations)]


OWNER = {
    "apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "ju", "controller": True,
    "blockOwnerDeletion": True,
}  # fmt: skip
CONTAINERS = [{"name": "c", "image": "i"}]


COMPLETE = [{"type": "Complete", "status": "True"}]


@pytest.mark.parametrize(
    ("spec", "status", "lacks"),
    [
        pytest.param({}, {}, True, id="new"),
        pytest.param({}, {"active": 1}, False, id="as many as in parallel"),
        pytest.param({"parallelism": 2}, {"active": 1}, True, id="fewer"),
        pytest.param(
            {"parallelism": 2, "completions": 3},
            {"active": 1, "succeeded": 2},
            False,
            id="the last",
        ),
        pytest.param({"completions": 2}, {"succeeded": 1}, True, id="one is left"),
        pytest.param({}, {"succeeded": 1}, False, id="a work queue that ends"),
        pytest.param({"suspend": True}, {}, False, id="suspended"),
        pytest.param({}, {"conditions": COMPLETE}, False, id="finished"),
    ],
)
def test_a_job_lacks_pods_that_its_controller_is_to_create(
    spec: Any, status: Any, lacks: bool
) -> None:
    assert lacks_pods(a_job(status=status, **spec)) is lacks


@pytest.mark.parametrize(
    "field",
    [
        "parallelism", "completions", "completionMode", "backoffLimit", "suspend",
        "podReplacementPolicy", "podFailurePolicy", "selector", "template",
    ],
)  # fmt: skip
def test_a_null_in_the_spec_of_a_job_is_a_field_that_is_not_written(field: str) -> None:
    without, with_null = (
        document("Job", "j", api="batch/v1", namespace="shop", spec=spec)
        for spec in ({}, {field: None})
    )
    assert job_spec(with_null) == job_spec(without)


def test_a_pod_of_a_job_is_that_of_its_template() -> None:
    template = {
        "metadata": {"labels": {"a": "b"}, "annotations": {"n": "m"}, "finalizers": ["own"]},
        "spec": {"containers": CONTAINERS, "hostname": "given"},
    }
    (found,) = made(a_job(template=template), None)
    assert found == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "j-", "namespace": "shop", "labels": {"a": "b"},
            "finalizers": ["own", TRACKING], "ownerReferences": [OWNER],
            "annotations": {"n": "m"},
        },
        "spec": {"containers": CONTAINERS, "hostname": "given"},
    }  # fmt: skip
    (plain,) = made(a_job(template={"spec": {"containers": CONTAINERS}}), None)
    assert plain["metadata"] == {
        "generateName": "j-", "namespace": "shop", "labels": {}, "finalizers": [TRACKING],
        "ownerReferences": [OWNER],
    }  # fmt: skip


INDEX_VARIABLE = {
    "name": "JOB_COMPLETION_INDEX",
    "valueFrom": {
        "fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}
    },
}  # fmt: skip


def test_a_pod_of_an_indexed_job_has_its_index_in_five_places() -> None:
    own = {"name": "JOB_COMPLETION_INDEX", "value": "mine"}
    template = {
        "metadata": {"labels": {"a": "b"}, "annotations": {"n": "m"}},
        "spec": {
            "containers": [{"name": "c"}, {"name": "d", "env": [{"name": "x"}]}],
            "initContainers": [{"name": "i"}, {"name": "k", "env": [{"name": "x"}, own]}],
        },
    }
    job = a_job(template=template, completionMode="Indexed", completions=9)
    first, second = made(job, 0, 7, annotations={7: {"f": "1"}})
    assert first["metadata"] == {
        "generateName": "j-0-", "namespace": "shop", "labels": {"a": "b", INDEX: "0"},
        "finalizers": [TRACKING], "ownerReferences": [OWNER],
        "annotations": {"n": "m", INDEX: "0"},
    }  # fmt: skip
    assert first["spec"] == {
        "hostname": "j-0",
        "containers": [
            {"name": "c", "env": [INDEX_VARIABLE]},
            {"name": "d", "env": [{"name": "x"}, INDEX_VARIABLE]},
        ],
        "initContainers": [
            {"name": "i", "env": [INDEX_VARIABLE]},
            {"name": "k", "env": [{"name": "x"}, own]},
        ],
    }
    assert second["metadata"]["annotations"] == {"n": "m", INDEX: "7", "f": "1"}
    assert second["spec"] == first["spec"] | {"hostname": "j-7"}
    # Without init containers the pod has none; a given host name stays.
    bare = {"spec": {"containers": [{"name": "c"}], "hostname": "given"}}
    (found,) = made(a_job(template=bare, completionMode="Indexed", completions=1), 0)
    assert found["spec"] == {"hostname": "given", "containers": first["spec"]["containers"][:1]}


@pytest.mark.parametrize(
    ("length", "index", "kept"), [(50, 3, 50), (55, 3, 55), (56, 3, 55), (63, 3, 55), (63, 12, 54)]
)
def test_the_name_of_an_indexed_pod_keeps_its_index(length, index, kept) -> None:
    """Upstream: indexed_job_utils.go, podGenerateNameWithIndex: 58 characters before the suffix."""
    template = {"spec": {"containers": CONTAINERS}}
    name = "n" * length
    (found,) = made(a_job(name, template=template, completionMode="Indexed", completions=99), index)
    assert found["metadata"]["generateName"] == f"{'n' * kept}-{index}-"


@pytest.mark.parametrize(
    ("text", "completions", "index"),
    [
        ("0", 3, 0), ("2", 3, 2), ("3", 3, None), ("2", None, None), ("", 3, None), ("-1", 3, None),
        ("x", 3, None), ("\u0661", 3, None), ("\u00b2", 3, None), ("01", 3, 1),
        ("+1", 3, 1), ("9" * 5_000, 3, None),
    ],
)  # fmt: skip
def test_the_index_of_a_pod_is_one_of_the_completions(text, completions, index) -> None:
    annotations = {INDEX: text} if text else {}
    assert index_of(a_pod(annotations=annotations), completions) == index


@pytest.mark.parametrize(
    ("text", "indexes"),
    [
        ("", set()), ("3", {3}), ("1-3,5", {1, 2, 3, 5}), ("4,4-5", {4, 5}), ("3-1", set()),
        ("x,2", {2}), ("1-x,2", {2}), ("-3", set()), ("2-", {2}), (",,7,", {7}),
    ],
)  # fmt: skip
def test_indexes_are_read(text, indexes) -> None:
    assert parse_indexes(text) == indexes


@pytest.mark.parametrize(
    ("indexes", "text"),
    [
        ([], ""), ([3], "3"), ([5, 0, 2, 1], "0-2,5"), ([7, 6], "6,7"), ([2, 0], "0,2"),
        ([9, 3, 4, 8, 1], "1,3,4,8,9"), ([10, 9, 8, 2], "2,8-10"),
    ],
)  # fmt: skip
def test_indexes_are_written(indexes, text) -> None:
    assert indexes_text(indexes) == text
    assert indexes_text(dict.fromkeys(indexes)) == text


def condition(kind: str, status: str = "True", **fields: Any) -> dict[str, Any]:
    return {"type": kind, "status": status, **fields}


@pytest.mark.parametrize(
    ("conditions", "found"),
    [
        pytest.param(None, None, id="none"),
        pytest.param([condition("Complete", "False")], None, id="not yet"),
        pytest.param([condition("Suspended"), condition("FailureTarget")], None, id="others"),
        pytest.param([condition("Failed", reason="x")], condition("Failed", reason="x"), id="one"),
        pytest.param([condition("Failed", "False"), condition("Complete")], condition("Complete"),
                     id="the second"),
        pytest.param([condition("Failed"), condition("Complete")], condition("Failed"), id="both"),
    ],
)  # fmt: skip
def test_a_finished_job_has_a_condition(conditions, found) -> None:
    assert finished_condition(a_job(status={"conditions": conditions})) == found


# ------------------------------------------------------------------------------- failures


def ended(name: str = "c", seconds: int | None = 0, code: int | None = 1) -> dict[str, Any]:
    terminated: dict[str, Any] = {} if seconds is None else {"finishedAt": at(seconds)}
    terminated |= {} if code is None else {"exitCode": code}
    return {"name": name, "state": {"terminated": terminated}}


RUNS = {"name": "r", "state": {"running": {}}}
UNREADY = condition("Ready", "False", lastTransitionTime=at(40))
SIDECAR = {"initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "i"}]}
GONE = {"deletionTimestamp": at(60), "deletionGracePeriodSeconds": 10}


@pytest.mark.parametrize(
    ("statuses", "init", "conditions", "metadata", "seconds"),
    [
        pytest.param([ended(seconds=5)], [], [UNREADY], GONE, 5, id="its container"),
        pytest.param([ended(seconds=5), ended(seconds=9), ended(seconds=7)], [], [], {}, 9,
                     id="the last container"),
        pytest.param([ended(seconds=5)], [ended("s", 8)], [], {}, 8, id="a sidecar"),
        pytest.param([ended(seconds=5)], [ended("i", 8)], [], {}, 5, id="no init container"),
        pytest.param([ended(seconds=5), RUNS], [], [UNREADY], GONE, 40, id="one still runs"),
        pytest.param([ended(seconds=None)], [], [UNREADY], GONE, 40, id="without a time"),
        pytest.param([], [], [UNREADY], GONE, 40, id="no containers"),
        pytest.param([], [], [condition("Ready", "True", lastTransitionTime=at(40))], GONE, 50,
                     id="ready until it is deleted"),
        pytest.param([], [], [condition("Ready", "False")], GONE, 50, id="unready since never"),
        pytest.param([], [], [condition("Other", "False", lastTransitionTime=at(40))], GONE, 50,
                     id="another condition"),
        pytest.param([], [], [], {"deletionTimestamp": at(60)}, 60, id="deleted at once"),
        pytest.param([], [], [], {"creationTimestamp": at(3)}, 3, id="as old as it is"),
    ],
)  # fmt: skip
def test_when_a_pod_ended(statuses, init, conditions, metadata, seconds) -> None:
    status = {
        "containerStatuses": statuses, "initContainerStatuses": init, "conditions": conditions,
    }  # fmt: skip
    found = finish_time_ns(a_pod(status, spec=SIDECAR, **metadata))
    assert (found - NOW) / SECOND == seconds


def test_a_pod_without_any_time_ended_at_the_beginning() -> None:
    assert finish_time_ns(a_pod()) == 0


def exits(operator: str, *values: int, only: str = "", action: str = "") -> dict[str, Any]:
    codes: dict[str, Any] = {"operator": operator, "values": list(values)}
    codes |= {"containerName": only} if only else {}
    return {"onExitCodes": codes} | ({"action": action} if action else {})


def on(*kinds: str, action: str = "Ignore", **fields: Any) -> dict[str, Any]:
    return {"action": action, "onPodConditions": [{"type": each, **fields} for each in kinds]}


PLAIN_FAILURE = FailureVerdict("Count", "")


# Each row: the rules, and the action, the number of the rule and what it found.
@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        pytest.param([], "", id="no rules"),
        pytest.param(None, "", id="no list of rules"),
        pytest.param([{}], "", id="a rule without a condition"),
        pytest.param([exits("In", 3, action="FailJob")], "FailJob 0 c 3", id="in"),
        pytest.param([exits("In", 4, 7, action="FailIndex")], "FailIndex 0 i 7", id="init"),
        pytest.param([exits("In", 5)], "", id="not in"),
        pytest.param([exits("In", 0)], "", id="a success is no failure"),
        pytest.param([exits("NotIn", 3, action="Ignore")], "Ignore 0 i 7", id="another than"),
        pytest.param([exits("NotIn", 3, 7)], "", id="all of them"),
        pytest.param([exits("NotIn")], "Count 0 c 3", id="no values, counted"),
        pytest.param([exits("In", 3, only="i")], "", id="of one container only"),
        pytest.param([exits("In", 7, only="i")], "Count 0 i 7", id="of that container"),
        pytest.param([on("Lost"), on("Known")], "Ignore 1 Known", id="a condition"),
        pytest.param([on("Lost", "Odd", status="False")], "Ignore 0 Odd", id="one that is false"),
        pytest.param([on("Odd")], "", id="true by default"),
        pytest.param([exits("In", 5) | on("Known")], "", id="codes first and only"),
        pytest.param([on("Known"), exits("In", 3)], "Ignore 0 Known", id="the first rule"),
    ],
)
def test_the_first_rule_that_matches_decides(rules, expected) -> None:
    """Upstream: pkg/controller/job/pod_failure_policy.go."""
    containers = [ended("c", code=3), ended("ok", code=0), RUNS, ended("n", code=None)]
    pod = a_pod(
        {
            "containerStatuses": containers,
            "initContainerStatuses": [ended("i", code=7)],
            "conditions": [condition("Known"), condition("Odd", "False")],
        }
    )
    verdict = PLAIN_FAILURE
    if expected:
        action, rule, *found = expected.split()
        reason = (
            f"Container {found[0]} for pod shop/p failed with exit code {found[1]}"
            if len(found) == 2
            else f"Pod shop/p has condition {found[0]}"
        )
        verdict = FailureVerdict(action, f"{reason} matching {action} rule at index {rule}")
    assert failure_verdict({"rules": rules}, pod) == verdict


def test_without_a_policy_each_failure_counts() -> None:
    assert failure_verdict(None, a_pod()) == PLAIN_FAILURE
    assert failure_verdict({}, a_pod()) == PLAIN_FAILURE
