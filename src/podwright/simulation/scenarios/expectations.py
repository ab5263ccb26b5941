"""Expectations of a scenario: what is observed during a run, and whether it is as expected.

The observer receives changes of pods and the requests that remove them. It knows no scheduling:
every value is what the API showed at a virtual time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Any, Final

import msgspec

from podwright.apimachinery.documents import first_names
from podwright.apimachinery.objects import (
    KubernetesObject,
    NamespacedName,
    Node,
    Pod,
    parse_label_selector,
    read_duration,
)
from podwright.cluster.api import SCHEDULER_USER, DeleteObject, EvictPod, Rejection
from podwright.scheduler.config import format_duration
from podwright.simulation.recording import controller_of_replica, paired_replicas
from podwright.simulation.scenarios.document import (
    BudgetLimit,
    Expectation,
    Placement,
    SpreadLimit,
    UtilizationRange,
)
from podwright.simulation.world import Run


class ObservedPod(msgspec.Struct, kw_only=True):
    """A pod of a run.

    Attributes
    ----------
    node : str
        Its last node, "" without one.
    scheduled_ns : int, optional
        When it got a node.
    ended_ns : int, optional
        When it was deleted.
    is_victim : bool
        Whether the scheduler removed it for another pod.
    controller : str
        As `controller_of_replica` returns it.
    """

    key: NamespacedName
    labels: dict[str, str]
    priority_class: str
    created_ns: int
    node: str = ""
    scheduled_ns: int | None = None
    ended_ns: int | None = None
    has_completed: bool = False
    is_victim: bool = False
    controller: str = ""

    @property
    def never_scheduled(self) -> bool:
        """Whether it waits for a node at the end."""
        return self.scheduled_ns is None and self.ended_ns is None

    def wait_ns(self, end_ns: int) -> int:
        """Return how long it waited for a node, in a run that ended at `end_ns`."""
        until = (self.scheduled_ns, self.ended_ns, end_ns)
        return next(each for each in until if each is not None) - self.created_ns


class RunObserver:
    """Observes the pods of a run, the nodes, and the budgets that reject evictions."""

    def __init__(self) -> None:
        self.pods: dict[str, ObservedPod] = {}
        self.nodes: dict[str, dict[str, str]] = {}
        self.blocked_ns: dict[str, int] = {}
        self._blocked_since: dict[tuple[str, str], int] = {}

    def changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None, now_ns: int
    ) -> None:
        """Receive a change of an object."""
        obj = new if new is not None else old
        if isinstance(obj, Node):
            if new is None:
                self.nodes.pop(obj.name, None)
            else:
                self.nodes[obj.name] = obj.metadata.labels
        elif isinstance(obj, Pod):
            self._pod_changed(obj, now_ns, is_deleted=new is None)

    def _pod_changed(self, pod: Pod, now_ns: int, *, is_deleted: bool) -> None:
        known = self.pods.get(pod.uid)
        if known is None:
            known = self.pods[pod.uid] = ObservedPod(
                key=pod.key,
                labels=pod.metadata.labels,
                priority_class=pod.spec.priority_class_name,
                created_ns=now_ns,
                controller=controller_of_replica(pod),
            )
        if pod.spec.node_name and known.scheduled_ns is None:
            known.node, known.scheduled_ns = pod.spec.node_name, now_ns
        known.has_completed = pod.is_terminal
        if is_deleted:
            known.ended_ns = now_ns
            self._unblock(pod.uid, now_ns)

    def removal_handled(
        self, pod: Pod, request: DeleteObject | EvictPod, error: Exception | None, now_ns: int
    ) -> None:
        """Receive a request that removes a pod."""
        if isinstance(request, EvictPod):
            if error is None:
                self._unblock(pod.uid, now_ns)
            elif isinstance(error, Rejection):
                for name in error.about:
                    budget = f"{pod.namespace}/{name}"
                    self._blocked_since.setdefault((budget, pod.uid), now_ns)
        elif request.user == SCHEDULER_USER and error is None and pod.uid in self.pods:
            self.pods[pod.uid].is_victim = True

    def _unblock(self, uid: str, now_ns: int) -> None:
        for budget, blocked in [one for one in self._blocked_since if one[1] == uid]:
            since_ns = self._blocked_since.pop((budget, blocked))
            self.blocked_ns[budget] = max(self.blocked_ns.get(budget, 0), now_ns - since_ns)

    def end(self, now_ns: int) -> None:
        """Receive the end of the run."""
        for _, uid in tuple(self._blocked_since):
            self._unblock(uid, now_ns)


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an expectation is met.

    Attributes
    ----------
    scenario, configuration, expectation : str
        Their names.
    passed : bool
    message : str
        What was found.
    """

    scenario: str
    configuration: str
    expectation: str
    passed: bool
    message: str

    @property
    def where(self) -> str:
        """The scenario and its configuration."""
        return f"{self.scenario} ({self.configuration})"


