"""The memory of a scheduler is bounded by what is there, not by what has been there."""

from __future__ import annotations

import gc
import tracemalloc

import podwright as pw
from podwright.apimachinery.objects import decode_pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns.affinity import selectors
from podwright.scheduler.framework.rankings import ranking_cache

REPLICAS = 2
ROLLOUTS = 60


def rolled_out(scheduler: pw.Scheduler, number: int) -> None:
    """Place the pods of a template that no earlier pod had, and delete them again."""
    labels = {"app": "web", "pod-template-hash": f"h{number}"}
    apart = {"topologyKey": "zone", "labelSelector": {"matchLabels": labels}}
    owner = decode({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": f"web-{number}", "namespace": "default", "uid": f"rs-{number}"},
        "spec": {"selector": {"matchLabels": labels}},
    })  # fmt: skip
    scheduler.add(owner)
    pods = [
        decode_pod({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": f"web-{number}-{replica}", "namespace": "default",
                "uid": f"{number}-{replica}", "labels": labels,
                "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": True,
                     "name": owner.name, "uid": owner.metadata.uid},
                ],
            },
            "spec": {
                "schedulerName": "default-scheduler", "containers": [{"name": "main"}],
                "affinity": {"podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [apart],
                }},
            },
        })
        for replica in range(REPLICAS)
    ]  # fmt: skip
    for pod in pods:
        assert scheduler.schedule(pod).node
    scheduler.remove(owner, *[scheduler.cluster.pods[pod.key].pod for pod in pods])


def test_the_memory_is_flat_while_workloads_are_rolled_out(monkeypatch):
    monkeypatch.setattr(selectors, "_LEAST_IDLE", 20)
    monkeypatch.setattr(ranking_cache, "_ROWS_OF_FEW_NODES", 8)
    scheduler = pw.Scheduler()
    for zone in "abc":
        scheduler.add(pw.testing.make_node(f"node-{zone}", labels={"zone": zone}))
    rollouts = iter(range(10 * ROLLOUTS))

    def roll_out() -> int:
        for _ in range(ROLLOUTS):
            rolled_out(scheduler, next(rollouts))
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        sizes = [roll_out() for _ in range(6)]
    finally:
        tracemalloc.stop()
    # A generation of rollouts keeps 30 KB each while its labels are known.
    assert max(sizes[3:]) < 1.1 * max(sizes[:3]), sizes
