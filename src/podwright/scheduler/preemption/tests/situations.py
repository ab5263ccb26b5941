"""Small clusters in which preemption is necessary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from podwright.apimachinery.objects import Object, Pod, decode_pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly.build import build_profiles
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import DEFAULT_GATES, KubeSchedulerConfiguration, effective
from podwright.scheduler.framework import Plugin
from podwright.scheduler.framework.post_filter import FilteredCycle
from podwright.scheduler.framework.profile import Profile
from podwright.scheduler.framework.run import PluginRunner

NOW_NS = 1_900_000_000_000_000_000


def profile(plugins: Iterable[type[Plugin]] = ()) -> Profile:
    registry = Registry(plugins)
    configuration = effective(
        registry.enable_own(KubeSchedulerConfiguration()),
        DEFAULT_GATES,
        implements=registry.points_of,
    )
    return build_profiles(configuration, registry)["default-scheduler"]


def node(name: str, cpu: str = "2", **spec: Any) -> Object:
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "spec": spec,
            "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}},
        }
    )


def pod(
    name: str,
    cpu: str = "1",
    *,
    priority: int = 0,
    on: str = "",
    started: str = "",
    labels: dict[str, str] | None = None,
    nominated: str = "",
    terminating: bool = False,
    **spec: Any,
) -> Pod:
    status: dict[str, Any] = {"startTime": started} if started else {}
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "labels": labels or {},
    }
    if nominated:
        status["nominatedNodeName"] = nominated
    if terminating:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        status["conditions"] = [
            {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        ]
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return decode_pod(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {
                "nodeName": on,
                "priority": priority,
                "schedulerName": "default-scheduler",
                "containers": [container],
                **spec,
            },
            "status": status,
        }
    )


def budget(name: str, allowed: int, labels: dict[str, str] | None, **status: Any) -> Object:
    selector = None if labels is None else {"matchLabels": labels}
    return decode(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": selector},
            "status": {"disruptionsAllowed": allowed, **status},
        }
    )


def cluster_of(*objects: Object) -> Cluster:
    cluster = Cluster()
    for obj in objects:
        cluster.put(obj)
    return cluster


def failed_cycle(
    preemptor: Pod, cluster: Cluster, number: int = 1, plugins: Iterable[type[Plugin]] = ()
) -> FilteredCycle:
    """Decide for a pod that fits on no node."""
    runner = PluginRunner(profile(plugins), cluster)
    runner.decide(preemptor, cycle_number=number)
    failed = runner._failed
    assert failed is not None
    failed.cycle_number, failed.now_ns = number, NOW_NS
    return failed


def attempt(preemptor: Pod, *objects: Object) -> Any:
    """Decide for a pod and run PostFilter; return the decision."""
    runner = PluginRunner(profile(), cluster_of(*objects))
    decision = runner.decide(preemptor, cycle_number=1)
    return runner.post_filter(decision, cycle_number=1, now_ns=NOW_NS)
