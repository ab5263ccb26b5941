"""Soft spreading that follows the cluster scores as that of a new runner."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Object, with_node_name
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import PluginRunner
from podwright.scheduler.preemption.tests.situations import profile
from podwright.testing import make_node, make_pod

ZONE, RACK, HOST = "topology.kubernetes.io/zone", "rack", "kubernetes.io/hostname"
SERVICE = decode(
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": "default"},
        "spec": {"selector": {"app": "a"}},
    }
)


def soft(key: str) -> dict[str, Any]:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "a"}},
    }


def node(number: int, zone: str, rack: str = "") -> Object:
    name = f"n{number}"
    labels = {HOST: name} | ({RACK: rack} if rack else {})
    return make_node(name, cpu=str(8 + number % 3), zone=zone, labels=labels)


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param((), id="default constraints of a service"),
        pytest.param((ZONE,), id="zones"),
        pytest.param((RACK,), id="racks, which some nodes lack"),
        pytest.param((ZONE, RACK), id="zones and racks"),
        pytest.param((RACK, ZONE), id="racks and zones"),
        pytest.param((HOST, RACK), id="hosts and racks"),
        pytest.param((ZONE, HOST), id="zones and hosts"),
    ],
)
def test_scores_are_the_same_as_nodes_and_pods_come_and_go(keys: tuple[str, ...]) -> None:
    cluster = Cluster()
    cluster.put(SERVICE)
    for number in range(8):
        # Some nodes have no zone, and others have no rack.
        cluster.put(node(number, ("a", "b", "")[number % 3], ("x", "", "y", "z")[number % 4]))
    kept = PluginRunner(profile(), cluster)
    spec = {"topologySpreadConstraints": [soft(key) for key in keys]} if keys else {}
    for number in range(24):
        pod = make_pod(f"p{number}", cpu="500m", labels={"app": "a"}, spec=spec)
        found = kept.decide(pod, cycle_number=number)
        expected = PluginRunner(profile(), cluster).decide(pod, cycle_number=number)
        assert (found.node, found.total, found.tie_count) == (
            expected.node, expected.total, expected.tie_count
        )  # fmt: skip
        cluster.put(with_node_name(pod, found.node))
        if number % 4 == 3:
            cluster.remove(f"default/p{number - 2}")
        if number == 9:
            cluster.put(node(20, "c", "v"))
        if number == 14:
            cluster.put(node(2, "d", "w"))
