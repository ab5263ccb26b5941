"""The results of plugins for nodes, as columns: an array per plugin, an entry per node."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from podwright.scheduler.framework import (
    Explanation,
    ExtenderAnswers,
    FilterExplanation,
    NotExaminedReason,
    Status,
)
from podwright.simulation.recording.explanations.decision import outcome_of

NodeResult: TypeAlias = Literal["passed", "rejected", "notEvaluated", "excluded"]
"""The result of a filter for a node. A node is excluded if PreFilter leaves only others, and not
evaluated if enough feasible nodes were found before, or the nominated node is feasible."""


class MatrixResult(msgspec.Struct, frozen=True, kw_only=True):
    """A result that filters have for nodes.

    Attributes
    ----------
    kind : str
        See `NodeResult`.
    code : str
        The code of the rejection; "" if it is none.
    reasons : tuple of str
        The reasons of the rejection.
    """

    kind: NodeResult
    code: str = ""
    reasons: tuple[str, ...] = ()


class FilterColumn(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one filter.

    Attributes
    ----------
    plugin : str
        The plugin, or the place of an extender in the configuration.
    applies : bool
        False: there was nothing to check for this pod, which is not the same as passing.
    results : list of int
        Per node, the index of its result in `ExplanationMatrix.results`.
    """

    plugin: str
    applies: bool
    results: list[int]


