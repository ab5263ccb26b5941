"""Objects at rest: what they cost, and that reads and watches show them as they were."""

from __future__ import annotations

import gc
import sqlite3
import tracemalloc
from contextlib import closing, nullcontext
from functools import partial
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import parse_field_selector
from podwright.cluster.store import (
    Names,
    ObjectStore,
    RestingChange,
    at_rest,
    change_of,
    objects_store,
    open_store,
    sqlite_store,
    with_document,
)
from podwright.cluster.store.at_rest import CompressedTexts, ObjectsAtRest, RestingObjects
from podwright.cluster.store.encodings import FormedText, TextForm, indexed_values
from podwright.cluster.store.tests.documents import EVENT, a_config_map, a_pod, document, names

EVENTS = 2_000
POD = ("", "Pod")


def an_event(number: int, **parts: Any) -> Any:
    pod = f"web-{number // 5}"
    return document(
        "Event",
        f"{pod}.{number:016x}",
        metadata={"namespace": "default", "uid": f"ab422e55-a329-47dc-815c-{number:012x}"},
        involvedObject={"kind": "Pod", "name": pod, "uid": f"uid-{number // 5}"},
        reason="Pulled",
        message=f'Container image "nginx" already present on machine {number % 7}',
        source={"component": "kubelet", "host": f"node-{number % 7}"},
        firstTimestamp="2026-11-22T22:06:24Z",
        lastTimestamp="2026-11-22T22:06:24Z",
        type="Normal",
        **parts,
    )


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path, monkeypatch):
    monkeypatch.setattr(objects_store, "AWAKE_MAX", 10)
    if request.param == "memory":
        yield ObjectStore(window=100, window_bytes=1 << 30)
        return
    path = tmp_path / "store.db"
    with closing(open_store(path, window=100, window_bytes=1 << 30)) as opened:
        yield opened


def test_an_event_at_rest_costs_less_than_its_json(store):
    store.order_keys()
    for number in range(500):  # the window and what is kept decoded are full
        store.put(an_event(number))
    gc.collect()
    tracemalloc.start()
    try:
        size_bytes = 0
        for number in range(500, EVENTS):
            size_bytes += len(msgspec.json.encode(store.put(an_event(number)).object.raw))
        gc.collect()
        used_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used_bytes < size_bytes


def test_names_that_come_and_go_take_no_more_memory():
    # A dictionary doubles, although it has no more entries than before.
    keys = [f"default/pod-{number % 97}.{number:05}" for number in range(12_000)]
    tracemalloc.start()
    try:
        names = Names(dict.fromkeys(keys[:4_000], 1))
        for gone, new in zip(keys, keys[4_000:], strict=False):
            names.remove(gone)
            names.add(new)
            names.set_version(new, 1)
        used_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    names.validate(keys[8_000:])
    assert used_bytes < 32 * 4_000


def test_a_key_without_an_object_is_no_key():
    objects = RestingObjects(ObjectsAtRest(CompressedTexts()))
    objects["default/a"] = pod = a_pod("a")
    assert objects["default/a"] is pod
    assert objects.get("default/b") is None
    with pytest.raises(KeyError, match="default/b"):
        objects["default/b"]


def test_the_objects_that_were_read_last_stay_decoded(monkeypatch):
    monkeypatch.setattr(at_rest, "DECODED_MAX", 2)
    texts = CompressedTexts()
    for version in range(1, 5):
        texts.keep(
            version, EVENT, partial(_without_form, msgspec.json.encode(an_event(version).raw))
        )
    objects = ObjectsAtRest(texts)
    one, two = objects.read(1), objects.read(2)
    assert objects.read(1) is one
    three = objects.read(3)
    assert [objects.read(version) for version in (3, 1)] == [three, one]
    assert objects.read(2) is not two  # 1 was read after it
    assert list(objects._decoded) == [1, 2]
    objects.forget(1)
    assert list(objects._decoded) == [2]
    with pytest.raises(KeyError):
        texts.read(1)


def _without_form(text: bytes) -> FormedText:
    return None, text


