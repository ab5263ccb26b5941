"""What an explanation records beside the results of plugins."""

from __future__ import annotations

import re

import pytest

from podwright.apimachinery.objects import with_nominated_node_name
from podwright.scheduler.columns import Cluster, NodeColumns
from podwright.scheduler.framework import (
    Cycle,
    Explanation,
    NodeView,
    Normalization,
    Plugin,
    PluginRunner,
    PreFilterResult,
    Profile,
    Reads,
    Scores,
    Status,
    Verdicts,
    add_custom_result,
)
from podwright.scheduler.preemption.tests.situations import cluster_of, profile
from podwright.testing import make_node, make_pod


class Tiny(Plugin):
    """Accept all nodes but one, and say which node was the last."""

    name = "Tiny"

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        add_custom_result(cycle, "last", node.name)
        return Status() if node.name != "n3" else Status.unschedulable("no")

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 1


def explained(*, nominated: str = "", scores: bool = True) -> Explanation:
    cluster = Cluster()
    for name in ("n1", "n2", "n3"):
        cluster.put(make_node(name))
    plugin = Tiny()
    profile = Profile(scheduler_name="s", filter=(plugin,), score=((plugin, 1),) if scores else ())
    pod = with_nominated_node_name(make_pod("web"), nominated)
    return PluginRunner(profile, cluster).explain(pod, cycle_number=1, now_ns=0)


def test_an_explanation_has_the_custom_results_of_its_cycle() -> None:
    assert explained().custom_results == {"last": "n3"}


@pytest.mark.parametrize(
    ("nominated", "scores", "not_examined", "reason"),
    [
        pytest.param("", True, (), None, id="every node is examined"),
        pytest.param(
            "n2", True, ("n1", "n3"), "nominatedNodeFits", id="a nominated node that fits"
        ),
        pytest.param("n3", True, (), None, id="one that does not"),
        pytest.param("", False, ("n2", "n3"), "enoughFeasibleNodes", id="one node is enough"),
    ],
)
def test_an_explanation_says_why_nodes_were_not_examined(
    nominated: str, scores: bool, not_examined: tuple[str, ...], reason: str | None
) -> None:
    found = explained(nominated=nominated, scores=scores)
    assert (found.not_examined, found.not_examined_reason) == (not_examined, reason)
    # A node that was not examined has no status.
    rejected = {"n3": Status.unschedulable("no").by("Tiny")}
    assert found.rejected == ({} if "n3" in not_examined else rejected)
    assert set(found.examined) == {"n1", "n2", "n3"} - set(not_examined)
    assert set(found.feasible) == set(found.examined) - {"n3"}


class Sized(Plugin):
    """Scores nodes by their label, and rejects those without one."""

    name = "Sized"

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.OK if "size" in node.labels else Status.unschedulable("no size")

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return int(node.labels["size"])


class Refuses(Plugin):
    """Rejects one node, and breaks at another."""

    name = "Refuses"

    def __init__(self, broken: str = "") -> None:
        self.broken = broken

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        if node.name == self.broken:
            return Status.error("broken")
        return Status.OK if node.name != "c" else Status.unresolvable("not c")


def sized(*sizes: int | None, filters: tuple[Plugin, ...] = ()) -> Explanation:
    """Explain a pod on nodes a, b and so on, of these sizes."""
    cluster = Cluster()
    for name, size in zip("abcdef", sizes, strict=False):
        cluster.put(make_node(name, labels={} if size is None else {"size": str(size)}))
    plugin = Sized()
    profile = Profile(scheduler_name="s", filter=(*filters, plugin), score=((plugin, 2),))
    return PluginRunner(profile, cluster).explain(make_pod("web"), cycle_number=1, now_ns=0)


def cells(shown: str) -> list[str]:
    """Return the texts of the cells of all tables."""
    return re.findall(r"<td[^>]*>([^<]*)</td>", shown)


def test_an_explanation_shows_the_best_node_first_and_the_most_frequent_reason() -> None:
    found = sized(10, 40, None, 20, None, filters=(Refuses(),))
    assert str(found) == "default/web goes to b"
    assert repr(found) == "<Explanation of default/web: b; 3 of 5 nodes are feasible>"
    assert "<p>3 of 5 nodes are feasible.</p>" in found._repr_html_()
    assert cells(found._repr_html_()) == [
        *("b", "80", "80"),
        *("d", "40", "40"),
        *("a", "20", "20"),
        *("1", "Refuses", "not c", "c"),
        *("1", "Sized", "no size", "e"),
    ]


