"""A model of a trace: how pods arrive, what they request, how long they run.

A model is stated in a file, or fitted to a trace. Distributions are fitted by maximum likelihood;
of several, the one with the least AIC is kept. Draws are functions of (seed, use, pod), so that a
model and a seed always make the same pods.

- arrival: `poisson` with a rate per hour, or `hourly`: a rate for each hour, which repeat;
- lifetime, in seconds: `exponential` (mean), `lognormal` (median, sigma), `weibull` (scale, shape),
  `fixed` (value), `empirical` (quantiles); `endless` is the share of pods that do not end;
- sizes: the shares of requests.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, count, cycle
from math import exp, log, sqrt
from statistics import NormalDist
from typing import Any, Final, Literal

import msgspec
import numpy as np

from podwright._arrays import F64Array
from podwright.apimachinery.documents import (
    decode,
    invalid,
    problem,
    raise_errors,
    read_document,
    required,
)
from podwright.apimachinery.objects import Document, FieldError, format_quantity, parse_quantity
from podwright.cluster.api import pod_amounts
from podwright.simulation.files import read_path
from podwright.simulation.world.runs.run_options import PathLike
from podwright.simulation.world.timing.distributions import uniform
from podwright.simulation.world.traces.trace_changes import (
    GPU_ANNOTATIONS,
    TRACE_STREAM,
    run_ns_of,
)
from podwright.simulation.world.traces.trace_lines import (
    SECOND_NS,
    TraceLine,
    TraceLines,
    with_run_delay,
)

_HOUR_S: Final = 3600.0
_HOURS_MAX: Final = 168
"""The hours of a week; rates of a longer trace are means over weeks."""
_LONGEST_S: Final = (2**63 - 1) // SECOND_NS
"""The longest duration of Go, 292 years."""
_RATE_MIN: Final = 1e-6
_SIZES_MAX: Final = 500
_QUANTILES: Final = 101
_ARRIVAL, _LIFE, _SIZE, _ENDLESS = range(TRACE_STREAM, TRACE_STREAM + 4)
"""The streams of draws."""


class ArrivalModel(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How pods arrive: the rate of each hour; a single one holds for all."""

    distribution: Literal["poisson", "hourly"] = "poisson"
    per_hour: tuple[float, ...] = ()

    def times_s(self, seed: int) -> Iterator[float]:
        """Yield the times of arrivals, without end.

        The integral of the rate up to each arrival grows by an exponential draw.
        """
        rates = cycle(each / _HOUR_S for each in self.per_hour)
        hour, spent_s, rate = 0, 0.0, next(rates)
        for number in count():
            left = -log(uniform(seed, _ARRIVAL, number))
            while left > (possible := rate * (_HOUR_S - spent_s)):
                left -= possible
                hour, spent_s, rate = hour + 1, 0.0, next(rates)
            spent_s += left / rate
            yield hour * _HOUR_S + spent_s


