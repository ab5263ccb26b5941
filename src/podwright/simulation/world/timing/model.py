"""The form of a timing model: what takes how long in a world. Everything is off by default.

A model is a YAML or JSON file of the kind Timing:

    apiVersion: podwright.dev/v1alpha1
    kind: Timing
    cycle: {constant: 600us, perNodeEvaluated: 3us, perNodeScored: 20us}
    clients:
      scheduler: {qps: 50, burst: 100, duration: {distribution: lognormal, median: 5ms}}
    watchDelay: {value: 2ms}
    kubelet: {start: {distribution: uniform, min: 1s, max: 3s}}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from podwright.apimachinery.documents import (
    Count,
    DurationText,
    NotNegative,
    PositiveCount,
    as_document,
    checked,
    decode,
    needed,
    problem,
    raise_errors,
    read_document,
)
from podwright.apimachinery.objects import FieldError, InputError
from podwright.scheduler.config import format_duration
from podwright.simulation.files import read_path
from podwright.simulation.world.timing.distributions import (
    Distribution,
    DurationDistribution,
    parse_duration_ns,
    problems_of,
    sampler,
)

TIMING_NOTE: Final = "timing model"
"""What the description of a model starts with."""

PPM: Final = 1_000_000


class _Entry(msgspec.Struct, frozen=True, rename="camel"):
    """A struct of the document."""


def parse_factor(text: str) -> int:
    """Return a factor in millionths.

    Raises
    ------
    ValueError
    """
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f'Invalid value: "{text}": must be a number') from None
    if not 0 <= value < PPM:
        raise ValueError(f'Invalid value: "{text}": must be at least 0')
    return round(value * PPM)


FactorDistribution: TypeAlias = Annotated[
    Distribution, checked(partial(problems_of, parse=parse_factor))
]
"""A distribution of factors."""


class CycleTiming(_Entry, frozen=True, kw_only=True):
    """How long a scheduling cycle takes: the sum of these, times the factor.

    Attributes
    ----------
    constant : str
    per_node_evaluated, per_node_scored : str
        For each node that was filtered, and for each feasible one of several.
    per_plugin : dict of str to str
        Added to each cycle of a profile that has the plugin.
    factor : Distribution, optional
        Numbers such as 1.5.
    """

    constant: DurationText = "0s"
    per_node_evaluated: DurationText = "0s"
    per_node_scored: DurationText = "0s"
    per_plugin: dict[str, DurationText] = {}
    factor: FactorDistribution | None = None


class ClientTiming(_Entry, frozen=True, kw_only=True):
    """The writes of a client of the API server.

    Attributes
    ----------
    qps : float
        How many writes may start in a second; 0 does not limit them.
    burst : int
        How many may start at once, with `qps`.
    parallel : int
        How many may be in progress; 0 does not limit them.
    duration : Distribution, optional
        How long each takes.
    """

    qps: NotNegative = 0.0
    burst: PositiveCount = 1
    parallel: Count = 0
    duration: DurationDistribution | None = None


class ClientTimings(_Entry, frozen=True, kw_only=True):
    """The clients whose writes take time.

    Attributes
    ----------
    scheduler : ClientTiming
        Bindings, conditions of pods, deletions of victims; not Events, which have a client.
    controllers : ClientTiming
        All writes of controllers. Their next sync waits for the writes of the last one.
    """

    scheduler: ClientTiming = ClientTiming()
    controllers: ClientTiming = ClientTiming()


class KubeletTiming(_Entry, frozen=True, kw_only=True):
    """The kubelets.

    Attributes
    ----------
    start : Distribution, optional
        From the binding of a pod until it is ready, in addition to delays of Stages.
    """

    start: DurationDistribution | None = None


class Timing(_Entry, frozen=True, kw_only=True):
    """A timing model.

    Attributes
    ----------
    api_version : str
    kind : str
    name : str
        What reports call it.
    cycle : CycleTiming
    clients : ClientTimings
    watch_delay : Distribution, optional
        From a write until the scheduler and the controllers receive it.
    kubelet : KubeletTiming
    """

    api_version: Annotated[
        Literal["podwright.dev/v1alpha1"], needed('must be "podwright.dev/v1alpha1"')
    ] = "podwright.dev/v1alpha1"
    kind: Annotated[Literal["Timing"], needed('must be "Timing"')] = "Timing"
    name: str = ""
    cycle: CycleTiming = CycleTiming()
    clients: ClientTimings = ClientTimings()
    watch_delay: DurationDistribution | None = None
    kubelet: KubeletTiming = KubeletTiming()

    def __str__(self) -> str:
        parts = ", ".join(_parts(self)) or "nothing takes time"
        return f"{TIMING_NOTE} {self.name}: {parts}" if self.name else f"{TIMING_NOTE}: {parts}"

    def document(self) -> dict[str, Any]:
        """Return the model as its file has it."""
        found: dict[str, Any] = as_document(self)
        return found


def read_timing(text: str | bytes, *, source: str) -> Timing:
    """Read a timing model from `text`; `source` is its name, for errors and reports.

    Raises
    ------
    InputError
        With all mistakes, each with its path.
    """
    errors: list[FieldError] = []
    timing = decode(read_document(text, source=source), Timing, "", errors)
    raise_errors(errors, source=source)
    return (
        timing if timing.name else msgspec.structs.replace(timing, name=source.rpartition("/")[2])
    )


def timing_entry(
    entry: object,
    path: str,
    read: Callable[[list[str]], Sequence[tuple[str, bytes]]],
    errors: list[FieldError],
) -> Timing | None:
    """Return the model of a field of another document, and add its mistakes to a list.

    Parameters
    ----------
    entry : object
        The name of a file, or the document of a model; None for no model.
    path : str
        The field.
    read : callable
        Returns the names and contents of files.
    errors : list of FieldError
        Gets the mistakes.
    """
    if entry is None:
        return None
    if isinstance(entry, str):
        try:
            ((source, text),) = read([entry])
            return read_timing(text, source=source)
        except InputError as error:
            errors += (problem(path, str(each)) for each in error.errors)
            return None
    return decode(entry, Timing, path, errors)


def load_timing(path: Any) -> Timing:
    """Read a timing model.

    Parameters
    ----------
    path : path
        A YAML or JSON file.

    Raises
    ------
    InputError
        With all mistakes, each with its path.
    """
    source, text = read_path(path)
    return read_timing(text, source=source)


def _parts(timing: Timing) -> Iterator[str]:
    cycle = timing.cycle
    terms = [cycle.constant] if parse_duration_ns(cycle.constant) else []
    for text, what in (
        (cycle.per_node_evaluated, "node evaluated"),
        (cycle.per_node_scored, "node scored"),
        *((text, f"cycle by {name}") for name, text in cycle.per_plugin.items()),
    ):
        terms += [f"{text} per {what}"] if parse_duration_ns(text) else []
    if terms:
        yield f"cycles {' + '.join(terms)}"
    for what, client in (
        ("scheduler", timing.clients.scheduler),
        ("controllers", timing.clients.controllers),
    ):
        found = [_shown(client.duration)] if client.duration is not None else []
        found += [f"{client.qps:g} a second, burst {client.burst}"] if client.qps else []
        found += [f"{client.parallel} in parallel"] if client.parallel else []
        if found:
            yield f"writes of the {what} {'; '.join(found)}"
    if timing.watch_delay is not None:
        yield f"watch delay {_shown(timing.watch_delay)}"
    if timing.kubelet.start is not None:
        yield f"start of pods {_shown(timing.kubelet.start)}"


def _shown(entry: Distribution) -> str:
    sample = sampler(entry, parse_duration_ns)
    if entry.distribution == "constant":
        return duration_text(sample(0.5))
    return f"{duration_text(sample(0.5))} (p99 {duration_text(sample(0.99))})"


def duration_text(duration_ns: float) -> str:
    """Return a duration with three digits."""
    return format_duration(round(float(f"{duration_ns:.2e}")))
