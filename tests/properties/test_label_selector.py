"""Laws of label selectors."""

import pytest
from hypothesis import given, strategies as st

from podwright.apimachinery.objects import (
    LabelSelector,
    LabelSelectorRequirement,
    SelectorError,
    label_selector,
    labels_as_selector,
    parse_label_selector,
)

pytestmark = pytest.mark.property

KEYS = st.sampled_from(["app", "tier", "example.com/zone", "in", "notin"])
VALUES = st.sampled_from(["", "a", "b", "in", "1", "22"])
LABELS = st.dictionaries(KEYS, VALUES, max_size=4)


@st.composite
def expressions(draw):
    operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]))
    values = draw(st.lists(VALUES, min_size=1, max_size=3)) if operator in {"In", "NotIn"} else []
    return LabelSelectorRequirement(draw(KEYS), operator, tuple(values))


SELECTORS = st.builds(LabelSelector, LABELS, st.lists(expressions(), max_size=3).map(tuple))


def holds(selector, labels):
    """The rules as the documentation states them."""
    for key, value in selector.match_labels.items():
        if labels.get(key) != value:
            return False
    for expression in selector.match_expressions:
        is_there = expression.key in labels
        is_listed = is_there and labels[expression.key] in expression.values
        if not {
            "In": is_listed,
            "NotIn": not is_listed,
            "Exists": is_there,
            "DoesNotExist": not is_there,
        }[expression.operator]:
            return False
    return True


@given(SELECTORS, LABELS)
def test_a_compiled_selector_follows_the_rules(selector, labels):
    assert label_selector(selector).matches(labels) == holds(selector, labels)


@given(SELECTORS, LABELS)
def test_a_selector_as_text_is_parsed_to_an_equal_one(selector, labels):
    compiled = label_selector(selector)
    assert parse_label_selector(str(compiled)).matches(labels) == compiled.matches(labels)


@given(SELECTORS)
def test_order_does_not_make_another_selector(selector):
    turned = LabelSelector(
        dict(reversed(selector.match_labels.items())),
        tuple(
            LabelSelectorRequirement(e.key, e.operator, e.values[::-1])
            for e in reversed(selector.match_expressions)
        ),
    )
    assert label_selector(turned) == label_selector(selector)
    assert hash(label_selector(turned)) == hash(label_selector(selector))


@given(LABELS)
def test_labels_match_the_selector_made_of_them(labels):
    assert labels_as_selector(labels).matches(labels)


@given(st.text("ab/.-_=!<>(), \tinot", max_size=12))
def test_any_text_is_a_selector_or_an_error(text):
    try:
        selector = parse_label_selector(text)
    except SelectorError:
        return
    assert parse_label_selector(str(selector)) == selector
