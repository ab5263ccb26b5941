"""Errors as problem documents (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from podwright.objects import PodwrightError

Body = TypeVar("Body", bound=msgspec.Struct)

CONTENT_TYPE: Final = "application/problem+json"


class Problem(PodwrightError):  # noqa: N818 - the name of the RFC
    """A request that is answered with a problem document.

    Attributes
    ----------
    status : int
        The HTTP status.
    detail : str
        What is wrong, and what to do.
    field : str
        The field of the body, or the parameter, that is wrong; "" for none.
    """

    def __init__(self, status: int, detail: str, *, field: str = "") -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.field = field


class ProblemDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A problem as it is sent.

    Attributes
    ----------
    type : str
    title : str
        The phrase of the status.
    status : int
    detail : str
        What is wrong, and what to do.
    field : str
        The field of the body, or the parameter, that is wrong; left out for none.
    """

    type: str
    title: str
    status: int
    detail: str
    field: str = ""


def problem_response(problem: Problem, headers: dict[str, str] | None = None) -> Response:
    """Return a problem as a response."""
    document = ProblemDocument(
        type="about:blank",
        title=HTTPStatus(problem.status).phrase,
        status=problem.status,
        detail=problem.detail,
        field=problem.field,
    )
    return Response(
        msgspec.json.encode(document),
        status_code=problem.status,
        headers=headers,
        media_type=CONTENT_TYPE,
    )


async def read_body(request: Request, cls: type[Body]) -> Body:
    """Return the JSON body of a request as a struct without unknown fields.

    Raises
    ------
    Problem
        The body is not such JSON, or its content type is not.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise Problem(415, "the body must be JSON, with Content-Type: application/json")
    try:
        return msgspec.json.decode(await request.body(), type=cls)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `$.")
        raise Problem(422, text, field=path.rstrip("`")) from error
    except msgspec.DecodeError as error:
        raise Problem(400, f"the body is not JSON: {error}") from error
