"""Node selectors over label columns: one integer comparison per expression and slot.

A selector is compiled once into tests on interned label values. A test looks at distinct
values, never at nodes, and its answer is gathered by value id; a mask over 5,000 slots costs
a few microseconds per expression.

Terms are OR'd and the expressions of a term AND'd. A term without expressions and fields
matches nothing. Neither does a term with a mistake in it (a malformed key or value, the wrong
number of values), whatever its other expressions say: upstream collects such errors while
parsing and passes over the term.

Upstream: staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
staging/src/k8s.io/apimachinery/pkg/labels/selector.go, `NewRequirement`
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from podwright._arrays import I32Array, Mask
from podwright.columns.nodes import ABSENT, NodeColumns
from podwright.objects import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

_MOST_REMEMBERED = 16_384
_INT64_LEAST, _INT64_MOST = -(2**63), 2**63 - 1
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_VALUE = re.compile(r"(?=.{0,63}\Z)(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", re.ASCII)
_KEY = re.compile(
    r"((?=.{1,253}/)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(?=.{1,63}\Z)([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]",
    re.ASCII,
)


def node_selector_mask(
    selector: NodeSelector,
    nodes: NodeColumns,
    rows: I32Array | None = None,
    *,
    with_fields: bool = True,
) -> Mask:
    """Tell which nodes a selector matches.

    Parameters
    ----------
    selector : NodeSelector
        Compiled at the first call and remembered by its value.
    nodes : NodeColumns
        The labels and names.
    rows : (k,) int32, optional
        The slots that are asked for; None asks for all.
    with_fields : bool
        False passes over `matchFields`, as upstream does for volumes: there it matches the
        labels alone, of a node without a name.

    Returns
    -------
    (k,) bool, or (n_slots,) bool without `rows`
        In the order of `rows`. A new array.
    """
    return compile_node_selector(selector).mask(nodes, rows, with_fields=with_fields)


class CompiledTerm:
    """The expressions and fields of one term, ready to be asked.

    Make it with `compile_term`.
    """

    __slots__ = ("_expressions", "_fields")

    def __init__(
        self,
        expressions: tuple[NodeSelectorRequirement, ...],
        fields: tuple[NodeSelectorRequirement, ...],
    ) -> None:
        self._expressions = expressions
        self._fields = fields

    def mask(
        self, nodes: NodeColumns, rows: I32Array | None = None, *, with_fields: bool = True
    ) -> Mask:
        """Tell which nodes the term matches; parameters as for `node_selector_mask`."""
        mask: Mask | None = None
        for expression in self._expressions:
            found = _labels_match(expression, nodes, rows)
            mask = found if mask is None else np.logical_and(mask, found, out=mask)
        if with_fields:
            for field in self._fields:
                found = _field_matches(field, nodes, rows)
                mask = found if mask is None else np.logical_and(mask, found, out=mask)
        return _all_true(nodes, rows) if mask is None else mask


class CompiledSelector:
    """The terms of a selector that can match at all. Make it with `compile_node_selector`."""

    __slots__ = ("terms",)

    def __init__(self, terms: tuple[CompiledTerm, ...]) -> None:
        self.terms = terms

    def mask(
        self, nodes: NodeColumns, rows: I32Array | None = None, *, with_fields: bool = True
    ) -> Mask:
        """Tell which nodes any term matches; parameters as for `node_selector_mask`."""
        if not self.terms:
            none: Mask = np.zeros(nodes.n_slots if rows is None else len(rows), dtype=np.bool_)
            return none
        mask = self.terms[0].mask(nodes, rows, with_fields=with_fields)
        for term in self.terms[1:]:
            mask |= term.mask(nodes, rows, with_fields=with_fields)
        return mask


@lru_cache(maxsize=_MOST_REMEMBERED)
def compile_node_selector(selector: NodeSelector) -> CompiledSelector:
    """Compile a selector; empty and mistaken terms are left out, as they match nothing."""
    terms = (compile_term(term) for term in selector.node_selector_terms)
    return CompiledSelector(tuple(term for term in terms if term is not None))


@lru_cache(maxsize=_MOST_REMEMBERED)
def compile_term(term: NodeSelectorTerm) -> CompiledTerm | None:
    """Compile a term; None if it is empty or mistaken and so matches nothing."""
    expressions, fields = term.match_expressions, term.match_fields
    if not expressions and not fields:
        return None
    if not all(_is_valid_expression(expression) for expression in expressions):
        return None
    if not all(f.operator in ("In", "NotIn") and len(f.values) == 1 for f in fields):
        return None
    return CompiledTerm(expressions, fields)


def _is_valid_expression(expression: NodeSelectorRequirement) -> bool:
    if not _KEY.fullmatch(expression.key):
        return False
    values = expression.values
    match expression.operator:
        case "In" | "NotIn":
            if not values:
                return False
        case "Exists" | "DoesNotExist":
            if values:
                return False
        case "Gt" | "Lt":
            if len(values) != 1 or _integer(values[0]) is None:
                return False
    return all(_VALUE.fullmatch(value) for value in values)


def _integer(text: str) -> int | None:
    """Read a number as Go's strconv.ParseInt does; None if it is none or out of range."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if _INT64_LEAST <= number <= _INT64_MOST else None


