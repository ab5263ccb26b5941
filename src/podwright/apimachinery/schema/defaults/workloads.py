"""Defaults of workloads and their autoscalers.

Upstream: pkg/apis/apps/v1/defaults.go; pkg/apis/batch/v1/defaults.go;
pkg/apis/autoscaling/v2/defaults.go
"""

from __future__ import annotations

from typing import Any, Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.defaults.filling import (
    Change,
    absent,
    chain,
    empty,
    items,
    parts,
    spec,
    with_absent,
    with_empty,
    with_spec,
)
from podwright.apimachinery.schema.defaults.pods import claim_spec, template_with_defaults

_NO_LIMIT: Final = 2**31 - 1
_SCALE_UP: Final[Document] = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_SCALE_DOWN: Final[Document] = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}
_CPU_METRIC: Final = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}


_TEMPLATE: Final = parts(template=template_with_defaults)
_REPLICAS: Final = chain(absent(replicas=1), _TEMPLATE)


def _rolling(**defaults: Any) -> Change:
    """Return the change of a strategy, whose numbers are only those of a rolling update."""
    of_numbers = chain(absent(rollingUpdate={}), parts(rollingUpdate=absent(**defaults)))

    def change(strategy: Document) -> Document:
        strategy = with_empty(strategy, {"type": "RollingUpdate"})
        return of_numbers(strategy) if strategy["type"] == "RollingUpdate" else strategy

    return change


set_deployment_defaults: Final = spec(
    absent(replicas=1, strategy={}, revisionHistoryLimit=10, progressDeadlineSeconds=600),
    parts(strategy=_rolling(maxUnavailable="25%", maxSurge="25%")),
    _TEMPLATE,
)
set_replica_set_defaults: Final = spec(_REPLICAS)


def set_replication_controller_defaults(controller: Document) -> Document:
    """Set the defaults of a ReplicationController: its selector is the template's labels."""
    labels = _template_labels(controller)
    if labels:
        controller = _with_labels(controller, labels)
        controller = with_spec(controller, lambda of: with_empty(of, {"selector": labels}))
    return with_spec(controller, _REPLICAS)


def _template_labels(document: Document) -> dict[str, Any] | None:
    template: Document = (document.get("spec") or {}).get("template") or {}
    return (template.get("metadata") or {}).get("labels")


def _with_labels(document: Document, labels: dict[str, Any]) -> Document:
    """Return an object with the labels of its template if it has none."""
    metadata: Document = document.get("metadata") or {}
    if metadata.get("labels"):
        return document
    return document | {"metadata": metadata | {"labels": labels}}


def _stateful_strategy(strategy: Document) -> Document:
    if not strategy.get("type"):
        strategy = _ROLLING(strategy)
    return _PARTITION(strategy) if strategy["type"] == "RollingUpdate" else strategy


_ROLLING: Final = chain(empty(type="RollingUpdate"), absent(rollingUpdate={}))
_PARTITION: Final = parts(rollingUpdate=absent(partition=0))

set_stateful_set_defaults: Final = spec(
    empty(podManagementPolicy="OrderedReady"),
    absent(
        replicas=1,
        revisionHistoryLimit=10,
        updateStrategy={},
        persistentVolumeClaimRetentionPolicy={},
    ),
    parts(
        updateStrategy=_stateful_strategy,
        persistentVolumeClaimRetentionPolicy=empty(whenDeleted="Retain", whenScaled="Retain"),
        volumeClaimTemplates=items(
            empty(apiVersion="v1", kind="PersistentVolumeClaim"),
            spec(claim_spec),
            absent(status={}),
            parts(status=empty(phase="Pending")),
        ),
    ),
    _TEMPLATE,
)
set_daemon_set_defaults: Final = spec(
    absent(updateStrategy={}, revisionHistoryLimit=10),
    parts(updateStrategy=_rolling(maxUnavailable=1, maxSurge=0)),
    _TEMPLATE,
)


# --------------------------------------------------------------------------------------- jobs


def set_job_defaults(job: Document) -> Document:
    """Set the defaults of a Job; its selector is generated when it is stored."""
    labels = _template_labels(job)
    return with_spec(_with_labels(job, labels) if labels else job, _job)


def _job(spec: Document) -> Document:
    if spec.get("parallelism") is None:
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
    return _JOB(spec)


_JOB: Final = parts(
    podFailurePolicy=parts(rules=items(parts(onPodConditions=items(empty(status="True"))))),
    template=template_with_defaults,
)
# The jobs of a cron job get their other defaults when they are made.
set_cron_job_defaults: Final = spec(
    empty(concurrencyPolicy="Allow"),
    absent(suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1),
    parts(jobTemplate=parts(spec=_JOB)),
)


# -------------------------------------------------------------------------------- autoscalers


set_autoscaler_defaults: Final = spec(
    absent(minReplicas=1),
    empty(metrics=[_CPU_METRIC]),
    parts(
        behavior=chain(
            absent(scaleUp={}, scaleDown={}),
            parts(scaleUp=absent(**_SCALE_UP), scaleDown=absent(**_SCALE_DOWN)),
        )
    ),
)
set_old_autoscaler_defaults: Final = spec(absent(minReplicas=1))
