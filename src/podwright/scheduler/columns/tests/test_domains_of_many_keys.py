"""Rules that name very many labels, as each constraint of a pod with very many does."""

from __future__ import annotations

import numpy as np

from podwright.scheduler.columns.affinity.domains import DomainRule, LabelKeys
from podwright.scheduler.columns.nodes import NodeColumns
from podwright.testing import make_node

KEYS = LabelKeys([f"k{number:02}" for number in range(30)])


def _nodes() -> NodeColumns:
    nodes = NodeColumns()
    nodes.put(make_node("all", labels=dict.fromkeys(KEYS, "v")))
    nodes.put(make_node("some", labels=dict.fromkeys(KEYS[:20], "v")))
    nodes.put(make_node("none"))
    return nodes


def test_only_nodes_that_have_all_labels_count():
    nodes = _nodes()
    rule = DomainRule(topology_key="k00", read_keys=KEYS, counted_keys=KEYS)
    rows = np.array([2, 0, 1], dtype=np.int32)
    assert rule.counted(nodes, rows).tolist() == [False, True, False]
    assert rule.readable(nodes, rows).tolist() == [False, True, False]


def test_the_nodes_that_have_the_labels_are_found_once_until_one_changes():
    nodes = _nodes()
    found = nodes.having(KEYS)
    assert nodes.having(KEYS) is found
    assert nodes.having(LabelKeys(KEYS)) is not found
    nodes.put(make_node("some", labels=dict.fromkeys(KEYS, "v")))
    assert nodes.having(KEYS).tolist() == [True, True, False]


def test_keys_of_labels_are_equal_to_a_tuple():
    assert LabelKeys(KEYS) == KEYS == tuple(KEYS)
    assert hash(LabelKeys(KEYS)) == hash(tuple(KEYS))
    assert LabelKeys(["k00"]) != KEYS
