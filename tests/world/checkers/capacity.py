"""The pods on a node never exceed its allocatable resources."""

from __future__ import annotations

from tests.world.checkers import Checker

from podwright.apimachinery.objects import KubernetesObject, Node, Pod, quantity_value

MILLI = 1000


class Capacity(Checker):
    """Sums the requests of the pods on each node, without terminated pods."""

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
                allocatable = obj.status.allocatable
                self._nodes[obj.name] = (
                    milli_cpu(allocatable.get("cpu")),
                    int(allocatable.get("pods") or 0),
                )
        elif isinstance(obj, Pod):
            node = obj.spec.node_name
            if new is None or obj.is_terminal or not node:
                self._pods.pop(obj.key, None)
            elif self._pods.get(obj.key) != (node, requested_milli_cpu(obj)):
                self._pods[obj.key] = (node, requested_milli_cpu(obj))
                self._check(node, now_ns)

    def _check(self, node: str, now_ns: int) -> None:
        allocatable = self._nodes.get(node)
        used = [cpu for name, cpu in self._pods.values() if name == node]
        if allocatable is not None and (sum(used) > allocatable[0] or len(used) > allocatable[1]):
            self.report(f"{node} has {allocatable} and {len(used)} pods with {sum(used)}m", now_ns)


def requested_milli_cpu(pod: Pod) -> int:
    """Return the requested milli-CPU of a pod."""
    return sum(milli_cpu(each.resources.requests.get("cpu")) for each in pod.spec.containers)


def milli_cpu(text: object) -> int:
    """Return a CPU quantity in milli-CPU."""
    if text is None:
        return 0
    written = str(text)
    if written.endswith("m"):
        return int(written[:-1])
    return quantity_value(written) * MILLI
