"""PostFilter: DynamicResources, which has nothing to deallocate, and DefaultPreemption.

DefaultPreemption removes all pods of lower priority from a copy of each node. If the pod then fits,
as many of them as possible are reprieved: first those whose removal would violate a disruption
budget, each group by importance. The others are the victims. Five criteria choose among the nodes.

Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go

(PodEligibleToPreemptOthers, SelectVictimsOnNode, filterPodsWithPDBViolation),
pkg/scheduler/framework/preemption/preemption.go (Preempt, findCandidates, DryRunPreemption,
pickOneNodeForPreemption), pkg/scheduler/util/utils.go (MoreImportantPod, GetEarliestPodStartTime).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.oracle.cluster import Node, key_of, labels_of, namespace_of, priority_of
from tests.oracle.plugin import ERROR, UNRESOLVABLE, UNSCHEDULABLE, Rejection, unresolvable
from tests.oracle.selectors import LabelSelector

if TYPE_CHECKING:
    from tests.oracle.cycle import Cycle, States

Document = dict[str, Any]

_NOW = "9999-12-31T23:59:59Z"
"""The start time of a pod that has not started: the present."""


class Candidate:
    """A candidate: a node, the pods to evict, and the number of violated budgets."""

    def __init__(self, node: str, victims: list[Document], violations: int) -> None:
        self.node = node
        self.victims = victims
        self.violations = violations


def start_time(pod: Document) -> str:
    """Return status.startTime; RFC 3339 in UTC sorts as text."""
    return str((pod.get("status") or {}).get("startTime") or _NOW)


def importance(pod: Document) -> tuple[int, str]:
    """Return a key that sorts the most important pod first."""
    return -priority_of(pod), start_time(pod)


def _is_terminating_by_preemption(pod: Document) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp")) and any(
        condition.get("type") == "DisruptionTarget"
        and condition.get("status") == "True"
        and condition.get("reason") == "PreemptionByScheduler"
        for condition in (pod.get("status") or {}).get("conditions") or []
    )


def why_not_eligible(cycle: Cycle) -> str | None:
    """Return the reason for which the pod may not preempt."""
    pod = cycle.pod
    if pod["spec"].get("preemptionPolicy") == "Never":
        return "not eligible due to preemptionPolicy=Never."
    nomination = (pod.get("status") or {}).get("nominatedNodeName")
    node = cycle.cluster.nodes.get(nomination) if nomination else None
    if node is None or code_of(cycle, node.name) == UNRESOLVABLE:
        return None
    if any(
        priority_of(other) < priority_of(pod) and _is_terminating_by_preemption(other)
        for other in node.pods
    ):
        return "not eligible due to a terminating pod on the nominated node."
    return None


def code_of(cycle: Cycle, node: str) -> str:
    """Return the status code of a node; without one, preemption does not help."""
    if node in cycle.verdicts:
        return cycle.verdicts[node].code
    return cycle.absent.code if cycle.absent else UNRESOLVABLE


def split_by_budgets(
    pods: list[Document], budgets: list[Document]
) -> tuple[list[Document], list[Document]]:
    """Split pods, most important first, into those that violate a budget and the others."""
    allowed = [(b.get("status") or {}).get("disruptionsAllowed", 0) for b in budgets]
    violating: list[Document] = []
    others: list[Document] = []
    for pod in pods:
        violates = False
        for index, budget in enumerate(budgets):
            selector = LabelSelector((budget.get("spec") or {}).get("selector"))
            if (
                not labels_of(pod)
                or namespace_of(budget) != namespace_of(pod)
                or selector.is_empty
                or not selector.matches(labels_of(pod))
                or pod["metadata"]["name"]
                in ((budget.get("status") or {}).get("disruptedPods") or {})
            ):
                continue
            # Every matching budget is charged, including those after a violation.
            allowed[index] -= 1
            violates = violates or allowed[index] < 0
        (violating if violates else others).append(pod)
    return violating, others


def dry_run(cycle: Cycle, node: Node) -> Candidate | Rejection:
    """Find the victims on one node (SelectVictimsOnNode)."""
    states, node = cycle.states.copy(cycle.plugins), node.copy()
    lower = [other for other in node.pods if priority_of(other) < priority_of(cycle.pod)]
    if not lower:
        return unresolvable("No preemption victims found for incoming pod")
    for other in lower:
        cycle.remove_pod(states, node, other)
    verdict = cycle.run_filters_with_nominated(states, node)
    if verdict:
        return Rejection(verdict.code, verdict.reasons)
    lower.sort(key=importance)
    violating, others = split_by_budgets(lower, cycle.cluster.all_of("PodDisruptionBudget"))
    victims = [pod for pod in violating if not _reprieve(cycle, states, node, pod)]
    violations = len(victims)
    victims += [pod for pod in others if not _reprieve(cycle, states, node, pod)]
    if not victims:
        return Rejection(ERROR, [f'expected at least one victim pod on node "{node.name}"'])
    return Candidate(node.name, sorted(victims, key=importance), violations)


def _reprieve(cycle: Cycle, states: States, node: Node, pod: Document) -> bool:
    """Reprieve a pod if the preemptor still fits."""
    cycle.add_pod(states, node, pod)
    if cycle.run_filters_with_nominated(states, node) is None:
        return True
    cycle.remove_pod(states, node, pod)
    return False


def _earliest_start(candidate: Candidate) -> str:
    highest = max(priority_of(pod) for pod in candidate.victims)
    return min(start_time(pod) for pod in candidate.victims if priority_of(pod) == highest)


_CRITERIA: list[Callable[[Candidate], Any]] = [
    lambda candidate: candidate.violations,
    lambda candidate: priority_of(candidate.victims[0]),
    lambda candidate: sum(priority_of(pod) + 2**31 for pod in candidate.victims),
    lambda candidate: len(candidate.victims),
]
"""Criteria 1 to 4, smaller is better; criterion 5, the latest start, is reversed."""


def choose(candidates: list[Candidate]) -> tuple[list[Candidate], int]:
    """Return the candidates that remain equal, and the deciding criterion (6: none)."""
    for number, criterion in enumerate(_CRITERIA, 1):
        best = min(map(criterion, candidates))
        candidates = [one for one in candidates if criterion(one) == best]
        if len(candidates) == 1:
            return candidates, number
    latest = max(map(_earliest_start, candidates))
    candidates = [one for one in candidates if _earliest_start(one) == latest]
    return candidates, 5 if len(candidates) == 1 else 6


def run_default_preemption(cycle: Cycle) -> Document:
    """Run DefaultPreemption and return the `preemption` field of the vectors."""
    if reason := why_not_eligible(cycle):
        return {"status": UNSCHEDULABLE, "nominated_node": None, "message": f"preemption: {reason}"}
    candidates: list[Candidate] = []
    reasons: dict[str, list[str]] = {}
    errors: list[str] = []
    for node in cycle.cluster.nodes.values():
        if node.name in cycle.verdicts and code_of(cycle, node.name) == UNSCHEDULABLE:
            found = dry_run(cycle, node)
            if isinstance(found, Candidate):
                candidates.append(found)
            else:
                reasons[node.name] = found.reasons
                errors += found.reasons if found.code == ERROR else []
    if not candidates and errors:
        text = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
        return {"status": ERROR, "nominated_node": None, "message": f"preemption: {text}"}
    if not candidates:
        histogram = cycle.histogram(reasons, ["Preemption is not helpful for scheduling"])
        message = f"preemption: 0/{len(cycle.cluster.nodes)} nodes are available:{histogram}"
        return {"status": UNSCHEDULABLE, "nominated_node": "", "message": message}
    best, criterion = choose(candidates)
    chosen = min(best, key=lambda one: one.node)
    result: Document = {
        "status": "Success",
        "nominated_node": chosen.node,
        "acceptable": sorted(one.node for one in best),
        "victims": [key_of(pod) for pod in chosen.victims],
        "candidates": {
            one.node: {
                "victims": [key_of(pod) for pod in one.victims],
                "pdb_violations": one.violations,
            }
            for one in candidates
        },
        "message": "",
    }
    if len(candidates) > 1:
        result["criterion"] = criterion
    return result


def run_post_filter(cycle: Cycle) -> Document | None:
    """Run the PostFilter plugins; None if the profile has none."""
    messages: list[str] = []
    result: Document | None = None
    for name in cycle.profile.points["postFilter"]:
        result = result or {"status": UNSCHEDULABLE, "nominated_node": None}
        if name == "DynamicResources":
            # Its PostFilter reads the state of its PreFilter, and fails without one.
            if (
                name not in cycle.states.skipped
                and "DynamicResources" in (cycle.profile.points["preFilter"])
            ):
                return {"status": ERROR, "nominated_node": None, "message": "not found"}
            messages.append("no new claims to deallocate")
        else:
            found = run_default_preemption(cycle)
            if found["status"] != UNSCHEDULABLE:
                return found
            result = {**found}
            messages.append(found["message"])
    if result is None:
        return None
    return {**result, "message": ", ".join(messages)}
