"""What commands say about a cluster that they cannot use: one line, and what to do."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler

import pytest
import yaml
from tests.e2e.command_line import run
from tests.http_servers import serving
from typer.testing import CliRunner

from podwright.cli.clusters import kubectl_plugin

CLAIMS = base64.urlsafe_b64encode(json.dumps({"exp": 1_600_000_000}).encode()).decode().rstrip("=")
BEGUN = "2030-01-01T00:00:00Z"
TOKEN = f"a.{CLAIMS}.c"


class _Cluster(BaseHTTPRequestHandler):
    """Has a version, and one status for everything else."""

    version = "v1.36.0"
    status = 200
    identity: Mapping[str, str] = {"uid": "u", "creationTimestamp": BEGUN}

    def do_GET(self) -> None:
        """Answer."""
        body: dict[str, object]
        if self.path == "/version" and self.status != 401:
            status, body = 200, {"major": "1", "minor": "36", "gitVersion": self.version}
            if not self.version:
                status, body = 404, {}
        elif self.status == 200:
            # A list, and the namespace whose uid identifies the cluster.
            metadata = {"resourceVersion": "1", **self.identity}
            status, body = 200, {"kind": "List", "metadata": metadata, "items": []}
        else:
            message = 'nodes is forbidden: User "dev" cannot list resource "nodes"'
            status, body = self.status, {"kind": "Status", "message": message}
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def kubeconfig(folder, server: str, **user: object):
    path = folder / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user or {"token": TOKEN}}],
        "contexts": [{"name": "prod", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "prod",
    }
    path.write_text(yaml.safe_dump(document))
    return path


COMMANDS = (
    "import",
    "record --out record.jsonl --duration 1s",
    "sync --to http://127.0.0.1:9",
    "scheduler --dry-run",
    "scheduler --no-leader-elect",
    "scheduler",
    "kubectl explain web",
    "kubectl diff -c scheduler.yaml",
)
NAMED = (
    "schedule cluster:{context}",
    "convert cluster:{context} -o name",
    "diff cluster:{context} --to-config scheduler.yaml",
    "up --no-ui --port 0 --kubeconfig out --import cluster:{context}",
    "up --no-ui --port 0 --kubeconfig out --sync cluster:{context}",
)
"""Commands that read a cluster of $KUBECONFIG."""
RECORD = """\
{"time":"2030-01-01T00:00:00Z","event":"Add","resource":{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}}
"""
OF_SIMULATED = ("clock show", "debug timings", "page --port 0")


def failure(line: str, status: int) -> str:
    """Run a command line, and return its only line of error."""
    program, _, rest = line.partition(" ")
    if program == "kubectl":
        done = CliRunner().invoke(kubectl_plugin.app, shlex.split(rest))
        assert done.exit_code == status, f"{done.stderr}\n{done.exception!r}"
    else:
        done = run(line, status=status)
    lines = [each for each in done.stderr.splitlines() if each.startswith("error")]
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    (tmp_path / "scheduler.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    )
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_kubeconfig_that_cannot_be_used(command, folder):
    absent = failure(f"{command} --kubeconfig absent", 2)
    assert absent == (
        "error: absent: there is no such kubeconfig; correct its path, or set $KUBECONFIG to that"
        " of another"
    )
    other = folder / "other"
    other.write_text("- nothing\n")
    assert "this is not a kubeconfig" in failure(f"{command} --kubeconfig {other}", 2)
    path = kubeconfig(folder, "http://127.0.0.1:9")
    assert failure(f"{command} --kubeconfig {path} --context prd", 2).endswith(
        'context "prd" does not exist; did you mean "prod"?'
    )
    if not command.startswith("scheduler"):
        refused = command.replace("--to", "--duration 0.1s --to")
        unreachable = failure(f"{refused} --kubeconfig {path}", 3)
        assert "http://127.0.0.1:9 cannot be reached: Connection refused; check" in unreachable
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "absent-plugin"}
    path = kubeconfig(folder, "http://127.0.0.1:9", exec=plugin)
    missing = failure(f"{command} --kubeconfig {path}", 2)
    assert "absent-plugin" in missing
    assert "install the credential plugin" in missing


class _Starting(_Cluster):
    """Fails the first request."""

    left = 1

    def do_GET(self) -> None:
        """Answer."""
        if self.left:
            type(self).left -= 1
            self.send_error(503)
        else:
            super().do_GET()


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.startswith("s")])
def test_commands_that_follow_a_cluster_wait_for_its_start(command, folder):
    with serving(_Starting, status=401) as server:
        done = run(f"{command} --kubeconfig {kubeconfig(folder, server)}", status=3)
    waiting, *_, end = done.stderr.splitlines()
    assert waiting == 'start: context "prod": Service Unavailable (status 503); retrying'
    assert 'context "prod": the server rejects the credentials' in end


@pytest.mark.parametrize("command", COMMANDS)
def test_credentials_that_are_expired_or_lack_rights(command, folder):
    with serving(_Cluster, status=401) as server:
        path = kubeconfig(folder, server)
        text = failure(f"{command} --kubeconfig {path}", 3)
        assert 'context "prod": the server rejects the credentials' in text
        assert "whose token is valid until 2020-09-13T12:26:40Z" in text
        assert "renew the token" in text
    with serving(_Cluster, status=403) as server:
        path = kubeconfig(folder, server)
        text = failure(f"{command} --kubeconfig {path}", 3)
        assert 'User "dev" cannot list' in text
        assert "ask an administrator to grant it" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_a_server_that_is_no_api_server(command, folder):
    with serving(_Cluster, version="", status=404) as server:
        path = kubeconfig(folder, server)
        text = failure(f"{command} --kubeconfig {path}", 3)
        assert "is not a Kubernetes API server" in text


@pytest.mark.parametrize("command", NAMED)
def test_clusters_that_are_named_among_files(command, folder, monkeypatch):
    current, other = command.format(context=""), command.format(context="prd")
    monkeypatch.setenv("KUBECONFIG", "absent")
    assert "absent: there is no such kubeconfig; correct" in failure(current, 2)
    path = kubeconfig(folder, "http://127.0.0.1:9")
    monkeypatch.setenv("KUBECONFIG", str(path))
    assert 'context "prd" does not exist; did you mean "prod"?' in failure(other, 2)
    assert "http://127.0.0.1:9 cannot be reached: Connection refused" in failure(current, 3)
    with serving(_Cluster, status=401) as server:
        kubeconfig(folder, server)
        text = failure(current, 3)
        assert "the server rejects the credentials" in text
        assert "renew the token" in text
    with serving(_Cluster, status=403) as server:
        kubeconfig(folder, server)
        assert "ask an administrator to grant it" in failure(current, 3)
    with serving(_Cluster, version="", status=404) as server:
        kubeconfig(folder, server)
        assert "is not a Kubernetes API server" in failure(current, 3)


@pytest.mark.parametrize(
    "command", ["replay record.jsonl --immediate --to {to}", "sync --server {source} --to {to}"]
)
def test_a_destination_that_cannot_be_used(command, folder):
    (folder / "record.jsonl").write_text(RECORD)
    with serving(_Cluster) as source:

        def fails(to, status):
            return failure(command.format(source=source, to=to), status)

        assert "absent: there is no such kubeconfig" in fails("absent", 2)
        unreachable = kubeconfig(folder, "http://127.0.0.1:9")
        at_once = " --duration 0.1s" if "sync" in command else ""
        text = fails(f"{unreachable}{at_once}", 3)
        assert "http://127.0.0.1:9 cannot be reached: Connection refused" in text
        for options, text in (
            ({"status": 401}, "renew the token"),
            ({"status": 403}, "ask an administrator to grant it"),
            ({"status": 404, "version": ""}, "is not a Kubernetes API server"),
            ({"identity": {}}, "its namespace kube-system has no uid"),
        ):
            with serving(_Cluster, **options) as server:
                assert text in fails(kubeconfig(folder, server), 3)


@pytest.mark.parametrize("command", ["import", "record --out record.jsonl --duration 1s"])
@pytest.mark.parametrize(
    ("version", "effect"),
    [
        ("v1.30.4", "kinds that it does not serve are left out"),
        ("v1.40.0", "fields and kinds that are newer are kept"),
    ],
)
def test_another_version_is_a_warning(command, version, effect, folder):
    with serving(_Cluster, version=version) as server:
        done = run(f"{command} --kubeconfig {kubeconfig(folder, server)}")
    assert f"the server runs {version}, and podwright follows v1.36" in done.stderr
    assert effect in done.stderr


def test_a_record_of_a_cluster_that_is_never_listed_ends_and_says_so(folder):
    with serving(_Cluster) as server:  # it ends each watch before it has listed the objects
        path = kubeconfig(folder, server)
        done = run(f"record --out record.jsonl --duration 1ms --kubeconfig {path}")
    assert "namespaces: the watch ended before it had listed all objects; retrying" in done.stderr
    assert "record.jsonl is incomplete: it ended before all objects were listed" in done.stderr


@pytest.mark.parametrize("command", OF_SIMULATED)
def test_commands_of_simulated_clusters(command, folder):
    absent = failure(f"{command} --kubeconfig absent", 2)
    assert absent == (
        "error: absent: there is no such kubeconfig; correct its path, or set $KUBECONFIG to that"
        " of another"
    )
    path = kubeconfig(folder, "http://127.0.0.1:9")
    if "page" in command:  # it shows a cluster as soon as that answers
        text = failure(f"{command} --kubeconfig {path} --context prd", 2)
        assert text.endswith('context "prd" does not exist; did you mean "prod"?')
        return
    assert "Connection refused" in failure(f"{command} --kubeconfig {path}", 3)
    with serving(_Cluster, status=401) as server:
        path = kubeconfig(folder, server)
        text = failure(f"{command} --kubeconfig {path}", 2)
        assert f"{server} rejects the credentials (401 Unauthorized); use the kubeconfig" in text
