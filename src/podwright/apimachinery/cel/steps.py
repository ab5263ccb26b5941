"""Steps: the parts of a program that evaluate one node each and count its cost.

A step returns a value, an `ErrorValue` included. Its cost is counted where upstream's observer of
evaluations counts it: names, fields and indices cost 1 each, calls what `call_costs` says, and a
call whose arguments were not all evaluated nothing.

Upstream: cel-go interpreter/interpretable.go, runtimecost.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from podwright.apimachinery.cel.types import Function, Overload, no_such_overload
from podwright.apimachinery.cel.values import (
    CostLimitError,
    Duration,
    ErrorValue,
    Optional,
    Struct,
    Timestamp,
    Value,
    equals,
    type_name,
)


class Frame:
    """The state of one evaluation.

    Attributes
    ----------
    cost, limit : int
        In units of upstream's cost.
    """

    __slots__ = ("cost", "limit", "locals", "variables")

    def __init__(self, variables: dict[str, Value], limit: int, local_count: int) -> None:
        self.variables = variables
        self.locals: list[Value] = [None] * local_count
        self.cost = 0
        self.limit = limit

    def spend(self, cost: int) -> None:
        """Add a cost.

        Raises
        ------
        CostLimitError
            The limit is exceeded.
        """
        self.cost += cost
        if self.cost > self.limit:
            raise CostLimitError


class Step:
    """Evaluates a node."""

    __slots__ = ()

    def run(self, frame: Frame) -> Value:
        """Return the value of the node."""
        raise NotImplementedError

    def resolve(self, frame: Frame) -> Value:
        """Return the value without the cost of a name, as a branch of a conditional does."""
        return self.run(frame)


class ConstantStep(Step):
    """A literal, or a part that is constant. Costs nothing."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def run(self, frame: Frame) -> Value:
        """Return the constant."""
        return self.value


class Lazy:
    """A variable whose value is computed when it is first read."""

    __slots__ = ("_compute", "_value")

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._compute: Callable[[], Value] | None = compute
        self._value: Value = None

    def __call__(self) -> Value:
        """Return the value."""
        if self._compute is not None:
            self._value, self._compute = self._compute(), None
        return self._value


def display(value: Value) -> str:
    """Return a key as messages write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


class ConditionalStep(Step):
    """`condition ? truthy : falsy`."""

    __slots__ = ("condition", "falsy", "truthy")

    def __init__(self, condition: Step, truthy: Step, falsy: Step) -> None:
        self.condition = condition
        self.truthy = truthy
        self.falsy = falsy

    def run(self, frame: Frame) -> Value:
        """Return the value of one of the branches."""
        condition = self.condition.run(frame)
        if condition is True:
            return self.truthy.resolve(frame)
        if condition is False:
            return self.falsy.resolve(frame)
        return condition if condition.__class__ is ErrorValue else ErrorValue("no such overload")


class LogicalStep(Step):
    """`&&` or `||`: one side decides, also if the other fails."""

    __slots__ = ("deciding", "function", "left", "right")

    def __init__(self, function: str, left: Step, right: Step) -> None:
        self.function = function
        self.left = left
        self.right = right
        self.deciding = function == "_||_"

    def run(self, frame: Frame) -> Value:
        """Return the conjunction or disjunction."""
        left = self.left.run(frame)
        if left is self.deciding:
            return left
        right = self.right.run(frame)
        if right is self.deciding:
            return right
        if isinstance(left, bool) and isinstance(right, bool):
            return right
        # The first problem counts, also if a value that is not a bool precedes an error.
        problem = right if isinstance(left, bool) else left
        return problem if problem.__class__ is ErrorValue else ErrorValue("no such overload")


class ListStep(Step):
    """A list literal; an absent element marked with `?` is left out."""

    __slots__ = ("elements", "optional")

    def __init__(self, elements: tuple[Step, ...], optional: frozenset[int]) -> None:
        self.elements = elements
        self.optional = optional

    def run(self, frame: Frame) -> Value:
        """Return the list."""
        result: list[Value] = []
        failed: Value = None
        for index, step in enumerate(self.elements):
            value = step.run(frame)
            if value.__class__ is ErrorValue:
                failed = value
                break
            if index in self.optional:
                if value.__class__ is not Optional:
                    failed = ErrorValue(
                        "cannot initialize optional list element from non-optional value "
                        f"{display(value)}"
                    )
                    break
                if not value.is_present:
                    continue
                value = value.value
            result.append(value)
        frame.spend(10)
        return result if failed is None else failed


_LITERAL_TYPES = frozenset({"JSONPatch", "Object"})
"""The types of which values can be made; the other declared types have names only.

