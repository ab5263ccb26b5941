"""The manifest of a run: what it was made of, and whether it can be resumed.

Runs with equal manifests are equal, so a run is resumed only with the manifest that it started
with.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from podwright._version import __version__
from podwright.apimachinery.objects import UNDECODABLE, PodwrightError
from podwright.simulation.files import STDIN_SOURCE
from podwright.simulation.recording.folders.tables import camel_case

FORMAT: Final = 6
"""The format of a run folder. Formats before the first release are not read."""

Status: TypeAlias = Literal["running", "interrupted", "finished"]


class RunError(PodwrightError):
    """A run folder that cannot be used; the text says why and what to do."""


class InputFile(msgspec.Struct, frozen=True, rename="camel"):
    """An input file of a run.

    Attributes
    ----------
    role : str
        `objects`, `events`, `config`, `policy` or `plugin`.
    path : str
        The path as the user specified it.
    sha256 : str
        The hash of its content, in hexadecimal.
    """

    role: str
    path: str
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The inputs and options of a run; runs with equal manifests are equal.

    Attributes
    ----------
    format : int
        The format of the folder.
    podwright : str
        The version that wrote it.
    status : str
        `running`, `interrupted` or `finished`.
    start_ns, until_ns : int
        The start and the end time, in nanoseconds since 1970.
    configuration : dict
        The KubeSchedulerConfiguration as the user wrote it; {} is the default.
    gates : dict
        Feature gates that differ from their defaults.
    options : dict
        All other options.
    warnings : tuple of str
        Remarks on the run; written at its end.
    events : int or None
        How many events the log has; written at the end.
    """

    format: int = FORMAT
    podwright: str = __version__
    status: Status = "running"
    seed: int = 0
    start_ns: int
    until_ns: int | None = None
    inputs: tuple[InputFile, ...] = ()
    configuration: dict[str, Any] = {}
    gates: dict[str, bool] = {}
    options: dict[str, Any] = {}
    warnings: tuple[str, ...] = ()
    events: int | None = None


def sha256_of(data: bytes) -> str:
    """Return the hash of a file's content."""
    return hashlib.sha256(data).hexdigest()


def sha256_of_lines(lines: Iterable[bytes]) -> str:
    """Return the hash of lines with line feeds between them, one after the other."""
    digest = hashlib.sha256()
    for number, line in enumerate(lines):
        digest.update(b"\n" + line if number else line)
    return digest.hexdigest()


def sha256_of_file(path: str | Path) -> str:
    """Return the hash of a file, without reading it into memory as a whole."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Format(msgspec.Struct, kw_only=True):
    format: int
    podwright: str = ""


def read_manifest(data: bytes, file: Path) -> Manifest:
    """Return the manifest that a file contains.

    Raises
    ------
    RunError
        If it is not a manifest, or of another format.
    """
    try:
        found = msgspec.json.decode(data, type=_Format)
        if found.format != FORMAT:
            remedy = (
                "use that version" if found.format > FORMAT else "run it again in another folder"
            )
            raise RunError(
                f"{file.parent} is in format {found.format}, written by podwright"
                f" {found.podwright}; podwright {__version__} reads format {FORMAT}: {remedy}."
                " It was left as it is"
            )
        return msgspec.json.decode(data, type=Manifest)
    except UNDECODABLE as error:
        raise RunError(f"{file} cannot be read: {error}; it was left as it is") from error


def check_inputs(path: Path, manifest: Manifest) -> None:
    """Check that the input files of the run in a folder have not changed.

    Raises
    ------
    RunError
        With every file that has changed or is missing.
    """
    changed = []
    for file in manifest.inputs:
        if file.path == STDIN_SOURCE:
            continue
        try:
            if sha256_of_file(file.path) != file.sha256:
                changed.append(f"{file.path} has changed")
        except OSError as error:
            changed.append(f"{file.path} cannot be read: {error.strerror or error}")
    _refuse_another(path, changed)


def check_same(path: Path, found: Manifest, expected: Manifest) -> None:
    """Check that the run in a folder is the expected one.

    Raises
    ------
    RunError
        With everything that differs.
    """
    differences = list(_changed_files(found.inputs, expected.inputs))
    # If a file has changed, the configuration that was read from it is not reported as well.
    names = ["podwright", "seed", "start_ns", "until_ns", "gates"]
    names += [] if differences else ["configuration"]
    for name in names:
        was, now = getattr(found, name), getattr(expected, name)
        differences += _changed(camel_case(name), was, now)
    for name in sorted({*found.options, *expected.options}):
        differences += _changed(name, found.options.get(name), expected.options.get(name))
    _refuse_another(path, differences)


def _changed_files(found: Iterable[InputFile], expected: Iterable[InputFile]) -> Iterator[str]:
    hashes = {(file.role, file.path): file.sha256 for file in found}
    for file in expected:
        known = hashes.pop((file.role, file.path), None)
        if known is None:
            yield f"{file.path} is new"
        elif known != file.sha256:
            yield f"{file.path} has changed"
    for _, name in hashes:
        yield f"{name} is missing"


def _changed(name: str, was: object, now: object) -> list[str]:
    return [] if was == now else [f"{name} was {_shown(was)} and is {_shown(now)}"]


def _refuse_another(path: Path, differences: Sequence[str]) -> None:
    if differences:
        raise RunError(
            f"{path} cannot be resumed, because the inputs or options differ:"
            f" {'; '.join(differences)}. It was left as it is"
        )


def _shown(value: object) -> str:
    return msgspec.json.encode(value).decode()
