"""The pods that a preemption would evict from a node."""

from __future__ import annotations

import msgspec

from podwright.apimachinery.objects import Pod


class Victims(msgspec.Struct, frozen=True):
    """The pods to evict from a node.

    Attributes
    ----------
    pods : tuple of Pod
        Those that violate a budget first, then the others; within each group the more
        important first. Criterion 2 reads the first one.
    violations_count : int
        The number of pods that violate a budget.
    """

    pods: tuple[Pod, ...] = ()
    violations_count: int = 0
