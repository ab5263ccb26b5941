"""Which of the stages of a kind apply: every place is looked at once for all of them.

Stages of one kind look at the same few places, such as the phase or whether somebody deletes
the object. Here each place is looked up at most once per document, and only if a stage depends
on it. The rule itself is `Stage.applies_to`; a test holds one against the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from podwright.objects import Document
from podwright.world.stages import Requirement, Stage, text_of

_Find: TypeAlias = Callable[[Document], Any]
_Test: TypeAlias = Callable[[Any], bool]

_NOT_LOOKED_UP: Final = object()


class Selection:
    """The requirements of the stages of one kind.

    Parameters
    ----------
    stages : sequence of Stage

    Examples
    --------
    >>> from podwright.world.run_stages import default_stages
    >>> from podwright.world.selection import Selection
    >>> stages = [stage for stage in default_stages() if stage.kind == "Pod"]
    >>> found = Selection(stages).of({"metadata": {}, "status": {"phase": "Pending"}})
    >>> [stages[index].name for index in found]
    ['pod-ready']
    """

    def __init__(self, stages: Sequence[Stage]) -> None:
        places: dict[str, int] = {}
        self._finds: list[_Find] = []
        self._wanted: list[tuple[int, list[tuple[int, _Test]]]] = []
        for index, stage in enumerate(stages):
            if stage.requirements is None:
                continue
            wanted = []
            # All must be met, so the order is free: what is looked up quickly comes first.
            for requirement in sorted(stage.requirements, key=_is_slow):
                query = requirement.query
                if query.text not in places:
                    places[query.text] = len(self._finds)
                    self._finds.append(query.values if _is_slow(requirement) else query.value)
                wanted.append((places[query.text], compiled(requirement)))
            self._wanted.append((index, wanted))
        self._unknown = [_NOT_LOOKED_UP] * len(self._finds)

    def of(self, document: Document) -> list[int]:
        """Return the places of the stages that apply to a document, in their order."""
        finds, known = self._finds, self._unknown.copy()
        applying = []
        for index, wanted in self._wanted:
            for place, test in wanted:
                found = known[place]
                if found is _NOT_LOOKED_UP:
                    found = known[place] = finds[place](document)
                if not test(found):
                    break
            else:
                applying.append(index)
        return applying


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
