"""The inputs of a run: objects of files, pods with arrival times, event lines.

All inputs are validated before the run, and all errors are raised together, including references
across files, such as missing priority classes and nodes.

The initial objects are created in the order of the ranks of their kinds, so that referenced objects
exist first. An object keeps its references to owners that are in the files: garbage collection
would delete it for another. One with a UID comes from a dump: it keeps its UID and status. Its
times are moved if the world starts at another time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    FIRST_NS,
    LAST_NS,
    FieldError,
    InputError,
    KubernetesObject,
    NamespacedName,
    Node,
    Object,
    OwnerReference,
    Pod,
    api_group,
    encode,
    nearest,
    timestamp_ns,
    with_fields,
)
from podwright.apimachinery.schema import built_in
from podwright.cluster.api import object_problems
from podwright.cluster.controllers import (
    autoscalers_with_usage,
    missing_replica_sets,
    wrong_usages,
)
from podwright.cluster.kubelets import (
    STAGE,
    Stage,
    default_stages,
    read_stage,
    with_own_stages,
)
from podwright.cluster.store import GroupKind, kind_of
from podwright.simulation.files import FieldValidation, LoadedObjects, Sourced, missing_classes
from podwright.simulation.world.clock import START_NS
from podwright.simulation.world.inputs.conditions import OperationSequence, Step
from podwright.simulation.world.inputs.event_lines import (
    EventLines,
    Lines,
    Timed,
    first_recorded_ns,
)
from podwright.simulation.world.inputs.input_review import (
    InputReview,
    ignored_kinds,
    jobs_without_duration,
    load_estimate,
    starts_at_once,
    with_job_duration,
)
from podwright.simulation.world.inputs.openb_arrivals import Arrival, Ending, openb_arrivals
from podwright.simulation.world.inputs.operations import Apply, Create, Delete, Operation, Put
from podwright.simulation.world.inputs.recorded_times import with_times_moved
from podwright.simulation.world.inputs.usage_trace import usage_lines

_SOON_NS: Final = 1_000
"""The resolution of Python's datetime."""

_CRON_JOB: Final = ("batch", "CronJob")
_AUTOSCALER: Final = ("autoscaling", "HorizontalPodAutoscaler")


class EventFile(msgspec.Struct, frozen=True):
    """A file of event lines.

    Attributes
    ----------
    source : str
        Its name, for errors.
    lines : callable
        Yields its lines, from the first one.
    start_ns : int, optional
        The start of a world with these lines, if no record determines it.
    is_workload : bool
        Whether all lines create objects that no other input has.
    has_usage : bool
        Whether the lines come from a usage trace.
    list_path, is_generated
        As for `EventLines`.
    warnings : tuple of str
        Remarks on the lines, a sentence each.
    """

    source: str
    lines: Lines
    start_ns: int | None = None
    is_workload: bool = False
    has_usage: bool = False
    list_path: str = ""
    is_generated: bool = False
    warnings: tuple[str, ...] = ()


def file_of_events(name: str, lines: Lines) -> EventFile:
    """Return the file `name` of event lines, or the one that a usage trace (`.csv`) stands for.

    `lines` is its content.
    """
    if name.removesuffix(".gz").endswith(".csv"):
        return EventFile(name, lambda: usage_lines(lines(), source=name), has_usage=True)
    return EventFile(name, lines)


def start_of(loaded: LoadedObjects, events: Iterable[EventFile]) -> int:
    """Return the default start time of a world with the objects `loaded` and the files `events`.

    Recorded objects have times, so the world starts at the time of the first recorded line, or at
    the creation of the youngest object of a dump. A trace with times starts at the first of them,
    except with a record.

    Raises
    ------
    InputError
        If a file of events cannot be read.
    """
    several = list(events)
    recorded = [first_recorded_ns(file.lines) for file in several if not file.has_usage]
    known = [at_ns for at_ns in recorded if at_ns is not None]
    known = known or [file.start_ns for file in several if file.start_ns is not None]
    if known:
        return _possible(min(known))
    made = [timestamp_ns(obj.metadata.creation_timestamp) for obj in loaded.objects if obj.uid]
    return _possible(max((at_ns for at_ns in made if at_ns is not None), default=START_NS))


