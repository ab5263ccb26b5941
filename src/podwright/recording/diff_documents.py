"""The differences between two placements as plain documents, for the command line and HTTP."""

from __future__ import annotations

from typing import Final

from podwright.assembly import Because
from podwright.objects import Document
from podwright.recording.field_names import camel_case
from podwright.recording.placement_diff import PlacementDiff, PodDifference, ResourceUse
from podwright.recording.placements import PodPlacement

SIDES: Final = ("before", "after")


def diff_document(diff: PlacementDiff) -> Document:
    """Return the differences between two placements as a plain document."""
    nodes = diff.nodes
    return {
        "pods": [_pod_document(one) for one in diff.differences],
        "nodes": {
            "used": dict(zip(SIDES, nodes.used, strict=True)),
            "emptied": list(nodes.emptied),
            "newlyUsed": list(nodes.newly_used),
            "added": list(nodes.added),
            "removed": list(nodes.removed),
        },
        "resources": [
            {"resource": use.resource}
            | {side: _use_document(use, i) for i, side in enumerate(SIDES)}
            for use in diff.resources
        ],
        "zones": [
            {"zone": zone or None, "pods": dict(zip(SIDES, counts, strict=True))}
            for zone, counts in diff.zones.items()
        ],
        "summary": {
            "pods": len(diff.placements),
            "different": len(diff.differences),
            "followOthers": sum(one.follows for one in diff.differences),
            "changes": {camel_case(change): count for change, count in diff.counts.items()},
            "same": diff.is_same,
        },
    }


def _pod_document(one: PodDifference) -> Document:
    return {
        "pod": one.pod,
        "counterpart": one.counterpart or None,
        "change": camel_case(one.change),
        "before": placement_document(one.before),
        "after": placement_document(one.after),
        "reasons": {
            side: None if because is None else reason_document(because)
            for side, because in zip(SIDES, one.reasons, strict=True)
        },
        "followsOther": one.follows,
    }


def placement_document(placement: PodPlacement | None) -> Document | None:
    """Return the placement of a pod as a plain document."""
    if placement is None:
        return None
    return {
        "node": placement.node or None,
        "nominatedNode": placement.nominated or None,
        "message": placement.message or None,
    }


def _use_document(use: ResourceUse, side: int) -> Document:
    return {
        "requested": use.requested[side],
        "allocatable": use.allocatable[side],
        "share": use.share[side],
        "spread": use.spread[side],
    }


def reason_document(because: Because, *, limit: int | None = None) -> Document:
    """Return the reason as a plain document; `limit` as in `reason_text`."""
    return {
        "kind": because.kind,
        "rule": because.rule or None,
        "reasons": list(because.reasons),
        "scores": [{"rule": one.rule, "weighted": one.weighted} for one in because.scores[:limit]],
        "margin": because.margin,
    }