@pytest.mark.parametrize(
    ("size", "title"),
    [
        pytest.param(10, "Explanation of default/web: a", id="a node"),
        pytest.param(None, "Explanation of default/web: no node", id="none"),
    ],
)
def test_the_title_of_an_explanation_has_the_node(size: int | None, title: str) -> None:
    assert f"{title}<" in sized(size)._repr_html_()


class Forbids(Plugin):
    """Rejects pods as a whole."""

    name = "Forbids"

    def pre_filter(self, cycle: Cycle) -> Status:
        return Status.unschedulable("not now")


@pytest.mark.parametrize("forbids", [False, True])
def test_an_explanation_has_the_status_of_pre_filter(forbids: bool) -> None:
    cluster = Cluster()
    cluster.put(make_node("a"))
    profile = Profile(scheduler_name="s", pre_filter=(Forbids(),) if forbids else ())
    found = PluginRunner(profile, cluster).explain(make_pod("web"), cycle_number=1, now_ns=0)
    expected = Status.unschedulable("not now").by("Forbids") if forbids else Status.OK
    assert found.pre_filter == expected


def test_reasons_are_shown_by_the_number_of_their_nodes() -> None:
    found = sized(None, None, None, filters=(Refuses(),))
    reasons = "0/3 nodes are available: 1 not c, 2 no size."
    assert str(found) == reasons
    assert repr(found) == f"<Explanation of default/web: {reasons}; 0 of 3 nodes are feasible>"
    assert cells(found._repr_html_()) == [
        *("2", "Sized", "no size", "a"),
        *("1", "Refuses", "not c", "c"),
    ]


def test_a_single_feasible_node_wins_without_scores() -> None:
    found = sized(None, 10)
    assert (found.winners, found.scores, found.totals) == (("b",), (), {})


@pytest.mark.parametrize("is_plain", [True, False])
def test_plugins_that_pre_score_skips_are_explained_without_scores(is_plain: bool) -> None:
    term = {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "preference": term}]}  # fmt: skip
    spec = {} if is_plain else {"affinity": {"nodeAffinity": preferred}}
    runner = PluginRunner(profile(), cluster_of(make_node("a"), make_node("b")))
    found = runner.explain(make_pod("web", spec=spec), cycle_number=1, now_ns=0)
    assert ("NodeAffinity" in found.skipped_scores) is is_plain
    scored = {score.plugin for score in found.scores}
    assert ("NodeAffinity" in scored) is not is_plain
    assert scored.isdisjoint(found.skipped_scores)
    assert "TaintToleration" in scored


def test_of_equal_nodes_the_winners_are_shown_first() -> None:
    found = sized(7, 7, 7)
    assert set(found.winners) == {"a", "b", "c"}
    assert found.totals == dict.fromkeys("abc", 14)


def test_the_scores_of_a_plugin_show_raw_normalized_and_weighted_ones() -> None:
    (score,) = sized(10, 40).scores
    assert repr(score) == "<ScoreExplanation: Sized, weight 2, 2 nodes>"
    assert cells(score._repr_html_()) == ["b", "40", "40", "80", "a", "10", "10", "20"]


def test_the_rejections_of_each_filter_are_shown_also_behind_an_earlier_one() -> None:
    first, second = sized(10, None, None, filters=(Refuses(),)).filters
    assert (set(first.rejected), set(second.rejected)) == ({"c"}, {"b", "c"})
    assert repr(second) == "<FilterExplanation: Sized rejects 2 nodes>"


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        pytest.param("b", 'running "Last" filter plugin: broken', id="a node that others leave"),
        pytest.param("c", None, id="a node that an earlier filter rejects"),
    ],
)
def test_an_error_is_explained_at_a_node_that_is_not_rejected_yet(
    broken: str, error: str | None
) -> None:
    last = type("Last", (Refuses,), {"name": "Last"})(broken)
    cluster = Cluster()
    for name in "abc":
        cluster.put(make_node(name))
    profile = Profile(scheduler_name="s", filter=(Refuses(), last), score=((Tiny(), 1),))
    found = PluginRunner(profile, cluster).explain(make_pod("web"), cycle_number=1, now_ns=0)
    assert (found.error and found.error.message) == error
    assert found.decision.error == found.error
    assert found.feasible == (() if error else ("a", "b"))


