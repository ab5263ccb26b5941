"""What a world consists of, to read."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from podwright._html import facts, section
from podwright.apimachinery.objects import NamespacedName, Node, Pod, timestamp_text
from podwright.cluster.store import ObjectStore
from podwright.scheduler.machine import Machine
from podwright.scheduler.queueing import Touch
from podwright.simulation.world.world_components import WorldComponents


class WorldReading:
    """The objects of a world and the stories of its pods; `World` documents the attributes."""

    def __init__(self, components: WorldComponents) -> None:
        self.components = components
        self.store: ObjectStore = components.store
        self.machine: Machine = components.recorder.machine

    @property
    def now_ns(self) -> int:
        """The virtual time, in nanoseconds since 1970."""
        return self.components.heap.now_ns

    @property
    def pods(self) -> Sequence[Pod]:
        """All pods, in the order of namespaces and names."""
        return [obj for obj in self.store.list(Pod).objects if isinstance(obj, Pod)]

    @property
    def nodes(self) -> Sequence[Node]:
        """All nodes, in the order of names."""
        return [obj for obj in self.store.list(Node).objects if isinstance(obj, Node)]

    @property
    def draining_nodes(self) -> Collection[str]:
        """The nodes whose drains are in progress."""
        return self.components.controllers.draining_nodes

    @property
    def node_of(self) -> dict[NamespacedName, str]:
        """The node name of each pod that has one."""
        return {pod.key: pod.spec.node_name for pod in self.pods if pod.spec.node_name}

    def story(self, pod: NamespacedName) -> list[Touch]:
        """Return the recent events of a pod in the queue, oldest first."""
        return self.machine.story(pod)

    def __repr__(self) -> str:
        now = timestamp_text(self.now_ns)
        return f"<World at {now}: {self.store.count(Node)} nodes, {self.store.count(Pod)} pods>"

    def _repr_html_(self) -> str:
        counts = {"Nodes": self.store.count(Node), "Pods": self.store.count(Pod)}
        return section(f"World at {timestamp_text(self.now_ns)}", facts(counts))
