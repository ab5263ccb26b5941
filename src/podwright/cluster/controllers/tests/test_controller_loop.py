"""The controller loop: order of syncs, requeues, and checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Any

import pytest
from hypothesis import given, strategies as st

from podwright._checkpointed import Saved
from podwright.apimachinery.objects import KubernetesObject, ObjectDeleted, ObjectPut, Pod
from podwright.apimachinery.schema import decode
from podwright.cluster.api import CreateObject, RecordEvent, UpdateObject
from podwright.cluster.controllers.controller_loop import ControllerLoop
from podwright.cluster.controllers.interface import (
    Controller,
    ControllerAction,
    SyncAt,
    SyncDue,
    SyncNext,
    WriteRejected,
)
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import EVENT, GroupKind, RestingChange
from podwright.testing import make_pod

POD: GroupKind = ("", "Pod")


class Watcher(Controller):
    """Records its calls, and requeues a pod at the time in its label."""

    name = "watcher"
    kinds = (POD,)
    looked: Saved[list[tuple[str, int]]]

    def __init__(self, lister: Lister) -> None:
        super().__init__(lister)
        self.looked = []

    def observe(self, old: KubernetesObject | None, new: KubernetesObject | None) -> Iterable[str]:
        obj = new if new is not None else old
        assert obj is not None
        yield obj.key

    def sync(self, key: str, now_ns: int) -> list[ControllerAction]:
        self.looked.append((key, now_ns))
        pod = self._lister.get(POD, key)
        if pod is None or "again" not in pod.metadata.labels:
            return []
        return [self.sync_at(key, int(pod.metadata.labels["again"]))]


def running() -> tuple[ControllerLoop, Watcher]:
    made: list[Watcher] = []

    def make(lister: Lister) -> Watcher:
        made.append(Watcher(lister))
        return made[0]

    controllers = ControllerLoop([make])
    return controllers, made[0]


def test_many_changes_of_one_object_cause_one_sync():
    controllers, watcher = running()
    for cpu in ("1", "2", "3"):
        assert controllers.handle(ObjectPut(make_pod("a", cpu=cpu)), 0) == []
    controllers.handle(ObjectPut(make_pod("b")), 0)
    for _ in range(3):
        controllers.handle(SyncNext(), 5)
    assert not controllers.has_next
    assert watcher.looked == [("default/a", 5), ("default/b", 5)]


def test_a_removed_object_is_synced_and_an_unknown_one_is_not():
    controllers, watcher = running()
    controllers.handle(ObjectPut(make_pod("a")), 0)
    controllers.handle(SyncNext(), 0)
    controllers.handle(ObjectDeleted(make_pod("a")), 1)
    controllers.handle(ObjectDeleted(make_pod("never-seen")), 1)
    controllers.handle(SyncNext(), 1)
    assert not controllers.has_next
    assert watcher.looked == [("default/a", 0), ("default/a", 1)]


class Unread:
    """Objects at rest, none of which is read."""

    def read(self, version: int) -> KubernetesObject:
        raise AssertionError(f"version {version} was read")


def test_an_event_that_rests_when_a_loop_starts_is_known_by_its_name_only():
    controllers, _ = running()
    at_rest: Any = Unread()
    keys = ("a/e", "a/f", "b/e")
    controllers.observe(
        RestingChange(version, EVENT, key, at_rest, 0, False) for version, key in enumerate(keys, 1)
    )
    lister = controllers.lister
    assert [lister.count_in_namespace(EVENT, name) for name in ("a", "b", "c")] == [2, 1, 0]
    assert (lister.kinds(), controllers.has_next) == ([EVENT], False)


def test_a_requeue_happens_once_at_its_time():
    controllers, watcher = running()
    controllers.handle(ObjectPut(make_pod("a", labels={"again": "10"})), 0)
    (wake,) = controllers.handle(SyncNext(), 0)
    assert wake == SyncAt(10, SyncDue("watcher", "default/a"))
    controllers.handle(SyncDue("watcher", "default/a"), 9)
    assert controllers.handle(SyncNext(), 9) == []
    controllers.handle(SyncDue("watcher", "default/a"), 10)
    assert controllers.has_next
    controllers.handle(SyncDue("watcher", "default/a"), 10)
    controllers.handle(SyncNext(), 10)
    assert watcher.looked == [("default/a", 0), ("default/a", 10)]


class Repeater(Watcher):
    """Requests two later syncs and writes in each sync."""

    name = "repeater"

    def sync(self, key: str, now_ns: int) -> list[ControllerAction]:
        pod = self._lister.get(POD, key)
        assert pod is not None
        return [self.sync_at(key, 20), self.sync_at(key, 10), self.update(pod)]


def test_a_requeue_does_not_replace_an_earlier_one_and_hides_no_other_action():
    controllers = ControllerLoop([Repeater])
    controllers.handle(ObjectPut(make_pod("a")), 0)
    first, second, write = controllers.handle(SyncNext(), 0)
    assert [each.due_ns for each in (first, second) if isinstance(each, SyncAt)] == [20, 10]
    assert isinstance(write, UpdateObject)
    controllers.handle(ObjectPut(make_pod("a", labels={"x": "y"})), 1)
    assert [type(each) for each in controllers.handle(SyncNext(), 1)] == [UpdateObject]
    controllers.handle(SyncDue("repeater", "default/a"), 10)
    assert [type(each) for each in controllers.handle(SyncNext(), 10)] == [
        SyncAt, SyncAt, UpdateObject,
    ], "the time has come, so both are requested again"  # fmt: skip


def test_a_restored_loop_continues_the_same():
    controllers, _ = running()
    controllers.handle(ObjectPut(make_pod("a", labels={"again": "10"})), 0)
    controllers.handle(SyncNext(), 0)
    controllers.handle(ObjectPut(make_pod("b")), 1)
    other, watcher = running()
    objects = [*controllers.lister.all(POD).values()]
    other.restore(controllers.state(), objects)
    assert other.state() == controllers.state()
    other.handle(SyncDue("watcher", "default/a"), 10)
    while other.has_next:
        other.handle(SyncNext(), 10)
    assert watcher.looked == [("default/a", 0), ("default/b", 10), ("default/a", 10)]


@pytest.mark.parametrize("is_controller", [True, False])
def test_the_lister_indexes_objects_by_their_controller(is_controller):
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u1"}
    metadata = {
        "name": "a",
        "namespace": "x",
        "ownerReferences": [owner | {"controller": is_controller}],
    }
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    pod = decode(
        document | {"spec": {"containers": [{"name": "c", "image": "app"}], "nodeName": "n1"}}
    )
    lister = Lister()
    assert lister.put(pod) is None
    assert list(lister.controlled_by("u1", POD)) == (["x/a"] if is_controller else [])
    assert list(lister.in_namespace(POD, "x")) == ["x/a"] == list(lister.pods_on("n1"))
    assert lister.delete(pod) is pod
    assert not lister.controlled_by("u1", POD)
    assert not lister.in_namespace(POD, "x")
    assert not lister.pods_on("n1")


NAMES = st.sampled_from("abc")
NODES = st.sampled_from(["", "n1", "n2"])
OWNERS = st.sampled_from(["", "u1", "u2"])
IS_THERE = st.booleans()


def owned_pod(namespace: str, name: str, node: str, owner: str) -> Pod:
    reference = {"apiVersion": "v1", "kind": "R", "name": "r", "uid": owner, "controller": True}
    metadata = {"name": name, "namespace": namespace, "ownerReferences": [reference] * bool(owner)}
    spec = {"containers": [{"name": "c", "image": "app"}], "nodeName": node or None}
    pod = decode({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    assert isinstance(pod, Pod)
    return pod


def owner_uid(pod: Pod) -> str:
    owner = pod.metadata.controller
    return "" if owner is None else owner.uid


@pytest.mark.property
@given(st.lists(st.tuples(NAMES, NAMES, NODES, OWNERS, IS_THERE)))
def test_a_lister_returns_the_stored_objects_after_any_history(history):
    asked, unasked, indexed = Lister(), Lister(), Lister(has_namespaces=True)
    there: dict[str, Pod] = {}
    asked.in_namespace(POD, "a")
    for namespace, name, node, owner, is_there in history:
        pod = owned_pod(namespace, name, node, owner)
        for lister in (asked, unasked, indexed):
            was = lister.put(pod) if is_there else lister.delete(pod)
            assert was is there.get(pod.key)
        if is_there:
            there[pod.key] = pod
        else:
            there.pop(pod.key, None)
    for lister in (asked, unasked, indexed):
        assert lister.all(POD) == there
        for each in "abc":
            found = {key: pod for key, pod in there.items() if pod.namespace == each}
            assert lister.in_namespace(POD, each) == found
        for each in ("n1", "n2"):
            found = {key: pod for key, pod in there.items() if pod.spec.node_name == each}
            assert lister.pods_on(each) == found
        for each in ("u1", "u2"):
            found = {key: pod for key, pod in there.items() if owner_uid(pod) == each}
            assert lister.controlled_by(each, POD) == found


class SetWatcher(Watcher):
    """Observes pods of replica sets, and orphans."""

    name = "set-watcher"
    owner_kind = "ReplicaSet"


class AdoptingWatcher(SetWatcher):
    """Observes orphans while there is an owner."""

    adopters: Sized | None = {}


@pytest.mark.parametrize("has_owner", [True, False])
def test_orphans_matter_only_while_there_is_an_owner(has_owner, monkeypatch):
    monkeypatch.setattr(AdoptingWatcher, "adopters", {"default": "x"} if has_owner else {})
    controllers = ControllerLoop([AdoptingWatcher])
    controllers.handle(ObjectPut(make_pod("web")), 0)
    assert controllers.has_next is has_owner
    while controllers.has_next:
        controllers.handle(SyncNext(), 0)
    controllers.handle(ObjectDeleted(make_pod("web")), 1)
    assert controllers.has_next, "a removal is always delivered"


@pytest.mark.parametrize(
    ("owners", "is_told"),
    [
        pytest.param([None], True, id="an orphan"),
        pytest.param(["ReplicaSet"], True, id="a pod of its kind"),
        pytest.param(["Job"], False, id="a pod of another kind"),
        pytest.param(["Job", "Job"], False, id="a pod of another kind that changes"),
        pytest.param(["Job", "ReplicaSet"], True, id="a pod with a new owner"),
        pytest.param(["ReplicaSet", None], True, id="a released pod"),
    ],
)
def test_a_controller_observes_only_pods_that_it_may_own(owners, is_told):
    def pod(kind: str | None) -> Any:
        document = dict(make_pod("web").raw)
        if kind is not None:
            reference = {"kind": kind, "name": "x", "uid": f"uid-{kind}", "controller": True}
            metadata = document["metadata"] | {"ownerReferences": [reference]}
            document |= {"metadata": metadata}
        return decode(document)

    controllers = ControllerLoop([SetWatcher])
    for kind in owners[:-1]:
        controllers.handle(ObjectPut(pod(kind)), 0)
    while controllers.has_next:
        controllers.handle(SyncNext(), 0)
    controllers.handle(ObjectPut(pod(owners[-1])), 1)
    assert controllers.has_next is is_told


def test_a_rejection_that_concerns_no_controller_and_no_owner_is_not_reported():
    controllers, _ = running()
    pod = owned_pod("default", "a", "", "gone")
    for user in ("watcher", "someone"):
        rejection = WriteRejected(CreateObject(pod, user), "full")
        assert controllers.handle(rejection, 0) == []
    assert not controllers.has_next


def test_a_rejected_object_is_reported_once_for_each_sync_and_owner():
    """Upstream: controller_utils.go, createPods."""
    controllers, _ = running()
    owner = decode({"apiVersion": "v1", "kind": "R", "metadata": {
        "name": "r", "namespace": "default", "uid": "u1",
    }})  # fmt: skip
    controllers.handle(ObjectPut(owner), 0)
    rejections = [
        WriteRejected(CreateObject(owned_pod("default", name, "", "u1"), "watcher"), f"full {name}")
        for name in "ab"
    ]
    (event,) = controllers.handle(rejections[0], 0)
    assert isinstance(event, RecordEvent)
    assert (event.type, event.reason, event.note, event.source, event.key) == (
        "Warning", "FailedCreate", "Error creating: full a", "watcher", "default/r",
    )  # fmt: skip
    assert controllers.handle(rejections[1], 0) == []
    controllers.handle(ObjectPut(make_pod("x")), 1)
    controllers.handle(SyncNext(), 1)
    assert len(controllers.handle(rejections[1], 1)) == 1
    revision = decode({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {
        "name": "r-1", "namespace": "default",
        "ownerReferences": owned_pod("default", "a", "", "u1").raw["metadata"]["ownerReferences"],
    }})  # fmt: skip
    controllers.handle(ObjectPut(make_pod("y")), 2)
    controllers.handle(SyncNext(), 2)
    rejection = WriteRejected(CreateObject(revision, "watcher"), "full")
    assert controllers.handle(rejection, 2) == [], "only pods are reported"


def admitting(kind: str, version: str = "v1", name: str = "a", **fields: Any) -> Any:
    metadata = {"name": name} | ({"namespace": "a"} if kind == "ResourceQuota" else {})
    return decode({"apiVersion": version, "kind": kind, "metadata": metadata, **fields})


def using(count: str) -> Any:
    status = {"hard": {"pods": "9"}, "used": {"pods": count}}
    return admitting("ResourceQuota", status=status)


@pytest.mark.parametrize(
    ("before", "after", "tried"),
    [
        pytest.param(None, using("1"), "a", id="a new quota"),
        pytest.param(using("1"), None, "a", id="a quota that is gone"),
        pytest.param(using("2"), using("1"), "a", id="less is used"),
        pytest.param(using("1"), using("2"), "", id="more is used"),
        pytest.param(None, admitting("Namespace"), "a", id="a namespace"),
        pytest.param(admitting("Namespace"), None, "a", id="a namespace that is gone"),
        pytest.param(
            admitting("Namespace"),
            admitting("Namespace", status={"phase": "Active"}),
            "a",
            id="a namespace that changes",
        ),
        pytest.param(None, admitting("Namespace", name="c"), "", id="a namespace of no object"),
        pytest.param(
            None, admitting("PriorityClass", "scheduling.k8s.io/v1"), "ab", id="of all namespaces"
        ),
        pytest.param(None, admitting("Node"), "", id="a kind that admits nothing"),
    ],
)
def test_rejected_objects_are_tried_again_when_what_admits_them_changes(before, after, tried):
    kinds = {("", "ResourceQuota"), ("", "Namespace"), ("scheduling.k8s.io", "PriorityClass")}
    controllers = ControllerLoop([Watcher], admission_kinds=kinds)
    if before is not None:
        controllers.handle(ObjectPut(before), 0)
    for namespace in "ab":
        pod = make_pod("p", namespace=namespace)
        controllers.handle(ObjectPut(pod), 0)
        controllers.handle(SyncNext(), 0)
        controllers.handle(WriteRejected(CreateObject(pod, "watcher"), "full"), 0)
    controllers.handle(ObjectDeleted(before) if after is None else ObjectPut(after), 1)
    actions = []
    while controllers.has_next:
        actions += controllers.handle(SyncNext(), 1)
    events = [action.event for action in actions if isinstance(action, SyncAt)]
    assert events == [SyncDue("watcher", f"{namespace}/p") for namespace in tried]
    assert len(events) == len(actions)


def test_without_a_report_a_change_that_fails_is_an_error():
    class Failing(Watcher):
        def observe(self, old: Any, new: Any) -> Any:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        ControllerLoop([Failing]).handle(ObjectPut(make_pod("a")), 0)
