"""Errors as problem documents (RFC 9457)."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from podwright.apimachinery.objects import (
    UNDECODABLE,
    UNKNOWN_FIELD,
    InputError,
    PodwrightError,
    decoding_problem,
    nearest,
)

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
    errors : list of FieldProblem
        All fields that are wrong, if there can be several.
    """

    def __init__(
        self, status: int, detail: str, *, field: str = "", errors: Sequence[FieldProblem] = ()
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.field = field
        self.errors = list(errors)


class FieldProblem(msgspec.Struct, frozen=True):
    """One error of a document.

    Attributes
    ----------
    field : str
        The path of the field; "" for the whole document.
    detail : str
        What is wrong, and what to do.
    """

    field: str
    detail: str


def field_problems(error: InputError, *, prefix: str = "") -> list[FieldProblem]:
    """Return the errors of an input.

    Parameters
    ----------
    error : InputError
    prefix : str
        The field of the body that has the input, with a dot; "" for the whole body.
    """
    return [
        FieldProblem((prefix + (each.path or each.source)).rstrip("."), each.message)
        for each in error.errors
    ]


def input_problem(error: InputError, *, prefix: str = "") -> Problem:
    """Return the errors of an input as a problem; `prefix` as for `field_problems`."""
    found = field_problems(error, prefix=prefix)
    first = found[0]
    count = len(found) - 1
    more = f", and {count} more error{'s' * (count > 1)}" if count else ""
    return Problem(422, first.detail + more, field=first.field, errors=found)


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
    errors : list of FieldProblem
        All fields that are wrong; left out if there can be only one.
    """

    type: str
    title: str
    status: int
    detail: str
    field: str = ""
    errors: list[FieldProblem] = []


def problem_response(problem: Problem, headers: dict[str, str] | None = None) -> Response:
    """Return a problem as a response."""
    document = ProblemDocument(
        type="about:blank",
        title=HTTPStatus(problem.status).phrase,
        status=problem.status,
        detail=problem.detail,
        field=problem.field,
        errors=problem.errors,
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
    _require_json(request)
    try:
        return msgspec.json.decode(await request.body(), type=cls)
    except RecursionError as error:
        raise Problem(400, "the body is nested too deeply") from error
    except msgspec.ValidationError as error:
        raise _field_problem(error, cls) from error
    except UNDECODABLE as error:
        raise Problem(400, f"the body is not JSON: {error}") from error


def _field_problem(error: msgspec.ValidationError, cls: type[msgspec.Struct]) -> Problem:
    """Return an error of msgspec with its field, and the field that may have been meant."""
    path, text = decoding_problem(error)
    if text != UNKNOWN_FIELD:
        return Problem(422, text, field=path)
    outer, _, name = path.rpartition(".")
    if outer:
        return Problem(422, f'unknown field "{name}"', field=path)
    known = [field.encode_name for field in msgspec.structs.fields(cls)]
    near = nearest(name, known)
    hint = f'did you mean "{near}"?' if near else f"there are {', '.join(sorted(known))}"
    return Problem(422, f'unknown field "{name}"; {hint}', field=name)


async def read_json_object(request: Request) -> bytes:
    """Return the body of a request, which is a JSON object, as it is.

    Raises
    ------
    Problem
        The body is not a JSON object, or its content type is not JSON.
    """
    _require_json(request)
    body = await request.body()
    try:
        found = msgspec.json.decode(body)
    except RecursionError as error:
        raise Problem(400, "the body is nested too deeply") from error
    except UNDECODABLE as error:
        raise Problem(400, f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise Problem(422, "the body must be a JSON object")
    return body


def _require_json(request: Request) -> None:
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise Problem(415, "the body must be JSON, with Content-Type: application/json")
