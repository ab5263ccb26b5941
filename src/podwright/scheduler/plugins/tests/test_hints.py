"""What the golden vectors do not reach; the rest is in tests/golden/test_queue.py."""

from functools import partial

import pytest

from podwright.apimachinery.objects import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    encode,
    label_selector,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.framework.events import Concerned, Hint
from podwright.scheduler.plugins import (
    default_preemption,
    gang_scheduling,
    inter_pod_affinity,
    node_ports,
    node_volume_limits,
    scheduling_gates,
    volume_restrictions,
)
from podwright.scheduler.plugins.hints import (
    dynamic_resources,
    node_affinity,
    node_declared_features,
    node_resources_fit,
    pod_topology_spread,
    taint_toleration,
    volume_binding,
)

QUEUE, SKIP = Hint.QUEUE, Hint.SKIP


def pod(name="pending", status=None, namespace="default", **spec):
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
            "spec": {"containers": [{"name": "c"}]} | spec,
            "status": status or {},
        }
    )


def selector_without_keys(constraint, _labels):
    return label_selector(constraint.label_selector)


def obj(api_version, kind, name="x", **fields):
    metadata = {"name": name, "namespace": "default"}
    return decode({"apiVersion": api_version, "kind": kind, "metadata": metadata} | fields)


ALLOCATION: dict[str, object] = {"devices": {}}


def claim(name="mine", **status):
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return decode(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": metadata,
            "status": status,
        }
    )


def find_claim(key):
    """Return the claim that exists."""
    return claim() if key == "default/mine" else None


def device_class(name="gpu", resource=None):
    spec = {"extendedResourceName": resource} if resource else {}
    return obj("resource.k8s.io/v1", "DeviceClass", name, spec=spec)


def csi_node(**limits):
    drivers = [
        {"name": name, "nodeID": "n", "allocatable": {"count": count}}
        for name, count in limits.items()
    ]
    return obj("storage.k8s.io/v1", "CSINode", spec={"drivers": drivers})


def csi_driver(**spec):
    return obj("storage.k8s.io/v1", "CSIDriver", "driver", spec=spec)


def node(**spec):
    return obj("v1", "Node", "n", spec=spec)


def hint_of(events, index=0):
    return events[index].hint


WITH_CLAIM = pod(resourceClaims=[{"name": "a", "resourceClaimName": "mine"}])
WITHOUT_ITS_CLAIM = pod(resourceClaims=[{"name": "a", "resourceClaimTemplateName": "t"}])


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(WITH_CLAIM, None, claim(), QUEUE, id="its claim was created"),
        pytest.param(WITH_CLAIM, None, claim("other"), SKIP, id="another claim was created"),
        pytest.param(WITH_CLAIM, claim(), claim(), SKIP, id="its claim kept its status"),
        pytest.param(WITH_CLAIM, claim(), claim(allocation=ALLOCATION), QUEUE, id="allocated"),
        pytest.param(
            WITH_CLAIM,
            claim("o", allocation=ALLOCATION),
            claim("o"),
            QUEUE,
            id="devices freed",
        ),
        pytest.param(WITH_CLAIM, claim("o"), claim("o"), SKIP, id="another without devices"),
        pytest.param(
            WITH_CLAIM, claim("o"), claim("o", allocation=ALLOCATION), SKIP, id="another takes some"
        ),
        pytest.param(
            WITH_CLAIM,
            claim("o", allocation=ALLOCATION),
            claim("o", allocation=ALLOCATION),
            SKIP,
            id="another keeps its devices",
        ),
        pytest.param(WITHOUT_ITS_CLAIM, None, claim(), SKIP, id="its own claim is still missing"),
    ],
)
def test_dynamic_resources_after_a_claim_change(waiting, old, new, expected):
    assert dynamic_resources.after_claim_change(find_claim, waiting, old, new) is expected
    concerned = dynamic_resources.users_of_claim(old, new)
    if concerned is not None and expected is QUEUE:
        named = [f"default/{each.resource_claim_name}" for each in waiting.spec.resource_claims]
        assert waiting.metadata.uid == concerned.uid or concerned.claim in named


