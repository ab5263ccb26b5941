from typing import Any

import pytest

from podwright.apimachinery.objects import (
    NodeAffinity as Affinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)
from podwright.scheduler.config.schema import NodeAffinityArgs
from podwright.scheduler.framework import Code, PreFilterResult, Status
from podwright.scheduler.plugins.node_affinity import NodeAffinity
from podwright.scheduler.plugins.tests.one_node_at_a_time import (
    cycle_of,
    node,
    pod,
    reasons,
    scored,
)

NODES = (node("a", labels={"disk": "ssd", "gen": "5"}), node("b", labels={"disk": "hdd"}))
OWN = "node(s) didn't match Pod's node affinity/selector"
ENFORCED = "node(s) didn't match scheduler-enforced node affinity"


def named(*names):
    return {
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": [n]} for n in names]
    }


def requiring(*terms):
    required = {"nodeSelectorTerms": list(terms)}
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    return pod(affinity={"nodeAffinity": {key: required}})


def preferring(*terms):
    key = "preferredDuringSchedulingIgnoredDuringExecution"
    preferred = [{"weight": w, "preference": p} for w, p in terms]
    return pod(affinity={"nodeAffinity": {key: preferred}})


def labelled(key, operator, *values):
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("incoming", "rejected"),
    [
        pytest.param(pod(nodeSelector={"disk": "ssd"}), {"b"}, id="node selector"),
        pytest.param(pod(nodeSelector={"disk": "tape"}), {"a", "b"}, id="a value that no node has"),
        pytest.param(requiring(labelled("gen", "Gt", "4")), {"b"}, id="greater than"),
        pytest.param(requiring(labelled("gen", "Gt", "x")), {"a", "b"}, id="not a number"),
        pytest.param(requiring({}), {"a", "b"}, id="an empty term matches nothing"),
        pytest.param(requiring({}, labelled("disk", "Exists")), set(), id="one term is enough"),
    ],
)
def test_nodes_that_do_not_match_are_rejected(incoming, rejected):
    cycle = cycle_of(incoming, *NODES)
    plugin = NodeAffinity()
    assert plugin.pre_filter(cycle) == Status.OK
    assert reasons(plugin, cycle) == dict.fromkeys(rejected, (OWN,))


def test_a_pod_without_requirements_is_not_checked():
    assert NodeAffinity().pre_filter(cycle_of(pod(), *NODES)) == Status.SKIPPED


@pytest.mark.parametrize(
    ("incoming", "names"),
    [
        pytest.param(requiring(named("a")), {"a"}, id="one name"),
        pytest.param(requiring(named("a"), named("x")), {"a", "x"}, id="terms add up"),
    ],
)
def test_terms_that_all_name_nodes_restrict_the_search(incoming, names):
    assert NodeAffinity().pre_filter(cycle_of(incoming, *NODES)) == PreFilterResult(
        frozenset(names)
    )


def field(key, operator, *values):
    return {"matchFields": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    "term",
    [
        pytest.param(labelled("disk", "Exists"), id="a label"),
        pytest.param(field("metadata.name", "NotIn", "b"), id="all names but one"),
        pytest.param({}, id="an empty term"),
    ],
)
def test_a_term_without_a_name_lifts_the_restriction(term):
    incoming = requiring(named("a"), term)
    answer = NodeAffinity().pre_filter(cycle_of(incoming, *NODES))
    assert not isinstance(answer, PreFilterResult)
    assert answer.is_success


def test_names_that_exclude_one_another_reject_the_pod():
    answer = NodeAffinity().pre_filter(cycle_of(requiring(named("a", "b")), *NODES))
    assert not isinstance(answer, PreFilterResult)
    assert answer.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert answer.reasons == ("pod affinity terms conflict",)


def test_weights_of_matching_terms_add_up():
    plugin = NodeAffinity()
    incoming = preferring((3, labelled("disk", "In", "ssd")), (4, labelled("disk", "Exists")))
    cycle = cycle_of(incoming, *NODES)
    assert plugin.pre_score(cycle).is_success
    assert scored(plugin, cycle) == {"a": 7, "b": 4}


def test_no_preference_is_not_scored():
    assert NodeAffinity().pre_score(cycle_of(pod(nodeSelector={"disk": "ssd"}), *NODES)).is_skip


