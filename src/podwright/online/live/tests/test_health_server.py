"""The health endpoints over HTTP, and the counts of their checks."""

import asyncio
import re

import aiohttp
import pytest
from prometheus_client import enable_created_metrics

from podwright.online.live.health_server import (
    Check,
    HealthMetrics,
    HealthServer,
    ProcessMetrics,
    health_checks,
    health_text,
)

COUNTS = "/metrics/slis"
TOTAL = "kubernetes_healthchecks_total"


def replies(*requests, is_listed=True):
    """Send requests to a server with the checks of a scheduler; return status and text of each."""

    async def run():
        checks = health_checks(lambda: is_listed, lambda: False, None)
        server = HealthServer("127.0.0.1", 0, checks, {"/metrics": lambda: b"own"})
        found = []
        async with server, aiohttp.ClientSession() as session:
            for method, path in requests:
                url = f"http://127.0.0.1:{server.port}{path}"
                async with session.request(method, url) as reply:
                    found.append((reply.status, await reply.text()))
        return found

    return asyncio.run(run())


def series(text):
    lines = (line for line in text.splitlines() if not line.startswith(("#", "process_")))
    return dict(line.rsplit(" ", 1) for line in lines)


def test_the_results_of_checks_are_counted_by_endpoint():
    *_, (status, text) = replies(
        ("GET", "/readyz"), ("GET", "/readyz?verbose"), ("GET", "/livez"), ("GET", COUNTS),
        is_listed=False,
    )  # fmt: skip
    assert status == 200
    assert "# TYPE kubernetes_healthcheck gauge" in text
    assert "# TYPE kubernetes_healthchecks_total counter" in text
    of_process = [line for line in text.splitlines() if line.startswith("process_")]
    assert [line.split()[0] for line in of_process] == ["process_start_time_seconds"]
    assert series(text) == {
        'kubernetes_healthcheck{name="ping",type="livez"}': "1.0",
        'kubernetes_healthcheck{name="sched-handler-sync",type="readyz"}': "0.0",
        'kubernetes_healthcheck{name="shutdown",type="readyz"}': "1.0",
        f'{TOTAL}{{name="ping",status="success",type="livez"}}': "1.0",
        f'{TOTAL}{{name="sched-handler-sync",status="error",type="readyz"}}': "2.0",
        f'{TOTAL}{{name="shutdown",status="success",type="readyz"}}': "2.0",
    }


def test_excluded_checks_and_single_checks_are_not_counted():
    *_, (_, text) = replies(
        ("GET", "/readyz?exclude=shutdown"), ("GET", "/livez/ping"), ("GET", COUNTS)
    )
    assert series(text) == {
        'kubernetes_healthcheck{name="sched-handler-sync",type="readyz"}': "1.0",
        f'{TOTAL}{{name="sched-handler-sync",status="success",type="readyz"}}': "1.0",
    }


def test_the_path_of_a_check_says_why_it_fails():
    # staging/src/k8s.io/apiserver/pkg/server/healthz/healthz.go, adaptCheckToHandler
    found = replies(
        ("GET", "/readyz/sched-handler-sync"),
        ("GET", "/readyz/shutdown?verbose&exclude=shutdown"),
        ("GET", "/livez/none"),
        is_listed=False,
    )
    assert found[:2] == [
        (500, "internal server error: handlers are not fully synchronized\n"), (200, "ok")
    ]  # fmt: skip
    assert found[2][0] == 404


def test_the_counts_are_reset_by_delete():
    _, reset, (_, text) = replies(("GET", "/livez"), ("DELETE", COUNTS), ("GET", COUNTS))
    assert reset == (200, "metrics reset\n")
    assert series(text) == {}


def test_what_passes_is_200_and_what_fails_is_500():
    found = replies(("GET", "/readyz"), ("GET", "/livez"), ("GET", "/metrics"), is_listed=False)
    assert [status for status, _ in found] == [500, 200, 200]


