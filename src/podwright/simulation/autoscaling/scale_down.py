"""Scale-down: which nodes are not needed, and their removal.

A node is unneeded if its requests are below the threshold and its pods fit elsewhere: they are
scheduled on the other nodes, one candidate after the other, each without the nodes that are
unneeded so far. A node that stays unneeded for long enough is tainted, drained if it has pods, and
deleted. The Events about it have upstream's words.

Upstream: cluster-autoscaler/core/scaledown/planner/planner.go, categorizeNodes, NodesToDelete;
eligibility/eligibility.go; unneeded/nodes.go; budgets/budgets.go, CropNodes; simulator/cluster.go,
SimulateNodeRemoval; core/scaledown/actuation/actuator.go, drain.go, delete_in_batch.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

import msgspec

from podwright._checkpointed import Checkpointed, Saved
from podwright.apimachinery.devices import CARDS
from podwright.apimachinery.objects import (
    DELETION_CANDIDATE,
    SECOND_NS,
    TO_BE_DELETED,
    KubernetesObject,
    NamespacedName,
    Node,
    Pod,
    ResourceSlice,
    Taint,
    quantity_value,
)
from podwright.cluster.api import DeleteObject, EvictPod, RecordEvent, UpdateObject, patched
from podwright.cluster.controllers import ControllerAction, Lister, SyncAt, SyncDue
from podwright.cluster.store import kind_of
from podwright.simulation.autoscaling.drainability import (
    Budgets,
    DrainRules,
    Unremovable,
    is_mirror,
    is_of_daemon_set,
)
from podwright.simulation.autoscaling.node_groups import AutoscalerOptions
from podwright.simulation.autoscaling.trial_cluster import TrialCluster, counted

SCALE_DOWN_DISABLED: Final = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
GPU: Final = "nvidia.com/gpu"
_GPU_LABELS: Final = frozenset(
    {"accelerator", "cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator"}
)
"""The labels of nodes with GPUs of known providers."""
REMOVAL: Final = "node/"
"""What keys of syncs that remove a node start with."""

_NODE: Final = ("", "Node")
_POD: Final = ("", "Pod")
_CSI_NODE: Final = ("storage.k8s.io", "CSINode")
_SLICE: Final = ("resource.k8s.io", "ResourceSlice")
_POLL_NS: Final = 5 * SECOND_NS
_POLLS_PER_TRY: Final = 2
_HEADROOM_NS: Final = 30 * SECOND_NS
_SOFT_TAINTS: Final = 10


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    """The removal of a node.

    Attributes
    ----------
    group : str
    has_drain : bool
        Whether pods have to move.
    start_ns : int
        When the node was tainted.
    evicted_ns : int, optional
        When the eviction started.
    uids : dict of str to str
        The uids of the pods that are evicted, by their keys.
    """

    group: str
    has_drain: bool
    start_ns: int
    evicted_ns: int | None = None
    uids: dict[NamespacedName, str] = {}


def _has_gpu(node: Node) -> bool:
    """Return whether a node has GPUs that are counted, ready or not.

    Upstream: utils/gpu/gpu.go, NodeHasGpu
    """
    amount = node.status.allocatable.get(GPU)
    is_there = amount is not None and quantity_value(amount) != 0
    return is_there or not _GPU_LABELS.isdisjoint(node.metadata.labels)


class Use(NamedTuple):
    """What pods use of a node.

    Attributes
    ----------
    cpu, memory, gpu, devices : float
        Shares; of a node with GPUs only theirs counts, and of one with other devices of its own
        that of the most used pool.
    resource : str
        What has the highest share.
    share : float
    """

    cpu: float = 0
    memory: float = 0
    gpu: float = 0
    devices: float = 0
    resource: str = ""
    share: float = 0


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A node that could be removed.

    Attributes
    ----------
    node : Node
    pods : tuple of Pod
        Those that have to move.
    use : Use
    is_risky : bool
        Whether budgets do not allow their evictions at the same time.
    """

    node: Node
    pods: tuple[Pod, ...]
    use: Use
    is_risky: bool


