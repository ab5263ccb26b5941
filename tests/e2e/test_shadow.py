"""`podwright shadow` on the small record of examples/shadow, and on invalid ones."""

import gzip
import json
import re

import pytest
from tests.e2e.command_line import ROOT, run

EXAMPLE = "examples/shadow"
RECORD = (ROOT / EXAMPLE / "record.jsonl").read_text()
LOG = (ROOT / EXAMPLE / "scheduler.jsonl").read_text()
LAST = re.compile(r"^bindings=(\d+) agreed=(\d+) explained=(\d+) unexplained=(\d+)$")


def numbers(result):
    found = LAST.match(result.stdout.splitlines()[-1])
    assert found, result.stdout
    return tuple(map(int, found.groups()))


def without_the_end_of_batch_0(text):
    """Remove the change that explains why `web-1` is on its node."""
    return "".join(
        line
        for line in text.splitlines(keepends=True)
        if not ('"Update"' in line and '"batch-0"' in line)
    )


def test_a_folder_is_a_record_with_the_log_in_it():
    result = run(f"shadow {EXAMPLE}")
    assert numbers(result) == (3, 2, 1, 0)
    assert f"{EXAMPLE}/record.jsonl: 19 changes, with {EXAMPLE}/scheduler.jsonl" in result.stdout
    assert (
        "delay: the real scheduler had already seen line 10 (Update Pod shop/batch-0)"
        in result.stdout
    )


def test_the_log_beside_a_record_is_taken_and_can_be_left_out():
    assert numbers(run(f"shadow {EXAMPLE}/record.jsonl")) == (3, 2, 1, 0)
    alone = run(f"shadow {EXAMPLE}/record.jsonl --no-scheduler-log")
    assert numbers(alone) == (3, 3, 0, 0)
    assert "without a scheduler log" in alone.stdout


def test_packed_files_are_found_and_the_log_may_be_anywhere(tmp_path):
    (tmp_path / "record.jsonl.gz").write_bytes(gzip.compress(RECORD.encode()))
    assert numbers(run(f"shadow {tmp_path}")) == (3, 3, 0, 0)
    log = f"{EXAMPLE}/scheduler.jsonl"
    assert numbers(run(f"shadow {tmp_path} --scheduler-log {log}")) == (3, 2, 1, 0)
    (tmp_path / "scheduler.jsonl.gz").write_bytes(gzip.compress(LOG.encode()))
    assert numbers(run(f"shadow {tmp_path}")) == (3, 2, 1, 0)


def test_bindings_of_other_schedulers_are_named(write):
    record = write("record.jsonl", RECORD.replace('"default-scheduler"', '"b"'))
    result = run(f"shadow {record} --no-scheduler-log")
    assert numbers(result) == (0, 0, 0, 0)
    assert (
        f'warning: {record}: 3 bindings of pods with the schedulerName "b" are not compared; give '
        "the configuration of this scheduler with --config" in result.stderr
    )
    assert "schedulerName" not in run(f"shadow {EXAMPLE}").stderr


def test_decisions_that_agree_are_shown_in_the_wide_form():
    wide = run(f"shadow {EXAMPLE} -o wide").stdout
    assert "line 7: binding of shop/web-0: agreed" in wide
    assert "preemption of shop/urgent: agreed" in wide
    assert "victims: shop/batch-1" in wide


def test_the_document_has_the_same_numbers_and_every_difference():
    document = json.loads(run(f"shadow {EXAMPLE} -o json").stdout)
    assert document["bindings"] == {
        "total": 3, "agreed": 2, "explained": 1, "unexplained": 0, "explainedBy": {"delay": 1},
    }  # fmt: skip
    assert document["preemptions"]["agreed"] == 1
    assert document["failedAttempts"] == {"total": 1, "sameMessage": 1}
    (difference,) = document["differences"]
    assert (difference["pod"], difference["node"], difference["ourNode"]) == (
        "shop/web-1", "small", "large",
    )  # fmt: skip
    assert {score["plugin"] for score in difference["scores"]} >= {"NodeResourcesFit"}


def test_more_unexplained_than_allowed_is_status_1(write):
    record = write("record.jsonl", without_the_end_of_batch_0(RECORD))
    write("scheduler.jsonl", LOG)
    result = run(f"shadow {record}", status=1)
    assert numbers(result) == (3, 2, 0, 1)
    assert "line 10: binding of shop/web-1: unexplained" in result.stdout
    assert numbers(run(f"shadow {record} --allow 34")) == (3, 2, 0, 1)


def test_a_last_line_without_a_line_feed_is_left_out_with_a_warning(write):
    record = write("record.jsonl", RECORD + '{"time":"2026')
    result = run(f"shadow {record}")
    assert numbers(result) == (3, 3, 0, 0)
    assert f"warning: {record}: line 20: ignored, since it has no line feed" in result.stderr


def test_errors_of_all_files_are_reported_and_nothing_is_compared(write):
    lines = RECORD.splitlines()
    ghost = json.loads(lines[9])
    ghost["resource"]["metadata"]["name"] = "ghost"
    early = json.loads(lines[10]) | {"time": "2026-03-02T09:59:00Z"}
    bad = [*lines[:10], "{", json.dumps(ghost), json.dumps(early)]
    record = write("record.jsonl", "\n".join(bad) + "\n")
    log = write("scheduler.jsonl", LOG + "[]\n")
    config = write("config.yaml", "kind: KubeSchedulerConfiguration\n")
    result = run(f"shadow {record} --config {config}", status=2)
    assert not result.stdout
    output = result.stderr.splitlines()
    assert output[0].startswith(f"error: {record}: line 11: not JSON: ")
    assert output[1].startswith(
        f"error: {record}: line 12: resource.metadata.name: Update of Pod shop/gho"
    )
    assert output[2].startswith(f"error: {record}: line 13: time: Invalid value")
    line = LOG.count("\n") + 1
    assert output[3].startswith(f"error: {log}: line {line}: must be an object")
    assert output[4].startswith(f"error: {config}")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("shadow nowhere.jsonl", "nowhere.jsonl: cannot be read", id="no file"),
        pytest.param("shadow examples", "examples/record.jsonl: cannot be read", id="no record"),
        pytest.param(
            f"shadow {EXAMPLE} --scheduler-log x --no-scheduler-log",
            "cannot be combined with --no-scheduler-log",
            id="both",
        ),
        pytest.param(f"shadow {EXAMPLE} --allow 200", "--allow", id="too much"),
        pytest.param(f"shadow {EXAMPLE} --allow nan", "'--allow': 'nan' is not a", id="nan"),
    ],
)
def test_wrong_use_is_status_2(line, message):
    result = run(line, status=2)
    assert message in result.stderr
    assert not result.stdout


def test_twice_gives_the_same_bytes():
    assert run(f"shadow {EXAMPLE} -o json").stdout == run(f"shadow {EXAMPLE} -o json").stdout
