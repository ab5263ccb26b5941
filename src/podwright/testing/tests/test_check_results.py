"""What a check of a plugin contains: which checks apply, what is found, and how it is shown."""

# ruff: noqa: ARG001 - methods have the arguments of extension points

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

import podwright as pw
from podwright.apimachinery.objects import ArgumentError, InvalidObject
from podwright.scheduler.framework import PreFilterResult
from podwright.scheduler.framework.events import NODE
from podwright.testing import (
    PluginCheckFailed,
    PluginReport,
    check_plugin,
    make_node,
    make_pod,
)
from podwright.testing.generate import (
    changes,
    make_candidates,
    make_cluster,
    make_nodes,
    make_placed,
)
from podwright.testing.report import CHECKS, Finding

OK = pw.Status()
NO = pw.Status.unschedulable("no")
ZONE = "topology.kubernetes.io/zone"


def plugin(**members: Any) -> pw.Plugin:
    """Return an instance of a class with these members."""
    made: pw.Plugin = type("Mine", (pw.Plugin,), {"name": "Mine", **members})()
    return made


def always(answer: Any) -> Any:
    """Return a method that returns `answer`."""

    def method(self: pw.Plugin, *arguments: Any) -> Any:
        return answer

    return method


def in_zone_a(self: pw.Plugin, cycle: Any, node: pw.NodeView) -> pw.Status:
    return OK if node.labels.get(ZONE) == "a" else NO


def by_name(self: pw.Plugin, cycle: Any, node: pw.NodeView) -> int:
    return int(node.name[-1])


def passes_all(self: pw.Plugin, cycle: Any, nodes: Any, out: Any) -> None:
    """Reject no node, and score all with 0."""


def report_of(checked: pw.Plugin, **given: Any) -> PluginReport:
    try:
        return check_plugin(checked, **given)
    except PluginCheckFailed as failed:
        return failed.report


# ------------------------------------------------------------------------- what applies

ALWAYS = ["names", "answers", "inputs", "repeatable", "reasons"]
NO_SCORE = "the plugin does not score"
NEITHER = "the plugin neither filters nor scores"
NO_EVENTS = "the plugin registers none, so every event retries its pods"
ONE_FORM = "the plugin has one form only"


@pytest.mark.parametrize(
    ("members", "more", "left_out"),
    [
        pytest.param(
            {"pre_enqueue": always(NO)},
            ["settings", "cycle"],
            {"range": NO_SCORE, "forms": ONE_FORM, "pod_key": NEITHER, "reads": NEITHER,
             "events": NO_EVENTS},
            id="a gate",
        ),
        pytest.param(
            {"filter": in_zone_a, "events_to_register": always(None)},
            ["settings", "pod_key", "reads", "cycle"],
            {"range": NO_SCORE, "forms": ONE_FORM, "events": NO_EVENTS},
            id="every event",
        ),
        pytest.param(
            {"pre_filter": always(OK)},
            ["settings", "pod_key", "reads", "cycle"],
            {"range": NO_SCORE, "forms": ONE_FORM, "events": NO_EVENTS},
            id="PreFilter, whose results are kept too",
        ),
        pytest.param(
            {"filter": in_zone_a},
            ["settings", "pod_key", "reads", "cycle"],
            {"range": NO_SCORE, "forms": ONE_FORM, "events": NO_EVENTS},
            id="a filter",
        ),
        pytest.param(
            {"score": by_name},
            ["range", "settings", "pod_key", "reads", "cycle"],
            {"forms": ONE_FORM, "events": NO_EVENTS},
            id="a score",
        ),
        pytest.param(
            {"filter": always(OK), "filter_columns": passes_all},
            ["forms", "settings", "pod_key", "reads", "cycle"],
            {"range": NO_SCORE, "events": NO_EVENTS},
            id="a filter in both forms",
        ),
        pytest.param(
            {"score": always(0), "score_columns": passes_all},
            ["forms", "range", "settings", "pod_key", "reads", "cycle"],
            {"events": NO_EVENTS},
            id="a score in both forms",
        ),
        pytest.param(
            {"filter": always(OK), "score_columns": passes_all},
            ["range", "settings", "pod_key", "reads", "cycle"],
            {"forms": ONE_FORM, "events": NO_EVENTS},
            id="a form of each",
        ),
        pytest.param(
            {"filter": in_zone_a, "events_to_register": always(())},
            ["settings", "pod_key", "reads", "events", "cycle"],
            {"range": NO_SCORE, "forms": ONE_FORM},
            id="no event: nothing undoes a rejection",
        ),
    ],
)  # fmt: skip
def test_the_checks_that_apply_and_why_others_do_not(members, more, left_out):
    report = report_of(plugin(**members))
    checked = {*ALWAYS, *more}
    assert report.checked == tuple(name for name in CHECKS if name in checked)
    assert report.left_out == left_out
    assert {*report.checked, *report.left_out} == set(CHECKS)
    assert report.plugin == "Mine"


