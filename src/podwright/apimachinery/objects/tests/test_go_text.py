import pytest

from podwright.apimachinery.objects import (
    bytes_of_base64,
    go_json_error,
    go_quoted,
    write_go_json,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param({}, "{}", id="an empty object"),
        pytest.param({"b": "1", "a": "2", "B": "3"}, '{"B":"3","a":"2","b":"1"}', id="sorted"),
        pytest.param(
            {"é": "", "z": "", "𐀀": "", "￿": ""}, '{"z":"","é":"","￿":"","𐀀":""}', id="by bytes"
        ),
        pytest.param(
            {"n": {"q": "1", "p": ["b", "a"]}}, '{"n":{"p":["b","a"],"q":"1"}}', id="deep"
        ),
        pytest.param(
            "<a href='x'>&</a>", r'''"\u003ca href='x'\u003e\u0026\u003c/a\u003e"''', id="html"
        ),
        pytest.param("a\u2028b\u2029", r'"a\u2028b\u2029"', id="line separators"),
        pytest.param('say "a\\b"', r'"say \"a\\b\""', id="quotes"),
        pytest.param("\b\f\n\r\t\x00\x1f\x7f", r'"\b\f\n\r\t\u0000\u001f' + '\x7f"', id="controls"),
        pytest.param("no\ud800n", r'"no\ufffdn"', id="half a pair"),
        pytest.param("µ \ufffd 𐀀", '"µ \ufffd 𐀀"', id="what is not escaped"),
        pytest.param([1, -2, True, None], "[1,-2,true,null]", id="plain values"),
    ],
)
def test_values_are_written_as_go_writes_them(value, text):
    assert write_go_json(value) == text


def test_fields_of_structs_keep_their_order():
    assert write_go_json({"b": 1, "a": 2}, sort_keys=False) == '{"b":1,"a":2}'


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        pytest.param("plain é", '"plain é"', id="printable"),
        pytest.param('say "a\\b"', r'"say \"a\\b\""', id="quotes"),
        pytest.param(
            "a\0b\n\x7f\u200b\U000e0001", r'"a\x00b\n\x7f\u200b\U000e0001"', id="controls"
        ),
        pytest.param("<&>", '"<&>"', id="html is not escaped"),
    ],
)
def test_texts_are_quoted_as_go_quotes_them(text, quoted):
    assert go_quoted(text) == quoted


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"a": 1', "unexpected end of JSON input"),
        (b'"a', "unexpected end of JSON input"),
        (b"tru", "unexpected end of JSON input"),
        (b"nul1", "invalid character '1' in literal null (expecting 'l')"),
        (b"fax", "invalid character 'x' in literal false (expecting 'l')"),
        (b"x", "invalid character 'x' looking for beginning of value"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b'{"a": 1 "b"}', "invalid character '\"' after object key:value pair"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b"{1: 2}", "invalid character '1' looking for beginning of object key string"),
        (b"1e999", "json: cannot unmarshal number 1e999 into Go value of type float64"),
        (b"[" * 100_000, "the other one"),
        (b"1", "the other one"),
        (b"1" * 5_000, "the other one"),
    ],
)
def test_what_is_not_json_has_the_message_of_go(body, message):
    assert go_json_error(body, ValueError("the other one")) == message


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", b""), ("aGk=", b"hi"), ("aG\nk\r=", b"hi"), ("\n", b""), ("aA==", b"h"),
        # The last bits are not looked at.
        ("aB==", b"h"), ("YWJj", b"abc"), ("YWJjaA==", b"abch"),
    ],
)  # fmt: skip
def test_base64_is_decoded_as_in_go(text: str, data: bytes) -> None:
    assert bytes_of_base64(text) == data


@pytest.mark.parametrize(
    "text",
    [
        "a", "aG", "aGk", "aA=", "a===", "=", "====", "aGk=aGk=", "aA==aA==", "a Gk=", "aGk-",
        "é", "YWJj=", "YWJj==", "YWJj===", "YWJj====", "YWJja===", "YWJj=aA=",
    ],
)  # fmt: skip
def test_what_go_does_not_decode_is_no_base64(text: str) -> None:
    """Upstream: Go src/encoding/base64/base64.go, decodeQuantum"""
    with pytest.raises(ValueError):  # noqa: PT011 - of several functions
        bytes_of_base64(text)
