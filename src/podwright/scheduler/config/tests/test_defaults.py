"""What a configuration means once everything it leaves out is filled in."""

import pytest

from podwright.apimachinery.objects.errors import FieldError, InputError
from podwright.scheduler.config import (
    ClientConnection,
    DynamicResourcesArgs,
    KubeSchedulerConfiguration,
    LeaderElection,
    NodeResourcesFitArgs,
    Plugin,
    PluginSet,
    PodTopologySpreadArgs,
    ResourceSpec,
    VolumeBindingArgs,
    default_plugins,
    effective,
    in_tree_points,
    merge_plugin_set,
    parse_gates,
    read_configuration,
    set_defaults,
)

WITHOUT_DECLARED_FEATURES = (
    "NodeDeclaredFeatures=false,ExtendWebSocketsToKubelet=false,"
    "InPlacePodLevelResourcesVerticalScaling=false,"
    "InPlacePodVerticalScalingInitContainers=false,"
    "RestartAllContainersOnContainerExits=false"
)
"""The gate and every gate that depends on it, disabled."""

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def read(body):
    return read_configuration(HEAD + body, source="c.yaml")


def names(plugins):
    return [plugin.name for plugin in plugins]


def test_the_empty_configuration_has_one_profile():
    configuration = set_defaults(KubeSchedulerConfiguration())
    assert [p.scheduler_name for p in configuration.profiles] == ["default-scheduler"]
    assert configuration.enable_contention_profiling is True
    assert configuration.profiles[0].plugins is not None
    assert configuration.profiles[0].plugins.multi_point.enabled == default_plugins()
    assert [entry.name for entry in configuration.profiles[0].plugin_config] == [
        "DefaultPreemption",
        "DynamicResources",
        "InterPodAffinity",
        "NodeAffinity",
        "NodeResourcesBalancedAllocation",
        "NodeResourcesFit",
        "PodTopologySpread",
        "VolumeBinding",
    ]


def test_zero_values_are_absent_values():
    configuration = set_defaults(
        read(
            "leaderElection: {leaseDuration: 0s, resourceLock: '', resourceName: x}\n"
            "clientConnection: {qps: 0, burst: 0, contentType: ''}\n"
        )
    )
    assert configuration.leader_election == LeaderElection(resource_name="x")
    assert configuration.client_connection == ClientConnection()
    every = "leaseDuration: 0s, renewDeadline: 0s, retryPeriod: 0s, resourceLock: ''"
    none = read(f"leaderElection: {{{every}, resourceName: '', resourceNamespace: ''}}")
    assert set_defaults(none).leader_election == LeaderElection()


@pytest.mark.parametrize(
    ("body", "contention"),
    [
        pytest.param("enableProfiling: true", True, id="follows profiling"),
        pytest.param("enableProfiling: false", False, id="off without profiling"),
        pytest.param("enableContentionProfiling: false", False, id="unless it is set"),
    ],
)
def test_contention_profiling(body, contention):
    assert set_defaults(read(body)).enable_contention_profiling is contention


def test_several_profiles_get_no_name():
    configuration = set_defaults(read("profiles: [{}, {schedulerName: b}]"))
    assert [p.scheduler_name for p in configuration.profiles] == [None, "b"]


@pytest.mark.parametrize(
    ("gates", "added"),
    [
        pytest.param("", ["NodeDeclaredFeatures"], id="by default"),
        pytest.param(WITHOUT_DECLARED_FEATURES, [], id="without declared features"),
        pytest.param(
            "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true",
            [
                "NodeDeclaredFeatures",
                "GangScheduling",
                "TopologyPlacementGenerator",
                "PodGroupPodsCount",
            ],
            id="gangs and placements come last",
        ),
    ],
)
def test_gates_add_default_plugins(gates, added):
    default = names(default_plugins(parse_gates(gates)))
    assert default[default.index("DefaultBinder") + 1 :] == added