def _possible(start_ns: int) -> int:
    """Return a start time that can be simulated; the times of objects are shifted to it."""
    return start_ns if FIRST_NS <= start_ns < LAST_NS else START_NS


class Inputs:
    """The validated inputs of a run; each iterator over them starts from the start.

    Parameters
    ----------
    loaded : LoadedObjects
        The objects of files, including KWOK's Stages.
    events : iterable of EventFile
    start_ns : int
        The start time of the world.
    ending : str
        When pods of the openb trace end, see `openb_arrivals`.
    is_endless : bool
        Whether the run has no end time; CronJobs are errors then.
    job_duration_ns : int, optional
        The duration of pods of Jobs without one; without it they complete as soon as they run.
    validate : str
        What is done about problems in the objects of event lines.
    is_complete : bool
        Whether `loaded` has all objects of the files; if not, references are not checked, and the
        errors in the files are raised by the caller.

    Attributes
    ----------
    stages : tuple of Stage
        The stages of the files, and the built-in ones of all other kinds.
    end_ns : int
        The time of the last input.
    pod_count : int
        The number of pods in the files.
    warnings : tuple of str
        What was read in event lines although it may be wrong.

    Raises
    ------
    InputError
        With the errors of all inputs.
    """

    def __init__(
        self,
        loaded: LoadedObjects,
        events: Iterable[EventFile] = (),
        *,
        start_ns: int,
        ending: Ending = "at_deletion_time",
        is_endless: bool = False,
        validate: FieldValidation = "strict",
        job_duration_ns: int | None = None,
        is_complete: bool = True,
    ) -> None:
        self._start_ns = start_ns
        self._job_duration_ns = job_duration_ns
        events = tuple(events)
        self._has_usage = any(file.has_usage for file in events)
        errors: list[FieldError] = []
        stages = [entry for entry in loaded.sourced if kind_of(entry.object) == STAGE]
        sourced = [entry for entry in loaded.sourced if kind_of(entry.object) != STAGE]
        warnings: list[str] = []
        self.stages = _stages(stages, start_ns, errors, warnings)
        objects = [entry.object for entry in sourced]
        objects += missing_replica_sets(objects)
        pods = [obj for obj in objects if isinstance(obj, Pod)]
        arrivals = _arrivals(pods, sourced, start_ns, ending, errors)
        # Pods of the start that are never deleted are created with the other initial objects.
        later = [one for one in arrivals if one.due_ns > start_ns or one.gone_ns is not None]
        self._later = _timed(later)
        read: list[tuple[EventFile, EventLines]] = []
        added: list[Sourced] = []
        collisions = Collisions(sourced, errors)
        for number, file in enumerate(events, start=1):
            lines = EventLines(
                file.lines,
                file.source,
                start_ns,
                objects if is_complete else None,
                validate=validate,
                list_path=file.list_path,
                is_generated=file.is_generated,
                note_pod=collisions.pods(
                    is_workload=file.is_workload, is_last=number == len(events)
                ),
            )
            read.append((file, lines))
            added += lines.added
            collisions.add(lines.added, is_workload=file.is_workload)
        named = set().union(*(lines.named for _, lines in read))
        for _, lines in read:
            lines.find_missing(named)
            errors += lines.errors
        nodes = set().union(*(lines.nodes for _, lines in read if lines.errors))
        right = [(file, lines) for file, lines in read if not lines.errors]
        self._events = [lines for _, lines in right]
        warnings += chain.from_iterable((*file.warnings, *lines.warnings) for file, lines in right)
        if loaded.validate != "strict":
            errors += _problems_of(sourced)
        if validate != "strict":
            errors += _problems_of(added)
        if is_complete:
            errors += missing_classes([*sourced, *added])
            errors += _wrong_usages([*sourced, *added])
            if not self._events:  # a record may add the node
                errors += _missing_nodes([*sourced, *added], nodes)
            if is_endless:
                errors += endless_inputs([*sourced, *added], has_trace=self._has_usage)
        if errors:
            raise InputError(errors)
        self.warnings = tuple(warnings)
        later_pods = {id(one.pod) for one in later}
        first = [obj for obj in objects if id(obj) not in later_pods]
        # The times of a trace are not those of the objects.
        others = [file for file in events if file.start_ns is None]
        self._first = _initial_operations(first, start_ns - start_of(loaded, others))
        self.pod_count = len(pods)
        self._reviewed = objects, [entry.object for entry in added]
        self.end_ns = max(
            [
                start_ns,
                *(lines.end_ns for lines in self._events),
                *[due_ns for due_ns, _ in self._later[-1:]],
            ]
        )

    @property
    def unterminated(self) -> list[str]:
        """The ignored last lines without a line feed, with their files."""
        return [
            f"{lines.source}: line {lines.unterminated_line}"
            for lines in self._events
            if lines.unterminated_line
        ]

    def __iter__(self) -> Iterator[Timed]:
        first: Iterator[Timed] = ((self._start_ns, operation) for operation in self._first)
        # Inputs of equal times keep this order.
        fixed = (lines for lines in self._events if not lines.waits)
        timed = heapq.merge(first, self._later, *fixed, key=_due)
        if self._job_duration_ns is None:
            return timed
        return ((due_ns, self._with_duration(operation)) for due_ns, operation in timed)

    def sequences(self) -> list[OperationSequence]:
        """Return the lines that wait for conditions; they are not among the other operations."""
        return [OperationSequence(self._steps(lines)) for lines in self._events if lines.waits]

    def _steps(self, lines: EventLines) -> Iterator[Step]:
        for step in lines.steps():
            operation = step.operation
            if operation is None or self._job_duration_ns is None:
                yield step
            else:
                yield msgspec.structs.replace(step, operation=self._with_duration(operation))

    def _with_duration(self, operation: Operation) -> Operation:
        if isinstance(operation, Apply | Create | Put) and self._job_duration_ns is not None:
            changed = with_job_duration(operation.obj, self._job_duration_ns)
            if changed is not operation.obj:
                return msgspec.structs.replace(operation, obj=changed)
        return operation

    @cached_property
    def review(self) -> InputReview:
        """Kinds without effect, Jobs without a duration, and the like."""
        objects, added = self._reviewed
        staged = {(stage.group, stage.kind) for stage in self.stages}
        if self._has_usage:
            staged.add(_AUTOSCALER)
        is_at_once = starts_at_once(self.stages)
        jobs: tuple[str, ...] = ()
        if is_at_once and self._job_duration_ns is None:
            jobs = jobs_without_duration([*objects, *added])
        return InputReview(
            ignored_kinds=ignored_kinds([*objects, *added], staged),
            estimate=load_estimate(objects),
            jobs_without_duration=jobs,
            starts_at_once=is_at_once,
            missing_owners=_missing_owners(objects),
        )


