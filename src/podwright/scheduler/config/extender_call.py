"""The calls to extenders and their replies, as plain data.

The scheduler opens no sockets: it returns an `ExtenderCall`, and the driver passes the
`ExtenderReply` back. Both are defined here, below the rooms that decide and those that do I/O.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

ExtenderVerb: TypeAlias = Literal["filter", "prioritize", "preempt", "bind"]


class ExtenderCall(msgspec.Struct, frozen=True, kw_only=True):
    """A request to an extender; the scheduling cycle waits for its reply.

    Parameters
    ----------
    extender : int
        The index in the configuration.
    verb : str
        The purpose of the call, independent of its configured path.
    url : str
        The URL for a POST of `body` as `application/json`.
    body : bytes
        JSON.
    timeout_ns : int
        The timeout of the whole call.
    """

    extender: int
    verb: ExtenderVerb
    url: str
    body: bytes
    timeout_ns: int


class ExtenderReply(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a call.

    Parameters
    ----------
    status : int
        The HTTP status; 0 without a response.
    body : bytes
    error : str
        The error of a call without a response, such as a timeout; "" otherwise.
    """

    status: int = 0
    body: bytes = b""
    error: str = ""
