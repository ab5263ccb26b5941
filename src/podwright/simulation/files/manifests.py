"""Files and folders of manifests, read as bytes and as objects.

This module finds and reads files and merges their objects; `object_reader` reads the content.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, TypeVar, get_args

import msgspec

from podwright._html import paragraphs, section, table
from podwright._progress import metered
from podwright.apimachinery.documents import first_names
from podwright.apimachinery.objects import (
    Document,
    FieldError,
    InputError,
    KubernetesObject,
    Node,
    Object,
    Pod,
    QuantityText,
    Unknown,
    api_group,
    encode,
    parse_quantity,
    quoted,
    unsupported,
    with_fields,
)
from podwright.apimachinery.schema import built_in
from podwright.simulation import files
from podwright.simulation.files.document_cache import DocumentCache
from podwright.simulation.files.documents import Place, Watch
from podwright.simulation.files.object_reader import (
    FieldValidation,
    ObjectReader,
    Sourced,
    SourcedDocument,
    read_manifest,
    require_validation,
)
from podwright.simulation.files.openb_gpus import with_device_slices
from podwright.simulation.files.references import missing_claims, with_classes_of_pods
from podwright.simulation.files.unrendered import Unrendered, UnrenderedFiles, skipped_text

if TYPE_CHECKING:
    from podwright.simulation.files.openb_gpus import OpenbGpus

STDIN = "-"
STDIN_SOURCE = "stdin"

SUFFIXES = (".yaml", ".yml", ".json", ".csv")
"""The suffixes of manifests in a folder; each is also read with `.gz` appended."""

T = TypeVar("T", bound=KubernetesObject)


class LoadedObjects(msgspec.Struct, frozen=True):
    """The objects of some files.

    Attributes
    ----------
    sourced : tuple of Sourced
        Every object once, in the order of the files and of the documents in them.
    configuration : SourcedDocument or None
        The KubeSchedulerConfiguration among them, not yet parsed.
    warnings : tuple of str
        What was read although it may be wrong; see `FieldValidation`.
    validate : str
        What was done about problems; with `strict` all objects are valid.
    """

    sourced: tuple[Sourced, ...] = ()
    configuration: SourcedDocument | None = None
    warnings: tuple[str, ...] = ()
    validate: FieldValidation = "strict"

    def __repr__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self._counts().items())
        return f"<LoadedObjects: {kinds or 'none'}>"

    def _repr_html_(self) -> str:
        kinds = table(("Kind", "Objects"), list(self._counts().items()))
        return section("Loaded objects", kinds, paragraphs(self.warnings))

    def __iter__(self) -> Iterator[Object]:
        return iter(self.objects)

    def _counts(self) -> dict[str, int]:
        """Return the number of objects of each kind, in order of appearance."""
        return dict(Counter(entry.object.kind for entry in self.sourced))

    @property
    def objects(self) -> tuple[Object, ...]:
        """The objects, without their sources."""
        return tuple(entry.object for entry in self.sourced)

    def of_custom_kinds(self) -> tuple[Sourced, ...]:
        """Return the first object of each kind that is not built in, in order."""
        found: dict[tuple[str, str], Sourced] = {}
        for entry in self.sourced:
            group = api_group(entry.object.api_version)
            if isinstance(entry.object, Unknown) and not built_in().is_built_in(group):
                found.setdefault((group, entry.object.kind), entry)
        return tuple(found.values())

    def of(self, cls: type[T]) -> tuple[T, ...]:
        """Return the objects of one kind, in order."""
        return tuple(entry.object for entry in self.sourced if isinstance(entry.object, cls))


class PartialObjects(InputError):  # noqa: N818 - named for what it carries
    """The errors of some files, with what can be read of them.

    Attributes
    ----------
    loaded : LoadedObjects
        The objects, without values of wrong types, so that references can be checked, too.
    is_complete : bool
        Whether every document is among them. If not, references may be to those that are missing.
    """

    def __init__(
        self, errors: Iterable[FieldError], loaded: LoadedObjects, *, is_complete: bool
    ) -> None:
        super().__init__(errors)
        self.loaded = loaded
        self.is_complete = is_complete


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=4)


def read_paths(
    paths: Iterable[str | Path],
    *,
    stdin: BinaryIO | None = None,
    report: Callable[[str], None] = _warn,
) -> list[tuple[str, bytes]]:
    """Read files, and all manifests in folders.

    In folders the sources of Helm charts, kustomizations with the resources and patches that they
    name, unrendered templates and files without Kubernetes objects are skipped; see `unrendered`.

    Parameters
    ----------
    paths : iterable of str or Path
        Files are read regardless of their suffix; folders are searched recursively, in sorted
        order, for files with one of the `SUFFIXES`. `-` is the standard input.
    stdin : BinaryIO, optional
        The standard input.
    report : callable
        Receives one line for each chart, kustomization or folder with skipped files; by default
        a warning is issued.

    Returns
    -------
    list of (str, bytes)
        Name and content; a file that is given twice is read once.

    Raises
    ------
    InputError
        With every path that cannot be read, and every given file that has to be rendered first.
    """
    found: dict[str, bytes] = {}
    errors: list[FieldError] = []
    unrendered = UnrenderedFiles()
    for path in map(str, paths):
        if path == STDIN:
            if stdin is None:
                errors.append(FieldError(source=path, message="no standard input"))
            elif STDIN_SOURCE not in found:
                found[STDIN_SOURCE] = stdin.read()
        elif not path:
            errors.append(FieldError(source='""', message="an empty name is not a file"))
        elif Path(path).is_dir():
            _read_folder(Path(path), unrendered, found, errors, report)
        elif path not in found and (data := _read_file(Path(path), errors)) is not None:
            reason = unrendered.reason(Path(path), data, is_named=True)
            if reason is None or not reason.command:
                found[path] = data
            else:
                message = f"part of {reason.what}, not a manifest{reason.remedy}"
                errors.append(FieldError(source=path, message=message))
    if errors:
        raise InputError(errors)
    return list(found.items())


def read_path(path: str | Path) -> tuple[str, bytes]:
    """Read the one file that a path names, or the only manifest in a folder.

    Returns
    -------
    tuple of str and bytes
        Name and content.

    Raises
    ------
    InputError
        If it cannot be read, or is a folder with several manifests.
    """
    contents = read_paths([path])
    if len(contents) != 1:
        message = f"a folder with {len(contents)} files, where one file is read; name the file"
        raise InputError([FieldError(source=str(path), message=message)])
    return contents[0]


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a file, which need not be a manifest.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    errors: list[FieldError] = []
    data = _read_file(Path(path), errors)
    if data is None:
        raise InputError(errors)
    return data


def _read_file(file: Path, errors: list[FieldError]) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        errors.append(FieldError(source=str(file), message=message))
        return None
    except ValueError as error:  # a NUL character in the path
        errors.append(FieldError(source=quoted(str(file)), message=f"no file: {error}"))
        return None


def _read_folder(
    folder: Path,
    unrendered: UnrenderedFiles,
    found: dict[str, bytes],
    errors: list[FieldError],
    report: Callable[[str], None],
) -> None:
    skipped: dict[Unrendered, list[Path]] = {}
    files = _manifests_in(folder)
    for inside in _folders_of(files, folder):
        unrendered.examine(inside)
    for file in files:
        data = None if str(file) in found else _read_file(file, errors)
        if data is None:
            continue
        reason = unrendered.reason(file, data)
        if reason is None:
            found[str(file)] = data
        else:
            skipped.setdefault(reason, []).append(file)
    if not files:
        message = f"no manifests in this folder (looked for {', '.join(SUFFIXES)}, also .gz)"
        errors.append(FieldError(source=str(folder), message=message))
    has_manifests = len(files) > sum(map(len, skipped.values()))
    for reason, group in skipped.items():
        if has_manifests:
            report(skipped_text(reason, group))
        else:
            message = f"no manifests in this folder, only {reason.what}{reason.remedy}"
            errors.append(FieldError(source=str(reason.folder), message=message))


def _folders_of(files: list[Path], folder: Path) -> list[Path]:
    """Return the folders between a folder and the files in it, both ends included."""
    several = {folder}
    for file in files:
        for inside in file.parents:
            if inside in several:
                break
            several.add(inside)
    return sorted(several)


def _manifests_in(folder: Path) -> list[Path]:
    return sorted(
        file
        for file in folder.rglob("*")
        if file.name.removesuffix(".gz").endswith(SUFFIXES)
        and not any(part.startswith(".") for part in file.relative_to(folder).parts)
        and file.is_file()
    )


def load(
    paths: str | Path | Sequence[str | Path],
    *,
    stdin: BinaryIO | None = None,
    validate: FieldValidation = "strict",
    openb_gpus: OpenbGpus | None = None,
    report: Callable[[str], None] = _warn,
    progress: bool | None = None,
) -> LoadedObjects:
    """Read the objects of one or several files and folders.

    Duplicates with the same content are merged, so a folder may contain a dump of all kinds
    beside dumps of single kinds.

    Parameters
    ----------
    paths : str, Path or sequence of them
        Files and folders; `-` is the standard input.
    stdin : BinaryIO, optional
        The standard input.
    validate : str
        What is done about unknown fields and invalid values in manifests, as with
        `kubectl --validate`: `strict` raises, `warn` reports them in `warnings`, `ignore` accepts
        them. Objects that an API server has stored are read leniently.
    openb_gpus : str, optional
        Makes the GPUs of the openb trace a resource that the scheduler counts: `milli`, thousandths
        that pods share, or `count`, whole GPUs. Without it, they are annotations of the pods.

    report : callable
        Receives a line for each chart, kustomization or folder with skipped files; by default a
        warning is issued.
    progress : bool, optional
        Whether to show the progress; by default in terminals and notebooks, if it takes long.

    Raises
    ------
    InputError
        With all errors in all files, or if an argument has none of its values.
    """
    several = (paths,) if isinstance(paths, str | Path) else paths
    contents = read_paths(several, stdin=stdin, report=report)
    places: dict[str, tuple[int, int]] = {}
    size = 0
    for source, data in contents:
        places[source] = (size, len(data))
        size += len(data)
    with metered("reading", size, is_shown=progress) as meter:

        def watch(source: str, share: float) -> None:
            begin, length = places[source]
            meter.advance(begin + share * length, lambda: source)

        loaded = load_bytes(contents, validate=validate, watch=watch)
    loaded = with_generated_names(loaded)
    return count_openb_gpus(loaded, openb_gpus, FieldError(source="openb_gpus", message=""))


def with_generated_names(loaded: LoadedObjects) -> LoadedObjects:
    """Return the objects with names where they have a `generateName` only.

    An API server draws the names; a scheduler alone keeps one object of a key.
    """

    def named(number: int, entry: Sourced) -> Sourced:
        obj, prefix = entry.object, entry.object.metadata.generate_name
        if obj.name or not prefix:
            return entry
        from podwright.cluster.api import generated_name

        name = generated_name(prefix, namespace=obj.namespace, taken=(), seed=0, version=number)
        return msgspec.structs.replace(entry, object=with_fields(obj, "metadata", name=name))

    sourced = tuple(named(number, entry) for number, entry in enumerate(loaded.sourced))
    return msgspec.structs.replace(loaded, sourced=sourced)


def count_openb_gpus(
    loaded: LoadedObjects, gpus: OpenbGpus | None, option: FieldError
) -> LoadedObjects:
    """Return the objects with the GPUs of the openb trace as a resource; see `load`.

    Parameters
    ----------
    option : FieldError
        The place of the option, for errors.

    Raises
    ------
    InputError
        If the value is not supported, or no pod requests GPUs by annotations.
    """
    if gpus is None:
        return loaded
    message = ""
    if gpus not in get_args(files.OpenbGpus):
        message = unsupported(gpus, get_args(files.OpenbGpus))
    elif not files.requests_openb_gpus(loaded.sourced):
        message = "has no effect without pods of the openb trace that request GPUs"
    if message:
        raise InputError([msgspec.structs.replace(option, message=message)])
    return msgspec.structs.replace(loaded, sourced=files.with_openb_gpus(loaded.sourced, gpus))


def load_bytes(
    files: Iterable[tuple[str, bytes]],
    *,
    validate: FieldValidation = "strict",
    has_defaults: bool = True,
    namespace: str = "",
    watch: Watch | None = None,
    cache: DocumentCache | None = None,
) -> LoadedObjects:
    """Read the objects from the content of files; see `load` and `read_manifest`.

    Parameters
    ----------
    files : iterable of (str, bytes)
        Path and content.
    namespace : str
        The namespace of objects of namespaced kinds that name none; `default` if empty.
    watch : callable, optional
        Receives the name of each file and the share of it that is read.
    cache : DocumentCache, optional
        Keeps the parsed documents of large YAML files.

    Raises
    ------
    PartialObjects
        With all errors in all files.
    """
    require_validation(validate)
    errors: list[FieldError] = []
    is_complete = True
    distinct = DistinctObjects(errors)
    configuration: SourcedDocument | None = None
    warnings: list[str] = []
    for source, data in files:
        manifest = read_manifest(
            data,
            source=source,
            validate=validate,
            has_defaults=has_defaults,
            namespace=namespace,
            watch=watch,
            cache=None if source == STDIN_SOURCE else cache,
        )
        errors += manifest.errors
        is_complete = is_complete and manifest.is_complete
        warnings += manifest.warnings
        for entry in manifest.objects:
            distinct.add(entry)
        for document in manifest.configurations:
            if configuration is None:
                configuration = document
            elif configuration.document != document.document:
                message = f"a second scheduler configuration; the first is {configuration.source}"
                errors.append(FieldError(source=document.source, message=message))
    if distinct.changed:
        names = first_names(list(distinct.changed), 3)
        warnings.append(f"the newest state is read of what the files have in several: {names}")
    kept = with_device_slices(distinct.kept, errors, warnings)
    kept = with_classes_of_pods(kept, warnings)
    warnings += missing_claims(kept)
    warnings += overflows(kept)
    loaded = LoadedObjects(tuple(kept), configuration, tuple(warnings), validate)
    if errors:
        raise PartialObjects(errors, loaded, is_complete=is_complete)
    return loaded


def with_documents(
    loaded: LoadedObjects,
    documents: Iterable[tuple[Place, str, Document]],
    errors: list[FieldError],
    validate: FieldValidation = "strict",
) -> tuple[LoadedObjects, bool]:
    """Return objects with those of further documents, and whether each of them could be read.

    Parameters
    ----------
    loaded : LoadedObjects
    documents : iterable of (Place, str, dict)
        Where each document is, and its path there.
    errors : list of FieldError, written
    validate : str
    """
    distinct = DistinctObjects(errors)
    for entry in loaded.sourced:
        distinct.add(entry)
    reader = ObjectReader(validate)
    is_complete = True
    for place, path, document in documents:
        obj = reader.read(document, place, path=path)
        if obj is None:
            is_complete = False
        else:
            source = f"{place}: {path}" if path else str(place)
            distinct.add(Sourced(source, obj, str(document.get("apiVersion", ""))))
    errors += reader.errors
    kept, warnings = tuple(distinct.kept), (*loaded.warnings, *reader.warnings())
    return msgspec.structs.replace(loaded, sourced=kept, warnings=warnings), is_complete


# Objects of several inputs, each of them once.
#
# Inputs may overlap: a folder contains a dump of all kinds beside dumps of single kinds. Objects
# of one name with the same content are one object, and so are two states of one object of a
# server: tools dump kind by kind, and some kinds twice. With other differences they are an error,
# because one of them would replace the other.

_VERSION = re.compile(r"v(?P<major>\d+)(?:(?P<stage>alpha|beta)(?P<minor>\d+))?")


class DistinctObjects:
    """Collects objects.

    Parameters
    ----------
    errors : list of FieldError
        Where an error is added for each object that differs from an earlier one of its name.

    Attributes
    ----------
    kept : list of Sourced
        The objects in the order of their first occurrence.
    changed : dict of str to None
        The objects that occurred in several states, of which the last one is kept.
    """

    def __init__(self, errors: list[FieldError]) -> None:
        self.kept: list[Sourced] = []
        self.changed: dict[str, None] = {}
        self._errors = errors
        self._positions: dict[tuple[str, str, str], int] = {}

    def add(self, entry: Sourced) -> None:
        """Add an object; of several versions, the newest counts."""
        obj = entry.object
        # With generateName only, every object is a new one.
        if not obj.name:
            self.kept.append(entry)
            return
        identity = (api_group(obj.api_version), obj.kind, obj.key)
        position = self._positions.setdefault(identity, len(self.kept))
        if position == len(self.kept):
            self.kept.append(entry)
        elif self._replaces(entry, self.kept[position]):
            self.kept[position] = entry

    def _replaces(self, entry: Sourced, first: Sourced) -> bool:
        """Whether a duplicate has a newer version or state; else two contents are an error."""
        obj = entry.object
        version, first_version = _version_of(entry), _version_of(first)
        if version != first_version:
            # A bundle for several releases of Kubernetes has an object in several versions.
            return _version_rank(version) > _version_rank(first_version)
        number, first_number = _state_of(obj), _state_of(first.object)
        if obj.uid == first.object.uid and number and first_number and number != first_number:
            self.changed[f"{obj.kind} {obj.key}"] = None
            return number > first_number
        if encode(first.object) != encode(obj):
            message = f"{obj.kind} {obj.key} is different in {first.source}"
            self._errors.append(FieldError(source=entry.source, message=message))
        return False


def _state_of(obj: Object) -> int:
    """Return the number of an object's state in its cluster; 0 if no server has given it one."""
    version = obj.metadata.resource_version
    return int(version) if obj.uid and version.isdecimal() else 0


