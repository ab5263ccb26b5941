"""Compare the session of kubectl commands on both clusters: ``python -m tests.e2e_real``."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.e2e_real.cluster_processes import embedded, kubectl, kwok, upstream
from tests.e2e_real.kubectl_outputs import (
    HERE,
    REASONS,
    Output,
    commands,
    compared,
    run_session,
)
from tests.waiting import until

NODES = HERE / "manifests" / "nodes.yaml"


def outputs_of_both(folder: Path) -> tuple[list[Output], list[Output]]:
    """Return the outputs of the session on upstream's control plane and on ours."""
    with upstream(folder / "upstream") as kubeconfig:
        expected = _outputs(kubeconfig, commands())
    with embedded(folder / "embedded", str(NODES), "--no-lifecycle") as kubeconfig:
        found = list(run_session(kubeconfig, commands()))
    return expected, found


def outputs_without_controllers(folder: Path) -> tuple[list[Output], list[Output]]:
    """Return the outputs where only the server and the scheduler run, as `outputs_of_both`.

    Commands that wait for a controller are left out.
    """
    of_controllers = ("~ wait deployment/", "~ wait pod -l job-name=")
    lines = [line for line in commands() if not line.startswith(of_controllers)]
    with upstream(folder / "upstream", controllers=None) as kubeconfig:
        expected = _outputs(kubeconfig, lines)
    options = ("--no-lifecycle", "--no-controllers")
    with embedded(folder / "embedded", *options) as kubeconfig:
        found = _outputs(kubeconfig, lines)
    return expected, found


def outputs_with_running_pods(folder: Path, session: str) -> tuple[list[Output], list[Output]]:
    """Return the outputs of a session about pods, which kwok runs on both clusters."""
    lines, above = commands(session), folder / "upstream"
    with (
        upstream(above, has_service_accounts=True) as kubeconfig,
        kwok(above, kubeconfig),
    ):
        expected = _outputs(kubeconfig, lines, waits_for_nodes=True)
    below = folder / "embedded"
    with embedded(below, "--no-lifecycle") as kubeconfig, kwok(below, kubeconfig):
        found = _outputs(kubeconfig, lines, waits_for_nodes=True)
    return expected, found


def differences(
    pairs: list[tuple[Output, Output]], counts: Counter[str] | None = None
) -> list[str]:
    """Return the lines in which the outputs of two clusters differ, by command."""
    counts = Counter() if counts is None else counts
    lines = []
    for want, got in pairs:
        found = compared(want, got, counts)
        if found or want.status != got.status:
            lines.append(f"--- kubectl {want.command} (exit {want.status}, here {got.status})")
        for upstream_line, here in found:
            lines += [f"  upstream: {upstream_line}", f"  here:     {here}"]
    return lines


def _outputs(kubeconfig: Path, lines: list[str], *, waits_for_nodes: bool = False) -> list[Output]:
    created = kubectl(kubeconfig, "create", "-f", str(NODES))
    assert created.returncode == 0, created.stderr
    # A new node has a taint until a controller finds it ready; pods would go to the other one.
    if waits_for_nodes:
        until(lambda: not _taints(kubeconfig))
    return list(run_session(kubeconfig, lines))


def _taints(kubeconfig: Path) -> str:
    found = kubectl(kubeconfig, "get", "nodes", "-o", "jsonpath={.items[*].spec.taints}")
    assert found.returncode == 0, found.stderr
    return found.stdout


def main() -> int:
    """Print what differs; return 1 if anything does."""
    with tempfile.TemporaryDirectory() as folder:
        pairs = list(zip(*outputs_of_both(Path(folder)), strict=True))
    counts: Counter[str] = Counter()
    lines = differences(pairs, counts)
    for line in lines:
        print(line)
    print("Normalizations, and in how many commands each one mattered:")
    for name, reason in REASONS.items():
        print(f"{counts[name]:7}  {name}: {reason}")
    agreeing = len(pairs) - sum(line.startswith("--- ") for line in lines)
    print(f"{agreeing} of {len(pairs)} commands agree")
    return 0 if pairs and agreeing == len(pairs) else 1


if __name__ == "__main__":
    sys.exit(main())
