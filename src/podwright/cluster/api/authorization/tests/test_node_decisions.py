"""What a node may do with each kind of objects, access by access, with the reason of a refusal."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document, FieldRequirement, FieldSelector
from podwright.apimachinery.schema import decode
from podwright.cluster.api.authorization import Access
from podwright.cluster.api.authorization.node_authorizer import NodeAuthorizer
from podwright.cluster.api.users import NODES, User
from podwright.cluster.store import ObjectStore

NODE = User("system:node:n1", groups=(NODES,))
UNRELATED = "no relationship found between node 'n1' and this object"
NO_NAME = "No Object name found"
VERSIONS = {
    "VolumeAttachment": "storage.k8s.io/v1", "ResourceSlice": "resource.k8s.io/v1",
    "PodCertificateRequest": "certificates.k8s.io/v1beta1",
}  # fmt: skip


def put(store: ObjectStore, kind: str, name: str, namespace: str = "", **parts: Any) -> None:
    metadata: Document = {"name": name} | ({"namespace": namespace} if namespace else {})
    metadata |= parts.pop("metadata", {})
    document = {"apiVersion": VERSIONS.get(kind, "v1"), "kind": kind, "metadata": metadata}
    store.put(decode(document | parts))


@pytest.fixture(scope="module")
def store() -> ObjectStore:
    store = ObjectStore()
    spec = {
        "nodeName": "n1",
        "serviceAccountName": "robot",
        "containers": [{"name": "c", "image": "i"}],
        "volumes": [
            {"name": "a", "secret": {"secretName": "own"}},
            {"name": "b", "configMap": {"name": "settings"}},
            {"name": "c", "persistentVolumeClaim": {"claimName": "data"}},
        ],
        "resourceClaims": [{"name": "g", "resourceClaimName": "gpu"}],
    }
    status = {
        "resourceClaimStatuses": [
            {"name": "h", "resourceClaimName": "made"}, {"name": "i", "resourceClaimName": None},
        ],
        "extendedResourceClaimStatus": {"resourceClaimName": "extended", "requestMappings": []},
    }  # fmt: skip
    put(store, "Pod", "p", "apps", spec=spec, status=status)
    mirror = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    put(store, "Pod", "mirror", "apps", metadata=mirror, spec=spec | {
        "serviceAccountName": "hidden",
        "volumes": [{"name": "a", "secret": {"secretName": "hidden"}},
                    {"name": "c", "persistentVolumeClaim": {"claimName": "hidden"}}],
    })  # fmt: skip
    put(store, "Pod", "other", "apps", spec=spec | {"nodeName": "n2", "serviceAccountName": "x"})
    for name, claim, source in (
        ("v1", "data", {"csi": {"driver": "d", "volumeHandle": "h",
                                "nodePublishSecretRef": {"name": "csi", "namespace": "keys"},
                                "nodeStageSecretRef": {"name": "stage"},
                                "nodeExpandSecretRef": {"name": "grow"},
                                "controllerPublishSecretRef": {"name": "attach"},
                                "controllerExpandSecretRef": {"name": "expand"}}}),
        ("v2", "hidden", {"azureFile": {"secretName": "azure-hidden", "shareName": "s"}}),
        ("v3", "data", {"azureFile": {"secretName": "azure", "shareName": "s",
                                      "secretNamespace": None}}),
        ("v4", "data", {"azureFile": {"secretName": "azure", "shareName": "s",
                                      "secretNamespace": "other"}}),
    ):  # fmt: skip
        reference = {"namespace": "apps", "name": claim}
        put(store, "PersistentVolume", name, spec={"claimRef": reference} | source)
    for name, node in (("mine", "n1"), ("theirs", "n2")):
        put(store, "VolumeAttachment", name, spec={"nodeName": node, "attacher": "a", "source": {}})
        put(store, "ResourceSlice", name, spec={"nodeName": node})
        put(store, "PodCertificateRequest", name, "apps", spec={"nodeName": node})
    return store


def access(text: str, **more: Any) -> Access:
    """Return an access by `VERB RESOURCE[.GROUP][/SUBRESOURCE] [NAMESPACE/][NAME]`."""
    verb, what, where = f"{text} ".split(" ")[:3]
    path, _, subresource = what.partition("/")
    resource, _, group = path.partition(".")
    namespace, _, name = where.rpartition("/")
    return Access(
        user=NODE, verb=verb, group=group, version="v1", resource=resource,
        subresource=subresource, namespace=namespace, name=name, **more,
    )  # fmt: skip


READ_ONLY = "can only read resources of this type"
NAMESPACED = "can only read namespaced object of this type"
GET_ONLY = "can only get individual resources of this type"
LEASE = "coordination.k8s.io"
SLICES = "resourceslices.resource.k8s.io"
REQUESTS = "podcertificaterequests.certificates.k8s.io"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("get secrets apps/own", None),
        ("list secrets apps/own", None),
        ("watch secrets apps/own", None),
        ("get secrets other/own", UNRELATED),
        ("get secrets apps/x", UNRELATED),
        ("get secrets apps/hidden", UNRELATED),
        ("get secrets keys/csi", None),
        ("get secrets apps/csi", UNRELATED),
        ("get secrets apps/stage", None),
        ("get secrets apps/grow", None),
        ("get secrets apps/attach", UNRELATED),
        ("get secrets apps/expand", UNRELATED),
        ("get secrets apps/azure", None),
        ("get secrets other/azure", None),
        ("get secrets apps/azure-hidden", UNRELATED),
        ("update secrets apps/own", READ_ONLY),
        ("get secrets/x apps/own", "cannot read subresource"),
        ("get secrets own", NAMESPACED),
        ("list secrets apps/", NO_NAME),
        ("get configmaps apps/settings", None),
        ("get configmaps apps/x", UNRELATED),
        ("delete configmaps apps/settings", READ_ONLY),
        ("get persistentvolumeclaims apps/data", None),
        ("get persistentvolumeclaims apps/x", UNRELATED),
        ("get persistentvolumeclaims apps/hidden", UNRELATED),
        ("list persistentvolumeclaims apps/data", GET_ONLY),
        ("get persistentvolumeclaims/x apps/data", "cannot get subresource"),
        ("update persistentvolumeclaims/status apps/data", None),
        ("patch persistentvolumeclaims/status apps/data", None),
        ("update persistentvolumeclaims/status apps/x", UNRELATED),
        ("get persistentvolumeclaims/status apps/data", "can only get/update/patch this type"),
        ("get persistentvolumes v1", None),
        ("get persistentvolumes v2", UNRELATED),
        ("get persistentvolumes x", UNRELATED),
        ("list persistentvolumes v1", GET_ONLY),
        ("get serviceaccounts apps/robot", None),
        ("get serviceaccounts apps/hidden", UNRELATED),
        ("get serviceaccounts apps/x", UNRELATED),
        ("list serviceaccounts apps/robot",
         "can only create tokens for individual service accounts"),
        ("create serviceaccounts/token apps/robot", None),
        ("create serviceaccounts/token apps/x", UNRELATED),
        ("create serviceaccounts/token apps/",
         "can only create tokens for individual service accounts"),
        ("get serviceaccounts/token apps/robot",
         "can only create tokens for individual service accounts"),
        ("create serviceaccounts apps/robot",
         "can only create token subresource of serviceaccount"),
        ("get resourceclaims.resource.k8s.io apps/gpu", None),
        ("get resourceclaims.resource.k8s.io apps/made", None),
        ("get resourceclaims.resource.k8s.io apps/extended", None),
        ("get resourceclaims.resource.k8s.io apps/x", UNRELATED),
        ("update resourceclaims.resource.k8s.io apps/gpu", GET_ONLY),
        ("get volumeattachments.storage.k8s.io mine", None),
        ("get volumeattachments.storage.k8s.io theirs", UNRELATED),
        ("get volumeattachments.storage.k8s.io x", UNRELATED),
        *((f"{verb} leases.{LEASE} kube-node-lease/n1", None)
          for verb in ("get", "create", "update", "patch", "delete")),
        (f"list leases.{LEASE} kube-node-lease/n1",
         "can only get, create, update, patch, or delete a node lease"),
        (f"get leases.{LEASE} default/n1",
         'can only access leases in the "kube-node-lease" system namespace'),
        (f"get leases.{LEASE} kube-node-lease/n2",
         "can only access node lease with the same name as the requesting node"),
        (f"create leases.{LEASE} kube-node-lease/", None),
        *((f"{verb} csinodes.storage.k8s.io n1", None)
          for verb in ("get", "create", "update", "patch", "delete")),
        ("list csinodes.storage.k8s.io n1",
         "can only get, create, update, patch, or delete a CSINode"),
        ("get csinodes.storage.k8s.io n2",
         "can only access CSINode with the same name as the requesting node"),
        ("create csinodes.storage.k8s.io ", None),
        ("get csinodes.storage.k8s.io/status n1", "cannot authorize CSINode subresources"),
        (f"create {SLICES} ", None),
        *((f"{verb} {SLICES} mine", None) for verb in ("get", "update", "patch", "delete")),
        (f"delete {SLICES} theirs", UNRELATED),
        (f"get {SLICES}/x mine", "cannot authorize ResourceSlice subresources"),
        (f"list {SLICES} ",
         "can only list/watch/deletecollection resourceslices with nodeName field selector"),
        (f"bind {SLICES} ",
         "only the following verbs are allowed for a ResourceSlice: get, watch, list, create,"
         " update, patch, delete, deletecollection"),
        ("get nodes n1", None),
        ("list nodes n1", None),
        ("create nodes ", None),
        ("update nodes n2", None),
        ("patch nodes n2", None),
        ("get nodes n2", "node 'n1' cannot read 'n2', only its own Node object"),
        ("list nodes ", "node 'n1' cannot read all nodes, only its own Node object"),
        ("delete nodes n1", ""),
        ("update nodes/status n2", None),
        ("get nodes/status n1", ""),
        ("get nodes/proxy n1", ""),
        ("get pods apps/p", None),
        ("get pods apps/other", UNRELATED),
        ("list pods apps/", "can only list/watch pods with spec.nodeName field selector"),
        ("watch pods apps/p", None),
        ("list pods apps/other", UNRELATED),
        ("create pods apps/", None),
        ("delete pods apps/other", None),
        ("update pods/status apps/other", None),
        ("patch pods/status apps/other", None),
        ("create pods/eviction apps/p", None),
        ("update pods apps/p", ""),
        ("get pods/status apps/p", ""),
        (f"create {REQUESTS} apps/", None),
        (f"get {REQUESTS} apps/mine", None),
        (f"get {REQUESTS} apps/theirs", UNRELATED),
        (f"list {REQUESTS} apps/",
         "can only list/watch podcertificaterequests with nodeName field selector"),
        (f"update {REQUESTS} apps/mine", "nodes may not update podcertificaterequests"),
        (f"get {REQUESTS}/status apps/mine",
         "nodes may not access the status subresource of PodCertificateRequests"),
        # Other rights are those of the role.
        ("get services default/s", None),
        ("delete services default/s", ""),
    ],
)  # fmt: skip
def test_what_a_node_may_do(store: ObjectStore, text: str, reason: str | None) -> None:
    found = NodeAuthorizer(store, frozenset()).authorize(access(text))
    assert found.is_allowed is (True if reason is None else None)
    assert found.reason == (reason or "")


def of_node(name: str, *, is_negated: bool = False) -> FieldSelector:
    return FieldSelector((FieldRequirement("spec.nodeName", name, is_negated),))


@pytest.mark.parametrize(
    "text", [f"list {SLICES}", f"watch {SLICES}", f"deletecollection {SLICES}", "list pods apps/",
             "watch pods apps/", f"list {REQUESTS} apps/", f"watch {REQUESTS} apps/"]
)  # fmt: skip
def test_lists_of_what_is_on_the_node(store: ObjectStore, text: str) -> None:
    authorizer = NodeAuthorizer(store, frozenset())
    for fields, is_allowed in (
        (of_node("n1"), True),
        (of_node("n2"), None),
        (of_node("n1", is_negated=True), None),
        (FieldSelector((FieldRequirement("metadata.name", "n1"),)), None),
    ):
        found = authorizer.authorize(access(text, fields=fields))
        assert found.is_allowed is is_allowed, fields


def test_gates_that_are_off(store: ObjectStore) -> None:
    requests = "PodCertificateRequest"
    tokens = "KubeletServiceAccountTokenForCredentialProviders"
    for gates, of_account, of_requests in (
        (frozenset[str](), (True, ""), (True, "")),
        (frozenset({tokens}), (True, ""), (True, "")),
        (frozenset({requests}), (True, ""), (None, "")),
        (
            frozenset({requests, tokens}), (None, "not allowed to get service accounts"),
            (None, ""),
        ),
    ):  # fmt: skip
        authorizer = NodeAuthorizer(store, gates)
        found = authorizer.authorize(access("get serviceaccounts apps/robot"))
        assert (found.is_allowed, found.reason) == of_account, gates
        found = authorizer.authorize(access(f"get {REQUESTS} apps/mine"))
        assert (found.is_allowed, found.reason) == of_requests, gates


def test_users_that_are_no_nodes(store: ObjectStore) -> None:
    authorizer = NodeAuthorizer(store, frozenset())
    for user, reason in (
        (User("ada", groups=(NODES,)), ""),
        (User("system:node:", groups=(NODES,)), 'unknown node for user "system:node:"'),
        (User("system:node:n1"), ""),
        (User("ada"), ""),
    ):
        question = Access(user=user, verb="get", resource="nodes", name="n1")
        found = authorizer.authorize(question)
        assert found.is_allowed is None
        assert found.reason == reason
    listed = authorizer.rules_for(NODE, "default")
    assert (listed.rules, listed.is_incomplete) == ([], True)
    assert listed.errors == ("node authorizer does not support user rule resolution",)
    assert authorizer.rules_for(User("ada"), "default").is_incomplete is False
    path = Access(user=NODE, verb="get", is_resource=False, path="/x")
    assert authorizer.authorize(path).is_allowed is None
