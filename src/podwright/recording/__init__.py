"""What a scheduler did, recorded: the decision log, its checkpoints, and what is read from them.

The log is replayed to any moment; a past cycle is run again, explained, or run with a change.

Start with `decision_log.py`, then `replay.py` and `explain.py`. `log_format.py` is the format of
the bytes; `run_tables.py` and `tables.py` are the results as columns.
"""

from podwright.recording.decision_log import DecisionLog, Recorder
from podwright.recording.explain import Cycles, PastCycle, explain_cycle, find_cycle
from podwright.recording.gc_pause import without_collection
from podwright.recording.log_files import SUFFIX
from podwright.recording.log_format import Entry, LogError, Objects, Setup, encode_actions
from podwright.recording.log_objects import decode_objects, encode_objects
from podwright.recording.outcome import AttemptOutcome, OutcomeKind, find_outcome
from podwright.recording.pending_reasons import held_back
from podwright.recording.record import class_name, record
from podwright.recording.record_writing import (
    initial_lines,
    record_line,
    record_of_log,
    write_record,
)
from podwright.recording.recorded_state import ClusterAt, PendingPod, QueueAt, cluster_of, queue_of
from podwright.recording.resumption import resume
from podwright.recording.run_folder import (
    Checkpoint,
    InputFile,
    Manifest,
    Rows,
    RunError,
    RunFolder,
    arrow_table,
    require_arrow,
    sha256_of,
    sha256_of_file,
)
from podwright.recording.run_tables import (
    FOREIGN,
    GATED,
    TABLES,
    Counts,
    RunTables,
    RunTablesState,
    joined,
    tables_of_log,
)
from podwright.recording.stepping import Moment, Stepper

__all__ = [
    "FOREIGN",
    "GATED",
    "SUFFIX",
    "TABLES",
    "AttemptOutcome",
    "Checkpoint",
    "ClusterAt",
    "Counts",
    "Cycles",
    "DecisionLog",
    "Entry",
    "InputFile",
    "LogError",
    "Manifest",
    "Moment",
    "Objects",
    "OutcomeKind",
    "PastCycle",
    "PendingPod",
    "QueueAt",
    "Recorder",
    "Rows",
    "RunError",
    "RunFolder",
    "RunTables",
    "RunTablesState",
    "Setup",
    "Stepper",
    "arrow_table",
    "class_name",
    "cluster_of",
    "decode_objects",
    "encode_actions",
    "encode_objects",
    "explain_cycle",
    "find_cycle",
    "find_outcome",
    "held_back",
    "initial_lines",
    "joined",
    "queue_of",
    "record",
    "record_line",
    "record_of_log",
    "require_arrow",
    "resume",
    "sha256_of",
    "sha256_of_file",
    "tables_of_log",
    "without_collection",
    "write_record",
]
