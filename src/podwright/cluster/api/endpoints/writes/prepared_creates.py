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

Templates are learned when a request has occurred `LEARNED_AT` times: workloads with few pods leave
nothing behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document, KubernetesObject, timestamp_text
from podwright.cluster.api.admission import AdmissionChain, Attributes
from podwright.cluster.api.authorization import Access, AuthorizerChain
from podwright.cluster.api.endpoints.access.authorization import access_of
from podwright.cluster.api.endpoints.decoding.body_holes import (
    HOLES,
    SPLITS,
    BodyPattern,
    Path,
    Texts,
    joined,
    paths_of,
    places,
    text_of,
)
from podwright.cluster.api.endpoints.decoding.shared_values import (
    LEARNED_AT,
    SeenTexts,
    SharedValues,
)
from podwright.cluster.api.endpoints.paths import RequestInfo
from podwright.cluster.api.endpoints.request import Headers, HttpReply, HttpRequest
from podwright.cluster.api.endpoints.writes.creation_trials import (
    NAME,
    TIME,
    TRIAL_NS,
    UID,
    VERSION,
    MarkedText,
    Trial,
    Try,
    marked_texts,
    with_marks,
)
from podwright.cluster.api.endpoints.writes.varied_creates import VariedCreates
from podwright.cluster.api.identity import generated_name, uid_at
from podwright.cluster.api.users import User
from podwright.cluster.store import NAMESPACE, GroupKind, ObjectStore, change_of

TEMPLATES_MAX: Final = 2_048
"""How many templates a server keeps by default."""

_BODY_MAX_BYTES: Final = 64 * 1024
_RECENT_MAX: Final = 6
"""How many templates of a path are tried before the key of a request is made."""

_RECENT_PATHS_MAX: Final = 256
_IMPERSONATION: Final = "impersonate-"

_METADATA: Final = "metadata"

