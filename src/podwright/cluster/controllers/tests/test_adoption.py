"""Orphans, and the owners that may adopt them."""

import pytest

from podwright.apimachinery.objects import LabelSelector, ObjectMeta, Pod, ReplicaSet
from podwright.cluster.controllers.adoption import Orphans, adopted, compiled_selector
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import POD

LABELS = {"app": "web"}
SELECTOR = compiled_selector(LabelSelector(match_labels=LABELS))


def pod(name, *, namespace="default", labels=LABELS, **metadata):
    return Pod(
        metadata=ObjectMeta(name=name, namespace=namespace, uid=name, labels=labels, **metadata)
    )


def owner(name="web"):
    return ReplicaSet(metadata=ObjectMeta(name=name, namespace="default", uid=name))


def put(lister, orphans, obj):
    old = lister.put(obj)
    return list(orphans.observe(old, obj))


def adoptable(orphans):
    return [each.name for each in orphans.adoptable_by(owner())]


def test_an_owner_adopts_orphans_of_its_namespace_that_exist_or_are_created():
    lister = Lister()
    orphans = Orphans(lister, POD)
    assert put(lister, orphans, pod("early")) == []
    put(lister, orphans, pod("elsewhere", namespace="other"))
    orphans.put_owner(owner(), SELECTOR)
    assert put(lister, orphans, pod("late")) == ["default/web"]
    assert put(lister, orphans, pod("late")) == [], "it was matched before"
    assert adoptable(orphans) == ["early", "late"]


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(None, id="deleted"),
        pytest.param(pod("other", labels={"app": "db"}), id="with other labels"),
        pytest.param(adopted(pod("other"), owner("db")), id="adopted by another"),
        pytest.param(pod("other", deletion_timestamp="2026-01-01T00:00:00Z"), id="being deleted"),
    ],
)
def test_what_has_changed_since_it_was_matched_is_not_adopted(now):
    lister = Lister()
    orphans = Orphans(lister, POD)
    orphans.put_owner(owner(), SELECTOR)
    for name in ("left", "other"):
        put(lister, orphans, pod(name))
    if now is None:
        lister.delete(pod("other"))
    else:
        lister.put(now)
    assert adoptable(orphans) == ["left"]
    lister.put(pod("other"))
    assert adoptable(orphans) == ["left"], "until it changes again"


def test_the_orphans_of_a_lister_follow_their_owners():
    lister = Lister()
    for name in ("adopted", "deleted", "left"):
        lister.put(pod(name))
    assert list(lister.orphans(POD, "default")) == [
        "default/adopted", "default/deleted", "default/left",
    ]  # fmt: skip
    lister.put(adopted(pod("adopted"), owner()))
    lister.delete(pod("deleted"))
    assert list(lister.orphans(POD, "default")) == ["default/left"]
    lister.put(pod("adopted"))  # released
    lister.put(adopted(pod("created"), owner()))
    assert list(lister.orphans(POD, "default")) == ["default/left", "default/adopted"]
    lister.delete(pod("left"))
    lister.delete(pod("adopted"))
    assert not lister.orphans(POD, "default")
