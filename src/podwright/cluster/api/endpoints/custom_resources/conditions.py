"""The conditions of a CustomResourceDefinition.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apihelpers/helpers.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document, timestamp_text


def condition_of(definition: Document, type_: str) -> Document | None:
    """Return a condition; None if it is absent."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each.get("type") == type_), None)


def is_true(definition: Document, type_: str) -> bool:
    """Whether a condition is true."""
    found = condition_of(definition, type_)
    return found is not None and found.get("status") == "True"


def with_condition(
    definition: Document, type_: str, status: str, reason: str, message: str, now_ns: int
) -> Document:
    """Return a definition with a condition; its time is that of the last change of its status."""
    before = condition_of(definition, type_)
    time = timestamp_text(now_ns)
    if before is not None and before.get("status") == status and before.get("lastTransitionTime"):
        time = before["lastTransitionTime"]
    made = {
        "type": type_,
        "status": status,
        "lastTransitionTime": time,
        "reason": reason,
        "message": message,
    }
    held: Document = definition.get("status") or {}
    conditions = list(held.get("conditions") or ())
    if before is None:
        conditions.append(made)
    else:
        conditions = [each | made if each is before else each for each in conditions]
    return definition | {"status": held | {"conditions": conditions}}
