"""Autoscalers from a seed, and the numbers of replicas that kube-controller-manager gives them.

    python -m tests.real_parts.replicas          rewrites the record beside the room

The record is that of `test_recorded_replicas.py` in `cluster/controllers/tests`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)

# Ages in seconds that are not near a limit: upstream's clock goes on during a case.
_AGES: Final = (1, 5, 22, 40, 70, 100, 200, 290, 310, 400, 900)


def time(age: int) -> str:
    """Return the time some seconds ago."""
    return (NOW - timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%SZ")


def draw(seed: int) -> dict[str, Any]:
    """Return a question: every other one about limits."""
    random = Random(f"replicas {seed}")
    return {"now": time(0)} | (_limits(random) if seed % 2 else _metric(random))


def _metric(random: Random) -> dict[str, Any]:
    resource = random.choice(["cpu", "cpu", "cpu", "memory"])
    container = random.choice(["", "", "", "main", "main", "main", "proxy"])
    pods = [_pod(random, f"p{number}") for number in range(random.choice([0, 1, 2, 3, 5, 8]))]
    level = random.choice([20, 45, 50, 55, 60, 100, 170, 400])
    measured = random.choice([0.5, 0.8, 1, 1, 1])
    metrics = {
        pod["metadata"]["name"]: random.choice([level, level, random.randint(0, 3 * level)]) * 10
        for pod in pods
        if random.random() < measured
    }
    question = {
        "current": random.choice([len(pods), len(pods), 1, 4, 12]),
        "pods": pods,
        "metrics": metrics,
        "resource": resource,
        "container": container,
        "tolerances": random.choice([[0.1, 0.1], [0.1, 0.1], [0, 0], [0.5, 0.05], [0.05, 0.6]]),
    }
    if random.random() < 0.3:
        return question | {"average": random.choice([200, 500, 1000, 3000])}
    return question | {"utilization": random.choice([1, 20, 50, 50, 80, 100, 150, 300])}


def _pod(random: Random, name: str) -> dict[str, Any]:
    containers = [_container(random, each) for each in random.choice([["main"], ["main", "proxy"]])]
    spec: dict[str, Any] = {"containers": containers}
    if random.random() < 0.15:
        sidecar = _container(random, "mesh") | {"restartPolicy": "Always"}
        spec["initContainers"] = [_container(random, "first"), sidecar]
    if random.random() < 0.1:
        spec["resources"] = {"requests": random.choice([{"cpu": "3"}, {"memory": "4Ki"}, {}])}
        spec["overhead"] = random.choice([{}, {"cpu": "1"}])
    metadata: dict[str, Any] = {"name": name, "namespace": "default"}
    if random.random() < 0.07:
        metadata |= {"deletionTimestamp": time(5), "deletionGracePeriodSeconds": 30}
    phases = ["Running"] * 8 + ["Pending", "Failed", "Succeeded"]
    status: dict[str, Any] = {"phase": random.choice(phases)}
    if random.random() < 0.95:
        status["startTime"] = time(random.choice([900, 900, *_AGES]))
    if random.random() < 0.95:
        ready = {"type": "Ready", "status": random.choice(["True", "True", "True", "False"])}
        if random.random() < 0.95:
            ready["lastTransitionTime"] = time(random.choice([890, 890, *_AGES]))
        status["conditions"] = [{"type": "PodScheduled", "status": "True"}, ready]
    return {"metadata": metadata, "spec": spec, "status": status}


def _container(random: Random, name: str) -> dict[str, Any]:
    requests = {"cpu": random.choice(["1", "1", "500m", "1001m"]), "memory": "1"}
    if random.random() < 0.01:
        del requests[random.choice(["cpu", "memory"])]
    if random.random() < 0.03:
        requests["cpu"] = "0"
    return {"name": name, "image": "app", "resources": {"requests": requests}}


def _limits(random: Random) -> dict[str, Any]:
    current = random.choice([1, 2, 5, 10, 37])
    least = random.choice([None, 1, 2, 6])
    spec: dict[str, Any] = {"maxReplicas": random.choice([6, 20, 100])}
    if least is not None:
        spec["minReplicas"] = least
    if random.random() < 0.8:
        window = random.choice([None, 0, 60, 300, 3600])
        down = _rules(random) | ({} if window is None else {"stabilizationWindowSeconds": window})
        up = _rules(random) | {"stabilizationWindowSeconds": random.choice([0, 0, 60, 300])}
        spec["behavior"] = {"scaleUp": up, "scaleDown": down}
    ages = sorted((random.choice(_AGES) for _ in range(random.randint(0, 5))), reverse=True)
    others = sorted((random.choice(_AGES) for _ in range(random.randint(0, 4))), reverse=True)
    return {
        "current": current,
        "spec": spec,
        "proposed": max(0, current + random.choice([-30, -4, -1, 0, 0, 1, 3, 10, 90])),
        "recommendations": [
            [age, max(0, current + random.choice([-3, -1, 0, 2, 8]))] for age in ages
        ],
        "changes": [[age, random.choice([-4, -1, 1, 2, 7])] for age in others],
    }


def _rules(random: Random) -> dict[str, Any]:
    policies = [
        {
            "type": random.choice(["Pods", "Percent"]),
            "value": random.choice([1, 4, 10, 33, 100]),
            "periodSeconds": random.choice([15, 60, 180, 1800]),
        }
        for _ in range(random.choice([1, 1, 2, 3]))
    ]
    return {
        "selectPolicy": random.choice(["Max", "Max", "Min", "Disabled"]),
        "policies": policies,
    }
