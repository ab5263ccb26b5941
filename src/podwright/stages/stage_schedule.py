"""What the plan for an object is made of, and plans that are the same for many objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import msgspec

from podwright.objects import Document
from podwright.stages.stage import Stage

FixedSchedule: TypeAlias = tuple[str, int, int, str]
"""Of a plan that many objects have: its basis, its delay, its stage, and the name."""

_WORDED_MAX: Final = 1_024


def basis_of(
    applying: Sequence[int], weights: list[int | None], sources: list[tuple[Any, Any]]
) -> str:
    """Return what a plan is made of, as a text: stages, their weights, and words on delays."""
    return msgspec.json.encode((applying, weights, sources)).decode()


class FixedSchedules:
    """The plans of a stage, where it is the only one that applies and nothing is drawn.

    Objects that say the same about its delay, or nothing, have the same plan; so it is made once,
    unless it depends on the time or on a weight.

    Attributes
    ----------
    always : FixedSchedule, optional
        The one plan of a stage about which objects can say nothing.
    """

    __slots__ = ("_index", "_may_last", "_stage", "_worded", "always")

    def __init__(self, stage: Stage, index: int) -> None:
        delay = stage.delay
        self._stage = stage
        self._index = index
        self._may_last = stage.weight.query is None and delay.may_last
        self._worded: dict[tuple[Any, Any], FixedSchedule | None] = {}
        self.always: FixedSchedule | None = None
        if delay.duration.query is None and delay.jitter.query is None:
            self.always = self.for_document({})

    def for_document(self, document: Document) -> FixedSchedule | None:
        """Return the plan for an object, None if it has to be made."""
        if not self._may_last:
            return None
        sources = duration, jitter = self._stage.delay.sources(document)
        if not (duration is None or type(duration) is str) or not (
            jitter is None or type(jitter) is str
        ):
            return None
        if sources in self._worded:
            return self._worded[sources]
        if not self._stage.delay.is_lasting(sources):
            return None
        if len(self._worded) >= _WORDED_MAX:
            self._worded.clear()
        made = self._worded[sources] = self._made(sources)
        return made

    def _made(self, sources: tuple[Any, Any]) -> FixedSchedule | None:
        stage = self._stage
        least_ns, most_ns = stage.delay.bounds(sources, 0)
        if most_ns > least_ns:
            return None
        basis = basis_of([self._index], [stage.weight.default], [sources])
        return basis, least_ns, self._index, stage.name
