"""Benchmarks of the engine: `PluginRunner.decide` and `Cluster.place`, pod after pod.

Every node is scored, and every pod has its own cycle and full decision. The initial pods are
scheduled as well, before the measurement. Only decisions and placements are measured, without queue
and binding. The figures are in processor time, because nothing here waits; other processes then
affect them less.

The numbers of nodes and pods are those of upstream's largest workloads of the same name:
test/integration/scheduler_perf/{misc,affinity,topology_spreading}/performance-config.yaml.
"""

from __future__ import annotations

import gc
import itertools
import os
import resource
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from tests.perf import templates
from tests.perf.case import MEBIBYTES, OPERATIONS_PER_SECOND, PODS_PER_SECOND, SECONDS, Case

from podwright.apimachinery.objects import Node, Pod, decode_node
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework.run import PluginRunner
from podwright.scheduler.preemption import Preemption
from podwright.testing.parity.sequence import profiles_of

_MIB = 1 << 20


def basic() -> float:
    """SchedulingBasic, 5000Nodes_50000Pods: 5,000 nodes, 5,000 + 50,000 of pod-default."""
    template = templates.pod_document()
    return _throughput(templates.nodes(5_000), [template], [template], (5_000, 50_000))


def distinct() -> float:
    """5,000 nodes, 1,000 of pod-default, then 10,000 pods with different requests."""
    own = [
        templates.pods(
            templates.pod_document(cpu=f"{50 + i % 100}m", memory=f"{100 + i // 100}Mi"),
            1,
            f"distinct-{i}",
        )[0]
        for i in range(10_000)
    ]
    initial = templates.pods(templates.pod_document(), 1_000, "initial")
    return _pods_per_second(_cluster(templates.nodes(5_000)), initial, own)


def labels() -> float:
    """5,000 nodes, 1,000 pods, then 10,000 pods of an indexed Job, each with its own label."""
    template = templates.pod_document(labels={"job-name": "job"})
    members = [
        msgspec.structs.replace(
            pod,
            metadata=msgspec.structs.replace(
                pod.metadata,
                labels=pod.metadata.labels | {"batch.kubernetes.io/job-completion-index": str(i)},
            ),
        )
        for i, pod in enumerate(templates.pods(template, 11_000, "member"))
    ]
    return _pods_per_second(_cluster(templates.nodes(5_000)), members[:1_000], members[1_000:])


def spread_hard() -> float:
    """TopologySpreading, 5000Nodes_5000Pods: 3 zones, 5,000 of pod-default, 5,000 spreading."""
    return _spreading("DoNotSchedule")


def spread_soft() -> float:
    """PreferredTopologySpreading, 5000Nodes_5000Pods: as `spread_hard`, preferred."""
    return _spreading("ScheduleAnyway")


def affinity_required() -> float:
    """SchedulingPodAffinity, 5000Nodes_5000Pods: one zone, 5,000 in sched-0, 5,000 in sched-1."""
    of = templates.pod_affinity
    return _throughput(
        templates.nodes(5_000, ["zone1"]), [of("sched-0")], [of("sched-1")], (5_000, 5_000)
    )


def affinity_preferred() -> float:
    """SchedulingPreferredPodAffinity, 5000Nodes_5000Pods: over hosts, 5,000 and 5,000."""
    of = templates.preferred_pod_affinity
    return _throughput(templates.nodes(5_000), [of("sched-0")], [of("sched-1")], (5_000, 5_000))


def antiaffinity() -> float:
    """SchedulingPodAntiAffinity, 5000Nodes_2000Pods: over hosts, 1,000 and 2,000."""
    of = templates.pod_anti_affinity
    return _throughput(templates.nodes(5_000), [of("sched-0")], [of("sched-1")], (1_000, 2_000))


def nodeaffinity() -> float:
    """SchedulingNodeAffinity, 5000Nodes_10000Pods: one zone, 5,000 and 10,000."""
    template = templates.node_affinity()
    nodes = templates.nodes(5_000, ["zone1"])
    return _throughput(nodes, [template], [template], (5_000, 10_000))


def preemption() -> float:
    """PreemptionBasic: 5,000 nodes full of 20,000 low pods; preempting decisions/s.

    Each of 5,000 high pods has one decision and one PostFilter; then its three victims are
    removed and it is placed.
    """
    cluster = _cluster(templates.nodes(5_000))
    runner = _runner(cluster)
    number = 0
    for pod in templates.pods(templates.low_priority(), 20_000, "low"):
        cluster.place(pod, runner.decide(pod, cycle_number=number).slot)
        number += 1
    high = templates.pods(templates.high_priority(), 5_000, "high")
    gc.collect()
    start_s = time.process_time()
    for pod in high:
        number += 1
        decision = runner.decide(pod, cycle_number=number)
        result = runner.post_filter(decision, cycle_number=number, now_ns=number).post_filter
        assert result is not None
        assert isinstance(result.details, Preemption)
        for victim in result.details.victims:
            cluster.remove(victim.key)
        cluster.place(pod, cluster.nodes.slot_of[result.nominated_node or ""])
    elapsed_s = time.process_time() - start_s
    assert len(cluster.pods) == 20_000 - 2 * 5_000
    return len(high) / elapsed_s


def basic_large() -> float:
    """SchedulingBasic on 130,000 nodes: 5,000 + 50,000 of pod-default."""
    template = templates.pod_document()
    return _throughput(templates.nodes(130_000), [template], [template], (5_000, 50_000))


