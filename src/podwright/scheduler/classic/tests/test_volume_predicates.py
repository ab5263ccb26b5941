"""The v1.16 predicates of disks, claims and their volumes, each by itself."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import with_fields
from podwright.apimachinery.schema import decode
from podwright.scheduler.classic.failure import SchedulingError
from podwright.scheduler.classic.tests.single_predicates import rejected
from podwright.testing import make_node, make_pod

ZONE, REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"


def with_volumes(name: str, *volumes: dict[str, Any], **fields: Any) -> Any:
    listed = [{"name": f"v{number}"} | each for number, each in enumerate(volumes)]
    return make_pod(name, spec={"volumes": listed}, **fields)


def gce(name: str, *, is_read: bool = False) -> dict[str, Any]:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": is_read}}


def ebs(name: str, *, is_read: bool = False) -> dict[str, Any]:
    return {"awsElasticBlockStore": {"volumeID": name, "readOnly": is_read}}


def iscsi(iqn: str, *, is_read: bool = False) -> dict[str, Any]:
    return {"iscsi": {"iqn": iqn, "targetPortal": "t", "lun": 0, "readOnly": is_read}}


def rbd(monitors: str, pool: str, image: str, *, is_read: bool = False) -> dict[str, Any]:
    source = {"monitors": [*monitors], "pool": pool, "image": image, "readOnly": is_read}
    return {"rbd": source}


@pytest.mark.parametrize(
    ("mine", "other", "conflicts"),
    [
        (gce("d"), gce("d"), True),
        (gce("d"), gce("e"), False),
        (gce("d", is_read=True), gce("d"), True),
        (gce("d"), gce("d", is_read=True), True),
        (gce("d", is_read=True), gce("d", is_read=True), False),
        (ebs("d"), ebs("d"), True),
        (ebs("d", is_read=True), ebs("d", is_read=True), True),
        (ebs("d"), ebs("e"), False),
        (ebs("d"), gce("d"), False),
        (iscsi("q"), iscsi("q"), True),
        (iscsi("q"), iscsi("r"), False),
        (iscsi("q", is_read=True), iscsi("q", is_read=True), False),
        (iscsi("q", is_read=True), iscsi("q"), True),
        (iscsi("q"), iscsi("q", is_read=True), True),
        (rbd("ab", "p", "i"), rbd("bc", "p", "i"), True),
        (rbd("ab", "p", "i"), rbd("cd", "p", "i"), False),
        (rbd("ab", "p", "i"), rbd("ab", "q", "i"), False),
        (rbd("ab", "p", "i"), rbd("ab", "p", "j"), False),
        (rbd("a", "p", "i", is_read=True), rbd("a", "p", "i", is_read=True), False),
        (rbd("a", "p", "i", is_read=True), rbd("a", "p", "i"), True),
        (rbd("a", "p", "i"), rbd("a", "p", "i", is_read=True), True),
        ({"emptyDir": {}}, gce("d"), False),
        (gce("d"), iscsi("d"), False),
        (iscsi("d"), ebs("d"), False),
        (ebs("d"), rbd("a", "p", "i"), False),
        (rbd("a", "p", "i"), gce("d"), False),
    ],
)
def test_disks_that_two_pods_cannot_use(
    mine: dict[str, Any], other: dict[str, Any], conflicts: bool
) -> None:
    pods = with_volumes("p", {"emptyDir": {}}, mine), with_volumes("q", other, node="n")
    found = rejected("NoDiskConflict", pods[0], make_node("n"), make_node("m"), pods[1])
    assert found == ({"n": ["node(s) had no available disk"]} if conflicts else {})


BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def claimed(name: str) -> dict[str, Any]:
    return {"persistentVolumeClaim": {"claimName": name}}


def claim(name: str, volume: str = "", storage_class: str | None = None, **spec: Any) -> Any:
    body = {"volumeName": volume, "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}} | spec  # fmt: skip
    body |= {} if storage_class is None else {"storageClassName": storage_class}
    return decode(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default", "annotations": BOUND},
            "spec": body,
        }
    )


def noted(obj: Any, **annotations: str) -> Any:
    """Return an object with these annotations instead of its own."""
    names = {"node": "volume.kubernetes.io/selected-node",
             "class_": "volume.beta.kubernetes.io/storage-class"}  # fmt: skip
    return with_fields(
        obj, "metadata", annotations={names[name]: text for name, text in annotations.items()}
    )


def volume(
    name: str, labels: dict[str, str] | None = None, *, phase: str = "Available", **spec: Any
) -> Any:
    body = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]} | spec
    metadata = {"name": name, "labels": labels or {}}
    document = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata}
    return decode(document | {"spec": body, "status": {"phase": phase}})


def storage_class(name: str, provisioner: str = "p.example.com", **fields: Any) -> Any:
    document = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}
    waits = {"volumeBindingMode": "WaitForFirstConsumer"}
    metadata = {"name": name}
    return decode(document | waits | {"metadata": metadata, "provisioner": provisioner} | fields)


LIMITED = {"attachable-volumes-aws-ebs": 1, "attachable-volumes-gce-pd": 1,
           "attachable-volumes-azure-disk": 1, "attachable-volumes-cinder": 1}  # fmt: skip


@pytest.mark.parametrize(
    ("predicate", "source", "provisioner"),
    [
        ("MaxEBSVolumeCount", ebs, "kubernetes.io/aws-ebs"),
        ("MaxGCEPDVolumeCount", gce, "kubernetes.io/gce-pd"),
        (
            "MaxAzureDiskVolumeCount",
            lambda name: {"azureDisk": {"diskName": name, "diskURI": "u"}},
            "kubernetes.io/azure-disk",
        ),
        (
            "MaxCinderVolumeCount",
            lambda name: {"cinder": {"volumeID": name}},
            "kubernetes.io/cinder",
        ),
    ],
)
def test_the_limit_of_disks_of_a_node(predicate: str, source: Any, provisioner: str) -> None:
    node = make_node("n", resources=LIMITED)
    here = with_volumes("q", source("d"), node="n")
    reason = {"n": ["node(s) exceed max volume count"]}
    bound = [claim("c", "pv"), volume("pv", **source("e")), claim("s", "same"),
             volume("same", **source("d"))]  # fmt: skip
    provisioned = [
        claim("made", storage_class="own"), storage_class("own", provisioner),
        claim("foreign", storage_class="other"), storage_class("other", "x"), claim("plain"),
        claim("lost", "nowhere"), claim("lost-here", "nowhere", "own"),
    ]  # fmt: skip
    for volumes, is_rejected in (
        ((source("d"),), False),
        ((source("e"),), True),
        ((source("d"), source("e")), True),
        ((claimed("s"),), False),
        ((claimed("c"),), True),
        ((claimed("made"),), True),
        ((claimed("foreign"),), False),
        ((claimed("plain"),), False),
        ((claimed("lost"),), False),
        ((claimed("lost-here"),), True),
        ((claimed("absent"),), False),
        (({"emptyDir": {}},), False),
    ):
        pod = with_volumes("p", *volumes)
        found = rejected(predicate, pod, node, here, *bound, *provisioned)
        assert found == (reason if is_rejected else {}), volumes
    # A node over its limit rejects a pod that adds nothing, and an empty one takes one disk.
    more = with_volumes("r", source("e"), node="n")
    assert rejected(predicate, with_volumes("p", source("d")), node, here, more) == reason
    assert rejected(predicate, with_volumes("p", source("d")), node) == {}


@pytest.mark.parametrize(
    ("predicate", "source", "labels", "limit"),
    [
        ("MaxEBSVolumeCount", ebs, {}, 39),
        (
            "MaxEBSVolumeCount", ebs,
            {"beta.kubernetes.io/instance-type": "m5.large"}, 25,
        ),
        (
            "MaxEBSVolumeCount", ebs,
            {"beta.kubernetes.io/instance-type": "t3.nano"}, 25,
        ),
        (
            "MaxEBSVolumeCount", ebs,
            {"beta.kubernetes.io/instance-type": "m4.large"}, 39,
        ),
        ("MaxGCEPDVolumeCount", gce, {}, 16),
        (
            "MaxAzureDiskVolumeCount",
            lambda name: {"azureDisk": {"diskName": name, "diskURI": "u"}}, {}, 16,
        ),
        ("MaxCinderVolumeCount", lambda name: {"cinder": {"volumeID": name}}, {}, 256),
    ],
)  # fmt: skip
def test_the_default_limits_of_disks(
    predicate: str, source: Any, labels: dict[str, str], limit: int
) -> None:
    node = make_node("n", labels=labels)
    for count in (limit, limit + 1):
        pod = with_volumes("p", *(source(f"d{number}") for number in range(count)))
        assert bool(rejected(predicate, pod, node)) is (count > limit)


def test_the_limits_of_csi_drivers() -> None:
    def csi(name: str, driver: str = "d", handle: str = "") -> Any:
        return volume(name, csi={"driver": driver, "volumeHandle": handle or name})

    def csi_node(*counts: int | None) -> Any:
        drivers = [
            {"name": "d", "nodeID": "n"} | ({} if count is None else {"allocatable": {
                "count": count}}) for count in counts
        ]  # fmt: skip
        return decode({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode",
                       "metadata": {"name": "n"}, "spec": {"drivers": drivers}})  # fmt: skip

    claims = [
        claim("a", "va"), csi("va"), claim("b", "vb"), csi("vb"), claim("e", "ve"), csi("ve", "e"),
        claim("same", "vs"), csi("vs", handle="va"), claim("disk", "vd"), volume("vd", **gce("x")),
        claim("made", storage_class="d"), storage_class("d", "d"), claim("plain"),
        noted(claim("noted", storage_class="x"), class_="d"), claim("lost", "nowhere", "d"),
    ]  # fmt: skip
    here = with_volumes("q", claimed("a"), node="n")
    node, named = make_node("n"), make_node("n", resources={"attachable-volumes-csi-d": 1})
    reason = {"n": ["node(s) exceed max volume count"]}
    for volumes, objects, is_rejected in (
        (["b"], [node], False),
        (["b"], [named], True),
        (["b"], [node, csi_node(1)], True),
        (["b"], [node, csi_node(2)], False),
        (["b"], [named, csi_node(2)], False),
        (["b"], [node, csi_node(None)], False),
        (["a"], [named], False),
        (["same"], [named], False),
        (["e"], [named], False),
        (["disk"], [named], False),
        (["made"], [named], True),
        (["noted"], [named], True),
        (["lost"], [named], True),
        (["plain"], [named], False),
        (["absent"], [named], False),
        (["a", "e", "disk"], [named], False),
        (["a", "made"], [named], True),
    ):
        pod = with_volumes("p", {"emptyDir": {}}, *map(claimed, volumes))
        found = rejected("MaxCSIVolumeCountPred", pod, *objects, here, *claims)
        assert found == (reason if is_rejected else {}), (volumes, objects)


# ----------------------------------------------------------------------------- volume binding


def reachable(*names: str) -> dict[str, Any]:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [*names]}
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [
        {"matchExpressions": [expression]}]}}}  # fmt: skip


HOSTS = [make_node(name, labels={"kubernetes.io/hostname": name}) for name in ("n1", "n2")]
NO_MATCH = "node(s) didn't find available persistent volumes to bind"
NOT_THERE = "node(s) had volume node affinity conflict"
LOCAL = storage_class("local", "kubernetes.io/no-provisioner")


@pytest.mark.parametrize(
    ("objects", "found"),
    [
        pytest.param([claim("a", "v"), volume("v")], {}, id="bound, in reach of all"),
        pytest.param(
            [claim("a", "v"), volume("v", **reachable("n1"))], {"n2": [NOT_THERE]}, id="bound"
        ),
        pytest.param(
            [LOCAL, claim("a", storage_class="local")], {"n1": [NO_MATCH], "n2": [NO_MATCH]},
            id="nothing to bind",
        ),
        pytest.param(
            [LOCAL, claim("a", storage_class="local"),
             volume("v", storageClassName="local", **reachable("n2"))],
            {"n1": [NO_MATCH]}, id="a volume of the class",
        ),
        pytest.param(
            [LOCAL, claim("a", storage_class="local"), volume("v", storageClassName="x")],
            {"n1": [NO_MATCH], "n2": [NO_MATCH]}, id="a volume of another class",
        ),
        pytest.param(
            [LOCAL, claim("a", storage_class="local"),
             volume("v", storageClassName="local", capacity={"storage": "1023Mi"})],
            {"n1": [NO_MATCH], "n2": [NO_MATCH]}, id="a volume that is too small",
        ),
        pytest.param(
            [LOCAL, claim("a", storage_class="local"),
             volume("v", storageClassName="local", volumeMode="Block")],
            {"n1": [NO_MATCH], "n2": [NO_MATCH]}, id="a volume of another mode",
        ),
        pytest.param(
            [LOCAL, claim("a", storage_class="local", volumeMode="Filesystem"),
             volume("v", storageClassName="local")], {}, id="the default mode",
        ),
        pytest.param(
            [LOCAL, claim("a", storage_class="local", volumeMode="Block"),
             volume("v", storageClassName="local", volumeMode="Block")], {}, id="the same mode",
        ),
        pytest.param(
            [LOCAL, claim("a", storage_class="local", accessModes=["ReadWriteOnce",
                                                                   "ReadOnlyMany"]),
             volume("v", storageClassName="local")],
            {"n1": [NO_MATCH], "n2": [NO_MATCH]}, id="a volume without an access mode",
        ),
        pytest.param(
            [LOCAL, claim("a", storage_class="local", selector={"matchLabels": {"x": "y"}}),
             volume("v", storageClassName="local")],
            {"n1": [NO_MATCH], "n2": [NO_MATCH]}, id="a volume without the labels",
        ),
        pytest.param(
            [LOCAL, claim("a", storage_class="local", selector={"matchLabels": {"x": "y"}}),
             volume("v", {"x": "y"}, storageClassName="local")], {}, id="a volume with the labels",
        ),
        pytest.param(
            [LOCAL, claim("a", storage_class="local", selector={"matchLabels": {"x": "y"}}),
             volume("v", {"x": "z"}, storageClassName="local")],
            {"n1": [NO_MATCH], "n2": [NO_MATCH]}, id="a volume with other labels",
        ),
        pytest.param(
            [LOCAL, claim("a", storage_class="local"),
             volume("v", storageClassName="local",
                    claimRef={"namespace": "default", "name": "a"})], {},
            id="a volume for the claim",
        ),
        pytest.param(
            [LOCAL, claim("a", storage_class="local"),
             volume("v", storageClassName="local", claimRef={"namespace": "default",
                                                             "name": "z"})],
            {"n1": [NO_MATCH], "n2": [NO_MATCH]}, id="a volume for another claim",
        ),
        pytest.param(
            [LOCAL, claim("a", storage_class="local"),
             volume("v", storageClassName="local", phase="Bound",
                    claimRef={"namespace": "default", "name": "a"}, **reachable("n2")),
             volume("w", storageClassName="local", capacity={"storage": "1.5Gi"})],
            {"n1": [NO_MATCH]}, id="one that is reserved for the claim before free ones",
        ),
        pytest.param(
            [LOCAL, claim("a", storage_class="local"),
             volume("v", storageClassName="local",
                    claimRef={"namespace": "default", "name": "a", "uid": "another"})],
            {"n1": [NO_MATCH], "n2": [NO_MATCH]}, id="a volume for an earlier claim of the name",
        ),
        pytest.param(
            [LOCAL, claim("a", storage_class="local"),
             volume("v", storageClassName="local", phase="Released")],
            {"n1": [NO_MATCH], "n2": [NO_MATCH]}, id="a volume that is not available",
        ),
        pytest.param(
            [LOCAL, claim("a", storage_class="local"),
             with_fields(volume("v", storageClassName="local"), "metadata",
                         deletion_timestamp="2026-01-01T00:00:00Z")],
            {"n1": [NO_MATCH], "n2": [NO_MATCH]}, id="a volume that is being deleted",
        ),
        pytest.param(
            [LOCAL, noted(claim("a", storage_class="x"), class_="local"),
             noted(volume("v", storageClassName="y"), class_="local")], {},
            id="the class of the annotation",
        ),
        pytest.param(
            [storage_class("made"), noted(claim("a", storage_class="made"), node="n2")],
            {"n1": [NO_MATCH]}, id="the node that was selected for a claim",
        ),
        pytest.param(
            [LOCAL, noted(claim("a", storage_class="local"), node="n2"),
             volume("v", storageClassName="local")],
            {"n1": [NO_MATCH], "n2": [NO_MATCH]}, id="a selected node, where nothing is matched",
        ),
        pytest.param(
            [storage_class("made"), claim("a", storage_class="made")], {}, id="provisioned"
        ),
        pytest.param(
            [storage_class("made", allowedTopologies=[{"matchLabelExpressions": [
                {"key": "kubernetes.io/hostname", "values": ["n2", "n3"]}]}]),
             claim("a", storage_class="made")], {"n1": [NO_MATCH]}, id="provisioned in a place",
        ),
        pytest.param(
            [storage_class("made", allowedTopologies=[{"matchLabelExpressions": [
                {"key": "kubernetes.io/hostname", "values": ["n1", "n2"]},
                {"key": "zone", "values": ["z"]}]}]),
             claim("a", storage_class="made")],
            {"n1": [NO_MATCH], "n2": [NO_MATCH]}, id="provisioned in a place of two labels",
        ),
        pytest.param(
            [storage_class("made", ""), claim("a", storage_class="made")],
            {"n1": [NO_MATCH], "n2": [NO_MATCH]}, id="without a provisioner",
        ),
    ],
)  # fmt: skip
def test_the_volumes_of_a_claim(objects: list[Any], found: dict[str, list[str]]) -> None:
    pod = with_volumes("p", {"emptyDir": {}}, claimed("a"))
    assert rejected("CheckVolumeBinding", pod, *HOSTS, *objects) == found


def test_two_claims_need_two_volumes_and_take_the_smallest_first() -> None:
    pod = with_volumes("p", claimed("a"), claimed("b"))
    more = {"requests": {"storage": "2Gi"}}
    claims = [
        LOCAL,
        claim("a", storage_class="local"),
        claim("b", storage_class="local", resources=more),
    ]
    small = volume("small", storageClassName="local")
    large = volume("large", storageClassName="local", capacity={"storage": "2Gi"})
    assert rejected("CheckVolumeBinding", pod, *HOSTS, *claims, large, small) == {}
    both = {"n1": [NO_MATCH], "n2": [NO_MATCH]}
    assert rejected("CheckVolumeBinding", pod, *HOSTS, *claims, large) == both
    # A claim that chose the large volume first would leave none for the other one.
    labeled = volume("large", {"x": "y"}, storageClassName="local", capacity={"storage": "2Gi"})
    selective = claim("b", storage_class="local", selector={"matchLabels": {"x": "y"}})
    greedy = claim("a", storage_class="local", resources=more)
    other = volume("other", storageClassName="local", capacity={"storage": "3Gi"})
    assert (
        rejected("CheckVolumeBinding", pod, *HOSTS, LOCAL, greedy, selective, labeled, other) == {}
    )
    mixed = [claim("a", "v"), volume("v", **reachable("n1")), LOCAL,
             claim("b", storage_class="local")]  # fmt: skip
    assert rejected("CheckVolumeBinding", pod, *HOSTS, *mixed) == {
        "n1": [NO_MATCH], "n2": [NOT_THERE, NO_MATCH],
    }  # fmt: skip


def in_zone(zones: str, label: str = ZONE) -> Any:
    return volume("v", {label: zones})


@pytest.mark.parametrize(
    ("objects", "found"),
    [
        ([claim("a", "v"), in_zone("a")], ["b", "r"]),
        ([claim("a", "v"), in_zone("a__b")], ["r"]),
        ([claim("a", "v"), in_zone("")], []),
        ([claim("a", "v"), in_zone("x__")], []),
        ([claim("a", "v"), in_zone("r", REGION)], ["a", "b"]),
        ([claim("a", "v"), volume("v")], []),
        ([claim("a", storage_class="made"), storage_class("made")], []),
    ],
)
def test_the_zones_of_a_bound_volume(objects: list[Any], found: list[str]) -> None:
    nodes = [make_node("a", labels={ZONE: "a"}), make_node("b", labels={ZONE: "b"}),
             make_node("r", labels={REGION: "r"}), make_node("none")]  # fmt: skip
    result = rejected("NoVolumeZoneConflict", with_volumes("p", claimed("a")), *nodes, *objects)
    assert result == {name: ["node(s) had no available volume zone"] for name in found}


@pytest.mark.parametrize(
    ("predicate", "objects", "message"),
    [
        ("NoVolumeZoneConflict", [], 'persistentvolumeclaim "a" not found'),
        ("NoVolumeZoneConflict", [claim("a")], 'PersistentVolumeClaim was not found: "a"'),
        ("NoVolumeZoneConflict", [claim("a", "v")], 'persistentvolume "v" not found'),
        ("CheckVolumeBinding", [], 'persistentvolumeclaim "a" not found'),
        ("CheckVolumeBinding", [claim("a", "v")], 'could not find v1.PersistentVolume "v"'),
        (
            "CheckVolumeBinding", [claim("a")],
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        (
            "CheckVolumeBinding", [noted(claim("a", "v", "made")), storage_class("made"),
                                   volume("v", storageClassName="made")],
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        (
            "CheckVolumeBinding",
            [claim("a", storage_class="made"),
             storage_class("made", volumeBindingMode="Immediate")],
            "pod has unbound immediate PersistentVolumeClaims",
        ),
    ],
)  # fmt: skip
def test_claims_that_end_the_cycle(predicate: str, objects: list[Any], message: str) -> None:
    node = make_node("n", labels={ZONE: "a"})
    with pytest.raises(SchedulingError) as error:
        rejected(predicate, with_volumes("p", claimed("a")), node, *objects)
    assert str(error.value) == message
