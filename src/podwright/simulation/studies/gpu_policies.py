"""The scheduling policies of the study of GPU fragmentation, as plugins.

Each of them filters nodes by the devices that a pod requests, scores them, and assigns the devices
at Reserve. PreBind writes them to the pod, as `alibabacloud.com/gpu-index`. A profile enables
one of them, and disables the other score plugins.

| plugin | takes the node |
|---|---|
| `RandomGpu` | drawn at random |
| `DotProductGpu` | whose free resources are aligned least with the request |
| `ClusteringGpu` | with pods of the same kind |
| `PackingGpu` | whose devices are shared already, then those partly used |
| `BestFitGpu` | with the least left |
| `FragmentationGradientDescent` | whose fragments grow least |

Upstream: hkust-adsl/kubernetes-scheduler-simulator pkg/simulator/plugin/open_gpu_share.go,
random_score.go, dot_product_score.go, gpu_clustering_score.go, gpu_packing_score.go,
best_fit_score.go, fgd_score.go
"""

from __future__ import annotations

from binascii import crc32
from collections.abc import Hashable
from typing import ClassVar, Final, NamedTuple

import msgspec
import numpy as np

from podwright._arrays import F64Array, I32Array, I64Array, I64Matrix, Mask
from podwright.apimachinery.objects import (
    GPU_CARD_MODEL,
    GPU_INDEX,
    GPU_MILLI,
    Pod,
    draw,
)
from podwright.scheduler.columns import CPU, Cluster, NodeColumns, Reads
from podwright.scheduler.framework import (
    Cycle,
    Normalization,
    Pending,
    Plugin,
    PodMetadataPatch,
    Progress,
    Scores,
    StateKey,
    Status,
    Verdicts,
    add_custom_result,
)
from podwright.simulation.studies.fragments import TypicalPod, Workload, fragments
from podwright.simulation.studies.gpu_devices import (
    WHOLE_MILLI,
    GpuDevices,
    GpuRequest,
    gpu_request,
    least_sufficient,
    requested_milli_cpu,
)

_GREATEST_MILLI_CPU: Final = 128_000
_GREATEST_GPU_MILLI: Final = 8_000
"""What the published policies divide amounts by: the largest node of the trace."""

_NO_GPU: Final = Status.unresolvable("node(s) without a GPU of an accepted model")
_TOO_LITTLE: Final = Status.unschedulable(f"Insufficient {GPU_MILLI} on its devices")


class Candidates(NamedTuple):
    """The nodes that a policy scores, and what a pod requests.

    Attributes
    ----------
    rows : (k,) int32
        The slots of the nodes.
    free_milli_cpu : (k,) int64
        What is left of their CPUs.
    left : (k, width) int64
        What is left of each device.
    request : GpuRequest
    milli_cpu : int
        The CPU that the pod requests.
    cluster : Cluster
    """

    rows: I32Array
    free_milli_cpu: I64Array
    left: I64Matrix
    request: GpuRequest
    milli_cpu: int
    cluster: Cluster

    @property
    def free_gpu_milli(self) -> I64Array:
        """What is left of all devices of each node, (k,) int64."""
        total: I64Array = np.where(self.left > 0, self.left, 0).sum(axis=1)
        return total


