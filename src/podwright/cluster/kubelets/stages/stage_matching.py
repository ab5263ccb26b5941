"""Which stages of a kind apply to an object: a decision tree that is built on demand.

The stages of one kind read the same few fields, such as the phase or the deletion timestamp. Each
branch of the tree tests one query: the one that most of the remaining stages use. Each outcome
leaves fewer candidates, and a leaf holds the stages that apply. Branches are built when the first
object reaches them, so the requirements are evaluated once per class of objects. A branch has no
more outcomes than its requirements distinguish.

Most queries on pods read typed fields. Pods that agree in these fields (a pod class) start at the
branch that follows from them instead of the root.

The rule itself is `Stage.applies_to`; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, TypeAlias

from podwright.apimachinery.cel import StageExpressionError
from podwright.apimachinery.objects import Document, Pod, encode
from podwright.cluster.kubelets.stages.stage import Requirement, Stage, text_of
from podwright.cluster.kubelets.templates.jq import CelQuery, ValueQuery

_Outcome: TypeAlias = Any
"""The outcome of a test.

For a plain path it is the value, or `_OTHER` if no requirement names the value; for other queries,
which requirements are met.
"""

_Test: TypeAlias = Callable[[Document, int], _Outcome]

_Candidates: TypeAlias = tuple[tuple[int, tuple[Requirement, ...]], ...]
"""The stages that may still apply, each with its requirements that have not been tested."""

_PodClass: TypeAlias = tuple[bool, str, bool, str]
"""A pod class: is deleted, phase, has annotations, kind of the owner."""

_OTHER: Final = object()
_POD_CLASSES_MAX: Final = 256


class StageMatcher:
    """Finds the stages of one kind that apply to a document.

    Parameters
    ----------
    stages : sequence of Stage

    Examples
    --------
    >>> from podwright.cluster.kubelets.stages.built_in_stages import default_stages
    >>> from podwright.cluster.kubelets.stages.stage_matching import StageMatcher
    >>> stages = [stage for stage in default_stages() if stage.kind == "Pod"]
    >>> found = StageMatcher(stages).match({"metadata": {}, "status": {"phase": "Pending"}})
    >>> [stages[index].name for index in found]
    ['pod-ready']
    """

    def __init__(self, stages: Sequence[Stage]) -> None:
        self._candidates: _Candidates = tuple(
            (index, stage.requirements)
            for index, stage in enumerate(stages)
            if stage.requirements is not None
        )
        self._root = _build(self._candidates)
        self._roots: dict[_PodClass, _Branch | tuple[int, ...]] = {}

    def match(self, document: Document, now_ns: int = 0) -> tuple[int, ...]:
        """Return the indices of the stages that apply to a document, in ascending order.

        If an expression in CEL fails, no stage applies until the object changes, as in KWOK.
        """
        return _leaf_for(self._root, document, now_ns)

    def match_pod(self, pod: Pod, now_ns: int = 0) -> tuple[int, ...]:
        """Return the same as `match` for the document of a pod."""
        metadata, phase = pod.metadata, pod.status.phase
        owners = metadata.owner_references
        owner = owners[0].kind if owners else ""
        # A pod class has a phase and at most one owner, with a kind; other pods start at the root.
        if not phase or len(owners) > 1 or (owners and not owner):
            return self.match(encode(pod), now_ns)
        pod_class = (
            metadata.deletion_timestamp is not None,
            phase,
            bool(metadata.annotations),
            owner,
        )
        node = self._roots.get(pod_class)
        if node is None:
            if len(self._roots) >= _POD_CLASSES_MAX:
                self._roots.clear()
            candidates = _narrow(
                self._candidates, lambda requirement: _is_met_by_class(requirement, pod_class)
            )
            node = self._roots[pod_class] = _build(candidates)
        return node if type(node) is tuple else _leaf_for(node, encode(pod), now_ns)


class _Branch:
    """An inner node of the tree: a test, and the child for each outcome."""

    __slots__ = ("_candidates", "_conditions", "_query", "children", "test")

    def __init__(self, query: ValueQuery, candidates: _Candidates) -> None:
        by_condition = {
            _condition_of(requirement): requirement
            for _, requirements in candidates
            for requirement in requirements
            if requirement.query.text == query.text
        }
        self._query = query
        self._candidates = candidates
        self._conditions = list(by_condition)
        self.test: _Test = (
            _query_test(query, list(by_condition.values()))
            if query.names is None
            else _path_test(query.names, list(by_condition.values()))
        )
        self.children: dict[_Outcome, _Branch | tuple[int, ...]] = {}

    def add_child(self, outcome: _Outcome) -> _Branch | tuple[int, ...]:
        """Build and return the child for a new outcome."""
        text = self._query.text

        def is_met(requirement: Requirement) -> bool | None:
            if requirement.query.text != text:
                return None
            if requirement.query.names is not None:
                return _meets(requirement, outcome)
            return bool(outcome[self._conditions.index(_condition_of(requirement))])

        self.children[outcome] = _build(_narrow(self._candidates, is_met))
        return self.children[outcome]


def _build(candidates: _Candidates) -> _Branch | tuple[int, ...]:
    """Return a branch for the remaining requirements, or a leaf if there are none."""
    counts: dict[str, int] = {}
    queries: dict[str, ValueQuery] = {}
    for _, requirements in candidates:
        for requirement in requirements:
            query = queries.setdefault(requirement.query.text, requirement.query)
            counts[query.text] = counts.get(query.text, 0) + 1
    if not queries:
        return tuple(index for index, _ in candidates)
    # Plain paths are cheap to evaluate and come first; of these, the most frequent query. An
    # expression in CEL comes last: it may fail if the other requirements are not met.
    chosen = min(counts, key=lambda text: (*_costs(queries[text]), -counts[text]))
    return _Branch(queries[chosen], candidates)


def _costs(query: ValueQuery) -> tuple[bool, bool]:
    return isinstance(query, CelQuery), query.names is None


def _leaf_for(node: _Branch | tuple[int, ...], document: Document, now_ns: int) -> tuple[int, ...]:
    """Return the leaf for a document."""
    while type(node) is _Branch:
        try:
            outcome = node.test(document, now_ns)
        except StageExpressionError:
            return ()
        child = node.children.get(outcome)
        node = node.add_child(outcome) if child is None else child
    assert type(node) is tuple, "a branch is not a leaf"
    return node


def _narrow(candidates: _Candidates, is_met: Callable[[Requirement], bool | None]) -> _Candidates:
    """Return the remaining candidates, without the requirements that are known to be met."""
    narrowed = []
    for index, requirements in candidates:
        results = [is_met(requirement) for requirement in requirements]
        if False not in results:
            unknown = [each for each, met in zip(requirements, results, strict=True) if met is None]
            narrowed.append((index, tuple(unknown)))
    return tuple(narrowed)


# ------------------------------------------------------------------------------- results


def _condition_of(requirement: Requirement) -> tuple[str, tuple[str, ...]]:
    return requirement.operator, requirement.values


def _meets(requirement: Requirement, outcome: _Outcome) -> bool:
    match requirement.operator:
        case "In":
            return outcome in requirement.values
        case "NotIn":
            return outcome not in requirement.values
        case "Exists":
            return outcome is not None
        case "DoesNotExist":
            return outcome is None


def _is_met_by_class(requirement: Requirement, pod_class: _PodClass) -> bool | None:
    """Whether all pods of a class meet a requirement; None if it depends on other fields."""
    is_deleted, phase, has_annotations, owner = pod_class
    query = requirement.query
    if query.text == ".metadata.ownerReferences.[].kind":
        return requirement.is_met_by([owner] if owner else [])
    match query.names:
        case ["status", "phase"]:
            return requirement.is_met_by([phase])
        case ["metadata", "deletionTimestamp"] if not is_deleted:
            return requirement.is_met_by([None])
        # The class has no value of the timestamp, so a requirement on the value stays undecided.
        case ["metadata", "deletionTimestamp"] if not requirement.values:
            return requirement.operator == "Exists"
        case ["metadata", "annotations", _] if not has_annotations:
            return requirement.is_met_by([None])
    return None


def _path_test(names: Sequence[str], requirements: Sequence[Requirement]) -> _Test:
    """Return a test that reads the value at a plain path."""
    known = frozenset(value for requirement in requirements for value in requirement.values)

    def test(document: Document, _: int) -> _Outcome:
        value: Any = document
        for name in names:
            if type(value) is not dict:
                return None
            value = value.get(name)
        if value is None:
            return None
        text = text_of(value)
        return text if text in known else _OTHER

    return test


def _query_test(query: ValueQuery, requirements: Sequence[Requirement]) -> _Test:
    """Return a test that evaluates a query and finds which requirements are met."""
    if len(requirements) == 1 and requirements[0].operator == "In":  # the most frequent form
        return _membership_test(query, frozenset(requirements[0].values))

    def test(document: Document, now_ns: int) -> _Outcome:
        found = query.values(document, now_ns)
        return tuple([requirement.is_met_by(found) for requirement in requirements])

    return test


def _membership_test(query: ValueQuery, known: Collection[str]) -> _Test:
    def test(document: Document, now_ns: int) -> _Outcome:
        for value in query.values(document, now_ns):
            if text_of(value) in known:
                return (True,)
        return (False,)

    return test
