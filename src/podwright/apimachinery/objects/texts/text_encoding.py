"""Texts in UTF-8, and in UTF-16 with a byte order mark, as the redirection of PowerShell 5 writes.

Upstream: go.yaml.in/yaml/v2 readerc.go, yaml_parser_determine_encoding
"""

from __future__ import annotations

import codecs

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def utf8(data: bytes) -> bytes:
    """Return a text in UTF-8 without a byte order mark.

    Bytes without a mark are returned as they are; whether they are UTF-8 is not examined.

    Raises
    ------
    UnicodeDecodeError
        If the text has the mark of UTF-16 and is something else.
    """
    if data[:2] in _UTF16_MARKS:
        return data.decode("utf-16").encode()
    return data.removeprefix(codecs.BOM_UTF8)


def decoding_message(error: UnicodeDecodeError) -> str:
    r"""Return the end of an error about bytes that are not text.

    Examples
    --------
    >>> try:
    ...     b"caf\xe9".decode()
    ... except UnicodeDecodeError as error:
    ...     decoding_message(error)
    'not UTF-8 text: unexpected end of data at byte 3'
    """
    encoding = "UTF-16" if error.encoding.startswith("utf-16") else "UTF-8"
    return f"not {encoding} text: {error.reason} at byte {error.start}"
