"""Plugins that depend on who writes, in a server."""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from itertools import chain
from typing import Any

import pytest

from podwright.cluster.api.admission import default_plugins
from podwright.cluster.api.admission.identities.certificate_requests import (
    Subject,
    UnreadableRequest,
    certificate_subject,
)
from podwright.cluster.api.admission.identities.node_restriction import (
    NodeRestriction,
    _forbidden_labels,
)
from podwright.cluster.api.admission.tests.contexts import (
    a_context,
    a_store,
    a_write,
    named,
    outcome,
)
from podwright.cluster.api.endpoints import (
    DEFAULT_GROUP_VERSIONS,
    GATED_RESOURCES,
    ApiServer,
    ServerOptions,
    bare_store,
)
from podwright.cluster.api.endpoints.tests.conftest import START_NS, Server, pod
from podwright.cluster.api.users import NODES, User

PODS = "/api/v1/namespaces/default/pods"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
NODE = User("system:node:n1", groups=(NODES, "system:authenticated"))
ALICE = User("alice", groups=("system:authenticated",))


def server_with(*enabled: str) -> Server:
    found = Server()
    found.store = bare_store(START_NS)
    options = ServerOptions(admission=partial(default_plugins, enabled=enabled))
    found.api = ApiServer(found.store, options)
    return found


def allow(server: Server, user: str, *rules: dict[str, Any]) -> None:
    name = user.replace(":", "-")
    server.reply("POST", f"{ROLES}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
    }
    assert server.reply("POST", f"{ROLES}/clusterrolebindings", binding)[0] == 201


def rule(group: str, resource: str, *verbs: str) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


# -------------------------------------------------------------------- service accounts


@pytest.fixture
def accounts() -> Server:
    server = server_with("ServiceAccount")
    account = {"metadata": {"name": "default"}, "imagePullSecrets": [{"name": "pull"}]}
    server.reply("POST", "/api/v1/namespaces/default/serviceaccounts", account)
    return server


def test_a_pod_gets_the_default_account_and_its_token(accounts):
    status, found = accounts.reply("POST", PODS, pod("p"))
    assert status == 201, found
    spec = found["spec"]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    assert spec["imagePullSecrets"] == [{"name": "pull"}]
    (volume,) = spec["volumes"]
    (mount,) = spec["containers"][0]["volumeMounts"]
    assert mount["name"] == volume["name"]
    assert volume["name"].startswith("kube-api-access-")
    assert mount["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount"
    token = volume["projected"]["sources"][0]["serviceAccountToken"]
    assert token == {"expirationSeconds": 3607, "path": "token"}


def test_the_volumes_of_tokens_have_names_that_are_drawn_for_a_template(accounts):
    def volume_of(name, container):
        body = pod(name, containers=[{"name": container, "image": f"{name}:1"}])
        return accounts.reply("POST", PODS, body)[1]["spec"]["volumes"][0]["name"]

    assert volume_of("p", "c") == volume_of("q", "c") != volume_of("r", "d")


def test_a_pod_may_refuse_the_token(accounts):
    found = accounts.reply("POST", PODS, pod("p", automountServiceAccountToken=False))[1]
    assert "volumes" not in found["spec"]


def test_the_account_of_a_pod_must_exist(accounts):
    status, found = accounts.reply("POST", PODS, pod("p", serviceAccountName="x"))
    assert (status, found["message"]) == (
        403,
        'pods "p" is forbidden: error looking up service account default/x: serviceaccount "x"'
        " not found",
    )


def test_secrets_may_be_limited_to_those_of_the_account(accounts):
    annotations = {"kubernetes.io/enforce-mountable-secrets": "true"}
    account = {"metadata": {"name": "strict", "annotations": annotations}}
    accounts.reply("POST", "/api/v1/namespaces/default/serviceaccounts", account)
    volumes = [{"name": "v", "secret": {"secretName": "s"}}]
    status, found = accounts.reply(
        "POST", PODS, pod("p", serviceAccountName="strict", volumes=volumes)
    )
    assert status == 403
    assert found["message"].endswith(
        'volume with secret.secretName="s" is not allowed because service account strict does not'
        " reference that secret"
    )


def test_a_mirror_pod_has_no_account(accounts):
    mirror = pod("p", nodeName="n1")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    status, found = accounts.reply("POST", PODS, mirror)
    assert (status, found["spec"].get("serviceAccountName")) == (201, None)
    mirror["spec"]["serviceAccountName"] = "default"
    assert (
        "may not reference service accounts" in accounts.reply("POST", PODS, mirror)[1]["message"]
    )


def test_the_account_is_off_by_default(server):
    assert "serviceAccountName" not in server.reply("POST", PODS, pod("p"))[1]["spec"]


# -------------------------------------------------------------------- owner references

OWNER = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "u"}


