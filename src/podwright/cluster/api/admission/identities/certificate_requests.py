"""The subject of a certificate request (PKCS #10), read from its DER form.

Upstream: pkg/apis/certificates/helpers.go, ParseCSR
"""

from __future__ import annotations

import re
from base64 import b64decode
from typing import Final

import msgspec

from podwright.apimachinery.objects import PodwrightError
from podwright.apimachinery.schema import der

_PEM: Final = re.compile(
    rb"-----BEGIN CERTIFICATE REQUEST-----(.*?)-----END CERTIFICATE REQUEST-----", re.DOTALL
)
_COMMON_NAME: Final = bytes.fromhex("0603550403")
_ORGANIZATION: Final = bytes.fromhex("060355040a")
_ALTERNATIVE_NAMES: Final = bytes.fromhex("0603551d11")
"""Object identifiers in DER."""


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
    has_names = any(_ALTERNATIVE_NAMES in part for _, part in parts[3:])
    return Subject(common[-1] if common else "", organizations, has_names)


def _parts(request: str) -> list[tuple[int, bytes]]:
    """Return the version, the subject, the public key and the attributes of a request."""
    found = _PEM.search(b64decode(request))
    if found is None:
        raise ValueError("PEM block type must be CERTIFICATE REQUEST")
    outer = der.content(next(der.elements(b64decode(found[1]))), der.SEQUENCE)
    parts = list(der.elements(der.content(next(der.elements(outer)), der.SEQUENCE)))
    der.content(parts[0], der.INTEGER)
    return parts


def _names(subject: tuple[int, bytes]) -> list[tuple[bytes, str]]:
    """Return the kind and the value of each part of the subject."""
    names: list[tuple[bytes, str]] = []
    for each in der.elements(der.content(subject, der.SEQUENCE)):
        for attribute in der.elements(der.content(each, der.SET)):
            found = der.content(attribute, der.SEQUENCE)
            length = 2 + found[1]
            _, value = next(der.elements(found[length:]))
            names.append((found[:length], value.decode(errors="replace")))
    return names
