"""The syntax tree of a shell script; the parser makes it, the interpreter reads it.

The names are those of the grammar of POSIX (XCU 2.10).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec


class NotSimulatedError(Exception):
    """The script contains, or meets, something that is not simulated; the text says what."""


class Text(msgspec.Struct, frozen=True):
    """Text; `is_quoted` text is neither split nor a pattern."""

    text: str
    is_quoted: bool


class Parameter(msgspec.Struct, frozen=True):
    """`$name`, or `${name OPERATOR word}`; the operator `#` alone is the length."""

    name: str
    operator: str
    word: Word
    is_quoted: bool


class Substitution(msgspec.Struct, frozen=True):
    """`$(list)`."""

    body: List
    is_quoted: bool


class Arithmetic(msgspec.Struct, frozen=True):
    """`$((word))`."""

    word: Word
    is_quoted: bool


Part: TypeAlias = Text | Parameter | Substitution | Arithmetic
Word: TypeAlias = tuple[Part, ...]


class Redirection(msgspec.Struct):
    """`descriptor OPERATOR target`; the target of `<<` is the text, which the parser adds later."""

    descriptor: int
    operator: Literal["<", ">", ">>", ">&", "<<"]
    target: Word


class Simple(msgspec.Struct, frozen=True):
    """A simple command: assignments, words and redirections."""

    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...]


class Group(msgspec.Struct, frozen=True):
    """`{ list; }`, or `( list )`, which is a subshell."""

    body: List
    is_subshell: bool


class If(msgspec.Struct, frozen=True):
    """The branches are pairs of a condition and a body; that of `else` has no condition."""

    branches: tuple[tuple[List | None, List], ...]


class Loop(msgspec.Struct, frozen=True):
    """`while`, or `until`."""

    condition: List
    body: List
    is_until: bool


class For(msgspec.Struct, frozen=True):
    """`for name in words`; without words it is the positional parameters."""

    name: str
    words: tuple[Word, ...] | None
    body: List


class Case(msgspec.Struct, frozen=True):
    """`case word in ... esac`."""

    word: Word
    items: tuple[tuple[tuple[Word, ...], List], ...]


class Function(msgspec.Struct, frozen=True):
    """The definition of a function."""

    name: str
    body: Redirected


class Redirected(msgspec.Struct, frozen=True):
    """A compound command with redirections."""

    command: Compound
    redirections: tuple[Redirection, ...]


Compound: TypeAlias = Group | If | Loop | For | Case
Command: TypeAlias = Simple | Redirected | Function


class Pipeline(msgspec.Struct, frozen=True):
    """Commands, the output of each being the input of the next."""

    commands: tuple[Command, ...]
    is_negated: bool


class AndOr(msgspec.Struct, frozen=True):
    """Pipelines; the operators stand between them."""

    pipelines: tuple[Pipeline, ...]
    operators: tuple[Literal["&&", "||"], ...]


List: TypeAlias = tuple[AndOr, ...]
