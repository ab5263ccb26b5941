"""Selectors of devices: expressions over `device`, as in claims and device classes.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from podwright.apimachinery.cel.environment import KUBERNETES_BASE, Environment
from podwright.apimachinery.cel.estimate import Path, Range
from podwright.apimachinery.cel.functions.list_functions import INCLUDES_LIBRARY
from podwright.apimachinery.cel.functions.quantities import (
    QuantityValue,
    VersionError,
    parse_version,
    quantity_of,
)
from podwright.apimachinery.cel.macros import BIND_MACROS
from podwright.apimachinery.cel.program import Program
from podwright.apimachinery.cel.types import ANY, BOOL, STRING, Type, map_of, struct_of
from podwright.apimachinery.cel.values import (
    CompileError,
    DefaultMap,
    ErrorValue,
    OpaqueValue,
    ProgramError,
    Value,
    type_name,
)

MAX_SELECTOR_COST: Final = 1_000_000
"""The cost at which the evaluation of a selector ends, and the estimate that is refused."""

_MAX_ENTRIES = 32
_MAX_DOMAIN = 63
_MAX_NAME = 32
_MAX_DRIVER = 63
_MAX_ATTRIBUTE = 64


class _DeviceBounds:
    """The sizes of the parts of a device.

    Notes
    -----
    A field without its own name, such as `device.attributes.x`, is not bounded, except in
    the map of the attributes of a domain.
    """

    def size(self, path: Path) -> Range | None:
        if path[0] != "device":
            return None
        if len(path) == 1:
            return Range(0, 0)
        root, *rest = path[1:]
        if root in ("driver", "allowMultipleAllocations"):
            return Range(0, _MAX_DRIVER if root == "driver" else 1) if not rest else None
        if root not in ("attributes", "capacity"):
            return None
        size = _size_in_map(rest, is_attributes=root == "attributes")
        return None if size is None else Range(0, size)


def _size_in_map(rest: list[str], *, is_attributes: bool) -> int | None:
    if not rest:
        return _MAX_ENTRIES
    match rest[0]:
        case "@keys":
            return _MAX_DOMAIN if len(rest) == 1 else None
        case "@values" | "@items":
            if len(rest) == 1:
                return _MAX_ENTRIES
        case _:
            return None
    if len(rest) > 2:
        return None
    if rest[1] == "@keys":
        return _MAX_NAME
    if is_attributes:
        return _MAX_ATTRIBUTE
    return 0 if rest[1] in ("@values", "@items") else None


_DEVICE: Final = struct_of("kubernetes.DRADevice")
_QUANTITY: Final = struct_of("kubernetes.Quantity")
_NEW: Final = KUBERNETES_BASE.extended(
    macros=BIND_MACROS,
    variables={"device": _DEVICE},
    structs={
        _DEVICE.name: {
            "driver": STRING,
            "attributes": map_of(STRING, map_of(STRING, ANY)),
            "capacity": map_of(STRING, map_of(STRING, _QUANTITY)),
            "allowMultipleAllocations": BOOL,
        }
    },
    bounds=_DeviceBounds(),
)
_STORED: Final = _NEW.extended(libraries=(INCLUDES_LIBRARY,))


class SelectorError(ValueError):
    """A selector does not compile; the message is upstream's."""


class DeviceError(ValueError):
    """A device has an attribute or capacity that no selector can read."""


class DeviceResult(NamedTuple):
    """What a selector says of a device.

    Attributes
    ----------
    matches : bool
        Whether the device is selected; False if `error` is not empty.
    error : str
        Why the evaluation failed.
    """

    matches: bool
    error: str
    cost: int


