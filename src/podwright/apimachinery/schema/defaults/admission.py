"""Defaults of webhooks, admission policies, and API priority and fairness.

Upstream: pkg/apis/admissionregistration/v1/defaults.go; pkg/apis/flowcontrol/v1/defaults.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.schema.defaults.filling import (
    absent,
    chain,
    empty,
    items,
    parts,
    spec,
)

_MATCH: Final = absent(matchPolicy="Equivalent", namespaceSelector={}, objectSelector={})
_RULES: Final = items(absent(scope="*"))
_WEBHOOK: Final = chain(
    _MATCH,
    absent(failurePolicy="Fail", timeoutSeconds=10),
    parts(clientConfig=parts(service=absent(port=443)), rules=_RULES),
)
_RESOURCES: Final = chain(_MATCH, parts(resourceRules=_RULES, excludeResourceRules=_RULES))

set_validating_webhook_defaults: Final = parts(webhooks=items(_WEBHOOK))
set_mutating_webhook_defaults: Final = parts(
    webhooks=items(_WEBHOOK, absent(reinvocationPolicy="Never"))
)
set_policy_defaults: Final = parts(
    spec=chain(absent(failurePolicy="Fail"), parts(matchConstraints=_RESOURCES))
)
set_binding_defaults: Final = parts(spec=parts(matchResources=_RESOURCES))
set_flow_schema_defaults: Final = spec(empty(matchingPrecedence=1000))
set_priority_level_defaults: Final = parts(
    spec=parts(
        limited=chain(
            absent(nominalConcurrencyShares=30, lendablePercent=0),
            parts(limitResponse=parts(queuing=empty(handSize=8, queues=64, queueLengthLimit=50))),
        ),
        exempt=absent(nominalConcurrencyShares=0, lendablePercent=0),
    )
)
