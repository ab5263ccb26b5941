"""Which bodies of apply requests are read as JSON."""

from __future__ import annotations

import pytest

from podwright.cluster.api.endpoints.decoding.yaml_bodies import json_object_in_yaml


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"a":{"b":[1,-2,"yes",null]}}\n', {"a": {"b": [1, -2, "yes", None]}}),
        (b'{\n  "a": "1e3"\n}', {"a": "1e3"}),
        (b"{}", {}),
    ],
)
def test_objects_that_both_read_alike(body: bytes, expected: object) -> None:
    assert json_object_in_yaml(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"a: 1",
        b"[1]",
        b'{"a":1',
        b'{"a":1}\n---\n{"b":1}',
        b'{"a":1,"a":2}',
        b'{"a":{"b":1,"b":1}}',
        b'{"<<":{"a":1}}',
        b'{"a":1e3}',
        b'{"a":1.0}',
        b'{"a":"\\u0041"}',
        b'{"a":"\xc3\xa9"}',
        b'{"a":"\x7f"}',
        b'{"a"\n:1}',
        b'{"a":\t1}',
        b'{"a":\r1}',
        b'{"' + b"a" * 1_100 + b'":1}',
        b'{"a":' + b"1" * 1_100 + b"}",
        b'{"a":' + b"[" * 200 + b"]" * 200 + b"}",
        b'{"a":' + b"\n" * 200 + b"1}",
        b'{"a":"' + b" " * 100_000 + b'"}',
    ],
)
def test_others_are_left_to_the_reader_of_yaml(body: bytes) -> None:
    assert json_object_in_yaml(body) is None
