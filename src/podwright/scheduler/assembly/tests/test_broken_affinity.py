"""Preemption of the pods that the preemptor's own affinity requires, and remedies beside it."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Pod, decode_pod, with_fields
from podwright.scheduler.assembly import Scheduler, broken_affinity
from podwright.scheduler.machine import SchedulerOptions
from podwright.testing import make_node

Document = dict[str, Any]
HOSTNAME = "kubernetes.io/hostname"


def pod(
    name: str, priority: int, node: str = "", *, needs_cache: bool = False, cpu: str = "3"
) -> Pod:
    terms = [{"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "cache"}}}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}
    spec: Document = {"containers": [container], "priority": priority, "nodeName": node}
    if needs_cache:
        spec["affinity"] = {"podAffinity": required}
    metadata = {"name": name, "namespace": "shop", "labels": {"app": name.partition("-")[0]}}
    return decode_pod({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def scheduler_of(*pods: Pod) -> Scheduler:
    scheduler = Scheduler(SchedulerOptions())
    nodes = [make_node(name, cpu="4", labels={HOSTNAME: name}) for name in ("a", "b")]
    scheduler.add(*nodes, *pods)
    return scheduler


def test_required_affinity_to_lower_pods_is_named_as_what_stops_preemption():
    caches = [pod("cache-0", 0, "a"), pod("cache-1", 0, "b")]
    scheduler = scheduler_of(*caches, pod("web-0", 100, needs_cache=True))
    limits = scheduler.advice(scheduler.explain("shop/web-0")).limits
    assert limits[0] == (
        "the pod cannot preempt on 2 nodes: its required podAffinity selects pods of lower "
        "priority (shop/cache-0, shop/cache-1), and evicting them would break that affinity"
    )


def test_a_pod_that_preempts_has_no_such_limit_and_no_workload_to_stop():
    scheduler = scheduler_of(pod("cache-0", 0, "a"), pod("cache-1", 0, "b"), pod("web-0", 100))
    explanation = scheduler.explain("shop/web-0")
    assert explanation.decision.post_filter is not None
    assert explanation.decision.post_filter.nominated_node
    advice = scheduler.advice(explanation)
    assert not advice.limits
    assert not [each for each in advice.remedies if each.delete or each.scales]


def test_preemption_that_other_reasons_stop_has_no_such_limit():
    scheduler = scheduler_of(pod("cache-0", 200, "a"), pod("cache-1", 0, "b"), pod("web-0", 100))
    scheduler.remove(scheduler.cluster.pods["shop/cache-1"].pod)
    scheduler.add(pod("cache-2", 200, "b"))
    assert not scheduler.advice(scheduler.explain("shop/web-0")).limits


@pytest.mark.parametrize(
    ("count", "named"),
    [
        (1, "shop/cache-0"),
        (4, "shop/cache-0, shop/cache-1, shop/cache-2, shop/cache-3"),
        (5, "shop/cache-0, shop/cache-1, shop/cache-2, shop/cache-3 and 1 more"),
        (6, "shop/cache-0, shop/cache-1, shop/cache-2, shop/cache-3 and 2 more"),
    ],
)
def test_four_of_the_pods_are_named_and_pods_that_may_stay_are_not(count, named):
    others = [pod("web-1", 0, "a"), pod("cache-9", 100, "b")]
    shown = scheduler_of(
        *(pod(f"cache-{number}", 0, "a", cpu=f"{3000 // count}m") for number in range(count)),
        *(with_fields(each, "metadata", namespace="bar") for each in others),
        pod("web-0", 100, needs_cache=True),
    )  # fmt: skip
    explanation = shown.explain("shop/web-0")
    assert broken_affinity(explanation, shown.cluster) == (
        "the pod cannot preempt on 1 node: its required podAffinity selects pods of lower priority"
        f" ({named}), and evicting them would break that affinity",
    )


def test_a_pod_of_a_higher_priority_is_not_named():
    shown = scheduler_of(
        pod("cache-0", 0, "a", cpu="2"), pod("cache-1", 100, "b", cpu="2"),
        pod("web-0", 100, needs_cache=True),
    )  # fmt: skip
    (limit,) = broken_affinity(shown.explain("shop/web-0"), shown.cluster)
    assert "(shop/cache-0), and" in limit
