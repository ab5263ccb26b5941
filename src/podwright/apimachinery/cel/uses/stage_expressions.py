"""Expressions of KWOK: selectors, delays and weights of stages, over `self`; usage of containers.

The time is the variable `@now`, which KWOK's functions of the time expand to. KWOK checks pods and
nodes against their Go types; here `self` is dynamic, so a misspelled field is an error of the
evaluation.

Upstream: KWOK pkg/utils/cel, pkg/utils/lifecycle, pkg/kwok/metrics/evaluator.go;
github.com/wzshiming/easycel (the environment)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isfinite
from typing import ClassVar, Final

from podwright.apimachinery.cel.environment import Environment
from podwright.apimachinery.cel.expressions import Expression
from podwright.apimachinery.cel.functions.formats import parse_duration, parse_timestamp
from podwright.apimachinery.cel.functions.formatting import STRING_LIBRARY
from podwright.apimachinery.cel.functions.list_functions import OPTIONAL_LIBRARY
from podwright.apimachinery.cel.functions.quantities import QuantityValue, quantity_of
from podwright.apimachinery.cel.functions.standard import STANDARD_LIBRARY
from podwright.apimachinery.cel.macros import STANDARD_MACROS, MacroCall, MacroError, Macros
from podwright.apimachinery.cel.program import Program
from podwright.apimachinery.cel.types import DYN, TIMESTAMP, combine, library_of
from podwright.apimachinery.cel.values import (
    INT_MAX,
    INT_MIN,
    NANOSECONDS,
    CompileError,
    Duration,
    ErrorValue,
    ProgramError,
    Timestamp,
    Value,
)
from podwright.apimachinery.objects import Document, Quantity

_NOW = "@now"


class StageExpressionError(ValueError):
    """An expression does not compile, or its evaluation failed."""


# --------------------------------------------------------------------------- KWOK's functions


def _now(call: MacroCall) -> Expression:
    return call.identifier(_NOW)


def _since_second(call: MacroCall) -> Expression:
    argument = call.args[0] if call.target is None else call.target
    return call.call("@sinceSecond", call.identifier(_NOW), argument)


def _rand(call: MacroCall) -> Expression:
    raise MacroError(
        call.offset,
        "Rand() is not supported: a run is reproducible; stages have weight and jitterDuration",
    )


def _seconds_since(now: Value, value: Value) -> Value:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    created = metadata.get("creationTimestamp") if isinstance(metadata, dict) else None
    if isinstance(created, str):
        created = parse_timestamp(created)
    if not isinstance(created, Timestamp):
        return ErrorValue("no such key: creationTimestamp")
    return (now.ns - created.ns) / NANOSECONDS


class StageQuantity(QuantityValue):
    """A quantity with KWOK's operators."""

    operators: ClassVar[Mapping[str, Callable[[Value, Value], Value]]] = {}
    __slots__ = ()


def _quantity(nano: int) -> StageQuantity:
    return StageQuantity(Quantity(nano, -9))


def _with_quantity(operation: Callable[[int, int], Value]) -> Callable[[Value, Value], Value]:
    def operator(left: Value, right: Value) -> Value:
        if not isinstance(right, QuantityValue):
            return ErrorValue("no such overload")
        return operation(left.nano, right.nano)

    return operator


def _multiplied(left: Value, right: Value) -> Value:
    if isinstance(right, float):
        return _quantity(int(left.nano * right))
    return _scaled(left, right, lambda nano, number: nano * number)


def _divided(left: Value, right: Value) -> Value:
    if isinstance(right, float) and right:
        return _quantity(int(left.nano / right))
    if right == 0:
        return ErrorValue("division by zero")
    return _scaled(left, right, lambda nano, number: int(nano / number))


def _scaled(left: Value, right: Value, operation: Callable[[int, int], int]) -> Value:
    if not isinstance(right, int) or isinstance(right, bool):
        return ErrorValue("no such overload")
    return _quantity(operation(left.nano, int(right)))


StageQuantity.operators = {
    "+": _with_quantity(lambda left, right: _quantity(left + right)),
    "-": _with_quantity(lambda left, right: _quantity(left - right)),
    "<=>": _with_quantity(lambda left, right: -1 if left < right else int(left > right)),
    "*": _multiplied,
    "/": _divided,
    "-1": lambda value, _: _quantity(-value.nano),
}


