"""Label selectors, compiled from structs or parsed from text.

A selector of the API is compiled once into a small frozen object with `matches(...)`. It is hashed
by its content, so two pods with the same selector share one key.

Upstream: staging/src/k8s.io/apimachinery/pkg/labels/selector.go
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects.meta import LabelSelector
from podwright.apimachinery.objects.names import label_key_errors, label_value_errors
from podwright.apimachinery.objects.texts.go_text import aggregated
from podwright.apimachinery.objects.texts.integers import parse_int64
from podwright.apimachinery.objects.texts.short_texts import cache_short

RequirementOperator: TypeAlias = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
Labels: TypeAlias = Mapping[str, str]


class SelectorError(ValueError):
    """A selector that cannot be compiled; the message is upstream's."""


class Requirement(msgspec.Struct, frozen=True, gc=False):
    """One condition on one label.

    Attributes
    ----------
    key : str
        The label.
    operator : str
        `=` is `In` with one value, `!=` is `NotIn` with one.
    values : tuple of str
        Sorted when there are several.
    """

    key: str
    operator: RequirementOperator
    values: tuple[str, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """Whether the labels satisfy the condition (`labels.Requirement.Matches`)."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        if value is None or len(self.values) != 1:
            return False
        number, bound = parse_int64(value), parse_int64(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator == "Gt" else number < bound

    def __str__(self) -> str:
        match self.operator:
            case "In" if len(self.values) == 1:
                return f"{self.key}={self.values[0]}"
            case "NotIn" if len(self.values) == 1:
                return f"{self.key}!={self.values[0]}"
            case "In":
                return f"{self.key} in ({','.join(self.values)})"
            case "NotIn":
                return f"{self.key} notin ({','.join(self.values)})"
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"
            case "Gt":
                return f"{self.key}>{self.values[0]}"
            case "Lt":
                return f"{self.key}<{self.values[0]}"


class Selector(msgspec.Struct, frozen=True, gc=False):
    """Conditions on labels that must all hold; a selector without conditions matches everything.

    Attributes
    ----------
    requirements : tuple of Requirement
        Sorted by key, so that equal selectors are equal objects.
    is_nothing : bool
        Whether it matches no labels at all.
    """

    requirements: tuple[Requirement, ...] = ()
    is_nothing: bool = False

    def matches(self, labels: Labels) -> bool:
        """Whether the labels satisfy all conditions."""
        if self.is_nothing:
            return False
        for requirement in self.requirements:  # noqa: SIM110  # a generator doubles the time
            if not requirement.matches(labels):
                return False
        return True

    @property
    def is_empty(self) -> bool:
        """Whether it restricts nothing (`labels.Selector.Empty`)."""
        return not self.requirements and not self.is_nothing

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING = Selector()
NOTHING = Selector(is_nothing=True)


def label_selector(selector: LabelSelector | None) -> Selector:
    """Compile a label selector of the API.

    Parameters
    ----------
    selector : LabelSelector or None
        None selects nothing, an empty one everything.

    Raises
    ------
    SelectorError
        An expression is invalid.

    Notes
    -----
    Upstream: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go,
    LabelSelectorAsSelector
    """
    if selector is None:
        return NOTHING
    errors: list[str] = []
    requirements = [
        checked_requirement(key, "In", (value,), "", errors)
        for key, value in selector.match_labels.items()
    ]
    requirements += [
        checked_requirement(e.key, e.operator, e.values, "", errors)
        for e in selector.match_expressions
    ]
    raise_errors(errors)
    return selector_of(requirements)


def labels_as_selector(labels: Labels) -> Selector:
    """Compile plain labels (a service's selector, a pod's nodeSelector); none match everything.

    Notes
    -----
    Nothing is validated. Upstream: SelectorFromSet
    """
    return selector_of(Requirement(key, "In", (value,)) for key, value in labels.items())


def selector_of(requirements: Iterable[Requirement]) -> Selector:
    """Return a selector with sorted requirements; EVERYTHING without any."""
    # Upstream sorts by key only; the full order makes equal selectors equal values.
    ordered = tuple(sorted(requirements, key=lambda r: (r.key, r.operator, r.values)))
    return Selector(ordered) if ordered else EVERYTHING


def requirement_problems(
    key: str, operator: RequirementOperator, values: tuple[str, ...]
) -> Iterator[tuple[str, str | tuple[str, ...], str]]:
    """Yield the errors of a requirement.

    Yields
    ------
    (field, value, detail)
        A field of the requirement (`values[0]`), its value, and the error.

    Notes
    -----
    Upstream: staging/src/k8s.io/apimachinery/pkg/labels/selector.go, NewRequirement
    """
    if problems := label_key_errors(key):
        yield "key", key, "; ".join(problems)
    yield from _value_problems(key, operator, values)


def _value_problems(
    key: str, operator: RequirementOperator, values: tuple[str, ...]
) -> Iterator[tuple[str, str | tuple[str, ...], str]]:
    match operator:
        case "In" | "NotIn":
            if not values:
                yield "values", values, "for 'in', 'notin' operators, values set can't be empty"
        case "Exists" | "DoesNotExist":
            if values:
                yield "values", values, "values set must be empty for exists and does not exist"
        case "Gt" | "Lt":
            if len(values) != 1:
                yield "values", values, "for 'Gt', 'Lt' operators, exactly one value is required"
            for index, value in enumerate(values):
                if parse_int64(value) is None:
                    detail = "for 'Gt', 'Lt' operators, the value must be an integer"
                    yield f"values[{index}]", value, detail
    for index, value in enumerate(values):
        if problems := label_value_errors(value):
            yield f"values[{index}][{key}]", value, "; ".join(problems)


def checked_requirement(
    key: str,
    operator: RequirementOperator,
    values: tuple[str, ...],
    path: str,
    errors: list[str],
) -> Requirement:
    """Build a requirement and collect its errors."""
    for field, value, detail in requirement_problems(key, operator, values):
        field_path = f"{path}.{field}" if path else field
        errors.append(_invalid(field_path, value, detail))
    return Requirement(key, operator, tuple(sorted(values)))


def _invalid(path: str, value: str | tuple[str, ...], detail: str) -> str:
    return f"{path}: Invalid value: {shown(value)}: {detail}"


def shown(value: str | tuple[str, ...]) -> str:
    """Format a value as in upstream's errors."""
    if value == ():  # Go's nil slice
        return "null"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def raise_errors(errors: Sequence[str]) -> None:
    """Raise the errors with the text of upstream's error aggregates."""
    if errors:
        raise SelectorError(aggregated(errors))


# --------------------------------------------------------- label selectors as strings

_TOKEN = re.compile(r"[ \t\r\n]*(?:(?P<symbol>==|!=|[=!(),<>])|(?P<word>[^=!(),<> \t\r\n]+)|$)")
_END = ""
_SYMBOLS = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">", _END})
_OPERATORS: dict[str, RequirementOperator] = {
    "in": "In", "notin": "NotIn", "=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt",
}  # fmt: skip


