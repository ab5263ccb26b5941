"""The schedulers of further `--config` files, beside the first one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from podwright.cli.input_errors import ErrorCollector
from podwright.cli.inputs import Inputs, extender_caller, read_config_file, scheduler_options
from podwright.cli.installed_plugins import with_installed
from podwright.cli.options import Setup
from podwright.cli.rule_options import with_rules
from podwright.scheduler.framework import CallExtender
from podwright.scheduler.machine import SchedulerOptions

MoreScheduler: TypeAlias = tuple[SchedulerOptions, CallExtender | None]
"""The options of a scheduler, and what makes the calls to its extenders."""


def more_schedulers(paths: Sequence[Path], first: Inputs, setup: Setup) -> list[MoreScheduler]:
    """Return the schedulers of further configurations.

    Parameters
    ----------
    paths : sequence of Path
        The configurations.
    first : Inputs
        The inputs of the first scheduler, whose plugins the others can use.
    setup : Setup

    Raises
    ------
    InputError
        With the errors of all configurations.
    """
    found: list[MoreScheduler] = []
    collected = ErrorCollector()
    for path in paths:
        with collected:
            configuration = with_rules(read_config_file(path), setup)
            configuration, installed = with_installed(configuration, first.plugins)
            inputs = first._replace(
                configuration=configuration,
                plugins=[*first.plugins, *(one.cls for one in installed)],
                source=str(path),
            )
            caller = extender_caller(configuration, str(path))
            found.append((scheduler_options(inputs, setup), caller))
    collected.raise_all()
    return found
