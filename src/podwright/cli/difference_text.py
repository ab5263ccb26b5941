"""Renders the reason of a different decision as text."""

from __future__ import annotations

from podwright.assembly import Because

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
