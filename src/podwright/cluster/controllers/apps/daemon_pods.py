"""The pods of daemon sets: their eligible nodes, and the affinity that ties a pod to its node.

Upstream: pkg/controller/daemon/daemon_controller.go, NodeShouldRunDaemonPod;
pkg/controller/daemon/util/daemonset_util.go
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    Affinity,
    Document,
    KubernetesObject,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeTerms,
    Pod,
    node_selector,
    untolerated_taint,
)
from podwright.cluster.controllers.apps.controller_revisions import REVISION_LABEL
from podwright.cluster.controllers.pod_template import pod_from_template

GENERATION_LABEL: Final = "pod-template-generation"

_NODE_NAME: Final = "metadata.name"
_NO_EXECUTE: Final = ("not-ready", "unreachable")
_NO_SCHEDULE: Final = ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")


def daemon_tolerations(spec: Document) -> list[Document]:
    """Return the tolerations of a template, with those that each daemon pod gets.

    Notes
    -----
    Upstream: daemonset_util.go, AddOrUpdateDaemonPodTolerations
    """
    names = [*_NO_EXECUTE, *_NO_SCHEDULE]
    if spec.get("hostNetwork"):
        names.append("network-unavailable")
    found = list(spec.get("tolerations") or ())
    for name in names:
        added = {
            "key": f"node.kubernetes.io/{name}",
            "operator": "Exists",
            "effect": "NoExecute" if name in _NO_EXECUTE else "NoSchedule",
        }
        for index, present in enumerate(found):
            if present.get("key") == added["key"] and present.get("effect") == added["effect"]:
                found[index] = added
                break
        else:
            found.append(added)
    return found


def base_daemon_pod(
    owner: KubernetesObject, template: Document, revision: str, generation: int
) -> Pod:
    """Return the pod of a daemon set without a target node; see `pod_from_template`."""
    metadata: Document = template.get("metadata") or {}
    labels = {
        **(metadata.get("labels") or {}),
        GENERATION_LABEL: str(generation),
        REVISION_LABEL: revision,
    }
    spec: Document = template.get("spec") or {}
    return pod_from_template(
        owner,
        {
            "metadata": {**metadata, "labels": labels},
            "spec": {**spec, "tolerations": daemon_tolerations(spec)},
        },
    )


def daemon_pod(base: Pod, node: str) -> Pod:
    """Return the pod for a node.

    Notes
    -----
    Upstream: daemonset_util.go, ReplaceDaemonSetPodNodeNameNodeAffinity. The node's name replaces
    the node affinity that the template requires, which `Placement` has evaluated already.
    """
    written: Document = base.raw["spec"]
    affinity: Document = written.get("affinity") or {}
    desired: Document = affinity.get("nodeAffinity") or {}
    term = {"matchFields": [{"key": _NODE_NAME, "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    document = {**written, "affinity": {**affinity, "nodeAffinity": {**desired, **required}}}
    typed = base.spec.affinity or Affinity()
    terms = NodeSelector(
        (NodeSelectorTerm(match_fields=(NodeSelectorRequirement(_NODE_NAME, "In", (node,)),)),)
    )
    node_affinity = msgspec.structs.replace(
        base.spec.node_affinity,
        required_during_scheduling_ignored_during_execution=terms,
    )
    spec = msgspec.structs.replace(
        base.spec, affinity=msgspec.structs.replace(typed, node_affinity=node_affinity)
    )
    return msgspec.structs.replace(base, spec=spec, raw={**base.raw, "spec": document})


def target_node(pod: Pod) -> str:
    """Return the node that a daemon pod runs on or is tied to; empty if it has none.

    Notes
    -----
    Upstream: daemonset_util.go, GetTargetNodeName
    """
    if pod.spec.node_name:
        return pod.spec.node_name
    required = pod.spec.node_affinity.required
    for term in required.node_selector_terms if required else ():
        for desired in term.match_fields:
            if desired.key == _NODE_NAME and desired.operator == "In" and len(desired.values) == 1:
                return desired.values[0]
    return ""


class Placement:
    """The nodes on which the pods of a daemon set should run.

    Parameters
    ----------
    base : Pod
        The result of `base_daemon_pod`.
    """

    def __init__(self, base: Pod) -> None:
        spec = base.spec
        self._node_name = spec.node_name
        self._node_selector = spec.node_selector.items()
        self._tolerations = spec.tolerations
        required = spec.node_affinity.required
        self._terms: NodeTerms | None = node_selector(required) if required else None

    def verdict(self, node: Node) -> tuple[bool, bool]:
        """Return whether a pod should run on a node, and whether a running one may continue.

        Notes
        -----
        Upstream: daemon_controller.go, NodeShouldRunDaemonPod
        """
        labels = node.metadata.labels
        fits = (
            self._node_name in ("", node.name)
            and self._node_selector <= labels.items()
            and (self._terms is None or self._terms.matches(node.name, labels))
        )
        if not fits:
            return False, False
        taints = node.spec.taints
        if not taints or untolerated_taint(taints, self._tolerations) is None:
            return True, True
        evicting = [taint for taint in taints if taint.effect == "NoExecute"]
        return False, untolerated_taint(evicting, self._tolerations) is None