def test_claim_changes_concern_all_pods_only_if_devices_are_freed():
    free, taken = claim("o"), claim("o", allocation=ALLOCATION)
    assert dynamic_resources.users_of_claim(taken, free) is None
    for old, new in ((free, taken), (taken, taken), (free, free)):
        assert dynamic_resources.users_of_claim(old, new) == Concerned("", "default/o")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
    document = encode(free)
    document["metadata"] = {**document["metadata"], "ownerReferences": [owner]}
    assert dynamic_resources.users_of_claim(None, decode(document)) == Concerned("u", "default/o")


def test_dynamic_resources_waits_for_every_generated_claim():
    statuses = {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": None}]}
    entry = {"name": "a", "resourceClaimTemplateName": "t"}
    ready = pod(resourceClaims=[entry], status=statuses)
    hint = partial(dynamic_resources.after_generated_claims, find_claim)
    assert hint(WITHOUT_ITS_CLAIM, WITHOUT_ITS_CLAIM, ready) is QUEUE
    assert hint(WITHOUT_ITS_CLAIM, WITHOUT_ITS_CLAIM, WITHOUT_ITS_CLAIM) is SKIP
    assert hint(WITHOUT_ITS_CLAIM, ready, pod("other")) is SKIP
    waiting = WITHOUT_ITS_CLAIM.metadata.uid
    assert dynamic_resources.the_pod_itself(ready, ready) == (
        Concerned(waiting) if waiting else None
    )


GPU_POD = pod(
    containers=[{"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}],
)
IMPLICIT_POD = pod(
    containers=[
        {"name": "c", "resources": {"requests": {"deviceclass.resource.kubernetes.io/gpu": "1"}}}
    ],
)


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        (GPU_POD, None, device_class(resource="example.com/gpu"), QUEUE),
        (GPU_POD, None, device_class(resource="example.com/fpga"), SKIP),
        (GPU_POD, device_class(), device_class(resource="example.com/gpu"), QUEUE),
        (
            GPU_POD,
            device_class(resource="example.com/gpu"),
            device_class(resource="example.com/gpu"),
            SKIP,
        ),
        (IMPLICIT_POD, None, device_class(), QUEUE),
        (IMPLICIT_POD, None, device_class("other"), SKIP),
    ],
)
def test_fit_after_a_device_class_change(waiting, old, new, expected):
    assert node_resources_fit.after_device_class_change(waiting, old, new) is expected


def test_fit_registers_device_classes_only_with_their_gate():
    register = partial(node_resources_fit.events_to_register, str.lower)
    assert len(register()) == 3
    assert len(register(dra_extended_resource=False)) == 2


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({"d": 1}, {"d": 2}, QUEUE, id="the limit grew"),
        pytest.param({"d": 2}, {"d": 1}, SKIP, id="the limit shrank"),
        pytest.param({"d": 2, "e": 1}, {"d": 2, "e": 3}, QUEUE, id="that of another driver grew"),
    ],
)
def test_volume_limits_after_a_csi_node_update(old, new, expected):
    hint = node_volume_limits.after_csi_node_updated
    assert hint(pod(), csi_node(**old), csi_node(**new)) is expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({"storageCapacity": True}, {}, QUEUE, id="no longer watched"),
        pytest.param({}, {"storageCapacity": True}, SKIP, id="watched now"),
        pytest.param({}, {"attachRequired": True}, SKIP, id="never watched"),
        pytest.param(
            {"storageCapacity": True},
            {"storageCapacity": True, "attachRequired": True},
            SKIP,
            id="watched still",
        ),
    ],
)
def test_volume_binding_after_a_csi_driver_change(before, after, expected):
    mine = pod(volumes=[{"name": "v", "csi": {"driver": "driver"}}])
    hint = volume_binding.after_csi_driver_change
    assert hint(mine, csi_driver(**before), csi_driver(**after)) is expected
    assert hint(pod(), csi_driver(**before), csi_driver(**after)) is SKIP
    others = [{"name": "v", "csi": {"driver": "other"}}, {"name": "w", "emptyDir": {}}]
    assert hint(pod(volumes=others), csi_driver(**before), csi_driver(**after)) is SKIP
    assert hint(mine, None, csi_driver(**after)) is SKIP


