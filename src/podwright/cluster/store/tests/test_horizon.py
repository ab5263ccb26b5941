"""Writes that are committed together, and the horizon up to which watches read."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import Pod
from podwright.cluster.api.tests.writable import open_writable
from podwright.cluster.store import UnusableStore
from podwright.cluster.store.tests.documents import NOW, a_config_map, a_pod, names, seen


def test_a_watch_reads_a_batch_when_it_has_ended(store):
    of_pods, of_all = store.watch(Pod, since=1), store.watch(since=1)
    with store.batch():
        store.create(a_pod("a"), NOW)
        store.create(a_config_map(), NOW)
        assert names(store.list(Pod)) == ["a"]  # for the next write of the batch
        assert (store.durable_version, store.resource_version) == (1, 3)
        assert not of_pods.is_behind
        assert not of_all.is_behind
        assert seen(of_pods) == seen(of_all) == []
        assert of_pods.bookmark().resource_version == 1
    assert store.durable_version == 3
    assert of_pods.is_behind
    assert seen(of_pods) == [("ADDED", "a", 2)]
    assert seen(of_all) == [("ADDED", "a", 2), ("ADDED", "settings", 3)]


def test_initial_events_of_a_batch_are_read_when_it_has_ended(store):
    with store.batch():
        store.create(a_pod("a"), NOW)
        cursor = store.watch(Pod)
        assert not cursor.is_behind
        assert cursor.poll() == []
    assert cursor.is_behind
    assert seen(cursor) == [("ADDED", "a", 2), ("BOOKMARK", "", 2)]


def test_a_watch_that_is_behind_reads_what_was_durable_before_a_batch(store):
    cursor = store.watch(Pod, since=1)
    store.create(a_pod("a"), NOW)
    with store.batch():
        store.create(a_pod("b"), NOW)
        assert cursor.is_behind
        assert seen(cursor) == [("ADDED", "a", 2)]
        assert not cursor.is_behind
    assert seen(cursor) == [("ADDED", "b", 3)]


def test_watches_never_read_a_batch_that_the_disk_rejects(tmp_path, monkeypatch):
    store = open_writable(tmp_path / "store.db")
    cursor = store.watch(Pod, since=1)

    def refuse(*_):
        raise UnusableStore("the disk is full")

    monkeypatch.setattr(store._journal, "append", refuse)
    with pytest.raises(UnusableStore), store.batch():
        store.create(a_pod("a"), NOW)
    assert "the disk is full" in store.failure
    assert store.durable_version == 1
    assert seen(cursor) == seen(store.watch(Pod)) == []
    store.close()
    again = open_writable(tmp_path / "store.db")
    assert again.resource_version == 1
    again.close()


def test_a_batch_is_one_transaction(tmp_path, monkeypatch):
    store = open_writable(tmp_path / "store.db")
    sizes = []
    assert store._journal is not None
    append = store._journal.append

    def counted(changes, marks):
        sizes.append(len(changes))
        append(changes, marks)

    monkeypatch.setattr(store._journal, "append", counted)
    with store.batch():
        for number in range(5):
            store.create(a_pod(f"p{number}"), NOW)
    assert sizes == [5]
    store.close()
