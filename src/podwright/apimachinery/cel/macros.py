"""Macros: calls that expand to loops, bindings and presence tests.

Upstream: cel-go parser/macro.go, cel/library.go (optMap), ext/bindings.go, ext/lists.go (sortBy),
ext/comprehensions.go
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from podwright.apimachinery.cel.expressions import (
    Call,
    Comprehension,
    Constant,
    CreateList,
    CreateMap,
    CreateStruct,
    Expression,
    Identifier,
    Select,
)
from podwright.apimachinery.cel.values import Value

ACCUMULATOR: Final = "@result"
"""The name of the loop variable that holds the result; no expression can contain it."""

UNUSED: Final = "#unused"
"""The name of the loop variable of a binding, which has no loop."""

_SORT_INPUT = "@__sortBy_input__"
_SIMPLE_NAME = "argument must be a simple name"
_IDENTIFIER = "argument is not an identifier"
_OLD_ACCUMULATOR = "__result__"
_NO_LIST = (
    "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
)


class MacroError(Exception):
    """A macro is used wrongly."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


Expander: TypeAlias = Callable[["MacroCall"], Expression]


class MacroCall:
    """A call that may be a macro, and the nodes that its expansion needs."""

    def __init__(self, target: Expression | None, args: list[Expression], offset: int) -> None:
        self.target = target
        self.args = args
        self.offset = offset

    @property
    def receiver(self) -> Expression:
        """The target of a member call."""
        assert self.target is not None, "a member macro has a target"
        return self.target

    def variable(self, index: int, message: str = _SIMPLE_NAME) -> str:
        """Return the name that an argument is; anything else is an error."""
        node = self.args[index]
        if not isinstance(node, Identifier):
            raise MacroError(node.offset, message)
        return node.name

    def constant(self, value: Value) -> Constant:
        """Return a literal."""
        return Constant(value, offset=self.offset)

    def identifier(self, name: str = ACCUMULATOR) -> Identifier:
        """Return a name, that of the accumulator by default."""
        return Identifier(name, offset=self.offset)

    def call(self, function: str, *args: Expression) -> Call:
        """Return a call."""
        return Call(function, list(args), offset=self.offset)

    def member(self, function: str, target: Expression, *args: Expression) -> Call:
        """Return a member call."""
        return Call(function, list(args), target, offset=self.offset)

    def list(self, *elements: Expression) -> CreateList:
        """Return a list."""
        return CreateList(list(elements), offset=self.offset)

    def loop(
        self,
        variables: tuple[str, str],
        *,
        initial: Expression,
        condition: Expression,
        step: Expression,
        result: Expression | None = None,
        over: Expression | None = None,
    ) -> Comprehension:
        """Return a loop over the target, or over another range."""
        return Comprehension(
            range=self.receiver if over is None else over,
            variable=variables[0],
            second_variable=variables[1],
            accumulator=ACCUMULATOR,
            initial=initial,
            condition=condition,
            step=step,
            result=result or self.identifier(),
            offset=self.offset,
        )

    def bind(self, name: str, value: Expression, result: Expression) -> Comprehension:
        """Return a binding of a name to a value in a result."""
        return Comprehension(
            range=self.list(),
            variable=UNUSED,
            accumulator=name,
            initial=value,
            condition=self.constant(value=False),
            step=self.identifier(name),
            result=result,
            offset=self.offset,
        )


class Macros:
    """The macros of an environment, by name, number of arguments and kind of call."""

    def __init__(self, macros: Mapping[tuple[str, int, bool], Expander]) -> None:
        self._macros = dict(macros)

    def __or__(self, other: Macros) -> Macros:
        return Macros({**self._macros, **other._macros})

    def expand(
        self, function: str, target: Expression | None, args: list[Expression], offset: int
    ) -> Expression | None:
        """Return the expansion of a call; None if it is not a macro.

        Raises
        ------
        MacroError
            The arguments do not fit the macro.
        """
        expander = self._macros.get((function, len(args), target is not None))
        return None if expander is None else expander(MacroCall(target, args, offset))


# --------------------------------------------------------------------------- standard macros


def _has(call: MacroCall) -> Expression:
    (argument,) = call.args
    if not isinstance(argument, Select):
        raise MacroError(argument.offset, "invalid argument to has() macro")
    return Select(argument.operand, argument.field, is_test=True, offset=call.offset)


def _variables(call: MacroCall, count: int, message: str = _SIMPLE_NAME) -> tuple[str, str]:
    names = [call.variable(index, message) for index in range(count)]
    if len(set(names)) < count:
        raise MacroError(call.args[1].offset, f"duplicate variable name: {names[0]}")
    if _OLD_ACCUMULATOR in names:
        offset = call.args[names.index(_OLD_ACCUMULATOR)].offset
        raise MacroError(offset, "iteration variable overwrites accumulator variable")
    return names[0], names[1] if count == 2 else ""


def _all(call: MacroCall) -> Expression:
    return call.loop(
        _variables(call, len(call.args) - 1),
        initial=call.constant(value=True),
        condition=call.call("@not_strictly_false", call.identifier()),
        step=call.call("_&&_", call.identifier(), call.args[-1]),
    )


