"""Random durations and amounts: pure functions of the seed, a stream and a number.

A value is drawn by the inverse of the distribution function, so the value with a number is
independent of how many others are drawn. Results are rounded to whole units.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise
from statistics import NormalDist
from typing import Final, Literal
from zlib import crc32

import msgspec

from podwright.apimachinery.documents import invalid, join, required
from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    PodwrightError,
    draw,
    quantity_milli_value,
    quantity_value,
    read_duration,
)

_DRAWS: Final = 2**31
_NORMAL: Final = NormalDist()
_NEEDED: Final = {
    "constant": ("value",),
    "uniform": ("min", "max"),
    "exponential": ("mean",),
    "lognormal": ("median",),
    "pareto": ("min",),
    "choice": ("values",),
    "quantiles": ("values", "percents"),
}
_AMOUNTS: Final = ("value", "mean", "median", "min", "max")

Parse = Callable[[str], int]


class Distribution(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Random durations or quantities; amounts are texts such as 30m, 500m or 2Gi.

    Attributes
    ----------
    distribution : str
        constant (value), uniform (min, max), exponential (mean), lognormal (median, sigma),
        pareto (min, shape), choice (values, weights) or quantiles (values, percents).
    value, mean, median : str
    min, max : str
        The limits of a uniform distribution; for all others, values outside are moved to them.
    sigma : float
        The standard deviation of the logarithm.
    shape : float
    values : tuple of str
    weights : tuple of float
        How often each value is drawn, relative to the others; equally often if left out.
    percents : tuple of float
        The percentage that is at most each value, from 0 to 100; values between are interpolated.
    """

    distribution: Literal[
        "constant", "uniform", "exponential", "lognormal", "pareto", "choice", "quantiles"
    ] = "constant"
    value: str = ""
    mean: str = ""
    median: str = ""
    min: str = ""
    max: str = ""
    sigma: float = 1.0
    shape: float = 1.5
    values: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    percents: tuple[float, ...] = ()


def parse_duration_ns(text: str) -> int:
    """Return the duration `text` in nanoseconds.

    Raises
    ------
    InputError
    """
    return read_duration(text, "", least_ns=0)


def amount_parser(resource: str) -> Parse:
    """Return what reads amounts of `resource`: milli-CPU, bytes or counts."""
    return quantity_milli_value if resource == "cpu" else quantity_value


def problems_of(entry: Distribution, path: str, parse: Parse) -> Iterator[FieldError]:
    """Yield what is wrong in `entry`, the field `path`, whose values `parse` reads."""
    for name in _NEEDED[entry.distribution]:
        if not getattr(entry, name):
            yield required(join(path, name), f"of distribution {entry.distribution}")
    written = [(name, getattr(entry, name)) for name in _AMOUNTS if getattr(entry, name)]
    written += [(f"values[{index}]", text) for index, text in enumerate(entry.values)]
    amounts: dict[str, int] = {}
    for name, text in written:
        try:
            amounts[name] = parse(text)
        except (PodwrightError, ValueError) as error:
            detail = error.errors[0].message if isinstance(error, InputError) else str(error)
            yield FieldError(source="", path=join(path, name), message=detail)
            continue
        if amounts[name] < 0:
            yield invalid(join(path, name), text, "must not be negative")
    if "min" in amounts and "max" in amounts and amounts["min"] > amounts["max"]:
        yield invalid(join(path, "max"), entry.max, f"must be at least min, {entry.min}")
    if entry.weights and len(entry.weights) != len(entry.values):
        yield invalid(join(path, "weights"), list(entry.weights), "as many as values are expected")
    if any(weight < 0 for weight in entry.weights) or (entry.weights and not any(entry.weights)):
        yield invalid(join(path, "weights"), list(entry.weights), "must be positive")
    if entry.distribution == "quantiles":
        yield from _quantile_problems(entry, path, amounts)
    for name, least in (("sigma", 0.0), ("shape", 0.0)):
        if getattr(entry, name) <= least:
            yield invalid(join(path, name), getattr(entry, name), "must be greater than 0")


def _quantile_problems(
    entry: Distribution, path: str, amounts: dict[str, int]
) -> Iterator[FieldError]:
    percents, ordered = (
        entry.percents,
        [amounts.get(f"values[{i}]", 0) for i in range(len(entry.values))],
    )
    if len(percents) != len(entry.values):
        yield invalid(join(path, "percents"), list(percents), "as many as values are expected")
    elif percents and (percents[0], percents[-1]) != (0, 100):
        yield invalid(join(path, "percents"), list(percents), "must be from 0 to 100")
    if any(after <= before for before, after in pairwise(percents)):
        yield invalid(join(path, "percents"), list(percents), "must increase")
    if len(amounts) >= len(ordered) and any(b < a for a, b in pairwise(ordered)):
        yield invalid(join(path, "values"), list(entry.values), "must not decrease")


def stream_of(text: str) -> int:
    """Return the stream of draws of the name `text`: it does not depend on other names."""
    # The streams of the scheduler are small numbers.
    return (1 << 32) + crc32(text.encode())


def uniform(seed: int, stream: int, number: int) -> float:
    """Return draw `number` of `stream` of `seed`, greater than 0 and less than 1."""
    return (draw(seed, stream, number) + 0.5) / _DRAWS


def sampler(entry: Distribution, parse: Parse) -> Callable[[float], int]:
    """Return the inverse of the distribution function of `entry`, in the units of `parse`."""
    least = parse(entry.min) if entry.min else 0
    most = parse(entry.max) if entry.max else None
    inverse = _inverse(entry, parse)

    def sample(share: float) -> int:
        value = max(inverse(share), least)
        return round(value if most is None else min(value, most))

    return sample


def _inverse(entry: Distribution, parse: Parse) -> Callable[[float], float]:
    match entry.distribution:
        case "uniform":
            low, high = parse(entry.min), parse(entry.max)
            return lambda share: low + (high - low) * share
        case "exponential":
            mean = parse(entry.mean)
            return lambda share: -mean * math.log(1 - share)
        case "lognormal":
            median = parse(entry.median)
            return lambda share: median * math.exp(entry.sigma * _NORMAL.inv_cdf(share))
        case "pareto":
            least = parse(entry.min)
            return lambda share: least / (1 - share) ** (1 / entry.shape)
        case "choice":
            return _choice([parse(text) for text in entry.values], entry.weights)
        case "quantiles":
            return _quantiles([parse(text) for text in entry.values], entry.percents)
        case "constant":
            value = parse(entry.value)
            return lambda _: value


def _choice(values: list[int], weights: tuple[float, ...]) -> Callable[[float], float]:
    relative = weights or (1.0,) * len(values)
    total = sum(relative)

    def choose(share: float) -> float:
        left = share * total
        for value, weight in zip(values, relative, strict=True):
            left -= weight
            if left < 0:
                return value
        return values[-1]

    return choose


def _quantiles(values: list[int], percents: tuple[float, ...]) -> Callable[[float], float]:
    def interpolate(share: float) -> float:
        percent = 100 * share
        after = bisect_right(percents, percent)
        first, last = percents[after - 1], percents[after]
        low, high = values[after - 1], values[after]
        return low + (high - low) * (percent - first) / (last - first)

    return interpolate
