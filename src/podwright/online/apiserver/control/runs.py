"""The runs in the folder of `--runs`: list, open, download, delete."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from podwright.online.apiserver.control.endpoints import Endpoint, json_response
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.records.run_collection import (
    RunCollection,
    RunDetails,
    RunEntry,
    UnknownRun,
)
from podwright.simulation.recording import RunError

T = TypeVar("T")

TAR: Final = "application/x-tar"
_NO_FOLDER: Final = "there is no folder of runs; start the server with --runs FOLDER"


class RunList(msgspec.Struct, frozen=True):
    """All runs, by name."""

    runs: list[RunEntry]


class _Runs:
    """The endpoints."""

    def __init__(self, runs: RunCollection | None) -> None:
        self._runs = runs

    async def list(self, _: Request) -> Response:
        return json_response(RunList(await self._call(lambda runs: runs.list())))

    async def open(self, request: Request) -> Response:
        name = request.path_params["id"]
        return json_response(await self._call(lambda runs: runs.details(name)))

    async def download(self, request: Request) -> Response:
        name = request.path_params["id"]
        parts = await self._call(lambda runs: runs.packed(name))
        headers = {"content-disposition": 'attachment; filename="run.tar"'}
        return StreamingResponse(parts, media_type=TAR, headers=headers)

    async def delete(self, request: Request) -> Response:
        name = request.path_params["id"]
        await self._call(lambda runs: runs.delete(name))
        return await self.list(request)

    async def _call(self, function: Callable[[RunCollection], T]) -> T:
        return await called_with_runs(self._runs, function)


async def called_with_runs(runs: RunCollection | None, function: Callable[[RunCollection], T]) -> T:
    """Call a function that reads or writes the files of runs, in a thread.

    Raises
    ------
    Problem
        There is no folder of runs, or it cannot be read, or it has no such run.
    """
    if runs is None:
        raise Problem(409, _NO_FOLDER)
    try:
        return await asyncio.to_thread(function, runs)
    except UnknownRun as error:
        raise Problem(404, str(error)) from error
    except RunError as error:
        raise Problem(409, str(error)) from error
    except OSError as error:
        raise Problem(409, f"the folder of runs: {error.strerror}") from error


def run_endpoints(runs: RunCollection | None) -> list[Endpoint]:
    """Return the endpoints of the runs."""
    endpoints = _Runs(runs)
    problems = {404: "there is no such run", 409: "the run cannot be read, or is being written"}
    return [
        Endpoint(
            method="GET",
            path="/runs",
            summary="List the runs in the folder of `--runs`",
            handler=endpoints.list,
            reply=RunList,
            problems={409: "there is no folder of runs, or it cannot be read"},
        ),
        Endpoint(
            method="GET",
            path="/runs/{id}",
            summary="Show the inputs, the results and the files of a run",
            handler=endpoints.open,
            reply=RunDetails,
            problems=problems,
        ),
        Endpoint(
            method="GET",
            path="/runs/{id}/download",
            summary="Download a run as a tar file",
            handler=endpoints.download,
            media_type=TAR,
            problems=problems,
        ),
        Endpoint(
            method="DELETE",
            path="/runs/{id}",
            summary="Delete a run",
            handler=endpoints.delete,
            reply=RunList,
            problems=problems,
        ),
    ]
