"""Arithmetic of the shell: 64-bit integers with the operators of C (POSIX XCU 2.6.4)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from podwright.cluster.kubelets.kubelet.shell.syntax import NotSimulatedError

_TOKEN: Final = re.compile(
    r"\s*(?:(0[xX][0-9a-fA-F]+|\d+)|([A-Za-z_]\w*)|(<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&|^!~?:()]))",
    re.ASCII,
)
_LEVELS: Final = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_BITS: Final = 64


def evaluate(text: str, variable: Callable[[str], str]) -> int:
    """Return the value of an expression.

    Parameters
    ----------
    text : str
    variable : callable
        Returns the value of a variable.

    Raises
    ------
    NotSimulatedError
        The expression is not correct, divides by zero, or assigns: shells differ then.
    """
    return _Expression(text, variable).value()


def _quotient(left: int, right: int) -> int:
    if right == 0:
        raise NotSimulatedError("a division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_BINARY: Final[dict[str, Callable[[int, int], int]]] = {
    "||": lambda left, right: int(bool(left or right)),
    "&&": lambda left, right: int(bool(left and right)),
    "|": lambda left, right: left | right,
    "^": lambda left, right: left ^ right,
    "&": lambda left, right: left & right,
    "==": lambda left, right: int(left == right),
    "!=": lambda left, right: int(left != right),
    "<": lambda left, right: int(left < right),
    "<=": lambda left, right: int(left <= right),
    ">": lambda left, right: int(left > right),
    ">=": lambda left, right: int(left >= right),
    "<<": lambda left, right: left << (right % _BITS),
    ">>": lambda left, right: left >> (right % _BITS),
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _quotient,
    "%": lambda left, right: left - right * _quotient(left, right),
}


class _Expression:
    def __init__(self, text: str, variable: Callable[[str], str]) -> None:
        self._text = text
        self._variable = variable
        self._tokens: list[str] = []
        self._at = at = 0
        stripped = text.rstrip()
        while at < len(stripped):
            found = _TOKEN.match(stripped, at)
            if found is None:
                raise self._error()
            self._tokens.append(found[0].strip())
            at = found.end()

    def _error(self) -> NotSimulatedError:
        return NotSimulatedError(f"the arithmetic $(({self._text}))")

    def value(self) -> int:
        found = self._condition()
        if self._at < len(self._tokens):
            raise self._error()
        return found

    def _accept(self, *operators: str) -> str:
        if self._at < len(self._tokens) and self._tokens[self._at] in operators:
            self._at += 1
            return self._tokens[self._at - 1]
        return ""

    def _condition(self) -> int:
        found = self._binary(0)
        if not self._accept("?"):
            return found
        first = self._condition()
        if not self._accept(":"):
            raise self._error()
        second = self._condition()
        return first if found else second

    def _binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._unary()
        found = self._binary(level + 1)
        while operator := self._accept(*_LEVELS[level]):
            found = _wrapped(_BINARY[operator](found, self._binary(level + 1)))
        return found

    def _unary(self) -> int:
        symbol = self._accept("+", "-", "!", "~", "(")
        match symbol:
            case "+":
                return self._unary()
            case "-":
                return _wrapped(-self._unary())
            case "!":
                return int(not self._unary())
            case "~":
                return ~self._unary()
            case "(":
                found = self._condition()
                if not self._accept(")"):
                    raise self._error()
                return found
            case _:
                return self._operand()

    def _operand(self) -> int:
        if self._at >= len(self._tokens):
            raise self._error()
        token = self._tokens[self._at]
        self._at += 1
        if token[0].isalpha() or token[0] == "_":
            token = self._variable(token).strip() or "0"
        return self._number(token)

    def _number(self, text: str) -> int:
        try:
            is_octal = re.fullmatch(r"[-+]?0[0-7]+", text) is not None
            number = int(text, 8) if is_octal else int(text, 0)
        except ValueError:
            raise self._error() from None
        if _wrapped(number) != number:  # where shells differ
            raise self._error()
        return number


def _wrapped(number: int) -> int:
    """Return a number as 64 bits with a sign hold it."""
    half = 1 << (_BITS - 1)
    return (number + half) % (2 * half) - half
