"""New checks: of a snapshot of a cluster, and of one past decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from podwright.apimachinery.objects import Pod, encode, with_node_name
from podwright.simulation.recording import PastCycle, Setup, cluster_of, preemption_of
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


def decision_scenario(past: PastCycle, setup: Setup, plugins: Sequence[str] = ()) -> Scenario:
    """Return a scenario of a past decision: the same pod on the cluster that the cycle saw.

    Pods that the cycle took for placed are on their nodes. Pending pods are left out, except those
    that a plugin schedules together with this one. Where several nodes had the best score, any of
    them is expected: which one was drawn is chance. A pod that evicts others is expected on a node
    where it would evict them.

    Parameters
    ----------
    past : PastCycle
        The decision.
    setup : Setup
        The options of the run.
    plugins : sequence of str
        The files of the run's plugins, relative to the scenario.
    """
    explanation = past.explain()
    at = cluster_of(past.machine, past.entry.now_ns)
    decided = past.pod
    groups = [
        (plugin.group_of, group)
        for plugin in past.runner.profile.all_plugins()
        if plugin.implements("group_of") and (group := plugin.group_of(decided)) is not None
    ]
    objects: list[Scenario] = []
    for obj in at.objects:
        if not isinstance(obj, Pod) or obj.spec.node_name:
            objects.append(encode(obj))
        elif obj.key == decided.key:
            continue
        elif obj.key in at.node_of:
            objects.append(encode(with_node_name(obj, at.node_of[obj.key])))
        elif any(group_of(obj) == group for group_of, group in groups):
            objects.append(_as_new(obj))
    decision = explanation.decision
    preemption = preemption_of(decision)
    nodes = list(explanation.winners) if decision.node else []
    if preemption is not None and preemption.choice is not None:
        nodes = list(preemption.choice.acceptable)
    spec: Scenario = {
        "cluster": {"objects": [*objects, _as_new(decided)]},
        "expectations": [
            {"name": "decision", "placed": {"pod": decided.key, "nodes": nodes}},
        ],
    }
    gates = ",".join(f"{name}={str(is_on).lower()}" for name, is_on in setup.gates.items())
    parts = {"configuration": setup.configuration, "featureGates": gates, "plugins": [*plugins]}
    if given := {name: part for name, part in parts.items() if part}:
        spec["configurations"] = [{"name": "recorded", **given}]
    return _scenario(f"{decided.name}-{past.attempt}", spec)


def _as_new(pod: Pod) -> Scenario:
    document = encode(pod)
    return {name: value for name, value in document.items() if name != "status"}


def _scenario(name: str, spec: Scenario) -> Scenario:
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec}