class DeviceSelector:
    """A compiled selector.

    Attributes
    ----------
    output_type : Type
        `BOOL`, or `ANY` if only the evaluation can tell.
    """

    def __init__(self, source: str, environment: Environment) -> None:
        try:
            compiled = environment.compile(source)
        except CompileError as error:
            raise SelectorError(f"compilation failed: {error}") from None
        if compiled.output_type not in (BOOL, ANY):
            raise SelectorError(
                f"must evaluate to bool or the unknown type, not {compiled.output_type}"
            )
        try:
            self._program: Program = compiled.program()
        except ProgramError as error:
            raise SelectorError(f"program instantiation failed: {error}") from None
        self.output_type: Type = compiled.output_type
        self._compiled = compiled

    def max_cost(self) -> int:
        """Return the worst case of the cost; `UNBOUNDED` if it overflows."""
        return self._compiled.cost().high

    def is_too_expensive(self) -> bool:
        """Return whether the API refuses a new selector for its cost."""
        return self.max_cost() > MAX_SELECTOR_COST

    def evaluate(self, device: Mapping[str, Value], limit: int = MAX_SELECTOR_COST) -> DeviceResult:
        """Evaluate the selector for a device.

        Parameters
        ----------
        device : mapping
            From `device_value`.
        limit : int
            The cost at which the evaluation ends.
        """
        value, cost = self._program.run({"device": device}, limit)
        if isinstance(value, ErrorValue):
            return DeviceResult(False, value.message, cost)  # noqa: FBT003 - the first field
        if isinstance(value, bool):
            return DeviceResult(value, "", cost)
        name = type_name(value)
        error = f"CEL result of type {name} could not be converted to bool: {_unconverted(value)}"
        return DeviceResult(False, error, cost)  # noqa: FBT003 - the first field


def _unconverted(value: Value) -> str:
    """Return why a value is not a bool, as upstream's types say it."""
    name = type_name(value)
    if name == "string":
        return "unsupported native conversion from string to 'bool'"
    if name in ("list", "map"):
        return f"type conversion error from {name} to 'bool'"
    if isinstance(value, OpaqueValue):
        return f"type conversion error from '{name.rpartition('.')[2]}' to 'bool'"
    return f"unsupported type conversion from '{name}' to bool"


@lru_cache(maxsize=1024)
def compile_selector(source: str) -> DeviceSelector:
    """Compile a selector of a stored object, as the scheduler does.

    Raises
    ------
    SelectorError
        It does not compile.
    """
    return DeviceSelector(source, _STORED)


@lru_cache(maxsize=64)
def compile_new_selector(source: str) -> DeviceSelector:
    """Compile a selector that a write has set; the selectors of a class are often equal.

    Raises
    ------
    SelectorError
        The API refuses it.
    """
    return DeviceSelector(source, _NEW)


def device_value(driver: str, device: Mapping[str, Value]) -> dict[str, Value]:
    """Return the variable `device` for a device of a resource slice.

    Parameters
    ----------
    driver : str
        The driver of the slice, which is the domain of names without one.
    device : mapping
        The device, as decoded from JSON.

    Raises
    ------
    DeviceError
        An attribute has no value that can be read.
    """
    attributes = DefaultMap()
    for name, attribute in (device.get("attributes") or {}).items():
        domain, key = _qualified(name, driver)
        attributes.setdefault(domain, {})[key] = _attribute_value(name, attribute)
    capacity = DefaultMap()
    for name, entry in (device.get("capacity") or {}).items():
        domain, key = _qualified(name, driver)
        quantity = quantity_of(str(entry["value"]).strip())
        if not isinstance(quantity, QuantityValue):
            raise DeviceError(f"capacity {name}: {quantity.message}")
        capacity.setdefault(domain, {})[key] = quantity
    return {
        "driver": driver,
        "attributes": attributes,
        "capacity": capacity,
        "allowMultipleAllocations": bool(device.get("allowMultipleAllocations")),
    }


def _qualified(name: str, driver: str) -> tuple[str, str]:
    domain, slash, key = name.partition("/")
    return (domain, key) if slash else (driver, name)


def _attribute_value(name: str, attribute: Mapping[str, Value]) -> Value:
    for kind in ("int", "bool", "string"):
        if attribute.get(kind) is not None:
            return attribute[kind]
    version = attribute.get("version")
    if version is None:
        raise DeviceError(f"attribute {name}: unsupported attribute value")
    try:
        return parse_version(version)
    except VersionError as error:
        raise DeviceError(f"attribute {name}: parse semantic version: {error}") from None
