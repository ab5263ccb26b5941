"""Explanation of a pod, now and in past attempts: the document of `podwright explain -o json`.

A copy of the process replays the decision log, or schedules the pod in the cluster as it is, so the
cluster continues meanwhile.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Annotated, Literal, TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from podwright.apimachinery.objects import InputError, NamespacedName, Pod, read_time
from podwright.cluster.store import POD
from podwright.online.apiserver.cluster import Cluster
from podwright.online.apiserver.control.endpoints import JSON, Endpoint, declared, endpoint
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.readers import Readers
from podwright.online.apiserver.scheduling.present_scheduler import present_scheduler
from podwright.online.apiserver.scheduling.served_scheduler import ServedScheduler
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.scheduler.assembly import UnknownPod, source_of
from podwright.scheduler.framework import Explanation
from podwright.simulation.recording import (
    NEAREST_IN_SUMMARY,
    Attempt,
    DecisionLog,
    ExplanationDocument,
    ExplanationMatrix,
    ExplanationView,
    LogError,
    UnknownCycle,
    attempts_of,
    case_text,
    explanation_matrix,
    explanation_of_pod,
    find_cycle,
    recorded_view,
    typed_explanation,
    view_of_pod,
)

View: TypeAlias = Literal["summary", "full", "matrix"]


class ExplanationParameters(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of an explanation.

    Attributes
    ----------
    attempt : int or "now", optional
        Which attempt since the configuration of the scheduler was last changed; the first is 1.
        The last one if left out. `now`: what would be decided if the pod were scheduled next; a
        pod on a node is evaluated as if it were not placed yet.
    at : str, optional
        Instead: the last attempt that had ended at this time, in RFC 3339 or since the start.
    view : str
        `summary`, `full` with the results of each plugin for each node, or `matrix`: these
        results as columns (`ExplanationMatrix`).
    """

    attempt: Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)] | Literal["now"] | None = None
    at: str | None = None
    view: View = "summary"

    def at_ns(self, start_ns: int) -> int | None:
        """Return `at`, in nanoseconds since 1970.

        Raises
        ------
        Problem
            It is not a time, or `attempt` is given too.
        """
        if self.attempt is not None and self.at is not None:
            raise Problem(422, "attempt and at: specify one of them, not both", field="at")
        if self.at is None:
            return None
        try:
            return read_time(self.at, "at", start_ns=start_ns)
        except InputError as error:
            raise Problem(422, error.errors[0].message, field="at") from error


class Attempts(msgspec.Struct, frozen=True, kw_only=True):
    """The scheduling attempts of a pod.

    Attributes
    ----------
    pod : str
        Its `namespace/name`.
    attempts : list of Attempt
        Those since the configuration of the scheduler was last changed, in their order.
    """

    pod: str
    attempts: list[Attempt]


