"""Laws of stores under random histories: in memory, in a file, and a plain model agree."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
)
from tests.properties.effort import effort

from podwright.apimachinery.objects import (
    KubernetesObject,
    parse_field_selector,
    parse_label_selector,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.tests.writable import WritableStore, open_writable
from podwright.cluster.store import (
    Cursor,
    Expired,
    ObjectError,
    Page,
    Stored,
    objects_store,
)
from podwright.cluster.store.sorted_keys import SortedKeys

pytestmark = pytest.mark.property

POD = ("", "Pod")
CONFIG_MAP = ("", "ConfigMap")
KINDS = [POD, CONFIG_MAP]
SECOND = 1_000_000_000

kinds = st.sampled_from(KINDS)
keys = st.builds("{}/{}".format, st.sampled_from(["a", "a-b"]), st.sampled_from(["x", "y", "z"]))
labels = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["1", "2"]))
finalizers = st.sampled_from([[], [], ["x.io/a"], ["x.io/a", "x.io/b"]])
nodes = st.sampled_from(["", "n1", "n2"])
phases = st.sampled_from(["Pending", "Running", "Succeeded"])
label_selectors = st.sampled_from(
    ["", "app=1", "app!=1", "app in (1,2),tier", "!tier", "tier>1", "app=1,tier=2"]
)
field_selectors = st.sampled_from(
    ["", "metadata.name=x", "metadata.namespace=a", "metadata.name!=y"]
)
pod_selectors = st.sampled_from(
    ["", "spec.nodeName=", "spec.nodeName=n1", "spec.nodeName!=n1,status.phase=Running"]
)
queries = st.fixed_dictionaries(
    {
        "kind": kinds,
        "namespace": st.sampled_from([None, None, "a", "a-b"]),
        "labels": label_selectors,
        "fields": field_selectors,
        "pod_fields": pod_selectors,
    }
)

Document = dict[str, Any]
State = dict[tuple[tuple[str, str], str], Document]


def document_of(
    kind: tuple[str, str],
    key: str,
    labels: dict[str, str],
    finalizers: list[str],
    node: str,
    phase: str,
) -> Document:
    namespace, name = key.split("/")
    metadata: Document = {"namespace": namespace, "name": name}
    if labels:
        metadata["labels"] = labels
    if finalizers:
        metadata["finalizers"] = finalizers
    if kind == CONFIG_MAP:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"n": node}}
    spec = {"nodeName": node} if node else {}
    status = {"phase": phase}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


documents = st.builds(
    document_of,
    kind=kinds,
    key=keys,
    labels=labels,
    finalizers=finalizers,
    node=nodes,
    phase=phases,
)


class Model:
    """A plain store without optimizations, which keeps every state completely."""

    def __init__(self) -> None:
        self.states: dict[int, State] = {1: {}}
        self.version = 1
        self.oldest = 1

    @property
    def now(self) -> State:
        return self.states[self.version]

    def write(self, which: tuple[tuple[str, str], str], document: Document | None) -> None:
        state = dict(self.now)
        self.version += 1
        if document is None:
            del state[which]
        else:
            document = copy.deepcopy(document)
            document["metadata"]["resourceVersion"] = str(self.version)
            state[which] = document
        self.states[self.version] = state

    # ---- writes; each returns its outcome, or the name of the error

    def create(self, which: Any, body: Document, uid: str, time: str) -> str:
        if which in self.now:
            return "AlreadyExists"
        document = copy.deepcopy(body)
        document["metadata"] |= {"uid": uid, "creationTimestamp": time}
        if which[0] == POD:
            document["metadata"]["generation"] = 1
        self.write(which, document)
        return "created"

    def update(self, which: Any, body: Document, scope: str, expected: int | None) -> str:
        current = self.now.get(which)
        if current is None:
            return "NotFound"
        was = current["metadata"]
        if expected is not None and str(expected) != was["resourceVersion"]:
            return "Conflict"
        new = copy.deepcopy(body)
        if scope == "status":
            new = {k: v for k, v in current.items() if k != "status"} | {
                "metadata": new["metadata"],
                **({"status": new["status"]} if "status" in new else {}),
            }
        elif scope == "main" and which[0] == POD:
            new["status"] = current["status"]
        owned = ("uid", "creationTimestamp", "generation", "resourceVersion", "deletionTimestamp",
                 "deletionGracePeriodSeconds")  # fmt: skip
        new["metadata"] |= {name: was[name] for name in owned if name in was}
        if new == current:
            return "unchanged"
        if which[0] == POD and scope != "status" and new["spec"] != current["spec"]:
            new["metadata"]["generation"] = was.get("generation", 0) + 1
        if was.get("deletionGracePeriodSeconds") == 0 and not new["metadata"].get("finalizers"):
            self.write(which, None)
            return "deleted"
        self.write(which, new)
        return "updated"

    def delete(self, which: Any, grace: int | None, times: dict[int, str]) -> str:
        current = self.now.get(which)
        if current is None:
            return "NotFound"
        metadata = dict(current["metadata"])
        held = bool(metadata.get("finalizers"))
        running = metadata.get("deletionGracePeriodSeconds")
        if which[0] == POD:
            if running is not None:
                if grace is None or grace >= running:
                    return "unchanged"
                # All deletions of the history are within the shortest grace period.
                period = grace
            else:
                has_ended = current["status"]["phase"] == "Succeeded"
                grace_seconds = 30 if grace is None else grace
                period = grace_seconds if "nodeName" in current["spec"] and not has_ended else 0
                if "generation" in metadata:  # a `put` object may have none
                    metadata["generation"] += 1
            metadata["deletionTimestamp"] = times[period]
            metadata["deletionGracePeriodSeconds"] = period
            self.write(which, current | {"metadata": metadata})
            if period or held:
                return "updated"
        elif held:
            if running is not None:
                return "unchanged"
            metadata |= {"deletionTimestamp": times[0], "deletionGracePeriodSeconds": 0}
            self.write(which, current | {"metadata": metadata})
            return "updated"
        self.write(which, None)
        return "deleted"

    # ---- reads

    def matches(self, document: Document, query: dict[str, Any]) -> bool:
        metadata = document["metadata"]
        fields = {
            "metadata.name": metadata["name"],
            "metadata.namespace": metadata["namespace"],
            "spec.nodeName": document.get("spec", {}).get("nodeName", ""),
            "status.phase": document.get("status", {}).get("phase", ""),
        }
        return (
            query["namespace"] in {None, metadata["namespace"]}
            and parse_label_selector(query["labels"]).matches(metadata.get("labels", {}))
            and parse_field_selector(fields_of(query)).matches(fields)
        )

    def listed(self, query: dict[str, Any], version: int) -> list[Document]:
        return [
            document
            for (kind, _), document in sorted(self.states[version].items(), key=lambda i: i[0][1])
            if kind == query["kind"] and self.matches(document, query)
        ]

    def events(self, query: dict[str, Any], since: int) -> list[tuple[str, int, Document]]:
        shown = []
        for version in range(since + 1, self.version + 1):
            before, after = self.states[version - 1], self.states[version]
            (which,) = {w for w in before | after if before.get(w) != after.get(w)}
            if which[0] != query["kind"]:
                continue
            old, new = before.get(which), after.get(which)
            did = old is not None and self.matches(old, query)
            does = new is not None and self.matches(new, query)
            if does:
                assert new is not None
                shown.append(("MODIFIED" if did else "ADDED", version, new))
            elif did:
                assert old is not None
                metadata = old["metadata"] | {"resourceVersion": str(version)}
                shown.append(("DELETED", version, old | {"metadata": metadata}))
        return shown


def fields_of(query: dict[str, Any]) -> str:
    parts = [query["fields"], query["pod_fields"] if query["kind"] == POD else ""]
    return ",".join(part for part in parts if part)


def conditions(query: dict[str, Any]) -> dict[str, Any]:
    return {
        "namespace": query["namespace"],
        "labels": parse_label_selector(query["labels"]),
        "fields": parse_field_selector(fields_of(query)),
    }


def with_version(body: Document, version: int | None) -> KubernetesObject:
    """Return an object with the `resourceVersion` that its writer has read, if any."""
    made = copy.deepcopy(body)
    if version is not None:
        made["metadata"]["resourceVersion"] = str(version)
    return decode(made)


def which_of(body: Document) -> tuple[tuple[str, str], str]:
    metadata = body["metadata"]
    return ("", body["kind"]), f"{metadata['namespace']}/{metadata['name']}"


class Stores(RuleBasedStateMachine):
    """Two stores and the model, with the same writes and reads."""

    pages = Bundle("pages")
    cursors = Bundle("cursors")

    def __init__(self) -> None:
        super().__init__()
        self.limits = pytest.MonkeyPatch()
        self.limits.setattr(objects_store, "AWAKE_MAX", 4)  # so that older changes rest
        self.model = Model()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "store.db"
        self.memory = WritableStore(seed=3, window=10_000)
        self.file = open_writable(self.path, seed=3, window=10_000)

    def teardown(self) -> None:
        self.file.close()
        self.folder.cleanup()
        self.limits.undo()

    def write(self, call: Any, expected_outcome: Any) -> None:
        """Write to both stores and compare with the model."""
        answers: list[Stored | str] = []
        for store in (self.memory, self.file):
            try:
                answers.append(call(store))
            except ObjectError as error:
                answers.append(type(error).__name__)
            except Rejection as error:
                answers.append(error.reason)
        first, second = answers
        assert first == second
        if isinstance(first, str):
            assert first == expected_outcome(None)
        else:
            assert first.outcome == expected_outcome(first)
            assert first.object.metadata.resource_version == str(first.resource_version)

    @rule(body=documents)
    def create(self, body: Document) -> None:
        def outcome(stored: Stored | None) -> str:
            uid = stored.object.uid if stored else ""
            return self.model.create(which_of(body), body, uid, "1970-01-01T00:00:00Z")

        self.write(lambda store: store.create(decode(copy.deepcopy(body)), 0), outcome)

    @rule(
        body=documents,
        scope=st.sampled_from(["main", "status", "whole"]),
        is_stale=st.sampled_from([None, False, True]),
    )
    def update(self, body: Document, scope: Any, is_stale: bool | None) -> None:
        current = self.model.now.get(which_of(body))
        expected = None
        if is_stale is not None and current is not None:
            expected = int(current["metadata"]["resourceVersion"]) - is_stale
        self.write(
            lambda store: store.update(with_version(body, expected), scope=scope),
            lambda _: self.model.update(which_of(body), body, scope, expected),
        )

    @rule(kind=kinds, key=keys, grace=st.sampled_from([None, 0, 5]))
    def delete(self, kind: Any, key: str, grace: int | None) -> None:
        times = {seconds: f"1970-01-01T00:00:{seconds:02}Z" for seconds in (0, 5, 30)}
        self.write(
            lambda store: store.delete(kind, key, 0, grace_seconds=grace),
            lambda _: self.model.delete((kind, key), grace, times),
        )

    @rule(bodies=st.lists(documents, max_size=5))
    def put_in_a_batch(self, bodies: list[Document]) -> None:
        for store in (self.memory, self.file):
            behind = store.watch(since=self.model.oldest)
            durable = store.resource_version
            with store.batch():
                for body in bodies:
                    store.put(decode(copy.deepcopy(body)))
                    # No watch sees what a crash could take back, however it is opened.
                    for cursor in (behind, store.watch(since=durable), store.watch()):
                        events = cursor.poll()
                        assert all(event.resource_version <= durable for event in events)
                        assert not cursor.is_behind
            assert not bodies or store.durable_version == store.resource_version
        for body in bodies:
            which = which_of(body)
            current = self.model.now.get(which)
            new = copy.deepcopy(body)
            if current is not None:
                new["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"]
            if new != current:
                self.model.write(which, new)

    @rule(back=st.integers(0, 6))
    def compact(self, back: int) -> None:
        before = self.model.version - back
        for store in (self.memory, self.file):
            store.compact(before)
        self.model.oldest = max(self.model.oldest, before)

    @rule()
    def reopen(self) -> None:
        self.file.close()
        self.file = open_writable(self.path, window=10_000)

    @rule(query=queries, back=st.integers(0, 5))
    def list(self, query: dict[str, Any], back: int) -> None:
        version = max(self.model.version - back, 1)
        for store in (self.memory, self.file):
            if version < self.model.oldest:
                with pytest.raises(Expired):
                    store.list(query["kind"], at=version, **conditions(query))
            else:
                page = store.list(query["kind"], at=version, **conditions(query))
                assert [obj.raw for obj in page.objects] == self.model.listed(query, version)

    @rule(target=pages, query=queries, limit=st.integers(1, 3))
    def first_page(self, query: dict[str, Any], limit: int) -> tuple[dict[str, Any], Page, int]:
        page = self.memory.list(query["kind"], limit=limit, **conditions(query))
        assert page == self.file.list(query["kind"], limit=limit, **conditions(query))
        return query, page, limit

    @rule(target=pages, given_page=consumes(pages))
    def next_page(
        self, given_page: tuple[dict[str, Any], Page, int]
    ) -> tuple[dict[str, Any], Page, int]:
        """Read one more page; other writes come between the pages."""
        query, page, limit = given_page
        version = page.resource_version
        if not page.continue_token:
            return given_page
        options = {"limit": limit, "continue_token": page.continue_token, **conditions(query)}
        if version < self.model.oldest:
            for store in (self.memory, self.file):
                with pytest.raises(Expired):
                    store.list(query["kind"], **options)
            return given_page
        found = self.memory.list(query["kind"], **options)
        assert found == self.file.list(query["kind"], **options)
        whole = self.model.listed(query, version)
        last = page.objects[-1].raw
        start = whole.index(last) + 1
        assert [obj.raw for obj in found.objects] == whole[start : start + limit]
        if found.remaining_count is not None:
            assert found.remaining_count == len(whole) - start - limit
        return query, found, limit

    @rule(target=cursors, query=queries)
    def watch(self, query: dict[str, Any]) -> tuple[dict[str, Any], Cursor, int]:
        since = self.model.version
        return query, self.memory.watch(query["kind"], since=since, **conditions(query)), since

    @rule(given_cursor=consumes(cursors))
    def poll(self, given_cursor: tuple[dict[str, Any], Cursor, int]) -> None:
        query, cursor, since = given_cursor
        if since < self.model.oldest:
            with pytest.raises(Expired):
                cursor.poll()
            return
        again = self.file.watch(query["kind"], since=since, **conditions(query))
        for each in (cursor, again):
            shown = [
                (event.type, event.resource_version, event.object.raw)
                for event in each.poll()
                if event.object is not None
            ]
            assert shown == self.model.events(query, since)
            assert not each.poll()

    @initialize()
    def begin(self) -> None:
        assert self.memory.resource_version == self.file.resource_version == 1

    @invariant()
    def agree(self) -> None:
        for store in (self.memory, self.file):
            assert store.resource_version == self.model.version
            assert store.oldest_version == self.model.oldest
            store.validate()
            for (kind, key), document in self.model.now.items():
                obj = store.get(kind, key)
                assert obj is not None
                assert obj.raw == document
            assert sum(store.count(kind) for kind in KINDS) == len(self.model.now)


TestStores = Stores.TestCase
TestStores.settings = effort(30, stateful_step_count=30)


KEYS = st.integers(0, 3_000).map("{:04}".format)


@effort(50)
@given(st.integers(0, 3_000), st.lists(KEYS, max_size=60), KEYS)
def test_sorted_keys_are_a_sorted_mapping(size, changed, after):
    model = {f"{number:04}": number for number in range(0, 2 * size, 2)}
    kept = SortedKeys(model)
    for version, key in enumerate(changed):
        assert (key in kept) is (key in model)
        if key in model:
            del model[key]
            kept.remove(key)
        else:
            model[key] = version
            kept.add(key)
            kept.set_version(key, version)
    kept.validate()
    assert {key: kept.version_of(key) for key in kept} == model
    assert dict(kept.items()) == model
    assert kept.version_of(after) == model.get(after)
    assert list(kept) == list(kept.after(None)) == sorted(model)
    later = [key for key in sorted(model) if key > after]
    assert list(kept.after(after)) == later
    assert kept.count_after(after) == len(later)


def test_runs_are_split_and_dropped():
    kept = SortedKeys()
    for number in range(10_000):
        kept.add(f"{number * 7 % 10_000:05}")
    kept.validate()
    assert len(kept._runs) >= 10
    for number in range(10_000):
        kept.remove(f"{number:05}")
    kept.validate()
    assert not kept._runs
