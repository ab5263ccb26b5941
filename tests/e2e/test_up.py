"""`podwright up` as a process: its start, its end, and what it keeps."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import re
import resource
import signal
import ssl
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from tests.e2e.command_line import ROOT, run
from tests.e2e.test_cli import examples
from tests.waiting import SECONDS_MAX, until

PODWRIGHT = Path(sys.executable).with_name("podwright")
PODS = "/api/v1/namespaces/default/pods"
ADDRESS = re.compile(r"at (https?)://127\.0\.0\.1:(\d+)\n")


def pod(name):
    containers = [{"name": "main", "image": "app", "resources": {"requests": {"cpu": "1"}}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": containers},
    }


class Up:
    def __init__(self, folder, *options):
        self.folder = folder
        self.log = (folder / "log").open("w+")
        if "--kubeconfig" not in options:
            options = ("--kubeconfig", str(folder / "config"), *options)
        self.process = subprocess.Popen(
            [str(PODWRIGHT), "up", "--no-ui", "--port", "0", *options],
            stdout=self.log,
            stderr=self.log,
            cwd=folder,
        )
        found = until(self._served_address, pause_seconds=0.02, describe=self.text)
        self.port = int(found[2])
        self.has_tls = found[1] == "https"

    def _served_address(self):
        assert self.process.poll() is None, self.text()
        return ADDRESS.search(self.text())

    def text(self):
        return (self.folder / "log").read_text()

    def send(self, method, path, body=None, headers=None):
        headers = headers or {}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        if self.has_tls:
            context, headers = self.credentials()
            connection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=60, context=context
            )
        with contextlib.closing(connection):
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())

    def credentials(self):
        """Return the TLS context and the headers of the kubeconfig."""
        config = yaml.safe_load((self.folder / "config").read_text())
        data = config["clusters"][0]["cluster"]["certificate-authority-data"]
        context = ssl.create_default_context(cadata=base64.b64decode(data).decode())
        return context, {"authorization": f"Bearer {config['users'][0]['user']['token']}"}

    def eventually(self, path, condition):
        """Return an object as soon as a condition holds for it."""
        found = None

        def holds():
            nonlocal found
            status, found = self.send("GET", path)
            return status == 200 and condition(found)

        until(holds, pause_seconds=0.02, describe=lambda: found)
        return found

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.process.wait(SECONDS_MAX)


@contextlib.contextmanager
def up(folder, *options):
    started = Up(folder, *options)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
            started.process.wait()
        started.log.close()


def is_running(found):
    return found["status"]["phase"] == "Running"


@pytest.fixture
def hangs_up():
    """Let processes end at SIGHUP where the tests run under nohup, whose children ignore it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hangs_up")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_schedules_and_stops_cleanly(tmp_path, number):
    with up(tmp_path, "--nodes", "2") as cluster:
        assert cluster.send("POST", PODS, pod("web"))[0] == 201
        cluster.eventually(f"{PODS}/web", is_running)
        assert cluster.end(number) == 0
        assert cluster.text().splitlines()[-1] == "stopped"
        assert "Traceback" not in cluster.text()


def test_it_outlives_its_terminal_where_nohup_starts_it(tmp_path):
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does; processes inherit it
    try:
        with up(tmp_path) as cluster:
            state = Path(f"/proc/{cluster.process.pid}/status").read_text()
            ignored = re.findall(r"^SigIgn:\s+(\w+)$", state, re.MULTILINE)[0]
            assert int(ignored, 16) >> (signal.SIGHUP - 1) & 1
            assert cluster.end() == 0
    finally:
        signal.signal(signal.SIGHUP, former)


def test_the_time_is_the_real_time_however_long_the_start_took(tmp_path):
    with up(tmp_path) as cluster:
        before = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        _, made = cluster.send("POST", PODS, pod("web"))
        after = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        assert before <= made["metadata"]["creationTimestamp"] <= after


