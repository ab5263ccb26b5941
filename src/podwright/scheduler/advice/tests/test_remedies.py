"""Remedies: what is proposed for each reason, in the order of effort, and what is left out."""

from __future__ import annotations

import json

import pytest

import podwright as pw
from podwright.apimachinery.objects import OwnerReference, decode, with_fields
from podwright.scheduler.advice.amounts import quantity_text
from podwright.scheduler.advice.claim_fixes import VolumeFixes
from podwright.scheduler.advice.edits import Change
from podwright.scheduler.advice.remedies import Outcome, Search
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import DEFAULT_GATES, ExtenderCall, ExtenderReply
from podwright.scheduler.framework import Explanation
from podwright.testing import make_node, make_pod

ZONE = "topology.kubernetes.io/zone"


def document(kind: str, name: str, version: str = "v1", **fields):
    return decode({"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields})


def spread(**fields):
    selector = {"matchLabels": {"app": "web"}}
    return {"topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
         "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector} | fields
    ]}  # fmt: skip


def pending(**spec):
    """Return a pod that requests one CPU."""
    containers = [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]
    labels = spec.pop("labels", {"app": "web"})
    return decode({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "pod", "namespace": "default", "labels": labels},
        "spec": {"containers": containers} | spec,
    })  # fmt: skip


def anti_affinity(app: str):
    term = {
        "labelSelector": {"matchLabels": {"app": app}},
        "topologyKey": "kubernetes.io/hostname",
    }
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def node_affinity(operator: str, *values: str, field: str = "matchExpressions"):
    term = {field: [{"key": "disk", "operator": operator, "values": list(values)}]}
    required = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def placed(name: str, node: str, *, affinity=None, **spec):
    pod = pending(nodeName=node, affinity=affinity or {}, **spec)
    return decode(pod.raw | {"metadata": pod.raw["metadata"] | {"name": name}})


def remedies(pod, *objects, **keywords):
    scheduler = Scheduler(**keywords)
    scheduler.add(*objects, pod)
    return scheduler.remedies(scheduler.explain(pod.key))


def claim(name: str, storage_class: str):
    return decode({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class,
                 "resources": {"requests": {"storage": "1Gi"}}},
    })  # fmt: skip


def claim_with_volume(labels: dict[str, str], **affinity: str):
    """Return a claim and its volume, whose nodes have a label."""
    expressions = [{"key": k, "operator": "In", "values": [v]} for k, v in affinity.items()]
    nodes = {"nodeAffinity": {"required": {"nodeSelectorTerms": [
        {"matchExpressions": expressions}]}}} if affinity else {}  # fmt: skip
    volume = document(
        "PersistentVolume", "pv", spec={
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "csi.example.com", "volumeHandle": "h"},
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data"},
            "storageClassName": "fast", **nodes,
        }, status={"phase": "Bound"},
    )  # fmt: skip
    volume = decode(volume.raw | {"metadata": {"name": "pv", "labels": labels}})
    bound = claim("data", "fast").raw
    bound |= {"spec": bound["spec"] | {"volumeName": "pv"}, "status": {"phase": "Bound"}}
    annotations = {"pv.kubernetes.io/bind-completed": "yes"}
    return decode(bound | {"metadata": bound["metadata"] | {"annotations": annotations}}), volume


LAST_PORT = [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 65535}]}]
HOST_PORT = [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}]


