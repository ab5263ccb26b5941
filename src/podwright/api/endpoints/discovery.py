"""Discovery: which groups, versions and resources a server has."""

from __future__ import annotations

from podwright.api.endpoints.request import HttpReply, HttpRequest
from podwright.api.endpoints.resources import Resources


def discovery(resources: Resources, request: HttpRequest) -> HttpReply | None:
    """Return the reply to a discovery request; None for any other path."""
    del resources, request
    return None
