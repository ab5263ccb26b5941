"""Breakpoints: a served cluster stops after a scheduling cycle that matches a condition.

The clock pauses, and what follows from the cycle, such as the binding of the pod, is not executed
before the clock continues. Requests of clients are answered meanwhile. Decisions are replayed as
always.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, Literal

import msgspec

from podwright.apimachinery.documents import did_you_mean
from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import (
    OBSERVED_POINTS,
    Code,
    Decision,
    ObservedMethod,
    Scores,
    Status,
    node_of,
    pod_of,
)

BREAKPOINTS_MAX: Final = 100
"""Each is compared with every cycle."""

_KEYS: Final = ("pod", "label", "plugin", "point", "on", "score-above")
_OUTCOMES: Final = ("call", "reject", "error")


class BreakCondition(msgspec.Struct, frozen=True, kw_only=True):
    """What a breakpoint matches; all parts that are given.

    Attributes
    ----------
    text : str
        The condition as it was written.
    pod : str
        The `namespace/name`; "" for any.
    labels : tuple of (str, str)
        Labels of the pod with their values.
    plugin, point : str
        The call of a plugin, at an extension point as upstream's metrics name it; "" for any.
    outcome : str
        `reject` or `error`: only calls with this outcome; `call` for any call; "" if the condition
        is not about calls.
    score_above : int, optional
        Only calls that return a score, or a normalized score, greater than this.
    """

    text: str
    pod: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    plugin: str = ""
    point: str = ""
    outcome: Literal["", "call", "reject", "error"] = ""
    score_above: int | None = None

    @property
    def is_about_calls(self) -> bool:
        """Whether the calls of plugins are compared, not only the pods of cycles."""
        return bool(self.outcome)

    def matches_pod(self, pod: Pod) -> bool:
        """Return whether a pod matches."""
        labels = pod.metadata.labels
        return self.pod in ("", pod.key) and all(
            labels.get(key) == value for key, value in self.labels
        )

    def matches_call(
        self, method: ObservedMethod, arguments: tuple[Any, ...], status: Status, answer: object
    ) -> bool:
        """Return whether a call matches."""
        if self.plugin not in ("", method.plugin) or self.point not in ("", method.point):
            return False
        if self.outcome == "reject" and not (status.is_rejection or _rejects(arguments)):
            return False
        if self.outcome == "error" and status.code != Code.ERROR:
            return False
        if self.score_above is not None and not self._is_above(method, arguments, answer):
            return False
        return self.matches_pod(pod_of(arguments))

    def _is_above(self, method: ObservedMethod, arguments: tuple[Any, ...], answer: object) -> bool:
        if method.point not in ("Score", "ScoreExtensionNormalize"):
            return False
        assert self.score_above is not None, "there is a limit"
        scores = next((each for each in arguments if isinstance(each, Scores)), None)
        if scores is not None:
            found = scores.values[scores.rows]
            return bool(len(found)) and bool(found.max() > self.score_above)
        return isinstance(answer, int) and answer > self.score_above


class Breakpoint(msgspec.Struct, kw_only=True, rename="camel"):
    """A breakpoint of a cluster.

    Attributes
    ----------
    number : int
        The first breakpoint of a cluster is 1.
    condition : str
    hit_count : int
        How often the cluster stopped at it.
    """

    number: int
    condition: str
    hit_count: int = 0


class BreakpointHit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a cluster has stopped.

    Attributes
    ----------
    breakpoint : int
        The number of the breakpoint.
    pod : str
        The `namespace/name`.
    attempt : int
        As in the explanation of the pod.
    plugin, point, node : str
        The call that matched; "" for a breakpoint on a pod. The node of a call for all nodes is
        "".
    message : str
        The message of the status of that call.
    """

    breakpoint: int
    pod: str
    attempt: int
    plugin: str = ""
    point: str = ""
    node: str = ""
    message: str = ""


