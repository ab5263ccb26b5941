"""The rules of an object: what is wrong with a new or a changed one.

Among them are admin access to devices, which claims may request in namespaces with a label only,
and the expressions of admission policies and webhooks.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/{create,update}.go;
pkg/registry/resource/utils.go, AuthorizedForAdmin and AuthorizedForAdminStatus;
pkg/apis/admissionregistration/validation/validation.go
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from podwright._interludes import interlude
from podwright.apimachinery.cel import (
    ExpressionProblem,
    MutatingPolicy,
    ValidatingPolicy,
    match_condition_problems,
)
from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import (
    Problem,
    printed,
    qualifies_finalizers,
    validate_object_meta,
)
from podwright.cluster.api.gated_fields import with_mount_option, without_comparisons
from podwright.cluster.api.rejections import Rejection, invalid
from podwright.cluster.api.stages.kinds.certificate_requests import signer_problems
from podwright.cluster.api.stages.kinds.claim_statuses import claim_status_problems
from podwright.cluster.api.stages.kinds.custom_resources import DEFINITION, check_kind_of_object
from podwright.cluster.api.stages.kinds.service_allocation import check_addresses
from podwright.cluster.api.stages.preparation import (
    name_of,
    with_empty_parts,
    without_disabled_fields,
)
from podwright.cluster.api.stages.write import SentWrite, ServedParts
from podwright.cluster.api.strategies import preparation as strategies
from podwright.cluster.api.versions.resources import Resource
from podwright.cluster.store import NAMESPACE, ObjectStore

_NAMES: Final = ("metadata.generateName", "metadata.name")

_EMPTY_IN_ERRORS: Final = frozenset(
    {"spec.capacity", "spec.template.metadata.labels", "spec.versions"}
)
"""Maps and lists that may not be empty: errors print whether an empty one was sent or none."""


def check_new(parts: ServedParts, write: SentWrite) -> None:
    """Validate the prepared object, which is in Go's form then.

    Raises
    ------
    Rejection
        The object is not valid.
    """
    resource, document = write.attributes.resource, write.new
    row = resource.kind.row
    check_kind_of_object(resource, document)
    is_checked = any(step.endswith("metadata") for step in row.validation_of_update)
    with interlude():
        document = resource.kind.go_form(document, like=write.formed)
        found = resource.kind.validation_problems(document)
        qualifies = (
            is_checked
            and not resource.is_custom
            and resource.storage != DEFINITION
            and qualifies_finalizers(resource.group)
        )
        problems = validate_object_meta(
            document.get("metadata") or {},
            name_rule=row.name_rule if is_checked else "path",
            is_namespaced=row.namespaced,
            qualifies_finalizers=qualifies,
        )
        if row.namespaced and not write.attributes.namespace:  # The one in the path is empty.
            of_names = sum(path in _NAMES for path, _, _ in problems)
            problems.insert(of_names, ("metadata.namespace", "Required value", ""))
        if not row.validation and resource.to_storage is not None and not resource.is_custom:
            found = resource.storage_kind.validation_problems(resource.stored(document))
        found = with_expression_problems(found, resource, document)
    if not parts.compares_taints:
        found = without_comparisons(resource.storage, document, None, found)
    if parts.mounts_labels:
        found = with_mount_option(found)
    problems = [*admin_access_problems(parts.store, resource, document, None), *problems]
    if found and not is_checked:
        problems = []  # The registry checks the metadata of a valid object only.
    if problems or found:
        found = _after_allocation(parts, resource, document, found, is_dry_run=write.is_dry_run)
        if resource.storage == DEFINITION:
            # Their rule of names is one of the whole definition.
            of_names = sum(path in _NAMES for path, _, _ in problems)
            problems[of_names:of_names] = [each for each in found if each[0] in _NAMES]
            found = [each for each in found if each[0] not in _NAMES]
        raise _invalid(write, document, [*problems, *found])
    write.new = document


def _after_allocation(
    parts: ServedParts,
    resource: Resource,
    document: Document,
    found: list[Problem],
    *,
    is_dry_run: bool,
) -> list[Problem]:
    """Return what is wrong with an invalid object after upstream's allocation, or reject it there.

    Upstream: pkg/registry/core/service/storage/alloc.go, allocateCreate
    """
    if strategies.key_of(resource) not in parts.allocators:
        return found
    check_addresses(document, found)
    document = parts.allocated(resource, document, None, is_dry_run=is_dry_run)
    return resource.kind.validation_problems(document)


def check_change(parts: ServedParts, write: SentWrite) -> None:
    """Validate the prepared object, which is in Go's form then."""
    facts, new = write.attributes, write.new
    resource, old = facts.resource, facts.old
    assert old is not None, "an update has a stored object"
    check_kind_of_object(resource, new, old)
    with interlude():
        new = write.new = resource.kind.go_form(new, like=write.formed)
        if problems := _problems_of(parts, write, new, old):
            exact = with_empty_parts(new, write.sent)
            exact = without_disabled_fields(parts, resource, exact, old)
            problems = _problems_of(parts, write, exact, old)
    if resource.storage in parts.allocators and not facts.subresource:
        check_addresses(new, problems)
    if facts.subresource == "status" and parts.checks_claim_statuses:
        problems = [*claim_status_problems(parts.authorizers, write, new, old), *problems]
    problems = [*admin_access_problems(parts.store, resource, new, old), *problems]
    if problems:
        raise _invalid(write, new, problems)


