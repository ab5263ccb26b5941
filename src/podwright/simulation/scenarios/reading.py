"""Reads scenario files: all mistakes at once, each with its path.

Among them are names in expectations of what does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, Final

import msgspec

from podwright.apimachinery.documents import (
    as_document,
    decode,
    did_you_mean,
    problem,
    read_document,
)
from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    Object,
    PodwrightError,
    api_group,
    collecting,
    encode,
)
from podwright.simulation.files import PartialObjects, read_path, read_paths
from podwright.simulation.recording import cluster_of, replay
from podwright.simulation.scenarios.document import (
    API_VERSION,
    Document,
    RunState,
    Spec,
)
from podwright.simulation.scenarios.kep140 import KEP140_GROUP, converted
from podwright.simulation.scenarios.scenario_file import Files, ScenarioFile
from podwright.simulation.world import START_NS, Inputs, Run, timing_entry

Read = Callable[[Sequence[str]], Files]

SCENARIO_HEAD_BYTES: Final = 100_000
"""The part of a file that says whether it is a scenario."""
_CLUSTER: Final = "cluster:"
_HEAD: Final = re.compile(rb"""^[\s{]*["']?kind["']?\s*:\s*["']?Scenario\b""", re.MULTILINE)
_OWN_GROUP: Final = api_group(API_VERSION)
_GROUPS: Final = (_OWN_GROUP.encode(), KEP140_GROUP.encode())


def is_scenario(data: bytes) -> bool:
    """Tell whether `data`, the content of a file, is that of a scenario."""
    head = data[:SCENARIO_HEAD_BYTES]
    return any(group in head for group in _GROUPS) and _HEAD.search(head) is not None


def load_scenario(
    path: Any,
    *,
    read: Callable[[Sequence[str]], Sequence[tuple[str, bytes]]] | None = None,
) -> ScenarioFile:
    """Read a scenario, and the files that it names, relative to its folder.

    Parameters
    ----------
    path : path
        A YAML or JSON file: a scenario of podwright, or of kube-scheduler-simulator (KEP-140).
    read : callable, optional
        Returns the names and contents of some paths, and of what starts with `cluster:`; only
        files and folders are read without it.

    Raises
    ------
    InputError
        With all mistakes, each with its path.
    """
    source, text = read_path(path)
    folder, slash, _ = str(path).rpartition("/")

    def read_beside(names: Sequence[str]) -> Files:
        placed = [
            name if name.startswith(("/", _CLUSTER)) else f"{folder}{slash}{name}" for name in names
        ]
        return tuple((read or read_paths)(placed))

    return read_scenario(text, source=source, read=read_beside, folder=f"{folder}{slash}")


def read_scenario(
    text: str | bytes,
    *,
    source: str,
    read: Read,
    folder: str = "",
    run_folder: Callable[[str], str] | None = None,
) -> ScenarioFile:
    """Read a scenario and the files that it names.

    Parameters
    ----------
    text : str or bytes
        YAML or JSON.
    source : str
        Its name, for errors.
    read : callable
        Returns the names and contents of some paths, and of the files in folders.
    folder : str
        The folder of the scenario, for run folders that it names; with a slash, or empty.
    run_folder : callable, optional
        Returns the path of a run folder that it names, in place of one in its folder.

    Raises
    ------
    InputError
        With all mistakes, each with its path.
    """
    written = read_document(text, source=source)

    def beside(name: str) -> str:
        return name if name.startswith("/") else f"{folder}{name}"

    return _Reading(source, read, run_folder or beside).scenario(written)


class _Reading:
    """The reading of one scenario."""

    def __init__(self, source: str, read: Read, run_folder: Callable[[str], str]) -> None:
        self._source = source
        self._read = read
        self._run_folder = run_folder
        self._errors: list[FieldError] = []

    def scenario(self, written: object) -> ScenarioFile:
        """Return the scenario.

        Raises
        ------
        InputError
            With all mistakes.
        """
        errors = self._errors
        warnings: tuple[str, ...] = ()
        places: tuple[int, ...] | None = None
        given = written if isinstance(written, dict) else {}
        if api_group(str(given.get("apiVersion", ""))) == KEP140_GROUP:
            own, order, warnings = converted(written, errors)
            written, places = own, order
        document = decode(written, Document, "", errors)
        spec = document.spec
        files = self._files(spec.cluster.files, "spec.cluster.files")
        if spec.cluster.run is not None:
            files += self._run(spec.cluster.run)
        found = ScenarioFile(
            source=self._source,
            document=document,
            operations=tuple(self._lines(spec, count() if places is None else places)),
            files=files,
            events=self._files(spec.events, "spec.events"),
            others=self._others(spec),
            timing=timing_entry(spec.timing, "spec.timing", self._read, errors),
            warnings=warnings,
            is_kep140=places is not None,
        )
        placed = [
            one if one.source else msgspec.structs.replace(one, source=self._source)
            for one in errors
        ]
        placed += _later_errors(found, [one.path for one in errors])
        if placed:
            placed = [found.as_written(one) for one in placed]
            distinct = {(one.source, one.path, one.message): one for one in placed}
            raise InputError(distinct.values())
        return found

    def _lines(self, spec: Spec, places: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the operations without errors so far, as lines."""
        for place, line in zip(places, spec.operations, strict=False):
            path = f"spec.operations[{place}]"
            if not any(one.path == path or one.path.startswith(f"{path}.") for one in self._errors):
                yield place + 1, msgspec.json.encode(as_document(line))

    def _files(self, names: Sequence[str], path: str) -> Files:
        found: Files = ()
        for index, name in enumerate(names):
            found += self._contents(name, f"{path}[{index}]") or ()
        return found

    def _contents(self, name: str, path: str) -> Files | None:
        """Return what can be read under the name that stands at `path`; None after an error."""
        try:
            return self._read([name])
        except PodwrightError as error:  # a file, or a cluster that cannot be read
            whole = [FieldError(source=name, path="", message=str(error))]
            wrong = error.errors if isinstance(error, InputError) else whole
            self._errors += (problem(path, f"{one.source}: {one.message}") for one in wrong)
            return None

    def _others(self, spec: Spec) -> dict[str, bytes]:
        named = [
            (f"spec.load[{index}].trace.file", entry.trace.file)
            for index, entry in enumerate(spec.load)
            if entry.trace is not None
        ]
        for index, each in enumerate(spec.configurations):
            where = f"spec.configurations[{index}]"
            named.append((f"{where}.file", each.file))
            named += [
                (f"{where}.plugins[{place}]", name) for place, name in enumerate(each.plugins)
            ]
        found: dict[str, bytes] = {}
        for path, name in named:
            if name and name not in found:
                contents = self._contents(name, path)
                if contents is not None:
                    found[name] = contents[0][1] if contents else b""
        return found

    def _run(self, state: RunState) -> Files:
        path = "spec.cluster.run"
        if not state.folder:
            return ()
        try:
            folder = self._run_folder(state.folder)
            log = Run.open(folder).log
            end_ns = log.time_of(len(log) - 1) if len(log) else START_NS
            at = cluster_of(replay(log, at=state.at or None), end_ns)
        except InputError as error:
            self._errors += (problem(f"{path}.at", one.message) for one in error.errors)
            return ()
        except PodwrightError as error:
            self._errors.append(problem(f"{path}.folder", str(error)))
            return ()
        content = msgspec.json.encode(
            {"apiVersion": "v1", "kind": "List", "items": [encode(one) for one in at.objects]}
        )
        return ((f"{folder}.json", content),)


def _later_errors(found: ScenarioFile, wrong: Sequence[str]) -> list[FieldError]:
    """Return the errors of objects, and, if there are other errors, those of the operations.

    Without other errors, whose paths are `wrong`, the operations are checked when a run is
    prepared, once.
    """
    errors: list[FieldError] = []
    is_complete = not any(path.startswith("spec.cluster") for path in wrong)
    spec = found.document.spec
    try:
        loaded = found.loaded
    except PartialObjects as error:
        errors += error.errors
        loaded, is_complete = error.loaded, is_complete and error.is_complete
    for index, name in enumerate(found.configurations):
        if any(path.startswith(f"spec.configurations[{index}].") for path in wrong):
            continue
        try:
            found.scheduler_options(name, spec.seed)
        except PodwrightError as error:
            if isinstance(error, InputError):
                errors += error.errors
    if is_complete and not spec.events:
        errors += (
            msgspec.structs.replace(one, source=found.source)
            for one in reference_problems(spec, loaded.objects)
        )
    if not (wrong or errors):
        return []
    operations = msgspec.structs.replace(
        found, document=msgspec.structs.replace(found.document, spec=Spec(stop=spec.stop))
    )
    files = operations.event_files(spec.seed)
    # Event files and loads, which are left out, may have what the operations name.
    is_complete = is_complete and not spec.events and not spec.load
    collecting(errors, None, Inputs, loaded, files, start_ns=START_NS, is_complete=is_complete)
    return errors


# --------------------------------------------------------------------------- expectation problems

_BUILT_IN_CLASSES: Final = ("system-cluster-critical", "system-node-critical")


def reference_problems(spec: Spec, objects: Iterable[Object]) -> Iterator[FieldError]:
    """Yield an error for each budget and priority class that nothing creates."""
    created = list(_created(spec, objects))
    budgets = {key for kind, key in created if kind == "PodDisruptionBudget"}
    classes = {key.partition("/")[2] for kind, key in created if kind == "PriorityClass"}
    classes |= {*_BUILT_IN_CLASSES}
    for index, each in enumerate(spec.expectations):
        budget = None if each.budget_blocked is None else each.budget_blocked.budget
        for kind, field, name, known in (
            ("PodDisruptionBudget", "budgetBlocked.budget", budget, budgets),
            ("PriorityClass", "noPreemptionOf", each.no_preemption_of, classes),
            ("PriorityClass", "priorityClass", each.priority_class, classes),
        ):
            if name and name not in known:
                hint = did_you_mean(name, sorted(known))
                message = f'there is no {kind} "{name}"{hint}'
                yield problem(f"spec.expectations[{index}].{field}", message)


def _created(spec: Spec, objects: Iterable[Object]) -> Iterator[tuple[str, str]]:
    for obj in objects:
        yield obj.kind, f"{obj.namespace or 'default'}/{obj.name}"
    manifests: list[Any] = [each.apply or each.create for each in spec.operations]
    manifests += [
        {**entry.object, "metadata": {"name": f"{entry.name}-0"}}
        for entry in spec.load
        if entry.object is not None
    ]
    for manifest in manifests:
        if isinstance(manifest, dict):
            metadata = manifest.get("metadata")
            metadata = metadata if isinstance(metadata, dict) else {}
            namespace = metadata.get("namespace") or "default"
            yield manifest.get("kind", ""), f"{namespace}/{metadata.get('name')}"
