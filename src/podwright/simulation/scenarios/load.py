"""The events of load generators: objects that arrive, and are deleted, at random times."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import count
from typing import Any

import msgspec

from podwright.apimachinery.objects import FieldError, InputError
from podwright.cluster.kubelets import RUN_DELAY
from podwright.scheduler.config import format_duration
from podwright.simulation.scenarios.document import (
    MOST_ARRIVALS,
    Arrivals,
    Load,
    Trace,
    pod_of,
)
from podwright.simulation.world import (
    Distribution,
    Workload,
    amount_parser,
    parse_duration_ns,
    sampler,
    stream_of,
    uniform,
)

Line = dict[str, Any]


def load_lines(entry: Load, seed: int, end_ns: int | None) -> list[Line]:
    """Return the events of a generator, in order of time.

    Parameters
    ----------
    end_ns : int, optional
        The end of the scenario, since its start.

    Raises
    ------
    InputError
        If there are too many.
    """
    assert entry.object is not None, entry.name
    assert entry.arrivals is not None, entry.name
    arrivals = entry.arrivals
    draws = _Draws(entry, seed)
    timed: list[tuple[int, int, Line]] = []
    for number, due_ns in enumerate(_times(arrivals, draws, end_ns)):
        if number >= MOST_ARRIVALS:
            message = f"more than {MOST_ARRIVALS:,} arrivals; set a longer interval or an end"
            raise InputError([FieldError(source="", path=f"load {entry.name}", message=message)])
        made = draws.manifest(number)
        timed.append((due_ns, 1, {"at": format_duration(due_ns), "apply": made}))
        if entry.lifetime is not None:
            gone_ns = due_ns + max(draws.sample("lifetime", entry.lifetime, number), 1)
            timed.append((gone_ns, 0, _deletion(made, gone_ns)))
    timed.sort(key=lambda one: one[:2])
    return [line for _, _, line in timed]


def _deletion(made: Line, gone_ns: int) -> Line:
    metadata = made["metadata"]
    line: Line = {"at": format_duration(gone_ns), "delete": f"{made['kind']}/{metadata['name']}"}
    if metadata.get("namespace"):
        line["namespace"] = metadata["namespace"]
    return line


def _times(arrivals: Arrivals, draws: _Draws, end_ns: int | None) -> Iterator[int]:
    every_ns = parse_duration_ns(arrivals.every)
    now_ns = parse_duration_ns(arrivals.start) if arrivals.start else 0
    until_ns = parse_duration_ns(arrivals.until) if arrivals.until else end_ns
    left = arrivals.count
    for number in count():
        if number and (every_ns or arrivals.process == "poisson"):
            interval = Distribution(distribution="exponential", mean=arrivals.every)
            is_random = arrivals.process == "poisson"
            now_ns += draws.sample("arrivals", interval, number) if is_random else every_ns
        if until_ns is not None and now_ns > until_ns:
            return
        for _ in range(arrivals.burst):
            if left is not None:
                if not left:
                    return
                left -= 1
            yield now_ns


class _Draws:
    """The random values of a generator."""

    def __init__(self, entry: Load, seed: int) -> None:
        self._entry = entry
        self._seed = seed
        self._samplers: dict[str, Any] = {}
        self._object = msgspec.json.encode(entry.object)

    def sample(self, what: str, entry: Distribution, number: int) -> int:
        """Return the value of a distribution for one object."""
        found = self._samplers.get(what)
        if found is None:
            _, is_request, resource = what.partition("requests/")
            parse = amount_parser(resource) if is_request else parse_duration_ns
            stream = stream_of(f"{self._entry.name}/{what}")
            found = self._samplers[what] = sampler(entry, parse), stream
        inverse, stream = found
        value: int = inverse(uniform(self._seed, stream, number))
        return value

    def manifest(self, number: int) -> Line:
        """Return the object with a number."""
        entry = self._entry
        made: Line = msgspec.json.decode(self._object)
        made.setdefault("metadata", {})["name"] = f"{entry.name}-{number}"
        pod = pod_of(made)
        if pod is None:
            return made
        if entry.duration is not None:
            ran_ns = self.sample("duration", entry.duration, number)
            annotations = pod.setdefault("metadata", {}).setdefault("annotations", {})
            annotations[RUN_DELAY] = format_duration(ran_ns)
            if pod is made:
                pod.setdefault("spec", {}).setdefault("restartPolicy", "Never")
        for resource, amounts in entry.requests.items():
            value = self.sample(f"requests/{resource}", amounts, number)
            containers = pod.setdefault("spec", {}).setdefault("containers", [{"name": "main"}])
            container = containers[0]
            container.setdefault("image", "registry.k8s.io/pause:3.10")
            requests = container.setdefault("resources", {}).setdefault("requests", {})
            requests[resource] = f"{value}m" if resource == "cpu" else str(value)
        return made


def trace_workload(entry: Load, trace: Trace, data: bytes) -> Workload:
    """Return the pods of a trace.

    Raises
    ------
    InputError
        With all missing columns or invalid values.
    """
    rows = list(csv.reader(data.decode("utf-8-sig").splitlines()))
    heads, *lines = rows or [[]]
    frame = {
        head: [_number(line[place]) if place < len(line) else None for line in lines]
        for place, head in enumerate(heads)
    }
    given = {
        name: value
        for name in trace.__struct_fields__
        if name != "file" and (value := getattr(trace, name))
    }
    if not trace.name:
        given["prefix"] = entry.name
    return Workload.from_frame(frame, **given)


def _number(text: str) -> float | int | str | None:
    """Return the value of a cell: a number, a text, or nothing."""
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text or None
