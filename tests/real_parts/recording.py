"""What programs of upstream's code answer to drawn cases, for records that tests read."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

MODULE = Path(__file__).parent
RUNS = 40
"""An answer that upstream gives in two of three runs would pass six of them in one case of ten."""


def stable_answers(
    package: str, lines: Iterable[Any], normal: Callable[[str], str] = str
) -> list[str | None]:
    """Return the lines that the program of a package writes for lines of JSON.

    None stands for an answer whose normal form differs between runs: Go's maps have a random order.
    The first argument of this process, if there is one, is the built program.
    """
    # As an API server does, without spaces: some upstream code compares bytes.
    text = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in lines)
    with tempfile.TemporaryDirectory() as folder:
        program = sys.argv[1] if len(sys.argv) > 1 else f"{folder}/{package}"
        if len(sys.argv) == 1:
            subprocess.run(["go", "build", "-o", program, f"./{package}"], cwd=MODULE, check=True)
        answers = [
            [
                normal(line)
                for line in subprocess.run(
                    [program], input=text, stdout=subprocess.PIPE, text=True, check=True
                ).stdout.splitlines()
            ]
            for _ in range(RUNS)
        ]
    return [
        first if all(other == first for other in others) else None
        for first, *others in zip(*answers, strict=True)
    ]


def write_record(path: Path, cases: Iterable[Any]) -> None:
    """Write a compressed record with one case on each line."""
    text = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
