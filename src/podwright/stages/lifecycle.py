"""The life of nodes and pods: a machine that says which stage is next, when, and what it does.

Theory of operation
-------------------
The machine hears of every change (`ObjectPut`, `ObjectDeleted`). For each object of a kind
that has stages it keeps at most one plan: one stage, at one time. It says so (`ScheduleStage`), and
whoever drives it sends `StageDue` at that time. Then the stage is played on the object as it
is by then, and what it wants comes out as actions: the changed object (`UpdateObject`), its
deletion (`DeleteObject`), a Kubernetes Event (`RecordEvent`). The driver does these and tells
the machine of the changes, its own included; so the next stage is found.

- A change makes a new plan only if it changes what the plan is made of: the stages that
  apply, their weights, and what the object says about delays. A new label does not make a
  pod run longer. (KWOK starts the delay again with every change.)
- A plan that is no longer the latest is not played: its `StageDue` has an old number.
- Draws depend on the seed, the object (kind, name, uid) and how many plans it has had, not on
  other objects. One pod more leaves the delays of all others as they were.
- A pod lives on a node: as long as it is not bound, no stage applies to it.
- What is due on a node whose kubelet is silent (`NodeDown`) waits until it returns.
- An object that a stage has removed is not removed again for what is said of its end, such as
  the deletion time that the removal itself sets.
- A stage may lead back to itself, but not endlessly within one moment: `StageError`.

Most pods lead one of a few lives. So what is the same for many is found out once: which stages
apply to pods of a sort (`selection`), the plan that they then have (`plans`), and what their
statuses have in common (`common_pods`). For any other object it is found out each time; tests
hold one against the other.

Upstream: KWOK's pkg/kwok/controllers/stage_controller.go and pod_controller.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TypeAlias

import msgspec

from podwright.api import DeleteObject, NodeDown, NodeUp, RecordEvent, UpdateObject
from podwright.kernels.draw import DELAY_STREAM, STAGE_STREAM, draw
from podwright.machine import ObjectDeleted, ObjectPut
from podwright.objects import (
    KubernetesObject,
    NamespacedName,
    Node,
    Pod,
    PodwrightError,
    encode,
)
from podwright.stages.addresses import Addresses
from podwright.stages.annotation_stages import default_stages
from podwright.stages.effects import patched, read_again, scope_of, with_finalizers
from podwright.stages.object_state import (
    REMOVED,
    LifecycleState,
    ObjectState,
    SavedObjectState,
    ScheduledStage,
    StagedKind,
)
from podwright.stages.patches import PatchError
from podwright.stages.stage import (
    DeleteStep,
    EventStep,
    FinalizersStep,
    PatchStep,
    Stage,
    StageContext,
    between,
    choose,
    identity_of,
)
from podwright.stages.stage_schedule import FixedSchedule, basis_of
from podwright.stages.template_parser import TemplateError
from podwright.store import Change, GroupKind, kind_of

PLAYS_AT_ONCE_MAX = 100
"""How many stages of one object may be played at one time."""

_REMEMBERED = 5

Place: TypeAlias = tuple[str, str, NamespacedName]
"""Group, kind and key."""


class StageError(PodwrightError):
    """A stage that cannot be played on an object; the text names both."""


# ------------------------------------------------------------------------------- events


class StageDue(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The time of a `ScheduleStage` has come; harmless when the plan has changed.

    Attributes
    ----------
    group, object_kind, key : str
        The object.
    number : int
        Of the plan.
    """

    group: str
    object_kind: str
    key: NamespacedName
    number: int


LifecycleEvent: TypeAlias = ObjectPut | ObjectDeleted | StageDue | NodeDown | NodeUp


# ------------------------------------------------------------------------------ actions


