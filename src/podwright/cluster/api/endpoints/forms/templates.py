"""The results of creations of a form: stored object and reply, with placeholders for values.

A trial executes a creation with example values up to the point where the object would be stored.
In the JSON of its results, the examples and the values of the server are replaced by marks. Two
trials with other values at other times must differ in these values only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document, KubernetesObject, timestamp_text
from podwright.apimachinery.schema import decode
from podwright.cluster.api.authorization import Access
from podwright.cluster.api.endpoints.forms.bodies import (
    VARYING_MAX,
    Shape,
    Texts,
    getter,
    joined_body,
)
from podwright.cluster.api.endpoints.request import Headers, HttpReply
from podwright.cluster.api.identity import generated_name, uid_at
from podwright.cluster.store import GroupKind, ObjectStore, TextForm, change_of

UID, VERSION, TIME, NAME = range(4)
"""The numbers of the server's values; those of the body follow."""

_TRIAL_NS: Final = 86_399 * 1_000_000_000
"""The time between two trials, so that no part of their times is the same."""

_MARK: Final = "\ufdd0{}\ufdd1"
_ENCODED_MARK: Final = re.compile("\ufdd0([0-9]+)\ufdd1".encode())
_OWN: Final = {"uid": UID, "resourceVersion": VERSION, "creationTimestamp": TIME}
_TEXT: Final = b'"%b"'
_UNREAD: Final = {"name": "x", "namespace": "x"}
"""The metadata of an object of which only another section is read."""

_PARTS_MAX: Final = 4_096

Try: TypeAlias = Callable[[bytes, int], "Trial | None"]
"""Executes a creation with another body at another time up to its end; None if it is rejected."""

_replace: Final = msgspec.structs.replace


class Trial(msgspec.Struct, frozen=True):
    """What a creation would lead to.

    Attributes
    ----------
    object : KubernetesObject
        As it would be stored.
    served : dict
        The object in the version of the request.
    reply : HttpReply
    """

    object: KubernetesObject
    served: Document
    reply: HttpReply


class MarkedText:
    """A text with places for values.

    Parameters
    ----------
    marked : bytes
        With the number of a value between marks in each place.

    Attributes
    ----------
    order : list of int
        The numbers of the values in the order of their places.
    form : TextForm
        The text with a place for each of them.
    values_of : callable
        Returns the values of the places, given all values.
    """

    __slots__ = ("form", "order", "values_of")

    def __init__(self, marked: bytes) -> None:
        parts = _ENCODED_MARK.split(marked)
        self.order = [int(number) for number in parts[1::2]]
        self.form = TextForm(parts[::2])
        self.values_of = getter(self.order)

    def is_same(self, other: MarkedText) -> bool:
        """Whether another text is equal, with the same values in the same places."""
        return self.form.format == other.form.format and self.order == other.order


class Part(msgspec.Struct, frozen=True, eq=False):
    """A part of the stored object in which values vary.

    Attributes
    ----------
    section : str
        The field of the object.
    field : str
        The field of its metadata; "" for another section.
    is_typed : bool
        Whether the struct of the object has the section.
    text : MarkedText
        The JSON of the part.
    same : list of (tuple, str or int, object)
        What all objects have in common in it: where, and what.
    """

    section: str
    field: str
    is_typed: bool
    text: MarkedText
    same: list[tuple[tuple[str | int, ...], str | int, Any]]

    def made(self, values: Sequence[bytes]) -> Any:
        """Return the part with values; what all objects have in common is shared."""
        if self.text.form.format == _TEXT and b"\\" not in values[0]:
            return values[0].decode()
        value = msgspec.json.decode(self.text.form.filled(values))
        for place, name, shared in self.same:
            holder = value
            for step in place:
                holder = holder[step]
            holder[name] = shared
        return value


