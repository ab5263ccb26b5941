"""The tables of the scheduler's run over HTTP."""

import contextlib
import gzip
import json

import pytest

from podwright.online.apiserver import ClusterClock
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of, pod

pytestmark = pytest.mark.usefixtures("answering")
V1 = "/podwright/v1"
PODS = "/api/v1/namespaces/default/pods"
SECOND = 1_000_000_000


def requesting(name, cpu):
    resources = {"resources": {"requests": {"cpu": cpu}}}
    return pod(name, containers=[{"name": "main", "image": "app", **resources}])


@pytest.fixture
def served(serve):
    """A cluster of two nodes of 4 CPUs, in which one pod was scheduled and one was not."""
    # The world begins at the very time of the clock, which a first request can be sooner than.
    clock = ClusterClock(start_ns=START_NS, read_ns=lambda: 0)
    clock.pause()
    served = serve(cluster_of(), clock)
    served.send("POST", PODS, requesting("a", "2"))
    served.send("POST", PODS, requesting("large", "1000"))
    served.eventually(f"{V1}/queue", lambda found: found["counts"]["unschedulable"] == 1)
    return served


def rows_of(served, path, *columns):
    status, found = served.send("GET", f"{V1}/{path}")
    assert status == 200, found
    chosen = [found["columns"][name] for name in columns]
    return sorted(zip(*chosen, strict=True)) if len(columns) > 1 else chosen[0]


def test_decisions_and_waits_are_those_of_the_run(served):
    assert rows_of(served, "decisions", "pod", "result", "attempt") == [
        ("a", "Scheduled", 1),
        ("large", "Unschedulable", 1),
    ]
    served.send("POST", f"{V1}/clock/step", {"duration": "5s"})
    waits = rows_of(served, "waiting-times", "pod", "outcome")
    assert waits == [("a", "Scheduled"), ("large", "Pending")]
    status, found = served.send("GET", f"{V1}/waiting-times")
    assert status == 200
    large = found["columns"]["pod"].index("large")
    assert found["columns"]["waitNs"][large] == 5 * SECOND


def test_utilization_is_that_of_all_nodes_and_of_their_shares(served):
    served.send("POST", f"{V1}/clock/step", {"duration": "1m"})
    shares = rows_of(served, "utilization", "resource", "requested", "share", "time")
    nodes = rows_of(served, "utilization/nodes", "resource", "nodes", "time")
    last = max(time for *_, time in shares)
    (cpu,) = [row for row in shares if row[0] == "cpu" and row[-1] == last]
    assert cpu[1] == 2000
    (counts,) = [row[1] for row in nodes if row[0] == "cpu" and row[-1] == last]
    assert len(counts) == 11
    tenth = int(10 * 2 * cpu[2])
    assert counts == [1 if place in (0, tenth) else 0 for place in range(11)]


def test_pending_pods_are_counted_by_reason(served):
    served.send("POST", f"{V1}/clock/step", {"duration": "1m"})
    assert ("Insufficient cpu", 1) in rows_of(served, "pending", "reason", "pods")
    assert rows_of(served, "preemptions", "victim") == []
    assert "cpu" in rows_of(served, "fragmentation", "resource")


def test_a_limit_leaves_the_last_rows(served):
    _, every = served.send("GET", f"{V1}/decisions")
    _, last = served.send("GET", f"{V1}/decisions?limit=1")
    assert last["rows"] == every["rows"] == 2
    assert last["columns"] == {key: values[-1:] for key, values in every["columns"].items()}
    _, none = served.send("GET", f"{V1}/decisions?limit=0")
    assert not any(none["columns"].values())


def test_tables_are_compressed_for_clients_that_accept_it(served):
    with contextlib.closing(served.connection()) as connection:
        connection.request("GET", f"{V1}/decisions", headers={"Accept-Encoding": "gzip"})
        response = connection.getresponse()
        content = response.read()
    assert response.getheader("content-encoding") == "gzip"
    assert json.loads(gzip.decompress(content))["rows"] == 2


@pytest.mark.parametrize(
    ("path", "status", "field"),
    [
        ("decisions?limit=-1", 422, "limit"),
        ("decisions?sample=1m", 400, "sample"),
        ("utilization?sample=0s", 422, "sample"),
        ("utilization?sample=often", 422, "sample"),
        ("pending?samples=1m", 400, "samples"),
    ],
)
def test_wrong_parameters_are_errors(unchanged, path, status, field):
    found_status, found = unchanged.send("GET", f"{V1}/{path}")
    assert (found_status, found["field"]) == (status, field)
