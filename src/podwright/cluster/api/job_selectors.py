"""The generated labels and selector of a new job.

Upstream: pkg/registry/batch/job/strategy.go, generateSelector
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from podwright.apimachinery.objects import KubernetesObject
from podwright.cluster.api.object_edits import patched, section, with_defaults

_UID_LABELS: Final = ("batch.kubernetes.io/controller-uid", "controller-uid")
_NAME_LABELS: Final = ("batch.kubernetes.io/job-name", "job-name")
GENERATED_JOB_LABELS: Final = (*_UID_LABELS, *_NAME_LABELS)


def with_generated_selector(job: KubernetesObject, uid: str = "") -> KubernetesObject:
    """Return a job with upstream's defaults, labels and generated selector.

    A job that has a selector keeps it.

    Parameters
    ----------
    uid : str
        The uid that the job will get, if it has none yet.
    """
    job = with_defaults(job)
    spec = dict(section(job, "spec"))
    if spec.get("selector"):
        return job
    uid = job.uid or uid
    own = dict.fromkeys(_UID_LABELS, uid) | dict.fromkeys(_NAME_LABELS, job.name)
    template = dict(spec.get("template") or {})
    metadata = dict(template.get("metadata") or {})
    given = metadata.get("labels") or {}
    metadata["labels"] = {**given, **own}
    spec["template"] = template | {"metadata": metadata}
    spec["selector"] = {"matchLabels": {_UID_LABELS[0]: uid}}
    # Upstream: a job without labels of its own shares those of its template.
    labels = dict(job.metadata.labels)
    if not labels or labels == given:
        labels = metadata["labels"]
    return patched(job, metadata={"labels": labels}, spec=spec)


def without_generated_selector(job: KubernetesObject) -> KubernetesObject:
    """Return a job without generated labels and selector, as it can be created again.

    A job with `manualSelector` keeps its own.
    """
    spec = dict(section(job, "spec"))
    if spec.get("manualSelector"):
        return job
    template = dict(spec.get("template") or {})
    metadata = dict(template.get("metadata") or {})
    metadata["labels"] = _without_generated(metadata.get("labels") or {})
    template["metadata"] = metadata
    labels = _without_generated(job.metadata.labels)
    return patched(job, metadata={"labels": labels}, spec={"template": template, "selector": None})


def _without_generated(labels: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key not in GENERATED_JOB_LABELS}
