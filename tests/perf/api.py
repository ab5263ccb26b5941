"""Benchmarks of the API: from the bytes of requests to the bytes of replies, without a socket.

The server has the default admission plugins and keeps `managedFields`; the store is in memory. The
garbage collector is set as the command line sets it.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from functools import wraps
from typing import Final

import msgspec
from tests.perf import templates
from tests.perf.case import OPERATIONS_PER_SECOND, SHARE, TIMES, Case

from podwright.cli.process_exit import reduced_collection
from podwright.cluster.api.endpoints import (
    BARE_TOKENS,
    ApiServer,
    HttpReply,
    HttpRequest,
    Watch,
    bare_options,
    bare_store,
)

START_NS = 1_767_225_600_000_000_000
ADMIN = BARE_TOKENS["admin-token"]
_HEADERS = {
    "accept": "application/json",
    "content-type": "application/json",
    "user-agent": "bench/v1 (linux/amd64)",
}
_APPLY_HEADERS = _HEADERS | {"content-type": "application/apply-patch+yaml"}
_PODS = "/api/v1/namespaces/default/pods"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
_PAGE = 500
_PAGES, _ROUNDS = 400, 4
_SMALL, _LARGE = 1_000, 100_000
_WATCHERS = 100
_CHANGES = 2_000


def _server() -> ApiServer:
    return ApiServer(bare_store(START_NS), bare_options())


def _post(path: str, document: templates.Document) -> HttpRequest:
    return HttpRequest("POST", path, "", _HEADERS, msgspec.json.encode(document))


def template_pod(number: int) -> HttpRequest:
    """Return a pod that differs from the others in its name only."""
    document = templates.pod_document(labels={"app": "web", "pod-template-hash": "5d4f8c7b9"})
    document["metadata"]["name"] = f"web-5d4f8c7b9-{number}"
    return _post(_PODS, document)


def distinct_pod(number: int) -> HttpRequest:
    """Return a pod whose labels, requests and environment no other pod has."""
    document = templates.pod_document(
        labels={"app": f"app-{number}", "tier": f"tier-{number}"},
        cpu=f"{100 + number}m",
        memory=f"{500 + number}Mi",
    )
    document["metadata"]["name"] = f"pod-{number}"
    document["spec"]["containers"][0]["env"] = [
        {"name": "NUMBER", "value": str(number)},
        {"name": f"ONLY_{number}", "value": "1"},
    ]
    return _post(_PODS, document)


def _rate(requests: list[HttpRequest], status: int, server: ApiServer) -> float:
    """Return how many requests are executed in a second, each a millisecond after the last."""
    start = time.process_time()
    for number, request in enumerate(requests):
        reply = server.handle(request, ADMIN, START_NS + number * 1_000_000)
        assert isinstance(reply, HttpReply), "these requests are not watches"
        assert reply.status == status, reply.body
    return len(requests) / (time.process_time() - start)


def create_template() -> float:
    """20,000 pods of one template created."""
    return _rate([template_pod(number) for number in range(20_000)], 201, _server())


def create_distinct() -> float:
    """5,000 pods created whose labels, requests and environment differ in their values."""
    return _rate([distinct_pod(number) for number in range(5_000)], 201, _server())


def pod_of_its_own(number: int) -> HttpRequest:
    """Return a distinct pod with a field that no other pod has."""
    request = distinct_pod(number)
    annotation = b'"annotations":{"example.com/number-%d":"x"},"labels"' % number
    body = request.body.replace(b'"labels"', annotation, 1)
    return msgspec.structs.replace(request, body=body)


_starts: Final = itertools.count(0, 5_000)
"""Of the pods of each run: specs are remembered by the process, not by a server."""


def create_in_full() -> float:
    """5,000 pods created that have no template, since the form of each body is its own."""
    start = next(_starts)
    pods = [pod_of_its_own(number) for number in range(start, start + 5_000)]
    return _rate(pods, 201, _server())


def _deployment(number: int, replicas: int, image: str) -> HttpRequest:
    labels = {"app": f"app-{number}"}
    spec = templates.pod_document()["spec"]
    spec["containers"][0]["image"] = image
    document = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"app-{number}", "namespace": "default", "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
    path = f"{_DEPLOYMENTS}/app-{number}"
    body = msgspec.json.encode(document)
    return HttpRequest("PATCH", path, "fieldManager=bench", _APPLY_HEADERS, body)


def apply() -> float:
    """4,000 apply requests of 500 Deployments: half change the image, half change nothing."""
    server, count = _server(), 500
    _rate([_deployment(number, 3, "image:0") for number in range(count)], 201, server)
    requests = []
    for turn in range(1, 5):
        changes = [_deployment(number, 3, f"image:{turn}") for number in range(count)]
        for change in changes:
            requests += [change, change]
    return _rate(requests, 200, server)


class _Pages:
    """Lists the pods of a server in pages, again and again, with a write before each page.

    Parameters
    ----------
    count : int
        The number of pods.

    Attributes
    ----------
    seconds : list of float
        How long each full page took. The last page of a list is shorter.
    """

    def __init__(self, count: int) -> None:
        self._server = _server()
        self._count = count
        self._query = f"limit={_PAGE}"
        self.seconds: list[float] = []
        for number in range(count):
            self._server.handle(template_pod(number), ADMIN, START_NS)

    def read(self) -> None:
        """Create a pod, and read the next page."""
        self._server.handle(template_pod(self._count), ADMIN, START_NS)
        self._count += 1
        request = HttpRequest("GET", _PODS, self._query, _HEADERS)
        start = time.process_time()
        reply = self._server.handle(request, ADMIN, START_NS)
        spent = time.process_time() - start
        assert isinstance(reply, HttpReply), "a list is not a watch"
        assert reply.status == 200, reply.body
        page = msgspec.json.decode(reply.body)
        if len(page["items"]) == _PAGE:
            self.seconds.append(spent)
        token = page["metadata"].get("continue", "")
        self._query = f"limit={_PAGE}&continue={token}" if token else f"limit={_PAGE}"

    @property
    def typical_seconds(self) -> float:
        """The least of the medians of several rounds, which other processes affect least."""
        kept = self.seconds[len(self.seconds) % _ROUNDS :]
        size = len(kept) // _ROUNDS
        rounds = [kept[size * index : size * (index + 1)] for index in range(_ROUNDS)]
        return min(map(statistics.median, rounds))


def list_page() -> float:
    """The time of a page of 500 of 100,000 pods under writes, in times of that of 1,000 pods."""
    small, large = _Pages(_SMALL), _Pages(_LARGE)
    for _ in range(_PAGES):  # in turn, so that other load affects both
        small.read()
        large.read()
    return large.typical_seconds / small.typical_seconds


def list_pages() -> float:
    """Pages of 500 of 50,000 pods in a second, under writes."""
    pages = _Pages(50_000)
    for _ in range(_PAGES):
        pages.read()
    return 1 / pages.typical_seconds


def watch_fanout() -> float:
    """The share of a core for 100 watchers of 1,000 changes a second, without the writes."""
    server = _server()
    watches = []
    for _ in range(_WATCHERS):
        request = HttpRequest("GET", _PODS, "watch=1&resourceVersion=1", _HEADERS)
        watch = server.handle(request, ADMIN, START_NS)
        assert isinstance(watch, Watch), "a watch was requested"
        watch.poll(START_NS)
        watches.append(watch)
    spent, seen = 0.0, 0
    for first in range(0, _CHANGES, 10):  # a turn of 10 ms
        for number in range(first, first + 10):
            server.handle(template_pod(number), ADMIN, START_NS)
        start = time.process_time()
        for watch in watches:
            seen += len(watch.poll(START_NS))
        spent += time.process_time() - start
    assert seen == _WATCHERS * _CHANGES, f"{seen} events"
    return spent / (_CHANGES / 1_000)


def _reduced(measure: Callable[[], float]) -> Callable[[], float]:
    """Return a measurement with the garbage collector as the command line sets it."""

    @wraps(measure)
    def measured() -> float:
        with reduced_collection():
            return measure()

    return measured


def _rate_case(name: str, measure: Callable[[], float], target: float | None) -> Case:
    unit = OPERATIONS_PER_SECOND
    return Case(name=name, unit=unit, measure=_reduced(measure), target=target, runs=3)


CASES = (
    _rate_case("api_create_template", create_template, 20_000),
    _rate_case("api_create_distinct", create_distinct, 3_000),
    _rate_case("api_create_in_full", create_in_full, None),
    _rate_case("api_apply", apply, 3_000),
    _rate_case("api_list_pages_of_50000", list_pages, None),
    Case(name="api_list_page", unit=TIMES, measure=_reduced(list_page), target=1.3, runs=1),
    Case(name="api_watch_fanout", unit=SHARE, measure=_reduced(watch_fanout), target=0.25, runs=3),
)
