"""Numbers of custom resources, as they are after upstream has written and read them."""

from __future__ import annotations

from typing import Any, Final

_INT64: Final = 2**63


def with_go_numbers(value: Any) -> Any:
    """Return a value in which numbers without a fraction are integers: Go writes `3.0` as `3`.

    What does not change is returned as it is.

    Examples
    --------
    >>> with_go_numbers({"a": [3.0, 0.5, 1e30]})
    {'a': [3, 0.5, 1e+30]}
    """
    if isinstance(value, float):
        return int(value) if value.is_integer() and -_INT64 <= value < _INT64 else value
    if isinstance(value, dict):
        made = {name: with_go_numbers(each) for name, each in value.items()}
        return made if any(made[name] is not value[name] for name in made) else value
    if isinstance(value, list):
        items = [with_go_numbers(each) for each in value]
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return value
