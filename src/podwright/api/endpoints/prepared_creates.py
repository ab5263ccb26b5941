"""Prepared creations: what the objects of a template share is executed once for the template.

Theory of operation
-------------------
The requests that create the pods of a template differ in the name in their body, or in nothing if
the server makes the name; those that create the Events of a template differ in the names, times and
so on of `body_holes`. The replies and the stored objects differ in these values and in those of the
server: the uid, the resource version, and the time, which the managed fields have too.

After a creation, `learn` keeps the rest of the request and what it leads to as a template.
`execute` finds the template of a request by that rest, and creates the object from it: nothing is
decoded, defaulted, admitted, validated or encoded again. It returns None for whatever is not
certain, and the caller executes the request in full. Both ways give the same by these rules:

- The rest of the request is compared whole: path, query, headers, user, and each byte of the body
  outside of the holes. The values in the holes must be plain (`body_holes`).
- What a template leads to is tried: two creations with other values at other times are executed in
  full, up to the point where they would be stored. Their results must differ in these values and in
  those of the server only, and have each of them in places of its own.
- The user is authorized each time, since roles take effect apart from the objects of a batch.
- Each admission plugin says whether its decision holds for all objects of the template
  (`decides_by_template`), and which kinds it read. A change of an object of these kinds discards
  the templates of its namespace, or all templates if it has none.

Templates are learned when a request occurs again, so objects that all differ leave nothing behind.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final, TypeAlias, cast

import msgspec

from podwright.api.admission import AdmissionChain, Attributes
from podwright.api.authorization import Access, AuthorizerChain
from podwright.api.endpoints.authorization import access_of
from podwright.api.endpoints.body_holes import (
    HOLES,
    SPLITS,
    Texts,
    holes_of,
    joined,
    places,
    text_of,
)
from podwright.api.endpoints.paths import RequestInfo
from podwright.api.endpoints.request import Headers, HttpReply, HttpRequest
from podwright.api.endpoints.shared_values import SharedValues
from podwright.api.identity import generated_name, uid_at
from podwright.api.users import User
from podwright.objects import Document, KubernetesObject, timestamp_text
from podwright.store import NAMESPACE, GroupKind, ObjectStore, change_of

TEMPLATES_MAX: Final = 2_048
"""How many templates a server keeps by default."""

_SEEN_MAX: Final = 65_536
_BODY_MAX_BYTES: Final = 64 * 1024
_IMPERSONATION: Final = "impersonate-"
_TRIAL_NS: Final = 86_399 * 1_000_000_000

_METADATA: Final = "metadata"

_UID, _VERSION, _TIME, _NAME = range(4)
"""The numbers of the server's values; those of the holes follow."""

_MARK: Final = "\ufdd0{}\ufdd1"
_ENCODED_MARK: Final = re.compile("\ufdd0([0-9]+)\ufdd1".encode())

Key: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...], Texts]
"""The path, the query, the headers, and the texts of the body."""

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


class _Text:
    """A text with places for values.

    Parameters
    ----------
    marked : bytes
        With the number of a value between marks in each place.
    """

    __slots__ = ("form", "order", "values_of")

    def __init__(self, marked: bytes) -> None:
        parts = _ENCODED_MARK.split(marked)
        self.order = [int(number) for number in parts[1::2]]
        self.form = b"%b".join(part.replace(b"%", b"%%") for part in parts[::2])
        self.values_of = itemgetter(*self.order)

    def filled(self, values: Sequence[bytes]) -> bytes:
        """Return the text with values."""
        return self.form % cast("tuple[bytes, ...]", self.values_of(values))

    def is_same(self, other: _Text) -> bool:
        """Whether another text is equal, with the same values in the same places."""
        return self.form == other.form and self.order == other.order