def _labels_match(
    expression: NodeSelectorRequirement, nodes: NodeColumns, rows: I32Array | None
) -> Mask:
    ids = nodes.label_ids(expression.key)
    if rows is not None:
        ids = ids[rows]
    match expression.operator:
        case "In":
            return _is_any(ids, expression.values, nodes)
        case "NotIn":
            # A node without the label passes.
            mask = _is_any(ids, expression.values, nodes)
            return np.logical_not(mask, out=mask)
        case "Exists":
            there: Mask = ids != ABSENT
            return there
        case "DoesNotExist":
            lacking: Mask = ids == ABSENT
            return lacking
        case "Gt":
            return _compares(ids, expression.values[0], nodes, greater=True)
        case "Lt":
            return _compares(ids, expression.values[0], nodes, greater=False)


def _is_any(ids: I32Array, values: tuple[str, ...], nodes: NodeColumns) -> Mask:
    find = nodes.label_values.find
    wanted = [number for number in map(find, values) if number >= 0]
    if len(wanted) == 1:
        same: Mask = ids == wanted[0]
        return same
    # One more entry than there are values: ABSENT is -1 and finds the last one.
    table: Mask = np.zeros(len(nodes.label_values) + 1, dtype=np.bool_)
    table[wanted] = True
    gathered: Mask = table[ids]
    return gathered


def _compares(ids: I32Array, bound_text: str, nodes: NodeColumns, *, greater: bool) -> Mask:
    bound = _integer(bound_text)
    assert bound is not None, f"{bound_text!r} was checked when the term was compiled"
    distinct, places = np.unique(ids, return_inverse=True)
    texts = nodes.label_values.values
    holds: Mask = np.zeros(len(distinct), dtype=np.bool_)
    for i, value_id in enumerate(distinct.tolist()):
        number = None if value_id == ABSENT else _integer(texts[value_id])
        if number is not None:
            holds[i] = number > bound if greater else number < bound
    gathered: Mask = holds[places]
    return gathered


def _field_matches(
    field: NodeSelectorRequirement, nodes: NodeColumns, rows: I32Array | None
) -> Mask:
    wanted = field.values[0]
    count = nodes.n_slots if rows is None else len(rows)
    mask: Mask = np.zeros(count, dtype=np.bool_)
    if field.key != "metadata.name":
        # A field that nodes do not have reads as the empty text.
        mask[:] = not wanted
    else:
        slot = nodes.slot_of.get(wanted, -1)
        if slot >= 0:
            if rows is None:
                mask[slot] = True
            else:
                mask = rows == slot
    return np.logical_not(mask, out=mask) if field.operator == "NotIn" else mask


def _all_true(nodes: NodeColumns, rows: I32Array | None) -> Mask:
    mask: Mask = np.ones(nodes.n_slots if rows is None else len(rows), dtype=np.bool_)
    return mask
