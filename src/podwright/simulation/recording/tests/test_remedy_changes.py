"""The requests of remedies: patches of owners, and what is deleted and created."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from podwright.apimachinery.objects import Object, Pod, encode, with_fields
from podwright.apimachinery.schema import decode
from podwright.cluster.controllers import expand
from podwright.cluster.store import kind_of
from podwright.scheduler.advice import Remedy
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.recording import RemedyRequests, remedy_changes
from podwright.simulation.recording.explanations.remedy_changes import (
    _command,
    _effect_of_template,
    _keeps_pod,
)
from podwright.testing import make_node, make_pod

Document = dict[str, Any]


def owner(kind: str, **spec: Any) -> Document:
    """Return a workload with one pod that requests more than the node has."""
    groups = {"Job": "batch", "CronJob": "batch", "Rollout": "example.com"}
    resources = {"requests": {"cpu": "9"}}
    template: Document = {
        "metadata": {"labels": {"app": "w"}},
        "spec": {
            "restartPolicy": "Never" if kind == "Job" else "Always",
            "containers": [
                {"name": "a", "image": "x", "command": ["run"], "resources": resources},
                {"name": "b", "image": "y"},
            ],
        },
    }
    own: Document = {} if kind == "Job" else {"selector": {"matchLabels": {"app": "w"}}}
    return {
        "apiVersion": f"{groups.get(kind, 'apps')}/v1",
        "kind": kind,
        "metadata": {"name": "w", "namespace": "shop"},
        "spec": {**own, "template": template, **spec},
    }


def requests_of(
    *given: Document | Object, begins: str = "reduce the cpu", left_out: tuple[str, ...] = ()
) -> RemedyRequests:
    """Return the requests of the remedy of the only pending pod, without some kinds of objects."""
    objects = [each if not isinstance(each, dict) else decode(each) for each in given]
    objects = [*objects, make_node("n", cpu="4")]
    objects = expand(objects).with_objects(objects)
    scheduler = Scheduler(SchedulerOptions())
    scheduler.add(*objects)
    (pod,) = scheduler.in_queue_order()
    by_key = {(kind_of(obj), obj.key): obj for obj in objects if obj.kind not in left_out}
    remedies = scheduler.remedies(scheduler.explain(pod.key))
    remedy = next(each for each in remedies if each.text.startswith(begins))
    return remedy_changes(remedy, lambda *each: by_key.get(each))


PATCH = (
    """kubectl patch {} w -n shop -p '{{"spec":{{"template":{{"spec":{{"containers":"""
    """[{{"name":"a","resources":{{"requests":{{"cpu":"4"}}}}}}]}}}}}}}}'"""
)


@pytest.mark.parametrize(
    ("kind", "spec", "deletes_pod"),
    [
        pytest.param("Deployment", {}, False, id="a rollout replaces the pods"),
        pytest.param("ReplicaSet", {}, True, id="a replica set keeps its pods"),
        pytest.param("StatefulSet", {"serviceName": "w"}, True, id="ordered pods wait"),
        pytest.param(
            "StatefulSet",
            {"serviceName": "w", "podManagementPolicy": "Parallel"},
            False,
            id="parallel pods are replaced",
        ),
        pytest.param(
            "DaemonSet", {"updateStrategy": {"type": "OnDelete"}}, True, id="replaced on deletion"
        ),
    ],
)
def test_the_template_of_the_top_owner_is_patched(kind, spec, deletes_pod):
    found = requests_of(owner(kind, **spec))
    assert found.changes is not None, found.note
    assert [(each.action, each.kind) for each in found.changes] == [
        ("patch", kind),
        *([("delete", "Pod")] if deletes_pod else []),
    ]
    first, *others = found.changes
    assert [each.command for each in others] == [
        f"kubectl delete pod {each.name} -n shop" for each in others
    ]
    assert first.command == PATCH.format(kind.lower())
    assert first.body is not None
    (container, other) = first.body["spec"]["template"]["spec"]["containers"]
    assert (container["command"], other["name"]) == (["run"], "b")
    assert f"changes the pod template of {kind} shop/w" in first.effect


