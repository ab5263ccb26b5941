"""`--openb-gpus`: every command that reads files counts the GPUs of the openb trace."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from tests.e2e.command_line import run

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,1,T4\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n"
    "a,1000,1024,1,600,,LS,Running,0,100,0\n"
    "b,1000,1024,1,300,,LS,Running,10,100,10\n"
    "c,1000,1024,1,300,,LS,Running,20,100,20\n"
)
MILLI = "alibabacloud.com/gpu-milli"


@pytest.fixture
def trace(tmp_path: Path) -> str:
    for name, text in (("nodes.csv", NODES), ("pods.csv", PODS)):
        (tmp_path / "trace" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "trace" / name).write_text(text, encoding="utf-8")
    return str(tmp_path / "trace")


def test_schedule_and_explain_count_thousandths(trace: str) -> None:
    assert run(f"schedule {trace} -o name").stdout.count("default/") == 3
    result = run(f"schedule {trace} --openb-gpus milli --explain", status=1)
    assert "--openb-gpus milli" in result.stderr, "the next command repeats the option"
    run(f"explain c {trace}")
    text = run(f"explain c {trace} --openb-gpus milli", status=1).stdout
    assert f"Insufficient {MILLI}" in text


def test_simulate_shows_the_utilization_of_gpus(trace: str) -> None:
    document = json.loads(run(f"simulate {trace} --openb-gpus milli --output json").stdout)
    assert document["utilization"][MILLI]["peak"] == pytest.approx(0.9)
    assert document["counts"]["deleted"] == 1, "the third pod finds no GPU before it is deleted"
    assert "gpu-count" in run(f"simulate {trace} --openb-gpus count").stdout


def test_a_run_is_resumed_with_the_option(trace: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run(f"simulate {trace} --openb-gpus milli --out {folder}")
    path = folder / "manifest.json"
    manifest = msgspec.json.decode(path.read_bytes())
    assert manifest["options"]["openbGpus"] == "milli"
    whole = (folder / "summary.json").read_bytes()
    path.write_bytes(msgspec.json.encode(manifest | {"status": "interrupted"}))
    run(f"simulate --resume {folder}")
    assert (folder / "summary.json").read_bytes() == whole


def test_convert_writes_the_requests(trace: str) -> None:
    items = json.loads(run(f"convert {trace} --openb-gpus milli -o json").stdout)["items"]
    requests = [
        item["spec"]["containers"][0]["resources"]["requests"].get(MILLI)
        for item in items
        if item["kind"] == "Pod"
    ]
    assert requests == ["600", "300", "300"]


def test_both_sides_of_a_comparison_count_gpus(trace: str) -> None:
    document = json.loads(
        run(f"diff {trace} --to-seed 1 --openb-gpus milli -o json --exit-zero").stdout
    )
    (use,) = [use for use in document["resources"] if use["resource"] == MILLI]
    assert use["before"]["share"] == use["after"]["share"] == pytest.approx(0.9)
