"""Plugins are expanded to extension points in upstream's order."""

import pytest

from podwright.apimachinery.objects.errors import FieldError, InputError
from podwright.scheduler.config import (
    IN_TREE_POINTS,
    POINT_TYPES,
    Plugin,
    Plugins,
    PluginSet,
    effective,
    expand_plugins,
    in_tree_points,
    parse_gates,
    read_configuration,
)

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
DEFAULT_FILTERS = [
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "NodeDeclaredFeatures",
]
STATELESS = ("NodeUnschedulable", "NodeName", "TaintToleration")
"""They filter without a PreFilter."""

DEFAULT_SCORES = [
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodeResourcesFit", 1),
    ("VolumeBinding", 1),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
]


def expand(plugins, implements=in_tree_points, gates=""):
    text = HEAD + "profiles:\n- plugins: " + plugins
    configuration = read_configuration(text, source="c.yaml")
    gates = parse_gates(gates)
    return (
        effective(configuration, gates, implements=implements, source="c.yaml").profiles[0].plugins
    )


def with_mine(name):
    mine = {"Mine": frozenset({"filter", "score"}), "MySort": frozenset({"queueSort"})}
    return mine.get(name, in_tree_points(name))


@pytest.mark.parametrize(
    ("point", "names"),
    [
        ("preEnqueue", ["SchedulingGates", "DynamicResources", "DefaultPreemption"]),
        ("queueSort", ["PrioritySort"]),
        ("preFilter", [name for name in DEFAULT_FILTERS if name not in STATELESS]),
        ("filter", DEFAULT_FILTERS),
        (
            "preScore",
            [
                "TaintToleration",
                "NodeAffinity",
                "NodeResourcesFit",
                "VolumeBinding",
                "PodTopologySpread",
                "InterPodAffinity",
                "NodeResourcesBalancedAllocation",
            ],
        ),
        ("postFilter", ["DynamicResources", "DefaultPreemption"]),
        ("reserve", ["VolumeBinding", "DynamicResources"]),
        ("permit", []),
        ("preBind", ["VolumeBinding", "DynamicResources"]),
        ("bind", ["DefaultBinder"]),
        ("postBind", []),
        ("placementGenerate", []),
    ],
)
def test_the_default_profile(point, names):
    assert expand("{}")[point] == tuple((name, 0) for name in names)


def test_the_default_scores_have_weights():
    assert list(expand("{}")["score"]) == DEFAULT_SCORES


def test_every_point_of_the_table_exists():
    assert {point for points in IN_TREE_POINTS.values() for point in points} <= set(POINT_TYPES)


def test_coscheduling_has_its_points_where_it_is_enabled():
    plugins = "{multiPoint: {enabled: [{name: Coscheduling}], disabled: [{name: PrioritySort}]}}"
    found = expand(plugins)
    points = {point for point, there in found.items() if ("Coscheduling", 0) in there}
    assert points == {"queueSort", "preFilter", "postFilter", "reserve", "permit"}
    assert found["queueSort"] == (("Coscheduling", 0),)


def test_gangs_and_placements_have_points_with_their_gates():
    gates = "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true"
    plugins = expand("{}", gates=gates)
    assert plugins["permit"] == (("GangScheduling", 0),)
    assert plugins["preEnqueue"][-1] == ("GangScheduling", 0)
    assert plugins["placementGenerate"] == (("TopologyPlacementGenerator", 0),)
    assert plugins["placementScore"] == (("NodeResourcesFit", 1), ("PodGroupPodsCount", 1))


@pytest.mark.parametrize(
    ("plugins", "scores"),
    [
        pytest.param("{score: {disabled: [{name: '*'}]}}", [], id="a closed point is empty"),
        pytest.param("{score: {disabled: [{name: '*'}], enabled: [{name: NodeAffinity}]}}",
                     [("NodeAffinity", 1)],
                     id="the point's own entry decides, and a weight left out there is 1"),
        pytest.param("{score: {enabled: [{name: NodeAffinity, weight: 5}]}}",
                     [("NodeAffinity", 5)] + [s for s in DEFAULT_SCORES if s[0] != "NodeAffinity"],
                     id="an override comes first"),
        pytest.param("{score: {enabled: [{name: Mine, weight: 4}, {name: ImageLocality}]}}",
                     [("ImageLocality", 1), *DEFAULT_SCORES[:-1], ("Mine", 4)],
                     id="overrides, multiPoint, then the others"),
        pytest.param("{score: {disabled: [{name: NodeAffinity}], enabled: [{name: NodeAffinity}]}}",
                     [s for s in DEFAULT_SCORES if s[0] != "NodeAffinity"] + [("NodeAffinity", 1)],
                     id="disabled and enabled again at the point goes to the end"),
        pytest.param("{multiPoint: {enabled: [{name: Mine}, {name: NodeAffinity, weight: 9}]}}",
                     [("TaintToleration", 3), ("NodeAffinity", 9), *DEFAULT_SCORES[2:],
                      ("Mine", 1)],
                     id="multiPoint replaces in place and appends"),
        pytest.param("{multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, "
                     "{name: DefaultBinder}, {name: ImageLocality, weight: 2}]}}",
                     [("ImageLocality", 2)],
                     id="only what the user enables"),
    ],
)  # fmt: skip
def test_the_order_of_scores(plugins, scores):
    assert list(expand(plugins, implements=with_mine)["score"]) == scores