@pytest.mark.parametrize(
    ("pod", "objects", "first"),
    [
        pytest.param(
            pending(), [make_node("n", cpu="4", unschedulable=True)], "uncordon node n",
            id="a cordoned node",
        ),
        pytest.param(
            pending(), [make_node("n", cpu="4", taints=["gpu=yes:NoSchedule"])],
            "add a toleration for taint gpu=yes:NoSchedule", id="a taint",
        ),
        pytest.param(
            pending(nodeSelector={"disk": "ssd"}),
            [make_node("n", cpu="4", labels={"disk": "hdd"})],
            "change disk in nodeSelector from ssd to hdd", id="another value of a label",
        ),
        pytest.param(
            pending(nodeSelector={"disk": "ssd"}), [make_node("n", cpu="4")],
            "remove disk=ssd from nodeSelector", id="a label that no node has",
        ),
        pytest.param(
            pending(affinity=node_affinity("In", "ssd")),
            [make_node("n", cpu="4", labels={"disk": "hdd"})],
            "add hdd to the values of disk in nodeSelectorTerms[0] of the required node affinity",
            id="node affinity by In",
        ),
        pytest.param(
            pending(affinity=node_affinity("NotIn", "hdd", "tape")),
            [make_node("n", cpu="4", labels={"disk": "hdd"})],
            "remove hdd from the excluded values of disk in nodeSelectorTerms[0] of the required"
            " node affinity",
            id="node affinity by NotIn",
        ),
        pytest.param(
            pending(affinity=node_affinity("Exists")), [make_node("n", cpu="4")],
            "make the required node affinity preferred", id="node affinity by Exists",
        ),
        pytest.param(
            pending(affinity=node_affinity("In", "ssd", field="matchFields")),
            [make_node("n", cpu="4", labels={"disk": "ssd"})],
            "make the required node affinity preferred", id="a term over fields",
        ),
        pytest.param(
            pending(), [make_node("n", taints=["node.kubernetes.io/unschedulable:NoSchedule"],
                                  unschedulable=True)],
            "uncordon node n", id="a cordoned node with the taint",
        ),
        pytest.param(
            pending(containers=LAST_PORT), [make_node("n"), placed("o", "n", containers=LAST_PORT)],
            "remove hostPort 65535", id="the last host port",
        ),
        pytest.param(
            pending(containers=HOST_PORT, hostNetwork=True),
            [make_node("n"), placed("other", "n", containers=HOST_PORT, hostNetwork=True)],
            "use hostPort 81 instead of 80", id="a port of the host network",
        ),
        pytest.param(
            pending(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]),
            [make_node("n", labels={ZONE: "a"}), *claim_with_volume({ZONE: "b__c"})],
            f"add a node like n but with label {ZONE}=b", id="a volume in another zone",
        ),
        pytest.param(
            pending(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]),
            [make_node("n", labels={"rack": "1"}), *claim_with_volume({}, rack="2")],
            "add a node like n but with label rack=2", id="a volume with a node affinity",
        ),
        pytest.param(
            pending(), [make_node("n", cpu="500m")], "reduce the cpu request from 1 to 500m",
            id="a node that is too small",
        ),
        pytest.param(
            pending(), [make_node("n", cpu="50m")], "add a node like n but with 1 cpu",
            id="a node that is far too small",
        ),
        pytest.param(
            pending(containers=[{"name": "main", "resources": {
                "requests": {"cpu": "1", "nvidia.com/gpus": "2"},
                "limits": {"nvidia.com/gpus": "2"},
            }}]),
            [make_node("n", gpu=4)],
            "remove the nvidia.com/gpus request of 2, which no node provides",
            id="a misspelled resource",
        ),
        pytest.param(
            pending(
                containers=[{"name": "main"}],
                initContainers=[{"name": "load", "resources": {
                    "requests": {"nvidia.com/gpus": "2"}, "limits": {"nvidia.com/gpus": "2"},
                }}],
            ),
            [make_node("n", gpu=4)],
            "remove the nvidia.com/gpus request of 2, which no node provides",
            id="a misspelled resource of an init container",
        ),
        pytest.param(
            pending(resources={"requests": {"hugepages-2Mi": "4Mi"},
                               "limits": {"hugepages-2Mi": "4Mi"}}),
            [make_node("n")],
            "remove the hugepages-2Mi request of 4Mi, which no node provides",
            id="a resource of the whole pod",
        ),
        pytest.param(
            pending(containers=[{"name": "main", "resources": {
                "requests": {"cpu": "1", "ephemeral-storage": "1Gi"},
            }}]),
            [make_node("n")],
            "remove the ephemeral-storage request of 1Gi, which no node provides",
            id="storage on a node that does not report it",
        ),
        pytest.param(
            pending(containers=HOST_PORT),
            [make_node("n"), placed("other", "n", containers=HOST_PORT)],
            "use hostPort 81 instead of 80", id="a host port",
        ),
        pytest.param(
            pending(**spread()),
            [make_node("n"), make_node("full", cpu="0"), placed("other", "n")],
            "raise maxSkew from 1 to 2 in topologySpreadConstraints[0]", id="a spread constraint",
        ),
        pytest.param(
            pending(**spread()),
            [make_node("n"), make_node("m", cpu="0", taints=["a=b:NoExecute"]),
             placed("other", "n")],
            "set nodeTaintsPolicy: Honor in topologySpreadConstraints[0]",
            id="an empty domain of tainted nodes",
        ),
        pytest.param(
            pending(**spread(minDomains=2)), [make_node("n"), placed("other", "n")],
            "raise maxSkew from 1 to 2 in topologySpreadConstraints[0]", id="too few domains",
        ),
        pytest.param(
            pending(**spread(topologyKey=ZONE)),
            [make_node("n"), make_node("full", cpu="0", labels={ZONE: "a"})],
            f"set label {ZONE}=a on node n", id="a missing topology label",
        ),
        pytest.param(
            pending(**spread(topologyKey=ZONE)), [make_node("n")],
            "set whenUnsatisfiable: ScheduleAnyway in topologySpreadConstraints[0]",
            id="a topology label that no node has",
        ),
        pytest.param(
            pending(affinity=anti_affinity("db")),
            [make_node("n"), placed("db-0", "n", labels={"app": "db"})],
            "make the required podAntiAffinity term [0] preferred", id="anti-affinity",
        ),
        pytest.param(
            pending(),
            [make_node("n"), placed("db-0", "n", affinity=anti_affinity("web"), labels={})],
            "remove the label app=web of the pod, which the anti-affinity of others selects",
            id="anti-affinity of a placed pod",
        ),
        pytest.param(
            pending(schedulingGates=[{"name": "a"}, {"name": "b"}]), [make_node("n")],
            "remove the scheduling gates a, b", id="scheduling gates",
        ),
        pytest.param(
            pending(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]),
            [make_node("n"),
             document("StorageClass", "fast", "storage.k8s.io/v1", provisioner="csi.example.com",
                      volumeBindingMode="WaitForFirstConsumer")],
            "create PersistentVolumeClaim data with storageClassName fast", id="a missing claim",
        ),
        pytest.param(
            pending(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]),
            [make_node("n"), claim("data", "fast")],
            "create StorageClass fast with volumeBindingMode: WaitForFirstConsumer",
            id="a missing class",
        ),
        pytest.param(
            pending(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]),
            [make_node("n"), claim("data", ""),
             document("StorageClass", "fast", "storage.k8s.io/v1", provisioner="csi.example.com",
                      volumeBindingMode="WaitForFirstConsumer")],
            "use storageClassName fast in PersistentVolumeClaim default/data",
            id="a claim without a class",
        ),
        pytest.param(
            pending(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]),
            [make_node("n"), claim("data", "")],
            "create StorageClass standard with volumeBindingMode: WaitForFirstConsumer and use"
            " storageClassName standard in PersistentVolumeClaim default/data",
            id="a cluster without classes",
        ),
    ],
)  # fmt: skip
def test_the_smallest_change_comes_first(pod, objects, first):
    assert [str(remedy) for remedy in remedies(pod, *objects)][:1] == [first]


