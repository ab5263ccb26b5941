"""What a run leaves when it ends early, and when it writes its checkpoints."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path
from typing import Any

import pytest

import podwright as pw
from podwright.simulation.recording import LogError
from podwright.simulation.recording.folders.run_folder import RunFolder
from podwright.simulation.recording.folders.run_manifest import RunError
from podwright.simulation.world.runs import simulation, start
from podwright.simulation.world.runs.simulation import Simulation
from podwright.simulation.world.world import World
from podwright.testing import make_node, make_pod

OBJECTS = (make_node("n1", cpu="4"), *(make_pod(f"p{index}", cpu="1") for index in range(3)))
EVENTS = tuple(
    {"at": f"{minute}m", "apply": make_pod(f"late{minute}", cpu="1").raw} for minute in range(1, 6)
)


def played(folder: Path | None, **options: Any) -> Any:
    return pw.simulate(OBJECTS, events=EVENTS, seed=7, output=folder, **options)


@pytest.fixture(scope="module")
def whole() -> Any:
    """The pods of a run that nothing interrupts, with their nodes."""
    return played(None).node_of


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException, *, after: int = 3) -> None:
    """Let a step of the world fail."""
    step, count = World.step_until_ns, 0

    def failing_step(world: World, until_ns: int | None = None) -> bool:
        nonlocal count
        count += 1
        if count > after:
            raise error
        return step(world, until_ns)

    monkeypatch.setattr(World, "step_until_ns", failing_step)


def caused_by(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


FULL = OSError(errno.ENOSPC, "no room")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        pytest.param(caused_by(LogError("log"), FULL), "no room", id="of the log"),
        pytest.param(caused_by(RunError("run"), FULL), "no room", id="of the folder"),
        pytest.param(caused_by(RunError("run"), OSError("odd")), "odd", id="without a number"),
        pytest.param(caused_by(RunError("run"), ValueError("x")), None, id="of another cause"),
        pytest.param(RunError("run"), None, id="of no cause"),
        pytest.param(caused_by(ValueError("x"), FULL), None, id="another error"),
        pytest.param(FULL, None, id="the cause itself"),
    ],
)
def test_a_folder_that_cannot_be_written_says_why_and_how_to_resume(
    tmp_path, monkeypatch, whole, error, reason
) -> None:
    folder = tmp_path / "run"
    failing(monkeypatch, error)
    with pytest.raises(type(error)) if reason is None else pytest.raises(RunError) as found:
        played(folder)
    if reason is None:
        assert found.value is error
    else:
        assert str(found.value) == (
            f"{folder} cannot be written: {reason}; resume the run when there is space:"
            f" pw.simulate(..., output={str(folder)!r}, resume=True)"
        )
        assert found.value.__cause__ is error
    assert not (folder / ".lock").exists()
    monkeypatch.undo()
    assert played(folder, resume=True).node_of == whole


@pytest.mark.parametrize("error", [caused_by(RunError("run"), FULL), KeyboardInterrupt("x")])
def test_a_run_in_memory_ends_with_the_error_itself(monkeypatch, error) -> None:
    failing(monkeypatch, error)
    with pytest.raises(type(error)) as found:
        played(None)
    assert found.value is error
    assert found.value.args == error.args


def test_a_log_that_cannot_be_closed_is_abandoned() -> None:
    closed = []
    run = Simulation.__new__(Simulation)

    class Log:
        def close(self) -> None:
            closed.append("close")
            raise LogError("full")

        def abandon(self) -> None:
            closed.append("abandon")

    class Closing:
        log = Log()

    run.world = Closing()  # type: ignore[assignment]
    run._close_log()
    assert closed == ["close", "abandon"]


INTERRUPTED = "interrupted; resume the run with: pw.simulate(..., output={!r}, resume=True)"


def test_a_signal_ends_a_run_between_two_steps_and_leaves_results(
    tmp_path, monkeypatch, whole
) -> None:
    folder, step, count = tmp_path / "run", World.step_until_ns, 0
    monkeypatch.setattr(simulation, "_STEPS_AT_ONCE", 2)

    def signalled_step(world: World, until_ns: int | None = None) -> bool:
        nonlocal count
        count += 1
        if count == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return step(world, until_ns)

    with monkeypatch.context() as patched:
        patched.setattr(World, "step_until_ns", signalled_step)
        with pytest.raises(KeyboardInterrupt) as found:
            played(folder)
    assert found.value.args == (INTERRUPTED.format(str(folder)),)
    assert count == 4, "the next even step is the last one"
    assert RunFolder.open(folder).manifest.status == "interrupted"
    assert (folder / "summary.json").exists()
    assert (folder / "tables").exists()
    assert pw.Run.open(folder).summary.is_interrupted
    resumed = played(folder, resume=True)
    assert resumed.node_of == whole
    assert not pw.Run.open(folder).summary.is_interrupted


def test_a_signal_while_the_results_are_written_does_not_lose_them(tmp_path, monkeypatch) -> None:
    folder, end = tmp_path / "run", Simulation._end

    def signalled_end(run: Simulation, **options: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return end(run, **options)

    monkeypatch.setattr(Simulation, "_end", signalled_end)
    with pytest.raises(KeyboardInterrupt) as found:
        played(folder)
    # The run is over: there is nothing to resume.
    assert found.value.args != (INTERRUPTED.format(str(folder)),)
    assert RunFolder.open(folder).manifest.status == "finished"
    assert not pw.Run.open(folder).summary.is_interrupted


def test_a_run_that_is_interrupted_before_its_first_step_can_be_resumed(
    tmp_path, monkeypatch, whole
) -> None:
    folder = tmp_path / "run"

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(start, "Simulation", interrupted)
        with pytest.raises(KeyboardInterrupt) as found:
            played(folder)
    assert found.value.args == (INTERRUPTED.format(str(folder)),)
    assert RunFolder.open(folder).manifest.status == "interrupted"
    assert not (folder / ".lock").exists()
    assert played(folder, resume=True).node_of == whole
    other = tmp_path / "other"
    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "create", interrupted)
        with pytest.raises(KeyboardInterrupt) as found:
            played(other)
    assert found.value.args == ()
    assert not other.exists()


def test_an_error_before_the_first_step_releases_the_folder(tmp_path, monkeypatch) -> None:
    folder = tmp_path / "run"

    def refused(*_: Any, **__: Any) -> Any:
        raise RunError("refused")

    with monkeypatch.context() as patched:
        patched.setattr(start, "Simulation", refused)
        with pytest.raises(RunError, match="refused"):
            played(folder)
    assert not (folder / ".lock").exists()


# --------------------------------------------------------------------------- checkpoints


class Counted:
    """A run whose world has so many objects, known ones and events."""

    def __init__(self, *, stored: int, known: int, events: int, every: int | None = None) -> None:
        self.world = self
        self._options = self
        self.checkpoint_events = every
        self.store = self
        self.machine = self
        self.log = [None] * events
        self._stored, self._known = stored, known

    def kinds(self) -> list[str]:
        return ["a", "b"]

    def count(self, kind: str) -> int:
        return self._stored if kind == "a" else 1

    def objects(self) -> list[None]:
        return [None] * self._known


@pytest.mark.parametrize(
    ("counts", "due"),
    [
        pytest.param({"stored": 0, "known": 0, "events": 0}, 25_000, id="at least"),
        pytest.param({"stored": 0, "known": 0, "events": 7}, 25_007, id="from now"),
        pytest.param({"stored": 0, "known": 2_501, "events": 0}, 25_010, id="ten per known one"),
        pytest.param({"stored": 8_333, "known": 0, "events": 0}, 25_002, id="three per object"),
        pytest.param({"stored": 99_999, "known": 1, "events": 0}, 300_000, id="whichever is more"),
        pytest.param({"stored": 9, "known": 9, "events": 5, "every": 3}, 8, id="as given"),
    ],
)
def test_the_next_checkpoint_is_due_by_what_it_would_write(counts, due) -> None:
    made: Any = Counted(**counts)
    assert Simulation._next_checkpoint(made) == due


def test_a_world_that_cannot_be_saved_is_tried_again_64_events_later(monkeypatch) -> None:
    made: Any = Counted(stored=0, known=0, events=100)
    made._folder = object()
    monkeypatch.setattr(simulation, "can_save", lambda _: False)
    Simulation._write_checkpoint(made)
    assert made._checkpoint_due == 164


MISSED = (
    {"at": "90s", "delete": "pod/p-0"},
    {"at": "2m", "patch": "pod/p-1", "with": {"metadata": {"labels": {"a": "b"}}}},
)


_FIRST = {"after": "1s", "waitUntil": {"settled": True}}


@pytest.mark.parametrize(
    ("events", "line", "others"),
    [
        pytest.param(MISSED, 1, " (and 1 more that found no object)", id="two"),
        pytest.param((_FIRST, *MISSED), 2, " (and 1 more that found no object)", id="later lines"),
        pytest.param(MISSED[:1], 1, "", id="one"),
    ],
)
def test_operations_that_find_no_object_are_a_warning_of_the_run(events, line, others) -> None:
    run = pw.simulate(OBJECTS, events=events, seed=7, until="10m")
    assert run.warnings == (
        f'events: line {line}: Pod "default/p-0" does not exist when it is due;'
        f" the operation had no effect{others}",
    )
    assert run.unmet == ()


def test_a_resumed_run_knows_the_operations_that_found_no_object(tmp_path, monkeypatch) -> None:
    def run(*, resume: bool = False) -> Any:
        return pw.simulate(
            OBJECTS,
            events=({"at": "1s", "delete": "pod/none"}, *EVENTS),
            output=tmp_path / "run",
            checkpoint_events=5,
            resume=resume,
        )

    with monkeypatch.context() as patched:
        failing(patched, KeyboardInterrupt(), after=20)
        with pytest.raises(KeyboardInterrupt):
            run()
    assert len(run(resume=True).warnings) == 1


def test_a_sequence_without_its_end_is_a_warning_of_the_run() -> None:
    steps = [{"step": 1, "when": {"ready": "pod/none"}, "delete": "pod/p0"}]
    run = pw.simulate(OBJECTS, events=steps, seed=7, until="10m")
    assert len(run.unmet) == 1
    assert run.unmet[0] in run.warnings
    assert played(None).unmet == ()
