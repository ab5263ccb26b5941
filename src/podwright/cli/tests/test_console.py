"""How output looks on terminals of several widths, and off them."""

import io

import pytest
from rich.console import Console

from podwright.cli import console

HEADS = ("POD", "NODE", "MESSAGE")
ROWS = [("web", "n1", ""), ("batch", "<none>", "0/2 nodes are available: 2 Insufficient cpu.")]


@pytest.fixture
def terminal(monkeypatch):
    def of(width: int) -> io.StringIO:
        screen = io.StringIO()
        made = Console(file=screen, force_terminal=True, width=width, color_system=None)
        monkeypatch.setattr(console, "stdout", lambda: made)
        return screen

    return of


def lines(screen: io.StringIO) -> list[str]:
    return [line.rstrip() for line in screen.getvalue().splitlines()]


def test_off_a_terminal_a_row_is_a_line_however_long(capsys):
    console.print_table(HEADS, [("web", "n1", "x" * 500)])
    assert capsys.readouterr().out.splitlines() == [
        "POD  NODE  MESSAGE",
        f"web  n1    {'x' * 500}",
    ]


def test_what_fits_is_not_wrapped(terminal):
    screen = terminal(60)
    console.print_table(HEADS, ROWS)
    assert lines(screen) == [
        "POD    NODE    MESSAGE",
        "web    n1",
        "batch  <none>  0/2 nodes are available: 2 Insufficient cpu.",
    ]


def test_the_last_column_wraps(terminal):
    screen = terminal(40)
    console.print_table(HEADS, ROWS)
    assert lines(screen) == [
        "POD    NODE    MESSAGE",
        "web    n1",
        "batch  <none>  0/2 nodes are available:",
        "               2 Insufficient cpu.",
    ]


def test_where_there_is_no_room_beside_the_last_cell_goes_below(terminal):
    screen = terminal(30)
    console.print_table(HEADS, ROWS)
    assert lines(screen) == [
        "POD    NODE",
        "    MESSAGE",
        "web    n1",
        "batch  <none>",
        "    0/2 nodes are available: 2",
        "    Insufficient cpu.",
    ]


@pytest.mark.parametrize("width", [30, 40, 80, 140])
def test_nothing_is_wider_than_the_terminal(terminal, width):
    screen = terminal(width)
    console.print_table(HEADS, ROWS)
    console.print_paragraph("word " * 60, indent=4, hanging=2)
    assert max(map(len, lines(screen))) <= width


def test_a_paragraph_hangs(terminal):
    screen = terminal(24)
    console.print_paragraph("one two three four five six", indent=2, hanging=2)
    assert lines(screen) == ["  one two three four", "    five six"]


def test_few_items_have_no_progress_bar(capsys):
    assert list(console.progress(iter("ab"), "doing", 2)) == ["a", "b"]
    assert capsys.readouterr().err == ""