def _problems_of(sourced: Iterable[Sourced]) -> Iterator[FieldError]:
    """Yield what the API would reject in objects that were not validated when they were read."""
    for entry in sourced:
        # Pods are validated when they are created; objects with a uid come from a server.
        if not isinstance(entry.object, Pod) and not entry.object.uid:
            for path, message, value in object_problems(entry.object):
                yield FieldError(source=entry.source, path=path, message=message, value=value)


def _due(timed: Timed) -> int:
    return timed[0]


def _stages(
    sourced: Sequence[Sourced], start_ns: int, errors: list[FieldError], warnings: list[str]
) -> tuple[Stage, ...]:
    own: list[Stage] = []
    for entry in sourced:
        try:
            stage = read_stage(encode(entry.object), source=entry.source)
            own.append(stage)
            warnings += stage.warnings
        except InputError as error:
            errors += error.errors
    return with_own_stages(default_stages(trace_start_ns=start_ns), own)


def _arrivals(
    pods: Iterable[Pod],
    sourced: Iterable[Sourced],
    start_ns: int,
    ending: Ending,
    errors: list[FieldError],
) -> list[Arrival]:
    try:
        return openb_arrivals(pods, trace_start_ns=start_ns, ending=ending)
    except InputError as error:
        # These errors name the pod; replace it by the place in the file.
        places = {f"pod {entry.object.key}": entry.source for entry in sourced}
        errors += [
            msgspec.structs.replace(one, source=places.get(one.source, one.source))
            for one in error.errors
        ]
        return []


