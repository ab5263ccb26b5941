"""Plugins that bind in several steps, and what is undone of a pod that Reserve rejects.

Upstream: pkg/scheduler/framework/runtime/framework.go, RunBindPlugins and
RunReservePluginsUnreserve
"""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from podwright.apimachinery.objects import PersistentVolume, decode_as
from podwright.scheduler.framework import (
    Cycle,
    Pending,
    Plugin,
    Profile,
    Progress,
    Status,
    VolumeUpdate,
)
from podwright.scheduler.framework.binding import CallError, PodBinding
from podwright.scheduler.framework.cycle import StateKey
from podwright.scheduler.machine import Bind, CallDone, UpdateVolume
from podwright.scheduler.machine.profiles import BindPlugins
from podwright.scheduler.machine.tests.driving import Driver, enabling, pending
from podwright.testing import make_node

VOLUME = decode_as({"metadata": {"name": "v"}}, PersistentVolume)


class TwoSteps(Plugin):
    """Writes a volume, and binds the pod when that is done."""

    name = "TwoSteps"

    def bind(self, cycle: Cycle, node_name: str) -> Pending:
        return Pending(calls=(VolumeUpdate(VOLUME),))

    def continue_bind(self, cycle: Cycle, node_name: str, progress: Progress) -> Status | Pending:
        (answer,) = progress.answers
        if answer.error is not None:
            return Status.error(answer.error.message)
        return Pending(calls=(PodBinding(),)) if answer.obj is VOLUME else Status.OK


def binding_in_two_steps() -> Driver:
    config: Any = enabling([])
    only = {"enabled": [{"name": "TwoSteps"}], "disabled": [{"name": "*"}]}
    config["profiles"][0]["plugins"]["bind"] = only
    driver = Driver(TwoSteps, config=config)
    driver.put(make_node("n1"), pending("a"))
    driver.cycle()
    return driver


def test_a_plugin_that_binds_is_called_again_with_the_answers() -> None:
    driver = binding_in_two_steps()
    (write,) = driver.all_of(UpdateVolume)
    assert not driver.all_of(Bind)
    driver.deliver(CallDone(write.call, obj=VOLUME))
    assert [bind.node for bind in driver.all_of(Bind)] == ["n1"]
    assert driver.node_of("default/a") == "n1"
    assert driver.notes == ["Scheduled: Successfully assigned default/a to n1"]


def test_a_plugin_that_binds_fails_with_its_first_call() -> None:
    driver = binding_in_two_steps()
    (write,) = driver.all_of(UpdateVolume)
    driver.deliver(CallDone(write.call, CallError("no room for v")))
    assert not driver.all_of(Bind)
    assert driver.node_of("default/a") == ""
    (note,) = driver.notes
    assert note.startswith("FailedScheduling: ")
    assert "no room for v" in note


class Reserves(Plugin):
    """Records what is called."""

    name = "Reserves"
    called: ClassVar[list[str]] = []
    refuses: ClassVar[str] = ""

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        self.called.append(f"reserve {self.name}")
        return Status.unschedulable("no") if self.refuses == self.name else Status.OK

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        self.called.append(f"unreserve {self.name}")


class First(Reserves):
    name = "First"


class Second(Reserves):
    name = "Second"


class Third(Reserves):
    name = "Third"


@pytest.mark.parametrize(
    ("refuses", "reserved"),
    [
        pytest.param("Second", ["First", "Second"], id="the second one refuses"),
        pytest.param("First", ["First"], id="the first one does"),
    ],
)
def test_every_plugin_releases_what_any_of_them_may_have_reserved(
    refuses: str, reserved: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Reserves, "called", [])
    monkeypatch.setattr(Reserves, "refuses", refuses)
    driver = Driver(First, Second, Third)
    driver.put(make_node("n1"), pending("a"))
    driver.cycle()
    assert Reserves.called == [
        *(f"reserve {name}" for name in reserved),
        *(f"unreserve {name}" for name in ("Third", "Second", "First")),
    ]
    assert driver.machine.cluster.pods == {}


def test_the_next_pod_gets_the_node_that_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reserves, "called", [])
    monkeypatch.setattr(Reserves, "refuses", "First")
    driver = Driver(First)
    driver.put(make_node("n1", cpu="1"), pending("a", cpu="1"), pending("b", cpu="1"))
    driver.cycle()
    monkeypatch.setattr(Reserves, "refuses", "")
    driver.cycle()
    assert driver.node_of("default/b") == "n1"


class Rests(Reserves):
    """Has nothing to do for pods for which its PreFilter was skipped."""

    name = "Rests"
    rests_when_skipped = True


@pytest.mark.parametrize(
    ("skipped", "left"),
    [
        pytest.param(set(), ["First", "Rests"], id="nothing was skipped"),
        pytest.param({"Rests"}, ["First"], id="a plugin that rests was"),
        pytest.param({"First"}, ["First", "Rests"], id="one that has work all the same"),
    ],
)
def test_plugins_whose_pre_filter_was_skipped_may_rest(skipped: set[str], left: list[str]) -> None:
    plugins = First(), Rests()
    profile = Profile(scheduler_name="s", reserve=plugins)
    found = BindPlugins(profile, frozenset(skipped))
    assert [plugin.name for plugin in found.reserve] == left
    assert [plugin.name for plugin in found.unreserve] == left[::-1]


STARTED: StateKey[str] = StateKey("PreFilterCounts")


class Counts(Plugin):
    """Remembers at PreFilter what PostBind reads."""

    name = "Counts"
    found: ClassVar[list[tuple[str, str]]] = []

    def pod_key(self, pod: Any) -> object:
        return ()

    def pre_filter(self, cycle: Cycle) -> Status:
        cycle.write(STARTED, cycle.pod.metadata.name)
        return Status.OK

    def post_bind(self, cycle: Cycle, node_name: str) -> None:
        self.found.append((cycle.pod.metadata.name, cycle.read(STARTED)))


def test_what_pre_filter_wrote_is_read_after_the_binding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counts, "found", [])
    driver = Driver(Counts)
    driver.put(make_node("n1"), pending("a"), pending("b"))
    driver.cycle()
    driver.cycle()
    # Pods that the plugin does not tell apart share its state.
    assert [name for name, _ in Counts.found] == ["a", "b"]
    assert {written for _, written in Counts.found} <= {"a", "b"}


class WaitsForNothing(Plugin):
    """Neither makes calls nor waits, at one of two points."""

    name = "WaitsForNothing"
    point: ClassVar[str] = ""

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        return Pending() if self.point == "PreBind" else Status.OK

    def bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        return Pending() if self.point == "Bind" else Status.SKIPPED


@pytest.mark.parametrize("point", ["PreBind", "Bind"])
def test_a_plugin_that_waits_for_nothing_fails_at_its_point(
    point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WaitsForNothing, "point", point)
    config: Any = enabling([WaitsForNothing])
    only = [{"name": "WaitsForNothing"}, {"name": "DefaultBinder"}]
    config["profiles"][0]["plugins"]["bind"] = {"enabled": only, "disabled": [{"name": "*"}]}
    driver = Driver(WaitsForNothing, config=config)
    driver.put(make_node("n1"), pending("a"))
    driver.cycle()
    assert driver.condition("default/a")[1] == 'plugin "WaitsForNothing" waits for nothing'
    metric = "scheduler_framework_extension_point_duration_seconds"
    counted = driver.machine.metrics_snapshot()
    found = {
        name: counted.count(metric, name, "Error", "default-scheduler")
        for name in ("PreBind", "Bind")
    }
    assert found == {name: int(name == point) for name in found}
