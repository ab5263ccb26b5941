"""NodeDeclaredFeatures: the node must declare the features that the pod needs.

Upstream: pkg/scheduler/framework/plugins/nodedeclaredfeatures/nodedeclaredfeatures.go and
component-helpers/nodedeclaredfeatures/features (InferForScheduling of each feature).
"""

from __future__ import annotations

from typing import Any

from tests.oracle.cluster import Node
from tests.oracle.plugin import SKIP_FILTER, Document, Plugin, PreFilter, Rejection, unresolvable

_RESTART_ALL = "RestartAllContainersOnContainerExits"


def required_features(pod: Document) -> set[str]:
    """Return the features that the pod needs."""
    spec = pod["spec"]
    features = set()
    for container in (spec.get("initContainers") or []) + (spec.get("containers") or []):
        for rule in container.get("restartPolicyRules") or []:
            if rule.get("action") == "RestartAllContainers":
                features.add(_RESTART_ALL)
    return features


class NodeDeclaredFeatures(Plugin):
    """Reject nodes that do not declare the needed features."""

    name = "NodeDeclaredFeatures"

    def pre_filter(self, pod: Document) -> PreFilter:
        """Skip pods that need no feature."""
        needed = required_features(pod)
        return PreFilter(state=needed) if needed else SKIP_FILTER

    def filter(self, state: Any, pod: Document, node: Node) -> Rejection | None:
        """Filter one node."""
        declared = set((node.document.get("status") or {}).get("declaredFeatures") or [])
        if required_features(pod) <= declared:
            return None
        return unresolvable("node(s) didn't match Pod's required features")
