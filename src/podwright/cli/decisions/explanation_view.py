"""The parts of an explanation as they are printed: order and names."""

from __future__ import annotations

from collections.abc import Sequence

from podwright.scheduler.framework import Explanation

_NAMES_SHOWN = 12


def nodes_by_total(explanation: Explanation) -> list[str]:
    """Return the feasible nodes, the chosen one first, then by decreasing total."""
    winner = explanation.decision.node
    totals = explanation.totals
    # Extenders may name a node twice.
    feasible = dict.fromkeys(explanation.feasible)
    return sorted(feasible, key=lambda node: (node != winner, -totals.get(node, 0)))


def node_list(names: Sequence[str], shown: int | None) -> str:
    """Return names separated by commas; with `shown`, the first few and the number of others."""
    if shown is None or len(names) <= _NAMES_SHOWN:
        return ", ".join(names)
    rest = len(names) - _NAMES_SHOWN
    return f"{', '.join(names[:_NAMES_SHOWN])} and {rest} more (-o wide)"
