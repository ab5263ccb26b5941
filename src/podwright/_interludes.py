"""Interludes: parts of the work on a cluster that only compute.

Between reading a body and storing an object there are long parts that use nothing but documents:
decoding, defaults, validation, owners of fields. What a component of a world computes from changes,
such as a scheduling cycle, uses its own state and reads objects. These parts are marked with
`interlude`. A driver that executes them in a thread may read the cluster meanwhile, for others.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Final

ENTER: Final[ContextVar[Callable[[], AbstractContextManager[None]] | None]] = ContextVar(
    "enter_interlude", default=None
)
"""Starts an interlude of the work that is executed in this context; None for no effect."""

_NOTHING: Final = nullcontext()


def interlude() -> AbstractContextManager[None]:
    """Mark a block that changes nothing that a read request shows; interludes may be nested."""
    enter = ENTER.get()
    return _NOTHING if enter is None else enter()
