"""Defaults of workloads and their autoscalers.

Upstream: pkg/apis/apps/v1/defaults.go; pkg/apis/batch/v1/defaults.go;
pkg/apis/autoscaling/v2/defaults.go
"""

from __future__ import annotations

from typing import Any, Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.defaults.filling import (
    with_absent,
    with_empty,
    with_items,
    with_part,
    with_spec,
)
from podwright.apimachinery.schema.defaults.pods import claim_spec, template_with_defaults

_NO_LIMIT: Final = 2**31 - 1
_SCALE_UP: Final = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_SCALE_DOWN: Final = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}
_CPU_METRIC: Final = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}


def set_deployment_defaults(deployment: Document) -> Document:
    """Set the defaults of a Deployment."""
    return with_spec(deployment, _deployment)


def _deployment(spec: Document) -> Document:
    spec = with_absent(
        spec,
        {
            "replicas": 1,
            "strategy": {},
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
        },
    )
    spec = with_part(spec, "strategy", _deployment_strategy)
    return with_part(spec, "template", template_with_defaults)


def _deployment_strategy(strategy: Document) -> Document:
    strategy = with_empty(strategy, {"type": "RollingUpdate"})
    if strategy["type"] != "RollingUpdate":
        return strategy
    return _with_rolling(strategy, {"maxUnavailable": "25%", "maxSurge": "25%"})


def _with_rolling(strategy: Document, defaults: Document) -> Document:
    strategy = with_absent(strategy, {"rollingUpdate": {}})
    return with_part(strategy, "rollingUpdate", lambda rolling: with_absent(rolling, defaults))


def set_replica_set_defaults(replica_set: Document) -> Document:
    """Set the defaults of a ReplicaSet."""
    return with_spec(replica_set, _replicas)


def _replicas(spec: Document) -> Document:
    spec = with_absent(spec, {"replicas": 1})
    return with_part(spec, "template", template_with_defaults)


def set_replication_controller_defaults(controller: Document) -> Document:
    """Set the defaults of a ReplicationController: its selector is the template's labels."""
    template: Document = (controller.get("spec") or {}).get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    if labels:
        controller = _with_labels(controller, labels)
        controller = with_spec(controller, lambda spec: with_empty(spec, {"selector": labels}))
    return with_spec(controller, _replicas)


def _with_labels(document: Document, labels: dict[str, Any]) -> Document:
    """Return an object with the labels of its template if it has none."""
    metadata: Document = document.get("metadata") or {}
    if metadata.get("labels"):
        return document
    return document | {"metadata": metadata | {"labels": labels}}


def set_stateful_set_defaults(stateful_set: Document) -> Document:
    """Set the defaults of a StatefulSet."""
    return with_spec(stateful_set, _stateful_set)


def _stateful_set(spec: Document) -> Document:
    spec = with_empty(spec, {"podManagementPolicy": "OrderedReady"})
    spec = with_absent(
        spec,
        {
            "replicas": 1,
            "revisionHistoryLimit": 10,
            "updateStrategy": {},
            "persistentVolumeClaimRetentionPolicy": {},
        },
    )
    spec = with_part(spec, "updateStrategy", _stateful_strategy)
    spec = with_part(
        spec,
        "persistentVolumeClaimRetentionPolicy",
        lambda policy: with_empty(policy, {"whenDeleted": "Retain", "whenScaled": "Retain"}),
    )
    spec = with_items(spec, "volumeClaimTemplates", _claim_template)
    return with_part(spec, "template", template_with_defaults)


def _stateful_strategy(strategy: Document) -> Document:
    if not strategy.get("type"):
        strategy = with_absent(
            with_empty(strategy, {"type": "RollingUpdate"}), {"rollingUpdate": {}}
        )
    if strategy["type"] != "RollingUpdate":
        return strategy
    return with_part(strategy, "rollingUpdate", lambda each: with_absent(each, {"partition": 0}))


