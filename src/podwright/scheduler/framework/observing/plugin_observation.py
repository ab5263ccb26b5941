"""Observes the calls of plugins: how long each took, what it returned or raised.

The methods of the observed plugin objects are replaced, so plugins that are not observed cost
nothing. An observer does not affect decisions. Results that the framework has cached, and scores
and filters that a kernel computes for several plugins at once, are no calls.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from types import GeneratorType
from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec
import numpy as np

from podwright.apimachinery.objects import ArgumentError, InputError, Pod
from podwright.scheduler.framework.adapter import described, raised_at, read_permit
from podwright.scheduler.framework.binding import Pending
from podwright.scheduler.framework.cycle import Cycle, custom_results
from podwright.scheduler.framework.decision import PostFilterResult
from podwright.scheduler.framework.plugin import NodeView, Plugin
from podwright.scheduler.framework.profile import Profile
from podwright.scheduler.framework.status import PreFilterResult, Status

_FIELD_OF: Final = {
    "PreEnqueue": ("pre_enqueue", ("pre_enqueue",)),
    "PreFilter": ("pre_filter", ("pre_filter",)),
    "PreFilterExtensionAddPod": ("pre_filter", ("add_pod",)),
    "PreFilterExtensionRemovePod": ("pre_filter", ("remove_pod",)),
    "Filter": ("filter", ("filter", "filter_columns")),
    "PostFilter": ("post_filter", ("post_filter",)),
    "PreScore": ("pre_score", ("pre_score",)),
    "Score": ("score", ("score", "score_columns")),
    "ScoreExtensionNormalize": ("score", ("normalize_score",)),
    "Reserve": ("reserve", ("reserve",)),
    "Unreserve": ("reserve", ("unreserve",)),
    "Permit": ("permit", ("permit",)),
    "PreBindPreFlight": ("pre_bind", ("pre_bind_pre_flight",)),
    "PreBind": ("pre_bind", ("pre_bind", "continue_pre_bind")),
    "Bind": ("bind", ("bind", "continue_bind")),
    "PostBind": ("post_bind", ("post_bind",)),
}
"""By extension point, as upstream's metrics name it: the field of a profile, and the methods."""

OBSERVED_POINTS: Final = tuple(_FIELD_OF)
"""The extension points whose calls are observed."""

_WITHOUT_STATUS: Final = frozenset({
    "PreFilterExtensionAddPod", "PreFilterExtensionRemovePod", "Score", "ScoreExtensionNormalize",
    "Unreserve", "PostBind",
})  # fmt: skip
"""Extension points whose methods return nothing, or a score, which the framework checks."""
_CONTINUED: Final = frozenset({"continue_pre_bind", "continue_bind"})


class PluginObserver(Protocol):
    """Receives the calls of plugins; it must not change anything that the scheduler reads.

    Attributes
    ----------
    calls : list of ObservedMethod
        The calls in progress, outermost first; maintained by `ObservedMethod`.
    read_ns : callable
        Returns the reading of a clock, in nanoseconds from any origin.
    """

    calls: list[ObservedMethod]
    read_ns: Callable[[], int]

    def returned(
        self, method: ObservedMethod, arguments: tuple[Any, ...], duration_ns: int, answer: object
    ) -> None:
        """Receive a call that returned.

        Parameters
        ----------
        method : ObservedMethod
        arguments : tuple
            Of the call; `pod_of` and `node_of` find the pod and the node in them.
        duration_ns : int
        answer : object
            What the plugin returned; `status_of` reads it.
        """

    def raised(
        self,
        method: ObservedMethod,
        arguments: tuple[Any, ...],
        duration_ns: int,
        error: Exception,
    ) -> None:
        """Receive a call that raised an exception; see `returned`."""