def test_the_token_of_the_kubeconfig_is_valid(tmp_path):
    with up(tmp_path) as cluster:
        config = yaml.safe_load((tmp_path / "config").read_text())
        token = config["users"][0]["user"]["token"]
        bearer = {"authorization": f"Bearer {token}"}
        status, _ = cluster.send("GET", "/api/v1/nodes", headers=bearer)
        assert status == 200
        assert cluster.send("GET", "/api/v1/nodes", headers={"authorization": "Bearer x"})[0] == 401


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_database_has_everything_that_was_acknowledged(tmp_path, number):
    database = str(tmp_path / "cluster.db")
    with up(tmp_path, "--nodes", "2", "--db", database) as cluster:
        for name in ("first", "second"):
            assert cluster.send("POST", PODS, pod(name))[0] == 201
        placed = cluster.eventually(f"{PODS}/first", is_running)
        cluster.end(number)
    with up(tmp_path, "--db", database) as cluster:
        again = cluster.eventually(f"{PODS}/first", is_running)
        assert again["metadata"]["uid"] == placed["metadata"]["uid"]
        assert again["spec"]["nodeName"] == placed["spec"]["nodeName"]
        cluster.eventually(f"{PODS}/second", is_running)
        assert len(cluster.send("GET", "/api/v1/nodes")[1]["items"]) == 2
        # It goes on.
        assert cluster.send("POST", PODS, pod("third"))[0] == 201
        cluster.eventually(f"{PODS}/third", is_running)
        assert cluster.end() == 0


def test_a_database_that_cannot_grow_ends_the_server_and_keeps_what_was_acknowledged(tmp_path):
    database = tmp_path / "cluster.db"
    log = database.with_name("cluster.db-wal")
    with up(tmp_path, "--no-scheduler", "--db", str(database)) as cluster:
        assert cluster.send("POST", PODS, pod("web-0"))[0] == 201
        limit = log.stat().st_size + 100_000
        resource.prlimit(cluster.process.pid, resource.RLIMIT_FSIZE, (limit, limit))
        acknowledged = 1
        with contextlib.suppress(http.client.HTTPException, ConnectionError):
            while cluster.send("POST", PODS, pod(f"web-{acknowledged}"))[0] == 201:
                acknowledged += 1
        assert cluster.process.wait(SECONDS_MAX) == 3
        last = cluster.text().splitlines()[-1]
        assert last.startswith("error: ")
        assert "cluster.db cannot be written" in last
        assert "Traceback" not in cluster.text()
    with up(tmp_path, "--no-scheduler", "--db", str(database)) as cluster:
        names = {each["metadata"]["name"] for each in cluster.send("GET", PODS)[1]["items"]}
        assert names >= {f"web-{number}" for number in range(acknowledged)}


def test_the_clock_is_controlled_by_a_command(tmp_path):
    with up(tmp_path, "--nodes", "1") as cluster:
        of = f"--kubeconfig {tmp_path / 'config'}"
        assert "paused" in run(f"clock pause {of}").stdout
        cluster.send("POST", PODS, pod("web"))
        before = json.loads(run(f"clock show -o json {of}").stdout)
        assert before["isPaused"]
        run(f"clock step 1m {of}")
        found = cluster.send("GET", f"{PODS}/web")[1]
        assert is_running(found)
        after = json.loads(run(f"clock show -o json {of}").stdout)
        assert after["time"][:14] >= before["time"][:14]
        assert after["time"] != before["time"]
        address = f"--server http://127.0.0.1:{cluster.port}"
        assert run(f"clock speed 10 {address}").stdout.split()[5] == "10"
        wrong = run(f"clock speed 0 {address}", status=2).stderr
        assert "must be a number from 1e-06 to 1e+06" in wrong
        assert "has passed" in run(f"clock run-to 2020-01-01T00:00:00Z {of}", status=2).stderr
        assert "duration: " in run(f"clock step soon {of}", status=2).stderr


