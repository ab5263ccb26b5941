"""The roles and bindings that an API server creates at its first start.

`bootstrap_policy.json` has them with one object a line, without the label and the annotation that
all have. An object or a rule with a `gate` exists only if that feature gate is on.

Stored roles and bindings get what the policy of a later version adds: missing labels, annotations,
rules, selectors and subjects. What users added stays. An annotation excludes an object.

Upstream: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/{policy,controller_policy,
namespace_policy}.go; pkg/registry/rbac/rest/storage_rbac.go;
staging/src/k8s.io/component-helpers/auth/rbac/reconciliation/reconcile_role.go,
computeReconciledRole; reconcile_rolebindings.go, computeReconciledRoleBinding
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.api.authorization.policy_rules import uncovered
from podwright.cluster.api.authorization.role_resolver import GROUP

_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_ANNOTATIONS: Final = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
_URL_GATES: Final = {"/flagz": "ComponentFlagz", "/statusz": "ComponentStatusz"}


class _File(msgspec.Struct, frozen=True, kw_only=True):
    objects: list[dict[str, Any]]


@cache
def bootstrap_policy(disabled: frozenset[str]) -> tuple[Document, ...]:
    """Return the objects in the order of their creation; read-only.

    Parameters
    ----------
    disabled : frozenset of str
        The feature gates that are off.
    """
    data = resources.files("podwright.cluster.api.authorization").joinpath("bootstrap_policy.json")
    found = msgspec.json.decode(data.read_bytes(), type=_File).objects
    return tuple(_document(each, disabled) for each in _enabled(found, disabled))


def _enabled(found: list[dict[str, Any]], disabled: frozenset[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects or rules whose gates are on, without the names of the gates."""
    for each in found:
        if each.get("gate") not in disabled:
            yield {name: value for name, value in each.items() if name != "gate"}


def _document(rest: dict[str, Any], disabled: frozenset[str]) -> Document:
    metadata: Document = {"name": rest.pop("name")}
    if namespace := rest.pop("namespace", ""):
        metadata["namespace"] = namespace
    metadata["labels"] = _LABELS | rest.pop("labels", {})
    metadata["annotations"] = _ANNOTATIONS
    if "rules" in rest:
        rest["rules"] = [_rule(each, disabled) for each in _enabled(rest["rules"], disabled)]
    return {"apiVersion": f"{GROUP}/v1", **rest, "metadata": metadata}


def _rule(rule: dict[str, Any], disabled: frozenset[str]) -> dict[str, Any]:
    urls = rule.get("nonResourceURLs")
    if urls is None:
        return rule
    return rule | {"nonResourceURLs": [x for x in urls if _URL_GATES.get(x) not in disabled]}


# -------------------------------------------------------------------------- what stored objects get

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