def test_a_pod_of_a_daemon_set_stays_with_its_node():
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u"}
    pod = pending(affinity=node_affinity("In", "ssd", field="matchFields"))
    pod = decode(pod.raw | {"metadata": pod.raw["metadata"] | {
        "ownerReferences": [owner | {"controller": True}]}})  # fmt: skip
    assert remedies(pod, make_node("n", cpu="4")) == []


def test_a_request_that_another_node_could_satisfy_is_kept():
    pod = pending(containers=[{"name": "main", "resources": {
        "requests": {"nvidia.com/gpu": "2"}, "limits": {"nvidia.com/gpu": "2"},
    }}])  # fmt: skip
    nodes = (make_node("plain"), make_node("gpus", gpu=4, unschedulable=True))
    found = [remedy.text for remedy in remedies(pod, *nodes)]
    assert found[0] == "uncordon node gpus"
    assert not [text for text in found if text.startswith("remove the")]


def test_two_changes_are_combined_where_one_is_not_enough():
    node = make_node("n", cpu="500m", taints=["gpu=yes:NoSchedule"], unschedulable=True)
    first = remedies(pending(), node)[0]
    assert first.edits == (
        "uncordon node n",
        "add a toleration for taint gpu=yes:NoSchedule",
        "reduce the cpu request from 1 to 500m",
    )
    assert first.commands == ("kubectl uncordon n",)


def test_a_combination_with_a_part_that_suffices_is_left_out():
    nodes = (
        make_node("cordoned", cpu="4", unschedulable=True),
        make_node("both", cpu="4", unschedulable=True, taints=["gpu=yes:NoSchedule"]),
    )
    found = remedies(pending(), *nodes)
    assert [remedy.edits for remedy in found if "uncordon" in remedy.text] == [
        ("uncordon node cordoned",)
    ]


