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
from podwright.online.apiserver.control.endpoints import (
    JSON,
    Endpoint,
    declared,
    endpoint,
    long_reply,
)
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
    open_log,
    recorded_view,
    replay,
    start_of_run,
    timeline_of_run,
)

T = TypeVar("T")

TAR: Final = "application/x-tar"
_NO_FOLDER: Final = "there is no folder of runs; start the server with --runs FOLDER"
_PROBLEMS: Final = {
    404: "there is no such run",
    409: "the run cannot be read, or is being written",
}
_REPLAY_PROBLEMS: Final = {
    404: "there is no such run",
    409: "the run cannot be read or replayed",
}


class RunList(msgspec.Struct, frozen=True):
    """All runs, by name."""

    runs: list[RunEntry]


class _Runs:
    """The endpoints."""

    def __init__(self, runs: RunCollection | None) -> None:
        self._runs = runs

    @endpoint("GET", "/runs", problems={409: "there is no folder of runs, or it cannot be read"})
    async def list(self) -> RunList:
        """List the runs in the folder of `--runs`."""
        return RunList(await self._call(lambda runs: runs.list()))

    @endpoint("GET", "/runs/{id}", problems=_PROBLEMS)
    async def open(self, request: Request) -> RunDetails:
        """Show the inputs, the results and the files of a run."""
        name = request.path_params["id"]
        return await self._call(lambda runs: runs.details(name))

    @endpoint("GET", "/runs/{id}/download", media_type=TAR, problems=_PROBLEMS)
    async def download(self, request: Request) -> Response:
        """Download a run as a tar file."""
        name = request.path_params["id"]
        parts = await self._call(lambda runs: runs.packed(name))
        headers = {"content-disposition": 'attachment; filename="run.tar"'}
        return StreamingResponse(parts, media_type=TAR, headers=headers)

    @endpoint("DELETE", "/runs/{id}", problems=_PROBLEMS)
    async def delete(self, request: Request) -> RunList:
        """Delete a run."""
        name = request.path_params["id"]
        await self._call(lambda runs: runs.delete(name))
        return await self.list()

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
    return declared(_Runs(runs))


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
        self.log = open_log(path)
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

    @endpoint(
        "GET", "/runs/{id}/timeline", media_type=TIMELINE_MEDIA_TYPE, problems=_REPLAY_PROBLEMS
    )
    async def timeline(request: Request) -> Response:
        """Get every change of nodes, pods and queue in a run as columns of deltas."""
        return await reply(request, _Opened.timeline, TIMELINE_MEDIA_TYPE)

    @endpoint("GET", "/runs/{id}/nodes", reply=RecordedNodes, problems=_REPLAY_PROBLEMS)
    async def nodes(request: Request) -> Response:
        """Show the labels of the nodes at the end of a run."""
        return await reply(request, _Opened.nodes)

    of_pods = _REPLAY_PROBLEMS | {404: "there is no such run, or the pod has no such attempt in it"}

    @endpoint(
        "GET", "/runs/{id}/pods/{namespace}/{name}/attempts", reply=Attempts, problems=of_pods
    )
    async def attempts(request: Request) -> Response:
        """List the scheduling attempts of a pod in a run with their outcomes."""
        pod = pod_of(request)
        return await reply(request, lambda run: run.attempts(pod))

    @endpoint(
        "GET",
        "/runs/{id}/pods/{namespace}/{name}/explanation",
        reply=(ExplanationDocument, ExplanationMatrix),
        problems=of_pods,
    )
    async def explanation(request: Request, query: ExplanationParameters) -> Response:
        """Explain a scheduling attempt of a pod in a run."""
        if query.attempt == "now":
            raise Problem(422, _NO_PRESENT, field="attempt")
        name = request.path_params["id"]
        start_ns = await called_with_runs(
            runs, lambda found: RunFolder.open(found.path(name)).manifest.start_ns
        )
        at_ns = query.at_ns(start_ns)
        pod, attempt, view = pod_of(request), query.attempt or -1, query.view
        return await reply(request, lambda run: run.explanation(pod, attempt, at_ns, view))

    return declared(timeline, nodes, attempts, explanation)
