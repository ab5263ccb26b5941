"""Daemon sets, by their Events and pods."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import yaml

from podwright.apimachinery.objects import Pod
from podwright.cluster.controllers.adoption import controller_reference_document
from podwright.cluster.controllers.apps.daemon_pods import daemon_tolerations, target_node
from podwright.cluster.controllers.apps.daemon_set import DaemonSetController
from podwright.cluster.controllers.tests.controller_cluster import Cluster, counting, counts

SET = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: "agent:1"}]}
"""


def cluster(**options: Any) -> Cluster:
    return Cluster([DaemonSetController], **options)


def image(version: int | str) -> dict[str, Any]:
    containers = [{"name": "c", "image": f"agent:{version}"}]
    return {"spec": {"template": {"spec": {"containers": containers}}}}


def rolling(**settings: Any) -> dict[str, Any]:
    return {"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": settings}}}


def shape(world: Cluster) -> str:
    """Return the pods as `n0:1 n1:1! n2:2-`: node, version, `!` not ready, `-` terminating."""
    return " ".join(sorted(map(_shown, world.pods())))


def _shown(pod: Pod) -> str:
    ready = any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions)
    mark = "-" if pod.is_terminating else "" if ready else "!"
    return f"{target_node(pod)}:{pod.spec.containers[0].image.partition(':')[2]}{mark}"


def shapes(world: Cluster, seconds: int) -> list[str]:
    found = [shape(world)]
    for _ in range(seconds * 2):
        world.run(0.5)
        if found[-1] != shape(world):
            found.append(shape(world))
    return found


def test_every_node_gets_a_pod_with_its_node_affinity():
    world = cluster()
    world.apply(SET)
    assert shape(world) == "n0:1! n1:1! n2:1!"
    pod = world.pods()[0]
    (revision,) = world.all("revision")
    hashed = revision.name.removeprefix("agent-")
    assert pod.metadata.labels == {
        "app": "agent",
        "controller-revision-hash": hashed,
        "pod-template-generation": "1",
    }
    assert revision.metadata.labels == {"app": "agent", "controller-revision-hash": hashed}
    assert pod.raw["spec"]["affinity"]["nodeAffinity"] == {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {
                    "matchFields": [
                        {"key": "metadata.name", "operator": "In", "values": [target_node(pod)]}
                    ]
                }
            ]
        }
    }
    assert sorted(world.new_events()) == [
        f"agent: SuccessfulCreate: Created pod: {pod.name}" for pod in world.pods()
    ]


@pytest.mark.parametrize(("annotation", "label"), [("7", "7"), ("", None), ("x", None)])
def test_pods_have_the_generation_that_the_server_has_counted(annotation, label):
    # pkg/controller/daemon/util/daemonset_util.go, GetTemplateGeneration and CreatePodTemplate
    world = cluster()
    document = yaml.safe_load(SET)
    document["metadata"]["annotations"] = {"deprecated.daemonset.template.generation": annotation}
    world.create(document)
    world.settle()
    (revision,) = world.all("revision")
    assert revision.raw["revision"] == 1
    labels = [pod.metadata.labels.get("pod-template-generation") for pod in world.pods()]
    assert labels == [label] * 3


def test_imported_pods_without_revisions_are_kept_until_the_template_changes():
    world = cluster()
    document = yaml.safe_load(SET)
    document["metadata"]["annotations"] = {"deprecated.daemonset.template.generation": "7"}
    owner = world.create(document)
    labels = {"controller-revision-hash": "57cfbdcd9", "pod-template-generation": "7"}
    for node in ("n0", "n1", "n2"):
        template = document["spec"]["template"]
        metadata = {
            "name": f"agent-{node}",
            "labels": {"app": "agent"} | labels,
            "ownerReferences": [controller_reference_document(owner)],
        }
        spec = template["spec"] | {"nodeName": node}
        world.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    world.add_node("n3")
    world.settle()
    world.run(10)
    assert shape(world) == "n0:1 n1:1 n2:1 n3:1"
    assert {"agent-n0", "agent-n1", "agent-n2"} < set(world.names())
    assert [each.name for each in world.all("revision")] == ["agent-57cfbdcd9"]
    assert all(labels.items() <= pod.metadata.labels.items() for pod in world.pods())
    world.patch("daemonset", "agent", image(2))
    world.run(20)
    assert shape(world) == "n0:2 n1:2 n2:2 n3:2"
    assert {pod.metadata.labels["pod-template-generation"] for pod in world.pods()} == {"8"}


def test_the_status_of_a_set():
    world = cluster()
    world.apply(SET)
    assert world.status("daemonset", "agent") == {
        "currentNumberScheduled": 3,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 3,
        "numberReady": 0,
        "observedGeneration": 1,
        "updatedNumberScheduled": 3,
        "numberUnavailable": 3,
    }
    world.run(2)
    assert world.status("daemonset", "agent") == {
        "currentNumberScheduled": 3,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 3,
        "numberReady": 3,
        "observedGeneration": 1,
        "updatedNumberScheduled": 3,
        "numberAvailable": 3,
    }