class SharedParts:
    """The parts of objects that were made last: equal ones are kept once, and never change.

    The Events of one pod refer to the same object and have the same times, and the pods of a
    workload have one spec. With 250,000 Events, the copies took 200 MiB.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, tuple[bytes, ...]], tuple[Any, Any]] = {}

    def of(self, part: Part, values: Sequence[bytes], like: KubernetesObject) -> tuple[Any, Any]:
        """Return a part with values, and its struct if objects like one have it."""
        own = part.text.values_of(values)
        key = part.text.form.format, own
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _PARTS_MAX:
                self._known.clear()
            value, struct = part.made(own), None
            if part.is_typed:
                whole = {"apiVersion": like.api_version, "kind": like.kind, "metadata": _UNREAD}
                struct = getattr(decode(whole | {part.section: value}), part.section)
            known = self._known[key] = value, struct
        return known


class Template(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What the creations of a form share.

    Attributes
    ----------
    access : Access
        With the user.
    kind : GroupKind
    name_number : int
        Which value is the name: one of the body, or the server's.
    like : KubernetesObject
        An object of the form.
    parts : list of Part
        Where objects differ, apart from the metadata that the server sets.
    stored, served : MarkedText
        The JSON of an object as it is stored, and in the reply.
    headers : tuple of pairs
        Of the reply.
    """

    access: Access
    kind: GroupKind
    name_number: int
    like: KubernetesObject
    parts: list[Part]
    stored: MarkedText
    served: MarkedText
    headers: Headers

    def create(
        self, store: ObjectStore, values: Texts, now_ns: int, shared: SharedParts
    ) -> HttpReply | None:
        """Create the object with values of a body; return None if one has its name."""
        version = store.resource_version + 1
        meta = self.like.metadata
        if self.name_number == NAME:
            name = generated_name(
                meta.generate_name,
                namespace=meta.namespace,
                taken=store.keys(self.kind),
                seed=store.seed,
                version=version,
            )
        else:
            name = values[self.name_number - NAME - 1].decode()
        key = f"{meta.namespace}/{name}"
        if store.get(self.kind, key) is not None:
            return None
        uid, time = uid_at(store.seed, version), timestamp_text(now_ns)
        all_values = with_own(uid, str(version), time, name, values)
        obj = self._object(uid, str(version), time, name, all_values, shared)
        form, own = self.stored.form, self.stored.values_of(all_values)
        store.encodings.keep_filled(obj.raw, form, own)
        store.commit(change_of(version, self.kind, key, None, obj))
        if self.served is not self.stored:
            form, own = self.served.form, self.served.values_of(all_values)
        return HttpReply(201, self.headers, form.filled(own) + b"\n")

    def narrowed(self, values: Texts, shared: SharedParts) -> Template:
        """Return the template of objects with values of a body, which differ in their name only.

        Its only value is the name, if that is not the server's.
        """
        is_named = self.name_number != NAME
        numbers = {number: number for number in (UID, VERSION, TIME, NAME)}
        numbers |= {self.name_number: NAME + is_named}
        all_values = with_own("", "", "", "", values)

        def narrow(text: MarkedText) -> MarkedText:
            filled = [
                _MARK.format(numbers[number]).encode() if number in numbers else all_values[number]
                for number in text.order
            ]
            return MarkedText(text.form.filled(filled))

        stored = narrow(self.stored)
        return _replace(
            self,
            name_number=NAME + is_named,
            like=self._object("", "", "", "", all_values, shared),
            parts=[
                _replace(part, text=narrow(part.text))
                for part in self.parts
                if not numbers.keys().isdisjoint(part.text.order)
            ],
            stored=stored,
            served=stored if self.served is self.stored else narrow(self.served),
        )

    def _object(
        self,
        uid: str,
        version: str,
        time: str,
        name: str,
        values: Sequence[bytes],
        shared: SharedParts,
    ) -> KubernetesObject:
        """Return the object with the values of the server and of the body."""
        like = self.like
        metadata = like.raw["metadata"].copy()
        metadata["name"], metadata["uid"] = name, uid
        metadata["resourceVersion"], metadata["creationTimestamp"] = version, time
        raw = like.raw.copy()
        raw["metadata"] = metadata
        facts: dict[str, Any] = {}
        typed: dict[str, Any] = {}
        for part in self.parts:
            value, struct = shared.of(part, values, like)
            if part.field:
                metadata[part.field] = value
                if part.field == "labels":
                    facts["labels"] = value
            else:
                raw[part.section] = value
                if struct is not None:
                    typed[part.section] = struct
        meta = _replace(
            like.metadata,
            name=name,
            uid=uid,
            resource_version=version,
            creation_timestamp=time,
            **facts,
        )
        return _replace(like, metadata=meta, raw=raw, **typed)


def with_own(uid: str, version: str, time: str, name: str, values: Texts) -> tuple[bytes, ...]:
    """Return the values of a template: those of the server, and those of the body."""
    return uid.encode(), version.encode(), time.encode(), name.encode(), *values


# ------------------------------------------------------------------------------ learning


