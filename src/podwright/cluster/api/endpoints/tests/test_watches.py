"""Watches: a list and the changes after it show the same objects; streams end cleanly."""

from __future__ import annotations

import json

import pytest

from podwright.cluster.api.endpoints.tests.conftest import config_map, pod
from podwright.cluster.api.versions.conversions import TEMPLATE_GENERATION

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
SECOND_NS = 1_000_000_000


def test_a_list_and_its_changes_are_the_next_list(server):
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    _, listed = server.reply("GET", CONFIG_MAPS)
    version = listed["metadata"]["resourceVersion"]
    watch = server.watch(f"{CONFIG_MAPS}?watch=true&resourceVersion={version}")
    objects = {each["metadata"]["name"]: each.get("data") for each in listed["items"]}
    server.reply("POST", CONFIG_MAPS, config_map("b", k="1"))
    server.patch(f"{CONFIG_MAPS}/b", {"data": {"k": "2"}})
    server.reply("DELETE", f"{CONFIG_MAPS}/a")
    for type_, found in server.events(watch):
        name = found["metadata"]["name"]
        if type_ == "DELETED":
            del objects[name]
        else:
            objects[name] = found.get("data")
    _, listed = server.reply("GET", CONFIG_MAPS)
    assert objects == {each["metadata"]["name"]: each.get("data") for each in listed["items"]}


def test_watches_in_two_versions_share_no_lines(server):
    """The form of metadata has a version of its own."""
    found = {}
    for version in ("v1", "v1beta1"):
        accept = f"application/json;as=PartialObjectMetadata;v={version};g=meta.k8s.io"
        path = f"{CONFIG_MAPS}?watch=true&resourceVersion=1"
        found[version] = server.send("GET", path, headers={"accept": accept})
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    for version, watch in found.items():
        ((_, obj),) = server.events(watch)
        assert obj["apiVersion"] == f"meta.k8s.io/{version}"


def test_a_watch_by_the_name_in_its_path_shares_no_lines_with_that_of_all(server):
    path = "/api/v1/watch/namespaces/default/configmaps"
    all_of_them = server.watch(f"{path}?resourceVersion=1")
    one = server.watch(f"{path}/a?resourceVersion=1")
    for name in "ab":
        server.reply("POST", CONFIG_MAPS, config_map(name))
    assert [obj["metadata"]["name"] for _, obj in server.events(all_of_them)] == ["a", "b"]
    assert [obj["metadata"]["name"] for _, obj in server.events(one)] == ["a"]


def test_a_watch_without_initial_events_starts_with_the_next_change(server):
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    watch = server.watch(f"{CONFIG_MAPS}?watch=true&sendInitialEvents=false"
                         "&resourceVersionMatch=NotOlderThan")  # fmt: skip
    assert server.events(watch) == []
    server.reply("POST", CONFIG_MAPS, config_map("b"))
    assert [obj["metadata"]["name"] for _, obj in server.events(watch)] == ["b"]


