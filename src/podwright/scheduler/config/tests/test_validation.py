"""Validation finds everything and says it in kube-scheduler's words."""

import pytest

from podwright.scheduler.config import (
    DefaultPreemptionArgs,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElection,
    NodeResourcesFitArgs,
    PluginConfig,
    effective,
    parse_gates,
    read_configuration,
    set_defaults,
    validate,
)
from podwright.scheduler.config.args_validation import validate_node_resources_fit_args

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def problems(body, gates=""):
    configuration = read_configuration(HEAD + body, source="c.yaml")
    gates = parse_gates(gates)
    return [str(error) for error in validate(set_defaults(configuration, gates), gates)]


def test_the_default_configuration_is_valid():
    assert problems("") == []


@pytest.mark.parametrize(
    ("body", "messages"),
    [
        pytest.param("parallelism: 0",
                     ["parallelism: Invalid value: 0: "
                      "should be an integer value greater than zero"],
                     id="parallelism"),
        pytest.param("clientConnection: {burst: -1}",
                     ["clientConnection.burst: Invalid value: -1: must be non-negative"],
                     id="burst"),
        pytest.param("percentageOfNodesToScore: 101",
                     ["percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"],
                     id="percentage"),
        pytest.param("podInitialBackoffSeconds: 0\npodMaxBackoffSeconds: -1",
                     ["podInitialBackoffSeconds: Invalid value: 0: must be greater than 0",
                      "podMaxBackoffSeconds: Invalid value: -1: "
                      "must be greater than or equal to PodInitialBackoffSeconds"],
                     id="both bounds of the backoff"),
        pytest.param("podInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 1",
                     ["podMaxBackoffSeconds: Invalid value: 1: "
                      "must be greater than or equal to PodInitialBackoffSeconds"],
                     id="a maximum below the initial backoff"),
        pytest.param("leaderElection: {leaseDuration: -1s, renewDeadline: -2s, retryPeriod: -3s}",
                     ['leaderElection.leaseDuration: Invalid value: "-1s": '
                      "must be greater than zero",
                      'leaderElection.renewDeadline: Invalid value: "-2s": '
                      "must be greater than zero",
                      'leaderElection.retryPeriod: Invalid value: "-3s": '
                      "must be greater than zero"],
                     id="negative durations of leader election"),
        pytest.param("leaderElection: {leaseDuration: 10s}",
                     ['leaderElection.leaseDuration: Invalid value: "10s": '
                      "must be greater than `RenewDeadline`"],
                     id="a lease as long as the renew deadline"),
        pytest.param("leaderElection: {resourceLock: endpoints}",
                     ['leaderElection.resourceLock: Invalid value: "endpoints": '
                      'resourceLock value must be "leases"'],
                     id="a lock that is gone"),
        pytest.param("leaderElection: {leaderElect: false, resourceLock: endpoints}", [],
                     id="without election nothing about it matters"),
    ],
)  # fmt: skip
def test_top_level_fields(body, messages):
    assert problems(body) == messages