def test_the_same_change_of_other_nodes_is_an_alternative():
    nodes = [make_node(f"n{i}", cpu="4", unschedulable=True) for i in range(3)]
    (first, *_) = remedies(pending(), *nodes)
    assert (first.text, first.alternatives) == ("uncordon node n0", ("n1", "n2"))
    assert first.node_count == 1


def test_the_priority_of_an_existing_class_is_enough_to_preempt():
    high = document("PriorityClass", "high", "scheduling.k8s.io/v1", value=1000)
    found = remedies(pending(), make_node("n", cpu="1"), placed("other", "n"), high)
    (remedy,) = [remedy for remedy in found if remedy.victims]
    assert remedy.text == "use priorityClassName high (1000)"
    assert (remedy.node, remedy.victims) == ("n", ("default/other",))


def owned(pod, kind="StatefulSet", name="db"):
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "u", "controller": True}
    metadata = pod.raw["metadata"] | {"ownerReferences": [owner]}
    return decode(pod.raw | {"metadata": metadata})


def test_fewer_replicas_of_the_pod_s_own_workload_do_not_help():
    pods = [owned(placed(f"db-{ordinal}", "n")) for ordinal in range(3)]
    found = remedies(owned(pending()), make_node("n", cpu="3"), *pods)
    assert [remedy.text for remedy in found if remedy.delete] == []


def test_a_stateful_set_gives_up_its_highest_ordinals():
    pods = [owned(placed(f"db-{ordinal}", "n")) for ordinal in range(3)]
    found = remedies(pending(), make_node("n", cpu="3"), *pods)
    (remedy,) = [remedy for remedy in found if remedy.delete]
    assert remedy.text == "reduce replicas of StatefulSet default/db to 2"
    assert remedy.delete == ("default/db-2",)


@pytest.mark.parametrize("needed", range(1, 11))
def test_a_stateful_set_gives_up_no_more_than_needed(needed):
    pods = [owned(placed(f"db-{ordinal}", "n")) for ordinal in range(10)]
    found = remedies(make_pod("pod", cpu=f"{needed}"), make_node("n", cpu="10"), *pods)
    (remedy,) = [remedy for remedy in found if remedy.delete]
    assert remedy.text == f"reduce replicas of StatefulSet default/db to {10 - needed}"
    assert remedy.delete == tuple(f"default/db-{9 - number}" for number in range(needed))


@pytest.mark.parametrize("skew", [2, 5, 6, 8, 9, 10, 11, 20])
def test_a_spread_constraint_allows_no_more_skew_than_needed(skew):
    spread = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
               "labelSelector": {"matchLabels": {"app": "web"}}}]  # fmt: skip
    pod = pending(labels={"app": "web"}, topologySpreadConstraints=spread)
    nodes = [make_node("full", cpu="0", labels={"zone": "a"}),
             make_node("n", cpu="64", labels={"zone": "b"})]  # fmt: skip
    others = [placed(f"web-{i}", "n", labels={"app": "web"}) for i in range(skew - 1)]
    found = [str(each) for each in remedies(pod, *nodes, *others)]
    assert f"raise maxSkew from 1 to {skew} in topologySpreadConstraints[0]" in found


def workload(kind: str, name: str, node: str, count: int = 2):
    """Return a node that the pods of one workload fill."""
    pods = [owned(placed(f"{name}-{number}", node), kind, name) for number in range(count)]
    return [make_node(node, cpu=f"{count}"), *pods]


