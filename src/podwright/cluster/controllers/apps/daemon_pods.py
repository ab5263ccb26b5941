"""The pods of daemon sets: their eligible nodes, and the affinity that ties a pod to its node.

Upstream: pkg/controller/daemon/daemon_controller.go, NodeShouldRunDaemonPod;
pkg/controller/daemon/util/daemonset_util.go; pkg/controller/daemon/daemon_controller.go, update.go.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from enum import Enum
from heapq import heappop, heappush
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    Affinity,
    Document,
    KubernetesObject,
    NamespacedName,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeTerms,
    Pod,
    node_selector,
    untolerated_taint,
)
from podwright.cluster.controllers.adoption import pod_from_template
from podwright.cluster.controllers.apps.controller_revisions import REVISION_LABEL
from podwright.cluster.controllers.interface import Keys

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
    owner: KubernetesObject, template: Document, revision: str, generation: str
) -> Pod:
    """Return the pod of a daemon set without a target node; see `pod_from_template`.

    Parameters
    ----------
    generation : str
        That of the template; "" if the API server has not counted it.

    Notes
    -----
    Upstream: pkg/controller/daemon/util/daemonset_util.go, CreatePodTemplate
    """
    metadata: Document = template.get("metadata") or {}
    labels = {
        **(metadata.get("labels") or {}),
        **({GENERATION_LABEL: generation} if generation else {}),
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


# The nodes of one daemon set, updated one node at a time.
#
# For each node it holds the contribution to the status and the state in a rolling update. A node
# is evaluated again when the node, one of its pods or the template changed, or when a pod becomes
# available. The cost of a change does not depend on the number of nodes.


class UpdateState(Enum):
    """The state of a node in a rolling update."""

    NOT_INVOLVED = "no pod runs there and none should"
    UPDATED = "a pod of the newest revision is available"
    UNAVAILABLE = "no pod, or one of the newest revision that is not available"
    SEVERAL = "an old pod and a new one that is not available, or several of one revision"
    SURGED = "an old pod and an available new one"
    OLD_UNAVAILABLE = "an old pod that is not available"
    OLD_AVAILABLE = "an old pod that is available"


class NodeContribution(msgspec.Struct, frozen=True, kw_only=True):
    """The contribution of a node to the status of a daemon set; each count is 0 or 1.

    Attributes
    ----------
    rolled_available : int
        Whether its old pod, or its new one where there is no old one, is available, also where no
        pod should run.
    """

    desired: int = 0
    current: int = 0
    misscheduled: int = 0
    ready: int = 0
    available: int = 0
    updated: int = 0
    rolled_available: int = 0
    update_state: UpdateState = UpdateState.NOT_INVOLVED


_NOTHING: Final = NodeContribution()


class DaemonNodes:
    """The nodes and pods of one daemon set.

    Attributes
    ----------
    dirty : dict
        The nodes to evaluate again.
    counts : dict
        The sums of all contributions, by field name.
    update_states : dict
        The number of nodes in each state.
    old_available, old_unavailable, surged : list of str
        The nodes with old pods, sorted by name.
    """

    def __init__(self) -> None:
        self.dirty: dict[str, None] = {}
        self.counts = dict.fromkeys(NodeContribution.__struct_fields__[:-1], 0)
        self.update_states = dict.fromkeys(UpdateState, 0)
        self.old_available: list[str] = []
        self.old_unavailable: list[str] = []
        self.surged: list[str] = []
        self._contributions: dict[str, NodeContribution] = {}
        self._pods_on: dict[str, dict[NamespacedName, None]] = {}
        self._known: dict[NamespacedName, tuple[str, str]] = {}
        self._revisions: dict[str, int] = {}
        self._times: list[tuple[int, str]] = []
        self._due: dict[str, int] = {}

    # ------------------------------------------------------------------------------- pods

    def put_pod(self, pod: Pod) -> None:
        """Process an added or changed pod."""
        node = target_node(pod)
        revision = pod.metadata.labels.get(REVISION_LABEL, "")
        known = self._known.get(pod.key)
        self.dirty[node] = None
        if known == (node, revision):
            return
        if known is not None:
            self.remove_pod(pod.key)
        self._known[pod.key] = (node, revision)
        self._pods_on.setdefault(node, {})[pod.key] = None
        self._revisions[revision] = self._revisions.get(revision, 0) + 1

    def remove_pod(self, key: NamespacedName) -> bool:
        """Process a removed pod; return whether it was tracked."""
        known = self._known.pop(key, None)
        if known is None:
            return False
        node, revision = known
        self.dirty[node] = None
        pods = self._pods_on[node]
        del pods[key]
        if not pods:
            del self._pods_on[node]
        self._revisions[revision] -= 1
        if not self._revisions[revision]:
            del self._revisions[revision]
        return True

    def pods_on(self, node: str) -> Keys:
        """Return the pods that run on a node or are tied to it."""
        return self._pods_on.get(node, ())

    def node_of(self, key: NamespacedName) -> str:
        """Return the node that a pod runs on or is tied to."""
        return self._known[key][0]

    @property
    def live_revisions(self) -> Iterable[str]:
        """The revisions that existing pods were created from."""
        return self._revisions

    # ------------------------------------------------------------------------------ shares

    def evaluate_all(self, nodes: Iterable[str]) -> None:
        """Mark all nodes for evaluation, including removed ones."""
        self.dirty.update(dict.fromkeys(nodes))
        self.dirty.update(dict.fromkeys(self._contributions))
        self.dirty.update(dict.fromkeys(self._pods_on))

    def set_contribution(self, node: str, contribution: NodeContribution) -> None:
        """Replace the contribution of a node."""
        was = self._contributions.get(node, _NOTHING)
        if was == contribution:
            return
        if contribution == _NOTHING:
            del self._contributions[node]
        else:
            self._contributions[node] = contribution
        for name in self.counts:
            self.counts[name] += getattr(contribution, name) - getattr(was, name)
        self.update_states[was.update_state] -= 1
        self.update_states[contribution.update_state] += 1
        for update_state, names in (
            (UpdateState.OLD_AVAILABLE, self.old_available),
            (UpdateState.OLD_UNAVAILABLE, self.old_unavailable),
            (UpdateState.SURGED, self.surged),
        ):
            if was.update_state is update_state and contribution.update_state is not update_state:
                del names[bisect_left(names, node)]
            elif contribution.update_state is update_state and was.update_state is not update_state:
                insort(names, node)

    # ------------------------------------------------------------------------------- times

    def evaluate_at(self, node: str, due_ns: int) -> None:
        """Evaluate a node again at a time."""
        if self._due.get(node) != due_ns:
            self._due[node] = due_ns
            heappush(self._times, (due_ns, node))

    def mark_due(self, now_ns: int) -> None:
        """Mark the nodes whose time has come."""
        while self._times and self._times[0][0] <= now_ns:
            due_ns, node = heappop(self._times)
            if self._due.get(node) == due_ns:
                del self._due[node]
                self.dirty[node] = None

    def next_ns(self) -> int | None:
        """Return when the next node is due for evaluation."""
        while self._times and self._due.get(self._times[0][1]) != self._times[0][0]:
            heappop(self._times)
        return self._times[0][0] if self._times else None