@pytest.mark.parametrize(
    ("body", "messages"),
    [
        pytest.param("profiles: [{schedulerName: a}, {}]",
                     ["profiles[1].schedulerName: Required value"],
                     id="a name left out"),
        pytest.param("profiles: [{schedulerName: ''}]",
                     ["profiles[0].schedulerName: Required value"],
                     id="an empty name"),
        pytest.param("profiles: [{schedulerName: a}, {schedulerName: b}, {schedulerName: a}]",
                     ["profiles[2].schedulerName: Duplicate value: {}"],
                     id="a name used twice"),
        pytest.param("profiles: [{percentageOfNodesToScore: -1}]",
                     ["profiles[0].percentageOfNodesToScore: Invalid value: -1: "
                      "not in valid range [0-100]"],
                     id="the profile's percentage"),
        pytest.param("profiles: [{plugins: {filter: {enabled: [{name: A}, {name: EBSLimits}]}},\n"
                     "  pluginConfig: [{name: CinderLimits}]}]",
                     ['profiles[0].plugins.filter.enabled[1]: Invalid value: "EBSLimits": was '
                      'invalid in version "v1" '
                      "(KubeSchedulerConfiguration is version "
                      '"kubescheduler.config.k8s.io/v1")',
                      'profiles[0].pluginConfig[0]: Invalid value: "CinderLimits": was '
                      'invalid in version "v1" '
                      "(KubeSchedulerConfiguration is version "
                      '"kubescheduler.config.k8s.io/v1")'],
                     id="removed plugins"),
        pytest.param("profiles: [{pluginConfig: [{name: A}, {name: A}]}]",
                     ['profiles[0].pluginConfig[1]: Duplicate value: "A"'],
                     id="arguments given twice"),
        pytest.param("profiles: [{plugins: {queueSort: {enabled: [{name: A}, {name: B}]}}}]",
                     ["profiles[0].plugins.queueSort.Enabled: Invalid value: 2: "
                      "only one queue sort plugin can be enabled"],
                     id="two queue sorts"),
        pytest.param("profiles:\n- schedulerName: a\n- schedulerName: b\n"
                     "  plugins: {queueSort: {enabled: [{name: A}]}}",
                     ["profiles[1].plugins.queueSort: Invalid value: "
                      '{"Enabled":[{"Name":"A","Weight":0}],"Disabled":null}: '
                      "must be the same for all profiles"],
                     id="queue sorts that differ"),
        pytest.param("profiles:\n"
                     "- schedulerName: a\n  plugins: {queueSort: {enabled: [{name: A}]}}\n"
                     "  pluginConfig: [{name: A, args: {x: 1}}]\n"
                     "- schedulerName: b\n  plugins: {queueSort: {enabled: [{name: A}]}}\n"
                     "  pluginConfig: [{name: A, args: {x: 2}}]\n",
                     ['profiles[1].pluginConfig.args: Invalid value: {"x":2}: '
                      "queueSort must be the same for all profiles"],
                     id="arguments of queue sorts that differ"),
    ],
)  # fmt: skip
def test_profiles(body, messages):
    assert problems(body) == messages


@pytest.mark.parametrize(
    ("body", "messages"),
    [
        pytest.param("[{urlPrefix: u, prioritizeVerb: p}]",
                     ["extenders[0].weight: Invalid value: 0: "
                      "must have a positive weight applied to it"],
                     id="a prioritizer without weight"),
        pytest.param("[{urlPrefix: u, filterVerb: f}]", [], id="a filter needs no weight"),
        pytest.param("[{bindVerb: b}, {urlPrefix: u, filterVerb: f}]", [], id="one binder"),
        pytest.param("[{bindVerb: b}, {bindVerb: b}]",
                     ['extenders: Invalid value: "found 2 extenders implementing bind": '
                      "only one extender can implement bind"],
                     id="two binders"),
        pytest.param("[{managedResources: [{name: example.com/gpu}, {name: cpu}]},\n"
                     " {managedResources: [{name: example.com/gpu}, {name: '-'}]}]",
                     ['extenders[0].managedResources[1].name: Invalid value: "cpu": '
                      "is an invalid extended resource name",
                      'extenders[1].managedResources[0].name: Invalid value: "example.com/gpu": '
                      "duplicate extender managed resource name",
                      'extenders[1].managedResources[1].name: Invalid value: "-": '
                      f"name part {NAME_RULE}"],
                     id="managed resources"),
        pytest.param("[{managedResources: [{name: requests.example.com/gpu}, "
                     "{name: kubernetes.io/a}]}]",
                     ["extenders[0].managedResources[0].name: Invalid value: "
                      '"requests.example.com/gpu": is an invalid extended resource name',
                      "extenders[0].managedResources[1].name: Invalid value: "
                      '"kubernetes.io/a": is an invalid extended resource name'],
                     id="names of quotas and of Kubernetes"),
    ],
)  # fmt: skip
def test_extenders(body, messages):
    assert problems(f"extenders: {body}") == messages


