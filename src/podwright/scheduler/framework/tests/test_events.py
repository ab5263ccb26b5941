"""The names of cluster events, and which events reach the plugins that registered others.

Upstream: staging/src/k8s.io/kube-scheduler/framework/types.go; pkg/scheduler/framework/types.go,
MatchClusterEvents
"""

import pytest

from podwright.scheduler.framework.events import (
    ASSIGNED_POD,
    FORCE_ACTIVATE,
    NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    RESOURCE_CLAIM,
    UNSCHEDULABLE_POD,
    UNSCHEDULABLE_POD_UPDATE,
    UNSCHEDULABLE_TIMEOUT,
    WILDCARD,
    ActionType,
    ClusterEvent,
    EventHint,
)

ADD, DELETE, UPDATE, ALL = ActionType.ADD, ActionType.DELETE, ActionType.UPDATE, ActionType.ALL
LABEL, TAINT = ActionType.UPDATE_NODE_LABEL, ActionType.UPDATE_NODE_TAINT
SCALED_DOWN = ActionType.UPDATE_POD_SCALE_DOWN
UNGATED = ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
CLAIMED = ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM


@pytest.mark.parametrize(
    ("event", "label"),
    [
        pytest.param(ClusterEvent(NODE, ADD), "NodeAdd", id="one action"),
        pytest.param(ClusterEvent(NODE, LABEL), "NodeUpdateNodeLabel", id="a part of an update"),
        pytest.param(UNSCHEDULABLE_POD_UPDATE, "UnschedulablePodUpdate", id="any update"),
        pytest.param(
            ClusterEvent(NODE, LABEL | TAINT),
            "NodeUpdateNodeLabel|UpdateNodeTaint",
            id="several actions, in the order of their bits",
        ),
        pytest.param(
            ClusterEvent(ASSIGNED_POD, UNGATED),
            "AssignedPodUpdatePodSchedulingGatesEliminated",
            id="many words",
        ),
        pytest.param(
            ClusterEvent(RESOURCE_CLAIM, DELETE),
            "resource.k8s.io/ResourceClaimDelete",
            id="an API group",
        ),
        pytest.param(UNSCHEDULABLE_TIMEOUT, "UnschedulableTimeout", id="a label of its own"),
    ],
)
def test_an_event_has_the_name_that_metrics_show(event, label):
    assert event.label == label


@pytest.mark.parametrize(
    ("label", "action"),
    [("Add", ADD), ("Update", UPDATE), ("All", ALL), ("UpdatePodScaleDown", SCALED_DOWN)],
)
def test_an_action_is_read_from_its_name(label, action):
    assert ActionType.from_label(label) is action
    assert action.label == label


@pytest.mark.parametrize("label", ["add", "UPDATE_POD_LABEL", "Add|Delete", ""])
def test_other_spellings_of_actions_are_not_read(label):
    with pytest.raises(KeyError):
        ActionType.from_label(label)


@pytest.mark.parametrize(
    ("event", "is_wildcard"),
    [
        pytest.param(UNSCHEDULABLE_TIMEOUT, True, id="the timeout"),
        pytest.param(FORCE_ACTIVATE, True, id="an activation"),
        pytest.param(ClusterEvent(WILDCARD, ADD), False, id="one action of any object"),
        pytest.param(ClusterEvent(NODE, ALL), False, id="any action of one object"),
    ],
)
def test_an_event_of_everything_is_a_wildcard(event, is_wildcard):
    assert event.is_wildcard is is_wildcard


@pytest.mark.parametrize(
    ("registered", "incoming", "matches"),
    [
        pytest.param((NODE, ADD), (NODE, ADD), True, id="the same"),
        pytest.param((NODE, ADD | LABEL), (NODE, LABEL), True, id="one of several actions"),
        pytest.param((NODE, ADD | LABEL), (NODE, TAINT), False, id="another action"),
        pytest.param((NODE, DELETE), (NODE, ADD), False, id="another one of a smaller number"),
        pytest.param((NODE, TAINT), (NODE, ADD | DELETE), False, id="others of smaller numbers"),
        pytest.param((POD, CLAIMED), (ASSIGNED_POD, DELETE), False, id="the same of a pod"),
        pytest.param((NODE, ADD), (PERSISTENT_VOLUME_CLAIM, ADD), False, id="another object"),
        pytest.param((WILDCARD, ALL), (NODE, LABEL), True, id="everything"),
        pytest.param((WILDCARD, ALL), (WILDCARD, ALL), True, id="everything, of a wildcard"),
        pytest.param((WILDCARD, ADD), (NODE, ADD), True, id="one action of any object"),
        pytest.param((WILDCARD, ADD), (NODE, DELETE), False, id="not the other actions of these"),
        pytest.param((NODE, ALL), (WILDCARD, ALL), False, id="one object, of a wildcard"),
        pytest.param((POD, DELETE), (ASSIGNED_POD, DELETE), True, id="pods with a node"),
        pytest.param((POD, SCALED_DOWN), (UNSCHEDULABLE_POD, SCALED_DOWN), True, id="and without"),
        pytest.param((POD, ADD), (NODE, ADD), False, id="pods are no nodes"),
        pytest.param((ASSIGNED_POD, ADD), (POD, ADD), False, id="one kind of pod is not every pod"),
        pytest.param((UNSCHEDULABLE_POD, ADD), (ASSIGNED_POD, ADD), False, id="nor the other kind"),
        pytest.param((POD, UPDATE), (ASSIGNED_POD, UPDATE), True, id="any update for any update"),
        pytest.param(
            (POD, ADD | CLAIMED),
            (ASSIGNED_POD, UPDATE),
            False,
            id="any update, although the mask ends in the highest action",
        ),
        pytest.param((POD, SCALED_DOWN), (ASSIGNED_POD, UPDATE), False, id="a wider update"),
        pytest.param((NODE, LABEL), (NODE, LABEL | TAINT), False, id="more, up to a higher one"),
        pytest.param((NODE, TAINT), (NODE, LABEL | TAINT), False, id="more actions"),
        pytest.param((NODE, ADD | TAINT), (NODE, LABEL | TAINT), False, id="a greater number"),
        pytest.param((NODE, DELETE | TAINT), (NODE, ADD | TAINT), True, id="a smaller number"),
    ],
)
def test_which_events_reach_a_plugin(registered, incoming, matches):
    assert ClusterEvent(*registered).matches(ClusterEvent(*incoming)) is matches
    assert EventHint(*registered).event.matches(ClusterEvent(*incoming)) is matches
