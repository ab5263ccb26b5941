"""The faces of rooms, whose names are imported on first use."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

from podwright._faces import modules_of

ROOT = Path(__file__).parents[2]
FACES = {
    ".".join(path.relative_to(ROOT).parent.parts): path
    for path in sorted((ROOT / "podwright").rglob("__init__.py"))
    if "names_on_first_use(" in path.read_text(encoding="utf-8")
}


def listed(path: Path) -> dict[str, str]:
    """Return the names that type checkers see, with their modules."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


@pytest.mark.parametrize("face", FACES)
def test_a_face_has_the_names_that_type_checkers_see(face: str):
    path = FACES[face]
    module = import_module(face)
    assert modules_of(face) == listed(path)
    for name, home in listed(path).items():
        if home == face:  # a room of a floor, or a module
            assert getattr(module, name) is import_module(f"{face}.{name}")
            continue
        assert getattr(module, name) is getattr(import_module(home), name)
        # Its import would take the place of the name.
        assert not (path.parent / f"{name}.py").exists(), f"{face}.{name}"
        assert not (path.parent / name).is_dir() or face == "podwright", f"{face}.{name}"


def test_a_name_that_a_face_does_not_have_is_an_error():
    module = import_module("podwright.scheduler.advice")
    with pytest.raises(AttributeError) as unknown:
        _ = module.fix
    assert str(unknown.value) == "module 'podwright.scheduler.advice' has no attribute 'fix'"


def test_a_face_lists_its_names_and_what_else_it_has():
    module = import_module("podwright.scheduler.advice")
    names = dir(module)
    assert names == sorted(names)
    assert {"__file__", "find_advice", *modules_of("podwright.scheduler.advice")} <= set(names)


def test_a_name_is_kept_after_its_first_use():
    module = import_module("podwright.scheduler.advice")
    found = module.find_advice
    assert vars(module)["find_advice"] is found
