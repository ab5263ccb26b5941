"""Deletions that clients rarely request, as kube-apiserver 1.36 answers them."""

from __future__ import annotations

import json
from functools import partial

import msgspec
import pytest

from podwright.apimachinery.objects import timestamp_ns
from podwright.cluster.api.admission import default_plugins
from podwright.cluster.api.endpoints import ApiServer, HttpRequest, bare_options
from podwright.cluster.api.endpoints.request import LongRequest
from podwright.cluster.api.endpoints.tests.conftest import Server, config_map, pod
from podwright.cluster.api.users import User

PODS = "/api/v1/namespaces/default/pods"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SECOND_NS = 1_000_000_000
EVENTS = "/api/v1/namespaces/default/events"


def test_a_deletion_as_a_dry_run_shows_the_stored_version(server: Server) -> None:
    _, made = server.reply("POST", PODS, pod("a", nodeName="n"))
    version = made["metadata"]["resourceVersion"]
    status, found = server.reply("DELETE", f"{PODS}/a?dryRun=All")
    assert (status, found["metadata"]["deletionGracePeriodSeconds"]) == (200, 30)
    assert found["metadata"]["resourceVersion"] == version
    assert server.reply("GET", f"{PODS}/a")[1] == made


def test_a_terminated_pod_that_waits_for_finalizers_gets_those_of_a_later_policy(
    server: Server,
) -> None:
    body = pod("a")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    server.reply("POST", PODS, body)
    assert server.reply("DELETE", f"{PODS}/a")[1]["metadata"]["deletionGracePeriodSeconds"] == 0
    _, found = server.reply("DELETE", f"{PODS}/a?propagationPolicy=Foreground")
    assert found["metadata"]["finalizers"] == ["example.com/hold", "foregroundDeletion"]


def test_a_running_pod_that_terminates_keeps_its_finalizers(server: Server) -> None:
    server.reply("POST", PODS, pod("a", nodeName="n"))
    server.reply("DELETE", f"{PODS}/a")
    _, found = server.reply("DELETE", f"{PODS}/a?propagationPolicy=Foreground")
    assert "finalizers" not in found["metadata"]


def test_a_deletion_that_takes_longer_is_accepted_if_dependents_are_not_orphans(
    server: Server,
) -> None:
    server.reply("POST", PODS, pod("a", nodeName="n"))
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    for path, query, status in (
        (f"{PODS}/a", "orphanDependents=true", 200), (f"{PODS}/a", "", 200),
        (f"{PODS}/a", "orphanDependents=false", 202),
        (f"{CONFIG_MAPS}/a", "orphanDependents=false", 200),
    ):  # fmt: skip
        assert server.reply("DELETE", f"{path}?{query}")[0] == status, (path, query)


def test_the_deletion_of_an_event_ignores_the_policy(server: Server) -> None:
    body = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "reason": "r"}
    server.reply("POST", EVENTS, body)
    status, found = server.reply("DELETE", f"{EVENTS}/e?propagationPolicy=Foreground")
    assert (status, found["kind"]) == (200, "Status")
    assert server.reply("GET", f"{EVENTS}/e")[0] == 404


def test_a_grace_period_of_zero_is_none_that_a_client_may_set(server: Server) -> None:
    server.reply("POST", PODS, pod("a"))
    status, found = server.patch(f"{PODS}/a", {"metadata": {"deletionGracePeriodSeconds": 0}})
    field = "metadata.deletionGracePeriodSeconds"
    assert (status, found["details"]["causes"][0]["field"]) == (422, field)


