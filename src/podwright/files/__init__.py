"""Files in and out: manifests, snapshots, records of a cluster and logs of its scheduler.

Reads bytes and gives objects, or lines with their times; writes snapshots. It knows the store's
kinds, and neither a scheduler nor a simulation.

Start with `manifests.py`.
"""

from podwright.files.manifests import STDIN_SOURCE, LoadedObjects, load, load_bytes, read_paths
from podwright.files.record import (
    MAX_STEP_BACK_NS,
    ChangeType,
    Record,
    RecordLine,
    RecordReader,
    file_lines,
    load_record,
    numbered_lines,
    read_record,
)
from podwright.files.scheduler_log import LogLine, SchedulerLog, load_scheduler_log
from podwright.files.snapshot import (
    DEFAULT_CONFIGURATION,
    is_in_snapshot,
    missing_namespaces,
    write_snapshot,
)

__all__ = [
    "DEFAULT_CONFIGURATION",
    "MAX_STEP_BACK_NS",
    "STDIN_SOURCE",
    "ChangeType",
    "LoadedObjects",
    "LogLine",
    "Record",
    "RecordLine",
    "RecordReader",
    "SchedulerLog",
    "file_lines",
    "is_in_snapshot",
    "load",
    "load_bytes",
    "load_record",
    "load_scheduler_log",
    "missing_namespaces",
    "numbered_lines",
    "read_paths",
    "read_record",
    "write_snapshot",
]