class Breakpoints:
    """The breakpoints of a cluster, and where it has stopped: an observer of its decisions.

    Attributes
    ----------
    hit : BreakpointHit, optional
        Where the cluster has stopped; None while it runs.
    attempt_of : callable
        Returns the number of the current attempt of a pod.
    has_call_conditions : bool
        Whether a condition is about the calls of plugins.
    """

    def __init__(self) -> None:
        self.hit: BreakpointHit | None = None
        self.attempt_of: Callable[[Pod], int] = lambda _: 0
        self.has_call_conditions = False
        self._conditions: dict[int, tuple[BreakCondition, Breakpoint]] = {}
        self._number = 0

    def list(self) -> list[Breakpoint]:
        """Return the breakpoints, in the order in which they were added."""
        return [shown for _, shown in self._conditions.values()]

    def add(self, condition: BreakCondition) -> Breakpoint:
        """Add a breakpoint.

        Raises
        ------
        ValueError
            There are too many.
        """
        if len(self._conditions) >= BREAKPOINTS_MAX:
            raise ValueError(f"there are {BREAKPOINTS_MAX} breakpoints; remove one of them first")
        self._number += 1
        added = Breakpoint(number=self._number, condition=condition.text)
        self._conditions[self._number] = condition, added
        self._changed()
        return added

    def remove(self, number: int) -> bool:
        """Remove a breakpoint; return whether there was one. A cluster that stopped stays so."""
        is_removed = self._conditions.pop(number, None) is not None
        self._changed()
        return is_removed

    def _changed(self) -> None:
        self.has_call_conditions = any(
            condition.is_about_calls for condition, _ in self._conditions.values()
        )

    def release(self) -> None:
        """Let the cluster continue."""
        self.hit = None

    def until_hit(self, is_over: Callable[[], bool]) -> Callable[[], bool]:
        """Return whether a slice of the world has ended, which a breakpoint ends too."""
        if not self._conditions:
            return is_over
        return lambda: self.hit is not None or is_over()

    def decided(self, decisions: Sequence[Decision], _now_ns: int) -> None:
        """Receive the decisions of a scheduling cycle that ended."""
        if not self._conditions or self.hit is not None:
            return
        for condition, shown in self._conditions.values():
            if condition.is_about_calls:
                continue
            for decision in decisions:
                if condition.matches_pod(decision.pod):
                    pod = decision.pod
                    self._stop(shown, pod=pod.key, attempt=self.attempt_of(pod))
                    return

    def called(
        self, method: ObservedMethod, arguments: tuple[Any, ...], status: Status, answer: object
    ) -> None:
        """Receive an observed call of a plugin, if there are conditions about calls."""
        if self.hit is not None:
            return
        for condition, shown in self._conditions.values():
            if condition.is_about_calls and condition.matches_call(
                method, arguments, status, answer
            ):
                pod = pod_of(arguments)
                self._stop(
                    shown,
                    pod=pod.key,
                    attempt=self.attempt_of(pod),
                    plugin=method.plugin,
                    point=method.point,
                    node=node_of(arguments),
                    message=status.message,
                )
                return

    def _stop(self, shown: Breakpoint, **found: Any) -> None:
        shown.hit_count += 1
        self.hit = BreakpointHit(breakpoint=shown.number, **found)


def _rejects(arguments: tuple[Any, ...]) -> bool:
    """Return whether a filter on columns has rejected a node."""
    verdicts = arguments[2] if len(arguments) > 2 else None
    codes, rows = getattr(verdicts, "codes", None), getattr(verdicts, "rows", None)
    return codes is not None and rows is not None and bool((codes[rows] != 0).any())


def read_condition(text: str, plugins: Collection[str] | None = None) -> BreakCondition:
    """Read a condition: `KEY=VALUE`, and further ones after commas.

    Parameters
    ----------
    text : str
        For example `pod=default/web`, `label=app=web`, `plugin=KeepZone,on=error` or
        `plugin=KeepZone,point=Score,score-above=90`.
    plugins : collection of str, optional
        The names of the plugins that are enabled; without it, any name is read.

    Raises
    ------
    ValueError
        The text has another form, or names something that there is not.
    """
    found: dict[str, Any] = {}
    labels: list[tuple[str, str]] = []
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if key not in _KEYS:
            raise ValueError(
                f'"{key}" is not a key of a condition: use {", ".join(_KEYS)}, such as'
                f" pod=default/web{did_you_mean(key, _KEYS)}"
            )
        if not equals or not value:
            raise ValueError(f'"{part}" has no value; write {key}=VALUE')
        if key == "label":
            label, has_value, label_value = value.partition("=")
            if not has_value:
                raise ValueError(f'"{part}" has no value of the label; write label=KEY=VALUE')
            labels.append((label, label_value))
        elif key in found:
            raise ValueError(f'"{key}" is given more than once')
        else:
            found[key] = _checked(key, value, plugins)
    outcome = found.pop("on", "")
    score_above = found.pop("score-above", None)
    if not outcome and (score_above is not None or {"plugin", "point"} & found.keys()):
        outcome = "call"
    return BreakCondition(
        text=text, labels=tuple(labels), outcome=outcome, score_above=score_above, **found
    )


def _checked(key: str, value: str, plugins: Collection[str] | None) -> Any:
    if key == "pod":
        namespace, slash, name = value.rpartition("/")
        if "/" in namespace or (slash and not namespace) or not name:
            raise ValueError(f'"{value}" is not the name of a pod: write NAMESPACE/NAME')
        return value if slash else f"default/{value}"
    if key == "score-above":
        try:
            return int(value)
        except ValueError:
            raise ValueError(f'"{value}" is not an integer') from None
    known: Sequence[str] | None = None
    if key == "on":
        known = _OUTCOMES
    elif key == "point":
        known = OBSERVED_POINTS
    elif plugins is not None and value not in plugins:
        raise ValueError(
            f'"{value}" is not an enabled plugin: use {", ".join(sorted(plugins))}'
            f"{did_you_mean(value, plugins)}"
        )
    if known is not None and value not in known:
        what = {"on": "an outcome", "point": "an extension point"}
        raise ValueError(
            f'"{value}" is not {what[key]}: use {", ".join(known)}{did_you_mean(value, known)}'
        )
    return value
