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
        ("trace describe nowhere.csv --columns helios", "cannot be read"),
    ],
)
def test_wrong_use_is_one_error(line: str, message: str) -> None:
    assert message in " ".join(run(line, status=2).stderr.split())