class _Template(msgspec.Struct, eq=False):
    """What the creations of a template share.

    Attributes
    ----------
    access : Access
        With the user.
    kind : GroupKind
    namespace : str
    prefix : str
        Of names that the server makes; "" if the requests have names.
    name_hole : int
        The number of the hole with the name.
    plain : list of re.Pattern
        The plain values of the holes.
    like : KubernetesObject
        An object of the template.
    edits : list of (str, int, list of (str, int))
        The fields that differ, with the numbers of their values, by the part of the object; "" for
        the object itself. Between them is the form of the part; see `SharedValues`.
    entries : list of dict or None
        The managed fields of the objects that were created at `time`.
    time : str
    stored, served : _Text
        The JSON of an object as it is stored, and in the version of the request.
    headers : tuple of pairs
        Of the reply.
    """

    access: Access
    kind: GroupKind
    namespace: str
    prefix: str
    name_hole: int
    plain: list[re.Pattern[bytes]]
    like: KubernetesObject
    edits: list[tuple[str, int, list[tuple[str, int]]]]
    entries: list[Document] | None
    time: str
    stored: _Text
    served: _Text
    headers: Headers

    def is_plain(self, values: Texts) -> bool:
        """Whether the values of a body may be in the holes."""
        for pattern, value in zip(self.plain, values, strict=True):
            if pattern.fullmatch(value) is None:
                return False
        return True

    def object_of(self, values: Sequence[str], shared: SharedValues) -> KubernetesObject:
        """Return the object with the values of the server and of the holes."""
        like, time = self.like, values[_TIME]
        metadata = _replace(
            like.metadata,
            name=values[_NAME],
            uid=values[_UID],
            resource_version=values[_VERSION],
            creation_timestamp=time,
        )
        raw = like.raw.copy()
        for part, form, fields in self.edits:
            changed = raw
            if part == _METADATA:
                changed = raw[part] = raw[part].copy()
            elif part:
                raw[part] = shared.part(raw[part], form, fields, values)
                continue
            for field, number in fields:
                changed[field] = values[number]
        entries = self.entries_at(time)
        if entries is not None:
            raw[_METADATA]["managedFields"] = entries
        return _replace(like, metadata=metadata, raw=raw)

    def entries_at(self, time: str) -> list[Document] | None:
        """Return the managed fields of an object that is created at a time."""
        if time != self.time and self.entries is not None:
            self.entries = [entry | {"time": time} for entry in self.entries]
        self.time = time
        return self.entries


class _NoTemplate(msgspec.Struct, frozen=True):
    """Stands for requests that are not those of a template."""

    namespace: str


