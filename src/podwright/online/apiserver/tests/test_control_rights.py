"""Who may use podwright's own API: each endpoint of the table, for users with few rights."""

import contextlib
import json
import re

import pytest

from podwright.cluster.api.endpoints import ServerOptions, User, static_tokens
from podwright.online.apiserver import ApiLatency, ClusterClock, RunningScheduler, TurnLoop
from podwright.online.apiserver.cluster import new_cluster
from podwright.online.apiserver.control import ControlledCluster, endpoints_of
from podwright.online.apiserver.tests.conftest import JSON, START_NS
from podwright.scheduler.machine import SchedulerOptions

COMPARING = {
    f"/podwright/v1/{path}" for path in ("what-if", "configuration/check", "configuration/diff")
}
"""Requests with a body that change nothing."""

RBAC = "rbac.authorization.k8s.io"
USERS = {
    "admin": User("admin", groups=("system:masters", "system:authenticated")),
    "reader": User("reader", groups=("system:authenticated",)),
    "stranger": User("stranger", groups=("system:authenticated",)),
}


def cluster():
    return new_cluster(
        SchedulerOptions(),
        now_ns=START_NS,
        server_options=ServerOptions(tokens=(static_tokens(USERS),)),
    )


def table():
    turns = TurnLoop(cluster(), ClusterClock(start_ns=START_NS))
    return endpoints_of(ControlledCluster(turns, ApiLatency(), RunningScheduler(turns)))


def name_of(endpoint):
    return f"{endpoint.method} {endpoint.url.removeprefix('/podwright/v1')}"


@pytest.fixture
def served(serve):
    """Return a server whose user `reader` may get all paths of podwright's API."""
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    found = serve(cluster(), clock)
    head = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": "reader"}}
    rule = {"nonResourceURLs": ["/podwright/*", "/metrics", "/metrics/*"], "verbs": ["get"]}
    role = {**head, "kind": "ClusterRole", "rules": [rule]}
    binding = {
        **head,
        "kind": "ClusterRoleBinding",
        "subjects": [{"kind": "User", "name": "reader", "apiGroup": RBAC}],
        "roleRef": {"kind": "ClusterRole", "name": "reader", "apiGroup": RBAC},
    }
    admin = {"Authorization": "Bearer admin"}
    for resource, document in (("clusterroles", role), ("clusterrolebindings", binding)):
        status, reply = found.send("POST", f"/apis/{RBAC}/v1/{resource}", document, admin)
        assert status == 201, reply
    return found


def status_of(served, endpoint, user):
    """Return the status of a request, whose body is read no further than needed."""
    headers = dict(JSON)
    if user:
        headers["Authorization"] = f"Bearer {user}"
    with contextlib.closing(served.connection()) as connection:
        path = re.sub(r"{\w+}", "x", endpoint.url)
        body = None if endpoint.body is None else "{}"
        connection.request(endpoint.method, path, body, headers)
        return connection.getresponse().status


@pytest.mark.parametrize(
    ("statuses", "endpoints"),
    [
        pytest.param(
            [404],
            """
            DELETE /breakpoints/{number}  DELETE /plugins/timings  GET /metrics  GET /metrics
            GET /plugins/failures  GET /plugins/timings  GET /shadow  GET /state  GET /sync
            POST /autoscaling  POST /capacity  POST /drain-plan  POST /purchase  POST /sync/check
            """,
            id="a named thing may be missing",
        ),
        pytest.param(
            [409],
            "GET /runs  POST /breakpoints  PUT /plugins/observation",
            id="the cluster may have another scheduler, or no folder of runs",
        ),
        pytest.param(
            [404, 409],
            """
            DELETE /runs/{id}  GET /configuration  GET /decisions  GET /fragmentation  GET /pending
            GET /plugins  GET /pods/{namespace}/{name}/attempts  GET /pods/{namespace}/{name}/case
            GET /pods/{namespace}/{name}/explanation  GET /preemptions  GET /queue
            GET /queue/groups  GET /runs/{id}  GET /runs/{id}/download  GET /runs/{id}/nodes
            GET /runs/{id}/pods/{namespace}/{name}/attempts
            GET /runs/{id}/pods/{namespace}/{name}/explanation  GET /runs/{id}/timeline
            GET /timeline  GET /utilization  GET /utilization/nodes  GET /waiting-times
            POST /configuration/check  POST /configuration/diff  POST /nodes/{name}/fail
            POST /nodes/{name}/restore  POST /queue/{namespace}/{name}/move  PUT /configuration
            """,
            id="both",
        ),
    ],
)
def test_the_document_names_the_problems_of_an_endpoint(statuses, endpoints):
    found = [name_of(each) for each in table() if list(each.problems) == statuses]
    assert sorted(found) == re.split(r"\s{2,}", endpoints.strip())