class GpuPolicy(Plugin):
    """Devices of the openb trace: the filter, the assignment, and what all policies share."""

    filter_reads = Reads.NODE | Reads.PODS
    score_reads = Reads.NODE | Reads.PODS
    scores_in_range = True

    def __init__(self) -> None:
        self.devices = GpuDevices()

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the requests of the pod."""
        return (requested_milli_cpu(pod), *gpu_request(pod))

    def key_is_of_template(self, pod: Pod) -> bool:
        """Return False: the requests of devices are annotations."""
        return False

    def remembers(self) -> bool:
        """Return whether pods have devices that their annotations do not name."""
        return self.devices.has_unwritten

    # ------------------------------------------------------------ filtering

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Reject nodes without enough devices of an accepted model."""
        request = gpu_request(cycle.pod)
        if not request.devices:
            return
        self.devices.bring_up_to_date(cycle.cluster)
        left = self.devices.left
        accepted = (left[:, 0] >= 0) & _accepting(nodes, request.models)
        out.reject(~accepted, _NO_GPU)
        out.reject((left >= request.milli).sum(axis=1) < request.devices, _TOO_LITTLE)

    # ------------------------------------------------------------ scoring

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        """Score the rows by the policy."""
        self.devices.bring_up_to_date(cycle.cluster)
        rows = out.rows
        free = nodes.allocatable[rows, CPU] - nodes.requested[rows, CPU]
        request, milli_cpu = gpu_request(cycle.pod), requested_milli_cpu(cycle.pod)
        given = Candidates(rows, free, self.devices.left[rows], request, milli_cpu, cycle.cluster)
        out.values[rows] = self.scores(given)

    def scores(self, given: Candidates) -> I64Array:
        """Return the raw scores of the nodes of `given`, (k,) int64."""
        raise NotImplementedError

    # ------------------------------------------------------------ placing

    def device_of_share(self, cycle: Cycle, slot: int, left: I64Array, request: GpuRequest) -> int:
        """Return the device for a pod that shares one; by default the one with the least left.

        Parameters
        ----------
        cycle : Cycle
            The pod, and the state of the cycle.
        slot : int
            The slot of the node.
        left : (width,) int64
            What is left of each device, in thousandths; the device must have enough.
        request : GpuRequest
            What the pod requests.
        """
        return least_sufficient(left, request)[0]

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        """Assign the devices of the node to the pod."""
        request = gpu_request(cycle.pod)
        if not request.devices:
            return Status.OK
        cluster = cycle.cluster
        slot = cluster.nodes.slot_of[node_name]
        left, _ = self.devices.left_of(cluster, slot, without=cycle.pod.metadata.uid)
        devices = sorted(least_sufficient(left, request))
        if len(devices) < request.devices:
            return _TOO_LITTLE
        if request.is_share:
            devices = [self.device_of_share(cycle, slot, left, request)]
        self.devices.assign(cycle.pod, devices)
        text = "-".join(map(str, devices))
        cycle.write(_CHOSEN, text)
        add_custom_result(cycle, GPU_INDEX, text)
        return Status.OK

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        """Release the devices."""
        self.devices.release(cycle.pod)

    def pod_ended(self, pod: Pod) -> None:
        """Release the devices."""
        self.devices.release(pod)

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        """Write the devices to the pod."""
        chosen = cycle.find(_CHOSEN)
        if chosen is None:
            return Status.OK
        return Pending(calls=(PodMetadataPatch(annotations={GPU_INDEX: chosen}),))

    def continue_pre_bind(
        self, cycle: Cycle, node_name: str, progress: Progress
    ) -> Status | Pending:
        """Bind the pod once its devices are written."""
        (answer,) = progress.answers
        return Status.OK if answer.error is None else Status.error(answer.error.message)


_CHOSEN: StateKey[str] = StateKey("podwright/gpu-index")


