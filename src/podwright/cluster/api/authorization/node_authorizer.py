"""What nodes may read: their own node, and what the pods that are bound to them use.

Upstream keeps a graph from each object to the nodes that may read it. Here the pods of the node are
searched, of which there are few.

Upstream: plugin/pkg/auth/authorizer/node/{node_authorizer,graph,graph_populator}.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document, go_quoted, parse_field_selector
from podwright.cluster.api.authorization.access import (
    ALLOWED,
    NO_OPINION,
    Access,
    Decision,
    Rules,
)
from podwright.cluster.api.authorization.bootstrap_policy import bootstrap_policy
from podwright.cluster.api.authorization.policy_rules import rule_allows
from podwright.cluster.api.pods.pod_references import claim_names, config_map_names, secret_names
from podwright.cluster.api.users import User, node_of
from podwright.cluster.store import ObjectStore

_CERTIFICATE_GATE: Final = "PodCertificateRequest"
_ACCOUNT_GATES: Final = frozenset(
    {_CERTIFICATE_GATE, "KubeletServiceAccountTokenForCredentialProviders"}
)
_LEASES: Final = "kube-node-lease"
_MIRROR: Final = "kubernetes.io/config.mirror"
_NODE_SECRETS: Final = (
    "secretRef", "nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef",
)  # fmt: skip
_OWN_VERBS: Final = ("get", "create", "update", "patch", "delete")
_WRITES: Final = ("update", "patch")
_LISTS: Final = ("list", "watch")


class NodeAuthorizer:
    """Allows nodes what upstream's authorizer of that name does.

    Parameters
    ----------
    store : ObjectStore
    disabled_gates : frozenset of str
        The feature gates that are off.
    """

    def __init__(self, store: ObjectStore, disabled_gates: frozenset[str]) -> None:
        self._store = store
        self._disabled_gates = disabled_gates
        (role,) = (
            each
            for each in bootstrap_policy(disabled_gates)
            if (each["kind"], each["metadata"]["name"]) == ("ClusterRole", "system:node")
        )
        self._rules: list[Document] = role["rules"]

    def authorize(self, access: Access) -> Decision:
        """Decide about an access of a node; have no opinion about other users."""
        node = node_of(access.user)
        if node is None:
            return NO_OPINION
        if not node:
            return _no(f"unknown node for user {go_quoted(access.user.name)}")
        decide = _DECISIONS.get((access.group, access.resource)) if access.is_resource else None
        if decide is not None:
            return decide(_Question(node, access, self._store, self._disabled_gates))
        return ALLOWED if any(rule_allows(rule, access) for rule in self._rules) else NO_OPINION

    def rules_for(self, user: User, _namespace: str) -> Rules:
        """Say that the rights of a node cannot be listed."""
        if node_of(user) is None:
            return Rules([])
        error = "node authorizer does not support user rule resolution"
        return Rules([], is_incomplete=True, errors=(error,))


class _Question(msgspec.Struct, frozen=True):
    """An access of a node, and the objects that decide about it."""

    node: str
    access: Access
    store: ObjectStore
    disabled_gates: frozenset[str]

    def pods(self, *, namespace: str = "") -> Iterator[Document]:
        """Yield the pods of the node."""
        fields = parse_field_selector(f"spec.nodeName={self.node}")
        found = self.store.list(("", "Pod"), namespace=namespace or None, fields=fields)
        for pod in found.objects:
            yield pod.raw

    def readers(self) -> Iterator[Document]:
        """Yield the pods of the node in the namespace that read objects by name."""
        for pod in self.pods(namespace=self.access.namespace):
            if _MIRROR not in (pod["metadata"].get("annotations") or {}):
                yield pod

    def volumes(self) -> Iterator[Document]:
        """Yield the persistent volumes of the claims of the node's pods."""
        claims = {
            f"{pod['metadata'].get('namespace', '')}/{name}"
            for pod in self.pods()
            if _MIRROR not in (pod["metadata"].get("annotations") or {})
            for name in claim_names(pod)
        }
        for volume in self.store.list(("", "PersistentVolume")).objects:
            reference = (volume.raw.get("spec") or {}).get("claimRef") or {}
            if f"{reference.get('namespace', '')}/{reference.get('name', '')}" in claims:
                yield volume.raw

    def related(self, is_related: bool) -> Decision:  # noqa: FBT001 - the answer to the question
        """Return the decision about an object by whether it is related to the node."""
        if not self.access.name:
            return _no("No Object name found")
        if is_related:
            return ALLOWED
        return _no(f"no relationship found between node '{self.node}' and this object")


