"""The columns, mirrored in the plain objects that the v1.16 rules read.

Drivers, metrics and explanations use one cluster. Under the v1.16 rules it is a `MirroredCluster`,
which applies every change of the columns to a `ClassicCluster` as well. The columns then do not
affect decisions.
"""

from __future__ import annotations

from podwright.apimachinery.objects import Node, Object, Pod, with_fields, with_node_name
from podwright.scheduler.classic.cluster import ClassicCluster
from podwright.scheduler.columns import Cluster, PlacedPod
from podwright.scheduler.queueing import Nominator


class MirroredCluster(Cluster):
    """Columns with a `ClassicCluster` of the same state.

    Parameters
    ----------
    nominator : Nominator, optional
        The nominator of the queue, if there is one.

    Attributes
    ----------
    classic : ClassicCluster
        The same nodes, the same pods on them, the same nominations.
    """

    def __init__(self, nominator: Nominator | None = None) -> None:
        super().__init__()
        self.classic = ClassicCluster(nominator)
        self._counted: dict[str, tuple[Pod, Pod]] = {}
        """The placed pods by "namespace/name": the pod as placed, as counted, and its node."""

    def put(self, obj: Object) -> None:
        """Add or update an object."""
        super().put(obj)
        if not isinstance(obj, Pod):
            self.classic.put(obj)
            return
        placed = self.pods.get(obj.key)
        if placed is not None and self._counted[obj.key][0] is not placed.pod:
            # The columns count this version as the previous one, but its labels matter here.
            self._count_on(placed.pod, placed.slot)

    def delete(self, obj: Object) -> None:
        """Remove an object; an unknown object is ignored."""
        node = self._node(obj.metadata.name) if isinstance(obj, Node) else None
        super().delete(obj)
        if isinstance(obj, Node):
            # The zone of the node is that of the stored version.
            self.classic.remove(obj if node is None else node)
        elif not isinstance(obj, Pod):
            self.classic.remove(obj)

    def _node(self, name: str) -> Node | None:
        info = self.classic.node_infos.get(name)
        return None if info is None else info.node

    def place(self, pod: Pod, slot: int, key: str = "") -> PlacedPod:
        """Count a pod on the node in `slot`."""
        placed = super().place(pod, slot, key)
        self._count_on(pod, slot)
        return placed

    def remove(self, key: str) -> Pod | None:
        """Stop counting a placed pod; return None if it was not placed."""
        counted = self._counted.pop(key, None)
        if counted is not None:
            self.classic.take_off(counted[1])
        return super().remove(key)

    def nominate(self, pod: Pod, node_name: str) -> None:
        """Nominate a pending pod to a node."""
        super().nominate(pod, node_name)
        self.classic.nominator.add(identified(pod), node_name)

    def clear_nomination(self, pod: Pod) -> None:
        """Clear the nomination of a pod."""
        super().clear_nomination(pod)
        self.classic.nominator.remove(identified(pod).metadata.uid)

    def _count_on(self, pod: Pod, slot: int) -> None:
        before = self._counted.get(pod.key)
        if before is not None:
            self.classic.take_off(before[1])
        name = self.nodes.names[slot]
        counted = pod if pod.spec.node_name == name else with_node_name(pod, name)
        self._counted[pod.key] = pod, counted
        self.classic.add_to_node(counted, name)


def identified(pod: Pod) -> Pod:
    """Return the pod with a uid, by which the rules identify it; pods of files may have none."""
    return pod if pod.metadata.uid else with_fields(pod, "metadata", uid=pod.key)
