"""Recorded runs: the decision log, its checkpoints, and what is read from them.

The room records the events and actions of a machine, replays them to any time, explains or changes
a past cycle, and writes run folders with tables. It decides nothing: replay lets a machine handle
the recorded events again.

Start with `decision_log.py` and `log_reading.py` (the log), then `record.py`, `replay.py` and
`explain.py`. `log_format.py` is the format of the bytes; `run_folder.py`, `run_manifest.py`,
`run_tables.py` and `tables.py` are the results as files and columns.

An *entry* is an event with its time and its actions. A *checkpoint* is the state of the machine
between two events. A *moment* is the state after an event, as `run step` shows it. An attempt is
*open* from its decision until the pod is bound or the attempt fails. A *past cycle* is a cycle of
the log with the machine as it was before it. A *placement* is the node of a pod, or none; a
*scenario* is a cluster with the options of its scheduler.
"""

from podwright.simulation.recording.comparison.diff import (
    MOST_REASONS,
    RecordedRun,
    counted,
    decision_count,
    diff_runs,
    diff_scenarios,
    diff_with_each,
)
from podwright.simulation.recording.comparison.diff_documents import (
    SIDES,
    DiffDocument,
    PlacementDocument,
    diff_document,
    reason_document,
    typed_diff,
    typed_placement,
)
from podwright.simulation.recording.comparison.placement_diff import (
    CHANGES,
    Change,
    PlacementDiff,
    PodDifference,
    Reasons,
    ResourceUse,
)
from podwright.simulation.recording.comparison.placements import PodPlacement, is_movable_pod
from podwright.simulation.recording.comparison.run_placements import placements_of_run
from podwright.simulation.recording.comparison.scenario import Scenario
from podwright.simulation.recording.explanations import (
    QUEUE_LABELS,
    Attempt,
    ExplanationDocument,
    ExplanationMatrix,
    ExplanationView,
    NodeResult,
    RecordedOutcome,
    RemedyChange,
    RemedyRequests,
    ReplicaOutcome,
    WorkloadView,
    attempts_of,
    decision_document,
    explanation_document,
    explanation_matrix,
    explanation_of_pod,
    extender_name,
    node_results,
    nomination_of,
    ordered_candidates,
    outcome_of,
    preemption_of,
    present_view,
    recorded_view,
    rejections_of,
    remedy_changes,
    typed_explanation,
    view_of_pod,
    without_nodes,
)
from podwright.simulation.recording.explanations.explain import (
    Cycles,
    PastCycle,
    UnknownCycle,
    explain_cycle,
    explain_cycles,
    find_cycle,
    select_cycles,
)
from podwright.simulation.recording.explanations.outcome import (
    AttemptOutcome,
    OutcomeKind,
    find_outcome,
)
from podwright.simulation.recording.explanations.past_advice import past_advice
from podwright.simulation.recording.explanations.pending_reasons import held_back
from podwright.simulation.recording.folders.arrow_tables import arrow_table, require_arrow
from podwright.simulation.recording.folders.field_names import camel_case
from podwright.simulation.recording.folders.recorded_state import (
    ClusterAt,
    PendingPod,
    QueueAt,
    cluster_of,
    queue_of,
)
from podwright.simulation.recording.folders.resumption import resume, resume_log
from podwright.simulation.recording.folders.run_contents import (
    end_of_run,
    labels_of_nodes,
    start_of_run,
    timeline_of_run,
)
from podwright.simulation.recording.folders.run_folder import Checkpoint, Rows, RunFolder
from podwright.simulation.recording.folders.run_manifest import (
    InputFile,
    Manifest,
    RunError,
    sha256_of,
    sha256_of_file,
)
from podwright.simulation.recording.folders.run_tables import (
    FOREIGN,
    GATED,
    TABLES,
    Counts,
    RunTables,
    RunTablesState,
    joined,
)
from podwright.simulation.recording.folders.stepping import Moment, Stepper
from podwright.simulation.recording.gc_pause import gc_paused
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_files import SUFFIX
from podwright.simulation.recording.log.log_format import (
    Entry,
    LogError,
    Objects,
    Setup,
    encode_actions,
)
from podwright.simulation.recording.log.log_objects import decode_objects, encode_objects
from podwright.simulation.recording.log.log_tables import SHARE_CLASSES, NodeShares, tables_of_log
from podwright.simulation.recording.log.record import class_name, new_machine, options_of, record
from podwright.simulation.recording.log.record_writing import (
    initial_lines,
    record_line,
    record_of_log,
    write_record,
)
from podwright.simulation.recording.log.recorder import EventFeed, Recorder
from podwright.simulation.recording.log.replay import replay
from podwright.simulation.recording.log.rotation import RotatingRecorder
from podwright.simulation.recording.log.saved_case import (
    case_text,
    decode_case,
    encode_case,
    save_cycle,
)
from podwright.simulation.recording.log.verification import Difference
from podwright.simulation.recording.timelines import (
    TIMELINE_MEDIA_TYPE,
    CountPods,
    PresentState,
    Timeline,
    TimelineFeed,
    counted_pods,
    decode_chunks,
    encode_chunks,
    timeline_of_log,
)