def explanation_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoints that explain scheduling."""
    readers = Readers(turns)
    cluster = turns.cluster

    @endpoint(
        "GET",
        "/pods/{namespace}/{name}/explanation",
        reply=(ExplanationDocument, ExplanationMatrix),
        problems={
            404: "there is no such pod, or it has no such scheduling attempt",
            409: "the decision log cannot be replayed, for example because of a plugin, or a "
            "pod to explain now has finished",
        },
    )
    async def show(request: Request, query: ExplanationParameters) -> Response:
        """Explain a pod now or in a scheduling attempt, with verified remedies."""
        key = pod_of(request)
        at_ns = query.at_ns(cluster.world.start_ns)
        if query.attempt == "now" and cluster.store.get(POD, key) is None:
            raise Problem(404, f"there is no pod {key}")
        now_ns = turns.clock.now_ns()
        try:
            body = await readers.call(lambda _: _explained(cluster, key, query, at_ns, now_ns))
        except UnknownCycle as error:
            raise Problem(404, str(error)) from error
        except (UnknownPod, LogError) as error:
            raise Problem(409, str(error)) from error
        return Response(body, media_type=JSON)

    @endpoint(
        "GET",
        "/pods/{namespace}/{name}/attempts",
        problems={404: "there is no such pod", 409: "the decision log cannot be read"},
    )
    async def show_attempts(request: Request) -> Attempts:
        """List the scheduling attempts of a pod with their outcomes."""
        key = pod_of(request)
        try:
            found = await readers.call(lambda _: _attempts(cluster, key))
        except LogError as error:
            raise Problem(409, str(error)) from error
        if not found and cluster.store.get(POD, key) is None:
            raise Problem(404, f"there is no pod {key}, and none in the log of the scheduler")
        return Attempts(pod=key, attempts=found)

    return declared(show, show_attempts)


def pod_of(request: Request) -> NamespacedName:
    """Return the pod that the path of a request names."""
    return f"{request.path_params['namespace']}/{request.path_params['name']}"


def _explained(
    cluster: Cluster,
    pod: NamespacedName,
    parameters: ExplanationParameters,
    at_ns: int | None,
    now_ns: int,
) -> bytes:
    is_matrix = parameters.view == "matrix"
    if parameters.attempt == "now":
        found = _present(cluster, pod, parameters.view)
    else:
        found = _recorded(
            cluster, pod, parameters.attempt or -1, at_ns, now_ns, is_matrix=is_matrix
        )
    return encoded_explanation(found, parameters.view)


def encoded_explanation(found: ExplanationView | Explanation, view: View) -> bytes:
    """Return the document of an explanation, or the matrix of its results."""
    if isinstance(found, Explanation):
        return msgspec.json.encode(explanation_matrix(found)) + b"\n"
    return msgspec.json.encode(typed_explanation(found, has_nodes=view != "summary")) + b"\n"


def _attempts(cluster: Cluster, pod: NamespacedName) -> list[Attempt]:
    try:
        _, log = recorded_attempts(cluster, pod)
    except UnknownCycle:  # no scheduler is responsible for it
        return []
    return attempts_of(log, pod)


def _present(cluster: Cluster, pod: NamespacedName, view: View) -> ExplanationView | Explanation:
    """Explain a pod as it is; for a matrix, no remedies are searched."""
    scheduler = responsible_scheduler(cluster, pod) or cluster.schedulers[0]
    setup = scheduler.world.log.setup
    present = present_scheduler(cluster, scheduler)
    if view == "matrix":
        return explanation_of_pod(present, pod)
    return view_of_pod(
        present,
        pod,
        nearest_max=NEAREST_IN_SUMMARY if view == "summary" else None,
        present=cluster.store.get,
        seed=setup.seed,
        tie_rule=setup.tie_rule,
    )


def _recorded(
    cluster: Cluster,
    pod: NamespacedName,
    attempt: int,
    at_ns: int | None,
    now_ns: int,
    *,
    is_matrix: bool,
) -> ExplanationView | Explanation:
    """Explain a recorded attempt; for a matrix, no remedies are searched."""
    scheduler, log = recorded_attempts(cluster, pod, at_ns)
    plugins = scheduler.plugins_of(log)
    past = find_cycle(log, pod, attempt, at_ns=at_ns, plugins=plugins)
    if is_matrix:
        return past.explain()
    end_ns = now_ns if log is scheduler.world.log else log.time_of(len(log) - 1)
    return recorded_view(past, log, start_ns=log.start_ns, end_ns=end_ns)


# The decision log that has the attempts of a pod, among those of all schedulers of a cluster.


def recorded_attempts(
    cluster: Cluster, pod: NamespacedName, at_ns: int | None = None
) -> tuple[ServedScheduler, DecisionLog]:
    """Return the scheduler that attempted a pod last, and its log with that attempt.

    Parameters
    ----------
    cluster : Cluster
    pod : NamespacedName
    at_ns : int, optional
        Only attempts until this time count.

    Returns
    -------
    tuple of ServedScheduler and DecisionLog
        Without an attempt, the scheduler that is responsible for the pod and its present log; the
        first scheduler if the pod does not exist.

    Raises
    ------
    UnknownCycle
        No scheduler of the cluster is responsible for the pod.
    """
    newest: tuple[int, ServedScheduler, DecisionLog] | None = None
    for scheduler in cluster.schedulers:
        for log in reversed(scheduler.logs):
            time_ns = _last_attempt_ns(log, pod, at_ns)
            if time_ns is not None:
                if newest is None or time_ns > newest[0]:
                    newest = (time_ns, scheduler, log)
                break
    if newest is not None:
        return newest[1:]
    found = responsible_scheduler(cluster, pod)
    if found is None:
        names = ", ".join(cluster.scheduler_names)
        raise UnknownCycle(
            f"pod {pod} has no scheduling attempt: no scheduler of this cluster has its"
            f" schedulerName; there are {names}"
        )
    return found, found.logs[-1]


def _last_attempt_ns(log: DecisionLog, pod: NamespacedName, at_ns: int | None) -> int | None:
    found = log.cycles_of(pod)
    until = len(found) if at_ns is None else bisect_right(found, at_ns, key=log.time_of)
    return log.time_of(found[until - 1]) if until else None


def responsible_scheduler(cluster: Cluster, key: NamespacedName) -> ServedScheduler | None:
    """Return the scheduler of a pod, None if there is none; the first one if the pod is gone."""
    pod = cluster.store.get(Pod, key)
    if not isinstance(pod, Pod):
        return cluster.schedulers[0]
    return cluster.scheduler_of(pod.spec.scheduler_name)


# A scheduling attempt as a test that runs offline, over HTTP: `podwright debug save-case`.


class CaseParameters(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a case.

    Attributes
    ----------
    attempt : int, optional
        As for an explanation; the last one if left out.
    """

    attempt: Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)] | None = None


class SavedCase(msgspec.Struct, frozen=True, kw_only=True):
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

    @endpoint(
        "GET",
        "/pods/{namespace}/{name}/case",
        problems={
            404: "the pod has no such scheduling attempt",
            409: "the decision log cannot be replayed, or a plugin is of an installed package",
        },
    )
    async def show(request: Request, query: CaseParameters) -> SavedCase:
        """Write a scheduling attempt of a pod as a test that reproduces it offline."""
        key = pod_of(request)
        try:
            return await readers.call(lambda _: _saved(cluster, key, query.attempt or -1))
        except UnknownCycle as error:
            raise Problem(404, str(error)) from error
        except LogError as error:
            raise Problem(409, str(error)) from error

    return declared(show)


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
