"""When a sync says what it did, whose credentials it takes, and a destination that is replaced."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from podwright.cli.clusters.options import address_of
from podwright.cli.clusters.remote_work import FailureLines
from podwright.cli.clusters.sync_run import _print_regularly
from podwright.cli.tests.served import command_until, held, served
from podwright.cli.tests.test_cluster_commands import STATUS
from podwright.online.client import SyncDrift
from podwright.online.live.tests.test_lease_model import VirtualLoop
from podwright.online.sync import following
from podwright.online.sync.tests.served_cluster import ServedCluster, pod


@pytest.mark.parametrize(
    ("kubeconfig", "context", "server", "has_environment"),
    [
        pytest.param(None, "", "http://a:1", False, id="an address alone"),
        pytest.param(Path("k"), "", "http://a:1", True, id="an address with a kubeconfig"),
        pytest.param(None, "prod", "http://a:1", True, id="an address with a context"),
        pytest.param(None, "", "", True, id="the current context"),
        pytest.param(Path("k"), "", "", True, id="a kubeconfig"),
    ],
)
def test_an_address_alone_gets_no_credentials_of_the_environment(
    monkeypatch, kubeconfig, context, server, has_environment
):
    monkeypatch.setenv("KUBECONFIG", "of-the-environment")
    found = address_of(kubeconfig, context, server)
    assert dict(found.environment) == (dict(os.environ) if has_environment else {})


def test_a_sync_that_changes_all_the_time_prints_its_summary_every_ten_seconds(capsys):
    pods = iter(range(1_000))
    printed: list[int] = []

    def status(_: object) -> Any:
        return msgspec.structs.replace(STATUS, drift=SyncDrift(pods=next(pods), claims=0))

    each = SimpleNamespace(is_synced=False)
    sync: Any = SimpleNamespace(destinations=[each], status=status, untried=lambda _: {})

    async def run() -> None:
        task = asyncio.create_task(_print_regularly(sync))
        await asyncio.sleep(0.5)
        assert capsys.readouterr().err == ""
        each.is_synced = True
        for seconds in range(25):
            await asyncio.sleep(1)
            printed.extend([seconds] * len(capsys.readouterr().err.splitlines()))
        task.cancel()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(run())
    assert printed == [0, 10, 20]


def test_a_destination_that_was_replaced_is_brought_to_the_state_of_the_source_again(monkeypatch):
    monkeypatch.setattr(following, "_SAVE_SECONDS", 0.02)
    source, destination = ServedCluster(), ServedCluster(seed=1)
    source.create(pod("web"))
    replaced: list[bool] = []

    def is_again_there() -> bool:
        if "web" in destination.names("/api/v1/pods") and not replaced:
            destination.api = ServedCluster(seed=2).api
            replaced.append(True)
        return bool(replaced) and destination.names("/api/v1/pods") == {"web"}

    with served(source) as address, served(destination) as there:
        line = f"sync --server {address} --to there={there} --kinds pods"
        printed, errors, status = command_until(held(is_again_there), line)
    assert (printed, status) == ("", 0)
    text = (
        "there is another cluster than before; it is being brought to the state of the source again"
    )
    assert text in errors.splitlines()


def test_many_different_errors_of_a_source_are_kept_for_ten_seconds(capsys):
    report = FailureLines(lambda: 0.0)
    for number in range(100):
        report("pods", ValueError(f"{number}"))
    report("pods", ValueError("0"))
    assert len(capsys.readouterr().err.splitlines()) == 100
    # More of them are not kept: what is reported again is better than a memory without limit.
    report("pods", ValueError("100"))
    report("pods", ValueError("0"))
    assert capsys.readouterr().err == ("pods: 100; retrying\npods: 0; retrying\n")
