"""Validation of `metadata`, labels, annotations and label selectors.

Upstream: staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go;
staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go;
pkg/apis/core/validation/validation.go, ValidateObjectMeta
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.decoding import Problem
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.names import (
    canonical_ip,
    dns_label,
    dns_subdomain,
    label_value,
    long_name,
    path_segment,
    qualified_name,
)

NameRule: TypeAlias = Callable[[str], list[str]]

NAME_RULES: Final[dict[str, NameRule]] = {
    "subdomain": dns_subdomain,
    "label": dns_label,
    "long": long_name,
    "path": path_segment,
    "address": canonical_ip,
}
"""The rules of names, by `KindRow.name_rule`."""

_ANNOTATIONS_MAX_BYTES: Final = 256 * 1024
_GENERIC_GROUPS: Final = frozenset(
    {"admissionregistration.k8s.io", "coordination.k8s.io", "node.k8s.io"}
)
_STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_SIMPLE_FIELDS: Final = frozenset({"name", "namespace", "labels", "creationTimestamp"})
_METADATA_FIELDS: Final = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation",
    "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences",
    "finalizers", "managedFields",
)  # fmt: skip
"""The fields of metadata besides labels and annotations, as in Go's struct."""
_REFERENCE_FIELDS: Final = (
    "apiVersion",
    "kind",
    "name",
    "uid",
    "controller",
    "blockOwnerDeletion",
)


def validate_object_meta(
    metadata: Document,
    *,
    name_rule: str,
    is_namespaced: bool,
    path: str = "metadata",
    qualifies_finalizers: bool = True,
) -> list[Problem]:
    """Return the errors of the metadata of a new object.

    Parameters
    ----------
    name_rule : str
        The format of names; see `NAME_RULES`.
    is_namespaced : bool
        Whether the object's namespace is checked; the server ignores the one of other objects.
    path : str
        The path of the metadata.
    """
    errors = FieldErrors()
    if not is_namespaced and metadata.get("namespace"):
        metadata = {name: value for name, value in metadata.items() if name != "namespace"}
    validate_metadata(
        errors, metadata, NAME_RULES[name_rule], qualifies_finalizers=qualifies_finalizers
    )
    if path == "metadata":
        return errors.problems
    return [
        (path + at.removeprefix("metadata"), message, value)
        for at, message, value in errors.problems
    ]


def is_simple_and_valid(metadata: object, name_rule: str) -> bool:
    """Whether metadata has only a name, a namespace and labels, all of them without errors.

    A fast form of decoding and of the rules for most objects: other metadata can be valid, too.
    """
    if type(metadata) is not dict or not _SIMPLE_FIELDS.issuperset(metadata):
        return False
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if type(name) is not str or not name or NAME_RULES[name_rule](name):
        return False
    if namespace is not None and (type(namespace) is not str or _is_wrong_namespace(namespace)):
        return False
    if metadata.get("creationTimestamp") is not None:
        return False
    labels = metadata.get("labels")
    return labels is None or (type(labels) is dict and _are_valid_labels(labels))


def _are_valid_labels(labels: Mapping[str, Any]) -> bool:
    for key, value in labels.items():
        if type(value) is not str or qualified_name(key) or label_value(value):
            return False
    return True


@lru_cache(maxsize=1024)
def _is_wrong_namespace(namespace: str) -> bool:
    return bool(namespace and dns_label(namespace))


def validate_metadata(
    errors: FieldErrors,
    metadata: Document,
    name_rule: NameRule,
    *,
    qualifies_finalizers: bool,
) -> None:
    """Check the metadata of a new object.

    Parameters
    ----------
    name_rule : callable
        Returns the errors of a name of this kind.

    Notes
    -----
    An object with a `generateName` gets its name later; its prefix is checked.
    """
    prefix, name = metadata.get("generateName"), metadata.get("name")
    _validate_prefix(errors, prefix, name_rule)
    if name:
        errors.each("metadata.name", name, name_rule(name))
    elif not prefix:
        errors.required("metadata.name", "name or generateName is required")
    if namespace := metadata.get("namespace"):
        errors.each("metadata.namespace", namespace, dns_label(namespace))
    if isinstance(generation := metadata.get("generation"), int) and generation < 0:
        errors.invalid("metadata.generation", generation, "must be greater than or equal to 0")
    _validate_common(errors, metadata)
    _validate_finalizers(errors, metadata.get("finalizers") or [])
    if qualifies_finalizers:
        _validate_qualified_finalizers(errors, metadata.get("finalizers") or [])


