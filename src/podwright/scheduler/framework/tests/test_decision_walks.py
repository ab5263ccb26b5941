"""Whatever is kept between cycles, a decision is that of a runner that was never used before.

A random walk is compared after each step with a new runner, and with the explanation.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from podwright.apimachinery.objects import Pod, with_fields, with_nominated_node_name
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import (
    Cycle,
    Decision,
    NodeView,
    Normalization,
    Plugin,
    PluginRunner,
    Reads,
    Status,
)
from podwright.scheduler.preemption.tests.situations import profile
from podwright.testing import make_node, make_pod

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
APPS = ("a", "b")


class Labeled(Plugin):
    """Scores nodes by a label, as a share of the greatest; rejects those with a negative one."""

    name = "Labeled"
    filter_reads = score_reads = Reads.NODE
    normalization = Normalization.DEFAULT

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.unschedulable("label") if self.rate(node) < 0 else Status.OK

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return self.rate(node)

    def rate(self, node: NodeView) -> int:
        return int(node.labels.get("rate", "0"))


class Crowded(Plugin):
    """Scores nodes by their pods, and rejects those with four."""

    name = "Crowded"
    filter_reads = score_reads = Reads.NODE | Reads.PODS

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.unschedulable("crowd") if len(node.pods) >= 4 else Status.OK

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return 10 * len(node.pods)


def spreading(app: str, *, is_hard: bool) -> dict[str, Any]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule" if is_hard else "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    return {"topologySpreadConstraints": [constraint]}


def away(app: str) -> dict[str, Any]:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"affinity": {"podAntiAffinity": required}}


SPECS: tuple[dict[str, Any], ...] = (
    {},
    spreading("a", is_hard=False),
    spreading("b", is_hard=True),
    away("b"),
    {"tolerations": [{"operator": "Exists"}]},
    {"nodeSelector": {"disk": "ssd"}},
)


def seen(decision: Decision) -> Any:
    counts = decision.feasible_count, decision.evaluated_count, decision.tie_count
    diagnosis = decision.diagnosis
    rejected_by = None if diagnosis is None else (diagnosis.rejected_by, diagnosis.pending)
    return decision.node, decision.slot, *counts, decision.total, decision.message, rejected_by


class Walk:
    """A cluster that changes at random, and the pods that it gets."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cluster = Cluster()
        for number in range(5):
            self.put_node(number)

    def put_node(self, number: int) -> None:
        random, name = self.random, f"n{number}"
        labels = {HOST: name, "rate": str(random.choice((-1, 0, 1, 2, 5)))}
        if random.random() < 0.8:
            labels[ZONE] = random.choice("xy")
        if random.random() < 0.5:
            labels["disk"] = "ssd"
        taints = ["k=v:NoSchedule"] if random.random() < 0.2 else []
        cpu = random.choice(("1", "4"))
        self.cluster.put(make_node(name, cpu=cpu, memory="8Gi", labels=labels, taints=taints))

    def pod(self, *, node: str = "") -> Pod:
        random, number = self.random, self.random.randrange(len(SPECS))
        return make_pod(
            f"p{random.randrange(9)}",
            cpu=("100m", "1")[number % 2],
            memory="1Gi",
            labels={"app": random.choice(APPS)},
            priority=number % 3,
            spec=SPECS[number],
            node=node,
        )

    def step(self) -> None:
        random, cluster = self.random, self.cluster
        number = random.randrange(7)
        match random.choice("nnppppddfN-s"):
            case "n":
                self.put_node(number)
            case "p":
                cluster.put(self.pod(node=f"n{number}"))
            case "d":
                cluster.delete(self.pod())
            case "N":
                cluster.put(with_nominated_node_name(self.pod(), f"n{number}"))
            case "-":
                cluster.delete(make_node(f"n{number}"))
            case "f":
                cluster.nodes.pods_journal.forget()
            case _:
                spec = {"selector": {"app": random.choice(APPS)}}
                metadata = {"name": "s", "namespace": "default"}
                kind = {"apiVersion": "v1", "kind": "Service"}
                cluster.put(decode(kind | {"metadata": metadata, "spec": spec}))


@pytest.mark.parametrize("plugins", [(), (Labeled, Crowded)], ids=["in-tree", "with others"])
@pytest.mark.parametrize("seed", range(3))
def test_decisions_are_those_of_a_new_runner(seed: int, plugins: tuple[type[Plugin], ...]) -> None:
    walk, made = Walk(seed), profile(plugins)
    random, cluster = walk.random, walk.cluster
    runner = PluginRunner(made, cluster, seed=3)
    for number in range(70):
        for _ in range(random.choice((0, 1, 1, 3))):
            walk.step()
        one = walk.pod()
        if random.random() < 0.1:
            one = with_nominated_node_name(one, f"n{random.randrange(7)}")
        found = seen(runner.decide(one, cycle_number=number))
        fresh = PluginRunner(made, cluster, seed=3)
        assert found == seen(fresh.decide(one, cycle_number=number)), (seed, number)
        if number % 5 == 0:
            explanation = fresh.explain(one, cycle_number=number, now_ns=0)
            assert len(explanation.feasible) == found[2]
            assert not found[0] or found[0] in explanation.winners
            assert len(explanation.winners) == found[4]
            assert found[5] is None or explanation.totals[found[0]] == found[5]
        if found[0] and random.random() < 0.6:
            cluster.put(with_fields(one, "spec", node_name=found[0]))
