"""What the runs of `--runs` have recorded: timeline, labels of nodes, attempts, explanations.

The replies are those of the endpoints of the cluster with the same names, so what shows a cluster
shows a run. A reader process replays the decision log of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from podwright.apimachinery.objects import NamespacedName
from podwright.online.apiserver.control.endpoints import JSON, Endpoint
from podwright.online.apiserver.control.long_replies import long_reply
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.control.runs import called_with_runs
from podwright.online.apiserver.control.scheduling.explanation import (
    Attempts,
    ExplanationParameters,
    View,
    encoded_explanation,
    pod_of,
)
from podwright.online.apiserver.readers import Readers
from podwright.online.apiserver.records.run_collection import RunCollection
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.scheduler.framework import Plugin
from podwright.simulation.recording import (
    TIMELINE_MEDIA_TYPE,
    DecisionLog,
    ExplanationDocument,
    ExplanationMatrix,
    LogError,
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
