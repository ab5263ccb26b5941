"""Names that several inputs of a run have.

An event line may apply an object that exists: it is a change of it. A pod of a workload is always a
new pod, so another input with its name would silently replace it, or be replaced.
"""

from __future__ import annotations

from collections.abc import Iterable

from podwright.apimachinery.objects import FieldError, NamespacedName
from podwright.cluster.store import GroupKind, kind_of
from podwright.simulation.files import Sourced


class Collisions:
    """Reports the names of a workload that another input has.

    Parameters
    ----------
    initial : iterable of Sourced
        The initial objects.
    errors : list of FieldError
        Where errors are added.
    """

    def __init__(self, initial: Iterable[Sourced], errors: list[FieldError]) -> None:
        self._errors = errors
        self._places: dict[tuple[GroupKind, NamespacedName], str] = {}
        self._of_workloads: dict[tuple[GroupKind, NamespacedName], str] = {}
        self._note(initial, self._places)

    def add(self, applied: Iterable[Sourced], *, is_workload: bool) -> None:
        """Add the objects of the lines of one input, and an error for each taken name."""
        several = list(applied)
        others = self._places if is_workload else {}
        for entry in several:
            name = (kind_of(entry.object), entry.object.key)
            first = self._of_workloads.get(name) or others.get(name)
            if first is not None:
                obj = entry.object
                message = (
                    f"{obj.kind} {obj.key} is also in {first}; give one of them other names, such"
                    " as by from_frame(prefix=...)"
                )
                self._errors.append(
                    FieldError(source=entry.source, path="apply.metadata.name", message=message)
                )
        self._note(several, self._of_workloads if is_workload else self._places)

    def _note(
        self, entries: Iterable[Sourced], places: dict[tuple[GroupKind, NamespacedName], str]
    ) -> None:
        for entry in entries:
            if entry.object.name:
                places.setdefault((kind_of(entry.object), entry.object.key), entry.source)