class ScaleDown(Checkpointed):
    """Removes nodes that are not needed.

    Parameters
    ----------
    lister : Lister
    options : AutoscalerOptions
    trial : TrialCluster

    Attributes
    ----------
    removals : dict of str to Removal
        The removals in progress, by node.
    removed_ns : int
        When the last removals started.
    candidates : list of Candidate
        What the last update found.
    unremovable : dict of str to Unremovable
        What kept the other nodes, by their names.
    """

    removals: Saved[dict[str, Removal]]
    _unneeded_ns: Saved[dict[str, int]]
    _rechecks: Saved[dict[str, tuple[int, int]]]
    _changes: Saved[int]
    removed_ns: Saved[int]
    _skips_recent: Saved[bool]

    def __init__(self, lister: Lister, options: AutoscalerOptions, trial: TrialCluster) -> None:
        self._lister = lister
        self._options = options
        self._trial = trial
        self.removals = {}
        self._unneeded_ns = {}
        # Of each node that could not be removed: when it is examined again, and the changes so far.
        self._rechecks = {}
        self._changes = 0
        self.removed_ns = 0
        self._skips_recent = False
        self.candidates: list[Candidate] = []
        self.unremovable: dict[str, Unremovable] = {}

    @property
    def waits_until_ns(self) -> int:
        """When the age of a pod no longer keeps its node; 0 if that is to come for none."""
        return min(
            (each.until_ns for each in self.unremovable.values() if each.until_ns), default=0
        )

    def count_change(self) -> None:
        """Count a change of the cluster: what kept a node before it may not keep it any more."""
        self._changes += 1

    @property
    def has_timers(self) -> bool:
        """Whether a later loop may do something although nothing changes."""
        return bool(self._unneeded_ns or self.removals) or self._skips_recent

    def _rules(self, now_ns: int) -> DrainRules:
        budgets = Budgets.of(self._lister)
        return DrainRules(
            options=self._options, budgets=budgets, now_ns=now_ns, lister=self._lister
        )

    # ------------------------------------------------------------------------ planning

    def update(
        self,
        nodes: Sequence[Node],
        destinations: Iterable[str],
        now_ns: int,
        *,
        is_question: bool = False,
    ) -> None:
        """Find the nodes that are not needed, in a fork.

        Parameters
        ----------
        nodes : sequence of Node
            Those of groups above their least size.
        destinations : iterable of str
            All nodes, to which pods may move.
        is_question : bool
            Whether as many unneeded nodes are looked for as after many updates, and why pods fit
            nowhere.
        """
        rules, trial, options = self._rules(now_ns), self._trial, self._options
        blind = msgspec.structs.replace(rules, budgets=Budgets(()), lister=None)
        present = set(destinations)
        self._rechecks = {
            name: (due_ns, changes)
            for name, (due_ns, changes) in self._rechecks.items()
            if name in present and due_ns > now_ns
        }
        self._skips_recent = False
        left = present - self.removals.keys()
        found: list[Candidate] = []

        def order(node: Node) -> tuple[bool, bool]:
            is_empty = blind.pods_to_move(trial.pods_on(node.name)) == []
            return not is_empty, node.name not in self._unneeded_ns

        limit = self._limit(is_most=is_question)
        checked = {node.name: self._ineligible(node) for node in nodes}
        self.unremovable = {name: why for name, why in checked.items() if why is not None}
        for node in sorted((each for each in nodes if checked[each.name] is None), key=order):
            if len(found) >= limit:
                break
            candidate = self._removable(node, rules, left, explains=is_question)
            if isinstance(candidate, Unremovable):
                self.unremovable[node.name] = candidate
                self._rechecks[node.name] = now_ns + options.recheck_ns, self._changes
                continue
            left.discard(node.name)
            rules.budgets.remove(candidate.pods)
            found.append(candidate)
        self.candidates = found
        self._unneeded_ns = {
            each.node.name: self._unneeded_ns.get(each.node.name, now_ns) for each in found
        }

    def _limit(self, *, is_most: bool) -> int:
        """Return how many unneeded nodes are looked for.

        Upstream: planner.go, unneededNodesLimit
        """
        most, interval_ns = self._options.max_scale_down_parallelism, self._options.scan_interval_ns
        loops = max(self._options.unneeded_ns, interval_ns) // interval_ns
        limit = most * loops + most
        return limit if is_most else min(limit, len(self._unneeded_ns) + 2 * most)

    def _ineligible(self, node: Node) -> Unremovable | None:
        """Return what keeps a node whatever its pods are; None if nothing does.

        Upstream: eligibility.go, unremovableReasonAndNodeUtilization; simulator/cluster.go,
        UnremovableReason
        """
        name, options = node.name, self._options
        if name in self._rechecks:
            # Without a change it is kept again, and rechecks at different times would never end.
            self._skips_recent |= self._rechecks[name][1] != self._changes
            return Unremovable("RecentlyUnremovable", "it could not be removed a short time ago")
        if name in self.removals:
            return Unremovable("CurrentlyBeingDeleted", "its removal has started")
        if node.metadata.annotations.get(SCALE_DOWN_DISABLED) == "true":
            return Unremovable("ScaleDownDisabledAnnotation", f"annotation {SCALE_DOWN_DISABLED}")
        if not is_node_ready(node) and not options.scale_down_unready_enabled:
            return Unremovable("ScaleDownUnreadyDisabled", "it is not ready")
        use, option, most = self._use(name), "Utilization", options.utilization_threshold
        if use.resource == GPU:
            option, most = "GpuUtilization", options.gpu_utilization_threshold
        if use.share >= most:
            what = f"{use.share:.2%} of its {use.resource} is "
            what += "allocated" if use.devices else "requested"
            threshold = f"scaleDown{option}Threshold is {most:g}"
            return Unremovable("NotUnderutilized", f"{what}; {threshold}")
        return None

    def _use(self, name: str) -> Use:
        """Return what the pods of a node use of it.

        Upstream: simulator/utilization/info.go, Calculate
        """
        ignores = self._options.ignore_daemonsets_utilization
        ignored = [each for each in self._trial.pods_on(name) if ignores and is_of_daemon_set(each)]
        use_of = self._trial.use_of
        if _has_gpu(self._trial.node(name)):
            gpu = use_of(name, GPU, ignored)
            return Use(gpu=gpu, resource=GPU, share=gpu)
        in_pool = self._trial.device_use(name)
        if in_pool is not None:
            pool, share = in_pool
            return Use(devices=share, resource=pool, share=share)
        cpu, memory = use_of(name, "cpu", ignored), use_of(name, "memory", ignored)
        resource = "cpu" if cpu > memory else "memory"
        return Use(cpu=cpu, memory=memory, resource=resource, share=max(cpu, memory))

    def _removable(
        self, node: Node, rules: DrainRules, left: Iterable[str], *, explains: bool
    ) -> Candidate | Unremovable:
        """Move the pods of a node elsewhere, or move none and return what keeps the node."""
        pods = rules.pods_to_move(self._trial.pods_on(node.name))
        if isinstance(pods, Unremovable):
            return pods
        use = self._use(node.name)
        others = frozenset(left).difference((node.name,))
        with self._trial.forked() as fork:
            self._trial.remove_node(node.name)
            for pod in pods:
                if not self._trial.schedule(pod, others):
                    why = self._trial.reasons(pod, others) if explains else {}
                    reasons = counted(chain.from_iterable(why.values()))
                    nowhere = f"{pod.key} fits on no other node that stays"
                    message = f"{nowhere}: {reasons}" if reasons else nowhere
                    return Unremovable("NoPlaceToMovePods", message)
            fork.is_kept = True
        is_risky = not rules.budgets.allows_in_parallel(pods)
        return Candidate(node=node, pods=tuple(pods), use=use, is_risky=is_risky)

    # ------------------------------------------------------------------------ removals

    def start(
        self, groups: Mapping[str, str], spare: dict[str, int], now_ns: int
    ) -> list[ControllerAction]:
        """Start the removal of the nodes that were unneeded for long enough.

        Parameters
        ----------
        groups : mapping of str to str
            The group of each node.
        spare : dict of str to int, written
            How many nodes each group has above its least size.
        """
        options = self._options
        if self.removed_ns + options.delay_after_delete_ns > now_ns:
            return []
        for removal in self.removals.values():
            spare[removal.group] -= 1
        due = []
        for each in sorted(self.candidates, key=lambda one: (bool(one.pods), one.is_risky)):
            name = each.node.name
            wait_ns = options.unneeded_ns if is_node_ready(each.node) else options.unready_ns
            if self._unneeded_ns[name] + wait_ns < now_ns and spare[groups[name]] > 0:
                spare[groups[name]] -= 1
                due.append(each)
        drained = sum(each.has_drain for each in self.removals.values())
        room = options.max_scale_down_parallelism - len(self.removals)
        empty = [each for each in due if not each.pods][:room]
        room = min(room - len(empty), options.max_drain_parallelism - drained)
        chosen = [*empty, *[each for each in due if each.pods][:room]]
        if chosen:
            self.removed_ns = now_ns
        return [
            action
            for each in chosen
            for action in self._started(each, groups[each.node.name], now_ns)
        ]

    def _started(self, each: Candidate, group: str, now_ns: int) -> list[ControllerAction]:
        node, name = each.node, each.node.name
        self.removals[name] = Removal(group=group, has_drain=bool(each.pods), start_ns=now_ns)
        self._unneeded_ns.pop(name, None)
        if each.pods:
            pods = ",".join(pod.name for pod in each.pods)
            cpu, memory, gpu, devices, resource, share = each.use
            use = f"{{{cpu!r} {memory!r} {gpu!r} {devices!r} {resource} {share!r}}}"
            what = f"removing node {name}, utilization: {use}, pods to reschedule: {pods}"
            status = status_event("Normal", "ScaleDown", f"Scale-down: {what}")
        else:
            note = f'Scale-down: removing empty node "{name}"'
            status = status_event("Normal", "ScaleDownEmpty", note)
        taint = Taint(key=TO_BE_DELETED, value=str(now_ns // SECOND_NS), effect="NoSchedule")
        note = "marked the node as toBeDeleted/unschedulable"
        return [
            status,
            _with_taints(node, [*_without(node, TO_BE_DELETED), taint]),
            object_event(node, "ScaleDown", note),
            self._removal_at(name, now_ns + self._options.delete_delay_ns),
        ]

    def _removal_at(self, name: str, due_ns: int) -> SyncAt:
        return SyncAt(due_ns, SyncDue(NAME, f"{REMOVAL}{name}"))

    def continued(self, name: str, now_ns: int) -> list[ControllerAction]:
        """Continue the removal of a node: evict its pods, wait until they are gone, delete it."""
        removal, node = self.removals.get(name), self._lister.get(_NODE, name)
        if removal is None or not isinstance(node, Node):
            self.removals.pop(name, None)
            return []
        due_ns = removal.start_ns + self._options.delete_delay_ns
        if now_ns < due_ns:
            return [self._removal_at(name, due_ns)]
        if removal.evicted_ns is not None:
            return self._waited(node, removal, removal.evicted_ns, now_ns)
        present = [pod for _, pod in sorted(self._lister.pods_on(name).items())]
        pods = self._rules(now_ns).pods_to_move(present)
        if isinstance(pods, Unremovable):
            return self._failed(node, removal, pods.message)
        if not removal.has_drain:
            if pods:
                why = f'failed to delete empty node "{name}", new pods scheduled'
                return self._failed(node, removal, why)
            return self._deleted(node, removal)
        evicted = [pod for pod in present if not is_mirror(pod)]
        uids = {pod.key: pod.uid for pod in evicted if not is_of_daemon_set(pod)}
        self.removals[name] = msgspec.structs.replace(removal, evicted_ns=now_ns, uids=uids)
        note = "deleting pod for node scale down"
        return [
            *(object_event(pod, "ScaleDown", note) for pod in evicted),
            *(EvictPod(pod.key, pod.uid, NAME) for pod in evicted),
            self._removal_at(name, now_ns + _POLL_NS),
        ]

    def _waited(
        self, node: Node, removal: Removal, evicted_ns: int, now_ns: int
    ) -> list[ControllerAction]:
        """Delete the node if its pods are gone; else evict again those that remain, or give up."""
        options = self._options
        remaining = [
            pod
            for key, uid in removal.uids.items()
            if isinstance(pod := self._lister.get(_POD, key), Pod) and pod.uid == uid
        ]
        if not remaining:
            return self._deleted(node, removal)
        rejected = [pod for pod in remaining if not pod.is_terminating]
        limit_ns = options.max_pod_eviction_ns
        if not rejected:
            limit_ns += options.max_graceful_termination_sec * SECOND_NS + _HEADROOM_NS
        since_ns = now_ns - evicted_ns
        if since_ns >= limit_ns:
            names = " ".join(pod.key for pod in remaining)
            return [
                *(
                    object_event(
                        pod, "ScaleDownFailed", "failed to delete pod for ScaleDown", "Warning"
                    )
                    for pod in rejected
                ),
                *self._failed(node, removal, f"pods remaining after timeout: {names}"),
            ]
        retried = rejected if since_ns // _POLL_NS % _POLLS_PER_TRY == 0 else []
        return [
            *(EvictPod(pod.key, pod.uid, NAME) for pod in retried),
            self._removal_at(node.name, now_ns + _POLL_NS),
        ]

    def _deleted(self, node: Node, removal: Removal) -> list[ControllerAction]:
        del self.removals[node.name]
        reason, what = "ScaleDownEmpty", f"empty node {node.name} removed"
        if removal.has_drain:
            reason, what = "ScaleDown", f"node {node.name} removed with drain"
        slices = [
            of
            for _, of in sorted(self._lister.all(_SLICE).items())
            if isinstance(of, ResourceSlice)
            and of.spec.node_name == node.name
            and CARDS not in of.metadata.annotations
        ]
        csi_node = self._lister.get(_CSI_NODE, node.name)
        # Garbage collection deletes what the node owns.
        companions = [
            of for of in (csi_node, *slices) if of is not None and not of.metadata.owner_references
        ]
        return [
            DeleteObject("", "Node", node.name, node.uid, NAME),
            *(DeleteObject(kind_of(of)[0], of.kind, of.name, of.uid, NAME) for of in companions),
            object_event(node, "ScaleDown", "nodes removed by cluster autoscaler"),
            status_event("Normal", reason, f"Scale-down: {what}"),
        ]

    def _failed(self, node: Node, removal: Removal, why: str) -> list[ControllerAction]:
        del self.removals[node.name]
        how = "drain and delete" if removal.has_drain else "delete empty"
        return [
            object_event(node, "ScaleDownFailed", f"failed to {how} node: {why}", "Warning"),
            _with_taints(node, _without(node, TO_BE_DELETED)),
        ]

    def soft_taints(self, nodes: Iterable[Node]) -> list[ControllerAction]:
        """Return the writes that let the scheduler prefer nodes that are needed.

        Upstream: core/scaledown/actuation/softtaint.go, UpdateSoftDeletionTaints
        """
        found: list[ControllerAction] = []
        for node in nodes:
            others = _without(node, DELETION_CANDIDATE)
            is_tainted = len(others) < len(node.spec.taints)
            is_unneeded = node.name in self._unneeded_ns
            if node.name in self.removals or is_tainted == is_unneeded:
                continue
            taint = Taint(key=DELETION_CANDIDATE, effect="PreferNoSchedule")
            found.append(_with_taints(node, [*others, taint] if is_unneeded else others))
        return found[:_SOFT_TAINTS]


def _without(node: Node, key: str) -> list[Taint]:
    return [taint for taint in node.spec.taints if taint.key != key]


def _with_taints(node: Node, taints: Iterable[Taint]) -> UpdateObject:
    written = [msgspec.to_builtins(taint) for taint in taints]
    return UpdateObject(patched(node, spec={"taints": written}), "main", NAME)


# ------------------------------------------------------------------------------ autoscaler events

NAME: Final = "cluster-autoscaler"
"""The name of the controller, and the source of its Events."""

_STATUS: Final = ("", "ConfigMap", "kube-system/cluster-autoscaler-status")
"""The object of Events that are about groups."""


def object_event(
    obj: KubernetesObject, reason: str, note: str, severity: str = "Normal"
) -> RecordEvent:
    """Return an Event about an object."""
    group, kind = kind_of(obj)
    return RecordEvent(group, kind, obj.key, obj.uid, severity, reason, note, NAME)


def status_event(severity: str, reason: str, note: str) -> RecordEvent:
    """Return an Event about the autoscaler and its groups."""
    return RecordEvent(*_STATUS, "", severity, reason, note, NAME)


def is_node_ready(node: Node) -> bool:
    """Return whether the condition Ready of a node is true."""
    return any(each.type == "Ready" and each.status == "True" for each in node.status.conditions)