def _claim_template(claim: Document) -> Document:
    claim = with_empty(claim, {"apiVersion": "v1", "kind": "PersistentVolumeClaim"})
    claim = with_spec(claim, claim_spec)
    claim = with_absent(claim, {"status": {}})
    return with_part(claim, "status", lambda status: with_empty(status, {"phase": "Pending"}))


def set_daemon_set_defaults(daemon_set: Document) -> Document:
    """Set the defaults of a DaemonSet."""
    return with_spec(daemon_set, _daemon_set)


def _daemon_set(spec: Document) -> Document:
    spec = with_absent(spec, {"updateStrategy": {}, "revisionHistoryLimit": 10})
    spec = with_part(spec, "updateStrategy", _daemon_strategy)
    return with_part(spec, "template", template_with_defaults)


def _daemon_strategy(strategy: Document) -> Document:
    strategy = with_empty(strategy, {"type": "RollingUpdate"})
    if strategy["type"] != "RollingUpdate":
        return strategy
    return _with_rolling(strategy, {"maxUnavailable": 1, "maxSurge": 0})


# --------------------------------------------------------------------------------------- jobs


def set_job_defaults(job: Document) -> Document:
    """Set the defaults of a Job; its selector is generated when it is stored."""
    template: Document = (job.get("spec") or {}).get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    if labels:
        job = _with_labels(job, labels)
    return with_spec(job, _job)


def _job(spec: Document) -> Document:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec = with_absent(spec, {"completions": 1})
    replacement = "Failed" if spec.get("podFailurePolicy") is not None else "TerminatingOrFailed"
    spec = with_absent(
        spec,
        {
            "parallelism": 1,
            "backoffLimit": 6 if spec.get("backoffLimitPerIndex") is None else _NO_LIMIT,
            "completionMode": "NonIndexed",
            "suspend": False,
            "manualSelector": False,
            "podReplacementPolicy": replacement,
        },
    )
    return _job_parts(spec)


def _job_parts(spec: Document) -> Document:
    spec = with_part(
        spec, "podFailurePolicy", lambda policy: with_items(policy, "rules", _failure_rule)
    )
    return with_part(spec, "template", template_with_defaults)


def _failure_rule(rule: Document) -> Document:
    return with_items(rule, "onPodConditions", lambda each: with_empty(each, {"status": "True"}))


def set_cron_job_defaults(cron_job: Document) -> Document:
    """Set the defaults of a CronJob; its jobs get theirs when they are made."""
    return with_spec(cron_job, _cron_job)


def _cron_job(spec: Document) -> Document:
    spec = with_empty(spec, {"concurrencyPolicy": "Allow"})
    spec = with_absent(
        spec, {"suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1}
    )
    return with_part(spec, "jobTemplate", lambda job: with_part(job, "spec", _job_parts))


# -------------------------------------------------------------------------------- autoscalers


def set_autoscaler_defaults(autoscaler: Document) -> Document:
    """Set the defaults of a HorizontalPodAutoscaler of autoscaling/v2."""
    return with_spec(autoscaler, _autoscaler)


def set_old_autoscaler_defaults(autoscaler: Document) -> Document:
    """Set the defaults of a HorizontalPodAutoscaler of autoscaling/v1."""
    return with_spec(autoscaler, lambda spec: with_absent(spec, {"minReplicas": 1}))


def _autoscaler(spec: Document) -> Document:
    spec = with_absent(spec, {"minReplicas": 1})
    spec = with_empty(spec, {"metrics": [_CPU_METRIC]})
    return with_part(spec, "behavior", _behavior)


def _behavior(behavior: Document) -> Document:
    behavior = with_absent(behavior, {"scaleUp": {}, "scaleDown": {}})
    behavior = with_part(behavior, "scaleUp", lambda rules: with_absent(rules, _SCALE_UP))
    return with_part(behavior, "scaleDown", lambda rules: with_absent(rules, _SCALE_DOWN))
