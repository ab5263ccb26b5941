"""What selects objects and what the store writes into them: fields, metadata, outcomes, sizes."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import (
    FieldSelector,
    Pod,
    SelectorError,
    parse_field_selector,
    parse_label_selector,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api.tests.writable import WritableStore
from podwright.cluster.store import NotFound, UnusableStore
from podwright.cluster.store.encodings import field_tests, fields_of, indexed_fields, indexed_values
from podwright.cluster.store.history import at_version, with_document, with_metadata
from podwright.cluster.store.objects_store import ObjectStore
from podwright.cluster.store.query import query_for
from podwright.cluster.store.sqlite_store import open_store
from podwright.cluster.store.stored import LARGE_BYTES
from podwright.testing import make_pod

POD, EVENT = ("", "Pod"), ("", "Event")


def an_object(kind: str, api: str = "v1", *, name: str = "x", **parts: Any) -> Any:
    metadata = {"name": name, "namespace": "shop", **parts.pop("metadata", {})}
    return decode({"apiVersion": api, "kind": kind, "metadata": metadata, **parts}, source="test")


# -------------------------------------------------------------------------------- fields


@pytest.mark.parametrize(
    ("obj", "kind", "values"),
    [
        (
            an_object("Pod", spec={"nodeName": "n", "schedulerName": "s", "restartPolicy": "Never",
                                   "serviceAccountName": "sa", "hostNetwork": True,
                                   "containers": [{"name": "c", "image": "i"}]},
                      status={"phase": "Running", "nominatedNodeName": "m",
                              "podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}],
                              "podIP": "10.0.0.9"}),
            POD,
            {"spec.nodeName": "n", "spec.schedulerName": "s", "spec.restartPolicy": "Never",
             "spec.serviceAccountName": "sa", "spec.hostNetwork": "true", "status.phase": "Running",
             "status.nominatedNodeName": "m", "status.podIP": "10.0.0.1", "status.podIPs": ""},
        ),
        (
            an_object("Pod", spec={"containers": [{"name": "c", "image": "i"}]}), POD,
            {"spec.nodeName": "", "spec.hostNetwork": "false", "status.podIP": "",
             "status.nominatedNodeName": ""},
        ),
        (
            an_object("Pod", spec={"hostNetwork": False,
                                   "containers": [{"name": "c", "image": "i"}]}),
            POD, {"spec.hostNetwork": "false"},
        ),
        (an_object("Event", source={"component": "a"}, reportingComponent="b"), EVENT,
         {"source": "a"}),
        (an_object("Event", reportingComponent="b"), EVENT, {"source": "b"}),
        (an_object("Event"), EVENT, {"source": "", "involvedObject.name": "", "reason": ""}),
        (an_object("Event", "events.k8s.io/v1", reportingController="c"),
         ("events.k8s.io", "Event"), {"reportingController": "c"}),
        (an_object("Job", "batch/v1", status={"succeeded": 3}), ("batch", "Job"),
         {"status.successful": "3"}),
        (an_object("Job", "batch/v1"), ("batch", "Job"), {"status.successful": "0"}),
        (an_object("Secret", type="Opaque"), ("", "Secret"), {"type": "Opaque"}),
        (an_object("Secret"), ("", "Secret"), {"type": ""}),
    ],
)  # fmt: skip
def test_the_fields_of_a_kind_are_text(obj, kind, values) -> None:
    fields = fields_of(kind)
    assert {name: fields[name](obj) for name in values} == values


def has_fields(kind: Any, text: str, obj: Any) -> bool:
    """Return whether an object has the fields of a selector."""
    found = field_tests(kind, parse_field_selector(text))
    return all(
        (required is None or getter(obj) in required) and getter(obj) not in excluded
        for getter, required, excluded in found
    )


def test_conditions_on_one_field_are_one_test() -> None:
    pod = an_object("Pod", spec={"nodeName": "n", "containers": [{"name": "c", "image": "i"}]})
    assert field_tests(POD, FieldSelector()) == ()
    both = field_tests(POD, parse_field_selector("spec.nodeName!=a,spec.nodeName!=b"))
    assert [(required, excluded) for _, required, excluded in both] == [
        (None, frozenset({"a", "b"}))
    ]
    rows = {
        "metadata.name=x": True, "metadata.name=y": False, "metadata.namespace=shop": True,
        "metadata.name!=x": False, "spec.nodeName=n,metadata.name=x": True,
        "spec.nodeName=n,spec.nodeName!=n": False, "spec.nodeName=n,spec.nodeName=m": False,
    }  # fmt: skip
    assert {text: has_fields(POD, text, pod) for text in rows} == rows
    spec = {"size": 3, "open": True, "empty": False, "label": None}
    box = an_object("Box", "example.com/v1", spec=spec)
    for text in ("size=3", "open=true", "empty=false", "label=", "none=", "open.none="):
        assert has_fields(("example.com", "Box"), f"spec.{text}", box), text


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (POD, "field label not supported: spec.none"),
        (("", "ConfigMap"),
         '"spec.none" is not a known field selector: only "metadata.name", "metadata.namespace"'),
    ],
)  # fmt: skip
def test_an_unknown_field_is_an_error_in_upstreams_words(kind, message) -> None:
    with pytest.raises(SelectorError) as caught:
        field_tests(kind, parse_field_selector("spec.none=x"))
    assert str(caught.value) == message


def test_indexed_fields_are_read_from_json() -> None:
    assert indexed_fields(POD) == ("spec.nodeName", "status.phase")
    assert indexed_values(("", "ConfigMap"), b"{}") == ()
    names = indexed_fields(EVENT)
    event = {"involvedObject": {"name": "a", "uid": "u"}, "reason": "r", "type": "t"}
    known = {"involvedObject.name": "a", "involvedObject.uid": "u", "reason": "r", "type": "t"}
    found = dict(zip(names, indexed_values(EVENT, msgspec.json.encode(event)), strict=True))
    assert names
    assert found == {name: known.get(name, "") for name in names}
    absent = dict(zip(names, indexed_values(EVENT, b'{"involvedObject":null}'), strict=True))
    assert set(absent.values()) == {""}


# ------------------------------------------------------------------------------- metadata


def test_metadata_is_changed_in_the_struct_and_in_the_document() -> None:
    obj = an_object("ConfigMap", metadata={"uid": "u", "generation": 3, "finalizers": ["a"]})
    changed = with_metadata(
        obj, resource_version="7", uid="v", generation=4, finalizers=("b", "c"), name="y",
        namespace="z", creation_timestamp="t1", deletion_timestamp="t2",
        deletion_grace_period_seconds=0,
    )  # fmt: skip
    assert changed.raw["metadata"] == {
        "name": "y", "namespace": "z", "uid": "v", "generation": 4, "finalizers": ["b", "c"],
        "resourceVersion": "7", "creationTimestamp": "t1", "deletionTimestamp": "t2",
        "deletionGracePeriodSeconds": 0,
    }  # fmt: skip
    metadata = changed.metadata
    assert (metadata.name, metadata.uid, metadata.generation, metadata.finalizers) == (
        "y", "v", 4, ("b", "c"),
    )  # fmt: skip
    assert obj.raw["metadata"]["uid"] == "u"
    bare = with_metadata(changed, uid="", generation=0, finalizers=(), deletion_timestamp=None,
                         creation_timestamp=None, resource_version="",
                         deletion_grace_period_seconds=None)  # fmt: skip
    assert bare.raw["metadata"] == {"name": "y", "namespace": "z"}
    moved = at_version(changed, 9)
    assert moved.raw["metadata"] == changed.raw["metadata"] | {"resourceVersion": "9"}
    assert (moved.metadata.resource_version, changed.metadata.resource_version) == ("9", "7")


def test_an_object_without_a_document_gets_one() -> None:
    obj = an_object("Pod", spec={"containers": [{"name": "c", "image": "i"}]})
    bare = msgspec.structs.replace(obj, raw={})
    assert with_document(obj) is obj
    made = with_document(bare)
    assert (made.kind, made.key) == ("Pod", "shop/x")
    assert made.raw["spec"]["containers"][0]["image"] == "i"


# ------------------------------------------------------------------------- writes and reads


def a_map(name: str = "m", **data: str) -> Any:
    return an_object("ConfigMap", name=name, data=data)


MAP = ("", "ConfigMap")


def test_what_a_put_does_and_which_version_it_has() -> None:
    store = ObjectStore()
    first = store.resource_version
    rows = []
    for obj in (a_map(a="b"), a_map(a="b"), a_map(a="c"), a_map("n")):
        stored = store.put(obj)
        assert stored.object is store.get(MAP, obj.key)
        rows.append((stored.outcome, stored.resource_version - first))
    assert rows == [("created", 1), ("unchanged", 1), ("updated", 2), ("created", 3)]
    gone = store.drop(MAP, "shop/m")
    assert (gone.outcome, gone.resource_version - first) == ("deleted", 4)
    assert gone.object.metadata.resource_version == str(first + 4)
    assert gone.object.raw["data"] == {"a": "c"}
    with pytest.raises(NotFound, match="ConfigMap shop/m: not found"):
        store.drop(MAP, "shop/m")
    with pytest.raises(NotFound, match="Secret shop/m: not found"):
        store.require(("", "Secret"), "shop/m")
    assert (store.get(MAP, "shop/m"), store.get(("", "Secret"), "shop/m")) == (None, None)
    assert (store.version_of(MAP, "shop/n"), store.version_of(MAP, "shop/m")) == (first + 3, None)
    assert store.version_of(("", "Secret"), "shop/m") is None
    assert list(store.versions(MAP)) == [("shop/n", first + 3)]
    assert (store.kinds(), store.count(MAP), store.count(MAP, "none")) == ([MAP], 1, 0)
    assert store.count(("", "Secret")) == 0
    assert set(store.keys(MAP)) == {"shop/n"}
    store.validate()


def test_followers_get_the_changes_of_their_kinds() -> None:
    store = ObjectStore()
    everything, maps, two = store.follow(), store.follow(MAP), store.follow(MAP, ("", "Secret"))
    store.put(a_map())
    store.put(an_object("Secret"))
    store.put(an_object("Service"))
    assert [[each.kind[1] for each in of] for of in (everything, maps, two)] == [
        ["ConfigMap", "Secret", "Service"], ["ConfigMap"], ["ConfigMap", "Secret"],
    ]  # fmt: skip


def test_an_object_of_structs_alone_is_stored_with_its_document() -> None:
    store, pod = ObjectStore(), msgspec.structs.replace(make_pod("web", cpu="1"), raw={})
    for outcome in ("created", "unchanged"):
        stored = store.put(pod)
        assert stored.outcome == outcome
        assert stored.object.raw["metadata"]["name"] == "web"
        assert stored.object.raw["metadata"]["resourceVersion"] == str(stored.resource_version)
        kept = decode(stored.object.raw)
        assert isinstance(kept, Pod)
        assert kept.spec == pod.spec
        assert store.get(POD, "default/web") == stored.object


def test_large_objects_are_known_by_kind_while_they_are_large() -> None:
    store = ObjectStore(window_bytes=1 << 30)
    empty = len(msgspec.json.encode(store.put(a_map(a="")).object.raw))
    fits = "x" * (LARGE_BYTES - empty - 1)
    assert LARGE_BYTES == 65_536
    assert store.large == {}
    store.put(a_map(a=fits))
    assert store.large == {}
    store.put(a_map(a=f"{fits}x"))
    store.put(a_map("n", a=f"{fits}xx"))
    assert store.large == {MAP: {"shop/m", "shop/n"}}
    store.put(a_map(a="small"))
    store.put(an_object("Secret"))
    assert store.large == {MAP: {"shop/n"}}
    store.put(an_object("Secret", data={"a": f"{fits}xxx="}))
    assert store.large == {MAP: {"shop/n"}, ("", "Secret"): {"shop/x"}}
    store.drop(("", "Secret"), "shop/x")
    assert store.large == {MAP: {"shop/n"}}
    store.drop(MAP, "shop/n")
    assert store.large == {}
    unbounded = ObjectStore()
    unbounded.put(a_map(a=fits * 2))
    assert unbounded.large == {}


def test_a_batch_is_read_at_once_and_watched_when_it_ends() -> None:
    store = ObjectStore()
    cursor, early = store.watch(MAP, since=1), store.watch(MAP, since=1, reads_batch=True)
    with store.batch():
        store.put(a_map())
        assert store.get(MAP, "shop/m") is not None
        assert (store.durable_version, store.resource_version) == (1, 2)
        assert (cursor.poll(), len(early.poll())) == ([], 1)
        with pytest.raises(AssertionError, match="nested batches"), store.batch():
            pass
    assert (store.durable_version, len(cursor.poll())) == (2, 1)
    with suppress(NotFound), store.batch():
        store.put(a_map("n"))
        store.drop(MAP, "shop/none")
    assert store.durable_version == 3
    assert store.failure == ""


def test_the_window_is_cut_when_a_quarter_too_many_changes_are_kept() -> None:
    store = ObjectStore(window=8)
    oldest = []
    for number in range(14):
        store.put(a_map(a=str(number)))
        oldest.append(store.oldest_version)
    # The versions 2 to 15: ten changes are kept, and then eight.
    assert oldest == [1] * 10 + [4] * 2 + [4] + [7]
    large = ObjectStore(window=100_000)
    assert large._kept_max == 101_000


def test_a_broken_store_is_not_written() -> None:
    store = WritableStore()
    store.leave_file()
    store.put(a_map())
    assert store.failure == ""
    broken = ObjectStore()
    broken._broken = "the disk is full"
    with pytest.raises(UnusableStore, match=r"^the disk is full; open the store again$"):
        broken.put(a_map())


@pytest.mark.parametrize(
    ("has_file", "end", "why"),
    [
        (False, ObjectStore.close, "the store is closed"),
        (True, ObjectStore.close, "the store is closed"),
        (True, ObjectStore.leave_file, "the file of the store is that of another process"),
        (False, ObjectStore.leave_file, ""),
    ],
)
def test_a_store_that_has_ended_is_read_and_not_written(tmp_path, has_file, end, why) -> None:
    store = open_store(tmp_path / "store.db") if has_file else ObjectStore()
    store.put(a_map())
    assert store.failure == ""
    end(store)
    assert store.failure == why
    assert store.count(("", "ConfigMap")) == 1
    if why:
        with pytest.raises(UnusableStore, match=f"^{why}; open the store again$"):
            store.put(a_map(n="2"))
    else:
        store.put(a_map(n="2"))
    store.close()


def test_labels_without_conditions_do_not_hide_those_with_some() -> None:
    values = ",".join(f"v{number}" for number in range(20))
    query = query_for(MAP, labels=parse_label_selector(f"app in ({values}),tier,old notin (x)"))
    assert query.labels_match is not query.labels.matches
    rows = {
        "app=v1,tier=a": True, "other=1,app=v1,tier=a": True, "other=1,app=wrong,tier=a": False,
        "app=v1": False, "tier=a": False, "other=1,app=v1,tier=a,old=x": False,
        "other=1,app=v1,tier=a,old=y": True, "": False,
    }  # fmt: skip
    for text, matches in rows.items():
        labels = dict(pair.split("=") for pair in text.split(",") if pair)
        assert query.labels_match(labels) is matches, text


def test_an_object_is_found_by_its_name_whatever_other_names_are_excluded() -> None:
    store = ObjectStore()
    for name in ("a", "b", "c"):
        store.put(a_map(name))
    for text in ("metadata.name!=a,metadata.name=b", "metadata.name=b,metadata.namespace=shop"):
        before = store.examined_count
        page = store.list(MAP, fields=parse_field_selector(text))
        assert [each.name for each in page.objects] == ["b"]
        assert store.examined_count == before + 1


def test_a_watch_of_one_kind_passes_the_changes_of_others() -> None:
    store = ObjectStore()
    for limit in (None, 1, 2, 5):
        cursor = store.watch(MAP, since=store.resource_version)
        store.put(a_map(a=str(limit)))
        first = store.resource_version
        store.put(an_object("Secret", data={"a": f"{limit}"}))
        assert len(cursor.poll(limit)) == 1
        # With as many changes as the limit there may be more.
        assert cursor.resource_version == (first if limit == 1 else store.resource_version)
        assert cursor.poll(limit) == []
        assert cursor.resource_version == store.resource_version


def test_a_file_without_a_seed_has_the_first_one(tmp_path) -> None:
    with closing(open_store(tmp_path / "new.db")) as store:
        assert store.seed == 0
