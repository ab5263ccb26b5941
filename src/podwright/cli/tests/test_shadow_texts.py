"""What `podwright shadow` prints of a decision, and what agreement it counts."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cli.clusters.shadow_run import _describe, print_agreement
from podwright.simulation.shadow import Finding, report_of
from podwright.simulation.shadow.comparison import ScoreDifference


def finding(**fields: Any) -> Finding:
    needed: Any = {
        "what": "binding",
        "line": 1,
        "pod": "default/p",
        "node": "n1",
        "outcome": "agreed",
    }
    return Finding(**(needed | fields))


FIRST = ScoreDifference(plugin="A", chosen=3, best=4)
SECOND = ScoreDifference(plugin="B", chosen=5, best=10)


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        pytest.param({}, [], id="no other node"),
        pytest.param({"best": "n1"}, [], id="the same node"),
        pytest.param({"best": "n2"}, ["podwright: n2"], id="another node"),
        pytest.param({"victims": ("d/a", "d/b")}, ["victims: d/a, d/b"], id="victims"),
        pytest.param({"victims": ("d/a", "d/b"), "our_victims": ("d/b", "d/a")},
                     ["victims: d/a, d/b"], id="the same victims in another order"),
        pytest.param({"victims": ("d/a",), "our_victims": ("d/b",)},
                     ["victims: d/a", "podwright's victims there: d/b"], id="other victims"),
        pytest.param({"victims": ("d/a",), "our_victims": ()}, ["victims: d/a"],
                     id="none of podwright"),
        pytest.param({"our_victims": ("d/b",)}, ["podwright's victims there: d/b"],
                     id="only those of podwright"),
        pytest.param({"rejection": "full"}, ["podwright rejects it: full"], id="a rejection"),
        pytest.param({"scores": (FIRST,)}, ["1 point behind: A 3, not 4"], id="one point"),
        pytest.param({"scores": (FIRST, SECOND)}, ["6 points behind: A 3, not 4; B 5, not 10"],
                     id="points of several plugins"),
        pytest.param({"explanation": "it was late"}, ["it was late"], id="no reason"),
        pytest.param({"explanation": "it was late", "reasons": ("delay", "sampling")},
                     ["delay + sampling: it was late"], id="reasons"),
        pytest.param({"reasons": ("delay",)}, [], id="a reason without a sentence"),
    ],
)  # fmt: skip
def test_a_decision_is_described_by_what_differs(fields, lines):
    assert _describe(finding(**fields)) == ["chosen:    n1", *lines]


def test_the_agreement_counts_bindings_preemptions_and_failed_attempts(capsys):
    findings = [
        *(finding() for _ in range(3)),
        finding(outcome="explained", reasons=("delay",)),
        finding(outcome="unexplained"), finding(outcome="unexplained"),
        finding(what="preemption", outcome="unexplained"),
    ]  # fmt: skip
    print_agreement(report_of(findings, failed_count=3, same_message_count=2))
    assert capsys.readouterr().out == """\

Agreement:
WHAT         TOTAL  AGREED  EXPLAINED  UNEXPLAINED  AGREED OR EXPLAINED
bindings     6      3       1          2            66.67 %
preemptions  1      0       0          1            0.00 %

Explained by:
WHAT      REASON  TIMES
bindings  delay   1

Attempts without a feasible node:
2 of 3 failed for the same reasons in podwright (66.67 %)

bindings=6 agreed=3 explained=1 unexplained=2
"""  # fmt: skip


def test_an_agreement_without_decisions_has_no_share(capsys):
    print_agreement(report_of([]))
    assert capsys.readouterr().out == """\

Agreement:
WHAT         TOTAL  AGREED  EXPLAINED  UNEXPLAINED  AGREED OR EXPLAINED
bindings     0      0       0          0            -
preemptions  0      0       0          0            -

bindings=0 agreed=0 explained=0 unexplained=0
"""  # fmt: skip
