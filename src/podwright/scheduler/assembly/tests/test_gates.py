"""Feature gates reach the plugins and change what they decide."""

import pytest

import podwright as pw
from podwright.scheduler.assembly import Registry, build_profiles
from podwright.scheduler.columns.tests.storage_objects import claim, storage_class, using, volume
from podwright.scheduler.config import KubeSchedulerConfiguration, effective, parse_gates
from podwright.scheduler.framework.events import Hint
from podwright.testing import make_node, make_pod

WITHOUT_DECLARED_FEATURES = (
    "NodeDeclaredFeatures=false,ExtendWebSocketsToKubelet=false,"
    "InPlacePodLevelResourcesVerticalScaling=false,"
    "InPlacePodVerticalScalingInitContainers=false,"
    "RestartAllContainersOnContainerExits=false"
)
"""The gate and every gate that depends on it, disabled."""

COMPARES = parse_gates("TaintTolerationComparisonOperators=true")
NO_LABEL_KEYS = parse_gates(
    "MatchLabelKeysInPodTopologySpread=false,MatchLabelKeysInPodTopologySpreadSelectorMerge=false"
)


def pod_that_tolerates(operator, value, effect="NoSchedule", **spec):
    toleration = {"key": "load", "operator": operator, "value": value, "effect": effect}
    labels = {"app": "web"}
    return make_pod("web", labels=labels, spec={"tolerations": [toleration]} | spec)


def nodes_with(effect):
    return [make_node(f"n{load}", taints=[f"load={load}:{effect}"]) for load in (5, 50)]


@pytest.mark.parametrize(
    ("gates", "operator", "value", "feasible"),
    [
        pytest.param(COMPARES, "Lt", "10", ("n5",), id="less"),
        pytest.param(COMPARES, "Gt", "10", ("n50",), id="greater"),
        pytest.param(COMPARES, "Gt", "ten", (), id="no number"),
        pytest.param(pw.parse_gates(""), "Lt", "10", (), id="off: tolerates nothing"),
    ],
)
def test_tolerations_compare_numbers(gates, operator, value, feasible):
    scheduler = pw.Scheduler(gates=gates)
    scheduler.add(*nodes_with("NoSchedule"))
    explanation = scheduler.explain(pod_that_tolerates(operator, value))
    assert explanation.feasible == feasible
    lacking = {near.node: near.lacks for near in scheduler.nearest_nodes(explanation)}
    assert set(lacking) == {"n5", "n50"} - set(feasible)


def test_tolerations_that_compare_count_for_the_score():
    scheduler = pw.Scheduler(gates=COMPARES)
    scheduler.add(*nodes_with("PreferNoSchedule"))
    explanation = scheduler.explain(pod_that_tolerates("Lt", "10", "PreferNoSchedule"))
    (scores,) = [s for s in explanation.scores if s.plugin == "TaintToleration"]
    assert (scores.raw, scores.normalized) == ({"n5": 0, "n50": 1}, {"n5": 100, "n50": 0})


@pytest.mark.parametrize(
    ("gates", "feasible"),
    [
        pytest.param(pw.parse_gates(""), ("free",), id="off: the other zone alone counts"),
        pytest.param(COMPARES, ("n5",), id="on: the tainted zone counts, and is empty"),
    ],
)
def test_tolerations_that_compare_decide_which_domains_count(gates, feasible):
    scheduler = pw.Scheduler(gates=gates)
    for node, zone, taints in (("n5", "a", ["load=5:NoSchedule"]), ("free", "b", [])):
        scheduler.add(make_node(node, zone=zone, taints=taints))
    scheduler.add(make_pod("there", node="free", labels={"app": "web"}))
    constraint = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "nodeTaintsPolicy": "Honor",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    pod = pod_that_tolerates("Lt", "10", topologySpreadConstraints=[constraint])
    assert scheduler.explain(pod).feasible == feasible


def test_hints_compare_numbers_too():
    (plugin,) = [plugin for plugin in _profile(COMPARES).filter if plugin.name == "TaintToleration"]
    registered, _ = plugin.events_to_register()
    before, after = (
        make_node("n", taints=["load=50:NoSchedule"]),
        make_node("n", taints=["load=5:NoSchedule"]),
    )
    assert registered.hint is not None
    assert registered.hint(pod_that_tolerates("Lt", "10"), before, after) is Hint.QUEUE


