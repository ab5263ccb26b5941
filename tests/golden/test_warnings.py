"""Warnings of writes, as kube-apiserver 1.36 sends them (record_warnings.py)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.replay import DirectServer

from podwright.cluster.api.endpoints import HttpRequest

WARNINGS = Path(__file__).parent / "warnings.jsonl.gz"


def recorded() -> Iterator[dict[str, Any]]:
    with gzip.open(WARNINGS, "rt") as lines:
        yield from map(json.loads, lines)


@pytest.mark.golden
def test_a_write_gets_the_recorded_warnings():
    server, differing = DirectServer(), []
    for each in recorded():
        headers = {"authorization": "Bearer admin-token", "accept": "application/json"}
        if each["contentType"]:
            headers["content-type"] = each["contentType"]
        path, _, query = each["path"].partition("?")
        body = b"" if each["body"] is None else json.dumps(each["body"]).encode()
        answer = server.send(HttpRequest(each["method"], path, query, headers, body))
        found = answer.headers.get("warning", "")
        message = json.loads(answer.body)["message"] if answer.status >= 400 else ""
        expected = (each["status"], ", ".join(each["warnings"]), each["message"])
        if (answer.status, found, message) != expected:
            differing.append((each, answer.status, found, message))
    assert not differing


def test_the_recorded_writes_with_warnings_are_many():
    exchanges = list(recorded())
    assert len(exchanges) == 183
    assert sum(bool(each["warnings"]) for each in exchanges) == 99
