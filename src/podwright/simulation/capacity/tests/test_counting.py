"""Counting what fits: templates, mixes, limits, preemption, headroom, losses, the review."""

from __future__ import annotations

import pytest
import yaml

import podwright as pw
from podwright.apimachinery.objects import InputError, decode, encode
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import parse_gates, read_configuration
from podwright.simulation.capacity import capacity_review, review_text
from podwright.simulation.capacity.counting import _headroom
from podwright.simulation.world.tests.test_devices import CLASS, TEMPLATE, devices
from podwright.testing import make_node, make_pod

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u",
         "controller": True}  # fmt: skip


def workload(kind="Deployment", name="web", cpu="1", **spec):
    replicas = {} if kind in ("Job", "DaemonSet", "CronJob") else {"replicas": 3}
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {
            "restartPolicy": "Never" if kind == "Job" else "Always",
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}],
        },
    }
    return decode(
        {
            "apiVersion": "batch/v1" if kind in ("Job", "CronJob") else "apps/v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": template}
            | replicas
            | spec,
        }
    )


def stop_of(found: pw.Capacity) -> pw.CapacityStop:
    assert found.stop is not None
    return found.stop


def cluster(count=4):
    return [
        make_node(f"n{i}", cpu="4", zone="ab"[i % 2], labels={"pool": "p" if i < 3 else "q"})
        for i in range(count)
    ]


def owned(name, node, cpu="1", priority=0, owner="rs"):
    pod = make_pod(name, cpu=cpu, node=node, priority=priority)
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": "u"}
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "ownerReferences": [reference | {"controller": True}],
        },
        "spec": pod.raw["spec"],
    }
    return decode(document)


@pytest.mark.parametrize(
    ("template", "count"),
    [
        pytest.param(make_pod("x", cpu="1"), 16, id="a pod"),
        pytest.param(make_pod("x", cpu="1", node="n1"), 16, id="its node is left out"),
        pytest.param(workload(), 16, id="a Deployment"),
        pytest.param(workload("StatefulSet", serviceName="web"), 16, id="pods with ordinals"),
        pytest.param(workload("Job", completions=2, parallelism=2), 16, id="a Job"),
        pytest.param(make_pod("x", cpu="5"), 0, id="none fits"),
    ],
)
def test_pods_of_a_template_fill_the_cluster(template, count):
    found = pw.capacity(cluster(), template)
    assert found.count == found.templates[0].count == sum(found.templates[0].nodes.values())
    assert found.count == count
    assert stop_of(found).type == "Unschedulable"
    assert stop_of(found).message.startswith("0/4 nodes are available: 4 Insufficient cpu.")
    assert [(each.plugin, each.nodes) for each in stop_of(found).reasons] == [
        ("NodeResourcesFit", 4)
    ]


def test_each_pod_has_a_claim_of_the_template_that_it_names():
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    template = make_pod("x", cpu="1", spec={"resourceClaims": claims})
    cluster = [make_node("n", cpu="8"), CLASS, TEMPLATE, devices("gpu-0", "gpu-1")]
    found = pw.capacity(cluster, template)
    assert found.count == 2
    assert stop_of(found).message.startswith("0/1 nodes are available: 1 cannot allocate all")


def test_a_pod_of_the_cluster_can_be_the_template():
    web = make_pod("web", cpu="2", node="n0")
    assert pw.capacity([*cluster(1), web], web).count == 1