def _no(reason: str) -> Decision:
    return Decision(is_allowed=None, reason=reason)


def _readable(question: _Question, is_related: Callable[[_Question], bool]) -> Decision:
    """Decide about a secret or a config map."""
    access = question.access
    if access.verb not in ("get", *_LISTS):
        return _no("can only read resources of this type")
    if access.subresource:
        return _no("cannot read subresource")
    if not access.namespace:
        return _no("can only read namespaced object of this type")
    return question.related(bool(access.name) and is_related(question))


def _gettable(question: _Question, is_related: Callable[[_Question], bool]) -> Decision:
    access = question.access
    if access.verb != "get":
        return _no("can only get individual resources of this type")
    if access.subresource:
        return _no("cannot get subresource")
    return question.related(is_related(question))


def _uses_secret(question: _Question) -> bool:
    name = question.access.name
    if any(name in secret_names(pod.get("spec") or {}) for pod in question.readers()):
        return True
    key = (question.access.namespace, name)
    return any(key in _volume_secrets(volume) for volume in question.volumes())


def _volume_secrets(volume: Document) -> Iterator[tuple[str, str]]:
    """Yield the namespaces and names of the secrets of a persistent volume that nodes read.

    Upstream: pkg/api/v1/persistentvolume/util.go, VisitPVSecretNames
    """
    spec: Document = volume.get("spec") or {}
    own = (spec.get("claimRef") or {}).get("namespace") or ""
    for fields in spec.values():
        if not isinstance(fields, dict):
            continue
        for field, reference in fields.items():
            if field == "secretName" and reference:
                yield fields.get("secretNamespace") or own, reference
            elif field in _NODE_SECRETS and isinstance(reference, dict):
                yield reference.get("namespace") or own, reference.get("name") or ""


def _uses_config_map(question: _Question) -> bool:
    name = question.access.name
    return any(name in config_map_names(pod.get("spec") or {}) for pod in question.readers())


def _uses_claim(question: _Question) -> bool:
    return any(question.access.name in claim_names(pod) for pod in question.readers())


def _uses_volume(question: _Question) -> bool:
    name = question.access.name
    return any(volume["metadata"]["name"] == name for volume in question.volumes())


def _uses_device_claim(question: _Question) -> bool:
    name = question.access.name
    return any(name in _device_claims(pod) for pod in question.readers())


def _device_claims(pod: Document) -> Iterator[str]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    for claim in spec.get("resourceClaims") or ():
        if own := claim.get("resourceClaimName"):
            yield own
    for claim in status.get("resourceClaimStatuses") or ():
        if own := claim.get("resourceClaimName"):
            yield own
    if extended := status.get("extendedResourceClaimStatus"):
        yield extended.get("resourceClaimName") or ""


def _runs_as(question: _Question) -> bool:
    name = question.access.name
    pods = question.readers()
    return any((pod.get("spec") or {}).get("serviceAccountName") == name for pod in pods)


def _is_on_node(question: _Question, group: str, kind: str) -> bool:
    access = question.access
    key = f"{access.namespace}/{access.name}" if access.namespace else access.name
    found = question.store.get((group, kind), key)
    spec = {} if found is None else found.raw.get("spec") or {}
    return bool(spec.get("nodeName") == question.node)


# --------------------------------------------------------------------------- resources


def _claim(question: _Question) -> Decision:
    if question.access.subresource != "status":
        return _gettable(question, _uses_claim)
    if question.access.verb not in _WRITES:
        return _no("can only get/update/patch this type")
    return question.related(_uses_claim(question))


def _account(question: _Question) -> Decision:
    access = question.access
    if access.verb == "get" and not access.subresource:
        if question.disabled_gates >= _ACCOUNT_GATES:
            return _no("not allowed to get service accounts")
        return _readable(question, _runs_as)
    if access.verb != "create" or not access.name:
        return _no("can only create tokens for individual service accounts")
    if access.subresource != "token":
        return _no("can only create token subresource of serviceaccount")
    return question.related(_runs_as(question))


