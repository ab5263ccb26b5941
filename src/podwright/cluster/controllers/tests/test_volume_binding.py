"""What the controller of volumes requests for one claim or one volume, by upstream's rules.

Upstream: pkg/controller/volume/persistentvolume/pv_controller.go, index.go
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.cluster.controllers.interface import ReportedWrite
from podwright.cluster.controllers.storage.ephemeral_volume import EphemeralVolumeController
from podwright.cluster.controllers.storage.persistent_volume import PersistentVolumeController
from podwright.cluster.controllers.storage.provisioning import default_class
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import NOW, a_pod, at, document

COMPLETED = "pv.kubernetes.io/bind-completed"
BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
DRIVER = "disk.example.com"
BINDER = "persistentvolume-controller"
REFERENCE = {
    "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": "data", "namespace": "shop",
    "resourceVersion": "5", "uid": "cu",
}  # fmt: skip


def a_claim(phase: str = "Pending", notes: Any = (), **fields: Any) -> Any:
    """Return a claim; None removes a field of the spec."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": fields.pop("size", "5Gi")}},
        "storageClassName": "fast",
    } | fields.pop("spec", {})
    metadata = {"uid": "cu", "resourceVersion": "5", **fields}
    if notes:
        metadata["annotations"] = notes if isinstance(notes, dict) else dict.fromkeys(notes, "yes")
    return document(
        "PersistentVolumeClaim", "data", namespace="shop", metadata=metadata,
        spec={name: value for name, value in spec.items() if value is not None},
        status={"phase": phase} if phase else {},
    )  # fmt: skip


def a_volume(name: str = "v", phase: str = "Available", notes: Any = (), **fields: Any) -> Any:
    spec = {
        "capacity": {"storage": fields.pop("size", "5Gi")},
        "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
        "hostPath": {"path": "/v"},
        "storageClassName": "fast",
        "persistentVolumeReclaimPolicy": "Retain",
    } | fields.pop("spec", {})
    metadata = {"uid": f"{name}u", "labels": fields.pop("labels", {}), **fields}
    if notes:
        metadata["annotations"] = notes if isinstance(notes, dict) else dict.fromkeys(notes, "yes")
    return document(
        "PersistentVolume", name, metadata=metadata, status={"phase": phase} if phase else {},
        spec={name: value for name, value in spec.items() if value is not None},
    )  # fmt: skip


def a_class(name: str = "fast", mode: str = "Immediate", notes: Any = None, **fields: Any) -> Any:
    return document(
        "StorageClass", name, api="storage.k8s.io/v1",
        metadata={"annotations": notes or {}, **fields.pop("metadata", {})},
        **{"provisioner": DRIVER, "volumeBindingMode": mode, **fields},
    )  # fmt: skip


def synced(key: str, *objects: Any) -> list[str]:
    return SingleSync(PersistentVolumeController, *objects).sync(key)


def bound_to(uid: str = "cu", name: str = "data", namespace: str = "shop") -> dict[str, Any]:
    return {"claimRef": REFERENCE | {"uid": uid, "name": name, "namespace": namespace}}


def event(reason: str, note: str, kind: str = "Normal", about: str = "", by: str = BINDER) -> str:
    return f"{kind} {about or 'PersistentVolumeClaim shop/data'} {reason} by {by}: {note}"


WRITES_CLAIM = (
    f'update PersistentVolumeClaim shop/data whole: metadata.annotations.{COMPLETED}="yes"'
    f' metadata.annotations.{BY_CONTROLLER}="yes" spec.volumeName="%s"'
    ' status.accessModes=["ReadWriteOnce", "ReadOnlyMany"] status.capacity.storage="%s"'
    ' status.phase="Bound"'
)
REFERENCE_FIELDS = " ".join(
    f"spec.claimRef.{name}={json.dumps(value)}" for name, value in sorted(REFERENCE.items())
)


def binds(volume: str = "v", size: str = "5Gi") -> list[str]:
    """Return the two writes that bind a free volume to the claim."""
    return [
        f'update PersistentVolume {volume} whole: metadata.annotations.{BY_CONTROLLER}="yes"'
        f' {REFERENCE_FIELDS} status.lastPhaseTransitionTime="{at(0)}" status.phase="Bound"',
        WRITES_CLAIM % (volume, size),
    ]


NOTHING_FITS = [event("ProvisioningFailed", 'storageclass.storage.k8s.io "fast" not found',
                      "Warning")]  # fmt: skip
