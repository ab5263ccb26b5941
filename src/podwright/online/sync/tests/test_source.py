"""What a source delivers: which kinds, in which order, and what is left out with a warning."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest
from tests.waiting import SECONDS_MAX

from podwright.online.client.cluster import (
    Backoff,
    ChangedObject,
    ClusterAddress,
    Meta,
    ReadConnection,
    RejectedRequest,
    UnreachableCluster,
)
from podwright.online.sync import source
from podwright.online.sync.source import (
    ChangeGroup,
    ChangeMerge,
    Scope,
    Source,
    SourceChange,
)
from podwright.online.sync.source_kinds import (
    SourceKind,
    definition_of,
    later_kinds,
    mirrored_kinds,
    served_kinds,
    source_kinds,
)
from podwright.online.sync.tests.served_cluster import ServedCluster, document, node, pod
from podwright.online.sync.tests.test_cluster_import import DEFINITION


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat what failed after milliseconds."""
    defaults: Any = Backoff.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "first_ns", 1_000_000)


KINDS = {kind.resource: kind for kind in source_kinds(has_workloads=True)}
GROUPS = {kind.api_version: kind for kind in later_kinds((), ())}
COSCHEDULING = GROUPS["scheduling.x-k8s.io/v1alpha1"]


def groups_of(
    served: ServedCluster,
    scope: Scope,
    is_enough: Callable[[list[ChangeGroup]], bool],
    act: Callable[[int], None] = lambda _: None,
) -> tuple[list[ChangeGroup], Source, list[str]]:
    """Follow a cluster until there is enough; `act` is called with the number of each group."""
    found: list[ChangeGroup] = []
    failures: list[str] = []

    async def run() -> Source:
        async with served.serve() as address, ReadConnection(address) as connection:
            each = Source(
                connection, scope, on_failure=lambda kind, _: failures.append(kind), window_ns=1
            )
            groups = each.groups()
            async with asyncio.timeout(SECONDS_MAX):
                async for group in groups:
                    found.append(group)
                    act(len(found))
                    if is_enough(found):
                        break
            await groups.aclose()
            return each

    return found, asyncio.run(run()), failures


def is_listed(found: list[ChangeGroup]) -> bool:
    return found[-1].is_end


def names(group: ChangeGroup) -> list[str]:
    return [each.change.meta.name for each in group.changes]


def test_kinds_are_listed_in_their_order_and_pods_with_a_node_first():
    served = ServedCluster()
    served.create(node("n1"), pod("a"), pod("b", on="n1"), pod("c"), pod("d", on="n1"))
    scope = Scope(kinds=[KINDS["nodes"], KINDS["pods"]])
    found, each, failures = groups_of(served, scope, is_listed)
    listed = [(group.listed and group.listed.resource, names(group)) for group in found]
    assert listed == [("nodes", ["n1"]), ("pods", ["b", "d", "a", "c"]), (None, [])]
    assert all(c.change.event == "Add" and c.change.is_initial for c in found[1].changes)
    assert all(c.kind is KINDS["pods"] and c.received_ns > 0 for c in found[1].changes)
    assert each.is_synced
    assert (each.failures, failures, each.warnings) == (0, [], [])


@pytest.mark.parametrize(
    ("kinds", "selector", "warnings"),
    [
        (["namespaces", "pods"], "", ['there is no namespace "later" yet']),
        (["namespaces", "pods"], "app=web", []),
        (["pods"], "", []),
    ],
    ids=["named", "left out by the selector", "not read"],
)
def test_a_namespace_that_does_not_exist_yet_is_named(kinds, selector, warnings):
    scope = Scope(
        kinds=[KINDS[kind] for kind in kinds], namespaces=["default", "later"], selector=selector
    )
    _, each, _ = groups_of(ServedCluster(), scope, is_listed)
    assert each.warnings == warnings


def test_changes_follow_the_lists():
    served = ServedCluster()
    served.create(pod("a"))

    def act(number: int) -> None:
        if number == 2:
            served.create(pod("b"))
            served.send("DELETE", "/api/v1/namespaces/default/pods/a?gracePeriodSeconds=0")

    found, _, _ = groups_of(
        served,
        Scope(kinds=[KINDS["pods"]]),
        lambda groups: any(each.change.event == "Delete" for each in groups[-1].changes),
        act,
    )
    changes = [each for group in found[2:] for each in group.changes]
    events = [(each.change.event, each.change.meta.name) for each in changes]
    assert (events[0], events[-1]) == (("Add", "b"), ("Delete", "a"))
    assert not any(c.change.is_initial for c in changes)


