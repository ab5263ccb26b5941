"""Objects to columns and back, inside the blocks of a decision log.

Most of what a log has to say is pods, and most of what it has to say about them was said
before. Pods that are made of one template share their spec, status and document; each is
written once per block. A pod that was bound is the older version of itself with a node. Both
are found by looking at identity first, because that is cheap, and at content then, so that the
same run makes the same bytes however its objects came to be.

Equal is what Python finds equal: a document that says 1.0 where the older one said 1, or has
its keys in another order, comes back as the older one said it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Final, cast

import msgspec

from podwright.objects import KubernetesObject, ObjectMeta, Pod, with_node_name
from podwright.objects.kinds import TYPES, Unknown
from podwright.store.log_format import (
    BOUND,
    ENCODER,
    Objects,
    decoder_of,
    steps,
)

_CLASS_OF: Mapping[str, type[KubernetesObject]] = {
    cls.__name__: cls for cls in (*TYPES, cast("type[KubernetesObject]", Unknown))
}
_NAMES: Final = list(_CLASS_OF)
_CODES: Final = {cls: code for code, cls in enumerate(_CLASS_OF.values())}
_POD: Final = _CODES[Pod]
_NO_POD: Final = Pod()
_replace = msgspec.structs.replace


class _Parts:
    """Parts of pods, each once."""

    def __init__(self) -> None:
        self._place_of_id: dict[int, int] = {}
        self._place_of: dict[bytes, int] = {}
        # No other part may get their addresses.
        self._kept: list[object] = []

    def place_of(self, part: object) -> int:
        """Return the place of a part."""
        place = self._place_of_id.get(id(part))
        if place is None:
            place = self._place_of.setdefault(ENCODER.encode(part), len(self._place_of))
            self._place_of_id[id(part)] = place
            self._kept.append(part)
        return place

    def written(self) -> list[Any]:
        """Return the parts, encoded."""
        return list(map(msgspec.Raw, self._place_of))


class _Columns:
    """The columns of some objects."""

    def __init__(self) -> None:
        self.kinds = bytearray()
        self.metadata: list[ObjectMeta] = []
        self.shape_of: list[int] = []
        self.bound_of: list[int] = []
        self.bound: list[Pod] = []
        self.others: list[Any] = []
        self._specs, self._statuses, self._documents = _Parts(), _Parts(), _Parts()
        self._shapes: dict[tuple[int, int, int], int] = {}
        self._like, self._shape = _NO_POD, -1

    def add(self, obj: KubernetesObject) -> None:
        """Add an object."""
        if type(obj) is not Pod:
            self.kinds.append(_CODES[type(obj)])
            self.others.append(obj)
            return
        self.kinds.append(_POD)
        self.metadata.append(obj.metadata)
        like = self._like
        if obj.spec is not like.spec or obj.raw is not like.raw or obj.status is not like.status:
            places = (
                self._specs.place_of(obj.spec),
                self._statuses.place_of(obj.status),
                self._documents.place_of(obj.raw),
            )
            self._like, self._shape = obj, self._shapes.setdefault(places, len(self._shapes))
        self.shape_of.append(self._shape)

    def written(self, numbers: list[int]) -> Objects:
        """Return the columns, given the numbers of the objects."""
        return Objects(
            numbers=numbers,
            kind_names=_NAMES,
            kinds=bytes(self.kinds),
            metadata=self.metadata,
            specs=self._specs.written(),
            statuses=self._statuses.written(),
            documents=self._documents.written(),
            shapes=list(self._shapes),
            shape_of=self.shape_of,
            bound_of=steps(self.bound_of),
            bound_to=[pod.spec.node_name for pod in self.bound],
            bound_version=[pod.metadata.resource_version for pod in self.bound],
            others=self.others,
        )


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
        self._others: dict[int, KubernetesObject] = {}
        self._latest: dict[str, Pod] = {}
        self.keep_only(known or {})

    def of(self, obj: KubernetesObject) -> int:
        """Return the number of an object."""
        number = self.numbers.get(id(obj))
        return self.add(obj) if number is None else number

    def add(self, obj: KubernetesObject) -> int:
        """Put an object that is not known into the columns, and return its number."""
        number = self.count
        self.count = number + 1
        columns = self._columns
        if type(obj) is not Pod:
            self._others[number] = obj
            columns.add(obj)
        else:
            uid = obj.metadata.uid
            old = self._latest.get(uid)
            self._latest[uid] = obj
            if old is None:
                columns.add(obj)
            else:
                old_number = self.numbers.pop(id(old))
                if _is_bound(old, obj):
                    columns.kinds.append(BOUND)
                    columns.bound_of.append(old_number)
                    columns.bound.append(obj)
                else:
                    columns.add(obj)
        self.numbers[id(obj)] = number
        return number

    def take(self) -> Objects:
        """Return the columns, and begin new ones."""
        columns, self._columns = self._columns, _Columns()
        count = len(columns.kinds)
        return columns.written([self.count - count, *[1] * (count - 1)] if count else [])

    def known(self) -> dict[int, KubernetesObject]:
        """Return the objects that have a number, by number."""
        return self._others | {self.numbers[id(pod)]: pod for pod in self._latest.values()}

    def keep_only(self, objects: Mapping[int, KubernetesObject]) -> None:
        """Know these objects by their numbers and no others; they are written elsewhere."""
        self._columns = _Columns()
        self.numbers.clear()
        self.numbers.update({id(obj): number for number, obj in objects.items()})
        self._others = dict(objects)
        self._latest.clear()
        newest: dict[str, int] = {}
        for number in sorted(objects):
            obj = objects[number]
            if isinstance(obj, Pod):
                self._latest[obj.metadata.uid] = obj
                newest[obj.metadata.uid] = number
        for number in newest.values():
            del self._others[number]

    def go_on(self, objects: Mapping[int, KubernetesObject]) -> None:
        """Know objects that were written since, as if they had just been."""
        for number in sorted(objects):
            if number >= self.count:
                self.count = number
                self.add(objects[number])
        self._columns = _Columns()


def _is_bound(old: Pod, new: Pod) -> bool:
    """Tell whether a pod is the older one but for its node and its version."""
    meta, status = new.metadata, new.status
    if status is not old.status and status != old.status:
        return False
    if _replace(old.metadata, resource_version=meta.resource_version) != meta:
        return False
    bound = with_node_name(old, new.spec.node_name)
    return bound.spec == new.spec and bound.raw == new.raw


def encode_objects(objects: Mapping[int, KubernetesObject]) -> Objects:
    """Put objects into columns, by number, none of them as a change of another one."""
    columns = _Columns()
    for obj in objects.values():
        columns.add(obj)
    return columns.written(steps(list(objects)))


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
    pods = zip(objects.metadata, objects.shape_of, strict=True)
    bound = zip(accumulate(objects.bound_of), objects.bound_to, objects.bound_version, strict=True)
    others = iter(objects.others)
    for code, number in zip(objects.kinds, accumulate(objects.numbers), strict=True):
        if code == BOUND:
            of, node, version = next(bound)
            old = known[of]
            assert isinstance(old, Pod), f"object {of} is a {old.kind}, not a Pod"
            metadata = _replace(old.metadata, resource_version=version)
            yield number, _replace(with_node_name(old, node), metadata=metadata)
        elif classes[code] is Pod:
            metadata, shape = next(pods)
            spec, status, document = objects.shapes[shape]
            yield (
                number,
                Pod(
                    metadata=metadata,
                    spec=objects.specs[spec],
                    status=objects.statuses[status],
                    raw=objects.documents[document],
                ),
            )
        else:
            yield number, decoder_of(classes[code]).decode(next(others))
