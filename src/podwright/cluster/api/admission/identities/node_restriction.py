"""What nodes may write: their own node, and the pods that are bound to them.

Upstream: plugin/pkg/admission/noderestriction/admission.go;
staging/src/k8s.io/kubelet/pkg/apis/well_known_labels.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document, KubernetesObject, aggregated, go_quoted
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.identities.certificate_requests import (
    UnreadableRequest,
    certificate_subject,
)
from podwright.cluster.api.admission.plugin import Plugin, metadata_of, rejected, spec_of
from podwright.cluster.api.authorization import Access, Authorizer, allows
from podwright.cluster.api.pods.pod_references import referenced_resource
from podwright.cluster.api.rejections import Rejection, not_found
from podwright.cluster.api.users import NODE_PREFIX, node_of
from podwright.cluster.store import ObjectStore

_MIRROR: Final = "kubernetes.io/config.mirror"
_RESTRICTED: Final = "node-restriction.kubernetes.io"
_KUBELET_DOMAINS: Final = ("kubelet.kubernetes.io", "node.kubernetes.io")
_KUBELET_LABELS: Final = frozenset(
    {"kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
     "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
     "beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type",
     "kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch"}
)  # fmt: skip
_CLAIM_STATUS: Final = ("capacity", "conditions", "allocatedResourceStatuses", "allocatedResources")
_LEASES: Final = "kube-node-lease"


class NodeRestriction(Plugin):
    """Rejects writes of nodes to what is not theirs."""

    name = "NodeRestriction"

    def admit(self, attributes: Attributes) -> None:
        """Reject a write of a node."""
        node = node_of(attributes.user)
        if node is None or attributes.operation == "CONNECT":
            return
        if not node:
            text = f"could not determine node from user {go_quoted(attributes.user.name)}"
            raise rejected(attributes, text)
        resource = attributes.resource
        check = _CHECKS.get((resource.group, resource.plural))
        if check is None:
            return
        problem = check(_Write(node, attributes, self._store, self._authorizer))
        if isinstance(problem, Rejection):
            raise problem
        if problem is not None:
            raise rejected(attributes, problem)

    def decides_by_template(self, attributes: Attributes) -> bool:
        """Return whether the user is not a node."""
        return node_of(attributes.user) is None


class _Write(msgspec.Struct, frozen=True):
    """A write of a node, and what decides about it."""

    node: str
    attributes: Attributes
    store: ObjectStore
    authorizer: Authorizer


# -------------------------------------------------------------------------------- pods


def _pod(write: _Write) -> str | Rejection | None:
    attributes = write.attributes
    match attributes.subresource:
        case "":
            return _whole_pod(write)
        case "status":
            return _pod_status(write)
        case "eviction":
            return _eviction(write)
        case other:
            return (
                f"unexpected pod subresource {go_quoted(other)}, only 'status' and 'eviction' are"
                " allowed"
            )


def _whole_pod(write: _Write) -> str | Rejection | None:
    node, attributes = write.node, write.attributes
    if attributes.operation == "CREATE":
        return _new_pod(write)
    if attributes.operation != "DELETE":
        return (
            f"unexpected operation {go_quoted(attributes.operation)}, node {go_quoted(node)} can"
            " only create and delete mirror pods"
        )
    found = _stored_pod(write, attributes.name)
    if isinstance(found, Rejection):
        return found
    if _node_name(found) != node:
        return f"node {go_quoted(node)} can only delete pods with spec.nodeName set to itself"
    return None


def _new_pod(write: _Write) -> str | Rejection | None:
    node, attributes = write.node, write.attributes
    who, pod = f"node {go_quoted(node)}", attributes.object
    assert pod is not None, "a created pod is an object"
    metadata: Document = pod.get("metadata") or {}
    if _MIRROR not in (metadata.get("annotations") or {}):
        return (
            f"pod does not have {go_quoted(_MIRROR)} annotation, {who} can only create mirror pods"
        )
    if _node_name(pod) != node:
        return f"{who} can only create pods with spec.nodeName set to itself"
    problem = _owner_problem(write, metadata.get("ownerReferences") or [])
    if problem is not None:
        return problem
    resource = referenced_resource(pod)
    return None if resource is None else f"{who} can not create pods that reference {resource}"


def _owner_problem(write: _Write, owners: list[Document]) -> str | Rejection | None:
    """Return what is wrong with the owner of a mirror pod, which is its node."""
    node, who = write.node, f"node {go_quoted(write.node)}"
    if len(owners) > 1:
        return f"{who} can only create pods with a single owner reference set to itself"
    names = ("apiVersion", "kind", "name")
    if not owners or tuple(owners[0].get(name) for name in names) != ("v1", "Node", node):
        return f"{who} can only create pods with an owner reference set to itself"
    owner = owners[0]
    if not owner.get("controller"):
        return f"{who} can only create pods with a controller owner reference set to itself"
    if owner.get("blockOwnerDeletion"):
        return f"{who} must not set blockOwnerDeletion on an owner reference"
    found = write.store.get(("", "Node"), node)
    if found is None:
        return not_found("", "node", node)
    if owner.get("uid") != found.uid:
        uid = owner.get("uid") or ""
        return f"node {node} UID mismatch: expected {uid} got {found.uid}"
    return None


def _eviction(write: _Write) -> str | Rejection | None:
    node, attributes = write.node, write.attributes
    if attributes.operation != "CREATE":
        return f"unexpected operation {attributes.operation}"
    metadata = metadata_of(attributes)
    name = attributes.name or metadata.get("name") or ""
    if not name:
        return "could not determine pod from request data"
    found = _stored_pod(write, name)
    if isinstance(found, Rejection):
        return found
    if _node_name(found) != node:
        return f"node {node} can only evict pods with spec.nodeName set to itself"
    return None


def _stored_pod(write: _Write, name: str) -> Document | Rejection:
    found = write.store.get(("", "Pod"), f"{write.attributes.namespace}/{name}")
    return not_found("", "pod", name) if found is None else found.raw


# ----------------------------------------------------------------------- other objects


def _node(write: _Write) -> str | None:
    node, attributes = write.node, write.attributes
    if attributes.name != node:
        return f"node {go_quoted(node)} is not allowed to modify node {go_quoted(attributes.name)}"
    new, old = attributes.object or {}, attributes.old or {}
    if attributes.operation == "CREATE":
        if (new.get("spec") or {}).get("configSource") is not None:
            return (
                f"node {go_quoted(node)} is not allowed to create pods with a non-nil configSource"
            )
        if labels := _forbidden_labels(new, {}):
            return (
                f"node {go_quoted(node)} is not allowed to set the following labels:"
                f" {', '.join(labels)}"
            )
    if attributes.operation == "UPDATE":
        spec, before = new.get("spec") or {}, old.get("spec") or {}
        source = spec.get("configSource")
        if source is not None and source != before.get("configSource"):
            return (
                f"node {go_quoted(node)} is not allowed to update configSource to a new non-nil"
                " configSource"
            )
        if (spec.get("taints") or []) != (before.get("taints") or []):
            return f"node {go_quoted(node)} is not allowed to modify taints"
        if _owners(new) != _owners(old):
            return f"node {go_quoted(node)} is not allowed to modify ownerReferences"
        if labels := _forbidden_labels(new, old):
            return f"is not allowed to modify labels: {', '.join(labels)}"
    return None


def _claim(write: _Write) -> str | None:
    node, attributes = write.node, write.attributes
    if attributes.subresource != "status":
        return "may only update PVC status"
    if attributes.operation != "UPDATE":
        return f"unexpected operation {go_quoted(attributes.operation)}"
    if _unchanged_claim(attributes.object) != _unchanged_claim(attributes.old):
        return (
            f"node {go_quoted(node)} is not allowed to update fields other than status.quantity"
            " and status.conditions: the metadata, the spec or the rest of the status differs"
        )
    return None


def _account(write: _Write) -> str | Rejection | None:
    node, attributes = write.node, write.attributes
    if attributes.operation != "CREATE" or attributes.subresource != "token":
        return None
    reference = spec_of(attributes).get("boundObjectRef") or {}
    kind = (reference.get("apiVersion"), reference.get("kind"))
    if kind != ("v1", "Pod") or not reference.get("name"):
        return "node requested token not bound to a pod"
    uid = reference.get("uid") or ""
    if not uid:
        return "node requested token with a pod binding without a uid"
    found = _stored_pod(write, reference["name"])
    if isinstance(found, Rejection):
        return found
    if uid != found["metadata"].get("uid"):
        return (
            f"the UID in the bound object reference ({uid}) does not match the UID in record."
            " The object might have been deleted and then recreated"
        )
    if _node_name(found) != node:
        return "node requested token bound to a pod scheduled on a different node"
    return _audience_problem(write, found)


def _audience_problem(write: _Write, pod: Document) -> str | None:
    attributes = write.attributes
    audiences = spec_of(attributes).get("audiences") or [""]
    if len(audiences) > 1:
        return "node may only request 0 or 1 audiences"
    audience = audiences[0]
    problems: list[str] = []
    if audience in _audiences_of(write.store, pod, problems):
        return None
    if problems:
        return f"error validating audience {go_quoted(audience)}: {aggregated(problems)}"
    access = Access(
        user=attributes.user,
        verb="request-serviceaccounts-token-audience",
        version="v1",
        resource=audience,
        namespace=attributes.namespace,
        name=attributes.name,
    )
    if allows(write.authorizer, access):
        return None
    return (
        f"audience {go_quoted(audience)} not found in pod spec volume, {attributes.user.name} is"
        " not authorized to request tokens for this audience"
    )


def _audiences_of(store: ObjectStore, pod: Document, problems: list[str]) -> Iterator[str]:
    """Yield the audiences of tokens in the volumes of a pod and of its CSI drivers."""
    namespace = pod["metadata"].get("namespace") or ""
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if (token := source.get("serviceAccountToken")) is not None:
                yield token.get("audience") or ""
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if volume.get("ephemeral") is not None:
            claim = f"{pod['metadata']['name']}-{volume.get('name') or ''}"
        try:
            driver = (volume.get("csi") or {}).get("driver")
            driver = _driver_of(store, f"{namespace}/{claim}") if claim else driver
            if driver:
                spec = _existing(store, ("storage.k8s.io", "CSIDriver"), driver)
                for request in spec.get("tokenRequests") or ():
                    yield request.get("audience") or ""
        except Rejection as problem:
            problems.append(str(problem))


def _driver_of(store: ObjectStore, claim_key: str) -> str | None:
    claim = _existing(store, ("", "PersistentVolumeClaim"), claim_key)
    volume = _existing(store, ("", "PersistentVolume"), claim.get("volumeName") or "")
    driver: str | None = (volume.get("csi") or {}).get("driver")
    return driver


def _existing(store: ObjectStore, kind: tuple[str, str], key: str) -> Document:
    """Return the spec of an object, which has to exist."""
    found = store.get(kind, key)
    if found is None:
        raise not_found(kind[0], kind[1].lower(), key.rpartition("/")[2])
    spec: Document = found.raw.get("spec") or {}
    return spec


def _lease(write: _Write) -> str | None:
    node, attributes = write.node, write.attributes
    if attributes.namespace != _LEASES:
        return f"can only access leases in the {go_quoted(_LEASES)} system namespace"
    return _own_name(attributes, node, "can only access node lease")


def _csi_node(write: _Write) -> str | None:
    node, attributes = write.node, write.attributes
    return _own_name(attributes, node, "can only access CSINode")


def _slice(write: _Write) -> str | None:
    node, attributes = write.node, write.attributes
    if attributes.operation == "CREATE":
        if (spec_of(attributes).get("nodeName") or "") != node:
            return "can only create ResourceSlice with the same NodeName as the requesting node"
    elif attributes.operation == "DELETE":
        old = (attributes.old or {}).get("spec") or {}
        if (old.get("nodeName") or "") != node:
            return "can only delete ResourceSlice with the same NodeName as the requesting node"
    return None


def _own_name(attributes: Attributes, node: str, text: str) -> str | None:
    """Return the problem of an object that does not have the node's name."""
    metadata = metadata_of(attributes)
    name = attributes.name
    if attributes.operation == "CREATE":
        name = metadata.get("name") or ""
    return None if name == node else f"{text} with the same name as the requesting node"


