"""The process of the page: what it serves, to whom, and when it ends."""

import json
import socket
import urllib.error
import urllib.request
from contextlib import ExitStack, closing

import pytest
import yaml
from tests.e2e.command_line import run
from tests.ui.served import served, up
from tests.waiting import until

pytestmark = pytest.mark.ui


def status_of(served, path, method="GET", body=None, **headers):
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(served.page + path, body, given, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def is_listening(address):
    host, _, port = address.removeprefix("http://").partition(":")
    with closing(socket.socket()) as connection:
        return connection.connect_ex((host, int(port))) == 0


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("a: [1, x]", {"document": {"a": [1, "x"]}}),
        ('{"a": 1}', {"document": {"a": 1}}),
        ("a: 1\n---\nb: 2", {"problem": "There are 2 documents; enter one."}),
        ("", {"problem": "There is no object."}),
    ],
)
def test_the_page_reads_yaml_for_its_elements(demo, text, reply):
    own = {"x_podwright_page": "1", "origin": demo.page}
    status, found = status_of(demo, "/documents", "POST", text.encode(), **own)
    assert (status, json.loads(found)) == (200, reply)
    status, found = status_of(demo, "/documents", "POST", b"a: 1\nb: [", **own)
    assert json.loads(found)["problem"].startswith("line ")
    assert status_of(demo, "/documents", "POST", b"a: 1", origin=demo.page)[0] == 403


def wait_until_closed(address):
    until(lambda: not is_listening(address))


@pytest.mark.share
def test_the_page_reaches_the_server_without_showing_the_token(demo):
    headers, content = demo.get("/server/api/v1/nodes")
    assert json.loads(content)["kind"] == "NodeList"
    for path in (
        "/",
        "/server/version",
        "/pictures/elements/pw-bar.js",
        "/server/podwright/v1/queue",
    ):
        headers, content = demo.get(path)
        assert demo.token.encode() not in content
        assert demo.token not in str(headers)


@pytest.mark.share
def test_a_pod_is_created_through_the_page_only_by_the_page(demo):
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "by-page"},
        "spec": {"containers": [{"name": "main", "image": "app"}]},
    }
    path, body = "/server/api/v1/namespaces/default/pods?dryRun=All", json.dumps(pod).encode()
    own = {"content_type": "application/json", "x_podwright_page": "1", "origin": demo.page}
    assert status_of(demo, path, "POST", body, **own)[0] == 201
    assert status_of(demo, path, "POST", body, **own | {"origin": "http://evil.example"})[0] == 403
    assert status_of(demo, path, "POST", body, content_type="application/json")[0] == 403
    assert status_of(demo, "/", host="evil.example")[0] == 403


def test_the_stream_of_the_state_starts_with_a_snapshot(demo):
    with urllib.request.urlopen(f"{demo.page}/feeds/state", timeout=120) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.readline() == b"event: snapshot\n"


def test_the_page_ends_with_the_cluster(tmp_path):
    with up(tmp_path / "interrupted", "--nodes", "1") as interrupted:
        assert status_of(interrupted, "/")[0] == 200
        interrupted.stop()
        assert not is_listening(interrupted.page)
        assert interrupted.process.returncode == 0 or "stopped" in interrupted.text()
    with up(tmp_path / "killed", "--nodes", "1") as killed:
        assert status_of(killed, "/")[0] == 200
        killed.kill()
        wait_until_closed(killed.page)


def test_a_cluster_with_open_streams_ends_quietly(tmp_path):
    with up(tmp_path, "--nodes", "1") as cluster, ExitStack() as streams:
        for address in (
            f"{cluster.page}/feeds/state",
            f"{cluster.page}/server/podwright/v1/state",
            f"{cluster.page}/server/api/v1/pods?watch=1",
            f"{cluster.server}/podwright/v1/state",
            f"{cluster.server}/api/v1/pods?watch=1",
        ):
            streams.enter_context(urllib.request.urlopen(address, timeout=120))
        cluster.stop()
        assert cluster.process.returncode == 0
        assert "Traceback" not in cluster.text()
        assert "ERROR" not in cluster.text()


def test_page_serves_a_cluster_that_runs(demo, tmp_path):
    kubeconfig = demo.folder / "podwright.kubeconfig"
    with served(tmp_path, "page", "--kubeconfig", str(kubeconfig), "--port", "0") as other:
        assert json.loads(status_of(other, "/server/version")[1])["major"] == "1"
        assert demo.server in status_of(other, "/")[1]


def test_a_server_that_ended_is_an_error_with_its_address(tmp_path):
    with up(tmp_path, "--nodes", "1") as cluster:
        kubeconfig = tmp_path / "podwright.kubeconfig"
        page = served(tmp_path / "page", "page", "--kubeconfig", str(kubeconfig), "--port", "0")
        with page as other:
            cluster.stop()
            code, text = status_of(other, "/server/api/v1/pods")
            assert code == 503
            assert f"{cluster.server} does not answer" in json.loads(text)["message"]


def test_the_default_port_is_replaced_and_a_given_one_is_not(demo):
    port = demo.page.rpartition(":")[2]
    kubeconfig = demo.folder / "podwright.kubeconfig"
    result = run(f"page --kubeconfig {kubeconfig} --port {port}", status=2)
    assert port in result.stderr


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--no-ui --open", "--open"),
        ("--no-ui --ui-port 0", "--ui-port"),
        ("--bare --open", "--open"),
    ],
)
def test_options_of_the_page_need_the_page(options, reason, tmp_path):
    result = run(f"up --port 0 --kubeconfig {tmp_path / 'config'} {options}", status=2)
    assert reason in result.stderr


@pytest.mark.parametrize(
    "server", ["ftp://127.0.0.1", "127.0.0.1:8180", "http://:80", "http://a:b"]
)
def test_what_is_no_address_of_a_server_is_an_error(server):
    result = run(f"page --server {server}", status=2)
    assert f'"{server}" is not the address of a server' in result.stderr


def test_the_cluster_is_that_of_the_named_context(demo, tmp_path):
    config = yaml.safe_load((demo.folder / "podwright.kubeconfig").read_text())
    context = config["contexts"][0]
    config["contexts"] = [{"name": "other", "context": {}}, context | {"name": "chosen"}]
    config["current-context"] = "other"
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    options = ("--kubeconfig", str(tmp_path / "config"), "--port", "0")
    with served(tmp_path, "page", *options, "--context", "chosen") as other:
        assert demo.server in status_of(other, "/")[1]
    result = run(f"page --kubeconfig {tmp_path / 'config'} --context none", status=2)
    assert 'context "none" does not exist' in result.stderr
