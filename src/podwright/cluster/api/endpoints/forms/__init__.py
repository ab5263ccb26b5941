"""Creations of one form: their result is computed once, and completed with the values of each.

The bodies that create the pods of a template, or the Events of a component, have much in common:
everything that the server decides about them is the same. `bodies` says which bodies have one form,
`templates` what the creations of a form lead to, and `known` learns and uses both.
"""

from podwright.cluster.api.endpoints.forms.known import (
    LEARNED_AT as LEARNED_AT,
    TEMPLATES_MAX as TEMPLATES_MAX,
    KnownForms as KnownForms,
)
from podwright.cluster.api.endpoints.forms.templates import Trial as Trial
