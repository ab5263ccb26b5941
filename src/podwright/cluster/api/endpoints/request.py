"""HTTP requests and replies as values; nothing here opens a socket.

Query strings are parsed as by Go's `net/url`. Requests that take long are executed in steps, with a
reply at the end: a driver that serves others executes some steps, does other work, and continues.
Between the steps the state may change, as it may between the requests of a client that does the
same one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Final, TypeAlias

import msgspec

from podwright.cluster.api.users import User

Parameters: TypeAlias = Mapping[str, list[str]]
"""The values of each query parameter, in order."""

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Names in lower case, and values; a name may occur more than once."""


class HttpRequest(msgspec.Struct, frozen=True, dict=True):
    """A request as the wire has it.

    Attributes
    ----------
    method, path : str
        The path is percent-decoded.
    query : str
        The raw query, without the question mark.
    headers : mapping of str to str
        Names in lower case. The values of a repeated header are separated by newlines where they
        are a list (`Impersonate-Group`, `Impersonate-Extra-*`).
    body : bytes
    certified : User, optional
        The user of the client certificate of the connection, which the driver has verified.
    is_restored : bool
        Whether a new object keeps its status, its generation and its creation time, as an object of
        a snapshot does. No request on the wire is.
    """

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = {}
    body: bytes = b""
    certified: User | None = None
    is_restored: bool = False

    @cached_property
    def parameters(self) -> Parameters:
        """The query parameters."""
        return parse_query(self.query)

    def parameter(self, name: str) -> str:
        """Return the first value of a query parameter; "" if there is none."""
        values = self.parameters.get(name)
        return values[0] if values else ""

    def header(self, name: str) -> str:
        """Return a header by its lower-case name; "" if it is absent."""
        return self.headers.get(name, "")


IMPERSONATION: Final = "impersonate-"
"""How the names of the headers begin that name another user; repeated ones are a list."""


def wire_headers(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    r"""Return the headers of a request by name, as `HttpRequest` has them.

    The values of a repeated header are joined: by newlines where they are a list, and by commas
    otherwise. Values are UTF-8: a user who impersonates has any name, which Go reads as sent.

    Examples
    --------
    >>> wire_headers([(b"impersonate-group", b"a,b"), (b"impersonate-group", b"c")])
    {'impersonate-group': 'a,b\nc'}
    """
    headers: dict[str, str] = {}
    repeated: dict[str, list[str]] = {}
    for raw_name, raw_value in pairs:
        name, value = raw_name.decode("latin-1"), raw_value.decode(errors="replace")
        if name in headers:
            repeated.setdefault(name, [headers[name]]).append(value)
        else:
            headers[name] = value
    for name, values in repeated.items():
        headers[name] = ("\n" if name.startswith(IMPERSONATION) else ", ").join(values)
    return headers


class HttpReply(msgspec.Struct, frozen=True):
    """A reply.

    Attributes
    ----------
    status : int
    headers : tuple of pairs
    body : bytes
    rest : iterator of bytes, optional
        The further parts of the body, each made when it is sent; only of servers with
        `ServerOptions.sends_lists_in_parts`.
    """

    status: int
    headers: Headers
    body: bytes = b""
    rest: Iterator[bytes] | None = None

    def header(self, name: str) -> str | None:
        """Return the values of a header, joined by commas; None if it is absent."""
        values = [value for key, value in self.headers if key == name]
        return ", ".join(values) if values else None


_MANAGER_MAX_BYTES: Final = 128


def manager_of(request: HttpRequest, field_manager: str) -> str:
    """Return the manager of a request: the option, or the start of the User-Agent.

    Notes
    -----
    Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go, managerOrUserAgent
    """
    if field_manager:
        return field_manager
    return _of_agent(request.header("user-agent"))


@lru_cache(maxsize=1024)
def _of_agent(text: str) -> str:
    agent = "".join(letter for letter in text.partition("/")[0] if letter.isprintable())
    return agent.encode()[:_MANAGER_MAX_BYTES].decode(errors="ignore") or "unknown"


# ------------------------------------------------------------------------------------ query strings

_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")


def parse_query(text: str) -> dict[str, list[str]]:
    """Return the values of each parameter, in order.

    Parameters with an invalid escape or a semicolon are dropped, as upstream drops them.

    Examples
    --------
    >>> parse_query("labelSelector=app%3Dweb&limit=5&limit=6&watch")
    {'labelSelector': ['app=web'], 'limit': ['5', '6'], 'watch': ['']}
    """
    found: dict[str, list[str]] = {}
    for pair in text.split("&"):
        if not pair or ";" in pair:
            continue
        name, _, value = pair.partition("=")
        key, decoded = unescape(name), unescape(value)
        if key is not None and decoded is not None:
            found.setdefault(key, []).append(decoded)
    return found


def unescape(text: str, *, plus_is_space: bool = True) -> str | None:
    """Return percent-encoded text decoded; None if an escape is invalid.

    Parameters
    ----------
    text : str
        The encoded text.
    plus_is_space : bool
        Whether `+` stands for a space, as in a query.
    """
    if plus_is_space:
        text = text.replace("+", " ")
    if "%" not in text:
        return text
    raw = text.encode()
    if len(_ESCAPE.findall(raw)) != raw.count(b"%"):
        return None
    first, *parts = raw.split(b"%")
    found = [first, *(bytes((int(part[:2], 16),)) + part[2:] for part in parts)]
    return b"".join(found).decode(errors="replace")


def is_true(values: list[str] | None) -> bool:
    """Return a boolean parameter: any value but `false` and `0` is true, also an empty one.

    Notes
    -----
    Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/converter.go, Convert_Slice_string_To_bool
    """
    if not values:
        return False
    return values[0].lower() not in ("false", "0")


# ---------------------------------------------------------------------------------- long requests

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
