"""ImageLocalityPriority: prefer nodes that have the pod's images already.

Each image counts with its size times the fraction of nodes that have it, so a node with a rare
image does not receive all pods. A sum of 23 MiB or less scores 0, and one of 1000 MiB or more
scores 10.

Upstream: pkg/scheduler/algorithm/priorities/image_locality.go
"""

from __future__ import annotations

from typing import Final

from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.priorities.priority import (
    MAX_PRIORITY,
    Map,
    Priority,
    PriorityMetadata,
)

_MIB: Final = 1024 * 1024
_LEAST_BYTES: Final = 23 * _MIB
_MOST_BYTES: Final = 1000 * _MIB


def prepare(meta: PriorityMetadata) -> Map:
    """Return a map that adds the scaled sizes of the images on the node."""
    found = []
    for container in meta.pod.spec.containers:
        state = meta.cluster.images.get(with_tag(container.image))
        if state is not None:
            share = len(state.node_names) / meta.nodes_count
            found.append((state.node_names, int(float(state.size_bytes) * share)))
    if not found:
        return lambda _node: 0  # the same for every node

    def map_node(node: NodeInfo) -> int:
        return image_score(sum(size for names, size in found if node.name in names))

    return map_node


def image_score(scaled_bytes: int) -> int:
    """Return the score for a sum of scaled sizes."""
    bounded = min(max(scaled_bytes, _LEAST_BYTES), _MOST_BYTES)
    return MAX_PRIORITY * (bounded - _LEAST_BYTES) // (_MOST_BYTES - _LEAST_BYTES)


def with_tag(image: str) -> str:
    """Return the image's name with a tag: `:latest` if it has none.

    Examples
    --------
    >>> with_tag("registry:5000/app"), with_tag("app:1")
    ('registry:5000/app:latest', 'app:1')
    """
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


IMAGE_LOCALITY: Final = Priority("ImageLocalityPriority", prepare)
