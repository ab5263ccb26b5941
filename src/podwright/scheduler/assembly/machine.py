"""Build a machine from a configuration, by the rules that the configuration chooses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from podwright.scheduler import assembly, classic, machine as machines, queueing
from podwright.scheduler.assembly.build import build_profiles, prepare
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import EffectiveConfiguration
from podwright.scheduler.framework import (
    CalledExtender,
    PluginRunner,
    Profile,
    Runner,
    SearchPosition,
    extenders_of,
)
from podwright.scheduler.machine import DEFAULT_OPTIONS, SchedulerOptions

if TYPE_CHECKING:
    from podwright.scheduler.classic import ParallelizeUntil
    from podwright.scheduler.machine import Machine


class Assembly(Protocol):
    """The parts of a scheduler under one rule set.

    Attributes
    ----------
    profiles : dict of str to Profile
        By schedulerName.
    extenders : tuple of CalledExtender
        In the order in which they are called.
    """

    profiles: dict[str, Profile]
    extenders: tuple[CalledExtender, ...]

    def new_cluster(self) -> Cluster:
        """Return an empty cluster of the form that the rules read."""

    def reads(self, cluster: Cluster) -> bool:
        """Report whether a cluster has the form that the rules read."""

    def runners(self, cluster: Cluster) -> dict[str, Runner]:
        """Return the runner of every profile over such a cluster, by scheduler name."""

    def machine(self) -> Machine:
        """Return a machine that runs every profile."""


class V136Assembly:
    """The parts of a scheduler under the rules of 1.36: an `Assembly`."""

    def __init__(
        self, configuration: EffectiveConfiguration, registry: Registry, options: SchedulerOptions
    ) -> None:
        self.profiles = build_profiles(configuration, registry, options)
        self.extenders = extenders_of(configuration)
        self._options = msgspec.structs.replace(
            options,
            gates=configuration.gates,
            batching=options.batching and "OpportunisticBatching" in configuration.gates,
            queue=queueing.QueueSettings(
                initial_backoff_ns=configuration.pod_initial_backoff_ns,
                max_backoff_ns=configuration.pod_max_backoff_ns,
                pop_from_backoff="SchedulerPopFromBackoffQ" in configuration.gates,
            ),
            parallelism=configuration.parallelism,
            extenders=self.extenders,
        )

    def new_cluster(self) -> Cluster:
        """Return an empty cluster."""
        return Cluster(device_taint_rules="DRADeviceTaintRules" in self._options.gates)

    def reads(self, cluster: Cluster) -> bool:
        """Report that every cluster can be read."""
        return True

    def runners(self, cluster: Cluster) -> dict[str, Runner]:
        """Return the runner of every profile, by scheduler name."""
        position = SearchPosition()
        return {
            name: PluginRunner(
                profile,
                cluster,
                seed=self._options.seed,
                extenders=self.extenders,
                position=position,
            )
            for name, profile in self.profiles.items()
        }

    def machine(self) -> Machine:
        """Return a machine that runs every profile."""
        return machines.Machine(self.profiles, self._options)


def _build_v136(
    configuration: EffectiveConfiguration,
    registry: Registry,
    options: SchedulerOptions,
    _parallelize_until: ParallelizeUntil | None,
) -> Assembly:
    return V136Assembly(configuration, registry, options)


def _build_v116(
    configuration: EffectiveConfiguration,
    registry: Registry,
    options: SchedulerOptions,
    parallelize_until: ParallelizeUntil | None,
) -> Assembly:
    run_pieces = parallelize_until or classic.in_order
    return assembly.V116Assembly(configuration, registry, options, run_pieces)


_ASSEMBLIES: Final[Mapping[str, Callable[..., Assembly]]] = {
    "modern": _build_v136,
    "classic": _build_v116,
}
"""By the name of the rules in a configuration."""


def assemble(
    configuration: EffectiveConfiguration,
    registry: Registry,
    options: SchedulerOptions = DEFAULT_OPTIONS,
    *,
    parallelize_until: ParallelizeUntil | None = None,
) -> Assembly:
    """Return the parts of a scheduler, by the rules that a configuration chooses.

    Parameters
    ----------
    parallelize_until : ParallelizeUntil, optional
        How the rules of 1.16 run independent pieces of work; one after the other if left out.

    Raises
    ------
    InputError
        If a plugin rejects its arguments, or the rules of 1.16 are not valid.
    """
    build = _ASSEMBLIES[configuration.rules_name]
    return build(configuration, registry, options, parallelize_until)


def build_machine(
    configuration: EffectiveConfiguration,
    registry: Registry,
    options: SchedulerOptions = DEFAULT_OPTIONS,
) -> Machine:
    """Build a machine that runs every profile of a configuration, by the rules that it chooses.

    Parameters
    ----------
    options : SchedulerOptions
        Of these, everything but `configuration`, `plugins` and `gates`, which `configuration`
        and `registry` already contain.

    Raises
    ------
    InputError
        If a plugin rejects its arguments, or the rules of 1.16 are not valid.
    """
    return assemble(configuration, registry, options).machine()


def machine_of(options: SchedulerOptions) -> Machine:
    """Build the machine that options describe.

    Raises
    ------
    InputError
        If the configuration is not valid, or a plugin rejects its arguments.
    """
    return build_machine(*prepare(options), options)
