"""Objects of a server from which an editor or a tool has removed what the server requires."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from podwright.simulation.files import load_bytes
from podwright.simulation.world import simulate


def stored(api_version: str, kind: str, name: str, **fields: Any) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "resourceVersion": "5",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


NODE: Any = stored(
    "v1", "Node", "n1", status={"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}
)
TEMPLATE: Any = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
DEPLOYMENT: Any = stored(
    "apps/v1",
    "Deployment",
    "web",
    spec={"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
)
POD: Any = stored("v1", "Pod", "alone", spec=TEMPLATE["spec"])
BUDGET: Any = stored(
    "policy/v1",
    "PodDisruptionBudget",
    "budget",
    spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
)
SCALER: Any = stored(
    "autoscaling/v2",
    "HorizontalPodAutoscaler",
    "scaler",
    spec={
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "maxReplicas": 5,
        "metrics": [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization"}},
            }
        ],
    },
)


def edited(document: Any, path: str, value: Any = None, *, is_dropped: bool = True) -> Any:
    document = copy.deepcopy(document)
    at = document
    *steps, last = path.split(".")
    for step in steps:
        at = at[int(step)] if isinstance(at, list) else at[step]
    if is_dropped:
        del at[last]
    else:
        at[last] = value
    return document


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param([], id="as it was"),
        pytest.param([edited(POD, "spec.containers.0.name")], id="a container without a name"),
        pytest.param(
            [edited(BUDGET, "spec.selector.matchLabels.app", "100%", is_dropped=False)],
            id="a budget with an invalid selector",
        ),
        pytest.param([edited(SCALER, "spec.scaleTargetRef")], id="an autoscaler of nothing"),
        pytest.param([edited(SCALER, "spec.scaleTargetRef.name")], id="of no name"),
        pytest.param([edited(SCALER, "spec.scaleTargetRef.kind")], id="of no kind"),
        pytest.param([edited(SCALER, "spec.maxReplicas")], id="an autoscaler without a limit"),
    ],
)
def test_an_edited_dump_is_simulated(changed: list[Any]) -> None:
    kept = {document["metadata"]["name"]: document for document in (NODE, DEPLOYMENT, POD, BUDGET)}
    documents = kept | {document["metadata"]["name"]: document for document in changed}
    listed = {"apiVersion": "v1", "kind": "List", "items": list(documents.values())}
    loaded = load_bytes([("d.json", msgspec.json.encode(listed))])
    run = simulate(loaded, until="2m", progress=False)
    assert run.summary.counts.placed
    assert not run.pending