DISKS = {
    "gcePersistentDisk": {"pdName": "d"},
    "awsElasticBlockStore": {"volumeID": "d"},
    "iscsi": {"iqn": "a"},
    "rbd": {"monitors": ["m"], "image": "i"},
    "persistentVolumeClaim": {"claimName": "c"},
    "emptyDir": {},
}


@pytest.mark.parametrize(
    ("source", "mine", "theirs", "conflict"),
    [
        ("gcePersistentDisk", {"pdName": "d"}, {"pdName": "d"}, True),
        (
            "gcePersistentDisk",
            {"pdName": "d", "readOnly": True},
            {"pdName": "d", "readOnly": True},
            False,
        ),
        ("awsElasticBlockStore", {"volumeID": "d"}, {"volumeID": "d", "readOnly": True}, True),
        ("iscsi", {"iqn": "a"}, {"iqn": "b"}, False),
        ("rbd", {"monitors": ["m", "n"], "image": "i"}, {"monitors": ["n"], "image": "i"}, True),
        ("rbd", {"monitors": ["m"], "image": "i"}, {"monitors": ["n"], "image": "i"}, False),
        ("persistentVolumeClaim", {"claimName": "c"}, {"claimName": "c"}, True),
        ("persistentVolumeClaim", {"claimName": "c"}, {"claimName": "d"}, False),
    ],
)
def test_volume_restrictions_after_a_pod_with_the_same_disk_goes(source, mine, theirs, conflict):
    pending = pod(volumes=[{"name": "v", source: mine}])
    deleted = pod("other", volumes=[{"name": "v", source: theirs}], nodeName="n")
    answer = volume_restrictions.after_pod_deleted(pending, deleted, None)
    assert answer is (QUEUE if conflict else SKIP)
    elsewhere = pod("other", namespace="b", volumes=[{"name": "v", source: theirs}], nodeName="n")
    assert volume_restrictions.after_pod_deleted(pending, elsewhere, None) is SKIP
    for kind, other in DISKS.items():
        if kind != source:
            another = pod("other", volumes=[{"name": "v", kind: other}], nodeName="n")
            for pair in ((pending, another), (another, pending)):
                assert volume_restrictions.after_pod_deleted(*pair, None) is SKIP


def disks(*names):
    return [{"name": f"v-{name}", "gcePersistentDisk": {"pdName": name}} for name in names]


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        pytest.param("a", "ab", QUEUE, id="the first of theirs"),
        pytest.param("a", "ba", QUEUE, id="the last of theirs"),
        pytest.param("ab", "b", QUEUE, id="the last owned by it"),
        pytest.param("ab", "a", QUEUE, id="the first owned by it"),
        pytest.param("ab", "cd", SKIP, id="none"),
        pytest.param("a", "", SKIP, id="they have none"),
        pytest.param("", "a", SKIP, id="it has none"),
    ],
)
def test_one_disk_of_several_is_enough(mine, theirs, expected):
    pending = pod(volumes=disks(*mine))
    deleted = pod("other", volumes=disks(*theirs), nodeName="n")
    assert volume_restrictions.after_pod_deleted(pending, deleted, None) is expected


CLAIMED = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]


@pytest.mark.parametrize(
    ("deleted", "expected"),
    [
        pytest.param(pod("d", volumes=CLAIMED, nodeName="n"), QUEUE, id="it had a node"),
        pytest.param(
            pod("d", {"nominatedNodeName": "n"}, volumes=CLAIMED), QUEUE, id="it was nominated"
        ),
        pytest.param(pod("d", volumes=CLAIMED), SKIP, id="it used no room on any node"),
        pytest.param(pod("d", nodeName="n"), SKIP, id="it had no volumes"),
    ],
)
def test_volume_limits_after_a_pod_was_deleted(deleted, expected):
    """Upstream: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go."""
    assert node_volume_limits.after_pod_deleted(pod(), deleted, None) is expected


