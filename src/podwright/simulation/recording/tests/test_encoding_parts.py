"""Tests of the encoding of large values in parts."""

import msgspec
import pytest

from podwright.simulation.recording.log.log_format import decoder_of, encoded_parts


class _Inner(msgspec.Struct, array_like=True):
    numbers: list[int]
    names: tuple[str, ...]


class _Outer(msgspec.Struct, array_like=True):
    inner: _Inner
    data: bytes
    table: dict[str, int]
    rest: list[_Inner]


class _Tagged(msgspec.Struct, array_like=True, tag="tagged"):
    numbers: list[int]


class _Shortened(msgspec.Struct, array_like=True, omit_defaults=True):
    numbers: list[int]
    last: str = ""


@pytest.mark.parametrize("count", [0, 1, 15, 16, 255, 256, 257, 271, 65_535, 65_536, 70_000])
def test_parts_are_what_encoding_at_once_gives(count: int) -> None:
    inner = _Inner(list(range(count)), tuple(map(str, range(count))))
    value = _Outer(
        inner, b"x" * count, {"a": count}, [_Inner([number], ()) for number in range(count)]
    )
    assert b"".join(encoded_parts(value)) == msgspec.msgpack.encode(value)


@pytest.mark.parametrize(
    "value",
    [
        _Tagged([1] * 1000), _Shortened([1] * 1000), {"a": [1] * 1000}, None, [], (), "text",
        [1] * 256, (1,) * 256,
    ],
)  # fmt: skip
def test_other_values_are_one_part(value: object) -> None:
    assert list(encoded_parts(value)) == [msgspec.msgpack.encode(value)]


def test_a_class_has_one_decoder() -> None:
    assert decoder_of(_Inner) is decoder_of(_Inner)
    assert decoder_of(_Tagged).decode(msgspec.msgpack.encode(_Tagged([1]))) == _Tagged([1])


def test_a_long_list_has_several_parts() -> None:
    parts = list(encoded_parts(_Inner(list(range(10_000)), ())))
    assert len(parts) > 10
    assert max(map(len, parts)) < 1_000
