"""Objects that are read part by part in the state of one version."""

from __future__ import annotations

import random

import pytest

from podwright.apimachinery.objects import Pod, parse_label_selector
from podwright.cluster.api.tests.writable import WritableStore
from podwright.cluster.store.tests.documents import NOW, a_config_map, a_pod

HALF = parse_label_selector("half!=1")  # no index finds these


def odd_or_even(name, space, number):
    metadata = {"namespace": space, "labels": {"half": str(number % 2)}}
    return a_pod(name, metadata=metadata)


def change_something(store, draw):
    """Create, delete or change pods, and let the window pass them."""
    pods = store.list(Pod).objects
    pod = draw.choice(pods)
    match draw.randrange(3):
        case 0:
            name, space = f"q{draw.random()}", draw.choice(("a", "a-b", "b"))
            store.create(odd_or_even(name, space, draw.randrange(2)), NOW)
        case 1:
            store.delete(Pod, pod.key, NOW, grace_seconds=0)
        case _:
            if not pod.spec.node_name:
                store.bind(pod.key, "n1", NOW)
    for _ in range(draw.randrange(4)):
        store.create(a_config_map(f"c{draw.random()}"), NOW)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "conditions",
    [
        pytest.param({}, id="all"),
        pytest.param({"namespace": "a"}, id="of one namespace"),
        pytest.param({"labels": HALF}, id="with labels"),
        pytest.param({"namespace": "b", "labels": HALF}, id="with labels in a namespace"),
    ],
)
def test_a_reader_returns_the_list_of_its_version_although_history_is_discarded(seed, conditions):
    draw = random.Random(seed)
    store = WritableStore(window=4)
    for number in range(60):
        store.create(odd_or_even(f"p{number:02}", ("a", "a-b", "b")[number % 3], number), NOW)
    expected = store.list(Pod, **conditions)
    reader = store.reader(Pod, **conditions)
    assert reader.version == expected.resource_version
    for _ in range(10):
        change_something(store, draw)
    found = []
    while not reader.is_done:
        found += reader.read(draw.randrange(1, 8))
        for _ in range(draw.randrange(5)):
            change_something(store, draw)
    assert found == list(expected.objects)
    assert store.oldest_version > reader.version


def test_a_commit_gives_a_reader_that_waits_only_the_changes_that_it_discards(store):
    for number in range(2_000):
        store.create(a_pod(f"p{number:04}"), NOW)
    reader = store.reader(Pod)
    for number in range(2_000):
        store.delete(Pod, f"default/p{number:04}", NOW, grace_seconds=0)
    store.compact(reader.version + 100)
    assert reader.until == store.oldest_version == reader.version + 100
    store.compact(reader.version + 300)
    assert reader.until == reader.version + 300
    found = [pod.name for part in reader.parts(500) for pod in part]
    assert found == [f"p{number:04}" for number in range(2_000)]


def test_initial_events_show_one_version_although_history_is_discarded():
    store = WritableStore(window=4)
    for number in range(30):
        store.create(a_pod(f"p{number:02}"), NOW)
    cursor = store.watch(Pod)
    begin = cursor.poll(5)
    for number in range(30):
        store.delete(Pod, f"default/p{number:02}", NOW, grace_seconds=0)
    events = list(begin)
    while cursor.has_initial_events:
        events += cursor.poll(7)
    found = [each.object.name for each in events[:-1] if each.object]
    assert found == [f"p{number:02}" for number in range(30)]
    assert [each.type for each in events] == ["ADDED"] * 30 + ["BOOKMARK"]


def test_one_read_with_conditions_examines_few_objects(store):
    for number in range(2_500):
        store.create(odd_or_even(f"p{number:04}", "a", number != 2_400), NOW)
    before = store.examined_count
    reader = store.reader(Pod, labels=parse_label_selector("half notin (1)"))
    assert reader.read(100) == []
    assert store.examined_count - before <= 1_000
    assert not reader.is_done
    assert [pod.name for part in reader.parts(100) for pod in part] == ["p2400"]


def test_few_candidates_are_read_without_the_others(store):
    for number in range(300):
        store.create(odd_or_even(f"p{number:04}", "a", int(number == 7)), NOW)
    reader = store.reader(Pod, labels=parse_label_selector("half=1"))
    before = store.examined_count
    store.delete(Pod, "a/p0007", NOW, grace_seconds=0)
    assert [pod.name for pod in reader.read(100)] == ["p0007"]
    assert reader.is_done
    assert store.examined_count == before


def test_keys_that_are_kept_in_order_give_the_same_pages(make):
    sorts, keeps = make(), make()
    keeps.create(a_pod("m"), NOW)
    keeps.order_keys()
    sorts.create(a_pod("m"), NOW)
    for store in (sorts, keeps):
        for name in ("z", "a", "k"):
            store.create(a_pod(name), NOW)
            store.create(a_config_map(name), NOW)
    assert sorts.list(Pod) == keeps.list(Pod)
    keeps.validate()


def test_a_reader_counts_the_objects_that_it_examines():
    store = WritableStore()
    for number in range(10):
        store.create(odd_or_even(f"p{number}", "a", number), NOW)
    for reader, examined in ((store.reader(Pod), 4), (store.reader(Pod, labels=HALF), 7)):
        before = store.examined_count
        assert len(reader.read(4)) == 4
        assert store.examined_count - before == examined
