"""Draws of a timing model: their formulas, their defaults, and the mistakes of their amounts."""

from __future__ import annotations

import math
from statistics import NormalDist
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import msgspec
import numpy as np
import pytest

from podwright.apimachinery.objects import SECOND_NS, InputError, draw
from podwright.simulation.world.tests.test_figures_and_timing import attempts, delays, line
from podwright.simulation.world.timing import fitting
from podwright.simulation.world.timing.delays import Client
from podwright.simulation.world.timing.distributions import (
    Distribution,
    Draws,
    amount_parser,
    parse_duration_ns,
    problems_of,
    sampler,
    uniform,
)
from podwright.simulation.world.timing.model import ClientTiming, Timing


def test_a_value_is_drawn_from_the_middle_of_its_share_in_a_stream_of_its_name() -> None:
    assert uniform(7, 3, 5) == (draw(7, 3, 5) + 0.5) / 2_147_483_648
    draws = Draws(Distribution(distribution="uniform", min="0s", max="1s"), "timing watch", 7)
    # Streams of names are above those of the scheduler, which are small numbers.
    stream = 4_294_967_296 + crc32(b"timing watch")
    assert draws.at(2) == round(SECOND_NS * uniform(7, stream, 2))
    assert [draws.next(), draws.next(), draws.next()] == [draws.at(1), draws.at(2), draws.at(3)]


WEIGHTED = {"distribution": "choice", "values": ("3s", "4s", "5s"), "weights": (1.0, 0.0, 3.0)}
QUANTILES = {
    "distribution": "quantiles",
    "values": ("1s", "2s", "5s", "9s"),
    "percents": (0, 25, 50, 100),
}


LONGEST = (2**63 - 1) / SECOND_NS


