"""The order of the fields of upstream's Go structs where it is not that of their protobuf numbers.

Upstream: staging/src/k8s.io/api/*/v1/types.go and generated.proto, which has the same order
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from podwright.apimachinery.schema.types import Field, StructType

GO_ORDER: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(fields.split())
    for name, fields in {
        "admissionregistration.v1.MutatingWebhook": (
            "name clientConfig rules failurePolicy matchPolicy namespaceSelector objectSelector"
            " sideEffects timeoutSeconds admissionReviewVersions reinvocationPolicy"
            " matchConditions"
        ),
        "admissionregistration.v1.ValidatingWebhook": (
            "name clientConfig rules failurePolicy matchPolicy namespaceSelector objectSelector"
            " sideEffects timeoutSeconds admissionReviewVersions matchConditions"
        ),
        "admissionregistration.v1.WebhookClientConfig": "url service caBundle",
        "apiextensions.v1.CustomResourceDefinitionVersion": (
            "name served storage deprecated deprecationWarning schema subresources"
            " additionalPrinterColumns selectableFields"
        ),
        "apiextensions.v1.WebhookClientConfig": "url service caBundle",
        "apps.v1.DeploymentCondition": (
            "type status lastUpdateTime lastTransitionTime reason message"
        ),
        "apps.v1.DeploymentStatus": (
            "observedGeneration replicas updatedReplicas readyReplicas availableReplicas"
            " unavailableReplicas terminatingReplicas conditions collisionCount"
        ),
        "apps.v1.ReplicaSetSpec": "replicas minReadySeconds selector template",
        "apps.v1.ReplicaSetStatus": (
            "replicas fullyLabeledReplicas readyReplicas availableReplicas terminatingReplicas"
            " observedGeneration conditions"
        ),
        "authentication.v1.TokenRequestSpec": "audiences expirationSeconds boundObjectRef",
        "authentication.v1.TokenReviewStatus": "authenticated user audiences error",
        "authorization.v1.SubjectAccessReviewStatus": "allowed denied reason evaluationError",
        "autoscaling.v2.HPAScalingRules": (
            "stabilizationWindowSeconds selectPolicy policies tolerance"
        ),
        "autoscaling.v2.MetricSpec": "type object pods resource containerResource external",
        "autoscaling.v2.MetricStatus": "type object pods resource containerResource external",
        "batch.v1.CronJobSpec": (
            "schedule timeZone startingDeadlineSeconds concurrencyPolicy suspend jobTemplate"
            " successfulJobsHistoryLimit failedJobsHistoryLimit"
        ),
        "batch.v1.JobSpec": (
            "parallelism completions activeDeadlineSeconds podFailurePolicy successPolicy"
            " backoffLimit backoffLimitPerIndex maxFailedIndexes selector manualSelector template"
            " ttlSecondsAfterFinished completionMode suspend podReplacementPolicy managedBy"
        ),
        "batch.v1.JobStatus": (
            "conditions startTime completionTime active succeeded failed terminating"
            " completedIndexes failedIndexes uncountedTerminatedPods ready"
        ),
        "certificates.v1.CertificateSigningRequestCondition": (
            "type status reason message lastUpdateTime lastTransitionTime"
        ),
        "certificates.v1.CertificateSigningRequestSpec": (
            "request signerName expirationSeconds usages username uid groups extra"
        ),
        "core.v1.ClusterTrustBundleProjection": "name signerName labelSelector optional path",
        "core.v1.ConfigMap": "metadata immutable data binaryData",
        "core.v1.Container": (
            "name image command args workingDir ports envFrom env resources resizePolicy"
            " restartPolicy restartPolicyRules volumeMounts volumeDevices livenessProbe"
            " readinessProbe startupProbe lifecycle terminationMessagePath"
            " terminationMessagePolicy imagePullPolicy securityContext stdin stdinOnce tty"
        ),
        "core.v1.EndpointAddress": "ip hostname nodeName targetRef",
        "core.v1.EphemeralContainer": (
            "name image command args workingDir ports envFrom env resources resizePolicy"
            " restartPolicy restartPolicyRules volumeMounts volumeDevices livenessProbe"
            " readinessProbe startupProbe lifecycle terminationMessagePath"
            " terminationMessagePolicy imagePullPolicy securityContext stdin stdinOnce tty"
            " targetContainerName"
        ),
        "core.v1.ISCSIPersistentVolumeSource": (
            "targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery"
            " chapAuthSession secretRef initiatorName"
        ),
        "core.v1.ISCSIVolumeSource": (
            "targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery"
            " chapAuthSession secretRef initiatorName"
        ),
        "core.v1.NodeSpec": (
            "podCIDR podCIDRs providerID unschedulable taints configSource externalID"
        ),
        "core.v1.PersistentVolumeClaimSpec": (
            "accessModes selector resources volumeName storageClassName volumeMode dataSource"
            " dataSourceRef volumeAttributesClassName"
        ),
        "core.v1.PodCondition": (
            "type observedGeneration status lastProbeTime lastTransitionTime reason message"
        ),
        "core.v1.PodSecurityContext": (
            "seLinuxOptions windowsOptions runAsUser runAsGroup runAsNonRoot supplementalGroups"
            " supplementalGroupsPolicy fsGroup sysctls fsGroupChangePolicy seccompProfile"
            " appArmorProfile seLinuxChangePolicy"
        ),
        "core.v1.PodSpec": (
            "volumes initContainers containers ephemeralContainers restartPolicy"
            " terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy nodeSelector"
            " serviceAccountName serviceAccount automountServiceAccountToken nodeName hostNetwork"
            " hostPID hostIPC shareProcessNamespace securityContext imagePullSecrets hostname"
            " subdomain affinity schedulerName tolerations hostAliases priorityClassName priority"
            " dnsConfig readinessGates runtimeClassName enableServiceLinks preemptionPolicy"
            " overhead topologySpreadConstraints setHostnameAsFQDN os hostUsers schedulingGates"
            " resourceClaims resources hostnameOverride schedulingGroup"
        ),
        "core.v1.PodStatus": (
            "observedGeneration phase conditions message reason nominatedNodeName hostIP hostIPs"
            " podIP podIPs startTime initContainerStatuses containerStatuses qosClass"
            " ephemeralContainerStatuses resize resourceClaimStatuses extendedResourceClaimStatus"
            " allocatedResources resources nodeAllocatableResourceClaimStatuses"
        ),
        "core.v1.ReplicationControllerSpec": "replicas minReadySeconds selector template",
        "core.v1.ReplicationControllerStatus": (
            "replicas fullyLabeledReplicas readyReplicas availableReplicas observedGeneration"
            " conditions"
        ),
        "core.v1.Secret": "metadata immutable data stringData type",
        "core.v1.SecurityContext": (
            "capabilities privileged seLinuxOptions windowsOptions runAsUser runAsGroup"
            " runAsNonRoot readOnlyRootFilesystem allowPrivilegeEscalation procMount"
            " seccompProfile appArmorProfile"
        ),
        "core.v1.ServicePort": "name protocol appProtocol port targetPort nodePort",
        "core.v1.ServiceSpec": (
            "ports selector clusterIP clusterIPs type externalIPs sessionAffinity loadBalancerIP"
            " loadBalancerSourceRanges externalName externalTrafficPolicy healthCheckNodePort"
            " publishNotReadyAddresses sessionAffinityConfig ipFamilies ipFamilyPolicy"
            " allocateLoadBalancerNodePorts loadBalancerClass internalTrafficPolicy"
            " trafficDistribution"
        ),
        "core.v1.Volume": (
            "name hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs"
            " iscsi glusterfs persistentVolumeClaim rbd flexVolume cinder cephfs flocker"
            " downwardAPI fc azureFile configMap vsphereVolume quobyte azureDisk"
            " photonPersistentDisk projected portworxVolume scaleIO storageos csi ephemeral image"
        ),
        "core.v1.VolumeMount": (
            "name readOnly recursiveReadOnly mountPath subPath mountPropagation subPathExpr"
        ),
        "discovery.v1.EndpointSlice": "metadata addressType endpoints ports",
        "meta.v1.OwnerReference": "apiVersion kind name uid controller blockOwnerDeletion",
        "meta.v1.StatusDetails": "name group kind uid causes retryAfterSeconds",
        "networking.v1.HTTPIngressPath": "path pathType backend",
        "networking.v1.IngressBackend": "service resource",
        "networking.v1.IngressSpec": "ingressClassName defaultBackend tls rules",
        "resource.v1.AllocatedDeviceStatus": (
            "driver pool device shareID conditions data networkData"
        ),
        "resource.v1alpha3.PoolStatus": (
            "driver poolName generation resourceSliceCount totalDevices allocatedDevices"
            " availableDevices unavailableDevices nodeName validationError"
        ),
        "resource.v1alpha3.ResourcePoolStatusRequestStatus": "poolCount pools conditions",
        "resource.v1beta1.AllocatedDeviceStatus": (
            "driver pool device shareID conditions data networkData"
        ),
        "resource.v1beta2.AllocatedDeviceStatus": (
            "driver pool device shareID conditions data networkData"
        ),
    }.items()
}
"""By struct. Fields that are not named come last."""

_FIRST: Final = {"kind": -2, "apiVersion": -1}


def go_ordered(struct: StructType) -> list[Field]:
    """Return the fields of a struct in the order in which Go's encoder writes them."""
    places = {name: index for index, name in enumerate(GO_ORDER.get(struct.name, ()))}
    return sorted(struct.fields.values(), key=lambda field: _place(field, places))


def _place(field: Field, places: Mapping[str, int]) -> tuple[float, ...]:
    if not field.number and field.name in _FIRST:
        return (_FIRST[field.name],)
    if places:
        return (places.get(field.name, len(places)), *field.number)
    return (0, *(field.number or (1000,)))
