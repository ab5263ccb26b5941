"""The errors of new and changed workloads: a row is a workload, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import built_in
from podwright.apimachinery.schema.tests.kind_errors import (
    SELECTOR,
    TEMPLATE,
    made,
    of_new,
)
from podwright.apimachinery.schema.tests.pod_errors import shown

OF_APPS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ControllerRevision")
COST = {"controller.kubernetes.io/pod-deletion-cost": "x"}


def lines(kind: str, spec: dict[str, Any], before: dict[str, Any] | None = None) -> list[str]:
    """Return the errors of a workload with valid parts that are not in its row."""
    found = built_in().find("apps/v1" if kind in OF_APPS else "v1", kind)
    assert found is not None
    usual = {"template": TEMPLATE} | ({"selector": SELECTOR} if kind in OF_APPS else {})
    new = made(found, {"spec": usual | spec})
    if before is None:
        problems = found.validation_problems(new)
    else:
        problems = found.update_problems(new, made(found, {"spec": usual | before}))
    return [f"{path}: {shown(message)}" for path, message, _ in problems]


def pod(labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    metadata = TEMPLATE["metadata"] if labels is None else {"labels": labels}
    return {"template": {"metadata": metadata, "spec": TEMPLATE["spec"] | spec}}


def claim(name: str, mode: str = "ReadWriteOnce") -> dict[str, Any]:
    resources = {"requests": {"storage": "1"}}
    return {"metadata": {"name": name}, "spec": {"accessModes": [mode], "resources": resources}}


def strategy(**rolling: Any) -> dict[str, Any]:
    return {"strategy": {"rollingUpdate": rolling}}


def daemons(**rolling: Any) -> dict[str, Any]:
    return {"updateStrategy": {"rollingUpdate": rolling}}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("Deployment", {}), []),
        (("Deployment", {"replicas": -1, "minReadySeconds": -1, "revisionHistoryLimit": -1,
         "progressDeadlineSeconds": -2}),
         ["spec.replicas: Invalid value: -1: must be greater than or equal to 0",
          "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
          "spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
          "spec.progressDeadlineSeconds: Invalid value: -2: must be greater than or equal to"
          " 0",
          "spec.progressDeadlineSeconds: Invalid value: -2: must be greater than"
          " minReadySeconds"]),
        (("Deployment", {"replicas": 0, "minReadySeconds": 5, "revisionHistoryLimit": 0,
         "progressDeadlineSeconds": 5}),
         ["spec.progressDeadlineSeconds: Invalid value: 5: must be greater than"
          " minReadySeconds"]),
        (("Deployment", {"minReadySeconds": 5, "progressDeadlineSeconds": 6}), []),
        (("Deployment", {"selector": None}),
         ["spec.selector: Required value",
          'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match'
          " template `labels`"]),
        (("Deployment", {"selector": {}}),
         ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"]),
        (("Deployment", {"selector": {"matchExpressions": [{"key": "a", "operator":
         "Exists"}]}}),
         []),
        (("Deployment", {"selector": {"matchLabels": {"-": "a"}}} |
         pod(restartPolicy="Never")),
         ['spec.selector.matchLabels: Invalid value: "-": NAME PART',
          'spec.selector: Invalid value: {"matchLabels":{"-":"a"}}: invalid label selector']),
        (("Deployment", pod({"c": "d", "a": "e"})),
         ['spec.template.metadata.labels: Invalid value: {"a":"e","c":"d"}: `selector` does'
          " not match template `labels`"]),
        (("Deployment", {"template": {"spec": TEMPLATE["spec"]}}),
         ["spec.template.metadata.labels: Invalid value: null: `selector` does not match"
          " template `labels`"]),
        (("Deployment", pod(restartPolicy="Never", activeDeadlineSeconds=1, nodeName="A")),
         ['spec.template.spec.nodeName: Invalid value: "A": SUBDOMAIN',
          'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values:'
          ' "Always"',
          "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in"
          " ReplicaSet is not Supported"]),
        (("Deployment", {"strategy": {"type": "Recreate"}}), []),
        (("Deployment", {"strategy": {"type": "Recreate", "rollingUpdate": {}}}),
         ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type`"
          " is 'Recreate'"]),
        (("Deployment", {"strategy": {"type": "x"}}),
         ['spec.strategy: Unsupported value: {"Type":"x","RollingUpdate":null}: supported'
          ' values: "Recreate", "RollingUpdate"']),
        (("Deployment", strategy(maxUnavailable=0, maxSurge=0)),
         ["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when"
          " `maxSurge` is 0"]),
        (("Deployment", strategy(maxUnavailable="0%", maxSurge="00%")),
         ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when'
          " `maxSurge` is 0"]),
        (("Deployment", strategy(maxUnavailable="5", maxSurge=0)),
         ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "5": a valid percent'
          " string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%',"
          " regex used for validation is '[0-9]+%')"]),
        (("Deployment", strategy(maxUnavailable="-5", maxSurge=0)),
         ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "-5": a valid percent'
          " string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%',"
          " regex used for validation is '[0-9]+%')"]),
        (("Deployment", strategy(maxUnavailable="5%%", maxSurge=0)),
         ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "5%%": a valid percent'
          " string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%',"
          " regex used for validation is '[0-9]+%')",
          'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "5%%": may not be 0'
          " when `maxSurge` is 0"]),
        (("Deployment", strategy(maxUnavailable=0, maxSurge="101%")), []),
        (("Deployment", strategy(maxUnavailable="101%", maxSurge=0)),
         ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be'
          " greater than 100%"]),
        (("Deployment", strategy(maxUnavailable=f"{'9' * 5_000}%", maxSurge=0)),
         ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "99*5000%": must not be'
          " greater than 100%"]),
        (("Deployment", strategy(maxUnavailable="100%")), []),
        (("Deployment", strategy(maxUnavailable=-1, maxSurge=-1)),
         ["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: -1: must be greater"
          " than or equal to 0",
          "spec.strategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or"
          " equal to 0"]),
        (("ReplicaSet", {"replicas": -1, "minReadySeconds": -1}),
         ["spec.replicas: Invalid value: -1: must be greater than or equal to 0",
          "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"]),
        (("ReplicaSet", {"selector": {}} | pod(activeDeadlineSeconds=1)),
         ["spec.selector: Invalid value: {}: empty selector is invalid for deployment",
          "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in"
          " ReplicaSet is not Supported"]),
        (("ReplicationController", {}), []),
        (("ReplicationController", {"replicas": -1, "minReadySeconds": -1}),
         ["spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
          "spec.replicas: Invalid value: -1: must be greater than or equal to 0"]),
        (("ReplicationController", {"template": None}),
         ["spec.selector: Required value",
          "spec.template: Required value"]),
        (("ReplicationController", {"template": None, "selector": {"a": "b"}}),
         ["spec.template: Required value"]),
        (("ReplicationController", {"selector": {"a": "c"}} | pod({"c": "d", "a": "b"})),
         ['spec.template.metadata.labels: Invalid value: {"a":"b","c":"d"}: `selector` does'
          " not match template `labels`"]),
        (("ReplicationController", {"selector": {"a": "b"}, "template": {"spec":
         TEMPLATE["spec"]}}),
         ["spec.template.metadata.labels: Invalid value: null: `selector` does not match"
          " template `labels`"]),
        (("ReplicationController", {"selector": {"a": "b"}} | pod({"c": "d", "a": "b"})), []),
        (("ReplicationController", {"template": {"spec": TEMPLATE["spec"]}}),
         ["spec.selector: Required value"]),
        (("ReplicationController", pod(restartPolicy="Never", activeDeadlineSeconds=1,
         nodeName="A")),
         ['spec.template.spec.nodeName: Invalid value: "A": SUBDOMAIN',
          'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values:'
          ' "Always"',
          "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in"
          " ReplicationController is not Supported"]),
        (("StatefulSet", {}), []),
        (("StatefulSet", {"podManagementPolicy": "x", "replicas": -1, "minReadySeconds": -2,
         "ordinals": {"start": -3}, "serviceName": "A"}),
         ["spec.podManagementPolicy: Invalid value: \"x\": must be 'OrderedReady' or"
          " 'Parallel'",
          "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
          "spec.minReadySeconds: Invalid value: -2: must be greater than or equal to 0",
          "spec.ordinals.start: Invalid value: -3: must be greater than or equal to 0",
          'spec.serviceName: Invalid value: "A": LABEL']),
        (("StatefulSet", {"podManagementPolicy": "Parallel", "ordinals": {}, "serviceName":
         "a"}),
         []),
        (("StatefulSet", {"updateStrategy": {"type": "OnDelete"}}), []),
        (("StatefulSet", {"updateStrategy": {"type": "OnDelete", "rollingUpdate":
         {"partition": 1, "maxUnavailable": 2}}}),
         ["spec.updateStrategy.rollingUpdate: Invalid value:"
          ' {"Partition":1,"MaxUnavailable":null}: only allowed for updateStrategy'
          " 'RollingUpdate'"]),
        (("StatefulSet", {"updateStrategy": {"type": "x", "rollingUpdate": {"partition": 1}}}),
         ["spec.updateStrategy: Invalid value:"
          ' {"Type":"x","RollingUpdate":{"Partition":1,"MaxUnavailable":null}}: must be'
          " 'RollingUpdate' or 'OnDelete'"]),
        (("StatefulSet", {"updateStrategy": {"rollingUpdate": {"partition": -1,
         "maxUnavailable": 0}}}),
         ["spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater"
          " than or equal to 0"]),
        (("StatefulSet", {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "x",
         "whenScaled": "y"}}),
         ['spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "x":'
          ' supported values: "Retain", "Delete"',
          'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "y":'
          ' supported values: "Retain", "Delete"']),
        (("StatefulSet", {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete",
         "whenScaled": "Retain"}}),
         []),
        (("StatefulSet", {"selector": {"matchLabels": {"-": "a"}}}),
         ['spec.selector.matchLabels: Invalid value: "-": NAME PART',
          'spec.selector: Invalid value: {"matchLabels":{"-":"a"}}']),
        (("StatefulSet", {"selector": {}}),
         ["spec.selector: Invalid value: {}: empty selector is invalid for statefulset"]),
        (("StatefulSet", {"selector": None}),
         ["spec.selector: Required value",
          'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match'
          " template `labels`"]),
        (("StatefulSet", {"template": {"metadata": {"labels": {"a": "b", "-": "c"},
         "annotations": COST | {"-": "d"}}, "spec": TEMPLATE["spec"]}}),
         ['spec.template.labels: Invalid value: "-": NAME PART',
          'spec.template.annotations: Invalid value: "-": NAME PART',
          "spec.template.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid"
          ' value: "x": must be a 32bit integer',
          'spec.template.labels: Invalid value: "-": NAME PART',
          'spec.template.annotations: Invalid value: "-": NAME PART',
          "spec.template.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid"
          ' value: "x": must be a 32bit integer']),
        (("StatefulSet", pod(subdomain="A", hostname="B", nodeName="C")),
         ['spec.template.spec.nodeName: Invalid value: "C": SUBDOMAIN']),
        (("StatefulSet", {"volumeClaimTemplates": [claim("v", "x"), {"metadata": {"name":
         "w"}}, claim("v")]} | pod(volumes=[{"name": "v"}, {"name": "u", "nfs": {}}],
         containers=[{"name": "c", "image": "a", "volumeMounts": [{"name": "v", "mountPath":
         "/v"}, {"name": "w", "mountPath": "/w"}, {"name": "x", "mountPath": "/x"}]}])),
         ['spec.volumeClaimTemplates[0].spec.accessModes: Unsupported value: "x": supported'
          ' values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
          "spec.volumeClaimTemplates[1].spec.accessModes: Required value: at least 1 access"
          " mode is required",
          "spec.volumeClaimTemplates[1].spec.resources[storage]: Required value",
          "spec.template.spec.volumes[2].nfs.server: Required value",
          "spec.template.spec.volumes[2].nfs.path: Required value",
          'spec.template.spec.volumes[2].nfs.path: Invalid value: "": must be an absolute'
          " path",
          'spec.template.spec.containers[0].volumeMounts[2].name: Not found: "x"']),
        (("StatefulSet", pod(restartPolicy="Never", activeDeadlineSeconds=1)),
         ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values:'
          ' "Always"',
          "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in"
          " StatefulSet is not Supported"]),
        (("DaemonSet", {"revisionHistoryLimit": -1, "minReadySeconds": -1}),
         ["spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
          "spec.revisionHistoryLimit: Invalid value: -1: must be greater than or equal to 0"]),
        (("DaemonSet", pod({"c": "d", "a": "e"})),
         ['spec.template.metadata.labels: Invalid value: {"a":"e","c":"d"}: `selector` does'
          " not match template `labels`"]),
        (("DaemonSet", {"selector": {"matchExpressions": []}}),
         ["spec.selector: Invalid value: {}: empty selector is invalid for daemonset"]),
        (("DaemonSet", daemons(maxUnavailable="-5", maxSurge="1")),
         ['spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "-5": a valid'
          " percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or"
          " '93%', regex used for validation is '[0-9]+%')",
          'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "1": a valid percent'
          " string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%',"
          " regex used for validation is '[0-9]+%')",
          'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "1": may not be set'
          " when maxUnavailable is non-zero"]),
        (("DaemonSet", daemons(maxUnavailable=0, maxSurge="100%")), []),
        (("DaemonSet", daemons(maxUnavailable=0, maxSurge="101%")),
         ['spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: "101%": must not be'
          " greater than 100%"]),
        (("DaemonSet", daemons(maxUnavailable="0%")),
         ["spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when"
          " maxSurge is 0"]),
    ],
)  # fmt: skip
def test_new_workloads(row: Any, expected: list[str]) -> None:
    assert lines(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("StatefulSet", {}, {}), []),
        (("StatefulSet", {"replicas": 2, "ordinals": {"start": 1}, "updateStrategy": {"type":
         "OnDelete"}, "revisionHistoryLimit": 1, "persistentVolumeClaimRetentionPolicy":
         {"whenDeleted": "Delete"}, "minReadySeconds": 1} | pod(nodeName="n"), {}),
         []),
        (("StatefulSet", {"serviceName": "A"}, {"serviceName": "B"}),
         ["spec: Forbidden: updates to statefulset spec for fields other than 'replicas',"
          " 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit',"
          " 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"]),
        (("StatefulSet", {"serviceName": "A"}, {"serviceName": "A"}), []),
        (("StatefulSet", {"volumeClaimTemplates": [claim("v", "x")]}, {"volumeClaimTemplates":
         [claim("v", "x")]}),
         []),
        (("StatefulSet", {"podManagementPolicy": "Parallel", "replicas": -1}, {}),
         ["spec.replicas: Invalid value: -1: must be greater than or equal to 0",
          "spec: Forbidden: updates to statefulset spec for fields other than 'replicas',"
          " 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit',"
          " 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"]),
        (("StatefulSet", pod(nodeName="A"), {}),
         ['spec.template.spec.nodeName: Invalid value: "A": SUBDOMAIN']),
        (("StatefulSet", pod(nodeName="A"), pod(nodeName="B")), []),
        (("StatefulSet", {"template": {"metadata": {"labels": {"a": "b"}, "annotations":
         COST}, "spec": {}}}, {"replicas": -1}),
         ["spec.template.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid"
          ' value: "x": must be a 32bit integer']),
        (("DaemonSet", {"minReadySeconds": -1}, {}),
         ["spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"]),
        (("DaemonSet", {"selector": {"matchLabels": {"a": "b", "c": "d"}}}, {}),
         ['spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is'
          " immutable",
          'spec.template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match'
          " template `labels`"]),
    ],
)  # fmt: skip
def test_changed_workloads(row: Any, expected: list[str]) -> None:
    assert lines(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"revision": -1},
         ["revision: Invalid value: -1: must be greater than or equal to 0",
          "data: Required value: data is mandatory"]),
        ({"revision": 0, "data": {}}, []),
        ({"revision": 1, "data": [1]},
         ["data: Required value: data must be a valid JSON object"]),
    ],
)  # fmt: skip
def test_revisions(row: Any, expected: list[str]) -> None:
    assert of_new("ControllerRevision", row) == expected