class Breaks(Plugin):
    """Leaves some nodes to choose from; its filter fails at one node."""

    name = "Breaks"

    def __init__(self, broken: str, left: frozenset[str] | None) -> None:
        self.broken = broken
        self.left = left

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        return PreFilterResult(self.left)

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 1


class OnColumns(Breaks):
    """Writes an error into the columns."""

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        out.reject_slot(nodes.slot_of[self.broken], Status.error("no disk"))


class AtNode(Breaks):
    """Returns an error."""

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.error("no disk") if node.name == self.broken else Status.OK


class Raises(Breaks):
    """Raises an error."""

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        if node.name == self.broken:
            raise KeyError("disk")
        return Status.OK


FAILED = 'running "Breaks" filter plugin: '


@pytest.mark.parametrize(
    ("broken", "left", "nominated", "error", "feasible"),
    [
        pytest.param("a", None, "", FAILED, (), id="a node that is evaluated"),
        pytest.param("c", None, "", None, ("a", "b"), id="one that an earlier filter rejects"),
        pytest.param("a", {"b"}, "", None, ("b",), id="one that PreFilter leaves out"),
        pytest.param("b", {"b", "c"}, "", FAILED, (), id="one that PreFilter leaves"),
        pytest.param("a", None, "b", None, ("b",), id="another than the nominated node"),
        pytest.param("b", None, "b", FAILED, (), id="the nominated node"),
    ],
)
@pytest.mark.parametrize("form", [OnColumns, AtNode, Raises])
def test_an_error_at_a_node_that_is_not_evaluated_is_none(
    form: type[Breaks],
    broken: str,
    left: set[str] | None,
    nominated: str,
    error: str | None,
    feasible: tuple[str, ...],
) -> None:
    # Upstream: pkg/scheduler/schedule_one.go, findNodesThatFitPod
    cluster = Cluster()
    for name in "abc":
        cluster.put(make_node(name))
    plugin = form(broken, None if left is None else frozenset(left))
    profile = Profile(
        scheduler_name="s",
        pre_filter=(plugin,),
        filter=(Refuses(), plugin),
        score=((plugin, 1),),
    )
    pod = with_nominated_node_name(make_pod("web"), nominated)
    found = PluginRunner(profile, cluster).explain(pod, cycle_number=1, now_ns=0)
    message = "" if found.error is None else found.error.message
    assert message.startswith(error or "")
    assert bool(message) is bool(error)
    assert found.decision.error == found.error
    assert found.feasible == feasible
    assert bool(found.decision.node) is not bool(error)


@pytest.mark.parametrize("form", [OnColumns, AtNode, Raises])
def test_an_error_beyond_the_end_of_the_search_is_none(form: type[Breaks]) -> None:
    # Nothing scores, so one node is enough; the next one that fits ends the search.
    # Upstream: pkg/scheduler/schedule_one.go, findNodesThatPassFilters
    cluster = Cluster()
    for name in "abc":
        cluster.put(make_node(name))
    for broken, node in (("c", "a"), ("b", ""), ("a", "")):
        plugin = form(broken, None)
        profile = Profile(scheduler_name="s", pre_filter=(plugin,), filter=(plugin,))
        decision = PluginRunner(profile, cluster).decide(make_pod("web"), cycle_number=1)
        assert decision.node == node
        assert (decision.error is None) is bool(node)


def test_a_node_that_fails_with_its_nominated_pod_is_explained_as_rejected() -> None:
    runner = PluginRunner(profile(), cluster_of(make_node("a", cpu="2"), make_node("b", cpu="2")))
    runner.cluster.nominate(make_pod("first", cpu="2", priority=5), "a")
    found = runner.explain(make_pod("p", cpu="1", priority=5), cycle_number=1, now_ns=0)
    assert found.decision.node == "b"
    status = found.rejected["a"]
    assert (status.reasons, status.plugin) == (("Insufficient cpu",), "NodeResourcesFit")
    assert "b" not in found.rejected