class PreparedCreates:
    """The templates of a server.

    Parameters
    ----------
    store : ObjectStore
    admission : AdmissionChain
    authorizers : AuthorizerChain
    templates_max : int
        The most templates that are kept; 0 for a server that executes each request in full.

    Attributes
    ----------
    executed_count : int
        How many requests were executed from their template.
    """

    def __init__(
        self,
        store: ObjectStore,
        admission: AdmissionChain,
        authorizers: AuthorizerChain,
        *,
        templates_max: int = TEMPLATES_MAX,
    ) -> None:
        self._store = store
        self._admission = admission
        self._authorizers = authorizers
        # A key without a template is one whose requests must be executed in full.
        self._templates: dict[Key, _Template | _NoTemplate] = {}
        # Checksums of what occurred once: most requests of a cluster without templates.
        self._seen: set[int] = set()
        kinds = sorted(admission.template_kinds)
        self._changes = store.follow(*kinds) if kinds else []
        self._templates_max = templates_max
        self._shared = SharedValues()
        self.executed_count = 0

    def execute(self, request: HttpRequest, user: User, now_ns: int) -> HttpReply | None:
        """Execute a request of a known template; None if it must be executed in full.

        Raises
        ------
        UnusableStore
            The journal of the store cannot be written.
        """
        known = self._find(request, user)
        if known is None:
            return None
        template, values = known
        store, namespace = self._store, template.namespace
        version = store.resource_version + 1
        if template.prefix:
            name = generated_name(
                template.prefix,
                namespace=namespace,
                taken=store.keys(template.kind),
                seed=store.seed,
                version=version,
            )
        else:
            name = values[template.name_hole].decode()
        key = f"{namespace}/{name}"
        if store.get(template.kind, key) is not None:
            return None
        own = (uid_at(store.seed, version), str(version), timestamp_text(now_ns), name)
        texts = (*own[:_VERSION], *self._shared.texts((*own[_VERSION:], *map(text_of, values))))
        obj = template.object_of(texts, self._shared)
        encoded_values = (*[value.encode() for value in own], *values)
        encoded = template.stored.filled(encoded_values)
        store.encodings.keep(obj.raw, encoded)
        store.commit(change_of(version, template.kind, key, None, obj))
        self.executed_count += 1
        if template.served is not template.stored:
            encoded = template.served.filled(encoded_values)
        return HttpReply(201, template.headers, encoded + b"\n")

    def _find(self, request: HttpRequest, user: User) -> tuple[_Template, Texts] | None:
        """Return the template of a request that may be executed from it, and its values."""
        if self._changes:
            self._discard_changed()
        if not self._templates or request.method != "POST":
            return None
        parts = _split(request)
        if parts is None:
            return None
        key, values = parts
        template = self._templates.get(key)
        if not isinstance(template, _Template) or not template.is_plain(values):
            return None
        access = template.access
        if access.user is not user and access.user != user:
            return None
        return (template, values) if self._authorizers.allows(access) else None

    def learn(
        self, request: HttpRequest, info: RequestInfo, attributes: Attributes, attempt: Try
    ) -> None:
        """Keep the template of a creation that was executed in full, if it is one.

        Parameters
        ----------
        request : HttpRequest
        info : RequestInfo
            Of the request.
        attributes : Attributes
            The write as admission has completed and validated it.
        attempt : callable
            Tries a creation with another body.
        """
        kind = attributes.resource.storage
        if kind not in HOLES or not self._templates_max or attributes.is_dry_run:
            return
        if len(request.body) > _BODY_MAX_BYTES:
            return
        if any(name.startswith(_IMPERSONATION) for name in request.headers):
            return
        parts = _split(request)
        self._discard_changed()
        if parts is None or parts[0] in self._templates:
            return
        key, values = parts
        checksum = 0
        for text in key[3]:
            checksum = zlib.crc32(text, checksum)
        if checksum not in self._seen:
            if len(self._seen) >= _SEEN_MAX:
                self._seen.clear()
            self._seen.add(checksum)
            return
        if len(self._templates) >= self._templates_max:
            self._templates.clear()
        template = None
        if self._admission.decides_by_template(attributes):
            access = access_of(info, attributes.user, request)
            template = _tried(
                access, kind, key[3], values, attributes.now_ns, attempt, self._shared
            )
        self._templates[key] = template or _NoTemplate(attributes.namespace)

    def _discard_changed(self) -> None:
        """Discard the templates whose admission may have changed."""
        if not self._changes:
            return
        namespaces = {
            change.object.name if change.kind == NAMESPACE else change.object.namespace
            for change in self._changes
        }
        self._changes.clear()
        if "" in namespaces:
            self._templates.clear()
            return
        for key in [key for key, each in self._templates.items() if each.namespace in namespaces]:
            del self._templates[key]


_replace: Final = msgspec.structs.replace


def _split(request: HttpRequest) -> tuple[Key, Texts] | None:
    """Return the key of the template of a request, and the values of its holes."""
    path = request.path
    split = SPLITS.get(path.rpartition("/")[2])
    if split is None:
        return None
    texts, values = split(request.body)
    return (path, request.query, tuple(request.headers.items()), texts), values


# ---------------------------------------------------------------------------- learning


class _Marked(msgspec.Struct, frozen=True, eq=False):
    """A trial with marks in the places of its values.

    Attributes
    ----------
    stored, served : _Text
    edits : dict of (str, str) to int
        The numbers of the values, by the part of the stored object and the field.
    """

    stored: _Text
    served: _Text
    edits: dict[tuple[str, str], int]


