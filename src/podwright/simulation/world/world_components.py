"""The components of a world, built in the same way for new and for restored worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import KubernetesObject
from podwright.cluster.api import Api
from podwright.cluster.controllers import (
    ALL_CONTROLLERS,
    Controller,
    ControllerAction,
    ControllerLoop,
    Lister,
    ReportFailure,
    ResourceQuotaController,
    SyncDue,
    enabled_controllers,
)
from podwright.cluster.kubelets import ImageBehavior, Lifecycle, LifecycleAction, Stage, StageDue
from podwright.cluster.store import Change, GroupKind, ObjectStore
from podwright.scheduler.config import ExtenderCall
from podwright.scheduler.framework import CallExtender, Plugin
from podwright.scheduler.machine import Action, ExtenderReplied, PodActivated, TimerFired
from podwright.simulation.recording import Recorder
from podwright.simulation.world.clock import EventHeap
from podwright.simulation.world.inputs.conditions import StepDue
from podwright.simulation.world.inputs.input_review import InputReview
from podwright.simulation.world.inputs.operation_requests import MissingObjects
from podwright.simulation.world.inputs.operations import InputOperation, Operation
from podwright.simulation.world.observers import Observer
from podwright.simulation.world.timing.delays import Delays, TimedEvent
from podwright.simulation.world.timing.model import Timing

DueEvent: TypeAlias = (
    Operation | InputOperation | StepDue | StageDue | SyncDue
    | TimerFired | ExtenderReplied | PodActivated | TimedEvent
)  # fmt: skip
"""An event that is due at a time of the virtual clock."""

WorldAction: TypeAlias = Action | LifecycleAction | ControllerAction
"""An action that a component returns and the world executes."""

# Few, so that replaced versions are released soon.
_HISTORY_WINDOW: Final = 100


class WorldOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a world that its decision log does not hold; see `World`."""

    stages: tuple[Stage, ...] | None = None
    controllers: Iterable[Callable[[Lister], Controller]] | None = None
    call_extender: CallExtender | None = None
    begin_extender_call: Callable[[int, ExtenderCall], None] | None = None
    observers: tuple[Observer, ...] = ()
    plugins: tuple[type[Plugin], ...] = ()
    review: InputReview | None = None
    has_scheduler: bool = True
    is_served: bool = False
    has_kubelet: bool = False
    images: tuple[ImageBehavior, ...] = ()
    report_failure: ReportFailure | None = None
    timing: Timing | None = None
    read_ns: Callable[[], int] | None = None


class WorldComponents(msgspec.Struct, frozen=True, kw_only=True):
    """The components of one world; `build_components` makes them.

    Attributes
    ----------
    recorder : Recorder
        The scheduler and its decision log.
    changes : list of Change
        The changes of the store that were not dispatched yet.
    heap : EventHeap
        The events that are due, and the virtual clock.
    inputs : iterator of (int, Operation)
        The operations that are still to be added, in order of time.
    inputs_taken : int
        The number of operations taken from `inputs` so far.
    unproductive_cycles : int
        The number of scheduling cycles since the last bind or other event.
    missing : MissingObjects
        The operations that found no object so far.
    delays : Delays, optional
        Those of the timing model; None if nothing takes time.
    """

    options: WorldOptions
    seed: int
    start_ns: int
    recorder: Recorder
    store: ObjectStore
    changes: list[Change]
    api: Api
    lifecycle: Lifecycle
    controllers: ControllerLoop
    heap: EventHeap[DueEvent]
    inputs: Iterator[tuple[int, Operation]] = iter(())
    inputs_taken: int = 0
    unproductive_cycles: int = 0
    missing: MissingObjects = MissingObjects()
    delays: Delays | None = None


def build_components(
    recorder: Recorder,
    options: WorldOptions,
    *,
    seed: int,
    start_ns: int,
    store: ObjectStore | None = None,
) -> WorldComponents:
    """Build the components of a world around a scheduler.

    Parameters
    ----------
    recorder : Recorder
        A new one, or the one of a log that is resumed.
    store : ObjectStore, optional
        The store of the world, whose objects the components receive as new ones; an empty one
        if left out.
    """
    if store is None:
        store = ObjectStore(seed=seed, window=_HISTORY_WINDOW)
    makers = ALL_CONTROLLERS if options.controllers is None else options.controllers
    makers = enabled_controllers(makers, recorder.machine.gates)
    api = Api(store, is_served=options.is_served)
    if makers:
        quotas = api.admission.quotas
        makers = (*makers, lambda lister: ResourceQuotaController(lister, quotas))
    return WorldComponents(
        options=options,
        seed=seed,
        start_ns=start_ns,
        recorder=recorder,
        store=store,
        changes=_changes_of(store),
        api=api,
        lifecycle=Lifecycle(
            options.stages,
            seed=seed,
            reader=store if options.has_kubelet else None,
            claim_reader=None if options.has_kubelet else store,
            has_heartbeats=options.is_served,
            images=options.images,
            report_failure=options.report_failure,
            objects_of=None if options.stages == () else partial(_objects_of, store),
        ),
        controllers=ControllerLoop(
            makers,
            report_failure=options.report_failure,
            # A driver with a real clock must not wait for the first lookup.
            indexes_namespaces=options.report_failure is not None,
            admission_kinds=api.admission.admission.template_kinds,
        ),
        heap=EventHeap(start_ns),
        delays=(
            None
            if options.timing is None
            else Delays(options.timing, recorder.machine.profiles, seed)
        ),
    )


def _objects_of(store: ObjectStore, kind: GroupKind) -> Sequence[KubernetesObject]:
    """Return the objects of a kind; a store that has none stays empty."""
    return store.list(kind).objects if kind in store.kinds() else ()


def _changes_of(store: ObjectStore) -> list[Change]:
    """Return the list of the changes of a store: first its objects."""
    changes = store.follow()
    changes += store.creations()
    return changes
