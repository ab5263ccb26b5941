"""Pods with arrival times and durations, from the columns of a trace.

The times of a column are either relative (durations) or absolute (times, datetimes). With absolute
times, a simulation starts at the first one by default. `frame_columns` reads the values.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Self, overload

import msgspec

from podwright._html import ROWS_SHOWN, section, table
from podwright.apimachinery.objects import (
    invalid,
)
from podwright.cluster.kubelets import RUN_DELAY
from podwright.scheduler.config import format_duration
from podwright.simulation.world.inputs.frame_columns import (
    ARRIVAL_UNITS,
    TIME_UNITS,
    Column,
    Due,
    Frame,
    Names,
    Shared,
    changes_text,
    requested_resources,
    text_of,
)

POD_GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
_POD_GROUP: Final = "PodGroup"
_DEFAULT_PREFIX: Final = "pod"
_DEFAULT_NAMESPACE: Final = "default"


_LINES_PACKED: Final = 256


class PackedLines(Sequence[Mapping[str, Any]]):
    """Lines of events as JSON, compressed some hundred at a time; a line of a pod has 30 bytes.

    Parameters
    ----------
    lines : sequence of bytes
    """

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._count = len(lines)
        self._blocks = [
            zlib.compress(b"\n".join(lines[first : first + _LINES_PACKED]), 1)
            for first in range(0, len(lines), _LINES_PACKED)
        ]

    def encoded(self) -> Iterator[bytes]:
        """Yield the lines as JSON."""
        for block in self._blocks:
            yield from zlib.decompress(block).split(b"\n")

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return map(msgspec.json.decode, self.encoded())

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(self._count))]
        place = range(self._count)[index]
        block = zlib.decompress(self._blocks[place // _LINES_PACKED]).split(b"\n")
        return msgspec.json.decode(block[place % _LINES_PACKED])


class Workload(Sequence[Mapping[str, Any]]):
    """Pods that arrive over time, as event lines for `simulate(..., events=workload)`.

    Parameters
    ----------
    lines : sequence of dict
        Lines of events, in the order of their times.
    start_ns : int, optional
        The start of a simulation of these lines, if nothing else determines it.

    Attributes
    ----------
    start_ns : int or None
    times_ns : sequence of int
        The times of the lines of a table: since its start, or since 1970 with `start_ns`.
    warnings : tuple of str
        What was changed in the trace, a sentence each.
    """

    def __init__(self, lines: Sequence[Mapping[str, Any]], *, start_ns: int | None = None) -> None:
        self._lines = lines if isinstance(lines, PackedLines) else tuple(lines)
        self.start_ns = start_ns
        self.times_ns: Sequence[int] = ()
        self.warnings: tuple[str, ...] = ()
        self._is_from_frame = self._has_default_names = False

    @classmethod
    def from_frame(  # noqa: PLR0913 - one keyword for each column of a trace
        cls,
        frame: Any,
        *,
        arrival: str,
        duration: str | None = None,
        name: str | None = None,
        cpu: str | None = None,
        memory: str | None = None,
        resources: Mapping[str, str] | None = None,
        unit: Mapping[str, str] | None = None,
        priority: str | None = None,
        labels: Mapping[str, str] | None = None,
        namespace: str | None = None,
        node_selector: Mapping[str, str] | None = None,
        group: str | None = None,
        replicas: str | None = None,
        prefix: str | None = None,
    ) -> Self:
        """Make the pods of each row of a table.

        Names that Kubernetes does not accept are changed: `App_1` becomes `app-1`. The annotation
        `podwright.dev/original-name` of the pod has the name in the table.

        Parameters
        ----------
        frame : table
            Columns by name: a DataFrame of pandas or Polars, an Arrow table, or a mapping of
            sequences.
        arrival : str
            The column of arrival times: durations since the start, or datetimes or texts such as
            `2026-01-01T12:00:00Z`. Datetimes without a time zone are UTC.
        duration : str, optional
            The column of run times: durations such as `1h30m`, or timedeltas. Without it, and in
            rows without a value, pods do not end.
        name : str, optional
            The column of pod names; without it, `pod-0`, `pod-1` and so on.
        cpu, memory : str, optional
            The columns of requests: numbers of CPUs, quantities such as `500m` or `4Gi`. A row
            without a value has no such request.
        resources : mapping of str to str, optional
            The columns of the requests for other resources, by resource name.
        unit : mapping of str to str, optional
            The units of columns of numbers, by argument or resource name, such as
            ``{"arrival": "us", "memory": "GiB"}``. Times are in `ns`, `us`, `ms`, `s`, `min`, `h`
            or `d`, arrivals also in `s since 1970` and the like; memory in `B`, `kB`, `MB`, `GB`,
            `KiB`, `MiB`, `GiB` and so on, also as `Ki`, `Mi`, `Gi`; CPUs in `cores` or `m`. Only
            numbers of CPUs and of devices need none.
        priority : str, optional
            The column of priorities: whole numbers, or names of priority classes.
        labels, node_selector : mapping of str to str, optional
            The columns of labels, and of labels that the node must have, by label key. A row
            without a value has no such label.
        namespace : str, optional
            The column of namespaces.
        group : str, optional
            The column of the groups of pods that are scheduled all at once or not at all: a
            PodGroup is made for each, for the plugin Coscheduling. A row without a value is in no
            group.
        replicas : str, optional
            The column of the number of pods of a row, which then end with a number: `pod-0-1`.
        prefix : str, optional
            What names start with. Two workloads of one simulation need distinct names: without
            `name` and `prefix`, those of the second one start with `pod2`.

        Raises
        ------
        ArgumentError
            If an argument has the wrong type.
        InputError
            With all missing columns, or all values that are not valid.
        """
        requests = requested_resources(cpu, memory, resources)
        table = Frame(frame, unit, ("arrival", "duration", *requests))
        columns = _Columns(
            arrival=table.column("arrival", arrival, ARRIVAL_UNITS),
            duration=table.column("duration", duration, TIME_UNITS),
            name=table.column("name", name),
            amounts=table.amount_columns(requests),
            priority=table.column("priority", priority),
            labels=table.labelled("labels", labels),
            namespace=table.column("namespace", namespace),
            node_selector=table.labelled("node_selector", node_selector),
            group=table.column("group", group),
            replicas=table.column("replicas", replicas),
        )
        table.check_prefix(prefix)
        table.raise_errors()
        rows = _Rows(table, columns, prefix)
        ordered = rows.ordered()
        table.raise_errors()
        is_absolute = bool(ordered) and ordered[0][0].is_absolute
        lines = PackedLines([line for _, line in ordered])
        workload = cls(lines, start_ns=ordered[0][0].at_ns if is_absolute else None)
        workload.times_ns = array("q", (due.at_ns for due, _ in ordered))
        workload.warnings = rows.warnings()
        workload._is_from_frame = True
        workload._has_default_names = name is None and prefix is None
        return workload

    @property
    def is_from_frame(self) -> bool:
        """Whether each line creates a new object, as those of `from_frame` do."""
        return self._is_from_frame

    @property
    def has_default_names(self) -> bool:
        """Whether neither a column nor a prefix determines the names of the pods."""
        return self._has_default_names

    def with_prefix(self, prefix: str) -> Workload:
        """Return a workload whose default names start with `prefix` instead."""
        assert self._has_default_names, "names of a column"
        lines = [
            msgspec.json.encode({**line, "apply": _with_prefix(line["apply"], prefix)})
            for line in self._lines
        ]
        renamed = Workload(PackedLines(lines), start_ns=self.start_ns)
        renamed.times_ns = self.times_ns
        renamed.warnings, renamed._is_from_frame = self.warnings, True
        return renamed

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self._lines[index]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._lines)

    def packed(self) -> PackedLines | None:
        """Return the lines as JSON, if they are those of a table."""
        return self._lines if isinstance(self._lines, PackedLines) else None

    def __len__(self) -> int:
        return len(self._lines)

    def __repr__(self) -> str:
        return f"<Workload: {len(self._pods())} pods>"

    def _repr_html_(self) -> str:
        pods = self._pods()
        rows = [
            (line["at"], line["apply"]["metadata"]["name"], _requested(line["apply"]))
            for line in pods[:ROWS_SHOWN]
        ]
        shown = table(("Arrival", "Pod", "Requests"), rows, count=len(pods))
        return section(f"Workload: {len(pods):,} pods", shown)

    def _pods(self) -> list[Mapping[str, Any]]:
        return [line for line in self._lines if line["apply"]["kind"] != _POD_GROUP]


def _requested(pod: Mapping[str, Any]) -> str:
    (container,) = pod["spec"]["containers"]
    requests = container.get("resources", {}).get("requests", {})
    return ", ".join(f"{resource} {quantity}" for resource, quantity in requests.items())


class _Columns(NamedTuple):
    """The columns of the pods of a trace."""

    arrival: Column | None
    duration: Column | None
    name: Column | None
    amounts: dict[str, Column]
    priority: Column | None
    labels: dict[str, Column]
    namespace: Column | None
    node_selector: dict[str, Column]
    group: Column | None
    replicas: Column | None


class _Group:
    """A group of pods: when its first pod arrives, and the number of its pods."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.due: Due | None = None
        self.members = 0