@pytest.mark.parametrize(
    ("owners", "nodes"),
    [
        pytest.param([], {"large": 6}, id="the emptier node scores higher"),
        pytest.param([OWNER], {"small": 3, "large": 3}, id="replicas are spread by default"),
    ],
)
def test_more_of_a_pod_are_more_replicas_of_its_owner(owners, nodes):
    replica_set = decode(
        {"apiVersion": "apps/v1", "kind": "ReplicaSet"}
        | {"metadata": {"name": "web", "namespace": "default", "uid": "u"}}
        | {"spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}}}
    )
    pod = encode(make_pod("web", cpu="500m", memory="64Mi", labels={"app": "web"}))
    pod["metadata"]["ownerReferences"] = owners
    present = [make_node("small", cpu="4"), make_node("large", cpu="64", memory="256Gi")]
    question = pw.CapacityQuestion(pods=(decode(pod),), max_limit=6)
    found = pw.capacity([*present, replica_set], question, expands_workloads=False)
    assert found.templates[0].nodes == nodes


def test_counts_by_zone_and_pool():
    found = pw.capacity(cluster(), make_pod("x", cpu="3")).templates[0]
    assert (found.zones, found.pools) == ({"a": 2, "b": 2}, {"p": 3, "q": 1})
    reversed_zones = [make_node(f"n{i}", cpu="4", zone="ba"[i]) for i in range(2)]
    found = pw.capacity(reversed_zones, make_pod("x", cpu="3")).templates[0]
    assert list(found.zones) == ["a", "b"]
    question = pw.CapacityQuestion(
        pods=(make_pod("x", cpu="3"),), pool_label="kubernetes.io/hostname"
    )
    assert len(pw.capacity(cluster(), question).templates[0].pools) == 4


def test_a_mix_is_filled_by_sets():
    pods = (make_pod("large", cpu="2"), make_pod("small", cpu="500m"))
    found = pw.capacity(cluster(2), pw.CapacityQuestion(pods=pods, ratio=(1, 4)))
    assert ([each.count for each in found.templates], found.sets) == ([2, 8], 2)
    found = pw.capacity(cluster(2), [workload(cpu="500m"), make_pod("x", cpu="500m")])
    assert ([each.count for each in found.templates], found.sets) == ([12, 4], 4)


def test_the_limit_stops():
    found = pw.capacity(cluster(), pw.CapacityQuestion(pods=(workload(),), max_limit=5))
    assert (found.count, stop_of(found).type, found.stopped_template) == (5, "LimitReached", -1)
    assert stop_of(found).message == "Maximum number of pods simulated: 5"


def test_preemption_makes_room():
    pods = [make_pod(f"low{i}", cpu="3", node=f"n{i}") for i in range(2)]
    high = make_pod("high", cpu="2", priority=10)
    without = pw.capacity([*cluster(2), *pods], high)
    assert (without.count, stop_of(without).nominated_node != "") == (0, True)
    question = pw.CapacityQuestion(pods=(high,), preemption=True)
    found = pw.capacity([*cluster(2), *pods], question)
    assert (found.count, sorted(found.evicted)) == (4, ["default/low0", "default/low1"])


def test_pending_pods_and_excluded_nodes_are_counted_first():
    question = pw.CapacityQuestion(pods=(make_pod("x", cpu="1"),), exclude_nodes=("n0", "n1"))
    pods = [make_pod("a", cpu="2"), make_pod("b", cpu="9"), make_pod("c", cpu="1", node="n0")]
    found = pw.capacity([*cluster(), *pods], question)
    assert (found.node_count, found.count) == (2, 6)
    assert (found.pending_scheduled, found.pending_unscheduled) == (1, 1)


def test_headroom_of_each_workload():
    objects = [*cluster(2), workload(), workload("StatefulSet", "db", "3", replicas=1)]
    found = pw.capacity(objects, pw.CapacityQuestion(headroom=True))
    by_key = {each.key: (each.running, each.count) for each in found.headroom}
    assert by_key == {"default/db": (1, 0), "default/web": (3, 2)}
    assert found.templates == ()


def test_headroom_of_pods_whose_workload_is_not_declared():
    found = pw.capacity([*cluster(1), owned("x", "n0")], pw.CapacityQuestion(headroom=True))
    assert [(each.kind, each.count) for each in found.headroom] == [("ReplicaSet", 3)]
    document = owned("x", "n0").raw
    (reference,) = document["metadata"]["ownerReferences"]
    reference |= {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": "r"}
    found = pw.capacity([*cluster(1), decode(document)], pw.CapacityQuestion(headroom=True))
    assert [(each.kind, each.key, each.count) for each in found.headroom] == [
        ("RayCluster", "default/r", 3)
    ]


def test_headroom_is_counted_a_workload_at_a_time():
    objects = [*cluster(1), owned("x", "n0"), owned("y", "n0", owner="other")]
    scheduler, seen = Scheduler(), []
    scheduler.add(*objects)
    question = pw.CapacityQuestion(headroom=True)
    found = _headroom(scheduler, objects, question, lambda *part: seen.append(part))
    assert [each.key for each in found] == ["default/rs", "default/other"]
    assert seen == [(1, 2), (2, 2)]


def test_the_loss_of_nodes_zones_and_pools():
    objects = [*cluster(), *(owned(f"p{i}", f"n{i}", "3") for i in range(4))]
    objects.append(make_pod("alone", cpu="1", node="n3"))
    objects.append(make_pod("large", cpu="99"))
    question = pw.CapacityQuestion(loss=("node", "zone", "pool"))
    found = {(each.of, each.name): each for each in pw.capacity(objects, question).losses}
    assert {key: len(loss.pending) for key, loss in found.items()} == {
        ("pool", "p"): 3, ("zone", "a"): 2, ("zone", "b"): 2, ("pool", "q"): 1,
        ("node", "n0"): 1, ("node", "n1"): 1, ("node", "n2"): 1, ("node", "n3"): 1,
    }  # fmt: skip
    assert found["node", "n3"].gone == ("default/alone",)
    stop = found["zone", "a"].pending[0].stop
    assert stop.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert [(each.plugin, each.nodes) for each in stop.reasons] == [("NodeResourcesFit", 2)]


def test_a_loss_is_that_of_a_cluster_without_the_nodes():
    objects = [*cluster(), *(owned(f"p{i}", f"n{i % 4}", "1500m") for i in range(8))]
    options = pw.SchedulerOptions(tie_rule=pw.TieRule.FIRST)
    losses = pw.capacity(objects, pw.CapacityQuestion(loss=("node",)), options).losses
    for loss in losses:
        kept = [obj for obj in objects if obj.name != loss.name]
        scheduler = pw.Scheduler(options)
        scheduler.add(*kept[:3], *(pod for pod in kept[3:] if pod.spec.node_name != loss.name))
        moved = [
            owned(pod.name, "", "1500m") for pod in kept[3:] if pod.spec.node_name == loss.name
        ]
        unfit = [pod.key for pod in moved if not scheduler.schedule(pod).node]
        assert [each.pod for each in loss.pending] == unfit


def test_those_of_higher_priority_take_the_room_after_a_loss():
    objects = [*cluster(2), owned("high", "n0", "4", priority=9), owned("low", "n1", "4")]
    (loss, _) = pw.capacity(objects, pw.CapacityQuestion(loss=("node",))).losses
    pending = {
        each.name: [one.pod for one in each.pending]
        for each in pw.capacity(objects, pw.CapacityQuestion(loss=("node",))).losses
    }
    assert pending == {"n0": ["default/low"], "n1": ["default/low"]}
    assert loss.recreated == 1


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ({"exclude_nodes": ("n33",)}, 'excludeNodes[0]: no node "n33"; did you mean "n3"?'),
        ({"max_limit": -1}, "maxLimit: -1 is negative; 0 is no limit"),
        ({"pool_label": "rack"}, 'poolLabel: no node has the label "rack"'),
        ({"ratio": (1, 2)}, "pods: ratio: has 2 numbers for 1 pod or workload"),
        ({"ratio": (0,)}, "pods: ratio[0]: 0 is not a positive number"),
        ({"pods": ()}, "pods: contains no Pod and no workload, whose pods are to be counted"),
        ({"pods": (decode({"apiVersion": "a/b", "kind": "Pod", "metadata": {"name": "x"}}),)},
         "pods: contains no Pod and no workload, whose pods are to be counted"),
        ({"pods": (workload(template=None),)}, "pods: [0].spec.template: Required value"),
        ({"pods": (workload("DaemonSet"),)}, "pods: [0].kind: a DaemonSet has no replicas"),
    ],
)  # fmt: skip
def test_a_wrong_question_names_its_field(question, text):
    with pytest.raises(InputError) as error:
        pw.capacity(cluster(), pw.CapacityQuestion(**{"pods": (make_pod("x"),), **question}))
    assert str(error.value).startswith(text)


