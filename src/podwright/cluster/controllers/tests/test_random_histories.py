"""Laws of the workload controllers under random histories."""

from typing import Any

from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.objects import (
    Node,
    Pod,
    is_ready,
)
from podwright.cluster.api import CreateObject
from podwright.cluster.controllers.apps.daemon_pods import target_node
from podwright.cluster.controllers.apps.stateful_pods import ordinal_of
from podwright.cluster.controllers.interface import ControllerAction
from podwright.cluster.controllers.pod_state import is_active
from podwright.cluster.controllers.registry import WORKLOAD_CONTROLLERS
from podwright.cluster.controllers.tests.controller_cluster import Cluster
from podwright.cluster.controllers.workload_fields import spec_of

TEMPLATE = """
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "web:0"}]}
"""
HEAD = "apiVersion: apps/v1\nmetadata: {name: web}\nspec:"
KIND = {"deployment": "Deployment", "statefulset": "StatefulSet", "daemonset": "DaemonSet"}

Step = tuple[str, int]

waits = st.tuples(st.just("wait"), st.integers(1, 4))
versions = st.tuples(st.just("image"), st.integers(0, 3))
sizes = st.tuples(st.just("scale"), st.integers(0, 6))
deletions = st.tuples(st.just("delete"), st.integers(0, 9))
failures = st.tuples(st.just("fail"), st.integers(0, 9))
losses = st.tuples(st.just("unready"), st.integers(0, 9))
pauses = st.tuples(st.just("pause"), st.integers(0, 1))
unmatched = st.tuples(st.just("relabel"), st.integers(0, 9))
mishaps = st.one_of(deletions, failures, losses, unmatched)
nodes = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 5)),
    st.tuples(st.just("remove"), st.integers(0, 5)),
    st.tuples(st.just("taint"), st.integers(0, 5)),
    st.tuples(st.just("clean"), st.integers(0, 5)),
)


def do(world: Cluster, kind: str, step: Step) -> None:
    """Execute one step of a history."""
    what, number = step
    match what:
        case "wait":
            world.run(number)
        case "image":
            containers = [{"name": "c", "image": f"web:{number}"}]
            template = {"spec": {"template": {"spec": {"containers": containers}}}}
            world.patch(kind, "web", template)
        case "scale" if kind != "daemonset":
            world.scale(kind, "web", number)
        case "pause" if kind == "deployment":
            world.patch(kind, "web", {"spec": {"paused": bool(number)}})
        case "add" | "remove" | "taint" | "clean":
            change_node(world, what, f"x{number}")
        case _:
            change_pod(world, what, number)


def change_node(world: Cluster, what: str, name: str) -> None:
    present = world.find("node", name)
    if what == "add" and present is None:
        world.add_node(name)
        world.settle()
    elif what == "remove" and present is not None:
        world.delete("node", name)
        for pod in world.pods():
            if pod.spec.node_name == name:  # removed with its node
                world.delete("pod", pod.name, grace=0)
    elif present is not None:
        taints = [{"key": "x", "effect": "NoExecute"}] if what == "taint" else None
        world.patch("node", name, {"spec": {"taints": taints}})


def change_pod(world: Cluster, what: str, number: int) -> None:
    pods = [pod for pod in world.pods("web") if is_active(pod)]
    if not pods:
        return
    name = pods[number % len(pods)].name
    if what == "delete":
        world.delete("pod", name)
    elif what == "fail":
        world.fail(name)
    elif what == "unready":
        world.unready(name)
    elif what == "relabel":
        world.patch("pod", name, {"metadata": {"labels": {"app": "debug"}}})


def become_ready(world: Cluster) -> None:
    """Make every unready pod ready."""
    world.run(5)
    for pod in world.pods():
        if is_active(pod) and pod.spec.node_name and not is_ready(pod):
            world.ready(pod.name)


def settled(world: Cluster, kind: str) -> list[Pod]:
    """Let time pass until no work is left; return the set's active pods."""
    if kind == "deployment":
        world.patch(kind, "web", {"spec": {"paused": False}})
    for _ in range(4):
        become_ready(world)
    world.run(120)
    owned = [pod for pod in world.pods("web") if pod.metadata.owner_references]
    return [pod for pod in owned if is_active(pod)]


def image_of(world: Cluster, kind: str) -> str:
    containers = spec_of(world.get(kind, "web"))["template"]["spec"]["containers"]
    return str(containers[0]["image"])


def started(kind: str, spec: str = "", **options: Any) -> Cluster:
    world = Cluster(WORKLOAD_CONTROLLERS, **options)
    world.apply(f"kind: {KIND[kind]}\n{HEAD}{spec}{TEMPLATE}")
    world.run(20)
    return world


# -------------------------------------------------------------------------- deployments


@effort(40)
@given(st.lists(st.one_of(waits, versions, sizes, mishaps, pauses), max_size=12))
def test_a_deployment_converges_to_its_newest_template(history: list[Step]) -> None:
    world = started("deployment", "\n  replicas: 3")
    for step in history:
        do(world, "deployment", step)
    pods = settled(world, "deployment")
    replicas = spec_of(world.get("deployment", "web"))["replicas"]
    assert [pod.spec.containers[0].image for pod in pods] == [
        image_of(world, "deployment")
    ] * replicas
    assert all(map(is_ready, pods))
    status = world.status("deployment", "web")
    assert status.get("availableReplicas", 0) == status.get("updatedReplicas", 0) == replicas
    assert "unavailableReplicas" not in status


