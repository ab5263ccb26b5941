"""The base class of plugins."""

import inspect
from typing import Any

import numpy as np
import pytest

import podwright as pw
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import Plugin
from podwright.scheduler.framework.binding import Answer, CallError, Progress
from podwright.scheduler.framework.plugin import Members

CALLED_ONLY_IF_DEFINED = [
    "sign_pod",
    "pre_enqueue",
    "queue_sort_key",
    "group_of",
    "pre_filter",
    "filter",
    "filter_columns",
    "post_filter",
    "pre_score",
    "score",
    "score_columns",
    "normalize_score",
    "permit",
    "pre_bind",
    "bind",
]


@pytest.mark.parametrize("name", CALLED_ONLY_IF_DEFINED)
def test_a_method_that_a_plugin_does_not_define_is_an_error_to_call(name):
    parameters = list(inspect.signature(getattr(Plugin, name)).parameters)[1:]
    with pytest.raises(NotImplementedError):
        getattr(Plugin(), name)(*[None] * len(parameters))


class ReplacesCodes(pw.Plugin):
    """Replaces the array of verdicts instead of writing into it."""

    name = "ReplacesCodes"

    def filter_columns(self, cycle, nodes, out):
        out.reject(np.array([name == "n0" for name in nodes.names]), pw.Status.unschedulable("no"))
        out.codes = out.codes.copy()
        out.codes[nodes.slot_of["n1"]] = out.codes[nodes.slot_of["n0"]]


def test_verdicts_in_a_replaced_array_count():
    scheduler = pw.Scheduler(plugins=[ReplacesCodes])
    scheduler.add(*(pw.testing.make_node(f"n{i}") for i in range(3)))
    assert scheduler.schedule(pw.testing.make_pod("p")).node == "n2"


class ReplacesScores(pw.Plugin):
    """Replaces the array of scores for one pod, and writes into it for others."""

    name = "ReplacesScores"

    def score_columns(self, cycle, nodes, out):
        if cycle.pod.name == "p":
            out.values = np.zeros(nodes.n_slots)
        else:
            out.values[nodes.slot_of["n1"]] = 100


@pytest.mark.parametrize("reads", [pw.Reads.NODE, pw.Reads.CLUSTER])
def test_an_array_that_replaces_the_scores_fails_that_cycle_only(reads):
    plugin = type("Mine", (ReplacesScores,), {"name": "Mine", "score_reads": reads})
    scheduler = pw.Scheduler(plugins=[plugin])
    scheduler.add(*(pw.testing.make_node(f"n{i}") for i in range(3)))
    error = scheduler.schedule(pw.testing.make_pod("p", cpu="1")).error
    assert error is not None
    assert "`out.values` must stay an array of int64" in error.message
    assert scheduler.schedule(pw.testing.make_pod("q", cpu="1")).node == "n1"


class Breaks(pw.Plugin):
    """Returns an error for one node instead of a rejection."""

    name = "Breaks"

    def filter(self, cycle, node):
        return pw.Status.error("no disk") if node.name == "n1" else pw.Status.OK


def test_an_error_for_one_node_ends_the_cycle():
    scheduler = pw.Scheduler(plugins=[Breaks])
    scheduler.add(*(pw.testing.make_node(f"n{i}") for i in range(3)))
    decision = scheduler.schedule(pw.testing.make_pod("p"))
    assert not decision.node
    assert decision.error is not None
    assert "no disk" in decision.error.message


class BreaksColumns(pw.Plugin):
    """Writes an error for one node into the columns."""

    name = "BreaksColumns"

    def filter_columns(self, cycle, nodes, out):
        out.reject_slot(nodes.slot_of["n1"], pw.Status.error("no disk"))


def test_an_error_in_the_columns_ends_the_cycle():
    scheduler = pw.Scheduler(plugins=[BreaksColumns])
    scheduler.add(*(pw.testing.make_node(f"n{i}") for i in range(3)))
    decision = scheduler.schedule(pw.testing.make_pod("p"))
    assert not decision.node
    assert decision.error is not None
    assert "no disk" in decision.error.message


def test_a_removed_node_is_not_feasible_in_an_explanation():
    scheduler = pw.Scheduler()
    nodes = [pw.testing.make_node(f"n{i}") for i in range(3)]
    scheduler.add(*nodes)
    scheduler.remove(nodes[1])
    explanation = scheduler.explain(pw.testing.make_pod("p", cpu="1"))
    assert sorted(explanation.feasible) == sorted(explanation.totals) == ["n0", "n2"]


@pytest.mark.parametrize(
    ("methods", "points"),
    [
        (("pre_enqueue",), {"preEnqueue"}),
        (("queue_sort_key",), {"queueSort"}),
        (("pre_filter",), {"preFilter"}),
        (("filter",), {"filter"}),
        (("filter_columns",), {"filter"}),
        (("post_filter",), {"postFilter"}),
        (("pre_score",), {"preScore"}),
        (("score",), {"score"}),
        (("score_columns", "normalize_score"), {"score"}),
        (("reserve",), {"reserve"}),
        (("unreserve",), {"reserve"}),
        (("permit",), {"permit"}),
        (("pre_bind",), {"preBind"}),
        (("bind",), {"bind"}),
        (("post_bind",), {"postBind"}),
        (("pre_filter", "score"), {"preFilter", "score"}),
        (("pod_key", "events_to_register", "pod_ended"), set()),
    ],
)
def test_the_extension_points_of_a_plugin_are_those_of_its_methods(methods, points):
    plugin: Any = type("Mine", (Plugin,), {name: lambda *_: None for name in methods})
    assert plugin.extension_points() == points


