"""The interned parts of a pod that placing it needs.

Pods come from templates: pods that share their spec and labels share their `PodKeys`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import msgspec
import numpy as np

from podwright.apimachinery.objects import (
    ObjectMeta,
    Pod,
    PodStatus,
    assigned_requests,
    has_actual_resources,
    has_same_actual_resources,
    non_zero_requests,
)
from podwright.scheduler.columns.affinity.selectors import SelectorCounters
from podwright.scheduler.columns.nodes import PODS, NodeColumns
from podwright.scheduler.columns.placement import PodKeys
from podwright.scheduler.columns.ports import host_ports
from podwright.scheduler.columns.volumes.volume_use import uses_volumes

_MOST_REMEMBERED = 8_192
_DROPPED_TOGETHER = 128
"""So many of the oldest are dropped at once: one at a time would search past all dropped ones."""

_MOST_RELABELED = 4_096
_NO_STATUS = PodStatus()


class PodKeysCache:
    """`PodKeys` of pods, cached by the identity of spec and labels."""

    def __init__(self, nodes: NodeColumns, selectors: SelectorCounters) -> None:
        self._nodes = nodes
        self._selectors = selectors
        # Identity is enough to be right (the entry keeps its spec alive, so an id cannot be
        # given again) and much cheaper than comparing whole specs.
        self._known: dict[int, tuple[Pod, PodKeys]] = {}
        self._last: dict[tuple[object, ...], tuple[Pod, PodKeys]] = {}
        # By the id() of other keys, which the entry keeps alive, and the label class.
        self._relabeled: dict[tuple[int, int], tuple[PodKeys, PodKeys]] = {}
        # The same by the id() of labels that pods share, and their namespace.
        self._relabeled_alike: dict[
            tuple[int, int, str], tuple[PodKeys, Mapping[str, str], PodKeys]
        ] = {}

    def of(self, pod: Pod) -> PodKeys:
        """Return the keys of `pod`."""
        known = self._known.get(id(pod.spec))
        if known is not None:
            like, keys = known
            metadata = pod.metadata
            if like.metadata.namespace == metadata.namespace and has_same_actual_resources(
                like, pod
            ):
                if like.metadata.labels == metadata.labels:
                    return keys
                # Pods of a Job or StatefulSet differ only in a label: nothing is kept for others.
                class_id = self._selectors.class_of(metadata.namespace, metadata.labels)
                return msgspec.structs.replace(keys, class_id=class_id)
        _drop_oldest(self._known)
        keys = self._of_like(pod)
        self._known[id(pod.spec)] = _compared(pod), keys
        return keys

    def with_labels_of(self, pod: Pod, keys: PodKeys) -> PodKeys:
        """Return the keys of a bound pod that had `keys` with other labels."""
        metadata = pod.metadata
        labels = metadata.labels
        place = id(keys), id(labels), metadata.namespace
        shared = self._relabeled_alike.get(place)
        if shared is not None:
            return shared[2]
        relabeled = self._with_class(keys, self._selectors.class_of(metadata.namespace, labels))
        if len(self._relabeled_alike) >= _MOST_RELABELED:
            self._relabeled_alike.clear()
        self._relabeled_alike[place] = keys, labels, relabeled
        return relabeled

    def _with_class(self, keys: PodKeys, class_id: int) -> PodKeys:
        # Bound pods of one template get the labels of few zones.
        known = self._relabeled.get((id(keys), class_id))
        if known is not None:
            return known[1]
        if len(self._relabeled) >= _MOST_RELABELED:
            self._relabeled.clear()
        relabeled = msgspec.structs.replace(keys, class_id=class_id)
        self._relabeled[id(keys), class_id] = keys, relabeled
        return relabeled

    def forget(self) -> None:
        """Drop everything: selectors were renumbered."""
        self._known.clear()
        self._last.clear()
        self._relabeled.clear()
        self._relabeled_alike.clear()

    def _of_like(self, pod: Pod) -> PodKeys:
        """Return the keys of the last pod with the same labels if its spec has the same.

        Pods of one template that were read one by one, as from a checkpoint, share nothing. They
        differ in their node and in the names of volumes, such as that of the token.
        """
        # A pod becomes running beside others that are only bound: both are remembered.
        metadata = pod.metadata
        like_key = (has_actual_resources(pod), metadata.namespace, *metadata.labels.items())
        last = self._last.get(like_key)
        # Most pods with equal labels and another spec have other containers.
        if last is not None and last[0].spec.containers == pod.spec.containers:
            like, keys = last
            spec = msgspec.structs.replace(
                like.spec, node_name=pod.spec.node_name, volumes=pod.spec.volumes
            )
            if (
                spec == pod.spec
                and uses_volumes(spec) == keys.has_volumes
                and has_same_actual_resources(like, pod)
            ):
                return keys
        keys = self._make(pod)
        _drop_oldest(self._last)
        self._last[like_key] = _compared(pod), keys
        return keys

    def _make(self, pod: Pod) -> PodKeys:
        spec = pod.spec
        assigned, index = assigned_requests(pod), self._nodes.resource_index
        self._nodes.add_resources(assigned)
        amounts = {index(name): n for name, n in assigned.items()}
        amounts[PODS] = 1
        requests = np.zeros(max(amounts) + 1, dtype=np.int64)
        for column, amount in amounts.items():
            requests[column] = amount
        non_zero = non_zero_requests(pod)
        # With the defaults, an amount that counts as none for filters may be one beyond 64 bits.
        self._nodes.note_amounts((*amounts.values(), *non_zero.values()))
        return PodKeys(
            requests=requests,
            amounts=tuple(amounts.items()),
            non_zero=(non_zero["cpu"], non_zero["memory"]),
            ports=host_ports(pod),
            has_volumes=uses_volumes(spec),
            class_id=self._selectors.class_of(pod.metadata.namespace, pod.metadata.labels),
            term_ids=self._selectors.terms_of(pod),
        )


def _compared(pod: Pod) -> Pod:
    """Return what is compared of a pod that may be gone; its document and status are most of it."""
    metadata = pod.metadata
    return Pod(
        raw={},
        metadata=ObjectMeta(namespace=metadata.namespace, labels=metadata.labels),
        spec=pod.spec,
        status=pod.status if has_actual_resources(pod) else _NO_STATUS,
    )


def _drop_oldest(remembered: dict[Any, tuple[Pod, PodKeys]]) -> None:
    """Drop the oldest entries, if there are too many."""
    if len(remembered) >= _MOST_REMEMBERED:
        for key in list(islice(remembered, _DROPPED_TOGETHER)):
            del remembered[key]
