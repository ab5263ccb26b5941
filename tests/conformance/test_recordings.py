"""Each recording agrees in as many exchanges as `agreements.toml` says, neither fewer nor more."""

from __future__ import annotations

import gzip
import tomllib
from pathlib import Path

import msgspec
import pytest
from tests.conformance.__main__ import main, replay_over_http
from tests.conformance.recordings import read_recording
from tests.conformance.replay import RECORDINGS, replay

FILES = sorted(RECORDINGS.glob("**/*.jsonl.gz"))
AGREEMENTS = tomllib.loads((Path(__file__).parent / "agreements.toml").read_text())


def name_of(path: Path) -> str:
    """Return the name of a recording in the table."""
    return path.name.removesuffix(".jsonl.gz").removesuffix("-a")


@pytest.mark.conformance
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_recording_agrees_as_before(path):
    compared = replay(path)
    agreed = sum(not each.differences for each in compared)
    assert agreed == AGREEMENTS[name_of(path)], (
        f"python -m tests.conformance {path} shows the differences; the table needs the new number"
    )


@pytest.mark.conformance
@pytest.mark.parametrize("name", ["headers", "watch", "expired", "errors", "protobuf"])
def test_a_recording_agrees_over_http_as_without_a_socket(name):
    path = RECORDINGS / f"{name}-a.jsonl.gz"
    compared = replay_over_http(path)
    assert sum(not each.differences for each in compared) == AGREEMENTS[name]


def test_every_recording_is_in_the_table():
    assert sorted(AGREEMENTS) == sorted(map(name_of, FILES))


def test_nothing_replayed_is_a_failure(tmp_path):
    empty = tmp_path / "empty.jsonl.gz"
    empty.write_bytes(gzip.compress(b""))
    assert main([str(empty)]) == 1


def test_a_difference_is_a_failure(tmp_path, capsys):
    (first, *_) = read_recording(RECORDINGS / "errors-a.jsonl.gz")
    response = first.response | {"status": 200}
    changed = msgspec.structs.replace(first, response=response)
    path = tmp_path / "changed.jsonl.gz"
    path.write_bytes(gzip.compress(msgspec.json.encode(changed)))
    assert main([str(path)]) == 1
    assert "status: expected 200, got 404" in capsys.readouterr().out


def test_an_unreadable_file_is_wrong_input(tmp_path, capsys):
    assert main([str(tmp_path / "absent.jsonl.gz")]) == 2
    assert "absent.jsonl.gz" in capsys.readouterr().err
