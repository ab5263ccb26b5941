"""How output looks on terminals of several widths, and off them."""

import errno
import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from podwright._progress import NO_METER, Display, Meter, metered, set_display
from podwright.apimachinery.objects import FieldError, InputError, PodwrightError
from podwright.cli import console
from podwright.cli.recorded import recorded_run
from podwright.cli.tests.served import command
from podwright.online.client.cluster import UnreachableCluster

EXAMPLES = Path(__file__).parents[4] / "examples"
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


def noting(shown: list[str]) -> Display:
    """Return a display that notes what would be shown."""

    def display(what: str, *_: object) -> Meter:
        shown.append(what)
        return NO_METER

    return display


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


def test_the_other_columns_do_not_wrap(terminal):
    screen = terminal(77)
    name = "a rule whose name is of many words that stay on a line"
    console.print_table(("RULE", "NODES"), [(name, "no node has room for it")])
    assert lines(screen) == [
        f"{'RULE'.ljust(len(name))}  NODES",
        f"{name}  no node has room for",
        f"{' ' * len(name)}  it",
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


def test_a_cell_that_exactly_fits_is_beside_and_otherwise_below(terminal):
    # 5 and 6 columns, two gaps and an indent of 3 leave 20 for the last cell.
    rows = [("batch", "<none>", "0/2 nodes are available: none")]
    screen = terminal(5 + 6 + 4 + 3 + 20)
    console.print_table(HEADS, rows, indent=3)
    assert lines(screen) == [
        "   POD    NODE    MESSAGE",
        "   batch  <none>  0/2 nodes are",
        "                  available: none",
    ]
    screen = terminal(5 + 6 + 4 + 3 + 19)
    console.print_table(HEADS, rows, indent=3)
    assert lines(screen) == [
        "   POD    NODE",
        "       MESSAGE",
        "   batch  <none>",
        "       0/2 nodes are available: none",
    ]


def test_a_short_last_cell_needs_its_own_width_only(terminal):
    screen = terminal(11)
    console.print_table(("A", "B"), [("one", "123456")])
    assert lines(screen) == ["A    B", "one  123456"]
    screen = terminal(10)
    console.print_table(("A", "B"), [("one", "123456")])
    assert lines(screen) == ["A", "    B", "one", "    123456"]


def test_a_cell_without_text_has_no_line_below(terminal):
    screen = terminal(24)
    console.print_table(HEADS, ROWS)
    assert lines(screen)[:4] == ["POD    NODE", "    MESSAGE", "web    n1", "batch  <none>"]


def test_heads_headings_and_rows_are_not_wrapped(terminal):
    screen = terminal(20)
    long = "HEAD-" * 6
    console.print_table((long, "B"), [("one", "1")])
    console.print_heading("a heading that is wider than the terminal")
    assert lines(screen) == [
        long, "    B", "one", "    1", "", "a heading that is wider than the terminal"
    ]  # fmt: skip


def test_a_paragraph_has_at_least_twenty_columns(terminal):
    screen = terminal(24)
    console.print_paragraph("one two three four five six", indent=12, hanging=2)
    assert lines(screen) == [" " * 12 + "one two three four", " " * 14 + "five six"]


def test_a_document_has_an_end_of_line_and_lists_its_fields(capsys):
    words = "word " * 30
    document = {"b": 1, "a": ["é", float("nan")], "c": words}
    console.print_document(document, "yaml")
    console.print_document({"b": 1, "a": [2]}, "json")
    assert capsys.readouterr().out == (
        f"b: 1\na:\n- é\n- null\nc: '{words[:99]}\n  {words[100:]}'\n"
        '{\n  "b": 1,\n  "a": [\n    2\n  ]\n}\n'
    )


@pytest.mark.parametrize(("output", "text", "is_data"), [
    ("name", "n1\nn2\n", True), ("yaml", "a: 1\n", True), ("json", '{\n  "a": 1\n}\n', True),
    ("table", "", False), ("wide", "", False),
])  # fmt: skip
def test_results_for_programs_and_for_readers(output, text, is_data, capsys):
    assert console.print_data(output, lambda: {"a": 1}, ["n1", "n2\n"]) is is_data
    assert capsys.readouterr().out == text


def test_a_progress_bar_counts_what_is_done_on_a_terminal(monkeypatch):
    screen = io.StringIO()
    made = Console(file=screen, force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr(console, "stderr", lambda: made)
    assert list(console.progress(iter("ab"), "doing", 499)) == ["a", "b"]
    assert screen.getvalue() == ""
    done = list(console.progress(iter("x" * 501), "doing", 500))
    assert len(done) == 501
    assert "doing" in screen.getvalue()
    assert "500/500" in screen.getvalue()
    with console.progress_bar("few", 3, least=3) as advance:
        advance(2)
    assert "few" in screen.getvalue()
    assert "2/3" in screen.getvalue()


MANY = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", pods: "700"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 501
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: app}]}
"""


@pytest.mark.parametrize(
    ("line", "bars"),
    [
        ("schedule FILE", ["scheduling"]),
        ("explain deployment/web FILE", ["scheduling", "scheduling the pods ahead"]),
        ("compare-rules FILE", ["scheduling with both rule sets"]),
    ],
)
def test_commands_that_decide_about_many_pods_show_a_bar(line, bars, tmp_path, monkeypatch):
    screen = io.StringIO()
    made = Console(file=screen, force_terminal=True, width=100, color_system=None)
    monkeypatch.setattr(console, "stderr", lambda: made)
    file = tmp_path / "many.yaml"
    file.write_text(MANY)
    errors, status = command(line.replace("FILE", str(file)))[1:]
    assert (errors, status) == ("", 0)
    shown = screen.getvalue()
    assert all(re.search(rf"{bar} [^a-z]*/501 ", shown) for bar in bars), shown


def test_what_is_waited_for_is_shown_on_a_terminal_only(monkeypatch, capsys):
    with console.waiting("compiling"):
        pass
    assert capsys.readouterr().err == ""
    screen = io.StringIO()
    made = Console(file=screen, force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr(console, "stderr", lambda: made)
    shown: list[str] = []
    set_display(noting(shown))
    try:
        with console.waiting("compiling"), metered("replaying"):
            pass
    finally:
        set_display(None)
    assert "compiling" in screen.getvalue()
    assert shown == [], "instead of the progress of calls inside"


def test_what_takes_long_with_a_recorded_run_shows_its_progress(tmp_path, monkeypatch):
    shown: list[str] = []
    monkeypatch.setattr(recorded_run, "_show_call", noting(shown))
    run = tmp_path / "run"
    assert command(f"simulate {EXAMPLES / 'quickstart'} --out {run} --exit-zero")[2] == 0
    assert command(f"report {run} --out {tmp_path / 'report.html'}")[2] == 0
    assert shown[:2] == ["replaying", "replaying"], "the last state, and the timeline"
    with metered("something else"):
        pass
    assert "something else" not in shown


@pytest.mark.parametrize("setting", ["", "1"])
def test_colors_are_those_of_a_terminal_unless_it_wants_none(setting, monkeypatch):
    monkeypatch.setenv("NO_COLOR", setting)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "70")
    made = console.stdout()
    assert (made.is_terminal, made.width) == (True, 70)
    assert (made.color_system is None) is bool(setting)


def test_off_a_terminal_nothing_is_narrow(monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "70")
    assert console.stderr().stderr
    assert not console.stdout().stderr
    assert {console.stderr().width, console.stdout().width} == {100_000}


@pytest.mark.parametrize(("seconds", "text"), [
    (9.9999, "9.999s"), (10, "10s"), (10.5, "10s"), (0.0004, "0s"), (330, "5m30s"), (1.25, "1.25s")
])  # fmt: skip
def test_durations_are_as_ages_of_kubectl_from_ten_seconds(seconds, text):
    assert console.duration_text(round(seconds * 10**9)) == text


@pytest.mark.parametrize(("message", "is_hinted"), [
    ('plugin "A" does not exist', True), ('Plugin "B" does not exist', True),
    ("plugin A does not exist", False),
])  # fmt: skip
def test_an_unknown_plugin_has_a_hint(message, is_hinted, capsys):
    errors = [FieldError(source="c.yaml", path="a", message=message)] * 2
    assert console.report_error(InputError(errors)) == 2
    hint = "Load a custom plugin with --plugin FILE, or install its package\n"
    text = f"error: c.yaml: a: {message}\n" * 2
    assert capsys.readouterr().err == text + hint * is_hinted


def caused_by(error, cause):
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(("error", "status"), [
    (PodwrightError("no"), 2), (UnreachableCluster("gone"), 3), (InputError.of("a", "b"), 2),
    (caused_by(InputError.of("a", "b"), OSError(errno.ENOSPC, "no room")), 3),
    (caused_by(InputError.of("a", "b"), OSError(errno.ENOENT, "no file")), 2),
])  # fmt: skip
def test_an_error_has_a_status_of_its_kind(error, status, capsys):
    assert console.report_error(error) == status
    assert capsys.readouterr().err == f"error: {error}\n"


def test_a_file_is_written_anew_or_continued(tmp_path):
    file = tmp_path / "file"
    for text in ("é", "ö"):
        console.write_file(file, b"a")
        console.append_to_file(file, text)
    assert file.read_text("utf-8") == "aö"
    absent = tmp_path / "none" / "file"
    for write in (
        lambda: console.write_file(absent, b"a"), lambda: console.append_to_file(absent, "a"),
    ):  # fmt: skip
        with pytest.raises(InputError) as caught:
            write()
        assert caught.value.texts == [f"{absent}: cannot be written: No such file or directory"]
