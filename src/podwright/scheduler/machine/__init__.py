"""The scheduler as a deterministic state machine: events in, actions out.

`Machine.handle` is the only entry point. The machine has no I/O, no clock and no randomness of
its own: a driver (a simulation, a server, a client of a real cluster) carries out the actions and
reports their results as events. The room does not decide which node a pod gets; that is the work
of a runner (`framework`), which the rule set provides.

Start with the theory of operation in `machine`. `cycle`, `binding_cycles` and `evictions` are the
three kinds of work, `pod_group` is the cycle of a pod group and `pod_steps` what both cycles share.
`event_handlers` handles changes of objects, `failure_handling` ends every failed attempt, `options`
and `rules` are what a machine is made from, and `metrics` counts under kube-scheduler's names.

Words of this room: an *event* is an input of the machine, a Kubernetes Event is `EmitEvent`; a
*call* is a numbered action whose answer is `CallDone`; an *assumed* pod counts on its node without
confirmation by the API server; an *eviction* is the deletion of the victims of one preemptor.
"""

from podwright.apimachinery.objects import ObjectDeleted, ObjectPut
from podwright.scheduler.machine.actions import (
    Action,
    Bind,
    CallExtender,
    DeletePod,
    EmitEvent,
    PatchExtendedClaim,
    PatchPodGroupStatus,
    PatchPodMetadata,
    PatchPodStatus,
    UpdateClaim,
    UpdateVolume,
    WakeAt,
    WriteResourceClaim,
)
from podwright.scheduler.machine.cycles.binding import Binding
from podwright.scheduler.machine.cycles.binding_cycles import BindingCycles, forget
from podwright.scheduler.machine.cycles.eviction import Eviction
from podwright.scheduler.machine.cycles.evictions import HELD, Evictions
from podwright.scheduler.machine.cycles.failure import Failure
from podwright.scheduler.machine.cycles.plugin_calls import (
    call_plugin,
    notify_plugin,
    notify_pod_ended,
    with_point,
)
from podwright.scheduler.machine.event_handlers import EventHandlers, has_lost_its_node
from podwright.scheduler.machine.events import (
    CallDone,
    CycleDue,
    Event,
    ExtenderReplied,
    FlushBackoff,
    FlushUnschedulable,
    PodActivated,
    PodAllowed,
    PodRejected,
    TimerFired,
)
from podwright.scheduler.machine.groups import Groups
from podwright.scheduler.machine.machine import Machine
from podwright.scheduler.machine.metrics.exposition import CONTENT_TYPE, render_text
from podwright.scheduler.machine.metrics.metric_snapshot import (
    Distribution,
    Family,
    MetricsSnapshot,
    Value,
)
from podwright.scheduler.machine.metrics.metrics import Metrics
from podwright.scheduler.machine.metrics.plugin_timer import PluginTimer
from podwright.scheduler.machine.metrics.plugin_timings import PluginTiming, PluginTimings
from podwright.scheduler.machine.metrics.resource_metrics import resource_snapshot
from podwright.scheduler.machine.options import (
    DEFAULT_OPTIONS,
    DecisionKeywords,
    MachineKeywords,
    SchedulerOptions,
    names_decision_keywords,
    names_machine_keywords,
)
from podwright.scheduler.machine.profiles import RunningProfile, hint_table, sort_order
from podwright.scheduler.machine.reporting import emit, patch_status
from podwright.scheduler.machine.rules import QueueCallbacks, RuleParts, RuleSet, V136RuleSet
from podwright.scheduler.machine.snapshot import MachineSnapshot, ObjectNumbering
from podwright.scheduler.machine.state import State, object_key
from podwright.scheduler.machine.watched_kinds import NOT_READ, SELECTING, is_news

__all__ = [
    "CONTENT_TYPE",
    "DEFAULT_OPTIONS",
    "HELD",
    "NOT_READ",
    "SELECTING",
    "Action",
    "Bind",
    "Binding",
    "BindingCycles",
    "CallDone",
    "CallExtender",
    "CycleDue",
    "DecisionKeywords",
    "DeletePod",
    "Distribution",
    "EmitEvent",
    "Event",
    "EventHandlers",
    "Eviction",
    "Evictions",
    "ExtenderReplied",
    "Failure",
    "Family",
    "FlushBackoff",
    "FlushUnschedulable",
    "Groups",
    "Machine",
    "MachineKeywords",
    "MachineSnapshot",
    "Metrics",
    "MetricsSnapshot",
    "ObjectDeleted",
    "ObjectNumbering",
    "ObjectPut",
    "PatchExtendedClaim",
    "PatchPodGroupStatus",
    "PatchPodMetadata",
    "PatchPodStatus",
    "PluginTimer",
    "PluginTiming",
    "PluginTimings",
    "PodActivated",
    "PodAllowed",
    "PodRejected",
    "QueueCallbacks",
    "RuleParts",
    "RuleSet",
    "RunningProfile",
    "SchedulerOptions",
    "State",
    "TimerFired",
    "UpdateClaim",
    "UpdateVolume",
    "V136RuleSet",
    "Value",
    "WakeAt",
    "WriteResourceClaim",
    "call_plugin",
    "emit",
    "forget",
    "has_lost_its_node",
    "hint_table",
    "is_news",
    "names_decision_keywords",
    "names_machine_keywords",
    "notify_plugin",
    "notify_pod_ended",
    "object_key",
    "patch_status",
    "render_text",
    "resource_snapshot",
    "sort_order",
    "with_point",
]
