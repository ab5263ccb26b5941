"""Generated decisions are those of kube-scheduler's own code.

`python -m tests.real_parts.decisions.compare` compares as many seeds as one likes.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.real_parts import binaries
from tests.real_parts.decisions.compare import BINARY, compare

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def program() -> Path:
    if shutil.which("go") is not None:
        binaries.build([BINARY])
    return binaries.find(BINARY)


@pytest.mark.parametrize(
    ("family", "seeds", "outcomes"),
    [
        ("dra", range(120), {"allocated", "error", "feasible", "unschedulable"}),
        ("dra_sequence", range(8), {"apply", "delete", "placed", "remove", "schedule"}),
        (
            "cluster",
            range(300),
            {"error", "feasible", "held back", "ignored", "preemption", "unschedulable"},
        ),
        ("cel", range(200), {"True", "False", "error", "does not compile"}),
        ("config", range(20, 60), {"accepted", "refused"}),
        ("quantities", range(40), {"malformed", "parsed"}),
        ("pod_requests", range(120), {"summed"}),
        ("hints", range(150), {"Queue", "Skip"}),
        ("sequence", range(8), {"delete", "placed", "schedule"}),
        ("extenders", range(200), {"error", "feasible", "preemption", "unschedulable"}),
        ("cycle", range(60), {"bind", "delete", "placed", "preempting", "waiting"}),
        ("batching", range(60), {"hint", "placed", "unschedulable"}),
        ("gang", range(20), {"bind", "patch_podgroup_status", "placed"}),
        ("sampling", range(30), {"bind", "hint", "placed", "unschedulable"}),
        ("queue", range(40), {"add", "update", "delete", "pop", "fail", "move", "nominate"}),
    ],
)
def test_every_seed_is_decided_as_upstream_does(program, family, seeds, outcomes):
    summary = compare(program, family, seeds)
    assert summary.cases == len(seeds)
    assert set(summary.outcomes) >= outcomes, summary.outcomes
    assert not summary.different
