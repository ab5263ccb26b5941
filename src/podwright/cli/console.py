"""How output looks: results on stdout, everything else on stderr.

Tables are kubectl's: upper-case heads, two spaces between columns, no boxes. On a terminal
they fit its width and long cells wrap; otherwise a row is a line, to be searched. Colour is
Rich's business: only on a terminal, never with NO_COLOR.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

T = TypeVar("T")

WRONG_USE = 2
"""Exit status for wrong use and bad input."""
THE_ANSWER_IS_NO = 1

_UNLIMITED = 100_000
_LONG_WORK = 500


def stdout() -> Console:
    """Return the console for results."""
    return _console(stderr=False)


def stderr() -> Console:
    """Return the console for everything else."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    # Made at each use: tests and pipes replace the streams.
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console = Console(
            stderr=stderr, highlight=False, markup=False, emoji=False, width=_UNLIMITED
        )
    return console


def say(text: str) -> None:
    """Tell something that is not the result."""
    stderr().print(text, soft_wrap=True)


def refuse(error: Exception) -> int:
    """Report what was refused, and return the exit status."""
    text = Text(str(error))
    stderr().print(Text("error: ", style="bold red") + text, soft_wrap=True)
    return WRONG_USE


def write(text: str) -> None:
    """Print plain text as a result, unchanged."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[str | Text]], *, indent: int = 0
) -> None:
    """Print rows under upper-case heads.

    Notes
    -----
    Off a terminal, columns are aligned and rows are not wrapped, however long; Rich would
    measure and pad thousands of rows slowly for nothing.
    """
    console = stdout()
    listed = [tuple(row) for row in rows]
    if not console.is_terminal:
        _print_plain(heads, listed, indent)
        return
    table = Table(
        box=None, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0), header_style="bold"
    )
    last = len(heads) - 1
    for index, head in enumerate(heads):
        cells = [str(row[index]) for row in listed]
        widest = max(map(len, (head, *cells)), default=0)
        # The last column and very wide ones give way; the others keep their width.
        can_wrap = index == last or widest > 40
        table.add_column(
            head, no_wrap=not can_wrap, overflow="fold", min_width=None if can_wrap else widest
        )
    for row in listed:
        table.add_row(*row)
    if indent:
        from rich.padding import Padding

        console.print(Padding(table, (0, 0, 0, indent)))
    else:
        console.print(table)


def _print_plain(heads: Sequence[str], rows: list[tuple[str | Text, ...]], indent: int) -> None:
    lines = [tuple(heads), *(tuple(str(cell) for cell in row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    margin = " " * indent
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        sys.stdout.write(f"{margin}{'  '.join(cells)}".rstrip() + "\n")


def print_paragraph(text: str | Text, *, indent: int = 0, hanging: int = 0) -> None:
    """Print prose that wraps at the terminal's width, with a margin."""
    console = stdout()
    if not console.is_terminal:
        sys.stdout.write(f"{' ' * indent}{text}\n")
        return
    from rich.padding import Padding

    body = Text(text) if isinstance(text, str) else text
    lines = body.wrap(console, max(console.width - indent - hanging, 20))
    for number, line in enumerate(lines):
        line.rstrip()
        console.print(Padding(line, (0, 0, 0, indent + (hanging if number else 0))))


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
    from podwright.kernels._jit import tell_before_compiling

    told: list[Any] = []

    def tell(kernel: str) -> None:
        if not told:
            told.append(kernel)
            say(
                "compiling kernels, once on this machine: about a minute "
                "(podwright warm-up does it ahead of time)"
            )

    tell_before_compiling(tell)
