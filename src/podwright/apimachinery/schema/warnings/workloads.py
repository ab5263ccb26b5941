"""Warnings about workloads: about their names, and about their templates of pods.

The template is looked at again when the generation of the object changes.

Upstream: pkg/registry/{apps,batch,core}/*/strategy.go; pkg/api/job/warnings.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.names import dns_label
from podwright.apimachinery.schema.warnings.pods import (
    claim_spec_warnings,
    name_warning,
    template_warnings,
)

_TEMPLATE: Final = "spec.template"
_COMPLETIONS_MAX: Final = 100_000
_PARALLELISM_MAX: Final = 10_000


def deployment_warnings(deployment: Document, old: Document | None) -> list[str]:
    """Return the warnings about a Deployment or a ReplicaSet."""
    return _name(deployment, old) + _template(deployment, old)


def daemon_set_warnings(daemon_set: Document, old: Document | None) -> list[str]:
    """Return the warnings about a DaemonSet."""
    # Upstream compares the generation of the template, which only changes of it raise.
    if old is not None and _template_of(daemon_set) == _template_of(old):
        return []
    return template_warnings(_TEMPLATE, _template_of(daemon_set))


def stateful_set_warnings(stateful_set: Document, old: Document | None) -> list[str]:
    """Return the warnings about a StatefulSet."""
    spec: Document = stateful_set.get("spec") or {}
    found = _template(stateful_set, old)
    end = "" if old is None else ".Spec"
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        path = f"spec.volumeClaimTemplates[{index}]{end}"
        found += claim_spec_warnings(path, claim.get("spec") or {})
    limit = spec.get("revisionHistoryLimit")
    if isinstance(limit, int) and limit < 0:
        found.append(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value"
            " >= 0 is recommended"
        )
    return found


def replication_controller_warnings(controller: Document, old: Document | None) -> list[str]:
    """Return the warnings about a ReplicationController.

    As upstream, a change warns about the template before it.
    """
    if old is None:
        return deployment_warnings(controller, None)
    if not _is_changed(controller, old):
        return []
    return template_warnings(_TEMPLATE, _template_of(old))


def pod_template_warnings(template: Document, old: Document | None) -> list[str]:
    """Return the warnings about a PodTemplate."""
    if not _is_changed(template, old):
        return []
    return template_warnings("template", template.get("template") or {})


def job_warnings(job: Document, old: Document | None) -> list[str]:
    """Return the warnings about a Job."""
    found = _name(job, old)
    return found + _job_spec("spec", job.get("spec") or {}) if _is_changed(job, old) else found


def cron_job_warnings(cron_job: Document, old: Document | None) -> list[str]:
    """Return the warnings about a CronJob."""
    spec: Document = cron_job.get("spec") or {}
    found = _name(cron_job, old)
    if _is_changed(cron_job, old):
        found += _job_spec(
            "spec.jobTemplate.spec", (spec.get("jobTemplate") or {}).get("spec") or {}
        )
    if old is not None and "TZ" in (spec.get("schedule") or ""):
        found.append(
            # The path is upstream's.
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see"
            " https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
        )
    return found


def _job_spec(path: str, spec: Document) -> list[str]:
    found: list[str] = []
    completions, parallelism = spec.get("completions") or 0, spec.get("parallelism") or 0
    is_indexed = spec.get("completionMode") == "Indexed"
    if is_indexed and completions > _COMPLETIONS_MAX and parallelism > _PARALLELISM_MAX:
        found.append(
            f"{path}: In Indexed Jobs with a number of completions higher than 10^5 and a"
            " parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes"
            " when a big number of indexes fail"
        )
    return found + template_warnings(f"{path}.template", spec.get("template") or {})


def _name(document: Document, old: Document | None) -> list[str]:
    """Return the warning about the name of a new object."""
    if old is not None:
        return []
    wrong = dns_label((document.get("metadata") or {}).get("name") or "")
    return [name_warning("Pod names and hostnames", wrong)] if wrong else []


def _template(document: Document, old: Document | None) -> list[str]:
    if not _is_changed(document, old):
        return []
    return template_warnings(_TEMPLATE, _template_of(document))


def _template_of(document: Document) -> Document:
    template: Document = (document.get("spec") or {}).get("template") or {}
    return template


def _is_changed(document: Document, old: Document | None) -> bool:
    """Whether an object is new or has another generation."""
    return old is None or _generation(document) != _generation(old)


def _generation(document: Document) -> object:
    return (document.get("metadata") or {}).get("generation")
