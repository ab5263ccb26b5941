"""What all floors share, and no room has: HTML of results, figures, signals, pauses, interludes."""

from __future__ import annotations

import gc
import os
import signal
import struct
import sys
import threading
from contextlib import contextmanager
from typing import Any

import pytest

from podwright import _console
from podwright._checkpointed import Checkpointed, Saved
from podwright._compiled_classes import mypyc_attr
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


def test_a_page_needs_no_server():
    text = page("T", ["f"], ["<p>a</p>", "<p>b</p>"])
    head, _, rest = text.partition("<style>")
    _, _, body = rest.partition("</style>")
    assert head == (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>T</title>'
        '<meta name="viewport" content="width=device-width">'
    )
    assert body == "</head><body><h1>T</h1><ul><li>f</li></ul><p>a</p><p>b</p></body></html>\n"


LEFT = 'style="text-align:left"'


def test_a_table_is_one_of_html():
    assert table(("A", "B"), [(1000, "x")], count=12, shown=1) == (
        f"<table><thead><tr><th {LEFT}>A</th><th {LEFT}>B</th></tr></thead>"
        f"<tbody><tr><td {LEFT}>1,000</td><td {LEFT}>x</td></tr></tbody></table><p>and 11 more</p>"
    )
    assert facts({"a": 1, "b": "c"}) == (
        f"<table><tbody><tr><th {LEFT}>a</th><td {LEFT}>1</td></tr>"
        f"<tr><th {LEFT}>b</th><td {LEFT}>c</td></tr></tbody></table>"
    )
    assert whole_table("t", ("A",), [(1,)]) == section("t", table(("A",), [(1,)]))
    assert bars("<b>", {"a": 1}) == (
        "<div><strong>&lt;b&gt;</strong>"
        '<dl><dt>a</dt><dd><i style="width:100.0%"></i>1</dd></dl></div>'
    )
    assert "</i>1,234.5</dd>" in bars("b", {"a": 1234.5})


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
    # The palette of Okabe and Ito, without its yellow, which is faint on white.
    assert [line_style(index) for index in range(7)] == [
        {"color": color, "linestyle": dashes}
        for color, dashes in (
            ("#000000", "-"), ("#E69F00", "--"), ("#56B4E9", "-."), ("#009E73", ":"),
            ("#CC79A7", (0, (5, 1))), ("#D55E00", (0, (3, 1, 1, 1))), ("#0072B2", (0, (1, 1))),
        )
    ]  # fmt: skip


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
        ends = [[list(end) for end in each] for each in first[2][0].get_segments()]
        assert ends == [[[0.5, -0.125], [1.5, -0.125]], [[3.0, 1.875], [3.0, 1.875]]]
        for each in (first, second):
            assert each[0].get_linestyle() == "None"
            assert (each[0].get_markersize(), each[2][0].get_linewidth()) == (4, 1)
            assert [cap.get_markersize() for cap in each[1]] == [4, 4]
        made.append([picture(figure, each) for each in ("svg", "png", "pdf")])
    assert made[0] == made[1]
    assert [each[:4] for each in made[0]] == [b"<?xm", b"\x89PNG", b"%PDF"]
    assert struct.unpack(">II", made[0][1][16:24]) == (600, 450), "150 dots an inch"
    assert b"dc:date" not in made[0][0]
    assert picture(new_figure(1, 1, 1, 1)[0]).startswith(b"<?xml"), "SVG by default"


def test_the_panels_of_a_figure_have_a_faint_grid_behind_what_they_show():
    pytest.importorskip("matplotlib")
    figure, panels = new_figure(4, 3, 1, 1)
    (panel,) = panels
    assert panel.get_axisbelow() is True
    lines = [*panel.get_xgridlines(), *panel.get_ygridlines()]
    assert {(each.get_visible(), each.get_linewidth(), each.get_alpha()) for each in lines} == {
        (True, 0.4, 0.5)
    }
    assert {each.get_fontsize() for each in panel.get_xticklabels()} == {8}
    assert panel.xaxis.label.get_fontsize() == 9
    assert type(figure.get_layout_engine()).__name__ == "ConstrainedLayoutEngine"