def test_a_cluster_without_nodes_is_an_error():
    with pytest.raises(InputError, match="the cluster has no nodes"):
        pw.capacity([], make_pod("x"))


def test_the_review_has_the_form_of_cluster_capacity():
    pod = make_pod("small", cpu="1500m", memory="100Mi", gpu=1, node_selector={"pool": "p"})
    found = pw.capacity([make_node("n", cpu="4", gpu=2, labels={"pool": "p"})], pod)
    review = capacity_review(found, now="2026-01-01T00:00:00Z")
    assert review["spec"]["podRequirements"] == [
        {
            "podName": "small",
            "resources": {
                "primaryResources": {"cpu": "1500m", "memory": "100Mi"},
                "scalarResources": {"nvidia.com/gpu": 1},
            },
            "nodeSelectors": {"pool": "p"},
        }
    ]
    status = review["status"]
    assert (review["kind"], status["replicas"]) == ("ClusterCapacityReview", 2)
    assert status["failReason"]["failType"] == "Unschedulable"
    (result,) = status["pods"]
    assert result["replicasOnNodes"] == [{"nodeName": "n", "replicas": 2}]
    assert {"reason": "Insufficient cpu", "count": 1} in result["failSummary"]
    lines = list(review_text(review))
    assert lines[:5] == [
        "small pod requirements:",
        "\t- CPU: 1500m",
        "\t- Memory: 100Mi",
        "\t- ScalarResources: map[nvidia.com/gpu:1]",
        "\t- NodeSelector: pool=p",
    ]
    assert "The cluster can schedule 2 instance(s) of the pod small." in lines
    assert lines[-2:] == ["small", "\t- n: 2 instance(s)"]


