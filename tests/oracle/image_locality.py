"""ImageLocality: prefer nodes that have the images of the pod.

Upstream: pkg/scheduler/framework/plugins/imagelocality/image_locality.go and

pkg/scheduler/backend/cache/cache.go (addNodeImageStates: the first reported size is kept).
"""

from __future__ import annotations

from typing import Any

from tests.oracle.cluster import Node
from tests.oracle.plugin import MAX_NODE_SCORE, Document, Plugin

_MIB = 1024 * 1024
_MIN = 23 * _MIB
_MAX_PER_CONTAINER = 1000 * _MIB


def normalized(image: str) -> str:
    """Append the default tag."""
    return image if image.rfind(":") > image.rfind("/") else image + ":latest"


def images_of(node: Node) -> dict[str, int]:
    """Return the sizes of the node's images under each of their names."""
    return {
        name: image.get("sizeBytes", 0)
        for image in (node.document.get("status") or {}).get("images") or []
        for name in image.get("names") or []
    }


class ImageLocality(Plugin):
    """Score the sizes of the present images, scaled by the share of nodes that have them."""

    name = "ImageLocality"

    def _image_score(self, image: str, node: Node) -> int:
        name = normalized(image)
        if name not in images_of(node):
            return 0
        nodes = list(self.cluster.nodes.values())
        owners = [other for other in nodes if name in images_of(other)]
        # The size is the one of the first node that reported the image.
        size = images_of(owners[0])[name]
        return int(float(size) * (len(owners) / len(nodes)))

    def score(self, state: Any, pod: Document, node: Node) -> int:
        """Score one node."""
        spec = pod["spec"]
        containers = (spec.get("initContainers") or []) + (spec.get("containers") or [])
        total = sum(self._image_score(container.get("image", ""), node) for container in containers)
        for volume in spec.get("volumes") or []:
            if volume.get("image"):
                total += self._image_score(volume["image"].get("reference", ""), node)
        greatest = _MAX_PER_CONTAINER * len(containers)
        total = min(max(total, _MIN), greatest)
        return MAX_NODE_SCORE * (total - _MIN) // (greatest - _MIN)
