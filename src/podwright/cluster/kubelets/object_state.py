"""What the lifecycle keeps for each object, and the events and actions of the lifecycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    KubernetesObject,
    NamespacedName,
    Node,
    ObjectDeleted,
    ObjectPut,
    Pod,
    PodwrightError,
)
from podwright.cluster.api import NodeDown, NodeUp
from podwright.cluster.kubelets.addresses import Addresses, AddressesState
from podwright.cluster.kubelets.kubelet import ImageBehavior, Kubelet, NodeLeases, ObjectReader
from podwright.cluster.kubelets.stages.stage import FixedSchedules, Stage
from podwright.cluster.kubelets.stages.stage_matching import StageMatcher
from podwright.cluster.kubelets.stages.stage_play import StageAction, StageError
from podwright.cluster.store import GroupKind

REMOVED: Final = -1
"""The number of a scheduled stage that has removed its object.

Nothing is due any more, and the same basis does not schedule another stage.
"""


KUBELET: Final = -1
"""The index of a scheduled sync of the kubelet, which is not a stage."""

KUBELET_NAME: Final = "kubelet"


class ScheduledStage(msgspec.Struct, frozen=True, gc=False):
    """The next stage of an object.

    Attributes
    ----------
    number : int
        Unique per scheduled stage; `REMOVED` when the stage has removed the object.
    stage : int
        The index of the stage among those of its kind, or `KUBELET`.
    due_ns : int
        When the stage is to be played.
    basis : str
        Everything that the choice and the delay depend on; see `basis_of`. A different basis
        schedules a new stage.
    """

    number: int
    stage: int
    due_ns: int
    basis: str


class SavedObjectState(msgspec.Struct, frozen=True, gc=False):
    """The state of one object as plain values; the object itself is stored elsewhere."""

    group: str
    kind: str
    key: NamespacedName
    scheduled: ScheduledStage | None
    schedule_count: int
    played_ns: int
    play_count: int
    last_stages: tuple[str, ...]


class LifecycleState(msgspec.Struct, frozen=True):
    """The state of a `Lifecycle` as plain values, for checkpoints."""

    objects: tuple[SavedObjectState, ...]
    schedule_count: int
    addresses: AddressesState
    silent_nodes: tuple[str, ...] = ()


class StagedKind:
    """The stages of one kind, and the state of the objects of that kind.

    Parameters
    ----------
    kind : GroupKind
    stages : sequence of Stage

    Attributes
    ----------
    matcher : StageMatcher
        Finds the stages that apply to a document.
    schedules : list of FixedSchedules
        Per stage, the schedules that are shared by many objects.
    objects : dict
        In the order of `ObjectState.order`.
    """

    __slots__ = ("group", "matcher", "name", "objects", "schedules", "stages")

    def __init__(self, kind: GroupKind, stages: Sequence[Stage]) -> None:
        self.group, self.name = kind
        self.stages = stages
        self.matcher = StageMatcher(stages)
        self.schedules = [FixedSchedules(stage, index) for index, stage in enumerate(stages)]
        self.objects: dict[NamespacedName, ObjectState] = {}


class ObjectState(msgspec.Struct, gc=False):
    """The state of one object.

    Attributes
    ----------
    staged : StagedKind
    key : str
    obj : KubernetesObject
        The object as of the latest change.
    uid : str
        The object's uid, kept here because it is read most often.
    order : int
        The position of the object in the order of arrival.
    scheduled : ScheduledStage, optional
    schedule_count : int
        How many stages have been scheduled for the object: the counter of its draws.
    played_ns, play_count : int
        When a stage was played last, and how many were played at that time.
    last_stages : tuple of str
        The names of the last of these stages.
    """

    staged: StagedKind
    key: NamespacedName
    obj: KubernetesObject
    uid: str
    order: int
    scheduled: ScheduledStage | None = None
    schedule_count: int = 0
    played_ns: int = -1
    play_count: int = 0
    last_stages: tuple[str, ...] = ()

    @property
    def is_removed(self) -> bool:
        """Whether a stage has removed the object."""
        return self.scheduled is not None and self.scheduled.number == REMOVED

    @property
    def stage_name(self) -> str:
        """The name of the scheduled stage, for display."""
        assert self.scheduled is not None, f"{self.key} has no scheduled stage"
        index = self.scheduled.stage
        return KUBELET_NAME if index == KUBELET else self.staged.stages[index].name

    def due_event(self, number: int) -> StageDue:
        """Return the event that a scheduled stage of the object is due."""
        return StageDue(self.staged.group, self.staged.name, self.key, number)

    def saved(self) -> SavedObjectState:
        """Return the state as plain values."""
        return SavedObjectState(
            self.staged.group,
            self.staged.name,
            self.key,
            self.scheduled,
            self.schedule_count,
            self.played_ns,
            self.play_count,
            self.last_stages,
        )


# The events and the actions of the lifecycle of nodes and pods.


class StageDue(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """A scheduled stage is due; ignored if the object has been rescheduled since.

    The class name and the field names are stored in checkpoints.

    Attributes
    ----------
    group, object_kind, key : str
        The object.
    number : int
        The number of the scheduled stage.
    """

    group: str
    object_kind: str
    key: NamespacedName
    number: int


class ScheduleStage(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Send `event` at `due_ns`; replaces the scheduled stage of the same object.

    Attributes
    ----------
    due_ns : int
    event : StageDue
    stage : str
        The name of the stage, for display.
    """

    due_ns: int
    event: StageDue
    stage: str