class _Rows:
    """The pods and groups of the rows of a frame."""

    def __init__(self, frame: Frame, columns: _Columns, prefix: str | None) -> None:
        self._frame = frame
        self._columns = columns
        self._prefix = prefix
        self._names = Names(frame, columns.name, prefix, _DEFAULT_PREFIX)
        self._namespaces = Shared(frame)
        self._group_names: dict[str, Shared] = {}
        self._groups: dict[tuple[str, str], _Group] = {}

    def ordered(self) -> list[tuple[Due, bytes]]:
        """Return the lines of pods and groups by time; a group before its pods."""
        arrival = self._columns.arrival
        assert arrival is not None, "no column of arrivals"
        frame = self._frame
        dues = [frame.due(arrival, *arrival.at(row)) for row in range(len(arrival.values))]
        frame.check_form(dues, arrival)
        pods = [
            (due, _line(due, pod)) for row, due in enumerate(dues) for pod in self._pods(row, due)
        ]
        groups = [
            (found.due, _line(found.due, _pod_group(namespace, found)))
            for (namespace, _), found in self._groups.items()
            if found.due is not None and found.members
        ]
        # The sort is stable: pods of one time keep the order of the table.
        return sorted([*groups, *pods], key=lambda pair: pair[0].at_ns)

    def warnings(self) -> tuple[str, ...]:
        """Return sentences about changed names."""
        groups = {
            old: new for each in self._group_names.values() for old, new in each.changed.items()
        }
        return (
            *changes_text("pod name", self._names.changed),
            *changes_text("namespace", self._namespaces.changed),
            *changes_text("group", groups),
        )

    def _pods(self, row: int, due: Due) -> Iterator[dict[str, Any]]:
        columns, frame = self._columns, self._frame
        count = 1
        if columns.replicas is not None:
            count = frame.integer(*columns.replicas.at(row), least=0, default=1)
        namespace = _DEFAULT_NAMESPACE
        if columns.namespace is not None and columns.namespace.has(row):
            path, value = columns.namespace.at(row)
            namespace = self._namespaces.name(path, text_of(value))
        annotations: dict[str, str] = {}
        if columns.duration is not None:
            run_ns = frame.run_ns(columns.duration, *columns.duration.at(row))
            if run_ns is not None:
                annotations[RUN_DELAY] = format_duration(run_ns)
        labels, spec = frame.labels(columns.labels, row), self._spec(row)
        if columns.group is not None and columns.group.has(row):
            group = self._group(namespace, row)
            group.members += count
            group.due = min(group.due or due, due)
            labels[POD_GROUP_LABEL] = group.name
        for number in range(count):
            ending = "" if columns.replicas is None else f"-{number}"
            named = self._names.of_row(row, ending, namespace)
            metadata = {
                "name": named.name,
                "namespace": namespace,
                "labels": labels,
                "annotations": annotations | named.annotations,
            }
            written = {key: value for key, value in metadata.items() if value}
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": written, "spec": spec}

    def _spec(self, row: int) -> dict[str, Any]:
        columns, frame = self._columns, self._frame
        container: dict[str, Any] = {"name": "main", "image": "main"}
        for resource, quantity in frame.amounts(columns.amounts, row).items():
            _request(container, resource, quantity)
        spec: dict[str, Any] = {"restartPolicy": "Never", "containers": [container]}
        if selector := frame.labels(columns.node_selector, row):
            spec["nodeSelector"] = selector
        if columns.priority is not None and columns.priority.has(row):
            path, value = columns.priority.at(row)
            text = text_of(value)
            if text.lstrip("+-").isdecimal():
                spec["priority"] = self._frame.integer(path, text, least=-(2**31), default=0)
            elif isinstance(value, str):
                spec["priorityClassName"] = text
            else:
                detail = "must be a whole number or the name of a priority class"
                self._frame.wrong(path, invalid(text, detail))
        return spec

    def _group(self, namespace: str, row: int) -> _Group:
        assert self._columns.group is not None, "no column of groups"
        path, value = self._columns.group.at(row)
        shared = self._group_names.setdefault(namespace, Shared(self._frame))
        name = shared.name(path, self._names.prefixed(value) if self._prefix else text_of(value))
        return self._groups.setdefault((namespace, name), _Group(name))


def _line(due: Due, document: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"at": due.text, "apply": document})


def _pod_group(namespace: str, group: _Group) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": _POD_GROUP,
        "metadata": {"name": group.name, "namespace": namespace},
        "spec": {"minMember": group.members},
    }


def _with_prefix(document: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return a pod with a default name, or a group, with another prefix."""
    metadata = dict(document["metadata"])
    name = metadata["name"]
    if document["kind"] == _POD_GROUP:
        metadata["name"] = f"{prefix}-{name}"
    else:
        metadata["name"] = f"{prefix}{name.removeprefix(_DEFAULT_PREFIX)}"
        group = (metadata.get("labels") or {}).get(POD_GROUP_LABEL)
        if group is not None:
            metadata["labels"] = {**metadata["labels"], POD_GROUP_LABEL: f"{prefix}-{group}"}
    return {**document, "metadata": metadata}


def _request(container: dict[str, Any], resource: str, quantity: str) -> None:
    given = container.setdefault("resources", {"requests": {}})
    given["requests"][resource] = quantity
    # Upstream's validation requires limits equal to the requests for extended resources.
    if resource not in {"cpu", "memory"}:
        given.setdefault("limits", {})[resource] = quantity
