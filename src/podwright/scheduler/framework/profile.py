"""A profile: the plugins of each extension point, and the tie rule.

Notes
-----
Upstream: pkg/scheduler/framework/plugins/helper/shape_score.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import msgspec
import numpy as np

from podwright._arrays import I64Array
from podwright.scheduler.config import UtilizationShapePoint
from podwright.scheduler.framework.plugin import Plugin


class TieRule(Enum):
    """Which of the nodes with the greatest total is taken."""

    DRAWN = "drawn"
    """Each equally likely, by one seeded draw (the classic reservoir rule)."""
    HEAP = "heap"
    """What 1.36 does: the top of a heap made over the nodes in the order found."""
    FIRST = "first"
    """The smallest name."""


_SETTINGS = frozenset({
    "scheduler_name", "tie_rule", "percentage_of_nodes_to_score", "draws_preemption_offset",
})  # fmt: skip
"""The fields of a profile that hold no plugins."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """The plugins of one schedulerName, instantiated, per extension point in run order.

    Parameters
    ----------
    percentage_of_nodes_to_score : int, optional
        None: every node. 0: upstream's adaptive rule. Otherwise per cent.
    draws_preemption_offset : bool
        Whether a dry run of preemption starts at a drawn node; False: at the first.
    holding : tuple of Plugin
        DefaultPreemption, if it is enabled at any extension point: its PreEnqueue is the machine's.
    """

    scheduler_name: str
    pre_enqueue: tuple[Plugin, ...] = ()
    queue_sort: tuple[Plugin, ...] = ()
    pre_filter: tuple[Plugin, ...] = ()
    filter: tuple[Plugin, ...] = ()
    post_filter: tuple[Plugin, ...] = ()
    pre_score: tuple[Plugin, ...] = ()
    score: tuple[tuple[Plugin, int], ...] = ()
    reserve: tuple[Plugin, ...] = ()
    permit: tuple[Plugin, ...] = ()
    pre_bind: tuple[Plugin, ...] = ()
    bind: tuple[Plugin, ...] = ()
    post_bind: tuple[Plugin, ...] = ()
    placement_generate: tuple[Plugin, ...] = ()
    placement_score: tuple[tuple[Plugin, int], ...] = ()
    holding: tuple[Plugin, ...] = ()
    tie_rule: TieRule = TieRule.DRAWN
    percentage_of_nodes_to_score: int | None = None
    draws_preemption_offset: bool = True

    @property
    def deciding(self) -> tuple[Plugin, ...]:
        """Every plugin that affects the choice of a node, once each, in a fixed order."""
        named = {
            plugin.name: plugin
            for plugin in (
                *self.pre_filter,
                *self.filter,
                *self.pre_score,
                *(plugin for plugin, _ in self.score),
            )
        }
        return tuple(named.values())

    def all_plugins(self) -> tuple[Plugin, ...]:
        """Return every plugin, each once, in the order of the extension points."""
        found: dict[int, Plugin] = {}
        for field in self.__struct_fields__:
            for entry in getattr(self, field) if field not in _SETTINGS else ():
                plugin = entry[0] if isinstance(entry, tuple) else entry
                found.setdefault(id(plugin), plugin)
        return tuple(found.values())

    def fingerprint(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the names of the plugins per extension point, to show and to compare.

        Those of placements are left out where there are none, so that earlier runs compare equal.
        """
        return tuple(
            (
                field,
                tuple(
                    entry[0].name if isinstance(entry, tuple) else entry.name
                    for entry in getattr(self, field)
                ),
            )
            for field in self.__struct_fields__
            if isinstance(getattr(self, field), tuple)
            and field != "holding"
            and (getattr(self, field) or not field.startswith("placement"))
        )


# Scores by a shape: linear interpolation between configured points.

_SHAPE_SCORE_UNIT = 10  # a shape ranges from 0 to 10, a score from 0 to 100


def shape_table(shape: Sequence[UtilizationShapePoint]) -> I64Array:
    """Return the score for each utilization from 0 to 100 per cent.

    Returns
    -------
    (101,) int64

    Notes
    -----
    Upstream: pkg/scheduler/framework/plugins/helper/shape_score.go, BuildBrokenLinearFunction
    """
    points = [(point.utilization, point.score * _SHAPE_SCORE_UNIT) for point in shape]
    return np.array([_broken_linear(points, p) for p in range(101)], dtype=np.int64)


def _broken_linear(points: Sequence[tuple[int, int]], utilization: int) -> int:
    for i, (right, score) in enumerate(points):
        if utilization <= right:
            if i == 0:
                return score
            left, before = points[i - 1]
            rise = (score - before) * (utilization - left)
            # Go divides towards zero, which matters where the line falls.
            part = abs(rise) // (right - left)
            return before + part if rise >= 0 else before - part
    return points[-1][1]
