"""Characters to tokens.

Upstream: cel-go parser/gen/CEL.g4, parser/unescape.go
"""

from __future__ import annotations

import re
from typing import NamedTuple

from podwright.apimachinery.cel.errors import Issue

_DIGITS = r"[0-9]+"
_ESCAPE = r"\\(?:[abfnrtv\"'`\\?]|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[xX][0-9a-fA-F]{2}|[0-3][0-7]{2})"
_TEXT = (
    r'(?:[rR]"""[\s\S]*?"""|[rR]\'\'\'[\s\S]*?\'\'\'|[rR]"[^"\r\n]*"|[rR]\'[^\'\r\n]*\''
    rf'|"""(?:{_ESCAPE}|[^\\])*?"""|\'\'\'(?:{_ESCAPE}|[^\\])*?\'\'\''
    rf'|"(?:{_ESCAPE}|[^\\"\r\n])*"|\'(?:{_ESCAPE}|[^\\\'\r\n])*\')'
)
_TOKENS = re.compile(
    rf"""
    (?P<SPACE>[\t \r\n\f]+|//[^\n]*)
  | (?P<BYTES>[bB]{_TEXT})
  | (?P<STRING>{_TEXT})
  | (?P<NUM_FLOAT>{_DIGITS}\.{_DIGITS}(?:[eE][+-]?{_DIGITS})?|{_DIGITS}[eE][+-]?{_DIGITS}
      |\.{_DIGITS}(?:[eE][+-]?{_DIGITS})?)
  | (?P<NUM_UINT>0x[0-9a-fA-F]+[uU]|{_DIGITS}[uU])
  | (?P<NUM_INT>0x[0-9a-fA-F]+|{_DIGITS})
  | (?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/ ]+`)
  | (?P<SYMBOL>==|!=|<=|>=|&&|\|\||[\[\]{{}}()<>.,\-!?:+*/%])
    """,
    re.VERBOSE | re.ASCII,
)
_KEYWORDS = frozenset({"in", "true", "false", "null"})
_SIMPLE_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_ESCAPES = re.compile(_ESCAPE)
_BEGUN_ESCAPE = r"\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?"
_BEGUN = re.compile(
    rf"[=&|]|`[A-Za-z0-9_.\-/ ]*"
    rf'|"(?:{_ESCAPE}|[^\\"\r\n])*(?:{_BEGUN_ESCAPE})?'
    rf"|'(?:{_ESCAPE}|[^\\'\r\n])*(?:{_BEGUN_ESCAPE})?|"
)
"""The begin of a token that does not end."""


class Token(NamedTuple):
    """A token: its kind (a symbol or keyword is its own kind), text and place."""

    kind: str
    text: str
    offset: int


def tokenize(source: str) -> tuple[list[Token], list[Issue]]:
    """Split a source into tokens, the last of kind `<EOF>`; what is no token is a problem."""
    tokens: list[Token] = []
    issues: list[Issue] = []
    position = 0
    while position < len(source):
        match = _TOKENS.match(source, position)
        if match is None:
            end = _end_of_unknown(source, position)
            text = source[position:end]
            issues.append(Issue(position, f"Syntax error: token recognition error at: '{text}'"))
            position = end
            continue
        kind, text = match.lastgroup or "", match.group()
        if kind == "SYMBOL" or text in _KEYWORDS:
            kind = text
        if kind != "SPACE":
            tokens.append(Token(kind, text, position))
        position = match.end()
    tokens.append(Token("<EOF>", "<EOF>", len(source)))
    return tokens, issues


def _end_of_unknown(source: str, start: int) -> int:
    """Return the end of the text that no token begins with.

    What begins as a token reaches up to the character with which no token goes on. Upstream: antlr4
    lexer.go, notifyListeners and Recover.
    """
    match = _BEGUN.match(source, start)
    assert match is not None, "each part may be empty"
    return min(max(match.end(), start) + 1, len(source))


def text_of(literal: str) -> str:
    """Return the text of a string literal."""
    body, is_raw = _body(literal)
    if is_raw or "\\" not in body:
        return body
    return _ESCAPES.sub(lambda match: _character(match.group()), body)


def bytes_of(literal: str) -> bytes:
    """Return the bytes of a bytes literal: octal and hexadecimal escapes are bytes."""
    body, is_raw = _body(literal[1:])
    if is_raw or "\\" not in body:
        return body.encode()
    result, position = bytearray(), 0
    for match in _ESCAPES.finditer(body):
        result += body[position : match.start()].encode()
        escape, position = match.group(), match.end()
        if escape[1] in "xX0123":
            result.append(ord(_character(escape)))
        else:
            result += _character(escape).encode()
    return bytes(result + body[position:].encode())


def _body(literal: str) -> tuple[str, bool]:
    is_raw = literal[0] in "rR"
    literal = literal[is_raw:]
    quotes = 3 if literal[:3] in ('"""', "'''") and len(literal) >= 6 else 1
    return literal[quotes:-quotes].replace("\r\n", "\n").replace("\r", "\n"), is_raw


def _character(escape: str) -> str:
    code = escape[1]
    if code in _SIMPLE_ESCAPES:
        return _SIMPLE_ESCAPES[code]
    digits = escape[2:] if code in "uUxX" else escape[1:]
    return chr(int(digits, 16 if code in "uUxX" else 8))
