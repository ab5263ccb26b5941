"""A long-lived cluster decides as one that is built from scratch, after any history.

A random history adds, changes and removes nodes, pods and other objects. At each decision the same
pod is scheduled

- by runners that have lived through the history, with all their caches,
- by new runners on a new cluster from the remaining objects, in the order of their addition,
- by the oracle in `tests/oracle`, which shares no code with podwright.

A run counts the situations in its histories and asserts that there are enough.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.properties.effort import effort
from tests.properties.exercised import Exercised
from tests.properties.limits import COMPACTIONS, IS_COMPILED, tight_limits, watch_limits
from tests.properties.long_lived import LIKE_UPSTREAM, PROFILES, SWEEPING, World
from tests.properties.strategies import documents
from tests.properties.strategies.documents import ZONE, Document

from podwright.apimachinery.objects import ObjectMeta, Pod, decode_pod
from podwright.apimachinery.objects.quantity import quantity_milli_value
from podwright.scheduler.preemption import Preemption

pytestmark = pytest.mark.property


EXERCISED = Exercised()
"""The counts of the current histories."""

FILLER: Document = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "template", "namespace": "default"},
    "spec": {"schedulerName": "default-scheduler"},
    "status": {"phase": "Pending"},
}
"""The pods that occupy the resources that a preemptor needs."""

VICTIMS = st.lists(
    st.tuples(st.sampled_from([0, 10, 100]), st.sampled_from([{"app": "web"}, {"app": "db"}, {}])),
    min_size=2,
    max_size=5,
)
"""Priorities and labels of pods that fill nodes, in turn."""


class Histories(RuleBasedStateMachine):
    """Nodes, pods and objects are added, changed and removed; pods are scheduled in between."""

    @initialize(
        plain=st.lists(documents.plain_templates(), min_size=2, max_size=2),
        with_volumes=documents.templates_with_volumes(),
        templates=st.lists(documents.pod_templates(), min_size=1, max_size=2),
        nodes=st.lists(st.sampled_from(documents.NODES), min_size=3, max_size=6, unique=True),
        is_busy=st.sampled_from([False, True, True, True, True]),
        data=st.data(),
    )
    def begin(
        self,
        plain: list[Document],
        with_volumes: Document,
        templates: list[Document],
        nodes: list[str],
        is_busy: bool,
        data: st.DataObject,
    ) -> None:
        self.world = World(EXERCISED)
        self.number = 0
        self.templates = [*plain, with_volumes, *templates]
        self.prototypes = [decode_pod(template) for template in self.templates]
        for name in nodes:
            self.world.put_node(data.draw(documents.nodes(name)))
        for template in self.templates:
            self._bring_claims_of(template, data)
        for document in data.draw(st.lists(documents.budgets(), max_size=3)):
            self.world.put_other(document)
        if is_busy:
            self._live_through_everything(data)

    def _live_through_everything(self, data: st.DataObject) -> None:
        """Begin with a history: rules are drawn, but each run must contain some of every kind."""
        who, victims = data.draw(st.sampled_from(LIKE_UPSTREAM)), data.draw(VICTIMS)
        allowed = st.sampled_from([0, 1, 2])
        for document in documents.overlapping_budgets(
            data.draw(st.tuples(allowed, allowed, allowed))
        ):
            self.world.put_other(document)
        for number, name in enumerate(documents.NODES[:3]):
            self.world.put_node(documents.roomy_node(name, "ab"[number % 2]))
        for number in range(24):
            document = self._filler(0, {"app": documents.APPS[number % 2]}, "100m")
            self._decide(LIKE_UPSTREAM[number % 4], decode_pod(document), document, "start")
        self.drain(6)
        self.decide_many(0, 4, True, 0)
        self.preempt(victims, 1_000, True, "all go", who)
        self.churn_nodes(documents.NODES[:4], "bring back", data)
        self.decide_in_turn(5, who, 3)
        self.preempt(victims[::-1], 50, False, "all go", who)
        self.churn_nodes(documents.NODES[2:], "bring one", data)
        self.decide_many(1, 6, True, 6)

    def _bring_claims_of(self, template: Document, data: st.DataObject) -> None:
        """Create the claims of a pod, with a class."""
        namespace = template["metadata"]["namespace"]
        for volume in template["spec"].get("volumes", ()):
            name = volume["persistentVolumeClaim"]["claimName"]
            self.world.put_other(data.draw(documents.storage_classes()))
            claim = data.draw(documents.claims(name, namespace))
            self.world.put_other(claim)
            volume_name = claim["spec"].get("volumeName")
            if volume_name:
                self.world.put_other(data.draw(documents.volumes(volume_name)))

    def _new_pod(self, which: int, nominated: str | None = None) -> tuple[Pod, Document]:
        """Return the next pod of a template; its object shares the template's spec.

        Every second one has its own label, which few selectors read.
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
        which=st.integers(0, 4),
        who=st.sampled_from(list(PROFILES)),
        after=st.sampled_from(["start", "place", "leave"]),
        nominated=documents.maybe(st.sampled_from(documents.NODES)),
    )
    def decide(self, which: int, who: str, after: str, nominated: str | None) -> None:
        pod, document = self._new_pod(which, nominated)
        self._decide(who, pod, document, after)

    def _decide(self, who: str, pod: Pod, document: Document, after: str) -> Preemption | None:
        """Schedule with one profile and execute the decision; return the result of preemption."""
        decision = self.world.decide(who, pod, self.number)
        self.world.compare_with_explanation(who, pod, decision, self.number)
        found = None
        if who in LIKE_UPSTREAM:
            found = self.world.compare_with_oracle(who, document, self.number)
        if after != "leave" and decision.slot >= 0:
            self.world.cluster.clear_nomination(pod)
            self.world.cluster.place(pod, decision.slot)
            self.world.pods[pod.key] = document | {
                "spec": document["spec"] | {"nodeName": decision.node},
                "status": {"phase": "Pending"},
            }
            if after == "start":
                self._start(pod.key)
        return found

    @rule(
        which=st.integers(0, 2),
        count=st.integers(3, 8),
        is_started=st.booleans(),
        drained=st.integers(0, 6),
    )
    def decide_many(self, which: int, count: int, is_started: bool, drained: int) -> None:
        """Schedule pods of one template one after the other, as a deployment creates them."""
        self.drain(drained)
        for _ in range(count):
            self.decide(which, "drawn", "place", None)
        if is_started:
            for key in list(self.world.pods):
                self._start(key)

    @rule(count=st.integers(3, 8), who=st.sampled_from(LIKE_UPSTREAM), drained=st.integers(0, 6))
    def decide_in_turn(self, count: int, who: str, drained: int) -> None:
        """Schedule pods of different templates in turn, which caches must survive."""
        self.drain(drained)
        for which in range(count):
            self.decide(which, who, "start", None)

    def _start(self, key: str) -> None:
        """Start a placed pod, each at another second."""
        document = self.world.pods[key]
        if "nodeName" in document["spec"] and "startTime" not in document["status"]:
            self.world.put_pod(
                document | {"status": {"phase": "Running", "startTime": self._next_second()}}
            )

    def _next_second(self) -> str:
        self.number += 1
        minutes, second = divmod(self.number, 60)
        return f"2026-01-01T{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}Z"

    @rule(which=st.integers(0, 4))
    def all_rules_see_the_same_totals(self, which: int) -> None:
        pod, _ = self._new_pod(which)
        found = [
            self.world.runners[name].decide(pod, cycle_number=self.number) for name in LIKE_UPSTREAM
        ]
        words = [(one.feasible_count, one.total, one.tie_count, one.message) for one in found]
        assert words[1:] == words[:-1]
        by_name = dict(zip(LIKE_UPSTREAM, found, strict=True))
        assert by_name["drawn"].node == by_name[SWEEPING].node

    # ---------------------------------------------------------------- preemption

    @rule(
        victims=VICTIMS,
        priority=st.sampled_from([50, 1_000, 100]),
        is_labeled=st.booleans(),
        ending=st.sampled_from(["all go", "go", "all go", "stay"]),
        who=st.sampled_from(LIKE_UPSTREAM),
    )
    def preempt(
        self,
        victims: list[tuple[int, dict[str, str]]],
        priority: int,
        is_labeled: bool,
        ending: str,
        who: str,
    ) -> None:
        """Fill every node; let pods preempt, wait for their victims, and be placed."""
        for key in list(self.world.pods):
            self._start(key)
        fillers = self._fill(victims)
        for attempt in range(2):
            document = self._filler(priority + attempt, {"app": "web"} if is_labeled else {}, "1")
            found = self._decide(who, decode_pod(document), document, "start")
            if found is None or found.choice is None:
                continue
            node = found.choice.candidate.node
            document = document | {"status": {"phase": "Pending", "nominatedNodeName": node}}
            self.world.put_pod(document)
            for victim in found.victims:
                self._evict(victim.key)
            # The pod is not eligible while they exist, unless none of them is less important.
            self._decide(who, decode_pod(document), document, "leave")
            if ending == "stay":
                continue
            for victim in found.victims:
                self.world.remove_pod(victim.key)
            self._decide(who, decode_pod(document), document, "start")
        if ending == "all go":
            for key in fillers:
                if key in self.world.pods:
                    self.world.remove_pod(key)

    def _fill(self, victims: list[tuple[int, dict[str, str]]]) -> list[str]:
        """Put two pods on every node that use all of its resources; return their names."""
        fillers: list[str] = []
        for name, node in self.world.nodes.items():
            half = quantity_milli_value(node["status"]["allocatable"]["cpu"]) // 2
            for _ in range(2):
                priority, labels = victims[len(fillers) % len(victims)]
                document = self._filler(priority, labels, f"{half}m")
                document["spec"] = document["spec"] | {"nodeName": name}
                document["status"] = {"phase": "Running", "startTime": self._next_second()}
                self.world.put_pod(document)
                fillers.append(f"default/{document['metadata']['name']}")
        return fillers

    def _filler(self, priority: int, labels: dict[str, str], cpu: str) -> Document:
        self.number += 1
        name = f"p{self.number}"
        metadata: Document = {"name": name, "uid": f"u-{name}"}
        if labels:
            metadata["labels"] = labels
        container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
        return FILLER | {
            "metadata": FILLER["metadata"] | metadata,
            "spec": FILLER["spec"] | {"priority": priority, "containers": [container]},
        }

    def _evict(self, key: str) -> None:
        """Delete a pod as a victim is deleted; it exists until it has terminated."""
        old = self.world.pods[key]
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
        }
        metadata = old["metadata"] | {"deletionTimestamp": "2026-01-02T00:00:00Z"}
        status = old["status"] | {"conditions": [condition]}
        self.world.put_pod(old | {"metadata": metadata, "status": status})

    # ---------------------------------------------------------------- changes

    @rule(
        name=st.sampled_from(documents.NODES),
        change=st.sampled_from(
            ["images", "labels", "taints", "allocatable", "heartbeat", "everything", "remove"]
        ),
        data=st.data(),
    )
    def change_node(self, name: str, change: str, data: st.DataObject) -> None:
        known = self.world.nodes.get(name)
        if known is None:
            self.world.put_node(data.draw(documents.nodes(name)))
            return
        if change == "remove":
            self.world.remove_node(name)
            return
        drawn = data.draw(documents.nodes(name)) if change != "heartbeat" else known
        self.world.put_node(_with_part(known, drawn, change))

    @rule(
        names=st.lists(st.sampled_from(documents.NODES), min_size=1, max_size=4, unique=True),
        ending=st.sampled_from(["bring back", "bring others", "bring back", "bring one"]),
        data=st.data(),
    )
    def churn_nodes(self, names: list[str], ending: str, data: st.DataObject) -> None:
        """Remove some nodes, and add them again with or without changes, in another order."""
        known = {name: self.world.nodes[name] for name in names if name in self.world.nodes}
        for name in known:
            self.world.remove_node(name)
        for name in reversed(names):
            if ending == "bring back" and name in known:
                self.world.put_node(known[name])
            elif ending != "bring one" or len(self.world.nodes) < 3:
                self.world.put_node(data.draw(documents.nodes(name)))
        for node in list(self.world.nodes.values()):
            # As heartbeats do: nothing has changed, but an image may be left on one node only.
            self.world.put_node(node)

    def drain(self, nodes: int) -> None:
        """Delete the pods of some nodes."""
        drained = list(self.world.nodes)[:nodes]
        for key, pod in list(self.world.pods.items()):
            if pod["spec"].get("nodeName") in drained:
                self.world.remove_pod(key)

    @rule(
        which=st.integers(0, 4),
        node=st.sampled_from(documents.NODES),
        is_nominated=documents.maybe(st.just(True)),
    )
    def put_pod(self, which: int, node: str, is_nominated: bool | None) -> None:
        """Put a pod as a watch delivers it: on a node, or nominated to one, which may not exist."""
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
        change=st.sampled_from(["remove", "terminate", "evict", "relabel", "finish", "nominate"]),
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
            case "evict":
                self._evict(key)
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


