"""A run makes the same bytes however often it was interrupted, and checkpoints change nothing."""

from __future__ import annotations

import errno
import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

import podwright as pw
from podwright.apimachinery.objects import InputError, KubernetesObject, timestamp_text_nano
from podwright.apimachinery.schema import decode
from podwright.simulation.recording.folders.run_folder import RunFolder
from podwright.simulation.recording.folders.run_manifest import RunError
from podwright.simulation.world import world as world_module
from podwright.simulation.world.runs import simulation
from podwright.simulation.world.runs.run import Run
from podwright.simulation.world.runs.start import RunArguments, prepared_run, started_run
from podwright.simulation.world.world import World
from podwright.testing import make_node, make_pod

RUN_DELAY = "pod-complete.stage.kwok.x-k8s.io/delay"


def job(name: str, completions: int, minutes: int, cpu: str = "2") -> KubernetesObject:
    resources = {"requests": {"cpu": cpu}}
    return decode(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {
                "completions": completions,
                "parallelism": 3,
                "template": {
                    "metadata": {"annotations": {RUN_DELAY: f"{minutes}m"}},
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{"name": "c", "image": "i", "resources": resources}],
                    },
                },
            },
        }
    )


def deployment(name: str, replicas: int) -> KubernetesObject:
    labels = {"app": name}
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    return decode(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
            },
        }
    )


def urgent(name: str) -> dict[str, Any]:
    document = dict(make_pod(name, cpu="3").raw)
    return document | {"spec": document["spec"] | {"priorityClassName": "system-cluster-critical"}}


OBJECTS = (
    *(make_node(f"n{number}", cpu="4") for number in range(6)),
    deployment("web", 8),
    job("train", 9, 7),
    make_pod("huge", cpu="64"),
)
EVENTS = (
    {"at": "2m", "scale": "deployment/web", "replicas": 16},
    {"at": "5m", "fail": "n1"},
    {"at": "9m", "apply": urgent("first")},
    {"at": "12m", "drain": "n2"},
    {"at": "20m", "restore": "n1"},
    {"at": "25m", "uncordon": "n2"},
    {"at": "40m", "scale": "deployment/web", "replicas": 2},
    {"at": "50m", "delete": "pod/huge"},
)


def played(folder: Path | None, *, checkpoint_events: int | None = None, **options: Any) -> Run:
    return pw.simulate(
        OBJECTS,
        events=EVENTS,
        seed=7,
        checkpoint_events=checkpoint_events,
        output=folder,
        **options,
    )


