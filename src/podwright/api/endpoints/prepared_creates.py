"""Prepared creations: what the pods of a template share is executed once for the template.

Theory of operation
-------------------
The requests that create the pods of a template differ in one place: the name in the body, or in
nothing at all if the server generates it. The reply and the stored object differ in the name, the
uid, the resource version, and the time of creation, which is that of the managed fields too.

After a creation, `learn` keeps the rest of the request, and what the request led to, as a
template. `execute` finds the template of a request by that rest, and creates the object from it:
nothing is decoded, defaulted, admitted, validated or encoded again. It returns None for whatever is
not certain, and the caller executes the request in full. That the two ways give the same is
guaranteed by these rules:

- The rest of the request is compared whole: path, query, headers, user, and each byte of the body
  before and after the name. The text of the name is in one place, where a change of it changes
  `metadata.name` and nothing else; `learn` checks that.
- A name must be a DNS subdomain, so that it is valid and ends neither the text nor a rule about it.
- The user is authorized each time, since roles change apart from the objects of a batch.
- Each admission plugin says whether its decision holds for all names (`decides_by_template`), and
  which kinds it read. A change of an object of these kinds discards the templates of its namespace,
  or all templates if it has none.
- The values that differ are found in the stored object in their own places and in no other, so that
  nothing else depends on them. Replies with warnings, and dry runs, are not learned.

Templates are learned when a request occurs again, so pods that all differ leave nothing behind.
"""

from __future__ import annotations

import re
import zlib
from operator import itemgetter
from typing import Any, Final, TypeAlias

import msgspec

from podwright.api.admission import AdmissionChain, Attributes
from podwright.api.authorization import Access, AuthorizerChain
from podwright.api.endpoints.authorization import access_of
from podwright.api.endpoints.paths import RequestInfo
from podwright.api.endpoints.request import Headers, HttpReply, HttpRequest
from podwright.api.identity import generated_name, uid_at
from podwright.api.users import User
from podwright.objects import Document, KubernetesObject, timestamp_text
from podwright.store import NAMESPACE, GroupKind, ObjectStore, change_of

PREPARED_KINDS: Final[frozenset[GroupKind]] = frozenset({("", "Pod")})
"""The kinds whose objects differ in name, uid and times only if their requests do."""

TEMPLATES_MAX: Final = 2_048
"""How many templates a server keeps by default."""

_SEEN_MAX: Final = 65_536
_BODY_MAX_BYTES: Final = 64 * 1024

_NAME: Final = re.compile(rb'"name": ?"([-.a-z0-9]{1,253})"')
_SUBDOMAIN: Final = re.compile(rb"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_GENERATED: Final = b'"generateName"'
_OTHER_NAME: Final = b"z"
_IMPERSONATION: Final = "impersonate-"

_MARK_START: Final = "\ufdd0"
_MARKS: Final = tuple(f"{_MARK_START}{what}" for what in ("name", "uid", "version", "time"))
"""Texts in the places of the name, the uid, the version and the times; no object contains them."""
_ENCODED_MARK: Final = re.compile("|".join(_MARKS).encode())

Key: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...], bytes, bytes]
"""The path, the query, the headers, and the body before and after the name."""


