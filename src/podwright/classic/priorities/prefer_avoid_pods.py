"""NodePreferAvoidPodsPriority: nodes may ask that a controller's pods go elsewhere.

0 on nodes whose annotation names the pod's controller, 10 on all others; with a weight of
10000 this decides. Only replication controllers and replica sets are looked at, and an
annotation that cannot be read asks for nothing.

Upstream: pkg/scheduler/algorithm/priorities/node_prefer_avoid_pods.go
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

from podwright.classic.node_info import NodeInfo
from podwright.classic.priorities.metadata import MAX_PRIORITY, PriorityMetadata
from podwright.classic.priorities.priority import Map, Priority

_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/preferAvoidPods"


class _Controller(msgspec.Struct, frozen=True):
    kind: str = ""
    uid: str = ""


class _Signature(msgspec.Struct, frozen=True, rename="camel"):
    pod_controller: _Controller | None = None


class _Entry(msgspec.Struct, frozen=True, rename="camel"):
    pod_signature: _Signature | None = None


class _AvoidPods(msgspec.Struct, frozen=True, rename="camel"):
    prefer_avoid_pods: tuple[_Entry, ...] | None = None


def prepare(meta: PriorityMetadata) -> Map:
    """Look whether the node asks to be spared."""
    controller = meta.controller
    if controller is None or controller.kind not in ("ReplicationController", "ReplicaSet"):
        return lambda node: MAX_PRIORITY  # noqa: ARG005  # the same for every node
    mine = _Controller(controller.kind, controller.uid)

    def map_node(node: NodeInfo) -> int:
        annotations = {} if node.node is None else node.node.metadata.annotations
        text = annotations.get(_ANNOTATION)
        return MAX_PRIORITY if text is None or mine not in _avoided(text) else 0

    return map_node


@lru_cache(maxsize=4_096)
def _avoided(text: str) -> frozenset[_Controller]:
    try:
        wish = msgspec.json.decode(text, type=_AvoidPods)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return frozenset()
    return frozenset(
        entry.pod_signature.pod_controller
        for entry in wish.prefer_avoid_pods or ()
        if entry.pod_signature is not None and entry.pod_signature.pod_controller is not None
    )


PREFER_AVOID_PODS: Final = Priority("NodePreferAvoidPodsPriority", prepare)
