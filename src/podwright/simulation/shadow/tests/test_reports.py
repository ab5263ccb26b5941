"""The counts of a comparison, and what a comparison under way keeps."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import InputError, Pod, with_node_name, with_nominated_node_name
from podwright.apimachinery.schema import decode
from podwright.cluster.store import FreshChange, kind_of
from podwright.scheduler.config import read_configuration
from podwright.simulation.shadow import LiveShadow, live_shadow, report_of
from podwright.simulation.shadow.comparison import (
    Agreement,
    Finding,
    ScoreDifference,
    agreement,
    sum_of,
)
from podwright.testing import make_node, make_pod

SECOND_NS = 1_000_000_000


def finding(outcome: Any, *reasons: Any, what: Any = "binding", line: int = 1) -> Finding:
    return Finding(what=what, line=line, pod="a/p", node="n", outcome=outcome, reasons=reasons)


FINDINGS = [
    finding("agreed"),
    finding("explained", "tie"),
    finding("explained", "sampling", "tie"),
    finding("explained", "tie"),
    finding("unexplained", line=5),
]
COUNTS = Agreement(
    total=5, agreed=1, explained=3, unexplained=1, explained_by={"sampling + tie": 1, "tie": 2}
)


def test_findings_are_counted_by_outcome_and_reasons():
    found = agreement(FINDINGS)
    assert found == COUNTS
    assert list(found.explained_by) == ["sampling + tie", "tie"]
    assert agreement(()) == Agreement(
        total=0, agreed=0, explained=0, unexplained=0, explained_by={}
    )


def test_counts_of_two_comparisons_are_added():
    other = agreement([finding("explained", "delay"), finding("agreed"), finding("unexplained")])
    for found in (sum_of(COUNTS, other), sum_of(other, COUNTS)):
        assert found == agreement([*FINDINGS, *(
            finding("explained", "delay"), finding("agreed"), finding("unexplained")
        )])  # fmt: skip
        assert list(found.explained_by) == ["delay", "sampling + tie", "tie"]


def test_a_report_divides_bindings_and_preemptions():
    preempting = [finding("unexplained", what="preemption", line=7)]
    found = report_of([*FINDINGS, *preempting], failed_count=4, same_message_count=3)
    assert found.bindings == COUNTS
    assert (found.preemptions.total, found.preemptions.unexplained) == (1, 1)
    assert (found.failed_attempts.total, found.failed_attempts.same_message) == (4, 3)
    assert [each.line for each in found.differences] == [1, 1, 1, 5, 7]


def test_settled_findings_add_up_and_the_last_differences_are_kept(monkeypatch):
    monkeypatch.setattr(live_shadow, "MOST_DIFFERENCES", 3)
    live = LiveShadow()
    preempting = finding("explained", "tie", what="preemption", line=9)
    for findings in (FINDINGS, [preempting]):
        live.settle(live_shadow.Compared(findings=tuple(findings), last_line=0))
    report = live.report()
    assert report.bindings == COUNTS
    assert (report.preemptions.total, report.preemptions.explained_by) == (1, {"tie": 1})
    assert [each.line for each in report.differences] == [1, 5, 9]


def test_reports_are_documents_with_the_names_of_the_api():
    differing = Finding(
        what="preemption", line=3, pod="a/p", node="n1", best="n2", outcome="explained",
        reasons=("delay",), explanation="late", rejection="full",
        scores=(ScoreDifference("Fit", chosen=1, best=2),), victims=("a/v",), our_victims=("a/w",),
    )  # fmt: skip
    nothing = {"total": 0, "agreed": 0, "explained": 0, "unexplained": 0, "explainedBy": {}}
    document = {
        "what": "preemption", "line": 3, "pod": "a/p", "node": "n1", "ourNode": "n2",
        "outcome": "explained", "reasons": ["delay"], "explanation": "late", "rejection": "full",
        "scores": [{"plugin": "Fit", "node": 1, "ourNode": 2}],
        "victims": ["a/v"], "ourVictims": ["a/w"],
    }  # fmt: skip
    assert json.loads(msgspec.json.encode(report_of([differing]))) == {
        "bindings": nothing,
        "preemptions": nothing | {"total": 1, "explained": 1, "explainedBy": {"delay": 1}},
        "failedAttempts": {"total": 0, "sameMessage": 0},
        "differences": [document],
    }
    assert json.loads(msgspec.json.encode(finding("agreed"))) == {
        "what": "binding", "line": 1, "pod": "a/p", "node": "n", "ourNode": "",
        "outcome": "agreed", "reasons": [], "explanation": "", "rejection": "", "scores": [],
    }  # fmt: skip


def test_ten_thousand_differences_are_kept():
    live = LiveShadow()
    findings = tuple(finding("unexplained", line=number) for number in range(10_001))
    live.settle(live_shadow.Compared(findings=findings, last_line=0))
    assert [each.line for each in live.report().differences] == list(range(1, 10_001))


def test_a_configuration_is_checked_before_there_is_anything_to_compare():
    configuration = read_configuration(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "extenders": [{"urlPrefix": "http://x", "filterVerb": "f"}],
        },
        source="config.yaml",
    )
    with pytest.raises(InputError, match=r"other\.yaml: extenders: a record does not contain"):
        LiveShadow(configuration=configuration, source="other.yaml")


def lines_of(live: LiveShadow) -> list[int]:
    return [each.line for each in live._lines]


def test_lines_are_settled_once_and_dropped_after_four_delays(monkeypatch):
    live = LiveShadow()
    assert live.compare(0) == live_shadow.Compared(findings=(), last_line=0)
    live.begin([make_node("n1")])
    p, q = make_pod("p"), make_pod("q")
    live.add([change(2, None, p), change(3, p, with_node_name(p, "n1"))], 10 * SECOND_NS)
    assert live.compare(11 * SECOND_NS - 1) == live_shadow.Compared(findings=(), last_line=1)
    compared = live.compare(11 * SECOND_NS)
    assert ([one.line for one in compared.findings], compared.last_line) == ([3], 3)
    assert live.compare(0, is_over=True) == compared
    live.settle(compared)
    assert (lines_of(live), live.has_open_decisions) == ([2, 3], False)
    live.add([change(4, None, q)], 12 * SECOND_NS)
    live.add([change(5, q, with_nominated_node_name(q, "n1"))], 14 * SECOND_NS)
    # Nothing further is final, so nothing is compared.
    made: list[object] = []
    with monkeypatch.context() as patched:
        patched.setattr(live, "_shadow", made.append)
        assert live.compare(12 * SECOND_NS) == live_shadow.Compared(findings=(), last_line=3)
    assert made == []
    live.settle(live.compare(15 * SECOND_NS))
    # Those of 10 s and 12 s are four delays old, but not the nomination, for which q waits.
    assert (lines_of(live), [key for _, key in live._base]) == (
        [5],
        ["n1", "default/p", "default/q"],
    )
    live.add([change(6, None, make_pod("r"))], 30 * SECOND_NS)
    live.settle(live.compare(40 * SECOND_NS))
    assert lines_of(live) == [5, 6]
    waiting = with_nominated_node_name(q, "n1")
    live.add([change(7, waiting, with_node_name(waiting, "n1"))], 50 * SECOND_NS)
    live.add([change(8, p, None)], 52 * SECOND_NS)
    live.settle(live.compare(0, is_over=True))
    assert lines_of(live) == [8]
    assert live.report().bindings.total == 2


def change(number: int, old: Any, new: Any) -> FreshChange:
    obj = new or old
    return FreshChange(number, kind_of(obj), obj.key, old, new, obj)


def test_what_the_scheduler_does_not_read_is_a_line_without_a_change():
    live = LiveShadow()
    thing = decode({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}})
    live.begin([thing, make_node("n1")])
    assert [key for _, key in live._base] == ["n1"]
    pod = make_pod("p")
    live.add([change(1, None, thing), change(2, None, pod)], 6 * SECOND_NS)
    live.add([change(3, pod, with_node_name(pod, "n1"))], 7 * SECOND_NS)
    live.add([change(4, pod, None)], 8 * SECOND_NS)
    assert [(each.line, each.event, each.seen_ns // SECOND_NS) for each in live._lines] == [
        (4, "Add", 6), (5, "Update", 7), (6, "Delete", 8)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "is_open"),
    [
        pytest.param(lambda pod: pod, lambda pod: with_node_name(pod, "n1"), True, id="bound"),
        pytest.param(lambda pod: pod, lambda pod: with_nominated_node_name(pod, "n1"), True,
                     id="nominated"),
        pytest.param(lambda pod: pod, lambda pod: pod, False, id="changed otherwise"),
        pytest.param(lambda pod: with_nominated_node_name(pod, "n1"), lambda _: None, False,
                     id="deleted"),
        pytest.param(lambda _: None, lambda pod: with_nominated_node_name(pod, "n1"), False,
                     id="it came as it is"),
    ],
)  # fmt: skip
def test_decisions_are_bindings_and_nominations(old, new, is_open):
    live = LiveShadow()
    live.begin([make_node("n1")])
    pod: Pod = make_pod("p")
    live.add([change(2, old(pod), new(pod))], 2 * SECOND_NS)
    assert live.has_open_decisions is is_open


def test_a_pod_waits_until_it_is_bound_or_gone():
    live = LiveShadow()
    live.begin([make_node("n1")])
    pod, other = make_pod("p"), make_pod("q")
    nominated = with_nominated_node_name(pod, "n1")
    live.add([change(2, None, pod), change(3, pod, nominated)], 2 * SECOND_NS)
    first = dict(live._waiting)
    assert set(first) <= {pod.uid}
    live.add([change(4, nominated, with_node_name(nominated, "n1"))], 3 * SECOND_NS)
    assert live._waiting == {}
    live.add([change(5, None, with_nominated_node_name(other, "n1"))], 4 * SECOND_NS)
    waiting = dict(live._waiting)
    live.add([change(6, other, None)], 5 * SECOND_NS)
    assert (bool(waiting), live._waiting) == (True, {})