def tried(
    access: Access,
    kind: GroupKind,
    shape: Shape,
    body: tuple[Sequence[bytes], Texts],
    now_ns: int,
    attempt: Try,
) -> Template | None:
    """Return the template of the form of a body; None if it has none."""
    texts, values = body
    varying = shape.varying(values)
    if 2 * len(varying) > VARYING_MAX:
        return None
    found: list[tuple[Trial, _Marked]] = []
    for first in (0, len(varying)):
        sent, numbers = [*values], {}
        for number, each in enumerate(varying, first):
            example = each.role.example.format(number)
            numbers[example] = NAME + 1 + each.indices[0]
            for index in each.indices:
                sent[index] = example.encode()
        example_body = joined_body(texts, sent)
        if any(
            example_body.count(each.role.example.format(number).encode()) != len(each.indices)
            for number, each in enumerate(varying, first)
        ):
            return None
        trial = attempt(example_body, now_ns + _TRIAL_NS * (1 + len(found)))
        marked = None if trial is None else _marked(trial, numbers)
        if trial is None or marked is None:
            return None
        found.append((trial, marked))
    (trial, one), (other, two) = found
    if not (one.stored.is_same(two.stored) and one.served.is_same(two.served)):
        return None
    parts = _parts(trial.object, other.object.raw, one)
    if parts is None or (one.name == NAME and not trial.object.metadata.generate_name):
        return None
    return Template(
        access=access,
        kind=kind,
        name_number=one.name,
        like=trial.object,
        parts=parts,
        stored=one.stored,
        served=one.stored if one.served.is_same(one.stored) else one.served,
        headers=trial.reply.headers,
    )


class _Marked(msgspec.Struct, frozen=True, eq=False):
    """A trial with marks in the places of its values.

    Attributes
    ----------
    name : int
        The number of the name.
    document : dict
        The stored object, with marks for the values of the server.
    stored, served : MarkedText
    with_marks : callable
        Returns the JSON of a part with marks for all values.
    """

    name: int
    document: Document
    stored: MarkedText
    served: MarkedText
    with_marks: Callable[[Any], bytes]


def _marked(trial: Trial, numbers: Mapping[str, int]) -> _Marked | None:
    """Return a trial with marks.

    None if the reply is another one than the served object, or if a value of the server is in
    another place than its own.
    """
    if trial.reply.header("warning") is not None:
        return None
    if trial.reply.body != msgspec.json.encode(trial.served) + b"\n":
        return None  # another representation
    raw, meta = trial.object.raw, trial.object.metadata
    entries = raw["metadata"].get("managedFields")
    if entries is not None and (
        len(entries) != 1 or entries[0].get("time") != meta.creation_timestamp
    ):
        return None
    name = numbers.get(meta.name, NAME)

    def with_marks(part: Any) -> bytes:
        text = msgspec.json.encode(part)
        for example, number in numbers.items():
            text = text.replace(example.encode(), _MARK.format(number).encode())
        return text

    document = _with_own_marks(raw, name)
    stored = MarkedText(with_marks(document))
    served = MarkedText(with_marks(_with_own_marks(trial.served, name)))
    own = [meta.uid, f'"{meta.resource_version}"', meta.creation_timestamp or ""]
    if name == NAME:
        own.append(f'"{meta.name}"')
    if any(value.encode() in text.form.format for value in own for text in (stored, served)):
        return None
    return _Marked(name, document, stored, served, with_marks)


def _with_own_marks(document: Document, name: int) -> Document:
    """Return an object with marks in the places of the server's values and of the name."""
    own = {field: _MARK.format(number) for field, number in _OWN.items()}
    metadata: Document = document["metadata"] | own | {"name": _MARK.format(name)}
    if "managedFields" in metadata:
        time = {"time": _MARK.format(TIME)}
        metadata["managedFields"] = [entry | time for entry in metadata["managedFields"]]
    return document | {"metadata": metadata}


def _parts(obj: KubernetesObject, other: Document, marked: _Marked) -> list[Part] | None:
    """Return the parts in which two objects of a form vary; None if structs show others."""
    found: list[Part] = []
    typed = {*type(obj).__struct_encode_fields__} - {"metadata"}
    for section, part in marked.document.items():
        is_metadata = section == "metadata"
        for field in part.keys() - {"name", *_OWN} if is_metadata else [""]:
            text = MarkedText(marked.with_marks(part[field] if field else part))
            if not text.order:
                continue
            if field not in ("", "labels", "managedFields"):
                return None
            mine, its = obj.raw[section], other[section]
            same = _same(mine[field], its[field]) if field else _same(mine, its)
            found.append(Part(section, field, section in typed, text, [*same]))
    return found


def _same(
    one: Any, two: Any, place: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], str | int, Any]]:
    """Yield the largest parts that two documents have in common."""
    if isinstance(one, dict) and isinstance(two, dict):
        pairs = [(name, value, two[name]) for name, value in one.items() if name in two]
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        pairs = [(index, *each) for index, each in enumerate(zip(one, two, strict=True))]
    else:
        return
    for name, mine, other in pairs:
        if not isinstance(mine, dict | list):
            continue
        if mine == other:
            yield place, name, mine
        else:
            yield from _same(mine, other, (*place, name))
