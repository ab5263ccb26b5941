"""Bindings, evictions and deletions of single pods: whole pods, whole messages, exact sizes."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document, Pod, encode
from podwright.apimachinery.schema import decode
from podwright.cluster.api.deletion import DeleteOptions, deletion, is_released, propagation_of
from podwright.cluster.api.pods.binding import (
    Binding,
    binding_problem,
    bound,
    with_probe_times,
)
from podwright.cluster.api.pods.eviction import (
    DISRUPTED_PODS_MAX,
    VIOLATION,
    Eviction,
    decide_eviction,
)
from podwright.cluster.api.pods.qos import qos_class
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.resource_storage import ResourceStorage
from podwright.cluster.api.stages.pod_requests import (
    announce_eviction,
    bind,
    charge_budget,
    check_binding,
    check_name,
    read_binding,
    read_options,
)
from podwright.cluster.api.stages.tests.writes import NOW, NOW_NS, parts, sent_write
from podwright.cluster.api.stages.write import Profile, StatusWrites, Write
from podwright.cluster.api.stored_sizes import protobuf_size
from podwright.cluster.api.strategies.kinds import strategy_of
from podwright.cluster.api.tests.test_eviction import EXHAUSTED, a_budget, a_web_pod
from podwright.cluster.store import NAMESPACE, POD, ObjectStore
from podwright.testing import make_pod


def a_pod(metadata: Document | None = None, **parts: Any) -> Pod:
    own = {"name": "p", "namespace": "default", "uid": "u", "resourceVersion": "7"}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": own | (metadata or {})}
    made = decode(document | {"spec": {"containers": [{"name": "c", "image": "i"}]}} | parts)
    assert isinstance(made, Pod)
    return made


# ------------------------------------------------------------------------------ binding


@pytest.mark.parametrize(
    ("sent", "binding"),
    [
        (
            {"target": {"kind": "Node", "name": "n"}},
            Binding(node="n"),
        ),
        ({"target": {"name": "n"}, "metadata": None}, Binding(node="n")),
        (
            {
                "target": {"name": "n"},
                "metadata": {
                    "uid": "u", "resourceVersion": "3", "labels": {"a": "1"},
                    "annotations": {"b": "2"},
                },
            },
            Binding(node="n", uid="u", version="3", labels={"a": "1"}, annotations={"b": "2"}),
        ),
        (
            {"target": {"kind": "Pod", "name": "n"}},
            'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
        ),
        ({"target": {"kind": "Node"}}, "target.name: Required value"),
        ({"target": None}, "target.name: Required value"),
        (
            {"target": {"kind": "Pod"}},
            '[target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>",'
            " target.name: Required value]",
        ),
    ],
)  # fmt: skip
def test_what_a_binding_sets(sent: Document, binding: Binding | str) -> None:
    write = sent_write("v1 Binding", sent)
    if isinstance(binding, str):
        with pytest.raises(Rejection) as error:
            read_binding(parts(), write)
        assert (error.value.status["code"], error.value.status["message"]) == (500, binding)
    else:
        read_binding(parts(), write)
        assert write.body == binding


def test_a_name_that_is_no_part_of_a_path() -> None:
    write = sent_write("v1 Pod", {})
    for name, message in (
        ("p", None),
        ("..", "may not be '..'"),
        (".", "may not be '.'"),
        ("a/b", "may not contain '/'"),
        ("a%/b", "may not contain '/';may not contain '%'"),
    ):
        write.attributes.name = name
        if message is None:
            check_name(parts(), write)
            continue
        with pytest.raises(Rejection) as error:
            check_name(parts(), write)
        assert error.value.status["message"] == f'Name parameter invalid: "{name}": {message}'


def precondition(field: str, sent: str, stored: str, start: str = "/registry") -> str:
    return (
        f'Operation cannot be fulfilled on pods "p": StorageError: invalid object, Code: 4, Key:'
        f" {start}/pods/default/p, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed:"
        f" {field} in precondition: {sent}, {field} in object meta: {stored}"
    )


CONFLICT = 'Operation cannot be fulfilled on pods/binding "p": '


@pytest.mark.parametrize(
    ("pod", "binding", "facts", "message"),
    [
        (a_pod(), {}, {}, None),
        (a_pod(), {"uid": "u", "version": "7"}, {}, None),
        (a_pod(), {"uid": "v"}, {}, precondition("UID", "v", "u")),
        (a_pod(), {"uid": "v"}, {"is_dry_run": True}, precondition("UID", "v", "u", "")),
        (a_pod(), {"version": "8"}, {}, precondition("ResourceVersion", "8", "7")),
        (a_pod(), {"uid": "v", "version": "8"}, {}, precondition("UID", "v", "u")),
        (
            a_pod({"deletionTimestamp": NOW}), {}, {},
            f"{CONFLICT}pod p is being deleted, cannot be assigned to a host",
        ),
        (
            a_pod(spec={"nodeName": "m"}), {}, {},
            f'{CONFLICT}pod p is already assigned to node "m"',
        ),
        (
            a_pod(spec={"schedulingGates": [{"name": "g"}]}), {}, {},
            f"{CONFLICT}pod p has non-empty .spec.schedulingGates",
        ),
        (
            a_pod({"deletionTimestamp": NOW}, spec={"nodeName": "m"}), {}, {},
            f"{CONFLICT}pod p is being deleted, cannot be assigned to a host",
        ),
        (a_pod({"deletionTimestamp": NOW}), {"uid": "v"}, {}, precondition("UID", "v", "u")),
    ],
)  # fmt: skip
def test_why_a_binding_is_rejected(
    pod: Pod, binding: Document, facts: Document, message: str | None
) -> None:
    body = Binding(node="n", **binding)
    for found in (
        binding_problem(pod, body, **facts),
        check_binding(parts(), Write(now_ns=NOW_NS, body=body, current=pod, **facts)),
    ):
        assert (None if found is None else found.status["message"]) == message
        assert found is None or found.status["code"] == 409


SCHEDULED = {"type": "PodScheduled", "status": "True", "lastTransitionTime": NOW}


@pytest.mark.parametrize(
    ("pod", "binding", "in_go_form", "made"),
    [
        (
            a_pod(status={"phase": "Pending"}), {}, False,
            {"status": {"phase": "Pending", "conditions": [SCHEDULED]}},
        ),
        (
            a_pod(
                {"labels": {"a": "1", "b": "2"}, "annotations": {"x": "1", "y": "2"}},
                status={"phase": "Pending", "nominatedNodeName": "m",
                        "conditions": [{"type": "PodScheduled", "status": "False",
                                        "reason": "Unschedulable", "message": "no"}]},
            ),
            {"labels": {"b": "3"}, "annotations": {"y": "3", "z": "4"}}, True,
            {
                "metadata": {"labels": {"a": "1", "b": "3"},
                             "annotations": {"x": "1", "y": "3", "z": "4"}},
                "status": {"phase": "Pending", "conditions": [
                    {"type": "PodScheduled", "status": "True", "lastProbeTime": None,
                     "lastTransitionTime": NOW},
                ]},
            },
        ),
        (
            a_pod({"annotations": None}), {"annotations": {"y": "3"}}, False,
            {"metadata": {"annotations": {"y": "3"}}, "status": {"conditions": [SCHEDULED]}},
        ),
    ],
)  # fmt: skip
def test_a_bound_pod(pod: Pod, binding: Document, made: Document, *, in_go_form: bool) -> None:
    before = encode(pod)
    body = Binding(node="n", **binding)
    found = bound(pod, body, now_ns=NOW_NS, version=9, in_go_form=in_go_form)
    assert found.raw == before | made | {
        "metadata": before["metadata"] | {"resourceVersion": "9"} | made.get("metadata", {}),
        "spec": before["spec"] | {"nodeName": "n"},
    }
    assert (found.spec.node_name, found.metadata.resource_version) == ("n", "9")
    assert dict(found.metadata.labels) == found.raw["metadata"].get("labels", {})
    assert [each.status for each in found.status.conditions] == ["True"]
    assert found.status.nominated_node_name == ""
    assert encode(pod) == before
    # The same status at another time, and in another form.
    later = bound(pod, body, now_ns=NOW_NS + 10**9, version=10, in_go_form=in_go_form)
    assert later.raw["status"]["conditions"][-1]["lastTransitionTime"] == "2026-01-01T00:00:01Z"
    other = bound(pod, body, now_ns=NOW_NS, version=9, in_go_form=not in_go_form)
    has_probe_time = "lastProbeTime" in other.raw["status"]["conditions"][-1]
    assert has_probe_time is not in_go_form


def test_probe_times_follow_the_status_of_a_condition() -> None:
    conditions = [
        {"lastTransitionTime": NOW, "status": "True", "type": "A", "observedGeneration": 2},
        {"type": "B", "status": "False", "lastProbeTime": NOW, "reason": "R"},
    ]
    found = with_probe_times(a_pod(status={"conditions": conditions})).raw["status"]["conditions"]
    assert [list(each) for each in found] == [
        ["type", "observedGeneration", "status", "lastProbeTime", "lastTransitionTime"],
        ["type", "status", "lastProbeTime", "reason"],
    ]
    assert [each["lastProbeTime"] for each in found] == [None, NOW]


def test_a_pod_is_bound_in_the_form_of_the_cluster() -> None:
    for in_go_form in (False, True):
        for is_dry_run in (True, False):
            store = ObjectStore()
            current = store.put(make_pod("p")).object
            profile = Profile(name="x", in_go_form=in_go_form)
            write = Write(
                now_ns=NOW_NS, body=Binding(node="n"), current=current, is_dry_run=is_dry_run
            )
            assert bind(parts(store, profile=profile), write) is None
            assert write.stored is not None
            condition = write.stored.object.raw["status"]["conditions"][-1]
            assert ("lastProbeTime" in condition) is in_go_form
            stored = store.require(POD, current.key)
            assert stored.raw["spec"].get("nodeName") == (None if is_dry_run else "n")


# ------------------------------------------------------------------------------ eviction


@pytest.mark.parametrize(
    ("budgets", "message", "causes", "retry_seconds"),
    [
        (
            [a_budget(generation=2)], VIOLATION,
            "The disruption budget b is still being processed by the server.", 10,
        ),
        (
            [a_budget(**EXHAUSTED, currentHealthy=2)], VIOLATION,
            "The disruption budget b needs 2 healthy pods and has 2 currently", None,
        ),
        (
            [a_budget(**EXHAUSTED)], VIOLATION,
            "The disruption budget b does not allow evicting pods currently", None,
        ),
        (
            [a_budget(disruptionsAllowed=-1)],
            'poddisruptionbudget.policy "b" is forbidden: pdb disruptions allowed is'
            " negative",
            None, None,
        ),
        (
            [a_budget(disruptedPods={f"p{n}": NOW for n in range(DISRUPTED_PODS_MAX + 1)})],
            'poddisruptionbudget.policy "b" is forbidden: DisruptedPods map too big - too'
            " many evictions not confirmed by PDB controller",
            None, None,
        ),
        (
            [a_budget("a"), a_budget("b")],
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does"
            " not support.",
            None, None,
        ),
    ],
)  # fmt: skip
def test_why_an_eviction_is_rejected(
    budgets: Any, message: str, causes: str | None, retry_seconds: int | None
) -> None:
    pod = a_web_pod()
    found = decide_eviction(pod, budgets, NOW_NS)
    assert isinstance(found, Rejection)
    assert found.status["message"] == message.format(name=pod.name)
    details = found.status.get("details") or {}
    assert details.get("retryAfterSeconds") == retry_seconds
    assert [each["message"] for each in details.get("causes", ())] == ([causes] if causes else [])
    assert [each["reason"] for each in details.get("causes", ())] == (
        ["DisruptionBudget"] if causes else []
    )


def test_what_an_eviction_writes_to_its_budget() -> None:
    pod = a_web_pod()
    other = {"type": "X", "status": "True"}
    old = {"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods"}
    for allowed, left, conditions in (
        (2, 1, [old, other]),
        (
            1, 0,
            [{
                "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods",
                "message": "", "lastTransitionTime": NOW, "observedGeneration": 1,
            }, other],
        ),
    ):  # fmt: skip
        budget = a_budget(
            disruptionsAllowed=allowed, conditions=[old, other], disruptedPods={"q": NOW}
        )
        found = decide_eviction(pod, [budget], NOW_NS)
        assert not isinstance(found, Rejection)
        assert found is not None
        assert encode(found)["status"] == encode(budget)["status"] | {
            "disruptionsAllowed": left,
            "disruptedPods": {"q": NOW, pod.name: NOW},
            "conditions": conditions,
        }


def evicting(store: ObjectStore, pod: Any, body: Any, **facts: Any) -> tuple[Any, Write]:
    storage = ResourceStorage(store)
    served = parts(store, storage=storage, server_status=StatusWrites(storage))
    return served, Write(now_ns=NOW_NS, body=body, kind=POD, current=pod, **facts)


def eviction(**facts: Any) -> Eviction:
    return Eviction(read_options=lambda: DeleteOptions(uid="u", resource_version="3"), **facts)


def test_a_charged_budget_is_stored_unless_nothing_is() -> None:
    for is_dry_run, left in ((True, 1), (False, 0)):
        store = ObjectStore()
        pod = store.put(a_web_pod()).object
        budget = store.put(a_budget()).object
        served, write = evicting(store, pod, eviction(), is_dry_run=is_dry_run)
        assert charge_budget(served, write) is None
        kept = store.require(("policy", "PodDisruptionBudget"), budget.key).raw["status"]
        assert kept["disruptionsAllowed"] == left
    store = ObjectStore()
    pod = store.put(a_web_pod()).object
    store.put(a_budget(**EXHAUSTED))
    served, write = evicting(store, pod, eviction())
    found = charge_budget(served, write)
    assert found is not None
    assert found.code == 429


def test_an_eviction_is_announced_before_the_deletion() -> None:
    store = ObjectStore()
    pod = store.put(a_web_pod()).object
    for facts, is_dry_run, is_rejected in (
        ({}, True, False),
        ({"uid": "x"}, True, False),
        ({"uid": "x"}, False, True),
        ({"version": "999"}, False, True),
        ({"version": pod.metadata.resource_version, "uid": pod.uid}, False, False),
    ):
        current = store.require(POD, pod.key)
        served, write = evicting(store, current, eviction(**facts), is_dry_run=is_dry_run)
        found = announce_eviction(served, write)
        assert (found is not None) is is_rejected, facts
        conditions = store.require(POD, pod.key).raw["status"]["conditions"]
        targets = [each for each in conditions if each["type"] == "DisruptionTarget"]
        if is_dry_run or is_rejected:
            assert targets == []
            assert write.current is current
        else:
            assert targets == [
                {
                    "type": "DisruptionTarget", "status": "True",
                    "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
                    "lastTransitionTime": NOW,
                }
            ]  # fmt: skip
            assert write.current is store.require(POD, pod.key)


def test_the_options_of_an_eviction_lose_the_version_that_the_condition_changed() -> None:
    for is_dry_run, version in ((True, "3"), (False, None)):
        _, write = evicting(ObjectStore(), None, eviction(), is_dry_run=is_dry_run)
        assert read_options(parts(), write) is None
        assert write.body == DeleteOptions(uid="u", resource_version=version)


# ------------------------------------------------------------------------------ deletion


DELETED = {"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 30}


def effect(kind: Any, metadata: Document, *, seconds: int | None = None, **facts: Any) -> Any:
    """Return the metadata of the marked object, and whether it is removed."""
    names = {("", "Pod"): "v1 Pod", ("", "ConfigMap"): "v1 ConfigMap", NAMESPACE: "v1 Namespace"}
    version, name = names[kind].split(" ")
    own = {"name": "a"} | ({} if kind == NAMESPACE else {"namespace": "default"})
    document = {"apiVersion": version, "kind": name, "metadata": own | metadata}
    propagation = facts.pop("propagation", None)
    current = decode(document | facts)
    found = deletion(
        kind, current, strategy=strategy_of(kind), version=9, now_ns=NOW_NS,
        grace_seconds=seconds, propagation=propagation,
    )  # fmt: skip
    assert current.raw["metadata"] == own | metadata, "the stored object does not change"
    marked = None if found.marked is None else dict(found.marked.raw["metadata"])
    if marked is not None and found.marked is not None:
        assert found.marked.metadata.deletion_timestamp == marked["deletionTimestamp"]
        assert found.marked.metadata.deletion_grace_period_seconds == marked.get(
            "deletionGracePeriodSeconds"
        )
        for key in own:
            del marked[key]
        assert marked.pop("resourceVersion") == "9"
    return marked, found.is_removed


def until(second: int, period: int, **more: Any) -> Document:
    time = f"2026-01-01T00:00:{second:02}Z"
    return {"deletionTimestamp": time, "deletionGracePeriodSeconds": period} | more


BOUND: Document = {"spec": {"nodeName": "n"}}


@pytest.mark.parametrize(
    ("metadata", "facts", "marked", "is_removed"),
    [
        ({}, BOUND, until(30, 30), False),
        ({}, BOUND | {"seconds": 5}, until(5, 5), False),
        ({}, BOUND | {"seconds": -1}, until(1, 1), False),
        ({}, BOUND | {"seconds": 0}, until(0, 0), True),
        ({}, {"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 7}}, until(7, 7), False),
        (
            {}, {"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 7}, "seconds": 9},
            until(9, 9), False,
        ),
        ({}, {}, until(0, 0), True),
        ({}, {"seconds": 9}, until(0, 0), True),
        ({}, BOUND | {"status": {"phase": "Failed"}}, until(0, 0), True),
        ({}, BOUND | {"status": {"phase": "Succeeded"}, "seconds": 9}, until(0, 0), True),
        ({"generation": 2}, BOUND, until(30, 30, generation=3), False),
        ({"generation": 0}, BOUND, until(30, 30, generation=0), False),
        ({"finalizers": ["f"]}, BOUND | {"seconds": 0}, until(0, 0, finalizers=["f"]), False),
        # Another deletion shortens the period only.
        (until(30, 30), BOUND, None, False),
        (until(30, 30), BOUND | {"seconds": 30}, None, False),
        (until(30, 30), BOUND | {"seconds": 31}, None, False),
        (until(30, 30), BOUND | {"seconds": 10}, until(10, 10), False),
        (until(20, 30), BOUND | {"seconds": 10}, until(0, 10), False),
        (until(59, 30), BOUND | {"seconds": -1}, until(30, 1), False),
        (until(30, 30, generation=4), BOUND | {"seconds": 0}, until(0, 0, generation=4), True),
        (until(1, 1), BOUND | {"seconds": -1}, None, False),
        # A period that would have ended already is a second, and ends now.
        (until(10, 30), BOUND | {"seconds": 10}, until(0, 1), False),
        (until(10, 30), BOUND | {"seconds": 0}, until(0, 0), True),
        (until(10, 30), BOUND | {"seconds": -1}, until(0, 1), False),
        ({"deletionTimestamp": NOW}, BOUND, None, True),
        (
            {"deletionTimestamp": "2026-01-01T00:00:09Z", "finalizers": ["f"], "generation": 4},
            BOUND, until(0, 0, finalizers=["f"], generation=4), False,
        ),
        # It waits for its finalizers only.
        (until(0, 0, finalizers=["f"]), BOUND | {"seconds": 0}, None, False),
        (until(0, 0), BOUND, None, True),
        (
            {"finalizers": ["f"]}, BOUND | {"propagation": "Foreground"},
            until(30, 30, finalizers=["f", "foregroundDeletion"]), False,
        ),
        (
            {"finalizers": ["orphan", "f"]}, BOUND | {"propagation": "Background"},
            until(30, 30, finalizers=["f"]), False,
        ),
    ],
)  # fmt: skip
def test_the_deletion_of_a_pod(
    metadata: Document, facts: Document, marked: Document | None, *, is_removed: bool
) -> None:
    assert effect(POD, metadata, **facts) == (marked, is_removed)


@pytest.mark.parametrize(
    ("metadata", "propagation", "marked", "is_removed"),
    [
        ({}, None, None, True),
        ({}, "Background", None, True),
        ({}, "Orphan", until(0, 0, finalizers=["orphan"]), False),
        ({}, "Foreground", until(0, 0, finalizers=["foregroundDeletion"]), False),
        ({"finalizers": ["f"]}, None, until(0, 0, finalizers=["f"]), False),
        ({"finalizers": ["orphan"]}, "Background", None, True),
        (
            {"finalizers": ["orphan", "f"]}, "Foreground",
            until(0, 0, finalizers=["f", "foregroundDeletion"]), False,
        ),
        ({"finalizers": ["orphan"]}, "Orphan", until(0, 0, finalizers=["orphan"]), False),
        (
            {"finalizers": ["f"], "generation": 3}, None,
            until(0, 0, finalizers=["f"], generation=4), False,
        ),
        (until(0, 0, finalizers=["f"], generation=4), None, None, False),
        (
            {"deletionTimestamp": NOW, "finalizers": ["f"], "generation": 4}, None,
            until(0, 0, finalizers=["f"], generation=4), False,
        ),
        (
            until(9, 0, finalizers=["f"]), "Orphan", until(0, 0, finalizers=["f", "orphan"]), False,
        ),
    ],
)  # fmt: skip
def test_the_deletion_of_another_object(
    metadata: Document, propagation: Any, marked: Document | None, *, is_removed: bool
) -> None:
    found = effect(("", "ConfigMap"), metadata, propagation=propagation)
    assert found == (marked, is_removed)


@pytest.mark.parametrize(
    ("metadata", "finalizers", "marked", "is_removed"),
    [
        ({}, ["kubernetes"], {"deletionTimestamp": NOW}, False),
        ({}, [], {"deletionTimestamp": NOW}, False),
        ({"deletionTimestamp": NOW}, ["kubernetes"], None, False),
        ({"deletionTimestamp": NOW}, [], None, True),
        ({"deletionTimestamp": NOW, "finalizers": ["f"]}, [], None, False),
        ({"generation": 1}, [], {"deletionTimestamp": NOW, "generation": 2}, False),
    ],
)
def test_the_deletion_of_a_namespace(
    metadata: Document, finalizers: list[str], marked: Document | None, *, is_removed: bool
) -> None:
    status = {"phase": "Terminating" if "deletionTimestamp" in metadata else "Active"}
    spec = {"finalizers": finalizers}
    found = effect(NAMESPACE, metadata, spec=spec, status=status)
    assert found == (marked, is_removed)


def test_an_update_that_removes_the_last_finalizer() -> None:
    def of(kind: str, metadata: Document, **parts: Any) -> Any:
        document = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"} | metadata}
        return decode(document | parts)

    kind = ("", "ConfigMap")
    for before, after, is_last in (
        ({}, {}, False),
        (DELETED, {}, False),
        (until(0, 0, finalizers=["f"]), {}, True),
        (until(0, 0, finalizers=["f"]), {"finalizers": ["g"]}, False),
        ({"deletionTimestamp": NOW}, {}, True),
    ):
        found = is_released(kind, of("ConfigMap", before), of("ConfigMap", after))
        assert found is is_last, (before, after)
    for spec, is_last in (({"finalizers": ["kubernetes"]}, False), ({}, True), (None, True)):
        before = of("Namespace", {"deletionTimestamp": NOW})
        after = of("Namespace", {"deletionTimestamp": NOW}, spec=spec)
        assert is_released(NAMESPACE, before, after) is is_last


@pytest.mark.parametrize(
    ("kind", "finalizers", "options", "found"),
    [
        (("", "Pod"), [], {}, None),
        (("", "Pod"), [], {"propagation": "Foreground"}, "Foreground"),
        (("", "Pod"), [], {"orphans": True}, "Orphan"),
        (("", "Pod"), [], {"orphans": False}, "Background"),
        (("", "Pod"), [], {"propagation": "Orphan", "orphans": False}, "Orphan"),
        (("", "Event"), [], {"propagation": "Foreground"}, None),
        (("events.k8s.io", "Event"), [], {"orphans": True}, None),
        (("batch", "Job"), [], {}, "Orphan"),
        (("batch", "Job"), ["f"], {}, "Orphan"),
        (("batch", "Job"), ["orphan"], {}, None),
        (("batch", "Job"), ["foregroundDeletion"], {}, None),
        (("batch", "Job"), [], {"propagation": "Background"}, "Background"),
    ],
)
def test_what_happens_to_dependents(
    kind: Any, finalizers: list[str], options: Document, found: str | None
) -> None:
    current = a_pod({"finalizers": finalizers})
    assert propagation_of(kind, current, DeleteOptions(**options)) == found


# ------------------------------------------------------------------------- quality, sizes


def of_amounts(*each: tuple[Document, Document]) -> Document:
    return {
        "containers": [
            {"name": f"c{i}", "resources": {"requests": requests, "limits": limits}}
            for i, (requests, limits) in enumerate(each)
        ]
    }


CPU, BOTH = {"cpu": "1"}, {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("spec", "quality"),
    [
        ({}, "BestEffort"),
        (of_amounts(({}, {})), "BestEffort"),
        (of_amounts(({"cpu": "0"}, {})), "BestEffort"),
        (of_amounts(({"x/y": "1"}, {"x/y": "1"})), "BestEffort"),
        (of_amounts((CPU, {})), "Burstable"),
        (of_amounts(({}, CPU)), "Burstable"),
        (of_amounts((CPU, CPU)), "Burstable"),
        (of_amounts((BOTH, BOTH)), "Guaranteed"),
        (of_amounts((BOTH, BOTH), (BOTH, BOTH)), "Guaranteed"),
        (of_amounts((BOTH, BOTH), ({}, {})), "Burstable"),
        (of_amounts((BOTH, BOTH | {"cpu": "2"})), "Burstable"),
        (of_amounts((BOTH, BOTH | {"cpu": "1000m"})), "Guaranteed"),
        (of_amounts(({}, {})) | {"initContainers": of_amounts((CPU, {}))["containers"]},
         "Burstable"),
        (of_amounts(({}, {})) | {"resources": {"requests": BOTH, "limits": BOTH}}, "Guaranteed"),
        (of_amounts((BOTH, BOTH)) | {"resources": {"requests": CPU}}, "Burstable"),
    ],
)  # fmt: skip
def test_the_quality_of_service_of_a_pod(spec: Document, quality: str) -> None:
    assert qos_class(spec) == quality


@pytest.mark.parametrize(
    ("document", "size"),
    [
        ({}, 0),
        ({"a": ""}, 2),
        ({"a": "xyz"}, 5),
        ({"a": "ö"}, 4),
        ({"a": "x" * 127}, 129),
        ({"a": "x" * 128}, 131),
        ({"a": "x" * 16_383}, 16_386),
        ({"a": "x" * 16_384}, 16_388),
        ({"a": "x" * 2_097_152}, 2_097_157),
        ({"a": True}, 2),
        ({"a": None}, 2),
        ({"a": 0}, 2),
        ({"a": 127}, 2),
        ({"a": 128}, 3),
        ({"a": {"b": "xyz"}}, 7),
        ({"a": ["x", "yz"]}, 7),
        ({"a": [{"b": "xyz"}, {}]}, 9),
        ({"labels": {"ab": "xyz"}}, 13),
        ({"data": {"ab": "xyz"}}, 13),
        ({"creationTimestamp": NOW}, 10),
        ({"fieldsV1": {"f:a": {}}}, 14),
    ],
)
def test_the_size_of_an_object_as_protobuf(document: Document, size: int) -> None:
    assert protobuf_size(document) == size
