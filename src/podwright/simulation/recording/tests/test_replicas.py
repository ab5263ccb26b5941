"""Remedies are tried for all replicas of a workload, by the steps of its strategy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from podwright.apimachinery.objects import Pod, Toleration, encode, with_fields, with_node_name
from podwright.apimachinery.schema import decode
from podwright.cluster.controllers import expand
from podwright.cluster.store import kind_of
from podwright.scheduler.advice import Remedy
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.recording import ExplanationView, explanation_document, view_of_pod
from podwright.simulation.recording.explanations import replicas
from podwright.simulation.recording.explanations.document_structs import ReplicaOutcome
from podwright.simulation.recording.explanations.replicas import owners_of_pod
from podwright.testing import make_node, make_pod

REDUCE, TOLERATE = "reduce the cpu", "add a toleration"
UNTAINT = "remove taint gpu=yes:NoSchedule"


def workload(kind: str = "Deployment", **spec: Any) -> dict[str, Any]:
    """Return a workload of four pods, each of which requests 3 CPUs."""
    resources = {"requests": {"cpu": "3"}}
    containers = [{"name": "a", "image": "x", "resources": resources}]
    restart = "Never" if kind == "Job" else "Always"
    template = {
        "metadata": {"labels": {"app": "w"}},
        "spec": {"restartPolicy": restart, "containers": containers},
    }
    own: dict[str, Any] = {"parallelism": 4, "completions": 4} if kind == "Job" else {"replicas": 4}
    own |= {} if kind == "Job" else {"selector": {"matchLabels": {"app": "w"}}}
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": "w", "namespace": "shop"},
        "spec": {**own, "template": template, **spec},
    }


def view(owner: dict[str, Any], placed: int = 2) -> ExplanationView:
    """Explain the first pending pod; each of two nodes has room for one, a tainted one for one."""
    objects = [
        decode(owner), make_node("n1", cpu="4"), make_node("n2", cpu="4"),
        make_node("tainted", cpu="5", taints=["gpu=yes:NoSchedule"]),
        # Pods that are not replicas.
        make_pod("pending", namespace="shop", cpu="1m", priority=-1, node_selector={"no": "node"}),
        make_pod("placed", namespace="shop", cpu="0", node="n1"),
    ]  # fmt: skip
    objects = expand(objects).with_objects(objects)
    scheduler = Scheduler(SchedulerOptions())
    scheduler.add(*objects)
    for pod in scheduler.in_queue_order()[:placed]:
        scheduler.schedule(pod.key)
    before = (set(scheduler.pending), set(scheduler.cluster.pods))
    by_key = {(kind_of(obj), obj.key): obj for obj in objects}
    pending = scheduler.in_queue_order()[0].key
    found = view_of_pod(scheduler, pending, present=lambda *each: by_key.get(each))
    assert before == (set(scheduler.pending), set(scheduler.cluster.pods)), "not reverted"
    return found


def outcomes(found: ExplanationView) -> dict[str, str]:
    """Return what is known of the replicas, by the begin of the remedy."""
    return {
        " ".join(remedy.text.split()[:3]): str(outcome)
        for remedy, outcome in zip(found.advice.remedies, found.replicas, strict=True)
    }


@pytest.mark.parametrize(
    ("kind", "spec", "fit", "kept"),
    [
        pytest.param("Deployment", {}, 1, 2, id="the old pods stay until new ones are available"),
        pytest.param(
            "Deployment",
            {"strategy": {"rollingUpdate": {"maxUnavailable": "75%"}}},
            3,
            0,
            id="the old pods make room",
        ),
        pytest.param(
            "Deployment", {"strategy": {"type": "Recreate"}}, 3, 0, id="all old pods first"
        ),
        pytest.param("Job", {}, 3, 0, id="a job is created again with its pods"),
        pytest.param("StatefulSet", {"serviceName": "w"}, 1, 2, id="the first that waits stops it"),
    ],
)
def test_a_change_of_the_template_is_tried_by_the_steps_of_the_strategy(kind, spec, fit, kept):
    found = view(workload(kind, **spec))
    sentence = f"only {fit} of 4 replicas of {kind} shop/w fit with it"
    sentence += f", {kept} of the old keep a node" * bool(kept)
    assert outcomes(found)[TOLERATE] == sentence


def test_a_change_that_suffices_for_all_comes_first():
    found = view(workload())
    texts = outcomes(found)
    assert next(iter(texts)) == REDUCE
    assert texts[REDUCE] == "4 of 4 replicas of Deployment shop/w fit with it"
    first, *others = explanation_document(found)["remedies"]
    assert first["replicas"] == {
        "workload": "Deployment shop/w", "fit": 4, "total": 4, "isRollout": True,
        "kept": 0, "placed": 2,
    }  # fmt: skip
    nodes = [each["replicas"]["fit"] + each["replicas"]["kept"] for each in others]
    assert nodes == sorted(nodes, reverse=True)


def test_a_change_of_a_node_is_tried_for_the_pending_replicas():
    sentence = "only 1 of 2 pending replicas of Deployment shop/w fit then"
    assert outcomes(view(workload()))[UNTAINT] == sentence


def test_one_replica_has_no_others():
    owner = workload(replicas=1)
    owner["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "9"
    found = view(owner, placed=0)
    assert set(found.replicas) == {None}
    assert all("replicas" not in each for each in explanation_document(found)["remedies"])


def test_the_pod_with_the_highest_ordinal_is_replaced_first():
    pods = [make_pod(name) for name in ("w-9", "w-x", "w-10", "w-0", "v-x")]
    ordered = sorted(pods, key=replicas._ordinal, reverse=True)
    assert [pod.name for pod in ordered] == ["w-10", "w-9", "w-0", "w-x", "v-x"]


def tolerate(pod: Pod) -> Pod:
    return with_fields(pod, "spec", tolerations=(Toleration(key="gpu", operator="Exists"),))


def after(
    owner: dict[str, Any],
    *,
    placed: int,
    free: int,
    edit: Callable[[Pod], Pod] | None,
    cpus: tuple[str, ...] = ("4",) * 4,
    is_bound: bool = False,
) -> ReplicaOutcome | None:
    """Return the outcome where `free` tainted nodes have room for one pod each.

    Without an edit of the pods, the remedy removes the taints. The placed pods are scheduled, or
    have their nodes from the beginning.
    """
    tainted = [
        make_node(f"t{number}", cpu="4", taints=["gpu=yes:NoSchedule"]) for number in range(free)
    ]
    nodes = [make_node(f"n{number}", cpu=cpu) for number, cpu in enumerate(cpus[:placed])]
    objects = [decode(owner), *nodes]
    objects = expand(objects).with_objects([*objects, *tainted])
    if is_bound:
        pods = [obj for obj in objects if isinstance(obj, Pod)]
        names = {pod.key: node.name for pod, node in zip(pods, nodes, strict=False)}
        objects = [
            with_node_name(obj, names.get(obj.key, "")) if isinstance(obj, Pod) else obj
            for obj in objects
        ]
    scheduler = Scheduler(SchedulerOptions())
    scheduler.add(*objects)
    for pod in [] if is_bound else scheduler.in_queue_order()[:placed]:
        scheduler.schedule(pod.key)
    by_key = {(kind_of(obj), obj.key): obj for obj in objects}
    before = (set(scheduler.pending), set(scheduler.cluster.pods))
    pods = [*scheduler.in_queue_order(), *(each.pod for each in scheduler.cluster.pods.values())]
    pods[0] = with_node_name(pods[0], "")  # the pod of a remedy has none
    remedy = Remedy(text="", edits=(), node="t0", node_count=1, pod=pods[0])
    if edit is None:
        remedy = replace(remedy, put=tuple(make_node(node.name, cpu="4") for node in tainted))
    else:
        remedy = replace(remedy, pod=edit(pods[0]), pod_edits=(edit,))
    found = replicas.Replicas(scheduler, pods[0], lambda *each: by_key.get(each)).after(remedy)
    assert before == (set(scheduler.pending), set(scheduler.cluster.pods)), "not reverted"
    return found


# For 1 to 4 of four pods that have a node, how many fit with room for 0, 1 and 2 more.
AT_ONCE = "123 234 344 444"
ONE_BY_ONE = "012 014 044 444"
WITH_SURGE = "012 012 014 044"


@pytest.mark.parametrize("is_bound", [False, True], ids=["scheduled", "bound before"])
@pytest.mark.parametrize(
    ("kind", "spec", "fit"),
    [
        pytest.param("Deployment", {}, ONE_BY_ONE, id="one more, and one may be missing"),
        pytest.param(
            "Deployment",
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}},
            ONE_BY_ONE,
            id="one may be missing",
        ),
        pytest.param(
            "Deployment",
            {"strategy": {"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}}},
            WITH_SURGE,
            id="none may be missing: each needs room beside the old ones",
        ),
        pytest.param("Deployment", {"strategy": {"type": "Recreate"}}, AT_ONCE, id="recreate"),
        pytest.param("Job", {}, AT_ONCE, id="a job is created again"),
        pytest.param("StatefulSet", {"serviceName": "w"}, ONE_BY_ONE, id="one waits for another"),
    ],
)
def test_how_many_replicas_fit_while_they_are_replaced(kind, spec, fit, is_bound):
    owner = workload(kind, **spec)
    rows = [
        [
            after(owner, placed=placed, free=free, edit=tolerate, is_bound=is_bound)
            for free in (0, 1, 2)
        ]
        for placed in (1, 2, 3, 4)
    ]
    outcomes = [each for row in rows for each in row if each is not None]
    assert len(outcomes) == 12
    assert {(each.workload, each.total, each.is_rollout) for each in outcomes} == {
        (f"{kind} shop/w", 4, True)
    }
    found = ["".join(str(each.fit) for each in row if each is not None) for row in rows]
    assert " ".join(found) == fit


@pytest.mark.parametrize("placed", [1, 2, 3])
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Job"])
def test_replicas_that_preempt_the_old_ones_gain_no_node(kind, placed):
    def raise_priority(pod: Pod) -> Pod:
        return with_fields(pod, "spec", priority=1)

    spec = {"serviceName": "w"} if kind == "StatefulSet" else {}
    found = after(workload(kind, **spec), placed=placed, free=0, edit=raise_priority)
    assert found is not None
    assert (found.fit, found.kept, found.placed) == (placed, 0, placed)
    text = f"only {placed} of 4 replicas of {kind} shop/w fit with it: as many as now"
    assert str(found) == text


@pytest.mark.parametrize(
    ("kind", "spec", "edit"),
    [
        pytest.param("Deployment", {}, None, id="nodes change"),
        pytest.param("Job", {}, None, id="nodes change for a job"),
        pytest.param("ReplicaSet", {}, tolerate, id="a ReplicaSet keeps its pods"),
        pytest.param(
            "StatefulSet",
            {"serviceName": "w", "updateStrategy": {"type": "OnDelete"}},
            tolerate,
            id="pods are replaced when somebody deletes them",
        ),
    ],
)
def test_without_a_replacement_the_pending_replicas_count(kind, spec, edit):
    owner = workload(kind, **spec)
    found = [
        [after(owner, placed=placed, free=free, edit=edit) for free in (0, 1, 2)]
        for placed in (0, 2, 3)
    ]
    shown = [
        [None if each is None else (each.fit, each.total, each.is_rollout) for each in row]
        for row in found
    ]
    assert shown == [
        [(0, 4, False), (1, 4, False), (2, 4, False)],
        [(0, 2, False), (1, 2, False), (2, 2, False)],
        # A single one that fits goes without saying.
        [(0, 1, False), None, None],
    ]


@pytest.mark.parametrize(
    ("cpus", "size", "fit"),
    [
        pytest.param(("9", "4"), 7, 0, id="the last one fits nowhere, and the first is not tried"),
        pytest.param(("9", "4"), 6, 1, id="the last one takes the place of the first"),
        pytest.param(("9", "8"), 7, 2, id="both fit"),
    ],
)
def test_the_last_pod_of_a_stateful_set_is_replaced_first(cpus, size, fit):
    """The first pod has the larger node; each has 3 CPUs."""

    def enlarge(pod: Pod) -> Pod:
        return with_fields(pod, "spec", containers=make_pod("x", cpu=size).spec.containers)

    owner = workload("StatefulSet", replicas=2, serviceName="w")
    found = after(owner, placed=2, free=0, edit=enlarge, cpus=cpus)
    assert found is not None
    assert (found.fit, found.total) == (fit, 2)


CLAIM_TEMPLATE = {
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}
}


@pytest.mark.parametrize(
    ("kind", "spec", "is_tried"),
    [
        pytest.param("Deployment", {"volumes": [{"name": "v", "emptyDir": {}}]}, True, id="none"),
        pytest.param(
            "Deployment",
            {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": CLAIM_TEMPLATE}}]},
            False,
            id="a volume",
        ),
        pytest.param(
            "Deployment",
            {"resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}]},
            False,
            id="a device",
        ),
        pytest.param(
            "Job",
            {"resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}]},
            True,
            id="pods that keep their names keep their claims",
        ),
    ],
)
def test_new_replicas_that_need_claims_of_their_own_are_not_tried(kind, spec, is_tried):
    owner = workload(kind)
    owner["spec"]["template"]["spec"] |= spec
    assert (after(owner, placed=0, free=1, edit=tolerate) is not None) is is_tried


def unselected(pod: Pod) -> Pod:
    return with_fields(pod, "spec", node_selector={})


@pytest.mark.parametrize(
    ("template", "pod", "edit", "expected"),
    [
        pytest.param({"nodeSelector": {"a": "b"}}, {"node_selector": {"a": "b"}}, unselected,
                     {"app": "w"}, id="the template has it too"),
        pytest.param({}, {"node_selector": {"a": "b"}}, unselected, None,
                     id="something else added it to the pod"),
        pytest.param({"nodeSelector": {"a": "b"}}, {}, unselected, None,
                     id="something else removed it from the pod"),
    ],
)  # fmt: skip
def test_a_template_is_changed_where_it_has_what_the_pod_has(template, pod, edit, expected):
    owner = workload()
    owner["spec"]["template"]["spec"] |= template
    before = make_pod("w-1", namespace="shop", **pod)
    remedy = Remedy(text="", edits=(), node="", node_count=0, pod=edit(before), pod_edits=(edit,))
    found = replicas.with_changed_template(decode(owner), before, remedy)
    if expected is None:
        assert found is None
        return
    assert found is not None
    changed = encode(found)["spec"]["template"]
    assert "nodeSelector" not in changed["spec"]
    assert changed["spec"]["containers"] == owner["spec"]["template"]["spec"]["containers"]
    assert changed["metadata"]["labels"] == expected


def test_requests_that_a_limit_range_set_are_changed_in_all_kinds_of_containers():
    """The template has none; a pod of it has them in both kinds of containers."""

    def smaller(pod: Pod) -> Pod:
        resized = make_pod("x", cpu="1").spec.containers[0].resources
        spec = {
            name: tuple(replace(each, resources=resized) for each in getattr(pod.spec, name))
            for name in ("containers", "init_containers")
        }
        return with_fields(pod, "spec", **spec)

    owner = workload()
    pod_spec = owner["spec"]["template"]["spec"]
    pod_spec["containers"][0].pop("resources")
    pod_spec["initContainers"] = [{"name": "i", "image": "y"}]
    limited = decode({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "w-1", "namespace": "shop"},
        "spec": {
            name: [each | {"resources": {"requests": {"cpu": "9"}}} for each in pod_spec[name]]
            for name in ("containers", "initContainers")
        },
    })  # fmt: skip
    assert isinstance(limited, Pod)
    remedy = Remedy(text="", edits=(), node="", node_count=0, pod=smaller(limited))
    found = replicas.with_changed_template(decode(owner), limited, remedy)
    assert found is not None
    changed = encode(found)["spec"]["template"]["spec"]
    assert [changed[name][0]["resources"] for name in ("containers", "initContainers")] == [
        {"requests": {"cpu": "1"}}
    ] * 2


def test_an_edit_that_a_replica_cannot_have_is_not_tried():
    def fails(pod: Pod) -> Pod:
        if pod.metadata.name == "w-2":
            return pod
        raise LookupError("no such container")

    for kind in ("Deployment", "Job"):
        assert after(workload(kind), placed=2, free=1, edit=None) is not None
    assert after(workload("Job"), placed=2, free=1, edit=fails) is None


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("Deployment", {}, True),
        ("Job", {}, True),
        ("StatefulSet", {}, True),
        ("StatefulSet", {"updateStrategy": {"type": "OnDelete"}}, False),
        ("StatefulSet", {"updateStrategy": {"type": "RollingUpdate"}}, True),
        ("DaemonSet", {"updateStrategy": {"type": "OnDelete"}}, False),
        ("ReplicaSet", {}, False),
    ],
)
def test_pods_are_replaced_by_owners_that_roll_out_their_templates(kind, spec, expected):
    owner = workload(kind, **spec)
    if kind == "DaemonSet":
        del owner["spec"]["replicas"]
    assert replicas._replaces(decode(owner)) is expected


@pytest.mark.parametrize(("placed", "is_tried"), [(998, True), (999, False)])
def test_remedies_are_tried_for_a_thousand_replicas(placed, is_tried):
    """Two more are pending; a node that comes has room for one of them."""
    node = make_node("n", cpu="1", pods=placed)
    pod = with_fields(owned("Pod", "w", "ReplicaSet", "w"), "spec", node_name="n")
    names = [f"w-{number}" for number in range(placed + 2)]
    pods = [with_fields(pod, "metadata", name=name, uid=name) for name in names]
    pending = [with_fields(each, "spec", node_name="") for each in pods[-2:]]
    scheduler = Scheduler(SchedulerOptions())
    scheduler.add(node, *pods[:-2], *pending)
    room = make_node("m", cpu="1", pods=1)
    remedy = Remedy(text="", edits=(), node="m", node_count=1, pod=pending[0], put=(room,))
    found = replicas.Replicas(scheduler, pending[0], lambda *_: None).after(remedy)
    text = "ReplicaSet shop/w"
    expected = ReplicaOutcome(
        workload=text, fit=1, total=2, is_rollout=False, kept=placed, placed=placed
    )
    assert found == (expected if is_tried else None)


def owned(kind: str, name: str, *owner: str) -> Any:
    references = []
    if owner:
        reference = {"apiVersion": "apps/v1", "kind": owner[0], "name": owner[1]}
        references = [reference | {"uid": f"{owner[1]}-uid", "controller": True}]
    metadata = {"name": name, "namespace": "shop", "uid": f"{name}-uid"}
    api = "v1" if kind == "Pod" else "apps/v1"
    return decode({"apiVersion": api, "kind": kind,
                   "metadata": {**metadata, "ownerReferences": references}})  # fmt: skip


@pytest.mark.parametrize(
    ("chain", "names"),
    [
        pytest.param([], [], id="none"),
        pytest.param([("ReplicaSet", "s")], ["s"], id="one"),
        pytest.param(
            [("ReplicaSet", "s", "Deployment", "d"), ("Deployment", "d")], ["s", "d"], id="two"
        ),
        pytest.param([("ReplicaSet", "s", "Deployment", "gone")], ["s"], id="one that is gone"),
        pytest.param([("ReplicaSet", "s", "ReplicaSet", "s")], ["s"], id="one that owns itself"),
        pytest.param(
            [("ReplicaSet", "s", "Deployment", "d"), ("Deployment", "d", "ReplicaSet", "s")],
            ["s", "d"],
            id="two that own each other",
        ),
    ],
)
def test_the_owners_of_a_pod_are_those_that_are_there_each_once(chain, names) -> None:
    known = [owned(*each) for each in chain]
    by_key = {(kind_of(obj), obj.key): obj for obj in known}
    pod = owned("Pod", "p", *(chain[0][:2] if chain else ()))
    found = owners_of_pod(pod, lambda *each: by_key.get(each))
    assert [each.name for each in found] == names