def test_changes_without_groups_have_an_empty_one_when_all_kinds_are_listed():
    served = ServedCluster()
    served.create(pod("a"))
    found: list[list[str]] = []

    async def run() -> None:
        async with served.serve() as address, ReadConnection(address) as connection:
            each = Source(connection, Scope(kinds=[KINDS["nodes"], KINDS["pods"]]), window_ns=1)
            changes = each.changes()
            async with asyncio.timeout(SECONDS_MAX):
                async for group in changes:
                    found.append([each.change.meta.name for each in group])
                    if len(found) == 2:
                        served.create(pod("b"))
                    if len(found) == 3:
                        break
            await changes.aclose()

    asyncio.run(run())
    assert found == [["a"], [], ["b"]], "no nodes are no changes"


@pytest.mark.parametrize(
    ("kind", "status", "warnings"),
    [
        pytest.param(KINDS["runtimeclasses"], 404, 1, id="the server does not have it"),
        pytest.param(KINDS["runtimeclasses"], 403, 1, id="it may not be read"),
        pytest.param(COSCHEDULING, 404, 0, id="few servers have groups of pods"),
        pytest.param(COSCHEDULING, 403, 1, id="groups that may not be read"),
    ],
)
def test_a_kind_that_cannot_be_read_is_left_out(kind, status, warnings):
    served = ServedCluster()
    served.create(pod("a"))
    served.fail(kind.path(), status, times=9)
    found, each, _ = groups_of(served, Scope(kinds=[kind, KINDS["pods"]]), is_listed)
    assert [group.listed for group in found] == [KINDS["pods"], None]
    assert len(each.warnings) == warnings
    assert all(text.startswith(f"no {kind.name} are followed: ") for text in each.warnings)


def test_a_kind_of_which_one_namespace_may_not_be_read_is_left_out_with_one_warning():
    served = ServedCluster()
    kind = KINDS["poddisruptionbudgets"]
    served.fail("poddisruptionbudgets", 403, times=9)
    scope = Scope(kinds=[kind], namespaces=["a", "b"])
    found, each, _ = groups_of(served, scope, is_listed)
    assert [group.listed for group in found] == [None]
    assert len(each.warnings) == 1


def test_no_namespace_of_a_kind_is_followed_if_one_may_not_be_read():
    served = ServedCluster()
    budget = document("PodDisruptionBudget", "b", "default") | {"apiVersion": "policy/v1"}
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    served.fail("namespaces/b/poddisruptionbudgets", 403, times=9)

    def act(number: int) -> None:
        if number == 2:
            served.send("POST", path, budget)
            served.create(pod("later"))

    kinds = [KINDS["poddisruptionbudgets"], KINDS["pods"]]
    scope = Scope(kinds=kinds, namespaces=["default", "b"])
    found, each, _ = groups_of(served, scope, lambda groups: "later" in names(groups[-1]), act)
    assert [names(group) for group in found] == [[], [], ["later"]]
    assert len(each.warnings) == 1


@pytest.mark.parametrize(
    ("kind", "status"), [(KINDS["pods"], 404), (KINDS["pods"], 403), (KINDS["runtimeclasses"], 401)]
)
def test_a_kind_that_must_be_read_ends_the_sync(kind, status):
    served = ServedCluster()
    served.fail(kind.path(), status, times=9)
    with pytest.raises(RejectedRequest) as error:
        groups_of(served, Scope(kinds=[kind]), is_listed)
    assert error.value.status == status


def test_failed_requests_are_counted_and_reported():
    served = ServedCluster()
    served.create(pod("a"))

    def act(number: int) -> None:
        if number == 2:
            served.fail("WATCH", 500)
            served.cut_watches()
            served.create(pod("b"))

    found, each, failures = groups_of(
        served, Scope(kinds=[KINDS["pods"]]), lambda groups: names(groups[-1]) == ["b"], act
    )
    assert found
    assert each.failures == len(failures) > 0
    assert set(failures) == {"pods"}


def test_groups_of_pods_are_followed_when_the_source_has_them(monkeypatch):
    monkeypatch.setattr(source, "LATER_SECONDS", 0.01)
    served = ServedCluster()
    gang = {"apiVersion": COSCHEDULING.api_version, "kind": "PodGroup"}
    gang["metadata"] = {"name": "g", "namespace": "default"}  # type: ignore[assignment]

    def act(number: int) -> None:
        if number == 2:
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            served.send("POST", path, DEFINITION)
            served.send("POST", COSCHEDULING.path("default"), {**gang, "spec": {"minMember": 2}})
        elif number > 3:
            served.create(pod(f"p{number}"))

    scope = Scope(kinds=[KINDS["pods"]], later=[COSCHEDULING])
    found, each, _ = groups_of(served, scope, lambda groups: names(groups[-1]) == ["p5"], act)
    listed = [(group.listed and group.listed.name, names(group)) for group in found[2:]]
    # The definition precedes what it defines, and neither is listed again.
    assert listed == [
        ("customresourcedefinitions", ["podgroups.scheduling.x-k8s.io"]),
        ("podgroups.scheduling.x-k8s.io", ["g"]),
        (None, ["p4"]),
        (None, ["p5"]),
    ]
    assert each.warnings == []