def _timed(arrivals: Iterable[Arrival]) -> list[Timed]:
    """Return creations and deletions by time; at equal times deletions come first."""
    timed: list[tuple[int, int, Operation]] = []
    for one in arrivals:
        timed.append((one.due_ns, 1, Apply(one.pod)))
        if one.gone_ns is not None:
            deletion = Delete(("", "Pod"), one.pod.key, grace_seconds=0, only_pending=True)
            # A pod that was deleted in the second of its creation is also tried once.
            timed.append((max(one.gone_ns, one.due_ns + _SOON_NS), 0, deletion))
    timed.sort(key=lambda entry: entry[:2])
    return [(due_ns, operation) for due_ns, _, operation in timed]


def _initial_operations(objects: Iterable[Object], shift_ns: int) -> list[Operation]:
    """Return the operations that create the initial objects; times of a dump are shifted."""
    owned = with_present_owners(sorted(objects, key=_initial_order))
    return [Put(with_times_moved(obj, shift_ns)) if obj.uid else Apply(obj) for obj in owned]


def _initial_order(obj: Object) -> tuple[int, str]:
    """Order pods by creation time where they have one, as `podwright schedule` does."""
    made = (obj.metadata.creation_timestamp or "") if isinstance(obj, Pod) else ""
    return built_in().creation_rank(*kind_of(obj)), made


def _missing_owners(objects: Iterable[Object]) -> dict[str, str]:
    """Return the missing controller of each pod of a dump, such as `ReplicaSet default/web-1`."""
    several = list(objects)
    uids = {obj.uid for obj in several if obj.uid}
    return {
        pod.key: f"{owner.kind} {pod.namespace}/{owner.name}"
        for pod in several
        if isinstance(pod, Pod)
        and (owner := pod.metadata.controller) is not None
        and owner.uid not in uids
    }


def with_present_owners(objects: Sequence[Object]) -> Iterator[Object]:
    """Yield `objects` without the references that garbage collection would find to be of no object.

    It looks up owners of built-in kinds, and of kinds that some object has. A reference to an
    owner of another kind stays: such a pod has a controller, which is not in the cluster.
    """
    uids = {obj.uid for obj in objects if obj.uid}
    kinds = {kind_of(obj) for obj in objects}
    for obj in objects:
        owners = obj.metadata.owner_references
        kept = tuple(owner for owner in owners if owner.uid in uids or not _is_found(owner, kinds))
        one_less = len(kept) < len(owners)
        yield with_fields(obj, "metadata", owner_references=kept) if one_less else obj


def _is_found(owner: OwnerReference, kinds: set[GroupKind]) -> bool:
    kind = (api_group(owner.api_version), owner.kind)
    return kind in kinds or built_in().of(*kind) is not None


# -------------------------------------------------------------------------- references


def _missing_nodes(sourced: Sequence[Sourced], others: set[str]) -> Iterator[FieldError]:
    """Yield an error for each pod on a node that does not exist; `others` are further nodes.

    Without any node it is one error: `kubectl get all` leaves nodes out.
    """
    nodes = others | {entry.object.name for entry in sourced if entry.object.kind == Node.kind}
    placed = [one for one in sourced if isinstance(one.object, Pod) and one.object.spec.node_name]
    if not nodes and len(placed) > 1:
        message = (
            f"there are no nodes, and {len(placed)} pods have one; add the nodes, as "
            "`kubectl get nodes -o yaml` prints them"
        )
        yield FieldError(source=placed[0].source, path="spec.nodeName", message=message)
        return
    for entry in placed:
        pod = entry.object
        assert isinstance(pod, Pod)
        node = pod.spec.node_name
        if node not in nodes:
            message = f'there is no Node "{node}"{_suggestion(node, nodes)}'
            yield FieldError(source=entry.source, path="spec.nodeName", message=message, value=node)


