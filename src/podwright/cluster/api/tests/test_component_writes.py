"""Writes of components, of manifests and of records: their stages, and the whole stored objects."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document, KubernetesObject, Pod
from podwright.apimachinery.schema import decode
from podwright.cluster.api import (
    Api,
    ApplyObject,
    BindPod,
    CreateObject,
    DeleteObject,
    PatchObject,
    Reply,
    UpdateObject,
)
from podwright.cluster.api.pipeline import BARE, SERVED, SIMULATED, route
from podwright.cluster.api.stages.draft_admission import Admission
from podwright.cluster.api.stages.kinds.service_allocation import ServiceAllocations
from podwright.cluster.api.stages.write import DraftWrite
from podwright.cluster.store import POD, ObjectStore

NOW_NS, NOW = 1_767_225_600 * 1_000_000_000, "2026-01-01T00:00:00Z"
USER = "tests"

SENT = {
    "create": "set_metadata own admit refuse_escalation prepare_new check_new allocate warn"
    " check_sent_version authorize_creation admit_valid encode create",
    "update": "keep_distinct_owners own admit refuse_escalation prepare_change check_change"
    " allocate warn admit_valid encode replace",
    "bind": "admit read_binding admit_valid check_name find check_binding bind",
    "evict": "admit admit_valid check_name find charge_budget announce_eviction read_options"
    " check_deletion delete",
    "delete": "find check_deletion admit_deletion delete",
    "restore": "make_namespace restore",
}
OTHERS = {
    "create draft": "complete_new admit prepare_draft read_draft check_draft {own_draft"
    " allocate_draft} admit_valid create",
    "create applied": "make_namespace complete_new admit prepare_draft read_draft check_draft"
    " {own_draft allocate_draft} admit_valid create",
    "create recorded": "make_namespace complete_new admit prepare_draft read_draft admit_valid"
    " create",
    "create status": "create",
    "create complete": "create",
    "update draft": "complete_change admit read_draft {check_before_allocation allocate_draft}"
    " admit_valid merge",
    "update applied": "make_namespace complete_applied check_draft {allocate_draft} merge",
    "update recorded": "make_namespace complete_recorded merge",
    "update status": "{form_conditions} merge",
    "update complete": "replace",
    "bind": "find check_binding bind",
    "evict": "find charge_budget announce_eviction read_options check_deletion delete",
    "delete": "find check_deletion admit_deletion delete",
    "restore": "make_namespace restore",
}
"""By verb and form, with the stages of a served cluster in braces."""


@pytest.mark.parametrize("profile", [BARE, SIMULATED, SERVED], ids=lambda each: each.name)
def test_the_stages_of_each_write(profile: Any) -> None:
    verbs: tuple[Any, ...] = ("create", "update", "bind", "evict", "delete", "restore")
    forms: tuple[Any, ...] = ("sent", "draft", "status", "applied", "recorded", "complete")
    for verb in verbs:
        for form in forms:
            text = SENT[verb] if form == "sent" else OTHERS.get(f"{verb} {form}") or OTHERS[verb]
            start, _, rest = text.partition("{")
            inner, _, end = rest.partition("}")
            stages = f"{start}{inner if profile is SERVED else ''}{end}".split()
            found = [stage.__name__ for stage in route(profile, verb, form)]
            assert found == stages, (profile.name, verb, form)


def test_what_a_served_cluster_does_differently() -> None:
    assert SERVED.added_plugins == ("ServiceAccount",)
    for profile in (BARE, SIMULATED):
        assert profile.added_plugins == ()
        assert not any(
            getattr(profile, name)
            for name in ("keeps_fields", "allocates", "labels_pods", "limits_sizes", "in_go_form")
        )
    assert all(
        getattr(SERVED, name)
        for name in ("keeps_fields", "allocates", "labels_pods", "limits_sizes", "in_go_form")
    )


# --------------------------------------------------------------------------- whole objects


def an_object(kind: str, name: str, **parts: Any) -> KubernetesObject:
    version, _, kind = kind.partition(" ")
    metadata = {"name": name, "namespace": "default"} | parts.pop("metadata", {})
    return decode({"apiVersion": version, "kind": kind, "metadata": metadata} | parts)


def stored(reply: Reply) -> Document:
    """Return a stored object without its uid, which is drawn."""
    assert reply.error is None, reply.error
    assert reply.stored is not None
    document = dict(reply.stored.object.raw)
    document["metadata"] = {k: v for k, v in document["metadata"].items() if k != "uid"}
    return document


def create(api: Api, obj: KubernetesObject) -> Document:
    return stored(api.handle(CreateObject(obj, USER), USER, NOW_NS))


def apply(api: Api, obj: KubernetesObject, scope: Any = "main") -> Document:
    return stored(api.handle(ApplyObject(obj, scope, USER), USER, NOW_NS))


def update(api: Api, obj: KubernetesObject, scope: Any = "main") -> Document:
    return stored(api.handle(UpdateObject(obj, scope, USER), USER, NOW_NS))


TEMPLATE: Document = {
    "metadata": {"labels": {"a": "1"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
SELECTOR: Document = {"matchLabels": {"a": "1"}}


def deployment(replicas: int = 1, **more: Any) -> KubernetesObject:
    spec = {"replicas": replicas, "selector": SELECTOR, "template": TEMPLATE}
    return an_object("apps/v1 Deployment", "d", spec=spec, **more)


def test_a_new_and_a_changed_object_have_defaults() -> None:
    api = Api(ObjectStore())
    made = create(api, deployment(status={"replicas": 5}))
    assert made["metadata"] == {
        "name": "d", "namespace": "default", "resourceVersion": "2", "creationTimestamp": NOW,
        "generation": 1,
    }  # fmt: skip
    assert made["status"] == {"replicas": 5}
    assert made["spec"]["progressDeadlineSeconds"] == 600
    assert made["spec"]["strategy"]["type"] == "RollingUpdate"
    assert made["spec"]["template"]["spec"]["restartPolicy"] == "Always"
    # The changed spec is completed, too; what is the stored spec is not.
    changed = update(api, deployment(2))
    assert changed["spec"] == made["spec"] | {"replicas": 2}
    assert changed["metadata"]["generation"] == 2
    with_status = update(api, deployment(2, status={"replicas": 9}))
    assert with_status["status"] == {"replicas": 5}
    status = update(api, deployment(7, status={"replicas": 3}), "status")
    assert status["status"] == {"replicas": 3}
    assert status["spec"] == changed["spec"]
    assert status["metadata"]["generation"] == 2
    whole = update(api, deployment(4, status={"replicas": 6}), "whole")
    assert (whole["spec"]["replicas"], whole["status"]) == (4, {"replicas": 6})
    assert whole["metadata"]["generation"] == 3


def test_a_manifest_keeps_the_fields_of_others_and_makes_its_namespace() -> None:
    api = Api(ObjectStore())
    where: dict[str, Any] = {"metadata": {"namespace": "new", "labels": {"x": "1"}}}
    made = apply(api, deployment(**where))
    assert (made["metadata"]["namespace"], made["metadata"]["generation"]) == ("new", 1)
    namespace = api.store.require(("", "Namespace"), "new").raw
    assert namespace["spec"] == {"finalizers": ["kubernetes"]}
    status: dict[str, Any] = {"status": {"replicas": 2}}
    update(api, deployment(**where, **status), "status")
    again = apply(api, deployment(3, **where))
    assert again["spec"]["replicas"] == 3
    assert again["spec"]["progressDeadlineSeconds"] == 600
    assert again["status"] == {"replicas": 2}
    assert again["metadata"]["labels"] == {"x": "1"}
    assert again["metadata"]["generation"] == 2
    # The uid and the version of a manifest are those of another object.
    other = {"metadata": where["metadata"] | {"uid": "x", "resourceVersion": "999"}}
    applied = api.handle(ApplyObject(deployment(4, **other), "main", USER), USER, NOW_NS)
    assert applied.error is None
    assert applied.stored is not None
    assert applied.stored.object.uid not in ("", "x")


def test_a_rejected_manifest_leaves_no_namespace_behind() -> None:
    api = Api(ObjectStore())
    bad = an_object("apps/v1 Deployment", "d", metadata={"namespace": "new"}, spec={"replicas": -1})
    reply = api.handle(ApplyObject(bad, "main", USER), USER, NOW_NS)
    assert reply.error is not None
    assert api.store.get(("", "Namespace"), "new") is None
    recorded = api.handle(ApplyObject(bad, "whole", USER), USER, NOW_NS)
    assert recorded.error is None  # its server has validated it
    assert api.store.get(("", "Namespace"), "new") is not None


@pytest.mark.parametrize("scope", ["main", "status"])
def test_an_applied_object_is_new_or_checked_whatever_part_it_replaces(scope: Any) -> None:
    api = Api(ObjectStore())
    made = apply(api, deployment(), scope)
    assert made["spec"]["progressDeadlineSeconds"] == 600
    bad = api.handle(ApplyObject(deployment(-1), scope, USER), USER, NOW_NS)
    assert "spec.replicas: Invalid value" in str(bad.error)
    unchecked = api.handle(UpdateObject(deployment(-1), "status", USER), USER, NOW_NS)
    assert unchecked.error is None


def test_a_recorded_object_keeps_what_its_server_has_set() -> None:
    api = Api(ObjectStore())
    metadata = {
        "uid": "u", "creationTimestamp": "2020-01-01T00:00:00Z", "generation": 7,
        "annotations": {"a": "b"},
    }  # fmt: skip
    made = apply(api, deployment(metadata=metadata, status={"replicas": 3}), "whole")
    assert made["metadata"]["creationTimestamp"] == "2020-01-01T00:00:00Z"
    assert made["metadata"]["generation"] == 7
    assert made["status"] == {"replicas": 3}
    assert api.store.require(("apps", "Deployment"), "default/d").uid == "u"
    changed = apply(api, deployment(2, metadata=metadata, status={"replicas": 4}), "whole")
    assert changed["status"] == {"replicas": 4}
    assert changed["spec"]["replicas"] == 2
    # One without a uid is a new object.
    fresh = apply(Api(ObjectStore()), deployment(status={"replicas": 3}), "whole")
    assert fresh["metadata"]["creationTimestamp"] == NOW
    assert fresh["metadata"]["generation"] == 1
    assert fresh["status"] == {"replicas": 3}


def test_an_object_of_a_file_that_no_server_wrote_is_created_now() -> None:
    api = Api(ObjectStore())
    made = apply(api, deployment(metadata={"uid": "u"}), "whole")
    assert made["metadata"]["creationTimestamp"] == NOW


GENERATION = "deprecated.daemonset.template.generation"


def test_the_annotations_of_a_record_stay() -> None:
    spec = {"selector": SELECTOR, "template": TEMPLATE}
    for given, kept in (
        ({GENERATION: "5", "a": "b"}, {GENERATION: "5", "a": "b"}),
        ({"a": "b"}, {GENERATION: "1", "a": "b"}),
        ({}, {GENERATION: "1"}),
    ):
        metadata = {"annotations": given} if given else {}
        made = create(
            Api(ObjectStore()), an_object("apps/v1 DaemonSet", "s", spec=spec, metadata=metadata)
        )
        assert made["metadata"]["annotations"] == kept


def test_a_volume_of_a_record_gets_its_finalizer_once() -> None:
    for name, kind, own in (
        ("v", "v1 PersistentVolume", "kubernetes.io/pv-protection"),
        ("c", "v1 PersistentVolumeClaim", "kubernetes.io/pvc-protection"),
    ):
        for present, kept in (([], [own]), ([own], [own]), (["x"], ["x", own])):
            metadata: Document = {"uid": "u", "finalizers": present}
            if name == "v":
                metadata["namespace"] = ""
            obj = an_object(kind, name, metadata=metadata)
            assert apply(Api(ObjectStore()), obj, "whole")["metadata"]["finalizers"] == kept


# ------------------------------------------------------------------------------------ pods


def a_pod(name: str = "p", **parts: Any) -> Pod:
    spec = {"containers": [{"name": "c", "image": "i:1"}]} | parts.pop("spec", {})
    made = an_object("v1 Pod", name, spec=spec, **parts)
    assert isinstance(made, Pod)
    return made


def test_a_pod_of_a_component_as_it_is_stored() -> None:
    made = create(Api(ObjectStore()), a_pod(metadata={"labels": {"a": "1"}}))
    tolerations = [
        {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": "NoExecute",
         "tolerationSeconds": 300}
        for name in ("not-ready", "unreachable")
    ]  # fmt: skip
    assert made == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p", "namespace": "default", "labels": {"a": "1"}, "resourceVersion": "2",
            "creationTimestamp": NOW, "generation": 1,
        },
        "spec": {
            "containers": [
                {
                    "name": "c", "image": "i:1", "imagePullPolicy": "IfNotPresent",
                    "resources": {}, "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                }
            ],
            "dnsPolicy": "ClusterFirst",
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "terminationGracePeriodSeconds": 30,
            "tolerations": tolerations,
        },
        "status": {"phase": "Pending", "qosClass": "BestEffort"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "made"),
    [
        ({}, {"phase": "Pending", "qosClass": "BestEffort"}),
        ({"phase": "Running"}, {"phase": "Running"}),
        (
            {"podIP": "10.0.0.1", "hostIP": "", "message": None},
            {"phase": "Pending", "qosClass": "BestEffort", "podIP": "10.0.0.1"},
        ),
        (
            {"conditions": [{"type": "X", "status": "True"}]},
            {"phase": "Pending", "qosClass": "BestEffort",
             "conditions": [{"type": "X", "status": "True"}]},
        ),
    ],
)  # fmt: skip
def test_the_status_of_a_new_pod(status: Document, made: Document) -> None:
    api = Api(ObjectStore())
    assert create(api, a_pod(status=status))["status"] == made
    pod = api.store.require(POD, "default/p")
    assert isinstance(pod, Pod)
    assert pod.status.phase == made["phase"]
    assert [each.type for each in pod.status.conditions] == [
        each["type"] for each in made.get("conditions", ())
    ]


def test_a_pod_that_was_being_deleted_is_new() -> None:
    metadata = {"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 5}
    made = create(Api(ObjectStore()), a_pod(metadata=metadata))
    assert made["metadata"].keys().isdisjoint(metadata)


def test_a_complete_pod_of_a_record_is_not_admitted_again() -> None:
    spec = {"schedulerName": "default-scheduler", "priority": 0}
    status = {"phase": "Running", "qosClass": "BestEffort"}
    complete: Document = {"metadata": {"uid": "u"}, "spec": spec, "status": status}
    full = a_pod(**complete)
    made = apply(Api(ObjectStore()), full, "whole")
    assert "tolerations" not in made["spec"]
    for lack in ("uid", "phase", "qosClass", "schedulerName", "priority"):
        parts: dict[str, Any] = {
            name: {key: value for key, value in part.items() if key != lack}
            for name, part in complete.items()
        }
        made = apply(Api(ObjectStore()), a_pod(**parts), "whole")
        assert len(made["spec"]["tolerations"]) == 2, lack


def test_pods_of_one_template_share_their_spec_until_admission_depends_on_more() -> None:
    """Accounts, limit ranges, standards and policies of a namespace are those of its pods."""
    store = ObjectStore()
    api = Api(store)
    template = a_pod("t").raw["spec"]

    def made(name: str, namespace: str = "default") -> Document:
        metadata = {"name": name, "namespace": namespace}
        obj = decode({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template})
        return create(api, obj)

    first, second = made("a"), made("b")
    assert first["spec"] == second["spec"]
    limits = {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}
    create(api, an_object("v1 LimitRange", "l", spec=limits))
    limited, other = made("c"), made("d", "other")
    assert limited["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1"}
    assert other["spec"]["containers"][0]["resources"] == {}
    reply = api.handle(DeleteObject("", "LimitRange", "default/l", "", USER), USER, NOW_NS)
    assert reply.error is None
    assert made("e")["spec"]["containers"][0]["resources"] == {}
    store.put(
        decode({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": {"name": "k"}, "value": 7, "globalDefault": True})
    )  # fmt: skip
    assert made("f")["spec"]["priority"] == 7


def test_a_namespace_with_standards_admits_by_the_whole_pod() -> None:
    api = Api(ObjectStore())
    key = "pod-security.kubernetes.io/enforce"
    namespace = decode(
        {"apiVersion": "v1", "kind": "Namespace",
         "metadata": {"name": "strict", "labels": {key: "baseline"}}}
    )  # fmt: skip
    create(api, namespace)
    host = {"hostNetwork": True}
    assert create(api, a_pod("a", spec=host))["spec"]["hostNetwork"] is True
    strict = {"metadata": {"namespace": "strict"}, "spec": host}
    reply = api.handle(CreateObject(a_pod("b", **strict), USER), USER, NOW_NS)
    assert reply.error is not None
    assert "violates PodSecurity" in str(reply.error)


def test_nothing_is_created_in_a_terminating_namespace() -> None:
    api = Api(ObjectStore())
    api.store.put(
        decode({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": "default", "deletionTimestamp": NOW}})
    )  # fmt: skip
    for obj, name in ((a_pod(), 'pods "p"'), (deployment(), 'deployments.apps "d"')):
        reply = api.handle(CreateObject(obj, USER), USER, NOW_NS)
        assert str(reply.error) == (
            f"{name} is forbidden: unable to create new content in namespace default because it is"
            " being terminated"
        )


def test_a_changed_pod_keeps_its_admitted_spec() -> None:
    api = Api(ObjectStore())
    create(api, a_pod())
    pod = api.store.require(POD, "default/p")
    labeled = decode(pod.raw | {"metadata": pod.raw["metadata"] | {"labels": {"a": "1"}}})
    assert update(api, labeled)["spec"] == pod.raw["spec"]
    sent = a_pod(metadata={"labels": {"a": "2"}})
    assert update(api, sent)["spec"] == pod.raw["spec"]


# ---------------------------------------------------------------------- policies, deletions


def forbid(api: Api, expression: str, *operations: str, resources: str = "pods") -> None:
    group = "admissionregistration.k8s.io/v1"
    rule = {
        "apiGroups": ["*"], "apiVersions": ["*"], "operations": list(operations),
        "resources": [resources],
    }  # fmt: skip
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression, "message": "no"}],
    }
    binding = {"policyName": "x", "validationActions": ["Deny"]}
    for kind, part in (("", spec), ("Binding", binding)):
        name = f"{group} ValidatingAdmissionPolicy{kind}"
        obj = an_object(name, "x", spec=part, metadata={"namespace": ""})
        api.store.put(obj)


def test_policies_see_changes_and_deletions_of_components() -> None:
    api = Api(ObjectStore())
    create(api, a_pod())
    create(api, an_object("v1 ConfigMap", "m", data={"a": "1"}))
    forbid(api, "object.data['a'] != '2'", "UPDATE", resources="configmaps")
    allowed = update(api, an_object("v1 ConfigMap", "m", data={"a": "3"}))
    assert allowed["data"] == {"a": "3"}
    bad = an_object("v1 ConfigMap", "m", data={"a": "2"})
    reply = api.handle(UpdateObject(bad, "main", USER), USER, NOW_NS)
    assert "no" in str(reply.error)
    patch = PatchObject(("", "ConfigMap"), "default/m", {"data": {"a": "2"}}, USER)
    assert api.handle(patch, USER, NOW_NS).error is not None
    other = Api(ObjectStore())
    create(other, a_pod())
    pods = DeleteObject("", "Pod", "default/p", "", USER)
    forbid(other, "oldObject.metadata.name != 'p'", "DELETE")
    assert "no" in str(other.handle(pods, USER, NOW_NS).error)
    assert other.admission.of_deletion(POD, "default/absent", USER, NOW_NS) is None
    attributes = other.admission.of_deletion(POD, "default/p", USER, NOW_NS)
    assert attributes is not None
    assert (attributes.operation, attributes.name, attributes.namespace) == (
        "DELETE", "p", "default",
    )  # fmt: skip
    assert (attributes.object, attributes.user.name, attributes.now_ns) == (None, USER, NOW_NS)
    assert Api(ObjectStore()).admission.of_deletion(POD, "default/p", USER, NOW_NS) is None


@pytest.mark.parametrize("kind", ["Pod", "Deployment"])
def test_policies_see_a_changed_label_beside_the_same_spec(kind: str) -> None:
    api = Api(ObjectStore())
    made = create(api, a_pod("d") if kind == "Pod" else deployment())
    resources = "pods" if kind == "Pod" else "deployments"
    forbid(api, "object.metadata.labels['a'] != '2'", "UPDATE", resources=resources)
    for label, is_right in (("1", True), ("2", False)):
        for spec in (made["spec"], dict(made["spec"])):
            metadata = {"name": "d", "namespace": "default", "labels": {"a": label}}
            sent = decode({**made, "metadata": metadata, "spec": spec})
            reply = api.handle(UpdateObject(sent, "main", USER), USER, NOW_NS)
            assert (reply.error is None) == is_right, label


def test_a_changed_claim_is_charged_by_what_it_requests_now() -> None:
    api = served()
    quota = {"hard": {"requests.storage": "5Gi"}}
    status = quota | {"used": {"requests.storage": "0"}}
    api.store.put(an_object("v1 ResourceQuota", "q", spec=quota, status=status))
    bound = {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    modes = {"accessModes": ["ReadWriteOnce"], "volumeName": "v", "storageClassName": "s"}
    growing = an_object(
        "storage.k8s.io/v1 StorageClass", "s", metadata={"namespace": ""}, provisioner="x",
        allowVolumeExpansion=True,
    )  # fmt: skip
    create(api, growing)

    def claim(size: str, **metadata: Any) -> KubernetesObject:
        spec = modes | {"resources": {"requests": {"storage": size}}}
        return an_object("v1 PersistentVolumeClaim", "c", spec=spec, metadata=metadata)

    create(api, claim("1Gi"))
    stored_claim = api.store.require(("", "PersistentVolumeClaim"), "default/c")
    api.store.put(decode(dict(stored_claim.raw) | {"status": bound}))
    for sent, used in ((claim("4Gi"), "4Gi"), (claim("4Gi", labels={"a": "1"}), "4Gi")):
        update(api, sent)
        found = api.store.require(("", "ResourceQuota"), "default/q").raw["status"]["used"]
        assert found == {"requests.storage": used}
    refused = api.handle(UpdateObject(claim("6Gi"), "main", USER), USER, NOW_NS)
    assert "exceeded quota: q, requested: requests.storage=2Gi, used" in str(refused.error)


def test_the_namespace_of_a_namespace_in_reviews_is_itself() -> None:
    api = Api(ObjectStore())
    space = decode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "s"}})
    create(api, space)
    forbid(api, "false", "DELETE", resources="namespaces")
    attributes = api.admission.of_deletion(("", "Namespace"), "s", USER, NOW_NS)
    assert attributes is not None
    assert (attributes.namespace, attributes.name) == ("s", "s")
    node = decode({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    create(api, node)
    attributes = api.admission.of_deletion(("", "Node"), "n", USER, NOW_NS)
    assert attributes is not None
    assert (attributes.namespace, attributes.name) == ("", "n")


def test_a_namespace_without_quotas_needs_no_check_of_kinds_that_no_plugin_knows() -> None:
    store = ObjectStore()
    drafts = Admission(store, update_status=lambda _quota, _now: None)

    def attributes(kind: str, namespace: str) -> Any:
        obj = an_object(kind, "m", metadata={"namespace": namespace})
        write = DraftWrite(now_ns=NOW_NS, body=obj, sent=obj, user=USER)
        drafts.complete_new(write)
        return write.attributes

    quota = {"hard": {"count/configmaps": "1"}}
    store.put(an_object("v1 ResourceQuota", "q", spec=quota, metadata={"namespace": "counted"}))
    assert attributes("v1 ConfigMap", "free") is None
    found = attributes("v1 ConfigMap", "counted")
    assert (found.operation, found.name, found.namespace) == ("CREATE", "m", "counted")
    # Claims are known to plugins everywhere.
    assert attributes("v1 PersistentVolumeClaim", "free") is not None


# --------------------------------------------------------------------------- served clusters


def a_service(**spec: Any) -> KubernetesObject:
    ports = [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    return an_object("v1 Service", "s", spec={"ports": ports, "selector": {"a": "1"}} | spec)


def served() -> Api:
    api = Api(ObjectStore(seed=7), is_served=True)
    api.allocate_by({("", "Service"): ServiceAllocations(api.store).allocate})
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    api.store.put(decode(space))
    return api


def test_a_service_of_a_component_gets_its_address() -> None:
    api = served()
    spec = create(api, a_service())["spec"]
    assert spec["clusterIP"].startswith("10.0.0.")
    assert spec["clusterIPs"] == [spec["clusterIP"]]
    assert "clusterIP" not in create(Api(ObjectStore()), a_service())["spec"]
    current = api.store.require(("", "Service"), "default/s").raw
    changed = update(api, decode(current | {"spec": current["spec"] | {"type": "NodePort"}}))
    assert changed["spec"]["clusterIP"] == spec["clusterIP"]
    assert changed["spec"]["ports"][0]["nodePort"] in range(30_000, 32_768)
    other = current["spec"] | {"clusterIP": "10.0.0.99", "clusterIPs": ["10.0.0.99"]}
    reply = api.handle(UpdateObject(decode(current | {"spec": other}), "main", USER), USER, NOW_NS)
    assert "may not change once set" in str(reply.error)


def test_a_bound_pod_of_a_served_cluster_has_the_topology_of_its_node() -> None:
    zone = "topology.kubernetes.io/zone"
    for api, labels in ((served(), {zone: "z"}), (Api(ObjectStore()), {})):
        node = {"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": "n", "labels": {zone: "z"}}}  # fmt: skip
        api.store.put(decode(node))
        api.store.put(a_pod(status={"phase": "Pending"}))
        made = stored(api.handle(BindPod("default/p", "n", "", USER), USER, NOW_NS))
        assert made["metadata"].get("labels", {}) == labels
        condition = made["status"]["conditions"][-1]
        assert ("lastProbeTime" in condition) is bool(labels)
