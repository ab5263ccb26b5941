r"""The part of jq that Stage documents use to select values.

::

    pipeline   = term { "|" term }
    term       = path | "select" "(" condition ")"
    path       = "." { step }
    step       = name | ."name" | ["name"] | [number] | [] , each with "." before it or not,
                 and "?" behind it or not
    condition  = comparison { ("and" | "or") comparison }      (and binds closer)
    comparison = operand [ ("==" | "!=") operand ]
    operand    = path | "text" | number | true | false | null

`.status.conditions.[] | select(.type == "Ready") | .status` is the longest query in KWOK's own
stages. Any other jq raises a `QueryError` when the document is read. An error that jq reports at
run time, such as `.[]` of null, yields no value here, as in KWOK.

Upstream: KWOK pkg/utils/expression/query.go; KWOK pkg/utils/lifecycle/lifecycle.go,
value_int_from.go and value_duration_from.go; github.com/itchyny/gojq.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, Final, Protocol, TypeAlias

from podwright.apimachinery.cel import StageExpression
from podwright.apimachinery.objects import Document

_Step: TypeAlias = Callable[[Any], list[Any]]
_Condition: TypeAlias = Callable[[Any], list[bool]]
"""Gives as many results as its paths give values."""

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<text>"(?:[^"\\]|\\.)*")
    | (?P<number>-?\d+(?:\.\d+)?)
    | (?P<word>[A-Za-z_]\w*)
    | (?P<mark>==|!=|[.\[\]()|?])
    )""",
    re.VERBOSE,
)
_CONSTANTS = {"true": True, "false": False, "null": None}


class QueryError(ValueError):
    """A text that is not in the supported part of jq."""


class _NoValue(Exception):  # noqa: N818 - control flow, not an error
    """An error that jq reports at run time."""


