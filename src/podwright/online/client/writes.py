"""Several writes of the Kubernetes API as one request, which a server of podwright takes."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

WRITES: Final = "/podwright/v1/writes"
WRITES_MAX: Final = 1_000
ABSENT: Final = b"null"
"""The body of a write without one."""


class Write(
    msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """A request of the Kubernetes API.

    Attributes
    ----------
    method : str
    path : str
    content_type : str
        Of the body, such as `application/merge-patch+json`.
    body : JSON
        Left out for none.
    """

    method: Literal["POST", "PUT", "PATCH", "DELETE"]
    path: Annotated[str, msgspec.Meta(pattern="^/apis?/")]
    content_type: str = "application/json"
    body: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(ABSENT))


class Writes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Writes in their order.

    Attributes
    ----------
    writes : list of Write
    """

    writes: Annotated[list[Write], msgspec.Meta(max_length=WRITES_MAX)]


class WriteReply(msgspec.Struct, frozen=True):
    """What the Kubernetes API replies to a write.

    Attributes
    ----------
    status : int
        The HTTP status.
    body : JSON
        The object, or the error; a string for paths that do not exist, as their text is not JSON.
    """

    status: int
    body: msgspec.Raw


class WriteReplies(msgspec.Struct, frozen=True):
    """The replies in the order of the writes.

    Attributes
    ----------
    replies : list of WriteReply
    """

    replies: list[WriteReply]
