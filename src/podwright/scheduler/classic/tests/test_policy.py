"""Policies: decoding, validation and error messages."""

from __future__ import annotations

import pytest

from podwright.scheduler.classic import (
    PolicyError,
    algorithm_from_policy,
    algorithm_of_provider,
    read_policy,
)
from podwright.scheduler.classic.extender import called_extender


def policy(**fields):
    return {"kind": "Policy", "apiVersion": "v1", **fields}


def test_an_empty_policy_is_the_default_provider():
    algorithm = algorithm_from_policy(read_policy(policy()))
    default = algorithm_of_provider()
    assert [p.name for p in algorithm.predicates] == [p.name for p in default.predicates]
    assert algorithm.priorities == default.priorities


def test_empty_lists_leave_the_mandatory_predicates():
    algorithm = algorithm_from_policy(read_policy(policy(predicates=[], priorities=[])))
    assert [p.name for p in algorithm.predicates] == [
        "CheckNodeUnschedulable",
        "PodToleratesNodeTaints",
    ]
    assert algorithm.priorities == ()


def test_predicates_run_in_the_fixed_order_and_unknown_names_never():
    argument = {"labelsPresence": {"labels": ["rack"], "presence": True}}
    algorithm = algorithm_from_policy(
        read_policy(
            policy(
                predicates=[
                    {"name": "MatchInterPodAffinity"},
                    {"name": "CheckNodeLabelPresence", "argument": argument},
                    {"name": "MyLabels", "argument": argument},
                    {"name": "PodFitsPorts"},
                    {"name": "HostName"},
                ]
            )
        )
    )
    assert [p.name for p in algorithm.predicates] == [
        "CheckNodeUnschedulable",
        "HostName",
        "PodToleratesNodeTaints",
        "CheckNodeLabelPresence",
        "MatchInterPodAffinity",
    ]


def test_the_providers_differ_in_least_and_most_requested_only():
    default = {w.priority.name: w.weight for w in algorithm_of_provider().priorities}
    packing = {
        w.priority.name: w.weight
        for w in algorithm_of_provider("ClusterAutoscalerProvider").priorities
    }
    assert default.items() - packing.items() == {("LeastRequestedPriority", 1)}
    assert packing.items() - default.items() == {("MostRequestedPriority", 1)}
    with pytest.raises(KeyError):
        algorithm_of_provider("NoProvider")


def test_of_two_entries_of_one_name_the_later_holds():
    entries = [{"name": "EqualPriority", "weight": 2}, {"name": "EqualPriority", "weight": 3}]
    algorithm = algorithm_from_policy(read_policy(policy(priorities=entries)))
    assert [entry.weight for entry in algorithm.priorities] == [3]


def test_ignorable_extenders_come_last_and_resources_can_be_left_to_one():
    managed = [{"name": "example.com/gpu", "ignoredByScheduler": True}]
    extenders = [
        {"urlPrefix": "http://a", "ignorable": True},
        {"urlPrefix": "http://b", "managedResources": managed},
    ]
    algorithm = algorithm_from_policy(read_policy(policy(extenders=extenders)))
    assert [settings.url_prefix for _, settings in algorithm.extenders] == ["http://b", "http://a"]
    assert algorithm.ignored_resources == {"example.com/gpu"}


def point(utilization, score):
    return {"utilization": utilization, "score": score}


def ratio(*shape):
    arguments = {"requestedToCapacityRatioArguments": {"shape": list(shape)}}
    return [{"name": "Ratio", "weight": 1, "argument": arguments}]


