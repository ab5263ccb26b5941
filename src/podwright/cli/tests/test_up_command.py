"""`podwright up`: a cluster that is served in this process until a test ends it."""

from __future__ import annotations

import json
import re
import stat
import time
from datetime import datetime
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from podwright.cli import console
from podwright.cli.serving import up_run
from podwright.cli.tests.served import command, command_until, served
from podwright.online.client import ClusterAccess, ClusterError, read_access, send
from podwright.online.sync.tests.served_cluster import ServedCluster, node, pod

KUBECONFIG = Path("kubeconfig")


@pytest.fixture(autouse=True)
def _in_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("KUBECONFIG", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)


def up(options, until):
    """Run a cluster until a condition of its access holds: stdout, stderr and the status."""

    def holds():
        if not KUBECONFIG.exists():
            return False
        try:
            return until(read_access(str(KUBECONFIG)))
        except ClusterError as error:
            if not getattr(error, "is_remote", False):
                raise
            return False

    return command_until(holds, f"up --no-ui --port 0 --kubeconfig kubeconfig {options}")


def names(access, path):
    return {each["metadata"]["name"] for each in send(access, "GET", path)["items"]}


def answers(access):
    return send(access, "GET", "/version")


def try_with(*commands):
    folder = re.escape(str(Path.cwd()))
    lines = "".join(f"  kubectl {re.escape(each)}\n" for each in commands)
    return f"Try in another terminal:\n  export KUBECONFIG={folder}/kubeconfig\n{lines}"


COMMANDS = (
    "get nodes",
    "create deployment web --image=nginx --replicas=3",
    "get pods -o wide",
)
SERVING = r"Serving the Kubernetes API at http://127\.0\.0\.1:\d+\n"
END = "Ctrl-C stops it.\n\n"


def test_a_cluster_has_nodes_and_schedules_pods():
    container = {"name": "c", "image": "i"}
    web = {"metadata": {"name": "web"}, "spec": {"containers": [container]}}

    def is_running(access):
        pods = "/api/v1/namespaces/default/pods"
        if not names(access, pods):
            send(access, "POST", pods, web)
        found = send(access, "GET", f"{pods}/web")
        return found["status"]["phase"] == "Running" and names(access, "/api/v1/nodes")

    printed, errors, status = up("--nodes 2", is_running)
    assert re.fullmatch(SERVING + END + try_with(*COMMANDS), printed), printed
    assert (errors, status) == ("stopped\n", 0)
    assert stat.S_IMODE(KUBECONFIG.stat().st_mode) == 0o600


def test_the_demo_has_a_pending_pod_and_says_what_to_try():
    printed, _, _ = up("--demo", lambda access: "training" in names(access, "/api/v1/pods"))
    commands = (
        "get pods -o wide",
        "describe pod training                # why it is pending",
        "taint nodes node-large dedicated-    # now a node fits",
        "get pod training -o wide",
        "scale deployment web --replicas=12",
        "drain node-b --ignore-daemonsets",
    )
    assert re.fullmatch(SERVING + END + try_with(*commands), printed), printed


def test_a_file_keeps_the_objects():
    classes = "/apis/storage.k8s.io/v1/storageclasses"
    found = up("--db c.db --nodes 1", lambda access: names(access, classes) == {"standard"})
    assert found[1:] == ("stopped; c.db has all objects\n", 0)
    kept = up("--db c.db", lambda access: names(access, "/api/v1/nodes"))
    assert kept[1:] == ("stopped; c.db has all objects\n", 0)


@pytest.mark.parametrize(
    ("options", "classes"),
    [
        ("", {"standard"}),
        ("--no-default-storage-class", set()),
        ("--no-controllers", set()),
        ("--bare", set()),
    ],
)
def test_the_default_class_is_made_by_a_cluster_with_controllers(options, classes):
    found = []

    def reads(access):
        found.append(names(access, "/apis/storage.k8s.io/v1/storageclasses"))
        return answers(access)

    up(options, reads)
    assert found[-1] == classes


def status_of(access, path, token):
    connection = HTTPConnection(urlsplit(access.server).netloc, timeout=10)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, body


ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
RECORDED_ROLE = "system:openshift:public-info-viewer"


def test_a_bare_server_has_the_tokens_and_roles_of_recorded_exchanges():
    found: dict[str, object] = {}
    roles = []

    def asks(access):
        found["token"] = access.token
        for token in ("", "admin-token", "other"):
            found[token] = status_of(access, "/api/v1/nodes", token)[0]
        roles.append(RECORDED_ROLE in names(access, ROLES))
        return True

    printed, _, _ = up("--bare", asks)
    path = re.escape(str(KUBECONFIG.absolute()))
    hint = "kubectl needs --tls here, since it sends no token over plain HTTP; other clients find"
    assert re.fullmatch(rf"{SERVING}{END}{hint} the token in {path}\n", printed), printed
    assert found == {"token": "admin-token", "": 403, "admin-token": 200, "other": 401}
    assert roles[-1]


