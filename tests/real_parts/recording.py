"""What programs of upstream's code answer to drawn cases, for records that tests read."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

PARALLEL = 4
MODULE = Path(__file__).parent
RUNS = 40
"""An answer that upstream gives in two of three runs would pass six of them in one case of ten."""


def stable_answers(package: str, lines: Iterable[Any]) -> list[str | None]:
    """Return the lines that the program of a package writes for lines of JSON.

    None stands for an answer that differs between runs: Go's maps have a random order.
    The first argument of this process, if there is one, is the built program.
    """
    program = sys.argv[1] if len(sys.argv) > 1 else None
    counts = answer_counts(package, lines, program=program)
    return [next(iter(each)) if len(each) == 1 else None for each in counts]


def answer_counts(
    package: str,
    lines: Iterable[Any],
    normal: Callable[[str], str] = str,
    program: str | None = None,
) -> list[Counter[str]]:
    """Return the normal forms of the answers to each line, with the number of runs that gave them.

    The package is built unless there is a built program.
    """
    # As an API server does, without spaces: some upstream code compares bytes.
    text = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in lines)
    with tempfile.TemporaryDirectory() as folder:
        if program is None:
            program = f"{folder}/{package}"
            subprocess.run(["go", "build", "-o", program, f"./{package}"], cwd=MODULE, check=True)
        with ThreadPoolExecutor(PARALLEL) as pool:
            answers = list(pool.map(lambda _: _answers(program, text, normal), range(RUNS)))
    return [Counter(each) for each in zip(*answers, strict=True)]


def _answers(program: str, text: str, normal: Callable[[str], str]) -> list[str]:
    done = subprocess.run([program], input=text, stdout=subprocess.PIPE, text=True, check=True)
    return [normal(line) for line in done.stdout.splitlines()]


def read_record(path: Path) -> list[Any]:
    """Return the cases of a compressed record."""
    return msgspec.json.Decoder().decode_lines(gzip.decompress(path.read_bytes()))


def write_record(path: Path, cases: Iterable[Any]) -> None:
    """Write a compressed record with one case on each line."""
    text = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
