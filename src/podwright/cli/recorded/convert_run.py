"""`podwright convert`: reads a cluster or a record and writes it in another format."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from podwright.apimachinery.objects import (
    Document,
    FieldError,
    InputError,
    NamespacedName,
    Object,
    Pod,
    encode,
    read_time,
)
from podwright.cli.clusters.cluster_inputs import read_named
from podwright.cli.console import print_document, print_message, print_warnings, write
from podwright.cli.file_reading import ErrorCollector, document_cache, reading_files
from podwright.cli.inputs import with_counted_gpus
from podwright.cli.options import Setup
from podwright.cli.recorded.options import ConvertOptions
from podwright.cluster.store import GroupKind, kind_of
from podwright.simulation.files import (
    DEFAULT_CONFIGURATION,
    LoadedObjects,
    Record,
    RecordLine,
    Watch,
    is_in_snapshot,
    is_record_line,
    load_bytes,
    missing_namespaces,
    numbered_lines,
    read_record,
    write_snapshot,
)
from podwright.simulation.recording import (
    SUFFIX,
    initial_lines,
    open_log,
    record_line,
    record_of_log,
    start_of_run,
    write_record,
)
from podwright.simulation.world import openb_arrivals


class _Contents(msgspec.Struct, frozen=True):
    """The contents of the files: the initial objects, and the changes after them.

    Attributes
    ----------
    run_start_ns : int, optional
        Start of a recorded run; None if there is no run: its first line is the start then.
    """

    loaded: LoadedObjects
    record: Record | None
    run_start_ns: int | None = None

    @property
    def lines(self) -> tuple[RecordLine, ...]:
        return () if self.record is None else self.record.lines

    @property
    def start_ns(self) -> int:
        """Start of the record or run."""
        if self.run_start_ns is not None:
            return self.run_start_ns
        return self.lines[0].time_ns if self.lines else 0

    @property
    def configuration(self) -> Document | None:
        found = self.loaded.configuration
        return None if found is None else found.document

    def objects_at(self, at_ns: int | None) -> list[Object]:
        """Return the objects that exist at a time; None is the end."""
        there: dict[tuple[GroupKind, NamespacedName | int], Object] = {}
        for number, obj in enumerate(self.loaded.objects):
            there[kind_of(obj), obj.key if obj.name else number] = obj
        for line in self.lines:
            if at_ns is not None and line.time_ns > at_ns:
                break
            key = (kind_of(line.object), line.object.key)
            if line.event == "Delete":
                there.pop(key, None)
            else:
                there[key] = line.object
        return list(there.values())


def run_convert(options: ConvertOptions) -> None:
    """Read all files, and write the cluster in one format.

    Raises
    ------
    InputError
        With the errors of all files and options.
    """
    at, output = options.at, options.output
    collected = ErrorCollector()
    contents = _Contents(LoadedObjects(), None)
    at_ns: int | None = None
    start_ns = 0
    with reading_files() as watch:
        with collected:
            contents = _read(options.files, options.setup, watch)
        with collected:
            at_ns = read_time(at, "--at", start_ns=contents.start_ns) if at else None
        with collected:
            start_ns = read_time(options.start, "--start", start_ns=None)
        with collected:
            if at and contents.record is None:
                message = "requires a record of changes or a run"
                raise InputError([FieldError(source="--at", path="", message=message)])
        with collected:
            if "start" in options.given and contents.record is not None:
                message = f"has no effect with {contents.record.source}, which has its own start"
                raise InputError([FieldError(source="options", path="--start", message=message)])
        collected.raise_all()
    print_warnings(contents.loaded.warnings)
    if contents.record is not None:
        print_warnings(contents.record.warnings)
    _warn_of_unterminated_line(contents.record)
    if output == "record":
        _write_record(contents, at_ns, start_ns)
        return
    objects = contents.objects_at(at_ns)
    if output == "kss":
        _write_snapshot(objects, contents.configuration)
        return
    if output == "name":
        for obj in objects:
            write(f"{obj.kind.lower()}/{obj.key}")
        return
    items = [encode(obj) for obj in objects]
    print_document({"apiVersion": "v1", "kind": "List", "items": items}, output)
    if contents.configuration is not None:
        write("---" if output == "yaml" else "")
        print_document(contents.configuration, output)


# -------------------------------------------------------------------- reading


def _read(files: Sequence[str], setup: Setup, watch: Watch | None) -> _Contents:
    logs = [path for path in files if path != "-" and _has_log(Path(path))]
    others = [path for path in files if path not in logs]
    records: list[tuple[str, bytes]] = []
    run_start_ns: int | None = None
    for path in logs:
        with open_log(Path(path)) as log:
            run_start_ns = start_of_run(Path(path), log)
            records.append((path, b"".join(record_of_log(log))))
        print_message(
            f"{path}: converted from the scheduler's events: kinds that the scheduler does not"
            " read, such as Deployments and Jobs, are missing, and the status of ReplicaSets and"
            " StatefulSets may be outdated; the objects.json of a finished run has all objects"
        )
    manifests: list[tuple[str, bytes]] = []
    stdin = sys.stdin.buffer if "-" in others else None
    for name, data in read_named(others, stdin=stdin, report=print_message):
        (records if _is_record(data, name) else manifests).append((name, data))
    collected = ErrorCollector()
    loaded, record = LoadedObjects(), None
    with collected:
        loaded = load_bytes(
            manifests,
            validate=setup.validate,
            has_defaults=False,
            watch=watch,
            cache=document_cache(),
        )
        loaded = with_counted_gpus(loaded, setup)
    for name, data in records:
        with collected:
            if record is not None:
                message = f"is a second record of changes; the first one is {record.source}"
                raise InputError([FieldError(source=name, path="", message=message)])
            record = read_record(data, source=name, watch=watch)
    collected.raise_all()
    return _Contents(loaded, record, run_start_ns)


def _has_log(path: Path) -> bool:
    """Return whether the folder itself or its folder `log` is a decision log."""
    return any(any(one.glob(f"*{SUFFIX}")) for one in (path, path / "log"))


def _is_record(data: bytes, source: str) -> bool:
    """Return whether the first line of a file is a change."""
    for _, line, _ in numbered_lines(data, source=source):
        if line.strip():
            try:
                document = msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                return False
            return is_record_line(document)
    return False


def _warn_of_unterminated_line(record: Record | None) -> None:
    if record is not None and record.unterminated_line:
        print_message(
            f"{record.source}: line {record.unterminated_line} is incomplete and was ignored"
        )


# -------------------------------------------------------------------- writing


def _write_snapshot(objects: list[Object], configuration: Document | None) -> None:
    left_out: dict[str, int] = {}
    for obj in objects:
        if not is_in_snapshot(obj):
            left_out[obj.kind] = left_out.get(obj.kind, 0) + 1
    if left_out:
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(left_out.items()))
        print_message(f"omitted kinds that a snapshot does not support: {counts}")
    namespaces = missing_namespaces(objects)
    if namespaces:
        print_message(
            f"added the namespaces of objects: {', '.join(one.name for one in namespaces)}"
        )
    snapshot = write_snapshot(
        [*objects, *namespaces], configuration=configuration or DEFAULT_CONFIGURATION
    )
    write(snapshot.decode())


def _write_record(contents: _Contents, at_ns: int | None, start_ns: int) -> None:
    if contents.configuration is not None:
        print_message("omitted the scheduler configuration: a record does not support it")
    lines = contents.lines
    if lines:
        # Objects of the other files exist before the record starts.
        start_ns = lines[0].time_ns
        _write_lines(initial_lines(contents.loaded.objects, start_ns))
        kept = (line for line in lines if at_ns is None or line.time_ns <= at_ns)
        _write_lines([write_record(kept)])
        return
    _write_lines(_arrivals(contents.loaded, start_ns))


def _arrivals(loaded: LoadedObjects, start_ns: int) -> Iterator[bytes]:
    """Yield Adds of objects at the start, and Adds and Deletes of openb pods at their times."""
    arrivals = openb_arrivals(loaded.of(Pod), trace_start_ns=start_ns)
    timed = [one for one in arrivals if one.gone_ns is not None or one.due_ns != start_ns]
    later = {id(one.pod) for one in timed}
    yield from initial_lines([o for o in loaded.objects if id(o) not in later], start_ns)
    changes = [(one.due_ns, 1, record_line(one.due_ns, "Add", one.pod)) for one in timed]
    # Deletes precede Adds of the same second, so that they free resources for them.
    changes += [
        (
            one.gone_ns,
            int(one.gone_ns == one.due_ns) * 2,
            record_line(one.gone_ns, "Delete", one.pod),
        )
        for one in timed
        if one.gone_ns is not None
    ]
    yield from (line for _, _, line in sorted(changes, key=lambda change: change[:2]))


def _write_lines(parts: Iterable[bytes]) -> None:
    for part in parts:
        sys.stdout.write(part.decode())