Key: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...], Texts]
"""The path, the query, the headers, and the texts of the body."""


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
    query : str
    sent : mapping of str to str
        The headers of the requests.
    bodies : BodyPattern
    like : KubernetesObject
        An object of the template.
    edits : list of (str, int, list of (str, int))
        The fields that differ, with the numbers of their values, by the part of the object; "" for
        the object itself. Between them is the form of the part; see `SharedValues`.
    entries : list of dict or None
        The managed fields of the objects that were created at `time`.
    time : str
    stored, served : MarkedText
        The JSON of an object as it is stored, and in the version of the request.
    headers : tuple of pairs
        Of the reply.
    """

    access: Access
    kind: GroupKind
    namespace: str
    prefix: str
    name_hole: int
    query: str
    sent: Mapping[str, str]
    bodies: BodyPattern
    like: KubernetesObject
    edits: list[tuple[str, int, list[tuple[str, int]]]]
    entries: list[Document] | None
    time: str
    stored: MarkedText
    served: MarkedText
    headers: Headers

    def values_of(self, request: HttpRequest) -> Texts | None:
        """Return the values of a request to the path; None if it is not of the template."""
        if request.query != self.query or request.headers != self.sent:
            return None
        return self.bodies.values_of(request.body)

    def object_of(self, values: Sequence[str], shared: SharedValues) -> KubernetesObject:
        """Return the object with the values of the server and of the holes."""
        like, time = self.like, values[TIME]
        metadata = _replace(
            like.metadata,
            name=values[NAME],
            uid=values[UID],
            resource_version=values[VERSION],
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


class CreateTemplate(msgspec.Struct, frozen=True, eq=False):
    """A template for components that know the values of their objects and make no requests.

    Attributes
    ----------
    paths : tuple of Path
        The fields whose values differ, in the order of the values.
    template : _Template
    discarded_count : int
        How often templates had been discarded when this one was found.
    """

    paths: tuple[Path, ...]
    template: _Template
    discarded_count: int


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
    learned_at : int
        How many requests of a template are executed in full.

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
        learned_at: int = LEARNED_AT,
    ) -> None:
        self._store = store
        self._admission = admission
        self._authorizers = authorizers
        # A key without a template is one whose requests must be executed in full.
        self._templates: dict[Key, _Template | _NoTemplate] = {}
        # Of each path, those that were found last by their keys.
        self._recent: dict[str, list[_Template]] = {}
        # What has occurred a few times: most requests of a cluster without templates.
        self._seen = SeenTexts(learned_at)
        kinds = sorted(admission.template_kinds)
        self._changes = store.follow(*kinds) if kinds else []
        self._templates_max = templates_max
        self._shared = SharedValues()
        self._varied = VariedCreates(
            store, admission, authorizers, templates_max=templates_max, learned_at=learned_at
        )
        self._discarded_count = 0
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
            reply = self._varied.execute(request, user, now_ns)
            self.executed_count += reply is not None
            return reply
        template, values = known
        texts = self._shared.texts(map(text_of, values))
        created = self._create(template, texts, values, now_ns)
        if created is None:
            return None
        return HttpReply(201, template.headers, template.served.filled(created) + b"\n")

    def template_of(self, request: HttpRequest, user: User) -> CreateTemplate | None:
        """Return the template of a request for `create`; None if it has none."""
        found, parts = self._find(request, user), _split(request)
        if found is None or parts is None:
            return None
        template, ((*_, texts), values) = found[0], parts
        paths = paths_of(template.kind, texts, values)
        return None if paths is None else CreateTemplate(paths, template, self._discarded_count)

    def create(self, known: CreateTemplate, values: Sequence[str], now_ns: int) -> bool:
        """Create an object of a template with other values, without a request.

        Parameters
        ----------
        known : CreateTemplate
        values : sequence of str
            The values of `known.paths`.
        now_ns : int

        Returns
        -------
        bool
            False if nothing was created: execute the request in full.

        Raises
        ------
        UnusableStore
            The journal of the store cannot be written.
        """
        if self._changes:
            self._discard_changed()
        template = known.template
        if known.discarded_count != self._discarded_count:
            return False
        encoded = template.bodies.encoded(values)
        if encoded is None or not self._authorizers.allows(template.access):
            return False
        return self._create(template, values, encoded, now_ns) is not None

    def _create(
        self, template: _Template, values: Sequence[str], encoded: Texts, now_ns: int
    ) -> Texts | None:
        """Create an object with plain values of the holes; None if one has its name.

        Returns the values of the texts of the template.
        """
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
            name = values[template.name_hole]
        key = f"{namespace}/{name}"
        if store.get(template.kind, key) is not None:
            return None
        own = (uid_at(store.seed, version), str(version), timestamp_text(now_ns), name)
        obj = template.object_of((*own, *values), self._shared)
        encoded_values = (*[value.encode() for value in own], *encoded)
        stored = template.stored
        store.encodings.keep_filled(obj.raw, stored.form, stored.values_of(encoded_values))
        store.commit(change_of(version, template.kind, key, None, obj))
        self.executed_count += 1
        return encoded_values

    def _find(self, request: HttpRequest, user: User) -> tuple[_Template, Texts] | None:
        """Return the template of a request that may be executed from it, and its values."""
        if self._changes:
            self._discard_changed()
        if not self._templates or request.method != "POST":
            return None
        found = self._among_recent(request) or self._among_all(request)
        if found is None:
            return None
        access = found[0].access
        if access.user is not user and access.user != user:
            return None
        return found if self._authorizers.allows(access) else None

    def _among_recent(self, request: HttpRequest) -> tuple[_Template, Texts] | None:
        """Return the template and the values of a request, without its key."""
        for template in self._recent.get(request.path, ()):
            values = template.values_of(request)
            if values is not None:
                return template, values
        return None

    def _among_all(self, request: HttpRequest) -> tuple[_Template, Texts] | None:
        """Return the template and the values of a request, by its key."""
        parts = _split(request)
        if parts is None:
            return None
        template = self._templates.get(parts[0])
        if not isinstance(template, _Template):
            return None
        values = template.values_of(request)
        if values is None:
            return None
        if len(self._recent) >= _RECENT_PATHS_MAX:
            self._recent.clear()
        recent = self._recent.setdefault(request.path, [])
        recent.insert(0, template)
        del recent[_RECENT_MAX:]
        return template, values

    def learn(
        self,
        request: HttpRequest,
        info: RequestInfo,
        attributes: Attributes,
        attempt: Try,
        *,
        has_new_spec: bool = False,
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
        has_new_spec : bool
            Whether no earlier body had the text of the spec.
        """
        kind = attributes.resource.storage
        if kind not in HOLES or not self._templates_max or attributes.is_dry_run:
            return
        if len(request.body) > _BODY_MAX_BYTES:
            return
        if any(name.startswith(_IMPERSONATION) for name in request.headers):
            return
        self._discard_changed()
        if has_new_spec:
            self._varied.learn(request, info, attributes, attempt)
            return
        parts = _split(request)
        if parts is None or parts[0] in self._templates:
            return
        key, values = parts
        if not self._seen.are_frequent(key[3]):
            self._varied.learn(request, info, attributes, attempt)
            return
        if len(self._templates) >= self._templates_max:
            self._templates.clear()
            self._recent.clear()
        template = None
        if self._admission.decides_by_template(attributes):
            access = access_of(info, attributes.user, request)
            template = _tried(access, kind, key, values, attributes.now_ns, attempt, self._shared)
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
        self._recent.clear()
        self._discarded_count += 1
        self._varied.discard(namespaces)
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
    stored, served : MarkedText
    edits : dict of (str, str) to int
        The numbers of the values, by the part of the stored object and the field.
    """

    stored: MarkedText
    served: MarkedText
    edits: dict[tuple[str, str], int]


def _tried(
    access: Access,
    kind: GroupKind,
    key: Key,
    values: Texts,
    now_ns: int,
    attempt: Try,
    shared: SharedValues,
) -> _Template | None:
    """Return the template of a request; None if it has none."""
    _, query, headers, texts = key
    paths = paths_of(kind, texts, values)
    if paths is None:
        return None
    holes = [HOLES[kind][path] for path in paths]
    found: list[tuple[Trial, _Marked]] = []
    for first in (0, len(holes)):
        examples = [hole.example.format(first + index) for index, hole in enumerate(holes)]
        if any(example.encode() in text for example in examples for text in texts):
            return None
        body = joined(texts, tuple(each.encode() for each in examples))
        trial = attempt(body, now_ns + TRIAL_NS * (1 + len(found)))
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
    is_named = number_of_name != NAME
    return _Template(
        access=access,
        kind=kind,
        namespace=like.metadata.namespace,
        prefix="" if is_named else like.metadata.generate_name,
        name_hole=number_of_name - NAME - 1,
        query=query,
        sent=dict(headers),
        bodies=BodyPattern(texts, holes),
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
    raw, meta = trial.object.raw, trial.object.metadata
    values = {example: NAME + 1 + index for index, example in enumerate(examples)}
    name = values.get(meta.name, NAME)
    if name == NAME and not meta.generate_name:
        return None
    texts = marked_texts(trial, values, name)
    if texts is None:
        return None
    edits = {
        ("metadata", "name"): name,
        ("metadata", "uid"): UID,
        ("metadata", "resourceVersion"): VERSION,
        ("metadata", "creationTimestamp"): TIME,
    }
    for path, number in places(with_marks(raw, name), values):
        part, field = path if len(path) == 2 else ("", *path)[:2]
        # The struct of the object shows its metadata and nothing else that differs.
        if len(path) > 2 or "[]" in path or part == "metadata" or part in _fields(trial.object):
            return None
        edits[part, field] = number
    stored, served = texts
    # Every place in the text is an edit; the managed fields have the time once more.
    if len(stored.order) != len(edits) + ("managedFields" in raw["metadata"]):
        return None
    return _Marked(stored, served, edits)


def _fields(obj: KubernetesObject) -> frozenset[str]:
    return frozenset(type(obj).__struct_encode_fields__)
