"""Pods wait for the volumes of their claims."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.kubelets.kubelet.tests.kubelet_driver import KubeletDriver, container, pod_of

DRIVER = "disk.example.com"
ATTACHED = {"volumesAttached": [{"name": f"kubernetes.io/csi/{DRIVER}^vol-1", "devicePath": ""}]}
CSI = {"csi": {"driver": DRIVER, "volumeHandle": "vol-1"}}
MOUNTS = container(volumeMounts=[{"name": "data", "mountPath": "/data"}])
MAPS = container(volumeDevices=[{"name": "data", "devicePath": "/dev/data"}])
CLAIMED = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}


def add_claim(
    driver: KubeletDriver,
    name: str = "data",
    phase: str = "Bound",
    volume: str = "pv-1",
    **more: Any,
) -> None:
    spec = {"volumeName": volume} if phase == "Bound" and volume else {}
    driver.cluster.add(
        "PersistentVolumeClaim", name, spec=spec, status={"phase": phase}, metadata=more
    )


def run_of(
    main: dict[str, Any] = MOUNTS,
    volume: dict[str, Any] = CLAIMED,
    *,
    source: dict[str, Any] = CSI,
    node: dict[str, Any] | None = None,
    mode: str | None = "Filesystem",
) -> KubeletDriver:
    driver = KubeletDriver()
    driver.cluster.add("Node", "n1", status=node or {})
    driver.cluster.add("PersistentVolume", "pv-1", spec={**source, "volumeMode": mode})
    add_claim(driver)
    driver.put(pod_of(main, volumes=[volume]))
    return driver


def test_other_volumes_before_it_do_not_hide_a_claim() -> None:
    driver = KubeletDriver()
    driver.cluster.add("Node", "n1", status={})
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("tmp", "data")]
    main = container(volumeMounts=mounts)
    driver.put(pod_of(main, volumes=[{"name": "tmp", "emptyDir": {}}, CLAIMED]))
    driver.run(3)
    assert driver.state() == {"waiting": {"reason": "ContainerCreating"}}
    add_claim(driver)
    driver.cluster.add("PersistentVolume", "pv-1", spec={"hostPath": {"path": "/a"}})
    driver.run(200)
    assert driver.status()["phase"] == "Running"


def failures(driver: KubeletDriver) -> list[str]:
    return [note for note in driver.notes if "FailedMount" in note]


def test_a_pod_waits_without_an_event_until_its_volume_is_attached() -> None:
    driver = run_of()
    driver.run(3)
    assert driver.state() == {"waiting": {"reason": "ContainerCreating"}}
    assert driver.condition("PodReadyToStartContainers")[0] == "False"
    assert driver.notes == []
    driver.cluster.add("Node", "n1", status=ATTACHED)
    driver.run(10)
    assert driver.status()["phase"] == "Running"
    assert failures(driver) == []


def test_the_back_off_of_an_attachment_doubles() -> None:
    driver = run_of()
    driver.run(400)
    driver.cluster.add("Node", "n1", status=ATTACHED)
    # 0.5 s and its doubles up to 122 s: the next check after 400 s is that at 493.5 s.
    driver.run(493)
    assert driver.status()["phase"] == "Pending"
    driver.run(494)
    assert driver.status()["phase"] == "Running"


def test_a_pod_that_waits_for_a_volume_can_be_deleted() -> None:
    driver = run_of()
    driver.run(3)
    driver.remove()
    driver.run(4)
    assert driver.objects == {}


def test_an_attached_volume_is_mounted_at_once() -> None:
    driver = run_of(node=ATTACHED)
    driver.run(0)
    assert driver.status()["phase"] == "Running"


def test_a_volume_of_another_kind_is_not_attached() -> None:
    driver = run_of(source={"hostPath": {"path": "/data"}})
    driver.run(0)
    assert driver.status()["phase"] == "Running"


@pytest.mark.parametrize(("is_required", "phase"), [(True, "Pending"), (False, "Running")])
def test_the_driver_decides_whether_its_volumes_are_attached(is_required: bool, phase: str) -> None:
    driver = KubeletDriver()
    driver.cluster.add(
        "CSIDriver", DRIVER, group="storage.k8s.io", spec={"attachRequired": is_required}
    )
    driver.cluster.add("PersistentVolume", "pv-1", spec=CSI)
    add_claim(driver)
    driver.put(pod_of(MOUNTS, volumes=[CLAIMED]))
    driver.run(0)
    assert driver.status()["phase"] == phase


def test_the_volume_of_an_ephemeral_claim_is_attached() -> None:
    driver = run_of(volume={"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}})
    driver.run(0)
    assert "error processing PVC default/web-data: failed to fetch PVC" in failures(driver)[0]
    error = "PVC default/web-data was not created for pod default/web (pod is not owner)"
    for number, owners in enumerate(([], [owner("other")]), start=2):
        add_claim(driver, "web-data", ownerReferences=owners)
        driver.run(10 * number - 9)
        assert len(failures(driver)) == number
        assert failures(driver)[-1].endswith(f"failed to process volumes=[data]: {error}")
    add_claim(driver, "web-data", ownerReferences=[owner("web")])
    driver.run(31)
    assert (driver.status()["phase"], len(failures(driver))) == ("Pending", 3)
    driver.cluster.add("Node", "n1", status=ATTACHED)
    driver.run(40)
    assert driver.status()["phase"] == "Running"


def owner(name: str) -> dict[str, Any]:
    reference = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": f"uid-{name}"}
    return reference | {"controller": True}


def test_a_claim_that_is_deleted_can_be_used_while_it_is_protected() -> None:
    """Upstream: desired_state_of_world_populator.go, getPVCExtractPV"""
    driver = run_of(node=ATTACHED)
    deletion: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    add_claim(driver, **deletion, finalizers=["kubernetes.io/pvc-protection"])
    driver.run(0)
    assert (driver.status()["phase"], failures(driver)) == ("Running", [])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        pytest.param(
            lambda driver: driver.cluster.delete("PersistentVolumeClaim", "default/data"),
            "error processing PVC default/data: failed to fetch PVC from API server: "
            'persistentvolumeclaims "data" not found',
            id="no claim",
        ),
        pytest.param(
            lambda driver: add_claim(driver, phase="Pending"),
            "error processing PVC default/data: PVC is not bound",
            id="a claim that is not bound",
        ),
        pytest.param(
            lambda driver: add_claim(driver, volume=""),
            "error processing PVC default/data: PVC has empty pvc.Spec.VolumeName",
            id="a bound claim without a volume",
        ),
        pytest.param(
            lambda driver: add_claim(driver, deletionTimestamp="2026-01-01T00:00:00Z"),
            "error processing PVC default/data: PVC is being deleted",
            id="a claim that is being deleted",
        ),
        pytest.param(
            lambda driver: driver.cluster.delete("PersistentVolume", "pv-1"),
            "error processing PVC default/data: failed to fetch PV pv-1 from API server: "
            'persistentvolumes "pv-1" not found',
            id="no volume",
        ),
    ],
)
def test_a_claim_that_cannot_be_used_is_an_event_and_checked_again(change: Any, error: str) -> None:
    driver = run_of(node=ATTACHED)
    change(driver)
    driver.run(0)
    note = (
        "Warning FailedMount: Unable to attach or mount volumes: unmounted volumes=[data], "
        f"unattached volumes=[], failed to process volumes=[data]: {error}"
    )
    assert failures(driver) == [note]
    assert driver.state() == {"waiting": {"reason": "ContainerCreating"}}
    driver.run(9)
    assert len(failures(driver)) == 1
    driver.cluster.add("PersistentVolume", "pv-1", spec=CSI)
    add_claim(driver)
    driver.run(11)
    assert (driver.status()["phase"], len(failures(driver))) == ("Running", 1)


@pytest.mark.parametrize(
    ("main", "mode", "field"),
    [
        (MOUNTS, "Block", "volumeMounts"),
        (MAPS, "Filesystem", "volumeDevices"),
        (MAPS, None, "volumeDevices"),
        (MOUNTS, None, None),
        (MOUNTS, "Filesystem", None),
        (MAPS, "Block", None),
    ],
)
def test_a_volume_is_used_as_its_mode_says(
    main: dict[str, Any], mode: str | None, field: str | None
) -> None:
    driver = run_of(main, node=ATTACHED, mode=mode)
    driver.run(0)
    if field is None:
        assert driver.status()["phase"] == "Running"
        return
    (note,) = failures(driver)
    found = f"volumeMode {mode or 'Filesystem'}, but is specified in {field}"
    assert note.endswith(f": volume data has {found}")


def test_a_note_lists_the_unattached_volumes_too() -> None:
    driver = run_of()
    main = container(volumeMounts=[{"name": "a", "mountPath": "/a"}, *MOUNTS["volumeMounts"]])
    missing = {"name": "a", "persistentVolumeClaim": {"claimName": "gone"}}
    driver.put(pod_of(main, name="two", volumes=[CLAIMED, missing]))
    driver.run(0)
    (note,) = failures(driver)
    assert "unmounted volumes=[a data], unattached volumes=[data], failed to process" in note


@pytest.mark.parametrize(
    "volume", [CLAIMED, {"name": "data", "secret": {"secretName": "key"}}], ids=["claim", "secret"]
)
def test_a_volume_that_no_container_uses_is_not_mounted(volume: dict[str, Any]) -> None:
    driver = KubeletDriver()
    driver.put(pod_of(container(), volumes=[volume]))
    driver.run(0)
    assert driver.status()["phase"] == "Running"


def keyed(name: str, *keys: str, **more: Any) -> dict[str, Any]:
    items = [{"key": key, "path": key} for key in keys]
    return {"name": name, **({"items": items} if keys else {}), **more}


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ({"configMap": keyed("settings")}, None),
        ({"configMap": keyed("settings", "a", "b")}, None),
        ({"configMap": keyed("settings", "a", "x", "y")},
         "configmap references non-existent config key: x"),
        ({"configMap": keyed("none")}, 'configmap "none" not found'),
        ({"configMap": keyed("none", optional=True)}, None),
        ({"configMap": keyed("settings", "x", optional=True)}, None),
        ({"secret": {"secretName": "key", **keyed("", "x")}},
         "references non-existent secret key: x"),
        ({"projected": {"sources": [{"secret": keyed("none")}, {"configMap": keyed("settings")},
                                    {"configMap": keyed("settings", "x")}]}},
         '[secret "none" not found, configmap references non-existent config key: x]'),
        ({"projected": {"sources": [{"secret": keyed("none")}, {"secret": keyed("none")}]}},
         'secret "none" not found'),
    ],
)  # fmt: skip
def test_a_volume_needs_its_objects_and_their_keys(source, error) -> None:
    """Upstream: configmap.go and secret.go, MakePayload; projected.go, collectData"""
    driver = KubeletDriver()
    driver.cluster.add("Node", "n1")
    driver.cluster.add("ConfigMap", "settings", data={"a": "1"}, binaryData={"b": "Mg=="})
    driver.cluster.add("Secret", "key", data={"k": "MQ=="})
    driver.put(pod_of(MOUNTS, volumes=[{"name": "data", **source}]))
    driver.run(0)
    head = 'Warning FailedMount: MountVolume.SetUp failed for volume "data" : '
    assert failures(driver) == ([] if error is None else [head + error])


def test_each_volume_that_cannot_be_mounted_is_reported() -> None:
    driver = KubeletDriver()
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in "ab"]
    volumes = [{"name": name, "configMap": {"name": name}} for name in "abc"]
    driver.put(pod_of(container(volumeMounts=mounts), volumes=volumes))
    driver.run(0)
    assert failures(driver) == [
        f'Warning FailedMount: MountVolume.SetUp failed for volume "{name}" : configmap "{name}"'
        " not found"
        for name in "ab"
    ]
