"""One request of a generated sequence."""

from __future__ import annotations

from typing import Any

import msgspec


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request of a sequence.

    Attributes
    ----------
    id : str
    method, path, query, note : str
    headers : dict of str to str
    body : any
        Parsed JSON, a text, or None.
    base : list of str
        Steps; the last answer of them that is an object is the body, with `changes`.
    changes : list of (path, value)
    until : int
        The request is repeated until kube-apiserver answers with this status; 0 for once.
    """

    id: str
    method: str
    path: str
    query: str = ""
    note: str = ""
    headers: dict[str, str] = {}
    body: Any = None
    base: list[str] = []
    changes: list[tuple[list[str | int], Any]] = []
    until: int = 0
