"""Which names of a definition are accepted: those that no other one of its group uses.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/controller/status/naming_controller.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/controller/establish/establishing_controller.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/controller/apiapproval/apiapproval_controller.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podwright.apimachinery.objects import Document, aggregated
from podwright.apimachinery.schema import printed
from podwright.apimachinery.schema.structural import approval_of
from podwright.cluster.api.endpoints.custom_resources.conditions import (
    condition_of,
    is_true,
    with_condition,
)

_SINGLE: Final = (
    ("plural", "Plural", False),
    ("singular", "Singular", False),
    ("shortNames", "ShortNames", False),
    ("kind", "Kind", True),
    ("listKind", "ListKind", True),
)
"""The fields of names in upstream's order, the words of reasons, and whether they are kinds."""

_EMPTY: Final[Document] = {"plural": "", "kind": ""}


def with_names(definition: Document, others: Iterable[Document], now_ns: int) -> Document:
    """Return a definition with its accepted names and the conditions about them.

    Parameters
    ----------
    definition : dict
    others : iterable of dict
        The other definitions of the group.
    now_ns : int
    """
    status: Document = definition.get("status") or {}
    requested: Document = definition["spec"]["names"]
    accepted: Document = status.get("acceptedNames") or {}
    if _plain(requested) == _plain(accepted):
        return definition
    names, reason, message = _accepted(requested, accepted, list(others))
    before = condition_of(definition, "NamesAccepted")
    accepts = "False" if reason else "True"
    reason, message = reason or "NoConflicts", message or "no conflicts found"
    is_same = before is not None and (
        (before.get("status"), before.get("reason"), before.get("message"))
        == (accepts, reason, message)
    )
    if is_same and _plain(names) == _plain(accepted):
        return definition
    made = definition | {"status": status | {"acceptedNames": names}}
    made = with_condition(made, "NamesAccepted", accepts, reason, message, now_ns)
    if is_true(definition, "Established"):
        return made
    if accepts == "True":
        established = ("Installing", "the initial names have been accepted")
    elif condition_of(definition, "Established") is None:
        established = ("NotAccepted", "not all names are accepted")
    else:
        return made
    return with_condition(made, "Established", "False", *established, now_ns)


def established(definition: Document, now_ns: int) -> Document:
    """Return a definition that is served once its names are accepted."""
    if is_true(definition, "Established") or not is_true(definition, "NamesAccepted"):
        return definition
    text = "the initial names have been accepted"
    return with_condition(definition, "Established", "True", "InitialNamesAccepted", text, now_ns)


def with_approval(definition: Document, now_ns: int) -> Document:
    """Return a definition of a group of Kubernetes with the condition about its approval."""
    found = approval_of(definition)
    if found is None:
        return definition
    status, reason, message = found
    type_ = "KubernetesAPIApprovalPolicyConformant"
    before = condition_of(definition, type_) or {}
    if [before.get(name) for name in ("status", "reason", "message")] == list(found):
        return definition
    return with_condition(definition, type_, status, reason, message, now_ns)


def without_violations(definition: Document, _now_ns: int) -> Document:
    """Return a definition without the condition that its schemas are not structural.

    No definition has such schemas, since the API rejects them; a client may write the condition.

    Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/controller/nonstructuralschema/
    nonstructuralschema_controller.go
    """
    if condition_of(definition, "NonStructuralSchema") is None:
        return definition
    status: Document = definition["status"]
    left = [each for each in status["conditions"] if each.get("type") != "NonStructuralSchema"]
    return definition | {"status": status | {"conditions": left}}


def _accepted(
    requested: Document, accepted: Document, others: list[Document]
) -> tuple[Document, str, str]:
    """Return the accepted names, and the reason and message of the last conflict."""
    resources, kinds = _used(others)
    names = dict(_EMPTY | accepted)
    reason = message = ""
    for field, word, is_kind in _SINGLE:
        used = kinds if is_kind else resources
        value = requested.get(field)
        if field == "shortNames":
            known = accepted.get(field) or ()
            found = [each for each in value or () if each not in known and each in used]
        else:
            is_own = (value or "") == (accepted.get(field) or "")
            found = [] if is_own or (value or "") not in used else [value or ""]
        if found:
            reason = f"{word}Conflict"
            message = aggregated(f"{printed(each)} is already in use" for each in found)
        elif value:
            names[field] = value
        else:
            names.pop(field, None)
    if requested.get("categories"):
        names["categories"] = requested["categories"]
    else:
        names.pop("categories", None)
    order = ("plural", "singular", "shortNames", "kind", "listKind", "categories")
    return {field: names[field] for field in order if field in names}, reason, message


def _used(others: Iterable[Document]) -> tuple[set[str], set[str]]:
    """Return the names of resources, and of kinds, that other definitions have."""
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        names = (other.get("status") or {}).get("acceptedNames") or {}
        resources |= {names.get("plural", ""), names.get("singular", "")}
        resources |= {*(names.get("shortNames") or ())}
        kinds |= {names.get("kind", ""), names.get("listKind", "")}
    return resources, kinds


def _plain(names: Document) -> Document:
    return {name: value for name, value in names.items() if value}
