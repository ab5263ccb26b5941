"""The errors of attachments, limits, events and others: a row is a part, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import built_in
from podwright.apimachinery.schema.tests import pod_errors as p
from podwright.apimachinery.schema.tests.kind_errors import (
    BASES,
    ONCE,
    of_new,
    of_raw,
    of_spec,
    of_status,
    of_update,
)
from podwright.apimachinery.schema.tests.test_validation_devices import (
    ONE_TERM,
    of_device,
    of_slice,
)

Document = dict[str, Any]
EVENTS = "events.k8s.io/v1"
INLINE = {"csi": {"driver": "d", "volumeHandle": "h"}, "accessModes": ["ReadWriteOnce"]}
NEW = {
    "eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal", "reason": "r", "action": "a",
    "reportingController": "a.b/c", "reportingInstance": "i", "regarding": {"namespace": "d"},
}  # fmt: skip


def attachment(source: Document, **others: Any) -> list[str]:
    spec = {"attacher": "a.b", "nodeName": "n", "source": source}
    return of_new("VolumeAttachment", {"spec": spec} | others)


def ev(api_version: str, event: Document, old: Document | None = None) -> list[str]:
    kind = built_in().find(api_version, "Event")
    assert kind is not None
    usual = {"metadata": {"name": "e", "namespace": "d"}}
    if old is None:
        problems = kind.validation_problems(usual | event)
    else:
        problems = kind.update_problems(usual | event, usual | old)
    return [f"{path}: {p.shown(text)}" for path, text, _ in problems]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: attachment({}),
         ["spec.source: Required value: must specify exactly one of inlineVolumeSpec and"
           " persistentVolumeName"]),
        (lambda: attachment({"persistentVolumeName": "a", "inlineVolumeSpec": INLINE}),
         ["spec.source: Forbidden: must specify exactly one of inlineVolumeSpec and"
           " persistentVolumeName"]),
        (lambda: attachment({"persistentVolumeName": ""}),
         ["spec.source.persistentVolumeName: Required value: must specify non empty"
           " persistentVolumeName",
          'spec.source.persistentVolumeName: Invalid value: "": SUBDOMAIN']),
        (lambda: attachment({"persistentVolumeName": "A_"}),
         ['spec.source.persistentVolumeName: Invalid value: "A_": SUBDOMAIN']),
        (lambda: attachment({"persistentVolumeName": "a"}), []),
        (lambda: attachment({"inlineVolumeSpec": INLINE}), []),
        (lambda: attachment({"inlineVolumeSpec": INLINE | {"persistentVolumeReclaimPolicy":
          "Retain", "volumeMode": "Filesystem", "capacity": {}, "storageClassName": ""}}), []),
        (lambda: attachment({"inlineVolumeSpec": {"claimRef": {}, "capacity": {"storage":
          "1"}, "persistentVolumeReclaimPolicy": "Delete", "nodeAffinity": {}, "hostPath": {
          "path": "/a"}, "storageClassName": "s", "volumeMode": "Block"}}),
         ["spec.source.inlineVolumeSpec.claimRef: Forbidden: may not be specified in the"
           " context of inline volumes",
          "spec.source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the"
           " context of inline volumes",
          "spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the"
           " context of inline volumes",
          "spec.source.inlineVolumeSpec.accessModes: Required value",
          "spec.source.inlineVolumeSpec.persistentVolumeReclaimPolicy: Forbidden: may only"
           " be Retain in the context of inline volumes",
          "spec.source.inlineVolumeSpec.nodeAffinity: Forbidden: may not be specified in"
           " the context of inline volumes",
          "spec.source.inlineVolumeSpec.storageClassName: Forbidden: may not be specified"
           " in the context of inline volumes",
          "spec.source.inlineVolumeSpec.volumeMode: Forbidden: may not specify volumeMode"
           " other than Filesystem in the context of inline volumes"]),
        (lambda: attachment({"persistentVolumeName": "a"}, status={"attached": True,
          "attachmentMetadata": {"a": "b" * (256 * 1024 - 1)}, "attachError": {"message":
          "é" * 512, "errorCode": 0}, "detachError": {"errorCode": 2 ** 31 - 1}}), []),
        (lambda: attachment({"persistentVolumeName": "a"}, status={"attached": True,
          "attachmentMetadata": {"a": "b" * (256 * 1024)}, "attachError": {"message":
          "é" * 512 + "x", "errorCode": -1}, "detachError": {"message": "m" * 1025}}),
         ["status.attachmentMetadata: Too long: may not be more than 262144 bytes",
          "status.attachError.message: Too long: may not be more than 262144 bytes",
          "status.attachError.errorCode: Invalid value: -1: must be between 0 and"
           " 2147483647, inclusive",
          "status.detachError.message: Too long: may not be more than 262144 bytes"]),
        (lambda: attachment({"persistentVolumeName": "a"}, status={"attached": True,
          "attachmentMetadata": {"é": "b" * (256 * 1024 - 1)}}),
         ["status.attachmentMetadata: Too long: may not be more than 262144 bytes"]),
        (lambda: of_update("CSIDriver", {"spec": {"attachRequired": False,
          "volumeLifecycleModes": ["x"]}}, {"spec": {"attachRequired": True}}),
         ['spec.volumeLifecycleModes: Unsupported value: "x": supported values:'
           ' "Persistent", "Ephemeral"',
          "spec.attachedRequired: Invalid value: false: field is immutable",
          'spec.volumeLifecycleModes: Invalid value: ["x"]: field is immutable']),
        (lambda: of_new("CSIDriver", {"spec": {"serviceAccountTokenInSecrets": True,
          "tokenRequests": [{"expirationSeconds": 1}], "volumeLifecycleModes": ["x"]}}),
         ["spec.tokenRequests[0].expirationSeconds: Invalid value: 1: may not specify a duration"
           " less than 10 minutes",
          'spec.volumeLifecycleModes: Unsupported value: "x": supported values:'
           ' "Persistent", "Ephemeral"']),
        (lambda: of_new("CSIDriver", {"spec": {"serviceAccountTokenInSecrets": False}}),
         ["spec.serviceAccountTokenInSecrets: Invalid value: false: serviceAccountTokenInSecrets"
           " is set but no tokenRequests are specified"]),
        (lambda: of_update("VolumeAttributesClass", {"driverName": "", "parameters": {"a": "b"}},
          {"driverName": "a", "parameters": {"a": "b"}}),
         ["driverName: Forbidden: updates to driverName are forbidden.",
          "driverName: Required value"]),
        (lambda: of_update("CSIDriver", {"spec": {"attachRequired": False, "podInfoOnMount":
          True}}, {"spec": {"attachRequired": False}}), []),
        (lambda: of_new("PersistentVolume", {"metadata": {"annotations": {
          "volume.beta.kubernetes.io/mount-options": "ro"}}, "spec": BASES[
          "PersistentVolume"]}),
         ["metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not"
           " specify mount options for this volume type"]),
        (lambda: of_new("PersistentVolume", {"metadata": {"annotations": {
          "volume.beta.kubernetes.io/mount-options": "ro"}}, "spec": {"accessModes": ONCE,
          "capacity": {"storage": "1Gi"}, "nfs": {"server": "a", "path": "/b"}}}), []),
    ],
)  # fmt: skip
def test_attachments_and_volumes(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_new("LimitRange", {"spec": {"limits": [{"type": "Pod", "default": {"cpu":
          "1"}, "defaultRequest": {"cpu": "1"}, "max": {"cpu": "2"}}]}}),
         ["spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
          "spec.limits[0].defaultRequest: Forbidden: may not be specified when `type` is"
           " 'Pod'"]),
        (lambda: of_new("LimitRange", {"spec": {"limits": [{"type": "Pod", "default": {},
          "defaultRequest": {}}]}}), []),
        (lambda: of_new("LimitRange", {"spec": {"limits": [{"type": "Container", "default": {
          "a.b/c": "1", "cpu": "2"}, "defaultRequest": {"a.b/c": "2", "cpu": "1"}}]}}),
         ['spec.limits[0].defaultRequest[a.b/c]: Invalid value: "2": default request value'
           " 2 is greater than default limit value 1",
          'spec.limits[0].defaultRequest[a.b/c]: Invalid value: "2": default value 1 must'
           " equal to defaultRequest value 2 in a.b/c"]),
        (lambda: of_new("LimitRange", {"spec": {"limits": [{"type": "Container", "default": {
          "a.b/c": "1"}, "defaultRequest": {"a.b/c": "1"}}]}}), []),
        (lambda: of_new("Secret", {"data": {"a": "A" * 1398104}}),
         ["data: Too long: may not be more than 1048576 bytes"]),
        (lambda: of_new("Secret", {"data": {"a": "A" * 1398102 + "=="}}), []),
        (lambda: of_new("Secret", {"data": {"a": "A" * 1398102 + "==", "b": "QQ=="}}),
         ["data: Too long: may not be more than 1048576 bytes"]),
        (lambda: of_new("Secret", {"stringData": {"a": "é" * 524288}, "data": {"a": "QQ=="}}),
         []),
        (lambda: of_new("Secret", {"stringData": {"a": "é" * 524288, "b": "x"}}),
         ["data: Too long: may not be more than 1048576 bytes"]),
    ],
)  # fmt: skip
def test_limits_and_sizes(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_new("Job", {"metadata": {"uid": "u"}, "spec": BASES["Job"] | {"selector":
          {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}}}),
         ["spec.template.metadata.labels[controller-uid]: Required value: must be 'u'",
          "spec.template.metadata.labels[job-name]: Required value: must be 'x'",
          "spec.template.metadata.labels[batch.kubernetes.io/controller-uid]: Required"
           " value: must be 'u'",
          "spec.template.metadata.labels[batch.kubernetes.io/job-name]: Required value:"
           " must be 'x'",
          'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not'
           " match template `labels`"]),
        (lambda: of_new("Job", {"metadata": {"uid": "u"}, "spec": BASES["Job"] | {"selector":
          {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}, "template": BASES[
          "Job"]["template"] | {"metadata": {"labels": {"controller-uid": "u", "job-name":
          "x", "batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name":
          "x"}}}}}), []),
        (lambda: of_new("Job", {"metadata": {"uid": "u"}, "spec": BASES["Job"] | {"selector":
          {"matchLabels": {"z": "u"}}, "template": BASES["Job"]["template"] | {"metadata": {
          "labels": {"z": "u", "controller-uid": "v", "job-name": "x",
          "batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name":
          "x"}}}}}),
         ["spec.template.metadata.labels[controller-uid]: Invalid value:"
           ' {"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"x",'
           "\"controller-uid\":\"v\",\"job-name\":\"x\",\"z\":\"u\"}: must be 'u'",
          'spec.selector: Invalid value: {"matchLabels":{"z":"u"}}: `selector` not'
           " auto-generated"]),
        (lambda: of_new("Job", {"metadata": {"uid": "u"}, "spec": BASES["Job"] | {
          "manualSelector": True, "selector": {"matchLabels": {"a": "b"}}}}), []),
        (lambda: of_spec("Job", {"completionMode": "Indexed", "parallelism": 2}),
         ["spec.completions: Required value: when completion mode is Indexed"]),
        (lambda: of_spec("Job", {"completionMode": "Indexed", "completions": 100000,
          "successPolicy": {"rules": [{"succeededIndexes": ",".join(str(i) for i in range(
          10000, 99999, 2))[:6 * 10923 - 1]}]}})[:1],
         ["spec.successPolicy.rules[0].succeededIndexes: Too long: may not be more than"
           " 65536 bytes"]),
        (lambda: of_spec("Job", {"completionMode": "Indexed", "completions": 100000,
          "successPolicy": {"rules": [{"succeededIndexes": ",".join(str(i) for i in range(
          10000, 99999, 2))[:6 * 10922 - 1]}]}}), []),
    ],
)  # fmt: skip
def test_labels_of_jobs(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_new("FlowSchema", {"spec": {"priorityLevelConfiguration": {"name": "a"},
          "matchingPrecedence": 1, "rules": [{"subjects": [{"kind": "ServiceAccount",
          "serviceAccount": {"name": "A_", "namespace": "b"}}, {"kind": "ServiceAccount",
          "serviceAccount": {"name": "*", "namespace": "b"}}], "nonResourceRules": [{"verbs":
          ["*"], "nonResourceURLs": ["*"]}]}]}}),
         ["spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may"
           " have matchingPrecedence 1",
          'spec.rules[0].subjects[0].serviceAccount.name: Invalid value: "A_": SUBDOMAIN']),
        (lambda: of_new("PriorityLevelConfiguration", {"spec": {"type": "Limited", "limited":
          {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Queue", "queuing": {
          "queues": -1, "handSize": -1, "queueLengthLimit": -1}}}}}),
         ["spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be"
           " positive",
          "spec.limited.limitResponse.queuing.queues: Invalid value: -1: must be positive",
          "spec.limited.limitResponse.queuing.handSize: Invalid value: -1: must be positive"]),
        (lambda: of_new("HorizontalPodAutoscaler", {"spec": {"maxReplicas": 2,
          "scaleTargetRef": {"kind": "a", "name": "b"}, "metrics": [{"type": "Resource",
          "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization":
          1}}, "pods": {"metric": {"name": "a"}, "target": {"type": "AverageValue",
          "averageValue": "1"}}}]}}),
         ['spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API'
           " group",
          "spec.metrics[0].pods: Forbidden: must populate the given metric source only"]),
        (lambda: of_new("Workload", {"spec": {"podGroupTemplates": [{"name": "a",
          "schedulingPolicy": {}}, {"name": "a", "schedulingPolicy": {"basic": {}, "gang": {
          "minCount": 1}}}]}}),
         ['spec.podGroupTemplates[0].schedulingPolicy: Invalid value: "": must specify one'
           " of: `basic`, `gang`",
          'spec.podGroupTemplates[1]: Duplicate value: {"name":"a"}',
          'spec.podGroupTemplates[1].schedulingPolicy: Invalid value: "{basic, gang}": must'
           " specify exactly one of: `basic`, `gang`"]),
        (lambda: of_new("Workload", {"spec": {"podGroupTemplates": [{"name": f'a{i}',
          "schedulingPolicy": {"basic": {}}} for i in range(9)]}}),
         ["spec.podGroupTemplates: Too many: 9: must have at most 8 items"]),
        (lambda: of_new("Workload", {"spec": {"podGroupTemplates": [{"name": f'a{i}',
          "schedulingPolicy": {"basic": {}}} for i in range(8)]}}), []),
    ],
)  # fmt: skip
def test_levels_metrics_and_workloads(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: p.of_container({"lifecycle": {"stopSignal": "SIGTERM"}}),
         ["lifecycle.stopSignal: Forbidden: may not be set for containers with empty"
           " `spec.os.name`"]),
        (lambda: p.of_spec({"hostUsers": False, "containers": [{"name": "c", "image": "a",
          "volumeDevices": [{"name": "p", "devicePath": "/d"}]}], "volumes": [{"name": "p",
          "persistentVolumeClaim": {"claimName": "p"}}]}),
         ["containers[0].volumeDevices: Forbidden: when `hostUsers` is false"]),
        (lambda: p.of_container({"resources": {"limits": {"a_b/c": "1", "requests.a/b":
          "1"}}}),
         ['resources.limits[a_b/c]: Invalid value: "a_b/c": prefix part SUBDOMAIN',
          "resources.limits[a_b/c]: Invalid value: \"a_b/c\": doesn't follow extended"
           " resource name standard",
          "resources.limits[requests.a/b]: Invalid value: \"requests.a/b\": doesn't follow"
           " extended resource name standard",
          'resources.requests[a_b/c]: Invalid value: "a_b/c": prefix part SUBDOMAIN',
          "resources.requests[a_b/c]: Invalid value: \"a_b/c\": doesn't follow extended"
           " resource name standard",
          "resources.requests[requests.a/b]: Invalid value: \"requests.a/b\": doesn't"
           " follow extended resource name standard"]),
        (lambda: p.of_spec({"overhead": {"cpu": "x", "memory": "-1"}}),
         ['overhead.limits[cpu]: Invalid value: "x": quantities are numbers with an'
           " optional suffix, such as 500m, 2, 1.5Gi or 1e3",
          'overhead.limits[memory]: Invalid value: "-1": must be greater than or equal to 0']),
        (lambda: p.of_container({"resources": {"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"},
          "requests": {"hugepages-2Mi": "3Mi"}}}),
         ['resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive'
           " integer multiple of hugepages-2Mi",
          'resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive'
           " integer multiple of hugepages-2Mi"]),
        (lambda: p.of_container({"resources": {"limits": {"hugepages-x": "2Mi",
          "hugepages-1500m": "3", "hugepages-0": "2", "cpu": "1"}}}),
         ['resources.limits[hugepages-0]: Invalid value: "2": 2 is not positive integer'
           " multiple of hugepages-0",
          'resources.limits[hugepages-1500m]: Invalid value: "3": 3 is not positive integer'
           " multiple of hugepages-1500m",
          'resources.limits[hugepages-x]: Invalid value: "2Mi": 2Mi is not positive integer'
           " multiple of hugepages-x",
          'resources.requests[hugepages-0]: Invalid value: "2": 2 is not positive integer'
           " multiple of hugepages-0",
          'resources.requests[hugepages-1500m]: Invalid value: "3": 3 is not positive'
           " integer multiple of hugepages-1500m",
          'resources.requests[hugepages-x]: Invalid value: "2Mi": 2Mi is not positive'
           " integer multiple of hugepages-x"]),
        (lambda: p.of_container({"resources": {"claims": [{"name": "a"}, {"name": "a"}, {
          "name": "a", "request": "r"}, {"name": "b", "request": "r"}, {"name": "b",
          "request": "r"}, {"name": "b", "request": "s"}, {"name": "b"}, {"name": ""}, {
          "name": "c", "request": "A_"}]}}, {"resourceClaims": [{"name": "a",
          "resourceClaimName": "a"}, {"name": "b", "resourceClaimName": "a"}]}),
         ['resources.claims[1]: Duplicate value: "a"',
          'resources.claims[2]: Duplicate value: "a"',
          'resources.claims[4]: Duplicate value: "b/r"',
          'resources.claims[6]: Duplicate value: "b"',
          "resources.claims[7]: Required value",
          'resources.claims[8].request: Invalid value: "A_": LABEL',
          'resources.claims[8]: Not found: "c": must be one of the names in'
           " pod.spec.resourceClaims: a, b"]),
        (lambda: p.of_spec({"affinity": {"podAffinity": {
          "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z",
          "matchLabelKeys": ["a", "k"], "labelSelector": {"matchLabels": {"a": "b"},
          "matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "k", "operator":
          "Exists"}, {"key": "k", "operator": "Exists"}]}}]}}}),
         ["affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][0]:"
           ' Invalid value: "a": exists in both matchLabelKeys and labelSelector',
          "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][1]:"
           ' Invalid value: "k": exists in both matchLabelKeys and labelSelector']),
        (lambda: of_update("Pod", {"spec": {"containers": [{"name": "c", "image": "a"}],
          "terminationGracePeriodSeconds": 1}}, {"spec": {"containers": [{"name": "c",
          "image": "a"}], "terminationGracePeriodSeconds": -1}}), []),
        (lambda: [x[:90] for x in of_update("Pod", {"spec": {"containers": [{"name": "c",
          "image": "a"}], "terminationGracePeriodSeconds": 2}}, {"spec": {"containers": [{
          "name": "c", "image": "a"}], "terminationGracePeriodSeconds": -1}})],
         ["spec: Forbidden: pod updates may not change fields other than"
           " `spec.containers[*].image`,`"]),
        (lambda: [x[:90] for x in of_update("Pod", {"spec": {"containers": [{"name": "c",
          "image": "a"}], "terminationGracePeriodSeconds": 1}}, {"spec": {"containers": [{
          "name": "c", "image": "a"}], "terminationGracePeriodSeconds": 0}})],
         ["spec: Forbidden: pod updates may not change fields other than"
           " `spec.containers[*].image`,`"]),
        (lambda: p.of_volume("secret", {"secretName": "s", "items": [{"key": "a", "path":
          "..a"}, {"key": "a", "path": "../a"}, {"key": "a", "path": "a..b"}]}),
         [".secret.items[0].path: Invalid value: \"..a\": must not start with '..'",
          ".secret.items[1].path: Invalid value: \"../a\": must not contain '..'"]),
    ],
)  # fmt: skip
def test_parts_of_pods(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: ev("v1", {"involvedObject": {"namespace": "e"}}),
         ['involvedObject.namespace: Invalid value: "e": does not match event.namespace']),
        (lambda: ev("v1", {"involvedObject": {}}),
         ['involvedObject.namespace: Invalid value: "": does not match event.namespace']),
        (lambda: ev("v1", {"metadata": {"name": "e", "namespace": "default"},
          "involvedObject": {}}), []),
        (lambda: ev("v1", NEW | {"involvedObject": {}, "reportingComponent": "A_"}),
         ['involvedObject.namespace: Invalid value: "": does not match event.namespace',
          'reportingComponent: Invalid value: "A_": NAME PART']),
        (lambda: ev("v1", NEW | {"metadata": {"name": "e", "namespace": "kube-system"},
          "involvedObject": {}, "reportingComponent": "a.b/c"}), []),
        (lambda: ev("v1", {"eventTime": NEW["eventTime"], "involvedObject": {"namespace":
          "d"}}),
         ["reportingComponent: Required value",
          'reportingComponent: Invalid value: "": name part must be non-empty',
          'reportingComponent: Invalid value: "": NAME PART',
          "reportingInstance: Required value",
          "action: Required value",
          "reason: Required value"]),
        (lambda: ev("v1", NEW | {"involvedObject": {"namespace": "d"}, "reportingComponent":
          "a.b/c", "reportingInstance": "é" * 64 + "x", "action": "a" * 129, "reason":
          "a" * 128, "message": "m" * 1025}),
         ['reportingInstance: Invalid value: "": can have at most 128 characters',
          'action: Invalid value: "": can have at most 128 characters',
          'message: Invalid value: "": can have at most 1024 characters']),
        (lambda: ev("v1", NEW | {"involvedObject": {"namespace": "d"}, "reportingComponent":
          "a.b/c", "reportingInstance": "é" * 64, "action": "a" * 128, "message":
          "m" * 1024}), []),
        (lambda: ev(EVENTS, NEW), []),
        (lambda: ev(EVENTS, NEW | {"series": {"count": 1}}),
         ['series.count: Invalid value: "": should be at least 2',
          "series.lastObservedTime: Required value"]),
        (lambda: ev(EVENTS, NEW | {"type": "Odd", "deprecatedFirstTimestamp":
          "2026-01-01T00:00:00Z", "deprecatedLastTimestamp": "2026-01-01T00:00:00Z",
          "deprecatedCount": 2, "deprecatedSource": {"host": "h"}}),
         ['type: Invalid value: "": has invalid value: Odd',
          'firstTimestamp: Invalid value: "": needs to be unset',
          'lastTimestamp: Invalid value: "": needs to be unset',
          'count: Invalid value: "": needs to be unset',
          'source: Invalid value: "": needs to be unset']),
        (lambda: ev(EVENTS, NEW | {"deprecatedCount": 0, "deprecatedSource": {"host": ""},
          "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}}), []),
        (lambda: ev(EVENTS, {"type": "Normal", "regarding": {"namespace": "d"}}),
         ["eventTime: Required value"]),
        (lambda: ev(EVENTS, NEW | {"series": {"count": 1}, "reason": "s", "regarding": {
          "namespace": "d", "name": "x"}, "deprecatedCount": 3, "eventTime":
          "2026-01-01T00:00:01.000000Z", "note": "n", "related": {"name": "z"}, "action": "b",
          "reportingInstance": "j", "reportingController": "a.b/d", "type": "Warning"}, NEW |
          {"series": {"count": 1, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}}),
         ['series.count: Invalid value: "": should be at least 2',
          "series.lastObservedTime: Required value",
          'involvedObject: Invalid value: {"Kind":"","Namespace":"d","Name":"x","UID":"",'
           '"APIVersion":"","ResourceVersion":"","FieldPath":""}: field is immutable',
          'reason: Invalid value: "s": field is immutable',
          'message: Invalid value: "n": field is immutable',
          "count: Invalid value: 3: field is immutable",
          'reason: Invalid value: "s": field is immutable',
          'type: Invalid value: "Warning": field is immutable',
          'eventTime: Invalid value: "2026-01-01T00:00:01.000000Z": field is immutable',
          'action: Invalid value: "b": field is immutable',
          'related: Invalid value: {"Kind":"","Namespace":"","Name":"z","UID":"",'
           '"APIVersion":"","ResourceVersion":"","FieldPath":""}: field is immutable',
          'reportingController: Invalid value: "a.b/d": field is immutable',
          'reportingInstance: Invalid value: "j": field is immutable']),
        (lambda: ev(EVENTS, NEW | {"series": {"count": 1}}, NEW | {"series": {"count": 1}}), []),
        (lambda: ev(EVENTS, NEW, NEW | {"series": {"count": 1}}), []),
    ],
)  # fmt: skip
def test_events(call: Any, expected: list[str]) -> None:
    assert call() == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_slice(nodeName=None, perDeviceNodeSelection=True, devices=[{"name": "d",
          "nodeSelector": {"nodeSelectorTerms": [ONE_TERM]}}, {"name": "e", "nodeSelector": {
          "nodeSelectorTerms": []}}, {"name": "f", "nodeSelector": {"nodeSelectorTerms": [
          ONE_TERM]}, "nodeName": "n"}, {"name": "g", "allNodes": True}, {"name": "h",
          "allNodes": False}]),
         ["spec.devices[1].nodeSelector.nodeSelectorTerms: Required value: must have at"
           " least one node selector term",
          'spec.devices[2]: Invalid value: "{`nodeName`, `nodeSelector`}": exactly one of'
           " `nodeName`, `nodeSelector`, or `allNodes` is required when"
           " `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
          "spec.devices[4].allNodes: Invalid value: false: must be either unset or set to"
           " true",
          "spec.devices[4]: Required value: exactly one of `nodeName`, `nodeSelector`, or"
           " `allNodes` is required when `perDeviceNodeSelection` is set to true in the"
           " ResourceSlice spec"]),
        (lambda: of_device(taints=[{"key": f'a{i}', "effect": "None"} for i in range(17)]),
         ["taints: Too many: 17: must have at most 16 items"]),
        (lambda: of_device(attributes={"a": {"strings": ["x" * 65, "x" * 64]}}),
         ["attributes[a].strings[0]: Too long: may not be more than 64 bytes"]),
        (lambda: of_device(consumesCounters=[{"counterSet": "s", "counters": {f'c{i}': {
          "value": "1"} for i in range(33)}}]),
         ["consumesCounters[0].counters: Too many: 33: must have at most 32 items"]),
    ],
)  # fmt: skip
def test_devices_of_slices(call: Any, expected: list[str]) -> None:
    assert call() == expected


HOOK: Document = {
    "name": "a.b.c", "sideEffects": "None", "admissionReviewVersions": ["v1"],
    "clientConfig": {"service": {"name": "s", "namespace": "n"}},
}  # fmt: skip
MATCHED = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}


def hooks(*changes: Document) -> Document:
    return {"webhooks": [HOOK | each for each in changes]}


def of_resources(*resources: str) -> list[str]:
    rules = [MATCHED | {"resources": list(resources)}]
    return of_new("ValidatingWebhookConfiguration", hooks({"rules": rules}))


def of_policy(**spec: Any) -> list[str]:
    usual = {
        "matchConstraints": {"resourceRules": [MATCHED]},
        "validations": [{"expression": "true"}],
    }
    return of_new("ValidatingAdmissionPolicy", {"spec": usual | spec})


def api_service(name: str = "v1.a.b", **spec: Any) -> list[str]:
    usual = {
        "group": "a.b", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
        "service": {"name": "s", "namespace": "n", "port": 443},
    }  # fmt: skip
    return of_new("APIService", {"metadata": {"name": name}, "spec": usual | spec})


def review(**attributes: Any) -> list[str]:
    return of_new(
        "SubjectAccessReview",
        {"metadata": {"name": ""}, "spec": {"user": "u", "resourceAttributes": attributes}},
    )


def migrated(*conditions: tuple[str, str], **others: Any) -> Document:
    usual = {"reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    listed = [usual | {"type": kind, "status": status} for kind, status in conditions]
    return {"conditions": listed} | others


def of_limits(kind: str, **amounts: Document) -> list[str]:
    return of_new("LimitRange", {"spec": {"limits": [{"type": kind} | amounts]}})


def of_flow(rule: Document, **spec: Any) -> list[str]:
    subjects = {"subjects": [{"kind": "User", "user": {"name": "u"}}]}
    usual = {"priorityLevelConfiguration": {"name": "l"}, "rules": [subjects | rule]}
    return of_new("FlowSchema", {"spec": usual | spec})


def of_level(**spec: Any) -> list[str]:
    return of_raw("PriorityLevelConfiguration", {"spec": {"type": "Limited"} | spec})


def queued(**queuing: int) -> list[str]:
    response = {"type": "Queue", "queuing": queuing}
    return of_level(limited={"limitResponse": response})


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: of_update("ValidatingWebhookConfiguration", hooks({}, {}), hooks({}, {"name":
          "d.e.f"})),
         ['webhooks[1].name: Duplicate value: "a.b.c"']),
        (lambda: of_update("ValidatingWebhookConfiguration", hooks({}, {}), hooks({}, {})), []),
        (lambda: of_new("ValidatingWebhookConfiguration", hooks({"admissionReviewVersions":
          ["V", "v1"]})),
         ['webhooks[0].admissionReviewVersions[0]: Invalid value: "V": a DNS-1035 label'
           " must consist of lower case alphanumeric characters or '-', start with an"
           " alphabetic character, and end with an alphanumeric character (e.g. 'my-name', "
           " or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"]),
        (lambda: of_new("ValidatingWebhookConfiguration", hooks({"clientConfig": {"service":
          {"name": "s", "namespace": "n", "path": "/"}}})), []),
        (lambda: of_resources("pods", "nodes/*", "nodes/log"),
         ["webhooks[0].rules[0].resources[2]: Invalid value: \"nodes/log\": if 'nodes/*' is"
           " present, must not specify nodes/log"]),
        (lambda: of_resources("", "nodes/*", "nodes/log"),
         ["webhooks[0].rules[0].resources[0]: Required value",
          "webhooks[0].rules[0].resources[2]: Invalid value: \"nodes/log\": if 'nodes/*' is"
           " present, must not specify nodes/log"]),
        (lambda: of_resources("*"), []),
        (lambda: of_policy(validations=[], auditAnnotations=[{"key": "k", "valueExpression":
          "'a'"}]), []),
        (lambda: of_policy(validations=[]),
         ["spec.validations: Required value: validations or auditAnnotations must contain"
           " at least one item",
          "spec.auditAnnotations: Required value: validations or auditAnnotations must"
           " contain at least one item"]),
        (lambda: of_policy(auditAnnotations=[{"key": "-", "valueExpression": "'a'"}]),
         ['spec.auditAnnotations[0].key: Invalid value: "x/-": NAME PART']),
        (lambda: [line[:60] for line in of_policy(auditAnnotations=[{"key": f"k{i}",
          "valueExpression": "'a'"} for i in range(21)])],
         ['spec.auditAnnotations: Invalid value: [{"Key":"k0","ValueExp']),
        (lambda: of_policy(auditAnnotations=[{"key": f"k{i}", "valueExpression": "'a'"} for i in
          range(20)]), []),
        (lambda: of_policy(paramKind={"apiVersion": "A/v1", "kind": "K"}),
         ['spec.paramKind.apiVersion: Invalid value: "A": SUBDOMAIN']),
        (lambda: of_policy(paramKind={"apiVersion": "a/V", "kind": "K"}),
         ['spec.paramKind.apiVersion: Invalid value: "V": a DNS-1035 label must consist of'
           " lower case alphanumeric characters or '-', start with an alphabetic character,"
           " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex"
           " used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"]),
        (lambda: of_policy(paramKind={"apiVersion": "v1", "kind": "K"}), []),
        (lambda: of_policy(variables=[{"name": "a b", "expression": "1"}, {"name": "in",
          "expression": "1"}, {"name": "a", "expression": "1"}]),
         ['spec.variables[0].name: Invalid value: "a b": must be a valid CEL identifier',
          'spec.variables[1].name: Invalid value: "in": must be a valid CEL identifier']),
        (lambda: of_new("ValidatingAdmissionPolicyBinding", {"spec": {"policyName": "p",
          "validationActions": ["Deny", "Warn"]}}),
         ['spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both'
           " Deny and Warn (repeating the same validation failure information in the API"
           " response and headers serves no purpose)"]),
        (lambda: of_new("ValidatingAdmissionPolicyBinding", {"spec": {"policyName": "p",
          "validationActions": ["Deny", "Audit"]}}), []),
        (api_service, []),
        (lambda: api_service(""), []),
        (lambda: api_service("v1.b.a"),
         ['metadata.name: Invalid value: "v1.b.a": must be `spec.version+"."+spec.group`:'
           ' "v1.a.b"']),
        (lambda: api_service("V1.a.b", version="V1"),
         ['spec.version: Invalid value: "V1": a DNS-1035 label must consist of lower case'
           " alphanumeric characters or '-', start with an alphabetic character, and end"
           " with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for"
           " validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"]),
        (lambda: api_service(insecureSkipTLSVerify=True), []),
        (lambda: api_service(insecureSkipTLSVerify=True, caBundle="YQ=="),
         ["spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is"
           " present"]),
        (lambda: of_status("StorageVersionMigration", {"resourceVersion": "x"}),
         ['status.resourceVersion: Invalid value: "x": resource version is not well formed: x']),
        (lambda: of_status("StorageVersionMigration", {"resourceVersion": "10"}), []),
        (lambda: of_status("StorageVersionMigration", migrated(("Succeeded", "True"), ("Failed",
          "False"))), []),
        (lambda: [line[:35] + line[-66:] for line in of_status("StorageVersionMigration",
          migrated(("Succeeded", "True"), ("Failed", "True")))],
         ["status.conditions: Invalid value: [Both"
           " success and failed conditions cannot be true at the same time"]),
        (lambda: review(verb="get", resource="pods", labelSelector={"requirements": [{"key":
          "-", "operator": "Exists"}]}),
         ['spec.resourceAttributes.labelSelector.requirements[0].key: Invalid value: "-":'
           " NAME PART"]),
        (lambda: review(verb="get", resource="pods", fieldSelector={"requirements": [{"key": "",
          "operator": "In"}, {"key": "a", "operator": "Exists"}, {"key": "a", "operator": "x"},
          {"key": "a", "operator": "Exists", "values": ["b"]}]}),
         ["spec.resourceAttributes.fieldSelector.requirements[0].key: Required value: must"
           " be specified",
          "spec.resourceAttributes.fieldSelector.requirements[0].values: Required value:"
           " must be specified when `operator` is 'In' or 'NotIn'",
          "spec.resourceAttributes.fieldSelector.requirements[3].values: Forbidden: may not"
           " be specified when `operator` is 'Exists' or 'DoesNotExist'"]),
        (lambda: review(verb="get", resource="pods", fieldSelector={"rawSelector": "a",
          "requirements": [{"key": "a", "operator": "Exists"}]}),
         ['spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: "a": may not'
           " specified at the same time as requirements"]),
        (lambda: of_new("SubjectAccessReview", {"metadata": {"name": "x"}, "spec": {"user": "u",
          "resourceAttributes": {}}}),
         ['metadata: Invalid value: {"name":"x"}: must be empty']),
        (lambda: of_new("SubjectAccessReview", {"metadata": {"name": "", "managedFields": [{}]},
          "spec": {"user": "u", "resourceAttributes": {}}}), []),
        (lambda: of_new("ClusterRole", {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/a"],
          "resourceNames": ["a"]}]}),
         ['rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both'
           " regular resources and non-resource URLs"]),
        (lambda: of_new("ResourceQuota", {"spec": {"scopes": ["CrossNamespacePodAffinity"],
          "hard": {"pods": "1", "cpu": "1"}}}), []),
        (lambda: of_new("ResourceQuota", {"spec": {"scopes": ["CrossNamespacePodAffinity"],
          "hard": {"services": "1"}}}),
         ['spec.scopes: Invalid value: ["CrossNamespacePodAffinity"]: unsupported scope'
           " applied to resource"]),
        (lambda: of_new("ResourceQuota", {"spec": {"hard": {"b": "1", "a": "1"}}}),
         ['spec.hard[a]: Invalid value: "a": must be a standard resource type or fully qualified',
          'spec.hard[a]: Invalid value: "a": must be a standard resource for quota',
          'spec.hard[b]: Invalid value: "b": must be a standard resource type or fully qualified',
          'spec.hard[b]: Invalid value: "b": must be a standard resource for quota']),
        (lambda: of_new("ResourceQuota", {"spec": {"scopeSelector": {"matchExpressions":
          [{"scopeName": "Terminating", "operator": "Exists"}, {"scopeName": "NotTerminating",
          "operator": "Exists"}]}}}),
         ["spec.scopeSelector.matchExpressions: Invalid value: null: conflicting scopes"]),
        (lambda: of_limits("Pod", max={"b": "1", "a": "1"}),
         ['spec.limits[0].max[a]: Invalid value: "a": must be a standard resource type or'
           " fully qualified",
          'spec.limits[0].max[a]: Invalid value: "a": must be a standard resource for containers',
          'spec.limits[0].max[b]: Invalid value: "b": must be a standard resource type or'
           " fully qualified",
          'spec.limits[0].max[b]: Invalid value: "b": must be a standard resource for containers']),
        (lambda: of_limits("Container", max={"cpu": "1"}, min={"cpu": "2"}),
         ['spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
          'spec.limits[0].defaultRequest[cpu]: Invalid value: "1": min value 2 is greater'
           " than default request value 1",
          'spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater than'
           " default value 1"]),
        (lambda: of_limits("Container", default={"cpu": "3"}, max={"cpu": "2"},
          defaultRequest={"cpu": "4"}),
         ['spec.limits[0].defaultRequest[cpu]: Invalid value: "4": default request value 4'
           " is greater than max value 2",
          'spec.limits[0].defaultRequest[cpu]: Invalid value: "4": default request value 4'
           " is greater than default limit value 3",
          'spec.limits[0].default[cpu]: Invalid value: "2": default value 3 is greater than'
           " max value 2"]),
        (lambda: of_limits("Container", default={"a.b/c": "1"}), []),
        (lambda: of_limits("Container", defaultRequest={"a.b/c": "1"}), []),
        (lambda: of_limits("Container", default={"a.b/c": "2"}, defaultRequest={"a.b/c": "1"}),
         ['spec.limits[0].defaultRequest[a.b/c]: Invalid value: "1": default value 2 must'
           " equal to defaultRequest value 1 in a.b/c"]),
        (lambda: of_limits("Container", default={"cpu": "2"}, defaultRequest={"cpu": "1"}), []),
        (lambda: of_limits("Container", max={"cpu": "1"}, min={"cpu": "0"},
          maxLimitRequestRatio={"cpu": "2"}), []),
        (lambda: of_limits("Container", max={"cpu": "2"}, min={"cpu": "1"},
          maxLimitRequestRatio={"cpu": "2"}), []),
        (lambda: of_limits("Container", max={"cpu": "2"}, min={"cpu": "1"},
          maxLimitRequestRatio={"cpu": "3"}),
         ['spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater'
           " than max/min = 2.000000"]),
        (lambda: of_limits("Container", maxLimitRequestRatio={"cpu": "999m", "memory": "1"}),
         ['spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "999m": ratio 999m is'
           " less than 1"]),
        (lambda: of_new("ConfigMap", {"binaryData": {"b/": "", "a/": ""}}),
         ['binaryData[a/]: Invalid value: "a/": a valid config key must consist of'
           " alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or"
           " 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
          'binaryData[b/]: Invalid value: "b/": a valid config key must consist of'
           " alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or"
           " 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"]),
        (lambda: of_new("ConfigMap", {"data": {"b/": "", "a/": ""}}),
         ['data[a/]: Invalid value: "a/": a valid config key must consist of alphanumeric'
           " characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name',"
           " regex used for validation is '[-._a-zA-Z0-9]+')",
          'data[b/]: Invalid value: "b/": a valid config key must consist of alphanumeric'
           " characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name',"
           " regex used for validation is '[-._a-zA-Z0-9]+')"]),
        (lambda: of_flow({"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/a"]}]}),
         []),
        (lambda: of_flow({"nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*",
          "/a"]}]}),
         ['spec.rules[0].nonResourceRules[0].nonResourceURLs: Invalid value: ["*","/a"]: if'
           " '*' is present, must not specify other non-resource URLs"]),
        (lambda: of_flow({"resourceRules": [{"verbs": ["x"], "apiGroups": [], "resources": [],
          "clusterScope": True}]}),
         ['spec.rules[0].resourceRules[0].verbs: Unsupported value: ["x"]: supported'
           ' values: "create", "delete", "deletecollection", "get", "list", "patch",'
           ' "proxy", "update", "watch"',
          "spec.rules[0].resourceRules[0].apiGroups: Required value: resource rules must"
           " supply at least one api group",
          "spec.rules[0].resourceRules[0].resources: Required value: resource rules must"
           " supply at least one resource"]),
        (lambda: of_flow({"resourceRules": [{"verbs": ["*", "get"], "apiGroups": ["*", ""],
          "resources": ["*", "a"], "namespaces": ["*", "a"]}]}),
         ["spec.rules[0].resourceRules[0].verbs: Invalid value: [\"*\",\"get\"]: if '*' is"
           " present, must not specify other verbs",
          "spec.rules[0].resourceRules[0].apiGroups: Invalid value: [\"*\",\"\"]: if '*' is"
           " present, must not specify other api groups",
          "spec.rules[0].resourceRules[0].resources: Invalid value: [\"*\",\"a\"]: if '*' is"
           " present, must not specify other resources",
          "spec.rules[0].resourceRules[0].namespaces: Invalid value: [\"*\",\"a\"]: if '*' is"
           " present, must not specify other namespaces"]),
        (lambda: of_flow({"resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources":
          ["a"], "namespaces": ["A"]}]}),
         ['spec.rules[0].resourceRules[0].namespaces[0]: Invalid value: "A": each member of'
           " this list must be '*' or a DNS-1123 label; LABEL"]),
        (lambda: of_flow({"resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources":
          ["a"]}]}),
         ["spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that"
           " are not cluster scoped must supply at least one namespace"]),
        (lambda: of_flow({"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/a"]}]},
          matchingPrecedence=10_000), []),
        (lambda: of_flow({"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/a"]}]},
          matchingPrecedence=10_001),
         ["spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000"]),
        (lambda: of_raw("FlowSchema", {"spec": {"priorityLevelConfiguration": {"name": "l"}}}),
         ["spec.matchingPrecedence: Invalid value: 0: must be a positive value"]),
        (queued,
         ["spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: 0: must be"
           " positive",
          "spec.limited.limitResponse.queuing.queues: Invalid value: 0: must be positive",
          "spec.limited.limitResponse.queuing.handSize: Invalid value: 0: must be positive"]),
        (lambda: queued(queueLengthLimit=1, queues=0, handSize=1),
         ["spec.limited.limitResponse.queuing.queues: Invalid value: 0: must be positive",
          "spec.limited.limitResponse.queuing.handSize: Invalid value: 1: should not be"
           " greater than queues (0)"]),
        (lambda: queued(queueLengthLimit=1, queues=1, handSize=1), []),
        (lambda: queued(queueLengthLimit=1, queues=1024, handSize=6), []),
        (lambda: queued(queueLengthLimit=1, queues=1025, handSize=6),
         ["spec.limited.limitResponse.queuing.handSize: Invalid value: 6: required entropy bits"
          " of deckSize 1025 and handSize 6 should not be greater than 60"]),
        (lambda: of_level(limited={"limitResponse": {"type": "Reject", "queuing": {}}}),
         ["spec.limited.limitResponse.queuing: Forbidden: must be nil if"
           " limited.limitResponse.type is not Limited"]),
        (lambda: of_level(limited={"limitResponse": {}}),
         ['spec.limited.limitResponse.type: Unsupported value: "": supported values:'
           ' "Queue", "Reject"']),
        (lambda: of_level(limited={"limitResponse": {"type": "Reject"}, "lendablePercent": -1,
          "borrowingLimitPercent": -1, "nominalConcurrencyShares": -1}),
         ["spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative"
           " integer",
          "spec.limited.lendablePercent: Invalid value: -1: must be between 0 and 100, inclusive",
          "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a"
           " non-negative integer"]),
        (lambda: of_level(limited={"limitResponse": {"type": "Reject"}, "lendablePercent":
          101}),
         ["spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100,"
           " inclusive"]),
        (lambda: of_level(limited={"limitResponse": {"type": "Reject"}, "lendablePercent": 0,
          "borrowingLimitPercent": 0}), []),
        (lambda: of_level(limited={"limitResponse": {"type": "Reject"}, "lendablePercent":
          100}), []),
        (lambda: of_new("PriorityClass", {"value": 1_000_000_000}), []),
        (lambda: of_new("PriorityClass", {"value": 1_000_000_001}),
         ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"]),
        (lambda: of_raw("PriorityClass", {"metadata": {"name": "system-node-critical"}}),
         ["metadata.name: Forbidden: priority class names with 'system-' prefix are"
           " reserved for system use only. error: value of system-node-critical"
           " PriorityClass must be 2000001000"]),
        (lambda: api_service("v1.A", group="A"),
         ['spec.group: Invalid value: "A": SUBDOMAIN']),
        (lambda: api_service(caBundle="YQ=="), []),
    ],
)  # fmt: skip
def test_webhooks_quotas_and_others(call: Any, expected: list[str]) -> None:
    assert call() == expected
