"""The observed calls of plugins of a served cluster."""

import contextlib
from typing import Any

import pytest

from podwright.online.apiserver import Cluster, ClusterClock, ClusterOptions, new_cluster
from podwright.online.apiserver.generated_nodes import generated_nodes
from podwright.online.apiserver.tests.conftest import SERVER, START_NS, pod
from podwright.scheduler.framework import Cycle, NodeView, Plugin, Status
from podwright.scheduler.machine import SchedulerOptions
from podwright.testing import make_pod

V1 = "/podwright/v1"
PODS = "/api/v1/namespaces/default/pods"


class RaisesForB(Plugin):
    name = "RaisesForB"

    def filter(self, cycle, node):
        if cycle.pod.metadata.name == "b":
            raise KeyError("missing")
        return Status()

    def score(self, cycle, node):
        return 1

    def reserve(self, cycle, node_name):
        return Status.error("no room") if cycle.pod.metadata.name == "c" else Status()


def cluster_with(*plugins, observes=True, has_scheduler=True) -> Cluster:
    cluster = new_cluster(
        SchedulerOptions(plugins=plugins),
        now_ns=START_NS,
        options=ClusterOptions(observes_plugins=observes, has_scheduler=has_scheduler),
        server_options=SERVER,
    )
    cluster.world.add(*generated_nodes(2))
    return cluster


def paused(serve, cluster):
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    return serve(cluster, clock)


def scheduled(served, name):
    assert served.send("POST", PODS, pod(name))[0] == 201
    served.eventually(f"{PODS}/{name}", lambda found: found["status"].get("conditions"))


def test_timings_name_the_calls_of_user_and_in_tree_plugins(serve):
    served = paused(serve, cluster_with(RaisesForB))
    scheduled(served, "a")
    status, found = served.send("GET", f"{V1}/plugins/timings")
    assert (status, found["isObserving"]) == (200, True)
    rows = {(row["plugin"], row["point"]): row for row in found["timings"]}
    filtered = rows["RaisesForB", "Filter"]
    assert (filtered["callCount"], filtered["statuses"]) == (2, {"Success": 2})
    assert filtered["longestPod"] == "default/a"
    assert filtered["totalNs"] >= filtered["longestNs"] > 0
    assert ("DefaultBinder", "Bind") in rows
    with contextlib.closing(served.connection()) as connection:
        connection.request("GET", f"{V1}/metrics")
        text = connection.getresponse().read().decode()
    labels = '{extension_point="Filter",plugin="RaisesForB",status="Success"}'
    assert f"scheduler_plugin_execution_duration_seconds_count{labels} 2\n" in text
    status, found = served.send("DELETE", f"{V1}/plugins/timings")
    assert (status, found["timings"]) == (200, [])


def test_an_exception_is_kept_with_pod_attempt_node_and_traceback(serve):
    served = paused(serve, cluster_with(RaisesForB))
    scheduled(served, "b")
    scheduled(served, "c")
    status, found = served.send("GET", f"{V1}/plugins/failures")
    assert (status, found["failureCount"]) == (200, 2)
    returned, raised = found["failures"]
    assert (returned["point"], returned["message"]) == ("Reserve", "no room")
    assert (returned["traceback"], returned["node"] in {"node-0", "node-1"}) == ("", True)
    assert (raised["pod"], raised["attempt"], raised["point"]) == ("default/b", 1, "Filter")
    assert (raised["plugin"], raised["message"]) == ("RaisesForB", "KeyError: 'missing'")
    assert raised["time"].startswith("2027-01-15T08:00:00")
    lines = raised["traceback"].splitlines()
    assert lines[1].endswith(", in filter")
    assert 'raise KeyError("missing")' in raised["traceback"]
    path = f"{V1}/pods/default/b/explanation?attempt={raised['attempt']}"
    _, explained = served.send("GET", path)
    assert "KeyError: 'missing'" in explained["message"]
    _, found = served.send("GET", f"{V1}/plugins/failures?pod=default/b")
    assert [each["number"] for each in found["failures"]] == [1]
    _, found = served.send("GET", f"{V1}/plugins/failures?plugin=Other")
    assert (found["failures"], found["failureCount"]) == ([], 2)


def test_only_the_last_failures_are_kept():
    cluster = cluster_with(RaisesForB)
    profile = cluster.world.machine.profiles["default-scheduler"]
    plugin = next(each for each in profile.filter if each.name == "RaisesForB")
    cycle = Cycle(make_pod("b"), cluster.world.machine.cluster)
    for _ in range(300):
        with pytest.raises(KeyError):
            plugin.filter(cycle, NodeView(cycle.cluster, 0))
    assert cluster.monitor.failure_count == 300
    assert [each.number for each in cluster.monitor.failures] == list(range(101, 301))