WAITS = [event("WaitForFirstConsumer",
               "waiting for first consumer to be created before binding")]  # fmt: skip


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([a_volume()], binds(), id="the size exactly"),
        pytest.param([a_volume(size="6Gi"), a_volume("w")], binds("w"), id="the smaller one"),
        pytest.param([a_volume("w"), a_volume()], binds(), id="of one size the first name"),
        pytest.param([a_volume(size="4Gi")], NOTHING_FITS, id="too small"),
        pytest.param(
            [a_volume(spec={"accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"]}),
             a_volume("w", size="9Gi")], binds("w", "9Gi"), id="fewer modes before the size",
        ),
        pytest.param([a_volume(phase="Released")], NOTHING_FITS, id="not available"),
        pytest.param([a_volume(phase="")], NOTHING_FITS, id="no phase yet"),
        pytest.param([a_volume(deletionTimestamp=at(0))], NOTHING_FITS, id="a deleted volume"),
        pytest.param([a_volume(spec=bound_to("ou", "other"))], NOTHING_FITS, id="for another"),
        pytest.param(
            [a_volume(spec={"volumeAttributesClassName": "gold"})], NOTHING_FITS,
            id="other attributes",
        ),
        pytest.param([a_class(mode="WaitForFirstConsumer"), a_volume()], WAITS, id="it waits"),
    ],
)  # fmt: skip
def test_a_claim_gets_the_smallest_volume_that_fits(objects, expected) -> None:
    assert synced("shop/data", *objects, a_claim()) == expected


def test_a_reserved_volume_comes_first_and_is_completed() -> None:
    reserved = a_volume("w", "Available", size="9Gi", spec=bound_to(""))
    completes = 'update PersistentVolume w whole: spec.claimRef.uid="cu"'
    completes += f' status.lastPhaseTransitionTime="{at(0)}" status.phase="Bound"'
    expected = [completes, WRITES_CLAIM % ("w", "9Gi")]
    waiting = a_class(mode="WaitForFirstConsumer")
    other_class = a_volume("w", size="9Gi", spec=bound_to("") | {"storageClassName": "x"})
    assert synced("shop/data", a_volume(), other_class, a_claim()) == expected
    assert synced("shop/data", a_volume(), reserved, a_claim()) == expected
    assert synced("shop/data", waiting, reserved, a_claim()) == expected
    assert synced("shop/data", a_volume(), reserved, a_claim(size="10Gi")) == NOTHING_FITS
    for namespace, name in (("other", "data"), ("shop", "other")):
        foreign = a_volume("w", spec=bound_to("", name, namespace))
        assert synced("shop/data", foreign, a_claim()) == NOTHING_FITS


def test_a_claim_that_names_its_volume_waits_for_that_one() -> None:
    claim = a_claim(spec={"volumeName": "v"})
    assert synced("shop/data", claim) == []
    taken = [event("FailedBinding", 'volume "v" already bound to a different claim.', "Warning")]
    assert synced("shop/data", claim, a_volume(spec=bound_to("ou"))) == taken
    assert synced("shop/data", claim, a_volume(spec=bound_to("ou", "other"))) == taken
    writes = synced("shop/data", claim, a_volume(size="9Gi"))
    assert writes[0] == binds()[0]
    assert writes[1] == (
        f'update PersistentVolumeClaim shop/data whole: metadata.annotations.{COMPLETED}="yes"'
        ' status.accessModes=["ReadWriteOnce", "ReadOnlyMany"] status.capacity.storage="9Gi"'
        ' status.phase="Bound"'
    )


@pytest.mark.parametrize(
    ("volume", "text"),
    [
        pytest.param(a_volume(size="1Gi"), "requested PV is too small", id="size"),
        pytest.param(
            a_volume(deletionTimestamp=at(0), finalizers=["x"]),
            'the volume is marked for deletion "v"', id="deletion",
        ),
        pytest.param(
            a_volume(spec={"storageClassName": "x"}), "storageClassName does not match", id="class"
        ),
        pytest.param(
            a_volume(spec={"volumeAttributesClassName": "gold"}),
            "volumeAttributesClassName does not match", id="attributes",
        ),
        pytest.param(
            a_volume(spec={"volumeMode": "Block"}), "incompatible volumeMode", id="volume mode"
        ),
        pytest.param(
            a_volume(spec={"accessModes": ["ReadOnlyMany"]}), "incompatible accessMode", id="access"
        ),
    ],
)  # fmt: skip
def test_a_claim_is_not_bound_to_a_named_volume_that_does_not_satisfy_it(volume, text) -> None:
    note = f'Cannot bind to requested volume "v": {text}'
    found = synced("shop/data", volume, a_claim(spec={"volumeName": "v"}))
    assert found == [event("VolumeMismatch", note, "Warning")]


def test_a_new_claim_is_pending() -> None:
    pending = 'update PersistentVolumeClaim shop/data status: status.phase="Pending"'
    assert synced("shop/data", a_claim("")) == [*NOTHING_FITS, pending]
    assert synced("shop/data", a_volume(), a_claim("")) == [
        binds()[0], WRITES_CLAIM % ("v", "5Gi"),
    ]  # fmt: skip
    assert synced("shop/data", a_volume(), a_claim("", deletionTimestamp=at(0))) == []
    assert synced("shop/none", a_volume()) == []
    assert synced("none", a_volume()) == []


DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}


def test_a_bound_claim_has_the_attributes_of_its_volume() -> None:
    """Upstream: pv_controller.go, updateClaimStatus"""
    gold = {"volumeAttributesClassName": "gold"}
    _, write = synced("shop/data", a_claim(spec=gold), a_volume(spec=gold))
    assert ' status.currentVolumeAttributesClassName="gold" ' in write
    _, write = synced("shop/data", a_claim(), a_volume())
    assert "AttributesClass" not in write


def test_a_claim_without_a_class_gets_the_default_one_unless_it_wants_none() -> None:
    fast = a_class(notes=DEFAULT)
    unset = a_claim(spec={"storageClassName": None})
    assert synced("shop/data", fast, unset) == [
        'update PersistentVolumeClaim shop/data main: spec.storageClassName="fast"'
    ]
    none = [
        event("FailedBinding",
              "no persistent volumes available for this claim and no storage class is set")
    ]  # fmt: skip
    assert synced("shop/data", unset) == none
    assert synced("shop/data", fast, a_claim(spec={"storageClassName": ""})) == none
    beta = a_claim(
        notes={"volume.beta.kubernetes.io/storage-class": ""}, spec={"storageClassName": None}
    )
    assert synced("shop/data", fast, beta) == none


def test_the_default_class_is_the_newest_and_of_those_the_first_by_name() -> None:
    def made(name: str, seconds: int | None, value: str = "true") -> Any:
        notes = {"storageclass.kubernetes.io/is-default-class": value}
        created = {} if seconds is None else {"creationTimestamp": at(seconds)}
        return a_class(name, notes=notes, metadata=created)

    classes = [made("z", 5), made("b", 9), made("a", 9), made("c", 99, "false"), a_class("d")]
    assert default_class(classes) == "a"
    assert default_class(classes[3:]) is None
    assert default_class([made("y", None), made("x", None)]) == "x"
    assert default_class([made("a", None), made("b", 1)]) == "b"


def test_a_waiting_claim_says_for_what_it_waits() -> None:
    waiting = a_class(mode="WaitForFirstConsumer")
    volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]

    def user(name: str, node: str = "", phase: str = "Pending", **metadata: Any) -> Any:
        pod = a_pod(name, namespace="shop", volumes=volumes, nodeName=node or None)
        return document("Pod", name, namespace="shop", spec=pod.raw["spec"], metadata=metadata,
                        status={"phase": phase})  # fmt: skip

    assert synced("shop/data", waiting, user("p"), a_claim()) == [
        event("WaitForPodScheduled", "waiting for pod p to be scheduled")
    ]
    assert synced("shop/data", waiting, user("b", "n"), user("c"), user("d"), a_claim()) == [
        event("WaitForPodScheduled", "waiting for pods c,d to be scheduled")
    ]
    assert synced("shop/data", waiting, user("p", phase="Failed"), a_claim()) == WAITS
    assert synced("shop/data", waiting, user("p", deletionTimestamp=at(0)), a_claim()) == WAITS


PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BETA_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"


def test_a_claim_is_annotated_for_its_provisioner_and_then_provisioned() -> None:
    note = (
        f"Waiting for a volume to be created either by the external provisioner '{DRIVER}' or"
        " manually by the system administrator. If volume creation is delayed, please verify that"
        " the provisioner is running and correctly registered."
    )
    assert synced("shop/data", a_class(), a_claim()) == [
        f'update PersistentVolumeClaim shop/data main: metadata.annotations.{BETA_PROVISIONER}='
        f'"{DRIVER}" metadata.annotations.{PROVISIONER}="{DRIVER}"',
        event("ExternalProvisioning", note),
    ]  # fmt: skip
    annotated = a_claim(notes={PROVISIONER: DRIVER})
    begun, made = synced("shop/data", a_class(), annotated)
    assert begun == event(
        "Provisioning", 'External provisioner is provisioning volume for claim "shop/data"',
        by=DRIVER,
    )  # fmt: skip
    assert json.loads(made.removeprefix("create ")) == {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": "pvc-cu",
            "annotations": {"pv.kubernetes.io/provisioned-by": DRIVER},
            "finalizers": ["kubernetes.io/pv-protection"],
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "5Gi"},
            "claimRef": REFERENCE,
            "csi": {"driver": DRIVER, "fsType": "ext4", "volumeHandle": "vol-5276ad9a8d47cb7ba"},
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": "fast",
            "volumeMode": "Filesystem",
        },
        "status": {"phase": "Pending", "lastPhaseTransitionTime": at(0)},
    }
    there = a_volume("pvc-cu", "Pending", spec=bound_to("ou", "other"))
    assert synced("shop/data", a_class(), annotated, there) == []
    none = a_class(provisioner="kubernetes.io/no-provisioner")
    assert synced("shop/data", none, a_claim()) == [
        event("ProvisioningFailed", "no volume plugin matched name: kubernetes.io/no-provisioner",
              "Warning")
    ]  # fmt: skip


