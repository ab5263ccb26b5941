"""The record of an asynchronous preemption; `evictions` moves it from stage to stage."""

from __future__ import annotations

import enum

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import CallError


class EvictionStage(enum.Enum):
    """The stages of an eviction."""

    CLEARING = "clearing"
    MANY = "many"
    LAST = "last"


class Eviction:
    """The deletion of the victims of one preemptor.

    Attributes
    ----------
    preemptor : Pod
    node : str
        The nominated node.
    plugin : str
        The PostFilter plugin that chose the victims.
    victims : tuple of Pod
        The victims that were not terminating already.
    to_clear : list of Pod
        Pods whose nominations are still to be cleared.
    next_victim : int
        The index of the next victim.
    busy : dict of int to (Pod, bool)
        The pod that each open call is about, and whether the call deletes it.
    has_failed : bool
        A call failed; the preemptor is activated at the end.
    error : CallError or None
        The first call that failed on a victim.
    is_stopped : bool
        A victim could not be deleted; the remaining ones stay.
    is_over : bool
        Nothing is left to do for the cycle that waits.
    started_ns : int
    """

    __slots__ = (
        "busy",
        "error",
        "has_failed",
        "is_over",
        "is_stopped",
        "next_victim",
        "node",
        "plugin",
        "preemptor",
        "stage",
        "started_ns",
        "to_clear",
        "victims",
    )

    def __init__(self, preemptor: Pod, node: str, plugin: str, victims: tuple[Pod, ...]) -> None:
        self.preemptor = preemptor
        self.node = node
        self.plugin = plugin
        self.victims = victims
        self.stage = EvictionStage.CLEARING
        self.to_clear: list[Pod] = []
        self.next_victim = 0
        self.busy: dict[int, tuple[Pod, bool]] = {}
        self.has_failed = False
        self.error: CallError | None = None
        self.is_stopped = False
        self.is_over = False
        self.started_ns = 0
