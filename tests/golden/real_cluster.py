"""The record of a real 1.36 control plane, compressed in `real`; its README describes the files.

Files are decompressed at each call: together they have more than a hundred megabytes, and
decompression takes half a second.
"""

import json
import tarfile
from pathlib import Path
from typing import Any

from podwright.simulation.files.record import Record, read_record
from podwright.simulation.files.scheduler_log import SchedulerLog, read_scheduler_log

PACKED = Path(__file__).parent / "real"
ARCHIVE_OF = {
    "record.jsonl": "cluster.tar.xz",
    "mid.json": "cluster.tar.xz",
    "end.json": "cluster.tar.xz",
    "scheduler.jsonl": "logs.tar.xz",
    "events.jsonl": "logs.tar.xz",
    "timeline.jsonl": "logs.tar.xz",
}


def content(name: str) -> bytes:
    """Return the content of one file of the record."""
    with tarfile.open(PACKED / ARCHIVE_OF[name], "r:xz") as archive:
        member = archive.extractfile(name)
        assert member is not None, f"{name} is not a file"
        return member.read()


def record() -> Record:
    """Return every change of every object, in order."""
    return read_record(content("record.jsonl"), source="record.jsonl")


def scheduler_log() -> SchedulerLog:
    """Return the log of the real scheduler, in order."""
    return read_scheduler_log(content("scheduler.jsonl"), source="scheduler.jsonl")


def events() -> list[dict[str, Any]]:
    """Return the states of the Event objects, in order."""
    lines = content("events.jsonl").splitlines()
    return [json.loads(line)["resource"] for line in lines]


def dump(name: str) -> list[dict[str, Any]]:
    """Return the objects in the dump of `kubectl get -o json` at the "mid" or the "end"."""
    items: list[dict[str, Any]] = json.loads(content(f"{name}.json"))["items"]
    return items
