"""The choice among candidates: five criteria, applied in order.

1. Fewest violations of disruption budgets.
2. The lowest priority of the most important victim.
3. The smallest sum of the victims' priorities (each plus 2**31, so that none is negative).
4. Fewest victims. (After 3 this can only decide with a victim of priority -2**31.)
5. The latest start of the earliest started among the most important victims.

Candidates that are equal in all criteria are ordered by node name; upstream takes any.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Protocol, overload

import msgspec

from podwright._arrays import I64Array
from podwright.scheduler.kernels import preemption as preemption_kernels
from podwright.scheduler.preemption.sums import SummedCandidates
from podwright.scheduler.preemption.victims import Candidate, Candidates, measures_of


class Criterion(IntEnum):
    """What left one candidate."""

    FEWEST_VIOLATIONS = 1
    LOWEST_FIRST_VICTIM = 2
    SMALLEST_SUM = 3
    FEWEST_VICTIMS = 4
    LATEST_START = 5
    NAME = 6
    """Nothing did: several are equal, and the first by name is taken."""

    @property
    def description(self) -> str:
        """The criterion in words."""
        return _DESCRIPTIONS[self]


_DESCRIPTIONS = {
    Criterion.FEWEST_VIOLATIONS: "fewest violations of disruption budgets",
    Criterion.LOWEST_FIRST_VICTIM: "lowest priority of the most important victim",
    Criterion.SMALLEST_SUM: "smallest sum of the victims' priorities",
    Criterion.FEWEST_VICTIMS: "fewest victims",
    Criterion.LATEST_START: "its most important victims started last",
    Criterion.NAME: "first by name of several equal ones",
}


class Deciding(Protocol):
    """A criterion of some rule set; `Criterion` has those of 1.36."""

    def __int__(self) -> int: ...

    @property
    def description(self) -> str:
        """The criterion in words."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The candidate that is taken, and why.

    Parameters
    ----------
    candidate : Candidate
    criterion : Deciding, optional
        None: there was no other.
    acceptable : sequence of str
        All nodes that are equal after the five criteria; sorted.
    """

    candidate: Candidate
    criterion: Deciding | None
    acceptable: Sequence[str]


def choose(candidates: Candidates, *, now_ns: int) -> Choice:
    """Choose among candidates; there must be at least one.

    Parameters
    ----------
    now_ns : int
        The start time of pods that have not started.

    Notes
    -----
    Upstream: pkg/scheduler/framework/preemption/preemption.go, `pickOneNodeForPreemption`.
    """
    assert len(candidates), "there is nothing to choose from"
    acceptable: Sequence[str]
    if isinstance(candidates, SummedCandidates):
        rows, column = preemption_kernels.narrow(candidates.measures)
        index = candidates.first_by_name(rows)
        acceptable = _Acceptable(candidates, rows)
    else:
        rows, column = preemption_kernels.narrow(measures_of(candidates, now_ns))
        by_name = sorted([(candidates[row].node, row) for row in rows.tolist()])
        index = by_name[0][1]
        acceptable = tuple([name for name, _ in by_name])
    return Choice(
        candidate=candidates[index],
        criterion=None if len(candidates) == 1 else Criterion(column + 1),
        acceptable=acceptable,
    )


class _Acceptable(Sequence[str]):
    """The nodes of some candidates, sorted at the first read."""

    __slots__ = ("_candidates", "_names", "_rows")
    __hash__ = None  # type: ignore[assignment]  # equal to tuples, whose hash it cannot have

    def __init__(self, candidates: SummedCandidates, rows: I64Array) -> None:
        self._candidates = candidates
        self._rows = rows
        self._names: tuple[str, ...] | None = None

    def _sorted(self) -> tuple[str, ...]:
        if self._names is None:
            self._names = self._candidates.names(self._rows)
        return self._names

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        return self._sorted()[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (_Acceptable, tuple)) and self._sorted() == tuple(other)

    def __repr__(self) -> str:
        return repr(self._sorted())
