"""The checker: finds the type of each node and the overloads of each call, or reports problems.

Upstream: cel-go checker/checker.go, checker/errors.go, checker/env.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

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
    children,
)
from podwright.apimachinery.cel.types import (
    ANY,
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Function,
    Substitutions,
    Type,
    checker_name,
    is_optional,
    list_of,
    map_of,
    most_general,
    optional_of,
    parameter,
    type_of,
)
from podwright.apimachinery.cel.values import Issue, Uint

TYPE_NAMES: Final[Mapping[str, Type]] = {
    "bool": BOOL, "int": INT, "uint": UINT, "double": DOUBLE, "string": STRING, "bytes": BYTES,
    "null_type": NULL, "type": TYPE, "google.protobuf.Timestamp": TIMESTAMP,
    "google.protobuf.Duration": DURATION, "google.protobuf.Any": ANY, "list": list_of(DYN),
    "map": map_of(DYN, DYN), "optional_type": optional_of(DYN),
    "net.CIDR": Type("opaque", "net.CIDR"), "net.IP": Type("opaque", "net.IP"),
}  # fmt: skip
"""Types that an expression can name."""

_CONSTANT_TYPES: Final = {
    bool: BOOL, int: INT, Uint: UINT, float: DOUBLE, str: STRING, bytes: BYTES, type(None): NULL,
}  # fmt: skip


class Scope(Protocol):
    """What an environment declares."""

    @property
    def functions(self) -> Mapping[str, Function]:
        """Functions by name."""
        ...

    @property
    def variables(self) -> Mapping[str, Type]:
        """Variables by name."""
        ...

    def field(self, struct: str, name: str) -> Type | None:
        """Return the type of a field of a declared type; None if it has no such field."""
        ...

    def has_type(self, struct: str) -> bool:
        """Return whether a type with fields is declared."""
        ...


def check(expression: Expression, scope: Scope) -> list[Issue]:
    """Write types and overloads into the nodes of an expression; return the problems."""
    checker = _Checker(scope)
    checker.check(expression)
    if not checker.issues:
        checker.finish(expression)
    return checker.issues


def qualified_name(node: Expression) -> str:
    """Return the dotted name that nodes spell, such as `math.pi`; empty if they spell none."""
    if isinstance(node, Identifier):
        return node.name
    if isinstance(node, Select) and not node.is_test:
        operand = qualified_name(node.operand)
        return f"{operand}.{node.field}" if operand else ""
    return ""


class _Checker:
    def __init__(self, scope: Scope) -> None:
        self.issues: list[Issue] = []
        self._scope = scope
        self._substitutions = Substitutions()
        self._locals: list[dict[str, Type]] = []
        self._fresh = 0

    def check(self, node: Expression) -> None:
        match node:
            case Constant():
                node.type = _CONSTANT_TYPES[type(node.value)]
            case Identifier():
                self._check_identifier(node)
            case Select():
                self._check_select(node)
            case Call():
                self._check_call(node)
            case CreateList():
                self._check_list(node)
            case CreateMap():
                self._check_map(node)
            case CreateStruct():
                self._check_struct(node)
            case Comprehension():
                self._check_comprehension(node)

    def finish(self, root: Expression) -> None:
        """Replace the type variables; what is still free is dynamic."""
        pending: list[Expression] = [root]
        while pending:
            node = pending.pop()
            node.type = self._substitutions.resolve(node.type, unbound_to_dyn=True)
            pending += children(node)

    # ------------------------------------------------------------------ names and fields

    def _lookup(self, name: str) -> Type | None:
        name = name.removeprefix(".")
        for scope in reversed(self._locals):
            if name in scope:
                return scope[name]
        return self._scope.variables.get(name)

    def _check_identifier(self, node: Identifier) -> None:
        found, name = self._lookup(node.name), node.name.removeprefix(".")
        if found is None and name in TYPE_NAMES:
            node.is_type = True
            found = type_of(TYPE_NAMES[name])
        if found is None:
            self._undeclared(node.offset, node.name)
            found = ERROR
        node.type = found

    def _undeclared(self, offset: int, name: str) -> None:
        self._report(offset, f"undeclared reference to '{name}' (in container '')")

    def _report(self, offset: int, message: str) -> None:
        self.issues.append(Issue(offset, message))

    def _check_select(self, node: Select) -> None:
        name = qualified_name(node)
        if name and not any(name.split(".")[0] in scope for scope in self._locals):
            if name in self._scope.variables:
                node.reference, node.type = name, self._scope.variables[name]
                return
            if name in TYPE_NAMES:
                node.reference, node.type = name, type_of(TYPE_NAMES[name])
                return
        self.check(node.operand)
        result = self._field_type(node.offset, node.operand.type, node.field)
        node.type = BOOL if node.is_test else self._substitutions.resolve(result)

    def _field_type(self, offset: int, operand: Type, field: str) -> Type:
        target = self._substitutions.resolve(operand)
        if is_optional(target):
            return optional_of(self._member_type(offset, target.parameters[0], field))
        return self._member_type(offset, target, field)

    def _member_type(self, offset: int, target: Type, field: str) -> Type:
        match target.kind:
            case "map":
                return target.parameters[1]
            case "struct":
                return self._declared_field(offset, target.name, field)
            case "param":
                # An unknown type is fixed as dynamic here, so that later uses agree.
                self._substitutions.assign([DYN], [target])
                return DYN
            case "dyn" | "any" | "error":
                return DYN
            case _:
                pass
        name = checker_name(target)
        self._report(offset, f"type '{name}' does not support field selection")
        return DYN  # so that nothing more is reported about it

    def _declared_field(self, offset: int, struct: str, field: str) -> Type:
        found = self._scope.field(struct, field)
        if found is not None:
            return found
        if self._scope.has_type(struct):
            self._report(offset, f"undefined field '{field}'")
        else:
            # As upstream, for types without any fields, such as the authorizer's.
            self._report(offset, f"unexpected failed resolution of '{struct}'")
        return ERROR

    # ------------------------------------------------------------------ calls

    def _check_call(self, node: Call) -> None:
        if node.function == "_?._":
            self._check_optional_select(node)
            return
        for arg in node.args:
            self.check(arg)
        function: Function | None
        if node.target is not None:
            prefix = qualified_name(node.target)
            name = f"{prefix}.{node.function}".removeprefix(".")
            function = self._scope.functions.get(name) if prefix else None
            if function is not None:
                # A function with a dotted name, such as `lists.range`, whatever `lists` is.
                node.target, node.function = None, name
            else:
                self.check(node.target)
                function = self._scope.functions.get(node.function)
        else:
            function = self._scope.functions.get(node.function.removeprefix("."))
        if function is None:
            self._undeclared(node.offset, node.function)
            node.type = ERROR
            return
        node.type = self._resolve(node, function)

    def _check_optional_select(self, node: Call) -> None:
        operand, field = node.args
        assert isinstance(field, Constant)
        self.check(operand)
        self.check(field)
        operand_type = self._substitutions.resolve(operand.type)
        inner = operand_type.parameters[0] if is_optional(operand_type) else operand_type
        node.type = optional_of(self._member_type(node.offset, inner, field.value))
        node.overloads = ("select_optional_field",)

    def _resolve(self, node: Call, function: Function) -> Type:
        args = [*([node.target] if node.target is not None else []), *node.args]
        types = [arg.type for arg in args]
        if function.name in ("_&&_", "_||_"):
            return self._check_logical(node, function)
        result: Type | None = None
        overloads: list[str] = []
        for overload in function.overloads.values():
            if overload.is_member != (node.target is not None):
                continue
            expected, declared = self._instantiate(overload.args, overload.result)
            if not self._substitutions.assign(types, expected):
                continue
            overloads.append(overload.id)
            candidate = self._substitutions.resolve(declared)
            if result is None:
                result = candidate
            elif not result.is_dynamic and candidate != result:
                result = DYN
        if result is None:
            self._no_matching_overload(node, function.name, types)
            return ERROR
        node.overloads = tuple(overloads)
        return result

    def _check_logical(self, node: Call, function: Function) -> Type:
        result = BOOL
        for arg in node.args:
            if not self._substitutions.assign([BOOL], [arg.type]):
                self._mismatch(arg, BOOL)
                result = ERROR
        node.overloads = tuple(function.overloads)
        return result

    def _no_matching_overload(self, node: Call, name: str, types: list[Type]) -> None:
        resolved = [self._substitutions.resolve(each, unbound_to_dyn=True) for each in types]
        shown = [checker_name(each) for each in resolved]
        if node.target is not None:
            signature = f"{shown[0]}.({', '.join(shown[1:])})"
        else:
            signature = f"({', '.join(shown)})"
        message = f"found no matching overload for '{name}' applied to '{signature}'"
        self._report(node.offset, message)

    def _instantiate(self, args: tuple[Type, ...], result: Type) -> tuple[list[Type], Type]:
        """Return a signature whose type variables are new ones."""
        names: dict[str, Type] = {}

        def renamed(type_: Type) -> Type:
            if type_.kind == "param":
                if type_.name not in names:
                    names[type_.name] = self._new_variable()
                return names[type_.name]
            if not type_.parameters:
                return type_
            return Type(type_.kind, type_.name, tuple(map(renamed, type_.parameters)))

        return [renamed(arg) for arg in args], renamed(result)

    def _new_variable(self) -> Type:
        self._fresh += 1
        return parameter(f"_var{self._fresh - 1}")

    # ------------------------------------------------------------------ literals and loops

    def _join(self, previous: Type | None, node: Expression, *, is_optional_value: bool) -> Type:
        current = self._unwrapped(node) if is_optional_value else node.type
        if previous is None:
            return current
        if self._substitutions.assign([previous], [current]):
            return most_general(previous, current)
        # A mixed literal is refused once all types are known, except in a call of `format`.
        return DYN

    def _mismatch(self, node: Expression, expected: Type) -> None:
        required = checker_name(self._substitutions.resolve(expected))
        found = checker_name(self._substitutions.resolve(node.type))
        self._report(node.offset, f"expected type '{required}' but found '{found}'")

    def _check_list(self, node: CreateList) -> None:
        element: Type | None = None
        for index, item in enumerate(node.elements):
            self.check(item)
            is_optional_value = index in node.optional_indices
            element = self._join(element, item, is_optional_value=is_optional_value)
        node.type = list_of(self._new_variable() if element is None else element)

    def _check_map(self, node: CreateMap) -> None:
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            assert not isinstance(entry.key, str)
            self.check(entry.key)
            key = self._join(key, entry.key, is_optional_value=False)
            self.check(entry.value)
            value = self._join(value, entry.value, is_optional_value=entry.is_optional)
        if key is None or value is None:
            key, value = self._new_variable(), self._new_variable()
        node.type = map_of(key, value)

    def _check_struct(self, node: CreateStruct) -> None:
        name = node.name.removeprefix(".")
        node.type = ERROR
        if self._scope.has_type(name):
            node.type = Type("struct", name)
        elif (variable := self._lookup(name)) is not None:
            self._report(node.offset, f"'{variable.runtime_name}' is not a type")
        elif name in TYPE_NAMES and "." not in name:
            self._report(node.offset, f"'{name}' is not a message type")
        else:
            self._undeclared(node.offset, node.name)
            return
        for entry in node.entries:
            self.check(entry.value)
            self._check_field(name, entry)

    def _check_field(self, struct: str, entry: Entry) -> None:
        assert isinstance(entry.key, str)
        expected = self._declared_field(entry.offset, struct, entry.key)
        found = self._substitutions.resolve(entry.value.type)
        if entry.is_optional:
            found = self._unwrapped(entry.value)
        if not self._substitutions.assign([expected], [found]):
            message = (
                f"expected type of field '{entry.key}' is '{checker_name(expected)}' "
                f"but provided type is '{checker_name(found)}'"
            )
            self._report(entry.offset, message)

    def _unwrapped(self, node: Expression) -> Type:
        """Return the type of the value of what is marked with `?`."""
        found = self._substitutions.resolve(node.type)
        if is_optional(found):
            return found.parameters[0]
        if not found.is_dynamic:
            self._mismatch(node, optional_of(found))
        return found

    def _check_comprehension(self, node: Comprehension) -> None:
        self.check(node.range)
        self.check(node.initial)
        accumulator = node.initial.type
        first, second = self._iteration_types(node)
        self._locals.append({node.accumulator: accumulator})
        variables = {node.variable: first}
        if node.second_variable:
            variables[node.second_variable] = second
        self._locals.append(variables)
        self.check(node.condition)
        self._assert_type(node.condition, BOOL)
        self.check(node.step)
        self._assert_type(node.step, accumulator)
        self._locals.pop()
        self.check(node.result)
        self._locals.pop()
        node.type = self._substitutions.resolve(node.result.type)

    def _iteration_types(self, node: Comprehension) -> tuple[Type, Type]:
        range_type = self._substitutions.resolve(node.range.type)
        match range_type.kind:
            case "list":
                element = range_type.parameters[0]
                return (INT, element) if node.second_variable else (element, DYN)
            case "map":
                return range_type.parameters[0], range_type.parameters[1]
            case "dyn" | "error" | "param":
                if range_type.kind == "param":
                    self._substitutions.assign([DYN], [range_type])
                # The keys of an unknown range may be of any type.
                return DYN, DYN
            case _:
                pass
        name = checker_name(range_type)
        message = (
            f"expression of type '{name}' cannot be range of a comprehension "
            "(must be list, map, or dynamic)"
        )
        self._report(node.range.offset, message)
        return ERROR, ERROR

    def _assert_type(self, node: Expression, expected: Type) -> None:
        if not self._substitutions.assign([expected], [node.type]):
            self._mismatch(node, expected)
