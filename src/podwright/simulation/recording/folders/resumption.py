"""Resuming a recorded run where its log ends."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

from podwright._version import __version__
from podwright.scheduler.framework import Plugin
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_format import LogError
from podwright.simulation.recording.log.recorder import Recorder
from podwright.simulation.recording.log.replay import Replay
from podwright.simulation.recording.log.verification import verify_replay


def resume(
    path: str, *, until: int | None = None, plugins: Iterable[type[Plugin]] = ()
) -> Recorder:
    """Continue a recorded run where its log ends.

    The machine is restored from the last checkpoint that has the state of all plugins, or built
    again, and handles the events after it; its actions must equal the recorded ones. Recording then
    continues. A driver uses the same objects as the machine: `Recorder.machine.objects()`.

    Parameters
    ----------
    path : str
        The folder of a log that no other process writes.
    until : int, optional
        Continue after this number of events, where a block or a checkpoint ends, and discard the
        rest.
    plugins : iterable of type
        The user's own plugin classes that it was recorded with.

    Returns
    -------
    Recorder
        The same as `record` returns.

    Raises
    ------
    LogError
        If the log cannot be read or written, another process writes it, or the replay differs
        from the recording; the log is not changed then.
    """
    with ExitStack() as opened:
        log = opened.enter_context(DecisionLog.open(path, append=True, until=until))
        recorder = resume_log(log, path, plugins=plugins)
        opened.pop_all()
    return recorder


def resume_log(log: DecisionLog, name: str, *, plugins: Iterable[type[Plugin]] = ()) -> Recorder:
    """Continue a log that can be written; see `resume`.

    Parameters
    ----------
    name : str
        What the log is called in errors.
    """
    # Unchecked, because `verify_replay` compares all actions and describes the difference.
    run = Replay(log, plugins=plugins, objects=log.objects(), is_checked=False)
    outcome = verify_replay(run)
    if outcome.difference is not None:
        raise LogError(
            f"{name} cannot be resumed: the decisions of podwright {__version__} differ from"
            f" the recorded ones; it was left as it is. {outcome.difference}"
        )
    return Recorder(run.machine, log)
