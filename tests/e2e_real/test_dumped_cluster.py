"""The pages about dumps of clusters: kubectl writes them, podwright reads them."""

from __future__ import annotations

import os

import pytest
from tests.e2e.command_line import NODES, pod
from tests.e2e.shell_blocks import Ports, blocks, run_block
from tests.e2e_real.cluster_processes import embedded
from tests.real_parts.binaries import find

pytestmark = pytest.mark.e2e

PAGES = ("docs/howto/explain-a-pending-pod.md", "docs/howto/load-a-cluster.md")


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_dump_and_read_a_cluster(page, tmp_path, monkeypatch):
    (tmp_path / "objects.yaml").write_text(NODES + pod("web", "1"))
    monkeypatch.setenv("PATH", f"{find('kubectl').parent}{os.pathsep}{os.environ['PATH']}")
    found = blocks(page)
    assert found
    with embedded(tmp_path, "--no-scheduler", str(tmp_path / "objects.yaml")) as kubeconfig:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        for lines in found:
            run_block(lines, tmp_path, Ports())
