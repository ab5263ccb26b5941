"""The status of a deployment from the counts of its replica sets, and the sets as documents."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.controllers.apps.deployment_status import (
    StatusDraft,
    is_complete,
    replica_set_document,
)
from podwright.cluster.controllers.apps.rollout import Rollout, RolloutSet, deployment_spec
from podwright.cluster.controllers.tests.staged_cluster import NOW, SECOND, at

SUBJECT = 'ReplicaSet "new"'
EMPTY: dict[str, Any] = {}


def a_deployment(status: dict[str, Any] = EMPTY, **spec: Any) -> Any:
    return decode(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop", "uid": "u", "generation": 7},
            "spec": spec,
            "status": status,
        },
        source="test",
    )


def a_set(name: str, replicas: int, reported: int, ready: int, available: int, **rest: Any) -> Any:
    return RolloutSet(
        name=name,
        created=name,
        replicas=replicas,
        annotations={},
        reported=reported,
        ready=ready,
        available=available,
        **rest,
    )


def a_rollout(*sets: Any, has_new: bool = True, **spec: Any) -> Rollout:
    """Return a rollout of sets, of which the last is the new one."""
    parsed = deployment_spec({"replicas": 4, **spec})
    return Rollout(parsed, sets[-1] if has_new else None, list(sets[: -1 if has_new else None]))


def progressing(status: str, reason: str, updated: str, since: str, message: str = "m") -> Any:
    return {
        "type": "Progressing",
        "status": status,
        "lastUpdateTime": updated,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }


def available(status: str) -> dict[str, str]:
    is_true = status == "True"
    return {
        "type": "Available",
        "status": status,
        "lastUpdateTime": at(0),
        "lastTransitionTime": at(0),
        "reason": "MinimumReplicasAvailable" if is_true else "MinimumReplicasUnavailable",
        "message": (
            "Deployment has minimum availability."
            if is_true
            else "Deployment does not have minimum availability."
        ),
    }


def finished(
    rollout: Rollout, status: dict[str, Any], *, is_rolling: bool = True, collisions: Any = None
) -> Any:
    draft = StatusDraft(a_deployment(status), NOW, collisions)
    return draft.finish(rollout, is_rolling=is_rolling)


def test_the_counts_of_all_sets_are_added_up() -> None:
    rollout = a_rollout(
        a_set("old", 3, 4, 3, 2, terminating=1), a_set("new", 2, 2, 1, 1, terminating=2)
    )
    assert finished(rollout, {}, is_rolling=False) == {
        "observedGeneration": 7,
        "replicas": 6,
        "updatedReplicas": 2,
        "readyReplicas": 4,
        "availableReplicas": 3,
        "unavailableReplicas": 2,
        "terminatingReplicas": 3,
        "conditions": [available("True")],
    }


def test_zeros_are_left_out_and_unknown_counts_too() -> None:
    none = a_rollout(a_set("old", 0, 0, 0, 0), has_new=False)
    assert finished(none, {}, is_rolling=False, collisions=0) == {
        "observedGeneration": 7,
        "terminatingReplicas": 0,
        "conditions": [available("False")],
        "collisionCount": 0,
    }
    unknown = a_rollout(a_set("old", 1, 1, 1, 1, terminating=None), a_set("new", 1, 1, 1, 1))
    assert finished(unknown, {}, is_rolling=False, collisions=2) == {
        "observedGeneration": 7,
        "replicas": 2,
        "updatedReplicas": 1,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "conditions": [available("False")],
        "collisionCount": 2,
    }
    surplus = a_rollout(a_set("old", 1, 3, 3, 3), a_set("new", 1, 1, 1, 1))
    assert "unavailableReplicas" not in finished(surplus, {}, is_rolling=False)


@pytest.mark.parametrize(("present", "status"), [(2, "False"), (3, "True"), (4, "True")])
def test_a_deployment_is_available_from_the_least_number_that_it_may_have(present, status) -> None:
    """Of four replicas a quarter may be unavailable."""
    rollout = a_rollout(a_set("new", 4, 4, 4, present))
    assert finished(rollout, {}, is_rolling=False)["conditions"] == [available(status)]


def test_a_condition_keeps_its_times_as_long_as_it_says_the_same() -> None:
    draft = StatusDraft(a_deployment(), NOW, None)
    draft.conditions = [
        progressing("True", "Old", at(-9), at(-20)),
        {"type": "Available", "status": "True", "reason": "r", "lastUpdateTime": at(-5)},
    ]
    before = list(draft.conditions)
    draft.set("Progressing", "True", "Old", "another message")
    assert draft.conditions == before
    draft.set("Progressing", "True", "New", "m")
    assert draft.conditions == [before[1], progressing("True", "New", at(0), at(-20))]
    draft.set("Progressing", "False", "New", "m")
    assert draft.conditions == [before[1], progressing("False", "New", at(0), at(0))]
    draft.set("Available", "True", "other", "m")
    assert draft.conditions[1] == {
        "type": "Available", "status": "True", "lastUpdateTime": at(0),
        "lastTransitionTime": at(0), "reason": "other", "message": "m",
    }  # fmt: skip
    draft.remove("Progressing")
    assert [each["type"] for each in draft.conditions] == ["Available"]
    assert draft.condition("Progressing") is None


COUNTS = {"replicas": 4, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}
"""The status before: two of four replicas are updated, and two are available."""
SINCE = progressing("True", "ReplicaSetUpdated", at(-600), at(-900))


@pytest.mark.parametrize(
    ("sets", "before", "present", "expected"),
    [
        pytest.param(
            [(2, 2, 2, 2), (4, 3, 2, 2)], COUNTS, SINCE,
            progressing("True", "ReplicaSetUpdated", at(0), at(-900), f"{SUBJECT} is progressing."),
            id="more updated replicas",
        ),
        pytest.param(
            [(1, 1, 1, 1), (4, 2, 1, 1)], COUNTS, SINCE,
            progressing("True", "ReplicaSetUpdated", at(0), at(-900), f"{SUBJECT} is progressing."),
            id="fewer old replicas",
        ),
        pytest.param(
            [(2, 2, 2, 2), (2, 2, 1, 0)], COUNTS, SINCE,
            progressing("True", "ReplicaSetUpdated", at(0), at(-900), f"{SUBJECT} is progressing."),
            id="more ready replicas",
        ),
        pytest.param(
            [(2, 2, 1, 2), (2, 2, 1, 1)], COUNTS, SINCE,
            progressing("True", "ReplicaSetUpdated", at(0), at(-900), f"{SUBJECT} is progressing."),
            id="more available replicas",
        ),
        pytest.param(
            [(2, 2, 1, 1), (2, 2, 1, 1)], COUNTS, SINCE, SINCE,
            id="the same at the deadline exactly",
        ),
        pytest.param(
            [(2, 2, 1, 1), (2, 2, 1, 1)], COUNTS, SINCE | {"lastUpdateTime": at(-601)},
            progressing("False", "ProgressDeadlineExceeded", at(0), at(0),
                        f"{SUBJECT} has timed out progressing."),
            id="the same after the deadline",
        ),
        pytest.param(
            [(2, 2, 1, 1), (2, 2, 1, 1)], COUNTS,
            progressing("False", "ProgressDeadlineExceeded", at(-1), at(-2)),
            progressing("False", "ProgressDeadlineExceeded", at(-1), at(-2)),
            id="it has timed out before",
        ),
        pytest.param(
            [(2, 2, 1, 1), (3, 3, 1, 1)], COUNTS,
            progressing("False", "ProgressDeadlineExceeded", at(-1), at(-2)),
            progressing("True", "ReplicaSetUpdated", at(0), at(0), f"{SUBJECT} is progressing."),
            id="progress after a timeout",
        ),
        pytest.param(
            [(0, 0, 0, 0), (4, 4, 4, 4)], COUNTS, SINCE,
            progressing("True", "NewReplicaSetAvailable", at(0), at(-900),
                        f"{SUBJECT} has successfully progressed."),
            id="complete",
        ),
        pytest.param(
            [(0, 0, 0, 0), (4, 4, 4, 3)], COUNTS,
            progressing("True", "NewReplicaSetAvailable", at(-700), at(-800)),
            progressing("True", "NewReplicaSetAvailable", at(-700), at(-800)),
            id="a pod is lost after a rollout",
        ),
        pytest.param(
            [(1, 1, 1, 1), (3, 3, 3, 3)], COUNTS,
            progressing("True", "NewReplicaSetAvailable", at(-700), at(-800)),
            progressing("True", "ReplicaSetUpdated", at(0), at(-800), f"{SUBJECT} is progressing."),
            id="a new rollout",
        ),
        pytest.param(
            [(2, 2, 1, 1), (2, 2, 1, 1)], COUNTS,
            progressing("True", "NewReplicaSetAvailable", at(-700), at(-800)),
            progressing("True", "NewReplicaSetAvailable", at(-700), at(-800)),
            id="a rollout that has ended does not time out",
        ),
        pytest.param(
            [(2, 2, 1, 1), (2, 2, 1, 1)], COUNTS, None, None, id="no condition, no progress",
        ),
        pytest.param(
            [(2, 2, 1, 1), (2, 2, 1, 1)], {}, None,
            progressing("True", "ReplicaSetUpdated", at(0), at(0), f"{SUBJECT} is progressing."),
            id="the first status",
        ),
    ],
)  # fmt: skip
def test_the_progress_of_a_rollout(sets, before, present, expected) -> None:
    """Upstream: progress.go, syncRolloutStatus."""
    old, new = (a_set(name, *counts) for name, counts in zip(("old", "new"), sets, strict=True))
    status = before | {"conditions": [] if present is None else [present]}
    found = finished(a_rollout(old, new), status)["conditions"]
    assert [each for each in found if each["type"] == "Progressing"] == (
        [] if expected is None else [expected]
    )


def test_a_rollout_without_a_deadline_or_a_new_set() -> None:
    endless = a_rollout(a_set("new", 4, 1, 1, 1), progressDeadlineSeconds=2**31 - 1)
    assert [each["type"] for each in finished(endless, {"conditions": [SINCE]})["conditions"]] == [
        "Available"
    ]
    waiting = a_rollout(a_set("old", 4, 1, 0, 0), has_new=False)
    before = {"replicas": 2, "conditions": [SINCE]}
    message = finished(waiting, before)["conditions"][-1]["message"]
    assert message == 'Deployment "web" is progressing.'


FAILURE = {
    "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "no quota",
    "lastTransitionTime": at(-3),
}  # fmt: skip


@pytest.mark.parametrize(
    ("failures", "present", "expected"),
    [
        pytest.param((None, None), [], [], id="none"),
        pytest.param((None, None), [FAILURE], [], id="none any more"),
        pytest.param((None, FAILURE), [], [FAILURE | {"lastUpdateTime": at(-3)}], id="of the new"),
        pytest.param((FAILURE, None), [], [FAILURE | {"lastUpdateTime": at(-3)}], id="of an old"),
        pytest.param(
            ({**FAILURE, "reason": "FailedDelete"}, FAILURE), [],
            [FAILURE | {"lastUpdateTime": at(-3)}], id="that of the new one first",
        ),
        pytest.param(
            (None, FAILURE | {"message": "other"}), [FAILURE], [FAILURE], id="of the same reason",
        ),
        pytest.param(
            (None, FAILURE | {"reason": "FailedDelete"}), [FAILURE],
            [FAILURE | {"reason": "FailedDelete", "lastUpdateTime": at(-3)}], id="another reason",
        ),
    ],
)  # fmt: skip
def test_the_failure_of_a_set_is_that_of_the_deployment(failures, present, expected) -> None:
    """Upstream: progress.go, syncRolloutStatus, getReplicaFailures."""
    old = a_set("old", 1, 1, 1, 1, failure=failures[0])
    new = a_set("new", 3, 3, 3, 3, failure=failures[1])
    found = finished(a_rollout(old, new), {"conditions": present})["conditions"]
    assert [each for each in found if each["type"] == "ReplicaFailure"] == expected
    scaled = finished(a_rollout(old, new), {"conditions": present}, is_rolling=False)
    kept = [each for each in scaled["conditions"] if each["type"] == "ReplicaFailure"]
    assert kept == present


@pytest.mark.parametrize(
    ("condition", "spec", "counts", "seconds"),
    [
        pytest.param(SINCE, {}, COUNTS, 1, id="ten minutes and one second after the last update"),
        pytest.param(SINCE, {"progressDeadlineSeconds": 30}, COUNTS, -569, id="its own deadline"),
        pytest.param(None, {}, COUNTS, None, id="no condition"),
        pytest.param(SINCE, {"progressDeadlineSeconds": 2**31 - 1}, COUNTS, None, id="none"),
        pytest.param(
            SINCE | {"reason": "ProgressDeadlineExceeded"}, {}, COUNTS, None, id="it has passed",
        ),
        pytest.param(
            SINCE | {"reason": "NewReplicaSetAvailable"}, {}, COUNTS, None, id="it has ended",
        ),
        pytest.param(SINCE, {}, dict.fromkeys(COUNTS, 4), None, id="it is complete"),
        pytest.param(SINCE | {"lastUpdateTime": None}, {}, COUNTS, 601, id="from now on"),
    ],
)  # fmt: skip
def test_when_a_rollout_times_out(condition, spec, counts, seconds) -> None:
    conditions = [] if condition is None else [condition]
    draft = StatusDraft(a_deployment({"conditions": conditions}), NOW, None)
    rollout = a_rollout(a_set("new", 4, 2, 2, 2), **spec)
    expected = None if seconds is None else NOW + seconds * SECOND
    assert draft.deadline_ns(rollout, counts) == expected


def test_a_rollout_is_complete_when_all_replicas_are_new_and_available() -> None:
    rollout = a_rollout(a_set("new", 4, 4, 4, 4))
    names = ("updatedReplicas", "replicas", "availableReplicas")
    assert is_complete(rollout, dict.fromkeys(names, 4))
    for name in names:
        assert not is_complete(rollout, dict.fromkeys(names, 4) | {name: 5}), name
        assert not is_complete(rollout, dict.fromkeys(set(names) - {name}, 4)), name
    assert is_complete(a_rollout(a_set("new", 0, 0, 0, 0), replicas=0), {})


@pytest.mark.parametrize("seconds", [0, 30])
def test_the_set_of_a_template(seconds) -> None:
    template = {
        "metadata": {"labels": {"app": "web"}, "annotations": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "web:1"}]},
    }
    selector = {
        "matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "app", "operator": "Exists"}],
    }
    spec = {"template": template, "selector": selector, "minReadySeconds": seconds}
    found = replica_set_document(
        a_deployment(**spec),
        deployment_spec(spec),
        name="web-h",
        label="h",
        replicas=3,
        annotations={"deployment.kubernetes.io/revision": "1"},
    )
    labels = {"app": "web", "pod-template-hash": "h"}
    assert found == {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "web-h",
            "namespace": "shop",
            "labels": labels,
            "annotations": {"deployment.kubernetes.io/revision": "1"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "name": "web",
                    "uid": "u",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "replicas": 3,
            "selector": selector | {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": {"a": "b"}},
                "spec": template["spec"],
            },
            **({"minReadySeconds": 30} if seconds else {}),
        },
        "status": {"replicas": 0},
    }
    bare = replica_set_document(
        a_deployment(), deployment_spec({}), name="n", label="h", replicas=1, annotations={}
    )
    label = {"pod-template-hash": "h"}
    assert (bare["metadata"]["labels"], bare["spec"]) == (
        label,
        {
            "replicas": 1,
            "selector": {"matchLabels": label},
            "template": {"metadata": {"labels": label}},
        },
    )
