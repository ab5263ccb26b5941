"""The events that each plugin registers: after them, pods that it rejected are tried again.

Upstream: `EventsToRegister` of each plugin in pkg/scheduler/framework/plugins
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.scheduler.config import CoschedulingArgs
from podwright.scheduler.framework.events import (
    COSCHEDULING_POD_GROUP,
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    DEVICE_CLASS,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    POD_GROUP,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    STORAGE_CLASS,
    VOLUME_ATTACHMENT,
    ActionType,
)
from podwright.scheduler.plugins.coscheduling import Coscheduling
from podwright.scheduler.plugins.gang_scheduling import GangScheduling
from podwright.scheduler.preemption.tests.situations import profile

ADD, DELETE, UPDATE = ActionType.ADD, ActionType.DELETE, ActionType.UPDATE
ALLOCATABLE = ActionType.UPDATE_NODE_ALLOCATABLE
LABEL, TAINT = ActionType.UPDATE_NODE_LABEL, ActionType.UPDATE_NODE_TAINT
FEATURE = ActionType.UPDATE_NODE_DECLARED_FEATURE
POD_LABEL, SMALLER = ActionType.UPDATE_POD_LABEL, ActionType.UPDATE_POD_SCALE_DOWN
TOLERATION = ActionType.UPDATE_POD_TOLERATION
UNGATED = ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
CLAIMED = ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM
DEFAULT = {plugin.name: plugin for plugin in profile().all_plugins()}
PLUGINS = DEFAULT | {
    "GangScheduling": GangScheduling(),
    "Coscheduling": Coscheduling(CoschedulingArgs()),
}

REGISTERED: dict[str, dict[str, ActionType]] = {
    "SchedulingGates": {POD: UNGATED},
    "NodeUnschedulable": {NODE: ADD | TAINT, POD: TOLERATION},
    "NodeName": {NODE: ADD},
    "TaintToleration": {NODE: ADD | TAINT, POD: TOLERATION},
    "NodeAffinity": {NODE: ADD | LABEL},
    "NodePorts": {POD: DELETE, NODE: ADD},
    "NodeResourcesFit": {
        POD: DELETE | SMALLER, NODE: ADD | ALLOCATABLE, DEVICE_CLASS: ADD | UPDATE,
    },
    "VolumeRestrictions": {POD: DELETE, NODE: ADD, PERSISTENT_VOLUME_CLAIM: ADD},
    "NodeVolumeLimits": {
        CSI_NODE: ADD | UPDATE, POD: DELETE, PERSISTENT_VOLUME_CLAIM: ADD,
        VOLUME_ATTACHMENT: DELETE,
    },
    "VolumeBinding": {
        STORAGE_CLASS: ADD | UPDATE, PERSISTENT_VOLUME_CLAIM: ADD | UPDATE,
        PERSISTENT_VOLUME: ADD | UPDATE, NODE: ADD | LABEL, CSI_NODE: ADD | UPDATE,
        CSI_DRIVER: UPDATE, CSI_STORAGE_CAPACITY: ADD | UPDATE,
    },
    "VolumeZone": {
        STORAGE_CLASS: ADD, NODE: ADD | LABEL, PERSISTENT_VOLUME_CLAIM: ADD | UPDATE,
        PERSISTENT_VOLUME: ADD | UPDATE,
    },
    "PodTopologySpread": {
        POD: ADD | POD_LABEL | DELETE | TOLERATION, NODE: ADD | DELETE | LABEL | TAINT,
    },
    "InterPodAffinity": {POD: ADD | POD_LABEL | DELETE, NODE: ADD | LABEL},
    "NodeDeclaredFeatures": {NODE: ADD | FEATURE, POD: UPDATE},
    "DynamicResources": {
        NODE: ADD | LABEL | ALLOCATABLE, RESOURCE_CLAIM: ADD | UPDATE, POD: CLAIMED,
        DEVICE_CLASS: ADD | UPDATE, RESOURCE_SLICE: ADD | UPDATE,
    },
    "DefaultPreemption": {POD: DELETE},
    "GangScheduling": {POD: ADD, POD_GROUP: ADD},
    # Upstream's, of scheduler-plugins, does not register deleted pods.
    "Coscheduling": {POD: ADD | DELETE, NODE: ADD, COSCHEDULING_POD_GROUP: ADD | UPDATE},
}  # fmt: skip


@pytest.mark.parametrize(("name", "registered"), REGISTERED.items())
def test_a_plugin_registers_what_may_undo_its_rejections(
    name: str, registered: dict[str, ActionType]
) -> None:
    found: dict[str, ActionType] = {}
    for event in PLUGINS[name].events_to_register():
        assert isinstance(event.resource, str)
        found[event.resource] = found.get(event.resource, ActionType.NONE) | event.actions
    assert found == registered


def test_every_plugin_that_registers_events_is_in_the_table() -> None:
    registering: list[Any] = [
        name for name, plugin in PLUGINS.items() if plugin.implements("events_to_register")
    ]
    assert sorted(registering) == sorted(REGISTERED)
