"""The cluster: nodes, the pods placed on them, and everything else that plugins read.

`Cluster` owns all columns. Objects are added with `put` and removed with `delete`. A pod that
has a node is placed on its slot; a pod on a missing node is kept until the node appears.
Pending pods are in the queue; the cluster has only their nominations.

Every change is written to a journal or increments a version, so that a cached result can be
checked for validity.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntFlag

import msgspec
import numpy as np

from podwright._arrays import I8Array, I32Array, I64Array, I64Matrix
from podwright._compiled_classes import mypyc_attr
from podwright.apimachinery.devices import DeviceIndex
from podwright.apimachinery.objects import (
    Namespace,
    Node,
    Object,
    Pod,
    PodSpec,
    ResourceClaim,
    has_same_actual_resources,
)
from podwright.scheduler.columns.affinity.selectors import SelectorCounters
from podwright.scheduler.columns.affinity.term_index import SelectedLabels
from podwright.scheduler.columns.budgets import BudgetIndex
from podwright.scheduler.columns.device_fits import DeviceClassIndex, DeviceFits
from podwright.scheduler.columns.images import ImageIndex
from podwright.scheduler.columns.nodes import NodeColumns
from podwright.scheduler.columns.nominations import Nominations
from podwright.scheduler.columns.placement import PlacedPod, PodKeys, priority_of
from podwright.scheduler.columns.pod_keys import PodKeysCache
from podwright.scheduler.columns.ports import PortUse
from podwright.scheduler.columns.ranked_pods import RankedPods
from podwright.scheduler.columns.volumes.storage import StorageIndex
from podwright.scheduler.columns.workloads import WorkloadIndex
from podwright.scheduler.kernels.preemption import N_RESULTS


class Reads(IntFlag):
    """What a cached result depends on, besides the pod's key."""

    NOTHING = 0
    NODE = 1
    """The Node object of the slot itself."""
    PODS = 2
    """The pods on the slot itself."""
    STORAGE = 4
    """Volumes, claims, classes, drivers, capacities."""
    WORKLOADS = 8
    """Services, ReplicationControllers, ReplicaSets, StatefulSets."""
    NAMESPACES = 16
    """Labels of namespaces."""
    TERMS = 32
    """Which (anti-)affinity terms the placed pods carry."""
    CLUSTER = 64
    """Anything: the plugin is called in every cycle."""
    IMAGES = 128
    """Which images are on which nodes, and how many nodes there are."""
    DEVICE_CLASSES = 256
    """Which extended resources device classes back."""
    DEVICES = 512
    """Slices, classes and claims of devices."""


# Plain integers: operations on IntFlag members are too slow for every cycle.
_NODE, _PODS, _STORAGE = Reads.NODE.value, Reads.PODS.value, Reads.STORAGE.value
_WORKLOADS, _NAMESPACES = Reads.WORKLOADS.value, Reads.NAMESPACES.value
_TERMS, _IMAGES = Reads.TERMS.value, Reads.IMAGES.value
_DEVICE_CLASSES, _DEVICES = Reads.DEVICE_CLASSES.value, Reads.DEVICES.value
_ENDED = frozenset({"Succeeded", "Failed"})

