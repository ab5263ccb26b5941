"""What endpoints answer from logs and documents, without a server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from starlette.exceptions import HTTPException

from podwright.cluster.api.endpoints import HttpReply, HttpRequest
from podwright.online.apiserver.cluster_client import RequestFailed
from podwright.online.apiserver.control.application import _defect, _http_exception
from podwright.online.apiserver.control.openapi import describe
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.control.runs import _Opened
from podwright.online.apiserver.control.tables import (
    NODE_SHARES,
    SampleParameters,
    TableParameters,
    _sample_ns,
    _table,
)
from podwright.online.apiserver.records.run_collection import _packed
from podwright.online.apiserver.records.snapshots import _found
from podwright.online.apiserver.scheduling.plugin_monitor import _traceback_text
from podwright.scheduler.framework import Plugin
from podwright.simulation.recording import LogError, UnknownCycle
from podwright.simulation.recording.log.record import record
from podwright.simulation.recording.tests.recording import SECOND_NS, Recorded
from podwright.testing import make_node, make_pod

GET = HttpRequest("GET", "/api/v1/nodes/n", "", {}, b"")


# ------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"message": "gone"}', "gone"),
        (b'{"message": 5}', "5"),
        (b"{}", "status 500"),
        (b"[]", "status 500"),
        (b"<html>", "status 500"),
    ],
)
def test_a_failed_request_has_the_message_of_the_server_or_its_status(body, message):
    error = RequestFailed(GET, HttpReply(500, (), body))
    assert (str(error), error.status) == (f"GET /api/v1/nodes/n: {message}", 500)


class Client:
    def __init__(self, status: int, body: bytes) -> None:
        self.reply = HttpReply(status, (), body)

    async def body_of(self, request: HttpRequest) -> Any:
        if self.reply.status >= 400:
            raise RequestFailed(request, self.reply)
        return self.reply.body


def test_only_an_object_that_does_not_exist_is_none():
    def found(status: int, body: bytes) -> Any:
        client: Any = Client(status, body)
        return asyncio.run(_found(client, GET))

    assert found(200, b'{"a": 1}') == {"a": 1}
    assert found(404, b"{}") is None
    with pytest.raises(RequestFailed) as error:
        found(500, b"{}")
    assert error.value.status == 500


def answered(handler: Any, error: Exception) -> tuple[int, Any, dict[str, str]]:
    request: Any = SimpleNamespace(method="PUT", url=SimpleNamespace(path="/nodes"))
    response = asyncio.run(handler(request, error))
    return response.status_code, msgspec.json.decode(response.body)["detail"], response.headers


def test_errors_of_the_router_are_problems():
    assert answered(_http_exception, HTTPException(404, "x"))[:2] == (404, "there is no /nodes")
    status, detail, headers = answered(
        _http_exception, HTTPException(405, "x", headers={"Allow": "POST, GET"})
    )
    assert (status, headers["Allow"]) == (405, "GET, POST")
    assert detail == "PUT is not possible here; use GET, POST"
    status, detail, headers = answered(
        _http_exception, HTTPException(413, "too large", headers={"X-Limit": "5"})
    )
    assert (status, detail, headers["X-Limit"]) == (413, "too large", "5")


def test_a_cancelled_request_is_no_defect():
    with pytest.raises(asyncio.CancelledError):
        answered(_defect, asyncio.CancelledError())  # type: ignore[arg-type]


class UnshownError(Exception):
    def __str__(self) -> str:
        raise KeyError("x")


def test_an_exception_of_a_plugin_is_shown_with_its_frames():
    def broken(error: Exception) -> Exception:
        try:
            raise error
        except type(error) as found:
            return found

    text = _traceback_text(broken(ValueError("wrong")))
    assert text.endswith("ValueError: wrong\n")
    assert "UnshownError" in _traceback_text(broken(UnshownError()))


# ------------------------------------------------------------------------------ documents


def test_a_schema_without_a_description_is_as_it_was():
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    before = msgspec.json.encode(schema)
    describe(schema)
    assert msgspec.json.encode(schema) == before


def test_a_file_that_becomes_shorter_while_it_is_packed_is_an_error(tmp_path: Path):
    file = tmp_path / "run" / "log"
    file.parent.mkdir()
    file.write_bytes(b"12345")
    assert b"".join(_packed(tmp_path / "run"))[512:517] == b"12345"
    parts = _packed(tmp_path / "run")
    assert b"run/log" in next(parts)
    file.write_bytes(b"1")
    assert next(parts) == b"1"
    with pytest.raises(Exception, match="log became shorter while it was read"):
        next(parts)


# ------------------------------------------------------------------------------ tables


@pytest.mark.parametrize(
    ("parameters", "sample_ns"),
    [
        (TableParameters(), 60 * SECOND_NS),
        (SampleParameters(), 60 * SECOND_NS),
        (SampleParameters(sample="2s"), 2 * SECOND_NS),
    ],
)
def test_samples_are_a_minute_apart_by_default(parameters, sample_ns):
    assert _sample_ns(parameters) == sample_ns


@pytest.mark.parametrize("sample", ["0s", "soon"])
def test_the_time_between_samples_is_positive(sample):
    with pytest.raises(Problem) as error:
        _sample_ns(SampleParameters(sample=sample))
    assert (error.value.status, error.value.field) == (422, "sample")


def served(run: Recorded) -> Any:
    return SimpleNamespace(
        world=SimpleNamespace(log=run.run.log), options=SimpleNamespace(plugins=())
    )


def test_a_table_has_the_last_rows_and_times_since_its_start():
    run = Recorded()
    run.now_ns = 5 * SECOND_NS
    run.put(make_node("n1", cpu="4"))
    for name in ("a", "b", "c"):
        run.attempt(make_pod(name, cpu="1"))
    now_ns = 20 * SECOND_NS
    whole = _table(served(run), "decisions", SECOND_NS, now_ns, None)
    assert (whole.start, whole.rows) == ("1970-01-01T00:00:05.000000000Z", 3)
    assert whole.columns["pod"] == ["a", "b", "c"]
    assert whole.columns["time"] == [SECOND_NS, 2 * SECOND_NS, 3 * SECOND_NS]
    last = _table(served(run), "decisions", SECOND_NS, now_ns, 2)
    assert last.rows == 3
    assert last.columns == {name: values[1:] for name, values in whole.columns.items()}
    assert _table(served(run), "decisions", SECOND_NS, now_ns, 9).columns == whole.columns
    shares = _table(served(run), NODE_SHARES, SECOND_NS, now_ns, 1)
    assert shares.rows > 1
    assert shares.columns["time"][0] > 0


def test_a_table_of_a_log_without_events_starts_now():
    empty = _table(served(Recorded()), "decisions", SECOND_NS, 7 * SECOND_NS, None)
    assert (empty.start, empty.rows) == ("1970-01-01T00:00:07.000000000Z", 0)


# ------------------------------------------------------------------------------ runs


class Own(Plugin):
    name = "Own"


class Second(Plugin):
    name = "Second"


def test_a_recorded_run_is_read_with_its_plugins(tmp_path: Path):
    recorded = Recorded(Own, Second)
    recorded.run = record(str(tmp_path / "log"), plugins=[Own, Second])
    recorded.put(make_node("n1", cpu="4", labels={"zone": "a"}))
    recorded.attempt(make_pod("p", cpu="1"))
    recorded.run.log.close()
    with pytest.raises(LogError) as error:
        _Opened(tmp_path, [Second])
    assert str(error.value) == (
        "the run was recorded with plugins that the server does not have: Own;"
        " start it with --plugin FILE"
    )
    found = _Opened(tmp_path, iter([Own, Second]))
    assert msgspec.json.decode(found.nodes())["labels"]["n1"]["zone"] == "a"
    (attempt,) = msgspec.json.decode(found.attempts("default/p"))["attempts"]
    assert (attempt["outcome"], attempt["node"]) == ("Scheduled", "n1")
    with pytest.raises(UnknownCycle) as unknown:
        found.attempts("default/q")
    assert str(unknown.value) == "pod default/q has no scheduling attempt in this run"
    assert found.timeline().startswith(b"PWT")
    whole = msgspec.json.decode(found.explanation("default/p", -1, None, "full"))
    summary = msgspec.json.decode(found.explanation("default/p", -1, None, "summary"))
    matrix = msgspec.json.decode(found.explanation("default/p", -1, None, "matrix"))
    assert whole.keys() - summary.keys() or whole != summary
    assert matrix.keys() != whole.keys()
    found.log.close()
