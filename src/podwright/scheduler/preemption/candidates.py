"""Candidates: nodes on which preemption would help, with victims and the values of the criteria."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from podwright._arrays import I64Matrix
from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import NOT_STARTED, priority_of, start_ns
from podwright.scheduler.framework import Rejection

_EACH = 1 << 31
"""Added to each victim's priority in the sum, so that no summand is negative."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A node on which the pod fits after the victims are evicted.

    Parameters
    ----------
    node : str
    victims : tuple of Pod
        The pods to evict; the most important first.
    spared : tuple of Pod
        Other pods of lower priority, which can stay; the most important first.
    pdb_violations : int
        How many of the victims a disruption budget would have kept.
    """

    node: str
    victims: tuple[Pod, ...]
    spared: tuple[Pod, ...] = ()
    pdb_violations: int = 0


Candidates: TypeAlias = Sequence[Candidate]


class DryRun(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a dry run.

    Parameters
    ----------
    candidates : sequence of Candidate
        In the order of the search.
    rejections : tuple of Rejection
        The nodes on which preemption does not help, grouped by status.
    errors : tuple of str
        What failed, in the order of the search.
    visited_count : int
        How many nodes were tried; the search ends when it has enough candidates.
    helpable_count : int
        How many nodes there were to try.
    offset : int
        Where among those the search started.
    """

    candidates: Candidates = ()
    rejections: tuple[Rejection, ...] = ()
    errors: tuple[str, ...] = ()
    visited_count: int = 0
    helpable_count: int = 0
    offset: int = 0


def measures_of(candidates: Iterable[Candidate], now_ns: int) -> I64Matrix:
    """Return the values of the criteria; smaller is better.

    Returns
    -------
    (n_candidates, 5) int64
        Budget violations, priority of the first victim, sum of priorities (plus 2**31 each),
        number of victims, and minus the earliest start among the victims of the greatest
        priority.
    """
    rows = [_measure(candidate, now_ns) for candidate in candidates]
    return np.array(rows, dtype=np.int64).reshape(-1, 5)


def _measure(candidate: Candidate, now_ns: int) -> tuple[int, int, int, int, int]:
    victims = candidate.victims
    priorities = [priority_of(pod) for pod in victims]
    # An extender returns victims in any order, so the first need not have this priority.
    greatest = max(priorities)
    earliest = min(start_ns(pod) for pod in victims if priority_of(pod) == greatest)
    return (
        candidate.pdb_violations,
        priorities[0],
        sum(priorities) + _EACH * len(victims),
        len(victims),
        -(now_ns if earliest == NOT_STARTED else earliest),
    )
