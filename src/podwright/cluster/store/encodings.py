"""The JSON of objects, encoded once for the file, replies and all watches.

The encodings of the last versions are kept, up to a number of bytes. Documents that differ in few
values share a `TextForm`, so that only these values are kept for each.

Notes
-----
Upstream: pkg/registry/core/pod/strategy.go and pkg/registry/*/*/strategy.go, GetAttrs,
ToSelectableFields; pkg/apis/*/v1/conversion.go (the conversions of field labels).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    Document,
    FieldSelector,
    KubernetesObject,
    SelectorError,
    Unknown,
)
from podwright.apimachinery.schema import built_in
from podwright.cluster.store.errors import POD, GroupKind

KEPT_MAX_BYTES: Final = 32 * 1024 * 1024
"""The most bytes that are kept. New pods of a template need 0.4 KB each, running ones 5 KB. To copy
the text of a running pod into a list takes 0.3 us, and to encode the pod again 6 us."""

_ENTRY_BYTES: Final = 200
"""What a kept document takes besides its text: a tuple, the head of the text, and its place."""

_KEPT_SHARE: Final = 63 / 64
"""What is left of the most bytes when the oldest encodings are released: a millisecond's work."""

_FORMS_MAX: Final = 1_024
_OWNERS: Final = "managedFields"

# Neither is in any JSON of ours.
_BREAK: Final = b"\n"
_PLACE: Final = b"\xff"
_RAW_PLACE: Final = msgspec.Raw(_PLACE)


class TextForm:
    """What the JSON of several documents has in common.

    Parameters
    ----------
    texts : sequence of bytes
        Between the places for values.

    Attributes
    ----------
    format : bytes
        The texts with `%b` in each place.
    size_bytes : int
        The size of the texts.
    """

    __slots__ = ("_breaks", "format", "size_bytes")

    def __init__(self, texts: Sequence[bytes]) -> None:
        self.format = b"%b".join(text.replace(b"%", b"%%") for text in texts)
        self.size_bytes = sum(map(len, texts))
        self._breaks = len(texts) - 2

    def filled(self, values: Sequence[bytes]) -> bytes:
        """Return the text with values."""
        return self.format % tuple(values)

    def restored(self, joined: bytes) -> bytes:
        """Return the text with values that line breaks separate."""
        return self.format % tuple(joined.split(_BREAK))

    def size_with(self, joined: bytes) -> int:
        """Return the size of the text with values that line breaks separate."""
        return self.size_bytes + len(joined) - self._breaks


FormedText: TypeAlias = tuple[TextForm | None, bytes]
"""JSON; or its form, and the values with line breaks between them."""

_Kept: TypeAlias = tuple[Document, TextForm | None, bytes]
"""A document, and its JSON as a `FormedText`."""

_Sections: TypeAlias = tuple[object, ...]


