"""Text in YAML is read as text by Go, by kubectl's way of reading, and by Python."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.objects import read_yaml, write_yaml


@pytest.mark.parametrize(
    "text",
    [
        *("", "~", "null", "true", "Off", "yes", "y", "N"),
        *("7", "-1", "+1", "08", "007", "0o17", "0O17", "0b1", "0B1", "0x1F", "0X1", "1_000"),
        *("1e3", "1E5", "12e03", "-.5e3", "+.5", "1.", "1._5", "1e+20", ".inf", "-.Inf", ".NaN"),
        *("1:30", "00:30", "+190:20:30.15", "2021-01-01", "2021-1-1", "2021-01-01 00:00:00"),
    ],
)
def test_text_that_go_or_python_reads_as_something_else_is_quoted(text: str) -> None:
    assert write_yaml({"a": [text], text: 1}) == f'a:\n- "{text}"\n"{text}": 1\n'


@pytest.mark.parametrize(
    "text",
    [
        *("web", "a:b", "1e", "e3", "0o", "0b2", "._5", "1e400", "1,000"),
        *("1.5.2", "tRue", "inf", "0x1p4", "10.0.0.1", "5e12345", "1:75", "20210-1-1", "x2021-1-1"),
    ],
)
def test_other_text_is_not(text: str) -> None:
    assert write_yaml([text, text]) == f"- {text}\n- {text}\n"


def test_lines_keys_and_width() -> None:
    value = {"b": "x\ny\n", "a": {"c": [1, 0.5, None, True]}, "long": "word " * 30 + "end"}
    expected = "b: |\n  x\n  y\na:\n  c:\n  - 1\n  - 0.5\n  - null\n  - true\n"
    assert write_yaml(value, width=1_000) == f"{expected}long: {value['long']}\n"
    assert write_yaml(value).count("\n") == expected.count("\n") + 2
    assert write_yaml(value, sort_keys=True).startswith("a:\n")


_TEXTS = st.text() | st.from_regex(r"[-+.0-9_:eExXoObTZ ]{1,12}", fullmatch=True)
_VALUES: Any = st.recursive(
    _TEXTS | st.integers(-(2**63), 2**64 - 1) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
)


@effort(60)
@given(_VALUES)
def test_what_is_written_is_read_again(value: Any) -> None:
    text = write_yaml(value)
    assert yaml.safe_load(text) == value
    for reads_one_letter in (False, True):
        (found,) = read_yaml(text, reads_one_letter=reads_one_letter)
        assert found.value == value