@pytest.mark.parametrize(
    ("plugins", "messages"),
    [
        pytest.param("{filter: {enabled: [{name: Nope}]}}",
                     ['.plugins.filter: FilterPlugin "Nope" does not exist'],
                     id="unknown at a point"),
        pytest.param("{multiPoint: {enabled: [{name: Nope}]}}",
                     ['.plugins.multiPoint: PreFilterPlugin "Nope" does not exist'],
                     id="unknown at all points"),
        pytest.param("{score: {enabled: [{name: ImageLokality}]}}",
                     ['.plugins.score: ScorePlugin "ImageLokality" does not exist; '
                      'did you mean "ImageLocality"?'],
                     id="nearly one that is in-tree"),
        pytest.param("{score: {enabled: [{name: SelectorSpread}]}}",
                     ['.plugins.score: ScorePlugin "SelectorSpread" does not exist; '
                      'did you mean "PodTopologySpread"?'],
                     id="one of an older version"),
        pytest.param("{multiPoint: {enabled: [{name: Mine}, {name: Min}]}}",
                     ['.plugins.multiPoint: PreFilterPlugin "Min" does not exist; '
                      'did you mean "Mine"?'],
                     id="nearly one of the user's own"),
        pytest.param("{filter: {enabled: [{name: ImageLocality}]}}",
                     ['.plugins.filter: plugin "ImageLocality" does not extend '
                      "FilterPlugin plugin"],
                     id="a point that the plugin does not implement"),
        pytest.param("{filter: {enabled: [{name: NodeName}, {name: NodeName}]}}",
                     ['.plugins.filter: plugin "NodeName" already registered as "FilterPlugin"'],
                     id="twice at a point"),
        pytest.param("{multiPoint: {enabled: [{name: NodeName}, {name: NodeName}]}}",
                     ['.plugins.multiPoint: plugin "NodeName" already registered as '
                      '"FilterPlugin"'],
                     id="twice in multiPoint"),
        pytest.param("{queueSort: {disabled: [{name: '*'}]}, bind: {disabled: [{name: '*'}]}}",
                     [': only one queue sort plugin required for profile with scheduler name '
                      '"default-scheduler", but got 0',
                      ': at least one bind plugin is needed for profile with scheduler name '
                      '"default-scheduler"'],
                     id="no queue sort and no bind, both said"),
        pytest.param("{queueSort: {enabled: [{name: MySort}]}}",
                     [': only one queue sort plugin required for profile with scheduler name '
                      '"default-scheduler", but got 2'],
                     id="a second queue sort"),
    ],
)  # fmt: skip
def test_profiles_that_cannot_be_built(plugins, messages):
    with pytest.raises(InputError) as caught:
        expand(plugins, implements=with_mine)
    prefix = "initializing profiles: creating profile for scheduler name default-scheduler: "
    assert [error.message.removeprefix(prefix) for error in caught.value.errors] == [
        message.partition(": ")[2] for message in messages
    ]
    assert all(error.message.startswith(prefix) for error in caught.value.errors)
    assert [f"profiles[0]{message.partition(': ')[0]}" for message in messages] == [
        error.path for error in caught.value.errors
    ]


def test_an_unknown_plugin_of_all_points_is_named_with_the_first_point_that_takes_it():
    kinds = {}
    for closed in ("preEnqueue", "preFilter", "filter"):
        own = f"{closed}: {{disabled: [{{name: '*'}}]}}"
        with pytest.raises(InputError) as caught:
            expand(f"{{multiPoint: {{enabled: [{{name: Nope}}]}}, {own}}}")
        kinds[closed] = caught.value.errors[0].message.rpartition(": ")[2]
    assert kinds == {
        "preEnqueue": 'PreFilterPlugin "Nope" does not exist',
        "preFilter": 'FilterPlugin "Nope" does not exist',
        "filter": 'PreFilterPlugin "Nope" does not exist',
    }


def test_scores_may_not_overflow():
    weight = 2**62
    plugins = Plugins(
        multi_point=PluginSet(
            enabled=(
                Plugin(name="PrioritySort"),
                Plugin(name="DefaultBinder"),
                Plugin(name="ImageLocality", weight=weight),
            )
        )
    )
    errors: list[FieldError] = []
    expand_plugins(plugins, in_tree_points, scheduler_name="s", path="p", errors=errors)
    assert [str(f) for f in errors] == [
        "p: initializing profiles: creating profile for scheduler name s: "
        "score plugins: total score of Score plugins could overflow"
    ]


@pytest.mark.parametrize(
    ("score", "is_refused"),
    [
        ("{enabled: [{name: ImageLocality, weight: -1}]}", True),
        ("{enabled: [{name: ImageLocality, weight: -1}], disabled: [{name: '*'}]}", True),
        ("{enabled: [{name: NodeResourcesFit, weight: 5}, {name: ImageLocality, weight: -3}]}",
         False),
        ("{enabled: [{name: NodeAffinity, weight: 1}, {name: ImageLocality, weight: -3}]}", True),
    ],
)  # fmt: skip
def test_after_a_negative_sum_any_weight_overflows(score, is_refused):
    text = f"{{score: {score}}}"
    if is_refused:
        with pytest.raises(InputError, match="total score of Score plugins could overflow"):
            expand(text)
    else:
        assert ("ImageLocality", -3) in expand(text)["score"]


def test_one_placement_generator_at_most():
    def implements(name):
        return frozenset({"placementGenerate"}) if name in "AB" else in_tree_points(name)

    with pytest.raises(InputError, match="at most one placement generate plugin is allowed"):
        expand("{placementGenerate: {enabled: [{name: A}, {name: B}]}}", implements=implements)
