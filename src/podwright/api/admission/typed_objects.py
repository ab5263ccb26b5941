"""Admission: defaults, priority, tolerations and finalizers of an object before it is stored.

The room `schema` has the defaults. Pods of one template share one `spec`, which is completed once.

Upstream: plugin/pkg/admission/priority/admission.go;
plugin/pkg/admission/defaulttolerationseconds/admission.go;
plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go;
staging/src/k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.api.admission.default_tolerations import default_tolerations
from podwright.api.admission.rejections import Forbidden, NamespaceTerminating
from podwright.api.identity import uid_at
from podwright.api.invalid import Invalid
from podwright.api.job_selectors import with_generated_selector
from podwright.api.object_edits import with_defaults, wrong_types
from podwright.api.qos import qos_class
from podwright.objects import (
    Document,
    KubernetesObject,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodSpec,
    PodStatus,
    PriorityClass,
    api_group,
    decode_as,
    default_priority_class,
    encode,
)
from podwright.schema import Kind, built_in, decode
from podwright.store import ObjectStore, kind_of

_PROTECTION: Final = {
    PersistentVolume: "kubernetes.io/pv-protection",
    PersistentVolumeClaim: "kubernetes.io/pvc-protection",
}


class Admission:
    """Completes or rejects objects before they are stored.

    Changes of the kinds in `READ` are delivered to it.

    Parameters
    ----------
    store : ObjectStore
        The stored objects; read only.
    """

    READ: Final = frozenset({("scheduling.k8s.io", "PriorityClass"), ("", "Namespace")})

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._classes: dict[str, PriorityClass] = {}
        self._terminating: dict[str, None] = {}
        # The completed form of a `spec`, by its id(); the value keeps the `spec` alive, so that
        # its id is not reused.
        self._specs: dict[int, tuple[Document, PodSpec, Document, Document]] = {}
        # Controllers create the same pod object many times: the last one, and its admitted form.
        self._last: tuple[Pod, Pod] | None = None

    def put(self, obj: KubernetesObject) -> None:
        """Process an added or changed priority class or namespace."""
        if isinstance(obj, PriorityClass):
            self._classes[obj.name] = obj
            self._start_over()
        elif obj.metadata.deletion_timestamp is not None:
            self._terminating[obj.name] = None
        else:
            self._terminating.pop(obj.name, None)

    def forget(self, obj: KubernetesObject) -> None:
        """Process a removed priority class or namespace."""
        if isinstance(obj, PriorityClass):
            self._classes.pop(obj.name, None)
            self._start_over()
        else:
            self._terminating.pop(obj.name, None)

    def _start_over(self) -> None:
        self._specs.clear()
        self._last = None

    def admit_new(self, obj: KubernetesObject) -> KubernetesObject:
        """Return a new object as it will be stored.

        Raises
        ------
        NamespaceTerminating
            Its namespace is terminating.
        Forbidden
            As `admit`.
        """
        if self._terminating and obj.metadata.namespace in self._terminating:
            namespace = obj.metadata.namespace
            raise NamespaceTerminating(
                *_resource(obj),
                obj.name,
                "unable to create new content in namespace"
                f" {namespace} because it is being terminated",
            )
        if isinstance(obj, Pod):
            return self._admit_pod(obj)
        obj = with_defaults(obj)
        if obj.kind == "Job" and not obj.uid:
            # The labels and the selector of a job contain its uid.
            next_uid = uid_at(self._store.seed, self._store.resource_version + 1)
            return with_generated_selector(obj, next_uid)
        return self.admit(obj)

    def complete_update(self, obj: KubernetesObject) -> KubernetesObject:
        """Return a changed object with defaults where its spec is not the stored one."""
        stored = self._store.get(kind_of(obj), obj.key)
        spec = obj.raw.get("spec")
        if stored is not None and spec is not None and spec is stored.raw.get("spec"):
            return obj
        return self._admit_pod(obj) if isinstance(obj, Pod) else with_defaults(obj)

    def admit(self, obj: KubernetesObject) -> KubernetesObject:
        """Return an object as it will be stored.

        Raises
        ------
        Forbidden
            A pod's priority class does not exist.
        """
        if isinstance(obj, Pod):
            return self._admit_pod(obj)
        finalizer = _PROTECTION.get(type(obj))
        if finalizer is not None and finalizer not in obj.metadata.finalizers:
            return _with_finalizer(obj, finalizer)
        return obj

    def _admit_pod(self, pod: Pod) -> Pod:
        last = self._last
        if last is not None and last[0] is pod:
            return last[1]
        document = pod.raw or encode(pod)
        written = document.get("spec") or {}
        known = self._specs.get(id(written))
        if known is None:
            complete = self._completed(pod, written)
            spec = decode_as({"metadata": {"name": "x"}, "spec": complete}, Pod).spec
            pending: Document = {"phase": "Pending", "qosClass": qos_class(complete)}
            if len(self._specs) >= _SPECS_MAX:
                self._specs.clear()
            known = self._specs[id(written)] = (written, spec, complete, pending)
        _, spec, complete, pending = known
        status: Document = document.get("status") or {}
        typed = pod.status
        if not status.get("phase"):
            others = {name: value for name, value in status.items() if name != "phase"}
            status = pending | others if others else pending
            typed = msgspec.structs.replace(pod.status, phase="Pending") if others else _PENDING
        raw = document | {"spec": complete, "status": status}
        admitted = msgspec.structs.replace(pod, spec=spec, status=typed, raw=raw)
        self._last = (pod, admitted)
        return admitted

    def _completed(self, pod: Pod, written: Document) -> Document:
        if problems := wrong_types(_POD, {"spec": written}):
            raise Invalid(pod, problems)
        spec: Document = dict(_POD.with_defaults({"spec": written})["spec"])
        self._give_priority(pod, spec)
        spec["tolerations"] = default_tolerations(spec.get("tolerations") or [])
        return spec

    def _give_priority(self, pod: Pod, spec: Document) -> None:
        name = spec.get("priorityClassName") or ""
        found = self._classes.get(name)
        if not name:
            found = default_priority_class(self._classes.values())
        elif found is None and spec.get("priority") is None:
            raise Forbidden(
                "",
                "pods",
                pod.name or pod.metadata.generate_name,
                f"no PriorityClass with name {name} was found",
            )
        if found is not None:
            spec.setdefault("priorityClassName", found.name)
        if spec.get("priority") is None:
            spec["priority"] = found.value if found is not None else 0
        policy = found.preemption_policy if found is not None else ""
        spec.setdefault("preemptionPolicy", policy or "PreemptLowerPriority")


def _resource(obj: KubernetesObject) -> tuple[str, str]:
    """Return the group and the plural of an object's kind, such as `apps` and `deployments`."""
    group = api_group(obj.api_version)
    known = built_in().of(group, obj.kind)
    # A custom kind has the plural that its definition names; most follow this rule.
    resource = known.row.resource if known is not None else f"{obj.kind.lower()}s"
    return group, resource


def _kind_of_pods() -> Kind:
    kind = built_in().find("v1", "Pod")
    assert kind is not None, "the table has no pods"
    return kind


_POD = _kind_of_pods()
_SPECS_MAX = 10_000
_PENDING = PodStatus(phase="Pending")


def _with_finalizer(obj: KubernetesObject, finalizer: str) -> KubernetesObject:
    document = encode(obj)
    metadata = dict(document.get("metadata") or {})
    metadata["finalizers"] = [*(metadata.get("finalizers") or ()), finalizer]
    return decode(document | {"metadata": metadata})
