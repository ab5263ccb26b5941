"""Large writes, and long slices of the world: a thread computes, and other clients read."""

import asyncio
import sys
import threading
from contextlib import closing, suppress

import msgspec
import pytest

from podwright._interludes import interlude
from podwright.cluster.api.endpoints import HttpReply
from podwright.cluster.api.endpoints.server import LARGE_CUSTOM_BYTES
from podwright.cluster.store import LARGE_BYTES, UnusableStore, open_store
from podwright.online.apiserver import ClusterClock, TurnLoop
from podwright.online.apiserver.cluster import new_cluster
from podwright.online.apiserver.computing_threads import (
    ComputingThread,
    LongSlices,
)
from podwright.online.apiserver.generated_nodes import generated_nodes
from podwright.online.apiserver.tests.conftest import (
    ADMIN,
    SERVER,
    START_NS,
    cluster_of,
    pod,
    request,
)
from podwright.scheduler.framework import Plugin, Status
from podwright.scheduler.machine import SchedulerOptions

LONG_NS = 20_000_000
LONG_FOR = 256
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PATIENCE_SECONDS = 60


def config_map(name, keys):
    data = {f"key-{number}": "value" for number in range(keys)}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    return request("POST", CONFIG_MAPS, body)


def large(name, keys=20_000):
    made = config_map(name, keys)
    assert len(made.body) >= LARGE_BYTES
    return made


BOXES = "/apis/example.com/v1/boxes"
POLICIES = "/apis/admissionregistration.k8s.io/v1"


def created(cluster, path, api_version, kind, name, spec):
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}
    assert cluster.server.handle(request("POST", path, body), ADMIN, START_NS).status == 201


@pytest.fixture(scope="module")
def cluster_with_boxes():
    cluster = cluster_of()
    names = {"plural": "boxes", "singular": "box", "kind": "Box", "listKind": "BoxList"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    spec = {"group": "example.com", "names": names, "scope": "Cluster", "versions": versions}
    group = "apiextensions.k8s.io/v1"
    definitions = f"/apis/{group}/customresourcedefinitions"
    created(cluster, definitions, group, "CustomResourceDefinition", "boxes.example.com", spec)
    for name, keys in (("large", 4_000), ("small", 1)):
        assert cluster.server.handle(config_map(name, keys), ADMIN, START_NS).status == 201
    return cluster


def as_yaml(path):
    return msgspec.structs.replace(request("GET", path), headers={"accept": "application/yaml"})


def selecting(conditions, **more):
    selector = "%2C".join(f"k{number}!=v" for number in range(conditions))
    query = f"labelSelector={selector}" + "".join(f"&{key}={more[key]}" for key in more)
    return msgspec.structs.replace(request("GET", CONFIG_MAPS), query=query)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (selecting(2), False),
        (selecting(1_000), True),
        (selecting(1_000, watch="true"), True),
        (config_map("small", 1), False),
        (config_map("large", 4_000), True),
        (request("GET", CONFIG_MAPS, {"unused": "x" * LARGE_BYTES}), False),
        (request("GET", f"{CONFIG_MAPS}/large"), False),
        (as_yaml(f"{CONFIG_MAPS}/large"), True),
        (request("POST", CONFIG_MAPS, {"unused": "x" * LARGE_CUSTOM_BYTES}), False),
        (request("PATCH", f"{CONFIG_MAPS}/large", {}), True),
        (request("DELETE", f"{CONFIG_MAPS}/large"), True),
        (request("PATCH", f"{CONFIG_MAPS}/small", {}), False),
        (request("PATCH", "/api/v1/nothing/large", {}), False),
        (request("POST", BOXES, {"unused": "x" * LARGE_CUSTOM_BYTES}), True),
        (request("POST", BOXES, {"unused": ""}), False),
        (request("PATCH", f"{BOXES}/small", {}), True),
    ],
)
def test_requests_that_may_compute_long_are_executed_in_a_thread(
    cluster_with_boxes, sent, expected
):
    assert cluster_with_boxes.server.computes_long(sent) is expected


def test_writes_are_executed_in_a_thread_once_a_policy_is_bound():
    cluster = cluster_of()
    group, kind = "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*"]}]
    spec = {
        "matchConstraints": {"resourceRules": rules},
        "validations": [{"expression": "object == null || object.metadata.name != 'b'"}],
    }
    created(cluster, f"{POLICIES}/validatingadmissionpolicies", group, kind, "not-b", spec)
    small, read = config_map("b", 1), request("GET", CONFIG_MAPS)
    assert cluster.server.computes_long(small) is False
    bound = {"policyName": "not-b", "validationActions": ["Deny"]}
    path = f"{POLICIES}/validatingadmissionpolicybindings"
    created(cluster, path, group, f"{kind}Binding", "not-b", bound)
    assert cluster.server.computes_long(small) is True
    assert cluster.server.computes_long(read) is False

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        running = asyncio.create_task(turns.run())
        sent = (config_map("a", 1), small, request("DELETE", CONFIG_MAPS))
        replies = [await turns.execute(each) for each in sent]
        assert [reply.status for reply in replies] == [201, 422, 200]
        turns.stop()
        await running

    asyncio.run(main())


