"""Decisions on threads equal those in a loop, also without the global interpreter lock."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from podwright.scheduler.classic import Preemption, Victims
from podwright.scheduler.classic.tests.threads_and_loop import both_ways, seen

SOURCE = Path(__file__).parents[4]
FREE_THREADED = ("python3.14t", "python3.13t")
_NOT_INSTALLED = 77


def test_a_pool_and_a_loop_have_equal_results() -> None:
    loop, pool = both_ways(workers=8, rounds=10)
    assert len(loop) == len(pool) == 10
    for (one, one_found), (other, other_found) in zip(loop, pool, strict=True):
        assert seen(one) == seen(other)
        assert victims(one_found) == victims(other_found)


def victims(found: Preemption | None) -> dict[str, Victims]:
    return {} if found is None else found.candidates


@pytest.mark.slow
@pytest.mark.parametrize("name", FREE_THREADED)
def test_they_agree_without_the_global_lock(name: str) -> None:
    python = shutil.which(name)
    if python is None:
        pytest.skip(f"there is no {name}")
    script = (
        "import sys\n"
        "assert not sys._is_gil_enabled(), 'this Python has the global lock'\n"
        "try:\n"
        "    import msgspec, numpy\n"
        f"except ImportError:\n    sys.exit({_NOT_INSTALLED})\n"
        "from podwright.scheduler.classic.tests.threads_and_loop import both_ways, seen\n"
        "loop, pool = both_ways(workers=8, rounds=50)\n"
        "assert [seen(one) for one, _ in loop] == [seen(one) for one, _ in pool]\n"
    )
    result = subprocess.run(
        [python, "-X", "gil=0", "-c", script],
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode == _NOT_INSTALLED:
        pytest.skip(f"{name} has no msgspec or no numpy")
    assert result.returncode == 0, result.stderr
