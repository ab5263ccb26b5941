"""Pages of large kinds: what a page examines does not grow with the kind, writes or not."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import Pod, parse_label_selector
from podwright.cluster.store.tests.documents import NOW, a_pod, names


def examined(store, **options):
    before = store.examined_count
    page = store.list(Pod, **options)
    return page, store.examined_count - before


def test_a_page_examines_its_objects_and_one_more(store):
    for number in range(3_000):
        store.create(a_pod(f"p{number:05}", metadata={"namespace": f"n{number % 2}"}), NOW)
    token, seen = "", []
    for number in range(6):
        page, count = examined(store, limit=500, continue_token=token)
        assert count <= 501
        assert page.remaining_count == (2_500 - number * 500 or None)
        token = page.continue_token
        seen += names(page)
        # Writes between the pages: before and after what was read, and a removal in each half.
        store.create(a_pod(f"a{number}", metadata={"namespace": "n0"}), NOW)
        store.create(a_pod(f"z{number}", metadata={"namespace": "n1"}), NOW)
        store.delete(Pod, f"n0/p{number * 10:05}", NOW, grace_seconds=0)
        store.delete(Pod, f"n1/p{2_999 - number * 10:05}", NOW, grace_seconds=0)
    assert not token
    assert seen == [f"p{number:05}" for number in range(0, 3_000, 2)] + [
        f"p{number:05}" for number in range(1, 3_000, 2)
    ]


def test_a_page_of_many_candidates_is_read_in_the_order_of_all_keys(store):
    for number in range(1_000):
        store.create(a_pod(f"p{number:05}", metadata={"labels": {"odd": str(number % 2)}}), NOW)
    selector = parse_label_selector("odd=1")
    page, count = examined(store, limit=10, labels=selector)
    assert names(page) == [f"p{number:05}" for number in range(1, 20, 2)]
    assert count < 30


def test_a_page_of_few_candidates_examines_only_these(store):
    for number in range(1_000):
        store.create(a_pod(f"p{number:05}", metadata={"labels": {"rare": str(number % 100)}}), NOW)
    selector = parse_label_selector("rare=7")
    page, count = examined(store, limit=5, labels=selector)
    assert names(page) == ["p00007", "p00107", "p00207", "p00307", "p00407"]
    assert count == 6


def test_a_limit_of_0_is_none(store):
    for name in "abc":
        store.create(a_pod(name, metadata={"labels": {"name": name}}), NOW)
    for selector, found in (("", ["a", "b", "c"]), ("name=b", ["b"]), ("name=x", [])):
        for limit in (0, None):
            page = store.list(Pod, limit=limit, labels=parse_label_selector(selector))
            assert (names(page), page.continue_token) == (found, "")


def test_a_page_that_ends_with_the_last_match_has_a_next_one_if_objects_follow(store):
    """As upstream, which does not read on to see whether another object matches."""
    for name in "abc":
        store.create(a_pod(name, metadata={"labels": {"name": name}}), NOW)
    for selector, has_next in (("name=b", True), ("name=c", False), ("name in (a,c)", True)):
        page = store.list(Pod, limit=1, labels=parse_label_selector(selector))
        assert (len(page.objects), bool(page.continue_token)) == (1, has_next)


@pytest.mark.parametrize(
    ("after_last", "selector", "has_next"),
    [
        ("created", "", False),
        ("created", "all", False),
        ("removed", "", True),
        ("removed", "all", True),
        ("changed", "", True),
        ("none", "", False),
        ("none", "all", False),
    ],
)
def test_whether_a_page_of_an_older_state_has_a_next_one(store, after_last, selector, has_next):
    existing = "abc" if after_last in ("removed", "changed") else "ab"
    for name in existing:
        store.create(a_pod(name, metadata={"labels": {"all": "x"}}), NOW)
    labels = parse_label_selector(selector)
    first = store.list(Pod, limit=1, labels=labels)
    if after_last == "created":
        store.create(a_pod("c", metadata={"labels": {"all": "x"}}), NOW)
    elif after_last == "removed":
        store.delete(Pod, "default/c", NOW, grace_seconds=0)
    elif after_last == "changed":
        uid = store.get(Pod, "default/c").uid
        store.update(a_pod("c", metadata={"labels": {"all": "y"}, "uid": uid}))
    page = store.list(Pod, limit=1, labels=labels, continue_token=first.continue_token)
    assert (names(page), bool(page.continue_token)) == (["b"], has_next)


def test_a_page_of_an_older_state_examines_only_what_matches_or_matched_then(store):
    """Objects that changed since, but did not match, are left out; new ones did not exist."""
    for name in "abcdef":
        store.create(
            a_pod(name, metadata={"labels": {"is": "chosen" if name in "ad" else "x"}}), NOW
        )
    at = store.resource_version
    for name, label in (("a", "x"), ("b", "chosen"), ("c", "y")):
        store.update(a_pod(name, metadata={"labels": {"is": label}}))
    store.create(a_pod("g", metadata={"labels": {"is": "chosen"}}), NOW)
    store.delete(Pod, "default/e", NOW, grace_seconds=0)
    page, count = examined(store, at=at, labels=parse_label_selector("is=chosen"))
    assert (names(page), count) == (["a", "d"], 2)
    page, count = examined(store, labels=parse_label_selector("is=chosen"))
    assert (names(page), count) == (["b", "d", "g"], 3)
