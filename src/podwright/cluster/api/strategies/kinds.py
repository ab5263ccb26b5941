"""The strategy of each kind: whether it has a status, a generation, a grace period.

Upstream: pkg/registry/*/*/strategy.go; pkg/registry/batch/job/strategy.go, generateSelector.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from podwright.apimachinery.objects import Document, KubernetesObject, encode
from podwright.apimachinery.schema import KindRow, built_in
from podwright.cluster.api.object_edits import edited, patched, section, with_defaults
from podwright.cluster.api.strategies.parts import without
from podwright.cluster.store import GroupKind

JOB: Final[GroupKind] = ("batch", "Job")

_CUSTOM: Final = KindRow(group="", version="", kind="", type="", has_generation=True)
"""The row of custom resources without subresources."""


@cache
def strategy_of(kind: GroupKind) -> KindRow:
    """Return how the objects of a stored kind are written."""
    known = built_in().of(*kind)
    return _CUSTOM if known is None else known.row


# The generated labels and selector of a new job.

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
    has_labels = bool(job.metadata.labels)
    job = with_defaults(job)
    document = encode(job)
    made = with_own_selector(document, job.uid or uid, has_labels=has_labels)
    return edited(job, made, document)


def with_own_selector(job: Document, uid: str, *, has_labels: bool) -> Document:
    """Return a job with defaults and its generated labels and selector, if it has no selector.

    Parameters
    ----------
    has_labels : bool
        Whether the job was sent with labels; otherwise its template's are the default.
    """
    if (job.get("spec") or {}).get("selector"):
        return job
    job = without_default_labels(job, has_labels=has_labels)
    return with_template_labels(generated_selector(job, uid))


def without_default_labels(job: Document, *, has_labels: bool) -> Document:
    """Return a new job without labels if they are only the default: its template's."""
    metadata: Document = job.get("metadata") or {}
    template = (job.get("spec") or {}).get("template") or {}
    if has_labels or metadata.get("labels") != (template.get("metadata") or {}).get("labels"):
        return job
    return job | {"metadata": without(metadata, "labels")}


def with_template_labels(job: Document) -> Document:
    """Return a job with the labels that it gets when it is read: without own ones its template's.

    Upstream: pkg/apis/batch/v1/defaults.go, SetDefaults_Job
    """
    metadata: Document = job.get("metadata") or {}
    template = (job.get("spec") or {}).get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    if metadata.get("labels") or not labels:
        return job
    return job | {"metadata": metadata | {"labels": labels}}


def generated_selector(job: Document, uid: str) -> Document:
    """Return a job with defaults, except labels, with its generated labels and selector."""
    metadata, spec = job["metadata"], job.get("spec") or {}
    template: Document = spec.get("template") or {}
    inner: Document = template.get("metadata") or {}
    given: dict[str, str] = inner.get("labels") or {}
    own = dict.fromkeys(_UID_LABELS, uid) | dict.fromkeys(_NAME_LABELS, metadata.get("name", ""))
    labels = {**given, **{name: value for name, value in own.items() if name not in given}}
    selector: Document = spec.get("selector") or {}
    matched = {_UID_LABELS[0]: uid} | (selector.get("matchLabels") or {})
    # Go's default shares the map of the template's labels, if the template has any.
    if given and not metadata.get("labels"):
        metadata = metadata | {"labels": labels}
    return job | {
        "metadata": metadata,
        "spec": spec
        | {
            "selector": selector | {"matchLabels": matched},
            "template": template | {"metadata": inner | {"labels": labels}},
        },
    }


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
