"""The plan of a sweep: configurations x inputs x seeds, and what all runs have in common.

A plan is a document: a YAML or JSON file, what the function `plan` of a Python file returns, or a
dict. Its runs are the grid of everything in it, or the list `runs`. Paths are relative to the
folder of the file. `read_plan` reads all files that it names, so a plan in memory is complete:
workers need no files. A run is named by the hash of everything that it depends on.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import product
from os import PathLike
from pathlib import Path
from runpy import run_path
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec

from podwright._version import __version__
from podwright.apimachinery.documents import (
    decode,
    did_you_mean,
    duplicate,
    forbidden,
    invalid,
    problem,
    raise_errors,
    read_document,
    required,
)
from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    PodwrightError,
    collecting,
    read_duration,
    read_time,
)
from podwright.online.sweep.goals import Goal, read_goal
from podwright.scheduler.assembly import (
    assemble,
    packages_of,
    prepare,
    unknown_plugins,
    with_plugin_field,
)
from podwright.scheduler.config import (
    EffectiveConfiguration,
    KubeSchedulerConfiguration,
    read_configuration,
)
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.files import OpenbGpus, read_path, read_paths
from podwright.simulation.recording import log_of, record_of_log
from podwright.simulation.scenarios import ScenarioFile, read_scenario
from podwright.simulation.world import Ending, timing_entry

MOST_SEEDS: Final = 100_000
"""A range with more seeds is taken for a mistake."""

_SEEDS: Final = re.compile(" *([0-9]+)(?: *- *([0-9]+))? *")
_T = TypeVar("_T")

Files = tuple[tuple[str, bytes], ...]
"""Names and contents."""


class SweepInput(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What a cluster is made of.

    Parameters
    ----------
    name : str
    objects : tuple of (str, bytes)
        Manifests, dumps, snapshots, tables: name and content of each.
    events : tuple of (str, bytes)
        Files of events, and records of changes.
    scenario : ScenarioFile, optional
        In place of them; its seed and configurations are those of the plan.
    pods : int
        So many of the pods among the objects, drawn by the seed of a run, in drawn order; 0: all.
    """

    name: str
    objects: Files = ()
    events: Files = ()
    scenario: ScenarioFile | None = None
    pods: int = 0

    @cached_property
    def digest(self) -> str:
        """The hash of the contents."""
        if self.scenario is not None:
            return self.scenario.digest
        drawn: Files = ((f"{self.pods} pods", b""),) if self.pods else ()
        return _digest(self.objects, self.events, *([drawn] if drawn else []))


