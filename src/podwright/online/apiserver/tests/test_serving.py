"""A served cluster: requests, watches, limits and the end."""

import asyncio
import contextlib
import http.client
import json
import os
import signal
import socket
import threading

import pytest
import uvloop
from tests.http_servers import is_closed
from tests.waiting import SECONDS_MAX

from podwright.cluster.api.endpoints.forms import LEARNED_AT
from podwright.cluster.store import UnusableStore
from podwright.online.apiserver import (
    Application,
    ClusterClock,
    ControlledParts,
    PluginReload,
    RunCollection,
    ServingError,
    ShadowFeed,
    TurnLoop,
    bound_socket,
    serve as serve_in_this_thread,
)
from podwright.online.apiserver.tests.conftest import JSON, START_NS, cluster_of, pod
from podwright.online.apiserver.wire.hosts import AllowedHosts
from podwright.online.apiserver.wire.latency import ApiLatency, read_latency_rule
from podwright.online.apiserver.wire.serving import server_context, serving
from podwright.simulation.shadow import LiveShadow

PODS = "/api/v1/namespaces/default/pods"


def test_a_created_pod_is_scheduled_and_runs(serve):
    served = serve(cluster_of())
    status, created = served.send("POST", PODS, pod("web"))
    assert status == 201, created
    running = served.eventually(f"{PODS}/web", lambda found: found["status"]["phase"] == "Running")
    assert running["spec"]["nodeName"] in ("node-0", "node-1")


def test_headers_are_utf_8_as_those_of_go(serve):
    """Upstream: staging/src/k8s.io/apimachinery/pkg/util/net/http.go, NewWarningHeader."""
    served = serve(cluster_of(0))
    with contextlib.closing(served.connection()) as connection:
        body = json.dumps(pod("web", größe=1, 深=2)).encode()
        connection.request("POST", PODS + "?fieldValidation=Warn", body, JSON)
        response = connection.getresponse()
        assert response.status == 201, response.read()
        warnings = response.headers.get_all("warning")
        assert [text.encode("latin-1").decode() for text in warnings] == [
            '299 - "unknown field \\"spec.größe\\""',
            '299 - "unknown field \\"spec.深\\""',
        ]
        response.read()
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        headers = {**JSON, "impersonate-user": "jürgen".encode(), "impersonate-group": b"\xff"}
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        connection.request("POST", path, json.dumps(review), headers)
        user = json.load(connection.getresponse())["status"]["userInfo"]
    assert (user["username"], user["groups"][0]) == ("jürgen", "\N{REPLACEMENT CHARACTER}")


def test_bodies_of_different_length_are_of_one_template(serve):
    cluster = cluster_of(0, has_scheduler=False)
    served = serve(cluster)
    for number in range(LEARNED_AT):
        assert served.send("POST", PODS, pod(f"web-{number}"))[0] == 201
    before = cluster.server._forms.executed_count
    assert served.send("POST", PODS, pod("a-longer-name"))[0] == 201
    assert cluster.server._forms.executed_count > before


def test_the_scheduler_records_events_as_objects(serve):
    served = serve(cluster_of())
    served.send("POST", PODS, pod("web"))

    def about_pods(found):
        return [each for each in found["items"] if each["involvedObject"]["kind"] == "Pod"]

    found = served.eventually("/api/v1/namespaces/default/events", about_pods)
    (event, *_) = about_pods(found)
    assert event["reason"] == "Scheduled"
    assert event["involvedObject"]["name"] == "web"


def test_a_watch_sends_changes_as_they_happen(serve):
    served = serve(cluster_of(0))
    connection = served.connection()
    with contextlib.closing(connection):
        connection.request("GET", f"{PODS}?watch=true&timeoutSeconds=60")
        response = connection.getresponse()
        assert response.status == 200
        served.send("POST", PODS, pod("web"))
        event = json.loads(response.readline())
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "web")
        served.send("DELETE", f"{PODS}/web?gracePeriodSeconds=0")
        types = [json.loads(response.readline())["type"]]
        while types[-1] != "DELETED":
            types.append(json.loads(response.readline())["type"])
        assert set(types) <= {"MODIFIED", "DELETED"}


def test_a_watch_ends_after_its_timeout(serve):
    served = serve(cluster_of(0), ClusterClock(start_ns=START_NS, speed=1000))
    connection = served.connection()
    with contextlib.closing(connection):
        connection.request("GET", f"{PODS}?watch=true&timeoutSeconds=10")
        assert connection.getresponse().read() == b""


def test_a_watch_whose_client_leaves_is_removed(serve):
    served = serve(cluster_of(0))
    connection = served.connection()
    connection.request("GET", f"{PODS}?watch=true")
    connection.getresponse()
    connection.sock.shutdown(socket.SHUT_RDWR)
    connection.close()
    # No client receives the next change.
    status, _ = served.send("POST", PODS, pod("web"))
    assert status == 201


