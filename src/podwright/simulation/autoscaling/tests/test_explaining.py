"""Explanations: which group would help a pending pod, and why the others would not."""

from __future__ import annotations

import pytest

import podwright as pw
from podwright.apimachinery.objects import InputError, decode
from podwright.simulation.autoscaling import parse_node_groups
from podwright.simulation.autoscaling.tests.test_scale_up import deployment, group
from podwright.testing import make_node, make_pod


def explained(objects, groups, *pods, **options):
    autoscaling = parse_node_groups({"groups": groups, "options": options}, "groups")
    return pw.explain_autoscaling(objects, autoscaling, pods)


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


def test_a_pod_that_is_not_pending_is_an_error_with_the_nearest_name():
    with pytest.raises(InputError, match='did you mean "default/web"'):
        explained([make_pod("web", cpu="1")], [group()], "default/wep")


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
    (found,) = explained([make_node("n", cpu="1", labels={"pool": "a"}), *pods], [group(cpu="8")])
    assert (found.groups[0].size, found.groups[0].max_size) == (1, 10)


def test_new_nodes_have_pods_of_daemon_sets_and_of_no_other_workload():
    metadata = {"name": "x", "namespace": "default"}
    for kind, chosen in (("ReplicaSet", ("a",)), ("DaemonSet", ())):
        spec = {**deployment("x", 0, cpu="2").raw["spec"]}
        if kind == "DaemonSet":
            del spec["replicas"]
        other = {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}
        (found,) = explained([decode(other), make_pod("web", cpu="3")], [group()])
        assert found.chosen == chosen
        assert found.is_helped is bool(chosen)


@pytest.mark.parametrize(("count", "chosen"), [(2, "one"), (3, "two"), (7, "four")])
def test_the_price_depends_on_the_number_of_nodes(count, chosen):
    nodes = [make_node(f"n{number}", cpu="1m") for number in range(count)]
    groups = [group(name, cpu=cpu) for name, cpu in (("one", "1"), ("two", "2"), ("four", "4"))]
    (found,) = explained([*nodes, make_pod("web", cpu="1")], groups, expander=["price"])
    assert found.chosen == (chosen,)
