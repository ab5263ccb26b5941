"""The options of a scheduler: everything that affects its decisions besides the objects.

One struct goes from the public functions (`Scheduler`, `World`, `record`, `simulate`) through
`assembly`, which fills in what follows from the configuration, to the machine and its
rule set.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, TypedDict, TypeVar, Unpack

import msgspec

from podwright.apimachinery.objects import (
    ArgumentError,
    Duration,
    Time,
    described_type,
    nearest,
    read_duration,
    read_time,
    require_type,
)
from podwright.scheduler.config import DEFAULT_GATES, Gates, KubeSchedulerConfiguration
from podwright.scheduler.framework import CalledExtender, Plugin, TieRule
from podwright.scheduler.queueing import QueueSettings

# Signatures that name the keyword arguments of a TypedDict.
#
# `**keywords: Unpack[...]` is complete for type checkers. Notebooks and REPLs complete the
# arguments that `inspect.signature` names, so the signature names them one by one.

F = TypeVar("F", bound=Callable[..., Any])


def names_keywords(keywords: type, defaults: Mapping[str, object]) -> Callable[[F], F]:
    """Return a decorator: the signature gets the keywords instead of `**keywords`.

    Parameters
    ----------
    keywords : type
        A TypedDict.
    defaults : mapping of str to object
        The default of each keyword that callers use; the others are left out.
    """

    def decorate(function: F) -> F:
        found = inspect.signature(function)
        parameters = [p for p in found.parameters.values() if p.kind is not p.VAR_KEYWORD]
        # The annotations of a TypedDict are references, whose texts are those of the source.
        types = {name: each.__forward_arg__ for name, each in keywords.__annotations__.items()}
        named = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=types.get(name)
            )
            for name, default in defaults.items()
        ]
        complete = found.replace(parameters=[*parameters, *named])
        function.__signature__ = complete  # type: ignore[attr-defined]
        return function

    return decorate


class DecisionKeywords(TypedDict, total=False):
    """The keyword arguments of `Scheduler` and `simulate`; see `SchedulerOptions`."""

    plugins: Iterable[type[Plugin]]
    gates: Gates
    seed: int
    tie_rule: TieRule
    draws_preemption_offset: bool
    source: str


class MachineKeywords(DecisionKeywords, total=False):
    """The keyword arguments of `World` and `record`; see `SchedulerOptions`."""

    start: Time
    batching: bool
    assumed_pod_expiry: Duration


class SchedulerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that affects the decisions of a scheduler besides the objects.

    Parameters
    ----------
    configuration : KubeSchedulerConfiguration, optional
        As `read_configuration` returns it; the default profile if left out.
    plugins : tuple of type
        The user's own plugin classes. Classes that the configuration does not name are enabled
        in every profile.
    gates : Gates
        Feature gates.
    seed : int
        The seed of all draws.
    tie_rule : TieRule
        How a node is chosen among equal ones.
    draws_preemption_offset : bool
        Whether the search for preemption candidates starts at a drawn node, as upstream's does;
        False: at the first node. It matters if the search ends before all nodes are tried.
    start_ns : int
        The time at which the machine starts, in nanoseconds since 1970.
    batching : bool
        Whether opportunistic batching is used; the gate OpportunisticBatching can still switch
        it off.
    assumed_pod_expiry_ns : int
        How long a bound pod stays assumed without confirmation by the API server; 0: for ever,
        under the rules of 1.16 30 seconds.
    source : str
        The name of the configuration in errors.
    queue, parallelism, extenders
        Durations of the queue; how many victims of one preemptor are deleted at a time; the
        extenders in the order in which they are called. `assembly` fills them in from
        the configuration.
    """

    configuration: KubeSchedulerConfiguration | None = None
    plugins: tuple[type[Plugin], ...] = ()
    gates: Gates = DEFAULT_GATES
    seed: int = 0
    tie_rule: TieRule = TieRule.DRAWN
    draws_preemption_offset: bool = True
    start_ns: int = 0
    batching: bool = False
    assumed_pod_expiry_ns: int = 0
    source: str = "configuration"
    queue: QueueSettings = QueueSettings()
    parallelism: int = 16
    extenders: tuple[CalledExtender, ...] = ()

    @classmethod
    def of(
        cls,
        given: KubeSchedulerConfiguration | SchedulerOptions | None,
        **keywords: Unpack[MachineKeywords],
    ) -> SchedulerOptions:
        """Return options from a configuration, or from other options, with changes.

        Parameters
        ----------
        given : KubeSchedulerConfiguration, SchedulerOptions or None
            What is changed; None is the default configuration.
        keywords
            The options that differ from `given`, by the names of those of `World` and `record`.

        Raises
        ------
        ArgumentError
            If an argument has the wrong type, or a keyword is not the name of an option.
        InputError
            If a time or a duration is not valid.
        """
        for name in keywords.keys() - MachineKeywords.__annotations__.keys():
            near = nearest(name, MachineKeywords.__annotations__)
            hint = f"; did you mean {near}?" if near else ""
            raise ArgumentError(f"{name}: not a keyword argument{hint}")
        if not isinstance(given, SchedulerOptions):
            given = cls(configuration=_checked_configuration(given))
        for name, (types, expected) in _TYPES.items():
            if name in keywords:
                # The names of the table are keywords.
                require_type(keywords[name], types, name, expected)  # type: ignore[literal-required]
        fields: dict[str, Any] = dict(keywords)
        for name, (field, read) in _READ.items():
            if name in fields:
                fields[field] = read(fields.pop(name))
        return msgspec.structs.replace(given, **fields)


