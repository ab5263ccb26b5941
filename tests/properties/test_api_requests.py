"""Requests of every kind, mutilated: each gets a reply, and a rejected one changes nothing."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.conformance.recordings import read_recording
from tests.conformance.replay import RECORDINGS, START_NS
from tests.properties.effort import effort

from podwright.cluster.api.endpoints import (
    BARE_TOKENS,
    ApiServer,
    HttpReply,
    HttpRequest,
    bare_options,
    bare_store,
)

ADMIN = BARE_TOKENS["admin-token"]
_SECOND_NS = 1_000_000_000


def recorded_requests() -> list[dict[str, Any]]:
    """Return the distinct requests of all recordings, without those that need earlier replies."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(Path(RECORDINGS).glob("*.jsonl.gz")):
        for exchange in read_recording(path):
            text = json.dumps(exchange.request, sort_keys=True)
            if "${" not in text:
                found[text] = exchange.request
    return list(found.values())


REQUESTS = recorded_requests()

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "x", "-1", "1Gi", "2020-01-01T00:00:00Z", "a/b/c", "é", "x" * 300, "\n"]),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["name", "key", "spec", "a", ""]), inner, max_size=3),
    ),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values in a document."""
    found = [path]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += places(inner, (*path, index))
    return found


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a document with another value at a path."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


@st.composite
def requests(draw: st.DrawFn) -> HttpRequest:
    """Draw a recorded request with some values of its body, path or query replaced."""
    recorded = draw(st.sampled_from(REQUESTS))
    body = recorded["body"]
    data = b""
    if isinstance(body, dict) and "protobuf_b64" in body:
        data = base64.b64decode(body["protobuf_b64"])
        cut = draw(st.integers(0, len(data)))
        data = data[:cut] + draw(st.binary(max_size=4)) + data[cut:]
    elif isinstance(body, str):
        data = body.encode()
    elif body is not None:
        for _ in range(draw(st.integers(0, 3))):
            body = replaced(body, draw(st.sampled_from(places(body))), draw(values))
        data = json.dumps(body).encode()
    path, query = recorded["path"], recorded["query"] or ""
    if draw(st.booleans()):
        parts = path.split("/")
        index = draw(st.integers(0, len(parts) - 1))
        parts[index] = draw(st.sampled_from(["", "default", "nosuch", "p1", "status", "pods", "%"]))
        path = "/".join(parts)
    if draw(st.booleans()):
        extra = draw(
            st.sampled_from(
                ["limit=x", "limit=-1", "resourceVersion=z", "fieldSelector=a%3Db", "dryRun=All",
                 "labelSelector=%21%21", "fieldValidation=Strict", "continue=x", "watch=1",
                 "force=true", "propagationPolicy=Orphan", "gracePeriodSeconds=5", "%zz=1"]
            )
        )  # fmt: skip
        query = f"{query}&{extra}" if query else extra
    headers = {name.lower(): value for name, value in recorded["headers"].items()}
    return HttpRequest(recorded["method"], path, query, headers, data)


def check(drawn: list[HttpRequest]) -> None:
    store = bare_store(START_NS)
    server = ApiServer(store, bare_options())
    now_ns = START_NS
    for request in drawn:
        now_ns += _SECOND_NS
        version = store.resource_version
        reply = server.handle(request, ADMIN, now_ns)
        if not isinstance(reply, HttpReply):
            reply.poll(now_ns)
            continue
        assert 200 <= reply.status < 600, reply
        # Upstream answers errors that it does not classify with 500, without a reason.
        assert reply.status != 500 or b'"reason"' not in reply.body, reply
        # An eviction charges the budget before its preconditions are checked, as upstream.
        if reply.status >= 400 and not request.path.endswith("/eviction"):
            assert store.resource_version == version, request
    store.validate()


@pytest.mark.property
@effort(60)
@given(st.lists(requests(), min_size=1, max_size=12))
def test_every_request_has_a_reply(drawn):
    check(drawn)


@pytest.mark.property
@pytest.mark.slow
@effort(10_000)
@given(st.lists(requests(), min_size=1, max_size=4))
def test_every_request_has_a_reply_many(drawn):
    check(drawn)
