"""Free parts of objects know the text with which they were sent."""

from __future__ import annotations

from typing import Any

import msgspec

from podwright.apimachinery.objects.raw_object import (
    RawObject,
    patched_raw,
    raw_text,
    with_raw_text,
)

_TEXT = b'{"parts": [{"free": {"b": 1, "a": 2}}, {"free": {"a":1}}, {}], "free": null}'


def _read(*path: str, text: bytes = _TEXT) -> Any:
    return with_raw_text(msgspec.json.decode(text), text, path)


def test_only_another_text_is_kept() -> None:
    found = _read("parts", "*", "free")
    assert found == msgspec.json.decode(_TEXT)
    parts = found["parts"]
    assert isinstance(parts[0]["free"], RawObject)
    assert raw_text(parts[0]["free"]) == b'{"b": 1, "a": 2}'
    assert not isinstance(parts[1]["free"], RawObject), "its text is the usual one"
    assert raw_text(parts[1]["free"]) == b'{"a":1}'
    assert raw_text({"b": 1, "a": 2}) == b'{"a":2,"b":1}'


def test_a_path_that_is_not_there_changes_nothing() -> None:
    for path in (("free",), ("missing",), ("parts", "free"), ("parts", "*", "no", "free")):
        assert not isinstance(_read(*path).get("free"), RawObject)
        assert _read(*path) == msgspec.json.decode(_TEXT)
    assert with_raw_text([1], b"[ 1 ]", ()) == [1]
    assert type(with_raw_text([1], b"[ 1 ]", ())) is list


def test_a_patched_part_is_encoded_again() -> None:
    found = patched_raw(_read("parts", "*", "free"), ("parts", "*", "free"), keeps_order=False)
    assert not isinstance(found["parts"][0]["free"], RawObject)
    assert list(found["parts"][0]["free"]) == ["a", "b"]
    found = patched_raw(_read("parts", "*", "free"), ("parts", "*", "free"), keeps_order=True)
    assert raw_text(found["parts"][0]["free"]) == b'{"b":1,"a":2}'
    assert found == msgspec.json.decode(_TEXT)
    plain = patched_raw({"free": {"b": 1, "a": 2}}, ("free",), keeps_order=True)
    assert list(plain["free"]) == ["a", "b"]
    assert patched_raw({"free": None}, ("free",), keeps_order=True) == {"free": None}
