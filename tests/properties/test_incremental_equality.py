"""A long-lived cluster decides like one that is built from scratch, whatever happened before.

A random history adds, changes and removes nodes, pods and everything else. At each decision
the same pod is decided

- by runners that have lived through the history, with all that they remember,
- by new runners on a new cluster, made of what is left, in the order of its arrival,
- by the oracle in `tests/oracle`, which shares no code with podwright.
"""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.oracle import evaluate
from tests.properties.effort import effort
from tests.properties.strategies import documents
from tests.properties.strategies.documents import ZONE, Document
from tests.properties.strategies.own_plugins import Crowd, FewPods, OnlyDisks

from podwright.assembly.build import build_profiles
from podwright.assembly.registry import Registry
from podwright.columns import Cluster
from podwright.config import DEFAULT_GATES, KubeSchedulerConfiguration, effective
from podwright.framework.decision import Decision
from podwright.framework.explain import Explanation, explain
from podwright.framework.profile import Profile, TieRule
from podwright.framework.run import Runner
from podwright.objects import ObjectMeta, Pod, decode, decode_pod
from podwright.parity.decision import compare_explanation

pytestmark = pytest.mark.property

SEED = 11


def profile_of(tie_rule: TieRule = TieRule.DRAWN, *plugins: Any) -> Profile:
    registry = Registry(plugins)
    configuration = effective(
        registry.enable_own(KubeSchedulerConfiguration()),
        DEFAULT_GATES,
        implements=registry.points_of,
    )
    return build_profiles(configuration, registry, tie_rule=tie_rule)["default-scheduler"]


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
"""By name; the one called sweeping never takes the short way of settled totals."""

LIKE_UPSTREAM = ["drawn", "heap", "first", SWEEPING]


def runner_of(name: str, cluster: Cluster) -> Runner:
    runner = Runner(PROFILES[name], cluster, seed=SEED)
    if name == SWEEPING:
        runner._is_plain = False
    return runner


class World:
    """What is left of a history, as documents, and the cluster that lived through it."""

    def __init__(self) -> None:
        self.cluster = Cluster()
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
        self.nodes[name] = document
        self.cluster.put(decode(document))

    def remove_node(self, name: str) -> None:
        self._leave_zone(name)
        self.cluster.delete(decode(self.nodes.pop(name)))

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
        """Return the nodes zone by zone in turn, from the history alone."""
        lists = list(self.zones.values())
        longest = max(map(len, lists), default=0)
        return [names[i] for i in range(longest) for names in lists if i < len(names)]

    def from_scratch(self, order: list[str]) -> Cluster:
        cluster = Cluster()
        for document in self.others.values():
            cluster.put(decode(document))
        for name in order:
            cluster.put(decode(self.nodes[name]))
        for document in self.pods.values():
            cluster.put(decode(document))
        return cluster

    def decide(self, name: str, pod: Pod, number: int) -> Decision:
        """Decide with a long-lived runner and hold it against a new one."""
        old = self.runners[name]
        assert [self.cluster.nodes.names[s] for s in self.cluster.nodes.visiting_order()] == (
            self.visiting_order()
        )
        # The heap looks at nodes in visiting order, the other rules in order of arrival.
        in_order = self.visiting_order() if name == "heap" else list(self.nodes)
        new = runner_of(name, self.from_scratch(in_order))
        new.next_start = old.next_start
        expected = new.decide(pod, cycle_number=number)
        actual = old.decide(pod, cycle_number=number)
        assert in_words(actual) == in_words(expected)
        assert old.next_start == new.next_start
        assert columns(self.cluster) == columns(new.cluster)
        return actual

    def hold_against_explanation(
        self, name: str, pod: Pod, decision: Decision, number: int
    ) -> None:
        """Compare with a cycle that asks every plugin anew, on the long-lived cluster."""
        runner = self.runners[name]
        runner_start = runner.next_start
        found = explain(runner, pod, cycle_number=number)
        runner.next_start = runner_start
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

    def hold_against_oracle(self, name: str, pod: Document, number: int) -> None:
        """Compare every field that the golden vectors have."""
        objects = [*self.others.values(), *self.nodes.values(), *self.pods.values()]
        expect = evaluate(copy.deepcopy({"objects": objects, "pod": pod}))
        runner = self.runners[name]
        before = runner.next_start
        found: Explanation = explain(runner, decode_pod(pod), cycle_number=number)
        runner.next_start = before
        if not self.nodes:
            assert found.decision.message == expect["message"]
            return
        # Among pods of one priority that have not started, upstream takes any as a victim.
        is_free = any("startTime" not in pod["status"] for pod in self.pods.values())
        wrong = [
            result
            for result in compare_explanation(expect, found)
            if not getattr(result, "agrees", True)
            and not (is_free and getattr(result, "field", "").startswith("preemption."))
        ]
        assert not wrong, wrong


