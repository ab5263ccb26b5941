"""State by declaration: the fields of a class that checkpoints save and restore.

A class declares these fields in its body, with their types::

    class Counter(Checkpointed):
        _counts: Saved[dict[str, int]]

        def __init__(self) -> None:
            self._counts = {}

`state` and `restore` come from the declaration. All other fields are derived, or given to the
constructor.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, TypeAlias, TypeVar, get_type_hints

import msgspec

T = TypeVar("T")

_MARK: Final = object()

Saved: TypeAlias = Annotated[T, _MARK]
"""The type of a field that checkpoints save: plain values, structs, or another `Checkpointed`."""


class Checkpointed:
    """A class whose state is the fields that it declares as `Saved`; without one, it has none."""

    def state(self) -> dict[str, Any]:
        """Return the state as plain values, by the names of the fields without underscores."""
        return {name: _plain(getattr(self, field)) for name, field, _ in self._saved()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the result of `state`."""
        for name, field, kind in self._saved():
            present = getattr(self, field)
            if isinstance(present, Checkpointed):
                present.restore(state[name])
            else:
                setattr(self, field, msgspec.convert(state[name], kind))
        self._derive()

    def _saved(self) -> tuple[tuple[str, str, Any], ...]:
        cls: Any = type(self)
        return _fields_of(cls)

    def _derive(self) -> None:
        """Compute again what follows from the restored fields."""


def _plain(value: object) -> Any:
    return value.state() if isinstance(value, Checkpointed) else msgspec.to_builtins(value)


@cache
def _fields_of(cls: Any) -> tuple[tuple[str, str, Any], ...]:
    """Return the stored name, the name and the type of each saved field, in their order."""
    hints = get_type_hints(cls, include_extras=True)
    return tuple(
        (field.lstrip("_"), field, hint.__origin__)
        for field, hint in hints.items()
        if getattr(hint, "__metadata__", None) == (_MARK,)
    )
