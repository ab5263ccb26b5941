"""A usage trace: what pods and workloads used over time, as event lines.

The file is CSV with a line of heads: `time`, `pod` or `workload` (or both, of which each row has
one), `cpu` or `memory` (or both), and `namespace` if it is not `default`. A time is one of event
lines, or a number of seconds since the start; rows may be in any order. A row of a pod is what the
whole pod uses from then on, and becomes a ResourceUsage of KWOK. A row of a workload, such as
`deployment/web`, is what all its pods use together, and becomes its annotations. An empty cell
changes nothing.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from podwright.apimachinery.documents import invalid, not_supported, problem, required
from podwright.apimachinery.objects import Document, FieldError, InputError, read_time
from podwright.cluster.api import MEASURED, RESOURCE_USAGE, SHARED_USAGE_PREFIX, usage_problem

_OBJECTS: Final = ("pod", "workload")
_HEADS: Final = ("time", "namespace", *_OBJECTS, *MEASURED)


def usage_lines(
    lines: Iterable[tuple[int, bytes, bool]], *, source: str
) -> Iterator[tuple[int, bytes, bool]]:
    """Return the event lines of a usage trace, in order of their times.

    Raises
    ------
    InputError
        With all missing columns, or the errors of all rows.
    """
    errors: list[FieldError] = []
    rows = [
        (number, [cell.strip() for cell in next(csv.reader([text]))])
        for number, line, _ in lines
        if (text := line.decode("utf-8", "replace").strip())
    ]
    heads = rows[0][1] if rows else []
    errors += [not_supported(head, head, _HEADS) for head in heads if head not in _HEADS]
    for choice in (("time",), _OBJECTS, MEASURED):
        if not any(head in heads for head in choice):
            errors.append(required(" or ".join(choice), "the first line has the names of columns"))
    if errors:
        raise InputError(
            msgspec.structs.replace(each, source=f"{source}: line 1") for each in errors
        )
    found: list[tuple[int, int, dict[str, str]]] = []
    for number, cells in rows[1:]:
        row = {head: cell for head, cell in zip(heads, cells, strict=False) if cell}
        wrong = list(_problems(row, len(cells), len(heads)))
        errors += [
            msgspec.structs.replace(each, source=f"{source}: line {number}") for each in wrong
        ]
        if not wrong:
            found.append((read_time(row["time"], "time", start_ns=0), number, row))
    if errors:
        raise InputError(errors)
    return _encoded(sorted(found, key=lambda each: each[:2]))


def _problems(row: dict[str, str], cells: int, heads: int) -> Iterator[FieldError]:
    if cells > heads:
        yield problem("", f"has {cells} cells for {heads} columns")
    time = row.get("time", "")
    if time.replace(".", "", 1).isdecimal():
        time = row["time"] = f"{time}s"
    try:
        read_time(time, "time", start_ns=0)
    except InputError as error:
        yield from (msgspec.structs.replace(each, path="time") for each in error.errors)
    if sum(each in row for each in _OBJECTS) != 1:
        yield problem("", "a row has a pod or a workload")
    given = [each for each in MEASURED if each in row]
    if not given:
        yield problem("", "a row has an amount of cpu or memory")
    for resource in given:
        if why := usage_problem(row[resource]):
            yield invalid(resource, row[resource], why)


def _encoded(
    rows: Iterable[tuple[int, int, dict[str, str]]],
) -> Iterator[tuple[int, bytes, bool]]:
    # An applied object replaces the earlier one, whose amounts an empty cell keeps.
    of_pods: dict[tuple[str, str], dict[str, str]] = {}
    for _, number, row in rows:
        namespace = row.get("namespace", "default")
        amounts = {head: row[head] for head in row if head in MEASURED}
        line: Document = {"at": row["time"]}
        if "pod" in row:
            known = of_pods.setdefault((namespace, row["pod"]), {})
            known.update(amounts)
            line["apply"] = _resource_usage(namespace, row["pod"], known)
        else:
            annotations = {f"{SHARED_USAGE_PREFIX}{each}": amounts[each] for each in amounts}
            patch = {"metadata": {"annotations": annotations}}
            line |= {"patch": row["workload"], "namespace": namespace, "with": patch}
        yield number, msgspec.json.encode(line), True


def _resource_usage(namespace: str, pod: str, amounts: dict[str, str]) -> Document:
    group, kind = RESOURCE_USAGE
    # KWOK declares the usage of containers.
    usage = {
        resource: {"expression": f'Quantity("{amount}") / size(pod.spec.containers)'}
        for resource, amount in amounts.items()
    }
    return {
        "apiVersion": f"{group}/v1alpha1",
        "kind": kind,
        "metadata": {"name": pod, "namespace": namespace},
        "spec": {"usages": [{"usage": usage}]},
    }
