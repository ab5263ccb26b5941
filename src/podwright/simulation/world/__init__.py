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

from podwright.simulation.world.clock import START_NS, Due, EventHeap, Turn
from podwright.simulation.world.inputs.event_lines import first_recorded_ns
from podwright.simulation.world.inputs.input_review import IgnoredKind, InputReview, LoadEstimate
from podwright.simulation.world.inputs.inputs import EventFile, Inputs, start_of
from podwright.simulation.world.inputs.openb_arrivals import Arrival, Ending, openb_arrivals
from podwright.simulation.world.inputs.operations import (
    ON_NODE,
    Apply,
    Cordon,
    Delete,
    Drain,
    FailNode,
    OnNodes,
    Operation,
    Put,
    RestoreNode,
    Scale,
    Update,
)
from podwright.simulation.world.inputs.workload import Workload
from podwright.simulation.world.observers import (
    ChangeObserver,
    DecisionObserver,
    EventObserver,
    KubernetesEvent,
    NodeEventObserver,
    Observer,
    RemovalObserver,
)
from podwright.simulation.world.runs.disruptions import Evictions, LostPod, NodeDrain
from podwright.simulation.world.runs.report import STARTS_AT_ONCE, Report
from podwright.simulation.world.runs.run import Run
from podwright.simulation.world.runs.run_comparison import RunComparison, compare
from podwright.simulation.world.runs.run_options import (
    RunOptions,
    check_seed,
    duration_ns,
    moment_ns,
    time_ns,
)
from podwright.simulation.world.runs.simulation import Simulation
from podwright.simulation.world.runs.start import (
    event_file,
    has_openb_times,
    manifest_of,
    simulate,
    start_simulation,
)
from podwright.simulation.world.runs.summary import Summary, Use, Waits
from podwright.simulation.world.runs.workload_health import Availability, Rollout
from podwright.simulation.world.scheduler_replacement import with_scheduler
from podwright.simulation.world.world import World
from podwright.simulation.world.world_copies import CannotCopy

__all__ = [
    "ON_NODE",
    "STARTS_AT_ONCE",
    "START_NS",
    "Apply",
    "Arrival",
    "Availability",
    "CannotCopy",
    "ChangeObserver",
    "Cordon",
    "DecisionObserver",
    "Delete",
    "Drain",
    "Due",
    "Ending",
    "EventFile",
    "EventHeap",
    "EventObserver",
    "Evictions",
    "FailNode",
    "IgnoredKind",
    "InputReview",
    "Inputs",
    "KubernetesEvent",
    "LoadEstimate",
    "LostPod",
    "NodeDrain",
    "NodeEventObserver",
    "Observer",
    "OnNodes",
    "Operation",
    "Put",
    "RemovalObserver",
    "Report",
    "RestoreNode",
    "Rollout",
    "Run",
    "RunComparison",
    "RunOptions",
    "Scale",
    "Simulation",
    "Summary",
    "Turn",
    "Update",
    "Use",
    "Waits",
    "Workload",
    "World",
    "check_seed",
    "compare",
    "duration_ns",
    "event_file",
    "first_recorded_ns",
    "has_openb_times",
    "manifest_of",
    "moment_ns",
    "openb_arrivals",
    "simulate",
    "start_of",
    "start_simulation",
    "time_ns",
    "with_scheduler",
]
