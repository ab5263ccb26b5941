"""Cluster events, and how a plugin registers the events that could undo its rejection.

A `ClusterEvent` is one change of one kind of object (`Node`, `UpdateNodeLabel`). A plugin
registers the events that could make a pod schedulable that it rejected, each with an optional
queueing hint function, which reads the objects and returns `QUEUE` or `SKIP`.

Upstream: staging/src/k8s.io/kube-scheduler/framework/types.go (EventResource, ActionType,
ClusterEventWithHint), pkg/scheduler/framework/types.go (MatchClusterEvents).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

import msgspec

from podwright.apimachinery.objects import NamespacedName, Pod

POD: Final = "Pod"
"""Registered by plugins; covers `ASSIGNED_POD` and `UNSCHEDULABLE_POD`."""
ASSIGNED_POD: Final = "AssignedPod"
UNSCHEDULABLE_POD: Final = "UnschedulablePod"
NODE: Final = "Node"
PERSISTENT_VOLUME: Final = "PersistentVolume"
PERSISTENT_VOLUME_CLAIM: Final = "PersistentVolumeClaim"
CSI_NODE: Final = "storage.k8s.io/CSINode"
CSI_DRIVER: Final = "storage.k8s.io/CSIDriver"
VOLUME_ATTACHMENT: Final = "storage.k8s.io/VolumeAttachment"
CSI_STORAGE_CAPACITY: Final = "storage.k8s.io/CSIStorageCapacity"
STORAGE_CLASS: Final = "storage.k8s.io/StorageClass"
RESOURCE_CLAIM: Final = "resource.k8s.io/ResourceClaim"
RESOURCE_SLICE: Final = "resource.k8s.io/ResourceSlice"
DEVICE_CLASS: Final = "resource.k8s.io/DeviceClass"
POD_GROUP: Final = "scheduling.k8s.io/PodGroup"
COSCHEDULING_POD_GROUP: Final = "podgroups.v1alpha1.scheduling.x-k8s.io"
WILDCARD: Final = "*"

ALL_RESOURCES: Final = (
    POD,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    CSI_NODE,
    CSI_DRIVER,
    VOLUME_ATTACHMENT,
    CSI_STORAGE_CAPACITY,
    STORAGE_CLASS,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    DEVICE_CLASS,
    POD_GROUP,
)
"""The resources that are registered for a plugin that registers none."""


class ActionType(enum.IntFlag):
    """What happened to an object, as a bit mask.

    The bits have upstream's order, which matters: a registered mask matches an event only if
    the event's action is numerically not greater than the mask.
    """

    NONE = 0
    ADD = 1 << 0
    DELETE = 1 << 1
    UPDATE_NODE_ALLOCATABLE = 1 << 2
    UPDATE_NODE_LABEL = 1 << 3
    UPDATE_NODE_TAINT = 1 << 4
    UPDATE_NODE_CONDITION = 1 << 5
    UPDATE_NODE_ANNOTATION = 1 << 6
    UPDATE_NODE_DECLARED_FEATURE = 1 << 7
    UPDATE_POD_LABEL = 1 << 8
    UPDATE_POD_SCALE_DOWN = 1 << 9
    UPDATE_POD_TOLERATION = 1 << 10
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 11
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 1 << 12
    ALL = (1 << 13) - 1
    UPDATE = ALL & ~(ADD | DELETE)

    @property
    def label(self) -> str:
        """The action in upstream's spelling, as metrics and golden data show it."""
        label = _ACTION_LABELS.get(self.value)
        if label is None:
            return "|".join(_ACTION_LABELS[action.value] for action in self)
        return label

    @classmethod
    def from_label(cls, label: str) -> ActionType:
        """Read `label`, one action in upstream's spelling (`UpdateNodeLabel`).

        Raises
        ------
        KeyError
            If upstream has no such action.
        """
        return _ACTIONS_BY_LABEL[label]