def test_a_second_deletion_shortens_the_grace_period_and_never_extends_it(server: Server) -> None:
    server.reply("POST", PODS, pod("a", nodeName="n"))
    _, first = server.reply("DELETE", f"{PODS}/a?gracePeriodSeconds=20")
    for seconds in (20, 21, 300):
        status, again = server.reply("DELETE", f"{PODS}/a?gracePeriodSeconds={seconds}")
        assert (status, again) == (200, first)
    assert server.reply("DELETE", f"{PODS}/a")[1] == first
    _, shorter = server.reply("DELETE", f"{PODS}/a?gracePeriodSeconds=19")
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 19
    assert shorter["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]
    ends = [timestamp_ns(each["metadata"]["deletionTimestamp"]) or 0 for each in (first, shorter)]
    assert ends[0] - ends[1] == SECOND_NS
    # A period that has passed already ends now, not in the past.
    server.now_ns += 10 * SECOND_NS
    _, past = server.reply("DELETE", f"{PODS}/a?gracePeriodSeconds=5")
    assert timestamp_ns(past["metadata"]["deletionTimestamp"]) == server.now_ns
    assert past["metadata"]["deletionGracePeriodSeconds"] == 1


@pytest.mark.parametrize(
    ("uid", "version", "status"),
    [
        ("", "", 200),
        ("own", "", 200),
        ("", "own", 200),
        ("own", "own", 200),
        ("other", "own", 409),
        ("own", "1", 409),
        ("own", "999999999", 409),
        ("other", "", 409),
    ],
)
@pytest.mark.parametrize("method", ["DELETE", "PUT"])
def test_a_uid_and_a_version_are_both_preconditions(
    server: Server, method: str, uid: str, version: str, status: int
) -> None:
    server.reply("POST", CONFIG_MAPS, config_map("before"))
    _, made = server.reply("POST", CONFIG_MAPS, config_map("a"))
    own = made["metadata"]
    sent = {
        "uid": {"own": own["uid"]}.get(uid, uid),
        "resourceVersion": {"own": own["resourceVersion"]}.get(version, version),
    }
    sent = {name: value for name, value in sent.items() if value}
    if method == "DELETE":
        body: dict[str, object] = {"kind": "DeleteOptions", "apiVersion": "v1"}
        body["preconditions"] = sent
    else:
        body = config_map("a", key="value")
        body["metadata"] = {"name": "a", **sent}
    found, reply = server.reply(method, f"{CONFIG_MAPS}/a", body)
    assert found == status, reply
    assert (server.reply("GET", f"{CONFIG_MAPS}/a")[1] == made) is (status == 409)


def test_a_collection_is_deleted_in_the_order_of_its_keys_a_page_at_a_time(server: Server) -> None:
    for name in ("d", "a", "c", "b", "x"):
        labels = {} if name == "x" else {"app": "web"}
        body = config_map(name)
        body["metadata"]["labels"] = labels
        server.reply("POST", CONFIG_MAPS, body)
    watch = server.watch(
        f"{CONFIG_MAPS}?watch=true&resourceVersion={server.store.resource_version}"
    )
    path = f"{CONFIG_MAPS}?labelSelector=app%3Dweb"
    _, page = server.reply("DELETE", f"{path}&limit=3")
    assert [each["metadata"]["name"] for each in page["items"]] == ["a", "b", "c"]
    assert page["metadata"]["continue"]
    shown = [(kind, each["metadata"]["name"]) for kind, each in server.events(watch)]
    assert shown == [("DELETED", "a"), ("DELETED", "b"), ("DELETED", "c")]
    token = page["metadata"]["continue"]
    _, rest = server.reply("DELETE", f"{path}&limit=3&continue={token}")
    assert [each["metadata"]["name"] for each in rest["items"]] == ["d"]
    _, left = server.reply("GET", CONFIG_MAPS)
    assert [each["metadata"]["name"] for each in left["items"]] == ["x"]


def test_a_collection_that_changes_while_it_is_deleted_is_shown_as_it_was_listed(
    server: Server,
) -> None:
    for name in "abcd":
        server.reply("POST", CONFIG_MAPS, config_map(name, k="before"))
    headers = {"authorization": "Bearer admin-token"}
    deletion = server.api.begin(HttpRequest("DELETE", CONFIG_MAPS, "", headers), server.now_ns)
    assert isinstance(deletion, LongRequest)
    assert deletion.advance(lambda: True) is None
    server.patch(f"{CONFIG_MAPS}/b", {"data": {"k": "after"}})
    server.reply("DELETE", f"{CONFIG_MAPS}/c")
    document = json.loads(deletion.finish().body)
    shown = [(each["metadata"]["name"], each["data"]["k"]) for each in document["items"]]
    assert shown == [("a", "before"), ("b", "before"), ("d", "before")]
    assert server.reply("GET", CONFIG_MAPS)[1]["items"] == []


def test_a_deleted_collection_is_shown_as_it_was(server: Server) -> None:
    _, held = server.reply("POST", PODS, pod("held", nodeName="n"))
    _, free = server.reply("POST", PODS, pod("free"))
    _, found = server.reply("DELETE", f"{PODS}?gracePeriodSeconds=7")
    for each, stored in zip(found["items"], (free, held), strict=True):
        assert each["metadata"] == stored["metadata"]
    _, left = server.reply("GET", PODS)
    assert [
        (each["metadata"]["name"], each["metadata"]["deletionGracePeriodSeconds"])
        for each in left["items"]
    ] == [("held", 7)]


def test_admission_sees_no_name_in_the_deletion_of_a_collection(server: Server) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    node = User("system:node:n", groups=("system:nodes", "system:masters"))
    assert server.reply("POST", leases, {"metadata": {"name": "n"}})[0] == 201
    admission = partial(default_plugins, enabled=("NodeRestriction",))
    options = msgspec.structs.replace(bare_options(), admission=admission)
    server.api = ApiServer(server.store, options)
    status, found = server.reply("DELETE", leases, user=node)
    assert (status, found["message"]) == (
        403,
        'leases.coordination.k8s.io "Unknown" is forbidden: can only access node lease with the'
        " same name as the requesting node",
    )
    assert server.reply("DELETE", f"{leases}/n", user=node)[0] == 200
