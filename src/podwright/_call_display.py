"""Shows the progress of calls that take more than a second, in terminals and notebooks.

Nothing is shown if stderr is not a terminal and there is no notebook, unless the call asks for it.
This module is above the I/O line: it reads the clock. Only the face of the package imports it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from html import escape
from itertools import count
from typing import Any, Protocol

from podwright._progress import NO_METER, Meter

SHOWN_AFTER_S = 1.0
"""How long a call takes before its progress is shown."""

_INTERVAL_S = 0.1
_LINE_INTERVAL_S = 5.0
_NUMBERS = count(1)


class _Output(Protocol):
    """Where progress is shown."""

    interval_s: float

    def show(self, done: float, total: float | None, note: str) -> None:
        """Show how far the call is."""

    def close(self) -> None:
        """Remove what is shown, if that is possible."""


def show_call(what: str, total: float | None, is_shown: bool | None) -> Meter:  # noqa: FBT001 - a Display
    """Return the meter of a call; see `podwright._progress.Display`."""
    if threading.current_thread() is not threading.main_thread():
        return NO_METER  # calls in parallel would overwrite each other
    if (shell := _notebook()) is not None:
        return CallMeter(total, lambda: _Notebook(what, shell))
    if sys.stderr is not None and sys.stderr.isatty():
        return CallMeter(total, lambda: _Terminal(what, total))
    return CallMeter(total, lambda: _Lines(what)) if is_shown else NO_METER


def _notebook() -> Any:
    """Return the shell of a notebook; None in a terminal, also of IPython."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return None if type(shell).__name__ == "TerminalInteractiveShell" else shell


class CallMeter:
    """Shows the progress of one call, at most ten times a second.

    Parameters
    ----------
    output : callable
        Makes the output when something is shown for the first time.
    """

    def __init__(self, total: float | None, output: Callable[[], _Output]) -> None:
        self._total = total
        self._make = output
        self._output: _Output | None = None
        self._due_s = time.monotonic() + SHOWN_AFTER_S

    def advance(self, done: float, note: Callable[[], str] | None = None) -> None:
        """Show the progress if it is time for it."""
        if time.monotonic() < self._due_s:
            return
        if self._output is None:
            self._output = self._make()
        total = self._total
        self._output.show(
            done if total is None else min(done, total), total, note() if note else ""
        )
        self._due_s = time.monotonic() + self._output.interval_s

    def close(self) -> None:
        """Remove what is shown."""
        if self._output is not None:
            self._output.close()


class _Terminal:
    """A bar on stderr, which is removed at the end."""

    interval_s = _INTERVAL_S

    def __init__(self, what: str, total: float | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        share = TextColumn("{task.percentage:>3.0f}%") if total else TextColumn("")
        note = TextColumn("{task.fields[note]}", markup=False)
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), share, TimeRemainingColumn(), note,
            console=Console(stderr=True), transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task(what, total=total, note="")
        self._bar.start()

    def show(self, done: float, total: float | None, note: str) -> None:
        self._bar.update(self._task, completed=done, total=total, note=note)

    def close(self) -> None:
        self._bar.stop()


class _Notebook:
    """A bar below the cell of a notebook, which is removed at the end."""

    interval_s = _INTERVAL_S

    def __init__(self, what: str, shell: Any) -> None:
        self._what = what
        self._publisher = shell.display_pub
        self._id = f"podwright-progress-{next(_NUMBERS)}"
        self._is_update = False

    def show(self, done: float, total: float | None, note: str) -> None:
        share = f' value="{done / total:.3f}"' if total else ""
        text = f"{self._what} {done / total:.0%}" if total else self._what
        text = f"{text} {note}".rstrip()
        self._publish(text, f"<div><progress{share}></progress> {escape(text)}</div>")

    def close(self) -> None:
        self._publish("", "<div></div>")

    def _publish(self, text: str, html: str) -> None:
        self._publisher.publish(
            data={"text/plain": text, "text/html": html},
            metadata={},
            transient={"display_id": self._id},
            update=self._is_update,
        )
        self._is_update = True


class _Lines:
    """A line on stderr every few seconds, where nothing can be overwritten."""

    interval_s = _LINE_INTERVAL_S

    def __init__(self, what: str) -> None:
        self._what = what

    def show(self, done: float, total: float | None, note: str) -> None:
        share = f" {done / total:.0%}" if total else ""
        print(f"{self._what}{share} {note}".rstrip(), file=sys.stderr)  # noqa: T201 - its purpose

    def close(self) -> None:
        """Leave the lines."""
