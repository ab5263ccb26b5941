"""Hints of the volume plugins, and what they write about volumes."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    with_fields,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.framework import Hint
from podwright.scheduler.plugins import node_volume_limits, volume_zone
from podwright.scheduler.plugins.hints.objects import (
    after_named_claim,
    after_used_claim,
    names_claim,
    uses_claim,
)
from podwright.scheduler.plugins.hints.volume_binding import after_csi_node_change
from podwright.scheduler.plugins.volume_binding import bind_volume

MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"


def csi_node(migrated: str) -> CSINode:
    node = decode(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": "n1", "annotations": {MIGRATED: migrated}},
            "spec": {"drivers": []},
        }
    )
    assert isinstance(node, CSINode)
    return node


def claim(name: str, namespace: str = "default") -> PersistentVolumeClaim:
    found = decode(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}},
        }
    )
    assert isinstance(found, PersistentVolumeClaim)
    return found


def volume(reference: dict[str, Any] | None, annotations: dict[str, str]) -> PersistentVolume:
    found = decode(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "pv", "annotations": annotations},
            "spec": {
                "capacity": {"storage": "1"},
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/data"},
                **({"claimRef": reference} if reference else {}),
            },
        }
    )
    assert isinstance(found, PersistentVolume)
    return found


def pod(**source: Any) -> Pod:
    found = decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "containers": [{"name": "main", "image": "web"}],
                "volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "data", **source}],
            },
        }
    )
    assert isinstance(found, Pod)
    return found


EPHEMERAL = {
    "ephemeral": {
        "volumeClaimTemplate": {
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}
        }
    }
}
NAMED = {"persistentVolumeClaim": {"claimName": "data"}}


@pytest.mark.parametrize(
    ("before", "after", "hint"),
    [
        pytest.param("a", "a,b", Hint.QUEUE, id="other plugins"),
        pytest.param("a", "a", Hint.SKIP, id="the same"),
        pytest.param(None, "", Hint.QUEUE, id="new"),
    ],
)
def test_a_csi_node_that_migrates_other_plugins_queues_the_pod(before, after, hint):
    old = None if before is None else csi_node(before)
    assert after_csi_node_change(pod(**NAMED), old, csi_node(after)) is hint


@pytest.mark.parametrize(
    ("source", "name", "uses", "names"),
    [
        pytest.param(NAMED, "data", True, True, id="named"),
        pytest.param(EPHEMERAL, "web-data", True, False, id="ephemeral"),
        pytest.param(EPHEMERAL, "web-tmp", False, False, id="a volume without a claim"),
        pytest.param(NAMED, "web-data", False, False, id="another claim"),
    ],
)
def test_the_claims_of_a_pod(source, name, uses, names):
    assert uses_claim(pod(**source), claim(name)) is uses
    assert names_claim(pod(**source), claim(name)) is names
    assert not uses_claim(pod(**source), claim(name, "other"))
    for hint, expected in ((after_used_claim, uses), (after_named_claim, names)):
        assert (hint(pod(**source), None, claim(name)) is Hint.QUEUE) is expected


REFERENCE = {"name": "data", "namespace": "default", "uid": "uid-data"}


def test_a_volume_that_is_bound_to_the_claim_does_not_change():
    bound = volume(REFERENCE, {})
    assert bind_volume(bound, claim("data")) is bound


@pytest.mark.parametrize(
    ("reference", "annotations", "is_annotated"),
    [
        pytest.param(None, {}, True, id="free"),
        pytest.param(None, {BOUND_BY_CONTROLLER: "no"}, False, id="free and annotated"),
        pytest.param(REFERENCE | {"uid": ""}, {}, False, id="reserved by a user"),
    ],
)
def test_a_volume_is_bound_with_the_full_reference(reference, annotations, is_annotated):
    bound = bind_volume(volume(reference, annotations), claim("data"))
    assert bound.spec.claim_ref is not None
    assert bound.spec.claim_ref.uid == "uid-data"
    assert (bound.metadata.annotations.get(BOUND_BY_CONTROLLER) == "yes") is is_annotated


def made(kind: str, **fields: Any) -> Any:
    document = {"apiVersion": "storage.k8s.io/v1", "kind": kind, "metadata": {"name": "o"}}
    return decode(document | fields)


@pytest.mark.parametrize(
    ("mode", "hint"),
    [("WaitForFirstConsumer", Hint.QUEUE), ("Immediate", Hint.SKIP), (None, Hint.SKIP)],
)
def test_a_new_class_helps_if_it_waits_for_pods(mode, hint):
    """Upstream: volumezone/volume_zone.go, isSchedulableAfterStorageClassAdded."""
    new = made("StorageClass", provisioner="p", volumeBindingMode=mode)
    assert volume_zone.after_class_added(pod(**NAMED), None, new) is hint


def zoned(**labels: str) -> PersistentVolume:
    keys = {"zone": "topology.kubernetes.io/zone", "other": "other"}
    found = with_fields(
        volume(None, {}), "metadata", labels={keys[key]: value for key, value in labels.items()}
    )
    assert isinstance(found, PersistentVolume)
    return found


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(None, zoned(), Hint.QUEUE, id="a new volume"),
        pytest.param(zoned(zone="a"), zoned(zone="b"), Hint.QUEUE, id="another zone"),
        pytest.param(zoned(zone="a"), zoned(), Hint.QUEUE, id="no zone"),
        pytest.param(zoned(zone="a"), zoned(zone="a", other="x"), Hint.SKIP, id="another label"),
    ],
)
def test_a_volume_helps_if_its_zones_change(old, new, hint):
    """Upstream: volumezone/volume_zone.go, isSchedulableAfterPersistentVolumeChange."""
    assert volume_zone.after_volume_change(pod(**NAMED), old, new) is hint


@pytest.mark.parametrize(
    ("waiting", "attacher", "hint"),
    [
        pytest.param(pod(**NAMED), "d", Hint.QUEUE, id="a claim may be of any driver"),
        pytest.param(pod(**EPHEMERAL), "d", Hint.QUEUE, id="also an ephemeral one"),
        pytest.param(
            pod(gcePersistentDisk={"pdName": "p"}), "pd.csi.storage.gke.io", Hint.QUEUE, id="its"
        ),
        pytest.param(pod(gcePersistentDisk={"pdName": "p"}), "d", Hint.SKIP, id="another driver"),
        pytest.param(pod(emptyDir={}), "d", Hint.SKIP, id="no volume that is attached"),
    ],
)
def test_a_volume_that_is_detached_helps_pods_that_may_need_its_driver(waiting, attacher, hint):
    """Upstream: nodevolumelimits/csi.go, isSchedulableAfterVolumeAttachmentDeleted."""
    spec = {"attacher": attacher, "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    gone = made("VolumeAttachment", spec=spec)
    assert node_volume_limits.after_attachment_deleted(waiting, gone, None) is hint