def changed_metadata_problems(
    new: Document, old: Document, *, is_namespaced: bool
) -> list[Problem]:
    """Return what the registry reports for the metadata of a changed object of any kind.

    The rules of a kind report most of it once more.

    Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/update.go, validateCommonFields
    """
    errors = FieldErrors()
    metadata, stored = new.get("metadata") or {}, old.get("metadata") or {}
    if prefix := metadata.get("generateName"):
        rules = path_segment(prefix) if prefix not in (".", "..") else []
        errors.each("metadata.generateName", prefix, rules)
    if name := metadata.get("name"):
        errors.each("metadata.name", name, path_segment(name))
    else:
        errors.required("metadata.name", "name or generateName is required")
    namespace = metadata.get("namespace")
    if is_namespaced and namespace:
        errors.each("metadata.namespace", namespace, dns_label(namespace))
    _validate_common(errors, metadata)
    _validate_finalizers(errors, metadata.get("finalizers") or [])
    _validate_change(errors, metadata, stored)
    return errors.problems


def validate_metadata_update(
    errors: FieldErrors, new: Document, old: Document, *, qualifies_finalizers: bool = True
) -> None:
    """Check the metadata of a changed object.

    Upstream: ValidateObjectMetaUpdate. The registry has checked the resourceVersion.
    """
    _validate_change(errors, new, old)
    if qualifies_finalizers:
        _validate_qualified_finalizers(errors, new.get("finalizers") or [])


def _validate_prefix(errors: FieldErrors, prefix: str | None, name_rule: NameRule) -> None:
    # Upstream: staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go,
    # ValidateObjectMetaWithOpts, which leaves the prefix to the name that is made from it.
    if prefix and name_rule is not long_name:
        errors.each("metadata.generateName", prefix, name_rule(masked(prefix)))