def test_a_plugin_without_methods_of_its_own_lets_every_pod_through():
    plugin, cycle = Plugin(), pw.Cycle(pw.testing.make_pod("p"), Cluster())
    assert plugin.reserve(cycle, "n") == pw.Status.OK
    assert plugin.pre_bind_pre_flight(cycle, "n") == pw.Status.OK
    plugin.unreserve(cycle, "n")
    assert (plugin.filter_as_sums(cycle), plugin.score_as_requests(cycle)) == (None, None)
    assert (plugin.filter_groups(cycle), plugin.score_groups(cycle)) == (None, None)
    assert (plugin.filter_ignores_pods(cycle), plugin.remembers()) == (False, False)
    assert plugin.handle is None


@pytest.mark.parametrize("method", ["continue_pre_bind", "continue_bind"])
@pytest.mark.parametrize(
    ("answers", "status"),
    [
        pytest.param([], pw.Status.OK, id="a delay that has passed"),
        pytest.param([None, None], pw.Status.OK, id="calls that all succeeded"),
        pytest.param([None, "lost", "late"], pw.Status.error("lost"), id="the first that failed"),
    ],
)
def test_a_plugin_succeeds_if_its_calls_do(method, answers, status):
    progress = Progress(
        now_ns=1, answers=tuple(Answer(each and CallError(each)) for each in answers)
    )
    cycle = pw.Cycle(pw.testing.make_pod("p"), Cluster())
    assert getattr(Plugin(), method)(cycle, "n", progress) == status


def test_members_that_count_on_no_node_are_in_the_order_of_their_names():
    members = Members()
    members.pods = {name: pw.testing.make_pod(name) for name in ("c", "a", "d", "b")}
    members.scheduled = {"a"}
    assert [pod.name for pod in members.unscheduled()] == ["b", "c", "d"]


def test_a_node_is_shown_with_its_pods_and_its_amounts():
    cluster = Cluster()
    cluster.put(pw.testing.make_node("other"))
    cluster.put(pw.testing.make_node("n", cpu="4", memory="2Gi", labels={"a": "b"}))
    slot = cluster.nodes.slot_of["n"]
    for name in ("q", "p"):
        cluster.place(pw.testing.make_pod(name, cpu="500m", memory="1Mi"), slot)
    view = pw.NodeView(cluster, slot)
    assert (view.name, view.node.name, view.labels["a"]) == ("n", "n", "b")
    assert [pod.name for pod in view.pods] == ["q", "p"]
    assert (view.allocatable["cpu"], view.allocatable["memory"]) == (4_000, 2 << 30)
    assert (view.requested["cpu"], view.requested["memory"]) == (1_000, 2 << 20)


@pytest.mark.parametrize(
    ("methods", "key", "reads"),
    [
        pytest.param(("pre_filter",), "a", pw.Reads.STORAGE, id="PreFilter alone"),
        pytest.param(("pre_score",), "a", pw.Reads.TERMS, id="PreScore alone"),
        pytest.param(
            ("pre_filter", "pre_score"), "a", pw.Reads.STORAGE | pw.Reads.TERMS, id="both"
        ),
        pytest.param((), "a", pw.Reads.NOTHING, id="neither"),
        pytest.param(("pre_filter", "pre_score"), (), pw.Reads.NOTHING, id="an unused feature"),
    ],
)
def test_what_a_preparation_reads(methods, key, reads):
    given = {"pre_filter_reads": pw.Reads.STORAGE, "pre_score_reads": pw.Reads.TERMS}
    methods_of = {name: lambda *_: None for name in methods}
    plugin: Any = type("Mine", (Plugin,), given | methods_of | {"filter_reads": pw.Reads.NODE})()
    assert plugin.preparation_reads(key) == reads
    assert plugin.reads_for(key, Cluster()) == (reads, pw.Reads.NODE, pw.Reads.CLUSTER)


class Keyless(Plugin):
    pass


class Keyed(Plugin):
    def pod_key(self, pod):
        return pod.spec.node_name


class Same(Keyed):
    pass


@pytest.mark.parametrize(
    ("plugin", "is_of_template"), [(Keyless, False), (Keyed, True), (Same, True)]
)
def test_a_key_of_a_plugin_is_of_the_template_unless_it_is_the_pod_itself(plugin, is_of_template):
    pod = pw.testing.make_pod("p")
    assert plugin().key_is_of_template(pod) is is_of_template
    assert plugin().pod_key(pod) == ("" if is_of_template else (pod.key, pod.uid))


def test_a_plugin_can_have_other_bases_with_keywords_of_their_own():
    class Tagged:
        tag = ""

        def __init_subclass__(cls, *, tag: str = "", **keywords: Any) -> None:
            super().__init_subclass__(**keywords)
            cls.tag = tag

    class Mine(Plugin, Tagged, tag="mine"):
        def filter_columns(self, cycle, nodes, out):
            pass

    assert Mine.tag == "mine"
    assert (Mine.filters_columns, Mine.scores_columns) == (True, False)
