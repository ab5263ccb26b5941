"""From a checked expression to a program.

Constant lists and maps, conversions of constants and `in` a constant list are computed here, as
upstream does with its optimization on; that shows in the cost.

Upstream: cel-go interpreter/planner.go, interpreter/decorators.go; cel-go
interpreter/attributes.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from podwright.apimachinery.cel.call_costs import call_cost
from podwright.apimachinery.cel.expressions import (
    Call,
    Comprehension,
    Constant,
    CreateList,
    CreateMap,
    CreateStruct,
    Entry,
    Expression,
    Identifier,
    Select,
)
from podwright.apimachinery.cel.functions.formats import PatternError, compile_pattern
from podwright.apimachinery.cel.steps import (
    CallStep,
    ConditionalStep,
    ConstantStep,
    Frame,
    Lazy,
    ListStep,
    LogicalStep,
    LoopStep,
    ManyArgumentsStep,
    MapStep,
    MembershipStep,
    OptionalOrStep,
    Step,
    by_type,
    display,
    go_type_of,
    guarded,
    with_trait,
)
from podwright.apimachinery.cel.types import Function
from podwright.apimachinery.cel.values import (
    NONE,
    CostLimitError,
    ErrorValue,
    EvaluationPanicError,
    Optional,
    ProgramError,
    TypeValue,
    Uint,
    Value,
    find_key,
    present,
    type_name,
)

_CONVERSIONS: Final = frozenset({
    "bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint",
})  # fmt: skip
_INDEXES: Final = {"_[_]": False, "_[?_]": True, "_?._": True}
_PATTERN_FUNCTIONS: Final = frozenset({"matches", "find", "findAll"})
_ALWAYS: Final = 2**64
_ABSENT: Final = Optional()
_KEYS: Final = (str, int, float)
"""The types of keys and indexes; a truth value is an int."""
"""What an optional part of a path does not have; an optional value may be another one."""


class Program:
    """An expression that can be evaluated."""

    def __init__(self, root: Step, local_count: int) -> None:
        self._root = root
        self._local_count = local_count

    def run(self, variables: dict[str, Value], limit: int = _ALWAYS) -> tuple[Value, int]:
        """Evaluate with the values of the variables.

        Returns
        -------
        tuple of Value and int
            The value, an `ErrorValue` if it failed, and the cost.
        """
        frame = Frame(variables, limit, self._local_count)
        try:
            return self._root.run(frame), frame.cost
        except (CostLimitError, EvaluationPanicError) as error:
            return ErrorValue(str(error)), frame.cost
        except RecursionError:
            return ErrorValue("expression recursion limit exceeded"), frame.cost


def build_program(root: Expression, functions: Mapping[str, Function]) -> Program:
    """Build the program of a checked expression.

    Raises
    ------
    ProgramError
        A constant part fails.
    """
    planner = _Planner(functions)
    try:
        step = planner.plan(root)
    except RecursionError:
        raise ProgramError("expression recursion limit exceeded") from None
    return Program(step, planner.local_count)


class _Planner:
    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.local_count = 0
        self._functions = functions
        self._scopes: list[dict[str, int]] = []

    def plan(self, node: Expression) -> Step:
        match node:
            case Constant():
                return ConstantStep(node.value)
            case Identifier():
                return self._plan_name(node)
            case Select():
                return self._plan_select(node)
            case Call():
                return self._plan_call(node)
            case CreateList():
                return self._plan_list(node)
            case CreateMap():
                return self._plan_map(node.entries)
            case CreateStruct():
                return MapStep(self._entries(node.entries), node.name.removeprefix("."))
            case Comprehension():
                return self._plan_loop(node)

    # ------------------------------------------------------------------ attributes

    def _plan_name(self, node: Identifier) -> Step:
        if node.is_type:
            return ConstantStep(TypeValue(str(node.type.parameters[0]).partition("(")[0]))
        name = node.name.removeprefix(".")
        for scope in reversed(self._scopes):
            if name in scope:
                return LocalStep(scope[name])
        return VariableStep(name)

    def _plan_select(self, node: Select) -> Step:
        if node.reference:
            if node.type.kind == "type":
                return ConstantStep(TypeValue(node.reference))
            return VariableStep(node.reference)
        operand = self.plan(node.operand)
        if node.is_test:
            return PresenceStep(_extended(operand), node.field)
        return _extended(operand, Qualifier(ConstantStep(node.field)))

    # ------------------------------------------------------------------ calls

    def _plan_call(self, node: Call) -> Step:
        targets = [] if node.target is None else [node.target]
        args = tuple(self.plan(arg) for arg in (*targets, *node.args))
        match node.function:
            case "_?_:_":
                return ConditionalStep(*args)
            case "_&&_" | "_||_":
                return LogicalStep(node.function, *args)
            case "_[_]" | "_[?_]" | "_?._":
                is_optional = _INDEXES[node.function]
                return _extended(args[0], Qualifier(args[1], is_optional=is_optional))
            case "or" | "orValue" if node.target is not None:
                return OptionalOrStep(*args, unwraps=node.function == "orValue")
            case "@in" if node.overloads == ("in_list",) and _is_set(args[1]):
                assert isinstance(args[1], ConstantStep)
                return MembershipStep(args[0], args[1].value)
        return self._plan_function(node, args)

    def _plan_function(self, node: Call, args: tuple[Step, ...]) -> Step:
        name = node.function.removeprefix(".")
        function = self._functions[name]
        overload = node.overloads[0] if len(node.overloads) == 1 else ""
        cost = call_cost(name, overload)
        has_pattern = (
            name in _PATTERN_FUNCTIONS and len(args) > 1 and isinstance(args[1], ConstantStep)
        )
        step: CallStep | ManyArgumentsStep
        if function.singleton is not None:
            is_strict = name != "@not_strictly_false"
            step = CallStep(with_trait(function), args, cost, is_strict=is_strict)
        elif not overload:
            step = ManyArgumentsStep(by_type(function), args, cost)
        else:
            # The compiled pattern checks its arguments itself, without their types in the error.
            implementation = guarded(
                function,
                function.overloads[overload],
                names_types=function.is_guarded and not has_pattern,
            )
            kind = CallStep if len(args) <= 2 else ManyArgumentsStep
            step = kind(implementation, args, cost)
        if has_pattern:
            assert isinstance(args[1], ConstantStep)
            _check_pattern(args[1].value)
            # Upstream calls the compiled pattern with a list of arguments.
            step = ManyArgumentsStep(step.implementation, args, cost)
        if name in _CONVERSIONS and len(args) == 1 and isinstance(args[0], ConstantStep):
            value, _ = Program(step, 0).run({})
            if isinstance(value, ErrorValue):
                raise ProgramError(value.message)
            return ConstantStep(value)
        return step

    # ------------------------------------------------------------------ literals and loops

    def _plan_list(self, node: CreateList) -> Step:
        elements = tuple(self.plan(element) for element in node.elements)
        constants = [step.value for step in elements if isinstance(step, ConstantStep)]
        if len(constants) == len(elements) and not node.optional_indices:
            return ConstantStep(constants)
        return ListStep(elements, node.optional_indices)

    def _entries(self, entries: list[Entry]) -> tuple[tuple[Step, Step, bool], ...]:
        return tuple(
            (
                ConstantStep(entry.key) if isinstance(entry.key, str) else self.plan(entry.key),
                self.plan(entry.value),
                entry.is_optional,
            )
            for entry in entries
        )

    def _plan_map(self, entries: list[Entry]) -> Step:
        planned = self._entries(entries)
        step = MapStep(planned)
        if all(
            isinstance(key, ConstantStep) and isinstance(value, ConstantStep) and not is_optional
            for key, value, is_optional in planned
        ):
            value, _ = Program(step, 0).run({})
            if isinstance(value, ErrorValue):
                raise ProgramError(value.message)
            return ConstantStep(value)
        return step

    def _plan_loop(self, node: Comprehension) -> Step:
        over = self.plan(node.range)
        initial = self.plan(node.initial)
        accumulator = self._new_local()
        variable = self._new_local()
        second = self._new_local() if node.second_variable else -1
        self._scopes.append({node.accumulator: accumulator})
        variables = {node.variable: variable}
        if node.second_variable:
            variables[node.second_variable] = second
        self._scopes.append(variables)
        condition = self.plan(node.condition)
        step = self.plan(node.step)
        self._scopes.pop()
        result = self.plan(node.result)
        self._scopes.pop()
        return LoopStep(
            over=over,
            initial=initial,
            condition=condition,
            step=step,
            result=result,
            variable=variable,
            second=second,
            accumulator=accumulator,
        )

    def _new_local(self) -> int:
        self.local_count += 1
        return self.local_count - 1


def _extended(operand: Step, *qualifiers: Qualifier) -> PathStep:
    if isinstance(operand, PathStep):
        return PathStep(operand.root, (*operand.qualifiers, *qualifiers))
    return PathStep(operand, qualifiers)


def _is_set(step: Step) -> bool:
    if not isinstance(step, ConstantStep) or not isinstance(step.value, list):
        return False
    return all(isinstance(value, bool | int | float | str | bytes) for value in step.value)


def _check_pattern(pattern: Value) -> None:
    if not isinstance(pattern, str):
        return  # an error of the call
    try:
        compile_pattern(pattern)
    except PatternError as error:
        raise ProgramError(str(error)) from None


# Steps of attributes: variables, fields, indices, and `has`.


class VariableStep(Step):
    """A variable of the environment."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, frame: Frame) -> Value:
        """Return its value."""
        value = self.resolve(frame)
        frame.spend(1)
        return value

    def resolve(self, frame: Frame) -> Value:
        """Return its value; a value that is computed on demand is computed once."""
        try:
            value = frame.variables[self.name]
        except KeyError:
            return ErrorValue(f"no such attribute(s): {self.name}")
        return value() if isinstance(value, Lazy) else value


