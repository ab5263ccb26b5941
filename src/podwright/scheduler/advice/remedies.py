"""The search for remedies: plans are tried in order of effort, and those that work are kept.

1. `Fixes` proposes plans for each node that rejects the pod, and for the cluster as a whole.
2. Plans with the same keys are alternatives: "uncordon a" and "uncordon b". They form a group, and
   the groups are ordered by the effort of their smallest plan.
3. A group is skipped if a plan with a part of its keys works: the rest is not needed.
4. Each plan is tried by a scheduling cycle. If it changes more than the pod, the pods ahead in the
   queue are scheduled again before: they may take what the plan offers.
5. If no plan works, the most promising ones are extended by the fixes of what then rejects the pod.
6. Numbers, as of nodes to add, are tried with growing steps. With the trials that are left, the
   smallest one that works is searched between the last two.

All limits count trials, because this room reads no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple, Protocol, TypeAlias

import msgspec

from podwright._html import facts, section
from podwright.apimachinery.objects import (
    Object,
    Pod,
    PodwrightError,
    PriorityClass,
    ResourceClaim,
    with_fields,
    workload_of,
)
from podwright.scheduler.advice import pod_edits
from podwright.scheduler.advice.edits import (
    Change,
    Edit,
    Plan,
    ReplicaCount,
    apply,
    effort_of,
    numbered,
)
from podwright.scheduler.advice.fixes import DEVICES, Fixes
from podwright.scheduler.advice.rejections import nodes_by_nearness
from podwright.scheduler.columns import Cluster, PlacedPod
from podwright.scheduler.config import Gates
from podwright.scheduler.framework import Explanation

_MOST_REMEDIES = 8
_MOST_TRIALS = 150
_MOST_RESCHEDULED = 6_000
"""So many pods ahead in the queue are scheduled again at most, for all trials together."""
_MOST_DRY_NODES = 15_000
"""Preemption fails on so many nodes at most, over all trials."""
_MOST_PER_GROUP = 10
_MOST_ALTERNATIVES = 4
_MOST_NODES_OF_A_REASON = 30
_MOST_SHAPES = 4
_NODE_COUNTS = (1, 2, 4, 8, 16)
_REMOVED_COUNTS = (1, 2, 4, 8)
_EXTENDED_PLANS = 5
_NEAR_NODES = 8
_MOST_OWNERS = 8
_MOST_REMOVALS = 2
_MOST_PODS_EACH = 8
_MOST_PRIORITY = 1_000_000_000
"""The highest value of a PriorityClass that is not a system's."""

_PRIORITY: Final = ("priority",)
_Keys: TypeAlias = frozenset[tuple[Hashable, ...]]


class Outcome(NamedTuple):
    """The result of a trial in which the pod fits.

    Parameters
    ----------
    node : str
    feasible_count : int
        Nodes that passed all filters.
    victims : tuple of str
        Pods that preemption evicts first.
    """

    node: str
    feasible_count: int
    victims: tuple[str, ...] = ()


class UnknownReply(PodwrightError):  # noqa: N818 - named for what it is
    """A trial needs the reply of an extender that is not known."""