def held(version: str, received_ns: int) -> SourceChange:
    meta = Meta(name=f"o{version}", resource_version=version)
    return SourceChange(KINDS["nodes"], ChangedObject("Update", meta), received_ns)


def test_a_version_that_is_no_number_leaves_first():
    merge = ChangeMerge(window_ns=10)
    for version in ("7", "x", "3", "x"):
        merge.add(held(version, 0))
    versions = [each.change.meta.resource_version for each in merge.due(10)]
    assert versions == ["x", "x", "3", "7"]
    for version in ("9", "8"):
        merge.add(held(version, 0))
    assert [each.change.meta.resource_version for each in merge.rest()] == ["8", "9"]
    assert (len(merge), merge.rest()) == (0, [])


def test_a_source_that_does_not_answer_at_first_is_an_error():
    async def run() -> None:
        address = ClusterAddress(server="http://127.0.0.1:1")
        async with ReadConnection(address) as connection, asyncio.timeout(SECONDS_MAX):
            async for _ in Source(connection, Scope(kinds=(KINDS["nodes"],))).groups():
                pass

    with pytest.raises(UnreachableCluster):
        asyncio.run(run())


def test_a_source_that_has_answered_before_may_be_starting_again():
    failures: list[str] = []

    async def run() -> None:
        address = ClusterAddress(server="http://127.0.0.1:1")
        async with ReadConnection(address) as connection:
            source = Source(
                connection,
                Scope(kinds=(KINDS["nodes"],)),
                gives_up=False,
                on_failure=lambda name, _: failures.append(name),
            )
            with suppress(TimeoutError):
                async with asyncio.timeout(0.1):
                    async for _ in source.groups():
                        pass

    asyncio.run(run())
    assert set(failures) == {"nodes"}


class Discovery:
    """A server with discovery documents alone."""

    def __init__(self, **documents: Any) -> None:
        self.documents = documents
        self.refused: dict[str, int] = {}

    async def get(self, path: str) -> bytes:
        if path in self.refused:
            raise RejectedRequest("refused", status=self.refused[path])
        return json.dumps(self.documents[path]).encode()


ALL = ["create", "delete", "get", "list", "patch", "update", "watch"]
LEAST = [each for each in ALL if each != "patch"]


def resource(name: str, kind: str, *, namespaced: bool = True, verbs: Sequence[str] = ALL) -> Any:
    return {"name": name, "kind": kind, "namespaced": namespaced, "verbs": verbs}


def discovery() -> Any:
    return Discovery(**{
        "/apis": {"groups": [
            {"preferredVersion": {"groupVersion": "a.io/v2"},
             "versions": [{"groupVersion": "a.io/v1"}, {"groupVersion": "a.io/v2"}]},
            {"preferredVersion": {"groupVersion": "b.io/v1"}},
            {"preferredVersion": {"groupVersion": "down.io/v1"}},
        ]},
        "/api/v1": {"resources": [
            resource("pods", "Pod"), resource("pods/status", "Pod"),
            resource("bindings", "Binding", verbs=["create"]),
            resource("nodes", "Node", namespaced=False),
        ]},
        "/apis/a.io/v1": {"resources": [
            resource("things", "Thing"), resource("olds", "Old", verbs=LEAST),
        ]},
        "/apis/a.io/v2": {"resources": [resource("things", "Thing", namespaced=False)]},
        "/apis/b.io/v1": {"resources": [resource("things", "Thing")]},
    })  # fmt: skip


@pytest.mark.parametrize("status", [404, 503])
def test_served_kinds_are_those_that_can_be_mirrored_in_their_preferred_version(status):
    server = discovery()
    server.refused["/apis/down.io/v1"] = status
    found = asyncio.run(served_kinds(server))
    assert found == [
        SourceKind("v1", "Pod", "pods", is_namespaced=True, is_required=False),
        SourceKind("v1", "Node", "nodes", is_namespaced=False, is_required=False),
        SourceKind("a.io/v2", "Thing", "things", is_namespaced=False, is_required=False),
        SourceKind("a.io/v1", "Old", "olds", is_namespaced=True, is_required=False),
        SourceKind("b.io/v1", "Thing", "things", is_namespaced=True, is_required=False),
    ]


def test_discovery_that_is_forbidden_is_an_error():
    server = discovery()
    server.refused["/apis/down.io/v1"] = 403
    with pytest.raises(RejectedRequest):
        asyncio.run(served_kinds(server))


THING = SourceKind("a.io/v2", "Thing", "things", is_namespaced=False, is_required=False)
POD = SourceKind("v1", "Pod", "pods", is_namespaced=True, is_required=False)
SECRET = SourceKind("v1", "Secret", "secrets", is_namespaced=True, is_required=False)