# ---------------------------------------------------------------------------- findings


def fails_for_large(self: pw.Plugin, cycle: Any, node: pw.NodeView) -> pw.Status:
    if node.allocatable["cpu"] > 90_000:
        raise ValueError("too large")
    return OK


counter = itertools.count()
PODS = [pod.key for pod in make_candidates()][:5]


class Zones(pw.Plugin):
    """Settings that JSON changes: a tuple becomes a list."""

    name = "Zones"

    def __init__(self, zones: Any) -> None:
        self.zones = zones

    def filter(self, cycle: pw.Cycle, node: pw.NodeView) -> pw.Status:
        """Pass nodes of the zones, if they are a tuple."""
        is_there = isinstance(self.zones, tuple) and node.labels.get(ZONE) in self.zones
        return OK if is_there else NO


@pytest.mark.parametrize(
    ("checked", "check", "texts"),
    [
        pytest.param(
            plugin(pre_filter=always(pw.Status.unschedulable())), "reasons",
            [f"pod {key}: rejected without a reason" for key in PODS], id="PreFilter, silent",
        ),
        pytest.param(
            plugin(filter=always(pw.Status.unschedulable(""))), "reasons",
            [f"pod {PODS[0]}, node node-{index}: rejected without a reason" for index in range(5)],
            id="an empty reason",
        ),
        pytest.param(
            plugin(filter=always(5)), "answers",
            ['running "Mine" filter plugin: returned 5, not a Status (node node-0)'] * 5,
            id="a filter with a number",
        ),
        pytest.param(
            plugin(score=always(True)), "answers",
            ['running Score plugins: plugin "Mine" failed with: returned True, not an integer'
             f" (pod {key}, node node-0)" for key in PODS], id="a score that is a truth value",
        ),
        pytest.param(
            plugin(score=always(-1)), "range",
            ['applying score defaultWeights on Score plugins: plugin "Mine" returns an invalid'
             " score -1, it should in the range of [0, 100] after normalizing"] * 5,
            id="a score below the range",
        ),
        pytest.param(
            plugin(score=always(101), scores_in_range=True), "range",
            [f"pod {PODS[0]}, node node-{index}: score 101" for index in range(5)],
            id="a score above the range that is declared to be in it",
        ),
        pytest.param(
            plugin(filter=fails_for_large), "answers",
            [f'after node node-0 changes: it has grown: running "Mine" filter plugin: '
             f"ValueError: too large (pod {key}, node node-0)" for key in PODS],
            id="a filter that fails after a change",
        ),
        pytest.param(
            plugin(pre_filter=lambda _, __: NO if next(counter) % 2 else OK), "repeatable",
            [f"pod {key}: PreFilter returned first {OK!r}, then {NO!r}" for key in PODS],
            id="PreFilter that alternates",
        ),
        pytest.param(
            plugin(filter=in_zone_a, filter_columns=passes_all), "forms",
            [f"pod {key}: node node-1: per node Unschedulable: no, as columns passed"
             for key in PODS], id="filters that differ",
        ),
        pytest.param(
            plugin(score=by_name, score_columns=passes_all), "forms",
            [f"pod {key}: node node-1: per node 1, as columns 0" for key in PODS],
            id="scores that differ",
        ),
        pytest.param(
            Zones(("a",)), "settings",
            [f"pod {key}: node node-0: first passed, then Unschedulable: no" for key in PODS],
            id="settings that JSON changes",
        ),
        pytest.param(
            Zones({object()}), "settings",
            ["settings cannot be written in a configuration: Encoding objects of type object is"
             " unsupported"], id="settings that JSON has no form for",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_for_five_pods_or_nodes(checked, check, texts):
    report = report_of(checked)
    assert [(each.check, each.message) for each in report.findings] == [
        (check, text) for text in texts
    ]
    assert check in report.checked


@pytest.mark.parametrize("score", [0, 1, 99, 100])
def test_scores_at_the_limits_are_in_the_range(score):
    report = report_of(plugin(score=always(score)))
    assert report.findings == ()
    assert report.notes == ("score gave all nodes the same score, for every pod",)


def test_a_filter_that_prefilter_skips_is_not_called():
    report = report_of(plugin(pre_filter=always(pw.Status.SKIPPED), filter=always(NO)))
    assert report.findings == ()
    assert report.notes == ("filter never rejected a node; give nodes and pods that it rejects",)


def test_a_score_that_prescore_skips_is_not_called():
    report = report_of(plugin(pre_score=always(pw.Status.SKIPPED), score=always(101)))
    assert report.findings == ()
    assert report.notes == ("score gave all nodes the same score, for every pod",)


@pytest.mark.parametrize("names", [["node-0"], ["node-0", "node-1", "node-2"], []])
def test_nodes_that_prefilter_leaves_out_have_no_results(names):
    class Chosen(pw.Plugin):
        name = "Chosen"

        def pre_filter(self, cycle: pw.Cycle) -> PreFilterResult:
            """Leave a few nodes."""
            return PreFilterResult(frozenset(names))

        def score(self, cycle: pw.Cycle, node: pw.NodeView) -> int:
            """Score by name."""
            return by_name(self, cycle, node)

    report = report_of(Chosen())
    assert (report.findings, report.notes) == ((), ())


class WithArgs(pw.Plugin):
    """Settings as a struct, which the plugin keeps under any name."""

    name = "WithArgs"

    class Args(msgspec.Struct):
        """The settings."""

        zone: str = "a"

    def __init__(self, args: Any) -> None:
        self._own = args

    def filter(self, cycle: pw.Cycle, node: pw.NodeView) -> pw.Status:
        """Pass nodes of the zone."""
        return OK if node.labels.get(ZONE) == self._own.zone else NO


class DropsArgs(WithArgs):
    """It keeps only the value."""

    name = "DropsArgs"

    def __init__(self, args: Any) -> None:
        self.zone = args.zone

    def filter(self, cycle: pw.Cycle, node: pw.NodeView) -> pw.Status:
        """Pass nodes of the zone."""
        return OK if node.labels.get(ZONE) == self.zone else NO


def test_args_are_written_and_read_again_if_the_plugin_keeps_them():
    kept = report_of(WithArgs(WithArgs.Args("b")))
    assert (kept.findings, "settings" in kept.checked) == ((), True)
    dropped = report_of(DropsArgs(DropsArgs.Args("b")))
    assert (dropped.findings, "settings" in dropped.checked) == ((), False)
    assert dropped.left_out["settings"] == "the plugin does not keep its Args"


GROWN = pw.EventHint(NODE, pw.ActionType.UPDATE_NODE_ALLOCATABLE)
LABELLED = pw.EventHint(NODE, pw.ActionType.UPDATE_NODE_LABEL)


def has_grown(self: pw.Plugin, cycle: Any, node: pw.NodeView) -> pw.Status:
    return OK if node.allocatable["cpu"] > 90_000 else NO


@pytest.mark.parametrize(
    ("hints", "is_found"),
    [
        ((GROWN,), False),
        ((LABELLED, GROWN), False),
        ((pw.EventHint(NODE, pw.ActionType.UPDATE_NODE_ALLOCATABLE | pw.ActionType.ADD),), False),
        ((LABELLED,), True),
        ((), True),
    ],
)
def test_one_of_the_events_must_be_that_after_which_a_pod_fits(hints, is_found):
    report = report_of(plugin(filter=has_grown, events_to_register=always(hints)))
    texts = [each.message for each in report.findings if each.check == "events"]
    assert bool(texts) is is_found
    for text, key in zip(texts, PODS, strict=False):
        assert text == (
            f"pod {key} fits when node node-0 changes: it has grown, but"
            " NodeUpdateNodeAllocatable is not registered"
        )


def test_an_event_that_undoes_no_rejection_need_not_be_registered():
    """Pods that fitted before, or still do not, are no finding."""
    never = report_of(plugin(filter=always(NO), events_to_register=always(())))
    assert never.findings == ()
    at_once = report_of(plugin(filter=always(OK), events_to_register=always(())))
    assert at_once.findings == ()


# ------------------------------------------------------------------------------ report

REPORT = PluginReport(
    plugin="Mine",
    checked=("names", "answers"),
    left_out={"range": NO_SCORE, "forms": "<one> form"},
    findings=(
        Finding(check="answers", message="returned 5"),
        Finding(check="reads", message="cached 1, uncached 2 & more"),
    ),
    notes=("note 1", "note <2>"),
)


def test_a_report_is_a_text_of_findings_what_was_left_out_and_notes():
    assert str(REPORT) == "\n".join(
        [
            "Mine: 2 checks, 2 findings",
            "  answers (every extension point returns a value of the right type): returned 5",
            "  reads (cached results are valid after every change (the declared reads are"
            " complete)): cached 1, uncached 2 & more",
            "  range was not checked: the plugin does not score",
            "  forms was not checked: <one> form",
            "  note: note 1",
            "  note: note <2>",
        ]
    )
    failed = PluginCheckFailed(REPORT)
    assert (str(failed), failed.report) == (str(REPORT), REPORT)
    assert isinstance(failed, AssertionError)
    empty = PluginReport(plugin="Mine", checked=())
    assert str(empty) == "Mine: 0 checks, 0 findings"


def test_a_report_is_html_in_which_texts_are_escaped():
    shown = REPORT._repr_html_()
    for part in (
        "Mine: 2 checks, 2 findings",
        "Check", "Finding", "answers", "returned 5", "cached 1, uncached 2 &amp; more",
        "range was not checked", NO_SCORE, "forms was not checked", "&lt;one&gt; form",
        "<p>note 1</p>", "<p>note &lt;2&gt;</p>",
    ):  # fmt: skip
        assert part in shown
    assert "<table>" not in PluginReport(plugin="Mine", checked=())._repr_html_()


# ----------------------------------------------------------------- the generated cluster


def test_plugins_are_checked_on_nodes_that_differ_in_all_that_plugins_read():
    nodes = make_nodes([make_node("mine")])
    assert [each.name for each in nodes] == [*(f"node-{index}" for index in range(12)), "mine"]
    generated = nodes[:12]
    zones = [each.metadata.labels.get(ZONE, "-") for each in generated]
    assert "".join(zones) == "abcabca-cabc"
    disks = [each.metadata.labels.get("disk", "-") for each in generated]
    assert disks == ["-", "hdd", "ssd", "hdd"] * 3
    amounts = [
        tuple(each.status.allocatable.get(name) for name in ("cpu", "memory", "nvidia.com/gpu"))
        for each in generated[:4]
    ]
    assert amounts == [
        ("2", "4Gi", None), ("4", "16Gi", None), ("8", "4Gi", None), ("2", "16Gi", "2"),
    ]  # fmt: skip
    few = [each.name for each in generated if each.status.allocatable["pods"] == "3"]
    cordoned = [each.name for each in generated if each.spec.unschedulable]
    with_image = [each.name for each in generated if each.status.images]
    assert (few, cordoned) == (["node-5"], ["node-9"])
    most = {each.status.allocatable["pods"] for each in nodes if each.name != "node-5"}
    assert most == {"110"}, "as many as a kubelet allows"
    assert with_image == ["node-0", "node-5", "node-10"]
    taints = ["".join(f"{t.key}:{t.effect} " for t in each.spec.taints) for each in generated]
    assert taints == [
        *[""] * 3,
        *["dedicated:NoSchedule "] * 3,
        *["spot:PreferNoSchedule "] * 3,
        *["gpu:NoExecute "] * 3,
    ]


def test_nodes_have_from_none_to_three_pods_of_several_applications():
    placed = make_placed(make_nodes())
    counts = [sum(pod.spec.node_name == f"node-{index}" for pod in placed) for index in range(12)]
    assert counts == [0, 1, 2, 3] * 3
    # Where there are two, each has another namespace.
    both = [pod.metadata.namespace for pod in placed if pod.spec.node_name == "node-2"]
    assert sorted(both) == ["default", "shop"]
    assert {pod.metadata.labels["app"] for pod in placed} == {"web", "db", "batch"}
    ports = [pod.key for pod in placed if pod.raw["spec"]["containers"][0].get("ports")]
    assert ports == ["default/placed-1-0"]
    cluster = make_cluster(make_nodes(), placed)
    assert sorted(cluster.pods) == sorted(pod.key for pod in placed)
    assert cluster.namespaces == {"default": {"team": "core"}, "shop": {"team": "web"}}


def test_pending_pods_are_distinct_and_some_differ_in_one_thing():
    own = make_pod("own")
    pods = make_candidates([own])
    assert pods[-1] is own
    by_key = {pod.key: pod for pod in pods}
    assert len(by_key) == len(pods) == 14
    first, again = by_key["default/small"], by_key["default/small-again"]
    assert first.spec == again.spec
    assert first.metadata.labels == again.metadata.labels
    other = by_key["default/small-db"]
    assert (other.spec, other.metadata.labels) == (first.spec, {"app": "db"})
    assert by_key["shop/small-shop"].metadata.labels == first.metadata.labels


def test_the_changes_are_those_of_pods_and_of_each_part_of_a_node():
    cluster = make_cluster(make_nodes(), make_placed(make_nodes()))
    seen = []
    for change in changes():
        change.apply(cluster)
        seen.append((change.event.label, change.what))
    assert seen == [
        ("AssignedPodAdd", "pod default/new-web is placed on node-2"),
        ("AssignedPodAdd", "pod default/new-db is placed on node-0"),
        ("AssignedPodDelete", "pod default/placed-1-0 is deleted"),
        ("AssignedPodDelete", "pod default/placed-5-0 is deleted"),
        ("AssignedPodDelete", "pod shop/placed-3-1 is deleted"),
        ("NodeUpdateNodeLabel", "node node-1 gets labels {'disk': 'ssd'}"),
        ("NodeUpdateNodeLabel", f"node node-7 gets labels {{'{ZONE}': 'a'}}"),
        ("NodeUpdateNodeTaint", "node node-3 changes: its taint"),
        ("NodeUpdateNodeTaint", "node node-9 changes: it is uncordoned"),
        ("NodeUpdateNodeAllocatable", "node node-0 changes: it has grown"),
        ("NodeAdd", "node node-12 appears"),
        ("NodeDelete", "node node-4 is deleted"),
        ("AssignedPodAdd", "pod default/last is placed on node-12"),
    ]
    nodes = {each.name: each for each in cluster.nodes.objects if each is not None}
    assert "node-4" not in nodes
    assert not {"default/placed-1-0", "default/placed-5-0", "shop/placed-3-1"} & set(cluster.pods)
    new = [cluster.pods[f"default/{name}"].pod for name in ("new-web", "new-db", "last")]
    assert [pod.metadata.labels["app"] for pod in new] == ["web", "db", "web"]
    (ports,) = (port.host_port for each in new for port in each.spec.containers[0].ports)
    assert ports == 8080
    assert (nodes["node-1"].metadata.labels["disk"], nodes["node-7"].metadata.labels[ZONE]) == (
        "ssd", "a",
    )  # fmt: skip
    assert (nodes["node-3"].spec.taints, nodes["node-9"].spec.unschedulable) == ((), False)
    grown = nodes["node-0"].status.allocatable
    assert (grown["cpu"], grown["memory"], grown["nvidia.com/gpu"]) == ("96", "768Gi", "4")
    assert nodes["node-12"].metadata.labels == {
        "kubernetes.io/hostname": "node-12", ZONE: "b", "disk": "ssd"
    }  # fmt: skip


# --------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"memory": "4"}, "memory: 4 has no unit: must be a text such as 4Gi"),
        ({"memory": 4}, "memory: 4 has no unit: must be a text such as 4Gi"),
        ({"memory": "1.5"}, "memory: 1.5 has no unit: must be a text such as 4Gi"),
        (
            {"resources": {"ephemeral-storage": "7"}},
            "ephemeral-storage: 7 has no unit: must be a text such as 4Gi",
        ),
        (
            {"resources": {"hugepages-2Mi": 7}},
            "hugepages-2Mi: 7 has no unit: must be a text such as 4Gi",
        ),
    ],
)
@pytest.mark.parametrize("make", [make_node, make_pod])
def test_an_amount_of_bytes_has_a_unit(make: Any, given: Any, text: str):
    with pytest.raises(ArgumentError) as refused:
        make("n", **given)
    assert str(refused.value) == text


@pytest.mark.parametrize("memory", ["0", "0.0", "4Gi", "1e3", "4k", "128974848000m"])
def test_nothing_and_amounts_with_a_unit_need_no_other(memory):
    assert make_node("n", memory=memory).raw["status"]["allocatable"]["memory"] == memory
    assert make_pod("p", memory=memory).name == "p"


@pytest.mark.parametrize(
    ("size", "size_bytes"), [("300Mi", 300 << 20), ("2k", 2000), ("0", 0), ("1.5Ki", 1536)]
)
def test_the_size_of_an_image_is_in_bytes(size, size_bytes):
    node = make_node("n", images={"i": size, "j": "1k"})
    assert node.raw["status"]["images"] == [
        {"names": ["i"], "sizeBytes": size_bytes}, {"names": ["j"], "sizeBytes": 1000},
    ]  # fmt: skip
    with pytest.raises(
        ArgumentError, match=r"^images\['i'\]: 300 has no unit: must be a text such as 300"
    ):
        make_node("n", images={"i": "300"})


@pytest.mark.parametrize(
    ("text", "taint"),
    [
        ("gpu=yes:NoSchedule", {"key": "gpu", "value": "yes", "effect": "NoSchedule"}),
        ("gpu:NoExecute", {"key": "gpu", "effect": "NoExecute"}),
        ("gpu=:NoExecute", {"key": "gpu", "effect": "NoExecute"}),
        ("a/b=c=d:PreferNoSchedule", {"key": "a/b", "value": "c=d", "effect": "PreferNoSchedule"}),
    ],
)
def test_a_taint_is_written_as_kubectl_writes_it(text, taint):
    assert make_node("n", taints=[text]).raw["spec"]["taints"] == [taint]


def test_a_taint_without_an_effect_is_refused():
    with pytest.raises(InvalidObject, match=r"^make_node\('n'\): spec\.taints\[0\]\.effect"):
        make_node("n", taints=["gpu=yes"])
