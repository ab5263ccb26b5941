"""The pages about real clusters: their commands run on clusters of `podwright up`."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml
from tests.e2e.command_line import NODES, ROOT, pod
from tests.e2e.shell_blocks import Ports, blocks, configuration_in, run_block
from tests.e2e_real.cluster_processes import embedded

PAGES = (
    "docs/howto/read-a-real-cluster.md",
    "docs/howto/follow-a-real-cluster.md",
    "docs/howto/schedule-a-real-cluster.md",
)
"""`tests/test_docs.py` has this list too; other pages have no such blocks."""

SCHEDULING = PAGES[2]
SHOWN_PORT = 8180
"""Of the cluster that runs already, where a page names one."""

PODS = (
    pod("web-0", "1")
    + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
    + pod("web-0", "1", "shop")
    + pod("api-0", "1", "shop", "schedulerName: podwright")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that the pages name, and the kubeconfig of two clusters."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "cluster.yaml").write_text(NODES + PODS)
    (folder / "scheduler.yaml").write_text(configuration_in(SCHEDULING))
    (folder / "new.yaml").write_text(
        configuration_in(SCHEDULING).replace("podwright", "default-scheduler")
    )
    (folder / "tomorrow.jsonl").write_text('{"at": "1h", "drain": "small"}\n')
    shutil.copy(ROOT / "examples/shadow/record.jsonl", folder / "changes.jsonl")
    off = ("--no-scheduler", "--no-controllers", "--no-lifecycle")
    with (
        embedded(folder / "source", *off, str(folder / "cluster.yaml")) as source,
        embedded(folder / "destination") as destination,
    ):
        settings = yaml.safe_load(source.read_text())
        context = settings["contexts"][0]["context"]
        settings["contexts"].append({"name": "prod", "context": context})
        (folder / "source.kubeconfig").write_text(json.dumps(settings))
        server = yaml.safe_load(destination.read_text())["clusters"][0]["cluster"]["server"]
        (folder / "port").write_text(server.rpartition(":")[2])
        yield folder


@pytest.fixture
def ports(folder, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(folder / "source.kubeconfig"))
    return Ports({SHOWN_PORT: int((folder / "port").read_text())})


def numbered():
    """Return the blocks of the pages; CI runs those of one page."""
    return [
        pytest.param(
            lines,
            id=f"{page.rpartition('/')[2]}-{number}",
            marks=pytest.mark.share if page == SCHEDULING else (),
        )
        for page in PAGES
        for number, lines in enumerate(blocks(page))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("lines", numbered())
def test_the_commands_of_a_block_run_as_shown(lines, folder, ports):
    run_block(lines, folder, ports)