def _key(document: Document) -> str:
    metadata = document["metadata"]
    return (
        f"{metadata['namespace']}/{metadata['name']}"
        if "namespace" in metadata
        else (metadata["name"])
    )


def in_words(decision: Decision) -> dict[str, Any]:
    """Return everything that a decision says, but for the slot."""
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
    """Return what is counted per node."""
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


class Histories(RuleBasedStateMachine):
    """Nodes, pods and objects come, change and go; pods are decided in between."""

    @initialize(
        templates=st.lists(documents.pod_templates(), min_size=1, max_size=4),
        nodes=st.lists(st.sampled_from(documents.NODES), min_size=1, max_size=5, unique=True),
        data=st.data(),
    )
    def begin(self, templates: list[Document], nodes: list[str], data: st.DataObject) -> None:
        self.world = World()
        self.number = 0
        self.templates = templates
        self.prototypes = [decode_pod(template) for template in templates]
        for name in nodes:
            self.world.put_node(data.draw(documents.nodes(name)))
        for template in templates:
            self._bring_claims_of(template, data)

    def _bring_claims_of(self, template: Document, data: st.DataObject) -> None:
        """Let the claims of a pod be there at the beginning, with a class."""
        namespace = template["metadata"]["namespace"]
        for volume in template["spec"].get("volumes", ()):
            name = volume["persistentVolumeClaim"]["claimName"]
            self.world.put_other(data.draw(documents.storage_classes()))
            self.world.put_other(data.draw(documents.volumes()))
            self.world.put_other(data.draw(documents.claims(name, namespace)))

    def _new_pod(self, which: int, nominated: str | None = None) -> tuple[Pod, Document]:
        """Return the next pod of a template; its object shares the template's spec.

        Every other one has a label of its own, which few selectors look at.
        """
        which %= len(self.templates)
        self.number += 1
        like = self.prototypes[which]
        labels = like.metadata.labels
        if self.number % 2:
            labels = labels | {documents.INDEX: str(self.number % 3)}
        metadata = ObjectMeta(
            name=f"p{self.number}",
            namespace=like.metadata.namespace,
            uid=f"u-p{self.number}",
            labels=labels,
            owner_references=like.metadata.owner_references,
        )
        document = self.templates[which] | {
            "metadata": self.templates[which]["metadata"]
            | {"name": metadata.name, "uid": metadata.uid}
            | ({"labels": labels} if labels else {})
        }
        if nominated is None:
            return msgspec.structs.replace(like, metadata=metadata), document
        document["status"] = {"phase": "Pending", "nominatedNodeName": nominated}
        return decode_pod(document), document

    # ---------------------------------------------------------------- decisions

    @rule(
        which=st.integers(0, 3),
        who=st.sampled_from(list(PROFILES)),
        is_placed=st.booleans(),
        nominated=documents.maybe(st.sampled_from(documents.NODES)),
    )
    def decide(self, which: int, who: str, is_placed: bool, nominated: str | None) -> None:
        pod, document = self._new_pod(which, nominated)
        decision = self.world.decide(who, pod, self.number)
        self.world.hold_against_explanation(who, pod, decision, self.number)
        if who in LIKE_UPSTREAM:
            self.world.hold_against_oracle(who, document, self.number)
        if is_placed and decision.slot >= 0:
            self.world.cluster.denominate(pod)
            self.world.cluster.place(pod, decision.slot)
            self.world.pods[pod.key] = document | {
                "spec": document["spec"] | {"nodeName": decision.node},
                "status": {"phase": "Pending"},
            }

    @rule(which=st.integers(0, 3), count=st.integers(2, 8), is_started=st.booleans())
    def decide_many(self, which: int, count: int, is_started: bool) -> None:
        """Pods of one template, one after the other, as a deployment brings them."""
        for _ in range(count):
            self.decide(which, "drawn", True, None)
        if is_started:
            for key in list(self.world.pods):
                self._start(key)

    def _start(self, key: str) -> None:
        """Let a placed pod run, each from another second on."""
        document = self.world.pods[key]
        if "nodeName" in document["spec"] and "startTime" not in document["status"]:
            self.number += 1
            since = f"2026-01-01T00:{self.number // 60:02d}:{self.number % 60:02d}Z"
            self.world.put_pod(document | {"status": {"phase": "Running", "startTime": since}})

    @rule(which=st.integers(0, 3))
    def all_rules_see_the_same_totals(self, which: int) -> None:
        pod, _ = self._new_pod(which)
        found = [
            self.world.runners[name].decide(pod, cycle_number=self.number) for name in LIKE_UPSTREAM
        ]
        words = [(one.feasible_count, one.total, one.tie_count, one.message) for one in found]
        assert words[1:] == words[:-1]
        by_name = dict(zip(LIKE_UPSTREAM, found, strict=True))
        assert by_name["drawn"].node == by_name[SWEEPING].node

    # ---------------------------------------------------------------- changes

    @rule(
        name=st.sampled_from(documents.NODES),
        change=st.sampled_from(["put", "put", "put", "remove", "bring back", "renumber all"]),
        data=st.data(),
    )
    def change_node(self, name: str, change: str, data: st.DataObject) -> None:
        known = self.world.nodes.get(name)
        if change == "put":
            self.world.put_node(data.draw(documents.nodes(name)))
        elif change == "renumber all":
            self.world.cluster._renumber()
        elif known is not None:
            self.world.remove_node(name)
            if change == "bring back":
                self.world.put_node(known)

    @rule(
        which=st.integers(0, 3),
        node=st.sampled_from(documents.NODES),
        is_nominated=documents.maybe(st.just(True)),
    )
    def put_pod(self, which: int, node: str, is_nominated: bool | None) -> None:
        """As a watch brings it: on a node, or nominated to one, that may not be there (yet)."""
        _, document = self._new_pod(which, node if is_nominated else None)
        if not is_nominated:
            document = document | {
                "spec": document["spec"] | {"nodeName": node},
                "status": {"phase": "Pending"},
            }
        self.world.put_pod(document)
        self._start(f"{document['metadata']['namespace']}/{document['metadata']['name']}")

    @precondition(lambda self: self.world.pods)
    @rule(
        index=st.integers(0, 20),
        change=st.sampled_from(["remove", "terminate", "relabel", "finish", "nominate"]),
        node=st.sampled_from(documents.NODES),
        app=st.sampled_from(documents.APPS),
    )
    def change_pod(self, index: int, change: str, node: str, app: str) -> None:
        keys = list(self.world.pods)
        key = keys[index % len(keys)]
        old = self.world.pods[key]
        metadata = old["metadata"]
        match change:
            case "remove":
                self.world.remove_pod(key)
            case "terminate":
                metadata = metadata | {"deletionTimestamp": "2026-01-01T00:00:00Z"}
                self.world.put_pod(old | {"metadata": metadata})
            case "relabel":
                self.world.put_pod(old | {"metadata": metadata | {"labels": {"app": app}}})
            case "finish":
                self.world.put_pod(old | {"status": {"phase": "Succeeded"}})
                del self.world.pods[key]
            case "nominate" if "nodeName" not in old["spec"]:
                status = {"phase": "Pending", "nominatedNodeName": node}
                self.world.put_pod(old | {"status": status})

    @rule(document=documents.others())
    def put_other(self, document: Document) -> None:
        self.world.put_other(document)

    @precondition(lambda self: self.world.others)
    @rule(index=st.integers(0, 20))
    def remove_other(self, index: int) -> None:
        keys = list(self.world.others)
        self.world.remove_other(keys[index % len(keys)])


