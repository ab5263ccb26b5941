"""Laws of whole sessions: determinism, restarts, group commits, watches, dry runs, refusals."""

from __future__ import annotations

import json
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.cluster.api.endpoints import (
    BARE_TOKENS,
    HISTORY,
    ApiServer,
    HttpReply,
    HttpRequest,
    Watch,
    bare_options,
    bare_store,
)
from podwright.cluster.store import ObjectStore, open_store

pytestmark = pytest.mark.property

ADMIN = BARE_TOKENS["admin-token"]
START_NS = 1_767_225_600_000_000_000
_SECOND_NS = 1_000_000_000

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
EVENTS = "/api/v1/namespaces/default/events"
PATHS = (MAPS, PODS, DEPLOYMENTS, EVENTS)

NAMES = st.sampled_from("abc")
VALUES = st.sampled_from(["1", "2", "3"])
LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), VALUES, max_size=2)

Document: TypeAlias = dict[str, Any]


def document_of(path: str, name: str, labels: dict[str, str], value: str) -> Document:
    """Return an object of a collection; `value` is in a field that updates may change."""
    metadata: Document = {"name": name, "namespace": "default", "labels": labels}
    containers = [{"name": "c", "image": f"app:{value}"}]
    if path == MAPS:
        kind: Document = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"value": value}}
    elif path == PODS:
        kind = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": containers}}
    elif path == EVENTS:
        about = {"kind": "Pod", "name": "a", "namespace": "default"}
        kind = {"apiVersion": "v1", "kind": "Event", "involvedObject": about, "reason": value}
    else:
        selected = {"app": "x"}
        template = {"metadata": {"labels": selected}, "spec": {"containers": containers}}
        spec = {"selector": {"matchLabels": selected}, "template": template}
        kind = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
    return kind | {"metadata": metadata}


What: TypeAlias = Literal[
    "create", "update", "stale", "merge", "json", "apply", "delete", "compact", "restart"
]


class Step(msgspec.Struct, frozen=True):
    """One request of a session, or something that happens between two.

    Attributes
    ----------
    what : str
    path, name, labels, value : str
        The object.
    is_dry_run : bool
    pause_ns : int
        The time since the step before.
    """

    what: Literal[
        "create", "update", "stale", "merge", "json", "apply", "delete", "compact", "restart"
    ]
    path: str
    name: str
    labels: dict[str, str]
    value: str
    is_dry_run: bool
    pause_ns: int


STEPS = st.builds(
    Step,
    what=st.sampled_from(
        ["create", "create", "update", "stale", "merge", "json", "apply", "apply", "delete",
         "compact", "restart"]
    ),
    path=st.sampled_from(PATHS),
    name=NAMES,
    labels=LABELS,
    value=VALUES,
    is_dry_run=st.sampled_from([False, False, False, True]),
    pause_ns=st.sampled_from([0, 1, _SECOND_NS, 1_000 * _SECOND_NS]),
)  # fmt: skip


def request_of(step: Step) -> HttpRequest | None:
    """Return the request of a step; None if it is none."""
    document = document_of(step.path, step.name, step.labels, step.value)
    query = "dryRun=All" if step.is_dry_run else ""
    path = f"{step.path}/{step.name}"
    headers = {"user-agent": f"client-{step.value}"}
    match step.what:
        case "create":
            return HttpRequest("POST", step.path, query, headers, json.dumps(document).encode())
        case "update":
            return HttpRequest("PUT", path, query, headers, json.dumps(document).encode())
        case "stale":
            document["metadata"]["resourceVersion"] = "1"
            return HttpRequest("PUT", path, query, headers, json.dumps(document).encode())
        case "merge":
            patch: Any = {"metadata": {"labels": step.labels or None}}
            kind = "merge-patch+json"
        case "json":
            patch = [{"op": "add", "path": "/metadata/annotations", "value": step.labels}]
            kind = "json-patch+json"
        case "apply":
            patch, kind = document, "apply-patch+yaml"
            query = f"fieldManager=m{step.value}&force={step.value == '1'}&{query}"
        case "delete":
            return HttpRequest("DELETE", path, query, headers)
        case _:
            return None
    headers["content-type"] = f"application/{kind}"
    return HttpRequest("PATCH", path, query, headers, json.dumps(patch).encode())