def test_gang_scheduling_waits_for_members_and_for_the_group():
    member = pod(schedulingGroup={"podGroupName": "g"})
    added = pod("added", schedulingGroup={"podGroupName": "g"})
    group = obj("scheduling.k8s.io/v1alpha2", "PodGroup", "g")
    assert gang_scheduling.after_pod_added(member, None, added) is QUEUE
    assert gang_scheduling.after_pod_added(member, None, pod("lone")) is SKIP
    assert gang_scheduling.after_pod_added(pod(), None, pod("lone")) is SKIP
    assert gang_scheduling.after_group_added(member, None, group) is QUEUE
    assert gang_scheduling.after_group_added(pod(), None, group) is SKIP


def test_declared_features_look_at_what_the_pod_itself_requires():
    hint = hint_of(
        node_declared_features.events_to_register(
            required_features=lambda pod: ("HostUsers",) if pod.spec.host_network else ()
        ),
        1,
    )
    assert hint(pod(), pod(), pod(hostNetwork=True)) is QUEUE
    assert hint(pod(), pod(), pod()) is SKIP
    assert hint(pod(), pod("other"), pod("other", hostNetwork=True)) is SKIP


def test_added_affinity_must_match_the_node_as_well():
    term = NodeSelectorTerm(match_expressions=(NodeSelectorRequirement("zone", "Exists"),))
    hint = hint_of(node_affinity.events_to_register(added_affinity=NodeSelector((term,))))
    assert hint(pod(), None, node()) is SKIP
    zoned = decode(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"zone": "a"}}}
    )
    assert hint(pod(), None, zoned) is QUEUE


def test_comparison_operators_tolerate_only_with_their_gate():
    taint = {"key": "k", "value": "5", "effect": "NoSchedule"}
    tolerant = pod(tolerations=[{"key": "k", "operator": "Gt", "value": "3"}])
    for gate, expected in [(False, SKIP), (True, QUEUE)]:
        hint = hint_of(taint_toleration.events_to_register(comparison_operators=gate))
        assert hint(tolerant, None, node(taints=[taint])) is expected


def test_default_constraints_count_for_pods_without_their_own():
    constrained = pod(
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {},
            }
        ]
    )
    with_defaults = pod_topology_spread.events_to_register(
        selector_without_keys,
        default_constraints=lambda _pod: constrained.spec.topology_spread_constraints,
    )
    other = pod("other", nodeName="n")
    assert hint_of(with_defaults)(pod(), None, other) is QUEUE
    without = pod_topology_spread.events_to_register(selector_without_keys)
    assert hint_of(without)(pod(), None, other) is SKIP


def test_a_class_for_a_resource_of_which_a_pod_requests_none_queues_it():
    """Upstream: noderesources/fit.go, isSchedulableAfterDeviceClassEvent."""
    container = {"name": "c", "resources": {"requests": {"example.com/gpu": "0"}}}
    pending = pod(containers=[container])
    changed = device_class(resource="example.com/gpu")
    assert node_resources_fit.after_device_class_change(pending, device_class(), changed) is QUEUE


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("pending", QUEUE, id="the pod itself"),
        pytest.param("other", SKIP, id="another pod"),
    ],
)
def test_some_changes_of_pods_matter_to_themselves_alone(name, expected):
    for hint in (scheduling_gates.after_gates_removed, taint_toleration.after_toleration_change):
        assert hint(pod(), pod(name, schedulingGates=[{"name": "g"}]), pod(name)) is expected


def tainted(*keys):
    return node(taints=[{"key": key, "effect": "NoSchedule"} for key in keys])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, tainted("k"), QUEUE, id="a new node whose taint is tolerated"),
        pytest.param(None, tainted("k", "other"), SKIP, id="a new node with another taint"),
        pytest.param(tainted("other"), tainted("k"), QUEUE, id="the other taint is gone"),
        pytest.param(tainted(), tainted("k"), SKIP, id="the pod was not kept off before"),
        pytest.param(tainted("other"), tainted("other", "k"), SKIP, id="it stays"),
    ],
)
def test_taint_toleration_after_a_node_change(old, new, expected):
    """Upstream: tainttoleration/taint_toleration.go, isSchedulableAfterNodeChange."""
    tolerant = pod(tolerations=[{"key": "k", "operator": "Exists"}])
    assert hint_of(taint_toleration.events_to_register())(tolerant, old, new) is expected


