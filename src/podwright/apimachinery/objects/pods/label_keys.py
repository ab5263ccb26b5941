"""Labels of a new pod that its own selectors require: `matchLabelKeys`, `mismatchLabelKeys`.

Upstream: pkg/registry/core/pod/strategy.go, mutatePodAffinity and mutateTopologySpreadConstraints
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import is_
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects.decode import Document

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
    return _of_terms(spec, lambda term: _merged(term, labels))


def without_label_keys(spec: Document, labels: Mapping[str, str]) -> Document:
    """Return the spec of a pod without what `with_label_keys` added, as a template has it.

    A new pod whose selector requires the label of a key already is invalid.
    """
    return _of_terms(spec, lambda term: _parted(term, labels))


def _of_terms(spec: Document, change: Change) -> Document:
    """Return a spec with changed constraints, and changed terms of affinity to pods."""
    made = spec
    if spec.get("topologySpreadConstraints"):
        made = _changed_list(made, "topologySpreadConstraints", change)
    if spec.get("affinity"):
        made = _changed(made, "affinity", lambda affinity: _of_affinity(affinity, change))
    return made


def _of_affinity(affinity: Document, change: Change) -> Document:
    def of_terms(terms: Document) -> Document:
        return _changed_list(_changed_list(terms, _PREFERRED, of_weighted), _REQUIRED, change)

    def of_weighted(weighted: Document) -> Document:
        return _changed(weighted, "podAffinityTerm", change)

    for name in ("podAffinity", "podAntiAffinity"):
        affinity = _changed(affinity, name, of_terms)
    return affinity


def _merged(term: Document, labels: Mapping[str, str]) -> Document:
    """Return a term or a constraint whose selector requires what its keys name."""
    selector = term.get("labelSelector")
    # A selector that is absent selects nothing, also with keys.
    if selector is None:
        return term
    added = _required(term, labels)
    if not added:
        return term
    expressions = [*(selector.get("matchExpressions") or ()), *added]
    return term | {"labelSelector": selector | {"matchExpressions": expressions}}


def _parted(term: Document, labels: Mapping[str, str]) -> Document:
    """Return a term or a constraint whose selector does not require what its keys name."""
    selector = term.get("labelSelector") or {}
    expressions, added = selector.get("matchExpressions") or (), _required(term, labels)
    kept = [each for each in expressions if each not in added]
    if len(kept) == len(expressions):
        return term
    return term | {"labelSelector": selector | {"matchExpressions": kept}}


def _required(term: Document, labels: Mapping[str, str]) -> list[Document]:
    """Return the requirements that stand for the keys of a term or a constraint."""
    return [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for name, operator in _KEYS
        for key in term.get(name) or ()
        if key in labels
    ]


def _changed(document: Document, name: str, change: Change) -> Document:
    part: Any = document.get(name)
    if not isinstance(part, dict):
        return document
    made = change(part)
    return document if made is part else document | {name: made}


def _changed_list(document: Document, name: str, change: Change) -> Document:
    parts = document.get(name) or ()
    made = [change(each) for each in parts]
    return document if all(map(is_, parts, made)) else document | {name: made}