__all__ = [
    "CHANGES",
    "FOREIGN",
    "GATED",
    "MOST_REASONS",
    "QUEUE_LABELS",
    "SHARE_CLASSES",
    "SIDES",
    "SUFFIX",
    "TABLES",
    "TIMELINE_MEDIA_TYPE",
    "Attempt",
    "AttemptOutcome",
    "Change",
    "Checkpoint",
    "ClusterAt",
    "CountPods",
    "Counts",
    "Cycles",
    "DecisionLog",
    "DiffDocument",
    "Difference",
    "Entry",
    "EventFeed",
    "ExplanationDocument",
    "ExplanationMatrix",
    "ExplanationView",
    "InputFile",
    "LogError",
    "Manifest",
    "Moment",
    "NodeResult",
    "NodeShares",
    "Objects",
    "OutcomeKind",
    "PastCycle",
    "PendingPod",
    "PlacementDiff",
    "PlacementDocument",
    "PodDifference",
    "PodPlacement",
    "PresentState",
    "QueueAt",
    "Reasons",
    "RecordedOutcome",
    "RecordedRun",
    "Recorder",
    "RemedyChange",
    "RemedyRequests",
    "ReplicaOutcome",
    "ResourceUse",
    "RotatingRecorder",
    "Rows",
    "RunError",
    "RunFolder",
    "RunTables",
    "RunTablesState",
    "Scenario",
    "Setup",
    "Stepper",
    "Timeline",
    "TimelineFeed",
    "UnknownCycle",
    "WorkloadView",
    "arrow_table",
    "attempts_of",
    "camel_case",
    "case_text",
    "class_name",
    "cluster_of",
    "counted",
    "counted_pods",
    "decision_count",
    "decision_document",
    "decode_case",
    "decode_chunks",
    "decode_objects",
    "diff_document",
    "diff_runs",
    "diff_scenarios",
    "diff_with_each",
    "encode_actions",
    "encode_case",
    "encode_chunks",
    "encode_objects",
    "end_of_run",
    "explain_cycle",
    "explain_cycles",
    "explanation_document",
    "explanation_matrix",
    "explanation_of_pod",
    "extender_name",
    "find_cycle",
    "find_outcome",
    "gc_paused",
    "held_back",
    "initial_lines",
    "is_movable_pod",
    "joined",
    "labels_of_nodes",
    "new_machine",
    "node_results",
    "nomination_of",
    "options_of",
    "ordered_candidates",
    "outcome_of",
    "past_advice",
    "placements_of_run",
    "preemption_of",
    "present_view",
    "queue_of",
    "reason_document",
    "record",
    "record_line",
    "record_of_log",
    "recorded_view",
    "rejections_of",
    "remedy_changes",
    "replay",
    "require_arrow",
    "resume",
    "resume_log",
    "save_cycle",
    "select_cycles",
    "sha256_of",
    "sha256_of_file",
    "start_of_run",
    "tables_of_log",
    "timeline_of_log",
    "timeline_of_run",
    "typed_diff",
    "typed_explanation",
    "typed_placement",
    "view_of_pod",
    "without_nodes",
    "write_record",
]
