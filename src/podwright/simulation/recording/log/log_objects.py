"""Encoding of objects into columns inside the blocks of a decision log, and decoding.

`log_pods` encodes pods; other objects are written as a whole. An object is written when an event
first refers to it, and gets a number. The number belongs to the Python object: two references to
one object are read as two references to one object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any, Final, TypeVar, cast

import msgspec

from podwright.apimachinery.objects import TYPES, KubernetesObject, Pod, Unknown
from podwright.simulation.recording.log.log_format import VERSION, Objects, decoder_of, deltas
from podwright.simulation.recording.log.log_pods import (
    OWNERS,
    PodColumns,
    PodReader,
    PodRow,
    PodRows,
)

K = TypeVar("K", bound=KubernetesObject)

_CLASS_OF: Mapping[str, type[KubernetesObject]] = {
    cls.__name__: cls for cls in (*TYPES, cast("type[KubernetesObject]", Unknown))
}
_NAMES: Final = list(_CLASS_OF)
_CODES: Final = {cls: code for code, cls in enumerate(_CLASS_OF.values())}
_POD: Final = _CODES[Pod]


class _Columns:
    """The columns of some objects."""

    def __init__(self, rows: PodRows) -> None:
        self.kinds = bytearray()
        self._older: list[int] = []
        self._pods = PodColumns(rows.part)
        self._others: list[Any] = []

    def add_pod(self, row: PodRow) -> None:
        """Add a pod."""
        self.kinds.append(_POD)
        self._pods.add(row)

    def add_repeated(self, pod: Pod) -> bool:
        """Add a pod if it differs from the last one only in its metadata; return whether it did."""
        if not self._pods.add_repeated(pod):
            return False
        self.kinds.append(_POD)
        return True

    def add_bound(self, pod: Pod, old: Pod, number: int) -> bool:
        """Add a version of a numbered pod if only its node changed; return whether it did."""
        if not self._pods.add_bound(pod, old):
            return False
        self.kinds.append(VERSION)
        self._older.append(number)
        return True

    def add_version(self, row: PodRow, old: PodRow, number: int) -> None:
        """Add a new version of a numbered pod."""
        self.kinds.append(VERSION)
        self._older.append(number)
        self._pods.add_version(row, old)

    def add_other(self, obj: KubernetesObject) -> None:
        """Add an object that is not a pod."""
        self.kinds.append(_CODES[type(obj)])
        self._others.append(obj)

    def written(self, numbers: list[int]) -> Objects:
        """Return the columns, given the numbers of the objects."""
        return Objects(
            numbers=numbers,
            kind_names=_NAMES,
            kinds=bytes(self.kinds),
            older=deltas(self._older),
            pods=self._pods.written(),
            others=self._others,
        )


class ObjectWriter:
    """Assigns numbers to objects, and encodes new ones into columns.

    An object is *known* while it has a number: until a newer version of it is added, or `forget` is
    called because it was deleted. The writer keeps known objects alive, so that no other object
    gets their address. A reference to an object that is no longer known encodes the object again.

    Parameters
    ----------
    count : int
        The number of assigned numbers.
    known : mapping of int to object
        Objects that were encoded earlier, by number.

    Attributes
    ----------
    count : int
        The number of assigned numbers.
    numbers : dict of int to int
        The numbers of known objects, by address.
    """

    def __init__(self, count: int = 0, known: Mapping[int, KubernetesObject] | None = None) -> None:
        self.count = count
        self.numbers: dict[int, int] = {}
        self._rows = PodRows()
        self._columns: _Columns  # `keep_only` makes the first ones
        self._known: dict[int, KubernetesObject] = {}
        self._row_of: dict[int, PodRow] = {}
        # The latest number by uid; the machine refers to an older version of some objects as well.
        self._latest: dict[str, int] = {}
        self._older: set[int] = set()
        self.keep_only(known or {})

    def __len__(self) -> int:
        return len(self._known)

    def omit_owners(self) -> None:
        """Leave out `managedFields` from now on."""
        self._rows.omits_owners = True

    def of(self, obj: KubernetesObject) -> int:
        """Return the number of an object."""
        number = self.numbers.get(id(obj))
        return self.add(obj) if number is None else number

    def replaced_by(self, obj: KubernetesObject) -> tuple[int, KubernetesObject] | None:
        """Return the older version of an object, which `add` would forget, and its number."""
        number = self._latest.get(obj.metadata.uid)
        return None if number is None else (number, self._known[number])

    def add(self, obj: KubernetesObject) -> int:
        """Encode a new object, and return its number."""
        number = self.count
        self.count = number + 1
        self.numbers[id(obj)] = number
        self._known[number] = obj
        uid, columns = obj.metadata.uid, self._columns
        replaced = self._latest.get(uid)
        if uid:
            self._latest[uid] = number
        if not isinstance(obj, Pod):
            columns.add_other(self.as_written(obj))
            if replaced is not None:
                self._drop(replaced)
            return number
        if replaced is None:
            if not columns.add_repeated(obj):
                row = self._row_of[number] = self._rows.of(obj)
                columns.add_pod(row)
            return number
        old_row = self._row_of.get(replaced)
        old = self._drop(replaced)
        assert isinstance(old, Pod), f"object {replaced} is a {old.kind}, not a Pod"
        # In a world, binding a pod also changes its status: compare further only if it is the same.
        if obj.status is not old.status or not columns.add_bound(obj, old, replaced):
            if old_row is None:
                old_row = self._rows.of(old)
            row = self._rows.of_version(obj, old_row)
            columns.add_version(row, old_row, replaced)
            # Pods with addresses run for long, and nothing of their status is shared: 2 KB each.
            if row.status.addresses:
                row.release_parts()
            self._row_of[number] = row
        return number

    def forget(self, obj: KubernetesObject) -> None:
        """Release an object that was deleted."""
        number = self.numbers.get(id(obj))
        if number is None:
            return
        self._drop(number)
        if self._latest.get(obj.metadata.uid) == number:
            del self._latest[obj.metadata.uid]

    def _drop(self, number: int) -> KubernetesObject:
        """Release an object by its number, and return it."""
        obj = self._known.pop(number)
        del self.numbers[id(obj)]
        self._row_of.pop(number, None)
        return obj

    @property
    def omits_owners(self) -> bool:
        """Whether `managedFields` are left out."""
        return self._rows.omits_owners

    def as_written(self, obj: K) -> K:
        """Return an object that is not a pod without what is left out."""
        metadata = obj.raw.get("metadata") if self.omits_owners else None
        if not isinstance(metadata, dict) or OWNERS not in metadata:
            return obj
        kept = {key: one for key, one in metadata.items() if key != OWNERS}
        return msgspec.structs.replace(obj, raw={**obj.raw, "metadata": kept})

    def take(self) -> Objects:
        """Return the columns, and start new ones."""
        columns, self._columns = self._columns, _Columns(self._rows)
        self._rows.forget_parts()
        count = len(columns.kinds)
        # New numbers are consecutive: all differences after the first are 1.
        return columns.written([self.count - count, *[1] * (count - 1)] if count else [])

    def known(self) -> dict[int, KubernetesObject]:
        """Return the objects that have a number, by number."""
        return dict(self._known)

    def written(self, objects: Mapping[int, KubernetesObject]) -> Objects:
        """Encode known objects into separate columns, none as a version of another."""
        columns = _Columns(self._rows)
        for number, obj in objects.items():
            if isinstance(obj, Pod):
                row = self._row_of.get(number)
                columns.add_pod(self._rows.of(obj) if row is None else row)
            else:
                columns.add_other(self.as_written(obj))
        return columns.written(deltas(list(objects)))

    def keep_only(self, objects: Mapping[int, KubernetesObject]) -> None:
        """Forget all other objects; these were written in a checkpoint."""
        self._columns = _Columns(self._rows)
        known, latest = self._known, self._latest
        for number in known.keys() - objects.keys():
            obj = self._drop(number)
            if latest.get(obj.metadata.uid) == number:
                del latest[obj.metadata.uid]
        # Older versions of objects that the machine still refers to.
        for number in sorted(objects.keys() - known.keys()):
            known[number] = obj = objects[number]
            self.numbers[id(obj)] = number
            if obj.metadata.uid:
                self._older.add(number)
        # The newest of the remaining versions becomes the latest.
        older, self._older = self._older & known.keys(), set()
        for number in sorted(older):
            uid = known[number].metadata.uid
            newest = max(number, latest.get(uid, number))
            self._older.update({number, latest.get(uid, number)} - {newest})
            latest[uid] = newest

    def add_written(self, objects: Mapping[int, KubernetesObject]) -> None:
        """Add objects that were read back, as if they had just been encoded."""
        for number in sorted(objects):
            if number < self.count:
                continue
            obj = objects[number]
            self.count = number + 1
            self.numbers[id(obj)] = number
            self._known[number] = obj
            uid = obj.metadata.uid
            replaced = self._latest.get(uid)
            if uid:
                self._latest[uid] = number
            if replaced is not None:
                self._drop(replaced)


class ReferenceNumbers:
    """Returns the numbers of objects, and collects the objects that were referred to.

    Attributes
    ----------
    objects : dict of int to object
        The objects by number, in the order of reference.
    """

    def __init__(self, writer: ObjectWriter) -> None:
        self._writer, self._known = writer, writer.numbers
        # By address: a pod keeps its number if a newer version is referred to as well.
        self._replaced: dict[int, tuple[int, KubernetesObject]] = {}
        self.objects: dict[int, KubernetesObject] = {}

    def of(self, obj: KubernetesObject) -> int:
        """Return the number of an object."""
        address = id(obj)
        number = self._known.get(address)
        if number is None:
            replaced = self._replaced.get(address)
            number = self._new(obj) if replaced is None else replaced[0]
        self.objects[number] = obj
        return number

    def of_all(self, objects: Iterable[KubernetesObject]) -> list[int]:
        """Return the numbers of many objects; fast if most of them are known."""
        given = list(objects)
        known = list(map(self._known.get, map(id, given)))
        numbers = [
            self.of(obj) if number is None else number
            for obj, number in zip(given, known, strict=True)
        ]
        self.objects.update(zip(numbers, given, strict=True))
        return numbers

    def _new(self, obj: KubernetesObject) -> int:
        replaced = self._writer.replaced_by(obj)
        if replaced is not None:
            self._replaced[id(replaced[1])] = replaced
        return self._writer.add(obj)


def encode_objects(objects: Mapping[int, KubernetesObject]) -> Objects:
    """Encode objects into columns, by number, none as a version of another."""
    return ObjectWriter().written(objects)


def decode_objects(
    objects: Objects, known: Mapping[int, KubernetesObject]
) -> Iterator[tuple[int, KubernetesObject]]:
    """Yield the objects of columns with their numbers.

    Parameters
    ----------
    known : mapping of int to object
        The objects so far; the caller adds each object that is yielded.
    """
    classes = [_CLASS_OF[name] for name in objects.kind_names]
    older, others = accumulate(objects.older), iter(objects.others)
    pods = PodReader(objects.pods)
    for code, number in zip(objects.kinds, accumulate(objects.numbers), strict=True):
        if code == VERSION:
            older_number = next(older)
            old = known[older_number]
            assert isinstance(old, Pod), f"object {older_number} is a {old.kind}, not a Pod"
            yield number, pods.version_of(old)
        elif classes[code] is Pod:
            yield number, pods.first()
        else:
            yield number, decoder_of(classes[code]).decode(next(others))
