"""DER data: its elements, and the parts of certificates, requests and keys that are read.

Signatures are not verified.

Upstream: Go crypto/x509 and encoding/pem
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, TypeAlias

import msgspec

Element: TypeAlias = tuple[int, bytes]
"""The tag and the content."""

SEQUENCE: Final = 0x30
SET: Final = 0x31
INTEGER: Final = 0x02
_BOOLEAN: Final = 0x01
_BITS: Final = 0x03
_OCTETS: Final = 0x04
_IDENTIFIER: Final = 0x06
_UTC_TIME: Final = 0x17
_VERSION: Final = 0xA0
_EXTENSIONS: Final = 0xA3
_BASIC_CONSTRAINTS: Final = bytes.fromhex("551d13")
_RSA: Final = bytes.fromhex("2a864886f70d010101")
_ECDSA: Final = bytes.fromhex("2a8648ce3d0201")
_ED25519: Final = bytes.fromhex("2b6570")
_OTHERS: Final = {bytes.fromhex("2a8648ce380401"): "DSA", bytes.fromhex("2b656e"): "X25519"}
_CURVES: Final = {
    bytes.fromhex("2b81040021"): "P-224",
    bytes.fromhex("2a8648ce3d030107"): "P-256",
    bytes.fromhex("2b81040022"): "P-384",
    bytes.fromhex("2b81040023"): "P-521",
}
_PEM: Final = re.compile(
    r"^-----BEGIN ([^\n]*?)-----[ \t\r]*\n(.*?)^-----END \1-----[ \t\r]*$",
    re.DOTALL | re.MULTILINE,
)


class PemBlock(msgspec.Struct, frozen=True):
    """A block of PEM text.

    Attributes
    ----------
    kind : str
        For example `CERTIFICATE`.
    has_headers : bool
    data : bytes
    """

    kind: str
    has_headers: bool
    data: bytes


class Certificate(msgspec.Struct, frozen=True):
    """What validation reads of a certificate.

    Attributes
    ----------
    not_before, not_after : datetime
    public_key : bytes
        The SubjectPublicKeyInfo.
    is_authority : bool
        Whether it has the CA bit.
    """

    not_before: datetime
    not_after: datetime
    public_key: bytes
    is_authority: bool


class PublicKey(msgspec.Struct, frozen=True):
    """The algorithm of a public key.

    Attributes
    ----------
    algorithm : str
        "Ed25519", "ECDSA", "RSA", "DSA", "X25519", or "" for one that Go does not know.
    curve : str
        Of ECDSA.
    modulus_bits : int
        Of RSA, in whole bytes.
    """

    algorithm: str
    curve: str = ""
    modulus_bits: int = 0


def elements(data: bytes) -> Iterator[Element]:
    """Yield the tag and the content of each element.

    Raises
    ------
    ValueError
        The data ends within an element.
    """
    start = 0
    while start < len(data):
        try:
            tag, length = data[start], data[start + 1]
        except IndexError:
            raise ValueError("asn1: syntax error: data truncated") from None
        start += 2
        if length & 0x80:
            count = length & 0x7F
            length = int.from_bytes(data[start : start + count], "big")
            start += count
        if start + length > len(data):
            raise ValueError("asn1: syntax error: data truncated")
        yield tag, data[start : start + length]
        start += length


def content(element: Element, tag: int) -> bytes:
    """Return the content of an element with a tag.

    Raises
    ------
    ValueError
        It has another tag.
    """
    if element[0] != tag:
        raise ValueError("asn1: structure error: tags don't match")
    return element[1]


def parts(data: bytes, tag: int = SEQUENCE) -> list[Element]:
    """Return the elements of data that is one element.

    Raises
    ------
    ValueError
    """
    found = list(elements(data))
    if len(found) != 1:
        raise ValueError("x509: trailing data" if found else "asn1: syntax error: data truncated")
    return list(elements(content(found[0], tag)))


def pem_blocks(text: str) -> Iterator[PemBlock]:
    """Yield the blocks of a text; what is between them, and what is not a block, is skipped."""
    for found in _PEM.finditer(text):
        headers, blank, body = found[2].partition("\n\n")
        has_headers = bool(blank) and ":" in headers
        try:
            data = b64decode("".join((body if has_headers else found[2]).split()), validate=True)
        except ValueError:
            continue
        yield PemBlock(found[1], has_headers, data)


def read_certificate(data: bytes) -> Certificate:
    """Return a certificate.

    Raises
    ------
    ValueError
        The data is not one.
    """
    whole = parts(data)
    signed, algorithm, signature = whole
    content(algorithm, SEQUENCE)
    content(signature, _BITS)
    fields = list(elements(content(signed, SEQUENCE)))
    if fields[0][0] == _VERSION:
        del fields[0]
    serial, _, _, validity, subject, key, *rest = fields
    content(serial, INTEGER)
    content(subject, SEQUENCE)
    begin, end = (_time(each) for each in elements(content(validity, SEQUENCE)))
    public_key = content(key, SEQUENCE)
    extensions = [value for tag, value in rest if tag == _EXTENSIONS]
    return Certificate(begin, end, public_key, any(map(_has_authority_bit, extensions)))


def _time(element: Element) -> datetime:
    form = "%y%m%d%H%M%SZ" if element[0] == _UTC_TIME else "%Y%m%d%H%M%SZ"
    return datetime.strptime(element[1].decode(), form).replace(tzinfo=UTC)


def _has_authority_bit(extensions: bytes) -> bool:
    for each in parts(extensions):
        identifier, *_, value = elements(content(each, SEQUENCE))
        if identifier == (_IDENTIFIER, _BASIC_CONSTRAINTS):
            constraints = parts(content(value, _OCTETS))
            return (
                bool(constraints) and constraints[0][0] == _BOOLEAN and constraints[0][1] != b"\0"
            )
    return False


def request_key(data: bytes) -> bytes:
    """Return the public key of a certificate request (PKCS #10): its SubjectPublicKeyInfo.

    Raises
    ------
    ValueError
        The data is not a request.
    """
    signed, algorithm, signature = parts(data)
    content(algorithm, SEQUENCE)
    content(signature, _BITS)
    version, subject, key, *_ = elements(content(signed, SEQUENCE))
    content(version, INTEGER)
    content(subject, SEQUENCE)
    return content(key, SEQUENCE)


def read_public_key(info: bytes) -> PublicKey:
    """Return the algorithm of a SubjectPublicKeyInfo.

    Raises
    ------
    ValueError
        The data is not one.
    """
    algorithm, bits = elements(info)
    identifier, *parameters = elements(content(algorithm, SEQUENCE))
    key = content(bits, _BITS)[1:]
    match content(identifier, _IDENTIFIER):
        case found if found == _RSA:
            modulus, _ = parts(key)
            number = int.from_bytes(content(modulus, INTEGER), "big")
            return PublicKey("RSA", modulus_bits=(number.bit_length() + 7) // 8 * 8)
        case found if found == _ECDSA:
            curve = _CURVES.get(content(parameters[0], _IDENTIFIER))
            if curve is None:
                raise ValueError("x509: unsupported elliptic curve")
            return PublicKey("ECDSA", curve=curve)
        case found if found == _ED25519:
            return PublicKey("Ed25519")
        case found:
            return PublicKey(_OTHERS.get(found, ""))
