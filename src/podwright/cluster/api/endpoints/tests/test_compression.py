"""Long replies are compressed for clients that accept it."""

from __future__ import annotations

import gzip
import zlib

import pytest

from podwright.cluster.api.endpoints.replies.responses import compressed
from podwright.cluster.api.endpoints.request import HttpReply, HttpRequest

LONG = 128 * 1024 + 1
JSON = (("content-type", "application/json"),)


def sent(reply, accepted="deflate, gzip", path="/api/v1/pods"):
    return compressed(HttpRequest("GET", path, headers={"accept-encoding": accepted}), reply)


def test_a_long_reply():
    found = sent(HttpReply(200, JSON, b"a" * LONG))
    assert gzip.decompress(found.body) == b"a" * LONG
    assert (found.header("content-encoding"), found.header("vary")) == ("gzip", "Accept-Encoding")
    assert found.header("content-type") == "application/json"


@pytest.mark.parametrize(
    ("size", "accepted", "path"),
    [
        pytest.param(LONG - 1, "gzip", "/api/v1/pods", id="a short one"),
        pytest.param(LONG, "br, gzip;q=1", "/api/v1/pods", id="a client that does not accept it"),
        pytest.param(LONG, "", "/api/v1/pods", id="a client that says nothing"),
        pytest.param(LONG, "gzip", "/openapi/v3/api/v1", id="a document that never is"),
    ],
)
def test_another_reply_is_sent_as_it_is(size, accepted, path):
    reply = HttpReply(200, JSON, b"a" * size)
    assert sent(reply, accepted, path) is reply


def test_a_reply_in_parts():
    parts = [bytes([65 + number]) * 70_000 for number in range(5)]
    found = sent(HttpReply(200, JSON, parts[0], iter(parts[1:])))
    body = found.body + b"".join(found.rest)
    assert zlib.decompress(body, 16 + zlib.MAX_WBITS) == b"".join(parts)
    assert found.header("content-encoding") == "gzip"


def test_short_parts_are_sent_together():
    found = sent(HttpReply(200, JSON, b"a", iter([b"b", b"c"])))
    assert (found.body, found.rest, found.headers) == (b"abc", None, JSON)
