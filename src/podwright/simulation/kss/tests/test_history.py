import json

import pytest
from hypothesis import given, strategies as st

from podwright.simulation.kss.annotations import (
    LIMIT_BYTES,
    UnusableHistory,
    extend_history,
    within_limit,
)
from podwright.simulation.kss.results import HISTORY


def test_the_first_attempt_begins_a_list():
    assert extend_history(None, {"b": '{"x":"1"}', "a": ""}) == r'[{"a":"","b":"{\"x\":\"1\"}"}]'


def test_later_attempts_are_appended():
    history = extend_history(extend_history(None, {"a": "1"}), {"a": "2"})
    assert history == '[{"a":"1"},{"a":"2"}]'


def test_escapes_in_a_value_are_escaped_again():
    once = extend_history(None, {"a": r'{"p":"1 \u003c 2"}'})
    assert once == r'[{"a":"{\"p\":\"1 \\u003c 2\"}"}]'


def of_size(count):
    """Return results whose element has this size in bytes."""
    return {"a": "x" * (count - len('{"a":""}'))}


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        pytest.param([LIMIT_BYTES - 2], 1, id="one that fits to the byte"),
        pytest.param([100, LIMIT_BYTES - 103], 2, id="two that fit to the byte"),
        pytest.param([100, LIMIT_BYTES - 102], 1, id="a byte more: the older one is dropped"),
        pytest.param([100, 100, 100, LIMIT_BYTES - 204], 3, id="as many are dropped as necessary"),
    ],
)
def test_the_oldest_results_are_dropped_beyond_the_limit(sizes, kept):
    history = None
    for size in sizes:
        history = extend_history(history, of_size(size))
    assert history is not None
    assert len(history.encode()) <= LIMIT_BYTES
    assert [len(e["a"]) + 8 for e in json.loads(history)] == sizes[-kept:]


ATTEMPTS = [{"a": "1" * 1_000}, {"a": "2" * 1_000}]
LAST = {"b": "x" * 2_000, "a": "2" * 1_000, "node": "n"}
RESULTS = {**LAST, HISTORY: json.dumps(ATTEMPTS, separators=(",", ":"))}
SIZE = sum(len(key) + len(value) for key, value in RESULTS.items())
"""Of all results: 2,001, 1,001 and 5 of the last attempt, 51 + 2,019 of the history."""


@pytest.mark.parametrize(
    ("excess", "kept", "elements"),
    [
        pytest.param(0, ["b", "a", "node"], ATTEMPTS, id="all results fit to the byte"),
        pytest.param(1, ["b", "a", "node"], ATTEMPTS[1:], id="the oldest element is dropped"),
        pytest.param(1_009, ["b", "a", "node"], ATTEMPTS[1:], id="as few as possible are dropped"),
        pytest.param(1_010, ["b", "a", "node"], [], id="a history without elements is left out"),
        pytest.param(2_070, ["b", "a", "node"], [], id="the last attempt fits to the byte"),
        pytest.param(2_071, ["a", "node"], ATTEMPTS[1:], id="the largest result is left out"),
        pytest.param(SIZE - 1, [], [], id="other annotations take all the room"),
    ],
)
@pytest.mark.parametrize("name", ["other", "ä"])
def test_the_last_attempt_precedes_the_history_beside_other_annotations(
    name, excess, kept, elements
):
    room = LIMIT_BYTES - SIZE + excess
    others = {"a": "of an attempt before", name: "y" * (room - len(name.encode()))}
    found = within_limit(RESULTS, others)
    assert [key for key in found if key != HISTORY] == kept
    assert json.loads(found.get(HISTORY, "[]")) == elements
    assert all(found[key] == LAST[key] for key in kept)


def test_results_that_exceed_the_limit_alone_are_rejected():
    with pytest.raises(UnusableHistory, match="one attempt take 262143 bytes"):
        extend_history('[{"a":"1"}]', of_size(LIMIT_BYTES - 1))


def test_the_limit_counts_bytes_not_characters():
    with pytest.raises(UnusableHistory):
        extend_history(None, {"a": "ä" * (LIMIT_BYTES // 2)})


@pytest.mark.parametrize(
    "history",
    ["", "no json", "{}", '"text"', "[1]", '[{"a":1}]', '[{"a":{}}]', "[[]]", "[" * 100_000],
)
def test_an_invalid_history_is_rejected(history):
    with pytest.raises(UnusableHistory):
        extend_history(history, {"a": "1"})


@pytest.mark.parametrize(
    ("history", "written"),
    [
        pytest.param("null", '[{"b":"1"}]', id="no list"),
        pytest.param("[null]", '[{},{"b":"1"}]', id="no object"),
        pytest.param('[{"a":null}]', '[{"a":""},{"b":"1"}]', id="no string"),
    ],
)
def test_null_is_an_empty_value_as_in_go(history, written):
    assert extend_history(history, {"b": "1"}) == written


attempts = st.lists(st.dictionaries(st.text(max_size=4), st.text(max_size=10), max_size=3))


@given(attempts)
def test_a_history_has_the_results_of_all_attempts(several):
    history = None
    for results in several:
        history = extend_history(history, results)
    assert json.loads(history or "[]") == several
