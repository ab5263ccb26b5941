"""The events of load generators: objects that arrive, and are deleted, at random times."""

from __future__ import annotations

import csv
from collections.abc import Iterator
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
    section_of,
)
from podwright.simulation.world import (
    Distribution,
    Draws,
    Workload,
    amount_parser,
    parse_duration_ns,
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
    arrivals, manifest = entry.arrivals, msgspec.json.encode(entry.object)
    duration, lifetime = (
        Draws(given, f"{entry.name}/{what}", seed)
        for what, given in (("duration", entry.duration), ("lifetime", entry.lifetime))
    )
    requests = {
        resource: Draws(amounts, f"{entry.name}/requests/{resource}", seed, amount_parser(resource))
        for resource, amounts in entry.requests.items()
    }
    timed: list[tuple[int, Line]] = []
    for number, due_ns in enumerate(_times(entry.name, arrivals, seed, end_ns)):
        if number >= MOST_ARRIVALS:
            message = f"more than {MOST_ARRIVALS:,} arrivals; set a longer interval or an end"
            raise InputError([FieldError(source="", path=f"load {entry.name}", message=message)])
        made: Line = msgspec.json.decode(manifest)
        section_of(made, "metadata")["name"] = f"{entry.name}-{number}"
        pod = pod_of(made)
        if pod is not None:
            if entry.duration is not None:
                _set_duration(pod, duration.at(number))
            for resource, amounts in requests.items():
                _set_request(pod, resource, amounts.at(number))
        timed.append((due_ns, {"at": format_duration(due_ns), "apply": made}))
        if entry.lifetime is not None:
            gone_ns = due_ns + max(lifetime.at(number), 1)
            timed.append((gone_ns, _deletion(made, gone_ns)))
    # Of one time, a deletion is that of an earlier object, and stays first.
    return [line for _, line in sorted(timed, key=lambda one: one[0])]


def _set_duration(pod: Line, ran_ns: int) -> None:
    section_of(section_of(pod, "metadata"), "annotations")[RUN_DELAY] = format_duration(ran_ns)
    if pod.get("kind") == "Pod":
        section_of(pod, "spec").setdefault("restartPolicy", "Never")


def _set_request(pod: Line, resource: str, value: int) -> None:
    spec = section_of(pod, "spec")
    spec["containers"] = containers = spec.get("containers") or [{"name": "main"}]
    containers[0] = container = containers[0] or {}
    container.setdefault("image", "registry.k8s.io/pause:3.10")
    requests = section_of(section_of(container, "resources"), "requests")
    requests[resource] = f"{value}m" if resource == "cpu" else str(value)


def _deletion(made: Line, gone_ns: int) -> Line:
    metadata = made["metadata"]
    line: Line = {"at": format_duration(gone_ns), "delete": f"{made['kind']}/{metadata['name']}"}
    if metadata.get("namespace"):
        line["namespace"] = metadata["namespace"]
    return line


def _times(name: str, arrivals: Arrivals, seed: int, end_ns: int | None) -> Iterator[int]:
    every_ns = parse_duration_ns(arrivals.every)
    now_ns = parse_duration_ns(arrivals.start) if arrivals.start else 0
    until_ns = parse_duration_ns(arrivals.until) if arrivals.until else end_ns
    interval = Distribution(distribution="exponential", mean=arrivals.every)
    draws, is_random = Draws(interval, f"{name}/arrivals", seed), arrivals.process == "poisson"
    for number in range(MOST_ARRIVALS + 1) if arrivals.count is None else range(arrivals.count):
        burst, place = divmod(number, arrivals.burst)
        if burst and not place:
            now_ns += draws.at(burst) if is_random else every_ns
        if until_ns is not None and now_ns > until_ns:
            return
        yield now_ns


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
