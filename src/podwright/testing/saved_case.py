"""Cases that `podwright explain --save-case` writes: one recorded cycle, run again offline."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from podwright.scheduler.assembly import plugins_from
from podwright.simulation.recording import DecisionLog, decode_case, find_cycle


def check_saved_case(
    case: str, *, pod: str, expected: str, plugins: Mapping[str, str] | None = None
) -> None:
    """Run a recorded cycle again, and compare its outcome with the recorded one.

    Parameters
    ----------
    case : str
        The log of the cycle, as `podwright.simulation.recording.encode_case` returns it.
    pod : str
        `namespace/name`.
    expected : str
        The name of the chosen node, or the message of a pod that fits on none.
    plugins : mapping of str to str, optional
        The source of each plugin file, by file name; it is executed.

    Raises
    ------
    AssertionError
        If the outcome differs.
    LogError
        If the outcome is the same, but what else the cycle did differs.
    InputError
        If a plugin file is not valid.
    """
    sources = (plugins or {}).items()
    classes = [cls for name, text in sources for cls in plugins_from(text, source=name)]
    with TemporaryDirectory() as folder:
        decode_case(case, Path(folder))
        with DecisionLog.open(folder) as log:
            past = find_cycle(log, pod, plugins=classes)
            decision = past.explain().decision
            found = decision.node or decision.message
            assert found == expected, f"{pod}: {found!r}, but {expected!r} was recorded"
            past.confirm()