@pytest.mark.parametrize(
    ("custom", "merged"),
    [
        pytest.param(PluginSet(), [("A", 1), ("B", 2), ("C", 0)], id="nothing of the user's"),
        pytest.param(
            PluginSet(disabled=(Plugin(name="B"),)), [("A", 1), ("C", 0)], id="one disabled"
        ),
        pytest.param(
            PluginSet(enabled=(Plugin(name="X"),), disabled=(Plugin(name="*"),)),
            [("X", 0)],
            id="only the user's",
        ),
        pytest.param(
            PluginSet(enabled=(Plugin(name="X"), Plugin(name="B", weight=7))),
            [("A", 1), ("B", 7), ("C", 0), ("X", 0)],
            id="a default is replaced where it stands",
        ),
        pytest.param(
            PluginSet(enabled=(Plugin(name="B", weight=7),), disabled=(Plugin(name="B"),)),
            [("A", 1), ("C", 0), ("B", 7)],
            id="disabled and enabled again goes to the end",
        ),
        pytest.param(
            PluginSet(enabled=(Plugin(name="B", weight=7), Plugin(name="B", weight=8))),
            [("A", 1), ("B", 8), ("C", 0), ("B", 7)],
            id="a repetition stays for expansion to refuse",
        ),
    ],
)
def test_merge_plugin_set(custom, merged):
    default = (Plugin(name="A", weight=1), Plugin(name="B", weight=2), Plugin(name="C"))
    result = merge_plugin_set(default, custom)
    assert [(plugin.name, plugin.weight) for plugin in result.enabled] == merged
    assert names(result.disabled) == names(custom.disabled)


def args_of(body, name, gates=""):
    configuration = set_defaults(read(body), parse_gates(gates))
    entries = configuration.profiles[0].plugin_config
    return next(entry.args for entry in entries if entry.name == name)


def config(name, args):
    return f"profiles:\n- pluginConfig:\n  - name: {name}\n    args: {args}\n"


def test_fit_scores_cpu_and_memory_by_default():
    args = args_of("", "NodeResourcesFit")
    assert isinstance(args, NodeResourcesFitArgs)
    assert args.scoring_strategy is not None
    assert args.scoring_strategy.type == "LeastAllocated"
    assert args.scoring_strategy.resources == (
        ResourceSpec(name="cpu", weight=1),
        ResourceSpec(name="memory", weight=1),
    )


def test_a_strategy_without_resources_keeps_its_type_and_weights_of_zero_are_one():
    body = config("NodeResourcesFit", "{scoringStrategy: {type: MostAllocated}}")
    assert len(args_of(body, "NodeResourcesFit").scoring_strategy.resources) == 2
    body = config("NodeResourcesBalancedAllocation", "{resources: [{name: a, weight: 0}]}")
    resources = args_of(body, "NodeResourcesBalancedAllocation").resources
    assert resources == (ResourceSpec(name="a", weight=1),)
    assert ResourceSpec(name="a") == ResourceSpec(name="a", weight=0), "it is not set"


@pytest.mark.parametrize(
    ("gates", "args"),
    [
        pytest.param(
            "",
            DynamicResourcesArgs(filter_timeout_ns=10**10, binding_timeout_ns=6 * 10**11),
            id="both timeouts",
        ),
        pytest.param(
            "DRASchedulerFilterTimeout=false",
            DynamicResourcesArgs(binding_timeout_ns=6 * 10**11),
            id="no filter timeout without its gate",
        ),
        pytest.param(
            "DRADeviceBindingConditions=false",
            DynamicResourcesArgs(filter_timeout_ns=10**10),
            id="no binding timeout without its gate",
        ),
    ],
)
def test_dynamic_resources_args_depend_on_gates(gates, args):
    assert args_of("", "DynamicResources", gates) == args


def test_storage_scoring_has_a_shape_only_with_its_gate():
    assert args_of("", "VolumeBinding") == VolumeBindingArgs()
    shape = args_of("", "VolumeBinding", "StorageCapacityScoring=true").shape
    assert [(point.utilization, point.score) for point in shape] == [(0, 10), (100, 0)]


