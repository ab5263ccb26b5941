"""A kind that only the table has is known to every room."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "podwright"
FLEET: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Fleet",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "registry/app"}]},
        },
    },
}
COMMAND = "from podwright.cli import main; main()"
EXCHANGES = """
import json, sys
from podwright.cluster.api.endpoints import ApiServer, HttpRequest, bare_options, bare_store

START_NS = 1_772_445_600_000_000_000
store = bare_store(START_NS)
server = ApiServer(store, bare_options())
for index, (method, path, accept, body) in enumerate(json.load(sys.stdin)):
    now_ns = START_NS + (index + 1) * 1_000_000_000
    headers = {
        "accept": accept,
        "authorization": "Bearer admin-token",
        "content-type": "application/json",
    }
    user = server.authenticator.authenticate(headers, now_ns)
    request = HttpRequest(method, path, "", headers, json.dumps(body).encode())
    print(server.handle(request, user, now_ns).body.decode().strip())
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package of the repository, but for one more kind in the table."""
    folder: Path = tmp_path_factory.mktemp("package")
    copy = folder / "podwright"
    (copy / "apimachinery" / "schema").mkdir(parents=True)
    floor = PACKAGE / "apimachinery"
    for path in (*PACKAGE.iterdir(), *floor.iterdir(), *(floor / "schema").iterdir()):
        if path.name not in ("apimachinery", "schema", "table.json", "__pycache__"):
            (copy / path.relative_to(PACKAGE)).symlink_to(path)
    table = json.loads((floor / "schema" / "table.json").read_text())
    table["kinds"]["apps/v1/Fleet"] = table["kinds"]["apps/v1/Deployment"] | {
        "kind": "Fleet",
        "resource": "fleets",
        "singular": "fleet",
        "short_names": ["fl"],
        "snapshot_key": "fleets",
        "snapshot_position": 9,
        "columns": [["Ready", "string", "", 0, "workloads:ready", "Pods that are ready."]],
    }
    (copy / "apimachinery" / "schema" / "table.json").write_text(json.dumps(table))
    return folder


def run(package: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(package)},
    )


def changed(**spec: Any) -> str:
    return json.dumps(FLEET | {"spec": FLEET["spec"] | spec})


def test_its_objects_are_read_and_have_a_list_in_snapshots(package: Path) -> None:
    arguments = ("-c", COMMAND, "convert", "-o", "kss", "-")
    written = run(package, *arguments, stdin=json.dumps(FLEET))
    assert written.returncode == 0, written.stderr
    (fleet,) = json.loads(written.stdout)["fleets"]
    assert fleet["metadata"]["name"] == "web"
    again = run(package, *arguments, stdin=written.stdout)
    assert json.loads(again.stdout)["fleets"] == [fleet]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"replica": 3}, 'did you mean "replicas"?', id="decoded strictly"),
        pytest.param({"replicas": -1}, "must be greater than or equal to 0", id="validated"),
    ],
)
def test_its_objects_are_checked(package: Path, spec: dict[str, Any], message: str) -> None:
    result = run(package, "-c", COMMAND, "convert", "-o", "yaml", "-", stdin=changed(**spec))
    assert result.returncode == 2
    assert message in result.stderr


def test_the_api_serves_it_and_prints_its_columns(package: Path) -> None:
    path = "/apis/apps/v1/namespaces/default/fleets"
    as_table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    exchanges = [
        ("POST", path, "application/json", FLEET),
        ("PUT", f"{path}/web/scale", "application/json",
         {"metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": 5}}),
        ("GET", path, as_table, None),
    ]  # fmt: skip
    result = run(package, "-c", EXCHANGES, stdin=json.dumps(exchanges))
    assert result.returncode == 0, result.stderr
    created, scaled, table = map(json.loads, result.stdout.splitlines())
    assert created["spec"]["progressDeadlineSeconds"] == 600
    assert created["metadata"]["generation"] == 1
    assert scaled["spec"] == {"replicas": 5}
    assert [each["name"] for each in table["columnDefinitions"]] == ["Ready"]
    assert [row["cells"] for row in table["rows"]] == [["0/5"]]
