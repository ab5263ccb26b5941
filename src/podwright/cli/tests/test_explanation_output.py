"""Explanations as text: given explanations, and all that is printed of them.

`python -m podwright.cli.tests.test_explanation_output` writes the texts anew; the difference is to
be read before it is committed.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console
from rich.text import Text

from podwright.apimachinery.objects import decode_pod
from podwright.cli import console
from podwright.cli.decisions import explanation_output
from podwright.cli.decisions.explanation_output import (
    _answers,
    node_list,
    print_explanation,
    print_matrix,
    print_preemption,
    print_view,
)
from podwright.scheduler.advice import Advice, NearNode, ReasonDetail, ReasonGroup, Remedy
from podwright.scheduler.assembly import Displacement
from podwright.scheduler.framework import (
    Code,
    Decision,
    Diagnosis,
    Explanation,
    ExtenderAnswers,
    FilterExplanation,
    PostFilterResult,
    Rejection,
    ScoreExplanation,
    Status,
)
from podwright.scheduler.preemption import Candidate, Choice, Criterion, DryRun, Preemption
from podwright.simulation.recording import (
    ExplanationView,
    RemedyRequests,
    ReplicaOutcome,
    WorkloadView,
)
from podwright.simulation.recording.explanations.document_structs import (
    RecordedOutcome,
    RemedyChange,
)
from podwright.testing import make_pod

POD = make_pod("p", cpu="1", priority=5)
CPU = Status(Code.UNSCHEDULABLE, ("Insufficient cpu",), "Fit")
TAINT = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("untolerated taint",), "Taints")
WHOLE = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("claim missing",), "Volumes")
GATED = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("waiting for gates: [a]",), "SchedulingGates")
BUSY = Status(Code.UNSCHEDULABLE, ("busy",), "Extender")
TEXTS = Path(__file__).parent / "explanations.txt"
REPLACE = msgspec.structs.replace

# n1 is chosen, n2 tied with it, n3 and n5 are behind it, n4 is rejected by two filters, n6 was
# not evaluated, n7 is left out by PreFilter.
PLACED = Explanation(
    pod=POD,
    decision=Decision(pod=POD, node="n1", slot=0, feasible_count=4, evaluated_count=5, total=90),
    node_names=("n1", "n2", "n3", "n4", "n5", "n6", "n7"),
    pre_filter=Status(),
    skipped_filters=frozenset({"Ports"}),
    restricted_to=frozenset({"n1", "n2", "n3", "n4", "n5", "n6"}),
    restricted_by=("Affinity", "Names"),
    not_examined=("n6",),
    not_examined_reason="enoughFeasibleNodes",
    filters=(
        FilterExplanation(plugin="Fit", applies=True, rejected={"n4": CPU, "n6": CPU}),
        FilterExplanation(plugin="Ports", applies=False),
        FilterExplanation(plugin="Taints", applies=True, rejected={"n4": TAINT}),
    ),
    rejected={"n4": CPU},
    feasible=("n5", "n3", "n2", "n1", "n2"),
    skipped_scores=frozenset({"Zones", "Ages"}),
    scores=(
        ScoreExplanation(
            plugin="Spread",
            weight=2,
            raw={"n1": 7, "n2": 7, "n3": 5, "n5": 7},
            normalized={"n1": 35, "n2": 30, "n3": 10, "n5": 35},
        ),
        ScoreExplanation(
            plugin="Images",
            weight=1,
            raw=dict.fromkeys(("n1", "n2", "n3", "n5"), 20),
            normalized=dict.fromkeys(("n1", "n2", "n3", "n5"), 20),
        ),
    ),
    totals={"n1": 90, "n2": 90, "n3": 43, "n5": 90},
    winners=("n1", "n2"),
    tied=("n1", "n2", "n5"),
    extenders=(
        ExtenderAnswers(
            index=0,
            url="http://first",
            candidates=("n1", "n2", "n3", "n5"),
            kept=("n1", "n2", "n3"),
            scores={"n2": 10, "n3": 3},
            errors=["timeout", "no answer"],
        ),
        ExtenderAnswers(index=2, url="http://third"),
    ),
    custom_results={"zone": "a", "age": "3"},
)
LACKING = NearNode(node="n4", plugins=("Fit",), lacks=("1 cpu", "a toleration"))
NEAR = [
    NearNode(node="n2", plugins=("Fit",), lacks=("2 cpu",)),
    NearNode(node="n1", plugins=("Fit",), lacks=("3 cpu", "a toleration")),
]
PLACED_VIEW = ExplanationView(
    explanation=PLACED,
    reasons=[
        ReasonGroup(reason="Insufficient cpu", plugin="Fit", nodes=("n4",)),
        ReasonGroup(
            reason="not selected",
            plugin="",
            nodes=("n6", "n7"),
            details=(
                ReasonDetail(text="disk=hdd", node_count=1),
                ReasonDetail(text="disk=none", node_count=2),
            ),
        ),
    ],
    advice=Advice(),
    near=[LACKING],
    seed=7,
)


def unfit(**changes: Any) -> Explanation:
    """Return the explanation of a pod that fits on neither n1 nor n2."""
    decision = Decision(pod=POD, diagnosis=Diagnosis(node_count=2, rejections=(Rejection(CPU, 2),)))
    found = Explanation(
        pod=POD,
        decision=decision,
        node_names=("n1", "n2"),
        pre_filter=Status(),
        skipped_filters=frozenset(),
        filters=(FilterExplanation(plugin="Fit", applies=True, rejected={"n1": CPU, "n2": CPU}),),
        rejected={"n1": CPU, "n2": CPU},
    )
    return REPLACE(found, **changes)


def test_only_what_a_filter_rejects_is_red() -> None:
    answers = list(_answers(PLACED.filters[0], PLACED, ("n1", "n4", "n6", "n7")))
    assert [str(each) for each in answers] == ["passed", "rejected", "not evaluated", "excluded"]
    styles = [each.style if isinstance(each, Text) else "" for each in answers]
    assert styles == ["", "red", "", ""]


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Callable[[], str]]:
    """Print on a terminal of a width from now on; what this returns is the text."""

    def of(width: int) -> Callable[[], str]:
        screen = io.StringIO()
        made = Console(file=screen, force_terminal=True, width=width, color_system=None)
        for module in (console, explanation_output):
            monkeypatch.setattr(module, "stdout", lambda: made)
        return screen.getvalue

    return of


def view(explanation: Explanation, **others: Any) -> ExplanationView:
    given: dict[str, Any] = {"reasons": [], "advice": Advice(), "near": []} | others
    return ExplanationView(explanation=explanation, **given)


def change(effect: str, command: str) -> RemedyChange:
    return RemedyChange(
        action="patch",
        api_version="v1",
        kind="Pod",
        namespace="default",
        name="p",
        effect=effect,
        command=command,
    )


REMEDIES = (
    Remedy(
        text="add a node",
        edits=(),
        commands=("kubectl one", "kubectl two"),
        node="new",
        node_count=1,
        pod=POD,
    ),
    Remedy(
        text="lower the request",
        edits=(),
        commands=("kubectl one",),
        node="n1",
        node_count=2,
        alternatives=("n2", "n3"),
        victims=("a/x", "a/y"),
        pod=POD,
    ),
    Remedy(text="wait", edits=(), node="n2", node_count=3, pod=POD),
)
REQUESTS = (
    RemedyRequests(changes=[]),
    RemedyRequests(
        changes=[change("its pods are replaced", "kubectl one"), change("", "kubectl three")]
    ),
    RemedyRequests(changes=None, note="nothing can be changed"),
)
REPLICAS = (
    None,
    ReplicaOutcome(workload="Deployment a/d", fit=1, total=3, is_rollout=True, kept=0, placed=0),
    None,
)
PODS = tuple(make_pod(f"low-{i}", priority=i) for i in range(7))
NOMINATING = PostFilterResult(
    status=Status(),
    nominated_node="n2",
    details=Preemption(
        dry_run=DryRun(
            candidates=(Candidate(node="n1", victims=PODS[:1]),) * 3,
            rejections=(Rejection(CPU, 1), Rejection(TAINT, 2)),
            visited_count=6,
            helpable_count=9,
        ),
        candidates=(
            Candidate(node="n1", victims=PODS[:1], pdb_violations=1),
            Candidate(node="n2", victims=PODS[1:3], spared=PODS),
        ),
        choice=Choice(
            candidate=Candidate(node="n2", victims=PODS[1:3], spared=PODS),
            criterion=Criterion.FEWEST_VIOLATIONS,
            acceptable=("n2",),
        ),
        cleared_nominations=PODS[5:],
    ),
)


def preempting(details: Preemption | None, node: str | None = None) -> Decision:
    """Return a decision with the result of preemption."""
    result = PostFilterResult(status=CPU, nominated_node=node, details=details)
    return Decision(pod=POD, post_filter=result)


def with_decision(**fields: Any) -> Explanation:
    return unfit(decision=REPLACE(unfit().decision, **fields))


ONLY = REPLACE(
    PLACED,
    feasible=("n1",),
    filters=PLACED.filters[1:2],
    scores=(),
    totals={},
    winners=("n1",),
    extenders=(),
    custom_results={},
    not_examined=(),
    restricted_to=None,
    skipped_scores=frozenset(),
)
NOMINATED = REPLACE(ONLY, not_examined_reason="nominatedNodeFits", not_examined=("n2", "n3"))
VIEWS: dict[str, tuple[ExplanationView, int | None]] = {
    "all": (PLACED_VIEW, None),
    "the first": (PLACED_VIEW, 1),
    "requested nodes": (
        REPLACE(PLACED_VIEW, nodes=("n7", "n4", "n1"), current_node="n3", tie_rule="heap"),
        2,
    ),
    "remedies": (
        view(
            unfit(
                not_examined=("n2", "n1"), restricted_to=frozenset(), restricted_by=("Affinity",)
            ),
            advice=Advice(remedies=REMEDIES, limits=("Taints were not changed.", "Nor was n3.")),
            requests=REQUESTS,
            replicas=REPLICAS,
            near=NEAR,
            placed_before=1,
            taken=Displacement(node="n1", node_count=1, pods=("a/x", "a/y")),
        ),
        None,
    ),
    "one remedy": (
        view(unfit(), advice=Advice(remedies=REMEDIES[1:]), placed_before=2, near=NEAR),
        1,
    ),
    "a pod that is rejected as a whole": (
        view(
            unfit(
                pre_filter=WHOLE,
                filters=(),
                decision=Decision(pod=POD, diagnosis=Diagnosis(node_count=1, pre_filter=WHOLE)),
            ),
            reasons=[
                ReasonGroup(
                    reason="claim missing",
                    plugin="Volumes",
                    nodes=("n1",),
                    details=(ReasonDetail(text="claim data", node_count=1),),
                )
            ],
            is_alone=True,
        ),
        3,
    ),
    "a gated pod": (
        view(
            unfit(filters=(), decision=Decision(pod=POD, gated_by=GATED)),
            advice=Advice(limits=("Gates are opened by others.",)),
            workload=WorkloadView(kind="Job", key="a/j", pod_count=1, unfit=None),
        ),
        3,
    ),
    "an empty cluster": (
        view(
            unfit(
                filters=(),
                node_names=(),
                decision=Decision(pod=POD, diagnosis=Diagnosis(node_count=0)),
            ),
            advice=Advice(limits=("There are no nodes.",)),
            workload=WorkloadView(kind="Job", key="a/j", pod_count=2, unfit=()),
        ),
        3,
    ),
    "preemption": (
        view(
            with_decision(post_filter=NOMINATING),
            workload=WorkloadView(kind="Job", key="a/j", pod_count=3, unfit=("a/x",)),
        ),
        None,
    ),
    "a nomination without victims": (
        view(
            with_decision(post_filter=PostFilterResult(status=Status(), nominated_node="n2")),
            workload=WorkloadView(kind="Job", key="a/j", pod_count=3, unfit=("a/x", "a/y")),
        ),
        3,
    ),
    "the only node": (view(ONLY), 3),
    "the nominated node": (view(NOMINATED), 3),
    "first by name, of three": (
        view(REPLACE(PLACED, winners=("n1", "n2", "n5")), tie_rule="first"),
        1,
    ),
}

DRY_RUNS: dict[str, tuple[Preemption, int | None]] = {
    "nothing helps": (Preemption(dry_run=DryRun(visited_count=1)), 1),
    "no candidate": (
        Preemption(
            dry_run=DryRun(rejections=(Rejection(CPU, 2),), visited_count=1, helpable_count=1)
        ),
        1,
    ),
    "one candidate": (
        Preemption(
            dry_run=DryRun(
                candidates=(Candidate(node="n1", victims=PODS),), visited_count=2, helpable_count=2
            ),
            candidates=(Candidate(node="n1", victims=PODS),),
            choice=Choice(
                candidate=Candidate(node="n1", victims=PODS), criterion=None, acceptable=("n1",)
            ),
            cleared_nominations=PODS,
        ),
        2,
    ),
    "the first of three": (
        Preemption(
            dry_run=DryRun(
                candidates=tuple(Candidate(node=f"n{i}", victims=PODS[:6]) for i in range(3)),
                visited_count=3,
                helpable_count=3,
            ),
            candidates=tuple(Candidate(node=f"n{i}", victims=PODS[:6]) for i in range(3)),
            choice=Choice(
                candidate=Candidate(node="n2", victims=PODS[:6]),
                criterion=Criterion.NAME,
                acceptable=("n2",),
            ),
        ),
        1,
    ),
}


def _shown(name: str) -> None:
    if name in VIEWS:
        given, shown = VIEWS[name]
        print_explanation(given, shown=shown)
    else:
        preemption, shown = DRY_RUNS[name]
        print_preemption(preempting(preemption), shown)


def expected() -> dict[str, str]:
    """Return the texts of the file by the names of their headings."""
    _, *parts = re.split(r"^=== (.+) ===\n", TEXTS.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("name", [*VIEWS, *DRY_RUNS])
def test_an_explanation_is_printed_as_a_whole(name, capsys):
    _shown(name)
    assert capsys.readouterr().out == expected()[name]


def test_every_text_has_its_explanation():
    assert list(expected()) == [*VIEWS, *DRY_RUNS]


def test_without_an_attempt_nothing_is_printed_about_preemption(capsys):
    print_preemption(Decision(pod=POD), None)
    print_preemption(preempting(None), None)
    assert capsys.readouterr().out == ""


MESSAGE = Decision(pod=POD, diagnosis=Diagnosis(node_count=0)).message
SINCE = "2026-01-01T00:00:00Z"
BEFORE = {
    "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/9 fit",
}  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ({"lastTransitionTime": SINCE}, f"since {SINCE}, Unschedulable: 0/9 fit"),
        ({}, "Unschedulable: 0/9 fit"),
        ({"reason": "SchedulerError", "message": ""}, "SchedulerError"),
        ({"message": MESSAGE}, None),
        ({"reason": "SchedulingGated"}, None),
        ({"status": "True"}, None),
        ({"type": "Ready"}, None),
    ],
)  # fmt: skip
def test_what_the_scheduler_of_the_cluster_reported_is_shown_where_it_differs(
    condition, text, capsys
):
    status = {"conditions": [BEFORE | condition]}
    pod = decode_pod(POD.raw | {"status": status})
    decision = Decision(pod=pod, diagnosis=Diagnosis(node_count=0))
    given = unfit(filters=(), node_names=("n1",), pod=pod, decision=decision)
    print_explanation(view(given), shown=3)
    lines = capsys.readouterr().out.splitlines()
    found = [line.removeprefix("Reported: ") for line in lines if line.startswith("Reported")]
    assert found == ([] if text is None else [text])
    past: Any = RecordedOutcome(when="1", then="", document=None)  # type: ignore[arg-type]
    recorded = view(given, past=past)
    print_explanation(recorded, shown=3)
    assert "Reported" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("explanation", "names"), [(PLACED, "n1\n"), (unfit(), "")], ids=["a node", "no node"]
)
def test_the_name_of_an_explanation_is_its_node(explanation, names, capsys):
    assert print_view(view(explanation), shown=3, output="name") is bool(names)
    assert capsys.readouterr().out == names


def test_twelve_names_are_listed_and_more_are_counted():
    names = [f"n{i}" for i in range(14)]
    twelve = "n0, n1, n2, n3, n4, n5, n6, n7, n8, n9, n10, n11"
    assert node_list(names[:12], 1) == twelve
    assert node_list(names, 1) == f"{twelve} and 2 more (-o wide)"
    assert node_list(names, None) == f"{twelve}, n12, n13"


def test_six_details_of_a_reason_are_shown_unless_all_are(capsys):
    details = tuple(ReasonDetail(text=f"t{i}", node_count=1) for i in range(8))
    reason = ReasonGroup(reason="tainted", plugin="Taints", nodes=("n1",), details=details)
    counts = []
    for shown in (1, None):
        print_explanation(view(unfit(), reasons=[reason]), shown=shown)
        counts.append(capsys.readouterr().out.count("1 node: t") - 1)
    assert counts == [6, 8]


def test_the_three_greatest_differences_of_scores_are_named(capsys):
    scores = tuple(
        ScoreExplanation(
            plugin=f"P{i}", weight=1, raw={"a": 0, "b": 0}, normalized={"a": 0, "b": by}
        )
        for i, by in enumerate((1, -4, 2, 0, 3))
    )
    found = REPLACE(
        PLACED,
        decision=REPLACE(PLACED.decision, node="a"),
        feasible=("a", "b"),
        totals={"a": 9, "b": 9},
        winners=("a",),
        scores=scores,
        extenders=(),
    )
    print_explanation(view(found), shown=None)
    assert "  b     9      0       P1 -4, P4 +3, P2 +2\n" in capsys.readouterr().out


NUMBERED = """
Filters:
  [1] n1
  [2] n4
  [3] n5
  [4] n2
