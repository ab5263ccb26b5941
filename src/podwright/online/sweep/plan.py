"""The plan of a sweep: configurations x inputs x seeds, and what all runs have in common.

A plan is one YAML or JSON file; paths in it are relative to its folder. `read_plan` reads all files
that it names, so a plan in memory is complete: workers need no files. A run is named by the hash of
everything that it depends on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

import msgspec

from podwright._version import __version__
from podwright.apimachinery.documents import (
    decode,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    parse_document,
    problem,
    raise_errors,
    required,
)
from podwright.apimachinery.objects import FieldError
from podwright.simulation.files import OpenbGpus, read_paths
from podwright.simulation.scenarios import ScenarioFile, read_scenario
from podwright.simulation.world import Ending

MOST_SEEDS: Final = 100_000
"""A range with more seeds is taken for a mistake."""

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
        Files of events.
    scenario : ScenarioFile, optional
        In place of them; its seed and configurations are those of the plan.
    """

    name: str
    objects: Files = ()
    events: Files = ()
    scenario: ScenarioFile | None = None

    @cached_property
    def digest(self) -> str:
        """The hash of the contents."""
        if self.scenario is not None:
            return self.scenario.digest
        return _digest(self.objects, self.events)


class SweepConfiguration(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """How pods are scheduled.

    Parameters
    ----------
    name : str
    configuration : (str, bytes), optional
        The name and the text of a KubeSchedulerConfiguration; the default without it.
    plugins : tuple of (str, bytes)
        Plugin files.
    """

    name: str
    configuration: tuple[str, bytes] | None = None
    plugins: Files = ()

    @cached_property
    def digest(self) -> str:
        """The hash of the contents."""
        return _digest((self.configuration,) if self.configuration else (), self.plugins)


class SweepOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What all runs have in common; see `podwright.simulate`.

    Parameters
    ----------
    until, job_duration, ending, openb_gpus : str, optional
    """

    until: str | None = None
    job_duration: str | None = None
    ending: str | None = None
    openb_gpus: str | None = None

    def keywords(self) -> dict[str, Any]:
        """Return the keyword arguments of `simulate`."""
        values = msgspec.structs.asdict(self)
        return {name: value for name, value in values.items() if value is not None}


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
    """

    inputs: tuple[SweepInput, ...]
    configurations: tuple[SweepConfiguration, ...]
    seeds: tuple[int, ...]
    options: SweepOptions = SweepOptions()

    def runs(self) -> Iterator[SweepRun]:
        """Yield all runs; those with one seed and input stand together."""
        common = hashlib.sha256(msgspec.json.encode([self.options, __version__]))
        for each in self.inputs:
            for seed in self.seeds:
                for configuration in self.configurations:
                    run = common.copy()
                    run.update(f"{each.digest} {configuration.digest} {seed}".encode())
                    yield SweepRun(run.hexdigest()[:32], each.name, configuration.name, seed)


class _InputEntry(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ""
    files: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    scenario: str = ""


class _ConfigurationEntry(msgspec.Struct, frozen=True, kw_only=True):
    name: str = ""
    config: str = ""
    plugins: tuple[str, ...] = ()


class _PlanFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    inputs: tuple[_InputEntry, ...] = ()
    configurations: tuple[_ConfigurationEntry, ...] = ()
    seeds: str = "0"
    simulate: SweepOptions = SweepOptions()


def load_plan(path: Path) -> SweepPlan:
    """Read the file of a plan, and the files that it names, relative to its folder.

    Raises
    ------
    InputError
        With all mistakes, or the files that cannot be read.
    """

    def read(names: Sequence[str]) -> Files:
        return tuple(read_paths([path.parent / name for name in names]))

    ((source, text),) = read_paths([path])
    return read_plan(text, source=source, read=read)


def read_plan(
    text: str | bytes, *, source: str, read: Callable[[Sequence[str]], Files]
) -> SweepPlan:
    """Read a plan and the files that it names.

    Parameters
    ----------
    text : str or bytes
        YAML or JSON.
    source : str
        Its name, for errors.
    read : callable
        Returns the names and contents of some paths, and of the files in folders; raises
        `InputError` for one that it cannot read.

    Raises
    ------
    InputError
        With all mistakes, each with its path.
    """
    errors: list[FieldError] = []
    document: object = None
    try:
        document = parse_document(text)
    except ValueError as error:
        raise_errors([problem("", str(error))], source=source)
    plan = decode(document, _PlanFile, "", errors)
    errors += _names([each.name for each in plan.inputs], "inputs")
    errors += _names([each.name for each in plan.configurations], "configurations")
    for index, entry in enumerate(plan.inputs):
        if entry.scenario:
            errors += _beside_scenario(entry, plan.simulate, f"inputs[{index}].scenario")
        elif not (entry.files or entry.events):
            errors.append(required(f"inputs[{index}].files"))
    if plan.simulate.ending not in (None, *_ENDINGS):
        errors.append(not_supported("simulate.ending", plan.simulate.ending or "", _ENDINGS))
    if plan.simulate.openb_gpus not in (None, *_GPUS):
        errors.append(not_supported("simulate.openbGpus", plan.simulate.openb_gpus or "", _GPUS))
    seeds: tuple[int, ...] = ()
    try:
        seeds = read_seeds(plan.seeds)
    except ValueError as error:
        errors.append(invalid("seeds", plan.seeds, str(error)))
    raise_errors(errors, source=source)
    return SweepPlan(
        inputs=tuple(
            SweepInput(
                name=each.name,
                objects=read(each.files),
                events=read(each.events),
                scenario=_scenario(each.scenario, read) if each.scenario else None,
            )
            for each in plan.inputs
        ),
        configurations=tuple(
            SweepConfiguration(
                name=each.name,
                configuration=read([each.config])[0] if each.config else None,
                plugins=read(each.plugins),
            )
            for each in plan.configurations
        ),
        seeds=seeds,
        options=plan.simulate,
    )


def _scenario(path: str, read: Callable[[Sequence[str]], Files]) -> ScenarioFile:
    """Read a scenario and its files, which are relative to its folder."""
    folder, slash, _ = path.rpartition("/")

    def read_beside(names: Sequence[str]) -> Files:
        return read([name if name.startswith("/") else f"{folder}{slash}{name}" for name in names])

    ((source, text),) = read([path])
    beside, slash, _ = source.rpartition("/")
    return read_scenario(text, source=source, read=read_beside, folder=f"{beside}{slash}")


def _beside_scenario(entry: _InputEntry, options: SweepOptions, path: str) -> Iterator[FieldError]:
    if entry.files or entry.events:
        yield forbidden(path, "cannot be combined with files and events")
    if options != SweepOptions():
        yield forbidden(path, "its options are in the scenario; leave out simulate")


_ENDINGS: Final = get_args(Ending)
_GPUS: Final = get_args(OpenbGpus)


def read_seeds(text: str) -> tuple[int, ...]:
    """Read seeds such as ``0-9`` or ``1,5,7``.

    Raises
    ------
    ValueError
        With what is expected.
    """
    seeds: dict[int, None] = {}
    for part in text.replace(" ", "").split(","):
        first, is_range, last = part.partition("-")
        digits = [first, last] if is_range else [first]
        if not all(each.isascii() and each.isdigit() for each in digits):
            raise ValueError("seeds such as 0-9 or 1,5,7 are expected")
        least, greatest = int(first), int(last or first)
        if greatest < least:
            raise ValueError("a range starts with its least seed")
        if greatest - least >= MOST_SEEDS:
            raise ValueError(f"at most {MOST_SEEDS:,} seeds are expected")
        seeds.update(dict.fromkeys(range(least, greatest + 1)))
    return tuple(seeds)


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
