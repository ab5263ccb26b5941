"""Builds schedulers and machines from a configuration.

It is the only room that knows the list of plugins, in-tree and installed. It decides nothing about
pods: it connects `config`, `plugins`, `classic`, `framework` and `machine`. Start with `machine`,
then read `scheduler`, the Python object that schedules pods without a queue.

Words of this room: an *assembly* holds the parts of a scheduler under one rule set; a *reservation*
is what Reserve plugins keep for a pod that `Scheduler` has placed.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.scheduler.assembly.build import (
        build_profiles as build_profiles,
        prepare as prepare,
    )
    from podwright.scheduler.assembly.classic import (
        V116Assembly as V116Assembly,
        classic_setup as classic_setup,
        policy_extenders as policy_extenders,
    )
    from podwright.scheduler.assembly.compare_rules import (
        ComparedPod as ComparedPod,
        ComparisonFigures as ComparisonFigures,
        figures_of as figures_of,
        kind_of as kind_of,
    )
    from podwright.scheduler.assembly.deciding import (
        SchedulerState as SchedulerState,
        UnknownPod as UnknownPod,
        accepting_reply as accepting_reply,
    )
    from podwright.scheduler.assembly.decision_reasons import (
        Because as Because,
        DifferenceKind as DifferenceKind,
        ScoreDifference as ScoreDifference,
        objection_to as objection_to,
        outcome_of as outcome_of,
        reason_of as reason_of,
    )
    from podwright.scheduler.assembly.machine import (
        assemble as assemble,
        build_machine as build_machine,
        machine_of as machine_of,
    )
    from podwright.scheduler.assembly.plugin_packages import (
        installed_plugins as installed_plugins,
        is_unknown_plugin as is_unknown_plugin,
        packages_of as packages_of,
        unknown_plugins as unknown_plugins,
        with_installed as with_installed,
        with_plugin_field as with_plugin_field,
    )
    from podwright.scheduler.assembly.registry import (
        BrokenPlugin as BrokenPlugin,
        Registry as Registry,
    )
    from podwright.scheduler.assembly.reserving import reservation_for as reservation_for
    from podwright.scheduler.assembly.scheduler import Scheduler as Scheduler
    from podwright.scheduler.assembly.scheduler_handle import SchedulerHandle as SchedulerHandle
    from podwright.scheduler.assembly.trials import (
        Displacement as Displacement,
        ReplicaTrial as ReplicaTrial,
        broken_affinity as broken_affinity,
    )
    from podwright.scheduler.assembly.user_plugins import (
        plugins_from as plugins_from,
        source_of as source_of,
    )
    from podwright.scheduler.assembly.without_effect import (
        IDLE_GROUPS as IDLE_GROUPS,
        idle_arguments as idle_arguments,
        idle_choices as idle_choices,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