@pytest.mark.parametrize(
    ("fields", "share", "seconds"),
    [
        pytest.param({"value": "0s"}, 0.5, 0, id="nothing"),
        pytest.param(
            {"distribution": "lognormal", "median": "8s"},
            NormalDist().cdf(1),
            8 * math.e,
            id="sigma is 1",
        ),
        pytest.param(
            {"distribution": "pareto", "min": "8s"}, 1 - 1 / 8, 8 * 8 ** (1 / 1.5), id="shape 1.5"
        ),
        pytest.param(
            {"distribution": "choice", "values": ("1s", "2s")}, 1.0, 2, id="the last of all"
        ),
        pytest.param(
            {"distribution": "exponential", "mean": "8s"}, 0.75, 8 * math.log(4), id="exponential"
        ),
        pytest.param(
            {"distribution": "exponential", "mean": "8s", "min": "3s"}, 0.25, 3, id="moved to min"
        ),
        pytest.param(
            {"distribution": "exponential", "mean": "8s", "max": "3s"}, 0.75, 3, id="moved to max"
        ),
        pytest.param(
            {"distribution": "lognormal", "median": "8s", "sigma": 0.5},
            NormalDist().cdf(2),
            8 * math.e,
            id="two deviations of a half",
        ),
        pytest.param(
            {"distribution": "pareto", "min": "8s", "shape": 0.5}, 0.75, 128, id="shape a half"
        ),
        pytest.param({"distribution": "uniform", "min": "2s", "max": "10s"}, 0.25, 4, id="uniform"),
        pytest.param(
            {"distribution": "choice", "values": ("1s", "2s")}, 0.25, 1, id="equal weights"
        ),
        pytest.param(WEIGHTED, 0.24, 3, id="the first quarter"),
        pytest.param(WEIGHTED, 0.26, 5, id="after a weight of zero"),
        pytest.param(
            {"distribution": "lognormal", "median": "1s", "sigma": 1e9},
            0.6,
            LONGEST,
            id="a tail longer than any duration",
        ),
        pytest.param(
            {"distribution": "lognormal", "median": "1s", "sigma": 1e9, "max": "5s"},
            0.6,
            5,
            id="a long tail with an end",
        ),
        pytest.param(
            {"distribution": "pareto", "min": "1s", "shape": 1e-9},
            0.6,
            LONGEST,
            id="a tail that does not thin out",
        ),
        pytest.param(QUANTILES, 0.0, 1, id="the lowest quantile"),
        pytest.param(QUANTILES, 0.125, 1.5, id="between the first two"),
        pytest.param(QUANTILES, 0.25, 2, id="at a quantile"),
        pytest.param(QUANTILES, 0.375, 3.5, id="between two in the middle"),
        pytest.param(QUANTILES, 0.75, 7, id="between the last two"),
    ],
)
def test_samples_with_defaults_and_at_the_ends(fields, share, seconds) -> None:
    sample = sampler(Distribution(**fields), parse_duration_ns)
    assert sample(share) == (0 if not seconds else pytest.approx(seconds * SECOND_NS, abs=2))


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        pytest.param({"distribution": "constant"}, ["d.value"], id="constant"),
        pytest.param({"distribution": "uniform"}, ["d.min", "d.max"], id="uniform"),
        pytest.param({"distribution": "exponential"}, ["d.mean"], id="exponential"),
        pytest.param({"distribution": "lognormal"}, ["d.median"], id="lognormal"),
        pytest.param({"distribution": "pareto"}, ["d.min"], id="pareto"),
        pytest.param({"distribution": "choice"}, ["d.values"], id="choice"),
        pytest.param({"distribution": "quantiles"}, ["d.values", "d.percents"], id="quantiles"),
        pytest.param(
            {"distribution": "choice", "values": ("1s", "2s"), "weights": (1.0, 0.0)}, [],
            id="one of the weights may be zero",
        ),
        pytest.param(
            {"distribution": "choice", "values": ("1s", "2s"), "weights": (0.0, 0.0)},
            ["d.weights"], id="but not all of them",
        ),
        pytest.param(
            {**QUANTILES, "percents": (0, 50, 50, 100)}, ["d.percents"], id="equal percents"
        ),
    ],
)  # fmt: skip
def test_each_distribution_needs_its_fields(fields, paths) -> None:
    assert [error.path for error in Distribution(**fields).problems("d")] == paths


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        pytest.param({"min": "soon", "max": "later"}, ["d.min", "d.max"], id="both are shown"),
        pytest.param({"values": ("1s", "3s", "2s")}, ["d.values"], id="one that decreases"),
        pytest.param({"values": ("3s", "x", "1s")}, ["d.values[1]"], id="an order with a gap"),
        pytest.param({"values": ("1s", "3s", "3s")}, [], id="equal ones"),
        pytest.param({"min": "1s", "values": ("3s", "2s")}, ["d.values"], id="beside a limit"),
        pytest.param({"max": "2s"}, [], id="only one limit"),
        pytest.param({"min": "2s", "max": "2s"}, [], id="equal limits"),
        pytest.param({"min": "2s", "max": "1s"}, ["d.max"], id="limits that exclude all"),
    ],
)
def test_mistakes_of_amounts(fields, paths) -> None:
    entry = Distribution(distribution="quantiles", **fields)
    assert [error.path for error in problems_of(entry, "d", parse_duration_ns)] == paths
    choice = Distribution(distribution="choice", values=("3s", "2s"))
    assert [*problems_of(choice, "d", parse_duration_ns)] == []


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [
        ("cpu", "1500m", 1500),
        ("cpu", "2", 2000),
        ("memory", "1Ki", 1024),
        ("example.com/x", "3", 3),
    ],
)
def test_amounts_are_milli_cpu_bytes_or_counts(resource, text, amount) -> None:
    parse = amount_parser(resource)
    assert parse(text) == amount
    assert [*problems_of(Distribution(value=text), "d", parse)] == []
    negative = Distribution(value="0", values=("-1m" if resource == "cpu" else "-1",))
    errors = [str(error) for error in problems_of(negative, "d", parse)]
    assert errors == [f'd.values[0]: Invalid value: "{negative.values[0]}": must not be negative']


