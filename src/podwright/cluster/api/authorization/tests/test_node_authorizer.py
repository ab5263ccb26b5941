"""What nodes may read and write."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import parse_field_selector
from podwright.apimachinery.schema import decode
from podwright.cluster.api.authorization import (
    Access,
    AuthorizerChain,
    Decision,
    RoleResolver,
    authorizer_chain,
)
from podwright.cluster.api.resource_storage import ResourceStorage
from podwright.cluster.api.users import NODES, User
from podwright.cluster.store import ObjectStore

NODE = User("system:node:n1", groups=(NODES, "system:authenticated"))


def create(store: ObjectStore, kind: str, name: str, *, namespace: str = "", **parts: Any) -> None:
    versions = {
        "VolumeAttachment": "storage.k8s.io/v1",
        "ResourceSlice": "resource.k8s.io/v1",
        "PodCertificateRequest": "certificates.k8s.io/v1beta1",
    }
    metadata: dict[str, Any] = {"name": name} | ({"namespace": namespace} if namespace else {})
    metadata |= parts.pop("metadata", {})
    document = {"apiVersion": versions.get(kind, "v1"), "kind": kind, "metadata": metadata, **parts}
    ResourceStorage(store).create(decode(document), 0)


@pytest.fixture
def nodes() -> AuthorizerChain:
    return chain_of(frozenset())


def chain_of(disabled_gates: frozenset[str]) -> AuthorizerChain:
    store = ObjectStore()
    volumes = [
        {"name": "a", "secret": {"secretName": "own"}},
        {"name": "b", "configMap": {"name": "settings"}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "d", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
    ]
    containers = [{"name": "c", "image": "i"}]
    spec = {"nodeName": "n1", "serviceAccountName": "robot", "containers": containers,
            "volumes": volumes,
            "resourceClaims": [{"name": "g", "resourceClaimName": "gpu"}]}  # fmt: skip
    create(store, "Pod", "p1", namespace="apps", spec=spec)
    other = {"nodeName": "n2", "containers": containers,
             "volumes": [{"name": "a", "secret": {"secretName": "others"}}]}  # fmt: skip
    create(store, "Pod", "p2", namespace="apps", spec=other)
    mirror = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    hidden = {"nodeName": "n1", "containers": containers,
              "volumes": [{"name": "a", "secret": {"secretName": "hidden"}}]}  # fmt: skip
    create(store, "Pod", "p3", namespace="apps", metadata=mirror, spec=hidden)
    claim = {"namespace": "apps", "name": "data"}
    driver = {"driver": "d", "volumeHandle": "h",
              "nodePublishSecretRef": {"namespace": "storage", "name": "login"}}  # fmt: skip
    create(store, "PersistentVolume", "pv1", spec={"claimRef": claim, "csi": driver})
    create(store, "PersistentVolume", "pv2", spec={"csi": driver})
    source = {"persistentVolumeName": "pv1"}
    for name, node in (("va1", "n1"), ("va2", "n2")):
        attachment = {"attacher": "d", "nodeName": node, "source": source}
        create(store, "VolumeAttachment", name, spec=attachment)
        pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
        own = {"driver": "d", "nodeName": node, "pool": pool, "devices": []}
        create(store, "ResourceSlice", f"slice-{node}", spec=own)
        request = {"nodeName": node}
        create(store, "PodCertificateRequest", f"r-{node}", namespace="apps", spec=request)
    return authorizer_chain(["Node"], store, RoleResolver(store), disabled_gates)


UNRELATED = "no relationship found between node 'n1' and this object"
REQUESTS = "podcertificaterequests.certificates.k8s.io"
GET_ONLY = "can only get individual resources of this type"


@pytest.mark.parametrize(
    ("verb", "resource", "name", "reason"),
    [
        ("get", "secrets", "own", None),
        ("list", "secrets", "own", None),
        ("list", "secrets", "", "No Object name found"),
        ("update", "secrets", "own", "can only read resources of this type"),
        ("get", "secrets", "others", UNRELATED),
        ("get", "secrets", "hidden", UNRELATED),
        ("get", "configmaps", "settings", None),
        ("get", "configmaps", "x", UNRELATED),
        ("get", "persistentvolumeclaims", "data", None),
        ("get", "persistentvolumeclaims", "p1-d", None),
        ("list", "persistentvolumeclaims", "", GET_ONLY),
        ("patch", "persistentvolumeclaims/status", "data", None),
        ("get", "persistentvolumeclaims/status", "data", "can only get/update/patch this type"),
        ("get", "resourceclaims.resource.k8s.io", "gpu", None),
        ("get", "resourceclaims.resource.k8s.io", "x", UNRELATED),
        ("get", "serviceaccounts", "robot", None),
        ("create", "serviceaccounts/token", "robot", None),
        ("create", "serviceaccounts/token", "x", UNRELATED),
        ("delete", "serviceaccounts", "robot",
         "can only create tokens for individual service accounts"),
        ("get", "pods", "p1", None),
        ("get", "pods", "p2", UNRELATED),
        ("list", "pods", "", "can only list/watch pods with spec.nodeName field selector"),
        ("list", "pods", "p1", None),
        ("create", "pods", "", None),
        ("update", "pods/status", "p2", None),
        ("update", "pods", "p1", ""),
        ("create", "pods/eviction", "p1", None),
        ("get", "leases.coordination.k8s.io", "n1",
         'can only access leases in the "kube-node-lease" system namespace'),
        ("create", REQUESTS, "", None),
        ("get", REQUESTS, "r-n1", None),
        ("get", REQUESTS, "r-n2", UNRELATED),
        ("list", REQUESTS, "",
         "can only list/watch podcertificaterequests with nodeName field selector"),
        ("delete", REQUESTS, "r-n1", "nodes may not delete podcertificaterequests"),
        ("get", f"{REQUESTS}/status", "r-n1",
         "nodes may not access the status subresource of PodCertificateRequests"),
    ],
)  # fmt: skip
def test_objects_in_a_namespace(nodes, verb, resource, name, reason):
    expect(nodes, verb, resource, name, reason, namespace="apps")


@pytest.mark.parametrize(
    ("verb", "resource", "name", "reason"),
    [
        ("get", "nodes", "n1", None),
        ("get", "nodes", "n2", "node 'n1' cannot read 'n2', only its own Node object"),
        ("list", "nodes", "", "node 'n1' cannot read all nodes, only its own Node object"),
        ("patch", "nodes/status", "n2", None),
        ("delete", "nodes", "n1", ""),
        ("get", "persistentvolumes", "pv1", None),
        ("get", "persistentvolumes", "pv2", UNRELATED),
        ("list", "persistentvolumes", "", GET_ONLY),
        ("get", "volumeattachments.storage.k8s.io", "va1", None),
        ("get", "volumeattachments.storage.k8s.io", "va2", UNRELATED),
        ("get", "csinodes.storage.k8s.io", "n1", None),
        ("get", "csinodes.storage.k8s.io", "n2",
         "can only access CSINode with the same name as the requesting node"),
        ("list", "csinodes.storage.k8s.io", "",
         "can only get, create, update, patch, or delete a CSINode"),
        ("update", "resourceslices.resource.k8s.io", "slice-n1", None),
        ("update", "resourceslices.resource.k8s.io", "slice-n2", UNRELATED),
        ("list", "resourceslices.resource.k8s.io", "",
         "can only list/watch/deletecollection resourceslices with nodeName field selector"),
        ("create", "events", "", None),
        ("list", "services", "", None),
        ("list", "deployments.apps", "", ""),
    ],
)  # fmt: skip
def test_objects_of_the_cluster(nodes, verb, resource, name, reason):
    expect(nodes, verb, resource, name, reason)


def test_the_secret_of_a_volume_is_readable_in_its_namespace(nodes):
    expect(nodes, "get", "secrets", "login", None, namespace="storage")
    expect(nodes, "get", "secrets", "login", UNRELATED, namespace="apps")


def test_lists_may_be_restricted_to_the_node(nodes):
    fields = parse_field_selector("spec.nodeName=n1")
    expect(nodes, "list", "pods", "", None, fields=fields)
    expect(nodes, "watch", "resourceslices.resource.k8s.io", "", None, fields=fields)
    expect(nodes, "watch", REQUESTS, "", None, fields=fields, namespace="apps")
    others = parse_field_selector("spec.nodeName=n2")
    assert decided(nodes, "list", "pods", "", fields=others).is_allowed is None


def test_feature_gates_give_rights():
    certificate = "PodCertificateRequest"
    credential = "KubeletServiceAccountTokenForCredentialProviders"
    where = {"namespace": "apps"}
    without = chain_of(frozenset({certificate}))
    expect(without, "get", REQUESTS, "r-n1", "", **where)
    expect(without, "get", "serviceaccounts", "robot", None, **where)
    without = chain_of(frozenset({certificate, credential}))
    reason = "not allowed to get service accounts"
    expect(without, "get", "serviceaccounts", "robot", reason, **where)


def test_leases(nodes):
    where = {"namespace": "kube-node-lease"}
    expect(nodes, "update", "leases.coordination.k8s.io", "n1", None, **where)
    expect(nodes, "create", "leases.coordination.k8s.io", "", None, **where)
    text = "can only access node lease with the same name as the requesting node"
    expect(nodes, "get", "leases.coordination.k8s.io", "n2", text, **where)


def test_only_nodes_are_nodes(nodes):
    user = User("system:node:n1")
    access = Access(user=user, verb="get", resource="nodes", name="n1")
    assert nodes.authorize(access) == Decision(is_allowed=None)
    unknown = User("system:node:", groups=(NODES,))
    access = Access(user=unknown, verb="get", resource="nodes", name="n1")
    assert nodes.authorize(access).reason == 'unknown node for user "system:node:"'


def test_the_rights_of_nodes_cannot_be_listed(nodes):
    found = nodes.rules_for(NODE, "apps")
    assert found.is_incomplete
    assert found.errors == ("node authorizer does not support user rule resolution",)


def decided(nodes: AuthorizerChain, verb: str, resource: str, name: str, **more: Any) -> Decision:
    resource, _, subresource = resource.partition("/")
    resource, _, group = resource.partition(".")
    return nodes.authorize(
        Access(
            user=NODE, verb=verb, resource=resource, group=group, subresource=subresource,
            name=name, **more,
        )
    )  # fmt: skip


def expect(
    nodes: AuthorizerChain, verb: str, resource: str, name: str, reason: str | None, **more: Any
) -> None:
    """Check a decision; without a reason the access is allowed."""
    found = decided(nodes, verb, resource, name, **more)
    expected = Decision(is_allowed=True) if reason is None else Decision(None, reason)
    assert found == expected