def test_a_bare_server_with_tls_says_what_kubectl_can_do_without_controllers():
    printed, _, _ = up("--bare --tls", answers)
    assert printed.endswith(
        "  kubectl get namespaces\n"
        "  kubectl create configmap greeting --from-literal=hello=world\n"
        "  kubectl get configmaps\n"
    )


def test_without_tls_everybody_on_this_machine_is_the_administrator():
    found = {}
    roles = []

    def asks(access):
        found["token"] = len(access.token)
        roles.append(RECORDED_ROLE in names(access, ROLES))
        for token in ("", access.token, "other"):
            found[token and "own" * (token == access.token)] = status_of(
                access, "/api/v1/nodes", token
            )[0]
        return True

    up("", asks)
    assert found.pop("token") >= 32
    assert found == {"": 401, "own": 200}
    assert not roles[-1]


def test_with_tls_the_certificates_are_kept_beside_the_file():
    def answers_over_tls(access):
        assert access.server.startswith("https://127.0.0.1:")
        assert b"BEGIN CERTIFICATE" in access.authority
        return answers(access)

    printed, _, status = up("--tls --db c.db", answers_over_tls)
    assert printed.startswith("Serving the Kubernetes API at https://127.0.0.1:")
    assert status == 0
    first = {each.name: each.read_bytes() for each in Path("c.db-certificates").iterdir()}
    kinds = ("admin", "ca", "server")
    assert sorted(first) == [f"{kind}.{part}" for kind in kinds for part in ("crt", "key")]
    up("--tls --db c.db", answers_over_tls)
    assert first == {each.name: each.read_bytes() for each in Path("c.db-certificates").iterdir()}


def test_the_api_of_the_simulator_is_served_beside(monkeypatch):
    lines: list[str] = []
    seen = []

    def keep(text, *, _write=console.write_at_once):
        _write(text)
        lines.append(text)

    def reads(access):
        if not lines:
            return False
        address = re.findall(r"API at (\S+)/api/v1", lines[0])[0]
        seen.append(status_of(ClusterAccess(server=address), "/api/v1/export", access.token))
        return True

    monkeypatch.setattr(up_run, "write_at_once", keep)
    printed, _, status = up("--kss-port 0 --nodes 1", reads)
    simulator = r"Serving kube-scheduler-simulator's API at http://127\.0\.0\.1:\d+/api/v1\n"
    assert re.fullmatch(SERVING + simulator + END + try_with(*COMMANDS), printed), printed
    assert status == 0
    code, body = seen[0]
    assert code == 200
    assert len(json.loads(body)["nodes"]) == 1


def test_changes_are_recorded_and_compared_by_the_shadow():
    files = Path("cluster.yaml")
    files.write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
        'status: {allocatable: {cpu: "2", pods: "9"}}\n'
    )
    web = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    pods = "/api/v1/namespaces/default/pods"

    def binds(access):
        if not names(access, pods):
            send(access, "POST", pods, web)
            target = {"metadata": {"name": "web"}, "target": {"kind": "Node", "name": "n1"}}
            send(access, "POST", f"{pods}/web/binding", target)
        return send(access, "GET", f"{pods}/web")["spec"].get("nodeName")

    line = "cluster.yaml --no-scheduler --shadow shadow"
    printed, errors, status = up(line, binds)
    assert printed.endswith("\nbindings=1 agreed=1 explained=0 unexplained=0\n")
    assert errors == (
        "shadow/agreement.json has the agreement; podwright shadow shadow compares it again\n"
        "stopped\n"
    )
    assert status == 0
    agreement = json.loads(Path("shadow/agreement.json").read_text())
    assert agreement["bindings"] == {
        "total": 1,
        "agreed": 1,
        "explained": 0,
        "unexplained": 0,
        "explainedBy": {},
    }
    again = command("shadow shadow --no-scheduler-log")
    assert again[0].endswith("\nbindings=1 agreed=1 explained=0 unexplained=0\n")
    _, errors, status = command(f"up --no-ui --port 0 --kubeconfig k {line}")
    assert errors == "error: shadow: already has a record; name another folder with --shadow\n"
    assert status == 2


