"""The parser of Go templates: text and actions become a tree.

Supported are the actions that Stage documents use: output, `$x := `, `$x = `, `if` / `else if` /
`else`, `with`, `range` (with `break`, `continue`, `else`), `define` / `template` / `block`,
comments, and `{{-` / `-}}`. In pipelines: `.`, `.a.b`, `$`, `$x.a`, `( pipeline ).a`, text,
numbers, `true`, `false`, `nil`, and functions, which must be known when the text is parsed.
`templates` executes the tree.

Upstream: Go src/text/template/parse/lex.go and parse.go
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection, Iterator
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import nearest


class TemplateError(ValueError):
    """A template that cannot be parsed or executed.

    Parameters
    ----------
    message : str
        The problem.
    line : int
        The line of the template, from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


# --------------------------------------------------------------------------- pipelines


class Literal(msgspec.Struct, frozen=True):
    """A constant."""

    value: Any


class Variable(msgspec.Struct, frozen=True):
    """`.`, `$` or `$name`."""

    name: str


class Function(msgspec.Struct, frozen=True):
    """A function, by name."""

    name: str


class Field(msgspec.Struct, frozen=True):
    """`operand.a.b`."""

    operand: Operand
    names: tuple[str, ...]


class Pipe(msgspec.Struct, frozen=True):
    """Commands from left to right, each a tuple of operands; the value is assigned to variables.

    Attributes
    ----------
    commands : tuple of tuple of Operand
    targets : tuple of str
        The variables that are assigned.
    is_declared : bool
        Whether the variables are declared (`:=`) or assigned (`=`).
    line : int
    """

    commands: tuple[tuple[Operand, ...], ...]
    targets: tuple[str, ...]
    is_declared: bool
    line: int


Operand: TypeAlias = Literal | Variable | Function | Field | Pipe


# ------------------------------------------------------------------------------- actions


class Text(msgspec.Struct, frozen=True):
    """Literal text."""

    text: str


class Output(msgspec.Struct, frozen=True):
    """`{{ pipeline }}`; prints nothing if the pipeline assigns variables."""

    pipe: Pipe


class If(msgspec.Struct, frozen=True):
    """`{{ if }}`, or `{{ with }}`, which sets the dot to the value."""

    pipe: Pipe
    then: tuple[Action, ...]
    otherwise: tuple[Action, ...]
    is_with: bool


class Range(msgspec.Struct, frozen=True):
    """`{{ range }}`."""

    pipe: Pipe
    body: tuple[Action, ...]
    otherwise: tuple[Action, ...]


class Call(msgspec.Struct, frozen=True):
    """`{{ template "name" pipeline }}`."""

    name: str
    pipe: Pipe | None
    line: int


class Jump(msgspec.Struct, frozen=True):
    """`{{ break }}` or `{{ continue }}`."""

    word: str


Action: TypeAlias = Text | Output | If | Range | Call | Jump


class Tree(msgspec.Struct, frozen=True):
    """A parsed template, with the templates that it defines."""

    actions: tuple[Action, ...]
    defined: dict[str, tuple[Action, ...]]


def parse_template(text: str, functions: Collection[str]) -> Tree:
    """Parse a template.

    Parameters
    ----------
    text : str
    functions : collection of str
        The names of all available functions.

    Raises
    ------
    TemplateError
        The first syntax error, with its line.
    """
    return _Parser(text, functions).tree()


# ------------------------------------------------------------------------------- scanning


class _Token(msgspec.Struct, frozen=True):
    kind: str
    text: str
    is_glued: bool
    """Whether no space precedes it: `.a.b` is one operand, `.a .b` are two."""


class _Piece(msgspec.Struct, frozen=True):
    """Text, or the tokens of one action."""

    line: int = 0
    text: str = ""
    tokens: tuple[_Token, ...] | None = None


_TOKEN = re.compile(
    r"""
    (?P<text>"(?:[^"\\\n]|\\.)*"|`[^`]*`)
    | (?P<number>[-+]?(?:0[xX]\w+|\.?\d[\w.]*?(?:[eE][-+]\w+)?(?![\w.]))|'(?:[^'\\\n]|\\[^\n]+?)')
    | (?P<variable>\$\w*)
    | (?P<field>\.[A-Za-z_]\w*)
    | (?P<dot>\.)
    | (?P<word>[A-Za-z_]\w*)
    | (?P<mark>:=|[=|(),])
    """,
    re.VERBOSE,
)
_END = re.compile(r"(\s+-)?\}\}")
_COMMENT = re.compile(r"\{\{(?:-\s+)?/\*.*?\*/(\s+-)?\}\}", re.DOTALL)
_SPACE = re.compile(r"\s*")


