"""Formats output: results on stdout, everything else on stderr.

Tables look like kubectl's: upper-case headers, two spaces between columns, no boxes. On a
terminal, tables fit its width and long cells wrap; otherwise each row is one line. Rich adds
color only on a terminal, and not if NO_COLOR is set.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from podwright._progress import metered
from podwright.apimachinery.objects import FieldError, InputError
from podwright.cli.process_exit import SYSTEM_FAILED, is_system_failure
from podwright.cli.usage import selected_fields

T = TypeVar("T")

WRONG_USE = 2
"""Exit status for usage errors and invalid input."""

NO_NODE = "<none>"
"""In place of the node of a pod that has none."""

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
    # Created at each use, because tests and pipes replace the streams.
    options: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
    if os.environ.get("NO_COLOR"):
        # With NO_COLOR alone, Rich would still write bold text.
        options["color_system"] = None
    console = _Console(stderr=stderr, **options)
    return console if console.is_terminal else _Console(stderr=stderr, width=_UNLIMITED, **options)


class _Console(Console):
    """A console that leaves the handling of closed pipes to `process_exit`."""

    def on_broken_pipe(self) -> None:
        """Re-raise the error; Rich would exit the process."""
        error = sys.exception()
        assert error is not None, "Rich calls this method in an exception handler"
        raise error


def print_warnings(warnings: Iterable[str]) -> None:
    """Print warnings on stderr, each on a line."""
    for warning in warnings:
        print_message(f"warning: {warning}")


def print_message(text: str) -> None:
    """Print a line to stderr."""
    # Keeps the lines of both streams in order if they go to the same file.
    sys.stdout.flush()
    stderr().print(text, soft_wrap=True)


def report_error(error: Exception) -> int:
    """Print an error, or each of an `InputError`, and return the exit status."""
    sys.stdout.flush()  # as `print_message` does
    for text in error.texts if isinstance(error, InputError) else [str(error)]:
        stderr().print(Text("error: ", style="bold red") + Text(text), soft_wrap=True)
    if isinstance(error, InputError):
        hint_at_plugins(error.errors)
    return SYSTEM_FAILED if is_system_failure(error) else WRONG_USE


def hint_at_plugins(errors: Iterable[FieldError]) -> None:
    """Print how to load custom plugins, if an error names an unknown plugin."""
    from podwright.scheduler.assembly import is_unknown_plugin

    if any(is_unknown_plugin(error.message) for error in errors):
        print_message("Load a custom plugin with --plugin FILE, or install its package")


def write(text: str) -> None:
    """Print text to stdout unchanged, with a line feed at its end."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def write_at_once(text: str) -> None:
    """Print text to stdout as `write` does, and flush it: the command continues."""
    write(text)
    sys.stdout.flush()


