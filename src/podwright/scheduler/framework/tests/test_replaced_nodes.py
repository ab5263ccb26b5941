"""Scores of nodes that an extender returned: all that scores read is in the cluster around them.

Upstream: pkg/scheduler/schedule_one.go, prioritizeNodes and findNodesThatPassExtenders.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import Object, Pod, decode
from podwright.scheduler.assembly.build import build_profiles
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.tests.storage_objects import (
    capacity,
    claim,
    csi_driver,
    storage_class,
    using,
    volume,
)
from podwright.scheduler.config import ExtenderReply, effective, parse_gates
from podwright.scheduler.framework.extenders.extender_calls import extenders_of
from podwright.scheduler.framework.run import PluginRunner
from podwright.testing import make_node, make_pod

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
APP = {"app": "web"}
NEAR = {
    "weight": 1,
    "podAffinityTerm": {
        "topologyKey": ZONE,
        "namespaceSelector": {"matchLabels": {"team": "a"}},
        "labelSelector": {"matchLabels": APP},
    },
}
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NAMED = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
SERVICE = decode(
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": APP},
    }
)
TEAM = decode(
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": {"team": "a"}}}
)


def document_of(name: str) -> dict[str, Any]:
    """Return a node of its own zone."""
    labels = {HOST: name, ZONE: f"z{name}"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


@pytest.mark.parametrize(
    ("plugin", "spec", "objects", "normalized"),
    [
        pytest.param(
            "PodTopologySpread",
            {},
            [SERVICE, make_pod("there", labels=APP, node="beside-n1")],
            {"n0": 100, "n1": 85},
            id="pods spread by a service",
        ),
        pytest.param(
            "NodeAffinity",
            {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": NAMED}]}}},
            [],
            {"n0": 0, "n1": 100},
            id="the name of a node",
        ),
        pytest.param(
            "InterPodAffinity",
            {"affinity": {"podAffinity": {PREFERRED: [NEAR]}}},
            [TEAM, make_pod("there", namespace="a", labels=APP, node="beside-n1")],
            {"n0": 0, "n1": 100},
            id="terms that select namespaces by their labels",
        ),
        pytest.param(
            "VolumeBinding",
            {"volumes": using("c")},
            [
                storage_class("local"),
                volume("v0", "10Gi", on=["n0"]),
                volume("v1", "50Gi", on=["n1"]),
                claim("c", "5Gi"),
            ],
            {"n0": 50, "n1": 90},
            id="existing volumes",
        ),
        pytest.param(
            "VolumeBinding",
            {"volumes": using("c")},
            [
                storage_class("made", "csi.x"),
                csi_driver("csi.x"),
                capacity("p0", "made", {HOST: "n0"}, capacity="100Gi"),
                capacity("p1", "made", {HOST: "n1"}, capacity="40Gi"),
                claim("c", "20Gi", of_class="made"),
            ],
            {"n0": 80, "n1": 50},
            id="volumes that are to be made",
        ),
    ],
)
def test_scores_of_replaced_nodes(
    plugin: str, spec: dict[str, Any], objects: list[Object], normalized: dict[str, int]
) -> None:
    runner = runner_of(objects)
    found = explained(runner, make_pod("web", labels=APP, spec=spec), "n0", "n1")
    (scores,) = [each for each in found.scores if each.plugin == plugin]
    assert dict(scores.normalized) == normalized


def runner_of(objects: list[Object], plugins: Sequence[type[pw.Plugin]] = ()) -> PluginRunner:
    """Return a runner with an extender that filters, and two nodes in each of two zones."""
    registry = Registry(plugins)
    configuration = effective(
        registry.enable_own(
            pw.read_configuration(
                {
                    "apiVersion": "kubescheduler.config.k8s.io/v1",
                    "kind": "KubeSchedulerConfiguration",
                    "extenders": [{"urlPrefix": "http://e0/", "filterVerb": "filter"}],
                },
                source="config",
            )
        ),
        parse_gates("StorageCapacityScoring=true"),
        implements=registry.points_of,
    )
    cluster = Cluster()
    for name in ("n0", "n1"):
        for each in (name, f"beside-{name}"):
            cluster.put(make_node(each, labels={HOST: each, ZONE: f"z{name}"}))
    for obj in objects:
        cluster.put(obj)
    profile = build_profiles(configuration, registry)["default-scheduler"]
    return PluginRunner(profile, cluster, seed=0, extenders=extenders_of(configuration))


def explained(runner: PluginRunner, pod: Pod, *nodes: str | dict[str, Any]) -> pw.Explanation:
    """Explain a pod for which the extender returns these nodes."""
    items = [document_of(each) if isinstance(each, str) else each for each in nodes]
    body = json.dumps({"Nodes": {"items": items}}).encode()
    return runner.explain(
        pod, cycle_number=1, call_extender=lambda _call: ExtenderReply(status=200, body=body)
    )


def with_disk(name: str) -> dict[str, Any]:
    document = document_of(name)
    return document | {"metadata": {"name": name, "labels": {"disk": "ssd"}}}


PREFERS_DISK = {
    "weight": 1,
    "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]},
}


@pytest.mark.parametrize(
    ("nodes", "normalized"),
    [
        pytest.param(("n0", with_disk("n1")), {"n0": 0, "n1": 100}, id="each once"),
        pytest.param(
            ("n0", "n1", with_disk("n0")), {"n0": 100, "n1": 0}, id="the second one is better"
        ),
        pytest.param((with_disk("n0"), "n0", "n1"), {"n0": 0, "n1": 0}, id="it is worse"),
    ],
)
def test_a_node_that_is_returned_twice_has_the_scores_of_the_second_one(
    nodes: tuple[str | dict[str, Any], ...], normalized: dict[str, int]
) -> None:
    spec = {"affinity": {"nodeAffinity": {PREFERRED: [PREFERS_DISK]}}}
    found = explained(runner_of([]), make_pod("web", spec=spec), *nodes)
    (scores,) = [each for each in found.scores if each.plugin == "NodeAffinity"]
    # The first one counts as a node whose score the others are compared with.
    assert dict(scores.normalized) == normalized
    assert dict(scores.raw) == {name: score // 100 for name, score in normalized.items()}
    assert list(scores.raw) == ["n0", "n1"]


class OnlyOnce(pw.Plugin):
    """Accepts pods where their nodes are those of the scheduler."""

    name = "OnlyOnce"

    def pre_filter(self, cycle: pw.Cycle) -> pw.Status:
        if "beside-n0" in cycle.cluster.nodes.slot_of:
            return pw.Status()
        raise ValueError("not these nodes")


def test_nodes_are_scored_although_a_pre_filter_would_fail_for_them() -> None:
    spec = {"affinity": {"nodeAffinity": {PREFERRED: [PREFERS_DISK]}}}
    runner = runner_of([], [OnlyOnce])
    found = explained(runner, make_pod("web", spec=spec), "n0", with_disk("n1"))
    assert found.error is None
    (scores,) = [each for each in found.scores if each.plugin == "NodeAffinity"]
    assert dict(scores.normalized) == {"n0": 0, "n1": 100}
    assert found.decision.node == "n1"
