"""Which of the stages of a kind apply: a tree of questions, asked once per object.

Stages of one kind look at the same few places, such as the phase or whether somebody deletes
the object. At each fork of the tree one place is looked at: the one that most of the stages that
are left ask for. What is found there leaves fewer stages, and so the next fork, until a leaf has
those that apply. The tree grows where objects lead, so each sort of object is thought about
once; there are no more answers at a fork than requirements tell apart.

A pod need not begin at the root: most of what stages ask for is typed, and pods that are alike
in that begin at the fork beyond it.

The rule itself is `Stage.applies_to`; a test holds one against the other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, TypeAlias

from podwright.objects import Document, Pod, encode
from podwright.stages.jq import Query
from podwright.stages.stage import Requirement, Stage, text_of

_Answer: TypeAlias = Any
"""Of a plain path: what is there, `_OTHER` if nobody asks for that; else who is content."""

_Look: TypeAlias = Callable[[Document], _Answer]

_Left: TypeAlias = tuple[tuple[int, tuple[Requirement, ...]], ...]
"""Stages, each with the requirements that have not been looked at."""

_Sort: TypeAlias = tuple[bool, str, bool, str]
"""Of a pod: is it being deleted, its phase, has it annotations, the kind of its owner."""

_OTHER: Final = object()
_SORTS_MAX: Final = 256


class StageMatcher:
    """The requirements of the stages of one kind.

    Parameters
    ----------
    stages : sequence of Stage

    Examples
    --------
    >>> from podwright.stages.annotation_stages import default_stages
    >>> from podwright.stages.stage_matching import StageMatcher
    >>> stages = [stage for stage in default_stages() if stage.kind == "Pod"]
    >>> found = StageMatcher(stages).of({"metadata": {}, "status": {"phase": "Pending"}})
    >>> [stages[index].name for index in found]
    ['pod-ready']
    """

    def __init__(self, stages: Sequence[Stage]) -> None:
        self._left: _Left = tuple(
            (index, stage.requirements)
            for index, stage in enumerate(stages)
            if stage.requirements is not None
        )
        self._root = _way(self._left)
        self._sorts: dict[_Sort, _Fork | tuple[int, ...]] = {}

    def of(self, document: Document) -> tuple[int, ...]:
        """Return the places of the stages that apply to a document, in their order."""
        return _end(self._root, document)

    def of_pod(self, pod: Pod) -> tuple[int, ...]:
        """Return what `of` does for the document of a pod."""
        metadata, phase = pod.metadata, pod.status.phase
        owners = metadata.owner_references
        owner = owners[0].kind if owners else ""
        if not phase or len(owners) > 1 or (owners and not owner):
            return self.of(pod.raw or encode(pod))
        sort = (metadata.deletion_timestamp is not None, phase, bool(metadata.annotations), owner)
        way = self._sorts.get(sort)
        if way is None:
            if len(self._sorts) >= _SORTS_MAX:
                self._sorts.clear()
            left = _narrowed(self._left, lambda requirement: _is_met_by_sort(requirement, sort))
            way = self._sorts[sort] = _way(left)
        return way if type(way) is tuple else _end(way, pod.raw or encode(pod))


class _Fork:
    """A place to be looked at, and where each answer leads."""

    __slots__ = ("_asked", "_left", "_query", "look", "ways")

    def __init__(self, query: Query, left: _Left) -> None:
        asked = {
            _wish(requirement): requirement
            for _, requirements in left
            for requirement in requirements
            if requirement.query.text == query.text
        }
        self._query = query
        self._left = left
        self._asked = list(asked)
        self.look: _Look = (
            _look_around(query, list(asked.values()))
            if query.names is None
            else _look_at(query.names, list(asked.values()))
        )
        self.ways: dict[_Answer, _Fork | tuple[int, ...]] = {}

    def grown(self, answer: _Answer) -> _Fork | tuple[int, ...]:
        """Return where an answer leads that nobody has given yet."""
        text = self._query.text

        def is_met(requirement: Requirement) -> bool | None:
            if requirement.query.text != text:
                return None
            if requirement.query.names is not None:
                return _is_content(requirement, answer)
            return bool(answer[self._asked.index(_wish(requirement))])

        self.ways[answer] = _way(_narrowed(self._left, is_met))
        return self.ways[answer]


def _way(left: _Left) -> _Fork | tuple[int, ...]:
    """Return the leaf of stages that want nothing more, or the fork that asks for more."""
    counts: dict[str, int] = {}
    queries: dict[str, Query] = {}
    for _, requirements in left:
        for requirement in requirements:
            query = queries.setdefault(requirement.query.text, requirement.query)
            counts[query.text] = counts.get(query.text, 0) + 1
    if not queries:
        return tuple(index for index, _ in left)
    # What is looked up quickly comes first; of these, what most ask for.
    chosen = min(counts, key=lambda text: (queries[text].names is None, -counts[text]))
    return _Fork(queries[chosen], left)


def _end(way: _Fork | tuple[int, ...], document: Document) -> tuple[int, ...]:
    """Return the leaf to which a document leads."""
    while type(way) is _Fork:
        answer = way.look(document)
        beyond = way.ways.get(answer)
        way = way.grown(answer) if beyond is None else beyond
    assert type(way) is tuple, "a fork is not the end"
    return way


def _narrowed(left: _Left, is_met: Callable[[Requirement], bool | None]) -> _Left:
    """Return the stages that are left, without the requirements that are known to be met."""
    narrowed = []
    for index, requirements in left:
        answers = [is_met(requirement) for requirement in requirements]
        if False not in answers:
            unknown = [each for each, met in zip(requirements, answers, strict=True) if met is None]
            narrowed.append((index, tuple(unknown)))
    return tuple(narrowed)


# ------------------------------------------------------------------------------- answers


def _wish(requirement: Requirement) -> tuple[str, tuple[str, ...]]:
    return requirement.operator, requirement.values


def _is_content(requirement: Requirement, answer: _Answer) -> bool:
    match requirement.operator:
        case "In":
            return answer in requirement.values
        case "NotIn":
            return answer not in requirement.values
        case "Exists":
            return answer is not None
        case "DoesNotExist":
            return answer is None


def _is_met_by_sort(requirement: Requirement, sort: _Sort) -> bool | None:
    """Whether all pods of a sort meet a requirement; None if that is not known."""
    is_deleted, phase, has_annotations, owner = sort
    query = requirement.query
    if query.text == ".metadata.ownerReferences.[].kind":
        return requirement.is_met_by([owner] if owner else [])
    match query.names:
        case ["status", "phase"]:
            return requirement.is_met_by([phase])
        case ["metadata", "deletionTimestamp"] if not is_deleted:
            return requirement.is_met_by([None])
        case ["metadata", "deletionTimestamp"] if not requirement.values:
            return requirement.operator == "Exists"
        case ["metadata", "annotations", _] if not has_annotations:
            return requirement.is_met_by([None])
    return None


def _look_at(names: Sequence[str], asked: Sequence[Requirement]) -> _Look:
    """Return a function that says what is at the end of a plain path."""
    known = frozenset(value for requirement in asked for value in requirement.values)

    def look(document: Document) -> _Answer:
        value: Any = document
        for name in names:
            if type(value) is not dict:
                return None
            value = value.get(name)
        if value is None:
            return None
        text = text_of(value)
        return text if text in known else _OTHER

    return look


def _look_around(query: Query, asked: Sequence[Requirement]) -> _Look:
    """Return a function that says which requirements like what a query finds."""
    if len(asked) == 1 and asked[0].operator == "In":  # as most are
        return _look_for(query, frozenset(asked[0].values))

    def look(document: Document) -> _Answer:
        found = query.values(document)
        return tuple([requirement.is_met_by(found) for requirement in asked])

    return look


def _look_for(query: Query, known: Collection[str]) -> _Look:
    def look(document: Document) -> _Answer:
        for value in query.values(document):
            if value is not None and text_of(value) in known:
                return (True,)
        return (False,)

    return look
