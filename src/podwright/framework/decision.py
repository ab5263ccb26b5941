"""What came of one cycle."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from podwright.framework.status import Status
from podwright.objects import Pod

NO_NODES = "no nodes available to schedule pods"
"""Upstream: pkg/scheduler/framework/types.go, `ErrNoNodesAvailable`."""


class Rejection(msgspec.Struct, frozen=True):
    """Nodes that were rejected for one reason.

    Parameters
    ----------
    status : Status
        Code and reasons, signed by the plugin; a plugin name of "" means that PreFilter
        left the nodes out.
    count : int
        How many nodes.
    """

    status: Status
    count: int


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Why a pod fits nowhere.

    Parameters
    ----------
    node_count : int
        All nodes there are.
    pre_filter : Status, optional
        The rejection, if PreFilter rejected the pod as a whole.
    rejections : tuple of Rejection
        The nodes that filters rejected, grouped; in the order of filters.
    rejected_by : frozenset of str
        The plugins to blame; the queue waits for events that they registered.
    pending : frozenset of str
        Those of them that answered Pending.
    post_filter_message : str
        What PostFilter adds to the message.
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
        The histogram's entries are sorted as strings, so "10 x" comes before "2 y".
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
    """What a PostFilter plugin did about a pod that fits nowhere, or all of them together.

    Parameters
    ----------
    status : Status
        SUCCESS: the pod may fit soon, on the nominated node if there is one. A rejection:
        nothing helps. ERROR: the plugin failed.
    nominated_node : str, optional
        Where the pod is nominated from now on; "" takes its nomination back; None leaves it.
    details : object, optional
        What the plugin found, in its own form; plain data.
    """

    status: Status
    nominated_node: str | None = None
    details: object | None = None

    @property
    def message(self) -> str:
        """What is added to the message of the decision; "" after success."""
        return self.status.message


class BatchReport(msgspec.Struct, frozen=True):
    """What opportunistic batching did in one cycle.

    Parameters
    ----------
    hint : str
        The node that earlier results suggested; "" if none.
    is_used : bool
        Whether it was taken, without looking at any other.
    flushed : tuple of str
        Why earlier results were of no use and why none were stored, in order; upstream's
        labels of `scheduler_batch_cache_flushed_total`.
    """

    hint: str = ""
    is_used: bool = False
    flushed: tuple[str, ...] = ()


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one cycle: a node, a diagnosis, or an error.

    Parameters
    ----------
    pod : Pod
        The pod that was scheduled.
    node : str
        Name of the chosen node; "" if there is none.
    slot : int
        Its slot; -1 if there is none.
    feasible_count, evaluated_count : int
        Nodes that passed all filters; nodes that were looked at.
    tie_count : int
        Nodes with the greatest total; 1 where scoring was not needed.
    total : int, optional
        The chosen node's total; None where scoring was not needed.
    diagnosis : Diagnosis, optional
        Why the pod fits nowhere.
    post_filter : PostFilterResult, optional
        What PostFilter plugins did about it, once they were asked.
    error : Status, optional
        The plugin failure that ended the cycle.
    held_back : Status, optional
        PreEnqueue kept the pod out of the queue; there was no cycle.
    batch : BatchReport, optional
        What opportunistic batching did, if it takes part and the cycle came to filtering.
    ignored : str
        Why nobody decides for this pod: it belongs to another scheduler, or is being
        deleted; "" if somebody does.
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
    held_back: Status | None = None
    batch: BatchReport | None = None
    ignored: str = ""

    @property
    def message(self) -> str:
        """Why there is no node, as upstream words it; "" if there is one."""
        if self.ignored:
            return self.ignored
        if self.held_back is not None:
            return self.held_back.message
        if self.error is not None:
            return self.error.message
        if self.diagnosis is None:
            return ""
        return self.diagnosis.message if self.diagnosis.node_count else NO_NODES
