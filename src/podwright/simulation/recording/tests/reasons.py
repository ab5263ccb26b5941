"""Comparison of the reasons of a diff with explanations."""

from __future__ import annotations

import podwright as pw
from podwright.scheduler.assembly import Because
from podwright.simulation.recording.comparison.placement_diff import PlacementDiff
from podwright.simulation.recording.comparison.scenario import Scenario


def check_reasons(found: PlacementDiff, scenarios: tuple[Scenario, Scenario]) -> int:
    """Compare each reason with the explanation of its pod; return the number of reasons."""
    checked = 0
    by_pod = {one.pod: one for one in found.differences}
    for side, scenario in enumerate(scenarios):
        scheduler = scenario.scheduler()
        for pod in scheduler.in_queue_order():
            one = by_pod.get(pod.key)
            because = None if one is None else one.reasons[side]
            if one is not None and because is not None and because.kind != "preemption":
                placements = (one.before, one.after)
                theirs = placements[1 - side]
                assert theirs is not None
                check_reason(because, scheduler.explain(pod.key), theirs.node)
                checked += 1
            scheduler.schedule(pod.key)
    return checked


def check_reason(because: Because, explanation: pw.Explanation, theirs: str) -> None:
    """Compare one reason with the explanation of its cycle."""
    mine = explanation.decision.node
    match because.kind:
        case "predicate":
            rejected = explanation.rejected[theirs]
            assert (because.rule, because.reasons) == (rejected.plugin, rejected.reasons)
        case "draw":
            assert explanation.totals[mine] == explanation.totals[theirs]
        case "priority":
            assert because.margin == explanation.totals[mine] - explanation.totals[theirs] > 0
            weighted = {score.rule: score.weighted for score in because.scores}
            for scores in explanation.scores:
                expected = scores.weight * (scores.normalized[mine] - scores.normalized[theirs])
                assert weighted.pop(scores.plugin, 0) == expected
            assert not weighted
        case kind:
            raise AssertionError(f"no explanation expected for {kind}")
