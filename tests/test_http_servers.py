"""Servers of tests leave no connection to those that come after them."""

import asyncio
import socket

import pytest
from aiohttp import web
from tests.http_servers import is_closed, serving_all_paths


@pytest.mark.parametrize("turns", range(6))
def test_a_connection_of_the_last_moment_is_closed(turns):
    async def answer(_):
        return web.Response()

    async def run():
        async with serving_all_paths(answer) as address:
            client = socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])))
            for _ in range(turns):
                await asyncio.sleep(0)
        return client

    with asyncio.run(run()) as client:
        assert is_closed(client)
