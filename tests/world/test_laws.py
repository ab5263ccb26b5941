"""Clusters keep all laws under random faults, also when they are saved and restored."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest
from tests.world.trial import Trial


def seeds() -> list[int]:
    """Return the seeds in `PODWRIGHT_SEEDS`; by default the first six."""
    chosen: list[int] = []
    for part in os.environ.get("PODWRIGHT_SEEDS", "0-5").split(","):
        first, _, last = part.partition("-")
        chosen.extend(range(int(first), int(last or first) + 1))
    return chosen


def reproduction(seed: int) -> str:
    """Return the command that reproduces a seed."""
    return f"PODWRIGHT_SEEDS={seed} python -m pytest tests/world"


@pytest.mark.world
@pytest.mark.parametrize("seed", seeds())
def test_a_cluster_keeps_all_laws_and_a_restored_one_is_equal(seed: int, tmp_path: Path) -> None:
    whole = Trial(seed).run()
    report = "\n".join((reproduction(seed), *whole.story, *whole.violations))
    assert not whole.violations, report
    with closing(Trial(seed, log=tmp_path / "log")) as cut:
        cut.run()
        assert cut.story == whole.story, reproduction(seed)
        assert cut.digests == whole.digests, reproduction(seed)
        assert cut.objects() == whole.objects(), reproduction(seed)
        assert len(cut.world.log) == len(whole.world.log), reproduction(seed)
