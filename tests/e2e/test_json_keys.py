"""All JSON that commands write has camelCase keys; keys that are data are unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.command_line import NODES, pod
from typer.testing import CliRunner

from podwright.cli import COMMANDS, app, command_named

LINES = (
    "schedule FILES --exit-zero -o json",
    "explain fits FILES -o json",
    "explain big FILES -o json",
    "explain other FILES -o json",
    "explain web --run RUN -o json",
    "explain batch --run RUN -o json",
    "explain web --run RUN -o kss",
    "simulate FILES --events EVENTS -o json",
    "diff FILES --to-seed 1 -o json",
    "diff FILES --reschedule --to-config CONFIG -o json",
    "compare-rules FILES -o json",
    "check examples/scenarios/rollout.yaml -o json",
    "shadow examples/shadow -o json",
    "config show --config CONFIG -o json",
    "config show --rules classic -o json",
    "run show RUN -o json",
    "run show RUN --at 10s -o json",
    "run show RUN --at 1m -o json",
    "parity tests/golden/vectors/found/cel.jsonl.gz -o json",
    "convert FILES -o json",
    "convert FILES -o kss",
    "convert FILES -o record",
    "capacity examples/capacity/web.yaml FILES --exit-zero -o json",
    "capacity --buy examples/capacity/types.yaml --podspec examples/capacity/more.yaml FILES"
    " --exit-zero -o json",
    "autoscale examples/autoscaling/groups.yaml FILES --exit-zero -o json",
    "drain-plan a1 examples/capacity/cluster.yaml -o json",
    "scheduler-perf examples/scheduler-perf/performance-config.yaml --test-case Gates -o json",
    "study fgd examples/gpu-trace --only 05-BestFit --seeds 1 --jobs 1 -o json",
    "sweep examples/sweep/plan.yaml --out RESULTS --jobs 1 --seeds 0 -o json",
    "trace describe examples/trace/pods.csv -o json",
    "tune examples/sweep/tune.yaml --out TUNED --jobs 1 --trials 1 -o json",
    "version -o json",
)

DATA = (
    r"\.(labels|annotations|matchLabels)\.",
    r"\.(requests|limits|capacity|allocatable)\.",
    r"\.(pending|utilization|resources|figures|others)\.",
    r"\.replicasIn(Zones|Pools)\.",
    r"^\$\.families\[\d+\]\.fields\.",
)
"""Where keys are data: labels, resources, reasons, and fields of golden vectors."""

JSON_FORMATS = {"json", "kss", "record"}

UNDERSCORES = """
---
apiVersion: v1
kind: Node
metadata: {name: labeled, labels: {example.com/fast_disk: "true"}}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "110", example.com/fast_disk: "4"}}
---
apiVersion: v1
kind: Pod
metadata: {name: fits, labels: {tested_by: me}}
spec:
  containers:
  - {name: main, image: app, resources: {limits: {cpu: "1", example.com/fast_disk: "1"}}}
"""
EVENTS = """
{"at": "1m", "drain": "small"}
{"at": "2m", "scale": "deployment/web", "replicas": 5}
"""
DEPLOYMENT = """
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: web, resources: {requests: {cpu: "1"}}}]}
"""
CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""


def keys(document: Any, place: str = "$") -> Iterator[str]:
    """Yield the paths of all keys."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield f"{place}.{key}"
            yield from keys(value, f"{place}.{key}")
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from keys(value, f"{place}[{index}]")


def misspelt(document: Any) -> list[str]:
    """Return the paths of keys with an underscore that are not data."""
    found = dict.fromkeys(
        path
        for path in keys(document)
        if "_" in path.rpartition(".")[2] and not any(re.search(place, path) for place in DATA)
    )
    return list(found)


@pytest.fixture(scope="module")
def paths(tmp_path_factory, a_run):
    folder = tmp_path_factory.mktemp("keys")
    text = NODES + UNDERSCORES + DEPLOYMENT + pod("big", "100") + pod("other", "1")
    (folder / "cluster.yaml").write_text(text)
    (folder / "events.jsonl").write_text(EVENTS.lstrip())
    (folder / "config.yaml").write_text(CONFIG)
    return {
        "FILES": f"{folder}/cluster.yaml",
        "EVENTS": f"{folder}/events.jsonl",
        "CONFIG": f"{folder}/config.yaml",
        "RESULTS": f"{folder}/results",
        "TUNED": f"{folder}/tuned",
        "RUN": str(a_run),
    }


def with_paths(line: str, paths: dict[str, str]) -> str:
    return " ".join(paths.get(word, word) for word in line.split())


def commands_with_json() -> set[str]:
    """Return the names of all commands and subcommands that have a JSON format."""
    found = set()
    for name in COMMANDS:
        command = command_named(name)
        several = getattr(command, "commands", {"": command})
        for inner, one in several.items():
            if one.output_formats & JSON_FORMATS:
                found.add(f"{name} {inner}".strip())
    return found


def test_every_command_with_json_is_here():
    called = {" ".join(line.split()[:2]) for line in LINES}
    called |= {line.split()[0] for line in LINES}
    # These need a running cluster; `apiserver/tests/test_control_clock.py`, `test_plugin_calls.py`
    # and `test_breakpoints.py` have their keys. `import` prints objects of the cluster.
    running = ("clock ", "debug ", "import")
    rest = {name for name in commands_with_json() if not name.startswith(running)}
    missing = [name for name in rest if name not in called]
    assert not missing
    assert {"schedule", "simulate", "run show", "config show"} <= commands_with_json()


@pytest.mark.parametrize("line", LINES)
def test_no_key_has_an_underscore(line, paths):
    text = output_of(with_paths(line, paths))
    documents = [json.loads(each) for each in (lines(text) if "record" in line else [text])]
    assert all(any(keys(document)) for document in documents)
    assert [path for document in documents for path in misspelt(document)] == []


def lines(text: str) -> list[str]:
    assert text.count("\n") > 1, "a record has a line for each change"
    return text.splitlines()


def output_of(line: str) -> str:
    """Return the output of a command, whose result may be negative."""
    result = CliRunner().invoke(app, line.split(), prog_name="podwright")
    assert result.exit_code in (0, 1), result.stderr
    return result.stdout


def test_data_is_unchanged(paths):
    summary = json.loads(output_of(with_paths("simulate FILES -o json", paths)))
    assert "example.com/fast_disk" in summary["utilization"]
    assert "tested_by" in output_of(with_paths("convert FILES -o record", paths))


def test_the_documents_of_a_run_folder_have_no_key_with_an_underscore(paths, tmp_path):
    pytest.importorskip("pyarrow")
    output_of(with_paths(f"simulate FILES --events EVENTS --out {tmp_path}/run", paths))
    documents = [json.loads(file.read_text()) for file in (tmp_path / "run").glob("*.json")]
    assert len(documents) == 3
    assert [path for document in documents for path in misspelt(document)] == []
