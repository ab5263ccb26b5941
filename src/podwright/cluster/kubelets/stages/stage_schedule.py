"""When a stage is due: the basis of a scheduled stage, and schedules shared by many objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.kubelets.stages.stage import Stage

FixedSchedule: TypeAlias = tuple[str, int, int, str]
"""A schedule shared by many objects: basis, delay in ns, index of the stage, and its name."""

_CACHE_MAX: Final = 1_024


def basis_of(
    applying: Sequence[int], weights: list[int | None], sources: list[tuple[Any, Any]]
) -> str:
    """Return the basis of a scheduled stage as text.

    It covers everything that the choice and the delay depend on: the matching stages, their
    weights, and the values in the document that define their delays.
    """
    return msgspec.json.encode((applying, weights, sources)).decode()


class FixedSchedules:
    """The schedules of a stage that is the only match and whose delay is not drawn.

    Objects with the same delay values in their documents have the same schedule. It is computed
    once per set of values, unless it depends on the current time or on a weight in the document.

    Attributes
    ----------
    always : FixedSchedule, optional
        The schedule for every object, if no document can change the stage's delay.
    """

    __slots__ = ("_by_sources", "_index", "_may_last", "_stage", "always")

    def __init__(self, stage: Stage, index: int) -> None:
        delay = stage.delay
        self._stage = stage
        self._index = index
        self._may_last = stage.weight.query is None and delay.can_be_constant
        self._by_sources: dict[tuple[Any, Any], FixedSchedule | None] = {}
        self.always: FixedSchedule | None = None
        if delay.duration.query is None and delay.jitter.query is None:
            self.always = self.for_document({})

    def for_document(self, document: Document) -> FixedSchedule | None:
        """Return the schedule for a document; None if it has to be computed for each object."""
        if not self._may_last:
            return None
        sources = duration, jitter = self._stage.delay.sources(document)
        # Other values, such as lists, may not be hashable, and `sources` is a key below.
        if not (duration is None or type(duration) is str) or not (
            jitter is None or type(jitter) is str
        ):
            return None
        if sources in self._by_sources:
            return self._by_sources[sources]
        if not self._stage.delay.is_constant(sources):
            return None
        if len(self._by_sources) >= _CACHE_MAX:
            self._by_sources.clear()
        made = self._by_sources[sources] = self._made(sources)
        return made

    def _made(self, sources: tuple[Any, Any]) -> FixedSchedule | None:
        stage = self._stage
        least_ns, most_ns = stage.delay.bounds(sources, 0)
        if most_ns > least_ns:
            return None
        basis = basis_of([self._index], [stage.weight.default], [sources])
        return basis, least_ns, self._index, stage.name