class Encodings:
    """The JSON of documents.

    Parameters
    ----------
    max_bytes : int
        The most bytes that are kept, without the forms.
    """

    def __init__(self, max_bytes: int = KEPT_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        # By the id() of each section, which the value keeps alive; no form until they occur again.
        self._forms: dict[tuple[object, ...], tuple[_Sections, TextForm | None]] = {}
        # By the id() of a document; the value keeps the document alive, so its id is not reused.
        # In order of age.
        self._kept: dict[int, _Kept] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no document is kept."""
        return not self._kept

    def of(self, document: Document) -> bytes:
        """Return a stored document, which never changes, as JSON."""
        known = self._kept.get(id(document))
        if known is not None:
            return _text_of(known)
        text = msgspec.json.encode(document)
        self.keep(document, text)
        return text

    def size_of(self, document: Document) -> int:
        """Return the size of a stored document as JSON."""
        known = self._kept.get(id(document))
        if known is None:
            return len(self.of(document))
        _, form, text = known
        return len(text) if form is None else form.size_with(text)

    def keep_extended(self, document: Document, section: str, before: Document, field: str) -> None:
        """Keep the JSON of a new document that has an older section with one more field.

        Parameters
        ----------
        document : dict
            Of the kind of all such documents; a few of its sections are shared by many.
        section : str
            The name of the section in the document.
        before : dict
            The older section, without the field; many documents may share it.
        field : str
            The last field of the section.
        """
        metadata, status = document.get("metadata") or {}, document.get("status")
        # Half of the text of a small object; pods that were created together share them.
        owners = metadata.get(_OWNERS)
        key = (id(before), id(status), id(owners), *document)
        known = self._forms.get(key)
        if known is None:
            if len(self._forms) >= _FORMS_MAX:
                self._forms.clear()
            self._forms[key] = (before, status, owners), None
            self.keep(document, msgspec.json.encode(document))
            return
        form = known[1] or _form_of(document, section, before, field)
        if form is None or owners is None:
            self.keep(document, msgspec.json.encode(document))
            return
        self._forms[key] = known[0], form
        own = msgspec.json.encode(metadata | {_OWNERS: _RAW_PLACE}).split(_PLACE)
        self.keep_filled(document, form, (*own, msgspec.json.encode(document[section][field])))

    def keep(self, document: Document, text: bytes) -> None:
        """Keep the JSON of a new document."""
        self._keep((document, None, text))

    def keep_filled(self, document: Document, form: TextForm, values: Sequence[bytes]) -> None:
        """Keep the JSON of a new document as a form and its values; at least one."""
        self._keep((document, form, _BREAK.join(values)))

    def _keep(self, kept: _Kept) -> None:
        self._kept[id(kept[0])] = kept
        self._bytes += len(kept[2]) + _ENTRY_BYTES
        if self._bytes > self._max_bytes:
            self._release_oldest()

    def _release_oldest(self) -> None:
        # Many at once: the first entry of a dictionary is found behind all deleted ones.
        released = []
        for address, (_, _, oldest) in self._kept.items():
            if self._bytes <= self._max_bytes * _KEPT_SHARE:
                break
            released.append(address)
            self._bytes -= len(oldest) + _ENTRY_BYTES
        for address in released:
            del self._kept[address]

    def peek(self, document: Document) -> bytes:
        """Return a stored document as JSON without keeping it, for long lists."""
        known = self._kept.get(id(document))
        return msgspec.json.encode(document) if known is None else _text_of(known)

    def peek_formed(self, document: Document) -> FormedText:
        """Return the JSON of a stored document as it is kept, for what keeps it elsewhere."""
        known = self._kept.get(id(document))
        return (None, msgspec.json.encode(document)) if known is None else known[1:]

    def forget(self, document: Document) -> None:
        """Release a document that is not read again, and its JSON."""
        known = self._kept.pop(id(document), None)
        if known is not None:
            self._bytes -= len(known[2]) + _ENTRY_BYTES


def _text_of(kept: _Kept) -> bytes:
    _, form, text = kept
    return text if form is None else form.restored(text)


def _form_of(document: Document, section: str, before: Document, field: str) -> TextForm | None:
    """Return the form of documents with the same sections; None if they are in another order.

    It has places for the metadata before and after the owners, and for the field.
    """
    names = list(document)
    if "metadata" not in names or names.index("metadata") > names.index(section):
        return None
    owners = msgspec.json.encode(document["metadata"].get(_OWNERS))
    begin = msgspec.json.encode(before)[:-1] + (b"," if before else b"")
    shown = document | {
        "metadata": msgspec.Raw(b"%b%b%b" % (_PLACE, owners, _PLACE)),
        section: msgspec.Raw(b'%b"%b":%b}' % (begin, field.encode(), _PLACE)),
    }
    return TextForm(msgspec.json.encode(shown).split(_PLACE))


# The fields that field selectors support, per kind, and which of them are indexed.

Getter: TypeAlias = Callable[[KubernetesObject], str]
"""Reads a field as text for comparison; an absent field is empty, or Go's zero value."""

FieldTest: TypeAlias = tuple[Getter, frozenset[str] | None, frozenset[str]]
"""The getter of a field, the values that it may have (None for any), and those that it may not."""


def _raw(path: str, absent: str = "") -> Getter:
    steps = path.split(".")

    def get(obj: KubernetesObject) -> str:
        value: Any = obj.raw
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, str):
            return value
        if value is None:
            return absent
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value)

    return get


def _first_pod_ip(obj: KubernetesObject) -> str:
    addresses = (obj.raw.get("status") or {}).get("podIPs") or ()
    return str(addresses[0].get("ip", "")) if addresses else ""


def _event_source(obj: KubernetesObject) -> str:
    """Return the reporting component of an Event; of later ones, the reporting controller."""
    source = obj.raw.get("source") or {}
    return str(source.get("component") or obj.raw.get("reportingComponent") or "")


def _empty(_obj: KubernetesObject) -> str:
    return ""


_METADATA: dict[str, Getter] = {
    "metadata.name": lambda obj: obj.metadata.name,
    "metadata.namespace": lambda obj: obj.metadata.namespace,
}

