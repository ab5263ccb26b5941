"""A past cycle with changes, and changes that cannot be made."""

import pytest

from podwright.apimachinery.objects import Taint
from podwright.scheduler.config import KubeSchedulerConfiguration, read_configuration
from podwright.simulation.recording.explanations.explain import UnknownCycle
from podwright.simulation.recording.explanations.what_if import (
    ImpossibleChange,
    _check_names,
    what_if,
)
from podwright.simulation.recording.tests.recording import KIND, Recorded
from podwright.testing import make_node, make_pod

MOST_ALLOCATED = {
    "name": "NodeResourcesFit",
    "args": {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu"}]}},
}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param("ImageLocalty", "; did you mean ImageLocality?", id="misspelt"),
        pytest.param("X", ": ImageLocality, TaintToleration", id="another name"),
    ],
)
def test_a_weight_of_an_unknown_plugin_is_an_error(name, hint):
    known = ["TaintToleration", "ImageLocality"]
    with pytest.raises(ImpossibleChange) as raised:
        _check_names(known, {name: 2})
    assert str(raised.value) == f'no score plugin "{name}"{hint}'
    _check_names(known, {"ImageLocality": 2})


@pytest.fixture
def log():
    """A run in which pod `web` gets node `small`, the one with most requested afterwards."""
    recorded = Recorded(profiles=[{"pluginConfig": [MOST_ALLOCATED]}])
    recorded.attempt(
        make_node("small", cpu="4"), make_node("large", cpu="8"), make_pod("web", cpu="1")
    )
    return recorded.run.log


def chosen(log, **changes):
    """Return the node with changes; without them it is `small`."""
    found = what_if(log, "default/web", **changes)
    assert found.before.decision.node == "small"
    return found.after.decision.node


def test_another_configuration_decides_by_its_own_arguments(log):
    assert chosen(log) == "small"
    assert chosen(log, configuration=KubeSchedulerConfiguration()) == "large"


def test_a_configuration_without_the_scheduler_of_the_pod_is_refused(log):
    other = read_configuration(KIND | {"profiles": [{"schedulerName": "other"}]}, source="c")
    with pytest.raises(ImpossibleChange, match=r'schedulerName "default-scheduler".* are other$'):
        chosen(log, configuration=other)


def test_the_classic_rules_are_refused_for_a_run_of_the_modern_ones(log):
    classic = read_configuration(KIND | {"rules": "classic"}, source="c")
    with pytest.raises(ImpossibleChange, match=r"lacks state that the v1\.16 rules read"):
        chosen(log, configuration=classic)


def test_a_configuration_with_an_extender_that_was_not_called_is_refused(log):
    extender = {"urlPrefix": "http://127.0.0.1:9", "filterVerb": "filter"}
    other = read_configuration(KIND | {"extenders": [extender]}, source="c")
    with pytest.raises(UnknownCycle, match=r"the recorded cycle did not make this call$"):
        chosen(log, configuration=other)


def test_weights_change_a_choice_and_leave_the_recorded_one(log):
    assert chosen(log, weights={"NodeResourcesFit": 0}) == "large"


def test_a_taint_is_removed_by_key_and_effect_and_others_stay():
    recorded = Recorded()
    taints = ["team=a:NoSchedule", "team=a:NoExecute"]
    both = make_node("both", cpu="8", taints=taints)
    recorded.attempt(make_node("n", cpu="2"), both, make_pod("web", cpu="1"))
    recorded.attempt(make_node("one", cpu="64", taints=taints[:1]), make_pod("db", cpu="1"))
    taint = Taint(key="team", effect="NoSchedule")
    for pod, node, expected in (("web", "both", "n"), ("db", "one", "one")):
        found = what_if(recorded.run.log, f"default/{pod}", taint=(node, taint, "remove"))
        assert found.before.decision.node == "n"
        assert found.after.decision.node == expected


def test_a_taint_repels_a_pod_and_the_same_taint_is_removed_by_key_and_effect(log):
    taint = Taint(key="team", value="a", effect="NoSchedule")
    assert chosen(log, taint=("small", taint, "add")) == "large"
    with pytest.raises(ImpossibleChange, match="node small has no taint team:NoSchedule"):
        chosen(log, taint=("small", taint, "remove"))
    with pytest.raises(ImpossibleChange, match=r'no node "smal".*; did you mean small'):
        chosen(log, taint=("smal", taint, "add"))


def test_a_new_node_may_be_chosen_and_one_of_a_name_that_is_taken_is_refused(log):
    assert chosen(log, add_nodes=[make_node("tiny", cpu="1100m")]) == "tiny"
    with pytest.raises(ImpossibleChange, match="node large exists already"):
        chosen(log, add_nodes=[make_node("large", cpu="1")])


def test_a_search_begins_where_it_began():
    """The first search ends after 100 of 120 nodes; the second one leaves out n080 to n099."""
    recorded = Recorded(percentageOfNodesToScore=1)
    nodes = [make_node(f"n{number:03}", cpu="4") for number in range(120)]
    nodes[10], nodes[90] = make_node("n010", cpu="32"), make_node("n090", cpu="640")
    recorded.attempt(*nodes, make_pod("first", cpu="1"))
    recorded.attempt(make_pod("second", cpu="1"))
    same = read_configuration(KIND | {"percentageOfNodesToScore": 1}, source="c")
    for pod, node in (("first", "n090"), ("second", "n010")):
        found = what_if(recorded.run.log, f"default/{pod}", configuration=same)
        assert (found.before.decision.node, found.after.decision.node) == (node, node)