def tree(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


class StoppedError(Exception):
    """What stops a run as if its process had been killed."""


@pytest.fixture
def stop_after(monkeypatch):
    """Stop runs after so many steps, with nothing written that is not written already."""
    step = World.step_until_ns

    def stop_after(limit: int) -> None:
        count = 0

        def counted(world: Any, until_ns: int | None = None) -> bool:
            nonlocal count
            count += 1
            if count > limit:
                raise StoppedError
            return step(world, until_ns)

        monkeypatch.setattr(World, "step_until_ns", counted)

    return stop_after


def test_the_run_of_these_tests_covers_all_tables(tmp_path):
    run = played(tmp_path / "run")
    counts = run.summary.counts
    assert counts.succeeded == 9
    assert counts.preemptions
    assert counts.failed_decisions > 10
    assert run.pending == {}
    assert run.summary.waits.max_s > 0
    outcomes = run.tables["waits"].column("outcome").to_pylist()
    assert run.summary.waits.count == outcomes.count("Scheduled") > 0
    assert {name: table.num_rows > 0 for name, table in run.tables.items()} == dict.fromkeys(
        run.tables, True
    )


def test_two_equal_runs_write_the_same_bytes(tmp_path):
    played(tmp_path / "a", checkpoint_events=100)
    played(tmp_path / "b", checkpoint_events=100)
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


@pytest.mark.parametrize(
    ("checkpoint_events", "count"),
    [
        pytest.param(1, 80, id="as many as can be", marks=pytest.mark.slow),
        pytest.param(30, 12, id="many"),
    ],
)
def test_checkpoints_do_not_change_the_results(tmp_path, checkpoint_events, count):
    plain = played(tmp_path / "plain")
    broken = played(tmp_path / "broken", checkpoint_events=checkpoint_events)
    assert len(broken.log.checkpoints) >= count
    one, other = tree(tmp_path / "plain"), tree(tmp_path / "broken")
    differing = {name for name in one | other if one.get(name) != other.get(name)}
    # The checkpoints themselves, and how many were asked for.
    assert differing == {"log/00000000.pwlog", "manifest.json"}
    assert broken.summary == plain.summary
    for name, table in plain.tables.items():
        assert table.equals(broken.tables[name]), name
    assert [(e.now_ns, e.event, e.actions) for e in plain.log.entries()] == [
        (e.now_ns, e.event, e.actions) for e in broken.log.entries()
    ]


@pytest.mark.parametrize("limits", [(5,), (120,), (150, 120), (70, 50, 50, 90), (265,)])
def test_a_resumed_run_writes_the_same_bytes(tmp_path, stop_after, limits):
    played(tmp_path / "whole", checkpoint_events=50)
    resume = False
    for limit in limits:
        stop_after(limit)
        with pytest.raises(StoppedError):
            played(tmp_path / "broken", checkpoint_events=50, resume=resume)
        resume = True
    stop_after(10**9)
    played(tmp_path / "broken", checkpoint_events=50, resume=True)
    assert tree(tmp_path / "broken") == tree(tmp_path / "whole")


def run_with_node_groups(folder: Path, *, resume: bool = False) -> dict[str, bytes]:
    """Run with an autoscaler and a timeline; return the files whose content is not a table."""
    template = {"allocatable": {"cpu": "4", "memory": "16Gi"}}
    groups = [{"name": "g", "maxSize": 9, "provisioningTime": "30s", "template": template}]
    given = RunArguments(
        node_groups={"groups": groups},
        events=[
            {"at": "2m", "scale": "deployment/web", "replicas": 16},
            {"at": "5m", "scale": "deployment/web", "replicas": 0},
        ],
        until="20m",
        output=str(folder),
        checkpoint_events=20,
        resume=resume,
    )
    prepared = prepared_run([deployment("web", 4)], pw.SchedulerOptions(seed=7), given)
    options = msgspec.structs.replace(prepared.options, has_timeline=True)
    started_run(prepared._replace(options=options), given)
    return {name: (folder / name).read_bytes() for name in ("summary.json", "timeline")}


def test_a_resumed_run_has_the_sizes_of_node_groups_and_the_timeline_of_a_whole_one(
    tmp_path, stop_after
):
    whole = run_with_node_groups(tmp_path / "whole")
    sizes = msgspec.json.decode(whole["summary.json"])["report"]["nodeGroups"][0]["sizes"]
    assert [each["size"] for each in sizes] == [0, 1, 4, 0]
    stop_after(150)
    with pytest.raises(StoppedError):
        run_with_node_groups(tmp_path / "broken")
    assert (tmp_path / "broken/checkpoint").exists()
    stop_after(10**9)
    assert run_with_node_groups(tmp_path / "broken", resume=True) == whole


def test_a_run_in_memory_has_the_summary_of_a_run_with_a_folder(tmp_path):
    there, here = played(tmp_path / "run"), played(None)
    assert here.summary == there.summary
    for name, table in here.tables.items():
        assert table.equals(there.tables[name]), name
        assert table.equals(RunFolder.open(tmp_path / "run").read_table(name)), name


def test_the_tables_of_a_world_come_from_a_replay():
    seen = pw.simulate(OBJECTS, seed=7)
    world = pw.World(seed=7)
    for obj in OBJECTS:
        world.add(obj, at=timestamp_text_nano(world.now_ns))
    run = world.run()
    assert run.summary == seen.summary
    for name, table in run.tables.items():
        assert table.equals(seen.tables[name]), name
    assert run.node_of == seen.node_of
    assert run.pending == seen.pending
    assert list(run.pending) == ["default/huge"]
    assert str(run.explain("default/huge")) == run.pending["default/huge"]
    assert str(run.explain("default/huge")).startswith(
        "0/6 nodes are available: 6 Insufficient cpu."
    )


def test_the_final_objects_of_a_run_can_start_another_run(tmp_path):
    run = played(tmp_path / "run")
    again = pw.simulate(tmp_path / "run" / "objects.json")
    assert again.node_of == run.node_of
    assert again.summary.counts.decisions == 0


def test_a_run_that_failed_on_a_full_disk_is_resumed_in_the_same_process(tmp_path, monkeypatch):
    played(tmp_path / "whole", checkpoint_events=50)
    replace = Path.replace

    def full(self: Path, target: Path) -> Path:
        if self.name == ".000004.new":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", full)
    message = (
        r"broken cannot be written: No space left on device; resume the run when there is space:"
    )
    with pytest.raises(RunError, match=rf"{message} pw\.simulate\(\.\.\., output"):
        played(tmp_path / "broken", checkpoint_events=50)
    monkeypatch.undo()
    assert not list((tmp_path / "broken" / "parts").glob(".*"))
    played(tmp_path / "broken", checkpoint_events=50, resume=True)
    assert tree(tmp_path / "broken") == tree(tmp_path / "whole")


def test_a_folder_that_is_not_empty_is_not_changed(tmp_path):
    played(tmp_path / "run")
    before = tree(tmp_path / "run")
    with pytest.raises(RunError, match="is not empty"):
        played(tmp_path / "run")
    assert tree(tmp_path / "run") == before


def test_a_run_with_other_options_is_not_resumed(tmp_path, stop_after):
    stop_after(200)
    with pytest.raises(StoppedError):
        played(tmp_path / "run")
    before = tree(tmp_path / "run")
    with pytest.raises(RunError, match=r"until_ns was null and is .*; .*seed was 7 and is 8|seed"):
        pw.simulate(OBJECTS, seed=8, until="1h", output=tmp_path / "run", resume=True)
    assert tree(tmp_path / "run") == before


def test_an_invalid_input_leaves_no_folder(tmp_path):
    with pytest.raises(InputError, match="does not exist at that time"):
        pw.simulate(OBJECTS, events=[{"at": "1s", "drain": "n9"}], output=tmp_path / "run")
    configuration = pw.read_configuration(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {score: {enabled: [{name: Missing}]}}}]\n",
        source="c.yaml",
    )
    with pytest.raises(InputError, match="Missing"):
        pw.simulate(OBJECTS, configuration=configuration, output=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"until": "soon"}, 'until: Invalid value: "soon"'),
        ({"until": "2025-01-01T00:00:00Z"}, "before the start"),
        ({"start": "never"}, 'start: Invalid value: "never"'),
        ({"start": "0001-01-01T00:00:00Z"}, "start: .*the years from 1678 to 2261"),
        ({"until": "9999-12-31T23:59:59Z"}, "until: .*the years from 1678 to 2261"),
        ({"events": [{"at": "2300-01-01T00:00:00Z", "drain": "n0"}]}, "events: line 1: at: .*2261"),
        ({"events": "nowhere.jsonl"}, "nowhere.jsonl: cannot be read"),
        ({"seed": 2**63}, "seed: .*at most 64 bits"),
        ({"sample": "0s"}, 'sample: Invalid value: "0s"'),
        ({"resume": True}, "output: Required value: name the folder of the run"),
        ({"output": ""}, 'output: Invalid value: "": must be the name of a folder'),
    ],
)
def test_invalid_times_seeds_and_files_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        pw.simulate(OBJECTS, **options)


