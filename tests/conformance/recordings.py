"""Recordings: their format, and the values that later exchanges take from earlier ones.

A recording is a file of one JSON object per line: a request, the response of kube-apiserver 1.36,
and a note. `${eN:a.b.0}` in a request stands for a value of the response of exchange eN, and
`${eN@name}` for one of its headers.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

_VALUE = re.compile(r"\$\{(e\d+):([^}]*)\}")
_HEADER = re.compile(r"\$\{(e\d+)@([^}]*)\}")


class Exchange(msgspec.Struct, frozen=True):
    """One recorded exchange.

    Attributes
    ----------
    id, group, note : str
    request, response : dict
        As recorded.
    """

    id: str
    group: str
    request: dict[str, Any]
    response: dict[str, Any]
    note: str = ""
    wait: float = 0
    """Seconds that the recorded server needed until its own caches had the change."""

    @property
    def restarts(self) -> bool:
        """Whether the server discards its history and restarts before this exchange."""
        return self.note.startswith("[history discarded")


def read_recording(path: Path) -> Iterator[Exchange]:
    """Yield the exchanges of a file."""
    with gzip.open(path, "rt") as lines:
        for line in lines:
            yield msgspec.json.decode(line, type=Exchange)


class Results:
    """The responses so far, from which requests take values."""

    def __init__(self) -> None:
        self._bodies: dict[str, Any] = {}
        self._headers: dict[str, dict[str, str]] = {}

    def add(self, name: str, body: Any, headers: dict[str, str]) -> None:
        """Add the response of an exchange."""
        self._bodies[name] = body
        self._headers[name] = headers

    def substituted(self, value: Any) -> Any:
        """Return a part of a request with the values of earlier responses."""
        if isinstance(value, str):
            value = _HEADER.sub(lambda found: self._headers[found[1]].get(found[2], ""), value)
            return _VALUE.sub(lambda found: str(_dig(self._bodies[found[1]], found[2])), value)
        if isinstance(value, dict):
            return {name: self.substituted(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self.substituted(part) for part in value]
        return value

    def body(self, recorded: Any) -> bytes:
        """Return the bytes of a recorded body."""
        if recorded is None:
            return b""
        if isinstance(recorded, str):
            return recorded.encode()
        if isinstance(recorded, dict) and "protobuf_b64" in recorded:
            return base64.b64decode(recorded["protobuf_b64"])
        return json.dumps(self.substituted(recorded)).encode()


def _dig(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value
