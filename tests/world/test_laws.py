"""Whole clusters keep all laws, whatever happens to them, and make no difference when cut."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest
from tests.world.trial import Trial


def seeds() -> list[int]:
    """Return the seeds that `PODWRIGHT_SEEDS` names, a few without it."""
    chosen: list[int] = []
    for part in os.environ.get("PODWRIGHT_SEEDS", "0-5").split(","):
        first, _, last = part.partition("-")
        chosen.extend(range(int(first), int(last or first) + 1))
    return chosen


def again(seed: int) -> str:
    """Return the line that plays a seed again."""
    return f"PODWRIGHT_SEEDS={seed} python -m pytest tests/world"


@pytest.mark.world
@pytest.mark.parametrize("seed", seeds())
def test_a_cluster_keeps_all_laws_and_is_the_same_when_it_is_cut(seed: int, tmp_path: Path) -> None:
    whole = Trial(seed).play()
    assert not whole.broken, f"{again(seed)}\n" + "\n".join((*whole.story, *whole.broken))
    with closing(Trial(seed, log=tmp_path / "log")) as cut:
        cut.play()
        assert cut.story == whole.story, again(seed)
        assert cut.digests == whole.digests, again(seed)
        assert cut.objects() == whole.objects(), again(seed)
        assert len(cut.world.log) == len(whole.world.log), again(seed)