class Query:
    """A path into a document.

    Parameters
    ----------
    text : str
        A query in the supported part of jq; see above.

    Attributes
    ----------
    names : list of str or None
        The field names of a plain path; None if the query is not one.

    Raises
    ------
    QueryError
        The text is not in the supported part of jq.

    Examples
    --------
    >>> from podwright.cluster.kubelets.templates.jq import Query
    >>> Query('.items.[] | select(.type == "a") | .size').values(
    ...     {"items": [{"type": "a", "size": 1}, {"type": "b", "size": 2}]}
    ... )
    [1]
    """

    __slots__ = ("_steps", "_values_around_each", "names", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        parser = _Parser(text)
        self._steps = parser.pipeline()
        parser.expect_end()
        # Most queries are plain paths, or two paths joined by `[]`. These two forms are evaluated
        # without intermediate lists.
        self.names = _names_of(self._steps)
        self._values_around_each: tuple[list[str], list[str]] | None = None
        if self._steps.count(_each) == 1:
            place = self._steps.index(_each)
            before, after = _names_of(self._steps[:place]), _names_of(self._steps[place + 1 :])
            if before is not None and after is not None:
                self._values_around_each = before, after

    def __reduce__(self) -> tuple[Callable[[str], Query], tuple[str]]:
        """Pickle the text."""
        return query, (self.text,)

    def values(self, document: Any, now_ns: int = 0) -> list[Any]:
        """Return the values that the query selects, which may be none; at any time the same."""
        try:
            if self._values_around_each is not None:
                return _values_around_each(document, *self._values_around_each)
            if self.names is not None:
                return [_at(document, self.names)]
            return _run(self._steps, document)
        except _NoValue:
            return []

    def value(self, document: Any) -> Any:
        """Return the value at a plain path, None if there is none; see `names`."""
        assert self.names is not None, f"{self.text} is not a plain path"
        value = document
        for name in self.names:
            if type(value) is not dict:
                return None
            value = value.get(name)
        return value


@lru_cache(maxsize=4_096)
def query(text: str) -> Query:
    """Return the compiled query of a text."""
    return Query(text)


def _run(steps: list[_Step], value: Any) -> list[Any]:
    values = [value]
    for step in steps:
        values = [result for entry in values for result in step(entry)]
    return values


# -------------------------------------------------------------------------------- steps


class _Field:
    """The step `.name`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, value: Any) -> list[Any]:
        if value is None:
            return [None]
        if not isinstance(value, dict):
            raise _NoValue
        return [value.get(self.name)]


def _names_of(steps: list[_Step]) -> list[str] | None:
    names = [step.name for step in steps if isinstance(step, _Field)]
    return names if len(names) == len(steps) else None


def _at(value: Any, names: list[str]) -> Any:
    """Return the value at a path of fields."""
    for name in names:
        if type(value) is not dict:
            if value is None:
                return None
            raise _NoValue
        value = value.get(name)
    return value


def _each(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    if not isinstance(value, list):
        raise _NoValue
    return value


def _values_around_each(document: Any, before: list[str], after: list[str]) -> list[Any]:
    """Return the values of a path, one `[]`, and a second path."""
    for name in before:
        if type(document) is not dict:
            return []
        document = document.get(name)
    if type(document) is not list:
        return [_at(entry, after) for entry in _each(document)] if document else []
    found = []
    for entry in document:
        value = entry
        for name in after:
            if type(value) is not dict:
                if value is None:
                    break
                # An error in one entry discards the values of all entries, as `_NoValue` does in
                # `values`.
                return []
            value = value.get(name)
        found.append(value)
    return found


def _item(index: int) -> _Step:
    def step(value: Any) -> list[Any]:
        if value is None:
            return [None]
        if not isinstance(value, list):
            raise _NoValue
        return [value[index] if -len(value) <= index < len(value) else None]

    return step


def _optional(inner: _Step) -> _Step:
    def step(value: Any) -> list[Any]:
        try:
            return inner(value)
        except _NoValue:
            return []

    return step


def _select(condition: _Condition) -> _Step:
    return lambda value: [value] * sum(condition(value))


def _joined(left: _Condition, right: _Condition, *, deciding: bool) -> _Condition:
    """Join two conditions; the right one matters for each result of the left that decides not."""
    return lambda value: [
        result
        for first in left(value)
        for result in ([deciding] if first is deciding else right(value))
    ]


# ------------------------------------------------------------------------------- reading


class _Parser:
    """A recursive-descent parser for one query."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._scan())
        self._at = 0

    def _scan(self) -> Iterator[tuple[str, str]]:
        at, end = 0, len(self._text.rstrip())
        while at < end:
            match = _TOKEN.match(self._text, at)
            if match is None:
                raise self._unsupported(self._text[at:].strip())
            assert match.lastgroup is not None
            yield match.lastgroup, match[match.lastgroup]
            at = match.end()

    def _unsupported(self, found: str) -> QueryError:
        return QueryError(f'unsupported jq, starting with "{found}"')

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")

    def _take(self, mark: str) -> bool:
        if self._peek() in {("mark", mark), ("word", mark)}:
            self._at += 1
            return True
        return False

    def _need(self, mark: str) -> None:
        if not self._take(mark):
            raise self._unexpected(f'expected "{mark}"')

    def _unexpected(self, expected: str) -> QueryError:
        kind, found = self._peek()
        return QueryError(f"{expected}, got {'the end' if kind == 'end' else repr(found)}")

    def expect_end(self) -> None:
        if self._peek()[0] != "end":
            raise self._unsupported(self._peek()[1])

    def pipeline(self) -> list[_Step]:
        steps = self._term()
        while self._take("|"):
            steps += self._term()
        return steps

    def _term(self) -> list[_Step]:
        if self._take("select"):
            self._need("(")
            condition = self._condition()
            self._need(")")
            return [_select(condition)]
        if self._peek() != ("mark", "."):
            raise self._unexpected('expected a path, which starts with "."')
        return self._path()

    def _path(self) -> list[_Step]:
        steps: list[_Step] = []
        self._need(".")
        is_after_dot = True
        while True:
            step = self._step(is_after_dot=is_after_dot)
            if step is None:
                if is_after_dot and steps:
                    raise self._unexpected("expected a name")
                return steps
            while self._take("?"):
                step = _optional(step)
            steps.append(step)
            is_after_dot = self._take(".")

    def _step(self, *, is_after_dot: bool) -> _Step | None:
        kind, found = self._peek()
        if is_after_dot and kind in {"word", "text"}:
            self._at += 1
            return _Field(json.loads(found) if kind == "text" else found)
        if not self._take("["):
            return None
        kind, found = self._peek()
        if self._take("]"):
            return _each
        self._at += 1
        if kind == "text":
            step: _Step = _Field(json.loads(found))
        elif kind == "number" and "." not in found:
            step = _item(int(found))
        else:
            self._at -= 1
            raise self._unexpected("expected a quoted name, a number or nothing in [ ]")
        self._need("]")
        return step

    def _condition(self) -> _Condition:
        condition = self._all_of()
        while self._take("or"):
            condition = _joined(condition, self._all_of(), deciding=True)
        return condition

    def _all_of(self) -> _Condition:
        condition = self._comparison()
        while self._take("and"):
            condition = _joined(condition, self._comparison(), deciding=False)
        return condition

    def _comparison(self) -> _Condition:
        left = self._operand()
        for mark in ("==", "!="):
            if self._take(mark):
                right, is_equal = self._operand(), mark == "=="
                return lambda value: [
                    _is_same(a, b) is is_equal for b in right(value) for a in left(value)
                ]
        return lambda value: [entry is not None and entry is not False for entry in left(value)]

    def _operand(self) -> _Step:
        kind, found = self._peek()
        if kind in {"text", "number"} or found in _CONSTANTS:
            self._at += 1
            constant = _CONSTANTS[found] if found in _CONSTANTS else json.loads(found)
            return lambda _: [constant]
        steps = self._path()
        return lambda value: _run(steps, value)


def _is_same(left: Any, right: Any) -> bool:
    # In jq true and 1 differ; in Python they are equal.
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


# Queries of stages that are written in CEL, beside those in jq.

TRUE: Final = ("true",)
"""The values of a requirement that all its expressions are true."""


class ValueQuery(Protocol):
    """What selects values in a document: jq or CEL."""

    @property
    def text(self) -> str:
        """The query as text; equal queries have equal texts."""
        ...

    @property
    def names(self) -> list[str] | None:
        """The field names of a plain path; None if the query is not one."""
        ...

    def values(self, document: Any, now_ns: int = 0) -> list[Any]:
        """Return the values that the query selects, which may be none."""
        ...

    def value(self, document: Any) -> Any:
        """Return the value at a plain path, None if there is none."""
        ...


class CelQuery:
    """A query that gives one value.

    Attributes
    ----------
    text : str
        The expression; it starts as no query in jq does.
    """

    __slots__ = ("_evaluate", "names", "text")

    def __init__(self, text: str, evaluate: Callable[[Document, int], Any]) -> None:
        self.text = f"cel: {text}"
        self.names: list[str] | None = None
        self._evaluate = evaluate

    def values(self, document: Any, now_ns: int = 0) -> list[Any]:
        """Return the value.

        Raises
        ------
        StageExpressionError
            The evaluation failed.
        """
        return [self._evaluate(document, now_ns)]

    def value(self, document: Any) -> Any:
        """Fail: an expression is not a path."""
        raise AssertionError(f"{self.text} is not a plain path: {document}")


def all_true(expressions: Sequence[StageExpression]) -> CelQuery:
    """Return a query for whether expressions are true, in their order, up to the first that is not.

    They are one query, so that an expression can rely on those before it, as in KWOK.
    """
    chosen = tuple(expressions)
    text = "\n".join(expression.source for expression in chosen)
    return CelQuery(text, partial(_are_true, chosen))


def _are_true(expressions: Sequence[StageExpression], document: Document, now_ns: int) -> bool:
    return all(expression.is_true(document, now_ns) for expression in expressions)


def duration_of(expression: StageExpression) -> CelQuery:
    """Return a query for a duration in nanoseconds."""
    return CelQuery(expression.source, expression.duration_ns)


def integer_of(expression: StageExpression) -> CelQuery:
    """Return a query for an integer."""
    return CelQuery(expression.source, expression.integer)


def read_nanoseconds(value: Any, now_ns: int) -> int | None:  # noqa: ARG001 - as other readers
    """Return the delay that a query for a duration gave."""
    return int(value)
