"""Defaults and bounds of the resources of pods and claims, from the limit ranges of a namespace.

Upstream: plugin/pkg/admission/limitranger/admission.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from podwright.apimachinery.objects import Document, Quantity, aggregated, format_quantity
from podwright.cluster.api.admission.amounts import Amounts, amounts_of
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import (
    CLAIMS,
    PODS,
    AdmissionContext,
    Plugin,
    Resources,
    rejected,
    spec_of,
)
from podwright.cluster.api.admission.pods.pod_amounts import spec_amounts
from podwright.cluster.api.followed import CurrentObjects
from podwright.cluster.store import GroupKind

ANNOTATION: Final = "kubernetes.io/limit-ranger"

_LIMIT_RANGE: Final[GroupKind] = ("", "LimitRange")

_MAX_MILLI_VALUE: Final = (2**63 - 1) // 1000


class LimitRanger(Plugin):
    """Sets missing resources of containers, and rejects those out of bounds."""

    name = "LimitRanger"
    decides_alike = True
    resources: Resources = PODS | CLAIMS
    template_kinds = frozenset({_LIMIT_RANGE})

    def __init__(self, context: AdmissionContext) -> None:
        super().__init__(context)
        self._ranges = CurrentObjects(context.store, _LIMIT_RANGE)

    def admit(self, attributes: Attributes) -> None:
        """Set the default requests and limits of the containers of a pod."""
        if not _is_limited(attributes) or attributes.resource.plural != "pods":
            return
        for limit_range in self._ranges.in_namespace(attributes.namespace):
            assert attributes.object is not None, "a created or changed pod is an object"
            attributes.object = with_default_resources(attributes.object, limit_range)

    def validate(self, attributes: Attributes) -> None:
        """Reject a pod or a claim out of bounds."""
        if not _is_limited(attributes):
            return
        for limit_range in self._ranges.in_namespace(attributes.namespace):
            spec = spec_of(attributes)
            of_pods = attributes.resource.plural == "pods"
            limits = (limit_range.get("spec") or {}).get("limits") or ()
            found = _pod_problems(spec, limits) if of_pods else _claim_problems(spec, limits)
            if problems := list(found):
                raise rejected(attributes, aggregated(problems))

    def decides_by_shape(self, attributes: Attributes) -> bool:
        """Return whether no limit range of the namespace bounds amounts."""
        return not self._ranges.in_namespace(attributes.namespace)


def _is_limited(attributes: Attributes) -> bool:
    """Whether limits apply to a write: new pods, resized pods, and claims."""
    if attributes.operation not in ("CREATE", "UPDATE"):
        return False
    if ((attributes.old or {}).get("metadata") or {}).get("deletionTimestamp"):
        return False
    if attributes.is_for("", "pods"):
        return attributes.operation == "CREATE"
    if attributes.is_for("", "pods", "resize"):
        return attributes.operation == "UPDATE"
    return attributes.is_for("", "persistentvolumeclaims")


# ----------------------------------------------------------------------------- defaults


def with_default_resources(pod: Document, limit_range: Document) -> Document:
    """Return a pod with the default resources of a limit range, named in an annotation."""
    requests: Document = {}
    limits: Document = {}
    for item in (limit_range.get("spec") or {}).get("limits") or ():
        if item.get("type") == "Container":
            requests |= item.get("defaultRequest") or {}
            limits |= item.get("default") or {}
    if not requests and not limits:
        return pod
    spec: Document = dict(pod.get("spec") or {})
    changes: list[str] = []
    for field, word in (("containers", "container"), ("initContainers", "init container")):
        if spec.get(field):
            spec[field] = [
                _completed(container, requests, limits, word, changes) for container in spec[field]
            ]
    if not changes:
        return pod
    metadata: Document = pod.get("metadata") or {}
    text = f"LimitRanger plugin set: {'; '.join(changes)}"
    annotations = {**(metadata.get("annotations") or {}), ANNOTATION: text}
    return pod | {"metadata": metadata | {"annotations": annotations}, "spec": spec}


def _completed(
    container: Document, requests: Document, limits: Document, word: str, changes: list[str]
) -> Document:
    resources: Document = container.get("resources") or {}
    for field, defaults in (("requests", requests), ("limits", limits)):
        own: Document = resources.get(field) or {}
        missing = {name: value for name, value in defaults.items() if name not in own}
        if missing:
            resources = resources | {field: own | missing}
            kind = "request" if field == "requests" else "limit"
            names = ", ".join(sorted(missing))
            changes.append(f"{names} {kind} for {word} {container.get('name', '')}")
    return container | {"resources": resources}


# ------------------------------------------------------------------------------- bounds


def _pod_problems(spec: Document, limits: Iterable[Document]) -> Iterator[str]:
    for item in limits:
        if item.get("type") == "Container":
            containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
            for container in containers:
                resources = container.get("resources") or {}
                yield from _bound_problems(
                    item, amounts_of(resources.get("requests")), amounts_of(resources.get("limits"))
                )
        elif item.get("type") == "Pod":
            requests = spec_amounts(spec, "requests")
            yield from _bound_problems(item, requests, spec_amounts(spec, "limits"))


def _bound_problems(item: Document, requests: Amounts, limits: Amounts) -> Iterator[str]:
    kind = item["type"]
    for name, bound in sorted(amounts_of(item.get("min")).items()):
        yield from _minimum(kind, name, bound, requests, limits)
    for name, bound in sorted(amounts_of(item.get("max")).items()):
        yield from _maximum(kind, name, bound, requests, limits)
    for name, bound in sorted(amounts_of(item.get("maxLimitRequestRatio")).items()):
        yield from _ratio(kind, name, bound, requests, limits)


def _claim_problems(spec: Document, limits: Iterable[Document]) -> Iterator[str]:
    requests = amounts_of((spec.get("resources") or {}).get("requests"))
    for item in limits:
        kind = item.get("type")
        if kind != "PersistentVolumeClaim":
            continue
        for name, bound in sorted(amounts_of(item.get("min")).items()):
            yield from _minimum(kind, name, bound, requests, {})
        for name, bound in sorted(amounts_of(item.get("max")).items()):
            prefix = f"maximum {name} usage per {kind} is {format_quantity(bound)}"
            request = requests.get(name)
            if request is None:
                yield f"{prefix}.  No request is specified"
            elif _is_less(bound, request):
                yield f"{prefix}, but request is {format_quantity(request)}"


def _minimum(
    kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts
) -> Iterator[str]:
    prefix = f"minimum {name} usage per {kind} is {format_quantity(bound)}"
    request, limit = requests.get(name), limits.get(name)
    if request is None:
        yield f"{prefix}.  No request is specified"
    elif _is_less(request, bound, limit):
        yield f"{prefix}, but request is {format_quantity(request)}"
    elif limit is not None and _is_less(limit, bound, request):
        yield f"{prefix}, but limit is {format_quantity(limit)}"


def _maximum(
    kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts
) -> Iterator[str]:
    prefix = f"maximum {name} usage per {kind} is {format_quantity(bound)}"
    request, limit = requests.get(name), limits.get(name)
    if limit is None:
        yield f"{prefix}.  No limit is specified"
    elif _is_less(bound, limit, request):
        yield f"{prefix}, but limit is {format_quantity(limit)}"
    elif request is not None and _is_less(bound, request, limit):
        yield f"{prefix}, but request is {format_quantity(request)}"


def _ratio(
    kind: str, name: str, bound: Quantity, requests: Amounts, limits: Amounts
) -> Iterator[str]:
    prefix = f"{name} max limit to request ratio per {kind} is {format_quantity(bound)}"
    request, limit = requests.get(name), limits.get(name)
    unit = _unit(request, limit, bound)
    requested = request.scaled_value(unit) if request is not None else 0
    limited = limit.scaled_value(unit) if limit is not None else 0
    if not requested:
        yield f"{prefix}, but no request is specified or request is 0"
    elif not limited:
        yield f"{prefix}, but no limit is specified or limit is 0"
    else:
        ratio = shown = float(limited) / float(requested)
        largest = float(bound.value())
        if bound.value() <= _MAX_MILLI_VALUE:
            ratio, largest = ratio * 1000, float(bound.milli_value())
        if ratio > largest:
            yield f"{prefix}, but provided ratio is {shown:f}"


def _is_less(first: Quantity, second: Quantity, other: Quantity | None = None) -> bool:
    """Compare in thousandths if all fit, else in whole numbers, as upstream."""
    unit = _unit(first, second, other)
    return first.scaled_value(unit) < second.scaled_value(unit)


def _unit(*quantities: Quantity | None) -> int:
    fits = all(each is None or each.value() <= _MAX_MILLI_VALUE for each in quantities)
    return -3 if fits else 0
