"""Input and output files: manifests, snapshots, records of a cluster, logs of its scheduler.

The room reads bytes into objects or timed lines, collects all errors of a file, and writes
snapshots. It does not decide what the objects are used for, and imports neither the scheduler nor
the simulation.

A *record* is a file of JSON lines with the changes of a cluster's objects, or a recording of
kwokctl, which is read as such lines. A *scheduler log* is a
file of JSON lines with the attempts of a real scheduler. A *snapshot* is the export format of
kube-scheduler-simulator.

A *manifest* is a document for an API server; a *stored* object has been in one.

`document_cache.py` keeps what the parser of large YAML files returns, because parsing is slow.

Start with `manifests.py`, `documents.py` (bytes to documents) and `object_reader.py` (documents to
objects), then `record.py`.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.simulation.files.document_cache import (
        DocumentCache as DocumentCache,
        unpacked as unpacked,
    )
    from podwright.simulation.files.documents import Place as Place, Watch as Watch
    from podwright.simulation.files.json_documents import is_record_line as is_record_line
    from podwright.simulation.files.manifests import (
        STDIN_SOURCE as STDIN_SOURCE,
        LoadedObjects as LoadedObjects,
        PartialObjects as PartialObjects,
        count_openb_gpus as count_openb_gpus,
        load as load,
        load_bytes as load_bytes,
        read_bytes as read_bytes,
        read_path as read_path,
        read_paths as read_paths,
        with_documents as with_documents,
        with_generated_names as with_generated_names,
    )
    from podwright.simulation.files.object_reader import (
        FieldValidation as FieldValidation,
        Manifest as Manifest,
        ObjectReader as ObjectReader,
        Sourced as Sourced,
        SourcedDocument as SourcedDocument,
        read_manifest as read_manifest,
        require_validation as require_validation,
    )
    from podwright.simulation.files.openb_gpus import (
        OpenbGpus as OpenbGpus,
        requests_openb_gpus as requests_openb_gpus,
        with_openb_gpus as with_openb_gpus,
    )
    from podwright.simulation.files.record import (
        MAX_STEP_BACK_NS as MAX_STEP_BACK_NS,
        ChangeType as ChangeType,
        Record as Record,
        RecordLine as RecordLine,
        RecordReader as RecordReader,
        added_line as added_line,
        change_line as change_line,
        change_lines as change_lines,
        file_lines as file_lines,
        is_recorded as is_recorded,
        load_record as load_record,
        numbered_lines as numbered_lines,
        read_record as read_record,
    )
    from podwright.simulation.files.references import (
        missing_classes as missing_classes,
        missing_nodes as missing_nodes,
    )
    from podwright.simulation.files.scheduler_log import (
        LogLine as LogLine,
        SchedulerLog as SchedulerLog,
        load_scheduler_log as load_scheduler_log,
    )
    from podwright.simulation.files.snapshot import (
        DEFAULT_CONFIGURATION as DEFAULT_CONFIGURATION,
        encode_snapshot as encode_snapshot,
        is_in_every_cluster as is_in_every_cluster,
        is_in_snapshot as is_in_snapshot,
        missing_namespaces as missing_namespaces,
        readable_configuration as readable_configuration,
        write_snapshot as write_snapshot,
    )
    from podwright.simulation.files.trace_files import (
        SimkubeTrace as SimkubeTrace,
        read_simkube as read_simkube,
        trace_format as trace_format,
        without_server_fields as without_server_fields,
        write_trace as write_trace,
    )
    from podwright.simulation.files.unrendered import (
        GATED_KINDS as GATED_KINDS,
        disabled_fields as disabled_fields,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
