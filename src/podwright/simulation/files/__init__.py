"""Input and output files: manifests, snapshots, records of a cluster, logs of its scheduler.

The room reads bytes into objects or timed lines, collects all errors of a file, and writes
snapshots. It does not decide what the objects are used for, and imports neither the scheduler nor
the simulation.

A *record* is a file of JSON lines with the changes of a cluster's objects. A *scheduler log* is a
file of JSON lines with the attempts of a real scheduler. A *snapshot* is the export format of
kube-scheduler-simulator.

A *manifest* is a document for an API server; a *stored* object has been in one.

`document_cache.py` keeps what the parser of large YAML files returns, because parsing is slow.

Start with `manifests.py`, `documents.py` (bytes to documents) and `object_reader.py` (documents to
objects), then `record.py`.
"""

from podwright.simulation.files.compression import unpacked
from podwright.simulation.files.distinct_objects import DistinctObjects
from podwright.simulation.files.document_cache import DocumentCache
from podwright.simulation.files.documents import Place, Watch
from podwright.simulation.files.gated_fields import disabled_fields
from podwright.simulation.files.manifests import (
    STDIN_SOURCE,
    LoadedObjects,
    PartialObjects,
    count_openb_gpus,
    load,
    load_bytes,
    read_paths,
)
from podwright.simulation.files.object_reader import (
    FieldValidation,
    Manifest,
    ObjectReader,
    Sourced,
    SourcedDocument,
    read_manifest,
    require_validation,
)
from podwright.simulation.files.openb_gpus import OpenbGpus
from podwright.simulation.files.record import (
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
from podwright.simulation.files.record_lines import added_line, change_line, is_recorded
from podwright.simulation.files.references import missing_classes
from podwright.simulation.files.scheduler_log import LogLine, SchedulerLog, load_scheduler_log
from podwright.simulation.files.snapshot import (
    DEFAULT_CONFIGURATION,
    encode_snapshot,
    is_in_every_cluster,
    is_in_snapshot,
    missing_namespaces,
    write_snapshot,
)
from podwright.simulation.files.snapshot_configuration import readable_configuration

__all__ = [
    "DEFAULT_CONFIGURATION",
    "MAX_STEP_BACK_NS",
    "STDIN_SOURCE",
    "ChangeType",
    "DistinctObjects",
    "DocumentCache",
    "FieldValidation",
    "LoadedObjects",
    "LogLine",
    "Manifest",
    "ObjectReader",
    "OpenbGpus",
    "PartialObjects",
    "Place",
    "Record",
    "RecordLine",
    "RecordReader",
    "SchedulerLog",
    "Sourced",
    "SourcedDocument",
    "Watch",
    "added_line",
    "change_line",
    "count_openb_gpus",
    "disabled_fields",
    "encode_snapshot",
    "file_lines",
    "is_in_every_cluster",
    "is_in_snapshot",
    "is_recorded",
    "load",
    "load_bytes",
    "load_record",
    "load_scheduler_log",
    "missing_classes",
    "missing_namespaces",
    "numbered_lines",
    "read_manifest",
    "read_paths",
    "read_record",
    "readable_configuration",
    "require_validation",
    "unpacked",
    "write_snapshot",
]