def _upstream_spelling(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


# By number: the hash of a flag is computed in Python, that of its value is not.
_ACTION_LABELS: Final = {
    action.value: _upstream_spelling(name) for name, action in ActionType.__members__.items()
}
_ACTIONS_BY_LABEL: Final = {
    _upstream_spelling(name): action for name, action in ActionType.__members__.items()
}


class Hint(enum.Enum):
    """The result of a hint function: whether to schedule the pod again."""

    QUEUE = "Queue"
    SKIP = "Skip"


HintFunction = Callable[[Pod, object | None, object | None], Hint]
"""`(pod, old, new) -> Hint`; `old` is None for an added object, `new` for a deleted one.

An exception counts as `QUEUE`: a broken hint function must not strand a pod.
"""


class Concerned(NamedTuple):
    """The pods that an event may concern: all others would be skipped.

    Attributes
    ----------
    uid : str
        Of one pod; "" for none.
    claim : str
        The `namespace/name` of a ResourceClaim that pods name in their spec; "" for none.
    """

    uid: str = ""
    claim: NamespacedName = ""


class ClusterEvent(msgspec.Struct, frozen=True):
    """One change in the cluster, as the queue sees it.

    Parameters
    ----------
    resource : str
        One of the resource constants of this module.
    action : ActionType
        What happened; for a registration, every action of interest.
    custom_label : str
        Replaces the label of special events such as `UnschedulableTimeout`.
    """

    resource: str
    action: ActionType
    custom_label: str = ""

    @property
    def label(self) -> str:
        """The name in metrics and stories: `NodeAdd`, `AssignedPodUpdatePodLabel`."""
        # Not `value`: that attribute of an enum member is a Python property and slower.
        return self.custom_label or _label_of(self.resource, self.action._value_)

    @property
    def is_wildcard(self) -> bool:
        """Whether the event moves pods without calling hint functions."""
        return self.resource == WILDCARD and self.action == ActionType.ALL

    def matches(self, incoming: ClusterEvent) -> bool:
        """Return whether a plugin that registered this event is interested in `incoming`.

        Upstream: pkg/scheduler/framework/types.go, MatchClusterEvents
        """
        if self.is_wildcard:
            return True
        resource_matches = self.resource in (WILDCARD, incoming.resource) or (
            self.resource == POD and incoming.resource in (ASSIGNED_POD, UNSCHEDULABLE_POD)
        )
        # "Not wider" is a comparison of numbers upstream, so UPDATE reaches only masks with every
        # part of an update.
        return (
            resource_matches
            and bool(self.action & incoming.action)
            and incoming.action <= self.action
        )


@cache
def _label_of(resource: str, action: int) -> str:
    return f"{resource}{ActionType(action).label}"


class EventHint(msgspec.Struct, frozen=True):
    """One registration of a plugin: a resource, actions, and a hint function.

    Parameters
    ----------
    resource : str
        One of the resource constants of this module.
    actions : ActionType
        The union of the actions of interest.
    hint : HintFunction or None
        Called when such an event arrives; None is equivalent to always `QUEUE`.
    concern : callable or None
        Returns the pods for which the hint may be `QUEUE`, or None if it may be for any, so that
        an event about one pod costs the same however many wait. The pods are a `Concerned`: the
        uid of one, and the key of a ResourceClaim that others name. None is equivalent to any.
    """

    resource: str
    actions: ActionType
    hint: HintFunction | None = None
    concern: Callable[[object | None, object | None], tuple[str, str] | None] | None = None

    @property
    def event(self) -> ClusterEvent:
        """The registration as an event to match against."""
        return ClusterEvent(self.resource, self.actions)


ASSIGNED_POD_ADD: Final = ClusterEvent(ASSIGNED_POD, ActionType.ADD)
ASSIGNED_POD_DELETE: Final = ClusterEvent(ASSIGNED_POD, ActionType.DELETE)
UNSCHEDULABLE_POD_ADD: Final = ClusterEvent(UNSCHEDULABLE_POD, ActionType.ADD)
UNSCHEDULABLE_POD_UPDATE: Final = ClusterEvent(UNSCHEDULABLE_POD, ActionType.UPDATE)
UNSCHEDULABLE_TIMEOUT: Final = ClusterEvent(WILDCARD, ActionType.ALL, "UnschedulableTimeout")
FORCE_ACTIVATE: Final = ClusterEvent(WILDCARD, ActionType.ALL, "ForceActivate")
