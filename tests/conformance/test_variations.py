"""Variations are repeatable and write nothing; marks replace what always differs."""

from __future__ import annotations

from tests.conformance.marks import Marks
from tests.conformance.recordings import read_recording
from tests.conformance.replay import RECORDINGS
from tests.conformance.variations import Pool, Request, Variations

from podwright.apimachinery.schema import built_in

EXCHANGES = list(read_recording(RECORDINGS / "smp-a.jsonl.gz"))


def drawn(seed: str) -> list[tuple[str, Request]]:
    variations = Variations(Pool(EXCHANGES, built_in()), seed)
    return [each for exchange in EXCHANGES for each in variations.of(exchange, 5)]


def test_a_seed_gives_the_same_variations():
    assert drawn("1") == drawn("1")
    assert drawn("1") != drawn("2")


def test_each_variation_differs_from_the_recorded_request_and_is_a_dry_run():
    recorded = [exchange.request for exchange in EXCHANGES]
    for note, request in drawn("1"):
        assert note
        assert request not in recorded
        assert request["method"] in ("GET", "HEAD", "OPTIONS") or "dryRun" in request["query"]


def test_values_that_always_differ_become_marks():
    uid = "0b1c5a52-7a4b-4f0e-8a53-0d6f53c0a7c1"
    body = {
        "metadata": {
            "uid": uid, "resourceVersion": "4711", "creationTimestamp": "2026-03-02T10:00:00Z",
            "generateName": "web-", "name": "web-x7k2p",
        },
        "spec": {"clusterIP": "10.0.0.77", "ports": [{"nodePort": 30123, "port": 80}]},
        "message": f"the UID {uid} at 4711 is not at 12",
        "since": "2021-01-01T00:00:00Z",
    }  # fmt: skip
    assert Marks("2026-03-02").marked(body, "") == {
        "metadata": {
            "uid": "<uid>", "resourceVersion": "<rv>", "creationTimestamp": "<time>",
            "generateName": "web-", "name": "web-<gen5>",
        },
        "spec": {"clusterIP": "<ip>", "ports": [{"nodePort": "<nodePort>", "port": 80}]},
        "message": "the UID <uid> at <rv> is not at 12",
        "since": "2021-01-01T00:00:00Z",
    }  # fmt: skip


def test_values_of_the_request_stay():
    body = {"spec": {"clusterIP": "10.0.0.77", "ports": [{"nodePort": 30123}]}}
    assert Marks("2026-03-02").marked(body, '"10.0.0.77" 30123') == body


def test_ages_of_a_table_become_marks():
    table = {
        "kind": "Table",
        "columnDefinitions": [{"name": "Name"}, {"name": "Age"}],
        "rows": [{"cells": ["a", "3s"]}, {"cells": ["b", "<unknown>"]}],
    }
    rows = Marks("2026-03-02").marked(table, "")["rows"]
    assert [row["cells"] for row in rows] == [["a", "<age>"], ["b", "<unknown>"]]
