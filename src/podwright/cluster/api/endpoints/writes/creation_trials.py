"""Trials of creations, and the texts of what they lead to with places for values.

A trial executes a creation with example values up to the point where the object would be stored.
In the JSON of its results the examples and the values of the server are replaced by marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document, KubernetesObject
from podwright.cluster.api.endpoints.request import HttpReply
from podwright.cluster.store import TextForm

UID, VERSION, TIME, NAME = range(4)
"""The numbers of the server's values; those of the body follow."""

TRIAL_NS: Final = 86_399 * 1_000_000_000
"""The time between two trials, so that no part of their times is the same."""

_MARK: Final = "\ufdd0{}\ufdd1"
_ENCODED_MARK: Final = re.compile("\ufdd0([0-9]+)\ufdd1".encode())

Try: TypeAlias = Callable[[bytes, int], "Trial | None"]
"""Executes a creation with another body at another time up to its end; None if it is rejected."""


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
        self.values_of: Callable[[Sequence[bytes]], tuple[bytes, ...]] = itemgetter(*self.order)

    def filled(self, values: Sequence[bytes]) -> bytes:
        """Return the text with values."""
        return self.form.filled(self.values_of(values))

    def is_same(self, other: MarkedText) -> bool:
        """Whether another text is equal, with the same values in the same places."""
        return self.form.format == other.form.format and self.order == other.order


def marked_texts(
    trial: Trial, numbers: Mapping[str, int], name: int
) -> tuple[MarkedText, MarkedText] | None:
    """Return the stored object of a trial and the served one as texts with marks.

    None if the reply is another one than the served object, or if a value of the server is in
    another place than its own.

    Parameters
    ----------
    trial : Trial
    numbers : mapping of str to int
        The numbers of the example values.
    name : int
        The number of the name.
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
    texts = []
    for document in (raw, trial.served):
        text = msgspec.json.encode(with_marks(document, name))
        for example, number in numbers.items():
            text = text.replace(example.encode(), _MARK.format(number).encode())
        texts.append(text)
    stored, served = MarkedText(texts[0]), MarkedText(texts[1])
    own = [meta.uid, f'"{meta.resource_version}"', meta.creation_timestamp or ""]
    if name == NAME:
        own.append(f'"{meta.name}"')
    formats = (stored.form.format, served.form.format)
    if any(value.encode() in text for value in own for text in formats):
        return None
    return stored, served


def with_marks(document: Document, name: int) -> Document:
    """Return an object with marks in the places of the server's values and of the name."""
    metadata: dict[str, Any] = document["metadata"] | {
        "name": _MARK.format(name),
        "uid": _MARK.format(UID),
        "resourceVersion": _MARK.format(VERSION),
        "creationTimestamp": _MARK.format(TIME),
    }
    if "managedFields" in metadata:
        time = {"time": _MARK.format(TIME)}
        metadata["managedFields"] = [entry | time for entry in metadata["managedFields"]]
    return document | {"metadata": metadata}
