import numpy as np
import pytest

from podwright.scheduler.framework.rankings.node_values import NodeNames, NodeValues

NODES = NodeNames(("b", "a"))


def values(*given):
    return NodeValues(NODES, np.array(given, dtype=np.int64))


def test_values_are_those_of_a_dictionary_in_the_order_of_the_nodes():
    found = values(3, -1)
    assert found == {"b": 3, "a": -1} == found
    assert found != {"b": 3, "a": 0}
    assert found == values(3, -1) != values(3, 3)
    assert (list(found), list(found.values()), list(found.items()), len(found)) == (
        ["b", "a"], [3, -1], [("b", 3), ("a", -1)], 2,
    )  # fmt: skip
    assert repr(found) == "{'b': 3, 'a': -1}"


def test_a_value_is_a_python_integer_found_by_the_name_of_its_node():
    found = values(3, -1)
    assert (found["a"], type(found["a"])) == (-1, int)
    assert (found.get("b"), found.get("c"), found.get("c", 7)) == (3, None, 7)
    assert ("a" in found, "c" in found) == (True, False)
    with pytest.raises(KeyError, match="'c'"):
        found["c"]


def test_the_places_of_names_are_found_once_for_all_values():
    assert NODES.places == {"b": 0, "a": 1}
    assert NODES.places is NODES.places
