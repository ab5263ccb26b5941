"""Validation of changed pods: few fields of a pod's spec can change.

Upstream: pkg/apis/core/validation/validation.go, ValidatePodUpdate;
pkg/apis/core/validation/validation.go, ValidatePodEphemeralContainersUpdate,
validateEphemeralContainers, ValidatePodResize.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.decoding import Problem
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import (
    FieldErrors,
    difference,
    equality_key,
    internal_form,
    same,
)
from podwright.apimachinery.schema.validation.names import in_range
from podwright.apimachinery.schema.validation.pods.pod import (
    MIRROR,
    TRIMMED,
    validate_ephemeral_containers,
    validate_pod_parts,
)
from podwright.apimachinery.schema.validation.pods.security import containers_of

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_UPDATABLE: Final = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously"
        " negative)",
    )
)


_IMAGE: Final = r.struct(image=r.required(TRIMMED))


def validate_pod_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed pod."""
    validate_pod_parts(errors, new)
    _validate_mirror(errors, new, old)
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    for field in ("containers", "initContainers"):
        if len(spec.get(field) or ()) != len(before.get(field) or ()):
            text = "pod updates may not add or remove containers"
            errors.forbidden(f"spec.{field}", text)
            return
        for at, container in containers_of("spec", spec, (field,)):
            _IMAGE(errors, at, container)
    if not _validate_deadline(errors, spec, before):
        return
    _validate_added_tolerations(errors, spec, before)
    _validate_removed_gates(errors, spec, before)
    if spec == before:
        return
    comparable = _comparable(errors, spec, before)
    if not same(comparable, before, "PodSpec"):
        text = f"pod updates may not change fields other than {_UPDATABLE}"
        found = difference(before, comparable, "PodSpec")
        errors.forbidden("spec", f"{text}\n{found}")


def _validate_mirror(errors: FieldErrors, new: Document, old: Document) -> None:
    annotations = (new.get("metadata") or {}).get("annotations") or {}
    before = (old.get("metadata") or {}).get("annotations") or {}
    if annotations.get(MIRROR) != before.get(MIRROR):
        verb = "remove or update" if MIRROR in before else "add"
        text = f"may not {verb} mirror pod annotation"
        errors.forbidden(f"metadata.annotations[{MIRROR}]", text)


def _validate_deadline(errors: FieldErrors, spec: Document, before: Document) -> bool:
    """Check that a deadline is only shortened; whether to continue."""
    at, deadline = "spec.activeDeadlineSeconds", spec.get("activeDeadlineSeconds")
    former = before.get("activeDeadlineSeconds")
    if deadline is not None:
        if details := in_range(deadline, 0, 2**31 - 1):
            errors.each(at, deadline, details)
            return False
        if former is not None and former < deadline:
            errors.invalid(at, deadline, "must be less than or equal to previous value")
            return False
    elif former is not None:
        errors.invalid(at, None, "must not update from a positive integer to nil value")
    return True


def _validate_added_tolerations(errors: FieldErrors, spec: Document, before: Document) -> None:
    def without_seconds(toleration: Document) -> bytes:
        kept = {name: v for name, v in toleration.items() if name != "tolerationSeconds" and v}
        return equality_key(kept)

    kept = {without_seconds(each) for each in spec.get("tolerations") or ()}
    if any(without_seconds(each) not in kept for each in before.get("tolerations") or ()):
        text = "existing toleration can not be modified except its tolerationSeconds"
        errors.forbidden("spec.tolerations", text)


def _validate_removed_gates(errors: FieldErrors, spec: Document, before: Document) -> None:
    former = {each.get("name") for each in before.get("schedulingGates") or ()}
    # A repeated gate has one error, at its last place.
    gates = {each.get("name"): i for i, each in enumerate(spec.get("schedulingGates") or ())}
    for name, index in gates.items():
        if name not in former:
            errors.forbidden(
                f"spec.schedulingGates[{index}].name",
                f"only deletion is allowed, but found new scheduling gate '{name}'",
            )


def _comparable(errors: FieldErrors, spec: Document, before: Document) -> Document:
    """Return a spec with the former values of the fields that may change."""
    kept = dict(spec)
    for field in ("containers", "initContainers"):
        if spec.get(field):
            kept[field] = [
                container | {"image": former.get("image")}
                for container, former in zip(spec[field], before[field], strict=True)
            ]
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        kept[field] = before.get(field)
    grace = "terminationGracePeriodSeconds"
    if (before.get(grace) or 0) < 0 and spec.get(grace) == 1:
        kept[grace] = before[grace]
    if before.get("schedulingGates"):
        _allow_narrower_nodes(errors, kept, spec, before)
    return kept


