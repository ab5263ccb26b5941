"""The stream of all changes: what ends it, and what ends with it."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from podwright.online.apiserver.cluster_client import ClusterClient
from podwright.online.apiserver.kss_api.application import change_lines
from podwright.online.apiserver.tests.conftest import pod_created, with_turns


class Results:
    """Results of no pod, or a defect for each."""

    def __init__(self, *, is_broken=False):
        self.is_broken = is_broken

    async def annotations(self, pod):
        if self.is_broken:
            raise ZeroDivisionError(pod)
        return {}


@pytest.mark.parametrize("nodes", [2, 300])
def test_the_watches_of_a_client_that_leaves_end_however_many_lines_wait_for_it(nodes):
    results: Any = Results()

    async def use(turns):
        before = asyncio.all_tasks()
        client = ClusterClient(turns, {"authorization": "Bearer secret"})
        stream: Any = change_lines(client, results, {})
        async with aclosing(stream) as lines:
            first = await anext(lines)
            for _ in range(1_000):  # until the watches wait for the client
                await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        return first[:1], asyncio.all_tasks() - before

    assert with_turns(use, nodes=nodes) == (b"{", set())


def test_a_defect_is_logged_and_ends_the_stream(caplog):
    results: Any = Results(is_broken=True)

    async def use(turns):
        await pod_created(turns, "web")
        client = ClusterClient(turns, {"authorization": "Bearer secret"})
        stream: Any = change_lines(client, results, {})
        async with aclosing(stream) as lines:
            return [line async for line in lines]

    assert not any(b'"web"' in line for line in with_turns(use))
    assert "the stream of changes" in caplog.text
