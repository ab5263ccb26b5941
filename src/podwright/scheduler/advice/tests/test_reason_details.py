"""What the nodes of a reason have: taints with their counts, volumes with claims and zones."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Object, Pod, Taint, with_fields
from podwright.apimachinery.schema import decode
from podwright.scheduler.advice.rejections import exclusive_claims
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.tests.storage_objects import storage_class
from podwright.scheduler.config import KubeSchedulerConfiguration, Rules
from podwright.scheduler.machine import SchedulerOptions
from podwright.testing import make_node, make_pod

Document = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"


def tainted(name: str, *keys: str) -> Object:
    taints = tuple(Taint(key=key, value="true", effect="NoSchedule") for key in keys)
    return with_fields(make_node(name), "spec", taints=taints)


def groups_of(*objects: Object) -> list[tuple[str, list[tuple[str, int]]]]:
    scheduler = Scheduler(SchedulerOptions())
    scheduler.add(*objects)
    (pod,) = scheduler.in_queue_order()
    groups = scheduler.rejection_groups(scheduler.explain(pod.key))
    return [
        (each.reason, [(detail.text, detail.node_count) for detail in each.details])
        for each in groups
    ]


def test_each_set_of_taints_is_listed_with_its_nodes_and_the_counts_add_up():
    nodes = [tainted(f"spot-{number}", "spot") for number in range(3)]
    nodes += [tainted("gpu", "gpu"), tainted("both", "spot", "gpu")]
    ((reason, details),) = groups_of(make_pod("web"), *nodes)
    assert reason == "node(s) had untolerated taint(s)"
    assert details == [
        ("taint spot=true:NoSchedule", 3),
        ("taint gpu=true:NoSchedule", 1),
        ("taint spot=true:NoSchedule and taint gpu=true:NoSchedule", 1),
    ]


def test_a_taint_that_the_pod_tolerates_is_not_listed():
    tolerant = make_pod("web", spec={"tolerations": [{"key": "gpu", "operator": "Exists"}]})
    ((_, details),) = groups_of(tolerant, tainted("both", "spot", "gpu"))
    assert details == [("taint spot=true:NoSchedule", 1)]


def test_a_node_without_what_is_listed_is_not_counted():
    scheduler = Scheduler(SchedulerOptions())
    pod = make_pod("web")
    scheduler.add(*(tainted(name, "spot") for name in ("a", "b", "c")), pod)
    explanation = scheduler.explain(pod.key)
    scheduler.add(make_node("b"), make_node("c"))
    (group,) = scheduler.rejection_groups(explanation)
    assert group.nodes == ("a", "b", "c")
    assert [(each.text, each.node_count) for each in group.details] == [
        ("taint spot=true:NoSchedule", 1)
    ]


def claim(volume: str = "", mode: str = "ReadWriteOnce", **spec: Any) -> Object:
    document: Document = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "shop", "uid": "u"},
        "spec": {"accessModes": [mode], "volumeName": volume, **spec},
    }
    if volume:
        document["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        document["status"] = {"phase": "Bound"}
    return decode(document)


def volume(labels: Document | None = None, terms: list[Document] | None = None) -> Object:
    reference = {"kind": "PersistentVolumeClaim", "namespace": "shop", "name": "data", "uid": "u"}
    spec: Document = {"accessModes": ["ReadWriteOnce"], "claimRef": reference}
    if terms:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    metadata = {"name": "pv-1", "labels": labels or {}}
    return decode(
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}
    )


def using_claim() -> Object:
    source = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    container = {"name": "main", "image": "app"}
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "db", "namespace": "shop"},
            "spec": {"containers": [container], "volumes": [source]},
        }
    )


def renamed(obj: Object, name: str) -> Object:
    return decode(obj.raw | {"metadata": obj.raw["metadata"] | {"name": name}})


IN_A = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}]
IN_B = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]}]
OUT_OF_B = [{"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["b", "c"]}]}]


@pytest.mark.parametrize(
    ("objects", "reason", "detail"),
    [
        pytest.param(
            [claim("pv-1"), volume(terms=IN_A)],
            "node(s) didn't match PersistentVolume's node affinity",
            f"PersistentVolume pv-1 of claim shop/data is in {ZONE}=a",
            id="a volume of another zone",
        ),
        pytest.param(
            [claim("pv-1"), volume(terms=OUT_OF_B)],
            "node(s) didn't match PersistentVolume's node affinity",
            f"PersistentVolume pv-1 of claim shop/data is in {ZONE} NotIn [b, c]",
            id="a volume that excludes zones",
        ),
        pytest.param(
            [claim("pv-1"), volume(terms=[{}])],
            "node(s) didn't match PersistentVolume's node affinity",
            "PersistentVolume pv-1 of claim shop/data is in no node",
            id="a volume with an empty term",
        ),
        pytest.param(
            [claim("pv-1"), volume(labels={ZONE: "a"})],
            "node(s) had no available volume zone",
            f"PersistentVolume pv-1 of claim shop/data is in {ZONE}=a, the node in b",
            id="a volume with the label of another zone",
        ),
        pytest.param(
            [claim("pv-1"), volume(labels={ZONE: "a", REGION: "r"})],
            "node(s) had no available volume zone",
            f"PersistentVolume pv-1 of claim shop/data is in {ZONE}=a, the node in b and "
            f"{REGION}=r, the node without this label",
            id="a volume with a label that the node does not have",
        ),
        pytest.param(
            [claim("pv-1"), volume(labels={ZONE: "a__c", BETA_ZONE: "b", BETA_REGION: "r__"})],
            "node(s) had no available volume zone",
            f"PersistentVolume pv-1 of claim shop/data is in {ZONE}=a__c, the node in b",
            id="labels that the node has under another name, and one with an empty zone",
        ),
        pytest.param(
            [claim("pv-1"), volume(labels={ZONE: "a"}, terms=IN_B)],
            "node(s) had no available volume zone",
            f"PersistentVolume pv-1 of claim shop/data is in {ZONE}=a, the node in b",
            id="a volume whose affinity the node has",
        ),
        pytest.param(
            [claim("pv-1")],
            'persistentvolume "pv-1" not found',
            "PersistentVolume pv-1 of claim shop/data does not exist",
            id="a volume that does not exist",
        ),
        pytest.param(
            [claim(storageClassName="fast")],
            "pod has unbound immediate PersistentVolumeClaims",
            "claim shop/data (storage class fast, which does not exist) is not bound to a "
            "PersistentVolume",
            id="a claim that nothing binds",
        ),
        pytest.param(
            [claim(storageClassName="fast"), storage_class("fast", volumeBindingMode="Immediate")],
            "pod has unbound immediate PersistentVolumeClaims",
            "claim shop/data (storage class fast) is not bound to a PersistentVolume",
            id="a claim of a class that exists",
        ),
        pytest.param(
            [claim(storageClassName="")],
            "pod has unbound immediate PersistentVolumeClaims",
            "claim shop/data (no storage class) is not bound to a PersistentVolume",
            id="a claim without a class",
        ),
    ],
)
def test_volumes_are_named_with_claim_and_zone(objects, reason, detail):
    node = make_node("n", labels={ZONE: "b"})
    found = groups_of(node, using_claim(), *objects)
    assert found == [(reason, [(detail, 1)])]


@pytest.mark.parametrize(
    "others",
    [
        pytest.param({"terms": IN_B}, id="one of the zone of the node"),
        pytest.param({"labels": {ZONE: "b"}}, id="one without an affinity"),
    ],
)
def test_only_the_volumes_that_keep_the_pod_from_a_node_are_named(others: Document) -> None:
    pod = using_claim()
    sources = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("logs", "data")
    ]
    pod = decode(pod.raw | {"spec": pod.raw["spec"] | {"volumes": sources}})
    logs = [renamed(claim("pv-2"), "logs"), renamed(volume(**others), "pv-2")]
    node = make_node("n", labels={ZONE: "b"})
    ((_, details),) = groups_of(node, pod, claim("pv-1"), volume(terms=IN_A), *logs)
    assert details == [(f"PersistentVolume pv-1 of claim shop/data is in {ZONE}=a", 1)]


def test_a_volume_elsewhere_by_affinity_and_by_label_is_named_for_each():
    scheduler = Scheduler(SchedulerOptions())
    scheduler.add(
        make_node("n", labels={ZONE: "b"}), using_claim(), claim("pv-1"),
        volume(labels={ZONE: "c"}, terms=IN_A),
    )  # fmt: skip
    (near,) = scheduler.nearest_nodes(scheduler.explain("shop/db"))
    is_in = "PersistentVolume pv-1 of claim shop/data is in"
    assert list(near.lacks) == [f"{is_in} {ZONE}=a", f"{is_in} {ZONE}=c, the node in b"]


def test_a_claim_that_does_not_exist_is_in_the_reason_and_not_in_the_details():
    ((reason, details),) = groups_of(make_node("n"), using_claim())
    assert (reason, details) == ('persistentvolumeclaim "data" not found', [])


def test_the_claim_that_only_one_pod_may_use_is_named():
    other = with_fields(with_fields(using_claim(), "metadata", name="other"), "spec", node_name="n")
    once = "ReadWriteOncePod"
    objects = [make_node("n"), using_claim(), other, claim("pv-1", once), volume()]
    text = f"claim shop/data has access mode {once} and is in use by pod shop/other"
    # A file may have a second one, which no cluster has.
    for more in [], [with_fields(other, "metadata", name="second")]:
        ((_, details),) = groups_of(*objects, *more)
        assert details == [(text, 1)]


def test_claims_that_several_pods_may_use_are_not_in_use():
    pod, shared = using_claim(), claim("pv-1")
    assert isinstance(pod, Pod)
    cluster = Cluster()
    for obj in (pod, shared, volume()):
        cluster.put(obj)
    assert [*exclusive_claims(pod, cluster)] == []
    cluster.put(claim("pv-1", "ReadWriteOncePod"))
    assert len([*exclusive_claims(pod, cluster)]) == 1


def test_the_nearest_nodes_have_the_same_text():
    scheduler = Scheduler(SchedulerOptions())
    scheduler.add(
        make_node("n", labels={ZONE: "b"}), using_claim(), claim("pv-1"), volume(terms=IN_A)
    )
    (near,) = scheduler.nearest_nodes(scheduler.explain("shop/db"))
    assert near.lacks == (f"PersistentVolume pv-1 of claim shop/data is in {ZONE}=a",)


AMD, NEW = ({"key": "arch", "operator": "In", "values": ["amd64"]},
            {"key": "age", "operator": "Lt", "values": ["3"]})  # fmt: skip
NAMED = {"key": "metadata.name", "operator": "In", "values": ["m"]}


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param([{"matchExpressions": [AMD, NEW]}],
                     "label arch=amd64 (it has arch=arm64) and label age Lt [3] (it has none)",
                     id="both do not hold"),
        pytest.param([{"matchExpressions": [AMD, {"key": "arch", "operator": "Exists"}]}],
                     "label arch=amd64 (it has arch=arm64)", id="one holds"),
        pytest.param([{}], "a term of the node affinity that is not empty", id="an empty term"),
        pytest.param([{"matchFields": [NAMED]}], "field metadata.name=m (it has metadata.name=n)",
                     id="a field"),
        pytest.param([{"matchExpressions": [AMD]}, {}, {"matchExpressions": [
                         {"key": "arch", "operator": "DoesNotExist"}], "matchFields": [NAMED]}],
                     "label arch=amd64 (it has arch=arm64) or "
                     "label arch DoesNotExist (it has arch=arm64) and "
                     "field metadata.name=m (it has metadata.name=n)", id="several terms"),
    ],
)  # fmt: skip
def test_expressions_that_do_not_hold_are_listed_with_what_the_node_has(terms, expected):
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    pod = make_pod("web", spec={"affinity": {"nodeAffinity": required}, "nodeSelector": {"a": "b"}})
    scheduler = Scheduler(SchedulerOptions())
    scheduler.add(make_node("n", labels={"arch": "arm64"}), make_node("m", labels={"a": "b"}), pod)
    lacks = {each.node: each.lacks for each in scheduler.nearest_nodes(scheduler.explain(pod))}
    assert [text for text in lacks["n"] if not text.startswith("node(s)")] == [
        "label a=b (it has none)", expected,
    ]  # fmt: skip


def test_a_full_node_says_how_many_pods_it_has():
    placed = [make_pod(name, node="n") for name in ("one", "two")]
    scheduler = Scheduler(SchedulerOptions())
    scheduler.add(make_node("n", pods=2, cpu="1"), *placed, make_pod("web", cpu="2"))
    (near,) = scheduler.nearest_nodes(scheduler.explain("default/web"))
    assert near.lacks == ("pods: it has 2 of 2", "cpu: requests 2, 1 free of 1")


def test_the_claims_that_a_node_cannot_attach_are_named():
    csi = {"driver": "csi.example.com", "volumeHandle": "v"}
    document = volume().raw
    attached = decode(document | {"spec": document["spec"] | {"csi": csi}})
    drivers = [{"name": "csi.example.com", "nodeID": "n", "allocatable": {"count": 0}}]
    limited = decode(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": "n"},
            "spec": {"drivers": drivers},
        }
    )
    found = groups_of(make_node("n"), limited, using_claim(), claim("pv-1"), attached)
    text = (
        "CSI driver csi.example.com attaches at most 0 volumes to the node and has attached 0; "
        "the pod adds claim shop/data"
    )
    assert found == [("node(s) exceed max volume count", [(text, 1)])]


def test_a_node_that_an_extender_or_prefilter_leaves_out_has_their_reason():
    spec = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
        ],
    }}}}  # fmt: skip
    scheduler = Scheduler(SchedulerOptions())
    scheduler.add(make_node("a", cpu="1"), make_node("b"), make_pod("web", cpu="2", spec=spec))
    explanation = scheduler.explain("default/web")
    left_out = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
    groups = scheduler.rejection_groups(explanation)
    assert [(each.reason, each.plugin, each.nodes) for each in groups] == [
        (left_out, "", ("b",)), ("Insufficient cpu", "NodeResourcesFit", ("a",)),
    ]  # fmt: skip
    near = scheduler.nearest_nodes(explanation)
    assert [(each.node, each.lacks) for each in near] == [
        ("a", ("cpu: requests 2, 1 free of 1",)),
        ("b", (left_out, "field metadata.name=a (it has metadata.name=b)")),
    ]


def test_the_nodes_that_prefilter_leaves_out_come_before_those_of_the_first_filter():
    field = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    spec = {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    }
    scheduler = Scheduler(SchedulerOptions())
    scheduler.add(make_node("a", unschedulable=True), make_node("b"), make_pod("web", spec=spec))
    groups = scheduler.rejection_groups(scheduler.explain("default/web"))
    assert [(each.plugin, each.nodes) for each in groups] == [
        ("", ("b",)),
        ("NodeUnschedulable", ("a",)),
    ]


def test_an_overcommitted_resource_that_a_pod_does_not_request_is_named_under_the_old_rules():
    configuration = KubeSchedulerConfiguration(rules=Rules(name="classic"))
    scheduler = Scheduler(SchedulerOptions(configuration=configuration))
    scheduler.add(
        make_node("n", cpu="1"), make_pod("hog", cpu="2", node="n"), make_pod("web", memory="1Mi")
    )
    (near,) = scheduler.nearest_nodes(scheduler.explain("default/web"))
    assert near.lacks == ("cpu: requests 0, -1 free of 1",)


@pytest.mark.parametrize("order", [("over", "small"), ("small", "over"), ("cordoned", "over")])
def test_a_resource_that_a_pod_does_not_request_is_no_shortage(order):
    """The share of a request that is lacking orders nodes, and there is none of no request."""
    nodes = {
        "over": make_node("over", cpu="1", memory="4Gi"),
        "small": make_node("small", cpu="4", memory="1Mi"),
        "cordoned": make_node("cordoned", memory="4Gi", unschedulable=True),
    }
    configuration = KubeSchedulerConfiguration(rules=Rules(name="classic"))
    scheduler = Scheduler(SchedulerOptions(configuration=configuration))
    scheduler.add(*[nodes[name] for name in order], make_pod("web", memory="2Mi"))
    if "over" in order:
        scheduler.add(make_pod("hog", cpu="2", node="over"))
    near = scheduler.nearest_nodes(scheduler.explain("default/web"))
    # Nodes without a shortage are in order of arrival, before those with one.
    assert [each.node for each in near] == sorted(order, key=lambda name: name == "small")


def test_the_missing_tolerations_of_a_node_are_named():
    scheduler = Scheduler(SchedulerOptions())
    scheduler.add(tainted("n", "spot", "gpu"), make_pod("web"))
    (near,) = scheduler.nearest_nodes(scheduler.explain("default/web"))
    assert near.lacks == (
        "toleration for taint spot=true:NoSchedule", "toleration for taint gpu=true:NoSchedule",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("labels", "lacks"),
    [
        pytest.param({"a": "1", "b": "3"}, ["label b=2 (it has b=3)"], id="another value"),
        pytest.param({"a": "1"}, ["label b=2 (it has none)"], id="no value"),
        pytest.param(
            {"b": "1"}, ["label a=1 (it has none)", "label b=2 (it has b=1)"], id="each label"
        ),
    ],
)
def test_the_labels_that_a_node_selector_misses_are_named(labels: dict[str, str], lacks: list[str]):
    spec = {"containers": [{"name": "c"}], "nodeSelector": {"a": "1", "b": "2"}}
    scheduler = Scheduler(SchedulerOptions())
    scheduler.add(make_node("n", labels=labels), make_pod("web", spec=spec))
    (near,) = scheduler.nearest_nodes(scheduler.explain("default/web"))
    assert list(near.lacks) == lacks
    assert near.devices == ()


def test_taints_and_cordons_that_keep_a_pod_away_are_named():
    scheduler = Scheduler(SchedulerOptions())
    for node in (tainted("spot", "spot"), make_node("closed", unschedulable=True)):
        scheduler.add(node)
    scheduler.add(make_pod("web"))
    found = scheduler.nearest_nodes(scheduler.explain("default/web"))
    assert {near.node: list(near.lacks) for near in found} == {
        "spot": ["toleration for taint spot=true:NoSchedule"],
        "closed": ["it is cordoned (spec.unschedulable)"],
    }
