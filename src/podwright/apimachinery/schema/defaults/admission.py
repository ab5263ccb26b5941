"""Defaults of webhooks, admission policies, and API priority and fairness.

Upstream: pkg/apis/admissionregistration/v1/defaults.go; pkg/apis/flowcontrol/v1/defaults.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.defaults.filling import (
    with_absent,
    with_empty,
    with_items,
    with_part,
    with_spec,
)


def set_validating_webhook_defaults(configuration: Document) -> Document:
    """Set the defaults of a ValidatingWebhookConfiguration."""
    return with_items(configuration, "webhooks", _webhook)


def set_mutating_webhook_defaults(configuration: Document) -> Document:
    """Set the defaults of a MutatingWebhookConfiguration."""
    return with_items(configuration, "webhooks", _mutating_webhook)


def _mutating_webhook(hook: Document) -> Document:
    return with_absent(_webhook(hook), {"reinvocationPolicy": "Never"})


def _webhook(hook: Document) -> Document:
    hook = with_absent(_match(hook), {"failurePolicy": "Fail", "timeoutSeconds": 10})
    hook = with_part(hook, "clientConfig", lambda client: with_part(client, "service", _service))
    return with_items(hook, "rules", _rule)


def _match(part: Document) -> Document:
    return with_absent(
        part, {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
    )


def _service(service: Document) -> Document:
    return with_absent(service, {"port": 443})


def _rule(rule: Document) -> Document:
    return with_absent(rule, {"scope": "*"})


def set_policy_defaults(policy: Document) -> Document:
    """Set the defaults of a policy that validates or mutates objects."""
    return with_part(policy, "spec", _policy)


def _policy(spec: Document) -> Document:
    spec = with_absent(spec, {"failurePolicy": "Fail"})
    return with_part(spec, "matchConstraints", _resources)


def _resources(match: Document) -> Document:
    match = with_items(_match(match), "resourceRules", _rule)
    return with_items(match, "excludeResourceRules", _rule)


def set_binding_defaults(binding: Document) -> Document:
    """Set the defaults of the binding of a policy."""
    return with_part(binding, "spec", _binding)


def _binding(spec: Document) -> Document:
    return with_part(spec, "matchResources", _resources)


def set_flow_schema_defaults(schema: Document) -> Document:
    """Set the defaults of a FlowSchema."""
    return with_spec(schema, lambda spec: with_empty(spec, {"matchingPrecedence": 1000}))


def set_priority_level_defaults(level: Document) -> Document:
    """Set the defaults of a PriorityLevelConfiguration."""
    return with_part(level, "spec", _priority_level)


def _priority_level(spec: Document) -> Document:
    spec = with_part(spec, "limited", _limited)
    return with_part(
        spec,
        "exempt",
        lambda exempt: with_absent(exempt, {"nominalConcurrencyShares": 0, "lendablePercent": 0}),
    )


def _limited(limited: Document) -> Document:
    limited = with_absent(limited, {"nominalConcurrencyShares": 30, "lendablePercent": 0})
    return with_part(
        limited, "limitResponse", lambda response: with_part(response, "queuing", _queuing)
    )


def _queuing(queuing: Document) -> Document:
    return with_empty(queuing, {"handSize": 8, "queues": 64, "queueLengthLimit": 50})
