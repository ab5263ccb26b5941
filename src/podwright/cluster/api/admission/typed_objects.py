"""Admission of the typed objects of files, simulations and controllers.

The plugins are those of the HTTP API, on the documents of the objects. What plugins make of the
spec of a pod depends on the spec alone, unless its namespace has limit ranges, standards or
policies: pods of one template share one `spec`, which is completed once. The room `schema` has the
defaults. An object of another server keeps the fields that only admission sets.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodSpec,
    PodStatus,
    decode_as,
    encode,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api.admission.attributes import Attributes, Operation
from podwright.cluster.api.admission.chain import AdmissionChain
from podwright.cluster.api.admission.context import AdmissionContext, UpdateStatus
from podwright.cluster.api.admission.namespace_lifecycle import terminating
from podwright.cluster.api.admission.plugins import default_plugins
from podwright.cluster.api.admission.pod_security.namespace_policy import policy_of
from podwright.cluster.api.authorization.authorizers import AlwaysAllow
from podwright.cluster.api.identity import uid_at, with_generated_name
from podwright.cluster.api.object_edits import with_defaults, wrong_types
from podwright.cluster.api.pods.label_keys import with_label_keys
from podwright.cluster.api.pods.qos import qos_class
from podwright.cluster.api.rejections import Invalid
from podwright.cluster.api.strategies.kinds import with_generated_selector
from podwright.cluster.api.users import User
from podwright.cluster.api.versions.resources import Resource, built_in_resources, plural_of
from podwright.cluster.store import NAMESPACE, Change, GroupKind, ObjectStore, kind_of

OMITTED: Final = (
    "NamespaceLifecycle", "ServiceAccount", "NodeRestriction", "TaintNodesByCondition",
    "OwnerReferencesPermissionEnforcement", "CertificateApproval", "CertificateSigning",
    "ClusterTrustBundleAttest", "CertificateSubjectRestriction", "PodTopologyLabels",
    "PodResizeValidator", "ValidatingAdmissionWebhook", "ResourceQuota", "PodGroupProtection",
    "PodGroupWorkloadExists",
)  # fmt: skip
"""The plugins that a simulation does not have.

