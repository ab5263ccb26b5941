"""The objects that show the server: created once, replaced when the server is found elsewhere."""

from __future__ import annotations

from podwright.cluster.api.endpoints import add_missing_objects, put_objects, server_objects

ENDPOINTS = "/api/v1/namespaces/default/endpoints/kubernetes"
SLICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"


def put(server, address="192.0.2.7", port=6443, components=()):
    now_ns = server.now_ns
    put_objects(server.store, server_objects(address, port, components=components), now_ns)


def test_the_endpoints_of_the_service_are_those_of_the_server(server):
    put(server)
    _, endpoints = server.reply("GET", ENDPOINTS)
    assert endpoints["subsets"] == [
        {
            "addresses": [{"ip": "192.0.2.7"}],
            "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}],
        }
    ]
    _, found = server.reply("GET", SLICE)
    assert found["addressType"] == "IPv4"
    assert found["ports"] == [{"name": "https", "port": 6443, "protocol": "TCP"}]
    assert found["endpoints"] == [{"addresses": ["192.0.2.7"], "conditions": {"ready": True}}]
    assert found["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}
    own = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    assert endpoints["metadata"]["labels"] == own


def test_the_service_of_the_server_has_no_load_balancer(server):
    _, found = server.reply("GET", "/api/v1/namespaces/default/services/kubernetes")
    assert found["metadata"]["labels"] == {"component": "apiserver", "provider": "kubernetes"}
    assert found["status"] == {"loadBalancer": {}}
    assert found["spec"] == {
        "type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
        "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster", "sessionAffinity": "None",
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
    }  # fmt: skip


def test_another_start_replaces_what_differs_only(server):
    put(server)
    before = [server.reply("GET", path)[1] for path in (ENDPOINTS, SLICE)]
    put(server)
    assert [server.reply("GET", path)[1] for path in (ENDPOINTS, SLICE)] == before
    put(server, "2001:db8::7", 7443)
    endpoints, slice_ = (server.reply("GET", path)[1] for path in (ENDPOINTS, SLICE))
    assert endpoints["subsets"][0]["addresses"] == [{"ip": "2001:db8::7"}]
    assert endpoints["metadata"]["uid"] == before[0]["metadata"]["uid"]
    assert slice_["addressType"] == "IPv6"


def test_the_components_that_run_are_healthy(server):
    put(server, components=["scheduler"])
    _, found = server.reply("GET", "/api/v1/componentstatuses")
    assert [each["metadata"]["name"] for each in found["items"]] == ["etcd-0", "scheduler"]
    healthy = {"type": "Healthy", "status": "True", "message": "ok"}
    assert [each["conditions"] for each in found["items"]] == [[healthy], [healthy]]


BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


def binding(role):
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "own"}, "subjects": [{"kind": "User", "name": "ada"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
    }  # fmt: skip


def test_a_binding_of_another_role_is_replaced_when_it_has_no_finalizers(server):
    def started(role):
        add_missing_objects(server.store, server.now_ns, [binding(role)])
        return server.reply("GET", f"{BINDINGS}/own")[1]

    first = started("view")
    assert started("view") == first
    held = {"metadata": {"finalizers": ["example.com/held"]}}
    assert server.patch(f"{BINDINGS}/own", held)[0] == 200
    found = started("edit")
    assert found["roleRef"]["name"] == "view"
    assert "deletionTimestamp" in found["metadata"]
    assert server.patch(f"{BINDINGS}/own", {"metadata": {"finalizers": None}})[0] == 200
    started("view")
    found = started("edit")
    assert found["roleRef"]["name"] == "edit"
    assert found["metadata"]["uid"] != first["metadata"]["uid"]
