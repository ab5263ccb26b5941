"""How stored roles and bindings get what the policy of a later version adds.

Missing labels, annotations, rules, selectors and subjects are added; what users added stays. An
annotation excludes an object.

Upstream: staging/src/k8s.io/component-helpers/auth/rbac/reconciliation/reconcile_role.go,
computeReconciledRole; reconcile_rolebindings.go, computeReconciledRoleBinding
"""

from __future__ import annotations

from typing import Any, Final

from podwright.apimachinery.objects import Document
from podwright.cluster.api.authorization.policy_rules import uncovered

_AUTO_UPDATE: Final = "rbac.authorization.kubernetes.io/autoupdate"
_SELECTORS: Final = "clusterRoleSelectors"


def reconciled(stored: Document, expected: Document) -> Document:
    """Return a stored role or binding with what it lacks; itself if it lacks nothing.

    A binding of another role becomes the expected one, since bindings keep their role.
    """
    metadata = stored["metadata"]
    if (metadata.get("annotations") or {}).get(_AUTO_UPDATE) == "false":
        return stored
    if stored.get("roleRef") != expected.get("roleRef"):
        return expected
    changes: Document = {}
    for name in ("annotations", "labels"):
        merged = (expected["metadata"].get(name) or {}) | (metadata.get(name) or {})
        if merged != (metadata.get(name) or {}):
            metadata = changes["metadata"] = metadata | {name: merged}
    rules, subjects = (stored.get(name) or [] for name in ("rules", "subjects"))
    if missing := uncovered(rules, expected.get("rules") or ()):
        changes["rules"] = [*rules, *missing]
    if missing := _absent(subjects, expected.get("subjects")):
        changes["subjects"] = [*subjects, *missing]
    aggregation = expected.get("aggregationRule")
    selectors = (stored.get("aggregationRule") or {}).get(_SELECTORS) or []
    if aggregation is None:
        if stored.get("aggregationRule") is not None:
            changes["aggregationRule"] = None
    elif missing := _absent(selectors, aggregation.get(_SELECTORS)):
        changes["aggregationRule"] = {_SELECTORS: [*selectors, *missing]}
    return stored | changes if changes else stored


def _absent(present: list[Any], expected: list[Any] | None) -> list[Any]:
    return [each for each in expected or () if each not in present]
