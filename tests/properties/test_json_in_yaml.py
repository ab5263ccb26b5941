"""A body that is read as JSON where YAML is expected has the value that YAML gives it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import event, example, given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.objects import read_yaml
from podwright.cluster.api.endpoints.decoding.yaml_bodies import json_object_in_yaml

LETTERS = st.characters(min_codepoint=0x20, max_codepoint=0x7E, exclude_characters='\\"')
TEXTS = st.text(LETTERS, max_size=6) | st.sampled_from(
    [
        "yes",
        "y",
        "1e3",
        "0777",
        "~",
        "1.0",
        "<<",
        "a: b",
        "",
        "null",
        "# a",
        "- a",
        "é",
        '"',
        "\x7f",
    ]
)
LONG = st.builds(lambda length: "x" * length, st.integers(900, 1_500))
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = TEXTS | LONG | st.none() | st.booleans() | NUMBERS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)
LAYOUTS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"separators": (",", ":")},
        {},
        {"indent": 2},
        {"indent": 1, "separators": ("\n,", "\n:")},
        {"ensure_ascii": False},
    ]
)


@effort(200)
@given(st.dictionaries(TEXTS | LONG, VALUES, max_size=4), LAYOUTS, st.sampled_from(["", "\n", " "]))
@example({"a": -1, "b": [-0, True, None, {}], "": []}, {"separators": (",", ":")}, "")
def test_same_as_yaml(document: dict[str, Any], layout: dict[str, Any], end: str) -> None:
    text = json.dumps(document, **layout) + end
    found = json_object_in_yaml(text.encode())
    event("read as JSON" if found is not None else "left to the reader of YAML")
    if found is not None:
        (expected,) = read_yaml(text, allow_duplicates=True, reads_one_letter=True)
        assert not expected.duplicates
        # The text of both distinguishes 1 from true, and shows the order.
        assert json.dumps(found) == json.dumps(expected.value)
