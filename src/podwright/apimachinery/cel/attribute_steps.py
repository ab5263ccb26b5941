"""Steps of attributes: variables, fields, indices, and `has`.

Upstream: cel-go interpreter/attributes.go
"""

from __future__ import annotations

from podwright.apimachinery.cel.steps import Frame, Lazy, Step, display
from podwright.apimachinery.cel.values import (
    NONE,
    ErrorValue,
    Optional,
    Uint,
    Value,
    find_key,
    present,
    type_name,
)


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

    __slots__ = ("qualifiers", "root")

    def __init__(self, root: Step, qualifiers: tuple[Qualifier, ...]) -> None:
        self.root = root
        self.qualifiers = qualifiers

    def run(self, frame: Frame) -> Value:
        """Return the value at the end of the path."""
        value = self.resolve(frame)
        frame.spend(1)
        return value

    def resolve(self, frame: Frame) -> Value:
        """Return the value at the end of the path, without the cost of the root's name."""
        value = self.root.resolve(frame)
        was_optional = False
        for qualifier in self.qualifiers:
            if value.__class__ is ErrorValue:
                return value
            if value.__class__ is Optional:
                if not value.is_present:
                    return NONE
                value, was_optional = value.value, True
            found, value = qualifier.apply(frame, value, was_optional=was_optional)
            if not found:
                return NONE
            was_optional = was_optional or qualifier.is_optional
        if was_optional and value.__class__ is not ErrorValue:
            return value if value.__class__ is Optional else present(value)
        return value


class Qualifier:
    """A field or index of a path."""

    __slots__ = ("is_optional", "key")

    def __init__(self, key: Step, *, is_optional: bool = False) -> None:
        self.key = key
        self.is_optional = is_optional

    def apply(self, frame: Frame, value: Value, *, was_optional: bool) -> tuple[bool, Value]:
        """Return whether there is a value, and the value; what is missing is an error.

        After an optional qualifier the others are optional too.
        """
        key = self.key.resolve(frame)
        if key.__class__ is ErrorValue:
            if not (self.is_optional or was_optional):
                frame.spend(1)
            return True, key
        found, item = lookup(value, key)
        if found or not (self.is_optional or was_optional):
            frame.spend(1)
            return True, item
        return item.__class__ is ErrorValue and not _is_missing(item), item


def _is_missing(error: ErrorValue) -> bool:
    return error.message.startswith(("no such key", "index out of bounds"))


def lookup(container: Value, key: Value) -> tuple[bool, Value]:
    """Return whether a map or list has an entry, and the entry or the error of its absence."""
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
    """`has(operand.field)`: the operand has its cost, the test none."""

    __slots__ = ("field", "operand")

    def __init__(self, operand: Step, field: str) -> None:
        self.operand = operand
        self.field = field

    def run(self, frame: Frame) -> Value:
        """Return whether the operand has the field."""
        value = self.operand.run(frame)
        if value.__class__ is ErrorValue:
            return value
        if value.__class__ is Optional:
            if not value.is_present:
                return False
            value = value.value
        return lookup(value, self.field)[0]
