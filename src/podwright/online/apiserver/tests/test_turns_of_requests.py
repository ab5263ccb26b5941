"""The turns that a request of podwright's own API waits for, and replies in parts."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from podwright.cluster.api.endpoints import HttpReply
from podwright.online.apiserver.breakpoints import read_condition
from podwright.online.apiserver.cluster import Cluster
from podwright.online.apiserver.control.clock import (
    ClockSpeed,
    ClockStep,
    ClockTarget,
    _Clock,
    clock_endpoints,
)
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.control.scheduling.queue import queue_endpoints
from podwright.online.apiserver.control.writes import node_endpoints
from podwright.online.apiserver.records import run_collection
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of
from podwright.online.apiserver.wire import sending
from podwright.scheduler.framework import Scores
from podwright.simulation.recording import RunFolder
from podwright.testing import make_pod

NOW_NS = START_NS + 5


class Turns:
    """A turn loop that records what is waited for."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.is_caught_up = True
        self.waited: list[str] = []
        self.clock = SimpleNamespace(
            now_ns=lambda: NOW_NS, speed=2.0, is_paused=True, pause=lambda: self.log("pause"),
            resume=lambda: self.log("resume"), set_speed=lambda speed: self.log(f"speed {speed}"),
            run_to=lambda time_ns: self.log(f"run to {time_ns - START_NS}"),
        )  # fmt: skip

    def log(self, what: str) -> None:
        self.waited.append(what)

    async def reach(self, time_ns: int) -> None:
        self.waited.append(f"reach {time_ns - START_NS}")

    async def call(self, function: Any) -> Any:
        self.waited.append("call")
        return function(NOW_NS)

    def go_on(self) -> None:
        self.waited.append("go on")

    def wake(self) -> None:
        self.waited.append("wake")


def endpoint_of(endpoints: Any, method: str, path: str) -> Any:
    (found,) = [each for each in endpoints if (each.method, each.path) == (method, path)]
    return found.handler


def answered(handler: Any, **parts: str) -> Any:
    request: Any = SimpleNamespace(path_params=parts, query_params={}, headers={})
    return asyncio.run(handler(request))


def test_a_pod_is_moved_after_what_is_due_and_shown_after_what_follows():
    cluster = cluster_of(0)
    cluster.world.add(make_pod("p", cpu="1"))
    with cluster.store.batch():
        cluster.catch_up(START_NS, lambda: False)
    turns: Any = Turns(cluster)
    move = endpoint_of(queue_endpoints(turns), "POST", "/queue/{namespace}/{name}/move")
    answered(move, namespace="default", name="p")
    assert turns.waited == ["reach 5", "call", "reach 5", "call"]


@pytest.mark.parametrize("what", ["fail", "restore"])
def test_a_node_fails_after_what_is_due_and_is_listed_after_what_follows(what):
    cluster = cluster_of(1)
    with cluster.store.batch():
        cluster.catch_up(START_NS, lambda: False)
    turns: Any = Turns(cluster)
    operate = endpoint_of(node_endpoints(turns), "POST", f"/nodes/{{name}}/{what}")
    found = answered(operate, name="node-0")
    assert turns.waited == ["reach 5", "call", "reach 5", "call"]
    assert (b"node-0" in found.body) is (what == "fail")


TEN_YEARS_NS = 3_660 * 86_400 * 10**9


@pytest.mark.parametrize(
    ("method", "body", "waited", "problem"),
    [
        ("set_speed", ClockSpeed(speed=3.0), ["speed 3.0", "wake"], ""),
        ("step", ClockStep(duration="1ns"), ["run to 6", "go on", "reach 6"], ""),
        ("step", ClockStep(duration="0s"), [], "must be positive, and at most ten years"),
        (
            "step",
            ClockStep(duration=f"{TEN_YEARS_NS}ns"),
            [f"run to {TEN_YEARS_NS + 5}", "go on", f"reach {TEN_YEARS_NS + 5}"],
            "",
        ),
        (
            "step",
            ClockStep(duration=f"{TEN_YEARS_NS + 1}ns"),
            [],
            "must be positive, and at most ten years",
        ),
        (
            "run_to",
            ClockTarget(time="2027-01-15T08:00:00.000000005Z"),
            ["run to 5", "go on", "reach 5"],
            "",
        ),
        (
            "run_to",
            ClockTarget(time="2027-01-15T08:00:00.000000004Z"),
            [],
            "has passed: it is 2027-01-15T08:00:00.000000005Z in the cluster",
        ),
        ("run_to", ClockTarget(time="2038-01-15T08:00:00Z"), [], "is more than ten years ahead"),
    ],
)
def test_a_change_of_the_clock_starts_a_turn_and_a_step_waits_for_its_end(
    method: str, body: Any, waited: list[str], problem: str
) -> None:
    turns: Any = Turns(cluster_of(0))
    try:
        asyncio.run(getattr(_Clock(turns), method)(body))
        found = ""
    except Problem as error:
        found = error.detail
    assert (turns.waited, found) == (waited, problem)


