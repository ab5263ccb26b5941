"""The forms that a server knows, and the creations that are made from them.

Theory of operation
-------------------
After a creation that was executed in full, `learn` counts the form of its body. When a form has
occurred often enough, what it leads to is tried and kept as a template. `execute` finds the
template of a request, and creates the object from it: nothing is defaulted, admitted, validated or
encoded again. It returns None for whatever is not certain, and the caller executes the request in
full. Both ways give the same by these rules:

- The rest of the request is compared whole: path, query, headers, user, and each byte of the body
  outside of the values that vary. These must be plain (`bodies`).
- What a form leads to is tried (`templates`), and must be what was stored for the body.
- The user is authorized each time, since roles take effect apart from the objects of a batch.
- Each admission plugin says whether its decision holds for all objects of the form, and which kinds
  it read. A change of an object of these kinds discards the forms of its namespace, or all if it
  has none.

Workloads with few pods leave nothing behind but checksums.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import timestamp_text
from podwright.cluster.api.admission import AdmissionChain, Attributes
from podwright.cluster.api.authorization import AuthorizerChain
from podwright.cluster.api.endpoints.access.authorization import access_of
from podwright.cluster.api.endpoints.forms.bodies import (
    POD_NAME,
    ROLES,
    Shape,
    Texts,
    outline_of,
    shape_of,
    span_of,
    split_body,
)
from podwright.cluster.api.endpoints.forms.templates import (
    SharedParts,
    Template,
    Try,
    tried,
    with_own,
)
from podwright.cluster.api.endpoints.paths import RequestInfo
from podwright.cluster.api.endpoints.request import IMPERSONATION, HttpReply, HttpRequest
from podwright.cluster.api.users import User
from podwright.cluster.store import EVENT, NAMESPACE, POD, GroupKind, ObjectStore

TEMPLATES_MAX: Final = 2_048
"""How many templates a server keeps by default."""

LEARNED_AT: Final = 6
"""How often a form must occur until it is learned.

Learning costs as much as several creations. In a cluster of many workloads with few pods each,
most of what occurs twice does not occur often enough to repay that.
"""

_SHAPE_AT: Final = 4
"""How often bodies of a shape must occur until its places are found, as the first part of that.