def _with_part(node: Document, drawn: Document, part: str) -> Document:
    """Return a node with one part of another, as most updates change it."""
    status = node["status"]
    match part:
        case "images":
            images = drawn["status"].get("images", [])
            return node | {"status": status | {"images": images}}
        case "allocatable":
            allocatable = drawn["status"]["allocatable"]
            return node | {"status": status | {"allocatable": allocatable}}
        case "labels":
            return node | {"metadata": drawn["metadata"]}
        case "taints":
            return node | {"spec": drawn["spec"]}
        case _:
            return drawn


NEEDED = {
    "decisions": 2_000,
    "nodes removed": 200,
    "preemptions": 200,
    "preemptions with a choice": 100,
    "preemptions against budgets": 20,
    "with volumes": 50,
}


def play(effort_: settings, needed: dict[str, int], record: Callable[[str, object], None]) -> None:
    """Run histories, and assert the counts of their situations."""
    EXERCISED.clear()
    with pytest.MonkeyPatch.context() as patch:
        watch_limits(patch, EXERCISED)
        run_state_machine_as_test(Histories, settings=effort_)
    EXERCISED.at_least(record, needed)
    assert 3 * EXERCISED["with several feasible nodes"] >= EXERCISED["decisions"], EXERCISED


def test_a_cluster_with_a_history_decides_like_a_new_one(
    record_property: Callable[[str, object], None],
) -> None:
    needed = {name: count // 8 for name, count in NEEDED.items()}
    play(effort(20, stateful_step_count=30), needed, record_property)


def test_a_cluster_with_tight_limits_decides_like_a_new_one(
    record_property: Callable[[str, object], None],
) -> None:
    with tight_limits():
        # Compiled modules have their limits in them.
        needed = NEEDED if IS_COMPILED else NEEDED | dict.fromkeys(COMPACTIONS, 20)
        play(effort(80, stateful_step_count=30), needed, record_property)


@pytest.mark.slow
def test_a_cluster_with_a_long_history_decides_like_a_new_one(
    record_property: Callable[[str, object], None],
) -> None:
    with tight_limits():
        play(effort(1_500, stateful_step_count=60), NEEDED, record_property)


def test_slots_are_renumbered_when_most_nodes_are_gone() -> None:
    """Remove nodes until the cluster renumbers its slots; decisions do not change."""
    world = World(Exercised())
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
