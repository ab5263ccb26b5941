"""The runs in the folder of `--runs`: list, open, download, delete."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from podwright.apimachinery.objects import NamespacedName
from podwright.online.apiserver.control.endpoints import JSON, Endpoint, json_response
from podwright.online.apiserver.control.long_replies import long_reply
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.control.scheduling.explanation import (
    Attempts,
    ExplanationParameters,
    View,
    encoded_explanation,
    pod_of,
)
from podwright.online.apiserver.readers import Readers
from podwright.online.apiserver.records.run_collection import (
    RunCollection,
    RunDetails,
    RunEntry,
    UnknownRun,
)
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.scheduler.framework import Plugin
from podwright.simulation.recording import (
    TIMELINE_MEDIA_TYPE,
    DecisionLog,
    ExplanationDocument,
    ExplanationMatrix,
    LogError,
    RunError,
    RunFolder,
    UnknownCycle,
    attempts_of,
    end_of_run,
    find_cycle,
    labels_of_nodes,
    recorded_view,
    replay,
    start_of_run,
    timeline_of_run,
)

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


# What the runs of `--runs` have recorded: timeline, labels of nodes, attempts, explanations.
#
# The replies are those of the endpoints of the cluster with the same names, so what shows a
# cluster shows a run. A reader process replays the decision log of the run.

_NO_PRESENT: Final = 'a recorded run has no present; "now" is for the pods of the cluster'


class RecordedNodes(msgspec.Struct, frozen=True):
    """The nodes at the end of a run.

    Attributes
    ----------
    labels : dict of str to dict
        The labels of each node.
    """

    labels: dict[str, dict[str, str]]


class _Opened:
    """A run and the log of its scheduler; used in a reader process, which ends soon."""

    def __init__(self, path: Path, plugins: Iterable[type[Plugin]]) -> None:
        self.path = path
        self.log = DecisionLog.open(path / "log")
        self.plugins = tuple(plugins)
        known = {plugin.name for plugin in self.plugins}
        missing = [each.name for each in self.log.setup.plugins if each.name not in known]
        if missing:
            raise LogError(
                f"the run was recorded with plugins that the server does not have:"
                f" {', '.join(missing)}; start it with --plugin FILE"
            )

    def timeline(self) -> bytes:
        return timeline_of_run(self.path, self.log, plugins=self.plugins)

    def nodes(self) -> bytes:
        machine = replay(self.log, plugins=self.plugins)
        return msgspec.json.encode(RecordedNodes(labels_of_nodes(machine))) + b"\n"

    def attempts(self, pod: NamespacedName) -> bytes:
        found = attempts_of(self.log, pod)
        if not found:
            raise UnknownCycle(f"pod {pod} has no scheduling attempt in this run")
        return msgspec.json.encode(Attempts(pod=pod, attempts=found)) + b"\n"

    def explanation(
        self, pod: NamespacedName, attempt: int, at_ns: int | None, view: View
    ) -> bytes:
        past = find_cycle(self.log, pod, attempt, at_ns=at_ns, plugins=self.plugins)
        if view == "matrix":
            return encoded_explanation(past.explain(), view)
        start_ns = start_of_run(self.path, self.log)
        end_ns = end_of_run(self.path, self.log)
        found = recorded_view(past, self.log, start_ns=start_ns, end_ns=end_ns)
        return encoded_explanation(found, view)


def recorded_run_endpoints(turns: TurnLoop, runs: RunCollection | None) -> list[Endpoint]:
    """Return the endpoints of what runs have recorded."""
    readers = Readers(turns)

    async def reply(
        request: Request, content: Callable[[_Opened], bytes], media_type: str = JSON
    ) -> Response:
        name = request.path_params["id"]
        path = await called_with_runs(runs, lambda found: found.path(name))
        plugins = turns.cluster.schedulers[0].world.components.options.plugins
        try:
            return await long_reply(
                request, readers, lambda: content(_Opened(path, plugins)), media_type
            )
        except UnknownCycle as error:
            raise Problem(404, str(error)) from error

    async def timeline(request: Request) -> Response:
        return await reply(request, _Opened.timeline, TIMELINE_MEDIA_TYPE)

    async def nodes(request: Request) -> Response:
        return await reply(request, _Opened.nodes)

    async def attempts(request: Request) -> Response:
        pod = pod_of(request)
        return await reply(request, lambda run: run.attempts(pod))

    async def explanation(request: Request) -> Response:
        parameters: ExplanationParameters = request.state.query
        if parameters.attempt == "now":
            raise Problem(422, _NO_PRESENT, field="attempt")
        name = request.path_params["id"]
        start_ns = await called_with_runs(
            runs, lambda found: RunFolder.open(found.path(name)).manifest.start_ns
        )
        at_ns = parameters.at_ns(start_ns)
        pod, attempt, view = pod_of(request), parameters.attempt or -1, parameters.view
        return await reply(request, lambda run: run.explanation(pod, attempt, at_ns, view))

    problems = {404: "there is no such run", 409: "the run cannot be read or replayed"}
    of_pods = problems | {404: "there is no such run, or the pod has no such attempt in it"}
    return [
        Endpoint(
            method="GET",
            path="/runs/{id}/timeline",
            summary="Get every change of nodes, pods and queue in a run as columns of deltas",
            handler=timeline,
            media_type=TIMELINE_MEDIA_TYPE,
            problems=problems,
        ),
        Endpoint(
            method="GET",
            path="/runs/{id}/nodes",
            summary="Show the labels of the nodes at the end of a run",
            handler=nodes,
            reply=RecordedNodes,
            problems=problems,
        ),
        Endpoint(
            method="GET",
            path="/runs/{id}/pods/{namespace}/{name}/attempts",
            summary="List the scheduling attempts of a pod in a run with their outcomes",
            handler=attempts,
            reply=Attempts,
            problems=of_pods,
        ),
        Endpoint(
            method="GET",
            path="/runs/{id}/pods/{namespace}/{name}/explanation",
            summary="Explain a scheduling attempt of a pod in a run",
            handler=explanation,
            query=ExplanationParameters,
            reply=(ExplanationDocument, ExplanationMatrix),
            problems=of_pods,
        ),
    ]
