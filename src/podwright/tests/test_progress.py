"""Calls that take long show their progress in terminals and notebooks, and nowhere else."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

import podwright as pw
from podwright import _call_display
from podwright._call_display import CallMeter, show_call
from podwright._progress import NO_METER, _Current, metered, set_display
from podwright.testing import make_node, make_pod

NODE = make_node("n1", cpu="100")
PODS = [make_pod(f"p{number}", cpu="1") for number in range(40)]
EVENTS = [{"at": f"{hour}h", "delete": f"pod/p{hour}"} for hour in range(40)]


def world() -> pw.World:
    found = pw.World()
    found.add(NODE)
    for number, pod in enumerate(PODS):
        found.add(pod, at=f"{number}h")
    return found


@pytest.fixture(scope="module")
def run() -> pw.Run:
    return pw.simulate([NODE, *PODS], events=EVENTS, progress=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of manifests."""
    found = tmp_path_factory.mktemp("manifests")
    for number in range(3):
        text = f"{{apiVersion: v1, kind: Node, metadata: {{name: n{number}}}}}"
        (found / f"{number}.yaml").write_text(text, encoding="utf-8")
    return found


CALLS: dict[str, tuple[str, Callable[[pw.Run, Path, bool | None], object]]] = {
    "simulate": (
        "simulating",
        lambda _, __, shown: pw.simulate([NODE, *PODS], events=EVENTS, progress=shown),
    ),
    "World.run": ("simulating", lambda _, __, shown: world().run(progress=shown)),
    "World.run_until": ("simulating", lambda _, __, shown: world().run_until("5h", progress=shown)),
    "explain_all": ("explaining", lambda run, __, shown: list(run.explain_all(progress=shown))),
    "verify": ("verifying", lambda run, __, shown: pw.verify(run.log, progress=shown)),
    "diff": (
        "scheduling",
        lambda _, __, shown: pw.diff(
            pw.Scenario([NODE, *PODS]), pw.Scenario([NODE, *PODS], seed=1), progress=shown
        ),
    ),
    "diff of runs": (
        "comparing runs",
        lambda run, __, shown: pw.diff(run, run, progress=shown),
    ),
    "load": ("reading", lambda _, folder, shown: pw.load(folder, progress=shown)),
}
AUTOMATIC: dict[str, tuple[str, Callable[[pw.Run], object]]] = {
    "replay": ("replaying", lambda run: pw.replay(run.log)),
    "cluster_at": ("replaying", lambda run: pw.cluster_at(run.log, "39h")),
    "queue_at": ("replaying", lambda run: pw.queue_at(run.log, "39h")),
}


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[dict[str, Any]]]:
    """What a notebook receives; calls count as long from the beginning."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    # Commands, which other tests run in this process, replace the display by their own.
    monkeypatch.setattr(_Current, "display", pw._show_call)
    monkeypatch.setattr(_call_display, "SHOWN_AFTER_S", 0.0)
    monkeypatch.setattr(_call_display, "_INTERVAL_S", 0.0)
    monkeypatch.setattr(_call_display._Notebook, "interval_s", 0.0)
    shell: Any = InteractiveShell.instance()
    shell.history_manager.enabled = False
    publisher = CapturingDisplayPublisher(parent=shell)
    monkeypatch.setattr(shell, "display_pub", publisher)
    yield publisher.outputs
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()


@pytest.mark.parametrize("name", CALLS)
def test_a_long_call_shows_a_bar_in_a_notebook(
    name: str, notebook: list[dict[str, Any]], run: pw.Run, folder: Path
) -> None:
    what, call = CALLS[name]
    call(run, folder, None)
    first, *others = notebook
    assert first["data"]["text/plain"].startswith(what)
    assert re.fullmatch(r"<div><progress.*></progress> .*</div>", first["data"]["text/html"])
    assert not first["update"]
    assert all(output["update"] for output in others)
    assert notebook[-1]["data"]["text/html"] == "<div></div>", "the bar is removed at the end"
    shown = [output["data"]["text/plain"] for output in notebook[:-1]]
    shares = [int(found[1]) for text in shown if (found := re.search(r"(\d+)%", text))]
    assert shares == sorted(shares)
    assert all(share <= 100 for share in shares)
    assert len({output["transient"]["display_id"] for output in notebook}) == 1


@pytest.mark.parametrize("name", AUTOMATIC)
def test_other_long_calls_show_their_progress_too(
    name: str, notebook: list[dict[str, Any]], run: pw.Run
) -> None:
    what, call = AUTOMATIC[name]
    call(run)
    assert notebook[0]["data"]["text/plain"].startswith(what)


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_shown_with_progress_false(
    name: str, notebook: list[dict[str, Any]], run: pw.Run, folder: Path
) -> None:
    CALLS[name][1](run, folder, False)
    assert not notebook


def test_a_short_call_shows_nothing(
    notebook: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_call_display, "SHOWN_AFTER_S", 1e9)
    world().run()
    assert not notebook


def test_text_in_a_notebook_is_escaped(notebook: list[dict[str, Any]]) -> None:
    with metered("reading", 2) as meter:
        meter.advance(1, lambda: "<script>")
    assert "&lt;script&gt;" in notebook[0]["data"]["text/html"]
    assert "<script" not in notebook[0]["data"]["text/html"]


def test_only_the_outermost_call_is_shown(notebook: list[dict[str, Any]]) -> None:
    with metered("outer", 2) as meter:
        world().run()
        meter.advance(1)
    assert {output["data"]["text/plain"] for output in notebook} == {"outer 50%", ""}


def test_a_call_that_fails_removes_its_bar(notebook: list[dict[str, Any]]) -> None:
    found = world()
    found.add(make_pod("late", cpu="1", priority=5), at="39h")

    class Failing:
        def decided(self, decisions: Any, now_ns: int) -> None:
            raise KeyboardInterrupt

    failing = pw.World(observers=[Failing()])
    failing.add(NODE)
    failing.add(PODS[0], at="1h")
    with pytest.raises(KeyboardInterrupt):
        failing.run()
    assert notebook[-1]["data"]["text/html"] == "<div></div>"
    world().run()
    assert len({output["transient"]["display_id"] for output in notebook}) == 2


SCRIPT = """
import podwright as pw
from podwright import _call_display
_call_display.SHOWN_AFTER_S = 0.0
world = pw.World()
world.add(pw.testing.make_node("n1"))
for hour in range(30):
    world.add(pw.testing.make_pod(f"p{hour}", cpu="1m"), at=f"{hour}h")
