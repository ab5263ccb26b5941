"""Creations of pods that vary in the values of some fields, from templates.

Pods that all differ still have much in common: usually their labels, requests and variables differ
in their values, and everything that the server decides about them is the same. `varied_bodies`
says which bodies are alike. After `LEARNED_AT` bodies that are alike, what a further one leads
to is made from the results of earlier ones: the stored JSON with other values, which is decoded.

Pods that differ in their name only share their spec, which templates of names do better. A request
whose other values occurred several times is executed in full, so that such a template is learned.

What bodies lead to is tried as for other templates (`prepared_creates`), and besides, the template
must give the object that was stored for the body from which it was learned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document, KubernetesObject, Pod, timestamp_text
from podwright.apimachinery.schema import decode
from podwright.cluster.api.admission import AdmissionChain, Attributes
from podwright.cluster.api.authorization import Access, AuthorizerChain
from podwright.cluster.api.endpoints.access.authorization import access_of
from podwright.cluster.api.endpoints.decoding.body_holes import Texts
from podwright.cluster.api.endpoints.decoding.shared_values import SeenTexts
from podwright.cluster.api.endpoints.decoding.varied_bodies import (
    VARYING_MAX,
    Shape,
    Varying,
    joined_body,
    shape_of,
    split_body,
)
from podwright.cluster.api.endpoints.paths import RequestInfo
from podwright.cluster.api.endpoints.request import Headers, HttpReply, HttpRequest
from podwright.cluster.api.endpoints.writes.creation_trials import (
    NAME,
    TRIAL_NS,
    MarkedText,
    Trial,
    Try,
    marked_texts,
)
from podwright.cluster.api.identity import uid_at
from podwright.cluster.api.users import User
from podwright.cluster.store import POD, ObjectStore, change_of

_SHAPES_MAX: Final = 256
_REPEATS_MAX: Final = 8
_COUNTED_MAX: Final = 32_768
_SUFFIX: Final = "/pods"

Key: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...], Texts]
"""The path, the query, the headers, and the shape of the body."""

Part: TypeAlias = tuple[tuple[str | int, ...], str | int, Any]
"""A part of a document: the place of what has it, its name or index there, and its value."""


class _Template(msgspec.Struct, frozen=True, eq=False):
    """What the creations of bodies that are alike share.

    Attributes
    ----------
    access : Access
        With the user.
    namespace : str
    varying : list of Varying
    name_index : int
        Which value of the body is the name.
    stored, served : MarkedText
        The JSON of a pod as it is stored, and in the reply.
    like : KubernetesObject
        A pod of the template.
    same : list of (tuple, str or int, object)
        The parts of the stored document that are the same in all pods: where, and what.
    has_same_status : bool
        Whether all pods have the same status.
    headers : tuple of pairs
        Of the reply.
    """

    access: Access
    namespace: str
    varying: list[Varying]
    name_index: int
    stored: MarkedText
    served: MarkedText
    like: KubernetesObject
    same: list[Part]
    has_same_status: bool
    headers: Headers

    def is_plain(self, values: Texts) -> bool:
        """Whether all values that vary are plain."""
        return all(each.role.is_plain(values[each.indices[0]]) for each in self.varying)

    def object_of(self, encoded: bytes) -> KubernetesObject:
        """Return the pod of the stored JSON; what all pods have in common is shared."""
        raw: Document = msgspec.json.decode(encoded)
        for place, name, value in self.same:
            holder: Any = raw
            for step in place:
                holder = holder[step]
            holder[name] = value
        obj = decode(raw)
        if not self.has_same_status:
            return obj
        raw["status"] = self.like.raw["status"]
        assert isinstance(obj, Pod), f"a {obj.kind} is not a pod"
        assert isinstance(self.like, Pod), f"a {self.like.kind} is not a pod"
        return msgspec.structs.replace(obj, status=self.like.status)


class _Known(msgspec.Struct, frozen=True, eq=False):
    """The templates of a shape.

    Attributes
    ----------
    shape : Shape
    templates : dict
        By the keys of bodies; None for bodies that have no template.
    """

    shape: Shape
    templates: dict[tuple[object, ...], _Template | None]


class VariedCreates:
    """The templates of pods that vary.

    Parameters
    ----------
    store : ObjectStore
    admission : AdmissionChain
    authorizers : AuthorizerChain
    templates_max : int
        The most templates that are kept; 0 for none.
    learned_at : int
        How many bodies of a shape, and then how many that are alike, are executed in full.
    """

    def __init__(
        self,
        store: ObjectStore,
        admission: AdmissionChain,
        authorizers: AuthorizerChain,
        *,
        templates_max: int,
        learned_at: int,
    ) -> None:
        self._store = store
        self._admission = admission
        self._authorizers = authorizers
        self._templates_max = templates_max
        self._shapes: dict[Key, _Known | None] = {}
        self._count = 0
        self._seen = SeenTexts(learned_at)
        # How often the values besides the name were executed, by their hash.
        self._repeats: dict[int, int] = {}

    def execute(self, request: HttpRequest, user: User, now_ns: int) -> HttpReply | None:
        """Execute a request that is like earlier ones; None if it must be executed in full.

        Raises
        ------
        UnusableStore
            The journal of the store cannot be written.
        """
        found = self._find(request, user)
        if found is None:
            return None
        template, values = found
        store = self._store
        key = f"{template.namespace}/{values[template.name_index].decode()}"
        if store.get(POD, key) is not None:
            return None
        version = store.resource_version + 1
        filled = _with_own(uid_at(store.seed, version), version, now_ns, template, values)
        encoded = template.stored.filled(filled)
        obj = template.object_of(encoded)
        store.encodings.keep(obj.raw, encoded)
        store.commit(change_of(version, POD, key, None, obj))
        if template.served is not template.stored:
            encoded = template.served.filled(filled)
        return HttpReply(201, template.headers, encoded + b"\n")

    def _find(self, request: HttpRequest, user: User) -> tuple[_Template, Texts] | None:
        """Return the template of a request that may be executed from it, and its values."""
        if not self._count or request.method != "POST" or not request.path.endswith(_SUFFIX):
            return None
        texts, values = split_body(request.body)
        known = self._shapes.get(_key(request, texts))
        if known is None:
            return None
        key = known.shape.key_of(values)
        template = None if key is None else known.templates.get(key)
        if template is None or not template.is_plain(values):
            return None
        access = template.access
        if access.user is not user and access.user != user:
            return None
        if self._is_repeated(values, template.name_index):
            return None
        return (template, values) if self._authorizers.allows(access) else None

    def _is_repeated(self, values: Texts, name_index: int) -> bool:
        """Whether the values besides the name have occurred often enough; count them."""
        rest = hash((values[:name_index], values[name_index + 1 :]))
        count = self._repeats.get(rest, 0)
        if count >= _REPEATS_MAX:
            return True
        if len(self._repeats) >= _COUNTED_MAX:
            self._repeats.clear()
        self._repeats[rest] = count + 1
        return False

    def learn(
        self, request: HttpRequest, info: RequestInfo, attributes: Attributes, attempt: Try
    ) -> None:
        """Keep the template of a pod that was created in full, if it has one.

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
        if attributes.resource.storage != POD or not request.path.endswith(_SUFFIX):
            return
        texts, values = split_body(request.body)
        if not self._seen.are_frequent(texts):
            return
        whole = _key(request, texts)
        if whole not in self._shapes:
            if len(self._shapes) >= _SHAPES_MAX:
                self._clear()
            shape = shape_of(texts, values)
            self._shapes[whole] = None if shape is None else _Known(shape, {})
        known = self._shapes[whole]
        key = None if known is None else known.shape.key_of(values)
        if known is None or key is None or key in known.templates:
            return
        if not self._seen.are_frequent((*texts, repr(key).encode())):
            return
        if self._count >= self._templates_max:
            self._clear()
            return
        template = None
        if self._admission.decides_by_shape(attributes):
            access = access_of(info, attributes.user, request)
            template = _tried(access, attributes, known.shape, texts, values, attempt)
            if template is not None and not self._gives_stored(template, values, attributes.now_ns):
                template = None
        known.templates[key] = template
        self._count += 1

    def discard(self, namespaces: Collection[str]) -> None:
        """Discard the templates of namespaces; "" stands for all."""
        for known in self._shapes.values():
            templates = {} if known is None else known.templates
            for key, template in [*templates.items()]:
                if "" in namespaces or template is None or template.namespace in namespaces:
                    del templates[key]
                    self._count -= 1

    def _clear(self) -> None:
        self._shapes.clear()
        self._count = 0

    def _gives_stored(self, template: _Template, values: Texts, now_ns: int) -> bool:
        """Whether a template gives the object that was stored for the values."""
        if not template.is_plain(values):
            return False
        name = values[template.name_index].decode()
        stored = self._store.get(POD, f"{template.namespace}/{name}")
        if stored is None:
            return False
        meta = stored.metadata
        filled = _with_own(meta.uid, int(meta.resource_version), now_ns, template, values)
        return template.stored.filled(filled) == msgspec.json.encode(stored.raw)