def memory_large() -> float:
    """Growth of the resident set: 130,000 realistic nodes, 1,000,000 placed pods.

    The nodes are decoded from JSON one by one and keep their documents. The pods come from 100
    templates, share their specs, and are placed in turn. One decision for each template
    follows, so that its ranking is included.
    """
    _cluster_of_one()
    before = _resident_bytes()
    cluster = _cluster(decode_node(templates.lifelike_node_json(i)) for i in range(130_000))
    documents = [
        templates.pod_document(labels={"app": f"app-{i}"}, cpu=f"{10 + i}m", memory=f"{64 + i}Mi")
        for i in range(100)
    ]
    slots = itertools.cycle(range(130_000))
    for number, document in enumerate(documents):
        for pod in templates.pods(document, 10_000, f"app-{number}"):
            cluster.place(pod, next(slots))
    runner = _runner(cluster)
    for number, document in enumerate(documents):
        (pod,) = templates.pods(document, 1, f"next-{number}")
        assert runner.decide(pod, cycle_number=number).node
    gc.collect()
    return (_resident_bytes() - before) / _MIB


def first_decision() -> float:
    """From the start of the process to the first decision on 5,000 nodes, with compiled kernels."""
    cluster = _cluster(templates.nodes(5_000))
    (pod,) = templates.pods(templates.pod_document(), 1)
    assert _runner(cluster).decide(pod, cycle_number=0).node
    return 0.0


# -------------------------------------------------------------------- implementation


def _spreading(when_unsatisfiable: str) -> float:
    return _throughput(
        templates.nodes(5_000, ["moon-1", "moon-2", "moon-3"]),
        [templates.pod_document()],
        [templates.spreading(when_unsatisfiable)],
        (5_000, 5_000),
    )


def _throughput(
    nodes: Sequence[Node],
    initial: Sequence[templates.Document],
    measured: Sequence[templates.Document],
    counts: tuple[int, int],
) -> float:
    """Return pods per second for pods of templates, used in turn."""
    return _pods_per_second(
        _cluster(nodes), _in_turn(initial, counts[0], "i"), _in_turn(measured, counts[1], "m")
    )


def _in_turn(documents: Sequence[templates.Document], count: int, prefix: str) -> list[Pod]:
    share = count // len(documents)
    of_each = [templates.pods(d, share, f"{prefix}{i}") for i, d in enumerate(documents)]
    return [pod for turn in zip(*of_each, strict=True) for pod in turn]


def _pods_per_second(cluster: Cluster, initial: Sequence[Pod], measured: Sequence[Pod]) -> float:
    runner = _runner(cluster)
    decide, place = runner.decide, cluster.place
    for number, pod in enumerate(initial):
        place(pod, decide(pod, cycle_number=number).slot)
    gc.collect()
    number = len(initial)
    start_s = time.process_time()
    for pod in measured:
        decision = decide(pod, cycle_number=number)
        place(pod, decision.slot)
        number += 1
    elapsed_s = time.process_time() - start_s
    assert len(cluster.pods) == len(initial) + len(measured)
    assert all(placed.slot >= 0 for placed in cluster.pods.values()), "every pod finds a node"
    return len(measured) / elapsed_s


def _cluster(nodes: Iterable[Node]) -> Cluster:
    cluster = Cluster()
    for name in ("default", "sched-0", "sched-1"):
        cluster.put(decode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
    for node in nodes:
        cluster.put(node)
    return cluster


def _runner(cluster: Cluster) -> PluginRunner:
    return PluginRunner(profiles_of(None)["default-scheduler"], cluster)


def _cluster_of_one() -> None:
    """Import everything that decisions need, so that it does not count as growth."""
    cluster = _cluster(templates.nodes(1))
    (pod,) = templates.pods(templates.pod_document(), 1)
    assert _runner(cluster).decide(pod, cycle_number=0).node


def _resident_bytes() -> int:
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    # On other platforms the peak is used; it is in KiB, on macOS in bytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1_024


def _pods_case(name: str, measure: object, target: float) -> Case:
    assert callable(measure)
    return Case(name=name, unit=PODS_PER_SECOND, measure=measure, target=target)


CASES = (
    _pods_case("engine_basic_5000", basic, 50_000),
    _pods_case("engine_distinct_5000", distinct, 10_000),
    _pods_case("engine_labels_5000", labels, 50_000),
    _pods_case("engine_spread_hard_5000", spread_hard, 10_000),
    _pods_case("engine_spread_soft_5000", spread_soft, 10_000),
    _pods_case("engine_affinity_required_5000", affinity_required, 10_000),
    _pods_case("engine_affinity_preferred_5000", affinity_preferred, 10_000),
    _pods_case("engine_antiaffinity_5000", antiaffinity, 10_000),
    _pods_case("engine_nodeaffinity_5000", nodeaffinity, 10_000),
    Case(
        name="engine_preemption_5000",
        unit=OPERATIONS_PER_SECOND,
        measure=preemption,
        target=5_000,
    ),
    _pods_case("engine_basic_130000", basic_large, 20_000),
    Case(
        name="engine_memory_130000",
        unit=MEBIBYTES,
        measure=memory_large,
        target=6_144,
        runs=1,
        is_process_per_run=True,
    ),
    Case(
        name="engine_first_decision_5000",
        unit=SECONDS,
        measure=first_decision,
        target=3,
        is_process_per_run=True,
        is_timed_from_start=True,
    ),
)