def test_an_empty_defaulting_type_is_system():
    body = config("PodTopologySpread", "{defaultingType: ''}")
    assert args_of(body, "PodTopologySpread") == PodTopologySpreadArgs(defaulting_type="System")


@pytest.mark.parametrize(
    ("body", "percentage"),
    [
        pytest.param("", None, id="nothing configured scores every node"),
        pytest.param("percentageOfNodesToScore: 0", 0, id="zero is upstream's adaptive rule"),
        pytest.param("percentageOfNodesToScore: 30", 30, id="the global one"),
        pytest.param(
            "percentageOfNodesToScore: 30\nprofiles: [{percentageOfNodesToScore: 0}]",
            0,
            id="the profile's own wins, zero too",
        ),
    ],
)
def test_percentage_of_nodes_to_score(body, percentage):
    assert effective(read(body)).profiles[0].percentage_of_nodes_to_score == percentage


def test_ignorable_extenders_are_called_last_and_keep_their_index():
    configuration = effective(
        read(
            "extenders:\n"
            "- {urlPrefix: a, ignorable: true, httpTimeout: 2s}\n"
            "- {urlPrefix: b}\n"
            "- {urlPrefix: c, ignorable: true}\n"
            "- {urlPrefix: d}\n"
        )
    )
    assert [e.url_prefix for e in configuration.extenders] == ["b", "d", "a", "c"]
    assert configuration.extender_indexes == (1, 3, 0, 2)
    seconds = [e.http_timeout_ns // 10**9 for e in configuration.extenders]
    assert seconds == [5, 5, 2, 5]


EXTENDER = (
    "extenders:\n- urlPrefix: a\n  managedResources:\n"
    "  - {name: example.com/gpu, ignoredByScheduler: true}\n  - {name: example.com/fpga}\n"
)


def test_resources_of_extenders_replace_the_ignored_resources_of_fit():
    body = config("NodeResourcesFit", "{ignoredResources: [example.com/mine]}") + EXTENDER
    fit = effective(read(body)).profiles[0].args["NodeResourcesFit"]
    assert isinstance(fit, NodeResourcesFitArgs)
    assert fit.ignored_resources == ("example.com/gpu",)


def test_resources_of_extenders_need_fit():
    body = "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}}]\n"
    with pytest.raises(InputError) as caught:
        effective(read(body + EXTENDER), source="c.yaml")
    assert str(caught.value) == (
        "c.yaml: profiles[0]: couldn't build extenders: "
        "can't find NodeResourcesFitArgs in plugin config"
    )


def test_one_wrong_argument_of_fit_is_not_a_list():
    body = config(
        "NodeResourcesFit",
        "{scoringStrategy: {type: LeastAllocated, resources: [{name: a, weight: 101}]}}",
    )
    with pytest.raises(InputError) as caught:
        effective(read(body))
    assert str(caught.value).endswith(
        'initializing plugin "NodeResourcesFit": scoringStrategy.resources[0].weight: '
        "Invalid value: 101: resource weight of a not in valid range (0, 100]"
    )


def test_arguments_of_fit_are_refused_when_the_plugin_is_built():
    body = config("NodeResourcesFit", "{scoringStrategy: {resources: [{name: a, weight: 101}]}}")
    with pytest.raises(InputError) as caught:
        effective(read(body), source="c.yaml")
    assert str(caught.value).splitlines() == [
        "c.yaml: profiles[0]: initializing profiles: creating profile for scheduler name "
        'default-scheduler: initializing plugin "NodeResourcesFit": '
        '[scoringStrategy.type: Unsupported value: "": supported values: "LeastAllocated", '
        '"MostAllocated", "RequestedToCapacityRatio", scoringStrategy.resources[0].weight: '
        "Invalid value: 101: resource weight of a not in valid range (0, 100]]"
    ]


@pytest.mark.parametrize(
    ("profiles", "error"),
    [
        pytest.param(
            "{schedulerName: a, pluginConfig: [{name: PrioritySort, args: {}}]},"
            " {schedulerName: b}",
            'different queue sort plugin args for profile "b"',
            id="empty arguments and none",
        ),
        pytest.param(
            "{schedulerName: a}, {schedulerName: b, plugins: {multiPoint:"
            " {enabled: [{name: Own}], disabled: [{name: PrioritySort}]}}}",
            'different queue sort plugins for profile "b": "Own", first: "PrioritySort"',
            id="another plugin of all points",
        ),
    ],
)
def test_all_profiles_sort_the_queue_alike(profiles, error):
    # Upstream: pkg/scheduler/profile/profile.go, cfgValidator.validate
    def implements(name):
        return frozenset({"queueSort"}) if name == "Own" else in_tree_points(name)

    with pytest.raises(InputError) as caught:
        effective(read(f"profiles: [{profiles}]"), implements=implements, source="c.yaml")
    assert str(caught.value) == f"c.yaml: profiles[1]: initializing profiles: {error}"


def test_arguments_of_plugins_that_do_not_run_are_left_out():
    body = (
        "profiles:\n- plugins: {multiPoint: {disabled: [{name: InterPodAffinity}]}}\n"
        "  pluginConfig: [{name: InterPodAffinity}, {name: Mine, args: {a: 1}}]\n"
    )
    args = effective(read(body)).profiles[0].args
    assert "InterPodAffinity" not in args
    assert "Mine" not in args
    assert "NodeAffinity" in args


def test_backoff_is_in_nanoseconds():
    configuration = effective(read("podInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 20"))
    assert configuration.pod_initial_backoff_ns == 2 * 10**9
    assert configuration.pod_max_backoff_ns == 20 * 10**9
    assert configuration.parallelism == 16


def test_a_profile_is_found_by_its_name():
    configuration = effective(read("profiles: [{schedulerName: a}, {schedulerName: b}]"))
    assert configuration.profile("b") is configuration.profiles[1]
    assert configuration.profile("c") is None


def test_an_invalid_configuration_is_not_expanded():
    with pytest.raises(InputError, match="should be an integer value greater than zero"):
        effective(read("parallelism: 0"))


def test_errors_of_all_stages_are_raised_together():
    body = "profiles: [{plugins: {score: {enabled: [{name: Nope}]}}}]\nparallelism: 0"
    earlier = [FieldError(source="", path="profiles[0].schedulerName", message="wrong")]
    with pytest.raises(InputError) as caught:
        effective(read(body), earlier_errors=earlier)
    paths = [error.path for error in caught.value.errors]
    assert paths == ["profiles[0].schedulerName", "parallelism", "profiles[0].plugins.score"]


def test_extenders_have_their_timeout_and_their_resources_are_ignored():
    made = effective(read(
        "extenders: [{urlPrefix: a, managedResources: "
        "[{name: a.com/x, ignoredByScheduler: true}, {name: a.com/y}]}]"
    )).configuration  # fmt: skip
    assert made.extenders[0].http_timeout_ns == 5 * 10**9
    (fit,) = (e.args for e in made.profiles[0].plugin_config if e.name == "NodeResourcesFit")
    assert isinstance(fit, NodeResourcesFitArgs)
    assert fit.ignored_resources == ("a.com/x",)


def test_shown_arguments_are_those_of_plugins_that_run_sorted_by_name():
    body = (
        "profiles:\n- plugins: {multiPoint: {disabled: [{name: InterPodAffinity}]}}\n"
        "  pluginConfig: [{name: VolumeBinding}, {name: InterPodAffinity}]\n"
    )
    names = [e.name for e in effective(read(body)).configuration.profiles[0].plugin_config]
    assert names == sorted(names)
    assert "VolumeBinding" in names
    assert "InterPodAffinity" not in names