class Trial(Protocol):
    """Runs scheduling cycles for changed objects, and reverts the changes.

    The methods raise `UnknownReply` if an extender would have to be called that cannot be called.
    """

    @property
    def pods_ahead(self) -> int:
        """How many pending pods are ahead in the queue and are scheduled again by `confirm`."""

    def run(self, change: Change) -> Outcome | None:
        """Run one cycle in the state of the explanation; None if the pod does not fit."""

    def confirm(self, change: Change) -> Outcome | None:
        """Schedule the pods ahead again and run the cycle then; None if the pod does not fit."""

    def explain(self, change: Change) -> Explanation:
        """Run one cycle in the state of the explanation with everything recorded."""


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """A change after which the pod fits.

    Parameters
    ----------
    text : str
        The change in the imperative.
    edits : tuple of str
        The same, one entry for each object that changes.
    commands : tuple of str
        The kubectl commands that make the changes of nodes.
    node : str
        The node that the pod goes to then.
    node_count : int
        How many nodes are feasible then.
    alternatives : tuple of str
        Other nodes of which the same change suffices.
    victims : tuple of str
        Pods that preemption evicts first.
    pod : Pod
        The pod with the change.
    put : tuple of Object
        The other objects that are changed or created.
    delete : tuple of str
        Pods that are removed.
    drop : tuple of Object
        Other objects that are deleted.
    pod_edits : tuple of callable
        What changes the pod, or the template that it is made from.
    scales : tuple of ReplicaCount
        The workloads with fewer replicas, whose controllers remove the pods of `delete`.
    bypassed : frozenset of int
        The extenders whose filters have to accept all nodes.
    by_hand : str
        What a person has to look at, if no request makes the change.
    """

    text: str
    edits: tuple[str, ...]
    commands: tuple[str, ...] = ()
    node: str
    node_count: int
    alternatives: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()
    pod: Pod
    put: tuple[Object, ...] = ()
    delete: tuple[str, ...] = ()
    drop: tuple[Object, ...] = ()
    pod_edits: tuple[Callable[[Pod], Pod], ...] = ()
    scales: tuple[ReplicaCount, ...] = ()
    bypassed: frozenset[int] = frozenset()
    by_hand: str = ""

    def __str__(self) -> str:
        """Return the change."""
        return self.text

    def __repr__(self) -> str:
        return f"<Remedy: {self.text}; opens {self.node_count} nodes, such as {self.node}>"

    def _repr_html_(self) -> str:
        known: dict[str, object] = {
            "Node": self.node,
            "Feasible nodes": self.node_count,
            "Commands": "; ".join(self.commands),
            "Victims": ", ".join(self.victims),
        }
        return section(self.text, facts({name: value for name, value in known.items() if value}))


class SearchResult(NamedTuple):
    """The result of a search.

    Parameters
    ----------
    remedies : tuple of Remedy
        The smallest first.
    failed : tuple of Plan
        The plans that were tried and do not make the pod fit.
    untried : tuple of Plan
        The plans whose trials need a reply that is not known.
    without_dry_run : int
        How many changes with a higher priority were not tried, for their effort.
    """

    remedies: tuple[Remedy, ...] = ()
    failed: tuple[Plan, ...] = ()
    untried: tuple[Plan, ...] = ()
    without_dry_run: int = 0


class _Found(NamedTuple):
    plan: Plan
    change: Change
    outcome: Outcome


def _effort(found: _Found) -> float:
    """Return the effort of the plan; evicting other pods is one more."""
    return effort_of(found.plan) + bool(found.outcome.victims)


