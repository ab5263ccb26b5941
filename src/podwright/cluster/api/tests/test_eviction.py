"""Evictions are allowed and rejected as by `pods/eviction`."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import PodDisruptionBudget, decode_as, with_fields
from podwright.cluster.api.pods.eviction import decide_eviction, with_disruption_target
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.kubelets.tests.lifecycle_driver import NOW, a_pod, at


def a_budget(
    name: str = "b",
    *,
    generation: int = 1,
    spec: Any = None,
    namespace: str = "default",
    **status: Any,
) -> Any:
    numbers = {
        "disruptionsAllowed": 1,
        "currentHealthy": 3,
        "desiredHealthy": 2,
        "expectedPods": 3,
        "observedGeneration": 1,
    }
    return decode_as(
        {
            "metadata": {"name": name, "namespace": namespace, "generation": generation},
            "spec": {"selector": {"matchLabels": {"app": "web"}}} | (spec or {}),
            "status": numbers | status,
        },
        PodDisruptionBudget,
    )


def a_web_pod(phase: str = "Running", *, is_ready: bool = True, **given: Any) -> Any:
    conditions = [{"type": "Ready", "status": str(is_ready)}]
    metadata: dict[str, Any] = {"labels": {"app": "web"}, "generation": 1} | given
    return a_pod(status={"phase": phase, "conditions": conditions}, **metadata)


EXHAUSTED: dict[str, Any] = {"disruptionsAllowed": 0}


@pytest.mark.parametrize(
    ("pod", "budgets", "code", "charges"),
    [
        pytest.param(a_web_pod(), [], 201, False, id="no budget"),
        pytest.param(a_web_pod(labels={}), [a_budget(**EXHAUSTED)], 201, False, id="not selected"),
        pytest.param(a_web_pod(), [a_budget()], 201, True, id="one disruption left"),
        pytest.param(a_web_pod(), [a_budget(**EXHAUSTED)], 429, False, id="none left"),
        pytest.param(a_web_pod(), [a_budget(disruptionsAllowed=-1)], 403, False, id="negative"),
        pytest.param(a_web_pod(), [a_budget("a"), a_budget("b")], 500, False, id="two budgets"),
        pytest.param(a_web_pod(), [a_budget(generation=2)], 429, False, id="an outdated status"),
        pytest.param(
            a_web_pod(),
            [a_budget(disruptedPods={f"p{n}": at(0) for n in range(2_001)})],
            403,
            False,
            id="too many evicted pods",
        ),
        pytest.param(a_web_pod("Pending"), [a_budget(**EXHAUSTED)], 201, False, id="pending"),
        pytest.param(a_web_pod("Succeeded"), [a_budget(**EXHAUSTED)], 201, False, id="terminated"),
        pytest.param(
            a_web_pod(deletionTimestamp=at(9)), [a_budget(**EXHAUSTED)], 201, False, id="deleted"
        ),
        pytest.param(
            a_web_pod(is_ready=False),
            [a_budget(**EXHAUSTED)],
            201,
            False,
            id="others are healthy",
        ),
        pytest.param(
            a_web_pod(),
            [a_budget(disruptedPods={f"p{n}": at(0) for n in range(2_000)})],
            201,
            True,
            id="as many evicted pods as there may be",
        ),
        pytest.param(
            a_web_pod(),
            [a_budget(**EXHAUSTED, namespace="other")],
            201,
            False,
            id="a budget of another namespace",
        ),
        pytest.param(
            a_web_pod("", is_ready=False),
            [a_budget(**EXHAUSTED, currentHealthy=1)],
            429,
            False,
            id="no phase is not that of a pending pod",
        ),
        pytest.param(
            a_web_pod(is_ready=False),
            [a_budget(**EXHAUSTED, currentHealthy=2)],
            201,
            False,
            id="just as many are healthy as desired",
        ),
        pytest.param(
            a_web_pod(is_ready=False),
            [a_budget(**EXHAUSTED, currentHealthy=0, desiredHealthy=0)],
            429,
            False,
            id="none is desired",
        ),
        pytest.param(
            a_web_pod(is_ready=False),
            [a_budget(**EXHAUSTED, currentHealthy=1)],
            429,
            False,
            id="too few are healthy",
        ),
        pytest.param(
            a_web_pod(is_ready=False),
            [
                a_budget(
                    **EXHAUSTED,
                    currentHealthy=1,
                    spec={"unhealthyPodEvictionPolicy": "AlwaysAllow"},
                )
            ],
            201,
            False,
            id="unhealthy, always allowed",
        ),
        pytest.param(
            a_web_pod(is_ready=False),
            [a_budget(currentHealthy=1)],
            201,
            True,
            id="unhealthy, charged to the budget",
        ),
    ],
)
def test_decisions_about_evictions(pod, budgets, code, charges):
    found = decide_eviction(pod, budgets, NOW)
    if code == 201:
        assert isinstance(found, PodDisruptionBudget) == charges
        assert charges or found is None
    else:
        assert isinstance(found, Rejection)
        assert (found.code, found.about) == (code, tuple(each.name for each in budgets))
        assert found.message


def test_an_eviction_is_stored_in_its_budget():
    charged = decide_eviction(a_web_pod(), [a_budget()], NOW)
    assert isinstance(charged, PodDisruptionBudget)
    status = charged.raw["status"]
    assert status["disruptionsAllowed"] == 0
    assert status["disruptedPods"] == {"web": at(0)}
    (condition,) = status["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "InsufficientPods")


def test_an_eviction_keeps_what_else_the_status_has():
    synced = {"type": "Synced", "status": "True"}
    allowed = {"type": "DisruptionAllowed", "status": "True"}
    budget = a_budget(disruptedPods={"other": at(-9)}, conditions=[synced, allowed])
    charged = decide_eviction(a_web_pod(), [budget], NOW)
    assert isinstance(charged, PodDisruptionBudget)
    status = charged.raw["status"]
    assert status["disruptedPods"] == {"other": at(-9), "web": at(0)}
    types = [(each["type"], each["status"]) for each in status["conditions"]]
    assert types == [("Synced", "True"), ("DisruptionAllowed", "False")]


@pytest.mark.parametrize(
    ("status", "changed"),
    [
        pytest.param("True", at(0), id="the condition changes now"),
        pytest.param("False", at(-5), id="the condition keeps its time"),
    ],
)
def test_the_condition_of_an_exhausted_budget_keeps_its_place(status, changed):
    allowed = {"type": "DisruptionAllowed", "status": status, "lastTransitionTime": at(-5)}
    synced = {"type": "Synced", "status": "True"}
    charged = decide_eviction(a_web_pod(), [a_budget(conditions=[allowed, synced])], NOW)
    assert isinstance(charged, PodDisruptionBudget)
    exhausted = {
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "InsufficientPods",
        "message": "",
        "lastTransitionTime": changed,
        "observedGeneration": 1,
    }
    assert charged.raw["status"]["conditions"] == [exhausted, synced]


def refused(reason: str, message: str) -> dict[str, str]:
    return {"type": "DisruptionAllowed", "status": "False", "reason": reason, "message": message}


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        pytest.param(
            {"currentHealthy": 2},
            "The disruption budget b needs 2 healthy pods and has 2 currently",
            id="as many healthy pods as needed",
        ),
        pytest.param(
            {},
            "The disruption budget b does not allow evicting pods currently",
            id="enough healthy pods, but no disruption left",
        ),
        pytest.param(
            {"currentHealthy": 2, "conditions": [refused("SyncFailed", "no scale")]},
            "The disruption budget b does not allow evicting pods currently because it failed sync:"
            " no scale",
            id="the numbers do not count after a failed sync",
        ),
        pytest.param(
            {"conditions": [refused("Held", "not today")]},
            "The disruption budget b does not allow evicting pods currently (Held): not today",
            id="the condition has a message",
        ),
        pytest.param(
            {"conditions": [refused("Held", "not today") | {"status": "True"}]},
            "The disruption budget b does not allow evicting pods currently",
            id="the message of a condition that holds is not about the refusal",
        ),
    ],
)
def test_a_rejection_reports_the_state_of_the_budget(changes, cause):
    found = decide_eviction(a_web_pod(), [a_budget(**EXHAUSTED | changes)], NOW)
    assert isinstance(found, Rejection)
    assert found.causes == [{"reason": "DisruptionBudget", "message": cause}]
    assert found.message == "Cannot evict pod as it would violate the pod's disruption budget."


def test_a_client_retries_while_the_budget_is_outdated():
    found = decide_eviction(a_web_pod(), [a_budget(generation=2)], NOW)
    assert isinstance(found, Rejection)
    assert found.retry_after_seconds == 10


@pytest.mark.parametrize("sets_observed_generation", [True, False])
def test_a_disrupted_pod_has_the_condition(sets_observed_generation):
    pod = with_disruption_target(
        a_web_pod(), "Why", "because", NOW, sets_observed_generation=sets_observed_generation
    )
    assert pod.raw["status"]["conditions"][-1] == {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "Why",
        "message": "because",
        "lastTransitionTime": at(0),
    } | ({"observedGeneration": 1} if sets_observed_generation else {})


def test_a_pod_that_a_component_disrupts_has_its_generation_in_the_condition():
    pod = with_disruption_target(a_web_pod(), "Why", "because", NOW)
    assert pod.raw["status"]["conditions"][-1]["observedGeneration"] == 1
    without = with_fields(a_web_pod(), "metadata", generation=0)
    pod = with_disruption_target(without, "Why", "because", NOW)
    assert "observedGeneration" not in pod.raw["status"]["conditions"][-1]
