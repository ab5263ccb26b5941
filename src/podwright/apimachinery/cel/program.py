"""From a checked expression to a program.

Constant lists and maps, conversions of constants and `in` a constant list are computed here, as
upstream does with its optimization on; that shows in the cost.

Upstream: cel-go interpreter/planner.go, interpreter/decorators.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from podwright.apimachinery.cel.attribute_steps import (
    LocalStep,
    PathStep,
    PresenceStep,
    Qualifier,
    VariableStep,
)
from podwright.apimachinery.cel.call_costs import call_cost
from podwright.apimachinery.cel.call_steps import (
    CallStep,
    ManyArgumentsStep,
    MembershipStep,
    OptionalOrStep,
    by_type,
    guarded,
    with_trait,
)
from podwright.apimachinery.cel.declarations import Function
from podwright.apimachinery.cel.errors import CostLimitError, EvaluationPanicError, ProgramError
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
from podwright.apimachinery.cel.functions.regular_expressions import PatternError, compile_pattern
from podwright.apimachinery.cel.steps import (
    ConditionalStep,
    ConstantStep,
    Frame,
    ListStep,
    LogicalStep,
    LoopStep,
    MapStep,
    Step,
)
from podwright.apimachinery.cel.values import ErrorValue, TypeValue, Value

_CONVERSIONS: Final = frozenset({
    "bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint",
})  # fmt: skip
_INDEXES: Final = {"_[_]": False, "_[?_]": True, "_?._": True}
_PATTERN_FUNCTIONS: Final = frozenset({"matches", "find", "findAll"})
_ALWAYS: Final = 2**64


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
        for scope in reversed(self._scopes):
            if node.name in scope:
                return LocalStep(scope[node.name])
        return VariableStep(node.name.removeprefix("."))

    def _plan_select(self, node: Select) -> Step:
        if node.reference:
            if node.type.kind == "type":
                return ConstantStep(TypeValue(node.reference))
            return VariableStep(node.reference)
        operand = self.plan(node.operand)
        if node.is_test:
            return PresenceStep(operand, node.field)
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
        step: CallStep | ManyArgumentsStep
        if function.singleton is not None:
            is_strict = name != "@not_strictly_false"
            step = CallStep(with_trait(function), args, cost, is_strict=is_strict)
        elif not overload:
            step = ManyArgumentsStep(by_type(function), args, cost)
        else:
            implementation = guarded(function, function.overloads[overload])
            kind = CallStep if len(args) <= 2 else ManyArgumentsStep
            step = kind(implementation, args, cost)
        if name in _PATTERN_FUNCTIONS and len(args) > 1 and isinstance(args[1], ConstantStep):
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


def _extended(operand: Step, qualifier: Qualifier) -> Step:
    if isinstance(operand, PathStep):
        return PathStep(operand.root, (*operand.qualifiers, qualifier))
    return PathStep(operand, (qualifier,))


def _is_set(step: Step) -> bool:
    if not isinstance(step, ConstantStep) or not isinstance(step.value, list):
        return False
    return all(isinstance(value, bool | int | float | str | bytes) for value in step.value)


def _check_pattern(pattern: Value) -> None:
    try:
        compile_pattern(pattern)
    except PatternError as error:
        raise ProgramError(str(error)) from None