def test_the_review_has_headroom_losses_and_preemption_only_if_there_are_any():
    objects = [*cluster(2), owned("p0", "n0", "3"), owned("p1", "n1", "3")]
    question = pw.CapacityQuestion(headroom=True, loss=("zone",))
    status = capacity_review(pw.capacity(objects, question))["status"]
    assert "preemption" not in status
    assert "evicted" not in status
    (headroom,) = status["headroom"]
    reason = headroom.pop("failReason")
    assert (reason["failType"], "Insufficient cpu" in reason["failMessage"]) == (
        "Unschedulable", True,
    )  # fmt: skip
    assert headroom == {
        "kind": "ReplicaSet", "workload": "default/rs", "running": 2, "replicas": 0,
    }  # fmt: skip
    assert [(each["of"], each["name"], len(each["pending"])) for each in status["losses"]] == [
        ("zone", "a", 1), ("zone", "b", 1),
    ]  # fmt: skip
    (pending,) = status["losses"][0]["pending"]
    assert (pending["pod"], "Insufficient cpu" in pending["failMessage"]) == ("default/p0", True)
    low = [make_node("n", cpu="4"), owned("low", "n", "3")]
    question = pw.CapacityQuestion(
        pods=(make_pod("high", cpu="2", priority=9),), preemption=True, max_limit=1
    )
    status = capacity_review(pw.capacity(low, question), max_limit=1)["status"]
    assert status["evicted"] == ["default/low"]
    assert not status.keys() & {"headroom", "losses"}


GANGS = "GenericWorkload=true,GangScheduling=true"
COSCHEDULING = {
    "profiles": [
        {
            "plugins": {
                "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
                "queueSort": {
                    "enabled": [{"name": "Coscheduling"}],
                    "disabled": [{"name": "*"}],
                },
            }
        }
    ],
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}


def gang_of(least, *, api="scheduling.k8s.io/v1alpha2"):
    policy = {"gang": {"minCount": least}}
    spec = {"schedulingPolicy": policy} if "k8s.io/v1alpha2" in api else {"minMember": least}
    metadata = {"name": "training", "namespace": "default"}
    return decode({"apiVersion": api, "kind": "PodGroup", "metadata": metadata, "spec": spec})