It has no authorization and no tokens. Nothing there removes the taint of new nodes and the
finalizer of PodGroups, or gives back what a quota counts; the order of groups and workloads in
files does not matter. The labels of recorded pods are those that they had. Namespaces are made by
their first object."""

SERVED: Final = ("ServiceAccount", "ResourceQuota")
"""The plugins that the components of a served cluster have besides those of a simulation."""

_OF_SPECS: Final = ("ServiceAccount", "Priority", "DefaultTolerationSeconds", "RuntimeClass")
"""The plugins that read nothing of a pod but its spec and its namespace."""

_POLICY_BINDINGS: Final = tuple(
    ("admissionregistration.k8s.io", f"{kind}AdmissionPolicyBinding")
    for kind in ("Validating", "Mutating")
)
RESOURCE_QUOTA: Final = ("", "ResourceQuota")

_PROTECTION: Final = {
    PersistentVolume: "kubernetes.io/pv-protection",
    PersistentVolumeClaim: "kubernetes.io/pvc-protection",
}


class Admission:
    """Completes or rejects objects before they are stored.

    Parameters
    ----------
    store : ObjectStore
        The stored objects; read only.
    added : collection of str
        The plugins of `OMITTED` that run.
    update_status : callable, optional
        Stores a quota with a new status; required by `ResourceQuota`.

    Attributes
    ----------
    chain : AdmissionChain
        The plugins.
    """

    def __init__(
        self,
        store: ObjectStore,
        *,
        added: Collection[str] = (),
        update_status: UpdateStatus | None = None,
    ) -> None:
        self._store = store
        self._counts_quotas = "ResourceQuota" in added
        context = AdmissionContext(
            store=store,
            update_status=update_status or _never,
            authorizer=AlwaysAllow(),
            resources=built_in_resources().values(),
            assumes_accounts=True,
            keeps_given=True,
        )
        omitted = frozenset(OMITTED) - frozenset(added)
        plugins = default_plugins(context, disabled=omitted, enabled=added)
        self.chain = AdmissionChain(plugins)
        self._of_specs = AdmissionChain([each for each in plugins if each.name in _OF_SPECS])
        # The resources of which plugins know that are not policies.
        self._known = frozenset(key for each in plugins for key in each.resources or ())
        self._changes = store.follow(*sorted({NAMESPACE, *self.chain.template_kinds}))
        # The completed form of a `spec`, by its id() and the namespace if that matters; the value
        # keeps the `spec` alive, so that its id is not reused. In order of age: a rollout leaves
        # specs behind of which no pod is created any more.
        self._specs: OrderedDict[tuple[int, str], tuple[Document, PodSpec, Document, Document]] = (
            OrderedDict()
        )
        self._has_accounts = "ServiceAccount" in added
        # Whether the spec of a pod alone decides, by namespace.
        self._plain: dict[str, bool] = {}
        self._policies: bool | None = None
        # Controllers create the same pod object many times: the last one, and its admitted form.
        self._last: tuple[Pod, Pod] | None = None

    def _catch_up(self) -> None:
        """Forget what depended on objects that changed."""
        if self._changes:
            is_relevant = any(map(_changes_admission, self._changes))
            self._changes.clear()
            if not is_relevant:
                return
            self._specs.clear()
            self._plain.clear()
            self._policies = None
            self._last = None

    def _is_plain(self, pod: Pod) -> bool:
        """Whether the spec of a pod alone decides about it."""
        known = self._plain.get(pod.metadata.namespace)
        if known is None:
            namespace = self._store.get(NAMESPACE, pod.metadata.namespace)
            labels = {} if namespace is None else namespace.metadata.labels
            attributes = _attributes(_PODS, "CREATE", pod, pod.raw, None, "", 0)
            known = policy_of(labels).is_privileged and self.chain.decides_by_shape(attributes)
            self._plain[pod.metadata.namespace] = known
        return known

    def _has_quotas(self, namespace: str) -> bool:
        if not self._counts_quotas:
            return False
        return self._store.count(RESOURCE_QUOTA, namespace) > 0

    def _has_policies(self) -> bool:
        if self._policies is None:
            self._policies = any(self._store.list(kind).objects for kind in _POLICY_BINDINGS)
        return self._policies

    def admit_new(self, obj: KubernetesObject, user: str = "", now_ns: int = 0) -> KubernetesObject:
        """Return a new object as it will be stored.

        Raises
        ------
        Rejection
            A plugin rejects it, such as a `NamespaceTerminating`.
        """
        self._catch_up()
        namespace = obj.metadata.namespace
        found = self._store.get(NAMESPACE, namespace) if namespace else None
        if found is not None and found.metadata.deletion_timestamp is not None:
            raise terminating(kind_of(obj)[0], plural_of(kind_of(obj)), obj.name, namespace)
        if isinstance(obj, Pod):
            if self._is_plain(obj):
                return self._admit_pod(obj)
            return self._admit_single_pod(obj, user, now_ns)
        obj = with_defaults(obj)
        if obj.kind == "Job" and not obj.uid:
            # The labels and the selector of a job contain its uid.
            next_uid = uid_at(self._store.seed, self._store.resource_version + 1)
            obj = with_generated_selector(obj, next_uid)
        return self._admitted(obj, "CREATE", None, user, now_ns)

    def complete_update(
        self, obj: KubernetesObject, user: str = "", now_ns: int = 0
    ) -> KubernetesObject:
        """Return a changed object with defaults where its spec is not the stored one.

        Raises
        ------
        Rejection
            A plugin rejects the change.
        """
        self._catch_up()
        stored = self._store.get(kind_of(obj), obj.key)
        spec = obj.raw.get("spec")
        is_same = stored is not None and spec is not None and spec is stored.raw.get("spec")
        if is_same and not self._has_policies():
            return obj
        if isinstance(obj, Pod):
            obj = obj if is_same else self._admit_pod(obj)
            if stored is None or self._is_plain(obj):
                return obj
        else:
            obj = obj if is_same else with_defaults(obj)
        return obj if stored is None else self._admitted(obj, "UPDATE", stored, user, now_ns)

    def of_deletion(
        self, kind: GroupKind, key: NamespacedName, user: str, now_ns: int
    ) -> Attributes | None:
        """Return a deletion as policies see it; None if there are none, which alone can deny it."""
        self._catch_up()
        obj = self._store.get(kind, key) if self._has_policies() else None
        resource = None if obj is None else built_in_resources().get((obj.api_version, obj.kind))
        if obj is None or resource is None:
            return None
        return _attributes(resource, "DELETE", obj, None, obj.raw, user, now_ns)

    def admit(self, obj: KubernetesObject) -> KubernetesObject:
        """Return an object of another server, or a changed one, as it will be stored.

        Raises
        ------
        Rejection
            A pod's priority class does not exist.
        """
        self._catch_up()
        if isinstance(obj, Pod):
            return obj if _is_complete(obj) else self._admit_pod(obj)
        finalizer = _PROTECTION.get(type(obj))
        if finalizer is not None and finalizer not in obj.metadata.finalizers:
            return _with_finalizer(obj, finalizer)
        return obj

    def _admitted(
        self,
        obj: KubernetesObject,
        operation: Operation,
        stored: KubernetesObject | None,
        user: str,
        now_ns: int,
    ) -> KubernetesObject:
        """Return an object after all plugins; custom objects pass as they are."""
        resource = built_in_resources().get((obj.api_version, obj.kind))
        if resource is None:
            return obj
        is_known = (resource.group, resource.plural) in self._known or self._has_policies()
        if not is_known and not self._has_quotas(obj.metadata.namespace):
            return obj
        document = encode(obj)
        old = None if stored is None else stored.raw
        attributes = _attributes(resource, operation, obj, document, old, user, now_ns)
        self._run(attributes)
        if attributes.object is document or attributes.object is None:
            return obj
        return decode(attributes.object, source=f"{obj.kind} {obj.key}")

    def _run(self, attributes: Attributes) -> None:
        """Run all plugins; between the mutating and the validating ones, a new object is named."""
        self.chain.admit(attributes)
        if attributes.operation == "CREATE" and attributes.object is not None:
            store = self._store
            attributes.object = with_generated_name(
                attributes.object,
                taken=store.keys(attributes.resource.storage),
                seed=store.seed,
                version=store.resource_version + 1,
            )
            attributes.name = (attributes.object.get("metadata") or {}).get("name", "")
        self.chain.validate(attributes)

    def _admit_single_pod(self, pod: Pod, user: str, now_ns: int) -> Pod:
        """Return a pod after all plugins."""
        document = pod.raw or encode(pod)
        written = document.get("spec") or {}
        if problems := wrong_types(_PODS.kind, {"spec": written}):
            raise Invalid(pod, problems)
        document = document | {"spec": _PODS.kind.with_defaults({"spec": written})["spec"]}
        attributes = _attributes(_PODS, "CREATE", pod, document, None, user, now_ns)
        self._run(attributes)
        admitted = attributes.object or document
        labels = (admitted.get("metadata") or {}).get("labels") or {}
        admitted = admitted | {"spec": with_label_keys(admitted["spec"], labels)}
        made = decode(admitted, source=f"Pod {pod.key}")
        assert isinstance(made, Pod), "plugins keep the kind"
        complete = made.raw["spec"]
        pending: Document = {"phase": "Pending", "qosClass": qos_class(complete)}
        return _with_status(made, made.raw, made.spec, complete, pending)

    def _admit_pod(self, pod: Pod) -> Pod:
        last = self._last
        if last is not None and last[0] is pod:
            return last[1]
        document = pod.raw or encode(pod)
        written = document.get("spec") or {}
        key = (id(written), pod.metadata.namespace if self._has_accounts else "")
        known = self._specs.get(key)
        if known is None:
            complete = self._completed(pod, written)
            spec = _spec_of(complete)
            pending: Document = {"phase": "Pending", "qosClass": qos_class(complete)}
            known = self._specs[key] = (written, spec, complete, pending)
            if len(self._specs) > _SPECS_MAX:
                self._specs.popitem(last=False)
        _, spec, complete, pending = known
        merged = with_label_keys(complete, pod.metadata.labels)
        if merged is not complete:
            spec, complete = _spec_of(merged), merged
        admitted = _with_status(pod, document, spec, complete, pending)
        self._last = (pod, admitted)
        return admitted

    def _completed(self, pod: Pod, written: Document) -> Document:
        if problems := wrong_types(_PODS.kind, {"spec": written}):
            raise Invalid(pod, problems)
        spec = _PODS.kind.with_defaults({"spec": written})["spec"]
        document: Document = {"metadata": (pod.raw or {}).get("metadata") or {}, "spec": spec}
        attributes = _attributes(_PODS, "CREATE", pod, document, None, "", 0)
        self._of_specs.admit(attributes)
        self._of_specs.validate(attributes)
        completed: Document = (attributes.object or document)["spec"]
        return completed


def _spec_of(document: Document) -> PodSpec:
    return decode_as({"metadata": {"name": "x"}, "spec": document}, Pod).spec


def _is_complete(pod: Pod) -> bool:
    """Whether an API server created a pod: it sets these fields of every pod."""
    spec, status = pod.raw.get("spec") or {}, pod.raw.get("status") or {}
    return bool(
        pod.uid
        and status.get("phase")
        and status.get("qosClass")
        and spec.get("schedulerName")
        and spec.get("priority") is not None
    )


def _with_status(
    pod: Pod, document: Document, spec: PodSpec, complete: Document, pending: Document
) -> Pod:
    """Return a pod with its completed spec, and with the status of a new one if it has none."""
    status: Document = document.get("status") or {}
    typed = pod.status
    if not status.get("phase"):
        others = {name: value for name, value in status.items() if name != "phase"}
        status = pending | others if others else pending
        typed = msgspec.structs.replace(pod.status, phase="Pending") if others else _PENDING
    raw = document | {"spec": complete, "status": status}
    return msgspec.structs.replace(pod, spec=spec, status=typed, raw=raw)


def _changes_admission(change: Change) -> bool:
    """Whether a change of a kind of `_READ` can change what admission makes of pods."""
    # The status of a quota changes with every pod.
    return change.kind != RESOURCE_QUOTA or change.old is None or change.new is None


def _attributes(
    resource: Resource,
    operation: Operation,
    obj: KubernetesObject,
    document: Document | None,
    old: Document | None,
    user: str,
    now_ns: int,
) -> Attributes:
    return Attributes(
        operation=operation,
        resource=resource,
        subresource="",
        namespace=obj.metadata.namespace or (obj.name if obj.kind == "Namespace" else ""),
        name=obj.name,
        object=document,
        old=old,
        user=User(user),
        options={},
        is_dry_run=False,
        now_ns=now_ns,
        warnings=[],
        audit_annotations={},
    )


def _never(document: Document, now_ns: int) -> None:
    raise AssertionError(f"no quota is counted, but {document['metadata']} at {now_ns}")


_PODS: Final = built_in_resources()["v1", "Pod"]
_SPECS_MAX = 1_024
"""How many specs of pods are kept completed, 5 KB each."""

_PENDING = PodStatus(phase="Pending")


def _with_finalizer(obj: KubernetesObject, finalizer: str) -> KubernetesObject:
    document = encode(obj)
    metadata = dict(document.get("metadata") or {})
    metadata["finalizers"] = [*(metadata.get("finalizers") or ()), finalizer]
    return decode(document | {"metadata": metadata})