def _formed(form: TextForm, values: bytes) -> FormedText:
    return form, values


FORM = TextForm([b'{"name":"', b'","share":"5%","uid":"', b'"}'])


def test_a_text_with_a_form_is_restored_from_its_values():
    texts = CompressedTexts()
    texts.keep(7, EVENT, lambda: (FORM, b"web-1\nuid-1"))
    assert texts.read(7) == b'{"name":"web-1","share":"5%","uid":"uid-1"}'


@pytest.mark.parametrize("count", [1, 15, 16, 17, 31, 32, 40])
def test_texts_with_and_without_a_form_are_read_in_any_order(count):
    texts = CompressedTexts()
    expected = {}
    for version in range(count):
        name = b"%d" % version
        if version % 3:
            texts.keep(version, EVENT, partial(_without_form, b'{"name":"%b"}' % name))
            expected[version] = b'{"name":"%b"}' % name
        else:
            texts.keep(version, EVENT, partial(_formed, FORM, name + b"\nu"))
            expected[version] = b'{"name":"%b","share":"5%%","uid":"u"}' % name
        assert texts.read(version) == expected[version]
        texts.keep(version, EVENT, partial(_without_form, b"not read again"))
    for versions in (range(count), reversed(range(count)), sorted(range(count), key=_shuffled)):
        assert {version: texts.read(version) for version in versions} == expected


def _shuffled(number: int) -> int:
    return number * 7 % 41


def test_a_forgotten_text_is_gone_and_those_beside_it_stay():
    texts = CompressedTexts()
    for version in range(20):
        texts.keep(version, EVENT, partial(_without_form, b"%d" % version))
    for version in (3, 18):
        texts.forget(version)
        texts.forget(version)
        with pytest.raises(KeyError):
            texts.read(version)
    assert [texts.read(version) for version in (2, 4, 17, 19)] == [b"2", b"4", b"17", b"19"]


@pytest.mark.parametrize("size_bytes", [10_000, 32_767, 32_768, 1_000_000])
def test_a_small_text_is_read_without_large_ones_beside_it(size_bytes):
    texts = CompressedTexts()
    for version in range(48):
        text = b"%d" % version if version % 4 == 0 else b"%*d" % (size_bytes, version)
        texts.keep(version, EVENT, partial(_without_form, text))
    tracemalloc.start()
    try:
        for version in range(0, 48, 4):
            assert texts.read(version) == b"%d" % version
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Two packs, each as bytes and as texts.
    assert peak_bytes < 4 * 66_000


def test_an_object_whose_text_has_a_form_rests_as_its_values(monkeypatch):
    monkeypatch.setattr(objects_store, "AWAKE_MAX", 10)
    store = ObjectStore(window=10, window_bytes=1 << 30)
    form = TextForm([b'{"apiVersion":"v1","kind":"Event","metadata":{"name":"', b'"}}'])
    event = with_document(an_event(1))
    store.encodings.keep_filled(event.raw, form, [b"of-the-form"])
    store.commit(change_of(store.resource_version + 1, EVENT, event.key, None, event))
    for number in range(2, 40):
        store.put(an_event(number))
    texts = store._at_rest.texts
    assert isinstance(texts, CompressedTexts)
    assert texts.read(2) == form.restored(b"of-the-form")
    found = store.get(EVENT, event.key)
    assert found is not None
    assert found.name == "of-the-form"


def test_texts_of_a_kind_are_compressed_together():
    texts = CompressedTexts()
    size_bytes = 0
    tracemalloc.start()
    for number in range(200):
        text = msgspec.json.encode(an_event(number).raw)
        for kind, version in ((EVENT, number), (POD, 1_000 + number)):
            texts.keep(version, kind, partial(_without_form, text))
        assert texts.read(number) == texts.read(1_000 + number) == text
        size_bytes += 2 * len(text)
    used_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used_bytes < size_bytes / 2


