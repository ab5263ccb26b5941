"""Orphans, and the owners that may adopt them."""

from podwright.apimachinery.objects import LabelSelector, ObjectMeta, Pod, ReplicaSet
from podwright.cluster.controllers.adoption import Orphans, adopted, compiled_selector
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import POD

LABELS = {"app": "web"}
SELECTOR = compiled_selector(LabelSelector(match_labels=LABELS))


def pod(name, *, namespace="default"):
    return Pod(metadata=ObjectMeta(name=name, namespace=namespace, uid=name, labels=LABELS))


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
