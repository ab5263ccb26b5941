"""Which devices the selectors of classes and requests select.

A selector reads attributes and capacities only, so each expression is evaluated once for all
devices that are equal in these.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/
allocator_incubating.go, `selectorsMatch`
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from podwright.apimachinery import cel
from podwright.apimachinery.devices.slices import SliceDevice
from podwright.apimachinery.objects import DeviceSelector

_MOST_RESULTS = 1 << 20


class AllocationError(Exception):
    """The allocation cannot continue: it ends the scheduling attempt, with this text."""


class Selection:
    """Cached results of selectors.

    Attributes
    ----------
    evaluation_count : int
        How often an expression was evaluated; for tests.
    """

    def __init__(self) -> None:
        self._results: dict[tuple[str, str], bool | str] = {}
        self.evaluation_count = 0

    def matches(
        self, selectors: Sequence[DeviceSelector], device: SliceDevice, origin: str
    ) -> bool:
        """Return whether all selectors select a device.

        Parameters
        ----------
        origin : str
            Whose selectors they are, for errors: ``class gpu`` or ``claim default/c``.

        Raises
        ------
        AllocationError
            A selector does not compile, or its evaluation fails.
        """
        for index, selector in enumerate(selectors):
            expression = "" if selector.cel is None else selector.cel.expression
            found = self._results.get((expression, device.content))
            if found is None:
                found = self._evaluate(expression, device)
            if found is False:
                return False
            if found is not True:
                raise AllocationError(f"{origin}: selector #{index}: CEL {found}")
        return True

    def _evaluate(self, expression: str, device: SliceDevice) -> bool | str:
        """Return the result, or the error."""
        if len(self._results) >= _MOST_RESULTS:
            self._results.clear()
        self.evaluation_count += 1
        found: bool | str
        try:
            program = cel.compile_selector(expression)
            driver, document = msgspec.json.decode(device.content)
            result = program.evaluate(cel.device_value(driver, document))
        except cel.SelectorError as error:
            found = f"compile error: {error}"
        except cel.DeviceError as error:
            found = f"runtime error: {error}"
        else:
            found = f"runtime error: {result.error}" if result.error else result.matches
        self._results[expression, device.content] = found
        return found