def _pod_status(write: _Write) -> str | None:
    node, attributes = write.node, write.attributes
    if attributes.operation != "UPDATE":
        return f"unexpected operation {go_quoted(attributes.operation)}"
    new, old, who = attributes.object or {}, attributes.old or {}, f"node {go_quoted(node)}"
    if _node_name(old) != node:
        return f"{who} can only update pod status for pods with spec.nodeName set to itself"
    if _labels(new) != _labels(old):
        return f"{who} cannot update labels through pod status"
    status, before = new.get("status") or {}, old.get("status") or {}
    claims = "resourceClaimStatuses"
    if (status.get(claims) or []) != (before.get(claims) or []):
        return f"{who} cannot update resource claim statues"
    extended = "extendedResourceClaimStatus"
    if status.get(extended) != before.get(extended):
        return f"{who} cannot update extended resource claim status"
    return None


def _node_name(pod: Document) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")


def _labels(document: Document) -> dict[str, str]:
    labels: dict[str, str] = (document.get("metadata") or {}).get("labels") or {}
    return labels


def _owners(document: Document) -> list[Any]:
    owners: list[Any] = (document.get("metadata") or {}).get("ownerReferences") or []
    return owners


def _forbidden_labels(new: Document, old: Document) -> list[str]:
    """Return the changed labels that a node may not change, sorted."""
    now, before = _labels(new), _labels(old)
    changed = {key for key in now.keys() | before.keys() if now.get(key) != before.get(key)}
    return sorted(filter(_is_forbidden, changed))