_DEAD_SLOTS_KEPT = 1_024
"""So many slots of removed nodes are kept, besides one per live node, before renumbering."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Cluster:
    """All state that decisions read.

    Parameters
    ----------
    device_taint_rules : bool
        Whether DeviceTaintRules taint devices: the gate DRADeviceTaintRules.

    Attributes
    ----------
    nodes : NodeColumns
        The node columns.
    pods : dict of str to PlacedPod
        Pods that have a node, by "namespace/name".
    pods_on : list of dict
        Per slot, the placed pods by "namespace/name", in order of placement.
    nominations : Nominations
        Pending pods that are nominated to a node.
    ranked_pods : RankedPods
        The placed pods by slot and importance; see `bring_up_to_date` there.
    dry_run_cache : DryRunCache
        Cached results of dry runs of preemption.
    budgets : BudgetIndex
        Disruption budgets.
    device_classes : DeviceClassIndex
        The extended resources that device classes back.
    devices : DeviceIndex
        Slices, classes and claims of devices, and which devices are allocated.
    device_fits : DeviceFits
        On which nodes devices can be allocated for claims.
    selected_labels : SelectedLabels
        The labels that selectors of workloads and affinity terms use.
    numbering : int
        Grows when nodes get new slots; results per slot are invalid then.
    """

    def __init__(self, *, device_taint_rules: bool = False) -> None:
        self.nodes = NodeColumns()
        self.pods: dict[str, PlacedPod] = {}
        self._priorities: dict[int, int] = {}
        self.pods_on: list[dict[str, PlacedPod]] = []
        self.namespaces: dict[str, dict[str, str]] = {}
        self.namespaces_version = 0
        self.storage = StorageIndex(self.nodes)
        self.selected_labels = SelectedLabels()
        self.workloads = WorkloadIndex(self.selected_labels)
        self.budgets = BudgetIndex()
        self.device_classes = DeviceClassIndex()
        self.devices = DeviceIndex(reads_taint_rules=device_taint_rules)
        self.device_fits = DeviceFits(self.nodes, self.devices)
        self.ports = PortUse()
        self.images = ImageIndex()
        self.selectors = SelectorCounters(self.nodes, self.selected_labels)
        self._keys = PodKeysCache(self.nodes, self.selectors)
        self.nominations = Nominations(self.nodes, self._keys)
        self.ranked_pods = RankedPods(self.nodes, self.pods_on, self.budgets)
        self.dry_run_cache = DryRunCache(self.nodes, self.budgets)
        self._pods_on_missing_nodes: dict[str, dict[str, Pod]] = {}
        self.numbering = 0
        self._device_changes = 0
        self._live: tuple[int, I32Array] | None = None
        self._live_names: tuple[int, tuple[str, ...]] | None = None

    @property
    def nominated(self) -> dict[str, dict[str, Pod]]:
        """Per node name, the pending pods nominated to it, by "namespace/name"."""
        return self.nominations.by_node

    # ---------------------------------------------------------------- versions

    @property
    def objects_version(self) -> int:
        """A version that grows when anything but nodes and placed pods changes."""
        # A sum serves as a version, because none of its parts ever falls.
        return (
            self.storage.version
            + self.workloads.version
            + self.namespaces_version
            + self.selectors.terms_version
            + self.images.version
            + self.device_classes.version
            + self.devices.version
        )

    def version_of(self, reads: int) -> tuple[int, ...]:
        """Return the versions of everything in `reads`, that of terms last.

        Equal versions mean no change.

        Parameters
        ----------
        reads : int
            Flags of `Reads`.
        """
        return (
            self.nodes.node_journal.version if reads & _NODE else 0,
            self.nodes.pods_journal.version if reads & _PODS else 0,
            self.storage.version if reads & _STORAGE else 0,
            self.workloads.version if reads & _WORKLOADS else 0,
            self.namespaces_version if reads & _NAMESPACES else 0,
            self.images.version if reads & _IMAGES else 0,
            self.device_classes.version if reads & _DEVICE_CLASSES else 0,
            self.devices.version if reads & _DEVICES else 0,
            self.selectors.terms_version if reads & _TERMS else 0,
        )

    # ---------------------------------------------------------------- objects

    def put(self, obj: Object) -> None:
        """Add `obj`, or update the object of its kind and name."""
        if isinstance(obj, Pod):
            self.put_pod(obj.key, obj)
        elif isinstance(obj, Node):
            self._put_node(obj)
        elif isinstance(obj, Namespace):
            self.namespaces[obj.metadata.name] = dict(obj.metadata.labels)
            self.namespaces_version += 1
        elif isinstance(obj, ResourceClaim):
            self.devices.put_claim(obj)
        else:
            # Each index ignores objects of other kinds.
            self.storage.put(obj)
            self.workloads.put(obj)
            self.budgets.put(obj)
            self.device_classes.put(obj)
            self.devices.put(obj)

    def delete(self, obj: Object) -> None:
        """Remove the object of the kind and name of `obj`; unknown ones are ignored."""
        if isinstance(obj, Pod):
            self.delete_pod(obj.key, obj)
        elif isinstance(obj, Node):
            self._delete_node(obj.metadata.name)
        elif isinstance(obj, Namespace):
            if self.namespaces.pop(obj.metadata.name, None) is not None:
                self.namespaces_version += 1
        else:
            self.storage.delete(obj)
            self.workloads.delete(obj)
            self.budgets.delete(obj)
            self.device_classes.delete(obj)
            self.devices.delete(obj)

    def put_pod(self, key: str, pod: Pod) -> None:
        """Add `pod`, or update the one of this name; `key` is its "namespace/name"."""
        if self.nominations.by_node:
            self.clear_nomination(pod)
        if pod.status.phase in _ENDED:
            self.remove(key)
            return
        node_name = pod.spec.node_name
        if not node_name:
            self.remove(key)
            if pod.status.nominated_node_name:
                self.nominate(pod, pod.status.nominated_node_name)
            return
        placed = self.pods.get(key)
        if placed is not None:
            old = placed.pod
            if old is pod:
                return
            if self._uses_the_same(placed, pod):
                if old.metadata.labels != pod.metadata.labels:
                    self._relabel(placed, pod)
                    return
                before = old.metadata.deletion_timestamp is not None
                if before == (pod.metadata.deletion_timestamp is not None):
                    placed.pod = pod
                else:
                    # Spreading does not count terminating pods; nothing else changes.
                    self.selectors.placed(placed, -1)
                    placed.pod = pod
                    self.selectors.placed(placed, 1)
                self.nodes.pods_journal.record(placed.slot)
                return
            self.remove(key)
        else:
            self.forget_pod_on_missing_node(key)
        slot = self.nodes.slot_of.get(node_name)
        if slot is None:
            self._pods_on_missing_nodes.setdefault(node_name, {})[key] = pod
        else:
            self.place(pod, slot, key)

    def delete_pod(self, key: str, pod: Pod) -> None:
        """Remove `pod` and its nomination; `key` is its "namespace/name"."""
        self.remove(key)
        if self.nominations.by_node:
            self.clear_nomination(pod)
        if self.selectors.is_crowded:
            self._renew_selectors()

    def _renew_selectors(self) -> None:
        """Give the placed pods new keys, and free those of pods that are gone."""
        self.selectors.renew()
        self._keys.forget()
        for placed in self.pods.values():
            placed.keys = self._keys.of(placed.pod)
        self.selectors.placed_all(self.pods.values())

    def _uses_the_same(self, placed: PlacedPod, pod: Pod) -> bool:
        """Return whether a new version of a placed pod uses exactly the same resources.

        Most updates do: the informer delivers the binding, the status or a label changes, or the
        pod is being deleted.
        """
        old = placed.pod
        return (
            self.nodes.names[placed.slot] == pod.spec.node_name
            and old.metadata.uid == pod.metadata.uid
            # Resources in container statuses change what a pod uses without a change of its spec.
            and has_same_actual_resources(old, pod)
            and _equal_except_node(old.spec, pod.spec)
        )

    def _relabel(self, placed: PlacedPod, pod: Pod) -> None:
        """Count a new version of a placed pod that differs in its labels."""
        self.selectors.placed(placed, -1)
        placed.pod = pod
        placed.keys = self._keys.with_labels_of(pod, placed.keys)
        self.selectors.placed(placed, 1)
        self.nodes.pods_journal.record(placed.slot)

    def _put_node(self, node: Node) -> None:
        name = node.metadata.name
        slot, changed = self.nodes.put(node)
        if slot == len(self.pods_on):
            self.pods_on.append({})
            self.selectors.node_added(slot)
            for pod in self._pods_on_missing_nodes.pop(name, {}).values():
                self.place(pod, slot)
        elif changed:
            self.selectors.node_changed(slot, self.pods_on[slot].values())
        # Also without a change of the columns: see `ImageIndex.put`.
        self.images.put(slot, node.status.images)
        if changed:
            self.storage.node_changed(slot)

    def _delete_node(self, name: str) -> None:
        slot = self.nodes.slot_of.get(name)
        if slot is None:
            return
        # The pods are kept: upstream counts them until they are deleted, and they are placed
        # again if a node of that name appears.
        remaining = [placed.pod for placed in self.pods_on[slot].values()]
        for pod in remaining:
            self.remove(pod.key)
        self.nodes.remove(name)
        self.images.remove(slot)
        self.storage.node_changed(slot)
        if remaining:
            self._pods_on_missing_nodes[name] = {pod.key: pod for pod in remaining}
        if self.nodes.n_slots > 2 * self.nodes.n_alive + _DEAD_SLOTS_KEPT:
            self._renumber()

    def pods_on_missing_nodes(self) -> dict[str, tuple[Pod, ...]]:
        """Return the pods whose node does not exist, by node name, in order of arrival."""
        return {name: tuple(pods.values()) for name, pods in self._pods_on_missing_nodes.items()}

    def restore_pods_on_missing_nodes(self, node_name: str, pods: Iterable[Pod]) -> None:
        """Restore `pods` of the missing node `node_name`, in `pods_on_missing_nodes`' order."""
        self._pods_on_missing_nodes[node_name] = {pod.key: pod for pod in pods}

    def forget_pod_on_missing_node(self, key: str, uid: str | None = None) -> None:
        """Remove a pod on a missing node, if there is one with this name.

        Parameters
        ----------
        key : str
            The pod's `namespace/name`.
        uid : str, optional
            Keep a pod with another uid.
        """
        if not self._pods_on_missing_nodes:
            return
        for name, pods in list(self._pods_on_missing_nodes.items()):
            pod = pods.get(key)
            if pod is not None and (uid is None or pod.metadata.uid == uid):
                del pods[key]
                if not pods:
                    del self._pods_on_missing_nodes[name]

    def live_slots(self) -> I32Array:
        """Return the slots of all existing nodes: (n_alive,) int32, ascending."""
        version = self.nodes.topology_journal.version
        if self._live is None or self._live[0] != version:
            self._live = (version, np.flatnonzero(self.nodes.alive).astype(np.int32))
        return self._live[1]

    def live_names(self) -> tuple[str, ...]:
        """Return the names of all existing nodes, in the order of `live_slots`."""
        version = self.nodes.topology_journal.version
        if self._live_names is None or self._live_names[0] != version:
            names = map(self.nodes.names.__getitem__, self.live_slots().tolist())
            self._live_names = (version, tuple(names))
        return self._live_names[1]

    def _renumber(self) -> None:
        """Give the live nodes new slots, in the same order; all cached results become invalid."""
        nodes = [node for node in self.nodes.objects if node is not None]
        names = self.nodes.names
        pods = [(p.pod, names[p.slot]) for there in self.pods_on for p in there.values()]
        self.numbering += 1
        self.nodes.renumber()
        self.pods.clear()
        self._priorities.clear()
        self.pods_on.clear()
        self.ports = PortUse()
        self.images.renumber()
        self.selectors.renew()
        self.storage.renumber()
        self._keys.forget()
        for node in nodes:
            self._put_node(node)
        self.place_all([(pod, self.nodes.slot_of[name], self._keys.of(pod)) for pod, name in pods])

    # ---------------------------------------------------------------- devices

    def record_device_changes(self) -> None:
        """Record the nodes whose devices changed since the last call in `pods_journal`.

        A result per slot that reads devices is then updated as one that reads `Reads.PODS`: an
        allocation changes the node on which the pod is placed.
        """
        devices, nodes = self.devices, self.nodes
        if self._device_changes == devices.change_count:
            return
        names = devices.changes_since(self._device_changes)
        self._device_changes = devices.change_count
        if names is None:
            nodes.pods_journal.forget()
            return
        for name in dict.fromkeys(names):
            slot = nodes.slot_of.get(name)
            # A node that is missing is evaluated when it comes.
            if slot is not None:
                nodes.pods_journal.record(slot)

    # ---------------------------------------------------------------- pods

    def keys_of(self, pod: Pod) -> PodKeys:
        """Return the interned parts of `pod` that placing it needs."""
        return self._keys.of(pod)

    def place(self, pod: Pod, slot: int, key: str = "", keys: PodKeys | None = None) -> PlacedPod:
        """Count `pod` on the node in `slot`.

        Parameters
        ----------
        key : str
            The pod's "namespace/name", if known.
        keys : PodKeys, optional
            What `keys_of` returns for it, if known.
        """
        placed = PlacedPod(pod, keys or self._keys.of(pod), slot, key or pod.key)
        self._count(placed, 1)
        self.pods[placed.key] = placed
        priority, priorities = pod.spec.priority or 0, self._priorities
        priorities[priority] = priorities.get(priority, 0) + 1
        self.selectors.placed(placed, 1)
        self.nodes.pods_journal.record(slot)
        return placed

    def place_all(self, given: Sequence[tuple[Pod, int, PodKeys]]) -> None:
        """Count many pods as `place` does one after the other.

        Parameters
        ----------
        given : sequence of (Pod, int, PodKeys)
            Each pod with its slot, and what `keys_of` returns for it.
        """
        if not given:
            return
        placed = [PlacedPod(pod, keys, slot, pod.key) for pod, slot, keys in given]
        self._count_all(placed)
        pods_on, priorities = self.pods_on, self._priorities
        for each in placed:
            pods_on[each.slot][each.key] = each
            priority = each.pod.spec.priority or 0
            priorities[priority] = priorities.get(priority, 0) + 1
            keys = each.keys
            if keys.ports:
                self.ports.count(each.slot, keys.ports, 1)
            if keys.has_volumes:
                self.storage.count(each, 1)
        self.pods.update([(each.key, each) for each in placed])
        self.selectors.placed_all(placed)
        self.nodes.pods_journal.forget()

    def _count_all(self, placed: Sequence[PlacedPod]) -> None:
        """Add what pods use to the columns of their slots; sums wrap around, as in Go."""
        nodes = self.nodes
        distinct = {id(each.keys): each.keys for each in placed}
        place_of = dict(zip(distinct, range(len(distinct)), strict=True))
        requested: I64Matrix = np.zeros((len(distinct), nodes.requested.shape[1]), dtype=np.int64)
        for row, keys in zip(requested, distinct.values(), strict=True):
            row[: len(keys.requests)] = keys.requests
        non_zero = np.array([keys.non_zero for keys in distinct.values()], dtype=np.int64)
        rows = [place_of[id(each.keys)] for each in placed]
        slots = [each.slot for each in placed]
        np.add.at(nodes.requested, slots, requested[rows])
        np.add.at(nodes.non_zero_requested, slots, non_zero[rows])

    def remove(self, key: str) -> Pod | None:
        """Stop counting the placed pod `key` (`namespace/name`); None if it was not placed."""
        placed = self.pods.pop(key, None)
        if placed is None:
            self.forget_pod_on_missing_node(key)
            return None
        self._count(placed, -1)
        priority = priority_of(placed.pod)
        self._priorities[priority] -= 1
        if not self._priorities[priority]:
            del self._priorities[priority]
        self.selectors.placed(placed, -1)
        self.nodes.pods_journal.record(placed.slot)
        return placed.pod

    def has_pods_below(self, priority: int) -> bool:
        """Report whether a placed pod has a priority below `priority`."""
        return any(each < priority for each in self._priorities)

    def _count(self, placed: PlacedPod, sign: int) -> None:
        """Add to (1) or take from (-1) the slot's own columns."""
        slot, keys = placed.slot, placed.keys
        nodes = self.nodes
        if nodes.has_huge_amounts:
            # Sums wrap around, as in Go.
            requests = keys.requests
            nodes.requested[slot, : len(requests)] += sign * requests
            nodes.non_zero_requested[slot] += sign * np.array(keys.non_zero)
        else:
            # Reading and writing the few cells of a row takes two thirds of the time for arrays.
            cells = nodes.requested_cells
            for column, amount in keys.amounts:
                cells[slot, column] += sign * amount
            cells = nodes.non_zero_cells
            cpu, memory = keys.non_zero
            cells[slot, 0] += sign * cpu
            cells[slot, 1] += sign * memory
        if sign > 0:
            self.pods_on[slot][placed.key] = placed
        else:
            del self.pods_on[slot][placed.key]
        if keys.ports:
            self.ports.count(slot, keys.ports, sign)
        if keys.has_volumes:
            self.storage.count(placed, sign)

    # ---------------------------------------------------------------- nominations

    def nominate(self, pod: Pod, node_name: str) -> None:
        """Record the nomination of `pod`, which is pending, to the node `node_name`."""
        self.nominations.put(pod, node_name)

    def clear_nomination(self, pod: Pod) -> None:
        """Clear the nomination of `pod`."""
        self.nominations.remove(pod)

    # ---------------------------------------------------------------- dry runs

    @contextmanager
    def dry_run(self, slot: int) -> Iterator[SlotDryRun]:
        """Change the pods of the node in `slot` temporarily, without journal entries and counters.

        Only the slot's own columns change (requests, ports, volumes, `pods_on`); plugins that
        count over many nodes are updated with their `add_pod` and `remove_pod`. All changes are
        reverted at the end.
        """
        pods_before = dict(self.pods_on[slot])
        dry_run = SlotDryRun(self, slot)
        self.ports.begin_dry_run(slot)
        try:
            yield dry_run
        finally:
            dry_run.undo()
            self.ports.end_dry_run()
            # The content is equal already; this also restores the order.
            self.pods_on[slot].clear()
            self.pods_on[slot].update(pods_before)


