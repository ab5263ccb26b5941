"""Feature gates are set as --feature-gates sets them."""

from collections import Counter

import pytest

from podwright.apimachinery.objects.errors import InputError
from podwright.scheduler.config import DEFAULT_GATES, GATES, parse_gates, set_gates, without_effect
from podwright.scheduler.config.gates import _EFFECTS, EFFECTS, REQUIRED_GATES


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        pytest.param("", {}, id="nothing"),
        pytest.param("OpportunisticBatching=true", {}, id="a default said again"),
        pytest.param("OpportunisticBatching=false", {"OpportunisticBatching": False}, id="off"),
        pytest.param(" PodTopologyLabelsAdmission = F ,", {"PodTopologyLabelsAdmission": False},
                     id="spaces, Go's short booleans and a comma at the end"),
        pytest.param("SidecarContainers=true", {}, id="a locked gate at its default"),
        pytest.param("VolumeLimitScaling=true,VolumeLimitScaling=false", {}, id="the last counts"),
        pytest.param("GenericWorkload=true,GangScheduling=true",
                     {"GangScheduling": True, "GenericWorkload": True},
                     id="a gate with the one it depends on"),
        pytest.param("kube:VolumeLimitScaling=true", {"VolumeLimitScaling": True},
                     id="the component as prefix"),
        pytest.param("kube:,kube: VolumeLimitScaling = true", {"VolumeLimitScaling": True},
                     id="a prefix without a gate, and spaces"),
        pytest.param(",", {}, id="nothing"),
        pytest.param("KubeletInUserNamespace=true,CPUManagerPolicyAlphaOptions=false",
                     {"KubeletInUserNamespace": True}, id="gates of other components"),
    ],
)  # fmt: skip
def test_gates_are_read(text, changed):
    assert parse_gates(text).changed == changed


def test_a_group_sets_its_stage_except_what_is_named():
    gates = parse_gates("MutablePVNodeAffinity=false,AllAlpha=true")
    alphas = {name for name, gate in GATES.items() if gate.stage == "Alpha"}
    assert set(gates.changed) == alphas - {"MutablePVNodeAffinity"}
    assert list(gates) == sorted(gates)


def test_all_beta_off_leaves_ga_alone():
    gates = parse_gates("AllBeta=false")
    assert "DRAPrioritizedList" in gates
    assert "SchedulerAsyncPreemption" not in gates
    assert not [name for name in gates if GATES[name].stage == "Beta"]


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        pytest.param("GangSchedulin=true",
                     ['unrecognized feature gate: GangSchedulin; did you mean "GangScheduling"?'],
                     id="unknown, with the nearest name"),
        pytest.param("SidecarContainers=false",
                     ["cannot set feature gate SidecarContainers to false, "
                      "feature is locked to true"],
                     id="locked"),
        pytest.param("PodLevelResources", ["missing bool value for PodLevelResources"],
                     id="no value"),
        pytest.param("PodLevelResources=yes",
                     ["invalid value of PodLevelResources=yes, err: "
                      'strconv.ParseBool: parsing "yes": invalid syntax'],
                     id="no boolean"),
        pytest.param("GangScheduling=true",
                     ["GangScheduling is enabled, but depends on features that are disabled: "
                      "[GenericWorkload]"],
                     id="without the gate it depends on"),
        pytest.param("kube:MemoryQoS=true,PodsAPI=true",
                     ["set kube feature gates with default empty prefix or kube: prefix "
                      "consistently, do not mix use"],
                     id="a prefix for some names only"),
        pytest.param("kube:MemoryQoS=true,PodsAPI",
                     ["set kube feature gates with default empty prefix or kube: prefix "
                      "consistently, do not mix use", "missing bool value for PodsAPI"],
                     id="the prefix before the values"),
        pytest.param("wardle:MemoryQoS=true", ["component not registered: wardle"],
                     id="another component"),
        pytest.param("wardle:Zzz=true,b:PodsAPI,wardle:SidecarContainers=no",
                     ["component not registered: b", "component not registered: wardle"],
                     id="gates of other components are not read"),
        pytest.param("Zzz=true,SidecarContainers=false",
                     ["cannot set feature gate SidecarContainers to false, "
                      "feature is locked to true",
                      "unrecognized feature gate: Zzz"],
                     id="all of them together"),
    ],
)  # fmt: skip
def test_gates_are_refused(text, messages):
    with pytest.raises(InputError) as caught:
        parse_gates(text)
    assert [(each.path, each.message) for each in caught.value.errors] == [
        ("", message) for message in messages
    ]
    assert str(caught.value).splitlines() == [f"--feature-gates: {message}" for message in messages]


def test_gates_from_a_mapping():
    gates = set_gates({"GenericWorkload": True})
    assert "GenericWorkload" in gates
    assert "GenericWorkload" not in DEFAULT_GATES


def test_gates_that_change_nothing_are_known():
    gates = parse_gates("SchedulerAsyncAPICalls=true,VolumeLimitScaling=true,"
                        "SchedulerPopFromBackoffQ=false,OpportunisticBatching=true")  # fmt: skip
    assert without_effect(gates, "machine") == ("SchedulerAsyncAPICalls", "VolumeLimitScaling")
    assert without_effect(gates, "configuration", "decisions") == (
        "SchedulerAsyncAPICalls",
        "SchedulerPopFromBackoffQ",
    )


def test_locked_gates_say_nothing_of_effects():
    assert not [name for name, gate in GATES.items() if gate.locked and gate.effects]


def test_every_gate_with_an_effect_exists():
    effects = {name: gate.effects for name, gate in GATES.items() if gate.effects}
    assert effects == _EFFECTS
    assert {each for found in effects.values() for each in found} == {*EFFECTS}
    assert effects["GenericWorkload"] == ("configuration", "resources")


def test_every_required_gate_exists():
    required = {name for gate in GATES.values() for name in gate.requires}
    assert required <= GATES.keys()
    assert {name: gate.requires for name, gate in GATES.items() if gate.requires} == REQUIRED_GATES
    assert len(GATES) == 239, "with AllAlpha and AllBeta, the 241 names of the binary"


def test_gates_have_the_stages_and_defaults_of_the_binary():
    # Upstream: pkg/features/kube_features.go, defaultVersionedKubernetesFeatureGates
    states = Counter((gate.stage, gate.default, gate.locked) for gate in GATES.values())
    assert states == {
        ("Alpha", False, False): 48,
        ("Beta", False, False): 11,
        ("Beta", True, False): 88,
        ("GA", True, False): 5,
        ("GA", True, True): 71,
        ("Deprecated", False, False): 7,
        ("Deprecated", False, True): 3,
        ("Deprecated", True, False): 4,
        ("Deprecated", True, True): 2,
    }
    assert [name for name, gate in GATES.items() if gate.effects and not gate.default] == [
        "ClusterTrustBundle",
        "CoordinatedLeaderElection",
        "DRADeviceTaintRules",
        "DRAResourcePoolStatus",
        "GangScheduling",
        "GenericWorkload",
        "PodCertificateRequest",
        "StorageCapacityScoring",
        "StorageVersionAPI",
        "StorageVersionMigrator",
        "TaintTolerationComparisonOperators",
        "TopologyAwareWorkloadScheduling",
        "VolumeLimitScaling",
        "WorkloadAwarePreemption",
    ]
