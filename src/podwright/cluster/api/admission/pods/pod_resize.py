"""Whether a node can have the resources to which a pod on it is resized.

Upstream: plugin/pkg/admission/podresize/admission.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.amounts import ZERO, Amounts, amounts_of
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import PODS, Plugin, Resources, rejected, spec_of
from podwright.cluster.api.admission.pods.pod_amounts import pod_amounts


class PodResizeValidator(Plugin):
    """Rejects a resize that the node of the pod could never grant."""

    name = "PodResizeValidator"
    decides_alike = True
    resources: Resources = PODS

    def validate(self, attributes: Attributes) -> None:
        """Reject a resize beyond what the node can allocate."""
        if attributes.operation != "UPDATE" or not attributes.is_for("", "pods", "resize"):
            return
        spec = spec_of(attributes)
        name = spec.get("nodeName")
        if not name or _generation(attributes.object) == _generation(attributes.old):
            return
        node = self._store.get(("", "Node"), name)
        if node is None:
            raise rejected(attributes, f'node "{name}" not found')
        system = node.metadata.labels.get("kubernetes.io/os", "linux")
        if system != "linux":
            raise rejected(
                attributes,
                f'pod resize is only supported on linux nodes, node "{name}" is "{system}"',
                {"reason": "UnsupportedPlatform"},
            )
        allocatable = amounts_of((node.raw.get("status") or {}).get("allocatable"))
        if missing := _missing(pod_amounts({"spec": spec}, "requests"), allocatable):
            text = f"node didn't have enough allocatable resources: {missing}"
            raise rejected(attributes, text, {"reason": "NodeCapacity"})


def _generation(pod: Document | None) -> object:
    return ((pod or {}).get("metadata") or {}).get("generation")


def _missing(requests: Amounts, allocatable: Amounts) -> str:
    texts = []
    for name in ("cpu", "memory"):
        requested, available = requests.get(name, ZERO), allocatable.get(name, ZERO)
        if requested.nano > available.nano:
            first, second = (
                each.milli_value() if name == "cpu" else each.value()
                for each in (requested, available)
            )
            texts.append(f"{name}, requested: {first}, allocatable: {second}")
    return "; ".join(texts)
