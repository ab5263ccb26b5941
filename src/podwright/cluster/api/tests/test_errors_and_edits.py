"""Every Status of an error as a whole, edits of objects, names of users, other versions."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import InvalidObject, encode, with_fields
from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.api.bootstrap_objects import BOOTSTRAP_OBJECTS, flow_control, namespace
from podwright.cluster.api.followed import Followed
from podwright.cluster.api.object_edits import (
    annotations_patch,
    conditions_with,
    edited,
    finalizers_without,
    merge_patched,
    patched,
    section,
    with_fields_of_others,
)
from podwright.cluster.api.rejections import Invalid, Rejection
from podwright.cluster.api.stages.checking import with_expression_problems
from podwright.cluster.api.users import (
    ANONYMOUS,
    User,
    node_of,
    service_account_groups,
    service_account_name,
    service_account_of,
)
from podwright.cluster.api.versions.conversions import (
    EMPTY,
    ROLLBACK,
    ROUND_TRIPS,
    conversion_of,
    core_event,
    new_event,
)
from podwright.cluster.api.versions.resources import built_in_resources
from podwright.cluster.store import ObjectStore
from podwright.testing import make_node, make_pod

NOW, NOW_NS = "2026-01-01T00:00:00Z", 1_767_225_600 * 1_000_000_000


def test_an_invalid_object_is_an_error_of_each_field():
    prefixed = with_fields(make_pod(""), "metadata", generate_name="web-")
    problems = [("spec.a", "Required value", None), ("spec.b", "Invalid value: 1: x", 1)]
    error = Invalid(prefixed, problems)
    assert isinstance(error, Rejection)
    assert isinstance(error, InvalidObject)
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.message.startswith('Pod "web-" is invalid: [spec.a: Required value, spec.b: ')
    named = Invalid(make_pod("p"), problems[:1])
    assert [str(each) for each in named.errors] == ["Pod default/p: spec.a: Required value"]
    assert named.errors[0].value is None
    assert error.errors[1].value == 1


# ------------------------------------------------------------------------------ edits


def test_edited_copies():
    pod = make_pod("p", labels={"a": "b"}, annotations={"x": "1", "y": "2"})
    assert section(pod, "status") == encode(pod).get("status", {})
    assert section(make_node("n"), "nothing") == {}
    own = {"apiVersion": "a.b/v1", "kind": "Own", "metadata": {"name": "o"}, "spec": "a text"}
    assert section(decode(own), "spec") == {}
    made = patched(pod, status={"phase": "Failed", "reason": None}, metadata={"labels": None})
    assert (made.status.phase, made.metadata.labels, made.name) == ("Failed", {}, "p")
    assert pod.metadata.labels == {"a": "b"}
    document = encode(pod)
    assert edited(pod, document, document) is pod
    assert edited(pod, {**document}, document) == pod
    custom = decode({"apiVersion": "x.io/v1", "kind": "Foo", "metadata": {"name": "f"}, "spec": {}})
    changed = patched(custom, spec={"a": 1})
    assert (encode(changed)["spec"], changed.name) == ({"a": 1}, "f")
    assert patched(custom, metadata={"name": "g"}).name == "g"
    assert merge_patched(pod, {"metadata": {"labels": {"a": None, "c": "d"}}}).metadata.labels == {
        "c": "d"
    }
    assert annotations_patch(pod, x=None, z="3") == {"annotations": {"y": "2", "z": "3"}}
    assert annotations_patch(make_pod("q"), x=None) == {"annotations": None}
    held = with_fields(pod, "metadata", finalizers=("a", "b"))
    assert finalizers_without(held, "a") == {"finalizers": ["b"]}
    assert finalizers_without(with_fields(pod, "metadata", finalizers=("a",)), "a") == {
        "finalizers": None
    }


def test_a_condition_is_set_in_its_place():
    old = [
        {"type": "A", "status": "True", "lastTransitionTime": "t"},
        {"type": "B", "status": "True", "lastTransitionTime": "u"},
    ]
    same = {"type": "B", "status": "True", "lastTransitionTime": "v", "reason": "r"}
    assert conditions_with(old, same) == [old[0], same | {"lastTransitionTime": "u"}]
    other = same | {"status": "False"}
    assert conditions_with(old, other) == [old[0], other]
    assert conditions_with(old[:1], same) == [old[0], same]
    assert conditions_with([], same) == [same]
    assert len(old) == 2


def test_an_applied_object_keeps_what_others_set():
    stored = make_pod("p", node="n1", cpu="1")
    applied = with_fields_of_others(make_pod("p", cpu="1"), stored)
    assert applied.spec.node_name == "n1"
    own = make_pod("p", node="n2", cpu="1")
    assert with_fields_of_others(own, stored).spec.node_name == "n2"
    node = make_node("n", labels={"a": "b"})
    assert with_fields_of_others(node, node) is node


# ------------------------------------------------------------------------------ users


@pytest.mark.parametrize(
    ("name", "account"),
    [
        ("system:serviceaccount:n:a", ("n", "a")),
        ("system:serviceaccount:n", None),
        ("system:serviceaccount:n:a:b", None),
        ("serviceaccount:n:a", None),
        ("n:a", None),
        ("system:serviceaccount::", ("", "")),
    ],
)
def test_the_service_account_of_a_user(name, account):
    assert service_account_of(name) == account
    if account is not None:
        assert service_account_name(*account) == name


@pytest.mark.parametrize(
    ("name", "groups", "node"),
    [
        ("system:node:n1", ("system:nodes",), "n1"),
        ("system:node:", ("x", "system:nodes"), ""),
        ("system:node:n1", ("x",), None),
        ("n1", ("system:nodes",), None),
    ],
)
def test_the_node_of_a_user(name, groups, node):
    assert node_of(User(name, groups=groups)) == node


def test_groups_of_accounts_and_the_anonymous_user():
    assert service_account_groups("n") == ("system:serviceaccounts", "system:serviceaccounts:n")
    user = User("system:anonymous", groups=("system:unauthenticated",))
    assert user == ANONYMOUS


# ------------------------------------------------------------------------------ versions


EVENT = {
    "kind": "Event",
    "apiVersion": "v1",
    "metadata": {"name": "e", "namespace": "n"},
    "involvedObject": {"kind": "Pod", "name": "p"},
    "reason": "r",
    "message": "m",
    "source": {"component": "c"},
    "firstTimestamp": NOW,
    "lastTimestamp": NOW,
    "count": 2,
    "type": "Normal",
    "eventTime": None,
    "reportingComponent": "rc",
    "reportingInstance": "ri",
}


def test_an_event_in_both_versions():
    found = new_event(EVENT)
    assert {name: found[name] for name in found if name not in ("metadata", "kind")} == {
        "apiVersion": "events.k8s.io/v1",
        "regarding": {"kind": "Pod", "name": "p"},
        "reason": "r",
        "note": "m",
        "deprecatedSource": {"component": "c"},
        "deprecatedFirstTimestamp": NOW,
        "deprecatedLastTimestamp": NOW,
        "deprecatedCount": 2,
        "type": "Normal",
        "eventTime": None,
        "reportingController": "rc",
        "reportingInstance": "ri",
    }
    back = core_event(found)
    assert {name: back[name] for name in EVENT if name != "metadata"} == {
        name: value for name, value in EVENT.items() if name != "metadata"
    }


@pytest.mark.parametrize(
    ("version", "kind", "stored"),
    [
        ("events.k8s.io/v1", "Event", "v1"),
        ("autoscaling/v1", "HorizontalPodAutoscaler", "autoscaling/v2"),
        ("resource.k8s.io/v1alpha3", "DeviceTaintRule", "resource.k8s.io/v1beta2"),
        ("coordination.k8s.io/v1alpha2", "LeaseCandidate", "coordination.k8s.io/v1beta1"),
        ("certificates.k8s.io/v1alpha1", "ClusterTrustBundle", "certificates.k8s.io/v1beta1"),
        ("v1", "Event", None),
        ("apps/v1", "Deployment", None),
    ],
)
def test_the_version_in_which_a_kind_is_stored(version, kind, stored):
    known = built_in().find(version, kind)
    assert known is not None
    found = conversion_of(known)
    if stored is None:
        assert found is None
        return
    assert found is not None
    assert found.storage_kind.api_version == stored
    document = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": {}}
    there = found.to_storage(document)
    assert there["apiVersion"] == stored
    assert found.from_storage(there)["apiVersion"] == version


@pytest.mark.parametrize(
    ("kind", "document", "found"),
    [
        (("", "Pod"), {}, {}),
        (("", "Pod"), {"status": {"podIP": "a"}},
         {"status": {"podIP": "a", "podIPs": [{"ip": "a"}]}}),
        (("", "Pod"), {"status": {"podIP": "a", "podIPs": [{"ip": "b"}, {"ip": "a"}]}},
         {"status": {"podIP": "a", "podIPs": [{"ip": "a"}]}}),
        (("", "Pod"), {"status": {"podIPs": [{"ip": "b"}, {"ip": "a"}]}},
         {"status": {"podIP": "b", "podIPs": [{"ip": "b"}, {"ip": "a"}]}}),
        (("", "Pod"), {"status": {"podIP": "a", "podIPs": [{"ip": "a"}, {"ip": "b"}]}},
         {"status": {"podIP": "a", "podIPs": [{"ip": "a"}, {"ip": "b"}]}}),
        (("", "Secret"), {"data": {"b": "Yg=="}}, {"data": {"b": "Yg=="}}),
        (("", "Secret"), {"data": {"b": "Yg==", "c": "x"}, "stringData": {"a": "a", "b": "new"}},
         {"data": {"a": "YQ==", "b": "bmV3", "c": "x"}}),
        (("", "Secret"), {"stringData": {}}, {}),
        (("apps", "DaemonSet"),
         {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "3"}},
          "spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"maxSurge": 1}}}},
         {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "3"}},
          "spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {
              "maxUnavailable": 0, "maxSurge": 1}}}}),
        (("apps", "DaemonSet"), {},
         {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "0"}}}),
        (("apps", "DaemonSet"),
         {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "3"}}},
         {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "3"}}}),
        (("apps", "Deployment"), {"metadata": {"annotations": {"a": "b"}}},
         {"metadata": {"annotations": {"a": "b"}}}),
        (("apps", "Deployment"), {"metadata": {"annotations": {"a": "b", ROLLBACK: "007"}}},
         {"metadata": {"annotations": {"a": "b", ROLLBACK: "7"}}}),
        (("apps", "Deployment"), {"metadata": {"name": "d", "annotations": {ROLLBACK: ""}}},
         {"metadata": {"name": "d"}}),
    ],
)  # fmt: skip
def test_what_the_internal_version_changes(kind, document, found):
    assert ROUND_TRIPS[kind](document) == found


def test_what_an_empty_object_of_the_internal_version_has():
    assert EMPTY["apps", "Deployment"]({}) == {"spec": {"replicas": 0}}
    assert EMPTY["apps", "StatefulSet"]({"spec": {"replicas": 2}}) == {"spec": {"replicas": 2}}
    assert EMPTY["apps", "ReplicaSet"]({"spec": {"a": 1}}) == {"spec": {"replicas": 0, "a": 1}}
    assert EMPTY["apps", "ControllerRevision"]({"x": 1}) == {"data": None, "x": 1}


# ------------------------------------------------------------------------------ first objects


def test_the_objects_of_a_new_cluster():
    assert encode(namespace("n")) == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "n", "labels": {"kubernetes.io/metadata.name": "n"}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
    names = [each["metadata"]["name"] for each in BOOTSTRAP_OBJECTS]
    assert names == [
        "default", "kube-node-lease", "kube-public", "kube-system", "system-cluster-critical",
        "system-node-critical",
    ]  # fmt: skip
    assert BOOTSTRAP_OBJECTS[5] == {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "system-node-critical"},
        "value": 2_000_001_000,
        "description": "Used for system critical pods that must not be moved from their current"
        " node.",
        "preemptionPolicy": "PreemptLowerPriority",
    }
    assert (BOOTSTRAP_OBJECTS[4]["value"], BOOTSTRAP_OBJECTS[4]["description"]) == (
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another"
        " node if necessary.",
    )


def test_the_objects_of_priority_and_fairness():
    levels, schemas = flow_control(NOW_NS)
    assert {each["kind"] for each in levels} == {"PriorityLevelConfiguration"}
    by_name = {each["metadata"]["name"]: each for each in schemas}
    exempt = by_name["exempt"]
    assert (exempt["apiVersion"], exempt["kind"]) == (
        "flowcontrol.apiserver.k8s.io/v1", "FlowSchema",
    )  # fmt: skip
    assert exempt["metadata"] == {
        "name": "exempt",
        "generation": 1,
        "annotations": {"apf.kubernetes.io/autoupdate-spec": "true"},
    }
    assert exempt["status"] == {
        "conditions": [
            {
                "type": "Dangling",
                "status": "False",
                "lastTransitionTime": NOW,
                "reason": "Found",
                "message": "This FlowSchema references the PriorityLevelConfiguration object named"
                ' "exempt" and it exists',
            }
        ]
    }
    names = {each["metadata"]["name"] for each in levels}
    assert {each["spec"]["priorityLevelConfiguration"]["name"] for each in schemas} <= names
    assert "status" not in levels[0]


def test_changes_of_a_kind_are_followed_from_the_objects_that_are_there():
    store = ObjectStore()
    store.put(make_pod("a"))
    store.put(make_node("n"))
    followed = Followed(store, ("", "Pod"))
    behind = [followed.is_behind]
    assert [(key, obj and obj["metadata"]["name"]) for key, obj in followed.changes()] == [
        ("default/a", "a")
    ]
    behind.append(followed.is_behind)
    assert behind == [True, False]
    store.put(make_pod("b"))
    store.put(make_node("m"))
    store.drop(("", "Pod"), "default/a")
    changes = followed.changes()
    assert next(changes)[0] == "default/b"
    assert [*changes] == [("default/a", None)]
    assert [*followed.changes()] == []


# ------------------------------------------------------------------------------ expressions


def policy(expression: str, condition: str = "true") -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConditions": [{"name": "c", "expression": condition}],
            "validations": [{"expression": expression}],
        },
    }


def test_errors_of_expressions_have_their_place_among_the_others():
    resource = built_in_resources()["admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"]
    others = [
        ("spec.matchConditions[0].name", "x", None),
        ("spec.validations[0].reason", "y", None),
        ("spec.failurePolicy", "z", None),
    ]
    wrong = with_expression_problems(others, resource, policy("1 +", "2 +"))
    assert [path for path, _, _ in wrong] == [
        "spec.matchConditions[0].expression",
        "spec.matchConditions[0].name",
        "spec.validations[0].reason",
        "spec.validations[0].expression",
        "spec.failurePolicy",
    ]
    assert wrong[3][1].startswith('Invalid value: "1 +": ')
    assert wrong[3][2] == "1 +"
    # What is wrong with the whole comes last.
    around = with_expression_problems([("spec", "immutable", None)], resource, policy("1 +"))
    assert [path for path, _, _ in around] == ["spec.validations[0].expression", "spec"]
    assert with_expression_problems(others, resource, policy("true")) == others
    pods = built_in_resources()["v1", "Pod"]
    assert with_expression_problems(others, pods, policy("1 +")) == others


def test_errors_of_the_conditions_of_webhooks_have_the_number_of_the_webhook():
    resource = built_in_resources()[
        "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"
    ]
    hooks = [{"name": "a"}, {"name": "b", "matchConditions": [{"name": "c", "expression": "1 +"}]}]
    found = with_expression_problems([], resource, {"webhooks": hooks})
    assert [path for path, _, _ in found] == ["webhooks[1].matchConditions[0].expression"]
