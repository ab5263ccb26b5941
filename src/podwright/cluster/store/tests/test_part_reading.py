"""Reading in parts, key by key, and the sets of sorted keys below it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from podwright.apimachinery.objects import parse_label_selector
from podwright.cluster.api.tests.writable import WritableStore
from podwright.cluster.store import POD, pages, sorted_keys
from podwright.cluster.store.sorted_keys import Names, SortedKeys
from podwright.cluster.store.tests.documents import NOW, a_pod

ODD = parse_label_selector("odd=1")


@pytest.fixture
def store() -> Any:
    made = WritableStore()
    for number in range(10):
        labels = {"odd": str(number % 2), "all": "yes"}
        metadata = {"namespace": f"n{number % 2}", "labels": labels}
        made.create(a_pod(f"p{number}", metadata=metadata), NOW)
    return made


def numbers(objects: Any) -> str:
    return "".join(obj.name[1:] for obj in objects)


def parts(reader: Any, limit: int) -> list[str]:
    return [numbers(part) for part in reader.parts(limit)]


@pytest.mark.parametrize(
    ("query", "limit", "expected"),
    [
        pytest.param({}, 4, ["0246", "8135", "79"], id="all, by whole keys"),
        pytest.param({}, 5, ["02468", "13579", ""], id="exactly full parts"),
        pytest.param({}, 99, ["0246813579"], id="at once"),
        pytest.param({"namespace": "n1"}, 3, ["135", "79"], id="a namespace"),
        pytest.param({"namespace": "none"}, 3, [""], id="no such namespace"),
        pytest.param({"labels": ODD}, 3, ["135", "79"], id="few candidates"),
        pytest.param({"labels": ODD}, 5, ["13579", ""], id="few candidates, full"),
        pytest.param({"labels": parse_label_selector("odd=7")}, 5, [""], id="no candidates"),
        pytest.param({"labels": ODD, "namespace": "n0"}, 5, [""], id="elsewhere"),
    ],
)
def test_all_objects_come_in_parts(store, query, limit, expected) -> None:
    reader = store.reader(POD, **query)
    assert parts(reader, limit) == expected
    assert reader.is_done
    assert reader.read(limit) == []


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(9, ["", "135", "79"]), (2, ["", "13", "57", "9"]), (1, ["", *"13579", ""])],
)
def test_many_candidates_are_examined_four_at_a_time(store, monkeypatch, limit, expected) -> None:
    monkeypatch.setattr(pages, "EXAMINED_MAX", 4)
    # Even ones come first: a part may have none, and one that is full ends early.
    assert parts(store.reader(POD, labels=ODD), limit) == expected


@pytest.mark.parametrize(("examined_max", "is_found"), [(4, False), (5, True), (6, True)])
def test_as_many_candidates_as_one_read_examines_are_found_at_once(
    store, monkeypatch, examined_max, is_found
) -> None:
    monkeypatch.setattr(pages, "EXAMINED_MAX", examined_max)
    before = store.examined_count
    reader = store.reader(POD, labels=ODD)
    assert store.examined_count - before == (5 if is_found else 0)
    assert numbers(obj for part in reader.parts(3) for obj in part) == "13579"


def test_a_reader_shows_the_state_of_its_version(store) -> None:
    reader, version = store.reader(POD), store.list(POD).resource_version
    assert (reader.version, reader.until) == (version, version)
    assert numbers(reader.read(2)) == "02"
    assert reader.place == "n0/p2"
    for key in ("n0/p0", "n0/p4", "n1/p9"):
        store.delete(POD, key, NOW, grace_seconds=0)
    store.create(a_pod("p5", metadata={"namespace": "n0"}), NOW)
    metadata = {"namespace": "n0", "labels": {"new": "x"}, "uid": store.get(POD, "n0/p6").uid}
    store.update(a_pod("p6", metadata=metadata))
    rest = reader.read(99)
    assert numbers(rest) == "46813579"
    assert rest[1].metadata.labels == {"odd": "0", "all": "yes"}
    assert reader.version == version
    assert reader.until == store.list(POD).resource_version
    now = store.reader(POD)
    assert numbers(now.read(99)) == "2568" + "1357"


def test_a_reader_takes_as_read_what_another_has_read(store) -> None:
    first, second = store.reader(POD), store.reader(POD)
    first.read(3)
    second.skip_to(first.place)
    assert numbers(second.read(3)) == numbers(first.read(3)) == "681"
    few, other = store.reader(POD, labels=ODD), store.reader(POD, labels=ODD)
    few.read(2)
    assert few.place == 2
    other.skip_to(few.place)
    assert numbers(other.read(2)) == numbers(few.read(2)) == "57"
    with pytest.raises(AssertionError, match="a number of objects: 2"):
        first.skip_to(2)
    with pytest.raises(AssertionError, match="a key: n0/p2"):
        few.skip_to("n0/p2")


# --------------------------------------------------------------------------- sorted keys


@pytest.fixture
def short_runs(monkeypatch) -> None:
    """Let runs have four keys at most."""
    monkeypatch.setattr(sorted_keys, "_RUN_MAX", 4)


def runs(keys: SortedKeys) -> list[str]:
    return ["".join(run) for run in keys._runs]


@pytest.mark.usefixtures("short_runs")
def test_runs_are_split_in_halves_and_removed_when_they_are_empty() -> None:
    keys = SortedKeys(dict(zip("hgfedcba", range(8), strict=True)))
    assert runs(keys) == ["ab", "cd", "ef", "gh"]
    assert list(keys.items()) == list(zip("abcdefgh", range(7, -1, -1), strict=True))
    for letter in "ijkxyz":
        keys.add(letter)
    assert runs(keys) == ["ab", "cd", "ef", "gh", "ij", "kxyz"]
    keys.add("b")
    keys.set_version("c", 9)
    assert [keys.version_of(each) for each in ("b", "c", "d", "q", "zz")] == [0, 9, 4, None, None]
    assert [each in keys for each in ("a", "q", "zz", 3)] == [True, False, False, False]
    for letter in "bzab"[:3]:
        keys.remove(letter)
    assert runs(keys) == ["cd", "ef", "gh", "ij", "kxy"]
    assert keys._last == ["d", "f", "h", "j", "y"]
    assert len(keys) == 11
    assert "".join(keys.after("f")) == "ghijkxy"
    assert "".join(keys.after("e")) == "fghijkxy"
    assert "".join(keys.after(None)) == "cdefghijkxy"
    assert [keys.count_after(each) for each in ("a", "e", "f", "k", "y", "z")] == [
        11, 8, 7, 2, 0, 0,
    ]  # fmt: skip
    assert "".join(keys.after("z")) == ""
    keys.validate()


@pytest.mark.usefixtures("short_runs")
@pytest.mark.parametrize("seed", range(3))
def test_names_are_as_a_dictionary_has_them(seed) -> None:
    draw = random.Random(seed)
    model: dict[str, int] = {"a/x": 3, "a-b/x": 4, "b/x": 5}
    names = Names(model)
    for _ in range(200):
        key = draw.choice(["a/", "a-b/", "b/"]) + draw.choice("abcdefghij")
        if key in model and draw.random() < 0.5:
            names.remove(key)
            del model[key]
        elif key in model and draw.random() < 0.5:
            names.set_version(key, 7)
            model[key] = 7
        else:
            names.add(key)
            model[key] = 0
        names.validate(model)
        place = draw.choice([None, "a", "a-b", "b"])
        after = draw.choice([None, "a-b/e", "a/", "a/c", "b/j", "c", "zz"])
        of = [each for each in sorted(model) if place in (None, each.rpartition("/")[0])]
        expected = [each for each in of if after is None or each > after]
        assert list(names.after(after, place)) == expected, (place, after)
        if after is not None:
            assert names.count_after(after, place) == len(expected)
        assert names.count(place) == len(of)
        assert names.version_of(key) == model.get(key)
        assert sorted(names.namespaces) == sorted({each.rpartition("/")[0] for each in model})
    assert sorted(names.items()) == sorted(model.items())
    assert names.version_of("none/x") is None
    assert list(names.of("none")) == []
