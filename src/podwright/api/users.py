"""The users of requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

ANONYMOUS_NAME: Final = "system:anonymous"


class User(msgspec.Struct, frozen=True):
    """An authenticated user.

    Attributes
    ----------
    name, uid : str
    groups : tuple of str
    extra : mapping of str to tuple of str
        Further facts from the authenticator.
    """

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


ANONYMOUS: Final = User(ANONYMOUS_NAME, groups=("system:unauthenticated",))
"""The user of a request without credentials."""