class LifetimeModel(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How long pods run, in seconds."""

    distribution: Literal["exponential", "lognormal", "weibull", "fixed", "empirical"] = "fixed"
    mean: float = 0.0
    median: float = 0.0
    sigma: float = 0.0
    scale: float = 0.0
    shape: float = 0.0
    value: float = 0.0
    quantiles: tuple[float, ...] = ()
    endless: float = 0.0

    def parameters(self) -> dict[str, float]:
        """Return the parameters of the distribution."""
        return {name: getattr(self, name) for name in _PARAMETERS[self.distribution]}

    def at(self, share: float) -> float:
        """Return the run time that a share of the pods does not exceed."""
        match self.distribution:
            case "exponential":
                return -self.mean * log(1 - share)
            case "lognormal":
                return self.median * exp(self.sigma * NormalDist().inv_cdf(share))
            case "weibull":
                return float(self.scale * (-log(1 - share)) ** (1 / self.shape))
            case "fixed":
                return self.value
            case "empirical":
                places = np.linspace(0, 1, len(self.quantiles))
                return float(np.interp(share, places, self.quantiles))

    def share_below(self, seconds: F64Array) -> F64Array:
        """Return the share of pods that run for at most each time, of a fitted distribution."""
        match self.distribution:
            case "exponential":
                return 1 - np.exp(-seconds / self.mean)
            case "lognormal":
                spread = NormalDist(log(self.median), self.sigma)
                return np.array([spread.cdf(each) for each in np.log(seconds).tolist()])
            case "weibull":
                return 1 - np.exp(-((seconds / self.scale) ** self.shape))
            case _:
                steps = np.array(self.quantiles or (self.value,))
                return np.searchsorted(steps, seconds, "right") / len(steps)


class SizeModel(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a share of the pods requests; shares are relative to their sum."""

    share: float = 1.0
    requests: dict[str, str] = {}
    annotations: dict[str, str] = {}


class TraceModel(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A model of a trace."""

    arrival: ArrivalModel = ArrivalModel()
    lifetime: LifetimeModel = LifetimeModel()
    sizes: tuple[SizeModel, ...] = ()

    def document(self) -> Document:
        """Return the model as its file has it."""
        document: Document = msgspec.to_builtins(self)
        for part in (document["arrival"], document["lifetime"], *document["sizes"]):
            for name in [name for name, value in part.items() if not value]:
                del part[name]
        return document


_PARAMETERS: Final[dict[str, tuple[str, ...]]] = {
    "exponential": ("mean",),
    "lognormal": ("median", "sigma"),
    "weibull": ("scale", "shape"),
    "fixed": ("value",),
    "empirical": ("quantiles",),
}


def load_model(given: str | PathLike | Mapping[str, Any]) -> TraceModel:
    """Read a model: `given` is its file, or what that has.

    Raises
    ------
    InputError
        If it cannot be read, or with all mistakes, each with its path.
    """
    if isinstance(given, Mapping):
        source, text = "model", msgspec.json.encode(given)
    else:
        source, text = read_path(str(given))
    errors: list[FieldError] = []
    model = decode(read_document(text, source=source), TraceModel, "", errors)
    if not errors:
        errors += _problems(model)
    raise_errors(errors, source=source)
    return model


def _problems(model: TraceModel) -> Iterator[FieldError]:
    rates = model.arrival.per_hour
    if not rates:
        yield required("arrival.perHour", "the number of pods in each hour")
    elif min(rates) < 0 or max(rates) < _RATE_MIN:
        detail = f"must be numbers of 0 or more, one of {_RATE_MIN:f} or more"
        yield invalid("arrival.perHour", rates, detail)
    if model.arrival.distribution == "poisson" and len(rates) > 1:
        yield problem("arrival.perHour", "must be one rate; distribution: hourly has several")
    for name, value in model.lifetime.parameters().items():
        if name == "quantiles":
            values = list(model.lifetime.quantiles)
            if len(values) < 2 or values != sorted(values) or values[0] < 0:
                yield invalid("lifetime.quantiles", values, "must be increasing seconds")
        elif value <= 0:
            yield invalid(f"lifetime.{name}", value, "must be a number above 0")
    if not 0 <= model.lifetime.endless <= 1:
        yield invalid("lifetime.endless", model.lifetime.endless, "must be a share from 0 to 1")
    yield from _size_problems(model.sizes)


def _size_problems(sizes: Sequence[SizeModel]) -> Iterator[FieldError]:
    if not sizes:
        yield required("sizes", "what pods request, such as {requests: {cpu: 500m}}")
    for index, size in enumerate(sizes):
        if size.share <= 0:
            yield invalid(f"sizes[{index}].share", size.share, "must be a number above 0")
        for name, text in size.requests.items():
            try:
                is_valid = parse_quantity(text).nano >= 0
            except ValueError:
                is_valid = False
            if not is_valid:
                detail = "must be a quantity of 0 or more, such as 500m or 1Gi"
                yield invalid(f"sizes[{index}].requests[{name}]", text, detail)


# -------------------------------------------------------------------------- generating


def generate(
    model: TraceModel,
    *,
    pods: int | None = None,
    until_ns: int | None = None,
    seed: int = 0,
    prefix: str = "pod",
) -> TraceLines:
    """Yield the pods of a model in the order of their arrival.

    Parameters
    ----------
    model : TraceModel
        The distributions, as `fit` and `load_model` return them.
    pods : int, optional
        The number of pods.
    until_ns : int, optional
        The time of the last arrival at most; one of the two is needed.
    seed : int
        Of all draws.
    prefix : str
        What the names of the pods start with.
    """
    assert pods is not None or until_ns is not None, "a trace without end"
    bounds = list(accumulate(size.share for size in model.sizes))
    for number, at_s in enumerate(model.arrival.times_s(seed)):
        at_ns = round(at_s * SECOND_NS)
        if number == pods or (until_ns is not None and at_ns > until_ns):
            return
        chosen = bisect(bounds, uniform(seed, _SIZE, number) * bounds[-1])
        pod = _pod(f"{prefix}-{number}", model.sizes[min(chosen, len(bounds) - 1)])
        if uniform(seed, _ENDLESS, number) >= model.lifetime.endless:
            seconds = _seconds(model.lifetime, uniform(seed, _LIFE, number))
            pod = with_run_delay(pod, max(round(seconds * 1000), 1) * 10**6)
        yield TraceLine(at_ns, {"apply": pod})


def _seconds(lifetime: LifetimeModel, share: float) -> float:
    """Return the run time that a share of the pods does not exceed, within what Go can tell."""
    try:
        return min(lifetime.at(share), _LONGEST_S)
    except OverflowError:
        return _LONGEST_S


def _pod(name: str, size: SizeModel) -> Document:
    resources: dict[str, Any] = {"requests": size.requests}
    if extended := {k: v for k, v in size.requests.items() if k not in {"cpu", "memory"}}:
        resources["limits"] = extended
    container = {"name": "main", "image": "main", "resources": resources}
    metadata: dict[str, Any] = {"name": name, "namespace": "default"}
    if size.annotations:
        metadata["annotations"] = size.annotations
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


# -------------------------------------------------------------------------- fitting


def fit(lines: Iterable[TraceLine]) -> TraceModel:
    """Fit a model to the pods of the trace `lines`.

    The sizes are those of the trace with their shares, at most 500 of them.

    Raises
    ------
    InputError
        If there are fewer than two pods, or all arrive at once.
    """
    times: list[int] = []
    runs: list[float] = []
    sizes: Counter[Any] = Counter()
    for line in lines:
        pod = line.pod
        if pod is None:
            continue
        times.append(line.at_ns)
        run_ns = run_ns_of(pod)
        if run_ns is not None:
            runs.append(run_ns / SECOND_NS)
        annotations = (pod.get("metadata") or {}).get("annotations") or {}
        gpus = tuple((name, annotations[name]) for name in GPU_ANNOTATIONS if name in annotations)
        requests = {
            name: format_quantity(amount) for name, amount in pod_amounts(pod, "requests").items()
        }
        sizes[tuple(sorted(requests.items())), gpus] += 1
    if len(times) < 2 or times[0] == times[-1]:
        message = problem("", "two pods that arrive at different times are needed")
        raise_errors([message], source="trace")
    total = len(times)
    lifetime = fit_lifetime(np.array(runs)) if runs else LifetimeModel(value=1.0)
    return TraceModel(
        arrival=_fit_arrival(np.array(times) / SECOND_NS),
        lifetime=msgspec.structs.replace(lifetime, endless=round(1 - len(runs) / total, 6)),
        sizes=tuple(
            SizeModel(share=round(n / total, 6), requests=dict(requests), annotations=dict(gpus))
            for (requests, gpus), n in sizes.most_common(_SIZES_MAX)
        ),
    )


def _fit_arrival(times_s: F64Array) -> ArrivalModel:
    span_h = float(times_s[-1] - times_s[0]) / _HOUR_S
    if span_h < 2:
        return ArrivalModel(per_hour=(round((len(times_s) - 1) / span_h, 6),))
    hours = ((times_s - times_s[0]) // _HOUR_S).astype(np.int64)
    length = min(int(span_h) + 1, _HOURS_MAX)
    # How much of each hour of the week the trace covers.
    covered = np.bincount(np.arange(int(span_h)) % length, minlength=length).astype(np.float64)
    covered[int(span_h) % length] += max(span_h % 1, 1e-9)
    counts = np.bincount(hours % length, minlength=length)
    rates = counts / np.maximum(covered, 1.0)
    return ArrivalModel(distribution="hourly", per_hour=tuple(np.round(rates, 6).tolist()))


def fit_lifetime(seconds: F64Array) -> LifetimeModel:
    """Return the distribution with the least AIC; times of 0 are those of 1 ms.

    Parameters
    ----------
    seconds : (n_pods,) float64
    """
    times = np.maximum(seconds, 1e-3)
    logs = np.log(times)
    if float(times.min()) == float(times.max()):
        return LifetimeModel(value=float(times[0]))
    mean, middle, sigma = float(times.mean()), float(logs.mean()), float(logs.std())
    n = len(times)
    shape = _weibull_shape(times, logs)
    scale = float((times**shape).mean() ** (1 / shape))
    likelihood = n * (log(shape) - shape * log(scale)) + (shape - 1) * float(logs.sum()) - n
    lognormal = LifetimeModel(distribution="lognormal", median=exp(middle), sigma=sigma)
    found = [
        (2 + 2 * n * (log(mean) + 1), LifetimeModel(distribution="exponential", mean=mean)),
        (4 + 2 * n * (middle + log(sigma) + 0.5 * log(2 * np.pi) + 0.5), lognormal),
        (4 - 2 * likelihood, LifetimeModel(distribution="weibull", scale=scale, shape=shape)),
    ]
    best = min(found, key=lambda each: each[0])[1]
    # The 1 % point of Kolmogorov and Smirnov: no distribution is like the times.
    if distance(times, best) > 1.63 / sqrt(n):
        quantiles = np.quantile(times, np.linspace(0, 1, _QUANTILES)).round(3).tolist()
        return LifetimeModel(distribution="empirical", quantiles=tuple(quantiles))
    return best


def _weibull_shape(times: F64Array, logs: F64Array) -> float:
    """Return the most likely shape, by bisection of the derivative, which increases."""
    scaled = times / times.max()
    low, high = 0.01, 100.0
    for _ in range(60):
        middle = sqrt(low * high)
        powers = scaled**middle
        slope = float((powers * logs).sum() / powers.sum()) - 1 / middle - float(logs.mean())
        low, high = (middle, high) if slope < 0 else (low, middle)
    return sqrt(low * high)


def distance(seconds: F64Array, model: LifetimeModel) -> float:
    """Return the distance of Kolmogorov and Smirnov between times and a distribution."""
    below = model.share_below(np.sort(seconds))
    shares = np.arange(len(below) + 1) / len(below)
    return float(max(np.max(shares[1:] - below), np.max(below - shares[:-1])))