def _is_forbidden(label: str) -> bool:
    domain = label.partition("/")[0] if "/" in label else ""
    if _is_in(domain, _RESTRICTED):
        return True
    if not _is_in(domain, "kubernetes.io") and not _is_in(domain, "k8s.io"):
        return False
    is_of_kubelet = any(_is_in(domain, each) for each in _KUBELET_DOMAINS)
    return label not in _KUBELET_LABELS and not is_of_kubelet


def _is_in(domain: str, parent: str) -> bool:
    return domain == parent or domain.endswith(f".{parent}")


def _unchanged_claim(claim: Document | None) -> Document:
    """Return what a node may not change of a claim."""
    document = claim or {}
    metadata = dict(document.get("metadata") or {})
    status = dict(document.get("status") or {})
    for name in ("resourceVersion", "managedFields"):
        metadata.pop(name, None)
    for name in _CLAIM_STATUS:
        status.pop(name, None)
    return document | {"metadata": metadata, "status": status}


def _certificate_request(write: _Write) -> str | None:
    """Return the problem of a request for a certificate of another node."""
    node, attributes = write.node, write.attributes
    spec = spec_of(attributes)
    if attributes.operation != "CREATE" or spec.get("signerName") not in _NODE_SIGNERS:
        return None
    try:
        subject = certificate_subject(spec.get("request") or "")
    except UnreadableRequest as error:
        return f"unable to parse csr: {error}"
    if subject.common_name != f"{NODE_PREFIX}{node}":
        return f"can only create a node CSR with CN={NODE_PREFIX}{node}"
    return None