def _problems_of(
    parts: ServedParts, write: SentWrite, new: Document, old: Document
) -> list[Problem]:
    """Return what is wrong with a changed object in Go's form."""
    facts = write.attributes
    resource, subresource = facts.resource, facts.subresource
    problems = strategies.update_problems(resource, new, old, subresource)
    if not subresource:
        problems = with_expression_problems(problems, resource, new)
    if not parts.compares_taints:
        problems = without_comparisons(resource.storage, new, old, problems)
    if parts.mounts_labels:
        problems = with_mount_option(problems)
    if subresource == "status" and not problems:
        problems = signer_problems(parts.authorizers, facts.user, resource, new, old)
    return problems


def _invalid(write: SentWrite, document: Document, problems: Iterable[Problem]) -> Rejection:
    """Return the error of an object that is not valid.

    Maps and lists are printed as they were sent: an empty one is not null. Go's form of an object,
    which is validated, does not have empty ones.
    """
    resource = write.attributes.resource
    with interlude():
        shown = [_with_empty_value(each, write.sent) for each in problems]
        return invalid(resource.error_group, resource.name, name_of(document), shown)


def _with_empty_value(problem: Problem, sent: Document) -> Problem:
    path, message, value = problem
    text, _, rest = message.partition(": null: ")
    if value is not None or not rest or path not in _EMPTY_IN_ERRORS:
        return problem
    empty = _value_at(sent, path)
    return (path, f"{text}: {printed(empty)}: {rest}", empty) if empty in ({}, []) else problem


def _value_at(document: Document, path: str) -> Any:
    value: Any = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


# ----------------------------------------------------------------------------------- admin access

_LABEL: Final = "resource.kubernetes.io/admin-access"
_SPECS: Final = {"ResourceClaim": "spec", "ResourceClaimTemplate": "spec.spec"}


def admin_access_problems(
    store: ObjectStore, resource: Resource, new: Document, old: Document | None
) -> list[Problem]:
    """Return the error of a new claim or a changed status that requests admin access."""
    if resource.group != "resource.k8s.io" or resource.name not in _SPECS:
        return []
    path = _requested(resource, new) if old is None else _granted(new)
    if path is None or (old is not None and _granted(old) is not None):
        return []
    namespace = store.get(NAMESPACE, (new.get("metadata") or {}).get("namespace", ""))
    if namespace is not None and namespace.metadata.labels.get(_LABEL) == "true":
        return []
    text = f"admin access to devices requires the `{_LABEL}: true` label on the containing"
    return [(path, f"Forbidden: {text} namespace", None)]


def _requested(resource: Resource, claim: Document) -> str | None:
    spec: Document = claim
    for name in _SPECS[resource.name].split("."):
        spec = spec.get(name) or {}
    for index, request in enumerate((spec.get("devices") or {}).get("requests") or ()):
        access = request.get("exactly") or request
        if access.get("adminAccess"):
            # Upstream names the path of a claim's request in templates, too.
            return f"spec.devices.requests[{index}].adminAccess"
    return None


def _granted(claim: Document) -> str | None:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    for index, result in enumerate((allocation.get("devices") or {}).get("results") or ()):
        if result.get("adminAccess"):
            return f"status.allocation.devices.results[{index}].adminAccess"
    return None


# ----------------------------------------------------------------------------- policy expressions

_GROUP = "admissionregistration.k8s.io"


def with_expression_problems(
    found: list[Problem], resource: Resource, document: Document
) -> list[Problem]:
    """Return the errors of an object with those of its expressions.

    The error of an expression is before those of the fields beside it in a match condition, and
    behind them elsewhere.
    """
    made = list(found)
    for problem in _expression_problems(resource, document):
        beside = problem[0].rpartition(".")[0] + "."
        places = [index for index, (path, _, _) in enumerate(made) if path.startswith(beside)]
        if ".matchConditions[" in beside:
            place = places[0] if places else len(made)
        else:
            # The errors of what is around the fields, such as that it is immutable, are last.
            around = (i for i, (path, _, _) in enumerate(made) if problem[0].startswith(f"{path}."))
            place = places[-1] + 1 if places else next(around, len(made))
        made.insert(place, problem)
    return made


def _expression_problems(resource: Resource, document: Document) -> list[Problem]:
    """Return the errors of the expressions of an object; most kinds have no expressions."""
    if resource.group != _GROUP:
        return []
    return [_problem(each) for each in _found(resource.name, document)]


def _found(kind: str, document: Document) -> Iterable[ExpressionProblem]:
    match kind:
        case "ValidatingAdmissionPolicy":
            return ValidatingPolicy(document).problems()
        case "MutatingAdmissionPolicy":
            return MutatingPolicy(document).problems()
        case "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration":
            return [
                problem
                for index, hook in enumerate(document.get("webhooks") or ())
                for problem in match_condition_problems(
                    hook.get("matchConditions") or (), f"webhooks[{index}].matchConditions"
                )
            ]
        case _:
            return []


def _problem(found: ExpressionProblem) -> Problem:
    if found.is_internal:
        return found.path, f"Internal error: {found.detail}", None
    shown = json.dumps(found.value, ensure_ascii=False)
    return found.path, f"Invalid value: {shown}: {found.detail}", found.value
