"""Reads a file of event lines as operations with times.

A file may have lines of two kinds:

- recorded changes (`files.record`); their times, and all times in their objects, are relative to
  the first recorded line, which is at the start of the world;
- operations: `{"at": "10m", "scale": "deployment/web", "replicas": 5}`. The time is relative to the
  start of the world, or RFC 3339; `after` is relative to the line before, and `when`, `step` and
  `waitUntil` wait for a condition, from which the lines after it are counted.

A file is read twice. The first pass validates it and finds how long its pods ran; the second pass
runs with the world. Only the names that later lines may refer to are kept in memory.

Recorded changes become operations by the policies of kube-scheduler-simulator's importer, which
copies no decisions:

- Owners, which have a pod template, and references to them are not copied: their pods are in the
  record, and the simulated controllers would create them again. A claim that was created for a pod
  keeps its owner, because the scheduler requires it.
- A pod that has a node in its first line keeps it. Other pods are created without the status that
  the recorded scheduler wrote. Later changes apply until the pod has a node in the record or in the
  world.
- A pod that ended in the record ends after the same run time.
- Deletions apply immediately, without a grace period.

Upstream: kube-scheduler-simulator simulator/resourceapplier/resourceapplier.go,
simulator/recorder/recorder.go
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.documents import (
    decode as decode_struct,
    join,
)
from podwright.apimachinery.objects import (
    FIRST_NS,
    LAST_NS,
    Document,
    FieldError,
    InputError,
    KubernetesObject,
    NamespacedName,
    Object,
    OwnerReference,
    Pod,
    encode,
    invalid,
    quoted,
    read_duration,
    read_time,
    timestamp_ns,
    unsupported,
    with_fields,
)
from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.kubelets import EXIT_CODE, RUN_DELAY
from podwright.cluster.store import GroupKind, kind_of
from podwright.scheduler.config import format_duration
from podwright.simulation.files import (
    MAX_STEP_BACK_NS,
    FieldValidation,
    ObjectReader,
    Place,
    RecordLine,
    RecordReader,
    Sourced,
)
from podwright.simulation.world.inputs.conditions import Condition, Step, identity_of
from podwright.simulation.world.inputs.operation_line import (
    OPERATIONS,
    TIMES,
    OperationLine,
    Selected,
)
from podwright.simulation.world.inputs.operations import (
    ON_NODE,
    Apply,
    Create,
    Delete,
    OnNodes,
    Operation,
    Patch,
    Put,
    Scale,
    Stop,
    Update,
)
from podwright.simulation.world.inputs.recorded_times import with_times_moved

Lines: TypeAlias = Callable[[], Iterable[tuple[int, bytes, bool]]]
"""Yields the lines of a file: number, content, whether a line feed ends it."""

Timed: TypeAlias = tuple[int, Operation]

_NODE: Final = ("", "Node")
_POD: Final = ("", "Pod")
_MADE_BY_CONTROLLERS: Final = frozenset(
    {
        ("", "Pod"), ("", "PersistentVolume"), ("", "PersistentVolumeClaim"),
        ("apps", "ReplicaSet"), ("batch", "Job"),
    }
)  # fmt: skip
"""Kinds whose objects controllers may create, so that a reference cannot be checked."""

_REFERENCES: Final = frozenset({"nodeName", "priorityClassName", "runtimeClassName"})
_CONDITIONS: Final = {"when", "waitUntil"}
_OWN: Final = {*TIMES, "waitUntil"}
"""The fields of which each operation in a file has at least one."""
_SETTLED: Final = Condition(settled=True)


class _Time(msgspec.Struct, frozen=True, kw_only=True):
    """The time field of a recorded line."""

    time: Any = None


def first_recorded_ns(lines: Lines) -> int | None:
    """Return the time of the first recorded change in `lines`; None if that is not their start."""
    for _, line, _ in lines():
        if line.strip():
            try:
                written = msgspec.json.decode(line, type=_Time).time
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                return None
            return timestamp_ns(written) if isinstance(written, str) else None
    return None


class PodEnd(msgspec.Struct, frozen=True, gc=False):
    """How a recorded pod ended.

    Attributes
    ----------
    ran_ns : int
        From its start to its end.
    has_failed : bool
    """

    ran_ns: int
    has_failed: bool


class EventLines:
    """A validated file of event lines.

    Parameters
    ----------
    lines : callable
        Yields the lines; called twice.
    source : str
        The name of the file, for errors.
    start_ns : int
        The start time of the world.
    there : iterable of KubernetesObject, or None
        The initial objects; None if they are not known, so that references to them cannot be
        checked.
    validate : str
        What is done about problems in the objects of `apply` lines.
    list_path : str
        The path of a list whose items the lines are; "" for the lines of a file.
    is_generated : bool
        Whether a load made the lines: the object of a deletion may be gone before.
    note_pod : callable
        Receives the line and each new pod that names no node and no class.

    Attributes
    ----------
    waits : bool
        Whether a line waits for a condition: the lines are then `steps`.
    ends : dict
        The end of each recorded pod, by name and UID.
    end_ns : int
        The time of the last line.
    errors : list of FieldError
        Those of all lines, or that the file cannot be read or has no lines.
    added : list of Sourced
        The objects of `apply` lines, without the pods that `note_pod` receives: there may be
        millions.
    missing : dict of int to (GroupKind, str)
        Which of the errors are that an object does not exist, unless another file has it.
    named : set of (GroupKind, str)
        The objects of the lines to which lines may refer, except those that were there.
    nodes : set of str
        The names of the initial nodes and of those that the lines create.
    unterminated_line : int
        The number of the last line if it has no line feed and was ignored, else 0.
    warnings : tuple of str
        What was read although it may be wrong.
    """

    def __init__(
        self,
        lines: Lines,
        source: str,
        start_ns: int,
        there: Iterable[KubernetesObject] | None = (),
        *,
        validate: FieldValidation = "strict",
        list_path: str = "",
        is_generated: bool = False,
        note_pod: Callable[[str, Pod], object] = lambda _place, _pod: None,
    ) -> None:
        self.note_pod = note_pod
        self.list_path = list_path
        self.is_generated = is_generated
        self.waits = False
        self.lines = lines
        self.validate = validate
        self.source = source
        self.start_ns = start_ns
        self.ends: dict[tuple[NamespacedName, str], PodEnd] = {}
        self.is_complete = there is not None
        self.there = {(kind_of(obj), obj.key) for obj in there or ()}
        self.added: list[Sourced] = []
        self.missing: dict[int, tuple[GroupKind, NamespacedName]] = {}
        self.end_ns = start_ns
        self.unterminated_line = 0
        reading = _Reading(self, is_check=True)
        self.errors = reading.errors
        has_lines = False
        try:
            for due_ns, step in reading.steps():
                self.end_ns = due_ns
                self.waits = self.waits or step.wait is not None
                has_lines = True
        except InputError as error:
            self.errors, self.added, self.missing = list(error.errors), [], {}
        self.named = reading.named()
        self.warnings = reading.warnings()
        self.nodes = reading.nodes()
        if not has_lines and not self.errors:
            message = 'no lines in this file; a line is {"at": "10m", "drain": "node-1"} or a'
            self.errors.append(_error(source, f"{message} recorded change"))
        if not FIRST_NS <= self.end_ns < LAST_NS and not self.errors:
            message = "a line is due outside of the years that can be simulated, 1678 to 2261"
            self.errors.append(_error(source, message))

    def find_missing(self, named: Collection[tuple[GroupKind, NamespacedName]]) -> None:
        """Remove the errors about missing objects that are among `named`, those of other files."""
        found = {number for number, name in self.missing.items() if name in named}
        self.errors = [each for number, each in enumerate(self.errors) if number not in found]
        self.missing = {}

    def __iter__(self) -> Iterator[Timed]:
        for due_ns, step in _Reading(self, is_check=False).steps():
            if step.operation is not None:
                yield due_ns, step.operation

    def steps(self) -> Iterator[Step]:
        """Yield the lines as steps of a sequence."""
        return (step for _, step in _Reading(self, is_check=False).steps())


class _Reading:
    """One pass through a file."""

    def __init__(self, lines: EventLines, *, is_check: bool) -> None:
        self._of = lines
        self._is_check = is_check
        # Defaults are the API server's part: an applied object may be a change of a stored one.
        self._reader = ObjectReader(lines.validate, has_defaults=False)
        self._record = RecordReader(lines.source, self._reader)
        self.errors = self._reader.errors
        self._record_start_ns: int | None = None
        self._shift_ns = 0
        self._now_ns = lines.start_ns
        self._known = set(lines.there)
        self._started_ns: dict[tuple[NamespacedName, str], int] = {}
        self._path = ""
        self._last_step = 0

    def warnings(self) -> tuple[str, ...]:
        """Return what was read although it may be wrong."""
        return self._reader.warnings()

    def nodes(self) -> set[str]:
        """Return the names of the initial nodes and of those in the lines so far."""
        return {key for kind, key in self._known if kind == _NODE}

    def named(self) -> set[tuple[GroupKind, NamespacedName]]:
        """Return the objects of the lines so far to which lines may refer."""
        return {
            name
            for name in self._known
            if name[0] not in _MADE_BY_CONTROLLERS and name not in self._of.there
        }

    def steps(self) -> Iterator[tuple[int, Step]]:
        """Yield the lines in order, each with its time if nothing is waited for."""
        for number, line, is_whole in self._of.lines():
            if not is_whole:
                self._of.unterminated_line = number
            elif line.strip():
                yield from self._taken(number, line)

    def _taken(self, number: int, line: bytes) -> Iterator[tuple[int, Step]]:
        place = f"{self._of.source}: line {number}"
        if self._of.list_path:
            place, self._path = self._of.source, f"{self._of.list_path}[{number - 1}]"
        found: Any = None
        try:
            found = msgspec.json.decode(line)
            is_own = bool(self._path) or (isinstance(found, dict) and not _OWN.isdisjoint(found))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            is_own = False  # the reader of recorded lines reports the error
        if is_own:
            step = self._own(found, place)
            if step is not None:
                yield self._now_ns, step
            return
        change = self._record.take(number, line)
        if change is None or not self._is_in_time(change, place):
            return
        self._known.add((kind_of(change.object), change.object.key))
        if self._is_check and isinstance(change.object, Pod):
            self._note_end(change.object, change.time_ns)
        operation = self._recorded(change)
        if operation is not None:
            yield self._now_ns, Step(place=place, at_ns=self._now_ns, operation=operation)

    # ------------------------------------------------------------------- recorded lines

    def _is_in_time(self, change: RecordLine, place: str) -> bool:
        if self._record_start_ns is None:
            self._record_start_ns = change.time_ns
            self._shift_ns = self._of.start_ns - change.time_ns
        due_ns = self._of.start_ns + change.time_ns - self._record_start_ns
        if due_ns < self._now_ns - MAX_STEP_BACK_NS:
            message = f"{format_duration(self._now_ns - due_ns)} before the previous line"
            self.errors.append(_error(place, message, path="time"))
            return False
        self._now_ns = max(self._now_ns, due_ns)
        return True

    def _note_end(self, pod: Pod, time_ns: int) -> None:
        key = pod.key, pod.uid
        started_ns = timestamp_ns((pod.raw.get("status") or {}).get("startTime"))
        if started_ns is not None or pod.spec.node_name:
            self._started_ns.setdefault(key, time_ns if started_ns is None else started_ns)
        if pod.metadata.deletion_timestamp is not None:
            return  # the deletion ended the pod
        if pod.status.phase in ("Succeeded", "Failed") and key not in self._of.ends:
            began_ns = self._started_ns.pop(key, time_ns)
            ran_ns = max(_finished_ns(pod, time_ns) - began_ns, 0)
            self._of.ends[key] = PodEnd(ran_ns, pod.status.phase == "Failed")

    def _recorded(self, change: RecordLine) -> Operation | None:
        obj, kind = change.object, kind_of(change.object)
        if kind in built_in().pod_templates or kind[1] in ("Event", "Lease"):
            return None
        if change.event == "Delete":
            return Delete(kind, obj.key, grace_seconds=0)
        obj = with_times_moved(self._without_owners(obj), self._shift_ns)
        if isinstance(obj, Pod):
            if change.old is None:
                return Put(self._new_pod(obj))
            return None if obj.spec.node_name else Update(_undecided(obj))
        if change.old is not None and kind == ("", "PersistentVolumeClaim"):
            return Update(obj)
        return Put(obj)

    def _without_owners(self, obj: Object) -> Object:
        owners = obj.metadata.owner_references
        kept = tuple(owner for owner in owners if self._is_of_a_pod(obj, owner))
        if len(kept) == len(owners):
            return obj
        return with_fields(obj, "metadata", owner_references=kept)

    def _is_of_a_pod(self, obj: Object, owner: OwnerReference) -> bool:
        return owner.kind == "Pod" and (_POD, f"{obj.namespace}/{owner.name}") in self._known

    def _new_pod(self, pod: Pod) -> Pod:
        if not pod.spec.node_name:
            pod = _undecided(pod)
        end = self._of.ends.get((pod.key, pod.uid))
        if end is None or pod.status.phase in ("Succeeded", "Failed"):
            return pod
        annotations = {
            **pod.metadata.annotations,
            RUN_DELAY: format_duration(end.ran_ns),
            EXIT_CODE: "1" if end.has_failed else "0",
        }
        pod = with_fields(pod, "metadata", annotations=annotations)
        # The pod ends once; otherwise its containers would be restarted.
        return with_fields(pod, "spec", restart_policy="Never")

    # ------------------------------------------------------------------------ own lines

    def _own(self, written: Any, place: str) -> Step | None:
        """Return a podwright line as a step, or add its errors."""
        before = self._wrong_count
        wrong: list[FieldError] = []
        if self._is_check or not _CONDITIONS.isdisjoint(written):
            line = decode_struct(written, OperationLine, self._path, wrong)
        else:  # the first pass has checked it
            present = {name: value for name, value in written.items() if value is not None}
            line = msgspec.convert(present, OperationLine)
        self.errors += (msgspec.structs.replace(each, source=place) for each in wrong)
        timing = self._timing(line, place)
        operation = None if wrong or line.wait_until else self._operation(line, place)
        if self._wrong_count > before:
            return None
        return msgspec.structs.replace(timing, operation=operation)

    def _shown(self, place: str) -> str:
        return f"{place}: {self._path}" if self._path else place

    def _timing(self, line: OperationLine, place: str) -> Step:
        """Return a step without operation, and advance the earliest time of the lines."""
        wait = line.wait_until or line.when
        at_ns = after_ns = 0
        if line.at is not None:
            self._read_time(line.at, place)
            at_ns = self._now_ns
        elif line.after is not None:
            after_ns = read_duration(line.after, "after", least_ns=0)
            self._now_ns += after_ns
        if line.step is not None:
            if line.step < self._last_step:
                self._wrong(place, "step", invalid(line.step, "steps must not decrease"))
            elif line.step > self._last_step:
                wait = wait or _SETTLED
            self._last_step = line.step
        return Step(place=self._shown(place), at_ns=at_ns, after_ns=after_ns, wait=wait)

    def _read_time(self, at: str, place: str) -> None:
        start_ns = self._of.start_ns
        try:
            due_ns = read_time(at, "at", start_ns=start_ns)
        except InputError as error:
            self._wrong(place, "at", error.errors[0].message)
            return
        if due_ns < self._now_ns:
            what = "the start" if self._now_ns == start_ns else "the previous line"
            detail = (
                f"{format_duration(self._now_ns - due_ns)} before {what}; times must not decrease"
            )
            self._wrong(place, "at", invalid(at, detail))
            return
        self._now_ns = due_ns

    def _operation(self, line: OperationLine, place: str) -> Operation | None:
        shown = self._shown(place)
        name = next(each for each in OPERATIONS if getattr(line, each, None) is not None)
        value: Any = getattr(line, name)
        if name in ("apply", "create"):
            return self._apply(name, value, line.subresource or "", place)
        if name == "done":
            return Stop()
        if isinstance(value, Selected):
            return OnNodes(name, value.selector)
        if name in ON_NODE:
            node = value.removeprefix("node/")
            self._check_there(_NODE, node, place, name)
            return ON_NODE[name](node, shown)
        found = identity_of(value, line.namespace or "default")
        if found is None:
            detail = "must be kind/name, such as deployment/web"
            self._wrong(place, name, invalid(value, detail))
            return None
        kind, key = found
        self._check_there(kind, key, place, name)
        if name == "delete":
            return Delete(
                kind,
                key,
                grace_seconds=line.grace_period_seconds,
                place="" if self._of.is_generated else shown,
            )
        if name == "patch":
            if isinstance(line.with_, dict):
                path = join(self._path, "with")
                self._reader.check_patch(kind, line.with_, Place(place), path=path)
            return Patch(kind, key, line.with_, line.type or "strategic", shown)
        if kind not in (scaled := built_in().scaled):
            self._wrong(place, name, unsupported(kind[1], sorted(each for _, each in scaled)))
        return Scale(kind, key, line.replicas or 0, shown)

    def _apply(self, name: str, value: Document, subresource: str, place: str) -> Operation | None:
        obj = self._reader.read(value, Place(place), path=join(self._path, name))
        if obj is None:
            return None
        identity = (kind_of(obj), obj.key)
        if subresource:
            self._check_there(*identity, place, "apply")
            return Apply(obj, subresource)
        if isinstance(obj, Pod) and _refers_to_nothing(obj):
            # No line refers to a pod, so its name is not kept either: see `_check_there`.
            if self._is_check:
                self._of.note_pod(place, obj)
            return Apply(obj) if name == "apply" else Create(obj)
        self._known.add(identity)
        if self._is_check:
            self._of.added.append(Sourced(place, obj))
        return Apply(obj) if name == "apply" else Create(obj)

    def _check_there(self, kind: GroupKind, key: NamespacedName, place: str, path: str) -> None:
        """Add an error unless an earlier line or a file has an object, or a controller makes it."""
        is_known = (kind, key) in self._known or kind in _MADE_BY_CONTROLLERS
        if self._is_check and self._of.is_complete and not is_known:
            self._of.missing[len(self.errors)] = (kind, key)
            self._wrong(place, path, f"{kind[1]} {quoted(key)} does not exist at that time")

    @property
    def _wrong_count(self) -> int:
        """The number of errors that no other file can remove."""
        return len(self.errors) - len(self._of.missing)

    def _wrong(self, place: str, path: str, message: str) -> None:
        if self._path:
            path = join(self._path, path) if path else self._path
        self.errors.append(_error(place, message, path=path))


def _refers_to_nothing(pod: Pod) -> bool:
    """Whether a new pod names no node and no class, whose existence is checked."""
    spec = pod.raw.get("spec")
    return spec is not None and not pod.uid and spec.keys().isdisjoint(_REFERENCES)


def _error(source: str, message: str, *, path: str = "") -> FieldError:
    return FieldError(source=source, path=path, message=message)


def _undecided(pod: Pod) -> Pod:
    """Return a pod without its status, which the recorded scheduler wrote."""
    document = {name: value for name, value in encode(pod).items() if name != "status"}
    undecided = decode(document)
    assert isinstance(undecided, Pod), undecided.kind
    return undecided


def _finished_ns(pod: Pod, default_ns: int) -> int:
    """Return the time at which the last container of a pod exited."""
    found = []
    for status in (pod.raw.get("status") or {}).get("containerStatuses") or ():
        ended = ((status.get("state") or {}).get("terminated") or {}).get("finishedAt")
        finished_ns = timestamp_ns(ended)
        if finished_ns is not None:
            found.append(finished_ns)
    return max(found, default=default_ns)
