"""Admission: what completes or rejects a write before it is stored.

A plugin is as upstream's of the same name; `plugins` has them in upstream's order, and `chain` runs
them. `typed_objects` is admission for the typed objects of files and simulations. A plugin reads
objects by `CurrentObjects`, which follows the store.
"""

from podwright.cluster.api.admission.attributes import AdmittedResource, Attributes, Operation
from podwright.cluster.api.admission.chain import AdmissionChain, AdmissionPlugin
from podwright.cluster.api.admission.context import AdmissionContext
from podwright.cluster.api.admission.current_objects import CurrentObjects
from podwright.cluster.api.admission.plugins import default_plugins, served_plugins
from podwright.cluster.api.admission.quota import QuotaEvaluators
from podwright.cluster.api.admission.rejections import Forbidden, NamespaceTerminating, Rejected
from podwright.cluster.api.admission.typed_objects import SERVED, Admission

__all__ = [
    "SERVED",
    "Admission",
    "AdmissionChain",
    "AdmissionContext",
    "AdmissionPlugin",
    "AdmittedResource",
    "Attributes",
    "CurrentObjects",
    "Forbidden",
    "NamespaceTerminating",
    "Operation",
    "QuotaEvaluators",
    "Rejected",
    "default_plugins",
    "served_plugins",
]
