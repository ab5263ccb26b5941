"""The examples of the documentation run as they are shown.

In a `console` block every ``$ podwright`` line is run and must print the lines below it. A line
``...`` stands for any lines, ``...`` within a line for any text. ``$ echo $?`` prints the exit
status, and a status other than 0 must be shown. "Save this as `file`:" before a block creates that
file for the commands of the page. Sybil runs the Python blocks (`conftest.py`).
``PODWRIGHT_UPDATE_DOCS=1 make docs`` writes the actual output into the pages, to be reviewed as a
diff.
"""

from __future__ import annotations

import ast
import difflib
import os
import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from podwright.cli import app
from podwright.cluster.controllers.batch.job import JobController
from podwright.cluster.controllers.interface import Controller

ROOT = Path(__file__).parents[1]
IS_UPDATE = bool(os.environ.get("PODWRIGHT_UPDATE_DOCS"))
HOW_TO_UPDATE = "PODWRIGHT_UPDATE_DOCS=1 make docs writes what is true now into the pages"

PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        *(ROOT / "docs").rglob("*.md"),
    )
)
RUN_ELSEWHERE = {
    "docs/howto/configure-over-http.md": "tests/e2e/test_explain_over_http.py",
    "docs/howto/explain-over-http.md": "tests/e2e/test_explain_over_http.py",
    "docs/howto/run-a-cluster.md": "tests/e2e_real/test_page.py",
    "docs/reference/cli.md": "tests/e2e/test_cli.py",
    "docs/tutorial/debug-a-plugin.md": "tests/e2e/test_debug_tutorial.py",
}
"""Pages whose commands another test runs, which checks their exit status."""

CLUSTER_PAGES = ("docs/howto/run-a-cluster.md", "docs/explanation/gangs.md", "README.md")
CLUSTER_START = "$ podwright up "
"""Begins the commands of these pages that `tests/e2e_real/test_page.py` runs, with kubectl."""

SHELL_BLOCKS = {
    "docs/howto/follow-a-real-cluster.md": "tests/e2e/test_shell_blocks.py",
    "docs/howto/load-a-cluster.md": "tests/e2e_real/test_dumped_cluster.py",
    "docs/howto/read-a-real-cluster.md": "tests/e2e/test_shell_blocks.py",
    "docs/howto/run-a-cluster.md": "tests/ui/test_page_process.py",
    "docs/howto/schedule-a-real-cluster.md": "tests/e2e/test_shell_blocks.py",
    "docs/tutorial/follow-a-cluster.md": "tests/e2e/test_up_sync.py",
    "docs/tutorial/page.md": "tests/ui/test_page_tutorial.py",
}
"""Pages with commands of podwright in blocks of `sh`, and who runs these: they need a cluster."""

