"""Annotations that follow a log while it is recorded: those of a replay, at any time."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort

import podwright as pw
from podwright.scheduler.config import ExtenderCall, ExtenderReply
from podwright.simulation.kss import extender_proxy, kss_annotations, live_results
from podwright.simulation.kss.live_results import LiveResults
from podwright.simulation.kss.results import HISTORY, PREFIX
from podwright.simulation.recording import DecisionLog, UnknownCycle
from podwright.simulation.recording.tests.recording import Recorded
from podwright.testing import make_node, make_pod

SECOND = 1_000_000_000


def replayed(log: DecisionLog, pod: str) -> dict[str, str]:
    try:
        return kss_annotations(log, pod)
    except UnknownCycle:
        return {}


class Reserving(pw.Plugin):
    """A user's plugin, whose state an explanation could change."""

    name = "Reserving"

    def reserve(self, cycle: pw.Cycle, node_name: str) -> pw.Status:
        """Keep nothing."""
        return pw.Status.OK


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["1", "2", "5"]),
        st.sampled_from([0, 0, 100]),
        st.sampled_from([0, 1, SECOND, 12 * SECOND]),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@given(steps=STEPS)
@effort(15)
def test_the_annotations_are_those_of_a_replay_at_any_time(steps):
    world = pw.World(seed=3)
    world.add(*[make_node(f"n{number}", cpu="4") for number in range(3)])
    live = LiveResults(world.log)
    names: list[str] = []
    for number, (cpu, priority, wait_ns, is_replaced) in enumerate(steps):
        if is_replaced and names:
            world.remove(*[pod for pod in world.pods if pod.name == names[0]])
            world.run_until_ns(world.now_ns + 40 * SECOND)
            names.append(names[0])
        else:
            names.append(f"p{number}")
        world.add(make_pod(names[-1], cpu=cpu, priority=priority))
        world.run_until_ns(world.now_ns + wait_ns)
        for name in names:
            key = f"default/{name}"
            assert live.annotations(key) == replayed(world.log, key)


def test_a_pod_that_was_never_tried_has_none():
    world = pw.World()
    assert LiveResults(world.log).annotations("default/web") == {}


def test_a_run_with_plugins_of_the_user_is_replayed():
    world = pw.World(plugins=[Reserving])
    world.add(make_node("n1", cpu="4"), make_pod("web", cpu="1"))
    world.run_until_ns(world.now_ns + SECOND)
    live = LiveResults(world.log, plugins=[Reserving])
    found = live.annotations("default/web")
    assert "Reserving" in found["kube-scheduler-simulator.sigs.k8s.io/reserve-result"]


def test_the_pods_whose_results_and_answers_are_kept_are_limited():
    assert (live_results.PODS_MAX, extender_proxy.PODS_MAX) == (2_000, 10_000)


def test_results_that_are_no_longer_kept_are_found_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("podwright.simulation.kss.live_results.PODS_MAX", 1)
    world = pw.World()
    live = LiveResults(world.log)
    world.add(make_node("n1", cpu="2"), make_pod("big", cpu="4"), make_pod("small", cpu="1"))
    world.run_until_ns(world.now_ns + SECOND)
    live.advance()
    world.add(make_node("n2", cpu="8"))
    world.run_until_ns(world.now_ns + 20 * SECOND)
    for name in ("big", "small"):
        expected = replayed(world.log, f"default/{name}")
        assert expected[HISTORY]
        assert live.annotations(f"default/{name}") == expected


def test_events_are_processed_in_slices():
    world = pw.World()
    world.add(make_node("n1", cpu="2"), make_pod("web", cpu="1"))
    world.run_until_ns(world.now_ns + SECOND)
    live = LiveResults(world.log)
    slices = 1
    while not live.advance(lambda: True):
        slices += 1
    assert slices > len(world.log) // 2
    assert live.annotations("default/web") == replayed(world.log, "default/web")


def test_results_are_kept_without_a_replay_for_a_pod_that_is_tried_again_or_replaced(
    monkeypatch: pytest.MonkeyPatch,
):
    def replay(*_args: object, **_keywords: object) -> None:
        raise AssertionError("the log is replayed")

    world = pw.World()
    live = LiveResults(world.log)
    assert live.is_kept("default/web")
    world.add(make_node("n1", cpu="2"), make_pod("web", cpu="4"))
    world.run_until_ns(world.now_ns + SECOND)
    world.add(make_node("n2", cpu="8"))
    world.run_until_ns(world.now_ns + 20 * SECOND)
    expected = [replayed(world.log, "default/web")]
    live.advance()
    world.remove(*world.pods)
    world.run_until_ns(world.now_ns + 40 * SECOND)
    world.add(make_pod("web", cpu="1"))
    world.run_until_ns(world.now_ns + SECOND)
    expected.append(replayed(world.log, "default/web"))
    monkeypatch.setattr("podwright.simulation.kss.live_results.kss_annotations", replay)
    assert live.annotations("default/web") == expected[1] != expected[0]
    assert live.is_kept("default/web")


