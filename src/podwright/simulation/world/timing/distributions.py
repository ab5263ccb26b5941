"""Random durations and amounts: pure functions of the seed, a stream and a number.

A value is drawn by the inverse of the distribution function, so the value with a number is
independent of how many others are drawn. Results are rounded to whole units.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate, pairwise
from statistics import NormalDist
from typing import Annotated, Final, Literal, TypeAlias
from zlib import crc32

import msgspec
from msgspec import Meta

from podwright._checkpointed import Checkpointed, Saved
from podwright.apimachinery.documents import NotNegative, checked, invalid, join, problem, required
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
_MOST: Final = 2**63 - 1
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
    sigma: Annotated[float, Meta(gt=0)] = 1.0
    shape: Annotated[float, Meta(gt=0)] = 1.5
    values: tuple[str, ...] = ()
    weights: tuple[NotNegative, ...] = ()
    percents: tuple[float, ...] = ()

    def problems(self, path: str) -> Iterator[FieldError]:
        """Yield what is wrong with the fields together; `path` is that of the struct."""
        for name in _NEEDED[self.distribution]:
            if not getattr(self, name):
                yield required(join(path, name), f"of distribution {self.distribution}")
        if self.weights and len(self.weights) != len(self.values):
            detail = "must be as many as values"
            yield invalid(join(path, "weights"), list(self.weights), detail)
        if self.weights and not any(self.weights):
            yield invalid(join(path, "weights"), list(self.weights), "must be positive")
        if self.distribution == "quantiles":
            yield from self._percent_problems(join(path, "percents"))

    def _percent_problems(self, path: str) -> Iterator[FieldError]:
        percents = self.percents
        if len(percents) != len(self.values):
            yield invalid(path, list(percents), "must be as many as values")
        elif percents and (percents[0], percents[-1]) != (0, 100):
            yield invalid(path, list(percents), "must be from 0 to 100")
        if any(after <= before for before, after in pairwise(percents)):
            yield invalid(path, list(percents), "must increase")


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
    """Yield what is wrong with the amounts of `entry`, the field `path`, which `parse` reads."""
    written = [(name, getattr(entry, name)) for name in _AMOUNTS if getattr(entry, name)]
    written += [(f"values[{index}]", text) for index, text in enumerate(entry.values)]
    amounts: dict[str, int] = {}
    for name, text in written:
        try:
            amounts[name] = parse(text)
        except (PodwrightError, ValueError) as error:
            detail = error.errors[0].message if isinstance(error, InputError) else str(error)
            yield problem(join(path, name), detail)
            continue
        if amounts[name] < 0:
            yield invalid(join(path, name), text, "must not be negative")
    if "min" in amounts and "max" in amounts and amounts["min"] > amounts["max"]:
        yield invalid(join(path, "max"), entry.max, f"must be at least min, {entry.min}")
    ordered = [amount for name, amount in amounts.items() if name.startswith("values[")]
    is_complete = entry.distribution == "quantiles" and len(ordered) == len(entry.values)
    if is_complete and any(after < before for before, after in pairwise(ordered)):
        yield invalid(join(path, "values"), list(entry.values), "must not decrease")


DurationDistribution: TypeAlias = Annotated[
    Distribution, checked(partial(problems_of, parse=parse_duration_ns))
]
"""A distribution of durations."""


def uniform(seed: int, stream: int, number: int) -> float:
    """Return draw `number` of `stream` of `seed`, greater than 0 and less than 1."""
    return (draw(seed, stream, number) + 0.5) / _DRAWS


def sampler(entry: Distribution, parse: Parse) -> Callable[[float], int]:
    """Return the inverse of the distribution function of `entry`, in the units of `parse`."""
    least = parse(entry.min) if entry.min else 0
    most = parse(entry.max) if entry.max else _MOST
    inverse = _inverse(entry, parse)

    def sample(share: float) -> int:
        try:
            value = max(inverse(share), least)
        except ArithmeticError:  # of a very long tail
            return most
        return round(min(value, most))

    return sample


class Draws(Checkpointed):
    """The values of a distribution: each depends on its number, and not on those before it.

    Parameters
    ----------
    entry : Distribution, optional
        Without it, all values are 0.
    name : str
        Values of other names are independent.
    seed : int
    parse : callable
        Reads the amounts.
    """

    _count: Saved[int]

    def __init__(
        self, entry: Distribution | None, name: str, seed: int, parse: Parse = parse_duration_ns
    ) -> None:
        self._sample = None if entry is None else sampler(entry, parse)
        # The streams of the scheduler are small numbers.
        self._seed, self._stream = seed, (1 << 32) + crc32(name.encode())
        self._count = 0

    def at(self, number: int) -> int:
        """Return the value `number`."""
        if self._sample is None:
            return 0
        return self._sample(uniform(self._seed, self._stream, number))

    def next(self) -> int:
        """Return the next value."""
        self._count += 1
        return self.at(self._count)


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
    ends = list(accumulate(weights or (1.0,) * len(values)))
    return lambda share: values[min(bisect_right(ends, share * ends[-1]), len(values) - 1)]


def _quantiles(values: list[int], percents: tuple[float, ...]) -> Callable[[float], float]:
    def interpolate(share: float) -> float:
        percent = 100 * share
        after = bisect_right(percents, percent)
        first, last = percents[after - 1], percents[after]
        low, high = values[after - 1], values[after]
        return low + (high - low) * (percent - first) / (last - first)

    return interpolate
