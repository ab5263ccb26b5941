"""The errors of changed objects, of metadata and of definitions: a row is a part, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.tests.kind_errors import (
    BASES,
    of_changed_spec,
    of_definition,
    of_metadata,
    of_schema,
    of_status,
    of_update,
    version,
)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({}, ["metadata.name: Required value: name or generateName is required"]),
        ({"name": "A"}, ['metadata.name: Invalid value: "A": SUBDOMAIN']),
        ({"name": "a", "namespace": "d", "generateName": "B"},
         ['metadata.generateName: Invalid value: "B": SUBDOMAIN']),
        ({"generateName": "a-", "namespace": "d"}, []),
        ({"generateName": "a" * 300, "namespace": "d"},
         ['metadata.generateName: Invalid value: "aa*300": must be no more than 253 characters']),
        ({"name": "a"}, []),
        ({"name": "a", "namespace": "D"}, ['metadata.namespace: Invalid value: "D": LABEL']),
        ({"name": "a", "namespace": "d", "generation": -1},
         ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"]),
        ({"name": "a", "namespace": "d", "labels": {"-": "-", "a/b/c": "", "": "a"}},
         ['metadata.labels: Invalid value: "": name part must be non-empty',
          'metadata.labels: Invalid value: "": NAME PART',
          'metadata.labels: Invalid value: "-": NAME PART',
          'metadata.labels: Invalid value: "-": a valid label must be an empty string or'
          " consist of alphanumeric characters, '-', '_' or '.', and must start and end with"
          " an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex"
          " used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
          'metadata.labels: Invalid value: "a/b/c": a valid label key must consist of'
          " alphanumeric characters, '-', '_' or '.', and must start and end with an"
          " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used"
          " for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional"
          " DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]),
        ({"name": "a", "namespace": "d", "annotations": {"-": "", "A.b/C": "", "a": None}},
         ['metadata.annotations: Invalid value: "-": NAME PART']),
        ({"name": "a", "namespace": "d", "annotations": {"a": "b" * (256 * 1024)}},
         ["metadata.annotations: Too long: may not be more than 262144 bytes"]),
        ({"name": "a", "namespace": "d", "annotations": {"a": "b" * (256 * 1024 - 1)}}, []),
        ({"name": "a", "namespace": "d", "finalizers": ["a", "-", "b/c", "orphan"]},
         ['metadata.finalizers: Invalid value: "-": NAME PART',
          'metadata.finalizers[0]: Invalid value: "a": name is neither a standard finalizer'
          " name nor is it fully qualified",
          'metadata.finalizers[1]: Invalid value: "-": name is neither a standard finalizer'
          " name nor is it fully qualified"]),
        ({"name": "a", "namespace": "d", "finalizers": ["orphan", "foregroundDeletion"]},
         ['metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer'
          " orphan and foregroundDeletion cannot be both set"]),
        ({"name": "a", "namespace": "d", "ownerReferences": [{}]},
         ['metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
          'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
          'metadata.ownerReferences.name: Invalid value: "": must not be empty',
          'metadata.ownerReferences.uid: Invalid value: "": must not be empty']),
        ({"name": "a", "namespace": "d", "ownerReferences": [{"apiVersion": "a/b/c",
         "kind": "K", "name": "n", "uid": "u"}, {"apiVersion": "v1", "kind": "Event",
         "name": "n", "uid": "u"}]},
         ['metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be'
          " empty",
          "metadata.ownerReferences: Invalid value:"
          ' {"apiVersion":"v1","kind":"Event","name":"n","uid":"u"}: /v1, Kind=Event is'
          " disallowed from being an owner"]),
        ({"name": "a", "namespace": "d", "ownerReferences": [{"apiVersion": "v1", "kind": "K",
          "name": "n", "uid": "u", "controller": True}, {"apiVersion": "v1", "kind": "L",
         "name": "m", "uid": "v", "controller": True}]},
         ["metadata.ownerReferences: Invalid value:"
          ' [{"apiVersion":"v1","kind":"K","name":"n","uid":"u","controller":true},{"apiVersi'
          'on":"v1","kind":"L","name":"m","uid":"v","controller":true}]: Only one reference'
          ' can have Controller set to true. Found "true" in references for K/n and L/m']),
        ({"name": "a", "namespace": "d", "managedFields": [{"operation": "x"},
         {"operation": "Apply", "fieldsType": "y", "manager": "m" * 129,
         "subresource": "s" * 257}]},
         []),
    ],
)  # fmt: skip
def test_metadata(row: Any, expected: list[str]) -> None:
    assert of_metadata(row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("ConfigMap", {}, {}), []),
        (("ConfigMap", {"metadata": {"name": "y", "namespace": "e", "uid": "1"}}, {}),
         ['metadata.name: Invalid value: "y": field is immutable',
          'metadata.namespace: Invalid value: "e": field is immutable',
          'metadata.uid: Invalid value: "1": field is immutable']),
        (("ConfigMap", {"metadata": {"finalizers": ["b/c", "a/b"]}},
         {"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}}),
         ["metadata.finalizers: Forbidden: no new finalizers can be added if the object is"
          ' being deleted, found new finalizers []string{"a/b", "b/c"}',
          "metadata.deletionTimestamp: Invalid value: null: field is immutable"]),
        (("ConfigMap", {"metadata": {"deletionGracePeriodSeconds": 0}}, {}),
         ["metadata.deletionGracePeriodSeconds: Invalid value: 0: field is immutable"]),
        (("ConfigMap", {"metadata": {"generation": 1}}, {"metadata": {"generation": 2}}), []),
        (("ConfigMap", {"metadata": {"generation": -1}}, {}), []),
        (("ConfigMap", {"data": {"a": "b"}}, {"data": {"a": "c"}, "immutable": True}),
         ["immutable: Forbidden: field is immutable when `immutable` is set",
          "data: Forbidden: field is immutable when `immutable` is set"]),
        (("ConfigMap", {"data": {"a": "b"}, "binaryData": {"c": ""}, "immutable": True},
         {"data": {"a": "b"}, "immutable": True}),
         ["binaryData: Forbidden: field is immutable when `immutable` is set"]),
        (("Secret", {"data": {"a": "YQ=="}, "type": "x"}, {"data": {"a": "YQ=="},
         "type": "y"}),
         ['type: Invalid value: "x": field is immutable']),
        (("Secret", {"data": {"a": "YQ=="}, "immutable": True}, {"data": {"a": "YW=="},
         "immutable": True}),
         ["data: Forbidden: field is immutable when `immutable` is set"]),
        (("PriorityClass", {"value": 1}, {"value": 2}),
         ["value: Forbidden: may not be changed in an update."]),
        (("PriorityClass", {"value": 1, "preemptionPolicy": "Never"}, {"value": 1}),
         ['preemptionPolicy: Invalid value: "Never": field is immutable']),
        (("ResourceQuota", {"spec": {"scopes": ["BestEffort"]}},
         {"spec": {"scopes": ["Terminating"]}}),
         ['spec.scopes: Invalid value: ["BestEffort"]: field is immutable']),
        (("ResourceQuota", {"spec": {"scopes": ["BestEffort", "Terminating"]}},
         {"spec": {"scopes": ["Terminating", "BestEffort"]}}),
         []),
        (("Node", {"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}},
         {"spec": {"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.1.0/24"]}}),
         ['spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to'
          " valid"]),
        (("Node", {"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}}, {}), []),
        (("Node", {"spec": {"providerID": "a"}}, {"spec": {"providerID": "b"}}),
         ['spec.providerID: Forbidden: node updates may not change providerID except from ""'
          " to valid"]),
        (("Node", {"spec": {"providerID": "a"}}, {}), []),
        (("Node", {"spec": {"externalID": "a"}}, {}),
         ["spec.externalID: Forbidden: may not be updated"]),
        (("HorizontalPodAutoscaler", {"spec": {"scaleTargetRef": {"kind": "a", "name": "b"},
         "maxReplicas": 1}}, {"spec": {"scaleTargetRef": {"kind": "a", "name": "b"},
         "maxReplicas": 1}}),
         []),
        (("HorizontalPodAutoscaler", {"spec": {"scaleTargetRef": {"kind": "a", "name": "b"},
         "maxReplicas": 1}}, {"spec": {"scaleTargetRef": {"apiVersion": "c/d", "kind": "a",
         "name": "b"}, "maxReplicas": 1}}),
         ['spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API'
          " group"]),
        (("CronJob", {"spec": {"schedule": "* * * * *",
         "jobTemplate": {"spec": BASES["Job"]}}}, {}),
         []),
        (("CronJob", {"spec": {"schedule": "x", "timeZone": "Local",
         "startingDeadlineSeconds": -1, "concurrencyPolicy": "y",
         "successfulJobsHistoryLimit": -1, "failedJobsHistoryLimit": -1,
         "jobTemplate": {"spec": BASES["Job"]}}}, {}),
         ['spec.schedule: Invalid value: "x": expected exactly 5 fields, found 1: [x]',
          "spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
          'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as'
          " defined in https://www.iana.org/time-zones",
          'spec.concurrencyPolicy: Unsupported value: "y": supported values: "Allow",'
          ' "Forbid", "Replace"',
          "spec.successfulJobsHistoryLimit: Invalid value: -1: must be greater than or equal"
          " to 0",
          "spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0"]),
        (("CronJob", {"spec": {"schedule": "TZ=UTC * * * * *", "timeZone": "x y",
         "jobTemplate": {"spec": BASES["Job"]}}}, {"spec": {"schedule": "TZ=UTC * * * * *"}}),
         ['spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use both timeZone field'
          " and TZ or CRON_TZ in schedule",
          'spec.timeZone: Invalid value: "x y": unknown time zone x y']),
    ],
)  # fmt: skip
def test_changed_metadata(row: Any, expected: list[str]) -> None:
    assert of_update(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("PersistentVolume", {}, {}), []),
        (("PersistentVolume", {"hostPath": {"path": "/b"}}, {}),
         ["spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable"
          ' after creation\n@@ -2,7 +2,7 @@\n  "GCEPersistentDisk": null,\n '
          ' "AWSElasticBlockStore": null,\n  "HostPath": {\n-  "Path": "/a",\n+  "Path": "/b",\n '
          '  "Type": ""\n  },\n  "Glusterfs": null,\n']),
        (("PersistentVolume", {"volumeMode": "Block"}, {}),
         ['volumeMode: Invalid value: "Block": field is immutable']),
        (("PersistentVolume",
         {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a",
          "operator": "Exists"}]}]}}}, {}),
         []),
        (("PersistentVolume", {},
         {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a",
          "operator": "Exists"}]}]}}}),
         ["nodeAffinity: Invalid value: null: field is immutable, except for updating from"
          " beta label to GA"]),
        (("PersistentVolume", {"hostPath": None, "csi": {"driver": "a", "volumeHandle": "b",
         "controllerExpandSecretRef": {"name": "s", "namespace": "n"}}}, {"hostPath": None,
         "csi": {"driver": "a", "volumeHandle": "b"}}),
         []),
        (("PersistentVolume", {"hostPath": None, "csi": {"driver": "a", "volumeHandle": "b"}},
          {"hostPath": None, "csi": {"driver": "a", "volumeHandle": "b",
         "controllerExpandSecretRef": {"name": "s", "namespace": "n"}}}),
         ["spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable"
          ' after creation\n@@ -29,10 +29,7 @@\n   "ControllerPublishSecretRef": null,\n  '
          ' "NodeStageSecretRef": null,\n   "NodePublishSecretRef": null,\n- '
          ' "ControllerExpandSecretRef": {\n-   "Name": "s",\n-   "Namespace": "n"\n-  },\n+ '
          ' "ControllerExpandSecretRef": null,\n   "NodeExpandSecretRef": null\n  }\n }\n']),
        (("PersistentVolume", {"hostPath": None, "csi": {"driver": "a", "volumeHandle": "b"}},
          {"hostPath": None, "csi": {"driver": "a", "volumeHandle": "b"},
         "volumeAttributesClassName": "c"}),
         ["spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is"
          " forbidden"]),
        (("PersistentVolume", {"capacity": {"storage": "2Gi"}, "storageClassName": "a"}, {}), []),
        (("PersistentVolumeClaim", {}, {}), []),
        (("PersistentVolumeClaim", {"accessModes": ["ReadOnlyMany"]}, {}),
         ["spec: Forbidden: spec is immutable after creation except resources.requests and"
          ' volumeAttributesClassName for bound claims\n@@ -1,6 +1,6 @@\n {\n  "AccessModes":'
          ' [\n-  "ReadWriteOnce"\n+  "ReadOnlyMany"\n  ],\n  "Selector": null,\n'
          '  "Resources": {\n']),
        (("PersistentVolumeClaim", {"volumeName": "v"}, {}), []),
        (("PersistentVolumeClaim", {"volumeName": "v"}, {"volumeName": "w"}),
         ["spec: Forbidden: spec is immutable after creation except resources.requests and"
          ' volumeAttributesClassName for bound claims\n@@ -9,7 +9,7 @@\n    "storage": "1Gi"\n '
          '  }\n  },\n- "VolumeName": "w",\n+ "VolumeName": "v",\n  "StorageClassName": null,\n '
          ' "VolumeMode": "Filesystem",\n  "DataSource": null,\n']),
        (("PersistentVolumeClaim", {"resources": {"requests": {"storage": "2Gi"}}}, {}),
         ["spec: Forbidden: spec is immutable after creation except resources.requests and"
          ' volumeAttributesClassName for bound claims\n@@ -6,7 +6,7 @@\n  "Resources": {\n  '
          ' "Limits": null,\n   "Requests": {\n-   "storage": "1Gi"\n+   "storage": "2Gi"\n   }\n '
          ' },\n  "VolumeName": "",\n']),
        (("PersistentVolumeClaim", {"resources": {"requests": {"storage": "1Mi"}}}, {}),
         ["spec: Forbidden: spec is immutable after creation except resources.requests and"
          ' volumeAttributesClassName for bound claims\n@@ -6,7 +6,7 @@\n  "Resources": {\n  '
          ' "Limits": null,\n   "Requests": {\n-   "storage": "1Gi"\n+   "storage": "1Mi"\n   }\n '
          ' },\n  "VolumeName": "",\n']),
        (("PersistentVolumeClaim", {"storageClassName": "a"}, {}), []),
        (("PersistentVolumeClaim", {"storageClassName": "a"}, {"storageClassName": "b"}),
         ["spec: Forbidden: spec is immutable after creation except resources.requests and"
          " volumeAttributesClassName for bound claims\n@@ -10,7 +10,7 @@\n   }\n  },\n "
          ' "VolumeName": "",\n- "StorageClassName": "b",\n+ "StorageClassName": "a",\n '
          ' "VolumeMode": "Filesystem",\n  "DataSource": null,\n  "DataSourceRef": null,\n']),
        (("PersistentVolumeClaim", {"volumeMode": "Block"}, {}),
         ["spec: Forbidden: spec is immutable after creation except resources.requests and"
          ' volumeAttributesClassName for bound claims\n@@ -11,7 +11,7 @@\n  },\n  "VolumeName":'
          ' "",\n  "StorageClassName": null,\n- "VolumeMode": "Filesystem",\n+ "VolumeMode":'
          ' "Block",\n  "DataSource": null,\n  "DataSourceRef": null,\n '
          ' "VolumeAttributesClassName": null\n',
          'volumeMode: Invalid value: "Block": field is immutable']),
        (("PersistentVolumeClaim", {"dataSource": {"name": "a", "kind": "b",
         "apiGroup": "C"}}, {"dataSource": {"name": "a", "kind": "b", "apiGroup": "C"}}),
         []),
        (("Service", {}, {}), []),
        (("Service", {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]},
         {"clusterIP": "10.0.0.2", "clusterIPs": ["10.0.0.2"]}),
         ['spec.clusterIPs[0]: Invalid value: ["10.0.0.1"]: may not change once set']),
        (("Service", {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "fd00::1"]},
         {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}),
         []),
        (("Service", {"clusterIP": "None", "clusterIPs": ["None"]}, {"clusterIP": "None",
         "clusterIPs": ["None"]}),
         []),
        (("Service", {"clusterIP": "None", "clusterIPs": ["None"]}, {"clusterIP": "10.0.0.1",
         "clusterIPs": ["10.0.0.1"]}),
         ['spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set']),
        (("Service", {"type": "ExternalName", "externalName": "a"},
         {"clusterIP": "10.0.0.2"}),
         []),
        (("Service", {"clusterIP": "a"}, {"clusterIP": "10.0.0.2"}),
         ['spec.clusterIPs[0]: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7'
          " or 2001:db8::ffff)"]),
        (("Service", {"type": "LoadBalancer", "loadBalancerClass": "a"},
         {"type": "LoadBalancer"}),
         ['spec.loadBalancerClass: Invalid value: "a": may not change once set']),
        (("Service", {"type": "LoadBalancer", "loadBalancerClass": "a"},
         {"type": "LoadBalancer", "loadBalancerClass": "a"}),
         []),
        (("Service", {"type": "LoadBalancer", "loadBalancerClass": "-"}, {}),
         ['spec.loadBalancerClass: Invalid value: "-": NAME PART',
          'spec.loadBalancerClass: Invalid value: "-": NAME PART']),
        (("Service", {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0", "b"]},
         {"type": "LoadBalancer", "loadBalancerSourceRanges": [" 10.0.0.0"]}),
         ['spec.LoadBalancerSourceRanges[1]: Invalid value: "b": must be a valid CIDR value,'
          " (e.g. 10.9.8.0/24 or 2001:db8::/64)"]),
        (("Job", {}, {}), []),
        (("Job", {"completions": 2}, {"completions": 1}),
         ["spec.completions: Invalid value: 2: field is immutable"]),
        (("Job", {"completionMode": "Indexed", "completions": 2, "parallelism": 2},
         {"completionMode": "Indexed", "completions": 1}),
         []),
        (("Job", {"completionMode": "Indexed", "completions": 2, "parallelism": 1},
         {"completionMode": "Indexed", "completions": 1}),
         ["spec.completions: Invalid value: 2: can only be modified in tandem with"
          " spec.parallelism"]),
        (("Job", {"completionMode": "Indexed", "completions": 2, "parallelism": 1},
         {"completionMode": "Indexed", "completions": 2, "parallelism": 5}),
         []),
        (("Job", {"selector": {"matchLabels": {"a": "b"}}, "manualSelector": True},
         {"manualSelector": True, "selector": {"matchLabels": {"a": "c"}}}),
         ['spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: field is immutable']),
        (("Job", {"podFailurePolicy": {"rules": []}}, {}),
         ['spec.podFailurePolicy: Invalid value: {"Rules":[]}: field is immutable']),
        (("Job", {"backoffLimitPerIndex": 1, "completionMode": "Indexed", "completions": 2},
         {"completionMode": "Indexed", "completions": 2}),
         ["spec.backoffLimitPerIndex: Invalid value: 1: field is immutable"]),
        (("Job", {"managedBy": "a/b"}, {"managedBy": "a/c"}),
         ['spec.managedBy: Invalid value: "a/b": field is immutable']),
        (("Job", {"successPolicy": {"rules": [{"succeededCount": 1}]},
         "completionMode": "Indexed", "completions": 2}, {"completionMode": "Indexed",
         "completions": 2}),
         ["spec.successPolicy: Invalid value:"
          ' {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: field is immutable']),
        (("DaemonSet", {}, {}), []),
        (("DaemonSet", {"selector": {"matchLabels": {"a": "b", "c": "d"}}}, {}),
         ['spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable',
          'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match'
          " template `labels`"]),
        (("DaemonSet", {"minReadySeconds": -1}, {}),
         ["spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"]),
    ],
)  # fmt: skip
def test_changed_specs(row: Any, expected: list[str]) -> None:
    assert of_changed_spec(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("PersistentVolumeClaim", {"capacity": {"storage": "-1", "a": "1"}}),
         ["status.capacity[storage]: Invalid value: -1: must be a valid resource quantity"]),
        (("PersistentVolumeClaim", {"allocatedResourceStatuses": {"storage": "x",
         "-": "NodeResizePending", "cpu": "NodeResizeInProgress", "a.b/c": "y",
         "kubernetes.io/x": "NodeResizeInfeasible"}}),
         ['status.allocatedResourceStatuses: Invalid value: "-": NAME PART',
          'status.allocatedResourceStatuses: Unsupported value: "a.b/c": supported values:'
          ' "ControllerResizeInProgress", "ControllerResizeInfeasible",'
          ' "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"',
          'status.allocatedResourceStatuses: Unsupported value: "cpu": supported values:'
          ' "storage"',
          'status.allocatedResourceStatuses: Unsupported value: "kubernetes.io/x": supported'
          ' values: "storage"',
          'status.allocatedResourceStatuses: Unsupported value: "storage": supported values:'
          ' "ControllerResizeInProgress", "ControllerResizeInfeasible",'
          ' "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"']),
        (("PersistentVolumeClaim", {"allocatedResources": {"storage": "-1", "-": "1",
         "cpu": "1", "a.b/c": "-1"}}),
         ['status.allocatedResources: Invalid value: "-": NAME PART',
          "status.allocatedResources[a.b/c]: Invalid value: -1: must be a valid resource"
          " quantity",
          'status.allocatedResources: Unsupported value: "cpu": supported values: "storage"',
          "status.allocatedResources[storage]: Invalid value: -1: must be a valid resource"
          " quantity"]),
        (("ResourceQuota", {"hard": {"a": "1"}, "used": {"cpu": "-1"}}),
         ['status.hard[a]: Invalid value: "a": must be a standard resource type or fully'
          " qualified",
          'status.hard[a]: Invalid value: "a": must be a standard resource for quota',
          'status.used[cpu]: Invalid value: "-1": must be greater than or equal to 0']),
        (("Node", {"addresses": [{"type": "a", "address": "b"}, {"type": "a", "address": "c"},
          {"type": "a", "address": "b"}], "capacity": {"cpu": "-1"}}),
         ['status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
          'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0',
          'status.addresses[2]: Duplicate value: {"Type":"a","Address":"b"}']),
        (("FlowSchema", {"conditions": [{}, {"type": "a"}, {"type": "a"}]}),
         ["status.conditions[0].type: Required value",
          'status.conditions[2].type: Duplicate value: "a"']),
        (("PodDisruptionBudget", {"conditions": [{"type": "a", "status": "x", "reason": "-"},
         {"type": "a", "status": "True", "reason": "R",
         "lastTransitionTime": "2020-01-01T00:00:00Z"}, {"type": "b", "status": "Unknown",
         "reason": "r" * 1025, "message": "m" * 32769, "observedGeneration": -1}],
         "disruptionsAllowed": -1, "currentHealthy": -1, "desiredHealthy": -1,
         "expectedPods": -1}),
         ['status.conditions[0].status: Unsupported value: "x": supported values: "False",'
          ' "True", "Unknown"',
          "status.conditions[0].lastTransitionTime: Required value",
          'status.conditions[0].reason: Invalid value: "-": a condition reason must start'
          " with alphabetic character, optionally followed by a string of alphanumeric"
          " characters or '_,:', and must end with an alphanumeric character or '_' (e.g."
          " 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or"
          " 'ReasonA:ReasonB', regex used for validation is"
          " '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')",
          'status.conditions[1].type: Duplicate value: "a"',
          "status.conditions[2].observedGeneration: Invalid value: -1: must be greater than"
          " or equal to zero",
          "status.conditions[2].lastTransitionTime: Required value",
          "status.conditions[2].reason: Too long: may not be more than 1024 bytes",
          "status.conditions[2].message: Too long: may not be more than 32768 bytes",
          "status.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0",
          "status.currentHealthy: Invalid value: -1: must be greater than or equal to 0",
          "status.desiredHealthy: Invalid value: -1: must be greater than or equal to 0",
          "status.expectedPods: Invalid value: -1: must be greater than or equal to 0"]),
        (("DaemonSet", {"currentNumberScheduled": -1, "numberReady": -1,
         "collisionCount": -1}),
         ["status.currentNumberScheduled: Invalid value: -1: must be greater than or equal to"
          " 0",
          "status.numberReady: Invalid value: -1: must be greater than or equal to 0",
          "status.collisionCount: Invalid value: -1: must be greater than or equal to 0"]),
        (("Job", {"active": -1, "succeeded": -1, "failed": -1, "ready": -1,
         "terminating": -1}),
         ["status.active: Invalid value: -1: must be greater than or equal to 0",
          "status.succeeded: Invalid value: -1: must be greater than or equal to 0",
          "status.failed: Invalid value: -1: must be greater than or equal to 0",
          "status.ready: Invalid value: -1: must be greater than or equal to 0",
          "status.terminating: Invalid value: -1: must be greater than or equal to 0",
          "status.failed: Invalid value: -1: cannot decrease the failed counter",
          "status.succeeded: Invalid value: -1: cannot decrease the succeeded counter"]),
        (("Job", {"completedIndexes": "1", "uncountedTerminatedPods": {"succeeded": ["a",
         "a"], "failed": ["a", ""]}}),
         ['status.uncountedTerminatedPods.succeeded[1]: Duplicate value: "a"',
          'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
          'status.uncountedTerminatedPods.failed[1]: Invalid value: "": must not be empty',
          'status.completedIndexes: Invalid value: "1": error parsing completedIndexes: too'
          ' large index: "1"',
          'status.completedIndexes: Invalid value: "1": cannot set non-empty completedIndexes'
          " when non-indexed completion mode"]),
        (("Job", {"conditions": [{"type": "Complete", "status": "True"}, {"type": "Failed",
         "status": "True"}]}),
         ["status.conditions: Invalid value: cannot set Complete=True and Failed=true"
          " conditions",
          "status.completionTime: Required value: completionTime is required for Complete jobs",
          "status.conditions: Invalid value: cannot set Failed=True condition without the"
          " FailureTarget=true condition",
          "status.conditions: Invalid value: cannot set Complete=True condition without the"
          " SuccessCriteriaMet=true condition",
          "status.startTime: Required value: startTime is required for finished job"]),
    ],
)  # fmt: skip
def test_changed_statuses(row: Any, expected: list[str]) -> None:
    assert of_status(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({}, []),
        ({"group": "a"},
         ['metadata.name: Invalid value: "cars.a.b": must be spec.names.plural+"."+spec.group',
          'spec.group: Invalid value: "a": should be a domain with at least one dot']),
        ({"group": "A.b", "scope": "x"},
         ['metadata.name: Invalid value: "cars.a.b": must be spec.names.plural+"."+spec.group',
          'spec.group: Invalid value: "A.b": SUBDOMAIN',
          'spec.scope: Unsupported value: "x": supported values: "Cluster", "Namespaced"']),
        ({"names": {}},
         ['metadata.name: Invalid value: "cars.a.b": must be spec.names.plural+"."+spec.group',
          "spec.names.plural: Required value",
          "spec.names.singular: Required value",
          "spec.names.kind: Required value",
          "spec.names.listKind: Required value"]),
        ({"names": {"plural": "cars", "singular": "C", "kind": "car!", "listKind": "car!",
         "shortNames": ["A", "b"], "categories": ["-"]}},
         ['spec.names.singular: Invalid value: "C": a DNS-1035 label must consist of lower'
          " case alphanumeric characters or '-', start with an alphabetic character, and end"
          " with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for"
          " validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
          'spec.names.kind: Invalid value: "car!": may have mixed case, but should otherwise'
          " match: a DNS-1035 label must consist of lower case alphanumeric characters or"
          " '-', start with an alphabetic character, and end with an alphanumeric character"
          " (e.g. 'my-name',  or 'abc-123', regex used for validation is"
          " '[a-z]([-a-z0-9]*[a-z0-9])?')",
          'spec.names.listKind: Invalid value: "car!": may have mixed case, but should'
          " otherwise match: a DNS-1035 label must consist of lower case alphanumeric"
          " characters or '-', start with an alphabetic character, and end with an"
          " alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation"
          " is '[a-z]([-a-z0-9]*[a-z0-9])?')",
          'spec.names.shortNames[0]: Invalid value: "A": a DNS-1035 label must consist of'
          " lower case alphanumeric characters or '-', start with an alphabetic character,"
          " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used"
          " for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
          'spec.names.listKind: Invalid value: "car!": kind and listKind may not be the same',
          'spec.names.categories[0]: Invalid value: "-": a DNS-1035 label must consist of'
          " lower case alphanumeric characters or '-', start with an alphabetic character,"
          " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used"
          " for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"]),
        ({"names": {"plural": "cars", "singular": "car", "kind": "Car", "listKind": "Car"}},
         ['spec.names.listKind: Invalid value: "Car": kind and listKind may not be the same']),
        ({"preserveUnknownFields": True},
         ["spec.preserveUnknownFields: Invalid value: true: cannot set to true, set"
          " x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"]),
        ({"versions": []},
         ["spec.versions: Invalid value: null: must have exactly one version marked as"
          " storage version"]),
        ({"versions": [{"name": "v1", "served": True, "storage": True}]},
         ["spec.versions[0].schema.openAPIV3Schema: Required value"]),
        ({"versions": [version("A_b")]},
         ['spec.versions[0].name: Invalid value: "A_b": a DNS-1035 label must consist of'
          " lower case alphanumeric characters or '-', start with an alphabetic character,"
          " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used"
          " for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
          'spec.version: Invalid value: "A_b": a DNS-1035 label must consist of lower case'
          " alphanumeric characters or '-', start with an alphabetic character, and end with"
          " an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for"
          " validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"]),
        ({"versions": [version("v1"), version("v1")]},
         ["spec.versions: Invalid value:"
          ' [{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning'
          '":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"Selectab'
          'leFields":null},{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"Depr'
          'ecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":'
          'null,"SelectableFields":null}]: must contain unique version names',
          "spec.versions: Invalid value:"
          ' [{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning'
          '":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"Selectab'
          'leFields":null},{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,"Depr'
          'ecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":'
          'null,"SelectableFields":null}]: must have exactly one version marked as storage'
          " version"]),
        ({"versions": [version("v1"), version("v2", storage=False)]}, []),
        ({"versions": [version("v1", storage=False)]},
         ["spec.versions: Invalid value:"
          ' [{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarnin'
          'g":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"Selecta'
          'bleFields":null}]: must have exactly one version marked as storage version']),
        ({"versions": [version("v1", deprecationWarning="a")]},
         ['spec.versions[0].deprecationWarning: Invalid value: "a": can only be set for'
          " deprecated versions"]),
        ({"versions": [version("v1", deprecated=True, deprecationWarning="")]},
         ['spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string']),
        ({"versions": [version("v1", deprecated=True, deprecationWarning="a\tb")]},
         ['spec.versions[0].deprecationWarning: Invalid value: "a\\tb": must only contain'
          " printable UTF-8 characters; non-printable character found at index 1"]),
        ({"versions": [version("v1", deprecated=True, deprecationWarning="a" * 257)]},
         ['spec.versions[0].deprecationWarning: Invalid value: "aa*256a": must be <= 256'
          " characters long"]),
        ({"versions": [version("v1", deprecated=True, deprecationWarning="a" * 256)]}, []),
        ({"versions": [version("v1", additionalPrinterColumns=[{}, {"name": "A", "type": "x",
         "jsonPath": "a", "format": "y"}, {"name": "A", "type": "string",
         "jsonPath": ".a"}])]},
         ["spec.additionalPrinterColumns[0].name: Required value",
          "spec.additionalPrinterColumns[0].type: Required value: must be one of"
          " boolean,date,integer,number,string",
          "spec.additionalPrinterColumns[0].JSONPath: Required value",
          'spec.additionalPrinterColumns[1].type: Invalid value: "x": must be one of'
          " boolean,date,integer,number,string",
          'spec.additionalPrinterColumns[1].format: Invalid value: "y": must be one of'
          " byte,date,date-time,double,float,int32,int64,password",
          'spec.additionalPrinterColumns[1].JSONPath: Invalid value: "a": must be a simple'
          " json path starting with ."]),
        ({"versions": [version("v1", subresources={"scale": {}})]},
         ["spec.subresources.scale.specReplicasPath: Required value",
          "spec.subresources.scale.statusReplicasPath: Required value"]),
        ({"versions": [version("v1", subresources={"scale": {"specReplicasPath": "spec.a",
         "statusReplicasPath": ".a", "labelSelectorPath": ".spec"}})]},
         ['spec.subresources.scale.specReplicasPath: Invalid value: "spec.a": must be a'
          " simple json path starting with .",
          'spec.subresources.scale.statusReplicasPath: Invalid value: ".a": should be a json'
          " path under .status",
          'spec.subresources.scale.labelSelectorPath: Invalid value: ".spec": should be a'
          " json path under either .spec or .status"]),
        ({"versions": [version("v1", subresources={"scale": {"specReplicasPath": ".spec.a",
         "statusReplicasPath": ".status.a", "labelSelectorPath": ".status.b"},
         "status": {}})]},
         []),
        ({"versions": [version("v1", selectableFields=[{}, {"jsonPath": "a"},
         {"jsonPath": ".spec.x"}, {"jsonPath": ".metadata.name"}])]},
         ["spec.selectableFields[0].jsonPath: Required value",
          'spec.selectableFields[1].jsonPath: Invalid value: "a": is an invalid path:'
          " expected [ or . but got: a",
          'spec.selectableFields[2].jsonPath: Invalid value: ".spec.x": is an invalid path:'
          " does not refer to a valid field",
          'spec.selectableFields[3].jsonPath: Invalid value: ".metadata.name": is an invalid'
          " path: does not refer to a valid field"]),
        ({"conversion": {}}, ["spec.conversion.strategy: Required value"]),
        ({"conversion": {"strategy": "x"}},
         ['spec.conversion.strategy: Unsupported value: "x": supported values: "None",'
          ' "Webhook"']),
        ({"conversion": {"strategy": "Webhook"}},
         ["spec.conversion.webhookClientConfig: Required value: required when strategy is set"
          " to Webhook",
          "spec.conversion.conversionReviewVersions: Required value"]),
        ({"conversion": {"strategy": "None",
         "webhook": {"conversionReviewVersions": ["v1"]}}},
         ["spec.conversion.conversionReviewVersions: Forbidden: should not be set when"
          " strategy is not set to Webhook"]),
        ({"conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v2",
          "-"], "clientConfig": {}}}},
         ["spec.conversion.webhookClientConfig: Required value: exactly one of url or service"
          " is required",
          'spec.conversion.conversionReviewVersions[1]: Invalid value: "-": a DNS-1035 label'
          " must consist of lower case alphanumeric characters or '-', start with an"
          " alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or"
          " 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
          'spec.conversion.conversionReviewVersions: Invalid value: ["v2","-"]: must include'
          " at least one of v1, v1beta1"]),
        ({"conversion": {"strategy": "Webhook",
         "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "http://a",
         "service": {"name": "a", "namespace": "b"}}}}},
         ["spec.conversion.webhookClientConfig: Required value: exactly one of url or service"
          " is required"]),
    ],
)  # fmt: skip
def test_definitions(row: Any, expected: list[str]) -> None:
    assert of_definition(row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"type": "string"}, []),
        ({"type": "x"},
         ['.type: Unsupported value: "x": supported values: "array", "boolean", "integer",'
          ' "number", "object", "string"']),
        ({"type": "null"},
         ['.type: Unsupported value: "null": supported values: "array", "boolean", "integer",'
          ' "number", "object", "string"',
          ".type: Forbidden: type cannot be set to null, use nullable as an alternative"]),
        ({}, [".type: Required value: must not be empty for specified object fields"]),
        ({"type": "string", "default": 1},
         ['.default: Invalid value: "integer":  in body must be of type string: "integer"']),
        ({"type": "object", "uniqueItems": True, "properties": {"a": {"type": "string"}},
         "additionalProperties": {"type": "string"}},
         [".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime"
          " complexity becomes quadratic",
          ".additionalProperties: Forbidden: additionalProperties and properties are mutual"
          " exclusive"]),
        ({"type": "array"}, [".items: Required value: must be specified"]),
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": True},
         [".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime"
          " complexity becomes quadratic"]),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "x"},
         ['.x-kubernetes-list-type: Unsupported value: "x": supported values: "atomic",'
          ' "set", "map"']),
        ({"type": "string", "x-kubernetes-list-type": "set"},
         ['.type: Invalid value: "string": must be array if x-kubernetes-list-type is'
          " specified"]),
        ({"x-kubernetes-int-or-string": True, "x-kubernetes-list-type": "atomic"},
         [".type: Required value: must be array if x-kubernetes-list-type is specified"]),
        ({"type": "string", "x-kubernetes-map-type": "granular"},
         ['.type: Invalid value: "string": must be object if x-kubernetes-map-type is'
          " specified"]),
        ({"type": "object", "x-kubernetes-map-type": "x"},
         ['.x-kubernetes-map-type: Unsupported value: "x": supported values: "atomic",'
          ' "granular"']),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": False},
         [".x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or"
          " undefined"]),
        ({"type": "array", "items": {"type": "array", "items": {"type": "string"},
         "x-kubernetes-list-type": "set"}, "x-kubernetes-list-type": "set"},
         ['.items.x-kubernetes-list-type: Invalid value: "set": must be atomic as item of a'
          " list with x-kubernetes-list-type=set"]),
        ({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"},
         [".items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a"
          " list with x-kubernetes-list-type=set"]),
        ({"type": "array", "items": {"type": "string", "nullable": True},
         "x-kubernetes-list-type": "set"},
         [".items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set"]),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-map-keys": ["a"]},
         [".x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys"
          " is non-empty"]),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic",
         "x-kubernetes-list-map-keys": ["a"]},
         ['.x-kubernetes-list-type: Invalid value: "atomic": must be map if'
          " x-kubernetes-list-map-keys is non-empty"]),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "map",
         "x-kubernetes-list-map-keys": ["a"]},
         [".items.type: Invalid value: \"string\": must be object if parent array's"
          " x-kubernetes-list-type is map"]),
        ({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"},
         [".x-kubernetes-list-map-keys: Required value: must not be empty if"
          " x-kubernetes-list-type is map"]),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "object"},
          "b": {"type": "string", "nullable": True}}}, "x-kubernetes-list-type": "map",
         "x-kubernetes-list-map-keys": ["a", "b", "b", "c"]},
         ['.items.properties[a].type: Invalid value: "object": must be a scalar type if'
          " parent array's x-kubernetes-list-type is map",
          '.x-kubernetes-list-map-keys: Invalid value: ["a","b","b","c"]: must not contain'
          " duplicate entries",
          '.x-kubernetes-list-map-keys: Invalid value: ["a","b","b","c"]: entries must all be'
          " names of item properties",
          ".items.properties[a].default: Required value: this property is in"
          " x-kubernetes-list-map-keys, so it must have a default or be a required property",
          ".items.properties[b].default: Required value: this property is in"
          " x-kubernetes-list-map-keys, so it must have a default or be a required property",
          ".items.properties[b].nullable: Forbidden: this property is in"
          " x-kubernetes-list-map-keys, so it cannot be nullable",
          ".items.properties[b].default: Required value: this property is in"
          " x-kubernetes-list-map-keys, so it must have a default or be a required property",
          ".items.properties[b].nullable: Forbidden: this property is in"
          " x-kubernetes-list-map-keys, so it cannot be nullable"]),
        ({"type": "array", "items": {"type": "object",
         "properties": {"a": {"type": "string"}}, "required": ["a"], "nullable": True},
         "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]},
         [".items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map"]),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string",
         "default": "b"}}}, "x-kubernetes-list-type": "map",
         "x-kubernetes-list-map-keys": ["a"]},
         []),
        ({"type": "object", "x-kubernetes-validations": [{}, {"rule": " "}, {"rule": "true",
         "message": " "}, {"rule": "true", "message": "a\nb"}, {"rule": "true\n"},
         {"rule": "true ||\n true"}]},
         [".x-kubernetes-validations[0].rule: Required value: rule is not specified",
          ".x-kubernetes-validations[1].rule: Required value: rule is not specified",
          '.x-kubernetes-validations[2].message: Invalid value: " ": must be non-empty if'
          " specified",
          '.x-kubernetes-validations[3].message: Invalid value: "a\\nb": must not contain line'
          " breaks",
          ".x-kubernetes-validations[5].message: Required value: message must be specified if"
          " rule contains line breaks"]),
        ({"type": "object", "x-kubernetes-validations": [{"rule": "true",
         "messageExpression": " "}, {"rule": "true", "reason": "x"}, {"rule": "true",
         "reason": "FieldValueInvalid", "fieldPath": " "}, {"rule": "true",
         "fieldPath": "a\nb"}, {"rule": "true", "fieldPath": ".x"}]},
         [".x-kubernetes-validations[0].messageExpression: Required value: messageExpression"
          " must be non-empty if specified",
          '.x-kubernetes-validations[1].reason: Unsupported value: "x": supported values:'
          ' "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid",'
          ' "FieldValueRequired"',
          '.x-kubernetes-validations[2].fieldPath: Invalid value: " ": must be non-empty if'
          " specified",
          '.x-kubernetes-validations[2].fieldPath: Invalid value: " ": must be a valid path',
          '.x-kubernetes-validations[3].fieldPath: Invalid value: "a\\nb": must not contain'
          " line breaks",
          '.x-kubernetes-validations[3].fieldPath: Invalid value: "a\\nb": must be a valid'
          " path",
          '.x-kubernetes-validations[4].fieldPath: Invalid value: ".x": must be a valid path']),
        ({"type": "object", "properties": {"a": {"type": "string"}},
         "x-kubernetes-validations": [{"rule": "self.a == 'b'", "fieldPath": ".a"},
         {"rule": "self.a", "message": "m"}, {"rule": "self.b"}]},
         [".x-kubernetes-validations[1].rule: Invalid value:"
          ' {"Rule":"self.a","Message":"m","MessageExpression":"","Reason":null,"FieldPath":"'
          '","OptionalOldSelf":null}: cel expression must evaluate to a bool',
          ".x-kubernetes-validations[2].rule: Invalid value:"
          ' {"Rule":"self.b","Message":"","MessageExpression":"","Reason":null,"FieldPath":""'
          ',"OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:5: undefined field'
          " 'b'\n | self.b\n | ....^"]),
        ({"type": "object", "x-kubernetes-embedded-resource": True,
         "properties": {"metadata": {"type": "object",
         "properties": {"name": {"type": "string",
         "x-kubernetes-embedded-resource": True}}}}},
         [".properties[metadata].properties[name].properties: Required value: must not be"
          " empty if x-kubernetes-embedded-resource is true without"
          " x-kubernetes-preserve-unknown-fields",
          '.properties[metadata].properties[name].type: Invalid value: "string": must be'
          " object if x-kubernetes-embedded-resource is true",
          ".properties[metadata].properties[name].x-kubernetes-embedded-resource: Forbidden:"
          " must not be used inside of resource meta"]),
        ({"allOf": [{"type": "string"}], "type": "string", "not": {"default": 1},
         "anyOf": [{"nullable": True}], "oneOf": [{"title": "a"}]},
         [".allOf[0].type: Forbidden: must be empty to be structural",
          ".anyOf[0].nullable: Forbidden: must be false to be structural",
          ".not.default: Forbidden: must be undefined to be structural",
          ".oneOf[0].title: Forbidden: must be empty to be structural"]),
        ({"type": "object", "definitions": {"a": {"type": "string"}},
         "dependencies": {"b": ["c"]}, "$ref": "d", "id": "e",
         "patternProperties": {"f": {"type": "string"}}, "additionalItems": True},
         [".id: Forbidden: id is not supported",
          ".additionalItems: Forbidden: additionalItems is not supported",
          ".patternProperties: Forbidden: patternProperties is not supported",
          ".definitions: Forbidden: definitions is not supported",
          ".dependencies: Forbidden: dependencies is not supported",
          ".$ref: Forbidden: $ref is not supported"]),
    ],
)  # fmt: skip
def test_schemas(row: Any, expected: list[str]) -> None:
    assert of_schema(row) == expected
