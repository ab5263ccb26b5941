"""Numbers of replicas that kube-controller-manager's code gave, see `tests/real_parts/replicas`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from podwright.apimachinery.objects import timestamp_ns
from podwright.cluster.controllers.autoscaling.replica_calculation import (
    CalculationError,
    ResourceTarget,
    Tolerance,
    proposed_replicas,
)
from podwright.cluster.controllers.autoscaling.scaling_limits import ScalingHistory, within_limits
from podwright.cluster.controllers.tests.staged_cluster import document

RECORD = Path(__file__).with_name("recorded_replicas.jsonl.gz")
CASES = [json.loads(line) for line in gzip.decompress(RECORD.read_bytes()).splitlines()]
SECOND = 1_000_000_000


def now_of(case: Any) -> int:
    now_ns = timestamp_ns(case["now"])
    assert now_ns is not None
    return now_ns


def proposed(case: Any) -> dict[str, Any]:
    pods: list[Any] = [
        document("Pod", each["metadata"]["name"], **each | {"namespace": "default"})
        for each in case["pods"]
    ]
    target = ResourceTarget(
        case["resource"], case["container"], case.get("utilization"), case.get("average", 0)
    )
    tolerance = Tolerance(*case["tolerances"])
    try:
        found = proposed_replicas(
            pods, case["metrics"], target, case["current"], tolerance, now_of(case)
        )
    except CalculationError as error:
        return {"replicas": 0, "error": str(error)}
    answer: dict[str, Any] = {"replicas": found.replicas}
    if found.average_milli:
        answer["average"] = found.average_milli
    if found.utilization is not None:
        answer["utilization"] = found.utilization
    return answer


def limited(case: Any) -> dict[str, Any]:
    now_ns = now_of(case)
    history = ScalingHistory(
        [(now_ns - age * SECOND, count) for age, count in case["recommendations"]],
        [(now_ns - age * SECOND, change) for age, change in case["changes"]],
    )
    found = within_limits(case["spec"], history, case["current"], case["proposed"], now_ns)
    reasons = [found.stabilized[0], str(found.is_limited), found.limit[0]]
    return {"replicas": found.replicas, "reasons": reasons}


@pytest.mark.parametrize(("key", "answer_of"), [("pods", proposed), ("spec", limited)])
def test_the_numbers_of_replicas_are_those_of_upstream(key, answer_of):
    cases = [case for case in CASES if key in case]
    differing = [
        {**case, "here": found} for case in cases if (found := answer_of(case)) != case["answer"]
    ]
    assert len(cases) > 480
    assert not differing, f"{len(differing)} differ, the first: {json.dumps(differing[0])}"
