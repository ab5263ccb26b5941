"""Workloads that an API server rejects."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.api.validation import validate_workload
from podwright.objects import KubernetesObject
from podwright.schema import decode

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
OWNER = {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}
ONCE = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
SPECS: dict[str, tuple[str, dict[str, Any]]] = {
    "Deployment": ("apps/v1", OWNER | {"strategy": {"rollingUpdate": {"maxUnavailable": 0}}}),
    "ReplicaSet": ("apps/v1", OWNER | {"replicas": 0}),
    "DaemonSet": ("apps/v1", OWNER | {"updateStrategy": {"rollingUpdate": {"maxSurge": "5%"}}}),
    "StatefulSet": ("apps/v1", OWNER | {"volumeClaimTemplates": [{"metadata": {"name": "v"}}]}),
    "ReplicationController": ("v1", {"replicas": 1, "template": TEMPLATE}),
    "Job": ("batch/v1", {"completions": None, "template": ONCE}),
    "CronJob": (
        "batch/v1",
        {"schedule": "@every 5m", "timeZone": "UTC", "jobTemplate": {"spec": {"template": ONCE}}},
    ),
    "PodDisruptionBudget": ("policy/v1", {"minAvailable": "50%"}),
}


def workload(kind: str, **spec: Any) -> KubernetesObject:
    api_version, written = SPECS[kind]
    document = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}}
    return decode(document | {"spec": written | spec})


@pytest.mark.parametrize("kind", SPECS)
def test_a_valid_workload_has_no_errors(kind):
    assert list(validate_workload(workload(kind))) == []


@pytest.mark.parametrize("kind", [kind for kind in SPECS if kind != "PodDisruptionBudget"])
def test_a_workload_needs_a_template(kind):
    inner = "jobTemplate" if kind == "CronJob" else "template"
    (path, message, _), *_ = validate_workload(workload(kind, **{inner: None}))
    assert path.startswith(f"spec.{inner}")
    assert message == "Required value"


@pytest.mark.parametrize(
    ("kind", "spec", "reported"),
    [
        pytest.param("Deployment", {"replicas": "3"}, "spec.replicas", id="a number in quotes"),
        pytest.param("ReplicaSet", {"replicas": -1}, "spec.replicas", id="negative replicas"),
        pytest.param(
            "Deployment", {"strategy": {"type": "Slow"}}, "spec.strategy.type", id="no strategy"
        ),
        pytest.param(
            "Deployment",
            {"strategy": {"rollingUpdate": {"maxSurge": "x", "maxUnavailable": -1}}},
            "spec.strategy.rollingUpdate.maxSurge spec.strategy.rollingUpdate.maxUnavailable",
            id="no shares",
        ),
        pytest.param(
            "Deployment",
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}},
            "spec.strategy.rollingUpdate.maxUnavailable",
            id="maxSurge and maxUnavailable both 0",
        ),
        pytest.param(
            "DaemonSet",
            {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0}}},
            "spec.updateStrategy.rollingUpdate.maxUnavailable",
            id="a daemon set's rollout does not surge by itself",
        ),
        pytest.param("Deployment", {"selector": None}, "spec.selector", id="no selector"),
        pytest.param("StatefulSet", {"selector": {}}, "spec.selector", id="an empty selector"),
        pytest.param(
            "ReplicaSet",
            {"selector": {"matchExpressions": [{"key": "app", "operator": "In"}]}},
            "spec.selector",
            id="a selector of no values",
        ),
        pytest.param(
            "Deployment",
            {"selector": {"matchLabels": {"app": "other"}}},
            "spec.template.metadata.labels",
            id="pods of another selector",
        ),
        pytest.param(
            "ReplicationController",
            {"selector": {"app": "other"}},
            "spec.template.metadata.labels",
            id="pods of another plain selector",
        ),
        pytest.param(
            "StatefulSet",
            {"template": TEMPLATE | {"spec": {"restartPolicy": "Never"}}},
            "spec.template.spec.restartPolicy",
            id="pods that end in a set",
        ),
        pytest.param(
            "DaemonSet",
            {"template": {"spec": {"containers": [{"name": "c", "ports": 80}]}}},
            "spec.template.spec.containers[0].ports",
            id="in the template",
        ),
        pytest.param(
            "StatefulSet",
            {"volumeClaimTemplates": [{"spec": {"accessModes": "x"}}]},
            "spec.volumeClaimTemplates[0].spec.accessModes",
            id="in a claim's template",
        ),
        pytest.param("Job", {"parallelism": "x"}, "spec.parallelism", id="a text for a number"),
        pytest.param(
            "Job",
            {"template": {"spec": {"restartPolicy": "Always"}}},
            "spec.template.spec.restartPolicy",
            id="pods that never end in a job",
        ),
        pytest.param(
            "Job", {"completionMode": "Indexed"}, "spec.completions", id="indexes without an end"
        ),
        pytest.param(
            "Job",
            {"podFailurePolicy": {"rules": [{"action": "Shrug"}]}},
            "spec.podFailurePolicy.rules[0].action",
            id="in a failure policy",
        ),
        pytest.param(
            "CronJob",
            {"schedule": "61 * * * *", "timeZone": "Mars/Olympus"},
            "spec.schedule spec.timeZone",
            id="no schedule and no time zone",
        ),
        pytest.param(
            "CronJob",
            {"jobTemplate": {"spec": {"backoffLimit": -1}}},
            "spec.jobTemplate.spec.backoffLimit",
            id="in the job",
        ),
        pytest.param(
            "PodDisruptionBudget",
            {"minAvailable": "many", "maxUnavailable": 1},
            "spec.minAvailable spec",
            id="a budget of both kinds",
        ),
    ],
)
def test_an_invalid_workload_reports_the_path(kind, spec, reported):
    wrong = list(validate_workload(workload(kind, **spec)))
    assert " ".join(path for path, _, _ in wrong) == reported
    assert all(message for _, message, _ in wrong)