def test_a_clock_of_no_cluster_is_one_line(tmp_path):
    missing = tmp_path / "missing"
    assert (
        "there is no such kubeconfig" in run(f"clock show --kubeconfig {missing}", status=2).stderr
    )
    result = run("clock pause --server http://127.0.0.1:1", status=3)
    assert "cannot be reached" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_parts_can_be_left_to_others(tmp_path):
    with up(tmp_path, "--nodes", "1", "--no-scheduler", "--no-lifecycle") as cluster:
        assert cluster.send("POST", PODS, pod("web"))[0] == 201
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "web"},
            "target": {"kind": "Node", "name": "node-0"},
        }
        assert "nodeName" not in cluster.send("GET", f"{PODS}/web")[1]["spec"]
        assert cluster.send("POST", f"{PODS}/web/binding", binding)[0] == 201
        found = cluster.send("GET", f"{PODS}/web")[1]
        assert (found["spec"]["nodeName"], found["status"]["phase"]) == ("node-0", "Pending")


def test_bare_is_the_server_of_the_recordings(tmp_path):
    with up(tmp_path, "--bare") as cluster:
        admin = {"authorization": "Bearer admin-token"}
        alice = {"authorization": "Bearer alice-token"}
        assert cluster.send("GET", "/api/v1/pods", headers=admin)[0] == 200
        assert cluster.send("GET", "/api/v1/pods", headers=alice)[0] == 403
        assert cluster.send("GET", "/api/v1/pods")[0] == 403


def test_initial_objects_come_from_files(tmp_path):
    (tmp_path / "objects.yaml").write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: one}\n"
        "status: {capacity: {cpu: 2, memory: 4Gi, pods: 10}}\n"
        "---\n" + yaml.safe_dump(pod("web"))
    )
    with up(tmp_path, "objects.yaml") as cluster:
        found = cluster.eventually(f"{PODS}/web", is_running)
        assert found["spec"]["nodeName"] == "one"


def test_a_port_in_use_is_one_line(tmp_path):
    with up(tmp_path) as cluster:
        result = run(f"up --port {cluster.port} --kubeconfig {tmp_path / 'other'}", status=2)
        assert "choose another one with --port" in result.stderr
        assert "Traceback" not in result.stderr


def test_a_kubeconfig_of_someone_else_is_not_replaced(tmp_path):
    mine = tmp_path / "config"
    mine.write_text("apiVersion: v1\nkind: Config\n")
    result = run(f"up --port 0 --kubeconfig {mine}", status=2)
    assert "was not written by podwright" in result.stderr
    assert mine.read_text() == "apiVersion: v1\nkind: Config\n"


def test_a_file_that_is_no_database_is_one_line(tmp_path):
    wrong = tmp_path / "cluster.db"
    wrong.write_text("not a database")
    result = run(f"up --port 0 --kubeconfig {tmp_path / 'config'} --db {wrong}", status=2)
    assert "cluster.db" in result.stderr
    assert wrong.read_text() == "not a database"


@pytest.mark.parametrize("line", [line for line in examples() if line.startswith("up ")])
def test_the_examples_of_the_help_run(tmp_path, line, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    with up(tmp_path, *line.split()[1:]) as cluster:
        assert cluster.send("GET", "/api/v1/nodes")[1]["items"]
        assert cluster.end() == 0


def test_the_examples_of_the_clock_run(tmp_path):
    lines = [line for line in examples() if line.startswith("clock ")]
    assert len(lines) >= 6
    with up(tmp_path) as cluster:
        for line in lines:
            assert "TIME" in run(f"{line} --kubeconfig {tmp_path / 'config'}").stdout
        assert cluster.end() == 0


def test_options_without_effect_are_errors():
    result = run("up --bare --no-scheduler", status=2)
    assert "has no effect with --bare" in result.stderr
    assert "must be a number from" in run("up --speed 0", status=2).stderr
