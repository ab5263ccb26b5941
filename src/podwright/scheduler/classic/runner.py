"""A `Runner` that decides by the v1.16 rules.

It returns the same `Decision`, `Preemption` and `Explanation` as a runner of plugins: a predicate
takes the place of a filter, and a priority that of a score plugin, with the result of its map as
raw score and that of its reduce as normalized score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import TypeVar

import msgspec

from podwright.apimachinery.objects import Pod
from podwright.scheduler.classic.algorithm import Algorithm, Weighted
from podwright.scheduler.classic.cluster import MirroredCluster, identified
from podwright.scheduler.classic.extender import ExtenderError, PolicyExtenders, ReplyNeeded
from podwright.scheduler.classic.failure import NO_NODES, Failures, SchedulingError, is_unresolvable
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.predicates import Predicate, PredicateMetadata
from podwright.scheduler.classic.preemption import Preemption as Found, preempt
from podwright.scheduler.classic.scheduler import (
    ClassicScheduler,
    Decision as ClassicDecision,
    seeded_draw,
)
from podwright.scheduler.classic.scores import WORKERS, ParallelizeUntil, in_order
from podwright.scheduler.classic.victims import Victims
from podwright.scheduler.config import ExtenderReply
from podwright.scheduler.framework import (
    EXTENDER,
    CallExtender,
    Code,
    Cycle,
    Decision,
    Diagnosis,
    Explanation,
    FilterExplanation,
    PostFilterResult,
    Profile,
    Rejection,
    ScoreExplanation,
    Status,
    Steps,
    run_steps,
)
from podwright.scheduler.preemption import Candidate, Choice, DryRun, Preemption

T = TypeVar("T")

_PREEMPTION = "Preemption"


class ClassicCriterion(IntEnum):
    """The criterion that left one candidate."""

    NO_VICTIMS = 0
    FEWEST_VIOLATIONS = 1
    LOWEST_FIRST_VICTIM = 2
    SMALLEST_SUM = 3
    FEWEST_VICTIMS = 4
    LATEST_START = 5
    NAME = 6
    """No criterion: several candidates are equal, and the first by name is taken."""

    @property
    def description(self) -> str:
        """The criterion as text."""
        return _DESCRIPTIONS[self]


_DESCRIPTIONS = {
    ClassicCriterion.NO_VICTIMS: "it needs no victims",
    ClassicCriterion.FEWEST_VIOLATIONS: "fewest violations of disruption budgets",
    ClassicCriterion.LOWEST_FIRST_VICTIM: "lowest priority of the first victim",
    ClassicCriterion.SMALLEST_SUM: "smallest sum of the victims' priorities",
    ClassicCriterion.FEWEST_VICTIMS: "fewest victims",
    ClassicCriterion.LATEST_START: "its most important victims started last",
    ClassicCriterion.NAME: "first by name of several equal ones",
}


class ClassicPreemption(Preemption, frozen=True):
    """The result of preemption under the v1.16 rules."""

    def describe(self) -> tuple[str, ...]:
        """Return lines about the dry run, the candidates with their victims, and the choice."""
        tried = self.dry_run
        lines: tuple[str, ...] = (
            f"tried {tried.visited_count} nodes where preemption may help:"
            f" {len(tried.candidates)} candidates",
        )
        if self.choice is None:
            return lines
        for candidate in self.candidates:
            names = ", ".join(pod.key for pod in candidate.victims) or "no pods"
            broken = candidate.pdb_violations
            against = f", against {broken} disruption budgets" if broken else ""
            lines += (f"{candidate.node}: evicts {names}{against}",)
        decided = self.choice.criterion
        why = "the only candidate" if decided is None else decided.description
        return (*lines, f"takes {self.choice.candidate.node}: {why}")


class ClassicRunner:
    """Decides for the pods of one scheduler name by the v1.16 rules: a `Runner`.

    Parameters
    ----------
    profile : Profile
        The name, the order of the queue, and the Bind plugin; its other plugins are not called.
    cluster : MirroredCluster
        Read only; the caller places the pod.
    algorithm : Algorithm
        Predicates, priorities, extenders.
    seed : int
        The seed of all draws.
    percentage_of_nodes_to_score : int
        0 selects a percentage by the size of the cluster.
    non_preempting_priority : bool
        The feature gate NonPreemptingPriority.
    parallelize_until : ParallelizeUntil
        The loop over pieces of work.
    workers : int
        The number of concurrent pieces.
    """

    def __init__(
        self,
        profile: Profile,
        cluster: MirroredCluster,
        algorithm: Algorithm,
        *,
        seed: int = 0,
        percentage_of_nodes_to_score: int = 0,
        non_preempting_priority: bool = False,
        parallelize_until: ParallelizeUntil = in_order,
        workers: int = WORKERS,
    ) -> None:
        self._policy_extenders = PolicyExtenders(algorithm.extenders, cluster.classic)
        self.profile = profile
        self.cluster = cluster
        self.seed = seed
        self.extenders = self._policy_extenders.called
        self.scheduler = ClassicScheduler(
            algorithm,
            cluster.classic,
            extenders=self._policy_extenders.extenders,
            percentage_of_nodes_to_score=percentage_of_nodes_to_score,
            non_preempting_priority=non_preempting_priority,
            parallelize_until=parallelize_until,
            workers=workers,
        )
        self.found = ClassicDecision()
        """The result of the last cycle, as `ClassicScheduler` returns it."""
        self._named = _names_in(algorithm)

    def own_cycle(self, pod: Pod) -> Cycle:
        """Return a cycle for the steps after the decision; the rules keep no state in it."""
        return Cycle(pod, self.cluster)

    def search_position(self) -> object:
        """Return the start of the next search; valid until a node is added or removed."""
        return self.cluster.classic.tree.position()

    def restore_search_position(self, position: object) -> None:
        """Set the start of the next search to a result of `search_position`."""
        assert isinstance(position, tuple), position
        self.cluster.classic.tree.restore_position(position)

    def with_algorithm(self, algorithm: Algorithm) -> ClassicRunner:
        """Return a runner over the same cluster that decides by another algorithm."""
        return ClassicRunner(
            self.profile,
            self.cluster,
            algorithm,
            seed=self.seed,
            percentage_of_nodes_to_score=self.scheduler.percentage_of_nodes_to_score,
            non_preempting_priority=self.scheduler.non_preempting_priority,
            parallelize_until=self.scheduler.parallelize_until,
            workers=self.scheduler.workers,
        )

    @property
    def weights(self) -> Mapping[str, int]:
        """The weight of each priority, by name."""
        priorities = self.scheduler.algorithm.priorities
        return {entry.priority.name: entry.weight for entry in priorities}

    def with_weights(self, weights: Mapping[str, int]) -> ClassicRunner:
        """Return a runner over the same cluster that uses other weights; the rest are unchanged."""
        algorithm = self.scheduler.algorithm
        priorities = tuple(
            Weighted(entry.priority, weights.get(entry.priority.name, entry.weight))
            for entry in algorithm.priorities
        )
        return self.with_algorithm(msgspec.structs.replace(algorithm, priorities=priorities))

    @property
    def skipped(self) -> tuple[frozenset[str], frozenset[str]]:
        """Empty: these rules call no filter and no score plugins."""
        return frozenset(), frozenset()

    # ---------------------------------------------------------------- deciding

    def decide(self, pod: Pod, *, cycle_number: int) -> Decision:
        """Choose a node for `pod`, or report why none fits; `steps` calls extenders."""
        draw_below = seeded_draw(self.seed, cycle_number)
        self.found = found = self.scheduler.decide(identified(pod), draw_below)
        return self._decision(pod, found)

    def repeat(self, pod: Pod, node: str) -> Decision | None:
        """Return None: each decision moves the position in the node tree."""
        return None

    def steps(self, pod: Pod, *, cycle_number: int) -> Steps[Decision]:
        """Choose a node for `pod`; yields the calls to extenders."""
        tree = self.cluster.classic.tree
        position = tree.position()

        def run() -> Decision:
            tree.restore_position(position)
            return self.decide(pod, cycle_number=cycle_number)

        return (yield from self._until_answered(run))

    def post_filter(self, decision: Decision, *, cycle_number: int, now_ns: int) -> Decision:
        """Find the victims of a preemption, if no node fits; modifies nothing."""
        diagnosis = decision.diagnosis
        if diagnosis is None or not diagnosis.node_count:
            return decision
        pod = identified(decision.pod)
        try:
            result = _result(pod, preempt(self.scheduler, pod, self.found.failed))
        except ExtenderError as error:
            # Upstream logs the error; the pod then waits like any unschedulable pod.
            result = PostFilterResult(status=Status.error(str(error)).by(_PREEMPTION))
        return msgspec.structs.replace(decision, post_filter=result)

    def post_filter_steps(
        self, decision: Decision, *, cycle_number: int, now_ns: int
    ) -> Steps[Decision]:
        """Find victims as `post_filter` does; yields the calls to extenders."""

        def run() -> Decision:
            return self.post_filter(decision, cycle_number=cycle_number, now_ns=now_ns)

        return (yield from self._until_answered(run))

    def _until_answered(self, run: Callable[[], T]) -> Steps[T]:
        """Call a function repeatedly until it has all replies that it needs."""
        replies: list[ExtenderReply] = []
        while True:
            self._policy_extenders.begin(replies)
            try:
                return run()
            except ReplyNeeded as needed:
                replies.append((yield needed.call))

    def _decision(self, pod: Pod, found: ClassicDecision) -> Decision:
        node_count = len(self.cluster.classic.tree)
        examined_count = len({*found.feasible, *found.failed})
        if found.node:
            table = found.table
            return Decision(
                pod=pod,
                node=found.node,
                slot=self.cluster.nodes.slot_of.get(found.node, -1),
                feasible_count=len(found.feasible),
                evaluated_count=examined_count,
                tie_count=len(found.best),
                total=None if table is None else max(table.totals),
            )
        if found.error == NO_NODES:
            return Decision(pod=pod, diagnosis=Diagnosis(node_count=0))
        if found.error:
            # Upstream sets the reason Unschedulable for every error.
            return Decision(pod=pod, error=Status.unschedulable(found.error))
        rejections = self._rejections(found.failed)
        return Decision(
            pod=pod,
            diagnosis=Diagnosis(
                node_count=node_count,
                rejections=rejections,
                rejected_by=frozenset(rejection.status.plugin for rejection in rejections),
                # Upstream's text ends with a full stop even without a reason.
                post_filter_message="" if rejections else ".",
            ),
            evaluated_count=examined_count,
        )

    def _rejections(self, failed: Mapping[str, Failures]) -> tuple[Rejection, ...]:
        counts: dict[Status, int] = {}
        for failures in failed.values():
            status = self._status(failures)
            counts[status] = counts.get(status, 0) + 1
        return tuple(Rejection(status, count) for status, count in counts.items())

    def _status(self, failures: Failures) -> Status:
        reasons = tuple(failure.reason for failure in failures)
        is_final = is_unresolvable(failures)
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if is_final else Code.UNSCHEDULABLE
        first = failures[0].predicate
        return Status(code, reasons, self._named.get(first, first) or EXTENDER)

    # ---------------------------------------------------------------- explaining

    def explain(
        self,
        pod: Pod,
        *,
        cycle_number: int,
        now_ns: int,
        call_extender: CallExtender | None = None,
        post_filter: bool = True,
    ) -> Explanation:
        """Run one cycle for `pod` with everything recorded; modifies nothing."""
        tree = self.cluster.classic.tree
        position = tree.position()
        decision = run_steps(self.steps(pod, cycle_number=cycle_number), call_extender)
        answers = self._policy_extenders.answers()
        tree.restore_position(position)
        found = self.found
        if post_filter:
            steps = self.post_filter_steps(decision, cycle_number=cycle_number, now_ns=now_ns)
            decision = run_steps(steps, call_extender)
        nodes = self.cluster.classic.nodes()
        examined = {*found.feasible, *found.failed}
        error = decision.error
        filters: tuple[FilterExplanation, ...] = ()
        if nodes and error is None:
            filters = self._filters(identified(pod), nodes)
        unseen = tuple(node.name for node in nodes if node.name not in examined)
        return Explanation(
            pod=pod,
            decision=decision,
            node_names=tuple(node.name for node in nodes),
            pre_filter=Status.OK,
            skipped_filters=frozenset(f.plugin for f in filters if not f.applies),
            examined=tuple(node.name for node in nodes if node.name in examined),
            not_examined=unseen,
            not_examined_reason="enoughFeasibleNodes" if unseen and error is None else None,
            filters=filters,
            rejected={name: self._status(failures) for name, failures in found.failed.items()},
            feasible=tuple(found.feasible),
            scores=_scores(found),
            totals=_totals(found),
            winners=tuple(found.best),
            tied=tuple(found.best),
            extenders=answers,
            error=error,
        )

    def _filters(self, pod: Pod, nodes: Sequence[NodeInfo]) -> tuple[FilterExplanation, ...]:
        """Evaluate every predicate on every node separately."""
        meta = self.scheduler.metadata(pod)
        filters = []
        for predicate in self.scheduler.algorithm.predicates:
            if not predicate.concerns(meta):
                filters.append(FilterExplanation(plugin=predicate.name, applies=False))
                continue
            rejected = {}
            for node in nodes:
                status = self._checked(predicate, meta, node)
                if status is not None:
                    rejected[node.name] = status.by(predicate.name)
            filters.append(
                FilterExplanation(plugin=predicate.name, applies=True, rejected=rejected)
            )
        return tuple(filters)

    def _checked(
        self, predicate: Predicate, meta: PredicateMetadata, node: NodeInfo
    ) -> Status | None:
        """Return the result of one predicate that rejects a node, also if it never ran."""
        try:
            failures = predicate.check(meta, node)
        except SchedulingError as error:
            return Status.error(str(error))
        return self._status(failures) if failures else None


def _names_in(algorithm: Algorithm) -> dict[str, str]:
    """Return the configured predicate for each name in failures that is a part of one."""
    configured = {predicate.name for predicate in algorithm.predicates}
    parts = {
        "PodFitsResources": "GeneralPredicates",
        "HostName": "GeneralPredicates",
        "PodFitsHostPorts": "GeneralPredicates",
        "MatchNodeSelector": "GeneralPredicates",
        "NodeUnschedulable": "CheckNodeUnschedulable",
    }
    return {part: whole for part, whole in parts.items() if whole in configured}


def _scores(found: ClassicDecision) -> tuple[ScoreExplanation, ...]:
    table = found.table
    if table is None:
        return ()
    return tuple(
        ScoreExplanation(
            plugin=name,
            weight=weight,
            raw=dict(zip(table.node_names, row if mapped is None else mapped, strict=True)),
            normalized=dict(zip(table.node_names, row, strict=True)),
        )
        for name, weight, mapped, row in zip(
            table.names, table.weights, table.mapped, table.rows, strict=True
        )
    )


def _totals(found: ClassicDecision) -> dict[str, int]:
    table = found.table
    return {} if table is None else dict(zip(table.node_names, table.totals, strict=True))


# ---------------------------------------------------------------------------- preemption


def _result(pod: Pod, found: Found) -> PostFilterResult:
    candidates = tuple(_candidate(name, victims) for name, victims in found.candidates.items())
    choice, criterion = None, found.choice.criterion
    if found.node:
        choice = Choice(
            candidate=next(one for one in candidates if one.node == found.node),
            criterion=None if criterion is None else ClassicCriterion(criterion),
            acceptable=tuple(sorted(found.choice.node_names)),
        )
    details = ClassicPreemption(
        dry_run=DryRun(
            candidates=candidates,
            visited_count=len(found.potential),
            helpable_count=len(found.potential),
        ),
        candidates=candidates,
        choice=choice,
        cleared_nominations=tuple(other for other in found.clear if other is not pod),
    )
    if found.node:
        status = Status(Code.SUCCESS, (), _PREEMPTION)
        return PostFilterResult(status=status, nominated_node=found.node, details=details)
    clears_nomination = any(other is pod for other in found.clear)
    return PostFilterResult(
        status=Status.unschedulable(found.result).by(_PREEMPTION),
        # Upstream clears a nomination only if preemption helps on no node.
        nominated_node="" if clears_nomination else None,
        details=details,
    )


def _candidate(name: str, victims: Victims) -> Candidate:
    return Candidate(node=name, victims=victims.pods, pdb_violations=victims.violations_count)