def test_most_endpoints_have_small_bodies_and_answer_in_json():
    usual = ("application/json", (), 1 << 20)
    metrics = ("text/plain; version=0.0.4; charset=utf-8", (), 1 << 20)
    planned = ("application/json", ("application/x-ndjson",), 1 << 20)
    timeline = ("application/vnd.podwright.timeline", (), 1 << 20)
    found = {
        name_of(each): shape
        for each in table()
        if (shape := (each.media_type, each.other_media_types, each.body_max)) != usual
    }
    planning = ("what-if", "capacity", "drain-plan", "purchase", "autoscaling", "scenarios")
    assert found == {
        **{f"POST /{path}": planned for path in (*planning, "scheduler-perf")},
        **{f"GET /metrics{path}": metrics for path in ("", "/resources", "/sync")},
        "GET /timeline": timeline, "GET /runs/{id}/timeline": timeline,
        "GET /runs/{id}/download": ("application/x-tar", (), 1 << 20),
        "GET /state": ("text/event-stream", (), 1 << 20),
        "POST /snapshot": ("application/json", (), 1 << 30),
        "POST /writes": ("application/json", (), 64 << 20),
    }  # fmt: skip


def test_who_may_only_read_changes_nothing(served):
    changing = [each for each in table() if each.method != "GET" and not each.changes_nothing]
    assert len(changing) >= 10
    found = {
        f"{each.method} {each.url}": (
            status_of(served, each, "reader"),
            status_of(served, each, "stranger"),
            status_of(served, each, ""),
        )
        for each in changing
    }
    assert set(found.values()) == {(403, 403, 403)}, found


def test_who_has_no_rights_reads_nothing(served):
    reading = [each for each in table() if each.method == "GET" or each.changes_nothing]
    assert {each.url for each in reading} >= COMPARING
    found = {
        f"{each.method} {each.url}": (
            status_of(served, each, "reader") == 403,
            status_of(served, each, "stranger"),
        )
        for each in reading
    }
    assert set(found.values()) == {(False, 403)}, found


def test_a_token_that_is_not_known_is_rejected(served):
    assert {status_of(served, each, "unknown") for each in table()} == {401}


# -------------------------------------------------------------- headers that occur more than once

IMPERSONATED = (
    ("Authorization", "Bearer admin"), ("Content-Type", "application/json"),
    ("Impersonate-User", "stranger"), ("Impersonate-Group", "readers"),
    ("Impersonate-Group", ",,,x"), ("Impersonate-Extra-Note", "one,two"),
    ("Impersonate-Extra-Note", "hello there"),
)  # fmt: skip


def sent_with(served, method, path, document, *headers):
    """Return the status and the document of a reply to a request with repeated headers."""
    body = json.dumps(document).encode()
    with contextlib.closing(served.connection()) as connection:
        connection.putrequest(method, path)
        for name, value in (*headers, ("Content-Length", str(len(body)))):
            connection.putheader(name, value)
        connection.endheaders(body)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())


def test_each_value_of_a_repeated_header_of_impersonation_counts(served):
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    status, found = sent_with(served, "POST", path, review, *IMPERSONATED)
    assert status == 201, found
    info = found["status"]["userInfo"]
    assert info["groups"] == ["readers", ",,,x", "system:authenticated"]
    assert info["extra"] == {"note": ["one,two", "hello there"]}


@pytest.fixture
def with_readers(served):
    """Return the server; the group `readers` may import snapshots and create ConfigMaps."""
    head = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": "readers"}}
    urls = ["/podwright/v1/writes", "/podwright/v1/snapshot"]
    role = {**head, "kind": "ClusterRole", "rules": [
        {"nonResourceURLs": urls, "verbs": ["post"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "create", "patch"]},
    ]}  # fmt: skip
    binding = {
        **head,
        "kind": "ClusterRoleBinding",
        "subjects": [{"kind": "Group", "name": "readers", "apiGroup": RBAC}],
        "roleRef": {"kind": "ClusterRole", "name": "readers", "apiGroup": RBAC},
    }
    admin = {"Authorization": "Bearer admin"}
    for resource, each in (("clusterroles", role), ("clusterrolebindings", binding)):
        assert served.send("POST", f"/apis/{RBAC}/v1/{resource}", each, admin)[0] == 201
    return served


def test_a_group_that_is_not_the_last_header_has_its_rights(with_readers):
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    path = "/api/v1/namespaces/default/configmaps"
    write = {"method": "POST", "path": path, "contentType": "application/json", "body": config_map}
    writes = {"writes": [write]}
    status, found = sent_with(with_readers, "POST", "/podwright/v1/writes", writes, *IMPERSONATED)
    assert status == 200, found
    assert [each["status"] for each in found["replies"]] == [201]
    nodes = {"nodes": [{"metadata": {"name": "planted"}}]}
    status, found = sent_with(with_readers, "POST", "/podwright/v1/snapshot", nodes, *IMPERSONATED)
    assert status == 200, found
    assert sent_with(with_readers, "POST", "/podwright/v1/reset", {}, *IMPERSONATED)[0] == 403