_COMPUTED: Final[dict[tuple[GroupKind, str], Getter]] = {
    (POD, "spec.nodeName"): attrgetter("spec.node_name"),
    (POD, "status.phase"): attrgetter("status.phase"),
    (POD, "status.nominatedNodeName"): attrgetter("status.nominated_node_name"),
    (POD, "status.podIP"): _first_pod_ip,
    # Accepted and never set: upstream fills in `status.podIP` only.
    (POD, "status.podIPs"): _empty,
    (("", "Event"), "source"): _event_source,
    (("batch", "Job"), "status.successful"): _raw("status.succeeded", "0"),
}
"""The fields whose name is not their path, or that a struct has."""


@cache
def fields_of(kind: GroupKind) -> dict[str, Getter]:
    """Return the selectable fields of a kind besides `metadata.name` and `metadata.namespace`."""
    known = built_in().of(*kind)
    selectable = {} if known is None else known.row.selectable
    return {
        name: _COMPUTED.get((kind, name)) or _raw(name, absent)
        for name, absent in selectable.items()
    }


def indexed_fields(kind: GroupKind) -> tuple[str, ...]:
    """Return the indexed fields of a kind."""
    known = built_in().of(*kind)
    return () if known is None else known.row.indexed


def indexed_values(kind: GroupKind, text: bytes) -> tuple[str, ...]:
    """Return the values of the indexed fields of an object that is given as JSON."""
    decoder, readers = _indexed(kind)
    if not readers:
        return ()
    found = decoder.decode(text)
    return tuple([read(found) for read in readers])


@cache
def _indexed(kind: GroupKind) -> tuple[msgspec.json.Decoder[Any], tuple[Callable[[Any], str], ...]]:
    """Return a decoder of the indexed fields of a kind, and what reads each of them from it.

    Decoding all of an object takes five times as long.
    """
    names = indexed_fields(kind)
    getters = fields_of(kind)
    shape: dict[str, Any] = {}
    for name in names:
        inner = shape
        *path, last = name.split(".")
        for step in path:
            inner = inner.setdefault(step, {})
        inner[last] = None
    readers = tuple(_of_struct(name.split("."), getters[name]) for name in names)
    return msgspec.json.Decoder(_struct_of(shape)), readers


def _of_struct(steps: Sequence[str], getter: Getter) -> Callable[[Any], str]:
    """Return what reads a field that most objects have as text; others are read as documents."""

    def read(found: Any) -> str:
        value = found
        for step in steps:
            value = getattr(value, step, None)
        return value if type(value) is str else getter(Unknown(raw=msgspec.to_builtins(found)))

    return read


def _struct_of(shape: dict[str, Any]) -> type[msgspec.Struct]:
    """Return a struct with some fields of a document; fields that are absent stay so."""
    absent = msgspec.UnsetType
    fields = [
        (name, Any if inner is None else _struct_of(inner) | None | absent, msgspec.UNSET)
        for name, inner in shape.items()
    ]
    return msgspec.defstruct("Indexed", fields, gc=False)


def field_tests(kind: GroupKind, selector: FieldSelector) -> tuple[FieldTest, ...]:
    """Compile a field selector for a kind; each field has one test, however many conditions.

    Raises
    ------
    SelectorError
        The kind does not support a field; the message is upstream's.
    """
    if not selector.requirements:
        return ()
    own = fields_of(kind)
    known = _METADATA | own
    is_custom = built_in().of(*kind) is None
    required: dict[str, set[str]] = {}
    excluded: dict[str, set[str]] = {}
    getters: dict[str, Getter] = {}
    for requirement in selector.requirements:
        name = requirement.field
        getter = known.get(name)
        if getter is None and is_custom:
            # Definitions say by which fields custom resources are selected; the API checks it.
            getter = _raw(name)
        if getter is None:
            raise SelectorError(
                f"field label not supported: {name}"
                if own
                else f'"{name}" is not a known field selector: '
                'only "metadata.name", "metadata.namespace"'
            )
        getters.setdefault(name, getter)
        chosen = excluded if requirement.is_negated else required
        chosen.setdefault(name, set()).add(requirement.value)
    return tuple(
        (getter, _the_only(required.get(name)), frozenset(excluded.get(name, ())))
        for name, getter in getters.items()
    )


def _the_only(values: set[str] | None) -> frozenset[str] | None:
    """Return the values that a field may have which must have each of several."""
    if values is None:
        return None
    return frozenset(values if len(values) == 1 else ())
