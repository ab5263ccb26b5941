"""The wire format of protobuf: numbers of variable length, tags, lengths, skipped fields.

The checks and messages are those of the code that gogo/protobuf generates, which differ from those
of protobuf's own libraries: a tag that is cut off is `unexpected EOF`.

Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/generated.pb.go
"""

from __future__ import annotations

from typing import Final

VARINT: Final = 0
FIXED64: Final = 1
LENGTH: Final = 2
START_GROUP: Final = 3
END_GROUP: Final = 4
FIXED32: Final = 5

_VARINT_BITS: Final = 64
_MASK: Final = 2**64 - 1
_SIGN: Final = 2**63
_LENGTH_ERROR: Final = "proto: negative length found during unmarshaling"


class WireError(ValueError):
    """Bytes that are not the message; the text is upstream's."""


def cut_off() -> WireError:
    """Return the error of a message that ends too early."""
    return WireError("unexpected EOF")


def varint(data: bytes, index: int, end: int) -> tuple[int, int]:
    """Return a number of variable length, and the index after it.

    Returns
    -------
    number : int
        Unsigned, 64 bits.
    index : int

    Raises
    ------
    WireError
        The number is cut off or too long.
    """
    number = shift = 0
    while True:
        if shift >= _VARINT_BITS:
            raise WireError("proto: integer overflow")
        if index >= end:
            raise cut_off()
        byte = data[index]
        index += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & _MASK, index
        shift += 7


def signed(number: int, bits: int) -> int:
    """Return the low bits of a number as a signed one.

    Examples
    --------
    >>> signed(2**64 - 1, 32)
    -1
    """
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def tag(data: bytes, index: int, end: int, message: str) -> tuple[int, int, int]:
    """Return the number of the next field, its wire type, and the index after the tag.

    Parameters
    ----------
    message : str
        The name of the message, for errors.

    Raises
    ------
    WireError
        The tag is cut off or invalid.
    """
    wire, index = varint(data, index, end)
    number, wire_type = signed(wire >> 3, 32), wire & 7
    if wire_type == END_GROUP:
        raise WireError(f"proto: {message}: wiretype end group for non-group")
    if number <= 0:
        raise WireError(f"proto: {message}: illegal tag {number} (wire type {wire})")
    return number, wire_type, index


def length_delimited(data: bytes, index: int, end: int) -> tuple[int, int]:
    """Return where the content of a field with a length starts and stops.

    Raises
    ------
    WireError
        The length is invalid, or larger than the rest.
    """
    length, start = varint(data, index, end)
    if start + length >= _SIGN:
        raise WireError(_LENGTH_ERROR)
    if start + length > end:
        raise cut_off()
    return start, start + length


def skip(data: bytes, index: int, end: int, wire_type: int) -> int:
    """Return the index after a field that the reader does not know.

    Parameters
    ----------
    index : int
        Where the value starts, after the tag.

    Raises
    ------
    WireError
        The field is cut off or invalid.
    """
    depth = 0
    while True:
        if wire_type == VARINT:
            _, index = varint(data, index, end)
        elif wire_type == FIXED64:
            index += 8
        elif wire_type == LENGTH:
            _, index = length_delimited(data, index, end)
        elif wire_type == START_GROUP:
            depth += 1
        elif wire_type == END_GROUP:
            if not depth:
                raise WireError("proto: unexpected end of group")
            depth -= 1
        elif wire_type == FIXED32:
            index += 4
        else:
            raise WireError(f"proto: illegal wireType {wire_type}")
        if index > end:
            raise cut_off()
        if not depth:
            return index
        wire, index = varint(data, index, end)
        wire_type = wire & 7
