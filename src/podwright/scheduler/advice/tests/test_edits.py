"""The edits one by one: what they change, say, cost, and the commands for them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import (
    LabelSelectorRequirement,
    Taint,
    decode,
    decode_pod,
    encode,
    with_fields,
)
from podwright.scheduler.advice import node_edits as of_nodes, pod_edits as of_pods
from podwright.scheduler.advice.amounts import format_amount
from podwright.scheduler.advice.claim_fixes import _claim_or_name
from podwright.scheduler.advice.edits import Change, Edit, apply, distinct, effort_of
from podwright.scheduler.advice.fixes import Fixes, _each_and_all, _key_of
from podwright.scheduler.advice.rejections import (
    _DETAILS,
    _GROUPED,
    nearest_nodes,
    rejection_groups,
)
from podwright.scheduler.advice.remedies import Remedy, _ordinal, _scaled_down
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.classic.predicates import REGISTERED
from podwright.scheduler.columns import PlacedPod
from podwright.scheduler.config import DEFAULT_GATES
from podwright.scheduler.config.expand import IN_TREE_POINTS
from podwright.testing import make_node, make_pod

# Which of its changes an edit has depends on its kind.
node_edits: Any = of_nodes
pod_edits: Any = of_pods
TAINT = Taint(key="gpu", value="yes", effect="NoSchedule")


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 1_500, "1500m"), ("cpu", 3_000, "3"), ("cpu", 0, "0"),
        ("memory", 1 << 30, "1Gi"), ("memory", 3 << 29, "1.5Gi"), ("memory", 1023 << 20, "1023Mi"),
        ("memory", 1 << 40, "1Ti"), ("memory", 1 << 10, "1Ki"), ("memory", 1_023, "1023"),
        ("memory", -(3 << 29), "-1.5Gi"), ("ephemeral-storage", 2 << 20, "2Mi"),
        ("hugepages-2Mi", 4 << 20, "4Mi"), ("example.com/gpu", 1 << 30, str(1 << 30)),
    ],
)  # fmt: skip
def test_an_amount_is_written_for_people(resource, amount, text):
    assert format_amount(resource, amount) == text


# --------------------------------------------------------------------------------- nodes


def tainted(*taints, **spec):
    node = make_node("n", labels={"a": "b", "kubernetes.io/hostname": "n"}, taints=taints)
    return with_fields(node, "spec", **spec)


@pytest.mark.parametrize(
    ("key", "describes"),
    [
        ("topology.kubernetes.io/zone", True),
        ("karpenter.sh/nodepool", True),
        ("karpenter.k8s.aws/instance-family", True),
        ("cloud.google.com/gke-nodepool", True),
        ("node.cluster.x-k8s.io/pool", True),
        ("tier", False),
        ("example.com/kubernetes.io", False),
    ],
)
def test_labels_of_providers_describe_nodes(key, describes):
    assert node_edits.describes_node(key) is describes


def test_a_node_is_uncordoned_with_its_taint():
    edit = node_edits.uncordon("n")
    assert (edit.text, edit.command, edit.effort, edit.node) == (
        "uncordon node n", "kubectl uncordon n", 1.1, "n",
    )  # fmt: skip
    node = tainted(
        "node.kubernetes.io/unschedulable:NoSchedule", "k:NoSchedule", unschedulable=True
    )
    changed = edit.on_node(node)
    assert not changed.spec.unschedulable
    assert [each.key for each in changed.spec.taints] == ["k"]


def test_one_taint_of_a_node_is_removed():
    edit = node_edits.remove_taint("n", TAINT)
    assert (edit.text, edit.command, edit.effort) == (
        "remove taint gpu=yes:NoSchedule from node n", "kubectl taint node n gpu:NoSchedule-", 3.2,
    )  # fmt: skip
    left = edit.on_node(tainted("gpu=yes:NoSchedule", "gpu=yes:NoExecute", "k:NoSchedule"))
    assert [(each.key, each.effect) for each in left.spec.taints] == [
        ("gpu", "NoExecute"), ("k", "NoSchedule"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("actual", "command"),
    [(None, "kubectl label node n a=c"), ("b", "kubectl label node n a=c --overwrite")],
)
def test_a_label_of_a_node_is_set(actual, command):
    edit = node_edits.set_label("n", "a", "c", actual)
    assert (edit.text, edit.command, edit.effort) == ("set label a=c on node n", command, 2.7)
    labels = edit.on_node(tainted()).metadata.labels
    assert labels == {"a": "c", "kubernetes.io/hostname": "n"}


@pytest.mark.parametrize(
    ("options", "text", "effort"),
    [
        ({}, "add a node like n", 5.0),
        ({"count": 3}, "add 3 nodes like n", 7.0),
        ({"larger": {"cpu": 1500}}, "add a node like n but with 1500m cpu", 5.5),
        ({"labels": {"x": "y"}}, "add a node like n but with label x=y", 5.5),
        ({"larger": {"cpu": 2000, "memory": 1 << 30}, "labels": {"x": "y"}},
         "add a node like n but with 2 cpu and 1Gi memory and label x=y", 6.0),
    ],
)  # fmt: skip
def test_nodes_like_another_one_are_added(options, text, effort):
    given = {"count": 1, "larger": {}, "labels": {}, "companions": lambda _: ()} | options
    edit = node_edits.add_nodes(like=tainted(), taken={"n-new-2"}, **given)
    assert (edit.text, edit.effort) == (text, effort)
    names = ["n-new-1", "n-new-3", "n-new-4"][: given["count"]]
    assert [node.name for node in edit.put] == names


def test_a_new_node_has_what_lasts_of_the_other_one():
    like = tainted(
        "k:NoSchedule", "node.kubernetes.io/not-ready:NoExecute",
        "karpenter.sh/disrupted:NoSchedule",
        "startup-taint.cluster-autoscaler.kubernetes.io/x:NoSchedule", unschedulable=True,
        provider_id="p",
    )  # fmt: skip
    like = with_fields(like, "metadata", uid="u", creation_timestamp="2026-01-01T00:00:00Z")
    edit = node_edits.add_nodes(
        1, like=like, taken=(), larger={"cpu": 64_000}, labels={"x": "y"},
        companions=lambda name: [make_pod(f"of-{name}")],
    )  # fmt: skip
    node, companion = edit.put
    assert companion.name == "of-n-new-1"
    assert node.metadata.labels == {"a": "b", "kubernetes.io/hostname": "n-new-1", "x": "y"}
    assert (node.uid, node.metadata.creation_timestamp) == ("", None)
    assert (node.spec.unschedulable, node.spec.provider_id) == (False, "")
    assert [each.key for each in node.spec.taints] == ["k"]
    assert node.status.allocatable["cpu"] == "64"
    assert node_edits.allocatable_of(node, "cpu") == 64_000
    assert node_edits.allocatable_of(node, "none") == 0
    assert node.status.capacity["cpu"] == "64"
    bare = node_edits.add_nodes(
        1, like=with_fields(like, "status", capacity={}), taken=(), larger={"cpu": 64_000},
        labels={}, companions=lambda _: (),
    ).put[0]  # fmt: skip
    assert (bare.status.allocatable["cpu"], bare.status.capacity) == ("64", {})
    without = with_fields(like, "metadata", labels={})
    plain = node_edits.add_nodes(
        1, like=without, taken=(), larger={}, labels={}, companions=lambda _: ()
    ).put[0]
    assert plain.metadata.labels == {}


def test_nodes_of_one_shape_differ_by_name_and_passing_taints_only():
    shape = node_edits.shape_of(tainted("k:NoSchedule"))
    other = make_node("m", labels={"a": "b", "kubernetes.io/hostname": "m"}, taints=[
        "k:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"])  # fmt: skip
    assert node_edits.shape_of(other) == shape
    assert node_edits.shape_of(tainted()) != shape
    assert node_edits.shape_of(with_fields(other, "metadata", labels={"a": "c"})) != shape
    assert node_edits.shape_of(make_node("m", cpu="3", labels={"a": "b"})) != shape


# ---------------------------------------------------------------------------------- pods


def constraint(**fields):
    return {
        "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
        "minDomains": 3, "labelSelector": {"matchLabels": {"app": "web"}},
    } | fields  # fmt: skip


def pod(**spec):
    containers = [{"name": "main", "image": "i", "ports": [
        {"containerPort": 80, "hostPort": 80}, {"containerPort": 90, "hostPort": 90}]}]  # fmt: skip
    metadata = {"name": "p", "namespace": "default", "labels": {"app": "web", "x": "y"}}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return decode({**document, "spec": {"containers": containers, **spec}})


def test_constraints_of_the_spread_are_relaxed_one_by_one():
    given = pod(topologySpreadConstraints=[constraint(), constraint(topologyKey="rack")])
    first, second = given.spec.topology_spread_constraints

    def after(edit):
        return edit.on_pod(given).spec.topology_spread_constraints

    skew = pod_edits.raise_skew(1, second, 4 - second.max_skew)
    assert (skew.text, skew.effort) == (
        "raise maxSkew from 1 to 4 in topologySpreadConstraints[1]", 2.03,
    )  # fmt: skip
    assert [each.max_skew for each in after(skew)] == [1, 4]
    soft = pod_edits.spread_softly(0)
    assert (soft.text, soft.effort) == (
        "set whenUnsatisfiable: ScheduleAnyway in topologySpreadConstraints[0]", 3.0,
    )  # fmt: skip
    assert [(each.when_unsatisfiable, each.min_domains) for each in after(soft)] == [
        ("ScheduleAnyway", None), ("DoNotSchedule", 3),
    ]  # fmt: skip
    taints = pod_edits.honor_taints(1)
    assert (taints.text, taints.effort) == (
        "set nodeTaintsPolicy: Honor in topologySpreadConstraints[1]", 1.9,
    )  # fmt: skip
    assert [each.node_taints_policy for each in after(taints)] == [None, "Honor"]
    domains = pod_edits.drop_min_domains(1)
    assert (domains.text, domains.effort) == (
        "remove minDomains in topologySpreadConstraints[1]", 2.2,
    )  # fmt: skip
    assert [each.min_domains for each in after(domains)] == [3, None]
    assert after(domains)[0] == first


@pytest.mark.parametrize(
    ("indexes", "terms", "effort"),
    [((1,), "term [1]", 3.0), ((0, 2), "terms [0] and [2]", 4.0)],
)
@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
def test_required_terms_about_other_pods_become_preferred(kind, indexes, terms, effort):
    def term(app):
        return {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}}

    field = "requiredDuringSchedulingIgnoredDuringExecution"
    given = pod(affinity={kind: {field: [term(app) for app in "abc"]}})
    is_near = kind == "podAffinity"
    edit = (pod_edits.prefer_pods if is_near else pod_edits.avoid_pods_softly)(indexes)
    assert (edit.text, edit.effort) == (f"make the required {kind} {terms} preferred", effort)
    spec = edit.on_pod(given).spec
    found = spec.pod_affinity if is_near else spec.pod_anti_affinity
    left = [each.label_selector.match_labels["app"] for each in found.required]
    moved = [each.pod_affinity_term.label_selector.match_labels["app"] for each in found.preferred]
    assert moved == ["abc"[index] for index in indexes]
    assert left == [app for app in "abc" if app not in moved]
    assert [each.weight for each in found.preferred] == [100] * len(indexes)


@pytest.mark.parametrize(("host_network", "container_port"), [(False, 80), (True, 81)])
def test_a_host_port_is_moved_or_dropped(host_network, container_port):
    given = pod(hostNetwork=host_network)
    moved = pod_edits.move_port(80, 81)
    assert (moved.text, moved.effort) == ("use hostPort 81 instead of 80", 2.0)
    ports = moved.on_pod(given).spec.containers[0].ports
    assert [(each.host_port, each.container_port) for each in ports] == [
        (81, container_port), (90, 90),
    ]  # fmt: skip
    dropped = pod_edits.drop_port(80)
    assert (dropped.text, dropped.effort) == ("remove hostPort 80", 2.5)
    assert [each.host_port for each in dropped.on_pod(pod()).spec.containers[0].ports] == [0, 90]


def test_labels_gates_and_volumes_are_removed():
    label = pod_edits.change_label("x", "y")
    assert (label.on_pod(pod()).metadata.labels, label.effort) == ({"app": "web"}, 4.0)
    for names, text in ((["a"], "gate a"), (["a", "b"], "gates a, b")):
        edit = pod_edits.drop_gates(names)
        assert (edit.text, edit.effort) == (f"remove the scheduling {text}", 1.0)
        assert edit.on_pod(pod(schedulingGates=[{"name": "a"}])).spec.scheduling_gates == ()
    volumes = [
        {"name": "v", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "w", "emptyDir": {}},
    ]
    given = pod(volumes=volumes)
    first, second = (pod_edits.remove_volume(each) for each in given.spec.volumes)
    assert (first.text, first.effort) == ("remove the volume v (PersistentVolumeClaim c)", 3.8)
    assert second.text == "remove the volume w"
    assert [each.name for each in first.on_pod(given).spec.volumes] == ["w"]


def test_a_priority_is_raised_by_a_class_that_exists_or_by_a_new_one():
    document = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    known = decode(
        {**document, "metadata": {"name": "high"}, "value": 9, "preemptionPolicy": "Never"}
    )
    edit = pod_edits.raise_priority(9, known, {"high"})
    assert (edit.text, edit.effort, edit.put) == ("use priorityClassName high (9)", 3.0, ())
    spec = edit.on_pod(pod()).spec
    assert (spec.priority, spec.priority_class_name, spec.preemption_policy) == (9, "high", "Never")
    edit = pod_edits.raise_priority(5, None, {"priority-5", "priority-5-x"})
    assert (edit.text, edit.effort) == ("raise the priority to 5 with a new PriorityClass", 3.5)
    (new,) = edit.put
    assert (new.name, new.value) == ("priority-5-x-x", 5)
    assert edit.on_pod(pod()).spec.priority_class_name == "priority-5-x-x"


# --------------------------------------------------------------------------------- plans


def test_a_plan_costs_the_sum_and_repeats_no_edit_of_one_node():
    some = [node_edits.uncordon("a"), node_edits.uncordon("b"), node_edits.uncordon("a")]
    plan = distinct(some)
    assert [edit.node for edit in plan] == ["a", "b"]
    assert effort_of(plan) == pytest.approx(2.2)


def test_the_edits_of_a_plan_are_applied_one_after_the_other_to_copies():
    scheduler = Scheduler()
    scheduler.add(make_node("n", taints=["gpu=yes:NoSchedule"]), make_node("m"))
    victim, claim = make_pod("v"), make_node("extra")
    plan = (
        node_edits.remove_taint("n", TAINT),
        node_edits.set_label("n", "a", "c", None),
        pod_edits.drop_gates(["a"]),
        Edit(key=("x",), text="", effort=0, put=(claim,), delete=(victim,), extender=0),
    )
    change: Any = apply(plan, pod(schedulingGates=[{"name": "a"}]), scheduler.cluster)
    node, extra = change.put
    assert (node.spec.taints, node.metadata.labels["a"], extra) == ((), "c", claim)
    assert (change.delete, change.drop, change.bypassed) == ((victim,), (), frozenset({0}))
    assert change.pod.spec.scheduling_gates == ()
    slot = scheduler.cluster.nodes.slot_of["n"]
    stored: Any = scheduler.cluster.nodes.objects[slot]
    assert stored.spec.taints != ()


def test_only_changes_beyond_the_pod_concern_others():
    before: Any = pod()
    made: Any = Change
    assert not Change(with_fields(before, "metadata", labels={})).affects_others(before)
    assert Change(with_fields(before, "spec", priority=3)).affects_others(before)
    for field, value in (("put", (before,)), ("delete", (before,)), ("drop", (before,)),
                         ("bypassed", frozenset({0}))):  # fmt: skip
        assert made(before, **{field: value}).affects_others(before)


def of_workload(kind, count):
    """Return the texts, efforts and removed pods of the plans for a workload."""
    placed: Any = PlacedPod
    pods = [placed(made, 0, 0, made.key) for made in (make_pod(f"w-{i}") for i in range(count))]
    return [
        (edit.text, round(edit.effort, 3), [each.name for each in edit.delete],
         [[each.name for each in some] for some in edit.each])
        for (edit,) in _scaled_down(kind, "default/w", pods)
    ]  # fmt: skip


def test_workloads_lose_one_pod_before_all():
    assert of_workload("Pod", 1) == [("delete pod default/w", 4.4, ["w-0"], [])]
    assert of_workload("ReplicaSet", 2) == [
        ("reduce replicas of ReplicaSet default/w to 1", 4.0, [], [["w-0"], ["w-1"]]),
        ("reduce replicas of ReplicaSet default/w to 0", 4.52, ["w-0", "w-1"], []),
    ]
    assert of_workload("Job", 1) == [
        ("reduce parallelism of Job default/w to 0", 4.51, ["w-0"], []),
    ]
    assert len(of_workload("ReplicaSet", 8)) == 2
    assert len(of_workload("ReplicaSet", 9)) == 1
    assert [each[:3] for each in of_workload("StatefulSet", 4)] == [
        ("reduce replicas of StatefulSet default/w to 3", 4.02, ["w-3"]),
        ("reduce replicas of StatefulSet default/w to 2", 4.04, ["w-3", "w-2"]),
        ("reduce replicas of StatefulSet default/w to 0", 4.54, [f"w-{3 - n}" for n in range(4)]),
    ]
    assert [each[1] for each in of_workload("StatefulSet", 9)] == [4.02, 4.04, 4.08, 4.16, 4.59]
    assert (_ordinal(make_pod("db-12")), _ordinal(make_pod("db")), _ordinal(make_pod("7-b"))) == (
        12, -1, -1,
    )  # fmt: skip


def test_terms_are_tried_alone_and_together():
    assert list(_each_and_all(0)) == []
    assert list(_each_and_all(1)) == [(0,)]
    assert list(_each_and_all(3)) == [(0,), (1,), (2,), (0, 1, 2)]
    assert _key_of(LabelSelectorRequirement(key="k", operator="Exists")) == "k"


# ---------------------------------------------------------------------------- rejections


def explained(given, *nodes):
    scheduler = Scheduler()
    scheduler.add(*nodes, given)
    return scheduler.explain(given.key), scheduler.cluster


def test_the_nodes_of_each_reason_are_listed_with_what_they_have_in_common():
    nodes = [
        make_node("a", cpu="1"), make_node("b", taints=["gpu=yes:NoSchedule"]),
        make_node("c", taints=["gpu=yes:NoSchedule"]), make_node("d", taints=["x:NoSchedule"]),
        make_node("e", labels={"disk": "hdd"}, unschedulable=True),
    ]  # fmt: skip
    groups = rejection_groups(*explained(make_pod("p", cpu="2"), *nodes))
    assert [(each.plugin, each.nodes) for each in groups if each.plugin == "NodeResourcesFit"] == [
        ("NodeResourcesFit", ("a",))
    ]
    # In the order of the filters, which is not that of the nodes.
    assert [each.plugin for each in groups] == [
        "NodeUnschedulable", "TaintToleration", "NodeResourcesFit",
    ]  # fmt: skip
    details = {
        each.reason: [(one.text, one.node_count) for one in each.details]
        for each in groups
        if each.plugin == "TaintToleration"
    }
    counted = [one for some in details.values() for one in some]
    assert sorted(counted) == [("taint gpu=yes:NoSchedule", 2), ("taint x:NoSchedule", 1)]


def test_details_are_those_of_filters_that_exist():
    filters = IN_TREE_POINTS.keys() | REGISTERED.keys()
    assert {*_GROUPED, *_DETAILS} <= filters
    assert {*_GROUPED} >= {"CheckVolumeBinding", "MaxCSIVolumeCountPred", "NodeVolumeLimits"}


def test_the_nearest_node_lacks_least_and_says_what():
    nodes = [
        make_node("far", cpu="1", labels={"disk": "hdd"}),
        make_node("half", cpu="3", labels={"disk": "ssd"}),
        make_node("cordoned", cpu="9", labels={"disk": "ssd"}, unschedulable=True),
        make_node("other", cpu="9"),
    ]
    given = make_pod("p", cpu="4", node_selector={"disk": "ssd"})
    near = nearest_nodes(*explained(given, *nodes), limit=None)
    by_name = {each.node: each.lacks for each in near}
    assert by_name["half"] == ("cpu: requests 4, 3 free of 3",)
    assert by_name["cordoned"] == ("it is cordoned (spec.unschedulable)",)
    assert by_name["other"] == ("label disk=ssd (it has none)",)
    assert set(by_name["far"]) == {
        "label disk=ssd (it has disk=hdd)", "cpu: requests 4, 1 free of 1",
    }  # fmt: skip
    names = [each.node for each in near]
    assert names[-1] == "far", "two reasons"
    assert names.index("half") == 2, "those without a shortage come first"
    assert len(nearest_nodes(*explained(given, *nodes), limit=2)) == 2
    assert msgspec.structs.asdict(near[0])["devices"] == ()


def test_what_a_plugin_says_about_a_node_replaces_what_it_lacks():
    def details(plugin: str, node: str) -> tuple[str, ...]:
        return (f"{plugin} on {node}",) if node == "a" else ()

    nodes = [make_node(name, cpu="1") for name in "ab"]
    near = nearest_nodes(*explained(make_pod("p", cpu="2"), *nodes), details=details)
    assert {each.node: each.lacks for each in near} == {
        "a": ("NodeResourcesFit on a",), "b": ("cpu: requests 2, 1 free of 1",),
    }  # fmt: skip


@pytest.mark.parametrize("names", ["abc", "cba", "bac"])
def test_of_equally_near_nodes_the_first_that_arrived_is_first(names: str) -> None:
    nodes = [make_node(name, cpu="1") for name in names]
    near = nearest_nodes(*explained(make_pod("web", cpu="2"), *nodes), limit=None)
    assert [each.node for each in near] == [*names]


def test_a_node_has_the_rejections_of_all_its_filters_and_of_no_other() -> None:
    full = make_node("full", cpu="500m", unschedulable=True)
    nodes = full, make_node("small", cpu="500m"), make_node("fits", cpu="4")
    explanation, cluster = explained(make_pod("web", cpu="2"), *nodes)
    found = Fixes(explanation, cluster, DEFAULT_GATES)
    plugins = {
        name: [status.plugin for status in found.statuses_of(name)]
        for name in ("full", "small", "fits", "unknown")
    }
    assert plugins == {
        "full": ["NodeUnschedulable", "NodeResourcesFit"],
        "small": ["NodeResourcesFit"],
        "fits": [],
        "unknown": [],
    }


def test_a_container_keeps_what_no_struct_has_and_loses_what_is_removed():
    container: dict[str, Any] = {
        "name": "main", "image": "app", "env": [{"name": "A", "value": "1"}],
        "resources": {"requests": {"example.com/gpu": "1"}},
    }  # fmt: skip
    other: dict[str, Any] = {
        "name": "other",
        "image": "app",
        "resources": {"requests": {"cpu": "1"}},
    }
    spec = {"containers": [container, other], "initContainers": [other | {"name": "first"}]}
    pod = decode_pod({"metadata": {"name": "web"}, "spec": spec})
    edit = pod_edits.remove_request(pod, "example.com/gpu", "for which no device can be used")
    assert edit.on_pod is not None
    changed = encode(edit.on_pod(pod))["spec"]
    assert changed["containers"] == [container | {"resources": {}}, other]
    assert changed["initContainers"] == spec["initContainers"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ({"persistentVolumeClaim": {"claimName": "c"}}, "claim x/c"),
        ({"ephemeral": {}}, "claim x/p-v"),
        ({"emptyDir": {}}, "volume v"),
    ],
)
def test_a_volume_is_named_by_its_claim_if_it_has_one(source: dict[str, Any], text: str) -> None:
    pod = make_pod("p", namespace="x", spec={"volumes": [{"name": "v", **source}]})
    assert _claim_or_name(pod, pod.spec.volumes[0]) == text


def test_a_remedy_is_shown_with_what_it_has() -> None:
    remedy = Remedy(text="cordon", edits=("cordon",), node="n", node_count=2, pod=make_pod("p"))
    whole = msgspec.structs.replace(remedy, commands=("a", "b"), victims=("x/v",))
    names = ("Node", "Feasible nodes", "Commands", "Victims")
    shown = [[name for name in names if f">{name}<" in each._repr_html_()]
             for each in (remedy, whole)]  # fmt: skip
    assert shown == [["Node", "Feasible nodes"], [*names]]
    assert ">a; b<" in whole._repr_html_()
    assert ">x/v<" in whole._repr_html_()
    two = msgspec.structs.replace(whole, victims=("x/v", "x/w"))
    assert ">x/v, x/w<" in two._repr_html_()


def test_a_request_of_nothing_is_removed_as_such() -> None:
    gpu = make_pod("p", resources={"example.com/gpu": 0})
    edit = pod_edits.remove_request(gpu, "example.com/gpu")
    assert edit.text == "remove the example.com/gpu request of 0, which no node provides"
    assert encode(edit.on_pod(gpu))["spec"]["containers"][0].get("resources", {}) == {}
