"""In-tree plugins that a configuration keeps from the extension point that prepares another.

Upstream, some plugins then do at Filter or Score what they would have prepared, and the others
fail: pkg/scheduler/framework/plugins/*/, `getPreFilterState` and `getPreScoreState`.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import Object, Pod, decode_pod
from podwright.scheduler.columns.tests.storage_objects import claim, storage_class, using, volume
from podwright.scheduler.config import DEFAULT_GATES, Gates
from podwright.testing import make_node, make_pod

WITHOUT_DECLARED_FEATURES = (
    "NodeDeclaredFeatures=false,ExtendWebSocketsToKubelet=false,"
    "InPlacePodLevelResourcesVerticalScaling=false,"
    "InPlacePodVerticalScalingInitContainers=false,"
    "RestartAllContainersOnContainerExits=false"
)
"""The gate and every gate that depends on it, disabled."""

ZONE = "topology.kubernetes.io/zone"


def without(plugin: str, *points: str, gates: Gates = DEFAULT_GATES) -> pw.Scheduler:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {point: {"disabled": [{"name": plugin}]} for point in points}}],
    }
    return pw.Scheduler(pw.read_configuration(document, source="test"), seed=3, gates=gates)


def with_volume(name: str, claim_name: str) -> Pod:
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": using(claim_name)}
    return decode_pod({"metadata": {"name": name}, "spec": spec})


def cluster(seed: int) -> list[Object]:
    """Return nodes and storage on which the plugins below have something to say."""
    chance = random.Random(seed)
    nodes = [
        make_node(
            f"n{number}",
            cpu=chance.choice(["2", "4", "8"]),
            memory=chance.choice(["4Gi", "16Gi"]),
            zone="abc"[number % 3],
        )
        for number in range(9)
    ]
    volumes = [volume(f"v{zone}", labels={ZONE: zone}) for zone in "abc"]
    claims = [claim(f"c{zone}", bound_to=f"v{zone}") for zone in "abc"]
    return [*nodes, *volumes, *claims, claim("late"), storage_class("local")]


def pods(seed: int) -> list[Pod]:
    chance = random.Random(seed)
    found = []
    for number in range(40):
        preferred = {
            "weight": chance.randrange(1, 100),
            "preference": {
                "matchExpressions": [
                    {"key": ZONE, "operator": "In", "values": [chance.choice("abc")]}
                ]
            },
        }
        requested: dict[str, Any] = chance.choice(
            [{}, {"cpu": "100m"}, {"cpu": "700m", "memory": "1Gi"}, {"memory": "2Gi"}]
        )
        spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
        spec["containers"][0]["resources"] = {"requests": requested}
        if chance.random() < 0.5:
            terms = {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}
            spec["affinity"] = {"nodeAffinity": terms}
        if chance.random() < 0.4:
            spec["volumes"] = using(chance.choice(["ca", "cb", "cc", "gone"]))
        found.append(decode_pod({"metadata": {"name": f"p{number}"}, "spec": spec}))
    return found


@pytest.mark.parametrize(
    ("plugin", "point"),
    [
        ("NodeResourcesFit", "preScore"),
        ("NodeResourcesBalancedAllocation", "preScore"),
        ("NodeAffinity", "preScore"),
        ("NodeAffinity", "preFilter"),
        ("VolumeZone", "preFilter"),
        ("NodeVolumeLimits", "preFilter"),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_some_plugins_do_later_what_they_would_have_prepared(plugin, point, seed):
    whole, alone = without("Missing", point), without(plugin, point)
    for scheduler in (whole, alone):
        scheduler.add(*cluster(seed))
    for pod in pods(seed):
        expected, decision = whole.schedule(pod), alone.schedule(pod)
        assert decision.node == expected.node
        assert decision.total == expected.total, "not only the choice: every score"
        assert decision.tie_count == expected.tie_count
        assert decision.error is None


def test_a_volume_that_is_moved_is_seen_without_volume_zones_prefilter():
    scheduler = without("VolumeZone", "preFilter")
    scheduler.add(*cluster(0))
    assert scheduler.schedule(with_volume("p", "ca")).node in {"n0", "n3", "n6"}
    scheduler.add(volume("va", labels={ZONE: "b"}))
    assert scheduler.schedule(with_volume("q", "ca")).node in {"n1", "n4", "n7"}


CYCLE_STATE = "from cycleState"


@pytest.mark.parametrize(
    ("plugin", "text"),
    [
        ("NodePorts", f'reading "PreFilterNodePorts" {CYCLE_STATE}: not found'),
        (
            "NodeResourcesFit",
            f'error reading "PreFilterNodeResourcesFit" {CYCLE_STATE}: not found',
        ),
        ("VolumeRestrictions", f'cannot read "PreFilterVolumeRestrictions" {CYCLE_STATE}'),
        ("VolumeBinding", "not found"),
        ("PodTopologySpread", f'reading "PreFilterPodTopologySpread" {CYCLE_STATE}: not found'),
        (
            "InterPodAffinity",
            f'error reading "PreFilterInterPodAffinity" {CYCLE_STATE}: not found',
        ),
        ("DynamicResources", "not found"),
    ],
)
def test_others_fail_at_filter_without_their_prefilter(plugin, text):
    scheduler = without(plugin, "preFilter")
    scheduler.add(*cluster(0))
    decision = scheduler.schedule(make_pod("web"))
    assert decision.node == ""
    assert decision.message == f'running "{plugin}" filter plugin: {text}'


@pytest.mark.parametrize(
    "plugin",
    ["NodePorts", "NodeResourcesFit", "VolumeRestrictions", "VolumeBinding", "InterPodAffinity"],
)
def test_but_not_if_an_earlier_filter_rejects_every_node(plugin):
    scheduler = without(plugin, "preFilter")
    scheduler.add(make_node("n1", unschedulable=True))
    message = scheduler.schedule(make_pod("web")).message
    assert message.startswith("0/1 nodes are available: 1 node(s) were unschedulable.")


@pytest.mark.parametrize(
    ("plugin", "text"),
    [
        ("TaintToleration", "failed to read"),
        ("PodTopologySpread", "error reading"),
        ("InterPodAffinity", "failed to read"),
    ],
)
def test_others_fail_at_score_without_their_prescore(plugin, text):
    scheduler = without(plugin, "preScore")
    scheduler.add(*cluster(0))
    decision = scheduler.schedule(make_pod("web"))
    where = f'"PreScore{plugin}" {CYCLE_STATE}: not found'
    assert (
        decision.message == f'running Score plugins: plugin "{plugin}" failed with: {text} {where}'
    )


@pytest.mark.parametrize("plugin", ["TaintToleration", "PodTopologySpread", "InterPodAffinity"])
def test_but_not_if_there_is_nothing_to_score(plugin):
    scheduler = without(plugin, "preScore")
    scheduler.add(make_node("n1"))
    assert scheduler.schedule(make_pod("web")).node == "n1"
    reason = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    assert scheduler.schedule(make_pod("big", cpu="900")).message.endswith(reason)


@pytest.mark.parametrize("plugin", ["VolumeBinding", "DynamicResources"])
def test_and_at_reserve_if_they_took_part_in_nothing_before(plugin):
    scheduler = without(plugin, "preFilter", "filter", "preScore", "score")
    scheduler.add(*cluster(0))
    decision = scheduler.schedule(make_pod("web"))
    assert decision.message == f'running Reserve plugin "{plugin}": not found'


def test_features_do_not_matter_without_the_gate_and_without_their_prefilter():
    gates = pw.parse_gates(WITHOUT_DECLARED_FEATURES)
    scheduler = without("NodeDeclaredFeatures", "preFilter", gates=gates)
    scheduler.add(make_node("n1"))
    spec = {"containers": [{"name": "c"}], "hostNetwork": True, "hostUsers": False}
    pod = decode_pod({"metadata": {"name": "web"}, "spec": spec})
    assert scheduler.schedule(pod).node == "n1"