def test_many_clients_write_at_once(serve):
    served = serve(cluster_of())
    statuses: list[int] = []

    def write(client):
        statuses.extend(served.send("POST", PODS, pod(f"{client}-{i}"))[0] for i in range(10))

    threads = [threading.Thread(target=write, args=(client,)) for client in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [201] * 80
    _, found = served.send("GET", PODS)
    assert len(found["items"]) == 80


def test_a_body_that_is_too_long_is_rejected(serve):
    served = serve(cluster_of(0))
    large = pod("web") | {"metadata": {"name": "web", "annotations": {"a": "x" * (4 << 20)}}}
    status, found = served.send("POST", PODS, large)
    assert (status, found["reason"]) == (413, "RequestEntityTooLarge")


def test_another_host_is_not_served(serve):
    served = serve(cluster_of(0))
    status, found = served.send("GET", PODS, headers={"host": "rebound.example"})
    assert (status, found["reason"]) == (403, "Forbidden")


def test_a_wrong_token_is_rejected(serve):
    served = serve(cluster_of(0))
    status, found = served.send("GET", PODS, headers={"authorization": "Bearer wrong"})
    assert (status, found["reason"]) == (401, "Unauthorized")


def test_objects_of_a_paused_cluster_have_its_time(serve):
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    served = serve(cluster_of(), clock)
    served.send("POST", PODS, pod("web", terminationGracePeriodSeconds=0))
    _, found = served.send("GET", f"{PODS}/web")
    assert found["metadata"]["creationTimestamp"] == "2027-01-15T08:00:00Z"


def test_a_port_in_use_is_an_error():
    taken = bound_socket("127.0.0.1", 0)
    with contextlib.closing(taken), pytest.raises(ServingError, match="--port"):
        bound_socket("127.0.0.1", taken.getsockname()[1])


def test_a_bound_socket_accepts_connections_and_blocks_nobody():
    with bound_socket("127.0.0.1", 0) as listening:
        assert not listening.getblocking()
        assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
        with pytest.raises(BlockingIOError):
            listening.accept()
        with socket.create_connection(listening.getsockname()):
            accepted, _ = listening.accept()
            accepted.close()


@pytest.mark.parametrize(
    ("host", "port", "text"),
    [
        ("192.0.2.1", 0, "port 0 of 192.0.2.1 cannot be served: Cannot assign requested address;"
         " choose an address of this machine with --address"),
        ("127.0.0.1", 65_536, "port 65536 of 127.0.0.1 cannot be served: bind(): port must be"
         " 0-65535.; choose another one with --ui-port"),
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_served_is_an_error_with_a_choice(host, port, text):
    with pytest.raises(ServingError) as raised:
        bound_socket(host, port, "--ui-port")
    assert str(raised.value) == text


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_port_can_be_served_again_soon_after_a_server_on_it_has_ended(host):
    with contextlib.closing(bound_socket(host, 0)) as listening:
        assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
        assert listening.getsockname()[0] == host


@pytest.mark.parametrize("content", [None, b"no certificate"])
def test_files_that_cannot_be_used_for_tls_are_an_error_with_their_name(tmp_path, content):
    files = [tmp_path / name for name in ("server.crt", "server.key", "ca.crt")]
    for each in files:
        if content is not None:
            each.write_bytes(content)
    with pytest.raises(ServingError, match=r"server\.crt: cannot be used for TLS: "):
        server_context(*files)


@pytest.mark.parametrize(
    ("sent", "status", "reason"),
    [
        (b"FOO /api/v1/pods HTTP/1.1\r\nhost: localhost\r\n\r\n", 405, "MethodNotAllowed"),
        (b"GET /api/v1/pods HTTP/9.9\r\n\r\n", 400, "BadRequest"),
        (b"\x16\x03\x01\x02\x00", 400, "BadRequest"),
        (b"GET / HTTP/1.1\r\nbad header\r\n\r\n", 400, "BadRequest"),
    ],
)
def test_what_is_not_http_is_answered_with_a_status(serve, sent, status, reason):
    served = serve(cluster_of(0))
    with socket.create_connection(("127.0.0.1", served.port), timeout=SECONDS_MAX) as connection:
        connection.sendall(sent)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert json.loads(body)["reason"] == reason


class Reload(PluginReload):
    """Notes the scheduler instead of the changes of files."""

    def __init__(self, found):
        super().__init__((), list, print)
        self.found = found

    async def run(self, scheduler):
        self.found.append(scheduler)


@pytest.mark.parametrize(
    ("origins", "status"), [(("http://a.example",), 200), (("http://b.example",), 400), ((), 403)]
)
def test_a_server_runs_its_parts_and_answers_the_pages_of_given_origins(origins, status):
    listening = bound_socket("127.0.0.1", 0)
    port = listening.getsockname()[1]
    found, statuses, ended = [], [], []
    headers = {"Origin": "http://a.example", "Access-Control-Request-Method": "GET"}

    def preflight():
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
            connection.request("OPTIONS", PODS, headers=headers)
            return connection.getresponse().status

    async def beside(turns):
        statuses.append(await asyncio.to_thread(preflight))
        found.append(turns)
        turns.stop()

    async def endless(turns):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(turns)

    def sites(scheduler):
        found.append(scheduler)
        return ()

    serve_in_this_thread(
        lambda: TurnLoop(cluster_of(0), ClusterClock(start_ns=START_NS)),
        listening,
        started=lambda: found.append("started"),
        hosts=AllowedHosts(origins=origins),
        parts=ControlledParts(background=(beside, endless), reload=Reload(found)),
        sites=sites,
    )
    assert statuses == [status]
    scheduler, *others, turns = found
    assert set(others) == {"started", scheduler}
    assert ended == [turns]
    assert scheduler.turns is turns
    assert scheduler.first is turns.cluster.schedulers[0]


@pytest.mark.parametrize("has_parts", [False, True])
def test_the_parts_of_a_server_are_in_its_api(has_parts, tmp_path):
    listening = bound_socket("127.0.0.1", 0)
    port = listening.getsockname()[1]
    found = {}

    def get(path):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
            connection.request("GET", path)
            return connection.getresponse().status

    class Delay(ApiLatency):
        def delay_seconds(self, request):
            found["delayed"] = request.path
            return 0.0

    async def beside(turns):
        for path in ("/podwright/v1/runs", "/podwright/v1/shadow", PODS):
            found[path] = await asyncio.to_thread(get, path)
        turns.stop()

    feed = ShadowFeed(LiveShadow())
    parts = ControlledParts(background=(beside,))
    if has_parts:
        parts = parts._replace(
            latency=Delay([read_latency_rule("1s")]), shadow=feed, runs=RunCollection(tmp_path)
        )
    serve_in_this_thread(
        lambda: TurnLoop(cluster_of(0), ClusterClock(start_ns=START_NS), [feed]),
        listening,
        parts=parts,
    )
    delayed = {"delayed": PODS} if has_parts else {}
    assert found == delayed | {
        "/podwright/v1/runs": 200 if has_parts else 409,
        "/podwright/v1/shadow": 200 if has_parts else 404,
        PODS: 200,
    }


@pytest.mark.parametrize(("handler", "is_ended"), [(signal.SIG_DFL, True), (signal.SIG_IGN, False)])
def test_a_hangup_ends_a_server_unless_it_is_ignored_as_with_nohup(handler, is_ended):
    answered = []

    async def beside(turns):
        os.kill(os.getpid(), signal.SIGHUP)
        with contextlib.suppress(asyncio.CancelledError):
            for number in range(200):
                await turns.call(lambda _: None)
                answered.append(number)
        turns.stop()

    before = signal.signal(signal.SIGHUP, handler)
    try:
        serve_in_this_thread(
            lambda: TurnLoop(cluster_of(0), ClusterClock(start_ns=START_NS)),
            bound_socket("127.0.0.1", 0),
            parts=ControlledParts(background=(beside,)),
        )
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (len(answered) < 200) == is_ended


def test_what_ends_the_turn_loop_and_what_cannot_be_reported_end_the_server():
    async def fail(turns):
        turns._failure = UnusableStore("no space left")
        turns._wake.set()

    def cannot_report():
        raise BrokenPipeError("no reader")

    def ended(**options):
        listening = bound_socket("127.0.0.1", 0)
        clock = ClusterClock(start_ns=START_NS)
        serve_in_this_thread(lambda: TurnLoop(cluster_of(0), clock), listening, **options)

    with pytest.raises(UnusableStore, match="no space left"):
        ended(parts=ControlledParts(background=(fail,)))
    with pytest.raises(BrokenPipeError, match="no reader"):
        ended(started=cannot_report)


@pytest.mark.parametrize("steps", range(3))
def test_a_connection_of_the_last_moment_is_closed(steps):
    listening = bound_socket("127.0.0.1", 0)

    async def run():
        turns = TurnLoop(cluster_of(0), ClusterClock(start_ns=START_NS))
        started = asyncio.Event()

        async def connect_and_stop():
            await started.wait()
            client = socket.create_connection(listening.getsockname())
            for _ in range(steps):
                await asyncio.sleep(0)
            turns.stop()
            return client

        stopping = asyncio.create_task(connect_and_stop())
        await serving(Application(turns, AllowedHosts()), turns, listening, started.set)
        return await stopping

    with uvloop.run(run()) as client:
        assert is_closed(client)
    assert listening.fileno() < 0, "the address is free"