def test_the_initial_events_end_with_a_bookmark(server):
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    watch = server.watch(
        f"{CONFIG_MAPS}?watch=true&sendInitialEvents=true"
        "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    )
    (_, added), (type_, bookmark) = server.events(watch)
    assert (added["metadata"]["name"], type_) == ("a", "BOOKMARK")
    assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert server.events(watch) == []


def test_initial_events_of_large_objects_come_in_small_parts(server):
    for number in range(50):
        server.reply("POST", CONFIG_MAPS, config_map(f"c{number}", text="x" * 10_000))
    watch = server.watch(f"{CONFIG_MAPS}?watch=true")
    parts = []
    while watch.is_behind:
        parts.append(watch.read(server.now_ns))
    assert b"".join(parts).count(b"\n") == 50
    assert max(map(len, parts)) < 128 * 1024
    assert len(parts) < 20


_INITIAL = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


@pytest.mark.parametrize("seconds", [-1, 9_223_372_037], ids=["negative", "over Go's duration"])
def test_a_watch_whose_time_is_over_before_it_starts_is_empty(server, seconds):
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    watch = server.watch(f"{CONFIG_MAPS}?watch=true&{_INITIAL}&timeoutSeconds={seconds}")
    assert watch.is_closed(server.now_ns)
    assert server.events(watch) == []


@pytest.mark.parametrize("seconds", [0, -(2**63)])
def test_a_watch_without_a_time_lasts_half_an_hour(server, seconds):
    watch = server.watch(f"{CONFIG_MAPS}?watch=true&timeoutSeconds={seconds}")
    assert watch.deadline_ns - server.now_ns == 1_800 * SECOND_NS


def test_the_time_of_a_watch_also_ends_its_initial_events(server):
    for number in range(50):
        server.reply("POST", CONFIG_MAPS, config_map(f"c{number}", text="x" * 10_000))
    watch = server.watch(f"{CONFIG_MAPS}?watch=true&{_INITIAL}&timeoutSeconds=1")
    assert watch.read(server.now_ns)
    assert watch.is_behind
    assert not watch.is_closed(server.now_ns + SECOND_NS - 1)
    assert watch.is_closed(server.now_ns + SECOND_NS)


def test_initial_events_of_a_version_to_come_are_an_error_event(server):
    watch = server.watch(f"{CONFIG_MAPS}?watch=true&{_INITIAL}&resourceVersion=999999999")
    ((type_, status),) = server.events(watch)
    assert (type_, status["code"], status["reason"]) == ("ERROR", 504, "Timeout")
    assert status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


@pytest.mark.parametrize(
    "query",
    [
        "watch=true",
        f"watch=true&{_INITIAL}&resourceVersion=999999999",
        "watch=true&resourceVersion=2",
    ],
    ids=["of all", "of a version to come", "of a discarded version"],
)
def test_a_watch_has_no_representation_in_yaml(server, query):
    for name in "abc":
        server.reply("POST", CONFIG_MAPS, config_map(name))
    server.store.compact(server.store.resource_version)
    path = f"{CONFIG_MAPS}?{query}"
    status, text = server.reply("GET", path, headers={"accept": "application/yaml"})
    assert status == 406
    assert "only the following media types are accepted: application/json" in text


def test_initial_events_of_the_present_version_are_sent(server):
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    version = server.store.resource_version
    watch = server.watch(f"{CONFIG_MAPS}?watch=true&{_INITIAL}&resourceVersion={version}")
    assert [type_ for type_, _ in server.events(watch)] == ["ADDED", "BOOKMARK"]


def test_bookmarks_come_once_a_minute_and_before_the_end(server):
    watch = server.watch(
        f"{CONFIG_MAPS}?watch=true&resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=100"
    )
    begun_ns = server.now_ns
    server.events(watch)
    times = []
    while not watch.is_closed(server.now_ns):
        server.now_ns = watch.next_due_ns
        times += [(server.now_ns - begun_ns) // SECOND_NS for _ in server.events(watch)]
    assert times == [60, 98]
    assert server.now_ns == begun_ns + 100 * SECOND_NS


def test_an_object_that_stops_matching_is_deleted_for_the_watch(server):
    watch = server.watch(f"{PODS}?watch=true&resourceVersion=1&fieldSelector=spec.nodeName%3D")
    server.reply("POST", PODS, pod("a"))
    server.reply("POST", f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": {"name": "n1"}})
    server.patch(f"{PODS}/a", {"metadata": {"labels": {"x": "y"}}})
    assert [type_ for type_, _ in server.events(watch)] == ["ADDED", "DELETED"]


def test_a_discarded_version_is_an_error_event(server):
    for name in "abc":
        server.reply("POST", CONFIG_MAPS, config_map(name))
    server.store.compact(server.store.resource_version)
    watch = server.watch(f"{CONFIG_MAPS}?watch=true&resourceVersion=2")
    ((type_, status),) = server.events(watch)
    assert (type_, status["code"], status["reason"]) == ("ERROR", 410, "Expired")
    assert watch.is_closed(server.now_ns)


def test_a_watch_that_falls_behind_ends_with_an_error(server):
    watch = server.watch(f"{CONFIG_MAPS}?watch=true&resourceVersion=1")
    for name in "abc":
        server.reply("POST", CONFIG_MAPS, config_map(name))
    server.store.compact(server.store.resource_version)
    ((type_, _),) = server.events(watch)
    assert type_ == "ERROR"


def test_tables_have_their_columns_in_the_first_event(server):
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    headers = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    watch = server.send("GET", f"{CONFIG_MAPS}?watch=true", headers=headers)
    ((_, first),) = server.events(watch)
    assert [each["name"] for each in first["columnDefinitions"]] == ["Name", "Data", "Age"]
    server.reply("POST", CONFIG_MAPS, config_map("b"))
    ((_, second),) = server.events(watch)
    assert second["columnDefinitions"] is None


def test_ages_in_tables_are_those_of_the_time_of_the_event(server):
    server.reply("POST", CONFIG_MAPS, config_map("a"))
    headers = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    watch = server.send("GET", f"{CONFIG_MAPS}?watch=true", headers=headers)
    server.events(watch)
    server.now_ns += 40 * SECOND_NS
    server.reply("POST", CONFIG_MAPS, config_map("b"))
    server.patch(f"{CONFIG_MAPS}/a", {"data": {"k": "1"}})
    cells = [found["rows"][0]["cells"] for _, found in server.events(watch)]
    # Each request takes a second.
    assert [(name, age) for name, _, age in cells] == [("b", "1s"), ("a", "43s")]


def test_the_deprecated_prefix_watches_one_object(server):
    for name in ("a", "b"):
        server.reply("POST", CONFIG_MAPS, config_map(name))
    watch = server.watch("/api/v1/watch/namespaces/default/configmaps/b")
    assert [found["metadata"]["name"] for _, found in server.events(watch)] == ["b"]
    path = "/api/v1/watch/namespaces/default/configmaps/b?fieldSelector=metadata.n"
    watch = server.watch(f"{path}ame%3Db,metadata.namespace%3Ddefault")
    assert [found["metadata"]["name"] for _, found in server.events(watch)] == ["b"]
    for fields in ("ame%3Da", "ame!%3Da", "amespace%3Ddefault"):
        status, found = server.reply("GET", f"{path}{fields}")
        message = "fieldSelector metadata.name doesn't match requested name"
        assert (status, found["message"]) == (400, message)


def test_the_deprecated_prefix_watches_one_namespace(server):
    watch = server.watch("/api/v1/watch/namespaces/default")
    assert [found["metadata"]["name"] for _, found in server.events(watch)] == ["default"]


def test_lines_are_shared_only_between_watches_of_the_same_objects(server):
    queries = ("", "&labelSelector=a%3D1", "&labelSelector=a%3D2",
               "&fieldSelector=metadata.name%3Dx", "&fieldSelector=metadata.name%3Dy")  # fmt: skip
    places = {
        name: f"/api/v1/namespaces/{name}/configmaps" if name else "/api/v1/configmaps"
        for name in ("default", "kube-system", "")
    }
    version = server.store.resource_version
    watches = {
        (place, query): server.watch(f"{path}?watch=true&resourceVersion={version}{query}")
        for place, path in places.items()
        for query in queries
    }
    secrets = server.watch(f"/api/v1/secrets?watch=true&resourceVersion={version}")
    made = []
    for place in ("default", "kube-system"):
        for name, label in (("x", "1"), ("y", "2"), ("x2", "1")):
            body = config_map(name)
            body["metadata"]["labels"] = {"a": label}
            assert server.reply("POST", places[place], body)[0] == 201
            made.append((place, name))
    selected = dict(zip(queries, ("x y x2", "x x2", "y", "x", "y"), strict=True))
    for (place, query), watch in watches.items():
        shown = [
            (each["metadata"]["namespace"], each["metadata"]["name"])
            for _, each in server.events(watch)
        ]
        assert shown == [
            (there, name)
            for there, name in made
            if place in ("", there) and name in selected[query].split()
        ]
    assert server.events(secrets) == []


def test_initial_events_are_shared_only_within_a_namespace(server):
    for place in ("default", "kube-system"):
        server.reply("POST", f"/api/v1/namespaces/{place}/configmaps", config_map("a"))
    for place in ("default", "kube-system"):
        watch = server.watch(f"/api/v1/namespaces/{place}/configmaps?watch=true")
        assert {each["metadata"]["namespace"] for _, each in server.events(watch)} == {place}


def test_a_bookmark_comes_at_exactly_its_time_and_not_before(server):
    watch = server.watch(
        f"{CONFIG_MAPS}?watch=true&resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=100"
    )
    begun_ns = server.now_ns
    for seconds, count in ((60, 1), (98, 1)):
        due_ns = begun_ns + seconds * SECOND_NS
        server.now_ns = due_ns - 1
        assert server.events(watch) == []
        server.now_ns = due_ns
        assert [kind for kind, _ in server.events(watch)] == ["BOOKMARK"] * count
        assert server.events(watch) == []
    server.now_ns = begun_ns + 100 * SECOND_NS - 1
    assert not watch.is_closed(server.now_ns)
    assert watch.is_closed(begun_ns + 100 * SECOND_NS)


def test_a_watch_that_lags_catches_up_without_another_change(server):
    count = 250
    version = server.store.resource_version
    path = f"{CONFIG_MAPS}?watch=true&resourceVersion={version}&allowWatchBookmarks=true"
    watches = [server.watch(path) for _ in range(2)]
    for number in range(count):
        server.reply("POST", CONFIG_MAPS, config_map(f"c{number:03}"))
    for watch in watches:  # the second one reads the lines of the first
        parts: list[bytes] = []
        while watch.is_behind and len(parts) < count:
            parts.append(watch.read(server.now_ns))
        assert 1 < len(parts) < count
        lines = b"".join(parts).splitlines()
        names = [json.loads(line)["object"]["metadata"].get("name") for line in lines]
        # A bookmark that is due waits for the changes before it.
        assert names == [*(f"c{number:03}" for number in range(count)), None]
        assert watch.read(server.now_ns) == b""


@pytest.mark.parametrize(
    ("plural", "path", "value"),
    [
        ("deployments", "spec.replicas", 0),
        ("replicasets", "spec.replicas", 0),
        ("statefulsets", "spec.replicas", 0),
        ("daemonsets", f"metadata.annotations.{TEMPLATE_GENERATION}", "0"),
        ("controllerrevisions", "data", None),
    ],
)
def test_the_object_of_a_bookmark_is_an_empty_one_of_the_internal_version(
    server, plural, path, value
):
    watch = server.watch(
        f"/apis/apps/v1/{plural}?watch=true&sendInitialEvents=true"
        "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    )
    ((type_, found),) = server.events(watch)
    assert type_ == "BOOKMARK"
    *names, last = path.split(".", 2)
    for name in names:
        found = found[name]
    assert found[last] == value
