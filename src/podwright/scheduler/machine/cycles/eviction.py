"""The record of an asynchronous preemption; `evictions` moves it from stage to stage."""

from __future__ import annotations

import enum

from podwright.apimachinery.objects import Pod, PodGroup
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
    preemptor : Pod or PodGroup
    members : tuple of Pod
        Of a group, those that were to be scheduled; empty for a pod.
    node : str
        The nominated node; of a group, what upstream names instead.
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
        "members",
        "next_victim",
        "node",
        "plugin",
        "preemptor",
        "stage",
        "started_ns",
        "to_clear",
        "victims",
    )

    def __init__(
        self,
        preemptor: Pod | PodGroup,
        node: str,
        plugin: str,
        victims: tuple[Pod, ...],
        *,
        members: tuple[Pod, ...] = (),
    ) -> None:
        self.preemptor = preemptor
        self.members = members
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

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The pods that wait for the end of the eviction."""
        return (self.preemptor,) if isinstance(self.preemptor, Pod) else self.members

    @property
    def scheduler_name(self) -> str:
        """The scheduler of the preemptor; all members of a group have the same."""
        return self.pods[0].spec.scheduler_name

    @property
    def type(self) -> str:
        """What kind of preemptor it is, in upstream's texts."""
        return "pod" if isinstance(self.preemptor, Pod) else "podgroup"
