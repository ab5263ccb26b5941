"""Warnings about nodes, and about selectors of nodes by labels that are deprecated.

Upstream: pkg/api/node/util.go; pkg/registry/core/node/strategy.go
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.names import label_value
from podwright.apimachinery.schema.warnings.addresses import cidr_warnings

DEPRECATED_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
"""The labels of nodes that are deprecated, and what to use instead."""


def node_warnings(node: Document, old: Document | None) -> list[str]:
    """Return the warnings about a node."""
    del old
    spec: Document = node.get("spec") or {}
    found: list[str] = []
    if spec.get("configSource") is not None:
        found.append("spec.configSource: the feature is removed")
    if spec.get("externalID"):
        found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    for index, text in enumerate(spec.get("podCIDRs") or ()):
        found += cidr_warnings(f"spec.podCIDRs[{index}]", text)
    return found


def runtime_class_warnings(runtime_class: Document, old: Document | None) -> list[str]:
    """Return the warnings about a RuntimeClass."""
    del old
    selector = (runtime_class.get("scheduling") or {}).get("nodeSelector") or {}
    return [
        f"scheduling.nodeSelector: {DEPRECATED_LABELS[key]}"
        for key in selector
        if key in DEPRECATED_LABELS
    ]


def selector_warnings(path: str, selector: Document | None) -> list[str]:
    """Return the warnings about a label selector of nodes."""
    selector = selector or {}
    found = _expression_warnings(path, selector.get("matchExpressions") or ())
    return found + [
        f"{path}.matchLabels.{key}: {DEPRECATED_LABELS[key]}"
        for key in selector.get("matchLabels") or ()
        if key in DEPRECATED_LABELS
    ]


def term_warnings(path: str, term: Document, *, checks_values: bool = False) -> list[str]:
    """Return the warnings about a term of a node selector.

    Parameters
    ----------
    checks_values : bool
        Whether values that are no label values are warned about; those of required terms are
        errors.
    """
    return _expression_warnings(
        path, term.get("matchExpressions") or (), checks_values=checks_values
    )


def _expression_warnings(
    path: str, expressions: Iterable[Document], *, checks_values: bool = False
) -> list[str]:
    found: list[str] = []
    for index, expression in enumerate(expressions):
        at, key = f"{path}.matchExpressions[{index}]", expression.get("key") or ""
        if key in DEPRECATED_LABELS:
            found.append(f"{at}.key: {key} is {DEPRECATED_LABELS[key]}")
        if checks_values:
            found += [
                f"{at}.values[{number}]: {value} is invalid, {text}"
                for number, value in enumerate(expression.get("values") or ())
                for text in label_value(value)
            ]
    return found
