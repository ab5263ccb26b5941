"""The typed objects of files, simulations and controllers before and after admission.

The plugins are those of the HTTP API, on the documents of the objects; the stages that run them
are the same. What plugins make of the
spec of a pod depends on the spec alone, unless its namespace has limit ranges, standards or
policies: pods of one template share one `spec`, which is completed once. The room `schema` has the
defaults. An object of another server keeps the fields that only admission sets.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, cast

import msgspec

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    Pod,
    Spec,
    decode_as,
    encode,
    facts_of,
    with_fields,
    with_label_keys,
    without_label_keys,
)
from podwright.apimachinery.schema import Kind
from podwright.cluster.api.admission.attributes import Attributes, Operation
from podwright.cluster.api.admission.chain import AdmissionChain
from podwright.cluster.api.admission.namespace_lifecycle import terminating
from podwright.cluster.api.admission.new_objects import OF_VOLUMES, protected
from podwright.cluster.api.admission.plugin import AdmissionContext, UpdateStatus
from podwright.cluster.api.admission.plugins import default_plugins
from podwright.cluster.api.admission.pod_security.namespace_policy import policy_of
from podwright.cluster.api.admission.quota import QuotaEvaluators
from podwright.cluster.api.authorization.authorizers import AlwaysAllow
from podwright.cluster.api.field_management import ComponentOwners
from podwright.cluster.api.identity import uid_at, with_generated_name
from podwright.cluster.api.object_edits import completed, edited, with_defaults
from podwright.cluster.api.stages.admitting import admit, admit_valid
from podwright.cluster.api.stages.write import DraftWrite, Parts, WithAdmission
from podwright.cluster.api.strategies.kinds import JOB, with_own_selector
from podwright.cluster.api.strategies.parts import with_part
from podwright.cluster.api.strategies.preparation import (
    GENERAL,
    KIND_PREPARATIONS,
    as_read,
    prepared_for_create,
)
from podwright.cluster.api.users import User
from podwright.cluster.api.versions.resources import Resource, built_in_resources, plural_of
from podwright.cluster.store import NAMESPACE, Change, GroupKind, ObjectStore, kind_of

OMITTED: Final = (
    "NamespaceLifecycle", "ServiceAccount", "NodeRestriction", "TaintNodesByCondition",
    "OwnerReferencesPermissionEnforcement", "CertificateApproval", "CertificateSigning",
    "ClusterTrustBundleAttest", "CertificateSubjectRestriction", "PodTopologyLabels",
    "PodResizeValidator", "ValidatingAdmissionWebhook", "PodGroupProtection",
    "PodGroupWorkloadExists",
)  # fmt: skip
"""The plugins that a simulation does not have.