world.run("40h", progress=PROGRESS)
"""


def stderr_of(progress: str, *, is_terminal: bool) -> str:
    code = SCRIPT.replace("PROGRESS", progress)
    command = [sys.executable, "-c", code]
    if not is_terminal:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert not done.stdout
        return done.stderr
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        command, stderr=theirs, stdout=subprocess.PIPE, env=environment
    ) as process:
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 4096):
                parts.append(part)
        except OSError:
            pass  # the other end is closed
        assert process.wait() == 0
        assert process.stdout is not None
        assert not process.stdout.read()
    os.close(ours)
    return b"".join(parts).decode()


@pytest.mark.parametrize("progress", ["None", "True"])
def test_a_terminal_shows_a_bar(progress: str) -> None:
    text = stderr_of(progress, is_terminal=True)
    assert "simulating" in text
    assert re.search(r"\d+%", text)


def test_a_terminal_shows_nothing_with_progress_false() -> None:
    assert not stderr_of("False", is_terminal=True)


def test_nothing_is_shown_without_a_terminal() -> None:
    assert not stderr_of("None", is_terminal=False)


def test_lines_are_shown_without_a_terminal_with_progress_true() -> None:
    first, *_ = stderr_of("True", is_terminal=False).splitlines()
    assert re.fullmatch(r"simulating \d+% \S+", first)


def test_a_call_in_another_thread_shows_nothing(notebook: list[dict[str, Any]]) -> None:
    import threading

    thread = threading.Thread(target=lambda: world().run())
    thread.start()
    thread.join()
    assert not notebook


def test_without_a_display_nothing_is_shown(notebook: list[dict[str, Any]]) -> None:
    set_display(None)
    try:
        world().run()
    finally:
        set_display(pw._show_call)
    assert not notebook


class Shown:
    """Notes what it shows."""

    interval_s = 5.0

    def __init__(self) -> None:
        self.shown: list[object] = []

    def show(self, done: float, total: float | None, note: str) -> None:
        self.shown.append((done, total, note))

    def close(self) -> None:
        self.shown.append("closed")


@pytest.mark.parametrize(("total", "end"), [(10, 10), (None, 12)])
def test_progress_is_shown_after_a_second_and_then_at_the_interval_of_its_output(
    monkeypatch: pytest.MonkeyPatch, total: float | None, end: float
) -> None:
    seconds = [100.0]
    monkeypatch.setattr("podwright._call_display.time.monotonic", lambda: seconds[0])
    outputs: list[Shown] = []

    def make() -> Shown:
        outputs.append(Shown())
        return outputs[-1]

    meter = CallMeter(total, make)
    meter.close()
    for at, done, note in (
        (100.9, 1, None), (101.0, 2, lambda: "a"), (105.9, 3, None), (106.0, 4, None),
        (110.0, 5, None), (111.0, 12, lambda: "b"),
    ):  # fmt: skip
        seconds[0] = at
        meter.advance(done, note)
    meter.close()
    (output,) = outputs
    assert output.shown == [(2, total, "a"), (4, total, ""), (end, total, "b"), "closed"]


def test_lines_and_a_bar_of_html_show_the_share_and_the_note(capsys: Any) -> None:
    publisher = CapturingDisplayPublisher()
    shell: Any = type("Shell", (), {"display_pub": publisher})
    for output in (_call_display._Lines("reading"), _call_display._Notebook("reading", shell)):
        output.show(1, 8, "a & b")
        output.show(3, None, "")
        output.show(8, 8, "")
        output.close()
    assert capsys.readouterr().err == "reading 12% a & b\nreading\nreading 100%\n"
    assert [tuple(each["data"].values()) for each in publisher.outputs] == [
        (
            "reading 12% a & b",
            '<div><progress value="0.125"></progress> reading 12% a &amp; b</div>',
        ),
        ("reading", "<div><progress></progress> reading</div>"),
        ("reading 100%", '<div><progress value="1.000"></progress> reading 100%</div>'),
        ("", "<div></div>"),
    ]
    assert [each["update"] for each in publisher.outputs] == [False, True, True, True]
    assert (_call_display._Lines.interval_s, _call_display._Notebook.interval_s) == (5, 0.1)


@pytest.mark.parametrize(("total", "share"), [(8, " 25%"), (None, "")])
def test_the_bar_of_a_terminal_has_the_share_and_the_note(total: float | None, share: str) -> None:
    terminal = _call_display._Terminal("reading [x]", total)
    bar: Any = terminal._bar
    try:
        terminal.show(2, total, "a [b]")
        (task,) = bar.tasks
        assert (task.completed, task.total, task.fields) == (2, total, {"note": "a [b]"})
        text, _, shown, _, note = bar.columns
        assert [str(each.render(task)) for each in (shown, note)] == [share, "a [b]"]
        assert text.text_format == "{task.description}"
        assert (bar.live.transient, bar.console.stderr, bar.live.is_started) == (True, True, True)
    finally:
        terminal.close()
    assert not bar.live.is_started
    assert terminal.interval_s == 0.1


@pytest.mark.parametrize(
    ("shell", "is_notebook"),
    [("ZMQInteractiveShell", True), ("TerminalInteractiveShell", False), ("", False)],
)
def test_a_notebook_is_a_shell_of_ipython_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, shell: str, is_notebook: bool
) -> None:
    made = type(shell, (), {})() if shell else None
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: made))
    assert _call_display._notebook() is (made if is_notebook else None)
    monkeypatch.delitem(sys.modules, "IPython")
    assert _call_display._notebook() is None


class Stream:
    """A standard error that is a terminal, or not."""

    def __init__(self, *, is_terminal: bool) -> None:
        self.isatty = lambda: is_terminal


@pytest.mark.parametrize(
    ("stderr", "is_shown", "kind"),
    [
        (Stream(is_terminal=True), None, "_Terminal"),
        (Stream(is_terminal=True), True, "_Terminal"),
        (Stream(is_terminal=False), True, "_Lines"),
        (Stream(is_terminal=False), None, ""),
        (None, True, "_Lines"),
        (None, None, ""),
    ],
)
def test_where_progress_is_shown(
    monkeypatch: pytest.MonkeyPatch, stderr: Any, is_shown: bool | None, kind: str
) -> None:
    monkeypatch.setattr(sys, "stderr", stderr)
    meter = show_call("reading", 3, is_shown)
    if not kind:
        assert meter is NO_METER
        return
    assert isinstance(meter, CallMeter)
    monkeypatch.undo()
    output: Any = meter._make()
    assert type(output).__name__ == kind
    output.close()


def test_a_display_gets_what_a_call_does_and_only_of_the_outermost_one() -> None:
    calls: list[object] = []

    class Meter:
        def advance(self, done: float, note: object = None) -> None:
            calls.append(done)

        def close(self) -> None:
            calls.append("closed")

    def display(what: str, total: float | None, is_shown: bool | None) -> Meter:
        calls.append((what, total, is_shown))
        return Meter()

    before = _Current.display
    set_display(display)
    try:
        with metered("outer", 2) as meter, metered("inner", 3) as inner:
            assert inner is NO_METER
            inner.advance(9)
            meter.advance(1)
        with metered("next", is_shown=True):
            pass
        with metered("hidden", is_shown=False) as meter, metered("inner") as inner:
            assert (meter, inner) == (NO_METER, NO_METER)
        with metered("last"):
            pass
    finally:
        set_display(before)
    assert calls == [
        ("outer", 2, None), 1, "closed", ("next", None, True), "closed", ("last", None, None),
        "closed",
    ]  # fmt: skip