class SlotDryRun:
    """Pods that are added to and removed from one slot in a dry run."""

    __slots__ = ("_cluster", "_done", "slot")

    def __init__(self, cluster: Cluster, slot: int) -> None:
        self._cluster = cluster
        self._done: list[tuple[PlacedPod, int]] = []
        self.slot = slot

    def add(self, pod: Pod) -> PlacedPod:
        """Count `pod` on the slot."""
        placed = PlacedPod(pod, self._cluster.keys_of(pod), self.slot, pod.key)
        self._apply(placed, 1)
        return placed

    def add_back(self, placed: PlacedPod) -> None:
        """Add a pod again that was removed before."""
        self._apply(placed, 1)

    def remove(self, placed: PlacedPod) -> None:
        """Stop counting a pod of the slot."""
        self._apply(placed, -1)

    def undo(self) -> None:
        """Revert all changes, newest first."""
        while self._done:
            placed, sign = self._done.pop()
            self._cluster._count(placed, -sign)  # noqa: SLF001 - part of Cluster

    def _apply(self, placed: PlacedPod, sign: int) -> None:
        self._cluster._count(placed, sign)  # noqa: SLF001 - part of Cluster
        self._done.append((placed, sign))


def _equal_except_node(old: PodSpec, new: PodSpec) -> bool:
    return old is new or msgspec.structs.replace(new, node_name=old.node_name) == old


