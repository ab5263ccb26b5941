"""Explanations: which group would help a pending pod, and why the others would not."""

from __future__ import annotations

import pytest

import podwright as pw
from podwright.apimachinery.objects import InputError, OwnerReference, decode, with_fields
from podwright.simulation.autoscaling import parse_node_groups
from podwright.simulation.autoscaling.tests.test_scale_up import deployment, group
from podwright.testing import make_node, make_pod


def explained(objects, groups, *pods, **options):
    autoscaling = parse_node_groups({"groups": groups, "options": options}, "groups")
    return pw.explain_autoscaling(objects, autoscaling, pods)


POOL = {"karpenter.sh/nodepool": "general"}


def test_groups_are_formed_from_the_pools_of_a_cluster():
    tainted = make_node("n2", cpu="2", labels={"pool": "b"}, taints=["k:NoSchedule"])
    nodes = [
        make_node("n1", cpu="2", labels=POOL),
        tainted,
        make_node("n3", cpu="2"),
        make_node("n4", cpu="8", labels=POOL),
    ]
    groups = pw.pool_groups(nodes)
    assert [(each.name, each.min_size, each.max_size) for each in groups.groups] == [
        ("general", 0, None),
        ("b", 0, None),
    ]
    fill = [
        make_pod(f"on-{n.name}", cpu=str(n.status.allocatable["cpu"]), node=n.name) for n in nodes
    ]
    (found,) = pw.explain_autoscaling([*nodes, *fill, make_pod("p", cpu="1")], groups)
    assert [(each.size, each.max_size, each.reasons) for each in found.groups] == [
        (2, None, ()),
        (1, None, ("node(s) had untolerated taint(s)",)),
    ]
    assert found.chosen == ("general",)
    by_label = pw.pool_groups(nodes, "karpenter.sh/nodepool")
    assert [each.name for each in by_label.groups] == ["general"]
    assert by_label.options.pool_label == "karpenter.sh/nodepool"
    assert pw.pool_groups(nodes[2:3]).groups == ()


@pytest.mark.parametrize(
    ("sizes", "paths"),
    [
        ([2, 3], []),
        ([2, None], ["groups[1].maxSize"]),
        ([None, "x"], ["groups[1].maxSize", "groups[0].maxSize"]),
    ],
)
def test_a_file_names_the_greatest_size_of_each_group(sizes, paths):
    groups = [group(name, size=size) for name, size in zip("ab", sizes, strict=True)]
    found = []
    try:
        parse_node_groups({"groups": groups}, "groups")
    except InputError as error:
        found = [each.path for each in error.errors]
    assert found == paths


def test_each_group_says_why_it_does_not_help():
    ssd = group("ssd", cpu="8", template={"labels": {"disk": "ssd"}})
    full = group("full", cpu="8", size=1, template={"labels": {"disk": "ssd"}})
    old = make_node("old", cpu="1", labels={"pool": "full"})
    pod = make_pod("web", cpu="6", node_selector={"disk": "ssd"})
    (found,) = explained([old, pod], [group("small"), ssd, full])
    assert {each.group: (each.helps, each.reasons) for each in found.groups} == {
        "small": (False, ("node(s) didn't match Pod's node affinity/selector",)),
        "ssd": (True, ()),
        "full": (False, ("max node group size reached",)),
    }
    assert found.chosen == ("ssd",)
    assert found.is_helped


def test_the_expander_chooses_and_equal_groups_are_named_together():
    (found,) = explained([make_pod("web", cpu="1")], [group("a"), group("b"), group("c", cpu="9")])
    assert found.chosen == ("a", "b")


def test_a_pod_that_fits_needs_no_group():
    (found,) = explained([make_node("n", cpu="4"), make_pod("web", cpu="1")], [group()])
    assert (found.node, found.chosen) == ("n", ())


def test_only_requested_pods_are_explained_after_those_before_them_were_placed():
    pods = [make_pod(name, cpu="3") for name in "abc"]
    found = explained([make_node("n", cpu="4"), *pods], [group()], "default/c", "default/a")
    assert [(each.pod, each.node, each.chosen) for each in found] == [
        ("default/a", "n", ()), ("default/c", "", ("a",)),
    ]  # fmt: skip
    assert all(each.is_helped for each in found)


def test_a_nominated_pod_waits_for_its_node():
    """Upstream: core/podlistprocessor/filter_out_expendable.go"""
    full = [make_node("n", cpu="4"), make_pod("low", cpu="4", node="n", priority=-1)]
    pod = with_fields(make_pod("high", cpu="4"), "status", nominated_node_name="n")
    (found,) = explained([*full, pod], [group()])
    assert (found.node, found.chosen) == ("n", ())
    gone = with_fields(pod, "status", nominated_node_name="gone")
    (found,) = explained([*full, gone], [group()])
    assert (found.node, found.chosen) == ("", ("a",))


def test_no_node_is_added_for_a_pod_that_is_expendable():
    """Upstream: core/podlistprocessor/filter_out_expendable.go"""
    pods = [make_pod("low", cpu="3", priority=-11), make_pod("even", cpu="3", priority=-10)]
    even, low = explained(pods, [group()])
    assert (even.pod, even.chosen) == ("default/even", ("a",))
    assert (low.chosen, low.is_helped) == ((), False)
    text = "its priority is below expendablePodsPriorityCutoff, which is -10"
    assert low.groups[0].reasons == (text,)


