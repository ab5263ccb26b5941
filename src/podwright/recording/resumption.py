"""Resuming a recorded run where its log ends."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

from podwright._version import __version__
from podwright.framework import Plugin
from podwright.recording.decision_log import DecisionLog, Recorder
from podwright.recording.log_format import LogError
from podwright.recording.replay import Replay
from podwright.recording.verification import verify_replay


def resume(
    path: str, *, until: int | None = None, plugins: Iterable[type[Plugin]] = ()
) -> Recorder:
    """Go on with a recorded run where it ended.

    The machine is set to the last checkpoint that has the state of all plugins, or to the
    beginning, and given the events after it, and has to answer as it is recorded; from then on
    everything is recorded again. A driver that told the machine of objects uses
    `Recorder.machine.objects()`: the same objects.

    Parameters
    ----------
    path : str
        The folder of a log that nobody writes.
    until : int, optional
        Go on after so many events, where a block or a checkpoint ends, and forget the rest.
    plugins : iterable of type
        The user's own plugin classes that it was recorded with.

    Returns
    -------
    Recorder
        As `record` returns it.

    Raises
    ------
    LogError
        If the log cannot be read or written, somebody else writes it, or the run does not come
        out the same; it is left as it is.
    """
    with ExitStack() as opened:
        log = opened.enter_context(DecisionLog.open(path, append=True, until=until))
        run = Replay(log, plugins=plugins, objects=log.objects(), is_checked=False)
        outcome = verify_replay(run)
        if outcome.difference is not None:
            raise LogError(
                f"{path} cannot be gone on with: podwright {__version__} does not decide as it is"
                f" recorded; it was left as it is. {outcome.difference}"
            )
        opened.pop_all()
    return Recorder(run.machine, log)