@pytest.mark.parametrize(
    ("document", "path", "text"),
    [
        pytest.param(
            policy(priorities=[{"name": "EqualPriority", "weight": 0}]),
            "priorities[0].weight",
            "Priority EqualPriority should have a positive weight applied to it or it has "
            "overflown",
            id="weight of zero",
        ),
        pytest.param(
            policy(extenders=[{"urlPrefix": "http://x", "prioritizeVerb": "p"}]),
            "extenders[0].weight",
            "Priority for extender http://x should have a positive weight applied to it",
            id="extender without weight",
        ),
        pytest.param(
            policy(extenders=[{"bindVerb": "b"}, {"bindVerb": "b"}]),
            "extenders",
            "Only one extender can implement bind, found 2",
            id="two binders",
        ),
        pytest.param(
            policy(extenders=[{"managedResources": [{"name": "a/b"}, {"name": "a/b"}]}]),
            "extenders[0].managedResources[1].name",
            "Duplicate extender managed resource name a/b",
            id="resource twice",
        ),
        pytest.param(
            policy(extenders=[{"managedResources": [{"name": "cpu"}]}]),
            "extenders[0].managedResources[0].name",
            "cpu is an invalid extended resource name",
            id="resource that is not extended",
        ),
        pytest.param(
            policy(predicates=[{"name": "CheckNodeCondition"}]),
            "predicates[0].name",
            "Invalid configuration: Predicate type not found for CheckNodeCondition; "
            "conditions of nodes are taints, which PodToleratesNodeTaints checks",
            id="conditions are taints",
        ),
        pytest.param(
            policy(priorities=[{"name": "EqualPriorities", "weight": 1}]),
            "priorities[0].name",
            "Invalid configuration: Priority type not found for EqualPriorities; "
            'did you mean "EqualPriority"?',
            id="misspelt",
        ),
        pytest.param(
            policy(priorities=[{"name": "Mine", "weight": 1, "argument": {}}]),
            "priorities[0].argument",
            "Exactly 1 priority argument is required, numArgs: 0, Priority: Mine",
            id="no argument set",
        ),
        pytest.param(
            policy(priorities=ratio()),
            "priorities[0].argument.requestedToCapacityRatioArguments.shape",
            "invalid RequestedToCapacityRatioPriority arguments: at least one point must be "
            "specified",
            id="no points",
        ),
        pytest.param(
            policy(priorities=ratio(point(50, 1), point(50, 2))),
            "priorities[0].argument.requestedToCapacityRatioArguments.shape[1].utilization",
            "invalid RequestedToCapacityRatioPriority arguments: utilization values must be "
            "sorted. Utilization[0]==50 >= Utilization[1]==50",
            id="points out of order",
        ),
        pytest.param(
            policy(priorities=ratio(point(0, 11))),
            "priorities[0].argument.requestedToCapacityRatioArguments.shape[0].score",
            "invalid RequestedToCapacityRatioPriority arguments: score values must not be "
            "greater than 10. Score[0]==11",
            id="score out of range",
        ),
        pytest.param(
            policy(hardPodAffinitySymmetricWeight=101),
            "hardPodAffinitySymmetricWeight",
            "invalid hardPodAffinitySymmetricWeight: 101, must be in the range 1-100",
            id="affinity weight",
        ),
        pytest.param(
            policy(
                priorities=[
                    {"name": name, "weight": 2**63 // 10 - 1}
                    for name in ("EqualPriority", "LeastRequestedPriority")
                ]
            ),
            "priorities",
            "total priority of priority functions has overflown",
            id="sum too large",
        ),
        pytest.param(
            policy(priorities=[{"name": "EqualPriority", "weight": "1"}]),
            "priorities[0].weight",
            "Expected `int`, got `str`",
            id="malformed",
        ),
        pytest.param(policy(kind="Pod"), "kind", '"Policy" is expected, not "Pod"', id="kind"),
    ],
)
def test_refusals(document, path, text):
    with pytest.raises(PolicyError) as refusal:
        read_policy(document, source="policy.json")
    assert [(error.path, error.message) for error in refusal.value.errors] == [(path, text)]
    assert text.startswith(refusal.value.upstream)
    assert ";" not in refusal.value.upstream, "additions are not part of upstream's message"
    assert str(refusal.value).startswith("policy.json: ")


def test_all_errors_are_reported_and_upstream_reports_the_first_stage():
    document = policy(
        priorities=[{"name": "X", "weight": 0}, {"name": "Y", "weight": 0}],
        hardPodAffinitySymmetricWeight=-1,
    )
    with pytest.raises(PolicyError) as refusal:
        read_policy(document)
    paths = [error.path for error in refusal.value.errors]
    assert paths == [
        "priorities[0].weight",
        "priorities[1].weight",
        "priorities[0].name",
        "priorities[1].name",
        "hardPodAffinitySymmetricWeight",
    ]
    overflown = "should have a positive weight applied to it or it has overflown"
    assert refusal.value.upstream == f"[Priority X {overflown}, Priority Y {overflown}]"


def test_the_tls_settings_of_an_extender_reach_the_client():
    settings = {"insecure": True, "serverName": "extender.test", "caData": "cGVt"}
    extender = {"urlPrefix": "https://e", "filterVerb": "f", "tlsConfig": settings}
    algorithm = algorithm_from_policy(read_policy(policy(extenders=[extender])))
    ((index, of_policy),) = algorithm.extenders
    tls = called_extender(index, of_policy).settings.tls_config
    assert tls is not None
    assert (tls.insecure, tls.server_name, tls.ca_data) == (True, "extender.test", b"pem")