"""
TERMINALS = {
    51: """
Filters:
  PLUGIN  REJECTS  n1      n4        n5      n2
  Fit     1        passed  rejected  passed  passed
  Taints  1        passed  rejected  passed  passed
  Skipped (nothing to check for this pod): Ports
""",
    50: NUMBERED
    + """\
  PLUGIN  REJECTS  [1]     [2]       [3]
  Fit     1        passed  rejected  passed
  Taints  1        passed  rejected  passed

  PLUGIN  REJECTS  [4]
  Fit     1        passed
  Taints  1        passed
  Skipped (nothing to check for this pod): Ports
""",
    34: NUMBERED
    + """\
  PLUGIN  REJECTS  [1]
  Fit     1        passed
  Taints  1        passed

  PLUGIN  REJECTS  [2]
  Fit     1        rejected
  Taints  1        rejected

  PLUGIN  REJECTS  [3]     [4]
  Fit     1        passed  passed
  Taints  1        passed  passed
  Skipped (nothing to check for
  this pod): Ports
""",
}


@pytest.mark.parametrize("width", TERMINALS)
def test_nodes_stand_side_by_side_as_far_as_the_terminal_is_wide(width, on_terminal):
    screen = on_terminal(width)
    print_matrix(REPLACE(PLACED_VIEW, explanation=REPLACE(PLACED, scores=())), 4)
    assert screen() == TERMINALS[width]


if __name__ == "__main__":
    from contextlib import redirect_stdout

    texts = []
    for each in (*VIEWS, *DRY_RUNS):
        out = io.StringIO()
        with redirect_stdout(out):
            _shown(each)
        texts.append(f"=== {each} ===\n{out.getvalue()}")
    TEXTS.write_text("Explanations as the command prints them.\n" + "".join(texts), "utf-8")