def write_file(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Write a file, as `replacing` does.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    from podwright._private_files import replacing  # most commands write no file

    with _write_errors(path), replacing(path, mode) as file:
        file.write(data)


def append_to_file(path: Path, text: str) -> None:
    """Append text to a file.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    with _write_errors(path), path.open("a", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError.of(str(path), f"cannot be written: {error.strerror or error}") from error


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[str | Text]], *, indent: int = 0
) -> None:
    """Print rows under upper-case headers.

    Notes
    -----
    Lines that fit, and all lines if stdout is not a terminal, are printed directly: Rich would
    pad them with spaces and is slow at measuring thousands of rows.
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
    """Print the last cell of each row below the row; the terminal is too narrow for it."""
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
        if not console.is_terminal:
            cells = (str(cell).ljust(width) for cell, width in zip(row, widths, strict=True))
            sys.stdout.write(f"{margin}{'  '.join(cells)}".rstrip() + "\n")
            continue
        line = Text(margin)
        for cell, width in zip(row, widths, strict=True):
            line.append_text(Text(cell) if isinstance(cell, str) else cell)
            line.append(" " * (width - len(cell) + 2))
        line.rstrip()
        console.print(line, soft_wrap=True)


def _print_heads(console: Console, heads: Sequence[str], widths: list[int], margin: str) -> None:
    cells = (head.ljust(width) for head, width in zip(heads, widths, strict=True))
    head_line = f"{margin}{'  '.join(cells)}".rstrip()
    if console.is_terminal:
        console.print(Text(head_line, style="bold"), soft_wrap=True)
    else:
        sys.stdout.write(f"{head_line}\n")


def print_paragraph(text: str | Text, *, indent: int = 0, hanging: int = 0) -> None:
    """Print text that wraps at the terminal's width, with a margin.

    Parameters
    ----------
    indent, hanging : int
        Spaces before every line; additional spaces before all lines but the first.
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


def print_data(output: str, document: Callable[[], object], names: Iterable[str]) -> bool:
    """Print a result for programs; return whether its output format is one of those.

    Parameters
    ----------
    output : str
        The output format: json, yaml, name, or one for readers.
    document : callable
        Returns the result for json and yaml.
    names : iterable of str
        What name prints, one on each line.
    """
    if output in ("json", "yaml"):
        print_document(document(), output)
    elif output == "name":
        for name in names:
            write(name)
    return output in ("json", "yaml", "name")


def print_document(document: object, format_name: str) -> None:
    """Print a document as JSON or YAML, or the fields of it that the command line selects."""
    import msgspec

    encoded = msgspec.json.encode(document)
    fields = selected_fields.get()
    if format_name == "json" and not fields:
        write(msgspec.json.format(encoded, indent=2).decode())
        return
    # As JSON has it: null for what is not a number.
    document = msgspec.json.decode(encoded)
    if format_name == "json":
        _print_fields(document, fields)
        return
    from podwright.apimachinery.objects import write_yaml

    write(write_yaml(document))


def _print_fields(document: object, fields: str) -> None:
    from podwright.cli.field_output import JSONPATH, custom_columns, render_jsonpath

    kind, _, template = fields.partition("=")
    if f"{kind}=" == JSONPATH:
        # No line feed is added, as kubectl adds none.
        sys.stdout.write(render_jsonpath(template, document))
        return
    heads, rows = custom_columns(template, document)
    print_table(heads, rows)


def progress(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """Yield the items, with a progress bar on stderr if it is a terminal and there are many."""
    with progress_bar(what, total) as advance:
        for done, item in enumerate(items, 1):
            yield item
            advance(done)


@contextmanager
def progress_bar(
    what: str, total: int, *, least: int = _LONG_WORK
) -> Iterator[Callable[[int], None]]:
    """Show a progress bar as `progress` does; yield what receives how many items are done.

    Parameters
    ----------
    least : int
        With fewer items no bar is shown.
    """
    console = stderr()
    if not console.is_terminal or total < least:
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=min(done, total))


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show a status on stderr inside the context, if it is a terminal.

    It is shown instead of the progress of calls inside.
    """
    console = stderr()
    if not console.is_terminal:
        yield
        return
    with metered(what, is_shown=False), console.status(what):
        yield


def announce_compilation() -> None:
    """Announce on stderr before the first kernel is compiled."""
    from podwright.scheduler.kernels._jit import notify_before_compiling

    announced: list[Any] = []

    def announce(kernel: str) -> None:
        if not announced:
            announced.append(kernel)
            print_message(
                "compiling kernels, once for each user and version (up to half a minute; "
                "podwright warm-up does it ahead of time)"
            )

    notify_before_compiling(announce)


def duration_text(duration_ns: int) -> str:
    """Return a duration as kubectl prints ages; below 10 s to the millisecond.

    It has two or three significant figures. Times in a run stay exact, since they are given to
    `--at` again.

    Examples
    --------
    >>> duration_text(330 * 10**9), duration_text(1_250_000_000), duration_text(187_200 * 10**9)
    ('5m30s', '1.25s', '2d4h')
    """
    # Imported here: errors are printed without them.
    from podwright.apimachinery.schema import human_duration
    from podwright.scheduler.config import format_duration

    if duration_ns >= _SHORTEST_HUMAN_NS:
        return human_duration(duration_ns)
    return format_duration(duration_ns // 1_000_000 * 1_000_000)


_SHORTEST_HUMAN_NS = 10_000_000_000
