"""Deletions that a ValidatingAdmissionPolicy rejects are reported, and their pods stay."""

from __future__ import annotations

import warnings
from datetime import timedelta
from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.simulation.world.observers import KubernetesEvent
from podwright.simulation.world.world import World
from podwright.testing import make_node

LABELS = {"app": "web"}
LONG = {"annotations": {"pod-complete.stage.kwok.x-k8s.io/delay": "1h"}, "labels": LABELS}


def policy(operations: list[str], group: str, resource: str) -> list[Any]:
    rule = {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "operations": operations,
        "resources": [resource],
    }
    return [
        decode(
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingAdmissionPolicy",
                "metadata": {"name": "keep"},
                "spec": {
                    "failurePolicy": "Fail",
                    "matchConstraints": {"resourceRules": [rule]},
                    "validations": [{"expression": "false", "message": "it stays"}],
                },
            }
        ),
        decode(
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingAdmissionPolicyBinding",
                "metadata": {"name": "keep"},
                "spec": {"policyName": "keep", "validationActions": ["Deny"]},
            }
        ),
    ]


DENIED = "ValidatingAdmissionPolicy 'keep' with binding 'keep' denied request: it stays"


class Events:
    """Keeps the Events about one object."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[tuple[str, str]] = []

    def event_recorded(self, event: KubernetesEvent, now_ns: int) -> None:
        del now_ns
        if event.key.rpartition("/")[2] == self.name:
            self.lines.append((event.reason, event.note))


def workload(version: str, kind: str, **spec: Any) -> Any:
    template = {
        "metadata": LONG,
        "spec": {"containers": [{"name": "c", "image": "web:1"}], **spec.pop("pod", {})},
    }
    return decode(
        {
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"template": template, **spec},
        }
    )


def run_rejected(*objects: Any, changed: Any, rejects: list[Any]) -> tuple[World, Events]:
    """Run a workload, reject, and run it with another content; return its later Events."""
    events = Events("web")
    world = World(observers=[events])
    world.add(make_node("n1", cpu="8"), *objects)
    world.run(timedelta(seconds=30))
    events.lines.clear()
    world.add(*rejects)
    world.add(changed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*it stays", category=UserWarning)
        world.run(timedelta(seconds=30))
    return world, events


SELECTOR = {"matchLabels": LABELS}
NEVER = {"restartPolicy": "Never"}


@pytest.mark.parametrize(
    ("version", "kind", "before", "after", "note"),
    [
        ("v1", "ReplicationController", {"replicas": 1}, {"replicas": 0}, "Error deleting: "),
        (
            "apps/v1",
            "ReplicaSet",
            {"replicas": 1, "selector": SELECTOR},
            {"replicas": 0, "selector": SELECTOR},
            "Error deleting: ",
        ),
        (
            "apps/v1",
            "DaemonSet",
            {"selector": SELECTOR},
            {"selector": SELECTOR, "pod": {"nodeSelector": {"disk": "ssd"}}},
            "Error deleting: ",
        ),
        (
            "apps/v1",
            "StatefulSet",
            {"replicas": 1, "selector": SELECTOR},
            {"replicas": 0, "selector": SELECTOR},
            "Delete Pod web-0 in StatefulSet web failed error: ",
        ),
        (
            "batch/v1",
            "Job",
            {"pod": NEVER},
            {"pod": NEVER, "parallelism": 0},
            "Error deleting: ",
        ),
    ],
)
def test_a_pod_whose_deletion_is_rejected_stays_and_its_owner_reports_it(
    version, kind, before, after, note
):
    world, events = run_rejected(
        workload(version, kind, **before),
        changed=workload(version, kind, **after),
        rejects=policy(["DELETE"], "", "pods"),
    )
    (pod,) = world.store.list(("", "Pod")).objects
    assert pod.metadata.deletion_timestamp is None
    reported = [line for line in events.lines if "Delete" in line[0]]
    assert reported
    text = f'{note}pods "{pod.name}" is forbidden: {DENIED}'
    assert set(reported) == {("FailedDelete", text)}


@pytest.mark.parametrize(
    ("version", "kind", "selector"),
    [
        ("apps/v1", "ReplicaSet", {"selector": SELECTOR}),
        ("v1", "ReplicationController", {}),
    ],
)
def test_a_set_has_the_condition_of_a_rejected_deletion_until_it_succeeds(version, kind, selector):
    world, _ = run_rejected(
        workload(version, kind, replicas=1, **selector),
        changed=workload(version, kind, replicas=0, **selector),
        rejects=policy(["DELETE"], "", "pods"),
    )
    group = version.rpartition("/")[0]

    def conditions() -> list[Any]:
        (obj,) = world.store.list((group, kind)).objects
        found: list[Any] = obj.raw["status"].get("conditions", [])
        return found

    (condition,) = conditions()
    assert (condition["type"], condition["status"]) == ("ReplicaFailure", "True")
    assert condition["reason"] == "FailedDelete"
    assert condition["message"].startswith('unable to delete pods: pods "web-')
    binding = ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding")
    world.remove(*world.store.list(binding).objects)
    world.add(workload(version, kind, replicas=0, minReadySeconds=1, **selector))
    world.run(timedelta(seconds=60))
    assert conditions() == []
    assert world.store.list(("", "Pod")).objects == ()


def run_cron_job(operation: str) -> tuple[list[tuple[str, str]], Any]:
    """Return the Events and the status of a cron job that replaces jobs; one verb is rejected."""
    pod = {"containers": [{"name": "c", "image": "web:1"}], **NEVER}
    job = {"template": {"metadata": LONG, "spec": pod}}
    cron_job = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "schedule": "* * * * *",
            "concurrencyPolicy": "Replace",
            "jobTemplate": {"spec": job},
        },
    }
    events = Events("web")
    world = World(observers=[events])
    world.add(make_node("n1", cpu="8"), decode(cron_job), *policy([operation], "batch", "jobs"))
    world.run(timedelta(seconds=130))
    (found,) = world.store.list(("batch", "CronJob")).objects
    return events.lines, found.raw.get("status")


def test_a_cron_job_reports_a_job_whose_deletion_is_rejected():
    with pytest.warns(UserWarning, match="it stays"):
        lines, _ = run_cron_job("DELETE")
    reported = [line for line in lines if "Delete" in line[0]]
    assert reported
    assert {reason for reason, _ in reported} == {"FailedDelete"}
    assert all(note.startswith('Deleted job: jobs.batch "web-') for _, note in reported)
    assert all(note.endswith(DENIED) for _, note in reported)


def test_a_cron_job_whose_job_is_rejected_reports_no_success():
    reported, status = run_cron_job("CREATE")
    assert {reason for reason, _ in reported} == {"FailedCreate"}
    assert all(note.startswith('Error creating job: jobs.batch "web-') for _, note in reported)
    assert all(note.endswith(DENIED) for _, note in reported)

    assert "lastScheduleTime" not in (status or {}), "the time has not passed"


DEPLOYMENT = ("apps", "Deployment")


def conditions_of(world: World, kind: str) -> Any:
    """Return the status, reason and message of a condition of the deployment."""
    (found,) = world.store.list(DEPLOYMENT).objects
    return [
        (each["status"], each["reason"], each["message"])
        for each in found.raw["status"].get("conditions") or ()
        if each["type"] == kind
    ]


@pytest.mark.parametrize("strategy", ["RollingUpdate", "Recreate"])
def test_a_deployment_reports_a_replica_set_that_is_rejected_and_tries_again(strategy):
    events = Events("web")
    world = World(observers=[events])
    world.add(*policy(["CREATE"], "apps", "replicasets"), make_node("n1", cpu="8"))
    spec = {"selector": SELECTOR, "strategy": {"type": strategy}}
    world.add(workload("apps/v1", "Deployment", replicas=1, **spec))
    world.run(timedelta(seconds=30))
    ((reason, note),) = events.lines
    assert reason == "ReplicaSetCreateError"
    name = note.split('"')[1]
    assert note == (
        f'Failed to create new replica set "{name}": replicasets.apps "{name}" is forbidden:'
        f" {DENIED}"
    )
    assert conditions_of(world, "Progressing") == [("False", "ReplicaSetCreateError", note)]
    (deployment,) = world.store.list(DEPLOYMENT).objects
    assert set(deployment.raw["status"]) == {"conditions"}, "nothing else is counted"
    assert not deployment.metadata.annotations
    world.remove(*policy(["CREATE"], "apps", "replicasets")[1:])
    world.add(workload("apps/v1", "Deployment", replicas=2, **spec))
    world.run(timedelta(seconds=30))
    assert conditions_of(world, "Progressing")[0][:2] == ("True", "NewReplicaSetAvailable")
    assert events.lines[1:] == [
        ("ScalingReplicaSet", f"Scaled up replica set {name} from 0 to 2"),
    ]


@pytest.mark.parametrize("deadline", [600, 2147483647], ids=["a deadline", "no deadline"])
def test_a_rollout_whose_replica_set_is_rejected_changes_no_other(deadline):
    spec = {"replicas": 2, "selector": SELECTOR, "progressDeadlineSeconds": deadline}
    before = workload("apps/v1", "Deployment", **spec)
    after = workload("apps/v1", "Deployment", **spec, pod=NEVER | {"restartPolicy": "Always",
                     "hostname": "x"})  # fmt: skip
    rejects = policy(["CREATE"], "apps", "replicasets")
    world, events = run_rejected(before, changed=after, rejects=rejects)
    assert [reason for reason, _ in events.lines] == ["ReplicaSetCreateError"]
    expected = [("False", "ReplicaSetCreateError")] if deadline == 600 else []
    assert [each[:2] for each in conditions_of(world, "Progressing")] == expected
    (replica_set,) = world.store.list(("apps", "ReplicaSet")).objects
    assert replica_set.raw["spec"]["replicas"] == 2
    (deployment,) = world.store.list(DEPLOYMENT).objects
    assert deployment.metadata.annotations["deployment.kubernetes.io/revision"] == "1"


def test_a_stateful_set_whose_pod_is_rejected_reports_no_success():
    events = Events("web")
    world = World(observers=[events])
    world.add(*policy(["CREATE"], "", "pods"), make_node("n1", cpu="8"))
    world.add(workload("apps/v1", "StatefulSet", replicas=1, selector=SELECTOR))
    world.run(timedelta(seconds=30))
    assert {reason for reason, _ in events.lines} == {"FailedCreate"}


def test_a_stateful_set_whose_claim_is_rejected_has_no_pod():
    events = Events("web")
    world = World(observers=[events])
    size = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": size}
    claim = {"metadata": {"name": "data"}, "spec": spec}
    world.add(*policy(["CREATE"], "", "persistentvolumeclaims"), make_node("n1", cpu="8"))
    world.add(
        workload(
            "apps/v1", "StatefulSet", replicas=1, selector=SELECTOR, volumeClaimTemplates=[claim]
        )
    )
    world.run(timedelta(seconds=30))
    error = f'persistentvolumeclaims "data-web-0" is forbidden: {DENIED}'
    what = "Pod web-0 in StatefulSet web failed error:"
    assert events.lines == [
        ("FailedCreate", f"Create Claim data-web-0 for {what} {error}"),
        ("FailedCreate", f"Create {what} failed to create PVC data-web-0: {error}"),
    ]
    assert world.store.list(("", "Pod")).objects == ()