@pytest.mark.parametrize(
    ("name", "args", "gates", "messages"),
    [
        pytest.param("DefaultPreemption",
                     "{minCandidateNodesPercentage: 101, minCandidateNodesAbsolute: -1}", "",
                     ["minCandidateNodesPercentage: Invalid value: 101: "
                      "not in valid range [0, 100]",
                      "minCandidateNodesAbsolute: Invalid value: -1: "
                      "not in valid range [0, inf)"],
                     id="ranges of the candidates"),
        pytest.param("DefaultPreemption",
                     "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}", "",
                     ["minCandidateNodesPercentage: Invalid value: 0: "
                      "cannot be zero at the same time as minCandidateNodesAbsolute",
                      "minCandidateNodesAbsolute: Invalid value: 0: "
                      "cannot be zero at the same time as minCandidateNodesPercentage"],
                     id="no candidates at all"),
        pytest.param("InterPodAffinity", "{hardPodAffinityWeight: 101}", "",
                     ["hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"],
                     id="hard weight"),
        pytest.param("NodeResourcesBalancedAllocation",
                     "{resources: [{name: cpu, weight: 2}, {name: cpu, weight: 1}]}", "",
                     ["resources[0].weight: Invalid value: 2: must be 1",
                      'resources[1].name: Duplicate value: "cpu"'],
                     id="balanced resources"),
        pytest.param("VolumeBinding", "{bindTimeoutSeconds: -1}", "",
                     ["bindTimeoutSeconds: Invalid value: -1: "
                      "invalid BindTimeoutSeconds, should not be a negative value"],
                     id="bind timeout"),
        pytest.param("VolumeBinding", "{shape: [{utilization: 0, score: 1}]}", "",
                     ['shape: Invalid value: [{"Utilization":0,"Score":1}]: unexpected field '
                      "`shape`, remove it or turn on the feature gate StorageCapacityScoring"],
                     id="a shape without its gate"),
        pytest.param("VolumeBinding", "{shape: [{score: 1}, {utilization: 5}]}", "",
                     ['shape: Invalid value: [{"Utilization":0,"Score":1},'
                      '{"Utilization":5,"Score":0}]: unexpected field '
                      "`shape`, remove it or turn on the feature gate StorageCapacityScoring"],
                     id="what a point leaves out is zero"),
        pytest.param("VolumeBinding",
                     "{shape: [{utilization: 50, score: 11}, {utilization: 50, score: -1}, "
                     "{utilization: 101}]}",
                     "StorageCapacityScoring=true",
                     ["shape[1].utilization: Invalid value: 50: "
                      "values must be sorted in increasing order",
                      "shape[0].score: Invalid value: 11: not in valid range [0, 10]",
                      "shape[1].score: Invalid value: -1: not in valid range [0, 10]",
                      "shape[2].utilization: Invalid value: 101: not in valid range [0, 100]"],
                     id="a wrong shape"),
        pytest.param("DynamicResources", "{filterTimeout: -1s, bindingTimeout: 999ms}", "",
                     ["filterTimeout: Invalid value: \"-1s\": must be zero or positive",
                      'bindingTimeout: Invalid value: "999ms": must be at least 1 second'],
                     id="timeouts"),
        pytest.param("DynamicResources", "{filterTimeout: 1s, bindingTimeout: 2s}",
                     "DRASchedulerFilterTimeout=false,DRADeviceBindingConditions=false",
                     ["filterTimeout: Forbidden: "
                      "DRASchedulingFilterTimeout feature gate is disabled",
                      "bindingTimeout: Forbidden: DRADeviceBindingConditions or "
                      "DRAResourceClaimDeviceStatus feature gate is disabled"],
                     id="timeouts without their gates"),
        pytest.param("PodTopologySpread", "{defaultingType: Lst}", "",
                     ['defaultingType: Unsupported value: "Lst": supported values: '
                      '"System", "List"; did you mean "List"?'],
                     id="an unknown defaulting type"),
        pytest.param("PodTopologySpread",
                     "{defaultConstraints: [{whenUnsatisfiable: DoNotSchedule, labelSelector: {}},"
                     " {maxSkew: 1, topologyKey: a b, whenUnsatisfiable: DoNotSchedule},"
                     " {maxSkew: 2, topologyKey: a b, whenUnsatisfiable: DoNotSchedule}]}", "",
                     ['defaultingType: Invalid value: "System": '
                      "when .defaultConstraints are not empty",
                      "defaultConstraints[0].maxSkew: Invalid value: 0: "
                      "not in valid range (0, inf)",
                      "defaultConstraints[0].topologyKey: Required value: can not be empty",
                      "defaultConstraints[0].labelSelector: Forbidden: "
                      "constraint must not define a selector, as they deduced for each pod",
                      f'defaultConstraints[1].topologyKey: Invalid value: "a b": '
                      f"name part {NAME_RULE}",
                      f'defaultConstraints[2].topologyKey: Invalid value: "a b": '
                      f"name part {NAME_RULE}",
                      'defaultConstraints[2]: Duplicate value: "{a b, DoNotSchedule}"'],
                     id="default constraints"),
        pytest.param("NodeAffinity",
                     "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution:"
                     " {nodeSelectorTerms: [{}, {matchExpressions:"
                     " [{key: a, operator: In}, {key: a, operator: Exists, values: [b]},"
                     " {key: a, operator: Gt, values: [x]}, {key: '', operator: Lt},"
                     " {key: a, operator: In, values: ['-']}]}]}}}", "",
                     ["addedAffinity.requiredDuringSchedulingIgnoredDuringExecution."
                      f"nodeSelectorTerms[1].matchExpressions[{place}" for place in (
                          "0].values: Invalid value: null: "
                          "for 'in', 'notin' operators, values set can't be empty",
                          '1].values: Invalid value: ["b"]: '
                          "values set must be empty for exists and does not exist",
                          '2].values[0]: Invalid value: "x": '
                          "for 'Gt', 'Lt' operators, the value must be an integer",
                          '3].key: Invalid value: "": name part must be non-empty; '
                          f"name part {NAME_RULE}",
                          "3].values: Invalid value: null: "
                          "for 'Gt', 'Lt' operators, exactly one value is required",
                          '4].values[0][a]: Invalid value: "-": a valid label must be an empty '
                          "string or consist of alphanumeric characters, '-', '_' or '.', and "
                          "must start and end with an alphanumeric character (e.g. 'MyValue',  "
                          "or 'my_value',  or '12345', regex used for validation is "
                          "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')")],
                     id="required terms of the added affinity"),
        pytest.param("NodeAffinity",
                     "{addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: ["
                     "{weight: 0, preference: {matchFields: [{key: a, operator: Lt}]}},"
                     "{weight: 1, preference: {matchFields: [{key: a, operator: Exists},"
                     " {key: a, operator: In, values: [b, c]}]}}]}}", "",
                     ["addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[1]."
                      'matchFields[0].operator: Unsupported value: "Exists": '
                      'supported values: "In", "NotIn"',
                      "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[1]."
                      'matchFields[1].values: Invalid value: ["b","c"]: must have one element'],
                     id="preferred terms, and none of weight 0"),
        pytest.param("Coscheduling",
                     "{permitWaitingTimeSeconds: -1, podGroupBackoffSeconds: -2,"
                     " podGroupRejectPercentage: 101}", "",
                     ["permitWaitingTimeSeconds: Invalid value: -1: cannot be negative",
                      "podGroupBackoffSeconds: Invalid value: -2: cannot be negative",
                      "podGroupRejectPercentage: Invalid value: 101: "
                      "not in valid range [0, 100]"],
                     id="periods and the share of gangs"),
        pytest.param("Coscheduling",
                     "{permitWaitingTimeSeconds: 0, podGroupBackoffSeconds: 0,"
                     " podGroupRejectPercentage: 0}", "", [],
                     id="the least settings of gangs"),
        pytest.param("Coscheduling", "{podGroupRejectPercentage: -1}", "",
                     ["podGroupRejectPercentage: Invalid value: -1: "
                      "not in valid range [0, 100]"],
                     id="a negative share of gangs"),
        pytest.param("Coscheduling", "{podGroupRejectPercentage: 100}", "", [],
                     id="the whole share of gangs"),
        pytest.param("DefaultPreemption",
                     "{minCandidateNodesPercentage: 100, minCandidateNodesAbsolute: 0}", "", [],
                     id="all candidates"),
        pytest.param("DefaultPreemption",
                     "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 1}", "", [],
                     id="one candidate"),
        pytest.param("DefaultPreemption", "{minCandidateNodesPercentage: -1}", "",
                     ["minCandidateNodesPercentage: Invalid value: -1: "
                      "not in valid range [0, 100]"],
                     id="a negative percentage"),
        pytest.param("InterPodAffinity", "{hardPodAffinityWeight: -1}", "",
                     ["hardPodAffinityWeight: Invalid value: -1: not in valid range [0, 100]"],
                     id="a negative hard weight"),
        pytest.param("InterPodAffinity", "{hardPodAffinityWeight: 0}", "", [],
                     id="no hard weight"),
        pytest.param("InterPodAffinity", "{hardPodAffinityWeight: 100}", "", [],
                     id="the greatest hard weight"),
        pytest.param("NodeResourcesBalancedAllocation",
                     "{resources: [{name: cpu}, {name: memory, weight: 1}]}", "", [],
                     id="balanced resources of weight 1"),
        pytest.param("VolumeBinding", "{bindTimeoutSeconds: 0}", "", [], id="no bind timeout"),
        pytest.param("VolumeBinding",
                     "{shape: [{utilization: -1, score: 0}, {utilization: 100, score: 10}]}",
                     "StorageCapacityScoring=true",
                     ["shape[0].utilization: Invalid value: -1: not in valid range [0, 100]"],
                     id="a shape with the bounds of scores"),
        pytest.param("VolumeBinding",
                     "{shape: [{utilization: 2, score: 0}, {utilization: 1, score: 0},"
                     " {utilization: 0, score: 0}]}",
                     "StorageCapacityScoring=true",
                     ["shape[1].utilization: Invalid value: 1: "
                      "values must be sorted in increasing order"],
                     id="the first point that is out of order"),
        pytest.param("VolumeBinding", "{shape: []}", "",
                     ["shape: Invalid value: []: unexpected field "
                      "`shape`, remove it or turn on the feature gate StorageCapacityScoring"],
                     id="an empty shape without its gate"),
        pytest.param("VolumeBinding", "{shape: []}", "StorageCapacityScoring=true", [],
                     id="an empty shape becomes the default one"),
        pytest.param("DynamicResources", "{filterTimeout: 0s, bindingTimeout: 1s}", "", [],
                     id="the shortest timeouts"),
        pytest.param("DynamicResources", "{filterTimeout: null, bindingTimeout: null}",
                     "DRASchedulerFilterTimeout=false,DRADeviceBindingConditions=false", [],
                     id="no timeouts without their gates"),
        pytest.param("PodTopologySpread",
                     "{defaultingType: List, defaultConstraints: [{maxSkew: 1},"
                     " {maxSkew: 1, topologyKey: a, whenUnsatisfiable: Nope},"
                     " {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway},"
                     " {maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}", "",
                     ["defaultConstraints[0].topologyKey: Required value: can not be empty",
                      "defaultConstraints[0].whenUnsatisfiable: Required value: "
                      "can not be empty",
                      'defaultConstraints[1].whenUnsatisfiable: Unsupported value: "Nope": '
                      'supported values: "DoNotSchedule", "ScheduleAnyway"'],
                     id="actions of default constraints"),
        pytest.param("NodeAffinity",
                     "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution:"
                     " {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Like}],"
                     " matchFields: [{key: a, operator: NotIn, values: [b]}, {key: a,"
                     " operator: In, values: []}]}]}}}", "",
                     ["addedAffinity.requiredDuringSchedulingIgnoredDuringExecution."
                      f"nodeSelectorTerms[0].{place}" for place in (
                          'matchExpressions[0].operator: Unsupported value: "Like": supported '
                          'values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
                          "matchFields[1].values: Invalid value: []: must have one element")],
                     id="an unknown operator of the added affinity"),
        pytest.param("NodeAffinity", "{}", "", [], id="no added affinity"),
        pytest.param("NodeResourcesFit", "{scoringStrategy: {type: Nope}}", "", [],
                     id="fit is judged when it is built"),
    ],
)  # fmt: skip
def test_plugin_arguments(name, args, gates, messages):
    body = f"profiles:\n- pluginConfig:\n  - name: {name}\n    args: {args}\n"
    want = [f"profiles[0].pluginConfig[0].args.{message}" for message in messages]
    assert problems(body, gates) == want


