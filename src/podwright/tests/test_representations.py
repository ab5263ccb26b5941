"""The representations of results: one short line, and short HTML in notebooks."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import podwright as pw
from podwright.apimachinery.objects import timestamp_text_nano
from podwright.simulation.files import Sourced
from podwright.testing import make_node, make_pod

SCRIPT = "<script>alert('x')</script>"
LONGEST = 160
"""The longest representation, apart from messages of the scheduler."""


class Hostile(pw.Plugin):
    """Rejects pods named `refused` with a reason that is HTML."""

    name = "Hostile"

    def filter(self, cycle: pw.Cycle, node: pw.NodeView) -> pw.Status:
        """Reject some pods."""
        if cycle.pod.name == "refused":
            return pw.Status.unschedulable(SCRIPT)
        return pw.Status()


def scheduler() -> pw.Scheduler:
    found = pw.Scheduler(plugins=[Hostile])
    found.add(*(make_node(f"n{number}{SCRIPT}", cpu="4") for number in range(30)))
    found.add(make_pod(f"web{SCRIPT}", cpu="1"), make_pod("refused", cpu="1"))
    return found


def run() -> pw.Run:
    return pw.simulate([make_node("n1"), make_pod("refused")], plugins=[Hostile])


def log() -> pw.DecisionLog:
    return run().log


def drained() -> pw.Run:
    world = pw.World()
    world.add(make_node("n1"))
    world.do(pw.Drain("n1"))
    return world.run("1h")


def explained(pod: str) -> pw.Explanation:
    return scheduler().explain(f"default/{pod}")


def diff() -> pw.PlacementDiff:
    nodes = [make_node(f"{name}{SCRIPT}", cpu="4") for name in "ab"]
    pods = [make_pod(f"p{number}{SCRIPT}", cpu="1") for number in range(12)]
    return pw.diff(pw.Scenario([nodes[0], *pods]), pw.Scenario([nodes[1], *pods]))


def what_if() -> pw.WhatIf:
    return pw.what_if(log(), "default/refused", plugins=[Hostile], add_nodes=[make_node("n2")])


def remedy() -> pw.Remedy:
    found = pw.Scheduler()
    found.add(make_node(f"n{SCRIPT}", cpu="1", taints=["a=b:NoSchedule"]), make_pod("p", cpu="1"))
    return found.remedies(found.explain("default/p"))[0]


def report() -> Any:
    class Wrong(Hostile):
        """Returns a text instead of a status."""

        def filter(self, cycle: pw.Cycle, node: pw.NodeView) -> pw.Status:
            """Return what is no status."""
            wrong: Any = SCRIPT
            return wrong  # type: ignore[no-any-return]

    with pytest.raises(pw.testing.PluginCheckFailed) as raised:
        pw.testing.check_plugin(Wrong())
    return raised.value.report


def loaded() -> pw.LoadedObjects:
    return pw.LoadedObjects((Sourced("f", make_pod("p")),), warnings=(SCRIPT,))


def workload() -> pw.Workload:
    pods = [make_pod(f"p{number}{SCRIPT}").raw for number in range(12)]
    return pw.Workload([{"at": f"{number}s", "apply": pod} for number, pod in enumerate(pods)])


RESULTS: dict[str, Callable[[], Any]] = {
    "decision": lambda: scheduler().schedule(f"default/web{SCRIPT}"),
    "no node": lambda: scheduler().schedule("default/refused"),
    "explanation": lambda: explained(f"web{SCRIPT}"),
    "rejections": lambda: explained("refused"),
    "scores": lambda: explained(f"web{SCRIPT}").scores[0],
    "remedy": remedy,
    "diff": diff,
    "run": run,
    "summary": lambda: run().summary,
    "loaded": loaded,
    "workload": workload,
    "what if": what_if,
    "plugin report": report,
}
"""Results with text of the cluster or of a plugin."""

PLAIN: dict[str, Callable[[], Any]] = {
    "scheduler": scheduler,
    "world": pw.World,
    "tables": lambda: run().tables,
    "report": lambda: drained().summary.report,
    "verification": lambda: pw.verify(log(), plugins=[Hostile]),
    "cluster": lambda: pw.cluster_at(log(), "1m", plugins=[Hostile]),
    "queue": lambda: pw.queue_at(log(), "1m", plugins=[Hostile]),
}


class Tags(HTMLParser):
    """Checks that the tags of a text are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"div", "strong", "table", "thead", "tbody", "tr", "th", "td", "p"}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The shell of IPython, whose formatter makes what a notebook shows."""
    folder = str(tmp_path_factory.mktemp("ipython"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", folder)
        found: Any = InteractiveShell()
        # Its history is in a database, which a thread writes to.
        found.history_manager.enabled = False
        yield found
        found.history_manager.end_session()


def shown(shell: Any, result: Any) -> str:
    data, _ = shell.display_formatter.format(result)
    assert data["text/plain"] == repr(result)
    html: str = data["text/html"]
    tags = Tags()
    tags.feed(html)
    tags.close()
    assert not tags.open
    return html


@pytest.mark.parametrize("name", RESULTS)
def test_a_notebook_shows_short_html_with_escaped_text(name: str, shell: Any) -> None:
    result = RESULTS[name]()
    html = shown(shell, result)
    assert "<script" not in html
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;" in html
    assert html.count("<tr>") < 60


@pytest.mark.parametrize("name", PLAIN)
def test_a_notebook_shows_html_of_every_result(name: str, shell: Any) -> None:
    assert "<table>" in shown(shell, PLAIN[name]())


def test_a_long_table_ends_with_the_number_of_other_rows(shell: Any) -> None:
    assert "<p>and 2 more</p>" in shown(shell, workload())
    assert "<p>and 20 more</p>" in shown(shell, explained(f"web{SCRIPT}"))


def test_an_explanation_shows_the_best_nodes_with_the_scores_of_all_plugins(shell: Any) -> None:
    found = pw.Scheduler(seed=1)
    found.add(*(make_node(f"n{number}", cpu=str(number + 1)) for number in range(1, 4)))
    html = shown(shell, found.explain(make_pod("web", cpu="1")))
    explanation = found.explain(make_pod("web", cpu="1"))
    best = explanation.winners[0]
    heads = ["Node", "Total", *(score.plugin for score in explanation.scores)]
    assert "".join(f'<th style="text-align:left">{head}</th>' for head in heads) in html
    cells = [best, explanation.totals[best]]
    cells += [score.normalized[best] * score.weight for score in explanation.scores]
    row = "".join(f'<td style="text-align:left">{cell:,}</td>' if isinstance(cell, int)
                  else f'<td style="text-align:left">{cell}</td>' for cell in cells)  # fmt: skip
    assert html.index(row) < html.index("n1"), "the best node is first"


@pytest.mark.parametrize("name", [*RESULTS, *PLAIN])
def test_representations_are_one_short_line(name: str) -> None:
    result = (RESULTS | PLAIN)[name]()
    decision = getattr(result, "decision", result)
    message = decision.message if isinstance(decision, pw.Decision) else ""
    text = repr(result).replace(message, "").replace(SCRIPT, "")
    assert "\n" not in text
    if not isinstance(result, pw.testing.PluginReport):
        assert len(text) <= LONGEST, text


def test_representations_of_other_objects_are_short_too() -> None:
    found = log()
    for value, text in (
        (make_pod("web"), "<Pod default/web>"),
        (make_node("n1"), "<Node n1>"),
        (found, f"<DecisionLog: {len(found)} events>"),
        (pw.record(), "<Recorder: 0 events>"),
        (pw.BlockingQueue(lambda: 0), "<BlockingQueue: 0 pods>"),
        (
            pw.replay(found, plugins=[Hostile]),
            "<Machine: 1 nodes, 0 pods on nodes, 1 in the queue>",
        ),
        (explained("refused").filters[0], "<FilterExplanation: NodeUnschedulable rejects 0 nodes>"),
    ):
        assert repr(value) == text


def test_a_closed_log_has_a_representation(tmp_path: Path) -> None:
    found = pw.record(str(tmp_path / "log")).log
    found.close()
    assert repr(found) == "<DecisionLog: 0 events>"


def test_representations_are_short():
    scheduler = pw.Scheduler()
    scheduler.add(make_node("n1", cpu="2"), make_node("n2", cpu="1"))
    scheduler.add(make_pod("web", cpu="2"), make_pod("huge", cpu="9"))
    assert repr(scheduler) == "<Scheduler: 2 nodes, 2 pending pods>"
    explained = repr(scheduler.explain("default/web"))
    assert explained == "<Explanation of default/web: n1; 1 of 2 nodes are feasible>"
    placed, refused = scheduler.schedule("default/web"), scheduler.schedule("default/huge")
    assert repr(placed) == "<Decision for default/web: n1>"
    assert repr(refused) == f"<Decision for default/huge: {refused.message}>"
    assert "0/2 nodes are available: " in refused.message


def test_the_representation_of_a_world_has_its_time():
    world = pw.World()
    world.add(make_node("n1"), make_pod("web"))
    run = world.run(timestamp_text_nano(world.start_ns + 90 * 10**9))
    assert repr(world) == "<World at 2026-01-01T00:01:30Z: 1 nodes, 1 pods>"
    assert repr(run) == "<Run: 1 pods on nodes, 0 pending>"