class ScoreColumn(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one plugin.

    Attributes
    ----------
    plugin : str
        The plugin, or the place of an extender in the configuration.
    weight : int, optional
        None for an extender, whose scores have its weight already.
    raw, normalized : list of (int or None), optional
        Per node; None without a score, and without the lists for an extender.
    weighted : list of (int or None)
        Per node, what is added to its total.
    """

    plugin: str
    weight: int | None
    raw: list[int | None] | None
    normalized: list[int | None] | None
    weighted: list[int | None]


class ExplanationMatrix(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The results of all plugins for all nodes.

    Attributes
    ----------
    pod : str
    outcome : str
        The result of the attempt in one word.
    node : str, optional
        The chosen node.
    message : str
        Why the pod has no node; "" if it has one.
    attempt : int, optional
        The number of the recorded attempt.
    not_examined_reason : str, optional
        Why nodes were not evaluated: `enoughFeasibleNodes` were found before,
        `nominatedNodeFits`, or they are in an `otherPlacement`. Null if all were.
    nodes : list of str
        In order of arrival; further names are nodes that only an extender has.
    results : list of MatrixResult
        Those to which the columns refer.
    pre_filter : MatrixResult, optional
        The rejection of the pod as a whole.
    filters : list of FilterColumn
        In run order.
    rejected_by : list of (str or None)
        Per node, the plugin that rejects it, which is the first one in run order.
    scores : list of ScoreColumn
        In run order; empty unless two nodes are feasible.
    skipped_scores : list of str
        The score plugins with nothing to score for this pod.
    totals : list of (int or None)
        Per node, the sum of the weighted scores.
    winners : list of int
        The indexes of the nodes among which the node was chosen.
    """

    pod: str
    outcome: str
    node: str | None
    message: str
    attempt: int | None
    not_examined_reason: NotExaminedReason | None
    nodes: list[str]
    results: list[MatrixResult]
    pre_filter: MatrixResult | None
    filters: list[FilterColumn]
    rejected_by: list[str | None]
    scores: list[ScoreColumn]
    skipped_scores: list[str]
    totals: list[int | None]
    winners: list[int]


_PASSED: Final = MatrixResult(kind="passed")
_NOT_EVALUATED: Final = MatrixResult(kind="notEvaluated")
_EXCLUDED: Final = MatrixResult(kind="excluded")


def node_results(
    answer: FilterExplanation, explanation: Explanation, nodes: Iterable[str]
) -> Iterator[NodeResult]:
    """Yield the result of one filter for each of some nodes."""
    restricted, unseen = explanation.restricted_to, frozenset(explanation.not_examined)
    for node in nodes:
        if restricted is not None and node not in restricted:
            yield "excluded"
        elif node in unseen:
            yield "notEvaluated"
        elif node in answer.rejected:
            yield "rejected"
        else:
            yield "passed"


def explanation_matrix(explanation: Explanation) -> ExplanationMatrix:
    """Return the results of an explanation as columns."""
    return _Columns(explanation).matrix()


class _Columns:
    """Builds the columns of one explanation."""

    def __init__(self, explanation: Explanation) -> None:
        self._explanation = explanation
        # An extender can name nodes that do not exist.
        self._nodes = list(dict.fromkeys((*explanation.node_names, *explanation.feasible)))
        self._numbers: dict[MatrixResult, int] = {_PASSED: 0}

    def matrix(self) -> ExplanationMatrix:
        explanation, nodes = self._explanation, self._nodes
        decision = explanation.decision
        filters = [self._filter(answer) for answer in explanation.filters]
        filters += [
            self._extender_filter(answers, frozenset(answers.candidates))
            for answers in explanation.extenders
            if answers.candidates is not None
        ]
        scores = [
            ScoreColumn(
                plugin=scores.plugin,
                weight=scores.weight,
                raw=self._values(scores.raw),
                normalized=self._values(scores.normalized),
                weighted=self._values(scores.normalized, weight=scores.weight),
            )
            for scores in explanation.scores
        ]
        scores += [
            ScoreColumn(
                plugin=extender_name(answers),
                weight=None,
                raw=None,
                normalized=None,
                weighted=self._values(answers.scores),
            )
            for answers in explanation.extenders
            if answers.scores
        ]
        winners = set(explanation.winners)
        rejected = explanation.rejected
        return ExplanationMatrix(
            pod=explanation.pod.key,
            outcome=outcome_of(decision),
            node=decision.node or None,
            message="" if decision.node else decision.message,
            attempt=explanation.attempt or None,
            not_examined_reason=explanation.not_examined_reason,
            nodes=nodes,
            results=list(self._numbers),
            pre_filter=None
            if explanation.pre_filter.is_success
            else _rejection(explanation.pre_filter),
            filters=filters,
            rejected_by=[
                (status.plugin or None) if (status := rejected.get(node)) is not None else None
                for node in nodes
            ],
            scores=scores,
            skipped_scores=sorted(explanation.skipped_scores),
            totals=self._values(explanation.totals),
            winners=[index for index, node in enumerate(nodes) if node in winners],
        )

    def _filter(self, answer: FilterExplanation) -> FilterColumn:
        if not answer.applies:
            return FilterColumn(plugin=answer.plugin, applies=False, results=[])
        fixed = {"passed": _PASSED, "notEvaluated": _NOT_EVALUATED, "excluded": _EXCLUDED}
        kinds = node_results(answer, self._explanation, self._nodes)
        return FilterColumn(
            plugin=answer.plugin,
            applies=True,
            results=[
                self._number(fixed.get(kind) or _rejection(answer.rejected[node]))
                for node, kind in zip(self._nodes, kinds, strict=True)
            ],
        )

    def _extender_filter(
        self, answers: ExtenderAnswers, candidates: Collection[str]
    ) -> FilterColumn:
        kept = frozenset(answers.kept)
        unnamed = MatrixResult(kind="rejected")
        results = []
        for node in self._nodes:
            status = answers.rejected.get(node)
            if node not in candidates:
                found = _PASSED if node in kept else _NOT_EVALUATED
            elif node in kept:
                found = _PASSED
            else:
                found = unnamed if status is None else _rejection(status)
            results.append(self._number(found))
        return FilterColumn(plugin=extender_name(answers), applies=True, results=results)

    def _number(self, result: MatrixResult) -> int:
        return self._numbers.setdefault(result, len(self._numbers))

    def _values(self, values: Mapping[str, int], weight: int = 1) -> list[int | None]:
        found = map(dict(values.items()).get, self._nodes)
        return [None if value is None else value * weight for value in found]


def _rejection(status: Status) -> MatrixResult:
    return MatrixResult(kind="rejected", code=status.code.label, reasons=tuple(status.reasons))


def extender_name(answers: ExtenderAnswers) -> str:
    """Return the path of an extender in the configuration."""
    return f"extenders[{answers.index}]"
