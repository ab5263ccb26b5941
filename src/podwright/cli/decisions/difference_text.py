"""The words of differences: places, shares, and the reason of a different decision."""

from __future__ import annotations

from podwright.scheduler.assembly import Because
from podwright.simulation.recording import PlacementDiff, PodPlacement

NO_NODE = "<none>"

SHOWN_SCORES = 3
"""The number of score differences in a table."""


def reason_text(because: Because, *, limit: int | None = SHOWN_SCORES) -> str:
    """Return the reason of one side against the node of the other.

    Parameters
    ----------
    limit : int, optional
        The number of score differences to include; None for all.
    """
    match because.kind:
        case "priority":
            return ", ".join(f"{one.rule} {one.weighted:+d}" for one in because.scores[:limit])
        case "draw":
            return "tied, another node was drawn"
        case "sampling":
            return "not evaluated, enough feasible nodes were found before"
        case _:
            reasons = ", ".join(because.reasons)
            return (
                f"{because.rule} ({reasons})"
                if because.rule and reasons
                else (because.rule or reasons)
            )


def place(placement: PodPlacement | None) -> str:
    """Return where a pod is placed."""
    if placement is None:
        return "<absent>"
    if placement.node:
        return placement.node
    return f"{NO_NODE}, nominated to {placement.nominated}" if placement.nominated else NO_NODE


def percent(share: float | None) -> str:
    """Return a share as text."""
    return NO_NODE if share is None else f"{100 * share:.1f} %"


def summary(diff: PlacementDiff) -> str:
    """Return how many pods differ, and how, as a sentence."""
    total = f"{len(diff.placements)} pod{'s' * (len(diff.placements) != 1)}"
    if not diff.differences:
        text = f"No difference: {total} on the same nodes on both sides."
        return text if diff.is_same else f"{text[:-1]}, but the nodes or their use differ."
    differ = "differs" if len(diff.differences) == 1 else "differ"
    counts = ", ".join(f"{count} {change}" for change, count in diff.counts.items())
    text = f"{len(diff.differences)} of {total} {differ}: {counts}."
    following = sum(one.follows for one in diff.differences)
    if following == 1:
        text += " 1 of them (*) follows another difference: the clusters differed by then."
    elif following:
        text += (
            f" {following} of them (*) follow another difference: the clusters differed by then."
        )
    return text
