"""The session of kubectl commands, run on one cluster, and what differs between two outputs.

Lines are compared in their order, and cells of tables as they are. What two runs of the same
cluster print differently is left out by the normalizations of one table, each with its reason.
"""

from __future__ import annotations

import re
import shlex
import time
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Final

import msgspec
from tests.e2e_real.cluster_processes import kubectl

HERE = Path(__file__).parent
SESSION = "kubectl_session.txt"
PODS_SESSION = "kubectl_pods_session.txt"
MORE_SESSION = "kubectl_more_session.txt"
_NO_HEADERS = " --no-headers"
_SECONDS_MAX = 120
_NAME = "[bcdfghjklmnpqrstvwxz2456789]{5}"
_AGE = r"(?:\d+[smhdy]){1,2}"

NORMALIZATIONS: Final[dict[str, tuple[str, str, str]]] = {
    "uid": ("each server draws its own", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uid>"),
    "address": ("ports of the servers", r"https?://127\.0\.0\.1:\d+", "<address>"),
    "time": (
        "the sessions run one after the other",
        r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?Z| \d\d:\d\d:\d\d\.\d+ \+0000)"
        r"|(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \S+ \S+",
        "<time>",
    ),
    "owners in messages": (
        "an object that is printed in a message has the times of its managedFields",
        r'\\"managedFields\\":\[.*?\](?=,\\"|\})',
        "<owners>",
    ),
    "pod name": ("drawn", rf"-[0-9a-f]{{7,10}}-{_NAME}\b", "-<hash>-<name>"),
    "replica set name": (
        "the hash is of Go's text of a template",
        r"\b(applied|once|web)-[0-9a-f]{7,10}\b",
        r"\1-<hash>",
    ),
    "name of a job's or daemon set's pod": ("drawn", rf"\b(once|agent)-{_NAME}\b", r"\1-<name>"),
    "name of a part": ("drawn", r"\b(kube-api-access|debugger)-\w{5}\b", r"\1-<name>"),
    "revision name": ("as of replica sets", r"\bdb-[0-9a-f]{8,10}\b", "db-<hash>"),
    "revision hash": (
        "as of replica sets",
        r"(controller-revision-hash|pod-template-hash)=[^,\s]+",
        r"\1=<hash>",
    ),
    "kwok": ("kwok's lease holder has the name of the machine", r"\bvm_<uid>", "<kwok>"),
    "pod address": ("each server draws its own", r"\b10\.\d+\.\d+\.\d+\b", "<ip>"),
    "node port": ("drawn", r":3[0-2]\d\d\d/", ":<port>/"),
    "version of an object": (
        "other components write too",
        r'(resourceVersion(?:\\?")?: ?\\?")\d+(?=\\?")',
        r"\1<version>",
    ),
    "file": ("of the run", r"/tmp/\S+", "<file>"),
}
"""What differs between two runs of the same cluster: the reason, the form, the mark."""

_FORMS = {name: re.compile(form) for name, (_, form, _) in NORMALIZATIONS.items()}
_WAITING: Final = re.compile(r"^Waiting for .*\n", re.MULTILINE)
_OTHER_REASONS: Final = {
    "waiting": "how often a command says that it waits depends on the speed",
    "age": "the time since an event, in the columns of ages only",
    "width": "a column is as wide as its widest value, some of which have marks",
    "order of drawn names": "rows with drawn names are ordered by what is drawn",
}
REASONS: Final = {name: each[0] for name, each in NORMALIZATIONS.items()} | _OTHER_REASONS

_AGES = frozenset({"AGE", "LAST SEEN", "FIRST SEEN", "DURATION", "LAST SCHEDULE"})
_AGE_CELL = re.compile(rf"{_AGE}( \(x\d+ over {_AGE}\))?")
_ONE_AGE = re.compile(_AGE)
_HEAD = re.compile(
    r"[A-Z][A-Z()_/-]*(?: [A-Z()_/-]+)*(?:\s{2,}[A-Z][A-Z()_/-]*(?: [A-Z()_/-]+)*)*\s*"
)
_EVENTS_HEAD = re.compile(r"\s+Type\s+Reason\s+Age\s+From\s+Message\s*")
_GAP = re.compile(" {3,}")
"""What kubectl prints between two cells, at least."""
_DRAWN = re.compile(r"<(?:hash|name)>")

_FIELD = re.compile(r"^(GROUP|KIND|VERSION|FIELDS?|error):| <\S+>|<\S+>$")
"""The lines of `kubectl explain` that are not descriptions, which are our own."""


class Output(msgspec.Struct, frozen=True):
    """What a command printed.

    Attributes
    ----------
    command : str
    status : int
        The exit status.
    text : str
        The standard output and the standard error.
    head : str
        Of a command with `--no-headers`, the line that it prints without this option.
    """

    command: str
    status: int
    text: str
    head: str = ""


def compared(want: Output, got: Output, counts: Counter[str]) -> list[tuple[str, str]]:
    """Return the lines that differ without what varies, and count what mattered.

    A normalization matters if the outputs differ more without it.
    """
    if want.text == got.text:
        return []
    found = _differing(want, got, frozenset())
    for name in REASONS:
        if len(_differing(want, got, frozenset({name}))) > len(found):
            counts[name] += 1
    return found


