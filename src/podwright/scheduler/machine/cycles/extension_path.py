"""The extension points that an attempt passed, with the status of each.

A cycle has few different paths, and each path is one object that is created once. The metrics
count paths, which costs one dictionary access per cycle, and expand them into extension points
only for a snapshot.
"""

from __future__ import annotations

from functools import cache

from podwright.scheduler.framework import Code, Decision

_Points = tuple[tuple[str, str], ...]
_SUCCESS = Code.SUCCESS.label


class ExtensionPath:
    """A path through extension points.

    Attributes
    ----------
    points : tuple of (str, str)
        Extension point and status, in upstream's spelling.
    is_bound : bool
        Whether the path ends with a bound pod.
    """

    __slots__ = ("is_bound", "points")

    def __init__(self, *points: tuple[str, str]) -> None:
        self.points = points
        self.is_bound = bool(points) and points[-1] == ("PostBind", _SUCCESS)

    def __repr__(self) -> str:
        return " ".join([f"{point}={status}" for point, status in self.points])


@cache
def path_through(*points: tuple[str, str]) -> ExtensionPath:
    """Return the path through these points; equal points give the same object."""
    return ExtensionPath(*points)


_BEGIN = (("PreFilter", _SUCCESS), ("Filter", _SUCCESS))
_SCORED = path_through(*_BEGIN, ("PreScore", _SUCCESS), ("Score", _SUCCESS))
_SINGLE = path_through(*_BEGIN)
_NOWHERE = path_through()
_PLACING = ("Reserve", "Permit", "PreBindPreFlight", "PreBind", "Bind", "PostBind")


def decision_path(decision: Decision) -> ExtensionPath:
    """Return the path of a decision, including PostFilter.

    Notes
    -----
    Filter succeeds whether or not a node remains. An error does not name its extension point,
    so its path is empty; so is the path in a cluster without nodes.
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
    """Return the path of a pod after a node was selected.

    Parameters
    ----------
    last : str
        The last extension point that ran, from Reserve to PostBind.
    code : Code
        The result of that extension point. Unreserve follows unless PostBind succeeded.
    has_waited : bool
        Whether a Permit plugin returned Wait. The result of the wait does not count as the
        status of Permit.
    has_work : bool
        Whether a PreBind plugin had work to do.
    has_pre_flight : bool
        Whether PreBindPreFlight ran (gate NominatedNodeNameForExpectation).
    """
    statuses = {
        "Permit": Code.WAIT if has_waited else Code.SUCCESS,
        "PreBindPreFlight": Code.SUCCESS if has_work else Code.SKIP,
    }
    passed = _PLACING[: _PLACING.index(last)]
    points = [
        (point, statuses.get(point, Code.SUCCESS).label)
        for point in passed
        if has_pre_flight or point != "PreBindPreFlight"
    ]
    points.append((last, code.label))
    if points[-1] != ("PostBind", _SUCCESS):
        points.append(("Unreserve", _SUCCESS))
    return path_through(*points)


BOUND = binding_path("PostBind", Code.SUCCESS)
"""The path of a pod that was bound without waiting."""