def owned(**fields: Any) -> dict[str, Any]:
    metadata = {"name": "c", "ownerReferences": [OWNER | fields]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def test_an_owner_whose_deletion_is_blocked_needs_the_right_to_finalize():
    server = server_with("OwnerReferencesPermissionEnforcement")
    path = "/api/v1/namespaces/default/configmaps"
    allow(server, "alice", rule("", "configmaps", "create", "update"))
    status, found = server.reply("POST", path, owned(blockOwnerDeletion=True), user=ALICE)
    assert (status, found["message"]) == (
        403,
        'configmaps "c" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to'
        " a resource you can't set finalizers on: , <nil>",
    )
    status, found = server.reply(
        "POST", path, owned(blockOwnerDeletion=True, kind="Foo"), user=ALICE
    )
    assert found["message"].endswith(
        'cannot find RESTMapping for APIVersion apps/v1 Kind Foo: no matches for kind "Foo" in'
        ' version "apps/v1"'
    )
    assert server.reply("POST", path, owned(), user=ALICE)[0] == 201
    status, found = server.reply("PUT", f"{path}/c", owned(controller=True), user=ALICE)
    assert "cannot set an ownerRef on a resource you can't delete" in found["message"]
    assert server.reply("PUT", f"{path}/c", owned(controller=True))[0] == 200


# ------------------------------------------------------------------------------- nodes


@pytest.fixture
def nodes() -> Server:
    server = server_with("NodeRestriction")
    allow(server, "system:node:n1", rule("*", "*", "*"))
    for name in ("n1", "n2"):
        server.reply("POST", "/api/v1/nodes", {"metadata": {"name": name}})
        server.reply("POST", PODS, pod(f"on-{name}", nodeName=name))
    return server


def refusal(server: Server, method: str, path: str, body: Any = None) -> str:
    headers = {"content-type": "application/merge-patch+json"} if method == "PATCH" else None
    status, found = server.reply(method, path, body, headers=headers, user=NODE)
    return "" if status < 300 else str(found["message"])


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("PATCH", "/api/v1/nodes/n2", {"metadata": {"labels": {"a": "b"}}},
         'node "n1" is not allowed to modify node "n2"'),
        ("PATCH", "/api/v1/nodes/n1", {"metadata": {"labels": {"a": "b"}}}, ""),
        ("PATCH", "/api/v1/nodes/n1",
         {"metadata": {"labels": {"node-restriction.kubernetes.io/a": "b", "x.k8s.io/y": "z"}}},
         "is not allowed to modify labels: node-restriction.kubernetes.io/a, x.k8s.io/y"),
        ("PATCH", "/api/v1/nodes/n1", {"metadata": {"labels": {"kubernetes.io/os": "linux"}}}, ""),
        ("PATCH", "/api/v1/nodes/n1",
         {"metadata": {"labels": {"a.node.kubernetes.io/b": "c"}}}, ""),
        ("PATCH", "/api/v1/nodes/n1", {"spec": {"taints": None}},
         'node "n1" is not allowed to modify taints'),
        ("PATCH", "/api/v1/nodes/n1",
         {"metadata": {"ownerReferences": [
             {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u"}]}},
         'node "n1" is not allowed to modify ownerReferences'),
        ("PATCH", f"{PODS}/on-n2/status", {"status": {"phase": "Running"}},
         'node "n1" can only update pod status for pods with spec.nodeName set to itself'),
        ("PATCH", f"{PODS}/on-n1/status", {"status": {"phase": "Running"}}, ""),
        ("PATCH", f"{PODS}/on-n1/status", {"metadata": {"labels": {"a": "b"}}},
         'node "n1" cannot update labels through pod status'),
        ("PATCH", f"{PODS}/on-n1", {"metadata": {"labels": {"a": "b"}}},
         'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods'),
        ("DELETE", f"{PODS}/on-n2", None,
         'node "n1" can only delete pods with spec.nodeName set to itself'),
        ("DELETE", f"{PODS}/on-n1", None, ""),
        ("DELETE", f"{PODS}/none", None, 'pods "none" not found'),
        ("POST", f"{PODS}/on-n2/eviction",
         {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "on-n2"}},
         "node n1 can only evict pods with spec.nodeName set to itself"),
        ("POST", PODS, pod("p", nodeName="n1"),
         'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create'
         " mirror pods"),
        ("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases",
         {"metadata": {"name": "n1"}},
         'can only access leases in the "kube-node-lease" system namespace'),
        ("POST", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
         {"metadata": {"name": "n1"}}, ""),
        ("POST", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
         {"metadata": {"name": "n2"}},
         "can only access node lease with the same name as the requesting node"),
        ("POST", "/apis/storage.k8s.io/v1/csinodes",
         {"metadata": {"name": "n2"}, "spec": {"drivers": []}},
         "can only access CSINode with the same name as the requesting node"),
    ],
)  # fmt: skip
def test_nodes_write_what_is_theirs(nodes, method, path, body, expected):
    found = refusal(nodes, method, path, body)
    assert found.endswith(expected) if expected else not found, found


def test_a_node_publishes_and_removes_its_own_devices(nodes):
    path = "/apis/resource.k8s.io/v1/resourceslices"
    spec = {"driver": "d.example.com", "pool": {"name": "p", "resourceSliceCount": 1}}
    for node, is_own in (("n1", True), ("n2", False)):
        body = {"metadata": {"name": f"of-{node}"}, "spec": {**spec, "nodeName": node}}
        problems = [refusal(nodes, "POST", path, body)]
        nodes.reply("POST", path, body)
        problems.append(refusal(nodes, "DELETE", f"{path}/of-{node}"))
        for verb, problem in zip(("create", "delete"), problems, strict=True):
            text = f"can only {verb} ResourceSlice with the same NodeName as the requesting node"
            assert not problem if is_own else problem.endswith(text), problem


def test_a_mirror_pod_is_owned_by_its_node_and_refers_to_nothing(nodes):
    uid = nodes.reply("GET", "/api/v1/nodes/n1")[1]["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": uid, "controller": True}
    mirror = pod("m", nodeName="n1")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    assert "with an owner reference set to itself" in refusal(nodes, "POST", PODS, mirror)
    for owners, problem in (
        ([owner, owner | {"uid": "other"}], "with a single owner reference set to itself"),
        ([owner | {"name": "n2"}], "with an owner reference set to itself"),
        ([owner | {"controller": False}], "with a controller owner reference set to itself"),
        ([owner | {"blockOwnerDeletion": True}], "must not set blockOwnerDeletion"),
        ([owner | {"uid": "other"}], "UID mismatch"),
    ):
        mirror["metadata"]["ownerReferences"] = owners
        assert problem in refusal(nodes, "POST", PODS, mirror)
    mirror["metadata"]["ownerReferences"] = [owner]
    mirror["spec"]["volumes"] = [{"name": "v", "configMap": {"name": "c"}}]
    assert "can not create pods that reference configmaps" in refusal(nodes, "POST", PODS, mirror)
    mirror["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}]
    assert not refusal(nodes, "POST", PODS, mirror)


def test_a_node_requests_tokens_of_its_pods(nodes):
    nodes.reply("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "a"}})
    _, own = nodes.reply("POST", PODS, pod("own", nodeName="n1", serviceAccountName="a"))
    path = "/api/v1/namespaces/default/serviceaccounts/a/token"

    def problem(**spec: Any) -> str:
        return refusal(nodes, "POST", path, {"spec": spec})

    reference = {"apiVersion": "v1", "kind": "Pod", "name": "own"}
    assert problem().endswith("node requested token not bound to a pod")
    assert problem(boundObjectRef=reference).endswith("with a pod binding without a uid")
    reference["uid"] = own["metadata"]["uid"]
    assert "The object might have been deleted and then recreated" in problem(
        boundObjectRef=reference | {"uid": "other"}
    )
    _, foreign = nodes.reply("POST", PODS, pod("foreign", nodeName="n2", serviceAccountName="a"))
    bound = {"name": "foreign", "uid": foreign["metadata"]["uid"]}
    assert problem(boundObjectRef=reference | bound).endswith("scheduled on a different node")
    # A replaced pod is no secret to a node that does not run it.
    replaced = reference | bound | {"uid": "other"}
    assert "The object might have been deleted" in problem(boundObjectRef=replaced)
    assert problem(boundObjectRef=reference | {"name": "none"}).endswith('pod "none" not found')
    # The cluster role of this test allows tokens for all audiences.
    assert not problem(boundObjectRef=reference, audiences=["a"])
    assert problem(boundObjectRef=reference, audiences=["a", "b"]).endswith(
        "node may only request 0 or 1 audiences"
    )


# ------------------------------------------------------------------------ certificates


def certificate_request(*names: tuple[str, str], **subject: str) -> str:
    """Return a PKCS #10 request as it is sent; its signature is empty."""
    kinds = {"common": "0603550403", "organization": "060355040a"}

    def der(tag: int, *parts: bytes) -> bytes:
        content = b"".join(parts)
        length = len(content)
        head = bytes([length]) if length < 128 else bytes([0x82, *length.to_bytes(2, "big")])
        return bytes([tag]) + head + content

    parts = [
        der(0x31, der(0x30, bytes.fromhex(kinds[kind]), der(0x0C, value.encode())))
        for kind, value in (*names, *subject.items())
    ]
    information = der(0x30, der(0x02, b"\0"), der(0x30, *parts), der(0x30))
    body = b64encode(der(0x30, information, der(0x30), der(0x03, b"\0"))).decode()
    pem = f"-----BEGIN CERTIFICATE REQUEST-----\n{body}\n-----END CERTIFICATE REQUEST-----\n"
    return b64encode(pem.encode()).decode()


REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


def request(name: str, signer: str, **subject: str) -> dict[str, Any]:
    spec = {"signerName": signer, "usages": ["client auth"],
            "request": certificate_request(**subject)}  # fmt: skip
    return {"metadata": {"name": name}, "spec": spec}


def test_no_request_makes_a_superuser(server):
    body = request("r", "kubernetes.io/kube-apiserver-client", organization="system:masters")
    status, found = server.reply("POST", REQUESTS, body)
    assert status == 403
    assert "with system:masters group is not allowed" in found["message"]
    other = request("r", "kubernetes.io/kube-apiserver-client", organization="dev")
    assert server.reply("POST", REQUESTS, other)[0] == 201


def test_approval_needs_the_right_to_the_signer(server):
    body = request("r", "acme.io/signer", common="x")
    assert server.reply("POST", REQUESTS, body)[0] == 201
    allow(server, "alice", rule("certificates.k8s.io", "certificatesigningrequests/approval",
                                "update", "patch"))  # fmt: skip
    condition = {"type": "Approved", "status": "True", "reason": "r", "message": "m"}
    patch = {"status": {"conditions": [condition]}}
    headers = {"content-type": "application/merge-patch+json"}
    found = server.reply("PATCH", f"{REQUESTS}/r/approval", patch, headers=headers, user=ALICE)
    assert found[0] == 403
    assert found[1]["message"].endswith(
        'user not permitted to approve requests with signerName "acme.io/signer"'
    )
    wildcard = rule("certificates.k8s.io", "signers", "approve") | {"resourceNames": ["acme.io/*"]}
    allow(server, "alice2", wildcard)
    group = "rbac.authorization.k8s.io"
    server.reply("POST", f"{ROLES}/clusterrolebindings", {
        "metadata": {"name": "more"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "alice"}],
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "alice2"}})  # fmt: skip
    found = server.reply("PATCH", f"{REQUESTS}/r/approval", patch, headers=headers, user=ALICE)
    assert found[0] == 200, found


@pytest.fixture
def gated():
    found = Server()
    gates = ("ClusterTrustBundle", "PodCertificateRequest")
    served = chain.from_iterable(GATED_RESOURCES[gate] for gate in gates)
    versions = (*DEFAULT_GROUP_VERSIONS, *served)
    found.api = ApiServer(found.store, ServerOptions(group_versions=versions))
    return found


AUTHORITY = """\
-----BEGIN CERTIFICATE-----
MIHbMIGOoAMCAQICAQcwBQYDK2VwMAwxCjAIBgNVBAMMAWEwIBcNMjAwMTAxMDAw
MDAwWhgPMjExOTEyMDgwMDAwMDBaMAwxCjAIBgNVBAMMAWEwKjAFBgMrZXADIQAD
oQe/884Qvh1w3RjnS8CZZ+TWMJulDV8d3IZkElUxuKMTMBEwDwYDVR0TAQH/BAUw
AwEB/zAFBgMrZXADQQCkfH4HdM6ffeo8bsq3fhWxdrHWmL4FOr/Sj0JzMNofNQZ3
7g+eKNTGy7GogYAYtd5aJCw46QVe2rhbWc/JoK8P
-----END CERTIFICATE-----
"""
STUB = (
    "MH8wMwIBADAAMCowBQYDK2VwAyEAA6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbigADAFBgMr"
    "ZXADQQD+T6LD/tC3dgs1QpDKx4kUxYQE7xZe9aBnQUcZw2xzeoWgFx/pD/xHAMYHE4CCTNhwz2Gdgvzs"
    "SlQWl8KwMroI"
)
"""A certificate request without a subject."""
BUNDLES = "/apis/certificates.k8s.io/{}/clustertrustbundles"
MERGE = {"content-type": "application/merge-patch+json"}


def test_a_bundle_of_a_signer_needs_the_right_to_attest(gated):
    allow(gated, "alice", rule("certificates.k8s.io", "clustertrustbundles", "create", "patch"))
    spec = {"signerName": "a.b/c", "trustBundle": AUTHORITY}
    body = {"metadata": {"name": "a.b:c:d"}, "spec": spec}
    status, found = gated.reply("POST", BUNDLES.format("v1beta1"), body, user=ALICE)
    assert status == 403
    assert found["message"].endswith('user not permitted to attest for signerName "a.b/c"')
    assert gated.reply("POST", BUNDLES.format("v1beta1"), body)[0] == 201
    path = f"{BUNDLES.format('v1alpha1')}/a.b:c:d"
    for metadata, expected in (({"labels": {"a": "b"}}, 403), ({"finalizers": ["a.b/c"]}, 200)):
        status, found = gated.reply(
            "PATCH", path, {"metadata": metadata}, headers=MERGE, user=ALICE
        )
        assert status == expected
    assert (found["apiVersion"], found["spec"]) == ("certificates.k8s.io/v1alpha1", spec)


def test_the_status_of_a_pods_request_needs_the_right_to_sign(gated):
    path = "/apis/certificates.k8s.io/v1beta1/namespaces/default/podcertificaterequests"
    spec = {"signerName": "a.b/c", "stubPKCS10Request": STUB}
    for name in ("pod", "serviceAccount", "node"):
        spec |= {f"{name}Name": "n", f"{name}UID": "u"}
    assert gated.reply("POST", path, {"metadata": {"name": "r"}, "spec": spec})[0] == 201
    allow(gated, "alice", rule("certificates.k8s.io", "podcertificaterequests/status", "patch"))
    condition = {"type": "Denied", "status": "True", "reason": "R", "message": "m"}
    condition["lastTransitionTime"] = "2026-03-02T10:00:00Z"
    patch = {"status": {"conditions": [condition]}}
    status, found = gated.reply("PATCH", f"{path}/r/status", patch, headers=MERGE, user=ALICE)
    assert status == 422
    assert found["details"]["causes"][0]["message"] == (
        'Forbidden: User "alice" is not permitted to "sign" for signer "a.b/c"'
    )
    assert gated.reply("PATCH", f"{path}/r/status", patch, headers=MERGE)[0] == 200
    # Upstream's storage does not say that a write of the object resets the status.
    gated.patch(f"{path}/r", {"status": {"conditions": []}})
    _, found = gated.patch(f"{path}/r", {"status": {"notAfter": "2026-03-02T10:00:00Z"}})
    assert found["status"] == {"conditions": [condition]}


def test_a_node_requests_its_own_certificate(nodes):
    signer = "kubernetes.io/kube-apiserver-client-kubelet"
    found = refusal(nodes, "POST", REQUESTS, request("r", signer, common="system:node:n2"))
    assert found.endswith("can only create a node CSR with CN=system:node:n1")
    unreadable = {"metadata": {"name": "r"}, "spec": {"signerName": signer, "request": "eA=="}}
    assert "unable to parse csr: " in refusal(nodes, "POST", REQUESTS, unreadable)
    assert not refusal(nodes, "POST", REQUESTS, request("r", signer, common="system:node:n1"))
    # A certificate of another signer says nothing to kube-apiserver about the node.
    other = request("s", "acme.io/signer", common="system:node:n2")
    assert not refusal(nodes, "POST", REQUESTS, other)


CERTIFICATES = "/apis/certificates.k8s.io/v1beta1/namespaces/default/podcertificaterequests"


def test_a_node_requests_certificates_of_the_pods_that_it_runs(nodes):
    versions = (*DEFAULT_GROUP_VERSIONS, *GATED_RESOURCES["PodCertificateRequest"])
    plugins = partial(default_plugins, enabled=("NodeRestriction",))
    nodes.api = ApiServer(nodes.store, ServerOptions(group_versions=versions, admission=plugins))
    nodes.reply("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "a"}})
    mirror = pod("m", nodeName="n1", serviceAccountName="a")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    for each in (pod("p", nodeName="n1", serviceAccountName="a"), mirror):
        nodes.reply("POST", PODS, each)

    def uid(kind: str, key: str) -> str:
        found = nodes.store.get(("", kind), key)
        assert found is not None
        return str(found.uid)

    spec = {
        "signerName": "a.b/c",
        "stubPKCS10Request": STUB,
        "nodeName": "n1",
        "nodeUID": uid("Node", "n1"),
        "podName": "p",
        "podUID": uid("Pod", "default/p"),
        "serviceAccountName": "a",
        "serviceAccountUID": uid("ServiceAccount", "default/a"),
    }

    def answer(**changed: str) -> tuple[int, str]:
        body = {"metadata": {"generateName": "r-"}, "spec": spec | changed}
        status, found = nodes.reply("POST", CERTIFICATES, body, user=NODE)
        text = found.get("message", "").replace(spec["podUID"], "POD")
        for name in ("nodeUID", "serviceAccountUID"):
            text = text.replace(spec[name], "UID")
        return status, text.rpartition("is forbidden: ")[2]

    assert answer() == (201, "")
    request = 'PodCertificateRequest for pod "default/p"'
    named = "named in the PodCertificateRequest"
    assert answer(nodeName="n2") == (
        403,
        'PodCertificateRequest.Spec.NodeName="n2", which is not the requesting node "n1"',
    )
    assert answer(nodeUID="x") == (
        500,
        f'{request} names node UID "x", inconsistent with the running node ("UID")',
    )
    assert answer(podName="x") == (
        500,
        f'while retrieving pod "default/x" {named}: pod "x" not found',
    )
    assert answer(podUID="x") == (
        500,
        f'{request} contains pod UID ("x") which differs from running pod "POD"',
    )
    other = {"podName": "on-n2", "podUID": uid("Pod", "default/on-n2")}
    assert answer(**other) == (
        403,
        f'pod "default/on-n2" is not running on node "n1" {named}',
    )
    assert answer(podName="m", podUID=uid("Pod", "default/m")) == (
        403,
        'pod "default/m" is a mirror pod',
    )
    assert answer(serviceAccountName="x") == (
        403,
        f'{request} contains serviceAccountName ("x") that differs from running pod ("a")',
    )
    assert answer(serviceAccountUID="x") == (
        500,
        f'{request} names service account UID "x", which differs from the running service account'
        ' ("UID")',
    )
    nodes.reply("DELETE", "/api/v1/namespaces/default/serviceaccounts/a")
    assert answer() == (
        500,
        f'while retrieving service account "default/a" {named}: serviceaccount "a" not found',
    )
    assert refusal(nodes, "DELETE", f"{CERTIFICATES}/r-x").endswith("not found")
    name = nodes.reply("GET", CERTIFICATES)[1]["items"][0]["metadata"]["name"]
    found = refusal(nodes, "DELETE", f"{CERTIFICATES}/{name}")
    assert found.endswith("unexpected operation DELETE")
    label = {"metadata": {"labels": {"a": "b"}}}
    found = refusal(nodes, "PATCH", f"{CERTIFICATES}/{name}", label)
    assert found.endswith("unexpected operation UPDATE")
    found = refusal(nodes, "PATCH", f"{CERTIFICATES}/{name}/status", label)
    assert found.endswith("unexpected operation UPDATE")


def test_unknown_plugins_are_refused():
    with pytest.raises(ValueError, match="admission plugins Foo do not exist"):
        server_with("Foo")


@pytest.mark.parametrize(
    ("label", "is_forbidden"),
    [
        ("team", False),
        ("example.com/team", False),
        ("mykubernetes.io/team", False),
        ("kubernetes.io/team", True),
        ("k8s.io/team", True),
        ("sub.k8s.io/team", True),
        ("node-role.kubernetes.io/control-plane", True),
        ("kubernetes.io/hostname", False),
        ("topology.kubernetes.io/zone", False),
        ("kubelet.kubernetes.io/team", False),
        ("sub.kubelet.kubernetes.io/team", False),
        ("node.kubernetes.io/team", False),
        ("sub.node.kubernetes.io/team", False),
        ("node-restriction.kubernetes.io/team", True),
        ("sub.node-restriction.kubernetes.io/team", True),
    ],
)
def test_the_labels_that_a_node_may_not_change(label, is_forbidden):
    expected = [label] if is_forbidden else []

    def with_label(value):
        return {"metadata": {"name": "n1", "labels": {label: value}}}

    assert _forbidden_labels(with_label("a"), {}) == expected
    assert _forbidden_labels({}, with_label("a")) == expected
    assert _forbidden_labels(with_label("a"), with_label("b")) == expected
    assert _forbidden_labels(with_label("a"), with_label("a")) == []


def test_the_account_completes_no_pod_that_is_there_already(accounts):
    store = accounts.store
    plain = Server()
    plain.store = store
    plain.api = ApiServer(store, ServerOptions(admission=lambda *_args, **_keywords: ()))
    status, made = plain.reply("POST", PODS, pod("old"))
    assert status == 201, made
    made["metadata"]["labels"] = {"a": "b"}
    status, found = accounts.reply("PUT", f"{PODS}/old", made)
    assert status == 200, found
    assert "imagePullSecrets" not in found["spec"]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("", "asn1: syntax error: data truncated"),
        ("MAA=", "asn1: syntax error: data truncated"),
        ("MAA", "Incorrect padding"),
        (None, "PEM block type must be CERTIFICATE REQUEST"),
    ],
)
def test_what_is_no_certificate_request(content: str | None, error: str) -> None:
    name = "CERTIFICATE REQUEST" if content is not None else "CERTIFICATE"
    pem = f"-----BEGIN {name}-----\n{content}\n-----END {name}-----\n"
    with pytest.raises(UnreadableRequest, match=error):
        certificate_subject(b64encode(pem.encode()).decode())


@pytest.mark.parametrize(
    ("names", "subject"),
    [
        ([], Subject("", (), has_alternative_names=False)),
        ([("common", "a")], Subject("a", (), has_alternative_names=False)),
        (
            [("common", "a"), ("organization", "x"), ("organization", "y")],
            Subject("a", ("x", "y"), has_alternative_names=False),
        ),
        # As in Go, the last of several names counts.
        (
            [("organization", "x"), ("common", "a"), ("common", "b"), ("organization", "y")],
            Subject("b", ("x", "y"), has_alternative_names=False),
        ),
        ([("organization", "x")], Subject("", ("x",), has_alternative_names=False)),
    ],
)
def test_the_subject_of_a_certificate_request(
    names: list[tuple[str, str]], subject: Subject
) -> None:
    assert certificate_subject(certificate_request(*names)) == subject


WITHOUT = 'PodCertificateRequest for pod "default/p"'


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("nodeName", 'PodCertificateRequest.Spec.NodeName="", which is not the requesting node'
         ' "n1"'),
        ("nodeUID", f'{WITHOUT} names node UID "", inconsistent with the running node ("UID")'),
        ("podUID", f'{WITHOUT} contains pod UID ("") which differs from running pod "UID"'),
        ("serviceAccountName", f'{WITHOUT} contains serviceAccountName ("") that differs from'
         ' running pod ("a")'),
        ("serviceAccountUID", f'{WITHOUT} names service account UID "", which differs from the'
         ' running service account ("UID")'),
    ],
)  # fmt: skip
def test_what_a_request_for_the_certificate_of_a_pod_lacks(field: str, message: str) -> None:
    store = a_store(
        named("v1 Node", "n1", metadata={"uid": "UID"}),
        named("v1 ServiceAccount", "a", "default", metadata={"uid": "UID"}),
        named(
            "v1 Pod", "p", "default", metadata={"uid": "UID"},
            spec={"nodeName": "n1", "serviceAccountName": "a", "containers": []},
        ),
    )  # fmt: skip
    spec = {
        "nodeName": "n1", "nodeUID": "UID", "podName": "p", "podUID": "UID",
        "serviceAccountName": "a", "serviceAccountUID": "UID",
    }  # fmt: skip

    def answer(sent: dict[str, str]) -> Any:
        kind = "certificates.k8s.io/v1beta1 PodCertificateRequest"
        write = a_write(kind, {"metadata": {"name": "r"}, "spec": sent}, user=NODE)
        return outcome(NodeRestriction(a_context(store)), write)

    assert isinstance(answer(spec), dict)
    found = answer({name: value for name, value in spec.items() if name != field})
    assert str(found).endswith(message)
