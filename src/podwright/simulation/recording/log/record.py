"""A machine whose events and actions are recorded, and the machine that a log describes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

from podwright._version import __version__
from podwright.apimachinery.objects import DEFAULT_SCHEDULER_NAME
from podwright.scheduler.assembly import machine_of
from podwright.scheduler.config import (
    Gates,
    KubeSchedulerConfiguration,
    read_configuration,
    to_document,
)
from podwright.scheduler.framework import Plugin, TieRule
from podwright.scheduler.machine import (
    Machine,
    MachineKeywords,
    SchedulerOptions,
    names_machine_keywords,
)
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_format import LogError, OwnPlugin as LoggedPlugin, Setup
from podwright.simulation.recording.log.recorder import Recorder


def setup_of(options: SchedulerOptions) -> Setup:
    """Return the form in which a log stores options."""
    written = options.configuration
    return Setup(
        configuration={} if written is None else dict(to_document(written)),
        gates=dict(options.gates.changed),
        seed=options.seed,
        tie_rule=options.tie_rule.value,
        start_ns=options.start_ns,
        batching=options.batching,
        draws_preemption_offset=options.draws_preemption_offset,
        assumed_pod_expiry_ns=options.assumed_pod_expiry_ns,
        plugins=tuple(LoggedPlugin(plugin.name, class_name(plugin)) for plugin in options.plugins),
    )


def options_of(
    setup: Setup, *, plugins: Iterable[type[Plugin]] = (), source: str = "configuration"
) -> SchedulerOptions:
    """Return the options that a log stores.

    Parameters
    ----------
    plugins : iterable of type
        The classes of the user's own plugins; the setup has only their names.

    Raises
    ------
    InputError
        If the configuration is not valid.
    LogError
        If these are not the plugins of the setup.
    """
    own = tuple(plugins)
    _check_own(setup, own)
    configuration = None
    if setup.configuration:
        configuration = read_configuration(setup.configuration, source=source)
    return SchedulerOptions(
        configuration=configuration,
        plugins=own,
        gates=Gates(setup.gates),
        seed=setup.seed,
        tie_rule=TieRule(setup.tie_rule),
        draws_preemption_offset=setup.draws_preemption_offset,
        start_ns=setup.start_ns,
        batching=setup.batching,
        assumed_pod_expiry_ns=setup.assumed_pod_expiry_ns,
        source=source,
    )


def _check_own(setup: Setup, plugins: tuple[type[Plugin], ...]) -> None:
    recorded = {plugin.name: plugin.cls for plugin in setup.plugins}
    given = {plugin.name: class_name(plugin) for plugin in plugins}
    if recorded == given:
        return
    missing = [f"{name} ({cls})" for name, cls in recorded.items() if given.get(name) != cls]
    other = [f"{name} ({cls})" for name, cls in given.items() if recorded.get(name) != cls]
    parts = []
    if missing:
        parts.append(f"give it plugins=[...] with {', '.join(missing)}")
    if other:
        parts.append(f"it was recorded without {', '.join(other)}")
    raise LogError(f"the run cannot be repeated with these plugins: {'; '.join(parts)}")


def class_name(plugin: type[Plugin]) -> str:
    """Return how a recorded run names the class of a plugin."""
    return f"{plugin.__module__}:{plugin.__qualname__}"


def fingerprints_of(
    machine: Machine, names: Iterable[str]
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return, per profile, the names of the plugins per extension point."""
    found = {}
    for name in names:
        runner = machine.runner(name)
        if runner is not None:
            found[name] = dict(runner.profile.fingerprint())
    return found


@names_machine_keywords("1970-01-01T00:00:00Z")
def record(
    path: str | None = None,
    configuration: KubeSchedulerConfiguration | SchedulerOptions | None = None,
    *,
    checkpoint_events: int | None = None,
    **keywords: Unpack[MachineKeywords],
) -> Recorder:
    """Make a machine, and a log in which everything that it does is recorded.

    Parameters
    ----------
    path : str, optional
        A folder without a log, made if missing: every block of 1,024 events is written to it,
        and a process that dies takes those of an unfinished one with it. None keeps the log in
        memory: events are encoded when the log is read, or by `flush` or `save`.
    configuration : KubeSchedulerConfiguration or SchedulerOptions, optional
        As `read_configuration` returns it; the default profile if left out.
    plugins, gates, seed, tie_rule, draws_preemption_offset, batching
        As for `SchedulerOptions`.
    start : Time
        The time at which the machine starts; 0 without it.
    assumed_pod_expiry : Duration
        How long a bound pod stays assumed without confirmation by the API server; 0: for ever,
        under the rules of 1.16 30 seconds.
    checkpoint_events : int, optional
        The number of events between checkpoints; left out it is 100,000 in a folder, more where
        there are many objects, and in memory there are none.

    Returns
    -------
    Recorder
        Its `handle(event, now_ns)` is the machine's; its `log` is the log.

    Raises
    ------
    InputError
        If the configuration is not valid.
    LogError
        If there is a log already, or the folder cannot be written.
    """
    options = SchedulerOptions.of(configuration, **keywords)
    setup = setup_of(options)
    # From the setup, as a replay makes it.
    machine = machine_of(options_of(setup, plugins=options.plugins))
    machine.watch_state({plugin.name for plugin in options.plugins})
    profiles = () if options.configuration is None else options.configuration.profiles
    names = [profile.scheduler_name or DEFAULT_SCHEDULER_NAME for profile in profiles]
    log = DecisionLog.create(
        path,
        setup,
        fingerprints=fingerprints_of(machine, names or [DEFAULT_SCHEDULER_NAME]),
        checkpoint_events=checkpoint_events,
    )
    return Recorder(machine, log)


def new_machine(log: DecisionLog, *, plugins: Iterable[type[Plugin]] = ()) -> Machine:
    """Make the machine of a log as it was before the first event.

    Raises
    ------
    LogError
        If this version or these plugins would not make the same machine.
    """
    header = log.header
    own = tuple(plugins)
    machine = machine_of(options_of(header.setup, plugins=own, source="the log's configuration"))
    machine.watch_state({plugin.name for plugin in own})
    now = fingerprints_of(machine, header.fingerprints)
    for name, points in header.fingerprints.items():
        if now.get(name) != points:
            changed = [point for point in points if now.get(name, {}).get(point) != points[point]]
            raise LogError(
                f"the run was recorded by podwright {header.podwright}, and this is"
                f" {__version__}: profile {name} has other plugins at {', '.join(changed)}, so it"
                " would not come out the same"
            )
    return machine
