"""One stream of the server for all pages."""

import asyncio
from contextlib import asynccontextmanager

from podwright.online.ui.pass_through import SharedStream
from podwright.online.ui.upstream import UnreachableServer

SNAPSHOT = b"event: snapshot\nid: %d\ndata: {}\n\n"
CHANGES = b"event: changes\nid: %d\ndata: {}\n\n"


class Source:
    """A server whose stream a test writes."""

    def __init__(self):
        self.opened = 0
        self.is_reachable = True
        self.parts: asyncio.Queue[bytes | None] = asyncio.Queue()

    @asynccontextmanager
    async def open(self):
        if not self.is_reachable:
            raise UnreachableServer("nothing listens")
        self.opened += 1
        yield self.read()

    async def read(self):
        while (part := await self.parts.get()) is not None:
            yield part

    def write(self, *parts):
        for part in parts:
            self.parts.put_nowait(part)


async def settle():
    for _ in range(20):
        await asyncio.sleep(0)


def test_pages_share_one_stream():
    async def check():
        source = Source()
        stream = SharedStream(source.open)
        first, second = stream.events(), stream.events()
        source.write(SNAPSHOT % 1, CHANGES % 2)
        received = await anext(first)
        while received != SNAPSHOT % 1 + CHANGES % 2:
            received += await anext(first)
        assert await anext(second) == SNAPSHOT % 1 + CHANGES % 2, "what followed the snapshot"
        source.write(CHANGES % 3)
        assert await anext(first) == CHANGES % 3
        assert await anext(second) == CHANGES % 3
        assert source.opened == 1
        await first.aclose()
        await second.aclose()

    asyncio.run(check())


def test_events_are_whole_however_their_bytes_arrive():
    async def check():
        source = Source()
        stream = SharedStream(source.open)
        page = stream.events()
        text = SNAPSHOT % 1 + CHANGES % 2
        source.write(text[:7], text[7:-1])
        assert await anext(page) == SNAPSHOT % 1
        source.write(text[-1:])
        assert await anext(page) == CHANGES % 2
        await page.aclose()

    asyncio.run(check())


def test_a_slow_page_continues_with_the_next_snapshot():
    async def check():
        source = Source()
        stream = SharedStream(source.open)
        page = stream.events()
        source.write(SNAPSHOT % 1)
        assert await anext(page) == SNAPSHOT % 1
        source.write(CHANGES % 2, CHANGES % 3, SNAPSHOT % 4, CHANGES % 5)
        await settle()
        assert await anext(page) == SNAPSHOT % 4 + CHANGES % 5
        await page.aclose()

    asyncio.run(check())


def test_much_that_follows_a_snapshot_is_replaced_by_a_new_one():
    async def check():
        source = Source()
        stream = SharedStream(source.open, kept_bytes_max=len(CHANGES % 2) * 3)
        page = stream.events()
        source.write(SNAPSHOT % 1, *(CHANGES % number for number in range(2, 7)))
        await anext(page)
        await settle()
        assert source.opened == 2
        source.write(SNAPSHOT % 7)
        await settle()
        new_page = stream.events()
        assert await anext(new_page) == SNAPSHOT % 7
        await page.aclose()
        await new_page.aclose()

    asyncio.run(check())


def test_pages_learn_that_the_server_is_gone_and_go_on():
    async def check():
        source = Source()
        stream = SharedStream(source.open, retry_seconds=0)
        page = stream.events()
        source.write(SNAPSHOT % 1)
        assert await anext(page) == SNAPSHOT % 1
        source.is_reachable = False
        source.write(None)
        received = b""
        while b"nothing listens" not in received:
            received += await anext(page)
        assert b'event: disconnected\ndata: {"reason":"The server has ended' in received
        source.is_reachable = True
        source.write(SNAPSHOT % 9)
        while SNAPSHOT % 9 not in received:
            received += await anext(page)
        await page.aclose()

    asyncio.run(check())


def test_the_same_reason_is_sent_once():
    async def check():
        source = Source()
        source.is_reachable = False
        stream = SharedStream(source.open, retry_seconds=0)
        first, second = stream.events(), stream.events()
        await anext(first)
        for _ in range(100):
            await settle()
        received = await anext(second)
        assert received.count(b"disconnected") == 1
        await first.aclose()
        await second.aclose()

    asyncio.run(check())


def test_the_same_reason_is_sent_once_after_a_state_too():
    async def check():
        source = Source()
        stream = SharedStream(source.open, retry_seconds=0)
        page = stream.events()
        source.write(SNAPSHOT % 1)
        assert await anext(page) == SNAPSHOT % 1
        source.is_reachable = False
        source.write(None)
        for _ in range(100):
            await settle()
        received = await anext(page)
        assert received.count(b"ended the stream") == 1
        assert received.count(b"nothing listens") == 1
        await page.aclose()

    asyncio.run(check())