def _suggestion(name: str, known: Iterable[str]) -> str:
    near = nearest(name, known)
    return f'; did you mean "{near}"?' if near else ""


def _wrong_usages(sourced: Iterable[Sourced]) -> Iterator[FieldError]:
    for entry in sourced:
        for error in wrong_usages(entry.object):
            yield msgspec.structs.replace(error, source=entry.source)


SET_UNTIL: Final = "set until"
"""The name of the argument; a command and a scenario name their own in place of it."""


def endless_inputs(sourced: Sequence[Sourced], *, has_trace: bool = False) -> Iterator[FieldError]:
    """Yield an error for each object with which a run without an end would never stop.

    Parameters
    ----------
    sourced : sequence of Sourced
    has_trace : bool
        Whether the run has a trace of usage, which autoscalers compare.
    """
    scaled = autoscalers_with_usage(entry.object for entry in sourced)
    for entry in sourced:
        is_scaled = has_trace or entry.object.key in scaled
        if kind_of(entry.object) == _AUTOSCALER and is_scaled:
            message = f"compares the declared usage without end; {SET_UNTIL}"
            yield FieldError(source=entry.source, path="spec.metrics", message=message)
        if kind_of(entry.object) == _CRON_JOB:
            spec = encode(entry.object).get("spec") or {}
            if not spec.get("suspend"):
                message = f"starts jobs without end; {SET_UNTIL}"
                yield FieldError(source=entry.source, path="spec.schedule", message=message)


# Names that several inputs of a run have.
#
# An event line may apply an object that exists: it is a change of it. A pod of a workload is always
# a new pod, so another input with its name would silently replace it, or be replaced.

_POD: Final = ("", "Pod")


class Collisions:
    """Reports the names of a workload that another input has.

    Parameters
    ----------
    initial : iterable of Sourced
        The initial objects.
    errors : list of FieldError
        Where errors are added.
    """

    def __init__(self, initial: Iterable[Sourced], errors: list[FieldError]) -> None:
        self._errors = errors
        self._places: dict[tuple[GroupKind, NamespacedName], str] = {}
        self._of_workloads: dict[tuple[GroupKind, NamespacedName], str] = {}
        self._noted: dict[tuple[GroupKind, NamespacedName], str] = {}
        self._note(initial, self._places)

    def add(self, applied: Iterable[Sourced], *, is_workload: bool) -> None:
        """Add the objects of the lines of one input, and an error for each taken name."""
        several = list(applied)
        for entry in several:
            self._check(entry.source, entry.object, is_workload=is_workload)
        places = self._of_workloads if is_workload else self._places
        self._note(several, places)
        for name, place in self._noted.items():
            places.setdefault(name, place)
        self._noted = {}

    def pods(self, *, is_workload: bool, is_last: bool) -> Callable[[str, Pod], None]:
        """Return what receives the pods of an input one by one, before `add`.

        Parameters
        ----------
        is_last : bool
            Whether no other input follows; the names need not be kept then.
        """

        def note(place: str, pod: Pod) -> None:
            self._check(place, pod, is_workload=is_workload)
            if not is_last:
                self._noted.setdefault((_POD, pod.key), place)

        return note

    def _check(self, place: str, obj: KubernetesObject, *, is_workload: bool) -> None:
        name = (kind_of(obj), obj.key)
        first = self._of_workloads.get(name) or (self._places.get(name) if is_workload else None)
        if first is not None:
            message = (
                f"{obj.kind} {obj.key} is also in {first}; give one of them other names, such"
                " as by from_frame(prefix=...)"
            )
            self._errors.append(
                FieldError(source=place, path="apply.metadata.name", message=message)
            )

    def _note(
        self, entries: Iterable[Sourced], places: dict[tuple[GroupKind, NamespacedName], str]
    ) -> None:
        for entry in entries:
            if entry.object.name:
                places.setdefault((kind_of(entry.object), entry.object.key), entry.source)
