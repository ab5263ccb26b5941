"""The oracle decides every recorded case as the real kube-scheduler does."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.oracle import evaluate, pod_resources, quantity
from tests.oracle.cluster import key_of

Document = dict[str, Any]

VECTORS = Path(__file__).parent / "vectors"
DECISIONS = [
    "resources",
    "scoring",
    "balanced",
    "taints",
    "unschedulable",
    "nodename",
    "nodeaffinity",
    "hostports",
    "podaffinity_required",
    "podaffinity_preferred",
    "podantiaffinity",
    "spread_hard",
    "spread_soft",
    "spread_default",
    "images",
    "volumes",
    "gates",
    "declared_features",
    "edge",
    "mixed",
    "mixed_config",
    "profiles",
    "preemption",
    "preemption_criteria",
    "preemption_pdb",
    "preemption_mixed",
]
EXTENDERS_THAT_ONLY_BIND = 4
"""The number of recorded cases with a feasible node and only such extenders."""

SAMPLE = 5
"""The normal run checks every fifth case, `-m slow` all cases."""
SHARE = {"edge", "gates", "images", "podantiaffinity", "preemption_criteria", "unschedulable"}
"""The families of which `make ci` checks all cases."""

pytestmark = pytest.mark.golden


def read(family: str) -> Iterator[Document]:
    with gzip.open(VECTORS / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def differences(case: Document, actual: Document) -> list[str]:
    """Return the fields in which the decision differs from the recorded one."""
    expect = case["expect"]
    fields = sorted(expect.keys() | actual.keys())
    return [
        f"{case['id']}: {field}: expected {expect.get(field)!r}, got {actual.get(field)!r}"
        for field in fields
        if expect.get(field) != actual.get(field)
    ]


def check_family(family: str, step: int) -> None:
    wrong = [
        difference
        for index, case in enumerate(read(family))
        if index % step == 0
        for difference in differences(case, evaluate(case))
    ]
    assert not wrong, f"{len(wrong)} fields differ, first:\n" + "\n".join(wrong[:5])


@pytest.mark.parametrize("family", DECISIONS)
def test_a_sample_of_decisions_agrees(family: str) -> None:
    check_family(family, SAMPLE)


@pytest.mark.slow
@pytest.mark.parametrize(
    "family",
    [
        pytest.param(family, marks=pytest.mark.share) if family in SHARE else family
        for family in DECISIONS
    ],
)
def test_every_decision_agrees(family: str) -> None:
    check_family(family, 1)


def test_the_search_ends_at_one_node_where_nothing_scores_and_no_extender_filters() -> None:
    """Cases whose extenders only bind or preempt, which does not affect feasibility."""
    looked_at = 0
    for case in [*read("extenders"), *read("found/extenders")]:
        verbs = {key for extender in case["config"]["extenders"] for key in extender}
        if not case["expect"].get("feasible") or verbs & {"filterVerb", "prioritizeVerb"}:
            continue
        actual = evaluate(case)
        for field in ("feasible", "filter", "winners"):
            assert actual.get(field, {}) == case["expect"].get(field, {}), (case["id"], field)
        looked_at += 1
    assert looked_at == EXTENDERS_THAT_ONLY_BIND


class Replay:
    """A cluster that follows a recorded sequence: pods are added, bound and deleted."""

    def __init__(self, objects: list[Document]) -> None:
        self.others = [one for one in objects if one["kind"] != "Pod"]
        self.pods = {key_of(one): one for one in objects if one["kind"] == "Pod"}
        self.seconds = 0

    def judge(self, pod: Document) -> Document:
        """Decide for the pod and return the result in the form of the sequences."""
        self.pods.pop(key_of(pod), None)
        found = evaluate({"objects": [*self.others, *self.pods.values()], "pod": pod})
        actual = {"winners": found["winners"], "feasible": len(found["feasible"])}
        if "total" in found:
            actual["max_score"] = max(found["total"].values())
        if "message" in found:
            actual["message"] = found["message"]
        if found.get("preemption", {}).get("status") == "Success":
            for field in ("nominated_node", "acceptable", "victims"):
                actual[field] = found["preemption"][field]
        return actual

    def follow(self, pod: Document, expect: Document) -> None:
        """Apply the decision of the real scheduler."""
        if expect.get("chosen"):
            start = datetime(2026, 1, 2, tzinfo=UTC) + timedelta(seconds=self.seconds)
            status = {"phase": "Running", "startTime": start.strftime("%Y-%m-%dT%H:%M:%SZ")}
            spec = {**pod["spec"], "nodeName": expect["chosen"]}
            self.pods[key_of(pod)] = {**pod, "spec": spec, "status": status}
        elif expect.get("nominated_node"):
            for victim in expect["victims"]:
                del self.pods[victim]
            status = {"nominatedNodeName": expect["nominated_node"]}
            self.pods[key_of(pod)] = {**pod, "status": status}
        self.seconds += 1


def check_sequences(family: str, step: int) -> None:
    for case in list(read(family))[::step]:
        replay = Replay(case["objects"])
        for index, one in enumerate(case["steps"]):
            if one["op"] == "delete":
                replay.pods.pop(one["name"], None)
                continue
            expect = {name: what for name, what in one["expect"].items() if name != "chosen"}
            assert replay.judge(one["pod"]) == expect, (case["id"], index)
            replay.follow(one["pod"], one["expect"])


@pytest.mark.parametrize("family", ["sequence", "sequence_preemption"])
def test_a_sample_of_sequences_agrees(family: str) -> None:
    check_sequences(family, 4 * SAMPLE)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["sequence", "sequence_preemption"])
def test_every_sequence_agrees(family: str) -> None:
    check_sequences(family, 1)


def test_pod_requests_agree() -> None:
    def non_zero(amounts: dict[str, int]) -> dict[str, int]:
        return {name: amount for name, amount in amounts.items() if amount}

    def cpu_and_memory(amounts: dict[str, int]) -> dict[str, int]:
        return {name: amounts.get(name, 0) for name in ("cpu", "memory")}

    for case in read("pod_requests"):
        pod = case["pod"]
        actual = {
            "assigned": non_zero(pod_resources.assigned_requests(pod)),
            "filter": non_zero(pod_resources.filter_requests(pod)),
            "non_zero": pod_resources.non_zero_requests(pod),
            "score_fit": cpu_and_memory(pod_resources.fit_score_requests(pod, with_pod_level=True)),
            "score_balanced": cpu_and_memory(pod_resources.balanced_score_requests(pod)),
        }
        assert actual == case["expect"], case["id"]


def test_quantities_agree() -> None:
    for case in read("quantities"):
        for text, expected in zip(case["quantities"], case["expect"], strict=True):
            try:
                actual: Document = {
                    "value": str(quantity.value(text)),
                    "milli": str(quantity.milli(text)),
                }
            except ValueError:
                actual = {"error": True}
            assert actual == expected, (case["id"], text)