def test_an_object_at_rest_is_replaced_removed_and_found_by_its_key(store):
    for number in range(40):
        store.put(an_event(number))
    keys = [key for key, _ in store.versions(EVENT)]
    store.put(an_event(3, count=2))
    store.drop(EVENT, keys[4])
    found = dict(store.versions(EVENT))
    assert list(found) == sorted(set(keys) - {keys[4]})
    assert found[keys[3]] == 42
    assert found[keys[5]] == 7
    assert store.version_of(EVENT, keys[4]) is None
    assert store.get(EVENT, keys[4]) is None
    assert store.get(EVENT, keys[3]).raw["count"] == 2
    assert store.get(EVENT, keys[5]).name == an_event(5).name
    store.validate()


def test_the_current_state_of_an_updated_object_stays_awake_and_older_ones_rest(store):
    for number in range(20):
        store.put(an_event(0, count=number))
        store.put(an_event(number + 1))
    updated, once = an_event(0).key, an_event(1).key
    awake = {key: obj for key, _, obj in store._tables[EVENT].states()}
    assert awake[updated].raw["count"] == 19
    assert awake[once] is None
    first = 2 * 20 + 1 - objects_store.AWAKE_MAX
    changes = store._history.since(store.oldest_version, EVENT)
    resting = {change.version for change in changes if isinstance(change, RestingChange)}
    assert resting == set(range(2, first + 1))
    found = store.watch(EVENT, since=1).poll()
    counts = [event.object.raw.get("count") for event in found if event.object.key == updated]
    assert counts == list(range(20))
    assert [event.old and event.old.raw["count"] for event in found[::2]] == [None, *range(19)]


@pytest.mark.parametrize("in_batch", [False, True])
def test_what_comes_after_an_updated_object_rests_and_its_removal_too(store, in_batch):
    with store.batch() if in_batch else nullcontext():
        for count in range(2):
            store.put(an_event(0, count=count))
        for number in range(1, 30):
            store.put(an_event(number))
        store.drop(EVENT, an_event(1).key)
        for number in range(30, 45):
            store.put(an_event(number))
    changes = store._history.since(store.oldest_version, EVENT)
    fresh = [change for change in changes if not isinstance(change, RestingChange)]
    assert [change.object.raw.get("count") for change in fresh[:2]] == [1, None]
    assert [change.version for change in fresh[1:]] == list(range(39, 49))
    assert all(change.is_removal == (change.version == 33) for change in changes)
    assert dict(_awake(store)).keys() == {
        an_event(0).key, *(an_event(number).key for number in range(35, 45))
    }  # fmt: skip


def test_an_updated_object_that_nothing_updates_any_more_rests_when_its_change_is_discarded(store):
    store.put(an_event(0))
    store.put(an_event(0, count=1))
    for number in range(1, 90):
        store.put(an_event(number))
    assert dict(_awake(store))[an_event(0).key].raw["count"] == 1
    for number in range(90, 150):
        store.put(an_event(number))
    assert an_event(0).key not in dict(_awake(store))
    assert store.get(EVENT, an_event(0).key).raw["count"] == 1


def test_of_kinds_that_do_not_rest_the_json_of_current_objects_is_kept(store):
    replaced = store.put(a_pod("a", n=1)).object
    current = [store.put(a_pod(name, n=2)).object for name in ("a", "b")]
    for number in range(20):
        store.put(an_event(number))
    assert [id(obj.raw) in store.encodings._kept for obj in (replaced, *current)] == [
        False,
        True,
        True,
    ]


def test_the_json_of_a_version_is_released_with_the_change_that_replaced_it(monkeypatch):
    monkeypatch.setattr(objects_store, "AWAKE_MAX", 10)
    store = ObjectStore(window=100)
    texts: Any = store._at_rest.texts
    for number in range(300):
        store.put(an_event(number % 3, count=number))
    assert 0 < len(texts) <= 200
    for number in range(3):
        store.drop(EVENT, an_event(number).key)
    for number in range(200):
        store.put(a_pod(metadata={"namespace": "default"}, n=number))
    assert not len(texts)


def _awake(store):
    return [(key, obj) for key, _, obj in store._tables[EVENT].states() if obj is not None]


