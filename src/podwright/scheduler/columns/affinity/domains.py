"""Topology domains: which slots share the value of a label, and which of them count.

A `Domains` numbers the values of one topology key from zero. Some nodes are not eligible for a
pod's spreading (its node affinity or its tolerations exclude them, or they lack another
constraint's key): pods there are not counted, and a domain with only such nodes does not affect
the minimum.

`Domains` catches up with the topology journal when it is read. New nodes are appended. A changed
node is compared with its row; only if it differs, all nodes are renumbered, and the counters over
these domains are rebuilt. So updates of what domains do not read, such as status, cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from podwright._arrays import I32Array, Mask
from podwright.apimachinery.objects import NodeSelector, Toleration, untolerated_taint
from podwright.scheduler.columns.node_selector import node_selector_mask
from podwright.scheduler.columns.nodes import NodeColumns

_MOST_APPENDED = 256
"""More new nodes than this are numbered together with all others."""

_MANY_KEYS = 8
"""The slots that have all of more keys than this are computed once for all rules."""

_FEW = 4
"""Up to this many new nodes are added one by one, which is faster than with arrays."""


class LabelKeys(tuple[str, ...]):
    """Keys of labels that many rules share, whose hash is computed once.

    Each of the n constraints of a pod names the n keys of all.
    """

    _hash: int | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = super().__hash__()
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other)


class DomainRule(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a domain, and which nodes count.

    Parameters
    ----------
    topology_key : str
        The label whose values are the domains; with "" every node is a domain.
    read_keys : tuple of str
        A node that lacks one of these labels has no domain for reads.
    counted_keys : tuple of str
        Pods on a node that lacks one of these labels are not counted.
    node_selector : tuple of (str, str)
        Labels that a node must have to be counted.
    affinity : NodeSelector, optional
        What a node must match to be counted.
    tolerations : tuple of Toleration, optional
        If given, nodes with another taint that keeps pods away are not counted.
    compares_tolerations : bool
        Whether the operators Gt and Lt of tolerations compare; else they tolerate nothing.
    absent_is_empty : bool
        Whether pods on nodes without the label are counted in the domain of the empty value.
    """

    topology_key: str
    read_keys: tuple[str, ...] = ()
    counted_keys: tuple[str, ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    affinity: NodeSelector | None = None
    tolerations: tuple[Toleration, ...] | None = None
    compares_tolerations: bool = False
    absent_is_empty: bool = False

    @classmethod
    def of_key(cls, topology_key: str) -> DomainRule:
        """Return the rule by which every node that has the label counts."""
        keys = (topology_key,)
        return cls(topology_key=topology_key, read_keys=keys, counted_keys=keys)

    def counted(self, nodes: NodeColumns, rows: I32Array) -> Mask:
        """Return which of the slots `rows` count: (k,) bool."""
        mask: Mask = nodes.alive[rows]
        mask &= _labeled(self.counted_keys, nodes, rows)
        for key, value in self.node_selector:
            mask &= nodes.has_label(key, value)[rows]
        if self.affinity is not None:
            mask &= node_selector_mask(self.affinity, nodes, rows)
        if self.tolerations is not None:
            taint_sets = nodes.taint_set_ids[rows]
            # Evaluated per distinct taint set, not per node: nodes share few sets.
            tolerated: Mask = np.array(
                [
                    untolerated_taint(
                        taints, self.tolerations, comparison_operators=self.compares_tolerations
                    )
                    is None
                    for taints in nodes.taint_sets.values
                ],
                dtype=np.bool_,
            )
            mask &= tolerated[taint_sets]
        return mask

    def readable(self, nodes: NodeColumns, rows: I32Array) -> Mask:
        """Return which of the slots `rows` have a domain to read: (k,) bool."""
        mask: Mask = nodes.alive[rows]
        mask &= _labeled(self.read_keys, nodes, rows)
        return mask


def _labeled(keys: tuple[str, ...], nodes: NodeColumns, rows: I32Array) -> Mask:
    """Return which of the slots `rows` have all labels: (k,) bool."""
    if len(keys) > _MANY_KEYS:
        return nodes.having(keys)[rows]
    mask: Mask = np.ones(len(rows), dtype=np.bool_)
    for key in keys:
        mask &= nodes.label_ids(key)[rows] >= 0
    return mask


class Domains:
    """The domains of one rule over the slots.

    Attributes
    ----------
    numbering : int
        Grows when the domains get other numbers, or other pods: counts are to be made again.
    n_counters : int
        How many counters use the domains; maintained by `SelectorCounters`.
    n_slots : int
        The slots up to this one are numbered; `catch_up` adds the others.
    n_counted : int
        Domains with a counted node; these have the lowest numbers.
    n_domains : int
        All domains.
    counting : (n_slots,) int32
        The domain in which pods on a slot are counted, or -1.
    reading : (n_slots,) int32
        The domain of a slot, or -1 if the node lacks a label.
    empty_domain : int
        The domain of the empty value if the rule has one, else -1.
    cells : memoryview
        `counting`, for single accesses from Python.
    """

    def __init__(self, rule: DomainRule, nodes: NodeColumns) -> None:
        self.rule = rule
        self.numbering = 0
        self.n_counters = 0
        self.empty_domain = -1
        self._nodes = nodes
        self._version = nodes.topology_journal.version
        self._renumber()

    @property
    def is_current(self) -> bool:
        """Whether no node came, went or moved since the last `catch_up`."""
        return self._version == self._nodes.topology_journal.version

    def catch_up(self) -> None:
        """Add the nodes that were added or changed since the last call."""
        nodes = self._nodes
        if self.is_current:
            return
        journal = nodes.topology_journal
        changed = journal.since(self._version)
        self._version = journal.version
        if changed is not None and self._follow(changed):
            return
        self._renumber()

    def _follow(self, changed: I32Array) -> bool:
        """Handle changed slots one by one; False if all nodes must be numbered again."""
        nodes = self._nodes
        known = changed[changed < self.n_slots]
        if len(known) and (4 * len(known) > nodes.n_slots + 64 or not self._are_as_numbered(known)):
            return False
        fresh = range(self.n_slots, nodes.n_slots)
        if not fresh:
            return True
        return len(fresh) <= _MOST_APPENDED and self._append(fresh)

    def _are_as_numbered(self, rows: I32Array) -> bool:
        """Return whether the slots `rows` still have their domains."""
        rule, nodes = self.rule, self._nodes
        ids = self._value_ids(rows)
        counted = rule.counted(nodes, rows)
        readable = rule.readable(nodes, rows)
        # Values that are not in the table yet, and absent ones, select its last entry, -1.
        table = self._domain_of_value
        domains = table[np.minimum(ids, len(table) - 1)]
        named = (counted | readable) & (ids >= 0)
        return bool(
            nodes.alive[rows].all()
            and (self.counting[rows] == np.where(counted, domains, -1)).all()
            and (self.reading[rows] == np.where(readable, domains, -1)).all()
            and (domains[named] >= 0).all()
        )

    def _value_ids(self, rows: I32Array) -> I32Array:
        """Return the domain key of each of `rows`; negative for none."""
        rule, nodes = self.rule, self._nodes
        if not rule.topology_key:
            return rows
        ids = nodes.label_ids(rule.topology_key)[rows]
        if rule.absent_is_empty:
            # `ids` is a copy of the label column, made by the index array.
            ids[ids < 0] = nodes.label_values.id_of("")
        return ids

    def _renumber(self) -> None:
        rule, nodes = self.rule, self._nodes
        self.numbering += 1
        n = nodes.n_slots
        rows: I32Array = np.arange(n, dtype=np.int32)
        counted = rule.counted(nodes, rows)
        readable = rule.readable(nodes, rows)
        ids = self._value_ids(rows)
        counted &= ids >= 0
        # Without a topology key the ids are slots, so the table is at least as long as those.
        table: I32Array = np.full(max(len(nodes.label_values), n) + 1, -1, dtype=np.int32)
        # Counted domains come first, so that the minimum of spreading is over a prefix.
        first = _distinct(ids[counted], len(table))
        table[first] = np.arange(len(first), dtype=np.int32)
        # With an empty domain every value has a domain, whether or not it is read or counted.
        named = (readable | rule.absent_is_empty) & (ids >= 0)
        others = _distinct(ids[named & ~counted & nodes.alive], len(table))
        others = others[table[others] < 0]
        self.n_counted = len(first)
        self.n_domains = len(first) + len(others)
        table[others] = np.arange(len(first), self.n_domains, dtype=np.int32)
        self._domain_of_value = table
        # The last entry of the table is -1, which negative ids select.
        domains = table[ids]
        self._add_empty_domain()
        self._set_rows(np.where(counted, domains, -1), np.where(readable, domains, -1))

    def _append(self, fresh: range) -> bool:
        """Add new slots; False if their domains do not fit into the numbering."""
        rule, nodes = self.rule, self._nodes
        if rule.affinity is None and rule.tolerations is None and len(fresh) <= _FEW:
            ids, counted, readable = self._of_few(fresh)
        else:
            rows: I32Array = np.arange(fresh.start, fresh.stop, dtype=np.int32)
            counted = rule.counted(nodes, rows).tolist()
            readable = rule.readable(nodes, rows).tolist()
            ids = self._value_ids(rows).tolist()
        counting, reading = [], []
        for value, counts, reads in zip(ids, counted, readable, strict=True):
            domain = self._domain_of(value) if value >= 0 else -1
            if value >= 0 and (counts or reads or rule.absent_is_empty):
                # A counted domain behind uncounted ones would break the prefix of counted domains.
                if counts and (domain >= self.n_counted or (domain < 0 and not self._is_dense)):
                    return False
                if domain < 0:
                    domain = self._new_domain(value)
                    self.n_counted += counts
            counting.append(domain if counts else -1)
            reading.append(domain if reads else -1)
        self._add_empty_domain()
        self._set_rows(_extended(self.counting, counting), _extended(self.reading, reading))
        return True

    def _of_few(self, fresh: range) -> tuple[list[int], list[bool], list[bool]]:
        """Return value ids, whether counted, and whether readable, without arrays."""
        rule, nodes = self.rule, self._nodes
        key, value_id = rule.topology_key, nodes.label_values.id_of
        required = rule.node_selector
        ids, counted, readable = [], [], []
        for slot in fresh:
            node = nodes.objects[slot]
            labels: Mapping[str, str] = {} if node is None else node.metadata.labels
            value = labels.get(key, "" if rule.absent_is_empty else None)
            ids.append(slot if not key else -1 if value is None else value_id(value))
            is_counted = all(k in labels for k in rule.counted_keys)
            is_counted = is_counted and all(labels.get(k) == v for k, v in required)
            counted.append(node is not None and is_counted)
            readable.append(node is not None and all(k in labels for k in rule.read_keys))
        return ids, counted, readable

    @property
    def _is_dense(self) -> bool:
        return self.n_counted == self.n_domains

    def _domain_of(self, value: int) -> int:
        # Negative ids select the last entry, -1, which belongs to no value.
        table = self._domain_of_value
        return table.item(value) if value < len(table) else -1

    def _new_domain(self, value: int) -> int:
        table = self._domain_of_value
        if value >= len(table) - 1:
            longer: I32Array = np.full(2 * value + 2, -1, dtype=np.int32)
            longer[: len(table)] = table
            table = self._domain_of_value = longer
        domain = self.n_domains
        table[value] = domain
        self.n_domains += 1
        return domain

    def _add_empty_domain(self) -> None:
        if self.rule.absent_is_empty:
            self.empty_domain = self._domain_of(self._nodes.label_values.id_of(""))

    def _set_rows(self, counting: I32Array, reading: I32Array) -> None:
        self.n_slots = len(counting)
        self.counting = counting
        self.reading = reading
        self.cells = counting.data


def _extended(rows: I32Array, fresh: list[int]) -> I32Array:
    """Return `rows` followed by those of new slots."""
    return np.concatenate([rows, np.array(fresh, dtype=np.int32)])


def _distinct(ids: I32Array, bound: int) -> I32Array:
    """Return the distinct values of `ids`, all from 0 to below `bound`, in order."""
    there: Mask = np.zeros(bound, dtype=np.bool_)
    there[ids] = True
    found: I32Array = np.flatnonzero(there).astype(np.int32)
    return found
