"""The study of GPU fragmentation: pods of the openb trace arrive until the GPUs are full.

The pods of a list arrive in a random order, and more of them, or fewer, until they request a
multiple of all GPUs (the tuning ratio). Each is scheduled once: one that fits nowhere is deleted,
nothing ends, and nothing is preempted. After each pod, the allocated share of the GPUs and the
fragments are measured. The random choices are those of Go's generator in the published order, so
that a run with the same seed has the same series.

With inflation, further pods arrive at the end of a run, until all requests reach what the nodes
have.

Upstream: hkust-adsl/kubernetes-scheduler-simulator pkg/simulator/simulator.go, `SortClusterPods`,
`TunePodsByNodeTotalResource`, `generateWorkloadInflationPods`; pkg/apply/apply.go
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from podwright._arrays import F64Array, I64Array
from podwright.apimachinery.objects import (
    GPU_COUNT,
    ArgumentError,
    Node,
    Object,
    Pod,
    quantity_milli_value,
    quantity_value,
    with_fields,
)
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import read_configuration
from podwright.scheduler.framework import TieRule
from podwright.simulation.studies.fragments import TypicalPod, Workload, typical_pods
from podwright.simulation.studies.go_random import GoRandom
from podwright.simulation.studies.gpu_devices import WHOLE_MILLI, gpu_request, requested_milli_cpu
from podwright.simulation.studies.gpu_policies import (
    BestFitGpu,
    ClusteringGpu,
    DotProductGpu,
    FragmentationGradientDescent,
    GpuPolicy,
    NodeFragments,
    PackingGpu,
    RandomGpu,
)

POLICIES: Final[dict[str, type[GpuPolicy]]] = {
    "01-Random": RandomGpu,
    "02-DotProd": DotProductGpu,
    "03-GpuClustering": ClusteringGpu,
    "04-GpuPacking": PackingGpu,
    "05-BestFit": BestFitGpu,
    "06-FGD": FragmentationGradientDescent,
}
"""The policies by their names in the published tables."""

_DRAWS_OF_INFORMERS: Final = 10
"""Each informer of the published simulator's scheduler draws one number when it starts."""


class FgdTrace(NamedTuple):
    """Nodes and pods of the openb trace, and what is typical of the pods.

    Attributes
    ----------
    nodes : tuple of Node
        In the order of their names.
    pods : tuple of Pod
        In the order of their names.
    typical : tuple of TypicalPod
    """

    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    typical: tuple[TypicalPod, ...]

    @classmethod
    def of(cls, objects: Iterable[Object]) -> FgdTrace:
        """Return the trace of the nodes and pods among `objects`; those of other kinds are ignored.

        Raises
        ------
        ArgumentError
            If no node has GPUs, or no pod requests one.
        """
        given = list(objects)
        nodes = sorted((o for o in given if isinstance(o, Node)), key=lambda node: node.name)
        pods = sorted((o for o in given if isinstance(o, Pod)), key=lambda pod: pod.name)
        if not any(GPU_COUNT in node.status.allocatable for node in nodes):
            raise ArgumentError(f"nodes: none of {len(nodes)} has {GPU_COUNT}")
        if not any(gpu_request(pod).devices for pod in pods):
            raise ArgumentError(f"pods: none of {len(pods)} has the annotation {GPU_COUNT}")
        return cls(tuple(nodes), tuple(pods), typical_pods(map(_kind, pods)))

    @property
    def total_milli(self) -> int:
        """Thousandths of all GPUs."""
        return WHOLE_MILLI * sum(
            quantity_value(node.status.allocatable.get(GPU_COUNT, "0")) for node in self.nodes
        )

    @property
    def total_milli_cpu(self) -> int:
        """CPU of all nodes."""
        return sum(quantity_milli_value(node.status.allocatable["cpu"]) for node in self.nodes)


class Measure(NamedTuple):
    """The state of the GPUs after a pod.

    Attributes
    ----------
    allocated_pct : float
        The allocated share of all GPUs, in percent.
    fragment_pct : float
        The fragments, in percent of all GPUs.
    fragment_ratio_pct : float
        The fragments, in percent of the free GPUs.
    """

    allocated_pct: float
    fragment_pct: float
    fragment_ratio_pct: float