@pytest.mark.parametrize(
    ("args", "messages"),
    [
        pytest.param("{ignoredResources: [a/b/c, example.com/ok], ignoredResourceGroups: [a/b]}",
                     ['ignoredResources[0]: Invalid value: "a/b/c": a valid label key '
                      f"{NAME_RULE} with an optional DNS subdomain prefix and '/' "
                      "(e.g. 'example.com/MyName')",
                      'ignoredResourceGroups[0]: Invalid value: "a/b": '
                      "resource group name can't contain '/'"],
                     id="names"),
        pytest.param("{scoringStrategy: {type: MostAllocated, resources: [{name: a, weight: -1}],"
                     " requestedToCapacityRatio: {}}}",
                     ["scoringStrategy.resources[0].weight: Invalid value: -1: "
                      "resource weight of a not in valid range (0, 100]",
                      "scoringStrategy.requestedToCapacityRatio: Forbidden: "
                      "must be nil when type is not RequestedToCapacityRatio"],
                     id="weights, and a ratio for another type"),
        pytest.param("{scoringStrategy: {type: RequestedToCapacityRatio}}",
                     ["scoringStrategy.requestedToCapacityRatio: Required value: "
                      "must be specified when type is RequestedToCapacityRatio"],
                     id="a ratio left out"),
        pytest.param("{scoringStrategy: {type: RequestedToCapacityRatio,"
                     " requestedToCapacityRatio: {shape: []}}}",
                     ["scoringStrategy.requestedToCapacityRatio.shape: Required value: "
                      "at least one point must be specified"],
                     id="a shape without points"),
        pytest.param("{scoringStrategy: {resources: []}}",
                     ['scoringStrategy.type: Unsupported value: "": supported values: '
                      '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'],
                     id="a strategy has no default type"),
    ],
)  # fmt: skip
def test_arguments_of_fit(args, messages):
    text = HEAD + f"profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args: {args}\n"
    configuration = set_defaults(read_configuration(text, source="c.yaml"))
    found = validate_node_resources_fit_args("", configuration.profiles[0].plugin_config[0].args)
    assert [str(error) for error in found] == messages