def test_a_sync_mirrors_what_decisions_depend_on_and_the_groups_that_are_served():
    plain = mirrored_kinds((), [POD, THING])
    assert tuple(plain) == source_kinds(has_workloads=True)
    assert plain[-1].resource == "pods"
    served = [POD, SourceKind(COSCHEDULING.api_version, "PodGroup", "podgroups", True, False)]
    definitions, *others, group, pods = mirrored_kinds((), served)
    assert definitions.resource == "customresourcedefinitions"
    assert list(definitions.names) == ["podgroups.scheduling.x-k8s.io"]
    assert not definitions.is_required
    assert (group, pods) == (COSCHEDULING, KINDS["pods"])
    assert others == list(plain[:-1])
    # What is not served yet is followed later; by names, nothing is.
    assert [kind.api_version for kind in later_kinds((), served)] == ["scheduling.k8s.io/v1alpha2"]
    assert len(later_kinds((), [POD])) == 2
    assert not any(kind.is_required for kind in later_kinds((), [POD]))
    assert later_kinds(("pods",), [POD]) == []


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (("pods", "secrets"), ["secrets", "pods"]),
        (("po", "no"), ["nodes", "pods"]),
        (("things",), ["customresourcedefinitions", "things"]),
        (("pods", "things.a.io"), ["customresourcedefinitions", "things", "pods"]),
        (("things", "things.a.io"), ["customresourcedefinitions", "things"]),
    ],
)
def test_any_kind_of_the_source_can_be_named(chosen, expected):
    found = mirrored_kinds(chosen, [POD, SECRET, THING])
    assert [kind.resource for kind in found] == expected
    assert all(kind.is_required for kind in found if kind.resource != "customresourcedefinitions")
    if "things" in expected:
        assert list(found[0].names) == ["things.a.io"]
        assert found[0] == definition_of(THING)


@pytest.mark.parametrize(
    ("kind", "name", "definition", "is_group", "is_workload", "path"),
    [
        (POD, "pods", "", False, False, "/api/v1/namespaces/a/pods/b"),
        (THING, "things.a.io", "things.a.io", False, False, "/apis/a.io/v2/things/b"),
        (KINDS["services"], "services", "", False, True, "/api/v1/namespaces/a/services/b"),
        (COSCHEDULING, "podgroups.scheduling.x-k8s.io", "podgroups.scheduling.x-k8s.io", True,
         False, "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/a/podgroups/b"),
    ],
)  # fmt: skip
def test_a_kind_knows_its_names(kind, name, definition, is_group, is_workload, path):
    assert (kind.name, kind.definition) == (name, definition)
    assert (kind.is_group, kind.is_workload) == (is_group, is_workload)
    assert kind.path("a", "b") == path


def test_kinds_with_names_are_read_by_them():
    scope = Scope(kinds=(), namespaces=("a",), selector="k=v")
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert scope.collections(definition_of(THING)) == [
        (path, {"fieldSelector": "metadata.name=things.a.io"})
    ]


def test_namespaces_and_names_have_an_object():
    served = ServedCluster()
    served.create(document("Namespace", "team"), node("n1"), node("n2"))
    by_name = SourceKind("v1", "Node", "nodes", False, True, ("n2",))
    found, _, _ = groups_of(served, Scope(kinds=[by_name]), is_listed)
    assert names(found[0]) == ["n2"]


class Behind:
    """A reflector that is behind since a time."""

    def __init__(self, since: float | None) -> None:
        self.behind_since = since


@pytest.mark.parametrize(
    ("since", "received", "is_held"),
    [
        pytest.param([None, None], 99.0, False, id="all are up to date"),
        pytest.param([None, 71.0], 99.0, True, id="one is behind"),
        pytest.param([70.0], 99.0, False, id="so long nothing is held"),
        pytest.param([10.0, None], 99.0, False, id="one that cannot be read any longer"),
        pytest.param([10.0, 99.0], 99.0, True, id="another one is behind since a second"),
        pytest.param([71.0, 99.0], 70.1, True, id="the oldest change is not held for so long yet"),
        pytest.param([71.0, 99.0], 70.0, False, id="kinds that are behind in turns"),
    ],
)
def test_changes_are_held_for_half_a_minute_while_a_kind_is_behind(
    monkeypatch, since, received, is_held
):
    connection: Any = None
    each = Source(connection, Scope(kinds=[]))
    reflectors: list[Any] = [Behind(at) for at in since]
    each._reflectors = reflectors
    for seconds in (received, 99.5):
        change = ChangedObject("Delete", Meta(name="n"))
        each._merge.add(SourceChange(THING, change, int(seconds * 1e9)))
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(time, "monotonic_ns", lambda: 100 * 10**9)
    assert each._is_held() is is_held
