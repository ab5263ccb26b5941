"""Snapshots and the reset of a cluster, over podwright's own API."""

import msgspec
import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api.endpoints import ServerOptions, User, static_tokens
from podwright.online.apiserver import ClusterClock
from podwright.online.apiserver.cluster import new_cluster
from podwright.online.apiserver.control.snapshot import SnapshotDocument, SnapshotToImport
from podwright.online.apiserver.generated_nodes import generated_nodes
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of, pod
from podwright.scheduler.machine import SchedulerOptions

V1 = "/podwright/v1"
PODS = "/api/v1/namespaces/default/pods"
CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": "mine"}],
}


def paused(serve, cluster=None):
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    return serve(cluster or cluster_of(), clock)


def places(snapshot):
    """Return the nodes, and the node of each pod."""
    nodes = [each["metadata"]["name"] for each in snapshot["nodes"]]
    return nodes, {each["metadata"]["name"]: each["spec"]["nodeName"] for each in snapshot["pods"]}


def is_bound(found):
    return bool(found["spec"].get("nodeName"))


def is_running(found):
    return found["status"]["phase"] == "Running"


def without_assigned_values(snapshot):
    """Return a snapshot without what every cluster assigns anew, and the reports of nodes."""
    assigned = ("uid", "resourceVersion", "managedFields")
    for node in snapshot["nodes"]:
        for condition in node["status"]["conditions"]:
            condition.pop("lastHeartbeatTime", None)
    for kind in ("nodes", "pods", "storageClasses"):
        for obj in snapshot[kind]:
            metadata = obj["metadata"]
            obj["metadata"] = {key: metadata[key] for key in metadata if key not in assigned}
    return snapshot


def test_an_export_has_every_list_and_an_import_needs_none():
    _, schemas = msgspec.json.schema_components([SnapshotDocument, SnapshotToImport])
    exported, imported = schemas["SnapshotDocument"], schemas["SnapshotToImport"]
    assert exported["required"] == [*exported["properties"]] == [*imported["properties"]]
    assert imported["required"] == []
    assert exported["description"] == "The objects of each kind, and the configuration."
    assert imported["description"].endswith("; all of them may be missing or null.")


def test_an_exported_snapshot_makes_the_same_cluster_elsewhere(serve):
    first = paused(serve)
    first.send("POST", PODS, pod("web"))
    first.eventually(f"{PODS}/web", is_running)
    first.send("PUT", f"{V1}/configuration", CONFIGURATION)
    status, exported = first.send("GET", f"{V1}/snapshot")
    assert status == 200
    assert [each["metadata"]["name"] for each in exported["pods"]] == ["web"]
    assert exported["schedulerConfig"] == CONFIGURATION
    # As the Kubernetes API returns it.
    _, listed = first.send("GET", "/api/v1/pods")
    assert exported["pods"] == listed["items"]

    # At another time, so that nothing is the same by chance.
    clock = ClusterClock(start_ns=START_NS + 3_600_000_000_000)
    clock.pause()
    second = serve(cluster_of(nodes=0), clock)
    status, imported = second.send("POST", f"{V1}/snapshot", exported)
    assert (status, imported) == (
        200,
        {"objects": 3, "hasConfiguration": True, "warnings": []},
    )
    _, again = second.send("GET", f"{V1}/snapshot")
    assert again["schedulerConfig"] == CONFIGURATION
    assert places(again) == places(exported)
    assert without_assigned_values(again) == without_assigned_values(exported)
    second.send("POST", f"{V1}/clock/step", {"duration": "1m"})
    _, again = second.send("GET", f"{V1}/snapshot")
    assert without_assigned_values(again) == without_assigned_values(exported)


def test_without_a_scheduler_a_snapshot_has_its_objects_only(serve):
    served = paused(serve, cluster_of(nodes=1, has_scheduler=False))
    body = {"schedulerConfig": CONFIGURATION, "namespaces": [{"metadata": {"name": "new"}}]}
    status, imported = served.send("POST", f"{V1}/snapshot", body)
    assert (status, imported) == (200, {"objects": 1, "hasConfiguration": False, "warnings": []})
    assert served.send("GET", "/api/v1/namespaces/new")[0] == 200
    status, exported = served.send("GET", f"{V1}/snapshot")
    assert (status, exported["schedulerConfig"]) == (200, None)
    assert [each["metadata"]["name"] for each in exported["nodes"]] == ["node-0"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"pods": {}}, ""),
        ({"pod": []}, "pod"),
        ({"pods": [{"metadata": {}}]}, ""),
        (
            {"schedulerConfig": {**CONFIGURATION, "profiles": [{"schedulerName": 1}]}},
            "schedulerConfig",
        ),
        ({"pods": [{"metadata": {"name": "No_Name"}, "spec": {"containers": []}}]}, ""),
    ],
)
def test_a_wrong_snapshot_is_a_problem(serve, body, field):
    status, found = paused(serve).send("POST", f"{V1}/snapshot", body)
    assert (status, found["status"]) == (422, 422), found
    assert found.get("field", "").startswith(field)


