"""Calls to an API server that restarts: replies are lost, and requests refused for a while."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Condition, Pod, encode, with_node_name
from podwright.apimachinery.schema import decode
from podwright.online.client.cluster.write_connection import WriteConnection
from podwright.online.live import (
    DryRun,
    EventWriter,
    LiveDriver,
    LostLease,
    RetryTimes,
    Writes,
    executors,
)
from podwright.online.live.tests.fake_server import (
    CUT,
    FakeServer,
    Reply,
    forbidden,
    serving,
    status,
)
from podwright.scheduler.assembly import machine_of
from podwright.scheduler.framework import CallError
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    DeletePod,
    EmitEvent,
    ObjectPut,
    PatchPodStatus,
    SchedulerOptions,
    WriteResourceClaim,
)
from podwright.testing import make_node, make_pod

TIMES = RetryTimes(
    first_ns=1_000_000,
    longest_ns=2_000_000,
    call_ns=60_000_000_000,
    event_first_ns=1_000_000,
    event_longest_ns=1_000_000,
)
BIND = Bind(1, "default/p", "u", "n")
EVENT = EmitEvent("a/p", "u", "Normal", "Scheduled", "Binding", "assigned", "s")
NO_ROLES = forbidden("create", "pods/binding")
CREATED: Reply = (201, {})


def pods(*nodes: str, uid: str = "u"):
    items = [{"metadata": {"name": "p", "uid": uid}, "spec": {"nodeName": n}} for n in nodes]
    return 200, {"items": items}


BRIEF = msgspec.structs.replace(TIMES, call_ns=1)
"""No attempt follows the first one."""


async def executed(
    server: FakeServer, *calls: Any, times: RetryTimes = TIMES, **options: Any
) -> list[Any]:
    """Return the errors of calls, or what was raised."""
    async with (
        serving(server) as address,
        WriteConnection(address, per_second=10_000, burst=1000) as connection,
    ):
        writes = Writes(connection, connection, EventWriter("me"), times=times, **options)
        found: list[Any] = []
        for call in calls:
            if isinstance(call, EmitEvent):
                await writes.emit(call, 10**18)
            else:
                (done,) = await writes.call(call)
                found.append(done.error)  # type: ignore[union-attr]  # a CallDone
        found.append(dict(writes.failures))
        return found


def result(server: FakeServer, *calls: Any, **options: Any) -> list[Any]:
    return asyncio.run(executed(server, *calls, **options))


@pytest.mark.parametrize(
    ("lost", "reads"),
    [
        pytest.param(CUT, [pods("n")], id="the reply was lost"),
        pytest.param(status(500, "InternalError"), [pods("n")], id="etcd has not answered"),
        pytest.param(status(504, "Timeout"), [pods("n")], id="the server has given up"),
        pytest.param(
            CUT,
            [
                CUT, CUT, status(401), forbidden("list", "pods"), status(429), status(503),
                status(500), pods("n"),
            ],
            id="the server that restarts refuses to say where it is",
        ),
        pytest.param(status(409, "Conflict"), [pods("n")], id="an earlier attempt has bound it"),
    ],
)  # fmt: skip
def test_a_pod_that_is_bound_on_its_node_after_a_lost_reply_is_bound(lost, reads):
    server = FakeServer(POST=[lost], GET=reads)
    error, _ = result(server, BIND)
    assert error is None
    assert server.verbs().count("POST") == 1
    assert server.requests[-1][1].endswith(
        "/namespaces/default/pods?fieldSelector=metadata.name%3Dp"
    )


@pytest.mark.parametrize(
    ("reads", "error"),
    [
        pytest.param(
            [pods("other")],
            CallError("pod default/p is already assigned to node other", "Conflict"),
            id="bound by another scheduler",
        ),
        pytest.param([pods("n", uid="v")], CallError("pod default/p is gone", "NotFound"),
                     id="replaced by one of the same name, on the same node"),
        pytest.param([pods()], CallError("pod default/p is gone", "NotFound"), id="deleted"),
    ],
)  # fmt: skip
def test_a_pod_that_is_elsewhere_after_a_lost_reply_is_not_bound(reads, error):
    server = FakeServer(POST=[CUT], GET=reads)
    assert result(server, BIND)[0] == error
    assert server.verbs().count("POST") == 1


@pytest.mark.parametrize(
    "lost", [pytest.param(CUT, id="cut"), pytest.param(status(500), id="failed")]
)
@pytest.mark.parametrize("spec", [{"nodeName": ""}, {"nodeName": None}, {}, None])
def test_a_pod_without_a_node_after_a_lost_reply_is_bound_to_the_same_node(lost, spec):
    pod = {"metadata": {"name": "p", "uid": "u"}, "spec": spec}
    server = FakeServer(POST=[lost, CREATED], GET=[CUT, (200, {"items": [pod]})])
    assert result(server, BIND)[0] is None
    posts = [body for verb, _, body in server.requests if verb == "POST"]
    assert len(posts) == 2
    assert posts[0] == posts[1]


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(NO_ROLES, id="RBAC has no roles yet"),
        pytest.param(status(401, "Unauthorized"), id="tokens are not verified yet"),
        pytest.param(status(429, "TooManyRequests"), id="overloaded"),
    ],
)
@pytest.mark.parametrize(
    ("call", "verb"),
    [
        pytest.param(BIND, "POST", id="bind"),
        pytest.param(DeletePod(1, "a/p", "u"), "DELETE", id="evict"),
        pytest.param(PatchPodStatus(1, "a/p", "u", Condition(type="T")), "PATCH", id="status"),
    ],
)
def test_a_refusal_of_a_server_that_restarts_passes(call, verb, refusal):
    server = FakeServer(**{verb: [refusal, refusal, CREATED]})
    assert result(server, call)[0] is None
    assert server.verbs() == [verb] * 3


def test_a_refusal_that_lasts_is_the_result_without_advice_to_administrators():
    reported: list[str] = []
    server = FakeServer(POST=[NO_ROLES])
    error, _ = result(server, BIND, times=BRIEF, report=reported.append)
    assert error.reason == "Forbidden"
    assert error.message.endswith('cannot create resource "pods/binding" in API group ""')
    assert "administrator" in reported[0]
    assert len(reported) == 1


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(status(404, "NotFound"), id="the pod is gone"),
        pytest.param(status(422, "Invalid"), id="invalid"),
        pytest.param(status(403, "Forbidden", "denied by a policy"), id="denied by admission"),
    ],
)
@pytest.mark.parametrize(
    ("call", "verb"),
    [
        pytest.param(BIND, "POST", id="bind"),
        pytest.param(PatchPodStatus(1, "a/p", "u", Condition(type="T")), "PATCH", id="status"),
    ],
)
def test_a_rejection_is_final(call, verb, refusal):
    server = FakeServer(**{verb: [refusal]})
    assert result(server, call)[0] == CallError(refusal[1]["message"], refusal[1]["reason"])
    assert server.verbs() == [verb]


def test_a_claim_whose_name_the_server_generates_is_not_created_twice():
    claim: Any = decode({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"generateName": "c-", "namespace": "a"},
    })  # fmt: skip
    server = FakeServer(POST=[CUT])
    assert result(server, WriteResourceClaim(1, "create", claim))[0] is not None
    assert server.verbs() == ["POST"]


def test_nothing_is_sent_once_another_replica_may_schedule():
    def lost() -> None:
        raise LostLease("lost")

    server = FakeServer(POST=[CREATED])
    with pytest.raises(LostLease):
        result(server, BIND, check_leads=lost)
    assert not server.requests


def test_a_binding_whose_outcome_is_not_known_keeps_its_room():
    """Cut the reply, refuse to say where the pod is, and add a pod that would fit then."""

    async def run() -> tuple[list[str], set[str]]:
        server = FakeServer(POST=[CUT], GET=[forbidden("list", "pods")])
        async with serving(server) as address, WriteConnection(address) as connection:
            writes = Writes(connection, connection, EventWriter("me"), times=TIMES)
            machine = machine_of(SchedulerOptions())
            driver = LiveDriver(machine, machine.handle, writes)
            driver.put(encode(make_node("n", cpu="2")))
            driver.put(encode(make_pod("first", cpu="2")))
            running = asyncio.create_task(driver.run())
            while server.verbs().count("GET") < 5:  # noqa: ASYNC110 - the look-ups are refused
                await asyncio.sleep(0.001)
            driver.put(encode(make_pod("second", cpu="2")))
            while server.verbs().count("GET") < 10:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            bound = [path for verb, path, _ in server.requests if path.endswith("binding")]
            return bound, set(machine.assumed())

    bound, assumed = asyncio.run(run())
    assert bound == ["/api/v1/namespaces/default/pods/first/binding"]
    assert assumed == {"default/first"}


@pytest.mark.parametrize(
    "replies",
    [
        pytest.param([CUT, CUT, CREATED], id="the connection was cut"),
        pytest.param([status(403, "Forbidden", 'cannot create resource "events"'), CREATED],
                     id="RBAC has no roles yet"),
        pytest.param([status(503), status(500), status(429), CREATED], id="the server failed"),
        pytest.param([CUT, status(409, "AlreadyExists")], id="an attempt had written it"),
    ],
)  # fmt: skip
def test_an_event_is_written_again_until_it_is_there(replies):
    server = FakeServer(POST=replies)
    result(server, EVENT)
    assert len(server.requests) == len(replies)
    assert len({body["metadata"]["name"] for _, _, body in server.requests}) == 1


def test_an_event_is_given_up_after_as_many_attempts_as_client_go_makes():
    server = FakeServer(POST=[CUT])
    result(server, EVENT)
    assert len(server.requests) == 12


def test_the_attempts_of_an_event_are_spread(monkeypatch):
    """As in client-go: a server that returns does not get the Events of all clients at once."""

    async def waits_of_an_executor():
        waits = []

        async def sleep(seconds):
            if seconds >= 1:  # others are of the rate of the connection
                waits.append(seconds)

        monkeypatch.setattr("podwright.online.live.api_calls.asyncio.sleep", sleep)
        await executed(FakeServer(POST=[CUT]), EVENT, times=RetryTimes())
        monkeypatch.undo()
        return waits

    one, other = asyncio.run(waits_of_an_executor()), asyncio.run(waits_of_an_executor())
    assert len(one) == len(other) == 12
    assert not set(one) & set(other)
    least = [1, 2, 4, 8, *[10] * 8]
    for waits in (one, other):
        assert all(low <= wait < 2 * low for low, wait in zip(least, waits, strict=True))


BUSY = status(503, "ServiceUnavailable")


@pytest.mark.parametrize(
    ("replies", "call"),
    [
        pytest.param(
            {"DELETE": [*[BUSY] * 7, (200, {})]}, DeletePod(1, "default/p", "u"), id="evict"
        ),
        pytest.param(
            {"POST": [CUT], "GET": [*[BUSY] * 7, pods("n")]}, BIND, id="where a pod is bound"
        ),
    ],
)
def test_the_attempts_of_a_call_are_spread_up_to_their_limit(monkeypatch, replies, call):
    waits: list[float] = []

    async def run():
        async def sleep(seconds):
            if seconds >= 0.05:  # others are of the rate of the connection
                waits.append(seconds)

        monkeypatch.setattr("podwright.online.live.api_calls.asyncio.sleep", sleep)
        times = RetryTimes(first_ns=10**8, longest_ns=10**9)
        await executed(FakeServer(**replies), call, times=times)
        monkeypatch.undo()

    asyncio.run(run())
    least = [0.1, 0.2, 0.4, 0.8, 1, 1, 1]
    assert all(low <= wait < 2 * low for low, wait in zip(least, waits, strict=True)), waits


def test_an_event_that_the_server_rejects_is_given_up():
    server = FakeServer(POST=[status(422, "Invalid")])
    result(server, EVENT)
    assert len(server.requests) == 1


def test_an_event_whose_namespace_is_gone_is_given_up():
    server = FakeServer(POST=[status(404, "NotFound")])
    (failures,) = result(server, EVENT)
    assert server.verbs() == ["POST"]
    assert failures == {"EmitEvent": 1}


def test_a_series_whose_object_is_gone_is_created_again():
    server = FakeServer(POST=[CREATED], PATCH=[status(404, "NotFound")])
    result(server, EVENT, EVENT)
    assert server.verbs() == ["POST", "PATCH", "POST"]
    first, patch, again = (body for _, _, body in server.requests)
    assert again["metadata"] == first["metadata"]
    assert again["series"] == patch["series"]
    assert again["series"]["count"] == 2


def test_a_series_whose_object_is_written_meanwhile_is_patched_again():
    """The first Event and its repetition are written side by side."""
    server = FakeServer(
        POST=[CREATED, status(409, "AlreadyExists")], PATCH=[status(404, "NotFound"), (200, {})]
    )
    result(server, EVENT, EVENT)
    assert server.verbs() == ["POST", "PATCH", "POST", "PATCH"]


def test_a_claim_that_is_deleted_keeps_the_finalizers_of_others():
    claim: Any = decode({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "a", "uid": "v"},
    })  # fmt: skip
    metadata = {
        "name": "c",
        "finalizers": ["other.io/x", "resource.kubernetes.io/delete-protection"],
    }
    server = FakeServer(GET=[(200, {"metadata": metadata})], PUT=[CREATED], DELETE=[CREATED])
    assert result(server, WriteResourceClaim(1, "delete", claim)) == [None, {}]
    path = "/apis/resource.k8s.io/v1/namespaces/a/resourceclaims/c"
    assert [(verb, where) for verb, where, _ in server.requests] == [
        ("GET", path), ("PUT", path), ("DELETE", path)
    ]  # fmt: skip
    assert server.requests[1][2]["metadata"]["finalizers"] == ["other.io/x"]
    server = FakeServer(GET=[(200, {"metadata": {"name": "c"}})], DELETE=[CREATED])
    assert result(server, WriteResourceClaim(1, "delete", claim)) == [None, {}]
    assert server.verbs() == ["GET", "DELETE"]


def test_look_ups_that_fail_are_counted_with_the_call_that_needs_them():
    server = FakeServer(POST=[CUT], GET=[status(503), status(503), pods("n")])
    error, failures = result(server, BIND)
    assert error is None
    assert failures == {"Bind": 3}


def test_a_dry_run_keeps_pods_where_it_has_placed_them_until_the_cluster_does():
    async def run() -> None:
        reported: list[object] = []
        dry = DryRun(reported.append)
        pod, other = make_pod("p"), make_pod("q")
        bind = Bind(1, pod.key, pod.uid, "n")
        assert dry.seen(pod) is pod
        put, done = await dry.call(bind)
        assert isinstance(put, ObjectPut)
        assert isinstance(put.obj, Pod)
        assert put.obj.spec.node_name == "n"
        assert done == CallDone(1)
        kept = dry.seen(pod)
        assert isinstance(kept, Pod)
        assert kept.spec.node_name == "n"
        assert dry.seen(other) is other
        placed = with_node_name(pod, "m")
        assert dry.seen(placed) is placed
        assert dry.seen(pod) is pod
        delete = DeletePod(2, "default/q", "v")
        assert list(await dry.call(delete)) == [CallDone(2)]
        assert reported == [bind, delete]
        assert list(await dry.call(PatchPodStatus(3, "default/p", "u"))) == [CallDone(3)]
        assert len(reported) == 2

    asyncio.run(run())


async def emitted(server: FakeServer, *together: list[EmitEvent]) -> Writes:
    """Write Events, each list at once, and return what wrote them."""
    async with (
        serving(server) as address,
        WriteConnection(address, per_second=10_000, burst=1000) as connection,
    ):
        writes = Writes(connection, connection, EventWriter("me"), times=TIMES)
        for number, each in enumerate(together):
            now_ns = 10**18 + number
            await asyncio.gather(*(writes.emit(event, now_ns) for event in each))
        return writes


@pytest.mark.parametrize(
    ("reply", "verbs"),
    [
        pytest.param(CREATED, ["POST", "PATCH"], id="it was written"),
        pytest.param(status(409, "AlreadyExists"), ["POST", "PATCH"], id="an attempt wrote it"),
        pytest.param(status(422, "Invalid"), ["POST", "POST"], id="it was refused"),
    ],
)
def test_an_event_that_was_written_begins_a_series(reply: Reply, verbs: list[str]):
    server = FakeServer(POST=[reply, CREATED], PATCH=[CREATED])
    asyncio.run(emitted(server, [EVENT], [EVENT]))
    assert server.verbs() == verbs


def test_an_event_behind_too_many_is_dropped_and_later_ones_are_not(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(executors, "_WAITING_EVENTS_MAX", 2)
    events = [msgspec.structs.replace(EVENT, reason=f"R{number}") for number in range(6)]
    server = FakeServer(POST=[CREATED])
    writes = asyncio.run(emitted(server, events[:3], events[3:]))
    # Each that was written leaves the place of one.
    assert sorted(body["reason"] for _, _, body in server.requests) == ["R0", "R1", "R3", "R4"]
    assert writes.failures == {"EmitEvent": 2}


@pytest.mark.parametrize(
    ("refusals", "verbs", "failures"),
    [
        pytest.param([status(503)], ["PATCH"] * 2, 1, id="it is repeated as it is"),
        pytest.param([status(422, "Invalid")], ["PATCH"], 1, id="it is given up"),
        pytest.param([status(404, "NotFound")], ["PATCH", "POST"], 0, id="it is created again"),
    ],
)
def test_only_a_series_that_is_not_there_is_created_again(refusals, verbs, failures):
    server = FakeServer(POST=[CREATED], PATCH=[*refusals, (200, {})])
    *_, counts = result(server, EVENT, EVENT)
    assert server.verbs() == ["POST", *verbs]
    assert counts.get("EmitEvent", 0) == failures


def test_each_failed_attempt_is_counted_by_the_kind_of_its_call():
    call = PatchPodStatus(1, "a/p", "u", Condition(type="T"))
    server = FakeServer(PATCH=[status(429), status(503), CREATED, status(422, "Invalid")])
    first, second, failures = result(server, call, call)
    assert first is None
    assert second.reason == "Invalid"
    assert failures == {"PatchPodStatus": 3}


def test_a_list_without_items_has_no_pod():
    server = FakeServer(POST=[CUT], GET=[(200, {"items": None})])
    assert result(server, BIND)[0] == CallError("pod default/p is gone", "NotFound")


def test_a_right_that_is_absent_is_reported_once():
    reported: list[str] = []
    server = FakeServer(POST=[NO_ROLES])
    result(server, BIND, BIND, times=BRIEF, report=reported.append)
    assert len(reported) == 1
    # An error that no right would prevent does not get a line.
    refusing = FakeServer(POST=[status(422, "Invalid")])
    assert result(refusing, BIND, times=BRIEF, report=reported.append)[0].reason == "Invalid"
    assert len(reported) == 1
    # Without a receiver, nothing is reported.
    assert result(FakeServer(POST=[NO_ROLES]), BIND, times=BRIEF)[0].reason == "Forbidden"


def test_the_count_of_a_series_is_written_when_it_is_due():
    async def run(server: FakeServer) -> None:
        async with (
            serving(server) as address,
            WriteConnection(address, per_second=10_000, burst=1000) as connection,
        ):
            writes = Writes(connection, connection, EventWriter("me"), times=TIMES)
            for minutes in (0, 0, 0, 0, 31):
                await writes.emit(EVENT, 10**18 + minutes * 60 * 10**9)

    server = FakeServer(POST=[CREATED], PATCH=[(200, {})])
    asyncio.run(run(server))
    counts = [body["series"]["count"] for verb, _, body in server.requests if verb == "PATCH"]
    # The second begins the series; the others are written together.
    assert counts[0] == 2
    assert counts[-1] >= 4


def test_an_event_that_was_given_up_begins_no_series():
    server = FakeServer(POST=[*[CUT] * 12, CREATED], PATCH=[CREATED])
    asyncio.run(emitted(server, [EVENT], [EVENT]))
    assert server.verbs() == ["POST"] * 13


def test_an_event_is_dropped_behind_fifty_thousand():
    assert executors._WAITING_EVENTS_MAX == 50_000