def member(name, cpu="1", node="", priority=0):
    pod = encode(make_pod(name, cpu=cpu, node=node, priority=priority))
    pod["spec"]["schedulingGroup"] = {"podGroupName": "training"}
    pod["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "training"}
    return decode(pod)


@pytest.mark.parametrize(
    ("options", "group"),
    [
        pytest.param({"gates": parse_gates(GANGS)}, gang_of(3), id="in-tree"),
        pytest.param(
            {"configuration": read_configuration(yaml.safe_dump(COSCHEDULING), source="c")},
            gang_of(3, api="scheduling.x-k8s.io/v1alpha1"),
            id="Coscheduling",
        ),
    ],
)
def test_gangs_are_counted_as_wholes(options, group):
    # 4 nodes with room for 2 members each: 8 pods, of which 2 gangs of 3 are whole.
    found = pw.capacity([*cluster(), group], member("worker", "2"), **options)
    assert (found.count, found.sets, found.templates[0].weight) == (6, 2, 3)
    assert stop_of(found).reasons[0].plugin == "NodeResourcesFit"
    # The group is among the pods of the question.
    question = pw.CapacityQuestion(pods=(group, member("a", "2"), member("b", "2")), max_limit=7)
    found = pw.capacity(cluster(), question, **options)
    assert ([each.count for each in found.templates], found.sets) == ([2, 2], 1)
    assert stop_of(found).type == "LimitReached"
    # Without the plugin, groups mean nothing.
    assert pw.capacity([*cluster(), group], member("worker", "2")).count == 8


def test_pods_of_a_gang_that_runs_are_counted_one_by_one():
    running = [member(f"w{i}", "2", f"n{i}") for i in range(3)]
    found = pw.capacity(
        [*cluster(), gang_of(3), *running], member("w", "2"), gates=parse_gates(GANGS)
    )
    assert (found.count, found.templates[0].weight) == (5, 1)


@pytest.mark.parametrize("size", [2, 3])
def test_a_pending_gang_without_room_occupies_nothing_and_evicts_nothing(size):
    room = size - 1
    low = [make_pod(f"low{i}", cpu="4", node=f"n{i}") for i in range(room)]
    waiting = [member(f"w{i}", "3", priority=5) for i in range(size)]
    objects, gates = [*cluster(room), gang_of(size), *low, *waiting], parse_gates(GANGS)
    question = pw.CapacityQuestion(pods=(make_pod("x", cpu="4", priority=1),), preemption=True)
    found = pw.capacity(objects, question, gates=gates)
    assert (found.pending_scheduled, found.pending_unscheduled) == (0, size)
    assert (found.count, sorted(found.evicted)) == (room, [pod.key for pod in low])
    found = pw.capacity([*objects, make_node("more", cpu="4")], question, gates=gates)
    assert (found.pending_scheduled, found.count) == (size, 0)


@pytest.mark.parametrize("size", [2, 3])
def test_a_gang_of_the_question_that_fits_in_part_evicts_nothing(size):
    pods = (make_pod("low", cpu="4"), member("worker", "4", priority=5))
    question = pw.CapacityQuestion(pods=pods, preemption=True)
    found = pw.capacity([*cluster(size - 1), gang_of(size)], question, gates=parse_gates(GANGS))
    assert [each.count for each in found.templates] == [size - 1, 0]
    assert found.evicted == ()


@pytest.mark.parametrize(
    ("low", "scheduled", "count"),
    [
        pytest.param({}, 3, 1, id="the others get the place of another pod"),
        pytest.param({"priority": 9}, 2, 0, id="the others wait"),
    ],
)
@pytest.mark.parametrize("least", [1, 2])
def test_members_of_a_gang_that_fit_keep_their_nodes(low, scheduled, count, least):
    """Upstream: pkg/scheduler/schedule_one_podgroup.go, submitPodGroupAlgorithmResult"""
    waiting = [member(f"w{i}", "1", priority=5) for i in range(3)]
    objects = [*cluster(1), gang_of(least), make_pod("low", cpu="2", node="n0", **low), *waiting]
    question = pw.CapacityQuestion(pods=(make_pod("x", cpu="1", priority=1),), preemption=True)
    found = pw.capacity(objects, question, gates=parse_gates(GANGS))
    assert (found.pending_scheduled, found.pending_unscheduled) == (scheduled, 3 - scheduled)
    assert found.count == count
