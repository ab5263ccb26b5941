"""The order in which a destination gets changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from podwright.client import SyncPolicies
from podwright.client.cluster import ClusterAddress
from podwright.sync.following import Destination
from podwright.sync.mirror import Mirror
from podwright.sync.target import Target
from podwright.sync.tests.test_mirror import change


class Server:
    """A destination that answers a request after others that were sent have arrived."""

    def __init__(self, expected: int) -> None:
        self.written: list[str] = []
        self.has_all = asyncio.Event()
        self._expected = expected
        self._count = 0

    async def write(self, request: web.Request) -> web.Response:
        self._count += 1
        name = request.path.rpartition("/")[2]
        if request.method == "POST":
            name = (await request.json())["metadata"]["name"]
        # Of requests side by side, the later ones are answered first.
        await asyncio.sleep(0.1 / self._count)
        self.written.append(f"{request.method} {name}")
        if len(self.written) == self._expected:
            self.has_all.set()
        return web.json_response({"metadata": {"name": name}})

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """Serve for the time of a block; yields the address."""
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self.write)
        runner = web.AppRunner(application)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()


async def _execute(server, *groups):
    async with server.serve() as address, Target(ClusterAddress(server=address), "here") as target:
        destination = Destination(target, Mirror(SyncPolicies()), 1)
        for changes in groups:
            destination.put(changes)
        follow = asyncio.create_task(destination.follow())
        await server.has_all.wait()
        follow.cancel()


def test_pods_are_written_in_the_order_of_the_source():
    server = Server(expected=6)
    first = [change("Add", f"p{i}") for i in range(3)]
    second = [change("Delete", "p1"), change("Add", "p3"), change("Delete", "p0")]
    asyncio.run(_execute(server, first, second))
    assert server.written == [
        "POST p0", "POST p1", "POST p2", "DELETE p1", "POST p3", "DELETE p0",
    ]  # fmt: skip
