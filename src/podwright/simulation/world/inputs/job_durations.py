"""How long the pods of Jobs run, where neither an annotation nor a Stage says so.

The built-in stages complete a pod of a Job as soon as it runs. A duration for all Jobs without one
is set as the annotation of their pod templates.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeVar

from podwright.apimachinery.objects import Document, KubernetesObject, encode
from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.kubelets import RUN_DELAY
from podwright.cluster.store import kind_of
from podwright.scheduler.config import format_duration

T = TypeVar("T", bound=KubernetesObject)

_GROUP: Final = "batch"
_FINISHED: Final = ("Complete", "Failed")


def jobs_without_duration(objects: Iterable[KubernetesObject]) -> tuple[str, ...]:
    """Return the Jobs and CronJobs whose pods would complete as soon as they run.

    Returns
    -------
    tuple of str
        Such as `job/default/train`, without duplicates.
    """
    found = (obj for obj in objects if _has_no_duration(obj))
    return tuple(dict.fromkeys(f"{obj.kind.lower()}/{obj.key}" for obj in found))


def with_job_duration(obj: T, duration_ns: int) -> T:
    """Return a Job or CronJob whose pods run for a duration, unless it has one; or `obj`."""
    if not _has_no_duration(obj):
        return obj
    document = dict(encode(obj))
    place = document
    # Only what is on the path is copied; the rest is shared with the original.
    for name in _template_path(obj):
        place[name] = dict(place.get(name) or {})
        place = place[name]
    metadata = place["metadata"] = dict(place.get("metadata") or {})
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {**annotations, RUN_DELAY: format_duration(duration_ns)}
    changed: Any = decode(document)
    return changed  # type: ignore[no-any-return]  # an object of the same kind


def _template_path(obj: KubernetesObject) -> list[str]:
    """Return the path of the pod template of a Job or CronJob; empty for other kinds."""
    kind = kind_of(obj)
    path = built_in().pod_templates.get(kind) if kind[0] == _GROUP else None
    return path.split(".") if path else []


def _has_no_duration(obj: KubernetesObject) -> bool:
    path = _template_path(obj)
    if not path:
        return False
    document = encode(obj)
    conditions = (document.get("status") or {}).get("conditions") or ()
    if any(each.get("type") in _FINISHED and each.get("status") == "True" for each in conditions):
        return False
    template: Document = document
    for name in path:
        template = template.get(name) or {}
    return RUN_DELAY not in ((template.get("metadata") or {}).get("annotations") or {})