def _pieces(text: str) -> Iterator[_Piece]:
    at, is_trimmed = 0, False
    while True:
        start = text.find("{{", at)
        before = text[at:] if start < 0 else text[at:start]
        if is_trimmed:
            before = before.lstrip()
        if start >= 0 and text.startswith("{{-", start) and text[start + 3 : start + 4].isspace():
            before = before.rstrip()
        if before:
            yield _Piece(text=before)
        if start < 0:
            return
        line = text.count("\n", 0, start) + 1
        if comment := _COMMENT.match(text, start):
            at, is_trimmed = comment.end(), comment[1] is not None
            continue
        tokens, at, is_trimmed = _action(text, start, line)
        yield _Piece(line, tokens=tokens)


def _action(text: str, start: int, line: int) -> tuple[tuple[_Token, ...], int, bool]:
    """Return the tokens of the action that starts at `start`, its end, and whether it trims."""
    at = start + 2
    if text.startswith("-", at) and text[at + 1 : at + 2].isspace():
        at += 1
    tokens: list[_Token] = []
    while True:
        if end := _END.match(text, at):
            return tuple(tokens), end.end(), end[1] is not None
        space = _SPACE.match(text, at)
        assert space is not None, "a pattern that matches nothing matches"
        if end := _END.match(text, space.end()):
            return tuple(tokens), end.end(), end[1] is not None
        if space.end() == len(text):
            raise TemplateError('unclosed action: "}}" is missing', line)
        match = _TOKEN.match(text, space.end())
        if match is None or match.lastgroup is None:
            found = text[space.end() : space.end() + 10].partition("\n")[0]
            raise TemplateError(f'unexpected "{found}" in an action', line)
        tokens.append(_Token(match.lastgroup, match[0], space.end() == at))
        at = match.end()


# -------------------------------------------------------------------------------- parsing

_ENDERS = {"end", "else"}


