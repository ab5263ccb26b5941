"""The plugins that read a node's own fields: name, cordon, taints, features, ports."""

import pytest

from podwright.scheduler.config import Gates
from podwright.scheduler.framework import Code
from podwright.scheduler.plugins.node_declared_features import NodeDeclaredFeatures
from podwright.scheduler.plugins.node_name import NodeName
from podwright.scheduler.plugins.node_ports import NodePorts
from podwright.scheduler.plugins.node_unschedulable import NodeUnschedulable
from podwright.scheduler.plugins.taint_toleration import TaintToleration
from podwright.scheduler.plugins.tests.one_node_at_a_time import (
    cycle_of,
    filtered,
    node,
    pod,
    reasons,
    scored,
)

CORDON = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
GPU = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
SOFT = {"key": "slow", "effect": "PreferNoSchedule"}


def test_a_pod_with_a_node_name_fits_there_alone():
    cycle = cycle_of(pod(nodeName="b"), node("a"), node("b"))
    text = "node(s) didn't match the requested node name"
    assert reasons(NodeName(), cycle) == {"a": (text,)}


def test_a_pod_with_an_unknown_node_name_fits_on_no_node():
    assert set(reasons(NodeName(), cycle_of(pod(nodeName="c"), node("a"), node("b")))) == {"a", "b"}


@pytest.mark.parametrize(
    ("tolerations", "rejected"),
    [
        pytest.param([], {"cordoned"}, id="no toleration"),
        pytest.param([CORDON], set(), id="the taint is tolerated, though the node lacks it"),
        pytest.param([CORDON | {"effect": "NoExecute"}], {"cordoned"}, id="another effect"),
        pytest.param([{"operator": "Exists"}], set(), id="all taints are tolerated"),
    ],
)
def test_cordoned_nodes(tolerations, rejected):
    cycle = cycle_of(
        pod(tolerations=tolerations), node("open"), node("cordoned", spec={"unschedulable": True})
    )
    assert set(reasons(NodeUnschedulable(), cycle)) == rejected


@pytest.mark.parametrize(
    ("toleration", "passes"),
    [
        pytest.param({"key": "gpu", "operator": "Exists"}, True, id="any value"),
        pytest.param({"key": "gpu", "value": "yes"}, True, id="equal is the default"),
        pytest.param({"key": "gpu", "value": "no"}, False, id="another value"),
        pytest.param({"key": "gpu", "operator": "Gt", "value": "1"}, False, id="Gt is gated off"),
    ],
)
def test_taints_keep_pods_away(toleration, passes):
    plugin = TaintToleration()
    cycle = cycle_of(pod(tolerations=[toleration]), node("n", spec={"taints": [GPU]}))
    found = filtered(plugin, cycle)["n"]
    assert found.is_success == passes
    if not passes:
        assert found.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        assert found.reasons == ("node(s) had untolerated taint(s)",)


def test_taints_that_prefer_others_are_counted_and_do_not_reject():
    plugin = TaintToleration()
    cycle = cycle_of(
        pod(tolerations=[{"key": "old", "operator": "Exists", "effect": "NoSchedule"}]),
        node("none"),
        node("two", spec={"taints": [SOFT, SOFT | {"key": "old"}, GPU]}),
    )
    assert plugin.pre_score(cycle).is_success
    assert scored(plugin, cycle) == {"none": 0, "two": 2}


def test_a_new_set_of_taints_is_seen_by_a_running_cycle():
    plugin = TaintToleration()
    cycle = cycle_of(pod(), node("n"))
    assert filtered(plugin, cycle)["n"].is_success
    cycle.cluster.put(node("n", spec={"taints": [GPU]}))
    assert not filtered(plugin, cycle)["n"].is_success


RULE = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}
INIT = {"name": "i", "restartPolicyRules": [RULE]}


@pytest.mark.parametrize(
    ("spec", "needs"),
    [
        pytest.param({}, False, id="no required feature"),
        pytest.param({"hostNetwork": True, "hostUsers": False}, True, id="users on host network"),
        pytest.param({"hostNetwork": True}, False, id="host network alone"),
        pytest.param({"hostUsers": False}, False, id="users alone"),
        pytest.param({"initContainers": [INIT]}, True, id="restart rule"),
    ],
)
def test_declared_features(spec, needs):
    plugin = NodeDeclaredFeatures()
    features = ["UserNamespacesHostNetworkSupport", "RestartAllContainersOnContainerExits"]
    cycle = cycle_of(pod(**spec), node("old"), node("new", status={"declaredFeatures": features}))
    assert plugin.pre_filter(cycle).is_skip == (not needs)
    if needs:
        text = "node(s) didn't match Pod's required features"
        assert reasons(plugin, cycle) == {"old": (text,)}


def test_without_their_gate_declared_features_do_not_matter():
    gates = Gates({"NodeDeclaredFeatures": False})
    plugin = NodeDeclaredFeatures(gates=gates)
    cycle = cycle_of(pod(initContainers=[INIT]), node("old"))
    assert plugin.events_to_register() == ()
    assert plugin.pre_filter(cycle).is_skip
    assert reasons(plugin, cycle) == {}


def with_port(name="p", **port):
    containers = [{"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP"} | port]}]
    return pod(name, containers=containers, nodeName="n" if name == "there" else "")


@pytest.mark.parametrize(
    ("requested_port", "fits"),
    [
        pytest.param({"hostPort": 80}, False, id="the same port on every address"),
        pytest.param({"hostPort": 80, "hostIP": "10.0.0.1"}, False, id="the same address"),
        pytest.param({"hostPort": 80, "hostIP": "10.0.0.2"}, True, id="another address"),
        pytest.param({"hostPort": 81}, True, id="another port"),
        pytest.param({"hostPort": 80, "protocol": "UDP"}, True, id="another protocol"),
    ],
)
@pytest.mark.parametrize("other_nodes", [0, 100], ids=["few nodes", "many nodes"])
def test_host_ports(requested_port, fits, other_nodes):
    plugin = NodePorts()
    there = with_port("there", hostPort=80, hostIP="10.0.0.1")
    others = [node(f"other-{i}") for i in range(other_nodes)]
    cycle = cycle_of(with_port(**requested_port), node("n"), there, *others)
    assert plugin.pre_filter(cycle).is_success
    assert set(reasons(plugin, cycle)) == (set() if fits else {"n"})
    cycle.cluster.remove(there.key)
    assert not reasons(plugin, cycle)


def test_pods_without_host_ports_are_not_checked():
    assert NodePorts().pre_filter(cycle_of(with_port(), node("n"))).is_skip