class SweepConfiguration(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """How pods are scheduled.

    Parameters
    ----------
    name : str
    configuration : (str, bytes), optional
        The name and the text of a KubeSchedulerConfiguration; the default without it.
    plugins : tuple of (str, bytes)
        Plugin files.
    packages : tuple of str
        Installed packages that offer further plugins which the configuration enables.
    """

    name: str
    configuration: tuple[str, bytes] | None = None
    plugins: Files = ()
    packages: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """The hash of the contents."""
        packages = ((("packages", repr(self.packages).encode()),),) if self.packages else ()
        given = (self.configuration,) if self.configuration else ()
        return _digest(given, self.plugins, *packages)


class SweepOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What all runs have in common; see `podwright.simulate`.

    Parameters
    ----------
    until, job_duration, ending, openb_gpus : str, optional
    timing : Timing, optional
        In a file: that of a timing model, or its document.
    """

    until: str | None = None
    job_duration: str | None = None
    ending: Ending | None = None
    openb_gpus: OpenbGpus | None = None
    timing: Any = msgspec.UNSET  # left out of what names a run, as long as there is none

    def keywords(self) -> dict[str, Any]:
        """Return the keyword arguments of `simulate`."""
        values = msgspec.structs.asdict(self)
        return {name: value for name, value in values.items() if value not in (None, msgspec.UNSET)}


class SweepRun(NamedTuple):
    """One run of a sweep.

    Attributes
    ----------
    id : str
        The hash of everything that the run depends on.
    input, configuration : str
        Their names.
    seed : int
    """

    id: str
    input: str
    configuration: str
    seed: int


class SweepPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A complete plan.

    Parameters
    ----------
    inputs : tuple of SweepInput
    configurations : tuple of SweepConfiguration
        The first one is what the others are compared with.
    seeds : tuple of int
    options : SweepOptions
    cases : tuple of (str, int, str)
        The input, seed and configuration of each run; () is the grid of all of them.
    goals : tuple of Goal
        What makes a configuration the best one.
    """

    inputs: tuple[SweepInput, ...]
    configurations: tuple[SweepConfiguration, ...]
    seeds: tuple[int, ...]
    options: SweepOptions = SweepOptions()
    cases: tuple[tuple[str, int, str], ...] = ()
    goals: tuple[Goal, ...] = ()

    def runs(self) -> Iterator[SweepRun]:
        """Yield all runs; those of a grid with one seed and input stand together."""
        common = hashlib.sha256(msgspec.json.encode([self.options, __version__]))
        inputs = {each.name: each.digest for each in self.inputs}
        configurations = {each.name: each.digest for each in self.configurations}
        for given, seed, name in self.cases or product(inputs, self.seeds, configurations):
            run = common.copy()
            run.update(f"{inputs[given]} {configurations[name]} {seed}".encode())
            yield SweepRun(run.hexdigest()[:32], given, name, seed)


class _InputEntry(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ""
    files: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    scenario: str = ""
    run: str = ""
    pods: int = 0


class _ConfigurationEntry(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ""
    config: Any = None
    plugins: tuple[str, ...] = ()


class _RunsEntry(msgspec.Struct, frozen=True, kw_only=True):
    inputs: tuple[str, ...] = ()
    configurations: tuple[str, ...] = ()
    seeds: str = ""


class _PlanFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    inputs: tuple[_InputEntry, ...] = ()
    configurations: tuple[_ConfigurationEntry, ...] = ()
    seeds: str = "0"
    runs: tuple[_RunsEntry, ...] = ()
    goals: tuple[str, ...] = ()
    simulate: SweepOptions = SweepOptions()
    tune: dict[str, Any] | None = None


PlanSource: TypeAlias = str | PathLike[str] | Mapping[str, Any]
"""The file of a plan, or its document."""


def load_plan(given: PlanSource) -> SweepPlan:
    """Read a plan, and the files that it names.

    Parameters
    ----------
    given : path or mapping
        The file of a plan, to whose folder paths are relative; or a document, whose paths are
        relative to the current folder.

    Raises
    ------
    InputError
        With all mistakes, each with its path, and the files that cannot be read.
    """
    document, source, folder = document_of(given)
    errors: list[FieldError] = []
    plan = read_plan(document, folder, errors)
    raise_errors(errors, source=source)
    return plan


def document_of(given: PlanSource) -> tuple[object, str, Path]:
    """Return the document of a plan, its name for errors, and what its paths are relative to.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    if isinstance(given, Mapping):
        return dict(given), "plan", Path()
    path = Path(given)
    source, text = read_path(path)
    if path.suffix != ".py":
        return read_document(text, source=source), source, path.parent
    document: object = None
    try:
        function = run_path(str(given)).get("plan")
        document = function() if callable(function) else None
    except Exception as error:  # noqa: BLE001 - the user's code may raise anything
        raise_errors([problem("", f"{type(error).__name__}: {error}")], source=source)
    if not isinstance(document, Mapping):
        detail = "must define a function plan() that returns the document of a plan"
        raise_errors([problem("", detail)], source=source)
    # As if it had been read from a file: lists instead of tuples, texts as keys.
    return msgspec.json.decode(msgspec.json.encode(document)), source, path.parent


def read_plan(document: object, folder: Path, errors: list[FieldError]) -> SweepPlan:
    """Return a plan, and add its mistakes to a list.

    Parameters
    ----------
    document : object
        The content of a plan, as decoded from YAML or JSON.
    folder : Path
        What paths are relative to.
    errors : list of FieldError
        Gets the mistakes.
    """
    plan = decode(document, _PlanFile, "", errors)
    wrong_lists = {each.path for each in errors}
    for list_path, entries in (("inputs", plan.inputs), ("configurations", plan.configurations)):
        if list_path not in wrong_lists:
            errors += _names([each.name for each in entries], list_path)
    options = plan.simulate
    if options.timing is not msgspec.UNSET:
        timing = timing_entry(options.timing, "simulate.timing", partial(_read, folder), errors)
        options = msgspec.structs.replace(options, timing=timing)
    # Whether a time is before the start of an input is known to its runs only.
    until = partial(read_time, start_ns=0)
    for path, value, read in (
        ("simulate.until", options.until, until),
        ("simulate.jobDuration", options.job_duration, read_duration),
    ):
        wrong: list[FieldError] = []
        if value is not None:
            collecting(wrong, 0, read, value, path)
        errors += [msgspec.structs.replace(each, path=path) for each in wrong]
    seeds = seeds_of(plan.seeds, "seeds", errors)
    return SweepPlan(
        inputs=tuple(
            _input(each, options, f"inputs[{index}]", folder, errors)
            for index, each in enumerate(plan.inputs)
        ),
        configurations=tuple(
            _configuration(each, f"configurations[{index}]", folder, errors)
            for index, each in enumerate(plan.configurations)
        ),
        seeds=seeds,
        options=options,
        cases=tuple(dict.fromkeys(_cases(plan, seeds, errors))),
        goals=read_each(read_goal, plan.goals, "goals", errors),
    )


def _input(
    entry: _InputEntry,
    options: SweepOptions,
    path: str,
    folder: Path,
    errors: list[FieldError],
) -> SweepInput:
    if entry.scenario:
        where = f"{path}.scenario"
        if entry.files or entry.events or entry.run or entry.pods:
            errors.append(forbidden(where, "cannot be combined with files, events, run and pods"))
        if options != SweepOptions():
            errors.append(forbidden(where, "its options are in the scenario; leave out simulate"))
    elif not (entry.files or entry.events or entry.run):
        errors.append(required(f"{path}.files"))
    if entry.pods < 0:
        errors.append(invalid(f"{path}.pods", entry.pods, "must be at least 0"))
    events = files_of(entry.events, f"{path}.events", folder, errors)
    if entry.run:
        try:
            with log_of(folder / entry.run) as log:
                events += ((f"{Path(entry.run).name}.jsonl", b"".join(record_of_log(log))),)
        except PodwrightError as error:
            errors.append(invalid(f"{path}.run", entry.run, str(error)))
    return SweepInput(
        name=entry.name,
        objects=files_of(entry.files, f"{path}.files", folder, errors),
        events=events,
        scenario=_scenario(entry.scenario, f"{path}.scenario", folder, errors),
        pods=entry.pods,
    )


def _scenario(name: str, path: str, folder: Path, errors: list[FieldError]) -> ScenarioFile | None:
    """Read a scenario and its files, which are relative to its folder."""
    if not name:
        return None
    beside = (folder / name).parent
    try:
        source, text = read_path(folder / name)
        return read_scenario(text, source=source, read=partial(_read, beside), folder=f"{beside}/")
    except InputError as error:
        errors += (
            invalid(path, name, f"{each.path}: {each.message}".removeprefix(": "))
            for each in error.errors
        )
        return None


def _configuration(
    entry: _ConfigurationEntry, path: str, folder: Path, errors: list[FieldError]
) -> SweepConfiguration:
    found: Files = ()
    if isinstance(entry.config, str):
        found = files_of([entry.config], f"{path}.config", folder, errors)
    elif isinstance(entry.config, Mapping):
        found = ((f"{entry.name}.json", msgspec.json.encode(entry.config)),)
    elif entry.config is not None:
        errors.append(invalid(f"{path}.config", entry.config, "must be a path or an object"))
    packages: tuple[str, ...] = ()
    for source, text in found:
        try:
            read = read_configuration(text, source=source)
            packages = packages_of(unknown_plugins(read))
            if not entry.plugins and not packages:  # which may import what only workers have
                effective_of(read)
        except InputError as error:
            named = (with_plugin_field(each, f"{path}.plugins") for each in error.errors)
            errors += (
                problem(f"{path}.config", f"{each.path}: {each.message}".removeprefix(": "))
                for each in named
            )
    return SweepConfiguration(
        name=entry.name,
        configuration=found[0] if found else None,
        plugins=files_of(entry.plugins, f"{path}.plugins", folder, errors),
        packages=packages,
    )


def effective_of(
    configuration: KubeSchedulerConfiguration | None, plugins: Sequence[type[Plugin]] = ()
) -> EffectiveConfiguration:
    """Return a configuration with all defaults.

    Raises
    ------
    InputError
        If it is not valid; with all errors.
    """
    options = SchedulerOptions(configuration=configuration, plugins=tuple(plugins), source="")
    found, registry = prepare(options)
    # Plugins validate their arguments when they are built.
    assemble(found, registry, options)
    return found


def files_of(names: Sequence[str], path: str, folder: Path, errors: list[FieldError]) -> Files:
    """Return the contents of files, and of the files in folders."""
    found: list[tuple[str, bytes]] = []
    for index, name in enumerate(names):
        where = path if path.endswith("config") else f"{path}[{index}]"
        try:
            found += read_paths([folder / name])
        except InputError as error:
            errors += (invalid(where, name, each.message) for each in error.errors)
    return tuple(found)


def _cases(
    plan: _PlanFile, seeds: Sequence[int], errors: list[FieldError]
) -> Iterator[tuple[str, int, str]]:
    inputs = [each.name for each in plan.inputs]
    configurations = [each.name for each in plan.configurations]
    for index, entry in enumerate(plan.runs):
        path = f"runs[{index}]"
        _known(entry.inputs, inputs, f"{path}.inputs", errors)
        _known(entry.configurations, configurations, f"{path}.configurations", errors)
        own = seeds_of(entry.seeds, f"{path}.seeds", errors) if entry.seeds else seeds
        yield from product(entry.inputs or inputs, own, entry.configurations or configurations)


def _known(names: Sequence[str], known: Sequence[str], path: str, errors: list[FieldError]) -> None:
    for index, name in enumerate(names):
        if name not in known:
            detail = f"no such name in {path.rpartition('.')[2]}{did_you_mean(name, known)}"
            errors.append(invalid(f"{path}[{index}]", name, detail))


def read_each(
    read: Callable[[str], _T], texts: Sequence[str], path: str, errors: list[FieldError]
) -> tuple[_T, ...]:
    """Return what a function reads from each text of a list, and add its mistakes to a list."""
    found = []
    for index, text in enumerate(texts):
        try:
            found.append(read(text))
        except ValueError as error:
            errors.append(invalid(f"{path}[{index}]", text, str(error)))
    return tuple(found)


def seeds_of(text: str, path: str, errors: list[FieldError]) -> tuple[int, ...]:
    """Return the seeds of a text, and add its mistake to a list."""
    try:
        return read_seeds(text)
    except ValueError as error:
        errors.append(invalid(path, text, str(error)) if text else required(path, str(error)))
        return ()


def read_seeds(text: str) -> tuple[int, ...]:
    """Read seeds from `text` such as ``0-9`` or ``1,5,7``.

    Raises
    ------
    ValueError
        With what is expected.
    """
    seeds: dict[int, None] = {}
    for part in text.split(","):
        found = _SEEDS.fullmatch(part)
        if found is None:
            raise ValueError("must be seeds, such as 0-9 or 1,5,7")
        least, greatest = int(found[1]), int(found[2] or found[1])
        if greatest < least:
            raise ValueError("a range starts with its least seed")
        if greatest - least >= MOST_SEEDS:
            raise ValueError(f"must be at most {MOST_SEEDS:,} seeds")
        seeds.update(dict.fromkeys(range(least, greatest + 1)))
    return tuple(seeds)


def _read(folder: Path, names: Sequence[str]) -> Files:
    return tuple(read_paths([folder / name for name in names]))


def _names(names: list[str], path: str) -> Iterator[FieldError]:
    if not names:
        yield required(path)
    for index, name in enumerate(names):
        if not name:
            yield required(f"{path}[{index}].name")
        elif name in names[:index]:
            yield duplicate(f"{path}[{index}].name", name)


def _digest(*groups: Files) -> str:
    digest = hashlib.sha256()
    for files in groups:
        for name, content in files:
            # The name's end decides how a file is read.
            digest.update(f"{name.rsplit('/', 1)[-1]} {len(content)} ".encode())
            digest.update(content)
        digest.update(b"\n")
    return digest.hexdigest()
