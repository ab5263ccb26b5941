"""`managedFields` of what podwright's own components write in a served cluster."""

import json

import msgspec
import pytest

from podwright.apimachinery.objects import with_fields
from podwright.apimachinery.schema import decode
from podwright.cluster.api import UpdateObject
from podwright.cluster.api.endpoints import HttpRequest
from podwright.cluster.store import POD
from podwright.online.apiserver import generated_nodes
from podwright.online.apiserver.tests.conftest import JSON, START_NS, cluster_of, pod, request
from podwright.scheduler.machine import ObjectPut
from podwright.simulation.world import Apply, World

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SECOND_NS = 1_000_000_000
CONTROLLERS, SCHEDULER = "kube-controller-manager", "kube-scheduler"


def settle(cluster, now_ns=START_NS):
    while not cluster.catch_up(now_ns, lambda: False):
        pass


def send(cluster, method, path, body=None, query="", status=(200, 201), **headers):
    sent = b"" if body is None else json.dumps(body).encode()
    reply = cluster.handle(HttpRequest(method, path, query, JSON | headers, sent), START_NS)
    assert reply.status in status, reply.body
    return json.loads(reply.body)


def entries(document):
    return {
        (entry["manager"], entry.get("subresource", "")): entry
        for entry in document["metadata"].get("managedFields", ())
    }


def owned(document, manager, subresource=""):
    return entries(document)[manager, subresource]["fieldsV1"]


def deployment(replicas=1):
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod("web")["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


@pytest.fixture
def cluster():
    found = cluster_of()
    settle(found)
    return found


def test_the_pod_of_a_workload_has_the_managers_of_a_real_cluster(cluster):
    send(cluster, "POST", DEPLOYMENTS, deployment())
    settle(cluster, START_NS + 5 * SECOND_NS)
    (found,) = send(cluster, "GET", PODS)["items"]
    assert found["status"]["phase"] == "Running"
    # A binding owns nothing.
    assert entries(found).keys() == {(CONTROLLERS, ""), ("kubelet", "status")}
    assert all(entry["operation"] == "Update" for entry in entries(found).values())
    container = found["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:containers"]
    assert container['k:{"name":"main"}'].keys() == {
        ".", "f:image", "f:imagePullPolicy", "f:name", "f:resources", "f:terminationMessagePath",
        "f:terminationMessagePolicy",
    }  # fmt: skip
    # What admission adds has no owner.
    assert not {"f:tolerations", "f:serviceAccountName", "f:volumes", "f:nodeName"} & set(
        owned(found, CONTROLLERS)["f:spec"]
    )
    (owner,) = found["metadata"]["ownerReferences"]
    references = owned(found, CONTROLLERS)["f:metadata"]["f:ownerReferences"]
    assert references == {".": {}, f'k:{{"uid":"{owner["uid"]}"}}': {}}
    status = owned(found, "kubelet", "status")["f:status"]
    assert status["f:podIPs"].keys() == {".", f'k:{{"ip":"{found["status"]["podIP"]}"}}'}
    assert 'k:{"type":"Ready"}' in status["f:conditions"]


def test_a_status_that_the_scheduler_writes_is_its_own(cluster):
    send(cluster, "POST", PODS, pod("web", nodeSelector={"disk": "ssd"}))
    settle(cluster)
    found = send(cluster, "GET", f"{PODS}/web")
    conditions = owned(found, SCHEDULER, "status")["f:status"]["f:conditions"]
    assert conditions['k:{"type":"PodScheduled"}'].keys() >= {".", "f:reason", "f:message"}


def test_a_workload_has_a_status_of_its_controller(cluster):
    send(cluster, "POST", DEPLOYMENTS, deployment(), query="fieldManager=me")
    settle(cluster, START_NS + 5 * SECOND_NS)
    found = send(cluster, "GET", f"{DEPLOYMENTS}/web")
    assert entries(found).keys() == {("me", ""), (CONTROLLERS, "status")}
    # As upstream: the annotation is written with the status.
    assert owned(found, CONTROLLERS, "status")["f:metadata"] == {
        "f:annotations": {".": {}, "f:deployment.kubernetes.io/revision": {}}
    }


def test_an_apply_conflicts_with_a_component(cluster):
    settle(cluster)
    applied = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node-0", "annotations": {"node.alpha.kubernetes.io/ttl": "7"}},
    }
    sent = request("PATCH", "/api/v1/nodes/node-0", applied, "fieldManager=me")
    sent = msgspec.structs.replace(sent, headers={"content-type": "application/apply-patch+yaml"})
    reply = cluster.handle(sent, START_NS)
    assert reply.status == 409
    assert 'conflict with "kube-controller-manager"' in json.loads(reply.body)["message"]


