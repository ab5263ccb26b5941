"""The result of a check: one field, expected and actual."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import msgspec

from podwright._arrays import I32Array, I64Array
from podwright.apimachinery.objects import Pod, timestamp_ns, timestamp_text
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import Decision, PluginRunner
from podwright.scheduler.queueing import SECOND_NS

Case: TypeAlias = dict[str, Any]
"""One line of a vector file."""


class Comparison(msgspec.Struct, frozen=True):
    """One field of one case.

    Parameters
    ----------
    field : str
        As the format names it.
    expected, actual : object
        JSON values.
    agrees : bool
        Equality, or membership where several values are correct.
    """

    field: str
    expected: Any
    actual: Any
    agrees: bool


class LeftOut(msgspec.Struct, frozen=True):
    """Something that is not compared, and why."""

    reason: str


Check: TypeAlias = Iterator[Comparison | LeftOut]


def equal(field: str, expected: Any, actual: Any) -> Comparison:
    """Compare by equality."""
    return Comparison(field, expected, actual, expected == actual)


def only(place: str, expect: Mapping[str, Any], known: Iterable[str]) -> Check:
    """Report every field of a vector that is not one of those that are compared.

    A check that reads a vector field by field would otherwise ignore unknown fields.

    Parameters
    ----------
    place : str
        Where the fields are; "" for `expect` itself.
    """
    for name in sorted(expect.keys() - set(known)):
        field = f"{place}.{name}" if place else name
        yield Comparison(field, expect[name], "a field that is not compared", agrees=False)


def compared(
    place: str,
    expect: Mapping[str, Any],
    actual: Mapping[str, Any],
    also: Iterable[str] = (),
    **absent: Any,
) -> Check:
    """Compare each field of `actual`, and report the other fields of a vector.

    Parameters
    ----------
    place : str
        Where the fields are; "" for `expect` itself.
    also : iterable of str
        Fields of `expect` that the caller compares.
    **absent
        What a field of `expect` stands for that is left out; None for others.
    """
    yield from only(place, expect, (*actual, *also))
    for name, found in actual.items():
        field = f"{place}.{name}" if place else name
        yield equal(field, expect.get(name, absent.get(name)), found)


def time_of(text: str) -> int:
    """Return a time of a vector in nanoseconds since 1970."""
    time_ns = timestamp_ns(text)
    assert time_ns is not None, f"invalid time {text!r}"
    return time_ns


def nanoseconds(seconds: float) -> int:
    """Return a decimal number of seconds in nanoseconds, exactly."""
    return int(Fraction(str(seconds)) * SECOND_NS)


_FIRST_START_NS = time_of("2026-01-02T00:00:00Z")


def start_time(number: int) -> str:
    """Return when a pod starts that is placed after so many others, as in the vectors."""
    return timestamp_text(_FIRST_START_NS + number * SECOND_NS)


# The nodes with the greatest total, which `winners` in the vectors lists.


def winners_among(cluster: Cluster, totals: I64Array, found: I32Array) -> list[str]:
    """Return the names of the feasible nodes with the greatest total, sorted.

    Parameters
    ----------
    totals : (n_slots,) int64
    found : (k,) int32
        The feasible slots, at least one.
    """
    best = totals[found].max()
    names = cluster.nodes.names
    return sorted(names[slot] for slot in found.tolist() if totals[slot] == best)


def winners_of(runner: PluginRunner, decision: Decision) -> list[str]:
    """Return the winners of the last cycle of a runner that keeps totals."""
    if runner.scored is not None:
        return winners_among(runner.cluster, *runner.scored)
    return [decision.node] if decision.node else []


class Winners:
    """Follows a runner that keeps totals: the winners of every decision that scored, by pod."""

    def __init__(self, runner: PluginRunner) -> None:
        self._cluster = runner.cluster
        self._by_pod: defaultdict[str, deque[list[str]]] = defaultdict(deque)
        runner.on_scored = self._note

    def clear(self) -> None:
        """Start a step."""
        self._by_pod.clear()

    def of(self, decision: Decision) -> list[str]:
        """Return the winners of the next decision about a pod in this step."""
        if decision.total is not None:
            return self._by_pod[decision.pod.key].popleft()
        return [decision.node] if decision.node else []

    def _note(self, pod: Pod, totals: I64Array, found: I32Array) -> None:
        self._by_pod[pod.key].append(winners_among(self._cluster, totals, found))