def test_a_job_is_deleted_and_created_without_what_the_server_generated():
    found = requests_of(owner("Job"))
    assert found.changes is not None, found.note
    (change,) = found.changes
    assert (change.action, change.kind) == ("replace", "Job")
    assert "deletes Job shop/w with its pods" in change.effect
    assert change.body is not None
    assert "selector" not in change.body["spec"]
    container = change.body["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["requests"] == {"cpu": "4"}
    words = shlex.split(change.command)
    assert words[-4:] == ["replace", "--force", "-f", "-"]
    patch = json.loads(words[words.index("-p") + 1])
    labels = dict.fromkeys(
        ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid",
         "batch.kubernetes.io/job-name")
    )  # fmt: skip
    assert patch["metadata"] == patch["spec"]["template"]["metadata"] == {"labels": labels}
    assert patch["spec"]["selector"] is None


def pending_job_of(cron_job: Document) -> list[Document]:
    job = owner("Job")
    references = [reference_to("CronJob", "batch/v1")]
    job["metadata"] = {"name": "w-1", "namespace": "shop", "ownerReferences": references}
    return [cron_job, job]


def reference_to(kind: str, api_version: str) -> Document:
    return {"apiVersion": api_version, "kind": kind, "name": "w", "uid": "u", "controller": True}


def test_a_rollout_of_a_paused_deployment_waits_until_it_is_resumed():
    replica_set = owner("ReplicaSet")
    references = [reference_to("Deployment", "apps/v1")]
    replica_set["metadata"] = {"name": "w-1", "namespace": "shop", "ownerReferences": references}
    found = requests_of(owner("Deployment", paused=True), replica_set)
    assert found.changes is not None, found.note
    assert found.changes[0].effect.endswith(
        "which is paused: its pods are replaced after `kubectl rollout resume deployment w -n shop`"
    )


def test_a_cron_job_is_patched_and_its_job_is_created_again():
    cron_job = owner("CronJob")
    template = owner("Job")["spec"]["template"]
    cron_job["spec"] = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template}}}
    found = requests_of(*pending_job_of(cron_job))
    assert found.changes is not None, found.note
    assert [(each.action, each.kind) for each in found.changes] == [
        ("patch", "CronJob"),
        ("replace", "Job"),
    ]
    assert found.changes[0].effect == (
        "changes the pod template of CronJob shop/w, for its next Jobs"
    )


def test_without_the_owner_the_template_to_change_is_named():
    found = requests_of(owner("Deployment"), left_out=("Deployment", "ReplicaSet"))
    assert found == (None, "change the pod template of Deployment shop/w, which is not known here")


def test_without_its_replica_set_the_deployment_is_found():
    found = requests_of(owner("Deployment"), left_out=("ReplicaSet",))
    assert found.changes is not None, found.note
    assert [each.kind for each in found.changes] == ["Deployment"]


def owned_by(pod: Pod, kind: str, api_version: str = "example.com/v1") -> Document:
    document = encode(pod)
    references = [reference_to(kind, api_version)]
    return {**document, "metadata": {**document["metadata"], "ownerReferences": references}}


def test_an_owner_of_an_unknown_kind_is_named():
    pod = owned_by(make_pod("p", namespace="shop", cpu="9"), "Rollout")
    found = requests_of(owner("Rollout"), pod)
    assert found == (None, "Rollout shop/w controls the pod: make the change there")


def test_what_the_template_does_not_have_is_not_changed_there():
    selecting = make_pod("p", namespace="shop", node_selector={"disk": "ssd"})
    pod = owned_by(selecting, "ReplicaSet", "apps/v1")
    found = requests_of(owner("ReplicaSet", replicas=1), pod, begins="remove disk=ssd")
    assert found == (None, "the pod template of ReplicaSet shop/w does not have what would change")