@pytest.mark.parametrize(
    ("involved", "uid", "name"),
    [
        pytest.param({"uid": "u-1", "name": "web"}, "u-1", "web", id="both"),
        pytest.param({"name": "web"}, "", "web", id="one is absent"),
        pytest.param({"uid": None, "name": "web"}, "", "web", id="one is null"),
        pytest.param(None, "", "", id="no object"),
        pytest.param({"uid": 7, "name": True}, "7", "true", id="other types, as in a list"),
    ],
)
def test_the_indexed_values_of_json_are_those_of_the_object(involved, uid, name):
    text = msgspec.json.encode(an_event(0).raw | {"involvedObject": involved})
    assert indexed_values(EVENT, text) == (uid, name)


def test_objects_at_rest_are_read_as_they_were_written(store):
    written = {}
    for number in range(300):
        written[number] = store.put(an_event(number)).object
    assert store.list(EVENT).objects == tuple(sorted(written.values(), key=lambda event: event.key))
    assert store.get(EVENT, written[0].key) == written[0]
    assert store.version_of(EVENT, written[0].key) == 2
    selector = parse_field_selector("involvedObject.uid=uid-3")
    before = store.examined_count
    assert names(store.list(EVENT, fields=selector)) == [written[n].name for n in range(15, 20)]
    assert store.examined_count - before == 5
    store.put(an_event(0, count=2))
    store.drop(EVENT, written[1].key)
    current = store.get(EVENT, written[0].key)
    assert current is not None
    assert current.raw["count"] == 2
    assert store.get(EVENT, written[1].key) is None
    assert (
        len(store.list(EVENT, fields=parse_field_selector("involvedObject.uid=uid-0")).objects) == 4
    )
    store.validate()


def test_a_watch_and_a_page_show_older_states_of_objects_at_rest(store):
    for number in range(50):
        store.put(an_event(number))
        store.put(a_pod(f"p{number % 10}", metadata={"namespace": "default"}, n=number))
    since = store.resource_version
    page = store.list(EVENT, limit=10)
    expected = []
    for number in range(30):
        kept, dropped = an_event(number, count=9), an_event(number + 20)
        for change in (
            lambda kept=kept: store.put(kept),
            lambda dropped=dropped: store.drop(EVENT, dropped.key),
        ):
            stored = change()
            kind = "DELETED" if stored.outcome == "deleted" else "MODIFIED"
            kind = "ADDED" if stored.outcome == "created" else kind
            expected.append((kind, stored.object))
    found = store.watch(EVENT, since=since).poll()
    assert [(event.type, event.object) for event in found] == expected
    again = store.list(EVENT, at=since)
    assert [obj.name for obj in again.objects] == [an_event(number).name for number in range(50)]
    assert all("count" not in obj.raw for obj in again.objects)
    rest = store.list(EVENT, limit=100, continue_token=page.continue_token)
    assert rest.objects == again.objects[10:]


def test_a_reopened_store_reads_only_what_components_hold(tmp_path):
    path = tmp_path / "store.db"
    with closing(open_store(path, window=50)) as store:
        for number in range(100):
            store.put(an_event(number))
            store.put(a_config_map(metadata={"namespace": "default"}, n=number))
            store.put(a_pod(metadata={"namespace": "default"}, n=number))
        before = {kind: store.list(kind).objects for kind in store.kinds()}
    with closing(open_store(path, window=50)) as again:
        table: Any = again._tables[EVENT].objects
        assert all(obj is None for _, _, obj in table.states())
        assert {kind: again.list(kind).objects for kind in again.kinds()} == before
        selector = parse_field_selector("involvedObject.name=web-3")
        assert len(again.list(EVENT, fields=selector).objects) == 5
        again.validate()


def test_free_pages_of_a_file_are_given_back(tmp_path):
    path = tmp_path / "store.db"
    with closing(open_store(path, window=20)) as store:
        for number in range(3_000):
            store.put(
                a_config_map(f"c{number}", metadata={"namespace": "default"}, data="x" * 9_000)
            )
        for number in range(3_000):
            store.drop(("", "ConfigMap"), f"default/c{number}")
    assert path.stat().st_size < 3_000 * 9_000 * 0.8
    with closing(open_store(path)) as again:
        assert again.count(("", "ConfigMap")) == 0