def test_a_run_warns_of_options_without_effect():
    gates = pw.parse_gates("SchedulerAsyncAPICalls=true")
    run = pw.simulate([make_node("n", cpu="2"), make_pod("web", cpu="1")], gates=gates)
    (warning,) = run.warnings
    assert warning.startswith("the feature gate SchedulerAsyncAPICalls has no effect")
    assert World(gates=gates).run().warnings == run.warnings
    assert pw.simulate([make_node("n", cpu="2")]).warnings == ()


def unknown_field(name: str) -> KubernetesObject:
    pod = pw.testing.make_pod(name)
    return decode(pod.raw | {"spec": pod.raw["spec"] | {"tolerationz": []}})


def test_objects_are_validated_as_those_of_files_are():
    wrong = [make_node("n1"), make_pod("Web"), unknown_field("batch"), make_pod("x", priority=5)]
    with pytest.raises(InputError) as refused:
        pw.simulate(wrong)
    first, second = str(refused.value).splitlines()
    assert first.startswith('objects[1] (Pod default/Web): metadata.name: Invalid value: "Web": ')
    assert second == (
        "objects[2] (Pod default/batch): spec.tolerationz: unknown field; did you mean"
        ' "tolerations"?'
    )
    run = pw.simulate([make_node("n1"), unknown_field("batch")], validate="warn")
    assert run.warnings == (second.replace("objects[2]", "objects[1]"),)
    run = pw.simulate([make_node("n1"), unknown_field("batch")], validate="ignore")
    assert run.warnings == ()


