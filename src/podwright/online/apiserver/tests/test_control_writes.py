"""Several writes of the Kubernetes API in one request."""

from podwright.cluster.api.endpoints import ServerOptions, static_tokens
from podwright.online.apiserver import ClusterClock, new_cluster
from podwright.online.apiserver.tests.conftest import ADMIN, START_NS, cluster_of
from podwright.online.apiserver.wire.latency import ApiLatency, read_latency_rule
from podwright.scheduler.machine import SchedulerOptions

WRITES = "/podwright/v1/writes"
MAPS = "/api/v1/namespaces/default/configmaps"


def write(method, name="", body=None, **fields):
    path = f"{MAPS}/{name}" if name else MAPS
    return {"method": method, "path": path, **fields, **({} if body is None else {"body": body})}


def config_map(name, **data):
    return {"metadata": {"name": name}, "data": data}


def send(serve, *writes):
    served = serve(cluster_of(), ClusterClock(start_ns=START_NS))
    status, found = served.send("POST", WRITES, {"writes": list(writes)})
    return served, status, found


def test_writes_are_executed_in_order_each_with_its_reply(serve):
    merge = {"contentType": "application/merge-patch+json"}
    served, status, found = send(
        serve,
        write("POST", body=config_map("a", x="1")),
        write("PATCH", "a", {"data": {"x": "2"}}, **merge),
        write("POST", body=config_map("a")),
        write("DELETE", "none"),
        write("POST", body=config_map("b")),
        write("DELETE", "b"),
        write("PUT", "a", config_map("a", x="3")),
    )
    assert status == 200
    assert [each["status"] for each in found["replies"]] == [201, 200, 409, 404, 201, 200, 200]
    assert found["replies"][1]["body"]["data"] == {"x": "2"}
    assert found["replies"][2]["body"]["reason"] == "AlreadyExists"
    assert served.send("GET", f"{MAPS}/a")[1]["data"] == {"x": "3"}
    assert served.send("GET", f"{MAPS}/b")[0] == 404


def test_a_path_that_does_not_exist_has_a_text(serve):
    _, status, found = send(serve, {"method": "DELETE", "path": "/apis/none"})
    assert status == 200
    assert found == {"replies": [{"status": 404, "body": "404 page not found\n"}]}


def test_only_writes_of_the_kubernetes_api_are_taken(serve):
    served, status, found = send(serve, write("GET", "a"))
    assert (status, found["field"]) == (422, "writes[0].method")
    other = {"method": "POST", "path": "/podwright/v1/clock/pause"}
    status, found = served.send("POST", WRITES, {"writes": [other]})
    assert (status, found["field"]) == (422, "writes[0].path")
    assert not served.send("GET", "/podwright/v1/clock")[1]["isPaused"]


def test_the_delays_of_all_writes_pass_before_the_first_of_them(serve, monkeypatch):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr("podwright.online.apiserver.control.writes.asyncio.sleep", sleep)
    latency = ApiLatency([read_latency_rule("create=2s"), read_latency_rule("delete=3s")])
    served = serve(cluster_of(), ClusterClock(start_ns=START_NS), latency=latency)
    writes = [write("POST", body=config_map("a")), write("DELETE", "a"), write("PUT", "a", {})]
    status, found = served.send("POST", WRITES, {"writes": writes})
    assert (status, [each["status"] for each in found["replies"]][:2]) == (200, [201, 200])
    assert 5.0 in slept
    latency.rules = ()
    slept.clear()
    served.send("POST", WRITES, {"writes": writes})
    assert [each for each in slept if each > 1] == []


def test_writes_have_the_rights_of_the_user_who_sends_them(serve):
    options = ServerOptions(tokens=(static_tokens({"admin": ADMIN}),))
    cluster = new_cluster(SchedulerOptions(), now_ns=START_NS, server_options=options)
    served = serve(cluster, ClusterClock(start_ns=START_NS))
    sent = {"writes": [write("POST", body=config_map("a"))]}
    user = {"impersonate-user": "kim", "authorization": "Bearer admin"}
    assert served.send("POST", WRITES, sent, user)[0] == 403
    status, found = served.send("POST", WRITES, sent, {"authorization": "Bearer admin"})
    assert (status, found["replies"][0]["status"]) == (200, 201)
