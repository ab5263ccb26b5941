"""What a sync reports to its destination."""

import contextlib
import copy
from typing import Any

from podwright.online.apiserver import ClusterClock
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of

SYNC = "/podwright/v1/sync"
STATUS: dict[str, Any] = {
    "source": {"name": "prod", "server": "https://prod:6443", "identity": "u1"},
    "phase": "following",
    "startedAt": "2030-01-01T00:00:00Z",
    "reportedAt": "2030-01-01T00:01:00Z",
    "scope": {"kinds": ["nodes", "pods"], "namespaces": [], "selector": ""},
    "policies": {"bound": "initial", "excludesRunning": False, "followsLabels": False,
                 "followsResources": False, "mirrorsPodStatus": False, "hasExplicitSpread": False,
                 "keepsOwners": False, "keepsAccounts": False, "ignoresDeletions": False,
                 "restoresDeleted": False, "freezesNodeStatus": False},
    "lag": {"changes": 9, "waiting": 1, "lastSeconds": 0.25, "meanSeconds": 0.5,
            "longestSeconds": 1.0},
    "counts": {"created": 5, "updated": 4, "deleted": 3, "rescheduled": 2, "ignored": 1,
               "keptDeleted": 0},
    "drift": {"pods": 7, "claims": 1},
    "unfreed": {"pods": 6, "milliCpu": 100, "memoryBytes": 1024, "option": "--pod-status"},
    "errors": [{"kind": "Pod", "reason": "Forbidden", "count": 8}],
    "lastError": "forbidden",
    "sourceFailures": 2,
    "warnings": [],
    "sides": ["source", "A"],
    "here": 1,
    "differences": [{"pod": "default/web", "nodes": ["n1", ""]}],
    "differencesLeftOut": 0,
}  # fmt: skip


def served(serve):
    return serve(cluster_of(), ClusterClock(start_ns=START_NS))


def test_the_last_report_is_shown(serve):
    cluster = served(serve)
    status, found = cluster.send("GET", SYNC)
    assert status == 404
    assert "podwright sync" in found["detail"]
    for phase in ("listing", "following"):
        assert cluster.send("PUT", SYNC, STATUS | {"phase": phase})[0] == 200
        found = cluster.send("GET", SYNC)[1]
        assert 0.0 <= found.pop("secondsSinceReport") < 60.0
        assert found == STATUS | {"phase": phase}


def test_a_report_that_is_none_is_rejected(serve):
    cluster = served(serve)
    assert cluster.send("PUT", SYNC, STATUS | {"phase": "done"})[0] == 422
    misspelled = copy.deepcopy(STATUS)
    misspelled["lag"]["lastMinutes"] = 1
    status, found = cluster.send("PUT", SYNC, misspelled)
    assert status == 422
    assert "lastMinutes" in found["detail"]
    assert cluster.send("GET", SYNC)[0] == 404


def test_the_last_report_is_served_as_metrics(serve):
    cluster = served(serve)

    def metrics():
        with contextlib.closing(cluster.connection()) as connection:
            connection.request("GET", "/metrics/sync")
            response = connection.getresponse()
            assert response.status == 200
            return response.read().decode()

    assert metrics() == ""
    cluster.send("PUT", SYNC, STATUS)
    lines = [line for line in metrics().splitlines() if not line.startswith("#")]
    assert lines == [
        'podwright_sync_changes_total{result="created"} 5',
        'podwright_sync_changes_total{result="deleted"} 3',
        'podwright_sync_changes_total{result="ignored"} 1',
        'podwright_sync_changes_total{result="kept_deleted"} 0',
        'podwright_sync_changes_total{result="rescheduled"} 2',
        'podwright_sync_changes_total{result="updated"} 4',
        'podwright_sync_drift{type="claims"} 1',
        'podwright_sync_drift{type="pods"} 7',
        'podwright_sync_errors_total{kind="Pod",reason="Forbidden"} 8',
        'podwright_sync_lag_seconds{statistic="last"} 0.25',
        'podwright_sync_lag_seconds{statistic="longest"} 1',
        'podwright_sync_lag_seconds{statistic="mean"} 0.5',
        "podwright_sync_source_failures_total 2",
        "podwright_sync_unfreed_pods 6",
        "podwright_sync_waiting_changes 1",
    ]


def test_a_comparison_is_requested_once_and_only_of_a_sync(serve):
    cluster = served(serve)
    assert cluster.send("POST", f"{SYNC}/check")[0] == 404
    assert cluster.send("PUT", SYNC, STATUS) == (200, {"check": False})
    assert cluster.send("POST", f"{SYNC}/check") == (200, {"check": True})
    assert cluster.send("PUT", SYNC, STATUS) == (200, {"check": True})
    assert cluster.send("PUT", SYNC, STATUS) == (200, {"check": False})