class RandomGpu(GpuPolicy):
    """Take a node at random.

    Parameters
    ----------
    seed : int
        A pod gets the same draw whenever it is tried.
    """

    name = "RandomGpu"
    score_reads = Reads.CLUSTER

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.seed = seed

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the pod itself: each has its own draw."""
        return (pod.key, pod.metadata.uid)

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        """Give one feasible node 100, and the others 0."""
        out.clear()
        feasible = out.rows if out.feasible is None else np.flatnonzero(out.feasible)
        if len(feasible):
            out.values[feasible[self._draw(cycle.pod, 0) % len(feasible)]] = 100

    def device_of_share(self, cycle: Cycle, slot: int, left: I64Array, request: GpuRequest) -> int:
        """Return a random device with enough left."""
        sufficient = np.flatnonzero(left >= request.milli)
        return int(sufficient[self._draw(cycle.pod, 1) % len(sufficient)])

    def _draw(self, pod: Pod, stream: int) -> int:
        return draw(self.seed, stream, crc32(pod.metadata.uid.encode()))


class DotProductGpu(GpuPolicy):
    """Take the node whose free resources are aligned least with the request."""

    name = "DotProductGpu"

    def scores(self, given: Candidates) -> I64Array:
        """Return 100 less half of the dot product of what is left and what is requested."""
        free_gpu = given.free_gpu_milli / _GREATEST_GPU_MILLI
        gpu = given.request.total_milli / _GREATEST_GPU_MILLI
        cpu = given.milli_cpu / _GREATEST_MILLI_CPU
        product = (given.free_milli_cpu / _GREATEST_MILLI_CPU) * cpu + free_gpu * gpu
        return (100 * (1 - product / 2)).astype(np.int64)


class ClusteringGpu(GpuPolicy):
    """Keep pods of one kind together: those that share a device, and those with n devices."""

    name = "ClusteringGpu"

    def scores(self, given: Candidates) -> I64Array:
        """Return up to 75 for the pods on a node, and up to 25 for what is used of its GPUs."""
        tag = given.request.tag
        if not tag:
            return np.zeros(len(given.rows), dtype=np.int64)
        tags = self.devices.tags[given.rows]
        same = np.select([tags == 0, tags == tag, tags & tag != 0], [25, 75, 50], 0)
        used = 25 * (_GREATEST_GPU_MILLI - given.free_gpu_milli) // _GREATEST_GPU_MILLI
        scores: I64Array = used + same
        return scores


class PackingGpu(GpuPolicy):
    """Take devices that are shared already, then nodes that are partly used, then free nodes."""

    name = "PackingGpu"

    def scores(self, given: Candidates) -> I64Array:
        """Return the best score that the devices of each node allow."""
        request, left = given.request, given.left
        if not request.devices:
            return np.zeros(len(left), dtype=np.int64)
        free = (left == WHOLE_MILLI).sum(axis=1)
        is_unused = free == (left >= 0).sum(axis=1)
        taken = np.sort(np.where(left >= request.milli, left, WHOLE_MILLI + 1), axis=1)
        taken = taken[:, : request.devices]
        newly_used = (taken == WHOLE_MILLI).sum(axis=1)
        share = (taken * 100 // WHOLE_MILLI).sum(axis=1) // 10
        scores: I64Array = np.where(
            is_unused,
            np.maximum(33 - free, free),
            np.where(newly_used > 0, np.maximum(50 - newly_used, 33), np.maximum(100 - share, 50)),
        )
        return scores


class BestFitGpu(GpuPolicy):
    """Take the node with the least left."""

    name = "BestFitGpu"
    normalization = Normalization.CUSTOM

    def scores(self, given: Candidates) -> I64Array:
        """Return 100 less the mean of the shares of CPU and GPUs that stay free."""
        cpu = (given.free_milli_cpu - given.milli_cpu) / _GREATEST_MILLI_CPU
        gpu = (given.free_gpu_milli - given.request.total_milli) / _GREATEST_GPU_MILLI
        return ((1 - 0.5 * (cpu + gpu)) * 100).astype(np.int64)

    def normalize_score(self, cycle: Cycle, out: Scores) -> None:
        """Scale the scores to 0 to 100; equal scores become 0."""
        scores = out.values[out.rows]
        above = scores - scores.min()
        out.values[out.rows] = above * 100 // max(above.max(), 1)


class FragmentationGradientArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The workload that fragments are measured for.

    Parameters
    ----------
    typical_pods : list of TypicalPod
        As `podwright study fgd --print-config` prints them.
    """

    typical_pods: list[TypicalPod] = []


class FragmentationGradientDescent(GpuPolicy):
    """Take the node, and the device, whose fragments grow least.

    Parameters
    ----------
    args : FragmentationGradientArgs
        The typical pods, for which a device with too little left is a fragment.
    """

    name = "FragmentationGradientDescent"
    Args: ClassVar[type[FragmentationGradientArgs]] = FragmentationGradientArgs

    def __init__(self, args: FragmentationGradientArgs) -> None:
        super().__init__()
        if not args.typical_pods:
            raise ValueError("typicalPods: required; `podwright study fgd --print-config` has them")
        self.fragments = NodeFragments(self.devices, Workload.of(args.typical_pods))

    def scores(self, given: Candidates) -> I64Array:
        """Return how much the fragments of each node would grow, as a sigmoid: 50 for not."""
        rows, left, request = given.rows, given.left, given.request
        if not request.devices and not given.milli_cpu:
            return np.full(len(rows), 100, dtype=np.int64)
        before = self.fragments.bring_up_to_date(given.cluster)[rows]
        after_cpu = given.free_milli_cpu - given.milli_cpu
        if request.is_share:
            best: I64Array = self._shares(rows, before, after_cpu, left, request).max(axis=1)
            return np.maximum(best, 0)
        after = self.fragments.of(rows, after_cpu, _without(left, request))
        return _gradient(before, after)

    def device_of_share(self, cycle: Cycle, slot: int, left: I64Array, request: GpuRequest) -> int:
        """Return the device with the best score, the first of equal ones."""
        nodes = cycle.cluster.nodes
        rows = np.array([slot], dtype=np.int32)
        # The pod counts on its node already.
        after_cpu = nodes.allocatable[rows, CPU] - nodes.requested[rows, CPU]
        before_cpu = after_cpu + requested_milli_cpu(cycle.pod)
        before = self.fragments.of(rows, before_cpu, left[np.newaxis])
        return int(self._shares(rows, before, after_cpu, left[np.newaxis], request)[0].argmax())

    def _shares(
        self,
        rows: I32Array,
        before: F64Array,
        after_cpu: I64Array,
        left: I64Matrix,
        request: GpuRequest,
    ) -> I64Matrix:
        """Return the score of each device, (k, width) int64; -1 where it does not fit.

        Of devices with equal amounts left, which score alike, only the first one has it.
        """
        scores = np.full(left.shape, -1, dtype=np.int64)
        index, device = np.nonzero((left >= request.milli) & _is_first(left))
        after = left[index]
        after[np.arange(len(index)), device] -= request.milli
        amounts = self.fragments.of(rows[index], after_cpu[index], after)
        scores[index, device] = _gradient(before[index], amounts)
        return scores


