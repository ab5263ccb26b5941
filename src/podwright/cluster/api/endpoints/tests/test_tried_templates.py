"""Which trials of a creation lead to a template, and what it creates."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Document, timestamp_text
from podwright.apimachinery.schema import decode
from podwright.cluster.api.authorization import Access
from podwright.cluster.api.endpoints import HttpReply, HttpRequest, User
from podwright.cluster.api.endpoints.forms.bodies import shape_of, split_body
from podwright.cluster.api.endpoints.forms.known import Repeat, SeenTexts
from podwright.cluster.api.endpoints.forms.templates import (
    NAME,
    TIME,
    UID,
    VERSION,
    SharedParts,
    Template,
    Trial,
    tried,
)
from podwright.cluster.api.identity import generated_name, uid_at
from podwright.cluster.store import EVENT, ObjectStore

NOW_NS = 1_767_225_600 * 1_000_000_000
NOW = "2026-01-01T00:00:00Z"
ACCESS = Access(user=User("ada"), verb="create", resource="events", namespace="default")
HEADERS = (("content-type", "application/json"),)
BODY = {
    "apiVersion": "v1", "kind": "Event", "metadata": {"namespace": "default", "name": "a"},
    "involvedObject": {"kind": "Pod", "name": "p"}, "message": "Hello",
    "source": {"component": "c"},
}  # fmt: skip
NAMELESS = BODY | {"metadata": {"namespace": "default", "generateName": "a-"}}
OWN_UID, OWN_VERSION = "6b9d1c1e-0000-4000-8000-00000000abcd", "4711"

Change = Callable[[Document, int], Document]
"""Returns what is stored or served instead of a document, at a time."""


def unchanged(document: Document, _now_ns: int) -> Document:
    return document


def in_metadata(document: Document, **fields: Any) -> Document:
    return document | {"metadata": document["metadata"] | fields}


def managed(*times: str) -> Change:
    """Return the change that adds an entry of managed fields for each time; "" for that of now."""

    def change(document: Document, now_ns: int) -> Document:
        entries = [{"manager": "m", "time": time or timestamp_text(now_ns)} for time in times]
        return in_metadata(document, managedFields=entries)

    return change


def template_of(
    sent: Document = BODY,
    *,
    stored: Change = unchanged,
    served: Change = unchanged,
    reply: Callable[[bytes], tuple[Any, bytes]] = lambda body: (HEADERS, body),
    is_rejected: Callable[[int], bool] = lambda _number: False,
) -> Template | None:
    """Return the template of a body whose creation gives what the arguments say."""
    texts, values = split_body(json.dumps(sent).encode())
    shape = shape_of(EVENT, texts, values)
    assert shape is not None
    count = 0

    def attempt(body: bytes, now_ns: int) -> Trial | None:
        nonlocal count
        count += 1
        if is_rejected(count):
            return None
        document = json.loads(body)
        own = {
            "uid": OWN_UID,
            "resourceVersion": OWN_VERSION,
            "creationTimestamp": timestamp_text(now_ns),
        }
        name = document["metadata"].get("name", "a-x7k2p")
        made = stored(in_metadata(document, name=name, **own), now_ns)
        shown = served(made, now_ns)
        headers, text = reply(msgspec.json.encode(shown) + b"\n")
        return Trial(decode(made), shown, HttpReply(201, headers, text))

    return tried(ACCESS, EVENT, shape, (texts, values), NOW_NS, attempt)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"is_rejected": lambda number: number == 1}, id="the first is rejected"),
        pytest.param({"is_rejected": lambda number: number == 2}, id="the second is rejected"),
        pytest.param(
            {"reply": lambda body: ((*HEADERS, ("warning", "299 - x")), body)}, id="a warning"
        ),
        pytest.param(
            {"reply": lambda body: (HEADERS, body.replace(b":", b": "))}, id="another writing"
        ),
        pytest.param({"reply": lambda body: (HEADERS, body[:-1])}, id="no end of the line"),
        pytest.param({"stored": managed("", "")}, id="two managers"),
        pytest.param({"stored": managed()}, id="none of the managers"),
        pytest.param({"stored": managed(NOW)}, id="a manager of another time"),
        pytest.param(
            {"stored": lambda made, _: made | {"related": OWN_UID}}, id="the uid elsewhere"
        ),
        pytest.param(
            {"stored": lambda made, _: made | {"related": OWN_VERSION}}, id="the version elsewhere"
        ),
        pytest.param(
            {"stored": lambda made, now: made | {"eventTime": timestamp_text(now)}},
            id="the time elsewhere",
        ),
        pytest.param(
            {"served": lambda made, _: made | {"related": OWN_UID}}, id="the uid in the reply"
        ),
        pytest.param(
            {"sent": NAMELESS,
             "stored": lambda made, _: made | {"related": made["metadata"]["name"]}},
            id="the name of the server elsewhere",
        ),
        pytest.param(
            {"sent": BODY | {"metadata": {"namespace": "default"}}},
            id="a name of the server without a prefix",
        ),
        pytest.param({"stored": lambda made, now: made | {"count": now}}, id="another count"),
        pytest.param({"served": lambda made, now: made | {"count": now}}, id="another reply"),
        pytest.param(
            {"stored": lambda made, _: in_metadata(made, annotations={"m": made["message"]})},
            id="a value in annotations",
        ),
        pytest.param(
            {"sent": BODY | {"reason": "podwright-example-001"}}, id="an example elsewhere"
        ),
    ],
)  # fmt: skip
def test_creations_without_a_template(arguments: dict[str, Any]) -> None:
    assert template_of(**arguments) is None


def created(
    template: Template, *values: str, store: ObjectStore | None = None
) -> tuple[Document, Document] | None:
    """Return the stored object and the reply of a creation from a template."""
    store = store or ObjectStore(seed=7)
    texts = tuple(value.encode() for value in values)
    reply = template.create(store, texts, NOW_NS, SharedParts())
    if reply is None:
        return None
    assert (reply.status, reply.headers, reply.body[-1:]) == (201, HEADERS, b"\n")
    (obj,) = store.list(EVENT).objects
    return obj.raw, json.loads(reply.body)


def expected(sent: Document, version: int, **metadata: Any) -> Document:
    own = {
        "uid": uid_at(7, version),
        "resourceVersion": str(version),
        "creationTimestamp": NOW,
    }
    return in_metadata(sent, **own, **metadata)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({}, id="plain"),
        pytest.param({"stored": managed("")}, id="with its manager"),
        pytest.param(
            {"stored": lambda made, _: in_metadata(made, labels={"m": made["message"]})},
            id="with a value in a label",
        ),
        pytest.param(
            {"served": lambda made, _: made | {"shown": made["message"]}}, id="served otherwise"
        ),
    ],
)
def test_a_template_creates_what_its_trials_showed(arguments: dict[str, Any]) -> None:
    template = template_of(**arguments)
    assert template is not None
    assert (template.access, template.kind) == (ACCESS, EVENT)
    is_served_otherwise = "served" in arguments
    assert (template.served is not template.stored) is is_served_otherwise
    values = split_body(json.dumps(BODY).encode())[1]
    texts = [value.decode() for value in values]
    changes = {"a": "b", "p": "q", "Hello": 'Good \\"day\\"'}
    texts = [changes.get(text, text) for text in texts]
    sent = BODY | {
        "metadata": {"namespace": "default", "name": "b"},
        "involvedObject": {"kind": "Pod", "name": "q"},
        "message": 'Good "day"',
    }
    stored = arguments.get("stored", unchanged)(expected(sent, 2), NOW_NS)
    served = arguments.get("served", unchanged)(stored, NOW_NS)
    assert created(template, *texts) == (stored, served)
    narrowed = template.narrowed(tuple(text.encode() for text in texts), SharedParts())
    other = in_metadata(sent, name="c")
    stored = arguments.get("stored", unchanged)(expected(other, 2), NOW_NS)
    served = arguments.get("served", unchanged)(stored, NOW_NS)
    assert created(narrowed, "c") == (stored, served)
    assert narrowed.stored.order.count(NAME) == 0
    taken = ObjectStore(seed=7)
    taken.put(decode(expected(other, 1)))
    assert created(narrowed, "c", store=taken) is None
    texts[texts.index("b")] = "c"
    assert created(template, *texts, store=taken) is None


def test_a_name_of_the_server_is_drawn_for_each_creation() -> None:
    template = template_of(NAMELESS)
    assert template is not None
    assert template.name_number == NAME
    values = [value.decode() for value in split_body(json.dumps(NAMELESS).encode())[1]]
    store = ObjectStore(seed=7)
    name = generated_name("a-", namespace="default", taken=(), seed=7, version=2)
    stored = expected(NAMELESS, 2, name=name)
    assert created(template, *values, store=store) == (stored, stored)
    narrowed = template.narrowed(tuple(value.encode() for value in values), SharedParts())
    assert narrowed.name_number == NAME
    assert sorted(narrowed.stored.order) == [UID, VERSION, TIME, NAME]
    assert created(narrowed) == (stored, stored)


def test_what_all_objects_have_in_common_is_shared() -> None:
    template = template_of()
    assert template is not None
    store = ObjectStore(seed=7)
    values = split_body(json.dumps(BODY).encode())[1]
    shared = SharedParts()
    for name in (b"x", b"y"):
        texts = tuple(name if value == b"a" else value for value in values)
        assert template.create(store, texts, NOW_NS, shared) is not None
    one, two = (each.raw for each in store.list(EVENT).objects)
    assert one["source"] is two["source"]
    assert one["involvedObject"] is two["involvedObject"]
    assert (one["metadata"]["name"], two["metadata"]["name"]) == ("x", "y")


# -------------------------------------------------------------------------------- repeats


def request_of(body: str, query: str = "", **headers: str) -> HttpRequest:
    return HttpRequest("POST", "/x", query, headers, body.encode())


@pytest.mark.parametrize(
    ("request_", "values"),
    [
        (request_of('{"name":"b","x":1}'), (b"b",)),
        (request_of('{"name":"a","x":1}'), (b"a",)),
        (request_of('{"name":"b-c","x":1}'), (b"b-c",)),
        (request_of('{"name":"B","x":1}'), None),
        (request_of('{"name":"","x":1}'), None),
        (request_of('{"name":"b","x":2}'), None),
        (request_of('{"nome":"b","x":1}'), None),
        (request_of('{"name":"b","y":"","x":1}'), None),
        (request_of('{"name":","x":1}'), None),
        (request_of('{"name":"b","x":1}', "pretty=true"), None),
        (request_of('{"name":"b","x":1}', accept="a"), None),
    ],
)
def test_a_repeated_request_differs_in_its_name_only(
    request_: HttpRequest, values: tuple[bytes, ...] | None
) -> None:
    template: Any = None
    assert Repeat(request_of('{"name":"a","x":1}'), template, 0).values_of(request_) == values


def test_a_repeated_request_without_a_name_does_not_differ() -> None:
    template: Any = None
    repeat = Repeat(request_of('{"x":"1"}'), template, None)
    assert repeat.values_of(request_of('{"x":"1"}')) == ()
    assert repeat.values_of(request_of('{"x":"2"}')) is None
    assert repeat.values_of(request_of('{"x":"1"} ')) is None
    assert repeat.values_of(request_of('{"x":"1"}', "a=b")) is None


def test_texts_are_frequent_from_their_least_count_on() -> None:
    seen = SeenTexts(3)
    assert [seen.are_frequent(1) for _ in range(4)] == [False, False, True, True]
    assert [seen.are_frequent(2) for _ in range(3)] == [False, False, True]
    assert [SeenTexts(1).are_frequent(1) for _ in range(2)] == [True, True]
    # The counts that are kept are bounded: what occurred before is forgotten.
    many = SeenTexts(2)
    assert not many.are_frequent(-1)
    assert not any(many.are_frequent(number) for number in range(65_535))
    assert many.are_frequent(-1)
    assert not many.are_frequent(65_535)
    assert not many.are_frequent(-1)
