"""What PreFilter and PreScore say of a pod is not said of the next one.

Pods that differ only in what varies from pod to pod, such as requests, share prepared results.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import product

import pytest

from podwright.apimachinery.objects import Pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster, Reads
from podwright.scheduler.framework import (
    Cycle,
    NodeView,
    Plugin,
    PluginRunner,
    PreFilterResult,
    Profile,
    StateKey,
    Status,
)
from podwright.scheduler.framework.plugin import KeyReads
from podwright.testing import make_node, make_pod

NAMES = ("n1", "n2", "n3")


class Varies(Plugin):
    """Answers as a label of the pod says, and prefers the node that it names."""

    name = "Varies"
    key_varies = True
    pre_filter_reads = pre_score_reads = Reads.NOTHING
    filter_reads = score_reads = Reads.NODE

    def pod_key(self, pod: Pod) -> Hashable:
        return tuple(pod.metadata.labels.items())

    def pre_filter(self, cycle: Cycle) -> Status | PreFilterResult:
        match cycle.pod.metadata.labels["pre-filter"]:
            case "skip":
                return Status.skip()
            case "reject":
                return Status.unschedulable("odd")
            case "fail":
                return Status.error("broken")
            case "ok":
                return Status.OK
            case name:
                return PreFilterResult(frozenset({name}))

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.unschedulable("third") if node.name == "n3" else Status.OK

    def pre_score(self, cycle: Cycle) -> Status:
        match cycle.pod.metadata.labels["pre-score"]:
            case "skip":
                return Status.skip()
            case "fail":
                return Status.error("broken")
            case _:
                return Status.OK

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 90 if node.name == "n2" else 0


class Steady(Varies):
    """The same with one key for all pods: it lets them pass, and prefers another node."""

    name = "Steady"
    key_varies = False

    def pod_key(self, pod: Pod) -> Hashable:
        return ()

    def pre_filter(self, cycle: Cycle) -> Status:
        return Status.OK

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.OK

    def pre_score(self, cycle: Cycle) -> Status:
        return Status.OK

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 20 * NAMES.index(node.name)


def runner_of(cluster: Cluster) -> PluginRunner:
    both = (Steady(), Varies())
    profile = Profile(
        scheduler_name="s",
        pre_filter=both,
        filter=both,
        pre_score=both,
        score=tuple((plugin, 1) for plugin in both),
    )
    return PluginRunner(profile, cluster, seed=1)


# PreFilter's answer and PreScore's, and what comes of them.
DECISIONS = {
    ("ok", "ok"): "n2 110",
    ("ok", "skip"): "n2 20",
    ("ok", "fail"): "broken",
    ("n1", "ok"): "n1",
    ("n2", "skip"): "n2",
    ("n3", "ok"): "third",
    ("skip", "ok"): "n2 110",
    ("skip", "skip"): "n3 40",
    ("reject", "ok"): "odd",
    ("fail", "ok"): "broken",
}


@pytest.mark.parametrize("first", DECISIONS, ids=" ".join)
def test_each_pod_is_decided_by_the_answers_for_itself(first: tuple[str, str]) -> None:
    cluster = Cluster()
    for name in NAMES:
        cluster.put(make_node(name, cpu="4"))
    runner = runner_of(cluster)
    # Each once and again, so that its results are kept, after one and after two of the first kind.
    order = [first]
    for other in DECISIONS:
        order += [other, first, first, other, other]
    for number, answers in enumerate(order):
        labels = dict(zip(("pre-filter", "pre-score"), answers, strict=True))
        found = runner.decide(make_pod(f"p{number}", labels=labels), cycle_number=number)
        assert found == runner_of(cluster).decide(found.pod, cycle_number=number)
        total = "" if found.total is None else f" {found.total}"
        text = f"{found.node}{total}" if found.node else found.message
        assert DECISIONS[answers] in text, (first, number, answers)


def test_pods_that_all_differ_are_decided_by_the_answers_for_themselves() -> None:
    cluster = Cluster()
    for name in NAMES:
        cluster.put(make_node(name, cpu="4"))
    runner = runner_of(cluster)
    for number, (one, other) in enumerate(product(DECISIONS, repeat=2)):
        for each, answers in enumerate((one, other)):
            labels = dict(zip(("pre-filter", "pre-score"), answers, strict=True))
            pod = make_pod("p", labels=labels | {"number": f"{number}-{each}"})
            found = runner.decide(pod, cycle_number=number)
            text = f"{found.node} {found.total}" if found.node else found.message
            assert DECISIONS[answers] in text, (one, other)


COUNT: StateKey[int] = StateKey("test/classes")


class CountsClasses(Plugin):
    """Counts StorageClasses before it filters and scores."""

    name = "CountsClasses"
    pre_filter_reads = Reads.STORAGE
    filter_reads = score_reads = Reads.NODE | Reads.STORAGE

    def pod_key(self, pod: Pod) -> Hashable:
        return "all"

    def pre_filter(self, cycle: Cycle) -> Status:
        cycle.write(COUNT, len(cycle.cluster.storage.classes))
        return Status.OK

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        is_out = node.name == f"n{cycle.read(COUNT)}"
        return Status.unschedulable("out") if is_out else Status.OK

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 50 if node.name == f"n{cycle.read(COUNT) + 1}" else 0


def test_kept_rows_read_what_pre_filter_found_last() -> None:
    cluster, plugin = Cluster(), CountsClasses()
    for name in NAMES:
        cluster.put(make_node(name, cpu="4"))
    profile = Profile(
        scheduler_name="s", pre_filter=(plugin,), filter=(plugin,), score=((plugin, 1),)
    )
    runner = PluginRunner(profile, cluster, seed=1)
    document = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "p"}
    for count, (best, feasible_count) in enumerate((("n1", 3), ("n2", 2), ("n3", 2))):
        if count:
            cluster.put(decode(document | {"metadata": {"name": f"c{count}"}}))
        for number in range(3):
            found = runner.decide(make_pod(f"p{number}"), cycle_number=number)
            assert (found.node, found.total, found.feasible_count) == (best, 50, feasible_count)


class ReadsByPod(Plugin):
    """Reads pods for some pods only; no two pods have the same key."""

    name = "ReadsByPod"
    key_varies = True
    filter_reads = score_reads = Reads.NODE | Reads.PODS

    def pod_key(self, pod: Pod) -> Hashable:
        return pod.name

    def reads_for(self, key: Hashable, cluster: Cluster) -> KeyReads:
        reads = Reads.NODE | Reads.PODS if str(key).startswith("alone") else Reads.NODE
        return KeyReads(Reads.NOTHING, reads, reads)

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        is_taken = cycle.pod.name.startswith("alone") and node.pods
        return Status.unschedulable("taken") if is_taken else Status.OK

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 10 * NAMES.index(node.name)


@pytest.mark.parametrize(
    "order", ["any any alone alone any alone", "alone any alone any alone alone any any alone"]
)
def test_pods_that_all_differ_read_what_their_keys_say(order: str) -> None:
    cluster, plugin = Cluster(), ReadsByPod()
    for name in NAMES:
        cluster.put(make_node(name, cpu="100"))
    profile = Profile(scheduler_name="s", filter=(plugin,), score=((plugin, 1),))
    runner = PluginRunner(profile, cluster, seed=1)
    for number, kind in enumerate(order.split() * 2):
        pod = make_pod(f"{kind}{number}", cpu="1m")
        found = runner.decide(pod, cycle_number=number)
        assert found == PluginRunner(profile, cluster, seed=1).decide(pod, cycle_number=number)
        taken = {cluster.nodes.names[slot] for slot, pods in enumerate(cluster.pods_on) if pods}
        free = [name for name in NAMES if kind == "any" or name not in taken]
        assert found.node == (free[-1] if free else "")
        if found.node:
            cluster.place(pod, found.slot)