class ObservedMethod:
    """A method of a plugin object whose calls are observed.

    Attributes
    ----------
    plugin : str
        The name of the plugin.
    point : str
        The extension point, as upstream's metrics name it.
    profile : str
        The schedulerName.
    name : str
        The name of the method.
    """

    __slots__ = ("_call", "_observer", "name", "plugin", "point", "profile")

    def __init__(
        self,
        call: Callable[..., object],
        observer: PluginObserver,
        *,
        plugin: str,
        point: str,
        profile: str,
        name: str = "",
    ) -> None:
        self._call = call
        self._observer = observer
        self.plugin = plugin
        self.point = point
        self.profile = profile
        self.name = name

    def __call__(self, *arguments: Any) -> object:
        """Call the method, and report the call to the observer."""
        observer = self._observer
        observer.calls.append(self)
        begin_ns = observer.read_ns()
        try:
            answer = self._call(*arguments)
        except Exception as error:
            spent_ns = self._end(begin_ns)
            observer.raised(self, arguments, spent_ns, error)
            raise
        spent_ns = self._end(begin_ns)
        if type(answer) is GeneratorType:
            return self._steps(arguments, answer, spent_ns)
        observer.returned(self, arguments, spent_ns, answer)
        return answer

    def _steps(
        self, arguments: tuple[Any, ...], steps: Generator[Any, Any, object], spent_ns: int
    ) -> Generator[Any, Any, object]:
        """Run the steps of a plugin that calls extenders; the calls themselves do not count."""
        observer = self._observer
        reply: Any = None
        while True:
            observer.calls.append(self)
            begin_ns = observer.read_ns()
            try:
                request = steps.send(reply)
            except StopIteration as end:
                spent_ns += self._end(begin_ns)
                observer.returned(self, arguments, spent_ns, end.value)
                return end.value
            except Exception as error:
                spent_ns += self._end(begin_ns)
                observer.raised(self, arguments, spent_ns, error)
                raise
            spent_ns += self._end(begin_ns)
            reply = yield request

    def _end(self, begin_ns: int) -> int:
        """Return how long a part of a call took, which is not in progress any more."""
        self._observer.calls.pop()
        return self._observer.read_ns() - begin_ns


def observe_plugins(profile: Profile, observer: PluginObserver) -> Callable[[], None]:
    """Pass every call of a profile's plugins to an observer from now on.

    Returns
    -------
    callable
        Ends the observation.
    """
    replaced: list[tuple[Plugin, str, object]] = []
    for point, (field, names) in _FIELD_OF.items():
        for entry in getattr(profile, field):
            plugin: Plugin = entry[0] if isinstance(entry, tuple) else entry
            for name in names:
                if name not in _CONTINUED and not plugin.implements(name):
                    continue
                replaced.append((plugin, name, vars(plugin).get(name)))
                method = ObservedMethod(
                    getattr(plugin, name),
                    observer,
                    plugin=plugin.name,
                    point=point,
                    profile=profile.scheduler_name,
                    name=name,
                )
                # On the object, not on the class: other machines' plugins are not observed.
                setattr(plugin, name, method)

    def end() -> None:
        for plugin, name, before in reversed(replaced):
            if before is None:
                vars(plugin).pop(name, None)
            else:
                setattr(plugin, name, before)
        replaced.clear()

    return end


def pod_of(arguments: tuple[Any, ...]) -> Pod:
    """Return the pod of an observed call."""
    first = arguments[0]
    pod: Pod = first.pod if isinstance(first, Cycle) else first
    return pod


def node_of(arguments: tuple[Any, ...]) -> str:
    """Return the name of the node that an observed call is about; "" for all nodes, or none."""
    second = arguments[1] if len(arguments) > 1 else ""
    if isinstance(second, NodeView):
        return second.name
    return second if isinstance(second, str) else ""


_OTHER_ANSWERS: Final[dict[str, type]] = {
    "PreFilter": PreFilterResult,
    "PreBind": Pending,
    "Bind": Pending,
}
"""What a plugin may return at an extension point instead of a status."""