Upstream: staging/src/k8s.io/apiserver/pkg/cel/types.go, DeclTypeProvider.NewValue;
staging/src/k8s.io/apiserver/pkg/cel/mutation/typeresolver.go
"""


class MapStep(Step):
    """A map literal, or a struct literal if it has a name."""

    __slots__ = ("entries", "struct")

    def __init__(self, entries: tuple[tuple[Step, Step, bool], ...], struct: str = "") -> None:
        self.entries = entries
        self.struct = struct

    def run(self, frame: Frame) -> Value:
        """Return the map."""
        result = self._build(frame)
        frame.spend(40 if self.struct else 30)
        return result

    def _build(self, frame: Frame) -> Value:
        result: dict[Value, Value] = {}
        for key_step, value_step, is_optional in self.entries:
            key = key_step.run(frame)
            if key.__class__ is ErrorValue:
                return key
            value = value_step.run(frame)
            if value.__class__ is ErrorValue:
                return value
            if is_optional:
                if value.__class__ is not Optional:
                    return ErrorValue(
                        f"cannot initialize optional entry '{display(key)}' from non-optional"
                        f" value {display(value)}"
                    )
                if not value.is_present:
                    continue
                value = value.value
            if not isinstance(key, bool | int | str):
                return ErrorValue(f"unsupported key type: {type_name(key)}")
            result[key] = value
        if not self.struct:
            return result
        if self.struct.partition(".")[0] not in _LITERAL_TYPES:
            return ErrorValue(f"unknown type '{self.struct}'")
        return Struct(self.struct, result)


_GO_TYPES = {
    "bool": "types.Bool", "bytes": "types.Bytes", "double": "types.Double", "int": "types.Int",
    "null_type": "types.Null", "string": "types.String", "uint": "types.Uint",
    "google.protobuf.Duration": "types.Duration",
    "google.protobuf.Timestamp": "types.Timestamp", "optional_type": "*types.Optional",
    "type": "*types.Type", "list": "*types.baseList", "map": "*types.baseMap",
}  # fmt: skip
"""The Go types of values, which upstream's message has. Upstream: cel-go common/types"""


def go_type_of(value: Value) -> str:
    """Return the Go type of a value."""
    name = type_name(value)
    package, dot, kind = name.rpartition(".")
    is_of_kubernetes = package in ("kubernetes", "net")
    return _GO_TYPES.get(name, f"cel.{kind}" if dot and is_of_kubernetes else name)


class LoopStep(Step):
    """A comprehension: a loop over a list or map, or a binding if the range is empty."""

    __slots__ = (
        "accumulator", "condition", "initial", "range", "result", "second", "step", "variable",
    )  # fmt: skip

    def __init__(
        self,
        *,
        over: Step,
        initial: Step,
        condition: Step,
        step: Step,
        result: Step,
        variable: int,
        second: int,
        accumulator: int,
    ) -> None:
        self.range = over
        self.initial = initial
        self.condition = condition
        self.step = step
        self.result = result
        self.variable = variable
        self.second = second
        self.accumulator = accumulator

    def run(self, frame: Frame) -> Value:
        """Return the result of the loop."""
        container = self.range.run(frame)
        if container.__class__ is ErrorValue:
            return container
        if not isinstance(container, list | dict):
            name = go_type_of(container)
            if self.second >= 0:
                return ErrorValue(f"unsupported comprehension range type: {name}")
            return ErrorValue(f"got '{name}', expected iterable type")
        # The value of a binding is computed when it is first read, the start of a loop too.
        frame.locals[self.accumulator] = (
            self.initial.value
            if isinstance(self.initial, ConstantStep)
            else Lazy(lambda: self.initial.run(frame))
        )
        for first, second in self._items(container):
            frame.locals[self.variable] = first
            if self.second >= 0:
                frame.locals[self.second] = second
            if self.condition.run(frame) is False:
                break
            frame.locals[self.accumulator] = self.step.run(frame)
        return self.result.run(frame)

    def _items(self, container: Value) -> Iterator[tuple[Value, Value]]:
        if isinstance(container, dict):
            return iter(container.items())
        if self.second >= 0:
            return iter(enumerate(container))
        return ((item, None) for item in container)


# Steps of calls: functions, `in`, and the alternatives of optional values.

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


def guarded(function: Function, overload: Overload, *, names_types: bool) -> Callable[..., Value]:
    """Return the implementation of an overload that checks the types of its arguments."""
    implementation = overload.implementation

    def call(*values: Value) -> Value:
        if overload.accepts(values):
            return implementation(*values)
        if names_types:
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
            # What is no optional at run time counts as its own value, as in upstream's evaluator.
            return value
        if not value.is_present:
            return self.fallback.run(frame)
        return value.value if self.unwraps else value
