"""Prefer nodes with few pods: a score, node by node, in its two steps.

`score` gives each node a number by itself; `normalize_score` sees them all and turns them
into 0 to 100.
"""

import podwright as pw


class FewestPods(pw.Plugin):
    """Prefer nodes with few pods."""

    name = "FewestPods"

    def score(self, cycle: pw.Cycle, node: pw.NodeView) -> int:
        """Count the pods of one node."""
        return len(node.pods)

    def normalize_score(self, cycle: pw.Cycle, out: pw.Scores) -> None:
        """Give the fewest 100 and the most 0, in whole numbers as the scheduler does."""
        counts = out.values[out.rows]
        fewest, most = counts.min(), counts.max()
        if fewest == most:
            out.values[out.rows] = 100
        else:
            out.values[out.rows] = 100 * (most - counts) // (most - fewest)
