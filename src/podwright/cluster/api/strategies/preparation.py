"""How the objects of each kind are prepared for a write, as upstream's registries do it.

A create request drops the status where it is a subresource, an update keeps the stored one, and a
status update keeps the rest. The functions of single kinds are in `KIND_PREPARATIONS`.

Upstream: pkg/registry/*/*/strategy.go; staging/src/k8s.io/apiserver/pkg/registry/rest/update.go
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document, parse_int64, timestamp_text, with_label_keys
from podwright.apimachinery.schema import (
    Problem,
    approval_problems,
    changed_metadata_problems,
    ephemeral_container_problems,
    finalizer_problems,
    resize_problems,
    set_pod_resource_defaults,
)
from podwright.cluster.api.create_update import has_other_spec
from podwright.cluster.api.pods.qos import qos_class
from podwright.cluster.api.strategies.certificates import (
    approved,
    kept_request,
    signed,
)
from podwright.cluster.api.strategies.devices import (
    changed_slice,
    changed_taint_rule,
    new_slice,
    new_taint_rule,
    without_deallocated,
)
from podwright.cluster.api.strategies.kinds import generated_selector, with_template_labels
from podwright.cluster.api.strategies.parts import with_part, without
from podwright.cluster.api.strategies.services import changed_service, new_service
from podwright.cluster.api.versions.conversions import TEMPLATE_GENERATION
from podwright.cluster.api.versions.resources import Resource

CreatePreparation: TypeAlias = Callable[[Document, int], Document]
"""Returns a new object as it is stored; the second argument is the time."""

UpdatePreparation: TypeAlias = Callable[[Document, Document, int], Document]
"""Returns a changed object as it is stored, from the sent and the stored one, and the time."""


class Preparation(msgspec.Struct, frozen=True, kw_only=True):
    """The functions of one kind; None for the general rule."""

    create: CreatePreparation | None = None
    update: UpdatePreparation | None = None
    update_status: UpdatePreparation | None = None


_WITHOUT_COUNT: Final = frozenset({("scheduling.k8s.io", "PriorityClass")})
"""Kinds whose generation does not count changes."""

_OWN_METADATA: Final = (
    "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers", "generation", "labels",
    "annotations", "ownerReferences", "selfLink",
)  # fmt: skip
"""What a status update of most newer kinds takes from the stored object."""


def key_of(resource: Resource) -> tuple[str, str]:
    """Return the group and the kind of a resource."""
    return resource.group, resource.name


def prepared_for_create(resource: Resource, document: Document, now_ns: int) -> Document:
    """Return a new object as it is stored, except its metadata."""
    document = _with_no_stop_signals(resource, document)
    prepare = KIND_PREPARATIONS.get(key_of(resource), GENERAL).create
    if prepare is not None:
        return prepare(document, now_ns)
    row = resource.kind.row
    if "status" in row.subresources and not row.keeps_status_on_create:
        return without(document, "status")
    return document


def prepared_for_update(
    resource: Resource, new: Document, old: Document, now_ns: int, subresource: str = ""
) -> Document:
    """Return a changed object as it is stored, with its generation."""
    new = _with_no_stop_signals(resource, new)
    preparation = KIND_PREPARATIONS.get(key_of(resource), GENERAL)
    if subresource == "status":
        if preparation.update_status is not None:
            return preparation.update_status(new, old, now_ns)
        return with_status_of(resource, new, old)
    if subresource in POD_PARTS:
        return counted(resource, POD_PARTS[subresource](new, old), old)
    if subresource == "approval":
        return approved(new, old, now_ns)
    if subresource == "finalize":
        new = with_part(new, "status", old.get("status"))
    elif key_of(resource) in COUNTED_FIRST:
        assert preparation.update is not None, "the kind loses fields in updates"
        return preparation.update(counted(resource, new, old), old, now_ns)
    elif preparation.update is not None:
        new = preparation.update(new, old, now_ns)
    elif "status" in resource.kind.row.subresources:
        new = with_part(new, "status", old.get("status"))
    return counted(resource, new, old)


def with_status_of(resource: Resource, new: Document, old: Document) -> Document:
    """Return the stored object with the sent status and metadata."""
    metadata = dict(new.get("metadata") or {})
    stored = old.get("metadata") or {}
    if resource.is_custom or resource.group == "flowcontrol.apiserver.k8s.io":
        metadata = with_part(stored, "managedFields", metadata.get("managedFields"))
    elif resource.kind.row.status_keeps_metadata:
        for name in _OWN_METADATA:
            if name in stored:
                metadata[name] = stored[name]
            else:
                metadata.pop(name, None)
    elif key_of(resource) == ("apps", "Deployment"):
        metadata = with_part(metadata, "labels", stored.get("labels"))
    elif key_of(resource) == ("apps", "DaemonSet"):
        # The annotation is a field of the internal spec.
        metadata = _with_template_generation(new, _template_generation(old))["metadata"]
    status = new.get("status")
    if key_of(resource) == ("resource.k8s.io", "ResourceClaim"):
        status = without_deallocated(status or {}, old.get("status") or {})
    return as_read(resource, with_part(old | {"metadata": metadata}, "status", status))


def counted(resource: Resource, new: Document, old: Document) -> Document:
    """Return a changed object with its generation, which counts changes of the spec."""
    row = resource.kind.row
    stored: Document = old.get("metadata") or {}
    if not row.has_generation or key_of(resource) in _WITHOUT_COUNT:
        return new
    metadata: Document = new.get("metadata") or {}
    dropped = ("metadata",) if resource.is_custom else ("metadata", "status")
    is_other = has_other_spec(new, old, row.counted_metadata, dropped)
    part = COMPARED_EXACTLY.get(key_of(resource))
    if part is not None and not is_other:
        is_other = _has_empty_parts(new.get(part))
    if not is_other:
        return new
    generation = int(stored.get("generation") or 0) + 1
    return new | {"metadata": metadata | {"generation": generation}}


COMPARED_EXACTLY: Final = {
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): "webhooks",
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): "webhooks",
    ("networking.k8s.io", "NetworkPolicy"): "spec",
}
"""The kinds with a part that upstream does not compare semantically: an empty list is not none."""

COUNTED_FIRST: Final = frozenset(
    {("discovery.k8s.io", "EndpointSlice"), ("resource.k8s.io", "ResourceSlice")}
)
"""The kinds whose generation counts also what an update does not store."""


def _has_empty_parts(value: Any) -> bool:
    """Whether a spec has an empty list, or empty labels, which none that is stored has."""
    if isinstance(value, dict):
        labels = value.get("matchLabels")
        return labels == {} or any(map(_has_empty_parts, value.values()))
    return isinstance(value, list) and (not value or any(map(_has_empty_parts, value)))


# ------------------------------------------------------------------------- single kinds


def _new_node(node: Document, _now_ns: int) -> Document:
    """Return a new node without the source of its configuration, which is no longer read.

    Upstream: pkg/registry/core/node/strategy.go, dropDisabledFields
    """
    return _without_part(_without_part(node, "spec", "configSource"), "status", "config")


def _without_part(document: Document, section: str, name: str) -> Document:
    part: Document = document.get(section) or {}
    return document | {section: without(part, name)} if name in part else document


def _node(new: Document, old: Document, _now_ns: int) -> Document:
    if (old.get("spec") or {}).get("configSource") is None:
        new = _without_part(new, "spec", "configSource")
    return with_part(new, "status", old.get("status"))


def _node_status(new: Document, old: Document, _now_ns: int) -> Document:
    """Return the stored node with the sent status, but without a new source of its configuration.

    Upstream: pkg/registry/core/node/strategy.go, nodeStatusConfigInUse
    """
    status: Document = new.get("status") or {}
    if (old.get("status") or {}).get("config") is None:
        status = without(status, "config")
    return old | {"metadata": new.get("metadata") or {}, "status": status}


def _with_no_stop_signals(resource: Resource, document: Document) -> Document:
    """Return a new or changed object without stop signals: a pod, or a template of pods."""
    path = resource.kind.row.pod_template
    if key_of(resource) == ("", "PodTemplate"):
        path = "template"
    if path:
        return _with_changed_part(document, path.split("."), _without_stop_signals)
    return _without_stop_signals(document) if key_of(resource) == ("", "Pod") else document


def _with_changed_part(
    document: Document, path: Sequence[str], change: Callable[[Document], Document]
) -> Document:
    """Return a document with a part changed; the same document if nothing changes."""
    if not path:
        return change(document)
    part = document.get(path[0])
    if not isinstance(part, dict):
        return document
    changed = _with_changed_part(part, path[1:], change)
    return document if changed is part else document | {path[0]: changed}


def _without_stop_signals(pod: Document) -> Document:
    """Return a pod without stop signals, which a feature gate enables that is off.

    Upstream: pkg/api/pod/util.go, dropContainerStopSignals
    """
    spec: Document = pod.get("spec") or {}
    changes: Document = {}
    for field in ("initContainers", "containers", "ephemeralContainers"):
        containers = spec.get(field) or ()
        if any("stopSignal" in (each.get("lifecycle") or {}) for each in containers):
            changes[field] = [_without_stop_signal(each) for each in containers]
    return pod | {"spec": spec | changes} if changes else pod


def _without_stop_signal(container: Document) -> Document:
    lifecycle = without(container.get("lifecycle") or {}, "stopSignal")
    return with_part(container, "lifecycle", lifecycle or None)


def _new_pod(pod: Document, now_ns: int) -> Document:
    spec = with_label_keys(pod.get("spec") or {}, (pod.get("metadata") or {}).get("labels") or {})
    status: Document = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": timestamp_text(now_ns),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    return pod | {"spec": spec, "status": status}


_ALLOCATABLE_STATUSES: Final = "nodeAllocatableResourceClaimStatuses"


def _pod_status(new: Document, old: Document, _now_ns: int) -> Document:
    metadata = dict(new.get("metadata") or {})
    stored = old.get("metadata") or {}
    for name in ("ownerReferences", "deletionTimestamp"):
        metadata = with_part(metadata, name, stored.get(name))
    status = dict(new.get("status") or {})
    if not (old.get("status") or {}).get(_ALLOCATABLE_STATUSES):
        # The gate DRANodeAllocatableResources is off.
        status.pop(_ALLOCATABLE_STATUSES, None)
    if not status.get("qosClass") and (old.get("status") or {}).get("qosClass"):
        status["qosClass"] = old["status"]["qosClass"]
    status = _with_generations(status, old.get("status") or {})
    return old | {"metadata": metadata, "status": status}


def _with_generations(status: Document, before: Document) -> Document:
    """Return the status of a pod with the observed generations that a client left out.

    Upstream: pkg/registry/core/pod/strategy.go, preserveOldObservedGeneration
    """
    name = "observedGeneration"
    if not status.get(name) and before.get(name):
        status = {name: before[name]} | without(status, name)
    # By type a list: a status may have several conditions of a type.
    known: dict[str | None, list[int]] = {}
    for each in before.get("conditions") or ():
        known.setdefault(each.get("type"), []).append(each.get(name) or 0)
    conditions = []
    for each in status.get("conditions") or ():
        generations = known.get(each.get("type"))
        generation = generations.pop(0) if generations else 0
        is_left_out = generation and not each.get(name)
        kind = {"type": each.get("type"), name: generation} if is_left_out else {}
        conditions.append(kind | without(each, *kind))
    return status | {"conditions": conditions} if conditions else status


_DATA_SOURCES: Final = (
    ("", "PersistentVolumeClaim"),
    ("snapshot.storage.k8s.io", "VolumeSnapshot"),
)
"""The sources that the older field of a claim can have; others are dropped."""


def _new_claim(claim: Document, _now_ns: int) -> Document:
    made = claim | {"status": {"phase": "Pending"}}
    return made | {"spec": _with_data_sources(made["spec"])} if made.get("spec") else made


def _claim(new: Document, old: Document, _now_ns: int) -> Document:
    """Return a changed claim; older clients leave out the source that the server has added."""
    new = with_part(new, "status", old.get("status"))
    spec = new.get("spec")
    if not spec:
        return new
    stored = old.get("spec") or {}
    if stored.get("dataSource") is not None or stored.get("dataSourceRef") is not None:
        return new | {"spec": _with_both_sources(spec)}
    return new | {"spec": _with_data_sources(spec)}


def _with_data_sources(spec: Document) -> Document:
    """Return the spec of a claim with its source, if it is a known one, in both fields.

    Upstream: pkg/api/persistentvolumeclaim/util.go, EnforceDataSourceBackwardsCompatibility
    """
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if reference is None and source is not None:
        kind = source.get("apiGroup") or "", source.get("kind")
        if kind not in _DATA_SOURCES:
            return without(spec, "dataSource")
    return _with_both_sources(spec)


def _with_both_sources(spec: Document) -> Document:
    """Return the spec of a claim with its source in both fields.

    Upstream: pkg/api/persistentvolumeclaim/util.go, NormalizeDataSources
    """
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if reference is None:
        return spec if source is None else spec | {"dataSourceRef": source}
    if source is None and not reference.get("namespace"):
        return spec | {"dataSource": without(reference, "namespace")}
    return spec


def _new_volume(volume: Document, now_ns: int) -> Document:
    status = {"phase": "Pending", "lastPhaseTransitionTime": timestamp_text(now_ns)}
    return volume | {"status": status}


def _volume_status(new: Document, old: Document, now_ns: int) -> Document:
    status = dict(new.get("status") or {})
    before = old.get("status") or {}
    time = "lastPhaseTransitionTime"
    if status.get("phase") != before.get("phase"):
        if status.get(time) in (None, before.get(time)):
            status[time] = timestamp_text(now_ns)
    elif status.get(time) is None and before.get(time) is not None:
        status[time] = before[time]
    return old | {"metadata": new.get("metadata") or {}, "status": status}


def _driver(new: Document, old: Document, _now_ns: int) -> Document:
    """Return a changed driver, whose generation counts changes, but not the creation.

    Upstream: pkg/registry/storage/csidriver/strategy.go
    """
    if new.get("spec") == old.get("spec"):
        return new
    metadata: Document = new.get("metadata") or {}
    generation = int((old.get("metadata") or {}).get("generation") or 0) + 1
    return new | {"metadata": metadata | {"generation": generation}}


def _new_namespace(namespace: Document, _now_ns: int) -> Document:
    namespace = set_namespace_label(namespace)
    spec = dict(namespace.get("spec") or {})
    finalizers = list(spec.get("finalizers") or ())
    if "kubernetes" not in finalizers:
        finalizers.append("kubernetes")
    return namespace | {
        "spec": spec | {"finalizers": finalizers},
        "status": {"phase": "Active"},
    }


def set_namespace_label(namespace: Document) -> Document:
    """Return a namespace with its name as a label."""
    metadata: Document = namespace.get("metadata") or {}
    labels = {
        **(metadata.get("labels") or {}),
        "kubernetes.io/metadata.name": metadata.get("name", ""),
    }
    return namespace | {"metadata": metadata | {"labels": labels}}


def _namespace(new: Document, old: Document, _now_ns: int) -> Document:
    spec = dict(new.get("spec") or {})
    spec = with_part(spec, "finalizers", (old.get("spec") or {}).get("finalizers"))
    return with_part(new | {"spec": spec}, "status", old.get("status"))


def _ephemeral_containers(new: Document, old: Document) -> Document:
    """Return the stored pod with the sent ephemeral containers."""
    containers = (new.get("spec") or {}).get("ephemeralContainers")
    spec = with_part(old.get("spec") or {}, "ephemeralContainers", containers)
    return old | {"metadata": _tracked_metadata(new, old), "spec": spec}


def _resized(new: Document, old: Document) -> Document:
    """Return the stored pod with the sent resources of its containers."""
    sent, spec = new.get("spec") or {}, dict(old.get("spec") or {})
    fields = ("containers", "initContainers")
    if any(len(sent.get(each) or ()) != len(spec.get(each) or ()) for each in fields):
        return new  # Validation reports it.
    for field in fields:
        if _names(sent.get(field)) != _names(spec.get(field)):
            spec[field] = sent[field]
            continue
        given = {each.get("name"): each for each in sent.get(field) or ()}
        if spec.get(field):
            spec[field] = [
                _with_resources(each, given.get(each.get("name"))) for each in spec[field]
            ]
    spec = with_part(spec, "resources", sent.get("resources"))
    return old | {"metadata": _tracked_metadata(new, old), "spec": spec}


def _names(containers: list[Document] | None) -> list[Any]:
    return [each.get("name") for each in containers or ()]


def _with_resources(container: Document, given: Document | None) -> Document:
    if given is None:
        return container
    for name in ("resources", "resizePolicy"):
        container = with_part(container, name, given.get(name))
    return container


def _tracked_metadata(new: Document, old: Document) -> Document:
    """Return the stored metadata with the sent owners of fields."""
    sent: Document = new.get("metadata") or {}
    return with_part(old.get("metadata") or {}, "managedFields", sent.get("managedFields"))


POD_PARTS: Final[dict[str, Callable[[Document, Document], Document]]] = {
    "ephemeralcontainers": _ephemeral_containers,
    "resize": _resized,
}
"""What the subresources of pods take from the sent pod, from the sent and the stored one."""


def _new_job(job: Document, _now_ns: int) -> Document:
    """Return a job without status, with its generated labels and selector."""
    job = without(job, "status")
    if (job.get("spec") or {}).get("manualSelector"):
        return job
    return generated_selector(job, job["metadata"]["uid"])


_DEFAULTS_OF_READS: Final[dict[tuple[str, str], Callable[[Document], Document]]] = {
    ("batch", "Job"): with_template_labels,
    ("", "Pod"): set_pod_resource_defaults,
}


def as_read(resource: Resource, document: Document) -> Document:
    """Return a valid object with the defaults that it gets when it is read.

    Plugins may have set fields on which they depend, such as the requests of containers.
    """
    set_defaults = _DEFAULTS_OF_READS.get(key_of(resource))
    return document if set_defaults is None else set_defaults(document)


def _with_template_generation(daemon_set: Document, generation: int) -> Document:
    metadata: Document = daemon_set.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), TEMPLATE_GENERATION: str(generation)}
    return daemon_set | {"metadata": metadata | {"annotations": annotations}}


def _new_daemon_set(daemon_set: Document, _now_ns: int) -> Document:
    generation = max(_template_generation(daemon_set), 1)
    return _with_template_generation(without(daemon_set, "status"), generation)


def _template_generation(daemon_set: Document) -> int:
    annotations: Document = (daemon_set.get("metadata") or {}).get("annotations") or {}
    return parse_int64(annotations.get(TEMPLATE_GENERATION, "")) or 0


def _daemon_set(new: Document, old: Document, _now_ns: int) -> Document:
    generation = _template_generation(old)
    template = (new.get("spec") or {}).get("template")
    if template != (old.get("spec") or {}).get("template"):
        generation += 1
    new = with_part(new, "status", old.get("status"))
    return _with_template_generation(new, generation) if generation else new


def _new_stateful_set(stateful_set: Document, _now_ns: int) -> Document:
    return _without_max_unavailable(without(stateful_set, "status"))


def _stateful_set(new: Document, old: Document, _now_ns: int) -> Document:
    if not _limits_unavailable(old):
        new = _without_max_unavailable(new)
    return with_part(new, "status", old.get("status"))


def _limits_unavailable(stateful_set: Document) -> bool:
    strategy: Document = (stateful_set.get("spec") or {}).get("updateStrategy") or {}
    return (strategy.get("rollingUpdate") or {}).get("maxUnavailable") is not None


def _without_max_unavailable(stateful_set: Document) -> Document:
    """Return a set without the field of the gate MaxUnavailableStatefulSet, which is off.

    Upstream: pkg/registry/apps/statefulset/strategy.go, dropStatefulSetDisabledFields
    """
    if not _limits_unavailable(stateful_set):
        return stateful_set
    spec: Document = stateful_set["spec"]
    strategy: Document = spec["updateStrategy"]
    rolling = without(strategy["rollingUpdate"], "maxUnavailable")
    return stateful_set | {"spec": spec | {"updateStrategy": strategy | {"rollingUpdate": rolling}}}


def _new_lease(lease: Document, now_ns: int) -> Document:
    return _lease(lease, {}, now_ns)


def _lease(new: Document, old: Document, _now_ns: int) -> Document:
    """Return a lease without new values of fields that the gate CoordinatedLeaderElection enables.

    Upstream: pkg/registry/coordination/lease/strategy.go
    """
    spec: Document = new.get("spec") or {}
    before: Document = old.get("spec") or {}
    dropped = [
        name
        for name in ("strategy", "preferredHolder")
        if name in spec and before.get(name) is None
    ]
    return new | {"spec": without(spec, *dropped)} if dropped else new


def _new_service_account(account: Document, _now_ns: int) -> Document:
    """Return an account whose references to secrets have names only.

    Upstream: pkg/registry/core/serviceaccount/strategy.go, cleanSecretReferences
    """
    secrets = account.get("secrets")
    if not secrets:
        return account
    return account | {
        "secrets": [{"name": each["name"]} if "name" in each else {} for each in secrets]
    }


def _service_account(new: Document, _old: Document, now_ns: int) -> Document:
    return _new_service_account(new, now_ns)


def _new_endpoint_slice(endpoint_slice: Document, _now_ns: int) -> Document:
    """Return a slice without topologies, which version 1 does not store.

    Upstream: pkg/registry/discovery/endpointslice/strategy.go, dropTopologyOnV1
    """
    endpoints = endpoint_slice.get("endpoints") or ()
    if not any("deprecatedTopology" in each for each in endpoints):
        return endpoint_slice
    kept = [without(each, "deprecatedTopology") for each in endpoints]
    return endpoint_slice | {"endpoints": kept}


def _endpoint_slice(new: Document, old: Document, now_ns: int) -> Document:
    if new.get("endpoints") == old.get("endpoints"):
        return new
    return _new_endpoint_slice(new, now_ns)


def _new_api_service(api_service: Document, now_ns: int) -> Document:
    """Return a new APIService with its condition: an API of another server is not available.

    Upstream: staging/src/k8s.io/kube-aggregator/pkg/registry/apiservice/strategy.go,
    PrepareForCreate
    """
    service = (api_service.get("spec") or {}).get("service")
    status, reason, message = _LOCAL_API if service is None else _REMOTE_API
    condition = {
        "lastTransitionTime": timestamp_text(now_ns),
        "message": message,
        "reason": reason,
        "status": status,
        "type": "Available",
    }
    return with_part(api_service, "status", {"conditions": [condition]})


# Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/
# strategy.go


def _new_definition(definition: Document, _now_ns: int) -> Document:
    """Return a new definition, which has nothing but its stored version in the status."""
    return _with_stored_version(definition | {"status": {}})


def _changed_definition(new: Document, old: Document, _now_ns: int) -> Document:
    """Return a changed definition with the stored status."""
    return _with_stored_version(new | {"status": old.get("status") or {}})


def _definition_with_status(new: Document, old: Document, _now_ns: int) -> Document:
    """Return the stored definition with the sent status and metadata."""
    return new | {"spec": old.get("spec") or {}}


def _with_stored_version(definition: Document) -> Document:
    versions = (definition.get("spec") or {}).get("versions") or ()
    status: Document = definition["status"]
    listed = list(status.get("storedVersions") or ())
    name = next((each.get("name") for each in versions if each.get("storage")), None)
    if name is None or name in listed:
        return definition
    return definition | {"status": status | {"storedVersions": [*listed, name]}}


_LOCAL_API: Final = ("True", "Local", "Local APIServices are always available")
_REMOTE_API: Final = (
    "False", "NotForwarded", "this server forwards no requests to other servers"
)  # fmt: skip

GENERAL: Final = Preparation()

KIND_PREPARATIONS: Final[dict[tuple[str, str], Preparation]] = {
    ("apiregistration.k8s.io", "APIService"): Preparation(create=_new_api_service),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): Preparation(
        create=_new_definition, update=_changed_definition, update_status=_definition_with_status
    ),
    ("", "Node"): Preparation(create=_new_node, update=_node, update_status=_node_status),
    ("", "Pod"): Preparation(create=_new_pod, update_status=_pod_status),
    ("", "PersistentVolumeClaim"): Preparation(create=_new_claim, update=_claim),
    ("", "PersistentVolume"): Preparation(create=_new_volume, update_status=_volume_status),
    ("", "Namespace"): Preparation(create=_new_namespace, update=_namespace),
    ("certificates.k8s.io", "CertificateSigningRequest"): Preparation(
        update=kept_request, update_status=signed
    ),
    ("", "Service"): Preparation(create=new_service, update=changed_service),
    ("apps", "DaemonSet"): Preparation(create=_new_daemon_set, update=_daemon_set),
    ("coordination.k8s.io", "Lease"): Preparation(create=_new_lease, update=_lease),
    ("", "ServiceAccount"): Preparation(create=_new_service_account, update=_service_account),
    ("apps", "StatefulSet"): Preparation(create=_new_stateful_set, update=_stateful_set),
    ("batch", "Job"): Preparation(create=_new_job),
    ("storage.k8s.io", "CSIDriver"): Preparation(update=_driver),
    ("discovery.k8s.io", "EndpointSlice"): Preparation(
        create=_new_endpoint_slice, update=_endpoint_slice
    ),
    ("resource.k8s.io", "DeviceTaintRule"): Preparation(
        create=new_taint_rule, update=changed_taint_rule
    ),
    ("resource.k8s.io", "ResourceSlice"): Preparation(create=new_slice, update=changed_slice),
}
"""The preparations of kinds that differ from the general rule."""


# --------------------------------------------------------------------------- validation


def _finalizer_problems(namespace: Document) -> list[Problem]:
    """Return what is wrong with the finalizers in the spec of a namespace.

    Upstream: pkg/apis/core/validation/validation.go, ValidateNamespaceFinalizeUpdate
    """
    finalizers = (namespace.get("spec") or {}).get("finalizers") or ()
    return [
        problem
        for index, name in enumerate(finalizers)
        for problem in finalizer_problems(f"spec.finalizers[{index}]", name)
    ]


def update_problems(
    resource: Resource, new: Document, old: Document, subresource: str = ""
) -> list[Problem]:
    """Return what is wrong with a changed object, metadata first."""
    kind = resource.kind
    # Upstream validates the metadata of all kinds, and then again with the rest.
    problems = changed_metadata_problems(new, old, is_namespaced=kind.row.namespaced)
    if subresource == "status":
        return problems + kind.status_problems(new, old)
    if subresource == "ephemeralcontainers":
        return (
            problems
            + kind.metadata_update_problems(new, old)
            + ephemeral_container_problems(new, old)
        )
    if subresource == "finalize":
        return problems + kind.metadata_update_problems(new, old) + _finalizer_problems(new)
    if subresource == "approval":
        return problems + approval_problems(new, old)
    if subresource == "resize":
        resized = resize_problems(new, old, qos_class=qos_class(new.get("spec") or {}))
        return problems + kind.metadata_update_problems(new, old) + resized
    if kind.row.validation or resource.is_custom:
        return problems + kind.update_problems(new, old)
    return problems + resource.storage_kind.update_problems(
        resource.stored(new), resource.stored(old)
    )
