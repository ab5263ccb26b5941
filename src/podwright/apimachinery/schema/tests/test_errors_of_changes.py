"""The errors of changed objects and of metadata: a row is a part, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.tests.kind_errors import (
    BASES,
    of_changed_spec,
    of_metadata,
    of_status,
    of_update,
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
        ({"name": "a", "namespace": "d", "ownerReferences": [{"apiVersion": "a/b/c", "kind":
         "K", "name": "n", "uid": "u"}, {"apiVersion": "v1", "kind": "Event", "name": "n",
         "uid": "u"}]},
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
        ({"name": "a", "namespace": "d", "managedFields": [{"operation": "x"}, {"operation":
         "Apply", "fieldsType": "y", "manager": "m" * 129, "subresource": "s" * 257}]},
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
        (("ConfigMap", {"metadata": {"finalizers": ["b/c", "a/b"]}}, {"metadata":
         {"deletionTimestamp": "2020-01-01T00:00:00Z"}}),
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
        (("ConfigMap", {"data": {}, "binaryData": {}, "immutable": True}, {"immutable": True}),
         ["data: Forbidden: field is immutable when `immutable` is set",
          "binaryData: Forbidden: field is immutable when `immutable` is set"]),
        (("ConfigMap", {"data": None, "immutable": True}, {"data": {}, "immutable": True}), []),
        (("Secret", {"data": {"a": "YQ=="}, "type": "x"}, {"data": {"a": "YQ=="}, "type":
         "y"}),
         ['type: Invalid value: "x": field is immutable']),
        (("Secret", {"data": {"a": "YQ=="}, "immutable": True}, {"data": {"a": "YW=="},
         "immutable": True}),
         ["data: Forbidden: field is immutable when `immutable` is set"]),
        (("PriorityClass", {"value": 1}, {"value": 2}),
         ["value: Forbidden: may not be changed in an update."]),
        (("PriorityClass", {"value": 1, "preemptionPolicy": "Never"}, {"value": 1}),
         ['preemptionPolicy: Invalid value: "Never": field is immutable']),
        (("ResourceQuota", {"spec": {"scopes": ["BestEffort"]}}, {"spec": {"scopes":
         ["Terminating"]}}),
         ['spec.scopes: Invalid value: ["BestEffort"]: field is immutable']),
        (("ResourceQuota", {"spec": {"scopes": ["BestEffort", "Terminating"]}}, {"spec":
         {"scopes": ["Terminating", "BestEffort"]}}),
         []),
        (("Node", {"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}}, {"spec":
         {"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.1.0/24"]}}),
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
        (("CronJob", {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec":
         BASES["Job"]}}}, {}),
         []),
        (("CronJob", {"spec": {"schedule": "x", "timeZone": "Local",
         "startingDeadlineSeconds": -1, "concurrencyPolicy": "y",
         "successfulJobsHistoryLimit": -1, "failedJobsHistoryLimit": -1, "jobTemplate":
         {"spec": BASES["Job"]}}}, {}),
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
        (("PersistentVolume", {"nodeAffinity": {"required": {"nodeSelectorTerms":
         [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}}, {}),
         []),
        (("PersistentVolume", {}, {"nodeAffinity": {"required": {"nodeSelectorTerms":
         [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}}),
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
        (("PersistentVolumeClaim", {"dataSource": {"name": "a", "kind": "b", "apiGroup":
         "C"}}, {"dataSource": {"name": "a", "kind": "b", "apiGroup": "C"}}),
         []),
        (("Service", {}, {}), []),
        (("Service", {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}, {"clusterIP":
         "10.0.0.2", "clusterIPs": ["10.0.0.2"]}),
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
        (("Service", {"type": "ExternalName", "externalName": "a"}, {"clusterIP":
         "10.0.0.2"}),
         []),
        (("Service", {"clusterIP": "a"}, {"clusterIP": "10.0.0.2"}),
         ['spec.clusterIPs[0]: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7'
          " or 2001:db8::ffff)"]),
        (("Service", {"type": "LoadBalancer", "loadBalancerClass": "a"}, {"type":
         "LoadBalancer"}),
         ['spec.loadBalancerClass: Invalid value: "a": may not change once set']),
        (("Service", {"type": "LoadBalancer", "loadBalancerClass": "a"}, {"type":
         "LoadBalancer", "loadBalancerClass": "a"}),
         []),
        (("Service", {"type": "LoadBalancer", "externalTrafficPolicy": "Local",
          "healthCheckNodePort": 31001}, {"type": "LoadBalancer", "externalTrafficPolicy":
          "Local", "healthCheckNodePort": 31000}),
         ["spec.healthCheckNodePort: Forbidden: field is immutable"]),
        (("Service", {"type": "LoadBalancer", "externalTrafficPolicy": "Local",
          "healthCheckNodePort": 31001}, {"type": "LoadBalancer", "healthCheckNodePort": 31000}),
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
        (("Job", {"successPolicy": {"rules": [{"succeededCount": 1}]}, "completionMode":
         "Indexed", "completions": 2}, {"completionMode": "Indexed", "completions": 2}),
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
        (("PersistentVolumeClaim", {"allocatedResourceStatuses": {"storage": "x", "-":
         "NodeResizePending", "cpu": "NodeResizeInProgress", "a.b/c": "y", "kubernetes.io/x":
         "NodeResizeInfeasible"}}),
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
        (("PersistentVolumeClaim", {"allocatedResources": {"storage": "-1", "-": "1", "cpu":
         "1", "a.b/c": "-1"}}),
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
         {"type": "a", "status": "True", "reason": "R", "lastTransitionTime":
         "2020-01-01T00:00:00Z"}, {"type": "b", "status": "Unknown", "reason": "r" * 1025,
         "message": "m" * 32769, "observedGeneration": -1}], "disruptionsAllowed": -1,
         "currentHealthy": -1, "desiredHealthy": -1, "expectedPods": -1}),
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
        (("DaemonSet", {"currentNumberScheduled": -1, "numberReady": -1, "collisionCount":
         -1}),
         ["status.currentNumberScheduled: Invalid value: -1: must be greater than or equal to"
          " 0",
          "status.numberReady: Invalid value: -1: must be greater than or equal to 0",
          "status.collisionCount: Invalid value: -1: must be greater than or equal to 0"]),
        (("Job", {"active": -1, "succeeded": -1, "failed": -1, "ready": -1, "terminating":
         -1}),
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