def test_rows_without_a_group_stay_and_a_group_in_the_middle_has_no_shift():
    pytest.importorskip("matplotlib")
    _, (panel,) = new_figure(4, 3, 1, 1)
    draw_intervals(panel, ["a", "b"], [])
    assert panel.containers == []
    draw_intervals(panel, ["a", "b"], [Points("one", {"b": 2.0}, {})])
    assert panel.containers[0][0].get_ydata().tolist() == [1.0]
    _, (many,) = new_figure(4, 3, 1, 1)
    draw_intervals(many, ["a"], [Points(str(number), {"a": 1.0}, {}) for number in range(8)])
    points = [each[0] for each in many.containers]
    assert "".join(each.get_marker() for each in points) == "osD^vPXo"
    assert [each.get_color() for each in points] == [
        line_style(number)["color"] for number in range(8)
    ]
    heights = [each.get_ydata()[0] for each in points]
    assert heights == pytest.approx([(number - 3.5) / 16 for number in range(8)])


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


def test_a_block_without_a_signal_leaves_the_handlers_of_before(received):
    with defer_signals():
        assert received == []
    signal.raise_signal(signal.SIGINT)
    assert received == [signal.SIGINT]


def test_an_ignored_signal_stays_ignored(received):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with defer_signals() as pending:
        signal.raise_signal(signal.SIGTERM)
        assert pending.number is None
    assert received == []
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


@pytest.mark.usefixtures("received")
def test_a_block_that_an_interrupt_ends_is_not_interrupted_once_more():
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupted_twice():
        with defer_signals() as pending:
            signal.raise_signal(signal.SIGINT)
            assert pending.number == signal.SIGINT
            signal.raise_signal(signal.SIGINT)
        raise AssertionError("the second one acts at once")

    with pytest.raises(KeyboardInterrupt) as ended:
        interrupted_twice()
    assert ended.value.__context__ is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("received")
def test_in_another_thread_signals_are_those_of_the_main_one():
    before, found = signal.getsignal(signal.SIGINT), []

    def work():
        with defer_signals() as pending:
            found.append((pending.number, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(None, before)]
    assert signal.getsignal(signal.SIGINT) is before


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


class Inner(Checkpointed):
    """A part with one saved field."""

    _counts: Saved[dict[str, tuple[int, ...]]]

    def __init__(self) -> None:
        self._counts = {}


class Outer(Checkpointed):
    """What has a part, and fields that follow from others."""

    _size: Saved[int]
    inner: Saved[Inner]
    derived: int
    plain: Saved[frozenset[str]]

    def __init__(self) -> None:
        self._size, self.inner, self.derived = 0, Inner(), 0
        self.plain = frozenset()

    def _derive(self) -> None:
        self.derived = len(self.plain)


def test_a_state_has_the_declared_fields_as_plain_values_and_is_restored_in_place():
    outer = Outer()
    outer._size = 3
    outer.inner._counts = {"a": (1, 2)}
    outer.plain = frozenset({"x"})
    state = outer.state()
    assert state == {"size": 3, "inner": {"counts": {"a": (1, 2)}}, "plain": ["x"]}
    other = Outer()
    inner = other.inner
    other.restore(state)
    assert other.inner is inner
    assert (other._size, inner._counts, other.plain, other.derived) == (
        3, {"a": (1, 2)}, frozenset({"x"}), 1,
    )  # fmt: skip
    assert Checkpointed().state() == {}


def test_the_decorator_of_compiled_classes_does_nothing_in_python():
    assert mypyc_attr(allow_interpreted_subclasses=True)(Inner) is Inner
