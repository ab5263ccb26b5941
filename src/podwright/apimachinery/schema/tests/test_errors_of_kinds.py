"""The errors of new objects of several kinds: a row is a part, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.tests.kind_errors import (
    AVOIDED,
    AVOIDED_PODS,
    ROUND_TRIP,
    TAINTS,
    of_changed_spec,
    of_metadata,
    of_new,
    of_spec,
)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("PriorityClass", {"value": 10**9}), []),
        (("PriorityClass", {"value": 10**9 + 1}),
         ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"]),
        (("PriorityClass", {"value": 1, "preemptionPolicy": ""}),
         ["preemptionPolicy: Required value"]),
        (("PriorityClass", {"value": 1, "preemptionPolicy": "x"}),
         ['preemptionPolicy: Unsupported value: "x": supported values:'
          ' "PreemptLowerPriority", "Never"']),
        (("PriorityClass", {"metadata": {"name": "system-x"}, "value": 1}),
         ["metadata.name: Forbidden: priority class names with 'system-' prefix are reserved"
          " for system use only. error: system-x is not a known system priority class"]),
        (("PriorityClass", {"metadata": {"name": "system-node-critical"}, "value": 1}),
         ["metadata.name: Forbidden: priority class names with 'system-' prefix are reserved"
          " for system use only. error: value of system-node-critical PriorityClass must be"
          " 2000001000"]),
        (("PriorityClass", {"metadata": {"name": "system-node-critical"}, "value":
         2000001000}),
         []),
        (("PriorityClass", {"metadata": {"name": "system-cluster-critical"}, "value":
         2000000000, "globalDefault": True}),
         ["metadata.name: Forbidden: priority class names with 'system-' prefix are reserved"
          " for system use only. error: globalDefault of system-cluster-critical"
          " PriorityClass must be false"]),
        (("StorageClass", {}), ["provisioner: Required value"]),
        (("StorageClass", {"provisioner": "A.b/C", "reclaimPolicy": "Recycle",
         "volumeBindingMode": "x"}),
         ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
          'volumeBindingMode: Unsupported value: "x": supported values: "Immediate",'
          ' "WaitForFirstConsumer"']),
        (("StorageClass", {"provisioner": "-", "parameters": {"": "a"}}),
         ['provisioner: Invalid value: "-": NAME PART',
          'parameters: Invalid value: "": field can not be empty.']),
        (("StorageClass", {"provisioner": "a", "parameters": {"a": "b" * (256 * 1024)}}),
         ["parameters: Too long: may not be more than 262144 bytes"]),
        (("StorageClass", {"provisioner": "a", "parameters": {"a": "b" * (256 * 1024 - 1)}}), []),
        (("StorageClass", {"provisioner": "a", "parameters": {str(number):
         "" for number in range(513)}}),
         ["parameters: Too long: may not be more than 512 bytes"]),
        (("StorageClass", {"provisioner": "a", "parameters": {str(number):
         "" for number in range(512)}}),
         []),
        (("StorageClass", {"provisioner": "a", "allowedTopologies": [{}]}),
         ['allowedTopologies[0].matchLabelExpressions: Duplicate value: ""']),
        (("StorageClass", {"provisioner": "a", "allowedTopologies": 3 * [{
          "matchLabelExpressions": [{"key": "a", "values": ["b"]}]}]}),
         ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
          *2 * ['allowedTopologies[2].matchLabelExpressions: Duplicate value: ""']]),
        (("StorageClass", {"provisioner": "a", "allowedTopologies": [{"matchLabelExpressions":
          [ {"key": "-"}, {"key": "a", "values": ["b", "b"]}, {"key": "a", "values":
         ["c"]}]}]}),
         ["allowedTopologies[0].matchLabelExpressions[0].values: Required value",
          'allowedTopologies[0].matchLabelExpressions[0].key: Invalid value: "-": NAME PART',
          'allowedTopologies[0].matchLabelExpressions[1].values[1]: Duplicate value: "b"',
          'allowedTopologies[0].matchLabelExpressions[2].key: Duplicate value: "a"']),
        (("StorageClass", {"provisioner": "a", "allowedTopologies": [{"matchLabelExpressions":
          [ {"key": "a", "values": ["b", "c"]}]}, {"matchLabelExpressions": [{"key": "a",
         "values": ["c", "b"]}]}]}),
         ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""']),
        (("StorageClass", {"provisioner": "a", "allowedTopologies": [{"matchLabelExpressions":
          [ {"key": "a", "values": ["b"]}]}, {"matchLabelExpressions": [{"key": "a", "values":
          ["c"]}]}]}),
         []),
        (("VolumeAttributesClass", {}),
         ["driverName: Required value",
          "parameters: Required value: must contain at least one key/value pair"]),
        (("VolumeAttributesClass", {"driverName": "A", "parameters": {"a": "b"}}), []),
        (("CSIStorageCapacity", {"capacity": "-1", "nodeTopology": {"matchLabels": {"-":
         ""}}}),
         ['nodeTopology.matchLabels: Invalid value: "-": NAME PART',
          'storageClassName: Invalid value: "": SUBDOMAIN',
          'capacity: Invalid value: "-1": must be greater than or equal to 0']),
        (("CSIStorageCapacity", {"storageClassName": "A", "capacity": "0"}),
         ['storageClassName: Invalid value: "A": SUBDOMAIN']),
        (("CSINode", {"spec": {"drivers": [{}, {"name": "a", "nodeID": "b" * 257,
         "allocatable": {"count": -1}}, {"name": "a", "nodeID": "b", "topologyKeys": ["", "c",
          "c", "-"]}]}}),
         ["spec.drivers[0].name: Required value",
          "spec.drivers[0].nodeID: Required value",
          'spec.drivers[1].nodeID: Invalid value: "bb*256b": must be 256 characters or less',
          "spec.drivers[1].allocatable.count: Invalid value: -1: must be greater than or"
          " equal to 0",
          'spec.drivers[2].name: Duplicate value: "a"',
          "spec.drivers[2]: Required value",
          'spec.drivers[2]: Invalid value: "": name part must be non-empty',
          'spec.drivers[2]: Invalid value: "": NAME PART',
          'spec.drivers[2]: Duplicate value: "c"',
          'spec.drivers[2]: Invalid value: "-": NAME PART']),
        (("ConfigMap", {"data": {"a b": "", "..": "", "c": ""}, "binaryData": {"c": "", "...":
          ""}}),
         ["data[..]: Invalid value: \"..\": must not be '..'",
          'data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric'
          " characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name',"
          " regex used for validation is '[-._a-zA-Z0-9]+')",
          'data[c]: Invalid value: "c": duplicate of key present in binaryData',
          "binaryData[...]: Invalid value: \"...\": must not start with '..'"]),
        (("ConfigMap", {"data": {"a": "b" * 2**20}, "binaryData": {"b": ""}}), []),
        (("ConfigMap", {"data": {"a": "b" * 2**20}, "binaryData": {"b": "YQ=="}}),
         ["[]: Too long: may not be more than 1048576 bytes"]),
        (("Secret", {"data": {"a b": ""}, "stringData": {"..": ""}}),
         ["data[..]: Invalid value: \"..\": must not be '..'",
          'data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric'
          " characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name',"
          " regex used for validation is '[-._a-zA-Z0-9]+')"]),
        (("Secret", {"type": "kubernetes.io/tls"}),
         ["data[tls.crt]: Required value",
          "data[tls.key]: Required value"]),
        (("Secret", {"type": "kubernetes.io/ssh-auth"}), ["data[ssh-privatekey]: Required value"]),
        (("Secret", {"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": "YQ=="}}), []),
        (("Secret", {"type": "kubernetes.io/basic-auth"}),
         ["data[username]: Required value",
          "data[password]: Required value"]),
        (("Secret", {"type": "kubernetes.io/basic-auth", "data": {"password": ""}}), []),
        (("Secret", {"type": "kubernetes.io/service-account-token"}),
         ["metadata.annotations[kubernetes.io/service-account.name]: Required value"]),
        (("Lease", {"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1,
         "preferredHolder": "a"}}),
         ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
          "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
          "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"]),
        (("Lease", {"spec": {"leaseDurationSeconds": 1, "leaseTransitions": 0,
         "preferredHolder": "a", "strategy": "OldestEmulationVersion"}}),
         []),
        (("ResourceQuota", {"spec": {"hard": {"a": "1", "cpu": "-1", "pods": "1.5"}, "scopes":
          ["x"]}, "status": {"hard": {"b": "1"}, "used": {"memory": "-1"}}}),
         ['spec.hard[a]: Invalid value: "a": must be a standard resource type or fully'
          " qualified",
          'spec.hard[a]: Invalid value: "a": must be a standard resource for quota',
          'spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0',
          'spec.hard[pods]: Invalid value: "1500m": must be an integer',
          'spec.scopes: Invalid value: ["x"]: unsupported scope',
          'status.hard[b]: Invalid value: "b": must be a standard resource type or fully'
          " qualified",
          'status.hard[b]: Invalid value: "b": must be a standard resource for quota',
          'status.used[memory]: Invalid value: "-1": must be greater than or equal to 0']),
        (("ResourceQuota", {"spec": {"hard": {"cpu": "x", "pods": 1}}}),
         ['spec.hard[cpu]: Invalid value: "x": quantities are numbers with an optional'
          " suffix, such as 500m, 2, 1.5Gi or 1e3"]),
        (("Node", {"status": {"capacity": {"cpu": "x"}, "allocatable": {"cpu": ""}}}),
         ['status.capacity.cpu: Invalid value: "x": quantities are numbers with an optional'
          " suffix, such as 500m, 2, 1.5Gi or 1e3",
          'status.allocatable.cpu: Invalid value: "": quantities are numbers with an optional'
          " suffix, such as 500m, 2, 1.5Gi or 1e3"]),
        (("LimitRange", {"spec": {"limits": [{"type": "Container", "max": {"cpu": "x"}}]}}),
         ['spec.limits[0].max[cpu]: Invalid value: "x": quantities are numbers with an'
          " optional suffix, such as 500m, 2, 1.5Gi or 1e3",
          'spec.limits[0].default[cpu]: Invalid value: "x": quantities are numbers with an'
          " optional suffix, such as 500m, 2, 1.5Gi or 1e3",
          'spec.limits[0].defaultRequest[cpu]: Invalid value: "x": quantities are numbers'
          " with an optional suffix, such as 500m, 2, 1.5Gi or 1e3"]),
        (("Node", {"metadata": {"annotations": {AVOIDED: "x"}}}),
         ["metadata.annotations.AvoidPods: Invalid value:"
          " \"scheduler.alpha.kubernetes.io/preferAvoidPods\": invalid character 'x' looking"
          " for beginning of value"]),
        (("Node", {"metadata": {"annotations": {AVOIDED: "null"}}}), []),
        (("Node", {"metadata": {"annotations": {AVOIDED: "[]"}}}),
         ["metadata.annotations.AvoidPods: Invalid value:"
          ' "scheduler.alpha.kubernetes.io/preferAvoidPods": Expected `object | null`, got'
          " `array`"]),
        (("Node", {"metadata": {"annotations": {AVOIDED: '{"preferAvoidPods": ["x"]}'}}}),
         ["metadata.annotations.AvoidPods: Invalid value:"
          ' "scheduler.alpha.kubernetes.io/preferAvoidPods": Expected `object | null`, got `str`'
          " - at `$.preferAvoidPods[0]`"]),
        (("Node", {"metadata": {"annotations": {AVOIDED: AVOIDED_PODS}}}),
         ["metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[0].PodSignature"
          ": Required value",
          "metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[1].PodSignature"
          ": Required value",
          "metadata.annotations.scheduler.alpha.kubernetes.io/preferAvoidPods[2].PodSignature"
          ".PodController.Controller: Invalid value: false: must point to a controller"]),
        (("Node", {"metadata": {"annotations": {TAINTS: "x"}}}),
         ['metadata.annotations: Invalid value: "scheduler.alpha.kubernetes.io/taints":'
          " invalid character 'x' looking for beginning of value"]),
        (("Node", {"metadata": {"annotations": {TAINTS: '[{"key": "a", "effect": "x"}]'}}}),
         ["metadata.annotations.scheduler.alpha.kubernetes.io/taints[0].effect: Unsupported"
          ' value: "x": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"']),
        (("Node", {"metadata": {"annotations": {TAINTS: '{"key": "a"}'}}}),
         ['metadata.annotations: Invalid value: "scheduler.alpha.kubernetes.io/taints": json:'
          " cannot unmarshal object into Go value of type []core.Taint"]),
        (("Node", {"metadata": {"annotations": {TAINTS: '[null, 1.5]'}}}),
         ['metadata.annotations: Invalid value: "scheduler.alpha.kubernetes.io/taints": json:'
          " cannot unmarshal number into Go value of type core.Taint"]),
        (("Node", {"metadata": {"annotations": {TAINTS: '[{"value": true}]'}}}),
         ['metadata.annotations: Invalid value: "scheduler.alpha.kubernetes.io/taints": json:'
          " cannot unmarshal bool into Go struct field Taint.Value of type string"]),
        (("Node", {"metadata": {"annotations": {TAINTS: 'null'}}}), []),
        (("Node", {"spec": {"taints": [{}, {"key": "a", "value": "-", "effect": "NoSchedule"},
          {"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}]}}),
         ['metadata.taints[0].key: Invalid value: "": name part must be non-empty',
          'metadata.taints[0].key: Invalid value: "": NAME PART',
          "metadata.taints[0].effect: Required value",
          'metadata.taints[1].value: Invalid value: "-": a valid label must be an empty'
          " string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
          " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345',"
          " regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
          "metadata.taints[2]: Duplicate value:"
          ' {"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null}: taints must be'
          " unique by key and effect pair"]),
        (("Node", {"status": {"capacity": {"cpu": "-1"}, "allocatable": {"x y": "1"},
         "declaredFeatures": ["B", "A", "A", "a", "A" * 254, "C/d", "D/", "E/1"]}}),
         ['status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
          'status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically',
          'status.declaredFeatures[2]: Duplicate value: "A"',
          'status.declaredFeatures[3]: Invalid value: "a": invalid feature name "a": must'
          " start with an UpperCamelCase segment, with subsequent segments separated by '/'"
          " (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric"
          " characters and slashes",
          'status.declaredFeatures[4]: Invalid value: "AA*254": list must be sorted'
          " alphabetically",
          'status.declaredFeatures[4]: Invalid value: "AA*254": invalid feature name'
          ' "AA*254": must be no more than 253 characters',
          'status.declaredFeatures[6]: Invalid value: "D/": invalid feature name "D/": must'
          " start with an UpperCamelCase segment, with subsequent segments separated by '/'"
          " (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric"
          " characters and slashes",
          'status.declaredFeatures[7]: Invalid value: "E/1": invalid feature name "E/1": must'
          " start with an UpperCamelCase segment, with subsequent segments separated by '/'"
          " (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric"
          " characters and slashes"]),
        (("Node", {"status": {"addresses": [{"type": "a", "address": "b"}] * 2}}), []),
        (("HorizontalPodAutoscaler", {"spec": {"scaleTargetRef": {"kind": "a", "name":
         "b"}}}),
         ["spec.maxReplicas: Required value: must be set and greater than 0",
          "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
          'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API'
          " group"]),
        (("HorizontalPodAutoscaler", {"spec": {"scaleTargetRef": {"kind":
         "ReplicationController", "name": "b"}, "maxReplicas": 1}}),
         []),
        (("HorizontalPodAutoscaler", {"spec": {"scaleTargetRef": {"kind": "a", "name": "b",
         "apiVersion": "c/d/e"}, "maxReplicas": 1, "minReplicas": 2}}),
         ["spec.maxReplicas: Invalid value: 1: must be greater than or equal to `minReplicas`",
          'spec.scaleTargetRef.apiVersion: Invalid value: "c/d/e": unexpected GroupVersion'
          " string: c/d/e"]),
        (("HorizontalPodAutoscaler", {"spec": {"scaleTargetRef": {"kind": "a", "name": "b",
         "apiVersion": "c/d"}, "maxReplicas": 1, "metrics": [{}, {"type": "x"}, {"type":
         "Pods"}, {"type": "Resource", "pods": {}}, {"type": "Resource", "resource": {"name":
         "cpu", "target": {}}}]}}),
         ["spec.metrics[0].type: Required value: must specify a metric source type",
          'spec.metrics[0].type: Unsupported value: "": supported values:'
          ' "ContainerResource", "External", "Object", "Pods", "Resource"',
          'spec.metrics[0].type: Unsupported value: "": supported values:'
          ' "ContainerResource", "External", "Object", "Pods", "Resource"',
          'spec.metrics[1].type: Unsupported value: "x": supported values:'
          ' "ContainerResource", "External", "Object", "Pods", "Resource"',
          'spec.metrics[1].type: Unsupported value: "x": supported values:'
          ' "ContainerResource", "External", "Object", "Pods", "Resource"',
          "spec.metrics[2].pods: Required value: must populate information for the given"
          " metric source",
          "spec.metrics[3].pods.metric.name: Required value: must specify a metric name",
          "spec.metrics[3].pods.target.type: Required value: must specify a metric target type",
          'spec.metrics[3].pods.target.type: Invalid value: "": must be either Utilization,'
          " Value, or AverageValue",
          "spec.metrics[3].pods.target.averageValue: Required value: must specify a positive"
          " target averageValue",
          "spec.metrics[3].resource: Required value: must populate information for the given"
          " metric source",
          "spec.metrics[4].resource.target.type: Required value: must specify a metric target"
          " type",
          'spec.metrics[4].resource.target.type: Invalid value: "": must be either'
          " Utilization, Value, or AverageValue",
          "spec.metrics[4].resource.target.averageUtilization: Required value: must set"
          " either a target raw value or a target utilization"]),
        (("FlowSchema", {}),
         ["spec.priorityLevelConfiguration.name: Required value: must reference a priority"
          " level"]),
        (("PriorityLevelConfiguration", {"spec": {"type": "Exempt"}}),
         ["spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is"
          " 'exempt'"]),
        (("PriorityLevelConfiguration", {"metadata": {"name": "exempt"}, "spec": {"type":
         "Limited"}}),
         ["spec.type: Invalid value: \"Limited\": must be 'Exempt' if and only if `name` is"
          " 'exempt'",
          "spec.limited: Required value: must not be empty when type is Limited",
          'spec: Invalid value: {"Type":"Limited","Limited":null,"Exempt":null}: spec of'
          " 'exempt' except the 'spec.exempt' field must equal the fixed value"]),
        (("PriorityLevelConfiguration", {"spec": {"type": "Limited", "limited":
         {"limitResponse": {"type": "Queue", "queuing": {"queueLengthLimit": 0, "queues": 0,
         "handSize": 0}}}}}),
         []),
        (("PriorityLevelConfiguration", {"spec": {"type": "Limited", "limited":
         {"limitResponse": {"type": "Queue", "queuing": {"queueLengthLimit": 1, "queues": 4,
         "handSize": 5}}}}}),
         ["spec.limited.limitResponse.queuing.handSize: Invalid value: 5: should not be"
          " greater than queues (4)"]),
        (("PriorityLevelConfiguration", {"spec": {"type": "Limited", "limited":
         {"limitResponse": {"type": "Queue", "queuing": {"queueLengthLimit": 1, "queues": 512,
          "handSize": 8}}}}}),
         ["spec.limited.limitResponse.queuing.handSize: Invalid value: 8: required entropy"
          " bits of deckSize 512 and handSize 8 should not be greater than 60"]),
        (("PriorityLevelConfiguration", {"metadata": {"annotations": {ROUND_TRIP: ""}},
         "spec": {"type": "x"}}),
         ["metadata.annotations: Forbidden: annotation"
          " 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares' is forbidden",
          'spec.type: Unsupported value: "x": supported values: "Exempt", "Limited"']),
        (("LocalSubjectAccessReview", {"spec": {"user": "a"}}),
         ["spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes"
          " or resourceAttributes must be specified",
          'metadata: Invalid value: {"name":"x","namespace":"d"}: must be empty except for'
          " namespace"]),
        (("LocalSubjectAccessReview", {"spec": {"resourceAttributes": {"namespace": "e"}}}),
         ['spec.user: Invalid value: "": at least one of user or group must be specified',
          'metadata: Invalid value: {"name":"x","namespace":"d"}: must be empty except for'
          " namespace",
          'spec.resourceAttributes.namespace: Invalid value: "e": must match'
          " metadata.namespace"]),
        (("LocalSubjectAccessReview", {"spec": {"user": "a", "resourceAttributes":
         {"namespace": "d"}, "nonResourceAttributes": {"path": "/a"}}}),
         ['spec.nonResourceAttributes: Invalid value: {"Path":"/a","Verb":""}: cannot be'
          " specified in combination with resourceAttributes",
          'metadata: Invalid value: {"name":"x","namespace":"d"}: must be empty except for'
          " namespace",
          'spec.nonResourceAttributes: Invalid value: {"Path":"/a","Verb":""}: disallowed on'
          " this kind of request"]),
        (("LocalSubjectAccessReview", {"metadata": {"name": "", "labels": {"a": "b"}}, "spec":
          {"groups": ["a"], "resourceAttributes": {"namespace": "d"}}}),
         ['metadata: Invalid value: {"name":"","namespace":"d","labels":{"a":"b"}}: must be'
          " empty except for namespace"]),
    ],
)  # fmt: skip
def test_other_kinds(row: Any, expected: list[str]) -> None:
    assert of_new(*row) == expected


def of_group(**spec: Any) -> list[str]:
    return of_new("PodGroup", {"spec": {"schedulingPolicy": {"basic": {}}} | spec})


def of_template(**template: Any) -> list[str]:
    usual = {"name": "t", "schedulingPolicy": {"basic": {}}}
    return of_new("Workload", {"spec": {"podGroupTemplates": [usual | template]}})


def claims(count: int) -> list[dict[str, str]]:
    return [{"name": f"c{index}", "resourceClaimName": "r"} for index in range(count)]


def annotated(key: str) -> list[str]:
    return of_metadata({"name": "x", "namespace": "d", "annotations": {key: ""}})


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (of_group, []),
        (lambda: of_new("PodGroup", {"spec": {}}),
         ['spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`']),
        (lambda: of_group(schedulingPolicy={"basic": {}, "gang": {"minCount": 1}}),
         ['spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one'
           " of: `basic`, `gang`"]),
        (lambda: of_group(schedulingPolicy={"gang": {}}),
         ["spec.schedulingPolicy.gang.minCount: Required value"]),
        (lambda: of_group(podGroupTemplateRef={}),
         ['spec.podGroupTemplateRef: Invalid value: "": must specify one of: `workload`']),
        (lambda: of_group(podGroupTemplateRef={"workload": {"podGroupTemplateName": "a"}}),
         ["spec.podGroupTemplateRef.workload.workloadName: Required value"]),
        (lambda: of_group(podGroupTemplateRef={"workload": {"workloadName": "w"}}),
         ["spec.podGroupTemplateRef.workload.podGroupTemplateName: Required value"]),
        (lambda: of_group(resourceClaims=claims(4)), []),
        (lambda: of_group(resourceClaims=claims(5)),
         ["spec.resourceClaims: Too many: 5: must have at most 4 items"]),
        (lambda: of_group(resourceClaims=[{"name": "c"}]),
         ['spec.resourceClaims[0]: Invalid value: "": must specify one of:'
           " `resourceClaimName`, `resourceClaimTemplateName`"]),
        (lambda: of_group(priority=1_000_000_000), []),
        (lambda: of_group(priority=1_000_000_001),
         ["spec.priority: Invalid value: 1000000001: must be less than or equal to 1000000000"]),
        (lambda: of_group(schedulingConstraints={"topology": [{}]}),
         ["spec.schedulingConstraints.topology[0].key: Required value"]),
        (lambda: of_group(schedulingConstraints={"topology": [{"key": "a"}, {"key": "b"}]}),
         ["spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item"]),
        (of_template, []),
        (lambda: of_template(name="A", schedulingPolicy={}),
         ['spec.podGroupTemplates[0].name: Invalid value: "A": LABEL',
          'spec.podGroupTemplates[0].schedulingPolicy: Invalid value: "": must specify one'
           " of: `basic`, `gang`"]),
        (lambda: of_template(name=""),
         ["spec.podGroupTemplates[0].name: Required value"]),
        (lambda: of_new("Workload", {"spec": {}}),
         ["spec.podGroupTemplates: Required value"]),
        (lambda: of_new("Workload", {"spec": {"podGroupTemplates": [{"name": f"t{i}",
          "schedulingPolicy": {"basic": {}}} for i in range(8)]}}), []),
        (lambda: of_new("Workload", {"spec": {"podGroupTemplates": [{"name": f"t{i}",
          "schedulingPolicy": {"basic": {}}} for i in range(9)]}}),
         ["spec.podGroupTemplates: Too many: 9: must have at most 8 items"]),
        (lambda: of_new("Workload", {"spec": {"podGroupTemplates": [{"name": "t",
          "schedulingPolicy": {"basic": {}}}] * 2, "controllerRef": {"apiGroup": "A", "kind": "",
          "name": "a/b"}}}),
         ['spec.controllerRef.apiGroup: Invalid value: "A": SUBDOMAIN',
          "spec.controllerRef.kind: Required value",
          "spec.controllerRef.name: Invalid value: \"a/b\": may not contain '/'",
          'spec.podGroupTemplates[1]: Duplicate value: {"name":"t"}']),
        (lambda: of_spec("Service", {"clusterIP": "None", "clusterIPs": ["None", "x"]}),
         ["spec.clusterIPs: Invalid value: [\"None\",\"x\"]: 'None' must be the first and"
           " only value",
          'spec.clusterIPs[1]: Invalid value: "x": must be a valid IP address, (e.g.'
           " 10.9.8.7 or 2001:db8::ffff)"]),
        (lambda: of_spec("Service", {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.2"]}),
         ['spec.clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`']),
        (lambda: of_spec("Service", {"clusterIPs": ["10.0.0.2"]}),
         ['spec.clusterIPs: Invalid value: ["10.0.0.2"]: must be empty when `clusterIP` is'
           " not specified"]),
        (lambda: of_spec("Service", {"clusterIP": "10.0.0.1"}), []),
        (lambda: of_changed_spec("Service", {"type": "ExternalName", "externalName": "a",
          "clusterIPs": ["x"]}, {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}),
         ["spec.clusterIPs: Forbidden: may not be set for ExternalName services"]),
        (lambda: of_changed_spec("Service", {"clusterIP": "10.0.0.1", "clusterIPs":
          ["10.0.0.1"]}, {"type": "ExternalName", "externalName": "a"}), []),
        (lambda: of_changed_spec("Service", {"type": "ClusterIP"}, {"type": "ExternalName",
          "externalName": "a", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}), []),
        (lambda: of_metadata({"name": "x", "namespace": "d", "annotations": {"b c": "", "a c":
          ""}}),
         ['metadata.annotations: Invalid value: "a c": NAME PART',
          'metadata.annotations: Invalid value: "b c": NAME PART']),
        (lambda: annotated("é" * 131_072)[1:],
         ['metadata.annotations: Invalid value: "éé*131072": NAME PART']),
        (lambda: annotated("é" * 131_072 + "a")[-1:],
         ["metadata.annotations: Too long: may not be more than 262144 bytes"]),
        (lambda: of_new("IngressClass", {"spec": {"controller": "A/b"}}),
         ['spec.controller: Invalid value: "A": SUBDOMAIN']),
        (lambda: of_new("IngressClass", {"spec": {"controller": "a/b c"}}),
         ['spec.controller: Invalid value: "b c": Invalid path (regex used for validation'
           " is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"]),
    ],
)  # fmt: skip
def test_services_groups_and_annotations(call: Any, expected: list[str]) -> None:
    assert call() == expected
