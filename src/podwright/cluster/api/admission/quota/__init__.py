"""ResourceQuota: what objects use, and whether the quotas of their namespace allow it.

Start with `resource_quota`, the plugin. An evaluator (`evaluators`, `pods`,
`device_claims`) says how the objects of a resource count.
"""

from podwright.cluster.api.admission.quota.resource_quota import (
    QuotaEvaluators as QuotaEvaluators,
    ResourceQuota as ResourceQuota,
    exceeds_quota as exceeds_quota,
)
