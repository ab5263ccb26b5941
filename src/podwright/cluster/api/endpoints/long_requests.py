"""Requests that take long: executed in steps, with a reply at the end.

A driver that serves others executes some steps, does other work, and continues. Between the steps
the state may change, as it may between the requests of a client that does the same one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeAlias

from podwright.cluster.api.endpoints.request import HttpReply

Steps: TypeAlias = Generator[None, None, HttpReply]
"""The execution of a request; it yields after each step."""


class LongRequest:
    """A request that is being executed.

    Parameters
    ----------
    steps : Steps
        Raises no errors of the API.
    """

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def advance(self, is_over: Callable[[], bool]) -> HttpReply | None:
        """Execute steps until the caller ends the slice.

        Parameters
        ----------
        is_over : callable
            Called after each step; whether the slice has ended.

        Returns
        -------
        HttpReply or None
            The reply, once there is one.
        """
        try:
            next(self._steps)
            while not is_over():
                next(self._steps)
        except StopIteration as end:
            reply: HttpReply = end.value
            return reply
        return None

    def finish(self) -> HttpReply:
        """Execute all steps that are left."""
        reply = self.advance(_never)
        assert reply is not None, "it ends by itself"
        return reply


def _never() -> bool:
    return False