def test_durations_of_requests_have_the_buckets_of_component_base():
    # staging/src/k8s.io/component-base/metrics/prometheus/restclient/metrics.go
    metrics = ProcessMetrics("")
    metrics.replied("GET", "https://example.com:6443", 200, 0.3)
    bounds = re.findall(r'duration_seconds_bucket\{.*le="([^"]+)"', metrics.text().decode())
    assert bounds == [
        "0.005", "0.025", "0.1", "0.25", "0.5", "1.0", "2.0", "4.0", "8.0", "15.0", "30.0", "60.0",
        "+Inf",
    ]  # fmt: skip


def test_what_passes_is_listed_on_request_alone():
    plain, verbose = replies(("GET", "/livez"), ("GET", "/livez?verbose"))
    assert plain == (200, "ok")
    assert verbose == (200, "[+]ping ok\nlivez check passed\n")


def test_each_replica_says_whether_it_leads():
    metrics = ProcessMetrics("podwright")
    status = 'leader_election_master_status{name="podwright"}'
    for leads, value in ((True, "1.0"), (False, "0.0"), (True, "1.0")):
        metrics.lead(leads=leads)
        assert f"{status} {value}" in metrics.text().decode()
    alone = ProcessMetrics("")
    alone.lead(leads=True)
    assert "leader_election_master_status" not in alone.text().decode()


def test_requests_are_counted_by_status_method_and_host():
    metrics = ProcessMetrics("")
    for status, seconds in ((200, 0.3), (200, 3.0), (409, 0.1)):
        metrics.replied("POST", "https://example.com:6443/path", status, seconds)
    text = metrics.text().decode()
    host = 'host="example.com:6443"'
    for code, count in (("200", "2.0"), ("409", "1.0")):
        assert f'rest_client_requests_total{{code="{code}",{host},method="POST"}} {count}' in text
    name = "rest_client_request_duration_seconds"
    assert f'{name}_bucket{{{host},le="0.25",verb="POST"}} 1.0' in text
    assert f'{name}_bucket{{{host},le="0.5",verb="POST"}} 2.0' in text
    assert f'{name}_count{{{host},verb="POST"}} 3.0' in text
    assert "_created" not in text, "Kubernetes' components have no such series"


@pytest.mark.parametrize(
    ("is_listed", "is_stopping", "is_renewed", "failing"),
    [
        (True, False, None, set()),
        (False, False, None, {"/readyz"}),
        (True, True, None, {"/readyz"}),
        (True, False, True, set()),
        (True, False, False, {"/healthz", "/readyz"}),
    ],
)
def test_which_endpoints_fail(is_listed, is_stopping, is_renewed, failing):
    renewed = None if is_renewed is None else lambda: is_renewed
    checks = health_checks(lambda: is_listed, lambda: is_stopping, renewed)
    assert {path for path, own in checks.items() if not health_text(path, own)[0]} == failing
    names = {path: [each.name for each in own] for path, own in checks.items()}
    election = [] if is_renewed is None else ["leaderElection"]
    assert names == {
        "/healthz": election or ["ping"], "/livez": ["ping"],
        "/readyz": [*election, "shutdown", "sched-handler-sync"],
    }  # fmt: skip


def test_a_failed_check_is_named_without_its_reason():
    checks = [Check("one", lambda: False), Check("two", lambda: True)]
    lines = ["[-]one failed: reason withheld", "[+]two ok", "readyz check failed"]
    assert health_text("/readyz", checks) == (False, "\n".join([*lines, ""]))
    passes, text = health_text("/readyz", checks, excluded=["one", "z", "y"], is_verbose=True)
    assert passes
    assert text.splitlines() == [
        "[+]one excluded: ok", "[+]two ok",
        'warn: some health checks cannot be excluded: no matches for "y","z"',
        "readyz check passed",
    ]  # fmt: skip


