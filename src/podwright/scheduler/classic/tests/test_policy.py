"""Policies: decoding, validation and error messages."""

from __future__ import annotations

import msgspec
import pytest

from podwright.scheduler.classic import (
    Algorithm,
    PolicyError,
    algorithm_from_policy,
    algorithm_of_provider,
    ignored_fields,
    policy as policy_module,
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


def test_required_affinity_of_others_has_the_weight_1():
    bare = Algorithm(predicates=(), priorities=())
    assert bare.hard_pod_affinity_weight == algorithm_of_provider().hard_pod_affinity_weight == 1
    assert (bare.extenders, bare.always_check_all) == ((), False)


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


def test_null_is_no_value_in_entries():
    """As Go decodes it."""
    entry = {"urlPrefix": "http://x", "filterVerb": None, "weight": None, "managedResources": None}
    (extender,) = read_policy(policy(extenders=[entry | {"bindVerb": "bind"}])).extenders or ()
    assert (extender.filter_verb, extender.weight, extender.managed_resources) == ("", 0, ())


def test_the_providers_differ_in_least_and_most_requested_only():
    default = {w.priority.name: w.weight for w in algorithm_of_provider().priorities}
    packing = {
        w.priority.name: w.weight
        for w in algorithm_of_provider("ClusterAutoscalerProvider").priorities
    }
    assert default == {
        "NodePreferAvoidPodsPriority": 10_000,
        "SelectorSpreadPriority": 1,
        "InterPodAffinityPriority": 1,
        "LeastRequestedPriority": 1,
        "BalancedResourceAllocation": 1,
        "NodeAffinityPriority": 1,
        "TaintTolerationPriority": 1,
        "ImageLocalityPriority": 1,
    }
    assert default.items() - packing.items() == {("LeastRequestedPriority", 1)}
    assert packing.items() - default.items() == {("MostRequestedPriority", 1)}
    with pytest.raises(KeyError):
        algorithm_of_provider("NoProvider")


def test_the_predicates_of_the_providers_run_in_the_fixed_order():
    # Upstream: pkg/scheduler/algorithmprovider/defaults/defaults.go, defaultPredicates
    for provider in ("DefaultProvider", "ClusterAutoscalerProvider"):
        assert [p.name for p in algorithm_of_provider(provider).predicates] == [
            "CheckNodeUnschedulable",
            "GeneralPredicates",
            "NoDiskConflict",
            "PodToleratesNodeTaints",
            "MaxEBSVolumeCount",
            "MaxGCEPDVolumeCount",
            "MaxCSIVolumeCountPred",
            "MaxAzureDiskVolumeCount",
            "CheckVolumeBinding",
            "NoVolumeZoneConflict",
            "MatchInterPodAffinity",
        ]


def test_an_entry_of_a_policy_is_the_priority_of_its_name():
    entries = [{"name": "LeastRequestedPriority", "weight": 3}]
    (found,) = algorithm_from_policy(read_policy(policy(priorities=entries))).priorities
    default = {each.priority.name: each.priority for each in algorithm_of_provider().priorities}
    assert (found.priority, found.weight) == (default["LeastRequestedPriority"], 3)


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
            "must be an integer",
            id="malformed",
        ),
        pytest.param(policy(kind="Pod"), "kind", 'must be "Policy", not "Pod"', id="kind"),
        pytest.param(
            policy(apiVersion="v2"), "apiVersion", 'must be "v1", not "v2"', id="apiVersion"
        ),
        pytest.param([], "", "a policy is an object", id="not an object"),
        pytest.param(policy(predicates={}), "predicates", "must be a list", id="not a list"),
        pytest.param(
            policy(alwaysCheckAllPredicates=1), "alwaysCheckAllPredicates",
            "must be true or false", id="not a boolean",
        ),
        pytest.param(
            policy(hardPodAffinitySymmetricWeight="1"), "hardPodAffinitySymmetricWeight",
            "must be an integer", id="not an integer",
        ),
        pytest.param(
            policy(priorities=[{"name": "EqualPriority", "weight": (2**63 - 1) // 10}]),
            "priorities[0].weight",
            "Priority EqualPriority should have a positive weight applied to it or it has "
            "overflown",
            id="the least weight that is too large",
        ),
        pytest.param(
            policy(priorities=[{"name": "Mine", "weight": 1, "argument": {
                "labelPreference": {}, "serviceAntiAffinity": {}}}]),
            "priorities[0].argument",
            "Exactly 1 priority argument is required, numArgs: 2, Priority: Mine",
            id="two arguments of a priority",
        ),
        pytest.param(
            policy(predicates=[{"name": "Mine", "argument": {
                "labelsPresence": {}, "serviceAffinity": {}}}]),
            "predicates[0].argument",
            "Exactly 1 predicate argument is required, numArgs: 2, Predicate: Mine",
            id="two arguments of a predicate",
        ),
        pytest.param(
            policy(predicates=[{"name": "My_Labels", "argument": {"labelsPresence": {}}}]),
            "predicates[0].name",
            "Algorithm name My_Labels does not match the name validation regexp "
            '"^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])$".',
            id="a name that is not valid",
        ),
        pytest.param(
            policy(predicates=[{"name": "X"}]), "predicates[0].name",
            "Invalid configuration: Predicate type not found for X", id="like no other name",
        ),
        pytest.param(
            policy(priorities=ratio(point(-1, 0))),
            "priorities[0].argument.requestedToCapacityRatioArguments.shape[0].utilization",
            "invalid RequestedToCapacityRatioPriority arguments: utilization values must not be "
            "less than 0. Utilization[0]==-1",
            id="a negative utilization",
        ),
        pytest.param(
            policy(priorities=ratio(point(0, 0), point(101, 0))),
            "priorities[0].argument.requestedToCapacityRatioArguments.shape[1].utilization",
            "invalid RequestedToCapacityRatioPriority arguments: utilization values must not be "
            "greater than 100. Utilization[1]==101",
            id="a utilization of more than all",
        ),
        pytest.param(
            policy(priorities=ratio(point(0, -1))),
            "priorities[0].argument.requestedToCapacityRatioArguments.shape[0].score",
            "invalid RequestedToCapacityRatioPriority arguments: score values must not be "
            "less than 0. Score[0]==-1",
            id="a negative score",
        ),
        pytest.param(
            policy(extenders=[{}, {"managedResources": [{"name": "a b"}]}]),
            "extenders[1].managedResources[0].name",
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start "
            "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
            "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            id="a resource that is not a name",
        ),
    ],
)  # fmt: skip
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


def test_the_bounds_of_a_policy_are_valid():
    arguments = {"requestedToCapacityRatioArguments": {"shape": [point(0, 10), point(100, 0)]}}
    found = read_policy(
        policy(
            priorities=[
                {"name": "EqualPriority", "weight": (2**63 - 1) // 10 - 1},
            ],
            predicates=[{"name": "A1", "argument": {"labelsPresence": {"labels": ["a"]}}}],
            extenders=[{"prioritizeVerb": "p", "weight": 1}, {"bindVerb": "b", "weight": 0}],
            hardPodAffinitySymmetricWeight=100,
            alwaysCheckAllPredicates=True,
            somethingElse={"a": 1},
        )
    )
    assert (found.hard_pod_affinity_symmetric_weight, found.always_check_all_predicates) == (
        100, True,
    )  # fmt: skip
    assert len(found.priorities or ()) == len(found.predicates or ()) == 1
    algorithm = algorithm_from_policy(found, hard_pod_affinity_weight=7)
    assert (algorithm.hard_pod_affinity_weight, algorithm.always_check_all) == (100, True)
    ratio_only = read_policy(
        policy(priorities=[{"name": "Ratio", "weight": 1, "argument": arguments}], predicates=None)
    )
    assert ratio_only.predicates is None
    algorithm = algorithm_from_policy(ratio_only, hard_pod_affinity_weight=7)
    assert (algorithm.hard_pod_affinity_weight, algorithm.always_check_all) == (7, False)
    assert [entry.priority.name for entry in algorithm.priorities] == ["Ratio"]


@pytest.mark.parametrize(("weight", "is_valid"), [(0, False), (1, True), (100, True), (101, False)])
def test_the_weight_of_the_scheduler_holds_without_one_of_the_policy(weight, is_valid):
    if is_valid:
        assert read_policy(policy(), hard_pod_affinity_weight=weight) == read_policy(policy())
        return
    with pytest.raises(PolicyError) as refusal:
        read_policy(policy(), hard_pod_affinity_weight=weight)
    assert [error.path for error in refusal.value.errors] == ["hardPodAffinitySymmetricWeight"]
    read_policy(policy(hardPodAffinitySymmetricWeight=1), hard_pod_affinity_weight=weight)


def test_arguments_make_predicates_and_priorities_of_their_names():
    arguments = {
        "A": {"serviceAntiAffinity": {"label": "zone"}},
        "B": {"labelPreference": {"label": "disk", "presence": True}},
        "C": {"requestedToCapacityRatioArguments": {
            "shape": [point(0, 1)], "resources": [{"name": "cpu"}, {"name": "x", "weight": 3}]}},
    }  # fmt: skip
    priorities = [
        {"name": f"{name}1", "weight": 2, "argument": argument}
        for name, argument in arguments.items()
    ]
    found = read_policy(policy(priorities=priorities))
    algorithm = algorithm_from_policy(found)
    assert [(each.priority.name, each.weight) for each in algorithm.priorities] == [
        ("A1", 2), ("B1", 2), ("C1", 2),
    ]  # fmt: skip
    custom = (found.priorities or ())[2].argument
    assert custom is not None
    ratio_arguments = custom.requested_to_capacity_ratio_arguments
    assert ratio_arguments is not None
    assert ratio_arguments.arguments().resources == (("cpu", 1), ("x", 3))
    bare = type(ratio_arguments)()
    assert bare.arguments().resources == (("cpu", 1), ("memory", 1))


def test_fields_that_upstream_ignores_are_reported():
    ratio = {"requestedToCapacityRatioArguments": {"resources": [{"names": "cpu"}]}}
    document = policy(
        hardPodAffinitySymmetricWeight=3,
        priorites=[],
        priorities=[{"name": "A1", "weight": 2, "argument": ratio}],
    )
    ignored = " (ignored, as by kube-scheduler v1.16)"
    assert ignored_fields(document, source="p") == (
        'p: priorites: unknown field "priorites"; did you mean "priorities"?' + ignored,
        "p: priorities[0].argument.requestedToCapacityRatioArguments.resources[0].names: unknown"
        ' field "names"; did you mean "name"?' + ignored,
    )


@pytest.mark.parametrize(
    "part",
    [
        part
        for part in vars(policy_module).values()
        if isinstance(part, type)
        and issubclass(part, msgspec.Struct)
        and part.__module__ == policy_module.__name__
    ],
    ids=lambda part: part.__name__,
)
def test_the_parts_of_a_policy_are_values_made_by_field_names(part: type[msgspec.Struct]) -> None:
    assert part.__struct_config__.frozen
    assert part.__match_args__ == ()
