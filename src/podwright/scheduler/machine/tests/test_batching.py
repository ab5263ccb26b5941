"""What a pod leaves behind for the next one like it, and when that is of no use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
import pytest

from podwright.apimachinery.objects import (
    KubernetesObject,
    Object,
    Pod,
    PodGroup,
    decode_as,
    with_node_name,
)
from podwright.scheduler.assembly import Registry, build_machine
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import DEFAULT_GATES, Gates, parse_gates, set_gates
from podwright.scheduler.framework.decision import BatchReport, Decision
from podwright.scheduler.framework.profile import Profile, TieRule
from podwright.scheduler.framework.run import PluginRunner
from podwright.scheduler.machine import (
    CycleDue,
    Machine,
    ObjectDeleted,
    ObjectPut,
    SchedulerOptions,
)
from podwright.scheduler.machine.cycles.batching import Flush, NodesLeft
from podwright.scheduler.machine.metrics.metric_snapshot import Distribution, Value
from podwright.testing import make_node, make_pod
from podwright.testing.parity.sequence import effective_configuration

CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "pluginConfig": [{"name": "PodTopologySpread", "args": {"defaultingType": "List"}}],
        }
    ],
}
MS = 1_000_000
SIZES = {"large": "4", "medium": "3", "small": "2500m"}
"""CPUs; a pod of 2100m fits each once, and likes them in this order."""


def batching_machine(
    gates: Gates = DEFAULT_GATES, config: dict[str, Any] | None = None, **options: Any
) -> Machine:
    registry = Registry()
    configuration = effective_configuration(config or CONFIG, registry, gates)
    return build_machine(configuration, registry, SchedulerOptions(**{"batching": True, **options}))


class Burst:
    """A machine, its time, and pods that come one after the other."""

    def __init__(self, *, sizes: dict[str, str] = SIZES, **options: Any) -> None:
        self.machine = batching_machine(**options)
        self.now_ns = 0
        for name, cpu in sizes.items():
            self.put(make_node(name, cpu=cpu))

    def put(self, obj: Object) -> None:
        self.machine.handle(ObjectPut(obj), self.now_ns)

    def schedule(self, pod: Pod, *, after_ns: int = MS) -> Decision:
        """Let a pod arrive and decide for it."""
        self.now_ns += after_ns
        self.put(pod)
        self.machine.handle(CycleDue(), self.now_ns)
        decision = self.machine.last_decision
        assert decision is not None
        return decision


def like(name: str, **fields: Any) -> Pod:
    """Return a pod of the burst: room for two of them nowhere."""
    return make_pod(name, **{"cpu": "2100m", **fields})


def test_the_next_pod_gets_the_node_that_was_second_best():
    burst = Burst()
    first, second = (burst.schedule(like(name)) for name in "ab")
    assert (first.node, first.batch) == ("large", BatchReport())
    assert (second.node, second.batch) == ("medium", BatchReport("medium", is_used=True))
    assert (second.feasible_count, second.total) == (1, None)


def test_a_better_node_that_appeared_is_not_seen():
    burst = Burst()
    burst.schedule(like("a"))
    burst.put(make_node("huge", cpu=64))
    assert burst.schedule(like("b")).node == "medium"
    assert burst.schedule(like("c")).node == "small"
    assert burst.schedule(like("d")).node == "huge"


@pytest.mark.parametrize(
    ("then", "after_ns", "flushed"),
    [
        pytest.param(like("b", labels={"app": "x"}), MS, ("pod_incompatible",), id="another pod"),
        pytest.param(like("b"), 500 * MS, (), id="half a second is still in time"),
        pytest.param(like("b"), 500 * MS + 1, ("expired",), id="later is not"),
    ],
)
def test_results_are_for_the_next_pod_like_it(then, after_ns, flushed):
    burst = Burst()
    burst.schedule(like("a"))
    batch = burst.schedule(then, after_ns=after_ns).batch
    assert batch is not None
    assert batch.flushed == flushed
    assert bool(batch.hint) is not bool(flushed)


def test_results_are_of_no_use_while_the_last_node_has_room():
    burst = Burst()
    burst.schedule(like("a", cpu="1"))
    assert burst.schedule(like("b", cpu="1")).batch == BatchReport(flushed=("node_not_full",))


def test_results_are_of_no_use_when_the_last_node_is_gone():
    burst = Burst()
    burst.schedule(like("a"))
    burst.machine.handle(ObjectDeleted(make_node("large", cpu=4)), burst.now_ns)
    assert burst.schedule(like("b")).batch == BatchReport(flushed=("node_missing",))


def test_results_are_of_no_use_after_a_pod_that_failed():
    burst = Burst()
    burst.schedule(like("a"))
    failed = burst.schedule(like("big", cpu="100"))
    assert failed.batch == BatchReport(flushed=("pod_incompatible",))
    assert burst.schedule(like("b")).batch == BatchReport(flushed=("pod_skipped",))


def test_a_pod_without_a_signature_leaves_nothing():
    spread = make_pod("a", cpu="1")
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    document = {**spread.raw, "spec": {**spread.raw["spec"]}}
    document["spec"]["topologySpreadConstraints"] = [constraint]
    burst = Burst()
    decision = burst.schedule(decode_as(document, Pod, source="a test"))
    assert decision.batch == BatchReport(flushed=("pod_not_batchable",))


def test_a_suggested_node_that_is_full_by_now_is_not_taken():
    burst = Burst()
    burst.schedule(like("a"))
    burst.put(make_node("other", cpu=4))
    burst.put(with_node_name(like("theirs"), "medium"))
    decision = burst.schedule(like("b"))
    assert decision.node == "other"
    assert decision.batch is not None
    assert (decision.batch.hint, decision.batch.is_used) == ("medium", False)
    assert attempts(burst.machine) == {"no_hint": 1, "hint_not_used": 1}


def test_a_hint_counts_as_not_used_only_where_another_node_was_found():
    burst = Burst(sizes={"large": "4", "medium": "3"})
    burst.schedule(like("a"))
    burst.put(with_node_name(like("theirs"), "medium"))
    decision = burst.schedule(like("b"))
    assert (decision.node, decision.batch) == ("", BatchReport("medium"))
    assert attempts(burst.machine) == {"no_hint": 1}
    assert lookups(burst.machine) == {"no_hint": 1, "hint": 1}


def test_each_lookup_and_each_node_that_was_found_is_counted():
    burst = Burst()
    for number, name in enumerate("abcd"):
        burst.schedule(like(name))
        if number == 0:
            assert lookups(burst.machine) == {"no_hint": 1}
        if number == 2:
            assert lookups(burst.machine) == {"no_hint": 1, "hint": 2}
    assert attempts(burst.machine) == {"no_hint": 2, "hint_used": 2}
    assert lookups(burst.machine) == {"no_hint": 2, "hint": 2}
    stored = burst.machine.metrics_snapshot().distribution(
        "scheduler_store_schedule_results_duration_seconds", "default-scheduler"
    )
    assert (sum(stored.counts), stored.total) == (3, 0)


def test_each_reason_why_results_were_of_no_use_is_counted():
    burst = Burst()
    assert flushes(burst.machine) == {}
    for name in "abc":
        burst.schedule(like(name, cpu="1"))
    assert flushes(burst.machine) == {"node_not_full": 2}
    burst.schedule(like("other"))
    # And no other node is left for the next pod like it.
    assert flushes(burst.machine) == {"node_not_full": 2, "pod_incompatible": 1, "empty_list": 1}


def flushes(machine: Machine) -> dict[str, object]:
    """Return what the metric counts, by reason."""
    families = machine.metrics_snapshot().families
    name = "scheduler_batch_cache_flushed_total"
    found = [one for each in families if each.name == name for one in each.series]
    assert all(one.labels[0] == "default-scheduler" for one in found)
    return {one.labels[1]: one.value for one in found if isinstance(one, Value)}


def lookups(machine: Machine) -> dict[str, int]:
    """Return how often a hint was looked up, by whether there was one; it takes no time."""
    families = machine.metrics_snapshot().families
    family = next(f for f in families if f.name == "scheduler_get_node_hint_duration_seconds")
    found = [one for one in family.series if isinstance(one, Distribution)]
    assert not any(one.total for one in found)
    return {one.labels[0]: sum(one.counts) for one in found}


def attempts(machine: Machine) -> dict[str, object]:
    """Return what the metric counts, by result."""
    families = machine.metrics_snapshot().families
    family = next(f for f in families if f.name == "scheduler_batch_attempts_total")
    return {one.labels[1]: one.value for one in family.series if isinstance(one, Value)}


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"batching": False}, id="batching is off"),
        pytest.param({"gates": set_gates({"OpportunisticBatching": False})}, id="the gate is off"),
        pytest.param(
            {
                "config": {
                    **CONFIG,
                    "extenders": [{"urlPrefix": "http://x", "bindVerb": "bind"}],
                }
            },
            id="there are extenders",
        ),
    ],
)
def test_batching_takes_no_part_when(options):
    burst = Burst(**options)
    burst.put(make_node("n", cpu=4))
    burst.put(like("a"))
    burst.machine.handle(CycleDue(), MS)
    decision = burst.machine.last_decision
    assert decision is None or decision.batch is None


class Numbered:
    """Numbers objects in the order in which they are first seen."""

    def __init__(self) -> None:
        self.objects: list[KubernetesObject] = []

    def of(self, obj: KubernetesObject) -> int:
        if not any(known is obj for known in self.objects):
            self.objects.append(obj)
        return next(i for i, known in enumerate(self.objects) if known is obj)

    def of_all(self, objects: Iterable[KubernetesObject]) -> list[int]:
        return list(map(self.of, objects))


def test_a_machine_that_is_set_up_again_suggests_the_same():
    burst = Burst()
    burst.schedule(like("a"))
    numbering = Numbered()
    snapshot = burst.machine.snapshot(numbering)
    again = Burst(sizes={})
    again.now_ns = burst.now_ns
    again.machine.restore(snapshot, dict(enumerate(numbering.objects)))
    pod = like("b")
    decision = again.schedule(pod)
    assert decision.batch == burst.schedule(pod).batch == BatchReport("medium", is_used=True)


def test_a_machine_that_is_set_up_again_without_a_node_for_the_next_pod_suggests_none():
    burst = Burst()
    for name in "abc":
        burst.schedule(like(name))
    numbering = Numbered()
    snapshot = burst.machine.snapshot(numbering)
    (batch,) = snapshot.batches.values()
    assert (batch.signature, batch.nodes, batch.totals, batch.stored_ns) == (b"", (), (), 0)
    again = Burst(sizes={})
    again.now_ns = burst.now_ns
    again.machine.restore(snapshot, dict(enumerate(numbering.objects)))
    decisions = [each.schedule(like("d")) for each in (burst, again)]
    assert [each.node for each in decisions] == ["", ""]
    assert not any(each.batch is not None and each.batch.hint for each in decisions)


# -------------------------------------------------------------------- the nodes that are left


def left(rule: TieRule, totals: list[int], chosen: int) -> NodesLeft:
    runner = PluginRunner(Profile(scheduler_name="s", tie_rule=rule), Cluster(), seed=3)
    names = [f"n{i}" for i in range(len(totals))]
    found = np.arange(len(totals), dtype=np.int32)
    return NodesLeft.after(chosen, names, np.array(totals, dtype=np.int64), found, runner)


def popped(nodes: NodesLeft) -> list[str]:
    return [nodes.pop(number) for number in range(len(nodes))]


@pytest.mark.parametrize(
    ("rule", "totals", "chosen", "order"),
    [
        pytest.param(TieRule.HEAP, [5, 5, 5, 5, 5], 0, ["n4", "n3", "n2", "n1"], id="as Go pops"),
        pytest.param(TieRule.HEAP, [1, 5, 3], 1, ["n2", "n0"], id="best first"),
        pytest.param(TieRule.FIRST, [5, 5, 5], 1, ["n0", "n2"], id="by name among equals"),
        pytest.param(TieRule.DRAWN, [1, 5, 3], 1, ["n2", "n0"], id="nothing to draw"),
    ],
)
def test_nodes_that_are_left_come_best_first(rule, totals, chosen, order):
    assert popped(left(rule, totals, chosen)) == order


@pytest.mark.parametrize("rule", list(TieRule))
def test_nodes_that_are_left_survive_being_written_down(rule):
    nodes = left(rule, [4, 9, 4, 4, 2, 4, 4], 1)
    runner = PluginRunner(Profile(scheduler_name="s", tie_rule=rule), Cluster(), seed=3)
    names, totals = msgspec.json.decode(
        msgspec.json.encode(nodes.entries()), type=tuple[tuple[str, ...], tuple[int, ...]]
    )
    assert popped(NodesLeft.restored(names, totals, runner)) == popped(nodes)


def test_equals_are_drawn_anew_in_every_cycle():
    totals = [5] * 9
    first = {left(TieRule.DRAWN, totals, 8).pop(number) for number in range(40)}
    assert len(first) > 4


def test_a_group_leaves_nodes_behind_for_the_next_one_and_not_for_its_own_members():
    burst = Burst(gates=parse_gates("GenericWorkload=true,GangScheduling=true"))
    basic: dict[str, Any] = {"schedulingPolicy": {"basic": {}}}
    document = {"metadata": {"name": "g", "namespace": "default"}, "spec": basic}
    burst.put(decode_as(document, PodGroup))
    found = []
    for names in ("ab", "c"):
        burst.now_ns += MS
        for name in names:
            burst.put(like(name, spec={"schedulingGroup": {"podGroupName": "g"}}))
        burst.machine.handle(CycleDue(), burst.now_ns)
        found += [(one.node, one.batch) for one in burst.machine.last_decisions]
    assert found == [
        ("large", BatchReport()),
        ("medium", BatchReport(flushed=(Flush.POD_SKIPPED,))),
        ("small", BatchReport("small", is_used=True)),
    ]