class _Parser:
    """Builds the tree from pieces, and checks that variables and functions exist."""

    def __init__(self, text: str, functions: Collection[str]) -> None:
        self._pieces = list(_pieces(text))
        self._at = 0
        self._functions = functions
        self._defined: dict[str, tuple[Action, ...]] = {}
        self._called: list[tuple[str, int]] = []
        self._variables: list[str] = ["$"]
        self._range_depth = 0

    def tree(self) -> Tree:
        actions, ender = self._block()
        if ender is not None:
            raise TemplateError(f"unexpected {{{{ {ender.word} }}}}", ender.line)
        for name, line in self._called:
            if name not in self._defined:
                raise TemplateError(f'template "{name}" not defined', line)
        return Tree(actions, self._defined)

    def _block(self) -> tuple[tuple[Action, ...], _Tokens | None]:
        """Parse up to `end`, `else` or the end of the text; the block scopes its variables."""
        actions: list[Action] = []
        known = len(self._variables)
        while self._at < len(self._pieces):
            piece = self._pieces[self._at]
            self._at += 1
            if piece.tokens is None:
                actions.append(Text(piece.text))
                continue
            tokens = _Tokens(piece.tokens, piece.line)
            if tokens.word in _ENDERS:
                del self._variables[known:]
                return tuple(actions), tokens
            action = self._one(tokens)
            if action is not None:
                actions.append(action)
        del self._variables[known:]
        return tuple(actions), None

    def _one(self, tokens: _Tokens) -> Action | None:
        match tokens.word:
            case "if" | "with":
                return self._if(tokens, is_with=tokens.word == "with")
            case "range":
                return self._range(tokens)
            case "define" | "block":
                return self._define(tokens)
            case "template":
                return self._call(tokens)
            case ("break" | "continue") as word if len(tokens) == 1:
                if not self._range_depth:
                    raise TemplateError(f"{{{{ {word} }}}} outside of range", tokens.line)
                return Jump(word)
            case _:
                return Output(self._whole_pipe(tokens))

    def _if(self, tokens: _Tokens, *, is_with: bool) -> If:
        tokens.skip()
        known = len(self._variables)
        pipe = self._whole_pipe(tokens)
        then, ender = self._block()
        otherwise = self._otherwise(ender, tokens, word="with" if is_with else "if")
        del self._variables[known:]
        return If(pipe, then, otherwise, is_with)

    def _otherwise(
        self, ender: _Tokens | None, opened: _Tokens, *, word: str
    ) -> tuple[Action, ...]:
        """Parse the `else` branch, which may have a condition with a word, and the `end`."""
        ender = self._ended(ender, opened)
        if ender.word == "end":
            return ()
        ender.skip()
        if word and ender.word == word:
            return (self._if(ender, is_with=word == "with"),)
        ender.expect_end()
        actions, last = self._block()
        if self._ended(last, opened).word != "end":
            raise TemplateError("a second {{ else }}", opened.line)
        return actions

    def _ended(self, ender: _Tokens | None, opened: _Tokens) -> _Tokens:
        if ender is None:
            raise TemplateError("{{ end }} is missing", opened.line)
        return ender

    def _range(self, tokens: _Tokens) -> Range:
        tokens.skip()
        known = len(self._variables)
        pipe = self._whole_pipe(tokens, targets_max=2)
        self._range_depth += 1
        body, ender = self._block()
        self._range_depth -= 1
        otherwise = self._otherwise(ender, tokens, word="")
        del self._variables[known:]
        return Range(pipe, body, otherwise)

    def _define(self, tokens: _Tokens) -> Action | None:
        word = tokens.word
        tokens.skip()
        name = self._name(tokens)
        pipe = self._whole_pipe(tokens) if word == "block" else None
        tokens.expect_end()
        outer, self._variables = self._variables, ["$"]
        depth, self._range_depth = self._range_depth, 0
        body, ender = self._block()
        self._variables, self._range_depth = outer, depth
        if self._ended(ender, tokens).word != "end":
            raise TemplateError("{{ else }} in a definition", tokens.line)
        if body and self._defined.get(name):
            raise TemplateError(f'a second definition of the template "{name}"', tokens.line)
        self._defined[name] = body or self._defined.get(name, ())
        return Call(name, pipe, tokens.line) if word == "block" else None

    def _call(self, tokens: _Tokens) -> Call:
        tokens.skip()
        name = self._name(tokens)
        self._called.append((name, tokens.line))
        pipe = self._whole_pipe(tokens) if tokens else None
        return Call(name, pipe, tokens.line)

    def _name(self, tokens: _Tokens) -> str:
        token = tokens.take("text")
        if token is None:
            raise TemplateError("must be a name in quotes", tokens.line)
        return _text_of(token.text, tokens.line)

    # ---------------------------------------------------------------------- pipelines

    def _whole_pipe(self, tokens: _Tokens, *, targets_max: int = 1) -> Pipe:
        pipe = self._pipe(tokens)
        if len(pipe.targets) > targets_max:
            raise TemplateError("only a range declares two variables", tokens.line)
        tokens.expect_end()
        return pipe

    def _pipe(self, tokens: _Tokens) -> Pipe:
        targets, is_declared = self._targets(tokens)
        commands = [self._command(tokens)]
        while tokens.take("mark", "|"):
            commands.append(self._command(tokens))
        if is_declared:
            self._variables += targets
        return Pipe(tuple(commands), tuple(targets), is_declared, tokens.line)

    def _targets(self, tokens: _Tokens) -> tuple[list[str], bool]:
        """Parse `$x :=`, `$x =` or `$i, $x :=` if the tokens start with one of them."""
        kinds = [token.text if token.kind == "mark" else token.kind for token in tokens.rest(4)]
        for count, shape in ((1, ["variable"]), (2, ["variable", ",", "variable"])):
            sign = kinds[len(shape)] if len(kinds) > len(shape) else ""
            if kinds[: len(shape)] != shape or sign not in {":=", "="}:
                continue
            names = [token.text for token in tokens.rest(len(shape)) if token.kind == "variable"]
            tokens.skip(len(shape) + 1)
            assert len(names) == count
            if sign == "=":
                for name in names:
                    self._require_variable(name, tokens.line)
            return names, sign == ":="
        return [], False

    def _command(self, tokens: _Tokens) -> tuple[Operand, ...]:
        operands: list[Operand] = []
        while (operand := self._operand(tokens)) is not None:
            operands.append(operand)
        if not operands:
            raise TemplateError("a value is missing", tokens.line)
        return tuple(operands)

    def _operand(self, tokens: _Tokens) -> Operand | None:
        """Parse an operand with its fields; None if no operand starts here."""
        token = tokens.take()
        if token is None:
            return None
        operand = self._simple(token, tokens)
        if operand is None:
            tokens.untake()
            return None
        names = []
        while field := tokens.take("field", is_glued=True):
            names.append(field.text[1:])
        if not names:
            return operand
        if isinstance(operand, Field):
            return Field(operand.operand, (*operand.names, *names))
        if isinstance(operand, Literal | Function):
            raise TemplateError(f'unexpected ".{names[0]}" after {token.text}', tokens.line)
        return Field(operand, tuple(names))

    def _simple(self, token: _Token, tokens: _Tokens) -> Operand | None:
        match token.kind:
            case "text":
                return Literal(_text_of(token.text, tokens.line))
            case "number":
                return Literal(_number_of(token.text, tokens.line))
            case "dot":
                return Variable(".")
            case "variable":
                self._require_variable(token.text, tokens.line)
                return Variable(token.text)
            case "field":
                return Field(Variable("."), (token.text[1:],))
            case "word":
                return self._word(token.text, tokens.line)
            case _ if token.text == "(":
                pipe = self._pipe(tokens)
                if not tokens.take("mark", ")"):
                    raise TemplateError('")" is missing', tokens.line)
                return pipe
            case _:
                return None

    def _word(self, word: str, line: int) -> Operand:
        constants = {"true": True, "false": False, "nil": None}
        if word in constants:
            return Literal(constants[word])
        if word not in self._functions:
            near = nearest(word, self._functions)
            hint = f'; did you mean "{near}"?' if near else ""
            raise TemplateError(f'function "{word}" not defined{hint}', line)
        return Function(word)

    def _require_variable(self, name: str, line: int) -> None:
        if name not in self._variables:
            raise TemplateError(f'undefined variable "{name}"', line)