class LocalStep(Step):
    """A variable of a loop."""

    __slots__ = ("slot",)

    def __init__(self, slot: int) -> None:
        self.slot = slot

    def run(self, frame: Frame) -> Value:
        """Return its value."""
        value = self.resolve(frame)
        frame.spend(1)
        return value

    def resolve(self, frame: Frame) -> Value:
        """Return its value; that of a binding is computed when it is first read."""
        value = frame.locals[self.slot]
        return value() if value.__class__ is Lazy else value


class PathStep(Step):
    """Fields and indices of a root: `device.attributes["x"].model`."""

    __slots__ = ("cost", "qualifiers", "root")

    def __init__(self, root: Step, qualifiers: tuple[Qualifier, ...]) -> None:
        self.root = root
        self.qualifiers = qualifiers
        self.cost = 0 if isinstance(root, ConditionalStep) else 1

    def run(self, frame: Frame) -> Value:
        """Return the value at the end of the path."""
        value = self.resolve(frame)
        frame.spend(self.cost)
        return value

    def resolve(self, frame: Frame) -> Value:
        """Return the value at the end of the path, without the cost of the root's name."""
        is_optional, value = self.follow(frame)
        if value is _ABSENT:
            return NONE
        return present(value) if is_optional and value.__class__ is not ErrorValue else value

    def follow(self, frame: Frame) -> tuple[bool, Value]:
        """Return whether what is missing at the end is absent, and the value or `_ABSENT`."""
        value = self.root.resolve(frame)
        is_optional = value.__class__ is Optional
        if is_optional:
            value = value.value if value.is_present else _ABSENT
        for qualifier in self.qualifiers:
            if value is _ABSENT or value.__class__ is ErrorValue:
                break
            is_optional = is_optional or qualifier.is_optional
            found, value = qualifier.apply(frame, value, is_optional=is_optional)
            if not found:
                value = _ABSENT
        return is_optional, value


