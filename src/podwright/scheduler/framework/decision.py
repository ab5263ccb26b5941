"""The result of one cycle."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from podwright._html import facts, section
from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework.binding import ApiCall
from podwright.scheduler.framework.status import Status

NO_NODES = "no nodes available to schedule pods"
"""Upstream: pkg/scheduler/framework/types.go, `ErrNoNodesAvailable`."""


class Rejection(msgspec.Struct, frozen=True):
    """Nodes that were rejected for one reason.

    Parameters
    ----------
    status : Status
        Code, reasons and plugin name; a plugin name of "" means that PreFilter excluded the nodes.
    count : int
        How many nodes.
    """

    status: Status
    count: int


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Why a pod fits on no node.

    Parameters
    ----------
    node_count : int
        The number of all nodes.
    pre_filter : Status, optional
        The rejection, if PreFilter rejected the pod as a whole.
    rejections : tuple of Rejection
        The nodes that filters rejected, grouped, in filter order.
    rejected_by : frozenset of str
        The plugins that rejected the pod (upstream: UnschedulablePlugins); the queue waits for
        events that they registered.
    pending : frozenset of str
        The plugins among them that returned Pending.
    post_filter_message : str
        The text that PostFilter adds to the message.
    """

    node_count: int
    pre_filter: Status | None = None
    rejections: tuple[Rejection, ...] = ()
    rejected_by: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    post_filter_message: str = ""

    @property
    def message(self) -> str:
        """The text of upstream's FitError.

        Notes
        -----
        The entries of the histogram are sorted as strings, so "10 x" comes before "2 y".
        Upstream: pkg/scheduler/framework/types.go, `FitError.Error`.
        """
        return fit_error(
            self.node_count, self.pre_filter, self.rejections, self.post_filter_message
        )


def fit_error(
    node_count: int,
    pre_filter: Status | None,
    rejections: Iterable[Rejection],
    post_filter_message: str = "",
) -> str:
    """Write the text of upstream's FitError."""
    text = f"0/{node_count} nodes are available:"
    if pre_filter is not None:
        text += f" {pre_filter.message}."
    else:
        histogram: dict[str, int] = {}
        for rejection in rejections:
            for reason in rejection.status.reasons:
                histogram[reason] = histogram.get(reason, 0) + rejection.count
        entries = sorted(f"{count} {reason}" for reason, count in histogram.items())
        if entries:
            text += f" {', '.join(entries)}."
    if post_filter_message:
        text += f" {post_filter_message}"
    return text


class PostFilterResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one PostFilter plugin, or of all of them together.

    Parameters
    ----------
    status : Status
        SUCCESS: the pod may fit soon, on the nominated node if there is one. A rejection: no
        action would make the pod schedulable. ERROR: the plugin failed.
    nominated_node : str, optional
        The node to nominate; "" clears the nomination; None leaves it unchanged.
    details : object, optional
        Details in a form that the plugin defines; plain data.
    calls : tuple of ApiCall
        Calls to the API server to make; nothing waits for their answers.
    """

    status: Status
    nominated_node: str | None = None
    details: object | None = None
    calls: tuple[ApiCall, ...] = ()

    @property
    def message(self) -> str:
        """The text that is added to the decision's message; "" after success."""
        return self.status.message


class BatchReport(msgspec.Struct, frozen=True):
    """What opportunistic batching did in one cycle.

    Parameters
    ----------
    hint : str
        The node that results of earlier cycles suggest; "" if none.
    is_used : bool
        Whether the hint was used without evaluating other nodes.
    flushed : tuple of str
        Why earlier results were discarded and why none were stored, in order; upstream's labels
        of `scheduler_batch_cache_flushed_total`.
    """

    hint: str = ""
    is_used: bool = False
    flushed: tuple[str, ...] = ()


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one cycle: a node, a diagnosis, or an error.

    Parameters
    ----------
    pod : Pod
        The pod that was scheduled.
    node : str
        Name of the chosen node; "" if there is none.
    slot : int
        Its slot; -1 if there is none.
    feasible_count, evaluated_count : int
        Nodes that passed all filters; nodes that were evaluated.
    tie_count : int
        Nodes with the greatest total; 1 where scoring was not needed.
    total : int, optional
        The chosen node's total; None where scoring was not needed.
    diagnosis : Diagnosis, optional
        Why the pod fits on no node.
    post_filter : PostFilterResult, optional
        The result of PostFilter, if it has run.
    error : Status, optional
        The plugin failure that ended the cycle.
    gated_by : Status, optional
        The PreEnqueue rejection that keeps the pod out of the queue; there was no cycle.
    batch : BatchReport, optional
        What opportunistic batching did, if it is enabled and the cycle reached filtering.
    ignored : str
        Why the pod is not scheduled here: it belongs to another scheduler, or is being deleted;
        "" otherwise.
    """

    pod: Pod
    node: str = ""
    slot: int = -1
    feasible_count: int = 0
    evaluated_count: int = 0
    tie_count: int = 0
    total: int | None = None
    diagnosis: Diagnosis | None = None
    post_filter: PostFilterResult | None = None
    error: Status | None = None
    gated_by: Status | None = None
    batch: BatchReport | None = None
    ignored: str = ""

    @property
    def message(self) -> str:
        """Why there is no node, in upstream's words; "" if there is one."""
        if self.ignored:
            return self.ignored
        if self.gated_by is not None:
            return self.gated_by.message
        if self.error is not None:
            return self.error.message
        if self.diagnosis is None:
            return ""
        return self.diagnosis.message if self.diagnosis.node_count else NO_NODES

    def __repr__(self) -> str:
        return f"<Decision for {self.pod.key}: {self.node or self.message}>"

    def _repr_html_(self) -> str:
        known = {
            "Node": self.node,
            "Message": self.message,
            "Score": self.total,
            "Feasible nodes": self.feasible_count,
            "Evaluated nodes": self.evaluated_count,
            "Tied nodes": self.tie_count,
        }
        shown = {name: value for name, value in known.items() if value not in {None, ""}}
        return section(f"Decision for {self.pod.key}", facts(shown))
