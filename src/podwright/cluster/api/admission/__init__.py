"""Admission: what completes or rejects a write before it is stored.

A plugin is as upstream's of the same name; `plugins` has them in upstream's order, and `chain` runs
them. A plugin reads objects by `CurrentObjects`, which follows the store.
"""

from podwright.cluster.api.admission.attributes import (
    Attributes as Attributes,
    Operation as Operation,
)
from podwright.cluster.api.admission.chain import AdmissionChain as AdmissionChain
from podwright.cluster.api.admission.plugin import (
    AdmissionContext as AdmissionContext,
    Plugin as Plugin,
)
from podwright.cluster.api.admission.plugins import (
    default_plugins as default_plugins,
    served_plugins as served_plugins,
)
from podwright.cluster.api.admission.quota import (
    QuotaEvaluators as QuotaEvaluators,
    exceeds_quota as exceeds_quota,
)