class Qualifier:
    """A field or index of a path."""

    __slots__ = ("is_optional", "key")

    def __init__(self, key: Step, *, is_optional: bool = False) -> None:
        self.key = key
        self.is_optional = is_optional

    def apply(self, frame: Frame, value: Value, *, is_optional: bool) -> tuple[bool, Value]:
        """Return whether there is a value, and the value; what is missing is an error.

        After an optional qualifier the others are optional too.
        """
        key = self.key.resolve(frame)
        if key.__class__ is ErrorValue:
            if not is_optional:
                frame.spend(1)
            return True, key
        found, item = lookup(value, key)
        if found or not is_optional:
            frame.spend(1)
            return True, item
        return item.__class__ is ErrorValue and not _is_missing(item), item


def _is_missing(error: ErrorValue) -> bool:
    return error.message.startswith(("no such key", "index out of bounds"))


def lookup(container: Value, key: Value) -> tuple[bool, Value]:
    """Return whether a map or list has an entry, and the entry or the error of its absence."""
    if not isinstance(key, _KEYS):
        return False, ErrorValue(f"invalid qualifier type: {go_type_of(key)}")
    if isinstance(container, dict):
        found, value = find_key(container, key)
        return (True, value) if found else (False, ErrorValue(f"no such key: {display(key)}"))
    if isinstance(container, list):
        index = _list_index(key)
        if isinstance(index, ErrorValue):
            return False, index
        if 0 <= index < len(container):
            return True, container[index]
        return False, ErrorValue(f"index out of bounds: {index}")
    return False, ErrorValue(f"no such key: {display(key)}")


def _list_index(key: Value) -> int | ErrorValue:
    if key.__class__ in (int, Uint):
        return int(key)
    if key.__class__ is float:
        if key == int(key):
            return int(key)
        return ErrorValue(f"unsupported index value {key} in list")
    return ErrorValue(f"unsupported index type '{type_name(key)}' in list")


class PresenceStep(Step):
    """`has(path.field)`: the test costs what a name does."""

    __slots__ = ("field", "path")

    def __init__(self, path: PathStep, field: str) -> None:
        self.path = path
        self.field = field

    def run(self, frame: Frame) -> Value:
        """Return whether the value at the end of the path has the field."""
        result = self._test(frame)
        # Upstream subtracts the cost of a path, which a conditional has not.
        frame.spend(self.path.cost - 1)
        return result

    def _test(self, frame: Frame) -> Value:
        is_optional, value = self.path.follow(frame)
        if value.__class__ is ErrorValue:
            return value
        if value is _ABSENT:
            return False
        found, item = lookup(value, self.field)
        if found or not is_optional:
            frame.spend(1)
        return found if found or _is_missing(item) else item
