"""The folder of a run: its inputs and options, decision log, tables and results.

    manifest.json     versions, seed, inputs with their hashes, and the status of the run
    log/              the decision log
    tables/           a Parquet file per table
    summary.json      the summary that is printed at the end
    metrics.prom      the scheduler's metrics at the end
    objects.json      every object at the end, as a List
    timeline          every change of nodes, pods and queue, if the run has the option
    checkpoint        until the run is finished: the state to resume from
    parts/            until the run is finished: the rows of tables up to checkpoints

Every file except the log is written under another name and then renamed, so readers never see a
partial file. The same run makes the same bytes: no file contains the time, the machine or the user.

A process that dies leaves the last checkpoint and a longer log. Resuming the run truncates the log
to the checkpoint.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeAlias, TypeVar

import msgspec

from podwright._private_files import (
    PRIVATE,
    lock_file,
    make_private_folder,
    open_private,
    replacing,
)
from podwright.apimachinery.objects import UNDECODABLE, KubernetesObject, Pod, decode_pod, encode
from podwright.simulation.recording.folders.run_manifest import (
    Manifest,
    RunError,
    Status,
    check_inputs,
    check_same,
    read_manifest,
)
from podwright.simulation.recording.folders.tables import (
    ParquetRows,
    read_parquet,
    require_arrow,
)

T = TypeVar("T")
ColumnTypes: TypeAlias = Mapping[str, Mapping[str, str]]
Rows: TypeAlias = dict[str, dict[str, list[Any]]]


class Checkpoint(msgspec.Struct, frozen=True):
    """A point to resume a run from.

    Attributes
    ----------
    part_count : int
        The number of parts of tables written so far.
    state : bytes
        The encoded state of the run.
    """

    part_count: int
    state: bytes


class RunFolder:
    """The folder of one run; made by `create` or `open`.

    Attributes
    ----------
    path : Path
    manifest : Manifest
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest
        self._part_count = 0
        self._locked: BinaryIO | None = None

    @classmethod
    def create(cls, path: str | Path, manifest: Manifest) -> Self:
        """Start a run in a folder that does not exist or is empty.

        Raises
        ------
        RunError
            If the folder is not empty, or cannot be written.
        """
        folder = Path(path)
        try:
            if folder.exists() and not folder.is_dir():
                raise RunError(f"{folder} is a file; choose another name for the folder")
            if folder.exists() and any(folder.iterdir()):
                hint = "choose another folder"
                if (folder / "manifest.json").exists():
                    hint += f", or resume the run in it: podwright simulate --resume {folder}"
                raise RunError(f"{folder} is not empty: {hint}")
            make_private_folder(folder)
            made = cls(folder, manifest)
            made.lock()
            made._write_manifest("running")
        except OSError as error:
            raise _cannot("written", folder, error) from error
        return made

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open the folder of a run to read it.

        Raises
        ------
        RunError
            If it is not the folder of a run, or of another format.
        """
        folder = Path(path)
        file = folder / "manifest.json"
        try:
            data = file.read_bytes()
        except OSError as error:
            raise RunError(
                f"{folder} is not a run folder: {file}: {error.strerror or error}"
            ) from error
        manifest = read_manifest(data, file)
        return cls(folder, manifest)

    def check_files(self) -> None:
        """Check that the input files of the run have not changed.

        Called before the files are read, so that the error names the changed file and not a
        consequence, such as a missing node.

        Raises
        ------
        RunError
            With every file that has changed or is missing.
        """
        check_inputs(self.path, self.manifest)

    def resume(self, manifest: Manifest) -> Checkpoint | None:
        """Resume an interrupted run.

        Parameters
        ----------
        manifest : Manifest
            The manifest of the resumed run, which must be equal except for its status.

        Returns
        -------
        Checkpoint or None
            The point to resume from; None is the start of the run.

        Raises
        ------
        RunError
            If it is another run, or another process writes the folder; it is left unchanged.
        """
        check_same(self.path, self.manifest, manifest)
        try:
            self.lock()
            checkpoint = self._read_checkpoint()
            self._part_count = 0 if checkpoint is None else checkpoint.part_count
            # The resumed run writes the rows after the checkpoint again.
            for part in self._parts()[self._part_count :]:
                part.unlink()
            # The run starts again, and a new log needs an empty folder.
            if checkpoint is None:
                shutil.rmtree(self.path / "log", ignore_errors=True)
            self._write_manifest("running")
        except OSError as error:
            self.release()
            raise _cannot("written", self.path, error) from error
        except RunError:
            self.release()
            raise
        return checkpoint

    @property
    def resume_command(self) -> str:
        """The command that resumes the run, or the call if the run was started from Python."""
        if "files" in self.manifest.options:
            return f"podwright simulate --resume {self.path}"
        return f"pw.simulate(..., output={str(self.path)!r}, resume=True)"

    @property
    def interruption(self) -> str:
        """The sentence that says that the run was interrupted, and how to resume it."""
        return f"interrupted; resume the run with: {self.resume_command}"

    def lock(self) -> None:
        """Lock the folder against other writers, until `release`.

        Raises
        ------
        RunError
            Another process writes to it.
        """
        file = open_private(self.path / ".lock", "ab")
        try:
            lock_file(file)
        except BlockingIOError as error:
            file.close()
            raise RunError(
                f"{self.path} is locked: another process is writing to it; wait until it ends, or"
                " choose another folder"
            ) from error
        self._locked = file

    # ----------------------------------------------------------------------- writing

    @property
    def log_path(self) -> str:
        """The path of the decision log."""
        return str(self.path / "log")

    def check_begun(self) -> None:
        """Check that the folder has a log.

        Raises
        ------
        RunError
            If the run was interrupted before its first event.
        """
        has_log = any((self.path / "log").glob("*"))
        if self.manifest.status == "interrupted" and not has_log:
            raise RunError(
                f"{self.path} has no events: the run was interrupted before its first event;"
                f" resume it with: {self.resume_command}"
            )

    def check_whole(self, event_count: int) -> None:
        """Check that the log has all events.

        Parameters
        ----------
        event_count : int
            How many it has.

        Raises
        ------
        RunError
            A part of the log is absent, as after a copy that was interrupted.
        """
        expected = self.manifest.events or 0
        if event_count < expected:
            raise RunError(
                f"{self.path} is not complete: its log has {event_count:,} of {expected:,} events; "
                "copy the folder again, or repeat the run"
            )

    def write_checkpoint(self, state: bytes, rows: Rows) -> None:
        """Write a checkpoint; the log must have been synced.

        Parameters
        ----------
        rows : dict
            The rows of the tables since the last checkpoint.
        """
        # The part first: a checkpoint must not count a part that is missing.
        self._replace(f"parts/{self._part_count:06}", msgspec.msgpack.encode(rows))
        self._part_count += 1
        checkpoint = Checkpoint(self._part_count, state)
        self._replace("checkpoint", msgspec.msgpack.encode(checkpoint))

    def _read_checkpoint(self) -> Checkpoint | None:
        file = self.path / "checkpoint"
        if not file.exists():
            return None
        try:
            return msgspec.msgpack.decode(file.read_bytes(), type=Checkpoint)
        except UNDECODABLE as error:
            raise RunError(f"{file} cannot be read: {error}; it was left as it is") from error

    def _parts(self) -> list[Path]:
        return sorted((self.path / "parts").glob("[0-9]" * 6))

    def parts(self) -> Iterable[Rows]:
        """Yield the rows of tables that were written at checkpoints, in order."""
        for part in self._parts()[: self._part_count]:
            try:
                yield msgspec.msgpack.decode(part.read_bytes())
            except UNDECODABLE as error:
                raise RunError(f"{part} cannot be read: {error}; it was left as it is") from error

    def write_tables(self, types: ColumnTypes, parts: Iterable[Rows]) -> None:
        """Write a Parquet file per table.

        Parameters
        ----------
        parts : iterable of dict
            The rows in order; only one of them is in memory at a time.

        Raises
        ------
        MissingExtra
            If pyarrow is not installed.
        """
        require_arrow()
        with ExitStack() as files:
            tables = {
                name: ParquetRows(
                    columns, files.enter_context(self._replacing(f"tables/{name}.parquet"))
                )
                for name, columns in types.items()
            }
            for part in parts:
                for name, table in tables.items():
                    table.add(part[name])
            for table in tables.values():
                table.close()

    def read_table(self, name: str) -> Any:
        """Return a table as a `pyarrow.Table`.

        Raises
        ------
        RunError
            If the file cannot be read.
        """
        require_arrow()
        file = self.path / f"tables/{name}.parquet"
        try:
            return read_parquet(file)
        except (ValueError, OSError) as error:
            raise RunError(f"{file} cannot be read: {error}; it was left as it is") from error

    def write_timeline(self, chunks: Iterable[bytes]) -> None:
        """Write the timeline of the run."""
        self._replace_by("timeline", chunks)

    def write_end(
        self, summary: Mapping[str, Any], metrics: str, objects: Iterable[KubernetesObject]
    ) -> None:
        """Write the results; objects are encoded one by one, because they may be very many."""
        self._replace("summary.json", _json(summary))
        self._replace("metrics.prom", metrics.encode())
        self._replace_by("objects.json", _json_list(objects))

    def close(
        self, status: Status, warnings: Sequence[str] = (), *, events: int | None = None
    ) -> None:
        """Write the status and release the lock; a finished run loses its checkpoint.

        Parameters
        ----------
        status, warnings, events
            As in the manifest.
        """
        try:
            # The status first: an unfinished run without a checkpoint would start again.
            self._write_manifest(status, warnings, events)
            if status == "finished":
                (self.path / "checkpoint").unlink(missing_ok=True)
                shutil.rmtree(self.path / "parts", ignore_errors=True)
        finally:
            self.release()

    def interrupt(self) -> None:
        """Mark the run as interrupted, without results, and release the lock.

        A folder that is closed, or locked by another process, is left as it is.
        """
        if self._locked is None:
            return
        try:
            # An earlier interruption may have left its results.
            (self.path / "summary.json").unlink(missing_ok=True)
            self._write_manifest("interrupted")
        finally:
            self.release()

    def release(self) -> None:
        """Release the lock, if it is held."""
        if self._locked is not None:
            (self.path / ".lock").unlink(missing_ok=True)
            self._locked.close()
            self._locked = None

    def read_summary(self, kind: type[T]) -> T:
        """Return the summary that was written at the end.

        Parameters
        ----------
        kind : type
            The type of the summary.

        Raises
        ------
        RunError
            If the file cannot be read, or contains something else.
        """
        document = self._read_json("summary.json")
        try:
            return msgspec.convert(document, kind)
        except msgspec.MsgspecError as error:
            raise RunError(f"{self.path}: summary.json cannot be read: {error}") from error

    @property
    def has_results(self) -> bool:
        """Whether the results of the run are in the folder; those of a running one are old."""
        return self.manifest.status != "running" and (self.path / "summary.json").exists()

    def has_tables(self, names: Iterable[str]) -> bool:
        """Tell whether the folder has a file for each of these tables."""
        return all((self.path / f"tables/{name}.parquet").exists() for name in names)

    def read_pods(self) -> list[Pod]:
        """Return the pods at the end of the run.

        Raises
        ------
        RunError
            If the file of objects cannot be read.
        """
        objects = self._read_json("objects.json")["items"]
        return [decode_pod(obj) for obj in objects if obj["kind"] == "Pod"]

    def _read_json(self, name: str) -> Any:
        file = self.path / name
        try:
            return msgspec.json.decode(file.read_bytes())
        except OSError as error:
            raise _cannot("read", file, error) from error
        except UNDECODABLE as error:
            raise RunError(f"{file} cannot be read: {error}; it was left as it is") from error

    def _write_manifest(
        self, status: Status, warnings: Sequence[str] = (), events: int | None = None
    ) -> None:
        self.manifest = msgspec.structs.replace(
            self.manifest, status=status, warnings=tuple(warnings), events=events
        )
        self._replace("manifest.json", _json(self.manifest))

    def _replace(self, name: str, data: bytes) -> None:
        self._replace_by(name, (data,))

    def _replace_by(self, name: str, parts: Iterable[bytes]) -> None:
        with self._replacing(name) as file:
            file.writelines(parts)

    @contextmanager
    def _replacing(self, name: str) -> Iterator[BinaryIO]:
        """Yield a file that gets its name when it is complete."""
        place = self.path / name
        try:
            make_private_folder(place.parent)
            with replacing(place, PRIVATE) as file:
                yield file
        except OSError as error:
            raise _cannot("written", place, error) from error


def _json(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _json_list(objects: Iterable[KubernetesObject]) -> Iterator[bytes]:
    """Yield the parts of the text that `_json` returns for a List of objects."""
    yield b'{\n  "apiVersion": "v1",\n  "kind": "List",\n  "items": ['
    before = b"\n    "
    for obj in objects:
        item = msgspec.json.format(msgspec.json.encode(encode(obj)), indent=2)
        yield before + item.replace(b"\n", b"\n    ")
        before = b",\n    "
    yield b"]\n}\n" if before == b"\n    " else b"\n  ]\n}\n"


def _cannot(what: str, path: Path, error: OSError) -> RunError:
    return RunError(f"{path} cannot be {what}: {error.strerror or error}")
