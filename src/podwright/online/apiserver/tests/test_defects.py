"""What fails does not end the server: defects, users' plugins, extenders that hang."""

import asyncio
import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler

from tests.http_servers import serving
from tests.waiting import SECONDS_MAX

import podwright as pw
from podwright.cluster.api.endpoints import HttpRequest
from podwright.online.apiserver import ClusterClock, new_cluster
from podwright.online.apiserver.generated_nodes import generated_nodes
from podwright.online.apiserver.tests.conftest import SERVER, START_NS, cluster_of, pod, request
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.online.client import ExtenderClient
from podwright.scheduler.config import ExtenderReply, read_configuration
from podwright.scheduler.machine import SchedulerOptions

PODS = "/api/v1/namespaces/default/pods"


def test_a_defect_is_answered_and_logged_and_the_server_goes_on(serve, monkeypatch, caplog):
    cluster = cluster_of()

    def broken(*_):
        raise ZeroDivisionError("a defect")

    served = serve(cluster)
    with monkeypatch.context() as patch:
        patch.setattr(cluster.server, "begin", broken)
        status, found = served.send("POST", PODS, pod("web"))
    assert (status, found["reason"], found["code"]) == (500, "InternalError", 500)
    (record,) = caplog.records
    number = record.args[0]
    assert f"defect {number}" in found["message"]
    assert "ZeroDivisionError" in caplog.text
    assert served.send("POST", PODS, pod("web"))[0] == 201


def test_a_watch_that_meets_a_defect_ends_with_an_error(serve, monkeypatch, caplog):
    cluster = cluster_of()
    served = serve(cluster)

    def broken(*_, **__):
        raise ZeroDivisionError("a defect")

    with contextlib.closing(served.connection()) as connection:
        connection.request("GET", f"{PODS}?watch=true")
        response = connection.getresponse()
        monkeypatch.setattr("podwright.cluster.api.endpoints.watch.Watch.read", broken)
        served.send("POST", PODS, pod("web"))
        event = json.loads(response.readline())
        assert (event["type"], event["object"]["reason"]) == ("ERROR", "InternalError")
        assert response.read() == b""
    assert "ZeroDivisionError" in caplog.text
    assert served.send("GET", PODS)[0] == 200


def test_a_defect_of_podwrights_own_api_is_answered_and_logged(serve, monkeypatch, caplog):
    cluster = cluster_of()
    served, path = serve(cluster), "/podwright/v1/breakpoints"

    def broken(*_):
        raise ZeroDivisionError("a defect")

    with monkeypatch.context() as patch:
        patch.setattr(cluster.breakpoints, "list", broken)
        status, found = served.send("GET", path)
    assert (status, found["status"]) == (500, 500)
    (record,) = caplog.records
    number, where = record.args
    assert where == f"GET {path}"
    assert f"defect {number}" in found["detail"]
    assert served.send("GET", path)[0] == 200


class Fragile(pw.Plugin):
    """Fails for pods named broken."""

    name = "Fragile"

    def filter(self, cycle, node):
        if cycle.pod.name == "broken":
            raise RuntimeError("no idea")
        return pw.Status()


def configured(**more):
    return read_configuration(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            **more,
        },
        source="config",
    )


def test_a_plugin_that_raises_is_an_event_and_a_log_line_and_the_pod_is_tried_again(serve, caplog):
    profile = {"plugins": {"filter": {"enabled": [{"name": "Fragile"}]}}}
    options = SchedulerOptions(
        configuration=configured(profiles=[profile]), plugins=(Fragile,), source="config"
    )
    cluster = new_cluster(options, now_ns=START_NS, server_options=SERVER)
    cluster.world.add(*generated_nodes(2))
    served = serve(cluster, ClusterClock(start_ns=START_NS, speed=100))
    served.send("POST", PODS, pod("broken"))
    served.send("POST", PODS, pod("web"))
    served.eventually(f"{PODS}/web", lambda found: found["status"]["phase"] == "Running")

    def repeated(found):
        # The first attempt changes the pod's status: its Event is of another resource version.
        return [each for each in found["items"] if (each.get("series") or {}).get("count", 1) > 1]

    (event,) = repeated(served.eventually("/api/v1/namespaces/default/events", repeated))
    assert event["involvedObject"]["name"] == "broken"
    assert (event["reason"], event["type"]) == ("FailedScheduling", "Warning")
    assert "no idea" in event["message"]
    served.send("POST", PODS, pod("large", containers=WITH_EXTENDER))
    served.eventually(f"{PODS}/large", lambda found: found["status"].get("conditions"))
    logged = {
        each.getMessage().partition(" failed, and is tried again later: ")[::2]
        for each in caplog.records
    }
    assert {subject for subject, _ in logged} == {"scheduling pod default/broken"}, "no rejection"
    assert all("no idea" in message for _, message in logged)


