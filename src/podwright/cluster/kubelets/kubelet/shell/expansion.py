"""Expansions of words: parameters, substitutions, fields and file names (POSIX XCU 2.6).

Where shells differ, such as in what `set -u` does, nothing is chosen: the script is not simulated.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import Final, TypeAlias

from podwright.cluster.kubelets.kubelet.shell.arithmetic import evaluate
from podwright.cluster.kubelets.kubelet.shell.environment import ShellState, absolute
from podwright.cluster.kubelets.kubelet.shell.syntax import (
    Arithmetic,
    NotSimulatedError,
    Parameter,
    Part,
    Substitution,
    Text,
    Word,
)

# Patterns of the shell: those of `case`, of `${name#pattern}`, and of file names (XCU 2.13).

Piece = tuple[str, bool]
"""A text, and whether it is quoted."""


def has_pattern(pieces: Sequence[Piece]) -> bool:
    """Tell whether a field has a special character that is not quoted."""
    open_text = "".join(text for text, is_quoted in pieces if not is_quoted)
    return "*" in open_text or "?" in open_text or "]" in open_text.partition("[")[2]


def pattern_of(pieces: Sequence[Piece]) -> re.Pattern[str]:
    """Return a pattern as a regular expression.

    Raises
    ------
    NotSimulatedError
        It has a character class, or an unquoted backslash.
    """
    characters = [(each, is_quoted) for text, is_quoted in pieces for each in text]
    found, at = "", 0
    while at < len(characters):
        character, is_quoted = characters[at]
        at += 1
        if is_quoted or character not in "*?[\\":
            found += re.escape(character)
        elif character == "\\":
            raise NotSimulatedError("a backslash in a pattern")
        elif character != "[":
            found += ".*" if character == "*" else "."
        else:
            end = _end_of_set(characters, at)
            found += re.escape("[") if end is None else _set_of(characters[at:end])
            at = at if end is None else end + 1
    return re.compile(found, re.DOTALL)


def _end_of_set(characters: list[Piece], at: int) -> int | None:
    first = at + (characters[at : at + 1] in ([("!", False)], [("^", False)]))
    return next(
        (index for index in range(first + 1, len(characters)) if characters[index] == ("]", False)),
        None,
    )


def _set_of(characters: list[Piece]) -> str:
    is_negated = characters[0] in (("!", False), ("^", False))
    inner = ""
    for character, is_quoted in characters[is_negated:]:
        if character in "[\\" and not is_quoted:
            raise NotSimulatedError("a character class in a pattern")
        is_range = character == "-" and not is_quoted
        inner += "-" if is_range else re.escape(character)
    try:
        re.compile(f"[{inner}]")
    except re.error:
        raise NotSimulatedError("this range in a pattern") from None
    return f"[{'^' if is_negated else ''}{inner}]"


Expansion: TypeAlias = Generator[int | None, None, list["Field"]]
Field: TypeAlias = list[Piece]

_WHITE: Final = " \t\n"
_TRIMMING: Final = ("#", "##", "%", "%%")


def fields(shell: ShellState, words: tuple[Word, ...]) -> Generator[int | None, None, list[str]]:
    """Return the fields of words, with names of files for patterns."""
    found: list[str] = []
    for word in words:
        for field in (yield from _split(shell, word)):
            text = "".join(piece for piece, _ in field)
            found += _file_names(shell, field, text) or [text]
    return found


def text_of(shell: ShellState, word: Word) -> Generator[int | None, None, str]:
    """Return the text of a word that is one field, such as the value of an assignment."""
    pieces = yield from pieces_of(shell, word)
    return "".join(text for text, _ in pieces)


def pieces_of(shell: ShellState, word: Word) -> Generator[int | None, None, list[Piece]]:
    """Return the pieces of a word that is one field; a pattern needs to know what is quoted."""
    pieces: list[Piece] = []
    for part in word:
        if isinstance(part, Text):
            pieces.append((part.text, part.is_quoted))
        else:
            for index, field in enumerate((yield from _expanded(shell, part))):
                pieces += [(" ", True)] if index else []
                pieces += field
    return pieces


class _Fields:
    """The fields of a word, while it is expanded."""

    def __init__(self) -> None:
        self.found: list[Field] = []
        self._current: Field | None = None

    def add(self, piece: Piece) -> None:
        """Add a piece to the current field."""
        self._current = [*(self._current or ()), piece]

    def end(self) -> None:
        """End the current field, if there is one."""
        if self._current is not None:
            self.found.append(self._current)
        self._current = None

    def add_split(self, text: str, separators: str) -> None:
        """Add a text that separators split."""
        texts, opens, closes = _split_text(text, separators)
        if opens:
            self.end()
        for number, each in enumerate(texts):
            if number:
                self.end()
            self.add((each, False))
        if closes:
            self.end()


def _split(shell: ShellState, word: Word) -> Expansion:
    """Return the fields of a word."""
    made = _Fields()
    for part in word:
        if isinstance(part, Text):
            made.add((part.text, part.is_quoted))
            continue
        for index, field in enumerate((yield from _expanded(shell, part))):
            if index:
                made.end()
            for text, is_quoted in field:
                if is_quoted:
                    made.add((text, True))
                else:
                    made.add_split(text, shell.separators)
    made.end()
    return made.found


def _split_text(text: str, separators: str) -> tuple[list[str], bool, bool]:
    """Return the fields of a text, and whether separators are at its start and at its end."""
    if not text:
        return [], False, False
    white = "".join(each for each in separators if each in _WHITE)
    if set(separators) - set(white):
        if any(each in text for each in separators):
            raise NotSimulatedError("field splitting at IFS other than blanks")
        return [text], False, False
    if not white:
        return [text], False, False
    texts = [each for each in re.split(f"[{white}]+", text) if each]
    return texts, text[0] in white, text[-1] in white


def _expanded(shell: ShellState, part: Part) -> Expansion:
    """Return the fields of an expansion before splitting; more than one for `$@` and `$*`."""
    if isinstance(part, Substitution):
        text = yield from shell.substitution(part.body)
        return [[(text, part.is_quoted)]]
    if isinstance(part, Arithmetic):
        text = yield from text_of(shell, part.word)
        return [[(str(evaluate(text, shell.arithmetic_variable)), part.is_quoted)]]
    assert isinstance(part, Parameter), part
    if part.operator:
        return (yield from _operated(shell, part))
    if part.name in "@*":
        if part.name == "*" and part.is_quoted:
            return [[(shell.separators[:1].join(shell.parameters), True)]]
        return [[(each, part.is_quoted)] for each in shell.parameters] or [[]]
    return [[(shell.value(part.name) or "", part.is_quoted)]]


def _operated(shell: ShellState, part: Parameter) -> Expansion:
    """Expand `${name OPERATOR word}`."""
    name, operator = part.name, part.operator
    if name in "@*":
        raise NotSimulatedError(f"${{{name}{operator}}}")
    value = shell.value(name, is_tested=operator not in ("length", *_TRIMMING))
    if operator == "length":
        return [[(str(len(value or "")), part.is_quoted)]]
    if operator in _TRIMMING:
        pattern = yield from pieces_of(shell, part.word)
        return [[(_trimmed(value or "", operator, pattern), part.is_quoted)]]
    is_used = value is not None and (value != "" or not operator.startswith(":"))
    action = operator[-1]
    if (action == "+") == is_used and action == "+":
        return (yield from _alternative(shell, part))
    if action == "+":
        return [[("", True)]] if part.is_quoted else [[]]
    if is_used:
        return [[(value or "", part.is_quoted)]]
    if action == "?":
        raise NotSimulatedError(f"the error of ${{{name}{operator}...}}")
    if action == "=":
        text = yield from text_of(shell, part.word)
        shell.assign(name, text)
        return [[(text, part.is_quoted)]]
    return (yield from _alternative(shell, part))


def _alternative(shell: ShellState, part: Parameter) -> Expansion:
    pieces = yield from pieces_of(shell, part.word)
    if part.is_quoted:
        return [[("".join(text for text, _ in pieces), True)]]
    return [pieces]


def _trimmed(value: str, operator: str, pieces: list[Piece]) -> str:
    """Remove the shortest or longest start or end that matches."""
    pattern = pattern_of(pieces)
    lengths = range(len(value) + 1)
    is_start = "#" in operator
    for length in lengths if len(operator) == 1 else reversed(lengths):
        split = length if is_start else len(value) - length
        head, tail = value[:split], value[split:]
        if pattern.fullmatch(head if is_start else tail):
            return tail if is_start else head
    return value


def _file_names(shell: ShellState, field: Field, text: str) -> list[str]:
    """Return the names of files that match; none if the pattern is only in a directory name."""
    if "f" in shell.options:
        return []
    head, slash, _ = text.rpartition("/")
    offset = len(head) + len(slash)
    last: list[Piece] = []
    for piece, is_quoted in field:
        cut = min(offset, len(piece))
        if has_pattern([(piece[:cut], is_quoted)]):
            raise NotSimulatedError("a pattern in the name of a directory")
        offset -= cut
        last.append((piece[cut:], is_quoted))
    if not has_pattern(last):
        return []
    directory = absolute(head + slash or ".", shell.directory)
    files = shell.facts.files
    shell.context.reads += 1
    if files.kind(directory) != "directory":
        return []
    pattern = pattern_of(last)
    is_hidden = "".join(piece for piece, _ in last).startswith(".")
    return [
        f"{head}{slash}{name}"
        for name in files.names(directory)
        if pattern.fullmatch(name) and (is_hidden or not name.startswith("."))
    ]
