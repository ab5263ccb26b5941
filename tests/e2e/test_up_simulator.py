"""`podwright up --kss-port`: the HTTP API of kube-scheduler-simulator."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import subprocess
import sys
import urllib.request
from urllib.parse import urlsplit

import pytest
from tests.e2e.command_line import ROOT, run
from tests.e2e.test_up import PODS, Up, pod
from tests.waiting import SECONDS_MAX

SIMULATOR = re.compile(r"API at (http://127\.0\.0\.1:\d+)/api/v1")
SCRIPT = ROOT / "examples" / "kube-scheduler-simulator" / "call_routes.py"
ORIGIN = "http://localhost:3000"


@pytest.fixture
def up(tmp_path):
    """Return a function that starts a cluster, which ends with the test."""
    started = []

    def start(*options):
        started.append(Up(tmp_path, *options))
        return started[-1]

    yield start
    for each in started:
        each.end()
        each.log.close()


def simulator_of(cluster):
    found = SIMULATOR.search(cluster.text())
    assert found is not None, cluster.text()
    return found[1]


def test_the_script_finds_every_route_as_expected(up):
    cluster = up("--nodes", "3", "--kss-port", "0", "--cors-origin", ORIGIN)
    done = subprocess.run(
        [sys.executable, str(SCRIPT), simulator_of(cluster)],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok   ") == len(done.stdout.splitlines()) == 20


def test_pages_of_an_allowed_origin_use_the_kubernetes_api(up):
    cluster = up("--nodes", "1", "--cors-origin", ORIGIN)
    for origin, allowed in ((ORIGIN, ORIGIN), ("https://evil.example", None)):
        request = urllib.request.Request(
            f"http://127.0.0.1:{cluster.port}/api/v1/nodes", headers={"Origin": origin}
        )
        if allowed is None:
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(request, timeout=SECONDS_MAX)
            continue
        with urllib.request.urlopen(request, timeout=SECONDS_MAX) as reply:
            assert reply.headers["Access-Control-Allow-Origin"] == allowed


def preflight(port, path, origin, method="PUT"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS_MAX)
    with contextlib.closing(connection):
        headers = {
            "Origin": origin,
            "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": "content-type",
        }
        connection.request("OPTIONS", path, headers=headers)
        reply = connection.getresponse()
        reply.read()
        return reply.status, dict(reply.getheaders())


def test_both_ports_answer_the_preflight_requests_of_an_allowed_origin_only(up):
    cluster = up("--nodes", "1", "--kss-port", "0", "--cors-origin", ORIGIN)
    simulator = urlsplit(simulator_of(cluster)).port
    for port, path in (
        (cluster.port, "/api/v1/namespaces/default/pods/web"),
        (cluster.port, "/podwright/v1/configuration"),
        (simulator, "/api/v1/schedulerconfiguration"),
    ):
        status, headers = preflight(port, path, ORIGIN)
        assert status == 200, path
        assert headers["access-control-allow-origin"] == ORIGIN
        assert "PUT" in headers["access-control-allow-methods"]
        assert "content-type" in headers["access-control-allow-headers"].lower()
        status, headers = preflight(port, path, "https://evil.example")
        assert status >= 400, path
        assert "access-control-allow-origin" not in headers


CONFIGURATION = """
apiVersion: kube-scheduler-simulator-config/v1alpha1
kind: SimulatorConfiguration
port: 0
etcdURL: "http://127.0.0.1:2379"
corsAllowedOriginList: ["http://localhost:3000"]
kubeApiServerUrl: "http://127.0.0.1:3131"
kubeSchedulerConfigPath: {scheduler}
"""


def test_a_configuration_of_the_simulator_is_used_and_its_rest_is_named(up, tmp_path):
    scheduler = tmp_path / "scheduler.yaml"
    scheduler.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: mine}]\n"
    )
    file = tmp_path / "config.yaml"
    file.write_text(CONFIGURATION.format(scheduler=scheduler).replace("port: 0", "port: 1"))
    cluster = up("--nodes", "1", "--kss-config", str(file), "--kss-port", "0")
    assert "etcdURL has no effect: podwright keeps the objects itself" in cluster.text()
    mine = pod("web")
    mine["spec"]["schedulerName"] = "mine"
    cluster.send("POST", PODS, mine)
    cluster.eventually(f"{PODS}/web", lambda found: "nodeName" in found["spec"])
    with urllib.request.urlopen(f"{simulator_of(cluster)}/api/v1/schedulerconfiguration") as reply:
        assert json.loads(reply.read())["profiles"][0]["schedulerName"] == "mine"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CONFIGURATION.replace("port: 0", "prot: 1"), "prot: unknown field"),
        (
            CONFIGURATION.replace("port: 0", "port: 1\nkubeConfig: a\nresourceSyncEnabled: true"),
            'kubeConfig: "a" is not a file',
        ),
    ],
)
def test_a_configuration_that_cannot_be_used_is_an_error(tmp_path, text, message):
    file = tmp_path / "config.yaml"
    file.write_text(text.format(scheduler="''"))
    assert message in run(f"up --kss-config {file}", status=2).stderr


@pytest.mark.parametrize("option", ["--no-scheduler", "--bare"])
def test_allowed_extenders_without_a_scheduler_have_no_effect(option):
    assert "--allow-extender" in run(f"up --allow-extender 10.0.0.1 {option}", status=2).stderr
