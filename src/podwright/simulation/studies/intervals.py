"""Means over runs, with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from typing import Final

import msgspec
import numpy as np

_STUDENT_975: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042, 1.960,
)  # fmt: skip
"""The 97.5 % quantiles of Student's distribution with 1 to 30 degrees of freedom, and with more."""


class Interval(msgspec.Struct, frozen=True):
    """A mean over runs; in JSON, null stands for what one run does not have.

    Attributes
    ----------
    mean : float
    deviation : float
        The standard deviation of a sample; not a number for one run.
    margin : float
        Half of the width of the 95 % confidence interval of the mean; infinite for one run,
        which says nothing about others.
    """

    mean: float
    deviation: float
    margin: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """Return the mean of `values`, one of each run, and its interval."""
        n = len(values)
        mean = float(np.mean(values))
        if n == 1:
            return cls(mean, nan, inf)
        deviation = float(np.std(values, ddof=1))
        return cls(mean, deviation, _STUDENT_975[min(n - 2, 30)] * deviation / n**0.5)

    @property
    def is_certain(self) -> bool:
        """Whether zero is outside of the interval."""
        return abs(self.mean) > self.margin