def provisioned(storage_class: Any, *others: Any, notes: Any = None, **claim: Any) -> Any:
    annotated = a_claim(notes={PROVISIONER: storage_class.provisioner} | (notes or {}), **claim)
    *_, made = synced("shop/data", storage_class, annotated, *others)
    return json.loads(made.removeprefix("create "))["spec"]


def test_a_provisioned_volume_has_what_its_class_says() -> None:
    spec = provisioned(
        a_class(parameters={"type": "ssd"}, reclaimPolicy="Retain", mountOptions=["ro", "sync"]),
        spec={"volumeMode": "Block"},
    )
    assert spec["csi"]["volumeAttributes"] == {"type": "ssd"}
    assert spec["mountOptions"] == ["ro", "sync"]
    assert (spec["persistentVolumeReclaimPolicy"], spec["volumeMode"]) == ("Retain", "Block")
    spec = provisioned(a_class(provisioner="rancher.io/local-path"))
    assert spec["hostPath"] == {"path": "/pvc-cu", "type": "DirectoryOrCreate"}
    assert "csi" not in spec


ZONE = "topology.kubernetes.io/zone"


def a_node(name: str, **labels: str) -> Any:
    return document("Node", name, metadata={"labels": labels})


def required(spec: Any) -> Any:
    """Return the expressions of the node affinity of a volume."""
    if "nodeAffinity" not in spec:
        return None
    (term,) = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
    return [tuple(each[name] for name in ("key", "operator", "values"))
            for each in term["matchExpressions"]]  # fmt: skip


def test_where_a_provisioned_volume_can_be_used() -> None:
    selected = {"volume.kubernetes.io/selected-node": "n1"}
    nodes = [a_node("n1", **{ZONE: "a", "rack": "r1"}), a_node("n2", **{ZONE: "b"}), a_node("n3")]
    assert required(provisioned(a_class())) is None
    assert required(provisioned(a_class(), *nodes[:1])) == [(ZONE, "In", ["a"])]
    assert required(provisioned(a_class(), *nodes, notes=selected)) == [(ZONE, "In", ["a"])]
    drivers = [
        {"name": "other", "nodeID": "x", "topologyKeys": [ZONE]},
        {"name": DRIVER, "nodeID": "x", "topologyKeys": ["rack", "none", ZONE]},
    ]
    csi_node = document("CSINode", "n1", api="storage.k8s.io/v1", spec={"drivers": drivers})
    assert required(provisioned(a_class(), *nodes, csi_node, notes=selected)) == [
        ("rack", "In", ["r1"]), (ZONE, "In", ["a"]),
    ]  # fmt: skip
    csi_node = document("CSINode", "n1", api="storage.k8s.io/v1", spec={"drivers": drivers[:1]})
    found = required(provisioned(a_class(), *nodes, csi_node, notes=selected))
    assert found == [(ZONE, "In", ["a"])]
    topologies = [
        {"matchLabelExpressions": [
            {"key": ZONE, "values": ["c"]}, {"key": "rack", "values": ["r8", "r9"]},
        ]},
    ]  # fmt: skip
    found = required(provisioned(a_class(allowedTopologies=topologies), *nodes))
    assert found == [(ZONE, "In", ["c"]), ("rack", "In", ["r8"])]


def test_the_zone_of_a_volume_is_drawn_by_the_uid_of_its_claim() -> None:
    nodes = [a_node(f"n{zone}", **{ZONE: zone}) for zone in "cab"]
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": [*"xy"]}]},
                  {"matchLabelExpressions": [{"key": ZONE, "values": ["z"]}]}]  # fmt: skip
    for storage_class, zones in (
        (a_class(), "abc"),
        (a_class(allowedTopologies=topologies), "xyz"),
    ):
        drawn = {
            uid: required(provisioned(storage_class, *nodes, uid=uid))[0][2][0]
            for uid in map(str, range(20))
        }
        assert set(drawn.values()) == set(zones)
        for uid in ("3", "7"):
            again = required(provisioned(storage_class, *reversed(nodes), uid=uid))
            assert again == [(ZONE, "In", [drawn[uid]])]


