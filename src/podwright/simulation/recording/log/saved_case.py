"""One past cycle as a separate log: a checkpoint before the cycle, and the events to its end.

The events before the checkpoint are dropped. If the state before the cycle cannot be written down,
because of a plugin or of pending work, the log starts at the first event of the run instead.
"""

from __future__ import annotations

import base64
import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import ObjectPut
from podwright.simulation.recording.explanations.explain import PastCycle
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_format import LogError
from podwright.simulation.recording.log.replay import Replay


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
        A folder without a log, made if missing.
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
    if not (is_restorable and short.checkpoint(run.machine, is_whole=True)):
        if log.first:
            raise LogError(
                f"the state before event {begin} cannot be saved, and the log has lost the events"
                f" before {log.first}"
            )
        run = Replay(log, until=0, plugins=own)
        # A log may begin with a state: that of a saved cycle does.
        short.checkpoint(run.machine, is_whole=True)
    last = run.machine.last_decisions
    while run.index <= past.end and (step := run.step()) is not None:
        entry, actions = step
        ended: tuple[str, ...] = ()
        if not isinstance(entry.event, ObjectPut) and run.machine.last_decisions is not last:
            last = run.machine.last_decisions
            ended = tuple(decision.pod.key for decision in last)
        short.append(entry.now_ns, entry.event, actions, pods=ended)
    short.save(path)


_TEXT: Final = '''\
"""Attempt {attempt} of pod {pod} in a recorded run; needs podwright and pytest."""

from podwright.testing import check_saved_case

POD = {pod!r}
EXPECTED = {expected!r}
PLUGINS = {{
{plugins}}}
CASE = """
{case}"""


def test_the_recorded_outcome():
    check_saved_case(CASE, pod=POD, expected=EXPECTED, plugins=PLUGINS)
'''


def case_text(
    log: DecisionLog,
    past: PastCycle,
    *,
    plugins: Iterable[type[Plugin]] = (),
    sources: Mapping[str, str],
) -> str:
    """Return a pytest file that runs one past cycle of a log and compares its outcome.

    Parameters
    ----------
    log, past, plugins
        As for `save_cycle`.
    sources : mapping of str to str
        The source of each plugin file, by file name.

    Raises
    ------
    LogError
        If the run cannot be replayed.
    """
    with TemporaryDirectory() as folder:
        save_cycle(log, past, folder, plugins=plugins)
        case = encode_case(Path(folder))
    decision = past.explain().decision
    return _TEXT.format(
        attempt=past.attempt,
        pod=past.pod.key,
        expected=decision.node or decision.message,
        plugins="".join(f"{name!r}: {_literal(text)},\n" for name, text in sources.items()),
        case=case,
    )


def _literal(text: str) -> str:
    """Return Python source of a text, with its lines as they are if that is possible."""
    is_plain = all(char.isprintable() or char in "\n\t" for char in text)
    if is_plain and "'''" not in text and not text.endswith(("'", "\\")):
        return f"r'''{text}'''"
    return repr(text)


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
