"""`podwright study fgd`: tables in, a table and figures out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e.command_line import run

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,4,T4\nn1,96000,393216,8,G2\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
    "p0,100,128,1,100,\np1,80,128,1,120,\np2,200,512,1,250,T4\np3,1000,4096,0,0,\n"
)


@pytest.fixture
def files(tmp_path: Path) -> str:
    (tmp_path / "nodes.csv").write_text(NODES, encoding="utf-8")
    (tmp_path / "pods.csv").write_text(PODS, encoding="utf-8")
    return f"{tmp_path / 'nodes.csv'} {tmp_path / 'pods.csv'}"


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_study_writes_its_table_and_figures(files: str, tmp_path: Path, jobs: int) -> None:
    out = tmp_path / "out"
    options = f"--seeds 1,3 --only FGD --only best --jobs {jobs} --inflation-ratio 2"
    text = run(f"study fgd {files} {options} --tuning-ratio 0.5 --out {out} -o wide").stdout
    assert "05-BestFit" in text
    assert "INFLATED" in text
    assert "No published means are known" in text
    table = json.loads((out / "table.json").read_text(encoding="utf-8"))
    assert [(each["policy"], len(each["runs"])) for each in table["results"]] == [
        ("05-BestFit", 2),
        ("06-FGD", 2),
    ]
    assert (out / "pods.svg").read_bytes().startswith(b"<?xml")
    lines = (out / "series.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("workload,policy,seed,arrived_pct,allocated_pct")
    assert len(lines) > 4


def test_documents_and_names(files: str, tmp_path: Path) -> None:
    published = tmp_path / "published.csv"
    published.write_text(
        "workload,policy,alloc_mean_100,alloc_mean_130\npods,06-FGD,90,91\n", encoding="utf-8"
    )
    options = f"--only 06-FGD --seeds 1-2 --jobs 1 --published {published}"
    document = json.loads(run(f"study fgd {files} {options} -o json").stdout)
    (result,) = document["results"]
    assert result["arrivedPct"]["100"]["publishedPct"] == 90
    assert document["greatestDifference"] > 0
    assert run(f"study fgd {files} {options} -o name").stdout == "pods/06-FGD\n"
    assert "The greatest difference" in run(f"study fgd {files} {options}").stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--only FDG", "'FDG' is none of 01-Random, 02-DotProd"),
        ("--seeds 5-x", "must be seeds, such as 0-9 or 1,5,7"),
        ("--seeds 5-1", "a range starts with its least seed"),
        ("--tuning-ratio -1 --jobs 1", "tuning_ratio: -1.0 is not a number of at least 0"),
        ("--print-config", "needs one list of pods and one --only, not 1 and 6"),
    ],
)
def test_wrong_options_are_named(files: str, options: str, message: str) -> None:
    assert message in run(f"study fgd {files} {options}", status=2).stderr


def test_files_without_a_trace_are_named(files: str, tmp_path: Path) -> None:
    nodes, pods = files.split()
    assert "there is no list of pods" in run(f"study fgd {nodes}", status=2).stderr
    assert "pods: nodes: none of 0 has" in run(f"study fgd {pods}", status=2).stderr
    (tmp_path / "other").mkdir()
    again = tmp_path / "other" / "pods.csv"
    again.write_text(PODS, encoding="utf-8")
    assert "the same name" in run(f"study fgd {files} {again}", status=2).stderr


def test_the_printed_configuration_runs(files: str, tmp_path: Path) -> None:
    configuration = tmp_path / "fgd.yaml"
    printed = run(f"study fgd {files} --only FGD --print-config").stdout
    configuration.write_text(printed, encoding="utf-8")
    text = run(f"explain p2 {files} --config {configuration}").stdout
    assert "Results:  alibabacloud.com/gpu-index=0" in text
    document = json.loads(run(f"explain p2 {files} --config {configuration} -o json").stdout)
    assert document["customResults"] == {"alibabacloud.com/gpu-index": "0"}
