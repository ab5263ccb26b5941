"""OpenAPI documents of the served resources."""

from __future__ import annotations

from podwright.api.endpoints.request import HttpReply, HttpRequest
from podwright.api.endpoints.resources import Resources


def openapi(resources: Resources, request: HttpRequest) -> HttpReply | None:
    """Return the reply to a request of an OpenAPI document; None for any other path."""
    del resources, request
    return None