@cache_short(maxsize=1_024)
def parse_label_selector(text: str) -> Selector:
    """Read a label selector as kubectl and the API write it: `a=b,c!=d,e in (x,y),!f`.

    Raises
    ------
    SelectorError
        With upstream's text.

    Notes
    -----
    Upstream: staging/src/k8s.io/apimachinery/pkg/labels/selector.go, Parser
    """
    return selector_of(_Parser(text).parse())


class _Parser:
    """A recursive-descent parser over tokens; `_SYMBOLS` distinguishes symbols from words."""

    def __init__(self, text: str) -> None:
        self._tokens = [m["symbol"] or m["word"] or _END for m in _TOKEN.finditer(text)]
        self._position = 0

    def parse(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while True:
            token = self._peek()
            if token == _END:
                return requirements
            if token in _SYMBOLS and token != "!":  # a token of the grammar
                raise SelectorError(f"found '{token}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self._parse_requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            token = self._next()
            if token == _END:
                return requirements
            if token != ",":
                raise SelectorError(f"found '{token}', expected: ',' or 'end of string'")
            token = self._peek()
            if token in _SYMBOLS and token != "!":
                raise SelectorError(f"found '{token}', expected: identifier after ','")

    def _peek(self) -> str:
        return self._tokens[self._position]

    def _next(self) -> str:
        token = self._tokens[self._position]
        if token != _END:
            self._position += 1
        return token

    def _parse_requirement(self) -> Requirement:
        key = self._next()
        is_negated = key == "!"
        if is_negated:
            key = self._next()
        if key in _SYMBOLS:
            raise SelectorError(f"found '{key}', expected: identifier")
        if problems := label_key_errors(key):
            raise SelectorError(f'<nil>: Invalid value: "{key}": {"; ".join(problems)}')
        if is_negated:
            return Requirement(key, "DoesNotExist")
        if self._peek() in {_END, ","}:
            return Requirement(key, "Exists")
        token = self._next()
        if token not in _OPERATORS:
            raise SelectorError(f"found '{token}', expected: in, notin, =, ==, !=, gt, lt")
        operator = _OPERATORS[token]
        found = self._parse_values() if token in {"in", "notin"} else [self._parse_exact_value()]
        values = tuple(sorted(set(found)))
        raise_errors([_invalid(*each) for each in _value_problems(key, operator, values)])
        return Requirement(key, operator, values)

    def _parse_exact_value(self) -> str:
        if self._peek() in {_END, ","}:
            return ""
        token = self._next()
        if token in _SYMBOLS:
            raise SelectorError(f"found '{token}', expected: identifier")
        return token

    def _parse_values(self) -> list[str]:
        token = self._next()
        if token != "(":
            raise SelectorError(f"found '{token}' expected: '('")
        if self._peek() in _SYMBOLS - {",", ")"}:
            raise SelectorError(f"found '{self._peek()}', expected: ',', ')' or identifier")
        values: list[str] = []
        while True:
            # A missing value, before a comma or the end, is the empty string.
            values.append("" if self._peek() in {",", ")"} else self._next())
            if values[-1] in _SYMBOLS - {_END}:
                raise SelectorError(f"found '{values[-1]}', expected: ',', or identifier")
            token = self._next()
            if token == ")":
                return values
            if token != ",":
                raise SelectorError(f"found '{token}', expected: ',' or ')'")
