"""Pods with arrival times and durations, from the columns of a trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Self, overload

from podwright.config import format_duration, parse_duration
from podwright.objects import FieldError, InputError, invalid, require_type
from podwright.stages import RUN_DELAY

_SECOND_NS = 1_000_000_000


class Workload(Sequence[Mapping[str, Any]]):
    """Pods that arrive over time, as event lines for `simulate(..., events=workload)`.

    Parameters
    ----------
    lines : sequence of dict
        Lines of events, in the order of their times.
    """

    def __init__(self, lines: Sequence[Mapping[str, Any]]) -> None:
        self._lines = tuple(lines)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        arrival: str,
        duration: str | None = None,
        name: str | None = None,
        cpu: str | None = None,
        memory: str | None = None,
        resources: Mapping[str, str] | None = None,
    ) -> Self:
        """Make one pod for each row of a table.

        Parameters
        ----------
        frame : mapping of str to sequence
            Columns by name, such as a `pandas.DataFrame` or a dict of lists.
        arrival : str
            The column of arrival times: seconds since the start, or durations such as `1h30m`.
        duration : str, optional
            The column of run times, in the same forms; without it, pods do not end.
        name : str, optional
            The column of pod names; without it, `pod-0`, `pod-1` and so on.
        cpu, memory : str, optional
            The columns of requests, as quantities: CPUs and bytes, or texts such as `500m`.
        resources : mapping of str to str, optional
            The columns of the requests for other resources, by resource name.

        Raises
        ------
        InputError
            With all missing columns, or all values that are not valid.
        """
        errors: list[FieldError] = []
        requests = dict(resources or {})
        requests |= {"cpu": cpu} if cpu else {}
        requests |= {"memory": memory} if memory else {}

        def column(which: str | None) -> list[Any]:
            if which is None:
                return []
            require_type(which, str, "a column", "the name of a column")
            if which not in frame:
                errors.append(FieldError(source="", path=which, message="no such column"))
                return []
            return list(frame[which])

        arrivals, durations, names = column(arrival), column(duration), column(name)
        amounts = {resource: column(which) for resource, which in requests.items()}
        for which, values in (
            (duration, durations),
            (name, names),
            *((requests[resource], values) for resource, values in amounts.items()),
        ):
            if which is not None and which in frame and len(values) != len(arrivals):
                message = f"{len(values)} rows, but {arrival} has {len(arrivals)}"
                errors.append(FieldError(source="", path=which, message=message))
        if errors:
            raise InputError(errors)
        lines: list[tuple[int, dict[str, Any]]] = []
        for row, due in enumerate(arrivals):
            due_ns = _time_ns(due, f"{arrival}[{row}]", errors)
            metadata: dict[str, Any] = {"name": str(names[row]) if names else f"pod-{row}"}
            if durations:
                run_ns = _time_ns(durations[row], f"{duration}[{row}]", errors)
                metadata["annotations"] = {RUN_DELAY: format_duration(run_ns)}
            given = {resource: str(values[row]) for resource, values in amounts.items()}
            container = {"name": "main", "image": "main", "resources": {"requests": given}}
            # Upstream's validation requires limits equal to the requests for extended resources.
            if set(given) - {"cpu", "memory"}:
                container["resources"] = {"requests": given, "limits": given}
            pod = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": metadata,
                "spec": {"restartPolicy": "Never", "containers": [container]},
            }
            lines.append((due_ns, {"at": format_duration(due_ns), "apply": pod}))
        if errors:
            raise InputError(errors)
        return cls([line for _, line in sorted(lines, key=lambda pair: pair[0])])

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self._lines[index]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __repr__(self) -> str:
        return f"<Workload: {len(self)} pods>"


def _time_ns(value: Any, path: str, errors: list[FieldError]) -> int:
    """Return a number of seconds, or a text, in nanoseconds; an invalid one is an error."""
    try:
        seconds = 0.0 if isinstance(value, str) else float(value)
        parsed_ns = parse_duration(value) if isinstance(value, str) else 0
    except (TypeError, ValueError):
        seconds, parsed_ns = -1.0, 0
    if not isfinite(seconds) or seconds < 0 or parsed_ns < 0:
        message = invalid(str(value), "seconds or a duration of 0 or more are expected")
        errors.append(FieldError(source="", path=path, message=message))
        return 0
    return parsed_ns + round(seconds * _SECOND_NS)
