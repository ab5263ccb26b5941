"""The page of the sync that fills a cluster."""

from datetime import UTC, datetime

import pytest
from tests.ui.requests import request

pytestmark = pytest.mark.ui

SYNC = "/podwright/v1/sync"
STATUS = {
    "source": {"name": 'context "prod"', "server": "https://prod:6443", "identity": "u1"},
    "phase": "following",
    "startedAt": "2026-01-01T00:00:00Z",
    "scope": {"kinds": ["nodes", "pods"], "namespaces": ["shop"], "selector": ""},
    "policies": {
        "bound": "initial",
        "excludesRunning": False,
        "followsLabels": True,
        "followsResources": False,
        "mirrorsPodStatus": False,
        "hasExplicitSpread": False,
    },
    "lag": {
        "changes": 9,
        "waiting": 1,
        "lastSeconds": 0.25,
        "meanSeconds": 0.5,
        "longestSeconds": 1.0,
    },
    "counts": {
        "created": 5,
        "updated": 4,
        "deleted": 3,
        "rescheduled": 2,
        "ignored": 1,
        "keptDeleted": 0,
    },
    "drift": {"pods": 2, "claims": 1},
    "unfreed": {"pods": 6, "milliCpu": 1500, "memoryBytes": 1 << 30, "option": "--pod-status"},
    "errors": [{"kind": "Pod", "reason": "Forbidden", "count": 8}],
    "lastError": "pods is forbidden",
    "sourceFailures": 2,
    "warnings": ["devices are not followed"],
    "sides": ["source", "A", "B"],
    "here": 1,
    "differences": [
        {"pod": "shop/web", "nodes": ["node-a", "node-b", ""]},
        {"pod": "shop/<b>other</b>", "nodes": ["node-c", "node-c", "node-d"]},
    ],
    "differencesLeftOut": 3,
}


def report(served, **changes):
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    request(served, "PUT", SYNC, STATUS | {"reportedAt": now} | changes)


def test_the_page_shows_the_sync_as_soon_as_it_reports(page, own_demo):
    page.goto(f"{own_demo.page}/sync")
    page.get_by_text("podwright sync --context CONTEXT --to").wait_for()
    page.get_by_text("podwright up --sync cluster:CONTEXT").wait_for()
    assert page.get_by_text("no sync has reported").count() == 0
    report(own_demo)
    sync = page.locator("pw-sync")
    sync.get_by_text('context "prod"').wait_for()
    for text in (
        "following",
        "0.25 s",
        "Pods that had a node in the first list keep it",
        "Changed labels of pods with a node are mirrored.",
        "Followed: nodes, pods in shop.",
        "6 pods finished at the source and still occupy 1.5 cpu and 1Gi of memory here; "
        "--pod-status frees them.",
        "pods is forbidden",
        "devices are not followed",
        "A (this cluster)",
        "<b>other</b>",
        "and 3 pods more",
    ):
        sync.get_by_text(text).first.wait_for()
    sync.get_by_label("Search pods and nodes").fill("node-b")
    sync.get_by_text("<b>other</b>").wait_for(state="hidden")
    sync.get_by_role("link", name="shop/web").wait_for()


def test_a_sync_that_reports_no_more_is_said_by_the_clock_of_the_server(page, own_demo):
    def later(route):
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"secondsSinceReport": 60})

    # The clocks of the sync and of the browser do not matter.
    report(own_demo, reportedAt="2020-01-01T00:00:00Z")
    page.route(f"**{SYNC}", later)
    page.goto(f"{own_demo.page}/sync")
    page.get_by_text("The sync has not reported since").wait_for()
    page.unroute(f"**{SYNC}")
    report(own_demo, reportedAt="2020-01-01T00:00:00Z", differences=[], differencesLeftOut=0)
    page.get_by_text("The sync has not reported since").wait_for(state="hidden")
    page.get_by_text("Every pod that has a node on all sides has the same one.").wait_for()


def test_fields_are_compared_when_the_page_requests_it(page, own_demo):
    report(own_demo)
    page.goto(f"{own_demo.page}/sync")
    with page.expect_response(f"**{SYNC}/check"):
        page.get_by_role("button", name="Compare", exact=True).click()
    page.get_by_text("Reading all objects of both clusters").wait_for()
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert request(own_demo, "PUT", SYNC, STATUS | {"reportedAt": now}) == {"check": True}
    assert request(own_demo, "PUT", SYNC, STATUS | {"reportedAt": now}) == {"check": False}
    found = {"kind": "nodes", "key": "n1", "source": "4", "here": "8"}
    check = {
        "checkedAt": now,
        "compared": 9,
        "kinds": [{"kind": "nodes", "source": 5, "here": 4}],
        "differences": [
            found | {"path": "status.capacity.cpu", "policy": ""},
            found | {"path": "metadata.labels.a", "policy": "labels of a cluster of its own"},
        ],
        "differencesLeftOut": 1,
        "unexplained": 1,
    }
    report(own_demo, check=check)
    sync = page.locator("pw-sync")
    sync.get_by_text("9 objects compared").wait_for()
    sync.get_by_role("row", name="nodes 5 4 2 1").wait_for()
    sync.get_by_role("row", name="nodes/n1 status.capacity.cpu 4 8 not explained").wait_for()
    sync.get_by_text("and 1 difference more").wait_for()