def test_a_change_of_a_template_that_kube_apiserver_refuses_is_not_made():
    def relabeled(pod: Pod) -> Pod:
        return with_fields(pod, "metadata", labels={"app": "v"})

    deployment = decode(owner("Deployment"))
    objects = expand([deployment]).with_objects([deployment])
    by_key = {(kind_of(obj), obj.key): obj for obj in objects}
    pod = relabeled(next(obj for obj in objects if isinstance(obj, Pod)))
    remedy = Remedy(text="", edits=(), node="", node_count=0, pod=pod, pod_edits=(relabeled,))
    assert remedy_changes(remedy, lambda *each: by_key.get(each)) == (
        None,
        "kube-apiserver refuses the change of Deployment shop/w: spec.template.metadata.labels:"
        """ Invalid value: {"app":"v"}: `selector` does not match template `labels`""",
    )


def test_requests_that_a_limit_range_set_are_set_in_the_template():
    replica_set = owner("ReplicaSet", replicas=1)
    for container in replica_set["spec"]["template"]["spec"]["containers"]:
        container.pop("resources", None)
    (container, _) = replica_set["spec"]["template"]["spec"]["containers"]
    pod = owned_by(make_pod("p", namespace="shop", cpu="9"), "ReplicaSet", "apps/v1")
    pod["spec"]["containers"][0]["name"] = container["name"]
    found = requests_of(replica_set, pod)
    assert found.changes is not None, found.note
    assert found.changes[0].command == PATCH.format("replicaset")


def test_what_is_created_is_written_into_the_command():
    claim = decode(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "it's", "namespace": "shop"},
        }
    )
    body = {"kind": "PersistentVolumeClaim", "metadata": {"name": "it's"}}
    assert _command("delete", claim, None, None) == (
        "kubectl delete persistentvolumeclaim it's -n shop"
    )
    words = shlex.split(_command("create", claim, body, None))
    assert (words[0], json.loads(words[1])) == ("echo", body)
    assert words[2:] == ["|", "kubectl", "create", "-f", "-"]


def test_gates_are_removed_from_the_pod_itself():
    pod = owned_by(make_pod("p", namespace="shop"), "ReplicaSet", "apps/v1")
    pod["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
    found = requests_of(owner("ReplicaSet", replicas=1), pod, begins="remove the scheduling gate")
    assert found.changes is not None, found.note
    assert [(each.action, each.kind) for each in found.changes] == [("patch", "Pod")]


def test_a_pod_that_is_replaced_has_no_requirements_that_keys_of_labels_stand_for():
    """A pod whose selector requires the label of such a key already would be invalid."""

    def spread(*expressions: Document) -> Document:
        return {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchExpressions": [*expressions]},
            "matchLabelKeys": ["rev"],
        }

    added = {"key": "rev", "operator": "In", "values": ["7"]}
    spec = {"topologySpreadConstraints": [spread(added)]}
    found = requests_of(make_pod("p", cpu="9", labels={"rev": "7"}, spec=spec))
    assert found.changes is not None, found.note
    (change,) = found.changes
    assert change.action == "replace"
    assert change.body is not None
    assert change.body["spec"]["topologySpreadConstraints"] == [spread()]
    words = shlex.split(change.command)
    (patch,) = (json.loads(word) for word in words if word.startswith("{"))
    (constraint,) = patch["spec"]["topologySpreadConstraints"]
    assert constraint["labelSelector"] == {"matchExpressions": []}


def test_a_pod_alone_is_patched_if_kube_apiserver_accepts_that_and_replaced_if_not():
    pod = encode(make_pod("p", namespace="shop", cpu="9"))
    found = requests_of(pod)
    assert found.changes is not None, found.note
    assert [each.action for each in found.changes] == ["replace"]
    assert found.changes[0].effect == "deletes pod shop/p, and creates it with the change"
    assert found.changes[0].body is not None
    (container,) = found.changes[0].body["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "4"}
    taint = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
    node = {**encode(make_node("tainted", cpu="16")), "spec": {"taints": [taint]}}
    found = requests_of(pod, node, begins="add a toleration")
    assert found.changes is not None, found.note
    assert [each.action for each in found.changes] == ["patch"]


def test_a_node_that_is_there_is_patched_to_what_it_has_after_the_change():
    node = {**encode(make_node("closed", cpu="16")), "spec": {"unschedulable": True}}
    found = requests_of(make_pod("p", cpu="9"), node, begins="uncordon node closed")
    assert found.changes is not None, found.note
    assert [(each.action, each.body) for each in found.changes] == [
        ("patch", {"spec": {"unschedulable": None}})
    ]


def test_what_new_machines_publish_is_created_by_no_command():
    csi_node = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "n"}}
    drivers = {"drivers": [{"name": "d", "nodeID": "n"}]}
    found = requests_of(
        make_pod("p", cpu="1"), make_pod("q", cpu="4", node="n"), csi_node | {"spec": drivers},
        begins="add a node like n",
    )  # fmt: skip
    assert found.changes is not None, found.note
    assert [(each.kind, each.command) for each in found.changes] == [("Node", ""), ("CSINode", "")]