def test_new_nodes_get_a_pod_and_removed_ones_lose_unbound_pods():
    world = cluster()
    world.apply(SET)
    world.run(2)
    world.binds = False
    world.add_node("n9")
    world.settle()
    assert shape(world) == "n0:1 n1:1 n2:1 n9:1!"
    world.delete("node", "n9")
    assert shape(world) == "n0:1 n1:1 n2:1"
    assert world.status("daemonset", "agent")["desiredNumberScheduled"] == 3


@pytest.mark.parametrize(
    ("template", "nodes"),
    [
        pytest.param({}, "plain", id="not on a node with an untolerated taint"),
        pytest.param({"nodeSelector": {"disk": "ssd"}}, "", id="neither selected nor tolerated"),
        pytest.param(
            {"tolerations": [{"operator": "Exists"}]}, "plain tainted", id="tolerating all"
        ),
        pytest.param({"nodeName": "plain"}, "plain", id="a node by name"),
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {
                                    "matchExpressions": [
                                        {"key": "disk", "operator": "In", "values": ["ssd"]}
                                    ]
                                }
                            ]
                        }
                    }
                },
                "tolerations": [{"key": "gpu", "operator": "Exists"}],
            },
            "tainted",
            id="by affinity",
        ),
    ],
)
def test_eligible_nodes(template, nodes):
    world = cluster(nodes=0)
    world.add_node("plain")
    taint = {"key": "gpu", "effect": "NoSchedule"}
    world.add_node("tainted", labels={"disk": "ssd"}, taints=[taint])
    world.apply(SET)
    world.run(2)
    world.patch("daemonset", "agent", {"spec": {"template": {"spec": template}}})
    world.run(10)
    assert " ".join(sorted(map(target_node, world.pods()))) == nodes


def test_a_cordoned_node_keeps_its_pod_and_a_tainted_one_depends_on_the_effect():
    world = cluster()
    world.apply(SET)
    world.run(2)
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    world.patch("node", "n0", {"spec": {"unschedulable": True, "taints": [cordon]}})
    world.patch("node", "n1", {"spec": {"taints": [{"key": "x", "effect": "NoSchedule"}]}})
    world.patch("node", "n2", {"spec": {"taints": [{"key": "x", "effect": "NoExecute"}]}})
    assert shape(world) == "n0:1 n1:1 n2:1-"
    status = world.status("daemonset", "agent")
    assert (status["desiredNumberScheduled"], status["numberMisscheduled"]) == (1, 2)


def test_a_node_whose_label_changes_loses_its_pod():
    world = cluster(nodes=0)
    world.add_node("a", labels={"disk": "ssd"})
    node_selector = "{nodeSelector: {disk: ssd}, containers: "
    world.apply(SET.replace("{containers: ", node_selector))
    world.run(2)
    world.patch("node", "a", {"metadata": {"labels": {"disk": "hdd"}}})
    assert shape(world) == "a:1-"
    world.run(2)
    world.patch("node", "a", {"metadata": {"labels": {"disk": "ssd"}}})
    assert shape(world) == "a:1!"


def test_a_rolling_update_replaces_one_node_at_a_time():
    world = cluster()
    world.apply(SET)
    world.run(2)
    world.patch("daemonset", "agent", image(2))
    assert shapes(world, 8) == [
        "n0:1- n1:1 n2:1",
        "n0:2! n1:1 n2:1",
        "n0:2 n1:1- n2:1",
        "n0:2 n1:2! n2:1",
        "n0:2 n1:2 n2:1-",
        "n0:2 n1:2 n2:2!",
        "n0:2 n1:2 n2:2",
    ]
    assert {pod.metadata.labels["pod-template-generation"] for pod in world.pods()} == {"2"}


def test_a_rolling_update_counts_unavailable_pods_against_max_unavailable():
    world = cluster(nodes=4)
    world.apply(SET)
    world.run(2)
    world.patch("daemonset", "agent", rolling(maxUnavailable="50%"))
    name = next(pod.name for pod in world.pods() if target_node(pod) == "n3")
    world.unready(name)
    world.patch("daemonset", "agent", image(2))
    assert shape(world) == "n0:1- n1:1 n2:1 n3:1-"
    world.run(10)
    assert shape(world) == "n0:2 n1:2 n2:2 n3:2"


def test_a_surge_creates_the_new_pod_first():
    world = cluster()
    world.apply(SET)
    world.run(2)
    world.patch("daemonset", "agent", rolling(maxSurge=1, maxUnavailable=0))
    world.patch("daemonset", "agent", image(2))
    assert shapes(world, 8) == [
        "n0:1 n0:2! n1:1 n2:1",
        "n0:1- n0:2 n1:1 n1:2! n2:1",
        "n0:2 n1:1- n1:2 n2:1 n2:2!",
        "n0:2 n1:2 n2:1- n2:2",
        "n0:2 n1:2 n2:2",
    ]


def test_on_delete_replaces_only_deleted_pods():
    world = cluster()
    world.apply(SET)
    world.run(2)
    world.patch("daemonset", "agent", {"spec": {"updateStrategy": {"type": "OnDelete"}}})
    world.patch("daemonset", "agent", image(2))
    world.run(5)
    assert shape(world) == "n0:1 n1:1 n2:1"
    world.delete("pod", world.pods()[0].name)
    world.run(5)
    assert shape(world).count(":2") == 1