@pytest.mark.parametrize(
    ("objects", "removals"),
    [
        pytest.param(
            [*workload("StatefulSet", "db", "n"), *workload("ReplicaSet", "web", "m")],
            ["reduce replicas of ReplicaSet default/web to 1",
             "reduce replicas of StatefulSet default/db to 1"],
            id="one of a ReplicaSet, which has no order, before the last of a StatefulSet",
        ),
        pytest.param(
            [make_node("m", cpu="1"), placed("alone", "m"), *workload("StatefulSet", "db", "n")],
            ["reduce replicas of StatefulSet default/db to 1", "delete pod default/alone"],
            id="a replica less before a pod that nothing makes again",
        ),
        pytest.param(
            [*workload("ReplicaSet", "web", "m", 1), make_node("n", cpu="1"), placed("alone", "n")],
            ["delete pod default/alone", "reduce replicas of ReplicaSet default/web to 0"],
            id="one pod before the end of a workload",
        ),
        pytest.param(
            [*workload("StatefulSet", "db", "n", 3), *workload("StatefulSet", "web", "m")],
            ["reduce replicas of StatefulSet default/web to 1",
             "reduce replicas of StatefulSet default/db to 2"],
            id="of the smaller workload first",
        ),
        pytest.param(
            [*workload("StatefulSet", "db", "n", 3), *workload("StatefulSet", "web", "m", 4)],
            ["reduce replicas of StatefulSet default/db to 2",
             "reduce replicas of StatefulSet default/web to 3"],
            id="also if it came first",
        ),
        pytest.param(
            workload("Job", "sum", "n"),
            ["reduce parallelism of Job default/sum to 1"],
            id="of a Job the pods at the same time",
        ),
    ],
)  # fmt: skip
def test_what_stops_less_comes_first(objects, removals):
    found = [remedy for remedy in remedies(pending(), *objects) if remedy.delete]
    assert [remedy.text for remedy in found] == removals


@pytest.mark.parametrize(
    ("pods_ahead", "most"),
    [
        pytest.param(1_000, 6, id="6,000 pods for all trials together"),
        pytest.param(5_000, 4, id="but four trials at least"),
    ],
)
def test_the_pods_ahead_are_scheduled_again_a_limited_number_of_times(pods_ahead, most):
    scheduler = Scheduler()
    nodes = [make_node(f"n{number}", cpu="4", unschedulable=True) for number in range(8)]
    scheduler.add(*nodes, *workload("StatefulSet", "db", "full"), pending())
    explanation = scheduler.explain("default/pod")
    trial = Crowded(explanation, pods_ahead)
    search = Search(
        explanation,
        scheduler.cluster,
        trial,
        gates=DEFAULT_GATES,
        classes={},
        custom_plugins=(),
    )
    assert search.run().remedies == ()
    assert trial.confirmed == most


class Crowded:
    """A trial of a pod that fits after every change, and not once the pods ahead are placed."""

    def __init__(self, explanation: Explanation, pods_ahead: int) -> None:
        self.explanation = explanation
        self.pods_ahead = pods_ahead
        self.confirmed = 0

    def run(self, change: Change) -> Outcome | None:
        return Outcome("n0", 1)

    def confirm(self, change: Change) -> Outcome | None:
        self.confirmed += 1
        return None

    def explain(self, change: Change) -> Explanation:
        return self.explanation


def refused_by_an_extender(name: str) -> Scheduler:
    """Return a scheduler with an extender that rejects one node."""
    configuration = pw.read_configuration(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "extenders: [{urlPrefix: 'http://x', filterVerb: filter, nodeCacheCapable: true}]\n",
        source="test",
    )

    def refuse(call: ExtenderCall) -> ExtenderReply:
        names = json.loads(call.body)["NodeNames"]
        left = [each for each in names if each != name]
        body = {"NodeNames": left, "FailedNodes": {name: "no"}}
        return ExtenderReply(status=200, body=json.dumps(body).encode())

    return Scheduler(configuration, call_extender=refuse)


@pytest.mark.parametrize(
    ("objects", "texts"),
    [
        pytest.param(
            [],
            ["make extenders[0] (http://x) accept the node", "add a node like refused"],
            id="before a new node",
        ),
        pytest.param(
            [make_node("m", cpu="1"), placed("alone", "m"), *workload("StatefulSet", "db", "n")],
            ["reduce replicas of StatefulSet default/db to 1",
             "make extenders[0] (http://x) accept the node",
             "delete pod default/alone"],
            id="after a replica less, and before a pod that nothing makes again",
        ),
    ],
)  # fmt: skip
def test_an_extender_that_rejects_a_node_is_named(objects, texts):
    scheduler = refused_by_an_extender("refused")
    scheduler.add(make_node("refused"), *objects, pending())
    found = scheduler.remedies(scheduler.explain("default/pod"))
    assert [str(remedy) for remedy in found if str(remedy) in texts] == texts


def test_a_pod_that_fits_and_one_of_another_scheduler_have_no_remedies():
    assert remedies(pending(), make_node("n")) == []
    assert remedies(pending(schedulerName="other"), make_node("n", cpu="0")) == []


