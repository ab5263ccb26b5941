"""Pods scheduled one after the other, with deletions in between."""

from __future__ import annotations

from typing import Any

from podwright.framework.decision import Decision
from podwright.framework.run import Runner
from podwright.objects import decode_pod, with_node_name
from podwright.parity.comparison import Case, Check, Comparison, equal
from podwright.parity.preemption import NOW_NS
from podwright.parity.setup import cluster_of, profiles_of


def check_sequence(case: Case) -> Check:
    """Compare each step; the pod then goes where the vector says, so that ties do not part."""
    (profile,) = profiles_of(None).values()
    cluster = cluster_of(case["objects"])
    runner = Runner(profile, cluster)
    for number, step in enumerate(case["steps"]):
        if step["op"] == "delete":
            cluster.remove(step["name"])
            continue
        pod = decode_pod(step["pod"])
        expect = step["expect"]
        decision = runner.decide(pod, cycle_number=number)
        decision = runner.post_filter(decision, cycle_number=number, now_ns=NOW_NS)
        yield from compare_step(expect, decision)
        if expect["chosen"] is not None:
            cluster.put(with_node_name(pod, expect["chosen"]))


def compare_step(expect: dict[str, Any], decision: Decision) -> Check:
    """Compare what every step says: where the pod goes, or why it goes nowhere."""
    yield equal("feasible", expect["feasible"], decision.feasible_count)
    winners = expect["winners"]
    yield Comparison("node", winners, decision.node, decision.node in (winners or [""]))
    if winners:
        yield equal("winner_count", len(winners), decision.tie_count)
    if "max_score" in expect:
        yield equal("max_score", expect["max_score"], decision.total)
    yield equal("message", expect.get("message", ""), decision.message)
