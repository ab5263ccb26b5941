"""The extension points of an attempt, with the status of each.

There are few different paths through a cycle, and each is one object that is made once: the
metrics count objects, which costs one dictionary access per cycle, and unfold them into
extension points when they are read.
"""

from __future__ import annotations

from functools import cache

from podwright.framework import Code, Decision

_Points = tuple[tuple[str, str], ...]
_SUCCESS = Code.SUCCESS.label


class ExtensionPath:
    """A sequence of extension points with their statuses.

    Attributes
    ----------
    points : tuple of (str, str)
        Extension point and status, in upstream's spelling.
    is_bound : bool
        It ends with a pod that was bound.
    """

    __slots__ = ("is_bound", "points")

    def __init__(self, *points: tuple[str, str]) -> None:
        self.points = points
        self.is_bound = bool(points) and points[-1] == ("PostBind", _SUCCESS)

    def __repr__(self) -> str:
        return " ".join([f"{point}={status}" for point, status in self.points])


@cache
def path_through(*points: tuple[str, str]) -> ExtensionPath:
    """Return the way through these points: for the same points always the same object."""
    return ExtensionPath(*points)


_BEGIN = (("PreFilter", _SUCCESS), ("Filter", _SUCCESS))
_SCORED = path_through(*_BEGIN, ("PreScore", _SUCCESS), ("Score", _SUCCESS))
_SINGLE = path_through(*_BEGIN)
_NOWHERE = path_through()
_PLACING = ("Reserve", "Permit", "PreBindPreFlight", "PreBind", "Bind", "PostBind")


def decision_path(decision: Decision) -> ExtensionPath:
    """Return the path of a decision, PostFilter included.

    Notes
    -----
    Filter succeeds whether or not a node is left. An error does not record the extension point
    at which it occurred, so its path is empty; so is that of a cluster without nodes.
    Upstream: pkg/scheduler/schedule_one.go, `findNodesThatPassFilters`
    """
    if decision.node:
        return _SINGLE if decision.total is None else _SCORED
    diagnosis = decision.diagnosis
    if diagnosis is None or not diagnosis.node_count:
        return _NOWHERE
    pre_filter, post_filter = diagnosis.pre_filter, decision.post_filter
    return _failed_path(
        None if pre_filter is None else pre_filter.code,
        None if post_filter is None else post_filter.status.code,
    )


@cache
def _failed_path(pre_filter: Code | None, post_filter: Code | None) -> ExtensionPath:
    points: _Points = _BEGIN if pre_filter is None else (("PreFilter", pre_filter.label),)
    if post_filter is not None:
        points += (("PostFilter", post_filter.label),)
    return path_through(*points)


@cache
def binding_path(
    last: str,
    code: Code,
    *,
    has_waited: bool = False,
    has_work: bool = False,
    has_pre_flight: bool = True,
) -> ExtensionPath:
    """Return the path of a pod that was assigned a node.

    Parameters
    ----------
    last : str
        The last extension point that was run, from Reserve to PostBind.
    code : Code
        Its status. A path that does not end with success at PostBind is followed by
        Unreserve.
    has_waited : bool
        A Permit plugin returned Wait. That is the status of Permit; the outcome of the wait is
        not.
    has_work : bool
        A PreBind plugin had something to do.
    has_pre_flight : bool
        PreBindPreFlight was run (gate NominatedNodeNameForExpectation).
    """
    answers = {
        "Permit": Code.WAIT if has_waited else Code.SUCCESS,
        "PreBindPreFlight": Code.SUCCESS if has_work else Code.SKIP,
    }
    passed = _PLACING[: _PLACING.index(last)]
    points = [
        (point, answers.get(point, Code.SUCCESS).label)
        for point in passed
        if has_pre_flight or point != "PreBindPreFlight"
    ]
    points.append((last, code.label))
    if points[-1] != ("PostBind", _SUCCESS):
        points.append(("Unreserve", _SUCCESS))
    return path_through(*points)


BOUND = binding_path("PostBind", Code.SUCCESS)
"""A pod that was bound and had nothing to wait for."""
