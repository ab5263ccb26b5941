"""A whole decision: predicates, extenders, priorities, and the choice of the node.

    visit nodes in the tree's order ── predicates ──► enough feasible nodes
                                    ── extenders filter ──► none: fit error (preemption may help)
                                                            one:  chosen without scoring
                                                            more: priorities, extenders, choice

Upstream: pkg/scheduler/core/generic_scheduler.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from podwright.apimachinery.objects import TIE_STREAM, Pod, aggregated, draw
from podwright.scheduler.classic.algorithm import Algorithm, failures_on_node
from podwright.scheduler.classic.cluster import ClassicCluster
from podwright.scheduler.classic.extender import Extender, ExtenderError
from podwright.scheduler.classic.failure import (
    NO_NODES,
    Failure,
    Failures,
    SchedulingError,
    fit_error,
)
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.node_tree import nodes_to_find
from podwright.scheduler.classic.predicates import PredicateMetadata
from podwright.scheduler.classic.predicates.volume_claims import check_claims_exist
from podwright.scheduler.classic.priorities import PriorityMetadata
from podwright.scheduler.classic.scores import (
    WORKERS,
    ParallelizeUntil,
    ScoreTable,
    in_order,
    prioritize,
    select_host,
)


class Decision(msgspec.Struct, kw_only=True):
    """The result of a cycle.

    Attributes
    ----------
    node : str
        The node to bind to; empty if there is none.
    feasible : list of str
        The nodes that passed, in the order of the visit.
    failed : dict of str to Failures
        The rejected nodes, with their failures.
    table : ScoreTable or None
        None if fewer than two nodes are feasible.
    message : str
        The fit error, if no node is feasible.
    error : str
        Not empty if the cycle failed.
    """

    node: str = ""
    feasible: list[str] = []
    failed: dict[str, Failures] = {}
    table: ScoreTable | None = None
    message: str = ""
    error: str = ""

    @property
    def best(self) -> list[str]:
        """The nodes with the highest total."""
        return self.feasible if self.table is None else self.table.best()


def seeded_draw(seed: int, cycle_number: int) -> Callable[[int], int]:
    """Return a `draw(n)` for one cycle that depends only on its arguments."""
    draw_count = 0

    def next_draw(n: int) -> int:
        nonlocal draw_count
        draw_count += 1
        return draw(seed, TIE_STREAM, (cycle_number << 20) + draw_count) % n

    return next_draw


class ClassicScheduler:
    """Decides where pods are placed, by the v1.16 rules.

    Parameters
    ----------
    algorithm : Algorithm
        Predicates, priorities, settings.
    cluster : ClassicCluster
        The state for the decision; only the position in its node tree is modified.
    extenders : sequence of Extender
        Ignorable ones last.
    percentage_of_nodes_to_score : int
        0 selects a percentage by the size of the cluster.
    non_preempting_priority : bool
        The feature gate NonPreemptingPriority: `preemptionPolicy: Never` is honored.
    parallelize_until : ParallelizeUntil
        The loop over pieces of work; decisions do not depend on it.
    workers : int
        The number of concurrent pieces.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        cluster: ClassicCluster,
        *,
        extenders: Sequence[Extender] = (),
        percentage_of_nodes_to_score: int = 0,
        non_preempting_priority: bool = False,
        parallelize_until: ParallelizeUntil = in_order,
        workers: int = WORKERS,
    ) -> None:
        self.algorithm = algorithm
        self.cluster = cluster
        self.extenders = tuple(extenders)
        self.percentage_of_nodes_to_score = percentage_of_nodes_to_score
        self.non_preempting_priority = non_preempting_priority
        self.parallelize_until = parallelize_until
        self.workers = workers

    def decide(self, pod: Pod, draw_below: Callable[[int], int] | None = None) -> Decision:
        """Choose a node for a pod.

        Parameters
        ----------
        pod : Pod
            A pending pod.
        draw_below : callable or None
            `draw_below(n)` returns an integer in [0, n), for ties; None uses the draws of seed 0
            and cycle 0.
        """
        try:
            check_claims_exist(pod, self.cluster)
            if not len(self.cluster.tree):
                return Decision(error=NO_NODES)
            feasible, failed = self.find_nodes(pod)
            decision = Decision(feasible=[node.name for node in feasible], failed=failed)
            if not feasible:
                decision.message = fit_error(len(self.cluster.tree), failed)
            elif len(feasible) == 1:
                decision.node = feasible[0].name
            else:
                decision.table = self.score(pod, feasible)
                draw_below = seeded_draw(0, 0) if draw_below is None else draw_below
                decision.node = feasible[select_host(decision.table.totals, draw_below)].name
        except (SchedulingError, ExtenderError) as error:
            return Decision(error=str(error))
        return decision

    def metadata(self, pod: Pod) -> PredicateMetadata:
        """Compute the metadata of the pod for predicates."""
        return PredicateMetadata(pod, self.cluster, self.algorithm.ignored_resources)

    def find_nodes(self, pod: Pod) -> tuple[list[NodeInfo], dict[str, Failures]]:
        """Return the feasible nodes, as many as needed, and the failures of the others.

        Raises
        ------
        SchedulingError
            A node could not be evaluated; each text once, with the number of its nodes.
        ExtenderError
            An extender that is not ignorable failed.

        Notes
        -----
        Upstream's workers take names from the tree until enough nodes fit, so a few more than
        needed may be examined, depending on timing. Here nodes are taken in batches of the number
        that is still needed. Every name that is taken is used, and the result does not depend on
        the number of workers.
        """
        tree, infos = self.cluster.tree, self.cluster.node_infos
        target_count = nodes_to_find(len(tree), self.percentage_of_nodes_to_score)
        meta = self.metadata(pod)
        checks = self.algorithm.checks(meta)
        nominated = self.cluster.nominator.nodes()
        feasible: list[NodeInfo] = []
        failed: dict[str, Failures] = {}
        errors: Counter[str] = Counter()
        left_count = len(tree)
        while left_count and len(feasible) < target_count:
            batch_count = min(left_count, target_count - len(feasible))
            nodes = [infos[tree.next()] for _ in range(batch_count)]
            found: list[Failures | SchedulingError] = [()] * batch_count
            self.parallelize_until(
                self.workers,
                batch_count,
                self._evaluation(nodes, found, checks, meta, nominated),
            )
            for node, failures in zip(nodes, found, strict=True):
                if isinstance(failures, SchedulingError):
                    errors[str(failures)] += 1
                elif failures:
                    failed[node.name] = failures
                else:
                    feasible.append(node)
            left_count -= batch_count
        if errors:
            raise SchedulingError(aggregated(_repeated(*each) for each in errors.items()))
        return self._ask_extenders(pod, feasible, failed), failed

    def score(self, pod: Pod, nodes: Sequence[NodeInfo]) -> ScoreTable:
        """Score the nodes.

        Raises
        ------
        SchedulingError
            A priority failed.
        """
        meta = PriorityMetadata(pod, self.cluster, self.algorithm.hard_pod_affinity_weight)
        return prioritize(
            self.algorithm,
            meta,
            nodes,
            self.extenders,
            parallelize_until=self.parallelize_until,
            workers=self.workers,
        )

    def _evaluation(
        self,
        nodes: Sequence[NodeInfo],
        found: list[Failures | SchedulingError],
        checks: Sequence[Callable[[PredicateMetadata, NodeInfo], Failures]],
        meta: PredicateMetadata,
        nominated: dict[str, tuple[Pod, ...]],
    ) -> Callable[[int], None]:
        """Return the piece of work that evaluates one node and writes its cell of `found`."""
        algorithm = self.algorithm

        def evaluate(index: int) -> None:
            node = nodes[index]
            promised = nominated.get(node.name, ()) if nominated else ()
            try:
                found[index] = failures_on_node(algorithm, checks, meta, node, promised)
            except SchedulingError as error:
                found[index] = error

        return evaluate

    def _ask_extenders(
        self, pod: Pod, feasible: list[NodeInfo], failed: dict[str, Failures]
    ) -> list[NodeInfo]:
        for extender in self.extenders:
            if not feasible:
                break
            if not extender.settings.is_interested(pod):
                continue
            try:
                answer = extender.filter(pod, [node.name for node in feasible])
                passed = [self._passed(extender, name) for name in answer.node_names]
            except ExtenderError:
                if extender.settings.ignorable:
                    continue
                raise
            for name, reason in answer.failed.items():
                failed[name] = (*failed.get(name, ()), Failure("", reason))
            feasible = passed
        return feasible

    def _passed(self, extender: Extender, name: str) -> NodeInfo:
        """Return a node that an extender lets pass; as upstream, it need not have been sent."""
        info = self.cluster.node_infos.get(name)
        if info is None or info.node is None:
            raise ExtenderError(
                f'extender "{extender.settings.url_prefix}" claims a filtered node "{name}"'
                " which is not found in nodeNameToInfo map"
            )
        return info


def _repeated(text: str, count: int) -> str:
    """Upstream: CreateAggregateFromMessageCountMap."""
    return text if count == 1 else f"{text} (repeated {count} times)"
