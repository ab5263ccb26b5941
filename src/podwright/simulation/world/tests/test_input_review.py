"""The review of inputs: kinds without effect, loads that do not fit, Jobs without an end; owners,
names that several inputs have, and operations in their order."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import (
    ArgumentError,
    InputError,
    OwnerReference,
    encode,
    with_fields,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets import fast_stages
from podwright.cluster.store import ObjectStore
from podwright.simulation.files import Sourced
from podwright.simulation.world.inputs.input_review import (
    IgnoredKind,
    InputReview,
    LoadEstimate,
    WorldReview,
    check_added,
    ignored_kinds,
    jobs_without_duration,
    load_estimate,
    starts_at_once,
    with_job_duration,
)
from podwright.simulation.world.inputs.openb_arrivals import Arrival
from podwright.simulation.world.inputs.operations import Apply, Delete, Put
from podwright.simulation.world.inputs.run_inputs import (
    Collisions,
    _initial_operations,
    _missing_nodes,
    _missing_owners,
    _timed,
    endless_inputs,
    with_present_owners,
)
from podwright.simulation.world.world_steps import SLICES_MAX, Backlog, Backlogged
from podwright.testing import make_node, make_pod


def made(kind: str, version: str = "v1", name: str = "x", **more: Any) -> Any:
    document = {"apiVersion": version, "kind": kind, "metadata": {"name": name}}
    metadata = document["metadata"] | more.pop("metadata", {})
    return decode({**document, "metadata": metadata, **more})


# --------------------------------------------------------------------------- without effect

HOOKS = "admissionregistration.k8s.io/v1"
HOOK = made("ValidatingWebhookConfiguration", HOOKS)
SCALER = made(
    "HorizontalPodAutoscaler", "autoscaling/v2", metadata={"namespace": "a"},
    spec={"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}},
)  # fmt: skip


def test_kinds_without_effect_are_counted_in_the_order_of_their_names():
    widget = made("Widget", "example.com/v1")
    found = ignored_kinds([
        widget, SCALER, HOOK, made("ValidatingWebhookConfiguration", HOOKS, name="y"),
        made("MutatingWebhookConfiguration", HOOKS),
        made("ResourceQuota", metadata={"namespace": "a"}), made("Node"), make_pod("p"),
        made("Stage", "kwok.x-k8s.io/v1alpha1"), made("ConfigMap", metadata={"namespace": "a"}),
    ])  # fmt: skip

    def ignored(kind: str, version: str, count: int, effect: str) -> IgnoredKind:
        return IgnoredKind(kind=kind, api_version=version, count=count, effect=effect)

    scaling = "scales to its bounds only: no usage is declared"
    assert found == (
        ignored("HorizontalPodAutoscaler", "autoscaling/v2", 1, scaling),
        ignored("MutatingWebhookConfiguration", HOOKS, 1, "changes no objects"),
        ignored("ValidatingWebhookConfiguration", HOOKS, 2, "rejects no objects"),
        ignored("Widget", "example.com/v1", 1, "is not a known kind"),
    )
    staged = {("example.com", "Widget"), ("autoscaling", "HorizontalPodAutoscaler")}
    assert [each.kind for each in ignored_kinds([widget, SCALER, HOOK], staged)] == [
        "ValidatingWebhookConfiguration"
    ]
    assert ignored_kinds([]) == ()


# ------------------------------------------------------------------------------- the load


def node(cpu: str = "4", memory: str = "8Gi", **more: str) -> Any:
    return made(
        "Node", status={"allocatable": {"cpu": cpu, "memory": memory, "pods": "10", **more}}
    )


def pods(count: int, cpu: str, **more: Any) -> list[Any]:
    return [make_pod(f"p{n}", cpu=cpu, **more) for n in range(count)]


def estimate(pods: int, fitting: int, resource: str, requested: int, allocatable: int) -> Any:
    return LoadEstimate(
        pods=pods, fitting=fitting, resource=resource, requested=requested, allocatable=allocatable
    )  # fmt: skip


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([], None),
        ([node()], None),
        (pods(2, "1"), None),
        ([node(), *pods(4, "1")], None),
        ([node(), *pods(5, "1")], estimate(5, 4, "cpu", 5000, 4000)),
        ([node(), node(), *pods(9, "1")], estimate(9, 8, "cpu", 9000, 8000)),
        ([node("100"), *pods(11, "1")], estimate(11, 10, "pods", 11, 10)),
        # The smallest first: four halves leave room for two whole ones.
        ([node(), *pods(3, "1"), *pods(4, "500m")], estimate(7, 6, "cpu", 5000, 4000)),
        ([node(), *pods(2, "3"), *pods(2, "0")], estimate(4, 3, "cpu", 6000, 4000)),
        # The resource that limits most.
        ([node("4", "2Gi"), *pods(5, "1", memory="1Gi")],
         estimate(5, 2, "memory", 5 << 30, 2 << 30)),
        ([made("Node", status={"capacity": {"cpu": "1", "pods": "9"}}), *pods(2, "1")],
         estimate(2, 1, "cpu", 2000, 1000)),
    ],
)  # fmt: skip
def test_how_many_pods_that_never_end_fit_at_most(objects, expected):
    assert load_estimate(objects) == expected


def pod(**changes: Any) -> Any:
    document: Any = encode(make_pod("p", cpu="9"))
    for part, fields in changes.items():
        document[part] = {**document.get(part, {}), **fields}
    return decode(document)


@pytest.mark.parametrize(
    ("obj", "counts"),
    [
        (pod(), 1),
        (pod(metadata={"annotations": {"alibabacloud.com/creation-time": "0"}}), 0),
        (pod(status={"phase": "Succeeded"}), 0),
        (pod(status={"phase": "Failed"}), 0),
        (pod(status={"phase": "Running"}), 1),
        (pod(spec={"schedulingGates": [{"name": "g"}]}), 0),
        (pod(metadata={"ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "known",
             "controller": True}]}), 0),
        (pod(metadata={"ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "other",
             "controller": True}]}), 1),
    ],
)  # fmt: skip
def test_which_pods_never_end(obj, counts):
    owner = made("ConfigMap", metadata={"namespace": "default", "uid": "known"})
    found = load_estimate([node("1"), owner, obj])
    assert (0 if found is None else found.pods) == counts


def test_workloads_count_with_all_their_replicas():
    from podwright.cluster.kubelets import RUN_DELAY

    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}

    def deployment(**more: Any) -> Any:
        return made("Deployment", "apps/v1", metadata={"namespace": "a"}, spec=spec | more)

    ending = {**template, "metadata": {"labels": {"a": "b"}, "annotations": {RUN_DELAY: "1s"}}}
    found = [
        load_estimate([node("0"), each])
        for each in (
            deployment(replicas=7), deployment(), deployment(replicas=0),
            deployment(template=ending), make_node("n"),
        )
    ]  # fmt: skip
    assert [each and each.pods for each in found] == [7, 1, None, None, None]


# ---------------------------------------------------------------------------------- Jobs


def job(**changes: Any) -> Any:
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": []}}}
    return made("Job", "batch/v1", "j", metadata={"namespace": "a"}, spec=spec, **changes)


CRON = made(
    "CronJob", "batch/v1", "c", metadata={"namespace": "a"},
    spec={"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"metadata": {
        "labels": {"k": "v"}}, "spec": {"containers": []}}}}},
)  # fmt: skip


@pytest.mark.parametrize(
    ("objects", "names"),
    [
        ([job(), job(), CRON], ("job/a/j", "cronjob/a/c")),
        ([job(status={"conditions": [{"type": "Complete", "status": "True"}]})], ()),
        ([job(status={"conditions": [{"type": "Failed", "status": "True"}]})], ()),
        ([job(status={"conditions": [{"type": "Complete", "status": "False"}]})], ("job/a/j",)),
        ([job(status={"conditions": [{"type": "Suspended", "status": "True"}]})], ("job/a/j",)),
        ([make_pod("p"), made("Deployment", "apps/v1", metadata={"namespace": "a"})], ()),
    ],
)
def test_jobs_without_a_duration_are_named_once(objects, names):
    assert jobs_without_duration(objects) == names


def test_a_duration_of_all_jobs_is_an_annotation_of_their_templates():
    from podwright.cluster.kubelets import RUN_DELAY

    changed = with_job_duration(CRON, 90_000_000_000)
    assert changed is not CRON
    template = encode(changed)["spec"]["jobTemplate"]["spec"]["template"]
    assert template["metadata"] == {"labels": {"k": "v"}, "annotations": {RUN_DELAY: "1m30s"}}
    assert encode(changed)["spec"]["schedule"] == "* * * * *"
    assert with_job_duration(changed, 1) is changed
    assert jobs_without_duration([changed]) == ()
    assert encode(CRON)["spec"]["jobTemplate"]["spec"]["template"]["metadata"] == {
        "labels": {"k": "v"}
    }
    other = make_pod("p")
    assert with_job_duration(other, 1) is other
    bare: Any = decode({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}})
    template = encode(with_job_duration(bare, 1_000_000_000))["spec"]["template"]
    assert template == {"metadata": {"annotations": {RUN_DELAY: "1s"}}}


@pytest.mark.parametrize(
    ("owner", "phase", "delays"),
    [("Job", "Running", ["1s"]), ("Job", "Succeeded", []), ("ReplicaSet", "Running", [])],
)
def test_a_duration_of_all_jobs_is_that_of_the_pods_that_they_have(owner, phase, delays):
    version = "batch/v1" if owner == "Job" else "apps/v1"
    reference = OwnerReference(api_version=version, kind=owner, name="w", uid="w", controller=True)
    given = with_fields(make_pod("p", node="n"), "metadata", owner_references=(reference,))
    changed = with_job_duration(with_fields(given, "status", phase=phase), 1_000_000_000)
    assert list(changed.metadata.annotations.values()) == delays
    assert jobs_without_duration([given]) == ()


@pytest.mark.parametrize(
    ("jobs", "names"),
    [
        (("job/a/x",), "job/a/x"),
        (("job/a/x", "job/a/y"), "job/a/x, job/a/y"),
        (tuple(f"job/a/{n}" for n in range(5)), "job/a/0, job/a/1, job/a/2 and 2 more"),
    ],
)
def test_jobs_without_a_duration_are_a_note(jobs, names):
    from podwright.cluster.kubelets import RUN_DELAY

    assert InputReview().job_note == ""
    assert InputReview(jobs_without_duration=jobs).job_note == (
        f"{names}: no duration, so the pods complete as soon as they run (0s); set --job-duration,"
        f" or the annotation {RUN_DELAY} of the pod template"
    )


def test_pods_start_at_once_by_the_built_in_stage():
    stages = list(fast_stages())
    assert starts_at_once(None)
    assert starts_at_once(stages)
    assert not starts_at_once([each for each in stages if each.name != "pod-ready"])
    assert not starts_at_once([])


# --------------------------------------------------------------------------- worlds of Python


def test_a_world_reviews_what_is_added_and_its_first_load():
    review = WorldReview(None, None, is_new=True)
    for obj in (HOOK, HOOK, job(), node(), make_pod("p")):
        review.add(obj)
    copy = review.copy()
    store = ObjectStore()
    for obj in [make_node("n", cpu="1"), *pods(3, "1")]:
        store.put(obj)
    review.begin(store)
    store.put(make_pod("more", cpu="1"))
    review.begin(store)
    found = review.review()
    assert [(each.kind, each.count) for each in found.ignored_kinds] == [(HOOK.kind, 1)]
    assert found.estimate == estimate(3, 1, "cpu", 3000, 1000)
    assert found.jobs_without_duration == ("job/a/j",)
    assert found.starts_at_once
    assert copy.review().estimate is None
    copy.add(SCALER)
    assert [each.kind for each in copy.review().ignored_kinds] == [
        "HorizontalPodAutoscaler", HOOK.kind
    ]  # fmt: skip
    assert len(review.review().ignored_kinds) == 1


def test_a_review_that_was_given_or_of_a_restored_world_has_no_estimate():
    store = ObjectStore()
    for obj in [make_node("n", cpu="1"), *pods(3, "1")]:
        store.put(obj)
    given = InputReview(jobs_without_duration=("job/a/j",))
    review = WorldReview(None, given, is_new=True)
    review.add(HOOK)
    review.begin(store)
    assert review.review() is given
    restored = WorldReview([], None, is_new=False)
    restored.add(job())
    restored.begin(store)
    assert restored.review() == InputReview(starts_at_once=False)


def test_objects_are_checked_before_they_are_added():
    wrong = make_pod("p", spec={"odd": 1})
    with pytest.raises(ArgumentError):
        check_added(["text"], "strict")  # type: ignore[list-item]
    with pytest.raises(InputError):
        check_added([], "never")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"spec\.odd"):
        check_added([wrong], "strict")
    with pytest.warns(UserWarning, match=r"spec\.odd"):
        check_added([wrong], "warn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_added([wrong], "ignore")
        check_added([make_pod("q")], "strict")


# --------------------------------------------------------------------------- order and owners


def test_arrivals_and_ends_are_in_order_and_deletions_come_first():
    one, other, third = (make_pod(name) for name in "abc")
    arrivals = [
        Arrival(pod=one, due_ns=10, gone_ns=20), Arrival(pod=other, due_ns=20, gone_ns=None),
        Arrival(pod=third, due_ns=5, gone_ns=5),
    ]  # fmt: skip

    def gone(name: str) -> Delete:
        return Delete(("", "Pod"), f"default/{name}", grace_seconds=0, only_pending=True)

    assert _timed(arrivals) == [
        (5, Apply(third)), (10, Apply(one)), (20, Apply(other)), (1_005, gone("c")),
        (1_010, gone("a")),
    ]  # fmt: skip
    late = [
        Arrival(pod=one, due_ns=0, gone_ns=5_000),
        Arrival(pod=other, due_ns=5_000, gone_ns=None),
    ]
    assert _timed(late) == [(0, Apply(one)), (5_000, gone("a")), (5_000, Apply(other))]


def test_objects_are_created_in_the_order_of_their_kinds_and_pods_by_their_times():
    def dated(name: str, made_at: str, uid: str = "") -> Any:
        document: Any = encode(make_pod(name))
        document["metadata"] |= {"creationTimestamp": made_at} | ({"uid": uid} if uid else {})
        if not uid:
            document["metadata"].pop("uid", None)
        return decode(document)

    later, sooner = dated("later", "2026-01-01T00:00:02Z"), dated("sooner", "2026-01-01T00:00:01Z")
    dumped = dated("dumped", "2026-01-01T00:00:03Z", uid="u")
    namespace = made("Namespace", name="a")
    found = _initial_operations([later, dumped, sooner, namespace], 10**9)
    assert [(type(each).__name__, each.obj.name) for each in found] == [  # type: ignore[union-attr]
        ("Apply", "a"), ("Apply", "sooner"), ("Apply", "later"), ("Put", "dumped")
    ]  # fmt: skip
    assert isinstance(found[-1], Put)
    assert found[-1].obj.metadata.creation_timestamp == "2026-01-01T00:00:04Z"


def owned(name: str, *owners: tuple[str, str, str]) -> Any:
    references = [
        {"apiVersion": version, "kind": kind, "name": "o", "uid": uid, "controller": True}
        for version, kind, uid in owners
    ]
    document: Any = encode(make_pod(name))
    document["metadata"] |= {"ownerReferences": references}
    return decode(document)


def test_only_owners_that_are_there_or_of_unknown_kinds_stay():
    replica_set = made("ReplicaSet", "apps/v1", metadata={"namespace": "default", "uid": "r"})
    widget = made("Widget", "example.com/v1", metadata={"uid": "w"})
    objects = [
        replica_set, widget, owned("a", ("apps/v1", "ReplicaSet", "r")),
        owned("b", ("apps/v1", "ReplicaSet", "gone")), owned("c", ("other.io/v1", "Box", "gone")),
        owned("d", ("example.com/v1", "Widget", "gone"), ("example.com/v1", "Widget", "w")),
    ]  # fmt: skip
    found = {
        each.name: [owner.uid for owner in each.metadata.owner_references]
        for each in with_present_owners(objects)
        if each.kind == "Pod"
    }
    assert found == {"a": ["r"], "b": [], "c": ["gone"], "d": ["w"]}
    assert list(with_present_owners(objects))[2] is objects[2]
    assert _missing_owners(objects) == {
        "default/b": "ReplicaSet default/o", "default/c": "Box default/o",
        "default/d": "Widget default/o",
    }  # fmt: skip


def test_nodes_that_pods_name_are_there():
    sourced = [Sourced("f: 1", make_node("node-1")), Sourced("f: 2", make_pod("a", node="node-1")),
               Sourced("f: 3", make_pod("b", node="node-2")), Sourced("f: 4", make_pod("c")),
               Sourced("f: 5", make_pod("d", node="zzz"))]  # fmt: skip
    assert [str(each) for each in _missing_nodes(sourced, {"other"})] == [
        'f: 3: spec.nodeName: there is no Node "node-2"; did you mean "node-1"?',
        'f: 5: spec.nodeName: there is no Node "zzz"',
    ]
    assert list(_missing_nodes(sourced, {"node-2", "zzz"})) == []
    # A dump without nodes is one error; without pods on some it is none.
    assert [str(each) for each in _missing_nodes(sourced[1:], set())] == [
        "f: 2: spec.nodeName: there are no nodes, and 3 pods have one; add the nodes, as "
        "`kubectl get nodes -o yaml` prints them"
    ]
    assert [str(each) for each in _missing_nodes(sourced[1:2], set())] == [
        'f: 2: spec.nodeName: there is no Node "node-1"'
    ]
    assert list(_missing_nodes(sourced[3:4], set())) == []


def test_what_never_ends_needs_an_end():
    cron_job: Any = encode(CRON)
    suspended = cron_job | {"spec": cron_job["spec"] | {"suspend": True}}
    sourced = [Sourced("f: 1", CRON), Sourced("f: 2", decode(suspended)), Sourced("f: 3", SCALER)]
    cron = "f: 1: spec.schedule: starts jobs without end; set until"
    scaler = "f: 3: spec.metrics: compares the declared usage without end; set until"
    assert [str(each) for each in endless_inputs(sourced, has_trace=False)] == [cron]
    assert [str(each) for each in endless_inputs(sourced, has_trace=True)] == [cron, scaler]
    # What else it lacks is another error.
    bare = decode({key: value for key, value in cron_job.items() if key != "spec"})
    assert [str(each) for each in endless_inputs([Sourced("f: 1", bare)])] == [cron]


def test_a_name_of_a_workload_is_in_no_other_input():
    def message(place: str, name: str, first: str) -> str:
        return (
            f"{place}: apply.metadata.name: Pod default/{name} is also in {first}; give one of them"
            " other names, such as by from_frame(prefix=...)"
        )

    errors: list[Any] = []
    found = Collisions([Sourced("objects", make_pod("a"))], errors)
    # A line of another file may change an object that exists.
    found.add([Sourced("lines: 1", make_pod("a")), Sourced("lines: 2", make_pod("b"))],
              is_workload=False)  # fmt: skip
    assert errors == []
    note = found.pods(is_workload=True, is_last=False)
    for place, name in (("w: 1", "a"), ("w: 2", "b"), ("w: 3", "c")):
        note(place, make_pod(name))
    found.add([Sourced("w: 4", make_node("a"))], is_workload=True)
    last = found.pods(is_workload=False, is_last=True)
    for place, name in (("x: 1", "c"), ("x: 2", "d"), ("x: 3", "d")):
        last(place, make_pod(name))
    found.add([Sourced("x: 4", make_node("a"))], is_workload=False)
    assert [str(each) for each in errors] == [
        message("w: 1", "a", "objects"),
        message("w: 2", "b", "lines: 2"),
        message("x: 1", "c", "w: 3"),
        message("x: 4", "a", "w: 4").replace("Pod default/a", "Node a"),
    ]


# ------------------------------------------------------------------------------- the backlog


def test_a_world_is_late_after_sixteen_slices_at_one_time():
    backlog = Backlog()
    late = []
    for now_ns in [5] * 15 + [6] + [6] * 15:
        backlog.is_left(now_ns)
        late.append(backlog.is_late)
    assert late == [False] * 30 + [True]
    assert SLICES_MAX == 16
    backlog.is_left(7)
    late.append(backlog.is_late)
    backlog.is_done()
    backlog.is_left(7)
    late.append(backlog.is_late)
    assert late[31:] == [True, False], "until nothing is left"
    kinds = [backlog.next_kind() for _ in range(4)]
    assert kinds == [Backlogged.CYCLES, Backlogged.SYNCS, Backlogged.TIME, Backlogged.CYCLES]
    assert all(type(kind) is Backlogged for kind in kinds)
    assert backlog.steps == 4


@pytest.mark.parametrize(
    ("gates", "effects"),
    [
        ("", ["needs the feature gate DRADeviceTaintRules, which is off"]),
        ("DRADeviceTaintRules=true", []),
    ],
)
def test_kinds_of_gates_that_are_off_are_reported_also_if_they_come_later(gates, effects):
    rule = decode(
        {
            "apiVersion": "resource.k8s.io/v1beta2",
            "kind": "DeviceTaintRule",
            "metadata": {"name": "r"},
            "spec": {"taint": {"key": "k", "effect": "NoExecute"}},
        }
    )
    world = pw.World(gates=pw.parse_gates(gates))
    world.add(rule, at="1m")
    world.run_until("2m")
    assert [each.effect for each in world.report().ignored_kinds] == effects