def _parse_quantity(text: Value) -> Value:
    value = quantity_of(text)
    return value if isinstance(value, ErrorValue) else StageQuantity(value.quantity)


def _unreachable(*values: Value) -> Value:
    raise AssertionError(f"the operator has an implementation: {values}")


_TYPE = "kubernetes.Quantity"
_KWOK_LIBRARY: Final = library_of(
    {
        "@sinceSecond": _seconds_since,
        "UnixSecond": lambda value: value.ns / NANOSECONDS,
        "Quantity": _parse_quantity,
        # The operators of the language find the operators of the value themselves.
        **dict.fromkeys(
            ("_+_", "_-_", "_*_", "_/_", "-_", "_<_", "_<=_", "_>_", "_>=_"), _unreachable
        ),
    },
    "\n".join(
        [
            "kwok_since: @sinceSecond(timestamp, dyn) -> double",
            "kwok_unix: UnixSecond(timestamp) -> double",
            "kwok_unix_member: timestamp.UnixSecond() -> double",
            f"kwok_quantity: Quantity(string) -> {_TYPE}",
            f"kwok_quantity_member: string.Quantity() -> {_TYPE}",
            f"kwok_negate: -_({_TYPE}) -> {_TYPE}",
            *(f"kwok_{name}: _{name}_({_TYPE}, {_TYPE}) -> {_TYPE}" for name in "+-"),
            *(
                f"kwok_{name}_{number}: _{name}_({_TYPE}, {number}) -> {_TYPE}"
                for name in "*/"
                for number in ("int", "uint", "double")
            ),
            *(
                f"kwok_{name}: _{name}_({_TYPE}, {_TYPE}) -> bool"
                for name in ("<", "<=", ">", ">=")
            ),
        ]
    ),
)
_KWOK: Final = Environment(
    # KWOK has no optional values. With them an index of a dynamic value is dynamic; without them
    # the checker takes `self.metadata.annotations["n"]` in `int(...)` for an integer.
    combine([STANDARD_LIBRARY, STRING_LIBRARY, OPTIONAL_LIBRARY, _KWOK_LIBRARY]),
    STANDARD_MACROS
    | Macros(
        {
            ("Now", 0, False): _now,
            ("SinceSecond", 1, False): _since_second,
            ("SinceSecond", 0, True): _since_second,
            ("Rand", 0, False): _rand,
        }
    ),
    {_NOW: TIMESTAMP},
)
_OF_STAGES: Final = _KWOK.extended(variables={"self": DYN})
_OF_USAGE: Final = _KWOK.extended(variables={"pod": DYN, "node": DYN, "container": DYN})


# --------------------------------------------------------------------------- evaluation


def _program(environment: Environment, source: str) -> Program:
    try:
        return environment.compile(source).program()
    except (CompileError, ProgramError) as error:
        # The marker below the expression is left out: the message is part of a longer one.
        raise StageExpressionError(str(error).partition("\n")[0]) from None


def _result(program: Program, source: str, now_ns: int, **variables: Value) -> Value:
    value, _ = program.run({**variables, _NOW: Timestamp(now_ns)})
    if isinstance(value, ErrorValue):
        raise StageExpressionError(f"{source}: {value.message}")
    return value


class UsageExpression:
    """A compiled expression of what a container uses."""

    def __init__(self, source: str) -> None:
        self._program = _program(_OF_USAGE, source)
        self._source = source

    def nano(self, *, pod: Document, node: Document, container: Document, now_ns: int) -> int:
        """Return the amount in units of 10^-9.

        Raises
        ------
        StageExpressionError
            The evaluation failed, or gave something else than an amount.
        """
        value = _result(
            self._program,
            self._source,
            now_ns,
            pod=_with_maps(self_of(pod)),
            node=_with_maps(self_of(node)),
            container=_container(container),
        )
        if isinstance(value, QuantityValue):
            return value.nano
        # KWOK takes the nanoseconds of a duration for units.
        number = value.ns if isinstance(value, Duration) else value
        if isinstance(number, int | float) and isfinite(number):
            return int(number * NANOSECONDS)
        raise StageExpressionError(f"{self._source}: not an amount")


def _with_maps(document: Document) -> Document:
    """Return an object whose metadata has labels and annotations, as a Go object has."""
    metadata = {"annotations": {}, "labels": {}, **(document.get("metadata") or {})}
    return document | {"metadata": metadata}