def test_fewer_replicas_are_a_scale_of_the_owner():
    workload = owner("Deployment", replicas=2)
    workload["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
    objects = [decode(workload), make_node("n", cpu="4")]
    objects = expand(objects).with_objects(objects)
    scheduler = Scheduler(SchedulerOptions())
    scheduler.add(*objects)
    list(scheduler.schedule_all())
    pod = make_pod("p", namespace="shop", cpu="2")
    scheduler.add(pod)
    remedies = scheduler.remedies(scheduler.explain(pod.key))
    remedy = next(each for each in remedies if each.text.startswith("reduce replicas"))
    by_key = {(kind_of(obj), obj.key): obj for obj in (*objects, pod)}
    found = remedy_changes(remedy, lambda *each: by_key.get(each))
    assert found.changes is not None, found.note
    (change,) = found.changes
    assert change.command == "kubectl scale deployment w -n shop --replicas=1"
    assert (change.action, change.kind) == ("patch", "Deployment")
    assert change.body == {"spec": {"replicas": 1}}
    del by_key[("apps", "Deployment"), "shop/w"]
    found = remedy_changes(remedy, lambda *each: by_key.get(each))
    assert found.note == "change the replicas of Deployment shop/w, which is not known here"


@pytest.mark.parametrize(("kind", "spec", "effect", "keeps_pod"), [
    ("StatefulSet", {}, "a rollout replaces its pods", True),
    ("StatefulSet", {"podManagementPolicy": "OrderedReady"}, "a rollout replaces its pods", True),
    ("StatefulSet", {"podManagementPolicy": "Parallel"}, "a rollout replaces its pods", False),
    ("StatefulSet", {"podManagementPolicy": "Parallel", "updateStrategy": {"type": "OnDelete"}},
     "for new pods", True),
    ("DaemonSet", {}, "a rollout replaces its pods", False),
    ("DaemonSet", None, "a rollout replaces its pods", False),
    ("StatefulSet", None, "a rollout replaces its pods", True),
    ("DaemonSet", {"updateStrategy": {"type": "OnDelete"}}, "for new pods", True),
    ("DaemonSet", {"updateStrategy": {"type": "RollingUpdate"}}, "a rollout replaces its pods",
     False),
    ("ReplicaSet", {}, "for new pods", True),
    ("ReplicationController", {}, "for new pods", True),
    ("Deployment", {}, "a rollout replaces its pods", False),
    ("Deployment", {"paused": False}, "a rollout replaces its pods", False),
])  # fmt: skip
def test_which_controllers_replace_a_pending_pod_after_a_change(kind, spec, effect, keeps_pod):
    groups = {"ReplicationController": "v1"}
    manifest = {
        "apiVersion": groups.get(kind, "apps/v1"),
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": spec,
    }
    changed = decode(manifest)
    assert _keeps_pod(changed) is keeps_pod
    text = f"changes the pod template of {kind} shop/web"
    between = ", " if effect == "for new pods" else ": "
    assert _effect_of_template(changed) == f"{text}{between}{effect}"
