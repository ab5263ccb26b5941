"""Runs Filter and Score of a plugin in either form: per node or on columns."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import numpy as np

from podwright.apimachinery.objects import ArgumentError, read_duration
from podwright.scheduler.columns import Reads
from podwright.scheduler.framework.cycle import Cycle
from podwright.scheduler.framework.plugin import NodeView, Plugin
from podwright.scheduler.framework.rankings.scores import Normalization, Scores
from podwright.scheduler.framework.rankings.verdicts import Verdicts
from podwright.scheduler.framework.status import Code, MissingStateError, Status

_LONGEST_VALUE = 100
_GREATEST_SCORE = 2**63 - 1
_LEAST_SCORE = -(2**63)


def described(answer: object) -> str:
    """Describe a plugin's return value in words that are the same in every process.

    A value that is not plain data is named by its type: its `repr` may contain an address, or
    raise.
    """
    if isinstance(answer, np.ndarray):
        return f"an array of {answer.dtype}"
    if answer is not None and type(answer) not in {bool, int, float, str}:
        return f"something of type {type(answer).__name__}"
    try:
        text = repr(answer)
    except ValueError:
        # An integer of more digits than Python writes.
        return "a very long int"
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def raised(error: BaseException) -> str:
    """Return the type and the message of an exception."""
    try:
        return f"{type(error).__name__}: {error}".removesuffix(": ")
    except Exception:  # noqa: BLE001 - `__str__` of a user's exception may raise
        return type(error).__name__


def raised_at(error: Exception, where: str) -> str:
    """Return the type and the message of an exception, and where it was raised.

    Parameters
    ----------
    where : str
        The pod, and the node if there is one.
    """
    if isinstance(error, MissingStateError):
        # The configuration causes this, for every pod; the text is upstream's.
        return str(error)
    return f"{raised(error)} ({where})"


_TEXTS: Final = {
    "Filter": 'running "{name}" filter plugin: {text}',
    "Score": 'running Score plugins: plugin "{name}" failed with: {text}',
    "NormalizeScore": 'running Normalize on Score plugins: plugin "{name}" failed with: {text}',
    "score range": 'applying score defaultWeights on Score plugins: plugin "{name}" {text}',
}
"""The texts that differ from those of the other extension points.

Upstream: pkg/scheduler/framework/runtime/framework.go, RunFilterPlugins and RunScorePlugins
"""


class PluginFailure(Exception):  # noqa: N818 - it is caught and becomes a Status
    """A plugin raised or returned an invalid value; the cycle ends without a decision.

    Attributes
    ----------
    status : Status
        Code ERROR, with upstream's text. An exception's message is followed by the pod and the
        node, so that the plugin's author can find the case.
    text : str
        The plugin's own message, without upstream's prefix.
    """

    def __init__(self, plugin: Plugin, point: str, text: str) -> None:
        message = _TEXTS.get(point, 'running {point} plugin "{name}": {text}').format(
            point=point, name=plugin.name, text=text
        )
        super().__init__(message)
        self.status = Status(Code.ERROR, (message,), plugin.name)
        self.text = text

    @classmethod
    def raised(
        cls, plugin: Plugin, point: str, cycle: Cycle, error: Exception, node: str = ""
    ) -> PluginFailure:
        """Make a failure of an exception."""
        where = f", node {node}" if node else ""
        return cls(plugin, point, raised_at(error, f"pod {cycle.pod.key}{where}"))


@cache
def _is_our_own(module: str) -> bool:
    """Return whether a module belongs to podwright; cached because every cycle calls it."""
    return module.startswith("podwright.scheduler.plugins.")


def run_filter(
    plugin: Plugin, cycle: Cycle, out: Verdicts, *, keeps_failures: bool = False
) -> None:
    """Write the verdicts of a plugin's filter, in either form, into the rows of `out`.

    Parameters
    ----------
    plugin : Plugin
    cycle : Cycle
    out : Verdicts, written
    keeps_failures : bool
        Whether a filter that fails at a node gives that node a status with code ERROR, so that it
        ends a cycle only if the cycle evaluates this node.

    Raises
    ------
    PluginFailure
        If the plugin fails.
    """
    if not plugin.filters_columns:
        filter_per_node(plugin, cycle, out, keeps_failures=keeps_failures)
    elif _is_our_own(plugin.__class__.__module__):
        try:
            plugin.filter_columns(cycle, cycle.cluster.nodes, out)
        except MissingStateError as error:
            # It fails the nodes that no earlier filter rejects; a cycle may have none.
            out.codes[out.rows] = out.code_of(Status.error(str(error)))
        except Exception as error:
            raise PluginFailure.raised(plugin, "Filter", cycle, error) from error
    else:
        filter_on_columns(plugin, cycle, out)


def filter_on_columns(plugin: Plugin, cycle: Cycle, out: Verdicts) -> None:
    """Call `filter_columns` of a user's plugin, and check what it wrote."""
    method: Any = plugin.filter_columns
    codes = out.codes
    try:
        answer = method(cycle, cycle.cluster.nodes, out)
        _must_be_none(answer, "the verdicts to `out`, for example out.reject(mask, status)")
        out.check()
        if out.codes is not codes:
            codes[:] = out.codes
    except Exception as error:
        raise PluginFailure.raised(plugin, "Filter", cycle, error) from error
    finally:
        # The plugin may have replaced the array, which is used again for other pods.
        out.codes = codes