@pytest.mark.parametrize("ahead", [2, 3, 5, 7, 8, 9, 11, 15, 16])
def test_as_many_nodes_are_added_as_leave_one_by_the_pods_ahead(ahead):
    """One of the nodes is there, and one is for the pod itself."""
    scheduler = Scheduler()
    scheduler.add(make_node("n", cpu="1"))
    scheduler.add(*[make_pod(f"first-{number}", cpu="1") for number in range(ahead)], pending())
    before = scheduler.state()
    for _ in scheduler.schedule_before("default/pod"):
        pass
    found = scheduler.remedies(scheduler.explain("default/pod"), since=before)
    assert [str(remedy) for remedy in found if "add" in remedy.text] == [
        f"add {ahead} nodes like n"
    ]
    taken = scheduler.displacement(scheduler.explain("default/pod"), before)
    assert taken is not None
    assert (taken.node, taken.pods) == ("n", ("default/first-0",))


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        pytest.param("cpu", 1500, "1500m", id="part of a core"),
        pytest.param("cpu", 2000, "2", id="whole cores"),
        pytest.param("memory", 3 << 30, "3Gi", id="whole gibibytes"),
        pytest.param("memory", (1 << 30) + (1 << 20) + 7, "1025Mi", id="rounded down"),
        pytest.param("memory", 1000, "1000", id="less than a mebibyte"),
        pytest.param("nvidia.com/gpu", 2, "2", id="units"),
    ],
)
def test_quantities_are_exact_or_rounded_down(resource, amount, text):
    assert quantity_text(resource, amount) == text


# ------------------------------------------------------------------------------ attach limits

DRIVER = "csi.example.com"