class FgdRun(NamedTuple):
    """The series of one run: an entry for each pod that arrived.

    Attributes
    ----------
    policy : str
    seed : int
    arrived_pct : (n,) int64
        What all pods so far have requested, in whole percent of all GPUs.
    allocated_pct, fragment_pct, fragment_ratio_pct : (n,) float64
        See `Measure`.
    failed : int
        Pods that fit nowhere.
    inflated : Measure, optional
        After the pods of the inflation.
    """

    policy: str
    seed: int
    arrived_pct: I64Array
    allocated_pct: F64Array
    fragment_pct: F64Array
    fragment_ratio_pct: F64Array
    failed: int
    inflated: Measure | None = None

    def at(self, percent: int) -> Measure | None:
        """Return the means of the entries with `percent` of all GPUs arrived; None without any.

        If none has exactly so much, those with one percent less or more count.
        """
        columns = (self.allocated_pct, self.fragment_pct, self.fragment_ratio_pct)
        for distance in (0, 1):
            rows = np.abs(self.arrived_pct - percent) == distance
            if rows.any():
                return Measure(*(float(column[rows].mean()) for column in columns))
        return None


def run_fgd(
    trace: FgdTrace,
    policy: str,
    seed: int,
    *,
    tuning_ratio: float = 1.3,
    inflation_ratio: float | None = None,
    tie_rule: TieRule = TieRule.FIRST,
) -> FgdRun:
    """Schedule the pods of a trace by one policy.

    Parameters
    ----------
    trace : FgdTrace
    policy : str
        A key of `POLICIES`.
    seed : int
        Of the order of pods and nodes, and of the random policy.
    tuning_ratio : float
        How much the pods request, as a multiple of all GPUs, by default that of the published
        runs; 0: what the list requests.
    inflation_ratio : float, optional
        The number of pods with those of the inflation, as a multiple of the list's; more than 1.
    tie_rule : TieRule
        FIRST as in the published runs, whose nodes have random names; DRAWN as kube-scheduler.

    Raises
    ------
    ArgumentError
        If an argument is not valid.
    """
    if policy not in POLICIES:
        raise ArgumentError(f"policy: {policy!r} is not one of {', '.join(POLICIES)}")
    if not (math.isfinite(tuning_ratio) and tuning_ratio >= 0):
        raise ArgumentError(f"tuning_ratio: {tuning_ratio} is not a number of at least 0")
    if inflation_ratio is not None and not (math.isfinite(inflation_ratio) and inflation_ratio > 1):
        raise ArgumentError(f"inflation_ratio: {inflation_ratio} is not a number above 1")
    random = GoRandom(seed)
    random.uint64()
    arriving = list(trace.pods)
    random.shuffle(arriving)
    _tune(arriving, trace, tuning_ratio, random)
    for _ in range(_DRAWS_OF_INFORMERS):
        random.uint64()
    experiment = _Experiment(trace, policy, seed, tie_rule, random.permutation(len(trace.nodes)))
    run = experiment.schedule_all(arriving)
    if inflation_ratio is None:
        return run
    for pod in _inflation(arriving, trace, inflation_ratio, random):
        experiment.place(pod)
    return run._replace(inflated=experiment.measure())


def _tune(pods: list[Pod], trace: FgdTrace, ratio: float, random: GoRandom) -> None:
    """Remove pods, or append clones, until they request a multiple of all GPUs.

    As upstream, the last clone is compared with its request of one device.
    """
    if not ratio:
        return
    limit = ratio * trace.total_milli
    requested = sum(gpu_request(pod).total_milli for pod in pods)
    if requested > limit:
        while requested > limit:
            removed = pods.pop(random.below(len(pods)))
            requested -= gpu_request(removed).total_milli
        return
    number = 0
    while requested != limit:
        pod = trace.pods[random.below(len(trace.pods))]
        request = gpu_request(pod)
        if requested + request.milli > limit:
            return
        requested += request.total_milli
        pods.append(_clone(pod, f"{pod.name}-tuned-{number}"))
        number += 1


def _inflation(
    arrived: Sequence[Pod], trace: FgdTrace, ratio: float, random: GoRandom
) -> Iterator[Pod]:
    """Yield clones of random pods, as long as all requests stay below what the nodes have."""
    milli_cpu = sum(requested_milli_cpu(pod) for pod in arrived)
    gpu_milli = sum(gpu_request(pod).total_milli for pod in arrived)
    for number in range(math.ceil(len(trace.pods) * ratio) - len(trace.pods)):
        pod = trace.pods[random.below(len(trace.pods))]
        milli_cpu += requested_milli_cpu(pod)
        gpu_milli += gpu_request(pod).total_milli
        if milli_cpu > trace.total_milli_cpu or gpu_milli > trace.total_milli:
            return
        yield _clone(pod, f"{pod.name}-clone-{number}")


