"""What all floors share, and no room has: HTML of results, figures, signals, pauses, interludes."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import contextmanager
from typing import Any

import pytest

from podwright import _console
from podwright._garbage import frozen_creations, gc_paused
from podwright._html import ROWS_SHOWN, bars, facts, page, paragraphs, section, table, whole_table
from podwright._interludes import ENTER, interlude
from podwright._interrupts import PendingSignal, deferred_signals, set_deferral
from podwright._plots import Points, draw_intervals, line_style, new_figure, picture
from podwright._signals import defer_signals


def test_all_text_of_a_page_is_escaped_and_its_parts_are_html():
    text = page("<t>", ["a & b", "c"], [section("<s>", "<p>x</p>"), paragraphs(["", "<y>"])])
    assert "<title>&lt;t&gt;</title>" in text
    assert "<h1>&lt;t&gt;</h1><ul><li>a &amp; b</li><li>c</li></ul>" in text
    assert "<div><strong>&lt;s&gt;</strong><p>x</p></div><p>&lt;y&gt;</p></body>" in text
    assert text.startswith("<!doctype html>")
    assert "http" not in text, "nothing is referred to"


def rows_of(text: str) -> int:
    return text.count("<tr>") - 1


@pytest.mark.parametrize(
    ("count", "all_count", "shown", "more"),
    [
        (ROWS_SHOWN, None, ROWS_SHOWN, ""), (ROWS_SHOWN + 1, None, ROWS_SHOWN, "and 1 more"),
        (3, 5000, 3, "and 4,990 more"), (1, 1, 1, ""),
    ],
)  # fmt: skip
def test_a_table_shows_its_first_rows_and_how_many_follow(count, all_count, shown, more):
    rows = [(f"r{number}", 1000 + number, None) for number in range(count)]
    text = table(("<a>", "B", "C"), rows, count=all_count)
    assert rows_of(text) == shown
    assert ("more</p>" in text) is bool(more)
    assert f"<p>{more}</p>" in text or not more
    assert ">&lt;a&gt;</th>" in text
    assert ">1,000</td>" in text
    assert ">None</td>" in text
    assert rows_of(whole_table("t", ("A", "B", "C"), rows)) == count
    assert "more" not in whole_table("t", ("A", "B", "C"), rows)


def test_nothing_is_shown_of_nothing():
    empty = (table(("A",), []), whole_table("t", ("A",), []), facts({}), bars("t", {}))
    assert empty == ("",) * 4


def test_facts_have_a_row_each():
    text = facts({"<a>": 1234, "b": "<x>"})
    assert text.count("<tr>") == 2
    for part in (">&lt;a&gt;</th>", ">1,234</td>", ">b</th>", ">&lt;x&gt;</td>"):
        assert part in text


def test_bars_are_as_long_as_their_share_of_the_largest():
    text = bars("t", {"a": 50, "": 200, "c": 0})
    widths = [part.split("%", 1)[0] for part in text.split("width:")[1:]]
    assert widths == ["25.0", "100.0", "0.0"]
    assert "<dt>&lt;none&gt;</dt>" in text
    assert "</i>200</dd>" in text
    assert "width:0.0%" in bars("t", {"a": 0}), "no number is divided by zero"


def test_lines_differ_in_color_and_dashes_until_they_repeat():
    styles = [str(line_style(index)) for index in range(8)]
    assert len(set(styles)) == 7
    assert styles[7] == styles[0]
    assert set(line_style(0)) == {"color", "linestyle"}


def test_a_figure_has_its_panels_row_by_row_and_always_the_same_bytes():
    pytest.importorskip("matplotlib")
    made = []
    for _ in range(2):
        figure, panels = new_figure(4, 3, 2, 3)
        assert len(panels) == 6
        assert figure.get_size_inches().tolist() == [4, 3]
        groups = [Points("x", {"a": 1.0, "c": 3.0}, {"a": 0.5}), Points("y", {"b": 2.0}, {})]
        draw_intervals(panels[0], ["a", "b", "c"], groups)
        assert [text.get_text() for text in panels[0].get_yticklabels()] == ["a", "b", "c"]
        assert panels[0].get_ylim() == (2.5, -0.5)
        first, second = panels[0].containers
        assert first[0].get_xdata().tolist() == [1.0, 3.0]
        assert first[0].get_ydata().tolist() == [-0.125, 1.875]
        assert second[0].get_ydata().tolist() == [1.125]
        assert (first.get_label(), second.get_label()) == ("x", "y")
        assert first[0].get_color() != second[0].get_color()
        assert first[0].get_marker() != second[0].get_marker()
        made.append([picture(figure, each) for each in ("svg", "png", "pdf")])
    assert made[0] == made[1]
    assert [each[:4] for each in made[0]] == [b"<?xm", b"\x89PNG", b"%PDF"]


def fail_in_a_pause():
    with gc_paused():
        assert not gc.isenabled()
        raise ZeroDivisionError


@pytest.mark.parametrize("was_enabled", [True, False])
def test_nothing_is_collected_in_a_pause_and_it_ends_as_it_began(was_enabled):
    before = gc.isenabled()
    try:
        (gc.enable if was_enabled else gc.disable)()
        with pytest.raises(ZeroDivisionError):
            fail_in_a_pause()
        assert gc.isenabled() is was_enabled
        frozen = gc.get_freeze_count()
        with frozen_creations():
            assert not gc.isenabled()
            kept = [[number] for number in range(100)]
        assert gc.get_freeze_count() >= frozen + len(kept)
        assert gc.isenabled() is was_enabled
    finally:
        gc.unfreeze()
        (gc.enable if before else gc.disable)()


def test_an_interlude_is_entered_where_the_work_has_a_way_to():
    entered = []

    @contextmanager
    def enter():
        entered.append("in")
        yield
        entered.append("out")

    with interlude():
        assert entered == []
    token = ENTER.set(enter)
    try:
        with interlude():
            assert entered == ["in"]
    finally:
        ENTER.reset(token)
    assert entered == ["in", "out"]


@pytest.fixture
def received():
    """Note the signals that arrive."""
    found: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda n, _: found.append(n)) for number in numbers}
    yield found
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_for_the_end_of_the_block_and_a_second_one_acts_at_once(received, number):
    with defer_signals() as pending:
        signal.raise_signal(number)
        assert (received, pending.number) == ([], number)
    assert received == [number]
    with defer_signals():
        signal.raise_signal(number)
        signal.raise_signal(number)
        assert received == [number] * 2
    assert received == [number] * 3
    with defer_signals() as pending:
        signal.raise_signal(number)
        assert pending.take() == number
        assert pending.take() is None
    assert received == [number] * 3, "one that was taken has no further effect"
    signal.raise_signal(number)
    assert received == [number] * 4, "the handlers are those from before"


def test_an_ignored_signal_stays_ignored(received):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with defer_signals() as pending:
        signal.raise_signal(signal.SIGTERM)
        assert pending.number is None
    assert received == []
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_signals_are_deferred_as_the_process_has_set():
    from podwright import _interrupts

    before = _interrupts._Current.deferral
    entered = []

    @contextmanager
    def deferral():
        entered.append(True)
        yield PendingSignal()

    try:
        set_deferral(None)
        with deferred_signals() as pending:
            assert pending.take() is None
        set_deferral(deferral)
        with deferred_signals():
            assert entered == [True]
    finally:
        set_deferral(before)


@pytest.mark.parametrize(("code", "status"), [(None, 0), (0, 0), (3, 3)])
def test_a_process_ends_at_once_with_its_exit_status(monkeypatch, code, status):
    ended: list[int] = []

    def run():
        raise SystemExit(code)

    monkeypatch.setattr("podwright.cli.main", run)
    monkeypatch.setattr(os, "_exit", ended.append)
    main: Any = _console.main  # it does not return
    main()
    assert ended == [status]


def test_a_process_that_ends_with_a_text_shows_it(monkeypatch):
    def run():
        raise SystemExit("wrong")

    monkeypatch.setattr("podwright.cli.main", run)
    monkeypatch.setattr(os, "_exit", lambda _: pytest.fail("nothing was shown"))
    with pytest.raises(SystemExit, match="wrong"):
        _console.main()


def test_an_interrupt_while_the_command_line_is_imported_ends_in_one_line(monkeypatch, capsys):
    class Interrupting:
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "podwright.cli", Interrupting())
    with pytest.raises(SystemExit) as end:
        _console.main()
    assert end.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"
