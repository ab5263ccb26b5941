"""A cluster that lives through a history, beside the remaining documents of that history.

The history changes documents and the cluster alike. A decision of the long-lived cluster is
compared with that of a new cluster from the documents, and with the oracle. Other effects of the
history (the visiting order of nodes, the size of an image) are tracked here as well, by separate
rules of this module.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import json
from tests.oracle import evaluate
from tests.properties.exercised import Exercised
from tests.properties.limits import TIGHT_COUNTER_BYTES, counters_are_few, usual_limits
from tests.properties.strategies.documents import ZONE, Document
from tests.properties.strategies.own_plugins import Crowd, FewPods, OnlyDisks

from podwright.apimachinery.objects import Pod, decode_pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly.build import build_profiles
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import DEFAULT_GATES, KubeSchedulerConfiguration, effective
from podwright.scheduler.framework.decision import Decision
from podwright.scheduler.framework.observing.explain import Explanation
from podwright.scheduler.framework.profile import Profile, TieRule
from podwright.scheduler.framework.run import PluginRunner
from podwright.scheduler.machine import SchedulerOptions
from podwright.scheduler.preemption import Preemption
from podwright.testing.parity.decision import compare_explanation

SEED = 11


def profile_of(tie_rule: TieRule = TieRule.DRAWN, *plugins: Any) -> Profile:
    registry = Registry(plugins)
    configuration = effective(
        registry.enable_own(KubeSchedulerConfiguration()),
        DEFAULT_GATES,
        implements=registry.points_of,
    )
    return build_profiles(configuration, registry, SchedulerOptions(tie_rule=tie_rule))[
        "default-scheduler"
    ]


SWEEPING = "sweeping"
PROFILES = {
    "drawn": profile_of(),
    "heap": profile_of(TieRule.HEAP),
    "first": profile_of(TieRule.FIRST),
    SWEEPING: profile_of(),
    "few pods": profile_of(TieRule.DRAWN, FewPods),
    "crowd": profile_of(TieRule.FIRST, Crowd),
    "only disks": profile_of(TieRule.DRAWN, OnlyDisks),
}
"""By name; `sweeping` never uses the fast path of settled totals."""

LIKE_UPSTREAM = ["drawn", "heap", "first", SWEEPING]


def runner_of(name: str, cluster: Cluster) -> PluginRunner:
    runner = PluginRunner(PROFILES[name], cluster, seed=SEED)
    if name == SWEEPING:
        runner._is_plain = False
    return runner


class World:
    """The remaining documents of a history, and the cluster that lived through it."""

    def __init__(self, exercised: Exercised) -> None:
        self.exercised = exercised
        self.cluster = Cluster()
        # The number of counters that one cycle needs, so that those of other cycles are dropped.
        if counters_are_few():
            self.cluster.selectors._counter_bytes = TIGHT_COUNTER_BYTES
        self.image_sizes: dict[str, int] = {}
        self.nodes: dict[str, Document] = {}
        self.pods: dict[str, Document] = {}
        self.others: dict[tuple[str, str], Document] = {}
        self.zones: dict[str, list[str]] = {}
        self.runners = {name: runner_of(name, self.cluster) for name in PROFILES}

    # ---------------------------------------------------------------- changes

    def put_node(self, document: Document) -> None:
        name = document["metadata"]["name"]
        zone = document["metadata"]["labels"].get(ZONE, "")
        old = self.nodes.get(name)
        if old is None or old["metadata"]["labels"].get(ZONE, "") != zone:
            self._leave_zone(name)
            self.zones.setdefault(zone, []).append(name)
        self.cluster.put(decode(document))
        self.nodes[name] = document
        self._note_images(document)

    def remove_node(self, name: str) -> None:
        self.exercised.count("nodes removed")
        self._leave_zone(name)
        self.cluster.delete(decode(self.nodes.pop(name)))
        self._drop_images()

    def _note_images(self, document: Document) -> None:
        """Record the sizes of images that no other node has.

        Upstream: pkg/scheduler/backend/cache/cache.go, `UpdateNode`, which removes the
        images of the old version of the node before it adds those of the new one.
        """
        self._drop_images(but=document["metadata"]["name"])
        for name, size in images_of(document).items():
            self.image_sizes.setdefault(name, size)

    def _drop_images(self, but: str = "") -> None:
        """Drop the sizes of images that are on no node, or only on the node `but`."""
        found = {
            image for name, node in self.nodes.items() if name != but for image in images_of(node)
        }
        self.image_sizes = {
            image: size for image, size in self.image_sizes.items() if image in found
        }

    def nodes_as_counted(self) -> dict[str, Document]:
        """Return the nodes with the valid image sizes, by name in the order of addition."""
        found = {}
        for name, node in self.nodes.items():
            images = [
                {"names": [image], "sizeBytes": self.image_sizes[image]}
                for image in images_of(node)
            ]
            found[name] = node | {"status": node["status"] | {"images": images}}
        return found

    def _leave_zone(self, name: str) -> None:
        for zone, names in list(self.zones.items()):
            if name in names:
                names.remove(name)
                if not names:
                    del self.zones[zone]

    def put_other(self, document: Document) -> None:
        self.others[document["kind"], _key(document)] = document
        self.cluster.put(decode(document))

    def remove_other(self, key: tuple[str, str]) -> None:
        self.cluster.delete(decode(self.others.pop(key)))

    def put_pod(self, document: Document) -> None:
        self.pods[_key(document)] = document
        self.cluster.put(decode(document))

    def remove_pod(self, key: str) -> None:
        self.cluster.delete(decode(self.pods.pop(key)))

    # ---------------------------------------------------------------- comparisons

    def visiting_order(self) -> list[str]:
        """Return the nodes zone by zone in turn, computed from the history alone."""
        lists = list(self.zones.values())
        longest = max(map(len, lists), default=0)
        return [names[i] for i in range(longest) for names in lists if i < len(names)]

    def from_scratch(self, order: list[str]) -> Cluster:
        cluster = Cluster()
        for document in self.others.values():
            cluster.put(decode(document))
        nodes = self.nodes_as_counted()
        for name in order:
            cluster.put(decode(nodes[name]))
        for document in self.pods.values():
            cluster.put(decode(document))
        return cluster

    def decide(self, name: str, pod: Pod, number: int) -> Decision:
        """Decide with a long-lived runner and compare with a new one."""
        old = self.runners[name]
        assert [self.cluster.nodes.names[s] for s in self.cluster.nodes.visiting_order()] == (
            self.visiting_order()
        )
        # The heap rule visits nodes in visiting order, the other rules in the order of addition.
        in_order = self.visiting_order() if name == "heap" else list(self.nodes)
        with usual_limits(), self.exercised.paused():
            new = runner_of(name, self.from_scratch(in_order))
            new.node_search.next_start = old.node_search.next_start
            expected = new.decide(pod, cycle_number=number)
        actual = old.decide(pod, cycle_number=number)
        assert in_words(actual) == in_words(expected)
        assert old.node_search.next_start == new.node_search.next_start
        assert columns(self.cluster) == columns(new.cluster)
        self._count(actual)
        return actual

    def _count(self, decision: Decision) -> None:
        count = self.exercised.count
        count("decisions")
        if decision.feasible_count > 1:
            count("with several feasible nodes")
        if decision.node and decision.pod.spec.volumes:
            count("with volumes")

    def compare_with_explanation(
        self, name: str, pod: Pod, decision: Decision, number: int
    ) -> None:
        """Compare with a cycle without caches on the long-lived cluster."""
        runner = self.runners[name]
        runner_start = runner.node_search.next_start
        found = runner.explain(pod, cycle_number=number)
        runner.node_search.next_start = runner_start
        if decision.error is not None or not self.nodes:
            return
        assert decision.node in (found.winners or ("",))
        if decision.node:
            assert decision.feasible_count == len(found.feasible)
            assert decision.tie_count == len(found.winners)
            if decision.total is not None:
                assert decision.total == found.totals[decision.node]
        elif decision.diagnosis is not None and decision.diagnosis.pre_filter is None:
            assert not found.feasible

    def compare_with_oracle(self, name: str, pod: Document, number: int) -> Preemption | None:
        """Compare every field of the golden vectors; return the result of preemption."""
        objects = [*self.others.values(), *self.nodes_as_counted().values(), *self.pods.values()]
        expect = evaluate(json.decode(json.encode({"objects": objects, "pod": pod})))
        runner = self.runners[name]
        before = runner.node_search.next_start
        found: Explanation = runner.explain(decode_pod(pod), cycle_number=number)
        runner.node_search.next_start = before
        if not self.nodes:
            assert found.decision.message == expect["message"]
            return None
        is_free = self._leaves_victims_open()
        wrong = [
            result
            for result in compare_explanation(expect, found)
            if not getattr(result, "agrees", True)
            and not (is_free and getattr(result, "field", "").startswith("preemption."))
        ]
        assert not wrong, wrong
        result = found.decision.post_filter
        details = None if result is None else result.details
        if not isinstance(details, Preemption) or details.choice is None:
            return None
        if not is_free:
            self.exercised.count("preemptions")
            violations = details.choice.candidate.pdb_violations
            self.exercised.count("preemptions against budgets", bool(violations))
            self.exercised.count("preemptions with a choice", len(details.candidates) > 1)
        return details

    def _leaves_victims_open(self) -> bool:
        """Whether upstream may choose any of some pods: equally important ones of a node."""
        seen = set()
        for pod in self.pods.values():
            if pod["spec"].get("nodeName") in self.nodes and "startTime" not in pod["status"]:
                of = (pod["spec"]["nodeName"], pod["spec"].get("priority") or 0)
                if of in seen:
                    return True
                seen.add(of)
        return False


def images_of(node: Document) -> dict[str, int]:
    """Return the image sizes of a node by the names of its images."""
    images = node["status"].get("images") or []
    return {name: image["sizeBytes"] for image in images for name in image["names"]}


def _key(document: Document) -> str:
    metadata = document["metadata"]
    return (
        f"{metadata['namespace']}/{metadata['name']}"
        if "namespace" in metadata
        else (metadata["name"])
    )


def in_words(decision: Decision) -> dict[str, Any]:
    """Return the content of a decision, except the slot."""
    diagnosis = decision.diagnosis
    found: dict[str, Any] = {
        "node": decision.node,
        "feasible": decision.feasible_count,
        "evaluated": decision.evaluated_count,
        "ties": decision.tie_count,
        "total": decision.total,
        "message": decision.message,
    }
    if diagnosis is not None:
        found["blamed"] = (sorted(diagnosis.rejected_by), sorted(diagnosis.pending))
        found["rejections"] = sorted(
            (one.status.plugin, one.status.code.label, one.status.reasons, one.count)
            for one in diagnosis.rejections
        )
    return found


def columns(cluster: Cluster) -> dict[str, dict[str, Any]]:
    """Return the sums of each node."""
    nodes = cluster.nodes
    return {
        name: {
            "requested": _amounts(nodes.resources, nodes.requested[slot]),
            "allocatable": _amounts(nodes.resources, nodes.allocatable[slot]),
            "non_zero": nodes.non_zero_requested[slot].tolist(),
            "pods": sorted(cluster.pods_on[slot]),
            "unschedulable": bool(nodes.unschedulable[slot]),
            "taints": nodes.taint_sets.values[nodes.taint_set_ids[slot]],
        }
        for name, slot in nodes.slot_of.items()
    }


def _amounts(resources: dict[str, int], row: np.ndarray[Any, Any]) -> dict[str, int]:
    return {name: int(row[index]) for name, index in resources.items() if row[index]}
