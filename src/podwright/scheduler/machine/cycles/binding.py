"""The record of a binding cycle; `binding_cycles` moves it from stage to stage."""

from __future__ import annotations

import enum

from podwright.apimachinery.objects import Pod, with_node_name
from podwright.scheduler.framework import Answer, Binding as BoundByExtender, Cycle, Steps
from podwright.scheduler.machine.profiles import BindPlugins
from podwright.scheduler.queueing import QueuedPod


class BindingStage(enum.Enum):
    """The stages of a binding cycle, named by what it waits for."""

    STARTING = "starting"
    NOMINATING = "nominating"
    PERMIT = "permit"
    PRE_BIND = "pre_bind"
    BIND = "bind"


class Binding:
    """The binding cycle of one pod.

    Attributes
    ----------
    number : int
        Counts binding cycles.
    queued : QueuedPod
        The queue's entry of the pod.
    pod : Pod
        The version that was scheduled; its node name is empty.
    node : str
    cycle : Cycle
        The state that plugins keep for this pod.
    plugins : BindPlugins
        The plugins to call.
    plugin_index : int
        The index of the current PreBind or Bind plugin.
    skipped : frozenset of str
        PreBind plugins whose pre-flight returned Skip.
    is_cancellable : bool
        The pod is in PreBind and may be preempted without a call to the API server.
    call_numbers : list of int
        The calls of the current plugin; some are not answered yet.
    answers : dict of int to Answer
    timer : int
        The counter of the pending timer, that of the expiry once the pod is bound; 0: none.
    started_ns : int
        When the attempt started.
    waits_since_ns : int
        When the pod started to wait for Permit plugins; -1: it did not wait.
    steps : generator or None
        The calls to extenders that bind the pod.
    """

    __slots__ = (
        "answers",
        "call_numbers",
        "cancelled",
        "cycle",
        "is_cancellable",
        "node",
        "number",
        "plugin_index",
        "plugins",
        "pod",
        "queued",
        "skipped",
        "stage",
        "started_ns",
        "steps",
        "timer",
        "uid",
        "waits_since_ns",
    )

    def __init__(
        self, number: int, queued: QueuedPod, node: str, cycle: Cycle, plugins: BindPlugins
    ) -> None:
        self.number = number
        self.queued = queued
        self.pod: Pod = queued.pod
        self.uid = queued.uid
        self.node = node
        self.cycle = cycle
        self.plugins = plugins
        self.stage = BindingStage.STARTING
        self.plugin_index = 0
        self.skipped: frozenset[str] = frozenset()
        self.is_cancellable = False
        self.cancelled = ""
        self.call_numbers: list[int] = []
        self.answers: dict[int, Answer] = {}
        self.timer = 0
        self.steps: Steps[BoundByExtender] | None = None
        self.started_ns = 0
        self.waits_since_ns = -1

    @property
    def assumed_pod(self) -> Pod:
        """The pod with the name of its node."""
        return with_node_name(self.pod, self.node)