def test_the_stream_ends_with_the_last_page():
    async def check():
        source = Source()
        stream = SharedStream(source.open)
        page = stream.events()
        source.write(SNAPSHOT % 1)
        await anext(page)
        await page.aclose()
        page = stream.events()
        source.write(SNAPSHOT % 2)
        assert await anext(page) == SNAPSHOT % 2, "nothing old"
        assert source.opened == 2
        await page.aclose()

    asyncio.run(check())


def test_events_beside_are_added_and_go_on_after_a_failure():
    async def check():
        source, beside = Source(), Source()
        stream = SharedStream(source.open, beside.open, retry_seconds=0)
        page = stream.events()
        source.write(SNAPSHOT % 1)
        assert await anext(page) == SNAPSHOT % 1
        beside.write(b"event: nodes\n\n")
        assert await anext(page) == b"event: nodes\n\n"
        beside.write(None)
        await settle()
        assert beside.opened > 1
        beside.write(b"event: nodes\n\n")
        assert await anext(page) == b"event: nodes\n\n"
        await page.aclose()

    asyncio.run(check())


def test_each_snapshot_is_followed_by_all_events_beside():
    async def check():
        source, beside = Source(), Source()
        stream = SharedStream(source.open, beside.open, retry_seconds=0)
        first = stream.events()
        beside.write(b"event: nodes\n\n")
        source.write(SNAPSHOT % 1)
        received = await anext(first)
        while received != SNAPSHOT % 1 + b"event: nodes\n\n":
            received += await anext(first)
        source.write(SNAPSHOT % 2)
        assert await anext(first) == SNAPSHOT % 2
        await settle()
        assert beside.opened == 2, "once for each snapshot"
        beside.write(b"event: nodes\n\n")
        await settle()
        second = stream.events()
        assert await anext(second) == SNAPSHOT % 2 + b"event: nodes\n\n"
        await first.aclose()
        await second.aclose()

    asyncio.run(check())


def test_what_arrives_before_a_snapshot_is_an_event_too():
    async def check():
        source = Source()
        stream = SharedStream(source.open)
        page = stream.events()
        source.write(b"event: changes\nid: 1\ndata: event: snapshot\n\n")
        source.write(b"id: 1\nretry: 5\nevent: snapshot\ndata: {}\n\n")
        await settle()
        assert await anext(page) == b"id: 1\nretry: 5\nevent: snapshot\ndata: {}\n\n"
        await page.aclose()

    asyncio.run(check())


def test_exactly_as_much_as_is_kept_needs_no_new_snapshot():
    async def check():
        source = Source()
        stream = SharedStream(
            source.open, kept_bytes_max=2 * len(CHANGES.removesuffix(b"\n\n")) - 2
        )
        page = stream.events()
        source.write(SNAPSHOT % 1, CHANGES % 2, CHANGES % 3)
        await anext(page)
        await settle()
        assert source.opened == 1
        source.write(SNAPSHOT % 4, CHANGES % 5, CHANGES % 6)
        await settle()
        assert source.opened == 1, "a snapshot of the same stream counts anew"
        source.write(CHANGES % 7)
        await settle()
        assert source.opened == 2
        await page.aclose()

    asyncio.run(check())


def test_a_page_that_closes_leaves_the_stream_to_the_others():
    async def check():
        source, beside = Source(), Source()
        stream = SharedStream(source.open, beside.open)
        first, second = stream.events(), stream.events()
        source.write(SNAPSHOT % 1)
        await anext(first)
        await anext(second)
        await first.aclose()
        source.write(CHANGES % 2)
        assert await anext(second) == CHANGES % 2
        await second.aclose()
        assert source.opened == 1

    asyncio.run(check())


def test_events_beside_end_while_the_server_is_gone():
    async def check():
        source, beside = Source(), Source()
        stream = SharedStream(source.open, beside.open, retry_seconds=0)
        page = stream.events()
        source.write(SNAPSHOT % 1)
        await anext(page)
        await settle()
        source.is_reachable = False
        source.write(None)
        await settle()
        beside.write(b"event: nodes\n\n")
        await settle()
        assert b"nodes" not in await anext(page)
        assert beside.opened == 1
        await page.aclose()

    asyncio.run(check())


def test_without_another_stream_none_is_read_beside():
    async def check():
        source = Source()
        stream = SharedStream(source.open)
        page = stream.events()
        source.write(SNAPSHOT % 1)
        assert await anext(page) == SNAPSHOT % 1
        assert stream._reading_beside is None
        await page.aclose()

    asyncio.run(check())
