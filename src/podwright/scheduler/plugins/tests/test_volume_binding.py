import pytest

from podwright.apimachinery.objects import with_fields
from podwright.scheduler.columns.tests.storage_objects import (
    capacity,
    claim,
    csi_driver,
    csi_node,
    expression,
    storage_class,
    using,
    volume,
)
from podwright.scheduler.config import UtilizationShapePoint, VolumeBindingArgs, parse_gates
from podwright.scheduler.framework import Code, Status
from podwright.scheduler.plugins.tests.one_node_at_a_time import (
    cycle_of,
    node,
    pod,
    reasons,
    scored,
)
from podwright.scheduler.plugins.volume_binding import ASSUMED, VolumeBinding

NO_VOLUME = ("node(s) didn't find available persistent volumes to bind",)
OUT_OF_REACH = ("node(s) didn't match PersistentVolume's node affinity",)
NO_ROOM = ("node(s) did not have enough free storage",)
GONE = ("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",)

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def nodes(count=3):
    return [node(f"n{i}", labels={HOST: f"n{i}", ZONE: "ab"[i % 2]}) for i in range(count)]


def prepared(incoming, *objects):
    cycle = cycle_of(incoming, *nodes(), *objects)
    status = VolumeBinding().pre_filter(cycle)
    return cycle, status


def rejected(incoming, *objects):
    cycle, status = prepared(incoming, *objects)
    assert status.is_success, status
    return reasons(VolumeBinding(), cycle)


# ------------------------------------------------------------------------------ PreFilter


