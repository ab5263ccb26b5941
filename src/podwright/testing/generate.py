"""A small varied cluster, and changes to it, for `check_plugin`.

All objects are fixed, not random, so that failures are reproducible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from podwright.apimachinery.objects import Namespace, Node, ObjectMeta, Pod, with_fields
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import ASSIGNED_POD, NODE, ActionType, ClusterEvent
from podwright.testing.objects import make_node, make_pod

ZONES = ("a", "b", "c")
_TAINTS = ((), ("dedicated=batch:NoSchedule",), ("spot:PreferNoSchedule",), ("gpu=yes:NoExecute",))


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a cluster.

    Parameters
    ----------
    what : str
        A description for the report.
    event : ClusterEvent
        The event that the queue would receive.
    apply : callable
        Makes the change.
    """

    what: str
    event: ClusterEvent
    apply: Callable[[Cluster], None]


def make_nodes(extra: Iterable[Node] = ()) -> list[Node]:
    """Return twelve different nodes, and those of the caller."""
    nodes = [
        make_node(
            f"node-{i}",
            cpu=(2, 4, 8)[i % 3],
            memory=("4Gi", "16Gi")[i % 2],
            pods=(110, 3)[i == 5],
            gpu=(0, 0, 0, 2)[i % 4],
            zone=ZONES[i % 3] if i != 7 else "",
            labels={"disk": ("ssd", "hdd")[i % 2]} if i % 4 else {},
            taints=_TAINTS[i // 3],
            unschedulable=i == 9,
            images={"registry.example/web:1": "300M"} if i % 5 == 0 else None,
        )
        for i in range(12)
    ]
    return [*nodes, *extra]


def make_placed(nodes: Iterable[Node]) -> list[Pod]:
    """Return pods that are unevenly placed on the nodes."""
    return [
        make_pod(
            f"placed-{i}-{j}",
            namespace=("default", "shop")[j % 2],
            cpu="250m",
            memory="256Mi",
            labels={"app": ("web", "db", "batch")[(i + j) % 3]},
            node=node.metadata.name,
            host_port=8080 if (i, j) == (1, 0) else 0,
        )
        for i, node in enumerate(nodes)
        for j in range(i % 4)
    ]


def make_candidates(extra: Iterable[Pod] = ()) -> list[Pod]:
    """Return different pending pods; some differ in one thing only."""
    pods = [
        make_pod("plain"),
        make_pod("small", cpu="250m", memory="128Mi", labels={"app": "web"}),
        make_pod("small-again", cpu="250m", memory="128Mi", labels={"app": "web"}),
        make_pod("small-db", cpu="250m", memory="128Mi", labels={"app": "db"}),
        make_pod("small-shop", namespace="shop", cpu="250m", memory="128Mi", labels={"app": "web"}),
        make_pod("large", cpu="3", memory="6Gi", labels={"app": "db"}),
        make_pod("huge", cpu="64", memory="512Gi"),
        make_pod("gpu", cpu="1", gpu=1, tolerations=["gpu=yes"]),
        make_pod("tolerant", cpu="100m", tolerations=["dedicated=batch:NoSchedule", "spot"]),
        make_pod("ssd", cpu="100m", node_selector={"disk": "ssd"}),
        make_pod("in-zone-a", cpu="100m", node_selector={"topology.kubernetes.io/zone": "a"}),
        make_pod("important", cpu="500m", priority=1000, image="registry.example/web:1"),
        make_pod("port", cpu="100m", host_port=8080),
    ]
    return [*pods, *extra]


def make_namespaces() -> list[Namespace]:
    """Return the namespaces of the pods."""
    return [
        Namespace(metadata=ObjectMeta(name=name, labels={"team": team}))
        for name, team in (("default", "core"), ("shop", "web"))
    ]


def make_cluster(nodes: Iterable[Node], placed: Iterable[Pod]) -> Cluster:
    """Put namespaces, nodes and placed pods into a new cluster."""
    cluster = Cluster()
    for namespace in make_namespaces():
        cluster.put(namespace)
    for node in nodes:
        cluster.put(node)
    for pod in placed:
        cluster.put(pod)
    return cluster


# ---------------------------------------------------------------- changes


def _event(resource: str, action: ActionType) -> ClusterEvent:
    return ClusterEvent(resource, action)


def changes() -> list[Change]:
    """Return all kinds of changes of nodes and pods, to be applied in order."""
    node_changes = [
        _relabelled("node-1", ActionType.UPDATE_NODE_LABEL, {"disk": "ssd"}),
        _relabelled("node-7", ActionType.UPDATE_NODE_LABEL, {"topology.kubernetes.io/zone": "a"}),
        _replaced(
            "node-3",
            ActionType.UPDATE_NODE_TAINT,
            make_node("node-3", cpu=8, zone="a"),
            "its taint",
        ),
        _replaced(
            "node-9",
            ActionType.UPDATE_NODE_TAINT,
            make_node("node-9", cpu=8, memory="16Gi", zone="a", taints=["gpu=yes:NoExecute"]),
            "it is uncordoned",
        ),
        _replaced(
            "node-0",
            ActionType.UPDATE_NODE_ALLOCATABLE,
            make_node("node-0", cpu=96, memory="768Gi", gpu=4, zone="a"),
            "it has grown",
        ),
    ]
    return [
        _placed(make_pod("new-web", cpu="500m", labels={"app": "web"}, node="node-2")),
        _placed(make_pod("new-db", cpu="1", labels={"app": "db"}, node="node-0", host_port=8080)),
        *(_removed(key) for key in ("default/placed-1-0", "default/placed-5-0", "shop/placed-3-1")),
        *node_changes,
        Change(
            what="node node-12 appears",
            event=_event(NODE, ActionType.ADD),
            apply=lambda cluster: cluster.put(
                make_node("node-12", cpu=16, zone="b", labels={"disk": "ssd"})
            ),
        ),
        Change(
            what="node node-4 is deleted",
            event=_event(NODE, ActionType.DELETE),
            apply=lambda cluster: cluster.delete(make_node("node-4")),
        ),
        _placed(make_pod("last", cpu="2", memory="1Gi", labels={"app": "web"}, node="node-12")),
    ]


def _placed(pod: Pod) -> Change:
    return Change(
        what=f"pod {pod.key} is placed on {pod.spec.node_name}",
        event=_event(ASSIGNED_POD, ActionType.ADD),
        apply=lambda cluster: cluster.put(pod),
    )


def _removed(key: str) -> Change:
    def remove(cluster: Cluster) -> None:
        cluster.remove(key)

    return Change(
        what=f"pod {key} is deleted", event=_event(ASSIGNED_POD, ActionType.DELETE), apply=remove
    )


def _replaced(name: str, action: ActionType, node: Node, what: str) -> Change:
    return Change(
        what=f"node {name} changes: {what}",
        event=_event(NODE, action),
        apply=lambda cluster: cluster.put(node),
    )


def _relabelled(name: str, action: ActionType, labels: dict[str, str]) -> Change:
    def relabel(cluster: Cluster) -> None:
        node = cluster.nodes.objects[cluster.nodes.slot_of[name]]
        assert node is not None, name
        merged = node.metadata.labels | labels
        cluster.put(with_fields(node, "metadata", labels=merged))

    return Change(
        what=f"node {name} gets labels {labels}", event=_event(NODE, action), apply=relabel
    )