def test_pods_that_are_not_pending_are_errors_with_the_nearest_names():
    pods = [make_pod("web", cpu="1"), make_pod("placed", cpu="1", node="n")]
    with pytest.raises(InputError) as caught:
        explained(
            [make_node("n"), *pods], [group()], "default/web", "default/wep", "default/placed"
        )
    first, second = map(str, caught.value.errors)
    assert first == 'pods[1]: default/wep is not a pending pod; did you mean "default/web"?'
    assert second.startswith("pods[2]: default/placed is not a pending pod")


def test_a_group_that_is_wrong_is_an_error_with_its_path():
    pod = make_pod("web", cpu="1")
    with pytest.raises(InputError) as caught:
        pw.explain_autoscaling([pod], pw.Autoscaling(groups=(pw.NodeGroup(name="a", max_size=1),)))
    assert [error.path for error in caught.value.errors] == ["autoscaling.groups[0].template"]


@pytest.mark.parametrize(
    ("options", "pods"),
    [
        ({}, ["default/web-0"]),
        ({"expands_workloads": True}, ["default/web-0"]),
        ({"expands_workloads": False}, []),
    ],
)
def test_workloads_have_pods_unless_they_are_not_expanded(options, pods):
    metadata = {"name": "web", "namespace": "default"}
    spec = {**deployment("web", 1).raw["spec"], "serviceName": "web"}
    workload = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}
    autoscaling = parse_node_groups({"groups": [group()]}, "groups")
    found = pw.explain_autoscaling([decode(workload)], autoscaling, **options)
    assert [each.pod for each in found] == pods


def test_a_full_group_says_so_beside_what_the_scheduler_says():
    old = [make_node(name, cpu="1", labels={"pool": "a"}) for name in ("m", "n")]
    (found,) = explained([*old, make_pod("web", cpu="6")], [group(size=1)])
    assert found.groups[0].reasons == ("Insufficient cpu", "max node group size reached")
    assert not found.groups[0].helps


def test_pods_alike_get_one_answer_until_another_pod_is_placed():
    term = {
        "labelSelector": {"matchLabels": {"app": "db"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    near = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    front = [make_pod(f"front-{number}", cpu="1", spec=near) for number in range(3)]
    database = make_pod("db", cpu="1", labels={"app": "db"})
    objects = [make_node("n", cpu="4"), *front[:2], database, front[2]]
    found = explained(objects, [group()])
    assert [(each.pod, each.node) for each in found] == [
        ("default/front-0", ""), ("default/front-1", ""),
        ("default/db", "n"), ("default/front-2", "n"),
    ]  # fmt: skip
    assert found[0].groups == found[1].groups
    assert found[0].groups[0].reasons == ("node(s) didn't match pod affinity rules",)


def test_only_nodes_count_for_the_size_of_a_group():
    pods = [make_pod("web", cpu="6", labels={"pool": "a"})]
    (found,) = explained(pods, [group(size=1, cpu="8")])
    assert (found.groups[0].size, found.groups[0].max_size, found.chosen) == (0, 1, ("a",))
    assert found.groups[0].helps
    (found,) = explained([make_node("n", cpu="1", labels={"pool": "a"}), *pods], [group(cpu="8")])
    assert (found.groups[0].size, found.groups[0].max_size) == (1, 10)


def test_new_nodes_have_pods_of_daemon_sets_and_of_no_other_workload():
    metadata = {"name": "x", "namespace": "default"}
    for kind, chosen in (("ReplicaSet", ("a",)), ("DaemonSet", ())):
        spec = {**deployment("x", 0, cpu="2").raw["spec"]}
        if kind == "DaemonSet":
            del spec["replicas"]
        other = {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}
        web = make_pod("web", cpu="3")
        (found,) = explained([decode(other), web], [group()])
        assert found.chosen == chosen
        assert found.is_helped is bool(chosen)
        # A set of a server has its pods on the nodes that exist.
        known = metadata | {"uid": "u", "resourceVersion": "5"}
        status = {"status": {"currentNumberScheduled": 3, "replicas": 3}}
        (found,) = explained([decode(other | {"metadata": known} | status), web], [group()])
        assert found.chosen == chosen


def test_no_node_is_added_for_a_pod_of_a_daemon_set():
    """Upstream: core/podlistprocessor/filter_out_daemon_sets.go"""
    owner = OwnerReference(
        api_version="apps/v1", kind="DaemonSet", name="x", uid="u", controller=True
    )
    pods = [
        with_fields(make_pod(name, cpu=cpu), "metadata", owner_references=(owner,))
        for name, cpu in (("fits", "1"), ("waits", "3"))
    ]
    objects = [make_node("n", cpu="2"), *pods, make_pod("like", cpu="3")]
    assert [(each.pod, each.node, each.chosen) for each in explained(objects, [group()])] == [
        ("default/fits", "n", ()), ("default/like", "", ("a",)),
    ]  # fmt: skip
    for asked in (["default/waits"], ["default/like", "default/waits"]):
        by_name = {each.pod: each for each in explained(objects, [group()], *asked)}
        found = by_name["default/waits"]
        assert (found.chosen, found.is_helped) == ((), False)
        assert found.groups[0].reasons == ("no node is added for a pod of a DaemonSet",)
        assert all(each.is_helped for name, each in by_name.items() if name == "default/like")


@pytest.mark.parametrize(("count", "chosen"), [(2, "one"), (3, "two"), (7, "four")])
def test_the_price_depends_on_the_number_of_nodes(count, chosen):
    nodes = [make_node(f"n{number}", cpu="1m") for number in range(count)]
    groups = [group(name, cpu=cpu) for name, cpu in (("one", "1"), ("two", "2"), ("four", "4"))]
    (found,) = explained([*nodes, make_pod("web", cpu="1")], groups, expander=["price"])
    assert found.chosen == (chosen,)
