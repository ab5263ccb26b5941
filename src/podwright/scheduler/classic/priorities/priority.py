"""The interface of priorities: a map over nodes, and a reduce over the mapped row.

Upstream: pkg/scheduler/algorithm/priorities/types.go
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.priorities.metadata import PriorityMetadata

Map: TypeAlias = Callable[[NodeInfo], int]
"""Scores one node separately."""

Prepare: TypeAlias = Callable[[PriorityMetadata], Map]
"""Returns the map for one pod; computes everything that does not depend on the node."""

Reduce: TypeAlias = Callable[[PriorityMetadata, Sequence[NodeInfo], list[int]], None]
"""Converts a row of mapped scores to scores from 0 to 10, in place."""

Function: TypeAlias = Callable[[PriorityMetadata, Sequence[NodeInfo]], list[int]]
"""The older form: scores all nodes at once."""


class Priority(NamedTuple):
    """A rule of preference.

    Attributes
    ----------
    name : str
        The name in policies.
    prepare : Prepare or None
        None for a priority of the older form.
    reduce : Reduce or None
        None if the map's scores are final.
    function : Function or None
        The older form.
    """

    name: str
    prepare: Prepare | None = None
    reduce: Reduce | None = None
    function: Function | None = None
