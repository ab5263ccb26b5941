"""ImageLocality: prefers nodes that already have the pod's images.

**What it does.** Adds up the sizes of the pod's images that a node has, each scaled by the
share of all nodes that have it, and maps the sum to 0 to 100 between 23 MiB and 1000 MiB per
container.

**Why it matters.** Pulling a large image takes minutes. The scaling prevents that pods
concentrate on the single node that has an image.

**Configuration.** None.

**Example.** A 500 MiB image that is on half of the nodes counts 250 MiB on each of these: a
score of 23 for a pod with one container.

Upstream: pkg/scheduler/framework/plugins/imagelocality/image_locality.go
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import image_names, locality_scores
from podwright.scheduler.framework import (
    IMAGE_NAMES,
    MAX_NODE_SCORE,
    Cycle,
    NodeColumns,
    Plugin,
    Reads,
    Scores,
)

_MOST_BYTES = (1 << 63) - 1


class ImageLocality(Plugin):
    """Score nodes by the images that they have."""

    name = "ImageLocality"
    key_reads_all_labels = False
    score_reads = Reads.NODE | Reads.IMAGES
    scores_in_range = True

    def sign_pod(self, pod: Pod) -> Mapping[str, object]:
        """Return the images; their order does not matter."""
        return {IMAGE_NAMES: sorted(image_names(pod))}

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the images, and how many containers share the scale."""
        spec = pod.spec
        return (len(spec.init_containers) + len(spec.containers), image_names(pod))

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        """Add up what each node has."""
        find = cycle.cluster.images.find
        known = [state for image in image_names(cycle.pod) if (state := find(image)) is not None]
        if not known:
            out.clear()
            return
        # A rare image counts less, so that pods do not gather on the few nodes that have it.
        amounts = [_scaled(each.size_bytes, len(each.nodes) / nodes.n_alive) for each in known]
        slots, sums = known[0].slots(), np.array(amounts[:1], dtype=np.int64)
        if len(known) > 1:
            slots = np.unique(np.concatenate([each.slots() for each in known]))
            sums = np.zeros(len(slots), dtype=np.int64)
            for state, amount in zip(known, amounts, strict=True):
                # One slot may have the image under several of the pod's names, but a name only
                # once.
                sums[np.searchsorted(slots, state.slots())] += amount
        scores = locality_scores(sums, cycle.pod, MAX_NODE_SCORE)
        if len(out.rows) == nodes.n_alive:
            out.clear()
            out.values[slots] = scores
        else:
            values = np.zeros(nodes.n_slots, dtype=np.int64)
            values[slots] = scores
            out.values[out.rows] = values[out.rows]


def _scaled(size_bytes: int, share: float) -> int:
    """Return a product that is cut off as in Go.

    Notes
    -----
    The greatest sizes are 2**63 as floats, which Go on amd64 makes the least integer: they count
    nothing. Upstream: scaledImageScore
    """
    scaled = int(size_bytes * share)
    return scaled if scaled <= _MOST_BYTES else -_MOST_BYTES - 1
