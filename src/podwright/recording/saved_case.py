"""One past cycle as a log of its own: a checkpoint before the cycle, and the events to its end.

The events before the checkpoint are dropped. If the state before the cycle cannot be written down,
because of a plugin or of pending work, the log begins at the first event of the run instead.
"""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Iterable
from pathlib import Path

from podwright.framework import Plugin
from podwright.machine import ObjectPut
from podwright.recording.decision_log import DecisionLog
from podwright.recording.explain import PastCycle
from podwright.recording.log_format import LogError
from podwright.recording.replay import Replay


def save_cycle(
    log: DecisionLog, past: PastCycle, path: str | Path, *, plugins: Iterable[type[Plugin]] = ()
) -> None:
    """Write a log that contains one past cycle of another log.

    Parameters
    ----------
    log : DecisionLog
    past : PastCycle
        A cycle of `log`; it is not changed.
    path : str or Path
        A folder without a log, made if need be.
    plugins : iterable of type
        The out-of-tree plugin classes that the run was recorded with.

    Raises
    ------
    LogError
        If the run cannot be replayed, or the folder cannot be written.
    """
    own, begin = tuple(plugins), past.run.index
    run = Replay(log, until=begin, plugins=own)
    run.run_to(begin)
    short = DecisionLog.create(setup=log.setup, fingerprints=log.header.fingerprints)
    is_restorable = not run.machine.unrestorable
    if begin and not (is_restorable and short.checkpoint(run.machine, is_whole=True)):
        if log.first:
            raise LogError(
                f"the state before event {begin} cannot be saved, and the log has lost the events"
                f" before {log.first}"
            )
        run = Replay(log, until=0, plugins=own)
    last = run.machine.last_decisions
    while run.index <= past.end and (step := run.step()) is not None:
        entry, actions = step
        ended: tuple[str, ...] = ()
        if not isinstance(entry.event, ObjectPut) and run.machine.last_decisions is not last:
            last = run.machine.last_decisions
            ended = tuple(decision.pod.key for decision in last)
        short.append(entry.now_ns, entry.event, actions, pods=ended)
    short.save(path)


def encode_case(folder: Path) -> str:
    """Return the log in a folder as text, in lines of 76 characters."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_LZMA) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    return base64.encodebytes(data.getvalue()).decode()


def decode_case(case: str, folder: Path) -> None:
    """Write the log of a text of `encode_case` to a folder."""
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(case))) as archive:
        archive.extractall(folder)