def test_fit_without_defaults_needs_a_strategy():
    found = validate_node_resources_fit_args("", NodeResourcesFitArgs())
    assert [str(error) for error in found] == [
        "scoringStrategy: Required value: ScoringStrategy field is required"
    ]


def test_arguments_of_another_plugin_do_not_match():
    profile = KubeSchedulerProfile(
        scheduler_name="a",
        plugin_config=(PluginConfig(name="NodeAffinity", args=DefaultPreemptionArgs()),),
    )
    errors = validate(KubeSchedulerConfiguration(profiles=(profile,)))
    assert [error.path for error in errors] == ["profiles[0].pluginConfig[0].args"]
    assert errors[0].message.endswith("has to match plugin args")


def test_arguments_that_are_named_by_their_type_fit_no_plugin():
    assert problems(
        "profiles:\n- pluginConfig:\n  - {name: NodeResourcesFitArgs, args: {b: 1, a: [2]}}\n"
    ) == [
        'profiles[0].pluginConfig[0].args: Invalid value: {"a":[2],"b":1}: has to match plugin args'
    ]


SORTED = "plugins: {queueSort: {enabled: [{name: Mine}], disabled: [{name: '*'}]}}"


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        pytest.param("{b: 1, a: 2}", "{a: 2, b: 1}", 0, id="equal"),
        pytest.param("{b: 1}", "{b: 2}", 1, id="different"),
        pytest.param("", "{b: 2}", 1, id="of the second profile only"),
        pytest.param("{b: 1}", "", 0, id="of the first profile only"),
        pytest.param("{b: 1}", "null", 1, id="none in the second profile"),
        pytest.param("null", "null", 0, id="none in either"),
        pytest.param("{b: 1}", "{}", 1, id="empty in the second profile"),
        pytest.param("null", "{b: 3, a: 2}", 1, id="printed with sorted keys"),
    ],
)
def test_profiles_have_the_same_arguments_of_the_plugin_that_sorts(first, second, count):
    """Upstream: pkg/scheduler/apis/config/validation/validation.go, validateCommonQueueSort"""
    profiles = [
        f"- schedulerName: {name}\n  {SORTED}\n"
        + (f"  pluginConfig:\n  - {{name: Mine, args: {args}}}\n" if args else "")
        for name, args in (("a", first), ("b", second))
    ]
    found = problems("profiles:\n" + "".join(profiles))
    printed = {"{b: 2}": '{"b":2}', "{b: 3, a: 2}": '{"a":2,"b":3}'}.get(second, second)
    assert (
        found
        == [
            f"profiles[1].pluginConfig.args: Invalid value: {printed}: "
            "queueSort must be the same for all profiles"
        ]
        * count
    )


