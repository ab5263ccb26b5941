"""Several schedulers in one cluster, each for the pods that have its schedulerNames."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable

import msgspec
import pytest

from podwright.apimachinery.objects import InputError
from podwright.cluster.api.endpoints import HttpReply
from podwright.online.apiserver import (
    Cluster,
    ClusterClock,
    RunningScheduler,
    TurnLoop,
    new_cluster,
)
from podwright.online.apiserver.control.scheduling.explanation import recorded_attempts
from podwright.online.apiserver.generated_nodes import generated_nodes
from podwright.online.apiserver.scheduling.present_scheduler import present_scheduler
from podwright.online.apiserver.scheduling.running_scheduler import InitialState
from podwright.online.apiserver.tests.conftest import SERVER, START_NS, pod, request
from podwright.scheduler.assembly import plugins_from
from podwright.scheduler.config import read_configuration
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.recording import UnknownCycle
from podwright.simulation.recording.log import decision_log

V1 = "/podwright/v1"
PODS = "/api/v1/namespaces/default/pods"
SECOND_NS = 1_000_000_000


def options_of(*names: str, **profile: object) -> SchedulerOptions:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": name, **profile} for name in names],
    }
    source = f"{names[0]}.yaml"
    configuration = read_configuration(document, source=source)
    return SchedulerOptions(configuration=configuration, source=source)


def cluster_with(*more: SchedulerOptions, nodes: int = 2) -> Cluster:
    cluster = new_cluster(
        SchedulerOptions(source="first.yaml"),
        *((each, None) for each in more),
        now_ns=START_NS,
        server_options=SERVER,
    )
    cluster.world.add(*generated_nodes(nodes))
    return cluster


def create(cluster: Cluster, name: str, scheduler: str = "", cpu: str = "1") -> None:
    requests = {"resources": {"requests": {"cpu": cpu}}}
    spec = {"containers": [{"name": "main", "image": "app", **requests}]}
    body = pod(name, **spec, **({"schedulerName": scheduler} if scheduler else {}))
    reply = cluster.handle(request("POST", PODS, body), cluster.world.now_ns)
    assert isinstance(reply, HttpReply)
    assert reply.status == 201


def settle(cluster: Cluster, now_ns: int) -> None:
    while not cluster.catch_up(now_ns, lambda: False):
        pass


def short_slice() -> Callable[[], bool]:
    """Return a function that ends a slice at its fifth call, in the middle of a round."""
    calls = itertools.count()
    return lambda: next(calls) > 3


def events_of(cluster: Cluster, reason: str) -> dict[str, str]:
    """Return which component reported a reason, by the name of the pod."""
    reply = cluster.handle(
        request("GET", "/api/v1/namespaces/default/events"), cluster.world.now_ns
    )
    assert isinstance(reply, HttpReply)
    return {
        each["involvedObject"]["name"]: each.get("reportingComponent")
        for each in json.loads(b"".join((reply.body, *(reply.rest or ()))))["items"]
        if each["reason"] == reason
    }


def test_each_pod_is_scheduled_by_the_scheduler_that_has_its_name():
    packed = {
        "pluginConfig": [
            {
                "name": "NodeResourcesFit",
                "args": {
                    "scoringStrategy": {
                        "type": "MostAllocated",
                        "resources": [{"name": "cpu", "weight": 1}],
                    }
                },
            }
        ],
        "plugins": {
            "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]}
        },
    }
    cluster = cluster_with(options_of("packing", **packed), nodes=4)
    for number in range(4):
        create(cluster, f"spread-{number}")
        settle(cluster, START_NS)
    for number in range(4):
        create(cluster, f"packed-{number}", "packing")
        settle(cluster, START_NS)
    create(cluster, "orphan", "missing")
    settle(cluster, START_NS + 600 * SECOND_NS)
    nodes = cluster.world.node_of
    assert len({nodes[f"default/spread-{number}"] for number in range(4)}) == 4
    assert len({nodes[f"default/packed-{number}"] for number in range(4)}) == 1
    assert "default/orphan" not in nodes
    first, second = cluster.schedulers
    assert {name.partition("-")[0] for _, name in first.logs[0].cycles()} == {"default/spread"}
    assert {name.partition("-")[0] for _, name in second.logs[0].cycles()} == {"default/packed"}
    scheduled = events_of(cluster, "Scheduled")
    assert scheduled["packed-0"] == "packing"
    assert scheduled["spread-0"] == "default-scheduler"


def test_schedulers_that_compete_overcommit_no_node():
    cluster = cluster_with(options_of("second"), options_of("third"), nodes=3)
    names = ["default-scheduler", "second", "third"]
    (node, *_) = cluster.world.nodes
    per_node = int(node.status.allocatable["cpu"])
    for number in range(3 * per_node + 9):
        create(cluster, f"web-{number}", names[number % 3])
    while not cluster.catch_up(START_NS, short_slice()):
        pass
    nodes = list(cluster.world.node_of.values())
    assert {nodes.count(name) for name in set(nodes)} == {per_node}
    assert len(nodes) == 3 * per_node
    bound = [
        sum(len(each.logs[0].cycles_of(pod)) > 0 for pod in cluster.world.node_of)
        for each in cluster.schedulers
    ]
    assert min(bound) > 0


def test_a_scheduler_with_much_to_do_does_not_delay_another():
    cluster = cluster_with(options_of("second"))
    settle(cluster, START_NS)
    for number in range(200):
        create(cluster, f"many-{number}", cpu="10m")
    create(cluster, "one", "second")
    while "default/one" not in cluster.world.node_of:
        cluster.catch_up(START_NS, short_slice())
    assert len(cluster.world.node_of) < 150


def test_a_reader_decides_as_the_scheduler_that_it_is_given():
    cluster = cluster_with(options_of("packing"))
    settle(cluster, START_NS + SECOND_NS)
    create(cluster, "web", "packing")
    second = present_scheduler(cluster, cluster.schedulers[1])
    assert second.explain("default/web").decision.node
    assert present_scheduler(cluster).explain("default/web").decision.ignored


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ["a", "default-scheduler"],
            'a.yaml: profiles[1].schedulerName: Duplicate value: "default-scheduler": the'
            " scheduler of first.yaml has it already",
        ),
        (["default-scheduler"], "profiles[0].schedulerName"),
    ],
)
def test_two_schedulers_of_one_name_are_rejected(names, message):
    with pytest.raises(InputError) as raised:
        cluster_with(options_of(*names))
    assert message in str(raised.value)


def test_a_configuration_with_the_name_of_another_scheduler_is_rejected():
    cluster = cluster_with(options_of("second"))
    with pytest.raises(InputError, match=r"second\.yaml has it already"):
        cluster.change_scheduler(options_of("first", "second"))
    assert cluster.scheduler_names == ("default-scheduler", "second")
    cluster.change_scheduler(options_of("first"))
    assert cluster.scheduler_names == ("first", "second")
    create(cluster, "web", "first")
    create(cluster, "other", "second")
    settle(cluster, START_NS)
    assert set(cluster.world.node_of) == {"default/web", "default/other"}


def custom(name: str) -> type[Plugin]:
    """Return a plugin of a file, which passes all nodes."""
    text = (
        "import podwright as pw\n"
        f"class {name}(pw.Plugin):\n"
        f"    name = '{name}'\n"
        "    def filter(self, cycle, node):\n"
        "        return pw.Status()\n"
    )
    (found,) = plugins_from(text, source=f"{name}.py")
    return found


def test_the_logs_of_the_last_ten_configurations_are_kept_with_their_plugins():
    cluster = cluster_with(options_of("second"))
    classes = [custom(f"Custom{number}") for number in range(12)]
    for each in classes:
        options = msgspec.structs.replace(options_of("first"), plugins=(each,))
        cluster.change_scheduler(options)
    changed, other = cluster.schedulers
    assert [changed.plugins_of(log) for log in changed.logs] == [(each,) for each in classes[-10:]]
    assert changed.logs[-1] is changed.world.log
    assert [other.plugins_of(log) for log in other.logs] == [()]


def test_the_log_of_a_later_configuration_leaves_its_checkpoints_to_the_driver(monkeypatch):
    monkeypatch.setattr(decision_log, "CHECKPOINT_EVENTS", 2)
    cluster = cluster_with()
    cluster.change_scheduler(options_of("default-scheduler"))
    create(cluster, "web")
    settle(cluster, START_NS)
    (scheduler,) = cluster.schedulers
    log = scheduler.world.log
    log.flush()
    before = len(log.checkpoints)
    assert len(log) > 4
    scheduler.write_checkpoint()
    assert (before, len(log.checkpoints)) == (0, 1)


def test_plugins_that_one_scheduler_cannot_use_change_none():
    needed, replacement = custom("Needed"), custom("Replacement")
    enabled = {"multiPoint": {"enabled": [{"name": "Needed"}]}}
    second = msgspec.structs.replace(options_of("second", plugins=enabled), plugins=(needed,))
    cluster = cluster_with(second)
    before = [each.options for each in cluster.schedulers]

    async def change():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        running = asyncio.create_task(turns.run())
        try:
            await RunningScheduler(turns).change_plugins([replacement])
        finally:
            turns.stop()
            await running

    with pytest.raises(InputError, match="Needed"):
        asyncio.run(change())
    assert [each.options for each in cluster.schedulers] == before


def test_attempts_are_found_in_the_log_of_the_scheduler_that_made_them():
    cluster = cluster_with(options_of("second"))
    create(cluster, "large", "second", cpu="1000")
    settle(cluster, START_NS)
    scheduler, log = recorded_attempts(cluster, "default/large")
    assert scheduler is cluster.schedulers[1]
    (end,) = log.cycles_of("default/large")
    assert log.time_of(end) == START_NS
    # The pod is created again for the first scheduler.
    path = f"{PODS}/large"
    cluster.handle(request("DELETE", path, query="gracePeriodSeconds=0"), START_NS)
    settle(cluster, START_NS + SECOND_NS)
    create(cluster, "large", cpu="1000")
    settle(cluster, START_NS + 2 * SECOND_NS)
    assert recorded_attempts(cluster, "default/large")[0] is cluster.schedulers[0]
    earlier = recorded_attempts(cluster, "default/large", START_NS)
    assert earlier[0] is cluster.schedulers[1]
    create(cluster, "orphan", "missing")
    with pytest.raises(UnknownCycle, match="schedulerName; there are default-scheduler, second"):
        recorded_attempts(cluster, "default/orphan")


def test_a_reset_restarts_every_scheduler():
    cluster = cluster_with(options_of("second"))
    settle(cluster, START_NS)
    initial = InitialState(cluster)
    create(cluster, "large", "second", cpu="1000")
    settle(cluster, START_NS)
    initial.restore(cluster)
    settle(cluster, START_NS)
    assert [len(each.logs) for each in cluster.schedulers] == [2, 2]
    assert not cluster.schedulers[1].logs[-1].cycles_of("default/large")
    create(cluster, "web", "second")
    settle(cluster, START_NS)
    assert set(cluster.world.node_of) == {"default/web"}


CHOOSING = (
    "queue", "metrics", "timeline", "state", "configuration", "plugins", "plugins/timings",
    "plugins/failures", "decisions", "waiting-times", "utilization", "utilization/nodes",
    "fragmentation", "pending", "preemptions",
)  # fmt: skip


def test_requests_choose_a_scheduler_by_its_name(serve):
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    served = serve(cluster_with(options_of("second")), clock)
    requests = {"resources": {"requests": {"cpu": "1000"}}}
    spec = {"containers": [{"name": "main", "image": "app", **requests}]}
    served.send("POST", PODS, pod("large", schedulerName="second", **spec))
    served.send("POST", PODS, pod("orphan", schedulerName="missing"))
    path = f"{V1}/queue?schedulerName=second"
    found = served.eventually(path, lambda found: found["counts"]["unschedulable"] == 1)
    assert found["pods"]["unschedulable"][0]["pod"] == "default/large"
    assert served.send("GET", f"{V1}/queue")[1]["counts"]["unschedulable"] == 0
    status, explained = served.send("GET", f"{V1}/pods/default/large/explanation")
    assert (status, explained["schedulerName"]) == (200, "second")
    status, problem = served.send("GET", f"{V1}/pods/default/orphan/explanation")
    assert (status, "no scheduler of this cluster" in problem["detail"]) == (404, True)
    for name in CHOOSING:
        status, problem = served.send("GET", f"{V1}/{name}?schedulerName=none")
        assert (status, problem["field"]) == (404, "schedulerName")
        assert "default-scheduler, second" in problem["detail"]
    assert served.send("GET", f"{V1}/decisions")[1]["rows"] == 0
    assert served.send("GET", f"{V1}/decisions?schedulerName=second")[1]["rows"] == 1
    for scheduler, count in (("second", 1), ("default-scheduler", 0)):
        with contextlib.closing(served.connection()) as connection:
            connection.request("GET", f"{V1}/metrics?schedulerName={scheduler}")
            text = connection.getresponse().read().decode()
        assert f'scheduler_pending_pods{{queue="unschedulable"}} {count}' in text


def test_each_configuration_can_be_read_checked_and_replaced(serve):
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    served = serve(cluster_with(options_of("second", percentageOfNodesToScore=40)), clock)
    names = [["default-scheduler"], ["second"]]
    found = served.send("GET", f"{V1}/schedulers")[1]["schedulers"]
    assert [each["schedulerNames"] for each in found] == names
    assert [each["source"] for each in found] == ["", "second.yaml"]
    path = f"{V1}/configuration"
    status, found = served.send("GET", f"{path}?schedulerName=second")
    assert (status, found["written"]["profiles"][0]["percentageOfNodesToScore"]) == (200, 40)
    document = {**found["written"], "profiles": [{"schedulerName": "third"}]}
    status, found = served.send("PUT", f"{path}?schedulerName=second", document)
    assert (status, found["written"]) == (200, document)
    assert served.send("GET", f"{path}?schedulerName=third")[1]["written"] == document
    assert served.send("GET", path)[1]["written"]["profiles"] == [
        {"schedulerName": "default-scheduler"}
    ]
    # Each checks its names against those of the other.
    taken = {**document, "profiles": [{"schedulerName": "default-scheduler"}]}
    for method, where in (("PUT", "configuration"), ("POST", "configuration/check")):
        status, found = served.send(method, f"{V1}/{where}?schedulerName=third", taken)
        (error,) = found["errors"]
        assert (status, error["field"]) == (
            422 if method == "PUT" else 200,
            "profiles[0].schedulerName",
        )
    status, found = served.send("POST", f"{V1}/configuration/check", taken)
    assert (status, found["isValid"]) == (200, True)
    served.send("POST", PODS, pod("web", schedulerName="third"))
    served.eventually(f"{PODS}/web", lambda found: found["spec"].get("nodeName"))
    plugins = served.send("GET", f"{V1}/plugins?schedulerName=third")[1]["plugins"]
    assert {row["schedulerName"] for each in plugins for row in each["profiles"]} == {"third"}
    # A reset restores both.
    assert served.send("POST", f"{V1}/reset")[0] == 200
    found = served.send("GET", f"{V1}/schedulers")[1]["schedulers"]
    assert [each["schedulerNames"] for each in found] == names
    status, found = served.send("GET", f"{path}?schedulerName=second")
    assert found["written"]["profiles"][0]["percentageOfNodesToScore"] == 40