def test_the_metrics_of_a_process_as_prometheus_reads_them():
    metrics = ProcessMetrics("podwright")
    metrics.replied("GET", "https://one:6443", 200, 0.005)
    metrics.replied("GET", "http://two", 404, 61.0)
    metrics.lead(leads=True)
    lines = metrics.text().decode().splitlines()
    assert any(line.startswith("process_cpu_seconds_total ") for line in lines)
    own = [line for line in lines if "process_" not in line and "_bucket" not in line]
    assert own == [
        "# HELP rest_client_requests_total Requests to the API server, by status code, method and"
        " host.",
        "# TYPE rest_client_requests_total counter",
        'rest_client_requests_total{code="200",host="one:6443",method="GET"} 1.0',
        'rest_client_requests_total{code="404",host="two",method="GET"} 1.0',
        "# HELP rest_client_request_duration_seconds Latency of requests to the API server, by"
        " verb and host.",
        "# TYPE rest_client_request_duration_seconds histogram",
        'rest_client_request_duration_seconds_count{host="one:6443",verb="GET"} 1.0',
        'rest_client_request_duration_seconds_sum{host="one:6443",verb="GET"} 0.005',
        'rest_client_request_duration_seconds_count{host="two",verb="GET"} 1.0',
        'rest_client_request_duration_seconds_sum{host="two",verb="GET"} 61.0',
        "# HELP leader_election_master_status Whether this process holds the lease (1) or waits"
        " for it (0).",
        "# TYPE leader_election_master_status gauge",
        'leader_election_master_status{name="podwright"} 1.0',
    ]


def test_the_counts_of_checks_as_prometheus_reads_them():
    counts = HealthMetrics()
    for passes in (True, True, False):
        counts.observe("ping", "livez", passes=passes)
    lines = counts.text().decode().splitlines()
    assert [line for line in lines if "process_start" not in line] == [
        "# HELP kubernetes_healthcheck The last result of a health check: 1 if it passed.",
        "# TYPE kubernetes_healthcheck gauge",
        'kubernetes_healthcheck{name="ping",type="livez"} 0.0',
        "# HELP kubernetes_healthchecks_total Health checks by their result.",
        "# TYPE kubernetes_healthchecks_total counter",
        'kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 2.0',
        'kubernetes_healthchecks_total{name="ping",status="error",type="livez"} 1.0',
    ]
    counts.reset()
    assert series(counts.text().decode()) == {}


def test_each_path_is_served_with_its_type():
    async def run():
        checks = {"/readyz": (Check("a", lambda: True), Check("b", lambda: False, "odd"))}
        texts = {"/metrics": lambda: b"one", "/metrics/resources": lambda: b"two"}
        found = {}
        server = HealthServer("127.0.0.1", 0, checks, texts)
        async with server, aiohttp.ClientSession() as session:
            for path in (
                "/metrics", "/metrics/resources", "/readyz", "/readyz/a", "/readyz/b",
                "/readyz?exclude=b", "/readyz?exclude=a&exclude=b&verbose", "/readyz/c", "/",
            ):  # fmt: skip
                async with session.get(f"http://127.0.0.1:{server.port}{path}") as reply:
                    kind = reply.headers["Content-Type"]
                    found[path] = (reply.status, await reply.text(), kind)
        return found

    metrics, text = "text/plain; version=0.0.4; charset=utf-8", "text/plain; charset=utf-8"
    failed = "[-]b failed: reason withheld\nreadyz check failed\n"
    excluded = "[+]a excluded: ok\n[+]b excluded: ok\nreadyz check passed\n"
    assert asyncio.run(run()) == {
        "/metrics": (200, "one", metrics),
        "/metrics/resources": (200, "two", metrics),
        "/readyz": (500, f"[+]a ok\n{failed}", text),
        "/readyz/a": (200, "ok", text),
        "/readyz/b": (500, "internal server error: odd\n", text),
        "/readyz?exclude=b": (200, "ok", text),
        "/readyz?exclude=a&exclude=b&verbose": (200, excluded, text),
        "/readyz/c": (404, "404: Not Found", text),
        "/": (404, "404: Not Found", text),
    }


@pytest.mark.parametrize("made", [HealthMetrics, lambda: ProcessMetrics("podwright")])
def test_no_series_says_when_another_was_created(made):
    """As of Kubernetes' components; the library writes them unless a process says otherwise."""
    enable_created_metrics()
    metrics = made()
    if isinstance(metrics, ProcessMetrics):
        metrics.replied("GET", "http://a", 200, 1.0)
    else:
        metrics.observe("ping", "livez", passes=True)
    assert b"_created" not in metrics.text()


def test_the_port_is_free_again_at_the_end():
    async def run():
        async with HealthServer("127.0.0.1", 0, {}, {}) as server:
            port = server.port
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)

    asyncio.run(run())
