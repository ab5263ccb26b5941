"""Go templates, executed: a tree and a document become text, and the text a value.

The semantics are Go's, over plain data: a missing field is nil, and so is a field of nil; nil,
false, 0 and empty values are false; a map is iterated in the order of its keys. Two deviations are
more lenient: values of different types are unequal instead of an error, and a number of the
document, which is a text in KWOK, is also compared and iterated as a number.

The functions are Go's, Sprig's that depend on their arguments only (`FUNCTIONS`), and those of
the caller: KWOK's `Now`, `NodeIP` and so on, in `stage`.

Upstream: Go src/text/template/exec.go and funcs.go; KWOK pkg/utils/gotpl/renderer.go
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping
from itertools import pairwise, zip_longest
from typing import Any, TypeAlias

from podwright.apimachinery.objects import YamlError, read_yaml
from podwright.cluster.kubelets.templates.go_values import (
    Number,
    as_yaml,
    compared,
    go_text,
    is_true,
    of_document,
    quoted,
    texts_of,
    whole_number,
)
from podwright.cluster.kubelets.templates.sprig import SPRIG
from podwright.cluster.kubelets.templates.template_parser import (
    Action,
    Call,
    Field,
    Function,
    If,
    Jump,
    Literal,
    Operand,
    Output,
    Pipe,
    Range,
    TemplateError,
    Text,
    Variable,
    parse_template,
)

Functions: TypeAlias = Mapping[str, Callable[..., Any]]

_DEPTH_MAX = 100
"""The maximum depth of nested template calls."""
_FAILURES = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, re.error)
"""What functions raise for values that they do not accept."""


class Template:
    r"""A parsed template.

    Parameters
    ----------
    text : str
    functions : collection of str
        The names of the additional functions that are passed to `render`.

    Raises
    ------
    TemplateError
        The first syntax error, with its line.

    Examples
    --------
    >>> from podwright.cluster.kubelets.templates.go_templates import Template
    >>> Template("{{ range .names }}- {{ . }}\n{{ end }}").value({"names": ["a", "b"]})
    ['a', 'b']
    """

    def __init__(self, text: str, functions: Collection[str] = ()) -> None:
        self.text = text
        known = {*FUNCTIONS, *functions, "and", "or"}
        self._tree = parse_template(text, sorted(known))

    def render(self, document: Any, functions: Functions | None = None) -> str:
        """Return the text for a document.

        Raises
        ------
        TemplateError
            A function rejects its arguments.
        """
        return _Run(self._tree.defined, {**FUNCTIONS, **(functions or {})}).text(
            self._tree.actions, of_document(document)
        )

    def value(self, document: Any, functions: Functions | None = None) -> Any:
        """Return the rendered text parsed as YAML; None if it is empty.

        Raises
        ------
        TemplateError
            As `render`, or the text is not YAML; the line is then one of the rendered text.
        """
        text = self.render(document, functions)
        try:
            values = [part.value for part in read_yaml(text)]
        except YamlError as error:
            raise TemplateError(
                f"the text that it makes is not YAML: {error}", error.line
            ) from None
        if len(values) > 1:
            raise TemplateError("the text that it makes has more than one document", 1)
        return next(iter(values), None)


class _Scope:
    """The variables of a block, nested in those of the enclosing blocks."""

    __slots__ = ("outer", "variables")

    def __init__(self, outer: _Scope | None = None) -> None:
        self.outer = outer
        self.variables: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        return self._owner(name).variables[name]

    def change(self, name: str, value: Any) -> None:
        self._owner(name).variables[name] = value

    def _owner(self, name: str) -> _Scope:
        scope: _Scope | None = self
        while scope is not None and name not in scope.variables:
            scope = scope.outer
        assert scope is not None, f"variable {name} was not checked by the parser"
        return scope


class _Run:
    """One rendering."""

    def __init__(self, defined: dict[str, tuple[Action, ...]], functions: Functions) -> None:
        self._defined = defined
        self._functions = functions
        self._written: list[str] = []
        self._depth = 0

    def text(self, actions: tuple[Action, ...], document: Any) -> str:
        self._all(actions, document, self._root(document))
        return "".join(self._written)

    def _root(self, document: Any) -> _Scope:
        scope = _Scope()
        scope.variables["$"] = document
        return scope

    def _all(self, actions: tuple[Action, ...], dot: Any, scope: _Scope) -> str:
        """Execute a block; a `break` or `continue` ends it and is returned."""
        for action in actions:
            jump = self._one(action, dot, scope)
            if jump:
                return jump
        return ""

    def _one(self, action: Action, dot: Any, scope: _Scope) -> str:
        match action:
            case Text(text=text):
                self._written.append(text)
            case Output(pipe=pipe):
                value = self._pipe(pipe, dot, scope)
                if not pipe.targets:
                    self._written.append("<no value>" if value is None else go_text(value))
            case If(pipe=pipe):
                inner = _Scope(scope)
                value = self._pipe(pipe, dot, inner)
                if is_true(value):
                    return self._all(action.then, value if action.is_with else dot, inner)
                return self._all(action.otherwise, dot, inner)
            case Range():
                return self._range(action, dot, scope)
            case Call():
                self._call(action, dot, scope)
            case Jump(word=word):
                return word
        return ""

    def _range(self, action: Range, dot: Any, scope: _Scope) -> str:
        outer = _Scope(scope)
        value = self._pipe(action.pipe, dot, outer)
        entries = _entries(value, action.pipe.line)
        if not entries:
            return self._all(action.otherwise, dot, outer)
        for index, entry in entries:
            inner = _Scope(outer)
            given = (entry,) if len(action.pipe.targets) == 1 else (index, entry)
            for name, part in zip(action.pipe.targets, given, strict=False):
                if action.pipe.is_declared:
                    inner.variables[name] = part
                else:
                    inner.change(name, part)
            if self._all(action.body, entry, inner) == "break":
                break
        return ""

    def _call(self, action: Call, dot: Any, scope: _Scope) -> None:
        if self._depth >= _DEPTH_MAX:
            raise TemplateError(f'template "{action.name}" is nested too deeply', action.line)
        value = None if action.pipe is None else self._pipe(action.pipe, dot, scope)
        self._depth += 1
        self._all(self._defined[action.name], value, self._root(value))
        self._depth -= 1

    # ---------------------------------------------------------------------- pipelines

    def _pipe(self, pipe: Pipe, dot: Any, scope: _Scope) -> Any:
        final: tuple[Any, ...] = ()
        for command in pipe.commands:
            final = (self._command(command, final, pipe.line, dot, scope),)
        for name in pipe.targets:
            if pipe.is_declared:
                scope.variables[name] = final[0]
            else:
                scope.change(name, final[0])
        return final[0]

    def _command(
        self,
        command: tuple[Operand, ...],
        final: tuple[Any, ...],
        line: int,
        dot: Any,
        scope: _Scope,
    ) -> Any:
        first, *rest = command
        if not isinstance(first, Function):
            if rest or final:
                raise TemplateError("only a function can be given values", line)
            return self._operand(first, line, dot, scope)
        if first.name in {"and", "or"}:
            return self._short_circuit(first.name, rest, final, line, dot, scope)
        values = [self._operand(operand, line, dot, scope) for operand in rest]
        return self._apply(first.name, [*values, *final], line)

    def _short_circuit(
        self,
        name: str,
        operands: list[Operand],
        final: tuple[Any, ...],
        line: int,
        dot: Any,
        scope: _Scope,
    ) -> Any:
        """Return the first deciding value; later operands are not evaluated."""
        if not operands and not final:
            raise TemplateError(f"{name}: a value is missing", line)
        value = None
        for operand in operands:
            value = self._operand(operand, line, dot, scope)
            if is_true(value) is (name == "or"):
                return value
        return final[0] if final else value

    def _apply(self, name: str, values: list[Any], line: int) -> Any:
        try:
            return self._functions[name](*values)
        except _FAILURES as error:
            raise TemplateError(f"{name}: {error}", line) from None

    def _operand(self, operand: Operand, line: int, dot: Any, scope: _Scope) -> Any:
        match operand:
            case Literal(value=value):
                return value
            case Variable(name="."):
                return dot
            case Variable(name=name):
                return scope.get(name)
            case Function(name=name):
                return self._apply(name, [], line)
            case Pipe():
                return self._pipe(operand, dot, scope)
            case Field(operand=inner, names=names):
                value = self._operand(inner, line, dot, scope)
                for name in names:
                    if value is None:
                        return None
                    if not isinstance(value, dict):
                        raise TemplateError(f'no field "{name}" in {go_text(value)}', line)
                    value = value.get(name)
                return value


def _entries(value: Any, line: int) -> list[tuple[Any, Any]]:
    if value is None:
        return []
    if isinstance(value, dict):
        return sorted(value.items())
    if isinstance(value, list):
        return list(enumerate(value))
    if isinstance(value, int | Number) and not isinstance(value, bool):
        return [(index, index) for index in range(int(value))]
    raise TemplateError(f"range over {go_text(value)}: expected a list, a map or a number", line)


# --------------------------------------------------------------------------- functions


def _is_same(left: Any, right: Any) -> bool:
    left, right = compared(left, right)
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _ordered(operation: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: operation(*compared(left, right))


def _equals_any(first: Any, *others: Any) -> bool:
    if not others:
        raise ValueError("two values are needed")
    return any(_is_same(first, other) for other in others)


def _index(value: Any, *places: Any) -> Any:
    for place in places:
        if isinstance(value, dict):
            value = value.get(place)
        elif isinstance(value, list | str):
            elements = value.encode() if isinstance(value, str) else value
            if type(place) is not int or not 0 <= place < len(elements):
                raise ValueError(f"{go_text(place)} is not an index of a list of {len(elements)}")
            value = elements[place]
        else:
            raise TypeError(f"nothing to look up in {go_text(value)}")
    return value


def _length(value: Any) -> int:
    if not isinstance(value, str | list | dict):
        raise TypeError(f"{go_text(value)} has no length")
    return len(value.encode()) if isinstance(value, str) else len(value)


_OF_NUMBERS = "dobcfeg"
_VERB = re.compile(r"%([-+ 0]*)(\d*)(?:\.(\d*))?(.)", re.DOTALL)


def _formatted(letter: str, value: Any, places: int | None) -> str:
    if value is None and letter != "v":
        return f"%!{letter}(<nil>)"
    if letter in _OF_NUMBERS and isinstance(value, Number):
        value = value.value
    if letter in "dxXobc" and isinstance(value, int):
        return format(value, letter)
    if letter in "xX" and isinstance(value, str):
        return value.encode().hex() if letter == "x" else value.encode().hex().upper()
    if letter in "fe":
        return format(float(value), f".{6 if places is None else places}{letter}")
    if letter == "q":
        return quoted(value)
    text = go_text(value)
    return text[:places] if letter == "s" else text


def _printf(form: str, *values: Any) -> str:
    left = list(values)

    def verb(match: re.Match[str]) -> str:
        flags, width, precision, letter = match.groups()
        if letter == "%":
            return "%"
        if letter not in f"vsqt{_OF_NUMBERS}xX":
            raise ValueError(f"%{letter} is not supported")
        if not left:
            raise ValueError(f'"{form}" has more verbs than values')
        value = left.pop(0)
        text = _formatted(letter, value, None if precision is None else int(precision or 0))
        if letter in "df" and not text.startswith("-"):
            text = ("+" if "+" in flags else " " if " " in flags else "") + text
        if "-" in flags:
            return text.ljust(int(width or 0))
        # Zeros go between the sign and the digits.
        return text.zfill(int(width)) if width and "0" in flags else text.rjust(int(width or 0))

    return _VERB.sub(verb, form)


def _print(*values: Any) -> str:
    # Go's Sprint separates two operands if neither is a text.
    parts = [go_text(value) for value in values[:1]]
    for before, value in pairwise(values):
        is_apart = not isinstance(before, str) and not isinstance(value, str)
        parts.append(f"{' ' * is_apart}{go_text(value)}")
    return "".join(parts)


def _dictionary(*pairs: Any) -> dict[str, Any]:
    # Sprig: the last key may have no value.
    return {
        go_text(key): value for key, value in zip_longest(pairs[::2], pairs[1::2], fillvalue="")
    }


FUNCTIONS: dict[str, Callable[..., Any]] = {
    # Go's functions; `_Run` implements `and` and `or`, which do not evaluate all arguments.
    "eq": _equals_any,
    "ge": _ordered(operator.ge),
    "gt": _ordered(operator.gt),
    "index": _index,
    "le": _ordered(operator.le),
    "len": _length,
    "lt": _ordered(operator.lt),
    "ne": lambda left, right: not _is_same(left, right),
    "not": lambda value: not is_true(value),
    "print": _print,
    "println": lambda *values: f"{' '.join(map(go_text, values))}\n",
    "printf": _printf,
    # Sprig's functions that stages use.
    "add": lambda *values: sum(map(whole_number, values)),
    "add1": lambda value: whole_number(value) + 1,
    "contains": lambda part, text: part in text,
    "default": lambda default, value=None: value if is_true(value) else default,
    "dict": _dictionary,
    "hasPrefix": lambda part, text: text.startswith(part),
    "hasSuffix": lambda part, text: text.endswith(part),
    "int": whole_number,
    "list": lambda *values: list(values),
    "lower": lambda text: text.lower(),
    "quote": lambda *values: " ".join(map(quoted, texts_of(list(values)))),
    "sub": lambda left, right: whole_number(left) - whole_number(right),
    "toString": go_text,
    "upper": lambda text: text.upper(),
    **SPRIG,
    # KWOK's functions that depend on their arguments only.
    "Quote": quoted,
    "YAML": as_yaml,
}
"""The functions of every template, besides `and` and `or`."""