class Session:
    """A server and what it has replied.

    Parameters
    ----------
    path : Path, optional
        The file of the store.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.replies: list[tuple[int, bytes]] = []
        self.now_ns = START_NS
        self.store = self._opened()
        self.server = ApiServer(self.store, bare_options())

    def _opened(self) -> ObjectStore:
        store = None if self.path is None else open_store(self.path, **HISTORY)
        return bare_store(START_NS, store=store)

    def play(self, step: Step) -> None:
        self.now_ns += step.pause_ns
        if step.what == "restart" and self.path is not None:
            self.store.close()
            self.store = self._opened()
            self.server = ApiServer(self.store, bare_options())
        elif step.what == "compact":
            self.store.compact(self.store.resource_version - int(step.value))
        request = request_of(step)
        if request is not None:
            self.send(request)

    def send(self, request: HttpRequest) -> tuple[int, bytes]:
        reply = self.server.handle(request, ADMIN, self.now_ns)
        assert isinstance(reply, HttpReply)
        self.replies.append((reply.status, reply.body))
        return reply.status, reply.body

    def lists(self) -> list[bytes]:
        """Return all collections as the server shows them."""
        return [self.send(HttpRequest("GET", path))[1] for path in PATHS]

    def is_there(self, step: Step) -> bool:
        """Whether the object of a step exists."""
        return (
            self.server.handle(
                HttpRequest("GET", f"{step.path}/{step.name}"), ADMIN, self.now_ns
            ).status
            == 200
        )

    def contents(self) -> list[Any]:
        """Return all objects of the store."""
        return [obj.raw for kind in self.store.kinds() for obj in self.store.list(kind).objects]


def check_determinism(steps: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sessions = [Session(), Session(), Session(Path(folder) / "store.db")]
        for session in sessions:
            for step in steps:
                session.play(step)
            session.lists()
        first, *others = sessions
        for other in others:
            assert other.replies == first.replies
            assert other.contents() == first.contents()
            assert other.store.oldest_version == first.store.oldest_version
        for session in sessions:
            session.store.validate()
            session.store.close()


@effort(40)
@given(st.lists(STEPS, max_size=25))
def test_equal_sessions_have_equal_replies_in_memory_in_a_file_and_after_restarts(steps):
    check_determinism(steps)


@pytest.mark.slow
@effort(300)
@given(st.lists(STEPS, max_size=40))
def test_equal_sessions_have_equal_replies_many(steps):
    check_determinism(steps)


@effort(40)
@given(st.lists(st.lists(STEPS, max_size=6), max_size=6))
def test_a_group_of_requests_has_the_replies_of_single_requests(groups):
    single, grouped = Session(), Session()
    for group in groups:
        for session in (single, grouped):
            watched = session.store.watch(since=session.store.oldest_version)
            watched.poll()
            durable = session.store.resource_version
            with nullcontext() if session is single else session.store.batch():
                for step in group:
                    # Within a group there is one time, and no compaction.
                    if step.what not in ("compact", "restart"):
                        session.play(msgspec.structs.replace(step, pause_ns=0))
                if session is grouped:
                    assert watched.poll() == []
            assert [each.resource_version for each in watched.poll()] == list(
                range(durable + 1, session.store.resource_version + 1)
            )
            session.now_ns += _SECOND_NS
    assert grouped.replies == single.replies
    assert grouped.contents() == single.contents()


class Mirror:
    """The objects of a collection as a client knows them from a list and its watch."""

    def __init__(self, session: Session, path: str) -> None:
        self.session, self.path = session, path
        self.relist_count = 0
        self._list()

    def _list(self) -> None:
        listed = json.loads(self.session.send(HttpRequest("GET", self.path))[1])
        self.objects = {each["metadata"]["name"]: each for each in listed["items"]}
        version = listed["metadata"]["resourceVersion"]
        query = f"watch=1&allowWatchBookmarks=true&resourceVersion={version}"
        request = HttpRequest("GET", self.path, query)
        watch = self.session.server.handle(request, ADMIN, self.session.now_ns)
        assert isinstance(watch, Watch)
        self.watch, self.version = watch, int(version)

    def catch_up(self) -> None:
        """Apply the events, and list again when the watch has expired."""
        if self.watch.is_closed(self.session.now_ns):
            self._list()
        for line in self.watch.poll(self.session.now_ns):
            event = json.loads(line)
            found = event["object"]
            if event["type"] == "ERROR":
                assert found["code"] == 410, found
                self.relist_count += 1
                self._list()
                return
            version = int(found["metadata"]["resourceVersion"])
            assert version >= self.version, "events go back"
            self.version = version
            name = found["metadata"].get("name")
            known = self.objects.get(name)
            bare = {key: part for key, part in found.items() if key not in ("kind", "apiVersion")}
            match event["type"]:
                case "ADDED":
                    assert known is None, f"{name} was there"
                    self.objects[name] = bare
                case "MODIFIED":
                    assert known is not None, f"{name} was not there"
                    assert version > int(known["metadata"]["resourceVersion"])
                    self.objects[name] = bare
                case "DELETED":
                    assert known is not None, f"{name} was not there"
                    del self.objects[name]
                case other:
                    assert other == "BOOKMARK", other

    def check(self) -> None:
        self.catch_up()
        listed = json.loads(self.session.send(HttpRequest("GET", self.path))[1])
        assert {each["metadata"]["name"]: each for each in listed["items"]} == self.objects


@effort(60)
@given(st.lists(st.tuples(STEPS, st.sets(st.integers(0, 7))), max_size=25))
def test_a_list_and_its_changes_are_the_next_list(steps):
    session = Session()
    mirrors = [Mirror(session, path) for path in PATHS for _ in range(2)]
    for step, reading in steps:
        session.play(step)
        for index in reading:
            mirrors[index].catch_up()
    for mirror in mirrors:
        mirror.check()


@effort(60)
@given(st.lists(STEPS, max_size=25))
def test_dry_runs_refusals_and_stale_versions_change_nothing(steps):
    session = Session()
    for step in steps:
        # Expired Events go before the request.
        session.now_ns += step.pause_ns
        session.server.advance(session.now_ns)
        version, contents = session.store.resource_version, session.contents()
        is_there = session.is_there(step)
        count = len(session.replies)
        session.play(msgspec.structs.replace(step, pause_ns=0))
        if len(session.replies) == count:
            continue
        status, body = session.replies[-1]
        if step.what == "stale" and is_there:
            assert status == 409, body
        if status >= 400 or step.is_dry_run:
            assert session.store.resource_version == version
            assert session.contents() == contents