LifecycleEvent: TypeAlias = ObjectPut | ObjectDeleted | StageDue | NodeDown | NodeUp

LifecycleAction: TypeAlias = ScheduleStage | StageAction


# Syncs of the simulated kubelets: of the pods of a node, and of its lease.


class ObjectSync(msgspec.Struct, frozen=True):
    """The result of a sync.

    Attributes
    ----------
    obj : KubernetesObject
        The object as the requests write it.
    requests : sequence of StageAction
        What is written.
    due_ns : int, optional
        When the next sync is due without a change of the object.
    is_removed : bool
        Whether the object is removed.
    """

    obj: KubernetesObject
    requests: Sequence[StageAction]
    due_ns: int | None
    is_removed: bool = False


class KubeletSyncs:
    """Syncs bound pods by the kubelets of their nodes, and renews the leases of nodes.

    Parameters
    ----------
    addresses : Addresses
        Of nodes and pods.
    reader : ObjectReader
        Reads the objects that pods refer to.
    seed : int
        The seed of all draws.
    has_heartbeats : bool
        Whether the leases of nodes are renewed, without end.
    images : sequence of ImageBehavior
        What is declared of images.
    """

    def __init__(
        self,
        addresses: Addresses,
        reader: ObjectReader,
        *,
        seed: int,
        has_heartbeats: bool,
        images: Sequence[ImageBehavior] = (),
    ) -> None:
        self._kubelet = Kubelet(addresses, reader=reader, seed=seed, images=images)
        self._leases = NodeLeases(reader) if has_heartbeats else None

    def has_kubelet(self, obj: KubernetesObject) -> bool:
        """Tell whether a kubelet syncs the object: a bound pod, or a node that has a lease."""
        if isinstance(obj, Pod):
            return bool(obj.spec.node_name)
        return isinstance(obj, Node) and self._leases is not None

    def is_needed(
        self, obj: KubernetesObject, scheduled: ScheduledStage | None, now_ns: int
    ) -> bool:
        """Tell whether an object with a kubelet has to be synced now, and not when scheduled.

        Parameters
        ----------
        obj : KubernetesObject
        scheduled : ScheduledStage, optional
            The scheduled sync of the object, or a stage that no longer applies.
        now_ns : int
        """
        if not isinstance(obj, Pod):
            # A lease is renewed at its times only.
            return scheduled is None or scheduled.stage != KUBELET
        if scheduled is None:
            return self._kubelet.needs_sync(obj)
        if scheduled.stage != KUBELET:
            return True
        return scheduled.due_ns > now_ns and self._kubelet.needs_sync(obj)

    def sync(self, obj: KubernetesObject, now_ns: int) -> ObjectSync:
        """Sync a pod, or renew the lease of a node.

        Raises
        ------
        StageError
            The pod cannot be synced.
        """
        if not isinstance(obj, Pod):
            assert isinstance(obj, Node), f"{obj.kind} {obj.key} has no kubelet"
            assert self._leases is not None, f"{obj.kind} {obj.key} has no lease"
            renewal = self._leases.renew(obj, now_ns)
            return ObjectSync(obj, renewal.requests, renewal.due_ns)
        try:
            result = self._kubelet.sync(obj, now_ns)
        except ValueError as error:
            if isinstance(error, PodwrightError):
                raise
            raise StageError(f"kubelet: {obj.kind} {obj.key}: {error}") from None
        due_ns = result.due_ns
        if due_ns is not None:
            # A sync that is due again at the same time would be a loop.
            due_ns = max(due_ns, now_ns + 1)
        return ObjectSync(result.pod, result.actions, due_ns, result.is_removed)

    def forget(self, obj: Node | Pod) -> None:
        """Forget a node or a pod that was deleted."""
        if isinstance(obj, Node):
            self._kubelet.forget_node(obj.name)
        else:
            self._kubelet.forget(obj.key)
