"""The subject of a certificate request (PKCS #10), read from its DER form.

Upstream: pkg/apis/certificates/helpers.go, ParseCSR
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Final

import msgspec

from podwright.apimachinery.objects import PodwrightError

_PEM: Final = re.compile(
    rb"-----BEGIN CERTIFICATE REQUEST-----(.*?)-----END CERTIFICATE REQUEST-----", re.DOTALL
)
_COMMON_NAME: Final = bytes.fromhex("0603550403")
_ORGANIZATION: Final = bytes.fromhex("060355040a")
_ALTERNATIVE_NAMES: Final = bytes.fromhex("0603551d11")
"""Object identifiers in DER."""
_SEQUENCE: Final = 0x30
_SET: Final = 0x31
_INTEGER: Final = 0x02


class UnreadableRequest(PodwrightError):  # noqa: N818 - named for what it is
    """A text that is not a certificate request."""


class Subject(msgspec.Struct, frozen=True):
    """The names in the subject of a request.

    Attributes
    ----------
    common_name : str
    organizations : tuple of str
        The groups of the user.
    has_alternative_names : bool
        Whether the request has the extension subjectAltName.
    """

    common_name: str
    organizations: tuple[str, ...]
    has_alternative_names: bool = False


def certificate_subject(request: str) -> Subject:
    """Return the subject of a request.

    Parameters
    ----------
    request : str
        The request as PEM, in base64.

    Raises
    ------
    UnreadableRequest
        The text is not a request.
    """
    try:
        parts = _parts(request)
        names = list(_names(parts[1]))
    except (ValueError, IndexError, StopIteration) as error:
        raise UnreadableRequest(str(error) or "asn1: syntax error: data truncated") from None
    common = [value for kind, value in names if kind == _COMMON_NAME]
    organizations = tuple(value for kind, value in names if kind == _ORGANIZATION)
    has_names = any(_ALTERNATIVE_NAMES in content for _, content in parts[3:])
    return Subject(common[-1] if common else "", organizations, has_names)


def _parts(request: str) -> list[tuple[int, bytes]]:
    """Return the version, the subject, the public key and the attributes of a request."""
    found = _PEM.search(b64decode(request))
    if found is None:
        raise ValueError("PEM block type must be CERTIFICATE REQUEST")
    outer = _content(next(_elements(b64decode(found[1]))), _SEQUENCE)
    parts = list(_elements(_content(next(_elements(outer)), _SEQUENCE)))
    _content(parts[0], _INTEGER)
    return parts


def _names(subject: tuple[int, bytes]) -> list[tuple[bytes, str]]:
    """Return the kind and the value of each part of the subject."""
    names: list[tuple[bytes, str]] = []
    for each in _elements(_content(subject, _SEQUENCE)):
        for attribute in _elements(_content(each, _SET)):
            content = _content(attribute, _SEQUENCE)
            length = 2 + content[1]
            _, value = next(_elements(content[length:]))
            names.append((content[:length], value.decode(errors="replace")))
    return names


def _content(element: tuple[int, bytes], tag: int) -> bytes:
    if element[0] != tag:
        raise ValueError("asn1: structure error: tags don't match")
    return element[1]


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the tag and the content of each element of DER data."""
    start = 0
    while start < len(data):
        tag, length = data[start], data[start + 1]
        start += 2
        if length & 0x80:
            count = length & 0x7F
            length = int.from_bytes(data[start : start + count], "big")
            start += count
        if start + length > len(data):
            raise ValueError("asn1: syntax error: data truncated")
        yield tag, data[start : start + length]
        start += length
