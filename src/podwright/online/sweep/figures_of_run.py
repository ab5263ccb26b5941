"""One run of a sweep, in a worker: contents in, figures out.

A worker keeps the parsed objects of the inputs that it has seen, so that an input is decoded once
per worker and not per run. Files of events are written to a folder of the process, so that all that
`simulate` reads can be an input.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Final, NamedTuple

import msgspec

from podwright.apimachinery.objects import PODS_STREAM, ArgumentError, Pod, PodwrightError, draw
from podwright.online.sweep.plan import SweepConfiguration, SweepInput, SweepOptions, SweepRun
from podwright.scheduler.assembly import packages_of, plugins_from, unknown_plugins, with_installed
from podwright.scheduler.config import KubeSchedulerConfiguration, read_configuration
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.files import LoadedObjects, load_bytes
from podwright.simulation.world import figures, simulate


class RunFigures(NamedTuple):
    """The result of a run.

    Attributes
    ----------
    run : SweepRun
    figures : tuple of (str, str, float)
        Name, unit and value of each; empty for a failed run.
    error : str
        Why the run failed; "" if it did not.
    warnings : tuple of str
        Remarks on the run, such as an operation that had no effect.
    """

    run: SweepRun
    figures: tuple[tuple[str, str, float], ...]
    error: str = ""
    warnings: tuple[str, ...] = ()


_ONE_AT_A_TIME: Final = Lock()
"""The threads of a worker would gain nothing, since Python runs one of them at a time; and what
msgspec prepares at the first use of a type is not safe for two, which ends the process."""


def figures_of_run(
    run: SweepRun, given: SweepInput, configuration: SweepConfiguration, options: SweepOptions
) -> RunFigures:
    """Simulate, and return the figures; an error of the input or of a plugin is a result, too.

    Parameters
    ----------
    run : SweepRun
        Which run it is.
    given : SweepInput
        Its input.
    configuration : SweepConfiguration
        Its configuration.
    options : SweepOptions
        What all runs of the plan have in common.
    """
    with _ONE_AT_A_TIME:
        return _figures_of_run(run, given, configuration, options)


def _figures_of_run(
    run: SweepRun, given: SweepInput, configuration: SweepConfiguration, options: SweepOptions
) -> RunFigures:
    try:
        scheduler = _scheduler(configuration, run.seed)
        if given.scenario is not None:
            result = given.scenario.simulate(seed=run.seed, scheduler=scheduler, progress=False)
        else:
            with TemporaryDirectory() as folder:
                result = simulate(
                    _drawn(_objects(given.objects), given.pods, run.seed),
                    events=_written(given.events, Path(folder)),
                    configuration=scheduler,
                    progress=False,
                    **options.keywords(),
                )
    except PodwrightError as error:
        return RunFigures(run, (), str(error))
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything; the row says what
        return RunFigures(run, (), f"{type(error).__name__}: {error}")
    found = tuple((name, unit, float(value)) for name, unit, value in figures(result))
    return RunFigures(run, found, warnings=result.warnings)


def _scheduler(given: SweepConfiguration, seed: int) -> SchedulerOptions:
    """Return the scheduler of a run, with the plugins of files and of installed packages.

    Raises
    ------
    ArgumentError
        This worker has other packages than the client, so the result would have a wrong name.
    """
    plugins = plugins_of(given)
    configuration = configuration_of(given)
    if configuration is not None:
        here = packages_of(unknown_plugins(configuration))
        if here != given.packages:
            raise ArgumentError(
                f"the plugins of {', '.join(given.packages) or 'no package'} are needed, and this"
                f" worker has {', '.join(here) or 'none'}: install the same packages on all workers"
            )
    configuration, installed = with_installed(configuration, plugins)
    plugins += tuple(one.cls for one in installed)
    return SchedulerOptions(configuration=configuration, plugins=plugins, seed=seed)


_objects = lru_cache(maxsize=8)(load_bytes)


def _drawn(loaded: LoadedObjects, count: int, seed: int) -> LoadedObjects:
    """Return the objects with so many of their pods, drawn by the seed, in drawn order."""
    if not count:
        return loaded
    pods = [entry for entry in loaded.sourced if isinstance(entry.object, Pod)]
    if count > len(pods):
        raise ArgumentError(f"pods: {count} cannot be drawn of {len(pods)}")
    order = sorted(range(len(pods)), key=lambda index: (draw(seed, PODS_STREAM, index), index))
    others = (entry for entry in loaded.sourced if not isinstance(entry.object, Pod))
    drawn = (pods[index] for index in order[:count])
    return msgspec.structs.replace(loaded, sourced=(*others, *drawn))


def _written(files: Iterable[tuple[str, bytes]], folder: Path) -> list[str]:
    """Write files into a folder, and return their paths."""
    paths = []
    for index, (name, content) in enumerate(files):
        # The name's end decides how a file is read.
        path = folder / f"{index}-{Path(name).name}"
        path.write_bytes(content)
        paths.append(str(path))
    return paths


def configuration_of(given: SweepConfiguration) -> KubeSchedulerConfiguration | None:
    """Return the parsed configuration; None is the default."""
    if given.configuration is None:
        return None
    source, text = given.configuration
    return read_configuration(text, source=source)


def plugins_of(given: SweepConfiguration) -> tuple[type[Plugin], ...]:
    """Return the classes of the plugin files of a configuration."""
    return tuple(
        plugin
        for source, text in given.plugins
        for plugin in plugins_from(text.decode(), source=source)
    )
