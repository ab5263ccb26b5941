"""Errors of compilation and of evaluation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Issue(NamedTuple):
    """A problem at a place of the source; one without a place has the offset -1."""

    offset: int
    message: str


class CompileError(ValueError):
    """The expression does not compile.

    Attributes
    ----------
    issues : tuple of Issue
        All problems, in the order of the source.
    """

    def __init__(self, source: str, issues: Iterable[Issue]) -> None:
        # The order among problems at one place is that of their detection.
        self.issues = tuple(sorted(issues, key=lambda issue: issue.offset))
        super().__init__("\n".join(_display(source, issue) for issue in self.issues))


class ProgramError(ValueError):
    """A constant part of the expression fails, which upstream finds when it builds the program."""


class CostLimitError(Exception):
    """The evaluation was ended because it would exceed its cost limit."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class EvaluationPanicError(Exception):
    """The evaluation was ended because upstream's code panics there, and reports that."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"internal error: {reason}")


def _display(source: str, issue: Issue) -> str:
    """Return the text of a problem with its line and a marker.

    Notes
    -----
    Upstream: cel-go common/error.go, Error.ToDisplayString
    """
    if issue.offset < 0:
        return f"ERROR: <input>:-1:0: {issue.message}"
    line_number = source.count("\n", 0, issue.offset) + 1
    line_start = source.rfind("\n", 0, issue.offset) + 1
    line_end = source.find("\n", issue.offset)
    line = source[line_start : line_end if line_end >= 0 else len(source)]
    column = issue.offset - line_start
    marked = line.replace("\t", " ")
    # A character that is not ASCII is marked with a wide one, so that the marker stays below it.
    dots = "".join("." if character < "\x80" else "\uff0e" for character in marked[:column])
    pointer = "\uff3e" if marked[column : column + 1] > "\x7f" else "^"
    if not source:
        return f"ERROR: <input>:1:0: {issue.message}"
    header = f"ERROR: <input>:{line_number}:{column + 1}: {issue.message}"
    return f"{header}\n | {marked}\n | {dots}{pointer}"