Finding them costs more than a creation, and most shapes that occur twice do not occur four times.
"""

_BODY_MAX_BYTES: Final = 64 * 1024
_SEEN_MAX: Final = 65_536
_REPEATED_MAX: Final = 6
"""How many recent requests of a path are compared before the form of a request is found."""

_REPEATED_PATHS_MAX: Final = 256
_COLLECTIONS: Final = {"pods": POD, "events": EVENT}

Key: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...], bytes, int]
"""The path, the query, the headers, the texts of the body, and how many values it has."""


_Split: TypeAlias = tuple[list[bytes], Texts, Key]
"""The texts of a body, its values, and its key."""


class SeenTexts:
    """How often the texts have occurred that occurred last, by their checksums.

    Two texts may have the same checksum, so a text may be taken for one that occurred.

    Parameters
    ----------
    least : int
        How often texts have to occur.
    """

    def __init__(self, least: int) -> None:
        self._least = least
        self._counts: dict[int, int] = {}

    def are_frequent(self, checksum: int) -> bool:
        """Count texts, and return whether they have occurred often enough."""
        count = self._counts.get(checksum, 0) + 1
        if count < self._least:
            if len(self._counts) >= _SEEN_MAX:
                self._counts.clear()
            self._counts[checksum] = count
        return count >= self._least


class Repeat:
    """Requests that differ in their name only, or in nothing if the server makes it.

    Parameters
    ----------
    request : HttpRequest
    template : Template
        Of all of them; see `Template.narrowed`.
    name_index : int or None
        Which value of the body is the name; None for none.
    """

    __slots__ = ("_has_name", "_head", "_request", "_tail", "template")

    def __init__(self, request: HttpRequest, template: Template, name_index: int | None) -> None:
        body = request.body
        self._request, self.template = request, template
        self._has_name = name_index is not None
        start, end = (len(body),) * 2 if name_index is None else span_of(body, name_index)
        self._head, self._tail = body[:start], body[end:]

    def values_of(self, request: HttpRequest) -> Texts | None:
        """Return the values of a request to the same path; None if it is another one."""
        body, head, tail = request.body, self._head, self._tail
        if request.query != self._request.query or request.headers != self._request.headers:
            return None
        if not self._has_name:
            return () if body == head else None
        end = len(body) - len(tail)
        if not (len(head) < end and body.startswith(head) and body.endswith(tail)):
            return None
        name = body[len(head) : end]
        return (name,) if POD_NAME.is_plain(name) else None


class _Known(msgspec.Struct, frozen=True, eq=False):
    """The bodies of one shape.

    Attributes
    ----------
    namespace : str
    shape : Shape or None
        None for bodies whose requests are executed in full.
    templates : dict
        By form; None for forms without one.
    """

    namespace: str
    shape: Shape | None
    templates: dict[tuple[object, ...], Template | None]


class KnownForms:
    """The forms of a server.

    Parameters
    ----------
    store : ObjectStore
    admission : AdmissionChain
    authorizers : AuthorizerChain
    templates_max : int
        The most templates that are kept; 0 for a server that executes each request in full.
    learned_at : int
        How many requests of a form are executed in full.

    Attributes
    ----------
    executed_count : int
        How many requests were executed from a template.
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
        self._templates_max = templates_max
        self._known: dict[Key, _Known] = {}
        # The outlines of their bodies: most bodies of other outlines are never split.
        self._outlines: set[int] = set()
        self._count = 0
        # Places are found for bodies that have occurred some times, which most shapes never do.
        shapes_at = min(learned_at, _SHAPE_AT)
        self._seen_shapes = SeenTexts(shapes_at)
        self._seen_forms = SeenTexts(learned_at - shapes_at + 1)
        # The last request, which is learned if it has no template.
        self._split: tuple[HttpRequest, _Split] | None = None
        self._outline: tuple[HttpRequest, int] | None = None
        self._shared = SharedParts()
        # By path; and of each template, the values of the last body besides the name.
        self._repeats: dict[str, list[Repeat]] = {}
        self._last: dict[Template, tuple[Texts, Repeat | None]] = {}
        kinds = sorted(admission.template_kinds)
        self._changes = store.follow(*kinds) if kinds else []
        self.executed_count = 0

    def execute(self, request: HttpRequest, user: User, now_ns: int) -> HttpReply | None:
        """Execute a request of a known form; return None if it must be executed in full.

        Raises
        ------
        UnusableStore
            The journal of the store cannot be written.
        """
        if self._changes:
            self._discard_changed()
        if not self._count or request.method != "POST":
            return None
        kind = _COLLECTIONS.get(request.path.rpartition("/")[2])
        if kind is None:
            return None
        found = self._repeated(request) or self._found(request, kind)
        if found is None:
            return None
        template, values = found
        access = template.access
        if access.user is not user and access.user != user:
            return None
        if not self._authorizers.allows(access):
            return None
        reply = template.create(self._store, values, now_ns, self._shared)
        self.executed_count += reply is not None
        return reply

    def _found(self, request: HttpRequest, kind: GroupKind) -> tuple[Template, Texts] | None:
        """Return the template of a request by its form, and the values of its body."""
        # Events are short, and nearly all of them have a known form.
        if kind != EVENT and self._outline_of(request) not in self._outlines:
            return None
        _, values, key = self._split_of(request)
        known = self._known.get(key)
        if known is None or known.shape is None:
            return None
        template = known.templates.get(known.shape.form_of(values))
        if template is None:
            return None
        if kind != EVENT:  # each has its own time and object
            self._note(request, template, values, known.shape.name_index)
        return template, values

    def _split_of(self, request: HttpRequest) -> _Split:
        if self._split is None or self._split[0] is not request:
            texts, values = split_body(request.body)
            self._split = request, (texts, values, _key(request, texts))
        return self._split[1]

    def _outline_of(self, request: HttpRequest) -> int:
        if self._outline is None or self._outline[0] is not request:
            self._outline = request, outline_of(request.body)
        return self._outline[1]

    def _repeated(self, request: HttpRequest) -> tuple[Template, Texts] | None:
        """Return the template of a request that differs from a recent one in its name only."""
        for repeat in self._repeats.get(request.path, ()):
            values = repeat.values_of(request)
            if values is not None:
                return repeat.template, values
        return None

    def _note(
        self, request: HttpRequest, template: Template, values: Texts, name: int | None
    ) -> None:
        """Expect more such requests after one that differs from the last one in its name only."""
        rest = values if name is None else (*values[:name], *values[name + 1 :])
        last, repeat = self._last.get(template, (None, None))
        if last == rest and repeat is None:
            repeat = Repeat(request, template.narrowed(values, self._shared), name)
        elif last != rest:
            repeat = None
        if len(self._last) >= self._templates_max:
            self._last.clear()
        self._last[template] = rest, repeat
        if repeat is None:
            return
        if len(self._repeats) >= _REPEATED_PATHS_MAX:
            self._repeats.clear()
        repeats = self._repeats.setdefault(request.path, [])
        repeats.insert(0, repeat)
        del repeats[_REPEATED_MAX:]

    def learn(
        self, request: HttpRequest, info: RequestInfo, attributes: Attributes, attempt: Try
    ) -> None:
        """Keep the template of a creation that was executed in full, if its form has one.

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
        if kind not in ROLES or not self._templates_max or attributes.is_dry_run:
            return
        if len(request.body) > _BODY_MAX_BYTES:
            return
        if any(name.startswith(IMPERSONATION) for name in request.headers):
            return
        self._discard_changed()
        if max(self._count, len(self._known)) >= self._templates_max:
            self._discard(lambda _: True)
        known = self._shape_known(request, attributes)
        if known is None or known.shape is None:
            return
        texts, values, _ = self._split_of(request)
        form = known.shape.form_of(values)
        if form in known.templates:
            return
        if not self._seen_forms.are_frequent(_checksum((*texts, repr(form).encode()))):
            return
        template = None
        if self._admission.decides_by_template(attributes):
            access = access_of(info, attributes.user, request)
            body, now_ns = (texts, values), attributes.now_ns
            template = tried(access, kind, known.shape, body, now_ns, attempt)
            if template is not None and self._gives_stored(template, values, now_ns, known):
                known.shape.expect_many()
            else:
                template = None
        known.templates[form] = template
        self._count += 1

    def _shape_known(self, request: HttpRequest, attributes: Attributes) -> _Known | None:
        """Return the bodies of the shape of a request; None for one that is not frequent."""
        outline = self._outline_of(request)
        is_new = outline not in self._outlines
        if is_new and not self._seen_shapes.are_frequent(outline):
            return None
        if len(self._outlines) >= _SEEN_MAX:
            self._outlines.clear()
        self._outlines.add(outline)
        texts, values, key = self._split_of(request)
        known = self._known.get(key)
        if known is None and (is_new or self._seen_shapes.are_frequent(_checksum(texts))):
            kind, varies = attributes.resource.storage, self._admission.decides_by_shape(attributes)
            shape = shape_of(kind, texts, values, varies=varies)
            known = self._known[key] = _Known(attributes.namespace, shape, {})
        return known

    def _gives_stored(self, template: Template, values: Texts, now_ns: int, known: _Known) -> bool:
        """Whether a template gives the object that was stored for the values."""
        assert known.shape is not None, "its form was tried"
        index = known.shape.name_index
        if index is None:
            return True
        name = values[index].decode()
        stored = self._store.get(template.kind, f"{known.namespace}/{name}")
        if stored is None:
            return False
        meta = stored.metadata
        time = timestamp_text(now_ns)
        own = with_own(meta.uid, meta.resource_version, time, name, values)
        text = template.stored.form.filled(template.stored.values_of(own))
        return text == msgspec.json.encode(stored.raw)

    def _discard_changed(self) -> None:
        """Discard the forms whose admission may have changed."""
        if not self._changes:
            return
        namespaces = {
            change.object.name if change.kind == NAMESPACE else change.object.namespace
            for change in self._changes
        }
        self._changes.clear()
        self._discard(lambda known: "" in namespaces or known.namespace in namespaces)

    def _discard(self, is_discarded: Callable[[_Known], bool]) -> None:
        self._repeats.clear()
        self._last.clear()
        self._known = {key: known for key, known in self._known.items() if not is_discarded(known)}
        if not self._known:
            self._outlines.clear()
        self._count = sum(len(known.templates) for known in self._known.values())


def _checksum(texts: Iterable[bytes]) -> int:
    return zlib.crc32(b"".join(texts))


def _key(request: HttpRequest, texts: Sequence[bytes]) -> Key:
    # No body that is JSON has a null byte, so that none is taken for another one.
    joined = b"\0".join(texts)
    return request.path, request.query, tuple(request.headers.items()), joined, len(texts)
