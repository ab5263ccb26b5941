"""Free parts of objects, of which upstream keeps the text as it was sent.

The text is that of JSON with sorted keys and without spaces, unless the object has another one.
It decides whether a part has changed: another order of keys, or spaces, are a change.

Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/{types,extension}.go, RawExtension
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec


class RawObject(dict[str, Any]):
    """A part with a text that is not the usual one.

    Attributes
    ----------
    text : bytes
        The JSON as it was sent.
    """

    __slots__ = ("text",)
    text: bytes


def raw_text(value: Any) -> bytes:
    """Return the text of a part."""
    if isinstance(value, RawObject):
        return value.text
    return msgspec.json.encode(value, order="sorted")


def with_raw_text(value: Any, text: bytes, path: Sequence[str]) -> Any:
    """Return an object whose free part knows its text.

    Parameters
    ----------
    value
        The decoded text.
    text : bytes
        The valid JSON of the object.
    path : sequence of str
        Where the free part is; `*` is each element of a list.
    """
    if not path:
        return _raw(value, text)
    name, *rest = path
    if name == "*" and isinstance(value, list):
        parts = msgspec.json.decode(text, type=list[msgspec.Raw])
        return [with_raw_text(v, bytes(t), rest) for v, t in zip(value, parts, strict=True)]
    if not isinstance(value, dict) or value.get(name) is None:
        return value
    fields = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    return value | {name: with_raw_text(value[name], bytes(fields[name]), rest)}


def patched_raw(value: Any, path: Sequence[str], *, keeps_order: bool) -> Any:
    """Return a patched object: its free part is encoded again.

    Parameters
    ----------
    path : sequence of str
        Where the free part is.
    keeps_order : bool
        Whether keys keep their order, as in patches of JSON documents.
    """
    if not path:
        if not keeps_order or not isinstance(value, RawObject):
            # Go encodes maps with sorted keys.
            return msgspec.json.decode(msgspec.json.encode(value, order="sorted"))
        return _raw(dict(value), msgspec.json.format(value.text, indent=-1))
    name, *rest = path
    if name == "*" and isinstance(value, list):
        return [patched_raw(each, rest, keeps_order=keeps_order) for each in value]
    if not isinstance(value, dict) or value.get(name) is None:
        return value
    return value | {name: patched_raw(value[name], rest, keeps_order=keeps_order)}


def _raw(value: Any, text: bytes) -> Any:
    if not isinstance(value, dict) or raw_text(value) == text:
        return value
    made = RawObject(value)
    made.text = text
    return made
