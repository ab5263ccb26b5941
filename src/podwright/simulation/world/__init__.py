"""A cluster in virtual time, and runs of it: from inputs to results.

The room drives the scheduler, the controllers and the stages on one virtual clock, records what
they do, and writes run folders. It reads no wall clock, and decides nothing by itself: rules of
the API are in `api`, those of objects in `controllers` and `stages`, those of the scheduler in
`machine` and below.

Start with `world.py` (theory of operation), then `world_steps.py` (what is processed next),
`world_rounds.py` (its consequences) and `simulation.py` (a run with checkpoints).

A *review* lists what the inputs of a run lead to; a *report* lists what happened to nodes,
workloads and pods.

A *world* is a store with its components (scheduler, controllers, stages, observers) and a virtual
clock. A *round* is the execution of all pending actions and the delivery of the changes that
result. A *turn* is the priority of an event among those of the same time. An *operation* is what
a user does to the cluster; *inputs* are operations with times. A *run* is a world from its inputs
to its results.
"""

from typing import TYPE_CHECKING

from podwright._faces import names_on_first_use

if TYPE_CHECKING:
    from podwright.simulation.world.clock import (
        START_NS as START_NS,
        Due as Due,
        EventHeap as EventHeap,
        Turn as Turn,
    )
    from podwright.simulation.world.inputs.conditions import (
        Condition as Condition,
        identity_of as identity_of,
    )
    from podwright.simulation.world.inputs.input_review import (
        IgnoredKind as IgnoredKind,
        InputReview as InputReview,
        LoadEstimate as LoadEstimate,
        with_job_duration as with_job_duration,
    )
    from podwright.simulation.world.inputs.openb_arrivals import (
        Arrival as Arrival,
        Ending as Ending,
        openb_arrivals as openb_arrivals,
    )
    from podwright.simulation.world.inputs.operation_line import (
        OperationLine as OperationLine,
        Selected as Selected,
    )
    from podwright.simulation.world.inputs.operations import (
        ON_NODE as ON_NODE,
        Apply as Apply,
        Cordon as Cordon,
        Create as Create,
        Delete as Delete,
        Drain as Drain,
        FailNode as FailNode,
        OnNodes as OnNodes,
        Operation as Operation,
        Patch as Patch,
        PatchType as PatchType,
        Put as Put,
        RestoreNode as RestoreNode,
        Scale as Scale,
        Stop as Stop,
        Update as Update,
    )
    from podwright.simulation.world.inputs.run_inputs import (
        SET_UNTIL as SET_UNTIL,
        EventFile as EventFile,
        Inputs as Inputs,
        endless_inputs as endless_inputs,
        file_of_events as file_of_events,
        start_of as start_of,
        with_present_owners as with_present_owners,
    )
    from podwright.simulation.world.inputs.workload import Workload as Workload
    from podwright.simulation.world.observers import (
        ChangeObserver as ChangeObserver,
        CreationObserver as CreationObserver,
        DecisionObserver as DecisionObserver,
        EventObserver as EventObserver,
        KubernetesEvent as KubernetesEvent,
        NodeEventObserver as NodeEventObserver,
        Observer as Observer,
        OperationObserver as OperationObserver,
        RemovalObserver as RemovalObserver,
    )
    from podwright.simulation.world.runs.disruptions import (
        Evictions as Evictions,
        LostPod as LostPod,
        NodeDrain as NodeDrain,
    )
    from podwright.simulation.world.runs.failed_creations import (
        FailedCreation as FailedCreation,
        FailedCreations as FailedCreations,
    )
    from podwright.simulation.world.runs.report import (
        STARTS_AT_ONCE as STARTS_AT_ONCE,
        Report as Report,
    )
    from podwright.simulation.world.runs.run import Run as Run
    from podwright.simulation.world.runs.run_comparison import (
        RunComparison as RunComparison,
        compare as compare,
        figures as figures,
    )
    from podwright.simulation.world.runs.run_options import (
        RunOptions as RunOptions,
        check_seed as check_seed,
        duration_ns as duration_ns,
        moment_ns as moment_ns,
        time_ns as time_ns,
    )
    from podwright.simulation.world.runs.simulation import Simulation as Simulation
    from podwright.simulation.world.runs.start import (
        PreparedRun as PreparedRun,
        RunArguments as RunArguments,
        event_file as event_file,
        has_openb_times as has_openb_times,
        manifest_of as manifest_of,
        prepared_run as prepared_run,
        simulate as simulate,
        start_simulation as start_simulation,
        started_run as started_run,
    )
    from podwright.simulation.world.runs.summary import (
        Summary as Summary,
        Use as Use,
        Waits as Waits,
    )
    from podwright.simulation.world.runs.workload_health import (
        Availability as Availability,
        Rollout as Rollout,
    )
    from podwright.simulation.world.timing.distributions import (
        Distribution as Distribution,
        Draws as Draws,
        DurationDistribution as DurationDistribution,
        amount_parser as amount_parser,
        parse_duration_ns as parse_duration_ns,
        problems_of as problems_of,
        uniform as uniform,
    )
    from podwright.simulation.world.timing.fitting import fit_timing as fit_timing
    from podwright.simulation.world.timing.model import (
        TIMING_NOTE as TIMING_NOTE,
        ClientTiming as ClientTiming,
        ClientTimings as ClientTimings,
        CycleTiming as CycleTiming,
        KubeletTiming as KubeletTiming,
        Timing as Timing,
        load_timing as load_timing,
        timing_entry as timing_entry,
    )
    from podwright.simulation.world.traces.trace_changes import (
        anonymize as anonymize,
        cut as cut,
        merge as merge,
        scale as scale,
    )
    from podwright.simulation.world.traces.trace_lines import (
        TraceLines as TraceLines,
        columns_named as columns_named,
        read_trace_lines as read_trace_lines,
    )
    from podwright.simulation.world.traces.trace_model import (
        fit as fit,
        generate as generate,
        load_model as load_model,
    )
    from podwright.simulation.world.traces.trace_output import (
        TraceFigure as TraceFigure,
        describe as describe,
        write_lines as write_lines,
    )
    from podwright.simulation.world.world import World as World
    from podwright.simulation.world.world_copies import (
        CannotCopy as CannotCopy,
        WorldCopy as WorldCopy,
        with_scheduler as with_scheduler,
    )
else:
    __getattr__, __dir__ = names_on_first_use(__name__)
