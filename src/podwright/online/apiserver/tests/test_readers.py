"""Readers: copies of the process that read while the server goes on."""

import asyncio
import gc
import logging
import os
import signal
import threading
import time
from contextlib import closing
from typing import Any

import pytest
import uvloop

from podwright.cluster.store import UnusableStore, objects_store, open_store
from podwright.online.apiserver.readers import (
    _RESULT,
    READERS_MAX,
    ReaderFailed,
    Readers,
    _received,
    _result,
    _send,
    begun,
)
from podwright.online.apiserver.tests.conftest import pod_created, request, with_turns
from podwright.simulation.recording import explain_cycle
from podwright.simulation.recording.explanations.explain import UnknownCycle

PODS = "/api/v1/namespaces/default/pods"


def with_readers(use, *, nodes=2, store=None):
    return with_turns(lambda turns: use(turns, Readers(turns)), nodes=nodes, store=store)


def test_a_decision_of_the_past_is_explained_in_another_process():
    async def use(turns, readers):
        await pod_created(turns, "web")
        log = turns.cluster.world.log
        await pod_created(turns, "other")

        def explained(_):
            return os.getpid(), explain_cycle(log, "default/web").decision.node

        return await readers.call(explained)

    process, node = with_readers(use)
    assert process != os.getpid()
    assert node in ("node-0", "node-1")


def test_the_server_goes_on_and_the_reader_sees_the_past(tmp_path):
    release = tmp_path / "release"

    async def use(turns, readers):
        await pod_created(turns, "before")

        def count(report):
            report("begun")
            while not release.is_file():
                time.sleep(0.001)
            return turns.cluster.store.count(("", "Pod"))

        begun = asyncio.Event()
        reading = asyncio.create_task(readers.call(count, progressed=lambda _: begun.set()))
        await begun.wait()
        await pod_created(turns, "after")
        assert not reading.done()
        release.touch()
        return await reading

    assert with_readers(use) == 1


def test_a_reader_leaves_the_file_of_the_store_to_the_server(tmp_path, monkeypatch):
    monkeypatch.setattr(objects_store, "AWAKE_MAX", 0)
    path, kind, key = tmp_path / "cluster.db", ("", "ConfigMap"), "default/settings"

    async def use(turns, readers):
        await pod_created(turns, "web")
        settings = {"metadata": {"name": "settings"}, "data": {"color": "blue"}}
        path = "/api/v1/namespaces/default/configmaps"
        assert (await turns.execute(request("POST", path, settings))).status == 201
        await pod_created(turns, "other")
        store = turns.cluster.store
        # Components hold pods; a ConfigMap is read from the file when it is used.
        assert await readers.call(lambda _: store.get(("", "Pod"), "default/web").name) == "web"
        with pytest.raises(UnusableStore, match="only by the process that opened it"):
            await readers.call(lambda _: store.get(kind, key))
        with pytest.raises(UnusableStore, match="another process"):
            await readers.call(lambda _: store.drop(("", "Pod"), "default/web"))
        return store.require(kind, key).raw["data"]

    with closing(open_store(path)) as store:
        assert with_readers(use, store=store) == {"color": "blue"}
    with closing(open_store(path)) as store:
        assert store.require(kind, key).raw["data"] == {"color": "blue"}


def test_progress_is_reported_in_order():
    async def use(_, readers):
        reports: list[int] = []

        def counting(report):
            for number in range(100):
                report(number)
            return "x" * 10_000_000

        result = await readers.call(counting, progressed=reports.append)
        return reports, len(result)

    assert with_readers(use) == (list(range(100)), 10_000_000)


def test_what_a_reader_raises_is_raised_here():
    async def use(turns, readers):
        def missing(_):
            return explain_cycle(turns.cluster.world.log, "default/missing")

        with pytest.raises(UnknownCycle, match="missing"):
            await readers.call(missing)
        with pytest.raises(ReaderFailed, match="cannot send"):
            await readers.call(lambda _: threading.Lock())

    with_readers(use)


def test_a_reader_that_crashes_fails_its_request_only():
    async def use(turns, readers):
        with pytest.raises(ReaderFailed, match="without a result"):
            await readers.call(lambda _: os._exit(7))
        await pod_created(turns, "web")
        return await readers.call(lambda _: 42)

    assert with_readers(use) == 42


def test_a_cancelled_request_ends_its_reader():
    async def use(_, readers):
        found = asyncio.get_running_loop().create_future()

        def hanging(report):
            report(os.getpid())
            threading.Event().wait(60)

        reading = asyncio.create_task(readers.call(hanging, progressed=found.set_result))
        process = await found
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
        return await readers.call(lambda _: "free")

    assert with_readers(use) == "free"


def test_a_reader_whose_reports_are_not_wanted_any_more_ends():
    async def use(_, readers):
        def hanging(report):
            report(os.getpid())
            threading.Event().wait(60)

        reports = readers.reports(hanging)
        process = await anext(reports)
        await reports.aclose()
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)

    with_readers(use)


