"""`check_plugin` finds the violations that it documents, and no others."""

import sys
from pathlib import Path

import pytest

import podwright as pw
from podwright.apimachinery.objects import Service, decode_as
from podwright.scheduler.framework.events import NODE
from podwright.testing import PluginCheckFailed, check_plugin, make_node, make_pod

EXAMPLES = Path(__file__).parents[4] / "examples" / "plugins"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def load(module: str, name: str) -> type[pw.Plugin]:
        __import__(module)
        plugin: type[pw.Plugin] = getattr(sys.modules[module], name)
        return plugin

    return load


@pytest.mark.parametrize(
    ("module", "name", "settings", "forms"),
    [
        ("keep_zone", "KeepZone", {"zone": "a"}, False),
        ("fast_keep_zone", "FastKeepZone", {"zone": "a"}, True),
        ("fewest_pods", "FewestPods", {}, False),
        ("fast_fewest_pods", "FastFewestPods", {}, True),
    ],
)
def test_the_examples_keep_the_contract(example, module, name, settings, forms):
    report = check_plugin(example(module, name)(**settings))
    assert not report.findings
    assert ("forms" in report.checked) is forms
    assert {"reads", "pod_key", "settings"} <= set(report.checked)


class Zone(pw.Plugin):
    """A correct plugin; subclasses break one rule each."""

    name = "Zone"
    filter_reads = pw.Reads.NODE

    def pod_key(self, pod):
        return ()

    def filter(self, cycle, node):
        if node.labels.get("topology.kubernetes.io/zone") == "a":
            return pw.Status()
        return pw.Status.unschedulable("node(s) elsewhere")


class OtherColumns(Zone):
    def filter_columns(self, cycle, nodes, out):
        outside = ~nodes.has_label("topology.kubernetes.io/zone", "b")
        out.reject(outside, pw.Status.unschedulable("node(s) elsewhere"))


class WritesLabels(Zone):
    def filter(self, cycle, node):
        node.labels["seen"] = "yes"
        return super().filter(cycle, node)


class Counts(Zone):
    def __init__(self):
        self._calls = 0

    def filter(self, cycle, node):
        self._calls += 1
        return pw.Status() if self._calls % 7 else pw.Status.unschedulable("tired")


class Silent(Zone):
    def filter(self, cycle, node):
        return pw.Status() if super().filter(cycle, node).is_success else pw.Status.unschedulable()


class TooHigh(pw.Plugin):
    name = "TooHigh"

    def score(self, cycle, node):
        return 101


class Fraction(pw.Plugin):
    name = "Fraction"

    def score(self, cycle, node):
        return 0.5


class Forgets(Zone):
    def __init__(self, zone="a"):
        self._zone = zone


class KeyTooSmall(Zone):
    def filter(self, cycle, node):
        if cycle.pod.metadata.labels.get("app") == "web":
            return pw.Status.unschedulable("no web here")
        return pw.Status()


class ReadsPods(Zone):
    def filter(self, cycle, node):
        if any(pod.metadata.labels.get("app") == "web" for pod in node.pods):
            return pw.Status.unschedulable("node(s) with web")
        return pw.Status()


class CountsPods(Zone):
    def filter(self, cycle, node):
        return pw.Status.unschedulable(f"node(s) with {len(node.pods)} pods")


class ForgetsPods(Zone):
    def filter(self, cycle, node):
        cycle.cluster.pods_on[node.slot].clear()
        return super().filter(cycle, node)


class ScoresPods(pw.Plugin):
    name = "ScoresPods"
    score_reads = pw.Reads.NODE

    def pod_key(self, pod):
        return ()

    def score(self, cycle, node):
        return 100 if node.pods else 0


class NormalizesPods(ScoresPods):
    name = "NormalizesPods"
    normalization = pw.Normalization.DEFAULT

    def score(self, cycle, node):
        return len(node.pods)


class WrongEvents(pw.Plugin):
    name = "WrongEvents"

    def filter(self, cycle, node):
        if node.allocatable["cpu"] > 90_000:
            return pw.Status()
        return pw.Status.unschedulable("node(s) too small")

    def events_to_register(self):
        return (pw.EventHint(NODE, pw.ActionType.UPDATE_NODE_LABEL),)


class Raises(Zone):
    def filter(self, cycle, node):
        raise RuntimeError("out of order")


