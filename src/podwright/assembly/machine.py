"""From a configuration to a machine."""

from __future__ import annotations

from collections.abc import Iterable

from podwright.assembly.build import build_profiles
from podwright.assembly.registry import Registry
from podwright.config import EffectiveConfiguration
from podwright.framework import Profile, TieRule, extenders_of
from podwright.machine import Machine
from podwright.machine.profiles import sort_order
from podwright.queueing import QueueSettings, SortKey


def build_machine(  # noqa: PLR0913 - what a machine can be told
    configuration: EffectiveConfiguration,
    registry: Registry,
    *,
    seed: int = 0,
    tie_rule: TieRule = TieRule.DRAWN,
    draws_preemption_offset: bool = True,
    start_ns: int = 0,
    batching: bool = False,
    assumed_pod_expiry_ns: int = 0,
    source: str = "configuration",
) -> Machine:
    """Make a machine that runs every profile of a configuration, by the rules that it chooses.

    Parameters
    ----------
    seed : int
        Of all draws.
    draws_preemption_offset : bool
        As for `build_profiles`.
    start_ns : int
        The time at which the machine begins to run.
    batching : bool
        Whether opportunistic batching takes part; the gate OpportunisticBatching can still
        switch it off.
    assumed_pod_expiry_ns : int
        How long a pod counts on its node after it was bound if the API server's word does not
        come; 0: for ever, under the classic rules half a minute.

    Raises
    ------
    InputError
        If a plugin does not take its arguments, or the classic rules are not valid.
    """
    if configuration.is_classic:
        # Imported when chosen: nobody else waits for them.
        from podwright.assembly import classic

        return Machine(
            classic.classic_profiles(configuration, registry, source=source),
            rules=classic.ClassicRules(
                classic.classic_setup(configuration, source=source), seed=seed, start_ns=start_ns
            ),
            assumed_pod_expiry_ns=assumed_pod_expiry_ns or classic.ASSUMED_POD_EXPIRY_NS,
        )
    profiles = build_profiles(
        configuration,
        registry,
        tie_rule=tie_rule,
        draws_preemption_offset=draws_preemption_offset,
        source=source,
    )
    return Machine(
        profiles,
        settings=QueueSettings(
            initial_backoff_ns=configuration.pod_initial_backoff_ns,
            max_backoff_ns=configuration.pod_max_backoff_ns,
            pop_from_backoff="SchedulerPopFromBackoffQ" in configuration.gates,
        ),
        sort_key=_sort_key(profiles.values()),
        seed=seed,
        parallelism=configuration.parallelism,
        extenders=extenders_of(configuration),
        start_ns=start_ns,
        batching=batching and "OpportunisticBatching" in configuration.gates,
        gates=configuration.gates,
        assumed_pod_expiry_ns=assumed_pod_expiry_ns,
    )


def _sort_key(profiles: Iterable[Profile]) -> SortKey | None:
    """Return the order that the QueueSort plugin gives; None is PrioritySort's.

    All profiles have the same QueueSort plugin; validation sees to it.
    """
    first = next(iter(profiles), None)
    return None if first is None else sort_order(first)
