"""The state of a sync as a line of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from podwright.apimachinery.objects import format_quantity
from podwright.online.client import SyncDifference, SyncStatus
from podwright.online.sync import Checked, ObjectDifference


def difference_line(sides: Sequence[str], found: SyncDifference) -> str:
    """Return the line of a pod that is on different nodes."""
    nodes = (f"{name}={node or '<none>'}" for name, node in zip(sides, found.nodes, strict=True))
    return "  ".join((found.pod, *nodes))


def summary_of(status: SyncStatus) -> str:
    """Return what was done at a destination, and how it differs from the source."""
    counts, lag, unfreed = status.counts, status.lag, status.unfreed
    parts = [
        f"{status.sides[status.here]}: created {counts.created}, updated {counts.updated}, "
        f"deleted {counts.deleted}",
        f"lag {lag.mean_seconds:.2f} s, at most {lag.longest_seconds:.2f} s",
        f"{status.drift.pods} pods placed otherwise",
    ]
    if status.phase == "listing":
        parts.append("the first list is not complete")
    if counts.rescheduled:
        parts.append(f"{counts.rescheduled} scheduled here that had a node")
    if counts.kept_deleted:
        parts.append(f"{counts.kept_deleted} that were deleted here stay deleted")
    if status.drift.claims:
        parts.append(f"{status.drift.claims} claims and volumes bound otherwise")
    if unfreed.pods:
        amounts = f"{unfreed.milli_cpu}m cpu and {format_quantity(unfreed.memory_bytes)} memory"
        parts.append(
            f"{unfreed.pods} pods have finished at the source and occupy {amounts} here: "
            f"{unfreed.option} frees them"
        )
    if status.errors:
        rejected = ", ".join(f"{each.kind} {each.reason} {each.count}" for each in status.errors)
        parts.append(f"errors: {rejected}, the last one: {status.last_error}")
    return "; ".join(parts)


def check_line(name: str, found: ObjectDifference) -> str:
    """Return the line of a difference between the source and a destination."""
    difference = found.difference
    place = f"{found.kind.resource}/{found.key}"
    field = f" {difference.path}" if difference.path else ""
    values = f"source {_value(difference.source)}, {name} {_value(difference.here)}"
    return f"{place}{field}: {values}: {difference.policy or 'not explained'}"


def check_summary(name: str, checked: Checked) -> str:
    """Return how many objects were compared, and how many differences there are."""
    return (
        f"{name}: compared {checked.compared} objects; {len(checked.found)} differences, "
        f"{checked.unexplained} not explained by a policy"
    )


def _value(value: Any) -> str:
    if value is None:
        return "<none>"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
