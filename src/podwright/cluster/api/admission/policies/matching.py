"""Which requests a policy or a binding matches.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/matching/matching.go;
staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/{rules,namespace,object}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from podwright.apimachinery.objects import (
    Document,
    LabelSelector,
    Selector,
    SelectorError,
    label_selector,
)
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import AdmissionContext, metadata_of
from podwright.cluster.api.versions.resources import Resource
from podwright.cluster.store import NAMESPACE


class PolicyConfigurationError(ValueError):
    """A policy or a binding cannot be evaluated."""


def selector_from(document: Document | None) -> Selector:
    """Return a label selector of a document; none selects everything.

    Raises
    ------
    PolicyConfigurationError
        It is not valid.
    """
    try:
        return label_selector(msgspec.convert(document or {}, LabelSelector))
    except (SelectorError, msgspec.ValidationError) as error:
        raise PolicyConfigurationError(str(error)) from None


def matched_resource(
    context: AdmissionContext, attributes: Attributes, match: Document | None
) -> Resource | None:
    """Return the resource as which a request matches; None if it does not.

    Parameters
    ----------
    match : dict or None
        The `matchConstraints` of a policy, or the `matchResources` of a binding.

    Notes
    -----
    With the match policy Equivalent, a request to another version of a resource matches too.
    """
    match = match or {}
    if not _matches_namespace(context, attributes, match.get("namespaceSelector")):
        return None
    if not _matches_object(attributes, match.get("objectSelector")):
        return None
    policy = match.get("matchPolicy")
    if _by_rules(context, attributes, match.get("excludeResourceRules") or (), policy) is not None:
        return None
    rules = match.get("resourceRules")
    if not rules:
        return attributes.resource
    return _by_rules(context, attributes, rules, policy)


def _matches_namespace(
    context: AdmissionContext, attributes: Attributes, selector: Document | None
) -> bool:
    is_namespace = attributes.resource.plural == "namespaces"
    if not selector or (not attributes.namespace and not is_namespace):
        return True
    labels: Mapping[str, str] = {}
    if is_namespace and not attributes.subresource and attributes.operation != "DELETE":
        labels = metadata_of(attributes).get("labels") or {}
    else:
        namespace = context.store.get(NAMESPACE, attributes.namespace)
        labels = {} if namespace is None else namespace.metadata.labels
    return selector_from(selector).matches(labels)


def _matches_object(attributes: Attributes, selector: Document | None) -> bool:
    """Whether the new or the old object has the selected labels."""
    if not selector:
        return True
    compiled = selector_from(selector)
    return any(
        each is not None and compiled.matches((each.get("metadata") or {}).get("labels") or {})
        for each in (attributes.object, attributes.old)
    )


def _by_rules(
    context: AdmissionContext,
    attributes: Attributes,
    rules: Iterable[Document],
    policy: str | None,
) -> Resource | None:
    own = attributes.resource
    if any(_matches_rule(rule, attributes, own) for rule in rules):
        return own
    if policy == "Exact" or policy is None:
        return None
    for rule in rules:
        for other in context.resources:
            is_equivalent = other.storage == own.storage and other is not own
            if is_equivalent and _matches_rule(rule, attributes, other):
                return other
    return None


def _matches_rule(rule: Document, attributes: Attributes, resource: Resource) -> bool:
    names = rule.get("resourceNames")
    return (
        _has_scope(rule.get("scope"), attributes, resource)
        and _has(rule.get("operations"), attributes.operation)
        and _has(rule.get("apiGroups"), resource.group)
        and _has(rule.get("apiVersions"), resource.version)
        and _has_resource(rule.get("resources") or (), resource.plural, attributes.subresource)
        and (not names or attributes.name in names)
    )


def _has(values: Any, value: str) -> bool:
    return any(each in ("*", value) for each in values or ())


def _has_resource(values: Iterable[str], plural: str, subresource: str) -> bool:
    for value in values:
        resource, _, part = value.partition("/")
        if resource in ("*", plural) and part in ("*", subresource):
            return True
    return False


def _has_scope(scope: str | None, attributes: Attributes, resource: Resource) -> bool:
    is_namespace = (resource.group, resource.plural) == ("", "namespaces")
    is_namespaced = bool(attributes.namespace) and not is_namespace
    match scope:
        case "Namespaced":
            return is_namespaced
        case "Cluster":
            return not is_namespaced
        case _:
            return scope in (None, "*")
