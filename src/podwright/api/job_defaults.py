"""The defaults of a new job, with its generated labels and selector.

Upstream: pkg/apis/batch/v1/defaults.go; pkg/registry/batch/job/strategy.go, generateSelector
"""

from __future__ import annotations

from typing import Final

from podwright.api.object_edits import patched, section
from podwright.objects import (
    Document,
    KubernetesObject,
)

_UID_LABELS: Final = ("batch.kubernetes.io/controller-uid", "controller-uid")
_NAME_LABELS: Final = ("batch.kubernetes.io/job-name", "job-name")
_NO_LIMIT: Final = 2**31 - 1


def with_job_defaults(job: KubernetesObject, uid: str = "") -> KubernetesObject:
    """Return a job with the API server's defaults, labels and generated selector.

    A job that has a selector is returned unchanged.

    Parameters
    ----------
    uid : str
        The uid that the job will get, if it has none yet.
    """
    written = section(job, "spec")
    if written.get("selector"):
        return job
    uid = job.uid or uid
    has_own_limits = written.get("backoffLimitPerIndex") is not None
    spec: Document = {
        "backoffLimit": _NO_LIMIT if has_own_limits else 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "Failed"
        if written.get("podFailurePolicy")
        else "TerminatingOrFailed",
    } | {name: value for name, value in written.items() if value is not None}
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    own = dict.fromkeys(_UID_LABELS, uid) | dict.fromkeys(_NAME_LABELS, job.name)
    template = dict(spec.get("template") or {})
    metadata = dict(template.get("metadata") or {})
    given = metadata.get("labels") or {}
    metadata["labels"] = {**given, **own}
    template["metadata"] = metadata
    spec["template"] = template
    spec["selector"] = {"matchLabels": {_UID_LABELS[0]: uid}}
    # Upstream: a job without labels gets those of its template.
    labels = dict(job.metadata.labels) or dict(metadata["labels"])
    return patched(job, metadata={"labels": labels}, spec=spec)
