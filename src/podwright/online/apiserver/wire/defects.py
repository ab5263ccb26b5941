"""Answers to requests that fail by a defect of podwright: a log line, a Status, no end."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from typing import Final, TypeVar

from podwright.cluster.api.endpoints import (
    HttpReply,
    HttpRequest,
    LongRequest,
    MediaType,
    Rejection,
    Watch,
    error_reply,
)
from podwright.cluster.store import UnusableStore

Reply = TypeVar("Reply", bound=HttpReply | Watch | LongRequest | None)

_LOGGER: Final = logging.getLogger(__name__)


def answered(
    handle: Callable[[HttpRequest, int], Reply], request: HttpRequest, now_ns: int
) -> Reply | HttpReply:
    """Return the reply to a request; InternalError if a defect prevents one.

    Parameters
    ----------
    handle : callable
        Executes the request.
    request : HttpRequest
    now_ns : int
        The time of the request, in nanoseconds since 1970.

    Raises
    ------
    UnusableStore
        The journal of the store cannot be written.
    """
    try:
        return handle(request, now_ns)
    except UnusableStore:
        raise
    except Exception as error:  # noqa: BLE001 - a defect, which must not stop others' requests
        return error_reply(logged_defect(error, f"{request.method} {request.path}"), MediaType())


def logged_defect(error: Exception, where: str) -> Rejection:
    """Log an exception, and return the error that names its log line.

    Parameters
    ----------
    error : Exception
    where : str
        What failed, for the log.
    """
    number = secrets.token_hex(4)
    _LOGGER.error("defect %s: %s failed", number, where, exc_info=error)
    message = f"a bug in podwright; the log of the server has the details as defect {number}"
    return Rejection(
        500,
        "InternalError",
        f"Internal error occurred: {message}",
        {"causes": [{"message": message}]},
    )
