"""A share of the runs with faults: `make against-real CHAOS="scheduler sync"` has more seeds."""

from __future__ import annotations

import pytest
from tests.real_parts.chaos import scheduler, sync

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(1, id="the lease is short: leaders end while the server is away"),
        pytest.param(2, id="the lease is long: leaders outlive the server"),
    ],
)
def test_replicas_of_the_scheduler_survive_the_faults_of_a_seed(tmp_path, seed):
    assert scheduler.run(seed, tmp_path / "run") == []


def test_a_mirror_equals_its_source_after_the_faults_of_a_seed(tmp_path):
    assert sync.run(60, tmp_path / "run") == []