def test_a_bound_claim_is_completed_checked_and_lost() -> None:
    bound = a_claim("Bound", [COMPLETED], spec={"volumeName": "v"})
    lost = 'update PersistentVolumeClaim shop/data status: status.phase="Lost"'
    note = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
    assert synced("shop/data", bound) == [lost, event("ClaimLost", note, "Warning")]
    note = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
    nameless = a_claim("Bound", [COMPLETED])
    assert synced("shop/data", nameless) == [lost, event("ClaimLost", note, "Warning")]
    note = "Two claims are bound to the same volume, this one is bound incorrectly"
    other = a_volume(phase="Bound", spec=bound_to("ou"))
    assert synced("shop/data", bound, other) == [lost, event("ClaimMisbound", note, "Warning")]
    of_volume = {
        "phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "5Gi"},
        "currentVolumeAttributesClassName": "gold",
    }  # fmt: skip
    full = document("PersistentVolumeClaim", "data", namespace="shop", spec=bound.raw["spec"],
                    metadata=bound.raw["metadata"], status=of_volume)  # fmt: skip
    assert synced("shop/data", full)[0] == (
        "update PersistentVolumeClaim shop/data status: -status.accessModes -status.capacity"
        ' -status.currentVolumeAttributesClassName status.phase="Lost"'
    )
    was_lost = a_claim("Lost", [COMPLETED], spec={"volumeName": "v"})
    assert synced("shop/data", was_lost) == []
    found = synced("shop/data", was_lost, a_volume(phase="Bound", spec=bound_to()))
    assert found == [
        "update PersistentVolumeClaim shop/data whole:"
        ' status.accessModes=["ReadWriteOnce", "ReadOnlyMany"] status.capacity.storage="5Gi"'
        ' status.phase="Bound"'
    ]
    assert synced("shop/data", bound, a_volume())[0] == binds()[0]


RESIZER = f"external-resizer {DRIVER}"


@pytest.mark.parametrize(
    ("requested", "classes", "grows"),
    [
        pytest.param("6Gi", [a_class(allowVolumeExpansion=True)], True, id="allowed"),
        pytest.param("5Gi", [a_class(allowVolumeExpansion=True)], False, id="as large"),
        pytest.param("6Gi", [a_class(allowVolumeExpansion=False)], False, id="not allowed"),
        pytest.param("6Gi", [a_class()], False, id="not allowed by default"),
        pytest.param("6Gi", [], False, id="no class"),
    ],
)
def test_a_volume_grows_with_its_claim(requested, classes, grows) -> None:
    volume = a_volume(phase="Bound", spec=bound_to() | {"capacity": {"storage": "5Gi", "x": "1"}})
    claim = a_claim("Bound", [COMPLETED], size=requested, spec={"volumeName": "v"})
    found = synced("shop/data", *classes, volume, claim)
    expected = [
        event("Resizing", "External resizer is resizing volume v", by=RESIZER),
        f'update PersistentVolume v main: spec.capacity.storage="{requested}"',
        event("VolumeResizeSuccessful", "Resize volume succeeded", by=RESIZER),
    ]
    assert (found == expected) is grows
    assert any("capacity.storage" in each for each in found)


def volume_event(reason: str, note: str, kind: str = "Normal") -> str:
    return event(reason, note, kind, "PersistentVolume v")


def in_phase(phase: str, *fields: str, scope: str = "status") -> str:
    changed = " ".join((*fields, f'status.lastPhaseTransitionTime="{at(0)}"'))
    return f'update PersistentVolume v {scope}: {changed} status.phase="{phase}"'


PROVISIONED = {"pv.kubernetes.io/provisioned-by": DRIVER}
NO_DELETER = (
    'error getting deleter volume plugin for volume "v": no deletable volume plugin matched'
)
OWN = a_claim("Bound", [COMPLETED], spec={"volumeName": "v"})
ELSEWHERE = a_claim("Bound", [COMPLETED], spec={"volumeName": "w"})