def free_pages(path: Any) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (count,) = connection.execute("PRAGMA freelist_count").fetchone()
    return int(count)


@pytest.mark.parametrize(
    ("least", "share", "are_given_back"),
    [
        pytest.param(10, 0.1, True, id="many, of a large share"),
        pytest.param(10_000, 0.1, False, id="few"),
        pytest.param(10, 1.0, False, id="of a small share"),
    ],
)
def test_many_free_pages_are_given_back(tmp_path, monkeypatch, least, share, are_given_back):
    monkeypatch.setattr(sqlite_store, "FREE_PAGES_MAX", least)
    monkeypatch.setattr(sqlite_store, "FREE_SHARE_MAX", share)
    path = tmp_path / "store.db"
    with closing(open_store(path, window=4)) as store:
        for number in range(60):
            store.put(a_config_map(f"c{number}", metadata={"namespace": "d"}, data="x" * 9_000))
        for number in range(60):
            store.drop(("", "ConfigMap"), f"d/c{number}")
    assert (free_pages(path) < 30) is are_given_back


def test_the_older_changes_of_all_kinds_rest_in_a_store_with_a_file(store):
    for number in range(40):
        store.put(a_pod("p", n=number))
    changes = store._history.after(1, POD, store.resource_version)
    resting = [isinstance(change, RestingChange) for change in changes]
    in_file = store._journal is not None
    assert any(resting) is in_file
    assert resting == sorted(resting, reverse=True), "the older ones"
    assert not resting[-1]


def test_a_pack_takes_texts_until_it_is_large():
    """The limit is of the texts together."""
    texts = CompressedTexts()
    size = at_rest._PACK_BYTES
    for version, length in enumerate((size - 2, 1, 1, size - 1, 1, size, 5)):
        texts.keep(version, POD, partial(text_of, b"x" * length))
    packs = [texts._packs[version] for version in range(7)]
    assert packs[0] is packs[1] is packs[2]
    assert packs[3] is packs[4]
    assert packs[5] is not packs[6]
    assert len({id(pack) for pack in packs}) == 4
    assert [pack.is_full for pack in packs] == [True] * 6 + [False]
    assert [len(texts.read(version)) for version in range(7)] == [
        size - 2, 1, 1, size - 1, 1, size, 5,
    ]  # fmt: skip


def text_of(text: bytes) -> FormedText:
    return None, text


def test_a_file_has_a_log_whatever_mode_it_was_left_in(tmp_path):
    path = tmp_path / "store.db"
    open_store(path).close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
    with closing(open_store(path)) as store:
        store.put(a_pod("p"))
        assert path.with_name("store.db-wal").exists()


def test_the_keys_of_a_kind_that_rests_are_those_of_its_objects(store):
    """The set that `keys` returns answers as one of a kind that does not rest."""
    for number in range(30):
        store.put(an_event(number))
        store.put(a_pod(f"p{number}", metadata={"namespace": "default"}))
    for kind, key in ((EVENT, f"default/web-0.{0:016x}"), (POD, "default/p0")):
        keys = store.keys(kind)
        last = max(keys)
        assert len(keys) == len(set(keys)) == 30
        present = [each in keys for each in (key, last, "default/none", "none", "", 5, None)]
        assert present == [True, True, False, False, False, False, False]
        store.drop(kind, key)
        assert (key in keys, len(keys), last in keys) == (False, 29, True)


def test_an_object_that_is_not_there_has_the_default():
    objects = RestingObjects(ObjectsAtRest(CompressedTexts()))
    objects["default/a"] = pod = a_pod("a")
    assert objects.get("default/a", 5) is pod
    assert objects.get("default/b", 5) == 5
    assert objects.pop("default/b", None) is None
    assert list(objects) == ["default/a"]