class ScheduleStage(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Send an event at a time; it replaces the one for the same object.

    Attributes
    ----------
    due_ns : int
    event : StageDue
    stage : str
        The name of the stage, for people.
    """

    due_ns: int
    event: StageDue
    stage: str


def user_of(stage: str) -> str:
    """Return the user that makes the requests of a stage that names none."""
    return f"kwok:{stage}"


LifecycleAction: TypeAlias = ScheduleStage | UpdateObject | DeleteObject | RecordEvent


class Lifecycle:
    """Plays stages.

    Parameters
    ----------
    stages : iterable of Stage, optional
        The built-in ones without it. Their order counts where one is drawn.
    seed : int
        Of all draws.

    Examples
    --------
    >>> import podwright as pw
    >>> from podwright.machine import ObjectPut
    >>> from podwright.stages import Lifecycle
    >>> life = Lifecycle(seed=7)
    >>> pod = pw.testing.make_pod("web", node="n1")
    >>> (plan,) = life.handle(ObjectPut(pod), now_ns=0)
    >>> plan.stage, plan.due_ns
    ('pod-ready', 0)
    >>> (put,) = life.handle(plan.event, now_ns=0)
    >>> put.obj.status.phase
    'Running'
    """

    def __init__(self, stages: Iterable[Stage] | None = None, *, seed: int = 0) -> None:
        self._seed = seed
        by_kind: dict[GroupKind, list[Stage]] = {}
        for stage in default_stages() if stages is None else stages:
            by_kind.setdefault((stage.group, stage.kind), []).append(stage)
        self._kinds = {kind: StagedKind(kind, own) for kind, own in by_kind.items()}
        self._plan_count = 0
        self._addresses = Addresses()
        self._moment = StageContext(0, self._addresses)
        self._life_count = 0
        # By node, in the order in which they fell silent: what fell due since, None if unknown.
        self._silent: dict[str, dict[Place, None] | None] = {}

    @property
    def kinds(self) -> list[GroupKind]:
        """The kinds that have stages; events about others change nothing."""
        return sorted(self._kinds)

    def handle(self, event: LifecycleEvent, now_ns: int) -> list[LifecycleAction]:
        """Take an event, and say what is to be done.

        Raises
        ------
        StageError
            A stage cannot be planned or played.
        InputError
            What a stage makes is no object of its kind any more.
        """
        match event:
            case ObjectPut(obj=obj):
                own = self._kinds.get(kind_of(obj))
                return self._put(own, obj.key, obj, now_ns) if own else []
            case StageDue():
                return self._due(event, now_ns)
            case ObjectDeleted(obj=obj):
                own = self._kinds.get(kind_of(obj))
                return self._deleted(own, obj.key) if own else []
            case NodeDown(node=node):
                self._silent.setdefault(node, {})
                return []
            case NodeUp(node=node):
                return self._returned(node, now_ns)

    def handle_change(self, change: Change, now_ns: int) -> list[LifecycleAction]:
        """Take a change of an object of one of the `kinds`, as `handle` does the events of it."""
        own, obj = self._kinds[change.kind], change.new
        if obj is None:
            return self._deleted(own, change.key)
        return self._put(own, change.key, obj, now_ns)

    def next_stage_of(self, obj: KubernetesObject) -> tuple[str, int] | None:
        """Return the name of an object's next stage and when it is due, None if it has none."""
        own = self._kinds.get(kind_of(obj))
        life = own.lives.get(obj.key) if own else None
        if own is None or life is None or life.plan is None or life.plan.number == REMOVED:
            return None
        return own.stages[life.plan.stage].name, life.plan.due_ns

    # ---------------------------------------------------------------------------- changes

    def _put(
        self, own: StagedKind, key: NamespacedName, obj: KubernetesObject, now_ns: int
    ) -> list[LifecycleAction]:
        if type(obj) is Node:
            self._note_address(obj)
        life = own.lives.get(key)
        if life is None or life.uid != obj.metadata.uid:
            return self._begun(own, key, obj, life, now_ns)
        life.obj = obj
        return self._planned(own, key, life, now_ns)

    def _begun(
        self,
        own: StagedKind,
        key: NamespacedName,
        obj: KubernetesObject,
        former: ObjectState | None,
        now_ns: int,
    ) -> list[LifecycleAction]:
        """Do as `_put` for an object that is new, or another one than the former of its name."""
        actions: list[LifecycleAction] = []
        if former is not None:
            self._forget(former.obj)
        if isinstance(obj, Node):
            actions = self._returned(obj.name, now_ns)  # a new kubelet under an old name
        order = self._life_count if former is None else former.order
        self._life_count += 1
        life = own.lives[key] = ObjectState(obj, obj.uid, order=order)
        return actions + self._planned(own, key, life, now_ns)

    def _deleted(self, own: StagedKind, key: NamespacedName) -> list[LifecycleAction]:
        life = own.lives.pop(key, None)
        if life is not None:
            self._forget(life.obj)
        return []

    def _note_address(self, node: Node) -> None:
        for entry in (node.raw.get("status") or {}).get("addresses") or ():
            if entry.get("type") == "InternalIP":
                self._addresses.know_node(node.name, str(entry.get("address", "")))
                return

    def _forget(self, obj: KubernetesObject) -> None:
        if isinstance(obj, Node):
            self._addresses.forget_node(obj.name)
        elif isinstance(obj, Pod):
            self._addresses.forget_pod(obj.metadata.uid or identity_of(encode(obj)))

    # ------------------------------------------------------------------------------ plans

    def _planned(
        self, own: StagedKind, key: NamespacedName, life: ObjectState, now_ns: int
    ) -> list[LifecycleAction]:
        """Make a plan for an object, keep the one that it has, or drop it."""
        obj, plan = life.obj, life.plan
        applying: tuple[int, ...] = ()
        if not isinstance(obj, Pod):
            applying = own.selection.of(encode(obj))
        elif obj.spec.node_name:
            applying = own.selection.of_pod(obj)
        if not applying:
            life.plan = None
            return []
        fixed: FixedSchedule | None = None
        if len(applying) == 1:
            plans = own.plans[applying[0]]
            fixed = plans.always or plans.for_document(encode(obj))
        if fixed is not None:  # as nearly always
            if plan is not None and plan.basis == fixed[0]:
                return []
            basis, delay_ns, index, name = fixed
            due_ns = now_ns + delay_ns
        else:
            found = self._drawn(own, key, life, applying, now_ns)
            if found is None:
                return []
            basis, due_ns, index, name = found
        number = self._plan_count
        self._plan_count = number + 1
        life.plan = ScheduledStage(number, index, due_ns, basis)
        life.plan_count += 1
        return [ScheduleStage(due_ns, StageDue(own.group, own.name, key, number), name)]

    def _drawn(
        self,
        own: StagedKind,
        key: NamespacedName,
        life: ObjectState,
        applying: Sequence[int],
        now_ns: int,
    ) -> tuple[str, int, int, str] | None:
        """Return basis, time, place and name of one of several stages; None if nothing is new."""
        document = encode(life.obj)
        weights = [own.stages[index].weight.of(document) for index in applying]
        sources = [own.stages[index].delay.sources(document) for index in applying]
        basis = basis_of(applying, weights, sources)
        if life.plan is not None and life.plan.basis == basis:
            return None
        chosen = 0
        if len(applying) > 1:
            number = draw(self._seed, STAGE_STREAM, _counter(own, key, life))
            chosen = choose(weights, number)
        stage = own.stages[applying[chosen]]
        try:
            least_ns, most_ns = stage.delay.bounds(sources[chosen], now_ns)
        except ValueError as error:
            raise _error(stage, life.obj, str(error)) from None
        due_ns = now_ns + least_ns
        if most_ns > least_ns:
            number = draw(self._seed, DELAY_STREAM, _counter(own, key, life))
            due_ns = now_ns + between(least_ns, most_ns, number)
        return basis, due_ns, applying[chosen], stage.name

    def _due(self, event: StageDue, now_ns: int) -> list[LifecycleAction]:
        kind, key = (event.group, event.object_kind), event.key
        own = self._kinds.get(kind)
        life = own.lives.get(key) if own else None
        if own is None or life is None or life.plan is None or life.plan.number != event.number:
            return []
        plan = life.plan
        if self._silent and (node := _node_of(life.obj)) in self._silent:
            held = self._silent[node]
            if held is not None:
                held[*kind, key] = None
            return []  # `_returned` sends it again
        assert now_ns >= plan.due_ns, f"{key}: due at {plan.due_ns}, and it is {now_ns}"
        stage = own.stages[plan.stage]
        self._count_play(life, stage, now_ns)
        life.plan = None
        try:
            actions = self._played(stage, own, key, life, now_ns)
        except (TemplateError, PatchError, ValueError) as error:
            if isinstance(error, PodwrightError):
                raise
            raise _error(stage, life.obj, str(error)) from None
        if actions and type(actions[-1]) is DeleteObject:
            # What is said of the object on its way out is no reason to remove it once more.
            life.plan = msgspec.structs.replace(plan, number=REMOVED)
        if stage.is_immediate:
            actions += self._planned(own, key, life, now_ns)
        return actions

    def _returned(self, node: str, now_ns: int) -> list[LifecycleAction]:
        """Say again what fell due on a node while its kubelet was silent."""
        if node not in self._silent:
            return []
        held = self._silent.pop(node)
        actions: list[LifecycleAction] = []
        # A machine that was restored does not know, and looks at all.
        for own, key, life in self._in_order(held):
            plan = life.plan
            if plan is None or plan.number == REMOVED or plan.due_ns > now_ns:
                continue
            if _node_of(life.obj) == node:
                due = StageDue(own.group, own.name, key, plan.number)
                actions.append(ScheduleStage(now_ns, due, own.stages[plan.stage].name))
        return actions

    def _in_order(
        self, places: Iterable[Place] | None = None
    ) -> list[tuple[StagedKind, NamespacedName, ObjectState]]:
        """Return all lives, or those at some places, in the order in which they came."""
        if places is None:
            found = [
                (own, key, life) for own in self._kinds.values() for key, life in own.lives.items()
            ]
        else:
            named = [(self._kinds[group, kind], key) for group, kind, key in places]
            found = [(own, key, own.lives[key]) for own, key in named if key in own.lives]
        return sorted(found, key=lambda entry: entry[2].order)

    def _count_play(self, life: ObjectState, stage: Stage, now_ns: int) -> None:
        if life.played_ns != now_ns:
            life.played_ns, life.play_count, life.last_stages = now_ns, 1, (stage.name,)
            return
        life.play_count += 1
        life.last_stages = (*life.last_stages, stage.name)[-_REMEMBERED:]
        if life.play_count > PLAYS_AT_ONCE_MAX:
            story = ", ".join(life.last_stages)
            raise _error(
                stage,
                life.obj,
                f"more than {PLAYS_AT_ONCE_MAX} stages at one time, the last ones {story}; a stage "
                "must change what its selector looks at, or wait",
            )

    # ------------------------------------------------------------------------------- plays

    def _played(
        self, stage: Stage, own: StagedKind, key: NamespacedName, life: ObjectState, now_ns: int
    ) -> list[LifecycleAction]:
        """Play all steps on the object as it is; its changes are one write."""
        obj = life.obj
        if self._moment.now_ns != now_ns:
            self._moment = StageContext(now_ns, self._addresses)
        moment = self._moment
        fast_path = stage.fast_path
        if fast_path is not None and isinstance(obj, Pod):
            pod = fast_path(obj, moment)
            if pod is not None:
                life.obj = pod
                return [UpdateObject(pod, "status", user_of(stage.name))]
        before = after = encode(obj)
        user = ""
        events: list[LifecycleAction] = []
        removals: list[LifecycleAction] = []
        for step in stage.steps:
            match step:
                case EventStep():
                    note = step.message.render(before, moment.functions(before))
                    events.append(
                        RecordEvent(own.group, own.name, key, obj.uid, step.type, step.reason, note)
                    )
                case _ if removals:
                    continue
                case DeleteStep():
                    removals.append(
                        DeleteObject(own.group, own.name, key, obj.uid, user_of(stage.name), 0)
                    )
                case FinalizersStep():
                    after = with_finalizers(after, step)
                case PatchStep():
                    after = patched(after, before, step, moment)
                    user = step.as_user or user
        writes: list[LifecycleAction] = []
        if after is not before and after != before:
            scope = scope_of(before, after)
            source = f"{_who(stage)}: {own.name} {key}"
            changed = read_again(obj, after, scope, source=source)
            writes.append(UpdateObject(changed, scope, user or user_of(stage.name)))
            # Only a stage that goes on at once looks at it before the driver has told of it.
            life.obj = changed
        return [*events, *writes, *removals]

    # ------------------------------------------------------------------------- checkpoints

    def state(self) -> LifecycleState:
        """Return what a checkpoint needs besides the objects and the stages."""
        return LifecycleState(
            tuple(
                SavedObjectState(
                    own.group,
                    own.name,
                    key,
                    life.plan,
                    life.plan_count,
                    life.played_ns,
                    life.play_count,
                    life.last_stages,
                )
                for own, key, life in self._in_order()
            ),
            self._plan_count,
            self._addresses.state(),
            tuple(self._silent),
        )

    def restore(self, state: LifecycleState, objects: Iterable[KubernetesObject]) -> None:
        """Make this machine, which has heard nothing yet, what another one was.

        Parameters
        ----------
        state : LifecycleState
            Of a machine with the same stages and seed.
        objects : iterable of KubernetesObject
            All that it had heard of and that is not gone.
        """
        assert not self._life_count, "only a new machine can be restored"
        by_place = {(kind_of(obj), obj.key): obj for obj in objects}
        for order, kept in enumerate(state.lives):
            kind = (kept.group, kept.kind)
            obj = by_place[kind, kept.key]
            self._kinds[kind].lives[kept.key] = ObjectState(
                obj,
                obj.uid,
                kept.plan,
                kept.plan_count,
                kept.played_ns,
                kept.play_count,
                kept.last_stages,
                order,
            )
        self._life_count = len(state.lives)
        self._plan_count = state.plan_count
        self._addresses = Addresses(state.addresses)
        self._moment = StageContext(0, self._addresses)
        self._silent = dict.fromkeys(state.silent_nodes)
        self.validate()

    def validate(self) -> None:
        """Check what must always hold."""
        numbers = []
        for kind, own in self._kinds.items():
            for key, life in own.lives.items():
                here = (kind_of(life.obj), life.obj.key)
                assert here == (kind, key), f"{kind} {key} holds {here}"
                if life.plan is None or life.plan.number == REMOVED:
                    continue
                numbers.append(life.plan.number)
                stage = own.stages[life.plan.stage]
                assert stage.applies_to(encode(life.obj)), f"{key}: {stage.name} does not apply"
        assert len(set(numbers)) == len(numbers), "two plans with one number"
        assert all(number < self._plan_count for number in numbers), "a plan from the future"


def _counter(own: StagedKind, key: NamespacedName, life: ObjectState) -> int:
    """Return the counter of a draw: the same for the same plan of the same object."""
    text = "\0".join([own.group, own.name, key, life.obj.uid, str(life.plan_count)])
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def _node_of(obj: KubernetesObject) -> str:
    """Return the node on which an object lives; empty for what lives nowhere."""
    if isinstance(obj, Pod):
        return obj.spec.node_name
    return obj.name if isinstance(obj, Node) else ""


def _who(stage: Stage) -> str:
    return f"{stage.source}: Stage {stage.name}" if stage.source else f"Stage {stage.name}"


def _error(stage: Stage, obj: KubernetesObject, message: str) -> StageError:
    return StageError(f"{_who(stage)}: {obj.kind} {obj.key}: {message}")
