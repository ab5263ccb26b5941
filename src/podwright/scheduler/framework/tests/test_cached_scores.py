"""Scores that read nodes only are cached, whether or not they declare `scores_in_range`."""

from __future__ import annotations

from typing import ClassVar

import pytest

import podwright as pw

SIZES = (10, 20, 30)


class Sized(pw.Plugin):
    """Scores a node by its label, and counts the calls."""

    name = "Sized"
    score_reads = pw.Reads.NODE
    calls: ClassVar[list[str]] = []

    def pod_key(self, pod):
        return ()

    def score(self, cycle, node):
        Sized.calls.append(node.name)
        return int(node.labels["size"])


class Scaled(Sized):
    normalization = pw.Normalization.DEFAULT


class Reversed(Sized):
    normalization = pw.Normalization.DEFAULT_REVERSED


class Normalizes(Sized):
    """Its own normalization needs all feasible nodes in every cycle."""

    def normalize_score(self, cycle, out):
        out.values[out.rows] //= 2


class NeedsFeasible(Sized):
    """Reads the feasible nodes, which a cached score does not have."""

    def score_columns(self, cycle, nodes, out):
        Sized.calls.extend(nodes.names[slot] for slot in out.rows.tolist())
        out.values[out.rows] = 10 * int(out.feasible.sum())


def scheduler_with(plugin, *sizes):
    Sized.calls.clear()
    scheduler = pw.Scheduler(plugins=[plugin])
    scheduler.add(
        *(
            pw.testing.make_node(f"n{i}", labels={"size": str(size)} if size is not None else {})
            for i, size in enumerate(sizes)
        )
    )
    return scheduler


def calls_per_pod(scheduler, count, **settings):
    numbers = []
    for number in range(count):
        before = len(Sized.calls)
        decision = scheduler.schedule(pw.testing.make_pod(f"p{number}", cpu="100m", **settings))
        assert decision.error is None, decision.error
        numbers.append(len(Sized.calls) - before)
    return numbers


@pytest.mark.parametrize("plugin", [Sized, Scaled, Reversed])
def test_a_score_of_nodes_is_computed_for_changed_nodes_only(plugin):
    scheduler = scheduler_with(plugin, *SIZES)
    assert calls_per_pod(scheduler, 5) == [3, 3, 0, 0, 0]
    scheduler.add(pw.testing.make_node("n0", labels={"size": "15"}))
    assert calls_per_pod(scheduler, 1) == [1]


@pytest.mark.parametrize(
    ("plugin", "size", "calls"),
    [
        pytest.param(Sized, -1, 3, id="less than none"),
        pytest.param(Sized, 0, 0, id="none"),
        pytest.param(Sized, 100, 0, id="the greatest"),
        pytest.param(Sized, 101, 3, id="more"),
        pytest.param(Scaled, -1, 3, id="less than none, scaled"),
        pytest.param(Scaled, 0, 0, id="none, scaled"),
        pytest.param(Scaled, 101, 0, id="any other, scaled"),
        pytest.param(Reversed, 0, 0, id="none, reversed"),
        pytest.param(Reversed, 10**9, 0, id="any other, reversed"),
    ],
)
def test_scores_are_kept_while_those_of_all_nodes_are_in_range(plugin, size, calls):
    scheduler = scheduler_with(plugin, *SIZES)
    scheduler.add(pw.testing.make_node("n3", labels={"size": str(size)}, unschedulable=True))
    assert calls_per_pod(scheduler, 5)[3:] == [calls, calls]


@pytest.mark.parametrize("plugin", [Normalizes, NeedsFeasible])
def test_a_score_that_depends_on_the_feasible_nodes_is_computed_in_every_cycle(plugin):
    assert calls_per_pod(scheduler_with(plugin, *SIZES), 4)[1:] == [3, 3, 3]


class Declared(Sized):
    """Its scores are in range, where it has any."""

    scores_in_range = True


@pytest.mark.parametrize(
    ("plugin", "size"),
    [
        pytest.param(Sized, 101, id="a score out of range"),
        pytest.param(Sized, None, id="a node without the label, for which the score raises"),
        pytest.param(Declared, None, id="the same, with a declared range"),
    ],
)
def test_an_invalid_score_of_an_infeasible_node_is_no_error(plugin, size):
    scheduler = scheduler_with(plugin, *SIZES, size)
    scheduler.add(
        pw.testing.make_node(
            "n3", labels={} if size is None else {"size": str(size)}, unschedulable=True
        )
    )
    calls_per_pod(scheduler, 4)
    assert Sized.calls[-3:] == ["n0", "n1", "n2"]


@pytest.mark.parametrize(
    ("plugin", "size", "normalized"), [(Sized, 101, 101), (Sized, -1, -1), (Scaled, -3, -10)]
)
@pytest.mark.parametrize("least", [0, 10])
def test_an_invalid_score_of_a_feasible_node_is_an_error(plugin, size, normalized, least):
    scheduler = scheduler_with(plugin, least, *SIZES[1:])
    calls_per_pod(scheduler, 3)
    scheduler.add(pw.testing.make_node("n1", labels={"size": str(size)}))
    for number in range(3):
        decision = scheduler.schedule(pw.testing.make_pod(f"q{number}"))
        assert decision.error is not None
        assert f"returns an invalid score {normalized}," in decision.error.message


@pytest.mark.parametrize("plugin", [Sized, Scaled, Reversed])
def test_cached_scores_place_pods_as_uncached_ones_do(plugin):
    uncached = type("Uncached", (plugin,), {"score_reads": pw.Reads.CLUSTER})
    sizes = [(7 * i) % 100 for i in range(20)]
    placed = []
    for one in (plugin, uncached):
        scheduler = scheduler_with(one, *sizes)
        placed.append(
            [
                scheduler.schedule(pw.testing.make_pod(f"p{i}", cpu=("1", "300m")[i % 2])).node
                for i in range(40)
            ]
        )
    assert placed[0] == placed[1]


@pytest.mark.parametrize("raw", [0, 1, 2, 100])
@pytest.mark.parametrize("plugin", [Sized, Scaled, Reversed])
def test_one_score_for_all_nodes_is_normalized_as_uncached_ones_are(plugin, raw):
    uncached = type("Uncached", (plugin,), {"score_reads": pw.Reads.CLUSTER})
    totals = []
    for one in (plugin, uncached):
        scheduler = scheduler_with(one, *[raw] * 3)
        pods = [pw.testing.make_pod(f"p{i}", cpu="100m") for i in range(4)]
        totals.append([scheduler.schedule(pod).total for pod in pods])
    assert totals[0] == totals[1]
