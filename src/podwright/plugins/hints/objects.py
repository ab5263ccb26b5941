"""What hint functions are given: the objects of an event, as the kind they expect.

The queue hands over whatever changed. A hint that gets another kind than it registered for
raises, which the queue takes for `QUEUE`, as upstream does.

Upstream: pkg/scheduler/util/utils.go (As)
"""

from __future__ import annotations

from typing import TypeVar

from podwright.framework import Hint
from podwright.objects import KubernetesObject

Kind = TypeVar("Kind", bound=KubernetesObject)


def changed(kind: type[Kind], old: object | None, new: object | None) -> tuple[Kind | None, Kind]:
    """Return the object before (None if added) and after.

    Raises
    ------
    TypeError
        If there is no new object, or either is not of that kind.
    """
    return None if old is None else only(kind, old), only(kind, new)


def only(kind: type[Kind], thing: object | None) -> Kind:
    """Return the object as that kind.

    Raises
    ------
    TypeError
        If it is not of that kind, or missing.
    """
    if not isinstance(thing, kind):
        raise TypeError(f"expected a {kind.__name__}, got {type(thing).__name__}")
    return thing


def queue_if(condition: object) -> Hint:
    """Answer `QUEUE` if the condition holds, else `SKIP`."""
    return Hint.QUEUE if condition else Hint.SKIP
