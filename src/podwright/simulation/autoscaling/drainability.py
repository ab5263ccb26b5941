"""Which pods of a node can move, and which one keeps the node.

Upstream: cluster-autoscaler/simulator/drain.go, GetPodsToMove; core/scaledown/pdb/basic.go;
simulator/drainability/rules/rules.go; utils/drain/drain.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from podwright.apimachinery.objects import (
    SECOND_NS,
    Document,
    Pod,
    PodDisruptionBudget,
    api_group,
    encode,
    label_selector,
    timestamp_ns,
)
from podwright.cluster.api import section
from podwright.cluster.controllers import Lister
from podwright.simulation.autoscaling.node_groups import AutoscalerOptions

SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_LOCAL_VOLUMES: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"

_MIRROR: Final = "kubernetes.io/config.mirror"
BUDGET: Final = ("policy", "PodDisruptionBudget")
_REPLICATED: Final = ("ReplicationController", "Job", "ReplicaSet", "StatefulSet")
_WITH_REPLICAS: Final = ("ReplicationController", "ReplicaSet")
_SYSTEM_PODS_NS: Final = 60 * 60 * SECOND_NS
_TERMINATING_NS: Final = 30 * SECOND_NS
_DEFAULT_GRACE: Final = 30


class Budgets:
    """What disruption budgets still allow.

    Parameters
    ----------
    budgets : iterable of PodDisruptionBudget
    """

    def __init__(self, budgets: Iterable[object]) -> None:
        found = [each for each in budgets if isinstance(each, PodDisruptionBudget)]
        self._budgets = [(each.namespace, label_selector(each.spec.selector)) for each in found]
        self._allowed = [each.status.disruptions_allowed for each in found]

    @classmethod
    def of(cls, lister: Lister) -> Budgets:
        """Return the budgets of a cluster."""
        return cls(each for _, each in sorted(lister.all(BUDGET).items()))

    def allowed(self, pod: Pod) -> list[int]:
        """Return how many disruptions each budget of a pod allows."""
        return [self._allowed[index] for index in self._matching(pod)]

    def allows_in_parallel(self, pods: Sequence[Pod]) -> bool:
        """Whether pods may be evicted at the same time."""
        counts = Counter(index for pod in pods for index in self._matching(pod))
        return all(self._allowed[index] >= count for index, count in counts.items())

    def remove(self, pods: Iterable[Pod]) -> None:
        """Count the eviction of pods."""
        for pod in pods:
            for index in self._matching(pod):
                self._allowed[index] -= 1

    def _matching(self, pod: Pod) -> list[int]:
        labels = pod.metadata.labels
        return [
            index
            for index, (namespace, selector) in enumerate(self._budgets)
            if namespace == pod.namespace and selector.matches(labels)
        ]


class Unremovable(NamedTuple):
    """What keeps a node, perhaps one of its pods.

    Attributes
    ----------
    reason, message : str
        Upstream's name of the reason, and a message.
    until_ns : int
        When a pod is old enough not to keep it any more; 0 if its age does not matter.
    """

    reason: str
    message: str
    until_ns: int = 0


class DrainRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules that say whether pods can move.

    Attributes
    ----------
    options : AutoscalerOptions
    budgets : Budgets
    now_ns : int
    lister : Lister, optional
        Of the owners of pods; they are not looked up without it.
    """

    options: AutoscalerOptions
    budgets: Budgets
    now_ns: int
    lister: Lister | None = None

    def pods_to_move(self, pods: Iterable[Pod]) -> list[Pod] | Unremovable:
        """Return the pods of a node that have to move, or the one that cannot."""
        found = []
        for pod in pods:
            if is_mirror(pod) or self._is_long_terminating(pod):
                continue
            for blocking in self._blocking(pod):
                return blocking
            if not is_of_daemon_set(pod):
                found.append(pod)
        return found

    def _blocking(self, pod: Pod) -> Iterator[Unremovable]:
        """Yield why a pod keeps its node, in upstream's order."""
        options, annotations = self.options, pod.metadata.annotations
        owner = pod.metadata.controller
        is_of_other_kind = owner is not None and owner.kind not in _REPLICATED
        if options.skip_nodes_with_custom_controller_pods:
            yield from self._by_owner(pod)
        if is_of_daemon_set(pod) or annotations.get(SAFE_TO_EVICT) == "true" or pod.is_terminal:
            return
        if owner is None or (options.skip_nodes_with_custom_controller_pods and is_of_other_kind):
            yield Unremovable("NotReplicated", f"{pod.key} is not replicated")
        allowed = self.budgets.allowed(pod)
        is_system = pod.namespace == "kube-system" and not allowed
        if options.skip_nodes_with_system_pods and is_system:
            created_ns = timestamp_ns(pod.metadata.creation_timestamp)
            until_ns = 0 if created_ns is None else created_ns + _SYSTEM_PODS_NS
            if created_ns is not None and self.now_ns > until_ns:
                return
            what = "non-daemonset, non-mirrored, non-pdb-assigned kube-system pod present"
            yield Unremovable("UnmovableKubeSystemPod", f"{what}: {pod.name}", until_ns)
        if annotations.get(SAFE_TO_EVICT) == "false":
            what = "pod annotated as not safe to evict present"
            yield Unremovable("NotSafeToEvictAnnotation", f"{what}: {pod.name}")
        if options.skip_nodes_with_local_storage and _has_local_storage(pod):
            what = "pod with local storage present"
            yield Unremovable("LocalStorageRequested", f"{what}: {pod.name}")
        if any(number < 1 for number in allowed):
            what = "not enough pod disruption budget to move"
            yield Unremovable("NotEnoughPdb", f"{what} {pod.key}")

    def _by_owner(self, pod: Pod) -> Iterator[Unremovable]:
        """Yield that a pod's owner is missing, or has too few replicas.

        Upstream: simulator/drainability/rules/replicacount/rule.go
        """
        owner, lister = pod.metadata.controller, self.lister
        if owner is None or lister is None or owner.kind not in (*_REPLICATED, "DaemonSet"):
            return
        kind = (api_group(owner.api_version), owner.kind)
        found = lister.get(kind, f"{pod.namespace}/{owner.name}")
        if found is None:
            what = f"{owner.kind} for {pod.key} is not available"
            yield Unremovable("ControllerNotFound", what)
        elif owner.kind in _WITH_REPLICAS:
            replicas = section(found, "spec").get("replicas", 1)
            if replicas < self.options.min_replica_count:
                what = f"{owner.kind} for {pod.key} has too few replicas: {replicas}"
                yield Unremovable("MinReplicasReached", what)

    def _is_long_terminating(self, pod: Pod) -> bool:
        deleted_ns = timestamp_ns(pod.metadata.deletion_timestamp)
        if deleted_ns is None:
            return False
        grace: int = encode(pod)["spec"].get("terminationGracePeriodSeconds", _DEFAULT_GRACE)
        return deleted_ns + grace * SECOND_NS + _TERMINATING_NS < self.now_ns


def is_mirror(pod: Pod) -> bool:
    """Return whether a pod is the copy of a static pod."""
    return _MIRROR in pod.metadata.annotations


def is_of_daemon_set(pod: Pod) -> bool:
    """Return whether a DaemonSet controls a pod."""
    owner = pod.metadata.controller
    return owner is not None and owner.kind == "DaemonSet"


def _has_local_storage(pod: Pod) -> bool:
    if not pod.spec.volumes:
        return False
    safe = pod.metadata.annotations.get(SAFE_LOCAL_VOLUMES, "").split(",")
    return any(
        _is_local(volume) for volume in encode(pod)["spec"]["volumes"] if volume["name"] not in safe
    )


def _is_local(volume: Document) -> bool:
    if "emptyDir" in volume:
        return (volume["emptyDir"] or {}).get("medium") != "Memory"
    return "hostPath" in volume