class _Tokens:
    """The tokens of one action, consumed from the left."""

    def __init__(self, tokens: tuple[_Token, ...], line: int) -> None:
        self._tokens = tokens
        self._at = 0
        self.line = line

    def __len__(self) -> int:
        return len(self._tokens) - self._at

    @property
    def word(self) -> str:
        return self._tokens[self._at].text if self else ""

    def rest(self, count: int) -> tuple[_Token, ...]:
        return self._tokens[self._at : self._at + count]

    def skip(self, count: int = 1) -> None:
        self._at += count

    def untake(self) -> None:
        self._at -= 1

    def take(
        self, kind: str | None = None, text: str | None = None, *, is_glued: bool = False
    ) -> _Token | None:
        for token in self.rest(1):
            is_needed = kind in {None, token.kind} and text in {None, token.text}
            if is_needed and (token.is_glued or not is_glued):
                self._at += 1
                return token
        return None

    def expect_end(self) -> None:
        for token in self.rest(1):
            raise TemplateError(f'unexpected "{token.text}"', self.line)


_ESCAPED: Final = r"[abfnrtv\\]|[0-3][0-7]{2}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}"


def _unquoted(quoted: str) -> str:
    """Return the text in quotes; what Go escapes means the same in Python, which escapes more."""
    quote = quoted[0]
    if not re.fullmatch(rf"{quote}(?:[^\\]|\\(?:{quote}|{_ESCAPED}))*{quote}", quoted):
        raise ValueError(f"unknown escape in {quoted}")
    value: str = ast.literal_eval(quoted)
    return value


def _text_of(quoted: str, line: int) -> str:
    if quoted.startswith("`"):
        return quoted[1:-1]
    try:
        return _unquoted(quoted)
    except (SyntaxError, ValueError):
        raise TemplateError(f"invalid string {quoted}", line) from None


def _number_of(text: str, line: int) -> int | float:
    """Return a number in Go's notation; a character is the number of its code point."""
    try:
        if text.startswith("'"):
            return ord(_unquoted(text))
        if re.fullmatch(r"[-+]?0[0-7_]+", text):
            return int(text, 8)
        is_float = not set(".eE").isdisjoint(text) and "x" not in text.lower()
        number = float(text) if is_float else int(text, 0)
        if math.isfinite(number):
            return number
    except (SyntaxError, TypeError, ValueError):
        pass
    raise TemplateError(f"invalid number {text}", line)
