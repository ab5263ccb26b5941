"""What a run of a suite says, and what it must not say."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e_real.client_suites import __main__ as program

ENDED = "Ran 276 of 280 Specs in 85.1 seconds\nSUCCESS! -- 276 Passed | 0 Failed\n"
FAILED = """\
  [FAILED] in [It] - client_test.go:2719 @ 11/28/26 16:53:39.656
Summarizing 2 Failures:
  [FAIL] Client List [It] should filter results
  client_test.go:2783
  [PANICKED!] Client Get [It] should fetch
  client_test.go:2800

Ran 5 of 6 Specs in 1 seconds
"""


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (ENDED, (276, [])),
        (FAILED, (5, ["Client List [It] should filter results", "Client Get [It] should fetch"])),
        (
            "--- FAIL: TestApply (1s)\n    --- PASS: TestApply/creates (0s)\n"
            "    --- FAIL: TestApply/deletes (0s)\n--- PASS: TestOther (0s)\nFAIL\n",
            (4, ["TestApply", "TestApply/deletes"]),
        ),
        ("panic: no kubeconfig\n", (0, [])),
    ],
)
def test_the_specs_that_ran_and_those_that_failed(
    output: str, found: tuple[int, list[str]]
) -> None:
    assert program.read(output) == found


def test_a_run_without_a_package_or_without_go_does_not_succeed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--only", "no such package", "--folder", str(tmp_path / "suites")]
    assert program.main(options) == 1
    assert capsys.readouterr().out == "nothing matches no such package\n"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program.main(["--only", "karpenter/pkg/apis/v1", *options[2:]]) == 3
    assert capsys.readouterr().err.endswith("need Go on PATH\n")
