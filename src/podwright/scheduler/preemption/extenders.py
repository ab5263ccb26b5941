"""Preemption with extenders.

Each extender with a preempt verb receives the candidates that the previous one returned, and
returns those that it accepts: their victims by uid, which may differ from the proposed ones.

Upstream: pkg/scheduler/extender.go, `ProcessPreemption`;
pkg/scheduler/framework/preemption/preemption.go, `callExtenders`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import Cluster, importance
from podwright.scheduler.framework import (
    CalledExtender,
    ExtenderError,
    FilteredCycle,
    MalformedJSON,
    PostFilterResult,
    Status,
    Steps,
    pod_argument,
    typed_field,
)
from podwright.scheduler.preemption.preempt import preempt_steps
from podwright.scheduler.preemption.sums import Limits
from podwright.scheduler.preemption.victims import Candidate, Candidates, expected_a_victim


def preempt_with_extenders(
    failed: FilteredCycle, limits: Limits | None = None
) -> Steps[PostFilterResult]:
    """Do the same as `preempt`, and call `failed.extenders` between dry run and choice."""
    steps = preempt_steps(failed, limits)
    try:
        request = next(steps)
        while True:
            left = yield from extender_steps(
                failed.extenders, request.pod, request.candidates, failed.cluster
            )
            request = steps.send(left)
    except StopIteration as end:
        result: PostFilterResult = end.value
        return result


def extender_steps(
    extenders: Sequence[CalledExtender], pod: Pod, candidates: Candidates, cluster: Cluster
) -> Steps[Candidates | Status]:
    """Call the extenders to filter and change the candidates; there must be at least one.

    Parameters
    ----------
    extenders : sequence of CalledExtender
        Those that are interested in the pod.
    cluster : Cluster
        The cluster in which victims are looked up.

    Returns
    -------
    sequence of Candidate, or Status
        The error of an extender that may not be ignored.
    """
    left = {candidate.node: candidate for candidate in candidates}
    for extender in extenders:
        if not extender.settings.preempt_verb:
            continue
        call = extender.call("preempt", _arguments(extender, pod, left))
        reply = yield call
        try:
            left = _read(extender, extender.answer(call, reply), left, cluster)
        except ExtenderError as error:
            if extender.settings.ignorable:
                continue
            return Status.error(str(error))
        # Sorted, so that the first of several is always the same one.
        for node in sorted(name for name, candidate in left.items() if not candidate.victims):
            if not extender.settings.ignorable:
                return expected_a_victim(node)
            del left[node]
        if not left:
            break
    return list(left.values())


def _arguments(
    extender: CalledExtender, pod: Pod, candidates: dict[str, Candidate]
) -> dict[str, Any]:
    """Return the `ExtenderPreemptionArgs`: uids if `nodeCacheCapable`, else Pod objects."""
    is_cache_capable = extender.settings.node_cache_capable
    victims = {
        node: {
            "Pods": [
                {"UID": victim.metadata.uid} if is_cache_capable else pod_argument(victim)
                for victim in candidate.victims
            ],
            "NumPDBViolations": candidate.pdb_violations,
        }
        for node, candidate in candidates.items()
    }
    return {
        "Pod": pod_argument(pod),
        "NodeNameToVictims": None if is_cache_capable else victims,
        "NodeNameToMetaVictims": victims if is_cache_capable else None,
    }


def _read(
    extender: CalledExtender, answer: Any, proposed: dict[str, Candidate], cluster: Cluster
) -> dict[str, Candidate]:
    """Read an `ExtenderPreemptionResult`."""
    try:
        by_node = typed_field(answer, "ExtenderPreemptionResult", "NodeNameToMetaVictims", dict)
        listed = {node: _uids(victims) for node, victims in (by_node or {}).items()}
    except MalformedJSON as problem:
        raise extender.malformed("preempt", problem) from problem
    found: dict[str, Candidate] = {}
    for node, (uids, violations) in listed.items():
        slot = cluster.nodes.slot_of.get(node)
        if slot is None:
            raise ExtenderError(f'nodeinfo not found for node name "{node}"')
        pods = {placed.pod.metadata.uid: placed.pod for placed in cluster.pods_on[slot].values()}
        for uid in uids:
            if uid not in pods:
                # Upstream prints a pointer to the MetaPod, hence the ampersand and the braces.
                raise ExtenderError(
                    f"extender: {extender.settings.url_prefix} claims to preempt pod "
                    f"(UID: &{{{uid}}}) on node: {node}, but the pod is not found on that node"
                )
        victims = tuple(pods[uid] for uid in uids)
        found[node] = Candidate(
            node=node,
            victims=victims,
            spared=_spared(proposed.get(node), victims),
            pdb_violations=violations,
        )
    return found


def _uids(victims: Any) -> tuple[list[str], int]:
    """Read a `MetaVictims`."""
    pods = typed_field(victims, "MetaVictims", "Pods", list) or []
    uids = [typed_field(pod, "MetaPod", "UID", str) or "" for pod in pods]
    return uids, typed_field(victims, "MetaVictims", "NumPDBViolations", int) or 0


def _spared(proposed: Candidate | None, victims: tuple[Pod, ...]) -> tuple[Pod, ...]:
    """Return the pods of lower priority that stay after all, the most important first."""
    if proposed is None:
        return ()
    going = {victim.key for victim in victims}
    reprieved = [pod for pod in (*proposed.victims, *proposed.spared) if pod.key not in going]
    return tuple(sorted(reprieved, key=importance))
