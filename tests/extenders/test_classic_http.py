"""Extenders of a v1.16 policy, called over HTTP by the command line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from tests.extenders.test_http import requests_of, serving
from typer.testing import CliRunner

from podwright.cli import app

NODE = """
apiVersion: v1
kind: Node
metadata: {{name: {name}}}
status: {{allocatable: {{cpu: "2", memory: 4Gi, pods: "110"}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: on-{name}, namespace: default, uid: uid-{name}}}
spec:
  nodeName: {name}
  priority: 1
  containers: [{{name: main, image: app, resources: {{requests: {{cpu: "{used}"}}}}}}]
---
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: new, namespace: default}
spec:
  priority: 9
  containers: [{name: main, image: app, resources: {requests: {cpu: "1"}}}]
"""


@pytest.mark.parametrize("is_cache", [False, True], ids=["nodes are sent", "names are sent"])
def test_a_policy_s_extender_filters_scores_and_chooses_victims(
    tmp_path: Path, *, is_cache: bool
) -> None:
    with serving() as port:
        extender = {
            "urlPrefix": f"http://127.0.0.1:{port}/plain",
            "filterVerb": "filter",
            "prioritizeVerb": "prioritize",
            "preemptVerb": "preempt",
            "weight": 100_000,
            "nodeCacheCapable": is_cache,
        }
        policy = tmp_path / "policy.json"
        policy.write_text(
            json.dumps({"kind": "Policy", "apiVersion": "v1", "extenders": [extender]})
        )

        def decided(used: str) -> dict[str, object]:
            files = tmp_path / "cluster.yaml"
            nodes = "".join(NODE.format(name=name, used=used) for name in ("n1", "n2", "n3"))
            files.write_text(nodes + POD)
            line = f"schedule {files} --policy {policy} --exit-zero -o json"
            result = CliRunner().invoke(app, shlex.split(line), prog_name="podwright")
            assert result.exit_code == 0, result.stderr
            (decision,) = json.loads(result.stdout)["decisions"]
            return dict(decision)

        assert decided("1")["node"] == "n3"
        full = decided("2")
        requests = requests_of(port)["requests"]
    assert (full["nominatedNode"], full["victims"]) == ("n3", ["default/on-n3"])
    assert [request["verb"] for request in requests] == ["filter", "prioritize", "preempt"]
    assert sorted(requests[0]["body"]) == ["NodeNames", "Nodes", "Pod"]