def _pod_certificate(write: _Write) -> str | Rejection | None:
    """Return the problem of a request for the certificate of a pod that this node does not run."""
    attributes = write.attributes
    if attributes.operation != "CREATE":
        return f"unexpected operation {attributes.operation}"
    if attributes.subresource:
        return f"unexpected subresource {attributes.subresource}"
    spec = spec_of(attributes)
    node = spec.get("nodeName") or ""
    if node != write.node:
        what = f"PodCertificateRequest.Spec.NodeName={go_quoted(node)}"
        return f"{what}, which is not the requesting node {go_quoted(write.node)}"
    pod = f"{attributes.namespace}/{spec.get('podName') or ''}"
    return _certificate_of(write, spec, pod, f"PodCertificateRequest for pod {go_quoted(pod)}")


def _certificate_of(write: _Write, spec: Document, key: str, about: str) -> str | Rejection | None:
    node = _named(write, "Node", write.node)
    if isinstance(node, Rejection):
        return node
    if node.uid != (uid := spec.get("nodeUID") or ""):
        named = f"{about} names node UID {go_quoted(uid)}"
        return _perhaps_later(
            f"{named}, inconsistent with the running node ({go_quoted(node.uid)})"
        )
    pod = _named(write, "Pod", key)
    if isinstance(pod, Rejection):
        return pod
    if pod.uid != (uid := spec.get("podUID") or ""):
        named = f"{about} contains pod UID ({go_quoted(uid)})"
        return _perhaps_later(f"{named} which differs from running pod {go_quoted(pod.uid)}")
    if _node_name(pod.raw) != write.node:
        what = f"pod {go_quoted(key)} is not running on node {go_quoted(write.node)}"
        return f"{what} named in the PodCertificateRequest"
    if _MIRROR in (pod.raw["metadata"].get("annotations") or {}):
        return f"pod {go_quoted(key)} is a mirror pod"
    return _certificate_account(write, spec, pod, about)