class NodeFragments:
    """The fragment of each node, for the typical pods of a workload.

    Parameters
    ----------
    devices : GpuDevices
        Those of the nodes.
    workload : Workload
    """

    def __init__(self, devices: GpuDevices, workload: Workload) -> None:
        self._devices = devices
        self._workload = workload
        self._amounts: F64Array = np.empty(0, dtype=np.float64)
        self._versions: I64Array = np.empty(0, dtype=np.int64)
        self._accepting: Mask = np.empty((len(workload.models), 0), dtype=np.bool_)
        self._read: tuple[int, int] | None = None

    def bring_up_to_date(self, cluster: Cluster) -> F64Array:
        """Return the fragment of every slot, (n_slots,) float64."""
        nodes = cluster.nodes
        self._devices.bring_up_to_date(cluster)
        read = (cluster.numbering, nodes.node_journal.version)
        if read != self._read:
            self._read = read
            accepting = [_accepting(nodes, models) for models in self._workload.models]
            self._accepting = np.array(accepting, dtype=np.bool_)
            self._amounts = np.zeros(nodes.n_slots, dtype=np.float64)
            self._versions = np.full(nodes.n_slots, -1, dtype=np.int64)
        stale = np.flatnonzero(self._versions != self._devices.versions).astype(np.int32)
        if len(stale):
            free = nodes.allocatable[stale, CPU] - nodes.requested[stale, CPU]
            self._amounts[stale] = self.of(stale, free, self._devices.left[stale])
            self._versions[stale] = self._devices.versions[stale]
        return self._amounts

    def of(self, rows: I32Array, free_milli_cpu: I64Array, left: I64Matrix) -> F64Array:
        """Return the fragments of nodes with other amounts left; see `fragments`."""
        return fragments(self._workload, free_milli_cpu, left, self._accepting[:, rows])


def _gradient(before: F64Array, after: F64Array) -> I64Array:
    return (100 / (1 + np.exp(-(before - after) / 1000))).astype(np.int64)


def _without(left: I64Matrix, request: GpuRequest) -> I64Matrix:
    """Return what is left after the devices with the least left are taken."""
    fits = left >= request.milli
    order = np.argsort(np.where(fits, left, np.iinfo(np.int64).max), kind="stable")
    is_taken = fits & (np.argsort(order) < request.devices)  # its place in the order
    return np.where(is_taken, left - request.milli, left)


def _is_first(left: I64Matrix) -> Mask:
    """Return for each device whether none before it has the same amount left, (k, width)."""
    is_equal = left[:, :, np.newaxis] == left[:, np.newaxis]
    first: Mask = is_equal.argmax(axis=2) == np.arange(left.shape[1])
    return first


def _accepting(nodes: NodeColumns, models: tuple[str, ...]) -> Mask:
    """Return which nodes have one of the models; all, without models."""
    found: list[Mask] = [nodes.has_label(GPU_CARD_MODEL, model) for model in models]
    return np.logical_or.reduce(found) if found else np.ones(nodes.n_slots, dtype=np.bool_)
