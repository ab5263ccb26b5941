"""The code of each floor is as large as `floor_sizes.toml` says: growth is seen in a review.

A line of code is neither blank, nor only a comment, nor part of a docstring. After a change, write
the new numbers with `PODWRIGHT_UPDATE_DOCS=1 make test ARGS=tests/test_floor_sizes.py`.
"""

from __future__ import annotations

import ast
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "podwright"
SIZES = Path(__file__).with_name("floor_sizes.toml")
HUNDRED = 100


def bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the bodies that may begin with a docstring; expressions, most nodes, have none."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    if isinstance(node, kinds) and node.body:
        yield node.body
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for below in getattr(node, part, ()):
            yield from bodies(below)


def lines_of_code(path: Path) -> int:
    text = path.read_text(encoding="utf-8")
    docstrings: set[int] = set()
    for body in bodies(ast.parse(text)):
        first = body[0]
        if (
            isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        ):
            docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return sum(
        number not in docstrings and bool(line.strip()) and not line.lstrip().startswith("#")
        for number, line in enumerate(text.splitlines(), 1)
    )


def size(floor: Path) -> int:
    """Return the lines of code of a floor, rounded to hundreds."""
    paths = [path for path in floor.rglob("*.py") if "tests" not in path.parts]
    assert paths, f"{floor} has no module"
    return round(sum(map(lines_of_code, paths)) / HUNDRED) * HUNDRED


def test_the_code_of_each_floor_has_the_recorded_size() -> None:
    folders = sorted(path.parent for path in SOURCE.glob("*/__init__.py"))
    floors = [folder for folder in folders if folder.name != "tests"]
    found = {floor.name: size(floor) for floor in floors}
    if os.environ.get("PODWRIGHT_UPDATE_DOCS"):
        SIZES.write_text(
            "# Lines of code of each floor, in hundreds; see test_floor_sizes.py.\n"
            + "".join(f"{name} = {lines}\n" for name, lines in found.items())
        )
    assert found == tomllib.loads(SIZES.read_text(encoding="utf-8"))
