"""How changed certificate requests are prepared for a write: who sets what.

Upstream: pkg/registry/certificates/certificates/strategy.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document, timestamp_text

_APPROVALS: Final = ("Approved", "Denied")


def kept_request(new: Document, old: Document, _now_ns: int) -> Document:
    """Return a changed request, of which only the metadata changes."""
    return new | _parts(old, "spec", "status")


def signed(new: Document, old: Document, now_ns: int) -> Document:
    """Return a request with the sent status; its approvals are the stored ones."""
    status: Document = dict(new.get("status") or {})
    conditions: list[Document] = list(status.get("conditions") or ())
    for kind in _APPROVALS:
        before = [each for each in _conditions(old) if each.get("type") == kind]
        places = [place for place, each in enumerate(conditions) if each.get("type") == kind]
        # A change of their number is an error that validation reports.
        if len(places) == len(before):
            for place, each in zip(places, before, strict=True):
                conditions[place] = each
    if conditions:
        status["conditions"] = _with_times(conditions, old, now_ns)
    return new | _parts(old, "spec") | {"status": status}


def approved(new: Document, old: Document, now_ns: int) -> Document:
    """Return a request of which only the conditions change."""
    conditions = _with_times(_conditions(new), old, now_ns)
    status = {
        name: part for name, part in (old.get("status") or {}).items() if name != "conditions"
    }
    if conditions:
        status["conditions"] = conditions
    return new | _parts(old, "spec") | {"status": status}


def _parts(document: Document, *names: str) -> Document:
    return {name: document.get(name) or {} for name in names}


def _conditions(request: Document) -> list[Document]:
    found: list[Document] = (request.get("status") or {}).get("conditions") or []
    return found


def _with_times(conditions: list[Document], old: Document, now_ns: int) -> list[Document]:
    """Return conditions with the times of their change."""
    now = timestamp_text(now_ns)
    known = {
        (each.get("type"), each.get("status")): each["lastTransitionTime"]
        for each in reversed(_conditions(old))
        if each.get("lastTransitionTime")
    }
    return [
        condition
        | {
            "lastUpdateTime": condition.get("lastUpdateTime") or now,
            "lastTransitionTime": condition.get("lastTransitionTime")
            or known.get((condition.get("type"), condition.get("status")), now),
        }
        for condition in conditions
    ]