def test_a_duration_is_not_negative() -> None:
    assert parse_duration_ns("0s") == 0
    with pytest.raises(InputError):
        parse_duration_ns("-1ns")


def test_everything_is_off_by_default() -> None:
    client = {"qps": 0.0, "burst": 1, "parallel": 0, "duration": None}
    assert msgspec.to_builtins(Timing()) == {
        "apiVersion": "podwright.dev/v1alpha1",
        "kind": "Timing",
        "name": "",
        "cycle": {
            "constant": "0s",
            "perNodeEvaluated": "0s",
            "perNodeScored": "0s",
            "perPlugin": {},
            "factor": None,
        },
        "clients": {"scheduler": client, "controllers": client},
        "watchDelay": None,
        "kubelet": {"start": None},
    }


def test_no_component_is_busy_at_the_start() -> None:
    idle = delays("")
    assert (idle.scheduler_ns, idle.controllers_ns, idle.watched_ns(0)) == (0, 0, 0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("burst", "parallel"), [(1, 0), (3, 0), (1, 2), (4, 3)])
def test_a_client_waits_for_a_token_and_then_for_a_place(burst, parallel, seed) -> None:
    """As a bucket that gets a token in each interval, and workers that take one write each."""
    duration = Distribution(distribution="uniform", min="0s", max="30s")
    timing = ClientTiming(qps=0.1, burst=burst, parallel=parallel, duration=duration)
    client, durations = Client(timing, "test", seed), Draws(duration, "timing test", seed)
    interval_ns = 10 * SECOND_NS
    level_ns, free_ns, before_ns, now_ns = burst * interval_ns, [0] * parallel, 0, 0
    for number in range(1, 60):
        now_ns += draw(seed, 9, number) % (5 * interval_ns) if number % 7 == 0 else SECOND_NS
        level_ns = min(burst * interval_ns, level_ns + now_ns - before_ns) - interval_ns
        start_ns, before_ns = now_ns + max(0, -level_ns), now_ns
        if parallel:
            start_ns = max(start_ns, min(free_ns))
            free_ns.remove(min(free_ns))
        end_ns = start_ns + durations.at(number)
        free_ns.append(end_ns)
        assert client.end_ns(now_ns) == end_ns, number


def test_fitted_quantiles_are_close_together_at_both_ends() -> None:
    fifths = [98 + tenths / 10 for tenths in range(0, 21, 2)]
    assert list(fitting._PERCENTS) == [0, 1, 2, *range(5, 96, 5), 96, 97, *fifths]


def test_what_is_added_to_nothing_are_the_quantiles_at_each_fifth_of_a_percent() -> None:
    found = fitting._difference(np.arange(1001.0), np.zeros(3))
    assert np.allclose(found, np.arange(1, 1000, 2))


@pytest.mark.parametrize(
    ("lines", "gaps"),
    [
        pytest.param(
            [line("queue", 10, "b"), line("attempt", 10, "a"), line("attempt", 14, "b")], [4, 0],
            id="queued when the last attempt started",
        ),
        pytest.param(
            [line("queue", 0, "b"), line("attempt", 10, "a"), line("attempt", 10, "b")], [0, 0],
            id="no time between them",
        ),
        pytest.param(
            [line("queue", 0, "b"), line("attempt", 10, "a"), line("attempt", 7, "b")], [0, 0],
            id="lines that are out of order",
        ),
    ],
)  # fmt: skip
def test_the_time_between_two_attempts(lines, gaps) -> None:
    assert [gap for _, _, gap, *_ in attempts(*lines)] == gaps


def test_a_model_is_fitted_to_twenty_cycles_and_keeps_the_name_of_its_base() -> None:
    lines = [line("queue", 0, f"p{number}") for number in range(21)]
    lines += [line("attempt", 10 * number, f"p{number}") for number in range(21)]
    log: Any = SimpleNamespace(lines=[*lines, line("bound", 999, "p0")], source="log")
    assert fitting.fit_timing(log).name == "log"
    assert fitting.fit_timing(log, base=Timing(name="base")).name == "base"
