"""On a node whose kubelet is silent nothing changes by itself, and all catches up afterwards."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from podwright.api.node_faults import NodeDown, NodeUp
from podwright.objects import with_fields
from podwright.stages import Lifecycle, StageDue
from podwright.stages.annotation_stages import RUN_DELAY
from podwright.stages.tests.lifecycle_driver import NOW, SECOND, LifecycleDriver, a_node, a_pod, at


def silent_at(player: LifecycleDriver, seconds: int) -> None:
    player.run(seconds)
    player.heap.advance(NOW + seconds * SECOND)
    player.do(player.life.handle(NodeDown("n1"), player.heap.now_ns))


def test_what_falls_due_on_a_silent_node_happens_when_it_returns():
    player = LifecycleDriver(Lifecycle())
    player.put(a_node())
    spec = {"restartPolicy": "Never"}
    player.put(a_pod("short", spec=spec, annotations={RUN_DELAY: "10s"}))
    player.put(a_pod("long", spec=spec, annotations={RUN_DELAY: "100s"}))
    player.put(a_pod("away", spec=spec | {"nodeName": "n2"}, annotations={RUN_DELAY: "10s"}))
    silent_at(player, 5)
    player.run(50)
    ends = [(when, key) for when, stage, key in player.story if stage == "pod-exit"]
    assert ends == [(10, "default/away")]
    player.heap.advance(NOW + 50 * SECOND)
    player.do(player.life.handle(NodeUp("n1"), player.heap.now_ns))
    player.run(200)
    ends = [(when, key) for when, stage, key in player.story if stage == "pod-exit"]
    assert ends[1:] == [(50, "default/short"), (100, "default/long")]


def test_a_deleted_pod_stays_on_a_silent_node():
    player = LifecycleDriver(Lifecycle())
    player.put(a_node())
    player.put(a_pod())
    silent_at(player, 5)
    pod = player.objects["default/web"]
    player.put(with_fields(pod, "metadata", deletion_timestamp=at(5)))
    player.run(500)
    assert "default/web" in player.objects
    player.do(player.life.handle(NodeUp("n1"), player.heap.now_ns))
    player.run(600)
    assert "default/web" not in player.objects


def test_a_silent_node_is_not_made_ready_until_it_returns_under_its_name_or_a_new_one():
    for returns in ("itself", "anew"):
        player = LifecycleDriver(Lifecycle())
        player.put(a_node())
        silent_at(player, 5)
        unknown = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
        player.put(a_node(status=player.status("n1") | unknown))
        player.run(500)
        assert player.status("n1")["conditions"] == unknown["conditions"]
        if returns == "anew":
            player.put(a_node(metadata={"uid": "another"}))
        else:
            player.do(player.life.handle(NodeUp("n1"), player.heap.now_ns))
        player.run(600)
        assert {"Ready": "True"}.items() <= {
            each["type"]: each["status"] for each in player.status("n1")["conditions"]
        }.items()


def test_silence_survives_a_checkpoint():
    player = LifecycleDriver(Lifecycle())
    player.put(a_pod(annotations={RUN_DELAY: "10s"}, spec={"restartPolicy": "Never"}))
    silent_at(player, 5)
    other = Lifecycle()
    other.restore(player.life.state(), list(player.objects.values()))
    assert other.state() == player.life.state()
    due = player.heap.pop()
    assert due is not None
    assert isinstance(due.event, StageDue)
    assert other.handle(due.event, player.heap.now_ns) == []
    assert len(other.handle(NodeUp("n1"), player.heap.now_ns)) == 1
    assert other.handle(NodeUp("n1"), player.heap.now_ns) == []


@given(st.lists(st.integers(1, 60), min_size=1, max_size=5), st.data())
def test_what_fell_due_is_said_again_in_the_order_in_which_objects_came(delays, data):
    player = LifecycleDriver(Lifecycle(seed=1))
    player.put(a_node())
    for index, seconds in enumerate(delays):
        annotations = {RUN_DELAY: f"{seconds}s"}
        player.put(a_pod(f"p{index}", spec={"restartPolicy": "Never"}, annotations=annotations))
    silent_at(player, data.draw(st.integers(0, 20)))
    player.run(40)
    now_ns = NOW + 40 * SECOND
    # A machine that was restored does not know what fell due, and looks at all objects.
    other = Lifecycle(seed=1)
    other.restore(player.life.state(), player.objects.values())
    assert player.life.handle(NodeUp("n1"), now_ns) == other.handle(NodeUp("n1"), now_ns)
