"""One run of a sweep, in a worker: contents in, figures out.

A worker keeps the parsed objects of the inputs that it has seen, so that an input is decoded once
per worker and not per run.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import msgspec

from podwright.apimachinery.objects import PodwrightError
from podwright.online.sweep.plan import SweepConfiguration, SweepInput, SweepOptions, SweepRun
from podwright.scheduler.assembly import plugins_from
from podwright.scheduler.config import KubeSchedulerConfiguration, read_configuration
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.files import LoadedObjects, load_bytes
from podwright.simulation.world import figures, simulate

_MOST_INPUTS = 8
_parsed: OrderedDict[str, LoadedObjects] = OrderedDict()
"""The objects of inputs by their digests, the last used at the end."""


class RunFigures(NamedTuple):
    """The result of a run.

    Attributes
    ----------
    run : SweepRun
    figures : tuple of (str, str, float)
        Name, unit and value of each; empty for a failed run.
    error : str
        Why the run failed; "" if it did not.
    """

    run: SweepRun
    figures: tuple[tuple[str, str, float], ...]
    error: str = ""


def figures_of_run(
    run: SweepRun, given: SweepInput, configuration: SweepConfiguration, options: SweepOptions
) -> RunFigures:
    """Simulate, and return the figures; an error of the input or of a plugin is a result, too."""
    try:
        scheduler = SchedulerOptions(
            configuration=_configuration(configuration),
            plugins=tuple(_plugins(configuration)),
            seed=run.seed,
        )
        if given.scenario is not None:
            result = given.scenario.simulate(seed=run.seed, scheduler=scheduler, progress=False)
        else:
            result = simulate(
                _objects(given),
                events=_events(given),
                configuration=scheduler,
                progress=False,
                **options.keywords(),
            )
    except PodwrightError as error:
        return RunFigures(run, (), str(error))
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything; the row says what
        return RunFigures(run, (), f"{type(error).__name__}: {error}")
    found = tuple((name, unit, float(value)) for name, unit, value in figures(result))
    return RunFigures(run, found)


def _objects(given: SweepInput) -> LoadedObjects:
    found = _parsed.pop(given.digest, None)
    if found is None:
        found = load_bytes(given.objects)
        if len(_parsed) >= _MOST_INPUTS:
            _parsed.popitem(last=False)
    _parsed[given.digest] = found
    return found


def _events(given: SweepInput) -> list[dict[str, Any]]:
    lines = (line for _, content in given.events for line in content.splitlines())
    return [msgspec.json.decode(line) for line in lines if line.strip()]


def _configuration(given: SweepConfiguration) -> KubeSchedulerConfiguration | None:
    if given.configuration is None:
        return None
    source, text = given.configuration
    return read_configuration(text, source=source)


def _plugins(given: SweepConfiguration) -> list[type[Plugin]]:
    return [
        plugin
        for source, text in given.plugins
        for plugin in plugins_from(text.decode(), source=source)
    ]