def _exists(call: MacroCall) -> Expression:
    return call.loop(
        _variables(call, len(call.args) - 1),
        initial=call.constant(value=False),
        condition=call.call("@not_strictly_false", call.call("!_", call.identifier())),
        step=call.call("_||_", call.identifier(), call.args[-1]),
    )


def _exists_one(call: MacroCall) -> Expression:
    return call.loop(
        _variables(call, len(call.args) - 1),
        initial=call.constant(0),
        condition=call.constant(value=True),
        step=call.call(
            "_?_:_",
            call.args[-1],
            call.call("_+_", call.identifier(), call.constant(1)),
            call.identifier(),
        ),
        result=call.call("_==_", call.identifier(), call.constant(1)),
    )


def _collect(
    call: MacroCall,
    variables: tuple[str, str],
    element: Expression,
    condition: Expression | None,
    over: Expression | None = None,
) -> Expression:
    step: Expression = call.call("_+_", call.identifier(), call.list(element))
    if condition is not None:
        step = call.call("_?_:_", condition, step, call.identifier())
    return call.loop(
        variables, initial=call.list(), condition=call.constant(value=True), step=step, over=over
    )


def _map(call: MacroCall) -> Expression:
    condition = call.args[1] if len(call.args) == 3 else None
    return _collect(call, _variables(call, 1, _IDENTIFIER), call.args[-1], condition)


def _filter(call: MacroCall) -> Expression:
    return _collect(call, _variables(call, 1, _IDENTIFIER), call.args[0], call.args[1])


# --------------------------------------------------------------------------- extensions


def _transform_list(call: MacroCall) -> Expression:
    condition = call.args[2] if len(call.args) == 4 else None
    return _collect(call, _variables(call, 2), call.args[-1], condition)


def _transform_map(call: MacroCall) -> Expression:
    key = call.identifier(call.variable(0))
    return _insert(call, call.call("cel.@mapInsert", call.identifier(), key, call.args[-1]))


def _transform_map_entry(call: MacroCall) -> Expression:
    return _insert(call, call.call("cel.@mapInsert", call.identifier(), call.args[-1]))


def _insert(call: MacroCall, step: Expression) -> Expression:
    if len(call.args) == 4:
        step = call.call("_?_:_", call.args[2], step, call.identifier())
    return call.loop(
        _variables(call, 2),
        initial=CreateMap([], offset=call.offset),
        condition=call.constant(value=True),
        step=step,
    )


def _bind(call: MacroCall) -> Expression:
    if not isinstance(call.target, Identifier) or call.target.name != "cel":
        return call.member("bind", call.receiver, *call.args)
    name = call.variable(0, "cel.bind() variable names must be simple identifiers")
    return call.bind(name, call.args[1], call.args[2])


def _sort_by(call: MacroCall) -> Expression:
    if isinstance(call.receiver, Constant | CreateMap | CreateStruct):
        raise MacroError(call.receiver.offset, _NO_LIST)
    variables, over = _variables(call, 1, _IDENTIFIER), call.identifier(_SORT_INPUT)
    keys = _collect(call, variables, call.args[1], None, over)
    result = call.member("@sortByAssociatedKeys", call.identifier(_SORT_INPUT), keys)
    return call.bind(_SORT_INPUT, call.receiver, result)


def _opt_map(call: MacroCall) -> Expression:
    name = call.variable(0, "optMap() variable name must be a simple identifier")
    value = call.bind(name, call.member("value", copy.deepcopy(call.receiver)), call.args[1])
    return _if_present(call, call.call("optional.of", value))


def _opt_flat_map(call: MacroCall) -> Expression:
    name = call.variable(0, "optFlatMap() variable name must be a simple identifier")
    value = call.bind(name, call.member("value", copy.deepcopy(call.receiver)), call.args[1])
    return _if_present(call, value)


def _if_present(call: MacroCall, result: Expression) -> Expression:
    return call.call(
        "_?_:_", call.member("hasValue", call.receiver), result, call.call("optional.none")
    )


STANDARD_MACROS: Final = Macros(
    {
        ("has", 1, False): _has,
        ("all", 2, True): _all,
        ("exists", 2, True): _exists,
        ("exists_one", 2, True): _exists_one,
        ("map", 2, True): _map,
        ("map", 3, True): _map,
        ("filter", 2, True): _filter,
    }
)
"""The macros of the language."""

TWO_VARIABLE_MACROS: Final = Macros(
    {
        ("all", 3, True): _all,
        ("exists", 3, True): _exists,
        ("exists_one", 3, True): _exists_one,
        ("existsOne", 3, True): _exists_one,
        ("transformList", 3, True): _transform_list,
        ("transformList", 4, True): _transform_list,
        ("transformMap", 3, True): _transform_map,
        ("transformMap", 4, True): _transform_map,
        ("transformMapEntry", 3, True): _transform_map_entry,
        ("transformMapEntry", 4, True): _transform_map_entry,
    }
)
"""Loops with a variable for keys or indices and one for values."""

OPTIONAL_MACROS: Final = Macros(
    {
        ("optMap", 2, True): _opt_map,
        ("optFlatMap", 2, True): _opt_flat_map,
    }
)
"""Macros on optional values."""

BIND_MACROS: Final = Macros({("bind", 3, True): _bind})
"""`cel.bind`."""

SORT_MACROS: Final = Macros({("sortBy", 2, True): _sort_by})
"""`list.sortBy`."""
