"""What fields of a struct declare about their values, beside their types: `decode` checks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from podwright.apimachinery.documents.field import invalid, problem
from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    PodwrightError,
    QuantityText,
    SelectorError,
    parse_label_selector,
    quantity_value,
    read_duration,
)

Check: TypeAlias = Callable[[Any, str], Iterable[FieldError]]
"""Returns what is wrong with a value in the field with a path."""


def checked(check: Check) -> Meta:
    """Return the declaration that `check` says what is wrong with a value."""
    return Meta(extra={"check": check})


def needed(detail: str = "") -> Meta:
    """Return the declaration that a field may not be absent or empty; `detail` is what it is."""
    return Meta(extra={"needed": detail})


def _duration_problems(text: str, path: str, *, least_ns: int = 0) -> Iterator[FieldError]:
    try:
        read_duration(text, "", least_ns=least_ns)
    except InputError as error:
        yield problem(path, error.errors[0].message)


def _selector_problems(text: str, path: str) -> Iterator[FieldError]:
    try:
        parse_label_selector(text)
    except SelectorError as error:
        yield invalid(path, text, error)


def _amount_problems(amount: str | float, path: str) -> Iterator[FieldError]:
    try:
        if quantity_value(amount) < 0:
            yield invalid(path, amount, "must not be negative")
    except (PodwrightError, ValueError) as error:
        yield invalid(path, amount, error)


DurationText: TypeAlias = Annotated[str, checked(_duration_problems)]
"""A duration such as 30m."""
OptionalDurationText: TypeAlias = Annotated[
    str, checked(lambda text, path: _duration_problems(text, path) if text else ())
]
"""A duration; absent if empty."""
TimeoutText: TypeAlias = Annotated[
    str, checked(lambda text, path: _duration_problems(text, path, least_ns=1) if text else ())
]
"""A duration above 0; absent if empty."""
SelectorText: TypeAlias = Annotated[str, checked(_selector_problems)]
"""A label selector; empty, it matches all."""
Amount: TypeAlias = Annotated[QuantityText, checked(_amount_problems)]
"""A quantity that is not negative, as a text or a number."""
Name: TypeAlias = Annotated[
    str, checked(lambda name, path: () if name else [invalid(path, name, "must be a name")])
]
NamespacedNameText: TypeAlias = Annotated[
    str,
    checked(lambda key, path: () if "/" in key else [invalid(path, key, "must be namespace/name")]),
]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
PositiveCount: TypeAlias = Annotated[int, Meta(ge=1)]
NotNegative: TypeAlias = Annotated[float, Meta(ge=0)]
NotNegativeNs: TypeAlias = Annotated[int, Meta(ge=0, extra={"format": "duration"})]
"""Nanoseconds, a duration in a document."""