class CheckedRun(msgspec.Struct, frozen=True):
    """A run with what was observed of it."""

    run: Run
    observed: RunObserver

    def pods(self, expectation: Expectation) -> list[ObservedPod]:
        """Return the pods that an expectation is about."""
        matches = parse_label_selector(expectation.pods).matches
        return [
            pod
            for pod in self.observed.pods.values()
            if matches(pod.labels)
            and (not expectation.namespace or pod.key.startswith(f"{expectation.namespace}/"))
            and (not expectation.priority_class or pod.priority_class == expectation.priority_class)
        ]


Pods = list[ObservedPod]
Found = tuple[bool, str]
"""Whether an expectation is met, and what was found."""


def found_by(expectation: Expectation, checked: CheckedRun) -> Found:
    """Return whether a run is as expected, and what was found."""
    ((name, value),) = expectation.expected.items()
    pods = checked.pods(expectation)
    if name in _OF_PODS and not pods:
        return False, "no pod matches"
    return _CHECKS[name](value, pods, checked)


def _scheduled_within(within: str, pods: Pods, checked: CheckedRun) -> Found:
    limit_ns = read_duration(within, "", least_ns=0)
    waits = [(pod.wait_ns(checked.run.end_ns), pod) for pod in pods]
    late = [pod for wait_ns, pod in waits if wait_ns > limit_ns or pod.never_scheduled]
    longest = format_duration(max(wait_ns for wait_ns, _ in waits))
    if late:
        return False, f"{len(late)} of {len(pods)} pods: {_names(late)}; longest wait {longest}"
    return True, f"{len(pods)} pods; longest wait {longest}"


def _pending_at_most(most: int, pods: Pods, checked: CheckedRun) -> Found:
    left = [pod for pod in pods if pod.never_scheduled and not pod.has_completed]
    reasons = Counter(checked.run.pending.get(pod.key, "") for pod in left)
    why = "".join(f"; {reason}" for reason, _ in reasons.most_common(1) if reason)
    shown = f": {_names(left)}{why}" if left else ""
    return len(left) <= most, f"{len(left)} of {len(pods)} pods are pending{shown}"


def _spread(spread: SpreadLimit, pods: Pods, checked: CheckedRun) -> Found:
    placed = [pod for pod in pods if pod.node and pod.ended_ns is None and not pod.has_completed]
    if not placed:
        return False, "no pod matches"
    key = spread.topology_key
    domains = dict.fromkeys(
        sorted(labels[key] for labels in checked.observed.nodes.values() if key in labels), 0
    )
    if not domains:
        return False, f"no node has the label {key}"
    for pod in placed:
        domain = checked.observed.nodes.get(pod.node, {}).get(key)
        if domain is not None:
            domains[domain] += 1
    skew = max(domains.values()) - min(domains.values())
    shown = ", ".join(f"{name} {count}" for name, count in domains.items())
    return skew <= spread.max_skew, f"skew {skew}: {shown}"


