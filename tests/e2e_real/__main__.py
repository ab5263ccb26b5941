"""Compare the session of kubectl commands on both clusters: ``python -m tests.e2e_real``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.e2e_real.cluster_processes import embedded, kubectl, upstream
from tests.e2e_real.kubectl_outputs import HERE, Output, run_session


def outputs_of_both(folder: Path) -> tuple[list[Output], list[Output]]:
    """Return the outputs of the session on upstream's control plane and on ours."""
    nodes = HERE / "manifests" / "nodes.yaml"
    with upstream(folder / "upstream") as kubeconfig:
        created = kubectl(kubeconfig, "create", "-f", str(nodes))
        assert created.returncode == 0, created.stderr
        expected = list(run_session(kubeconfig))
    with embedded(folder / "embedded", str(nodes), "--no-lifecycle") as kubeconfig:
        found = list(run_session(kubeconfig))
    return expected, found


def main() -> int:
    """Print what differs; return 1 if anything does."""
    with tempfile.TemporaryDirectory() as folder:
        pairs = list(zip(*outputs_of_both(Path(folder)), strict=True))
    differing = [(want, got) for want, got in pairs if want != got]
    for want, got in differing:
        print(f"--- kubectl {want.command} (exit {want.status}, here {got.status})")
        for line in want.lines:
            if line not in got.lines:
                print(f"  upstream: {line}")
        for line in got.lines:
            if line not in want.lines:
                print(f"  here:     {line}")
    print(f"{len(pairs) - len(differing)} of {len(pairs)} commands agree")
    return 1 if differing or not pairs else 0


if __name__ == "__main__":
    sys.exit(main())