def test_long_content_arrives_in_parts():
    content = os.urandom(3_000_000)

    async def use(_, readers):
        return [part async for part in await begun(readers.parts(lambda: content))]

    parts = with_readers(use)
    assert b"".join(parts) == content
    assert max(map(len, parts)) <= 1 << 18


def test_empty_content_has_no_parts():
    async def use(_, readers):
        return b"".join([part async for part in await begun(readers.parts(lambda: b""))])

    assert with_readers(use) == b""


def test_what_a_reader_raises_is_raised_before_the_first_part():
    async def use(turns, readers):
        def missing():
            return explain_cycle(turns.cluster.world.log, "default/missing")

        with pytest.raises(UnknownCycle, match="missing"):
            await begun(readers.parts(missing))
        with pytest.raises(ReaderFailed, match="without a result"):
            await begun(readers.parts(lambda: os._exit(7)))

    with_readers(use)


def test_a_client_that_leaves_within_a_long_reply_ends_the_reader():
    async def use(_, readers):
        for _ in range(2 * READERS_MAX):
            parts = readers.parts(lambda: bytes(50_000_000))
            assert len(await anext(parts)) == 1 << 18
            await parts.aclose()
        return await readers.call(lambda _: "free")

    assert with_readers(use) == "free"


def test_the_descriptor_of_a_pipe_is_closed_once():
    # A connection of a client may get its number before the event loop runs again.
    async def read():
        reading, writing = os.pipe()
        _send(writing, _RESULT, "result")
        os.close(writing)
        assert await _result(reading, None) == "result"
        opened = os.open(os.devnull, os.O_RDONLY)
        assert opened == reading
        for _ in range(5):
            await asyncio.sleep(0)
        os.close(opened)

    uvloop.run(read())


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a server."""


def handled(_number: int, _frame: object) -> None:
    """A handler of the server."""


def test_a_reader_has_nothing_of_the_server_but_its_memory():
    async def use(_, readers):
        kept = os.open(os.devnull, os.O_RDONLY)
        prepared: list[str] = []

        def state(_):
            signals = [signal.getsignal(number) for number in ENDING]
            try:
                os.fstat(kept)
                is_open = True
            except OSError:
                is_open = False
            return (
                prepared, is_open, signals, gc.isenabled(), logging.root.manager.disable,
                signal.set_wakeup_fd(-1),
            )  # fmt: skip

        try:
            return await readers.call(state, prepare=lambda: prepared.append("prepared"))
        finally:
            os.close(kept)

    before = [signal.signal(number, handled) for number in ENDING]
    try:
        found = with_readers(use)
        assert [signal.getsignal(number) for number in ENDING] == [handled] * 3
    finally:
        for number, handler in zip(ENDING, before, strict=True):
            signal.signal(number, handler)
    assert found == (
        ["prepared"], False, [signal.SIG_DFL] * 3, False, logging.CRITICAL, -1,
    )  # fmt: skip


def open_descriptors() -> list[int]:
    found = []
    for descriptor in range(1024):
        try:
            os.fstat(descriptor)
        except OSError:
            continue
        found.append(descriptor)
    return found


def test_a_reader_has_the_standard_streams_and_its_pipe():
    standard = [each for each in open_descriptors() if each < 3]
    found = with_readers(lambda _, readers: readers.call(lambda _: open_descriptors()))
    assert found[:-1] == standard
    assert found[-1] > 2


@pytest.mark.parametrize("number", ENDING)
def test_an_ignored_signal_stays_ignored_in_a_reader(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        found = with_readers(lambda _, readers: readers.call(lambda _: signal.getsignal(number)))
    finally:
        signal.signal(number, before)
    assert found == signal.SIG_IGN


def test_at_most_two_readers_run_at_a_time(tmp_path):
    release = tmp_path / "release"

    async def use(turns, readers):
        begun: list[object] = []

        def wait(report):
            report(None)
            while not release.is_file():
                time.sleep(0.001)

        reading = [
            asyncio.create_task(readers.call(wait, progressed=begun.append)) for _ in range(3)
        ]
        while len(begun) < 2:  # noqa: ASYNC110 - reports of processes
            await asyncio.sleep(0.001)
        await pod_created(turns, "web")
        running = len(begun)
        release.touch()
        await asyncio.gather(*reading)
        return running, len(begun)

    assert with_readers(use) == (2, 3)
    assert READERS_MAX == 2


def test_too_deep_a_recursion_in_a_reader_is_an_error_with_its_text():
    def deep(_):
        error: Any = RecursionError("too deep")
        error.document = threading.Lock()  # which cannot be sent
        raise error

    async def use(_, readers):
        with pytest.raises(RecursionError, match=r"^too deep$"):
            await readers.call(deep)

    with_readers(use)


def test_a_pipe_without_data_is_read_again_without_an_error(monkeypatch, caplog):
    reads = iter([BlockingIOError(), b"ab", b"c", b""])

    def read(*_):
        found = next(reads)
        if isinstance(found, OSError):
            raise found
        return found

    async def main():
        pipe, writing = os.pipe()
        os.close(writing)  # it can be read from now on
        monkeypatch.setattr(os, "read", read)
        with _received(pipe) as received:
            return await received.read()

    assert uvloop.run(main()) == b"abc"
    assert not caplog.records
