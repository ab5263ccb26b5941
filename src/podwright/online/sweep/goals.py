"""What makes a configuration better than another: goals, and constraints.

A goal is a figure whose mean is to be the least, or with a plus sign the greatest: `wait p99`,
`+placed`. A constraint bounds the mean of a figure: `pending <= 5`.
"""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

_CONSTRAINT: Final = re.compile(r"(?P<figure>.+?)\s*(?P<sign><=|>=)\s*(?P<bound>\S+)")


class Goal(NamedTuple):
    """A figure to be minimized or maximized.

    Attributes
    ----------
    figure : str
        Its name, such as ``wait p99``.
    is_greatest : bool
    """

    figure: str
    is_greatest: bool = False

    def __str__(self) -> str:
        return f"+{self.figure}" if self.is_greatest else self.figure


class Constraint(NamedTuple):
    """A bound of a figure.

    Attributes
    ----------
    figure : str
    is_greatest : bool
        Whether the bound is the greatest value allowed; otherwise the least.
    bound : float
    """

    figure: str
    is_greatest: bool
    bound: float

    def __str__(self) -> str:
        return f"{self.figure} {'<=' if self.is_greatest else '>='} {self.bound:g}"

    def excess(self, value: float) -> float:
        """Return by how much `value` breaks the bound; at most 0 if it does not."""
        return value - self.bound if self.is_greatest else self.bound - value


def read_goal(text: str) -> Goal:
    """Read a goal from `text` such as ``wait p99`` or ``+placed``.

    Raises
    ------
    ValueError
        With what is expected.
    """
    figure = text.removeprefix("+").strip()
    if not figure:
        raise ValueError("must be a figure, such as 'wait p99' or +placed")
    return Goal(figure, text.startswith("+"))


def read_constraint(text: str) -> Constraint:
    """Read a constraint from `text` such as ``pending <= 5``.

    Raises
    ------
    ValueError
        With what is expected.
    """
    found = _CONSTRAINT.fullmatch(text.strip())
    try:
        bound = float(found["bound"]) if found else math.nan
    except ValueError:
        bound = math.nan
    if found is None or not math.isfinite(bound):
        raise ValueError("must be a bound of a figure, such as 'pending <= 5'")
    return Constraint(found["figure"], found["sign"] == "<=", bound)