QUICK = effort(40, stateful_step_count=30)
THOROUGH = effort(1_500, stateful_step_count=60)


def test_a_cluster_with_a_history_decides_like_a_new_one() -> None:
    run_state_machine_as_test(Histories, settings=QUICK)


@pytest.mark.slow
def test_a_cluster_with_a_long_history_decides_like_a_new_one() -> None:
    run_state_machine_as_test(Histories, settings=THOROUGH)


def test_slots_are_renumbered_when_most_nodes_are_gone() -> None:
    """Nodes are removed until the cluster renumbers by itself; nobody notices."""
    world = World()
    template: Document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "template", "namespace": "default", "labels": {"app": "web"}},
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "100m"}}}],
        },
    }
    like = decode_pod(template)

    def decide(number: int) -> None:
        metadata = ObjectMeta(
            name=f"p{number}", namespace="default", uid=f"u{number}", labels={"app": "web"}
        )
        pod = msgspec.structs.replace(like, metadata=metadata)
        decision = world.decide("drawn", pod, number)
        world.cluster.place(pod, decision.slot)
        world.pods[pod.key] = template | {
            "metadata": template["metadata"] | {"name": f"p{number}"},
            "spec": template["spec"] | {"nodeName": decision.node},
            "status": {"phase": "Running"},
        }

    for index in range(1_200):
        name = f"n{index}"
        world.put_node(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {ZONE: "abc"[index % 3]}},
                "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110"}},
            }
        )
    for number in range(5):
        decide(number)
    for index in range(1_190):
        world.remove_node(f"n{index}")
    assert world.cluster.numbering > 0
    assert world.cluster.nodes.n_slots < 1_000
    for number in range(5, 10):
        decide(number)