def filter_per_node(
    plugin: Plugin, cycle: Cycle, out: Verdicts, *, keeps_failures: bool = False
) -> None:
    """Call `filter` for every slot in `out.rows`."""
    for slot in out.rows.tolist():
        try:
            status = _filter_one(plugin, cycle, NodeView(cycle.cluster, slot))
        except PluginFailure as failure:
            if not keeps_failures:
                raise
            status = Status.error(failure.text)
        if not status.is_success:
            out.reject_slot(slot, status)


def _filter_one(plugin: Plugin, cycle: Cycle, view: NodeView) -> Status:
    """Call `filter` for a node; a status that neither passes nor rejects it is a failure."""
    try:
        status: object = plugin.filter(cycle, view)
    except Exception as error:
        raise PluginFailure.raised(plugin, "Filter", cycle, error, view.name) from error
    if not isinstance(status, Status):
        wrong = TypeError(f"returned {described(status)}, not a Status")
        raise PluginFailure.raised(plugin, "Filter", cycle, wrong, view.name)
    if not status.is_rejection and not status.is_success:
        raise PluginFailure(plugin, "Filter", status.failure)
    return status


def run_score(plugin: Plugin, cycle: Cycle, out: Scores) -> None:
    """Write the scores of a plugin's score, in either form, into the rows of `out`."""
    if not plugin.scores_columns:
        score_per_node(plugin, cycle, out)
    elif _is_our_own(plugin.__class__.__module__):
        try:
            plugin.score_columns(cycle, cycle.cluster.nodes, out)
        except Exception as error:
            raise PluginFailure.raised(plugin, "Score", cycle, error) from error
    else:
        score_on_columns(plugin, cycle, out)


def score_on_columns(plugin: Plugin, cycle: Cycle, out: Scores) -> None:
    """Call `score_columns` of a user's plugin, and check what it wrote."""
    method: Any = plugin.score_columns
    values = out.values
    try:
        answer = method(cycle, cycle.cluster.nodes, out)
        _must_be_none(answer, "the scores to `out`, for example out.values[out.rows] = scores")
        out.check(cycle.cluster.nodes.n_slots)
    except Exception as error:
        out.values = values
        raise PluginFailure.raised(plugin, "Score", cycle, error) from error


def score_per_node(plugin: Plugin, cycle: Cycle, out: Scores) -> None:
    """Call `score` for every slot in `out.rows`."""
    values = out.values
    for slot in out.rows.tolist():
        view = NodeView(cycle.cluster, slot)
        try:
            score: Any = plugin.score(cycle, view)
        except Exception as error:
            raise PluginFailure.raised(plugin, "Score", cycle, error, view.name) from error
        is_integer = isinstance(score, int | np.integer)
        if not is_integer or not _LEAST_SCORE <= score <= _GREATEST_SCORE:
            wrong = TypeError(f"returned {described(score)}, not an integer of 64 bits")
            raise PluginFailure.raised(plugin, "Score", cycle, wrong, view.name)
        values[slot] = score


def normalize_by_plugin(plugin: Plugin, cycle: Cycle, out: Scores) -> None:
    """Call `normalize_score`, and check what a user's plugin wrote."""
    method: Any = plugin.normalize_score
    try:
        answer = method(cycle, out)
        _must_be_none(answer, "the normalized scores to out.values[out.rows]")
        if not _is_our_own(plugin.__class__.__module__):
            out.check(cycle.cluster.nodes.n_slots)
    except Exception as error:
        raise PluginFailure.raised(plugin, "NormalizeScore", cycle, error) from error