def test_a_preferred_term_that_cannot_be_read_is_an_error():
    answer = NodeAffinity().pre_score(cycle_of(preferring((1, labelled("gen", "Lt", "x"))), *NODES))
    assert answer.code == Code.ERROR
    assert answer.message == (
        '[0].matchExpressions[0].values[0]: Invalid value: "x": '
        "for 'Gt', 'Lt' operators, the value must be an integer"
    )


def test_the_configuration_adds_affinity_to_every_pod():
    term = NodeSelectorTerm(match_expressions=(NodeSelectorRequirement("disk", "In", ("ssd",)),))
    added = Affinity(
        required_during_scheduling_ignored_during_execution=NodeSelector((term,)),
        preferred_during_scheduling_ignored_during_execution=(PreferredSchedulingTerm(9, term),),
    )
    plugin = NodeAffinity(NodeAffinityArgs(added_affinity=added))
    cycle = cycle_of(pod(nodeSelector={"disk": "hdd"}), *NODES)
    assert plugin.pre_filter(cycle) == Status.OK
    assert reasons(plugin, cycle) == {"a": (OWN,), "b": (ENFORCED,)}
    assert plugin.pre_score(cycle).is_success
    assert scored(plugin, cycle) == {"a": 9, "b": 0}


SSD = NodeSelector(
    (NodeSelectorTerm(match_expressions=(NodeSelectorRequirement("disk", "In", ("ssd",)),)),)
)


@pytest.mark.parametrize(
    ("incoming", "of_profile", "is_checked", "rejected"),
    [
        pytest.param(pod(), None, False, set(), id="nothing"),
        pytest.param(pod(nodeSelector={"disk": "hdd"}), None, True, {"a"}, id="a selector"),
        pytest.param(pod(), SSD, True, {"b"}, id="the profile's"),
        pytest.param(pod(nodeSelector={"disk": "hdd"}), SSD, True, {"a", "b"}, id="both of these"),
        pytest.param(requiring(labelled("gen", "Exists")), None, True, {"b"}, id="affinity"),
        pytest.param(
            requiring(labelled("gen", "DoesNotExist")),
            SSD,
            True,
            {"a", "b"},
            id="and the profile's",
        ),
        pytest.param(preferring((1, labelled("gen", "Exists"))), None, False, set(), id="a wish"),
    ],
)
def test_a_pod_is_checked_for_its_own_requirements_and_those_of_the_profile(
    incoming, of_profile, is_checked, rejected
):
    added = Affinity(required_during_scheduling_ignored_during_execution=of_profile)
    plugin = NodeAffinity(NodeAffinityArgs(added_affinity=added))
    cycle = cycle_of(incoming, *NODES)
    assert plugin.pre_filter(cycle) == (Status.OK if is_checked else Status.SKIPPED)
    assert reasons(plugin, cycle).keys() == rejected


@pytest.mark.parametrize("affinity", [{}, {"affinity": {"nodeAffinity": {}}}])
def test_the_order_of_the_labels_in_a_selector_does_not_matter(affinity):
    labels = {"disk": "ssd", "gen": "5"}
    keys = [
        NodeAffinity().pod_key(pod(nodeSelector=dict(pairs), **affinity))
        for pairs in (labels.items(), reversed(labels.items()))
    ]
    assert keys[0] == keys[1] != NodeAffinity().pod_key(pod(nodeSelector={"disk": "ssd"}))


def test_pods_are_alike_only_with_the_same_selector_and_affinity():
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    affine = {"nodeAffinity": {key: {"nodeSelectorTerms": [named("a")]}}}
    specs: list[dict[str, Any]] = [
        {},
        {"nodeSelector": {"disk": "ssd"}},
        {"nodeSelector": {"disk": "hdd"}},
        {"affinity": affine},
        {"affinity": affine, "nodeSelector": {"disk": "ssd"}},
        {"affinity": affine, "nodeSelector": {"disk": "hdd"}},
    ]
    plugin = NodeAffinity()
    keys = [plugin.pod_key(pod(**spec)) for spec in specs]
    assert len(set(keys)) == len(keys)
    assert keys == [plugin.pod_key(pod(**spec)) for spec in specs]