FENCE = re.compile(r"^```(?P<language>[\w-]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SAVE_AS = re.compile(r"[Ss]ave\s+this\s+as\s+`(?P<name>[\w./-]+)`:\n\n\Z")
ANY_LINES = "..."
COMPILING = re.compile(r"^compiling kernels, .*\n", re.MULTILINE)
"""Printed on stderr once per machine, and not part of the output on a page."""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder with the structure of the repository, where pages may save files."""
    for entry in ROOT.iterdir():
        if not entry.name.startswith("."):
            (tmp_path / entry.name).symlink_to(entry)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return tmp_path


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


# ---------------------------------------------------------------- commands


class Shell:
    """Runs the commands of the pages: podwright in this process, and ``echo $?``."""

    def __init__(self) -> None:
        self.status = 0
        self.is_status_told = True

    def run(self, line: str) -> str:
        """Return the output on a terminal."""
        if line == "echo $?":
            self.is_status_told = True
            return f"{self.status}\n"
        words = shlex.split(line)
        assert words[0] == "podwright", f"only podwright and `echo $?` are run: $ {line}"
        text = None
        if "<" in words:
            place = words.index("<")
            text = Path(words[place + 1]).read_text(encoding="utf-8")
            del words[place : place + 2]
        result = CliRunner().invoke(app, words[1:], input=text, prog_name="podwright")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        self.status = result.exit_code
        self.is_status_told = self.status == 0
        return COMPILING.sub("", result.output)


def commands_in(block: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command of a console block as written, and the lines of its output."""
    command, shown = "", list[str]()
    for line in block.splitlines():
        if command.endswith("\\"):
            command += f"\n{line}"
        elif line.startswith("$ "):
            if command:
                yield command, shown
            command, shown = line, []
        else:
            assert command, f"a console block begins with a command, not with: {line}"
            shown.append(line)
    yield command, shown


def is_as_shown(shown: list[str], printed: list[str]) -> bool:
    pattern = ""
    for line in shown:
        if line.strip() == ANY_LINES:
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += re.escape(line).replace(re.escape(ANY_LINES), r"[^\n]*") + r"\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def updated(shown: list[str], printed: list[str]) -> list[str]:
    """Return the new output, with the same parts omitted as far as they are found."""
    if is_as_shown(shown, printed):
        return shown
    if ANY_LINES not in map(str.strip, shown):
        return printed
    parts: list[list[str]] = [[]]
    for line in shown:
        if line.strip() == ANY_LINES:
            parts.append([])
        else:
            parts[-1].append(line)
    result: list[str] = []
    start = 0
    for number, part in enumerate(parts):
        if number == len(parts) - 1:
            start = max(start, len(printed) - len(part)) if part else start
        elif number and part:
            near = difflib.get_close_matches(part[0], printed[start:], n=1, cutoff=0.0)
            start = printed.index(near[0], start) if near else start
        new = printed[start : start + len(part)]
        result += new if number == 0 else [ANY_LINES, *new]
        start += len(part)
    return result


@pytest.mark.parametrize(
    ("shown", "printed", "fits"),
    [
        pytest.param("a\nb", "a\nb", True, id="the same"),
        pytest.param("a\nb", "a\nc", False, id="another line"),
        pytest.param("a", "a\nb", False, id="a line too many"),
        pytest.param("a\n...\nd", "a\nb\nc\nd", True, id="lines left out"),
        pytest.param("a\n...\nb", "a\nb", True, id="no line left out"),
        pytest.param("a\n...\nd", "a\nb\nc", False, id="the last line is missing"),
        pytest.param("0/2: ...", "0/2: 2 Insufficient cpu.", True, id="text left out"),
        pytest.param("0/2: ...\nb", "0/2: 1\n2\nb", False, id="text left out is in one line"),
        pytest.param("a.b", "axb", False, id="a dot is a dot"),
        pytest.param("", "a", False, id="nothing shown"),
    ],
)
def test_what_is_shown_is_compared_with_what_is_printed(shown, printed, fits):
    assert is_as_shown(shown.splitlines(), printed.splitlines()) == fits


@pytest.mark.parametrize(
    ("shown", "printed", "instead"),
    [
        pytest.param("a\n...\nd", "a\nb\nd", "a\n...\nd", id="what fits stays"),
        pytest.param("a", "b\nc", "b\nc", id="all of it where nothing was left out"),
        pytest.param("a\n...\nd", "x\nb\nc\ny", "x\n...\ny", id="as many lines as before"),
        pytest.param("a\n...\nrow 1\n...", "a\nb\nrow 2\nc", "a\n...\nrow 2\n...", id="the like"),
    ],
)
def test_an_update_leaves_out_what_was_left_out(shown, printed, instead):
    assert updated(shown.splitlines(), printed.splitlines()) == instead.splitlines()


def pages_with_commands() -> list[str]:
    return [page for page in PAGES if page not in RUN_ELSEWHERE and "```console" in read(page)]


@pytest.mark.parametrize("page", pages_with_commands())
def test_the_commands_print_what_is_shown(page, checkout):
    text = read(page)
    shell = Shell()
    wrong: list[str] = []
    rewritten, end = "", 0
    for fence in FENCE.finditer(text):
        if saved := SAVE_AS.search(text[: fence.start()]):
            file = checkout / saved["name"]
            file.parent.mkdir(exist_ok=True)
            file.write_text(fence["text"], encoding="utf-8")
        if fence["language"] != "console":
            continue
        if page in CLUSTER_PAGES and fence["text"].startswith((CLUSTER_START, "$ kubectl ")):
            continue
        block = ""
        line_number = text.count("\n", 0, fence.start()) + 1
        for command, shown in commands_in(fence["text"]):
            assert shell.is_status_told or command == "$ echo $?", (
                f"{page}:{line_number}: show `$ echo $?`: the exit status is {shell.status}"
            )
            printed = [
                line.rstrip()
                for line in shell.run(command.removeprefix("$ ").replace("\\\n", " ")).splitlines()
            ]
            if not is_as_shown(shown, printed):
                differences = difflib.unified_diff(shown, printed, "shown", "printed", lineterm="")
                wrong.append("\n".join([f"{page}:{line_number}: {command}", *differences]))
            block += "".join(f"{line}\n" for line in [command, *updated(shown, printed)])
        assert shell.is_status_told, f"{page}: show `$ echo $?`: the status is {shell.status}"
        rewritten += text[end : fence.start("text")] + block
        end = fence.end("text")
    if IS_UPDATE:
        if wrong:
            (ROOT / page).write_text(rewritten + text[end:], encoding="utf-8")
    else:
        assert not wrong, "\n\n".join([*wrong, HOW_TO_UPDATE])


@pytest.mark.parametrize("page", [page for page in PAGES if page not in RUN_ELSEWHERE])
def test_every_command_is_in_a_block_that_is_run(page):
    outside = FENCE.sub(lambda f: "" if f["language"] == "console" else f["text"], read(page))
    loose = re.findall(r"^[ \t]*\$ podwright.*", outside, re.MULTILINE)
    assert not loose, "commands belong into ```console blocks, where they are run"


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_blocks_of_sh_are_run_elsewhere(page):
    fences = [fence["text"] for fence in FENCE.finditer(read(page)) if fence["language"] == "sh"]
    own = re.compile(r"^(?:.*\| )?(?:kubectl )?podwright ", re.MULTILINE)
    are_there = any(map(own.search, fences))
    assert are_there == (page in SHELL_BLOCKS), f"{page}: use ```console, or run them elsewhere"


def test_the_numbers_of_specs_are_those_of_the_lists():
    def listed(name):
        return (ROOT / "tests" / "e2e" / name).read_text().splitlines()

    required, passed = listed("conformance_required.txt"), listed("conformance_passed.txt")
    own = [each for each in required if "[Conformance]" in each]
    serial = sum("[Serial]" in each for each in own)
    assert set(own) <= set(passed) <= set(required)
    assert f"The {len(passed)} specs of upstream's end-to-end suite" in read("README.md")
    page = " ".join(read("docs/explanation/conformance.md").split())
    assert (
        f"{len(own)} conformance specs pass, {serial} of them alone on the cluster (`[Serial]`), "
        f"and {len(required) - len(own)} others"
    ) in page
    assert f"all {len(own)} conformance specs, and {len(passed) - len(own)} others" in page
    beyond = listed("conformance_beyond.txt")
    assert f"are {len(beyond)} more specs that passed once" in page
    assert set(beyond).isdisjoint(required)


def test_the_numbers_of_controllers_are_those_of_the_code():
    def seconds(text: str, name: str = "") -> int:
        module, _, constant = text.rpartition(".")
        value: int = getattr(import_module(f"podwright.cluster.controllers.{module}"), constant)
        assert value % 1_000_000_000 == 0, name
        return value // 1_000_000_000

    def number(text: str) -> str:
        module, _, constant = text.rpartition(".")
        return f"{getattr(import_module(f'podwright.cluster.controllers.{module}'), constant):,}"

    lifecycle = "nodes.node_lifecycle"
    first_ns, longest_ns = Controller.retry_delays_ns
    seconds_of_jobs = "{} s to {} s".format(
        *(delay_ns // 1_000_000_000 for delay_ns in JobController.retry_delays_ns)
    )
    page = " ".join(read("docs/explanation/controllers.md").split())
    for sentence in (
        f"creates or deletes at most {number('apps.replica_set.BURST')} pods",
        f"creates or deletes at most {number('apps.daemon_set.BURST')} pods",
        f"then two, up to {seconds('apps.daemon_set._BACKOFF_MAX_NS') // 60} minutes",
        f"new pods wait {seconds('batch.job_counts._BACK_OFF_NS')} s; the delay doubles each time, "
        f"up to {seconds('batch.job_counts._BACK_OFF_MAX_NS') // 60} minutes",
        f"After {seconds(f'{lifecycle}.GRACE_NS')} s the node's conditions are Unknown",
        f"when {number(f'{lifecycle}.UNHEALTHY_PERCENT')} % of the zone",
        f"if the zone has more than {number(f'{lifecycle}.LARGE_ZONE_NODES')} nodes",
        f"removed {seconds('core.pod_gc.QUARANTINE_NS')} s later",
        f"reconciled every {seconds('autoscaling.horizontal_autoscaler._PERIOD_NS')} s",
        f"counts more than {number('core.resource_quota._MANY')} objects",
        f"at most {number('network.endpoint_slices.ENDPOINTS_MAX')} endpoints in a slice "
        f"and {number('network.endpoints.ADDRESSES_MAX')} in Endpoints",
        f"more than {number('network.endpoint_parts._LARGE')} pods is synced",
        f"after {first_ns // 1_000_000} ms, then with twice the delay each time, up to"
        f" {longest_ns // 1_000_000_000:,} s (for Jobs from {seconds_of_jobs})",
    ):
        assert sentence in page, sentence


# ---------------------------------------------------------------- links and names

LINK = re.compile(r"\[[^\]\n]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
PATH = re.compile(r"(?:src|tests|docs|examples|tools|changes)/[\w./*-]*")
SIGNATURE = re.compile(r"(?P<name>podwright(?:\.\w+)+)(?P<signature>\(.*\) -> .+)")
NAME = re.compile(r"podwright(?:\.\w+)+")


def anchors(page: Path) -> set[str]:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in HEADING.findall(text)
    }


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page):
    for target in LINK.findall(FENCE.sub("", read(page))):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.exists(), f"{page}: {target} does not exist"
        assert not anchor or anchor in anchors(file), f"{page}: {target}: no such heading"


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_is_named_exists(page):
    for code in CODE.findall(FENCE.sub("", read(page))):
        if PATH.fullmatch(code):
            assert any(ROOT.glob(code.rstrip("/"))), f"{page}: {code} does not exist"


@pytest.mark.parametrize("page", PAGES)
def test_every_name_that_is_mentioned_exists(page):
    for code in CODE.findall(FENCE.sub("", read(page))):
        if NAME.fullmatch(code):
            assert named(code) is not None, f"{page}: {code}"


@pytest.mark.parametrize("page", PAGES)
def test_every_signature_is_that_of_the_code(page):
    text = read(page)
    for code in CODE.findall(FENCE.sub("", text)):
        match = SIGNATURE.fullmatch(code)
        if match is None:
            continue
        true = f"{match['name']}{signature_of(match['name'])}"
        if IS_UPDATE:
            text = text.replace(f"`{code}`", f"`{true}`")
        else:
            assert code == true, f"{page}: {HOW_TO_UPDATE}"
    if IS_UPDATE and text != read(page):
        (ROOT / page).write_text(text, encoding="utf-8")


def named(name: str) -> Any:
    """Return the object with a dotted name; AttributeError if there is none."""
    parts = name.split(".")
    found: Any = import_module(parts[0])
    for depth, part in enumerate(parts[1:], start=2):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = import_module(".".join(parts[:depth]))
    return found


def signature_of(name: str) -> str:
    """Return the signature as written in the source, without `self`."""
    found = named(name)
    module = found.__module__
    node: Any = ast.parse(Path(str(import_module(module).__file__)).read_text(encoding="utf-8"))
    for part in found.__qualname__.split("."):
        (node,) = (child for child in node.body if getattr(child, "name", "") == part)
    assert isinstance(node, ast.FunctionDef), f"{name} is not a function"
    if node.args.args and node.args.args[0].arg in ("self", "cls"):
        del node.args.args[0]
    assert node.returns is not None, f"{name} does not say what it returns"
    return f"({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}"


def test_every_page_is_on_the_map():
    listed = {
        str(((ROOT / "docs") / target.partition("#")[0]).resolve().relative_to(ROOT))
        for target in LINK.findall(read("docs/index.md"))
        if "://" not in target
    }
    pages = {page for page in PAGES if page.startswith("docs/")} - {"docs/index.md"}
    missing = {page for page in pages if not page.startswith("docs/decisions/")} - listed
    assert not missing, "add them to docs/index.md"
