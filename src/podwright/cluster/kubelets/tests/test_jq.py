"""Paths into documents."""

from __future__ import annotations

import pickle

import pytest

from podwright.cluster.kubelets.templates.jq import Query, QueryError, query

DOCUMENT = {
    "metadata": {"labels": {"a.b/c": "x"}, "finalizers": []},
    "status": {
        "count": 1,
        "ok": True,
        "none": [],
        "sizes": {"c": 1, "a": 0, "b": 2},
        "conditions": [
            {"type": "Ready", "status": "True"},
            {"type": "Other", "status": "False", "reason": "r"},
        ],
    },
}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param(".", [DOCUMENT], id="the document"),
        pytest.param(".status.count", [1], id="a plain path"),
        pytest.param(' .metadata.labels["a.b/c"] ', ["x"], id="a name in brackets"),
        pytest.param('.metadata.labels."a.b/c"', ["x"], id="a name in quotes"),
        pytest.param(".status.gone.further", [None], id="beyond what is missing is null"),
        pytest.param(".status.count.further", [], id="a field of a number is no value"),
        pytest.param(".status.conditions[1].reason", ["r"], id="an entry"),
        pytest.param(".status.conditions[7].reason", [None], id="an entry that is not there"),
        pytest.param(".status.conditions[-2].type", ["Ready"], id="the first from the end"),
        pytest.param(".status.conditions[-3]", [None], id="before the first"),
        pytest.param(".status.conditions.[].status", ["True", "False"], id="each, with a dot"),
        pytest.param(".status.conditions[].reason", [None, "r"], id="each, without a dot"),
        pytest.param(".status.gone.[].status", [], id="each of null is no value"),
        pytest.param(".status.gone[]?", [], id="optional"),
        pytest.param(
            '.status.conditions.[] | select( .type == "Ready" ) | .status', ["True"], id="select"
        ),
        pytest.param(
            '.status.conditions[] | select(.type == "Other" and .reason) | .type',
            ["Other"],
            id="select by two",
        ),
        pytest.param(
            '.status.conditions[] | select(.type != "Ready" or .status == "True") | .type',
            ["Ready", "Other"],
            id="select by one of two",
        ),
        pytest.param(".status | select(.ok == 1) | .count", [], id="true is not 1"),
        pytest.param(".status | select(.ok == true) | .count", [1], id="true"),
        pytest.param(".status | select(.ok == false) | .count", [], id="true is not false"),
        pytest.param(".status | select(.gone == false) | .count", [], id="null is not false"),
        pytest.param(".status | select(.gone == null) | .count", [1], id="null"),
        pytest.param(
            ".status | select(.conditions[].reason) | .count", [1], id="select by one of many"
        ),
        pytest.param(
            '.status | select(.conditions[].type == "Other") | .count', [1], id="any one is equal"
        ),
        pytest.param(".metadata.finalizers", [[]], id="an empty list is a value"),
        pytest.param(".status.sizes[]", [0, 2, 1], id="each of a map, in the order of the names"),
        pytest.param(".status | select(.sizes.a) | .count", [1], id="0 is true"),
        pytest.param('.status | select(0 and "" and .none) | .count', [1], id="so is no text"),
        pytest.param(".metadata | select(.finalizers) | .labels[]", ["x"], id="so is no entry"),
        pytest.param(".status | select(.ok and .gone) | .count", [], id="null is false"),
        pytest.param(
            ".status | select(.conditions[].type) | .count", [1, 1], id="once for each that is true"
        ),
        pytest.param(
            ".status | select(.gone or .conditions[].reason) | .count", [1], id="of one, or each"
        ),
        pytest.param(
            ".status | select(.conditions[].reason and .ok) | .count", [1], id="of each, and one"
        ),
        pytest.param(".status | select(.none[] or .ok) | .count", [], id="none of none, or one"),
        pytest.param(
            ".status | select(.gone and .count.x or .ok) | .count",
            [1],
            id="what is decided reads no further",
        ),
        pytest.param(
            ".status | select(.ok and .count.x or .ok) | .count", [], id="an error is no value"
        ),
        pytest.param(".status | select(.ok or .none[]) | .count", [1], id="one, or none of none"),
    ],
)
def test_a_query_selects_values(text, values):
    assert Query(text).values(DOCUMENT) == values


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("status", 'a path, which starts with "."', id="no dot"),
        pytest.param(".a.", "expected a name, got the end", id="a dot too many"),
        pytest.param(".a | length", "a path, .* got 'length'", id="a function"),
        pytest.param(".a // .b", 'starting with "// .b"', id="an operator"),
        pytest.param(".a[1:2]", 'starting with ":2', id="a slice"),
        pytest.param('.a[] | select(.b == "c"', 'expected "\\)", got the end', id="not closed"),
        pytest.param(".a .b c", 'starting with "c"', id="something behind it"),
        pytest.param(
            ".a[1.5]", "a quoted name, a number or nothing .* got '1.5'", id="half an entry"
        ),
        pytest.param(".a[b]", "a quoted name, .* got 'b'", id="a name without quotes"),
    ],
)
def test_unsupported_jq_is_rejected(text, error):
    with pytest.raises(QueryError, match=error):
        Query(text)


def test_a_query_is_the_same_after_it_was_pickled():
    for text in (".status.count", '.status.conditions[] | select(.type == "Ready") | .status'):
        again = pickle.loads(pickle.dumps(query(text)))
        assert (again.text, again.values(DOCUMENT)) == (text, Query(text).values(DOCUMENT))


@pytest.mark.parametrize(
    ("tags", "mark", "values"),
    [
        (["a", "b"], "==", ["n"]), (["a", "c"], "==", []), ([], "==", []),
        (["b", "b"], "!=", []), (["a", "b"], "!=", ["n"]),
    ],
)  # fmt: skip
def test_one_of_several_values_is_enough_for_a_comparison(tags, mark, values):
    query = Query(f'select(.tags[] {mark} "b") | .name')
    assert query.values({"tags": tags, "name": "n"}) == values


@pytest.mark.parametrize(
    ("entries", "values"),
    [
        ([{"a": {"b": 1}}, {"a": {"b": 2}}], [1, 2]),
        ([{"a": {"b": 1}}, {"a": None}, {}], [1, None, None]),
        ([{"a": {}}, None], [None, None]),
        ([{"a": {"b": 1}}, "x"], []),
        ([{"a": {"b": 1}}, {"a": "x"}], []),
        ([], []),
    ],
)
def test_null_is_a_value_of_an_entry_and_another_type_an_error_of_all(entries, values):
    assert query(".l.[].a.b").values({"l": entries}) == values
