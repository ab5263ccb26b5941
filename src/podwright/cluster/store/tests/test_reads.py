"""Lists and watches, tested on stores in memory and in a file."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest

from podwright.apimachinery.objects import (
    Node,
    Pod,
    SelectorError,
    label_selector,
    parse_field_selector,
    parse_label_selector,
    with_fields,
)
from podwright.cluster.api.tests.writable import WritableStore
from podwright.cluster.store import (
    POD,
    Expired,
    FutureVersion,
    InvalidContinue,
    KindLike,
    table,
)
from podwright.cluster.store.history import RestingChange, event_of
from podwright.cluster.store.pages import NEWEST, token_for
from podwright.cluster.store.query import query_for
from podwright.cluster.store.tests.documents import (
    CONFIG_MAP,
    EVENT,
    NOW,
    a_config_map,
    a_pod,
    document,
    names,
    seen,
)

# ----------------------------------------------------------------------------- conditions


@pytest.mark.parametrize(
    "text",
    [
        "a!=1,a!=2,a!=3,a!=4,a!=5,a!=6,a!=7,a!=8,a!=9",
        "a in (1,2,3,4,5,6,7,8),a in (8,9,10,11,12,13),b",
        "a notin (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16)",
        "!a,b!=1,b!=2,b!=3,b!=4,b!=5,b!=6,b!=7,b!=8",
        "a>3,a<9,b,c!=1,c!=2,c!=3,c!=4,c!=5,c!=6",
        "a=1,a=2,b!=1,b!=2,b!=3,b!=4,b!=5,b!=6,b!=7",
        ",".join(f"k{number}!=v" for number in range(20)),
        ",".join(f"k{number}" for number in range(20)),
    ],
)
def test_many_conditions_on_labels_select_what_each_of_them_does(text):
    selector = parse_label_selector(text)
    query = query_for(CONFIG_MAP, labels=selector)
    assert query.labels_match != selector.matches, "compiled"
    every = {f"k{number}": "w" for number in range(20)}
    cases = [{}, {"k3": "v"}, every, every | {"k19": "v"}]
    cases += [
        {name: value for name, value in {"a": a, "b": b, "c": "9"}.items() if value}
        for a in ("", "1", "4", "8", "20")
        for b in ("", "1", "x")
    ]
    for labels in cases:
        assert query.labels_match(labels) is selector.matches(labels), labels


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("metadata.name!=a,metadata.name!=b", ["c"]),
        ("metadata.name=a,metadata.name!=b", ["a"]),
        ("metadata.name=a,metadata.name!=a", []),
        ("metadata.namespace=default,metadata.namespace=other", []),
        ("metadata.namespace=default,metadata.namespace=default", ["a", "b", "c"]),
    ],
)
def test_several_conditions_on_a_field(text, found):
    query = query_for(CONFIG_MAP, fields=parse_field_selector(text))
    maps = [a_config_map(name) for name in "abc"]
    assert [each.name for each in maps if query.matches(each)] == found


# ----------------------------------------------------------------------------- listing


def test_a_kind_is_named_by_its_struct_or_its_group_and_name(store: WritableStore) -> None:
    made = store.create(a_pod("a"), NOW).object
    version = int(made.metadata.resource_version)
    kinds: list[KindLike] = [Pod, POD]
    for kind in kinds:
        assert [*store.keys(kind)] == [made.key]
        assert [*store.versions(kind)] == [(made.key, version)]
        assert (store.version_of(kind, made.key), store.count(kind)) == (version, 1)
    assert store.get(Pod, made.key) == store.get(POD, made.key) == made


@pytest.fixture
def crowd(store: WritableStore) -> WritableStore:
    """A thousand pods in ten namespaces, of fifty apps, on a hundred nodes."""
    for number in range(1_000):
        store.create(
            a_pod(
                f"p{number:04}",
                metadata={
                    "namespace": f"ns{number % 10}",
                    "labels": {"app": f"a{number % 50}", "half": str(number % 2)},
                    "ownerReferences": [
                        {
                            "apiVersion": "apps/v1",
                            "kind": "ReplicaSet",
                            "name": "r",
                            "uid": f"u{number % 20}",
                        }
                    ],
                },
                spec={"nodeName": f"n{number % 100}"},
                status={"phase": "Running" if number % 4 else "Pending"},
            ),
            NOW,
        )
    return store


@pytest.mark.parametrize(
    ("query", "count", "examined"),
    [
        pytest.param({"labels": "app=a3"}, 20, 20, id="a label"),
        pytest.param({"labels": "app=a3,half=1"}, 20, 20, id="the rarer of two labels"),
        pytest.param({"labels": "app in (a3,a4)"}, 40, 40, id="one of two values"),
        pytest.param({"labels": "app"}, 1_000, 1_000, id="a label of all"),
        pytest.param({"labels": "missing"}, 0, 0, id="a label of none"),
        pytest.param({"labels": "app!=a3"}, 980, 1_000, id="not a value: all are examined"),
        pytest.param({"fields": "spec.nodeName=n7"}, 10, 10, id="a node"),
        pytest.param({"fields": "spec.nodeName="}, 0, 0, id="no node"),
        pytest.param({"fields": "spec.nodeName=n7,status.phase=Running"}, 10, 10, id="both"),
        pytest.param({"fields": "status.phase!=Running"}, 250, 1_000, id="a phase, negated"),
        pytest.param({"fields": "metadata.name=p0003"}, 1, 1, id="a name, everywhere"),
        pytest.param(
            {"fields": "metadata.name=p0003", "namespace": "ns4"}, 0, 0, id="a name elsewhere"
        ),
        pytest.param(
            {"fields": "metadata.name=p0003,metadata.namespace=ns3"}, 1, 1, id="a name in its place"
        ),
        pytest.param(
            {"fields": "metadata.namespace=ns4,metadata.name=p0003"}, 0, 0, id="not in its place"
        ),
        pytest.param(
            {"fields": "metadata.name=p0003,metadata.namespace!=ns4"}, 1, 1, id="a place excluded"
        ),
        pytest.param(
            {"fields": "metadata.name=p0003,spec.nodeName=n3"}, 1, 1, id="a name and a node"
        ),
        pytest.param(
            {"fields": "spec.nodeName=n4,metadata.name=p0003"}, 0, 1, id="a name on no such node"
        ),
        pytest.param({"owner_uid": "u3"}, 50, 50, id="an owner"),
        pytest.param({"namespace": "ns3"}, 100, 100, id="a namespace"),
        pytest.param({"namespace": "ns3", "labels": "app=a3"}, 20, 20, id="within a namespace"),
        pytest.param({"namespace": "nowhere"}, 0, 0, id="no such namespace"),
        pytest.param({"limit": 5}, 5, 6, id="a page examines one more"),
    ],
)
def test_a_list_examines_only_the_candidates_of_the_best_index(crowd, query, count, examined):
    before = crowd.examined_count
    parsers = {"labels": parse_label_selector, "fields": parse_field_selector}
    parsed = {name: parsers.get(name, lambda v: v)(value) for name, value in query.items()}
    page = crowd.list(Pod, **parsed)
    assert len(page.objects) == count
    assert crowd.examined_count - before == examined
    assert [obj.key for obj in page.objects] == sorted(obj.key for obj in page.objects)


def test_an_index_is_built_by_the_first_list_that_uses_it_and_kept(crowd):
    table = crowd._tables["", "Pod"]
    assert not table._indexes
    app = parse_label_selector("app=a3")
    assert len(crowd.list(Pod, labels=app).objects) == 20
    assert list(table._indexes) == ["labels"]
    first, *others = crowd.list(Pod, labels=app).objects
    crowd.drop(Pod, first.key)
    crowd.update(with_fields(others[0], "metadata", labels={"app": "a4"}))
    crowd.create(a_pod("new", metadata={"labels": {"app": "a3"}}), NOW)
    before = crowd.examined_count
    assert len(crowd.list(Pod, labels=app).objects) == 19 == crowd.examined_count - before
    crowd.validate()


@pytest.mark.parametrize("orders_keys", [False, True])
def test_a_kind_without_objects_is_empty(make, orders_keys):
    store = make()
    store.create(document("Node", "n"), NOW)
    if orders_keys:
        store.order_keys()
    assert store.get(Pod, "default/a") is None
    assert store.version_of(Pod, "default/a") is None
    assert [store.count(Pod, namespace) for namespace in (None, "default")] == [0, 0]
    assert store.list(Pod).objects == ()
    assert store.kinds() == [("", "Node")]
    store.create(a_pod("a"), NOW)
    assert store.version_of(Pod, "default/a") == 3
    assert [store.count(Pod, namespace) for namespace in (None, "default", "x")] == [1, 1, 0]
    assert store.kinds() == [("", "Node"), ("", "Pod")]
    # Keys that are kept in order from the start need no sorting for the first list.
    store.create(document("Namespace", "a"), NOW)
    for kind in (("", "Node"), ("", "Namespace")):
        assert (store._tables[kind]._names is not None) is orders_keys


def test_pages_of_a_past_state_are_found_with_an_index(crowd):
    """Between the pages objects enter and leave the index, and the pages show none of it."""
    query = {"labels": parse_label_selector("app=a3")}
    first = crowd.list(Pod, limit=3, **query)
    expected = crowd.list(Pod, **query).objects
    keys = [obj.key for obj in expected]
    crowd.drop(Pod, keys[4])
    crowd.update(with_fields(expected[5], "metadata", labels={"app": "a4"}))
    crowd.update(with_fields(expected[6], "metadata", labels={"app": "a3", "more": ""}))
    (other,) = crowd.list(Pod, labels=parse_label_selector("app=a4"), limit=1).objects
    crowd.update(with_fields(other, "metadata", labels={"app": "a3"}))
    crowd.create(a_pod("zz", metadata={"namespace": "ns9", "labels": {"app": "a3"}}), NOW)
    found, page = [*first.objects], first
    before = crowd.examined_count
    while page.continue_token:
        page = crowd.list(Pod, limit=3, continue_token=page.continue_token, **query)
        found += page.objects
    assert found == list(expected)
    assert crowd.examined_count - before < 100
    at = crowd.list(Pod, at=first.resource_version, **query)
    assert at.objects == expected


def test_keys_are_sorted_as_text(store):
    for namespace, name in [("a", "x"), ("a-b", "x"), ("a", "b"), ("b", "a")]:
        store.create(a_pod(name, metadata={"namespace": namespace}), NOW)
    assert [obj.key for obj in store.list(Pod).objects] == ["a-b/x", "a/b", "a/x", "b/a"]


def test_pages_show_the_state_of_the_first(crowd):
    first = crowd.list(Pod, namespace="ns1", limit=40)
    assert first.remaining_count == 60
    before = names(crowd.list(Pod, namespace="ns1"))
    crowd.delete(Pod, "ns1/p0991", NOW, grace_seconds=0)
    crowd.create(a_pod("p0992x", metadata={"namespace": "ns1"}), NOW)
    crowd.update(a_pod("p0981", metadata={"namespace": "ns1"}, spec={"nodeName": "moved"}))
    crowd.delete(Pod, "ns1/p0951", NOW, grace_seconds=0)
    crowd.delete(Pod, "ns1/p0961", NOW, grace_seconds=0)
    found, page, remaining = names(first), first, [20, None]
    while page.continue_token:
        page = crowd.list(Pod, namespace="ns1", limit=40, continue_token=page.continue_token)
        assert page.resource_version == first.resource_version
        assert page.remaining_count == remaining.pop(0)
        found += names(page)
        if names(page)[-1] == "p0991":
            assert page.objects[-2].spec.node_name == "n81"
    assert found == before
    assert not remaining


def test_pages_with_a_selector_do_not_count_what_follows(crowd):
    page = crowd.list(Pod, labels=parse_label_selector("half=1"), limit=10)
    assert page.continue_token
    assert page.remaining_count is None
    rest = crowd.list(
        Pod, labels=parse_label_selector("half=1"), continue_token=page.continue_token
    )
    assert len(page.objects) + len(rest.objects) == 500


@pytest.mark.parametrize("is_past", [False, True])
def test_a_full_page_with_a_selector_ends_the_list_if_no_object_follows(store, is_past):
    """Upstream does not look whether one that follows matches."""
    selector = parse_label_selector("a")
    for name in "a", "b", "d":
        labels = {"a": ""} if name != "d" else {}
        store.create(a_pod(name, metadata={"labels": labels}), NOW)
    then = store.resource_version
    if is_past:
        store.delete(Pod, "default/d", NOW, grace_seconds=0)
    at = then if is_past else None
    page = store.list(Pod, labels=selector, limit=2, at=at)
    assert names(page) == ["a", "b"]
    assert page.continue_token
    rest = store.list(Pod, labels=selector, limit=2, continue_token=page.continue_token)
    assert (names(rest), rest.continue_token) == ([], "")
    other = store.list(Pod, fields=parse_field_selector("metadata.name=d"), limit=1, at=at)
    assert (names(other), other.continue_token) == (["d"], "")


def test_a_page_of_a_discarded_version_is_expired_and_can_continue_with_the_current_state(crowd):
    first = crowd.list(Pod, namespace="ns1", limit=40)
    crowd.create(a_pod("p0992x", metadata={"namespace": "ns1"}), NOW)
    crowd.compact(crowd.resource_version)
    with pytest.raises(Expired) as refused:
        crowd.list(Pod, namespace="ns1", limit=40, continue_token=first.continue_token)
    token = refused.value.continue_token
    rest = crowd.list(Pod, namespace="ns1", continue_token=token)
    assert len(rest.objects) == 61
    assert rest.resource_version == crowd.resource_version


def token_of(v: str = "meta.k8s.io/v1", **fields: Any) -> str:
    return urlsafe_b64encode(json.dumps({"v": v, **fields}).encode()).decode()


@pytest.mark.parametrize("start", ["default/b", "default/a\0"])
def test_a_token_starts_at_a_key_or_after_one(store, start):
    for name in "abc":
        store.create(a_pod(name, metadata={"namespace": "default"}), NOW)
    found = store.list(Pod, continue_token=token_of(rv=store.resource_version, start=start))
    assert names(found) == ["b", "c"]


@pytest.mark.parametrize(
    "token",
    [
        "x", "%%%", "e30", "ä", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0",
        pytest.param(token_for(NEWEST - 1, "default/a"), id="no version"),
        pytest.param(token_of(v="meta.k8s.io/v2", rv=1, start="a"), id="another form"),
        pytest.param(token_of(rv=0, start="a"), id="version 0"),
        pytest.param(token_of(start="a"), id="a version that is not there"),
        pytest.param(token_of(rv=1, start=""), id="no start"),
        pytest.param(token_of(rv=1, start="../a"), id="a path"),
    ],
)  # fmt: skip
def test_an_invalid_token_is_rejected(store, token):
    with pytest.raises(InvalidContinue, match="continue key is not valid"):
        store.list(Pod, continue_token=token)


def test_any_state_of_the_window_can_be_listed(store):
    store.create(a_config_map("a", data={"x": "1"}), NOW)
    store.create(a_config_map("b"), NOW)
    then = store.resource_version
    store.update(a_config_map("a", data={"x": "2"}))
    store.delete(CONFIG_MAP, "default/b", NOW)
    store.create(a_config_map("c"), NOW)
    assert names(store.list(CONFIG_MAP)) == ["a", "c"]
    page = store.list(CONFIG_MAP, at=then)
    assert names(page) == ["a", "b"]
    assert page.objects[0].raw["data"] == {"x": "1"}
    with pytest.raises(FutureVersion, match="too large resource version: 99, current: 6"):
        store.list(CONFIG_MAP, at=99)
    store.compact(then + 1)
    with pytest.raises(Expired, match="too old resource version: 3"):
        store.list(CONFIG_MAP, at=then)


@pytest.mark.parametrize(
    ("kind", "field", "words"),
    [
        (Pod, "spec.foo", "field label not supported: spec.foo"),
        (CONFIG_MAP, "data.a", '"data.a" is not a known field selector'),
    ],
)
def test_an_unsupported_field_is_rejected(store, kind, field, words):
    selector = parse_field_selector(f"{field}=x")
    with pytest.raises(SelectorError, match=words):
        store.list(kind, fields=selector)
    with pytest.raises(SelectorError, match=words):
        store.watch(kind, fields=selector)


@pytest.mark.parametrize(
    ("obj", "selector"),
    [
        (lambda: document("Node", "n"), "spec.unschedulable=false"),
        (lambda: document("Node", "n", spec={"unschedulable": True}), "spec.unschedulable=true"),
        (a_pod, "spec.hostNetwork=false,status.podIP=,status.podIPs="),
        (lambda: a_pod(status={"podIPs": [{"ip": "1.2.3.4"}]}), "status.podIP=1.2.3.4"),
        (lambda: document("Job", "j", "batch/v1", status={"succeeded": 3}), "status.successful=3"),
        (lambda: document("ReplicationController", "r"), "status.replicas=0"),
        (
            lambda: document("Event", "e", involvedObject={"kind": "Pod", "uid": "u"}),
            "involvedObject.uid=u,involvedObject.kind=Pod,reason=",
        ),
        (lambda: document("Event", "e", source={"component": "kubelet"}), "source=kubelet"),
    ],
)
def test_fields_have_the_values_of_upstream(store, obj, selector):
    made = store.create(obj(), NOW).object
    kind = ("batch" if made.kind == "Job" else "", made.kind)
    assert len(store.list(kind, fields=parse_field_selector(selector)).objects) == 1


# ---------------------------------------------------------------------------- watching


def test_a_watch_without_a_version_begins_with_the_current_objects(store):
    store.create(a_pod("a"), NOW)
    store.create(a_pod("b"), NOW)
    cursor = store.watch(Pod)
    first = cursor.poll(limit=2)
    assert [event.type for event in first] == ["ADDED", "ADDED"]
    store.create(a_pod("c"), NOW)
    (end,) = cursor.poll()
    assert (end.type, end.ends_initial, end.resource_version) == ("BOOKMARK", True, 3)
    assert seen(cursor) == [("ADDED", "c", 4)]
    assert not cursor.poll()


def test_objects_that_start_or_stop_matching_are_added_or_deleted(store):
    cursor = store.watch(Pod, fields=parse_field_selector("spec.nodeName="), since=1)
    by_label = store.watch(Pod, labels=parse_label_selector("app=x"), since=1)
    store.create(a_pod(), NOW)
    store.bind("default/web", "n1", NOW)
    assert seen(cursor) == [("ADDED", "web", 2), ("DELETED", "web", 3)]
    store.update(a_pod(spec={"nodeName": "n1"}, metadata={"labels": {"app": "x"}}))
    store.update(a_pod(spec={"nodeName": "n1"}, metadata={"labels": {"app": "x", "b": ""}}))
    store.delete(Pod, "default/web", NOW, grace_seconds=0)
    assert seen(by_label) == [
        ("ADDED", "web", 4),
        ("MODIFIED", "web", 5),
        ("MODIFIED", "web", 6),
        ("DELETED", "web", 7),
    ]
    assert not cursor.poll()


def test_an_object_that_stops_matching_has_its_last_matching_state_and_the_new_version(store):
    store.create(a_pod(), NOW)
    cursor = store.watch(Pod, fields=parse_field_selector("spec.nodeName="), since=2)
    store.bind("default/web", "n1", NOW)
    (event,) = cursor.poll()
    assert event.object.spec.node_name == ""
    assert event.object.raw["metadata"]["resourceVersion"] == "3"


def test_an_object_that_names_an_owner_twice_is_listed_once_until_it_is_gone(store):
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u"}
    store.create(a_pod("a", metadata={"ownerReferences": [owner, owner]}), NOW)
    store.create(a_pod("b"), NOW)
    assert names(store.list(Pod, owner_uid="u")) == ["a"]
    store.validate()
    store.delete(Pod, "default/a", NOW, grace_seconds=0)
    assert names(store.list(Pod, owner_uid="u")) == []
    store.validate()


def test_a_watch_sees_its_kind_its_namespace_and_its_owner(store):
    watched = {
        "pods": store.watch(Pod, since=1),
        "there": store.watch(Pod, since=1, namespace="there"),
        "owned": store.watch(Pod, since=1, owner_uid="u"),
        "all": store.watch(since=1),
    }
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u"}
    store.create(a_config_map(), NOW)
    store.create(a_pod("a", metadata={"namespace": "there"}), NOW)
    store.create(a_pod("b", metadata={"ownerReferences": [owner]}), NOW)
    shown = {name: [line[1] for line in seen(cursor)] for name, cursor in watched.items()}
    assert shown == {
        "pods": ["a", "b"],
        "there": ["a"],
        "owned": ["b"],
        "all": ["settings", "a", "b"],
    }


def test_modified_events_have_the_previous_object(store):
    old = store.create(a_config_map(data={"a": "1"}), NOW).object
    cursor = store.watch(CONFIG_MAP, since=2)
    store.update(a_config_map(data={"a": "2"}))
    assert cursor.poll()[0].old is old


def test_a_watch_without_events_does_not_expire_while_it_is_polled(make):
    store = make(window=10)
    quiet, late = store.watch(Node, since=1), store.watch(Pod, since=1)
    for number in range(50):
        store.create(a_pod(f"p{number}"), NOW)
        assert not quiet.poll()
    assert quiet.bookmark().resource_version == store.resource_version == 51
    assert late.is_behind
    with pytest.raises(Expired, match=r"too old resource version: 1 .*list again"):
        late.poll()
    with pytest.raises(Expired):
        store.watch(Pod, since=1)
    assert store.oldest_version >= 51 - 13


def test_watches_share_initial_events_until_their_kind_changes(store):
    def initial_version():
        return store.watch(CONFIG_MAP).initial_version

    first = initial_version()
    store.create(a_pod("a"), NOW)
    assert initial_version() == first
    store.create(a_config_map("a"), NOW)
    changed = initial_version()
    assert changed == store.resource_version
    store.create(a_pod("b"), NOW)
    assert initial_version() == changed


def test_a_watch_from_a_future_version_has_no_events_until_then(store):
    cursor = store.watch(Pod, since=3)
    store.create(a_pod("a"), NOW)
    store.create(a_pod("b"), NOW)
    assert not cursor.poll()
    store.create(a_pod("c"), NOW)
    assert seen(cursor) == [("ADDED", "c", 4)]


def test_a_watch_from_the_oldest_version_is_served(store):
    for number in range(5):
        store.create(a_pod(f"p{number}"), NOW)
    store.compact(4)
    assert store.oldest_version == 4
    assert [line[2] for line in seen(store.watch(Pod, since=4))] == [5, 6]
    with pytest.raises(Expired):
        store.watch(Pod, since=3)


def test_polls_can_be_limited(store):
    cursor = store.watch(Pod, since=1)
    for number in range(5):
        store.create(a_pod(f"p{number}"), NOW)
    shown = []
    while cursor.is_behind:
        events = cursor.poll(limit=2)
        assert len(events) <= 2
        shown += [event.resource_version for event in events]
    assert shown == [2, 3, 4, 5, 6]


def test_a_follower_receives_the_changes_of_a_watch_of_all_kinds(store: WritableStore) -> None:
    store.create(a_pod("before"), NOW)
    changes = store.follow()
    cursor = store.watch(since=store.resource_version)
    assert changes == []
    pod = store.create(a_pod("web"), NOW).object
    store.create(a_config_map("settings"), NOW)
    store.update(pod)  # as it is: no change
    store.bind(pod.key, "n1", NOW)
    store.delete(Pod, pod.key, NOW)
    store.delete(Pod, pod.key, NOW, grace_seconds=0)  # marked, and gone
    assert [change.version for change in changes] == [3, 4, 5, 6, 7, 8]
    assert [event_of(change) for change in changes] == cursor.poll()
    changes.clear()
    store.drop(Pod, "default/before")
    assert [(change.key, change.new) for change in changes] == [("default/before", None)]


@pytest.mark.parametrize("labels", ["", "odd=1"])
def test_a_watch_skips_the_initial_events_that_another_has_read(store, labels):
    for number in range(6):
        store.create(a_pod(f"p{number}", metadata={"labels": {"odd": str(number % 2)}}), NOW)
    selector = {"labels": parse_label_selector(labels)} if labels else {}
    first, second, third = (store.watch(Pod, **selector) for _ in range(3))
    read = first.poll(2)
    second.skip_initial(first.initial_place)
    assert second.initial_place == first.initial_place
    third.poll(1)
    third.skip_initial(first.initial_place)
    rest = [list(each.poll()) for each in (first, second, third)]
    assert rest[0] == rest[1] == rest[2]
    assert rest[0][-1].type == "BOOKMARK"
    shown = [event.object.name for event in (*read, *rest[0]) if event.object]
    assert shown == ([f"p{number}" for number in range(6)] if not labels else ["p1", "p3", "p5"])


def test_a_watch_skips_the_changes_that_another_has_read(store):
    first, second = store.watch(Pod, since=1), store.watch(Pod, since=1)
    store.create(a_pod("a"), NOW)
    first.poll()
    second.skip_to(first.resource_version)
    store.create(a_pod("b"), NOW)
    assert seen(second) == seen(first) == [("ADDED", "b", 3)]


def test_the_objects_of_a_store_are_shown_as_creations_in_the_order_of_versions(store):
    store.create(a_pod("b"), NOW)
    store.create(a_config_map("a"), NOW)
    pod = store.create(a_pod("c"), NOW).object
    store.create(a_pod("gone"), NOW)
    store.delete(Pod, "default/gone", NOW, grace_seconds=0)
    store.bind("default/b", "n1", NOW)
    found = store.creations()
    assert [(each.version, each.new.name) for each in found] == [(3, "a"), (4, "c"), (8, "b")]
    assert all(each.old is None for each in found)
    assert found[1].new.raw == pod.raw


def test_objects_at_rest_are_shown_as_creations_that_are_read_when_they_are_used(store):
    made = [store.create(document("Event", name, reason="r"), NOW).object for name in "ab"]
    store.compact(store.resource_version)
    first, second = store.creations()
    assert (type(first), type(second)) == (RestingChange, RestingChange)
    assert [each.new.raw for each in (first, second)] == [each.raw for each in made]
    assert (first.key, first.kind, first.old, first.is_removal) == ("default/a", EVENT, None, False)


def test_an_index_is_made_for_the_first_query_and_follows_the_changes(store, monkeypatch):
    made: list[Any] = []

    class CountedIndex(table.Index):
        def __init__(self, *given: Any) -> None:
            made.append(given)
            super().__init__(*given)

    monkeypatch.setattr(table, "Index", CountedIndex)
    selected = {"fields": parse_field_selector("spec.nodeName=n1")}
    for number in range(3):
        store.create(a_pod(f"p{number}", spec={"nodeName": "n1"}), NOW)
        assert len(store.list(Pod, **selected).objects) == number + 1
    assert len(made) == 1


def test_a_selector_that_selects_nothing_has_no_objects(store):
    store.create(a_pod("a", metadata={"labels": {"app": "a"}}), NOW)
    before = store.examined_count
    nothing = label_selector(None)
    assert store.list(Pod, labels=nothing).objects == ()
    assert list(store.reader(Pod, labels=nothing).parts(5)) == [[]]
    assert seen(store.watch(Pod, since=1, labels=nothing)) == []
    assert store.examined_count == before


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param([1], id="in the first kind"),
        pytest.param([1, 2], id="after the first kind"),
        pytest.param([2, 1], id="in the last kind"),
    ],
)
def test_initial_events_of_all_kinds_continue_where_another_watch_is(store, limits):
    for name in "ab":
        store.create(a_pod(name), NOW)
        store.create(a_config_map(name), NOW)
    first, second = store.watch(), store.watch()
    read = [
        (event.object.kind, event.object.name) for limit in limits for event in first.poll(limit)
    ]
    second.skip_initial(first.initial_place)
    left = [event for watch in (first, second) for event in watch.poll()]
    kinds = [(each.object.kind, each.object.name) if each.object else each.type for each in left]
    assert kinds[: len(kinds) // 2] == kinds[len(kinds) // 2 :]
    everything = [("ConfigMap", "a"), ("ConfigMap", "b"), ("Pod", "a"), ("Pod", "b"), "BOOKMARK"]
    assert [*read, *kinds[: len(kinds) // 2]] == everything


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_initial_events_come_within_the_limit_and_their_end_after_them(store, limit):
    for name in "ab":
        store.create(a_pod(name), NOW)
    store.create(a_config_map("c"), NOW)
    watch = store.watch()
    parts = [[event.type for event in watch.poll(limit)] for _ in range(5)]
    assert [each for part in parts for each in part] == ["ADDED"] * 3 + ["BOOKMARK"]
    assert max(map(len, parts)) <= limit
    assert ["BOOKMARK"] in parts


def test_initial_events_without_objects_have_a_place_too(store):
    first, second = store.watch(), store.watch()
    second.skip_initial(first.initial_place)
    assert [[event.type for event in watch.poll(5)] for watch in (first, second)] == [
        ["BOOKMARK"], ["BOOKMARK"],
    ]  # fmt: skip
    assert not first.has_initial_events


def test_the_end_of_initial_events_is_left_to_a_watch_that_skips_all_others(store):
    for name in "ab":
        store.create(a_pod(name), NOW)
    first, second = store.watch(), store.watch()
    assert len(first.poll(2)) == 2
    place = first.initial_place
    second.skip_initial(place)
    assert second.initial_place == place
    ends = [watch.poll(2) or watch.poll(2) for watch in (first, second)]
    assert [[(event.type, event.ends_initial) for event in end] for end in ends] == [
        [("BOOKMARK", True)], [("BOOKMARK", True)],
    ]  # fmt: skip
