"""Which of the stages of a kind apply: every requirement is looked at once for all of them.

Stages of one kind require much that is the same, as that nobody deletes the object. Here each
distinct requirement is made into one function and asked at most once per document, and only
if a stage depends on it. The rule itself is `Stage.applies_to`; a test holds one against the
other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from podwright.objects import Document
from podwright.world.stages import Requirement, Stage, text_of

_Test: TypeAlias = Callable[[Document], bool]


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
        numbers: dict[tuple[str, str, tuple[str, ...]], int] = {}
        self._tests: list[_Test] = []
        self._wanted: list[tuple[int, tuple[int, ...]]] = []
        for index, stage in enumerate(stages):
            if stage.requirements is None:
                continue
            wanted = []
            for requirement in stage.requirements:
                key = (requirement.query.text, requirement.operator, requirement.values)
                if key not in numbers:
                    numbers[key] = len(self._tests)
                    self._tests.append(compiled(requirement))
                wanted.append(numbers[key])
            self._wanted.append((index, tuple(wanted)))

    def of(self, document: Document) -> list[int]:
        """Return the places of the stages that apply to a document, in their order."""
        tests = self._tests
        known: list[bool | None] = [None] * len(tests)
        found = []
        for index, wanted in self._wanted:
            for number in wanted:
                is_met = known[number]
                if is_met is None:
                    is_met = known[number] = tests[number](document)
                if not is_met:
                    break
            else:
                found.append(index)
        return found


def compiled(requirement: Requirement) -> _Test:
    """Return a function that says of a document what `Requirement.is_met` does."""
    names, values = requirement.query.names, frozenset(requirement.values)
    if names is None or not names:
        return requirement.is_met
    # Where a plain path leads nowhere it counts as leading to null.
    section, rest = names[0], names[1:]

    def found(document: Document) -> Any:
        value: Any = document.get(section)
        for name in rest:
            if type(value) is not dict:
                return None
            value = value.get(name)
        return value

    match requirement.operator:
        case "In":
            return lambda document: text_of(found(document)) in values
        case "NotIn":
            return lambda document: text_of(found(document)) not in values
        case "Exists":
            return lambda document: found(document) is not None
        case "DoesNotExist":
            return lambda document: found(document) is None
