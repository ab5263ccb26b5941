"""Which of the stages of a kind apply: every place is looked at once for all of them.

Stages of one kind look at the same few places, such as the phase or whether somebody deletes
the object. The two that are asked for most are looked at first; what is found there leaves few
stages, and which these are is worked out once. Every other place is looked up at most once per
document, and only if a stage that is left depends on it. The rule itself is `Stage.applies_to`; a
test holds one against the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from podwright.objects import Document
from podwright.world.stages.stage import Requirement, Stage, text_of

_Find: TypeAlias = Callable[[Document], Any]
_Test: TypeAlias = Callable[[Any], bool]

_Wanted: TypeAlias = list[tuple[int, list[tuple[int, _Test]]]]
"""Stages, each with what has to be found at which places."""

_NOT_LOOKED_UP: Final = object()
_FIRST_COUNT: Final = 2
_NARROWED_MAX: Final = 256


class Selection:
    """The requirements of the stages of one kind.

    Parameters
    ----------
    stages : sequence of Stage

    Examples
    --------
    >>> from podwright.world.stages.run_stages import default_stages
    >>> from podwright.world.stages.selection import Selection
    >>> stages = [stage for stage in default_stages() if stage.kind == "Pod"]
    >>> found = Selection(stages).of({"metadata": {}, "status": {"phase": "Pending"}})
    >>> [stages[index].name for index in found]
    ['pod-ready']
    """

    def __init__(self, stages: Sequence[Stage]) -> None:
        places: dict[str, int] = {}
        self._finds: list[_Find] = []
        self._wanted: _Wanted = []
        # Per place, how many requirements ask for it, and whether only for its being there.
        asked: list[int] = []
        shows_text: list[bool] = []
        for index, stage in enumerate(stages):
            if stage.requirements is None:
                continue
            wanted = []
            # All must be met, so the order is free: what is looked up quickly comes first.
            for requirement in sorted(stage.requirements, key=_is_slow):
                query = requirement.query
                if query.text not in places:
                    places[query.text] = len(self._finds)
                    self._finds.append(_finder(requirement))
                    asked.append(0)
                    shows_text.append(False)
                place = places[query.text]
                asked[place] += not _is_slow(requirement)
                shows_text[place] |= requirement.operator in {"In", "NotIn"}
                wanted.append((places[query.text], compiled(requirement)))
            self._wanted.append((index, wanted))
        self._unknown = [_NOT_LOOKED_UP] * len(self._finds)
        ranked = sorted(range(len(asked)), key=lambda place: -asked[place])
        self._first = [
            (place, self._finds[place], shows_text[place])
            for place in ranked[:_FIRST_COUNT]
            if asked[place] > 1
        ]
        self._narrowed: dict[tuple[Any, ...], _Wanted] = {}

    def of(self, document: Document) -> list[int]:
        """Return the places of the stages that apply to a document, in their order."""
        finds, known = self._finds, self._unknown.copy()
        applying = []
        for index, wanted in self._left(document):
            for place, test in wanted:
                found = known[place]
                if found is _NOT_LOOKED_UP:
                    found = known[place] = finds[place](document)
                if not test(found):
                    break
            else:
                applying.append(index)
        return applying

    def _left(self, document: Document) -> _Wanted:
        """Return the stages that the first places leave, with what else they want."""
        found = [(find(document), shows_text) for _, find, shows_text in self._first]
        seen = tuple(
            [
                (value is None, text_of(value)) if shows_text else value is None
                for value, shows_text in found
            ]
        )
        left = self._narrowed.get(seen)
        if left is None:
            if len(self._narrowed) >= _NARROWED_MAX:
                self._narrowed.clear()
            values = {
                place: value for (place, _, _), (value, _) in zip(self._first, found, strict=True)
            }
            left = self._narrowed[seen] = [
                (index, [(place, test) for place, test in wanted if place not in values])
                for index, wanted in self._wanted
                if all(test(values[place]) for place, test in wanted if place in values)
            ]
        return left


def _finder(requirement: Requirement) -> _Find:
    """Return a function that looks a requirement's place up in a document."""
    query = requirement.query
    if query.names is None:
        return query.values
    if len(query.names) != 2:
        return query.value
    section, field = query.names  # as most are

    def find(document: Document) -> Any:
        fields = document.get(section)
        return fields.get(field) if type(fields) is dict else None

    return find


def _is_slow(requirement: Requirement) -> bool:
    return requirement.query.names is None


def compiled(requirement: Requirement) -> _Test:
    """Return a function that says of what was found whether the requirement is met.

    What was found is the value where the query is a plain path, and else all values.
    """
    if _is_slow(requirement):
        return requirement.is_met_by
    values = frozenset(requirement.values)
    match requirement.operator:
        case "In":
            return lambda value: text_of(value) in values
        case "NotIn":
            return lambda value: text_of(value) not in values
        case "Exists":
            return lambda value: value is not None
        case "DoesNotExist":
            return lambda value: value is None
