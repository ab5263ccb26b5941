"""The requests and Events that controllers make, whole, and what the loop makes of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Pod, ReplicaSet
from podwright.apimachinery.schema import decode
from podwright.cluster.api import (
    CreateObject,
    DeleteObject,
    RecordEvent,
    Rejection,
    UpdateObject,
)
from podwright.cluster.controllers import controller_loop, subscriptions
from podwright.cluster.controllers.adoption import controller_reference
from podwright.cluster.controllers.batch.job import JobController
from podwright.cluster.controllers.controller_loop import ControllerLoop, Failures
from podwright.cluster.controllers.interface import (
    ALL_KINDS,
    Controller,
    CreationEvents,
    PodChange,
    RejectedWrite,
    ReportedWrite,
    Requests,
    SyncAt,
    SyncDue,
    SyncNext,
)
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.tests.staged_cluster import SECOND, a_pod, document
from podwright.cluster.store import EVENT, POD
from podwright.cluster.store.history import change_of, with_metadata

SET = decode(
    {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "shop", "uid": "set-uid"},
        "status": {"replicas": 1},
    }
)


class Writer(Requests):
    name = "writer"


class Signer(Requests):
    name = "writer"
    event_source = "signer"


def about_set(severity: Any, reason: str, note: str, source: str = "writer") -> RecordEvent:
    return RecordEvent(
        group="apps",
        object_kind="ReplicaSet",
        key="shop/web",
        uid="set-uid",
        type=severity,
        reason=reason,
        note=note,
        source=source,
    )


def test_requests_name_the_controller_the_object_and_what_they_replace() -> None:
    writer, pod = Writer(), with_metadata(a_pod("a", namespace="shop"), uid="pod-uid")
    about_pod = {"group": "", "object_kind": "Pod", "key": "shop/a", "uid": "pod-uid"}
    deletion: dict[str, Any] = about_pod | {"user": "writer"}
    assert [
        writer.create(pod),
        writer.update(pod),
        writer.update(pod, "status"),
        writer.delete(pod),
        writer.delete(pod, grace_seconds=0, propagation="Orphan"),
        writer.sync_at("shop/web", 7),
    ] == [
        CreateObject(obj=pod, user="writer"),
        UpdateObject(obj=pod, scope="main", user="writer"),
        UpdateObject(obj=pod, scope="status", user="writer"),
        DeleteObject(**deletion, grace_seconds=None, propagation=None),
        DeleteObject(**deletion, grace_seconds=0, propagation="Orphan"),
        SyncAt(due_ns=7, event=SyncDue(controller="writer", key="shop/web")),
    ]
    assert writer.delete_pod(SET, pod) == ReportedWrite(
        request=DeleteObject(**deletion),
        succeeded=about_set("Normal", "SuccessfulDelete", "Deleted pod: a"),
        failed=about_set("Warning", "FailedDelete", "Error deleting: "),
    )


def test_events_are_from_the_controller_or_from_its_source() -> None:
    assert [
        Writer().event(SET, "Made", "a note"),
        Writer().warning(SET, "Lost", "a note"),
        Signer().event(SET, "Made", "a note"),
        Signer().warning(SET, "Lost", "a note"),
    ] == [
        about_set("Normal", "Made", "a note"),
        about_set("Warning", "Lost", "a note"),
        about_set("Normal", "Made", "a note", "signer"),
        about_set("Warning", "Lost", "a note", "signer"),
    ]


def test_a_status_is_written_if_it_is_another_one() -> None:
    assert Writer().status_update(SET, {"replicas": 1}) == []
    (update,) = Writer().status_update(SET, {"replicas": 2})
    assert isinstance(update, UpdateObject)
    assert (update.scope, update.user) == ("status", "writer")
    assert update.obj.raw == SET.raw | {"status": {"replicas": 2}}
    assert isinstance(update.obj, ReplicaSet)


# ------------------------------------------------------------------------ reported writes

POD_A = a_pod("a", namespace="shop")
DONE = about_set("Normal", "SuccessfulCreate", "Created")
FAILED = about_set("Warning", "FailedCreate", "Cannot create: ")


def outcome(write: ReportedWrite, **errors: Exception) -> tuple[str, list[str], list[str]]:
    """Return the error, the names of the objects that were written, and the recorded notes."""
    written: list[str] = []
    notes: list[str] = []

    def execute(request: Any) -> Exception | None:
        written.append(request.obj.name)
        return errors.get(request.obj.name)

    error = write.execute(execute, lambda event: notes.append(event.note))
    return "" if error is None else str(error), written, notes


def creation(name: str, **parts: Any) -> ReportedWrite:
    request = CreateObject(a_pod(name, namespace="shop"), "writer")
    done = msgspec.structs.replace(DONE, note=f"Created {name}")
    return ReportedWrite(request, done, **{"failed": FAILED, "name": f"pod {name}", **parts})


def test_the_event_of_a_write_says_what_became_of_it() -> None:
    def rejected(reason: Any, *causes: str) -> Rejection:
        details = [{"reason": cause, "message": ""} for cause in causes]
        return Rejection(409, reason, "it failed", {"causes": details})

    rows: dict[str, tuple[Any, list[str]]] = {
        "accepted": (None, ["Created a"]),
        "forbidden": (rejected("Forbidden"), ["Cannot create: it failed"]),
        "not a rejection": (ValueError("it failed"), ["Cannot create: it failed"]),
        "there already": (rejected("AlreadyExists"), []),
        "another one of the name": (rejected("Conflict"), []),
        "gone already": (rejected("NotFound"), []),
        "of a namespace that goes": (rejected("Forbidden", "NamespaceTerminating"), []),
    }
    for row, (error, notes) in rows.items():
        errors = {} if error is None else {"a": error}
        text = "" if error is None else "it failed"
        assert outcome(creation("a"), **errors) == (text, ["a"], notes), row
    assert outcome(creation("a", failed=None), a=ValueError("x")) == ("x", ["a"], [])


def test_a_write_waits_for_those_that_it_needs() -> None:
    needs = (creation("b"), creation("c", failed=None))
    write = creation("a", needs=needs)
    assert outcome(write) == ("", ["b", "c", "a"], ["Created b", "Created c", "Created a"])
    error = "failed to create pod b: no"
    assert outcome(write, b=ValueError("no")) == (
        error,
        ["b", "c"],
        ["Cannot create: no", "Created c", f"Cannot create: {error}"],
    )
    both = "[failed to create pod b: no, failed to create pod c: never]"
    assert outcome(write, b=ValueError("no"), c=ValueError("never")) == (
        both,
        ["b", "c"],
        ["Cannot create: no", f"Cannot create: {both}"],
    )
    inner = creation("a", needs=(creation("b", needs=(creation("c"),)),))
    assert outcome(inner, c=ValueError("no"))[0] == (
        "failed to create pod b: failed to create pod c: no"
    )


def test_an_owner_gets_an_event_for_each_pod_that_it_expects() -> None:
    events = CreationEvents()

    def notes() -> list[RecordEvent]:
        found = events.events(SET, "writer")
        return [each for each in found if isinstance(each, RecordEvent)]

    events.observe("shop/web", a_pod("early"))
    events.expect("shop/web", 2)
    for name in ("a", "b", "late"):
        events.observe("shop/web", a_pod(name))
    events.observe("shop/other", a_pod("other"))
    assert events.state() == {"expected": {"shop/web": 0}, "created": {"shop/web": ["a", "b"]}}
    assert notes() == [
        about_set("Normal", "SuccessfulCreate", f"Created pod: {name}") for name in ("a", "b")
    ]
    assert notes() == []
    events.expect("shop/web", 2)
    events.observe("shop/web", a_pod("a"))
    assert len(notes()) == 1
    events.observe("shop/web", a_pod("after the sync"))
    assert notes() == []
    events.expect("shop/web", 2)
    events.observe("shop/web", a_pod("a"))
    events.forget("shop/web")
    events.observe("shop/web", a_pod("b"))
    assert events.state() == {"expected": {}, "created": {}}


# ------------------------------------------------------------------------------ the loop


def test_the_time_until_the_next_try_doubles_up_to_a_thousand_seconds() -> None:
    """Upstream: default_rate_limiters.go, NewTypedItemExponentialFailureRateLimiter."""
    failures, item = Failures(), ("writer", "shop/web")
    delays = []
    for _ in range(40):
        failures.begin(item, is_waiting=False)
        due_ns = failures.failed(item, 100, Sleeper.retry_delays_ns)
        assert due_ns is not None
        delays.append(due_ns - 100)
        assert failures.failed(item, 100, Sleeper.retry_delays_ns) is None
    assert delays == [5_000_000 << count for count in range(18)] + [1_000 * SECOND] * 22


@pytest.mark.parametrize(
    ("between", "delay_ns"),
    [
        pytest.param((), 10_000_000, id="it fails again"),
        pytest.param((("writer", "a", False),), 5_000_000, id="it succeeded"),
        pytest.param((("writer", "a", True),), 10_000_000, id="it is tried again later anyway"),
        pytest.param((("writer", "b", False),), 10_000_000, id="another object succeeded"),
        pytest.param((("reader", "a", False),), 10_000_000, id="another controller succeeded"),
    ],
)
def test_only_a_success_of_the_same_item_resets_the_delay(between, delay_ns) -> None:
    failures, item = Failures(), ("writer", "a")
    failures.begin(item, is_waiting=False)
    failures.failed(item, 0, Sleeper.retry_delays_ns)
    for name, key, is_waiting in between:
        failures.begin((name, key), is_waiting=is_waiting)
    failures.begin(item, is_waiting=False)
    assert failures.failed(item, 0, Sleeper.retry_delays_ns) == delay_ns


class Sleeper(Controller):
    """Wishes to be synced again at the times that a test gives."""

    name: Any = "sleeper"
    kinds: Any = (POD,)
    dues: tuple[int, ...] = ()

    def observe(self, old: Any, new: Any) -> Any:
        return (self.latest_of(old, new).key,)

    def sync(self, key: str, now_ns: int) -> Any:
        return [self.sync_at(key, due_ns) for due_ns in self.dues]


@pytest.mark.parametrize(
    ("dues", "now_ns", "requeued"),
    [
        pytest.param((10, 20), 0, [10], id="the earlier one syncs for the later one"),
        pytest.param((10, 10), 0, [10], id="the same time once"),
        pytest.param((20, 10), 0, [20, 10], id="an earlier time replaces a later one"),
        pytest.param((10, 20), 10, [10, 20], id="a time that has come does not count"),
        pytest.param((10, 20), 9, [10], id="the last moment before it"),
    ],
)
def test_an_object_is_synced_again_at_the_earliest_time(dues, now_ns, requeued) -> None:
    loop = ControllerLoop([Sleeper])
    loop.observe([change_of(1, POD, POD_A.key, None, POD_A)])
    Sleeper.dues = dues
    actions: Any = loop.handle(SyncNext(), now_ns)
    assert [each.due_ns for each in actions] == requeued
    assert loop.state().requeue_at == (("sleeper", "shop/a", requeued[-1]),)
    assert loop.handle(SyncDue("sleeper", "shop/a"), requeued[-1] - 1) == []
    assert not loop.has_next
    loop.handle(SyncDue("other", "shop/a"), requeued[-1])
    loop.handle(SyncDue("sleeper", "shop/b"), requeued[-1])
    assert not loop.has_next
    loop.handle(SyncDue("sleeper", "shop/a"), requeued[-1])
    assert loop.state().workqueue == (("sleeper", "shop/a"),)
    assert loop.state().requeue_at == ()


@pytest.mark.parametrize(
    ("since_ns", "now_ns", "due_ns"),
    [
        (0, 0, 5), (7, 7, 12), (0, 4, 5), (0, 5, 15), (0, 34, 35), (0, 35, 75),
        # The intervals grow up to 1,000 seconds.
        (0, 655_354, 655_355), (0, 655_355, 1_310_715), (0, 1_310_715, 2_310_715),
        (0, 2_310_715, 3_310_715), (0, 100_310_714, 100_310_715),
    ],
)  # fmt: skip
def test_the_tries_of_what_fails_have_growing_intervals(since_ns, now_ns, due_ns) -> None:
    milli = SECOND // 1_000
    delays_ns = Sleeper.retry_delays_ns
    found_ns = controller_loop.next_try_ns(since_ns * milli, now_ns * milli, delays_ns)
    assert found_ns == due_ns * milli


def test_controllers_have_names_of_their_own_and_retries_need_a_report() -> None:
    with pytest.raises(AssertionError, match="duplicate sleeper"):
        ControllerLoop([Sleeper, Sleeper])
    silent = ControllerLoop([Sleeper])
    reporting = ControllerLoop([Sleeper], report_failure=lambda *_: None)
    found = [(each.runs(name), each.retries(name)) for each in (silent, reporting)
             for name in ("sleeper", "other")]  # fmt: skip
    assert found == [(True, False), (False, False), (True, True), (False, False)]
    assert Sleeper.retry_delays_ns == (SECOND // 200, 1_000 * SECOND)
    assert JobController.retry_delays_ns == (SECOND, 60 * SECOND)


def test_changes_of_a_store_reach_the_lister_before_the_controllers() -> None:
    seen: list[Any] = []

    class Reader(Sleeper):
        name = "reader"

        def observe(self, old: Any, new: Any) -> Any:
            key = self.latest_of(old, new).key
            seen.append((old, new, self._lister.get(POD, key)))
            return ()

    loop = ControllerLoop([Reader])
    second = with_metadata(POD_A, resource_version="2")
    loop.observe(
        [
            change_of(1, POD, "shop/a", None, POD_A),
            change_of(2, POD, "shop/a", POD_A, second),
            change_of(3, POD, "shop/a", second, None),
        ]
    )
    assert seen == [(None, POD_A, POD_A), (POD_A, second, second), (second, None, None)]


# ------------------------------------------------------------------------- who observes what


class Named(Sleeper):
    """A controller with given attributes."""


def subscribers(made: dict[str, dict[str, Any]], old: Any, new: Any) -> list[tuple[str, Any]]:
    makers = [
        type(name, (Named,), {"name": name, "dues": ()} | fields) for name, fields in made.items()
    ]
    found = subscriptions.Subscriptions(each(Lister()) for each in makers)
    return [(name, waits) for name, _, waits in found.of(POD, old, new)]


WITH_VOLUME = a_pod("a", volumes=[{"name": "v", "emptyDir": {}}])
WITH_CLAIM = a_pod("a", resourceClaims=[{"name": "c", "resourceClaimName": "c"}])


def ended(pod: Pod, **status: Any) -> Any:
    raw = pod.raw | {"status": {"phase": "Succeeded", **status}}
    return decode(raw, source="test")


EXTENDED = {"extendedResourceClaimStatus": {"resourceClaimName": "c", "requestMappings": []}}
PENDING_EXTENDED = decode(a_pod("a").raw | {"status": {"phase": "Pending", **EXTENDED}})


def test_controllers_observe_the_changes_of_pods_that_they_select() -> None:
    waiting = {"some": "work"}
    made: dict[str, dict[str, Any]] = {
        "everything": {"kinds": (ALL_KINDS,)},
        "nodes": {"kinds": (("", "Node"),)},
        "pods": {},
        "ends": {"pod_changes": PodChange.TERMINAL},
        "additions": {"pod_changes": PodChange.ADDED | PodChange.DELETED},
        "volumes": {"only_with_volumes": True},
        "devices": {"only_with_devices": True},
        "sets": {"owner_kind": "ReplicaSet"},
        "work": {"pending_work": waiting},
    }
    plain = a_pod("a")
    owner = {"apiVersion": "apps/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    of_job = a_pod("a", owners=[owner])
    rows: dict[str, tuple[Any, Any, str]] = {
        "added": (None, plain, "pods additions sets work everything"),
        "removed": (plain, None, "pods additions sets work everything"),
        "unchanged": (plain, plain, "pods sets work everything"),
        "ended": (plain, ended(plain), "pods ends sets work everything"),
        "with a volume": (WITH_VOLUME, WITH_VOLUME, "pods volumes sets work everything"),
        "with a claim": (WITH_CLAIM, WITH_CLAIM, "pods devices sets work everything"),
        "ended with an extended claim": (
            PENDING_EXTENDED, ended(plain, **EXTENDED), "pods ends devices sets work everything",
        ),
        "with an extended claim": (
            PENDING_EXTENDED, PENDING_EXTENDED, "pods sets work everything",
        ),
        "of a job": (of_job, of_job, "pods work everything"),
        "of a job, removed": (of_job, None, "pods additions work everything"),
        "released": (of_job, plain, "pods sets work everything"),
    }  # fmt: skip
    for row, (old, new, names) in rows.items():
        found = subscribers(made, old, new)
        assert " ".join(name for name, _ in found) == names, row
        # Only a removal is observed whether or not there is work.
        expected = None if new is None else waiting
        assert dict(found)["work"] == expected, row


def test_orphans_are_observed_for_adopters_or_for_work() -> None:
    owners, work = {"shop": "web"}, {"some": "work"}
    owner = {"apiVersion": "v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
    orphan, owned = a_pod("a"), a_pod("a", owners=[owner])
    made = {
        "adopts": {"adopters": owners},
        "both": {"adopters": owners, "pending_work": work},
        "works": {"pending_work": work},
    }
    assert subscribers(made, None, orphan) == [
        ("adopts", owners),
        ("both", owners),
        ("works", work),
    ]
    assert subscribers(made, None, owned) == [("adopts", None), ("both", work), ("works", work)]
    assert subscribers(made, orphan, owned) == [("adopts", None), ("both", work), ("works", work)]
    assert subscribers(made, owned, None) == [("adopts", None), ("both", None), ("works", None)]


def in_memory(pod: Pod, **changes: Any) -> Pod:
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, **changes))


def test_each_part_of_the_metadata_is_a_change_of_it() -> None:
    pod = a_pod("a")
    rows: dict[str, Any] = {
        "labels": {"a": "b"},
        "annotations": {"a": "b"},
        "owner_references": (),
        "finalizers": ("x",),
        "deletion_timestamp": "2026-01-01T00:00:00Z",
        "deletion_grace_period_seconds": 0,
        "generation": 9,
        "uid": "another",
        "creation_timestamp": "2026-01-01T00:00:00Z",
    }
    base = in_memory(pod, owner_references=(controller_reference(SET),))
    for field, value in rows.items():
        changed = in_memory(base, **{field: value})
        found = PodChange(subscriptions.differences(base, changed))
        assert found == PodChange.METADATA, field
    for field in ("name", "namespace", "resource_version", "generate_name"):
        assert not subscriptions.differences(base, in_memory(base, **{field: "x"})), field


@pytest.mark.parametrize(
    ("before", "after", "is_ready_change", "is_target"),
    [
        pytest.param([], ["Ready=False"], True, False, id="added"),
        pytest.param([], ["DisruptionTarget=True"], False, True, id="a target"),
        pytest.param(["DisruptionTarget=True"], [], False, False, id="no target any more"),
        pytest.param(["Other=True"], ["Other=False"], False, False, id="another one"),
        pytest.param(
            ["Ready=True"], ["Ready=True", "Ready=False"], False, False, id="the first counts"
        ),
        pytest.param(
            ["Other=True", "Ready=True"], ["DisruptionTarget=True", "Ready=False"], True, True,
            id="both",
        ),
    ],
)  # fmt: skip
def test_changes_of_conditions(before, after, is_ready_change, is_target) -> None:
    def pod(conditions: list[str]) -> Pod:
        pairs = [each.split("=") for each in conditions]
        status = {"conditions": [{"type": kind, "status": value} for kind, value in pairs]}
        found = document("Pod", "a", namespace="shop", status=status)
        assert isinstance(found, Pod)
        return found

    old, new = pod(before), pod(after)
    new = msgspec.structs.replace(old, status=new.status)
    found = PodChange(subscriptions.differences(old, new))
    expected = PodChange.STATUS
    expected |= PodChange.READY if is_ready_change else PodChange(0)
    expected |= PodChange.DISRUPTION_TARGET if is_target else PodChange(0)
    assert found == expected


# ------------------------------------------------------------------------------ the lister


def test_events_have_nothing_but_a_name() -> None:
    lister = Lister()
    event = document("Event", "e", namespace="shop")
    assert lister.kinds() == []
    assert lister.put(event) is None
    lister.put(event)
    lister.add_event("other/f")
    lister.put(POD_A)
    assert lister.kinds() == [("", "Event"), ("", "Pod")]
    assert list(lister.all(EVENT)) == ["other/f", "shop/e"]
    assert [lister.count_in_namespace(EVENT, each) for each in ("shop", "other", "x")] == [1, 1, 0]
    assert list(lister.in_namespace(EVENT, "shop")) == ["shop/e"]
    found: Any = lister.get(EVENT, "shop/e")
    assert (found.api_version, found.kind, found.name, found.namespace) == (
        "v1", "Event", "e", "shop",
    )  # fmt: skip
    assert lister.get(EVENT, "shop/x") is None
    assert len(lister.all(EVENT)) == 2
    lister.delete(event)
    assert list(lister.all(EVENT)) == ["other/f"]


@pytest.mark.parametrize("has_namespaces", [True, False])
def test_namespaces_are_counted_for_each_kind(has_namespaces) -> None:
    lister = Lister(has_namespaces=has_namespaces)
    for name, namespace in (("a", "shop"), ("b", "shop"), ("a", "other")):
        lister.put(a_pod(name, namespace=namespace))
    lister.put(document("ConfigMap", "a", namespace="shop"))
    lister.put(document("Node", "n"))

    def counts() -> list[int]:
        return [
            lister.count_in_namespace(kind, namespace)
            for kind in (POD, ("", "ConfigMap"), ("", "Node"))
            for namespace in ("shop", "other", "")
        ]

    assert counts() == [2, 1, 0, 1, 0, 0, 0, 0, 1]
    lister.delete(a_pod("a", namespace="shop"))
    assert counts() == [1, 1, 0, 1, 0, 0, 0, 0, 1]
    assert lister.delete(a_pod("never", namespace="shop")) is None
    assert lister.orphans(POD, "shop") == lister.in_namespace(POD, "shop")


def test_a_rejected_write_is_reported_and_not_raised() -> None:
    assert str(RejectedWrite("because")) == "because"
