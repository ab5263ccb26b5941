"""The lifecycle of nodes and pods: a state machine that schedules and plays stages.

Theory of operation
-------------------
The machine receives every change of an object (`ObjectPut`, `ObjectDeleted`, or a `Change` of the
store). For each object of a kind that has stages it keeps at most one scheduled stage. It returns
`ScheduleStage`, and its driver sends `StageDue` at that time. The stage is then played on the
current object. Its effects are actions: the changed object (`UpdateObject`), its deletion
(`DeleteObject`), a Kubernetes Event (`RecordEvent`). The driver executes them and delivers the
resulting changes to the machine, which schedules the next stage.

- A change reschedules only if it changes the basis (`stage_scheduler`): a new label does not make
  a pod run longer. (KWOK restarts the delay with every change.)
- A `StageDue` with the number of an earlier scheduled stage is ignored.
- Draws depend on the seed, the object (kind, name, uid) and its schedule count, not on other
  objects. Adding a pod does not change the delays of others.
- No stage applies to a pod before it is bound to a node.
- A stage that is due on a node whose kubelet is down (`NodeDown`) is deferred to `NodeUp`; a sync
  by the kubelet of a node that does not exist, until the node is added.
- After a stage has removed an object, later changes of that object, such as the deletion
  timestamp that the removal sets, do not remove it again.
- More than `PLAYS_AT_ONCE_MAX` stages of one object at one time are a loop: `StageError`.
- With a kubelet, a bound pod to which no stage applies is synced by it, and each node renews its
  lease (`kubelet`). Stages take precedence: the kubelet is called again when no stage applies
  any more.
- A Stage that is created, changed or deleted takes effect at once: the objects of its kind are
  scheduled again, and delays start again.

Work that is the same for many objects is done once: which stages apply to a class of pods
(`stage_matching`), the schedule that follows (`stage_scheduler`), and the shared parts of their
statuses (`pod_statuses`). For all other objects it is done each time; tests compare the two.

Upstream: KWOK pkg/kwok/controllers/stage_controller.go and pod_controller.go
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    SECOND_NS,
    KubernetesObject,
    NamespacedName,
    Node,
    ObjectDeleted,
    ObjectPut,
    Pod,
    PodwrightError,
    encode,
)
from podwright.apimachinery.patching import PatchError
from podwright.cluster.api import (
    DeleteObject,
    NodeDown,
    NodeUp,
    RecordEvent,
    UpdateObject,
    WriteRequest,
)
from podwright.cluster.kubelets.addresses import Addresses
from podwright.cluster.kubelets.kubelet import (
    ImageBehavior,
    ObjectReader,
    PrepareError,
    prepared_claims,
)
from podwright.cluster.kubelets.object_state import (
    KUBELET,
    REMOVED,
    KubeletSyncs,
    LifecycleAction,
    LifecycleEvent,
    LifecycleState,
    ObjectState,
    ScheduleStage,
    StagedKind,
    StageDue,
)
from podwright.cluster.kubelets.stages.built_in_stages import default_stages, stages_beside_kubelet
from podwright.cluster.kubelets.stages.stage import Stage, StageContext, identity_of
from podwright.cluster.kubelets.stages.stage_objects import STAGE, ObjectsOf, StageObjects
from podwright.cluster.kubelets.stages.stage_play import (
    ReportFailure,
    failure_event,
    object_of,
    play_stage,
    stage_error,
)
from podwright.cluster.kubelets.stages.stage_scheduler import StageScheduler
from podwright.cluster.kubelets.templates.template_parser import TemplateError
from podwright.cluster.store import Change, GroupKind, kind_of

PLAYS_AT_ONCE_MAX = 100
"""The most stages of one object that may be played at one time."""

_LAST_STAGES_MAX = 5
_NODE = ("", "Node")

ObjectRef: TypeAlias = tuple[str, str, NamespacedName]
"""Group, kind and key of an object."""


class Lifecycle:
    """Schedules and plays stages.

    Parameters
    ----------
    stages : iterable of Stage, optional
        Default: the built-in stages. Their order affects draws.
    seed : int
        The seed of all draws.
    reader : ObjectReader, optional
        Lets the simulated kubelet run the pods to which no other stage applies, instead of the
        built-in stages of pods, and reads the objects that they refer to.
    claim_reader : ObjectReader, optional
        Lets the drivers prepare the resource claims of pods before their first stage.
    has_heartbeats : bool
        Whether the kubelets renew the leases of their nodes, without end.
    images : sequence of ImageBehavior
        What is declared of the images that the kubelets run.
    report_failure : callable, optional
        Receives the errors of stages, which become Events then; otherwise `handle` raises them.
    objects_of : ObjectsOf, optional
        Lets the objects of the kind Stage take part, which `handle_change` receives, and returns
        the objects of kinds to which they apply.

    Examples
    --------
    >>> import podwright as pw
    >>> from podwright.apimachinery.objects import ObjectPut
    >>> from podwright.cluster.kubelets import Lifecycle
    >>> lifecycle = Lifecycle(seed=7)
    >>> pod = pw.testing.make_pod("web", node="n1")
    >>> (scheduled,) = lifecycle.handle(ObjectPut(pod), now_ns=0)
    >>> scheduled.stage, scheduled.due_ns
    ('pod-ready', 0)
    >>> (update,) = lifecycle.handle(scheduled.event, now_ns=0)
    >>> update.obj.status.phase
    'Running'
    """

    def __init__(
        self,
        stages: Iterable[Stage] | None = None,
        *,
        seed: int = 0,
        reader: ObjectReader | None = None,
        claim_reader: ObjectReader | None = None,
        has_heartbeats: bool = False,
        images: Sequence[ImageBehavior] = (),
        report_failure: ReportFailure | None = None,
        objects_of: ObjectsOf | None = None,
    ) -> None:
        self._seed = seed
        self._claim_reader = claim_reader
        self._reader = reader
        self._has_heartbeats = has_heartbeats
        self._images = images
        self._report_failure = report_failure
        self._objects_of = objects_of
        if reader is not None:
            stages = stages_beside_kubelet(stages)
        self._stages = StageObjects(
            default_stages() if stages is None else stages, objects_of(STAGE) if objects_of else ()
        )
        self._kinds = self._staged_kinds()
        self._assemble(Addresses(), schedule_count=0)
        self._object_count = 0
        # By node, in the order of NodeDown: the objects whose stages were deferred since, or None
        # if unknown, as after a restore.
        self._down: dict[str, dict[ObjectRef, None] | None] = {}

    def _assemble(self, addresses: Addresses, schedule_count: int) -> None:
        reader, syncs = self._reader, None
        if reader is not None:
            syncs = KubeletSyncs(
                addresses,
                reader,
                seed=self._seed,
                has_heartbeats=self._has_heartbeats,
                images=self._images,
            )
        self._addresses = addresses
        self._context = StageContext(0, addresses)
        self._syncs = syncs
        self._scheduler = StageScheduler(self._seed, syncs, schedule_count)

    def _staged_kinds(self) -> dict[GroupKind, StagedKind]:
        staged = [] if self._reader is None else [("", "Pod"), _NODE]
        if self._objects_of is not None:
            staged.append(STAGE)
        by_kind = dict.fromkeys(staged, ()) | self._stages.by_kind()
        return {kind: StagedKind(kind, stages) for kind, stages in by_kind.items()}

    @property
    def kinds(self) -> list[GroupKind]:
        """The kinds that have stages, which Stages may change; events of others are ignored."""
        return sorted(self._kinds)

    @property
    def silent_nodes(self) -> Collection[str]:
        """The nodes whose kubelets are down."""
        return self._down.keys()

    def has_received(self, obj: KubernetesObject) -> bool:
        """Whether the machine has received an object of a kind that has stages."""
        entry = self._entry(kind_of(obj), obj.key)
        return entry is not None and entry.uid == obj.uid

    def _entry(self, kind: GroupKind, key: NamespacedName) -> ObjectState | None:
        staged = self._kinds.get(kind)
        return staged.objects.get(key) if staged else None

    def handle(self, event: LifecycleEvent, now_ns: int) -> list[LifecycleAction]:
        """Process an event and return the actions.

        Raises
        ------
        StageError
            A stage cannot be scheduled or played.
        InputError
            An object changed by a stage is no longer valid.
        """
        if self._report_failure is None:
            return self._handled(event, now_ns)
        try:
            return self._handled(event, now_ns)
        except Exception as error:  # One object must not end the others.
            match event:
                case StageDue(group=group, object_kind=kind, key=key):
                    return self._failed(self._kinds[group, kind], key, error)
                case ObjectPut(obj=obj):
                    return self._failed(self._kinds[kind_of(obj)], obj.key, error)
                case ObjectDeleted() | NodeDown() | NodeUp():
                    raise

    def _handled(self, event: LifecycleEvent, now_ns: int) -> list[LifecycleAction]:
        match event:
            case ObjectPut(obj=obj):
                staged = self._kinds.get(kind_of(obj))
                return self._put(staged, obj.key, obj, now_ns) if staged else []
            case StageDue():
                return self._due(event, now_ns)
            case ObjectDeleted(obj=obj):
                staged = self._kinds.get(kind_of(obj))
                return self._deleted(staged, obj.key) if staged else []
            case NodeDown(node=node):
                self._down.setdefault(node, {})
                return []
            case NodeUp(node=node):
                return self._node_up(node, now_ns)

    def handle_change(self, change: Change, now_ns: int) -> list[LifecycleAction]:
        """Process a change of an object of one of the `kinds`, as `handle` processes events."""
        staged, obj = self._kinds[change.kind], change.new
        if change.kind == STAGE:
            return self._put_stage(change.key, obj, now_ns)
        if obj is None:
            return self._deleted(staged, change.key)
        try:
            return self._put(staged, change.key, obj, now_ns)
        except Exception as error:
            if self._report_failure is None:
                raise
            return self._failed(staged, change.key, error)

    def _failed(
        self, staged: StagedKind, key: NamespacedName, error: Exception
    ) -> list[LifecycleAction]:
        """Report an error, and return its Event; the object has no stage until it changes."""
        assert self._report_failure is not None
        entry = staged.objects.get(key)
        if entry is None:
            return []
        entry.scheduled = None
        self._report_failure("stages", key, error)
        return [failure_event((staged.group, staged.name), key, entry.obj.uid, error)]

    def rejected(self, request: WriteRequest, error: Exception) -> list[RecordEvent]:
        """Report a write of a stage that the API rejected, and return its Event."""
        about = object_of(request)
        if about is None:
            return []
        kind, key = about
        if self._report_failure is None:
            warnings.warn(f"stages: {error}", stacklevel=2)
        else:
            self._report_failure("stages", key, error)
        entry = self._entry(kind, key)
        return [failure_event(kind, key, entry.obj.uid if entry else "", error)]

    # ---------------------------------------------------------------------------- changes

    def _put(
        self, staged: StagedKind, key: NamespacedName, obj: KubernetesObject, now_ns: int
    ) -> list[LifecycleAction]:
        if type(obj) is Node:
            self._record_address(obj)
        entry = staged.objects.get(key)
        if entry is None or entry.uid != obj.metadata.uid:
            return self._add(staged, key, obj, entry, now_ns)
        entry.obj = obj
        return self._scheduler.schedule(entry, now_ns)

    def _add(
        self,
        staged: StagedKind,
        key: NamespacedName,
        obj: KubernetesObject,
        former: ObjectState | None,
        now_ns: int,
    ) -> list[LifecycleAction]:
        """Start tracking a new object, or one that replaces a former object of the same name."""
        actions: list[LifecycleAction] = []
        if former is not None:
            self._forget(former.obj)
        if isinstance(obj, Node):
            actions = self._node_up(obj.name, now_ns)  # a new kubelet with a known name
        order = self._object_count if former is None else former.order
        self._object_count += 1
        entry = staged.objects[key] = ObjectState(staged, key, obj, obj.uid, order)
        return actions + self._scheduler.schedule(entry, now_ns)

    def _deleted(self, staged: StagedKind, key: NamespacedName) -> list[LifecycleAction]:
        entry = staged.objects.pop(key, None)
        if entry is not None:
            self._forget(entry.obj)
        return []

    def _record_address(self, node: Node) -> None:
        for entry in (node.raw.get("status") or {}).get("addresses") or ():
            if entry.get("type") == "InternalIP":
                self._addresses.set_node(node.name, str(entry.get("address", "")))
                return

    def _forget(self, obj: KubernetesObject) -> None:
        if self._syncs is not None and isinstance(obj, Node | Pod):
            self._syncs.forget(obj)
        if isinstance(obj, Node):
            self._addresses.release_node(obj.name)
        elif isinstance(obj, Pod):
            self._addresses.release_pod(identity_of(encode(obj)))

    # ------------------------------------------------------------------------------ stages

    def _put_stage(
        self, key: NamespacedName, obj: KubernetesObject | None, now_ns: int
    ) -> list[LifecycleAction]:
        """Replace the stage of a Stage, and schedule the objects of its kind again."""
        kinds, error, notes = self._stages.put(key, obj)
        if error is not None and self._report_failure is None:
            raise error
        actions: list[LifecycleAction] = []
        for kind in sorted(kinds):
            former, staged = self._kinds.get(kind), self._staged_kinds().get(kind)
            if staged is None:
                del self._kinds[kind]
                continue
            self._kinds[kind] = staged
            if former is None:
                assert self._objects_of is not None, "a Stage without objects"
                for each in self._objects_of(kind):
                    actions += self._put(staged, each.key, each, now_ns)
                continue
            staged.objects = former.objects
            for entry in staged.objects.values():
                entry.staged = staged
                if entry.scheduled is not None and entry.scheduled.stage != KUBELET:
                    if entry.is_removed:
                        continue
                    entry.scheduled = None
                actions += self._scheduler.schedule(entry, now_ns)
        found: list[Exception] = [UserWarning(note) for note in notes] if error is None else [error]
        for problem in found:
            if self._report_failure is None:
                warnings.warn(str(problem), stacklevel=3)
            else:
                self._report_failure("stages", key, problem)
            actions.append(failure_event(STAGE, key, "" if obj is None else obj.uid, problem))
        return actions

    def _due(self, event: StageDue, now_ns: int) -> list[LifecycleAction]:
        kind, key = (event.group, event.object_kind), event.key
        entry = self._entry(kind, key)
        if entry is None or entry.scheduled is None or entry.scheduled.number != event.number:
            return []
        scheduled = entry.scheduled
        if scheduled.stage == KUBELET and _node_of(entry.obj) not in self._kinds[_NODE].objects:
            # A node that does not exist, or no longer, has no kubelet until it is added.
            self._down.setdefault(_node_of(entry.obj), {})
        if (node := _node_of(entry.obj)) in self._down:
            held = self._down[node]
            if held is not None:
                held[*kind, key] = None
            return []  # `_node_up` schedules it again
        assert now_ns >= scheduled.due_ns, f"{key}: due at {scheduled.due_ns}, now {now_ns}"
        if scheduled.stage == KUBELET:
            return self._sync(entry, now_ns)
        if self._claim_reader is None or not isinstance(entry.obj, Pod):
            return self._play(entry, now_ns)
        claims = prepare_claims(entry.obj, scheduled.basis, self._claim_reader, now_ns)
        if claims.retry_ns is None:
            return [*claims.actions, *self._play(entry, now_ns)]
        if not claims.retry_ns:
            entry.scheduled = None
            return [*claims.actions]
        again = self._scheduler.schedule_again(entry, claims.retry_ns, claims.basis)
        return [*claims.actions, again]

    def _play(self, entry: ObjectState, now_ns: int) -> list[LifecycleAction]:
        """Play the scheduled stage of an object."""
        scheduled = entry.scheduled
        assert scheduled is not None, f"no stage of {entry.key} is scheduled"
        stage = entry.staged.stages[scheduled.stage]
        self._count_play(entry, stage, now_ns)
        entry.scheduled = None
        if self._context.now_ns != now_ns:
            self._context = StageContext(now_ns, self._addresses)
        try:
            # An immediate next stage reads this object before the driver delivers the change.
            entry.obj, played = play_stage(stage, entry.key, entry.obj, self._context)
        except (TemplateError, PatchError, ValueError) as error:
            if isinstance(error, PodwrightError):
                raise
            raise stage_error(stage, entry.obj, str(error)) from None
        actions: list[LifecycleAction] = [*played]
        if actions and type(actions[-1]) is DeleteObject:
            # Changes of the object during its removal must not schedule another removal.
            entry.scheduled = msgspec.structs.replace(scheduled, number=REMOVED)
        if stage.is_immediate:
            actions += self._scheduler.schedule(entry, now_ns)
        return actions

    def _sync(self, entry: ObjectState, now_ns: int) -> list[LifecycleAction]:
        """Sync an object by its kubelet, and schedule the next sync."""
        scheduled, syncs = entry.scheduled, self._syncs
        assert scheduled is not None, f"no sync of {entry.key} is scheduled"
        assert syncs is not None, f"a sync of {entry.key} is scheduled without kubelets"
        entry.scheduled = None
        result = syncs.sync(entry.obj, now_ns)
        entry.obj = result.obj
        actions: list[LifecycleAction] = [*result.requests]
        if result.is_removed:
            entry.scheduled = msgspec.structs.replace(scheduled, number=REMOVED)
        elif result.due_ns is not None:
            actions.append(self._scheduler.schedule_sync(entry, result.due_ns))
        return actions

    def _node_up(self, node: str, now_ns: int) -> list[LifecycleAction]:
        """Schedule the stages that were deferred while the kubelet of a node was down."""
        if node not in self._down:
            return []
        held = self._down.pop(node)
        actions: list[LifecycleAction] = []
        # A restored machine does not know which stages were deferred, and checks all objects.
        for entry in self._in_order(held):
            scheduled = entry.scheduled
            if scheduled is None or entry.is_removed or scheduled.due_ns > now_ns:
                continue
            if _node_of(entry.obj) == node:
                due = entry.due_event(scheduled.number)
                actions.append(ScheduleStage(now_ns, due, entry.stage_name))
        return actions

    def _in_order(self, refs: Iterable[ObjectRef] | None = None) -> list[ObjectState]:
        """Return all objects, or the given ones, in the order of their arrival."""
        if refs is None:
            found = [entry for each in self._kinds.values() for entry in each.objects.values()]
        else:
            named = (self._entry((group, kind), key) for group, kind, key in refs)
            found = [entry for entry in named if entry is not None]
        return sorted(found, key=lambda entry: entry.order)

    def _count_play(self, entry: ObjectState, stage: Stage, now_ns: int) -> None:
        if entry.played_ns != now_ns:
            entry.played_ns, entry.play_count, entry.last_stages = now_ns, 1, (stage.name,)
            return
        entry.play_count += 1
        entry.last_stages = (*entry.last_stages, stage.name)[-_LAST_STAGES_MAX:]
        if entry.play_count > PLAYS_AT_ONCE_MAX:
            story = ", ".join(entry.last_stages)
            raise stage_error(
                stage,
                entry.obj,
                f"more than {PLAYS_AT_ONCE_MAX} stages at one time, the last ones {story}; a stage "
                "must change a field that its selector reads, or have a delay",
            )

    # ------------------------------------------------------------------------- checkpoints

    def state(self) -> LifecycleState:
        """Return the state for a checkpoint, without the objects and the stages."""
        return LifecycleState(
            tuple(entry.saved() for entry in self._in_order()),
            self._scheduler.schedule_count,
            self._addresses.state(),
            tuple(self._down),
        )

    def restore(self, state: LifecycleState, objects: Iterable[KubernetesObject]) -> None:
        """Restore the state of another machine into this new one.

        Parameters
        ----------
        state : LifecycleState
            The state of a machine with the same stages and seed.
        objects : iterable of KubernetesObject
            All objects that existed at that time.
        """
        assert not self._object_count, "only a new machine can be restored"
        by_ref = {(kind_of(obj), obj.key): obj for obj in objects}
        if self._objects_of is not None:
            for (kind, key), obj in by_ref.items():
                if kind == STAGE:
                    self._stages.put(key, obj)
            self._kinds = self._staged_kinds()
        for order, kept in enumerate(state.objects):
            kind = (kept.group, kept.kind)
            obj = by_ref[kind, kept.key]
            staged = self._kinds[kind]
            staged.objects[kept.key] = ObjectState(
                staged,
                kept.key,
                obj,
                obj.uid,
                order,
                kept.scheduled,
                kept.schedule_count,
                kept.played_ns,
                kept.play_count,
                kept.last_stages,
            )
        self._object_count = len(state.objects)
        self._assemble(Addresses(state.addresses), state.schedule_count)
        self._down = dict.fromkeys(state.silent_nodes)
        self.validate()

    def validate(self) -> None:
        """Check the invariants."""
        numbers = []
        for kind, staged in self._kinds.items():
            for key, entry in staged.objects.items():
                here = (kind_of(entry.obj), entry.obj.key)
                assert here == (kind, key), f"{kind} {key} holds {here}"
                if entry.scheduled is None or entry.is_removed:
                    continue
                numbers.append(entry.scheduled.number)
                if entry.scheduled.stage == KUBELET:
                    continue
                stage = staged.stages[entry.scheduled.stage]
                assert stage.applies_to(encode(entry.obj)), f"{key}: {stage.name} does not apply"
        assert len(set(numbers)) == len(numbers), "two scheduled stages have the same number"
        assert all(number < self._scheduler.schedule_count for number in numbers), (
            "a number that was not assigned yet"
        )


def _node_of(obj: KubernetesObject) -> str:
    """Return the node whose kubelet runs the object's stages; empty if there is none."""
    if isinstance(obj, Pod):
        return obj.spec.node_name
    return obj.name if isinstance(obj, Node) else ""


