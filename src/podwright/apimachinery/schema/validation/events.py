"""Validation of events.

Upstream: pkg/apis/core/validation/events.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.names import qualified_name

_IMMUTABLE: Final = {
    "regarding": "involvedObject",
    "reason": "reason",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "type": "type",
    "eventTime": "eventTime",
    "action": "action",
    "related": "related",
    "reportingController": "reportingController",
    "reportingInstance": "reportingInstance",
}
"""The immutable fields of events.k8s.io/v1, with their names in upstream's errors."""
_TYPES: Final = {
    "regarding": "ObjectReference",
    "deprecatedSource": "EventSource",
    "deprecatedFirstTimestamp": "!Time",
    "deprecatedLastTimestamp": "!Time",
    "deprecatedCount": "int",
    "eventTime": "!MicroTime",
    "related": "*ObjectReference",
}
"""The internal types of these fields that are not strings."""


def validate_core_event(errors: FieldErrors, event: Document) -> None:
    """Check an event of the core group."""
    _validate(errors, event, event.get("involvedObject") or {}, "reportingComponent", "message")


def validate_event(errors: FieldErrors, event: Document) -> None:
    """Check a new event of events.k8s.io/v1, which has stricter rules."""
    _validate(errors, event, event.get("regarding") or {}, "reportingController", "note")
    _validate_series(errors, event)
    if event.get("eventTime") is None:
        errors.required("eventTime")
    if (kind := event.get("type") or "") not in ("Normal", "Warning"):
        errors.invalid("type", "", f"has invalid value: {kind}")
    for field, name in (
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
    ):
        if event.get(field):
            errors.invalid(name, "", "needs to be unset")
    if any((event.get("deprecatedSource") or {}).values()):
        errors.invalid("source", "", "needs to be unset")


def validate_event_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed event of events.k8s.io/v1: only its series changes."""
    _validate(errors, new, new.get("regarding") or {}, "reportingController", "note")
    if new.get("series") != old.get("series"):
        _validate_series(errors, new)
    for field, name in _IMMUTABLE.items():
        errors.immutable(name, new.get(field), old.get(field), _TYPES.get(field, "string"))


def _validate_series(errors: FieldErrors, event: Document) -> None:
    series = event.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        errors.invalid("series.count", "", "should be at least 2")
    if series.get("lastObservedTime") is None:
        errors.required("series.lastObservedTime")


def _validate(
    errors: FieldErrors, event: Document, regarding: Document, controller: str, note: str
) -> None:
    namespace = (event.get("metadata") or {}).get("namespace") or ""
    own = regarding.get("namespace") or ""
    text = "does not match event.namespace"
    if event.get("eventTime") is None:
        differs = own != namespace if own else namespace not in ("", "default")
        if differs:
            errors.invalid("involvedObject.namespace", own, text)
        return
    if not own and namespace not in ("default", "kube-system"):
        errors.invalid("involvedObject.namespace", own, text)
    name = event.get(controller) or ""
    if not name:
        errors.required(controller)
    errors.each(controller, name, qualified_name(name))
    for field, shown, limit in (
        ("reportingInstance", "reportingInstance", 128),
        ("action", "action", 128),
        ("reason", "reason", 128),
        (note, "message", 1024),
    ):
        value = event.get(field) or ""
        if not value and field != note:
            errors.required(shown)
        if len(value.encode()) > limit:
            errors.invalid(shown, "", f"can have at most {limit} characters")
