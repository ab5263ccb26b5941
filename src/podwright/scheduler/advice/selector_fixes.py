"""Names in the selectors of devices that no device has, and what was probably meant.

A selector is an expression in CEL. It names drivers, domains and attributes: a name of which a
letter is wrong selects nothing, or ends the scheduling attempt with an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from podwright.apimachinery.objects import ResourceSlice, nearest

_STRING: Final = re.compile(r"""(?<!quantity\()(?<!semver\()(["'])([^"'\\]*)\1""")
_MEMBER: Final = re.compile(r"\]\.(\w+)\b(?!\()")
"""An attribute or a capacity, such as in ``device.attributes["gpu.example.com"].model``."""


class DeviceNames(NamedTuple):
    """The names that the devices of a cluster have.

    Attributes
    ----------
    domains : set of str
        The drivers, and the domains of attributes and capacities.
    members : set of str
        The attributes and capacities, without domains.
    values : dict of str to str
        The strings that are values of attributes, by their form in lower case.
    """

    domains: set[str]
    members: set[str]
    values: dict[str, str]

    @classmethod
    def of(cls, slices: Iterable[ResourceSlice]) -> DeviceNames:
        """Collect the names of all devices."""
        found = cls(set(), set(), {})
        for each in slices:
            found.domains.add(each.spec.driver)
            for device in each.spec.devices:
                for name in (*device.attributes, *device.capacity):
                    domain, _, member = name.rpartition("/")
                    found.members.add(member)
                    if domain:
                        found.domains.add(domain)
                for attribute in device.attributes.values():
                    if attribute.string_value is not None:
                        found.values[attribute.string_value.lower()] = attribute.string_value
        return found

    def corrections(self, expression: str) -> dict[str, str]:
        """Return what to replace in a selector, and by what; empty if all names are known.

        A value is only corrected if its letters differ in case: another one may be meant.
        """
        found: dict[str, str] = {}
        for match in _STRING.finditer(expression):
            text = match[2]
            if text in self.domains or text in self.members or text in self.values.values():
                continue
            meant = self.values.get(text.lower()) or nearest(text, self.domains | self.members)
            if meant is not None:
                found[match[0]] = f"{match[1]}{meant}{match[1]}"
        for match in _MEMBER.finditer(expression):
            if match[1] in self.members:
                continue
            meant = nearest(match[1], self.members)
            if meant is not None:
                found[match[0]] = f"].{meant}"
        return found


def corrected(expression: str, corrections: Mapping[str, str]) -> str:
    """Return a selector after corrections."""

    def meant(match: re.Match[str]) -> str:
        return corrections.get(match[0], match[0])

    return _MEMBER.sub(meant, _STRING.sub(meant, expression))


def correction_text(corrections: Mapping[str, str]) -> str:
    """Return corrections in the imperative."""
    # A member has the bracket and the dot before it.
    words = (f"{new.lstrip('].')} for {old.lstrip('].')}" for old, new in corrections.items())
    return f"write {' and '.join(words)}"
