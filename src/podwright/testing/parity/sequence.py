"""Pods scheduled one after the other, with deletions in between."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.objects import decode_pod, with_node_name
from podwright.scheduler.framework import Decision, PluginRunner
from podwright.testing.parity.comparison import Case, Check, Comparison, equal, only
from podwright.testing.parity.preemption import NOW_NS
from podwright.testing.parity.setup import cluster_of, profiles_of
from podwright.testing.parity.winners import winners_of


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
