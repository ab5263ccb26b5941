"""Node selectors, used by pods and by volumes.

Upstream: staging/src/k8s.io/api/core/v1/types.go
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from podwright.apimachinery.objects.meta import Struct

NodeSelectorOperator: TypeAlias = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]


class NodeSelectorRequirement(Struct, frozen=True):
    """One expression over the labels or the fields of a node."""

    key: str
    operator: NodeSelectorOperator
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Struct, frozen=True, kw_only=True):
    """Expressions that must all hold; a term without any matches nothing."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Struct, frozen=True):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()
