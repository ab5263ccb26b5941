"""The mutated folders and the tests that may kill their mutants: `areas.toml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).parent / "areas.toml"


class Area(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Folders with a common result.

    Parameters
    ----------
    folders : tuple of str
        Their modules are mutated, including folders below and excluding tests; or single modules.
    compiled : bool
        Whether kernels are compiled when the tests run.
    tests : tuple of str
        Tests that may kill a mutant, nearest first; empty for those in the folders.
    proven_elsewhere : bool
        Whether those of the settings may kill them as well.
    """

    folders: tuple[str, ...]
    compiled: bool = True
    tests: tuple[str, ...] = ()
    proven_elsewhere: bool = False


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `areas.toml`, which explains each setting."""

    seed: int
    fewest: int
    most: int
    lines_a_mutant: int
    killed: float
    declared: float
    seconds_of_tests: float
    everywhere: tuple[str, ...]
    early_seconds_of_tests: float
    early_tests: tuple[str, ...]
    tests: tuple[str, ...]
    areas: dict[str, Area]

    def tests_of(self, name: str) -> tuple[str, ...]:
        """Return the tests that may kill a mutant of area `name`, nearest first."""
        area = self.areas[name]
        own = area.tests or area.folders
        return (*own, *self.everywhere, *(self.tests if area.proven_elsewhere else ()))

    def mutants_of(self, name: str) -> int:
        """Return how many mutants of area `name` are drawn."""
        modules = modules_of(self.areas[name]).values()
        lines = sum(path.read_bytes().count(b"\n") for path in modules)
        return min(max(lines // self.lines_a_mutant, self.fewest), self.most)


def read_settings(path: Path = DATA) -> Settings:
    """Read and check `areas.toml`."""
    return msgspec.toml.decode(path.read_bytes(), type=Settings)


def modules_of(area: Area, root: Path = ROOT) -> dict[str, Path]:
    """Return the modules of an area by their name within its folder.

    The names identify mutants instead of whole paths, so a moved folder keeps its mutants.
    """
    found: dict[str, Path] = {}
    for folder in area.folders:
        # A module by itself stands for its folder without the folders below.
        place = root / folder
        for path in sorted(place.rglob("*.py")) if place.is_dir() else (place,):
            name = path.relative_to(place if place.is_dir() else place.parent)
            if "tests" not in name.parts:
                found[found_name(found, name, folder)] = path
    return found


def found_name(found: dict[str, Path], name: Path, folder: str) -> str:
    """Return a name for a module; with its folder where two folders have the same."""
    short = name.as_posix()
    return short if short not in found else f"{Path(folder).name}/{short}"


@cache
def modules_of_tests(paths: tuple[str, ...], root: Path) -> list[str]:
    """Return the test modules at and below `paths`, in that order, without duplicates."""
    found: dict[str, None] = {}
    for path in paths:
        place = root / path
        modules = sorted(place.rglob("test_*.py")) if place.is_dir() else [place]
        found.update({module.relative_to(root).as_posix(): None for module in modules})
    return list(found)