_TYPES: dict[str, tuple[type, str]] = {
    "gates": (Gates, 'the result of podwright.parse_gates("Name=true")'),
    "tie_rule": (TieRule, "a podwright.TieRule"),
    "draws_preemption_offset": (bool, "a bool"),
    "batching": (bool, "a bool"),
}


def _checked_configuration(given: object) -> KubeSchedulerConfiguration | None:
    expected = "the result of podwright.read_configuration"
    if given is not None:
        require_type(given, KubeSchedulerConfiguration, "configuration", expected)
    return given  # type: ignore[return-value]  # checked above


def _checked_plugins(given: object) -> tuple[type[Plugin], ...]:
    expected = "a sequence of plugin classes"
    require_type(given, Iterable, "plugins", expected)
    plugins: tuple[object, ...] = tuple(given)  # type: ignore[arg-type]  # checked above
    for index, plugin in enumerate(plugins):
        if not (isinstance(plugin, type) and issubclass(plugin, Plugin)):
            raise ArgumentError(
                f"plugins[{index}]: must be a subclass of podwright.Plugin, not "
                f"{described_type(plugin)}"
            )
    return plugins  # type: ignore[return-value]  # checked above


def _checked_integer(name: str, value: object) -> int:
    """Return an integer, also one of NumPy."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ArgumentError(f"{name}: must be an integer, not {described_type(value)}")
    return operator.index(value)


_READ: dict[str, tuple[str, Callable[[Any], object]]] = {
    "plugins": ("plugins", _checked_plugins),
    "seed": ("seed", partial(_checked_integer, "seed")),
    "start": ("start_ns", partial(read_time, what="start", start_ns=None)),
    "assumed_pod_expiry": (
        "assumed_pod_expiry_ns",
        partial(read_duration, what="assumed_pod_expiry", least_ns=0),
    ),
}
"""Keywords that are read: the name of the option, and the function that reads it."""

DEFAULT_OPTIONS: Final = SchedulerOptions()

_DECISION_DEFAULTS: Final = {
    "plugins": DEFAULT_OPTIONS.plugins,
    "gates": DEFAULT_OPTIONS.gates,
    "seed": DEFAULT_OPTIONS.seed,
    "tie_rule": DEFAULT_OPTIONS.tie_rule,
    "draws_preemption_offset": DEFAULT_OPTIONS.draws_preemption_offset,
}
names_decision_keywords: Final = names_keywords(DecisionKeywords, _DECISION_DEFAULTS)
"""The decorator of functions with these keywords."""


def names_machine_keywords(start: str) -> Callable[[F], F]:
    """Return the decorator of functions with these keywords; `start` is the default start."""
    defaults = {
        **_DECISION_DEFAULTS,
        "start": start,
        "batching": DEFAULT_OPTIONS.batching,
        "assumed_pod_expiry": "0s",
    }
    return names_keywords(MachineKeywords, defaults)
