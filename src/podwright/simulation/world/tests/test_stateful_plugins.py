"""A plugin with state decides the same whether a run is recorded, interrupted, or repeated."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest

import podwright as pw
from podwright.simulation.recording.explanations.what_if import ImpossibleChange, what_if
from podwright.simulation.recording.folders.run_folder import RunFolder
from podwright.simulation.recording.folders.stepping import Stepper
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_format import LogError
from podwright.simulation.recording.log.replay import replay
from podwright.simulation.world.runs.run import Run
from podwright.simulation.world.tests.quota import MOST, Quota
from podwright.simulation.world.tests.test_simulation import StoppedError, stop_after, tree
from podwright.testing import make_node, make_pod

pytest.importorskip("pyarrow")

__all__ = ["stop_after"]  # a fixture

NAMESPACES = ("red", "green", "blue")
PODS_EACH = 30
NODES = [make_node(f"n{number}", cpu="64") for number in range(3)]
ARRIVALS = [
    {
        "at": f"{number}s",
        "apply": make_pod(f"p{number:03}", namespace=NAMESPACES[number % 3], cpu="100m").raw,
    }
    for number in range(PODS_EACH * len(NAMESPACES))
]


class SharedQuota(Quota):
    """The same, with a count that all instances of the class share."""

    name = "SharedQuota"
    shared: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        self.used = self.shared


def played(folder: Path | None, checkpoint_events: int | None = None, **options: Any) -> Run:
    return pw.simulate(
        NODES,
        events=ARRIVALS,
        seed=3,
        plugins=[Quota],
        checkpoint_events=checkpoint_events,
        output=folder,
        **options,
    )


@pytest.fixture(autouse=True)
def _frequent(monkeypatch):
    monkeypatch.setattr("podwright.simulation.world.runs.simulation.LOG_CHECKPOINT_EVENTS", 40)


@pytest.fixture(scope="module")
def in_memory() -> Run:
    return played(None)


@pytest.fixture
def recorded(tmp_path) -> tuple[Run, Path]:
    return played(tmp_path / "run", 50), tmp_path / "run"


def assert_same(run: Run, other: Run) -> None:
    assert run.node_of == other.node_of
    assert run.pending == other.pending
    assert run.summary == other.summary
    for name, table in run.tables.items():
        assert table.equals(other.tables[name]), name


def test_the_quota_lets_as_many_pods_through_as_it_says(in_memory):
    assert len(in_memory.node_of) == MOST * len(NAMESPACES)
    assert len(in_memory.pending) == (PODS_EACH - MOST) * len(NAMESPACES)


@pytest.mark.parametrize("checkpoint_events", [1, 7, 50, 300, None])
def test_decisions_do_not_depend_on_whether_they_are_written_down(
    tmp_path, in_memory, checkpoint_events
):
    run = played(tmp_path / "run", checkpoint_events)
    assert_same(run, in_memory)
    assert pw.verify(run.log, plugins=[Quota]).is_same


@pytest.mark.parametrize("limits", [(20,), (90, 70), (40, 40, 40, 40, 40)])
def test_a_run_that_was_interrupted_makes_the_same_bytes_in_the_end(
    tmp_path, in_memory, stop_after, limits
):
    played(tmp_path / "whole", 50)
    resume = False
    for limit in limits:
        stop_after(limit)
        with pytest.raises(StoppedError):
            played(tmp_path / "broken", 50, resume=resume)
        resume = True
    stop_after(10**9)
    run = played(tmp_path / "broken", 50, resume=True)
    assert tree(tmp_path / "broken") == tree(tmp_path / "whole")
    assert_same(run, in_memory)


def test_the_plugin_is_named_once_in_the_warnings(recorded, in_memory):
    run, folder = recorded
    assert len(run.warnings) == 1
    assert run.warnings[0].startswith("plugin Quota keeps state that checkpoints cannot hold")
    assert RunFolder.open(folder).manifest.warnings == run.warnings
    assert in_memory.warnings == ()


def test_a_plugin_without_state_is_not_named(tmp_path):
    class Plain(pw.Plugin):
        name = "Plain"

        def __init__(self) -> None:
            self.limits = {"red": 1}

        def filter(self, cycle: Any, node: Any) -> Any:
            return pw.Status()

    run = pw.simulate(
        NODES,
        events=ARRIVALS,
        plugins=[Plain],
        output=tmp_path / "run",
        checkpoint_events=50,
    )
    assert run.warnings == ()
    assert run.log.checkpoints


def test_no_machine_is_made_of_a_checkpoint_without_the_state_of_a_plugin(recorded):
    run, folder = recorded
    log = DecisionLog.open(folder / "log")
    assert log.unrestorable == ("Quota",)
    # The plugin has counted nothing before the first pod came.
    assert all(index < log.cycles_of("red/p000")[0] for index in log.checkpoints)
    machine = replay(log, plugins=[Quota])
    quota = next(
        plugin
        for plugin in machine.profiles["default-scheduler"].all_plugins()
        if isinstance(plugin, Quota)
    )
    assert quota.used == dict.fromkeys(NAMESPACES, MOST)
    assert [entry.event for entry in log.entries(200, 210)] == [
        entry.event for entry in run.log.entries()
    ][200:210]


def test_the_past_is_explained_with_the_state_that_the_plugin_had(recorded, in_memory):
    run, folder = recorded
    log = DecisionLog.open(folder / "log")
    for pod in ("red/p009", "red/p012", "blue/p089"):
        explained = pw.explain_cycle(log, pod, plugins=[Quota])
        assert str(explained) == str(in_memory.explain(pod)), pod
        assert explained.decision.node == run.node_of.get(pod, "")
    assert "3 the namespace has its share" in str(
        pw.explain_cycle(log, "red/p012", plugins=[Quota])
    )


def test_steps_back_show_the_queue_that_there_was(recorded):
    _, folder = recorded
    stepper = Stepper(DecisionLog.open(folder / "log"), plugins=[Quota], kept=5)
    sizes = []
    while stepper.forward():
        assert stepper.moment is not None
        sizes.append(stepper.moment.sizes)
    for position in (len(sizes), 150, 60, 290, 3):
        stepper.go_to(position)
        assert stepper.moment is not None
        assert stepper.moment.sizes == sizes[position - 1]


def test_what_would_have_come_of_other_weights_is_known_and_of_other_plugins_is_not(recorded):
    _, folder = recorded
    log = DecisionLog.open(folder / "log")
    same = what_if(log, "red/p012", weights={"NodeResourcesFit": 9}, plugins=[Quota])
    assert same.is_same
    configuration = pw.read_configuration(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n",
        source="c.yaml",
    )
    with pytest.raises(ImpossibleChange, match="the state that Quota had"):
        what_if(log, "red/p012", configuration=configuration, plugins=[Quota])


def test_what_cannot_be_repeated_is_refused(tmp_path):
    SharedQuota.shared.clear()
    run = pw.simulate(
        NODES, events=ARRIVALS, plugins=[SharedQuota], output=tmp_path / "run", checkpoint_events=50
    )
    assert len(run.node_of) == MOST * len(NAMESPACES)
    assert "plugin SharedQuota keeps state" in run.warnings[0]
    # The count of the run that is over is still there, where a new process would have none.
    with pytest.raises(
        LogError, match=r"actions of event .* differ from the recorded ones.*\(SharedQuota\)"
    ):
        run.explain("red/p000")
    assert not pw.verify(run.log, plugins=[SharedQuota]).is_same
    SharedQuota.shared.clear()
    assert run.explain("red/p000").decision.node == run.node_of["red/p000"]
