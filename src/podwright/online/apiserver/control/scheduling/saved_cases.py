"""A scheduling attempt as a test that runs offline, over HTTP: `podwright debug save-case`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from podwright.apimachinery.objects import NamespacedName
from podwright.online.apiserver.cluster import Cluster
from podwright.online.apiserver.control.endpoints import Endpoint, json_response
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.control.scheduling.recorded_attempts import recorded_attempts
from podwright.online.apiserver.readers import Readers
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.scheduler.assembly import source_of
from podwright.simulation.recording import LogError, UnknownCycle, case_text, find_cycle


class CaseParameters(msgspec.Struct, frozen=True):
    """The parameters of a case.

    Attributes
    ----------
    attempt : int, optional
        As for an explanation; the last one if left out.
    """

    attempt: Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)] | None = None


class SavedCase(msgspec.Struct, frozen=True):
    """An attempt as a test.

    Attributes
    ----------
    pod : str
        The `namespace/name`.
    attempt : int
    text : str
        The text of the test file, with the recorded state and the plugins; pytest runs it with
        podwright alone.
    """

    pod: str
    attempt: int
    text: str


def saved_case_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoint of the cases."""
    readers = Readers(turns)
    cluster = turns.cluster

    async def show(request: Request) -> Response:
        parameters: CaseParameters = request.state.query
        key = f"{request.path_params['namespace']}/{request.path_params['name']}"
        try:
            found = await readers.call(lambda _: _saved(cluster, key, parameters.attempt or -1))
        except UnknownCycle as error:
            raise Problem(404, str(error)) from error
        except LogError as error:
            raise Problem(409, str(error)) from error
        return json_response(found)

    return [
        Endpoint(
            method="GET",
            path="/pods/{namespace}/{name}/case",
            summary="Write a scheduling attempt of a pod as a test that reproduces it offline",
            handler=show,
            query=CaseParameters,
            reply=SavedCase,
            problems={
                404: "the pod has no such scheduling attempt",
                409: "the decision log cannot be replayed, or a plugin is of an installed package",
            },
        )
    ]


def _saved(cluster: Cluster, pod: NamespacedName, attempt: int) -> SavedCase:
    scheduler, log = recorded_attempts(cluster, pod)
    plugins = scheduler.plugins_of(log)
    sources: dict[str, str] = {}
    for plugin in plugins:
        source = source_of(plugin)
        if source is None:
            raise LogError(f"plugin {plugin.name} is of an installed package, not of a file")
        sources[source.file] = source.text
    past = find_cycle(log, pod, attempt, plugins=plugins)
    text = case_text(log, past, plugins=plugins, sources=sources)
    return SavedCase(pod=pod, attempt=past.attempt, text=text)
