"""Each request to the API: its effect, its rejections, and that a rejection writes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import InvalidObject, KubernetesObject, Pod, timestamp_text
from podwright.apimachinery.schema import decode
from podwright.cluster.api import (
    Api,
    ApplyObject,
    BindPod,
    CreateObject,
    DeleteObject,
    EvictPod,
    PatchObject,
    Reply,
    UpdateObject,
    WriteRequest,
)
from podwright.cluster.api.field_management import ComponentOwners, FieldManagement
from podwright.cluster.api.versions.resources import Resources
from podwright.cluster.store import (
    NAMESPACE,
    POD,
    GroupKind,
    ObjectStore,
)

SECOND = 1_000_000_000
NOW = 1_767_225_600 * SECOND  # 2026-01-01T00:00:00Z
USER = "test"
PDB: GroupKind = ("policy", "PodDisruptionBudget")
REPLICA_SET: GroupKind = ("apps", "ReplicaSet")


def an_object(kind: str, name: str, api: str = "v1", **sections: Any) -> KubernetesObject:
    metadata = {"name": name, "namespace": "default"} | sections.pop("metadata", {})
    return decode({"apiVersion": api, "kind": kind, "metadata": metadata, **sections})


def a_pod(name: str = "web", *, status: Any = None, metadata: Any = None, **spec: Any) -> Any:
    labels = {"labels": {"app": "web"}}
    spec = {"containers": [{"name": "main", "image": "app"}]} | spec
    metadata = labels | (metadata or {})
    return an_object("Pod", name, metadata=metadata, spec=spec, status=status or {})


def a_running_pod(name: str = "web", *, is_ready: bool = True) -> Any:
    conditions = [{"type": "Ready", "status": str(is_ready)}]
    return a_pod(name, status={"phase": "Running", "conditions": conditions}, nodeName="n1")


def a_replica_set(name: str = "rs", *, selects: str = "web", **metadata: Any) -> KubernetesObject:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "app"}]},
    }
    selector = {"matchLabels": {"app": selects}}
    spec = {"replicas": 1, "selector": selector, "template": template}
    return an_object("ReplicaSet", name, "apps/v1", metadata=metadata, spec=spec)


def a_budget(name: str = "budget", *, allowed: int = 1) -> KubernetesObject:
    status = {
        "disruptionsAllowed": allowed,
        "currentHealthy": 2,
        "desiredHealthy": 1,
        "expectedPods": 2,
        "observedGeneration": 1,
    }
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    return an_object("PodDisruptionBudget", name, "policy/v1", spec=spec, status=status)


def a_namespace(name: str, **metadata: Any) -> KubernetesObject:
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name} | metadata}
    return decode(document)


def an_api(*objects: KubernetesObject) -> Api:
    """Return an API with the namespace `default` and objects, all created through it."""
    api = Api(ObjectStore(seed=7))
    for obj in (a_namespace("default"), *objects):
        accepted(api, CreateObject(obj, USER))
    return api


def accepted(api: Api, request: WriteRequest, now_ns: int = NOW) -> Reply:
    """Execute a request that the API accepts."""
    reply = api.handle(request, USER, now_ns)
    reply.raise_for_error()
    assert reply.stored is not None
    return reply


def rejected(api: Api, request: WriteRequest) -> Any:
    """Execute a request that the API rejects, and check that it writes nothing."""
    before = everything(api)
    reply = api.handle(request, USER, NOW)
    assert reply.stored is None
    assert everything(api) == before
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the tests check the type
        reply.raise_for_error()
    assert caught.value is reply.error
    assert reply.error is not None
    return reply.error


def reason_of(error: Any) -> str:
    return "Invalid" if isinstance(error, InvalidObject) else error.reason


def everything(api: Api) -> tuple[int, dict[str, Any]]:
    """Return the version of the store and all its objects."""
    store = api.store
    objects = {f"{k} {obj.key}": obj.raw for k in store.kinds() for obj in store.list(k).objects}
    return store.resource_version, objects


def stored_pod(api: Api, name: str = "web") -> Pod:
    pod = api.store.get(POD, f"default/{name}")
    assert isinstance(pod, Pod)
    return pod


# ---------------------------------------------------------------------------------- create


def test_create_admits_and_stores_an_object():
    api = an_api()
    reply = accepted(api, CreateObject(a_pod(), USER))
    assert reply.stored is not None
    assert reply.stored.outcome == "created"
    pod = stored_pod(api)
    assert pod.uid
    assert pod.metadata.creation_timestamp == "2026-01-01T00:00:00Z"
    assert pod.raw["spec"]["restartPolicy"] == "Always"
    assert pod.status.phase == "Pending"


def test_a_pod_that_was_being_deleted_in_a_dump_is_not_when_it_is_created():
    api = an_api()
    time = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
    accepted(api, CreateObject(a_pod(metadata=time), USER))
    pod = stored_pod(api)
    assert pod.metadata.deletion_timestamp is None
    assert pod.raw["metadata"].keys().isdisjoint(time)


@pytest.mark.parametrize(
    ("obj", "reason"),
    [
        pytest.param(a_pod(), "AlreadyExists", id="the name is in use"),
        pytest.param(a_pod("b", priorityClassName="none"), "Forbidden", id="admission rejects it"),
        pytest.param(a_replica_set(selects="other"), "Invalid", id="validation rejects it"),
    ],
)
def test_create_rejects_what_cannot_be_stored(obj: KubernetesObject, reason: str):
    assert reason_of(rejected(an_api(a_pod()), CreateObject(obj, USER))) == reason


def test_create_rejects_objects_in_a_terminating_namespace():
    api = an_api()
    api.store.put(a_namespace("default", deletionTimestamp="2026-01-01T00:00:00Z"))
    error = rejected(api, CreateObject(a_pod(), USER))
    assert error.has_cause("NamespaceTerminating")
    assert str(error) == (
        'pods "web" is forbidden: unable to create new content in namespace default because it is'
        " being terminated"
    )


# ---------------------------------------------------------------------------------- update


def test_update_of_the_object_keeps_the_status():
    api = an_api(a_running_pod())
    body = a_pod(metadata={"labels": {"app": "api"}}, status={"phase": "Failed"}, nodeName="n1")
    accepted(api, UpdateObject(body, "main", USER))
    pod = stored_pod(api)
    assert (pod.metadata.labels, pod.status.phase) == ({"app": "api"}, "Running")


def test_update_of_the_status_keeps_the_spec():
    api = an_api(a_running_pod())
    accepted(api, UpdateObject(a_pod(status={"phase": "Failed"}), "status", USER))
    pod = stored_pod(api)
    assert (pod.spec.node_name, pod.status.phase) == ("n1", "Failed")


def test_update_that_changes_nothing_uses_no_version():
    api = an_api(a_pod())
    version = api.store.resource_version
    reply = accepted(api, UpdateObject(stored_pod(api), "main", USER))
    assert reply.stored is not None
    assert reply.stored.outcome == "unchanged"
    assert api.store.resource_version == version


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(a_pod("other"), "NotFound", id="the object does not exist"),
        pytest.param(a_pod(metadata={"uid": "another"}), "Conflict", id="the uid differs"),
        pytest.param(a_pod(metadata={"resourceVersion": "1"}), "Conflict", id="an old version"),
        pytest.param(a_replica_set(selects="other"), "Invalid", id="validation rejects it"),
    ],
)
def test_update_checks_preconditions_and_validates(body: KubernetesObject, reason: str):
    api = an_api(a_pod(), a_replica_set())
    assert reason_of(rejected(api, UpdateObject(body, "main", USER))) == reason


# ----------------------------------------------------------------------------------- apply


def test_apply_creates_the_namespace_and_the_object():
    api = an_api()
    accepted(api, ApplyObject(a_pod(metadata={"namespace": "new"}), "main", USER))
    namespace = api.store.get(NAMESPACE, "new")
    assert namespace is not None
    assert namespace.raw["status"] == {"phase": "Active"}
    assert namespace.metadata.labels == {"kubernetes.io/metadata.name": "new"}
    assert api.store.get(POD, "new/web") is not None


def test_apply_replaces_an_object_without_preconditions():
    api = an_api(a_pod())
    uid = stored_pod(api).uid
    other = {"labels": {"app": "api"}, "uid": "another", "resourceVersion": "99"}
    accepted(api, ApplyObject(a_pod(metadata=other), "main", USER))
    pod = stored_pod(api)
    assert (pod.uid, pod.metadata.labels) == (uid, {"app": "api"})


def test_apply_of_a_whole_object_keeps_its_uid_and_times():
    api = an_api()
    recorded = {"uid": "u1", "creationTimestamp": "2025-01-01T00:00:00Z", "resourceVersion": "5"}
    accepted(api, ApplyObject(a_pod(metadata=recorded), "whole", USER))
    pod = stored_pod(api)
    assert (pod.uid, pod.metadata.creation_timestamp) == ("u1", "2025-01-01T00:00:00Z")


def test_a_whole_object_that_no_server_has_written_is_created_now():
    api = an_api()
    accepted(api, ApplyObject(a_pod(metadata={"uid": "u1"}), "whole", USER))
    pod = stored_pod(api)
    assert (pod.uid, pod.metadata.creation_timestamp) == ("u1", timestamp_text(NOW))


@pytest.mark.parametrize(
    ("obj", "reason"),
    [
        pytest.param(a_replica_set(selects="other"), "Invalid", id="validation"),
        pytest.param(a_pod(priorityClassName="none"), "Forbidden", id="admission"),
        pytest.param(
            a_pod(metadata={"namespace": "new"}, priorityClassName="none"),
            "Forbidden",
            id="admission, before the namespace is created",
        ),
    ],
)
def test_apply_rejects_what_cannot_be_stored(obj: KubernetesObject, reason: str):
    assert reason_of(rejected(an_api(), ApplyObject(obj, "main", USER))) == reason


# ----------------------------------------------------------------------------------- patch


@pytest.mark.parametrize(
    ("patch", "labels"),
    [
        pytest.param({"b": "2"}, {"app": "web", "a": "1", "b": "2"}, id="a new field is added"),
        pytest.param({"a": "2"}, {"app": "web", "a": "2"}, id="a field is replaced"),
        pytest.param({"a": None}, {"app": "web"}, id="null removes a field"),
        pytest.param({"c": None}, {"app": "web", "a": "1"}, id="null of an absent field"),
        pytest.param({}, {"app": "web", "a": "1"}, id="an empty object changes nothing"),
        pytest.param(None, {}, id="null removes the whole object"),
    ],
)
def test_patch_merges_objects_recursively(patch: Any, labels: dict[str, str]):
    api = an_api(a_pod(metadata={"labels": {"app": "web", "a": "1"}}))
    accepted(api, PatchObject(POD, "default/web", {"metadata": {"labels": patch}}, USER))
    assert stored_pod(api).metadata.labels == labels


def test_patch_replaces_lists_as_a_whole():
    api = an_api(a_pod())
    for finalizers in (["example.com/a", "example.com/b"], ["example.com/c"]):
        patch = {"metadata": {"finalizers": finalizers}}
        accepted(api, PatchObject(POD, "default/web", patch, USER))
    assert stored_pod(api).metadata.finalizers == ("example.com/c",)


@pytest.mark.parametrize(
    ("kind", "key", "patch", "reason"),
    [
        pytest.param(POD, "default/none", {}, "NotFound", id="the object does not exist"),
        pytest.param(
            POD,
            "default/web",
            {"metadata": {"labels": 1}},
            "Invalid",
            id="the result is not a pod",
        ),
        pytest.param(
            REPLICA_SET,
            "default/rs",
            {"spec": {"selector": None}},
            "Invalid",
            id="validation rejects the result",
        ),
        pytest.param(
            POD,
            "default/web",
            {"metadata": {"resourceVersion": "1"}},
            "Conflict",
            id="the version in the patch is a precondition",
        ),
    ],
)
def test_patch_rejects_what_cannot_be_stored(kind: GroupKind, key: str, patch: Any, reason: str):
    api = an_api(a_pod(), a_replica_set())
    assert reason_of(rejected(api, PatchObject(kind, key, patch, USER))) == reason


# ----------------------------------------------------------------------------------- scale


def test_scale_sets_the_replicas_and_the_generation():
    api = an_api(a_replica_set())
    accepted(api, PatchObject(REPLICA_SET, "default/rs", {"spec": {"replicas": 3}}, USER))
    scaled = api.store.get(REPLICA_SET, "default/rs")
    assert scaled is not None
    assert scaled.raw["spec"]["replicas"] == 3
    assert scaled.metadata.generation == 2


@pytest.mark.parametrize(
    ("key", "replicas", "reason"),
    [
        pytest.param("default/none", 1, "NotFound", id="the object does not exist"),
        pytest.param("default/rs", -1, "Invalid", id="negative replicas"),
    ],
)
def test_scale_rejects_what_cannot_be_stored(key: str, replicas: int, reason: str):
    api = an_api(a_replica_set())
    patch = {"spec": {"replicas": replicas}}
    assert reason_of(rejected(api, PatchObject(REPLICA_SET, key, patch, USER))) == reason


# ---------------------------------------------------------------------------------- delete


def delete_of(name: str = "web", uid: str = "", grace_seconds: int | None = None) -> DeleteObject:
    return DeleteObject("", "Pod", f"default/{name}", uid, USER, grace_seconds)


def test_delete_removes_an_unbound_pod_at_once():
    api = an_api(a_pod())
    reply = accepted(api, delete_of())
    assert reply.stored is not None
    assert reply.stored.outcome == "deleted"
    assert api.store.get(POD, "default/web") is None


def test_delete_marks_a_bound_pod_until_its_grace_period_is_zero():
    api = an_api(a_running_pod())
    accepted(api, delete_of())
    metadata = stored_pod(api).metadata
    assert metadata.deletion_timestamp == "2026-01-01T00:00:30Z"
    assert metadata.deletion_grace_period_seconds == 30
    accepted(api, delete_of(grace_seconds=0))
    assert api.store.get(POD, "default/web") is None


def test_delete_keeps_an_object_until_its_last_finalizer_is_removed():
    api = an_api(a_replica_set(finalizers=["example.com/hold"]))
    accepted(api, DeleteObject("apps", "ReplicaSet", "default/rs", "", USER))
    marked = api.store.get(REPLICA_SET, "default/rs")
    assert marked is not None
    assert marked.metadata.deletion_timestamp == "2026-01-01T00:00:00Z"
    patch = {"metadata": {"finalizers": None}}
    accepted(api, PatchObject(REPLICA_SET, "default/rs", patch, USER))
    assert api.store.get(REPLICA_SET, "default/rs") is None


@pytest.mark.parametrize(
    ("propagation", "finalizers"),
    [
        pytest.param(None, ("orphan",), id="the default of the kind"),
        pytest.param("Foreground", ("foregroundDeletion",), id="as requested"),
        pytest.param("Background", None, id="in the background"),
    ],
)
def test_delete_of_a_job_keeps_its_pods_by_default(propagation: Any, finalizers: Any):
    template = {"spec": {"containers": [{"name": "c", "image": "app"}], "restartPolicy": "Never"}}
    api = an_api(an_object("Job", "job", "batch/v1", spec={"template": template}))
    kind = ("batch", "Job")
    accepted(api, DeleteObject(*kind, "default/job", "", USER, propagation=propagation))
    left = api.store.get(kind, "default/job")
    assert (None if left is None else left.metadata.finalizers) == finalizers


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        pytest.param(delete_of("none"), "NotFound", id="the pod does not exist"),
        pytest.param(delete_of(uid="another"), "Conflict", id="the uid differs"),
    ],
)
def test_delete_checks_its_preconditions(request_: DeleteObject, reason: str):
    assert reason_of(rejected(an_api(a_pod()), request_)) == reason


# ------------------------------------------------------------------------------------ bind


def test_bind_sets_the_node_and_the_condition():
    api = an_api(a_pod())
    uid = stored_pod(api).uid
    accepted(api, BindPod("default/web", "n1", uid, USER))
    pod = stored_pod(api)
    assert pod.spec.node_name == "n1"
    assert [(each.type, each.status) for each in pod.status.conditions] == [
        ("PodScheduled", "True")
    ]


@pytest.mark.parametrize(
    ("key", "uid", "reason", "message"),
    [
        pytest.param("default/none", "", "NotFound", "not found", id="the pod does not exist"),
        pytest.param(
            "default/web",
            "another",
            "Conflict",
            "UID in precondition",
            id="the uid differs",
        ),
        pytest.param(
            "default/bound", "", "Conflict", 'already assigned to node "n1"', id="bound already"
        ),
        pytest.param("default/ending", "", "Conflict", "is being deleted", id="terminating"),
        pytest.param(
            "default/gated",
            "",
            "Conflict",
            "non-empty .spec.schedulingGates",
            id="gates",
        ),
    ],
)
def test_bind_rejects_pods_that_cannot_be_bound(key: str, uid: str, reason: str, message: str):
    gated = a_pod("gated", schedulingGates=[{"name": "gate"}])
    ending = a_pod("ending", metadata={"finalizers": ["example.com/hold"]})
    api = an_api(a_pod(), a_running_pod("bound"), gated, ending)
    accepted(api, delete_of("ending"))
    found = rejected(api, BindPod(key, "n2", uid, USER))
    assert reason_of(found) == reason
    assert message in str(found)


# ----------------------------------------------------------------------------------- evict


def test_evict_uses_a_disruption_and_deletes_the_pod():
    api = an_api(a_running_pod(), a_budget())
    accepted(api, EvictPod("default/web", stored_pod(api).uid, USER))
    pod = stored_pod(api)
    assert pod.is_terminating
    (target,) = (each for each in pod.status.conditions if each.type == "DisruptionTarget")
    assert (target.status, target.reason) == ("True", "EvictionByEvictionAPI")
    budget = api.store.get(PDB, "default/budget")
    assert budget is not None
    assert budget.raw["status"]["disruptionsAllowed"] == 0
    assert budget.raw["status"]["disruptedPods"] == {"web": "2026-01-01T00:00:00Z"}


def test_the_server_owns_the_status_of_a_budget_that_an_eviction_charges():
    api = an_api(a_running_pod())
    resources = Resources()
    api.keep_owners(ComponentOwners(resources, FieldManagement(resources)))
    accepted(api, CreateObject(a_budget(), USER))
    accepted(api, EvictPod("default/web", "", USER))
    budget = api.store.get(PDB, "default/budget")
    assert budget is not None
    entries = {each["manager"]: each for each in budget.raw["metadata"]["managedFields"]}
    entry = entries["kube-apiserver"]
    assert entry["subresource"] == "status"
    assert "f:disruptionsAllowed" in entry["fieldsV1"]["f:status"]


def test_evict_without_a_budget_deletes_the_pod():
    api = an_api(a_running_pod())
    accepted(api, EvictPod("default/web", "", USER))
    assert stored_pod(api).is_terminating


@pytest.mark.parametrize(
    ("budgets", "code"),
    [
        pytest.param([a_budget(allowed=0)], 429, id="no disruption is allowed"),
        pytest.param([a_budget("a"), a_budget("b")], 500, id="several budgets select the pod"),
        pytest.param([a_budget(allowed=-1)], 403, id="the status of the budget is invalid"),
    ],
)
def test_evict_is_rejected_as_its_budgets_require(budgets: list[KubernetesObject], code: int):
    api = an_api(a_running_pod(), *budgets)
    error = rejected(api, EvictPod("default/web", "", USER))
    assert error.code == code
    assert error.about == tuple(each.name for each in budgets)


@pytest.mark.parametrize(
    ("key", "uid", "reason"),
    [
        pytest.param("default/none", "", "NotFound", id="the pod does not exist"),
        pytest.param("default/web", "another", "Conflict", id="the uid differs"),
    ],
)
def test_evict_checks_its_preconditions(key: str, uid: str, reason: str):
    api = an_api(a_running_pod())
    assert reason_of(rejected(api, EvictPod(key, uid, USER))) == reason


def test_the_budget_of_an_eviction_that_is_rejected_later_stays_charged():
    api = an_api(a_running_pod(), a_budget())
    error = api.handle(EvictPod("default/web", "another", USER), USER, NOW).error
    assert reason_of(error) == "Conflict"
    budget = api.store.get(PDB, "default/budget")
    assert budget is not None
    assert budget.raw["status"]["disruptionsAllowed"] == 0
    assert not stored_pod(api).is_terminating
