"""Names that several inputs of a run have.

An event line may apply an object that exists: it is a change of it. A pod of a workload is always a
new pod, so another input with its name would silently replace it, or be replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from podwright.apimachinery.objects import FieldError, KubernetesObject, NamespacedName, Pod
from podwright.cluster.store import GroupKind, kind_of
from podwright.simulation.files import Sourced

_POD: Final = ("", "Pod")


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
        self._noted: dict[tuple[GroupKind, NamespacedName], str] = {}
        self._note(initial, self._places)

    def add(self, applied: Iterable[Sourced], *, is_workload: bool) -> None:
        """Add the objects of the lines of one input, and an error for each taken name."""
        several = list(applied)
        for entry in several:
            self._check(entry.source, entry.object, is_workload=is_workload)
        places = self._of_workloads if is_workload else self._places
        self._note(several, places)
        for name, place in self._noted.items():
            places.setdefault(name, place)
        self._noted = {}

    def pods(self, *, is_workload: bool, is_last: bool) -> Callable[[str, Pod], None]:
        """Return what receives the pods of an input one by one, before `add`.

        Parameters
        ----------
        is_last : bool
            Whether no other input follows; the names need not be kept then.
        """

        def note(place: str, pod: Pod) -> None:
            self._check(place, pod, is_workload=is_workload)
            if not is_last:
                self._noted.setdefault((_POD, pod.key), place)

        return note

    def _check(self, place: str, obj: KubernetesObject, *, is_workload: bool) -> None:
        name = (kind_of(obj), obj.key)
        first = self._of_workloads.get(name) or (self._places.get(name) if is_workload else None)
        if first is not None:
            message = (
                f"{obj.kind} {obj.key} is also in {first}; give one of them other names, such"
                " as by from_frame(prefix=...)"
            )
            self._errors.append(
                FieldError(source=place, path="apply.metadata.name", message=message)
            )

    def _note(
        self, entries: Iterable[Sourced], places: dict[tuple[GroupKind, NamespacedName], str]
    ) -> None:
        for entry in entries:
            if entry.object.name:
                places.setdefault((kind_of(entry.object), entry.object.key), entry.source)
