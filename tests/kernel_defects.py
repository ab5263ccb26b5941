r"""A pytest plugin that tests whether the kernels' tests detect defects of a kernel.

    NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=defects \
        python -m pytest -p tests.kernel_defects src/podwright/scheduler/kernels

Each test runs without defects first. Then it runs again for each kernel that it calls, once with
every defect that no test has detected yet. The defects that are left at the end are an error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import numpy as np
import pytest

from podwright.scheduler.kernels import _jit

Kernel = Callable[..., Any]


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, tuple):
        parts = [_copied(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _changed(result: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(result, tuple):
        return tuple(_changed(part, change) for part in result)
    return None if result is None else change(result)


def nothing(function: Kernel, *arguments: Any) -> Any:
    """Write nothing, and return 0."""
    return _changed(function(*map(_copied, arguments)), lambda part: type(part)(0))


def one_more(function: Kernel, *arguments: Any) -> Any:
    """Return the result plus one, or its negation."""
    result = function(*arguments)
    return _changed(result, lambda part: not part if isinstance(part, bool) else part + 1)


def one_too_high(function: Kernel, *arguments: Any) -> Any:
    """Add one to all written values."""
    arrays = [part for part in _flat(arguments) if isinstance(part, np.ndarray)]
    before = [array.copy() for array in arrays]
    result = function(*arguments)
    for array, old in zip(arrays, before, strict=True):
        is_other = array != old
        array[is_other] = ~array[is_other] if array.dtype == bool else array[is_other] + 1
    return result


def _flat(values: tuple[Any, ...]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from _flat(value)
        else:
            yield value


DEFECTS = (nothing, one_more, one_too_high)

_left: dict[str, set[Callable[..., Any]]] = {}
_noticed: dict[str, set[Callable[..., Any]]] = {}
_called: set[str] = set()
_planted: dict[str, Callable[..., Any]] = {}


def _kernel(function: Kernel) -> Kernel:
    """Replace the decorator of kernels."""
    name = f"{function.__module__}.{function.__qualname__}"
    if not function.__module__.startswith("podwright.scheduler.kernels.") or "<locals>" in name:
        return function
    _left[name] = {nothing}

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        defect = _planted.get(name)
        if defect is not None:
            return defect(function, *arguments)
        if _planted:
            return function(*arguments)
        _called.add(name)
        arrays = [part for part in _flat(arguments) if isinstance(part, np.ndarray)]
        before = [array.copy() for array in arrays]
        result = function(*arguments)
        if result is not None and one_more not in _noticed.get(name, ()):
            _left[name].add(one_more)
        if one_too_high not in _noticed.get(name, ()) and any(
            not np.array_equal(array, old) for array, old in zip(arrays, before, strict=True)
        ):
            _left[name].add(one_too_high)
        return result

    return call


_jit.kernel = _kernel


# A property ends with its first failing example.
hypothesis.settings.register_profile(
    "defects",
    derandomize=True,
    database=None,
    deadline=None,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run a test, then run it with defects."""
    _called.clear()
    # What NumPy's scalars would warn of, compiled kernels calculate differently.
    with np.errstate(all="raise"):
        yield
    for name in sorted(_called):
        for defect in sorted(_left[name], key=lambda each: each.__name__):
            _planted[name] = defect
            try:
                item.runtest()
            except Exception:  # noqa: BLE001 - any failure counts
                _left[name].discard(defect)
                _noticed.setdefault(name, set()).add(defect)
            finally:
                _planted.clear()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail if defects are left."""
    left = [f"{name}: {defect.__name__}" for name, some in _left.items() for defect in some]
    noticed = sum(map(len, _noticed.values()))
    print(f"\n{len(_left)} kernels, {noticed} defects noticed, {len(left)} not noticed")
    for line in sorted(left):
        print("not noticed:", line)
    if left and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
