"""The connection of `podwright sync` and `podwright scheduler` to a server with TLS."""

from __future__ import annotations

import asyncio
import gc
import warnings

from podwright.online.client.cluster.access import ClusterAddress
from podwright.online.client.cluster.read_connection import ReadConnection


async def leave_a_watch(kubeconfig):
    async with ReadConnection(ClusterAddress(kubeconfig=kubeconfig)) as connection:
        query = {"watch": "true"}
        async with connection.stream("/api/v1/nodes", query, silence_seconds=60) as chunks:
            async for _ in chunks:
                break


def test_a_watch_that_is_left_leaves_no_socket_open(kubeconfig):
    gc.collect()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(5):
            asyncio.run(leave_a_watch(kubeconfig))
        gc.collect()
    assert [str(each.message) for each in found if each.category is ResourceWarning] == []
