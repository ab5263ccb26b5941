"""A timing model fitted to the log of a scheduler.

From one attempt to the next one takes as long as the cycle if a pod was waiting all that time. The
durations of such cycles give the constant and the times per node, by least absolute deviations: a
few cycles are a hundred times longer than most. How much longer or shorter they are than that is
the factor. The duration of a write is what has to be added to a cycle, so that both together, drawn
independently, take as long as from an attempt until its pod is bound.

A log does not say what limits clients, when watches deliver, and when pods start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec
import numpy as np

from podwright.apimachinery.objects import InputError, NamespacedName
from podwright.simulation.files import SchedulerLog
from podwright.simulation.world.timing.distributions import Distribution
from podwright.simulation.world.timing.model import (
    CycleTiming,
    Timing,
    duration_text,
)

_PERCENTS: Final = (
    0, 1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95,
    96, 97, 98, 98.2, 98.4, 98.6, 98.8, 99, 99.2, 99.4, 99.6, 99.8, 100,
)  # fmt: skip
_GRID: Final = np.linspace(0.1, 99.9, 500)
_LEAST_CYCLES: Final = 20
_ROUNDS: Final = 30
_NODES: Final = re.compile(r"0/(\d+) nodes")


class _Attempt(msgspec.Struct):
    """An attempt: its start, until the next one, until the pod was bound, and its nodes."""

    pod: NamespacedName
    start_ns: int
    gap_ns: int = 0
    bound_ns: int = 0
    evaluated: int = 0
    feasible: int = 0


def fit_timing(
    log: SchedulerLog, *, base: Timing | None = None, pods: Iterable[str] | None = None
) -> Timing:
    """Return the timing model of a scheduler.

    Parameters
    ----------
    log : SchedulerLog
        Its log, as `load_scheduler_log` returns it.
    base : Timing, optional
        What the log does not say; without it, nothing else takes time.
    pods : iterable of str, optional
        The pods whose attempts are counted; all if left out.

    Raises
    ------
    InputError
        If too few cycles followed each other immediately, or no pod was bound.
    """
    base = Timing() if base is None else base
    attempts = _attempts(log)
    if pods is not None:
        counted = frozenset(pods)
        attempts = [each for each in attempts if each.pod in counted]
    cycles = [each for each in attempts if each.gap_ns]
    bound = [each for each in attempts if each.bound_ns]
    if len(cycles) < _LEAST_CYCLES or not bound:
        message = (
            f"{len(cycles)} attempts that follow another one immediately, and {len(bound)} pods"
            f" bound: at least {_LEAST_CYCLES} and 1 are needed to fit a timing model"
        )
        raise InputError.of(log.source, message)
    durations_ns = np.array([each.gap_ns for each in cycles], dtype=np.float64)
    rates_ns = _rates(_terms(cycles), durations_ns)
    factors = durations_ns / np.maximum(_terms(cycles) @ rates_ns, 1.0)
    bound_cycles_ns = np.outer(_terms(bound) @ rates_ns, np.percentile(factors, _GRID))
    waits_ns = np.array([each.bound_ns for each in bound], dtype=np.float64)
    writes_ns = _difference(waits_ns, bound_cycles_ns)
    constant, evaluated, scored = (duration_text(rate) for rate in rates_ns)
    scheduler = msgspec.structs.replace(
        base.clients.scheduler,
        duration=_quantiles(writes_ns, duration_text),
    )
    return msgspec.structs.replace(
        base,
        name=base.name or log.source.rpartition("/")[2],
        cycle=CycleTiming(
            constant=constant,
            per_node_evaluated=evaluated,
            per_node_scored=scored,
            per_plugin=base.cycle.per_plugin,
            factor=_quantiles(factors, "{:.3g}".format),
        ),
        clients=msgspec.structs.replace(base.clients, scheduler=scheduler),
    )


def _attempts(log: SchedulerLog) -> list[_Attempt]:
    """Return the attempts; one that another pod has waited for has a duration."""
    found: list[_Attempt] = []
    of_pod: dict[str, _Attempt] = {}
    queued_ns: dict[str, int] = {}
    for line in log.lines:
        match line.what:
            case "attempt":
                last = found[-1] if found else None
                if last is not None and queued_ns.get(line.pod, line.time_ns) <= last.start_ns:
                    last.gap_ns = max(line.time_ns - last.start_ns, 0)
                found.append(_Attempt(line.pod, line.time_ns))
                of_pod[line.pod] = found[-1]
            case "queue":
                queued_ns[line.pod] = line.time_ns
            case "bound" if line.pod in of_pod:
                attempt = of_pod.pop(line.pod)
                attempt.bound_ns = max(line.time_ns - attempt.start_ns, 1)
                attempt.evaluated, attempt.feasible = line.evaluated_count, line.feasible_count
            case "unschedulable" if line.pod in of_pod:
                nodes = _NODES.match(line.message)
                of_pod[line.pod].evaluated = int(nodes[1]) if nodes else 0
            case _:
                pass
    return found


def _terms(attempts: Sequence[_Attempt]) -> np.ndarray:
    return np.array(
        [(1, each.evaluated, each.feasible if each.feasible > 1 else 0) for each in attempts],
        dtype=np.float64,
    )


def _rates(terms: np.ndarray, durations: np.ndarray) -> np.ndarray:
    """Return the least absolute deviations' rates of terms, none of them negative."""
    kept = [0, 1, 2]
    while True:
        found: np.ndarray
        weights = np.ones(len(durations))
        for _ in range(_ROUNDS):
            scaled = terms[:, kept] * weights[:, None]
            found = np.linalg.lstsq(scaled, durations * weights, rcond=None)[0]
            deviations = np.abs(durations - terms[:, kept] @ found)
            weights = 1 / np.sqrt(np.maximum(deviations, 1_000.0))
        lowest = np.argmin(found)
        # The last one is positive, as durations are.
        if found[lowest] >= 0:
            rates = np.zeros(3)
            rates[kept] = found
            return rates
        del kept[lowest]


def _difference(sums: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return the quantiles of what has to be added to draws of parts, to get those of sums."""
    expected, parts = np.percentile(sums, _GRID), np.percentile(parts, _GRID)
    found: np.ndarray = expected
    for _ in range(_ROUNDS):
        present = np.percentile(found[:, None] + parts, _GRID)
        found = np.sort(np.maximum(found + expected - present, 0))
    return found


def _quantiles(sample: np.ndarray, text: Callable[[float], str]) -> Distribution:
    values = np.percentile(sample, _PERCENTS)
    return Distribution(
        distribution="quantiles",
        values=tuple(text(value) for value in values),
        percents=_PERCENTS,
    )
