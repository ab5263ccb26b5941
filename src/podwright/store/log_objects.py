"""Objects to columns and back, inside the blocks of a decision log.

Pods are `log_pods`' business; everything else is written whole, the first time that it is
mentioned. An object has a number, which belongs to the Python object: the same object comes back
as the same object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Final, cast

import msgspec

from podwright.objects import KubernetesObject, Pod
from podwright.objects.kinds import TYPES, Unknown
from podwright.store.log_format import VERSION, Objects, decoder_of, steps
from podwright.store.log_pods import PodColumns, PodReader, PodRow, PodRows

_CLASS_OF: Mapping[str, type[KubernetesObject]] = {
    cls.__name__: cls for cls in (*TYPES, cast("type[KubernetesObject]", Unknown))
}
_NAMES: Final = list(_CLASS_OF)
_CODES: Final = {cls: code for code, cls in enumerate(_CLASS_OF.values())}
_POD: Final = _CODES[Pod]


class _Columns:
    """The columns of some objects."""

    def __init__(self) -> None:
        self.kinds = bytearray()
        self._older: list[int] = []
        self._pods = PodColumns()
        self._others: list[Any] = []

    def add_pod(self, row: PodRow) -> None:
        """Add a pod."""
        self.kinds.append(_POD)
        self._pods.add(row)

    def add_version(self, row: PodRow, old: PodRow, number: int) -> None:
        """Add a pod of which an older version has a number."""
        self.kinds.append(VERSION)
        self._older.append(number)
        self._pods.add_version(row, old)

    def add_other(self, obj: KubernetesObject) -> None:
        """Add what is not a pod."""
        self.kinds.append(_CODES[type(obj)])
        self._others.append(obj)

    def written(self, numbers: list[int]) -> Objects:
        """Return the columns, given the numbers of the objects."""
        return Objects(
            numbers=numbers,
            kind_names=_NAMES,
            kinds=bytes(self.kinds),
            older=steps(self._older),
            pods=self._pods.written(),
            others=self._others,
        )


class _KnownPod(msgspec.Struct, gc=False):
    """The latest version of a pod; it has no row yet if it was written by somebody else."""

    number: int
    pod: Pod
    row: PodRow | None = None


class ObjectWriter:
    """Gives numbers to objects, and puts those that are new into columns.

    An object keeps its number as long as it is known: a pod until there is a newer version of it,
    everything else until a checkpoint. What is known is kept alive, so that no other object gets
    its address; what is mentioned again after that is written again.

    Parameters
    ----------
    count : int
        How many numbers were given before.
    known : mapping of int to object
        What was written before under its number.

    Attributes
    ----------
    count : int
        How many numbers were given so far.
    numbers : dict of int to int
        The numbers of what is known, by address.
    """

    def __init__(self, count: int = 0, known: Mapping[int, KubernetesObject] | None = None) -> None:
        self.count = count
        self.numbers: dict[int, int] = {}
        self._columns = _Columns()
        self._rows = PodRows()
        self._others: dict[int, KubernetesObject] = {}
        self._latest: dict[str, _KnownPod] = {}
        self.keep_only(known or {})

    def of(self, obj: KubernetesObject) -> int:
        """Return the number of an object."""
        number = self.numbers.get(id(obj))
        return self.add(obj) if number is None else number

    def add(self, obj: KubernetesObject) -> int:
        """Put an object that is not known into the columns, and return its number."""
        number = self.count
        self.count = number + 1
        self.numbers[id(obj)] = number
        if not isinstance(obj, Pod):
            self._others[number] = obj
            self._columns.add_other(obj)
            return number
        known = self._latest.get(obj.metadata.uid)
        if known is None:
            row = self._rows.of(obj)
            self._latest[obj.metadata.uid] = _KnownPod(number, obj, row)
            self._columns.add_pod(row)
            return number
        old, old_row = known.pod, known.row
        if old_row is None:
            old_row = self._rows.of(old)
        row = self._rows.of_version(obj, old, old_row)
        self._columns.add_version(row, old_row, known.number)
        del self.numbers[id(old)]
        known.number, known.pod, known.row = number, obj, row
        return number

    def take(self) -> Objects:
        """Return the columns, and begin new ones."""
        columns, self._columns = self._columns, _Columns()
        self._rows.forget_parts()
        count = len(columns.kinds)
        return columns.written([self.count - count, *[1] * (count - 1)] if count else [])

    def known(self) -> dict[int, KubernetesObject]:
        """Return the objects that have a number, by number."""
        return self._others | {known.number: known.pod for known in self._latest.values()}

    def written(self, objects: Mapping[int, KubernetesObject]) -> Objects:
        """Put known objects into columns of their own, none of them as a version of another."""
        columns = _Columns()
        for number, obj in objects.items():
            if not isinstance(obj, Pod):
                columns.add_other(obj)
                continue
            known = self._latest.get(obj.metadata.uid)
            if known is None or known.number != number:
                columns.add_pod(self._rows.of(obj))
                continue
            if known.row is None:
                known.row = self._rows.of(obj)
            columns.add_pod(known.row)
        return columns.written(steps(list(objects)))

    def keep_only(self, objects: Mapping[int, KubernetesObject]) -> None:
        """Know these objects by their numbers and no others; they are written elsewhere."""
        self._columns = _Columns()
        self.numbers.clear()
        self.numbers.update(zip(map(id, objects.values()), objects, strict=True))
        self._latest = {
            uid: known for uid, known in self._latest.items() if known.number in objects
        }
        others = objects.keys() - {known.number for known in self._latest.values()}
        self._others = {number: objects[number] for number in sorted(others)}
        for number, obj in list(self._others.items()):
            if not isinstance(obj, Pod):
                continue
            # Of the versions of a pod that are left, the newest is the latest.
            known = self._latest.get(obj.metadata.uid)
            if known is None or known.number < number:
                del self._others[number]
                self._latest[obj.metadata.uid] = _KnownPod(number, obj)
                if known is not None:
                    self._others[known.number] = known.pod

    def go_on(self, objects: Mapping[int, KubernetesObject]) -> None:
        """Know objects that were written since, as if they had just been."""
        for number in sorted(objects):
            if number < self.count:
                continue
            obj = objects[number]
            self.count = number + 1
            self.numbers[id(obj)] = number
            if not isinstance(obj, Pod):
                self._others[number] = obj
                continue
            known = self._latest.get(obj.metadata.uid)
            if known is not None:
                del self.numbers[id(known.pod)]
            self._latest[obj.metadata.uid] = _KnownPod(number, obj)


class Mentioned:
    """Gives the numbers of a writer, and remembers to which objects.

    Attributes
    ----------
    objects : dict of int to object
        Those that were asked for, in order.
    """

    def __init__(self, writer: ObjectWriter) -> None:
        self._writer = writer
        self._numbers: dict[int, int] = {}
        self.objects: dict[int, KubernetesObject] = {}

    def of(self, obj: KubernetesObject) -> int:
        """Return the number of an object."""
        number = self._numbers.get(id(obj))
        if number is None:
            number = self._numbers[id(obj)] = self._writer.of(obj)
            self.objects[number] = obj
        return number


def encode_objects(objects: Mapping[int, KubernetesObject]) -> Objects:
    """Put objects into columns, by number, none of them as a version of another one."""
    return ObjectWriter().written(objects)


def decode_objects(
    objects: Objects, known: Mapping[int, KubernetesObject]
) -> Iterator[tuple[int, KubernetesObject]]:
    """Give the objects of columns with their numbers.

    Parameters
    ----------
    known : mapping of int to object
        All objects so far; whoever asks adds each one that is given.
    """
    classes = [_CLASS_OF[name] for name in objects.kind_names]
    older, others = accumulate(objects.older), iter(objects.others)
    pods = PodReader(objects.pods)
    for code, number in zip(objects.kinds, accumulate(objects.numbers), strict=True):
        if code == VERSION:
            of = next(older)
            old = known[of]
            assert isinstance(old, Pod), f"object {of} is a {old.kind}, not a Pod"
            yield number, pods.version_of(old)
        elif classes[code] is Pod:
            yield number, pods.first()
        else:
            yield number, decoder_of(classes[code]).decode(next(others))
