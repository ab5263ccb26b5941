"""NodeDeclaredFeatures: nodes must declare the kubelet features that a pod requires.

**What it does.** Infers the required features from the pod's spec, and rejects nodes that do
not list all of them in ``status.declaredFeatures``. The known features are
``RestartAllContainersOnContainerExits`` (a container or init container has the restart rule
action RestartAllContainers) and ``UserNamespacesHostNetworkSupport`` (hostNetwork together with
``hostUsers: false``).

**Why it matters.** During an upgrade not every node can run every pod.

**Configuration.** None. Without the feature gate NodeDeclaredFeatures, which is on by default,
the plugin is not in the default profile, and has no effect where a profile enables it.

**Example.** Older nodes reject a pod with that restart rule with ``node(s) didn't match Pod's
required features``.

Upstream: pkg/scheduler/framework/plugins/nodedeclaredfeatures/nodedeclaredfeatures.go,
staging/src/k8s.io/component-helpers/nodedeclaredfeatures/features/
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from podwright.apimachinery.objects import Pod
from podwright.scheduler.config import DEFAULT_GATES, Gates
from podwright.scheduler.framework import (
    FEATURES,
    Cycle,
    EventHint,
    NodeColumns,
    Plugin,
    Reads,
    StateKey,
    Status,
    Verdicts,
)
from podwright.scheduler.plugins import hints

_REJECTION = Status.unresolvable("node(s) didn't match Pod's required features")
_RESTART_ALL = "RestartAllContainers"
_NEEDED: StateKey[frozenset[str]] = StateKey("PreFilterNodeDeclaredFeatures")


class NodeDeclaredFeatures(Plugin):
    """Reject nodes that do not declare the features that the pod needs."""

    name = "NodeDeclaredFeatures"
    key_reads_all_labels = False
    pre_filter_reads = Reads.NOTHING
    filter_reads = Reads.NODE
    takes_gates = True

    def __init__(self, *, gates: Gates = DEFAULT_GATES) -> None:
        self._is_enabled = "NodeDeclaredFeatures" in gates

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return the events that could undo a rejection, with their hint functions."""
        if not self._is_enabled:
            return ()
        return hints.node_declared_features.events_to_register(required_features=required_features)

    def sign_pod(self, pod: Pod) -> Mapping[str, object]:
        """Return the features that the pod needs."""
        return {FEATURES: sorted(required_features(pod))}

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the features that the pod needs."""
        return required_features(pod)

    def pre_filter(self, cycle: Cycle) -> Status:
        """Skip pods that need nothing."""
        needed = required_features(cycle.pod) if self._is_enabled else None
        if not needed:
            return Status.SKIPPED
        cycle.write(_NEEDED, needed)
        return Status.OK

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Reject nodes that lack a feature; each distinct set is compared once."""
        if not self._is_enabled:
            return
        needed = cycle.read(_NEEDED)
        code = out.code_of(_REJECTION)
        per_set = [0 if needed <= declared else code for declared in nodes.feature_sets.values]
        codes = np.array(per_set, dtype=np.int64)
        out.codes[out.rows] = codes[nodes.feature_set_ids[out.rows]]


def required_features(pod: Pod) -> frozenset[str]:
    """Return the declared features that a node must have to run `pod`."""
    spec = pod.spec
    needed = set()
    if any(
        rule.action == _RESTART_ALL
        for container in (*spec.containers, *spec.init_containers)
        for rule in container.restart_policy_rules
    ):
        needed.add("RestartAllContainersOnContainerExits")
    if spec.host_network and spec.host_users is False:
        needed.add("UserNamespacesHostNetworkSupport")
    return frozenset(needed)
