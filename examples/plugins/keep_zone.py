"""Keep every pod inside one zone: a filter in the form to start with, node by node.

    podwright schedule examples/quickstart --plugin examples/plugins/keep_zone.py \
        --config examples/plugins/keep_zone.yaml
"""

import podwright as pw


class KeepZone(pw.Plugin):
    """Keep every pod inside one zone."""

    name = "KeepZone"

    def __init__(self, zone: str) -> None:
        self.zone = zone

    def filter(self, cycle: pw.Cycle, node: pw.NodeView) -> pw.Status:
        """Pass nodes whose zone label is ours."""
        if node.labels.get("topology.kubernetes.io/zone") == self.zone:
            return pw.Status()
        return pw.Status.unschedulable(f"node(s) outside zone {self.zone}")