def _allow_narrower_nodes(
    errors: FieldErrors, kept: Document, spec: Document, before: Document
) -> None:
    """Accept additions to the node selector and the node affinity of a gated pod."""
    selector, former = spec.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in former.items()):
        text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        errors.invalid("spec.nodeSelector", spec.get("nodeSelector"), text)
    kept["nodeSelector"] = before.get("nodeSelector")
    affinity, former_affinity = spec.get("affinity"), before.get("affinity")
    node, former_node = _node_affinity(affinity), _node_affinity(former_affinity)
    if same(node, former_node):
        return
    _validate_node_affinity(errors, node or {}, former_node or {})
    others = {name: each for name, each in (affinity or {}).items() if name != "nodeAffinity"}
    if former_node is not None:
        others["nodeAffinity"] = former_node
    # A pod without any affinity may get one; other terms that are dropped stay a difference.
    kept["affinity"] = others if others or former_affinity else former_affinity


def _node_affinity(affinity: Document | None) -> Document | None:
    found: Document | None = (affinity or {}).get("nodeAffinity")
    return found


def _validate_node_affinity(errors: FieldErrors, new: Document, old: Document) -> None:
    former = (old.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    terms = (new.get(_REQUIRED) or {}).get("nodeSelectorTerms") or []
    at = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    if former and len(former) != len(terms):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        errors.invalid(at, internal_form(terms, "[NodeSelectorTerm]"), text)
        return
    for index, (term, before) in enumerate(zip(terms, former, strict=False)):
        if not _has_only_additions(term, before):
            text = "only additions are allowed (no mutations or deletions)"
            errors.invalid(f"{at}[{index}]", internal_form(term, "NodeSelectorTerm"), text)


def _has_only_additions(term: Document, before: Document) -> bool:
    names = ("matchExpressions", "matchFields")
    if not any(before.get(name) for name in names) and any(term.get(name) for name in names):
        return False
    for name in names:
        former = before.get(name) or []
        if former and not same((term.get(name) or [])[: len(former)], former):
            return False
    return True


# Validation of the pod subresources `ephemeralcontainers` and `resize`.

_RESIZABLE: Final = frozenset({"cpu", "memory"})
_PARTS: Final = ("requests", "limits")


def ephemeral_container_problems(new: Document, old: Document) -> list[Problem]:
    """Return what is wrong with a pod whose ephemeral containers changed."""
    errors = FieldErrors()
    path = "spec.ephemeralContainers"
    spec: Document = new.get("spec") or {}
    if MIRROR in ((old.get("metadata") or {}).get("annotations") or {}):
        errors.forbidden("", "static pods do not support ephemeral containers")
        return errors.problems
    if spec.get("ephemeralContainers"):
        validate_ephemeral_containers(errors, path, spec)
    present = {each.get("name"): each for each in spec.get("ephemeralContainers") or ()}
    for container in (old.get("spec") or {}).get("ephemeralContainers") or ():
        name = container.get("name")
        if name not in present:
            text = f'existing ephemeral containers "{name}" may not be removed\n'
            errors.forbidden(path, text)
        elif present[name] != container:
            text = f'existing ephemeral containers "{name}" may not be changed'
            found = difference(container, present[name], "EphemeralContainer")
            errors.forbidden(path, f"{text}\n{found}")
    return errors.problems


def resize_problems(new: Document, old: Document, *, qos_class: str) -> list[Problem]:
    """Return what is wrong with a pod whose resources changed.

    Parameters
    ----------
    qos_class : str
        The class that follows from the new resources.
    """
    errors = FieldErrors()
    spec, stored = new.get("spec") or {}, old.get("spec") or {}
    if MIRROR in ((old.get("metadata") or {}).get("annotations") or {}):
        errors.forbidden("", "static pods cannot be resized")
        return errors.problems
    if (stored.get("os") or {}).get("name") == "windows":
        errors.forbidden("", "windows pods cannot be resized")
        return errors.problems
    validate_pod_parts(errors, new)
    current = (old.get("status") or {}).get("qosClass")
    if current and current != qos_class:
        text = "Pod QOS Class may not change as a result of resizing"
        errors.invalid("spec", (new.get("status") or {}).get("qosClass") or "", text)
    if not _is_resizable(old.get("status") or {}):
        errors.forbidden("spec", "Pod running on node without support for resize")
    _validate_resources_of_pod(errors, spec, stored)
    if _validate_same_containers(errors, spec, stored):
        for field in ("initContainers", "containers"):
            _validate_removals(errors, field, new, old)
        _validate_resized(errors, new, old)
    return errors.problems


def _is_resizable(status: Document) -> bool:
    """Whether the status has resources, as the kubelets that resize write them.

    Upstream: pkg/apis/core/validation/validation.go, isPodResizeRequestSupported
    """
    running = (
        each
        for each in status.get("containerStatuses") or ()
        if (each.get("state") or {}).get("running") is not None
    )
    return all(each.get("resources") is not None for each in islice(running, 1))


def _validate_resources_of_pod(errors: FieldErrors, spec: Document, stored: Document) -> None:
    """Check the changed resources of a pod as a whole.

    Upstream: pkg/apis/core/validation/validation.go, validatePodLevelResourcesResize
    """
    resources, before = spec.get("resources"), stored.get("resources")
    if not any((each or {}).get(part) for each in (resources, before) for part in _PARTS):
        return
    at = "spec.resources"
    if resources is None:
        errors.forbidden(at, "pod-level resources cannot be removed")
        return
    _validate_kept(errors, at, resources, before or {}, "pod-level resource")
    if not same(_with_former(resources, before or {}), before or {}):
        errors.forbidden("spec", "only cpu and memory resources are mutable at pod-level")


def _validate_same_containers(errors: FieldErrors, spec: Document, stored: Document) -> bool:
    """Check that no container was added, removed, renamed or moved; whether to continue."""
    found = len(errors)
    for field in ("containers", "initContainers"):
        names = [each.get("name") for each in spec.get(field) or ()]
        before = [each.get("name") for each in stored.get(field) or ()]
        if len(names) != len(before):
            errors.forbidden(f"spec.{field}", f"{field} may not be added or removed on resize")
            continue
        for index, (name, former) in enumerate(zip(names, before, strict=True)):
            if name != former:
                text = f"{field} may not be renamed or reordered on resize"
                errors.forbidden(f"spec.{field}[{index}].name", text)
    return len(errors) == found


def _pairs(field: str, new: Document, old: Document) -> list[tuple[Document, Document]]:
    """Return the containers of a changed pod, each with the stored one."""
    specs = [each.get("spec") or {} for each in (new, old)]
    return list(zip(*(each.get(field) or () for each in specs), strict=True))


def _validate_removals(errors: FieldErrors, field: str, new: Document, old: Document) -> None:
    for index, (container, before) in enumerate(_pairs(field, new, old)):
        resources, stored = container.get("resources") or {}, before.get("resources") or {}
        _validate_kept(errors, f"spec.{field}[{index}].resources", resources, stored, "resource")


def _validate_kept(
    errors: FieldErrors, path: str, resources: Document, before: Document, noun: str
) -> None:
    for part in _PARTS:
        if (before.get(part) or {}).keys() - (resources.get(part) or {}).keys():
            errors.forbidden(f"{path}.{part}", f"{noun} {part} cannot be removed")


def _validate_resized(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check that nothing but requests and limits of the CPU and the memory changes."""
    for container, before in _pairs("containers", new, old):
        if not same(_with_former_amounts(container, before), before):
            errors.forbidden("spec", "only cpu and memory resources are mutable")
    for index, (container, before) in enumerate(_pairs("initContainers", new, old)):
        at = f"spec.initContainers[{index}]"
        if not same(_with_former_amounts(container, before), before):
            text = "only cpu and memory resources for init or sidecar containers are mutable"
            errors.forbidden(at, text)
        if same(container, before) or container.get("restartPolicy") == "Always":
            continue
        for policy in container.get("resizePolicy") or ():
            if policy.get("restartPolicy") == "RestartContainer":
                text = "non-sidecar init containers with a resize policy of RestartContainer"
                errors.forbidden(at, f"{text} cannot be resized")


def _with_former_amounts(container: Document, before: Document) -> Document:
    """Return a container with the amounts of CPU and memory that it had, and without claims."""
    resources, former = (each.get("resources") or {} for each in (container, before))
    return container | {"resources": _with_former(resources, former)}


def _with_former(resources: Document, before: Document) -> Document:
    made: Document = {}
    for part in _PARTS:
        amounts, former = (each.get(part) or {} for each in (resources, before))
        kept = {name: amount for name, amount in amounts.items() if name not in _RESIZABLE}
        made[part] = kept | {name: former[name] for name in _RESIZABLE if name in former}
    return made