def _differing(want: Output, got: Output, without: frozenset[str]) -> list[tuple[str, str]]:
    pairs = zip_longest(lines_of(want, without), lines_of(got, without), fillvalue="<no line>")
    return [pair for pair in pairs if pair[0] != pair[1]]


def lines_of(output: Output, without: Collection[str] = ()) -> list[str]:
    """Return the lines of an output without what varies, in their order.

    Cells of tables are separated by a bar, since their width varies; all other spaces count.

    Parameters
    ----------
    without : collection of str
        The names of normalizations that are not applied.
    """
    text = output.text if "waiting" in without else _WAITING.sub("", output.text)
    lines = text.splitlines()
    if output.command.startswith("explain "):
        return [line for line in (_marked(each, without) for each in lines) if _FIELD.search(line)]
    if "width" in without:
        return [_marked(line, without) for line in lines]
    if output.head:
        names = [name for _, name in _columns(output.head)]
        return list(_rows(output, [_parts(line, names, without) for line in lines], without))
    return list(_with_cells(output, lines, without))


def _with_cells(output: Output, lines: list[str], without: Collection[str]) -> Iterator[str]:
    rows: list[list[str]] = []
    head: list[tuple[int, str]] = []
    for line in lines:
        starts = _columns(line)
        if starts or not line.strip():
            yield from _rows(output, rows, without)
            rows, head = [], starts
        if not head:
            yield _marked(line, without)
        else:
            # Marks have other widths than values, so that cells are cut from what was printed.
            rows.append(_cells(line, head, without))
    yield from _rows(output, rows, without)


def _columns(line: str) -> list[tuple[int, str]]:
    """Return the columns of the head of a table, each with its place; none for another line."""
    if _HEAD.fullmatch(line) is None and _EVENTS_HEAD.fullmatch(line) is None:
        return []
    return [(found.start(), found[0]) for found in re.finditer(r"\S+(?: \S+)*", line)]


def _cells(line: str, head: list[tuple[int, str]], without: Collection[str]) -> list[str]:
    ends = [start for start, _ in head[1:]] + [None]
    cells = [line[start:end].rstrip() for (start, _), end in zip(head, ends, strict=True)]
    return _marked_cells(cells, [name for _, name in head], without)


def _parts(line: str, columns: list[str], without: Collection[str]) -> list[str]:
    """Return the cells of a line that has no head; a line that is no row is one cell."""
    cells = _GAP.split(line)
    if len(cells) != len(columns):
        return [_marked(line, without)]
    return _marked_cells(cells, columns, without)


def _marked_cells(cells: list[str], columns: list[str], without: Collection[str]) -> list[str]:
    found = []
    for cell, column in zip(cells, columns, strict=True):
        is_age = column.upper() in _AGES and _AGE_CELL.fullmatch(cell)
        text = _ONE_AGE.sub("<age>", cell) if is_age and "age" not in without else cell
        found.append(_marked(text, without))
    return found


def _marked(text: str, without: Collection[str]) -> str:
    for name, (_, _, mark) in NORMALIZATIONS.items():
        if name not in without:
            text = _FORMS[name].sub(mark, text)
    return text


def _rows(output: Output, rows: list[list[str]], without: Collection[str]) -> Iterator[str]:
    """Yield the rows of a table; those next to each other with the same drawn name are sorted."""
    keeps_order = "--sort-by" in output.command or "order of drawn names" in without
    for (_, is_drawn), group in groupby(rows, lambda row: (row[0], bool(_DRAWN.search(row[0])))):
        found = [" | ".join(row) for row in group]
        yield from found if keeps_order or not is_drawn else sorted(found)


def commands(session: str = SESSION) -> list[str]:
    """Return the commands of a session."""
    lines = (HERE / session).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def run_session(kubeconfig: Path, lines: list[str]) -> Iterator[Output]:
    """Run commands of the session on a cluster."""
    for line in lines:
        repeats, command = line.startswith("~ "), line.removeprefix("~ ")
        deadline = time.monotonic() + _SECONDS_MAX
        while True:
            result = kubectl(kubeconfig, *arguments_of(command), cwd=HERE)
            if result.returncode == 0 or not repeats or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        head = ""
        if _NO_HEADERS in command:
            with_head = arguments_of(command.replace(_NO_HEADERS, ""))
            head = kubectl(kubeconfig, *with_head, cwd=HERE).stdout.partition("\n")[0]
        yield Output(command, result.returncode, result.stdout + result.stderr, head)


def arguments_of(command: str) -> list[str]:
    """Return the arguments of a command; braces and brackets need no quotation marks."""
    if "--schedule=" in command:
        head, _, rest = command.partition(" --schedule=")
        schedule, _, tail = rest.partition(" -- ")
        return [*head.split(), f"--schedule={schedule}", "--", *tail.split()]
    if " -p " in command or "{" in command:
        return command.split(" ")
    return shlex.split(command)
