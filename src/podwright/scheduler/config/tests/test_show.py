"""A configuration prints as --write-config-to prints it, and reads back the same."""

import msgspec
import pytest

from podwright.scheduler.config import (
    DEFAULT_GATES,
    CoschedulingArgs,
    KubeSchedulerConfiguration,
    default_plugins,
    read_configuration,
    schema,
    set_defaults,
    to_document,
)

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
EVERYTHING = (
    HEAD
    + """
percentageOfNodesToScore: 0
delayCacheUntilActive: true
profiles:
- schedulerName: a
  percentageOfNodesToScore: 7
  plugins: {score: {enabled: [{name: NodeAffinity, weight: 3}], disabled: [{name: '*'}]}}
  pluginConfig:
  - {name: Mine, args: {b: {d: 1, c: 2}, a: [x]}}
  - name: NodeAffinity
    args: {addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution:
      [{weight: 1, preference: {matchExpressions: [{key: a, operator: In, values: [b]}]}}]}}
  - name: PodTopologySpread
    args: {defaultingType: List, defaultConstraints:
      [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway}]}
extenders:
- {urlPrefix: u, filterVerb: f, weight: 2, enableHTTPS: true, httpTimeout: 1500ms, ignorable: true,
   tlsConfig: {insecure: true, caData: YWJj}, nodeCacheCapable: true,
   managedResources: [{name: example.com/a, ignoredByScheduler: true}, {name: example.com/b}]}
"""
)


def test_the_default_configuration():
    document = to_document(set_defaults(KubeSchedulerConfiguration()))
    profiles = document.pop("profiles")
    assert document == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "clientConnection": {
            "acceptContentTypes": "",
            "burst": 100,
            "contentType": "application/vnd.kubernetes.protobuf",
            "kubeconfig": "",
            "qps": 50.0,
        },
        "enableContentionProfiling": True,
        "enableProfiling": True,
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {
            "leaderElect": True,
            "leaseDuration": "15s",
            "renewDeadline": "10s",
            "resourceLock": "leases",
            "resourceName": "kube-scheduler",
            "resourceNamespace": "kube-system",
            "retryPeriod": "2s",
        },
        "parallelism": 16,
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 10,
    }
    assert isinstance(profiles, list)
    assert list(profiles[0]) == ["pluginConfig", "plugins", "schedulerName"]
    assert profiles[0]["plugins"]["bind"] == {}
    assert profiles[0]["plugins"]["multiPoint"]["enabled"] == [
        {"name": plugin.name, "weight": plugin.weight} for plugin in default_plugins(DEFAULT_GATES)
    ]
    cpu_and_memory = [{"name": name, "weight": 1} for name in ("cpu", "memory")]
    args: dict[str, dict[str, object]] = {
        "DefaultPreemption": {
            "minCandidateNodesAbsolute": 100,
            "minCandidateNodesPercentage": 10,
        },
        "DynamicResources": {"bindingTimeout": "10m0s", "filterTimeout": "10s"},
        "InterPodAffinity": {
            "hardPodAffinityWeight": 1,
            "ignorePreferredTermsOfExistingPods": False,
        },
        "NodeAffinity": {},
        "NodeResourcesBalancedAllocation": {"resources": cpu_and_memory},
        "NodeResourcesFit": {
            "scoringStrategy": {"resources": cpu_and_memory, "type": "LeastAllocated"}
        },
        "PodTopologySpread": {"defaultingType": "System"},
        "VolumeBinding": {"bindTimeoutSeconds": 600},
    }
    version = "kubescheduler.config.k8s.io/v1"
    assert profiles[0]["pluginConfig"] == [
        {"args": {"apiVersion": version, "kind": f"{name}Args"} | given, "name": name}
        for name, given in args.items()
    ]


def test_the_defaults_of_coscheduling():
    # Upstream: scheduler-plugins apis/config/v1/defaults.go
    args = CoschedulingArgs()
    assert args.permit_waiting_time_seconds == 60
    assert (args.pod_group_backoff_seconds, args.pod_group_reject_percentage) == (0, 10)


def test_keys_are_in_alphabetical_order():
    def check(value):
        if isinstance(value, dict):
            assert list(value) == sorted(value)
            for item in value.values():
                check(item)
        if isinstance(value, list):
            for item in value:
                check(item)

    check(to_document(set_defaults(read_configuration(EVERYTHING, source="c.yaml"))))


def test_an_extender_shows_what_is_set():
    document = to_document(read_configuration(EVERYTHING, source="c.yaml"))
    assert document["extenders"] == [
        {
            "enableHTTPS": True,
            "filterVerb": "f",
            "httpTimeout": "1.5s",
            "ignorable": True,
            "managedResources": [
                {"ignoredByScheduler": True, "name": "example.com/a"},
                {"name": "example.com/b"},
            ],
            "nodeCacheCapable": True,
            "tlsConfig": {"caData": "YWJj", "insecure": True},
            "urlPrefix": "u",
            "weight": 2,
        }
    ]


def test_an_extender_shows_nothing_that_is_not_set():
    text = f"{HEAD}extenders: [{{urlPrefix: u, managedResources: [{{name: example.com/a}}]}}]"
    document = to_document(read_configuration(text, source="c.yaml"))
    resources = [{"name": "example.com/a"}]
    assert document["extenders"] == [
        {"httpTimeout": "0s", "managedResources": resources, "urlPrefix": "u"}
    ]


def test_what_is_shown_reads_back_the_same():
    configuration = set_defaults(read_configuration(EVERYTHING, source="c.yaml"))
    document = to_document(configuration)
    assert read_configuration(document, source="shown") == configuration
    for text in (msgspec.yaml.encode(document), msgspec.json.encode(document)):
        assert read_configuration(text, source="shown") == configuration


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        pytest.param("{}", None, id="no terms are given"),
        pytest.param("{nodeSelectorTerms: []}", [], id="an empty list is"),
    ],
)
def test_required_affinity_shows_its_terms_even_without_any(given, shown):
    required = f"{{requiredDuringSchedulingIgnoredDuringExecution: {given}}}"
    entry = f"{{name: NodeAffinity, args: {{addedAffinity: {required}}}}}"
    text = f"{HEAD}profiles: [{{pluginConfig: [{entry}]}}]"
    profiles = to_document(read_configuration(text, source="c.yaml"))["profiles"]
    assert isinstance(profiles, list)
    affinity = profiles[0]["pluginConfig"][0]["args"]["addedAffinity"]
    assert affinity == {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": shown}
    }


PARTS = [
    part
    for part in vars(schema).values()
    if isinstance(part, type)
    and issubclass(part, msgspec.Struct)
    and part.__module__ == schema.__name__
]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_the_parts_of_a_configuration_are_values_made_by_field_names(part):
    assert part.__struct_config__.frozen
    assert part.__match_args__ == ()