def test_the_clock_says_whether_all_is_done_and_where_it_has_stopped():
    cluster = cluster_of(1)
    turns: Any = Turns(cluster)
    endpoints = clock_endpoints(turns)
    show = endpoint_of(endpoints, "GET", "/clock")

    def state() -> Any:
        return json.loads(answered(show).body)

    assert state() == {
        "time": "2027-01-15T08:00:00.000000005Z", "speed": 2.0, "isPaused": True,
        "isCaughtUp": True, "stoppedAt": None,
    }  # fmt: skip
    turns.is_caught_up = False
    assert state()["isCaughtUp"] is False
    turns.is_caught_up = True
    cluster.breakpoints.hit = SimpleNamespace(breakpoint=3)  # type: ignore[assignment]
    assert (state()["isCaughtUp"], state()["stoppedAt"]) == (False, 3)
    answered(endpoint_of(endpoints, "POST", "/clock/pause"))
    answered(endpoint_of(endpoints, "POST", "/clock/resume"))
    assert turns.waited == ["pause", "reach 5", "resume", "go on"]


def test_whether_a_score_is_above_the_limit_is_a_boolean():
    condition = read_condition("point=Score,score-above=5")
    method: Any = SimpleNamespace(point="Score")
    for values, rows, is_above in [
        ([1, 6], [0, 1], True),
        ([1, 6], [0], False),
        ([5, 5], [0, 1], False),
        ([9, 9], [], False),
    ]:
        scores = Scores.__new__(Scores)
        scores.values, scores.rows = np.array(values), np.array(rows, dtype=np.int64)
        assert condition._is_above(method, (scores,), None) is is_above
    assert condition._is_above(method, (), 6) is True
    assert condition._is_above(method, (), 5) is False
    other: Any = SimpleNamespace(point="Filter")
    assert condition._is_above(other, (), 6) is False


@pytest.mark.parametrize(
    ("results", "entry"),
    [
        (
            SimpleNamespace(
                counts={"placed": 7, "preemptions": 2}, pending={"a": 3, "b": 4},
                waits={"maxSeconds": 1.5}, end="e",
            ),
            (7, 7, 2, 1.5, "e"),
        ),
        (SimpleNamespace(counts={}, pending={}, waits={}, end=None),
         (None, None, None, None, None)),
        (SimpleNamespace(counts={"placed": 0}, pending={}, waits={}, end="e"),
         (0, 0, None, None, "e")),
    ],
)  # fmt: skip
def test_a_run_is_listed_with_its_figures(monkeypatch, results, entry):
    manifest = SimpleNamespace(status="ended", start_ns=NOW_NS, seed=4, podwright="1.0")
    run = SimpleNamespace(has_results=True, read_summary=lambda _: results, manifest=manifest)
    monkeypatch.setattr(RunFolder, "open", lambda _: run)
    found = run_collection._entry(Path("folder/first"))
    assert (
        found.placed, found.pending, found.preemptions, found.longest_wait_seconds, found.end_time
    ) == entry  # fmt: skip
    assert (found.id, found.status, found.start_time, found.seed, found.podwright) == (
        "first", "ended", "2027-01-15T08:00:00.000000005Z", 4, "1.0",
    )  # fmt: skip


def sent_in_parts(rest: Iterator[bytes]) -> tuple[list[Any], list[str]]:
    """Return the messages of a reply, and what happened to its connection."""
    messages: list[Any] = []
    happened: list[str] = []

    async def send(message: Any) -> None:
        messages.append(message)

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def main() -> None:
        connection = sending.Connection(receive, send, lambda: happened.append("aborted"), 60)
        reply = HttpReply(200, (("a", "b"),), b"first", rest)
        await sending.send_in_parts(connection, reply, sending.Pace())
        await asyncio.sleep(0)
        assert connection.gone.cancelled(), "the wait for the client has ended"

    asyncio.run(main())
    return messages, happened


START = {"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]}


def part(body: bytes) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": True}


def test_a_reply_in_parts_ends_with_an_empty_one():
    messages, happened = sent_in_parts(iter([b"second", b"third"]))
    assert messages == [
        START, part(b"first"), part(b"second"), part(b"third"),
        {"type": "http.response.body", "body": b""},
    ]  # fmt: skip
    assert happened == []


def test_no_more_parts_are_made_once_the_client_has_left():
    rest = iter([b"part"] * 100)
    messages: list[Any] = []

    async def main() -> None:
        left = asyncio.Event()

        async def send(message: Any) -> None:
            messages.append(message)
            if len(messages) == 5:
                left.set()

        async def receive() -> Any:
            await left.wait()
            return {"type": "http.disconnect"}

        connection = sending.Connection(receive, send, None, 60)
        reply = HttpReply(200, (), b"first", rest)
        await sending.send_in_parts(connection, reply, sending.Pace())

    asyncio.run(main())
    assert len(messages) < 10
    assert len(list(rest)) > 90
    assert messages[-1] == part(b"part")


def test_a_part_that_cannot_be_made_is_a_defect_and_ends_the_connection(caplog):
    def parts() -> Iterator[bytes]:
        yield b"second"
        raise ZeroDivisionError("broken")

    with caplog.at_level(logging.ERROR):
        messages, happened = sent_in_parts(parts())
    assert messages == [START, part(b"first"), part(b"second")]
    assert happened == ["aborted"]
    assert "a list" in caplog.text
    assert "broken" in caplog.text
