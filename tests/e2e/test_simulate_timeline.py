"""The timeline in a run folder: the same as that of a replay, also after an interruption."""

from pathlib import Path

import pytest
from tests.e2e.command_line import NODES, pod, run

from podwright.simulation.recording import (
    DecisionLog,
    decode_chunks,
    encode_chunks,
    timeline_of_log,
)
from podwright.simulation.world import World

EVENTS = """
{"at": "1m", "cordon": "large"}
{"at": "2m", "delete": "pod/a", "gracePeriodSeconds": 0}
{"at": "3m", "uncordon": "large"}
{"at": "4m", "delete": "node/small"}
"""


class StoppedError(Exception):
    """The end of a process, as a test makes it."""


@pytest.fixture
def simulation(tmp_path):
    cluster, events = tmp_path / "cluster.yaml", tmp_path / "events.jsonl"
    cluster.write_text(NODES + "".join(pod(name, "3") for name in "abcd") + pod("e", "1"))
    events.write_text(EVENTS.lstrip())
    return f"simulate {cluster} --events {events} --until 10m --exit-zero --no-tables --timeline"


def test_the_timeline_of_a_run_folder_is_that_of_a_replay(simulation, tmp_path):
    run(f"{simulation} --out {tmp_path}/run")
    written = Path(tmp_path, "run/timeline").read_bytes()
    with DecisionLog.open(tmp_path / "run/log") as log:
        timeline = timeline_of_log(log)
    assert written == b"".join(encode_chunks(timeline))
    fields = {timeline.fields[index] for index in timeline.field_index}
    assert {"phase", "node", "queue", "attempts", "waitsFor", "unschedulable"} <= fields
    assert decode_chunks(written).subjects == timeline.subjects


def test_a_resumed_run_writes_the_same_timeline(simulation, tmp_path, monkeypatch):
    run(f"{simulation} --checkpoint-events 10 --out {tmp_path}/whole")
    step, count = World.step_until_ns, 0

    def counted(world, until_ns=None):
        nonlocal count
        count += 1
        if count > 25:
            raise StoppedError
        return step(world, until_ns)

    with monkeypatch.context() as patch:
        patch.setattr(World, "step_until_ns", counted)
        run(f"{simulation} --checkpoint-events 10 --out {tmp_path}/broken", status=1)
    assert Path(tmp_path, "broken/checkpoint").exists()
    assert not Path(tmp_path, "broken/timeline").exists()
    run(f"simulate --resume {tmp_path}/broken --exit-zero")
    whole, broken = (Path(tmp_path, name, "timeline").read_bytes() for name in ("whole", "broken"))
    assert whole == broken


def test_without_the_option_there_is_no_timeline(simulation, tmp_path):
    run(f"{simulation.removesuffix(' --timeline')} --out {tmp_path}/run")
    assert not Path(tmp_path, "run/timeline").exists()