@pytest.mark.parametrize(
    ("volume", "claims", "expected"),
    [
        pytest.param(a_volume(phase=""), [], [in_phase("Available")], id="new"),
        pytest.param(a_volume(), [], [], id="available"),
        pytest.param(a_volume(phase="", spec=bound_to("")), [], [in_phase("Available")],
                     id="reserved for a claim that does not exist"),
        pytest.param(a_volume(phase="", spec=bound_to("")), [a_claim()], [],
                     id="reserved for a claim that exists"),
        pytest.param(a_volume(phase="", spec=bound_to("")), [a_claim(size="6Gi")],
                     [in_phase("Available")], id="reserved for a claim that it does not fit"),
        pytest.param(a_volume(phase="", spec=bound_to("")), [ELSEWHERE], [in_phase("Available")],
                     id="reserved for a claim that has another volume"),
        pytest.param(
            a_volume(phase="Bound", spec=bound_to()), [a_claim(spec={"volumeMode": "Block"})],
            [volume_event("VolumeMismatch", "Cannot bind PersistentVolume to requested"
                          ' PersistentVolumeClaim "data" due to incompatible volumeMode.',
                          "Warning"),
             event("VolumeMismatch", 'Cannot bind PersistentVolume "v" to requested'
                   " PersistentVolumeClaim due to incompatible volumeMode.", "Warning")],
            id="the claim has another mode",
        ),
        pytest.param(a_volume(phase="Bound", spec=bound_to()), [OWN], [], id="bound"),
        pytest.param(a_volume(phase="", spec=bound_to()), [OWN], [in_phase("Bound")],
                     id="bound by another"),
        pytest.param(a_volume(phase="Bound", spec=bound_to()), [a_claim()], [],
                     id="the claim will be bound"),
        pytest.param(a_volume(phase="Bound", spec=bound_to()), [], [in_phase("Released")],
                     id="the claim is gone"),
        pytest.param(a_volume(phase="Bound", spec=bound_to("ou")), [OWN], [in_phase("Released")],
                     id="another claim of the name"),
        pytest.param(a_volume(phase="Released", spec=bound_to()), [], [], id="released before"),
        pytest.param(
            a_volume(phase="Bound", notes=[BY_CONTROLLER], spec=bound_to()), [ELSEWHERE],
            [in_phase("Available", "-metadata.annotations", "-spec.claimRef",
                      scope="whole")],
            id="the claim has another volume",
        ),
        pytest.param(
            a_volume(phase="Bound", spec=bound_to()), [ELSEWHERE],
            [in_phase("Available", "-spec.claimRef.uid", scope="whole")],
            id="the claim has another volume than the one that a user reserved",
        ),
        pytest.param(
            a_volume(phase="Bound", notes=PROVISIONED,
                     spec=bound_to() | {"persistentVolumeReclaimPolicy": "Delete"}), [ELSEWHERE],
            [in_phase("Released"), "delete PersistentVolume v"],
            id="the claim has another volume than its provisioned one",
        ),
        pytest.param(
            a_volume(phase="Bound", notes=PROVISIONED, spec=bound_to()), [ELSEWHERE],
            [in_phase("Available", "-spec.claimRef.uid", scope="whole")],
            id="the claim has another volume than its provisioned one, which is retained",
        ),
        pytest.param(
            a_volume(phase="Bound", notes=PROVISIONED,
                     spec=bound_to() | {"persistentVolumeReclaimPolicy": "Delete"}), [],
            [in_phase("Released"), "delete PersistentVolume v"], id="deleted after its claim",
        ),
        pytest.param(
            a_volume(phase="Released", notes=PROVISIONED, deletionTimestamp=at(0),
                     spec=bound_to() | {"persistentVolumeReclaimPolicy": "Delete"}), [],
            [], id="deleted before",
        ),
        pytest.param(
            a_volume(phase="Bound", spec=bound_to() | {"persistentVolumeReclaimPolicy": "Delete"}),
            [],
            [f'update PersistentVolume v status: status.lastPhaseTransitionTime="{at(0)}"'
             f' status.message={json.dumps(NO_DELETER)} status.phase="Failed"',
             volume_event("VolumeFailedDelete", NO_DELETER, "Warning")],
            id="nothing deletes it",
        ),
        pytest.param(
            a_volume(phase="Failed", spec=bound_to() | {"persistentVolumeReclaimPolicy": "Delete"}),
            [], [], id="it has failed before",
        ),
        pytest.param(
            a_volume(phase="Bound", notes=[BY_CONTROLLER],
                     spec=bound_to() | {"persistentVolumeReclaimPolicy": "Recycle"}), [],
            [volume_event("VolumeRecycled", "Volume recycled"),
             in_phase("Available", "-metadata.annotations", "-spec.claimRef",
                      scope="whole")],
            id="recycled",
        ),
        pytest.param(
            a_volume(phase="Bound", spec=bound_to() | {"persistentVolumeReclaimPolicy": "Recycle"}),
            [],
            [volume_event("VolumeRecycled", "Volume recycled"),
             in_phase("Available", "-spec.claimRef.uid", scope="whole")],
            id="recycled, and still reserved",
        ),
        pytest.param(
            a_volume(phase="Bound",
                     spec=bound_to() | {"persistentVolumeReclaimPolicy": "Recycle",
                                        "hostPath": None,
                                        "csi": {"driver": DRIVER, "volumeHandle": "h"}}),
            [],
            [f'update PersistentVolume v status: status.lastPhaseTransitionTime="{at(0)}"'
             ' status.message="No recycler plugin found for the volume!" status.phase="Failed"',
             volume_event("VolumeFailedRecycle", "No recycler plugin found for the volume!",
                          "Warning")],
            id="not recycled",
        ),
    ],
)  # fmt: skip
def test_the_phases_of_a_volume(volume, claims, expected) -> None:
    assert synced("v", volume, *claims) == expected


# ------------------------------------------------------------------------------ which keys