def _certificate_account(
    write: _Write, spec: Document, pod: KubernetesObject, about: str
) -> str | Rejection | None:
    name = spec.get("serviceAccountName") or ""
    running = (pod.raw.get("spec") or {}).get("serviceAccountName") or ""
    if name != running:
        named = f"{about} contains serviceAccountName ({go_quoted(name)})"
        return f"{named} that differs from running pod ({go_quoted(running)})"
    account = _named(write, "ServiceAccount", f"{write.attributes.namespace}/{name}")
    if isinstance(account, Rejection):
        return account
    uid = spec.get("serviceAccountUID") or ""
    if account.uid == uid:
        return None
    named = f"{about} names service account UID {go_quoted(uid)}"
    return _perhaps_later(
        f"{named}, which differs from the running service account ({go_quoted(account.uid)})"
    )


def _named(write: _Write, kind: str, key: str) -> KubernetesObject | Rejection:
    """Return an object that a request for the certificate of a pod names."""
    found = write.store.get(("", kind), key)
    if found is not None:
        return found
    text = not_found("", kind.lower(), key.rpartition("/")[2])
    what = "service account" if kind == "ServiceAccount" else kind.lower()
    return _perhaps_later(
        f"while retrieving {what} {go_quoted(key)} named in the PodCertificateRequest: {text}"
    )


def _perhaps_later(message: str) -> Rejection:
    """Return a rejection that may be due to the lag of an informer, so that a retry may succeed."""
    return Rejection(500, "", message)


_NODE_SIGNERS: Final = (
    "kubernetes.io/kubelet-serving",
    "kubernetes.io/kube-apiserver-client-kubelet",
)

_Check: TypeAlias = Callable[[_Write], str | Rejection | None]

_CHECKS: Final[dict[tuple[str, str], _Check]] = {
    ("", "pods"): _pod,
    ("", "nodes"): _node,
    ("", "persistentvolumeclaims"): _claim,
    ("", "serviceaccounts"): _account,
    ("certificates.k8s.io", "certificatesigningrequests"): _certificate_request,
    ("certificates.k8s.io", "podcertificaterequests"): _pod_certificate,
    ("coordination.k8s.io", "leases"): _lease,
    ("storage.k8s.io", "csinodes"): _csi_node,
    ("resource.k8s.io", "resourceslices"): _slice,
}
"""The checks by resource."""
