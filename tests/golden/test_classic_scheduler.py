"""The recorded v1.16 decisions, made by `Scheduler`: configuration, cluster, runner, extenders.

`test_classic` tests the rules alone. Here the rules are used as by all other code: through the
configuration, the mirrored cluster, and the types of the framework.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import decode_pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly.scheduler import Scheduler
from podwright.scheduler.config import (
    ExtenderCall,
    ExtenderReply,
    KubeSchedulerConfiguration,
    Rules,
)
from podwright.scheduler.framework.observing.explain import Explanation
from podwright.scheduler.preemption import Preemption

VECTORS = Path(__file__).parent / "classic"
FAMILIES = ("classic_decision", "classic_preemption")

pytestmark = pytest.mark.golden


def cases(family: str) -> Iterator[dict[str, Any]]:
    with gzip.open(VECTORS / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def scheduler_of(case: dict[str, Any]) -> Scheduler:
    rules = Rules(
        name="classic",
        algorithm_provider="" if "policy" in case else case.get("provider", ""),
        policy=case.get("policy"),
        hard_pod_affinity_symmetric_weight=case.get("hard_pod_affinity_symmetric_weight", 1),
        non_preempting_priority=case.get("non_preempting_priority", False),
    )

    def answer(call: ExtenderCall) -> ExtenderReply:
        recorded = case["extender_answers"][call.extender].get(call.verb, {})
        if recorded.get("status", 200) != 200:
            return ExtenderReply(status=recorded["status"])
        if "body" in recorded:
            return ExtenderReply(status=200, body=recorded["body"].encode())
        body: Any = [
            {"Host": name, "Score": score} for name, score in recorded.get("scores", {}).items()
        ]
        if call.verb == "filter":
            # The recorded extenders let pass only nodes that they were sent.
            sent = msgspec.json.decode(call.body)
            items = (sent["Nodes"] or {}).get("items", ())
            names = sent["NodeNames"] or [item["metadata"]["name"] for item in items]
            nodes = [name for name in recorded.get("nodes") or () if name in names]
            body = {
                "NodeNames": nodes,
                "Nodes": {"items": [{"metadata": {"name": name}} for name in nodes]},
                "FailedNodes": recorded.get("failed", {}),
                "Error": recorded.get("error", ""),
            }
        return ExtenderReply(status=200, body=msgspec.json.encode(body))

    scheduler = Scheduler(KubeSchedulerConfiguration(rules=rules), call_extender=answer)
    scheduler.add(*map(decode, case["objects"]))
    return scheduler


def expected_reasons(failed: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    return {node: tuple(one["reason"] for one in reasons) for node, reasons in failed.items()}


def differences(case: dict[str, Any], explanation: Explanation) -> Iterator[str]:
    expect, decision = case["expect"], explanation.decision
    if "error" in expect:
        if not (decision.error or not decision.node):
            yield "there is no error"
        return
    compared = {
        "feasible": (sorted(explanation.feasible), expect["feasible"]),
        "failed": (
            {node: status.reasons for node, status in explanation.rejected.items()},
            expected_reasons(expect["failed"]),
        ),
        "message": (decision.message, expect.get("message", "")),
        "total": (explanation.totals or None, expect.get("total")),
        "best": (sorted(explanation.winners), expect.get("best", [])),
        "weights": (
            {one.plugin: one.weight for one in explanation.scores},
            {name: one["weight"] for name, one in expect.get("priorities", {}).items()},
        ),
        "scores": (
            {one.plugin: one.normalized for one in explanation.scores},
            {
                name: one.get("reduce") or one.get("function") or one["map"]
                for name, one in expect.get("priorities", {}).items()
            },
        ),
    }
    if (preemption := expect.get("preemption")) is not None:
        result = decision.post_filter
        details = None if result is None else result.details
        victims = details.victims if isinstance(details, Preemption) else ()
        compared["victims"] = ([pod.key for pod in victims], preemption.get("victims", []))
        nominated = "" if result is None else result.nominated_node or ""
        compared["nominated"] = (nominated, preemption.get("nominated_node", ""))
    for field, (actual, expected) in compared.items():
        if actual != expected:
            yield f"{case['id']}: {field}: {expected!r} != {actual!r}"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_scheduler_decides_as_recorded(family: str) -> None:
    wrong: list[str] = []
    count = 0
    for case in cases(family):
        count += 1
        explanation = scheduler_of(case).explain(decode_pod(case["pod"]))
        wrong += differences(case, explanation)
    assert not wrong, "\n".join(wrong[:5]) + f"\n{len(wrong)} differences"
    assert count > 0