def test_the_results_of_the_pod_that_was_first_tried_longest_ago_are_dropped_beyond_the_limit(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("podwright.simulation.kss.live_results.PODS_MAX", 2)
    world = pw.World()
    live = LiveResults(world.log)
    world.add(make_node("n1", cpu="8"), *(make_pod(name, cpu="1") for name in ("a", "b", "c")))
    world.run_until_ns(world.now_ns + SECOND)
    live.advance()
    assert [live.is_kept(f"default/{name}") for name in ("a", "b", "c")] == [False, True, True]
    # The place of a pod that was replaced is that of the new one.
    world.remove(*[pod for pod in world.pods if pod.name == "b"])
    world.run_until_ns(world.now_ns + 40 * SECOND)
    for name in ("b", "d"):
        world.add(make_pod(name, cpu="1"))
        world.run_until_ns(world.now_ns + SECOND)
    live.advance()
    assert [live.is_kept(f"default/{name}") for name in ("b", "c", "d")] == [True, False, True]


EXTENDER = {
    "urlPrefix": "http://127.0.0.1:9/x",
    "filterVerb": "f",
    "prioritizeVerb": "p",
    "weight": 2,
    "nodeCacheCapable": True,
}


def replying(request: ExtenderCall) -> ExtenderReply:
    scores = '[{"Host":"n1","Score":3},{"Host":"n2","Score":1}]'
    body = '{"NodeNames":["n1","n2"]}' if request.verb == "filter" else scores
    return ExtenderReply(status=200, body=body.encode())


def test_results_with_extenders_are_those_of_a_replay_also_while_a_cycle_waits():
    recorded = Recorded(extenders=[EXTENDER])
    recorded.call_extender = replying
    log = recorded.run.log
    live = LiveResults(log)

    def are_as_replayed() -> bool:
        log.flush()
        names = [f"default/{name}" for name in ("a", "b", "c")]
        return all(live.annotations(name) == replayed(log, name) for name in names)

    recorded.put(make_node("n1", cpu="2"), make_node("n2", cpu="2"), make_node("n3", cpu="2"))
    for name in ("a", "b"):
        recorded.attempt(make_pod(name, cpu="1"))
        assert live.annotations(f"default/{name}"), "its cycle is over"
        assert are_as_replayed()
    recorded.holds = {"CallExtender"}
    recorded.put(make_pod("c", cpu="2"))
    recorded.cycle()
    while recorded.held:
        recorded.put(make_node(f"late-{len(recorded.held)}"))
        assert live.annotations("default/c") == {}, "its cycle waits for an extender"
        assert are_as_replayed()
        recorded.answer(recorded.held.pop())
    assert live.annotations("default/c")
    assert are_as_replayed()
    assert live.is_kept("default/c"), "without a replay"


def test_results_of_a_pod_that_is_being_bound_are_those_of_a_replay():
    """Upstream: resultstore/store.go keeps each result as the plugin returns it."""
    recorded = Recorded()
    recorded.holds = {"Bind"}
    live = LiveResults(recorded.run.log)
    recorded.put(make_node("n1"))
    bind_results = []
    recorded.attempt(make_pod("web"))
    for _ in range(2):
        found = live.annotations("default/web")
        assert found == replayed(recorded.run.log, "default/web")
        bind_results.append((found[f"{PREFIX}selected-node"], found[f"{PREFIX}bind-result"]))
        while recorded.held:
            recorded.answer(recorded.held.pop())
    assert bind_results == [("n1", "{}"), ("n1", '{"DefaultBinder":"success"}')]


def test_a_log_of_another_driver_is_replayed():
    extender = {"urlPrefix": "http://x", "filterVerb": "filter", "nodeCacheCapable": True}
    recorded = Recorded(extenders=[extender])
    recorded.holds = {"CallExtender"}
    live = LiveResults(recorded.run.log)
    recorded.attempt(make_node("n1"), make_pod("web"))
    live.advance()
    recorded.cycle()  # while the first one waits for the answer
    (call,) = recorded.held
    recorded.call_extender = lambda _: ExtenderReply(status=200, body=b'{"NodeNames": ["n1"]}')
    recorded.holds = set()
    recorded.answer(call)
    expected = replayed(recorded.run.log, "default/web")
    assert expected[f"{PREFIX}selected-node"] == "n1"
    assert live.annotations("default/web") == expected
