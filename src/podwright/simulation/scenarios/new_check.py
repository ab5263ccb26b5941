"""New checks: of a snapshot of a cluster, and of one past decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from podwright.apimachinery.objects import Object, Pod, encode, with_node_name
from podwright.simulation.recording import PastCycle, cluster_of
from podwright.simulation.scenarios.document import API_VERSION, KIND

Scenario = dict[str, Any]

SNAPSHOT_END: Final = "10m"
"""The end of a check of a cluster that starts pods without end: each pending pod is tried again."""


def snapshot_scenario(
    files: Sequence[str], name: str, pending_count: int, *, end: str = ""
) -> Scenario:
    """Return a scenario of the cluster in some files: no more of its pods are pending than now.

    Parameters
    ----------
    files : sequence of str
        Paths, relative to the scenario.
    name : str
        The name of the scenario.
    pending_count : int
        The pods that are pending at the end of a run of the cluster.
    end : str
        The end of that run since its start; "" if it ended by itself.
    """
    expectations = [{"name": "not more pending pods", "pendingAtMost": pending_count}]
    spec: Scenario = {"cluster": {"files": list(files)}, "expectations": expectations}
    return _scenario(name, spec | {"stop": {"at": end}} if end else spec)


def decision_scenario(past: PastCycle, configuration: Scenario) -> Scenario:
    """Return a scenario of a past decision: the same pod on the cluster that the cycle saw.

    Pods that the cycle took for placed are on their nodes, other pending pods are left out. Where
    several nodes had the best score, any of them is expected: which one was drawn is chance.

    Parameters
    ----------
    past : PastCycle
        The decision.
    configuration : dict
        That of the run; empty for the default one.
    """
    explanation = past.explain()
    at = cluster_of(past.machine, past.entry.now_ns)
    decided = past.pod
    objects = [
        placed
        for obj in at.objects
        if not (isinstance(obj, Pod) and obj.key == decided.key)
        and (placed := _as_placed(obj, at.node_of)) is not None
    ]
    nodes = list(explanation.winners) if explanation.decision.node else []
    spec: Scenario = {
        "cluster": {"objects": [*map(encode, objects), _as_new(decided)]},
        "expectations": [
            {"name": "decision", "placed": {"pod": decided.key, "nodes": nodes}},
        ],
    }
    if configuration:
        spec["configurations"] = [{"name": "recorded", "configuration": dict(configuration)}]
    return _scenario(f"{decided.name}-{past.attempt}", spec)


def _as_placed(obj: Object, node_of: Any) -> Object | None:
    """Return an object as the cycle saw it; None for a pod without a node."""
    if not isinstance(obj, Pod) or obj.spec.node_name:
        return obj
    node = node_of.get(obj.key)
    return None if node is None else with_node_name(obj, node)


def _as_new(pod: Pod) -> Scenario:
    document = encode(pod)
    return {name: value for name, value in document.items() if name != "status"}


def _scenario(name: str, spec: Scenario) -> Scenario:
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}