def _version_of(entry: Sourced) -> str:
    # An object is read in one version of its kind.
    return entry.api_version or entry.object.api_version


def _version_rank(api_version: str) -> tuple[int, int, int]:
    """Return the priority of a version: stable before beta before alpha, then the numbers.

    Upstream: staging/src/k8s.io/apimachinery/pkg/version/helpers.go, CompareKubeAwareVersionStrings
    """
    found = _VERSION.fullmatch(api_version.rpartition("/")[2])
    if found is None:
        return (0, 0, 0)
    stage = {"alpha": 1, "beta": 2, None: 3}[found["stage"]]
    return (stage, int(found["major"]), int(found["minor"] or 0))


# Amounts that do not fit 64 bits: the API server accepts them, and kube-scheduler misreads them.


_Amounts: TypeAlias = Iterable[tuple[str, Mapping[str, QuantityText]]]


def overflows(sourced: Iterable[Sourced]) -> Iterator[str]:
    """Yield a warning for each amount of a pod or a node that kube-scheduler misreads."""
    examined: dict[int, object] = {}
    for entry in sourced:
        obj = entry.object
        if isinstance(obj, Pod):
            # Pods of one template share their spec.
            if id(obj.spec) in examined:
                continue
            examined[id(obj.spec)] = obj.spec
            amounts = _of_pod(obj)
        elif isinstance(obj, Node):
            status = obj.status
            amounts = (("status.allocatable", status.allocatable or status.capacity),)
        else:
            continue
        for path, resources in amounts:
            for name, text in resources.items():
                read = _misread(text, is_cpu=name == "cpu")
                if read:
                    yield (
                        f"{entry.source}: {path}[{name}]: {text} does not fit 64 bits;"
                        f" kube-scheduler reads {read}"
                    )


def _of_pod(pod: Pod) -> _Amounts:
    for field, containers in (
        ("initContainers", pod.spec.init_containers),
        ("containers", pod.spec.containers),
    ):
        for index, container in enumerate(containers):
            yield f"spec.{field}[{index}].resources.requests", container.resources.requests
    if pod.spec.resources is not None:
        yield "spec.resources.requests", pod.spec.resources.requests
    yield "spec.overhead", pod.spec.overhead


@lru_cache(maxsize=65_536)
def _misread(text: QuantityText, *, is_cpu: bool) -> str:
    """Return the amount that upstream calculates with, if it is another one; else nothing."""
    quantity = parse_quantity(text)
    unit, value = (10**6, quantity.milli_value()) if is_cpu else (10**9, quantity.value())
    # Smaller parts are rounded up.
    if abs(quantity.nano - value * unit) < unit:
        return ""
    return f"{value}m" if is_cpu else f"{value}"
