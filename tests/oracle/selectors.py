"""Label selectors, node selectors and tolerations.

Upstream: apimachinery/pkg/labels/selector.go, apimachinery/pkg/apis/meta/v1/helpers.go
(LabelSelectorAsSelector), component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
component-helpers/scheduling/corev1/helpers.go, api/core/v1/toleration.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

Document = dict[str, Any]
Labels = dict[str, str]

_INT64 = re.compile(r"[+-]?\d+")


def parse_int64(text: str) -> int | None:
    """Return the integer that Go's strconv.ParseInt parses, or None."""
    if not _INT64.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def matches_requirement(requirement: Document, labels: Labels) -> bool:
    """Evaluate one `{key, operator, values}` of a label or node selector."""
    key, operator = requirement["key"], requirement["operator"]
    values = requirement.get("values") or []
    present = key in labels
    if operator == "In":
        return present and labels[key] in values
    if operator == "NotIn":
        return not present or labels[key] not in values
    if operator == "Exists":
        return present
    if operator == "DoesNotExist":
        return not present
    if not present:
        return False
    actual, bound = parse_int64(labels[key]), parse_int64(values[0])
    if actual is None or bound is None:
        return False
    return actual > bound if operator == "Gt" else actual < bound


class LabelSelector:
    """A metav1.LabelSelector; None selects nothing, an empty one everything."""

    def __init__(self, document: Document | None) -> None:
        self.is_nothing = document is None
        document = document or {}
        self.requirements: list[Document] = [
            {"key": key, "operator": "In", "values": [requested]}
            for key, requested in (document.get("matchLabels") or {}).items()
        ] + list(document.get("matchExpressions") or [])

    @property
    def is_empty(self) -> bool:
        """Whether there is no requirement; a selector of nothing is not empty."""
        return not self.is_nothing and not self.requirements

    def matches(self, labels: Labels) -> bool:
        """Whether all requirements hold."""
        return not self.is_nothing and all(
            matches_requirement(requirement, labels) for requirement in self.requirements
        )


class InvalidTermError(ValueError):
    """An invalid node selector term; the text is upstream's field error."""


def check_term(term: Document, path: str) -> list[str]:
    """Return the errors of a node selector term, as upstream's field errors."""
    errors = []
    for index, requirement in enumerate(term.get("matchExpressions") or []):
        if requirement["operator"] in {"Gt", "Lt"}:
            bound = (requirement.get("values") or [""])[0]
            if parse_int64(bound) is None:
                errors.append(
                    f"{path}.matchExpressions[{index}].values[0]: Invalid value: "
                    f"\"{bound}\": for 'Gt', 'Lt' operators, the value must be an integer"
                )
    for index, requirement in enumerate(term.get("matchFields") or []):
        values = requirement.get("values") or []
        if len(values) != 1:
            errors.append(
                f"{path}.matchFields[{index}].values: Invalid value: {values}: "
                "must have one element"
            )
    return errors


def is_empty_term(term: Document) -> bool:
    """Whether a term has no requirements; such a term matches no node."""
    return not term.get("matchExpressions") and not term.get("matchFields")


def matches_term(term: Document, node: Document) -> bool:
    """Evaluate one node selector term; an empty or malformed term matches no node."""
    if is_empty_term(term) or check_term(term, ""):
        return False
    labels = node["metadata"].get("labels") or {}
    fields = {"metadata.name": node["metadata"]["name"]}
    return all(
        matches_requirement(requirement, labels)
        for requirement in term.get("matchExpressions") or []
    ) and all(
        matches_requirement(requirement, fields) for requirement in term.get("matchFields") or []
    )


def matches_node_selector(selector: Document, node: Document) -> bool:
    """Whether one of the terms of a required node affinity matches."""
    return any(matches_term(term, node) for term in selector.get("nodeSelectorTerms") or [])


def node_affinity(pod: Document) -> Document:
    """Return the pod's spec.affinity.nodeAffinity, or an empty dictionary."""
    found: Document = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    return found


def matches_required_affinity(pod: Document, node: Document) -> bool:
    """Evaluate nodeSelector and required node affinity (GetRequiredNodeAffinity(pod).Match)."""
    labels = node["metadata"].get("labels") or {}
    for key, requested in (pod["spec"].get("nodeSelector") or {}).items():
        if labels.get(key) != requested:
            return False
    required = node_affinity(pod).get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or matches_node_selector(required, node)


def tolerates(toleration: Document, taint: Document) -> bool:
    """Evaluate one toleration (Toleration.ToleratesTaint); Gt and Lt need a gate that is off."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect", ""):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key", ""):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return bool(toleration.get("value", "") == taint.get("value", ""))
    return bool(operator == "Exists")


def has_untolerated_taint(
    taints: Iterable[Document], tolerations: Iterable[Document], effects: set[str]
) -> bool:
    """Whether a taint with one of the effects is not tolerated."""
    tolerations = list(tolerations)
    return any(
        taint.get("effect") in effects and not any(tolerates(t, taint) for t in tolerations)
        for taint in taints
    )


DO_NOT_SCHEDULE = {"NoSchedule", "NoExecute"}
