"""The structure of the rooms, drawn from the import contracts and measured.

The layers on `docs/explanation/architecture.md` and the picture in README.md are generated from the
contracts in pyproject.toml; ``PODWRIGHT_UPDATE_DOCS=1 make docs`` writes them.
"""

from __future__ import annotations

import ast
import os
import re
import tomllib
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from grimp import ImportGraph, build_graph

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/podwright"
BEGIN, END = "<!-- layers: begin -->", "<!-- layers: end -->"
LOWEST_ABOVE = "online"
"""The lowest floor above the I/O line."""

LARGEST_SHARE = 0.15
"""The maximum share of one room in the source lines, without tests."""


@cache
def contracts() -> dict[str, list[list[str]]]:
    """Return the layers of each contract that has some, from the top down."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {
        each["id"]: [layer.split(" | ") for layer in each["layers"]]
        for each in settings["tool"]["importlinter"]["contracts"]
        if each["type"] == "layers"
    }


def floors() -> list[str]:
    return [floor for layer in contracts()["floors"] for floor in layer]


def layers(floor: str) -> list[list[str]]:
    """Return the rooms of a floor as paths, those of one layer together; `cli` is one itself."""
    found = contracts().get(floor)
    if found is None:
        return [[floor]]
    return [[f"{floor}/{room}" for room in layer] for layer in found]


def rooms() -> list[str]:
    return [room for floor in floors() for layer in layers(floor) for room in layer]


def names() -> list[str]:
    return [room.rpartition("/")[2] for room in rooms()]


def purpose(room: str) -> str:
    """Return the first sentence of a room's face, without its period."""
    text = ast.get_docstring(ast.parse((SOURCE / room / "__init__.py").read_text("utf-8"))) or ""
    return text.partition("\n")[0].rstrip(".")


def drawing() -> str:
    """Return the layers as text, one line a room."""
    lines = []
    for floor in floors():
        lines += ["", f"{floor:14} {purpose(floor)}"]
        for layer in layers(floor) if floor in contracts() else ():
            mark = "│" if len(layer) > 1 else " "
            lines += [f" {mark} {room.rpartition('/')[2]:11} {purpose(room)}" for room in layer]
        if floor == LOWEST_ABOVE:
            lines += ["", "──────────────── the I/O line ────────────────"]
    return "\n".join(lines[1:])


def modules(room: str) -> list[Path]:
    return [path for path in sorted((SOURCE / room).rglob("*.py")) if "tests" not in path.parts]


@cache
def imports() -> ImportGraph:
    """Return which module imports which, for types only too."""
    return build_graph("podwright", cache_dir=None)


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
    face = f"podwright.{room.replace('/', '.')}"
    inside = {dotted(path) for path in modules(room)} - {face}
    assert inside, f"{room} has no module"
    graph = {name: imports().find_modules_directly_imported_by(name) & inside for name in inside}
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
    assert set(listed) == set(names())


def test_the_picture_shows_the_rooms_in_the_order_of_the_layers() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    picture = text.partition("## One picture")[2].partition("```text\n")[2].partition("```")[0]
    places = [
        [
            number
            for number, line in enumerate(picture.splitlines())
            if re.match(rf" *{room} ", line)
        ]
        for room in names()
    ]
    assert all(len(each) == 1 for each in places), "each room has one line of the picture"
    order = [each[0] for each in places]
    assert order == sorted(order)


def test_the_paths_on_the_page_exist() -> None:
    page = (ROOT / "docs/explanation/architecture.md").read_text(encoding="utf-8")
    paths = re.findall(r"`([a-z_/]+(?:\.py|/))`", page)
    assert len(paths) > 15
    places = (SOURCE, SOURCE / "cluster/api/endpoints", ROOT)
    missing = [path for path in paths if not any((place / path).exists() for place in places)]
    assert not missing


def test_the_index_lists_each_decision() -> None:
    folder = ROOT / "docs/decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(\d+)\]\(([^)]+)\) \| (.+) \|$", index, re.MULTILINE)
    found = []
    for path in sorted(folder.glob("0*.md")):
        number, _, title = path.read_text(encoding="utf-8").partition("\n")[0].partition(". ")
        found.append((number.removeprefix("# "), path.name, title))
    assert listed == found
    assert [int(number) for number, _, _ in found] == list(range(1, len(found) + 1))
