"""How output looks: results on stdout, everything else on stderr.

Tables are kubectl's: upper-case heads, two spaces between columns, no boxes. On a terminal
they fit its width and long cells wrap; otherwise a row is a line, to be searched. Colour is
Rich's business: only on a terminal, never with NO_COLOR.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from podwright.cli.ending import SYSTEM_FAILED, is_of_the_system
from podwright.objects import FieldError, InputError

T = TypeVar("T")

WRONG_USE = 2
"""Exit status for wrong use and bad input."""

_UNLIMITED = 100_000
_LONG_WORK = 500
_LEAST_LAST = 20


def stdout() -> Console:
    """Return the console for results."""
    return _console(stderr=False)


def stderr() -> Console:
    """Return the console for everything else."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    # Made at each use: tests and pipes replace the streams.
    options: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
    if os.environ.get("NO_COLOR"):
        # Rich by itself would still write bold.
        options["color_system"] = None
    console = _Console(stderr=stderr, **options)
    return console if console.is_terminal else _Console(stderr=stderr, width=_UNLIMITED, **options)


class _Console(Console):
    """A console that leaves it to `ending` how a process ends whose pipe is closed."""

    def on_broken_pipe(self) -> None:
        """Raise it once more; Rich would end the process."""
        error = sys.exception()
        assert error is not None, "Rich calls it from a handler"
        raise error


def say(text: str) -> None:
    """Tell something that is not the result."""
    # Whoever sends both streams to one place sees them in the order of events.
    sys.stdout.flush()
    stderr().print(text, soft_wrap=True)


def refuse(error: Exception) -> int:
    """Report what was refused, and return the exit status.

    Errors of an input begin with their place and stand for themselves.
    """
    if isinstance(error, InputError):
        say(str(error))
        hint_at_plugins(error.errors)
        return WRONG_USE
    stderr().print(Text("error: ", style="bold red") + Text(str(error)), soft_wrap=True)
    return SYSTEM_FAILED if is_of_the_system(error) else WRONG_USE


_UNKNOWN_PLUGIN = re.compile(r'[Pp]lugin "[^"]*" does not exist')


def hint_at_plugins(errors: Iterable[FieldError]) -> None:
    """Say how plugins of one's own are given, if one that nobody knows was asked for."""
    if any(_UNKNOWN_PLUGIN.search(error.message) for error in errors):
        say("A plugin of your own has to be given as well: --plugin FILE, or to be installed")


def write(text: str) -> None:
    """Print plain text as a result, unchanged."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[str | Text]], *, indent: int = 0
) -> None:
    """Print rows under upper-case heads.

    Notes
    -----
    Lines that fit, and all lines off a terminal, are printed as they are: Rich would fill
    them with blanks to the right, and measure thousands of rows slowly for nothing.
    """
    console = stdout()
    lines = [tuple(row) for row in rows]
    widths = [max(map(len, (head, *(row[i] for row in lines)))) for i, head in enumerate(heads)]
    if not console.is_terminal or indent + sum(widths) + 2 * (len(heads) - 1) <= console.width:
        _print_plain(console, heads, lines, widths, indent)
        return
    room = console.width - indent - sum(widths[:-1]) - 2 * (len(heads) - 1)
    if room < min(widths[-1], _LEAST_LAST):
        _print_below(console, heads, lines, widths, indent)
        return
    table = Table(
        box=None, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0), header_style="bold"
    )
    for head, width in zip(heads[:-1], widths, strict=False):
        table.add_column(head, no_wrap=True, min_width=width)
    table.add_column(heads[-1], overflow="fold")
    for row in lines:
        table.add_row(*row)
    console.print(Padding(table, (0, 0, 0, indent)))


def _print_below(
    console: Console,
    heads: Sequence[str],
    rows: list[tuple[str | Text, ...]],
    widths: list[int],
    indent: int,
) -> None:
    """Print the last cell of each row below it, for want of room beside it."""
    _print_plain(console, heads[:-1], [], widths[:-1], indent)
    print_paragraph(Text(heads[-1], style="bold"), indent=indent + 4)
    for row in rows:
        _print_plain(console, (), [row[:-1]], widths[:-1], indent)
        if str(row[-1]):
            print_paragraph(row[-1], indent=indent + 4)


def _print_plain(
    console: Console,
    heads: Sequence[str],
    rows: list[tuple[str | Text, ...]],
    widths: list[int],
    indent: int,
) -> None:
    margin = " " * indent
    if heads:
        _print_heads(console, heads, widths, margin)
    for row in rows:
        line = Text(margin)
        for cell, width in zip(row, widths, strict=True):
            line.append_text(Text(cell) if isinstance(cell, str) else cell)
            line.append(" " * (width - len(cell) + 2))
        line.rstrip()
        if console.is_terminal:
            console.print(line, soft_wrap=True)
        else:
            sys.stdout.write(f"{line.plain}\n")


def _print_heads(console: Console, heads: Sequence[str], widths: list[int], margin: str) -> None:
    cells = (head.ljust(width) for head, width in zip(heads, widths, strict=True))
    head_line = f"{margin}{'  '.join(cells)}".rstrip()
    if console.is_terminal:
        console.print(Text(head_line, style="bold"), soft_wrap=True)
    else:
        sys.stdout.write(f"{head_line}\n")


def print_paragraph(text: str | Text, *, indent: int = 0, hanging: int = 0) -> None:
    """Print prose that wraps at the terminal's width, with a margin.

    Parameters
    ----------
    indent, hanging : int
        Blanks before every line; further ones before all but the first.
    """
    console = stdout()
    if not console.is_terminal:
        sys.stdout.write(f"{' ' * indent}{text}\n")
        return
    body = Text(text) if isinstance(text, str) else text
    lines = body.wrap(console, max(console.width - indent - hanging, 20))
    for number, line in enumerate(lines):
        line.rstrip()
        margin = Text(" " * (indent + (hanging if number else 0)))
        console.print(margin.append_text(line), soft_wrap=True)


def print_heading(text: str) -> None:
    """Print a blank line and a heading."""
    console = stdout()
    console.print()
    console.print(Text(text, style="bold"), soft_wrap=True)


def print_document(document: object, format_name: str) -> None:
    """Print a document as JSON or YAML."""
    if format_name == "json":
        import msgspec

        write(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
        return
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    write(yaml.dump(document, Dumper=dumper, sort_keys=False, allow_unicode=True, width=100))


def progress(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """Give the items, with a bar on stderr if it is a terminal and there are many."""
    console = stderr()
    if not console.is_terminal or total < _LONG_WORK:
        yield from items
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        yield from bar.track(items, total=total, description=what)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Say on a terminal what is waited for, until it is over."""
    console = stderr()
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def announce_compilation() -> None:
    """Arrange that the first kernel to be compiled is announced on stderr."""
    from podwright.kernels._jit import notify_before_compiling

    told: list[Any] = []

    def tell(kernel: str) -> None:
        if not told:
            told.append(kernel)
            say(
                "compiling kernels, once on this machine: some seconds "
                "(podwright warm-up does it ahead of time)"
            )

    notify_before_compiling(tell)