def test_nodes_that_pre_filter_leaves_out_do_not_count_as_not_examined() -> None:
    cluster = Cluster()
    for name in "abcd":
        cluster.put(make_node(name))
    plugin = AtNode("", frozenset({"a", "b", "c"}))
    profile = Profile(
        scheduler_name="s", pre_filter=(plugin,), filter=(Refuses(),), score=((plugin, 1),)
    )
    found = PluginRunner(profile, cluster).explain(make_pod("web"), cycle_number=1, now_ns=0)
    assert found.examined == ("a", "b", "c")
    assert (found.not_examined, found.not_examined_reason) == ((), None)
    assert (found.feasible, set(found.rejected)) == (("a", "b"), {"c"})


class Halves(Sized):
    """Halves its scores."""

    name = "Halves"

    def normalize_score(self, cycle: Cycle, scores: Scores) -> None:
        scores.values[scores.rows] //= 2


def normalizing(normalization: Normalization) -> Plugin:
    made: Plugin = type("Sized", (Sized,), {"normalization": normalization})()
    return made


@pytest.mark.parametrize(
    ("plugin", "normalized"),
    [
        pytest.param(Sized(), [10, 40, 20, 30], id="as they are"),
        pytest.param(
            normalizing(Normalization.DEFAULT), [25, 100, 50, 75], id="to the greatest one"
        ),
        pytest.param(
            normalizing(Normalization.DEFAULT_REVERSED), [75, 0, 50, 25], id="the least is the best"
        ),
        pytest.param(Halves(), [5, 20, 10, 15], id="by the plugin"),
    ],
)
@pytest.mark.parametrize("rejected", [(), ("d",), ("c", "d")])
def test_raw_scores_are_explained_beside_the_normalized_and_the_weighted_ones(
    plugin: Plugin, normalized: list[int], rejected: tuple[str, ...]
) -> None:
    cluster, raw = Cluster(), [10, 40, 20, 30]
    names = [name for name in "badc" if name not in rejected]
    sizes = dict(zip(names, raw, strict=False))
    for name in "badc":
        labels = {"size": str(sizes[name])} if name in sizes else {}
        cluster.put(make_node(name, labels=labels))
    scores = ((plugin, 3), (Tiny(), 2))
    made = Profile(scheduler_name="s", filter=(Sized(),), score=scores)
    found = PluginRunner(made, cluster).explain(make_pod("web"), cycle_number=1, now_ns=0)
    first, second = found.scores
    count = len(names)
    assert (first.weight, second.weight) == (3, 2)
    assert first.raw == dict(zip(names, raw[:count], strict=True))
    expected = dict(zip(names, normalized[:count], strict=True))
    assert first.normalized == expected
    assert second.raw == second.normalized == dict.fromkeys(names, 1)
    assert found.totals == {name: 3 * score + 2 for name, score in expected.items()}
    assert found.feasible == tuple(names)
    best = max(found.totals.values())
    assert found.winners == tuple(name for name in names if found.totals[name] == best)
    assert found.tied == found.winners
    assert found.decision.total == best


def test_a_pod_without_any_node_is_explained() -> None:
    made = Profile(scheduler_name="s", filter=(Tiny(),), score=((Tiny(), 1),))
    found = PluginRunner(made, Cluster()).explain(make_pod("web"), cycle_number=1, now_ns=0)
    assert str(found) == "no nodes available to schedule pods"
    assert (found.node_names, found.feasible, found.examined, found.winners) == ((), (), (), ())
    assert (found.filters, found.scores, found.totals, found.rejected) == ((), (), {}, {})
    assert (found.custom_results, found.error, found.pre_filter) == ({}, None, Status.OK)


class Feasible(Tiny):
    """Scores the feasible nodes, which it reads from a mask, by their number."""

    name = "Feasible"
    score_reads = Reads.CLUSTER

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        assert out.feasible is not None
        assert out.feasible.nonzero()[0].tolist() == out.rows.tolist()
        out.values[out.rows] = out.feasible.sum()


@pytest.mark.parametrize(("filters", "names"), [((), "abc"), ((Refuses(),), "ab")])
def test_scores_are_explained_with_the_mask_of_feasible_nodes(
    filters: tuple[Plugin, ...], names: str
) -> None:
    cluster = Cluster()
    for name in "abc":
        cluster.put(make_node(name))
    made = Profile(scheduler_name="s", filter=filters, score=((Feasible(), 1),))
    found = PluginRunner(made, cluster).explain(make_pod("web"), cycle_number=1, now_ns=0)
    assert found.totals == dict.fromkeys(names, len(names))
    assert found.decision.total == len(names)