def declaring(*features):
    return obj("v1", "Node", "n", status={"declaredFeatures": features})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, declaring(), QUEUE, id="a new node"),
        pytest.param(declaring("A"), declaring("A", "B"), QUEUE, id="other features"),
        pytest.param(declaring("A"), declaring("A"), SKIP, id="the same"),
    ],
)
def test_declared_features_after_a_node_change(old, new, expected):
    """Upstream: nodedeclaredfeatures/nodedeclaredfeatures.go, isSchedulableAfterNodeChange."""
    assert node_declared_features.after_node_change(pod(), old, new) is expected


def roomy(**allocatable):
    return obj("v1", "Node", "n", status={"allocatable": {"pods": "9", "cpu": "1"} | allocatable})


GPU = {"example.com/gpu": "1"}
BARE = obj("v1", "Node", "n", status={"allocatable": {"cpu": "1"}})


@pytest.mark.parametrize(
    ("requests", "old", "new", "expected"),
    [
        pytest.param({"cpu": "2"}, None, roomy(), SKIP, id="a new node that is too small"),
        pytest.param({"cpu": "1"}, None, roomy(), QUEUE, id="a new node that is large enough"),
        pytest.param({"cpu": "2"}, roomy(), roomy(cpu="2"), QUEUE, id="it has grown enough"),
        pytest.param({"cpu": "2"}, roomy(), roomy(cpu="1500m"), SKIP, id="not enough"),
        pytest.param({"cpu": "1"}, roomy(), roomy(memory="8Gi"), SKIP, id="in another resource"),
        pytest.param({"cpu": "1"}, roomy(), roomy(pods="10"), QUEUE, id="in the number of pods"),
        pytest.param({"cpu": "1"}, roomy(), roomy(pods="0"), SKIP, id="it has room for no pod"),
        pytest.param({"cpu": "1"}, None, BARE, SKIP, id="it does not say for how many pods"),
        pytest.param(
            {"ephemeral-storage": "1Gi"},
            roomy(),
            roomy(**{"ephemeral-storage": "1Gi"}),
            QUEUE,
            id="in local storage",
        ),
        pytest.param(GPU, None, roomy(), QUEUE, id="a class of devices backs the resource"),
        pytest.param(GPU, roomy(), roomy(), QUEUE, id="also if nothing has grown"),
        pytest.param(GPU | {"cpu": "2"}, roomy(), roomy(), SKIP, id="but not the others"),
        pytest.param({"example.com/own": "1"}, None, roomy(), SKIP, id="no class backs it"),
    ],
)
def test_fit_after_a_node_change(requests, old, new, expected):
    """Upstream: noderesources/fit.go, isSchedulableAfterNodeChange."""
    container = {"name": "c", "resources": {"requests": requests, "limits": requests}}
    waiting = pod(containers=[container])

    def class_of(resource):
        return "gpu" if resource in GPU else ""

    assert node_resources_fit.after_node_change(class_of, waiting, old, new) is expected


def test_the_preemptor_is_never_queued_by_a_hint():
    assert default_preemption.after_pod_deleted(pod(), pod("victim"), None) is SKIP


def test_a_hint_given_another_kind_of_object_raises():
    with pytest.raises(TypeError, match="expected a Pod, got Node"):
        gang_scheduling.after_pod_added(pod(), None, node())