# The resource claims of pods that stages run: the drivers prepare them before the first stage.
#
# A failure is an Event and is tried again every ten seconds, a few times only: a simulation would
# not end otherwise. After that the pod waits until it changes.

_RETRY_NS: Final = 10 * SECOND_NS
_MOST_RETRIES: Final = 5
_BASIS: Final = "prepare "


class ClaimPreparation(NamedTuple):
    """What happens before a stage is played.

    Attributes
    ----------
    actions : list of UpdateObject or RecordEvent
    retry_ns : int, optional
        When the stage is tried again; 0: when the pod changes; None: it is played now.
    basis : str
        Of the stage that is tried again; it has the number of failures.
    """

    actions: list[UpdateObject | RecordEvent]
    retry_ns: int | None = None
    basis: str = ""


def prepare_claims(pod: Pod, basis: str, reader: ObjectReader, now_ns: int) -> ClaimPreparation:
    """Prepare the claims of a pod that does not run yet.

    Parameters
    ----------
    basis : str
        Of the stage that is due.
    """
    if pod.is_terminating or pod.status.phase not in ("", "Pending"):
        return ClaimPreparation([])
    failures = int(basis.removeprefix(_BASIS)) if basis.startswith(_BASIS) else 0
    try:
        preparation = prepared_claims(pod, reader, now_ns)
    except PrepareError as error:
        note = f"Failed to prepare dynamic resources: {error}"
        reason = "FailedPrepareDynamicResources"
        event = RecordEvent("", "Pod", pod.key, pod.uid, "Warning", reason, note, "kubelet")
        retry_ns = now_ns + _RETRY_NS if failures < _MOST_RETRIES else 0
        return ClaimPreparation([event], retry_ns, f"{_BASIS}{failures + 1}")
    if preparation.due_ns > now_ns:
        return ClaimPreparation([], preparation.due_ns, f"{_BASIS}{failures}")
    return ClaimPreparation([*preparation.writes])
