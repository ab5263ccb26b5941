"""Runs the command line in tests: commands in this process, and small clusters as text."""

import shlex
from pathlib import Path

from typer.testing import CliRunner

from podwright.cli import app

ROOT = Path(__file__).parents[2]
QUICKSTART = "examples/quickstart"


def run(line: str, *, status: int = 0, stdin: str | None = None):
    """Run a command line and check its exit status."""
    result = CliRunner().invoke(app, shlex.split(line), input=stdin, prog_name="podwright")
    assert result.exit_code == status, f"{result.stdout}\n{result.stderr}\n{result.exception!r}"
    return result


NODES = """
apiVersion: v1
kind: Node
metadata: {name: small}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: large}
status: {allocatable: {cpu: "8", memory: 16Gi, pods: "110"}}
"""


def pod(name: str, cpu: str, namespace: str = "default", spec: str = "") -> str:
    """Return a pod as YAML, to be appended to other documents."""
    return f"""
---
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  containers: [{{name: main, image: app, resources: {{requests: {{cpu: "{cpu}"}}}}}}]
  {spec}
"""
