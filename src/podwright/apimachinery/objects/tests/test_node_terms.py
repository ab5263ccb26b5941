"""Node selectors: which nodes their terms match, and what is wrong with a term."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import ArgumentError, NodeSelector
from podwright.apimachinery.objects.errors import require_type
from podwright.apimachinery.objects.selecting.node_terms import node_selector


def compiled(*terms: dict[str, Any]) -> Any:
    return node_selector(msgspec.convert({"nodeSelectorTerms": list(terms)}, NodeSelector))


def named(operator: str, *values: str) -> dict[str, Any]:
    field = {"key": "metadata.name", "operator": operator, "values": list(values)}
    return {"matchFields": [field]}


ZONE = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}


@pytest.mark.parametrize(
    ("terms", "matched"),
    [
        ([], []),
        ([{}], []),
        ([ZONE], ["n1"]),
        ([named("In", "n2")], ["n2", ""]),
        ([named("NotIn", "n2")], ["n1", ""]),
        ([ZONE | named("In", "n2")], []),
        ([ZONE | named("NotIn", "n2")], ["n1"]),
        ([ZONE, named("In", "n2")], ["n1", "n2", ""]),
        # What is not valid matches nothing, also a node without a name.
        ([named("Exists")], []),
        ([named("In", "n1", "n2")], []),
        ([named("Exists"), ZONE], ["n1"]),
    ],
)
def test_a_node_is_matched_by_a_term_whose_conditions_all_hold(
    terms: list[dict[str, Any]], matched: list[str]
) -> None:
    selector = compiled(*terms)
    nodes = {"n1": {"zone": "a"}, "n2": {"zone": "b"}, "": {}}
    assert [name for name, labels in nodes.items() if selector.matches(name, labels)] == matched


def test_the_errors_of_all_terms_have_their_paths() -> None:
    assert compiled(ZONE, named("Exists"), {}, named("In", "a", "b")).errors == (
        'nodeSelectorTerms[1].matchFields[0].operator: Unsupported value: "Exists": '
        'supported values: "In", "NotIn"',
        'nodeSelectorTerms[3].matchFields[0].values: Invalid value: ["a","b"]: must have one '
        "element",
    )


def test_an_argument_of_another_type_is_named_with_what_is_expected() -> None:
    require_type("a", str, "name", "a text")
    require_type(1, (str, int), "name", "a text or a number")
    with pytest.raises(ArgumentError, match=r"^objects\[0\]: must be a node, not a str$"):
        require_type("n1", dict, "objects[0]", "a node")
    with pytest.raises(ArgumentError, match=r"^plugin: must be a plugin, not the class str$"):
        require_type(str, dict, "plugin", "a plugin")
