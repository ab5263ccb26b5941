"""What operations wait for, and sequences of operations that wait.

A sequence yields its operations one by one; the world takes the next one when the last one is done.
One that waits is released between the events of one time and the advance to the next: everything
that happens at a time has happened then, so a condition is never checked too early, and no virtual
time passes by checking it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import chain
from typing import Final

import msgspec

from podwright.apimachinery.cel import StageExpressionError, stage_expression
from podwright.apimachinery.documents import (
    Count,
    SelectorText,
    TimeoutText,
    forbidden,
    given_fields,
    invalid,
    join,
    required,
)
from podwright.apimachinery.objects import (
    FieldError,
    NamespacedName,
    Pod,
    encode,
    is_ready,
    parse_label_selector,
    read_duration,
)
from podwright.apimachinery.schema import built_in
from podwright.cluster.store import GroupKind, ObjectStore
from podwright.simulation.world.inputs.operations import Operation

_OF_OBJECT: Final = ("exists", "condition", "cel")
_ENOUGH: Final = ("scheduled", "ready", "gone", "pendingAtMost", "object", "drained", "settled")
"""The fields of which each condition has one."""


class Condition(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """What must hold: everything that is given.

    Attributes
    ----------
    scheduled : str, optional
        The label selector of pods, at least one, that have a node; "" selects all.
    ready : str, optional
        The same for pods that are ready, or have completed.
    gone : str, optional
        The label selector of pods of which there are none, or only completed ones.
    count : int, optional
        The least number of pods that `scheduled` or `ready` selects, in place of one.
    pending_at_most : int, optional
        So many pods without a node, of all that have not ended.
    object : str
        `kind/name`, such as `deployment/web`.
    condition : str
        A condition of the object that is true, such as `Available`.
    cel : str
        An expression over the object, which is `self`; an error is false.
    exists : bool, optional
        Whether the object exists.
    drained : str
        A node whose drain has ended.
    settled : bool
        Nothing is left to do but retries of unschedulable pods.
    namespace : str
        Of the pods (all if empty) and of the object (`default` if empty).
    timeout : str
        How long to wait; as long as anything else can happen if empty.
    """

    scheduled: SelectorText | None = None
    ready: SelectorText | None = None
    gone: SelectorText | None = None
    count: Count | None = None
    pending_at_most: Count | None = None
    object: str = ""
    condition: str = ""
    cel: str = ""
    exists: bool | None = None
    drained: str = ""
    settled: bool = False
    namespace: str = ""
    timeout: TimeoutText = ""

    def problems(self, path: str) -> Iterator[FieldError]:
        """Yield what is wrong with the fields together; `path` is that of the struct."""
        given = given_fields(self)
        if given.keys().isdisjoint(_ENOUGH):
            yield required(path, f"specify one of {', '.join(_ENOUGH)}")
        if "count" in given and given.keys().isdisjoint({"scheduled", "ready"}):
            yield forbidden(join(path, "count"), "needs scheduled or ready")
        of_object = [name for name in _OF_OBJECT if name in given]
        if not self.object:
            for name in of_object:
                yield forbidden(join(path, name), "needs object")
        elif self.identity() is None:
            detail = "must be kind/name, such as deployment/web"
            yield invalid(join(path, "object"), self.object, detail)
        elif not of_object:
            yield required(path, "an object needs one of exists, condition, cel")
        try:
            if self.object and self.cel:
                stage_expression(self.cel)
        except StageExpressionError as error:
            yield invalid(join(path, "cel"), self.cel, str(error))

    @property
    def timeout_ns(self) -> int | None:
        """How long to wait."""
        return read_duration(self.timeout, "timeout") if self.timeout else None

    def identity(self) -> tuple[GroupKind, NamespacedName] | None:
        """Return the kind and the key of the object; None if the text names none."""
        return identity_of(self.object, self.namespace or "default")

    def unmet(
        self, store: ObjectStore, draining: Collection[str], *, is_settled: bool, now_ns: int
    ) -> str:
        """Return why the condition does not hold, or "" if it does.

        Parameters
        ----------
        store : ObjectStore
            The objects.
        draining : collection of str
            The nodes whose drains are in progress.
        is_settled : bool
            Whether nothing changes any more before the next operation.
        now_ns : int
            The time in nanoseconds since 1970.
        """
        if self.settled and not is_settled:
            return "the cluster has work left"
        if self.drained and self.drained in draining:
            return f"the drain of node {self.drained} is in progress"
        return next(chain(self._reasons_of_object(store, now_ns), self._reasons_of_pods(store)), "")

    def _reasons_of_object(self, store: ObjectStore, now_ns: int) -> Iterator[str]:
        if not self.object:
            return
        identity = self.identity()
        assert identity is not None, self.object
        there = store.get(*identity)
        if there is None or self.exists is False:
            if (there is None) == (self.exists is not False):
                yield f"{self.object} {'does not exist' if there is None else 'still exists'}"
            return
        document = encode(there)
        conditions = (document.get("status") or {}).get("conditions") or ()
        found = (one.get("status") for one in conditions if one.get("type") == self.condition)
        if self.condition and "True" not in found:
            yield f"condition {self.condition} of {self.object} is not true"
        try:
            if self.cel and stage_expression(self.cel).evaluate(document, now_ns) is not True:
                yield f"{self.cel} is not true of {self.object}"
        except StageExpressionError as error:
            yield f"{self.cel}: {error}"

    def _reasons_of_pods(self, store: ObjectStore) -> Iterator[str]:
        if self.pending_at_most is not None:
            active = (pod for pod in _pods(store, "", self.namespace) if not pod.is_terminal)
            pending = sum(not pod.spec.node_name for pod in active)
            if pending > self.pending_at_most:
                yield f"{pending} pods are pending"
        for name, selector, is_met in (
            ("scheduled", self.scheduled, _is_scheduled),
            ("ready", self.ready, _is_ready),
        ):
            if selector is not None:
                pods = _pods(store, selector, self.namespace)
                met, least = sum(map(is_met, pods)), max(len(pods), 1)
                least = least if self.count is None else self.count
                if met < least:
                    yield f"{met} of {least} pods{_of(selector)} are {name}"
        if self.gone is not None:
            left = sum(not pod.is_terminal for pod in _pods(store, self.gone, self.namespace))
            if left:
                yield f"{left} pods{_of(self.gone)} are left"


def identity_of(text: str, namespace: str) -> tuple[GroupKind, NamespacedName] | None:
    """Return the kind and the key of `text`, `kind/name`; None if it names no known kind.

    `namespace` is that of the name, if the kind has namespaces.
    """
    kind_name, slash, name = text.partition("/")
    found = built_in().resource(kind_name)
    if not slash or not name or found is None:
        return None
    return found.group_kind, f"{namespace}/{name}" if found.row.namespaced else name


def _of(selector: str) -> str:
    return f" with {selector}" if selector else ""


def _pods(store: ObjectStore, selector: str, namespace: str) -> list[Pod]:
    found = store.list(Pod, namespace=namespace or None, labels=parse_label_selector(selector))
    return [pod for pod in found.objects if isinstance(pod, Pod)]


def _is_scheduled(pod: Pod) -> bool:
    return bool(pod.spec.node_name)


def _is_ready(pod: Pod) -> bool:
    return pod.status.phase == "Succeeded" or is_ready(pod)


class Step(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An operation of a sequence.

    Attributes
    ----------
    place : str
        Where it is written, for messages.
    at_ns : int
        The earliest time.
    after_ns : int
        The earliest time after the last step.
    wait : Condition, optional
        What is waited for, from then on.
    operation : Operation, optional
        None only waits.
    """

    place: str
    at_ns: int = 0
    after_ns: int = 0
    wait: Condition | None = None
    operation: Operation | None = None


