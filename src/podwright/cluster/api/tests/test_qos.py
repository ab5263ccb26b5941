"""The class of a pod follows from the totals of what its containers request."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.api.pods.qos import qos_class


def amounts(cpu: str = "", memory: str = "", **more: str) -> dict[str, str]:
    given = {"cpu": cpu, "memory": memory} | more
    return {name: amount for name, amount in given.items() if amount}


def of(requests: Any = None, limits: Any = None) -> dict[str, Any]:
    return {"resources": {"requests": requests, "limits": limits}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"containers": [{}]}, "BestEffort", id="nothing"),
        pytest.param(
            {"containers": [of(amounts("0"), amounts("0"))]}, "BestEffort", id="amounts of 0"
        ),
        pytest.param(
            {"containers": [of({"ephemeral-storage": "1"})]}, "BestEffort", id="other resources"
        ),
        pytest.param(
            {"containers": [of(amounts("1", "1Gi"), amounts("1000m", "1024Mi"))]},
            "Guaranteed",
            id="equal amounts",
        ),
        pytest.param({"containers": [of(None, amounts("1", "1Gi"))]}, "Guaranteed", id="limits"),
        pytest.param(
            {"containers": [of(None, amounts("1", "1")), {}]}, "Burstable", id="one without"
        ),
        pytest.param(
            {
                "containers": [of(amounts("1", "1"), amounts("2", "1"))],
                "initContainers": [of(amounts("2", "1"), amounts("1", "1"))],
            },
            "Guaranteed",
            id="totals are compared",
        ),
        pytest.param(
            {"containers": [{}], "resources": {"limits": amounts("1", "1")}},
            "Guaranteed",
            id="of the pod",
        ),
        pytest.param(
            {
                "containers": [of(None, amounts("1", "1"))],
                "resources": {"requests": amounts("1")},
            },
            "Burstable",
            id="of the pod alone",
        ),
    ],
)
def test_the_class_of_a_pod(spec: dict[str, Any], expected: str) -> None:
    assert qos_class(spec) == expected
