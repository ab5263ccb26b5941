"""Steps of calls: functions, `in`, and the alternatives of optional values.

Upstream: cel-go interpreter/interpretable.go, runtimecost.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from podwright.apimachinery.cel.declarations import Function, Overload, no_such_overload
from podwright.apimachinery.cel.steps import Frame, Step
from podwright.apimachinery.cel.values import (
    Duration,
    ErrorValue,
    Optional,
    Timestamp,
    Value,
    equals,
)

_RECEIVERS = (str, Timestamp, Duration)
"""Upstream passes any call to values of these types, which refuse it without its name."""

CallCost: TypeAlias = Callable[[tuple[Value, ...], Value], int]
"""The cost of a call, for its arguments and its result."""


class CallStep(Step):
    """A call of a function that is known: all arguments are evaluated, then errors are seen."""

    __slots__ = ("args", "cost", "implementation", "is_strict")

    def __init__(
        self,
        implementation: Callable[..., Value],
        args: tuple[Step, ...],
        cost: CallCost,
        *,
        is_strict: bool = True,
    ) -> None:
        self.implementation = implementation
        self.args = args
        self.cost = cost
        self.is_strict = is_strict

    def run(self, frame: Frame) -> Value:
        """Return the result."""
        values = tuple([arg.run(frame) for arg in self.args])
        result: Value = None
        for value in values:
            if value.__class__ is ErrorValue and self.is_strict:
                result = value
                break
        else:
            result = self.implementation(*values)
        frame.spend(self.cost(values, result))
        return result


class ManyArgumentsStep(Step):
    """A call that ends with the first argument that fails: of three or more, or by type."""

    __slots__ = ("args", "cost", "implementation")

    def __init__(
        self, implementation: Callable[..., Value], args: tuple[Step, ...], cost: CallCost
    ) -> None:
        self.implementation = implementation
        self.args = args
        self.cost = cost

    def run(self, frame: Frame) -> Value:
        """Return the result."""
        values: list[Value] = []
        for arg in self.args:
            value = arg.run(frame)
            values.append(value)
            if value.__class__ is ErrorValue:
                # Upstream counts a call only if it has seen all the arguments.
                if len(values) == len(self.args):
                    frame.spend(self.cost(tuple(values), value))
                return value
        arguments = tuple(values)
        result = self.implementation(*arguments)
        frame.spend(self.cost(arguments, result))
        return result


def guarded(function: Function, overload: Overload) -> Callable[..., Value]:
    """Return the implementation of an overload that checks the types of its arguments."""
    implementation = overload.implementation

    def call(*values: Value) -> Value:
        if overload.accepts(values):
            return implementation(*values)
        if function.is_guarded:
            return no_such_overload(function.name, values)
        return ErrorValue("no such overload")

    return call


def with_trait(function: Function) -> Callable[..., Value]:
    """Return the implementation of a function whose first argument must have a trait."""
    implementation, trait = function.singleton, function.trait
    assert implementation is not None
    if trait is None:
        return implementation

    def call(*values: Value) -> Value:
        if trait(values[0]):
            return implementation(*values)
        if isinstance(values[0], _RECEIVERS):
            return ErrorValue("no such overload")
        return ErrorValue(f"no such overload: {function.name}")

    return call


def by_type(function: Function) -> Callable[..., Value]:
    """Return an implementation that selects the overload by the types of the arguments."""
    overloads = tuple(function.overloads.values())

    def call(*values: Value) -> Value:
        for overload in overloads:
            if overload.accepts(values):
                return overload.implementation(*values)
        return no_such_overload(function.name, values)

    return call


class MembershipStep(Step):
    """`x in [1, 2]` with a constant list. Costs nothing."""

    __slots__ = ("element", "elements", "strings")

    def __init__(self, element: Step, elements: list[Value]) -> None:
        self.element = element
        self.elements = elements
        self.strings = frozenset(item for item in elements if isinstance(item, str))

    def run(self, frame: Frame) -> Value:
        """Return whether the list contains the element."""
        value = self.element.run(frame)
        if value.__class__ is ErrorValue:
            return value
        if value.__class__ is str:
            return value in self.strings
        return any(equals(value, item) is True for item in self.elements)


class OptionalOrStep(Step):
    """`optional.or(other)` and `optional.orValue(value)`: the other is evaluated if needed."""

    __slots__ = ("fallback", "operand", "unwraps")

    def __init__(self, operand: Step, fallback: Step, *, unwraps: bool) -> None:
        self.operand = operand
        self.fallback = fallback
        self.unwraps = unwraps

    def run(self, frame: Frame) -> Value:
        """Return the operand's value, or the other."""
        value = self.operand.run(frame)
        if value.__class__ is ErrorValue:
            return value
        if value.__class__ is not Optional:
            return ErrorValue("no such overload")
        if not value.is_present:
            return self.fallback.run(frame)
        return value.value if self.unwraps else value
