"""On a node whose kubelet is down, stages are deferred until it is up."""

from __future__ import annotations

from hypothesis import given, strategies as st

from podwright.apimachinery.objects import with_fields
from podwright.cluster.api.requests import NodeDown, NodeUp
from podwright.cluster.kubelets import Lifecycle, ScheduleStage, StageDue
from podwright.cluster.kubelets.pod_statuses import RUN_DELAY
from podwright.cluster.kubelets.tests.lifecycle_driver import (
    NOW,
    SECOND,
    LifecycleDriver,
    a_node,
    a_pod,
    at,
)
from podwright.cluster.store import ObjectStore


def node_down_at(driver: LifecycleDriver, seconds: int) -> None:
    driver.run(seconds)
    driver.heap.advance(NOW + seconds * SECOND)
    driver.execute(driver.life.handle(NodeDown("n1"), driver.heap.now_ns))


def test_stages_due_on_a_down_node_are_played_when_it_is_up():
    driver = LifecycleDriver(Lifecycle())
    driver.put(a_node())
    spec = {"restartPolicy": "Never"}
    driver.put(a_pod("short", spec=spec, annotations={RUN_DELAY: "10s"}))
    driver.put(a_pod("long", spec=spec, annotations={RUN_DELAY: "100s"}))
    driver.put(a_pod("away", spec=spec | {"nodeName": "n2"}, annotations={RUN_DELAY: "10s"}))
    node_down_at(driver, 5)
    driver.run(50)
    ends = [(when, key) for when, stage, key in driver.story if stage == "pod-exit"]
    assert ends == [(10, "default/away")]
    driver.heap.advance(NOW + 50 * SECOND)
    driver.execute(driver.life.handle(NodeUp("n1"), driver.heap.now_ns))
    driver.run(200)
    ends = [(when, key) for when, stage, key in driver.story if stage == "pod-exit"]
    assert ends[1:] == [(50, "default/short"), (100, "default/long")]


def test_pods_that_left_a_down_node_have_no_stages_when_it_is_up():
    driver = LifecycleDriver(Lifecycle())
    driver.put(a_node())
    for name in ("gone", "moved", "stays"):
        driver.put(a_pod(name, spec={"restartPolicy": "Never"}, annotations={RUN_DELAY: "10s"}))
    node_down_at(driver, 5)
    driver.run(20)
    driver.delete(driver.objects["default/gone"])
    driver.put(with_fields(driver.objects["default/moved"], "spec", node_name="n2"))
    now_ns = NOW + 30 * SECOND
    actions = driver.life.handle(NodeUp("n1"), now_ns)
    assert [
        (each.event.key, each.due_ns) for each in actions if isinstance(each, ScheduleStage)
    ] == [("default/stays", now_ns)]


def test_a_kubelet_runs_no_pod_before_its_node_exists():
    driver = LifecycleDriver(Lifecycle(reader=ObjectStore()))
    pod = a_pod()
    driver.put(pod)
    driver.run(100)
    assert driver.objects["default/web"] is pod
    driver.put(a_node())
    driver.run(200)
    assert driver.status("default/web")["phase"] == "Running"


def test_a_kubelet_removes_no_pod_after_its_node_is_gone():
    driver = LifecycleDriver(Lifecycle(reader=ObjectStore()))
    node = a_node()
    driver.put(node)
    driver.put(a_pod())
    driver.run(100)
    driver.delete(node)
    deleted = {"deletion_timestamp": at(100), "deletion_grace_period_seconds": 30}
    driver.put(with_fields(driver.objects["default/web"], "metadata", **deleted))
    driver.run(500)
    assert "default/web" in driver.objects
    driver.put(a_node(metadata={"uid": "another"}))
    driver.run(600)
    assert "default/web" not in driver.objects


def test_a_deleted_pod_stays_on_a_down_node():
    driver = LifecycleDriver(Lifecycle())
    driver.put(a_node())
    driver.put(a_pod())
    node_down_at(driver, 5)
    pod = driver.objects["default/web"]
    driver.put(with_fields(pod, "metadata", deletion_timestamp=at(5)))
    driver.run(500)
    assert "default/web" in driver.objects
    driver.execute(driver.life.handle(NodeUp("n1"), driver.heap.now_ns))
    driver.run(600)
    assert "default/web" not in driver.objects


def test_a_down_node_is_not_made_ready_until_it_is_up_or_replaced():
    for returns in ("itself", "anew"):
        driver = LifecycleDriver(Lifecycle())
        driver.put(a_node())
        node_down_at(driver, 5)
        unknown = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
        driver.put(a_node(status=driver.status("n1") | unknown))
        driver.run(500)
        assert driver.status("n1")["conditions"] == unknown["conditions"]
        if returns == "anew":
            driver.put(a_node(metadata={"uid": "another"}))
        else:
            driver.execute(driver.life.handle(NodeUp("n1"), driver.heap.now_ns))
        driver.run(600)
        assert {"Ready": "True"}.items() <= {
            each["type"]: each["status"] for each in driver.status("n1")["conditions"]
        }.items()


def test_down_nodes_survive_a_checkpoint():
    driver = LifecycleDriver(Lifecycle())
    driver.put(a_pod(annotations={RUN_DELAY: "10s"}, spec={"restartPolicy": "Never"}))
    node_down_at(driver, 5)
    other = Lifecycle()
    other.restore(driver.life.state(), list(driver.objects.values()))
    assert other.state() == driver.life.state()
    due = driver.heap.pop()
    assert due is not None
    assert isinstance(due.event, StageDue)
    assert other.handle(due.event, driver.heap.now_ns) == []
    assert len(other.handle(NodeUp("n1"), driver.heap.now_ns)) == 1
    assert other.handle(NodeUp("n1"), driver.heap.now_ns) == []


@given(st.lists(st.integers(1, 60), min_size=1, max_size=5), st.data())
def test_deferred_stages_are_scheduled_in_the_order_of_the_objects(delays, data):
    driver = LifecycleDriver(Lifecycle(seed=1))
    driver.put(a_node())
    for index, seconds in enumerate(delays):
        annotations = {RUN_DELAY: f"{seconds}s"}
        driver.put(a_pod(f"p{index}", spec={"restartPolicy": "Never"}, annotations=annotations))
    node_down_at(driver, data.draw(st.integers(0, 20)))
    driver.run(40)
    now_ns = NOW + 40 * SECOND
    # A restored machine does not know the deferred stages, and checks all objects.
    other = Lifecycle(seed=1)
    other.restore(driver.life.state(), driver.objects.values())
    assert driver.life.handle(NodeUp("n1"), now_ns) == other.handle(NodeUp("n1"), now_ns)
