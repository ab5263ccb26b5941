"""Mutants of the page's JavaScript: which small changes do its tests under Node not notice?

    python -m tests.mutants.javascript --mutants 60 --seed 7

The modules are those that need no document. The tests beside the room run on a copy with one
change each. `javascript.toml` declares the changes without an effect, as `equivalent.toml` does.
The exit status is 0 if 95 % of the others are killed.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Final, NamedTuple

from tests.mutants.areas import ROOT
from tests.mutants.equivalent import declared_among, read_equivalents

from podwright.online.ui.bundle import imported

ROOM: Final = ROOT / "src/podwright/online/ui"
DECLARED: Final = Path(__file__).parent / "javascript.toml"
AREA: Final = "javascript"
OF_DOCUMENT: Final = ("parts/dom", "parts/styles", "parts/theme")
KILLED: Final = 0.95
SECONDS: Final = 60

OPERATORS: Final[dict[str, tuple[str, str]]] = {
    "equal": (r" === ", " !== "),
    "different": (r" !== ", " === "),
    "less": (r" < ", " <= "),
    "at most": (r" <= ", " < "),
    "more": (r" > ", " >= "),
    "at least": (r" >= ", " > "),
    "and": (r" && ", " || "),
    "or": (r" \|\| ", " && "),
    "absent": (r" \?\? ", " && "),
    "plus": (r" \+ ", " - "),
    "minus": (r" - ", " + "),
    "times": (r" \* ", " / "),
    "divided": (r" / ", " * "),
    "added": (r" \+= ", " -= "),
    "true": (r"\btrue\b", "false"),
    "false": (r"\bfalse\b", "true"),
    "number": (r"(?<![\w.#$\"'])(\d+)(?=[\s,;)\]n]|$)", "1\\1"),
    "text": (r"\"([\w/. -]+)\"", '"\\1_"'),
    "not": (r"(?<![!=])!(?=[\w(])", ""),
    "condition": (r"\bif \((?!!)", "if (!"),
    "call": (r"\.(?:trim|toLowerCase|sort|toReversed|reverse|flat)\(\)", ""),
    "extreme": (r"\bMath\.max\(", "Math.min("),
    "other extreme": (r"\bMath\.min\(", "Math.max("),
    "rounding": (r"\bMath\.floor\(", "Math.ceil("),
    "any": (r"\.some\(", ".every("),
    "every": (r"\.every\(", ".some("),
    "statement": (r"^(\s+)[\w.#]+\([^;]*\);$", "\\1;"),
    "jump": (r"\bcontinue;", "break;"),
}
"""By name: what is replaced in a line, and by what."""


class Mutant(NamedTuple):
    """A change of one line; the fields are those of the mutants of Python."""

    module: str
    number: int
    text: str
    mutated: str
    line: str
    rank: str
    area: str = AREA

    @property
    def key(self) -> str:
        """The identity of the mutant."""
        return f"{self.module}:{self.number}:{self.mutated}"


def modules() -> list[str]:
    """Return the modules that need no document."""
    names = (
        path.relative_to(ROOM / "pictures").with_suffix("").as_posix()
        for folder in ("data", "parts")
        for path in sorted((ROOM / "pictures" / folder).glob("*.js"))
    )
    return [name for name in names if not set(OF_DOCUMENT) & set(imported(name))]


def possible(module: str, seed: int) -> Iterator[Mutant]:
    """Yield every mutant of a module."""
    path = ROOM / "pictures" / f"{module}.js"
    repeats = Counter[tuple[str, str]]()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        if re.match(r"\s*(//|/?\*|import\b|throw\b)", line):
            continue
        for name, (pattern, replacement) in OPERATORS.items():
            for match in re.finditer(pattern, line):
                changed = line[: match.start()] + match.expand(replacement) + line[match.end() :]
                text = " ".join(line.split())
                repeats[name, text] += 1
                unique = f"{seed}/{module}/{name}/{text}/{repeats[name, text]}"
                rank = hashlib.sha256(unique.encode()).hexdigest()
                mutated = " ".join(changed.split())
                yield Mutant(module, number, text, mutated, changed, rank)


def survives(mutant: Mutant, copies: SimpleQueue[Path]) -> bool:
    """Whether the tests pass on a copy with the change."""
    copy = copies.get()
    path = copy / "pictures" / f"{mutant.module}.js"
    before = path.read_text(encoding="utf-8")
    lines = before.splitlines()
    lines[mutant.number] = mutant.line
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["node", "--test", "tests/javascript/"]
    try:
        done = subprocess.run(command, cwd=copy, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return False
    finally:
        path.write_text(before, encoding="utf-8")
        copies.put(copy)
    return done.returncode == 0


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.javascript")
    parser.add_argument("--mutants", type=int, default=60)
    parser.add_argument("--seed", type=int, default=36)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    every = [mutant for module in modules() for mutant in possible(module, options.seed)]
    declared = declared_among(every, read_equivalents(DECLARED))
    ranked = sorted(every, key=lambda mutant: mutant.rank)
    by_line = {(mutant.module, mutant.number): mutant for mutant in reversed(ranked)}
    drawn = sorted(by_line.values(), key=lambda mutant: mutant.rank)[: options.mutants]
    judged = [mutant for mutant in drawn if mutant.key not in declared]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        copies = SimpleQueue[Path]()
        for number in range(options.jobs):
            copy = Path(folder) / str(number)
            for name in ("pictures", "tests/javascript"):
                shutil.copytree(ROOM / name, copy / name)
            copies.put(copy)
        alive = list(pool.map(lambda mutant: survives(mutant, copies), judged))
    for mutant in (mutant for mutant, lives in zip(judged, alive, strict=True) if lives):
        print(f"{mutant.module}.js:{mutant.number + 1}\n  - {mutant.text}\n  + {mutant.mutated}")
    rate = 1 - sum(alive) / len(judged)
    print(f"{len(drawn)} mutants, {len(drawn) - len(judged)} declared, {rate:.1%} killed")
    return 0 if rate >= KILLED else 1


if __name__ == "__main__":
    sys.exit(main())
