"""The defaults of kinds of all groups: a row is an object, and what is added to it.

Upstream: pkg/apis/*/v1/defaults.go
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import built_in
from podwright.apimachinery.schema.tests.kind_errors import flat

POD: dict[str, Any] = {"spec": {
    "containers": [], "restartPolicy": "Always", "dnsPolicy": "Default", "schedulerName": "s",
    "terminationGracePeriodSeconds": 1, "securityContext": {},
}}  # fmt: skip
"""A template to which nothing is added."""


def defaults_of(name: str, document: dict[str, Any]) -> list[str]:
    """Return what the defaults of a kind add and change: lists and structs by their leaves."""
    version, _, kind = name.rpartition("/")
    found = built_in().find(version, kind)
    assert found is not None
    before, after = flat(document), flat(found.with_defaults(document))
    return [f"{at} = {each!r}" for at, each in after.items() if before.get(at, ()) != each]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (("apps/v1/Deployment", {"spec": {"template": POD}}),
         ["spec.replicas = 1",
          "spec.strategy.rollingUpdate.maxUnavailable = '25%'",
          "spec.strategy.rollingUpdate.maxSurge = '25%'",
          "spec.strategy.type = 'RollingUpdate'",
          "spec.revisionHistoryLimit = 10",
          "spec.progressDeadlineSeconds = 600"]),
        (("apps/v1/Deployment", {"spec": {"template": POD, "replicas": 0, "strategy": {"type":
         "Recreate"}, "revisionHistoryLimit": 0, "progressDeadlineSeconds": 0}}),
         []),
        (("apps/v1/Deployment", {"spec": {"template": {"spec": {}}, "strategy":
         {"rollingUpdate": {"maxSurge": 0}}}}),
         ["spec.replicas = 1",
          "spec.revisionHistoryLimit = 10",
          "spec.progressDeadlineSeconds = 600",
          "spec.template.spec.terminationGracePeriodSeconds = 30",
          "spec.template.spec.securityContext = {}",
          "spec.template.spec.restartPolicy = 'Always'",
          "spec.template.spec.dnsPolicy = 'ClusterFirst'",
          "spec.template.spec.schedulerName = 'default-scheduler'",
          "spec.strategy.type = 'RollingUpdate'",
          "spec.strategy.rollingUpdate.maxUnavailable = '25%'"]),
        (("apps/v1/ReplicaSet", {"spec": {"template": POD}}), ["spec.replicas = 1"]),
        (("v1/ReplicationController", {"spec": {"template": POD | {"metadata": {"labels":
         {"a": "b"}}}}}),
         ["spec.replicas = 1",
          "spec.selector.a = 'b'",
          "metadata.labels.a = 'b'"]),
        (("v1/ReplicationController", {"metadata": {"labels": {"c": "d"}}, "spec":
         {"selector": {"e": "f"}, "template": POD | {"metadata": {"labels": {"a": "b"}}}}}),
         ["spec.replicas = 1"]),
        (("v1/ReplicationController", {"spec": {"replicas": 2}}), []),
        (("apps/v1/StatefulSet", {"spec": {"template": POD}}),
         ["spec.replicas = 1",
          "spec.revisionHistoryLimit = 10",
          "spec.updateStrategy.rollingUpdate.partition = 0",
          "spec.updateStrategy.type = 'RollingUpdate'",
          "spec.persistentVolumeClaimRetentionPolicy.whenDeleted = 'Retain'",
          "spec.persistentVolumeClaimRetentionPolicy.whenScaled = 'Retain'",
          "spec.podManagementPolicy = 'OrderedReady'"]),
        (("apps/v1/StatefulSet", {"spec": {"template": POD, "replicas": 0,
         "podManagementPolicy": "Parallel", "revisionHistoryLimit": 0, "updateStrategy":
         {"type": "RollingUpdate"}, "persistentVolumeClaimRetentionPolicy": {"whenDeleted":
         "Delete"}, "volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage":
         "1.5"}, "limits": {"storage": "100u"}}}}, {"kind": "A", "apiVersion": "b", "status":
         {"phase": "c"}, "spec": {"volumeMode": "Block"}}]}}),
         ["spec.persistentVolumeClaimRetentionPolicy.whenScaled = 'Retain'",
          "spec.volumeClaimTemplates[0].status.phase = 'Pending'",
          "spec.volumeClaimTemplates[0].apiVersion = 'v1'",
          "spec.volumeClaimTemplates[0].kind = 'PersistentVolumeClaim'",
          "spec.volumeClaimTemplates[0].spec.volumeMode = 'Filesystem'",
          "spec.volumeClaimTemplates[0].spec.resources.limits.storage = '1m'"]),
        (("apps/v1/StatefulSet", {"spec": {"template": POD, "updateStrategy":
         {"rollingUpdate": {}}}}),
         ["spec.replicas = 1",
          "spec.revisionHistoryLimit = 10",
          "spec.persistentVolumeClaimRetentionPolicy.whenDeleted = 'Retain'",
          "spec.persistentVolumeClaimRetentionPolicy.whenScaled = 'Retain'",
          "spec.podManagementPolicy = 'OrderedReady'",
          "spec.updateStrategy.type = 'RollingUpdate'",
          "spec.updateStrategy.rollingUpdate.partition = 0"]),
        (("apps/v1/StatefulSet", {"spec": {"template": POD, "updateStrategy": {"type":
         "OnDelete"}}}),
         ["spec.replicas = 1",
          "spec.revisionHistoryLimit = 10",
          "spec.persistentVolumeClaimRetentionPolicy.whenDeleted = 'Retain'",
          "spec.persistentVolumeClaimRetentionPolicy.whenScaled = 'Retain'",
          "spec.podManagementPolicy = 'OrderedReady'"]),
        (("apps/v1/DaemonSet", {"spec": {"template": POD}}),
         ["spec.updateStrategy.rollingUpdate.maxUnavailable = 1",
          "spec.updateStrategy.rollingUpdate.maxSurge = 0",
          "spec.updateStrategy.type = 'RollingUpdate'",
          "spec.revisionHistoryLimit = 10"]),
        (("apps/v1/DaemonSet", {"spec": {"template": POD, "updateStrategy": {"type":
         "OnDelete"}}}),
         ["spec.revisionHistoryLimit = 10"]),
        (("batch/v1/Job", {"spec": {"template": POD | {"metadata": {"labels": {"a": "b"}}}}}),
         ["spec.parallelism = 1",
          "spec.backoffLimit = 6",
          "spec.completionMode = 'NonIndexed'",
          "spec.suspend = False",
          "spec.manualSelector = False",
          "spec.podReplacementPolicy = 'TerminatingOrFailed'",
          "spec.completions = 1",
          "metadata.labels.a = 'b'"]),
        (("batch/v1/Job", {"metadata": {"labels": {"c": "d"}}, "spec": {"parallelism": 2,
         "backoffLimitPerIndex": 1, "podFailurePolicy": {"rules": [{"onPodConditions":
         [{"type": "a"}, {"type": "b", "status": "False"}]}]}, "template": POD | {"metadata":
         {"labels": {"a": "b"}}}}}),
         ["spec.backoffLimit = 2147483647",
          "spec.completionMode = 'NonIndexed'",
          "spec.suspend = False",
          "spec.manualSelector = False",
          "spec.podReplacementPolicy = 'Failed'",
          "spec.podFailurePolicy.rules[0].onPodConditions[0].status = 'True'"]),
        (("batch/v1/Job", {"spec": {"completions": 3, "backoffLimit": 0, "completionMode":
         "Indexed", "suspend": True, "manualSelector": True, "podReplacementPolicy": "Failed",
         "template": POD}}),
         ["spec.parallelism = 1"]),
        (("batch/v1/CronJob", {"spec": {"jobTemplate": {"spec": {"template": POD,
         "podFailurePolicy": {"rules": [{"onPodConditions": [{}]}]}}}}}),
         ["spec.suspend = False",
          "spec.successfulJobsHistoryLimit = 3",
          "spec.failedJobsHistoryLimit = 1",
          "spec.concurrencyPolicy = 'Allow'",
          "spec.jobTemplate.spec.podFailurePolicy.rules[0].onPodConditions[0].status = 'True'"]),
        (("batch/v1/CronJob", {"spec": {"concurrencyPolicy": "Forbid", "suspend": True,
         "successfulJobsHistoryLimit": 0, "failedJobsHistoryLimit": 0}}),
         []),
        (("autoscaling/v2/HorizontalPodAutoscaler", {"spec": {}}),
         ["spec.metrics[0].type = 'Resource'",
          "spec.metrics[0].resource.name = 'cpu'",
          "spec.metrics[0].resource.target.type = 'Utilization'",
          "spec.metrics[0].resource.target.averageUtilization = 80",
          "spec.minReplicas = 1"]),
        (("autoscaling/v2/HorizontalPodAutoscaler", {"spec": {"minReplicas": 0, "metrics":
         [{}], "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0, "selectPolicy":
         "Min"}}}}),
         ["spec.behavior.scaleUp.stabilizationWindowSeconds = 0",
          "spec.behavior.scaleUp.selectPolicy = 'Max'",
          "spec.behavior.scaleUp.policies[0].type = 'Pods'",
          "spec.behavior.scaleUp.policies[0].value = 4",
          "spec.behavior.scaleUp.policies[0].periodSeconds = 15",
          "spec.behavior.scaleUp.policies[1].type = 'Percent'",
          "spec.behavior.scaleUp.policies[1].value = 100",
          "spec.behavior.scaleUp.policies[1].periodSeconds = 15",
          "spec.behavior.scaleDown.policies[0].type = 'Percent'",
          "spec.behavior.scaleDown.policies[0].value = 100",
          "spec.behavior.scaleDown.policies[0].periodSeconds = 15"]),
        (("autoscaling/v1/HorizontalPodAutoscaler", {"spec": {}}), ["spec.minReplicas = 1"]),
        (("storage.k8s.io/v1/StorageClass", {}),
         ["reclaimPolicy = 'Delete'",
          "volumeBindingMode = 'Immediate'"]),
        (("storage.k8s.io/v1/StorageClass", {"reclaimPolicy": "Retain", "volumeBindingMode":
         "a"}),
         []),
        (("storage.k8s.io/v1/CSIDriver", {"spec": {}}),
         ["spec.volumeLifecycleModes[0] = 'Persistent'",
          "spec.attachRequired = True",
          "spec.podInfoOnMount = False",
          "spec.storageCapacity = False",
          "spec.fsGroupPolicy = 'ReadWriteOnceWithFSType'",
          "spec.requiresRepublish = False",
          "spec.seLinuxMount = False"]),
        (("storage.k8s.io/v1/CSIDriver", {"spec": {"attachRequired": False, "podInfoOnMount":
         True, "storageCapacity": True, "fsGroupPolicy": "None", "requiresRepublish": True,
         "seLinuxMount": True, "volumeLifecycleModes": ["Ephemeral"]}}),
         []),
        (("scheduling.k8s.io/v1/PriorityClass", {}),
         ["preemptionPolicy = 'PreemptLowerPriority'"]),
        (("v1/LimitRange", {"spec": {"limits": [{"type": "Container", "max": {"cpu": "2"},
         "min": {"cpu": "1", "memory": "3"}}, {"type": "Pod", "max": {"cpu": "2"}, "min":
         {"cpu": "100u"}}, {"type": "Container", "default": {"cpu": "1.0005"},
         "defaultRequest": {"cpu": "1"}, "max": {"cpu": "1.0001"}, "maxLimitRequestRatio":
         {"cpu": "1n"}}, {"type": "Container"}]}}),
         ["spec.limits[0].default.cpu = '2'",
          "spec.limits[0].defaultRequest.cpu = '2'",
          "spec.limits[0].defaultRequest.memory = '3'",
          "spec.limits[1].min.cpu = '1m'",
          "spec.limits[2].default.cpu = '1001m'",
          "spec.limits[2].max.cpu = '1001m'",
          "spec.limits[2].maxLimitRequestRatio.cpu = '1m'"]),
        (("v1/ResourceQuota", {"spec": {"hard": {"cpu": "1.0001", "memory": "1.5"}}, "status":
         {"hard": {"cpu": "1u"}, "used": {"cpu": "1n"}}}),
         ["spec.hard.cpu = '1001m'",
          "status.hard.cpu = '1m'",
          "status.used.cpu = '1m'"]),
        (("v1/Namespace", {"metadata": {"name": "a"}}),
         ["status.phase = 'Active'",
          "metadata.labels.kubernetes.io/metadata.name = 'a'"]),
        (("v1/Namespace", {"metadata": {"name": "a", "labels": {"kubernetes.io/metadata.name":
         "b", "c": "d"}}, "status": {"phase": "Terminating"}}),
         ["metadata.labels.kubernetes.io/metadata.name = 'a'"]),
        (("v1/Namespace", {"metadata": {"labels": {"c": "d"}}}), ["status.phase = 'Active'"]),
        (("v1/Node", {"status": {"capacity": {"cpu": "1.0001"}}}),
         ["status.capacity.cpu = '1001m'",
          "status.allocatable.cpu = '1001m'"]),
        (("v1/Node", {"status": {"capacity": {"cpu": "1"}, "allocatable": {"cpu": "1n"}},
         "spec": {"podCIDRs": [""]}}),
         ["status.allocatable.cpu = '1m'"]),
        (("networking.k8s.io/v1/NetworkPolicy", {"spec": {"ingress": [{"ports": [{},
         {"protocol": "UDP"}]}]}}),
         ["spec.policyTypes[0] = 'Ingress'",
          "spec.ingress[0].ports[0].protocol = 'TCP'"]),
        (("networking.k8s.io/v1/NetworkPolicy", {"spec": {"egress": [{"ports": [{}]}]}}),
         ["spec.policyTypes[0] = 'Ingress'",
          "spec.policyTypes[1] = 'Egress'",
          "spec.egress[0].ports[0].protocol = 'TCP'"]),
        (("networking.k8s.io/v1/NetworkPolicy", {"spec": {"egress": [{}], "policyTypes":
         ["Egress"]}}),
         []),
        (("networking.k8s.io/v1/IngressClass", {"spec": {"parameters": {"kind": "a"}}}),
         ["spec.parameters.scope = 'Cluster'"]),
        (("v1/Endpoints", {"subsets": [{"ports": [{"port": 1}, {"port": 2, "protocol":
         "UDP"}]}]}),
         ["subsets[0].ports[0].protocol = 'TCP'"]),
        (("discovery.k8s.io/v1/EndpointSlice", {"ports": [{"port": 1}, {"name": "a",
         "protocol": "UDP"}]}),
         ["ports[0].name = ''",
          "ports[0].protocol = 'TCP'"]),
        (("resource.k8s.io/v1/ResourceClaim", {"spec": {"devices": {"requests": [{"exactly":
         {"tolerations": [{"key": "a"}, {"operator": "Exists"}]}}, {"exactly":
         {"allocationMode": "All"}}, {"firstAvailable": [{"name": "a"}, {"allocationMode":
         "ExactCount", "count": 2}]}]}}}),
         ["spec.devices.requests[0].exactly.count = 1",
          "spec.devices.requests[0].exactly.allocationMode = 'ExactCount'",
          "spec.devices.requests[0].exactly.tolerations[0].operator = 'Equal'",
          "spec.devices.requests[2].firstAvailable[0].count = 1",
          "spec.devices.requests[2].firstAvailable[0].allocationMode = 'ExactCount'"]),
        (("resource.k8s.io/v1/ResourceClaimTemplate", {"spec": {"spec": {"devices":
         {"requests": [{"exactly": {"deviceClassName": "a"}}]}}}}),
         ["spec.spec.devices.requests[0].exactly.count = 1",
          "spec.spec.devices.requests[0].exactly.allocationMode = 'ExactCount'"]),
        (("rbac.authorization.k8s.io/v1/RoleBinding", {"roleRef": {"name": "a"}, "subjects":
         [{"kind": "User"}, {"kind": "Group", "apiGroup": "a"}, {"kind": "ServiceAccount"}]}),
         ["roleRef.apiGroup = 'rbac.authorization.k8s.io'",
          "subjects[0].apiGroup = 'rbac.authorization.k8s.io'"]),
        (("apiextensions.k8s.io/v1/CustomResourceDefinition", {"spec": {"names": {"kind":
         "Car"}}}),
         ["spec.conversion.strategy = 'None'",
          "spec.names.listKind = 'CarList'",
          "spec.names.singular = 'car'"]),
        (("apiextensions.k8s.io/v1/CustomResourceDefinition", {"spec": {"names": {"kind":
         "Car", "singular": "a", "listKind": "b"}, "conversion": {"strategy": "Webhook",
         "webhook": {"clientConfig": {"service": {"name": "a"}}}}}}),
         ["spec.conversion.webhook.clientConfig.service.port = 443"]),
        (("apiextensions.k8s.io/v1/CustomResourceDefinition", {"spec": {"names": {}}}),
         ["spec.conversion.strategy = 'None'",
          "spec.names.singular = ''"]),
        (("apiregistration.k8s.io/v1/APIService", {"spec": {"service": {"name": "a"}}}),
         ["spec.service.port = 443"]),
        (("admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration", {"webhooks":
         [{"rules": [{"operations": ["*"]}], "clientConfig": {"service": {"name": "a"}}}]}),
         ["webhooks[0].failurePolicy = 'Fail'",
          "webhooks[0].timeoutSeconds = 10",
          "webhooks[0].matchPolicy = 'Equivalent'",
          "webhooks[0].namespaceSelector = {}",
          "webhooks[0].objectSelector = {}",
          "webhooks[0].rules[0].scope = '*'",
          "webhooks[0].clientConfig.service.port = 443"]),
        (("admissionregistration.k8s.io/v1/MutatingWebhookConfiguration", {"webhooks":
         [{"name": "a"}, {"failurePolicy": "Ignore", "timeoutSeconds": 1, "matchPolicy":
         "Exact", "reinvocationPolicy": "IfNeeded", "namespaceSelector": {"matchLabels": {"a":
         "b"}}, "objectSelector": {"matchLabels": {"a": "b"}}, "rules": [{"scope":
         "Cluster"}]}]}),
         ["webhooks[0].reinvocationPolicy = 'Never'",
          "webhooks[0].failurePolicy = 'Fail'",
          "webhooks[0].timeoutSeconds = 10",
          "webhooks[0].matchPolicy = 'Equivalent'",
          "webhooks[0].namespaceSelector = {}",
          "webhooks[0].objectSelector = {}"]),
        (("admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy", {"spec":
         {"matchConstraints": {"resourceRules": [{"apiGroups": ["a"]}],
         "excludeResourceRules": [{"apiGroups": ["b"]}]}}}),
         ["spec.failurePolicy = 'Fail'",
          "spec.matchConstraints.matchPolicy = 'Equivalent'",
          "spec.matchConstraints.namespaceSelector = {}",
          "spec.matchConstraints.objectSelector = {}",
          "spec.matchConstraints.resourceRules[0].scope = '*'",
          "spec.matchConstraints.excludeResourceRules[0].scope = '*'"]),
        (("admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding", {"spec":
         {"matchResources": {"resourceRules": [{"apiGroups": ["a"]}]}}}),
         ["spec.matchResources.matchPolicy = 'Equivalent'",
          "spec.matchResources.namespaceSelector = {}",
          "spec.matchResources.objectSelector = {}",
          "spec.matchResources.resourceRules[0].scope = '*'"]),
        (("flowcontrol.apiserver.k8s.io/v1/FlowSchema", {"spec": {"matchingPrecedence": 0}}),
         ["spec.matchingPrecedence = 1000"]),
        (("flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration", {"spec": {"limited":
         {"limitResponse": {"queuing": {"handSize": 0, "queues": 1}}}, "exempt":
         {"lendablePercent": 1}}}),
         ["spec.limited.nominalConcurrencyShares = 30",
          "spec.limited.lendablePercent = 0",
          "spec.limited.limitResponse.queuing.handSize = 8",
          "spec.limited.limitResponse.queuing.queueLengthLimit = 50",
          "spec.exempt.nominalConcurrencyShares = 0"]),
        (("v1/Service", {"spec": {"sessionAffinity": "ClientIP", "sessionAffinityConfig":
         {"clientIP": {}}, "ports": [{"port": 80, "targetPort": 0}]}}),
         ["spec.internalTrafficPolicy = 'Cluster'",
          "spec.type = 'ClusterIP'",
          "spec.sessionAffinityConfig.clientIP.timeoutSeconds = 10800",
          "spec.ports[0].targetPort = 80",
          "spec.ports[0].protocol = 'TCP'"]),
        (("v1/Service", {"spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {}}}),
         ["spec.allocateLoadBalancerNodePorts = True",
          "spec.internalTrafficPolicy = 'Cluster'",
          "spec.externalTrafficPolicy = 'Cluster'",
          "spec.sessionAffinity = 'None'"]),
        (("v1/PersistentVolumeClaim", {"spec": {"resources": {"requests": {"storage":
         "1.0001"}}}, "status": {"phase": ""}}),
         ["spec.volumeMode = 'Filesystem'",
          "spec.resources.requests.storage = '1001m'",
          "status.phase = 'Pending'"]),
        (("v1/PersistentVolume", {"spec": {"volumeMode": "Block",
         "persistentVolumeReclaimPolicy": "Delete", "capacity": {"storage": "1u"},
         "azureDisk": {"readOnly": True, "cachingMode": "", "kind": None}, "rbd": {"pool": "",
         "user": "u"}, "scaleIO": None}}),
         ["status.phase = 'Pending'",
          "spec.capacity.storage = '1m'",
          "spec.azureDisk.fsType = 'ext4'",
          "spec.azureDisk.kind = 'Shared'",
          "spec.rbd.pool = 'rbd'",
          "spec.rbd.keyring = '/etc/ceph/keyring'"]),
        (("flowcontrol.apiserver.k8s.io/v1/PriorityLevelConfiguration", {"spec": {"limited":
         {"nominalConcurrencyShares": 0, "lendablePercent": 0, "limitResponse": {"queuing":
         {"handSize": 1}}}, "exempt": {"nominalConcurrencyShares": 1}}}),
         ["spec.limited.limitResponse.queuing.queues = 64",
          "spec.limited.limitResponse.queuing.queueLengthLimit = 50",
          "spec.exempt.lendablePercent = 0"]),
        (("v1/Namespace", {"metadata": {"labels": {"kubernetes.io/metadata.name": "b"}}}),
         ["status.phase = 'Active'"]),
        (("authentication.k8s.io/v1/TokenRequest", {"spec": {"audiences": ["a"]}}),
         ["spec.expirationSeconds = 3600"]),
        (("certificates.k8s.io/v1beta1/PodCertificateRequest", {"spec": {"nodeName": "a"}}),
         ["spec.maxExpirationSeconds = 86400"]),
        (("v1/Secret", {"type": ""}), ["type = 'Opaque'"]),
        (("v1/Node", {"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.1.0/24",
         "10.0.2.0/24"]}}),
         ["spec.podCIDRs[0] = '10.0.0.0/24'"]),
        (("v1/ResourceQuota", {"spec": {"hard": {"cpu": "0.9999", "memory": "1.0", "pods": 1,
         "a": "1500u"}}}),
         ["spec.hard.cpu = '1'",
          "spec.hard.a = '2m'"]),
    ],
)  # fmt: skip
def test_kinds(row: Any, expected: list[str]) -> None:
    assert defaults_of(*row) == expected