def test_failed_pods_are_replaced_with_increasing_delay():
    world = cluster(nodes=1, ready_after=None)
    world.apply(SET)
    waits = []
    for _ in range(4):
        (pod,) = world.pods()
        world.fail(pod.name)
        begun_ns = world.now_ns
        while world.names() and world.names()[0] == pod.name:
            world.run(0.5)
        waits.append((world.now_ns - begun_ns) / 1e9)
        while not world.names():
            world.run(0.5)
    assert waits == sorted(waits)
    assert waits[0] < 2
    assert waits[-1] >= 4
    assert any(
        "FailedDaemonPod: Found failed daemon pod default/agent-" in t for t in world.new_events()
    )


def seconds_until_replaced(world: Cluster) -> float:
    (pod,) = world.pods()
    world.fail(pod.name)
    begun_ns = world.now_ns
    while not world.names() or world.names()[0] == pod.name:
        world.run(0.5)
    return (world.now_ns - begun_ns) / 1e9


def test_the_delay_starts_again_after_a_long_time_without_failures():
    world = cluster(nodes=1, ready_after=None)
    world.apply(SET)
    before = [seconds_until_replaced(world) for _ in range(4)]
    world.run(2_000)
    assert [seconds_until_replaced(world) for _ in range(4)] == before


def test_the_youngest_surplus_pod_is_deleted_first():
    world = cluster(nodes=1)
    world.apply(SET)
    world.run(2)
    (pod,) = world.pods()
    world.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "other", "labels": pod.metadata.labels},
            "spec": pod.raw["spec"],
        }
    )
    world.settle()
    assert world.get("pod", "other").metadata.deletion_timestamp is not None
    assert world.get("pod", pod.name).metadata.deletion_timestamp is None


def test_a_pod_whose_labels_change_is_released_and_replaced():
    world = cluster(nodes=1)
    world.apply(SET)
    world.run(2)
    (pod,) = world.pods()
    world.patch("pod", pod.name, {"metadata": {"labels": {"app": "debug"}}})
    assert world.get("pod", pod.name).metadata.owner_references == ()
    assert len(world.pods()) == 2


def test_revisions_beyond_the_history_limit_are_deleted():
    world = cluster(nodes=1)
    world.apply(SET.replace("spec:\n  selector", "spec:\n  revisionHistoryLimit: 1\n  selector"))
    for version in range(2, 6):
        world.run(10)
        world.patch("daemonset", "agent", image(version))
    world.run(10)
    assert sorted(each.raw["revision"] for each in world.all("revision")) == [4, 5]


def test_pods_are_available_when_they_have_been_ready_for_long_enough():
    world = cluster()
    world.apply(SET.replace("spec:\n  selector", "spec:\n  minReadySeconds: 10\n  selector"))
    world.run(9)
    status = world.status("daemonset", "agent")
    assert (status["numberReady"], status.get("numberAvailable")) == (3, None)
    world.run(3)
    assert world.status("daemonset", "agent")["numberAvailable"] == 3


@pytest.mark.parametrize("host_network", [False, True])
def test_daemon_tolerations_are_added_or_replace_equal_ones(host_network):
    own = [
        {"key": "gpu", "operator": "Exists"},
        {
            "key": "node.kubernetes.io/not-ready",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 5,
        },
    ]
    found = daemon_tolerations({"tolerations": own, "hostNetwork": host_network})
    names = [each["key"].removeprefix("node.kubernetes.io/") for each in found]
    assert names[:2] == ["gpu", "not-ready"]
    assert "tolerationSeconds" not in found[1]
    assert names[2:] == [
        "unreachable",
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
        *(["network-unavailable"] if host_network else []),
    ]


@pytest.mark.parametrize(
    ("nodes", "per_look"), [(249, [249]), (250, [250]), (251, [250, 1]), (600, [250, 250, 100])]
)
def test_a_sync_creates_or_deletes_at_most_250_pods(nodes, per_look):
    syncs: list[Counter[str]] = []

    world = Cluster([counting(DaemonSetController, syncs)], nodes=nodes)
    world.apply(SET + "  updateStrategy: {type: OnDelete}\n")
    world.run(2)
    assert counts(syncs, "created") == per_look
    assert len(world.pods()) == nodes
    nowhere = {"nodeSelector": {"x": "y"}}
    world.patch("daemonset", "agent", {"spec": {"template": {"spec": nowhere}}})
    world.run(2)
    assert counts(syncs, "deleted") == per_look
    assert world.pods() == []


def test_an_update_continues_after_a_restore():
    world, other = cluster(), cluster()
    other.before_each = other.restart
    for each in (world, other):
        each.apply(SET)
        each.run(2)
        # The second failure of one node is delayed by what the first one left behind.
        for _ in range(2):
            each.fail(each.pods()[0].name)
            each.run(4)
        each.patch("daemonset", "agent", image(2))
        each.run(10)
    assert other.actions == world.actions