def _clone(pod: Pod, name: str) -> Pod:
    """Return the pod under another name, and with another uid: its devices are its own."""
    return with_fields(pod, "metadata", name=name, uid=f"{pod.uid}/{name}")


class _Experiment:
    """A scheduler with one policy, and what it has allocated."""

    def __init__(
        self, trace: FgdTrace, policy: str, seed: int, tie_rule: TieRule, places: Sequence[int]
    ) -> None:
        self.policy, self.seed = policy, seed
        cls = POLICIES[policy]
        document = fgd_configuration(cls, trace.typical, seed)
        configuration = read_configuration(document, source="the policy")
        self._scheduler = Scheduler(configuration, plugins=[cls], seed=seed, tie_rule=tie_rule)
        # The published names decide ties: they begin with a random number.
        self._scheduler.add(*(
            with_fields(node, "metadata", name=f"{place:04d}-{node.name}")
            for node, place in zip(trace.nodes, places, strict=True)
        ))  # fmt: skip
        profile = next(iter(self._scheduler.profiles.values()))
        plugin = next(one for one in profile.all_plugins() if isinstance(one, GpuPolicy))
        self._fragments = NodeFragments(plugin.devices, Workload.of(trace.typical))
        self._total_milli = trace.total_milli
        self._allocated_milli = 0

    def schedule_all(self, pods: Sequence[Pod]) -> FgdRun:
        """Schedule pods in turn, and measure after each."""
        arrived = np.cumsum([gpu_request(pod).total_milli for pod in pods], dtype=np.int64)
        percents = np.rint(100 * arrived / self._total_milli).astype(np.int64)
        entries = [(self.place(pod), *self.measure()) for pod in pods]
        placed, allocated, fragment, ratio = np.array(entries, np.float64).reshape(-1, 4).T
        failed = len(pods) - int(placed.sum())
        return FgdRun(self.policy, self.seed, percents, allocated, fragment, ratio, failed)

    def measure(self) -> Measure:
        """Return the current state of the GPUs."""
        free = self._total_milli - self._allocated_milli
        fragment = float(self._fragments.bring_up_to_date(self._scheduler.cluster).sum())
        return Measure(
            allocated_pct=round(100 * self._allocated_milli / self._total_milli, 2),
            fragment_pct=100 * fragment / self._total_milli,
            fragment_ratio_pct=100 * fragment / free if free else 0.0,
        )

    def place(self, pod: Pod) -> bool:
        """Schedule a pod, and remove it if it fits nowhere; return whether it has a node."""
        is_placed = bool(self._scheduler.schedule(pod).node)
        if is_placed:
            self._allocated_milli += gpu_request(pod).total_milli
        else:
            self._scheduler.remove(pod)
        return is_placed


def fgd_configuration(
    plugin: type[GpuPolicy], typical: Sequence[TypicalPod], seed: int = 0
) -> dict[str, Any]:
    """Return a KubeSchedulerConfiguration in which one policy alone scores.

    Parameters
    ----------
    plugin : type
        The policy.
    typical : sequence of TypicalPod
        The workload for `FragmentationGradientDescent`.
    seed : int
        For `RandomGpu`.
    """
    arguments: dict[str, Any] = {}
    if plugin is FragmentationGradientDescent:
        arguments = {"typicalPods": msgspec.to_builtins(list(typical))}
    elif plugin is RandomGpu:
        arguments = {"seed": seed}
    profile: dict[str, Any] = {
        "schedulerName": "default-scheduler",
        "plugins": {
            "multiPoint": {"enabled": [{"name": plugin.name}]},
            "score": {"disabled": [{"name": "*"}], "enabled": [{"name": plugin.name}]},
            "postFilter": {"disabled": [{"name": "*"}]},
        },
    }
    if arguments:
        profile["pluginConfig"] = [{"name": plugin.name, "args": arguments}]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": 100,
        "profiles": [profile],
    }


def _kind(pod: Pod) -> TypicalPod:
    request = gpu_request(pod)
    return TypicalPod(
        milli_cpu=requested_milli_cpu(pod),
        gpu_milli=request.milli,
        gpu_count=request.devices,
        models="|".join(request.models),
    )
