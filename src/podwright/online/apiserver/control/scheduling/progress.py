"""Replies that take long: lines of progress, and then the answer.

A copy of the process answers; it ends when its client leaves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
from starlette.responses import Response, StreamingResponse

from podwright.apimachinery.objects import Document, InputError, PodwrightError
from podwright.online.apiserver.control.endpoints import JSON, endpoint
from podwright.online.apiserver.control.problems import input_problem
from podwright.online.apiserver.readers import Readers, Report, begun, report_parts
from podwright.simulation.capacity import Advance, unwatched

NDJSON: Final = "application/x-ndjson"
PROGRESS_SECONDS: Final = 0.25
"""The time between two reports of progress."""


answers = partial(endpoint, "POST", changes_nothing=True, other_media_types=(NDJSON,))
"""Declares an endpoint that returns `reply`."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far an answer is.

    Attributes
    ----------
    done, total : int
        How many decisions, nodes or other steps were made, and of how many at most; 0 if that is
        not known.
    """

    done: int
    total: int


async def reply(
    readers: Readers, answer: Callable[[Advance], msgspec.Struct | Document], *, has_progress: bool
) -> Response:
    """Return the answer of a reader, or the stream of its progress.

    Parameters
    ----------
    readers : Readers
    answer : callable
        Returns the reply; receives what to call with progress.
    has_progress : bool
        Whether the reply is a stream of lines: each a `Progress`, the last one the answer, or
        `detail`.

    Raises
    ------
    Problem
        The input is wrong, before the first progress.
    """

    def line(advance: Advance) -> bytes:
        return msgspec.json.encode(answer(advance)) + b"\n"

    try:
        if not has_progress:
            return Response(await readers.call(lambda _: line(unwatched)), media_type=JSON)
        lines = readers.reports(lambda report: _report(line, report))
        return StreamingResponse(await begun(lines), media_type=NDJSON)
    except InputError as error:
        raise input_problem(error) from error


def _report(answer: Callable[[Advance], bytes], report: Report) -> None:
    has_begun, shown = False, 0.0

    def advance(done: int, total: int) -> None:
        nonlocal has_begun, shown
        now = time.monotonic()
        if now - shown >= PROGRESS_SECONDS:
            report(msgspec.json.encode(Progress(done=done, total=total)) + b"\n")
            has_begun, shown = True, now

    try:
        content = answer(advance)
    except PodwrightError as error:
        if not has_begun:
            raise  # the status of the reply says what it is
        content = msgspec.json.encode({"detail": str(error)}) + b"\n"
    report_parts(content, report)
