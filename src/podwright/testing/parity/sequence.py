"""Pods scheduled one after the other, with deletions in between."""

from __future__ import annotations

from typing import Any

import msgspec

from podwright.apimachinery.objects import Pod, decode_pod, with_node_name
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import Decision, PluginRunner
from podwright.scheduler.preemption import Preemption
from podwright.testing.parity.comparison import Case, Check, Comparison, equal, only, winners_of
from podwright.testing.parity.preemption import NOW_NS, keys_of
from podwright.testing.parity.setup import cluster_of, profiles_of


def check_sequence(case: Case) -> Check:
    """Compare each step, then place the pod as the vector does, so that ties do not diverge."""
    (profile,) = profiles_of(None).values()
    cluster = cluster_of(case["objects"])
    runner = PluginRunner(profile, cluster)
    scoring = PluginRunner(profile, cluster, keeps_totals=True)
    for number, step in enumerate(case["steps"]):
        if step["op"] == "delete":
            cluster.remove(step["name"])
            continue
        pod = decode_pod(step["pod"])
        expect = step["expect"]
        winners = winners_of(scoring, scoring.decide(pod, cycle_number=number))
        decision = runner.decide(pod, cycle_number=number)
        decision = runner.post_filter(decision, cycle_number=number, now_ns=NOW_NS)
        yield from only("", expect, STEP_FIELDS)
        yield from compare_step(expect, decision, winners)
        if expect["chosen"] is not None:
            cluster.put(with_node_name(pod, expect["chosen"]))


STEP_FIELDS = frozenset({"chosen", "feasible", "max_score", "message", "winners"})
"""The optional fields of every step."""


def compare_step(expect: dict[str, Any], decision: Decision, winners: list[str]) -> Check:
    """Compare the fields of every step: the node, or the reason for no node.

    Parameters
    ----------
    winners : list of str
        Ours.
    """
    chosen, expected = expect["chosen"], expect["winners"]
    yield Comparison("chosen", chosen, expected, (chosen is None) == (not expected))
    if chosen is not None:
        yield Comparison("chosen", chosen, winners, chosen in winners)
    yield equal("feasible", expect["feasible"], decision.feasible_count)
    yield equal("winners", expected, winners)
    yield Comparison("node", expected, decision.node, decision.node in (expected or [""]))
    yield equal("winner_count", len(expected), decision.tie_count)
    yield equal("max_score", expect.get("max_score"), decision.total)
    yield equal("message", expect.get("message", ""), decision.message)


# Pods with priorities, scheduled one after the other on a full cluster.


def check_sequence_preemption(case: Case) -> Check:
    """Compare each step, then place pods and delete victims as the vector does."""
    (profile,) = profiles_of(None).values()
    cluster = cluster_of(case["objects"])
    runner = PluginRunner(profile, cluster)
    scoring = PluginRunner(profile, cluster, keeps_totals=True)
    second = 0
    for number, step in enumerate(case["steps"]):
        if step["op"] == "delete":
            cluster.remove(step["name"])
            continue
        pod = decode_pod(step["pod"])
        expect = step["expect"]
        cluster.put(pod)
        winners = winners_of(scoring, scoring.decide(pod, cycle_number=number))
        decision = runner.decide(pod, cycle_number=number)
        decision = runner.post_filter(decision, cycle_number=number, now_ns=NOW_NS)
        yield from only("", expect, {*STEP_FIELDS, "nominated_node", "acceptable", "victims"})
        yield from compare_step(expect, decision, winners)
        yield from _compare_preemption(expect, decision)
        _follow(cluster, pod, expect, second)
        second += 1


def _compare_preemption(expect: dict[str, Any], decision: Decision) -> Check:
    result = decision.post_filter
    details = None if result is None else result.details
    if not isinstance(details, Preemption) or details.choice is None:
        for field in ("acceptable", "nominated_node", "victims"):
            yield equal(f"preemption.{field}", expect.get(field), None)
        return
    assert result is not None
    yield equal("preemption.nominated_node", expect.get("nominated_node"), result.nominated_node)
    yield equal("preemption.acceptable", expect.get("acceptable"), list(details.choice.acceptable))
    yield equal("preemption.victims", expect.get("victims"), keys_of(details.victims))


def _follow(cluster: Cluster, pod: Pod, expect: dict[str, Any], second: int) -> None:
    """Apply the recorded scheduler's decision."""
    if expect["chosen"] is not None:
        started = f"2026-01-02T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"
        status = msgspec.structs.replace(pod.status, start_time=started)
        placed = msgspec.structs.replace(with_node_name(pod, expect["chosen"]), status=status)
        cluster.put(placed)
    elif expect.get("nominated_node"):
        for victim in expect["victims"]:
            cluster.remove(victim)
        status = msgspec.structs.replace(pod.status, nominated_node_name=expect["nominated_node"])
        cluster.put(msgspec.structs.replace(pod, status=status))
    else:
        cluster.delete(pod)