# Results of preemption dry runs per slot, cached while they are valid.
#
# A dry run on a slot depends on its pods, the node, the disruption budgets, and the preemptor's
# requests and priority. Preemptors come from templates, and between two of them few slots change,
# so the results of the other slots are reused. Slots with nominated pods are evaluated every time.
# Filters that do not read pods are not part of the cached results.

_MOST_KEPT = 4
"""The number of preemptor kinds that are cached; each takes 70 bytes per node and 1 per pod."""


class TriedSlots:
    """The results for one kind of preemptor: its priority and requests.

    Attributes
    ----------
    rows : (n_slots, N_RESULTS) int64
        As of `kernels.preemption.KnownResults`; the first column is the value of
        `RankedPods.written` for which the slot was evaluated, 0 if it has no result.
    marks : (n_pool,) int8
        By place in the pool of `RankedPods`.
    """

    __slots__ = ("_allowed", "_node_version", "marks", "rows")

    def __init__(self, nodes: NodeColumns) -> None:
        self.rows: I64Matrix = np.zeros((nodes.n_slots, N_RESULTS), dtype=np.int64)
        self.marks: I8Array = np.empty(0, dtype=np.int8)
        self._node_version = nodes.node_journal.version
        self._allowed: list[int] = []

    def forget(self) -> None:
        """Invalidate the results of all slots."""
        self.rows[:, 0] = 0

    def catch_up(self, nodes: NodeColumns, budgets: BudgetIndex) -> None:
        """Invalidate results after changes of nodes and budgets; `written` covers pods."""
        changed = nodes.node_journal.since(self._node_version)
        if changed is None:
            self.forget()
        else:
            self.rows[changed, 0] = 0
        self._node_version = nodes.node_journal.version
        if self._allowed != budgets.allowed:
            # If a budget covers other pods than before, all slots are rewritten anyway.
            self.forget()
            self._allowed = list(budgets.allowed)

    def reserve(self, n_pool: int) -> None:
        """Make room for the marks of a pool of `n_pool` places."""
        if len(self.marks) < n_pool:
            longer: I8Array = np.empty(n_pool, dtype=np.int8)
            longer[: len(self.marks)] = self.marks
            self.marks = longer


class DryRunCache:
    """The results for the most recent kinds of preemptors."""

    def __init__(self, nodes: NodeColumns, budgets: BudgetIndex) -> None:
        self._nodes = nodes
        self._budgets = budgets
        self._kept: OrderedDict[tuple[int, bytes], TriedSlots] = OrderedDict()

    def of(self, priority: int, pairs: I64Array) -> TriedSlots:
        """Return the results for a kind of preemptor, to read and to update.

        Parameters
        ----------
        priority : int
        pairs : (2 * n_requested,) int64
            Pairs of resource column and requested amount.
        """
        key = (priority, pairs.tobytes())
        tried = self._kept.pop(key, None)
        if len(self._kept) >= _MOST_KEPT:
            # Reuse the arrays of the least recently used kind.
            _, tried = self._kept.popitem(last=False)
            tried.forget()
        if tried is None or len(tried.rows) != self._nodes.n_slots:
            tried = TriedSlots(self._nodes)
        self._kept[key] = tried
        tried.catch_up(self._nodes, self._budgets)
        return tried