def test_a_configuration_without_defaults_lacks_profiles_and_names():
    election = LeaderElection(resource_lock="", resource_name="", resource_namespace="")
    errors = validate(KubeSchedulerConfiguration(leader_election=election))
    assert [str(error) for error in errors] == [
        "leaderElection.resourceLock: Required value",
        "leaderElection.resourceNamespace: Required value",
        "leaderElection.resourceName: Required value",
        'leaderElection.resourceLock: Invalid value: "": resourceLock value must be "leases"',
        "profiles: Required value",
    ]


def of_plugin(name, args):
    return f"profiles: [{{pluginConfig: [{{name: {name}, args: {{{args}}}}}]}}]"


FIT = "{type: %s, resources: [{name: cpu, weight: %d}]%s}"
POINTS = "[{utilization: 0, score: 0}, {utilization: 100, score: 10}]"
LINE = f", requestedToCapacityRatio: {{shape: {POINTS}}}"


@pytest.mark.parametrize(
    "body",
    [
        "parallelism: 1",
        "percentageOfNodesToScore: 0",
        "percentageOfNodesToScore: 100",
        "profiles: [{percentageOfNodesToScore: 100}]",
        "clientConnection: {burst: 1}",
        "podInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 1",
        "leaderElection: {leaseDuration: 2ns, renewDeadline: 1ns, retryPeriod: 1ns}",
        "leaderElection: {leaderElect: false, leaseDuration: -1s, resourceLock: endpoints}",
        of_plugin(
            "DefaultPreemption", "minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 1"
        ),
        of_plugin(
            "DefaultPreemption", "minCandidateNodesPercentage: 100, minCandidateNodesAbsolute: 0"
        ),
        of_plugin("DynamicResources", "filterTimeout: 0s, bindingTimeout: 1s"),
        of_plugin("InterPodAffinity", "hardPodAffinityWeight: 0"),
        of_plugin("InterPodAffinity", "hardPodAffinityWeight: 100"),
        of_plugin("VolumeBinding", "bindTimeoutSeconds: 0"),
        of_plugin("NodeResourcesFit", f"scoringStrategy: {FIT % ('LeastAllocated', 1, '')}"),
        of_plugin("NodeResourcesFit", f"scoringStrategy: {FIT % ('MostAllocated', 100, '')}"),
        of_plugin(
            "NodeResourcesFit", f"scoringStrategy: {FIT % ('RequestedToCapacityRatio', 1, LINE)}"
        ),
        of_plugin(
            "PodTopologySpread",
            "defaultingType: List, defaultConstraints:"
            " [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway}]",
        ),
        of_plugin(
            "Coscheduling",
            "permitWaitingTimeSeconds: 0, podGroupBackoffSeconds: 0, podGroupRejectPercentage: 0",
        ),
        of_plugin("Coscheduling", "podGroupRejectPercentage: 100"),
    ],
)
def test_values_at_their_limits_are_valid(body):
    """Upstream: pkg/scheduler/apis/config/validation/validation.go."""
    assert problems(body) == []
    effective(read_configuration(f"{HEAD}{body}", source="c.yaml"))