class StepDue(msgspec.Struct, frozen=True, gc=False):
    """The next step of a sequence is due."""

    sequence: OperationSequence


class OperationSequence:
    """Operations one after the other, some of which wait.

    Parameters
    ----------
    steps : iterator of Step

    Attributes
    ----------
    step : Step
        The step that is due next, or waits.
    is_waiting : bool
        Whether it waits for its condition.
    deadline_ns : int, optional
        When the wait ends without success.
    """

    def __init__(self, steps: Iterator[Step]) -> None:
        self._steps = steps
        self.step = Step(place="")
        self.is_waiting = False
        self.deadline_ns: int | None = None
        self._unmet = self._failure = ""

    def next_due_ns(self, now_ns: int) -> int | None:
        """Take the next step and return when it is due; None if none is left."""
        step = next(self._steps, None)
        if step is None:
            return None
        self.step = step
        return max(step.at_ns, now_ns + step.after_ns)

    def start(self, now_ns: int) -> None:
        """Start the step that is due: its wait, if it has one."""
        wait = self.step.wait
        self.is_waiting = wait is not None
        timeout_ns = None if wait is None else wait.timeout_ns
        self.deadline_ns = None if timeout_ns is None else now_ns + timeout_ns

    def try_release(self, unmet: Callable[[Condition], str]) -> bool:
        """End the wait if its condition holds."""
        assert self.step.wait is not None, "nothing is waited for"
        self._unmet = unmet(self.step.wait)
        if not self._unmet:
            self.is_waiting, self.deadline_ns = False, None
        return not self.is_waiting

    def give_up(self, why: str) -> None:
        """Leave out the step that waits and all after it."""
        self.is_waiting, self.deadline_ns = False, None
        self._failure = f"{self.step.place}: {self._unmet} {why}"

    @property
    def failure(self) -> str:
        """Why the steps from one on were left out: what it waits for does not hold; or ""."""
        text = self._failure
        if self.is_waiting:
            text = f"{self.step.place}: {self._unmet} at the end of the run"
        return f"{text}; this operation and those after it were left out" if text else ""
