"""Which container images are on which nodes.

The size of an image is the one reported by the first node that had it, for as long as any node
has it. An update of the only node that has an image replaces the size. Kubelets report the same
image under several names; each name counts separately.

Upstream: pkg/scheduler/backend/cache/cache.go, `addNodeImageStates`, `removeNodeImageStates`
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.apimachinery.objects import ContainerImage, Pod

_MIB = 1024 * 1024
# Upstream: `minThreshold` and `maxContainerThreshold`.
_LEAST_BYTES = 23 * _MIB
_MOST_BYTES_PER_CONTAINER = 1000 * _MIB


class ImageState:
    """One image name: its size, and the slots of the nodes that have it."""

    __slots__ = ("_slots", "nodes", "size_bytes")

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        # Per slot its place in `_slots`, which is not made again for each node that pulls it.
        self.nodes: dict[int, int] = {}
        self._slots = array("i")

    def slots(self) -> I32Array:
        """Return the slots of the nodes that have the image, each once: (k,) int32."""
        return np.array(self._slots, dtype=np.int32)

    def put(self, slot: int) -> None:
        """Note that the node in `slot` has the image."""
        if slot not in self.nodes:
            self.nodes[slot] = len(self._slots)
            self._slots.append(slot)

    def remove(self, slot: int) -> None:
        """Note that the node in `slot` no longer has the image."""
        place, last = self.nodes.pop(slot), self._slots.pop()
        if last != slot:
            self._slots[place] = last
            self.nodes[last] = place


class ImageIndex:
    """The images of all nodes.

    Attributes
    ----------
    version : int
        Grows when an image comes to or leaves a node, and, as long as any image is known,
        when the number of nodes changes.
    """

    def __init__(self) -> None:
        self.version = 0
        self._states: dict[str, ImageState] = {}
        self._images_of: dict[int, tuple[ContainerImage, ...]] = {}
        self._sizes_before: dict[str, int] = {}

    def __len__(self) -> int:
        """How many image names are known."""
        return len(self._states)

    def find(self, name: str) -> ImageState | None:
        """Return the state of an image, or None if it is on no node."""
        return self._states.get(name)

    def put(self, slot: int, images: tuple[ContainerImage, ...]) -> None:
        """Set the images of the node in `slot`, which is new or has changed."""
        old = self._images_of.get(slot)
        if old == images and not self._is_resized(images):
            return
        if old is not None:
            self._forget(slot, old)
        self._images_of[slot] = images
        for image in images:
            for name in image.names:
                state = self._states.get(name)
                if state is None:
                    # After a renumbering the size remains the one that was seen first.
                    size_bytes = self._sizes_before.pop(name, image.size_bytes)
                    state = self._states[name] = ImageState(size_bytes)
                state.put(slot)
        if old or self._states:
            self.version += 1

    def _is_resized(self, images: tuple[ContainerImage, ...]) -> bool:
        """Return whether an unchanged node is the only one left of an image of another size.

        Notes
        -----
        Upstream: pkg/scheduler/backend/cache/cache.go, `UpdateNode`, which removes the states of
        the node's images before it adds them again, whether or not they have changed.
        """
        states = self._states
        return any(
            states[name].size_bytes != image.size_bytes and len(states[name].nodes) == 1
            for image in images
            for name in image.names
        )

    def remove(self, slot: int) -> None:
        """Forget the node in `slot`."""
        if self._states:
            self.version += 1
        self._forget(slot, self._images_of.pop(slot, ()))

    def renumber(self) -> None:
        """Forget everything but the sizes: nodes get new slots and are put again."""
        self._sizes_before = {name: state.size_bytes for name, state in self._states.items()}
        self._states.clear()
        self._images_of.clear()

    def _forget(self, slot: int, images: Iterable[ContainerImage]) -> None:
        # A node may list a name twice; it is removed once.
        for name in {name: None for image in images for name in image.names}:
            state = self._states[name]
            state.remove(slot)
            if not state.nodes:
                del self._states[name]


def image_names(pod: Pod) -> tuple[str, ...]:
    """Return the pod's images, each as often as it is used, as nodes name them."""
    spec = pod.spec
    images = [container.image for container in spec.init_containers]
    images += [container.image for container in spec.containers]
    images += [volume.image.reference for volume in spec.volumes if volume.image is not None]
    return tuple([_with_tag(image) for image in images])


def _with_tag(image: str) -> str:
    """Add the tag that an image without one has.

    Notes
    -----
    Upstream: normalizedImageName
    """
    # A colon before the last slash belongs to the port of the registry.
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


def locality_scores(sums: I64Array, pod: Pod, most_score: int) -> I64Array:
    """Map the bytes of the pod's images on a node, scaled by how common they are, to scores.

    Parameters
    ----------
    sums : (k,) int64
        Bytes.
    most_score : int
        For a thousand MiB per container; 23 MiB are worth nothing.

    Returns
    -------
    (k,) int64

    Notes
    -----
    Upstream: pkg/scheduler/framework/plugins/imagelocality/image_locality.go, calculatePriority
    """
    # Upstream's count leaves out image volumes, although their images add to the sums.
    n_containers = len(pod.spec.init_containers) + len(pod.spec.containers)
    most_bytes = _MOST_BYTES_PER_CONTAINER * n_containers
    # `np.clip` checks its limits anew for each call, which takes four times as long.
    clipped = np.minimum(np.maximum(sums, _LEAST_BYTES), most_bytes) - _LEAST_BYTES
    scores: I64Array = most_score * clipped // (most_bytes - _LEAST_BYTES)
    return scores