@effort(40)
@given(
    st.integers(1, 6),
    st.sampled_from([0, 1, 2, "25%", "50%"]),
    st.sampled_from([0, 1, 2, "25%", "50%"]),
    st.sampled_from([0, 0.5, 3]),
    st.lists(st.one_of(waits, versions), max_size=8),
)
def test_a_rollout_keeps_within_its_bounds(
    replicas: int,
    surge: int | str,
    unavailable: int | str,
    removed_after: float,
    history: list[Step],
) -> None:
    rolling = f"{{maxSurge: {surge}, maxUnavailable: {unavailable}}}"
    world = started(
        "deployment",
        f"\n  replicas: {replicas}\n  strategy: {{rollingUpdate: {rolling}}}",
        removed_after=removed_after,
    )

    def share(value: int | str, *, up: bool) -> int:
        if isinstance(value, int):
            return value
        hundredths = int(value[:-1]) * replicas
        return -(-hundredths // 100) if up else hundredths // 100

    more, fewer = share(surge, up=True), share(unavailable, up=False)
    fewer = min(fewer or (0 if more else 1), replicas)

    def check() -> None:
        asked = [spec_of(each)["replicas"] for each in world.all("replicaset")]
        assert sum(asked) <= replicas + more
        pods = [pod for pod in world.pods() if is_active(pod)]
        assert sum(map(is_ready, pods)) >= replicas - fewer
        if not world.controllers.has_next:
            assert len(pods) <= replicas + more

    world.before_each = check
    for step in history:
        do(world, "deployment", step)
    world.run(100)
    assert len(world.pods()) == replicas


# ------------------------------------------------------------------------- stateful sets


class Ordered(Cluster):
    """A cluster that checks at each sync whether pods of a stateful set are in order."""

    def _do(self, action: ControllerAction) -> Exception | None:
        if isinstance(action, CreateObject) and isinstance(action.obj, Pod):
            below = range(ordinal_of(action.obj))
            pods = {ordinal_of(pod): pod for pod in self.pods("web")}
            assert all(number in pods and is_ready(pods[number]) for number in below)
            assert all(not pods[number].is_terminating for number in below)
        return super()._do(action)


@effort(40)
@given(st.lists(st.one_of(waits, versions, sizes, deletions, failures, losses), max_size=12))
def test_an_ordered_set_makes_a_pod_only_above_available_ones(history: list[Step]) -> None:
    world = Ordered(WORKLOAD_CONTROLLERS)
    world.apply(f"kind: StatefulSet\n{HEAD}\n  replicas: 3{TEMPLATE}")
    for step in history:
        do(world, "statefulset", step)
    for _ in range(12):
        become_ready(world)
    pods = settled(world, "statefulset")
    replicas = spec_of(world.get("statefulset", "web"))["replicas"]
    assert sorted(map(ordinal_of, pods)) == list(range(replicas))
    assert {pod.spec.containers[0].image for pod in pods} <= {image_of(world, "statefulset")}
    status = world.status("statefulset", "web")
    assert status["currentRevision"] == status["updateRevision"]


@effort(30)
@given(st.lists(st.one_of(waits, sizes, versions), max_size=10))
def test_an_ordered_set_never_has_a_gap(history: list[Step]) -> None:
    world = started("statefulset", "\n  replicas: 2")

    def check() -> None:
        # One may be missing: the pod that an update or a smaller size has deleted.
        numbers = sorted(map(ordinal_of, world.pods("web")))
        assert len(set(range(max(numbers, default=-1) + 1)) - set(numbers)) <= 1

    world.before_each = check
    for step in history:
        do(world, "statefulset", step)


# --------------------------------------------------------------------------- daemon sets


@effort(40)
@given(st.lists(st.one_of(waits, versions, nodes, mishaps), max_size=14))
def test_a_daemon_set_has_one_pod_on_every_node_it_belongs_on(history: list[Step]) -> None:
    world = started("daemonset", nodes=2)

    def check() -> None:
        active = [target_node(pod) for pod in world.pods("web") if is_active(pod)]
        relabelled = sum(not pod.metadata.owner_references for pod in world.pods("web"))
        assert len(active) - len(set(active)) <= relabelled

    world.before_each = check
    for step in history:
        do(world, "daemonset", step)
    pods = settled(world, "daemonset")
    requested = [
        node.name for node in world.all("node") if isinstance(node, Node) and not node.spec.taints
    ]
    assert sorted(map(target_node, pods)) == requested
    assert {pod.spec.containers[0].image for pod in pods} <= {image_of(world, "daemonset")}
    status = world.status("daemonset", "web")
    assert status["desiredNumberScheduled"] == status.get("numberAvailable", 0) == len(requested)


# ------------------------------------------------------------------------- checkpoints


@effort(40)
@given(
    st.sampled_from(sorted(KIND)),
    st.integers(1, 7),
    st.sampled_from(["", "\n  minReadySeconds: 3"]),
    st.lists(st.one_of(waits, versions, sizes, mishaps, nodes), max_size=10),
)
def test_a_restored_machine_continues_the_same(
    kind: str, every: int, spec: str, history: list[Step]
) -> None:
    replicas = "" if kind == "daemonset" else "\n  replicas: 3"
    world, other = (started(kind, spec + replicas) for _ in range(2))
    syncs = 0

    def restart() -> None:
        nonlocal syncs
        syncs += 1
        if syncs % every == 0:
            other.restart()

    other.before_each = restart
    for step in history:
        do(world, kind, step)
        do(other, kind, step)
    assert other.actions == world.actions
    assert other.controllers.state() == world.controllers.state()
