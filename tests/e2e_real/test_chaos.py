"""A share of the runs with faults: `make against-real CHAOS=scheduler` has more seeds."""

from __future__ import annotations

import pytest
from tests.real_parts.chaos import scheduler

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
