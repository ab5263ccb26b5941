"""Texts become plain values as kube-scheduler's parsers make them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from podwright.apimachinery.documents import (
    Keys,
    has_more_documents,
    parse_document,
    read_document,
)
from podwright.apimachinery.objects import InputError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, None) for text in ("~", "null", "Null", "NULL", "")),
        *((text, True) for text in ("y", "Yes", "on", "TRUE", "true")),
        *((text, False) for text in ("n", "No", "off", "FALSE")),
        ("yEs", "yEs"),
        ("010", 8),
        ("0o10", 8),
        ("-010", -8),
        ("08", 8),
        ("0", 0),
        ("0x1F", 31),
        ("0b101", 5),
        ("1_000", 1000),
        ("+7", 7),
        ("1:30", "1:30"),
        ("2026-01-01", "2026-01-01"),
        ("2.0", 2),
        ("1e2", 100),
        ("1e21", 1e21),
        ("2.5", 2.5),
        (".5", 0.5),
        ("1_0.5", 10.5),
        (".inf", math.inf),
        ("-.Inf", -math.inf),
        ("1e", "1e"),
        ("!!timestamp 2026-01-01", "2026-01-01"),
    ],
)
def test_a_scalar_of_yaml_has_the_type_of_upstream(text: str, value: object) -> None:
    document: Any = parse_document(f"a: {text}\n")
    assert document == {"a": value}
    assert type(document["a"]) is type(value)


def test_half_a_character_is_replaced_in_json_and_an_error_in_yaml_as_in_go() -> None:
    text = r'{"whole": "\ud83d\ude00", "half": "\uDE00\ud83d-", "none": "\\ud83d"}'
    assert parse_document(text) == {
        "whole": "\N{GRINNING FACE}", "half": "\ufffd\ufffd-", "none": r"\ud83d",
    }  # fmt: skip
    with pytest.raises(ValueError, match="json parse error"):
        parse_document(r'{"none": "\ud8zz"}')
    assert parse_document(r'a: "\U0001f600"') == {"a": "\N{GRINNING FACE}"}
    for text in (r'a: "\ud83d\ude00"', r'"\ud83d": 1'):
        with pytest.raises(ValueError, match="found invalid Unicode character escape code"):
            parse_document(text)


def test_a_number_of_yaml_that_is_whole_is_an_integer_up_to_a_limit() -> None:
    document: Any = parse_document("a: 9e20\nb: 1e21\nc: .nan\n")
    assert document["a"] == 900_000_000_000_000_000_000
    assert type(document["a"]) is int
    assert type(document["b"]) is float
    assert math.isnan(document["c"])


def test_json_keeps_its_numbers() -> None:
    document: Any = parse_document('{"a": 2.0, "b": 1e2, "c": "010"}')
    assert [type(each) for each in document.values()] == [float, float, str]


@pytest.mark.parametrize(
    ("text", "repeated", "is_yaml"),
    [
        ('{"a": 1, "b": 2, "a": 3}', ("a",), False),
        ("a: 1\nb: 2\na: 3\nb: 4\n", ("a", "b"), True),
        ("a: 1\nb: 2\n", (), True),
        ("1: a\n'1': b\n", ("1",), True),
        ("yes: a\n'true': b\n", ("true",), True),
        ("x: &x {a: 1}\nz: {<<: *x, a: 2}\n", (), True),
    ],
)
def test_keys_that_are_there_twice_are_known(
    text: str, repeated: tuple[str, ...], is_yaml: bool
) -> None:
    document = parse_document(text)
    assert isinstance(document, Keys)
    assert (document.repeated, document.is_yaml) == (repeated, is_yaml)


def test_a_key_that_is_no_text_is_read_whole() -> None:
    assert parse_document("? [a, [b]]\n: c\n") == {"['a', ['b']]": "c"}
    assert parse_document("1.5: a\n~: b\n") == {"1.5": "a", "None": "b"}


def test_a_key_that_overrides_one_of_a_merged_mapping_is_there_twice() -> None:
    document: Any = parse_document("x: &x {a: 1, b: 2}\nz: {<<: *x, a: 3}\n")
    assert document["z"] == {"a": 3, "b": 2}
    assert document["z"].repeated == ("a",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: [1\n",
            "line 2, column 1: while parsing a flow sequence, did not find expected ',' or ']'",
        ),
        ("a: *b\n", "line 1, column 4: found undefined alias"),
        ("a: &b [*b]\n", "line 1, column 4: found unconstructable recursive node"),
        ("a: &b {c: *b}\n", "line 1, column 4: found unconstructable recursive node"),
        ("a: !!timestamp soon\n", "line 1, column 4: cannot decode !!str `soon` as a !!timestamp"),
        ('{"a": 1\n "b": 2}', "line 2, column 2: couldn't get version/kind; json parse error: "),
        ("{a: 1}", "line 1, column 2: couldn't get version/kind; json parse error: "),
        ('{"a": NaN}', "NaN is not JSON"),
        (
            "[" * 20_000,
            "line 1, column 1001: while increasing flow level, exceeded maximum nesting",
        ),
        ('{"a":' * 100_000, "nested too deeply"),
        ("a: \x01\n", "unacceptable character #x0001: control characters are not allowed"),
    ],
)
def test_an_invalid_text_is_an_error_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - its text follows
        parse_document(text)
    assert str(raised.value).startswith(message)
    with pytest.raises(InputError) as of_source:
        read_document(text, source="a.yaml")
    assert str(of_source.value).startswith(f"a.yaml: {message}")


def test_a_document_may_be_bytes_and_is_the_first_of_its_text() -> None:
    assert parse_document("a: é\n---\nb: [\n".encode()) == {"a": "é"}
    assert parse_document("") is None
    assert parse_document("- 1\n- 2\n") == [1, 2]


@pytest.mark.parametrize(
    ("text", "has_more"),
    [
        ("a: 1\n", False),
        ("---\na: 1\n", False),
        ("# first\n---\na: 1\n", False),
        ("a: 1\n---\n", False),
        ("a: 1\n---\n# nothing\n", False),
        ("a: 1\n---\nb: 2\n", True),
        ("a: 1\n...\nb: 2\n", True),
        ("a: 1\n--- b\n", True),
        ("a: |\n  ---\n  b\n", False),
        ("a: 1\n---b\n", False),
    ],
)
def test_further_documents_are_noticed(text: str, has_more: bool) -> None:
    assert has_more_documents(text) is has_more