def test_what_load_returns_keeps_its_configuration(tmp_path):
    config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    profile = "profiles: [{schedulerName: other}]\n"
    spec = "spec: {containers: [{name: c, image: app}]}\n"
    pod = f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\n{spec}"
    (tmp_path / "f.yaml").write_text(f"{config}{profile}{pod}")
    loaded = pw.load(tmp_path)
    assert pw.simulate(loaded).summary.pending == {"for another scheduler": 1}


def test_a_profiler_that_keeps_frames_does_not_stop_a_run():
    node = pw.testing.make_node("n1", cpu="8")
    spread = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname"}
    selector = {"labelSelector": {"matchLabels": {"app": "web"}}}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"web-{number}", "labels": {"app": "web", "of": str(number)}},
            "spec": {
                "containers": [{"name": "c", "image": "i"}],
                "topologySpreadConstraints": [
                    {**spread, **selector, "whenUnsatisfiable": "DoNotSchedule"}
                ],
            },
        }
        for number in range(3)
    ]
    frames = []
    sys.setprofile(lambda frame, *_: frames.append(frame))
    try:
        run = pw.simulate(
            node, events=[{"at": f"{at}s", "apply": pod} for at, pod in enumerate(pods)]
        )
    finally:
        sys.setprofile(None)
    assert len(run.node_of) == 3


class Noted:
    """Notes what a meter receives."""

    def __init__(self) -> None:
        self.totals: list[float | None] = []
        self.notes: list[tuple[float, str]] = []

    def advance(self, done: float, note: Any) -> None:
        self.notes.append((done, note()))

    @contextmanager
    def metered(self, _what: str, total: float | None, **_options: Any) -> Iterator[Noted]:
        self.totals.append(total)
        yield self


@pytest.mark.parametrize("module", [simulation, world_module])
def test_progress_is_the_time_since_the_start(monkeypatch, tmp_path, module):
    """The clock of a run does not start at 0."""
    noted = Noted()
    monkeypatch.setattr(module, "metered", noted.metered)
    monkeypatch.setattr(simulation, "_STEPS_AT_ONCE", 1)
    objects = [make_node("n1"), make_pod("p", duration="90s")]
    if module is simulation:
        pw.simulate(objects, until="2m", output=tmp_path / "run")
    else:
        world = World()
        world.add(*objects)
        world.run("2m")
    assert noted.totals == [120 * 10**9]
    assert (90 * 10**9, "1m30s") in noted.notes
    times = [done for done, _ in noted.notes]
    assert times == sorted(times)
    assert all(0 <= done <= 120 * 10**9 for done in times)
