"""Node selectors: what each operator matches, and what a mistaken term does."""

import numpy as np
import pytest

from podwright.apimachinery.objects import (
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    Selector,
)
from podwright.scheduler.columns import NodeColumns
from podwright.scheduler.columns.node_selector import (
    compile_node_selector,
    labels_mask,
    node_selector_mask,
    node_term_mask,
    node_terms_mask,
    value_mask,
)

LABELS = (
    {"zone": "a", "size": "4"},
    {"zone": "b", "size": "16"},
    {"size": "large"},
    {"zone": "c"},
)


@pytest.fixture
def nodes() -> NodeColumns:
    columns = NodeColumns()
    for i, labels in enumerate(LABELS):
        columns.put(Node(metadata=ObjectMeta(name=f"n{i}", labels=labels)))
    return columns


def term(*expressions, fields=()):
    return NodeSelectorTerm(
        match_expressions=tuple(NodeSelectorRequirement(*e) for e in expressions),
        match_fields=tuple(NodeSelectorRequirement(*f) for f in fields),
    )


@pytest.mark.parametrize(
    ("terms", "matching"),
    [
        pytest.param([term(("zone", "In", ("a",)))], [0], id="In takes an equal value"),
        pytest.param([term(("zone", "In", ("a", "c", "x")))], [0, 3], id="In takes any of them"),
        pytest.param([term(("zone", "In", ("x",)))], [], id="a value no node has matches none"),
        pytest.param([term(("zone", "NotIn", ("a",)))], [1, 2, 3], id="NotIn takes no label"),
        pytest.param([term(("zone", "Exists"))], [0, 1, 3], id="Exists requires the label"),
        pytest.param([term(("zone", "DoesNotExist"))], [2], id="DoesNotExist requires its absence"),
        pytest.param([term(("size", "Gt", ("4",)))], [1], id="Gt is strict and numeric"),
        pytest.param([term(("size", "Lt", ("16",)))], [0], id="Lt is strict and numeric"),
        pytest.param([term(("size", "Gt", ("four",)))], [], id="a bound that is no number"),
        pytest.param(
            [term(("zone", "Exists"), ("size", "Exists"))], [0, 1], id="expressions are AND'd"
        ),
        pytest.param(
            [term(("zone", "In", ("a",))), term(("zone", "In", ("c",)))],
            [0, 3],
            id="terms are OR'd",
        ),
        pytest.param([term()], [], id="an empty term matches nothing"),
        pytest.param([], [], id="no term matches nothing"),
        pytest.param([term(("zone", "In", ()))], [], id="In without values is a mistake"),
        pytest.param([term(("zone", "NotIn", ("a/b",)))], [], id="a malformed value is a mistake"),
        pytest.param([term(("-zone", "DoesNotExist"))], [], id="a malformed key is a mistake"),
        pytest.param(
            [term(("zone", "Gt", ("x",))), term(("zone", "In", ("a",)))],
            [0],
            id="a mistaken term does not spoil the others",
        ),
        pytest.param(
            [term(fields=[("metadata.name", "In", ("n2",))])], [2], id="fields know the name"
        ),
        pytest.param(
            [term(fields=[("metadata.name", "NotIn", ("n2",))])], [0, 1, 3], id="and its opposite"
        ),
        pytest.param(
            [term(fields=[("metadata.name", "In", ("n9",))])], [], id="no node has the name"
        ),
        pytest.param(
            [term(fields=[("metadata.name", "NotIn", ("n9",))])],
            [0, 1, 2, 3],
            id="all have another name",
        ),
        pytest.param(
            [term(fields=[("spec.other", "In", ("x",))])], [], id="a field that nodes do not have"
        ),
        pytest.param(
            [term(fields=[("spec.other", "NotIn", ("x",))])],
            [0, 1, 2, 3],
            id="and its opposite, as an empty text",
        ),
        pytest.param(
            [term(fields=[("spec.other", "In", ("",))])], [0, 1, 2, 3], id="which is the empty text"
        ),
        pytest.param(
            [term(fields=[("spec.other", "NotIn", ("",))])], [], id="and is not another one"
        ),
        pytest.param(
            [term(fields=[("metadata.name", "In", ("n2",)), ("metadata.name", "In", ("n1",))])],
            [],
            id="fields are AND'd",
        ),
        pytest.param(
            [term(("zone", "Exists"), fields=[("metadata.name", "In", ("n2",))])],
            [],
            id="fields and expressions are AND'd",
        ),
    ],
)
def test_matching_nodes(nodes, terms, matching):
    selector = NodeSelector(tuple(terms))
    assert np.flatnonzero(node_selector_mask(selector, nodes)).tolist() == matching
    compiled = compile_node_selector(selector)
    assert np.flatnonzero(node_terms_mask(compiled, nodes)).tolist() == matching
    of_terms = [np.flatnonzero(node_term_mask(each, nodes)).tolist() for each in compiled.terms]
    assert sorted({slot for slots in of_terms for slot in slots}) == matching
    for slot in range(len(LABELS)):
        rows = np.array([slot], dtype=np.int32)
        assert node_selector_mask(selector, nodes, rows).tolist() == [slot in matching]


def test_a_selector_of_nothing_matches_no_node(nodes):
    nothing, everything = Selector((), is_nothing=True), Selector(())
    rows = np.array([0, 2], dtype=np.int32)
    assert labels_mask(nothing, nodes).tolist() == [False] * 4
    assert labels_mask(nothing, nodes, rows).tolist() == [False] * 2
    assert labels_mask(everything, nodes).tolist() == [True] * 4
    assert labels_mask(everything, nodes, rows).tolist() == [True] * 2


@pytest.mark.parametrize(
    ("values", "matching"),
    [((), []), (("a",), [0]), (("a", "b", "x"), [0, 1]), (("x",), []), (("x", "y"), [])],
)
def test_nodes_with_one_of_some_values(nodes, values, matching):
    assert np.flatnonzero(value_mask("zone", values, nodes)).tolist() == matching
    rows = np.array([3, 1, 0], dtype=np.int32)
    found = value_mask("zone", values, nodes, rows).tolist()
    assert found == [slot in matching for slot in rows.tolist()]


def test_fields_can_be_passed_over(nodes):
    selector = NodeSelector((term(fields=[("metadata.name", "In", ("n2",))]),))
    assert node_selector_mask(selector, nodes, with_fields=False).all()
