"""Manifests of runs of `podwright simulate`: files and options, and runs without an end."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from podwright.apimachinery.objects import parse_duration
from podwright.cli.recorded.options import SimulateOptions
from podwright.cli.recorded.simulate_run import stored_document, stored_options
from podwright.cli.tests.served import command
from podwright.simulation.recording import RunError, RunFolder

FILES = {
    "cluster.yaml": """\
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}
""",
    "config.yaml": """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
""",
    "events.jsonl": '{"at": "10s", "delete": "pod/web"}\n',
    "plugin.py": """\
import podwright as pw


class Nothing(pw.Plugin):
    name = "Nothing"
""",
    "scenario.yaml": """\
apiVersion: podwright.dev/v1alpha1
kind: Scenario
metadata: {name: shop}
spec:
  seed: 5
  cluster: {nodes: [{count: 2}]}
  expectations: [{name: pods, pendingAtMost: 0}]
""",
    "policy.json": '{"kind": "Policy", "apiVersion": "v1", "priorities": []}',
}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)


def manifest(folder: str = "run") -> dict[str, object]:
    document: dict[str, object] = msgspec.json.decode(Path(folder, "manifest.json").read_bytes())
    return document


@pytest.mark.parametrize(("option", "seed"), [("", 5), ("--seed 0", 0), ("--seed 7", 7)])
def test_the_seed_of_a_scenario_is_its_own_unless_one_is_given(option, seed):
    assert command(f"simulate scenario.yaml --out run --no-tables -o name {option}")[2] == 0
    assert manifest()["seed"] == seed


LINE = "simulate cluster.yaml --until 1m --out run --no-tables -o name"


@pytest.mark.parametrize(("options", "inputs"), [
    ("", ["objects cluster.yaml"]),
    ("--events events.jsonl -c config.yaml --plugin plugin.py",
     ["objects cluster.yaml", "events events.jsonl", "config config.yaml", "plugin plugin.py"]),
    ("--policy policy.json", ["objects cluster.yaml", "policy policy.json"]),
])  # fmt: skip
def test_a_manifest_has_the_digest_of_each_file(options, inputs):
    assert command(f"{LINE} {options}")[2] == 0
    found = manifest()["inputs"]
    assert isinstance(found, list)
    assert [f"{each['role']} {each['path']}" for each in found] == inputs
    for each in found:
        assert each["sha256"] == sha256(Path(each["path"]).read_bytes()).hexdigest()


def test_a_missing_file_of_events_is_an_error():
    errors = command(f"{LINE} --events none.jsonl")[1]
    assert errors == "error: none.jsonl: cannot be read: No such file or directory\n"


def test_options_of_a_run_are_read_again_from_its_manifest():
    assert command(f"{LINE} --seed 7 -c config.yaml --validate warn")[2] == 0
    there = RunFolder.open(Path("run"))
    options = stored_options(there.manifest, Path("run"))
    assert (options.files, options.until) == (("cluster.yaml",), "1m")
    assert (options.setup.seed, options.setup.config) == (7, Path("config.yaml"))
    assert options.setup.validate == "warn"
    assert there.manifest.options == {
        **stored_document(options), "drawsPreemptionOffset": True, "sampleNs": 60 * 10**9
    }  # fmt: skip


def test_options_that_earlier_manifests_lack_are_left_out():
    stored = stored_document(SimulateOptions(files=("a",)))
    assert {"nodeGroups", "timing", "timingFrom", "out", "resume", "output"}.isdisjoint(stored)
    given = stored_document(SimulateOptions(files=("a",), timing=Path("t"), node_groups=Path("g")))
    assert {**stored, "timing": "t", "nodeGroups": "g"} == given


@pytest.mark.parametrize(("status", "row"), [
    ("running", "Status:   running"),
    ("interrupted", "Status:   interrupted; resume the run with: podwright simulate --resume run"),
    ("finished", ""),
])  # fmt: skip
def test_a_run_without_an_end_says_so(status, row):
    assert command(LINE)[2] == 0
    changed = manifest() | {"status": status}
    Path("run/manifest.json").write_bytes(msgspec.json.encode(changed))
    out, _, found = command("run show run")
    first = out.splitlines()[0]
    assert (first, found) == (row or first, 0)
    assert first.startswith("Status:") is bool(row)


@pytest.mark.parametrize(
    "stored",
    [
        pytest.param({}, id="no options"),
        pytest.param({"until": "1m"}, id="no files"),
        pytest.param({"files": 3}, id="options of another kind"),
    ],
)
def test_a_run_that_was_started_from_python_cannot_be_resumed_by_the_command(stored):
    assert command(LINE)[2] == 0
    manifest = msgspec.structs.replace(RunFolder.open(Path("run")).manifest, options=stored)
    with pytest.raises(RunError, match=r"run was written from Python, .*resume=True\)"):
        stored_options(manifest, Path("run"))


def test_a_last_line_of_events_without_its_end_is_ignored():
    Path("events.jsonl").write_text('{"at": "10s", "delete": "pod/web"}\n{"at": "20s", "de')
    found = command(f"{LINE} --events events.jsonl")
    assert found[1:] == ("events.jsonl: line 2 is incomplete and was ignored\n", 0)


def test_what_is_to_be_known_of_a_scenario_is_printed_before_its_run():
    job = """\
    objects:
    - apiVersion: batch/v1
      kind: Job
      metadata: {name: once}
      spec:
        template:
          spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
  stop: {at: 1m}
"""
    text = FILES["scenario.yaml"].replace("cluster: {nodes: [{count: 2}]}\n", f"cluster:\n{job}")
    Path("scenario.yaml").write_text(text)
    errors = command("simulate scenario.yaml -o name --exit-zero")[1]
    assert re.search("^warning: job/default/once: no duration", errors, re.MULTILINE), errors


BASE = """\
apiVersion: podwright.dev/v1alpha1
kind: Timing
watchDelay: {value: 7ms}
"""


@pytest.mark.parametrize(
    ("option", "delay"), [("", None), ("--timing base.yaml", {"value": "7ms"})]
)
def test_a_timing_model_of_a_log_has_what_the_log_lacks_from_another_model(option, delay):
    Path("base.yaml").write_text(BASE)
    pods = [f"a/p{number}" for number in range(21)]
    bound = {"node": "n1", "evaluatedNodes": 9, "feasibleNodes": 1}
    lines = [
        *({"time": "2026-03-02T10:00:00Z", "what": "queue", "pod": pod} for pod in pods),
        *(
            {"time": f"2026-03-02T10:00:01.{2 * number:03}Z", "what": "attempt", "pod": pod}
            for number, pod in enumerate(pods)
        ),
        *({"time": "2026-03-02T10:00:02Z", "what": "bound", "pod": pod} | bound for pod in pods),
    ]
    Path("log.jsonl").write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in lines))
    printed, errors, status = command(f"simulate --print-timing --timing-from log.jsonl {option}")
    assert (errors, status) == ("", 0)
    model = msgspec.yaml.decode(printed)
    assert model.get("watchDelay") == delay
    assert parse_duration(model["cycle"]["constant"]) <= 2_000_000
    assert model["clients"]["scheduler"]["duration"]