class Search:
    """The search for the remedies of one pod.

    Parameters
    ----------
    explanation : Explanation
        Of a pod that does not fit.
    cluster : Cluster
        In the state of the explanation.
    trial : Trial
    gates : Gates
        With which the explanation was made.
    classes : mapping of str to PriorityClass
    custom_plugins : container of str
        The names of the plugins whose rules are not known.
    """

    def __init__(
        self,
        explanation: Explanation,
        cluster: Cluster,
        trial: Trial,
        *,
        gates: Gates,
        classes: Mapping[str, PriorityClass],
        custom_plugins: Container[str],
    ) -> None:
        self._explanation = explanation
        self._pod = explanation.pod
        self._cluster = cluster
        self._trial = trial
        self._gates = gates
        self._classes = classes
        self._custom_plugins = custom_plugins
        self._trials_left = _MOST_TRIALS
        self._dry_runs_left = max(_MOST_DRY_NODES // max(len(cluster.live_slots()), 1), 2)
        self._without_dry_run = 0
        ahead = max(trial.pods_ahead, 1)
        self._confirmations_left = max(_MOST_RESCHEDULED // ahead, 4)
        self._found: list[tuple[_Keys, list[_Found]]] = []
        self._promising: list[Plan] = []
        self._failed: list[Plan] = []
        self._untried: list[Plan] = []

    def run(self) -> SearchResult:
        """Try the plans for the explanation, and their extensions if none of them works."""
        self._search(self._proposed(self._explanation, ()))
        if not self._found:
            for plan in self._promising[:_EXTENDED_PLANS]:
                change = self._apply(plan)._replace(evicts=False)
                explanation = self._trial.explain(change)
                self._search(self._proposed(explanation, plan))
        self._found = [
            (keys, [self._smallest(found), *others]) for keys, (found, *others) in self._found
        ]
        self._found.sort(key=lambda entry: _effort(entry[1][0]))
        return SearchResult(
            remedies=tuple(_remedy(found) for _, found in self._found[:_MOST_REMEDIES]),
            failed=tuple(self._failed),
            untried=tuple(self._untried),
            without_dry_run=self._without_dry_run,
        )

    def _apply(self, plan: Plan) -> Change:
        return apply(plan, self._pod, self._cluster)

    # ---------------------------------------------------------------- plans

    def _proposed(self, explanation: Explanation, begun: Plan) -> Iterator[Plan]:
        """Yield the plans for an explanation, each with the edits that it was made with."""
        changed = {obj.key: obj for obj in self._apply(begun).put if isinstance(obj, ResourceClaim)}
        fixes = Fixes(
            explanation,
            self._cluster,
            self._gates,
            custom_plugins=self._custom_plugins,
            changed_claims=changed,
        )
        pod = explanation.pod
        if explanation.decision.gated_by is not None:
            names = [gate.name for gate in pod.spec.scheduling_gates]
            plans: Iterator[Plan] = iter([(pod_edits.drop_gates(names),)] if names else [])
        elif explanation.pre_filter.is_rejection and explanation.pre_filter.plugin == DEVICES:
            # No node matters before the claims are usable.
            plans = fixes.device_classes()
        else:
            near = nodes_by_nearness(explanation, self._cluster)
            names = [node for node, _ in near] or list(explanation.node_names)
            plans = chain(
                self._of_nodes(fixes, names),
                fixes.device_selectors(),
                fixes.claims.plans(),
                self._new_nodes(fixes, names),
                self._priorities(pod),
                self._removals(fixes, names[:_NEAR_NODES]),
            )
        places = {(edit.key, edit.node) for edit in begun}
        for plan in plans:
            # A plan does not repeat an edit that it was made with.
            if not any((edit.key, edit.node) in places for edit in plan):
                yield (*begun, *plan)

    def _of_nodes(self, fixes: Fixes, names: Sequence[str]) -> Iterator[Plan]:
        """Yield the plans of the nearest nodes; many nodes have the same reasons."""
        counts: dict[tuple[tuple[str, tuple[str, ...]], ...], int] = {}
        for name in names:
            reasons = tuple((each.plugin, each.reasons) for each in fixes.statuses_of(name))
            counts[reasons] = counts.get(reasons, 0) + 1
            if counts[reasons] <= _MOST_NODES_OF_A_REASON:
                yield from fixes.of_node(name)

    def _new_nodes(self, fixes: Fixes, names: Sequence[str]) -> Iterator[Plan]:
        shapes: dict[tuple[object, ...], str] = {}
        for name in names:
            node = fixes.node(name)
            if node is not None:
                shapes.setdefault(fixes.shape_of(node), name)
        # A shape that the pod fits on when empty comes before one that would have to be larger.
        several = sorted(shapes.values(), key=lambda name: not fixes.fits_empty(name))
        several = several[:_MOST_SHAPES]
        # The pods ahead take some of the room.
        counts = _NODE_COUNTS if self._trial.pods_ahead else _NODE_COUNTS[:1]
        yield from fixes.new_nodes(several[:1], counts=counts)
        yield from fixes.new_nodes(several[1:])
        if self._trial.pods_ahead:
            yield from fixes.new_nodes(several[:2], factor=2)

    def _priorities(self, pod: Pod) -> Iterator[Plan]:
        """Yield plans that raise the priority just above that of other pods."""
        if self._preempts():
            return
        others = {placed.pod.priority for placed in self._cluster.pods.values()}
        raised: dict[int, PriorityClass | None] = {}
        for other in sorted(value for value in others if pod.priority <= value < _MOST_PRIORITY):
            classes = [each for each in self._classes.values() if each.value > other]
            known = min(classes, key=lambda each: (each.value, each.name), default=None)
            if known is not None and known.value <= _MOST_PRIORITY:
                raised[known.value] = known
            else:
                raised[other + 1] = None
        for value, known in raised.items():
            yield (pod_edits.raise_priority(value, known, self._classes),)

    def _preempts(self) -> bool:
        """Return whether the pod gets a node by preemption, without any change."""
        result = self._explanation.decision.post_filter
        is_nominated = result is not None and bool(result.nominated_node)
        return is_nominated or bool(self._pod.status.nominated_node_name)

    def _removals(self, fixes: Fixes, names: Sequence[str]) -> Iterator[Plan]:
        """Yield plans that scale down the workloads of the nearest nodes.

        None for a pod that preempts: it takes what it needs, and no workload has to be stopped.
        """
        if self._preempts():
            return
        owners = list(fixes.owners(names).items())
        owners.sort(key=lambda entry: (entry[1][0].pod.priority, len(entry[1])))
        for (kind, key), pods in owners[:_MOST_OWNERS]:
            yield from _scaled_down(kind, key, pods)

    # ---------------------------------------------------------------- trials

    def _search(self, plans: Iterable[Plan]) -> None:
        groups: dict[_Keys, list[Plan]] = {}
        for plan in plans:
            groups.setdefault(_keys(plan), []).append(plan)
        for alternatives in groups.values():
            alternatives.sort(key=effort_of)
        for keys in sorted(groups, key=lambda keys: effort_of(groups[keys][0])):
            if self._trials_left <= 0 or len(self._found) >= _MOST_REMEDIES:
                return
            if any(found <= keys for found, _ in self._found):
                continue
            if self._removal_count() >= _MOST_REMOVALS and _removes(keys):
                continue
            if _PRIORITY in keys and self._fails_with_the_highest(groups[keys]):
                continue
            self._try_group(keys, groups[keys])

    def _removal_count(self) -> int:
        return sum(_removes(keys) for keys, _ in self._found)

    def _try_group(self, keys: _Keys, plans: Sequence[Plan]) -> None:
        found: list[_Found] = []
        failures = 0
        nodes: set[str] = set()
        is_promising = True
        for plan in plans:
            if self._trials_left <= 0:
                break
            where = _node_of(plan)
            if where in nodes:
                continue
            try:
                success = self._try(plan)
            except UnknownReply:
                self._untried.append(plan)
                is_promising = is_promising and plan is not plans[0]
                success = None
            else:
                if success is None:
                    self._failed.append(plan)
            if success is not None:
                found.append(success)
                nodes.add(where)
                # Only plans that differ by their node are worth listing side by side.
                if not where or len(found) > _MOST_ALTERNATIVES:
                    break
                continue
            failures += 1
            if failures >= _MOST_PER_GROUP:
                break
        if found:
            self._found.append((keys, found))
        elif is_promising:
            self._promising.append(plans[0])

    def _fails_with_the_highest(self, plans: Sequence[Plan]) -> bool:
        """Return whether the pod finds no node with the highest priority of some plans.

        It could evict all that a lower priority could, so no other has to be tried; unless the pod
        needs others near it, which it may evict, or the class does not evict at all.
        """
        highest = max(plans, key=lambda plan: self._apply(plan).pod.priority)
        policy = self._apply(highest).pod.spec.preemption_policy
        if len(plans) == 1 or self._pod.spec.pod_affinity.required or policy == "Never":
            return False
        try:
            is_failure = self._try(highest) is None
        except UnknownReply:
            return False
        if is_failure:
            self._failed.append(highest)
            self._promising.append(plans[0])
        return is_failure

    def _smallest(self, found: _Found) -> _Found:
        """Return what was found with the smallest number that works, as far as trials are left."""
        for index, edit in enumerate(found.plan):
            numbers, with_number = edit.skipped, edit.with_number
            while numbers and with_number is not None:
                middle = len(numbers) // 2
                smaller = with_number(numbers[middle])
                try:
                    success = self._try((*found.plan[:index], smaller, *found.plan[index + 1 :]))
                except UnknownReply:
                    success = None
                found = success or found
                numbers = numbers[:middle] if success else numbers[middle + 1 :]
        return found

    def _try(self, plan: Plan) -> _Found | None:
        change = self._apply(plan)
        each = next((edit.each for edit in plan if edit.each), ())
        changes = [change._replace(delete=pods) for pods in each] if each else [change]
        outcome: Outcome | None = None
        for one in changes:
            outcome = self._outcome(one)
            if outcome is None:
                return None
        assert outcome is not None, "a plan without changes"
        return _Found(plan, changes[-1], outcome)

    def _outcome(self, change: Change) -> Outcome | None:
        if self._trials_left <= 0:
            return None
        by_priority = change.pod.priority > self._pod.priority
        if by_priority and self._dry_runs_left <= 0:
            self._without_dry_run += 1
            return None
        self._trials_left -= 1
        change = change._replace(evicts=by_priority)
        outcome = self._accepted(self._run(change), by_priority=by_priority)
        self._dry_runs_left -= by_priority and outcome is None
        if outcome is None or not change.affects_others(self._pod) or not self._trial.pods_ahead:
            return outcome
        if not self._confirmations_left:
            return None
        self._confirmations_left -= 1
        return self._accepted(self._trial.confirm(change), by_priority=by_priority)

    def _run(self, change: Change) -> Outcome | None:
        """Run a trial; replicas that it would evict get the priority of the template too."""
        outcome = self._trial.run(change)
        workload, pods = workload_of(self._pod), self._cluster.pods
        if outcome is None or workload is None or not outcome.victims:
            return outcome
        alike = {
            key: with_fields(placed.pod, "spec", priority=change.pod.priority)
            for key, placed in pods.items()
            if workload_of(placed.pod) == workload
        }
        if alike.keys().isdisjoint(outcome.victims):
            return outcome
        return self._trial.run(change._replace(put=(*change.put, *alike.values())))

    @staticmethod
    def _accepted(outcome: Outcome | None, *, by_priority: bool) -> Outcome | None:
        """Return the outcome, unless pods are evicted without the priority being the point."""
        return None if outcome is not None and outcome.victims and not by_priority else outcome


def _removes(keys: _Keys) -> bool:
    return any(key[0] == "remove" for key in keys)


def _keys(plan: Plan) -> _Keys:
    return frozenset(edit.key for edit in plan)


def _node_of(plan: Plan) -> str:
    return next((edit.node for edit in plan if edit.node), "")


def _remedy(found: Sequence[_Found]) -> Remedy:
    plan, change, outcome = found[0]
    edits = tuple(edit.text for edit in plan)
    return Remedy(
        text=" and ".join(edits),
        edits=edits,
        commands=tuple(edit.command for edit in plan if edit.command),
        node=outcome.node,
        node_count=outcome.feasible_count,
        alternatives=tuple(_node_of(other.plan) for other in found[1:]),
        victims=outcome.victims,
        pod=change.pod,
        put=change.put,
        delete=tuple(pod.key for pod in change.delete),
        drop=change.drop,
        pod_edits=tuple(edit.on_pod for edit in plan if edit.on_pod is not None),
        scales=tuple(edit.scale for edit in plan if edit.scale is not None),
        bypassed=change.bypassed,
        by_hand="; ".join(dict.fromkeys(edit.by_hand for edit in plan if edit.by_hand)),
    )


# ---------------------------------------------------------------- fewer replicas


def _scaled_down(kind: str, key: str, pods: Sequence[PlacedPod]) -> Iterator[Plan]:
    """Yield plans that remove pods of one workload, few before all.

    A StatefulSet removes its pods from the highest ordinal down. Which pod another controller
    removes depends on more than a snapshot shows, so each of them has to help.
    """
    count = len(pods)
    if kind == "Pod":
        alone = tuple(placed.pod for placed in pods)
        yield (Edit(key=("remove", kind, key), text=f"delete pod {key}", effort=4.4, delete=alone),)
        return
    if kind == "StatefulSet":
        ordered = sorted(pods, key=lambda placed: -_ordinal(placed.pod))

        def less(number: int) -> Edit:
            removed = [placed.pod for placed in ordered[:number]]
            effort = 4.5 + count / 100 if number == count else 4.0 + number / 50
            return _scaling(ReplicaCount(kind, key, count - number), effort, removed)

        steps = [*(number for number in _REMOVED_COUNTS if number < count), count]
        yield from ((edit,) for edit in numbered(steps, less))
        return
    if 1 < count <= _MOST_PODS_EACH:
        edit = _scaling(ReplicaCount(kind, key, count - 1), 4.0, [])
        yield (msgspec.structs.replace(edit, each=tuple((placed.pod,) for placed in pods)),)
    removed = [placed.pod for placed in pods]
    yield (_scaling(ReplicaCount(kind, key, 0), 4.5 + count / 100, removed),)


def _scaling(scale: ReplicaCount, effort: float, pods: Sequence[Pod]) -> Edit:
    field = "parallelism" if scale.kind == "Job" else "replicas"
    return Edit(
        key=("remove", scale.kind, scale.key),
        text=f"reduce {field} of {scale.kind} {scale.key} to {scale.replicas}",
        effort=effort,
        delete=tuple(pods),
        scale=scale,
    )


def _ordinal(pod: Pod) -> int:
    number = pod.metadata.name.rpartition("-")[2]
    return int(number) if number.isdecimal() else -1
