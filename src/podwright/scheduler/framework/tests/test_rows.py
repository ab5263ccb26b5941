"""Kept results of one plugin follow what it reads, and survive its failures.

A random walk is compared after each step with a row that was never used before.
"""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest

from podwright._arrays import I32Array
from podwright.apimachinery.objects import Namespace, ObjectMeta, Service
from podwright.apimachinery.objects.workload import ServiceSpec
from podwright.scheduler.columns import Cluster, NodeColumns, Reads
from podwright.scheduler.framework import Cycle, Plugin, Scores, Status, Verdicts
from podwright.scheduler.framework.adapter import PluginFailure
from podwright.scheduler.framework.rankings.rows import ScoreRow, UncacheableScore, VerdictRow
from podwright.scheduler.framework.rankings.scores import Normalization
from podwright.testing import make_node, make_pod

PODS = Reads.NODE | Reads.PODS
ALL = PODS | Reads.NAMESPACES


class Rates(Plugin):
    """Rates each node by its label, its pods and the namespaces, as far as it reads them.

    It fails once if `fails` is set, after it has written half of the results.
    """

    name = "Rates"
    normalization = Normalization.NONE

    scores_in_range = True

    def __init__(self, reads: Reads, *, cluster: Cluster | None = None) -> None:
        self.cluster = cluster
        self.reads = reads
        self.fails = False
        self.evaluated: list[list[int]] = []

    def rate(self, cluster: Cluster, slot: int) -> int:
        rate = int(cluster.nodes.labels_of(slot).get("rate", "0"))
        if self.reads & Reads.PODS:
            rate += len(cluster.pods_on[slot])
        if self.reads & Reads.NAMESPACES:
            rate += len(cluster.namespaces)
        return rate

    def begin(self, rows: I32Array) -> list[int]:
        slots: list[int] = rows.tolist()
        self.evaluated.append(slots)
        assert self.cluster is None or self.cluster.nodes.alive[rows].all(), "no node, no call"
        return slots[: len(slots) // 2] if self.fails else slots

    def end(self) -> None:
        if self.fails:
            self.fails = False
            raise ValueError("not now")

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        for slot in self.begin(out.rows):
            if rate := self.rate(cycle.cluster, slot) % 3:
                out.reject_slot(slot, Status.unschedulable(f"rate {rate}"))
        self.end()

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        for slot in self.begin(out.rows):
            out.values[slot] = self.rate(cycle.cluster, slot)
        self.end()


class Checked(Rates):
    """The scores of a plugin that may leave their range."""

    scores_in_range = False


SERVICE_OF = [
    Service(
        metadata=ObjectMeta(name="s", namespace="default"), spec=ServiceSpec(selector={"a": value})
    )
    for value in "xy"
]


class Walk:
    """A cluster that changes at random."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cluster = Cluster()
        for number in range(5):
            self.put_node(number)

    def put_node(self, number: int) -> None:
        labels = {"rate": str(self.random.randrange(4))}
        self.cluster.put(make_node(f"n{number}", labels=labels))

    def step(self) -> None:
        random, cluster = self.random, self.cluster
        number = random.randrange(8)
        match random.choice("nnppppddo-fr"):
            case "n":
                self.put_node(number)
            case "p":
                cluster.put(make_pod(f"p{random.randrange(6)}", node=f"n{number}"))
            case "d":
                cluster.delete(make_pod(f"p{random.randrange(6)}"))
            case "-":
                cluster.delete(make_node(f"n{number}"))
            case "o":
                cluster.put(Namespace(metadata=ObjectMeta(name=f"s{number}")))
            case "f":
                cluster.nodes.pods_journal.forget()
            case _:
                cluster._renumber()


def verdicts_of(row: VerdictRow, cluster: Cluster) -> dict[str, str]:
    slot_of = cluster.nodes.slot_of
    codes = row.verdicts.codes
    found = {
        name: row.verdicts.status_of(codes.item(slot)).message for name, slot in slot_of.items()
    }
    # It may be true although no node is rejected any more.
    assert row.rejects_any or not any(found.values())
    return found


@pytest.mark.parametrize("reads", [Reads.NOTHING, Reads.NODE, PODS, Reads.NAMESPACES, ALL])
@pytest.mark.parametrize("seed", range(3))
def test_verdicts_follow_what_the_filter_reads(reads: Reads, seed: int) -> None:
    walk = Walk(seed)
    cluster = walk.cluster
    plugin = Rates(reads, cluster=cluster)
    cycle = Cycle(make_pod("p"), cluster)
    row = VerdictRow(plugin, cycle, reads)
    for _ in range(120):
        for _ in range(walk.random.choice((1, 1, 2, 5))):
            walk.step()
        plugin.fails = walk.random.random() < 0.2
        if plugin.fails:
            with suppress(PluginFailure):
                row.bring_up_to_date(cluster, cycle, cluster.objects_version)
            plugin.fails = False
            if walk.random.random() < 0.5:
                walk.step()
        row.bring_up_to_date(cluster, cycle, cluster.objects_version)
        fresh = VerdictRow(Rates(reads), cycle, reads)
        fresh.bring_up_to_date(cluster, cycle, cluster.objects_version)
        assert verdicts_of(row, cluster) == verdicts_of(fresh, cluster)
        plugin.evaluated.clear()
        row.bring_up_to_date(cluster, cycle, cluster.objects_version)
        assert plugin.evaluated == [], "nothing has changed"
        assert row.node_version == cluster.nodes.node_journal.version
        if reads & Reads.NAMESPACES:
            assert row.objects_version == cluster.objects_version
        cluster.put(SERVICE_OF[walk.random.randrange(2)])
        row.bring_up_to_date(cluster, cycle, cluster.objects_version)
        assert plugin.evaluated == [], "an object that is not read"


@pytest.mark.parametrize("reads", [Reads.NODE, PODS, ALL])
@pytest.mark.parametrize("is_checked", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_scores_follow_what_the_plugin_reads(reads: Reads, is_checked: bool, seed: int) -> None:
    walk = Walk(seed)
    cluster = walk.cluster
    plugin = (Checked if is_checked else Rates)(reads, cluster=cluster)
    cycle = Cycle(make_pod("p"), cluster)
    row = ScoreRow(plugin, cycle, reads)
    for _ in range(120):
        for _ in range(walk.random.choice((1, 1, 2, 5))):
            walk.step()
        row.bring_up_to_date(cluster, cycle, cluster.objects_version)
        live = cluster.live_slots()
        expected = [plugin.rate(cluster, slot) for slot in live.tolist()]
        assert row.scores.values[live].tolist() == expected
        if row.constant is not None and len(live):
            assert set(expected) == {row.constant}
        plugin.fails = walk.random.random() < 0.1
        if plugin.fails:
            walk.step()
            try:
                row.bring_up_to_date(cluster, cycle, cluster.objects_version)
            except UncacheableScore as error:
                assert error.plugin is plugin  # noqa: PT017 - a step may change nothing
                row = ScoreRow(plugin, cycle, reads)
            plugin.fails = False


@pytest.mark.parametrize(
    ("normalization", "raw", "is_kept"),
    [
        pytest.param(Normalization.NONE, 0, True, id="the least score"),
        pytest.param(Normalization.NONE, 100, True, id="the greatest one"),
        pytest.param(Normalization.NONE, 101, False, id="more than the greatest one"),
        pytest.param(Normalization.NONE, -1, False, id="less than the least one"),
        pytest.param(Normalization.DEFAULT, 101, True, id="more, which is scaled"),
        pytest.param(Normalization.DEFAULT, 2**50, True, id="the most that can be scaled"),
        pytest.param(Normalization.DEFAULT, 2**50 + 1, False, id="more than can be scaled"),
        pytest.param(Normalization.DEFAULT_REVERSED, -1, False, id="less than can be scaled"),
    ],
)
def test_scores_that_may_leave_their_range_are_not_kept(
    normalization: Normalization, raw: int, is_kept: bool
) -> None:
    cluster = Cluster()
    for name, rate in (("a", 1), ("b", raw), ("c", 2)):
        cluster.put(make_node(name, labels={"rate": str(rate)}))
    made: type[Rates] = type("Made", (Checked,), {"normalization": normalization})
    plugin = made(Reads.NODE)
    cycle = Cycle(make_pod("p"), cluster)
    row = ScoreRow(plugin, cycle, Reads.NODE)
    if not is_kept:
        with pytest.raises(UncacheableScore, match="Rates"):
            row.bring_up_to_date(cluster, cycle, cluster.objects_version)
        return
    row.bring_up_to_date(cluster, cycle, cluster.objects_version)
    assert row.scores.values.tolist() == [1, raw, 2]


@pytest.mark.parametrize(
    ("reads", "rates", "constants"),
    [
        pytest.param(Reads.NODE, "777", [7, 7, None, None], id="equal, until one differs"),
        pytest.param(Reads.NODE, "775", [None, None, None, None], id="different ones"),
        pytest.param(PODS, "777", [None, None, None, None], id="never if they read pods"),
    ],
)
def test_a_score_that_all_nodes_have_is_constant(
    reads: Reads, rates: str, constants: list[int | None]
) -> None:
    cluster = Cluster()
    for number in range(20):
        rate = rates[number] if number < len(rates) else rates[0]
        cluster.put(make_node(f"n{number}", labels={"rate": rate}))
    plugin = Rates(reads)
    cycle = Cycle(make_pod("p"), cluster)
    row = ScoreRow(plugin, cycle, reads)
    found: list[int | None] = []
    for name, rate in (("n0", rates[0]), ("n1", rates[0]), ("n1", "3"), ("n1", rates[0])):
        cluster.put(make_node(name, labels={"rate": rate, "other": str(len(found))}))
        row.bring_up_to_date(cluster, cycle, cluster.objects_version)
        found.append(row.constant)
    # It is not found again while single slots change.
    assert found == constants
    if constants[0] is None:
        return
    row = ScoreRow(plugin, cycle, reads)
    cluster.put(make_node("n1", labels={"rate": rates[0], "other": ""}))
    row.bring_up_to_date(cluster, cycle, cluster.objects_version)
    cluster.delete(make_node("n1"))
    row.bring_up_to_date(cluster, cycle, cluster.objects_version)
    assert row.constant == constants[0], "a node that is gone has no score"


@pytest.mark.parametrize(
    ("changed", "evaluated"),
    [
        pytest.param([], 0, id="none"),
        pytest.param([3], 1, id="one"),
        pytest.param([3, 7, 3], 3, id="each as often as it changed"),
        pytest.param(range(36), 36, id="a quarter and sixteen"),
        pytest.param(range(37), 80, id="more: all of them"),
    ],
)
def test_only_slots_that_changed_are_evaluated_while_they_are_few(
    changed: list[int], evaluated: int
) -> None:
    cluster = Cluster()
    for number in range(80):
        cluster.put(make_node(f"n{number}", labels={"rate": "0"}))
    plugin = Rates(Reads.NODE)
    cycle = Cycle(make_pod("p"), cluster)
    row = VerdictRow(plugin, cycle)
    row.bring_up_to_date(cluster, cycle, cluster.objects_version)
    assert [len(slots) for slots in plugin.evaluated] == [80]
    plugin.evaluated.clear()
    for count, number in enumerate(changed):
        labels = {"rate": str(1 + count % 2), "n": str(count)}
        cluster.put(make_node(f"n{number}", labels=labels))
    row.bring_up_to_date(cluster, cycle, cluster.objects_version)
    assert sum(len(slots) for slots in plugin.evaluated) == evaluated
    assert row.rejects_any is bool(changed)
    rejected = {slot for slot, code in enumerate(row.verdicts.codes.tolist()) if code}
    assert rejected == set(changed)


def test_a_row_of_a_pod_that_is_not_kept_starts_over_with_each_of_them() -> None:
    cluster = Cluster()
    for number in range(4):
        cluster.put(make_node(f"n{number}", labels={"rate": str(number)}))
    plugin = Rates(ALL)
    cycles = [Cycle(make_pod(name), cluster) for name in "pq"]
    row = VerdictRow(plugin, cycles[0], ALL)
    assert not row.is_spare
    for cycle in (*cycles, cycles[0]):
        row.restart(cycle)
        assert (row.is_spare, row.cycle) == (True, cycle)
        row.bring_up_to_date(cluster, cycle, cluster.objects_version)
        assert verdicts_of(row, cluster) == {"n0": "", "n1": "rate 1", "n2": "rate 2", "n3": ""}
    assert plugin.evaluated == [[0, 1, 2, 3]] * 3
    assert row.rejects_any
    cluster.put(make_node("n1", labels={"rate": "0"}))
    cluster.put(make_node("n2", labels={"rate": "0"}))
    row.restart(cycles[1])
    row.bring_up_to_date(cluster, cycles[1], cluster.objects_version)
    assert not row.rejects_any, "it is found anew"


def test_slots_catch_up_with_pods_that_came_also_after_a_failure() -> None:
    cluster = Cluster()
    for number in range(4):
        cluster.put(make_node(f"n{number}", labels={"rate": "0"}))
    plugin = Rates(PODS)
    cycle = Cycle(make_pod("p"), cluster)
    row = VerdictRow(plugin, cycle, PODS)
    row.bring_up_to_date(cluster, cycle, cluster.objects_version)
    journal = cluster.nodes.pods_journal
    for number, fails in enumerate((False, True, True, False)):
        cluster.put(make_pod(f"q{number}", node=f"n{number}"))
        plugin.fails = fails
        slots = journal.since(row.pods_version)
        assert slots is not None
        if fails:
            with pytest.raises(PluginFailure, match="not now"):
                row.catch_up(slots, journal.version)
            continue
        plugin.evaluated.clear()
        row.catch_up(slots, journal.version)
        expected = {f"n{slot}": "rate 1" if slot <= number else "" for slot in range(4)}
        assert verdicts_of(row, cluster) == expected
    assert plugin.evaluated == [[1, 2, 3]]
