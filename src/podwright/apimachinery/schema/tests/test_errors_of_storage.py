"""The errors of new and changed objects of storage: a row is a change, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.tests.kind_errors import (
    BASES,
    of_changed_spec,
    of_new,
    of_spec,
    of_status,
    of_update,
)

DRIVEN: dict[str, Any] = {"hostPath": None, "csi": {"driver": "a", "volumeHandle": "b"}}
SECRET = {"name": "s", "namespace": "n"}
WITH_SECRET: dict[str, Any] = {
    "hostPath": None,
    "csi": DRIVEN["csi"] | {"controllerExpandSecretRef": SECRET},
}
AFFINITY: dict[str, Any] = {"required": {"nodeSelectorTerms": [{"matchFields": []}]}}
CLASS = "volume.beta.kubernetes.io/storage-class"
CLAIM = BASES["PersistentVolumeClaim"]


def claim(size: str, phase: str = "Bound", current: str = "", **spec: Any) -> dict[str, Any]:
    resources = {"resources": {"requests": {"storage": size}}}
    applied = {"currentVolumeAttributesClassName": current} if current else {}
    return {"spec": CLAIM | resources | spec, "status": {"phase": phase} | applied}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("PersistentVolume", {}),
         ["spec.accessModes: Required value",
          "spec.capacity: Required value",
          'spec.capacity: Unsupported value: null: supported values: "storage"',
          "spec: Required value: must specify a volume type"]),
        (("PersistentVolumeClaim", {}),
         ["spec.accessModes: Required value: at least 1 access mode is required",
          "spec.resources[storage]: Required value"]),
        (("StorageClass", {"provisioner": "a", "parameters": {"b": "c" * (256 * 1024 - 2),
         "d": None}}),
         []),
        (("StorageClass", {"provisioner": "a", "parameters": {"é": "c" * (256 * 1024 - 1)}}),
         ["parameters: Too long: may not be more than 262144 bytes"]),
        (("StorageClass", {"provisioner": "a", "parameters": {"a": "é" * (128 * 1024)}}),
         ["parameters: Too long: may not be more than 262144 bytes"]),
        (("StorageClass", {"provisioner": "a", "volumeBindingMode": "x", "reclaimPolicy":
         "Delete"}),
         ['volumeBindingMode: Unsupported value: "x": supported values: "Immediate",'
          ' "WaitForFirstConsumer"']),
        (("StorageClass", {"provisioner": "a", "allowedTopologies": [{"matchLabelExpressions":
         [{"key": "k", "values": ["b", "c", "b", "b"]}, {"key": "l", "values": ["b"]}, {"key":
         "k", "values": ["d"]}, {"values": ["d"]}, {"values": ["e"]}]}]}),
         ['allowedTopologies[0].matchLabelExpressions[0].values[2]: Duplicate value: "b"',
          'allowedTopologies[0].matchLabelExpressions[0].values[3]: Duplicate value: "b"',
          'allowedTopologies[0].matchLabelExpressions[2].key: Duplicate value: "k"',
          'allowedTopologies[0].matchLabelExpressions[3].key: Invalid value: "": name part'
          " must be non-empty",
          'allowedTopologies[0].matchLabelExpressions[3].key: Invalid value: "": NAME PART',
          'allowedTopologies[0].matchLabelExpressions[4].key: Invalid value: "": name part'
          " must be non-empty",
          'allowedTopologies[0].matchLabelExpressions[4].key: Invalid value: "": NAME PART',
          'allowedTopologies[0].matchLabelExpressions[4].key: Duplicate value: ""']),
        (("CSIStorageCapacity", {"storageClassName": "a", "capacity": "-1n"}),
         ['capacity: Invalid value: "-1n": must be greater than or equal to 0']),
        (("CSIStorageCapacity", {"storageClassName": "a", "capacity": "1x"}),
         ['capacity: Invalid value: "1x": quantities are numbers with an optional suffix,'
          " such as 500m, 2, 1.5Gi or 1e3"]),
        (("CSINode", {"spec": {"drivers": [{"name": "a", "nodeID": "b" * 256, "topologyKeys":
         ["a", "", "-", "a"], "allocatable": {"count": 0}}, {"nodeID": "a"}, {"nodeID":
         "a"}]}}),
         ["spec.drivers[0]: Required value",
          'spec.drivers[0]: Invalid value: "": name part must be non-empty',
          'spec.drivers[0]: Invalid value: "": NAME PART',
          'spec.drivers[0]: Invalid value: "-": NAME PART',
          'spec.drivers[0]: Duplicate value: "a"',
          "spec.drivers[1].name: Required value",
          "spec.drivers[2].name: Required value",
          'spec.drivers[2].name: Duplicate value: ""']),
        (("CSINode", {"spec": {"drivers": [{"name": "a", "nodeID": "b", "allocatable":
         {"count": -1}}]}}),
         ["spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or"
          " equal to 0"]),
        (("CSIDriver", {"spec": {"fsGroupPolicy": "x", "volumeLifecycleModes": ["Persistent",
         "y"], "nodeAllocatableUpdatePeriodSeconds": 9}}),
         ['spec.fsGroupPolicy: Unsupported value: "x": supported values: "File", "None",'
          ' "ReadWriteOnceWithFSType"',
          'spec.volumeLifecycleModes: Unsupported value: "y": supported values: "Persistent",'
          ' "Ephemeral"',
          "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or"
          " equal to 10 seconds"]),
        (("CSIDriver", {"spec": {"nodeAllocatableUpdatePeriodSeconds": 10, "tokenRequests":
         [{}, {"audience": "a", "expirationSeconds": 600}, {"audience": "b",
         "expirationSeconds": 4294967296}, {"expirationSeconds": 1}]}}),
         ['spec.tokenRequests[3].audience: Duplicate value: ""']),
        (("CSIDriver", {"spec": {"tokenRequests": [{"audience": "a", "expirationSeconds":
         599}], "serviceAccountTokenInSecrets": False}}),
         ["spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a"
          " duration less than 10 minutes"]),
        (("VolumeAttachment", {"spec": {"attacher": "a", "nodeName": "N", "source": {}}}),
         ["spec.source: Required value: must specify exactly one of inlineVolumeSpec and"
          " persistentVolumeName",
          'spec.nodeName: Invalid value: "N": SUBDOMAIN']),
        (("VolumeAttachment", {"spec": {"attacher": "a", "nodeName": "n", "source":
         {"persistentVolumeName": "", "inlineVolumeSpec": {}}}}),
         ["spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and"
          " persistentVolumeName",
          'spec.source.persistentVolumeName: Invalid value: "": SUBDOMAIN']),
        (("VolumeAttachment", {"spec": {"attacher": "a", "nodeName": "n", "source":
         {"persistentVolumeName": ""}}}),
         ["spec.source.persistentVolumeName: Required value: must specify non empty"
          " persistentVolumeName",
          'spec.source.persistentVolumeName: Invalid value: "": SUBDOMAIN']),
        (("VolumeAttachment", {"spec": {"attacher": "a", "nodeName": "n", "source":
         {"persistentVolumeName": "P"}}}),
         ['spec.source.persistentVolumeName: Invalid value: "P": SUBDOMAIN']),
        (("VolumeAttachment", {"spec": {"attacher": "a", "nodeName": "n", "source":
         {"inlineVolumeSpec": {}}}}),
         ["spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the"
          " context of inline volumes",
          "spec.source.inlineVolumeSpec.accessModes: Required value",
          "spec.source.inlineVolumeSpec: Required value: must specify a volume type"]),
        (("VolumeAttachment", {"spec": {"attacher": "a", "nodeName": "n", "source":
         {"inlineVolumeSpec": {"claimRef": {}, "capacity": {"storage": "1"}, "accessModes":
         ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": "Delete", "nodeAffinity": {},
         "storageClassName": "a", "volumeMode": "Block", "csi": {"driver": "a",
         "volumeHandle": "b"}}}}}),
         ["spec.source.inlineVolumeSpec.claimRef: Forbidden: may not be specified in the"
          " context of inline volumes",
          "spec.source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the"
          " context of inline volumes",
          "spec.source.inlineVolumeSpec.persistentVolumeReclaimPolicy: Forbidden: may only be"
          " Retain in the context of inline volumes",
          "spec.source.inlineVolumeSpec.nodeAffinity: Forbidden: may not be specified in the"
          " context of inline volumes",
          "spec.source.inlineVolumeSpec.storageClassName: Forbidden: may not be specified in"
          " the context of inline volumes",
          "spec.source.inlineVolumeSpec.volumeMode: Forbidden: may not specify volumeMode"
          " other than Filesystem in the context of inline volumes"]),
        (("VolumeAttachment", {"spec": {"attacher": "a", "nodeName": "n", "source":
         {"inlineVolumeSpec": {"capacity": {}, "accessModes": ["ReadWriteOnce"],
         "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "", "volumeMode":
         "Filesystem", "csi": {"driver": "a", "volumeHandle": "b"}}}}}),
         []),
        (("StorageClass", {"provisioner": "a", "reclaimPolicy": ""}), []),
    ],
)  # fmt: skip
def test_new_objects(row: Any, expected: list[str]) -> None:
    assert of_new(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"accessModes": None, "capacity": None},
         ["spec.accessModes: Required value",
          "spec.capacity: Required value",
          'spec.capacity: Unsupported value: null: supported values: "storage"']),
        ({"capacity": {"storage": "0", "cpu": "0"}},
         ['spec.capacity: Unsupported value: {"storage":"0","cpu":"0"}: supported values:'
          ' "storage"',
          'spec.capacity[cpu]: Invalid value: "0": must be greater than zero',
          'spec.capacity[storage]: Invalid value: "0": must be greater than zero']),
        ({"capacity": {"storage": "1n"}}, []),
        ({"capacity": {"storage": "-1n"}},
         ["spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
          'spec.capacity[storage]: Invalid value: "-1m": must be greater than zero']),
        ({"capacity": {"storage": "1x"}},
         ['spec.capacity[storage]: Invalid value: "1x": quantities are numbers with an'
          " optional suffix, such as 500m, 2, 1.5Gi or 1e3"]),
        ({"hostPath": None, "local": {"path": "/a"}, "nodeAffinity": {"required":
         {"nodeSelectorTerms": [{"matchFields": []}]}}},
         []),
        ({"hostPath": {"path": "/a"}, "persistentVolumeReclaimPolicy": "Recycle"}, []),
        ({"hostPath": {"path": "/a/.."}, "persistentVolumeReclaimPolicy": "Recycle"},
         ["spec.hostPath.path: Invalid value: \"/a/..\": must not contain '..'",
          "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath"
          " mount of '/'"]),
        ({"persistentVolumeReclaimPolicy": "", "storageClassName": ""}, []),
        ({"hostPath": None, "local": {"path": "/a"}, "storageos": {"volumeName": "a"}},
         ["spec.nodeAffinity: Required value: Local volume requires node affinity",
          "spec.storageos: Forbidden: may not specify more than 1 volume type"]),
        ({"volumeAttributesClassName": "a"} | DRIVEN, []),
        ({"accessModes": ["ReadWriteOncePod", "ReadWriteOncePod"]}, []),
    ],
)  # fmt: skip
def test_volumes(row: Any, expected: list[str]) -> None:
    assert of_spec("PersistentVolume", row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"accessModes": None, "selector": {"matchLabels": {"-": ""}}},
         ["spec.accessModes: Required value: at least 1 access mode is required",
          'spec.selector.matchLabels: Invalid value: "-": NAME PART']),
        ({"accessModes": ["x", "ReadWriteOncePod", "ReadOnlyMany"], "resources": {}},
         ['spec.accessModes: Unsupported value: "x": supported values: "ReadOnlyMany",'
          ' "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
          "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
          "spec.resources[storage]: Required value"]),
        ({"resources": {"requests": {"cpu": "1"}}}, ["spec.resources[storage]: Required value"]),
        ({"resources": {"requests": {"storage": "1n"}}}, []),
        ({"resources": {"requests": {"storage": "0"}}},
         ['spec.resources[storage]: Invalid value: "0": must be greater than zero']),
        ({"resources": {"requests": {"storage": "1x"}}},
         ['spec.resources[storage]: Invalid value: "1x": quantities are numbers with an'
          " optional suffix, such as 500m, 2, 1.5Gi or 1e3"]),
        ({"dataSource": {}, "dataSourceRef": {}},
         ["spec.dataSource.name: Required value",
          "spec.dataSource.kind: Required value",
          "spec.dataSource: Invalid value: \"\": must be 'PersistentVolumeClaim' when"
          " referencing the default apiGroup",
          "spec.dataSourceRef.name: Required value",
          "spec.dataSourceRef.kind: Required value",
          "spec.dataSourceRef: Invalid value: \"\": must be 'PersistentVolumeClaim' when"
          " referencing the default apiGroup"]),
        ({"dataSource": {"name": "a", "kind": "b", "apiGroup": ""}},
         ["spec.dataSource: Invalid value: \"b\": must be 'PersistentVolumeClaim' when"
          " referencing the default apiGroup"]),
        ({"dataSource": {"name": "a", "kind": "PersistentVolumeClaim"}}, []),
        ({"dataSourceRef": {"name": "a", "kind": "b", "apiGroup": "C", "namespace": "D"}},
         ['spec.dataSourceRef.apiGroup: Invalid value: "C": SUBDOMAIN',
          'spec.dataSourceRef.namespace: Invalid value: "D": LABEL']),
        ({"dataSourceRef": {"name": "a", "kind": "b", "apiGroup": "c", "namespace": ""}}, []),
        ({"dataSource": {"name": "a", "kind": "b", "apiGroup": "c"}, "dataSourceRef": {"name":
         "a", "kind": "b", "apiGroup": "c", "namespace": "d"}},
         ["spec: Invalid value: {}: may not be specified when dataSourceRef.namespace is"
          " specified"]),
        ({"dataSource": {"name": "a", "kind": "b", "apiGroup": "c"}, "dataSourceRef": {"name":
         "a", "kind": "b", "apiGroup": "d"}},
         ["spec: Invalid value: {}: must match dataSourceRef"]),
        ({"dataSource": {"name": "a", "kind": "b", "apiGroup": "c"}, "dataSourceRef": {"name":
         "a", "kind": "d", "apiGroup": "c"}},
         ["spec: Invalid value: {}: must match dataSourceRef"]),
        ({"dataSource": {"name": "a", "kind": "b", "apiGroup": "c"}, "dataSourceRef": {"name":
         "d", "kind": "b", "apiGroup": "c"}},
         ["spec: Invalid value: {}: must match dataSourceRef"]),
        ({"dataSource": {"name": "a", "kind": "b", "apiGroup": "c"}, "dataSourceRef": {"name":
         "a", "kind": "b", "apiGroup": "c"}},
         []),
        ({"storageClassName": "", "volumeAttributesClassName": "", "volumeMode": "x"},
         ['spec.volumeMode: Unsupported value: "x": supported values: "Block", "Filesystem"']),
        ({"storageClassName": "A", "volumeAttributesClassName": "B"},
         ['spec.storageClassName: Invalid value: "A": SUBDOMAIN',
          'spec.volumeAttributesClassName: Invalid value: "B": SUBDOMAIN']),
    ],
)  # fmt: skip
def test_claims(row: Any, expected: list[str]) -> None:
    assert of_spec("PersistentVolumeClaim", row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((DRIVEN, WITH_SECRET),
         ["spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable"
          ' after creation\n@@ -29,10 +29,7 @@\n   "ControllerPublishSecretRef": null,\n  '
          ' "NodeStageSecretRef": null,\n   "NodePublishSecretRef": null,\n- '
          ' "ControllerExpandSecretRef": {\n-   "Name": "s",\n-   "Namespace": "n"\n-  },\n+ '
          ' "ControllerExpandSecretRef": null,\n   "NodeExpandSecretRef": null\n  }\n }\n']),
        ((WITH_SECRET | {"csi": WITH_SECRET["csi"] | {"controllerExpandSecretRef": SECRET |
         {"name": "t"}}}, WITH_SECRET),
         ["spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable"
          ' after creation\n@@ -30,7 +30,7 @@\n   "NodeStageSecretRef": null,\n  '
          ' "NodePublishSecretRef": null,\n   "ControllerExpandSecretRef": {\n-   "Name":'
          ' "s",\n+   "Name": "t",\n    "Namespace": "n"\n   },\n   "NodeExpandSecretRef":'
          " null\n"]),
        (({"hostPath": {"path": "/a"}}, DRIVEN),
         ["spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable"
          ' after creation\n@@ -1,7 +1,10 @@\n {\n  "GCEPersistentDisk": null,\n '
          ' "AWSElasticBlockStore": null,\n- "HostPath": null,\n+ "HostPath": {\n+  "Path":'
          ' "/a",\n+  "Type": ""\n+ },\n  "Glusterfs": null,\n  "NFS": null,\n  "RBD":'
          ' null,\n@@ -20,16 +23,5 @@\n  "ScaleIO": null,\n  "Local": null,\n  "StorageOS":'
          ' null,\n- "CSI": {\n-  "Driver": "a",\n-  "VolumeHandle": "b",\n-  "ReadOnly":'
          ' false,\n-  "FSType": "",\n-  "VolumeAttributes": null,\n- '
          ' "ControllerPublishSecretRef": null,\n-  "NodeStageSecretRef": null,\n- '
          ' "NodePublishSecretRef": null,\n-  "ControllerExpandSecretRef": null,\n- '
          ' "NodeExpandSecretRef": null\n- }\n+ "CSI": null\n }\n']),
        ((DRIVEN, {"hostPath": {"path": "/a"}}),
         ["spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable"
          ' after creation\n@@ -1,10 +1,7 @@\n {\n  "GCEPersistentDisk": null,\n '
          ' "AWSElasticBlockStore": null,\n- "HostPath": {\n-  "Path": "/a",\n-  "Type":'
          ' ""\n- },\n+ "HostPath": null,\n  "Glusterfs": null,\n  "NFS": null,\n  "RBD":'
          ' null,\n@@ -23,5 +20,16 @@\n  "ScaleIO": null,\n  "Local": null,\n  "StorageOS":'
          ' null,\n- "CSI": null\n+ "CSI": {\n+  "Driver": "a",\n+  "VolumeHandle": "b",\n+ '
          ' "ReadOnly": false,\n+  "FSType": "",\n+  "VolumeAttributes": null,\n+ '
          ' "ControllerPublishSecretRef": null,\n+  "NodeStageSecretRef": null,\n+ '
          ' "NodePublishSecretRef": null,\n+  "ControllerExpandSecretRef": null,\n+ '
          ' "NodeExpandSecretRef": null\n+ }\n }\n']),
        (({"accessModes": ["x"]}, {}),
         ['spec.accessModes: Unsupported value: "x": supported values: "ReadOnlyMany",'
          ' "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
          'spec.accessModes: Unsupported value: "x": supported values: "ReadOnlyMany",'
          ' "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"']),
        ((DRIVEN | {"volumeAttributesClassName": "a"}, DRIVEN | {"volumeAttributesClassName":
         "b"}),
         []),
        ((DRIVEN | {"volumeAttributesClassName": "a"}, DRIVEN), []),
        (({"nodeAffinity": AFFINITY}, {"nodeAffinity": AFFINITY}), []),
    ],
)  # fmt: skip
def test_changed_volumes(row: Any, expected: list[str]) -> None:
    assert of_changed_spec("PersistentVolume", *row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((claim("2Gi"), claim("1Gi")), []),
        ((claim("2Gi", "Pending"), claim("1Gi")), []),
        ((claim("1Gi"), claim("2Gi")), []),
        ((claim("1Gi"), claim("2Gi") | {"status": {"phase": "Bound", "capacity": {"storage":
         "1Gi"}}}),
         ["spec.resources.requests.storage: Forbidden: field can not be less than"
          " status.capacity"]),
        ((claim("1Gi"), claim("2Gi") | {"status": {"phase": "Bound", "capacity": {"storage":
         "512Mi"}}}),
         []),
        ((claim("1Gi", volumeAttributesClassName="a"), claim("1Gi",
         volumeAttributesClassName="b")),
         []),
        ((claim("1Gi", volumeAttributesClassName="a"), claim("1Gi", "Pending")),
         ["spec: Forbidden: spec is immutable after creation except resources.requests and"
          ' volumeAttributesClassName for bound claims\n@@ -14,5 +14,5 @@\n  "VolumeMode":'
          ' "Filesystem",\n  "DataSource": null,\n  "DataSourceRef": null,\n-'
          ' "VolumeAttributesClassName": null\n+ "VolumeAttributesClassName": "a"\n }\n']),
        ((claim("1Gi", volumeName="v"), claim("1Gi", volumeName="v")), []),
        ((claim("1Gi", accessModes=[]), claim("1Gi", accessModes=[])),
         ["spec.accessModes: Required value: at least 1 access mode is required"]),
        ((claim("1Gi", dataSource={"name": "a", "kind": "b", "apiGroup": "C"}), claim("1Gi")),
         ['spec.dataSource.apiGroup: Invalid value: "C": SUBDOMAIN',
          "spec: Forbidden: spec is immutable after creation except resources.requests and"
          ' volumeAttributesClassName for bound claims\n@@ -12,7 +12,11 @@\n  "VolumeName":'
          ' "",\n  "StorageClassName": null,\n  "VolumeMode": "Filesystem",\n- "DataSource":'
          ' null,\n+ "DataSource": {\n+  "APIGroup": "C",\n+  "Kind": "b",\n+  "Name": "a"\n+'
          ' },\n  "DataSourceRef": null,\n  "VolumeAttributesClassName": null\n }\n']),
        ((claim("1Gi", dataSourceRef={"name": "a", "kind": "b", "apiGroup": "C"}),
         claim("1Gi", dataSourceRef={"name": "a", "kind": "b", "apiGroup": "C"})),
         []),
        ((claim("1Gi", storageClassName="a") | {"metadata": {"annotations": {CLASS: "a"}}},
         claim("1Gi") | {"metadata": {"annotations": {CLASS: "a"}}}),
         []),
        ((claim("1Gi", storageClassName="a"), claim("1Gi") | {"metadata": {"annotations":
         {CLASS: "a"}}}),
         []),
        ((claim("1Gi", storageClassName="b") | {"metadata": {"annotations": {CLASS: "a"}}},
         claim("1Gi") | {"metadata": {"annotations": {CLASS: "a"}}}),
         ["spec: Forbidden: spec is immutable after creation except resources.requests and"
          " volumeAttributesClassName for bound claims\n@@ -10,7 +10,7 @@\n   }\n  },\n "
          ' "VolumeName": "",\n- "StorageClassName": null,\n+ "StorageClassName": "b",\n '
          ' "VolumeMode": "Filesystem",\n  "DataSource": null,\n  "DataSourceRef": null,\n']),
        ((claim("1Gi", storageClassName="a") | {"metadata": {"annotations": {CLASS: "b"}}},
         claim("1Gi") | {"metadata": {"annotations": {CLASS: "a"}}}),
         ['metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "b":'
          " field is immutable"]),
        ((claim("1Gi") | {"metadata": {"annotations": {CLASS: "b"}}}, claim("1Gi")),
         ['metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "b":'
          " field is immutable"]),
        ((claim("1Gi"), claim("1Gi") | {"metadata": {"annotations": {CLASS: "b"}}}),
         ['metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid value: "":'
          " field is immutable"]),
        ((claim("1Gi"), claim("1Gi", storageClassName="a")),
         ["spec: Forbidden: spec is immutable after creation except resources.requests and"
          " volumeAttributesClassName for bound claims\n@@ -10,7 +10,7 @@\n   }\n  },\n "
          ' "VolumeName": "",\n- "StorageClassName": "a",\n+ "StorageClassName": null,\n '
          ' "VolumeMode": "Filesystem",\n  "DataSource": null,\n  "DataSourceRef": null,\n']),
        ((claim("1Gi"), claim("1Gi", current="a", volumeAttributesClassName="a")),
         ["spec.volumeAttributesClassName: Forbidden: update to nil is forbidden when"
          " status.currentVolumeAttributesClassName is not nil"]),
        ((claim("1Gi", volumeAttributesClassName=""), claim("1Gi", current="a",
         volumeAttributesClassName="a")),
         ["spec.volumeAttributesClassName: Forbidden: update to empty string is forbidden"
          " when status.currentVolumeAttributesClassName is not nil"]),
        ((claim("1Gi", volumeAttributesClassName=""), claim("1Gi",
         volumeAttributesClassName="a")),
         []),
        ((claim("1Gi", volumeAttributesClassName="b"), claim("1Gi", current="a",
         volumeAttributesClassName="a")),
         []),
        ((claim("1Gi", volumeAttributesClassName=""), claim("1Gi", current="a",
         volumeAttributesClassName="")),
         []),
        (({"spec": CLAIM}, {"spec": CLAIM}), []),
    ],
)  # fmt: skip
def test_changed_claims(row: Any, expected: list[str]) -> None:
    assert of_update("PersistentVolumeClaim", *row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("PersistentVolumeClaim", {"capacity": {"storage": "-1", "cpu": "-2"},
         "allocatedResources": {"storage": "-3", "cpu": "-4", "a/b": "-5", "-": "1",
         "a.kubernetes.io/b": "1"}, "allocatedResourceStatuses": {"storage": "x", "cpu":
         "NodeResizePending"}}),
         ["status.capacity[cpu]: Invalid value: -2: must be a valid resource quantity",
          "status.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
          'status.allocatedResourceStatuses: Unsupported value: "cpu": supported values:'
          ' "storage"',
          'status.allocatedResourceStatuses: Unsupported value: "storage": supported values:'
          ' "ControllerResizeInProgress", "ControllerResizeInfeasible",'
          ' "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"',
          'status.allocatedResources: Invalid value: "-": NAME PART',
          'status.allocatedResources: Unsupported value: "a.kubernetes.io/b": supported'
          ' values: "storage"',
          "status.allocatedResources[a/b]: Invalid value: -5: must be a valid resource"
          " quantity",
          'status.allocatedResources: Unsupported value: "cpu": supported values: "storage"',
          "status.allocatedResources[storage]: Invalid value: -3: must be a valid resource"
          " quantity"]),
        (("PersistentVolumeClaim", {"capacity": {"storage": "0"}, "allocatedResources":
         {"storage": "0"}, "allocatedResourceStatuses": {"storage": "NodeResizePending",
         "a/b": "ControllerResizeInProgress"}}),
         []),
        (("VolumeAttachment", {"attachmentMetadata": {"a": "b" * (256 * 1024)}, "attachError":
         {"message": "é" * 513, "errorCode": -1}, "detachError": {"message": "a" * 1025}}),
         ["spec.attacher: Required value",
          "spec.source: Required value: must specify exactly one of inlineVolumeSpec and"
          " persistentVolumeName",
          'spec.nodeName: Invalid value: "": SUBDOMAIN',
          "status.attachmentMetadata: Too long: may not be more than 262144 bytes",
          "status.attachError.message: Too long: may not be more than 262144 bytes",
          "status.attachError.errorCode: Invalid value: -1: must be between 0 and 2147483647,"
          " inclusive",
          "status.detachError.message: Too long: may not be more than 262144 bytes"]),
        (("VolumeAttachment", {"attachmentMetadata": {"a": "b" * (256 * 1024 - 1)},
         "attachError": {"message": "é" * 512, "errorCode": 0}, "detachError": {"errorCode":
         2147483647}}),
         ["spec.attacher: Required value",
          "spec.source: Required value: must specify exactly one of inlineVolumeSpec and"
          " persistentVolumeName",
          'spec.nodeName: Invalid value: "": SUBDOMAIN']),
    ],
)  # fmt: skip
def test_statuses(row: Any, expected: list[str]) -> None:
    assert of_status(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("CSINode", {"spec": {"drivers": [{"name": "a", "nodeID": "b"}, {"name": "c",
         "nodeID": "d"}]}}, {"spec": {"drivers": [{"name": "a", "nodeID": "c"}]}}),
         ["spec.drivers: Invalid value:"
          ' {"Name":"a","NodeID":"b","TopologyKeys":null,"Allocatable":null}: field is'
          " immutable"]),
        (("CSINode", {"spec": {"drivers": [{"name": "a", "nodeID": "b", "allocatable":
         {"count": 1}}]}}, {"spec": {"drivers": [{"name": "a", "nodeID": "b"}]}}),
         []),
        (("CSINode", {}, {}), []),
    ],
)  # fmt: skip
def test_changed_kinds(row: Any, expected: list[str]) -> None:
    assert of_update(*row) == expected