def test_a_record_is_continued_in_other_files():
    _, errors, status = up("--record r.jsonl --record-rotate 1Ki --record-keep 2", answers)
    assert (errors, status) == ("stopped\n", 0)
    assert 1 <= len(list(Path().glob("r*.jsonl*"))) <= 2


def test_events_are_applied_while_the_cluster_runs():
    Path("events.jsonl").write_text(
        '{"at": "0s", "apply": {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n9"}}}\n'
    )
    _, errors, status = up(
        "--events events.jsonl --speed 100", lambda access: "n9" in names(access, "/api/v1/nodes")
    )
    assert (errors, status) == ("stopped\n", 0)


def test_a_cluster_starts_with_another_one_or_follows_it(monkeypatch):
    source = ServedCluster()
    source.create(node("n1"), pod("web", on="n1"))
    with served(source) as address:
        _, errors, status = up(
            f"--import {address}", lambda access: "n1" in names(access, "/api/v1/nodes")
        )
        assert errors.splitlines() == [
            "read 4 namespaces, 2 priorityclasses, 1 nodes, 1 pods",
            "stopped",
        ]
        assert status == 0
        _, errors, status = up(
            f"--sync {address} --sync-policy bound=none",
            lambda access: "web" in names(access, "/api/v1/pods"),
        )
        assert (errors, status) == ("stopped\n", 0)
        monkeypatch.setattr("podwright.cli.commands.UPSTREAM", "1.2")
        for option in ("--import", "--sync"):
            errors = up(f"{option} {address}", answers)[1]
            assert errors.startswith("warning: the server "), errors
            assert errors.count(", and podwright follows v1.2") == 1


def test_a_record_is_replayed():
    change = {
        "time": "2026-05-01T00:00:00Z",
        "event": "Add",
        "resource": {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n9"}},
    }
    Path("r.jsonl").write_text(json.dumps(change) + "\n")
    _, errors, status = up(
        "--replay r.jsonl --immediate --nodes 0",
        lambda access: "n9" in names(access, "/api/v1/nodes"),
    )
    assert errors.splitlines()[-1] == "stopped"
    assert status == 0


def test_several_configurations_are_several_schedulers():
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    for name in ("a", "b"):
        Path(f"{name}.yaml").write_text(f"{head}profiles: [{{schedulerName: {name}}}]\n")
    containers = [{"name": "c", "image": "i"}]

    def are_bound(access):
        pods = "/api/v1/namespaces/default/pods"
        if not names(access, pods):
            for each in ("a", "b", "c"):
                spec = {"schedulerName": each, "containers": containers}
                send(access, "POST", pods, {"metadata": {"name": each}, "spec": spec})
        items = send(access, "GET", pods)["items"]
        bound = {each["metadata"]["name"] for each in items if "nodeName" in each["spec"]}
        assert "c" not in bound
        return bound == {"a", "b"}

    assert up("-c a.yaml -c b.yaml --nodes 1", are_bound)[2] == 0
    Path("b.yaml").write_text(f"{head}parallelism: -1\n")
    _, errors, status = command(
        "up --no-ui --port 0 --kubeconfig k -c a.yaml -c b.yaml -c missing.yaml"
    )
    assert errors == "error: missing.yaml: cannot be read: No such file or directory\n"
    assert status == 2


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("--break plugin=Missing", '"Missing"'),
        ("--record none/r.jsonl", "none/r.jsonl"),
        ("--record k", "k: exists already; name another file with --record, or remove it"),
        ("--shadow k/shadow --no-scheduler", "k/shadow: cannot be created: Not a directory"),
    ],
)
def test_what_cannot_be_served_is_an_error(line, text):
    Path("k").write_text("")
    _, errors, status = command(f"up --no-ui --port 0 --kubeconfig kubeconfig {line}")
    assert text in errors
    assert "error: " in errors
    assert status in (2, 3)
    assert not KUBECONFIG.exists()


@pytest.mark.parametrize(("options", "is_paused"), [("", False), ("--speed 1", False)])
def test_the_clock_of_a_cluster_runs_and_shows_the_real_time(options, is_paused):
    found = []

    def has_a_clock(access):
        found.append(send(access, "GET", "/podwright/v1/clock"))
        return True

    assert up(options, has_a_clock)[2] == 0
    clock = found[0]
    assert clock["isPaused"] is is_paused
    assert clock["speed"] == 1
    now = datetime.fromisoformat(clock["time"])
    assert abs(now.timestamp() - time.time()) < 60


def test_a_file_that_others_can_read_is_warned_of():
    Path("open").mkdir()
    Path("open").chmod(0o777)
    errors = up("--db open/c.db", answers)[1]
    assert errors.startswith("warning: other users can replace open/c.db: ")