def test_an_import_that_fails_at_the_second_of_two_pods_undoes_everything(serve):
    served = paused(serve)
    quotas = "/api/v1/namespaces/default/resourcequotas"
    quota = {"metadata": {"name": "one"}, "spec": {"hard": {"pods": "1"}}}
    assert served.send("POST", quotas, quota)[0] == 201
    served.eventually(f"{quotas}/one", lambda found: found.get("status", {}).get("hard"))
    _, before = served.send("GET", f"{V1}/configuration")
    pods = [pod("a"), pod("b")]
    for each in pods:
        each["metadata"]["namespace"] = "default"
    body = {
        "schedulerConfig": CONFIGURATION, "pods": pods,
        "namespaces": [{"metadata": {"name": "new"}}],
    }  # fmt: skip
    status, found = served.send("POST", f"{V1}/snapshot", body)
    assert (status, "exceeded quota" in found["detail"]) == (403, True), found
    assert served.send("GET", f"{V1}/configuration")[1] == before
    assert served.send("GET", PODS)[1]["items"] == []
    assert served.send("GET", "/api/v1/namespaces/new")[0] == 404


def test_a_snapshot_is_imported_with_the_rights_of_the_user(serve):
    users = {
        "admin": User("admin", groups=("system:masters", "system:authenticated")),
        "importer": User("importer", groups=("system:authenticated",)),
    }
    cluster = new_cluster(
        SchedulerOptions(),
        now_ns=START_NS,
        server_options=ServerOptions(tokens=(static_tokens(users),)),
    )
    cluster.world.add(*generated_nodes(1))
    served = paused(serve, cluster)
    admin = {"Authorization": "Bearer admin"}
    rbac = "rbac.authorization.k8s.io"
    head = {"apiVersion": f"{rbac}/v1", "metadata": {"name": "importer"}}
    rule = {"nonResourceURLs": ["/podwright/v1/snapshot"], "verbs": ["get", "post"]}
    role = {**head, "kind": "ClusterRole", "rules": [rule]}
    binding = {
        **head,
        "kind": "ClusterRoleBinding",
        "subjects": [{"kind": "User", "name": "importer", "apiGroup": rbac}],
        "roleRef": {"kind": "ClusterRole", "name": "importer", "apiGroup": rbac},
    }
    for resource, document in (("clusterroles", role), ("clusterrolebindings", binding)):
        status, found = served.send("POST", f"/apis/{rbac}/v1/{resource}", document, admin)
        assert status == 201, found
    body = {"nodes": [{"metadata": {"name": "planted"}}]}
    importer = {"Authorization": "Bearer importer"}
    impersonated = {**admin, "Impersonate-User": "importer"}
    for headers in (importer, impersonated):
        status, found = served.send("POST", f"{V1}/snapshot", body, headers)
        assert (status, found["status"]) == (403, 403), found
        assert "planted" in found["detail"]
    assert served.send("GET", "/api/v1/nodes/planted", headers=admin)[0] == 404
    assert served.send("POST", f"{V1}/snapshot", body, admin)[0] == 200
    assert served.send("GET", "/api/v1/nodes/planted", headers=admin)[0] == 200


def test_a_reset_restores_the_objects_and_the_configuration_of_the_start(serve):
    served = paused(serve)
    served.send("PUT", f"{V1}/configuration", CONFIGURATION)
    served.send("POST", PODS, pod("web", schedulerName="mine"))
    served.eventually(f"{PODS}/web", is_bound)
    served.send("DELETE", "/api/v1/nodes/node-1")
    status, found = served.send("POST", f"{V1}/reset")
    assert status == 200
    assert found["objects"] > 2
    assert served.send("GET", f"{PODS}/web")[0] == 404
    assert served.send("GET", "/api/v1/nodes/node-1")[0] == 200
    _, shown = served.send("GET", f"{V1}/configuration")
    assert shown["written"]["profiles"] == [{"schedulerName": "default-scheduler"}]
    served.send("POST", PODS, pod("again"))
    served.eventually(f"{PODS}/again", is_bound)


@pytest.mark.parametrize(
    ("namespace", "restored"), [("kube-node-lease", "now"), ("default", "then")]
)
def test_a_reset_leaves_the_leases_of_nodes_and_restores_others(serve, namespace, restored):
    cluster = cluster_of()
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "own", "namespace": namespace},
        "spec": {"holderIdentity": "then"},
    }
    cluster.store.put(decode(lease))
    served = paused(serve, cluster)
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    _, found = served.send("GET", f"{leases}/own")
    found["spec"]["holderIdentity"] = "now"
    assert served.send("PUT", f"{leases}/own", found)[0] == 200
    new = lease | {"metadata": {"name": "new", "namespace": namespace}}
    assert served.send("POST", leases, new)[0] == 201
    assert served.send("POST", f"{V1}/reset")[0] == 200
    _, found = served.send("GET", leases)
    holders = {each["metadata"]["name"]: each["spec"]["holderIdentity"] for each in found["items"]}
    names = ("own", "new") if restored == "now" else ("own",)
    assert {name: holder for name, holder in holders.items() if name in ("own", "new")} == {
        name: restored if name == "own" else "then" for name in names
    }
