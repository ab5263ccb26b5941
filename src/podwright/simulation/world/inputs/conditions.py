"""What operations wait for, and sequences of operations that wait.

A sequence yields its operations one by one; the world takes the next one when the last one is done.
One that waits is released between the events of one time and the advance to the next: everything
that happens at a time has happened then, so a condition is never checked too early, and no virtual
time passes by checking it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
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

_ENDED: Final = ("Succeeded", "Failed")
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
            yield required(path, f"one of {', '.join(_ENOUGH)} is expected")
        if "count" in given and given.keys().isdisjoint({"scheduled", "ready"}):
            yield forbidden(join(path, "count"), "needs scheduled or ready")
        of_object = [name for name in _OF_OBJECT if name in given]
        if not self.object:
            for name in of_object:
                yield forbidden(join(path, name), "needs object")
        elif self.identity() is None:
            detail = "kind/name is expected, such as deployment/web"
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
        if self.object:
            found = self._unmet_object(store, now_ns)
            if found:
                return found
        return self._unmet_pods(store)

    def _unmet_object(self, store: ObjectStore, now_ns: int) -> str:
        identity = self.identity()
        assert identity is not None, self.object
        there = store.get(*identity)
        if there is None or self.exists is False:
            if (there is not None) == (self.exists is not False):
                return ""
            return f"{self.object} {'still exists' if there is not None else 'does not exist'}"
        document = encode(there)
        if self.condition:
            conditions = (document.get("status") or {}).get("conditions") or ()
            if not any(
                each.get("type") == self.condition and each.get("status") == "True"
                for each in conditions
            ):
                return f"condition {self.condition} of {self.object} is not true"
        if self.cel:
            try:
                if stage_expression(self.cel).evaluate(document, now_ns) is not True:
                    return f"{self.cel} is not true of {self.object}"
            except StageExpressionError as error:
                return f"{self.cel}: {error}"
        return ""

    def _unmet_pods(self, store: ObjectStore) -> str:
        if self.pending_at_most is not None:
            pending = sum(
                not pod.spec.node_name and pod.status.phase not in _ENDED
                for pod in _pods(store, "", self.namespace)
            )
            if pending > self.pending_at_most:
                return f"{pending} pods are pending"
        for name, selector, is_met in (
            ("scheduled", self.scheduled, _is_scheduled),
            ("ready", self.ready, _is_ready),
        ):
            if selector is not None:
                pods = _pods(store, selector, self.namespace)
                met, least = sum(map(is_met, pods)), max(len(pods), 1)
                least = least if self.count is None else self.count
                if met < least:
                    return f"{met} of {least} pods{_of(selector)} are {name}"
        if self.gone is not None:
            left = sum(
                pod.status.phase not in _ENDED for pod in _pods(store, self.gone, self.namespace)
            )
            if left:
                return f"{left} pods{_of(self.gone)} are left"
        return ""


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
    matches = parse_label_selector(selector).matches if selector else None
    return [
        pod
        for pod in store.list(Pod).objects
        if isinstance(pod, Pod)
        and (not namespace or pod.namespace == namespace)
        and (matches is None or matches(pod.metadata.labels))
    ]


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
    is_waiting : bool
        Whether a step waits for its condition.
    """

    def __init__(self, steps: Iterator[Step]) -> None:
        self._steps = steps
        self._step: Step | None = None
        self._deadline_ns: int | None = None
        self._unmet = ""
        self.is_waiting = False
        self._failure = ""

    def next_due_ns(self, now_ns: int) -> int | None:
        """Take the next step and return when it is due; None if none is left."""
        self._step = next(self._steps, None)
        if self._step is None:
            return None
        return max(self._step.at_ns, now_ns + self._step.after_ns)

    def reached(self, now_ns: int) -> Operation | None:
        """Return the operation of the step that is due; None if it waits or has none."""
        assert self._step is not None, "no step is due"
        if self._step.wait is None:
            return self._step.operation
        self.is_waiting = True
        timeout_ns = self._step.wait.timeout_ns
        self._deadline_ns = None if timeout_ns is None else now_ns + timeout_ns
        return None

    def try_release(self, unmet: Callable[[Condition], str]) -> bool:
        """End the wait if its condition holds."""
        assert self._step is not None, "no step is due"
        assert self._step.wait is not None, "nothing is waited for"
        self._unmet = unmet(self._step.wait)
        self.is_waiting = bool(self._unmet)
        return not self.is_waiting

    @property
    def released(self) -> Operation | None:
        """The operation of the step whose wait has ended."""
        return None if self._step is None else self._step.operation

    @property
    def deadline_ns(self) -> int | None:
        """When the wait ends without success."""
        return self._deadline_ns if self.is_waiting else None

    def give_up(self, why: str) -> None:
        """Leave out the step that waits and all after it."""
        assert self._step is not None, "nothing is waited for"
        self.is_waiting = False
        self._failure = f"{self._step.place}: {self._unmet} {why}"

    @property
    def failure(self) -> str:
        """Why the steps from one on were left out: what it waits for does not hold; or ""."""
        text = self._failure
        if self.is_waiting and self._step is not None:
            text = f"{self._step.place}: {self._unmet} at the end of the run"
        return f"{text}; this operation and those after it were left out" if text else ""
