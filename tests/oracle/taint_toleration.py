"""TaintToleration: NoSchedule, NoExecute and PreferNoSchedule taints.

Upstream: pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go (Filter, Score,
getAllTolerationPreferNoSchedule, NormalizeScore).
"""

from __future__ import annotations

from typing import Any

from tests.oracle.cluster import Node
from tests.oracle.plugin import Document, Plugin, Rejection, default_normalize, unresolvable
from tests.oracle.selectors import DO_NOT_SCHEDULE, has_untolerated_taint, tolerates


class TaintToleration(Plugin):
    """Reject NoSchedule and NoExecute taints, count the PreferNoSchedule ones."""

    name = "TaintToleration"

    def filter(self, state: Any, pod: Document, node: Node) -> Rejection | None:
        """Filter one node."""
        tolerations = pod["spec"].get("tolerations") or []
        if has_untolerated_taint(node.taints, tolerations, DO_NOT_SCHEDULE):
            return unresolvable("node(s) had untolerated taint(s)")
        return None

    def score(self, state: Any, pod: Document, node: Node) -> int:
        """Count the untolerated PreferNoSchedule taints."""
        tolerations = [
            toleration
            for toleration in pod["spec"].get("tolerations") or []
            if toleration.get("effect") in {None, "", "PreferNoSchedule"}
        ]
        return sum(
            taint.get("effect") == "PreferNoSchedule"
            and not any(tolerates(toleration, taint) for toleration in tolerations)
            for taint in node.taints
        )

    def normalize(self, state: Any, scores: dict[str, int]) -> dict[str, int]:
        """Fewer taints score higher."""
        return default_normalize(scores, reverse=True)
