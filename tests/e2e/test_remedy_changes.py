"""The requests of a remedy, sent to the server: the pod is scheduled then."""

import http.client
import json

import pytest
from tests.e2e.test_up import PODS, pod, up

EXPLANATION = "/podwright/v1/pods/default/{}/explanation?attempt=now"
KIND_PATHS = {
    "Node": "/api/v1/nodes",
    "Pod": PODS,
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
}


def placed_count(pods):
    return sum("nodeName" in each["spec"] for each in pods["items"])


def remedies_of(served, name):
    status, found = served.send("GET", EXPLANATION.format(name))
    assert status == 200, found
    return found["remedies"]


def send(served, change):
    """Send one request of a remedy, as a client would."""
    collection = KIND_PATHS[change["kind"]]
    path = f"{collection}/{change['name']}"
    body = change["body"]
    if change["action"] == "patch":
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
        headers = {"content-type": "application/merge-patch+json"}
        connection.request("PATCH", path, json.dumps(body), headers)
        reply = connection.getresponse()
        assert reply.status == 200, reply.read()
        connection.close()
    if change["action"] in ("delete", "replace"):
        assert served.send("DELETE", path)[0] == 200
    if change["action"] in ("create", "replace"):
        status, found = served.send("POST", collection, body)
        assert status == 201, found.get("message")


def apply_and_wait(served, name, remedy):
    for change in remedy["changes"]:
        send(served, change)
    bound = served.eventually(f"{PODS}/{name}", lambda found: found["spec"].get("nodeName"))
    assert bound["spec"]["nodeName"] in (remedy["node"], *remedy["otherNodes"])


OTHERS_IN_DEMO = 4
REMEDIES = [
    ("add a toleration", ["patch"]), ("remove taint", ["patch"]), ("reduce", ["replace"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "actions"), REMEDIES)
def test_a_pending_pod_is_scheduled_after_the_requests_of_a_remedy(tmp_path, text, actions):
    with up(tmp_path, "--demo") as served:
        served.eventually(f"{PODS}/training", lambda found: found["status"].get("conditions"))
        # A remedy that was found before the other pods were placed need not suffice after that.
        served.eventually(PODS, lambda found: placed_count(found) == OTHERS_IN_DEMO)
        remedies = remedies_of(served, "training")
        remedy = next(each for each in remedies if each["remedy"].startswith(text))
        assert [change["action"] for change in remedy["changes"]] == actions
        apply_and_wait(served, "training", remedy)


@pytest.mark.parametrize("kind", ["Node", "PriorityClass"])
def test_a_remedy_can_create_what_the_pod_needs(tmp_path, kind):
    with up(tmp_path, "--nodes", "1") as served:
        for number in range(40):
            served.send("POST", PODS, pod(f"web-{number}"))
        served.eventually(
            PODS, lambda found: all(one["status"].get("conditions") for one in found["items"])
        )
        found = served.send("GET", PODS)[1]["items"]
        waiting = next(one["metadata"]["name"] for one in found if not one["spec"].get("nodeName"))
        remedies = remedies_of(served, waiting)
        adding = next(
            one
            for one in remedies
            if any((each["action"], each["kind"]) == ("create", kind) for each in one["changes"])
        )
        apply_and_wait(served, waiting, adding)


def test_a_pod_of_a_workload_has_no_requests_that_change_it(tmp_path):
    with up(tmp_path, "--nodes", "1", "--no-controllers") as served:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u"}
        document = pod("owned")
        document["metadata"]["ownerReferences"] = [owner]
        document["spec"]["nodeSelector"] = {"disk": "ssd"}
        served.send("POST", PODS, document)
        served.eventually(f"{PODS}/owned", lambda found: found["status"].get("conditions"))
        by_text = {one["remedy"]: one["changes"] for one in remedies_of(served, "owned")}
        assert None in by_text.values(), by_text
        assert [{"patch"}] == [
            {change["action"] for change in changes} for changes in by_text.values() if changes
        ]