def _no_preemption(class_name: str, pods: Pods, _: CheckedRun) -> Found:
    of_class = [pod for pod in pods if pod.priority_class == class_name]
    victims = [pod for pod in of_class if pod.is_victim]
    if not of_class:
        return False, f"no pod has the priority class {class_name}"
    shown = f": {_names(victims)}" if victims else ""
    return not victims, f"{len(victims)} of {len(of_class)} pods were preempted{shown}"


def _utilization(expected: UtilizationRange, _: Pods, checked: CheckedRun) -> Found:
    use = checked.run.summary.utilization.get(expected.resource)
    if use is None:
        return False, f"no node has {expected.resource}"
    share = use.peak if expected.of == "peak" else use.mean
    is_met = expected.at_least <= share <= (inf if expected.at_most is None else expected.at_most)
    return is_met, f"{expected.of} {expected.resource} {share:.2%}"


def _budget(expected: BudgetLimit, _: Pods, checked: CheckedRun) -> Found:
    blocked_ns = checked.observed.blocked_ns.get(expected.budget, 0)
    limit_ns = read_duration(expected.at_most, "", least_ns=0)
    text = "never" if not blocked_ns else f"for {format_duration(blocked_ns)}"
    return blocked_ns <= limit_ns, f"{expected.budget} blocked an eviction {text}"


def _placed(expected: Placement, _: Pods, checked: CheckedRun) -> Found:
    node = checked.run.node_of.get(expected.pod, "")
    if not node and expected.pod not in checked.run.pending:
        return False, f"pod {expected.pod} does not exist at the end"
    why = checked.run.pending.get(expected.pod, "")
    found = f"{expected.pod} is on {node}" if node else f"{expected.pod} is pending: {why}"
    return node in expected.nodes if expected.nodes else not node, found


_OF_PODS: Final = ("scheduledWithin", "pendingAtMost", "spread")
_CHECKS: Final[dict[str, Callable[[Any, Pods, CheckedRun], Found]]] = {
    "scheduledWithin": _scheduled_within,
    "pendingAtMost": _pending_at_most,
    "spread": _spread,
    "noPreemptionOf": _no_preemption,
    "utilization": _utilization,
    "budgetBlocked": _budget,
    "placed": _placed,
}


def same_placement(one: CheckedRun, other: CheckedRun) -> Found:
    """Return whether two runs have their pods on the same nodes at the end, and what differs.

    The replicas of a controller are alike: which of them is on which node makes no difference.
    """
    sides = [
        {pod.key: pod for pod in run.observed.pods.values() if pod.ended_ns is None}
        for run in (one, other)
    ]
    replicas = (
        {key: (pod.controller, pod.node) for key, pod in side.items() if pod.controller}
        for side in sides
    )
    names = {after: before for before, after in paired_replicas(*replicas).items()}
    before, after = sides[0], {names.get(key, key): pod for key, pod in sides[1].items()}
    keys = sorted(before.keys() | after.keys())
    places = {key: (_place(before.get(key)), _place(after.get(key))) for key in keys}
    differing = [key for key, (first, second) in places.items() if first != second]
    if not differing:
        return True, f"{len(keys)} pods are placed the same"
    first = differing[0]
    return False, (
        f"{len(differing)} of {len(keys)} pods are placed differently, first {first}:"
        f" {' and '.join(places[first])}"
    )


def _place(pod: ObservedPod | None) -> str:
    return "no such pod" if pod is None else pod.node or "no node"


def _names(pods: Iterable[ObservedPod]) -> str:
    return first_names(sorted(pod.key for pod in pods))


def expectation_names(expectations: Iterable[Expectation]) -> Iterator[str]:
    """Yield a name for each expectation: its own, or what it expects."""
    for number, expectation in enumerate(expectations):
        (kind,) = expectation.expected
        words = re.sub("([A-Z])", lambda found: f"-{found[1].lower()}", kind)
        yield expectation.name or f"{number}-{words}"