class StageExpression:
    """A compiled expression.

    Attributes
    ----------
    source : str
        Its text.
    """

    def __init__(self, source: str) -> None:
        self._program = _program(_OF_STAGES, source)
        self.source = source

    def __reduce__(self) -> tuple[type[StageExpression], tuple[str]]:
        """Pickle the text."""
        return StageExpression, (self.source,)

    def evaluate(self, document: Document, now_ns: int) -> Value:
        """Return the value for an object.

        Raises
        ------
        StageExpressionError
            The evaluation failed.
        """
        return _result(self._program, self.source, now_ns, self=self_of(document))

    def is_true(self, document: Document, now_ns: int) -> bool:
        """Return whether the expression is true.

        Raises
        ------
        StageExpressionError
            The evaluation failed, or gave something else than true and false.
        """
        value = self.evaluate(document, now_ns)
        if not isinstance(value, bool):
            raise StageExpressionError(f"{self.source}: neither true nor false")
        return value

    def duration_ns(self, document: Document, now_ns: int) -> int:
        """Return the value as a duration: a duration, its text, or nanoseconds.

        Raises
        ------
        StageExpressionError
            The evaluation failed, or gave something else.
        """
        value = self.evaluate(document, now_ns)
        parsed = parse_duration(value) if isinstance(value, str) else value
        if isinstance(parsed, Duration):
            return parsed.ns
        if isinstance(parsed, int | float) and not isinstance(parsed, bool):
            return _as_int64(parsed)
        raise StageExpressionError(f"{self.source}: not a duration")

    def integer(self, document: Document, now_ns: int) -> int:
        """Return the value as an integer; a boolean is 0 or 1, a duration its nanoseconds.

        Raises
        ------
        StageExpressionError
            The evaluation failed, or gave something else.
        """
        value = self.evaluate(document, now_ns)
        if isinstance(value, Duration):
            return value.ns
        if isinstance(value, int | float):
            return _as_int64(value)
        raise StageExpressionError(f"{self.source}: not a number")


def _as_int64(value: float) -> int:
    return max(INT_MIN, min(int(value), INT_MAX))


@lru_cache(maxsize=1024)
def stage_expression(source: str) -> StageExpression:
    """Compile an expression of a stage.

    Raises
    ------
    StageExpressionError
        It does not compile.
    """
    return StageExpression(source)


@lru_cache(maxsize=1024)
def usage_expression(source: str) -> UsageExpression:
    """Compile an expression of what a container uses.

    Raises
    ------
    StageExpressionError
        It does not compile.
    """
    return UsageExpression(source)


def self_of(document: Document) -> Document:
    """Return `self` for an object: pods and nodes have times and quantities as values.

    KWOK reads these two kinds as Go objects and all others as JSON, where times are texts.
    """
    if document.get("kind") not in ("Node", "Pod"):
        return document
    converted = dict(document)
    for path in _TIMES:
        _convert(converted, path, _time)
    for path in _RESOURCES:
        _convert(converted, path, _resource_list)
    for field in ("containers", "initContainers"):
        _convert(converted, ("spec", field), _containers)
    return converted


_TIMES: Final = (
    ("metadata", "creationTimestamp"),
    ("metadata", "deletionTimestamp"),
    ("status", "startTime"),
)
_RESOURCES: Final = (("status", "allocatable"), ("status", "capacity"), ("spec", "overhead"))


def _convert(document: Document, path: tuple[str, str], convert: Callable[[Value], Value]) -> None:
    parent = document.get(path[0])
    if isinstance(parent, dict) and parent.get(path[1]) is not None:
        document[path[0]] = {**parent, path[1]: convert(parent[path[1]])}


def _time(text: Value) -> Value:
    return parse_timestamp(text) or text if isinstance(text, str) else text


def _resource_list(resources: Value) -> Value:
    if not isinstance(resources, dict):
        return resources
    return {name: _parse_quantity(str(text)) for name, text in resources.items()}


def _containers(containers: Value) -> Value:
    return [_container(each) if isinstance(each, dict) else each for each in containers]


def _container(container: Document) -> Document:
    converted = dict(container)
    for field in ("requests", "limits"):
        _convert(converted, ("resources", field), _resource_list)
    return converted
