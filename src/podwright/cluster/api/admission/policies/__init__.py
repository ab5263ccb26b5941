"""Admission policies: rules that users write in CEL, and bindings that apply them.

Start with `validating` and `mutating`, the plugins. `matching` says which requests a policy
matches, `active_policies` which policies and bindings there are, `parameters` which objects a
binding passes to its policy, and `policy_input` what expressions read.
"""

from podwright.cluster.api.admission.policies.mutating import (
    MutatingAdmissionPolicy as MutatingAdmissionPolicy,
)
from podwright.cluster.api.admission.policies.validating import (
    ValidatingAdmissionPolicy as ValidatingAdmissionPolicy,
)
