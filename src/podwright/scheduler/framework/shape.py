"""Scores by a shape: linear interpolation between configured points.

Upstream: pkg/scheduler/framework/plugins/helper/shape_score.go
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podwright._arrays import I64Array
from podwright.scheduler.config import UtilizationShapePoint

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
