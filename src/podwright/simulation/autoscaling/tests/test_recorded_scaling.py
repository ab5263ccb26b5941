"""What the autoscaler does in some runs, each Event and each node, in a text beside the tests.

`PODWRIGHT_UPDATE_STORIES=1` writes the text again, run by run; the difference is reviewed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from tests.recorded_texts import RecordedText

from podwright.apimachinery.objects import encode
from podwright.apimachinery.schema import decode
from podwright.simulation.autoscaling.tests.test_scale_up import (
    apart_from,
    deployment,
    group,
    simulated,
    spread,
)
from podwright.testing import make_node, make_pod

QUICK = {"scaleDownUnneededTime": "1m", "scaleDownDelayAfterAdd": "30s"}
PRICED = [
    group("small", cpu="2", size=4, price=1.0), group("large", cpu="8", size=3, price=3.0),
    group("huge", cpu="32", size=1, price=9.5),
]  # fmt: skip
MIXED = [deployment("web", 7), deployment("db", 3, "3"), deployment("big", 1, "12")]
FEWER = [
    {"at": "5m", "scale": "deployment/web", "replicas": 1},
    {"at": "15m", "scale": "deployment/web", "replicas": 10},
]


def changed(obj: Any, **parts: Any) -> Any:
    """Return a deployment with other parts of its template."""
    document = dict(encode(obj))
    template = document["spec"]["template"]
    made = template | {
        name: template.get(name, {}) | part for name, part in parts.items()
    }  # fmt: skip
    return decode(document | {"spec": document["spec"] | {"template": made}})


def daemon_set(cpu: str) -> Any:
    document = dict(encode(deployment("agent", 0, cpu)))
    spec = {name: part for name, part in document["spec"].items() if name != "replicas"}
    return decode(document | {"kind": "DaemonSet", "spec": spec})


BUDGET = decode({
    "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
})  # fmt: skip
LOCAL = {"volumes": [{"name": "tmp", "emptyDir": {}}]}
KEPT = {"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}}
RUNS: dict[str, dict[str, Any]] = {
    **{
        f"expander {expander}": {"objects": MIXED, "groups": PRICED,
                                 "options": {"expander": [expander]}}
        for expander in ("least-waste", "price", "most-pods", "least-nodes", "random")
    },
    "priorities": {
        "objects": MIXED, "groups": PRICED,
        "options": {"expander": ["priority", "least-waste"],
                    "priorities": {"9": ["huge"], "5": ["l.*e"], "1": ["."]}},
    },
    "fewer and more": {
        "objects": [deployment("web", 12)], "groups": [group(minSize=1), group("b", cpu="8")],
        "options": QUICK, "events": FEWER, "until": "25m",
    },
    "pods that stay": {
        "objects": [changed(deployment("web", 6), spec=LOCAL), make_pod("alone", cpu="1"), BUDGET,
                    changed(deployment("kept", 2), metadata=KEPT)],
        "groups": [group(cpu="2")], "options": QUICK, "events": FEWER[:1], "until": "20m",
    },
    "nodes that never come": {
        "objects": [deployment("web", 6)],
        "groups": [group(outages=[{"start": "0s", "end": "20m"}]), group("b", cpu="2", size=2)],
        "options": {"maxNodeProvisionTime": "2m"}, "until": "30m",
    },
    "pods that are apart": {
        "objects": [spread("web", 5, "500m"), apart_from("web", "other", "1")],
        "groups": [group(template={"labels": {"topology.kubernetes.io/zone": "a"}}),
                   group("b", template={"taints": [{"key": "x", "effect": "NoSchedule"}]})],
        "until": "6m",
    },
    "daemon sets and nodes": {
        "objects": [daemon_set("500m"), make_node("n", cpu="4"), deployment("web", 9)],
        "groups": [group()], "options": QUICK, "events": FEWER[:1], "until": "15m",
    },
    "nothing helps": {
        "objects": [make_pod("huge", cpu="64"), make_pod("no", node_selector={"a": "b"})],
        "groups": PRICED, "until": "3m",
    },
}  # fmt: skip


def lines_of(name: str) -> Iterator[str]:
    given = dict(RUNS[name])
    objects, groups = given.pop("objects"), given.pop("groups")
    run, seen = simulated(objects, groups, seed=4, **given)
    for (second, sign), nodes in groupby(seen.nodes, key=lambda each: each[:2]):
        yield f"{second}s {sign} {' '.join(name for _, _, name in nodes)}"
    for event, same in groupby(seen.events):
        second, reason, note = event
        yield f"{second}s {len([*same])} {reason}: {note}"
    for sizes in run.summary.report.node_groups:
        shown = ", ".join(f"{each.time} {each.size}" for each in sizes.sizes)
        yield f"{sizes.name}: {shown}; {sizes.node_hours:.4f} h, {sizes.cost:.4f}"
    yield f"pending {dict(sorted(run.pending.items()))}"


TEXT = RecordedText(Path(__file__).with_name("recorded_scaling.txt"), RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_the_recorded_one(name: str) -> None:
    found = [*lines_of(name)]
    TEXT.check(name, found)
