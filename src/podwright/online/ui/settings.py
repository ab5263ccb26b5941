"""What the process of the page is started with."""

from __future__ import annotations

import msgspec

from podwright.online.client import ClusterAccess


class PageSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a page that another process starts: one line of JSON on its stdin.

    They have the token, and are neither arguments nor environment variables, which other
    processes can read.

    Attributes
    ----------
    access : ClusterAccess
        How the server is reached.
    descriptor : int
        The file descriptor of the listening socket, which the process inherits.
    """

    access: ClusterAccess
    descriptor: int
