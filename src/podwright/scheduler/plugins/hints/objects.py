"""The arguments of hint functions: the objects of an event, converted to the expected kind.

The queue passes the changed objects. A hint function raises for a kind that it did not register
for, which the queue treats as `QUEUE`, as upstream does.

Upstream: pkg/scheduler/util/utils.go (As)
"""

from __future__ import annotations

from typing import TypeVar

from podwright.apimachinery.objects import KubernetesObject
from podwright.scheduler.framework import Hint

Kind = TypeVar("Kind", bound=KubernetesObject)


def changed(kind: type[Kind], old: object | None, new: object | None) -> tuple[Kind | None, Kind]:
    """Return the object before (None if added) and after.

    Raises
    ------
    TypeError
        If there is no new object, or either is not of that kind.
    """
    return None if old is None else only(kind, old), only(kind, new)


def only(kind: type[Kind], obj: object | None) -> Kind:
    """Return the object as that kind.

    Raises
    ------
    TypeError
        If it is not of that kind, or missing.
    """
    if not isinstance(obj, kind):
        raise TypeError(f"expected a {kind.__name__}, got {type(obj).__name__}")
    return obj


def queue_if(condition: object) -> Hint:
    """Return `QUEUE` if the condition holds, else `SKIP`."""
    return Hint.QUEUE if condition else Hint.SKIP
