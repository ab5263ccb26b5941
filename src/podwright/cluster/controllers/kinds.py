"""The kinds that controllers read and write, by API group and name."""

from __future__ import annotations

from typing import Final

from podwright.cluster.store import GroupKind

CONFIG_MAP: Final[GroupKind] = ("", "ConfigMap")
ENDPOINTS: Final[GroupKind] = ("", "Endpoints")
NODE: Final[GroupKind] = ("", "Node")
PV: Final[GroupKind] = ("", "PersistentVolume")
PVC: Final[GroupKind] = ("", "PersistentVolumeClaim")
REPLICATION_CONTROLLER: Final[GroupKind] = ("", "ReplicationController")
RESOURCE_QUOTA: Final[GroupKind] = ("", "ResourceQuota")
SECRET: Final[GroupKind] = ("", "Secret")
SERVICE: Final[GroupKind] = ("", "Service")
SERVICE_ACCOUNT: Final[GroupKind] = ("", "ServiceAccount")
VALIDATING_POLICY: Final[GroupKind] = (
    "admissionregistration.k8s.io",
    "ValidatingAdmissionPolicy",
)
CONTROLLER_REVISION: Final[GroupKind] = ("apps", "ControllerRevision")
DAEMON_SET: Final[GroupKind] = ("apps", "DaemonSet")
DEPLOYMENT: Final[GroupKind] = ("apps", "Deployment")
REPLICA_SET: Final[GroupKind] = ("apps", "ReplicaSet")
STATEFUL_SET: Final[GroupKind] = ("apps", "StatefulSet")
HPA: Final[GroupKind] = ("autoscaling", "HorizontalPodAutoscaler")
CRON_JOB: Final[GroupKind] = ("batch", "CronJob")
JOB: Final[GroupKind] = ("batch", "Job")
CSR: Final[GroupKind] = ("certificates.k8s.io", "CertificateSigningRequest")
ENDPOINT_SLICE: Final[GroupKind] = ("discovery.k8s.io", "EndpointSlice")
PDB: Final[GroupKind] = ("policy", "PodDisruptionBudget")
CLUSTER_ROLE: Final[GroupKind] = ("rbac.authorization.k8s.io", "ClusterRole")
DEVICE_CARDS: Final[GroupKind] = ("podwright.dev", "DeviceCards")
DEVICE_TAINT_RULE: Final[GroupKind] = ("resource.k8s.io", "DeviceTaintRule")
RESOURCE_CLAIM: Final[GroupKind] = ("resource.k8s.io", "ResourceClaim")
RESOURCE_CLAIM_TEMPLATE: Final[GroupKind] = ("resource.k8s.io", "ResourceClaimTemplate")
RESOURCE_SLICE: Final[GroupKind] = ("resource.k8s.io", "ResourceSlice")
POD_GROUP: Final[GroupKind] = ("scheduling.k8s.io", "PodGroup")
CSI_NODE: Final[GroupKind] = ("storage.k8s.io", "CSINode")
STORAGE_CLASS: Final[GroupKind] = ("storage.k8s.io", "StorageClass")
VOLUME_ATTACHMENT: Final[GroupKind] = ("storage.k8s.io", "VolumeAttachment")