@pytest.mark.parametrize(
    ("gates", "feasible"),
    [
        pytest.param(pw.parse_gates(""), {"n1", "n2"}, id="on: only pods of its own version"),
        pytest.param(NO_LABEL_KEYS, {"n2"}, id="off: pods of every version"),
    ],
)
def test_label_keys_are_read_or_not(gates, feasible):
    scheduler = pw.Scheduler(gates=gates)
    scheduler.add(make_node("n1"), make_node("n2"))
    scheduler.add(make_pod("old", node="n1", labels={"app": "web", "version": "1"}))
    constraint = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["version"],
    }
    pod = make_pod(
        "new",
        labels={"app": "web", "version": "2"},
        spec={"topologySpreadConstraints": [constraint]},
    )
    assert set(scheduler.explain(pod).feasible) == feasible


def test_without_declared_features_a_profile_that_names_the_plugin_asks_for_none():
    text = """
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration
    profiles:
    - plugins: {multiPoint: {enabled: [{name: NodeDeclaredFeatures}]}}
    """
    configuration = pw.read_configuration(text, source="c.yaml")
    pod = make_pod("web", spec={"hostNetwork": True, "hostUsers": False})
    for gates, fits in (("", False), (WITHOUT_DECLARED_FEATURES, True)):
        scheduler = pw.Scheduler(configuration if fits else None, gates=parse_gates(gates))
        scheduler.add(make_node("n1"))
        assert bool(scheduler.explain(pod).feasible) is fits
    assert not any(p.name == "NodeDeclaredFeatures" for p in _profile(parse_gates(gates)).filter)


def test_storage_is_scored_for_the_whole_cycle():
    scheduler = pw.Scheduler(gates=parse_gates("StorageCapacityScoring=true"))
    scheduler.add(make_node("n1"), make_node("n2"), storage_class("local"))
    scheduler.add(volume("v", "10Gi", on=["n1"]), volume("w", "50Gi", on=["n2"]))
    for name in ("a", "b"):
        scheduler.add(claim(name), make_pod(name, spec={"volumes": using(name)}))
    scheduler.add(make_pod("plain"))
    explanation = scheduler.explain("default/a")
    (scores,) = [s for s in explanation.scores if s.plugin == "VolumeBinding"]
    assert scores.normalized == {"n1": 50, "n2": 90}
    (scores,) = [s for s in scheduler.explain("default/plain").scores if s.plugin == scores.plugin]
    assert scores.normalized == {"n1": 0, "n2": 0}
    decisions = {decision.pod.name: decision for decision in scheduler.schedule_all()}
    assert (decisions["a"].node, decisions["a"].total) == ("n2", explanation.totals["n2"])
    assert decisions["b"].node == "n1"


@pytest.mark.parametrize(
    ("gates", "total"),
    [
        pytest.param("", 3000, id="on: the pod's own requests count"),
        pytest.param("PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false", 1000,
                     id="off: those of its container count"),
    ],
)  # fmt: skip
def test_pod_level_resources_count_or_not(gates, total):
    scheduler = pw.Scheduler(gates=parse_gates(gates))
    scheduler.add(make_node("n1", cpu="2"), make_node("n2", cpu="4"))
    pod = make_pod("web", cpu="1", spec={"resources": {"requests": {"cpu": "3"}}})
    assert scheduler.explain(pod).feasible == (("n2",) if total == 3000 else ("n1", "n2"))
    scheduler.add(pod)
    slot = scheduler.schedule("default/web").slot
    assert int(scheduler.cluster.nodes.requested[slot, 0]) == total


class Gated(pw.Plugin):
    """A plugin of the user's own that asks for the gates."""

    name = "Gated"
    takes_gates = True

    def __init__(self, zone="", *, gates):
        self.zone = zone
        self.is_open = "TaintTolerationComparisonOperators" in gates

    def pre_enqueue(self, pod):
        """Let everything in."""
        return pw.Status()


def test_a_plugin_of_ones_own_is_given_the_gates_if_it_takes_them():
    registry = Registry([Gated])
    for gates, is_open in ((COMPARES, True), (pw.parse_gates(""), False)):
        made = registry.make("Gated", {"zone": "a"}, gates=gates, source="")
        assert isinstance(made, Gated)
        assert (made.zone, made.is_open) == ("a", is_open)
    with pytest.raises(pw.InputError, match=r"it takes zone, from profiles"):
        registry.make("Gated", {"size": 1}, source="")


def _profile(gates):
    registry = Registry()
    configuration = effective(KubeSchedulerConfiguration(), gates, implements=registry.points_of)
    return build_profiles(configuration, registry)["default-scheduler"]
