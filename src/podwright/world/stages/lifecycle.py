"""The life of nodes and pods: a machine that says which stage is next, when, and what it does.

Theory of operation
-------------------
The machine hears of every change (`ObjectPut`, `ObjectDeleted`). For each object of a kind
that has stages it keeps at most one plan: one stage, at one time. It says so (`PlayAt`), and
whoever drives it sends `StageDue` at that time. Then the stage is played on the object as it
is by then, and what it wants comes out as actions: the changed object (`PutObject`), its
deletion (`RemoveObject`), a Kubernetes Event (`RecordEvent`). The driver does these and tells
the machine of the changes, its own included; so the next stage is found.

- A change makes a new plan only if it changes what the plan is made of: the stages that
  apply, their weights, and what the object says about delays. A new label does not make a
  pod run longer. (KWOK starts the delay again with every change.)
- A plan that is no longer the latest is not played: its `StageDue` has an old number.
- Draws depend on the seed, the object (kind, name, uid) and how many plans it has had, not on
  other objects. One pod more leaves the delays of all others as they were.
- A pod lives on a node: as long as it is not bound, no stage applies to it.
- What is due on a node whose kubelet is silent (`NodeDown`) waits until it returns.
- A stage may lead back to itself, but not endlessly within one moment: `StageError`.

Upstream: KWOK's pkg/kwok/controllers/stage_controller.go and pod_controller.go
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import TypeAlias

import msgspec

from podwright.kernels.draw import DELAY_STREAM, STAGE_STREAM, draw
from podwright.machine import ObjectDeleted, ObjectPut
from podwright.objects import (
    KubernetesObject,
    NamespacedName,
    Node,
    Object,
    Pod,
    PodwrightError,
    encode,
)
from podwright.store.kinds import GroupKind, kind_of
from podwright.store.lifecycle import Scope
from podwright.world.node_faults import NodeDown, NodeUp
from podwright.world.stages.addresses import Addresses, AddressesState
from podwright.world.stages.effects import patched, read_again, scope_of, with_finalizers
from podwright.world.stages.patches import PatchError
from podwright.world.stages.plans import FixedPlan, basis_of, fixed_plan
from podwright.world.stages.run_stages import default_stages
from podwright.world.stages.selection import Selection
from podwright.world.stages.stage import (
    DeleteStep,
    EventStep,
    FinalizersStep,
    Moment,
    PatchStep,
    Stage,
    between,
    choose,
    identity_of,
)
from podwright.world.stages.template_parser import TemplateError

PLAYS_AT_ONCE_MAX = 100
"""How many stages of one object may be played at one time."""

_REMEMBERED = 5

Place: TypeAlias = tuple[str, str, NamespacedName]
"""Group, kind and key."""


class StageError(PodwrightError):
    """A stage that cannot be played on an object; the text names both."""


# ------------------------------------------------------------------------------- events


class StageDue(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The time of a `PlayAt` has come; harmless when the plan has changed.

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


class PlayAt(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
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


class PutObject(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Write an object that a stage has changed.

    Attributes
    ----------
    obj : Object
        As it is to be.
    scope : str
        What has changed: `status`, `main` (all but the status) or `whole`.
    stage : str
    as_user : str
        Who is said to do it; empty for nobody in particular.
    """

    obj: Object
    scope: Scope
    stage: str
    as_user: str = ""


