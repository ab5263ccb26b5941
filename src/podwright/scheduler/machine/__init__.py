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

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.apimachinery.objects import (
        ObjectDeleted as ObjectDeleted,
        ObjectPut as ObjectPut,
    )
    from podwright.scheduler.machine.actions import (
        API_CALLS as API_CALLS,
        Action as Action,
        ApiCall as ApiCall,
        Bind as Bind,
        CallExtender as CallExtender,
        DeletePod as DeletePod,
        EmitEvent as EmitEvent,
        PatchExtendedClaim as PatchExtendedClaim,
        PatchPodGroupStatus as PatchPodGroupStatus,
        PatchPodMetadata as PatchPodMetadata,
        PatchPodStatus as PatchPodStatus,
        UpdateClaim as UpdateClaim,
        UpdateVolume as UpdateVolume,
        WakeAt as WakeAt,
        WriteResourceClaim as WriteResourceClaim,
    )
    from podwright.scheduler.machine.cycles.binding import Binding as Binding
    from podwright.scheduler.machine.cycles.binding_cycles import (
        BindingCycles as BindingCycles,
        forget as forget,
    )
    from podwright.scheduler.machine.cycles.eviction import Eviction as Eviction
    from podwright.scheduler.machine.cycles.evictions import HELD as HELD, Evictions as Evictions
    from podwright.scheduler.machine.cycles.failure import (
        Failure as Failure,
        error_text as error_text,
    )
    from podwright.scheduler.machine.cycles.placements import (
        best_placement as best_placement,
        placements_of as placements_of,
    )
    from podwright.scheduler.machine.cycles.plugin_calls import (
        call_permit as call_permit,
        call_plugin as call_plugin,
        notify_plugin as notify_plugin,
        notify_pod_ended as notify_pod_ended,
        with_point as with_point,
    )
    from podwright.scheduler.machine.cycles.pod_group import (
        GROUP_UNSCHEDULABLE as GROUP_UNSCHEDULABLE,
    )
    from podwright.scheduler.machine.event_handlers import (
        SELECTOR_KINDS as SELECTOR_KINDS,
        UNWATCHED_KINDS as UNWATCHED_KINDS,
        EventHandlers as EventHandlers,
        changes_selector as changes_selector,
        has_lost_its_node as has_lost_its_node,
    )
    from podwright.scheduler.machine.events import (
        CallDone as CallDone,
        CycleDue as CycleDue,
        Event as Event,
        ExtenderReplied as ExtenderReplied,
        FlushBackoff as FlushBackoff,
        FlushUnschedulable as FlushUnschedulable,
        PodActivated as PodActivated,
        PodAllowed as PodAllowed,
        PodRejected as PodRejected,
        TimerFired as TimerFired,
        object_key as object_key,
    )
    from podwright.scheduler.machine.machine import Machine as Machine
    from podwright.scheduler.machine.metrics.machine_metrics import Metrics as Metrics
    from podwright.scheduler.machine.metrics.metric_snapshot import (
        CONTENT_TYPE as CONTENT_TYPE,
        Distribution as Distribution,
        Family as Family,
        MetricsSnapshot as MetricsSnapshot,
        Value as Value,
        render_text as render_text,
        resource_snapshot as resource_snapshot,
    )
    from podwright.scheduler.machine.metrics.metric_table import METRIC_BY_NAME as METRIC_BY_NAME
    from podwright.scheduler.machine.metrics.plugin_timer import PluginTimer as PluginTimer
    from podwright.scheduler.machine.metrics.plugin_timings import (
        PluginTiming as PluginTiming,
        PluginTimings as PluginTimings,
    )
    from podwright.scheduler.machine.options import (
        DEFAULT_OPTIONS as DEFAULT_OPTIONS,
        DecisionKeywords as DecisionKeywords,
        MachineKeywords as MachineKeywords,
        SchedulerOptions as SchedulerOptions,
        names_decision_keywords as names_decision_keywords,
        names_machine_keywords as names_machine_keywords,
    )
    from podwright.scheduler.machine.profiles import (
        RunningProfile as RunningProfile,
        custom_resources as custom_resources,
        hint_table as hint_table,
        sort_order as sort_order,
    )
    from podwright.scheduler.machine.reporting import emit as emit, patch_status as patch_status
    from podwright.scheduler.machine.rules import (
        QueueCallbacks as QueueCallbacks,
        RuleParts as RuleParts,
        RuleSet as RuleSet,
        V136RuleSet as V136RuleSet,
    )
    from podwright.scheduler.machine.snapshot import (
        MachineSnapshot as MachineSnapshot,
        ObjectNumbering as ObjectNumbering,
    )
    from podwright.scheduler.machine.state import (
        GANG_SCHEDULING as GANG_SCHEDULING,
        Groups as Groups,
        State as State,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
