"""Which differences between two pods matter to which plugins.

A plugin keeps its results for a key (`pod_key`), and opportunistic batching takes pods with the
same signature for equal (`sign_pod`). A plugin whose key does not change with something that it
reads decides by the results of another pod.

Upstream: `SignPod` of the plugins in pkg/scheduler/framework/plugins;
staging/src/k8s.io/kube-scheduler/framework/signers.go
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Pod, decode_pod, with_fields
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster, Reads
from podwright.scheduler.framework import Plugin
from podwright.scheduler.plugins.tests.test_registered_events import PLUGINS

ZONE = "topology.kubernetes.io/zone"
FILTERS_AND_SCORES: dict[str, Plugin] = {
    name: plugin
    for name, plugin in PLUGINS.items()
    if plugin.filters_columns or plugin.scores_columns
}


def pod(labels: dict[str, str] | None = None, **spec: Any) -> Pod:
    metadata = {"name": "p", "namespace": "default", "uid": "p", "labels": labels or {"app": "a"}}
    return decode_pod(
        {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "a:1"}]} | spec}
    )


def container(**fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "a:1"} | fields]}


def requesting(**amounts: str) -> dict[str, Any]:
    return container(resources={"requests": amounts})


def volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v"} | source]}


TERM = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "a"}}}
MATCHES = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}


def of_pods(kind: str, *, hard: bool = True) -> dict[str, Any]:
    if hard:
        terms: dict[str, Any] = {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}
    else:
        weighted = {"weight": 5, "podAffinityTerm": TERM}
        terms = {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}
    return {"affinity": {kind: terms}}


AFFINE_NODES = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [MATCHES]}}
PREFERRED = {
    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": MATCHES}]
}
SPREADING = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
CORDONED = "node.kubernetes.io/unschedulable"
WITH_A_PORT = container(ports=[{"containerPort": 80}])
WITH_A_HOST_PORT = container(ports=[{"containerPort": 80, "hostPort": 80}])
EPHEMERAL: dict[str, Any] = {"volumeClaimTemplate": {"spec": {}}}

RESOURCES = {"NodeResourcesBalancedAllocation", "NodeResourcesFit"}
VOLUMES = {"NodeVolumeLimits", "VolumeBinding", "VolumeRestrictions", "VolumeZone"}
TOLERATING = {"NodeUnschedulable", "TaintToleration"}
SAME: set[str] = set()


@pytest.mark.parametrize(
    ("changed", "by_key", "by_signature"),
    [
        pytest.param(
            pod({"app": "b"}),
            {"InterPodAffinity", "PodTopologySpread"},
            {"InterPodAffinity"},
            id="labels",
        ),
        pytest.param(pod(nodeName="n"), {"NodeName"}, {"NodeName"}, id="node name"),
        pytest.param(
            pod(nodeSelector={"disk": "ssd"}),
            # Nodes that the pod excludes do not count as domains, either.
            {"NodeAffinity", "PodTopologySpread"},
            {"NodeAffinity"},
            id="node selector",
        ),
        pytest.param(
            pod(affinity={"nodeAffinity": AFFINE_NODES}),
            {"NodeAffinity", "PodTopologySpread"},
            {"NodeAffinity"},
            id="required node affinity",
        ),
        pytest.param(
            pod(affinity={"nodeAffinity": PREFERRED}),
            {"NodeAffinity"},
            {"NodeAffinity"},
            id="preferred node affinity",
        ),
        pytest.param(
            pod(**of_pods("podAffinity")),
            {"InterPodAffinity"},
            {"InterPodAffinity"},
            id="pod affinity",
        ),
        pytest.param(
            pod(**of_pods("podAntiAffinity", hard=False)),
            {"InterPodAffinity"},
            {"InterPodAffinity"},
            id="preferred pod anti-affinity",
        ),
        pytest.param(
            pod(topologySpreadConstraints=[SPREADING]), {"PodTopologySpread"}, SAME, id="spreading"
        ),
        pytest.param(
            pod(tolerations=[{"key": "k", "operator": "Exists"}]),
            {"TaintToleration"},
            TOLERATING,
            id="toleration",
        ),
        pytest.param(
            pod(tolerations=[{"key": CORDONED, "operator": "Exists"}]),
            TOLERATING,
            TOLERATING,
            id="toleration of cordoned nodes",
        ),
        pytest.param(pod(**requesting(cpu="1")), RESOURCES, RESOURCES, id="cpu"),
        pytest.param(
            pod(**requesting(**{"example.com/gpu": "1"})),
            RESOURCES | {"DynamicResources"},
            RESOURCES,
            id="extended resource",
        ),
        pytest.param(
            pod(**container(image="b:1")), {"ImageLocality"}, {"ImageLocality"}, id="image"
        ),
        pytest.param(pod(**WITH_A_HOST_PORT), {"NodePorts"}, {"NodePorts"}, id="host port"),
        pytest.param(pod(**WITH_A_PORT), SAME, SAME, id="port of a container alone"),
        pytest.param(
            pod(hostNetwork=True, hostUsers=False),
            {"NodeDeclaredFeatures"},
            {"NodeDeclaredFeatures"},
            id="feature of nodes",
        ),
        pytest.param(
            pod(**volume(persistentVolumeClaim={"claimName": "c"})), VOLUMES, VOLUMES, id="claim"
        ),
        pytest.param(
            pod(**volume(ephemeral=EPHEMERAL)),
            {"NodeVolumeLimits", "VolumeBinding"},
            VOLUMES,
            id="ephemeral claim",
        ),
        pytest.param(
            pod(**volume(gcePersistentDisk={"pdName": "d"})),
            {"NodeVolumeLimits", "VolumeRestrictions"},
            VOLUMES,
            id="disk",
        ),
        pytest.param(pod(**volume(csi={"driver": "d"})), SAME, VOLUMES, id="inline CSI volume"),
        pytest.param(pod(**volume(emptyDir={})), SAME, SAME, id="empty directory"),
        pytest.param(
            pod(resourceClaims=[{"name": "c", "resourceClaimName": "c"}]),
            {"DynamicResources"},
            {"DynamicResources"},
            id="resource claim",
        ),
        pytest.param(
            pod(priority=5, serviceAccountName="s"), SAME, SAME, id="what no plugin reads"
        ),
    ],
)
def test_which_plugins_see_a_difference(
    changed: Pod, by_key: set[str], by_signature: set[str]
) -> None:
    usual, again = pod(), pod()
    for name, plugin in FILTERS_AND_SCORES.items():
        assert plugin.pod_key(usual) == plugin.pod_key(again), name
        assert (plugin.pod_key(changed) != plugin.pod_key(usual)) is (name in by_key), name
        signed = plugin.sign_pod(changed)
        assert (signed != plugin.sign_pod(usual)) is (name in by_signature), name


def named(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "image": f"{name}:1"} for name in names]


def with_ports(*ports: int) -> list[dict[str, Any]]:
    return [
        {"name": f"c{port}", "image": "a:1", "ports": [{"containerPort": 1, "hostPort": port}]}
        for port in ports
    ]


def tolerating(*keys: str) -> list[dict[str, Any]]:
    return [{"key": key, "operator": "Exists"} for key in keys]


def claiming(*names: str) -> list[dict[str, Any]]:
    return [{"name": f"of-{n}", "persistentVolumeClaim": {"claimName": n}} for n in names]


AB = {"a": "1", "b": "2"}
BA = dict(reversed(AB.items()))
REQUESTS = {"cpu": "1", "example.com/a": "2", "example.com/b": "3"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param({"containers": named("a", "b")}, {"containers": named("b", "a")}, id="images"),
        pytest.param(
            {"containers": with_ports(80, 443)}, {"containers": with_ports(443, 80)}, id="ports"
        ),
        pytest.param({"nodeSelector": AB}, {"nodeSelector": BA}, id="labels of a node selector"),
        pytest.param(
            {"nodeSelector": AB, "affinity": {"nodeAffinity": AFFINE_NODES}},
            {"nodeSelector": BA, "affinity": {"nodeAffinity": AFFINE_NODES}},
            id="the same beside affinity",
        ),
        pytest.param(
            {"nodeSelector": AB, "topologySpreadConstraints": [SPREADING]},
            {"nodeSelector": BA, "topologySpreadConstraints": [SPREADING]},
            id="the same beside spreading",
        ),
        pytest.param(
            {"tolerations": tolerating("a", "b")},
            {"tolerations": tolerating("b", "a")},
            id="tolerations",
        ),
        pytest.param(
            {"volumes": claiming("a", "b")}, {"volumes": claiming("b", "a")}, id="volumes"
        ),
        pytest.param(
            requesting(**REQUESTS), requesting(**dict(reversed(REQUESTS.items()))), id="requests"
        ),
    ],
)
def test_the_order_in_a_spec_matters_to_no_signature(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    for name, plugin in FILTERS_AND_SCORES.items():
        signs = [plugin.sign_pod(pod(**spec)) for spec in (one, other)]
        if None not in signs:
            encoded = [msgspec.json.encode(sign, order="deterministic") for sign in signs]
            assert encoded[0] == encoded[1], name


@pytest.mark.parametrize("beside", [{}, {"affinity": {"nodeAffinity": AFFINE_NODES}}])
@pytest.mark.parametrize("spreading", [{}, {"topologySpreadConstraints": [SPREADING]}])
def test_node_selectors_in_another_order_are_alike(
    spreading: dict[str, Any], beside: dict[str, Any]
) -> None:
    one, other = (pod(nodeSelector=labels, **spreading, **beside) for labels in (AB, BA))
    for name, plugin in FILTERS_AND_SCORES.items():
        assert plugin.pod_key(one) == plugin.pod_key(other), name


@pytest.mark.parametrize(
    ("spec", "owning"),
    [
        pytest.param({}, SAME, id="plain"),
        pytest.param(volume(persistentVolumeClaim={"claimName": "c"}), SAME, id="claim"),
        pytest.param(volume(gcePersistentDisk={"pdName": "d"}), SAME, id="disk"),
        pytest.param(
            volume(ephemeral=EPHEMERAL),
            {"NodeVolumeLimits", "VolumeBinding"},
            id="an ephemeral claim is the pod's own",
        ),
    ],
)
def test_pods_of_one_template_share_all_results(spec: dict[str, Any], owning: set[str]) -> None:
    one = pod(**spec)
    other = with_fields(one, "metadata", name="q", uid="q")
    for name, plugin in FILTERS_AND_SCORES.items():
        assert (plugin.pod_key(one) != plugin.pod_key(other)) is (name in owning), name
        assert plugin.key_is_of_template(one) is (name not in owning), name


def test_claims_of_one_name_in_two_namespaces_are_two() -> None:
    one = pod(**volume(persistentVolumeClaim={"claimName": "c"}))
    other = with_fields(one, "metadata", namespace="other")
    for name in sorted(VOLUMES):
        plugin = FILTERS_AND_SCORES[name]
        assert plugin.pod_key(one) != plugin.pod_key(other), name


@pytest.mark.parametrize(
    "spec", [{}, of_pods("podAffinity"), of_pods("podAntiAffinity", hard=False)]
)
def test_pods_of_two_namespaces_are_two_where_terms_select_pods(spec: dict[str, Any]) -> None:
    # Terms without namespaces are about those of the pod; those of placed pods select namespaces.
    one = pod(**spec)
    for changed in ({"namespace": "other"}, {"labels": {"app": "b"}}):
        other = with_fields(one, "metadata", **changed)
        key_of = FILTERS_AND_SCORES["InterPodAffinity"].pod_key
        assert key_of(one) != key_of(other), changed


@pytest.mark.parametrize("name", sorted(VOLUMES))
def test_a_pod_without_volumes_does_not_depend_on_storage(name: str) -> None:
    plugin, cluster = FILTERS_AND_SCORES[name], Cluster()
    claimed = pod(**volume(persistentVolumeClaim={"claimName": "c"}))
    reads = [plugin.reads_for(plugin.pod_key(one), cluster) for one in (pod(), claimed)]
    assert [each.preparation for each in reads] == [Reads.NOTHING, Reads.STORAGE]


@pytest.mark.parametrize("is_backed", [True, False])
def test_a_resource_that_a_device_class_backs_depends_on_devices(is_backed: bool) -> None:
    cluster, resource = Cluster(), "example.com/gpu" if is_backed else "example.com/other"
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "c"}}
    cluster.put(decode(head | {"spec": {"extendedResourceName": resource}}))
    incoming = pod(**requesting(**{"example.com/gpu": "1"}))
    fit, devices = (
        FILTERS_AND_SCORES[name].reads_for(FILTERS_AND_SCORES[name].pod_key(incoming), cluster)
        for name in ("NodeResourcesFit", "DynamicResources")
    )
    usual = Reads.NODE | Reads.PODS
    if is_backed:
        assert tuple(fit) == (Reads.DEVICE_CLASSES, usual, usual | Reads.DEVICES)
        assert tuple(devices) == (Reads.CLUSTER, Reads.CLUSTER, Reads.CLUSTER)
    else:
        assert tuple(fit) == (Reads.NOTHING, usual, usual)
        assert tuple(devices) == (Reads.NOTHING, Reads.NOTHING, Reads.NODE)


def test_keys_of_plugins_that_take_part_in_nothing_else() -> None:
    gated = pod(schedulingGates=[{"name": "a"}, {"name": "b"}], priority=5)
    names = ("DefaultBinder", "PrioritySort", "SchedulingGates")
    assert [PLUGINS[name].pod_key(pod()) for name in names] == [(), 0, ()]
    assert [PLUGINS[name].pod_key(gated) for name in names] == [(), 5, ("a", "b")]


def test_a_pod_that_depends_on_other_pods_has_no_signature() -> None:
    signing = {name: plugin.sign_pod(pod()) for name, plugin in FILTERS_AND_SCORES.items()}
    # The default constraints spread every pod.
    assert [name for name, fragment in signing.items() if fragment is None] == ["PodTopologySpread"]
    for changed, name in (
        (pod(**of_pods("podAffinity")), "InterPodAffinity"),
        (pod(**of_pods("podAntiAffinity", hard=False)), "InterPodAffinity"),
        (pod(resourceClaims=[{"name": "c", "resourceClaimName": "c"}]), "DynamicResources"),
    ):
        assert FILTERS_AND_SCORES[name].sign_pod(changed) is None
