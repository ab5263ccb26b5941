"""Validation of nodes.

Upstream: pkg/apis/core/validation/validation.go, ValidateNode, ValidateNodeUpdate
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from podwright.apimachinery.objects import Document, go_json_error
from podwright.apimachinery.schema.validation.annotation_lists import annotation_list
from podwright.apimachinery.schema.validation.field_errors import (
    FieldErrors,
    internal_form,
    repeats,
)
from podwright.apimachinery.schema.validation.names import (
    cidr,
    label_value,
    network,
    qualified_name,
    strict_cidr,
)
from podwright.apimachinery.schema.validation.pods.resources import validate_amounts
from podwright.apimachinery.schema.validation.pods.scheduling import TAINT_EFFECT

_TAINTS: Final = "scheduler.alpha.kubernetes.io/taints"
_TAINT_FIELDS: Final = {"key": "string", "value": "string", "effect": "core.TaintEffect"}
_AVOIDED: Final = "scheduler.alpha.kubernetes.io/preferAvoidPods"
_FEATURE: Final = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")


def validate_node(errors: FieldErrors, node: Document) -> None:
    """Check a new node."""
    _validate_new(errors, node, ())


def _validate_new(errors: FieldErrors, node: Document, former: Sequence[str]) -> None:
    """Check a node as a new one; the networks that it had are not checked again."""
    _validate_annotations(errors, node)
    _validate_taints(errors, node)
    _validate_common(errors, node)
    networks = (node.get("spec") or {}).get("podCIDRs") or []
    for index, each in enumerate(networks):
        if each not in former:
            errors.each(f"spec.podCIDRs[{index}]", each, strict_cidr(each))
    if len(networks) > 1 and not any(map(cidr, networks)):
        versions = {network(each).version for each in networks}
        if len(versions) < 2 or len(networks) > 2:
            text = "may specify no more than one CIDR for each IP family"
            errors.invalid("spec.podCIDRs", networks, text)


def validate_changed_node(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed node as a new one.

    Upstream: pkg/registry/core/node/strategy.go
    """
    _validate_new(errors, new, (old.get("spec") or {}).get("podCIDRs") or ())


def validate_node_status(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a node whose status has changed."""
    _validate_annotations(errors, new)
    _validate_common(errors, new)
    _validate_addresses(errors, (new.get("status") or {}).get("addresses") or [])
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    former, networks = before.get("podCIDRs") or [], spec.get("podCIDRs") or []
    if former and former != networks:
        text = 'node updates may not change podCIDR except from "" to valid'
        errors.forbidden("spec.podCIDRs", text)
    if before.get("providerID") and before["providerID"] != spec.get("providerID"):
        text = 'node updates may not change providerID except from "" to valid'
        errors.forbidden("spec.providerID", text)
    _validate_taints(errors, new)
    if (spec.get("externalID") or "") != (before.get("externalID") or ""):
        errors.forbidden("spec.externalID", "may not be updated")


def _validate_annotations(errors: FieldErrors, node: Document) -> None:
    annotations = (node.get("metadata") or {}).get("annotations") or {}
    if written := annotations.get(_TAINTS):
        at = "metadata.annotations"
        taints = annotation_list(errors, at, _TAINTS, written, "Taint", _TAINT_FIELDS)
        validate_taints(errors, f"{at}.{_TAINTS}", taints)
    if written := annotations.get(_AVOIDED):
        _validate_avoided_pods(errors, written)


def _validate_taints(errors: FieldErrors, node: Document) -> None:
    # Upstream's path of taints is below `metadata`.
    validate_taints(errors, "metadata.taints", (node.get("spec") or {}).get("taints") or [])


def _validate_common(errors: FieldErrors, node: Document) -> None:
    status = node.get("status") or {}
    for kind in ("capacity", "allocatable"):
        validate_amounts(errors, f"status.{kind}", status.get(kind), ".{}")
    _validate_features(errors, status.get("declaredFeatures") or [])


class _Signature(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pod_controller: Document | None = None


class _Entry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pod_signature: _Signature | None = None


class _AvoidPods(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    prefer_avoid_pods: list[_Entry | None] | None = None


def _validate_avoided_pods(errors: FieldErrors, written: str) -> None:
    """Check the annotation with the controllers whose pods a node avoids.

    Upstream: ValidateAvoidPodsInNodeAnnotations
    """
    at = "metadata.annotations.AvoidPods"
    try:
        avoided = msgspec.convert(json.loads(written), _AvoidPods | None)
    except msgspec.ValidationError as error:  # a ValueError, too
        errors.invalid(at, _AVOIDED, str(error))
        return
    except ValueError as error:
        errors.invalid(at, _AVOIDED, go_json_error(written.encode(), error))
        return
    for index, entry in enumerate((avoided and avoided.prefer_avoid_pods) or ()):
        at = f"metadata.annotations.{_AVOIDED}[{index}].PodSignature"
        signature = entry and entry.pod_signature
        controller = signature and signature.pod_controller
        if controller is None:
            errors.required(at)
        elif not controller.get("controller"):
            text = "must point to a controller"
            path = f"{at}.PodController.Controller"
            errors.invalid(path, controller.get("controller", False), text)


def validate_taints(errors: FieldErrors, path: str, taints: list[Document]) -> None:
    """Check taints, which are unique by key and effect."""
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        at = f"{path}[{index}]"
        key, value, effect = (taint.get(name) or "" for name in ("key", "value", "effect"))
        errors.each(f"{at}.key", key, qualified_name(key))
        if details := label_value(value):
            errors.invalid(f"{at}.value", value, ";".join(details))
        TAINT_EFFECT(errors, f"{at}.effect", effect)
        if (key, effect) in seen:
            text = "taints must be unique by key and effect pair"
            errors.duplicate(at, internal_form(taint, "Taint"), text)
        seen.add((key, effect))


def _validate_features(errors: FieldErrors, features: list[str]) -> None:
    for index, name in enumerate(features):
        at = f"status.declaredFeatures[{index}]"
        # Upstream reports the order while it looks at the name before.
        if index and features[index - 1] == name:
            errors.duplicate(at, name)
        elif index and features[index - 1] > name:
            errors.invalid(at, name, "list must be sorted alphabetically")
        if len(name) > 253:
            text = f'invalid feature name "{name}": must be no more than 253 characters'
            errors.invalid(at, name, text)
        elif not _FEATURE.fullmatch(name):
            text = (
                f'invalid feature name "{name}": must start with an UpperCamelCase segment, with'
                " subsequent segments separated by '/' (e.g., MyFeature or"
                " MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
            )
            errors.invalid(at, name, text)


def _validate_addresses(errors: FieldErrors, addresses: list[Document]) -> None:
    """Upstream compares addresses in updates only."""
    for index, (address, is_repeated) in enumerate(zip(addresses, repeats(addresses), strict=True)):
        if is_repeated:
            shown = internal_form(address, "NodeAddress")
            errors.duplicate(f"status.addresses[{index}]", shown)
