"""Cells of events, of both groups: events.k8s.io has other names for the fields.

Upstream: pkg/printers/internalversion/printers.go, printEvent
"""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.printing.conversions import age


def last_seen(event: Document, now_ns: int) -> str:
    """Return the time since the last occurrence."""
    if (series := event.get("series")) is not None:
        return age(series.get("lastObservedTime"), now_ns)
    if last := _first_of(event, "lastTimestamp", "deprecatedLastTimestamp"):
        return age(last, now_ns)
    return first_seen(event, now_ns)


def first_seen(event: Document, now_ns: int) -> str:
    """Return the time since the first occurrence."""
    first = _first_of(event, "firstTimestamp", "deprecatedFirstTimestamp")
    return age(first or event.get("eventTime"), now_ns)


def count(event: Document) -> int:
    """Return the number of occurrences."""
    if (series := event.get("series")) is not None:
        return int(series.get("count") or 0)
    return int(_first_of(event, "count", "deprecatedCount") or 1)


def subject(event: Document) -> str:
    """Return the kind and the name of the object that an event is about."""
    reference = _first_of(event, "involvedObject", "regarding") or {}
    kind = str(reference.get("kind") or "").lower()
    return f"{kind}/{reference['name']}" if reference.get("name") else kind


def subobject(event: Document) -> str:
    """Return the part of the object that an event is about."""
    reference = _first_of(event, "involvedObject", "regarding") or {}
    return str(reference.get("fieldPath") or "")


def source(event: Document) -> str:
    """Return the component that reported an event, and its host or instance."""
    found = _first_of(event, "source", "deprecatedSource") or {}
    reporter = _first_of(event, "reportingComponent", "reportingController")
    component = found.get("component") or reporter or ""
    host = found.get("host") or event.get("reportingInstance")
    return f"{component}, {host}" if host else str(component)


def message(event: Document) -> str:
    """Return the text of an event without white space around it."""
    return str(_first_of(event, "message", "note") or "").strip()


def _first_of(event: Document, *names: str) -> Any:
    return next((event[name] for name in names if event.get(name)), None)