class Hanging(BaseHTTPRequestHandler):
    """Answers no call before `is_open` is set."""

    is_open: threading.Event

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.is_open.wait(SECONDS_MAX)
        reply = json.dumps({"NodeNames": body["NodeNames"]}).encode()
        with contextlib.suppress(OSError):
            self.send_response(200)
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)


@contextlib.contextmanager
def hanging_extender():
    is_open = threading.Event()
    with serving(Hanging, is_open=is_open) as address:
        try:
            yield address, is_open
        finally:
            is_open.set()


def extended_cluster(url, timeout):
    extender = {
        "urlPrefix": url,
        "filterVerb": "filter",
        "nodeCacheCapable": True,
        "httpTimeout": timeout,
        "managedResources": [{"name": "x.io/a"}],
    }
    configuration = configured(extenders=[extender])
    cluster = new_cluster(
        SchedulerOptions(configuration=configuration, source="config"),
        now_ns=START_NS,
        server_options=SERVER,
        call_extender=ExtenderClient(configuration).call,
    )
    (node, *_) = generated_nodes(1)
    cluster.world.add(node)
    return cluster


EXTENDED = {"requests": {"x.io/a": "1"}, "limits": {"x.io/a": "1"}}
WITH_EXTENDER = [{"name": "main", "image": "app", "resources": EXTENDED}]


NODE_STATUS = "/api/v1/nodes/node-0/status"
CAPABLE = {"status": {"capacity": {"x.io/a": "4"}, "allocatable": {"x.io/a": "4"}}}
MERGE = {"content-type": "application/merge-patch+json"}


def capable(served):
    assert served.send("PATCH", NODE_STATUS, CAPABLE, MERGE)[0] == 200


def test_requests_are_answered_while_an_extender_hangs(serve):
    with hanging_extender() as (url, is_open):
        served = serve(extended_cluster(url, "30s"))
        capable(served)
        assert served.send("POST", PODS, pod("extended", containers=WITH_EXTENDER))[0] == 201
        for number in range(20):
            assert served.send("POST", PODS, pod(f"web-{number}"))[0] == 201
        assert "nodeName" not in served.send("GET", f"{PODS}/extended")[1]["spec"]
        is_open.set()
        for name in ("extended", "web-19"):
            served.eventually(f"{PODS}/{name}", lambda found: found["spec"].get("nodeName"))


def test_an_extender_that_exceeds_its_timeout_fails_the_attempt_only(serve):
    with hanging_extender() as (url, _):
        served = serve(extended_cluster(url, "50ms"), ClusterClock(start_ns=START_NS, speed=10))
        capable(served)
        served.send("POST", PODS, pod("extended", containers=WITH_EXTENDER))
        served.send("POST", PODS, pod("web"))
        served.eventually(f"{PODS}/web", lambda found: found["spec"].get("nodeName"))
        events = served.eventually(
            "/api/v1/namespaces/default/events",
            lambda found: [e for e in found["items"] if e["reason"] == "FailedScheduling"],
        )
        assert any("httpTimeout" in each["message"] for each in events["items"])


def test_a_cluster_that_waits_for_an_extender_is_idle():
    cluster = extended_cluster("http://127.0.0.1:1", "30s")
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()

    is_called, is_over = threading.Event(), threading.Event()

    def hang(_):
        is_called.set()
        is_over.wait(SECONDS_MAX)
        return ExtenderReply()

    def is_idle():
        return cluster.next_due_ns is None or cluster.next_due_ns > cluster.world.now_ns

    async def main():
        turns = TurnLoop(cluster, clock)
        cluster.schedulers[0].call_extender = hang
        running = asyncio.create_task(turns.run())
        patch = HttpRequest("PATCH", NODE_STATUS, "", MERGE, json.dumps(CAPABLE).encode())
        assert (await turns.execute(patch)).status == 200
        await turns.execute(request("POST", PODS, pod("extended", containers=WITH_EXTENDER)))
        async with asyncio.timeout(SECONDS_MAX):
            # The turn loop has no event for it.
            while not (is_called.is_set() and is_idle()):  # noqa: ASYNC110
                await asyncio.sleep(0)
        turns.stop()
        await running
        is_over.set()

    asyncio.run(main())
