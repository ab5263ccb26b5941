"""Which texts of a pod's body may vary between pods that the server processes alike.

A body is split at all texts that are values of fields. What is left is its shape: the names of the
fields, the numbers, the lists. In a shape these values vary:

- the name, and the values of labels;
- the images of containers, and the names and values of their variables;
- the amounts of CPU and memory that they request, and their limits.

All other values are fixed: bodies with other ones are not alike. Two bodies with the same shape and
the same fixed values are alike if no rule of the server distinguishes their varying values:

- Each is plain: the server keeps it as it is written, and decides nothing by it.
- A limit equals its request in both, or both values are fixed: validation and the class of quality
  of service compare the two.
- The names of the variables are distinct and have the same order: managed fields are sorted by
  them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.api.endpoints.decoding.body_holes import POD_NAME, BodyPattern, Texts

Place: TypeAlias = tuple[str | int, ...]

VARYING_MAX: Final = 400
"""The most varying values of a body; their examples are numbered with three digits."""

_VALUE: Final = re.compile(rb'(": ?")([^"\\]*)')
_LABEL: Final = re.compile(rb"[A-Za-z0-9](?:[-._A-Za-z0-9]{0,61}[A-Za-z0-9])?")
_VARIABLE: Final = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{0,200}")
_TEXT: Final = re.compile(rb"[ !#-\[\]-~]{1,1024}")
# With a tag that is not `latest`, for which images are always pulled.
_NAME: Final = BodyPattern((b"", b""), [POD_NAME])
_IMAGE: Final = re.compile(rb"[a-z0-9][-._a-z0-9/]{0,200}:v?[0-9][-._A-Za-z0-9]{0,60}")
_MILLI_CPU: Final = re.compile(rb"[1-9][0-9]{0,6}m|[1-9][0-9]{0,3}")
_BYTES: Final = re.compile(rb"([1-9][0-9]{0,6})(?:Ki|Mi|Gi)")


class Role(msgspec.Struct, frozen=True):
    """What a varying value is.

    Attributes
    ----------
    is_plain : callable
        Whether a value is kept as it is written.
    example : str
        A format that makes a plain value from a number below 1,000, which occurs nowhere else.
    """

    is_plain: Callable[[bytes], Any]
    example: str


def _is_name(value: bytes) -> bool:
    return _NAME.values_of(value) is not None


def _is_milli_cpu(value: bytes) -> bool:
    return bool(_MILLI_CPU.fullmatch(value)) and not value.endswith(b"000m")


def _is_bytes(value: bytes) -> bool:
    found = _BYTES.fullmatch(value)
    return found is not None and int(found[1]) % 1024 != 0


_NAME_ROLE: Final = Role(_is_name, "podwright-example-{:03d}")
_LABEL_ROLE: Final = Role(_LABEL.fullmatch, "podwright-example-{:03d}")
_VARIABLE_ROLE: Final = Role(_VARIABLE.fullmatch, "PODWRIGHT_EXAMPLE_{:03d}")
_TEXT_ROLE: Final = Role(_TEXT.fullmatch, "podwright-example-{:03d}")
_IMAGE_ROLE: Final = Role(_IMAGE.fullmatch, "podwright-example-{:03d}:1")
_AMOUNT_ROLES: Final = {
    "cpu": Role(_is_milli_cpu, "731{:03d}1m"),
    "memory": Role(_is_bytes, "731{:03d}1Mi"),
}


class Varying(msgspec.Struct, frozen=True):
    """One varying value of a body.

    Attributes
    ----------
    indices : tuple of int
        Which values of the body it is: two for a limit that equals its request.
    role : Role
    """

    indices: tuple[int, ...]
    role: Role


class Shape:
    """What bodies of one shape have in common.

    Parameters
    ----------
    places : mapping of int to Place
        The places of the values that may vary, by their index.
    count : int
        The number of all values.
    """

    def __init__(self, places: dict[int, Place], count: int) -> None:
        roles = {index: role for index, place in places.items() if (role := _role_of(place))}
        by_place = {place: index for index, place in places.items()}
        self.name_index = by_place[_NAME_PLACE]
        self._pairs: list[tuple[int, int]] = []
        for place, index in by_place.items():
            if place[-2] == "requests":
                limit = by_place.get((*place[:-2], "limits", place[-1]))
                if limit is not None:
                    self._pairs.append((index, limit))
        paired = {index for pair in self._pairs for index in pair}
        self._roles = roles
        self._alone = [index for index in roles if index not in paired]
        fixed = [index for index in range(count) if index not in roles]
        self._fixed_of = itemgetter(*fixed, *fixed[:1]) if fixed else lambda _: ()
        variables = [
            (place[:-2], index) for place, index in by_place.items() if _is_variable(place)
        ]
        grouped = groupby(variables, key=itemgetter(0))
        self._variables = [[index for _, index in each] for _, each in grouped]

    def key_of(self, values: Sequence[bytes]) -> tuple[object, ...] | None:
        """Return what distinguishes a body from bodies that are not alike; None if it is alone."""
        pairs = [
            None if values[request] == values[limit] else (values[request], values[limit])
            for request, limit in self._pairs
        ]
        orders = []
        for indices in self._variables:
            names = [values[index] for index in indices]
            if len(set(names)) < len(names):
                return None
            orders.append(tuple(sorted(range(len(names)), key=names.__getitem__)))
        return (self._fixed_of(values), *pairs, *orders)

    def varying(self, values: Sequence[bytes]) -> list[Varying]:
        """Return the values of a body that vary between it and those alike, in order.

        The names of variables come in their own order.
        """
        found = [
            Varying(pair, self._roles[pair[0]])
            for pair in self._pairs
            if values[pair[0]] == values[pair[1]]
        ]
        found += [Varying((index,), self._roles[index]) for index in self._alone]
        return sorted(found, key=lambda each: values[each.indices[0]])


_NAME_PLACE: Final = ("metadata", "name")


def split_body(body: bytes) -> tuple[Texts, Texts]:
    """Return the texts of a body between the values of its fields, and these values."""
    parts = _VALUE.split(body)
    values = tuple(parts[2::3])
    del parts[2::3]
    return tuple(parts), values


def joined_body(texts: Texts, values: Sequence[bytes]) -> bytes:
    """Return the body of texts and values."""
    parts = [*texts[:2]]
    for index, value in enumerate(values):
        parts += (value, *texts[2 + 2 * index : 4 + 2 * index])
    return b"".join(parts)


def shape_of(texts: Texts, values: Texts) -> Shape | None:
    """Return the shape of a body; None if it has no name, or none that can be distinguished."""
    numbers = {f"\ufdd0{number}": number for number in range(len(values))}
    try:
        plain = msgspec.json.decode(joined_body(texts, values))
        marked = msgspec.json.decode(joined_body(texts, [mark.encode() for mark in numbers]))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    places = {numbers[text]: place for place, text in _texts_of(marked) if text in numbers}
    known = {place: text.encode() for place, text in _texts_of(plain)}
    places = {index: place for index, place in places.items() if _role_of(place) is not None}
    for place in _compared(plain, set(places.values())):
        places = {index: each for index, each in places.items() if each != place}
    if _NAME_PLACE not in places.values() or len(places) > VARYING_MAX:
        return None
    if any(known.get(place) != values[index] for index, place in places.items()):
        return None
    if any(_is_variable(place) and place not in places.values() for place in known):
        return None
    return Shape(places, len(values))


def _compared(pod: Document, places: Collection[Place]) -> list[Place]:
    """Return the places of amounts that are compared with one that has no place."""
    spec = pod["spec"]
    found: list[Place] = []
    for place in places:
        if _role_of(place) in _AMOUNT_ROLES.values():
            *start, side, name = place
            other = "limits" if side == "requests" else "requests"
            container = spec["containers"][place[2]]
            has_other = name in (container["resources"].get(other) or {})
            if spec.get("resources") or (has_other and (*start, other, name) not in places):
                found.append(place)
    return found


def _is_variable(place: Place) -> bool:
    return len(place) == 6 and place[3] == "env" and place[5] == "name"


def _role_of(place: Place) -> Role | None:
    """Return the role of a value by its place in a pod; None if it may not vary."""
    if place == _NAME_PLACE:
        return _NAME_ROLE
    match place:
        case ("metadata", "labels", str()):
            return _LABEL_ROLE
        case ("spec", "containers", int(), "image"):
            return _IMAGE_ROLE
        case ("spec", "containers", int(), "env", int(), "name"):
            return _VARIABLE_ROLE
        case ("spec", "containers", int(), "env", int(), "value"):
            return _TEXT_ROLE
        case ("spec", "containers", int(), "resources", "requests" | "limits", str(name)):
            return _AMOUNT_ROLES.get(name)
        case _:
            return None


def _texts_of(value: Any, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Yield the texts of a document with their places."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts_of(inner, (*place, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts_of(inner, (*place, index))
