"""Queries of stages that are written in CEL, beside those in jq.

Upstream: KWOK pkg/utils/lifecycle/lifecycle.go, value_int_from.go and value_duration_from.go
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Protocol

from podwright.apimachinery.cel import StageExpression
from podwright.apimachinery.objects import Document

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
