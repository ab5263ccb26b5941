import resource
from functools import partial
from pathlib import Path

import pytest

import podwright as pw
from podwright.apimachinery.objects import with_node_name
from podwright.scheduler.config import read_configuration
from podwright.scheduler.machine import Bind, CallDone, CycleDue, Event, ObjectPut
from podwright.simulation.recording import DecisionLog, LogError, find_cycle, record
from podwright.simulation.recording.log.record import RotatingRecorder


def recorder(folder: Path, *, kept_count: int = 0, largest_bytes: int = 1) -> RotatingRecorder:
    begin = partial(record, checkpoint_events=1_000)
    return RotatingRecorder(folder, begin, largest_bytes=largest_bytes, kept_count=kept_count)


def deliver(recorder: RotatingRecorder, *events: Event) -> None:
    for event in events:
        for action in recorder.handle(event, 0):
            if isinstance(action, Bind):
                pod = recorder.machine.pod(action.pod)
                assert pod is not None
                bound = ObjectPut(with_node_name(pod, action.node))
                deliver(recorder, bound, CallDone(action.call))


def schedule(recorder: RotatingRecorder, name: str) -> None:
    deliver(recorder, ObjectPut(pw.testing.make_pod(name, cpu="1")), CycleDue())


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_each_folder_is_a_run_that_explains_its_decisions(tmp_path):
    rotating = recorder(tmp_path)
    deliver(rotating, *(ObjectPut(pw.testing.make_node(f"n{i}", cpu="1")) for i in range(2)))
    schedule(rotating, "a")
    assert rotating.rotate_if_due()
    schedule(rotating, "b")
    rotating.log.close()
    nodes = []
    for folder, pod in (("000001", "default/a"), ("000002", "default/b")):
        with DecisionLog.open(tmp_path / folder / "log") as log:
            decision = find_cycle(log, pod).explain().decision
            nodes.append(decision.node)
    # The second run knows that the first pod has filled its node.
    assert sorted(nodes) == ["n0", "n1"]


def test_the_oldest_are_deleted_and_a_restart_goes_on_with_the_next_number(tmp_path):
    rotating = recorder(tmp_path, kept_count=2)
    assert rotating.rotate_if_due()
    assert rotating.rotate_if_due()
    assert names(tmp_path) == ["000002", "000003"]
    rotating.log.close()
    again = recorder(tmp_path, kept_count=2)
    assert names(tmp_path) == ["000003", "000004"]
    again.log.close()


def test_other_files_of_the_folder_stay(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    rotating = recorder(tmp_path, kept_count=1)
    assert rotating.rotate_if_due()
    rotating.log.close()
    assert names(tmp_path) == ["000002", "notes.txt"]


def test_every_run_is_kept_by_default(tmp_path):
    begin = partial(record, checkpoint_events=1_000)
    rotating = RotatingRecorder(tmp_path, begin, largest_bytes=1)
    assert rotating.rotate_if_due()
    assert rotating.rotate_if_due()
    assert names(tmp_path) == ["000001", "000002", "000003"]
    rotating.log.close()


@pytest.mark.parametrize(
    "after_header", [pytest.param(-1, id="no whole header"), pytest.param(8, id="a header alone")]
)
def test_a_full_disk_leaves_no_part_of_the_next_run(tmp_path, after_header):
    rotating = recorder(tmp_path)
    (header,) = (tmp_path / "000001" / "log").iterdir()
    free_bytes = header.stat().st_size + after_header
    schedule(rotating, "a")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (free_bytes, before[1]))
    try:
        with pytest.raises(LogError, match="cannot be written"):
            rotating.rotate_if_due()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert names(tmp_path) == ["000001"]
    assert rotating.rotate_if_due()
    assert names(tmp_path) == ["000001", "000002"]
    rotating.log.close()


def test_a_small_log_goes_on(tmp_path):
    rotating = recorder(tmp_path, largest_bytes=1 << 30)
    assert not rotating.rotate_if_due()
    assert names(tmp_path) == ["000001"]
    rotating.log.close()


def test_the_folder_of_one_run_is_rejected(tmp_path):
    record(str(tmp_path / "log")).log.close()
    with pytest.raises(LogError, match="is the folder of one run"):
        recorder(tmp_path)


@pytest.mark.parametrize(
    ("there", "first", "left"),
    [
        pytest.param(None, "000001", ["000001"], id="the folder is made"),
        pytest.param([], "000001", ["000001"], id="an empty folder"),
        pytest.param(["000009"], "000010", ["000009", "000010"], id="one more"),
        pytest.param(
            ["000002", "999999", "1000000"], "1000001", ["1000000", "1000001"], id="as numbers"
        ),
        pytest.param(
            ["000003", "000007", "x8", "9y"],
            "000008",
            ["000007", "000008", "9y", "x8"],
            id="others are no runs",
        ),
    ],
)
def test_a_run_has_the_number_after_the_greatest_one(tmp_path, there, first, left):
    folder = tmp_path / "runs"
    for name in there or ():
        (folder / name).mkdir(parents=True)
    if there == []:
        folder.mkdir()
    rotating = recorder(folder, kept_count=2)
    assert rotating.path == folder / first
    assert names(folder) == left
    rotating.log.close()


@pytest.mark.parametrize(("more_bytes", "is_due"), [(-1, True), (0, True), (1, False)])
def test_a_log_is_large_from_its_limit_on(tmp_path, more_bytes, is_due):
    """Only the files of the log count, of the present run."""
    measured = recorder(tmp_path / "measured")
    measured.log.close()
    size_bytes = sum(each.stat().st_size for each in (tmp_path / "measured/000001/log").iterdir())
    rotating = recorder(tmp_path / "runs", largest_bytes=size_bytes + more_bytes)
    (rotating.path / "log" / "notes.txt").write_text("more")
    (rotating.path / "notes.txt").write_text("more")
    first = rotating.log
    assert rotating.rotate_if_due() is is_due
    assert (rotating.log is not first) is is_due
    assert rotating.path.name == ("000002" if is_due else "000001")
    rotating.log.close()


def test_a_log_goes_on_while_there_is_work_that_cannot_be_saved(tmp_path):
    extender = {"urlPrefix": "http://127.0.0.1:9", "filterVerb": "filter"}
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    configuration = read_configuration({**head, "extenders": [extender]}, source="c")
    begin = partial(record, configuration=configuration)
    rotating = RotatingRecorder(tmp_path / "waits", begin, largest_bytes=1)
    deliver(rotating, ObjectPut(pw.testing.make_node("n", cpu="1")))
    schedule(rotating, "a")
    assert not rotating.machine.can_snapshot
    assert not rotating.rotate_if_due()
    assert names(tmp_path / "waits") == ["000001"]
    rotating.log.close()