def _key(request: HttpRequest, texts: Texts) -> Key:
    return request.path, request.query, tuple(request.headers.items()), texts


def _with_own(
    uid: str, version: int, now_ns: int, template: _Template, values: Texts
) -> tuple[bytes, ...]:
    """Return the values of a template: those of the server, and those of the body."""
    own = uid.encode(), str(version).encode(), timestamp_text(now_ns).encode()
    return (*own, values[template.name_index], *values)


def _tried(
    access: Access,
    attributes: Attributes,
    shape: Shape,
    texts: Texts,
    values: Texts,
    attempt: Try,
) -> _Template | None:
    """Return the template of bodies that are like one; None if they have none."""
    varying = shape.varying(values)
    if 2 * len(varying) > VARYING_MAX:
        return None
    found: list[tuple[MarkedText, MarkedText, Trial]] = []
    for first in (0, len(varying)):
        body_values, numbers = [*values], {}
        for number, each in enumerate(varying, first):
            example = each.role.example.format(number)
            place = each.indices[0]
            numbers[example] = NAME if place == shape.name_index else NAME + 1 + place
            for index in each.indices:
                body_values[index] = example.encode()
        body = joined_body(texts, body_values)
        if any(
            body.count(each.role.example.format(number).encode()) != len(each.indices)
            for number, each in enumerate(varying, first)
        ):
            return None
        trial = attempt(body, attributes.now_ns + TRIAL_NS * (1 + len(found)))
        marked = None if trial is None else marked_texts(trial, numbers, NAME)
        if trial is None or marked is None:
            return None
        found.append((*marked, trial))
    (stored, served, trial), (other_stored, other_served, other) = found
    if not (stored.is_same(other_stored) and served.is_same(other_served)):
        return None
    # What both trials have in common has no example in it.
    like, raw = trial.object.raw, other.object.raw
    return _Template(
        access=access,
        namespace=trial.object.metadata.namespace,
        varying=varying,
        name_index=shape.name_index,
        stored=stored,
        served=stored if served.is_same(stored) else served,
        like=trial.object,
        same=[*_same_parts(like, raw)],
        has_same_status="status" in like and raw.get("status") == like["status"],
        headers=trial.reply.headers,
    )


def _same_parts(one: Any, two: Any, place: tuple[str | int, ...] = ()) -> Iterator[Part]:
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
            yield from _same_parts(mine, other, (*place, name))
