"""The calls to extenders and their replies, as plain data.

The scheduler opens no sockets: it returns an `ExtenderCall`, and the driver passes the
`ExtenderReply` back. Both are defined here, below the rooms that decide and those that do I/O.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Verb: TypeAlias = Literal["filter", "prioritize", "preempt", "bind"]


class ExtenderCall(msgspec.Struct, frozen=True, kw_only=True):
    """A request that the scheduler waits for.

    Parameters
    ----------
    extender : int
        Its index in the configuration, which has the TLS settings.
    verb : str
        The purpose of the call, whatever its path in the configuration is.
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