It has no authorization and no tokens. Nothing there removes the taint of new nodes and the
finalizer of PodGroups; the order of groups and workloads in files does not matter. The labels of
recorded pods are those that they had. Namespaces are made by their first object."""

_POLICY_BINDINGS: Final = tuple(
    ("admissionregistration.k8s.io", f"{kind}AdmissionPolicyBinding")
    for kind in ("Validating", "Mutating")
)
RESOURCE_QUOTA: Final = ("", "ResourceQuota")


class Admission:
    """Completes objects for the plugins, and keeps what these made of the specs of pods.

    Parameters
    ----------
    store : ObjectStore
        The stored objects; read only.
    added : collection of str
        The plugins of `OMITTED` that run.
    update_status : callable, optional
        Stores a quota with a new status; required if there are quotas.

    Attributes
    ----------
    admission : AdmissionChain
        The plugins.
    quotas : QuotaEvaluators
        How objects count in quotas.
    """

    def __init__(
        self,
        store: ObjectStore,
        *,
        added: Collection[str] = (),
        update_status: UpdateStatus | None = None,
    ) -> None:
        self._store = store
        self.quotas = QuotaEvaluators(store)
        context = AdmissionContext(
            store=store,
            update_status=update_status or _never,
            authorizer=AlwaysAllow(),
            resources=built_in_resources().values(),
            assumes_accounts=True,
            keeps_given=True,
            sets_group_priority=True,
        )
        omitted = frozenset(OMITTED) - frozenset(added)
        plugins = default_plugins(context, disabled=omitted, enabled=added)
        self.admission = AdmissionChain(plugins)
        # The resources of which plugins know that are not policies.
        self._known = frozenset(key for each in plugins for key in each.resources or ())
        self._changes = store.follow(*sorted({NAMESPACE, *self.admission.template_kinds}))
        # Stands for what admission depends on beside the spec, until it changes.
        self._state = object()
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
            self._state = object()
            self._plain.clear()
            self._policies = None
            self._last = None

    def _is_plain(self, pod: Pod) -> bool:
        """Whether the spec of a pod alone decides about it."""
        known = self._plain.get(pod.metadata.namespace)
        if known is None:
            namespace = self._store.get(NAMESPACE, pod.metadata.namespace)
            labels = {} if namespace is None else namespace.metadata.labels
            attributes = _attributes(_PODS, "CREATE", pod, None, "", 0)
            attributes.object = pod.raw
            known = policy_of(labels).is_privileged and self.admission.decides_by_shape(attributes)
            self._plain[pod.metadata.namespace] = known
        return known

    def _has_quotas(self, namespace: str) -> bool:
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
        write = DraftWrite(now_ns=now_ns, body=obj, sent=obj, user=user, form="applied")
        self.complete_new(write)
        return self._admitted(write)

    def complete_new(self, write: DraftWrite) -> None:
        """Complete a new object for the plugins, or with what they made of its spec before.

        Raises
        ------
        Rejection
            Its namespace is terminating, or a plugin rejects the spec of a pod.
        """
        self._catch_up()
        obj = write.sent
        if isinstance(obj, Pod) and write.form == "applied":
            obj = _as_sent(obj)  # the file may be of a cluster
        if obj.metadata.deletion_timestamp is not None:
            # As of a dump; the new object is not being deleted.
            obj = with_fields(
                obj, "metadata", deletion_timestamp=None, deletion_grace_period_seconds=None
            )
        namespace = obj.metadata.namespace
        found = self._store.get(NAMESPACE, namespace) if namespace else None
        if found is not None and found.metadata.deletion_timestamp is not None:
            raise terminating(kind_of(obj)[0], plural_of(kind_of(obj)), obj.name, namespace)
        if isinstance(obj, Pod) and self._is_plain(obj):
            write.body = self._admit_pod(obj, write.now_ns)
        else:
            self._complete(write, obj)

    def complete_change(self, write: DraftWrite) -> None:
        """Complete a changed object where its spec is not the stored one, and for the plugins.

        Raises
        ------
        Rejection
            A plugin rejects the spec of a pod.
        """
        self._catch_up()
        obj = write.sent
        stored = self._store.get(kind_of(obj), obj.key)
        spec = obj.raw.get("spec")
        is_same = stored is not None and spec is not None and spec is stored.raw.get("spec")
        # Of the spec that a pod has already, quotas and pod security have decided.
        is_decided = is_same and not self._has_policies()
        if isinstance(obj, Pod):
            obj = obj if is_same else self._admit_pod(obj, write.now_ns, is_new=False)
            is_decided = is_decided or self._is_plain(obj)
        else:
            obj = obj if is_same else with_defaults(obj)
            # What only subresources change is written by `whole`, as the finalizers of a namespace.
            if stored is not None and write.scope != "whole":
                obj = prepared_change(obj, stored, write.now_ns)
        write.body = obj
        resource = None if is_decided else self._resource_of(obj)
        if stored is not None and resource is not None:
            write.new = write.before = encode(obj)
            write.attributes = _attributes(
                resource, "UPDATE", obj, stored.raw, write.user, write.now_ns
            )

    def complete_recorded(self, obj: KubernetesObject, now_ns: int = 0) -> KubernetesObject:
        """Return an object of another server, or a changed one, as it will be stored.

        Raises
        ------
        Rejection
            A pod's priority class does not exist.
        """
        self._catch_up()
        if isinstance(obj, Pod):
            return obj if _is_complete(obj) else self._admit_pod(_as_sent(obj), now_ns)
        finalizer = OF_VOLUMES.get(kind_of(obj))
        if finalizer is None or finalizer in obj.metadata.finalizers:
            return obj
        return edited(obj, protected(encode(obj), finalizer))

    def of_deletion(
        self, kind: GroupKind, key: NamespacedName, user: str, now_ns: int
    ) -> Attributes | None:
        """Return a deletion as policies see it; None if there are none, which alone can deny it."""
        self._catch_up()
        obj = self._store.get(kind, key) if self._has_policies() else None
        resource = None if obj is None else built_in_resources().get((obj.api_version, obj.kind))
        if obj is None or resource is None:
            return None
        return _attributes(resource, "DELETE", obj, obj.raw, user, now_ns)

    def _resource_of(self, obj: KubernetesObject) -> Resource | None:
        """Return the resource of an object about which plugins may decide; None if none does."""
        resource = built_in_resources().get((obj.api_version, obj.kind))
        if resource is None or (resource.group, resource.plural) in self._known:
            return resource
        is_decided = self._has_policies() or self._has_quotas(obj.metadata.namespace)
        return resource if is_decided else None

    def _complete(self, write: DraftWrite, obj: KubernetesObject) -> None:
        write.body = obj
        resource = built_in_resources().get((obj.api_version, obj.kind))
        if resource is None:
            return
        write.before = encode(obj)
        write.new = completed(resource.kind, obj, write.before)
        store = self._store
        if resource.storage == JOB and not obj.uid:
            # The labels and the selector of a job contain its uid.
            uid = uid_at(store.seed, store.resource_version + 1)
            has_labels = bool(obj.metadata.labels)
            write.new = with_own_selector(write.new, uid, has_labels=has_labels)
        if self._resource_of(obj) is None:  # no plugin decides
            made = self._prepared_new(resource, write.new, write.now_ns)
            write.body = edited(obj, made, write.before)
        else:
            write.attributes = _attributes(resource, "CREATE", obj, None, write.user, write.now_ns)

    def prepare(self, write: DraftWrite) -> None:
        """Name a new object, and prepare it as its kind does."""
        if write.attributes is None:
            return
        resource, store = write.attributes.resource, self._store
        named = with_generated_name(
            write.new,
            taken=store.keys(resource.storage),
            seed=store.seed,
            version=store.resource_version + 1,
        )
        write.attributes.name = (named.get("metadata") or {}).get("name", "")
        write.new = self._prepared_new(resource, named, write.now_ns)

    def _prepared_new(self, resource: Resource, document: Document, now_ns: int) -> Document:
        if resource.storage == RESOURCE_QUOTA and not document.get("status"):
            # Known at once, so that pods of the same file are counted and not rejected.
            document = document | {"status": self.quotas.new_status(document)}
        return _prepared(resource, document, now_ns)

    def _admitted(self, write: DraftWrite) -> KubernetesObject:
        """Return a completed object as the plugins leave it."""
        admit(self, write)
        self.prepare(write)
        admit_valid(self, write)
        read_draft(self, write)
        obj: KubernetesObject = write.body
        return obj

    def _admit_pod(self, pod: Pod, now_ns: int, *, is_new: bool = True) -> Pod:
        """Return a pod of which its spec alone decides; the pods of a workload share one.

        The selectors of a stored one require its labels already.
        """
        last = self._last
        if last is not None and last[0] is pod:
            admitted = last[1]
            if type(admitted.raw["spec"]) is dict:  # most specs occur once, but not this one
                shared = _POD.with_shared_spec(admitted.raw)
                admitted = msgspec.structs.replace(admitted, raw=shared)
                self._last = (pod, admitted)
            return admitted
        document = pod.raw or encode(pod)
        new = self._admitted_spec(pod, _POD.shared_spec(document.get("spec") or {}), now_ns)
        complete = new.raw["spec"]
        merged = with_label_keys(complete, pod.metadata.labels) if is_new else complete
        if merged is not complete:
            new, complete = _with_spec(new, merged), merged
        admitted = _with_status(pod, document, new, complete)
        self._last = (pod, admitted)
        return admitted

    def _admitted_spec(self, pod: Pod, spec: Document, now_ns: int) -> Pod:
        """Return a pod with a spec as admission leaves it; it is kept with the spec."""
        namespace = pod.metadata.namespace if self._has_accounts else ""
        facts = facts_of(spec)
        state, made = (None, {}) if facts is None else facts.get(Admission, (None, {}))
        made = made if state is self._state else {}
        known: Pod | None = made.get(namespace)
        if known is not None and known.raw["spec"] is None:
            return msgspec.structs.replace(known, raw=known.raw | {"spec": spec})
        if known is not None and type(known.raw["spec"]) is Spec:
            return known
        if known is not None:  # most specs of a cluster without templates occur once
            known = msgspec.structs.replace(known, raw=_POD.with_shared_spec(known.raw))
        else:
            template = _template(pod, spec)
            write = DraftWrite(now_ns=now_ns, body=template, sent=template, user="")
            self._complete(write, template)
            admitted = self._admitted(write)
            assert isinstance(admitted, Pod), "plugins keep the kind"
            known = admitted
        # The condition of a gated pod has the time of its creation.
        if facts is not None and not known.spec.scheduling_gates:
            kept = known
            if known.raw["spec"] is spec:  # a spec does not keep itself
                kept = msgspec.structs.replace(known, raw=known.raw | {"spec": None})
            facts[Admission] = self._state, made | {namespace: kept}
        return known


def read_draft(_parts: WithAdmission, write: DraftWrite) -> None:
    """Read the typed object of what plugins and the strategy of its kind made."""
    facts = write.attributes
    if facts is not None:
        new = write.new if facts.old else as_read(facts.resource, write.new)
        write.body = edited(write.body, new, write.before)


def _with_spec(pod: Pod, spec: Document) -> Pod:
    """Return a pod with another spec; its document stays as it is."""
    made = decode_as({"spec": spec}, Pod).spec
    return msgspec.structs.replace(pod, spec=made, raw=pod.raw)


def _as_sent(pod: Pod) -> Pod:
    """Return a pod without what its server added to its selectors, which is added again."""
    document = encode(pod)
    spec = document.get("spec") or {}
    sent = without_label_keys(spec, pod.metadata.labels)
    return pod if sent is spec else edited(pod, document | {"spec": sent})


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


def _prepared(resource: Resource, document: Document, now_ns: int) -> Document:
    """Return a new object as its kind stores it; what a record has of a server stays as it is."""
    if resource.storage == JOB:
        return document
    made = prepared_for_create(resource, document, now_ns)
    if status := document.get("status"):
        made = with_part(made, "status", status)
    metadata, given = made.get("metadata"), document.get("metadata") or {}
    if metadata is not given and given.get("annotations"):
        annotations = {**(metadata or {}).get("annotations", {}), **given["annotations"]}
        made = made | {"metadata": (metadata or {}) | {"annotations": annotations}}
    return made


def prepared_change(
    obj: KubernetesObject, stored: KubernetesObject, now_ns: int
) -> KubernetesObject:
    """Return a changed object as its kind stores it, but for its status and its generation."""
    prepare = KIND_PREPARATIONS.get(kind_of(obj), GENERAL).update
    if prepare is None:
        return obj
    document = encode(obj)
    made = prepare(document, stored.raw, now_ns)
    changed = {
        part: made[part]
        for part in ("metadata", "spec")
        if part in made and made[part] is not document.get(part)
    }
    return edited(obj, document | changed if changed else document, document)


def _template(pod: Pod, written: Document) -> Pod:
    """Return a pod with a spec, without the parts of others with that spec that its strategy reads.

    These are its labels and its status.
    """
    metadata = (pod.raw.get("metadata") or {}) | {"labels": {}}
    raw = {"apiVersion": pod.api_version, "kind": pod.kind, "metadata": metadata, "spec": written}
    return msgspec.structs.replace(pod, raw=raw)


def _with_status(pod: Pod, document: Document, new: Pod, complete: Document) -> Pod:
    """Return a pod with its completed spec, and with the status of a new one if it has none."""
    status: Document = document.get("status") or {}
    typed = pod.status
    if not status.get("phase"):
        given = {name: value for name, value in status.items() if value}
        status, typed = new.raw["status"], new.status
        if given:
            status = status | given
            conditions = pod.status.conditions or typed.conditions
            typed = msgspec.structs.replace(pod.status, phase="Pending", conditions=conditions)
    raw = document | {"spec": complete, "status": status}
    return msgspec.structs.replace(pod, spec=new.spec, status=typed, raw=raw)


def _changes_admission(change: Change) -> bool:
    """Whether a change of a kind of `_READ` can change what admission makes of pods."""
    # The status of a quota changes with every pod.
    return change.kind != RESOURCE_QUOTA or change.old is None or change.new is None


def _attributes(
    resource: Resource,
    operation: Operation,
    obj: KubernetesObject,
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
        object=None,
        old=old,
        user=User(user),
        options={},
        is_dry_run=False,
        now_ns=now_ns,
        audit_annotations={},
    )


def _never(document: Document, now_ns: int) -> None:
    raise AssertionError(f"no quota is counted, but {document['metadata']} at {now_ns}")


_PODS: Final = built_in_resources()["v1", "Pod"]
_POD: Final = cast(Kind, _PODS.kind)


class ComponentParts(Parts, frozen=True, kw_only=True, eq=False):
    """The parts of a cluster that the stages of typed objects use.

    Attributes
    ----------
    drafts : Admission
    owners : ComponentOwners or None
        Keeps `managedFields`; None for a cluster without them.
    """

    drafts: Admission
    owners: ComponentOwners | None = None