def test_the_thread_and_the_loop_use_the_cluster_in_turn():
    computed, woken = threading.Event(), threading.Event()
    used = []

    def execute():
        used.append("thread")
        with interlude(), interlude():
            assert computed.wait(PATIENCE_SECONDS)
        used.append("thread again")
        return "reply"

    running = ComputingThread(execute, woken.set)
    assert used == [], "not before the loop lets it"
    assert running.advance(0.0) is False
    used.append("loop")
    assert running.advance(0.0) is False, "it computes"
    computed.set()
    assert woken.wait(PATIENCE_SECONDS)
    assert running.advance(PATIENCE_SECONDS) is True
    assert running.result == "reply"
    assert used == ["thread", "loop", "thread again"]


def test_the_loop_waits_for_a_thread_that_computes_little():
    def execute():
        for _ in range(3):
            with interlude():
                pass
        return "reply"

    def wake():
        raise AssertionError("the cluster is free: the thread need not wait for it")

    running = ComputingThread(execute, wake)
    assert running.advance(PATIENCE_SECONDS) is True
    assert running.result == "reply"


def test_what_the_execution_raises_is_raised_in_the_loop():
    def execute():
        with interlude():
            raise UnusableStore("no space left")

    running = ComputingThread(execute, lambda: None)
    with pytest.raises(UnusableStore, match="no space left"):
        running.advance(PATIENCE_SECONDS)


def returning():
    return "reply"


def raising():
    raise UnusableStore("no space left")


@pytest.mark.parametrize(("before", "meanwhile"), [(0.004, 0.001), (0.0005, 0.0005)])
@pytest.mark.parametrize("end", ["result", "error", "abandoned"])
def test_threads_switch_quickly_until_the_execution_has_ended(before, meanwhile, end):
    normal = sys.getswitchinterval()
    sys.setswitchinterval(before)
    try:
        running = ComputingThread(raising if end == "error" else returning, lambda: None)
        assert sys.getswitchinterval() == pytest.approx(meanwhile)
        if end == "abandoned":
            running.abandon()
        else:
            with suppress(UnusableStore):
                running.advance(PATIENCE_SECONDS)
        assert sys.getswitchinterval() == pytest.approx(before)
    finally:
        sys.setswitchinterval(normal)


def test_others_read_while_a_large_request_computes_and_write_after_it():
    cluster = cluster_of()
    order = []

    async def sent(turns, name, what):
        reply = await turns.execute(what)
        order.append(name)
        return reply

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        tasks = [
            asyncio.create_task(sent(turns, name, what))
            for name, what in (
                ("large", large("a")),
                ("write", config_map("a", 1)),
                ("read", request("GET", f"{CONFIG_MAPS}/a")),
                ("write", config_map("b", 1)),
            )
        ]
        await asyncio.sleep(0)
        running = asyncio.create_task(turns.run())
        replies = await asyncio.gather(*tasks)
        assert [reply.status for reply in replies] == [201, 409, 404, 201]
        assert order == ["read", "large", "write", "write"]
        turns.stop()
        await running

    asyncio.run(main())


@pytest.mark.parametrize("conditions", [600, 20_000], ids=["within a slice", "in several"])
def test_others_read_while_long_selectors_are_read(conditions):
    cluster = cluster_of()
    order = []

    async def sent(turns, name, what):
        found = await turns.execute(what)
        order.append(name)
        return found

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        tasks = [
            asyncio.create_task(sent(turns, name, what))
            for name, what in (
                ("watch", selecting(conditions, watch="true")),
                ("list", selecting(conditions)),
                ("read", request("GET", f"{CONFIG_MAPS}/a")),
            )
        ]
        await asyncio.sleep(0)
        running = asyncio.create_task(turns.run())
        watch, listed, read = await asyncio.gather(*tasks)
        assert not isinstance(watch, HttpReply)
        assert (listed.status, read.status) == (200, 404)
        assert order == ["read", "watch", "list"]
        turns.stop()
        await running

    asyncio.run(main())


def test_a_large_request_ends_with_the_server():
    cluster = cluster_of()
    before = threading.active_count()

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        task = asyncio.create_task(turns.execute(large("a")))
        other = asyncio.create_task(turns.execute(config_map("b", 1)))
        await asyncio.sleep(0)
        running = asyncio.create_task(turns.run())
        await asyncio.sleep(0)
        turns.stop()
        await running
        for each in (task, other):
            with pytest.raises(asyncio.CancelledError):
                await each

    asyncio.run(main())
    for thread in threading.enumerate():
        if thread.name == "computing":
            thread.join(PATIENCE_SECONDS)
    assert threading.active_count() == before
    stored = cluster.store.keys(("", "ConfigMap"))
    assert "default/a" not in stored
    assert "default/b" not in stored


