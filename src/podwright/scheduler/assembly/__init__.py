"""Builds schedulers and machines from a configuration.

It is the only room that knows the list of plugins, in-tree and installed. It decides nothing about
pods: it connects `config`, `plugins`, `classic`, `framework` and `machine`. Start with `machine`,
then read `scheduler`, the Python object that schedules pods without a queue.

Words of this room: an *assembly* holds the parts of a scheduler under one rule set; a *reservation*
is what Reserve plugins keep for a pod that `Scheduler` has placed.
"""

# First of all, from here: numba is slow to import from the depth of imports below (Python 3.11
# spends a tenth of a second more on one of its modules).
import podwright.scheduler.kernels._jit  # noqa: F401, I001 - for its effect, and first

from podwright.scheduler.assembly.broken_affinity import broken_affinity
from podwright.scheduler.assembly.build import build_profiles, prepare
from podwright.scheduler.assembly.machine import Assembly, assemble, build_machine, machine_of
from podwright.scheduler.assembly.registry import Registry

from podwright.scheduler.assembly.classic import classic_profiles, classic_setup, policy_extenders
from podwright.scheduler.assembly.compare_rules import (
    ComparedPod,
    ComparisonFigures,
    figures_of,
    kind_of,
)
from podwright.scheduler.assembly.decision_reasons import (
    Because,
    DifferenceKind,
    ScoreDifference,
    objection_to,
    outcome_of,
    reason_of,
)
from podwright.scheduler.assembly.registry import BrokenPlugin
from podwright.scheduler.assembly.reserving import reservation_for
from podwright.scheduler.assembly.scheduler import Scheduler, UnknownPod
from podwright.scheduler.assembly.scheduler_handle import SchedulerHandle
from podwright.scheduler.assembly.trials import (
    ReplicaTrial,
    SchedulerState,
    TakenPlace,
    accepting_reply,
)
from podwright.scheduler.assembly.user_plugins import (
    PluginSource,
    installed_plugin,
    plugins_from,
    source_of,
)
from podwright.scheduler.assembly.without_effect import idle_arguments, idle_choices

__all__ = [
    "Assembly",
    "Because",
    "BrokenPlugin",
    "ComparedPod",
    "ComparisonFigures",
    "DifferenceKind",
    "PluginSource",
    "Registry",
    "ReplicaTrial",
    "Scheduler",
    "SchedulerHandle",
    "SchedulerState",
    "ScoreDifference",
    "TakenPlace",
    "UnknownPod",
    "accepting_reply",
    "assemble",
    "broken_affinity",
    "build_machine",
    "build_profiles",
    "classic_profiles",
    "classic_setup",
    "figures_of",
    "idle_arguments",
    "idle_choices",
    "installed_plugin",
    "kind_of",
    "machine_of",
    "objection_to",
    "outcome_of",
    "plugins_from",
    "policy_extenders",
    "prepare",
    "reason_of",
    "reservation_for",
    "source_of",
]
