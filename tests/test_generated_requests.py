"""Requests that schemathesis generates from the OpenAPI document of podwright's own HTTP API.

No answer is a server error, and each is one that the document describes: its status, its content
type, its schema, and the methods of its path.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.test_up import PODS, pod, up

ROOT = Path(__file__).parents[1]
COMMAND = (sys.executable, "-m", "schemathesis.cli")
ENDLESS = "/podwright/v1/state"
"""A stream of events, which ends when the client leaves."""

TOO_STRICT = "positive_data_acceptance"
"""A check that every request with a valid schema is accepted: durations and configurations have
more rules than their JSON Schema."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "amount",
    [
        pytest.param(("--max-examples", "2"), marks=pytest.mark.share, id="a share"),
        pytest.param(("--max-time", "600"), id="ten minutes"),
    ],
)
def test_generated_requests_get_the_answers_that_the_document_describes(tmp_path, amount):
    # At the highest speed, the leases of kubelets are days of work, for which `pause` would wait.
    with up(tmp_path, "--nodes", "3", "--no-lifecycle", "--no-controllers") as cluster:
        for name in ("web", "other"):
            assert cluster.send("POST", PODS, pod(name))[0] == 201
        document = f"http://127.0.0.1:{cluster.port}/podwright/v1/openapi.json"
        done = subprocess.run(
            [
                *COMMAND,
                f"--config-file={ROOT / 'tests/generated_requests.toml'}",
                "run",
                document,
                "--checks=all",
                f"--exclude-checks={TOO_STRICT}",
                "--phases=coverage,fuzzing",
                "--seed=1",
                "--request-timeout=60",
                "--no-color",
                f"--exclude-path={ENDLESS}",
                *amount,
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "passed" in done.stdout
        assert "defect" not in cluster.text()