@pytest.mark.parametrize(
    ("placement", "answer"),
    [
        pytest.param({"nodeName": "n1"}, QUEUE, id="a placed pod"),
        pytest.param({"status": {"nominatedNodeName": "n1"}}, QUEUE, id="a nominated pod"),
        pytest.param({}, SKIP, id="a pending pod was on no node"),
    ],
)
def test_a_pod_that_is_no_longer_near_helps_if_it_counted_on_a_node(placement, answer):
    # Upstream: pkg/scheduler/framework/plugins/interpodaffinity/plugin.go,
    # isSchedulableAfterPodChange
    selector = {"labelSelector": {}, "topologyKey": "kubernetes.io/hostname"}
    away = {"requiredDuringSchedulingIgnoredDuringExecution": [selector]}
    waiting = pod(affinity={"podAntiAffinity": away})
    gone = pod("gone", **placement)
    assert inter_pod_affinity.after_pod_change(waiting, gone, None) is answer


def resources_of(name, cpu, **spec):
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    return pod(name, **{"containers": containers, **spec})


PLACED = resources_of("placed", "2", nodeName="n")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(PLACED, None, QUEUE, id="a placed pod is gone"),
        pytest.param(resources_of("p", "2"), None, SKIP, id="a pod without a node is gone"),
        pytest.param(
            pod(status={"nominatedNodeName": "n"}), None, QUEUE, id="a nominated pod is gone"
        ),
        pytest.param(
            PLACED, resources_of("placed", "1", nodeName="n"), QUEUE, id="a placed pod got smaller"
        ),
        pytest.param(
            resources_of("placed", "1m", nodeName="n"),
            pod("placed", containers=[{"name": "c"}], nodeName="n"),
            QUEUE,
            id="a placed pod gave up the last of it",
        ),
        pytest.param(
            PLACED, resources_of("placed", "3", nodeName="n"), SKIP, id="a placed pod grew"
        ),
        pytest.param(
            resources_of("p", "2"), resources_of("p", "1"), SKIP, id="a waiting pod got smaller"
        ),
        pytest.param(pod(), resources_of("pending", "1"), QUEUE, id="the pod itself changed"),
    ],
)
def test_fit_after_a_pod_event(old, new, expected):
    waiting = resources_of("pending", "1")
    assert node_resources_fit.after_pod_event(waiting, old, new) is expected


def with_port(name, port, **fields):
    containers = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": port}]}]
    return pod(name, containers=containers, **fields)


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        (with_port("a", 8080, nodeName="n"), QUEUE),
        (with_port("a", 8081, nodeName="n"), SKIP),
        (with_port("a", 8080), SKIP),
        (with_port("a", 8080, status={"nominatedNodeName": "n"}), QUEUE),
    ],
)
def test_a_port_is_free_after_the_pod_on_a_node_that_used_it(gone, expected):
    assert node_ports.after_pod_deleted(with_port("pending", 8080), gone, None) is expected


def storage_class(*zones):
    terms = [{"matchLabelExpressions": [{"key": "zone", "values": [zone]}]} for zone in zones]
    fields = {"provisioner": "p", "allowedTopologies": terms}
    return obj("storage.k8s.io/v1", "StorageClass", **fields)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, storage_class(), QUEUE),
        (storage_class("a"), storage_class("a", "b"), QUEUE),
        (storage_class("a"), storage_class("a"), SKIP),
    ],
)
def test_a_class_of_storage_helps_if_it_is_new_or_allows_other_zones(old, new, expected):
    assert volume_binding.after_class_change(pod(), old, new) is expected


def capacity(**amounts):
    return obj("storage.k8s.io/v1", "CSIStorageCapacity", storageClassName="s", **amounts)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, capacity(), QUEUE),
        (capacity(), capacity(), SKIP),
        (capacity(), capacity(capacity="1Gi"), QUEUE),
        (capacity(capacity="1Gi"), capacity(capacity="2Gi"), QUEUE),
        (capacity(capacity="2Gi"), capacity(capacity="1Gi"), SKIP),
        (capacity(capacity="1Gi"), capacity(), SKIP),
        # The largest volume counts before the capacity.
        (
            capacity(capacity="1Gi", maximumVolumeSize="1Gi"),
            capacity(capacity="2Gi", maximumVolumeSize="1Gi"),
            SKIP,
        ),
    ],
)
def test_a_capacity_helps_if_it_is_new_or_allows_larger_volumes(old, new, expected):
    assert volume_binding.after_capacity_change(pod(), old, new) is expected
