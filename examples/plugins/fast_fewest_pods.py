"""The same score as columns: the number of pods is a column of the cluster."""

from fewest_pods import FewestPods

import podwright as pw


class FastFewestPods(FewestPods):
    """The same rule on columns; `normalize_score` is inherited."""

    # The raw score depends on the pods of the node alone, so it is cached until they change.
    score_reads = pw.Reads.PODS

    def pod_key(self, pod: pw.Pod) -> tuple[()]:
        """Return the same key for all pods: nothing of the pod is read."""
        return ()

    def score_columns(self, cycle: pw.Cycle, nodes: pw.NodeColumns, out: pw.Scores) -> None:
        """Take the column of pod counts."""
        pods = nodes.requested[:, nodes.resources["pods"]]  # (n_slots,) int64
        out.values[out.rows] = pods[out.rows]
