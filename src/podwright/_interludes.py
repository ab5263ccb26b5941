"""Interludes: parts of a request that only compute.

Between reading a body and storing an object there are long parts that use nothing but documents:
decoding, defaults, validation, owners of fields. They are marked with `interlude`. A driver that
executes a request in a thread may use the cluster during these parts, to let others read.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Final

ENTER: Final[ContextVar[Callable[[], AbstractContextManager[None]] | None]] = ContextVar(
    "enter_interlude", default=None
)
"""Begins an interlude of the request that is executed in this context; None for no effect."""

_NOTHING: Final = nullcontext()


def interlude() -> AbstractContextManager[None]:
    """Mark a block that neither reads nor changes the cluster; interludes may be nested."""
    enter = ENTER.get()
    return _NOTHING if enter is None else enter()