class RemoveObject(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Delete an object without grace; that it is gone already is no error."""

    group: str
    object_kind: str
    key: NamespacedName
    uid: str
    stage: str


class RecordEvent(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Record a Kubernetes Event about an object.

    Attributes
    ----------
    source : str
        Who says so: a controller's name, or `kwok` for a stage.
    """

    group: str
    object_kind: str
    key: NamespacedName
    uid: str
    type: str
    reason: str
    note: str
    source: str = "kwok"


LifecycleAction: TypeAlias = PlayAt | PutObject | RemoveObject | RecordEvent


# -------------------------------------------------------------------------------- state


class Plan(msgspec.Struct, frozen=True):
    """The next stage of an object.

    Attributes
    ----------
    number : int
        No two plans have the same.
    stage : int
        Which of the stages of its kind.
    due_ns : int
        When.
    basis : str
        What it was made of; another basis makes another plan.
    """

    number: int
    stage: int
    due_ns: int
    basis: str


class Life(msgspec.Struct):
    """What is known about one object.

    Attributes
    ----------
    plan_count : int
        How many plans it has had: the counter of its draws.
    played_ns, play_count : int
        When a stage was last played, and how many were at that time.
    last_stages : tuple of str
        The stages that were played last.
    order : int
        Who came before whom.
    """

    obj: KubernetesObject
    plan: Plan | None = None
    plan_count: int = 0
    played_ns: int = -1
    play_count: int = 0
    last_stages: tuple[str, ...] = ()
    order: int = 0


class LifeState(msgspec.Struct, frozen=True):
    """A `Life` as plain values; the object itself is elsewhere."""

    group: str
    kind: str
    key: NamespacedName
    plan: Plan | None
    plan_count: int
    played_ns: int
    play_count: int
    last_stages: tuple[str, ...]


class LifecycleState(msgspec.Struct, frozen=True):
    """A `Lifecycle` as plain values, for checkpoints."""

    lives: tuple[LifeState, ...]
    plan_count: int
    addresses: AddressesState
    silent_nodes: tuple[str, ...] = ()


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
    >>> from podwright.world import Lifecycle
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
        self._stages: dict[GroupKind, list[Stage]] = {}
        for stage in default_stages() if stages is None else stages:
            self._stages.setdefault((stage.group, stage.kind), []).append(stage)
        self._selections = {kind: Selection(own) for kind, own in self._stages.items()}
        self._fixed = {
            kind: [fixed_plan(stage, index) for index, stage in enumerate(own)]
            for kind, own in self._stages.items()
        }
        self._lives: dict[Place, Life] = {}
        self._plan_count = 0
        self._addresses = Addresses()
        self._life_count = 0
        # By node, in the order in which they fell silent: what fell due since, None if unknown.
        self._silent: dict[str, dict[Place, None] | None] = {}

    @property
    def kinds(self) -> list[GroupKind]:
        """The kinds that have stages; events about others change nothing."""
        return sorted(self._stages)

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
                return self._put(obj, now_ns)
            case ObjectDeleted(obj=obj):
                return self._deleted(obj)
            case StageDue():
                return self._due(event, now_ns)
            case NodeDown(node=node):
                self._silent.setdefault(node, {})
                return []
            case NodeUp(node=node):
                return self._returned(node, now_ns)

    def plan_of(self, obj: KubernetesObject) -> tuple[str, int] | None:
        """Return the name of an object's next stage and when it is due, None if it has none."""
        life = self._lives.get(_place(obj))
        if life is None or life.plan is None:
            return None
        return self._stages[kind_of(obj)][life.plan.stage].name, life.plan.due_ns

    # ---------------------------------------------------------------------------- changes

    def _put(self, obj: KubernetesObject, now_ns: int) -> list[LifecycleAction]:
        place = _place(obj)
        if place[:2] not in self._stages:
            return []
        if isinstance(obj, Node):
            self._note_address(obj)
        life = self._lives.get(place)
        actions: list[LifecycleAction] = []
        if life is None or life.obj.uid != obj.uid:
            if life is not None:
                self._forget(life.obj)
            if isinstance(obj, Node):
                actions = self._returned(obj.name, now_ns)  # a new kubelet under an old name
            order = self._life_count if life is None else life.order
            self._life_count += 1
            life = self._lives[place] = Life(obj, order=order)
        life.obj = obj
        return [*actions, *self._planned(place, life, now_ns)]

    def _deleted(self, obj: KubernetesObject) -> list[LifecycleAction]:
        life = self._lives.pop(_place(obj), None)
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
            self._addresses.forget_pod(identity_of(encode(obj)))

    # ------------------------------------------------------------------------------ plans

    def _planned(self, place: Place, life: Life, now_ns: int) -> list[LifecycleAction]:
        """Make a plan for an object, keep the one that it has, or drop it."""
        obj = life.obj
        if isinstance(obj, Pod) and not obj.spec.node_name:
            life.plan = None
            return []
        kind, document = place[:2], encode(obj)
        stages, applying = self._stages[kind], self._selections[kind].of(document)
        if not applying:
            life.plan = None
            return []
        if len(applying) == 1:
            fixed = self._fixed[kind][applying[0]]
            if fixed is not None:
                return self._planned_as(fixed, place, life, now_ns)
        weights = [stages[index].weight.of(document) for index in applying]
        sources = [stages[index].delay.sources(document) for index in applying]
        basis = basis_of(applying, weights, sources)
        if life.plan is not None and life.plan.basis == basis:
            return []
        chosen = 0
        if len(applying) > 1:
            number = draw(self._seed, STAGE_STREAM, _counter(place, obj, life.plan_count))
            chosen = choose(weights, number)
        stage = stages[applying[chosen]]
        try:
            least_ns, most_ns = stage.delay.bounds(sources[chosen], now_ns)
        except ValueError as error:
            raise _error(stage, obj, str(error)) from None
        due_ns = now_ns + least_ns
        if most_ns > least_ns:
            number = draw(self._seed, DELAY_STREAM, _counter(place, obj, life.plan_count))
            due_ns = now_ns + between(least_ns, most_ns, number)
        life.plan = Plan(self._plan_count, applying[chosen], due_ns, basis)
        life.plan_count += 1
        self._plan_count += 1
        return [PlayAt(due_ns, StageDue(*place, life.plan.number), stage.name)]

    def _planned_as(
        self, fixed: FixedPlan, place: Place, life: Life, now_ns: int
    ) -> list[LifecycleAction]:
        """Do as `_planned` for the only stage that applies, whose delay nothing can change."""
        basis, delay_ns, stage, name = fixed
        if life.plan is not None and life.plan.basis == basis:
            return []
        number, due_ns = self._plan_count, now_ns + delay_ns
        life.plan = Plan(number, stage, due_ns, basis)
        life.plan_count += 1
        self._plan_count = number + 1
        return [PlayAt(due_ns, StageDue(*place, number), name)]

    def _due(self, event: StageDue, now_ns: int) -> list[LifecycleAction]:
        place = (event.group, event.object_kind, event.key)
        life = self._lives.get(place)
        if life is None or life.plan is None or life.plan.number != event.number:
            return []
        plan = life.plan
        if self._silent and (node := _node_of(life.obj)) in self._silent:
            held = self._silent[node]
            if held is not None:
                held[place] = None
            return []  # `_returned` sends it again
        assert now_ns >= plan.due_ns, f"{event.key}: due at {plan.due_ns}, and it is {now_ns}"
        stage = self._stages[place[:2]][plan.stage]
        self._count_play(life, stage, now_ns)
        life.plan = None
        try:
            actions = self._played(stage, place, life, now_ns)
        except (TemplateError, PatchError, ValueError) as error:
            if isinstance(error, PodwrightError):
                raise
            raise _error(stage, life.obj, str(error)) from None
        if stage.is_immediate:
            actions += self._planned(place, life, now_ns)
        return actions

    def _returned(self, node: str, now_ns: int) -> list[LifecycleAction]:
        """Say again what fell due on a node while its kubelet was silent."""
        if node not in self._silent:
            return []
        held = self._silent.pop(node)
        # A machine that was restored does not know, and looks at all.
        found = [
            (self._lives[place].order, place)
            for place in (self._lives if held is None else held)
            if place in self._lives
        ]
        actions: list[LifecycleAction] = []
        for _, (group, kind, key) in sorted(found):
            life = self._lives[group, kind, key]
            plan = life.plan
            if plan is None or plan.due_ns > now_ns or _node_of(life.obj) != node:
                continue
            stage = self._stages[group, kind][plan.stage].name
            actions.append(PlayAt(now_ns, StageDue(group, kind, key, plan.number), stage))
        return actions

    def _count_play(self, life: Life, stage: Stage, now_ns: int) -> None:
        if life.played_ns != now_ns:
            life.played_ns, life.play_count = now_ns, 0
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

    def _played(self, stage: Stage, place: Place, life: Life, now_ns: int) -> list[LifecycleAction]:
        """Play all steps on the object as it is; its changes are one write."""
        obj, before = life.obj, encode(life.obj)
        group, kind, key = place
        moment = Moment(now_ns, self._addresses)
        after, user = before, ""
        events: list[LifecycleAction] = []
        removals: list[LifecycleAction] = []
        for step in stage.steps:
            match step:
                case EventStep():
                    note = step.message.render(before, moment.functions(before))
                    events.append(
                        RecordEvent(group, kind, key, obj.uid, step.type, step.reason, note)
                    )
                case _ if removals:
                    continue
                case DeleteStep():
                    removals.append(RemoveObject(group, kind, key, obj.uid, stage.name))
                case FinalizersStep():
                    after = with_finalizers(after, step)
                case PatchStep():
                    after = patched(after, before, step, moment)
                    user = step.as_user or user
        writes: list[LifecycleAction] = []
        if after != before:
            scope = scope_of(before, after)
            changed = read_again(obj, after, scope, source=f"{_who(stage)}: {kind} {key}")
            writes.append(PutObject(changed, scope, stage.name, user))
            # Only a stage that goes on at once looks at it before the driver has told of it.
            life.obj = changed
        return [*events, *writes, *removals]

    # ------------------------------------------------------------------------- checkpoints

    def state(self) -> LifecycleState:
        """Return what a checkpoint needs besides the objects and the stages."""
        return LifecycleState(
            tuple(
                LifeState(
                    *place,
                    life.plan,
                    life.plan_count,
                    life.played_ns,
                    life.play_count,
                    life.last_stages,
                )
                for place, life in self._lives.items()
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
        assert not self._lives, "only a new machine can be restored"
        by_place = {_place(obj): obj for obj in objects}
        for order, kept in enumerate(state.lives):
            place = (kept.group, kept.kind, kept.key)
            self._lives[place] = Life(
                by_place[place],
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
        self._silent = dict.fromkeys(state.silent_nodes)
        self.validate()

    def validate(self) -> None:
        """Check what must always hold."""
        numbers = [life.plan.number for life in self._lives.values() if life.plan is not None]
        assert len(set(numbers)) == len(numbers), "two plans with one number"
        assert all(number < self._plan_count for number in numbers), "a plan from the future"
        for place, life in self._lives.items():
            assert _place(life.obj) == place, f"{place} holds {_place(life.obj)}"
            if life.plan is not None:
                stage = self._stages[place[:2]][life.plan.stage]
                assert stage.applies_to(encode(life.obj)), f"{place}: {stage.name} does not apply"


def _place(obj: KubernetesObject) -> Place:
    return (*kind_of(obj), obj.key)


def _counter(place: Place, obj: KubernetesObject, plan_count: int) -> int:
    """Return the counter of a draw: the same for the same plan of the same object."""
    text = "\0".join([*place, obj.uid, str(plan_count)])
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
