"""`python -m podwright.online.ui`: the page, a child of `podwright up`; ends when stdin does."""

from __future__ import annotations

import socket
import sys

import msgspec

from podwright.online.ui.process import PageSettings, serve_page
from podwright.online.ui.upstream import Upstream


def _main() -> None:
    settings = msgspec.json.decode(sys.stdin.buffer.readline(), type=PageSettings)
    listening = socket.socket(fileno=settings.descriptor)
    serve_page(Upstream(settings.access), listening, lives_until=sys.stdin.buffer)


if __name__ == "__main__":
    _main()
