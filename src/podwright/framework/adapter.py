"""Plugins that judge node by node, run over columns."""

from __future__ import annotations

from podwright.framework.cycle import Cycle
from podwright.framework.plugin import NodeView, Plugin
from podwright.framework.scores import Scores
from podwright.framework.status import Code, Status
from podwright.framework.verdicts import Verdicts


class PluginFailure(Exception):  # noqa: N818 - it is caught and becomes a Status
    """A plugin raised, or answered what it may not answer; the cycle ends without a decision.

    Attributes
    ----------
    status : Status
        Code ERROR, worded as upstream words it. What a plugin raised is followed by the pod
        and the node, so that its author can find the case.
    """

    def __init__(self, plugin: Plugin, point: str, text: str) -> None:
        message = f'running {point} plugin "{plugin.name}": {text}'
        super().__init__(message)
        self.status = Status(Code.ERROR, (message,), plugin.name)

    @classmethod
    def raised(
        cls, plugin: Plugin, point: str, cycle: Cycle, error: Exception, node: str = ""
    ) -> PluginFailure:
        """Report an exception."""
        where = f", node {node}" if node else ""
        text = f"{type(error).__name__}: {error} (pod {cycle.pod.key}{where})"
        return cls(plugin, point, text)


def run_filter(plugin: Plugin, cycle: Cycle, out: Verdicts) -> None:
    """Fill `out` at its rows by whichever form of filter the plugin has."""
    if plugin.filters_columns:
        try:
            plugin.filter_columns(cycle, cycle.cluster.nodes, out)
        except Exception as error:
            raise PluginFailure.raised(plugin, "Filter", cycle, error) from error
        return
    for slot in out.rows.tolist():
        view = NodeView(cycle.cluster, slot)
        try:
            status: object = plugin.filter(cycle, view)
        except Exception as error:
            raise PluginFailure.raised(plugin, "Filter", cycle, error, view.name) from error
        if not isinstance(status, Status):
            wrong = TypeError(f"returned {status!r}, not a Status")
            raise PluginFailure.raised(plugin, "Filter", cycle, wrong, view.name)
        if status.is_rejection:
            out.reject_slot(slot, status)
        elif not status.is_success:
            raise PluginFailure(plugin, "Filter", status.message)


def run_score(plugin: Plugin, cycle: Cycle, out: Scores) -> None:
    """Fill `out` at its rows by whichever form of score the plugin has."""
    if plugin.scores_columns:
        try:
            plugin.score_columns(cycle, cycle.cluster.nodes, out)
        except Exception as error:
            raise PluginFailure.raised(plugin, "Score", cycle, error) from error
        return
    values = out.values
    for slot in out.rows.tolist():
        view = NodeView(cycle.cluster, slot)
        try:
            score: object = plugin.score(cycle, view)
        except Exception as error:
            raise PluginFailure.raised(plugin, "Score", cycle, error, view.name) from error
        if not isinstance(score, int):
            wrong = TypeError(f"returned {score!r}, not an integer")
            raise PluginFailure.raised(plugin, "Score", cycle, wrong, view.name)
        values[slot] = score


def judges_node_by_node(plugin: Plugin) -> bool:
    """Tell whether filtering with this plugin costs a Python call per node."""
    return not plugin.filters_columns
