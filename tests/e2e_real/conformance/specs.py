"""The specs that must pass, by name, and how they are divided among processes of the suite."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from tests.real_parts.binaries import MODULE

REQUIRED: Final = MODULE.parent / "e2e" / "conformance_required.txt"
"""The names that pass on upstream's control plane with nodes that start no container."""

PASSED: Final = MODULE.parent / "e2e" / "conformance_passed.txt"
"""The names that passed here; written by the runner only."""

EXCLUDED: Final = (
    "[sig-api-machinery] API priority and fairness should ensure that requests can be classified"
    " by adding FlowSchema and PriorityLevelConfiguration",
)
"""Required names that do not pass, with reasons in docs/explanation/conformance.md."""

_SLOW_SECONDS: Final = 300.0


def read_names(path: Path = REQUIRED) -> list[str]:
    """Return the names in a file, one a line."""
    return path.read_text(encoding="utf-8").splitlines()


def write_names(path: Path, names: Iterable[str]) -> None:
    """Write names, sorted, one a line."""
    path.write_text("".join(f"{name}\n" for name in sorted(names)), encoding="utf-8")


def is_conformance(name: str) -> bool:
    """Return whether a spec is part of Kubernetes conformance."""
    return "[Conformance]" in name


def is_serial(name: str) -> bool:
    """Return whether a spec requires a cluster without other specs."""
    return "[Serial]" in name


def focus(names: Iterable[str]) -> str:
    """Return the regular expression for `--ginkgo.focus` that matches these specs only."""
    return "|".join(f"{re.escape(name)}$" for name in names)


def batches(
    names: Sequence[str], seconds: Mapping[str, float], *, size: int
) -> list[tuple[str, ...]]:
    """Divide specs among processes, the longest first.

    Parameters
    ----------
    names : sequence of str
    seconds : mapping
        The durations of earlier runs; a spec without one is taken for a short one, or for a long
        one if its name says that it is slow.
    size : int
        The largest number of specs of a process.

    Returns
    -------
    list of tuple of str
        Specs of similar length are together, so that a long one delays few others.
    """

    def expected(name: str) -> float:
        return seconds.get(name, _SLOW_SECONDS if "[Slow]" in name else 0.0)

    long = sorted((each for each in names if expected(each) >= 60), key=expected, reverse=True)
    short = sorted(each for each in names if expected(each) < 60)
    found: list[tuple[str, ...]] = [(name,) for name in long]
    found += [tuple(short[start : start + size]) for start in range(0, len(short), size)]
    return found


def count_by_area(names: Iterable[str]) -> dict[str, int]:
    """Return the number of specs per special interest group."""
    areas = sorted(re.findall(r"^\[([a-z-]+)\]", name)[0] for name in names)
    return {area: len(list(group)) for area, group in groupby(areas)}