def test_a_claim_concerns_the_volumes_of_its_name_and_its_own() -> None:
    bench = SingleSync(PersistentVolumeController)
    for name in ("w", "v"):
        assert bench.put(a_volume(name, spec=bound_to(""))) == [name, "shop/data"]
    assert bench.put(a_claim()) == ["shop/data", "v", "w"]
    named = a_claim(spec={"volumeName": "x"})
    assert bench.put(named) == ["shop/data", "v", "w", "x"]
    assert bench.put(named) == []
    assert bench.put(a_claim("Bound", spec={"volumeName": "x"})) == [], "only its status"
    rows = {
        "annotations": a_claim(notes=["other"], spec={"volumeName": "x"}),
        "deletion": a_claim(deletionTimestamp=at(0), spec={"volumeName": "x"}),
        "another of the name": a_claim(uid="second", spec={"volumeName": "x"}),
    }
    for row, claim in rows.items():
        bench.put(named)
        assert bench.put(claim) == ["shop/data", "v", "w", "x"], row
    assert bench.remove(named) == ["shop/data", "v", "w", "x"]
    bench.remove(a_volume("w", spec=bound_to("")))
    assert bench.put(a_claim()) == ["shop/data", "v"]


def test_a_free_volume_concerns_the_claims_of_its_class_that_wait() -> None:
    bench = SingleSync(PersistentVolumeController, a_claim())
    assert bench.put(a_volume()) == ["v", "shop/data"]
    assert bench.put(a_volume(phase="Released")) == ["v"]
    assert bench.put(a_volume(deletionTimestamp=at(0))) == ["v"]
    assert bench.put(a_volume(spec={"storageClassName": "slow"})) == ["v"]
    assert bench.put(a_class(mode="WaitForFirstConsumer")) == ["shop/data"]
    assert bench.put(a_volume()) == ["v"], "the scheduler selects"
    bench.put(a_class())
    assert bench.put(a_volume("w")) == ["w", "shop/data"]
    bench.put(a_claim("Bound", [COMPLETED], spec={"volumeName": "v"}))
    assert bench.put(a_volume("w")) == ["w"], "nothing waits"


def test_a_class_concerns_its_claims_and_those_without_one() -> None:
    others = [
        document("PersistentVolumeClaim", name, namespace="shop", spec={"storageClassName": of})
        for name, of in (("z", "slow"), ("y", None), ("b", ""))
    ]
    bench = SingleSync(PersistentVolumeController, a_claim(), *others)
    assert bench.put(a_class()) == ["shop/b", "shop/data", "shop/y"]
    assert bench.put(a_class("slow")) == ["shop/b", "shop/y", "shop/z"]
    assert bench.put(a_class("else")) == ["shop/b", "shop/y"]


def test_a_pod_concerns_its_claims_while_they_wait() -> None:
    volumes = [
        {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "e", "persistentVolumeClaim": {"claimName": "none"}},
        {"name": "c", "configMap": {"name": "data"}},
    ]
    pod = a_pod("p", namespace="shop", volumes=volumes)
    bench = SingleSync(PersistentVolumeController)
    assert bench.put(pod) == []
    bench.remove(pod)
    bench.put(a_claim())
    assert bench.put(pod) == ["shop/data"]
    assert bench.put(pod) == []
    assert bench.remove(pod) == []
    assert bench.put(a_pod("q", namespace="shop")) == []
    bench.put(a_claim("Bound", [COMPLETED]))
    bench.put(document("PersistentVolumeClaim", "other", namespace="shop"))
    assert bench.put(pod) == []


def test_the_volume_that_a_provisioner_made_is_announced() -> None:
    made = a_volume("pvc-cu", notes=PROVISIONED, spec=bound_to())
    note = event("ProvisioningSucceeded", "Successfully provisioned volume pvc-cu", by=DRIVER)
    assert synced("shop/data", made, a_claim())[0] == note
    for other in (
        a_volume("pvc-cu", spec=bound_to()),
        a_volume("pvc-xx", notes=PROVISIONED, spec=bound_to()),
    ):
        assert synced("shop/data", other, a_claim())[0].startswith("update PersistentVolume pvc-")


# --------------------------------------------------------------------- ephemeral volumes

