"""Image counts as the real scheduler has them: on how many nodes an image is present.

ImageLocality scales the size of an image by the share of the nodes that have it. The scheduler
works on a snapshot and copies a node into it only when the node or its pods have changed; the
counts of the node's images are copied with it. So a node is scored with the counts of its last
copy, and another node with the same images may be scored with newer counts. Podwright scores all
nodes with the newest counts.

Upstream: pkg/scheduler/backend/cache/cache.go, `UpdateSnapshot`;
pkg/scheduler/framework/types.go, `NodeInfo.Snapshot`
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import Cluster, image_names, locality_scores
from podwright.scheduler.framework import MAX_NODE_SCORE


class CopiedImageCounts:
    """Per node, the counts of its images at the time of its last copy."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._counts_of: dict[str, dict[str, int]] = {}

    def copy(self, names: Iterable[str]) -> None:
        """Copy changed nodes; deleted nodes are removed."""
        nodes, find = self._cluster.nodes, self._cluster.images.find
        for name in names:
            slot = nodes.slot_of.get(name)
            node = None if slot is None else nodes.objects[slot]
            if node is None:
                self._counts_of.pop(name, None)
                continue
            self._counts_of[name] = {
                image: len(state.nodes)
                for entry in node.status.images
                for image in entry.names
                if (state := find(image)) is not None
            }

    def differences(self, pod: Pod, slots: I32Array) -> I64Array:
        """Return each node's score with its copied counts minus that with the newest counts.

        Returns
        -------
        (len(slots),) int64
            The unweighted differences.
        """
        cluster = self._cluster
        newest: I64Array = np.zeros(len(slots), dtype=np.int64)
        copied = newest.copy()
        for image in image_names(pod):
            state = cluster.images.find(image)
            if state is None:
                continue
            for row, slot in enumerate(slots.tolist()):
                if slot not in state.nodes:
                    continue
                count = self._counts_of.get(cluster.nodes.names[slot], {}).get(image, 0)
                # In floats and in this order: upstream's scaledImageScore truncates the product.
                newest[row] += int(state.size_bytes * (len(state.nodes) / cluster.nodes.n_alive))
                copied[row] += int(state.size_bytes * (count / cluster.nodes.n_alive))
        differences: I64Array = locality_scores(copied, pod, MAX_NODE_SCORE) - locality_scores(
            newest, pod, MAX_NODE_SCORE
        )
        return differences
