"""NodePreferAvoidPodsPriority: a node annotation avoids the pods of a controller.

The score is 0 on nodes whose annotation names the pod's controller and 10 on all others; the weight
of 10000 outweighs all other priorities. Only replication controllers and replica sets are
considered, and an annotation that cannot be parsed has no effect.

Upstream: pkg/scheduler/algorithm/priorities/node_prefer_avoid_pods.go
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Final

import msgspec

from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.priorities.priority import (
    MAX_PRIORITY,
    Map,
    Priority,
    PriorityMetadata,
)

_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/preferAvoidPods"


class _Part(msgspec.Struct, frozen=True, rename="camel"):
    """A part of the annotation; a field of the wrong type makes the annotation invalid."""


class _Controller(_Part, frozen=True, kw_only=True):
    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class _Signature(_Part, frozen=True, kw_only=True):
    pod_controller: _Controller | None = None


class _Entry(_Part, frozen=True, kw_only=True):
    pod_signature: _Signature | None = None
    eviction_time: datetime | None = None
    reason: str | None = None
    message: str | None = None


class _AvoidPods(_Part, frozen=True, kw_only=True):
    prefer_avoid_pods: tuple[_Entry, ...] | None = None


def prepare(meta: PriorityMetadata) -> Map:
    """Whether the node's annotation names the pod's controller."""
    controller = meta.controller
    if controller is None or controller.kind not in ("ReplicationController", "ReplicaSet"):
        return lambda _node: MAX_PRIORITY  # the same for every node
    mine = (controller.kind, controller.uid)

    def map_node(node: NodeInfo) -> int:
        annotations = {} if node.node is None else node.node.metadata.annotations
        text = annotations.get(_ANNOTATION)
        return MAX_PRIORITY if text is None or mine not in _avoided(text) else 0

    return map_node


@lru_cache(maxsize=4_096)
def _avoided(text: str) -> frozenset[tuple[str | None, str]]:
    try:
        wish = msgspec.json.decode(text, type=_AvoidPods)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return frozenset()
    avoided = set()
    for entry in wish.prefer_avoid_pods or ():
        signature = entry.pod_signature
        if signature is not None and signature.pod_controller is not None:
            avoided.add((signature.pod_controller.kind, signature.pod_controller.uid or ""))
    return frozenset(avoided)


PREFER_AVOID_PODS: Final = Priority("NodePreferAvoidPodsPriority", prepare)