def masked(prefix: str) -> str:
    """Return the prefix of a name as a name: upstream replaces `x-` at its end."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def validate_unchanged_metadata(
    errors: FieldErrors, metadata: Document, name_rule: str, *, qualifies_finalizers: bool
) -> None:
    """Check the metadata of a changed object as that of a new one, which has a valid name."""
    _validate_prefix(errors, metadata.get("generateName"), NAME_RULES[name_rule])
    _validate_common(errors, metadata)
    _validate_finalizers(errors, metadata.get("finalizers") or [])
    if qualifies_finalizers:
        _validate_qualified_finalizers(errors, metadata.get("finalizers") or [])


def _validate_change(errors: FieldErrors, new: Document, old: Document) -> None:
    if old.get("deletionTimestamp") is not None:
        added = sorted({*(new.get("finalizers") or ())} - {*(old.get("finalizers") or ())})
        if added:
            listed = ", ".join(f'"{each}"' for each in added)
            errors.forbidden(
                "metadata.finalizers",
                "no new finalizers can be added if the object is being deleted, found new"
                f" finalizers []string{{{listed}}}",
            )
    for name in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"):
        errors.immutable(f"metadata.{name}", new.get(name), old.get(name))
    seconds = new.get("deletionGracePeriodSeconds")
    if seconds != old.get("deletionGracePeriodSeconds"):  # 0 and none differ.
        errors.invalid("metadata.deletionGracePeriodSeconds", seconds, "field is immutable")
    _validate_common(errors, new)


def _validate_common(errors: FieldErrors, metadata: Document) -> None:
    validate_labels(errors, "metadata.labels", metadata.get("labels"))
    validate_annotations(errors, "metadata.annotations", metadata.get("annotations"))
    if owners := metadata.get("ownerReferences"):
        _validate_owners(errors, owners)


def validate_template_metadata(errors: FieldErrors, path: str, metadata: Document) -> None:
    """Check the metadata of objects that are made from a template: it has no names.

    Upstream: pkg/apis/core/validation/validation.go, ValidateTemplateObjectMeta
    """
    validate_annotations(errors, f"{path}.annotations", metadata.get("annotations"))
    validate_labels(errors, f"{path}.labels", metadata.get("labels"))
    for name in _METADATA_FIELDS:
        value = metadata.get(name)
        if value not in (None, "") and (name != "generation" or value):
            # Upstream writes the names of Go's fields with a small first letter.
            errors.forbidden(f"{path}.{'uID' if name == 'uid' else name}", "cannot be set")


def validate_labels(errors: FieldErrors, path: str, labels: Mapping[str, str] | None) -> None:
    """Check the keys and values of labels."""
    for key, value in sorted((labels or {}).items()):
        if details := qualified_name(key):
            errors.each(path, key, details)
        if value:
            errors.each(path, value, label_value(value))


def validate_annotations(
    errors: FieldErrors, path: str, annotations: Mapping[str, str] | None
) -> None:
    """Check the keys of annotations and their total size."""
    if not annotations:
        return
    for key in sorted(annotations):
        if details := qualified_name(key.lower()):
            errors.each(path, key, details)
    validate_annotations_size(errors, path, annotations)


def validate_annotations_size(
    errors: FieldErrors, path: str, annotations: Mapping[str, str]
) -> None:
    """Check the total size of annotations."""
    texts = (f"{key}{value or ''}" for key, value in annotations.items())
    if sum(len(text.encode()) for text in texts) > _ANNOTATIONS_MAX_BYTES:
        errors.too_long(path, _ANNOTATIONS_MAX_BYTES)


def _validate_owners(errors: FieldErrors, owners: list[Document]) -> None:
    path, controller = "metadata.ownerReferences", ""
    for owner in owners:
        api_version, kind = owner.get("apiVersion") or "", owner.get("kind") or ""
        if not api_version or api_version.count("/") > 1:
            errors.invalid(f"{path}.apiVersion", api_version, "version must not be empty")
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                errors.invalid(f"{path}.{name}", "", "must not be empty")
        if (api_version, kind) == ("v1", "Event"):
            text = "/v1, Kind=Event is disallowed from being an owner"
            errors.invalid(path, _ordered(owner, _REFERENCE_FIELDS), text)
        if owner.get("controller"):
            found = f"{kind}/{owner.get('name')}"
            if controller:
                printed = [_ordered(each, _REFERENCE_FIELDS) for each in owners]
                text = (
                    'Only one reference can have Controller set to true. Found "true" in'
                    f" references for {controller} and {found}"
                )
                errors.invalid(path, printed, text)
            else:
                controller = found


def _validate_finalizers(errors: FieldErrors, finalizers: list[str]) -> None:
    for finalizer in finalizers:
        errors.each("metadata.finalizers", finalizer, qualified_name(finalizer))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.invalid("metadata.finalizers", finalizers, text)


def _validate_qualified_finalizers(errors: FieldErrors, finalizers: list[str]) -> None:
    for index, finalizer in enumerate(finalizers):
        validate_qualified_finalizer(errors, f"metadata.finalizers[{index}]", finalizer)


def qualifies_finalizers(group: str) -> bool:
    """Whether finalizers of a group's kinds need a domain.

    Upstream: pkg/apis/core/validation, ValidateObjectMeta, which some kinds do not use
    """
    return group not in _GENERIC_GROUPS


def finalizer_problems(path: str, finalizer: str) -> list[Problem]:
    """Return what is wrong with a finalizer."""
    errors = FieldErrors()
    errors.each(path, finalizer, qualified_name(finalizer))
    validate_qualified_finalizer(errors, path, finalizer)
    return errors.problems


def validate_qualified_finalizer(errors: FieldErrors, path: str, finalizer: str) -> None:
    """Check that a finalizer has a domain or is a standard one."""
    if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
        text = "name is neither a standard finalizer name nor is it fully qualified"
        errors.invalid(path, finalizer, text)


# ------------------------------------------------------------------------- label selectors


def validate_label_selector(errors: FieldErrors, path: str, selector: Document | None) -> None:
    """Check a label selector; None passes."""
    if not selector:
        return
    validate_labels(errors, f"{path}.matchLabels", selector.get("matchLabels"))
    for index, term in enumerate(selector.get("matchExpressions") or ()):
        validate_requirement(errors, f"{path}.matchExpressions[{index}]", term)


def validate_requirement(
    errors: FieldErrors, path: str, term: Document, *, allows_unknown: bool = False
) -> None:
    """Check a requirement of a label selector.

    Parameters
    ----------
    allows_unknown : bool
        Whether an operator that newer clients may know passes.
    """
    operator, values = term.get("operator") or "", term.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            text = "must be specified when `operator` is 'In' or 'NotIn'"
            errors.required(f"{path}.values", text)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.forbidden(f"{path}.values", text)
    elif not allows_unknown:
        errors.invalid(f"{path}.operator", operator, "not a valid selector operator")
    key = term.get("key") or ""
    errors.each(f"{path}.key", key, qualified_name(key))
    for index, value in enumerate(values):
        errors.each(f"{path}.values[{index}]", value, label_value(value))


def selector_is_valid(selector: Document) -> bool:
    """Whether a selector can be compiled: upstream's LabelSelectorAsSelector has no error."""
    errors = FieldErrors()
    validate_label_selector(errors, "", selector)
    return not errors


def selector_matches(selector: Document | None, labels: Mapping[str, str]) -> bool:
    """Whether a valid selector matches labels.

    Notes
    -----
    No selector matches nothing, and an empty one everything.
    Upstream: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go, LabelSelectorAsSelector
    """
    if selector is None:
        return False
    if any(labels.get(k) != v for k, v in (selector.get("matchLabels") or {}).items()):
        return False
    return all(
        _requirement_matches(each, labels) for each in selector.get("matchExpressions") or ()
    )


def _requirement_matches(term: Document, labels: Mapping[str, str]) -> bool:
    key, values = term.get("key", ""), term.get("values") or ()
    match term.get("operator"):
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels


def _ordered(part: Document, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: part[name] for name in names if part.get(name) is not None}