def _tried(
    access: Access,
    kind: GroupKind,
    texts: Texts,
    values: Texts,
    now_ns: int,
    attempt: Try,
    shared: SharedValues,
) -> _Template | None:
    """Return the template of a body; None if it has none."""
    holes = holes_of(kind, texts, values)
    if holes is None:
        return None
    found: list[tuple[Trial, _Marked]] = []
    for first in (0, len(holes)):
        examples = [hole.example.format(first + index) for index, hole in enumerate(holes)]
        if any(example.encode() in text for example in examples for text in texts):
            return None
        body = joined(texts, tuple(each.encode() for each in examples))
        trial = attempt(body, now_ns + _TRIAL_NS * (1 + len(found)))
        marked = None if trial is None else _marked(trial, examples)
        if trial is None or marked is None:
            return None
        found.append((trial, marked))
    (trial, one), (_, two) = found
    if one.edits != two.edits:
        return None
    if not (one.stored.is_same(two.stored) and one.served.is_same(two.served)):
        return None
    like = trial.object
    metadata = like.raw["metadata"]
    edits: dict[str, list[tuple[str, int]]] = {}
    for (part, field), number in one.edits.items():
        edits.setdefault(part, []).append((field, number))
    number_of_name = one.edits["metadata", "name"]
    is_named = number_of_name != _NAME
    return _Template(
        access=access,
        kind=kind,
        namespace=like.metadata.namespace,
        prefix="" if is_named else like.metadata.generate_name,
        name_hole=number_of_name - _NAME - 1,
        plain=[hole.plain for hole in holes],
        like=like,
        edits=[
            (part, shared.form_of(like.raw[part], fields) if part else 0, fields)
            for part, fields in edits.items()
        ],
        entries=metadata.get("managedFields"),
        time=metadata["creationTimestamp"],
        stored=one.stored,
        served=one.stored if one.served.is_same(one.stored) else one.served,
        headers=trial.reply.headers,
    )


def _marked(trial: Trial, examples: Sequence[str]) -> _Marked | None:
    """Return a trial with marks in the places of its values; None if they are in other places."""
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
    values = {example: _NAME + 1 + index for index, example in enumerate(examples)}
    name = values.get(meta.name, _NAME)
    if name == _NAME and not meta.generate_name:
        return None
    edits = {
        ("metadata", "name"): name,
        ("metadata", "uid"): _UID,
        ("metadata", "resourceVersion"): _VERSION,
        ("metadata", "creationTimestamp"): _TIME,
    }
    marked = _with_marks(raw, name)
    for path, number in places(marked, values):
        part, field = path if len(path) == 2 else ("", *path)[:2]
        # The struct of the object shows its metadata and nothing else that differs.
        if len(path) > 2 or "[]" in path or part == "metadata" or part in _fields(trial.object):
            return None
        edits[part, field] = number
    served = _with_marks(trial.served, name)
    texts = []
    for document in (marked, served):
        text = msgspec.json.encode(document)
        for example, number in values.items():
            text = text.replace(example.encode(), _MARK.format(number).encode())
        texts.append(text)
    stored, shown = _Text(texts[0]), _Text(texts[1])
    # Every place in the text is an edit; the managed fields have the time once more.
    if len(stored.order) != len(edits) + (entries is not None):
        return None
    own = [meta.uid, f'"{meta.resource_version}"', meta.creation_timestamp or ""]
    if name == _NAME:
        own.append(f'"{meta.name}"')
    if any(value.encode() in text for value in own for text in (stored.form, shown.form)):
        return None
    return _Marked(stored, shown, edits)


def _fields(obj: KubernetesObject) -> frozenset[str]:
    return frozenset(type(obj).__struct_encode_fields__)


def _with_marks(document: Document, name: int) -> Document:
    """Return an object with marks in the places of the server's values and of the name."""
    metadata: dict[str, Any] = document["metadata"] | {
        "name": _MARK.format(name),
        "uid": _MARK.format(_UID),
        "resourceVersion": _MARK.format(_VERSION),
        "creationTimestamp": _MARK.format(_TIME),
    }
    if "managedFields" in metadata:
        time = {"time": _MARK.format(_TIME)}
        metadata["managedFields"] = [entry | time for entry in metadata["managedFields"]]
    return document | {"metadata": metadata}
