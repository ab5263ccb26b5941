"""How objects of single kinds are prepared for a write, with given objects and whole results."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import built_in
from podwright.cluster.api.strategies.preparation import (
    as_read,
    prepared_for_create,
    prepared_for_update,
)
from podwright.cluster.api.tests.prepared import EARLIER, NOW, NOW_NS, create, resource, update
from podwright.cluster.api.versions.resources import Resource, built_in_resource

TEMPLATE = "deprecated.daemonset.template.generation"
SENT = {"metadata": {"name": "n"}, "spec": {"a": 1}, "status": {"b": 2}}
SPREAD = {"topologyKey": "zone", "matchLabelKeys": ["app"]}
UNSCHEDULED = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "lastTransitionTime": NOW,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


@pytest.mark.parametrize(
    ("kind", "sent", "stored"),
    [
        # The general rule: a status that is a subresource is not created.
        ("apps/Deployment", SENT, {"metadata": {"name": "n"}, "spec": {"a": 1}}),
        ("/ConfigMap", {"data": {"a": "1"}}, {"data": {"a": "1"}}),
        ("/Node", SENT, SENT),
        ("/Node", {"spec": {"configSource": {}, "b": 1}}, {"spec": {"b": 1}}),
        ("/Node", {"metadata": {}}, {"metadata": {}}),
        ("/Node", {"status": {"config": {}, "b": 1}}, {"status": {"b": 1}}),
        # The first version of slices has node names instead.
        (
            "discovery.k8s.io/EndpointSlice",
            {"endpoints": [{"addresses": ["a"], "deprecatedTopology": {"b": "c"}}, {"d": 1}]},
            {"endpoints": [{"addresses": ["a"]}, {"d": 1}]},
        ),
        (
            "/Pod",
            {"metadata": {}, "spec": {"containers": [{"name": "c"}]}, "status": {"phase": "X"}},
            {
                "metadata": {},
                "spec": {"containers": [{"name": "c"}]},
                "status": {"phase": "Pending", "qosClass": "BestEffort"},
            },
        ),
        (
            "/Pod",
            {"spec": {"schedulingGates": [{"name": "g"}]}},
            {
                "spec": {"schedulingGates": [{"name": "g"}]},
                "status": {
                    "phase": "Pending", "qosClass": "BestEffort", "conditions": [UNSCHEDULED],
                },
            },
        ),
        (
            "/Pod",
            {
                "metadata": {"labels": {"app": "a"}},
                "spec": {"topologySpreadConstraints": [SPREAD | {"labelSelector": {}}]},
            },
            {
                "metadata": {"labels": {"app": "a"}},
                "spec": {
                    "topologySpreadConstraints": [
                        SPREAD | {"labelSelector": {"matchExpressions": [
                            {"key": "app", "operator": "In", "values": ["a"]}]}}
                    ]
                },
                "status": {"phase": "Pending", "qosClass": "BestEffort"},
            },
        ),
        (
            "/Pod",
            {
                "spec": {
                    "containers": [
                        {"name": "a", "lifecycle": {"stopSignal": "SIGINT", "preStop": {}}},
                        {"name": "b", "lifecycle": {"stopSignal": "SIGINT"}},
                        {"name": "c", "lifecycle": {"preStop": {}}},
                    ],
                    "initContainers": [{"name": "d"}],
                }
            },
            {
                "spec": {
                    "containers": [
                        {"name": "a", "lifecycle": {"preStop": {}}},
                        {"name": "b"},
                        {"name": "c", "lifecycle": {"preStop": {}}},
                    ],
                    "initContainers": [{"name": "d"}],
                },
                "status": {"phase": "Pending", "qosClass": "BestEffort"},
            },
        ),
        (
            "apps/Deployment",
            {"spec": {"template": {"spec": {"initContainers": [
                {"name": "a", "lifecycle": {"stopSignal": "SIGINT"}}]}}}},
            {"spec": {"template": {"spec": {"initContainers": [{"name": "a"}]}}}},
        ),
        ("apps/Deployment", {"spec": {"template": None}}, {"spec": {"template": None}}),
        (
            "/PodTemplate",
            {"template": {"spec": {"containers": [{"lifecycle": {"stopSignal": "SIGINT"}}]}}},
            {"template": {"spec": {"containers": [{}]}}},
        ),
        ("/PersistentVolumeClaim", {}, {"status": {"phase": "Pending"}}),
        (
            "/PersistentVolumeClaim",
            {"spec": {"dataSource": {"kind": "PersistentVolumeClaim", "name": "x"}}},
            {
                "spec": {
                    "dataSource": {"kind": "PersistentVolumeClaim", "name": "x"},
                    "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "x"},
                },
                "status": {"phase": "Pending"},
            },
        ),
        (
            "/PersistentVolumeClaim",
            {"spec": {"a": 1, "dataSource": {"apiGroup": "x", "kind": "Y"}}},
            {"spec": {"a": 1}, "status": {"phase": "Pending"}},
        ),
        (
            "/PersistentVolumeClaim",
            {"spec": {"dataSource": {"apiGroup": "snapshot.storage.k8s.io",
                                     "kind": "VolumeSnapshot"}}},
            {
                "spec": {
                    name: {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot"}
                    for name in ("dataSource", "dataSourceRef")
                },
                "status": {"phase": "Pending"},
            },
        ),
        (
            "/PersistentVolumeClaim",
            {"spec": {"dataSourceRef": {"apiGroup": "x", "kind": "Y"}}},
            {
                "spec": {name: {"apiGroup": "x", "kind": "Y"}
                         for name in ("dataSource", "dataSourceRef")},
                "status": {"phase": "Pending"},
            },
        ),
        (
            "/PersistentVolumeClaim",
            {"spec": {"dataSourceRef": {"kind": "Y", "namespace": "z"}}},
            {
                "spec": {"dataSourceRef": {"kind": "Y", "namespace": "z"}},
                "status": {"phase": "Pending"},
            },
        ),
        (
            "/PersistentVolume",
            {"spec": {}, "status": {"phase": "Bound"}},
            {"spec": {}, "status": {"phase": "Pending", "lastPhaseTransitionTime": NOW}},
        ),
        (
            "/Namespace",
            {"metadata": {"name": "n", "labels": {"a": "b"}}},
            {
                "metadata": {
                    "name": "n", "labels": {"a": "b", "kubernetes.io/metadata.name": "n"},
                },
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            },
        ),
        (
            "/Namespace",
            {"metadata": {}, "spec": {"x": 1, "finalizers": ["kubernetes", "own"]}},
            {
                "metadata": {"labels": {"kubernetes.io/metadata.name": ""}},
                "spec": {"x": 1, "finalizers": ["kubernetes", "own"]},
                "status": {"phase": "Active"},
            },
        ),
        (
            "/Namespace",
            {"metadata": {"name": "n"}, "spec": {"finalizers": ["own"]}},
            {
                "metadata": {"name": "n", "labels": {"kubernetes.io/metadata.name": "n"}},
                "spec": {"finalizers": ["own", "kubernetes"]},
                "status": {"phase": "Active"},
            },
        ),
        (
            "apps/DaemonSet",
            {"metadata": {"annotations": {"a": "b"}}, "status": {}},
            {
                "metadata": {
                    "annotations": {"a": "b", "deprecated.daemonset.template.generation": "1"}
                }
            },
        ),
        *(
            (
                "apps/DaemonSet",
                {"metadata": {"annotations": {TEMPLATE: sent}}},
                {"metadata": {"annotations": {TEMPLATE: stored}}},
            )
            for sent, stored in (("7", "7"), ("0", "1"), ("-2", "1"))
        ),
        (
            "apps/StatefulSet",
            {"spec": {"updateStrategy": {"type": "t", "rollingUpdate": {
                "maxUnavailable": 1, "partition": 0}}}, "status": {}},
            {"spec": {"updateStrategy": {"type": "t", "rollingUpdate": {"partition": 0}}}},
        ),
        ("apps/StatefulSet", {"spec": {}}, {"spec": {}}),
        (
            "coordination.k8s.io/Lease",
            {"spec": {"strategy": "s", "preferredHolder": "p", "holderIdentity": "h"}},
            {"spec": {"holderIdentity": "h"}},
        ),
        ("coordination.k8s.io/Lease", {"spec": {"a": 1}}, {"spec": {"a": 1}}),
        (
            "/ServiceAccount",
            {"secrets": [{"name": "a", "kind": "Secret"}, {"kind": "x"}]},
            {"secrets": [{"name": "a"}, {}]},
        ),
        ("/ServiceAccount", {"secrets": [{"name": "a"}]}, {"secrets": [{"name": "a"}]}),
        ("/ServiceAccount", {"metadata": {}}, {"metadata": {}}),
        (
            "batch/Job",
            {"metadata": {"name": "j", "uid": "u"}, "spec": {"manualSelector": True}, "status": {}},
            {"metadata": {"name": "j", "uid": "u"}, "spec": {"manualSelector": True}},
        ),
        (
            "resource.k8s.io/ResourceSlice",
            {"spec": {"devices": [{"name": "a", "taints": [
                {"key": "k"}, {"key": "l", "timeAdded": EARLIER}]}, {"name": "b"}]}},
            {"spec": {"devices": [{"name": "a", "taints": [
                {"key": "k", "timeAdded": NOW}, {"key": "l", "timeAdded": EARLIER}]},
                {"name": "b"}]}},
        ),
        (
            "resource.k8s.io/ResourceSlice",
            {"spec": {"devices": [{"name": "b"}]}},
            {"spec": {"devices": [{"name": "b"}]}},
        ),
        (
            "apiregistration.k8s.io/APIService",
            {"spec": {}, "status": {}},
            {
                "spec": {},
                "status": {
                    "conditions": [
                        {
                            "lastTransitionTime": NOW,
                            "message": "Local APIServices are always available",
                            "reason": "Local",
                            "status": "True",
                            "type": "Available",
                        }
                    ]
                },
            },
        ),
        (
            "apiregistration.k8s.io/APIService",
            {"spec": {"service": {}}},
            {
                "spec": {"service": {}},
                "status": {
                    "conditions": [
                        {
                            "lastTransitionTime": NOW,
                            "message": "this server forwards no requests to other servers",
                            "reason": "NotForwarded",
                            "status": "False",
                            "type": "Available",
                        }
                    ]
                },
            },
        ),
        (
            "apiextensions.k8s.io/CustomResourceDefinition",
            {"spec": {"versions": [{"name": "v1"}, {"name": "v2", "storage": True}]},
             "status": {"storedVersions": ["v0"]}},
            {"spec": {"versions": [{"name": "v1"}, {"name": "v2", "storage": True}]},
             "status": {"storedVersions": ["v2"]}},
        ),
    ],
)  # fmt: skip
def test_a_new_object_as_it_is_stored(kind, sent, stored):
    group, _, name = kind.rpartition("/")
    assert create(name, sent, group) == stored


GENERATION = {"generation": 4}


@pytest.mark.parametrize(
    ("kind", "new", "old", "stored"),
    [
        # The general rule: the status is kept, and another spec is counted.
        (
            "apps/Deployment",
            {"metadata": {"name": "n"}, "spec": {"a": 2}, "status": {"x": 1}},
            {"metadata": {"name": "n", "generation": 4}, "spec": {"a": 1}, "status": {"y": 1}},
            {"metadata": {"name": "n", "generation": 5}, "spec": {"a": 2}, "status": {"y": 1}},
        ),
        (
            "apps/Deployment",
            {"metadata": {"generation": 4, "labels": {"a": "b"}}, "spec": {"a": 1}},
            {"metadata": {"generation": 4}, "spec": {"a": 1}},
            {"metadata": {"generation": 4, "labels": {"a": "b"}}, "spec": {"a": 1}},
        ),
        ("/ConfigMap", {"data": {"a": "2"}}, {"data": {}}, {"data": {"a": "2"}}),
        (
            "scheduling.k8s.io/PriorityClass",
            {"metadata": GENERATION, "value": 2},
            {"metadata": GENERATION, "value": 1},
            {"metadata": GENERATION, "value": 2},
        ),
        (
            "networking.k8s.io/NetworkPolicy",
            {"metadata": GENERATION, "spec": {"podSelector": {}, "ingress": []}},
            {"metadata": GENERATION, "spec": {"podSelector": {}}},
            {"metadata": {"generation": 5}, "spec": {"podSelector": {}, "ingress": []}},
        ),
        (
            "networking.k8s.io/NetworkPolicy",
            {"metadata": GENERATION, "spec": {"podSelector": {"matchLabels": {}}}},
            {"metadata": GENERATION, "spec": {"podSelector": {}}},
            {"metadata": {"generation": 5}, "spec": {"podSelector": {"matchLabels": {}}}},
        ),
        (
            "networking.k8s.io/NetworkPolicy",
            {"metadata": GENERATION, "spec": {"podSelector": {"matchLabels": {"a": "b"}}}},
            {"metadata": GENERATION, "spec": {"podSelector": {"matchLabels": {"a": "b"}}}},
            {"metadata": GENERATION, "spec": {"podSelector": {"matchLabels": {"a": "b"}}}},
        ),
        (
            "/Node",
            {"spec": {"configSource": {}, "a": 1}, "status": {"x": 1}},
            {"spec": {}, "status": {"y": 1}},
            {"spec": {"a": 1}, "status": {"y": 1}},
        ),
        (
            "/Node",
            {"spec": {"configSource": {"b": 1}}},
            {"spec": {"configSource": {}}, "status": {"y": 1}},
            {"spec": {"configSource": {"b": 1}}, "status": {"y": 1}},
        ),
        (
            "/PersistentVolumeClaim",
            {"spec": {"dataSource": {"kind": "Y"}, "dataSourceRef": None}, "status": {"x": 1}},
            {"spec": {"dataSource": {"kind": "Y"}}, "status": {"y": 1}},
            {"spec": {"dataSource": {"kind": "Y"}, "dataSourceRef": {"kind": "Y"}},
             "status": {"y": 1}},
        ),
        (
            "/PersistentVolumeClaim",
            {"spec": {"dataSource": {"kind": "Y"}}},
            {"spec": {}, "status": {"y": 1}},
            {"spec": {}, "status": {"y": 1}},
        ),
        (
            "/PersistentVolumeClaim",
            {"metadata": {}},
            {"status": {}},
            {"metadata": {}, "status": {}},
        ),
        (
            "/Namespace",
            {"metadata": {}, "spec": {"finalizers": ["x"]}, "status": {"x": 1}},
            {"metadata": {}, "spec": {"finalizers": ["kubernetes"]}, "status": {"y": 1}},
            {"metadata": {}, "spec": {"finalizers": ["kubernetes"]}, "status": {"y": 1}},
        ),
        (
            "/Namespace",
            {"metadata": {}, "spec": {"finalizers": ["x"]}},
            {"metadata": {}},
            {"metadata": {}, "spec": {}},
        ),
        (
            "coordination.k8s.io/Lease",
            {"spec": {"strategy": "s", "preferredHolder": "p"}},
            {"spec": {"strategy": "t"}},
            {"spec": {"strategy": "s"}},
        ),
        (
            "/ServiceAccount",
            {"secrets": [{"name": "a", "kind": "Secret"}]},
            {},
            {"secrets": [{"name": "a"}]},
        ),
        (
            "storage.k8s.io/CSIDriver",
            {"metadata": {"generation": 4}, "spec": {"a": 2}},
            {"metadata": {"generation": 4}, "spec": {"a": 1}},
            {"metadata": {"generation": 5}, "spec": {"a": 2}},
        ),
        (
            "storage.k8s.io/CSIDriver",
            {"metadata": {}, "spec": {"a": 2}},
            {"metadata": {}, "spec": {"a": 1}},
            {"metadata": {"generation": 1}, "spec": {"a": 2}},
        ),
        (
            "storage.k8s.io/CSIDriver",
            {"metadata": {"x": 1}, "spec": {"a": 2}},
            {"metadata": {}, "spec": {"a": 2}},
            {"metadata": {"x": 1}, "spec": {"a": 2}},
        ),
        (
            "resource.k8s.io/ResourceSlice",
            {"metadata": {}, "spec": {"devices": [{"taints": [{"key": "k"}]}]}},
            {"metadata": {}, "spec": {}},
            {
                "metadata": {"generation": 1},
                "spec": {"devices": [{"taints": [{"key": "k", "timeAdded": NOW}]}]},
            },
        ),
        (
            "apiextensions.k8s.io/CustomResourceDefinition",
            {"metadata": {"generation": 1}, "spec": {"versions": [{"name": "v2", "storage": True}]},
             "status": {"storedVersions": ["x"]}},
            {"metadata": {"generation": 1}, "spec": {"versions": [{"name": "v1", "storage": True}]},
             "status": {"storedVersions": ["v1"]}},
            {"metadata": {"generation": 2}, "spec": {"versions": [{"name": "v2", "storage": True}]},
             "status": {"storedVersions": ["v1", "v2"]}},
        ),
        (
            "apiextensions.k8s.io/CustomResourceDefinition",
            {"metadata": {}, "spec": {"versions": [{"name": "v1", "storage": True}]}},
            {"metadata": {}, "spec": {"versions": [{"name": "v1", "storage": True}]},
             "status": {"storedVersions": ["v1"]}},
            {"metadata": {}, "spec": {"versions": [{"name": "v1", "storage": True}]},
             "status": {"storedVersions": ["v1"]}},
        ),
        # A topology that is not stored counts as a change.
        (
            "discovery.k8s.io/EndpointSlice",
            {"metadata": {}, "endpoints": [{"a": 1, "deprecatedTopology": {"b": "c"}}]},
            {"metadata": {"generation": 3}, "endpoints": [{"a": 1}]},
            {"metadata": {"generation": 4}, "endpoints": [{"a": 1}]},
        ),
        (
            "discovery.k8s.io/EndpointSlice",
            {"metadata": {}, "endpoints": [{"deprecatedTopology": {"b": "c"}}]},
            {"metadata": {"generation": 3}, "endpoints": [{"deprecatedTopology": {"b": "c"}}]},
            {"metadata": {}, "endpoints": [{"deprecatedTopology": {"b": "c"}}]},
        ),
        # The lists of a slice that has none are null when it is read.
        (
            "discovery.k8s.io/EndpointSlice",
            {"metadata": {}, "endpoints": [], "ports": []},
            {"metadata": {"generation": 3}, "endpoints": None, "ports": None},
            {"metadata": {}, "endpoints": [], "ports": []},
        ),
        # Webhooks are compared exactly: an empty list is not none.
        (
            "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
            {"metadata": {}, "webhooks": [{"a": 1, "rules": []}]},
            {"metadata": {"generation": 3}, "webhooks": [{"a": 1, "rules": []}]},
            {"metadata": {"generation": 4}, "webhooks": [{"a": 1, "rules": []}]},
        ),
        (
            "certificates.k8s.io/CertificateSigningRequest",
            {"metadata": {"labels": {"a": "b"}}, "spec": {"x": 1}, "status": {"x": 1}},
            {"metadata": {}, "spec": {"y": 1}},
            {"metadata": {"labels": {"a": "b"}}, "spec": {"y": 1}, "status": {}},
        ),
    ],
)  # fmt: skip
def test_a_changed_object_as_it_is_stored(kind, new, old, stored):
    group, _, name = kind.rpartition("/")
    assert update(name, new, old, group) == stored


@pytest.mark.parametrize(
    ("before", "is_changed", "after"),
    [
        ("3", False, "3"),
        ("3", True, "4"),
        (None, False, None),
        (None, True, "1"),
        ("x", True, "1"),
        ("-3", False, "-3"),
        ("9" * 19, True, "1"),
        ("9" * 18, True, str(10**18)),
    ],
)
def test_changed_templates_of_a_daemon_set_are_counted(before, is_changed, after):
    annotations = {} if before is None else {TEMPLATE: before}
    old = {"metadata": {"annotations": annotations}, "spec": {"template": {"a": 1}}}
    new = {"metadata": {}, "spec": {"template": {"a": 2 if is_changed else 1}}}
    found = update("DaemonSet", new, old, "apps")
    assert (found["metadata"].get("annotations") or {}).get(TEMPLATE) == after
    assert found["metadata"].get("generation") == (1 if is_changed else None)


@pytest.mark.parametrize("limits_before", [True, False])
def test_a_stateful_set_keeps_a_limit_that_it_has(limits_before):
    def spec(**rolling: int) -> Document:
        return {"updateStrategy": {"rollingUpdate": rolling}}

    old = {"metadata": {}, "spec": spec(maxUnavailable=2) if limits_before else spec()}
    new = {"metadata": {}, "spec": spec(maxUnavailable=3), "status": {"x": 1}}
    found = update("StatefulSet", new, old, "apps")
    assert found["spec"] == (spec(maxUnavailable=3) if limits_before else spec())
    assert "status" not in found
    found = update("StatefulSet", new, old | {"status": {"y": 2}}, "apps")
    assert found["status"] == {"y": 2}
    daemon_set = update("DaemonSet", new, old | {"status": {"y": 2}}, "apps")
    assert daemon_set["status"] == {"y": 2}


@pytest.mark.parametrize(
    ("new", "old", "stored"),
    [
        ({"key": "k"}, {"key": "k"}, {"timeAdded": NOW, "key": "k"}),
        (
            {"effect": "NoExecute", "timeAdded": EARLIER},
            {"effect": "NoSchedule", "timeAdded": EARLIER},
            {"effect": "NoExecute", "timeAdded": NOW},
        ),
        (
            {"effect": "NoSchedule", "timeAdded": EARLIER},
            {"effect": "NoSchedule", "timeAdded": EARLIER},
            {"effect": "NoSchedule", "timeAdded": EARLIER},
        ),
        (
            {"effect": "NoExecute", "timeAdded": EARLIER},
            {"effect": "NoSchedule", "timeAdded": "2024-01-01T00:00:00Z"},
            {"effect": "NoExecute", "timeAdded": EARLIER},
        ),
    ],
)
def test_the_time_of_a_taint_rule_is_that_of_its_effect(new, old, stored):
    rule = resource_rule()
    sent = {"metadata": {}, "spec": {"taint": new}, "status": {"x": 1}}
    before = {"metadata": {}, "spec": {"taint": old}, "status": {"y": 1}}
    found = prepared_for_update(rule, sent, before, NOW_NS)
    assert (found["spec"]["taint"], found["status"]) == (stored, {"y": 1})
    made = prepared_for_create(rule, sent, NOW_NS)
    assert made["spec"]["taint"] == {"timeAdded": NOW} | new
    assert "status" not in made


def resource_rule() -> Resource:
    kind = built_in().find("resource.k8s.io/v1beta2", "DeviceTaintRule")
    assert kind is not None
    return built_in_resource(kind)


def test_a_job_is_read_with_the_labels_of_its_template():
    job = {"metadata": {"name": "j"}, "spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}
    assert as_read(resource("Job", "batch"), job)["metadata"]["labels"] == {"a": "b"}
    assert as_read(resource("Deployment", "apps"), job) is job
    made = create("Job", job | {"metadata": {"name": "j", "uid": "u"}, "status": {}}, "batch")
    own = {
        "batch.kubernetes.io/controller-uid": "u",
        "controller-uid": "u",
        "batch.kubernetes.io/job-name": "j",
        "job-name": "j",
    }
    assert made == {
        "metadata": {"name": "j", "uid": "u", "labels": {"a": "b"} | own},
        "spec": {
            "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}},
            "template": {"metadata": {"labels": {"a": "b"} | own}},
        },
    }
