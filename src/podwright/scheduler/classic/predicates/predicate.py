"""The interface of predicates."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from podwright.scheduler.classic.failure import Failures
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.predicates.metadata import PredicateMetadata

Check: TypeAlias = Callable[[PredicateMetadata, NodeInfo], Failures]
"""Evaluates one node; returns `FITS` if it passes."""


class Predicate(NamedTuple):
    """A rule that a node must satisfy.

    Attributes
    ----------
    name : str
        The name in policies.
    concerns : callable
        Whether the rule can reject any node for this pod; called once per pod, to avoid calls per
        node that have no effect.
    check : Check
        The rule.
    """

    name: str
    concerns: Callable[[PredicateMetadata], bool]
    check: Check


def always(_meta: PredicateMetadata) -> bool:  # the shape of `concerns`
    """Apply the rule to every pod."""
    return True