def status_of(method: ObservedMethod, answer: object) -> Status:
    """Return the status that an observed call amounts to; an invalid value is an error."""
    if isinstance(answer, Status):
        return answer
    point = method.point
    if point in _WITHOUT_STATUS:
        if method.name == "score" and not isinstance(answer, int | np.integer):
            return Status.error(f"returned {described(answer)}, not an integer of 64 bits")
        return Status.OK
    if point == "Permit":
        return _permit_of(answer)[0]
    if point == "PostFilter" and isinstance(answer, PostFilterResult):
        return answer.status
    if isinstance(answer, _OTHER_ANSWERS.get(point, ())):
        return Status.OK
    if method.name == "filter_columns" and answer is None:
        return Status.OK
    return Status.error(f"returned {described(answer)}, not a Status")


def _permit_of(answer: object) -> tuple[Status, int]:
    """Return the status and the timeout of Permit; an invalid value is an error."""
    try:
        return read_permit(answer)
    except (ArgumentError, InputError) as error:
        return Status.error(str(error)), 0


# Trace the calls of plugins from Reserve to Bind without affecting them.
#
# The decision log records the outcome of a pod, not the result of each plugin. A caller that
# replays a run to obtain them wraps the plugins of one machine: each result is returned unchanged,
# and also passed to a callback.

Point: TypeAlias = Literal["reserve", "permit", "pre_bind", "bind"]

_METHODS: dict[str, Point] = {
    "reserve": "reserve",
    "permit": "permit",
    "pre_bind": "pre_bind",
    "continue_pre_bind": "pre_bind",
    "bind": "bind",
    "continue_bind": "bind",
}


class PluginCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of one plugin for one pod.

    Parameters
    ----------
    uid : str
        The uid of the pod.
    point : str
        The extension point.
    plugin : str
    status : Status, optional
        None: the plugin has not finished.
    timeout_ns : int
        How long a Permit plugin holds the pod at most.
    custom_results : dict of str to str
        The custom results that the call added, see `add_custom_result`.
    """

    uid: str
    point: Point
    plugin: str
    status: Status | None
    timeout_ns: int = 0
    custom_results: dict[str, str] = {}


def trace_plugins(profile: Profile, on_call: Callable[[PluginCall], None]) -> None:
    """Pass every call of a profile's plugins to `on_call` from now on."""
    for plugin in profile.all_plugins():
        for name, point in _METHODS.items():
            if name == point and not plugin.implements(name):
                continue
            # On the object, not on the class: other machines' plugins are not traced.
            setattr(plugin, name, _traced(plugin, getattr(plugin, name), point, on_call))


def _traced(
    plugin: Plugin,
    method: Callable[..., object],
    point: Point,
    on_call: Callable[[PluginCall], None],
) -> Callable[..., object]:
    def call(cycle: Cycle, node_name: str, *more: Any) -> object:
        before = custom_results(cycle)
        try:
            answer = method(cycle, node_name, *more)
        except Exception as error:
            where = f"pod {cycle.pod.key}, node {node_name}"
            failed = Status.error(raised_at(error, where))
            on_call(_call_of(plugin, point, cycle, failed, before))
            raise
        on_call(_call_of(plugin, point, cycle, answer, before))
        return answer

    return call


def _call_of(
    plugin: Plugin, point: Point, cycle: Cycle, answer: object, before: Mapping[str, str]
) -> PluginCall:
    timeout_ns = 0
    status: Status | None
    match answer:
        case Status():
            status = answer
        case Pending() if point in ("pre_bind", "bind"):
            status = None
        case tuple() if point == "permit":
            status, timeout_ns = _permit_of(answer)
        case _:
            status = Status.error(f"returned {described(answer)}, not a Status")
    return PluginCall(
        uid=cycle.pod.metadata.uid,
        point=point,
        plugin=plugin.name,
        status=status,
        timeout_ns=timeout_ns,
        custom_results={
            key: text for key, text in custom_results(cycle).items() if before.get(key) != text
        },
    )