@pytest.mark.parametrize(
    ("plugin", "check", "words"),
    [
        (OtherColumns(), "forms", "per node"),
        (WritesLabels(), "inputs", "node node-0 changed"),
        (ForgetsPods(), "inputs", "the placed pods changed"),
        (Counts(), "repeatable", "tired"),
        (Silent(), "reasons", "rejected without a reason"),
        (TooHigh(), "range", "101"),
        (Fraction(), "answers", "0.5, not an integer"),
        (KeyTooSmall(), "pod_key", "uncached"),
        (ReadsPods(), "reads", "after pod default/last is placed on node-12"),
        (CountsPods(), "reads", "cached rejected: node(s) with 2 pods, uncached rejected: node(s)"),
        (ScoresPods(), "reads", "cached 0, uncached 100"),
        (
            NormalizesPods(),
            "reads",
            "cached 66, uncached 100",
        ),
        (WrongEvents(), "events", "NodeUpdateNodeAllocatable is not registered"),
        (Raises(), "answers", "RuntimeError: out of order (pod default/plain, node node-0)"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, pw.Plugin) else "",
)
def test_each_breach_is_found_and_named(plugin, check, words):
    with pytest.raises(PluginCheckFailed) as caught:
        check_plugin(plugin)
    messages = [f.message for f in caught.value.report.findings if f.check == check]
    assert any(words in message for message in messages), str(caught.value)


def test_a_correct_plugin_has_no_findings_and_skipped_checks_are_listed():
    report = check_plugin(Zone(), nodes=[make_node("mine", zone="a")], pods=[make_pod("mine")])
    assert report.findings == ()
    assert report.left_out["forms"] == "the plugin has one form only"
    assert "0 findings" in str(report)


class Gated(pw.Plugin):
    """Reads a gate."""

    name = "Gated"
    takes_gates = True
    filter_reads = pw.Reads.NOTHING

    def __init__(self, zone, *, gates):
        self.zone = zone
        self.gates = gates

    def pod_key(self, pod):
        """Score all nodes equally."""
        return 0

    def filter(self, cycle, node):
        """Reject all nodes if the gate is on."""
        is_on = "TaintTolerationComparisonOperators" in self.gates
        return pw.Status.unschedulable(f"not in {self.zone}") if is_on else pw.Status()


class GatesFirst(Gated):
    """Takes its gates before its other settings."""

    name = "GatesFirst"

    def __init__(self, *, gates, zone):
        super().__init__(zone, gates=gates)


class KeepsNoGates(Gated):
    """Keeps only the value of a gate."""

    name = "KeepsNoGates"

    def __init__(self, zone="", *, gates):
        super().__init__(zone, gates=None)
        self.gates = ("TaintTolerationComparisonOperators",) * ("GenericWorkload" in gates)


def test_a_plugin_is_made_again_with_the_gates_that_it_had():
    gates = pw.parse_gates("TaintTolerationComparisonOperators=true")
    for plugin in Gated("a", gates=gates), GatesFirst(gates=gates, zone="a"):
        report = check_plugin(plugin)
        assert not report.findings
        assert "settings" in report.checked
    report = check_plugin(KeepsNoGates(gates=gates))
    assert not report.findings
    assert "settings" not in report.checked


def test_settings_that_a_plugin_does_not_keep_are_not_checked():
    report = check_plugin(Forgets())
    assert "settings" not in report.checked
    assert report.left_out["settings"] == (
        "the plugin does not keep its constructor argument 'zone' as self.zone"
    )


class NeedsService(pw.Plugin):
    """Keeps back pods until there is a Service of their app's name."""

    name = "NeedsService"

    def pre_filter(self, cycle):
        assert self.handle is not None
        pod = cycle.pod.metadata
        app = pod.labels.get("app", "")
        if self.handle.find(Service, f"{pod.namespace}/{app}") is None:
            return pw.Status.unresolvable(f"there is no service {app}")
        return pw.Status()


class CountsNodes(pw.Plugin):
    """Passes the pods that have no label `size`, on clusters of 12 nodes."""

    name = "CountsNodes"

    def filter(self, cycle, node):
        assert self.handle is not None
        found = self.handle.find(pw.Node, node.name)
        if found is None or found.metadata.labels != node.labels:
            return pw.Status.error(f"the handle finds an old node {node.name}")
        if self.handle.find(pw.Node, "node-4") is None:
            return pw.Status.unschedulable("node-4 is gone")
        return pw.Status()


def test_a_plugin_has_its_handle_in_every_check():
    assert not check_plugin(NeedsService()).findings
    service = decode_as({"metadata": {"name": "web", "namespace": "default"}}, Service)
    assert not check_plugin(NeedsService(), objects=[service]).findings


def test_the_handle_finds_nodes_as_they_are_after_each_change():
    assert not check_plugin(CountsNodes()).findings


class KnowsMembers(pw.Plugin):
    """Passes the pods that its handle has as pending, on nodes of which it has all pods."""

    name = "KnowsMembers"

    def group_of(self, pod):
        return "all"

    def filter(self, cycle, node):
        assert self.handle is not None
        members = self.handle.members(self.name, "all")
        there = {pod.metadata.uid for pod in node.pods}
        if not there <= members.scheduled & members.pods.keys():
            return pw.Status.error(f"a pod of node {node.name} is not placed: {members.scheduled}")
        if cycle.pod.metadata.uid not in members.pods.keys() - members.scheduled:
            return pw.Status.error(f"pod {cycle.pod.key} is not pending")
        return pw.Status()


def test_the_handle_has_placed_and_pending_pods_in_every_check():
    assert not check_plugin(KnowsMembers()).findings


class RecordsNode(pw.Plugin):
    """Writes the node of each pod into an annotation."""

    name = "RecordsNode"

    def reserve(self, cycle, node_name):
        assert self.handle is not None
        self.handle.request(
            pw.PodMetadataPatch(annotations={"example.com/reserved": node_name}), cycle.pod
        )
        return pw.Status()

    def pre_bind(self, cycle, node_name):
        return pw.Pending(calls=(pw.PodMetadataPatch(labels={"example.com/node": node_name}),))

    def continue_pre_bind(self, cycle, node_name, progress):
        error = progress.answers[0].error
        return pw.Status() if error is None else pw.Status.error(error.message)


def test_a_plugin_may_patch_the_metadata_of_its_pod():
    assert not check_plugin(RecordsNode()).findings
