"""`podwright trace`: files in, files out."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.command_line import run

PODS = "examples/trace/pods.csv"
MODEL = "examples/trace/model.yaml"


def test_a_trace_passes_through_all_commands(tmp_path: Path) -> None:
    part, more, both = (tmp_path / name for name in ("part.jsonl", "more.json", "both.jsonl"))
    found = run(f"trace cut {PODS} --after 30m --before 2h --with-running --out {part}")
    assert f"{part}: 29 pods" in found.stderr
    run(f"trace scale {part} --pod-factor 2 --rate-factor 2 --seed 1 --out {more}")
    run(f"trace merge {part} {more} --prefix a --prefix b --out {both}")
    run(f"trace anonymize {both} --out {tmp_path / 'shared.jsonl'}")
    shown = run(f"trace describe {tmp_path / 'shared.jsonl'}").stdout
    assert shown.startswith("87 pods arrive in")
    assert "memory (MiB)" in shown
    assert run(f"trace describe {PODS} -o name").stdout.split("\n")[0] == "time between arrivals"


def test_a_model_is_printed_and_makes_pods(tmp_path: Path) -> None:
    model = tmp_path / "model.yaml"
    model.write_text(run(f"trace generate --like {PODS} --print-model").stdout)
    out = tmp_path / "new.csv"
    assert "30 pods" in run(f"trace generate --model {model} --pods 30 --out {out}").stderr
    nodes = tmp_path / "nodes.csv"
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\nn0,640000,2621440,8,T4\n")
    assert "30 pods, 30 placed" in run(f"simulate {nodes} {out}").stdout
    assert "30 of 30" in run(f"schedule {nodes} {out}", status=0).stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"trace cut {PODS} --share 2 --out x.jsonl", "a share above 0"),
        (f"trace cut {PODS} --after 2h --before 1h --out x.jsonl", "not after the start"),
        (f"trace cut {PODS} --after soon --out x.jsonl", "is not a duration"),
        (f"trace cut {PODS} --seed 1 --out x.jsonl", "without --share"),
        (f"trace scale {PODS} --seed 1 --out x.jsonl", "without --pod-factor"),
        (f"trace scale {PODS} --rate-factor 0 --out x.jsonl", "a number above 0"),
        (f"trace scale {PODS} --rate-factor 2 --out x.txt", "Unsupported value"),
        (f"trace merge {PODS} {PODS} --prefix a --out x.jsonl", "1 for 2 files"),
        (
            f"trace generate --model {MODEL} --like {PODS} --out x.jsonl",
            "one of --model and --like",
        ),
        (f"trace generate --model {MODEL} --out x.jsonl", "--pods or --before"),
        (f"trace generate --model {MODEL} --pods 3", "--print-model"),
        ("trace describe nowhere.csv", "cannot be read"),
        ("trace describe examples/trace/jobs.csv", "not a table of openb, which starts with sn,"),
        ("trace describe nowhere.csv --columns helios", "cannot be read"),
    ],
)
def test_wrong_use_is_one_error(line: str, message: str) -> None:
    assert message in " ".join(run(line, status=2).stderr.split())


POD = '{"apiVersion": "v1", "kind": "Pod", "metadata": %s, "spec": {"containers": [%s]}}'
CONTAINER = '{"name": "c", "image": "i", "resources": {"requests": {"cpu": "%s"}}}'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('"apply": "pod"', 'line 1: apply: Invalid value: "pod": must be an object'),
        ('"aply": {}', 'line 1: aply: Unsupported value: "aply"'),
        ('"apply": ' + POD % ("{}", CONTAINER % 1), "apply.metadata.name: Required value"),
        (
            '"apply": ' + POD % ('{"generateName": "a-"}', CONTAINER % 1),
            "apply.metadata.name: Required value: pods of traces have names",
        ),
        (
            '"apply": ' + POD % ('{"name": "a"}', CONTAINER % "lots"),
            'containers[0].resources.requests[cpu]: Invalid value: "lots"',
        ),
    ],
)
def test_lines_that_are_no_events_are_named(tmp_path: Path, line: str, message: str) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text(f'{{"at": "0s", {line}}}\n', encoding="utf-8")
    assert message in run(f"trace describe {trace}", status=2).stderr


def test_a_run_time_that_is_none_is_named(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    metadata = '{"name": "a", "annotations": {"pod-complete.stage.kwok.x-k8s.io/delay": "soon"}}'
    trace.write_text(f'{{"at": "0s", "apply": {POD % (metadata, CONTAINER % 1)}}}\n')
    assert "pod a: metadata.annotations[" in run(f"trace describe {trace}", status=2).stderr
