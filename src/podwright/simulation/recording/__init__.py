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

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.simulation.recording.comparison.diff import (
        RecordedRun as RecordedRun,
        diff_runs as diff_runs,
        log_of as log_of,
        placements_of_run as placements_of_run,
    )
    from podwright.simulation.recording.comparison.diff_documents import (
        SIDES as SIDES,
        DiffDocument as DiffDocument,
        PlacementDocument as PlacementDocument,
        diff_document as diff_document,
        reason_document as reason_document,
        typed_diff as typed_diff,
        typed_placement as typed_placement,
    )
    from podwright.simulation.recording.comparison.placement_diff import (
        CHANGES as CHANGES,
        Change as Change,
        PlacementDiff as PlacementDiff,
        PodDifference as PodDifference,
        Reasons as Reasons,
        ResourceUse as ResourceUse,
    )
    from podwright.simulation.recording.comparison.placements import (
        ZONE as ZONE,
        PodPlacement as PodPlacement,
        controller_of_replica as controller_of_replica,
        is_movable_pod as is_movable_pod,
        paired_replicas as paired_replicas,
    )
    from podwright.simulation.recording.comparison.scenario import (
        MOST_REASONS as MOST_REASONS,
        Scenario as Scenario,
        Specs as Specs,
        as_new_pod as as_new_pod,
        counted as counted,
        decision_count as decision_count,
        diff_scenarios as diff_scenarios,
        diff_with_each as diff_with_each,
    )
    from podwright.simulation.recording.explanations.attempts import (
        Attempt as Attempt,
        attempts_of as attempts_of,
    )
    from podwright.simulation.recording.explanations.decision import (
        decision_document as decision_document,
        nomination_of as nomination_of,
        outcome_of as outcome_of,
        rejections_of as rejections_of,
    )
    from podwright.simulation.recording.explanations.document import (
        NEAREST_IN_SUMMARY as NEAREST_IN_SUMMARY,
        explanation_document as explanation_document,
        ordered_candidates as ordered_candidates,
        preemption_of as preemption_of,
        typed_explanation as typed_explanation,
    )
    from podwright.simulation.recording.explanations.document_structs import (
        ExplanationDocument as ExplanationDocument,
        ExplanationView as ExplanationView,
        RecordedOutcome as RecordedOutcome,
        RemedyChange as RemedyChange,
        RemedyRequests as RemedyRequests,
        ReplicaOutcome as ReplicaOutcome,
        WorkloadView as WorkloadView,
    )
    from podwright.simulation.recording.explanations.explain import (
        Cycles as Cycles,
        PastCycle as PastCycle,
        UnknownCycle as UnknownCycle,
        explain_cycle as explain_cycle,
        explain_cycles as explain_cycles,
        find_cycle as find_cycle,
        past_cycles as past_cycles,
        select_cycles as select_cycles,
    )
    from podwright.simulation.recording.explanations.matrix import (
        ExplanationMatrix as ExplanationMatrix,
        NodeResult as NodeResult,
        explanation_matrix as explanation_matrix,
        extender_name as extender_name,
        node_results as node_results,
    )
    from podwright.simulation.recording.explanations.outcome import (
        AttemptOutcome as AttemptOutcome,
        OutcomeKind as OutcomeKind,
        find_outcome as find_outcome,
        gated_pods as gated_pods,
        permit_waits as permit_waits,
    )
    from podwright.simulation.recording.explanations.past_advice import past_advice as past_advice
    from podwright.simulation.recording.explanations.present import (
        explanation_of_pod as explanation_of_pod,
        present_view as present_view,
        view_of_pod as view_of_pod,
    )
    from podwright.simulation.recording.explanations.recorded import (
        QUEUE_LABELS as QUEUE_LABELS,
        recorded_view as recorded_view,
    )
    from podwright.simulation.recording.explanations.remedy_changes import (
        remedy_changes as remedy_changes,
    )
    from podwright.simulation.recording.explanations.replicas import Replicas as Replicas
    from podwright.simulation.recording.folders.recorded_state import (
        ClusterAt as ClusterAt,
        PendingPod as PendingPod,
        QueueAt as QueueAt,
        cluster_of as cluster_of,
        placed_objects as placed_objects,
        queue_of as queue_of,
        resume as resume,
        resume_log as resume_log,
    )
    from podwright.simulation.recording.folders.run_contents import (
        end_of_run as end_of_run,
        labels_of_nodes as labels_of_nodes,
        open_log as open_log,
        start_of_run as start_of_run,
        timeline_of_run as timeline_of_run,
    )
    from podwright.simulation.recording.folders.run_folder import (
        Checkpoint as Checkpoint,
        Rows as Rows,
        RunFolder as RunFolder,
    )
    from podwright.simulation.recording.folders.run_manifest import (
        InputFile as InputFile,
        Manifest as Manifest,
        RunError as RunError,
        sha256_of as sha256_of,
        sha256_of_file as sha256_of_file,
        sha256_of_lines as sha256_of_lines,
    )
    from podwright.simulation.recording.folders.run_tables import (
        FOREIGN as FOREIGN,
        GATED as GATED,
        TABLES as TABLES,
        Counts as Counts,
        RunTables as RunTables,
    )
    from podwright.simulation.recording.folders.stepping import Moment as Moment, Stepper as Stepper
    from podwright.simulation.recording.folders.tables import (
        arrow_table as arrow_table,
        camel_case as camel_case,
        library as library,
        parquet_bytes as parquet_bytes,
        read_parquet as read_parquet,
        require_arrow as require_arrow,
        to_lists as to_lists,
    )
    from podwright.simulation.recording.folders.trace_rows import (
        TableRow as TableRow,
        trace_rows as trace_rows,
    )
    from podwright.simulation.recording.log.decision_log import (
        DecisionLog as DecisionLog,
        require_log as require_log,
    )
    from podwright.simulation.recording.log.log_files import SUFFIX as SUFFIX
    from podwright.simulation.recording.log.log_format import (
        Entry as Entry,
        LogError as LogError,
        Objects as Objects,
        Setup as Setup,
        encode_actions as encode_actions,
    )
    from podwright.simulation.recording.log.log_objects import (
        decode_objects as decode_objects,
        encode_objects as encode_objects,
    )
    from podwright.simulation.recording.log.log_tables import (
        SHARE_CLASSES as SHARE_CLASSES,
        NodeShares as NodeShares,
        tables_of_log as tables_of_log,
    )
    from podwright.simulation.recording.log.record import (
        EventFeed as EventFeed,
        Recorder as Recorder,
        RotatingRecorder as RotatingRecorder,
        class_name as class_name,
        initial_lines as initial_lines,
        new_machine as new_machine,
        options_of as options_of,
        record as record,
        record_line as record_line,
        record_of_log as record_of_log,
        seed_problem as seed_problem,
        write_record as write_record,
    )
    from podwright.simulation.recording.log.replay import Difference as Difference, replay as replay
    from podwright.simulation.recording.log.saved_case import (
        case_text as case_text,
        decode_case as decode_case,
        encode_case as encode_case,
        save_cycle as save_cycle,
    )
    from podwright.simulation.recording.timelines.columns import (
        TIMELINE_MEDIA_TYPE as TIMELINE_MEDIA_TYPE,
        Timeline as Timeline,
        decode_chunks as decode_chunks,
        encode_chunks as encode_chunks,
    )
    from podwright.simulation.recording.timelines.feed import (
        TimelineFeed as TimelineFeed,
        timeline_of_log as timeline_of_log,
    )
    from podwright.simulation.recording.timelines.present_state import (
        CountPods as CountPods,
        PresentState as PresentState,
        counted_pods as counted_pods,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
