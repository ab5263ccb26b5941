"""What Reserve sets aside when pods are placed without a machine."""

from typing import ClassVar

import pytest

import podwright as pw
from podwright.scheduler.columns.tests.storage_objects import claim, storage_class, using, volume
from podwright.testing import make_node, make_pod


@pytest.fixture
def scheduler():
    scheduler = pw.Scheduler()
    scheduler.add(make_node("n1"), make_node("n2"), storage_class("local"))
    return scheduler


def pod_with(*claims, name=""):
    return make_pod(name or f"uses-{claims[0]}", spec={"volumes": using(*claims)})


class Refusing(pw.Plugin):
    """Rejects the given pods, and records its calls."""

    name = "Refusing"
    answer: ClassVar[pw.Status] = pw.Status.OK
    asked: ClassVar[list[str]] = []

    def reserve(self, cycle, node_name):
        """Note it, and answer."""
        self.asked.append(f"reserve {cycle.pod.name} {node_name}")
        return self.answer

    def unreserve(self, cycle, node_name):
        """Note it."""
        self.asked.append(f"unreserve {cycle.pod.name} {node_name}")


@pytest.fixture
def refusing(monkeypatch):
    monkeypatch.setattr(Refusing, "asked", [])
    return lambda status: monkeypatch.setattr(Refusing, "answer", status)


def test_two_pods_do_not_get_the_same_unbound_volume(scheduler):
    scheduler.add(volume("v", on=["n1"]), claim("a"), claim("b"), pod_with("a"), pod_with("b"))
    first, second = scheduler.schedule_all()
    assert first.node == "n1"
    assert not second.node
    assert second.message.startswith(
        "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind."
    )


def test_a_second_pod_with_the_same_claim_goes_where_its_volume_is(scheduler):
    scheduler.add(volume("v", on=["n2"]), volume("w", on=["n1"], size="20Gi"), claim("a"))
    first = scheduler.schedule(pod_with("a", name="one"))
    second = scheduler.schedule(pod_with("a", name="two"))
    assert first.node == second.node
    assert scheduler.cluster.storage.volume("v" if first.node == "n2" else "w").spec.claim_ref


def test_explaining_reserves_nothing(scheduler):
    scheduler.add(volume("v", on=["n1"]), claim("a"), pod_with("a"))
    assert scheduler.explain("default/uses-a").decision.node == "n1"
    assert scheduler.cluster.storage.volume("v").spec.claim_ref is None
    assert "default/uses-a" not in scheduler.cluster.pods
    assert list(scheduler.pending) == ["default/uses-a"]


def test_a_placed_pod_is_asked_again_with_its_volume_free_and_then_has_it_back(scheduler):
    scheduler.add(volume("v", on=["n1"]), volume("w", on=["n2"]), claim("a"), claim("b"))
    node = scheduler.schedule(pod_with("a")).node
    assert set(scheduler.explain_again("default/uses-a").feasible) == {"n1", "n2"}
    other = "n2" if node == "n1" else "n1"
    assert scheduler.explain(pod_with("b")).feasible == (other,)


def test_a_removed_pod_leaves_the_volume_to_its_claim(scheduler):
    scheduler.add(volume("v", on=["n1"]), claim("a"), claim("b"))
    scheduler.schedule(pod_with("a"))
    scheduler.remove(pod_with("a"))
    assert not scheduler.schedule(pod_with("b")).node
    assert scheduler.schedule(pod_with("a")).node == "n1"


def test_a_refusal_by_reserve_is_a_fit_error_about_one_node(refusing):
    scheduler = pw.Scheduler(plugins=[Refusing])
    scheduler.add(make_node("n1"), make_node("n2"), make_pod("web"))
    refusing(pw.Status.unschedulable("no licence left"))
    for decision in (
        scheduler.explain("default/web").decision,
        scheduler.schedule("default/web"),
    ):
        assert (decision.node, decision.slot) == ("", -1)
        assert decision.message == "0/1 nodes are available: 1 no licence left."
        assert decision.diagnosis is not None
        assert decision.diagnosis.rejected_by == {"Refusing"}
        assert decision.post_filter is None
    assert list(scheduler.pending) == ["default/web"]
    assert "default/web" not in scheduler.cluster.pods
    assert [asked.split()[0] for asked in Refusing.asked] == ["reserve", "unreserve"] * 2


def test_a_failure_of_reserve_is_an_error(refusing):
    scheduler = pw.Scheduler(plugins=[Refusing])
    scheduler.add(make_node("n1"))
    refusing(pw.Status.error("licence server is down"))
    decision = scheduler.schedule(make_pod("web"))
    assert decision.message == 'running Reserve plugin "Refusing": licence server is down'
    assert decision.error is not None
    assert decision.error.code.label == "Error"


def test_a_plugin_that_skips_its_filters_reserves_unless_it_rests_then():
    class Skips(Refusing):
        name = "Skips"

        def pre_filter(self, cycle):
            return pw.Status(pw.Code.SKIP)

        def filter(self, cycle, node):
            return pw.Status()

    class Rests(Skips):
        name = "Rests"
        asked: ClassVar[list[str]] = []
        rests_when_skipped = True

    Skips.asked.clear()
    scheduler = pw.Scheduler(plugins=[Skips, Rests])
    scheduler.add(make_node("n1"))
    assert scheduler.schedule(make_pod("web")).node == "n1"
    assert (Skips.asked, Rests.asked) == (["reserve web n1"], [])


@pytest.mark.parametrize(
    ("refuses", "reserved"),
    [
        pytest.param("First", ["First"], id="the first refuses"),
        pytest.param("Second", ["First", "Second"], id="the second refuses"),
        pytest.param("Third", ["First", "Second", "Third"], id="the last refuses"),
        pytest.param("", ["First", "Second", "Third"], id="no plugin refuses"),
    ],
)
def test_the_first_plugin_that_refuses_undoes_all_of_them_the_last_one_first(refuses, reserved):
    calls: list[str] = []

    def made(own_name: str) -> type[pw.Plugin]:
        class Reserving(pw.Plugin):
            name = own_name

            def reserve(self, cycle, node_name):
                calls.append(f"+{own_name}")
                return pw.Status.unschedulable("no") if own_name == refuses else pw.Status()

            def unreserve(self, cycle, node_name):
                calls.append(f"-{own_name}")

        return Reserving

    scheduler = pw.Scheduler(plugins=[made(name) for name in ("First", "Second", "Third")])
    scheduler.add(make_node("n1"), make_pod("web"))
    undone = [f"-{name}" for name in ("Third", "Second", "First")]
    expected = [f"+{name}" for name in reserved]
    assert bool(scheduler.schedule("default/web").node) is not bool(refuses)
    assert calls == expected + (undone if refuses else [])
    if not refuses:
        calls.clear()
        scheduler.withdraw("default/web")
        assert calls == undone