class _Template:
    """What the creations of a template share.

    Attributes
    ----------
    access : Access
        With the user.
    kind : GroupKind
    namespace : str
    prefix : str
        Of generated names; "" if the requests have names.
    like : KubernetesObject
        An object of the template.
    entries : list of dict or None
        The managed fields of the objects that were created at `time`.
    time : str
    text : bytes
        The JSON of an object, with `%b` for each value that differs.
    values_of : callable
        Returns the values in the order of the text, from name, uid, version and time.
    headers : tuple of pairs
        Of the reply.
    """

    __slots__ = (
        "access", "entries", "headers", "kind", "like", "namespace", "prefix", "text", "time",
        "values_of",
    )  # fmt: skip

    def __init__(
        self, access: Access, like: KubernetesObject, kind: GroupKind, headers: Headers
    ) -> None:
        metadata = like.raw["metadata"]
        self.access = access
        self.kind = kind
        self.namespace = like.metadata.namespace
        self.prefix = ""
        self.like = like
        self.entries: list[Document] | None = metadata.get("managedFields")
        self.time: str = metadata["creationTimestamp"]
        marked = msgspec.json.encode(like.raw | {"metadata": _marked(metadata)})
        parts = _ENCODED_MARK.split(marked)
        self.text = b"%b".join(part.replace(b"%", b"%%") for part in parts)
        order = [_MARKS.index(mark.decode()) for mark in _ENCODED_MARK.findall(marked)]
        self.values_of = itemgetter(*order)
        self.headers = headers

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
        self.executed_count = 0

    def execute(self, request: HttpRequest, user: User, now_ns: int) -> HttpReply | None:
        """Execute a request of a known template; None if it must be executed in full.

        Raises
        ------
        UnusableStore
            The journal of the store cannot be written.
        """
        if self._changes:
            self._discard_changed()
        if not self._templates or request.method != "POST":
            return None
        key, name = _split(request)
        template = self._templates.get(key)
        if not isinstance(template, _Template):
            return None
        access = template.access
        if access.user is not user and access.user != user:
            return None
        if not self._authorizers.allows(access):
            return None
        store, namespace = self._store, template.namespace
        version = store.resource_version + 1
        if template.prefix:
            text = generated_name(
                template.prefix,
                namespace=namespace,
                taken=store.keys(template.kind),
                seed=store.seed,
                version=version,
            )
            name = text.encode()
        elif _SUBDOMAIN.fullmatch(name) is None:
            return None
        else:
            text = name.decode()
        key_of_object = f"{namespace}/{text}"
        if store.get(template.kind, key_of_object) is not None:
            return None
        uid, number, time = uid_at(store.seed, version), str(version), timestamp_text(now_ns)
        like = template.like
        metadata = like.raw["metadata"].copy()
        metadata["name"] = text
        metadata["uid"] = uid
        metadata["resourceVersion"] = number
        metadata["creationTimestamp"] = time
        entries = template.entries_at(time)
        if entries is not None:
            metadata["managedFields"] = entries
        raw = like.raw.copy()
        raw["metadata"] = metadata
        typed = _replace(
            like.metadata, name=text, uid=uid, resource_version=number, creation_timestamp=time
        )
        obj = _replace(like, metadata=typed, raw=raw)
        values = (name, uid.encode(), number.encode(), time.encode())
        encoded = template.text % template.values_of(values)
        store.encodings.keep(raw, encoded)
        store.commit(change_of(version, template.kind, key_of_object, None, obj))
        self.executed_count += 1
        return HttpReply(201, template.headers, encoded + b"\n")

    def learn(
        self,
        request: HttpRequest,
        info: RequestInfo,
        attributes: Attributes,
        sent: Document,
        reply: HttpReply,
    ) -> None:
        """Keep the template of a creation that was executed in full, if it is one.

        Parameters
        ----------
        request : HttpRequest
        info : RequestInfo
            Of the request.
        attributes : Attributes
            The write as admission has completed and validated it.
        sent : dict
            The decoded body.
        reply : HttpReply
            The reply, which is the stored object.
        """
        resource = attributes.resource
        if resource.storage not in PREPARED_KINDS or not self._templates_max:
            return
        if len(request.body) > _BODY_MAX_BYTES:
            return
        if any(name.startswith(_IMPERSONATION) for name in request.headers):
            return
        key, name = _split(request)
        self._discard_changed()
        if key in self._templates:
            return
        checksum = zlib.crc32(key[4], zlib.crc32(key[3]))
        if checksum not in self._seen:
            if len(self._seen) >= _SEEN_MAX:
                self._seen.clear()
            self._seen.add(checksum)
            return
        if len(self._templates) >= self._templates_max:
            self._templates.clear()
        is_only = _is_only_name(key, name, sent) if name else not sent["metadata"].get("name")
        if not is_only or not self._admission.decides_by_template(attributes):
            self._templates[key] = _NoTemplate(attributes.namespace)
            return
        template = self._template(access_of(info, attributes.user, request), attributes, reply)
        if template is not None:
            template.prefix = "" if name else sent["metadata"]["generateName"]
            self._templates[key] = template

    def _template(
        self, access: Access, attributes: Attributes, reply: HttpReply
    ) -> _Template | None:
        """Return the template of a created object; None if its values are in other places too."""
        kind = attributes.resource.storage
        metadata = (attributes.object or {}).get("metadata") or {}
        where = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        like = self._store.get(kind, where)
        if like is None or like.metadata.uid != metadata.get("uid"):
            return None
        text = self._store.encodings.peek(like.raw)
        if reply.body != text + b"\n" or reply.header("warning") is not None:
            return None  # another representation
        meta = like.metadata
        entries = like.raw["metadata"].get("managedFields")
        if entries is not None and (
            len(entries) != 1 or entries[0].get("time") != meta.creation_timestamp
        ):
            return None
        times = 1 if entries is None else 2
        # A name is quoted, so that it can be a part of another text.
        for value, count in ((meta.name, 1), (meta.resource_version, 1)):
            if text.count(b'"%b"' % value.encode()) != count:
                return None
        if text.count(meta.uid.encode()) != 1:
            return None
        if text.count((meta.creation_timestamp or "").encode()) != times:
            return None
        if _MARK_START.encode() in text:
            return None
        return _Template(access, like, kind, reply.headers)

    def _discard_changed(self) -> None:
        """Discard the templates whose admission may have changed."""
        if not self._changes:
            return
        places = {
            change.object.name if change.kind == NAMESPACE else change.object.namespace
            for change in self._changes
        }
        self._changes.clear()
        if "" in places:
            self._templates.clear()
            return
        for key in [key for key, each in self._templates.items() if each.namespace in places]:
            del self._templates[key]


_replace: Final = msgspec.structs.replace


def _split(request: HttpRequest) -> tuple[Key, bytes]:
    """Return the key of the template of a request, and the name in its body; b"" for none."""
    body = request.body
    found = None if _GENERATED in body else _NAME.search(body)
    headers = tuple(request.headers.items())
    if found is None:
        return (request.path, request.query, headers, body, b""), b""
    start, end = found.span(1)
    return (request.path, request.query, headers, body[:start], body[end:]), found[1]


def _is_only_name(key: Key, name: bytes, sent: Document) -> bool:
    """Whether another name in the body of a request changes `metadata.name` and nothing else."""
    other = _OTHER_NAME if name != _OTHER_NAME else _OTHER_NAME * 2
    try:
        one, two = (msgspec.json.decode(key[3] + each + key[4]) for each in (name, other))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    if not isinstance(one, dict) or not isinstance(one.get("metadata"), dict):
        return False
    is_name = one["metadata"].get("name") == name.decode() == sent["metadata"].get("name")
    one["metadata"]["name"] = other.decode()
    return is_name and bool(one == two)


def _marked(metadata: Document) -> dict[str, Any]:
    """Return the metadata of an object with marks in the places of what differs."""
    name, uid, version, time = _MARKS
    marked = metadata | {
        "name": name, "uid": uid, "resourceVersion": version, "creationTimestamp": time
    }  # fmt: skip
    if "managedFields" in metadata:
        marked["managedFields"] = [entry | {"time": time} for entry in metadata["managedFields"]]
    return marked
