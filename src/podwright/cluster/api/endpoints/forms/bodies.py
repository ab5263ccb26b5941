"""Which texts of a body may vary between objects that the server processes alike.

A body is split at all texts that are values of fields. What is left is its shape: the names of the
fields, the numbers, the lists. In a shape the values of `ROLES` may vary: names, labels and those
that terms select, images, variables and amounts of pods; names, times and sentences of Events. All
others are fixed.

Bodies of one shape have one form if their fixed values are equal, and if no rule of the server
distinguishes those that vary:

- Each is plain: the server keeps it as it is written, and decides nothing by it. One that is not
  plain is fixed.
- A limit equals its request in both, or both values are fixed: validation and the class of quality
  of service compare the two.
- The names of variables are distinct and have the same order: managed fields are sorted by them.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Collection, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.store import EVENT, POD, GroupKind

Place: TypeAlias = tuple[str | int, ...]
Texts: TypeAlias = tuple[bytes, ...]

VARYING_MAX: Final = 400
"""The most varying values of a body; their examples are numbered with three digits."""

_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_UID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# Runs of characters, since an alternative for each of them takes several times as long.
_SENTENCE: Final = r"[!#-\[\]-~][ !#-\[\]-~]*(?:\\\"[ !#-\[\]-~]*)*"
_DAY: Final = (
    r"2\d{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    r"|02-(?:0[1-9]|1\d|2[0-8]))"
)
_SECOND: Final = rf"{_DAY}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
_BYTES: Final = re.compile(rb"[1-9][0-9]{0,6}(?:Ki|Mi|Gi)")


class Role(msgspec.Struct, frozen=True):
    """What a varying value is.

    Attributes
    ----------
    is_plain : callable
        Whether a value is kept as it is written.
    example : str
        A format that makes a plain value from a number below 1,000, which occurs nowhere else.
    plain : str
        The regular expression of plain values; "" if that is not enough.
    """

    is_plain: Callable[[bytes], Any]
    example: str
    plain: str = ""


def _role(plain: str, example: str = "podwright-example-{:03d}", *, max_bytes: int = 0) -> Role:
    """Return the role of values of a regular expression, which are not too long."""
    plain = f"(?!.{{{max_bytes + 1}}}){plain}" if max_bytes else plain
    return Role(re.compile(plain.encode()).fullmatch, example, plain)


def _is_bytes(value: bytes) -> bool:
    return _BYTES.fullmatch(value) is not None and int(value[:-2]) % 1024 != 0


# Other names of pods get a warning.
POD_NAME: Final = _role(_LABEL, max_bytes=63)
_NAME: Final = _role(rf"{_LABEL}(?:\.{_LABEL})*", max_bytes=253)
_LABEL_VALUE: Final = _role(r"[A-Za-z0-9](?:[-._A-Za-z0-9]{0,61}[A-Za-z0-9])?")
_VARIABLE: Final = _role(r"[A-Za-z_][A-Za-z0-9_]{0,200}", "PODWRIGHT_EXAMPLE_{:03d}")
_TEXT: Final = _role(r"[ !#-\[\]-~]{1,1024}")
# With a tag that is not `latest`, for which images are always pulled.
_IMAGE: Final = _role(
    r"[a-z0-9][-._a-z0-9/]{0,200}:v?[0-9][-._A-Za-z0-9]{0,60}", "podwright-example-{:03d}:1"
)
_AMOUNTS: Final = {
    "cpu": _role("(?:(?![0-9]*000m)[1-9][0-9]{0,6}m|[1-9][0-9]{0,3})", "731{:03d}1m"),
    "memory": Role(_is_bytes, "731{:03d}1Mi"),
}
_REFERENCE: Final = {
    "name": _NAME,
    "uid": _role(_UID, "0e0a3b1e-4b1d-4c7e-9d2f-4c6b8a10e{:03d}"),
    "resourceVersion": _role("[1-9][0-9]{0,17}", "908172635453627{:03d}"),
}
_NOTE: Final = _role(_SENTENCE, "podwright example {:03d}.", max_bytes=1_023)
_TIME: Final = _role(rf"{_SECOND}Z", "2{:03d}-11-29T23:47:53Z")
_NAME_PLACE: Final = ("metadata", "name")

_OF_EVENTS: Final[dict[Place, Role]] = {
    _NAME_PLACE: _NAME,
    **{("regarding", field): role for field, role in _REFERENCE.items()},
    **{("involvedObject", field): role for field, role in _REFERENCE.items()},
    ("source", "host"): _NAME,
    ("reportingInstance",): _role("[-.a-z0-9]{1,128}"),
    ("note",): _NOTE,
    ("message",): _NOTE,
    ("eventTime",): _role(rf"{_SECOND}\.\d{{6}}Z", "2{:03d}-11-29T23:47:53.123457Z"),
    ("firstTimestamp",): _TIME,
    ("lastTimestamp",): _TIME,
}


def _of_pods(place: Place) -> Role | None:
    match place:
        case ("metadata", "name"):
            return POD_NAME
        case ("metadata", "labels", str()):
            return _LABEL_VALUE
        case ("spec", "containers", int(), "image"):
            return _IMAGE
        case ("spec", "containers", int(), "env", int(), "name"):
            return _VARIABLE
        case ("spec", "containers", int(), "env", int(), "value"):
            return _TEXT
        case ("spec", "containers", int(), "resources", "requests" | "limits", str(name)):
            return _AMOUNTS.get(name)
        case ("spec", "affinity" | "topologySpreadConstraints", *_, "matchLabels", str()):
            return _LABEL_VALUE
        case _:
            return None


ROLES: Final[dict[GroupKind, Callable[[Place], Role | None]]] = {
    POD: _of_pods,
    EVENT: _OF_EVENTS.get,
}
"""By stored kind, the role of a value by its place in a body; None if it may not vary."""


def _never(text: bytes) -> None:
    del text


class Varying(msgspec.Struct, frozen=True):
    """One varying value of a body.

    Attributes
    ----------
    indices : tuple of int
        Which values of the body it is: two for a request that equals its limit.
    role : Role
    """

    indices: tuple[int, ...]
    role: Role


class Shape:
    """What bodies of one shape have in common.

    Parameters
    ----------
    roles : mapping of Place to (int, Role)
        The values that may vary, with their index.
    count : int
        The number of all values.

    Attributes
    ----------
    name_index : int or None
        Which value is the name; None for bodies whose names the server makes.
    """

    def __init__(self, roles: dict[Place, tuple[int, Role]], count: int) -> None:
        self.name_index = roles[_NAME_PLACE][0] if _NAME_PLACE in roles else None
        limits = {
            index: roles[limit][0]
            for place, (index, _) in roles.items()
            if place[-2:-1] == ("requests",)
            and (limit := (*place[:-2], "limits", place[-1])) in roles
        }
        self._alone = [each for each in roles.values() if each[0] not in limits.values()]
        self._limits = limits
        varying = {index for index, _ in roles.values()}
        self._fixed_of = getter([index for index in range(count) if index not in varying])
        self._requests_of, self._limits_of = getter([*limits]), getter([*limits.values()])
        self._matched_of = getter([index for index, role in self._alone if role.plain])
        self._match: Callable[[bytes], Any] = _never
        self._unmatched = [each for each in self._alone if not each[1].plain]
        names = [(place[:-2], index) for place, (index, _) in roles.items() if _is_variable(place)]
        grouped = groupby(names, key=itemgetter(0))
        self._variables = [[index for _, index in each] for _, each in grouped]

    def expect_many(self) -> None:
        """Expect many bodies: compile one expression for most values.

        It takes a fraction of their time one by one, and much more to compile.
        """
        if self._match is _never:
            expressions = (role.plain for _, role in self._alone if role.plain)
            # No plain value has a line break, which separates them.
            self._match = re.compile("\n".join(expressions).encode()).fullmatch

    def form_of(self, values: Sequence[bytes]) -> tuple[object, ...]:
        """Return what distinguishes a body from those of another form."""
        orders: list[object] = []
        for indices in self._variables:
            names = [values[index] for index in indices]
            is_distinct = len({*names}) == len(names)
            order = sorted(range(len(names)), key=names.__getitem__) if is_distinct else names
            orders.append(tuple(order))
        is_paired = not self._limits or self._requests_of(values) == self._limits_of(values)
        is_plain = is_paired and self._match(b"\n".join(self._matched_of(values)))
        fixed = [
            (index, values[index], values[self._limits.get(index, index)])
            for index, role in (self._unmatched if is_plain else self._alone)
            if not self._varies(values, index, role)
        ]
        return (self._fixed_of(values), *fixed, *orders)

    def _varies(self, values: Sequence[bytes], index: int, role: Role) -> bool:
        value = values[index]
        return value == values[self._limits.get(index, index)] and bool(role.is_plain(value))

    def varying(self, values: Sequence[bytes]) -> list[Varying]:
        """Return the values of a body that vary in its form, in order.

        The names of variables come in their own order.
        """
        repeated = {
            index
            for indices in self._variables
            if len({values[index] for index in indices}) < len(indices)
            for index in indices
        }
        found = [
            Varying(tuple(dict.fromkeys((index, self._limits.get(index, index)))), role)
            for index, role in self._alone
            if index not in repeated and self._varies(values, index, role)
        ]
        return sorted(found, key=lambda each: values[each.indices[0]])


def getter(indices: Sequence[int]) -> Callable[[Sequence[bytes]], tuple[bytes, ...]]:
    """Return what takes the values of indices, as a tuple for any number of them."""
    match indices:
        case []:
            return lambda _: ()
        case [index]:
            return lambda values: (values[index],)
        case _:
            return itemgetter(*indices)


# Possessive, as no value matches in another way: a quarter less time.
_VALUE: Final = re.compile(rb'": ?+"([^"\\]*+(?:\\"[^"\\]*+)*+)')


_IN_NAMES_AND_VALUES: Final = bytes({*range(256)} - {*b'"[]{}'})


def outline_of(body: bytes) -> int:
    """Return the checksum of the quotes and brackets of a body, which bodies of a shape share.

    It takes a quarter of the time of `split_body`. Brackets in values are part of it.
    """
    plain = body.replace(b'\\"', b"") if b"\\" in body else body
    return zlib.crc32(plain.translate(None, _IN_NAMES_AND_VALUES))


def split_body(body: bytes) -> tuple[list[bytes], Texts]:
    """Return the texts of a body between the values of its fields, and these values.

    The space between a name and a value is left out.
    """
    parts = _VALUE.split(body)
    return parts[::2], tuple(parts[1::2])


def span_of(body: bytes, index: int) -> tuple[int, int]:
    """Return where a value of a body starts and ends."""
    return next(islice(_VALUE.finditer(body), index, None)).span(1)


def joined_body(texts: Sequence[bytes], values: Sequence[bytes]) -> bytes:
    """Return the body of texts and values."""
    parts = [texts[0]]
    for value, text in zip(values, texts[1:], strict=True):
        parts += (b'":"', value, text)
    return b"".join(parts)


def shape_of(
    kind: GroupKind, texts: Sequence[bytes], values: Texts, *, varies: bool = True
) -> Shape | None:
    """Return the shape of a body; None if its values have no places of their own.

    Parameters
    ----------
    kind : GroupKind
        One of `ROLES`.
    varies : bool
        Whether more than the name may vary.
    """
    numbers = {f"\ufdd0{number}": number for number in range(len(values))}
    try:
        marked = msgspec.json.decode(joined_body(texts, [mark.encode() for mark in numbers]))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    known = _texts_of(marked)
    roles = {
        place: (numbers[text], role)
        for place, text in known.items()
        if text in numbers
        and (varies or place == _NAME_PLACE)
        and (role := ROLES[kind](place)) is not None
    }
    if any(_is_variable(place) and place not in roles for place in known):
        roles = {place: each for place, each in roles.items() if not _is_variable(place)}
    for place in _compared(marked, roles):
        del roles[place]
    has_name = _NAME_PLACE in roles or _NAME_PLACE not in known
    return Shape(roles, len(values)) if has_name and len(roles) <= VARYING_MAX else None


def _compared(pod: Document, places: Collection[Place]) -> list[Place]:
    """Return the places of amounts that are compared with one that has no place."""
    found: list[Place] = []
    for place in places:
        if len(place) == 6 and place[-2] in ("requests", "limits"):
            *start, side, name = place
            other = "limits" if side == "requests" else "requests"
            container = pod["spec"]["containers"][place[2]]
            has_other = name in (container["resources"].get(other) or {})
            is_alone = (*start, other, name) not in places
            if pod["spec"].get("resources") or (has_other and is_alone):
                found.append(place)
    return found


def _is_variable(place: Place) -> bool:
    return len(place) == 6 and place[3] == "env" and place[5] == "name"


def _texts_of(document: Any) -> dict[Place, str]:
    """Return the texts of a document by their places."""
    found: dict[Place, str] = {}

    def visit(value: Any, place: Place) -> None:
        if isinstance(value, str):
            found[place] = value
        elif isinstance(value, dict):
            for name, inner in value.items():
                visit(inner, (*place, name))
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                visit(inner, (*place, index))

    visit(document, ())
    return found
