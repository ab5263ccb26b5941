"""The folder `cases`: commands and their files, with the exact output and the exit status.

A case is a text file: a comment, the command, and sections for the files, the output and the exit
status. Further commands with their comments may follow, in the same folder. A section `-- stdin --`
is the input of its command, and `-- written NAME --` a file that the command writes. In the output
`FOLDER` stands for the folder of the case, which has the project's examples where a command names
them. `python -m podwright.cli.tests.test_cases [CASE ...]`
writes the output of cases anew; the difference is to be read before it is committed.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from podwright.cli import app

EXAMPLES = Path(__file__).parents[4] / "examples"
CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))
STEP = re.compile(r"^(?=(?:# .*\n)+\$ podwright )", re.MULTILINE)
SECTION = re.compile(r"^-- (.+) --\n", re.MULTILINE)
OUTPUT = ("stdout", "stderr", "exit status")
WRITTEN = "written "


class Step(msgspec.Struct, kw_only=True):
    """A command of a case; the output is empty where the file has no section of it."""

    head: str
    command: str
    files: dict[str, str]
    output: dict[str, str]

    def text(self) -> str:
        """Return the content of the file."""
        sections = self.files | {name: text for name, text in self.output.items() if text}
        return self.head + "".join(f"-- {name} --\n{text}" for name, text in sections.items())


def read(path: Path) -> list[Step]:
    text = path.read_text(encoding="utf-8")
    starts = [0, *(found.start() for found in STEP.finditer(text) if _is_first(text, found))]
    parts = [text[i:j] for i, j in zip(starts, [*starts[1:], None], strict=True)]
    return [_step(part) for part in parts if part]


def _is_first(text: str, found: re.Match[str]) -> bool:
    """Whether the line is the first of its comment, and not of the file."""
    before = text[: found.start()].rpartition("\n")[0].rpartition("\n")[2]
    return found.start() > 0 and not before.startswith("# ")


def _step(text: str) -> Step:
    head, *rest = SECTION.split(text)
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    command = next(line for line in head.splitlines() if line.startswith("$ "))
    written = [name for name in sections if name.startswith(WRITTEN)]
    return Step(
        head=head,
        command=command.removeprefix("$ podwright "),
        files={n: each for n, each in sections.items() if n not in OUTPUT and n not in written},
        output={name: sections.get(name, "") for name in (*OUTPUT, *written)},
    )


def run(step: Step, folder: Path) -> dict[str, str]:
    """Run a command in a folder with its files."""
    for name, text in step.files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    if "examples/" in step.command and not (folder / "examples").exists():
        (folder / "examples").symlink_to(EXAMPLES)
    here = Path.cwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(
            app, shlex.split(step.command), input=step.files.get("stdin"), prog_name="podwright"
        )
    finally:
        os.chdir(here)
    # The first use of a kernel on a machine is announced.
    notes = result.stderr.splitlines(keepends=True)
    files = {name: folder / name.removeprefix(WRITTEN) for name in step.output}
    written = {name: file.read_text("utf-8") for name, file in files.items() if file.exists()}
    return {
        "stdout": result.stdout.replace(str(folder), "FOLDER"),
        "stderr": "".join(
            note.replace(str(folder), "FOLDER")
            for note in notes
            if not note.startswith("compiling kernels")
        ),
        "exit status": f"{result.exit_code}\n",
    } | written


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    for step in read(path):
        assert run(step, tmp_path) == step.output, step.command


def test_there_are_at_least_forty_cases() -> None:
    assert len(CASES) >= 40


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    for path in CASES:
        if sys.argv[1:] and path.stem not in sys.argv[1:]:
            continue
        steps = read(path)
        with TemporaryDirectory() as folder:
            for each in steps:
                each.output = run(each, Path(folder))
        path.write_text("".join(each.text() for each in steps), encoding="utf-8")
