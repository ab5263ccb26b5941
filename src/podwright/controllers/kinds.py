"""The kinds that controllers read and write, by API group and name."""

from __future__ import annotations

from typing import Final

from podwright.store import NAMESPACE, POD, GroupKind

__all__ = [
    "CONTROLLER_REVISION",
    "CRON_JOB",
    "CSI_NODE",
    "DAEMON_SET",
    "DEPLOYMENT",
    "JOB",
    "NAMESPACE",
    "NODE",
    "PDB",
    "POD",
    "PRIORITY_CLASS",
    "PV",
    "PVC",
    "REPLICATION_CONTROLLER",
    "REPLICA_SET",
    "STATEFUL_SET",
    "STORAGE_CLASS",
    "GroupKind",
]

NODE: Final[GroupKind] = ("", "Node")
PV: Final[GroupKind] = ("", "PersistentVolume")
PVC: Final[GroupKind] = ("", "PersistentVolumeClaim")
REPLICATION_CONTROLLER: Final[GroupKind] = ("", "ReplicationController")
CONTROLLER_REVISION: Final[GroupKind] = ("apps", "ControllerRevision")
DAEMON_SET: Final[GroupKind] = ("apps", "DaemonSet")
DEPLOYMENT: Final[GroupKind] = ("apps", "Deployment")
REPLICA_SET: Final[GroupKind] = ("apps", "ReplicaSet")
STATEFUL_SET: Final[GroupKind] = ("apps", "StatefulSet")
CRON_JOB: Final[GroupKind] = ("batch", "CronJob")
JOB: Final[GroupKind] = ("batch", "Job")
PDB: Final[GroupKind] = ("policy", "PodDisruptionBudget")
PRIORITY_CLASS: Final[GroupKind] = ("scheduling.k8s.io", "PriorityClass")
CSI_NODE: Final[GroupKind] = ("storage.k8s.io", "CSINode")
STORAGE_CLASS: Final[GroupKind] = ("storage.k8s.io", "StorageClass")
