"""Benchmarks of the cluster of `podwright up` without a socket: requests in, bindings out.

A turn executes 50 requests, lets the world catch up, and polls a watch of all pods, as the turn
loop of the server does. The scheduler, the controllers, managedFields and Events are on; there are
5,000 nodes and no simulated kubelets, which would change each pod once more after it is bound.
"""

from __future__ import annotations

import time

from tests.perf.api import ADMIN, START_NS, template_pod
from tests.perf.case import PODS_PER_SECOND, Case

from podwright.cli.process_exit import reduced_collection
from podwright.cluster.api.endpoints import HttpReply, HttpRequest, Watch, bare_options
from podwright.online.apiserver import Cluster, ClusterOptions, generated_nodes, new_cluster
from podwright.scheduler.machine import SchedulerOptions

_NODES = 5_000
_PODS = 10_000
_WARM_UP = 500
_PER_TURN = 50
_TURN_NS = 10_000_000
_SECOND_NS = 1_000_000_000


def _cluster() -> Cluster:
    cluster = new_cluster(
        SchedulerOptions(),
        now_ns=START_NS,
        options=ClusterOptions(has_lifecycle=False),
        server_options=bare_options(),
    )
    cluster.world.add(*generated_nodes(_NODES))
    return cluster


def _catch_up(cluster: Cluster, now_ns: int) -> None:
    is_done = False
    while not is_done:
        with cluster.store.batch():
            is_done = cluster.catch_up(now_ns, lambda: False)


def _bind(cluster: Cluster, watch: Watch, requests: list[HttpRequest], now_ns: int) -> int:
    """Create pods, and return the time of the cluster when all were seen bound."""
    bound, first = 0, 0
    while bound < len(requests):
        now_ns += _TURN_NS
        with cluster.store.batch():
            for request in requests[first : first + _PER_TURN]:
                reply = cluster.server.handle(request, ADMIN, now_ns)
                assert isinstance(reply, HttpReply), "a creation is not a watch"
                assert reply.status == 201, reply.body
            first += _PER_TURN
            cluster.catch_up(now_ns, lambda: False)
        bound += sum(b'"nodeName":"' in line for line in watch.poll(now_ns))
    return now_ns


def inprocess_5000() -> float:
    """Pods of one template, created by requests without a socket and bound to 5,000 nodes."""
    with reduced_collection():
        cluster = _cluster()
        now_ns = START_NS + 60 * _SECOND_NS
        _catch_up(cluster, now_ns)
        requests = [template_pod(number) for number in range(_WARM_UP + _PODS)]
        version = cluster.store.resource_version
        query = f"watch=1&resourceVersion={version}"
        watch = cluster.server.handle(HttpRequest("GET", "/api/v1/pods", query), ADMIN, now_ns)
        assert isinstance(watch, Watch), "a watch was requested"
        now_ns = _bind(cluster, watch, requests[:_WARM_UP], now_ns)
        start = time.process_time()
        _bind(cluster, watch, requests[_WARM_UP:], now_ns)
        return _PODS / (time.process_time() - start)


CASES = (
    Case(
        name="api_inprocess_5000",
        unit=PODS_PER_SECOND,
        measure=inprocess_5000,
        target=8_000,
        runs=3,
    ),
)