def test_a_large_object_of_a_database_is_changed_in_a_thread(tmp_path):
    patch = {"data": {f"key-{number}": "changed" for number in range(4_000)}}

    async def main(cluster):
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        running = asyncio.create_task(turns.run())
        assert (await turns.execute(large("a", 4_000))).status == 201
        for media_type in ("merge-patch+json", "strategic-merge-patch+json"):
            changed = request("PATCH", f"{CONFIG_MAPS}/a", patch | {"binaryData": None})
            headers = {"content-type": f"application/{media_type}"}
            reply = await turns.execute(msgspec.structs.replace(changed, headers=headers))
            assert reply.status == 200
        turns.stop()
        await running

    path = tmp_path / "cluster.db"
    with closing(open_store(path)) as store:
        asyncio.run(main(cluster_of(store=store)))
    with closing(open_store(path)) as store:
        found = store.get(("", "ConfigMap"), "default/a")
        assert found is not None
        assert found.raw["data"] == patch["data"]


class Slow(Plugin):
    """Filters no node before the test allows it."""

    name = "Slow"
    is_filtering = threading.Event()
    may_end = threading.Event()

    def filter(self, cycle, node):
        self.is_filtering.set()
        assert self.may_end.wait(PATIENCE_SECONDS)
        return Status()


@pytest.fixture
def slow_cluster():
    Slow.is_filtering.clear()
    Slow.may_end.clear()
    cluster = new_cluster(SchedulerOptions(plugins=(Slow,)), now_ns=START_NS, server_options=SERVER)
    cluster.world.add(*generated_nodes(2))
    yield cluster
    Slow.may_end.set()


def large_pod(name):
    made = pod(name)
    made["metadata"]["annotations"] = {"text": "x" * LARGE_BYTES}
    return request("POST", "/api/v1/namespaces/default/pods", made)


def test_others_read_while_the_world_computes_with_a_large_object(slow_cluster):
    cluster = slow_cluster
    path = "/api/v1/namespaces/default/pods/a"

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        running = asyncio.create_task(turns.run())
        assert (await turns.execute(large_pod("a"))).status == 201
        await asyncio.to_thread(Slow.is_filtering.wait, PATIENCE_SECONDS)
        write = asyncio.create_task(turns.execute(config_map("b", 1)))
        settled = asyncio.create_task(turns.settle_world())
        read = await turns.execute(request("GET", path))
        assert isinstance(read, HttpReply)
        assert b'"nodeName"' not in read.body
        assert not turns.is_caught_up
        assert not write.done()
        assert not settled.done()
        Slow.may_end.set()
        assert (await write).status == 201
        await settled
        await turns.reach(cluster.world.now_ns)
        read = await turns.execute(request("GET", path))
        assert isinstance(read, HttpReply)
        assert b'"nodeName"' in read.body
        turns.stop()
        await running

    asyncio.run(main())


def test_a_step_of_the_world_is_completed_when_the_server_ends(slow_cluster):
    cluster = slow_cluster

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        running = asyncio.create_task(turns.run())
        assert (await turns.execute(large_pod("a"))).status == 201
        await asyncio.to_thread(Slow.is_filtering.wait, PATIENCE_SECONDS)
        turns.stop()
        Slow.may_end.set()
        await running

    asyncio.run(main())
    assert "computing" not in [thread.name for thread in threading.enumerate()]
    assert cluster.world.machine.last_decisions


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([], False),
        ([("", "ConfigMap"), ("example.com", "Box")], False),
        ([("", "ConfigMap"), ("apps", "Deployment")], True),
        ([("resource.k8s.io", "ResourceSlice")], True),
    ],
)
def test_slices_may_be_long_while_components_compute_with_large_objects(kinds, expected):
    large = {kind: {"default/a"} for kind in kinds}
    assert LongSlices(large).is_next_long is expected


def test_slices_after_a_long_one_may_be_long():
    slices = LongSlices({})
    found = []
    for cpu_ns in (LONG_NS - 1, LONG_NS, *[0] * LONG_FOR):
        slices.add(cpu_ns)
        found.append(slices.is_next_long)
    assert found == [False, *[True] * LONG_FOR, False]


def test_reads_change_nothing_while_another_thread_is_about_to_write():
    cluster = cluster_of()
    events = "/api/v1/namespaces/default/events"
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "a", "namespace": "default"},
        "involvedObject": {"namespace": "default"},
    }
    assert cluster.server.handle(request("POST", events, event), ADMIN, START_NS).status == 201
    version = cluster.store.resource_version
    later_ns = START_NS + 2 * SERVER.event_ttl_ns
    read = request("GET", f"{events}/a")
    cluster.server.only_reads = True
    assert cluster.server.handle(read, ADMIN, later_ns).status == 200
    assert cluster.store.resource_version == version
    cluster.server.only_reads = False
    assert cluster.server.handle(read, ADMIN, later_ns).status == 404
