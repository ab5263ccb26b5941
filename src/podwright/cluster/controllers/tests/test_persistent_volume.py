"""Claims are bound to volumes, and the reclaim policy decides about released volumes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.schema import decode
from podwright.cluster.controllers.core.garbage_collector import GarbageCollector
from podwright.cluster.controllers.core.protections import VolumeProtectionController
from podwright.cluster.controllers.kinds import PV, PVC, STORAGE_CLASS
from podwright.cluster.controllers.storage.ephemeral_volume import EphemeralVolumeController
from podwright.cluster.controllers.storage.persistent_volume import PersistentVolumeController
from podwright.cluster.controllers.storage.provisioning import PROVISIONED_BY
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import Cluster, a_pod, at, document
from podwright.cluster.store import POD

MAKERS = (
    PersistentVolumeController,
    VolumeProtectionController,
    EphemeralVolumeController,
    GarbageCollector,
)
ZONE = "topology.kubernetes.io/zone"


def a_claim(name: str = "c", size: str = "10Gi", **spec: Any) -> Any:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "storageClassName": "manual",
    } | spec
    spec = {key: value for key, value in spec.items() if value is not None}
    return document("PersistentVolumeClaim", name, namespace="default", spec=spec)


def a_volume(name: str, size: str = "10Gi", labels: Any = None, **spec: Any) -> Any:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": size},
        "storageClassName": "manual",
        "csi": {"driver": "csi.example.com", "volumeHandle": name},
        "persistentVolumeReclaimPolicy": "Retain",
    } | spec
    return document("PersistentVolume", name, metadata={"labels": labels or {}}, spec=spec)


def a_class(name: str, mode: str = "Immediate", **fields: Any) -> Any:
    fields = {"provisioner": "csi.example.com", "volumeBindingMode": mode} | fields
    return document("StorageClass", name, api="storage.k8s.io/v1", **fields)


def cluster_with(*objects: Any) -> Cluster:
    cluster = Cluster(MAKERS)
    for zone in "ab":
        cluster.add(document("Node", f"n-{zone}", metadata={"labels": {ZONE: zone}}))
    cluster.add(*objects)
    return cluster


def volume_of(cluster: Cluster, name: str = "c") -> str:
    return str(cluster.raw(PVC, f"default/{name}")["spec"].get("volumeName", ""))


# ------------------------------------------------------------------------------ binding


def test_a_claim_is_bound_to_the_smallest_volume_that_fits():
    sizes = {"large": "100Gi", "small": "5Gi", "middle": "20Gi"}
    volumes = [a_volume(name, size) for name, size in sizes.items()]
    cluster = cluster_with(*volumes, a_claim())
    claim, volume = (
        cluster.raw(PVC, "default/c"),
        cluster.raw(PV, "middle"),
    )
    assert claim["spec"]["volumeName"] == "middle"
    assert claim["status"] == {
        "phase": "Bound",
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "20Gi"},
    }
    yes = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
    assert claim["metadata"]["annotations"] == yes
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    reference = volume["spec"]["claimRef"]
    assert (reference["namespace"], reference["name"]) == ("default", "c")
    assert reference["uid"] == claim["metadata"]["uid"]
    assert volume["status"] == {"phase": "Bound", "lastPhaseTransitionTime": at(0)}
    assert volume["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert volume["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
    assert cluster.status(PV, "large")["phase"] == "Available"


@pytest.mark.parametrize(
    ("volume", "claim", "binds"),
    [
        pytest.param(a_volume("v"), a_claim(), True, id="it fits"),
        pytest.param(a_volume("v", "9Gi"), a_claim(), False, id="too small"),
        pytest.param(
            a_volume("v"), a_claim(accessModes=["ReadWriteMany"]), False, id="another mode"
        ),
        pytest.param(a_volume("v"), a_claim(storageClassName="other"), False, id="another class"),
        pytest.param(a_volume("v"), a_claim(volumeMode="Block"), False, id="another volume mode"),
        pytest.param(
            a_volume("v", labels={"disk": "ssd"}),
            a_claim(selector={"matchLabels": {"disk": "ssd"}}),
            True,
            id="selected",
        ),
        pytest.param(
            a_volume("v"),
            a_claim(selector={"matchLabels": {"disk": "ssd"}}),
            False,
            id="not selected",
        ),
        pytest.param(
            a_volume("v", claimRef={"namespace": "default", "name": "c"}),
            a_claim(),
            True,
            id="kept for it",
        ),
        pytest.param(
            a_volume("v", claimRef={"namespace": "default", "name": "d"}),
            a_claim(),
            False,
            id="kept for another",
        ),
        pytest.param(a_volume("v"), a_claim(volumeName="v"), True, id="requested by the claim"),
        pytest.param(
            a_volume("v"), a_claim(volumeName="w"), False, id="the claim requests another"
        ),
    ],
)
@pytest.mark.parametrize("comes_first", ["volume", "claim"])
def test_matching_volumes_of_a_claim(volume, claim, binds, comes_first):
    objects = [volume, claim] if comes_first == "volume" else [claim, volume]
    cluster = cluster_with(*objects)
    assert (cluster.status(PVC, "default/c")["phase"] == "Bound") == binds
    assert (cluster.status(PV, "v")["phase"] == "Bound") == binds


def test_a_claim_without_a_class_that_names_its_volume_does_not_get_the_default_class():
    # Upstream: pkg/controller/volume/persistentvolume/pv_controller.go, syncUnboundClaim
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    usual = a_class("usual", metadata={"annotations": default})
    cluster = cluster_with(a_claim(storageClassName=None, volumeName="v"))
    cluster.add(usual, a_volume("v", storageClassName=""))
    assert "storageClassName" not in cluster.raw(PVC, "default/c")["spec"]
    assert volume_of(cluster) == "v"


def test_a_claim_without_a_class_gets_the_default_one():
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    cluster = cluster_with(a_class("other"), a_class("usual", metadata={"annotations": default}))
    cluster.add(a_claim(storageClassName=None))
    assert cluster.raw(PVC, "default/c")["spec"]["storageClassName"] == "usual"
    assert cluster.status(PVC, "default/c")["phase"] == "Bound"


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (a_claim(storageClassName=""), "FailedBinding"),
        (a_claim(storageClassName="none"), "ProvisioningFailed"),
        (a_claim(storageClassName="local"), "ProvisioningFailed"),
    ],
)
def test_a_claim_that_cannot_be_served_waits_and_reports_why(claim, reason):
    cluster = cluster_with(a_class("local", provisioner="kubernetes.io/no-provisioner"), claim)
    assert cluster.status(PVC, "default/c") == {"phase": "Pending"}
    assert len(cluster.event_notes(reason)) == 1


# ------------------------------------------------------------------------- provisioning


def select(cluster: Cluster, node: str, name: str = "c") -> None:
    """Select a node for a claim, as the scheduler does."""
    claim = cluster.raw(PVC, f"default/{name}")
    metadata = claim["metadata"]
    chosen = {"volume.kubernetes.io/selected-node": node}
    annotations = {**metadata.get("annotations", {}), **chosen}
    cluster.put(decode(claim | {"metadata": metadata | {"annotations": annotations}}))


def test_a_volume_is_provisioned_for_the_selected_node():
    fast = a_class(
        "fast", "WaitForFirstConsumer", parameters={"type": "ssd"}, reclaimPolicy="Delete"
    )
    cluster = cluster_with(fast, a_claim(storageClassName="fast"))
    cluster.run(60)
    assert cluster.status(PVC, "default/c") == {"phase": "Pending"}
    assert cluster.event_notes("WaitForFirstConsumer") == [
        "waiting for first consumer to be created before binding"
    ]
    select(cluster, "n-b")
    uid = cluster.get(PVC, "default/c").uid
    assert volume_of(cluster) == f"pvc-{uid}"
    volume = cluster.raw(PV, f"pvc-{uid}")
    assert volume["metadata"]["annotations"] == {
        "pv.kubernetes.io/provisioned-by": "csi.example.com"
    }
    assert volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"] == [
        {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]}
    ]
    assert volume["spec"]["csi"]["volumeAttributes"] == {"type": "ssd"}
    assert volume["status"]["phase"] == "Bound"
    annotations = cluster.raw(PVC, "default/c")["metadata"]["annotations"]
    assert annotations["volume.kubernetes.io/storage-provisioner"] == "csi.example.com"
    assert annotations["pv.kubernetes.io/bind-completed"] == "yes"
    for reason in ("ExternalProvisioning", "Provisioning", "ProvisioningSucceeded"):
        assert len(cluster.event_notes(reason)) == 1


def test_a_waiting_claim_reports_the_pod():
    cluster = Cluster(MAKERS, schedules=False)
    cluster.add(a_class("fast", "WaitForFirstConsumer"), a_claim(storageClassName="fast"))
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    cluster.add(a_pod("p", volumes=[volume]))
    assert cluster.event_notes("WaitForPodScheduled") == ["waiting for pod p to be scheduled"]


@pytest.mark.parametrize(
    ("fields", "zones"),
    [
        pytest.param({}, {"a", "b"}, id="any zone of the cluster"),
        pytest.param(
            {
                "allowedTopologies": [
                    {"matchLabelExpressions": [{"key": ZONE, "values": ["x", "y"]}]}
                ]
            },
            {"x", "y"},
            id="those of the class",
        ),
    ],
)
def test_immediate_provisioning_chooses_a_zone(fields, zones):
    cluster = cluster_with(a_class("now", **fields))
    chosen = set()
    for number in range(12):
        cluster.add(a_claim(f"c{number}", storageClassName="now"))
        volume = cluster.raw(PV, volume_of(cluster, f"c{number}"))
        (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        chosen.update(term["matchExpressions"][0]["values"])
    assert chosen == zones


def test_the_topology_keys_of_a_driver_become_node_affinity():
    driver = {"name": "csi.example.com", "nodeID": "x", "topologyKeys": ["rack", "room"]}
    csi_node = document("CSINode", "n-a", api="storage.k8s.io/v1", spec={"drivers": [driver]})
    cluster = cluster_with(a_class("fast", "WaitForFirstConsumer"), csi_node)
    cluster.edit(("", "Node"), "n-a", "metadata", labels={"rack": "r1", ZONE: "a"})
    cluster.add(a_claim(storageClassName="fast"))
    select(cluster, "n-a")
    (term,) = cluster.raw(PV, volume_of(cluster))["spec"]["nodeAffinity"]["required"][
        "nodeSelectorTerms"
    ]
    assert term == {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1"]}]}


def test_the_topology_keys_are_those_of_the_driver_of_the_class():
    drivers = [
        {"name": name, "nodeID": "x", "topologyKeys": [key]}
        for name, key in (("other.example.com", "room"), ("csi.example.com", "rack"))
    ]
    csi_node = document("CSINode", "n-a", api="storage.k8s.io/v1", spec={"drivers": drivers})
    cluster = cluster_with(a_class("fast", "WaitForFirstConsumer"), csi_node)
    cluster.edit(("", "Node"), "n-a", "metadata", labels={"rack": "r1", "room": "m1", ZONE: "a"})
    cluster.add(a_claim(storageClassName="fast"))
    select(cluster, "n-a")
    required = cluster.raw(PV, volume_of(cluster))["spec"]["nodeAffinity"]["required"]
    assert required["nodeSelectorTerms"] == [
        {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1"]}]}
    ]


def test_a_binding_of_the_scheduler_is_completed():
    cluster = cluster_with(
        a_class("local", "WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner"),
        a_volume("v", storageClassName="local"),
        a_claim(storageClassName="local"),
    )
    assert volume_of(cluster) == ""
    uid = cluster.get(PVC, "default/c").uid
    reference = {"namespace": "default", "name": "c", "uid": uid, "kind": "PersistentVolumeClaim"}
    cluster.edit(PV, "v", "spec", claimRef=reference)
    assert volume_of(cluster) == "v"
    assert cluster.status(PV, "v")["phase"] == "Bound"


def test_a_rejected_volume_is_reported_and_its_claim_stays_pending():
    # A provisioner may have an underscore in its name, but a CSI driver may not.
    cluster = cluster_with(a_class("fast", provisioner="csi_example"))
    cluster.add(a_claim(storageClassName="fast"))
    key = f"pvc-{cluster.get(PVC, 'default/c').uid}"
    assert cluster.event_notes("ProvisioningSucceeded") == []
    (note,) = cluster.event_notes("ProvisioningFailed")
    assert note.startswith("Error creating provisioned PV object for claim default/c: ")
    assert note.endswith(" Deleting the volume.")
    assert "ProvisioningFailed" in cluster.warnings
    assert cluster.status(PVC, "default/c") == {"phase": "Pending"}
    assert not cluster.has(PV, key)


# ----------------------------------------------------------------------------- release


@pytest.mark.parametrize(
    ("policy", "made", "becomes"),
    [("Delete", True, None), ("Retain", True, "Released"), ("Retain", False, "Released")],
)
def test_the_reclaim_policy_decides_about_a_released_volume(policy, made, becomes):
    if made:
        cluster = cluster_with(
            a_class("now", reclaimPolicy=policy), a_claim(storageClassName="now")
        )
    else:
        cluster = cluster_with(a_volume("v"), a_claim())
    name = volume_of(cluster)
    cluster.delete(PVC, "default/c")
    assert not cluster.has(PVC, "default/c")
    assert cluster.has(PV, name) == (becomes is not None)
    if becomes:
        assert cluster.status(PV, name)["phase"] == becomes
        cluster.add(a_claim(storageClassName="now" if made else "manual"))
        assert volume_of(cluster) != name


def test_a_volume_without_a_deleter_fails():
    cluster = cluster_with(a_volume("v", persistentVolumeReclaimPolicy="Delete"), a_claim())
    cluster.delete(PVC, "default/c")
    assert cluster.status(PV, "v")["phase"] == "Failed"
    assert len(cluster.event_notes("VolumeFailedDelete")) == 1


@pytest.mark.parametrize(
    ("source", "phase", "reason", "note"),
    [
        ("hostPath", "Available", "VolumeRecycled", "Volume recycled"),
        ("csi", "Failed", "VolumeFailedRecycle", "No recycler plugin found for the volume!"),
    ],
)
def test_the_deprecated_recycle_policy(source, phase, reason, note):
    spec: dict[str, Any] = {"persistentVolumeReclaimPolicy": "Recycle", source: {"path": "/data"}}
    cluster = cluster_with(a_volume("v", **spec), a_claim())
    cluster.delete(PVC, "default/c")
    status = cluster.status(PV, "v")
    assert status["phase"] == phase
    assert cluster.event_notes(reason) == [note]
    is_free = "claimRef" not in cluster.raw(PV, "v")["spec"]
    assert is_free == (phase == "Available")
    cluster.add(a_claim("next"))
    assert volume_of(cluster, "next") == ("v" if is_free else "")


@pytest.mark.parametrize(
    ("size", "allows", "becomes"),
    [
        pytest.param("20Gi", True, "20Gi", id="larger"),
        pytest.param("20Gi", False, "10Gi", id="not allowed"),
        pytest.param("5Gi", True, "10Gi", id="smaller"),
    ],
)
def test_a_claim_with_an_increased_request(size, allows, becomes):
    cluster = cluster_with(
        a_class("fast", allowVolumeExpansion=allows), a_claim(storageClassName="fast")
    )
    cluster.edit(PVC, "default/c", "spec", resources={"requests": {"storage": size}})
    assert cluster.raw(PV, volume_of(cluster))["spec"]["capacity"] == {"storage": becomes}
    assert cluster.status(PVC, "default/c")["capacity"] == {"storage": becomes}
    grown = ["Resize volume succeeded"] if becomes == "20Gi" else []
    assert cluster.event_notes("VolumeResizeSuccessful") == grown


def test_a_claim_in_use_is_removed_after_its_last_pod():
    cluster = cluster_with(a_volume("v"), a_claim())
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    cluster.add(a_pod("p", volumes=[volume]), a_pod("q", volumes=[volume]))
    cluster.delete(PVC, "default/c")
    cluster.delete(POD, "default/p")
    assert cluster.get(PVC, "default/c").metadata.deletion_timestamp == at(0)
    cluster.replace_controllers()
    cluster.edit(POD, "default/q", "status", phase="Succeeded")
    assert cluster.has(PVC, "default/c"), "a pod that has ended keeps it"
    cluster.delete(POD, "default/q")
    assert not cluster.has(PVC, "default/c")


def test_a_bound_volume_is_not_deleted_before_its_claim():
    cluster = cluster_with(a_volume("v"), a_claim())
    cluster.delete(PV, "v")
    assert cluster.status(PV, "v")["phase"] == "Bound"
    cluster.delete(PVC, "default/c")
    assert not cluster.has(PV, "v")


def test_a_claim_whose_volume_is_removed_is_lost():
    cluster = cluster_with(a_volume("v"), a_claim())
    cluster.store.drop(PV, "v")
    cluster.settle()
    assert cluster.status(PVC, "default/c")["phase"] == "Lost"
    assert len(cluster.event_notes("ClaimLost")) == 1
    assert "ClaimLost" in cluster.warnings


# --------------------------------------------------------------------- ephemeral volumes


def test_an_ephemeral_volume_is_created_and_removed_with_its_pod():
    spec = a_claim(storageClassName="now").raw["spec"]
    template = {"metadata": {"labels": {"for": "scratch"}}, "spec": spec}
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}
    cluster = cluster_with(a_class("now", reclaimPolicy="Delete"), a_pod("p", volumes=[volume]))
    claim = cluster.raw(PVC, "default/p-scratch")
    assert claim["metadata"]["labels"] == {"for": "scratch"}
    (owner,) = claim["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Pod", "p", True)
    assert claim["status"]["phase"] == "Bound"
    cluster.delete(POD, "default/p")
    assert cluster.all(PVC) == [] == cluster.all(PV)


def test_an_unrelated_claim_with_the_name_is_reported_as_a_conflict():
    template = {"spec": a_claim().raw["spec"]}
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}
    cluster = cluster_with(a_claim("p-scratch"), a_pod("p", volumes=[volume]))
    assert cluster.event_notes("FailedBinding")[-1:] == [
        "ephemeral volume scratch: PVC default/p-scratch was not created for pod default/p"
        " (pod is not owner)"
    ]


# --------------------------------------------------------------------------------- laws


@effort(60)
@given(data=st.data())
def test_every_binding_is_mutual_and_no_volume_has_two_claims(data):
    cluster = cluster_with(a_class("now", reclaimPolicy="Delete"))
    for number in range(data.draw(st.integers(1, 14))):
        claims, volumes = cluster.all(PVC), cluster.all(PV)
        what = data.draw(
            st.sampled_from(["claim", "claim", "volume", "volume", "unclaim", "drop", "restore"])
        )
        size = data.draw(st.sampled_from(["1Gi", "2Gi", "3Gi"]))
        name = data.draw(st.sampled_from(["manual", "now"]))
        if what == "claim":
            cluster.add(a_claim(f"c{number}", size, storageClassName=name))
        elif what == "volume":
            cluster.add(a_volume(f"v{number}", size, storageClassName=name))
        elif what == "unclaim" and claims:
            cluster.delete(PVC, data.draw(st.sampled_from(claims)).key)
        elif what == "drop" and volumes:
            cluster.delete(PV, data.draw(st.sampled_from(volumes)).key)
        else:
            cluster.replace_controllers()
        check(cluster)


def check(cluster: Cluster) -> None:
    claims = {claim.key: claim for claim in cluster.all(PVC)}
    served = []
    for volume in cluster.all(PV):
        reference = volume.raw["spec"].get("claimRef")
        claim = claims.get(f"{reference['namespace']}/{reference['name']}") if reference else None
        phase = volume.raw["status"]["phase"]
        if claim is not None and reference["uid"] == claim.uid:
            assert phase == "Bound"
            assert claim.raw["spec"]["volumeName"] == volume.name
            served.append(claim.key)
        else:
            assert phase == ("Released" if reference else "Available")
    bound = [key for key, claim in claims.items() if claim.raw["status"]["phase"] == "Bound"]
    assert sorted(served) == sorted(bound)
    for key, claim in claims.items():
        if key not in bound:
            # No available volume fits a pending claim.
            assert claim.raw["spec"]["storageClassName"] == "manual"
            size = claim.raw["spec"]["resources"]["requests"]["storage"]
            free = [v for v in cluster.all(PV) if v.raw["status"]["phase"] == "Available"]
            assert not [
                volume.name
                for volume in free
                if volume.raw["spec"]["storageClassName"] == "manual"
                and volume.raw["spec"]["capacity"]["storage"] >= size
                and volume.metadata.deletion_timestamp is None
            ]
    assert cluster.get(STORAGE_CLASS, "now").name == "now"


def test_a_rejected_volume_is_reported_for_its_claim_by_the_provisioner():
    made = {"metadata": {"annotations": {PROVISIONED_BY: "csi.example.com"}}}
    reference = {"namespace": "default", "name": "c", "uid": "u"}

    def volume(**parts: Any) -> Any:
        spec = a_volume("pv", claimRef=reference).raw["spec"]
        return document("PersistentVolume", "pv", spec=spec, **parts)

    sync = SingleSync(PersistentVolumeController)
    controller: Any = sync.controller
    assert controller.report_rejected(volume(**made), "no") == [], "the claim is gone"
    sync.lister.put(a_claim())
    assert controller.report_rejected(volume(), "no") == [], "no provisioner made the volume"
    (event,) = controller.report_rejected(volume(**made), "no")
    assert sync.text(event) == (
        "Warning PersistentVolumeClaim default/c ProvisioningFailed by csi.example.com:"
        " Error creating provisioned PV object for claim default/c: no. Deleting the volume."
    )