@pytest.mark.parametrize(
    ("volumes", "objects", "code", "reason"),
    [
        pytest.param([], [], Code.SKIP, "", id="no volumes"),
        pytest.param([{"name": "t", "projected": {}}], [], Code.SKIP, "", id="a token"),
        pytest.param(
            using("c"),
            [],
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            'persistentvolumeclaim "c" not found',
            id="a missing claim",
        ),
        pytest.param(
            using("c"),
            [claim("c", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            'persistentvolumeclaim "c" is being deleted',
            id="a claim that is going",
        ),
        pytest.param(
            using("c"),
            [with_fields(claim("c", bound_to="v"), "status", phase="Lost")],
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
            id="a lost claim",
        ),
        pytest.param(
            using("c"),
            [claim("c", of_class="unknown")],
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "pod has unbound immediate PersistentVolumeClaims",
            id="a class that is missing binds at once",
        ),
        pytest.param(
            using("c"),
            [claim("c", volumeName="v"), storage_class("local")],
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "pod has unbound immediate PersistentVolumeClaims",
            id="a claim that names its volume is not the pod's to bind",
        ),
        pytest.param(
            using("c"),
            [claim("c"), storage_class("local", volumeBindingMode=None)],
            Code.ERROR,
            'VolumeBindingMode not set for StorageClass "local"',
            id="a class without a mode is an error",
        ),
        pytest.param(
            [{"name": "s", "ephemeral": {}}],
            [],
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-s"',
            id="an ephemeral claim that is not there yet",
        ),
        pytest.param(
            [{"name": "s", "ephemeral": {}}],
            [claim("p-s")],
            Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
            "PVC default/p-s was not created for pod default/p (pod is not owner)",
            id="an ephemeral claim of another pod",
        ),
    ],
)
def test_claims_that_keep_a_pod_waiting(volumes, objects, code, reason):
    _, status = prepared(pod(volumes=volumes), *objects)
    assert status.code == code
    assert status.message == reason


# ------------------------------------------------------------------------- bound volumes


def test_a_bound_volume_is_reached_from_its_nodes_only():
    objects = [claim("c", bound_to="v"), volume("v", on=["n1"], claim="c")]
    assert rejected(pod(volumes=using("c")), *objects) == {
        "n0": OUT_OF_REACH,
        "n2": OUT_OF_REACH,
    }


def test_a_deleted_volume_rejects_all_nodes():
    assert set(rejected(pod(volumes=using("c")), claim("c", bound_to="v")).values()) == {GONE}


def test_a_conflict_with_an_earlier_volume_hides_a_later_deleted_one():
    objects = [
        claim("c", bound_to="v"),
        volume("v", on=["n1"], claim="c"),
        claim("d", bound_to="w"),
    ]
    assert rejected(pod(volumes=using("c", "d")), *objects) == {
        "n0": OUT_OF_REACH,
        "n1": GONE,
        "n2": OUT_OF_REACH,
    }


def test_conflicts_of_bound_and_waiting_claims_are_reported_together():
    objects = [
        claim("c", bound_to="v"),
        volume("v", on=["n1"], claim="c"),
        claim("d"),
        storage_class("local"),
    ]
    assert rejected(pod(volumes=using("c", "d")), *objects)["n0"] == OUT_OF_REACH + NO_VOLUME


def test_a_migrated_volume_uses_the_label_of_its_driver():
    zone = {"matchExpressions": [expression(ZONE, "In", "a")]}
    disk = volume(
        "v",
        claim="c",
        gcePersistentDisk={"pdName": "d"},
        nodeAffinity={"required": {"nodeSelectorTerms": [zone]}},
    )
    migrated = csi_node("n0", migrated="kubernetes.io/gce-pd,kubernetes.io/aws-ebs")
    objects = [claim("c", bound_to="v"), disk, migrated]
    # n0 is in zone a, but lacks topology.gke.io/zone.
    assert set(rejected(pod(volumes=using("c")), *objects)) == {"n0", "n1"}


# ----------------------------------------------------------------------- waiting claims


def bindings(incoming, node_name, *objects):
    cycle, status = prepared(incoming, *objects)
    assert status.is_success, status
    assert VolumeBinding().reserve(cycle, node_name).is_success
    assumed = cycle.read(ASSUMED)
    return {
        "bound": {claim.name: volume.name for claim, volume in assumed.bindings},
        "provisioned": [claim.name for claim in assumed.provisions],
    }


SMALL, LARGE = volume("small", "6Gi", on=["n0"]), volume("large", "9Gi", on=["n0", "n1"])


@pytest.mark.parametrize(
    ("wish", "volumes", "chosen"),
    [
        pytest.param({}, [LARGE, SMALL], "small", id="the smallest that is large enough"),
        pytest.param({"size": "7Gi"}, [LARGE, SMALL], "large", id="and not smaller"),
        pytest.param({"size": "6Gi"}, [LARGE, SMALL], "small", id="exactly large enough"),
        pytest.param(
            {},
            [SMALL, volume("bound", "20Gi", on=["n0"], claim="c")],
            "bound",
            id="the one that is reserved for it, before all others",
        ),
        pytest.param(
            {},
            [SMALL, volume("bound", "20Gi", on=["n1"], claim="c")],
            None,
            id="a reserved one on another node excludes this node",
        ),
        pytest.param(
            {}, [volume("v", claim="other"), LARGE], "large", id="not one that is another's"
        ),
        pytest.param(
            {"volumeMode": "Block"},
            [SMALL, volume("block", "8Gi", volumeMode="Block")],
            "block",
            id="the same mode",
        ),
        pytest.param(
            {"accessModes": ["ReadWriteMany"]},
            [SMALL, volume("many", accessModes=["ReadWriteOnce", "ReadWriteMany"])],
            "many",
            id="all access modes",
        ),
        pytest.param(
            {"selector": {"matchLabels": {"media": "ssd"}}},
            [SMALL, volume("ssd", labels={"media": "ssd"})],
            "ssd",
            id="the labels it selects",
        ),
        pytest.param(
            {"volumeAttributesClassName": "gold"},
            [SMALL, volume("gold", volumeAttributesClassName="gold")],
            "gold",
            id="the same attributes class",
        ),
        pytest.param({}, [volume("v", of_class="other"), LARGE], "large", id="the same class"),
        pytest.param(
            {},
            [with_fields(SMALL, "status", phase="Released"), LARGE],
            "large",
            id="only what is available",
        ),
        pytest.param(
            {},
            [with_fields(SMALL, "metadata", deletion_timestamp="2026-01-01T00:00:00Z"), LARGE],
            "large",
            id="no volume that is being deleted",
        ),
    ],
)
def test_the_volume_that_a_claim_gets(wish, volumes, chosen):
    objects = [claim("c", **wish), storage_class("local"), *volumes]
    incoming = pod(volumes=using("c"))
    assert ("n0" in rejected(incoming, *objects)) == (chosen is None)
    assert bindings(incoming, "n0", *objects)["bound"] == ({"c": chosen} if chosen else {})


def test_two_claims_get_two_volumes_the_smaller_claim_first():
    objects = [claim("c", "6Gi"), claim("d", "5Gi"), storage_class("local"), SMALL, LARGE]
    incoming = pod(volumes=using("c", "d"))
    assert rejected(incoming, *objects) == {"n1": NO_VOLUME, "n2": NO_VOLUME}
    assert bindings(incoming, "n0", *objects)["bound"] == {"d": "small", "c": "large"}


def test_a_claim_without_a_volume_is_provisioned_where_the_class_allows():
    topology = {"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}
    dynamic = storage_class("local", "csi.x", allowedTopologies=[topology])
    objects = [claim("c"), dynamic, volume("v", on=["n1"])]
    incoming = pod(volumes=using("c"))
    assert rejected(incoming, *objects) == {}
    assert bindings(incoming, "n0", *objects) == {"bound": {}, "provisioned": ["c"]}
    assert bindings(incoming, "n1", *objects) == {"bound": {"c": "v"}, "provisioned": []}
    assert rejected(incoming, *objects[:2]) == {"n1": NO_VOLUME}


@pytest.mark.parametrize(
    ("amounts", "roomy"),
    [
        pytest.param({"capacity": "5Gi"}, True, id="exactly enough"),
        pytest.param({"capacity": "4Gi"}, False, id="too little"),
        pytest.param(
            {"capacity": "9Gi", "maximumVolumeSize": "4Gi"}, False, id="the largest piece decides"
        ),
        pytest.param({}, False, id="unknown is none"),
    ],
)
def test_provisioning_needs_room_where_the_driver_reports_it(amounts, roomy):
    objects = [
        claim("c"),
        storage_class("local", "csi.x"),
        capacity("k", "local", {HOST: "n0"}, **amounts),
    ]
    incoming = pod(volumes=using("c"))
    assert rejected(incoming, *objects) == {}
    full = rejected(incoming, *objects, csi_driver("csi.x"))
    assert full == {n: NO_ROOM for n in ["n0", "n1", "n2"] if n != "n0" or not roomy}


def test_a_claim_with_a_selected_node_is_restricted_to_it():
    selected = claim("c", meta={"annotations": {"volume.kubernetes.io/selected-node": "n2"}})
    objects = [selected, storage_class("local", "csi.x"), SMALL]
    assert rejected(pod(volumes=using("c")), *objects) == {"n0": NO_VOLUME, "n1": NO_VOLUME}
    # Its other claims are checked where that one leaves nodes.
    other, fixed = claim("d", of_class="fixed"), storage_class("fixed")
    further = [other, fixed, volume("v", of_class="fixed", on=["n0"])]
    assert rejected(pod(volumes=using("c", "d")), *objects, *further) == dict.fromkeys(
        ("n0", "n1", "n2"), NO_VOLUME
    )


# ------------------------------------------------------------------- reserve, unreserve


def test_a_reserved_volume_is_not_given_twice_until_it_is_taken_back():
    objects = [claim("c"), claim("d"), storage_class("local"), SMALL]
    plugin = VolumeBinding()
    cycle, _ = prepared(pod(volumes=using("c")), *objects)
    plugin.reserve(cycle, "n0")
    assert cycle.cluster.storage.volume("small").spec.claim_ref.name == "c"

    other = type(cycle)(pod("q", volumes=using("d")), cycle.cluster)
    plugin.pre_filter(other)
    assert set(reasons(plugin, other)) == {"n0", "n1", "n2"}

    plugin.unreserve(cycle, "n0")
    plugin.unreserve(cycle, "n0")
    assert cycle.cluster.storage.volume("small").spec.claim_ref is None
    assert set(reasons(plugin, other)) == {"n1", "n2"}


def test_a_reserved_claim_has_selected_its_node():
    cycle, _ = prepared(pod(volumes=using("c")), claim("c"), storage_class("local", "csi.x"))
    plugin = VolumeBinding()
    plugin.reserve(cycle, "n1")
    sharing = type(cycle)(pod("q", volumes=using("c")), cycle.cluster)
    plugin.pre_filter(sharing)
    assert set(reasons(plugin, sharing)) == {"n0", "n2"}


def test_a_claim_that_is_given_back_has_selected_no_node():
    cycle, _ = prepared(pod(volumes=using("c")), claim("c"), storage_class("local", "csi.x"))
    plugin = VolumeBinding()
    plugin.reserve(cycle, "n1")
    plugin.unreserve(cycle, "n1")
    sharing = type(cycle)(pod("q", volumes=using("c")), cycle.cluster)
    plugin.pre_filter(sharing)
    assert reasons(plugin, sharing) == {}


def test_a_pod_that_has_reserved_nothing_gives_nothing_back():
    cycle, _ = prepared(pod(volumes=using("c")), claim("c", bound_to="v"), volume("v", claim="c"))
    VolumeBinding().unreserve(cycle, "n0")
    assert cycle.cluster.storage.volume("v").spec.claim_ref.name == "c"


def test_a_pod_whose_claims_are_bound_reserves_nothing():
    cycle, _ = prepared(pod(volumes=using("c")), claim("c", bound_to="v"), volume("v", claim="c"))
    assert VolumeBinding().reserve(cycle, "n0").is_success
    assert cycle.find(ASSUMED) is None


def test_reserved_objects_have_the_annotations_of_the_binding():
    cycle, _ = prepared(pod(volumes=using("c")), claim("c"), storage_class("local"), SMALL)
    VolumeBinding().reserve(cycle, "n0")
    ((_, bound),) = cycle.read(ASSUMED).bindings
    assert bound.raw["spec"]["claimRef"] == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": "c",
        "uid": "c",
        "resourceVersion": "1",
    }
    assert bound.raw["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}


def test_pods_without_claims_share_one_key():
    plugin = VolumeBinding()
    token = {"name": "kube-api-access", "projected": {"sources": []}}
    assert plugin.pod_key(pod("p", volumes=[token])) == plugin.pod_key(pod("q")) == ()
    scratch = [{"name": "s", "ephemeral": {}}]
    assert plugin.pod_key(pod("p", volumes=scratch)) != plugin.pod_key(pod("q", volumes=scratch))
    assert plugin.key_is_of_template(pod(volumes=using("c")))
    assert not plugin.key_is_of_template(pod(volumes=scratch))


# ------------------------------------------------------------------------------ scoring

SCORES = parse_gates("StorageCapacityScoring=true")


def shape(*points):
    return VolumeBindingArgs(
        shape=tuple(UtilizationShapePoint(utilization=u, score=s) for u, s in points)
    )


LEAST = shape((0, 10), (100, 0))
MOST = shape((0, 0), (100, 10))


def scores(args, incoming, *objects):
    plugin = VolumeBinding(args, gates=SCORES)
    cycle = cycle_of(incoming, *nodes(), *objects)
    assert plugin.pre_filter(cycle) == Status.OK
    assert plugin.pre_score(cycle) == Status.OK
    return list(scored(plugin, cycle).values())


@pytest.mark.parametrize(
    ("args", "requested", "volumes", "expected"),
    [
        pytest.param(
            LEAST,
            ["5Gi"],
            [("v0", "10Gi", "n0"), ("v1", "50Gi", "n1"), ("v2", "5Gi", "n2")],
            [50, 90, 0],
            id="the emptier the better",
        ),
        pytest.param(
            MOST,
            ["5Gi"],
            [("v0", "10Gi", "n0"), ("v1", "50Gi", "n1"), ("v2", "5Gi", "n2")],
            [50, 10, 100],
            id="the fuller the better",
        ),
        pytest.param(
            LEAST,
            ["5Gi", "5Gi"],
            [("v0", "10Gi", "n0"), ("w0", "40Gi", "n0")],
            [80, 0, 0],
            id="volumes of one class are added up; without volumes it is 0",
        ),
        pytest.param(
            shape((0, 0), (50, 10), (100, 0)),
            ["5Gi"],
            [("v0", "10Gi", "n0"), ("v1", "20Gi", "n1"), ("v2", "8Gi", "n2")],
            [100, 50, 76],
            id="a broken line, cut off",
        ),
    ],
)
def test_existing_volumes_are_scored_by_their_used_share(args, requested, volumes, expected):
    objects = [volume(name, size, on=[host]) for name, size, host in volumes]
    objects += [claim(f"c{i}", size) for i, size in enumerate(requested)]
    names = [f"c{i}" for i in range(len(requested))]
    assert scores(args, pod(volumes=using(*names)), storage_class("local"), *objects) == expected


def test_classes_count_equally_and_halves_are_rounded_up():
    objects = [
        storage_class("local"),
        storage_class("fast"),
        volume("v", "10Gi", on=["n0"]),
        volume("w", "200Gi", of_class="fast", on=["n0"]),
        claim("a", "5Gi"),
        claim("b", "70Gi", of_class="fast"),
    ]
    # 50 and 65: 57.5
    assert scores(LEAST, pod(volumes=using("a", "b")), *objects) == [58, 0, 0]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param(["20Gi"], [80, 50, 0], id="one claim"),
        pytest.param(["20Gi", "20Gi"], [60, 0, 0], id="claims of a class share the pool"),
    ],
)
def test_volumes_that_are_to_be_made_are_scored_by_the_pool(sizes, expected):
    objects = [
        storage_class("made", "csi.x"),
        csi_driver("csi.x"),
        capacity("p0", "made", {HOST: "n0"}, capacity="100Gi"),
        capacity("p1", "made", {HOST: "n1"}, capacity="40Gi", maximumVolumeSize="30Gi"),
        *(claim(f"c{i}", size, of_class="made") for i, size in enumerate(sizes)),
    ]
    names = [f"c{i}" for i in range(len(sizes))]
    assert scores(LEAST, pod(volumes=using(*names)), *objects) == expected


def test_volumes_of_drivers_without_capacity_score_zero():
    objects = [storage_class("made", "csi.y"), claim("c", of_class="made")]
    assert scores(LEAST, pod(volumes=using("c")), *objects) == [0, 0, 0]


def test_pods_without_volumes_score_zero():
    """Upstream: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go, Score."""
    plugin, cycle = VolumeBinding(LEAST, gates=SCORES), cycle_of(pod(), *nodes())
    assert plugin.pre_filter(cycle) == Status.SKIPPED
    assert set(scored(plugin, cycle).values()) == {0}


def test_an_existing_volume_precedes_a_provisioned_one():
    objects = [
        storage_class("made", "csi.x"),
        storage_class("local"),
        csi_driver("csi.x"),
        capacity("p0", "made", {}, capacity="100Gi"),
        volume("v", "10Gi", on=["n0"]),
        claim("a", "5Gi"),
        claim("b", "20Gi", of_class="made"),
    ]
    assert scores(LEAST, pod(volumes=using("a", "b")), *objects)[0] == 50


def test_without_the_gate_nothing_is_scored():
    cycle, _ = prepared(pod(volumes=using("c")), storage_class("local"), claim("c"))
    assert VolumeBinding(LEAST).pre_score(cycle).is_skip
    assert set(scored(VolumeBinding(LEAST), cycle).values()) == {0}
