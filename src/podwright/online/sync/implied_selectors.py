"""The selector that Services and owners imply for a pod at the source.

The scheduler spreads pods without constraints of their own by it. A copy of the pod has no owner,
and workloads are not copied, so the selector is kept in an annotation.

Upstream: pkg/scheduler/framework/plugins/helper/spread.go
"""

from __future__ import annotations

from typing import Final

import msgspec

from podwright.apimachinery.objects import Document, Object, Pod, Requirement, Selector
from podwright.apimachinery.schema import decode
from podwright.online.sync.change_merge import SourceChange
from podwright.scheduler.columns import SPREAD_SELECTOR, WorkloadIndex, default_selector

_DEFAULTS: Final = (("kubernetes.io/hostname", 3), ("topology.kubernetes.io/zone", 5))
"""Upstream's system defaults: topology key and maximum skew, both ScheduleAnyway."""


class ImpliedSelectors:
    """The Services and owners of a source."""

    def __init__(self) -> None:
        self._index = WorkloadIndex()
        self._objects: dict[tuple[str, str], Object] = {}
        self._read: dict[tuple[str, str], Document] = {}

    def take(self, each: SourceChange) -> bool:
        """Take a change of a Service or of an owner; return whether a selector may change."""
        place = (each.kind.resource, each.change.meta.key)
        known = self._objects.get(place)
        if each.change.event == "Delete":
            if known is not None:
                del self._objects[place]
                self._index.delete(known)
            return known is not None
        document = msgspec.json.decode(each.change.body)
        spec = document.get("spec") or {}
        # Their templates and counts are not read, and change often.
        read = {"selector": spec.get("selector"), "uid": each.change.meta.uid}
        if self._read.get(place) == read and known is not None:
            return False
        self._read[place] = read
        obj = decode({**document, "apiVersion": each.kind.api_version, "kind": each.kind.kind})
        self._objects[place] = obj
        self._index.put(obj)
        return True

    def of(self, document: Document) -> Selector:
        """Return the selector of a pod of the source; empty if nothing selects it."""
        head = {"apiVersion": "v1", "kind": "Pod", "metadata": document["metadata"]}
        pod = decode({**head, "spec": {"containers": []}})
        assert isinstance(pod, Pod)
        metadata = pod.metadata
        return default_selector(
            self._index, metadata.namespace, metadata.labels, metadata.controller
        )


def with_selector(copy: Document, selector: Selector, *, is_explicit: bool) -> Document:
    """Return a copy of a pod that is spread by a selector.

    Parameters
    ----------
    copy : Document
    selector : Selector
    is_explicit : bool
        Whether to write constraints instead of the annotation, for schedulers that do not read it.
        They differ from default constraints on nodes without the label of a topology.
    """
    if selector.is_empty or (copy["spec"].get("topologySpreadConstraints")):
        return copy
    if is_explicit:
        expressions = [_expression(each) for each in selector.requirements]
        constraints = [
            {
                "maxSkew": skew,
                "topologyKey": key,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchExpressions": expressions},
            }
            for key, skew in _DEFAULTS
        ]
        return {**copy, "spec": {**copy["spec"], "topologySpreadConstraints": constraints}}
    metadata = copy["metadata"]
    annotations = {**(metadata.get("annotations") or {}), SPREAD_SELECTOR: str(selector)}
    return {**copy, "metadata": {**metadata, "annotations": annotations}}


def _expression(requirement: Requirement) -> Document:
    expression: Document = {"key": requirement.key, "operator": requirement.operator}
    if requirement.values:
        expression["values"] = list(requirement.values)
    return expression
