"""Constraints over the attributes of the devices of a claim.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/
allocator_incubating.go and constraint.go
"""

from __future__ import annotations

from typing import TypeAlias

from podwright.apimachinery.devices.slices import SliceDevice
from podwright.apimachinery.objects import DeviceConstraint

AttributeValue: TypeAlias = tuple[str, str | int | bool | None]
"""The type of an attribute ("" if it is unknown), and its value."""


def attribute_of(device: SliceDevice, name: str) -> AttributeValue | None:
    """Return an attribute by its fully qualified name; None if the device does not have it."""
    attributes = device.device.attributes
    found = attributes.get(name)
    if found is None:
        domain, slash, rest = name.partition("/")
        if not slash or domain != device.id.driver:
            return None
        found = attributes.get(rest)
        if found is None:
            return None
    if found.string_value is not None:
        return "string", found.string_value
    if found.int_value is not None:
        return "int", found.int_value
    if found.bool_value is not None:
        return "bool", found.bool_value
    # Versions are compared as text: semver 2.0.0 requires them to be minimal.
    return ("", None) if found.version_value is None else ("version", found.version_value)


class Constraint:
    """What the devices chosen so far require of the next one.

    Attributes
    ----------
    attribute : str
        The fully qualified name.
    """

    __slots__ = ("_count", "_requests", "attribute")

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        self.attribute = attribute
        self._requests = frozenset(requests)
        self._count = 0

    def concerns(self, request: str, choice: str) -> bool:
        """Return whether a constraint applies to a request, or to one of its alternatives."""
        names = self._requests
        return not names or request in names or (bool(choice) and f"{request}/{choice}" in names)

    def add(self, request: str, choice: str, device: SliceDevice) -> bool:
        """Count a device, if it satisfies the constraint; return whether it does."""
        if not self.concerns(request, choice):
            return True
        value = attribute_of(device, self.attribute)
        if value is None or (self._count and not self._accepts(value)):
            return False
        self._remember(request, value)
        self._count += 1
        return True

    def remove(self, request: str, choice: str) -> None:
        """Undo `add` of a device that was accepted."""
        if self.concerns(request, choice):
            self._forget(request)
            self._count -= 1

    def _accepts(self, value: AttributeValue) -> bool:
        raise NotImplementedError

    def _remember(self, request: str, value: AttributeValue) -> None:
        raise NotImplementedError

    def _forget(self, request: str) -> None:
        raise NotImplementedError


class MatchAttribute(Constraint):
    """All devices have the value of the first one."""

    __slots__ = ("_value",)

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        super().__init__(attribute, requests)
        self._value: AttributeValue = ("", None)

    def _accepts(self, value: AttributeValue) -> bool:
        return bool(value[0]) and value == self._value

    def _remember(self, request: str, value: AttributeValue) -> None:
        if not self._count:
            self._value = value

    def _forget(self, request: str) -> None:
        pass


class DistinctAttribute(Constraint):
    """No device has the value of another one.

    Notes
    -----
    Upstream keeps one value per request name, that of the last device: two devices of one
    request can have the same value if another was chosen between them, and a device that is
    given up takes the value of its request with it.
    """

    __slots__ = ("_values",)

    def __init__(self, attribute: str, requests: tuple[str, ...]) -> None:
        super().__init__(attribute, requests)
        self._values: dict[str, AttributeValue] = {}

    def _accepts(self, value: AttributeValue) -> bool:
        if not value[0]:
            return not self._values
        return value not in self._values.values()

    def _remember(self, request: str, value: AttributeValue) -> None:
        self._values[request] = value

    def _forget(self, request: str) -> None:
        self._values.pop(request, None)


def constraint_of(constraint: DeviceConstraint) -> Constraint | None:
    """Return a constraint before the first device; None if its type is unknown."""
    if constraint.match_attribute is not None:
        return MatchAttribute(constraint.match_attribute, constraint.requests)
    if constraint.distinct_attribute is not None:
        return DistinctAttribute(constraint.distinct_attribute, constraint.requests)
    return None