def test_the_server_owns_what_it_creates(cluster):
    found = send(cluster, "GET", "/api/v1/namespaces/default")
    assert owned(found, "kube-apiserver") == {
        "f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/metadata.name": {}}}
    }
    (component,) = send(cluster, "GET", "/api/v1/componentstatuses")["items"][:1]
    assert not entries(component)


def test_events_have_the_managers_of_their_components(cluster):
    send(cluster, "POST", PODS, pod("web"))
    settle(cluster, START_NS + 5 * SECOND_NS)
    found = send(cluster, "GET", "/api/v1/namespaces/default/events")["items"]
    managers = {
        each["reason"]: {name for name, _ in entries(each)}
        for each in found
        if each["involvedObject"]["kind"] in {"Pod", "Node"}
    }
    assert managers["Scheduled"] == {SCHEDULER}
    assert managers["Pulled"] == {"kubelet"}
    assert managers["RegisteredNode"] == {CONTROLLERS}


def test_what_a_user_adds_has_the_manager_podwright(cluster):
    cluster.do(Apply(decode(deployment())))
    assert entries(send(cluster, "GET", f"{DEPLOYMENTS}/web")).keys() == {("podwright", "")}


def test_an_older_object_does_not_bring_back_its_owners(cluster):
    send(cluster, "POST", PODS, pod("web"))
    old = cluster.store.require(POD, "default/web")
    patch = {"metadata": {"labels": {"app": "web"}}}
    send(
        cluster, "PATCH", f"{PODS}/web", patch, "fieldManager=me",
        **{"content-type": "application/merge-patch+json"},
    )  # fmt: skip
    labelled = with_fields(old, "metadata", labels={"app": "other"}, resource_version="")
    reply = cluster.world.api.handle(
        UpdateObject(labelled, "main", "replicaset-controller"), "replicaset-controller", START_NS
    )
    reply.raise_for_error()
    found = entries(send(cluster, "GET", f"{PODS}/web"))
    assert {name for name, _ in found} == {"unknown", "me", CONTROLLERS}


def test_entries_of_other_versions_are_kept(cluster):
    send(cluster, "POST", DEPLOYMENTS, deployment())
    scaler = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "maxReplicas": 3,
            "targetCPUUtilizationPercentage": 50,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        },
    }
    path = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
    send(cluster, "POST", path.format("v1"), scaler, "fieldManager=me")
    settle(cluster, START_NS + 60 * SECOND_NS)
    found = entries(send(cluster, "GET", f"{path.format('v2')}/web"))
    assert found["me", ""]["apiVersion"] == "autoscaling/v1"
    assert found[CONTROLLERS, "status"]["apiVersion"] == "autoscaling/v2"


def test_the_decision_log_leaves_them_out(cluster):
    send(cluster, "POST", DEPLOYMENTS, deployment())
    settle(cluster, START_NS + 5 * SECOND_NS)
    log = cluster.world.log
    log.flush()
    put = [entry.event.obj for entry in log.entries() if isinstance(entry.event, ObjectPut)]
    pods = [each for each in put if each.kind == "Pod"]
    assert len(pods) > 1
    assert not any("managedFields" in each.raw["metadata"] for each in pods)


def test_an_aggregated_role_is_applied(cluster):
    found = send(cluster, "GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/view")
    entry = entries(found)["clusterrole-aggregation-controller", ""]
    assert (entry["operation"], entry["fieldsV1"]) == ("Apply", {"f:rules": {}})


def test_a_simulation_keeps_none():
    world = World()
    world.add(*generated_nodes(1), decode(deployment()))
    world.run()
    objects = [each for kind in world.store.kinds() for each in world.store.list(kind).objects]
    assert {"Pod", "Deployment"} < {each.kind for each in objects}
    assert not any("managedFields" in each.raw["metadata"] for each in objects)
