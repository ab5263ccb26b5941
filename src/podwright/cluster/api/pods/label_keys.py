"""Labels of a new pod that its own selectors require: `matchLabelKeys`, `mismatchLabelKeys`.

Upstream: pkg/registry/core/pod/strategy.go, mutatePodAffinity and mutateTopologySpreadConstraints
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import Document

Change: TypeAlias = Callable[[Document], Document]

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_KEYS: Final = (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))


def with_label_keys(spec: Document, labels: Mapping[str, str]) -> Document:
    """Return the spec of a new pod whose selectors require the values of its labels.

    Parameters
    ----------
    spec : dict
        The same spec is returned if no term or constraint has keys.
    labels : mapping of str to str
        The labels of the pod.
    """
    made = spec
    if spec.get("topologySpreadConstraints"):
        made = _changed_list(made, "topologySpreadConstraints", lambda each: _merged(each, labels))
    if spec.get("affinity"):
        made = _changed(made, "affinity", lambda affinity: _of_affinity(affinity, labels))
    return made


def _of_affinity(affinity: Document, labels: Mapping[str, str]) -> Document:
    def of_terms(terms: Document) -> Document:
        terms = _changed_list(terms, _PREFERRED, of_weighted)
        return _changed_list(terms, _REQUIRED, lambda term: _merged(term, labels))

    def of_weighted(weighted: Document) -> Document:
        return _changed(weighted, "podAffinityTerm", lambda term: _merged(term, labels))

    for name in ("podAffinity", "podAntiAffinity"):
        affinity = _changed(affinity, name, of_terms)
    return affinity


def _merged(term: Document, labels: Mapping[str, str]) -> Document:
    """Return a term or a constraint whose selector requires what its keys name."""
    selector = term.get("labelSelector")
    # A selector that is absent selects nothing, also with keys.
    if selector is None:
        return term
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for name, operator in _KEYS
        for key in term.get(name) or ()
        if key in labels
    ]
    if not added:
        return term
    expressions = [*(selector.get("matchExpressions") or ()), *added]
    return term | {"labelSelector": selector | {"matchExpressions": expressions}}


def _changed(document: Document, name: str, change: Change) -> Document:
    part: Any = document.get(name)
    if not isinstance(part, dict):
        return document
    made = change(part)
    return document if made is part else document | {name: made}


def _changed_list(document: Document, name: str, change: Change) -> Document:
    parts = document.get(name) or ()
    made = [change(each) for each in parts]
    is_same = all(one is other for one, other in zip(parts, made, strict=True))
    return document if is_same else document | {name: made}