def _must_be_none(answer: object, what: str) -> None:
    """Check that a method on columns returned nothing; `what` says where results belong."""
    if answer is not None:
        raise TypeError(f"returned {described(answer)}; write {what}, and return nothing")


def filters_per_node(plugin: Plugin) -> bool:
    """Return whether filtering with this plugin costs a Python call per node."""
    return not plugin.filters_columns


_PARTS = 2


def read_permit(answer: object) -> tuple[Status, int]:
    """Return the status of an answer, and how long it holds the pod, in nanoseconds.

    Upstream's plugins return a timeout with every status; a 0 with one that is not Wait is none.

    Raises
    ------
    ArgumentError
        If the answer is neither a status nor a pair of a status and a timeout, or the timeout has
        no unit.
    InputError
        If the timeout is not a duration.
    """
    if isinstance(answer, Status):
        return answer, 0
    if not (isinstance(answer, tuple) and len(answer) == _PARTS and isinstance(answer[0], Status)):
        raise ArgumentError(f"returned {described(answer)}, not a Status")
    status, timeout = answer
    if status.code is not Code.WAIT and isinstance(timeout, int | np.integer) and not timeout:
        return status, 0
    return status, read_duration(timeout, f"the timeout of {status.code.label}", least_ns=0)


# Methods and class attributes of a plugin whose names look like misspelt ones of `Plugin`.
#
# All extension points are optional, so a method with a misspelt name would just not be called. A
# method is refused if its name, without regard to case and underscores, is that of a method of
# `Plugin` (`preFilter`), or close to one (`fillter`) with as many arguments, and the class does
# not define the other. A plugin's own methods can start with an underscore; those are not
# compared.

_CLOSE = 0.85
"""The similarity of names, by `difflib`: `fillter` and `filter` have 0.92."""

_METHODS = {name: value for name, value in vars(Plugin).items() if inspect.isfunction(value)}
_DECLARATIONS = tuple(name for name in Plugin.__annotations__ if name != "handle")

_UPSTREAM = {"less": "queue_sort_key"}
"""Methods of upstream's plugins whose counterparts have other names."""


def misspelt_names(plugin: type[Plugin]) -> tuple[str, ...]:
    """Return what is wrong with the names in a plugin's class; empty if nothing is.

    Returns
    -------
    tuple of str
        One sentence per name, for example ``fillter is not a method of plugins; did you mean
        "filter"?``.
    """
    return tuple(_problems(plugin))


def _problems(plugin: type[Plugin]) -> Iterator[str]:
    for name, value in _own_names(plugin).items():
        if inspect.isfunction(value):
            method = _method_like(name, value, plugin)
            if method:
                yield (
                    f'{name} is not a method that plugins have; did you mean "{method}"? (a method'
                    f" of your own can be named _{name})"
                )
        elif isinstance(value, bool | Reads | Normalization):
            # A flag may be the plugin's own; values of the other types have no other use.
            cutoff = _CLOSE if isinstance(value, bool) else 0
            for near in difflib.get_close_matches(name, _DECLARATIONS, n=1, cutoff=cutoff):
                yield f'{name} is not a declaration that plugins have; did you mean "{near}"?'


def _own_names(plugin: type[Plugin]) -> dict[str, Any]:
    """Return the public names that the plugin's own classes define and `Plugin` does not."""
    names: dict[str, Any] = {}
    for cls in plugin.__mro__:
        if cls in (object, Plugin) or cls.__module__.startswith("podwright.scheduler.plugins."):
            continue
        for name, value in vars(cls).items():
            if not name.startswith("_") and not hasattr(Plugin, name):
                names.setdefault(name, value)
    return names


def _method_like(name: str, function: Any, plugin: type[Plugin]) -> str:
    """Return the method of `Plugin` that a function seems to stand for; "" if there is none."""
    if name in _UPSTREAM and not plugin.implements(_UPSTREAM[name]):
        return _UPSTREAM[name]
    plain = _plain(name)
    for method in _METHODS:
        if _plain(method) == plain and not plugin.implements(method):
            return method
    for method in difflib.get_close_matches(name, _METHODS, cutoff=_CLOSE):
        has_its_arguments = _argument_count(function) == _argument_count(_METHODS[method])
        if has_its_arguments and not plugin.implements(method):
            return method
    return ""


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _argument_count(function: Any) -> int:
    return len(inspect.signature(function).parameters)
