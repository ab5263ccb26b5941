"""What goes to an extender and what comes back, as plain data.

The scheduler makes calls without making them: it hands out an `ExtenderCall` and is given an
`ExtenderReply`. Here both are described, below everything that decides and everything that
opens sockets.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Verb: TypeAlias = Literal["filter", "prioritize", "preempt", "bind"]


class ExtenderCall(msgspec.Struct, frozen=True, kw_only=True):
    """A request that has to be made before the scheduler can go on.

    Parameters
    ----------
    extender : int
        Its place in the configuration; TLS settings are found there.
    verb : str
        What is asked, whatever path the configuration gives it.
    url : str
        Where to POST `body`, as `application/json`.
    body : bytes
        JSON.
    timeout_ns : int
        How long the whole call may take.
    """

    extender: int
    verb: Verb
    url: str
    body: bytes
    timeout_ns: int


class ExtenderReply(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a call.

    Parameters
    ----------
    status : int
        Of HTTP; 0 if there was no answer.
    body : bytes
    error : str
        Why there was no answer: a time-out, a refused connection; "" if there was one.
    """

    status: int = 0
    body: bytes = b""
    error: str = ""