def test_the_observation_is_started_and_ended_by_requests(serve):
    served = paused(serve, cluster_with(RaisesForB, observes=False))
    scheduled(served, "a")
    assert served.send("GET", f"{V1}/plugins/timings")[1] == {"isObserving": False, "timings": []}
    path = f"{V1}/plugins/observation"
    assert served.send("PUT", path, {"isObserving": True}) == (200, {"isObserving": True})
    scheduled(served, "d")
    _, found = served.send("GET", f"{V1}/plugins/timings")
    count = sum(row["callCount"] for row in found["timings"])
    assert count > 0
    assert served.send("PUT", path, {"isObserving": False}) == (200, {"isObserving": False})
    scheduled(served, "e")
    _, found = served.send("GET", f"{V1}/plugins/timings")
    assert sum(row["callCount"] for row in found["timings"]) == count


def test_an_observed_cluster_decides_as_one_that_is_not(serve):
    nodes = []
    for observes in (False, True):
        served = paused(serve, cluster_with(RaisesForB, observes=observes))
        for name in "abcdef":
            scheduled(served, name)
        _, found = served.send("GET", PODS)
        nodes.append([each["spec"].get("nodeName") for each in found["items"]])
    assert nodes[0] == nodes[1]


def test_the_observation_goes_on_with_another_scheduler(serve):
    served = paused(serve, cluster_with(RaisesForB))
    cluster = served.cluster
    cluster.change_scheduler(SchedulerOptions(plugins=(RaisesForB,)))
    assert cluster.monitor.is_observing
    scheduled(served, "b")
    assert served.send("GET", f"{V1}/plugins/failures")[1]["failureCount"] == 1


def test_without_a_scheduler_there_is_nothing_to_observe(serve):
    served = paused(serve, cluster_with(has_scheduler=False, observes=False))
    status, found = served.send("PUT", f"{V1}/plugins/observation", {"isObserving": True})
    assert (status, found["status"]) == (409, 409)


DEEP: dict[str, Any] = {}
exec("".join(f"def f{n}(error): f{n + 1}(error)\n" for n in range(30)), DEEP)
exec("def f30(error): raise error", DEEP)

ODD_PLACE: Any = ("f", 1, 1, 5)


def failing_filter(error):
    class Failing(Plugin):
        name = "Failing"

        def filter(self, cycle, node):
            return DEEP["f0"](error)

    return Failing


@pytest.mark.parametrize(
    ("error", "message", "frames"),
    [
        (ValueError("x" * 3_000), f"ValueError: {'x' * 1_988}", 20),
        (ValueError("short"), "ValueError: short", 20),
        # The library cannot show it.
        (SyntaxError("odd", ODD_PLACE), "SyntaxError: odd (f, line 1)", 0),
    ],
)
def test_messages_and_tracebacks_of_failures_have_a_limit(error, message, frames):
    cluster = cluster_with(failing_filter(error))
    machine = cluster.world.machine
    plugin = next(
        each for each in machine.profiles["default-scheduler"].filter if each.name == "Failing"
    )
    cycle = Cycle(make_pod("b"), machine.cluster)
    with pytest.raises(type(error)):
        plugin.filter(cycle, NodeView(cycle.cluster, 0))
    (found,) = cluster.monitor.failures
    assert found.message == message
    assert found.traceback.count('File "') == frames
    assert found.traceback.rstrip("\n").rpartition("\n")[2].startswith(message)
    assert (found.number, found.pod, found.plugin, found.point, found.node) == (
        1, "default/b", "Failing", "Filter", cluster.world.machine.cluster.nodes.names[0],
    )  # fmt: skip


def test_an_observation_is_started_once_ended_and_forgotten():
    monitor: Any = cluster_with(RaisesForB, observes=False).monitor
    metrics = monitor._world.machine.metrics
    before = monitor.timings
    monitor.clear()
    assert monitor.timings is not before
    assert metrics.plugin_timings is None
    for _ in range(2):
        monitor.start()
    assert len(monitor._ends) == len(monitor._world.machine.profiles)
    assert metrics.plugin_timings is monitor.timings
    monitor.clear()
    assert metrics.plugin_timings is monitor.timings
    monitor.calls.append(None)
    monitor.stop()
    assert (monitor.is_observing, monitor.calls) == (False, [])