TEMPLATE = {
    "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["x"]},
    "spec": {"accessModes": ["ReadWriteOnce"]},
}
SCRATCH = [
    {"name": "plain", "emptyDir": {}},
    {"name": "one", "ephemeral": {"volumeClaimTemplate": TEMPLATE}},
    {"name": "two", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
]


def a_user(**metadata: Any) -> Any:
    return document(
        "Pod", "p", namespace="shop", metadata={"uid": "pu", **metadata},
        spec={"containers": [{"name": "c", "image": "i"}], "volumes": SCRATCH},
    )  # fmt: skip


def test_a_failed_volume_without_its_claim_is_available_and_has_no_message() -> None:
    """Upstream: pv_controller.go, updateVolumePhase"""
    failed = document("PersistentVolume", "v", spec=a_volume().raw["spec"],
                      status={"phase": "Failed", "message": "no deleter"})  # fmt: skip
    assert synced("v", failed) == [
        "update PersistentVolume v status:"
        f' status.lastPhaseTransitionTime="{at(0)}" -status.message status.phase="Available"'
    ]  # fmt: skip


def test_each_ephemeral_volume_gets_a_claim_of_its_pod() -> None:
    bench = SingleSync(EphemeralVolumeController)
    assert bench.put(a_user()) == ["shop/p"]
    assert bench.put(a_user()) == [], "volumes do not change"
    assert bench.put(a_pod("q", volumes=SCRATCH[:1])) == []
    one, two = (json.loads(each.removeprefix("create ")) for each in bench.sync("shop/p"))
    owner = {
        "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "pu", "controller": True,
        "blockOwnerDeletion": True,
    }  # fmt: skip
    assert one == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "p-one", "namespace": "shop", "ownerReferences": [owner],
            "labels": {"a": "b"}, "annotations": {"c": "d"},
        },
        "spec": {"accessModes": ["ReadWriteOnce"]},
        "status": {"phase": "Pending"},
    }  # fmt: skip
    assert two["metadata"] == {"name": "p-two", "namespace": "shop", "ownerReferences": [owner]}
    bench.put(a_user(deletionTimestamp=at(0)))
    assert bench.sync("shop/p") == []
    assert bench.sync("shop/none") == []


def test_a_claim_of_another_owner_is_a_conflict_and_a_removed_one_is_made_again() -> None:
    def claim(uid: str | None, kind: str = "Pod") -> Any:
        owner = {"apiVersion": "v1", "kind": kind, "name": "p", "uid": uid, "controller": True}
        metadata = {} if uid is None else {"ownerReferences": [owner]}
        return document("PersistentVolumeClaim", "p-one", namespace="shop", metadata=metadata)

    note = "ephemeral volume one: PVC shop/p-one was not created for pod shop/p (pod is not owner)"
    conflict = event("FailedBinding", note, "Warning", "Pod shop/p", "ephemeral_volume")
    bench = SingleSync(EphemeralVolumeController, a_user(), a_pod("q", volumes=SCRATCH[:1]))
    for uid in (None, "other"):
        assert bench.put(claim(uid)) == []
        assert bench.sync("shop/p") == [conflict], "upstream goes no further"
        assert bench.remove(claim(uid)) == ["shop/p"]
    bench.put(claim("pu"))
    (made,) = bench.sync("shop/p")
    assert '"name": "p-two"' in made
    assert bench.remove(claim("pu")) == ["shop/p"]
    assert bench.remove(a_user()) == []
    bench.put(claim("pu"))
    assert bench.remove(claim("pu")) == []


def test_a_claim_of_a_volume_that_cannot_be_created_is_reported() -> None:
    bench = SingleSync(EphemeralVolumeController, a_user())
    first, second = bench.controller.sync("shop/p", NOW)
    for write, volume in ((first, "one"), (second, "two")):
        assert isinstance(write, ReportedWrite)
        found: list[Any] = []
        assert write.execute(lambda _: None, found.append) is None
        assert found == []
        write.execute(lambda _: ValueError("full"), found.append)
        note = f"ephemeral volume {volume}: create PVC p-{volume}: full"
        assert [bench.text(each) for each in found] == [
            event("FailedBinding", note, "Warning", "Pod shop/p", "ephemeral_volume")
        ]


@pytest.mark.parametrize(
    ("volume", "claim", "expected"),
    [
        pytest.param(None, {"volumeName": "v"}, "", id="it does not exist yet"),
        pytest.param({}, {"volumeName": "v"}, "bound", id="free, and as it must be"),
        pytest.param(
            {"claimRef": {"name": "data", "namespace": "shop"}}, {"volumeName": "v"}, "bound",
            id="reserved for this claim",
        ),
        pytest.param(
            {"claimRef": {"name": "other", "namespace": "shop"}}, {"volumeName": "v"},
            'volume "v" already bound to a different claim.', id="reserved for another",
        ),
        pytest.param(
            {"claimRef": {"name": "data", "namespace": "other"}}, {"volumeName": "v"},
            'volume "v" already bound to a different claim.', id="of another namespace",
        ),
    ],
)  # fmt: skip
def test_a_claim_gets_the_volume_that_it_names(volume, claim, expected) -> None:
    """Upstream: pv_controller.go, syncUnboundClaim."""
    objects = [] if volume is None else [a_volume(spec=volume)]
    found = synced("shop/data", *objects, a_claim(spec=claim))
    if expected == "bound":
        assert any(each.startswith("update PersistentVolumeClaim shop/data") for each in found)
        assert not any("Warning" in each for each in found)
    elif not expected:
        assert not any("Warning" in each or "volumeName" in each for each in found)
    else:
        assert expected in "\n".join(found)
