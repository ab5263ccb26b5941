"""What Reserve plugins keep for pods that are placed without a machine.

`Scheduler` places a pod at once and binds nothing, so what Reserve assumed stays assumed: the
next pod does not get the same volume. Permit, PreBind and Bind run in the machine only.

Upstream: pkg/scheduler/schedule_one.go, `schedulingCycle`;
pkg/scheduler/framework/runtime/framework.go, `RunReservePluginsReserve`
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from podwright.scheduler.framework import (
    Code,
    Cycle,
    Decision,
    Diagnosis,
    Plugin,
    Rejection,
    Runner,
    Status,
)
from podwright.scheduler.machine import call_plugin, notify_plugin, with_point


class Reservation(NamedTuple):
    """What Reserve plugins keep for one pod.

    Parameters
    ----------
    plugins : tuple of Plugin
        Those that have a part in it, in run order.
    cycle : Cycle
        The pod's own, in which plugins note what they assumed.
    node : str
    """

    plugins: tuple[Plugin, ...]
    cycle: Cycle
    node: str

    def reserve(self) -> Status:
        """Call the plugins in order; the first that rejects the pod undoes all of them."""
        for plugin in self.plugins:
            status = call_plugin(plugin, "reserve", self.cycle, self.node)
            if not status.is_success:
                self.take_back()
                return status
        return Status.OK

    def take_back(self) -> None:
        """Call Unreserve of the plugins, the last one first."""
        for plugin in reversed(self.plugins):
            notify_plugin(plugin, "unreserve", self.cycle, self.node, None)


class Bookkeeping(NamedTuple):
    """The state of a scheduler besides objects and pods.

    Parameters
    ----------
    reservations : dict of str to Reservation
        By pod, in the order in which they were made.
    positions : dict of str to object
        Where the search of each profile begins.
    cycle_number : int
    """

    reservations: Mapping[str, Reservation]
    positions: Mapping[str, object]
    cycle_number: int


def reservation_for(runner: Runner, decision: Decision) -> Reservation | None:
    """Return what is to be reserved after a decision; None if no plugin is concerned.

    Parameters
    ----------
    runner : Runner
        The runner of the last decision, which is that for this pod.
    """
    profile = runner.profile
    if not profile.reserve:
        return None
    skipped, _ = runner.skipped
    plugins = [
        plugin
        for plugin in profile.reserve
        if not (plugin.rests_when_skipped and plugin.name in skipped)
    ]
    if not plugins:
        return None
    return Reservation(tuple(plugins), runner.own_cycle(decision.pod), decision.node)


def refused(decision: Decision, status: Status) -> Decision:
    """Return a decision that found a node, after Reserve rejected the pod or failed.

    Notes
    -----
    The message is a fit error about one node, whatever the size of the cluster.
    Upstream: pkg/scheduler/schedule_one.go, `schedulingCycle`
    """
    changes = {"node": "", "slot": -1, "tie_count": 0, "total": None}
    if not status.is_rejection:
        return msgspec.structs.replace(decision, **changes, error=with_point(status, "Reserve"))
    blamed = frozenset({status.plugin})
    is_pending = status.code == Code.PENDING
    diagnosis = Diagnosis(
        node_count=1,
        rejections=(Rejection(status, 1),),
        rejected_by=frozenset() if is_pending else blamed,
        pending=blamed if is_pending else frozenset(),
    )
    return msgspec.structs.replace(decision, **changes, diagnosis=diagnosis)