def _certificate_request(question: _Question) -> Decision:
    access = question.access
    if _CERTIFICATE_GATE in question.disabled_gates:
        return NO_OPINION
    if access.subresource:
        return _no("nodes may not access the status subresource of PodCertificateRequests")
    match access.verb:
        case "create":
            # The object is checked by the plugin NodeRestriction.
            return ALLOWED
        case "get":
            is_own = _is_on_node(question, "certificates.k8s.io", "PodCertificateRequest")
            return question.related(is_own)
        case "list" | "watch":
            if access.requires("spec.nodeName", question.node):
                return ALLOWED
            return _no("can only list/watch podcertificaterequests with nodeName field selector")
        case verb:
            return _no(f"nodes may not {verb} podcertificaterequests")


def _lease(question: _Question) -> Decision:
    access = question.access
    if access.verb not in _OWN_VERBS:
        return _no("can only get, create, update, patch, or delete a node lease")
    if access.namespace != _LEASES:
        return _no(f"can only access leases in the {go_quoted(_LEASES)} system namespace")
    if access.verb != "create" and access.name != question.node:
        return _no("can only access node lease with the same name as the requesting node")
    return ALLOWED


def _csi_node(question: _Question) -> Decision:
    access = question.access
    if access.verb not in _OWN_VERBS:
        return _no("can only get, create, update, patch, or delete a CSINode")
    if access.subresource:
        return _no("cannot authorize CSINode subresources")
    if access.verb != "create" and access.name != question.node:
        return _no("can only access CSINode with the same name as the requesting node")
    return ALLOWED


def _slice(question: _Question) -> Decision:
    access = question.access
    if access.subresource:
        return _no("cannot authorize ResourceSlice subresources")
    if access.verb == "create":
        # The object is checked by the plugin NodeRestriction.
        return ALLOWED
    if access.verb in _OWN_VERBS:
        return question.related(_is_on_node(question, "resource.k8s.io", "ResourceSlice"))
    if access.verb in (*_LISTS, "deletecollection"):
        if access.requires("spec.nodeName", question.node):
            return ALLOWED
        text = "can only list/watch/deletecollection resourceslices with nodeName field selector"
        return _no(text)
    return _no(
        "only the following verbs are allowed for a ResourceSlice: get, watch, list, create,"
        " update, patch, delete, deletecollection"
    )


def _node(question: _Question) -> Decision:
    access, node = question.access, question.node
    if access.subresource == "status":
        return ALLOWED if access.verb in _WRITES else NO_OPINION
    if access.subresource:
        return NO_OPINION
    if access.verb in ("create", *_WRITES):
        return ALLOWED
    if access.verb not in ("get", *_LISTS):
        return NO_OPINION
    if not access.name:
        return _no(f"node '{node}' cannot read all nodes, only its own Node object")
    if access.name != node:
        return _no(f"node '{node}' cannot read '{access.name}', only its own Node object")
    return ALLOWED


def _pod(question: _Question) -> Decision:
    access = question.access
    match access.subresource, access.verb:
        case "", "get":
            return question.related(_is_on_node(question, "", "Pod"))
        case "", "list" | "watch":
            if access.requires("spec.nodeName", question.node):
                return ALLOWED
            if access.name:
                return question.related(_is_on_node(question, "", "Pod"))
            return _no("can only list/watch pods with spec.nodeName field selector")
        case ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create"):
            # The pod is checked by the plugin NodeRestriction.
            return ALLOWED
        case _:
            return NO_OPINION


_Decide: TypeAlias = Callable[[_Question], Decision]

_DECISIONS: Final[dict[tuple[str, str], _Decide]] = {
    ("", "secrets"): partial(_readable, is_related=_uses_secret),
    ("", "configmaps"): partial(_readable, is_related=_uses_config_map),
    ("", "persistentvolumeclaims"): _claim,
    ("", "persistentvolumes"): partial(_gettable, is_related=_uses_volume),
    ("", "serviceaccounts"): _account,
    ("", "nodes"): _node,
    ("", "pods"): _pod,
    ("certificates.k8s.io", "podcertificaterequests"): _certificate_request,
    ("coordination.k8s.io", "leases"): _lease,
    ("resource.k8s.io", "resourceclaims"): partial(_gettable, is_related=_uses_device_claim),
    ("resource.k8s.io", "resourceslices"): _slice,
    ("storage.k8s.io", "csinodes"): _csi_node,
    ("storage.k8s.io", "volumeattachments"): partial(
        _gettable,
        is_related=partial(_is_on_node, group="storage.k8s.io", kind="VolumeAttachment"),
    ),
}
"""The decisions about the resources of which a node may read some."""
