"""Node selectors over label columns: one integer comparison per requirement and slot.

`objects.selector` compiles selectors and matches one object's labels; here the same compiled
selectors are evaluated for all nodes together. A requirement is evaluated once per interned
value, not per node, and the result is gathered by value id; a mask over 5,000 slots costs a few
microseconds per requirement.

Terms are ORed, the requirements of a term are ANDed. Empty terms match nothing. Terms with an
invalid requirement match nothing either: upstream collects the errors while parsing and skips
the term.

All functions take the same `nodes`, `rows` and `with_fields`, see `node_selector_mask`.

Upstream: staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
staging/src/k8s.io/apimachinery/pkg/labels/selector.go
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import numpy as np

from podwright._arrays import I32Array, Mask
from podwright.apimachinery.objects import (
    NODE_NAME_FIELD,
    FieldRequirement,
    NodeSelector,
    NodeTerm,
    NodeTerms,
    Requirement,
    Selector,
    node_selector,
    parse_int64,
)
from podwright.scheduler.columns.nodes import ABSENT, NodeColumns


@lru_cache(maxsize=16_384)
def compile_node_selector(selector: NodeSelector) -> NodeTerms:
    """Compile a node selector; cached by its value."""
    return node_selector(selector)


def node_selector_mask(
    selector: NodeSelector,
    nodes: NodeColumns,
    rows: I32Array | None = None,
    *,
    with_fields: bool = True,
) -> Mask:
    """Return which nodes a selector matches.

    Parameters
    ----------
    selector : NodeSelector
        Compiled at the first call and cached by its value.
    nodes : NodeColumns
        The labels and names.
    rows : (k,) int32, optional
        The slots to evaluate; None: all.
    with_fields : bool
        False passes over `matchFields`, as upstream does for volumes: there it matches the
        labels alone, of a node without a name.

    Returns
    -------
    (k,) bool, or (n_slots,) bool without `rows`
        In the order of `rows`. A new array.
    """
    return node_terms_mask(compile_node_selector(selector), nodes, rows, with_fields=with_fields)


def node_terms_mask(
    terms: NodeTerms,
    nodes: NodeColumns,
    rows: I32Array | None = None,
    *,
    with_fields: bool = True,
) -> Mask:
    """Return which nodes any term of a compiled node selector matches; see `node_selector_mask`."""
    mask: Mask | None = None
    for term in terms.terms:
        found = node_term_mask(term, nodes, rows, with_fields=with_fields)
        mask = found if mask is None else np.logical_or(mask, found, out=mask)
    return _filled(nodes, rows, value=False) if mask is None else mask


def node_term_mask(
    term: NodeTerm,
    nodes: NodeColumns,
    rows: I32Array | None = None,
    *,
    with_fields: bool = True,
) -> Mask:
    """Return which nodes one compiled term matches; see `node_selector_mask`."""
    if term.errors:
        return _filled(nodes, rows, value=False)
    mask = labels_mask(term.labels, nodes, rows)
    if with_fields:
        for field in term.fields:
            np.logical_and(mask, _field_matches(field, nodes, rows), out=mask)
    return mask


def labels_mask(selector: Selector, nodes: NodeColumns, rows: I32Array | None = None) -> Mask:
    """Return which nodes have labels that a label selector matches; see `node_selector_mask`."""
    if selector.is_nothing:
        return _filled(nodes, rows, value=False)
    mask: Mask | None = None
    for requirement in selector.requirements:
        found = _labels_match(requirement, nodes, rows)
        mask = found if mask is None else np.logical_and(mask, found, out=mask)
    return _filled(nodes, rows, value=True) if mask is None else mask


def value_mask(
    key: str, values: tuple[str, ...], nodes: NodeColumns, rows: I32Array | None = None
) -> Mask:
    """Return which nodes have one of `values` in label `key`; see `node_selector_mask`."""
    ids = nodes.label_ids(key)
    return any_of(ids if rows is None else ids[rows], values, nodes)


def _labels_match(requirement: Requirement, nodes: NodeColumns, rows: I32Array | None) -> Mask:
    ids = nodes.label_ids(requirement.key)
    if rows is not None:
        ids = ids[rows]
    match requirement.operator:
        case "In":
            return any_of(ids, requirement.values, nodes)
        case "NotIn":
            # A node without the label passes.
            mask = any_of(ids, requirement.values, nodes)
            return np.logical_not(mask, out=mask)
        case "Exists":
            there: Mask = ids != ABSENT
            return there
        case "DoesNotExist":
            lacking: Mask = ids == ABSENT
            return lacking
        case "Gt":
            return _compares(ids, requirement.values[0], nodes, greater=True)
        case "Lt":
            return _compares(ids, requirement.values[0], nodes, greater=False)


def any_of(ids: I32Array, values: Collection[str], nodes: NodeColumns) -> Mask:
    """Return where value ids, as in `NodeColumns.label_ids`, are ids of any of `values`: bool."""
    find = nodes.label_values.find
    value_ids = [number for number in map(find, values) if number >= 0]
    if len(value_ids) == 1:
        same: Mask = ids == value_ids[0]
        return same
    # One more entry than there are values: ABSENT is -1 and finds the last one.
    table: Mask = np.zeros(len(nodes.label_values) + 1, dtype=np.bool_)
    table[value_ids] = True
    gathered: Mask = table[ids]
    return gathered


def _compares(ids: I32Array, bound_text: str, nodes: NodeColumns, *, greater: bool) -> Mask:
    bound = parse_int64(bound_text)
    assert bound is not None, f"{bound_text!r} was checked when the term was compiled"
    distinct, places = np.unique(ids, return_inverse=True)
    texts = nodes.label_values.values
    holds: Mask = np.zeros(len(distinct), dtype=np.bool_)
    for i, value_id in enumerate(distinct.tolist()):
        number = None if value_id == ABSENT else parse_int64(texts[value_id])
        if number is not None:
            holds[i] = number > bound if greater else number < bound
    gathered: Mask = holds[places]
    return gathered


def _field_matches(field: FieldRequirement, nodes: NodeColumns, rows: I32Array | None) -> Mask:
    if field.field != NODE_NAME_FIELD:
        # A field that nodes do not have reads as the empty text.
        return _filled(nodes, rows, value=(not field.value) != field.is_negated)
    slot = nodes.slot_of.get(field.value)
    mask = _filled(nodes, rows, value=False)
    if slot is not None:
        if rows is None:
            mask[slot] = True
        else:
            np.equal(rows, slot, out=mask)
    return np.logical_not(mask, out=mask) if field.is_negated else mask


def _filled(nodes: NodeColumns, rows: I32Array | None, *, value: bool) -> Mask:
    mask: Mask = np.full(nodes.n_slots if rows is None else len(rows), value, dtype=np.bool_)
    return mask