def bound_claim(name: str):
    """Return a bound claim and its volume, which a CSI driver attaches."""
    bound = claim(name, "")
    spec = bound.raw["spec"] | {"volumeName": f"pv-{name}"}
    volume = document(
        "PersistentVolume", f"pv-{name}",
        spec={
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "claimRef": {"namespace": "default", "name": name},
            "csi": {"driver": DRIVER, "volumeHandle": name},
        },
    )  # fmt: skip
    metadata = bound.raw["metadata"] | {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    return decode(bound.raw | {"metadata": metadata, "spec": spec}), volume


def claims_of(*names: str):
    return [{"name": f"v-{name}", "persistentVolumeClaim": {"claimName": name}} for name in names]


def limited(name: str, count: int):
    driver = {"name": DRIVER, "nodeID": name, "allocatable": {"count": count}}
    return document("CSINode", name, "storage.k8s.io/v1", spec={"drivers": [driver]})


def attachment(name: str, node: str, volume: str):
    spec = {"attacher": DRIVER, "nodeName": node, "source": {"persistentVolumeName": volume}}
    return document("VolumeAttachment", name, "storage.k8s.io/v1", spec=spec)


def volumes(*names: str):
    return [obj for name in names for obj in bound_claim(name)]


@pytest.mark.parametrize(
    ("taint", "texts"),
    [
        (
            "k:NoSchedule",
            ["add a toleration for taint k:NoSchedule", "remove taint k:NoSchedule from node n"],
        ),
        ("karpenter.sh/disrupted:NoSchedule", ["add a node like n"]),
    ],
)
def test_a_node_that_is_about_to_be_deleted_gets_no_pods(taint, texts):
    node = make_node("n", cpu="4", taints=[taint])
    found = remedies(make_pod("p", cpu="1"), node)
    assert [each.text for each in found][:2] == texts


def test_a_node_whose_volumes_are_all_attached_is_relieved_or_added():
    found = remedies(
        pending(volumes=claims_of("a")),
        make_node("n", cpu="4"), limited("n", 1), *volumes("a", "b"),
        placed("other", "n", volumes=claims_of("b")),
    )  # fmt: skip
    texts = [remedy.text for remedy in found]
    assert texts == [
        "remove the volume v-a (PersistentVolumeClaim a)",
        "delete pod default/other",
        "raise the priority to 1 with a new PriorityClass",
        "add a node like n",
    ]
    assert {obj.kind for obj in found[-1].put} == {"Node", "CSINode"}
    assert "volumes" not in found[0].pod.raw["spec"] or not found[0].pod.raw["spec"]["volumes"]


def of_set(pod, name: str):
    """Return the pod as one of a StatefulSet."""
    owner = OwnerReference(
        api_version="apps/v1", kind="StatefulSet", name=name, uid=name, controller=True
    )
    return with_fields(pod, "metadata", owner_references=(owner,))


def test_a_priority_does_not_evict_other_replicas_which_get_it_too():
    apart = anti_affinity("web")
    mate = of_set(placed("mate", "n", affinity=apart, labels={"app": "web"}), "db")
    found = remedies(of_set(pending(affinity=apart), "db"), make_node("n"), mate)
    assert "raise the priority" not in " ".join(remedy.text for remedy in found)
    # Another workload's pods are evicted instead, though they are the second choice.
    own = of_set(make_pod("own", node="a", cpu="1"), "db")
    others = [make_pod(f"o{i}", node="b", cpu="500m") for i in range(2)]
    nodes = [make_node("a", cpu="1"), make_node("b", cpu="1")]
    for pod, victims in (
        (pending(), {"default/own"}),
        (of_set(pending(), "db"), {"default/o0", "default/o1"}),
    ):
        found = remedies(pod, *nodes, own, *others)
        raised = [each for each in found if each.text.startswith("raise the priority")]
        assert [set(each.victims) for each in raised] == [victims]


def test_a_new_node_has_the_limit_of_its_shape():
    """Two volumes never fit on a node that attaches one, however many nodes are added."""
    found = remedies(
        pending(volumes=claims_of("a", "b")), make_node("n"), limited("n", 1), *volumes("a", "b")
    )
    assert [remedy.text for remedy in found] == ["remove the volume v-b (PersistentVolumeClaim b)"]


def test_an_attachment_that_no_pod_needs_is_deleted():
    found = remedies(
        pending(volumes=claims_of("a")),
        make_node("n"), limited("n", 1), *volumes("a", "b"),
        attachment("left-over", "n", "pv-b"),
    )  # fmt: skip
    first = found[0]
    assert first.text == "delete VolumeAttachment left-over, whose volume no pod on node n uses"
    assert first.commands == ("kubectl delete volumeattachment left-over",)
    assert [obj.key for obj in first.drop] == ["left-over"]


def test_the_mounts_of_a_removed_volume_are_removed_too():
    mounts = [{"name": "v-a", "mountPath": "/a"}, {"name": "logs", "mountPath": "/logs"}]
    containers = [{"name": "main", "image": "web:1", "volumeMounts": mounts}]
    pod = pending(
        volumes=[*claims_of("a"), {"name": "logs", "emptyDir": {}}], containers=containers
    )
    found = remedies(pod, make_node("n"), limited("n", 0), *volumes("a"))
    spec = found[0].pod.raw["spec"]
    assert spec["volumes"] == [{"name": "logs", "emptyDir": {}}]
    assert spec["containers"][0]["volumeMounts"] == [{"name": "logs", "mountPath": "/logs"}]


@pytest.mark.parametrize(
    ("stale", "texts"),
    [
        pytest.param(
            ("b", "d"), [["delete", "delete"], ["remove", "remove"]], id="of both drivers"
        ),
        pytest.param(("b",), [["remove", "remove"]], id="of one driver"),
        pytest.param((), [["remove", "remove"]], id="none"),
    ],
)
def test_attachments_are_deleted_if_there_are_enough_for_each_driver(stale, texts):
    other = "other.example.com"
    drivers = {"a": DRIVER, "b": DRIVER, "c": other, "d": other}
    objects = []
    for name, driver in drivers.items():
        bound, volume = bound_claim(name)
        csi = {"driver": driver, "volumeHandle": name}
        objects += [bound, decode(volume.raw | {"spec": volume.raw["spec"] | {"csi": csi}})]
    for name in stale:
        made = attachment(f"of-{name}", "n", f"pv-{name}")
        objects.append(decode(made.raw | {"spec": made.raw["spec"] | {"attacher": drivers[name]}}))
    counts = [
        {"name": driver, "nodeID": "n", "allocatable": {"count": 0 if not stale else 1}}
        for driver in (DRIVER, other)
    ]
    if stale == ("b",):
        counts[1]["allocatable"] = {"count": 0}
    scheduler = Scheduler()
    node = make_node("n")
    scheduler.add(
        node, document("CSINode", "n", "storage.k8s.io/v1", spec={"drivers": counts}), *objects
    )
    fixes = VolumeFixes(pending(volumes=claims_of("a", "c")), scheduler.cluster)
    plans = fixes.of_node(node)
    assert [[edit.text.partition(" ")[0] for edit in plan] for plan in plans] == texts
