"""The folder `cases`: a command and its files, with the exact output and the exit status.

A case is a text file: a comment, the command, and sections for the files, the output and the exit
status. `python -m tests.e2e.test_cases` writes the output of all cases anew; the difference is to
be read before it is committed.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from podwright.cli import app

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))
SECTION = re.compile(r"^-- (.+) --\n", re.MULTILINE)
OUTPUT = ("stdout", "stderr", "exit status")


class Case(msgspec.Struct, kw_only=True):
    """A case; the output is empty where the file has no section of it."""

    head: str
    command: str
    files: dict[str, str]
    output: dict[str, str]

    def text(self) -> str:
        """Return the content of the file."""
        sections = self.files | {name: text for name, text in self.output.items() if text}
        return self.head + "".join(f"-- {name} --\n{text}" for name, text in sections.items())


def read(path: Path) -> Case:
    head, *rest = SECTION.split(path.read_text(encoding="utf-8"))
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    command = next(line for line in head.splitlines() if line.startswith("$ "))
    return Case(
        head=head,
        command=command.removeprefix("$ podwright "),
        files={name: text for name, text in sections.items() if name not in OUTPUT},
        output={name: sections.get(name, "") for name in OUTPUT},
    )


def run(case: Case, folder: Path) -> dict[str, str]:
    """Run the command of a case in a folder with its files."""
    for name, text in case.files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    here = Path.cwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(app, shlex.split(case.command), prog_name="podwright")
    finally:
        os.chdir(here)
    # The first use of a kernel on a machine is announced.
    notes = result.stderr.splitlines(keepends=True)
    return {
        "stdout": result.stdout,
        "stderr": "".join(note for note in notes if not note.startswith("compiling kernels")),
        "exit status": f"{result.exit_code}\n",
    }


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path, tmp_path: Path) -> None:
    case = read(path)
    assert run(case, tmp_path) == case.output


def test_there_are_at_least_forty_cases() -> None:
    assert len(CASES) >= 40


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    for path in CASES:
        case = read(path)
        with TemporaryDirectory() as folder:
            case.output = run(case, Path(folder))
        path.write_text(case.text(), encoding="utf-8")
