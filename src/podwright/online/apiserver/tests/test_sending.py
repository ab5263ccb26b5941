"""The pace at which many connections send parts."""

import asyncio
import itertools
import time

import pytest

from podwright.online.apiserver.wire.sending import Connection, JoinedHead, Pace

PASS_NS = 4_000_000


def passes_of(costs_bytes):
    """Return in which pass of the event loop each of many connections made its part."""

    async def main():
        pace, number = Pace(), itertools.count()
        made = []

        async def make(name, size):
            made.append(await pace.made(lambda: (name, current), lambda _: size))

        tasks = [asyncio.create_task(make(*each)) for each in enumerate(costs_bytes)]
        while not all(task.done() for task in tasks):
            current = next(number)
            await asyncio.sleep(0)
        return made

    return asyncio.run(main())


def test_parts_that_take_a_pass_are_made_one_in_each_and_in_order():
    made = passes_of([PASS_NS] * 20)
    assert [name for name, _ in made] == list(range(20))
    assert len({number for _, number in made}) == 20


def test_the_parts_of_many_connections_are_spread():
    made = passes_of([PASS_NS // 10] * 300)
    assert sorted(name for name, _ in made) == list(range(300))
    numbers = [number for _, number in made]
    assert max(map(numbers.count, set(numbers))) <= 11


def test_what_takes_long_to_make_has_its_pass_alone():
    async def main():
        pace, order = Pace(), []

        async def make(name, seconds):
            def part():
                end = time.perf_counter() + seconds
                while time.perf_counter() < end:
                    pass
                order.append(name)
                return b""

            await pace.made(part, len)

        async def other():
            await asyncio.sleep(0)
            order.append("other")

        await asyncio.gather(make("a", 2 * PASS_NS / 1e9), make("b", 0), other())
        return order

    assert asyncio.run(main()) == ["a", "other", "b"]


def test_a_client_that_leaves_loses_only_its_own_turn():
    async def main():
        pace = Pace()

        async def make(number):
            return await pace.made(lambda: number, lambda _: PASS_NS)

        tasks = [asyncio.create_task(make(number)) for number in range(4)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, second, *others = asyncio.run(main())
    assert isinstance(second, asyncio.CancelledError)
    assert (first, others) == (0, [2, 3])


def test_a_client_that_takes_nothing_is_cut_off_and_one_that_has_left_gets_nothing():
    aborted: list[int] = []
    sent: list[object] = []

    async def main():
        async def receive():
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)
            await takes.wait()

        left, takes = asyncio.Event(), asyncio.Event()
        stalled = Connection(receive, send, lambda: aborted.append(1), 0.01)
        assert not await stalled.send_part(b"a")
        assert (len(sent), aborted) == (1, [1])
        takes.set()
        connection = Connection(receive, send, lambda: aborted.append(2), 60)
        assert await connection.send_part(b"b")
        left.set()
        await asyncio.sleep(0.01)
        assert not await connection.send_part(b"c")
        assert (len(sent), aborted) == (2, [1])

    asyncio.run(main())


class _Connection(asyncio.Transport):
    """Keeps what is written to it, and that it was closed."""

    def __init__(self):
        super().__init__()
        self.written = []

    def write(self, data):
        self.written.append(data)

    def close(self):
        self.written.append("closed")

    def is_closing(self):
        return "closed" in self.written


def written_by(write):
    """Return what a connection gets of a reply, by a function of the reply and of this list."""
    connection = _Connection()

    async def main():
        await write(JoinedHead(connection), connection.written)

    asyncio.run(main())
    return connection.written


def test_the_head_of_a_reply_is_sent_with_what_follows():
    async def write(reply, written):
        reply.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert written == [b"HTTP/1.1 100 Continue\r\n\r\n"]
        reply.write(b"HTTP/1.1 200 OK\r\n\r\n")
        assert len(written) == 1
        for part in (b"1", b"", b"HTTP/1.1 200 OK in a log"):
            reply.write(part)
        await asyncio.sleep(0)
        reply.close()
        assert reply.is_closing()

    assert written_by(write)[1:] == [
        b"HTTP/1.1 200 OK\r\n\r\n1",
        b"",
        b"HTTP/1.1 200 OK in a log",
        "closed",
    ]


def test_the_head_of_a_stream_does_not_wait_for_an_event():
    async def write(reply, written):
        reply.write(b"HTTP/1.1 200 OK\r\n\r\n")
        assert written == []
        await asyncio.sleep(0)
        assert written == [b"HTTP/1.1 200 OK\r\n\r\n"]
        reply.write(b"event")

    assert written_by(write) == [b"HTTP/1.1 200 OK\r\n\r\n", b"event"]


def test_a_reply_that_ends_after_its_head_is_sent_before_the_connection_closes():
    async def write(reply, _):
        reply.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        reply.close()

    assert written_by(write) == [b"HTTP/1.1 204 No Content\r\n\r\n", "closed"]


@pytest.mark.parametrize(
    ("made", "woken"), [(0, 8), (4, 8), (5, 10), (20, 40), (49, 98), (50, 100), (70, 100)]
)
def test_a_pass_wakes_twice_as_many_connections_as_had_time_in_the_one_before(made, woken):
    async def main():
        pace = Pace()
        turns = [asyncio.get_running_loop().create_future() for _ in range(100)]
        pace._waiting = list(enumerate(turns))
        pace._made_count, pace._left_ns, pace._is_refilling = made, -1, True
        turns[0].cancel()
        pace._refill()
        assert [each.done() for each in turns] == [True] * woken + [False] * (100 - woken)
        assert (pace._made_count, pace._left_ns, pace._is_refilling) == (0, PASS_NS, False)
        assert len(pace._waiting) == 100 - woken

    asyncio.run(main())
