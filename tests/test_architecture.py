"""The structure of the rooms, drawn from the import contracts and measured.

The layers on `docs/explanation/architecture.md` and the picture in README.md are generated from the
contracts in pyproject.toml; ``PODWRIGHT_UPDATE_DOCS=1 make docs`` writes them.
"""

from __future__ import annotations

import ast
import os
import re
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/podwright"
BEGIN, END = "<!-- layers: begin -->", "<!-- layers: end -->"
IO_LINE = "client"
"""The lowest room above the I/O line."""

MUTUAL_TYPES = {
    ("podwright.assembly.trials", "podwright.assembly.scheduler"): (
        "a trial drives the scheduler that makes it"
    ),
    ("podwright.framework.explain", "podwright.framework.run"): (
        "an explanation repeats a cycle of the runner, whose method it is"
    ),
    ("podwright.framework.plugin", "podwright.framework.post_filter"): (
        "PostFilter receives the failed cycle, which has the profile with its plugins"
    ),
}
"""Imports for types only that close a circle, and why each remains."""

LARGEST_SHARE = 0.15
"""The maximum share of one room in the source lines, without tests."""


def layers() -> list[list[str]]:
    """Return the rooms from the top down, those of one layer together."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (rooms,) = [each for each in contracts if each["id"] == "rooms"]
    return [layer.split(" | ") for layer in rooms["layers"]]


def rooms() -> list[str]:
    return [room for layer in layers() for room in layer]


def purpose(room: str) -> str:
    """Return the first sentence of a room's face, without its period."""
    text = ast.get_docstring(ast.parse((SOURCE / room / "__init__.py").read_text("utf-8"))) or ""
    return text.partition("\n")[0].rstrip(".")


def drawing() -> str:
    """Return the layers as text, one line a room."""
    lines = []
    for layer in layers():
        lines += [f"{'│ ' if len(layer) > 1 else '  '}{room:12} {purpose(room)}" for room in layer]
        if IO_LINE in layer:
            lines.append("──────────────── the I/O line ────────────────")
    return "\n".join(lines)


def modules(room: str) -> list[Path]:
    return [path for path in sorted((SOURCE / room).rglob("*.py")) if "tests" not in path.parts]


def imported(path: Path) -> Iterator[str]:
    """Yield the modules of podwright that a module imports, for types only too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        module = node.module or ""
        if not module.startswith("podwright"):
            continue
        for alias in node.names:
            deeper = f"{module}.{alias.name}"
            is_module = (SOURCE.parent / deeper.replace(".", "/")).with_suffix(".py").exists()
            yield deeper if is_module else module


def dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# -------------------------------------------------------------------------- measured


def test_no_room_has_more_than_its_share_of_the_lines() -> None:
    lines = {
        room: sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules(room))
        for room in rooms()
    }
    total = sum(lines.values())
    assert total > 50_000, "the rooms were not found"
    large = {room: n for room, n in lines.items() if n > LARGEST_SHARE * total}
    assert not large, f"of {total}: {large}"


@pytest.mark.parametrize("room", rooms())
def test_modules_of_a_room_import_each_other_in_one_direction(room: str) -> None:
    inside = {dotted(path): path for path in modules(room)}
    assert inside, f"{room} has no module"
    face = f"podwright.{room}"
    graph = {
        name: {each for each in imported(path) if each in inside and each not in (name, face)}
        for name, path in inside.items()
        if name != face
    }
    for name, other in MUTUAL_TYPES:
        if name in inside:
            graph[name].remove(other)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(error.args[1])}")


# ----------------------------------------------------------------------------- drawn


@pytest.mark.parametrize("page", ["docs/explanation/architecture.md"])
def test_the_layers_on_the_page_are_those_of_the_contracts(page: str) -> None:
    path = ROOT / page
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    shown, after = rest.split(END)
    made = f"\n\n```text\n{drawing()}\n```\n\n"
    if os.environ.get("PODWRIGHT_UPDATE_DOCS"):
        path.write_text(f"{before}{BEGIN}{made}{END}{after}", encoding="utf-8")
    else:
        assert shown == made


def test_every_room_has_a_change_that_goes_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("## Where a change goes")[2].partition("\n## ")[0]
    listed = re.findall(r"^\|[^|]*\| `(\w+)` \|", table, re.MULTILINE)
    assert set(listed) == set(rooms())


def test_the_picture_shows_the_rooms_in_the_order_of_the_layers() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    picture = text.partition("## One picture")[2].partition("```text\n")[2].partition("```")[0]
    places = [
        [
            number
            for number, line in enumerate(picture.splitlines())
            if re.match(rf" *{room} ", line)
        ]
        for room in rooms()
    ]
    assert all(len(each) == 1 for each in places), "each room has one line of the picture"
    order = [each[0] for each in places]
    assert order == sorted(order)
