"""No node has more on it than it has room for."""

from __future__ import annotations

from tests.world.checkers import Checker

from podwright.objects import KubernetesObject, Node, Pod, quantity_value

MILLI = 1000


class Capacity(Checker):
    """Adds up what pods that have not ended ask of their nodes."""

    def __init__(self) -> None:
        super().__init__()
        self._nodes: dict[str, tuple[int, int]] = {}
        self._pods: dict[str, tuple[str, int]] = {}

    def changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None, now_ns: int
    ) -> None:
        obj = new if new is not None else old
        if isinstance(obj, Node):
            if new is None:
                self._nodes.pop(obj.name, None)
            else:
                room = obj.status.allocatable
                self._nodes[obj.name] = (milli_cpu(room.get("cpu")), int(room.get("pods") or 0))
        elif isinstance(obj, Pod):
            node = obj.spec.node_name
            if new is None or obj.is_terminal or not node:
                self._pods.pop(obj.key, None)
            elif self._pods.get(obj.key) != (node, asked(obj)):
                self._pods[obj.key] = (node, asked(obj))
                self._check(node, now_ns)

    def _check(self, node: str, now_ns: int) -> None:
        room = self._nodes.get(node)
        used = [cpu for name, cpu in self._pods.values() if name == node]
        if room is not None and (sum(used) > room[0] or len(used) > room[1]):
            self.breaks(f"{node} has {room} and {len(used)} pods with {sum(used)}m", now_ns)


def asked(pod: Pod) -> int:
    """Return what a pod asks for, in milli-CPU."""
    return sum(milli_cpu(each.resources.requests.get("cpu")) for each in pod.spec.containers)


def milli_cpu(text: object) -> int:
    """Return an amount of CPU."""
    if text is None:
        return 0
    written = str(text)
    if written.endswith("m"):
        return int(written[:-1])
    return quantity_value(written) * MILLI
