"""Compares an object of a destination with what it should be, without I/O.

The one comparison of a sync: after a start, for single changes, and for `--check`. It returns the
object that the destination should hold, how it differs from the current one, and how it differs
from the source because of a policy.

A destination has a part of each object to itself: what its API server sets, the annotations of its
components, finalizers, and the status except that of nodes. Everything else is that of the source.

Upstream: pkg/apis/core/validation/validation.go, `ValidatePodUpdate` (which fields may change)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import (
    DELETE_PROTECTION,
    SOURCE_UID,
    Document,
    without_label_keys,
)
from podwright.apimachinery.schema import built_in
from podwright.online.client import BoundPods, SyncPolicies
from podwright.online.sync.object_copy import has_devices, without_account
from podwright.online.sync.source_kinds import SourceKind

_OF_THE_DESTINATION: Final = (
    "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
    "deletionGracePeriodSeconds", "managedFields", "selfLink", "finalizers", "ownerReferences",
    "generateName",
)  # fmt: skip
_OWN_ANNOTATIONS: Final = (
    "kube-scheduler-simulator.sigs.k8s.io/", "node.alpha.kubernetes.io/ttl", "pv.kubernetes.io/",
    "resource.kubernetes.io/", "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/",
)  # fmt: skip
"""Prefixes of annotations that schedulers, controllers and provisioners of a destination write."""

TOPOLOGY_LABELS: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
"""Labels that a binding gives to a pod: those of the node that its own cluster has chosen."""

THERE: Final = "is there"
"""What stands for a whole object."""

FINISHED: Final = frozenset({"Succeeded", "Failed"})

_PLACED: Final = "changes of pods that both sides have placed are not mirrored"
_PLACEMENT: Final = "pods are placed by the destination (--bound)"
_LABELS: Final = f"{_PLACED} without --follow-labels"
_RESOURCES: Final = f"{_PLACED} without --follow-resources"
_PHASE: Final = "that pods have finished is not mirrored without --pod-status"
_BOUND_HERE: Final = "claims and volumes that the destination has bound stay so"
_DEVICES: Final = "devices that the destination has allocated stay so"
_FROZEN: Final = "nodes keep the status of their creation (--freeze-node-status)"


class Difference(msgspec.Struct, frozen=True):
    """A value that is not that of the source.

    Attributes
    ----------
    path : str
        Of the field; "" for the whole object.
    source, here : object
        The values; None for an absent one.
    policy : str
        What explains it; "" if nothing does.
    """

    path: str
    source: Any
    here: Any
    policy: str = ""


class ObjectDifference(msgspec.Struct, frozen=True):
    """A difference of an object.

    Attributes
    ----------
    kind : SourceKind
    key : str
    difference : Difference
    """

    kind: SourceKind
    key: str
    difference: Difference


class Settlement(msgspec.Struct, frozen=True):
    """What a destination should hold of an object.

    Attributes
    ----------
    obj : Document
    differences : sequence of Difference
        Between it and the current object: what is to be written.
    kept : sequence of Difference
        What stays different from the source, each with its policy.
    """

    obj: Document
    differences: Sequence[Difference]
    kept: Sequence[Difference] = ()


def settled(
    kind: SourceKind, obj: Document, present: Document, policies: SyncPolicies, *, node: str = ""
) -> Settlement:
    """Compare the current object of a destination with the copy of the one of the source.

    Parameters
    ----------
    kind : SourceKind
    obj : Document
        The copy, as a destination without the object would get it.
    present : Document
    policies : SyncPolicies
    node : str
        Of a pod at the source.
    """
    head = {"apiVersion": kind.api_version, "kind": kind.kind}
    present = {**present, **head}
    obj = {**obj, "metadata": _metadata(obj["metadata"], present["metadata"])}
    if kind.resource == "pods":
        aim, kept = _pod(obj, present, policies, node)
        if not policies.keeps_accounts:
            present = {**present, "spec": without_account(present.get("spec") or {})}
    else:
        aim, kept = _RULES.get(kind.resource, _other)(obj, present, policies)
    found = _differences(_normal(kind, aim), _normal(kind, present))
    return Settlement(aim, list(found), kept)


def _metadata(metadata: Document, present: Document) -> Document:
    """Return the metadata of the source with what a destination has to itself."""
    own = {k: v for k, v in present.items() if k in _OF_THE_DESTINATION}
    rest = {k: v for k, v in metadata.items() if k not in _OF_THE_DESTINATION}
    annotations = {
        **{k: v for k, v in (present.get("annotations") or {}).items() if _is_own(k)},
        **{k: v for k, v in (metadata.get("annotations") or {}).items() if not _is_own(k)},
    }
    return {**rest, **own, "annotations": annotations}


def _is_own(annotation: str) -> bool:
    return annotation.startswith(_OWN_ANNOTATIONS)


_Rule = Callable[[Document, Document, SyncPolicies], tuple[Document, Sequence[Difference]]]


def _other(
    obj: Document, present: Document, _: SyncPolicies
) -> tuple[Document, Sequence[Difference]]:
    return _with(obj, present, "status"), ()


def _namespace(
    obj: Document, present: Document, _: SyncPolicies
) -> tuple[Document, Sequence[Difference]]:
    return _with(_with(obj, present, "status"), present, "spec"), ()  # its finalizers


def _node(
    obj: Document, present: Document, policies: SyncPolicies
) -> tuple[Document, Sequence[Difference]]:
    # Once set, it cannot change; and attached are the volumes of this cluster's pods.
    spec, own = dict(obj.get("spec") or {}), present.get("spec") or {}
    spec |= {field: own[field] for field in ("podCIDR", "podCIDRs") if field in own}
    obj = {**obj, "spec": spec}
    if policies.freezes_node_status:
        kept = _differences(obj.get("status"), present.get("status"), "status", policy=_FROZEN)
        return _with(obj, present, "status"), list(kept)
    status, own = obj.get("status") or {}, present.get("status") or {}
    for field in ("volumesAttached", "volumesInUse"):
        status = _with(status, own, field)
    return {**obj, "status": status}, ()


def _claim(
    obj: Document, present: Document, _: SyncPolicies
) -> tuple[Document, Sequence[Difference]]:
    """Settle a volume, or a claim to one: what the destination has bound stays so."""
    obj = _with(obj, present, "status")
    if not is_bound_otherwise(present, obj):
        return obj, ()
    kept = _differences(obj["spec"], present["spec"], "spec", policy=_BOUND_HERE)
    return _with(obj, present, "spec"), list(kept)


def _device_claim(
    obj: Document, present: Document, _: SyncPolicies
) -> tuple[Document, Sequence[Difference]]:
    """Settle a claim to devices: what the destination has allocated stays so."""
    if not has_devices(obj):
        return _with(obj, present, "status"), ()
    if not has_devices(present):
        finalizers = {*(obj["metadata"].get("finalizers") or ()), DELETE_PROTECTION}
        return {**obj, "metadata": {**obj["metadata"], "finalizers": sorted(finalizers)}}, ()
    mine, theirs = present["status"]["allocation"], obj["status"]["allocation"]
    kept = _differences(theirs, mine, "status.allocation", policy=_DEVICES)
    return _with(obj, present, "status"), list(kept)


_RULES: Final[Mapping[str, _Rule]] = {
    "namespaces": _namespace,
    "nodes": _node,
    "persistentvolumeclaims": _claim,
    "persistentvolumes": _claim,
    "resourceclaims": _device_claim,
}


def _pod(
    obj: Document, present: Document, policies: SyncPolicies, node: str
) -> tuple[Document, Sequence[Difference]]:
    here = (present.get("spec") or {}).get("nodeName") or ""
    spec = without_account(present["spec"]) if not policies.keeps_accounts else present["spec"]
    metadata = obj["metadata"]
    labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k not in TOPOLOGY_LABELS}
    own = present["metadata"].get("labels") or {}
    labels |= {k: own[k] for k in TOPOLOGY_LABELS if k in own}
    source = {**obj["spec"], "nodeName": here}
    # Claims of pods that keep their node have names instead of templates; and containers for
    # debugging are added by requests alone.
    for field in ("resourceClaims", "ephemeralContainers"):
        source = _with(source, spec, field)
    # What keys of labels stand for is added when a pod is created.
    plain = without_label_keys(spec, own)
    for field in ("affinity", "topologySpreadConstraints"):
        if plain.get(field) == source.get(field):
            source = _with(source, spec, field)
    if not here:
        del source["nodeName"]
    kept: list[Difference] = []
    if node and here:
        followed = _with_resources(spec, source) if policies.follows_resources else spec
        kept += _differences(_without_resources(source), _without_resources(spec), "spec",
                             policy=_PLACED)  # fmt: skip
        if not policies.follows_resources:
            kept += _differences(
                resources_of(source), resources_of(spec), "spec", policy=_RESOURCES
            )
        source = followed
        if not policies.follows_labels:
            kept += _differences(labels, own, "metadata.labels", policy=_LABELS)
            labels = dict(own)
        annotations = dict(present["metadata"].get("annotations") or {})
        kept += _differences(
            metadata["annotations"], annotations, "metadata.annotations", policy=_PLACED
        )
        metadata = {**metadata, "annotations": annotations}
    if node != here and not (policies.bound is BoundPods.source and node and not here):
        kept.append(Difference("spec.nodeName", node or None, here or None, _PLACEMENT))
    aim = _with({**obj, "spec": source}, present, "status")
    aim["metadata"] = {**metadata, "labels": labels}
    phase, own_phase = _phase(obj), _phase(present)
    if phase in FINISHED and phase != own_phase:
        if policies.mirrors_pod_status:
            aim["status"] = {**(present.get("status") or {}), "phase": phase}
        else:
            kept.append(Difference("status.phase", phase, own_phase, _PHASE))
    return aim, kept


def _phase(obj: Document) -> str | None:
    phase: str | None = (obj.get("status") or {}).get("phase")
    return phase


def _with(obj: Document, other: Document, field: str) -> Document:
    """Return an object with a field of another one, or without it if that has none."""
    rest = {k: v for k, v in obj.items() if k != field}
    return {**rest, field: other[field]} if field in other else rest


def is_bound_otherwise(present: Document, obj: Document) -> bool:
    """Whether the destination has bound a claim or a volume to another one than the source."""
    before, after = present.get("spec") or {}, obj.get("spec") or {}
    if before.get("volumeName"):
        return bool(before["volumeName"] != after.get("volumeName"))
    ours, theirs = before.get("claimRef") or {}, after.get("claimRef") or {}
    if not ours:
        return False
    names = ("namespace", "name")
    return any(ours.get(field) != theirs.get(field) for field in names)


# ------------------------------------------------------------------------------------ resources

_CONTAINERS: Final = ("containers", "initContainers")


def resources_of(spec: Document) -> Document:
    """Return the resources of all containers, as a strategic merge patch of the spec."""
    return {
        field: [
            {"name": each["name"], "resources": each.get("resources") or {}} for each in spec[field]
        ]
        for field in _CONTAINERS
        if spec.get(field)
    }


def _without_resources(spec: Document) -> Document:
    return spec | {
        field: [{k: v for k, v in each.items() if k != "resources"} for each in spec[field]]
        for field in _CONTAINERS
        if spec.get(field)
    }


def _with_resources(spec: Document, other: Document) -> Document:
    """Return a spec with the resources of the containers of another one."""
    found = dict(spec)
    for field in _CONTAINERS:
        given = {each["name"]: each for each in other.get(field) or ()}
        if spec.get(field):
            found[field] = [_with(e, given.get(e["name"], e), "resources") for e in spec[field]]
    return found


# ------------------------------------------------------------------------------------ difference


def _normal(kind: SourceKind, obj: Document) -> Any:
    """Return an object with the defaults of its kind, so that an older server makes no change."""
    left_out = {"apiVersion": kind.api_version, "kind": kind.kind}
    found = built_in().find(kind.api_version, kind.kind)
    return (found.with_defaults(obj) if found is not None else obj) | left_out


def _differences(
    source: Any, here: Any, path: str = "", *, policy: str = ""
) -> Iterator[Difference]:
    """Yield the fields that differ; null and empty are as absent."""
    if isinstance(source, dict) and isinstance(here, dict):
        for field in dict.fromkeys((*source, *here)):
            at = _joined(path, field)
            yield from _differences(source.get(field), here.get(field), at, policy=policy)
        return
    if isinstance(source, list) and isinstance(here, list) and len(source) == len(here):
        for number, (one, other) in enumerate(zip(source, here, strict=True)):
            yield from _differences(one, other, f"{path}[{number}]", policy=policy)
        return
    one, other = _present(source, path), _present(here, path)
    if one != other:
        yield Difference(path, one, other, policy)


def _joined(path: str, field: str) -> str:
    if any(mark in field for mark in "./"):
        return f'{path}["{field}"]'
    return f"{path}.{field}" if path else field


def _present(value: Any, path: str) -> Any:
    is_map = path in ("metadata.labels", "metadata.annotations", "status")
    if path.startswith("status.") and _is_zero(value):
        return None  # servers write some structs of a status also if nothing is set
    return None if value == [] or (value == {} and is_map) else value


def _is_zero(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_zero, value.values()))
    return not value


# --------------------------------------------------------------------------------------- patches


def pod_patches(settlement: Settlement, present: Document) -> Sequence[tuple[str, Document]]:
    """Return the patches that settle a pod, each with its subresource: "", `resize`, `status`.

    That of `resize` is a strategic merge patch, the others are JSON merge patches.
    """
    aim, paths = settlement.obj, [each.path for each in settlement.differences]
    spec, own = aim["spec"], present["spec"]
    fields = {re.split(r"[.[]", path)[1] for path in paths if path.startswith("spec.")}
    changed = {field: _without_resized(field, spec.get(field), own.get(field)) for field in fields}
    own = {field: own.get(field) for field in fields}
    patch = {"spec": _merge_patch(own, changed)}
    if any(path.startswith("metadata.") for path in paths):
        metadata = present["metadata"]
        patch["metadata"] = {
            field: _merge_patch(metadata.get(field) or {}, aim["metadata"].get(field) or {})
            for field in ("labels", "annotations")
        }
    patch = {part: each for part, each in patch.items() if each}
    found = [("", patch)] if patch else []
    resources = resources_of(spec)
    if fields & set(_CONTAINERS) and resources != resources_of(present["spec"]):
        found.append(("resize", {"spec": resources}))
    if any(path.startswith("status") for path in paths):
        found.append(("status", {"status": {"phase": aim["status"]["phase"]}}))
    return found


def _without_resized(field: str, value: Any, own: Any) -> Any:
    """Return the containers of a pod as they were, but for what a patch of the pod may change."""
    if field not in _CONTAINERS or len(own or ()) != len(value or ()):
        return value
    kept = [_with(one, other, "image") for one, other in zip(own, value, strict=True)]
    resized = _with_resources({field: kept}, {field: value})[field]
    return value if any(_differences(value, resized)) else kept


def _merge_patch(before: Document, after: Document) -> Document:
    """Return the JSON merge patch (RFC 7386) from one document to another."""
    patch: Document = {field: None for field in before if field not in after}
    for field, value in after.items():
        own = before.get(field)
        if isinstance(value, dict) and isinstance(own, dict):
            if inner := _merge_patch(own, value):
                patch[field] = inner
        elif value != own:
            patch[field] = value
    return patch


def source_uid(obj: Document) -> str | None:
    """Return the uid of the object of the source that an object is a copy of."""
    found: str | None = (obj["metadata"].get("annotations") or {}).get(SOURCE_UID)
    return found
